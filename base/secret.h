/* SPDX-License-Identifier: MIT */
/* The only type that may own secret bytes: bounded, grown without realloc (a large one by moving its pages), wiped over
 * its whole capacity. Pure.
 * Memory: the caller owns it and calls cfr_secret_free in every case; others borrow a view. Errors: CFR_E_LIMIT,
 * CFR_E_NOMEM; the secret is then unchanged. Limits: each secret's own, set at its start. */
#ifndef CFR_BASE_SECRET_H
#define CFR_BASE_SECRET_H

#include "base/err.h"
#include "base/view.h"

#include <stddef.h>

/* Zero-initialised is a valid empty secret with limit 0 (nothing can be appended). The bytes are followed by a
 * NUL that is not counted, so that `p` may be handed to a C API. */
struct cfr_secret {
    char *p;
    size_t len;
    size_t cap;
    size_t limit;
};

/* Starts an empty secret that can never hold more than LIMIT bytes. Allocates nothing. */
void cfr_secret_init(struct cfr_secret *s, size_t limit);
/* Appends a copy. CFR_E_LIMIT beyond the limit, CFR_E_NOMEM; the secret is then unchanged. BYTES must not point
 * into S itself. */
int cfr_secret_append(struct cfr_secret *s, struct cfr_view bytes, struct cfr_err *err);
int cfr_secret_append_str(struct cfr_secret *s, const char *text, struct cfr_err *err);
/* Makes room for N more bytes and returns where they go, or NULL (error set); follow with cfr_secret_grown. */
char *cfr_secret_reserve(struct cfr_secret *s, size_t n, struct cfr_err *err);
void cfr_secret_grown(struct cfr_secret *s, size_t n);
/* Wipes the content, keeps the memory. */
void cfr_secret_clear(struct cfr_secret *s);
/* Wipes the whole capacity and frees it. S is empty afterwards and may be used again (the limit stays). */
void cfr_secret_free(struct cfr_secret *s);
/* Moves FROM's bytes into TO (whose old bytes are wiped and freed); FROM is empty afterwards. */
void cfr_secret_move(struct cfr_secret *to, struct cfr_secret *from);
struct cfr_view cfr_secret_view(const struct cfr_secret *s);
/* Appends TEXT as the inside of a JSON string with its quotes (RFC 8259, 7). */
int cfr_secret_append_json(struct cfr_secret *s, struct cfr_view text, struct cfr_err *err);
/* Appends TEXT percent-encoded: all but the unreserved characters of RFC 3986, 2.3. */
int cfr_secret_append_percent(struct cfr_secret *s, struct cfr_view text, struct cfr_err *err);

/* Overwrites N bytes in a way the compiler does not remove. */
void cfr_secret_wipe(void *p, size_t n);
/* Compares in time that depends on the lengths only. */
bool cfr_secret_equal(struct cfr_view a, struct cfr_view b);

#endif
