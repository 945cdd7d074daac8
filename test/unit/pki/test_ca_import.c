/* SPDX-License-Identifier: MIT */
/* A CA that another program made is taken over if its successors can do what it does. Those of OpenSSL are in
 * test/integ/test_trust.py. */
#include "ca_sample.h"
#include "pki/ca_import.h"

#include "base/json.h"

/* A CA as another program has it: certificate and key, out of an authority that is gone. */
static void make_existing(struct cfr_ca *a)
{
    *a = (struct cfr_ca){.number = 0};
    rotate(a, &usual, BEGIN);
}

static int import(const struct cfr_ca *from, const struct cfr_ca *key_of, int64_t now_s, struct cfr_ca *out,
                  struct cfr_err *err)
{
    return cfr_ca_import(out, cfr_view_of(from->generations[0].root.pem), cfr_secret_view(&key_of->key), 3, now_s, err);
}

static void it_goes_on_as_it_was(void **state)
{
    struct cfr_ca before;
    struct cfr_ca a;
    struct cfr_ca again;
    struct cfr_err err = {0};
    struct leaf old;
    struct leaf leaf;
    char *bundle;
    char *old_bundle;

    (void)state;
    make_existing(&before);
    issue(&before, 3, 90 * DAY, BEGIN, &old);
    old_bundle = trust(&before, 3, BEGIN);
    assert_int_equal(import(&before, &before, BEGIN + DAY, &a, &err), 0);
    assert_int_equal(a.number, 1);
    assert_string_equal(a.subject, "test CA");
    assert_string_equal(a.generations[0].root.pem, before.generations[0].root.pem);
    assert_int_equal(cfr_ca_need(&a, &usual, BEGIN + DAY), CFR_CA_NOTHING);
    assert_true(cfr_ca_due_s(&a, &usual) <= BEGIN + 395 * DAY);
    assert_int_equal(cfr_ca_copy(&a, &again, &err), 0);
    rotate(&again, &usual, BEGIN + 2 * DAY);
    issue(&again, 3, 90 * DAY, BEGIN + 2 * DAY, &leaf);
    bundle = trust(&again, 3, BEGIN + 2 * DAY);
    assert_trusted(old_bundle, leaf.certificate.p, BEGIN + 2 * DAY, "a client of before");
    assert_trusted(bundle, old.certificate.p, BEGIN + 2 * DAY, "a server of before");
    free(bundle);
    free(old_bundle);
    free_leaf(&old);
    free_leaf(&leaf);
    cfr_ca_free(&again);
    cfr_ca_free(&a);
    cfr_ca_free(&before);
}

/* Less is left of it than a CA should have: it is replaced at once, its successor not before half of its life. */
static void one_that_ends_soon_is_replaced(void **state)
{
    struct cfr_ca_rules rules = usual;
    struct cfr_ca before = {.number = 0};
    struct cfr_ca a;
    struct cfr_ca stored = {.number = 0};
    struct cfr_secret text;
    struct cfr_err err = {0};
    char *old_bundle;
    struct leaf leaf;

    (void)state;
    rules.validity_s = 365 * DAY;
    rotate(&before, &rules, BEGIN);
    assert_int_equal(cfr_ca_need(&before, &usual, BEGIN + DAY), CFR_CA_NOTHING);
    old_bundle = trust(&before, 3, BEGIN);
    assert_int_equal(import(&before, &before, BEGIN + DAY, &a, &err), 0);
    assert_int_equal(cfr_ca_need(&a, &usual, BEGIN + DAY), CFR_CA_DUE);
    cfr_secret_init(&text, CFR_CA_STORE_MAX);
    assert_int_equal(cfr_ca_store(&a, &text, &err), 0);
    assert_int_equal(cfr_ca_load(cfr_secret_view(&text), &stored, &err), 0);
    assert_int_equal(cfr_ca_need(&stored, &usual, BEGIN + DAY), CFR_CA_DUE);
    rotate(&a, &rules, BEGIN + DAY);
    assert_int_equal(cfr_ca_need(&a, &usual, BEGIN + DAY), CFR_CA_NOTHING);
    issue(&a, 3, 90 * DAY, BEGIN + DAY, &leaf);
    assert_trusted(old_bundle, leaf.certificate.p, BEGIN + DAY, "a client of before");
    free_leaf(&leaf);
    free(old_bundle);
    cfr_secret_free(&text);
    cfr_ca_free(&stored);
    cfr_ca_free(&a);
    cfr_ca_free(&before);
}

/* Gives A's root another name: a CN of N bytes in a string of TYPE, or none. */
static void rename_root(struct cfr_ca *a, int type, const char *text, int n)
{
    BIO *in = BIO_new_mem_buf(a->generations[0].root.pem, -1);
    BIO *of_key = BIO_new_mem_buf(a->key.p, (int)a->key.len);
    BIO *out = BIO_new(BIO_s_mem());
    X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(of_key, NULL, NULL, NULL);
    X509_NAME *name = X509_NAME_new();
    char *pem;
    long length;

    if (n != 0)
        assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", type, (const unsigned char *)text, n, -1, 0), 1);
    assert_int_equal(X509_set_subject_name(x, name), 1);
    assert_int_equal(X509_set_issuer_name(x, name), 1);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(out, x), 1);
    length = BIO_get_mem_data(out, &pem);
    free(a->generations[0].root.pem);
    a->generations[0].root.pem = cfr_str_dup((struct cfr_view){pem, (size_t)length});
    X509_NAME_free(name);
    EVP_PKEY_free(key);
    X509_free(x);
    BIO_free(out);
    BIO_free(of_key);
    BIO_free(in);
}

/* Whatever its name is encoded in, and how much of it can be shown: its successors have it, so that it can be replaced.
 */
static void names_of_every_kind(void **state)
{
    static const struct {
        const char *text;
        const char *shown;
        int n;
        int type;
    } cases[] = {
        {"\0C\0o\0n\0t\0o\0s\0o", "Contoso", 14, V_ASN1_BMPSTRING},
        {"Pr\xc3\xbc\x66 CA", "Pr\xc3\xbc\x66 CA", 8, V_ASN1_UTF8STRING},
        {"Pr\xfc\x66 CA", "Pr\xc3\xbc\x66 CA", 7, V_ASN1_T61STRING},
        {"two\nlines", "two?lines", 9, V_ASN1_UTF8STRING},
        {"1234567890123456789012345678901234567890123456789012345678901\xc3\xbc\xc3\xbc",
         "1234567890123456789012345678901234567890123456789012345678901...", 65, V_ASN1_UTF8STRING},
        {"", "", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_err err = {0};
        struct cfr_ca before;
        struct cfr_ca found;
        struct cfr_ca a;
        struct leaf leaf;
        char *old_bundle;

        make_existing(&before);
        rename_root(&before, cases[i].type, cases[i].text, cases[i].n);
        if (import(&before, &before, BEGIN + DAY, &found, &err) != 0)
            fail_msg("case %zu: %s", i, err.text);
        assert_string_equal(found.subject, cases[i].shown);
        assert_int_equal(cfr_ca_copy(&found, &a, &err), 0);
        old_bundle = trust(&a, 3, BEGIN + DAY);
        rotate(&a, &usual, BEGIN + 2 * DAY);
        assert_string_equal(a.subject, cases[i].shown);
        issue(&a, 3, 90 * DAY, BEGIN + 2 * DAY, &leaf);
        /* Strict clients refuse what a CA without a name signed, before and after. */
        assert_int_equal(judge(old_bundle, leaf.certificate.p, BEGIN + 2 * DAY),
                         cases[i].n != 0 ? X509_V_OK : X509_V_ERR_ISSUER_NAME_EMPTY);
        free(old_bundle);
        free_leaf(&leaf);
        cfr_ca_free(&a);
        cfr_ca_free(&found);
        cfr_ca_free(&before);
    }
}

static void assert_refused(const struct cfr_ca *from, const struct cfr_ca *key_of, int64_t now_s, const char *why)
{
    struct cfr_err err = {0};
    struct cfr_ca a;

    assert_int_equal(import(from, key_of, now_s, &a, &err), CFR_E_CONFIG);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s: %s", why, err.text);
    assert_int_equal(a.count, 0);
    assert_null(a.key.p);
}

static void what_does_not_fit_is_refused(void **state)
{
    struct cfr_ca before;
    struct cfr_ca other;
    struct cfr_ca bridge = {.number = 0};
    struct leaf leaf;

    (void)state;
    make_existing(&before);
    make_existing(&other);
    assert_refused(&before, &other, BEGIN + DAY, "not that of the certificate");
    assert_refused(&before, &before, BEGIN + 790 * DAY, "has expired");
    assert_refused(&before, &before, BEGIN - DAY, "is not valid for another");
    /* What another CA has signed: a bridge, and a server's certificate. */
    rotate(&other, &usual, BEGIN + 10);
    assert_int_equal(cfr_ca_copy(&other, &bridge, NULL), 0);
    free(bridge.generations[0].root.pem);
    bridge.generations[0].root.pem = strdup(other.generations[0].incoming.pem);
    assert_refused(&bridge, &other, BEGIN + DAY, "not signed by its own key");
    issue(&other, 3, 90 * DAY, BEGIN + 10, &leaf);
    free(bridge.generations[0].root.pem);
    bridge.generations[0].root.pem = strdup(leaf.certificate.p);
    strstr(bridge.generations[0].root.pem, "-----END CERTIFICATE-----\n")[26] = '\0';
    assert_refused(&bridge, &other, BEGIN + DAY, "CA:TRUE");
    free(bridge.generations[0].root.pem);
    bridge.generations[0].root.pem = strdup("no certificate");
    assert_refused(&bridge, &other, BEGIN + DAY, "no certificate");
    free_leaf(&leaf);
    cfr_ca_free(&bridge);
    cfr_ca_free(&other);
    cfr_ca_free(&before);
}

/* The public half in the key's text is as it was, so that it compares equal with the certificate's. */
static void a_damaged_key_is_refused(void **state)
{
    static const size_t in_private_half = sizeof "-----BEGIN PRIVATE KEY-----" + 52;
    struct cfr_ca before;
    struct cfr_ca damaged;

    (void)state;
    make_existing(&before);
    assert_int_equal(cfr_ca_copy(&before, &damaged, NULL), 0);
    damaged.key.p[in_private_half] = damaged.key.p[in_private_half] == 'A' ? 'B' : 'A';
    assert_refused(&before, &damaged, BEGIN + DAY, "is damaged");
    cfr_ca_free(&damaged);
    cfr_ca_free(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_as_it_was),     cmocka_unit_test(one_that_ends_soon_is_replaced),
        cmocka_unit_test(names_of_every_kind),      cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_damaged_key_is_refused),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
