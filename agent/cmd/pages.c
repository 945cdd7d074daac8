/* SPDX-License-Identifier: MIT */
/* Checked-in pages and completion scripts, which the build compresses and embeds (cmake/embed.py). */
#include "agent/cmd/pages_private.h"

#include "agent/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char markdown[] = {
#include "configuration.md.inc"
};
static const unsigned char man[] = {
#include "credfresh.yaml.5.inc"
};
static const unsigned char bash[] = {
#include "credfresh.bash.inc"
};
static const unsigned char zsh[] = {
#include "_credfresh.inc"
};
static const unsigned char fish[] = {
#include "credfresh.fish.inc"
};

static const struct {
    const char *name;
    const unsigned char *text;
    size_t n;
} pages[] = {
    {"markdown", markdown, sizeof markdown},
    {"man", man, sizeof man},
    {"bash", bash, sizeof bash},
    {"zsh", zsh, sizeof zsh},
    {"fish", fish, sizeof fish},
};

/* Expands TEXT of N bytes to the SIZE bytes of OUT; false if they do not fit together. */
static bool expand(const unsigned char *text, size_t n, unsigned char *out, size_t size)
{
    size_t done = 0;

    for (size_t i = 0; i < n;) {
        bool literal = text[i] < 128;
        size_t count = literal ? text[i] + 1U : text[i] - 124U;
        size_t distance = literal || n - i < 3 ? 0 : text[i + 1] + 256U * text[i + 2];

        if (count > size - done || (literal ? count > n - i - 1 : distance == 0 || distance > done))
            return false;
        for (size_t k = 0; k < count; k++, done++)
            out[done] = literal ? text[i + 1 + k] : out[done - distance];
        i += literal ? 1 + count : 3;
    }
    return done == size;
}

bool cfr_cmd_print_page(const char *name, int *status)
{
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        const unsigned char *p = pages[i].text;
        size_t size = p[0] + 256U * p[1] + 65536U * p[2];
        unsigned char *out;
        bool good;

        if (strcmp(name, pages[i].name) != 0)
            continue;
        out = malloc(size);
        good = out != NULL && expand(p + 4, pages[i].n - 4, out, size) && fwrite(out, 1, size, stdout) == size &&
               fflush(stdout) == 0;
        free(out);
        *status = good ? CFR_EXIT_OK : CFR_EXIT_FAILED;
        return true;
    }
    return false;
}
