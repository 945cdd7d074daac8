/* SPDX-License-Identifier: MIT */
/* The refusals of the token endpoint and of registries: which of ours each is, and what to do about it.
 * Source of codes: the identity platform's reference of AADSTS errors; RFC 6749, 5.2; the distribution API's
 * errors. */
#ifndef CFR_STS_AZURE_ERROR_PRIVATE_H
#define CFR_STS_AZURE_ERROR_PRIVATE_H

#include "sts/azure/settings_private.h"
#include "sts/core/oauth_answer.h"

struct cfr_azure_refusal {
    const struct cfr_wire_reply *reply;
    enum cfr_azure_client_assertion proof;
    struct cfr_view who;            /* the token's subject, for a registry the client; may be empty */
    const struct cfr_view *secrets; /* what an answer must not echo into the text */
    size_t secret_count;
};

/* Sets ERR to "AADSTS700213: message (HTTP 401, request TRACE, correlation ID): what to do" and returns the
 * code: by the first of the answer's error_codes, else by its `error`, else by the status. Never 0. */
int cfr_azure_error_set(const struct cfr_azure_refusal *r, const struct cfr_oauth_answer *answer, struct cfr_err *err);
/* As cfr_azure_error_set for the answer of a registry: `{"errors":[{"code","message"}]}`. */
int cfr_azure_error_set_registry(const struct cfr_azure_refusal *r, struct cfr_err *err);

#endif
