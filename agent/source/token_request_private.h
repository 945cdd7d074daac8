/* SPDX-License-Identifier: MIT */
/* Requests a service-account token from an API server, as `token: request:` says. */
#ifndef CFR_AGENT_SOURCE_TOKEN_REQUEST_PRIVATE_H
#define CFR_AGENT_SOURCE_TOKEN_REQUEST_PRIVATE_H

#include "agent/config/config.h"
#include "agent/kube/client.h"

struct cfr_source_token_request; /* exists only while a request is under way */

struct cfr_token_answer {
    int rc; /* 0, or an error with err set */
    struct cfr_err err;
    struct cfr_secret token; /* may be moved out of */
    char *subject;           /* heap; may be taken */
    int64_t issued_s;
    int64_t expires_s;
    const char *warning; /* of the API server, valid during DONE; "" = none */
    int64_t retry_after_s;
    int64_t server_date_s;
    double duration_s;
};

typedef void cfr_source_token_request_fn(void *ctx, struct cfr_token_answer *answer);

/* Starts the request of CONFIG (borrowed until DONE or a cancel; it has one). DONE is called once, never before this
 * returns. An error here means that nothing was started. */
int cfr_source_token_request_start(struct cfr_kube *kube, const struct cfr_config_token *config,
                                   cfr_source_token_request_fn *done, void *ctx, struct cfr_source_token_request **out,
                                   struct cfr_err *err);
void cfr_source_token_request_cancel(struct cfr_source_token_request *a);
/* The configuration was replaced by an equal one. */
void cfr_source_token_request_rebind(struct cfr_source_token_request *a, const struct cfr_config_token *config);

#endif
