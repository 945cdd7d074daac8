/* SPDX-License-Identifier: MIT */
/* Redaction of a cloud's answer about keys. */
#include "unit.h"

#include "rotation/provider.h"

#define SECRET "NewSecret0Lz2gOa9iVd7Sq3yWe6rTn1"

static const struct cfr_view secrets[] = {{SECRET, sizeof SECRET - 1}};

static void what_is_shown(void **state)
{
    struct cfr_rotation_answer a = {.made = {.id = "AKIAIOSFODNN7EXAMPLE", .maker = "x" SECRET},
                                    .keys = {.key = {{.id = "AKIAIOSFODNN7EXAMPLE", .maker = SECRET}}, .count = 1},
                                    .caller = "arn:aws:iam::1:user/" SECRET,
                                    .denied = "iam:CreateAccessKey, " SECRET};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_grant_set_identity(&a.grant, cfr_view_of(SECRET " of robot"), NULL), 0);
    assert_int_equal(cfr_rotation_hide(&a, secrets, 1, 0, &err), 0);
    assert_string_equal(a.made.maker, "[removed]");
    assert_string_equal(a.keys.key[0].maker, "[removed]");
    assert_string_equal(a.caller, "[removed]");
    assert_string_equal(a.denied, "iam:CreateAccessKey, [removed]");
    assert_string_equal(a.grant.identity, "[removed] of robot");
    cfr_rotation_answer_free(&a);
}

static void ids(void **state)
{
    static const char *const bad[] = {SECRET, "x" SECRET "y", "cret0Lz2gOa9"};
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cfr_rotation_answer a = {.keys = {.count = 2}};

        (void)strcpy(a.made.id, bad[i]);
        assert_int_equal(cfr_rotation_hide(&a, secrets, 1, 0, &err), CFR_E_ANSWER);
        assert_string_equal(err.text, "the answer repeats a secret as the id of a key");
        a.made.id[0] = '\0';
        (void)strcpy(a.keys.key[1].id, bad[i]);
        assert_int_equal(cfr_rotation_hide(&a, secrets, 1, 0, &err), CFR_E_ANSWER);
    }
}

static void errors(void **state)
{
    struct cfr_rotation_answer a = {.made = {.id = SECRET}};
    struct cfr_err err = {0};

    (void)state;
    (void)cfr_err_set(&err, CFR_E_DENIED, "AccessDenied: %s may not", SECRET);
    assert_int_equal(cfr_rotation_hide(&a, secrets, 1, CFR_E_DENIED, &err), CFR_E_DENIED);
    assert_string_equal(err.text, "AccessDenied: [removed] may not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_shown), cmocka_unit_test(ids),
                                       cmocka_unit_test(errors)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
