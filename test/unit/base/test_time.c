/* SPDX-License-Identifier: MIT */
/* Time as text. */
#include "unit.h"

#include "base/time.h"

static void instants(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t unix_s;
    } cases[] = {
        {"1970-01-01T00:00:00Z", true, 0},
        {"2026-01-02T03:04:05Z", true, 1767323045},
        {"2026-01-02t03:04:05z", true, 1767323045},
        {"2026-01-02T03:04:05", true, 1767323045},
        {"2026-01-02T03:04:05.999999999Z", true, 1767323045},
        {"2026-01-02T05:04:05+02:00", true, 1767323045},
        {"2026-01-01T21:34:05-05:30", true, 1767323045},
        {"2024-02-29T00:00:00Z", true, 1709164800},
        {"2000-02-29T12:00:00Z", true, 951825600},
        {"2038-01-19T03:14:08Z", true, 2147483648},
        {"9999-12-31T23:59:59Z", true, 253402300799},
        {"1970-01-01T00:01:00+00:01", true, 0},
        {"1970-01-01T00:00:59+00:01", false, 0},
        {"9999-12-31T22:59:59-01:00", true, 253402300799},
        {"9999-12-31T23:00:00-01:00", false, 0},
        {"2016-12-31T23:59:60Z", true, 1483228800}, /* a leap second */
        {"2026-02-29T00:00:00Z", false, 0},
        {"2100-02-29T00:00:00Z", false, 0},
        {"2026-13-01T00:00:00Z", false, 0},
        {"2026-00-01T00:00:00Z", false, 0},
        {"2026-04-31T00:00:00Z", false, 0},
        {"2026-01-00T00:00:00Z", false, 0},
        {"2026-01-02T24:00:00Z", false, 0},
        {"2026-01-02T23:60:00Z", false, 0},
        {"2026-01-02T23:59:61Z", false, 0},
        {"1969-12-31T23:59:59Z", false, 0},
        {"2026-01-02", false, 0},
        {"2026-01-02T03:04", false, 0},
        {"2026-01-02T03:04:05.Z", false, 0},
        {"2026-01-02T03:04:05+0200", false, 0},
        {"2026-01-02T03:04:05+24:00", false, 0},
        {"2026-01-02T03:04:05Zx", false, 0},
        {" 2026-01-02T03:04:05Z", false, 0},
        {"20260102T030405Z", false, 0},
        {"1767323045", false, 0},
        {"", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t t = 0;

        if (cfr_time_parse(cfr_view_of(cases[i].text), &t) != cases[i].ok || t != cases[i].unix_s)
            fail_msg("%s: %lld", cases[i].text, (long long)t);
    }
}

static void formatting_is_the_inverse(void **state)
{
    char buf[CFR_TIME_RFC3339_MAX];

    (void)state;
    assert_string_equal(cfr_time_format(1767323045, buf), "2026-01-02T03:04:05Z");
    assert_string_equal(cfr_time_format(0, buf), "1970-01-01T00:00:00Z");
    assert_string_equal(cfr_time_format(-1, buf), "1970-01-01T00:00:00Z");
    assert_string_equal(cfr_time_format(INT64_MAX, buf), "9999-12-31T23:59:59Z");
    assert_string_equal(cfr_time_format(INT64_MIN, buf), "1970-01-01T00:00:00Z");
    for (int64_t t = 0; t < INT64_C(253402300799); t += 12345678901 / 3) {
        int64_t back = -1;

        assert_true(cfr_time_parse(cfr_view_of(cfr_time_format(t, buf)), &back));
        assert_int_equal(back, t);
    }
}

static void http_dates_written(void **state)
{
    char buf[CFR_TIME_HTTP_MAX];

    (void)state;
    assert_string_equal(cfr_time_format_http(1767323045, buf), "Fri, 02 Jan 2026 03:04:05 GMT");
    assert_string_equal(cfr_time_format_http(1709164800, buf), "Thu, 29 Feb 2024 00:00:00 GMT");
    assert_string_equal(cfr_time_format_http(-5, buf), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_string_equal(cfr_time_format_http(INT64_MAX, buf), "Fri, 31 Dec 9999 23:59:59 GMT");
}

static void http_dates(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t unix_s;
    } cases[] = {
        {"Fri, 02 Jan 2026 03:04:05 GMT", true, 1767323045},
        {" Fri, 02 Jan 2026 03:04:05 GMT\r\n", true, 1767323045},
        {"Thu, 29 Feb 2024 00:00:00 GMT", true, 1709164800},
        {"Fri, 30 Feb 2024 00:00:00 GMT", false, 0},
        {"Fri, 02 Jan 2026 03:04:05 UTC", false, 0},
        {"Fri, 02 jan 2026 03:04:05 GMT", false, 0},
        {"Friday, 02-Jan-26 03:04:05 GMT", false, 0},
        {"Fri Jan  2 03:04:05 2026", false, 0},
        {"120", false, 0},
        {"", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t t = 0;

        if (cfr_time_parse_http(cfr_view_of(cases[i].text), &t) != cases[i].ok || t != cases[i].unix_s)
            fail_msg("%s: %lld", cases[i].text, (long long)t);
    }
}

static void durations(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t ms;
    } cases[] = {
        {"0s", true, 0},
        {"90s", true, 90000},
        {"10m", true, 600000},
        {"1h30m", true, 5400000},
        {"2d3h4m5s6ms", true, 183845006},
        {"250ms", true, 250},
        {"1m500ms", true, 60500},
        {"3650d", true, INT64_C(315360000000)},
        {"3650d1ms", false, 0},
        {"3651d", false, 0},
        {"999999999999ms", false, 0},
        {"9999999999999s", false, 0},
        {"1m1h", false, 0},
        {"1h1h", false, 0},
        {"0", false, 0},
        {"10", false, 0},
        {"s", false, 0},
        {"1.5h", false, 0},
        {"-1s", false, 0},
        {"+1s", false, 0},
        {"1 s", false, 0},
        {"1s ", false, 0},
        {"1S", false, 0},
        {"1sec", false, 0},
        {"1w", false, 0},
        {"1h30", false, 0},
        {"", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ms = 0;

        if (cfr_time_parse_duration(cfr_view_of(cases[i].text), &ms) != cases[i].ok || ms != cases[i].ms)
            fail_msg("%s: %lld", cases[i].text, (long long)ms);
    }
}

static void words(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0 ms"},
        {850, "850 ms"},
        {1000, "1 s"},
        {1999, "1 s"},
        {59999, "59 s"},
        {60000, "1 min"},
        {61500, "1 min 1 s"},
        {7500000, "2 h 5 min"},
        {3600000, "1 h"},
        {86400000 * INT64_C(3), "3 d"},
        {86400000 * INT64_C(3) + 3600000, "3 d 1 h"},
        {-7500000, "-2 h 5 min"},
        {INT64_MIN, "-106751991167 d 7 h"},
        {INT64_MAX, "106751991167 d 7 h"},
    };
    char buf[CFR_TIME_WORDS_MAX];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(cfr_time_words(cases[i].ms, buf), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants),   cmocka_unit_test(formatting_is_the_inverse),
        cmocka_unit_test(http_dates), cmocka_unit_test(http_dates_written),
        cmocka_unit_test(durations),  cmocka_unit_test(words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
