/* SPDX-License-Identifier: MIT */
/* What is wrong with a configuration: collected while it is read, then reported in the order of the lines. */
#ifndef CFR_AGENT_BIND_DIAGNOSTICS_H
#define CFR_AGENT_BIND_DIAGNOSTICS_H

#include "base/err.h"
#include "base/str.h"
#include "base/yaml.h"

#define CFR_CONFIG_DIAGNOSTICS_MAX 20

/* Zero it. Holds no heap memory. */
struct cfr_config_diagnostics {
    size_t count; /* all that were found, also those beyond the room below */
    bool nomem;   /* memory ran out: then this is the only thing to report */
    struct cfr_config_diagnostic {
        int line; /* 0 = about the whole file */
        char text[CFR_ERR_TEXT_MAX];
    } items[CFR_CONFIG_DIAGNOSTICS_MAX];
};

/* Control characters in the text become `?`. */
void cfr_config_diagnostics_add(struct cfr_config_diagnostics *p, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Rules that know a mapping's line only report that: each such item gets the line of the key that its text names after
 * what it is about ("credential NAME: exchange.aws: KEY: ..."), where the mapping below ROOT has it. */
void cfr_config_diagnostics_locate(struct cfr_config_diagnostics *p, const struct cfr_yaml_node *root);
/* Puts the first into ERR and appends each as a line "PATH:LINE: TEXT" to ALL (may be NULL). Returns 0 if
 * there are none, else CFR_E_CONFIG or CFR_E_NOMEM. Sorts P. */
int cfr_config_diagnostics_report(struct cfr_config_diagnostics *p, const char *path, struct cfr_str *all,
                                  struct cfr_err *err);

#endif
