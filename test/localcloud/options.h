/* SPDX-License-Identifier: MIT */
/* The command line of the local cloud. */
#ifndef LC_OPTIONS_H
#define LC_OPTIONS_H

#include "text.h"

struct lc_options {
    const char *state;
    const char *config; /* NULL: none */
    unsigned short port;
    double speed;
    const char *log; /* NULL: none */
    bool help;
    bool version;
};

/* 0, or -1 with what is wrong. Texts are borrowed from argv. */
int lc_options_read(int argc, char *argv[], struct lc_options *out, struct lc_fail *fail);

extern const char lc_options_help[];

#endif
