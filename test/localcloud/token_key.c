/* SPDX-License-Identifier: MIT */
/* The key that signs the clouds' JSON Web Tokens. */
#include "token_key.h"

#include "crypto.h"
#include "ossl.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32, POINT_BYTES = 65 };

struct lc_token_key {
    EVP_PKEY *pkey;
    char *header; /* encoded, with the dot */
    char *kid;
    unsigned char point[POINT_BYTES];
};

char *lc_token_key_generate(struct lc_fail *fail)
{
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    char *data = NULL;
    char *pem = NULL;

    if (pkey != NULL && bio != NULL && PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL) == 1) {
        long len = BIO_get_mem_data(bio, &data);
        pem = len > 0 ? strndup(data, (size_t)len) : NULL;
    }
    BIO_free(bio);
    EVP_PKEY_free(pkey);
    if (pem == NULL) {
        (void)lc_fail_set(fail, "a key for tokens could not be made");
    }
    return pem;
}

static bool name_key(struct lc_token_key *key)
{
    unsigned char digest[LC_SHA256_BYTES];
    struct lc_buf kid = {0};
    struct lc_buf header = {0};
    char *text = NULL;

    lc_sha256(key->point, sizeof key->point, digest);
    lc_base64(&kid, digest, 15, true);
    text = kid.at == NULL ? NULL : lc_text_format("{\"typ\":\"JWT\",\"alg\":\"ES256\",\"kid\":\"%s\"}", kid.at);
    if (text != NULL) {
        lc_base64(&header, text, strlen(text), true);
        lc_buf_text(&header, ".");
    }
    free(text);
    key->kid = kid.at;
    key->header = header.at;
    return key->kid != NULL && key->header != NULL && !header.broken;
}

struct lc_token_key *lc_token_key_new(const char *pem, struct lc_fail *fail)
{
    struct lc_token_key *key = calloc(1, sizeof *key);
    BIO *bio = BIO_new_mem_buf(pem, -1);
    size_t len = 0;

    if (key != NULL && bio != NULL) {
        key->pkey = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    }
    BIO_free(bio);
    if (key == NULL || key->pkey == NULL || EVP_PKEY_get_base_id(key->pkey) != EVP_PKEY_EC ||
        EVP_PKEY_get_octet_string_param(key->pkey, OSSL_PKEY_PARAM_PUB_KEY, key->point, POINT_BYTES, &len) != 1 ||
        len != POINT_BYTES || !name_key(key)) {
        lc_token_key_free(key);
        ERR_clear_error();
        (void)lc_fail_set(fail, "the key for tokens is not a P-256 key in PEM");
        return NULL;
    }
    return key;
}

void lc_token_key_free(struct lc_token_key *key)
{
    if (key != NULL) {
        EVP_PKEY_free(key->pkey);
        free(key->header);
        free(key->kid);
        free(key);
    }
}

/* DER to the two numbers, each with its leading zeros (RFC 7518, 3.4). */
static bool to_numbers(const unsigned char *der, size_t len, unsigned char out[2 * NUMBER_BYTES])
{
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)len);
    bool good = sig != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, NUMBER_BYTES) == NUMBER_BYTES &&
                BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + NUMBER_BYTES, NUMBER_BYTES) == NUMBER_BYTES;

    ECDSA_SIG_free(sig);
    return good;
}

static bool sign(const struct lc_token_key *key, const char *text, size_t len, unsigned char out[2 * NUMBER_BYTES])
{
    unsigned char der[128];
    size_t der_len = sizeof der;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good = ctx != NULL && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1 &&
                EVP_DigestSign(ctx, der, &der_len, (const unsigned char *)text, len) == 1 &&
                to_numbers(der, der_len, out);

    EVP_MD_CTX_free(ctx);
    return good;
}

char *lc_token_key_sign(const struct lc_token_key *key, json_t *claims)
{
    unsigned char numbers[2 * NUMBER_BYTES];
    struct lc_buf token = {0};
    char *text = json_dumps(claims, JSON_COMPACT);

    lc_buf_text(&token, key->header);
    if (text != NULL) {
        lc_base64(&token, text, strlen(text), true);
    }
    if (text == NULL || token.broken || !sign(key, token.at, token.len, numbers)) {
        lc_buf_free(&token);
    } else {
        lc_buf_text(&token, ".");
        lc_base64(&token, numbers, sizeof numbers, true);
    }
    free(text);
    return token.at;
}

static bool verify(const struct lc_token_key *key, const char *text, size_t len, const unsigned char *numbers)
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(numbers, NUMBER_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(numbers + NUMBER_BYTES, NUMBER_BYTES, NULL);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char *der = NULL;
    int der_len = 0;
    bool good = false;

    if (sig == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(sig, r, s) != 1) {
        BN_free(r);
        BN_free(s);
    } else {
        der_len = i2d_ECDSA_SIG(sig, &der);
        good = ctx != NULL && der_len > 0 && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1 &&
               EVP_DigestVerify(ctx, der, (size_t)der_len, (const unsigned char *)text, len) == 1;
    }
    ECDSA_SIG_free(sig);
    EVP_MD_CTX_free(ctx);
    OPENSSL_free(der);
    ERR_clear_error();
    return good;
}

json_t *lc_token_key_open(const struct lc_token_key *key, const char *token)
{
    size_t head = strlen(key->header);
    const char *dot = strrchr(token, '.');
    struct lc_buf numbers = {0};
    struct lc_buf claims = {0};
    json_t *object = NULL;

    if (strncmp(token, key->header, head) != 0 || dot == NULL || dot < token + head) {
        return NULL;
    }
    if (lc_unbase64(&numbers, dot + 1, strlen(dot + 1), true) &&
        numbers.len == sizeof(unsigned char[2 * NUMBER_BYTES]) &&
        verify(key, token, (size_t)(dot - token), (const unsigned char *)numbers.at) &&
        lc_unbase64(&claims, token + head, (size_t)(dot - token) - head, true)) {
        object = json_loadb(claims.at, claims.len, 0, NULL);
    }
    lc_buf_free(&numbers);
    lc_buf_free(&claims);
    return object;
}

json_t *lc_token_key_jwks(const struct lc_token_key *key)
{
    struct lc_buf x = {0};
    struct lc_buf y = {0};
    json_t *jwks = NULL;

    lc_base64(&x, key->point + 1, NUMBER_BYTES, true);
    lc_base64(&y, key->point + 1 + NUMBER_BYTES, NUMBER_BYTES, true);
    jwks = json_pack("{s:[{s:s,s:s,s:s,s:s,s:s,s:s,s:s}]}", "keys", "kty", "EC", "crv", "P-256", "use", "sig", "alg",
                     "ES256", "kid", key->kid, "x", x.at == NULL ? "" : x.at, "y", y.at == NULL ? "" : y.at);
    lc_buf_free(&x);
    lc_buf_free(&y);
    return jwks;
}
