/* SPDX-License-Identifier: MIT */
/* One row for each member of the status. The JSON, the metrics, and the lines of the status page and of the status
 * table that show a single member are written from these rows. Pure. */
#ifndef CFR_SERVE_API_ROWS_PRIVATE_H
#define CFR_SERVE_API_ROWS_PRIVATE_H

#include "serve/api/status_private.h"

/* The C type of a member, its JSON value, and its sample. */
enum cfr_api_type {
    CFR_API_END,       /* after the last row */
    CFR_API_TEXT,      /* const char *; the sample is 1 unless it is NULL */
    CFR_API_TEXTS,     /* const char *const * with a size_t at COUNT_OFFSET; no sample */
    CFR_API_INSTANT,   /* int64_t, seconds; 0 is null, and without a sample */
    CFR_API_NUMBER,    /* int64_t */
    CFR_API_COUNT,     /* uint64_t */
    CFR_API_BOOL,      /* bool; the sample is 1 or 0 */
    CFR_API_OBJECT,    /* members of the same struct, by ROWS */
    CFR_API_LIST,      /* a pointer to structs of ROWS, the first of which is a name, with a size_t at COUNT_OFFSET; the
                        * sample is how many have the member `error` */
    CFR_API_HISTOGRAM, /* struct cfr_api_status_histogram; not in the JSON */
    CFR_API_ONE        /* no member; the sample is 1 */
};

enum cfr_api_flag {
    CFR_API_OPTIONAL = 1, /* the JSON leaves it out where it does not apply, instead of null */
    CFR_API_ZERO = 2,     /* INSTANT: 0 is a sample */
    CFR_API_INVERTED = 4, /* TEXT: the sample is 1 if it is NULL */
    CFR_API_ON_PAGE = 8,  /* a line of the status page, with TITLE before it, unless it is NULL, 0 or false */
    CFR_API_IN_TABLE = 16 /* the same of the status table */
};

/* A family of samples. */
struct cfr_api_family {
    const char *name;
    const char *type;
    const char *help;
    int place; /* families are written in this order; those with 0 last, in the order of their rows */
};

struct cfr_api_row {
    const char *key; /* of the JSON member; NULL: not in the JSON */
    enum cfr_api_type type;
    unsigned flags;
    size_t offset, size;
    size_t count_offset, item_size;
    const struct cfr_api_row *rows;      /* OBJECT, LIST; ends with a zeroed row */
    size_t when_offset, when_size;       /* a member: null and no sample while its bytes are 0; size 0: always */
    const struct cfr_api_family *family; /* NULL: no sample */
    const char *label;                   /* LIST: of its items' names; else a label of the sample, with VALUE */
    const char *value;
    const char *const *states; /* TEXT: a sample for each, which is LABEL and 1 for the one it is; NULL-terminated.
                                * Without LABEL there is only the first. No sample for a NULL text. */
    const struct cfr_api_row *labels; /* more labels of the sample: TEXT and NUMBER */
    const char *title;
};

/* What a section shows, one at a time. */
union cfr_api_node {
    struct cfr_api_status_credential credential;
    struct cfr_api_status_authority authority;
    struct cfr_api_status_endpoint endpoint;
};

enum cfr_api_section_flag {
    CFR_API_MANY = 1,   /* a list in the JSON, which leaves an empty one out */
    CFR_API_ALWAYS = 2, /* ... unless it has this, too */
    CFR_API_HEADS = 4   /* the metrics have the help and the type of a family without samples */
};

/* A part of the status. */
struct cfr_api_section {
    const char *key; /* of the JSON member; NULL: not in the JSON */
    unsigned flags;
    const char *label; /* of the names of its items */
    const struct cfr_api_row *rows;
    /* The INDEX-th item, in BUFFER or where the status has it; NULL after the last. */
    const void *(*at)(const struct cfr_api_status *s, size_t index, union cfr_api_node *buffer);
};

/* In the order of all outputs; ends with .rows NULL. */
extern const struct cfr_api_section cfr_api_sections[];
extern const struct cfr_api_row cfr_api_credential_rows[];

/* The pointer at OFFSET of NODE. */
const void *cfr_api_row_pointer(const void *node, size_t offset);
/* How many items a TEXTS or LIST has. */
size_t cfr_api_row_count(const struct cfr_api_row *row, const void *node);
/* False while NODE has no value for ROW. */
bool cfr_api_row_applies(const struct cfr_api_row *row, const void *node);
/* True for a member that is NULL, 0 or false. */
bool cfr_api_row_is_zero(const struct cfr_api_row *row, const void *node);

#endif
