/* SPDX-License-Identifier: MIT */
/* Name that a mistyped word is nearest to. */
#include "agent/cli/command_private.h"

#include <string.h>

#define LETTERS_MAX 40

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, remove, replace, or swap with the next one, to make B of A; LETTERS_MAX if one is too long. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LETTERS_MAX + 1];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];
    size_t n = strlen(a);
    size_t m = strlen(b);

    if (n >= LETTERS_MAX || m >= LETTERS_MAX)
        return LETTERS_MAX;
    memset(rows, 0, sizeof rows);
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[m];
}

void cfr_cli_consider(struct cfr_cli_nearest *n, const char *name)
{
    size_t d = distance(n->word, name);

    if (d <= 2 && 3 * d <= strlen(name) + 1 && (n->name == NULL || d < n->distance)) {
        n->name = name;
        n->distance = d;
    }
}
