/* SPDX-License-Identifier: MIT */
/* Which errors are the same as the last one. */
#include "unit.h"

#include "agent/loop/log_once.h"

static bool is_news(struct cfr_log_once *last, int code, const char *text)
{
    struct cfr_err err = {0};

    (void)cfr_err_set(&err, code, "%s", text);
    return cfr_log_once_is_news(last, &err);
}

static void the_same_error_is_news_once(void **state)
{
    struct cfr_log_once last = {0};

    (void)state;
    assert_true(is_news(&last, CFR_E_DENIED, "AccessDenied: no"));
    assert_false(is_news(&last, CFR_E_DENIED, "AccessDenied: no"));
    assert_true(is_news(&last, CFR_E_REJECTED, "AccessDenied: no"));
    assert_true(is_news(&last, CFR_E_REJECTED, "AccessDenied: not"));
    assert_true(is_news(&last, CFR_E_REJECTED, "AccessDenied: no"));
    last = (struct cfr_log_once){0};
    assert_true(is_news(&last, CFR_E_REJECTED, "AccessDenied: no"));
}

static void words_with_digits_are_not_compared(void **state)
{
    struct cfr_log_once last = {0};

    (void)state;
    assert_true(is_news(&last, CFR_E_NET, "request df83ab51 took 30 s (HTTP 503)"));
    assert_false(is_news(&last, CFR_E_NET, "request 19a took 7 s (HTTP 502)"));
    assert_true(is_news(&last, CFR_E_NET, "request 19a took 7 s"));
    assert_true(is_news(&last, CFR_E_NET, "took request 19a 7 s"));
    /* Where the words begin and end counts. */
    assert_true(is_news(&last, CFR_E_NET, "ab c"));
    assert_true(is_news(&last, CFR_E_NET, "a bc"));
    assert_true(is_news(&last, CFR_E_NET, ""));
    assert_false(is_news(&last, CFR_E_NET, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_error_is_news_once),
        cmocka_unit_test(words_with_digits_are_not_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
