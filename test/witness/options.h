/* SPDX-License-Identifier: MIT */
/* The witness's command line. */
#ifndef CFW_OPTIONS_H
#define CFW_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "content.h"

#define CFW_RULES_MAX 64 /* of each of --expect, --kind, --mode */
#define CFW_PATHS_MAX 16 /* of --file */

/* One NAME=VALUE option; name is copied from the argument into this struct. */
struct cfw_rule {
    char name[256];
    unsigned value; /* an enum cfw_kind, or mode bits */
};

struct cfw_rules {
    size_t n;
    struct cfw_rule rule[CFW_RULES_MAX];
};

/* All pointers borrow argv, which outlives everything. */
struct cfw_options {
    const char *dir; /* NULL if only files are watched */
    const char *files[CFW_PATHS_MAX];
    size_t n_files;
    struct cfw_rules expect; /* value unused */
    struct cfw_rules kinds;
    struct cfw_rules modes;
    int64_t for_ms;  /* 0: until a signal */
    uint64_t states; /* 0: no limit */
    int64_t grace_s; /* how long after its expiry a credential is not yet called expired */
    const char *report;
    bool json;
    bool tight;
    bool missing_at_start_ok;
};

/* Fills *o from the arguments. Returns 0; 1 if --help or --version was answered on stdout; -1 if the
 * arguments are wrong, with one line on stderr that says what to write instead. */
int cfw_options_parse(int argc, char **argv, struct cfw_options *o);

/* The rule for a name, or NULL. */
const struct cfw_rule *cfw_options_rule(const struct cfw_rules *rules, const char *name);

#endif
