/* SPDX-License-Identifier: MIT */
/* Reader of ini files. */
#include "sts/core/ini.h"

#include <string.h>

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The name in `[NAME]`; an empty view if the bracket is not closed. */
static struct cfr_view section_of(struct cfr_view line)
{
    const char *end = memchr(line.p, ']', line.n);

    return end == NULL ? (struct cfr_view){line.p, 0}
                       : cfr_view_trim((struct cfr_view){line.p + 1, (size_t)(end - line.p) - 1});
}

static void read_setting(struct cfr_sts_ini *ini, struct cfr_view line)
{
    size_t at = 0;

    while (at < line.n && line.p[at] != '=' && line.p[at] != ':')
        at++;
    if (at == line.n)
        return;
    ini->key = cfr_view_trim((struct cfr_view){line.p, at});
    ini->value = (struct cfr_view){line.p + at + 1, line.n - at - 1};
    for (size_t i = 1; i < ini->value.n; i++) {
        if ((ini->value.p[i] == '#' || ini->value.p[i] == ';') && blank(ini->value.p[i - 1]))
            ini->value.n = i;
    }
    ini->value = cfr_view_trim(ini->value);
}

bool cfr_sts_ini_next(struct cfr_sts_ini *ini)
{
    struct cfr_view line;

    if (cfr_view_starts(ini->rest, "\xef\xbb\xbf"))
        ini->rest = (struct cfr_view){ini->rest.p + 3, ini->rest.n - 3};
    do {
        if (!cfr_view_line(&ini->rest, &line))
            return false;
        line = cfr_view_trim(line);
    } while (line.n == 0 || line.p[0] == '#' || line.p[0] == ';');
    ini->key = (struct cfr_view){NULL, 0};
    ini->value = (struct cfr_view){NULL, 0};
    ini->head = line.p[0] == '[';
    if (ini->head)
        ini->section = section_of(line);
    else
        read_setting(ini, line);
    return true;
}
