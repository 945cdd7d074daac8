/* SPDX-License-Identifier: MIT */
/* Makes an error with a class and advice of a cloud's refusal, by a table of rows that each provider has. Pure.
 * Memory: borrows everything, keeps nothing. The text is redacted (base/redact.h). Limits: those of struct cfr_err. */
#ifndef CFR_BASE_ERROR_TABLE_H
#define CFR_BASE_ERROR_TABLE_H

#include "base/err.h"
#include "base/view.h"

/* The first row that fits decides: one of CODE, codes with blanks between them (NULL = any), MESSAGE contained without
 * regard to case (NULL = any), STATUS equal (0 = any). In a hint `{who}` is replaced by the caller. */
struct cfr_error_table_row {
    const char *code;
    const char *message;
    long status;
    int result;       /* CFR_E_... */
    const char *hint; /* what to do */
};

struct cfr_error_table {
    const struct cfr_error_table_row *rows; /* ends with hint == NULL; what fits no row is judged by its status alone */
    long status;                            /* HTTP */
    struct cfr_view code;                   /* as on the wire; may be empty */
    struct cfr_view message;
    struct cfr_view request_id;
    struct cfr_view who;            /* the token's subject, or another name of the caller; may be empty */
    const char *who_is;             /* what precedes it, such as "subject"; may be NULL */
    const struct cfr_view *secrets; /* what an answer must not echo into the text */
    size_t secret_count;
};

/* The first of ROWS that fits, or NULL: for tables of more than one part. */
const struct cfr_error_table_row *cfr_error_table_find(const struct cfr_error_table_row *rows, long status,
                                                       struct cfr_view code, struct cfr_view message);
/* Sets ERR to "CODE: message (HTTP 403, request ID): what to do" and returns the code. Message and ids are scrubbed
 * (base/redact.h); a message that would push the advice out is cut. ROWS may be NULL. Never 0. */
int cfr_error_table_set(const struct cfr_error_table *r, struct cfr_err *err);

#endif
