/* SPDX-License-Identifier: MIT */
/* Signed JSON Web Tokens. */
#include "wire/jwt.h"

#include "base/base64.h"
#include "wire/decode_private.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <string.h>

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 4096 /* a larger key takes too long: the agent does nothing else meanwhile */
#define P256_BYTES   32
#define CHAIN_MAX    10 /* certificates */

/* A key of a type that can sign here. */
static int read_key(struct cfr_view pem, EVP_PKEY **out, struct cfr_err *err)
{
    int rc = cfr_decode_key(pem, false, out, err);

    if (rc == 0 && !EVP_PKEY_is_a(*out, "RSA") && !EVP_PKEY_is_a(*out, "EC") && !EVP_PKEY_is_a(*out, "RSA-PSS")) {
        EVP_PKEY_free(*out);
        *out = NULL;
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "it holds no private key in PEM form (-----BEGIN PRIVATE KEY-----) of type RSA or EC");
    }
    return rc;
}

static bool is_p256(const EVP_PKEY *key)
{
    char group[64] = "";

    return EVP_PKEY_is_a(key, "EC") &&
           EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, NULL) == 1 &&
           (strcmp(group, "prime256v1") == 0 || strcmp(group, "P-256") == 0);
}

static int check_type(const EVP_PKEY *key, enum cfr_jwt_alg alg, struct cfr_err *err)
{
    int bits = EVP_PKEY_get_bits(key);

    if (alg == CFR_JWT_ES256)
        return is_p256(key) ? 0
                            : cfr_err_set(err, CFR_E_CONFIG, "ES256 needs a key on the curve P-256, and this is none");
    if (EVP_PKEY_is_a(key, "RSA-PSS"))
        return cfr_err_set(err, CFR_E_CONFIG, "%s needs a plain RSA key, and this is an RSASSA-PSS key",
                           alg == CFR_JWT_PS256 ? "PS256" : "RS256");
    if (!EVP_PKEY_is_a(key, "RSA"))
        return cfr_err_set(err, CFR_E_CONFIG, "%s needs an RSA key, and this is none",
                           alg == CFR_JWT_PS256 ? "PS256" : "RS256");
    if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "the RSA key has %d bits; %d to %d are supported", bits, RSA_BITS_MIN,
                           RSA_BITS_MAX);
    return 0;
}

/* The next number of an ECDSA-Sig-Value, with zeros before it up to P256_BYTES. */
static bool read_number(struct cfr_view *der, unsigned char *out)
{
    struct cfr_view n;

    if (!cfr_decode_element(der, CFR_DECODE_INTEGER, &n))
        return false;
    while (n.n > P256_BYTES && n.p[0] == '\0') {
        n.p++;
        n.n--;
    }
    if (n.n > P256_BYTES)
        return false;
    memset(out, 0, P256_BYTES - n.n);
    memcpy(out + P256_BYTES - n.n, n.p, n.n);
    return true;
}

/* RFC 7518, 3.4: the two numbers one after the other, each of the curve's length, not the library's DER. */
static int raw_ecdsa(unsigned char *sig, size_t *n, struct cfr_err *err)
{
    struct cfr_view der = {(const char *)sig, *n};
    struct cfr_view numbers;
    unsigned char raw[2 * P256_BYTES];

    if (!cfr_decode_element(&der, CFR_DECODE_SEQUENCE, &numbers) || !read_number(&numbers, raw) ||
        !read_number(&numbers, raw + P256_BYTES))
        return cfr_ossl_failed("the signature cannot be read", err);
    memcpy(sig, raw, sizeof raw);
    *n = sizeof raw;
    return 0;
}

static bool set_padding(EVP_PKEY_CTX *ctx, enum cfr_jwt_alg alg)
{
    return alg != CFR_JWT_PS256 || (EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
                                    EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) == 1);
}

static int make_signature(EVP_PKEY *key, enum cfr_jwt_alg alg, struct cfr_view text, unsigned char *sig, size_t *n,
                          struct cfr_err *err)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    int rc = 0;

    if (ctx == NULL || EVP_DigestSignInit(ctx, &key_ctx, EVP_sha256(), NULL, key) != 1 || !set_padding(key_ctx, alg) ||
        EVP_DigestSign(ctx, sig, n, (const unsigned char *)text.p, text.n) != 1)
        rc = cfr_ossl_failed("", err);
    EVP_MD_CTX_free(ctx);
    if (rc == CFR_E_INTERNAL) /* numbers that do not belong together, which reading does not notice */
        rc = cfr_err_set(err, CFR_E_CONFIG, "the private key cannot sign; is it damaged?");
    return rc != 0 || alg != CFR_JWT_ES256 ? rc : raw_ecdsa(sig, n, err);
}

static int append_signed(EVP_PKEY *key, enum cfr_jwt_alg alg, struct cfr_secret *jwt, struct cfr_err *err)
{
    unsigned char sig[RSA_BITS_MAX / 8];
    size_t n = sizeof sig;
    int rc = make_signature(key, alg, cfr_secret_view(jwt), sig, &n, err);

    if (rc == 0)
        rc = cfr_secret_append_str(jwt, ".", err);
    return rc != 0 ? rc : cfr_base64url_encode((struct cfr_view){(const char *)sig, n}, jwt, err);
}

int cfr_jwt_sign(enum cfr_jwt_alg alg, struct cfr_view header, struct cfr_view claims, struct cfr_view key,
                 struct cfr_secret *out, struct cfr_err *err)
{
    EVP_PKEY *pkey = NULL;
    struct cfr_secret jwt;
    int rc = read_key(key, &pkey, err);

    cfr_secret_init(&jwt, CFR_JWT_MAX);
    if (rc == 0)
        rc = check_type(pkey, alg, err);
    if (rc == 0)
        rc = cfr_base64url_encode(header, &jwt, err);
    if (rc == 0)
        rc = cfr_secret_append_str(&jwt, ".", err);
    if (rc == 0)
        rc = cfr_base64url_encode(claims, &jwt, err);
    if (rc == 0)
        rc = append_signed(pkey, alg, &jwt, err);
    if (rc == 0)
        rc = cfr_secret_append(out, cfr_secret_view(&jwt), err);
    EVP_PKEY_free(pkey);
    cfr_secret_free(&jwt);
    return rc;
}

int cfr_jwt_alg_of(struct cfr_view key, enum cfr_jwt_alg *out, struct cfr_err *err)
{
    EVP_PKEY *pkey = NULL;
    int rc = read_key(key, &pkey, err);

    if (rc != 0)
        return rc;
    *out = EVP_PKEY_is_a(pkey, "EC") ? CFR_JWT_ES256 : CFR_JWT_RS256;
    rc = check_type(pkey, *out, err);
    EVP_PKEY_free(pkey);
    return rc;
}

/* Calls USE for the DER form of each certificate, at most LIMIT of them. CFR_E_CONFIG if there is none. */
static int each_certificate(struct cfr_view pem, size_t limit, int (*use)(struct cfr_view, void *, struct cfr_err *),
                            void *context, struct cfr_err *err)
{
    const char *mistake = cfr_view_mistake(pem, CFR_FORM_CERTIFICATE);
    struct cfr_secret der;
    size_t n = 0;
    int rc = 0;

    cfr_secret_init(&der, CFR_DECODE_PEM_MAX);
    while (rc == 0 && n < limit) {
        cfr_secret_clear(&der);
        rc = cfr_decode_next_certificate(&pem, &der, err);
        if (rc == CFR_E_CONFIG)
            rc = cfr_err_set(err, CFR_E_CONFIG, "certificate %zu cannot be read; it must be X.509 in PEM form", n + 1);
        if (rc != 0 || der.len == 0)
            break;
        rc = use(cfr_secret_view(&der), context, err);
        n++;
    }
    cfr_secret_free(&der);
    if (rc == 0 && n == 0 && mistake != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "it holds no certificate in PEM form, but %s", mistake);
    if (rc == 0 && n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
    return rc;
}

struct thumbprint {
    const EVP_MD *digest;
    struct cfr_secret text;
};

static int thumbprint_of(struct cfr_view der, void *context, struct cfr_err *err)
{
    struct thumbprint *t = context;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (EVP_Digest(der.p, der.n, digest, &n, t->digest, NULL) != 1)
        return cfr_ossl_failed("the certificate has no digest", err);
    return cfr_base64url_encode((struct cfr_view){(const char *)digest, n}, &t->text, err);
}

static int make_thumbprint(struct cfr_view pem, const EVP_MD *digest, char out[CFR_JWT_THUMBPRINT_MAX],
                           struct cfr_err *err)
{
    struct thumbprint t = {.digest = digest};
    int rc;

    out[0] = '\0';
    cfr_secret_init(&t.text, CFR_JWT_THUMBPRINT_MAX);
    rc = each_certificate(pem, 1, thumbprint_of, &t, err);
    if (rc == 0)
        (void)snprintf(out, CFR_JWT_THUMBPRINT_MAX, "%s", t.text.p);
    cfr_secret_free(&t.text);
    return rc;
}

int cfr_jwt_thumbprint(struct cfr_view pem, char out[CFR_JWT_THUMBPRINT_MAX], struct cfr_err *err)
{
    return make_thumbprint(pem, EVP_sha256(), out, err);
}

int cfr_jwt_thumbprint_sha1(struct cfr_view pem, char out[CFR_JWT_THUMBPRINT_MAX], struct cfr_err *err)
{
    return make_thumbprint(pem, EVP_sha1(), out, err);
}

static int chain_member(struct cfr_view der, void *context, struct cfr_err *err)
{
    struct cfr_secret *out = context;
    int rc = cfr_secret_append_str(out, out->len == 1 ? "\"" : ",\"", err);

    if (rc == 0)
        rc = cfr_base64_encode(der, out, err);
    return rc != 0 ? rc : cfr_secret_append_str(out, "\"", err);
}

int cfr_jwt_chain(struct cfr_view pem, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_secret list;
    int rc;

    cfr_secret_init(&list, CFR_DECODE_PEM_MAX);
    rc = cfr_secret_append_str(&list, "[", err);
    if (rc == 0)
        rc = each_certificate(pem, CHAIN_MAX, chain_member, &list, err);
    if (rc == 0)
        rc = cfr_secret_append_str(&list, "]", err);
    if (rc == 0)
        rc = cfr_secret_append(out, cfr_secret_view(&list), err);
    cfr_secret_free(&list);
    return rc;
}

const char *cfr_jwt_uuid(const unsigned char bytes[16], char out[CFR_JWT_UUID_MAX])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (size_t i = 0; i < 16; i++) {
        unsigned char b = bytes[i];

        if (i == 6) /* the version, and in the eighth byte the variant */
            b = (unsigned char)((b & 0x0f) | 0x40);
        if (i == 8)
            b = (unsigned char)((b & 0x3f) | 0x80);
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[n++] = '-';
        out[n++] = digits[b >> 4];
        out[n++] = digits[b & 15];
    }
    out[n] = '\0';
    return out;
}
