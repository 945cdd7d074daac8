/* SPDX-License-Identifier: MIT */
/* Limits what a server may send besides the body of its answer: framing of chunks, their extensions, trailers. Pure. */
#ifndef CFR_AGENT_HTTP_FLOW_PRIVATE_H
#define CFR_AGENT_HTTP_FLOW_PRIVATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define CFR_HTTP_FLOW_SPARE   262144 /* bytes of the head, of certificates, and of other things that are not the body */
#define CFR_HTTP_FLOW_FACTOR  8      /* bytes of framing for each one of a body that is sent in small pieces */
#define CFR_HTTP_FLOW_SLOW_MS 10000
#define CFR_HTTP_FLOW_SLOW    1024 /* bytes in that time */
#define CFR_HTTP_FLOW_PIECES  4    /* what comes in fewer pieces is late, not slow */

/* What one transfer has received. Zero-initialise it. */
struct cfr_http_flow {
    bool known;     /* BASE is set */
    uint64_t base;  /* what its connection had received before */
    uint64_t bytes; /* in all */
    int64_t since_boot_ms;
    uint64_t since_bytes;
    unsigned pieces; /* since then */
};

/* Records that the transfer's connection has received RECEIVED bytes since it was made; once the answer has begun it
 * may not come too slowly. ANSWER_MAX: of the body. CFR_E_LIMIT, CFR_E_TIMEOUT. */
int cfr_http_flow_check(struct cfr_http_flow *f, uint64_t received, bool answering, uint64_t answer_max,
                        int64_t now_boot_ms, struct cfr_err *err);

#endif
