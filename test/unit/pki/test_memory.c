/* SPDX-License-Identifier: MIT */
/* Rotating, issuing and reading back while the n-th allocation of ours fails, for every n: it is told, and what there
 * was stays. */
#include "ca_sample.h"

#include "base/json.h"
#include "data_file.h"
#include "pki/jwks.h"
#include "heap_fuse.h"

#define LIMIT 4000

static struct cfr_secret stored(const struct cfr_ca *a)
{
    struct cfr_secret out;
    struct cfr_err err = {0};

    cfr_secret_init(&out, CFR_CA_STORE_MAX);
    assert_int_equal(cfr_ca_store(a, &out, &err), 0);
    return out;
}

static void rotating(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca_rules rules = usual;
    struct cfr_secret before;
    struct cfr_err err = {0};
    long n = 0;
    int rc = CFR_E_NOMEM;

    (void)state;
    rotate(&a, &rules, BEGIN);
    rotate(&a, &rules, BEGIN + 1);
    before = stored(&a);
    rules.force = "why not";
    while (rc != 0 && n < LIMIT) {
        struct cfr_secret after;

        fuse = n++;
        rc = cfr_ca_rotate(&a, &rules, BEGIN + 2, &err);
        fuse = -1;
        if (rc == 0)
            break;
        assert_int_equal(rc, CFR_E_NOMEM);
        after = stored(&a);
        assert_true(cfr_view_eq(cfr_secret_view(&before), cfr_secret_view(&after)));
        cfr_secret_free(&after);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(a.number, 3);
    assert_true(n > 3);
    cfr_secret_free(&before);
    cfr_ca_free(&a);
}

static void reading_back(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca again;
    struct cfr_secret text;
    struct cfr_err err = {0};
    long n = 0;
    int rc = CFR_E_NOMEM;

    (void)state;
    rotate(&a, &usual, BEGIN);
    rotate(&a, &usual, BEGIN + 1);
    text = stored(&a);
    while (rc != 0 && n < LIMIT) {
        fuse = n++;
        rc = cfr_ca_load(cfr_secret_view(&text), &again, &err);
        fuse = -1;
        if (rc != 0) {
            assert_int_equal(rc, CFR_E_NOMEM);
            assert_null(again.key.p);
        }
    }
    assert_int_equal(rc, 0);
    cfr_ca_free(&again);
    cfr_secret_free(&text);
    cfr_ca_free(&a);
}

static void issuing(void **state)
{
    static const char *const names[] = {"server.test"};
    struct cfr_strings dns_names = strings_of(names, 1);
    struct cfr_strings none = {NULL, 0};
    struct cfr_serving_cert_order order = {
        .dns_names = &dns_names, .ip_addresses = &none, .key = CFR_KEY_ECDSA_P256, .validity_s = DAY};
    struct cfr_ca a = {.number = 0};
    struct cfr_err err = {0};
    int rc = CFR_E_NOMEM;

    (void)state;
    rotate(&a, &usual, BEGIN);
    rotate(&a, &usual, BEGIN + 1);
    for (long n = 0; rc != 0 && n < LIMIT; n++) {
        struct cfr_str certificate = {.limit = TEXT_LIMIT};
        struct cfr_secret key;
        int64_t ends_s;

        cfr_secret_init(&key, CFR_KEY_PEM_MAX);
        fuse = n;
        rc = cfr_serving_cert_issue(&a, 3, &order, BEGIN + 2, &certificate, &key, &ends_s, &err);
        fuse = -1;
        if (rc != 0)
            assert_int_equal(rc, CFR_E_NOMEM);
        cfr_str_free(&certificate);
        cfr_secret_free(&key);
    }
    assert_int_equal(rc, 0);
    cfr_ca_free(&a);
}

/* A signature that could not be verified is not one that does not match. */
static void verifying(void **state)
{
    struct cfr_view set = data_file_read("jwks/set.json");
    struct cfr_view file = data_file_read("jwks/cases.txt");
    struct cfr_view rest = file;
    struct cfr_view columns[3];

    (void)state;
    for (int row = 0; row < 4; row++) { /* RS256, RS384, RS512, ES256 */
        static const char *const of[][2] = {{"RS256", "rsa"}, {"RS384", "any"}, {"RS512", "any"}, {"ES256", "ec"}};
        struct cfr_jwks_token token = {{NULL, 0}, cfr_view_of(of[row][0]), cfr_view_of(of[row][1])};
        struct cfr_err err = {0};
        int rc = CFR_E_NOMEM;
        long n = 0;

        assert_true(data_file_row(&rest, columns, 3) && cfr_view_is(columns[0], "ok"));
        token.text = columns[2];
        for (; rc != 0 && n < LIMIT; n++) {
            size_t keys;

            fuse = n;
            rc = cfr_jwks_verify(set, &token, &keys, &err);
            fuse = -1;
            if (rc != 0)
                assert_int_equal(rc, CFR_E_NOMEM);
        }
        assert_int_equal(rc, 0);
        assert_true(n > 3);
    }
    data_file_free(file);
    data_file_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotating),
        cmocka_unit_test(reading_back),
        cmocka_unit_test(issuing),
        cmocka_unit_test(verifying),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
