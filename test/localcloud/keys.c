/* SPDX-License-Identifier: MIT */
/* Keys that sign tokens: our own RSA keys, and the public keys of another issuer's JWKS (RFC 7517). */
#include "keys.h"

#include "crypto.h"
#include "ossl.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 100, RSA_BITS = 2048 };

static char *bio_text(BIO *bio)
{
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);

    return len <= 0 || data == NULL ? NULL : strndup(data, (size_t)len);
}

static char *public_pem(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;

    if (bio != NULL && PEM_write_bio_PUBKEY(bio, pkey) == 1) {
        text = bio_text(bio);
    }
    BIO_free(bio);
    return text;
}

static char *private_pem(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;

    if (bio != NULL && PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL) == 1) {
        text = bio_text(bio);
    }
    BIO_free(bio);
    return text;
}

static char *kubernetes_kid(EVP_PKEY *pkey)
{
    unsigned char *der = NULL;
    int len = i2d_PUBKEY(pkey, &der);
    unsigned char digest[LC_SHA256_BYTES];
    struct lc_buf kid = {0};

    if (len <= 0) {
        return NULL;
    }
    lc_sha256(der, (size_t)len, digest);
    OPENSSL_free(der);
    lc_base64(&kid, digest, sizeof digest, true);
    return kid.at;
}

static char *number_text(EVP_PKEY *pkey, const char *name)
{
    BIGNUM *number = NULL;
    unsigned char bytes[RSA_BITS];
    struct lc_buf text = {0};

    if (EVP_PKEY_get_bn_param(pkey, name, &number) != 1) {
        return NULL;
    }
    if (BN_num_bytes(number) <= (int)sizeof bytes) {
        int len = BN_bn2bin(number, bytes);
        lc_base64(&text, bytes, (size_t)len, true);
    }
    BN_free(number);
    return text.at;
}

static json_t *rsa_jwk(EVP_PKEY *pkey, const char *kid)
{
    char *n = number_text(pkey, OSSL_PKEY_PARAM_RSA_N);
    char *e = number_text(pkey, OSSL_PKEY_PARAM_RSA_E);
    json_t *jwk = NULL;

    if (n != NULL && e != NULL) {
        jwk = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "use", "sig", "kty", "RSA", "kid", kid, "alg", "RS256", "n", n,
                        "e", e);
    }
    free(n);
    free(e);
    return jwk;
}

static struct lc_key *own_key(EVP_PKEY *pkey, struct lc_fail *fail)
{
    struct lc_key *key = calloc(1, sizeof *key);

    if (key != NULL) {
        key->kind = LC_KEY_RSA;
        key->kid = kubernetes_kid(pkey);
        key->public_pem = public_pem(pkey);
        key->private_pem = private_pem(pkey);
        key->jwk = key->kid == NULL ? NULL : rsa_jwk(pkey, key->kid);
    }
    if (key != NULL) {
        key->signer = pkey;
    } else {
        EVP_PKEY_free(pkey);
    }
    if (key == NULL || key->kid == NULL || key->public_pem == NULL || key->private_pem == NULL || key->jwk == NULL) {
        lc_key_free(key);
        (void)lc_fail_set(fail, "a signing key could not be written out");
        return NULL;
    }
    return key;
}

void *lc_key_signer(const struct lc_key *key)
{
    return key->signer != NULL && EVP_PKEY_up_ref(key->signer) == 1 ? key->signer : NULL;
}

void lc_key_signer_free(void *signer)
{
    EVP_PKEY_free(signer);
}

bool lc_key_sign(void *signer, const char *text, size_t len, struct lc_buf *out)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char signature[RSA_BITS / 8];
    size_t signature_len = sizeof signature;
    bool good = ctx != NULL && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, signer) == 1 &&
                EVP_DigestSign(ctx, signature, &signature_len, (const unsigned char *)text, len) == 1;

    EVP_MD_CTX_free(ctx);
    if (good) {
        lc_buf_add(out, signature, signature_len);
    }
    return good && !out->broken;
}

struct lc_key *lc_key_generate(struct lc_fail *fail)
{
    EVP_PKEY *pkey = EVP_RSA_gen(RSA_BITS);

    if (pkey == NULL) {
        (void)lc_fail_set(fail, "a signing key could not be made");
        return NULL;
    }
    return own_key(pkey, fail);
}

struct lc_key *lc_key_from_pem(const char *pem, struct lc_fail *fail)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *pkey = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

    BIO_free(bio);
    if (pkey == NULL || EVP_PKEY_get_base_id(pkey) != EVP_PKEY_RSA) {
        EVP_PKEY_free(pkey);
        (void)lc_fail_set(fail, "not an RSA private key in PEM");
        return NULL;
    }
    return own_key(pkey, fail);
}

static bool member_bytes(json_t *jwk, const char *name, struct lc_buf *out)
{
    const char *text = json_string_value(json_object_get(jwk, name));

    return text != NULL && *text != '\0' && lc_unbase64(out, text, strlen(text), true);
}

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *build)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *pkey = NULL;

    if (params == NULL || ctx == NULL || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        pkey = NULL;
    }
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return pkey;
}

static EVP_PKEY *rsa_public(json_t *jwk)
{
    struct lc_buf n = {0};
    struct lc_buf e = {0};
    BIGNUM *modulus = NULL;
    BIGNUM *exponent = NULL;
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *pkey = NULL;

    if (build != NULL && member_bytes(jwk, "n", &n) && member_bytes(jwk, "e", &e) && n.len <= 2048 && e.len <= 16) {
        modulus = BN_bin2bn((unsigned char *)n.at, (int)n.len, NULL);
        exponent = BN_bin2bn((unsigned char *)e.at, (int)e.len, NULL);
        if (modulus != NULL && exponent != NULL && BN_num_bits(modulus) >= 1024 &&
            OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
            OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1) {
            pkey = from_params("RSA", build);
        }
    }
    OSSL_PARAM_BLD_free(build);
    BN_free(modulus);
    BN_free(exponent);
    lc_buf_free(&n);
    lc_buf_free(&e);
    return pkey;
}

struct curve {
    const char *name;
    const char *group;
    size_t bytes;
    enum lc_key_kind kind;
};

static const struct curve *curve_of(json_t *jwk)
{
    static const struct curve curves[] = {
        {"P-256", "prime256v1", 32, LC_KEY_P256},
        {"P-384", "secp384r1", 48, LC_KEY_P384},
        {"P-521", "secp521r1", 66, LC_KEY_P521},
    };
    const char *name = json_string_value(json_object_get(jwk, "crv"));

    for (size_t i = 0; name != NULL && i < sizeof curves / sizeof curves[0]; i++) {
        if (strcmp(curves[i].name, name) == 0) {
            return &curves[i];
        }
    }
    return NULL;
}

static EVP_PKEY *ec_public(json_t *jwk, const struct curve *curve)
{
    struct lc_buf point = {0};
    struct lc_buf y = {0};
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *pkey = NULL;

    lc_buf_add(&point, "\x04", 1); /* SEC 1: uncompressed point */
    if (build != NULL && member_bytes(jwk, "x", &point) && member_bytes(jwk, "y", &y) &&
        point.len == curve->bytes + 1 && y.len == curve->bytes) {
        lc_buf_add(&point, y.at, y.len);
        if (!point.broken && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curve->group, 0) == 1 &&
            OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.at, point.len) == 1) {
            pkey = from_params("EC", build);
        }
    }
    OSSL_PARAM_BLD_free(build);
    lc_buf_free(&point);
    lc_buf_free(&y);
    return pkey;
}

struct lc_key *lc_key_from_jwk(json_t *jwk, struct lc_fail *fail)
{
    const char *kid = json_string_value(json_object_get(jwk, "kid"));
    const char *type = json_string_value(json_object_get(jwk, "kty"));
    const struct curve *curve = curve_of(jwk);
    EVP_PKEY *pkey = NULL;
    struct lc_key *key = NULL;

    if (kid == NULL || type == NULL) {
        (void)lc_fail_set(fail, "a key of the JWKS has no \"kid\" or no \"kty\"");
        return NULL;
    }
    if (strcmp(type, "RSA") == 0) {
        pkey = rsa_public(jwk);
    } else if (strcmp(type, "EC") == 0 && curve != NULL) {
        pkey = ec_public(jwk, curve);
    }
    key = pkey == NULL ? NULL : calloc(1, sizeof *key);
    if (key != NULL) {
        key->kind = strcmp(type, "RSA") == 0 || curve == NULL ? LC_KEY_RSA : curve->kind;
        key->kid = strdup(kid);
        key->public_pem = public_pem(pkey);
        key->jwk = json_incref(jwk);
    }
    EVP_PKEY_free(pkey);
    ERR_clear_error();
    if (key == NULL || key->kid == NULL || key->public_pem == NULL) {
        lc_key_free(key);
        (void)lc_fail_set(fail, "key \"%.80s\" of the JWKS is not a usable RSA or EC public key", kid);
        return NULL;
    }
    return key;
}

void lc_key_free(struct lc_key *key)
{
    if (key == NULL) {
        return;
    }
    if (key->private_pem != NULL) {
        OPENSSL_cleanse(key->private_pem, strlen(key->private_pem));
    }
    free(key->kid);
    free(key->public_pem);
    free(key->private_pem);
    json_decref(key->jwk);
    EVP_PKEY_free(key->signer);
    free(key);
}

/* Other keys of a JWKS (symmetric, OKP, for encryption) are ignored. */
static bool can_sign(json_t *jwk)
{
    const char *type = json_string_value(json_object_get(jwk, "kty"));
    const char *use = json_string_value(json_object_get(jwk, "use"));

    return type == NULL ||
           ((strcmp(type, "RSA") == 0 || strcmp(type, "EC") == 0) && (use == NULL || strcmp(use, "sig") == 0));
}

int lc_key_list_read(json_t *jwks, struct lc_key_list *out, struct lc_fail *fail)
{
    json_t *keys = json_object_get(jwks, "keys");
    json_t *jwk = NULL;
    size_t index = 0;

    *out = (struct lc_key_list){0};
    if (!json_is_array(keys) || json_array_size(keys) == 0 || json_array_size(keys) > MOST_KEYS) {
        return lc_fail_set(fail, "a JWKS is {\"keys\": [...]} with 1 to %d keys", MOST_KEYS);
    }
    out->at = calloc(json_array_size(keys), sizeof(struct lc_key *));
    if (out->at == NULL) {
        return lc_fail_set(fail, "out of memory");
    }
    json_array_foreach(keys, index, jwk)
    {
        struct lc_key *key = NULL;
        if (!can_sign(jwk)) {
            continue;
        }
        key = lc_key_from_jwk(jwk, fail);
        if (key == NULL) {
            lc_key_list_free(out);
            return -1;
        }
        out->at[out->count++] = key;
    }
    return 0;
}

void lc_key_list_free(struct lc_key_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        lc_key_free(list->at[i]);
    }
    free(list->at);
    *list = (struct lc_key_list){0};
}

const struct lc_key *lc_key_list_find(const struct lc_key_list *list, const char *kid)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->at[i]->kid, kid) == 0) {
            return list->at[i];
        }
    }
    return NULL;
}
