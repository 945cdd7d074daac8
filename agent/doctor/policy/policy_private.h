/* SPDX-License-Identifier: MIT */
/* Parts of the comparison of a token with trust documents. */
#ifndef CFR_AGENT_DOCTOR_POLICY_POLICY_PRIVATE_H
#define CFR_AGENT_DOCTOR_POLICY_POLICY_PRIVATE_H

#include "agent/doctor/policy/policy.h"
#include "sts/aws/aws.h"

enum cfr_policy_verdict { CFR_POLICY_NO, CFR_POLICY_YES, CFR_POLICY_UNKNOWN };

/* Why two values that ought to be equal are not, in words such as "upper and lower case differ"; "" where
 * there is no simple reason. A literal. */
const char *cfr_policy_difference(struct cfr_view expected, struct cfr_view has);
/* True if TEXT matches PATTERN, in which `*` matches any characters and `?` one. */
bool cfr_policy_like(struct cfr_view pattern, struct cfr_view text);

/* One policy being looked at. */
struct cfr_policy_aws {
    const struct cfr_policy_token *token;
    const struct cfr_finding_sink *sink;
    char provider[CFR_AWS_PROVIDER_ARN_MAX]; /* the ARN that has to be trusted */
    size_t number;                           /* of the statement, from 1 */
    bool quiet;                              /* mismatches are not reported: a Deny should not match */
    bool trusted; /* another statement trusts the provider: one that does not is about other tokens */
};

/* Evaluates the Condition of STATEMENT, telling what does not match and what cannot be known. */
enum cfr_policy_verdict cfr_policy_aws_conditions(const struct cfr_policy_aws *p, const struct cfr_json *statement);
/* Reports a mismatch, "statement N of the trust policy ..."; and what cannot be known, for which UNKNOWN is
 * returned. */
void cfr_policy_aws_mismatch(const struct cfr_policy_aws *p, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum cfr_policy_verdict cfr_policy_aws_unknown(const struct cfr_policy_aws *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* One value, or the values of an array: the first, and the one after VALUE of LIST; NULL = there is none. */
const struct cfr_json *cfr_policy_first(const struct cfr_json *list);
const struct cfr_json *cfr_policy_next(const struct cfr_json *list, const struct cfr_json *value);

#endif
