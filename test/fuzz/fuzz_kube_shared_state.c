/* SPDX-License-Identifier: MIT */
/* Untrusted input: the Secret in which several agents keep the state of a rotation. What was read is written again, and
 * has the same texts. */
#include "fuzz.h"

#include "base/json.h"
#include "base/writer.h"
#include "kube/shared_state.h"

#include <string.h>

static const struct cfr_k8s_shared_place place = {"ns-a", "robot"};

/* The patch S as a Secret of the API server would have it. */
static void write_again(const struct cfr_k8s_shared_state *s)
{
    struct cfr_k8s_shared_state again;
    struct cfr_secret patch;
    struct cfr_secret body;
    struct cfr_err err = {0};
    struct cfr_view tail;
    char *at;

    cfr_secret_init(&patch, CFR_K8S_SHARED_BODY_MAX);
    cfr_secret_init(&body, CFR_K8S_SHARED_BODY_MAX + 1024);
    CFR_FUZZ_MUST(cfr_k8s_shared_write(s, &patch, &err) == 0 &&
                  cfr_view_starts(cfr_secret_view(&patch), "{\"metadata\":{"));
    tail = (struct cfr_view){patch.p + strlen("{\"metadata\":{"), patch.len - strlen("{\"metadata\":{")};
    CFR_FUZZ_MUST(cfr_secret_append_str(&body,
                                        "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"robot\","
                                        "\"namespace\":\"ns-a\",",
                                        &err) == 0 &&
                  cfr_secret_append(&body, tail, &err) == 0);
    at = strstr(body.p, "},\"data\":{");
    CFR_FUZZ_MUST(at != NULL);
    /* A merge patch removes what is null: under another name it is ignored. */
    while ((at = strstr(at + 1, "\":null")) != NULL)
        at[-1] = '-';
    CFR_FUZZ_MUST(cfr_k8s_shared_read(&place, cfr_secret_view(&body), &again, &err) == 0);
    CFR_FUZZ_MUST(cfr_view_eq(cfr_secret_view(&s->journal), cfr_secret_view(&again.journal)) &&
                  cfr_view_eq(cfr_secret_view(&s->pending), cfr_secret_view(&again.pending)) &&
                  cfr_view_eq(cfr_secret_view(&s->published), cfr_secret_view(&again.published)) &&
                  strcmp(s->holder, again.holder) == 0 && strcmp(s->nonce, again.nonce) == 0 &&
                  s->takeover_ms == again.takeover_ms && strcmp(s->version, again.version) == 0);
    cfr_k8s_shared_free(&again);
    cfr_secret_free(&patch);
    cfr_secret_free(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_k8s_shared_state s;
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    rc = cfr_k8s_shared_read(&place, (struct cfr_view){(const char *)data, size}, &s, &err);
    CFR_FUZZ_MUST(rc == err.code && cfr_view_is_text(cfr_view_of(err.text)));
    CFR_FUZZ_MUST(rc == 0 || (s.version[0] == '\0' && s.journal.p == NULL && s.pending.p == NULL));
    CFR_FUZZ_MUST(cfr_view_printable(cfr_view_of(s.holder)) && cfr_view_printable(cfr_view_of(s.nonce)));
    if (rc == 0 && s.journal.len != 0)
        write_again(&s);
    cfr_k8s_shared_free(&s);
    return 0;
}
