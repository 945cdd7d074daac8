/* SPDX-License-Identifier: MIT */
/* Requests and answers of the local endpoints for SDKs, and what every shape of them shares. Nothing here blocks: an
 * answer is made from memory alone. Texts of a request and of an offer are borrowed until the answer is made; the
 * answer is the caller's. The callbacks run during the call and must not re-enter it. An error is an answer with an
 * HTTP status; an answer is at most CFR_SDK_ENDPOINT_ANSWER_MAX bytes. */
#ifndef CFR_SERVE_SDK_ENDPOINT_H
#define CFR_SERVE_SDK_ENDPOINT_H

#include "base/field.h"
#include "base/grant.h"
#include "base/writer.h"

#define CFR_SDK_ENDPOINT_HEADERS_MAX 8
#define CFR_SDK_ENDPOINT_ANSWER_MAX  262144

struct cfr_ec2_signer;

/* What one credential has to offer now. */
struct cfr_offer {
    const char *credential;        /* its name in the configuration */
    const struct cfr_grant *grant; /* borrowed until the answer is made; NULL = there is none that is still good */
    int64_t issued_s;              /* by this machine's wall clock, as all times here */
    int64_t expires_s;             /* 0 = never */
    const char *role_arn;          /* of the role that the configuration says it is; NULL = it says none */
    const char *why;       /* without a grant: why there is none, in words fit for a client (no secret); or NULL */
    int64_t retry_after_s; /* without a grant: when the next try is due */
};

struct cfr_sdk_endpoint_request {
    struct cfr_view method;
    struct cfr_view path;  /* without query, still percent-encoded; as cfr_sdk_endpoint_path gives it */
    struct cfr_view query; /* after '?', may be empty */
    struct cfr_view body;
    /* The value of a header, names compared without case; p == NULL when it is not there. A header that came twice
     * counts as one with an empty value. */
    struct cfr_view (*header)(void *ctx, const char *name);
    void *header_ctx;
};

/* What a shape may read besides the request. */
struct cfr_sdk_endpoint_world {
    int64_t now_s;
    /* False if there is no such credential (which the configuration's check excludes). */
    bool (*offer)(void *ctx, const char *credential, struct cfr_offer *out);
    /* Content of a file that holds what a client must show (trimmed); p == NULL if it cannot be read now. */
    struct cfr_view (*secret_file)(void *ctx, const char *path);
    void *ctx;
    struct cfr_ec2_signer *signer; /* of this run's session tokens (serve/sdk/ec2_token.h); NULL: none are given */
};

struct cfr_sdk_endpoint_header {
    const char *name; /* literal */
    char value[256];
};

/* Zero-initialised is empty; freed by cfr_sdk_endpoint_answer_free. */
struct cfr_sdk_endpoint_answer {
    int status;
    const char *content_type; /* literal; always set */
    struct cfr_sdk_endpoint_header headers[CFR_SDK_ENDPOINT_HEADERS_MAX];
    size_t header_count;
    struct cfr_secret body;
    const char
        *refused; /* for the log, once per kind: why a request was turned away (literal, no client text); or NULL */
};

/* GET /v1/token/NAME: {"credential","kind","expires":"RFC 3339"|null,"fields":{...}}, with Accept: text/plain the one
 * token alone. The caller decides whether NAME is allowed. */
bool cfr_sdk_token(const struct cfr_sdk_endpoint_request *r, const struct cfr_sdk_endpoint_world *w,
                   struct cfr_sdk_endpoint_answer *out);

/* Makes OUT its refusal: {"error":{"code","message"}}, with STATUS. */
void cfr_sdk_token_refuse(struct cfr_sdk_endpoint_answer *out, int status, const char *code, const char *text);

/* ---- answers and requests ---- */

/* Begins OUT again with STATUS, TYPE (literal) and Cache-Control: no-store, body empty. An answer that outgrows
 * CFR_SDK_ENDPOINT_ANSWER_MAX or memory, or a header that does not fit or is not printable, becomes a 500 without a
 * body, and stays that whatever is added: no caller has to check. HEAD is answered as GET; the server leaves out the
 * body.
 */
void cfr_sdk_endpoint_start(struct cfr_sdk_endpoint_answer *out, int status, const char *type);
void cfr_sdk_endpoint_text(struct cfr_sdk_endpoint_answer *out, const char *text);
/* The path of a request as the shapes compare it: several slashes at its beginning count as one, because clients put a
 * path that begins with a slash behind an address that ends with one. Nothing else is changed. */
struct cfr_view cfr_sdk_endpoint_path(struct cfr_view sent);
/* The value of a header of the request; p == NULL when it is not there. */
struct cfr_view cfr_sdk_endpoint_asked(const struct cfr_sdk_endpoint_request *r, const char *name);
/* True if the request's Host is HOST or HOST:PORT as configured ("127.0.0.1:9911"): the address itself, "localhost"
 * where it is loopback, each with or without the port. IPv6 in brackets. Against DNS rebinding. LISTEN is where the
 * agent really listens. */
bool cfr_sdk_endpoint_host_is(struct cfr_view host, const char *listen);
void cfr_sdk_endpoint_answer_free(struct cfr_sdk_endpoint_answer *a);

#endif
