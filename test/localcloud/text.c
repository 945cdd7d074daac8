/* SPDX-License-Identifier: MIT */
/* Small text tools of the local cloud: growing buffers, failure texts, times, patterns. */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int lc_fail_set(struct lc_fail *fail, const char *format, ...)
{
    va_list args;

    if (fail == NULL) {
        return -1;
    }
    va_start(args, format);
    (void)vsnprintf(fail->text, sizeof fail->text, format, args);
    va_end(args);
    return -1;
}

static bool make_room(struct lc_buf *buf, size_t more)
{
    size_t room = buf->room == 0 ? 256 : buf->room;
    char *grown = NULL;

    if (buf->broken || more > SIZE_MAX / 4 || buf->len > SIZE_MAX / 4) {
        buf->broken = true;
        return false;
    }
    while (room < buf->len + more + 1) {
        room *= 2;
    }
    if (room == buf->room) {
        return true;
    }
    grown = realloc(buf->at, room);
    if (grown == NULL) {
        buf->broken = true;
        return false;
    }
    buf->at = grown;
    buf->room = room;
    return true;
}

void lc_buf_add(struct lc_buf *buf, const void *bytes, size_t len)
{
    if (!make_room(buf, len)) {
        return;
    }
    if (len > 0) {
        memcpy(buf->at + buf->len, bytes, len);
    }
    buf->len += len;
    buf->at[buf->len] = '\0';
}

void lc_buf_text(struct lc_buf *buf, const char *text)
{
    lc_buf_add(buf, text, strlen(text));
}

void lc_buf_fill(struct lc_buf *buf, char byte, size_t count)
{
    if (!make_room(buf, count)) {
        return;
    }
    memset(buf->at + buf->len, byte, count);
    buf->len += count;
    buf->at[buf->len] = '\0';
}

static char *format_args(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static char *format_args(const char *format, va_list args)
{
    char *text = NULL;

    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

void lc_buf_format(struct lc_buf *buf, const char *format, ...)
{
    va_list args;
    char *text = NULL;

    va_start(args, format);
    text = format_args(format, args);
    va_end(args);
    if (text == NULL) {
        buf->broken = true;
        return;
    }
    lc_buf_text(buf, text);
    free(text);
}

void lc_buf_free(struct lc_buf *buf)
{
    free(buf->at);
    *buf = (struct lc_buf){0};
}

char *lc_text_format(const char *format, ...)
{
    va_list args;
    char *text = NULL;

    va_start(args, format);
    text = format_args(format, args);
    va_end(args);
    return text;
}

bool lc_text_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end = NULL;
    long long value = 0;

    if (!isdigit((unsigned char)text[0]) && !((text[0] == '+' || text[0] == '-') && isdigit((unsigned char)text[1]))) {
        return false;
    }
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == NULL || *end != '\0' || value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

bool lc_text_like(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *resume = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

bool lc_text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

bool lc_text_only(const char *text, const char *extra)
{
    for (; *text != '\0'; text++) {
        if (!is_word(*text) && strchr(extra, *text) == NULL) {
            return false;
        }
    }
    return true;
}

/* Length of the sequence that starts at s, or 0 when it is not well-formed UTF-8. */
static size_t sequence_bytes(const unsigned char *s)
{
    if (s[0] < 0x80) {
        return 1;
    }
    if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        return (s[1] & 0xC0) == 0x80 ? 2 : 0;
    }
    if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        unsigned low = s[0] == 0xE0 ? 0xA0 : 0x80;
        unsigned high = s[0] == 0xED ? 0x9F : 0xBF;
        return s[1] >= low && s[1] <= high && (s[2] & 0xC0) == 0x80 ? 3 : 0;
    }
    if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        unsigned low = s[0] == 0xF0 ? 0x90 : 0x80;
        unsigned high = s[0] == 0xF4 ? 0x8F : 0xBF;
        return s[1] >= low && s[1] <= high && (s[2] & 0xC0) == 0x80 && (s[3] & 0xC0) == 0x80 ? 4 : 0;
    }
    return 0;
}

long lc_text_points(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    long count = 0;

    while (*s != '\0') {
        size_t bytes = sequence_bytes(s);
        if (bytes == 0) {
            return -1;
        }
        s += bytes;
        count++;
    }
    return count;
}

void lc_text_percent(struct lc_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (is_word(*text) || strchr("-._~", *text) != NULL) {
            lc_buf_add(out, text, 1);
        } else {
            lc_buf_format(out, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool lc_text_unpercent(char *text, bool plus_is_space)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '+' && plus_is_space) {
            *to++ = ' ';
        } else if (*from == '%') {
            int high = hex_digit(from[1]);
            int low = high < 0 ? -1 : hex_digit(from[2]);
            if (low < 0 || (high == 0 && low == 0)) {
                return false;
            }
            *to++ = (char)(unsigned char)(high * 16 + low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return true;
}

double lc_time_now(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void lc_time_iso(int64_t when_s, char out[LC_TIME_BYTES])
{
    time_t when = (time_t)when_s;
    struct tm parts = {0};

    out[0] = '\0';
    if (gmtime_r(&when, &parts) != NULL) {
        (void)strftime(out, LC_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
}

void lc_time_basic(int64_t when_s, char out[LC_TIME_BYTES])
{
    time_t when = (time_t)when_s;
    struct tm parts = {0};

    out[0] = '\0';
    if (gmtime_r(&when, &parts) != NULL) {
        (void)strftime(out, LC_TIME_BYTES, "%Y%m%dT%H%M%SZ", &parts);
    }
}

bool lc_time_read_basic(const char *text, int64_t *when_s)
{
    struct tm parts = {0};
    char again[LC_TIME_BYTES] = "";
    const char *end = NULL;

    if (strlen(text) != 16) {
        return false;
    }
    end = strptime(text, "%Y%m%dT%H%M%SZ", &parts);
    if (end == NULL || *end != '\0') {
        return false;
    }
    *when_s = (int64_t)timegm(&parts);
    lc_time_basic(*when_s, again); /* refuses 30 February, which timegm would move to March */
    return strcmp(again, text) == 0;
}
