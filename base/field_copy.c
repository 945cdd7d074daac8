/* SPDX-License-Identifier: MIT */
/* Deep copies of configuration structs. */
#include "base/field.h"

#include <stdlib.h>
#include <string.h>

/* NULL stays NULL. False when memory is short. */
static bool copy_text(char *from, char **to)
{
    *to = from != NULL ? strdup(from) : NULL;
    return from == NULL || *to != NULL;
}

static bool copy_strings(const struct cfr_strings *from, struct cfr_strings *to)
{
    bool good = true;

    *to = (struct cfr_strings){0};
    if (from->count == 0)
        return true;
    to->items = calloc(from->count, sizeof *to->items);
    if (to->items == NULL)
        return false;
    for (size_t i = 0; good && i < from->count; i++) {
        good = copy_text(from->items[i], &to->items[i]);
        to->count++;
    }
    return good;
}

static bool copy_pairs(const struct cfr_pairs *from, struct cfr_pairs *to)
{
    bool good = true;

    *to = (struct cfr_pairs){0};
    if (from->count == 0)
        return true;
    to->items = calloc(from->count, sizeof *to->items);
    if (to->items == NULL)
        return false;
    for (size_t i = 0; good && i < from->count; i++) {
        good = copy_text(from->items[i].key, &to->items[i].key) && copy_text(from->items[i].value, &to->items[i].value);
        to->count++;
    }
    return good;
}

static bool copy_node(const struct cfr_table *table, const void *from, void *to);

static bool copy_list(const struct cfr_table *table, const struct cfr_list *from, struct cfr_list *to)
{
    bool good = true;

    *to = (struct cfr_list){0};
    if (from->count == 0)
        return true;
    to->items = calloc(from->count, table->size);
    if (to->items == NULL)
        return false;
    for (size_t i = 0; good && i < from->count; i++) {
        good = copy_node(table, (const char *)from->items + i * table->size, (char *)to->items + i * table->size);
        to->count++;
    }
    return good;
}

static bool copy_map(const struct cfr_table *table, const void *from, void **to)
{
    *to = from != NULL ? calloc(1, table->size) : NULL;
    return from == NULL || (*to != NULL && copy_node(table, from, *to));
}

static bool copy_one_of(const struct cfr_one_of *from, struct cfr_one_of *to)
{
    to->variant = from->variant;
    to->line = from->line;
    return copy_map(from->variant.table, from->config, &to->config);
}

static bool copy_any_of(const struct cfr_list *from, struct cfr_list *to)
{
    const struct cfr_one_of *all = from->items;
    struct cfr_one_of *copies;
    bool good = true;

    *to = (struct cfr_list){0};
    if (from->count == 0)
        return true;
    to->items = copies = calloc(from->count, sizeof *copies);
    if (copies == NULL)
        return false;
    for (size_t i = 0; good && i < from->count; i++) {
        good = copy_one_of(&all[i], &copies[i]);
        to->count++;
    }
    return good;
}

static bool copy_field(const struct cfr_field *f, const void *from, void *to)
{
    switch (f->type) {
    case CFR_FIELD_STRING:
        return copy_text(*(char *const *)from, to);
    case CFR_FIELD_STRINGS:
        return copy_strings(from, to);
    case CFR_FIELD_PAIRS:
        return copy_pairs(from, to);
    case CFR_FIELD_MAP:
        return copy_map(f->table, *(void *const *)from, to);
    case CFR_FIELD_LIST:
    case CFR_FIELD_ONE_OR_LIST:
        return copy_list(f->table, from, to);
    case CFR_FIELD_ONE_OF:
        return copy_one_of(from, to);
    case CFR_FIELD_ANY_OF:
        return copy_any_of(from, to);
    case CFR_FIELD_BOOL:
        *(bool *)to = *(const bool *)from;
        return true;
    case CFR_FIELD_ENUM:
        *(int *)to = *(const int *)from;
        return true;
    case CFR_FIELD_INT:
    case CFR_FIELD_DURATION:
    case CFR_FIELD_MODE:
        break;
    }
    *(int64_t *)to = *(const int64_t *)from;
    return true;
}

static bool copy_node(const struct cfr_table *table, const void *from, void *to)
{
    bool good = true;

    *(struct cfr_node *)to = *(const struct cfr_node *)from;
    for (const struct cfr_field *f = table->fields; good && f->key != NULL; f++)
        good = copy_field(f, (const char *)from + f->offset, (char *)to + f->offset);
    return good;
}

int cfr_field_copy(const struct cfr_table *table, const void *from, void *to, struct cfr_err *err)
{
    return copy_node(table, from, to) ? 0 : cfr_err_nomem(err);
}
