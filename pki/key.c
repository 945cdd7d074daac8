/* SPDX-License-Identifier: MIT */
/* Making key pairs, and their ids. */
#include "pki/key.h"

#include "base/base64.h"
#include "pki/cert_private.h"
#include "pki/ossl_private.h"
#include "wire/decode.h"

#include <stdio.h>
#include <string.h>

#define SHA256_BYTES 32
#define RSA_MIN_BITS 2048
#define RSA_MAX_BITS 4096

const char *const cfr_key_kinds[] = {"ecdsa-p256", "ecdsa-p384", "rsa-2048", "rsa-3072", "rsa-4096", NULL};

int cfr_key_check_kind(EVP_PKEY *key, struct cfr_err *err)
{
    int bits = EVP_PKEY_get_bits(key);
    char group[64] = "";

    if (EVP_PKEY_is_a(key, "RSA") && bits >= RSA_MIN_BITS && bits <= RSA_MAX_BITS)
        return 0;
    if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
        (strcmp(group, "prime256v1") == 0 || strcmp(group, "secp384r1") == 0))
        return 0;
    ERR_clear_error();
    return cfr_err_set(err, CFR_E_CONFIG,
                       "the key is of another kind (%.20s %.20s, %d bits): it must be ECDSA on P-256 or P-384, or RSA "
                       "of %d to %d bits",
                       EVP_PKEY_get0_type_name(key), group, bits, RSA_MIN_BITS, RSA_MAX_BITS);
}

static EVP_PKEY *generate(enum cfr_key_kind kind)
{
    switch (kind) {
    case CFR_KEY_ECDSA_P256:
        return EVP_EC_gen("P-256");
    case CFR_KEY_ECDSA_P384:
        return EVP_EC_gen("P-384");
    case CFR_KEY_RSA_2048:
        return EVP_RSA_gen(2048);
    case CFR_KEY_RSA_3072:
        return EVP_RSA_gen(3072);
    case CFR_KEY_RSA_4096:
        return EVP_RSA_gen(4096);
    }
    return NULL;
}

/* KEY may be NULL, which fails like one that cannot be written, with WHAT. */
static int write_private(EVP_PKEY *key, const char *what, struct cfr_secret *pem, struct cfr_err *err)
{
    BIO *bio = BIO_new(BIO_s_secmem()); /* wiped when it grows, and when it is freed */
    char *text = NULL;
    long n = 0;
    int rc;

    if (key != NULL && bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1)
        n = BIO_get_mem_data(bio, &text);
    rc = n > 0 && text != NULL ? cfr_secret_append(pem, (struct cfr_view){text, (size_t)n}, err)
                               : cfr_ossl_failed(what, err);
    BIO_free(bio);
    return rc;
}

bool cfr_key_is_slow(enum cfr_key_kind kind)
{
    return kind != CFR_KEY_ECDSA_P256 && kind != CFR_KEY_ECDSA_P384;
}

int cfr_key_make(enum cfr_key_kind kind, struct cfr_secret *pem, struct cfr_err *err)
{
    EVP_PKEY *key = generate(kind);
    int rc = write_private(key, "the key cannot be made", pem, err);

    EVP_PKEY_free(key);
    return rc;
}

int cfr_key_get(struct cfr_secret *made, enum cfr_key_kind kind, struct cfr_secret *pem, struct cfr_err *err)
{
    if (made == NULL)
        return cfr_key_make(kind, pem, err);
    cfr_secret_move(pem, made);
    return 0;
}

int cfr_key_private(struct cfr_view pem, struct cfr_secret *out, struct cfr_err *err)
{
    EVP_PKEY *key;
    int rc = cfr_decode_key(pem, true, &key, err);

    if (rc != 0)
        return rc;
    rc = write_private(key, "it holds no private key", out, err);
    EVP_PKEY_free(key);
    return rc == CFR_E_INTERNAL ? cfr_err_set(err, CFR_E_CONFIG, "it holds no private key in PEM form") : rc;
}

int cfr_key_write_public(EVP_PKEY *key, struct cfr_str *out, struct cfr_err *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long n = 0;
    int rc = 0;

    if (bio != NULL && PEM_write_bio_PUBKEY(bio, key) == 1)
        n = BIO_get_mem_data(bio, &text);
    if (n > 0 && text != NULL)
        cfr_str_add(out, (struct cfr_view){text, (size_t)n});
    else
        rc = cfr_ossl_failed("the public key cannot be written", err);
    BIO_free(bio);
    return rc == 0 && out->failed ? cfr_err_nomem(err) : rc;
}

int cfr_key_public(struct cfr_view pem, struct cfr_str *out, struct cfr_err *err)
{
    EVP_PKEY *key;
    int rc = cfr_decode_key(pem, true, &key, err);

    if (rc != 0)
        return rc;
    rc = cfr_key_write_public(key, out, err);
    EVP_PKEY_free(key);
    return rc;
}

int cfr_key_kid(struct cfr_view pem, char out[CFR_KEY_KID_MAX], struct cfr_err *err)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned char *der = NULL;
    struct cfr_secret text;
    EVP_PKEY *key;
    int n;
    int rc = cfr_decode_key(pem, true, &key, err);

    out[0] = '\0';
    if (rc != 0)
        return rc;
    cfr_secret_init(&text, CFR_KEY_KID_MAX);
    n = i2d_PUBKEY(key, &der);
    if (n <= 0 || EVP_Digest(der, (size_t)n, hash, NULL, EVP_sha256(), NULL) != 1)
        rc = cfr_ossl_failed("the key cannot be hashed", err);
    if (rc == 0)
        rc = cfr_base64url_encode((struct cfr_view){(char *)hash, SHA256_BYTES}, &text, err);
    if (rc == 0)
        (void)snprintf(out, CFR_KEY_KID_MAX, "%s", text.p);
    cfr_secret_free(&text);
    OPENSSL_free(der);
    EVP_PKEY_free(key);
    return rc;
}
