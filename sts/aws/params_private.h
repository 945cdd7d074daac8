/* SPDX-License-Identifier: MIT */
/* The parameters of the STS operations: the rules they obey and the form bodies that carry them.
 * Source of names and limits: the STS API reference, version 2011-06-15. */
#ifndef CFR_STS_AWS_PARAMS_PRIVATE_H
#define CFR_STS_AWS_PARAMS_PRIVATE_H

#include "sts/aws/aws.h"

#define CFR_AWS_SESSION_NAME_MAX 64
#define CFR_AWS_TOKEN_MAX        20000 /* longest web identity token */

/* Part INDEX of an ARN, from 0 ("arn"); part 5 is all the rest. An empty view when there is no such part. */
struct cfr_view cfr_aws_params_arn_part(const char *arn, unsigned index);

/* The rules. Each takes what the configuration holds, NULL meaning absent and therefore right, and returns
 * CFR_E_CONFIG with a text that begins with KEY. */
int cfr_aws_params_check_role(const char *key, const char *arn, struct cfr_err *err);
int cfr_aws_params_check_session_name(const char *key, const char *name, struct cfr_err *err);
int cfr_aws_params_check_external_id(const char *key, const char *id, struct cfr_err *err);
int cfr_aws_params_check_policy(const char *key, const char *policy, struct cfr_err *err);
int cfr_aws_params_check_policy_arns(const char *key, const struct cfr_strings *arns, struct cfr_err *err);
int cfr_aws_params_check_tags(const struct cfr_pairs *tags, const struct cfr_strings *transitive, struct cfr_err *err);
/* Characters of POLICY (0 for NULL). */
size_t cfr_aws_params_length(const char *policy);

/* The session's name: the configured one, else made from the token's subject (`system:serviceaccount:NS:NAME`
 * gives `NS.NAME`; other characters that are not allowed become `-`; a longer one is cut and ends in a hash
 * of the whole), else from the credential's name. Stable. */
const char *cfr_aws_params_session_name(const char *configured, struct cfr_view subject, const char *credential,
                                        char out[CFR_AWS_SESSION_NAME_MAX + 1]);

/* Form bodies (application/x-www-form-urlencoded), into the empty BODY. */
int cfr_aws_params_web_identity(const struct cfr_aws *config, const char *session_name, struct cfr_view token,
                                struct cfr_secret *body, struct cfr_err *err);
int cfr_aws_params_session_token(int64_t duration_ms, struct cfr_secret *body, struct cfr_err *err);
int cfr_aws_params_assume_role(const struct cfr_aws_step *step, const char *session_name, struct cfr_secret *body,
                               struct cfr_err *err);

#endif
