/* SPDX-License-Identifier: MIT */
/* Parsing timestamps. */
#include "timestamp.h"

#include <string.h>

#define LAST_S 253402300799 /* 9999-12-31T23:59:59Z */

static bool digits(const char *p, size_t n, int *value)
{
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *value = *value * 10 + (p[i] - '0');
    }
    return true;
}

static int64_t days_of(int year, int month, int day)
{
    /* Years that begin in March have their odd day at the end; 400 of them have 146,097 days. */
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t in_year = ((int64_t)153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + in_year - 719468;
}

static bool is_day(int year, int month, int day)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= lengths[month - 1] + (month == 2 && leap);
}

/* `Z`, `+00:00` ... */
static bool zone(const char *p, size_t n, int64_t *offset_s)
{
    int hours;
    int minutes;

    *offset_s = 0;
    if (n == 1)
        return *p == 'Z' || *p == 'z';
    if (n != 6 || (*p != '+' && *p != '-') || p[3] != ':' || !digits(p + 1, 2, &hours) || !digits(p + 4, 2, &minutes) ||
        hours > 23 || minutes > 59)
        return false;
    *offset_s = ((int64_t)hours * 60 + minutes) * (int64_t)(*p == '-' ? -60 : 60);
    return true;
}

static bool rfc3339(const char *p, size_t n, int64_t *seconds)
{
    int year;
    int month;
    int day;
    int hour;
    int minute;
    int second;
    int64_t offset_s;
    size_t at = 19;

    if (n < 20 || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != 't' && p[10] != ' ') || p[13] != ':' ||
        p[16] != ':')
        return false;
    if (!digits(p, 4, &year) || !digits(p + 5, 2, &month) || !digits(p + 8, 2, &day) || !digits(p + 11, 2, &hour) ||
        !digits(p + 14, 2, &minute) || !digits(p + 17, 2, &second))
        return false;
    if (!is_day(year, month, day) || hour > 23 || minute > 59 || second > 60)
        return false;
    if (p[at] == '.')
        for (at++; at < n && p[at] >= '0' && p[at] <= '9'; at++)
            ;
    if (at == 20 || at == n || !zone(p + at, n - at, &offset_s))
        return false;
    *seconds = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset_s;
    return *seconds >= 0 && *seconds <= LAST_S;
}

bool cfl_timestamp_parse(const char *p, size_t n, int64_t *seconds)
{
    int64_t value = 0;
    size_t i = 0;

    for (; i < n && p[i] >= '0' && p[i] <= '9' && value <= LAST_S; i++)
        value = value * 10 + (p[i] - '0');
    if (i != 0 && i < n && p[i] == '.') {
        size_t dot = i;

        for (i++; i < n && p[i] >= '0' && p[i] <= '9'; i++)
            ;
        if (i == dot + 1)
            return false;
    }
    if (i == 0 || i != n || value > LAST_S)
        return rfc3339(p, n, seconds);
    *seconds = value;
    return true;
}
