/* SPDX-License-Identifier: MIT */
/* Digests of configuration. */
#include "agent/config/config_private.h"

#include "base/hash.h"

#include <string.h>

#define FLAT_MAX 256 /* bytes of a flat row's struct */

/* Byte by byte, so that the machine's byte order does not matter to what is kept on disk. */
static uint64_t add_number(uint64_t h, uint64_t value)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(value >> (8 * i) & 0xff);
    return cfr_hash_add(h, bytes, sizeof bytes);
}

static uint64_t add_text(uint64_t h, const char *text)
{
    size_t n = text != NULL ? strlen(text) : 0;

    h = add_number(h, text != NULL ? n + 1 : 0);
    return n != 0 ? cfr_hash_add(h, text, n) : h;
}

static uint64_t add_strings(uint64_t h, const struct cfr_strings *s)
{
    h = add_number(h, s->count);
    for (size_t i = 0; i < s->count; i++)
        h = add_text(h, s->items[i]);
    return h;
}

/* A sum, because the order of pairs means nothing. */
static uint64_t add_pairs(uint64_t h, const struct cfr_pairs *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->count; i++)
        sum += add_text(add_text(CFR_HASH_START, p->items[i].key), p->items[i].value);
    return add_number(add_number(h, p->count), sum);
}

static uint64_t add_list(uint64_t h, const struct cfr_table *table, const struct cfr_list *list)
{
    h = add_number(h, list->count);
    for (size_t i = 0; i < list->count; i++)
        h = add_number(h, cfr_config_digest(table, (const char *)list->items + i * table->size, 0));
    return h;
}

static uint64_t add_one_of(uint64_t h, const struct cfr_one_of *one)
{
    h = add_text(h, one->variant.key);
    return one->config != NULL ? add_number(h, cfr_config_digest(one->variant.table, one->config, 0)) : h;
}

static uint64_t add_value(uint64_t h, const struct cfr_field *f, const void *value);

/* The keys of a flat row, of which CONFIG may be NULL: as those of the mapping that they are in. */
static uint64_t add_flat(uint64_t h, const struct cfr_table *table, const void *config)
{
    static const union {
        char bytes[FLAT_MAX];
        int64_t aligned;
    } none;

    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        if (config != NULL || table->size <= sizeof none)
            h = add_value(add_text(h, f->key), f, (config != NULL ? (const char *)config : none.bytes) + f->offset);
    }
    return h;
}

/* Each key of the registry as a field: where its row is, and in which order they are written, means nothing. */
static uint64_t add_any_of(uint64_t h, const struct cfr_field *f, const struct cfr_list *list)
{
    const struct cfr_one_of *all = list->items;
    struct cfr_variant v;

    for (size_t k = 0; (v = f->variant(k)).key != NULL; k++) {
        const void *config = NULL;

        if (!v.flat)
            h = add_text(h, v.key);
        for (size_t i = 0; i < list->count; i++) {
            if (strcmp(all[i].variant.key, v.key) != 0)
                continue;
            config = all[i].config;
            if (!v.flat && config != NULL)
                h = add_number(h, cfr_config_digest(v.table, config, 0));
        }
        if (v.flat)
            h = add_flat(h, v.table, config);
        else if (config == NULL)
            h = add_number(h, 0);
    }
    return h;
}

static uint64_t add_value(uint64_t h, const struct cfr_field *f, const void *value)
{
    const void *map;

    switch (f->type) {
    case CFR_FIELD_STRING:
        return add_text(h, *(char *const *)value);
    case CFR_FIELD_BOOL:
        return add_number(h, *(const bool *)value ? 1 : 0);
    case CFR_FIELD_INT:
    case CFR_FIELD_DURATION:
    case CFR_FIELD_MODE:
        return add_number(h, (uint64_t) * (const int64_t *)value);
    case CFR_FIELD_ENUM:
        /* The name, because its place in the list may change with the version. */
        return add_text(h, f->choices[*(const int *)value]);
    case CFR_FIELD_STRINGS:
        return add_strings(h, value);
    case CFR_FIELD_PAIRS:
        return add_pairs(h, value);
    case CFR_FIELD_LIST:
    case CFR_FIELD_ONE_OR_LIST:
        return add_list(h, f->table, value);
    case CFR_FIELD_ONE_OF:
        return add_one_of(h, value);
    case CFR_FIELD_ANY_OF:
        return add_any_of(h, f, value);
    case CFR_FIELD_MAP:
        break;
    }
    map = *(void *const *)value;
    return map != NULL ? add_number(h, cfr_config_digest(f->table, map, 0)) : add_number(h, 0);
}

uint64_t cfr_config_digest(const struct cfr_table *table, const void *node, unsigned skip)
{
    uint64_t h = CFR_HASH_START;

    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        if ((f->flags & skip) == 0)
            h = add_value(f->type == CFR_FIELD_ANY_OF ? h : add_text(h, f->key), f, (const char *)node + f->offset);
    }
    return h;
}
