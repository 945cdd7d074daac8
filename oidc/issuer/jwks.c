/* SPDX-License-Identifier: MIT */
/* Keys of a JSON Web Key Set. */
#include "oidc/issuer/issuer_private.h"

#include "base/base64.h"
#include "pki/key.h"
#include "wire/decode.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#define NUMBER_BYTES_MAX 2048 /* an RSA key of 16384 bits */
#define RSA_BITS_MIN     2048
#define CURVE_P256       "P-256"
#define CURVE_P384       "P-384"

/* NULL unless it is an EC key on a known curve. */
static const char *curve(const EVP_PKEY *key)
{
    char group[64] = "";

    if (!EVP_PKEY_is_a(key, "EC") ||
        EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, NULL) != 1)
        return NULL;
    if (strcmp(group, "prime256v1") == 0 || strcmp(group, CURVE_P256) == 0)
        return CURVE_P256;
    return strcmp(group, "secp384r1") == 0 || strcmp(group, CURVE_P384) == 0 ? CURVE_P384 : NULL;
}

static const char *algorithm(const EVP_PKEY *key)
{
    const char *crv = curve(key);

    if (EVP_PKEY_is_a(key, "RSA"))
        return "RS256";
    return crv == NULL ? NULL : strcmp(crv, CURVE_P256) == 0 ? "ES256" : "ES384";
}

static int refuse_kind(const EVP_PKEY *key, struct cfr_err *err)
{
    const char *type = EVP_PKEY_get0_type_name(key);

    if (EVP_PKEY_is_a(key, "RSA-PSS"))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "the key is an RSASSA-PSS key, which cannot sign as RS256; use a plain RSA key, or an EC key "
            "on P-256 or P-384");
    return cfr_err_set(err, CFR_E_CONFIG, "the key is %s%s; use an RSA key, or an EC key on P-256 or P-384",
                       type != NULL ? type : "of an unknown kind", EVP_PKEY_is_a(key, "EC") ? " on another curve" : "");
}

/* A member that is a number in base64url: of its own length, or with zeros before it up to WIDTH bytes. */
static int add_number(const EVP_PKEY *key, const char *param, const char *name, int width, struct cfr_str *out,
                      struct cfr_err *err)
{
    unsigned char bytes[NUMBER_BYTES_MAX];
    struct cfr_secret text;
    BIGNUM *n = NULL;
    int count = -1;
    int rc = 0;

    cfr_secret_init(&text, 2 * sizeof bytes);
    if (EVP_PKEY_get_bn_param(key, param, &n) == 1 && BN_num_bytes(n) <= (int)sizeof bytes)
        count = BN_bn2binpad(n, bytes, width != 0 ? width : BN_num_bytes(n));
    rc = count > 0 ? cfr_base64url_encode((struct cfr_view){(char *)bytes, (size_t)count}, &text, err)
                   : cfr_ossl_failed("the key's numbers cannot be read", err);
    if (rc == 0)
        cfr_str_addf(out, ",\"%s\":\"%s\"", name, text.p);
    cfr_secret_free(&text);
    BN_free(n);
    return rc;
}

static int add_ec(const EVP_PKEY *key, struct cfr_str *out, struct cfr_err *err)
{
    int width = strcmp(curve(key), CURVE_P256) == 0 ? 32 : 48;
    int rc = add_number(key, OSSL_PKEY_PARAM_EC_PUB_X, "x", width, out, err);

    return rc != 0 ? rc : add_number(key, OSSL_PKEY_PARAM_EC_PUB_Y, "y", width, out, err);
}

static int add_rsa(const EVP_PKEY *key, struct cfr_str *out, struct cfr_err *err)
{
    int rc = add_number(key, OSSL_PKEY_PARAM_RSA_N, "n", 0, out, err);

    return rc != 0 ? rc : add_number(key, OSSL_PKEY_PARAM_RSA_E, "e", 0, out, err);
}

/* Base64 of the DER form is what is between the lines of a PEM text. */
static void add_certificate(struct cfr_view pem, struct cfr_str *out)
{
    ptrdiff_t begin = cfr_view_find(pem, "-----\n");
    ptrdiff_t end = cfr_view_find(pem, "-----END");

    if (begin < 0 || end < begin)
        return;
    cfr_str_addz(out, ",\"x5c\":[\"");
    for (ptrdiff_t i = begin + 6; i < end; i++) {
        if (pem.p[i] != '\n')
            cfr_str_add(out, (struct cfr_view){pem.p + i, 1});
    }
    cfr_str_addz(out, "\"]");
}

static int add_key(const EVP_PKEY *key, const char *kid, struct cfr_view certificate, struct cfr_str *out,
                   struct cfr_err *err)
{
    const char *alg = algorithm(key);
    const char *crv = curve(key);
    int rc;

    if (alg == NULL)
        return refuse_kind(key, err);
    cfr_str_addf(out, "{\"use\":\"sig\",\"kty\":\"%s\",\"kid\":\"%s\"", crv != NULL ? "EC" : "RSA", kid);
    if (crv != NULL)
        cfr_str_addf(out, ",\"crv\":\"%s\"", crv);
    cfr_str_addf(out, ",\"alg\":\"%s\"", alg);
    rc = crv != NULL ? add_ec(key, out, err) : add_rsa(key, out, err);
    add_certificate(certificate, out);
    cfr_str_addz(out, "}");
    if (rc == 0 && out->failed)
        rc = cfr_err_nomem(err);
    return rc;
}

int cfr_jwks_key(struct cfr_view pem, struct cfr_view certificate, struct cfr_str *out, struct cfr_err *err)
{
    char kid[CFR_KEY_KID_MAX];
    EVP_PKEY *key;
    int rc = cfr_key_kid(pem, kid, err);

    if (rc == 0)
        rc = cfr_decode_key(pem, true, &key, err);
    if (rc != 0)
        return rc;
    rc = add_key(key, kid, certificate, out, err);
    EVP_PKEY_free(key);
    return rc;
}

int cfr_jwks_algorithm(struct cfr_view pem, const char **out, struct cfr_err *err)
{
    EVP_PKEY *key;
    int rc = cfr_decode_key(pem, true, &key, err);

    if (rc != 0)
        return rc;
    *out = algorithm(key);
    rc = *out != NULL ? 0 : refuse_kind(key, err);
    EVP_PKEY_free(key);
    return rc;
}

int cfr_jwks_kind(struct cfr_view pem, enum cfr_key_kind *out, struct cfr_err *err)
{
    EVP_PKEY *key;
    const char *crv;
    int bits;
    int rc = cfr_decode_key(pem, true, &key, err);

    if (rc != 0)
        return rc;
    bits = EVP_PKEY_get_bits(key);
    crv = curve(key);
    if (crv != NULL)
        *out = strcmp(crv, CURVE_P256) == 0 ? CFR_KEY_ECDSA_P256 : CFR_KEY_ECDSA_P384;
    else if (bits < RSA_BITS_MIN || bits > NUMBER_BYTES_MAX * 8)
        rc = cfr_err_set(err, CFR_E_CONFIG, "the RSA key has %d bits: use one of %d to %d bits", bits, RSA_BITS_MIN,
                         NUMBER_BYTES_MAX * 8);
    else
        *out = bits < 3072 ? CFR_KEY_RSA_2048 : bits < 4096 ? CFR_KEY_RSA_3072 : CFR_KEY_RSA_4096;
    EVP_PKEY_free(key);
    return rc;
}
