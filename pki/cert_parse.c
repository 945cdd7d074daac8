/* SPDX-License-Identifier: MIT */
/* Reading, comparing and verifying certificates. */
#include "pki/cert_private.h"

#include "pki/ossl_private.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIGNATURE_MAX 512 /* of RSA with 4096 bits */

static bool read_key_id(const ASN1_OCTET_STRING *id, unsigned char out[CFR_CERT_KEY_ID_BYTES])
{
    if (id == NULL || ASN1_STRING_length(id) != CFR_CERT_KEY_ID_BYTES)
        return false;
    memcpy(out, ASN1_STRING_get0_data(id), CFR_CERT_KEY_ID_BYTES);
    return true;
}

static bool read_time(const ASN1_TIME *t, int64_t *out)
{
    struct tm parts;

    if (ASN1_TIME_to_tm(t, &parts) != 1)
        return false;
    *out = timegm(&parts);
    return true;
}

/* A root that was not made by us may not name its signer, which is itself: RFC 5280, 4.2.1.1. */
static bool read_signer_id(X509 *x, struct cfr_cert *c)
{
    const ASN1_OCTET_STRING *id = X509_get0_authority_key_id(x);

    if (id != NULL || X509_NAME_cmp(X509_get_subject_name(x), X509_get_issuer_name(x)) != 0)
        return read_key_id(id, c->authority_key);
    memcpy(c->authority_key, c->subject_key, sizeof c->authority_key);
    return true;
}

static int read_fields(X509 *x, struct cfr_cert *c, struct cfr_err *err)
{
    if (read_key_id(X509_get0_subject_key_id(x), c->subject_key) && read_signer_id(x, c) &&
        read_time(X509_get0_notBefore(x), &c->begins_s) && read_time(X509_get0_notAfter(x), &c->ends_s))
        return 0;
    ERR_clear_error();
    return cfr_err_set(err, CFR_E_CONFIG, "the certificate has no identifiers of its keys, so it is none of ours");
}

int cfr_cert_read(struct cfr_view pem, struct cfr_cert *out, struct cfr_err *err)
{
    X509 *x;
    int rc = cfr_decode_certificate(pem, &x, err);

    *out = (struct cfr_cert){.pem = NULL};
    if (rc != 0)
        return rc;
    rc = read_fields(x, out, err);
    /* Its text may have more in it than what was parsed, and would be published with that. */
    if (rc == 0)
        rc = cfr_cert_write(x, &out->pem, err);
    X509_free(x);
    return rc;
}

int cfr_cert_copy(const struct cfr_cert *from, struct cfr_cert *to, struct cfr_err *err)
{
    *to = *from;
    if (from->pem == NULL)
        return 0;
    to->pem = strdup(from->pem);
    return to->pem != NULL ? 0 : cfr_err_nomem(err);
}

void cfr_cert_free(struct cfr_cert *c)
{
    free(c->pem);
    *c = (struct cfr_cert){.pem = NULL};
}

bool cfr_cert_is_by(const struct cfr_cert *c, const struct cfr_cert *issuer)
{
    return memcmp(c->authority_key, issuer->subject_key, CFR_CERT_KEY_ID_BYTES) == 0;
}

bool cfr_cert_same_key(const struct cfr_cert *a, const struct cfr_cert *b)
{
    return memcmp(a->subject_key, b->subject_key, CFR_CERT_KEY_ID_BYTES) == 0;
}

static int verify_signature(X509 *x, X509 *by, struct cfr_err *err)
{
    EVP_PKEY *key = X509_get0_pubkey(by);
    bool good = key != NULL && X509_verify(x, key) == 1;

    ERR_clear_error();
    return good ? 0 : cfr_err_set(err, CFR_E_CONFIG, "the signature is not of the key that it names");
}

int cfr_cert_verify(const struct cfr_cert *c, const struct cfr_cert *issuer, struct cfr_err *err)
{
    X509 *x = NULL;
    X509 *by = NULL;
    int rc;

    if (!cfr_cert_is_by(c, issuer))
        return cfr_err_set(err, CFR_E_CONFIG, "the certificate names another key as its signer's");
    rc = cfr_decode_certificate(cfr_view_of(c->pem), &x, err);
    if (rc == 0)
        rc = cfr_decode_certificate(cfr_view_of(issuer->pem), &by, err);
    if (rc == 0)
        rc = verify_signature(x, by, err);
    X509_free(x);
    X509_free(by);
    return rc;
}

/* A key's text has both halves, and a damaged one two that do not belong together: what it signs tells. */
static bool signs_for(EVP_PKEY *pair, X509 *x)
{
    static const unsigned char text[] = "credfresh";
    unsigned char signature[SIGNATURE_MAX];
    size_t n = sizeof signature;
    EVP_MD_CTX *signing = EVP_MD_CTX_new();
    EVP_MD_CTX *verifying = EVP_MD_CTX_new();
    bool good = signing != NULL && verifying != NULL && EVP_DigestSignInit(signing, NULL, NULL, NULL, pair) == 1 &&
                EVP_DigestSign(signing, signature, &n, text, sizeof text) == 1 &&
                EVP_DigestVerifyInit(verifying, NULL, NULL, NULL, X509_get0_pubkey(x)) == 1 &&
                EVP_DigestVerify(verifying, signature, n, text, sizeof text) == 1;

    EVP_MD_CTX_free(signing);
    EVP_MD_CTX_free(verifying);
    ERR_clear_error();
    return good;
}

int cfr_cert_check_key(const struct cfr_cert *c, struct cfr_view key, struct cfr_err *err)
{
    EVP_PKEY *pair = NULL;
    X509 *x = NULL;
    int rc = cfr_decode_certificate(cfr_view_of(c->pem), &x, err);

    if (rc == 0)
        rc = cfr_decode_key(key, true, &pair, err);
    if (rc == 0 && X509_check_private_key(x, pair) != 1) {
        ERR_clear_error();
        rc = cfr_err_set(err, CFR_E_CONFIG, "the private key is not that of the certificate");
    }
    if (rc == 0 && !signs_for(pair, x))
        rc =
            cfr_err_set(err, CFR_E_CONFIG, "the private key is damaged: the certificate does not verify what it signs");
    X509_free(x);
    EVP_PKEY_free(pair);
    return rc;
}

/* Writes NAME into OUT as UTF-8, whatever its values are encoded in. A comma in a value gets a backslash before it. */
static void show_name(const X509_NAME *name, char *out, size_t size)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long n = 0;

    if (bio != NULL &&
        X509_NAME_print_ex(bio, name, 0, XN_FLAG_SEP_CPLUS_SPC | ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_UTF8_CONVERT) >=
            0)
        n = BIO_get_mem_data(bio, &text);
    (void)cfr_view_show((struct cfr_view){text, (size_t)n}, out, size);
    BIO_free(bio);
    ERR_clear_error();
}

int cfr_cert_names(struct cfr_view pem, char *subject, char *issuer, size_t size, struct cfr_err *err)
{
    X509 *x;
    int rc = cfr_decode_certificate(pem, &x, err);

    if (rc != 0)
        return rc;
    show_name(X509_get_subject_name(x), subject, size);
    show_name(X509_get_issuer_name(x), issuer, size);
    X509_free(x);
    return 0;
}

int cfr_cert_subject(const struct cfr_cert *c, char *out, size_t size, struct cfr_err *err)
{
    const X509_NAME *name;
    unsigned char *text = NULL;
    X509 *x;
    int at;
    int n = -1;
    int rc = cfr_decode_certificate(cfr_view_of(c->pem), &x, err);

    out[0] = '\0';
    if (rc != 0)
        return rc;
    name = X509_get_subject_name(x);
    at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (at >= 0)
        n = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (n > 0)
        (void)cfr_view_show((struct cfr_view){(char *)text, (size_t)n}, out, size);
    else
        show_name(name, out, size);
    OPENSSL_free(text);
    ERR_clear_error();
    X509_free(x);
    return 0;
}

int cfr_cert_thumbprint(struct cfr_view pem, char out[CFR_CERT_THUMBPRINT_MAX], struct cfr_err *err)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    X509 *x;
    int rc = cfr_decode_certificate(pem, &x, err);

    if (rc != 0)
        return rc;
    if (X509_digest(x, EVP_sha1(), hash, &n) != 1 || 2 * n >= CFR_CERT_THUMBPRINT_MAX)
        rc = cfr_ossl_failed("the certificate cannot be hashed", err);
    for (unsigned i = 0; rc == 0 && i < n; i++)
        (void)snprintf(out + (size_t)2 * i, 3, "%02X", hash[i]);
    X509_free(x);
    return rc;
}
