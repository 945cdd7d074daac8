/* SPDX-License-Identifier: MIT */
/* Verifier of JSON Web Tokens by a JSON Web Key Set. */
#include "pki/jwks.h"

#include "base/base64.h"
#include "base/json.h"
#include "pki/ossl_private.h"
#include "wire/decode.h"

#include <string.h>

#define NUMBER_MAX 1024 /* bytes of a key's number, of which wire/decode.c accepts 512 */
#define DER_MAX    4096
#define SHOWN_MAX  100

enum { INTEGER = 0x02, BITS = 0x03, SEQUENCE = 0x30 };

static const struct algorithm {
    const char *name;
    const char *kty;
    const char *crv;
    size_t number_bytes; /* of each of the two numbers of an ECDSA signature; 0 = RSA */
    const EVP_MD *(*digest)(void);
} algorithms[] = {
    {"RS256", "RSA", NULL, 0, EVP_sha256},    {"RS384", "RSA", NULL, 0, EVP_sha384},
    {"RS512", "RSA", NULL, 0, EVP_sha512},    {"ES256", "EC", "P-256", 32, EVP_sha256},
    {"ES384", "EC", "P-384", 48, EVP_sha384},
};

static const struct algorithm *find_algorithm(struct cfr_view name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        if (cfr_view_is(name, algorithms[i].name))
            return &algorithms[i];
    }
    return NULL;
}

static int refuse_algorithm(struct cfr_view alg, struct cfr_err *err)
{
    char shown[SHOWN_MAX];

    if (cfr_view_starts(alg, "HS"))
        return cfr_err_set(err, CFR_E_TOKEN,
                           "the token is signed with %s, by a shared secret: a public key cannot verify it, and clouds "
                           "refuse it",
                           cfr_view_show(alg, shown, sizeof shown));
    return cfr_err_set(err, CFR_E_TOKEN,
                       "the token is signed with %s; RS256, RS384, RS512, ES256 and ES384 are supported",
                       cfr_view_show(alg, shown, sizeof shown));
}

/* ---- DER ---- */

/* Appends an element with TAG: BEFORE and then CONTENT. */
static int add_element(struct cfr_secret *out, unsigned char tag, struct cfr_view before, struct cfr_view content,
                       struct cfr_err *err)
{
    size_t n = before.n + content.n;
    unsigned char head[4] = {tag, (unsigned char)n, 0, 0};
    size_t used = 2;
    int rc;

    if (n > 0xff) {
        head[1] = 0x82;
        head[2] = (unsigned char)(n >> 8);
        head[3] = (unsigned char)n;
        used = 4;
    } else if (n > 0x7f) {
        head[1] = 0x81;
        head[2] = (unsigned char)n;
        used = 3;
    }
    rc = cfr_secret_append(out, (struct cfr_view){(const char *)head, used}, err);
    if (rc == 0)
        rc = cfr_secret_append(out, before, err);
    return rc != 0 ? rc : cfr_secret_append(out, content, err);
}

/* A positive INTEGER of the big-endian bytes N. */
static int add_number(struct cfr_secret *out, struct cfr_view n, struct cfr_err *err)
{
    while (n.n > 1 && n.p[0] == '\0') {
        n.p++;
        n.n--;
    }
    return add_element(out, INTEGER, (struct cfr_view){"", n.n == 0 || ((unsigned char)n.p[0] & 0x80) != 0 ? 1 : 0}, n,
                       err);
}

/* SubjectPublicKeyInfo of ALGORITHM (DER of an AlgorithmIdentifier) and the bytes KEY, after LEAD. */
static int add_public_key(struct cfr_secret *out, struct cfr_view algorithm, struct cfr_view lead, struct cfr_view key,
                          struct cfr_err *err)
{
    struct cfr_secret bits;
    int rc;

    cfr_secret_init(&bits, DER_MAX);
    rc = add_element(&bits, BITS, lead, key, err);
    if (rc == 0)
        rc = add_element(out, SEQUENCE, algorithm, cfr_secret_view(&bits), err);
    cfr_secret_free(&bits);
    return rc;
}

/* ---- keys ---- */

/* The number that KEY has under NAME, in base64url. */
static int read_number(const struct cfr_json *key, const char *name, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_err why = {0};
    int rc = cfr_base64url_decode(cfr_json_text(key, name), out, &why);

    if (rc == CFR_E_NOMEM)
        return cfr_err_nomem(err);
    if (rc != 0 || out->len == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "its `%s` is not a number in base64url", name);
    return 0;
}

static int write_rsa(const struct cfr_json *key, struct cfr_secret *der, struct cfr_err *err)
{
    static const char algorithm[] = "\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05"; /* and a NUL: NULL */
    struct cfr_secret n;
    struct cfr_secret e;
    struct cfr_secret numbers;
    struct cfr_secret both;
    int rc;

    cfr_secret_init(&n, NUMBER_MAX);
    cfr_secret_init(&e, NUMBER_MAX);
    cfr_secret_init(&numbers, DER_MAX);
    cfr_secret_init(&both, DER_MAX);
    rc = read_number(key, "n", &n, err);
    if (rc == 0)
        rc = read_number(key, "e", &e, err);
    if (rc == 0)
        rc = add_number(&numbers, cfr_secret_view(&n), err);
    if (rc == 0)
        rc = add_number(&numbers, cfr_secret_view(&e), err);
    if (rc == 0)
        rc = add_element(&both, SEQUENCE, (struct cfr_view){NULL, 0}, cfr_secret_view(&numbers), err);
    if (rc == 0)
        rc = add_public_key(der, (struct cfr_view){algorithm, sizeof algorithm}, (struct cfr_view){"", 1},
                            cfr_secret_view(&both), err);
    cfr_secret_free(&n);
    cfr_secret_free(&e);
    cfr_secret_free(&numbers);
    cfr_secret_free(&both);
    return rc;
}

/* A point, not compressed. */
static int write_ec(const struct cfr_json *key, const struct algorithm *a, struct cfr_secret *der, struct cfr_err *err)
{
    static const char p256[] = "\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
    static const char p384[] = "\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22";
    struct cfr_view algorithm =
        a->number_bytes == 32 ? (struct cfr_view){p256, sizeof p256 - 1} : (struct cfr_view){p384, sizeof p384 - 1};
    struct cfr_secret point;
    int rc;

    cfr_secret_init(&point, (size_t)2 * NUMBER_MAX);
    rc = read_number(key, "x", &point, err);
    if (rc == 0 && point.len != a->number_bytes)
        rc = cfr_err_set(err, CFR_E_CONFIG, "its `x` has %zu bytes instead of %zu", point.len, a->number_bytes);
    if (rc == 0)
        rc = read_number(key, "y", &point, err);
    if (rc == 0 && point.len != 2 * a->number_bytes)
        rc = cfr_err_set(err, CFR_E_CONFIG, "its `x` and `y` have %zu bytes instead of %zu", point.len,
                         2 * a->number_bytes);
    if (rc == 0)
        rc = add_public_key(der, algorithm, (struct cfr_view){"\0\x04", 2}, cfr_secret_view(&point), err);
    cfr_secret_free(&point);
    return rc;
}

static int read_key(const struct cfr_json *key, const struct algorithm *a, EVP_PKEY **out, struct cfr_err *err)
{
    struct cfr_secret der;
    int rc;

    *out = NULL;
    cfr_secret_init(&der, DER_MAX);
    rc = a->number_bytes == 0 ? write_rsa(key, &der, err) : write_ec(key, a, &der, err);
    if (rc == CFR_E_LIMIT)
        rc = cfr_err_set(err, CFR_E_CONFIG, "it is too large");
    if (rc == 0)
        rc = cfr_decode_public_key_der(cfr_secret_view(&der), out, err);
    if (rc == 0 && (rc = cfr_key_check_kind(*out, err)) != 0) {
        EVP_PKEY_free(*out);
        *out = NULL;
    }
    cfr_secret_free(&der);
    return rc;
}

/* ---- signatures ---- */

/* The two numbers of RAW (RFC 7518, 3.4) as an ECDSA-Sig-Value. CFR_E_REJECTED if RAW is not of that length. */
static int write_ecdsa(struct cfr_view raw, const struct algorithm *a, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_secret numbers;
    size_t n = a->number_bytes;
    int rc = raw.n == 2 * n ? 0 : CFR_E_REJECTED;

    cfr_secret_init(&numbers, DER_MAX);
    if (rc == 0)
        rc = add_number(&numbers, (struct cfr_view){raw.p, n}, err);
    if (rc == 0)
        rc = add_number(&numbers, (struct cfr_view){raw.p + n, n}, err);
    if (rc == 0)
        rc = add_element(out, SEQUENCE, (struct cfr_view){NULL, 0}, cfr_secret_view(&numbers), err);
    cfr_secret_free(&numbers);
    return rc;
}

/* 0, CFR_E_REJECTED or CFR_E_NOMEM: whether SIGNATURE is one of TEXT by KEY. */
static int check_signature(EVP_PKEY *key, const struct algorithm *a, struct cfr_view text, struct cfr_view signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good = ctx != NULL && EVP_DigestVerifyInit(ctx, NULL, a->digest(), NULL, key) == 1 &&
                EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n, (const unsigned char *)text.p,
                                 text.n) == 1;
    bool memory = ctx == NULL || ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return good ? 0 : memory ? CFR_E_NOMEM : CFR_E_REJECTED;
}

/* 0, CFR_E_REJECTED or CFR_E_NOMEM: whether KEY signed what precedes the last dot of TOKEN. */
static int check_token(EVP_PKEY *key, const struct algorithm *a, struct cfr_view token)
{
    const char *dot = token.n != 0 ? memrchr(token.p, '.', token.n) : NULL;
    struct cfr_view text = {token.p, dot != NULL ? (size_t)(dot - token.p) : 0};
    struct cfr_secret raw;
    struct cfr_secret der;
    int rc = CFR_E_REJECTED;

    cfr_secret_init(&raw, NUMBER_MAX);
    cfr_secret_init(&der, DER_MAX);
    if (dot != NULL)
        rc = cfr_base64url_decode((struct cfr_view){dot + 1, token.n - text.n - 1}, &raw, NULL);
    if (rc == 0 && a->number_bytes != 0)
        rc = write_ecdsa(cfr_secret_view(&raw), a, &der, NULL);
    if (rc == 0)
        rc = check_signature(key, a, text, cfr_secret_view(a->number_bytes != 0 ? &der : &raw));
    cfr_secret_free(&raw);
    cfr_secret_free(&der);
    return rc == 0 || rc == CFR_E_NOMEM ? rc : CFR_E_REJECTED;
}

/* ---- the set ---- */

/* KEY has the token's kid, which is SHOWN. */
static int verify_by(const struct cfr_json *key, const struct cfr_jwks_token *token, const struct algorithm *a,
                     const char *shown, struct cfr_err *err)
{
    struct cfr_view kty = cfr_json_text(key, "kty");
    struct cfr_view crv = cfr_json_text(key, "crv");
    struct cfr_view alg = cfr_json_text(key, "alg");
    struct cfr_view use = cfr_json_text(key, "use");
    struct cfr_err why = {0};
    char name[SHOWN_MAX];
    EVP_PKEY *pkey;
    int rc;

    if (use.n != 0 && !cfr_view_is(use, "sig"))
        return cfr_err_set(err, CFR_E_CONFIG, "the key kid=%s is not for signatures (`use` is %s)", shown,
                           cfr_view_show(use, name, sizeof name));
    if (!cfr_view_is(kty, a->kty) || (a->crv != NULL && !cfr_view_is(crv, a->crv)))
        return cfr_err_set(err, CFR_E_TOKEN, "the token is signed with %s, but the key kid=%s is of another type, %s",
                           a->name, shown, cfr_view_show(crv.n != 0 ? crv : kty, name, sizeof name));
    if (alg.n != 0 && !cfr_view_is(alg, a->name))
        return cfr_err_set(err, CFR_E_TOKEN, "the token is signed with %s, but the key kid=%s is for %s", a->name,
                           shown, cfr_view_show(alg, name, sizeof name));
    rc = read_key(key, a, &pkey, &why);
    if (rc != 0)
        return cfr_err_set(err, rc, "the key kid=%s cannot be used: %s", shown, why.text);
    rc = check_token(pkey, a, token->text);
    EVP_PKEY_free(pkey);
    if (rc == CFR_E_NOMEM)
        return cfr_err_nomem(err);
    return rc == 0 ? 0 : cfr_err_set(err, rc, "the signature does not match the key kid=%s", shown);
}

static int verify(const struct cfr_json *list, const struct cfr_jwks_token *token, size_t *keys, struct cfr_err *err)
{
    const struct algorithm *a = find_algorithm(token->alg);
    char shown[SHOWN_MAX];
    int rc = CFR_E_MISSING;

    *keys = cfr_json_count(list);
    if (a == NULL)
        return refuse_algorithm(token->alg, err);
    (void)cfr_view_show(token->kid.n != 0 ? token->kid : cfr_view_of("(none)"), shown, sizeof shown);
    if (token->kid.n == 0 && *keys != 1)
        return cfr_err_set(err, CFR_E_MISSING, "the token does not name its key (`kid`), and the set has %zu keys",
                           *keys);
    /* Two keys can have one kid: then either may have signed it. */
    for (const struct cfr_json *key = cfr_json_first(list); key != NULL && rc != 0 && rc != CFR_E_NOMEM;
         key = cfr_json_next(key)) {
        if (token->kid.n == 0 || cfr_view_eq(cfr_json_text(key, "kid"), token->kid))
            rc = verify_by(key, token, a, shown, err);
    }
    if (rc == CFR_E_MISSING && *keys == 1)
        return cfr_err_set(err, rc, "no key has the kid %s: the only key of the set has another one", shown);
    if (rc == CFR_E_MISSING)
        return cfr_err_set(err, rc, "no key with kid %s is among the %zu keys", shown, *keys);
    return rc;
}

int cfr_jwks_verify(struct cfr_view jwks, const struct cfr_jwks_token *token, size_t *keys, struct cfr_err *err)
{
    struct cfr_err why = {0};
    struct cfr_json *doc = NULL;
    const struct cfr_json *list;
    int rc = jwks.n <= CFR_JWKS_MAX ? cfr_json_parse(jwks, &doc, &why) : CFR_E_LIMIT;

    *keys = 0;
    if (rc == CFR_E_NOMEM)
        return cfr_err_nomem(err);
    list = cfr_json_get(doc, "keys");
    if (rc == CFR_E_LIMIT)
        rc = cfr_err_set(err, CFR_E_ANSWER, "the key set is larger than %d bytes", CFR_JWKS_MAX);
    else if (rc != 0)
        rc = cfr_err_set(err, CFR_E_ANSWER, "the key set is %s", why.text);
    else if (!cfr_json_is_array(list))
        rc = cfr_err_set(err, CFR_E_ANSWER, "it is not a JSON Web Key Set: it has no array `keys`");
    else
        rc = verify(list, token, keys, err);
    cfr_json_free(doc);
    return rc;
}

const char *cfr_jwks_remedy(int code)
{
    switch (code) {
    case CFR_E_MISSING:
        return "the issuer has changed its keys since, or another issuer signed the token: get a new token, and "
               "publish the key set that has the signer's key";
    case CFR_E_REJECTED:
        return "the token was changed, or another key signed it: compare the published key set with the signer's key";
    case CFR_E_TOKEN:
        return "use a token that the issuer signed by its published key";
    case CFR_E_CONFIG:
        return "publish an RSA key of 2048 to 4096 bits, or an EC key on P-256 or P-384";
    case CFR_E_ANSWER:
        return "use the document that `jwks_uri` of the issuer names";
    default:
        return NULL;
    }
}
