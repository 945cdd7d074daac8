/* SPDX-License-Identifier: MIT */
/* What `credfresh get` prints for programs that ask a plugin for their credential. Pure. Sources: credential_process of
 * the AWS SDKs, executable-sourced credentials of Google's (AIP-4117), client-go's exec plugins. */
#ifndef CFR_SERVE_SDK_PLUGIN_OUTPUT_H
#define CFR_SERVE_SDK_PLUGIN_OUTPUT_H

#include "base/grant.h"

#define CFR_SDK_PLUGIN_ANSWER_MAX 2097152 /* of the agent's answer, and of what is printed */
#define CFR_SDK_PLUGIN_EARLY_S    60      /* a client without a margin of its own gets an end this much earlier */

/* What the token is for, which decides between several. */
enum cfr_sdk_plugin_use {
    CFR_SDK_PLUGIN_ANY,     /* what the exchange gave, else the token that it began with */
    CFR_SDK_PLUGIN_SUBJECT, /* to be exchanged at a cloud: the token that the exchange began with, else one that
                             * names a subject */
    CFR_SDK_PLUGIN_CLUSTER  /* to log in to a Kubernetes API server */
};

/* Reads the agent's answer to GET /v1/token/NAME (serve/sdk/endpoint.h). CFR_E_ANSWER. The caller frees OUT in every
 * case.
 */
int cfr_sdk_plugin_read(struct cfr_view answer, struct cfr_grant *out, struct cfr_err *err);
/* The field of G that a client with USE wants, or FIELD where that is not NULL. CFR_E_CONFIG, naming the fields that G
 * has. */
int cfr_sdk_plugin_field(const struct cfr_grant *g, enum cfr_sdk_plugin_use use, const char *field,
                         const struct cfr_grant_field **out, struct cfr_err *err);
/* EXPIRES_S (0 = never) for a client without a margin: a minute earlier, or less where less than four are left. */
int64_t cfr_sdk_plugin_early(int64_t expires_s, int64_t now_s);

/* Appends the answer of an executable source. TOKEN_TYPE is what the SDK asks for (GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE);
 * NULL or empty: a JWT. CFR_E_CONFIG for a type that such an answer cannot carry. */
int cfr_sdk_plugin_gcp(struct cfr_view token, const char *token_type, int64_t expires_s, struct cfr_secret *out,
                       struct cfr_err *err);
/* The answer to a revocation, which there is nothing to do for. */
int cfr_sdk_plugin_gcp_revoked(struct cfr_secret *out, struct cfr_err *err);
/* The answer that reports a failure. */
int cfr_sdk_plugin_gcp_failed(const struct cfr_err *why, struct cfr_secret *out, struct cfr_err *err);

#endif
