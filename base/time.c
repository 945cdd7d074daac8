/* SPDX-License-Identifier: MIT */
/* Parsers and writers of times and durations. */
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define YEAR_9999_END_S INT64_C(253402300799)

static bool digits(struct cfr_view *t, size_t n, int *out)
{
    int v = 0;

    if (t->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (t->p[i] < '0' || t->p[i] > '9')
            return false;
        v = v * 10 + (t->p[i] - '0');
    }
    t->p += n;
    t->n -= n;
    *out = v;
    return true;
}

static bool literal(struct cfr_view *t, char c)
{
    if (t->n == 0 || t->p[0] != c)
        return false;
    t->p++;
    t->n--;
    return true;
}

static bool either(struct cfr_view *t, char a, char b)
{
    return literal(t, a) || literal(t, b);
}

static bool days_fit(int year, int month, int day)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    if (year < 1970 || month < 1 || month > 12 || day < 1)
        return false;
    return day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static bool clock_fits(const struct tm *tm)
{
    return tm->tm_hour <= 23 && tm->tm_min <= 59 && tm->tm_sec <= 60;
}

/* An offset such as +02:00, in seconds. */
static bool parse_offset(struct cfr_view *t, int64_t *offset_s)
{
    int sign;
    int h;
    int m;

    *offset_s = 0;
    if (t->n == 0 || either(t, 'Z', 'z'))
        return true;
    sign = t->p[0] == '-' ? -1 : 1;
    if (!either(t, '+', '-') || !digits(t, 2, &h) || !literal(t, ':') || !digits(t, 2, &m) || h > 23 || m > 59)
        return false;
    *offset_s = sign * (INT64_C(3600) * h + INT64_C(60) * m);
    return true;
}

bool cfr_time_parse(struct cfr_view text, int64_t *unix_s)
{
    struct cfr_view t = text;
    struct tm tm = {0};
    int year;
    int64_t offset_s;
    int64_t at_s;

    if (!digits(&t, 4, &year) || !literal(&t, '-') || !digits(&t, 2, &tm.tm_mon) || !literal(&t, '-') ||
        !digits(&t, 2, &tm.tm_mday) || !(either(&t, 'T', 't') || literal(&t, ' ')) || !digits(&t, 2, &tm.tm_hour) ||
        !literal(&t, ':') || !digits(&t, 2, &tm.tm_min) || !literal(&t, ':') || !digits(&t, 2, &tm.tm_sec))
        return false;
    if (literal(&t, '.')) {
        int any;

        if (!digits(&t, 1, &any))
            return false;
        while (digits(&t, 1, &any))
            ;
    }
    if (!parse_offset(&t, &offset_s) || t.n != 0 || !days_fit(year, tm.tm_mon, tm.tm_mday) || !clock_fits(&tm))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon -= 1;
    at_s = (int64_t)timegm(&tm) - offset_s;
    /* The offset may lead out of the years. */
    if (at_s < 0 || at_s > YEAR_9999_END_S)
        return false;
    *unix_s = at_s;
    return true;
}

static void put_digits(char *to, size_t n, int value)
{
    while (n != 0) {
        to[--n] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* In every answer of the endpoints, so that it must not take strftime's time. */
char *cfr_time_format(int64_t unix_s, char buf[CFR_TIME_RFC3339_MAX])
{
    time_t t = (time_t)(unix_s < 0 ? 0 : unix_s > YEAR_9999_END_S ? YEAR_9999_END_S : unix_s);
    struct tm tm;

    (void)gmtime_r(&t, &tm);
    memcpy(buf, "0000-00-00T00:00:00Z", sizeof "0000-00-00T00:00:00Z");
    put_digits(buf, 4, tm.tm_year + 1900);
    put_digits(buf + 5, 2, tm.tm_mon + 1);
    put_digits(buf + 8, 2, tm.tm_mday);
    put_digits(buf + 11, 2, tm.tm_hour);
    put_digits(buf + 14, 2, tm.tm_min);
    put_digits(buf + 17, 2, tm.tm_sec);
    return buf;
}

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* strftime would name day and month in the locale's language. */
char *cfr_time_format_http(int64_t unix_s, char buf[CFR_TIME_HTTP_MAX])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    time_t t = (time_t)(unix_s < 0 ? 0 : unix_s > YEAR_9999_END_S ? YEAR_9999_END_S : unix_s);
    struct tm tm;

    (void)gmtime_r(&t, &tm);
    (void)snprintf(buf, CFR_TIME_HTTP_MAX, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT", days + (size_t)tm.tm_wday * 3,
                   (unsigned)tm.tm_mday % 100U, months + (size_t)tm.tm_mon * 3, ((unsigned)tm.tm_year + 1900U) % 10000U,
                   (unsigned)tm.tm_hour % 100U, (unsigned)tm.tm_min % 100U, (unsigned)tm.tm_sec % 100U);
    return buf;
}

static bool month_name(struct cfr_view *t, int *month)
{
    for (int i = 0; i < 12 && t->n >= 3; i++) {
        if (memcmp(t->p, months + (size_t)i * 3, 3) == 0) {
            t->p += 3;
            t->n -= 3;
            *month = i;
            return true;
        }
    }
    return false;
}

bool cfr_time_parse_http(struct cfr_view text, int64_t *unix_s)
{
    struct cfr_view t = cfr_view_trim(text);
    struct tm tm = {0};
    int year;

    /* The name of the day says nothing new, so only its shape is looked at. */
    if (t.n != 29 || t.p[3] != ',' || t.p[4] != ' ')
        return false;
    t.p += 5;
    t.n -= 5;
    if (!digits(&t, 2, &tm.tm_mday) || !literal(&t, ' ') || !month_name(&t, &tm.tm_mon) || !literal(&t, ' ') ||
        !digits(&t, 4, &year) || !literal(&t, ' ') || !digits(&t, 2, &tm.tm_hour) || !literal(&t, ':') ||
        !digits(&t, 2, &tm.tm_min) || !literal(&t, ':') || !digits(&t, 2, &tm.tm_sec) || !cfr_view_is(t, " GMT"))
        return false;
    if (!days_fit(year, tm.tm_mon + 1, tm.tm_mday) || !clock_fits(&tm))
        return false;
    tm.tm_year = year - 1900;
    *unix_s = (int64_t)timegm(&tm);
    return true;
}

static const struct {
    const char *text;
    const char *word;
    int64_t ms;
} units[] = {
    {"d", "d", 86400000}, {"h", "h", 3600000}, {"m", "min", 60000}, {"s", "s", 1000}, {"ms", "ms", 1},
};
#define UNITS (sizeof units / sizeof units[0])

/* The letters at the head of T, as an index into units, or -1. */
static int read_unit(struct cfr_view *t)
{
    size_t n = 0;

    while (n < t->n && t->p[n] >= 'a' && t->p[n] <= 'z')
        n++;
    for (size_t i = 0; i < UNITS; i++) {
        if (cfr_view_is((struct cfr_view){t->p, n}, units[i].text)) {
            t->p += n;
            t->n -= n;
            return (int)i;
        }
    }
    return -1;
}

bool cfr_time_parse_duration(struct cfr_view text, int64_t *ms)
{
    struct cfr_view t = text;
    int last = -1;
    int64_t total = 0;

    if (t.n == 0)
        return false;
    while (t.n != 0) {
        size_t n = 0;
        int64_t value;
        int unit;

        while (n < t.n && t.p[n] >= '0' && t.p[n] <= '9')
            n++;
        if (n == 0 || n > 12 || !cfr_view_int((struct cfr_view){t.p, n}, &value))
            return false;
        t.p += n;
        t.n -= n;
        unit = read_unit(&t);
        if (unit <= last || value > INT64_C(3650) * 86400000 / units[unit].ms)
            return false;
        last = unit;
        total += value * units[unit].ms;
    }
    if (total > INT64_C(3650) * 86400000)
        return false;
    *ms = total;
    return true;
}

char *cfr_time_words(int64_t ms, char buf[CFR_TIME_WORDS_MAX])
{
    const char *sign = ms < 0 ? "-" : "";
    int64_t left = ms < 0 ? (ms == INT64_MIN ? INT64_MAX : -ms) : ms;
    size_t i = 0;
    int64_t first;
    int64_t second;

    while (i < UNITS - 1 && left < units[i].ms)
        i++;
    first = left / units[i].ms;
    /* Milliseconds after seconds would be noise. */
    second = i + 1 < UNITS - 1 ? left % units[i].ms / units[i + 1].ms : 0;
    if (second != 0)
        (void)snprintf(buf, CFR_TIME_WORDS_MAX, "%s%" PRId64 " %s %" PRId64 " %s", sign, first, units[i].word, second,
                       units[i + 1].word);
    else
        (void)snprintf(buf, CFR_TIME_WORDS_MAX, "%s%" PRId64 " %s", sign, first, units[i].word);
    return buf;
}
