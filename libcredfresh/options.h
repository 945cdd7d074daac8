/* SPDX-License-Identifier: MIT */
/* The options of a watcher, checked and copied. */
#ifndef CFL_OPTIONS_H
#define CFL_OPTIONS_H

#include "volume.h"

struct cfl_options {
    unsigned flags;
    unsigned check_ms;
    unsigned poll_ms;
    credfresh_change_fn *on_change;
    void *context;
    char *directory; /* absolute */
    char **names;    /* sorted */
    struct cfl_wanted wanted;
};

/* GIVEN may be NULL. The caller frees OUT also after an error. */
int cfl_options_copy(const char *directory, const struct credfresh_options *given, struct cfl_options *out,
                     struct cfl_error *e);
void cfl_options_free(struct cfl_options *o);

#endif
