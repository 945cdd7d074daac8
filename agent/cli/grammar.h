/* SPDX-License-Identifier: MIT */
/* Short names for the rows of a grammar's tables. Only the files that hold such tables include it. */
#ifndef CFR_AGENT_CLI_GRAMMAR_H
#define CFR_AGENT_CLI_GRAMMAR_H

#include "agent/cli/command.h"

#define PARTS(...)                                                                                                     \
    (const struct cfr_cli_part[])                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            .option = 0                                                                                                \
        }                                                                                                              \
    }
#define OPTION(letter)                                                                                                 \
    {                                                                                                                  \
        .option = (letter)                                                                                             \
    }
#define OPTION_AS(letter, how)                                                                                         \
    {                                                                                                                  \
        .option = (letter), .flags = (how)                                                                             \
    }
#define CHOICE_OF(letter, words)                                                                                       \
    {                                                                                                                  \
        .option = (letter), .word = (words), .values = CFR_CLI_CHOICE                                                  \
    }
#define ARGUMENT(name, kind, how)                                                                                      \
    {                                                                                                                  \
        .word = (name), .values = (kind), .flags = (how)                                                               \
    }
#define OPTION_FOR(letter, text)                                                                                       \
    {                                                                                                                  \
        .option = (letter), .summary = (text)                                                                          \
    }
#define TIMEOUT(limit) OPTION_FOR('t', "the longest time to take, such as 90s; default: " limit)

#endif
