/* SPDX-License-Identifier: MIT */
/* The simple part of the expressions (CEL) in which a Google pool's provider maps claims and sets conditions.
 */
#ifndef CFR_AGENT_DOCTOR_TRUST_CEL_PRIVATE_H
#define CFR_AGENT_DOCTOR_TRUST_CEL_PRIVATE_H

#include "base/str.h"
#include "agent/doctor/trust.h"

/* What names in an expression stand for; borrowed. */
struct cfr_doctor_policy_cel {
    const struct cfr_json *claims;  /* assertion.NAME, assertion['NAME'] */
    const struct cfr_json *mapping; /* google.subject, attribute.NAME: expressions themselves */
};

/* Appends what EXPRESSION makes of the claims: texts, claims, and both joined by `+`. YES; NO if a claim in
 * it is not there; UNKNOWN if it is not simple. */
enum cfr_doctor_policy_verdict cfr_doctor_policy_cel_text(const struct cfr_doctor_policy_cel *c,
                                                          struct cfr_view expression, struct cfr_str *out);
/* Whether EXPRESSION is true: ==, !=, `in` a list, startsWith, endsWith, contains, joined by &&, || and !, in
 * parentheses too. ABSENT if it needs a claim that is not there, UNKNOWN if it takes more than this. */
enum cfr_doctor_policy_verdict cfr_doctor_policy_cel_true(const struct cfr_doctor_policy_cel *c,
                                                          struct cfr_view expression);

#endif
