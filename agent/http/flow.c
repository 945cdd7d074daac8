/* SPDX-License-Identifier: MIT */
/* Limits what a server may send besides the body of its answer. */
#include "agent/http/flow_private.h"

#include <inttypes.h>

static int check_speed(struct cfr_http_flow *f, int64_t now_boot_ms, struct cfr_err *err)
{
    uint64_t bytes = f->bytes - f->since_bytes;

    if (f->pieces++ == 0 || bytes >= CFR_HTTP_FLOW_SLOW) {
        f->pieces = 1;
        f->since_boot_ms = now_boot_ms;
        f->since_bytes = f->bytes;
        return 0;
    }
    if (f->pieces <= CFR_HTTP_FLOW_PIECES || now_boot_ms - f->since_boot_ms < CFR_HTTP_FLOW_SLOW_MS)
        return 0;
    return cfr_err_set(err, CFR_E_TIMEOUT, "the answer comes too slowly: %" PRIu64 " bytes in %d s", bytes,
                       CFR_HTTP_FLOW_SLOW_MS / 1000);
}

int cfr_http_flow_check(struct cfr_http_flow *f, uint64_t received, bool answering, uint64_t answer_max,
                        int64_t now_boot_ms, struct cfr_err *err)
{
    uint64_t most = CFR_HTTP_FLOW_FACTOR * answer_max + CFR_HTTP_FLOW_SPARE;

    /* Another connection, where the one before had been closed by the server. */
    if (!f->known || received < f->base + f->bytes)
        *f = (struct cfr_http_flow){.known = true, .base = received};
    if (received - f->base == f->bytes)
        return 0;
    f->bytes = received - f->base;
    if (f->bytes > most)
        return cfr_err_set(err, CFR_E_LIMIT,
                           "the server has sent %" PRIu64 " bytes for an answer of at most %" PRIu64
                           ": it adds too much to it",
                           f->bytes, answer_max);
    return answering ? check_speed(f, now_boot_ms, err) : 0;
}
