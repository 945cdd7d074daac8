/* SPDX-License-Identifier: MIT */
/* Checked-in pages and completion scripts, which the build compresses and embeds (cmake/embed.py). */
#include "agent/cmd/pages_private.h"

#include "agent/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which agent/cmd/CMakeLists.txt names their files. */
static const char *const names[] = {"markdown", "man", "bash", "zsh", "fish"};
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

bool cfr_cmd_print_page(const char *name, int *status)
{
    size_t wanted = 0;
    size_t begin = 0;
    size_t size = 0;
    unsigned char *out;
    bool good;

    while (wanted < PAGES && strcmp(name, names[wanted]) != 0)
        wanted++;
    if (wanted == PAGES)
        return false;
    for (size_t i = 0; i < PAGES; i++) {
        size += page_size(i);
        begin += i < wanted ? page_size(i) : 0;
    }
    out = malloc(size);
    good = out != NULL && expand(out, size) && fwrite(out + begin, 1, page_size(wanted), stdout) == page_size(wanted) &&
           fflush(stdout) == 0;
    free(out);
    *status = good ? CFR_EXIT_OK : CFR_EXIT_FAILED;
    return true;
}
