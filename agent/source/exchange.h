/* SPDX-License-Identifier: MIT */
/* Exchange: requests the token where that is wanted, then carries the requests and answers of a provider (pure) through
 * the HTTP client. Does not block. Inputs are moved in; the result is borrowed by the callback, which may move out of
 * it. The callback is called once and must not cancel the exchange. Errors are the provider's, the client's, or of the
 * token request. At most 64 requests of 30 s each. */
#ifndef CFR_AGENT_SOURCE_EXCHANGE_H
#define CFR_AGENT_SOURCE_EXCHANGE_H

#include "agent/kube/client.h"
#include "agent/loop/clock.h"
#include "agent/source/inputs.h"

struct cfr_exchange; /* exists only while an exchange is under way */

struct cfr_publish_minted; /* agent/publish/render.h */

/* What a producer adds to its result (agent/source/producer.h). */
struct cfr_source_produced {
    const struct cfr_publish_minted *key; /* of the grant; without a grant, the one that is published; NULL = none */
    uint64_t mark;   /* fingerprint of what takes the place of a key, and is granted or published; 0 = none does */
    bool counts;     /* it answers the request of an operator */
    int64_t due_ms;  /* without a grant: when the next start is due, wall clock; INT64_MAX = not known */
    int64_t ends_ms; /* without a grant: when what is published expires, wall clock; INT64_MAX = never */
};

struct cfr_source_exchange_result {
    int rc; /* 0, or an error with err set */
    struct cfr_err err;
    struct cfr_grant *grant;                 /* valid during the callback; may be moved out of */
    const struct cfr_sts_provider *provider; /* NULL: the token itself was requested */
    const void *config;                      /* the provider's; valid during the callback */
    const struct cfr_sts_content *contents;  /* as it */
    size_t content_count;
    struct cfr_source_inputs *inputs; /* what it began with, CONTENTS among it; may be moved out of */
    int64_t token_issued_s;           /* of a token that was requested; 0 = none was */
    int64_t token_expires_s;
    const char *warning;   /* of the API server at the request for a token; NULL = none was requested, "" = none */
    int64_t retry_after_s; /* -1 = none */
    int64_t server_date_s; /* of the last answer, 0 = none */
    double duration_s;     /* of all requests together */
    struct cfr_source_produced produced;
};

/* How long, in ms from NOW, something lives that expires at EXPIRES_S, by the grantor's clock where SERVER_DATE_S shows
 * that it differs from ours. INT64_MAX for 0, which never expires. */
int64_t cfr_source_exchange_life_ms(int64_t expires_s, int64_t server_date_s, struct cfr_now now);
/* CFR_E_ANSWER if a grant with LIFE_MS left has expired already. */
int cfr_source_exchange_check_life(int64_t life_ms, struct cfr_err *err);

typedef void cfr_source_exchange_fn(void *ctx, struct cfr_source_exchange_result *result);

/* Starts with MATERIAL (moved out of; it is CREDENTIAL's). CREDENTIAL is borrowed until the callback or a cancel. DONE
 * is called once, from cfr_http_step or cfr_loop_run, or before this returns if no request is needed
 * (*OUT is then NULL); *OUT is gone after. An error here means that nothing was started. */
int cfr_source_exchange_start(struct cfr_http *http, struct cfr_kube *kube,
                              const struct cfr_config_credential *credential, struct cfr_source_inputs *material,
                              cfr_source_exchange_fn *done, void *ctx, struct cfr_exchange **out, struct cfr_err *err);
/* 0 if the first request of the exchange can be built of M, CREDENTIAL's, which is borrowed; sends nothing. The errors
 * of the provider, such as CFR_E_CONFIG for a file that is not what the exchange needs. */
int cfr_source_exchange_rehearse(const struct cfr_config_credential *credential, const struct cfr_source_inputs *m,
                                 struct cfr_err *err);
void cfr_source_exchange_cancel(struct cfr_exchange *e);
/* After a reload that left the credential as it was: borrow the new copy of its configuration. */
void cfr_source_exchange_rebind(struct cfr_exchange *e, const struct cfr_config_credential *credential);

#endif
