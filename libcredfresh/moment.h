/* SPDX-License-Identifier: MIT */
/* A moment in text. */
#ifndef CFL_MOMENT_H
#define CFL_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the N bytes at P, all of them: a time in RFC 3339, or seconds since 1970 (a fraction is cut). Only moments from
 * 1970 to the year 9999. */
bool cfl_moment_read(const char *p, size_t n, int64_t *seconds);

#endif
