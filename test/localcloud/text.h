/* SPDX-License-Identifier: MIT */
/* Small text tools of the local cloud: growing buffers, failure texts, times, patterns. */
#ifndef LC_TEXT_H
#define LC_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why something could not be done, for a person. Owned by the caller, no heap. */
struct lc_fail {
    char text[640];
};

/* Sets the text (which may be NULL to drop it) and returns -1, so that `return lc_fail_set(...)` reads well.
 */
int lc_fail_set(struct lc_fail *fail, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A growing byte buffer, always NUL-terminated once something was added. After a failed allocation `broken`
 * stays set and further additions do nothing, so that a writer checks once, at its end. */
struct lc_buf {
    char *at;
    size_t len;
    size_t room;
    bool broken;
};

void lc_buf_add(struct lc_buf *buf, const void *bytes, size_t len);
void lc_buf_text(struct lc_buf *buf, const char *text);
void lc_buf_format(struct lc_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lc_buf_fill(struct lc_buf *buf, char byte, size_t count);
void lc_buf_free(struct lc_buf *buf);

/* printf into fresh memory, NULL when there is none. The caller frees it. */
char *lc_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whole decimal number in min..max, optional sign; anything else is false. */
bool lc_text_integer(const char *text, int64_t min, int64_t max, int64_t *out);

/* `*` matches any bytes, `?` one; the rest is compared exactly. */
bool lc_text_like(const char *pattern, const char *text);

bool lc_text_starts(const char *text, const char *prefix);

/* True when every byte of text is ASCII and either a letter, a digit or one of extra. */
bool lc_text_only(const char *text, const char *extra);

/* Number of code points, or -1 when the bytes are not UTF-8. */
long lc_text_points(const char *text);

/* Encodes as RFC 3986 says: everything but A-Z a-z 0-9 - . _ ~ becomes %XX. */
void lc_text_percent(struct lc_buf *out, const char *text);

/* Decodes %XX and, with plus_is_space, '+'. In place; false when a % is not followed by two hex digits or the
 * result holds a NUL byte. */
bool lc_text_unpercent(char *text, bool plus_is_space);

enum { LC_TIME_BYTES = 32 };

/* Seconds since 1970, UTC. */
double lc_time_now(void);
/* "2026-01-02T03:04:05Z" and "20260102T030405Z". */
void lc_time_iso(int64_t when_s, char out[LC_TIME_BYTES]);
void lc_time_basic(int64_t when_s, char out[LC_TIME_BYTES]);
/* Reads the second form; false when it is not exactly that. */
bool lc_time_read_basic(const char *text, int64_t *when_s);

#endif
