/* SPDX-License-Identifier: MIT */
/* Comparison of a token with the trust of a cloud, as documents of the command line describe it. Pure: documents in,
 * findings out. Source of the documents' form: what `aws iam get-role`, `az identity federated-credential show`, `az ad
 * app federated-credential list` and `gcloud iam workload-identity-pools providers describe --format json` print. */
#ifndef CFR_AGENT_DOCTOR_POLICY_POLICY_H
#define CFR_AGENT_DOCTOR_POLICY_POLICY_H

#include "base/finding.h"
#include "base/json.h"
#include "sts/core/provider.h"

#define CFR_POLICY_FILE_MAX  262144
#define CFR_POLICY_SHOWN_MAX CFR_STS_TRUST_SHOWN_MAX

/* A token's claims, unverified; borrowed. */
struct cfr_policy_token {
    struct cfr_view iss;
    struct cfr_view sub;
    const struct cfr_view *aud;
    size_t aud_count;
};

/* Says what has to be configured on the cloud's side for TOKEN to be exchanged as CONFIG of PROVIDER wants
 * it: notes "trust.needed". Nothing for providers that trust no token. ENV as in struct cfr_sts_input. */
void cfr_policy_needed(const struct cfr_sts_provider *provider, const void *config, const char *(*env)(const char *),
                       const struct cfr_policy_token *token, const struct cfr_finding_sink *sink);
/* Compares what a refusal names, TEXT being the error's text, with TOKEN: "trust.refused". Says nothing where
 * the cloud named nothing. */
void cfr_policy_refused(const struct cfr_sts_provider *provider, const char *text, const struct cfr_policy_token *token,
                        const struct cfr_finding_sink *sink);

/* Evaluates the trust policy in DOCUMENT (a policy, or a role as IAM describes it) for TOKEN and the role
 * ROLE_ARN: "trust.policy" for each thing that does not match, or one that all is well. What cannot be known
 * here (conditions on addresses, tags, times) is a warning. */
void cfr_policy_aws(struct cfr_view document, const char *role_arn, const struct cfr_policy_token *token,
                    const struct cfr_finding_sink *sink);
/* The same for federated credentials of an Azure application or managed identity, one or a list:
 * "trust.federated". */
void cfr_policy_azure(struct cfr_view document, const struct cfr_policy_token *token,
                      const struct cfr_finding_sink *sink);
/* The same for the description of a provider of a Google pool; AUDIENCE is the one that is configured, or
 * NULL: "trust.pool". Of expressions only `assertion.sub` as the mapping of google.subject, and the equality of the
 * subject with a text as the condition are evaluated; others are a warning. */
void cfr_policy_gcp(struct cfr_view document, const char *audience, const struct cfr_policy_token *token,
                    const struct cfr_finding_sink *sink);

/* ---- for texts about a token ---- */

/* TEXT fit for a terminal and cut to CFR_POLICY_SHOWN_MAX. Returns OUT. */
const char *cfr_policy_show(struct cfr_view text, char out[CFR_POLICY_SHOWN_MAX]);
/* The audiences as a list in quotes, fit for a terminal. Returns OUT. */
const char *cfr_policy_audiences(const struct cfr_policy_token *token, char out[CFR_POLICY_SHOWN_MAX]);

#endif
