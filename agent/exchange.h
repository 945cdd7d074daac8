/* SPDX-License-Identifier: MIT */
/* Carries one token through all requests of its exchange, between a provider (pure) and the HTTP engine. */
#ifndef CFR_AGENT_EXCHANGE_H
#define CFR_AGENT_EXCHANGE_H

#include "agent/config.h"
#include "agent/http.h"

struct cfr_exchange; /* exists only while an exchange is under way */

struct cfr_exchange_result {
    int rc; /* 0, or an error with err set */
    struct cfr_err err;
    struct cfr_grant *grant;  /* valid during the callback; may be moved out of */
    int64_t retry_after_s;    /* -1 = none */
    int64_t server_date_s;    /* of the last answer, 0 = none */
    double duration_s;        /* of all requests together */
};

typedef void cfr_exchange_fn(void *ctx, struct cfr_exchange_result *result);

/* Starts the exchange of CREDENTIAL with TOKEN (moved out of). CREDENTIAL is borrowed until the callback or a cancel.
 * DONE is called once, from cfr_http_step, after which *OUT is gone. An error here means that nothing was started. */
int cfr_exchange_start(struct cfr_http *http, const struct cfr_config_credential *credential,
                       struct cfr_secret *token, struct cfr_view subject, cfr_exchange_fn *done, void *ctx,
                       struct cfr_exchange **out, struct cfr_err *err);
void cfr_exchange_cancel(struct cfr_exchange *e);
/* After a reload that left the credential as it was: borrow the new copy of its configuration. */
void cfr_exchange_rebind(struct cfr_exchange *e, const struct cfr_config_credential *credential);

#endif
