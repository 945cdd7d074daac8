/* SPDX-License-Identifier: MIT */
/* base64 and base64url: strict decoding. */
#include "unit.h"

#include "base/base64.h"

static void decodes(void **state)
{
    static const struct {
        const char *in;
        struct cfr_view out;
    } cases[] = {
        {"", {"", 0}},           {"Zg", {"f", 1}},          {"Zm8", {"fo", 2}},          {"Zm9v", {"foo", 3}},
        {"Zm9vYg", {"foob", 4}}, {"Zm9vYmE", {"fooba", 5}}, {"Zm9vYmFy", {"foobar", 6}}, {"-_8", {"\xfb\xff", 2}},
        {"AAAA", {"\0\0\0", 3}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_secret out;
        struct cfr_err err = {0};

        cfr_secret_init(&out, 64);
        assert_int_equal(cfr_base64url_decode(cfr_view_of(cases[i].in), &out, &err), 0);
        assert_true(cfr_view_eq(cfr_secret_view(&out), cases[i].out));
        cfr_secret_free(&out);
    }
}

static void refuses(void **state)
{
    static const struct cfr_view cases[] = {
        {"A", 1},  {"AAAAA", 5}, {"Zg==", 4}, {"Zm8=", 4},  {"+/8", 3},      {"Zm 9", 4},
        {"Zh", 2}, {"Zm9", 3},   {"Zg\n", 3}, {"Zm\0v", 4}, {"\xc3\xa9", 2}, {"AAAA.", 5},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_secret out;
        struct cfr_err err = {0};

        cfr_secret_init(&out, 64);
        assert_int_equal(cfr_secret_append_str(&out, "before", &err), 0);
        if (cfr_base64url_decode(cases[i], &out, &err) != CFR_E_TOKEN)
            fail_msg("case %zu", i);
        assert_int_equal(err.code, CFR_E_TOKEN);
        /* What was there is still there, and still ends with a NUL. */
        assert_string_equal(out.p, "before");
        assert_int_equal(out.len, 6);
        assert_int_equal(cfr_base64url_decode(cases[i], &out, NULL), CFR_E_TOKEN);
        cfr_secret_free(&out);
    }
}

/* RFC 4648, 10, and what differs between the alphabets. */
static void both_ways(void **state)
{
    static const struct {
        struct cfr_view plain;
        const char *base64;
        const char *base64url;
    } cases[] = {
        {{"", 0}, "", ""},
        {{"f", 1}, "Zg==", "Zg"},
        {{"fo", 2}, "Zm8=", "Zm8"},
        {{"foo", 3}, "Zm9v", "Zm9v"},
        {{"foob", 4}, "Zm9vYg==", "Zm9vYg"},
        {{"fooba", 5}, "Zm9vYmE=", "Zm9vYmE"},
        {{"foobar", 6}, "Zm9vYmFy", "Zm9vYmFy"},
        {{"\xfb\xff\xfe\0", 4}, "+//+AA==", "-__-AA"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_secret out;

        cfr_secret_init(&out, 64);
        assert_int_equal(cfr_base64_encode(cases[i].plain, &out, NULL), 0);
        assert_view(cfr_secret_view(&out), cases[i].base64);
        cfr_secret_free(&out);
        assert_int_equal(cfr_base64url_encode(cases[i].plain, &out, NULL), 0);
        assert_view(cfr_secret_view(&out), cases[i].base64url);
        cfr_secret_free(&out);
        assert_int_equal(cfr_base64_decode(cfr_view_of(cases[i].base64), &out, NULL), 0);
        assert_true(cfr_view_eq(cfr_secret_view(&out), cases[i].plain));
        cfr_secret_free(&out);
    }
}

static void refuses_plain(void **state)
{
    static const struct cfr_view cases[] = {
        {"A", 1},    {"Zg", 2},   {"Zm9", 3},  {"Zg=", 3},  {"Zh==", 4},  {"Zm9=", 4},  {"====", 4}, {"A===", 4},
        {"=AAA", 4}, {"AA=A", 4}, {"-_8=", 4}, {"Zm 9", 4}, {"Zg\n=", 4}, {"Zm\0v", 4}, {"=", 1},    {"Zg==Zg==", 8},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_secret out;
        struct cfr_err err = {0};

        cfr_secret_init(&out, 64);
        assert_int_equal(cfr_secret_append_str(&out, "before", &err), 0);
        if (cfr_base64_decode(cases[i], &out, &err) != CFR_E_ANSWER)
            fail_msg("case %zu", i);
        assert_string_equal(out.p, "before");
        assert_int_equal(out.len, 6);
        cfr_secret_free(&out);
    }
}

static void keeps_the_limit(void **state)
{
    struct cfr_secret out;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&out, 2);
    assert_int_equal(cfr_base64url_decode(LITERAL("Zm8"), &out, &err), 0);
    assert_int_equal(cfr_base64url_decode(LITERAL("Zg"), &out, &err), CFR_E_LIMIT);
    assert_int_equal(cfr_base64url_decode(LITERAL("Zg"), &out, NULL), CFR_E_LIMIT);
    assert_view(cfr_secret_view(&out), "fo");
    cfr_secret_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes),       cmocka_unit_test(refuses),         cmocka_unit_test(both_ways),
        cmocka_unit_test(refuses_plain), cmocka_unit_test(keeps_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
