/* SPDX-License-Identifier: MIT */
/* Signatures of JSON Web Tokens, checked with a public key or a certificate. */
#include "token_proof.h"

#include "crypto.h"
#include "ossl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_RSA_BITS = 2048, REMEMBERED = 64 };

struct alg {
    const char *name;
    const char *group; /* of an elliptic curve; NULL: RSA */
    int number_bytes;  /* of each of its two numbers */
    bool pss;
    const EVP_MD *(*digest)(void);
};

static const struct alg algs[] = {
    {"RS256", NULL, 0, false, EVP_sha256},          {"RS384", NULL, 0, false, EVP_sha384},
    {"RS512", NULL, 0, false, EVP_sha512},          {"PS256", NULL, 0, true, EVP_sha256},
    {"ES256", "prime256v1", 32, false, EVP_sha256}, {"ES384", "secp384r1", 48, false, EVP_sha384},
    {"ES512", "secp521r1", 66, false, EVP_sha512},
};

/* Keys that were read, found by the digest of their text; the oldest makes place. */
static struct {
    pthread_rwlock_t lock;
    struct {
        unsigned char digest[LC_SHA256_BYTES];
        EVP_PKEY *pkey;
    } at[REMEMBERED];
    size_t next;
} keys = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static const struct alg *find_alg(const char *name)
{
    for (size_t i = 0; i < sizeof algs / sizeof algs[0]; i++) {
        if (strcmp(algs[i].name, name) == 0) {
            return &algs[i];
        }
    }
    return NULL;
}

static X509 *read_certificate(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *certificate = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, NULL, NULL);

    BIO_free(bio);
    return certificate;
}

static EVP_PKEY *read_key(const char *pem)
{
    EVP_PKEY *pkey = NULL;

    if (strstr(pem, "BEGIN CERTIFICATE") != NULL) {
        X509 *certificate = read_certificate(pem);
        pkey = certificate == NULL ? NULL : X509_get_pubkey(certificate);
        X509_free(certificate);
    } else {
        BIO *bio = BIO_new_mem_buf(pem, -1);
        pkey = bio == NULL ? NULL : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
        BIO_free(bio);
    }
    ERR_clear_error();
    return pkey;
}

/* A reference that the caller drops, NULL when pem is no key. */
static EVP_PKEY *key_of(const char *pem)
{
    unsigned char digest[LC_SHA256_BYTES];
    EVP_PKEY *pkey = NULL;

    lc_sha256(pem, strlen(pem), digest);
    (void)pthread_rwlock_rdlock(&keys.lock);
    for (size_t i = 0; i < REMEMBERED && keys.at[i].pkey != NULL; i++) {
        if (memcmp(keys.at[i].digest, digest, sizeof digest) == 0 && EVP_PKEY_up_ref(keys.at[i].pkey) == 1) {
            pkey = keys.at[i].pkey;
            break;
        }
    }
    (void)pthread_rwlock_unlock(&keys.lock);
    if (pkey != NULL) {
        return pkey;
    }
    pkey = read_key(pem);
    if (pkey != NULL && EVP_PKEY_up_ref(pkey) == 1) {
        (void)pthread_rwlock_wrlock(&keys.lock);
        EVP_PKEY_free(keys.at[keys.next].pkey);
        keys.at[keys.next].pkey = pkey;
        memcpy(keys.at[keys.next].digest, digest, sizeof digest);
        keys.next = (keys.next + 1) % REMEMBERED;
        (void)pthread_rwlock_unlock(&keys.lock);
    }
    return pkey;
}

static bool fits(EVP_PKEY *pkey, const struct alg *alg)
{
    char group[32] = "";
    size_t len = 0;

    if (alg->group == NULL) {
        return EVP_PKEY_get_base_id(pkey) == EVP_PKEY_RSA && EVP_PKEY_get_bits(pkey) >= LEAST_RSA_BITS;
    }
    return EVP_PKEY_get_base_id(pkey) == EVP_PKEY_EC && EVP_PKEY_get_group_name(pkey, group, sizeof group, &len) == 1 &&
           strcmp(group, alg->group) == 0;
}

bool lc_token_proof_key(const char *pem)
{
    EVP_PKEY *pkey = key_of(pem);
    bool good = false;

    for (size_t i = 0; pkey != NULL && i < sizeof algs / sizeof algs[0]; i++) {
        good = good || fits(pkey, &algs[i]);
    }
    EVP_PKEY_free(pkey);
    return good;
}

/* The two numbers of RFC 7518, 3.4, as DER. */
static bool to_der(struct lc_buf *signature, int number_bytes)
{
    const unsigned char *bytes = (const unsigned char *)signature->at;
    ECDSA_SIG *sig = NULL;
    BIGNUM *r = NULL;
    BIGNUM *s = NULL;
    unsigned char *der = NULL;
    int len = 0;

    if (signature->len != 2 * (size_t)number_bytes) {
        return false;
    }
    sig = ECDSA_SIG_new();
    r = BN_bin2bn(bytes, number_bytes, NULL);
    s = BN_bin2bn(bytes + number_bytes, number_bytes, NULL);
    if (sig == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(sig, r, s) != 1) {
        BN_free(r);
        BN_free(s);
    } else {
        len = i2d_ECDSA_SIG(sig, &der);
    }
    ECDSA_SIG_free(sig);
    lc_buf_free(signature);
    if (len > 0) {
        lc_buf_add(signature, der, (size_t)len);
    }
    OPENSSL_free(der);
    return len > 0 && !signature->broken;
}

static bool verify(EVP_PKEY *pkey, const struct alg *alg, const char *text, size_t len, const struct lc_buf *signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *how = NULL;
    bool good = ctx != NULL && EVP_DigestVerifyInit(ctx, &how, alg->digest(), NULL, pkey) == 1;

    if (good && alg->pss) {
        good = EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
               EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1 &&
               EVP_PKEY_CTX_set_rsa_mgf1_md(how, alg->digest()) == 1;
    }
    good = good && EVP_DigestVerify(ctx, (const unsigned char *)signature->at, signature->len,
                                    (const unsigned char *)text, len) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

bool lc_token_proof(const char *token, const char *alg_name, const char *pem)
{
    const char *dot = strrchr(token, '.');
    const struct alg *alg = find_alg(alg_name);
    EVP_PKEY *pkey = alg == NULL || dot == NULL ? NULL : key_of(pem);
    struct lc_buf signature = {0};
    bool good = false;

    if (pkey != NULL && alg != NULL && dot != NULL) {
        good = fits(pkey, alg) && lc_unbase64(&signature, dot + 1, strlen(dot + 1), true) &&
               (alg->group == NULL || to_der(&signature, alg->number_bytes)) &&
               verify(pkey, alg, token, (size_t)(dot - token), &signature);
    }
    EVP_PKEY_free(pkey);
    lc_buf_free(&signature);
    return good;
}

bool lc_token_certificate_current(const char *pem)
{
    X509 *certificate = read_certificate(pem);
    bool good = certificate != NULL && X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 &&
                X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;

    X509_free(certificate);
    ERR_clear_error();
    return good;
}

static bool thumb(const unsigned char *digest, unsigned len, char *out, size_t room)
{
    struct lc_buf text = {0};
    bool good = false;

    lc_base64(&text, digest, len, true);
    good = text.at != NULL && !text.broken && text.len < room;
    (void)snprintf(out, room, "%s", good ? text.at : "");
    lc_buf_free(&text);
    return good;
}

bool lc_token_thumbs(const char *pem, char sha1[LC_THUMB1_BYTES], char sha256[LC_THUMB256_BYTES])
{
    X509 *certificate = read_certificate(pem);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    bool good = certificate != NULL && X509_digest(certificate, EVP_sha1(), digest, &len) == 1 &&
                thumb(digest, len, sha1, LC_THUMB1_BYTES) &&
                X509_digest(certificate, EVP_sha256(), digest, &len) == 1 &&
                thumb(digest, len, sha256, LC_THUMB256_BYTES);

    X509_free(certificate);
    ERR_clear_error();
    return good;
}
