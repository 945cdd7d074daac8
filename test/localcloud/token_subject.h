/* SPDX-License-Identifier: MIT */
/* Tokens of an issuer that a client brings as its own proof: read, and verified against the issuer's
 * published keys. The clouds differ in the order of their checks and in their words, so each check stands
 * alone. */
#ifndef LC_TOKEN_SUBJECT_H
#define LC_TOKEN_SUBJECT_H

#include "cloud.h"

struct lc_subject {
    struct lc_jwt jwt;
    char *token;
    const char *issuer;  /* "" when there is none; borrowed, as is the next */
    const char *subject; /* "" */
    int64_t issued_at_s; /* 0: none, or no integer */
    int64_t expires_at_s;
    int64_t not_before_s;
};

/* Takes it apart without believing anything; white space after it is dropped. False: not a JWT. */
bool lc_subject_read(const char *token, struct lc_subject *out);
void lc_subject_free(struct lc_subject *subject);

/* "aud" is text, or an array that holds it. */
bool lc_subject_for(const struct lc_subject *subject, const char *audience);
/* ... one of these (an array of strings). */
bool lc_subject_for_any(const struct lc_subject *subject, json_t *audiences);
/* "aud" as one line, for messages. The caller frees it. */
char *lc_subject_audience(const struct lc_subject *subject);

enum lc_subject_signature { LC_SIGNED_WELL, LC_SIGNED_UNKNOWN, LC_SIGNED_BADLY };
/* UNKNOWN: no kid, or the issuer does not publish that key. */
enum lc_subject_signature lc_subject_signed(struct lc_cloud *cloud, const struct lc_subject *subject);

/* Expired counts without slack; not yet valid and issued in the future with five minutes. */
enum lc_subject_time { LC_TIME_GOOD, LC_TIME_MISSING, LC_TIME_EXPIRED, LC_TIME_FUTURE };
enum lc_subject_time lc_subject_times(const struct lc_subject *subject);

#endif
