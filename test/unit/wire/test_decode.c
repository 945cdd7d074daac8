/* SPDX-License-Identifier: MIT */
/* Keys, certificates and requests of other parties are refused by their bytes, before OpenSSL computes with them. */
#include "unit.h"

#include "base/base64.h"
#include "data_file.h"
#include "wire/decode.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define HAS_CURVE(bytes) cfr_decode_has_curve((struct cfr_view){bytes, sizeof(bytes) - 1})
#define TEXT_MAX         262144

static void curves_by_numbers(void **state)
{
    (void)state;
    /* ecPublicKey, and a prime field (RFC 3279, 2.3.5) or one of characteristic two. */
    assert_true(HAS_CURVE("\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x30\x82\x06\x07\x2a\x86\x48\xce\x3d\x01\x01"));
    assert_true(HAS_CURVE("\x06\x07\x2a\x86\x48\xce\x3d\x01\x02"));
}

static void curves_with_a_name(void **state)
{
    (void)state;
    /* ecPublicKey on P-256, signed by ecdsa-with-SHA256. */
    assert_false(HAS_CURVE("\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"));
    assert_false(HAS_CURVE("\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02"));
    assert_false(HAS_CURVE("\x2a\x86\x48\xce\x3d"));
    assert_false(cfr_decode_has_curve((struct cfr_view){NULL, 0}));
}

/* ---- DER of a test's own ---- */

struct bytes {
    unsigned char p[16384];
    size_t n;
};

static void put(struct bytes *b, const void *p, size_t n)
{
    assert_true(b->n + n <= sizeof b->p);
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

/* Makes all of B from FROM on the content of an element with TAG. */
static void wrap(struct bytes *b, size_t from, unsigned char tag)
{
    size_t n = b->n - from;
    unsigned char head[] = {tag, 0x82, (unsigned char)(n >> 8), (unsigned char)n};

    put(b, head, sizeof head);
    memmove(b->p + from + sizeof head, b->p + from, n);
    memcpy(b->p + from, head, sizeof head);
}

/* A positive number of BITS, a multiple of 8; 0 is zero. */
static void put_number(struct bytes *b, size_t bits)
{
    static const unsigned char first[] = {0, 0x80};
    size_t from = b->n;

    put(b, first, bits == 0 ? 1 : 2);
    for (size_t i = 1; i < bits / 8; i++)
        put(b, "\x01", 1);
    wrap(b, from, 0x02);
}

static const char rsa[] = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
static const char dsa[] = "\x06\x07\x2a\x86\x48\xce\x38\x04\x01\x05\x00";
static const char dh[] = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x03\x01\x05\x00";

static void put_rsa(struct bytes *b, size_t n, size_t e)
{
    size_t from = b->n;
    size_t inner;

    put(b, rsa, sizeof rsa - 1);
    wrap(b, from, 0x30);
    inner = b->n;
    put(b, "", 1); /* unused bits */
    put_number(b, n);
    put_number(b, e);
    wrap(b, inner + 1, 0x30);
    wrap(b, inner, 0x03);
    wrap(b, from, 0x30);
}

/* An RSAPrivateKey of the numbers, in a PrivateKeyInfo unless OID is NULL. */
static void put_rsa_private(struct bytes *b, const char *oid, size_t oid_n, const size_t numbers[8])
{
    size_t inner;

    if (oid != NULL) {
        put_number(b, 0);
        inner = b->n;
        put(b, oid, oid_n);
        wrap(b, inner, 0x30);
    }
    inner = b->n;
    put_number(b, 0);
    for (size_t i = 0; i < 8; i++)
        put_number(b, numbers[i]);
    wrap(b, inner, 0x30);
    if (oid != NULL) {
        wrap(b, inner, 0x04);
        wrap(b, 0, 0x30);
    }
}

static void add_pem(struct cfr_secret *out, const char *label, const struct bytes *b)
{
    struct cfr_view der = {(const char *)b->p, b->n};

    assert_int_equal(cfr_secret_append_str(out, "-----BEGIN ", NULL), 0);
    assert_int_equal(cfr_secret_append_str(out, label, NULL), 0);
    assert_int_equal(cfr_secret_append_str(out, "-----\n", NULL), 0);
    assert_int_equal(cfr_base64_encode(der, out, NULL), 0);
    assert_int_equal(cfr_secret_append_str(out, "\n-----END ", NULL), 0);
    assert_int_equal(cfr_secret_append_str(out, label, NULL), 0);
    assert_int_equal(cfr_secret_append_str(out, "-----\n", NULL), 0);
}

/* ---- what is refused ---- */

/* How often OpenSSL's decoders were called. */
static unsigned decoded;
EVP_PKEY *__real_d2i_PrivateKey(int type, EVP_PKEY **a, const unsigned char **p, long n);
EVP_PKEY *__wrap_d2i_PrivateKey(int type, EVP_PKEY **a, const unsigned char **p, long n);
EVP_PKEY *__real_d2i_PUBKEY(EVP_PKEY **a, const unsigned char **p, long n);
EVP_PKEY *__wrap_d2i_PUBKEY(EVP_PKEY **a, const unsigned char **p, long n);
X509 *__real_d2i_X509(X509 **a, const unsigned char **p, long n);
X509 *__wrap_d2i_X509(X509 **a, const unsigned char **p, long n);
X509_REQ *__real_d2i_X509_REQ(X509_REQ **a, const unsigned char **p, long n);
X509_REQ *__wrap_d2i_X509_REQ(X509_REQ **a, const unsigned char **p, long n);

EVP_PKEY *__wrap_d2i_PrivateKey(int type, EVP_PKEY **a, const unsigned char **p, long n)
{
    decoded++;
    return __real_d2i_PrivateKey(type, a, p, n);
}

EVP_PKEY *__wrap_d2i_PUBKEY(EVP_PKEY **a, const unsigned char **p, long n)
{
    decoded++;
    return __real_d2i_PUBKEY(a, p, n);
}

X509 *__wrap_d2i_X509(X509 **a, const unsigned char **p, long n)
{
    decoded++;
    return __real_d2i_X509(a, p, n);
}

X509_REQ *__wrap_d2i_X509_REQ(X509_REQ **a, const unsigned char **p, long n)
{
    decoded++;
    return __real_d2i_X509_REQ(a, p, n);
}

enum kind { KEY, CERTIFICATE, REQUEST, REQUEST_DER, PUBLIC_DER };

static int decode(enum kind kind, struct cfr_view text, struct cfr_err *err)
{
    EVP_PKEY *key = NULL;
    X509 *x = NULL;
    X509_REQ *request = NULL;
    int rc = kind == KEY           ? cfr_decode_key(text, true, &key, err)
             : kind == CERTIFICATE ? cfr_decode_certificate(text, &x, err)
             : kind == REQUEST     ? cfr_decode_request(text, &request, err)
             : kind == REQUEST_DER ? cfr_decode_request_der(text, &request, err)
                                   : cfr_decode_public_key_der(text, &key, err);

    assert_int_equal(rc == 0, key != NULL || x != NULL || request != NULL);
    EVP_PKEY_free(key);
    X509_free(x);
    X509_REQ_free(request);
    return rc;
}

static void refused(enum kind kind, struct cfr_view text, const char *why)
{
    struct cfr_err err = {0};

    decoded = 0;
    assert_int_equal(decode(kind, text, &err), CFR_E_CONFIG);
    assert_contains(err.text, why);
    assert_int_equal(decoded, 0);
}

static void refused_pem(enum kind kind, const char *label, const struct bytes *b, const char *why)
{
    struct cfr_secret text;

    cfr_secret_init(&text, TEXT_MAX);
    add_pem(&text, label, b);
    refused(kind, cfr_secret_view(&text), why);
    cfr_secret_free(&text);
}

static EVP_PKEY *make_curve(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");

    assert_int_equal(EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, "explicit"), 1);
    return key;
}

/* DER is OpenSSL's memory, which this frees. */
static void take(struct bytes *b, unsigned char *der, int n)
{
    assert_true(n > 0);
    b->n = 0;
    put(b, der, (size_t)n);
    OPENSSL_free(der);
}

static void sign_request(EVP_PKEY *key, struct bytes *b)
{
    X509_REQ *request = X509_REQ_new();
    unsigned char *der = NULL;
    int n;

    assert_int_equal(X509_REQ_set_pubkey(request, key), 1);
    assert_true(X509_REQ_sign(request, key, EVP_sha256()) > 0);
    n = i2d_X509_REQ(request, &der);
    take(b, der, n);
    X509_REQ_free(request);
}

static void sign_certificate(EVP_PKEY *key, struct bytes *b)
{
    X509 *x = X509_new();
    unsigned char *der = NULL;
    int n;

    assert_int_equal(X509_set_version(x, X509_VERSION_3), 1);
    assert_int_equal(X509_set_pubkey(x, key), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), 0));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), 1000));
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    n = i2d_X509(x, &der);
    take(b, der, n);
    X509_free(x);
}

static struct cfr_view view(const struct bytes *b)
{
    return (struct cfr_view){(const char *)b->p, b->n};
}

static void explicit_curves(void **state)
{
    static struct bytes b;
    EVP_PKEY *key = make_curve();
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    unsigned char *der = NULL;
    int n = i2d_PKCS8_PRIV_KEY_INFO(info, &der);

    (void)state;
    take(&b, der, n);
    assert_true(cfr_decode_has_curve(view(&b)));
    refused_pem(KEY, "PRIVATE KEY", &b, "explicit curve parameters");
    der = NULL;
    n = i2d_PrivateKey(key, &der);
    take(&b, der, n);
    refused_pem(KEY, "EC PRIVATE KEY", &b, "explicit curve parameters");
    der = NULL;
    n = i2d_PUBKEY(key, &der);
    take(&b, der, n);
    refused_pem(KEY, "PUBLIC KEY", &b, "explicit curve parameters");
    refused(PUBLIC_DER, view(&b), "explicit curve parameters");
    sign_request(key, &b);
    refused_pem(REQUEST, "CERTIFICATE REQUEST", &b, "explicit curve parameters");
    refused(REQUEST_DER, view(&b), "explicit curve parameters");
    sign_certificate(key, &b);
    refused_pem(CERTIFICATE, "CERTIFICATE", &b, "explicit curve parameters");
    assert_int_equal(cfr_decode_check_ca(view(&b), NULL), CFR_E_CONFIG);
    PKCS8_PRIV_KEY_INFO_free(info);
    EVP_PKEY_free(key);
}

/* The parameters of a named curve outside, numbers inside, where OpenSSL reads them, too. */
static void an_explicit_curve_inside_a_named_one(void **state)
{
    static const char named[] = "\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
    static struct bytes b;
    static struct bytes inner;
    EVP_PKEY *key = make_curve();
    unsigned char *der = NULL;
    int n = i2d_PrivateKey(key, &der);
    size_t from;

    (void)state;
    take(&inner, der, n);
    b.n = 0;
    put_number(&b, 0);
    from = b.n;
    put(&b, named, sizeof named - 1);
    wrap(&b, from, 0x30);
    from = b.n;
    put(&b, inner.p, inner.n);
    wrap(&b, from, 0x04);
    wrap(&b, 0, 0x30);
    refused_pem(KEY, "PRIVATE KEY", &b, "explicit curve parameters");
    EVP_PKEY_free(key);
}

static void large_public_numbers(void **state)
{
    static struct bytes b;

    (void)state;
    b.n = 0;
    put_rsa(&b, 2048, 16384);
    refused(PUBLIC_DER, view(&b), "an exponent of more than 64 bits");
    refused_pem(KEY, "PUBLIC KEY", &b, "an exponent of more than 64 bits");
    b.n = 0;
    put_rsa(&b, 16384, 24);
    refused(PUBLIC_DER, view(&b), "the RSA key has 16384 bits; at most 4096 are supported");
    b.n = 0;
    put_rsa(&b, 2048, 0);
    refused(PUBLIC_DER, view(&b), "cannot be read");
    b.n = 0;
    put_rsa(&b, 2048, 64);
    assert_int_equal(decode(PUBLIC_DER, view(&b), NULL), 0);
    put(&b, "", 1); /* more than one object */
    refused(PUBLIC_DER, view(&b), "not one public key");
}

/* A certificate, or a request, whose key is RSA with these numbers. */
static void put_object(struct bytes *b, bool request, size_t n, size_t e)
{
    b->n = 0;
    put_number(b, request ? 0 : 8);
    for (int i = 0; i < (request ? 1 : 4); i++)
        put(b, "\x30\x00", 2);
    put_rsa(b, n, e);
    wrap(b, 0, 0x30);
    put(b, "\x30\x00\x03\x01\x00", 5);
    wrap(b, 0, 0x30);
}

static void large_numbers_in_what_is_signed(void **state)
{
    static struct bytes b;

    (void)state;
    put_object(&b, true, 3072, 3072);
    refused(REQUEST_DER, view(&b), "an exponent of more than 64 bits");
    refused_pem(REQUEST, "CERTIFICATE REQUEST", &b, "an exponent of more than 64 bits");
    put_object(&b, true, 8192, 24);
    refused(REQUEST_DER, view(&b), "the RSA key has 8192 bits");
    put_object(&b, false, 3072, 3072);
    refused_pem(CERTIFICATE, "CERTIFICATE", &b, "an exponent of more than 64 bits");
    assert_int_equal(cfr_decode_check_ca(view(&b), NULL), CFR_E_CONFIG);
    put_object(&b, false, 8192, 24); /* which a CA's may have */
    refused_pem(CERTIFICATE, "CERTIFICATE", &b, "the RSA key has 8192 bits");
    assert_int_equal(cfr_decode_check_ca(view(&b), NULL), 0);
    b.p[1] = 0x80; /* BER: a length that is given at the end */
    refused(REQUEST_DER, view(&b), "not one well-formed object");
    assert_int_equal(cfr_decode_check_ca(view(&b), NULL), CFR_E_CONFIG);
}

static void private_rsa(const size_t numbers[8], const char *why)
{
    static struct bytes b;

    b.n = 0;
    put_rsa_private(&b, rsa, sizeof rsa - 1, numbers);
    refused_pem(KEY, "PRIVATE KEY", &b, why);
    b.n = 0;
    put_rsa_private(&b, NULL, 0, numbers);
    refused_pem(KEY, "RSA PRIVATE KEY", &b, why);
    refused_pem(KEY, "EC PRIVATE KEY", &b, "cannot be read");
}

static void large_private_numbers(void **state)
{
    const size_t usual[] = {2048, 24, 2048, 1024, 1024, 1024, 1024, 1024};

    (void)state;
    for (size_t i = 0; i < COUNT(usual); i++) {
        size_t numbers[COUNT(usual)];

        memcpy(numbers, usual, sizeof usual);
        numbers[i] = 16384;
        private_rsa(numbers, i == 0 ? "the RSA key has 16384 bits" : "do not belong together");
        numbers[i] = 0;
        private_rsa(numbers, i < 3 ? "cannot be read" : "do not belong together");
    }
}

/* OpenSSL computes the public half of these while it reads them. */
static void other_types(void **state)
{
    const size_t numbers[] = {2048, 24, 2048, 1024, 1024, 1024, 1024, 1024};
    static struct bytes b;

    (void)state;
    b.n = 0;
    put_rsa_private(&b, dsa, sizeof dsa - 1, numbers);
    refused_pem(KEY, "PRIVATE KEY", &b, "unsupported type");
    b.n = 0;
    put_rsa_private(&b, dh, sizeof dh - 1, numbers);
    refused_pem(KEY, "PRIVATE KEY", &b, "unsupported type");
    refused_pem(KEY, "DSA PRIVATE KEY", &b, "holds no key");
    refused_pem(KEY, "DH PARAMETERS", &b, "holds no key");
    refused_pem(KEY, "EC PARAMETERS", &b, "holds no key");
    refused_pem(KEY, "ENCRYPTED PRIVATE KEY", &b, "encrypted");
    refused_pem(CERTIFICATE, "PRIVATE KEY", &b, "holds no certificate");
    refused_pem(REQUEST, "PRIVATE KEY", &b, "holds no certificate request");
}

/* As many keys as a Secret has room for: only the first is read. */
static void many_blocks(void **state)
{
    struct cfr_view pem = data_file_read("jwt/p256.pem");
    struct cfr_view own = data_file_read("x509/own-curve.pem");
    struct cfr_secret text;
    EVP_PKEY *key;

    (void)state;
    cfr_secret_init(&text, TEXT_MAX);
    while (text.len + pem.n < 65536)
        assert_int_equal(cfr_secret_append(&text, pem, NULL), 0);
    decoded = 0;
    assert_int_equal(cfr_decode_key(cfr_secret_view(&text), false, &key, NULL), 0);
    assert_int_equal(decoded, 1);
    EVP_PKEY_free(key);
    cfr_secret_clear(&text);
    while (text.len + own.n < 65536)
        assert_int_equal(cfr_secret_append(&text, own, NULL), 0);
    refused(CERTIFICATE, cfr_secret_view(&text), "explicit curve parameters");
    refused(KEY, cfr_secret_view(&text), "holds no key");
    refused(REQUEST, cfr_secret_view(&text), "more than one PEM block");
    cfr_secret_free(&text);
    data_file_free(pem);
    data_file_free(own);
}

static void texts_that_are_too_long(void **state)
{
    static char text[TEXT_MAX + 1];

    (void)state;
    memset(text, '-', sizeof text);
    refused(KEY, (struct cfr_view){text, sizeof text}, "more than 262144");
    refused(CERTIFICATE, (struct cfr_view){text, sizeof text}, "more than 262144");
    refused(REQUEST, (struct cfr_view){text, sizeof text}, "more than 262144");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_by_numbers),     cmocka_unit_test(curves_with_a_name),
        cmocka_unit_test(explicit_curves),       cmocka_unit_test(an_explicit_curve_inside_a_named_one),
        cmocka_unit_test(large_public_numbers),  cmocka_unit_test(large_numbers_in_what_is_signed),
        cmocka_unit_test(large_private_numbers), cmocka_unit_test(other_types),
        cmocka_unit_test(many_blocks),           cmocka_unit_test(texts_that_are_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
