/* SPDX-License-Identifier: MIT */
/* Subcommand reference: prints the configuration reference, or the part about one key. */
#include "agent/cmd/commands_private.h"

#include "base/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_MAX 160

/* Copies a path of keys without its brackets and quotes: credentials[].mint is credentials.mint. */
static void copy_path(struct cfr_view from, char to[KEY_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < from.n && n < KEY_MAX - 1; i++) {
        if (from.p[i] != '[' && from.p[i] != ']' && from.p[i] != '`')
            to[n++] = from.p[i];
    }
    to[n] = '\0';
}

/* True if KEY is PATH, or its last keys. */
static bool is_end_of(const char *path, const char *key)
{
    size_t n = strlen(path);
    size_t m = strlen(key);

    return m <= n && strcasecmp(path + n - m, key) == 0 && (m == n || path[n - m - 1] == '.');
}

static void print_line(struct cfr_view line)
{
    (void)printf("%.*s\n", (int)line.n, line.p);
}

/* Prints the sections of PAGE whose mapping is KEY, and the rows of KEY in others, below their heading. Returns how
 * many there are. */
static size_t print_key(const char *page, const char *key)
{
    struct cfr_view rest = cfr_view_of(page);
    struct cfr_view heading = {NULL, 0};
    struct cfr_view columns = {NULL, 0};
    struct cfr_view line;
    char section[KEY_MAX] = "";
    char path[2 * KEY_MAX];
    bool whole = false;
    size_t found = 0;

    while (cfr_view_line(&rest, &line)) {
        const char *end = line.n > 3 ? memchr(line.p + 3, '`', line.n - 3) : NULL;

        if (cfr_view_starts(line, "#")) {
            bool named = cfr_view_starts(line, "## ");

            heading = line;
            copy_path(named ? (struct cfr_view){line.p + 3, line.n - 3} : (struct cfr_view){NULL, 0}, section);
            whole = named && is_end_of(section, key);
            found += whole ? 1 : 0;
        } else if (cfr_view_starts(line, "| ") && !cfr_view_starts(line, "| `")) {
            columns = line;
        } else if (!whole && cfr_view_starts(line, "| `") && end != NULL) {
            (void)snprintf(path, sizeof path, "%s.%.*s", section, (int)(end - line.p - 3), line.p + 3);
            if (is_end_of(path, key)) {
                print_line(heading);
                (void)printf("\n%.*s\n|---|---|---|---|\n", (int)columns.n, columns.p);
                print_line(line);
                (void)printf("\n");
                found++;
            }
        }
        if (whole)
            print_line(line);
    }
    return found;
}

int cfr_cmd_reference(const struct cfr_cli_options *o)
{
    const char *format = o->format != NULL ? o->format : "markdown";
    char key[KEY_MAX];
    char *page;
    size_t found;

    if (strcmp(format, "markdown") != 0 && strcmp(format, "man") != 0) {
        cfr_cli_complain("unknown format \"%s\": use markdown or man", format);
        return CFR_EXIT_USAGE;
    }
    if (o->arg_count == 0)
        return cfr_cmd_print_page(format);
    if (strcmp(format, "man") == 0) {
        cfr_cli_complain("the manual page is printed as a whole: leave out --format, or \"%s\"", o->args[0]);
        return CFR_EXIT_USAGE;
    }
    page = cfr_cmd_page(format);
    copy_path(cfr_view_of(o->args[0]), key);
    found = page != NULL ? print_key(page, key) : 0;
    if (page != NULL && found == 0)
        cfr_cli_complain("the configuration has no key \"%s\"; `credfresh reference` lists them all", o->args[0]);
    free(page);
    return found == 0 || fflush(stdout) != 0 ? CFR_EXIT_FAILED : CFR_EXIT_OK;
}
