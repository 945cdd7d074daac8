/* SPDX-License-Identifier: MIT */
/* GetCallerIdentity with the keys that were granted: do they work, and do they belong to the configured role? */
#ifndef CFR_STS_AWS_VERIFY_PRIVATE_H
#define CFR_STS_AWS_VERIFY_PRIVATE_H

#include "wire/aws_settings.h"
#include "sts/core/provider.h"

#define CFR_AWS_VERIFY_OPERATION "GetCallerIdentity"

/* Builds the request, signed with the keys in GRANT. */
int cfr_aws_verify_build(const struct cfr_wire_aws_endpoint *endpoint, const struct cfr_grant *grant, int64_t now_s,
                         struct cfr_wire_request *out, struct cfr_err *err);
/* Reads the answer. Account and ARN must be those that GRANT has (where it has a role's ARN, a session of
 * that role); what GRANT lacks is added to it. CFR_E_DENIED: they belong to another; CFR_E_UNAVAILABLE: not
 * known yet; CFR_E_ANSWER. */
int cfr_aws_verify_parse(const struct cfr_wire_reply *reply, struct cfr_grant *grant, struct cfr_err *err);

#endif
