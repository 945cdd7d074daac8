/* SPDX-License-Identifier: MIT */
/* Growing strings. */
#include "unit.h"

#include "base/str.h"

static void grows_and_stays_terminated(void **state)
{
    struct cfr_str s = {.limit = 100000};

    (void)state;
    assert_int_equal(cfr_str_view(&s).n, 0);
    for (int i = 0; i < 5000; i++)
        cfr_str_addf(&s, "%04d", i);
    assert_false(s.failed);
    assert_int_equal(s.len, 20000);
    assert_int_equal(strlen(s.p), 20000);
    assert_memory_equal(s.p + 4 * 1234, "1234", 4);
    cfr_str_free(&s);
    assert_null(s.p);
    assert_int_equal(s.limit, 100000);
    cfr_str_addz(&s, "again");
    assert_string_equal(s.p, "again");
    cfr_str_free(&s);
}

static void the_limit_is_sticky(void **state)
{
    struct cfr_str s = {.limit = 5};

    (void)state;
    cfr_str_addz(&s, "12345");
    assert_false(s.failed);
    cfr_str_addz(&s, "6");
    assert_true(s.failed);
    assert_string_equal(s.p, "12345");
    cfr_str_addz(&s, "");
    cfr_str_addf(&s, "%s", "");
    assert_true(s.failed);
    cfr_str_free(&s);
    assert_false(s.failed);
    /* There would be room in what is allocated. */
    cfr_str_addf(&s, "%s", "1234");
    cfr_str_addf(&s, "%d", 56);
    assert_true(s.failed);
    assert_string_equal(s.p, "1234");
    cfr_str_free(&s);
    cfr_str_addf(&s, "%s", "123456");
    assert_true(s.failed);
    cfr_str_free(&s);
}

static void nothing_is_still_a_string(void **state)
{
    struct cfr_str s = {.limit = 0};

    (void)state;
    cfr_str_addz(&s, "");
    cfr_str_addz(&s, NULL);
    assert_false(s.failed);
    assert_string_equal(s.p, "");
    cfr_str_free(&s);
}

static void json_is_escaped_and_valid_utf8(void **state)
{
    static const struct {
        struct cfr_view in;
        const char *out;
    } cases[] = {
        {{NULL, 0}, "null"},
        {{"", 0}, "\"\""},
        {{"a\"\\/b", 5}, "\"a\\\"\\\\/b\""},
        {{"\0\x1f\x7f\n", 4}, "\"\\u0000\\u001f\\u007f\\u000a\""},
        {{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91", 9}, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91\""},
        {{"a\xc2\x9b\xc2\xa0", 5}, "\"a\\u009b\xc2\xa0\""}, /* C1 is escaped */
        {{"\xe2\x80\xae\xf3\xa0\x81\x81\xf4\x8f\xbf\xbf", 11},
         "\"\\u202e\\udb40\\udc41\\udbff\\udfff\""}, /* and what is not seen */
        {{"\xff\xfe", 2}, "\"\\ufffd\\ufffd\""},
        {{"\xc0\x80", 2}, "\"\\ufffd\\ufffd\""},            /* overlong */
        {{"\xed\xa0\x80", 3}, "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
        {{"\xf4\x90\x80\x80", 4}, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {{"a\xe2\x82", 3}, "\"a\\ufffd\\ufffd\""}, /* cut */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_str s = {.limit = 200};

        cfr_str_add_json(&s, cases[i].in);
        assert_string_equal(s.p, cases[i].out);
        cfr_str_free(&s);
    }
}

static void shown(void **state)
{
    struct cfr_str s = {.limit = 20};

    (void)state;
    cfr_str_add_shown(&s, cfr_view_of("a\x1b\x9b"), 3);
    cfr_str_add_shown(&s, (struct cfr_view){NULL, 0}, 3);
    cfr_str_add_shown(&s, cfr_view_of("1234567"), 3);
    assert_string_equal(s.p, "a??123...");
    assert_int_equal(s.len, 9);
    cfr_str_add_shown(&s, cfr_view_of("123456789012"), 20);
    assert_true(s.failed);
    cfr_str_free(&s);
}

static void dup(void **state)
{
    char *p = cfr_str_dup(LITERAL("a\0b"));

    (void)state;
    assert_non_null(p);
    assert_memory_equal(p, "a\0b", 4);
    free(p);
    p = cfr_str_dup((struct cfr_view){NULL, 0});
    assert_string_equal(p, "");
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_stays_terminated),
        cmocka_unit_test(the_limit_is_sticky),
        cmocka_unit_test(nothing_is_still_a_string),
        cmocka_unit_test(json_is_escaped_and_valid_utf8),
        cmocka_unit_test(shown),
        cmocka_unit_test(dup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
