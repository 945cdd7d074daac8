/* SPDX-License-Identifier: MIT */
/* Completion scripts of the shells, made from the grammar of the command line. */
#ifndef CFR_TOOLS_GEN_COMPLETION_PRIVATE_H
#define CFR_TOOLS_GEN_COMPLETION_PRIVATE_H

#include "agent/cli/command.h"
#include "base/str.h"

#define CFR_GEN_COMPLETION_ARGUMENTS_MAX 4

/* A kind of word: NAME (of a credential), FILE, SOCKET, DIR, COMMAND (a program and its arguments), or the choices, as
 * in sh|env|json. Any other text is not completed. */
struct cfr_gen_completion_word {
    char text[512];
    bool again; /* it can be repeated */
};

/* The arguments of C; returns their number in OUT. */
size_t cfr_gen_completion_arguments(const struct cfr_cli_command *c,
                                    struct cfr_gen_completion_word out[CFR_GEN_COMPLETION_ARGUMENTS_MAX]);
/* The value of O as an option of C; empty if it takes none. */
struct cfr_gen_completion_word cfr_gen_completion_value(const struct cfr_cli_command *c,
                                                        const struct cfr_cli_option *o);
bool cfr_gen_completion_is_choice(const struct cfr_gen_completion_word *w);
/* Appends TEXT in single quotes, for a shell that writes such a quote in it as QUOTE. */
void cfr_gen_completion_quote(struct cfr_str *out, const char *text, const char *quote);

/* The scripts for cfr_cli_program, with @NAME@ for its name and @ID@ for its name with `_` instead of `-`. */
void cfr_gen_completion_bash(struct cfr_str *out);
void cfr_gen_completion_zsh(struct cfr_str *out);
void cfr_gen_completion_fish(struct cfr_str *out);
/* Appends SCRIPT, one of these, for credfresh-oidc if OIDC, else for credfresh. */
void cfr_gen_completion_write(struct cfr_str *out, bool oidc, void (*script)(struct cfr_str *out));

#endif
