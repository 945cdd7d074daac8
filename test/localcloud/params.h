/* SPDX-License-Identifier: MIT */
/* Parameters of an AWS query-protocol request: a decoded form, and the rules a value must keep. */
#ifndef LC_PARAMS_H
#define LC_PARAMS_H

#include "text.h"

struct lc_param {
    char *name;
    char *value;
};

struct lc_params {
    struct lc_param *at;
    size_t count;
};

/* Decodes name=value&...; false when it is not decodable (percent signs, NUL, UTF-8) or memory ends. */
bool lc_params_read(const char *text, size_t len, struct lc_params *out);
/* As lc_params_read, but appends to what *out holds; on failure *out is freed. */
bool lc_params_add(const char *text, size_t len, struct lc_params *out);
void lc_params_free(struct lc_params *params);

/* The first value of that name, or NULL. */
const char *lc_params_get(const struct lc_params *params, const char *name);

/* Value of "LIST.member.N" followed by suffix ("" or ".Key"), N from 1. */
const char *lc_params_member(const struct lc_params *params, const char *list, unsigned n, const char *suffix);
/* How many members LIST has (the longest run from 1 where any of the suffixes is there), at most 1000. */
unsigned lc_params_members(const struct lc_params *params, const char *list, const char *suffix);

/* Collects what is wrong with the values, in the wording of the AWS front end. */
struct lc_checks {
    struct lc_buf text;
    unsigned count;
};

/* One violated constraint. value NULL prints as null; a secret one is passed as "***". */
void lc_checks_add(struct lc_checks *checks, const char *member, const char *value, const char *constraint);

struct lc_rule {
    const char *param;   /* name in the form */
    const char *member;  /* name in the text */
    long min;            /* code points */
    long max;            /* 0: no limit */
    const char *extra;   /* NULL: any character; otherwise ASCII letters, digits and these */
    const char *pattern; /* how the text names that class */
    bool required;
    bool secret;
};

/* Checks one value (NULL when absent) against its rule. */
void lc_checks_value(struct lc_checks *checks, const struct lc_rule *rule, const char *value);
void lc_checks_params(struct lc_checks *checks, const struct lc_params *params, const struct lc_rule rules[],
                      size_t count);
/* "N validation errors detected: ..."; the caller frees. */
char *lc_checks_message(const struct lc_checks *checks);
void lc_checks_free(struct lc_checks *checks);

#endif
