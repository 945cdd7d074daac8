/* SPDX-License-Identifier: MIT */
/* Of a certificate request the key counts, if its author has it. */
#include "ca_sample.h"
#include "pki/csr.h"

#include <openssl/rsa.h>

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

/* ---- requests of pods ---- */

static struct cfr_view to_der(int n, unsigned char *der)
{
    assert_true(n > 0);
    return (struct cfr_view){(const char *)der, (size_t)n};
}

static void assert_is_key(struct cfr_str *out, EVP_PKEY *key)
{
    BIO *bio = BIO_new_mem_buf(out->p, (int)out->len);
    EVP_PKEY *found = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);

    assert_int_equal(EVP_PKEY_eq(found, key), 1);
    BIO_free(bio);
    EVP_PKEY_free(found);
    cfr_str_free(out);
}

/* As a kubelet proves it: ECDSA and PSS with SHA-256, Ed25519. */
static size_t prove(EVP_PKEY *key, const char *text, unsigned char proof[1024])
{
    const EVP_MD *digest = EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *how = NULL;
    size_t n = 1024;

    assert_int_equal(EVP_DigestSignInit(ctx, &how, digest, NULL, key), 1);
    if (EVP_PKEY_is_a(key, "RSA"))
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING), 1);
    assert_int_equal(EVP_DigestSign(ctx, proof, &n, (const unsigned char *)text, strlen(text)), 1);
    EVP_MD_CTX_free(ctx);
    return n;
}

static void keys_of_pods(void **state)
{
    EVP_PKEY *keys[] = {EVP_EC_gen("P-256"), EVP_EC_gen("P-384"), EVP_EC_gen("P-521"), EVP_RSA_gen(3072),
                        EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")};

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct cfr_str out = {.limit = TEXT_LIMIT};
        struct cfr_err err = {0};
        X509_REQ *request = X509_REQ_new();
        unsigned char proof[1024];
        unsigned char *der = NULL;
        unsigned char *spki = NULL;
        struct cfr_view of;
        int size;
        size_t n = prove(keys[i], "pod-uid", proof);

        assert_int_equal(X509_REQ_set_pubkey(request, keys[i]), 1);
        assert_true(X509_REQ_sign(request, keys[i], EVP_PKEY_is_a(keys[i], "ED25519") ? NULL : EVP_sha256()) > 0);
        size = i2d_X509_REQ(request, &der);
        of = to_der(size, der);
        assert_int_equal(cfr_cert_request_pod_key(of, &out, &err), 0);
        assert_is_key(&out, keys[i]);
        of.n--;
        assert_int_equal(cfr_cert_request_pod_key(of, &out, &err), CFR_E_CONFIG);
        der[of.n] ^= 1;
        of.n++;
        assert_int_equal(cfr_cert_request_pod_key(of, &out, &err), CFR_E_CONFIG);
        size = i2d_PUBKEY(keys[i], &spki);
        of = to_der(size, spki);
        assert_int_equal(cfr_cert_request_pod_key_proved(of, (struct cfr_view){(const char *)proof, n},
                                                         cfr_view_of("pod-uid"), &out, &err),
                         0);
        assert_is_key(&out, keys[i]);
        assert_int_equal(cfr_cert_request_pod_key_proved(of, (struct cfr_view){(const char *)proof, n},
                                                         cfr_view_of("pod-uie"), &out, &err),
                         CFR_E_CONFIG);
        assert_int_equal(
            cfr_cert_request_pod_key_proved(of, (struct cfr_view){NULL, 0}, cfr_view_of("pod-uid"), &out, &err),
            CFR_E_CONFIG);
        assert_int_equal(out.len, 0);
        OPENSSL_free(der);
        OPENSSL_free(spki);
        X509_REQ_free(request);
        EVP_PKEY_free(keys[i]);
    }
}

static void other_kinds_of_pods(void **state)
{
    EVP_PKEY *keys[] = {EVP_RSA_gen(1024), EVP_RSA_gen(2048), EVP_EC_gen("P-224"), EVP_EC_gen("secp256k1")};

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct cfr_str out = {.limit = TEXT_LIMIT};
        struct cfr_err err = {0};
        X509_REQ *request = make_request(keys[i], keys[i]);
        unsigned char *der = NULL;
        int n = i2d_X509_REQ(request, &der);

        assert_int_equal(cfr_cert_request_pod_key(to_der(n, der), &out, &err), CFR_E_REJECTED);
        assert_int_equal(out.len, 0);
        OPENSSL_free(der);
        X509_REQ_free(request);
        EVP_PKEY_free(keys[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_counts),      cmocka_unit_test(what_proves_nothing_is_refused),
        cmocka_unit_test(other_texts),         cmocka_unit_test(keys_of_pods),
        cmocka_unit_test(other_kinds_of_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
