/* SPDX-License-Identifier: MIT */
/* Golden data: whole files, and tables of columns separated by tabs. */
#ifndef CFR_TEST_DATA_FILE_H
#define CFR_TEST_DATA_FILE_H

#include "base/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads NAME below the data folder; the caller frees out.p. */
static inline struct cfr_view data_file_read(const char *name)
{
    char path[4096];
    struct cfr_view out = {NULL, 0};
    char *bytes = malloc(1 << 20);
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", CFR_TEST_DATA, name);
    f = fopen(path, "rb");
    if (f == NULL || bytes == NULL) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        abort();
    }
    out.n = fread(bytes, 1, 1 << 20, f);
    out.p = bytes;
    (void)fclose(f);
    return out;
}

/* The same of FOLDER/SUB/FILE. */
static inline struct cfr_view data_file_case(const char *folder, const char *sub, struct cfr_view file)
{
    char name[256];

    (void)snprintf(name, sizeof name, "%s/%s/%.*s", folder, sub, (int)file.n, file.p);
    return data_file_read(name);
}

static inline void data_file_free(struct cfr_view file)
{
    free((void *)(uintptr_t)file.p);
}

/* Takes the next row that is no comment, cut into COUNT columns. */
static inline bool data_file_row(struct cfr_view *rest, struct cfr_view *columns, size_t count)
{
    struct cfr_view line;

    while (cfr_view_line(rest, &line)) {
        if (line.n == 0 || line.p[0] == '#')
            continue;
        for (size_t i = 0; i < count; i++) {
            const char *tab = memchr(line.p, '\t', line.n);

            columns[i] = (struct cfr_view){line.p, tab != NULL ? (size_t)(tab - line.p) : line.n};
            line.p += columns[i].n + (tab != NULL ? 1 : 0);
            line.n -= columns[i].n + (tab != NULL ? 1 : 0);
        }
        return true;
    }
    return false;
}

static inline int64_t data_file_number(struct cfr_view column)
{
    int64_t n;

    if (!cfr_view_int(column, &n)) {
        (void)fprintf(stderr, "%.*s is no number\n", (int)column.n, column.p);
        abort();
    }
    return n;
}

#endif
