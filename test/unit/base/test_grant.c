/* SPDX-License-Identifier: MIT */
/* Grants: fields, copies and wiping. */
#include "unit.h"

#include "base/grant.h"
#include "heap_watch.h"

#define MARK "bPxRfiCYEXAMPLEKEY0123456789"

static void set_get_and_replace(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_err err = {0};

    (void)state;
    assert_null(cfr_grant_get(&g, CFR_FIELD_TOKEN).p);
    assert_int_equal(cfr_grant_set(&g, CFR_FIELD_TOKEN, LITERAL("one"), &err), 0);
    assert_int_equal(cfr_grant_set(&g, CFR_FIELD_AWS_REGION, LITERAL("eu-west-1"), &err), 0);
    assert_int_equal(cfr_grant_set(&g, CFR_FIELD_TOKEN, LITERAL("two"), &err), 0);
    assert_int_equal(g.field_count, 2);
    assert_view(cfr_grant_get(&g, CFR_FIELD_TOKEN), "two");
    assert_view(cfr_grant_get(&g, CFR_FIELD_AWS_REGION), "eu-west-1");
    assert_null(cfr_grant_get(&g, CFR_FIELD_AWS_ACCOUNT_ID).p);
    cfr_grant_free(&g);
    assert_int_equal(g.field_count, 0);
}

static void lists_what_must_not_be_shown(void **state)
{
    static const struct {
        const char *name, *value, *listed;
    } cases[] = {
        {CFR_FIELD_AWS_ACCESS_KEY_ID, "id", NULL},
        {CFR_FIELD_AWS_SECRET_ACCESS_KEY, "id", "id"},
        {CFR_FIELD_REGISTRY_AUTHS, "\"host\": {}", NULL},
        {CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, "{\"private_key_id\": \"1\", \"private_key\": \"-----B\\nAB\"}",
         "-----B\\nAB"},
        {CFR_FIELD_SECRET_PREFIX "aws_access_key_id", "AKIA", NULL},
        {CFR_FIELD_SECRET_PREFIX "region", "eu-west-1", NULL},
        {CFR_FIELD_SECRET_PREFIX "aws_secret_access_key", "hush\n", "hush"},
        {CFR_FIELD_SECRET_PREFIX "credentials", "[default]\naws_access_key_id = AKIA\n", NULL},
    };
    struct cfr_view secrets[CFR_GRANT_FIELDS_MAX];
    struct cfr_grant g = {0};
    size_t count;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(cfr_grant_set(&g, cases[i].name, cfr_view_of(cases[i].value), NULL), 0);
    count = cfr_grant_list_secrets(&g, secrets);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].listed != NULL) {
            assert_true(n < count);
            assert_view(secrets[n++], cases[i].listed);
        }
    }
    assert_int_equal(n, count);
    cfr_grant_free(&g);
}

static void everything_is_wiped(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_grant other = {0};
    struct cfr_err err = {0};

    (void)state;
    heap_watch(MARK);
    assert_int_equal(cfr_grant_set(&g, CFR_FIELD_TOKEN, LITERAL(MARK), &err), 0);
    assert_int_equal(cfr_grant_set(&g, CFR_FIELD_TOKEN, LITERAL("x" MARK), &err), 0);
    assert_int_equal(cfr_grant_set(&other, CFR_FIELD_TOKEN, LITERAL("y" MARK), &err), 0);
    cfr_grant_move(&g, &other);
    assert_int_equal(other.field_count, 0);
    assert_view(cfr_grant_get(&g, CFR_FIELD_TOKEN), "y" MARK);
    cfr_grant_move(&g, &g);
    assert_view(cfr_grant_get(&g, CFR_FIELD_TOKEN), "y" MARK);
    cfr_grant_free(&g);
    cfr_grant_free(&other);
    assert_int_equal(heap_frees, 5); /* three values, two names */
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
}

static void limits(void **state)
{
    char names[CFR_GRANT_FIELDS_MAX + 1][8];
    struct cfr_grant g = {0};
    struct cfr_err err = {0};
    char *big = calloc(1, CFR_GRANT_VALUE_MAX + 1);

    (void)state;
    assert_non_null(big);
    for (size_t i = 0; i <= CFR_GRANT_FIELDS_MAX; i++)
        (void)snprintf(names[i], sizeof names[i], "f%zu", i);
    for (size_t i = 0; i < CFR_GRANT_FIELDS_MAX; i++)
        assert_int_equal(cfr_grant_set(&g, names[i], LITERAL("v"), &err), 0);
    assert_int_equal(cfr_grant_set(&g, names[CFR_GRANT_FIELDS_MAX], LITERAL("v"), &err), CFR_E_LIMIT);
    assert_int_equal(cfr_grant_set(&g, names[0], LITERAL("new"), &err), 0);
    assert_int_equal(cfr_grant_set(&g, names[0], (struct cfr_view){big, CFR_GRANT_VALUE_MAX + 1}, &err), CFR_E_LIMIT);
    assert_view(cfr_grant_get(&g, names[0]), "new");
    assert_int_equal(cfr_grant_set(&g, names[0], (struct cfr_view){big, CFR_GRANT_VALUE_MAX}, &err), 0);
    heap_fail_at = 1;
    assert_int_equal(cfr_grant_set(&g, names[1], LITERAL("new"), &err), CFR_E_NOMEM);
    heap_fail_at = 0;
    assert_view(cfr_grant_get(&g, names[1]), "v");
    free(big);
    cfr_grant_free(&g);
}

static void identity(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_err err = {0};
    char longest[CFR_GRANT_IDENTITY_MAX + 1];

    (void)state;
    memset(longest, 'a', sizeof longest);
    assert_int_equal(cfr_grant_set_identity(&g, LITERAL("arn:aws:sts::1:x"), &err), 0);
    assert_string_equal(g.identity, "arn:aws:sts::1:x");
    assert_int_equal(cfr_grant_set_identity(&g, LITERAL("a\nb"), &err), CFR_E_ANSWER);
    assert_int_equal(cfr_grant_set_identity(&g, (struct cfr_view){longest, sizeof longest}, &err), CFR_E_ANSWER);
    assert_string_equal(g.identity, "arn:aws:sts::1:x");
    assert_int_equal(cfr_grant_set_identity(&g, (struct cfr_view){longest, sizeof longest - 1}, &err), 0);
    heap_fail_at = 1;
    assert_int_equal(cfr_grant_set_identity(&g, LITERAL("b"), &err), CFR_E_NOMEM);
    heap_fail_at = 0;
    assert_int_equal(strlen(g.identity), CFR_GRANT_IDENTITY_MAX);
    cfr_grant_free(&g);
}

static void what_is_secret(void **state)
{
    (void)state;
    assert_false(cfr_grant_is_secret(CFR_FIELD_AWS_ACCESS_KEY_ID));
    assert_false(cfr_grant_is_secret(CFR_FIELD_AZURE_SCOPE));
    assert_true(cfr_grant_is_secret(CFR_FIELD_AWS_SECRET_ACCESS_KEY));
    assert_true(cfr_grant_is_secret(CFR_FIELD_AZURE_ACCESS_TOKEN ":https://vault.azure.net/.default"));
    assert_true(cfr_grant_is_secret(CFR_FIELD_OPENSTACK_PASSWORD));
    assert_true(cfr_grant_is_secret("a field that nobody knows"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_get_and_replace),
        cmocka_unit_test(lists_what_must_not_be_shown),
        cmocka_unit_test(everything_is_wiped),
        cmocka_unit_test(limits),
        cmocka_unit_test(identity),
        cmocka_unit_test(what_is_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
