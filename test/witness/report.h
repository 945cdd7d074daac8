/* SPDX-License-Identifier: MIT */
/* Reports of the witness. Never shows a file's content: sizes, inodes, modes, names and four letters of a key
 * id. */
#ifndef CFW_REPORT_H
#define CFW_REPORT_H

#include "judge.h"

struct cfw_stats {
    uint64_t observations; /* looks made, by any reader */
    uint64_t states;       /* distinct states seen */
    uint64_t generations;  /* distinct successive targets of `..data` */
    uint64_t events;       /* from inotify */
    uint64_t flaws[CFW_FLAWS];
    struct cfw_luck luck;
    double seconds; /* since the start */
    char first_failure[512];
};

/* Each writes one line to stdout. */
void cfw_report_start(const struct cfw_options *o);
void cfw_report_state(const struct cfw_options *o, const struct cfw_stats *stats, const char *target,
                      const struct cfw_view *view, const struct cfw_verdict *verdict);

/* Adds a verdict's findings to the counts. */
void cfw_report_count(struct cfw_stats *stats, const char *target, const struct cfw_view *view,
                      const struct cfw_verdict *verdict);

/* Also writes --report, by rename. Returns 0, or -1 with a line on stderr if that could not be written. */
int cfw_report_summary(const struct cfw_options *o, const struct cfw_stats *stats);

/* The number of bad things seen. */
uint64_t cfw_report_failures(const struct cfw_stats *stats);

#endif
