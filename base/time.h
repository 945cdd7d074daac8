/* SPDX-License-Identifier: MIT */
/* Time as text: RFC 3339 instants, HTTP dates, durations, and words for people. Pure: reads no clock, allocates
 * nothing. */
#ifndef CFR_BASE_TIME_H
#define CFR_BASE_TIME_H

#include "base/err.h"
#include "base/view.h"

/* Seconds since 1970-01-01T00:00:00Z. */
#define CFR_TIME_RFC3339_MAX 32
#define CFR_TIME_WORDS_MAX   48
#define CFR_TIME_HTTP_MAX    32

/* Parses an RFC 3339 (ISO 8601) instant: `YYYY-MM-DDThh:mm:ss`, an optional fraction (dropped), then Z, an offset,
 * or nothing (taken as UTC). Years 1970 to 9999. False if it is anything else. */
bool cfr_time_parse(struct cfr_view text, int64_t *unix_s);
/* Writes `2026-01-02T03:04:05Z` into BUF and returns BUF. Out-of-range times are written as year 1970 or 9999. */
char *cfr_time_format(int64_t unix_s, char buf[CFR_TIME_RFC3339_MAX]);
/* Parses an HTTP date in IMF-fixdate form, `Fri, 02 Jan 2026 03:04:05 GMT` (RFC 9110, 5.6.7). */
bool cfr_time_parse_http(struct cfr_view text, int64_t *unix_s);
/* Writes one into BUF and returns BUF. Times out of range as in cfr_time_format. */
char *cfr_time_format_http(int64_t unix_s, char buf[CFR_TIME_HTTP_MAX]);
/* Parses a duration: one or more of a decimal integer and a unit out of ms, s, m, h, d, largest first ("1h30m").
 * At most 10 years. False if it is anything else; "0" alone is not a duration, "0s" is. */
bool cfr_time_parse_duration(struct cfr_view text, int64_t *ms);
/* A duration in words, at most two units: "2 h 5 min", "850 ms", "3 d". Negative ones with "-". Returns BUF. */
char *cfr_time_words(int64_t ms, char buf[CFR_TIME_WORDS_MAX]);

#endif
