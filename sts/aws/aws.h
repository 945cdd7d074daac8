/* SPDX-License-Identifier: MIT */
/* AWS STS: AssumeRoleWithWebIdentity (or, from long-lived keys, AssumeRole or GetSessionToken), then any
 * number of AssumeRole steps signed with the keys of the one before; then, where asked for, GetCallerIdentity
 * and ECR's logins. */
#ifndef CFR_STS_AWS_AWS_H
#define CFR_STS_AWS_AWS_H

#include "sts/aws/ecr.h"
#include "sts/core/provider.h"
#include "wire/aws_settings.h"

#define CFR_AWS_STEPS_MAX        5
#define CFR_AWS_PROVIDER_ARN_MAX 1024

/* `exchange: aws:` */
struct cfr_aws {
    struct cfr_node node;
    char *role_arn; /* NULL only with keys: GetSessionToken */
    /* Long-lived keys instead of a token: two files with one value each, or one in the form of AWS's
     * credentials. */
    char *access_key_id_file;
    char *secret_access_key_file;
    char *credentials_file;
    char *profile; /* of credentials_file; NULL = default */
    char *region;
    char *session_name;
    int64_t duration_ms; /* -1 = the default: cfr_aws_duration_ms */
    char *policy;
    struct cfr_strings policy_arns;
    /* Only with keys and a role, as in struct cfr_aws_step. */
    char *external_id;
    struct cfr_pairs tags;
    struct cfr_strings transitive_tag_keys;
    char *source_identity;
    char *endpoint;
    bool plain_http; /* that may be one of plain http */
    char *ca_file;
    int fips;                    /* enum cfr_aws_switch */
    int dual_stack;              /* enum cfr_aws_switch */
    struct cfr_list then_assume; /* of struct cfr_aws_step */
    bool verify;                 /* GetCallerIdentity before anything is published */
    struct cfr_aws_ecr *ecr;     /* NULL = none */
};

/* One element of `then_assume`. */
struct cfr_aws_step {
    struct cfr_node node;
    char *role_arn;
    char *session_name;
    int64_t duration_ms;
    char *external_id;
    char *policy;
    struct cfr_strings policy_arns;
    struct cfr_pairs tags;
    struct cfr_strings transitive_tag_keys;
    char *source_identity;
    char *region;
    char *endpoint;
};

extern const struct cfr_sts_provider cfr_aws_provider;

/* Writes the ARN of the IAM identity provider for the issuer ISS, in the account and partition of ROLE_ARN. False if
 * that is no ARN. */
bool cfr_aws_identity_provider(const char *role_arn, struct cfr_view iss, char out[CFR_AWS_PROVIDER_ARN_MAX]);
/* How long the session of the first step is to live. */
int64_t cfr_aws_duration_ms(const struct cfr_aws *config);
/* One element of then_assume; its rules are the table's `check`. */
extern const struct cfr_table cfr_aws_step_table;
/* Appends a step with the defaults of its table to then_assume; *OUT is CONFIG's, and valid until the next is added.
 * CFR_E_CONFIG (there are CFR_AWS_STEPS_MAX), CFR_E_NOMEM. */
int cfr_aws_add_step(struct cfr_aws *config, struct cfr_aws_step **out, struct cfr_err *err);
/* Whether keys are the beginning, not a token. */
bool cfr_aws_has_keys(const struct cfr_aws *config);
/* Rules about what the exchange begins with, apart from the table's because a part of it may come from elsewhere (a
 * mounted Secret). CFR_E_CONFIG. */
int cfr_aws_check_begin(const struct cfr_aws *config, struct cfr_err *err);

#endif
