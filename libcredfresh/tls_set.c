/* SPDX-License-Identifier: MIT */
/* Parses a certificate, key and CA bundle and verifies that they belong together. */
#include "tls_set.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct reader {
    const struct cfl_tls_input *in;
    char *why;
    size_t why_size;
};

static int __attribute__((format(printf, 3, 4))) set_error(const struct reader *r, int code, const char *fmt, ...)
{
    va_list args;

    if (r->why_size == 0)
        return code;
    va_start(args, fmt);
    (void)vsnprintf(r->why, r->why_size, fmt, args);
    va_end(args);
    return code;
}

/* OpenSSL's own reason, which never holds bytes of the input. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());

    return text != NULL ? text : "no reason given";
}

/* Without it OpenSSL would ask for the password of an encrypted key on the terminal. */
static int no_password(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static int open_bio(const struct reader *r, const struct cfl_tls_file *file, BIO **bio)
{
    if (file->p == NULL)
        return set_error(r, CREDFRESH_E_MISSING, "%s is missing", file->name);
    if (file->n == 0 || file->n > INT_MAX)
        return set_error(r, CREDFRESH_E_MISSING, "%s is %s", file->name, file->n == 0 ? "empty" : "too large");
    *bio = BIO_new_mem_buf(file->p, (int)file->n);
    return *bio != NULL ? 0 : set_error(r, CREDFRESH_E_NOMEM, "out of memory");
}

/* All certificates of a file, at least one. One that does not parse condemns the file: half a bundle is a wrong one. */
static int read_certs(const struct reader *r, const struct cfl_tls_file *file, int code, STACK_OF(X509) * *certs)
{
    BIO *bio = NULL;
    X509 *cert = NULL;
    int rc = open_bio(r, file, &bio);

    if (rc != 0)
        return rc;
    *certs = sk_X509_new_null();
    while (*certs != NULL && (cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        (void)X509_check_purpose(cert, -1, 0); /* decodes the extensions now, before threads share it */
        if (sk_X509_push(*certs, cert) == 0) {
            X509_free(cert);
            sk_X509_pop_free(*certs, X509_free);
            *certs = NULL;
        }
    }
    BIO_free(bio);
    if (*certs == NULL)
        return set_error(r, CREDFRESH_E_NOMEM, "out of memory");
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return set_error(r, code, "%s: certificate number %d cannot be read: %s", file->name, sk_X509_num(*certs) + 1,
                         reason());
    if (sk_X509_num(*certs) == 0)
        return set_error(r, code, "%s holds no PEM certificate", file->name);
    return 0;
}

static int read_key(const struct reader *r, EVP_PKEY **key)
{
    BIO *bio = NULL;
    int rc = open_bio(r, &r->in->key, &bio);

    if (rc != 0)
        return rc;
    *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    BIO_free(bio);
    if (*key == NULL)
        return set_error(r, CREDFRESH_TLS_E_KEY, "%s cannot be read as an unencrypted PEM private key: %s",
                         r->in->key.name, reason());
    return 0;
}

/* Equal public halves do not show that the private half is whole: what it signs must verify. */
static bool signs_for(EVP_PKEY *key, EVP_PKEY *public)
{
    static const unsigned char text[] = "credfresh proves a key pair";
    bool own_digest = EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1;
    const EVP_MD *digest = own_digest ? NULL : EVP_sha256();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_MD_CTX *check = EVP_MD_CTX_new();
    size_t size = (size_t)EVP_PKEY_get_size(key);
    unsigned char *signature = OPENSSL_malloc(size);
    bool ok = ctx != NULL && check != NULL && signature != NULL;

    ok = ok && EVP_DigestSignInit(ctx, NULL, digest, NULL, key) == 1;
    ok = ok && EVP_DigestSign(ctx, signature, &size, text, sizeof text) == 1;
    ok = ok && EVP_DigestVerifyInit(check, NULL, digest, NULL, public) == 1;
    ok = ok && EVP_DigestVerify(check, signature, size, text, sizeof text) == 1;
    OPENSSL_free(signature);
    EVP_MD_CTX_free(check);
    EVP_MD_CTX_free(ctx);
    return ok;
}

static bool time_of(const ASN1_TIME *when, int64_t *seconds)
{
    struct tm tm;

    if (when == NULL || ASN1_TIME_to_tm(when, &tm) != 1)
        return false;
    *seconds = (int64_t)timegm(&tm);
    return true;
}

/* Only the certificate itself: chains with an expired cross-signed root at their end are served on purpose. */
static int check_validity(const struct reader *r, struct cfl_tls_set *set)
{
    const char *name = r->in->cert.name;
    char when[32];
    struct tm tm;
    time_t end;

    if (!time_of(X509_get0_notBefore(set->cert), &set->not_before_s) ||
        !time_of(X509_get0_notAfter(set->cert), &set->not_after_s))
        return set_error(r, CREDFRESH_TLS_E_CERT, "%s: its validity cannot be read", name);
    if (set->not_after_s > r->in->now_s || (r->in->flags & CREDFRESH_TLS_ALLOW_EXPIRED) != 0)
        return 0;
    end = (time_t)set->not_after_s;
    if (gmtime_r(&end, &tm) == NULL || strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        when[0] = '\0';
    return set_error(r, CREDFRESH_TLS_E_EXPIRED, "%s expired at %s", name, when);
}

/* What OpenSSL would say in the first handshake (a key too weak for the security level ...) is asked for here. */
static int try_on(const struct reader *r, struct cfl_tls_set *set)
{
    SSL *ssl = r->in->trial != NULL ? SSL_new(r->in->trial) : NULL;
    bool fits = false;

    if (r->in->trial == NULL)
        return 0;
    if (ssl == NULL)
        return set_error(r, CREDFRESH_E_NOMEM, "out of memory");
    fits = SSL_use_cert_and_key(ssl, set->cert, set->key, set->chain, 1) == 1;
    SSL_free(ssl);
    return fits ? 0 : set_error(r, CREDFRESH_TLS_E_CERT, "%s is not fit for TLS: %s", r->in->cert.name, reason());
}

static int make_pair(const struct reader *r, struct cfl_tls_set *set)
{
    EVP_PKEY *public = NULL;
    int rc = read_certs(r, &r->in->cert, CREDFRESH_TLS_E_CERT, &set->chain);

    if (rc == 0)
        rc = read_key(r, &set->key);
    if (rc != 0)
        return rc;
    set->cert = sk_X509_shift(set->chain);
    public = X509_get0_pubkey(set->cert);
    if (public == NULL)
        return set_error(r, CREDFRESH_TLS_E_CERT, "%s: its public key cannot be read: %s", r->in->cert.name, reason());
    if (EVP_PKEY_eq(public, set->key) != 1 || !signs_for(set->key, public))
        return set_error(r, CREDFRESH_TLS_E_MISMATCH, "%s is not the key of %s", r->in->key.name, r->in->cert.name);
    rc = check_validity(r, set);
    return rc != 0 ? rc : try_on(r, set);
}

static bool ends_later(const STACK_OF(X509) * certs, int64_t now_s)
{
    for (int i = 0; i < sk_X509_num(certs); i++) {
        int64_t end = 0;

        if (time_of(X509_get0_notAfter(sk_X509_value(certs, i)), &end) && end > now_s)
            return true;
    }
    return false;
}

/* The digest of the certificates themselves: comments and line ends in the file do not end sessions. */
static bool name_trust(const STACK_OF(X509) * roots, unsigned char trust[SSL_MAX_SID_CTX_LENGTH])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;

    for (int i = 0; ok && roots != NULL && i < sk_X509_num(roots); i++) {
        unsigned char one[EVP_MAX_MD_SIZE];
        unsigned int n = 0;

        ok = X509_digest(sk_X509_value(roots, i), EVP_sha256(), one, &n) == 1 && EVP_DigestUpdate(ctx, one, n) == 1;
    }
    ok = ok && EVP_DigestFinal_ex(ctx, trust, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

static int make_trust(const struct reader *r, struct cfl_tls_set *set)
{
    const STACK_OF(X509) *named = NULL;
    int rc = 0;

    if (r->in->ca.name != NULL) {
        rc = read_certs(r, &r->in->ca, CREDFRESH_TLS_E_CA, &set->roots);
        if (rc != 0)
            return rc;
        if (!ends_later(set->roots, r->in->now_s) && (r->in->flags & CREDFRESH_TLS_ALLOW_EXPIRED) == 0)
            return set_error(r, CREDFRESH_TLS_E_EXPIRED, "%s: every certificate in it has expired", r->in->ca.name);
        named = (r->in->flags & CREDFRESH_TLS_KEEP_SESSIONS) == 0 ? set->roots : NULL;
    }
    return name_trust(named, set->trust) ? 0 : set_error(r, CREDFRESH_E_NOMEM, "out of memory");
}

int cfl_tls_set_make(struct cfl_tls_set **out, const struct cfl_tls_input *in, char *why, size_t why_size)
{
    const struct reader r = {in, why, why_size};
    struct cfl_tls_set *set = calloc(1, sizeof *set);
    int rc = 0;

    *out = NULL;
    if (set == NULL)
        return set_error(&r, CREDFRESH_E_NOMEM, "out of memory");
    atomic_init(&set->refs, 1);
    set->not_before_s = INT64_MIN;
    set->not_after_s = INT64_MAX;
    (void)ERR_set_mark();
    if (in->cert.name != NULL)
        rc = make_pair(&r, set);
    if (rc == 0)
        rc = make_trust(&r, set);
    (void)ERR_pop_to_mark();
    if (rc == 0)
        *out = set;
    else
        cfl_tls_set_unref(set);
    return rc;
}

struct cfl_tls_set *cfl_tls_set_join(const struct cfl_tls_set *pair, const struct cfl_tls_set *trust)
{
    struct cfl_tls_set *set = calloc(1, sizeof *set);

    if (set == NULL)
        return NULL;
    atomic_init(&set->refs, 1);
    set->chain = X509_chain_up_ref(pair->chain);
    set->roots = X509_chain_up_ref(trust->roots);
    if (set->chain == NULL || set->roots == NULL) {
        cfl_tls_set_unref(set);
        return NULL;
    }
    (void)X509_up_ref(pair->cert);
    (void)EVP_PKEY_up_ref(pair->key);
    set->cert = pair->cert;
    set->key = pair->key;
    set->not_before_s = pair->not_before_s;
    set->not_after_s = pair->not_after_s;
    memcpy(set->trust, trust->trust, sizeof set->trust);
    return set;
}

struct cfl_tls_set *cfl_tls_set_ref(struct cfl_tls_set *set)
{
    if (set != NULL)
        (void)atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void cfl_tls_set_unref(struct cfl_tls_set *set)
{
    if (set == NULL || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    X509_free(set->cert);
    EVP_PKEY_free(set->key);
    sk_X509_pop_free(set->chain, X509_free);
    sk_X509_pop_free(set->roots, X509_free);
    free(set);
}
