/* SPDX-License-Identifier: MIT */
/* Answers of OAuth 2 token endpoints, the clouds' dialects included (RFC 6749, 5.1 and 5.2; RFC 8693, 2.2). */
#ifndef CFR_STS_CORE_OAUTH_ANSWER_H
#define CFR_STS_CORE_OAUTH_ANSWER_H

#include "base/secret.h"

enum cfr_oauth_answer_field {
    CFR_OAUTH_ACCESS_TOKEN,
    CFR_OAUTH_ID_TOKEN,
    CFR_OAUTH_REFRESH_TOKEN,
    CFR_OAUTH_TOKEN_TYPE,
    CFR_OAUTH_ISSUED_TYPE, /* issued_token_type */
    CFR_OAUTH_SCOPE,
    CFR_OAUTH_ERROR,          /* of an error: `error`, or for google.rpc bodies `error.status` */
    CFR_OAUTH_DESCRIPTION,    /* error_description, or `error.message` */
    CFR_OAUTH_SUBERROR,       /* or the first reason among google.rpc's `error.details` */
    CFR_OAUTH_TRACE_ID,       /* Azure */
    CFR_OAUTH_CORRELATION_ID, /* Azure */
    CFR_OAUTH_FIELDS
};

#define CFR_OAUTH_CODES_MAX 8

/* Everything is held as a secret, for a message may echo one. */
struct cfr_oauth_answer {
    struct cfr_secret fields[CFR_OAUTH_FIELDS]; /* empty where the answer has none */
    int64_t expires_in_s; /* number or numeric text; -1 = none or not understood; 0 for what is not positive */
    int64_t refresh_in_s; /* -1 = none */
    int64_t codes[CFR_OAUTH_CODES_MAX]; /* Azure's error_codes, or google.rpc's error.code */
    size_t code_count;
};

/* Reads a JSON object: a grant, an error, or neither; null is as an absent member. CFR_E_ANSWER: no JSON object,
 * or a known member of a wrong type, or one twice (the other members are there all the same, so that an error status
 * with such an answer can still be reported by its code); CONTENT_TYPE is for the error text. CFR_E_NOMEM. The caller
 * frees OUT in every case. */
int cfr_oauth_answer_read(struct cfr_view content_type, struct cfr_view body, struct cfr_oauth_answer *out,
                          struct cfr_err *err);
void cfr_oauth_answer_free(struct cfr_oauth_answer *a);
struct cfr_view cfr_oauth_answer_get(const struct cfr_oauth_answer *a, enum cfr_oauth_answer_field field);
/* The access token, checked: there, a bearer token (RFC 6750: printable, no blanks), TOKEN_TYPE Bearer if named,
 * expires_in_s positive if named. CFR_E_ANSWER says what is wrong. */
int cfr_oauth_answer_bearer(const struct cfr_oauth_answer *a, struct cfr_view *token, struct cfr_err *err);
/* The `exp` in the claims of TOKEN, whose signature its audience verifies. False if it is no JWT, or has none. */
bool cfr_oauth_answer_jwt_expiry(struct cfr_view token, int64_t *expires_s);

#endif
