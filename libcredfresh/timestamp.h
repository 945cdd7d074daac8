/* SPDX-License-Identifier: MIT */
/* Timestamps in text. */
#ifndef CFL_TIMESTAMP_H
#define CFL_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses all N bytes at P: a time in RFC 3339, or seconds since 1970 (a fraction is cut). False unless it is from 1970
 * to the year 9999. */
bool cfl_timestamp_parse(const char *p, size_t n, int64_t *seconds);

#endif
