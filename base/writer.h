/* SPDX-License-Identifier: MIT */
/* Writes a document, JSON or plain lines, into a secret or a text. Pure; does not block; allocates only through its
 * destination, which the caller owns and frees.
 *
 *     struct cfr_writer w = {.secret = &body, .err = err};
 *
 *     cfr_writer_object(&w, NULL);
 *     cfr_writer_string(&w, "name", name);
 *     cfr_writer_array(&w, "scopes");
 *     cfr_writer_string(&w, NULL, scope);
 *     cfr_writer_close(&w);
 *     cfr_writer_close(&w);
 *     return w.rc;
 *
 * Commas are written where they are due. Errors: the first one stays in `rc`, and what follows it writes nothing, so
 * that a caller checks once: CFR_E_LIMIT or CFR_E_NOMEM of a secret; a text keeps its own `failed`. What was written
 * before an error remains. Limits: those of the destination, and containers nested up to 64 deep. */
#ifndef CFR_BASE_WRITER_H
#define CFR_BASE_WRITER_H

#include "base/secret.h"
#include "base/str.h"

/* Zeroed but for its destination: one of SECRET and STR. */
struct cfr_writer {
    struct cfr_secret *secret;
    struct cfr_str *str;
    struct cfr_err *err; /* of a secret; may be NULL */
    int rc;              /* may be set by the caller, too: then nothing more is written */
    bool exact;          /* a secret keeps bytes that are no UTF-8; else, and in a text, they become U+FFFD */
    uint64_t arrays;     /* one bit for each open container, the innermost lowest: 1 = array */
    bool comma;          /* the next value needs one before it */
};

/* Bytes as they are. */
void cfr_writer_view(struct cfr_writer *w, struct cfr_view text);
void cfr_writer_text(struct cfr_writer *w, const char *text);

/* JSON. KEY is the member's name, and NULL for an item of an array or the document itself. */
void cfr_writer_object(struct cfr_writer *w, const char *key);
void cfr_writer_array(struct cfr_writer *w, const char *key);
/* Closes the innermost object or array. */
void cfr_writer_close(struct cfr_writer *w);
/* VALUE as a string; null if its p is NULL. */
void cfr_writer_string(struct cfr_writer *w, const char *key, struct cfr_view value);
/* The same, but nothing at all for an empty VALUE. */
void cfr_writer_optional(struct cfr_writer *w, const char *key, struct cfr_view value);
void cfr_writer_number(struct cfr_writer *w, const char *key, int64_t value);
void cfr_writer_count(struct cfr_writer *w, const char *key, uint64_t value);
void cfr_writer_bool(struct cfr_writer *w, const char *key, bool value);
/* VALUE is JSON already. */
void cfr_writer_raw(struct cfr_writer *w, const char *key, struct cfr_view value);
/* A member's name that is no C string; its value follows by a call with a NULL key. */
void cfr_writer_key(struct cfr_writer *w, struct cfr_view key);

#endif
