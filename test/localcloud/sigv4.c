/* SPDX-License-Identifier: MIT */
/* AWS Signature Version 4 as a server checks it. */
#include "sigv4.h"

#include "crypto.h"
#include "params.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ALGORITHM "AWS4-HMAC-SHA256"

enum { MOST_QUERY_PARTS = 300, MOST_EXPIRES_S = 604800 };

void lc_sigv4_free(struct lc_sigv4 *sig)
{
    free(sig->credential);
    free(sig->signed_headers);
    free(sig->signature);
    free(sig->amz_date);
    free(sig->token);
    *sig = (struct lc_sigv4){0};
}

/* Value of "name=" in the comma-separated Authorization header. */
static char *header_part(const char *header, const char *name)
{
    size_t name_len = strlen(name);

    while (*header != '\0') {
        header += strspn(header, ", \t");
        if (strncmp(header, name, name_len) == 0 && header[name_len] == '=') {
            header += name_len + 1;
            return strndup(header, strcspn(header, ", \t"));
        }
        header += strcspn(header, ",");
    }
    return NULL;
}

static char *copy(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static int read_header(const struct lc_request *request, const char *authorization, struct lc_sigv4 *out,
                       struct lc_refusal *refusal)
{
    size_t len = strlen(ALGORITHM);

    if (strncmp(authorization, ALGORITHM, len) != 0 || !isspace((unsigned char)authorization[len])) {
        return lc_refuse(refusal, 400, "IncompleteSignature",
                         "Unsupported AWS 'algorithm': the Authorization header must start with " ALGORITHM);
    }
    out->credential = header_part(authorization + len, "Credential");
    out->signed_headers = header_part(authorization + len, "SignedHeaders");
    out->signature = header_part(authorization + len, "Signature");
    out->amz_date = copy(lc_request_header(request, "x-amz-date"));
    out->token = copy(lc_request_header(request, "x-amz-security-token"));
    return 0;
}

static int read_query(const struct lc_request *request, struct lc_sigv4 *out, struct lc_refusal *refusal)
{
    struct lc_params params = {0};
    const char *expires = NULL;
    int result = 0;

    if (!lc_params_read(request->query, strlen(request->query), &params)) {
        return lc_refuse(refusal, 400, "MalformedQueryString", "The query string contains a syntax error.");
    }
    expires = lc_params_get(&params, "X-Amz-Expires");
    out->presigned = true;
    out->expires_s = 900;
    if (strcmp(lc_params_get(&params, "X-Amz-Algorithm"), ALGORITHM) != 0) {
        result = lc_refuse(refusal, 400, "IncompleteSignature", "Unsupported AWS 'algorithm' in X-Amz-Algorithm.");
    } else if (expires != NULL && !lc_text_integer(expires, 1, MOST_EXPIRES_S, &out->expires_s)) {
        result = lc_refuse(refusal, 400, "IncompleteSignature", "X-Amz-Expires must be a number of seconds below %d.",
                           MOST_EXPIRES_S);
    }
    out->credential = copy(lc_params_get(&params, "X-Amz-Credential"));
    out->signed_headers = copy(lc_params_get(&params, "X-Amz-SignedHeaders"));
    out->signature = copy(lc_params_get(&params, "X-Amz-Signature"));
    out->amz_date = copy(lc_params_get(&params, "X-Amz-Date"));
    out->token = copy(lc_params_get(&params, "X-Amz-Security-Token"));
    lc_params_free(&params);
    return result;
}

static int split_credential(struct lc_sigv4 *sig, struct lc_refusal *refusal)
{
    char *slash[4] = {NULL};
    char *at = sig->credential;

    for (int i = 0; i < 4; i++) {
        slash[i] = at == NULL ? NULL : strchr(at, '/');
        at = slash[i] == NULL ? NULL : slash[i] + 1;
    }
    if (at == NULL || strchr(at, '/') != NULL) {
        return lc_refuse(refusal, 400, "IncompleteSignature",
                         "Credential must have exactly 5 slash-delimited elements, e.g. "
                         "keyid/date/region/service/term.");
    }
    for (int i = 0; i < 4; i++) {
        *slash[i] = '\0';
    }
    sig->access_key_id = sig->credential;
    sig->date = slash[0] + 1;
    sig->region = slash[1] + 1;
    sig->service = slash[2] + 1;
    if (strcmp(at, "aws4_request") != 0) {
        return lc_refuse(refusal, 403, "SignatureDoesNotMatch",
                         "Credential should be scoped with a valid terminator: 'aws4_request', not '%.40s'.", at);
    }
    return 0;
}

static int check_complete(struct lc_sigv4 *sig, struct lc_refusal *refusal)
{
    char list[160] = "";

    if (sig->credential == NULL || sig->signed_headers == NULL || sig->signature == NULL || sig->amz_date == NULL) {
        (void)snprintf(list, sizeof list, "%s%s%s%s", sig->credential == NULL ? "'Credential' parameter. " : "",
                       sig->signature == NULL ? "'Signature' parameter. " : "",
                       sig->signed_headers == NULL ? "'SignedHeaders' parameter. " : "",
                       sig->amz_date == NULL ? "existence of an 'X-Amz-Date' header. " : "");
        return lc_refuse(refusal, 400, "IncompleteSignature", "Authorization header requires %s", list);
    }
    if (!lc_time_read_basic(sig->amz_date, &sig->signed_at_s)) {
        return lc_refuse(
            refusal, 400, "IncompleteSignature",
            "Date must be in ISO-8601 'basic format'. Got '%.40s'. See http://en.wikipedia.org/wiki/ISO_8601",
            sig->amz_date);
    }
    return split_credential(sig, refusal);
}

int lc_sigv4_read(const struct lc_request *request, struct lc_sigv4 *out, struct lc_refusal *refusal)
{
    const char *authorization = lc_request_header(request, "authorization");
    int result = 0;

    *out = (struct lc_sigv4){0};
    if (authorization != NULL) {
        result = read_header(request, authorization, out, refusal);
    } else if (strstr(request->query, "X-Amz-Algorithm=") != NULL &&
               (request->query == strstr(request->query, "X-Amz-Algorithm=") ||
                strstr(request->query, "&X-Amz-Algorithm=") != NULL)) {
        result = read_query(request, out, refusal);
    } else {
        return lc_refuse(refusal, 403, "MissingAuthenticationToken", "Request is missing Authentication Token");
    }
    if (result == 0) {
        result = check_complete(out, refusal);
    }
    if (result != 0) {
        lc_sigv4_free(out);
    }
    return result;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One "name=value" of the canonical query; "\1" sorts below every encoded byte, so names compare first. */
static char *canonical_pair(const char *pair, size_t len)
{
    const char *equals = memchr(pair, '=', len);
    size_t name_len = equals == NULL ? len : (size_t)(equals - pair);
    char *name = strndup(pair, name_len);
    char *value = equals == NULL ? strdup("") : strndup(equals + 1, len - name_len - 1);
    struct lc_buf out = {0};

    if (name != NULL && value != NULL && lc_text_unpercent(name, true) && lc_text_unpercent(value, true)) {
        lc_text_percent(&out, name);
        lc_buf_text(&out, "\1");
        lc_text_percent(&out, value);
    }
    free(name);
    free(value);
    return out.at;
}

static bool canonical_query(const char *query, bool presigned, struct lc_buf *out)
{
    char *parts[MOST_QUERY_PARTS] = {NULL};
    size_t count = 0;
    bool good = true;

    while (*query != '\0' && good) {
        size_t len = strcspn(query, "&");
        bool skip = len == 0 || (presigned && lc_text_starts(query, "X-Amz-Signature="));
        if (!skip) {
            good = count < MOST_QUERY_PARTS && (parts[count] = canonical_pair(query, len)) != NULL;
            count += good;
        }
        query += len + (query[len] == '&');
    }
    qsort(parts, count, sizeof parts[0], by_text);
    for (size_t i = 0; i < count; i++) {
        char *mark = strchr(parts[i], '\1');
        if (mark != NULL) {
            *mark = '=';
        }
        lc_buf_text(out, i == 0 ? "" : "&");
        lc_buf_text(out, parts[i]);
        free(parts[i]);
    }
    lc_buf_add(out, "", 0);
    return good && !out->broken;
}

/* Trimmed, runs of blanks as one. */
static void put_value(struct lc_buf *out, const char *value)
{
    bool blank = false;
    bool any = false;

    for (; *value != '\0'; value++) {
        if (*value == ' ' || *value == '\t') {
            blank = any;
            continue;
        }
        if (blank) {
            lc_buf_text(out, " ");
        }
        lc_buf_add(out, value, 1);
        blank = false;
        any = true;
    }
}

/* "name:value" lines; false when a signed header is missing, or the list is not lower-case and sorted. */
static bool canonical_headers(const struct lc_request *request, const char *signed_headers, struct lc_buf *out)
{
    char *list = strdup(signed_headers);
    char *rest = NULL;
    char previous[128] = "";
    bool good = list != NULL;

    for (char *name = good ? strtok_r(list, ";", &rest) : NULL; name != NULL && good;
         name = strtok_r(NULL, ";", &rest)) {
        bool found = false;
        good = strlen(name) < sizeof previous && strcmp(previous, name) < 0 && lc_text_only(name, "-_.");
        for (const char *c = name; good && *c != '\0'; c++) {
            good = !isupper((unsigned char)*c);
        }
        lc_buf_format(out, "%s:", name);
        for (size_t i = 0; i < request->header_count; i++) {
            if (strcasecmp(request->headers[i].name, name) == 0) {
                lc_buf_text(out, found ? "," : "");
                put_value(out, request->headers[i].value);
                found = true;
            }
        }
        lc_buf_text(out, "\n");
        good = good && found;
        (void)snprintf(previous, sizeof previous, "%s", name);
    }
    free(list);
    return good && !out->broken;
}

static bool is_signed(const char *signed_headers, const char *name)
{
    size_t len = strlen(name);

    while (*signed_headers != '\0') {
        size_t part = strcspn(signed_headers, ";");
        if (part == len && strncasecmp(signed_headers, name, len) == 0) {
            return true;
        }
        signed_headers += part + (signed_headers[part] == ';');
    }
    return false;
}

/* host, and whatever is x-amz-*, must be under the signature, or it could be changed on the way. */
static bool covers_enough(const struct lc_request *request, const char *signed_headers)
{
    if (!is_signed(signed_headers, "host")) {
        return false;
    }
    for (size_t i = 0; i < request->header_count; i++) {
        const char *name = request->headers[i].name;
        if (strncasecmp(name, "x-amz-", 6) == 0 && !is_signed(signed_headers, name)) {
            return false;
        }
    }
    return true;
}

static bool canonical_hash(const struct lc_request *request, const struct lc_sigv4 *sig, char out[LC_SHA256_HEX_BYTES])
{
    struct lc_buf text = {0};
    const char *announced = lc_request_header(request, "x-amz-content-sha256");
    char payload[LC_SHA256_HEX_BYTES];
    bool good = false;

    lc_sha256_hex(request->body, request->body_len, payload);
    lc_buf_format(&text, "%s\n%s\n", request->method, request->path);
    good = canonical_query(request->query, sig->presigned, &text);
    lc_buf_text(&text, "\n");
    good = canonical_headers(request, sig->signed_headers, &text) && good;
    lc_buf_format(&text, "\n%s\n%s", sig->signed_headers, payload);
    good = good && !text.broken && (announced == NULL || strcmp(announced, payload) == 0);
    if (good) {
        lc_sha256_hex(text.at, text.len, out);
    }
    lc_buf_free(&text);
    return good;
}

static void signing_key(const struct lc_sigv4 *sig, const char *secret, unsigned char key[LC_SHA256_BYTES])
{
    const char *steps[] = {sig->region, sig->service, "aws4_request"};
    struct lc_buf start = {0};
    unsigned char next[LC_SHA256_BYTES];

    lc_buf_format(&start, "AWS4%s", secret);
    lc_hmac256(start.at, start.len, sig->date, strlen(sig->date), key);
    lc_buf_free(&start);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        lc_hmac256(key, LC_SHA256_BYTES, steps[i], strlen(steps[i]), next);
        memcpy(key, next, LC_SHA256_BYTES);
    }
}

bool lc_sigv4_check(const struct lc_request *request, const struct lc_sigv4 *sig, const char *secret)
{
    char hash[LC_SHA256_HEX_BYTES] = "";
    char expected[LC_SHA256_HEX_BYTES] = "";
    unsigned char key[LC_SHA256_BYTES];
    unsigned char mac[LC_SHA256_BYTES];
    struct lc_buf text = {0};

    if (!covers_enough(request, sig->signed_headers) || !canonical_hash(request, sig, hash)) {
        return false;
    }
    lc_buf_format(&text, ALGORITHM "\n%s\n%s/%s/%s/aws4_request\n%s", sig->amz_date, sig->date, sig->region,
                  sig->service, hash);
    if (text.broken) {
        lc_buf_free(&text);
        return false;
    }
    signing_key(sig, secret, key);
    lc_hmac256(key, sizeof key, text.at, text.len, mac);
    lc_hex(mac, sizeof mac, expected);
    lc_buf_free(&text);
    return lc_same_text(expected, sig->signature);
}
