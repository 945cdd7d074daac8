/* SPDX-License-Identifier: MIT */
/* The JSON reader, and that a document leaves no secret in freed memory. */
#include "unit.h"

#include "base/json.h"
#include "heap_watch.h"

#define MARK "FwoGZXIvYXdzEBYaDKExample"

static int setup(void **state)
{
    (void)state;
    cfr_json_setup();
    return 0;
}

static void values(void **state)
{
    struct cfr_json *doc = NULL;
    struct cfr_err err = {0};
    const char *const path[] = {"a", "b", NULL};
    const char *const nowhere[] = {"a", "x", "y", NULL};
    struct cfr_view text;
    int64_t i;
    double d;
    bool b;

    (void)state;
    assert_int_equal(
        cfr_json_parse(LITERAL(" {\"a\":{\"b\":\"x\\u00e9\"},\"l\":[1,2.5,true,null],\"A\":false}\n"), &doc, &err), 0);
    assert_true(cfr_json_is_object(doc));
    assert_true(cfr_json_string(cfr_json_path(doc, path), &text));
    assert_view(text, "x\xc3\xa9");
    assert_null(cfr_json_path(doc, nowhere));
    assert_null(cfr_json_get(doc, "L"));
    assert_true(cfr_json_bool(cfr_json_get(doc, "A"), &b));
    assert_false(b);
    assert_int_equal(cfr_json_count(cfr_json_get(doc, "l")), 4);
    assert_true(cfr_json_integer(cfr_json_at(cfr_json_get(doc, "l"), 0), &i));
    assert_int_equal(i, 1);
    assert_false(cfr_json_integer(cfr_json_at(cfr_json_get(doc, "l"), 1), &i));
    assert_true(cfr_json_number(cfr_json_at(cfr_json_get(doc, "l"), 1), &d));
    assert_true(d > 2.4 && d < 2.6);
    assert_null(cfr_json_at(cfr_json_get(doc, "l"), 4));
    assert_false(cfr_json_string(cfr_json_at(cfr_json_get(doc, "l"), 3), &text));
    assert_false(cfr_json_bool(cfr_json_at(cfr_json_get(doc, "l"), 0), &b));
    cfr_json_free(doc);
}

static void getters_accept_nothing(void **state)
{
    struct cfr_view text;
    int64_t i;
    double d;
    bool b;

    (void)state;
    assert_null(cfr_json_get(NULL, "a"));
    assert_null(cfr_json_at(NULL, 0));
    assert_int_equal(cfr_json_count(NULL), 0);
    assert_false(cfr_json_is_object(NULL));
    assert_false(cfr_json_is_array(NULL));
    assert_false(cfr_json_string(NULL, &text));
    assert_false(cfr_json_number(NULL, &d));
    assert_false(cfr_json_integer(NULL, &i));
    assert_false(cfr_json_bool(NULL, &b));
    cfr_json_free(NULL);
}

static void integers(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-5", true, -5},
        {"1767323045", true, 1767323045},
        {"1.767323045E9", true, 1767323045},
        {"9007199254740992", true, INT64_C(9007199254740992)},
        {"-9007199254740992", true, INT64_C(-9007199254740992)},
        {"9007199254740994", false, 0},
        {"1e300", false, 0},
        {"1e999", false, 0},
        {"0.5", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_json *doc = NULL;
        int64_t value = 0;

        assert_int_equal(cfr_json_parse(cfr_view_of(cases[i].text), &doc, NULL), 0);
        if (cfr_json_integer(doc, &value) != cases[i].ok || value != cases[i].value)
            fail_msg("%s", cases[i].text);
        cfr_json_free(doc);
    }
}

static void walking(void **state)
{
    struct cfr_json *doc = NULL;
    const struct cfr_json *v;

    (void)state;
    assert_int_equal(cfr_json_parse(LITERAL("{\"a\":null,\"b\":[1,{}],\"a\":\"x\"}"), &doc, NULL), 0);
    v = cfr_json_first(doc);
    assert_view(cfr_json_key(v), "a");
    assert_true(cfr_json_is_null(v));
    v = cfr_json_next(v);
    assert_view(cfr_json_key(v), "b");
    assert_false(cfr_json_is_null(v));
    assert_view(cfr_json_key(cfr_json_first(v)), "");
    assert_true(cfr_json_is_object(cfr_json_next(cfr_json_first(v))));
    assert_null(cfr_json_next(cfr_json_next(cfr_json_first(v))));
    v = cfr_json_next(v);
    assert_view(cfr_json_key(v), "a");
    assert_null(cfr_json_first(v)); /* a text has nothing inside */
    assert_null(cfr_json_next(v));
    assert_null(cfr_json_first(NULL));
    assert_null(cfr_json_next(NULL));
    assert_view(cfr_json_key(NULL), "");
    assert_false(cfr_json_is_null(NULL));
    cfr_json_free(doc);
}

static void bad_documents_are_refused(void **state)
{
    static const struct cfr_view cases[] = {
        {NULL, 0},
        {"", 0},
        {" \n", 2},
        {"{", 1},
        {"{\"a\":1", 6},
        {"{\"a\" 1}", 7},
        {"[1,]", 4},
        {"{} {}", 5},
        {"{}x", 3},
        {"'a'", 3},
        {"nul", 3},
        {"\"a", 2},
        {"\"\\ud800\"", 8},
        {"\"\\u12g4\"", 8},
        {"\"a\0b\"", 5},
        {"\"a\\u0000b\"", 10},
        {"{\"\\u0000\":1}", 12},
        {"\"\\\\\\u0000\"", 10},
        {"{}\0", 3},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_json *doc = (struct cfr_json *)(void *)&doc;
        struct cfr_err err = {0};

        if (cfr_json_parse(cases[i], &doc, &err) != CFR_E_ANSWER || doc != NULL || err.text[0] == '\0')
            fail_msg("case %zu", i);
    }
}

static void an_escaped_backslash_is_no_nul(void **state)
{
    struct cfr_json *doc = NULL;
    struct cfr_view text;

    (void)state;
    assert_int_equal(cfr_json_parse(LITERAL("\"\\\\u0000\""), &doc, NULL), 0);
    assert_true(cfr_json_string(doc, &text));
    assert_view(text, "\\u0000");
    cfr_json_free(doc);
}

static void deep_nesting_is_refused(void **state)
{
    char text[5000];
    struct cfr_json *doc = NULL;

    (void)state;
    memset(text, '[', sizeof text);
    assert_int_equal(cfr_json_parse((struct cfr_view){text, sizeof text}, &doc, NULL), CFR_E_ANSWER);
    assert_null(doc);
}

static void the_whole_text_may_lack_a_nul(void **state)
{
    char *text = malloc(4);
    struct cfr_json *doc = NULL;

    (void)state;
    assert_non_null(text);
    memcpy(text, "1234", 4);
    assert_int_equal(cfr_json_parse((struct cfr_view){text, 4}, &doc, NULL), 0);
    cfr_json_free(doc);
    memcpy(text, "tru\"", 4);
    assert_int_equal(cfr_json_parse((struct cfr_view){text, 3}, &doc, NULL), CFR_E_ANSWER);
    free(text);
}

static void freed_documents_leave_nothing(void **state)
{
    struct cfr_json *doc = NULL;

    (void)state;
    heap_watch(MARK);
    assert_int_equal(cfr_json_parse(LITERAL("{\"" MARK "\":[\"" MARK "\",{\"a\":\"" MARK "\"}]}"), &doc, NULL), 0);
    cfr_json_free(doc);
    assert_true(heap_frees >= 6);
    assert_int_equal(cfr_json_parse(LITERAL("{\"" MARK "\":[\"" MARK "\",{\"a\":\"" MARK "\"}"), &doc, NULL),
                     CFR_E_ANSWER);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
}

static void short_memory_is_told_apart(void **state)
{
    struct cfr_json *doc = NULL;
    size_t n = 0;
    int rc;

    (void)state;
    do {
        heap_fail_at = ++n;
        rc = cfr_json_parse(LITERAL("{\"a\":[1,\"b\",{\"c\":null}]}"), &doc, NULL);
        assert_true(rc == 0 || rc == CFR_E_NOMEM);
        cfr_json_free(doc);
    } while (rc != 0);
    assert_true(n > 5);
    heap_fail_at = 0;
}

/* Commas and brackets within strings do not count. */
static void values_are_counted(void **state)
{
    static char text[CFR_JSON_MEMORY_MAX];
    /* "[0,0,...,0]" of COUNT numbers; the list is a value, too. */
    size_t most = CFR_JSON_MEMORY_MAX / (CFR_JSON_VALUE_SIZE + 2);
    struct cfr_json *doc;

    (void)state;
    for (size_t count = most - 2; count <= most + 1; count++) {
        for (size_t i = 0; i < count; i++)
            memcpy(text + 1 + 2 * i, "0,", 2);
        text[0] = '[';
        text[2 * count] = ']';
        assert_int_equal(cfr_json_parse((struct cfr_view){text, 2 * count + 1}, &doc, NULL),
                         count < most ? 0 : CFR_E_LIMIT);
        cfr_json_free(doc);
        assert_int_equal(cfr_json_parse_own((struct cfr_view){text, 2 * count + 1}, &doc, NULL), 0);
        cfr_json_free(doc);
    }
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = ",[{a"[i % 4];
    text[0] = '"';
    for (size_t n = sizeof text - CFR_JSON_VALUE_SIZE; n <= sizeof text - CFR_JSON_VALUE_SIZE + 1; n++) {
        text[n - 1] = '"';
        assert_int_equal(cfr_json_parse((struct cfr_view){text, n}, &doc, NULL),
                         n <= sizeof text - CFR_JSON_VALUE_SIZE ? 0 : CFR_E_LIMIT);
        cfr_json_free(doc);
        text[n - 1] = 'a';
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(values_are_counted),
        cmocka_unit_test(getters_accept_nothing),
        cmocka_unit_test(integers),
        cmocka_unit_test(walking),
        cmocka_unit_test(bad_documents_are_refused),
        cmocka_unit_test(an_escaped_backslash_is_no_nul),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(the_whole_text_may_lack_a_nul),
        cmocka_unit_test(freed_documents_leave_nothing),
        cmocka_unit_test(short_memory_is_told_apart),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
