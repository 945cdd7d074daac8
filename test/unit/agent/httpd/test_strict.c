/* SPDX-License-Identifier: MIT */
/* Heads as libmicrohttpd leaves them in its buffer, and whether they can be read in one way only. */
#include "agent/httpd/strict_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#define LINE "GET\0/a\0HTTP/1.1\0\0"

/* Fields are `name\0value`, given by where they begin in TEXT, of N bytes without the one that C adds. */
static const char *check(const char *text, size_t n, bool in_place, const size_t *fields)
{
    struct cfr_httpd_strict s = {.next = NULL};

    cfr_httpd_strict_line(&s, in_place, text, text + 4, text + 6, text + 7);
    for (; *fields != 0; fields += 2)
        cfr_httpd_strict_field(&s, text + fields[0], text + fields[1]);
    return cfr_httpd_strict_end(&s, text + n);
}

#define CHECK(text, in_place, ...) check(text, sizeof(text) - 1, in_place, (const size_t[]){__VA_ARGS__, 0})

static void test_a_plain_head(void **state)
{
    (void)state;
    assert_null(CHECK(LINE "Host\0 a\0\0\0\0", true, 17, 23));
    assert_null(CHECK(LINE "Host\0a\0\0X\0\t b\0\0\0\0", true, 17, 22, 25, 29));
}

static void test_ends_of_lines(void **state)
{
    static const char why[] = "a line of the head does not end with CR and LF, is folded, or has a NUL";

    (void)state;
    assert_string_equal(CHECK(LINE "Host\0 a\0X\0b\0\0\0\0", true, 17, 23, 25, 27), why);      /* LF alone */
    assert_string_equal(CHECK(LINE "Host\0 a\0y\0\0X\0b\0\0\0\0", true, 17, 23, 28, 30), why); /* a NUL in the value */
    assert_string_equal(CHECK(LINE "Host\0 a\0\0\0", true, 17, 23), why);                      /* LF alone at the end */
    assert_string_equal(CHECK(LINE "Host\0 a\0\0\0\0\0", true, 17, 23), why);                  /* a NUL at the end */
    assert_string_equal(CHECK("GET\0/a\0HTTP/1.1\0Host\0a\0\0\0\0", true, 16, 21), why);
    /* Where the layout of the buffer is not known, the library has looked at it. */
    assert_null(CHECK(LINE "Host\0 a\0X\0b\0\0\0\0", false, 17, 23, 25, 27));
}

static void test_fields(void **state)
{
    static const struct {
        const char *name, *value, *other, *its, *why;
    } cases[] = {
        {"Content-Length", "0", "content-length", "0", "Content-Length is given twice"},
        {"Host", "a", "host", "a", "Host is given twice"},
        {"Transfer-Encoding", "chunked", "X", "", "Transfer-Encoding is not supported; send Content-Length"},
        {"Content-Length", "0", "transfer-encoding", "gzip", "Transfer-Encoding is not supported; send Content-Length"},
        {"X ", "a", "Y", "b", "a header's name has a character that is not allowed there"},
        {"", "a", "Y", "b", "a header's name has a character that is not allowed there"},
        {"X", "a\rb", "Y", "b", "a header's value has a control character"},
        {"X", "\177", "Y", "b", "a header's value has a control character"},
        {"X", "a\tb\351", "Y", NULL, NULL},
        {"Content-Length", "0", "Host", "a", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cfr_httpd_strict s = {.next = NULL};
        const char *why;

        cfr_httpd_strict_field(&s, cases[i].name, cases[i].value);
        cfr_httpd_strict_field(&s, cases[i].other, cases[i].its);
        why = cfr_httpd_strict_end(&s, NULL);
        if ((why == NULL) != (cases[i].why == NULL) || (why != NULL && strcmp(why, cases[i].why) != 0))
            fail_msg("%s: %s gives %s", cases[i].name, cases[i].value, why != NULL ? why : "no error");
    }
}

static void test_lines(void **state)
{
    static const char spaces[] = "GET\0 /a\0HTTP/1.1";
    static const char query[] = "GET\0/a\0b\001\0HTTP/1.1";
    struct cfr_httpd_strict s = {.next = NULL};

    (void)state;
    cfr_httpd_strict_line(&s, true, spaces, spaces + 5, spaces + 7, spaces + 8);
    assert_non_null(s.why);
    s = (struct cfr_httpd_strict){.next = NULL};
    cfr_httpd_strict_line(&s, true, query, query + 4, query + 9, query + 10);
    assert_string_equal(s.why, "the path or query has a control character");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_head),
        cmocka_unit_test(test_ends_of_lines),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
