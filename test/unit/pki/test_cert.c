/* SPDX-License-Identifier: MIT */
/* Contents of certificates. */
#include "ca_sample.h"
#include "pki/cert_private.h"
#include "pki/key.h"

#include "base/json.h"

static X509 *first(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    BIO_free(bio);
    assert_non_null(x);
    return x;
}

static void a_ca_may_sign(void **state)
{
    struct cfr_ca a = {.number = 0};
    X509 *x;

    (void)state;
    rotate(&a, &usual, BEGIN);
    x = first(a.generations[0].root.pem);
    assert_int_equal(X509_get_version(x), X509_VERSION_3);
    assert_int_equal(X509_get_key_usage(x), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
    assert_true((X509_get_extension_flags(x) & EXFLAG_CA) != 0);
    assert_int_equal(X509_get_pathlen(x), -1);
    assert_int_equal(X509_get_ext_count(x), 4);
    X509_free(x);
    cfr_ca_free(&a);
}

static void a_server_may_not(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct leaf leaf;
    X509 *x;
    char name[80];

    (void)state;
    rotate(&a, &usual, BEGIN);
    issue(&a, 3, 90 * DAY, BEGIN, &leaf);
    x = first(leaf.certificate.p);
    assert_true((X509_get_extension_flags(x) & EXFLAG_CA) == 0);
    assert_int_equal(X509_get_key_usage(x), KU_DIGITAL_SIGNATURE);
    assert_int_equal(X509_get_extended_key_usage(x), XKU_SSL_SERVER);
    assert_int_equal(X509_check_host(x, "server.test", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(x, "a.server.test", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(x, "other.test", 0, 0, NULL), 0);
    assert_int_equal(X509_check_ip_asc(x, "127.0.0.1", 0), 1);
    assert_int_equal(X509_check_ip_asc(x, "::1", 0), 1);
    assert_int_equal(X509_check_ip_asc(x, "127.0.0.2", 0), 0);
    assert_true(X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name, sizeof name) > 0);
    assert_string_equal(name, "server.test");
    X509_free(x);
    free_leaf(&leaf);
    cfr_ca_free(&a);
}

/* RSA keys are also used to encipher; a name that is too long for a common name stands in the alternative names alone.
 */
static void other_servers(void **state)
{
    static const char *const names[] = {
        "a-name-that-is-longer-than-a-common-name-may-be.in-a-namespace.svc.cluster.local"};
    struct cfr_strings dns_names = strings_of(names, 1);
    struct cfr_strings none = {NULL, 0};
    struct cfr_serving_cert_order order = {
        .dns_names = &dns_names, .ip_addresses = &none, .key = CFR_KEY_RSA_2048, .validity_s = DAY};
    struct cfr_ca a = {.number = 0};
    struct cfr_str certificate = {.limit = TEXT_LIMIT};
    struct cfr_ca_rules rules = usual;
    struct cfr_secret key;
    struct cfr_err err = {0};
    int64_t ends_s;
    X509 *x;
    int critical;

    (void)state;
    rules.key = CFR_KEY_ECDSA_P384;
    rotate(&a, &rules, BEGIN);
    cfr_secret_init(&key, CFR_KEY_PEM_MAX);
    assert_int_equal(cfr_serving_cert_issue(&a, 3, &order, BEGIN, &certificate, &key, &ends_s, &err), 0);
    x = first(certificate.p);
    assert_int_equal(X509_get_key_usage(x), KU_DIGITAL_SIGNATURE | KU_KEY_ENCIPHERMENT);
    assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(x)), 0);
    GENERAL_NAMES_free(X509_get_ext_d2i(x, NID_subject_alt_name, &critical, NULL));
    assert_int_equal(critical, 1);
    assert_int_equal(X509_get_signature_nid(x), NID_ecdsa_with_SHA384);
    X509_free(x);
    cfr_str_free(&certificate);
    cfr_secret_free(&key);
    cfr_ca_free(&a);
}

static void collect(const char *pem, char serials[][64], size_t *count)
{
    STACK_OF(X509) *all = parse_all(pem);

    for (int i = 0; i < sk_X509_num(all); i++) {
        BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(sk_X509_value(all, i)), NULL);
        char *text = BN_bn2hex(n);

        assert_false(BN_is_negative(n));
        assert_int_equal(BN_num_bytes(n), 16);
        (void)snprintf(serials[(*count)++], 64, "%s", text);
        OPENSSL_free(text);
        BN_free(n);
    }
    sk_X509_pop_free(all, X509_free);
}

/* NSS refuses to know two certificates of one issuer and serial number. */
static void no_serial_number_twice(void **state)
{
    struct cfr_ca a = {.number = 0};
    char serials[200][64];
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 12; i++) {
        struct leaf leaf;
        char *bundle;

        rotate(&a, &usual, BEGIN + i);
        issue(&a, 3, DAY, BEGIN + i, &leaf);
        bundle = trust(&a, 3, BEGIN + i);
        /* Bridges are told of once, by the rotation that makes them. */
        collect(bundle, serials, &count);
        *strchr(strstr(leaf.certificate.p, "-----END"), '\n') = '\0';
        collect(leaf.certificate.p, serials, &count);
        free(bundle);
        free_leaf(&leaf);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(serials[i], serials[k]);
    }
    cfr_ca_free(&a);
}

/* All CAs have one name: only the identifiers of the keys tell which signed what. */
static void lineage_is_by_keys(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_cert foreign;
    struct cfr_err err = {0};

    (void)state;
    rotate(&a, &usual, BEGIN);
    rotate(&a, &usual, BEGIN + 1);
    assert_false(cfr_cert_same_key(&a.generations[0].root, &a.generations[1].root));
    assert_int_equal(cfr_cert_verify(&a.generations[0].incoming, &a.generations[1].root, &err), 0);
    assert_int_equal(cfr_cert_verify(&a.generations[1].outgoing, &a.generations[0].root, &err), 0);
    assert_int_equal(cfr_cert_verify(&a.generations[1].outgoing, &a.generations[1].root, &err), CFR_E_CONFIG);
    assert_contains(err.text, "another key");
    /* Identifiers may be forged, signatures not. */
    foreign = a.generations[0].root;
    memcpy(foreign.subject_key, a.generations[1].root.subject_key, sizeof foreign.subject_key);
    assert_int_equal(cfr_cert_verify(&a.generations[1].root, &foreign, &err), CFR_E_CONFIG);
    assert_contains(err.text, "signature");
    cfr_ca_free(&a);
}

static void names_are_checked(void **state)
{
    static const char *const good[] = {"a", "a.b", "*.a.b", "x-1.svc", "_dns.a", "registry.default.svc.cluster.local"};
    static const char *const bad[] = {"",           ".",       "a.",  ".a",       "a..b",       "-a",
                                      "a-",         "a b",     "a/b", "*",        "a.*",        "*a.b",
                                      "\xc3\xa9.x", "a,DNS:b", "a\n", "10.0.0.1", "2001:db8::1"};
    static const char *const ips[] = {"127.0.0.1", "::", "fe80::1", "2001:db8::ff"};
    static const char *const no_ips[] = {"", "127.0.0", "127.0.0.256", "localhost", "::g", "1.2.3.4/8"};
    struct cfr_err err = {0};
    char label[65];

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_int_equal(cfr_cert_check_dns_name(good[i], &err), 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (cfr_cert_check_dns_name(bad[i], &err) != CFR_E_CONFIG)
            fail_msg("\"%s\" was taken", bad[i]);
    }
    memset(label, 'a', 64);
    label[64] = '\0';
    assert_int_equal(cfr_cert_check_dns_name(label, &err), CFR_E_CONFIG);
    assert_int_equal(cfr_cert_check_dns_name(label + 1, &err), 0);
    for (size_t i = 0; i < COUNT(ips); i++)
        assert_int_equal(cfr_cert_check_ip_address(ips[i], &err), 0);
    for (size_t i = 0; i < COUNT(no_ips); i++)
        assert_int_equal(cfr_cert_check_ip_address(no_ips[i], &err), CFR_E_CONFIG);
}

static void what_is_no_certificate_is_refused(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_cert out;
    struct cfr_err err = {0};
    const char *pem;

    (void)state;
    rotate(&a, &usual, BEGIN);
    pem = a.generations[0].root.pem;
    for (size_t n = 0; n < strlen(pem) - 1; n++)
        assert_int_not_equal(cfr_cert_read((struct cfr_view){pem, n}, &out, &err), 0);
    assert_int_equal(cfr_cert_read(cfr_view_of(pem), &out, &err), 0);
    assert_string_equal(out.pem, pem);
    cfr_cert_free(&out);
    assert_int_equal(cfr_cert_read(cfr_secret_view(&a.key), &out, &err), CFR_E_CONFIG);
    cfr_ca_free(&a);
}

/* Another CA's certificate would be published with the first, and trusted by all clients. */
static void nothing_around_a_certificate_remains(void **state)
{
    static const char *const labels[][2] = {
        {"", ""}, {"X509 ", "X509 "}, {"junk\n", ""}, {"Bag Attributes\n    friendlyName: x\n", ""}};
    struct cfr_ca a = {.number = 0};
    struct cfr_ca b = {.number = 0};
    const char *pem;

    (void)state;
    rotate(&a, &usual, BEGIN);
    rotate(&b, &usual, BEGIN);
    pem = a.generations[0].root.pem;
    for (size_t i = 0; i < COUNT(labels); i++) {
        bool label = labels[i][1][0] != '\0';
        const char *body = pem + sizeof "-----BEGIN CERTIFICATE-----" - 1;
        int body_n = (int)(strstr(pem, "-----END") - body);
        struct cfr_str text = {.limit = CFR_CERT_PEM_MAX};
        struct cfr_cert out;
        struct cfr_err err = {0};

        /* The first certificate that the library finds, under either of its labels. */
        cfr_str_addf(&text, "%s-----BEGIN %sCERTIFICATE-----%.*s-----END %sCERTIFICATE-----\n",
                     label ? "" : labels[i][0], labels[i][1], body_n, body, labels[i][1]);
        cfr_str_addf(&text, "%s-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n#",
                     b.generations[0].root.pem);
        assert_false(text.failed);
        assert_int_equal(cfr_cert_read((struct cfr_view){text.p, text.len}, &out, &err), 0);
        assert_string_equal(out.pem, pem);
        cfr_cert_free(&out);
        cfr_str_free(&text);
    }
    cfr_ca_free(&a);
    cfr_ca_free(&b);
}

/* The certificate PEM with PARTS, each a type and a value in the encoding KIND, as its subject and issuer. */
static char *rename_to(const char *pem, const char *const parts[2][2], int kind)
{
    X509 *x = first(pem);
    X509_NAME *name = X509_NAME_new();
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *out = BIO_new(BIO_s_mem());
    char *text;
    char *copy;
    long n;

    for (size_t i = 0; i < 2 && parts[i][0] != NULL; i++)
        assert_int_equal(X509_NAME_add_entry_by_txt(name, parts[i][0], kind, (const unsigned char *)parts[i][1],
                                                    (int)strlen(parts[i][1]), -1, 0),
                         1);
    assert_int_equal(X509_set_subject_name(x, name), 1);
    assert_int_equal(X509_set_issuer_name(x, name), 1);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509(out, x), 1);
    n = BIO_get_mem_data(out, &text);
    copy = cfr_str_dup((struct cfr_view){text, (size_t)n});
    X509_NAME_free(name);
    EVP_PKEY_free(key);
    X509_free(x);
    BIO_free(out);
    return copy;
}

/* Letters are shown in every encoding. Control characters are replaced, and a comma in a value is marked. */
static void names_are_shown_as_text(void **state)
{
    static const struct {
        const char *parts[2][2];
        int kind; /* V_ASN1_: encoded as it is; MBSTRING_: OpenSSL selects the encoding */
        const char *whole;
        const char *common;
    } cases[] = {
        {{{"CN", "Z\xc3\xbcrich \xc3\x9cnit"}, {"O", "\xc3\x86ther"}},
         V_ASN1_UTF8STRING,
         "CN=Z\xc3\xbcrich \xc3\x9cnit, O=\xc3\x86ther",
         "Z\xc3\xbcrich \xc3\x9cnit"},
        {{{"CN", "Z\xfcrich"}, {"O", "\xc6ther"}},
         V_ASN1_T61STRING,
         "CN=Z\xc3\xbcrich, O=\xc3\x86ther",
         "Z\xc3\xbcrich"},
        {{{"CN", "\x20\xac\x01\x7f"}}, V_ASN1_BMPSTRING, "CN=\xe2\x82\xac\xc5\xbf", "\xe2\x82\xac\xc5\xbf"},
        {{{"O", "Z\xc3\xbcrich"}, {"OU", "\xc3\x9c"}},
         MBSTRING_UTF8,
         "O=Z\xc3\xbcrich, OU=\xc3\x9c",
         "O=Z\xc3\xbcrich, OU=\xc3\x9c"},
        {{{"CN", "two\nlines\x1b[m"}, {"O", "a, CN=b"}},
         V_ASN1_UTF8STRING,
         "CN=two?lines?[m, O=a\\, CN=b",
         "two?lines?[m"},
        {{{"CN", "right\xe2\x80\xaeleft"}}, V_ASN1_UTF8STRING, "CN=right???left", "right???left"},
        {{{NULL, NULL}}, V_ASN1_UTF8STRING, "", ""},
    };
    struct cfr_ca a = {.number = 0};

    (void)state;
    rotate(&a, &usual, BEGIN);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_cert c = {.pem = rename_to(a.generations[0].root.pem, cases[i].parts, cases[i].kind)};
        char subject[100];
        char issuer[100];
        struct cfr_err err = {0};

        assert_int_equal(cfr_cert_names(cfr_view_of(c.pem), subject, issuer, sizeof subject, &err), 0);
        assert_string_equal(subject, cases[i].whole);
        assert_string_equal(issuer, cases[i].whole);
        assert_int_equal(cfr_cert_subject(&c, subject, sizeof subject, &err), 0);
        assert_string_equal(subject, cases[i].common);
        cfr_cert_free(&c);
    }
    cfr_ca_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ca_may_sign),
        cmocka_unit_test(a_server_may_not),
        cmocka_unit_test(other_servers),
        cmocka_unit_test(no_serial_number_twice),
        cmocka_unit_test(lineage_is_by_keys),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(what_is_no_certificate_is_refused),
        cmocka_unit_test(nothing_around_a_certificate_remains),
        cmocka_unit_test(names_are_shown_as_text),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
