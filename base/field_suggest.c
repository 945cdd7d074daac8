/* SPDX-License-Identifier: MIT */
/* Suggestions for mistyped keys and choices, by edit distance. */
#include "base/field_private.h"

#include <string.h>

#define SUGGEST_MAX 48 /* longer words are not compared */

static char folded(char c)
{
    return (char)(c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Edits (insert, delete, replace, swap of neighbours) that make B of A. Both at most SUGGEST_MAX long. */
static unsigned distance(struct cfr_view a, struct cfr_view b)
{
    unsigned rows[3][SUGGEST_MAX + 1];
    unsigned *before = rows[0];
    unsigned *last = rows[1];
    unsigned *row = rows[2];

    for (unsigned j = 0; j <= b.n; j++)
        last[j] = j;
    memcpy(before, last, (b.n + 1) * sizeof *before);
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned *spare = before;

        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            char x = folded(a.p[i - 1]);
            char y = folded(b.p[j - 1]);
            unsigned best = last[j - 1] + (x == y ? 0 : 1);

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && x == folded(b.p[j - 2]) && y == folded(a.p[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[b.n];
}

/* True if TEXT begins or ends with WORD: SIGHUP for HUP, warning for warn. */
static bool is_part_of(struct cfr_view word, struct cfr_view text)
{
    size_t more = text.n - word.n;

    return word.n >= 3 && text.n > word.n &&
           (distance(word, (struct cfr_view){text.p + more, word.n}) == 0 ||
            distance(word, (struct cfr_view){text.p, word.n}) == 0);
}

/* How far WORD is from TEXT, or UINT_MAX when it is no likely meaning of it. */
static unsigned likeness(struct cfr_view text, const char *word)
{
    struct cfr_view w = cfr_view_of(word);
    unsigned allowed;
    unsigned d;

    if (text.n == 0 || text.n > SUGGEST_MAX || w.n > SUGGEST_MAX)
        return UINT32_MAX;
    d = distance(text, w);
    allowed = w.n <= 3 ? 1 : w.n <= 8 ? 2 : 3;
    if (d <= allowed && d < w.n)
        return d;
    return is_part_of(w, text) ? allowed + 1 : UINT32_MAX;
}

const char *cfr_field_suggest(const struct cfr_table *table, struct cfr_view text)
{
    const char *best = NULL;
    unsigned least = UINT32_MAX;
    struct cfr_field f;

    for (size_t i = 0; cfr_field_at(table, i, &f); i++) {
        unsigned d = likeness(text, f.key);

        if (d < least) {
            least = d;
            best = f.key;
        }
    }
    return best;
}

const char *cfr_field_suggest_choice(const char *const *choices, struct cfr_view text)
{
    const char *best = NULL;
    unsigned least = UINT32_MAX;

    for (; *choices != NULL; choices++) {
        unsigned d = likeness(text, *choices);

        if (d < least) {
            least = d;
            best = *choices;
        }
    }
    return best;
}
