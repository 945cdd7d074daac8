/* SPDX-License-Identifier: MIT */
/* Reads a configuration's YAML by libyaml into a tree with line numbers. Pure.
 * Memory: the document owns its nodes; they are valid until cfr_yaml_free. Errors: CFR_E_CONFIG with a line,
 * CFR_E_NOMEM. Limits: CFR_YAML_DEPTH_MAX levels (CFR_YAML_FOREIGN_DEPTH_MAX for other programs' files), and
 * CFR_YAML_NODES_MAX nodes in what is not trusted, since one takes 80 bytes of memory for two of text; the caller
 * limits the size. */
#ifndef CFR_BASE_YAML_H
#define CFR_BASE_YAML_H

#include "base/err.h"
#include "base/view.h"

#define CFR_YAML_DEPTH_MAX         16
#define CFR_YAML_FOREIGN_DEPTH_MAX 64
#define CFR_YAML_NODES_MAX         16384

enum cfr_yaml_kind { CFR_YAML_SCALAR, CFR_YAML_LIST, CFR_YAML_MAP };

/* In a mapping, keys and values take turns among the children. */
struct cfr_yaml_node {
    enum cfr_yaml_kind kind;
    int line;             /* 1-based */
    bool quoted;          /* scalar: in quotes or as a block (| or >) */
    size_t count;         /* list: items; map: pairs */
    struct cfr_view text; /* scalar: may hold any character */
    struct cfr_yaml_node *child;
    struct cfr_yaml_node *next;
};

struct cfr_yaml;

/* Reads the one YAML 1.1 document (so JSON, too) in TEXT, in plain form: no anchors, aliases, merge keys,
 * tags or further documents. CFR_E_CONFIG with *LINE (0 = about the whole text), CFR_E_NOMEM. The caller
 * frees *OUT. */
int cfr_yaml_parse(struct cfr_view text, struct cfr_yaml **out, int *line, struct cfr_err *err);
/* The same for an untrusted text: at most CFR_YAML_NODES_MAX nodes. */
int cfr_yaml_parse_limited(struct cfr_view text, struct cfr_yaml **out, int *line, struct cfr_err *err);
/* Called once for each mapping when it is complete. An error, whose line is *LINE, ends the reading. */
typedef int cfr_yaml_map_fn(void *ctx, const struct cfr_yaml_node *map, int *line);
/* The same for a file of another program, as yaml.v2 of Go reads it: the first document, with anchors, aliases and
 * merge keys resolved, so that a node may be reached in several ways. At most 1024 anchors, and 4096 aliases and merged
 * pairs. FN is called with CTX and sets ERR. */
int cfr_yaml_parse_foreign(struct cfr_view text, cfr_yaml_map_fn *fn, void *ctx, struct cfr_yaml **out, int *line,
                           struct cfr_err *err);
/* Valid until cfr_yaml_free. */
const struct cfr_yaml_node *cfr_yaml_root(const struct cfr_yaml *doc);
void cfr_yaml_free(struct cfr_yaml *doc);

/* True for a value that is not there: nothing, ~ or null, without quotes. */
bool cfr_yaml_is_null(const struct cfr_yaml_node *node);
/* The value of KEY in a mapping, or NULL; *KEY_LINE (may be NULL) is the line of the key. */
const struct cfr_yaml_node *cfr_yaml_get(const struct cfr_yaml_node *map, const char *key, int *key_line);

/* True for "KEY:VALUE", which lacks the space that would make it a pair. *KEY is then the key. */
bool cfr_yaml_lacks_space(struct cfr_view text, struct cfr_view *key);
#define CFR_YAML_NO_VARIABLES "variables are not replaced in this file; write the value"

/* The version of libyaml, as in "0.2.5". */
const char *cfr_yaml_library(void);

#endif
