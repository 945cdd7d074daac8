/* SPDX-License-Identifier: MIT */
/* Checked-in pages, completion scripts and templates, which the build compresses and embeds (cmake/embed.py). */
#include "agent/cmd/commands_private.h"

#include "agent/cli/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which agent/cmd/CMakeLists.txt names their files. */
static const char *const names[] = {"markdown", "man", "bash", "zsh", "fish", "init"};
#define PAGES (sizeof names / sizeof names[0])

static const unsigned char packed[] = {
#include "pages.inc"
};

static size_t page_size(size_t i)
{
    const unsigned char *p = packed + 4 * i;

    return p[0] + 256U * p[1] + 65536U * p[2];
}

/* Expands all pages into the SIZE bytes of OUT; false if they do not fit together. */
static bool expand(unsigned char *out, size_t size)
{
    size_t done = 0;

    for (size_t i = 4 * PAGES; i < sizeof packed;) {
        bool literal = packed[i] < 128;
        size_t left = sizeof packed - i;
        size_t count = literal ? packed[i] + 1U : (packed[i] & 63U) + 4;
        size_t distance =
            literal || left < 3 ? 0 : packed[i + 1] + 256U * packed[i + 2] + 65536U * (packed[i] >> 6 & 1U);

        if (count > size - done || (literal ? count > left - 1 : distance == 0 || distance > done))
            return false;
        for (size_t k = 0; k < count; k++, done++)
            out[done] = literal ? packed[i + 1 + k] : out[done - distance];
        i += literal ? 1 + count : 3;
    }
    return done == size;
}

char *cfr_cmd_page(const char *name)
{
    size_t wanted = 0;
    size_t begin = 0;
    size_t all = 0;
    unsigned char *out;

    while (wanted < PAGES && strcmp(name, names[wanted]) != 0)
        wanted++;
    for (size_t i = 0; i < PAGES; i++) {
        all += page_size(i);
        begin += i < wanted ? page_size(i) : 0;
    }
    out = wanted < PAGES ? malloc(all + 1) : NULL;
    if (out == NULL || !expand(out, all)) {
        free(out);
        return NULL;
    }
    memmove(out, out + begin, page_size(wanted));
    out[page_size(wanted)] = '\0';
    return (char *)out;
}

int cfr_cmd_print_page(const char *name)
{
    char *page = cfr_cmd_page(name);
    bool good = page != NULL && fputs(page, stdout) >= 0 && fflush(stdout) == 0;

    free(page);
    return good ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}
