/* SPDX-License-Identifier: MIT */
/* Authorities of tests, and OpenSSL's word on what they issue. */
#ifndef CFR_TEST_CA_SAMPLE_H
#define CFR_TEST_CA_SAMPLE_H

#include "unit.h"

#include "pki/bundle.h"
#include "pki/serving_cert.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define DAY    INT64_C(86400)
#define MONTH  (30 * DAY + 9 * 3600)
#define BEGIN  INT64_C(1790000000)
#define TEXT_LIMIT 262144

/* The service CA of a cluster, by default. */
static const struct cfr_authority_rules usual = {
    .subject = "test CA",
    .key = CFR_KEY_ECDSA_P256,
    .validity_s = 790 * DAY,
    .rotate_below_s = 395 * DAY,
    .generations = 3,
};

/* One serving certificate as it is published. */
struct leaf {
    struct cfr_str certificate;
    struct cfr_secret key;
    int64_t ends_s;
};

static inline struct cfr_strings strings_of(const char *const *items, size_t count)
{
    return (struct cfr_strings){(char **)(void *)(uintptr_t)items, count};
}

static inline void issue(const struct cfr_authority *a, size_t generations, int64_t validity_s, int64_t now_s, struct leaf *out)
{
    static const char *const names[] = {"server.test", "*.server.test"};
    static const char *const ips[] = {"127.0.0.1", "::1"};
    struct cfr_strings dns_names = strings_of(names, COUNT(names));
    struct cfr_strings ip_addresses = strings_of(ips, COUNT(ips));
    struct cfr_serving_order order = {&dns_names, &ip_addresses, CFR_KEY_ECDSA_P256, validity_s};
    struct cfr_err err = {0};

    out->certificate = (struct cfr_str){.limit = TEXT_LIMIT};
    cfr_secret_init(&out->key, CFR_KEY_PEM_MAX);
    if (cfr_serving_issue(a, generations, &order, now_s, &out->certificate, &out->key, &out->ends_s, &err) != 0)
        fail_msg("%s", err.text);
}

static inline void free_leaf(struct leaf *l)
{
    cfr_str_free(&l->certificate);
    cfr_secret_free(&l->key);
}

static inline char *trust(const struct cfr_authority *a, size_t generations, int64_t now_s)
{
    struct cfr_str s = {.limit = TEXT_LIMIT};
    struct cfr_err err = {0};

    if (cfr_bundle_trust(a, generations, now_s, &s, &err) != 0)
        fail_msg("%s", err.text);
    return s.p;
}

static inline STACK_OF(X509) * parse_all(const char *pem)
{
    STACK_OF(X509) *all = sk_X509_new_null();
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *x;

    while ((x = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL)
        assert_true(sk_X509_push(all, x) > 0);
    ERR_clear_error();
    BIO_free(bio);
    return all;
}

/* What a client that trusts BUNDLE makes at NOW_S of a server that presents CERTIFICATE: X509_V_OK or why not. */
static inline int judge(const char *bundle, const char *certificate, int64_t now_s)
{
    STACK_OF(X509) *trusted = parse_all(bundle);
    STACK_OF(X509) *shown = parse_all(certificate);
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509_VERIFY_PARAM *p;
    int verdict;

    for (int i = 0; i < sk_X509_num(trusted); i++)
        assert_int_equal(X509_STORE_add_cert(store, sk_X509_value(trusted, i)), 1);
    assert_int_equal(X509_STORE_CTX_init(ctx, store, sk_X509_value(shown, 0), shown), 1);
    p = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(p, (time_t)now_s);
    assert_int_equal(X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_X509_STRICT), 1);
    assert_int_equal(X509_VERIFY_PARAM_set_purpose(p, X509_PURPOSE_SSL_SERVER), 1);
    assert_int_equal(X509_VERIFY_PARAM_set1_host(p, "server.test", 0), 1);
    verdict = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
    ERR_clear_error();
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    sk_X509_pop_free(trusted, X509_free);
    sk_X509_pop_free(shown, X509_free);
    return verdict;
}

static inline void assert_trusted(const char *bundle, const char *certificate, int64_t now_s, const char *what)
{
    int verdict = judge(bundle, certificate, now_s);

    if (verdict != X509_V_OK)
        fail_msg("%s: %s", what, X509_verify_cert_error_string(verdict));
}

static inline void rotate(struct cfr_authority *a, const struct cfr_authority_rules *rules, int64_t now_s)
{
    struct cfr_err err = {0};

    if (cfr_authority_rotate(a, rules, now_s, &err) != 0)
        fail_msg("%s", err.text);
}

#endif
