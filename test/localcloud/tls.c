/* SPDX-License-Identifier: MIT */
/* Certificate authorities of the local cloud and the certificates they sign. */
#include "tls.h"

#include "crypto.h"
#include "ossl.h"

#include <stdlib.h>
#include <string.h>

enum { DAY_S = 86400 };

static char *pem_of_cert(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *data = NULL;
    char *text = NULL;

    if (bio != NULL && PEM_write_bio_X509(bio, cert) == 1) {
        long len = BIO_get_mem_data(bio, &data);
        text = len > 0 ? strndup(data, (size_t)len) : NULL;
    }
    BIO_free(bio);
    return text;
}

static char *pem_of_key(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *data = NULL;
    char *text = NULL;

    if (bio != NULL && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1) {
        long len = BIO_get_mem_data(bio, &data);
        text = len > 0 ? strndup(data, (size_t)len) : NULL;
    }
    BIO_free(bio);
    return text;
}

static X509 *cert_of_pem(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, NULL, NULL);

    BIO_free(bio);
    return cert;
}

static EVP_PKEY *key_of_pem(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

    BIO_free(bio);
    return key;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension = NULL;
    bool added = false;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    added = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

#define OWN "credfresh local cloud"

static bool set_serial(X509 *cert)
{
    unsigned char random[16];
    BIGNUM *number = NULL;
    bool set = false;

    if (!lc_random(random, sizeof random)) {
        return false;
    }
    random[0] = (unsigned char)((random[0] & 0x7F) | 0x40);
    number = BN_bin2bn(random, (int)sizeof random, NULL);
    set = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return set;
}

/* Everything but extensions and signature. */
static X509 *bare_cert(EVP_PKEY *key, const char *name, const char *organisation, long from_s, long to_s)
{
    X509 *cert = X509_new();
    X509_NAME *subject = cert == NULL ? NULL : X509_get_subject_name(cert);

    if (subject == NULL || X509_set_version(cert, X509_VERSION_3) != 1 || !set_serial(cert) ||
        X509_gmtime_adj(X509_getm_notBefore(cert), from_s) == NULL ||
        X509_gmtime_adj(X509_getm_notAfter(cert), to_s) == NULL || X509_set_pubkey(cert, key) != 1 ||
        (organisation != NULL && X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8,
                                                            (const unsigned char *)organisation, -1, -1, 0) != 1) ||
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) != 1) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static int finish(X509 *cert, EVP_PKEY *key, bool good, struct lc_cert *out, struct lc_fail *fail)
{
    *out = (struct lc_cert){0};
    if (good) {
        out->cert_pem = pem_of_cert(cert);
        out->key_pem = pem_of_key(key);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    if (out->cert_pem == NULL || out->key_pem == NULL) {
        lc_tls_free(out);
        return lc_fail_set(fail, "a certificate could not be made");
    }
    return 0;
}

int lc_tls_ca(const char *name, struct lc_cert *out, struct lc_fail *fail)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key == NULL ? NULL : bare_cert(key, name, OWN, -DAY_S, 3650L * DAY_S);
    bool good = cert != NULL && X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
                add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
                add_extension(cert, cert, NID_authority_key_identifier, "keyid:always") &&
                X509_sign(cert, key, EVP_sha256()) > 0;

    return finish(cert, key, good, out, fail);
}

int lc_tls_server(const struct lc_cert *ca, const char *alt_names, long from_s, long to_s, struct lc_cert *out,
                  struct lc_fail *fail)
{
    X509 *issuer = cert_of_pem(ca->cert_pem);
    EVP_PKEY *issuer_key = key_of_pem(ca->key_pem);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key == NULL ? NULL : bare_cert(key, "server", OWN, from_s, to_s);
    bool good = cert != NULL && issuer != NULL && issuer_key != NULL &&
                X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
                add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") &&
                add_extension(cert, issuer, NID_ext_key_usage, "serverAuth") &&
                add_extension(cert, issuer, NID_subject_key_identifier, "hash") &&
                add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always") &&
                add_extension(cert, issuer, NID_subject_alt_name, alt_names) &&
                X509_sign(cert, issuer_key, EVP_sha256()) > 0;

    X509_free(issuer);
    EVP_PKEY_free(issuer_key);
    return finish(cert, key, good, out, fail);
}

static bool add_groups(X509 *cert, json_t *groups)
{
    json_t *group = NULL;
    size_t index = 0;

    json_array_foreach(groups, index, group)
    {
        if (X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "O", MBSTRING_UTF8,
                                       (const unsigned char *)json_string_value(group), -1, -1, 0) != 1) {
            return false;
        }
    }
    return true;
}

int lc_tls_client(const struct lc_cert *ca, const char *person, json_t *groups, long from_s, long to_s,
                  struct lc_cert *out, struct lc_fail *fail)
{
    X509 *issuer = cert_of_pem(ca->cert_pem);
    EVP_PKEY *issuer_key = key_of_pem(ca->key_pem);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key == NULL ? NULL : bare_cert(key, person, NULL, from_s, to_s);
    bool good = cert != NULL && issuer != NULL && issuer_key != NULL && add_groups(cert, groups) &&
                X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
                add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") &&
                add_extension(cert, issuer, NID_ext_key_usage, "clientAuth") &&
                add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always") &&
                X509_sign(cert, issuer_key, EVP_sha256()) > 0;

    X509_free(issuer);
    EVP_PKEY_free(issuer_key);
    return finish(cert, key, good, out, fail);
}

/* Entry number `at` of the subject, as UTF-8 for OPENSSL_free; NULL when it is of another kind. */
static char *entry_of(const X509_NAME *subject, int at, int nid)
{
    X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, at);
    unsigned char *text = NULL;

    if (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry)) != nid ||
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry)) < 0) {
        return NULL;
    }
    return (char *)text;
}

bool lc_tls_subject(const void *der, size_t len, char **person, json_t **groups)
{
    const unsigned char *at = der;
    X509 *cert = d2i_X509(NULL, &at, (long)len);
    const X509_NAME *subject = cert == NULL ? NULL : X509_get_subject_name(cert);

    *person = NULL;
    *groups = json_array();
    for (int i = 0; subject != NULL && i < X509_NAME_entry_count(subject); i++) {
        char *name = entry_of(subject, i, NID_commonName);
        char *group = entry_of(subject, i, NID_organizationName);
        if (name != NULL) {
            free(*person);
            *person = strdup(name);
        }
        if (group != NULL) {
            (void)json_array_append_new(*groups, json_string(group));
        }
        OPENSSL_free(name);
        OPENSSL_free(group);
    }
    X509_free(cert);
    ERR_clear_error();
    return *person != NULL;
}

bool lc_tls_matches(const char *cert_pem, const char *key_pem)
{
    X509 *cert = cert_of_pem(cert_pem);
    EVP_PKEY *key = key_of_pem(key_pem);
    bool matches = cert != NULL && key != NULL && X509_check_private_key(cert, key) == 1;

    X509_free(cert);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return matches;
}

void lc_tls_free(struct lc_cert *cert)
{
    if (cert->key_pem != NULL) {
        OPENSSL_cleanse(cert->key_pem, strlen(cert->key_pem));
    }
    free(cert->cert_pem);
    free(cert->key_pem);
    *cert = (struct lc_cert){0};
}
