/* SPDX-License-Identifier: MIT */
/* AWS Signature Version 4 for a request without a query, the only kind that is ever signed here. */
#ifndef CFR_WIRE_SIGV4_PRIVATE_H
#define CFR_WIRE_SIGV4_PRIVATE_H

#include "base/secret.h"

#define CFR_SIGV4_DATE_MAX    17 /* "20260102T030405Z" with its NUL */

#define CFR_SIGV4_HEADERS_MAX 4
#define CFR_SIGV4_HASH_MAX    65 /* SHA-256 in hex, with its NUL */

/* A header that is signed in addition to the usual ones. */
struct cfr_sigv4_header {
    const char *name; /* in lower case, not one of the usual ones */
    const char *value;
};

/* All borrowed. Exactly these headers are signed: content-type unless it is NULL, host, x-amz-date,
 * x-amz-security-token unless SESSION_TOKEN is empty, and HEADERS. Header values must have no leading, trailing or
 * doubled spaces.
 */
struct cfr_sigv4_request {
    const char *method;
    const char *path; /* canonical already: unreserved characters and '/' */
    const char *host; /* as sent */
    const char *content_type;
    struct cfr_sigv4_header headers[CFR_SIGV4_HEADERS_MAX]; /* in any order, up to the first without a name */
    struct cfr_view body;
    const char *region;
    const char *service;
    struct cfr_view access_key_id;
    struct cfr_view secret_access_key;
    struct cfr_view session_token;
    int64_t now_s; /* Unix seconds */
};

/* Writes the value of X-Amz-Date into DATE and appends the value of Authorization to AUTHORIZATION (whose
 * limit must allow it). Every derived key is wiped. CFR_E_NOMEM, CFR_E_LIMIT, CFR_E_INTERNAL. */
int cfr_sigv4_sign(const struct cfr_sigv4_request *r, char date[CFR_SIGV4_DATE_MAX], struct cfr_secret *authorization,
                   struct cfr_err *err);
/* The SHA-256 of BODY in hex, as X-Amz-Content-Sha256 has it. CFR_E_INTERNAL. */
int cfr_sigv4_hash(struct cfr_view body, char out[CFR_SIGV4_HASH_MAX], struct cfr_err *err);

#endif
