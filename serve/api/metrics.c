/* SPDX-License-Identifier: MIT */
/* The metrics page (Prometheus text format 0.0.4): the rows of each section by families, each written in one piece. */
#include "serve/api/rows_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FAMILIES_MAX 64 /* of a section */
#define LABELS_MAX   65536

const double cfr_api_status_bounds[CFR_API_STATUS_BUCKETS] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};

void cfr_api_status_observe(struct cfr_api_status_histogram *h, double seconds)
{
    size_t i = 0;

    while (i < CFR_API_STATUS_BUCKETS && seconds > cfr_api_status_bounds[i])
        i++;
    h->buckets[i]++;
    h->count++;
    h->sum_s += seconds;
}

/* A family that is being written. */
struct writing {
    struct cfr_str *out;
    const struct cfr_api_family *family;
    bool begun;            /* its head is written */
    struct cfr_str labels; /* of the samples that follow */
};

static void write_head(struct writing *w)
{
    const struct cfr_api_family *f = w->family;

    if (!w->begun)
        cfr_str_addf(w->out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
    w->begun = true;
}

static void add_label(struct cfr_str *labels, const char *key, const char *value)
{
    cfr_str_addz(labels, labels->len != 0 ? "," : "");
    cfr_str_addz(labels, key);
    cfr_str_addz(labels, "=\"");
    while (value != NULL && *value != '\0') {
        size_t n = strcspn(value, "\n\\\"");

        cfr_str_add(labels, (struct cfr_view){value, n});
        value += n;
        if (*value == '\0')
            break;
        cfr_str_addz(labels, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
        value++;
    }
    cfr_str_addz(labels, "\"");
}

/* Writes a sample, and takes the labels after the first BYTES of them away. */
static void write_sample(struct writing *w, const char *suffix, const char *value, size_t bytes)
{
    write_head(w);
    cfr_str_addz(w->out, w->family->name);
    cfr_str_addz(w->out, suffix);
    cfr_str_addz(w->out, w->labels.len != 0 ? "{" : "");
    cfr_str_add(w->out, cfr_str_view(&w->labels));
    cfr_str_addz(w->out, w->labels.len != 0 ? "} " : " ");
    cfr_str_addz(w->out, value);
    cfr_str_addz(w->out, "\n");
    w->out->failed = w->out->failed || w->labels.failed;
    w->labels.len = bytes;
}

static void write_histogram(struct writing *w, const struct cfr_api_status_histogram *h)
{
    size_t bytes = w->labels.len;
    char value[32];
    uint64_t sum = 0;

    for (size_t i = 0; i <= CFR_API_STATUS_BUCKETS; i++) {
        char bound[32] = "+Inf";

        if (i < CFR_API_STATUS_BUCKETS)
            (void)snprintf(bound, sizeof bound, "%g", cfr_api_status_bounds[i]);
        sum += h->buckets[i];
        add_label(&w->labels, "le", bound);
        (void)snprintf(value, sizeof value, "%" PRIu64, sum);
        write_sample(w, "_bucket", value, bytes);
    }
    (void)snprintf(value, sizeof value, "%.9g", h->sum_s);
    write_sample(w, "_sum", value, bytes);
    (void)snprintf(value, sizeof value, "%" PRIu64, h->count);
    write_sample(w, "_count", value, bytes);
}

/* One series for each state, so that none remains when it changes. */
static void write_states(struct writing *w, const struct cfr_api_row *row, const char *text)
{
    size_t bytes = w->labels.len;

    for (size_t i = 0; text != NULL && row->states[i] != NULL; i++) {
        if (row->label != NULL)
            add_label(&w->labels, row->label, row->states[i]);
        write_sample(w, "", strcmp(text, row->states[i]) == 0 ? "1" : "0", bytes);
    }
}

static uint64_t count_errors(const struct cfr_api_row *row, const void *node)
{
    const char *items = cfr_api_row_pointer(node, row->offset);
    const struct cfr_api_row *error = row->rows;
    uint64_t n = 0;

    while (error->key == NULL || strcmp(error->key, "error") != 0)
        error++;
    for (size_t i = 0; i < cfr_api_row_count(row, node); i++)
        n += cfr_api_row_pointer(items + i * row->item_size, error->offset) != NULL ? 1 : 0;
    return n;
}

/* The sample of ROW, or its value as a label. */
static const char *show_value(const struct cfr_api_row *row, const void *node, char out[static 24])
{
    const void *at = (const char *)node + row->offset;
    bool zero = cfr_api_row_is_zero(row, node);

    if (row->type == CFR_API_INSTANT || row->type == CFR_API_NUMBER)
        (void)snprintf(out, 24, "%" PRId64, *(const int64_t *)at);
    else if (row->type == CFR_API_COUNT || row->type == CFR_API_LIST)
        (void)snprintf(out, 24, "%" PRIu64,
                       row->type == CFR_API_LIST ? count_errors(row, node) : *(const uint64_t *)at);
    else
        return row->type == CFR_API_ONE || zero == ((row->flags & CFR_API_INVERTED) != 0) ? "1" : "0";
    return out;
}

static void write_row(struct writing *w, const struct cfr_api_row *row, const void *node)
{
    size_t bytes = w->labels.len;
    char value[24];

    if (row->type == CFR_API_HISTOGRAM) {
        write_histogram(w, (const void *)((const char *)node + row->offset));
        return;
    }
    if (row->states != NULL) {
        write_states(w, row, cfr_api_row_pointer(node, row->offset));
        return;
    }
    if (row->type == CFR_API_INSTANT && (row->flags & CFR_API_ZERO) == 0 && cfr_api_row_is_zero(row, node))
        return;
    if (row->value != NULL)
        add_label(&w->labels, row->label, row->value);
    for (const struct cfr_api_row *label = row->labels; label != NULL && label->type != CFR_API_END; label++)
        add_label(&w->labels, label->key,
                  label->type == CFR_API_TEXT ? cfr_api_row_pointer(node, label->offset)
                                              : show_value(label, node, value));
    write_sample(w, "", show_value(row, node, value), bytes);
}

static bool has_family(const struct cfr_api_row *rows, const struct cfr_api_family *family)
{
    const struct cfr_api_row *row = rows;

    while (row->type != CFR_API_END && row->family != family)
        row++;
    return row->type != CFR_API_END;
}

static void write_samples(struct writing *w, const struct cfr_api_row *rows, const void *node);

/* Writes the samples of one item. ROWS begin with the row of its name. */
static void write_item(struct writing *w, const char *label, const struct cfr_api_row *rows, const void *node)
{
    size_t bytes = w->labels.len;

    if (label != NULL)
        add_label(&w->labels, label, cfr_api_row_pointer(node, rows[0].offset));
    write_samples(w, rows, node);
    w->labels.len = bytes;
}

/* Two hooks of one credential may have the same name, yet a series may appear only once. */
static void write_items(struct writing *w, const struct cfr_api_row *row, const char *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *item = items + i * row->item_size;
        size_t first = 0;

        while (strcmp(cfr_api_row_pointer(items + first * row->item_size, 0), cfr_api_row_pointer(item, 0)) != 0)
            first++;
        if (first == i)
            write_item(w, row->label, row->rows, item);
    }
}

static void write_samples(struct writing *w, const struct cfr_api_row *rows, const void *node)
{
    for (const struct cfr_api_row *row = rows; row->type != CFR_API_END; row++) {
        if ((row->rows == NULL && row->family != w->family) || !cfr_api_row_applies(row, node))
            continue;
        if (row->family == w->family)
            write_row(w, row, node);
        else if (row->type == CFR_API_OBJECT)
            write_samples(w, row->rows, node);
        else if (row->label != NULL && has_family(row->rows, w->family))
            write_items(w, row, cfr_api_row_pointer(node, row->offset), cfr_api_row_count(row, node));
    }
}

/* Adds the families of ROWS to the N of LIST, in the order of their places. Returns how many there are. */
static size_t collect(const struct cfr_api_row *rows, const struct cfr_api_family *list[FAMILIES_MAX], size_t n)
{
    for (const struct cfr_api_row *row = rows; row->type != CFR_API_END; row++) {
        const struct cfr_api_family *family = row->family;
        bool known = family == NULL;
        size_t at = n;

        if (row->rows != NULL)
            at = n = collect(row->rows, list, n);
        for (size_t i = 0; i < n && !known; i++)
            known = list[i] == family;
        if (known || n == FAMILIES_MAX)
            continue;
        for (; family->place != 0 && at > 0 && (list[at - 1]->place == 0 || list[at - 1]->place > family->place); at--)
            list[at] = list[at - 1];
        list[at] = family;
        n++;
    }
    return n;
}

static void write_section(const struct cfr_api_section *section, const struct cfr_api_status *s, struct cfr_str *out)
{
    const struct cfr_api_family *families[FAMILIES_MAX];
    size_t n = collect(section->rows, families, 0);

    for (size_t f = 0; f < n && !out->failed; f++) {
        struct writing w = {.out = out, .family = families[f], .labels = {.limit = LABELS_MAX}};
        union cfr_api_node buffer;
        const void *node;

        if ((section->flags & CFR_API_HEADS) != 0)
            write_head(&w);
        for (size_t i = 0; !out->failed && (node = section->at(s, i, &buffer)) != NULL; i++)
            write_item(&w, section->label, section->rows, node);
        cfr_str_free(&w.labels);
    }
}

void cfr_api_status_metrics(const struct cfr_api_status *s, struct cfr_str *out)
{
    for (const struct cfr_api_section *section = cfr_api_sections; section->rows != NULL; section++)
        write_section(section, s, out);
}
