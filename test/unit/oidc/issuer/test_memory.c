/* SPDX-License-Identifier: MIT */
/* Making, storing and reading an issuer while the n-th allocation fails, for every n: each failure is reported. */
#include "unit.h"

#include "base/json.h"
#include "heap_fuse.h"
#include "oidc/issuer/issuer.h"

#define BEGIN INT64_C(1800000000)
#define LIMIT 4000

static void an_issuer(void **state)
{
    struct cfr_err err = {0};
    int rc = CFR_E_NOMEM;

    (void)state;
    for (long n = 0; rc != 0 && n < LIMIT; n++) {
        struct cfr_oidc_issuer i = {.url = strdup("https://a"),
                                    .web_root = strdup("/w"),
                                    .key = CFR_KEY_ECDSA_P256,
                                    .token_life_s = 1,
                                    .certified = true};
        struct cfr_oidc_issuer again = {.url = NULL};
        struct cfr_str jwks = {.limit = CFR_OIDC_ISSUER_DOCUMENT_MAX};
        struct cfr_secret text;

        cfr_secret_init(&text, CFR_OIDC_ISSUER_STORE_MAX);
        fuse = n;
        rc = cfr_oidc_issuer_begin(&i, BEGIN, &err);
        if (rc == 0)
            rc = cfr_oidc_issuer_jwks(&i, &jwks, &err);
        if (rc == 0)
            rc = cfr_oidc_issuer_set_store(&i, "gcs:https://a", &err);
        if (rc == 0)
            rc = cfr_oidc_issuer_set_uploaded(&i, true, BEGIN, &err);
        if (rc == 0)
            rc = cfr_oidc_issuer_store(&i, &text, &err);
        if (rc == 0)
            rc = cfr_oidc_issuer_load(cfr_secret_view(&text), &again, &err);
        fuse = -1;
        if (rc != 0)
            assert_int_equal(rc, CFR_E_NOMEM);
        cfr_str_free(&jwks);
        cfr_secret_free(&text);
        cfr_oidc_issuer_free(&i);
        cfr_oidc_issuer_free(&again);
    }
    assert_int_equal(rc, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_issuer)};

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
