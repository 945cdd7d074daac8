/* SPDX-License-Identifier: MIT */
/* Reads keys, certificates and certificate requests that other parties wrote. */
#include "wire/decode_private.h"

#include "base/base64.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

#define RSA_BITS_MAX  4096 /* a larger key takes too long: the agent does nothing else meanwhile */
#define CA_BITS_MAX   8192
#define EXPONENT_BITS 64
#define SCALAR_MAX    66 /* bytes, of P-521 */
#define LENGTH_MAX    3  /* bytes of a length */

enum tag { BITS = 0x03, OCTETS = 0x04, OID = 0x06, FIRST = 0xa0 };
enum algorithm { RSA_KEY, PSS_KEY, EC_KEY_NAMED, ED25519_KEY };

static int refuse(const char *why, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_CONFIG, "%s", why);
}

/* ---- DER ---- */

bool cfr_decode_element(struct cfr_view *rest, unsigned char tag, struct cfr_view *content)
{
    size_t n = rest->n < 2 ? 0 : (unsigned char)rest->p[1];
    size_t more = n < 0x80 ? 0 : n - 0x80; /* bytes of a length that does not fit in 7 bits */

    if (rest->n < 2 || (unsigned char)rest->p[0] != tag || n == 0x80 || more > LENGTH_MAX || more > rest->n - 2)
        return false;
    for (size_t i = 0; i < more; i++)
        n = (i == 0 ? 0 : n << 8) | (unsigned char)rest->p[2 + i];
    if (n > rest->n - 2 - more)
        return false;
    *content = (struct cfr_view){rest->p + 2 + more, n};
    rest->n -= 2 + more + n;
    rest->p += 2 + more + n;
    return true;
}

/* Replaces *DER, one element with TAG and nothing after it, by what it holds. */
static bool enter(struct cfr_view *der, unsigned char tag)
{
    struct cfr_view content;
    bool good = cfr_decode_element(der, tag, &content) && der->n == 0;

    *der = good ? content : (struct cfr_view){NULL, 0};
    return good;
}

bool cfr_decode_has_curve(struct cfr_view bytes)
{
    static const unsigned char field_type[] = {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x01}; /* 1.2.840.10045.1 */

    return bytes.n != 0 && memmem(bytes.p, bytes.n, field_type, sizeof field_type) != NULL;
}

static bool skip(struct cfr_view *rest, unsigned char tag)
{
    struct cfr_view content;

    return cfr_decode_element(rest, tag, &content);
}

/* *BITS: the size of a number that is more than zero. */
static bool read_number(struct cfr_view *rest, size_t *bits)
{
    struct cfr_view n;

    if (!cfr_decode_element(rest, CFR_DECODE_INTEGER, &n))
        return false;
    while (n.n != 0 && n.p[0] == '\0') {
        n.p++;
        n.n--;
    }
    if (n.n == 0)
        return false;
    *bits = 8 * n.n;
    for (unsigned top = (unsigned char)n.p[0]; (top & 0x80) == 0; top <<= 1)
        (*bits)--;
    return true;
}

/* ---- PEM ---- */

/* The next block of *REST; BODY is what its first and last line enclose, or no base64 if there is no such last line. */
static bool next_block(struct cfr_view *rest, struct cfr_view *label, struct cfr_view *body)
{
    const char *first = NULL;
    struct cfr_view line;

    *body = (struct cfr_view){"?", 1};
    while (cfr_view_line(rest, &line)) {
        struct cfr_view text = cfr_view_trim(line);

        if (first == NULL && cfr_view_starts(text, "-----BEGIN ")) {
            *label = (struct cfr_view){text.p + 11, text.n - 11}; /* with the hyphens after it */
            first = rest->p;
        } else if (first != NULL && cfr_view_starts(text, "-----")) {
            if (cfr_view_starts(text, "-----END ") && cfr_view_eq((struct cfr_view){text.p + 9, text.n - 9}, *label))
                *body = (struct cfr_view){first, (size_t)(line.p - first)};
            break;
        }
    }
    return first != NULL;
}

static int read_body(struct cfr_view body, struct cfr_secret *der, struct cfr_err *err)
{
    struct cfr_secret text;
    struct cfr_view line;
    int rc = 0;

    cfr_secret_init(&text, CFR_DECODE_PEM_MAX);
    while (rc == 0 && cfr_view_line(&body, &line))
        rc = cfr_secret_append(&text, cfr_view_trim(line), err);
    if (rc == 0)
        rc = cfr_base64_decode(cfr_secret_view(&text), der, err);
    cfr_secret_free(&text);
    return rc == CFR_E_ANSWER ? cfr_err_set(err, CFR_E_CONFIG, "a PEM block has a line that is not base64") : rc;
}

static int check_size(struct cfr_view pem, struct cfr_err *err)
{
    return pem.n <= CFR_DECODE_PEM_MAX
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG, "it has %zu bytes, more than %d", pem.n, CFR_DECODE_PEM_MAX);
}

int cfr_decode_next_certificate(struct cfr_view *rest, struct cfr_secret *der, struct cfr_err *err)
{
    struct cfr_view label;
    struct cfr_view body;
    int rc = check_size(*rest, err);

    while (rc == 0 && next_block(rest, &label, &body)) {
        size_t before = der->len;
        struct cfr_view whole = {NULL, 0};

        if (!cfr_view_is(label, "CERTIFICATE-----") && !cfr_view_is(label, "X509 CERTIFICATE-----"))
            continue;
        rc = read_body(body, der, err);
        if (rc == 0)
            whole = (struct cfr_view){der->p + before, der->len - before};
        if (rc == 0 && !enter(&whole, CFR_DECODE_SEQUENCE))
            rc = cfr_err_set(err, CFR_E_CONFIG, "a PEM block is not one certificate");
        break;
    }
    return rc;
}

/* ---- public keys ---- */

static int check_algorithm(struct cfr_view algorithm, enum algorithm *out, struct cfr_err *err)
{
    static const struct {
        const char *oid;
        enum algorithm algorithm;
    } known[] = {
        {"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01", RSA_KEY},
        {"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a", PSS_KEY},
        {"\x2a\x86\x48\xce\x3d\x02\x01", EC_KEY_NAMED},
        {"\x2b\x65\x70", ED25519_KEY},
    };
    struct cfr_view oid;

    if (!cfr_decode_element(&algorithm, OID, &oid))
        return refuse("the key cannot be read", err);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!cfr_view_is(oid, known[i].oid))
            continue;
        *out = known[i].algorithm;
        if (*out == EC_KEY_NAMED && !skip(&algorithm, OID))
            return refuse("the key has explicit curve parameters; use a key on a named curve", err);
        return 0;
    }
    return refuse("the key is of an unsupported type; use an RSA or EC key", err);
}

static int check_modulus(size_t bits, size_t bits_max, struct cfr_err *err)
{
    return bits <= bits_max
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG, "the RSA key has %zu bits; at most %zu are supported", bits, bits_max);
}

/* A SubjectPublicKeyInfo (RFC 5280, 4.1), without its tag. */
static int check_public(struct cfr_view spki, size_t bits_max, struct cfr_err *err)
{
    struct cfr_view algorithm;
    struct cfr_view key;
    enum algorithm a = RSA_KEY;
    size_t n;
    size_t e;
    int rc;

    if (!cfr_decode_element(&spki, CFR_DECODE_SEQUENCE, &algorithm) || !cfr_decode_element(&spki, BITS, &key) ||
        spki.n != 0 || key.n == 0)
        return refuse("the key cannot be read", err);
    rc = check_algorithm(algorithm, &a, err);
    if (rc != 0 || (a != RSA_KEY && a != PSS_KEY))
        return rc;
    key.p++; /* the number of unused bits */
    key.n--;
    if (!enter(&key, CFR_DECODE_SEQUENCE) || !read_number(&key, &n) || !read_number(&key, &e) || key.n != 0)
        return refuse("the RSA key cannot be read", err);
    rc = check_modulus(n, bits_max, err);
    if (rc == 0 && e > EXPONENT_BITS)
        rc = refuse("the RSA key has an exponent of more than 64 bits", err);
    return rc;
}

/* The key of a signed object: BEFORE has the tags of the fields that precede it. */
static int check_signed(struct cfr_view der, const char *before, size_t bits_max, struct cfr_err *err)
{
    struct cfr_view fields;
    struct cfr_view spki;
    bool good = enter(&der, CFR_DECODE_SEQUENCE) && cfr_decode_element(&der, CFR_DECODE_SEQUENCE, &fields);

    if (good)
        (void)skip(&fields, FIRST); /* the version of a certificate */
    for (; good && *before != '\0'; before++)
        good = skip(&fields, (unsigned char)*before);
    if (!good || !cfr_decode_element(&fields, CFR_DECODE_SEQUENCE, &spki))
        return refuse("it is not one well-formed object in DER form", err);
    return check_public(spki, bits_max, err);
}

static int check_certificate(struct cfr_view der, size_t bits_max, struct cfr_err *err)
{
    return check_signed(der, "\x02\x30\x30\x30\x30", bits_max, err);
}

int cfr_decode_check_ca(struct cfr_view der, struct cfr_err *err)
{
    return check_certificate(der, CA_BITS_MAX, err);
}

/* ---- private keys ---- */

/* An RSAPrivateKey (RFC 8017, A.1.2). Signing with factors or exponents of its author's choice could take minutes, and
 * OpenSSL limits none of them. */
static int check_rsa(struct cfr_view key, struct cfr_err *err)
{
    static const char foreign[] = "the numbers of the RSA key do not belong together; is it damaged?";
    struct cfr_view version;
    size_t n;
    size_t e;
    size_t d;
    int rc;

    if (!enter(&key, CFR_DECODE_SEQUENCE) || !cfr_decode_element(&key, CFR_DECODE_INTEGER, &version) ||
        !read_number(&key, &n) || !read_number(&key, &e) || !read_number(&key, &d))
        return refuse("the RSA key cannot be read", err);
    rc = check_modulus(n, RSA_BITS_MAX, err);
    if (rc != 0)
        return rc;
    /* A key of more than two factors has another version. */
    if (version.n != 1 || version.p[0] != 0 || e > EXPONENT_BITS || d > n)
        return refuse(foreign, err);
    for (int i = 0; i < 5; i++) { /* two factors, their exponents, the coefficient */
        size_t one;

        if (!read_number(&key, &one) || one > n / 2 + 8)
            return refuse(foreign, err);
    }
    return key.n == 0 ? 0 : refuse(foreign, err);
}

/* An ECPrivateKey (RFC 5915). */
static int check_ec(struct cfr_view key, struct cfr_err *err)
{
    struct cfr_view scalar;
    struct cfr_view curve;

    if (!enter(&key, CFR_DECODE_SEQUENCE) || !skip(&key, CFR_DECODE_INTEGER) ||
        !cfr_decode_element(&key, OCTETS, &scalar) || scalar.n > SCALAR_MAX)
        return refuse("the EC key cannot be read", err);
    if (cfr_decode_element(&key, FIRST, &curve) && !skip(&curve, OID))
        return refuse("the key has explicit curve parameters; use a key on a named curve", err);
    return 0;
}

/* A PrivateKeyInfo (RFC 5958). *TYPE: for d2i_PrivateKey. */
static int check_pkcs8(struct cfr_view key, int *type, struct cfr_err *err)
{
    static const int types[] = {[RSA_KEY] = EVP_PKEY_RSA,
                                [PSS_KEY] = EVP_PKEY_RSA_PSS,
                                [EC_KEY_NAMED] = EVP_PKEY_EC,
                                [ED25519_KEY] = EVP_PKEY_ED25519};
    struct cfr_view algorithm;
    struct cfr_view inner;
    enum algorithm a = RSA_KEY;
    int rc;

    if (!enter(&key, CFR_DECODE_SEQUENCE) || !skip(&key, CFR_DECODE_INTEGER) ||
        !cfr_decode_element(&key, CFR_DECODE_SEQUENCE, &algorithm) || !cfr_decode_element(&key, OCTETS, &inner))
        return refuse("the key cannot be read", err);
    rc = check_algorithm(algorithm, &a, err);
    if (rc != 0)
        return rc;
    *type = types[a];
    if (a == ED25519_KEY)
        return 0;
    return a == EC_KEY_NAMED ? check_ec(inner, err) : check_rsa(inner, err);
}

/* ---- OpenSSL ---- */

/* OBJECT is what a decoder made of bytes that passed the checks. */
static int check_read(const void *object, const char *why, struct cfr_err *err)
{
    bool memory = object == NULL && ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;

    ERR_clear_error();
    if (object != NULL)
        return 0;
    return memory ? cfr_err_nomem(err) : refuse(why, err);
}

static const unsigned char *bytes_of(struct cfr_view v)
{
    return (const unsigned char *)v.p;
}

static bool is_private(struct cfr_view label)
{
    return cfr_view_is(label, "PRIVATE KEY-----") || cfr_view_is(label, "RSA PRIVATE KEY-----") ||
           cfr_view_is(label, "EC PRIVATE KEY-----") || cfr_view_is(label, "ENCRYPTED PRIVATE KEY-----");
}

static int read_private(struct cfr_view label, struct cfr_view body, EVP_PKEY **out, struct cfr_err *err)
{
    int type = cfr_view_starts(label, "RSA") ? EVP_PKEY_RSA : EVP_PKEY_EC;
    struct cfr_secret der;
    int rc;

    if (cfr_view_starts(label, "ENCRYPTED") || cfr_view_find(body, "ENCRYPTED") >= 0)
        return refuse("the private key is encrypted; give it without a passphrase (openssl pkey)", err);
    cfr_secret_init(&der, CFR_DECODE_PEM_MAX);
    rc = read_body(body, &der, err);
    if (rc == 0 && cfr_view_is(label, "PRIVATE KEY-----"))
        rc = check_pkcs8(cfr_secret_view(&der), &type, err);
    else if (rc == 0)
        rc = type == EVP_PKEY_RSA ? check_rsa(cfr_secret_view(&der), err) : check_ec(cfr_secret_view(&der), err);
    if (rc == 0) {
        const unsigned char *at = bytes_of(cfr_secret_view(&der));

        *out = d2i_PrivateKey(type, NULL, &at, (long)der.len);
        rc = check_read(*out, "the key cannot be read", err);
    }
    cfr_secret_free(&der);
    return rc;
}

static int read_public(struct cfr_view body, EVP_PKEY **out, struct cfr_err *err)
{
    struct cfr_secret der;
    int rc;

    cfr_secret_init(&der, CFR_DECODE_PEM_MAX);
    rc = read_body(body, &der, err);
    if (rc == 0)
        rc = cfr_decode_public_key_der(cfr_secret_view(&der), out, err);
    cfr_secret_free(&der);
    return rc;
}

/* PEM has no block of the wanted kind, which is called WHAT. */
static int refuse_form(struct cfr_view pem, enum cfr_view_form wanted, const char *what, struct cfr_err *err)
{
    const char *mistake = cfr_view_mistake(pem, wanted);

    if (mistake != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "it holds no %s in PEM form, but %s", what, mistake);
    return cfr_err_set(err, CFR_E_CONFIG, "it holds no %s in PEM form (%s)%s", what,
                       wanted == CFR_FORM_KEY ? "-----BEGIN PRIVATE KEY-----" : "-----BEGIN CERTIFICATE-----",
                       what[0] == 'p' ? " of type RSA or EC" : "");
}

int cfr_decode_key(struct cfr_view pem, bool take_public, EVP_PKEY **out, struct cfr_err *err)
{
    struct cfr_view whole = pem;
    struct cfr_view label;
    struct cfr_view body;
    int rc = check_size(pem, err);

    *out = NULL;
    while (rc == 0 && next_block(&pem, &label, &body)) {
        if (is_private(label))
            return read_private(label, body, out, err);
        if (take_public && cfr_view_is(label, "PUBLIC KEY-----"))
            return read_public(body, out, err);
    }
    return rc != 0 ? rc : refuse_form(whole, CFR_FORM_KEY, take_public ? "key" : "private key", err);
}

int cfr_decode_certificate(struct cfr_view pem, X509 **out, struct cfr_err *err)
{
    struct cfr_view whole = pem;
    struct cfr_secret der;
    const unsigned char *at;
    int rc;

    *out = NULL;
    cfr_secret_init(&der, CFR_DECODE_PEM_MAX);
    rc = cfr_decode_next_certificate(&pem, &der, err);
    if (rc == 0 && der.len == 0)
        rc = refuse_form(whole, CFR_FORM_CERTIFICATE, "certificate", err);
    if (rc == 0)
        rc = check_certificate(cfr_secret_view(&der), RSA_BITS_MAX, err);
    if (rc == 0) {
        at = bytes_of(cfr_secret_view(&der));
        *out = d2i_X509(NULL, &at, (long)der.len);
        rc = check_read(*out, "it holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", err);
    }
    cfr_secret_free(&der);
    return rc;
}

int cfr_decode_request(struct cfr_view pem, X509_REQ **out, struct cfr_err *err)
{
    struct cfr_secret der;
    struct cfr_view label;
    struct cfr_view body;
    struct cfr_view other;
    int rc = check_size(pem, err);

    *out = NULL;
    if (rc != 0)
        return rc;
    if (!next_block(&pem, &label, &body))
        return refuse("it holds no certificate request in PEM form (-----BEGIN CERTIFICATE REQUEST-----)", err);
    /* A private key that was left in the file was not meant for this program. */
    if (next_block(&pem, &other, &other))
        return refuse("it holds more than one PEM block; write only the certificate request", err);
    if (!cfr_view_is(label, "CERTIFICATE REQUEST-----") && !cfr_view_is(label, "NEW CERTIFICATE REQUEST-----"))
        return refuse("it holds no certificate request in PEM form (-----BEGIN CERTIFICATE REQUEST-----)", err);
    cfr_secret_init(&der, CFR_DECODE_PEM_MAX);
    rc = read_body(body, &der, err);
    if (rc == 0)
        rc = cfr_decode_request_der(cfr_secret_view(&der), out, err);
    cfr_secret_free(&der);
    return rc;
}

int cfr_decode_request_der(struct cfr_view der, X509_REQ **out, struct cfr_err *err)
{
    const unsigned char *at = bytes_of(der);
    int rc = check_signed(der, "\x02\x30", RSA_BITS_MAX, err);

    *out = NULL;
    if (rc != 0)
        return rc;
    *out = d2i_X509_REQ(NULL, &at, (long)der.n);
    return check_read(*out, "it is not one certificate request in DER form", err);
}

int cfr_decode_public_key_der(struct cfr_view der, EVP_PKEY **out, struct cfr_err *err)
{
    const unsigned char *at = bytes_of(der);
    struct cfr_view spki = der;
    int rc;

    *out = NULL;
    if (!enter(&spki, CFR_DECODE_SEQUENCE))
        return refuse("it is not one public key in DER form", err);
    rc = check_public(spki, RSA_BITS_MAX, err);
    if (rc != 0)
        return rc;
    *out = d2i_PUBKEY(NULL, &at, (long)der.n);
    return check_read(*out, "it is not one public key in DER form", err);
}

int cfr_ossl_failed(const char *what, struct cfr_err *err)
{
    bool memory = ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE;

    ERR_clear_error();
    return cfr_err_set(err, memory ? CFR_E_NOMEM : CFR_E_INTERNAL, "%s", memory ? "out of memory" : what);
}
