/* SPDX-License-Identifier: MIT */
/* List of the findings, and its output as text, as lines and as JSON. */
#include "agent/doctor/doctor_private.h"

#include "agent/bind/variables.h"
#include "agent/loop/clock.h"
#include "agent/loop/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cfr_doctor_wants(const struct cfr_doctor *d, const char *name)
{
    for (int i = 0; i < d->options->arg_count; i++) {
        if (strcmp(d->options->args[i], name) == 0)
            return true;
    }
    return d->options->arg_count == 0;
}

#define TIME_LIMIT_MS 30000
#define PIPE_COLUMNS  110
#define LEAST_COLUMNS 60

static void add_finding(void *ctx, const struct cfr_finding *f)
{
    struct cfr_doctor *d = ctx;
    size_t count = d->count;

    cfr_doctor_report(d, f->level, f->check, f->remedy, "%s", f->text);
    if (d->count == count || f->paste == NULL)
        return;
    d->items[count].paste = strdup(f->paste);
    d->nomem = d->nomem || d->items[count].paste == NULL;
}

void cfr_doctor_open(struct cfr_doctor *d, const struct cfr_cli_options *o, bool selection)
{
    int64_t limit_ms = o->timeout_ms >= 0 ? o->timeout_ms : TIME_LIMIT_MS;

    *d = (struct cfr_doctor){
        .options = o,
        .config_path = o->config,
        .end_boot_ms = selection ? INT64_MAX : cfr_clock_now().boot_ms + limit_ms, /* requests have their own limits */
        .selection = selection,
        .sink = {add_finding, d},
    };
}

void cfr_doctor_close(struct cfr_doctor *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->items[i].check);
        free(d->items[i].credential);
        free(d->items[i].file);
        free(d->items[i].text);
        free(d->items[i].remedy);
        free(d->items[i].paste);
    }
    free(d->items);
    d->items = NULL;
    d->count = 0;
    cfr_config_free(d->config);
    d->config = NULL;
    cfr_cli_answer_free(&d->agent);
    cfr_ca_free(&d->ca);
    cfr_doctor_forget_issuer(d);
    for (int i = 0; i < CFR_DOCTOR_DOCUMENTS; i++)
        cfr_str_free(&d->documents[i].text);
}

void cfr_doctor_at(struct cfr_doctor *d, const char *credential, int line)
{
    d->credential = credential;
    d->file = line != 0 ? d->config_path : NULL;
    d->line = d->file != NULL ? line : 0;
}

/* A copy that is safe for a terminal. */
static char *copy_printable(const char *text)
{
    char *copy = text != NULL ? cfr_str_dup(cfr_view_of(text)) : NULL;

    if (copy != NULL)
        (void)cfr_view_show(cfr_view_of(copy), copy, strlen(copy) + 1);
    return copy;
}

static bool grow_list(struct cfr_doctor *d)
{
    size_t cap = d->cap != 0 ? d->cap * 2 : 64;
    struct cfr_doctor_item *items;

    if (d->count < d->cap)
        return true;
    items = realloc(d->items, cap * sizeof *items);
    if (items == NULL)
        return false;
    d->items = items;
    d->cap = cap;
    return true;
}

/* Several checks may meet the same trouble. */
static bool is_known(const struct cfr_doctor *d, enum cfr_finding_level level, const char *text)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct cfr_doctor_item *item = &d->items[i];

        if (item->level == level && cfr_view_same(item->text, text) && cfr_view_same(item->credential, d->credential) &&
            (item->line == d->line || item->line == 0 || d->line == 0))
            return true;
    }
    return false;
}

/* Without a configuration file, replaces keys in TEXT by the variables they come from. A text that is longer than an
 * error is left unchanged. */
static void name_variables(const struct cfr_doctor *d, char *text, size_t size)
{
    if (d->config != NULL && d->config_path == NULL && strlen(text) < CFR_ERR_TEXT_MAX)
        cfr_config_diagnostics_name_variables(cfr_env_get, d->credential, text, size);
}

void cfr_doctor_report(struct cfr_doctor *d, enum cfr_finding_level level, const char *check, const char *remedy,
                       const char *fmt, ...)
{
    char text[CFR_FINDING_TEXT_MAX];
    char advice[CFR_FINDING_TEXT_MAX];
    struct cfr_doctor_item *i;
    va_list ap;

    if (d->selection && ((level == CFR_FINDING_OK && d->selected == CFR_DOCTOR_SELECTED) ||
                         (level == CFR_FINDING_NOTE && d->selected != CFR_DOCTOR_SELECTED_WITH_NOTES)))
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    name_variables(d, text, sizeof text);
    (void)snprintf(advice, sizeof advice, "%s", remedy != NULL ? remedy : "");
    name_variables(d, advice, sizeof advice);
    if (d->selection && is_known(d, level, text))
        return;
    d->tally[level]++;
    if (!grow_list(d)) {
        d->nomem = true;
        return;
    }
    i = &d->items[d->count++];
    *i = (struct cfr_doctor_item){
        .level = level,
        .line = d->line,
        .check = copy_printable(check),
        .credential = copy_printable(d->credential),
        .file = copy_printable(d->file),
        .text = copy_printable(text),
        .remedy = copy_printable(remedy != NULL ? advice : NULL),
        .advice = d->advises && level == CFR_FINDING_NOTE,
    };
    d->nomem = d->nomem || i->text == NULL || i->check == NULL;
}

enum cfr_finding_level cfr_doctor_later(const struct cfr_doctor *d)
{
    return d->selection ? CFR_FINDING_WARNING : CFR_FINDING_WRONG;
}

int64_t cfr_doctor_left_ms(struct cfr_doctor *d)
{
    int64_t left = d->end_boot_ms - cfr_clock_now().boot_ms;

    d->late = d->late || left <= 0;
    return left > 0 ? left : 0;
}

/* ---- text ---- */

static void add_wrapped(struct cfr_str *out, size_t columns, size_t indent, const char *text)
{
    cfr_str_add_wrapped(out, text, columns, indent, indent);
    cfr_str_addz(out, "\n");
}

static const char *colour_of(enum cfr_finding_level level)
{
    return level == CFR_FINDING_WRONG     ? "\033[31m"
           : level == CFR_FINDING_WARNING ? "\033[33m"
           : level == CFR_FINDING_OK      ? "\033[32m"
                                          : "\033[2m";
}

/* Lines to paste: indented, and never broken. */
static void add_lines(struct cfr_str *out, const char *text)
{
    struct cfr_view rest = cfr_view_of(text);
    struct cfr_view line;

    while (cfr_view_line(&rest, &line)) {
        cfr_str_addz(out, "    ");
        cfr_str_add(out, line);
        cfr_str_addz(out, "\n");
    }
}

static void write_item(const struct cfr_doctor_item *i, const struct cfr_doctor_layout *l, struct cfr_str *out)
{
    size_t columns = l->columns == 0 ? PIPE_COLUMNS : l->columns > LEAST_COLUMNS ? l->columns : LEAST_COLUMNS;
    size_t indent = columns < PIPE_COLUMNS ? 7 : 32;

    cfr_str_addf(out, "  %s%-8s%s ", l->colours ? colour_of(i->level) : "", cfr_finding_level_name(i->level),
                 l->colours ? "\033[0m" : "");
    if (columns < PIPE_COLUMNS) /* the text has a narrow terminal to itself */
        cfr_str_addf(out, "%s\n%*s", i->check, (int)indent, "");
    else
        cfr_str_addf(out, "%-20s ", i->check);
    add_wrapped(out, columns, indent, i->text != NULL ? i->text : "");
    if (i->paste != NULL)
        add_lines(out, i->paste);
    if (i->level >= CFR_FINDING_WARNING && i->file != NULL) {
        cfr_str_addf(out, "%*sat %s", (int)indent, "", i->file);
        if (i->line != 0)
            cfr_str_addf(out, ":%d", i->line);
        cfr_str_addz(out, "\n");
    }
    if (i->remedy != NULL) {
        cfr_str_addf(out, "%*s-> ", (int)indent - 3, "");
        add_wrapped(out, columns, indent, i->remedy);
    }
}

/* The findings of the levels FROM to TO, by credential. */
static bool write_levels(const struct cfr_doctor *d, enum cfr_finding_level from, enum cfr_finding_level to, bool first,
                         const struct cfr_doctor_layout *l, struct cfr_str *out)
{
    const char *about = NULL;
    bool any = false;

    for (size_t i = 0; i < d->count; i++) {
        const struct cfr_doctor_item *item = &d->items[i];

        if ((item->level < from || item->level > to) &&
            !(item->advice && !d->options->verbose && to == CFR_FINDING_WRONG))
            continue;
        if (!any || !cfr_view_same(about, item->credential))
            cfr_str_addf(out, "%s%s\n", first && !any ? "" : "\n",
                         item->credential != NULL ? item->credential : "agent and machine");
        about = item->credential;
        any = true;
        write_item(item, l, out);
    }
    return any;
}

static void add_count(struct cfr_str *out, unsigned n, const char *one, const char *many, const char *after)
{
    cfr_str_addf(out, "%u %s%s", n, n == 1 ? one : many, after);
}

void cfr_doctor_write_text(const struct cfr_doctor *d, const struct cfr_doctor_layout *l, struct cfr_str *out)
{
    bool any = d->options->verbose && write_levels(d, CFR_FINDING_OK, CFR_FINDING_NOTE, true, l, out);

    any |= write_levels(d, CFR_FINDING_WARNING, CFR_FINDING_WARNING, !any, l, out);
    any |= write_levels(d, CFR_FINDING_WRONG, CFR_FINDING_WRONG, !any, l, out);
    cfr_str_addf(out, "%s%s: ", any ? "\n" : "", d->config_path != NULL ? d->config_path : "environment");
    add_count(out, d->tally[CFR_FINDING_WRONG], "wrong", "wrong", ", ");
    add_count(out, d->tally[CFR_FINDING_WARNING], "warning", "warnings", ", ");
    add_count(out, d->tally[CFR_FINDING_NOTE], "note", "notes", ", ");
    add_count(out, d->tally[CFR_FINDING_OK], "ok", "ok", d->options->verbose ? "" : " (-v shows them)");
    cfr_doctor_add_judge(d, out);
    cfr_str_addz(out, "\n");
}

/* ---- JSON ---- */

static void add_member(struct cfr_str *out, const char *key, const char *text)
{
    cfr_str_addf(out, "\"%s\":", key);
    cfr_str_add_json(out, cfr_view_of(text));
    cfr_str_addz(out, ",");
}

static void write_json_item(const struct cfr_doctor_item *i, struct cfr_str *out)
{
    cfr_str_addz(out, "{");
    add_member(out, "level", cfr_finding_level_name(i->level));
    add_member(out, "check", i->check);
    add_member(out, "credential", i->credential);
    add_member(out, "file", i->file);
    if (i->line != 0)
        cfr_str_addf(out, "\"line\":%d,", i->line);
    else
        cfr_str_addz(out, "\"line\":null,");
    add_member(out, "text", i->text);
    add_member(out, "remedy", i->remedy);
    cfr_str_addz(out, "\"paste\":");
    cfr_str_add_json(out, cfr_view_of(i->paste));
    cfr_str_addz(out, "}");
}

void cfr_doctor_write_json(const struct cfr_doctor *d, struct cfr_str *out)
{
    cfr_str_addz(out, "{\"version\":1,");
    add_member(out, "config", d->config_path);
    cfr_str_addf(out, "\"offline\":%s,\"complete\":%s,\"summary\":{", d->options->offline ? "true" : "false",
                 d->late ? "false" : "true");
    for (int l = CFR_FINDING_WRONG; l >= CFR_FINDING_OK; l--)
        cfr_str_addf(out, "\"%s\":%u%s", cfr_finding_level_name((enum cfr_finding_level)l), d->tally[l],
                     l != CFR_FINDING_OK ? "," : "},\"findings\":[");
    for (size_t i = 0; i < d->count; i++) {
        cfr_str_addz(out, i != 0 ? ",\n" : "\n");
        write_json_item(&d->items[i], out);
    }
    cfr_str_addz(out, "]}\n");
}
