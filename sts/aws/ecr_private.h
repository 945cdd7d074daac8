/* SPDX-License-Identifier: MIT */
/* Logins to Amazon's container registries (ECR, private and public), got with the keys of an AWS session.
 * Source: the ECR and ECR Public API references, GetAuthorizationToken; registry hosts as AWS's own login
 * helper takes them. */
#ifndef CFR_STS_AWS_ECR_PRIVATE_H
#define CFR_STS_AWS_ECR_PRIVATE_H

#include "sts/aws/ecr.h"
#include "sts/core/provider.h"

#define CFR_AWS_ECR_REGISTRIES_MAX 32
#define CFR_AWS_ECR_REGIONS_MAX    4 /* and the public registry */
#define CFR_AWS_ECR_REGION_MAX     64

extern const struct cfr_table cfr_aws_ecr_table;

/* Makes *ECR (made if it is NULL) log in to HOST if it names no registry; an empty HOST means any.
 * CFR_E_CONFIG: HOST is none of ECR's; CFR_E_NOMEM. */
int cfr_aws_ecr_add(struct cfr_aws_ecr **ecr, struct cfr_view host, struct cfr_err *err);

/* What the name of a private registry says. */
struct cfr_aws_ecr_host {
    struct cfr_view account; /* 12 digits */
    char region[CFR_AWS_ECR_REGION_MAX];
    bool fips;
};

/* Takes HOST apart; false if it is none of ECR's. */
bool cfr_aws_ecr_host_parse(struct cfr_view host, struct cfr_aws_ecr_host *out);

/* The names of the public registry; the second one has IPv6 addresses, too. NULL-terminated. */
extern const char *const cfr_aws_ecr_public_hosts[];
bool cfr_aws_ecr_host_is_public(struct cfr_view host);

/* What holds for a session that asks for logins; borrowed. */
struct cfr_aws_ecr_session {
    const struct cfr_aws_ecr *config;
    const char *region;        /* of the session, for registries whose name has none; NULL when unknown */
    struct cfr_view partition; /* of the role whose keys it has; empty when unknown */
    bool fips;
    bool dual_stack;
    const char *fips_from; /* the key or variable that says so */
    const char *dual_stack_from;
    const char *ca_file;
    const char *(*env)(const char *);
};

/* How many requests it takes: one for each region, and one for the public registry. */
size_t cfr_aws_ecr_calls(const struct cfr_aws_ecr_session *s);
/* Rules that need the environment, and that there is a registry at all. CFR_E_CONFIG. */
int cfr_aws_ecr_check(const struct cfr_aws_ecr_session *s, struct cfr_err *err);
/* Builds request N of cfr_aws_ecr_calls, signed with the keys in GRANT. */
int cfr_aws_ecr_build(const struct cfr_aws_ecr_session *s, size_t n, const struct cfr_grant *grant, int64_t now_s,
                      struct cfr_wire_request *out, struct cfr_err *err);
/* Reads its answer: adds the login for each registry that it is for (sts/core/docker_auths.h) to GRANT, whose expiry
 * becomes the earlier one. */
int cfr_aws_ecr_parse(const struct cfr_aws_ecr_session *s, size_t n, const struct cfr_wire_reply *reply,
                      struct cfr_grant *grant, struct cfr_err *err);

/* ---- the errors of ECR ---- */

/* Makes an error of a reply that is not 200: its type is in the header x-amzn-ErrorType or in the body's
 * `__type`. */
int cfr_aws_ecr_error_set(const struct cfr_wire_reply *reply, bool is_public, const struct cfr_grant *grant,
                          struct cfr_err *err);

#endif
