/* SPDX-License-Identifier: MIT */
/* What shells need to complete our command lines, made from the tables that read them. */
#ifndef CFR_GEN_COMPLETION_H
#define CFR_GEN_COMPLETION_H

#include "agent/cli/command.h"
#include "base/str.h"

#define CFR_GEN_COMPLETION_ARGUMENTS_MAX 4

/* What may stand somewhere: NAME (of a credential), FILE, SOCKET, DIR, COMMAND (a program and what follows),
 * or what may be chosen from, as in sh|env|json. Anything else cannot be completed. */
struct cfr_gen_completion_word {
    char text[512];
    bool again; /* it may come again */
};

/* What the arguments of C are; returns how many there are in OUT. */
size_t cfr_gen_completion_arguments(const struct cfr_cli_command *c,
                                    struct cfr_gen_completion_word out[CFR_GEN_COMPLETION_ARGUMENTS_MAX]);
/* What the value of O is with C; empty if it takes none. */
struct cfr_gen_completion_word cfr_gen_completion_value(const struct cfr_cli_command *c,
                                                        const struct cfr_cli_option *o);
bool cfr_gen_completion_is_choice(const struct cfr_gen_completion_word *w);
/* Appends TEXT in single quotes, for a shell where QUOTE stands for such a quote in it. */
void cfr_gen_completion_quote(struct cfr_str *out, const char *text, const char *quote);

/* The files that the shells read. */
void cfr_gen_completion_bash(struct cfr_str *out);
void cfr_gen_completion_zsh(struct cfr_str *out);
void cfr_gen_completion_fish(struct cfr_str *out);

#endif
