/* SPDX-License-Identifier: MIT */
/* Configuration reference in Markdown, and the parts that its manual page shares. */
#include "gen/reference_private.h"

#include "files/format/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *type_name(const struct cfr_field *f)
{
    switch (f->type) {
    case CFR_FIELD_STRING:
        return (f->flags & CFR_FIELD_PATH) != 0        ? "absolute path"
               : (f->flags & CFR_FIELD_FILE_NAME) != 0 ? "file name"
                                                       : "text";
    case CFR_FIELD_BOOL:
        return "true or false";
    case CFR_FIELD_INT:
        return "integer";
    case CFR_FIELD_DURATION:
        return "duration";
    case CFR_FIELD_MODE:
        return "mode";
    case CFR_FIELD_ENUM:
        return "";
    case CFR_FIELD_STRINGS:
        return "list of text";
    case CFR_FIELD_PAIRS:
        return "mapping of text";
    case CFR_FIELD_MAP:
    case CFR_FIELD_ONE_OF:
    case CFR_FIELD_ANY_OF:
        return "mapping";
    case CFR_FIELD_LIST:
        return "list";
    case CFR_FIELD_ONE_OR_LIST:
        return "mapping or list";
    }
    return "";
}

/* As it is to be written: 1h30m. */
static void add_duration(struct cfr_str *out, int64_t ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

    if (ms == 0)
        cfr_str_addz(out, "0s");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; ms %= units[i].ms, i++) {
        if (ms >= units[i].ms)
            cfr_str_addf(out, "%" PRId64 "%s", ms / units[i].ms, units[i].unit);
    }
}

/* A `|` would end the cell. */
static void add_cell(struct cfr_str *out, const char *text)
{
    for (; *text != '\0'; text++)
        cfr_str_addf(out, *text == '|' ? "\\%c" : "%c", *text);
}

static void add_limits(struct cfr_str *out, const struct cfr_field *f)
{
    if (f->min == 0 && f->max == 0)
        return;
    switch (f->type) {
    case CFR_FIELD_INT:
        if (f->min == f->max)
            cfr_str_addf(out, ", %" PRId64, f->min);
        else
            cfr_str_addf(out, ", %" PRId64 " to %" PRId64, f->min, f->max);
        break;
    case CFR_FIELD_DURATION:
        cfr_str_addz(out, ", ");
        add_duration(out, f->min);
        cfr_str_addz(out, " to ");
        add_duration(out, f->max);
        break;
    case CFR_FIELD_STRING:
        cfr_str_addf(out, ", at most %" PRId64 " bytes", f->max);
        break;
    case CFR_FIELD_STRINGS:
    case CFR_FIELD_LIST:
    case CFR_FIELD_ONE_OR_LIST:
        cfr_str_addf(out, ", at most %" PRId64 " items", f->max);
        break;
    case CFR_FIELD_PAIRS:
        cfr_str_addf(out, ", at most %" PRId64 " keys", f->max);
        break;
    case CFR_FIELD_BOOL:
    case CFR_FIELD_MODE:
    case CFR_FIELD_ENUM:
    case CFR_FIELD_MAP:
    case CFR_FIELD_ONE_OF:
    case CFR_FIELD_ANY_OF:
        break;
    }
}

static void add_choices(struct cfr_str *out, const struct cfr_field *f)
{
    for (size_t i = 0; f->type == CFR_FIELD_ENUM && f->choices[i] != NULL; i++)
        cfr_str_addf(out, "%s`%s`", i == 0 ? "" : f->choices[i + 1] == NULL ? " or " : ", ", f->choices[i]);
}

void cfr_gen_reference_add_value(struct cfr_str *out, const struct cfr_field *f)
{
    cfr_str_addz(out, type_name(f));
    add_choices(out, f);
    add_limits(out, f);
}

static const struct cfr_gen_reference_section *section_of(const struct cfr_gen_reference *all,
                                                          const struct cfr_table *table)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].table == table)
            return &all->items[i];
    }
    return NULL;
}

static void name_child(const struct cfr_gen_reference_section *parent, const struct cfr_field *f,
                       char path[CFR_GEN_REFERENCE_PATH_MAX])
{
    (void)snprintf(path, CFR_GEN_REFERENCE_PATH_MAX, "%.80s%s%.40s%s", parent->path, parent->path[0] != '\0' ? "." : "",
                   f->key, f->type == CFR_FIELD_MAP ? "" : "[]");
}

void cfr_gen_reference_add_place(struct cfr_str *out, const struct cfr_gen_reference *all,
                                 const struct cfr_gen_reference_section *parent, const struct cfr_field *f)
{
    const struct cfr_gen_reference_section *s = f->table != NULL ? section_of(all, f->table) : NULL;
    char path[CFR_GEN_REFERENCE_PATH_MAX];

    name_child(parent, f, path);
    if (s != NULL && strcmp(s->path, path) != 0)
        cfr_str_addf(out, " See `%s`.", s->path);
}

static void add_row(struct cfr_str *out, const struct cfr_gen_reference *all,
                    const struct cfr_gen_reference_section *parent, const struct cfr_field *f)
{
    const char *quote = f->type == CFR_FIELD_MODE ? "\"" : "";

    cfr_str_addf(out, "| `%s` | ", f->key);
    cfr_gen_reference_add_value(out, f);
    if ((f->flags & CFR_FIELD_REQUIRED) != 0)
        cfr_str_addz(out, " | **required** | ");
    else if (f->fallback != NULL)
        cfr_str_addf(out, " | `%s%s%s` | ", quote, f->fallback, quote);
    else
        cfr_str_addz(out, " | | ");
    add_cell(out, f->doc != NULL ? f->doc : "");
    cfr_gen_reference_add_place(out, all, parent, f);
    cfr_str_addz(out, " |\n");
}

static void add_section(struct cfr_str *out, const struct cfr_gen_reference *all,
                        const struct cfr_gen_reference_section *s)
{
    struct cfr_field f;

    if (s->path[0] != '\0')
        cfr_str_addf(out, "\n## `%s`\n\n", s->path);
    else
        cfr_str_addz(out, "\n## The whole file\n\n");
    if (s->table->doc != NULL)
        cfr_str_addf(out, "%s\n\n", s->table->doc);
    cfr_str_addz(out, "| key | value | default | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; cfr_field_at(s->table, i, &f); i++)
        add_row(out, all, s, &f);
}

/* Puts the sub-tables of section I right behind it, in the order of its keys. */
static void insert_children(struct cfr_gen_reference *all, size_t i)
{
    const struct cfr_gen_reference_section parent = all->items[i];
    size_t at = i + 1;
    struct cfr_field f;

    for (size_t k = 0; cfr_field_at(parent.table, k, &f); k++) {
        struct cfr_gen_reference_section *s = &all->items[at];

        if (f.table == NULL || all->count == CFR_GEN_REFERENCE_SECTIONS_MAX || section_of(all, f.table) != NULL)
            continue;
        memmove(s + 1, s, (all->count - at) * sizeof *s);
        s->table = f.table;
        name_child(&parent, &f, s->path);
        all->count++;
        at++;
    }
}

static void add_formats(struct cfr_str *out)
{
    cfr_str_addz(out, "\n## Formats\n\n| format | what it is | as a profile | field it needs |\n|---|---|---|---|\n");
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++) {
        cfr_str_addf(out, "| `%s` | ", f->name);
        add_cell(out, f->doc != NULL ? f->doc : "");
        cfr_str_addf(out, " | %s | ", f->profile ? "yes" : "no");
        if (f->needs != NULL)
            cfr_str_addf(out, "`%s` |\n", cfr_grant_public_name(f->needs));
        else
            cfr_str_addz(out, "none |\n");
    }
}

static void add_fields(struct cfr_str *out)
{
    cfr_str_addz(out,
                 "\n## Fields\n\nWhat the formats `field` and `template` can name. Which of them a credential has "
                 "follows from its exchange or its rotated key. There are also `credential` (its name), "
                 "`generation`, `identity`, `issued` and `expires` (RFC 3339), and `expires_at` (Unix seconds).\n\n"
                 "| field | value | secret | in json and env |\n|---|---|---|---|\n");
    for (const struct cfr_grant_name *row = cfr_grant_names; row->field != NULL; row++) {
        cfr_str_addf(out, "| `%s` | ", cfr_grant_public_name(row->field));
        add_cell(out, row->doc != NULL ? row->doc : "");
        cfr_str_addf(out, " | %s | %s |\n", row->shown ? "no" : "yes",
                     cfr_grant_public_name(row->field) == row->field ? "yes" : "no");
    }
}

void cfr_gen_reference_collect(struct cfr_gen_reference *all)
{
    *all = (struct cfr_gen_reference){.items = {{&cfr_config_table, ""}}, .count = 1};
    for (size_t i = 0; i < all->count; i++)
        insert_children(all, i);
}

const char cfr_gen_reference_notation[] =
    "A **duration** is whole numbers with the units `d`, `h`, `m`, `s` and `ms`, the largest first: `90s`, "
    "`1h30m`. "
    "A **mode** is octal and in quotes: `\"0640\"`. An **absolute path** begins with `/` and has no `.` or "
    "`..` "
    "component. A **file name** has no `/` and does not begin with `..`. **true** and **false** are written "
    "so and in no "
    "other way.\n"
    "Nothing in the file is taken from the environment; a provider's table says which variables it reads.\n";

void cfr_gen_reference_markdown(struct cfr_str *out)
{
    struct cfr_gen_reference all;

    cfr_gen_reference_collect(&all);
    cfr_str_addz(out,
                 "# Configuration reference\n\nThis page is made from the tables that the parser itself uses.\n\n");
    cfr_str_addz(out, cfr_gen_reference_notation);
    for (size_t i = 0; i < all.count; i++)
        add_section(out, &all, &all.items[i]);
    add_formats(out);
    add_fields(out);
}
