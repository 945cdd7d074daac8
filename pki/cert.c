/* SPDX-License-Identifier: MIT */
/* Making and signing certificates. */
#include "pki/cert_private.h"

#include "pki/ossl_private.h"
#include "wire/decode.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define SERIAL_BYTES   16 /* 127 random bits: RFC 5280 allows up to 20 bytes */
#define NAME_MAX_CHARS 64 /* of a common name, RFC 5280 appendix A.1 */
#define DNS_MAX        253
#define LABEL_MAX      63
#define URI_MAX        2048 /* of a SPIFFE ID */

static bool is_label(const char *s, size_t n)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

    return n != 0 && n <= LABEL_MAX && strspn(s, inside) >= n && s[0] != '-' && s[n - 1] != '-';
}

/* Not by OpenSSL, which a program may have to set up before its first use, and after its configuration. */
static bool is_address(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

int cfr_cert_check_dns_name(const char *text, struct cfr_err *err)
{
    const char *at = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
    bool good = strlen(text) <= DNS_MAX;

    if (is_address(text))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "\"%.80s\" is an address, which clients do not look for among names; write it into ip_addresses", text);
    while (good && *at != '\0') {
        size_t n = strcspn(at, ".");

        good = is_label(at, n) && strcmp(at + n, ".") != 0;
        at += n + (at[n] == '.');
        if (good && *at == '\0')
            return 0;
    }
    return cfr_err_set(
        err, CFR_E_CONFIG,
        "\"%.80s\" is not a DNS name: labels of letters, digits and dashes with dots between them, perhaps with *. "
        "before them",
        text);
}

int cfr_cert_check_ip_address(const char *text, struct cfr_err *err)
{
    if (is_address(text))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "\"%.80s\" is not an address of IPv4 or IPv6", text);
}

static bool key_id(EVP_PKEY *key, unsigned char out[CFR_CERT_KEY_ID_BYTES])
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    X509_PUBKEY *info = NULL;
    const unsigned char *bits;
    int n;
    bool ok = X509_PUBKEY_set(&info, key) == 1 && X509_PUBKEY_get0_param(NULL, &bits, &n, NULL, info) == 1 &&
              EVP_Digest(bits, (size_t)n, hash, NULL, EVP_sha256(), NULL) == 1;

    if (ok)
        memcpy(out, hash, CFR_CERT_KEY_ID_BYTES);
    X509_PUBKEY_free(info);
    return ok;
}

static bool set_serial(X509 *x)
{
    unsigned char bytes[SERIAL_BYTES];
    BIGNUM *n;
    bool ok;

    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    /* Positive, and as long as every other one. */
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40);
    n = BN_bin2bn(bytes, sizeof bytes, NULL);
    ok = n != NULL && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) != NULL;
    BN_free(n);
    return ok;
}

static bool set_name(X509_NAME *name, const char *text)
{
    return text == NULL ||
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)text, -1, -1, 0) == 1;
}

static bool add_usage(X509 *x, unsigned bits)
{
    ASN1_BIT_STRING *usage = ASN1_BIT_STRING_new();
    bool ok = usage != NULL;

    for (int i = 0; ok && i < 9; i++) {
        if ((bits >> i & 1) != 0)
            ok = ASN1_BIT_STRING_set_bit(usage, i, 1) == 1;
    }
    ok = ok && X509_add1_ext_i2d(x, NID_key_usage, usage, 1, 0) == 1;
    ASN1_BIT_STRING_free(usage);
    return ok;
}

/* Bits of key usage, RFC 5280, 4.2.1.3. */
#define DIGITAL_SIGNATURE (1U << 0)
#define KEY_ENCIPHERMENT  (1U << 2)
#define KEY_CERT_SIGN     (1U << 5)
#define CRL_SIGN          (1U << 6)

static bool add_ca(X509 *x)
{
    BASIC_CONSTRAINTS *basic = BASIC_CONSTRAINTS_new();
    bool ok = basic != NULL;

    if (ok)
        basic->ca = 0xff;
    ok = ok && X509_add1_ext_i2d(x, NID_basic_constraints, basic, 1, 0) == 1 && add_usage(x, KEY_CERT_SIGN | CRL_SIGN);
    BASIC_CONSTRAINTS_free(basic);
    return ok;
}

static bool add_general(GENERAL_NAMES *names, int type, ASN1_STRING *value)
{
    GENERAL_NAME *g = value != NULL ? GENERAL_NAME_new() : NULL;

    if (g == NULL) {
        ASN1_STRING_free(value);
        return false;
    }
    GENERAL_NAME_set0_value(g, type, value);
    if (sk_GENERAL_NAME_push(names, g) > 0)
        return true;
    GENERAL_NAME_free(g);
    return false;
}

static ASN1_STRING *ia5(const char *text)
{
    ASN1_STRING *s = ASN1_IA5STRING_new();

    if (s != NULL && ASN1_STRING_set(s, text, -1) == 1)
        return s;
    ASN1_STRING_free(s);
    return NULL;
}

static bool add_names(X509 *x, const struct cfr_cert_order *o)
{
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    bool ok = names != NULL;

    for (size_t i = 0; ok && o->dns_names != NULL && i < o->dns_names->count; i++)
        ok = add_general(names, GEN_DNS, ia5(o->dns_names->items[i]));
    for (size_t i = 0; ok && o->ip_addresses != NULL && i < o->ip_addresses->count; i++)
        ok = add_general(names, GEN_IPADD, a2i_IPADDRESS(o->ip_addresses->items[i]));
    for (size_t i = 0; ok && o->uris != NULL && i < o->uris->count; i++)
        ok = add_general(names, GEN_URI, ia5(o->uris->items[i]));
    /* Critical where there is no subject: RFC 5280, 4.2.1.6. */
    ok = ok && X509_add1_ext_i2d(x, NID_subject_alt_name, names, o->subject == NULL, 0) == 1;
    GENERAL_NAMES_free(names);
    return ok;
}

static bool add_server(X509 *x, const struct cfr_cert_order *o, bool rsa)
{
    EXTENDED_KEY_USAGE *purpose = sk_ASN1_OBJECT_new_null();
    BASIC_CONSTRAINTS *basic = BASIC_CONSTRAINTS_new();
    bool ok = purpose != NULL && basic != NULL && sk_ASN1_OBJECT_push(purpose, OBJ_nid2obj(NID_server_auth)) > 0 &&
              (!o->client || sk_ASN1_OBJECT_push(purpose, OBJ_nid2obj(NID_client_auth)) > 0) &&
              X509_add1_ext_i2d(x, NID_basic_constraints, basic, 1, 0) == 1 &&
              add_usage(x, DIGITAL_SIGNATURE | (rsa ? KEY_ENCIPHERMENT : 0)) &&
              X509_add1_ext_i2d(x, NID_ext_key_usage, purpose, 0, 0) == 1 && add_names(x, o);

    sk_ASN1_OBJECT_free(purpose); /* the object itself is the library's */
    BASIC_CONSTRAINTS_free(basic);
    return ok;
}

static bool add_key_ids(X509 *x, const struct cfr_cert *c)
{
    ASN1_OCTET_STRING *own = ASN1_OCTET_STRING_new();
    AUTHORITY_KEYID *by = AUTHORITY_KEYID_new();
    bool ok = own != NULL && by != NULL && (by->keyid = ASN1_OCTET_STRING_new()) != NULL &&
              ASN1_OCTET_STRING_set(own, c->subject_key, CFR_CERT_KEY_ID_BYTES) == 1 &&
              ASN1_OCTET_STRING_set(by->keyid, c->authority_key, CFR_CERT_KEY_ID_BYTES) == 1 &&
              X509_add1_ext_i2d(x, NID_subject_key_identifier, own, 0, 0) == 1 &&
              X509_add1_ext_i2d(x, NID_authority_key_identifier, by, 0, 0) == 1;

    ASN1_OCTET_STRING_free(own);
    AUTHORITY_KEYID_free(by);
    return ok;
}

/* The names of other certificates are copied as they are: a CA that was taken over may have any. */
static bool set_names(X509 *x, const struct cfr_cert_order *o, X509 *named, X509 *by)
{
    bool ok = named != NULL ? X509_set_subject_name(x, X509_get_subject_name(named)) == 1
                            : set_name(X509_get_subject_name(x), o->subject);

    return ok && X509_set_issuer_name(x, X509_get_subject_name(by != NULL ? by : x)) == 1;
}

static bool fill_certificate(X509 *x, const struct cfr_cert_order *o, const struct cfr_cert *c, EVP_PKEY *key)
{
    return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
           ASN1_TIME_set(X509_getm_notBefore(x), c->begins_s) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(x), c->ends_s) != NULL && X509_set_pubkey(x, key) == 1 &&
           (o->ca ? add_ca(x) : add_server(x, o, EVP_PKEY_is_a(key, "RSA"))) && add_key_ids(x, c);
}

int cfr_cert_write(X509 *x, char **pem, struct cfr_err *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long n = 0;
    int rc = 0;

    if (bio != NULL && PEM_write_bio_X509(bio, x) == 1)
        n = BIO_get_mem_data(bio, &text);
    if (n <= 0 || text == NULL)
        rc = cfr_ossl_failed("the certificate cannot be written", err);
    else if ((*pem = cfr_str_dup((struct cfr_view){text, (size_t)n})) == NULL)
        rc = cfr_err_nomem(err);
    BIO_free(bio);
    return rc;
}

static bool set_key_ids(struct cfr_cert *out, const struct cfr_cert_order *o, EVP_PKEY *key, EVP_PKEY *signer)
{
    if (o->of != NULL)
        memcpy(out->subject_key, o->of->subject_key, sizeof out->subject_key);
    if (o->by != NULL)
        memcpy(out->authority_key, o->by->subject_key, sizeof out->authority_key);
    return (o->of != NULL || key_id(key, out->subject_key)) && (o->by != NULL || key_id(signer, out->authority_key));
}

/* The certificate that is to be looked at, if there is one. */
static int parse_other(const struct cfr_cert *c, X509 **out, struct cfr_err *err)
{
    *out = NULL;
    return c != NULL ? cfr_decode_certificate(cfr_view_of(c->pem), out, err) : 0;
}

static int sign_certificate(const struct cfr_cert_order *o, EVP_PKEY *key, EVP_PKEY *signer, struct cfr_cert *out,
                            struct cfr_err *err)
{
    const EVP_MD *digest = EVP_PKEY_get_bits(signer) == 384 ? EVP_sha384() : EVP_sha256();
    X509 *x = X509_new();
    X509 *named = NULL;
    X509 *by = NULL;
    bool ok;
    int rc;

    out->begins_s = o->now_s - (o->backdate_s != 0 ? o->backdate_s : CFR_CERT_BACKDATE_S);
    if (o->begins_s != 0 && o->begins_s < out->begins_s)
        out->begins_s = o->begins_s;
    out->ends_s = o->ends_s;
    rc = parse_other(o->named, &named, err);
    if (rc == 0)
        rc = parse_other(o->by, &by, err);
    ok = rc == 0 && x != NULL && set_key_ids(out, o, key, signer) && set_names(x, o, named, by) &&
         fill_certificate(x, o, out, key) && X509_sign(x, signer, digest) > 0;
    if (rc == 0)
        rc = ok ? cfr_cert_write(x, &out->pem, err) : cfr_ossl_failed("the certificate cannot be made", err);
    X509_free(x);
    X509_free(named);
    X509_free(by);
    return rc;
}

static int check_uri(const char *text, struct cfr_err *err)
{
    struct cfr_view uri = cfr_view_of(text);

    if (uri.n <= URI_MAX && cfr_view_printable(uri) && strpbrk(text, " <>\"\\^`{|}") == NULL &&
        cfr_view_find(uri, "://") > 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "\"%.80s\" is not a URI, or is longer than %d bytes", text, URI_MAX);
}

static int check_order(const struct cfr_cert_order *o, struct cfr_err *err)
{
    int rc = 0;

    if (o->subject != NULL && (strlen(o->subject) > NAME_MAX_CHARS || o->subject[0] == '\0'))
        return cfr_err_set(err, CFR_E_CONFIG, "a subject has 1 to %d characters", NAME_MAX_CHARS);
    if (o->of == NULL && o->ends_s <= o->now_s)
        return cfr_err_set(err, CFR_E_INTERNAL, "the certificate would end before it begins");
    for (size_t i = 0; rc == 0 && o->dns_names != NULL && i < o->dns_names->count; i++)
        rc = cfr_cert_check_dns_name(o->dns_names->items[i], err);
    for (size_t i = 0; rc == 0 && o->ip_addresses != NULL && i < o->ip_addresses->count; i++)
        rc = cfr_cert_check_ip_address(o->ip_addresses->items[i], err);
    for (size_t i = 0; rc == 0 && o->uris != NULL && i < o->uris->count; i++)
        rc = check_uri(o->uris->items[i], err);
    return rc;
}

static int read_subject_key(const struct cfr_cert_order *o, EVP_PKEY **out, struct cfr_err *err)
{
    X509 *x;
    int rc;

    if (o->of == NULL)
        return cfr_decode_key(o->key, true, out, err);
    *out = NULL;
    rc = cfr_decode_certificate(cfr_view_of(o->of->pem), &x, err);
    if (rc != 0)
        return rc;
    *out = X509_get_pubkey(x);
    X509_free(x);
    return *out != NULL ? 0 : cfr_ossl_failed("the certificate's key cannot be read", err);
}

int cfr_cert_make(const struct cfr_cert_order *order, struct cfr_cert *out, struct cfr_err *err)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY *signer = NULL;
    int rc = check_order(order, err);

    *out = (struct cfr_cert){.pem = NULL};
    if (rc == 0)
        rc = read_subject_key(order, &key, err);
    if (rc == 0)
        rc = cfr_decode_key(order->signer, true, &signer, err);
    if (rc == 0)
        rc = sign_certificate(order, key, signer, out, err);
    EVP_PKEY_free(key);
    EVP_PKEY_free(signer);
    return rc;
}
