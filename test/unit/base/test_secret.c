/* SPDX-License-Identifier: MIT */
/* Secret bytes: their limit, and that no copy stays in freed memory. */
#include "unit.h"

#include "base/secret.h"
#include "heap_watch.h"

#include <stdio.h>

#define MARK "wJalrXUtnFEMI/K7MDENG"

static void free_wipes_the_whole_capacity(void **state)
{
    struct cfr_secret s;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&s, 1000);
    assert_int_equal(cfr_secret_append_str(&s, MARK, &err), 0);
    heap_watch(MARK);
    cfr_secret_free(&s);
    assert_int_equal(heap_frees, 1);
    assert_int_equal(heap_leaks, 0);
    assert_null(s.p);
    assert_int_equal(s.limit, 1000);
    heap_watch(NULL);
}

static void free_wipes_what_was_cut_off_too(void **state)
{
    struct cfr_secret s;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&s, 1000);
    assert_int_equal(cfr_secret_append_str(&s, "0123456789" MARK, &err), 0);
    s.len = 3;
    heap_watch(MARK);
    cfr_secret_free(&s);
    assert_int_equal(heap_frees, 1);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
}

static void growing_leaves_no_copy(void **state)
{
    struct cfr_secret s;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&s, 100000);
    heap_watch(MARK);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(cfr_secret_append_str(&s, MARK, &err), 0);
    assert_int_equal(s.len, 2000 * strlen(MARK));
    assert_int_equal(s.p[s.len], '\0');
    assert_true(heap_frees >= 5);
    cfr_secret_free(&s);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
}

static void the_watch_itself_sees_a_leak(void **state)
{
    /* Through a pointer: of free() itself the compiler knows that it reads nothing. */
    void (*volatile release)(void *) = free;
    char *p = malloc(64);

    (void)state;
    assert_non_null(p);
    memcpy(p, MARK, sizeof MARK);
    heap_watch(MARK);
    release(p);
    assert_int_equal(heap_leaks, 1);
    heap_watch(NULL);
}

static void the_limit_holds_and_leaves_the_secret_as_it_was(void **state)
{
    struct cfr_secret s;
    struct cfr_err err = {0};
    struct cfr_secret zero = {0};

    (void)state;
    assert_int_equal(cfr_secret_append_str(&zero, "x", &err), CFR_E_LIMIT);
    assert_int_equal(cfr_secret_append_str(&zero, "", &err), 0);
    cfr_secret_init(&s, 8);
    assert_int_equal(cfr_secret_append_str(&s, "12345", &err), 0);
    assert_int_equal(cfr_secret_append_str(&s, "6789", &err), CFR_E_LIMIT);
    assert_contains(err.text, "8 bytes");
    assert_view(cfr_secret_view(&s), "12345");
    assert_int_equal(cfr_secret_append_str(&s, "678", NULL), 0);
    assert_int_equal(cfr_secret_append_str(&s, "9", NULL), CFR_E_LIMIT);
    assert_view(cfr_secret_view(&s), "12345678");
    assert_null(cfr_secret_reserve(&s, SIZE_MAX, &err));
    assert_int_equal(err.code, CFR_E_LIMIT);
    cfr_secret_free(&s);
    cfr_secret_init(&s, SIZE_MAX);
    assert_null(cfr_secret_reserve(&s, SIZE_MAX - 1, &err));
    assert_int_equal(err.code, CFR_E_NOMEM);
    assert_int_equal(cfr_secret_append_str(&s, "ok", &err), 0);
    cfr_secret_free(&s);
}

static void short_memory_leaves_the_secret_as_it_was(void **state)
{
    struct cfr_secret s;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&s, 1000);
    heap_fail_at = 1;
    assert_int_equal(cfr_secret_append_str(&s, "x", &err), CFR_E_NOMEM);
    assert_int_equal(cfr_secret_append_str(&s, MARK, &err), 0);
    heap_fail_at = 1;
    assert_null(cfr_secret_reserve(&s, 500, &err));
    heap_fail_at = 0;
    assert_view(cfr_secret_view(&s), MARK);
    cfr_secret_free(&s);
}

static void a_large_one_grows_and_may_start_again(void **state)
{
    enum { LINES = 60000 };
    const size_t line = strlen(MARK);
    struct cfr_secret s;
    struct cfr_secret other;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&s, LINES * line);
    cfr_secret_init(&other, LINES * line);
    heap_watch(MARK);
    for (int i = 0; i < LINES; i++)
        assert_int_equal(cfr_secret_append_str(&s, MARK, &err), 0);
    assert_int_equal(cfr_secret_append_str(&s, "x", &err), CFR_E_LIMIT);
    for (size_t i = 0; i < LINES; i++)
        assert_memory_equal(s.p + i * line, MARK, line);
    assert_int_equal(s.p[s.len], '\0');
    cfr_secret_move(&other, &s);
    assert_int_equal(cfr_secret_append_str(&s, MARK, &err), 0);
    cfr_secret_free(&s);
    cfr_secret_free(&other);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
}

static void reserve_clear_and_move(void **state)
{
    struct cfr_secret a;
    struct cfr_secret b;
    struct cfr_err err = {0};
    char *to;

    (void)state;
    cfr_secret_init(&a, 100);
    cfr_secret_init(&b, 7);
    to = cfr_secret_reserve(&a, 5, &err);
    assert_non_null(to);
    memcpy(to, "hello", 5);
    cfr_secret_grown(&a, 5);
    assert_view(cfr_secret_view(&a), "hello");
    assert_int_equal(cfr_secret_append_str(&b, &MARK[15], &err), 0);
    heap_watch(&MARK[15]);
    cfr_secret_move(&b, &a);
    assert_int_equal(heap_frees, 1);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
    assert_view(cfr_secret_view(&b), "hello");
    assert_null(a.p);
    cfr_secret_move(&b, &b);
    assert_view(cfr_secret_view(&b), "hello");
    to = b.p;
    cfr_secret_clear(&b);
    assert_int_equal(b.len, 0);
    assert_ptr_equal(b.p, to);
    assert_memory_equal(b.p, "\0\0\0\0\0", 5);
    cfr_secret_free(&b);
    cfr_secret_free(&b);
    cfr_secret_clear(&b);
}

static void json_and_percent(void **state)
{
    struct cfr_secret s;
    struct cfr_err err = {0};

    (void)state;
    cfr_secret_init(&s, 200);
    assert_int_equal(cfr_secret_append_json(&s, LITERAL("a\"b\\c\n\x01\x7f\xc3\xa9/"), &err), 0);
    assert_view(cfr_secret_view(&s), "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\xc3\xa9/\"");
    cfr_secret_clear(&s);
    assert_int_equal(cfr_secret_append_percent(&s, LITERAL("aZ09-._~ /+=\xff\0"), &err), 0);
    assert_view(cfr_secret_view(&s), "aZ09-._~%20%2F%2B%3D%FF%00");
    cfr_secret_free(&s);
    cfr_secret_init(&s, 4);
    assert_int_equal(cfr_secret_append_json(&s, LITERAL("abcd"), &err), CFR_E_LIMIT);
    assert_int_equal(cfr_secret_append_percent(&s, LITERAL("////"), &err), CFR_E_LIMIT);
    cfr_secret_free(&s);
}

/* How C is written, by the rule itself. */
static struct cfr_view escape_of(unsigned char c, char out[8])
{
    int n;

    if (c == '"' || c == '\\')
        n = snprintf(out, 8, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
        n = snprintf(out, 8, "\\u%04x", c);
    else
        n = snprintf(out, 8, "%c", c);
    return (struct cfr_view){out, (size_t)n};
}

/* Eight bytes are looked at together: each byte at each place of two such steps and a rest. */
static void escapes_each_byte_at_each_place(void **state)
{
    struct cfr_secret s;
    struct cfr_secret expected;

    (void)state;
    cfr_secret_init(&s, 200);
    cfr_secret_init(&expected, 200);
    for (unsigned c = 0; c < 256; c++) {
        for (size_t at = 0; at < 19; at++) {
            char text[19];
            char out[8];

            memset(text, 'x', sizeof text);
            text[at] = (char)c;
            cfr_secret_clear(&s);
            cfr_secret_clear(&expected);
            assert_int_equal(cfr_secret_append_json(&s, (struct cfr_view){text, sizeof text}, NULL), 0);
            (void)cfr_secret_append_str(&expected, "\"", NULL);
            (void)cfr_secret_append(&expected, (struct cfr_view){text, at}, NULL);
            (void)cfr_secret_append(&expected, escape_of((unsigned char)c, out), NULL);
            (void)cfr_secret_append(&expected, (struct cfr_view){text + at + 1, sizeof text - at - 1}, NULL);
            (void)cfr_secret_append_str(&expected, "\"", NULL);
            assert_true(cfr_view_eq(cfr_secret_view(&s), cfr_secret_view(&expected)));
        }
    }
    cfr_secret_free(&s);
    cfr_secret_free(&expected);
}

static void equal(void **state)
{
    (void)state;
    assert_true(cfr_secret_equal(LITERAL("abc"), LITERAL("abc")));
    assert_true(cfr_secret_equal(LITERAL(""), (struct cfr_view){NULL, 0}));
    assert_false(cfr_secret_equal(LITERAL("abc"), LITERAL("abd")));
    assert_false(cfr_secret_equal(LITERAL("abc"), LITERAL("ab")));
    assert_false(cfr_secret_equal(LITERAL("ab"), LITERAL("abc")));
    assert_false(cfr_secret_equal(LITERAL("abab"), LITERAL("ab")));
    assert_false(cfr_secret_equal(LITERAL("abc"), LITERAL("")));
    assert_false(cfr_secret_equal(LITERAL(""), LITERAL("abc")));
    assert_false(cfr_secret_equal(LITERAL("\0"), LITERAL("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_wipes_the_whole_capacity),
        cmocka_unit_test(free_wipes_what_was_cut_off_too),
        cmocka_unit_test(growing_leaves_no_copy),
        cmocka_unit_test(the_watch_itself_sees_a_leak),
        cmocka_unit_test(the_limit_holds_and_leaves_the_secret_as_it_was),
        cmocka_unit_test(short_memory_leaves_the_secret_as_it_was),
        cmocka_unit_test(a_large_one_grows_and_may_start_again),
        cmocka_unit_test(reserve_clear_and_move),
        cmocka_unit_test(json_and_percent),
        cmocka_unit_test(escapes_each_byte_at_each_place),
        cmocka_unit_test(equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
