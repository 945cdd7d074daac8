/* SPDX-License-Identifier: MIT */
/* Reads roles and IAM keys out of configuration objects. */
#ifndef LC_TRUST_READ_H
#define LC_TRUST_READ_H

#include "trust.h"

/* A role and, for each of its statements, the keys that came with it (usually none). */
struct lc_role_reading {
    struct lc_role *role;
    struct lc_key_list *keys;
    size_t count; /* of keys */
};

int lc_role_read(json_t *object, const char *own_issuer, struct lc_role_reading *out, struct lc_fail *fail);
void lc_role_reading_free(struct lc_role_reading *reading);
void lc_role_free(struct lc_role *role);

/* "jwks" or "jwks_file" of object, if there is one of them. */
int lc_jwks_read(json_t *object, struct lc_key_list *keys, struct lc_fail *fail);

struct lc_iam_key *lc_iam_key_read(json_t *object, struct lc_fail *fail);

#endif
