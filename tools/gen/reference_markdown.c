/* SPDX-License-Identifier: MIT */
/* Configuration reference in Markdown, split into pages by subject, and the parts that its manual page shares. */
#include "tools/gen/reference_private.h"

#include "files/format/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INDEX   "configuration"
#define FORMATS "formats"

/* The pages below the index, which has all other sections. */
static const struct page {
    const char *name;
    const char *title;
    const char *lead;
    const char *paths[3]; /* it has the sections of these and of what is below them */
    bool rotates;         /* listed under "Rotate keys and CA" */
} pages[] = {
    {INDEX, "Configuration reference", NULL, {NULL}, false},
    {"aws",
     "AWS",
     "What a token or a Secret is exchanged for at AWS.",
     {"credentials[].exchange.aws", "credentials[].exchange.aws_container"},
     false},
    {"google",
     "Google Cloud",
     "What a token or a key is exchanged for at Google Cloud.",
     {"credentials[].exchange.gcp"},
     false},
    {"azure",
     "Azure",
     "What a token, a certificate or a secret is exchanged for at Entra ID.",
     {"credentials[].exchange.azure"},
     false},
    {"openstack",
     "OpenStack",
     "What a token, a password or an application credential is exchanged for at Keystone.",
     {"credentials[].exchange.openstack"},
     false},
    {"oauth",
     "OAuth servers",
     "What a token or a client's secret is exchanged for at any OAuth server.",
     {"credentials[].exchange.oauth"},
     false},
    {"publish",
     "Publish",
     "Where a credential is written: directories, files, profiles, Secrets, ConfigMaps.",
     {"credentials[].publish"},
     false},
    {FORMATS,
     "Formats and fields",
     "How a credential is written, and which of its values a layout can name.",
     {NULL},
     false},
    {"reload",
     "Notify consumers",
     "What happens after a publish, and how consumers acknowledge it.",
     {"credentials[].reload", "credentials[].acknowledge"},
     false},
    {"endpoints",
     "Serve on this machine",
     "How programs of this machine get credentials without a file.",
     {"endpoints", "credentials[].allow"},
     false},
    {"rotation",
     "Rotate keys",
     "How long-lived keys are created and replaced.",
     {"credentials[].mint", "defaults.mint"},
     true},
    {"service-ca",
     "Service CA",
     "How certificates for servers are issued, and how their CA is replaced.",
     {"service_ca", "credentials[].certificate"},
     true},
};
#define PAGES (sizeof pages / sizeof pages[0])

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

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);

    return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '.' || path[n] == '[');
}

/* The page that has the section of PATH. */
static const struct page *page_of(const char *path)
{
    for (size_t i = 0; i < PAGES; i++) {
        for (size_t k = 0; k < sizeof pages[i].paths / sizeof pages[i].paths[0] && pages[i].paths[k] != NULL; k++) {
            if (is_below(path, pages[i].paths[k]))
                return &pages[i];
        }
    }
    return &pages[0];
}

/* The link from page FROM to the section of PATH, as the anchor of its heading. */
static void add_link(struct cfr_str *out, const struct page *from, const char *path)
{
    const struct page *to = page_of(path);

    cfr_str_addf(out, "[`%s`](", path);
    if (to != from)
        cfr_str_addf(out, "%s%s.md", to == &pages[0] ? "../" : from == &pages[0] ? INDEX "/" : "", to->name);
    cfr_str_addz(out, "#");
    for (; *path != '\0'; path++) {
        if (strchr(".[]", *path) == NULL)
            cfr_str_addf(out, "%c", *path);
    }
    cfr_str_addz(out, ")");
}

/* Appends the section of the keys of F's mapping, if it is not on this page under its own path. */
static void add_place(struct cfr_str *out, const struct cfr_gen_reference *all, const struct page *page,
                      const struct cfr_gen_reference_section *parent, const struct cfr_field *f)
{
    const struct cfr_gen_reference_section *s = f->table != NULL ? section_of(all, f->table) : NULL;
    char path[CFR_GEN_REFERENCE_PATH_MAX];

    name_child(parent, f, path);
    if (s == NULL || (strcmp(s->path, path) == 0 && page_of(path) == page))
        return;
    cfr_str_addz(out, " See ");
    add_link(out, page, s->path);
    cfr_str_addz(out, ".");
}

static void add_row(struct cfr_str *out, const struct cfr_gen_reference *all, const struct page *page,
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
    add_place(out, all, page, parent, f);
    cfr_str_addz(out, " |\n");
}

static void add_section(struct cfr_str *out, const struct cfr_gen_reference *all, const struct page *page,
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
        add_row(out, all, page, s, &f);
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

static void list_pages(struct cfr_str *out, bool rotates)
{
    for (size_t i = 1; i < PAGES; i++) {
        if (pages[i].rotates == rotates)
            cfr_str_addf(out, "- [%s](" INDEX "/%s.md): %s\n", pages[i].title, pages[i].name, pages[i].lead);
    }
}

static void add_index(struct cfr_str *out)
{
    cfr_str_addz(out,
                 "Every key of `credfresh.yaml`. This page and those that it lists are made from the tables that the "
                 "parser itself uses. `credfresh reference` prints them all, `credfresh reference KEY` one key.\n\n"
                 "Keep credentials fresh:\n\n"
                 "- this page: the whole file, a credential, its token or Secret, image pulls, defaults\n");
    list_pages(out, false);
    cfr_str_addz(out, "\nRotate keys, CA and issuer:\n\n");
    list_pages(out, true);
    cfr_str_addz(out, "- an issuer has no keys here: `credfresh-oidc` has options ([Issuer documents](oidc.md))\n\n");
    cfr_str_addz(out, cfr_gen_reference_notation);
}

const char *cfr_gen_reference_page(size_t i)
{
    return i < PAGES ? pages[i].name : NULL;
}

void cfr_gen_reference_markdown(struct cfr_str *out, size_t page)
{
    const struct page *p = &pages[page];
    struct cfr_gen_reference all;

    cfr_gen_reference_collect(&all);
    cfr_str_addf(out, "# %s\n\n", p->title);
    if (page == 0)
        add_index(out);
    else
        cfr_str_addf(out, "%s [%s](../" INDEX ".md) says how values are written, and lists the other pages.\n", p->lead,
                     pages[0].title);
    for (size_t i = 0; i < all.count; i++) {
        if (page_of(all.items[i].path) == p)
            add_section(out, &all, p, &all.items[i]);
    }
    if (strcmp(p->name, FORMATS) == 0) {
        add_formats(out);
        add_fields(out);
    }
}
