/* SPDX-License-Identifier: MIT */
/* Of a certificate request the key counts, if its author has it. */
#include "ca_sample.h"
#include "pki/csr.h"

static char *to_pem(X509_REQ *request)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    char *copy;
    long n;

    assert_int_equal(PEM_write_bio_X509_REQ(bio, request), 1);
    n = BIO_get_mem_data(bio, &text);
    copy = strndup(text, (size_t)n);
    BIO_free(bio);
    return copy;
}

/* A request of KEY, signed by SIGNER. */
static X509_REQ *make_request(EVP_PKEY *key, EVP_PKEY *signer)
{
    X509_REQ *request = X509_REQ_new();

    assert_int_equal(X509_REQ_set_pubkey(request, key), 1);
    assert_true(X509_REQ_sign(request, signer, EVP_sha256()) > 0);
    return request;
}

static int read_request(EVP_PKEY *key, EVP_PKEY *signer, struct cfr_str *out, struct cfr_err *err)
{
    X509_REQ *request = make_request(key, signer);
    char *pem = to_pem(request);
    int rc = cfr_cert_request_key(cfr_view_of(pem), out, err);

    free(pem);
    X509_REQ_free(request);
    return rc;
}

static void the_key_counts(void **state)
{
    EVP_PKEY *keys[] = {EVP_EC_gen("P-256"), EVP_EC_gen("P-384"), EVP_RSA_gen(2048)};

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct cfr_str out = {.limit = TEXT_LIMIT};
        struct cfr_err err = {0};
        EVP_PKEY *found;
        BIO *bio;

        assert_int_equal(read_request(keys[i], keys[i], &out, &err), 0);
        bio = BIO_new_mem_buf(out.p, (int)out.len);
        found = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
        assert_int_equal(EVP_PKEY_eq(found, keys[i]), 1);
        BIO_free(bio);
        EVP_PKEY_free(found);
        EVP_PKEY_free(keys[i]);
        cfr_str_free(&out);
    }
}

static void assert_refused(EVP_PKEY *key, EVP_PKEY *signer, const char *why)
{
    struct cfr_str out = {.limit = TEXT_LIMIT};
    struct cfr_err err = {0};

    assert_int_equal(read_request(key, signer, &out, &err), CFR_E_CONFIG);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s: %s", why, err.text);
    assert_int_equal(out.len, 0);
}

/* Another owner's public key, taken from a certificate, is not to get a certificate here. */
static void what_proves_nothing_is_refused(void **state)
{
    EVP_PKEY *ours = EVP_EC_gen("P-256");
    EVP_PKEY *theirs = EVP_EC_gen("P-256");
    EVP_PKEY *weak = EVP_RSA_gen(1024);
    EVP_PKEY *other = EVP_EC_gen("P-521");

    (void)state;
    assert_refused(theirs, ours, "not signed by its own key");
    assert_refused(weak, weak, "1024 bits");
    assert_refused(other, other, "of another kind");
    EVP_PKEY_free(ours);
    EVP_PKEY_free(theirs);
    EVP_PKEY_free(weak);
    EVP_PKEY_free(other);
}

static void other_texts(void **state)
{
    static const char *const texts[] = {
        "", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        "-----BEGIN CERTIFICATE-----\n", "-----BEGIN X-----\n-----BEGIN Y-----\n"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct cfr_str out = {.limit = TEXT_LIMIT};
        struct cfr_err err = {0};

        assert_int_equal(cfr_cert_request_key(cfr_view_of(texts[i]), &out, &err), CFR_E_CONFIG);
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_counts),
        cmocka_unit_test(what_proves_nothing_is_refused),
        cmocka_unit_test(other_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
