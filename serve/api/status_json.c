/* SPDX-License-Identifier: MIT */
/* The status document. */
#include "serve/api/rows_private.h"

#include "base/time.h"
#include "base/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_rows(struct cfr_writer *w, const struct cfr_api_row *rows, const void *node);

static void add_items(struct cfr_writer *w, const struct cfr_api_row *row, const char *items, size_t count)
{
    cfr_writer_array(w, row->key);
    for (size_t i = 0; i < count; i++) {
        if (row->type == CFR_API_TEXTS) {
            cfr_writer_string(w, NULL, cfr_view_of(cfr_api_row_pointer(items, i * sizeof(char *))));
            continue;
        }
        cfr_writer_object(w, NULL);
        add_rows(w, row->rows, items + i * row->item_size);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

static void add_value(struct cfr_writer *w, const struct cfr_api_row *row, const void *node)
{
    const void *at = (const char *)node + row->offset;
    char instant[CFR_TIME_RFC3339_MAX];
    int64_t unix_s;

    switch (row->type) {
    case CFR_API_INSTANT:
        unix_s = *(const int64_t *)at;
        cfr_writer_string(w, row->key, cfr_view_of(unix_s == 0 ? NULL : cfr_time_format(unix_s, instant)));
        break;
    case CFR_API_NUMBER:
        cfr_writer_number(w, row->key, *(const int64_t *)at);
        break;
    case CFR_API_COUNT:
        cfr_writer_count(w, row->key, *(const uint64_t *)at);
        break;
    case CFR_API_BOOL:
        cfr_writer_bool(w, row->key, *(const bool *)at);
        break;
    case CFR_API_TEXTS:
    case CFR_API_LIST:
        add_items(w, row, cfr_api_row_pointer(node, row->offset), cfr_api_row_count(row, node));
        break;
    case CFR_API_OBJECT:
        cfr_writer_object(w, row->key);
        add_rows(w, row->rows, node);
        cfr_writer_close(w);
        break;
    default:
        cfr_writer_string(w, row->key, cfr_view_of(cfr_api_row_pointer(node, row->offset)));
    }
}

static void add_rows(struct cfr_writer *w, const struct cfr_api_row *rows, const void *node)
{
    for (const struct cfr_api_row *row = rows; row->type != CFR_API_END; row++) {
        if (row->key == NULL)
            continue;
        if (cfr_api_row_applies(row, node))
            add_value(w, row, node);
        else if ((row->flags & CFR_API_OPTIONAL) == 0)
            cfr_writer_string(w, row->key, (struct cfr_view){0});
    }
}

static void add_section(struct cfr_writer *w, const struct cfr_api_section *section, const struct cfr_api_status *s,
                        const char *only)
{
    union cfr_api_node buffer;
    const void *node = section->at(s, 0, &buffer);
    bool many = (section->flags & CFR_API_MANY) != 0;

    if (node == NULL && (section->flags & CFR_API_ALWAYS) == 0)
        return;
    if (many)
        cfr_writer_array(w, section->key);
    for (size_t i = 1; node != NULL && !w->str->failed; node = section->at(s, i++, &buffer)) {
        if ((section->flags & CFR_API_ALWAYS) != 0 && only != NULL && strcmp(buffer.credential.name, only) != 0)
            continue;
        cfr_writer_object(w, many ? NULL : section->key);
        add_rows(w, section->rows, node);
        cfr_writer_close(w);
    }
    if (many)
        cfr_writer_close(w);
}

void cfr_api_status_json(const struct cfr_api_status *s, const char *only, struct cfr_str *out)
{
    struct cfr_writer w = {.str = out};

    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", 1);
    for (const struct cfr_api_section *section = cfr_api_sections; section->rows != NULL; section++) {
        if (section->key != NULL)
            add_section(&w, section, s, only);
    }
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
}

static void show_rows(const struct cfr_json *object, const struct cfr_api_row *rows, cfr_api_line_fn *line, void *ctx)
{
    for (const struct cfr_api_row *row = rows; row->type != CFR_API_END; row++) {
        const struct cfr_json *json = row->key != NULL ? cfr_json_get(object, row->key) : NULL;
        struct cfr_view text;
        char number[24];
        int64_t n;
        bool set;

        if (row->type == CFR_API_OBJECT)
            show_rows(json, row->rows, line, ctx);
        else if ((row->flags & CFR_API_IN_TABLE) == 0)
            continue;
        else if (cfr_json_string(json, &text))
            line(ctx, row->title, text);
        else if (cfr_json_integer(json, &n) && n != 0 && snprintf(number, sizeof number, "%" PRId64, n) > 0)
            line(ctx, row->title, cfr_view_of(number));
        else if (cfr_json_bool(json, &set) && set)
            line(ctx, row->title, cfr_view_of(""));
    }
}

void cfr_api_status_each_line(const struct cfr_json *credential, cfr_api_line_fn *line, void *ctx)
{
    show_rows(credential, cfr_api_credential_rows, line, ctx);
}
