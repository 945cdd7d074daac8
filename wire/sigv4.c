/* SPDX-License-Identifier: MIT */
/* AWS Signature Version 4. */
#include "wire/sigv4_private.h"

#include "base/time.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define DIGEST 32
#define HEX    65 /* a digest in hexadecimal, and a NUL */
/* A canonical request holds the session token. */
#define CANONICAL_MAX 131072

static void to_hex(const unsigned char digest[DIGEST], char hex[HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < DIGEST; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[HEX - 1] = '\0';
}

static int sha256_hex(struct cfr_view data, char hex[HEX], struct cfr_err *err)
{
    unsigned char digest[DIGEST];
    unsigned n = 0;

    if (EVP_Digest(data.n != 0 ? data.p : "", data.n, digest, &n, EVP_sha256(), NULL) != 1 || n != DIGEST)
        return cfr_err_set(err, CFR_E_INTERNAL, "SHA-256 failed (out of memory?)");
    to_hex(digest, hex);
    return 0;
}

static int hmac(struct cfr_view key, struct cfr_view text, unsigned char out[DIGEST], struct cfr_err *err)
{
    unsigned n = 0;

    if (HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)text.p, text.n, out, &n) == NULL || n != DIGEST)
        return cfr_err_set(err, CFR_E_INTERNAL, "HMAC-SHA-256 failed (out of memory?)");
    return 0;
}

/* "2026-01-02T03:04:05Z" without its hyphens and colons. */
static void basic_date(int64_t now_s, char date[CFR_SIGV4_DATE_MAX])
{
    char stamp[CFR_TIME_RFC3339_MAX];
    size_t n = 0;

    (void)cfr_time_format(now_s, stamp);
    for (const char *p = stamp; *p != '\0' && n < CFR_SIGV4_DATE_MAX - 1; p++) {
        if (*p != '-' && *p != ':')
            date[n++] = *p;
    }
    date[n] = '\0';
}

/* Appends the strings up to a NULL. */
static int join(struct cfr_secret *to, struct cfr_err *err, const char *const *parts)
{
    int rc = 0;

    for (; rc == 0 && *parts != NULL; parts++)
        rc = cfr_secret_append_str(to, *parts, err);
    return rc;
}

/* Every header that is signed, in the order of their names. */
struct headers {
    struct {
        const char *name;
        struct cfr_view value;
    } items[CFR_SIGV4_HEADERS_MAX + 4];
    size_t count;
};

static void add_header(struct headers *h, const char *name, struct cfr_view value)
{
    size_t i = h->count++;

    for (; i > 0 && strcmp(h->items[i - 1].name, name) > 0; i--)
        h->items[i] = h->items[i - 1];
    h->items[i].name = name;
    h->items[i].value = value;
}

static void collect(const struct cfr_sigv4_request *r, const char *date, struct headers *h)
{
    h->count = 0;
    if (r->content_type != NULL)
        add_header(h, "content-type", cfr_view_of(r->content_type));
    add_header(h, "host", cfr_view_of(r->host));
    add_header(h, "x-amz-date", cfr_view_of(date));
    if (r->session_token.n != 0)
        add_header(h, "x-amz-security-token", r->session_token);
    for (size_t i = 0; i < CFR_SIGV4_HEADERS_MAX && r->headers[i].name != NULL; i++)
        add_header(h, r->headers[i].name, cfr_view_of(r->headers[i].value));
}

/* `name:value` lines. */
static int write_headers(const struct headers *h, struct cfr_secret *to, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < h->count; i++) {
        rc = join(to, err, (const char *const[]){h->items[i].name, ":", NULL});
        if (rc == 0)
            rc = cfr_secret_append(to, h->items[i].value, err);
        if (rc == 0)
            rc = cfr_secret_append_str(to, "\n", err);
    }
    return rc;
}

/* Their names, as SignedHeaders has them. */
static int write_names(const struct headers *h, struct cfr_secret *to, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < h->count; i++)
        rc = join(to, err, (const char *const[]){i != 0 ? ";" : "", h->items[i].name, NULL});
    return rc;
}

static int canonical_hash(const struct cfr_sigv4_request *r, const struct headers *h, char hex[HEX],
                          struct cfr_err *err)
{
    struct cfr_secret c;
    char body[HEX];
    int rc = sha256_hex(r->body, body, err);

    cfr_secret_init(&c, CANONICAL_MAX);
    if (rc == 0)
        rc = join(&c, err, (const char *const[]){r->method, "\n", r->path, "\n\n", NULL});
    if (rc == 0)
        rc = write_headers(h, &c, err);
    if (rc == 0)
        rc = cfr_secret_append_str(&c, "\n", err);
    if (rc == 0)
        rc = write_names(h, &c, err);
    if (rc == 0)
        rc = join(&c, err, (const char *const[]){"\n", body, NULL});
    if (rc == 0)
        rc = sha256_hex(cfr_secret_view(&c), hex, err);
    cfr_secret_free(&c);
    return rc;
}

static int derive_key(const struct cfr_sigv4_request *r, const char *day, unsigned char key[DIGEST],
                      struct cfr_err *err)
{
    const char *const parts[] = {day, r->region, r->service, "aws4_request"};
    struct cfr_secret first;
    int rc;

    cfr_secret_init(&first, 4096);
    rc = cfr_secret_append_str(&first, "AWS4", err);
    if (rc == 0)
        rc = cfr_secret_append(&first, r->secret_access_key, err);
    if (rc == 0)
        rc = hmac(cfr_secret_view(&first), cfr_view_of(parts[0]), key, err);
    cfr_secret_free(&first);
    for (size_t i = 1; rc == 0 && i < 4; i++) {
        unsigned char next[DIGEST];

        rc = hmac((struct cfr_view){(const char *)key, DIGEST}, cfr_view_of(parts[i]), next, err);
        memcpy(key, next, DIGEST);
        cfr_secret_wipe(next, sizeof next);
    }
    return rc;
}

/* The signature over the string to sign, which is no secret. */
static int signature(const struct cfr_sigv4_request *r, const struct headers *h, const char *date, const char *scope,
                     char hex[HEX], struct cfr_err *err)
{
    struct cfr_secret text;
    unsigned char key[DIGEST] = {0};
    unsigned char mac[DIGEST];
    char day[9];
    int rc = canonical_hash(r, h, hex, err);

    memcpy(day, date, 8);
    day[8] = '\0';
    cfr_secret_init(&text, 1024);
    if (rc == 0)
        rc = join(&text, err, (const char *const[]){"AWS4-HMAC-SHA256\n", date, "\n", scope, "\n", hex, NULL});
    if (rc == 0)
        rc = derive_key(r, day, key, err);
    if (rc == 0)
        rc = hmac((struct cfr_view){(const char *)key, DIGEST}, cfr_secret_view(&text), mac, err);
    if (rc == 0)
        to_hex(mac, hex);
    cfr_secret_wipe(key, sizeof key);
    cfr_secret_free(&text);
    return rc;
}

int cfr_sigv4_sign(const struct cfr_sigv4_request *r, char date[CFR_SIGV4_DATE_MAX], struct cfr_secret *authorization,
                   struct cfr_err *err)
{
    struct cfr_secret scope;
    struct headers h;
    char day[9];
    char hex[HEX];
    int rc;

    basic_date(r->now_s, date);
    collect(r, date, &h);
    memcpy(day, date, 8);
    day[8] = '\0';
    cfr_secret_init(&scope, 256);
    rc = join(&scope, err, (const char *const[]){day, "/", r->region, "/", r->service, "/aws4_request", NULL});
    if (rc == 0)
        rc = signature(r, &h, date, scope.p, hex, err);
    if (rc == 0)
        rc = cfr_secret_append_str(authorization, "AWS4-HMAC-SHA256 Credential=", err);
    if (rc == 0)
        rc = cfr_secret_append(authorization, r->access_key_id, err);
    if (rc == 0)
        rc = join(authorization, err, (const char *const[]){"/", scope.p, ", SignedHeaders=", NULL});
    if (rc == 0)
        rc = write_names(&h, authorization, err);
    if (rc == 0)
        rc = join(authorization, err, (const char *const[]){", Signature=", hex, NULL});
    cfr_secret_free(&scope);
    return rc;
}

int cfr_sigv4_hash(struct cfr_view body, char out[CFR_SIGV4_HASH_MAX], struct cfr_err *err)
{
    return sha256_hex(body, out, err);
}
