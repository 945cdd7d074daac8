/* SPDX-License-Identifier: MIT */
/* Growing text that is no secret (status pages, metrics, messages); for secrets see base/secret.h. Pure.
 * Memory: the caller owns it and calls cfr_str_free in every case. Errors and limits: `failed` is sticky: after the
 * limit or memory ran out nothing more is appended, and the caller checks once. */
#ifndef CFR_BASE_STR_H
#define CFR_BASE_STR_H

#include "base/view.h"

/* Zero-initialised with a limit: `struct cfr_str s = {.limit = 65536};`. NUL-terminated once it holds anything.
 * `failed` is sticky: after the limit or memory ran out nothing more is appended, and the caller checks once. */
struct cfr_str {
    char *p;
    size_t len;
    size_t cap;
    size_t limit;
    bool failed;
};

void cfr_str_add(struct cfr_str *s, struct cfr_view text);
void cfr_str_addz(struct cfr_str *s, const char *text);
void cfr_str_addf(struct cfr_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends TEXT as it may be shown (see cfr_view_show); one that is longer than MOST + 3 bytes is cut after MOST. */
void cfr_str_add_shown(struct cfr_str *s, struct cfr_view text, size_t most);
/* Appends TEXT as a JSON string with its quotes (RFC 8259, 7); NULL p as null. Bytes that are no UTF-8 become U+FFFD;
 * characters that cfr_view_show replaces are escaped, so that a terminal can show the JSON, too. */
void cfr_str_add_json(struct cfr_str *s, struct cfr_view text);
/* Appends TEXT as lines of at most COLUMNS, broken between words; USED columns of the first line are taken, and each
 * further line begins with INDENT blanks. With COLUMNS 0 TEXT is one line, as it is. */
void cfr_str_add_wrapped(struct cfr_str *s, const char *text, size_t columns, size_t used, size_t indent);
struct cfr_view cfr_str_view(const struct cfr_str *s);
/* Frees; the limit stays. */
void cfr_str_free(struct cfr_str *s);

/* A heap copy of TEXT with a NUL, or NULL when memory is short. The caller frees it. */
char *cfr_str_dup(struct cfr_view text);

#endif
