/* SPDX-License-Identifier: MIT */
/* Tables that describe configuration: the parser, `credfresh check` and the reference page come from them. Pure.
 * Memory: a struct owns what its fields point to; cfr_field_free frees that, whatever a failed call left behind.
 * Errors: CFR_E_CONFIG with a text that says what is wrong and what to write, CFR_E_NOMEM. Callbacks: a table's
 * `check` reads the struct and sets the error; it may call anything here. */
#ifndef CFR_BASE_FIELD_H
#define CFR_BASE_FIELD_H

#include "base/err.h"
#include "base/view.h"

#include <stddef.h>

/* The C type that each kind of field has in its struct. */
enum cfr_field_type {
    CFR_FIELD_STRING,      /* char *, heap; NULL when absent */
    CFR_FIELD_BOOL,        /* bool */
    CFR_FIELD_INT,         /* int64_t */
    CFR_FIELD_DURATION,    /* int64_t, milliseconds; text such as 90s, 10m, 1h30m */
    CFR_FIELD_MODE,        /* int64_t, permission bits; text must be quoted octal such as "0640"; -1 when absent */
    CFR_FIELD_ENUM,        /* int, index into choices */
    CFR_FIELD_STRINGS,     /* struct cfr_strings */
    CFR_FIELD_PAIRS,       /* struct cfr_pairs: a mapping from text to text */
    CFR_FIELD_MAP,         /* pointer to the sub-table's struct, heap; NULL when absent */
    CFR_FIELD_LIST,        /* struct cfr_list of the sub-table's structs */
    CFR_FIELD_ONE_OR_LIST, /* as LIST; a single mapping is a list of one */
    CFR_FIELD_ONE_OF,      /* struct cfr_one_of; not a key itself: any one key of the field's registry */
    CFR_FIELD_ANY_OF /* struct cfr_list of struct cfr_one_of; as ONE_OF, but each key of the registry is possible */
};

enum cfr_field_flag {
    CFR_FIELD_REQUIRED = 1,
    CFR_FIELD_PATH = 2,      /* must be absolute, without `.` and `..` components */
    CFR_FIELD_FILE_NAME = 4, /* one path component: no `/`, not `.` or `..`, does not begin with `..` */
    CFR_FIELD_UNSET = 8,     /* INT, DURATION: -1 when absent, so that it differs from 0 */
    /* What is redone when the key changes, where that is not everything, from the exchange on. */
    CFR_FIELD_REDO_PUBLISH = 32, /* what is granted stays as it is */
    CFR_FIELD_REDO_HOOKS = 64,   /* and so do the published bytes */
    CFR_FIELD_REDO_NOTHING = 128,
    CFR_FIELD_DEFAULTS = 256, /* MAP: what is in it holds in each item of the lists next to it that can have it and has
                               * nothing of its own under that key */
    CFR_FIELD_CA_FILE = 512,  /* STRING with PATH: CA certificates, in PEM form */
    CFR_FIELD_PRIVATE = 1024, /* STRING with PATH: refused in a directory that another user owns or can write to */
    CFR_FIELD_VARIABLES = 2048,  /* STRING in which ${NAME} has a meaning; elsewhere it is refused unless quoted */
    CFR_FIELD_KUBECONFIG = 4096, /* STRING with PATH: a kubeconfig, whose context is `context` in the same mapping */
    CFR_FIELD_CONTENT = 16 /* STRING with PATH, of a provider's table: a file whose content the agent reads before each
                            * exchange, watches, and hands to the provider under this key; or `env:NAME`, a variable */
};

struct cfr_strings {
    char **items;
    size_t count;
};

struct cfr_pair {
    char *key;
    char *value;
};

struct cfr_pairs {
    struct cfr_pair *items;
    size_t count;
};

struct cfr_list {
    void *items; /* count structs of the sub-table's size, one after the other */
    size_t count;
};

/* Every struct that a table describes begins with this. */
struct cfr_node {
    int line;           /* 1-based line of its mapping in the file */
    bool faulty;        /* the parser reported something about the mapping, or below it */
    bool unclear;       /* among it a key that is unknown or has no value of its type: what is absent may be meant */
    unsigned defaulted; /* bit N: the N-th field of its table came from a field with CFR_FIELD_DEFAULTS */
};

/* The text of a row for the reference page, which credfresh-gen writes when the tests are built. A program that is
 * shipped has the finished pages and not these texts once more. */
#ifdef CFR_DOCS
#define CFR_DOC(text) (text)
#else
#define CFR_DOC(text) NULL
#endif

struct cfr_table;

/* A row of a registry (a provider, say) as a key of a mapping. */
struct cfr_variant {
    const char *key;               /* NULL: none */
    const struct cfr_table *table; /* of what is below the key */
    const char *doc;
    const void *row; /* the row itself, as long-lived as the registry */
    int64_t most;    /* ANY_OF: above 1, the key may also have a list of at most so many mappings */
    bool flat;       /* ANY_OF: the keys of TABLE, none of them REQUIRED, are in the mapping itself, not below KEY */
};

/* The key of a registry that a mapping has, and what is below it. */
struct cfr_one_of {
    struct cfr_variant variant; /* .key NULL when absent */
    void *config;               /* the variant's table's struct, heap */
    int line;                   /* 1-based line of the key */
};

struct cfr_field {
    const char *key;
    enum cfr_field_type type;
    unsigned flags;
    size_t offset;
    const char *fallback; /* default in configuration syntax, or NULL */
    int64_t min;          /* INT, DURATION, STRING (length), LIST/STRINGS/PAIRS (count); min == max == 0: no limits */
    int64_t max;
    const char *const *choices;                  /* ENUM: NULL-terminated */
    const struct cfr_table *table;               /* MAP, LIST, ONE_OR_LIST */
    struct cfr_variant (*variant)(size_t index); /* ONE_OF, ANY_OF: the registry; .key NULL after the last row */
    const char *variables; /* of the environment, from which the key is made where there is no file, by precedence:
                            * "AWS_REGION AWS_DEFAULT_REGION"; NULL = none */
    const char *doc;       /* CFR_DOC: one or two sentences */
};

/* A key that an earlier version had. The parser refuses it with INSTEAD, which says why and what to do. */
struct cfr_field_gone {
    const char *key;
    const char *instead;
};

struct cfr_table {
    const char *name; /* what one such mapping is: "credential" */
    size_t size;
    const struct cfr_field *fields;    /* ends with key == NULL */
    const struct cfr_field_gone *gone; /* ends with key == NULL; NULL if there are none */
    /* Rules across fields; NULL if there are none. The error text names the key it is about. */
    int (*check)(const void *node, struct cfr_err *err);
    /* CHECK holds for the whole of something that may be in parts at several places (an exchange next to a mounted
     * Secret): the caller that has put it together calls it, not the parser. */
    bool late;
    /* Whether NODE, whose own keys were read, can have the default KEY. NULL: items of such a table take no defaults.
     */
    bool (*takes_default)(const void *node, const char *key);
    const char *doc;
};

/* Sets every default in a zeroed struct. CFR_E_NOMEM; CFR_E_INTERNAL if a default is not valid. */
int cfr_field_defaults(const struct cfr_table *table, void *node, struct cfr_err *err);
/* Stores scalar TEXT in a STRING, BOOL, INT, DURATION, MODE or ENUM field; QUOTED says whether it stood in quotes.
 * The error says what is wrong and what to write, without naming the key. CFR_E_CONFIG, CFR_E_NOMEM. */
int cfr_field_store(const struct cfr_field *field, void *node, struct cfr_view text, bool quoted, struct cfr_err *err);
/* Copies every field deeply into the zeroed TO. CFR_E_NOMEM; TO is then to be freed all the same. */
int cfr_field_copy(const struct cfr_table *table, const void *from, void *to, struct cfr_err *err);
/* Frees what the fields own, recursively; not the struct itself. Strings are wiped. */
void cfr_field_free(const struct cfr_table *table, void *node);
/* A text in a mapping. Borrowed. */
struct cfr_field_text {
    const struct cfr_field *field;
    const char *text;
    const char *where;             /* the keys that lead to its mapping, each with a dot behind it, at most 127 bytes */
    const struct cfr_table *table; /* of its mapping */
    const void *node;              /* its mapping, which begins with a struct cfr_node */
};
typedef void cfr_field_each_fn(void *ctx, const struct cfr_field_text *text);
/* Calls EACH for every STRING with FLAG that is set in NODE and in the mappings below it. */
void cfr_field_each(const struct cfr_table *table, const void *node, unsigned flag, cfr_field_each_fn *each, void *ctx);
/* The field with this key, or NULL; not for the keys of a registry. */
const struct cfr_field *cfr_field_find(const struct cfr_table *table, struct cfr_view key);
/* The ONE_OF or ANY_OF field whose registry has KEY, with the row in *OUT; or NULL. */
const struct cfr_field *cfr_field_find_variant(const struct cfr_table *table, struct cfr_view key,
                                               struct cfr_variant *out);
/* Sets *OUT to the INDEX-th key that a mapping of TABLE may have, the keys of a registry as fields of their own in
 * the place of its ONE_OF or ANY_OF. False after the last. */
bool cfr_field_at(const struct cfr_table *table, size_t index, struct cfr_field *out);
/* The key most like TEXT (a typing error away), or NULL. */
const char *cfr_field_suggest(const struct cfr_table *table, struct cfr_view text);

#endif
