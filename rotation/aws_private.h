/* SPDX-License-Identifier: MIT */
/* Access keys of an IAM user. Source of operations, limits and hosts: the IAM API reference, version
 * 2010-05-08, and the endpoint rules that AWS publishes with its SDKs. */
#ifndef CFR_ROTATION_AWS_PRIVATE_H
#define CFR_ROTATION_AWS_PRIVATE_H

#include "rotation/provider.h"

struct cfr_rotation_aws {
    struct cfr_node node;
    char *user_name;
    struct cfr_strings regions; /* at least one; the first determines the partition */
    char *endpoint;             /* of IAM; NULL = the environment's, else the partition's */
    char *sts_endpoint;         /* `{region}` in it is replaced by the region; NULL = likewise, else the regions' own */
    int fips;                   /* enum cfr_aws_switch */
    int dual_stack;             /* enum cfr_aws_switch */
    char *ca_file;
};

extern const struct cfr_table cfr_rotation_aws_table;
extern const struct cfr_rotation_provider cfr_rotation_aws_provider;

/* rotation/aws_answer.c: the provider's parse and recognize. */
int cfr_rotation_aws_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                           struct cfr_rotation_answer *out, struct cfr_err *err);
int cfr_rotation_aws_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                               struct cfr_rotation_answer *out, struct cfr_err *err);

/* rotation/aws_rights.c: what IAM's policy simulator says of the caller. Source: the IAM API reference,
 * SimulatePrincipalPolicy. */
/* The caller's own ARN as the simulator takes it: for a session, that of its role, without the role's path, which no
 * session knows. False if ARN is neither a user's nor a role's. */
bool cfr_rotation_aws_principal(const char *arn, char out[CFR_ROTATION_MAKER_MAX]);
/* Adds the parameters of SimulatePrincipalPolicy to BODY. */
int cfr_rotation_aws_add_simulation(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask,
                                    const char *page, struct cfr_secret *body, struct cfr_err *err);
/* One ACTION with its DECISION, into OUT. CFR_E_ANSWER: there are more than were asked for. */
int cfr_rotation_aws_judge(const char *action, const char *decision, struct cfr_rotation_answer *out,
                           struct cfr_err *err);
/* After the last page. CFR_E_ANSWER: some were not judged. */
int cfr_rotation_aws_check_judged(const struct cfr_rotation_answer *out, struct cfr_err *err);

#endif
