/* SPDX-License-Identifier: MIT */
/* Parts of the evaluation of a role's trust policy, and how AWS names the identity provider of a token's
 * issuer. */
#ifndef CFR_AGENT_DOCTOR_TRUST_AWS_PRIVATE_H
#define CFR_AGENT_DOCTOR_TRUST_AWS_PRIVATE_H

#include "agent/doctor/trust_private.h"
#include "sts/aws/aws.h"

#define CFR_DOCTOR_POLICY_AWS_AUDIENCES_MAX 16

/* One policy being looked at. */
struct cfr_doctor_policy_policy {
    const struct cfr_doctor_policy_token *token;
    const struct cfr_finding_sink *sink;
    char provider[CFR_AWS_PROVIDER_ARN_MAX]; /* the ARN that has to be trusted */
    size_t number;                           /* of the statement, from 1 */
    bool quiet;                              /* mismatches are not reported: a Deny should not match */
    bool trusted; /* another statement trusts the provider: one that does not is about other tokens */
};

/* Evaluates the Condition of STATEMENT, telling what does not match and what cannot be known. */
enum cfr_doctor_policy_verdict cfr_doctor_policy_aws_conditions(const struct cfr_doctor_policy_policy *p,
                                                                const struct cfr_json *statement);
/* Reports a mismatch, "statement N of the trust policy ..."; and what cannot be known, for which UNKNOWN is
 * returned. */
void cfr_doctor_policy_aws_mismatch(const struct cfr_doctor_policy_policy *p, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum cfr_doctor_policy_verdict cfr_doctor_policy_aws_unknown(const struct cfr_doctor_policy_policy *p, const char *fmt,
                                                             ...) __attribute__((format(printf, 2, 3)));
/* One value, or the values of an array: the first, and the one after VALUE of LIST; NULL = there is none. */
const struct cfr_json *cfr_doctor_policy_first(const struct cfr_json *list);
const struct cfr_json *cfr_doctor_policy_next(const struct cfr_json *list, const struct cfr_json *value);

#endif
