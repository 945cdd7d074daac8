/* SPDX-License-Identifier: MIT */
/* Signed JSON Web Tokens. */
#include "wire/jwt.h"

#include "base/base64.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 4096 /* a larger key takes too long: the agent does nothing else meanwhile */
#define RSA_E_BYTES  8
#define P256_BYTES   32
#define PEM_MAX      262144
#define CHAIN_MAX    10 /* certificates */

/* A failure of the library that nothing outside of it explains. */
static int library_failed(const char *what, struct cfr_err *err)
{
    bool memory = ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;

    ERR_clear_error();
    return cfr_err_set(err, memory ? CFR_E_NOMEM : CFR_E_INTERNAL, "%s", memory ? "out of memory" : what);
}

/* Without this the library would ask for the passphrase at the terminal. */
static int no_passphrase(char *buf, int size, int writing, void *context)
{
    (void)buf;
    (void)size;
    (void)writing;
    *(bool *)context = true;
    return -1;
}

static BIO *open_pem(struct cfr_view pem, struct cfr_err *err)
{
    BIO *bio;

    ERR_clear_error();
    if (pem.n > PEM_MAX) {
        (void)cfr_err_set(err, CFR_E_CONFIG, "it has %zu bytes, more than %d", pem.n, PEM_MAX);
        return NULL;
    }
    bio = BIO_new_mem_buf(pem.n != 0 ? pem.p : "", (int)pem.n);
    if (bio == NULL)
        (void)library_failed("the PEM reader cannot be made", err);
    return bio;
}

/* The first key of the type NAME, or NULL. */
static EVP_PKEY *read_key_as(const char *name, BIO *bio, bool *encrypted)
{
    EVP_PKEY *key = NULL;
    OSSL_DECODER_CTX *ctx = OSSL_DECODER_CTX_new_for_pkey(&key, "PEM", NULL, name, EVP_PKEY_KEYPAIR, NULL, NULL);
    bool good = ctx != NULL && OSSL_DECODER_CTX_set_pem_password_cb(ctx, no_passphrase, encrypted) == 1;
    int before = -1;

    /* Each call reads one block of PEM, or nothing. */
    while (good && key == NULL && !*encrypted && BIO_eof(bio) == 0 && BIO_tell(bio) > before) {
        before = BIO_tell(bio);
        (void)OSSL_DECODER_from_bio(ctx, bio);
    }
    OSSL_DECODER_CTX_free(ctx);
    return key;
}

/* Only types that can sign here: the library computes the public half of a DSA or DH key while it reads it, which takes
 * minutes if the numbers are large. */
static int read_key(struct cfr_view pem, EVP_PKEY **out, struct cfr_err *err)
{
    static const char *const types[] = {"RSA", "EC", "RSA-PSS"};
    struct cfr_err local = {0};
    bool encrypted = false;
    bool memory = false;

    *out = NULL;
    if (err == NULL)
        err = &local;
    for (size_t i = 0; i < sizeof types / sizeof types[0] && *out == NULL && !encrypted; i++) {
        BIO *bio = open_pem(pem, err);

        if (bio == NULL)
            return err->code;
        *out = read_key_as(types[i], bio, &encrypted);
        memory = memory || ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;
        BIO_free(bio);
    }
    if (*out != NULL) {
        ERR_clear_error();
        return 0;
    }
    if (memory)
        return library_failed("", err);
    ERR_clear_error();
    if (encrypted)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the private key is encrypted; give it without a passphrase (openssl pkey)");
    return cfr_err_set(err, CFR_E_CONFIG,
                       "it holds no private key in PEM form (-----BEGIN PRIVATE KEY-----) of type RSA or EC");
}

static bool is_p256(const EVP_PKEY *key)
{
    char group[64] = "";

    return EVP_PKEY_is_a(key, "EC") &&
           EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, NULL) == 1 &&
           (strcmp(group, "prime256v1") == 0 || strcmp(group, "P-256") == 0);
}

/* True if no number of an RSA key of BITS is longer than it has to be. Signing with factors or exponents of its
 * author's choice could take minutes, and the library limits none of them. */
static bool has_usual_numbers(const EVP_PKEY *key, int bits)
{
    const size_t whole = (size_t)(bits + 7) / 8;
    const size_t half = whole / 2 + 1;
    const struct {
        const char *name;
        size_t max;
    } numbers[] = {
        {OSSL_PKEY_PARAM_RSA_E, RSA_E_BYTES},     {OSSL_PKEY_PARAM_RSA_D, whole},
        {OSSL_PKEY_PARAM_RSA_FACTOR1, half},      {OSSL_PKEY_PARAM_RSA_FACTOR2, half},
        {OSSL_PKEY_PARAM_RSA_EXPONENT1, half},    {OSSL_PKEY_PARAM_RSA_EXPONENT2, half},
        {OSSL_PKEY_PARAM_RSA_COEFFICIENT1, half},
    };
    unsigned char bytes[RSA_BITS_MAX / 8];
    OSSL_PARAM third[] = {OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_FACTOR3, bytes, sizeof bytes),
                          OSSL_PARAM_construct_end()};
    bool good = true;

    for (size_t i = 0; good && i < sizeof numbers / sizeof numbers[0]; i++) {
        OSSL_PARAM one[] = {OSSL_PARAM_construct_BN(numbers[i].name, bytes, numbers[i].max),
                            OSSL_PARAM_construct_end()};

        good = EVP_PKEY_get_params(key, one) == 1 && OSSL_PARAM_modified(one) != 0;
    }
    good = good && EVP_PKEY_get_params(key, third) == 1 && OSSL_PARAM_modified(third) == 0;
    OPENSSL_cleanse(bytes, sizeof bytes);
    ERR_clear_error();
    return good;
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
    return has_usual_numbers(key, bits)
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG, "the numbers of the RSA key do not belong together; is it damaged?");
}

/* RFC 7518, 3.4: the two numbers one after the other, each of the curve's length, not the library's DER. */
static int raw_ecdsa(unsigned char *sig, size_t *n, struct cfr_err *err)
{
    const unsigned char *p = sig;
    ECDSA_SIG *parsed = d2i_ECDSA_SIG(NULL, &p, (long)*n);
    unsigned char raw[2 * P256_BYTES];
    int rc = 0;

    if (parsed == NULL || BN_bn2binpad(ECDSA_SIG_get0_r(parsed), raw, P256_BYTES) != P256_BYTES ||
        BN_bn2binpad(ECDSA_SIG_get0_s(parsed), raw + P256_BYTES, P256_BYTES) != P256_BYTES)
        rc = library_failed("the signature cannot be read", err);
    ECDSA_SIG_free(parsed);
    if (rc != 0)
        return rc;
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
        rc = library_failed("", err);
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

/* The next certificate; *OUT is NULL after the last one. NUMBER is for the error text. */
static int next_certificate(BIO *bio, size_t number, X509 **out, struct cfr_err *err)
{
    bool encrypted = false;
    unsigned long why;

    *out = PEM_read_bio_X509(bio, NULL, no_passphrase, &encrypted);
    why = ERR_peek_last_error();
    if (*out == NULL && ERR_GET_REASON(why) == ERR_R_MALLOC_FAILURE)
        return library_failed("", err);
    ERR_clear_error();
    if (*out != NULL || (ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "certificate %zu cannot be read; it must be X.509 in PEM form", number);
}

/* Calls USE for each certificate, at most LIMIT of them. CFR_E_CONFIG if there is none. */
static int each_certificate(struct cfr_view pem, size_t limit, int (*use)(X509 *, void *, struct cfr_err *),
                            void *context, struct cfr_err *err)
{
    struct cfr_err local = {0};
    X509 *certificate = NULL;
    size_t n = 0;
    int rc = 0;
    BIO *bio;

    if (err == NULL)
        err = &local;
    bio = open_pem(pem, err);
    if (bio == NULL)
        return err->code;
    while (rc == 0 && n < limit) {
        rc = next_certificate(bio, n + 1, &certificate, err);
        if (rc != 0 || certificate == NULL)
            break;
        rc = use(certificate, context, err);
        X509_free(certificate);
        n++;
    }
    BIO_free(bio);
    if (rc == 0 && n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
    return rc;
}

struct thumbprint {
    const EVP_MD *digest;
    struct cfr_secret text;
};

static int thumbprint_of(X509 *certificate, void *context, struct cfr_err *err)
{
    struct thumbprint *t = context;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (X509_digest(certificate, t->digest, digest, &n) != 1)
        return library_failed("the certificate has no digest", err);
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

static int chain_member(X509 *certificate, void *context, struct cfr_err *err)
{
    struct cfr_secret *out = context;
    unsigned char *der = NULL;
    int n = i2d_X509(certificate, &der);
    int rc;

    if (n <= 0)
        return library_failed("the certificate cannot be encoded", err);
    rc = cfr_secret_append_str(out, out->len == 1 ? "\"" : ",\"", err);
    if (rc == 0)
        rc = cfr_base64_encode((struct cfr_view){(const char *)der, (size_t)n}, out, err);
    OPENSSL_free(der);
    return rc != 0 ? rc : cfr_secret_append_str(out, "\"", err);
}

int cfr_jwt_chain(struct cfr_view pem, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_secret list;
    int rc;

    cfr_secret_init(&list, PEM_MAX);
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
