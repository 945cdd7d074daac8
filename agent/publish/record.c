/* SPDX-License-Identifier: MIT */
/* Records of credentials, as JSON in the state directory. */
#include "agent/publish/record.h"

#include "base/json.h"
#include "base/writer.h"
#include "files/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE_MAX 32 /* a rotation has three keys at most, and some may be aside */

static void free_texts(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void cfr_publish_record_free(struct cfr_publish_record *r)
{
    free_texts(r->reasons, r->reason_count);
    free_texts(r->made, r->made_count);
    free(r->identity);
    free(r->key);
    free(r->pending_reason);
    free(r->targets);
    *r = (struct cfr_publish_record){0};
}

static uint16_t greater(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

/* Moves COUNT numbers from *LIST to *TO, which goes on by ROOM. */
static void move_numbers(uint64_t **list, size_t count, uint64_t **to, size_t room)
{
    if (*list != NULL)
        memcpy(*to, *list, count * sizeof **to);
    *list = *to;
    *to += room;
}

int cfr_publish_record_fit(struct cfr_publish_record *r, struct cfr_publish_record_room room, struct cfr_err *err)
{
    const struct cfr_publish_record_room old = r->room;
    const struct cfr_publish_record_room all = {greater(old.targets, room.targets), greater(old.hooks, room.hooks),
                                                greater(old.consumers, room.consumers)};
    size_t numbers = (size_t)2 * all.targets + all.hooks + all.consumers;
    struct cfr_file_fingerprint *block;
    uint64_t *at;

    if (r->targets != NULL && memcmp(&all, &old, sizeof all) == 0)
        return 0;
    /* One block: the fingerprints, and the lists of numbers behind them. */
    block = calloc(1, all.targets * sizeof *block + (numbers + 1) * sizeof *at);
    if (block == NULL)
        return cfr_err_nomem(err);
    at = (uint64_t *)(void *)(block + all.targets);
    if (r->targets != NULL)
        memcpy(block, r->targets, old.targets * sizeof *block);
    move_numbers(&r->rendered, old.targets, &at, all.targets);
    move_numbers(&r->delivered, old.targets, &at, all.targets);
    move_numbers(&r->hook_done, old.hooks, &at, all.hooks);
    move_numbers(&r->acknowledged, old.consumers, &at, all.consumers);
    free(r->targets);
    r->targets = block;
    r->room = all;
    return 0;
}

/* 64-bit numbers are written as text, because JSON numbers are doubles to most readers, ours included. */
static void write_number(struct cfr_writer *w, const char *key, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    cfr_writer_string(w, key, cfr_view_of(text));
}

static void write_numbers(struct cfr_writer *w, const char *key, const uint64_t *values, size_t count)
{
    cfr_writer_array(w, key);
    for (size_t i = 0; i < count; i++)
        write_number(w, NULL, values[i]);
    cfr_writer_close(w);
}

static void write_texts(struct cfr_writer *w, const char *key, char *const *list, size_t count)
{
    cfr_writer_array(w, key);
    for (size_t i = 0; i < count; i++)
        cfr_writer_string(w, NULL, cfr_view_of(list[i]));
    cfr_writer_close(w);
}

static void write_lists(struct cfr_writer *w, const struct cfr_publish_record *r)
{
    cfr_writer_array(w, "targets");
    for (size_t i = 0; i < r->target_count; i++) {
        char text[72];

        (void)snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRId64, r->targets[i].inode, r->targets[i].size,
                       r->targets[i].mtime_ns);
        cfr_writer_string(w, NULL, cfr_view_of(text));
    }
    cfr_writer_close(w);
    write_numbers(w, "hooks", r->hook_done, r->hook_count);
    write_numbers(w, "delivered", r->delivered, r->delivered_count);
    if (r->run != 0)
        write_number(w, "run", r->run);
    write_numbers(w, "acknowledged", r->acknowledged, r->acknowledged_count);
    write_texts(w, "reasons", r->reasons, r->reason_count);
    if (r->made_count != 0)
        write_texts(w, "made", r->made, r->made_count);
}

static void write_key(struct cfr_writer *w, const struct cfr_publish_minted *key)
{
    cfr_writer_object(w, "key");
    cfr_writer_string(w, "id", cfr_view_of(key->id));
    write_number(w, "minted_s", (uint64_t)key->minted_s);
    write_number(w, "number", key->number);
    write_number(w, "journal", key->journal);
    cfr_writer_close(w);
}

int cfr_publish_record_save(struct cfr_slow_write *s, int state_fd, const char *name,
                            const struct cfr_publish_record *r, struct cfr_err *err)
{
    struct cfr_str out = {.limit = CFR_STATE_MAX};
    struct cfr_writer w = {.str = &out};
    int rc;

    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", 1);
    write_number(&w, "generation", r->generation);
    write_number(&w, "issued_ms", (uint64_t)r->issued_ms);
    write_number(&w, "expires_ms", (uint64_t)r->expires_ms);
    write_number(&w, "last_success_s", (uint64_t)r->last_success_s);
    write_number(&w, "retire_ms", (uint64_t)r->retire_ms);
    write_number(&w, "digest", r->digest);
    write_number(&w, "digest_material", r->digest_material);
    write_number(&w, "token_issued_s", (uint64_t)r->token_issued_s);
    write_number(&w, "token_expires_s", (uint64_t)r->token_expires_s);
    write_number(&w, "token_mark", r->token_mark);
    write_number(&w, "published_ns", (uint64_t)r->published_ns);
    if (r->identity != NULL)
        cfr_writer_string(&w, "identity", cfr_view_of(r->identity));
    if (r->key != NULL)
        write_key(&w, r->key);
    if (r->pending_reason != NULL)
        cfr_writer_string(&w, "pending_reason", cfr_view_of(r->pending_reason));
    write_lists(&w, r);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    rc = out.failed ? cfr_err_set(err, CFR_E_NOMEM, "the record of %s does not fit", name)
                    : cfr_slow_write(s, state_fd, cfr_state_save, name, cfr_str_view(&out), err);
    cfr_str_free(&out);
    return rc;
}

static uint64_t number_of(struct cfr_view text, bool *good)
{
    char buf[24];
    char *end;
    uint64_t value;

    *good = false;
    if (text.n == 0 || text.n >= sizeof buf)
        return 0;
    memcpy(buf, text.p, text.n);
    buf[text.n] = '\0';
    value = strtoull(buf, &end, 10);
    *good = *end == '\0';
    return value;
}

static uint64_t get_number(const struct cfr_json *doc, const char *key, bool *good)
{
    struct cfr_view text = {NULL, 0};
    bool ok = false;
    uint64_t value;

    (void)cfr_json_string(cfr_json_get(doc, key), &text);
    value = number_of(text, &ok);
    *good = *good && ok;
    return value;
}

static char *get_text(const struct cfr_json *doc, const char *key)
{
    struct cfr_view text;

    return cfr_json_string(cfr_json_get(doc, key), &text) ? cfr_str_dup(text) : NULL;
}

static int get_key(const struct cfr_json *key, struct cfr_publish_record *out, bool *good, struct cfr_err *err)
{
    struct cfr_publish_minted minted = {.id = NULL};
    char *id = get_text(key, "id");
    int rc = 0;

    minted.id = id;
    minted.minted_s = (int64_t)get_number(key, "minted_s", good);
    minted.number = get_number(key, "number", good);
    if (cfr_json_get(key, "journal") != NULL)
        minted.journal = get_number(key, "journal", good);
    *good = *good && id != NULL;
    if (*good)
        rc = cfr_publish_record_set_key(out, &minted, err);
    free(id);
    return rc;
}

static bool get_mark(const struct cfr_json *item, struct cfr_file_fingerprint *mark)
{
    struct cfr_view text;
    uint64_t part[3];

    if (!cfr_json_string(item, &text))
        return false;
    for (int i = 0; i < 3; i++) {
        const char *space = text.n != 0 ? memchr(text.p, ' ', text.n) : NULL;
        size_t n = space != NULL ? (size_t)(space - text.p) : text.n;
        bool good;

        part[i] = number_of((struct cfr_view){text.p, n}, &good);
        if (!good)
            return false;
        text.p += n + (space != NULL);
        text.n -= n + (space != NULL);
    }
    *mark = (struct cfr_file_fingerprint){part[0], part[1], (int64_t)part[2]};
    return true;
}

static int get_texts(const struct cfr_json *list, size_t max, struct cfr_publish_record *out,
                     int (*add)(struct cfr_publish_record *, const char *, struct cfr_err *), struct cfr_err *err)
{
    for (size_t i = 0; i < cfr_json_count(list) && i < max; i++) {
        struct cfr_view text;
        int rc = cfr_json_string(cfr_json_at(list, i), &text) && text.p != NULL
                     ? add(out, text.p, err)
                     : cfr_err_set(err, CFR_E_ANSWER, "a reason or an id is not a string");

        if (rc != 0)
            return rc;
    }
    return 0;
}

/* A list that is not there, as in the record of an older version, is empty. */
static size_t get_generations(const struct cfr_json *list, uint64_t *out, size_t max, bool *good)
{
    size_t count = 0;

    for (size_t i = 0; *good && i < cfr_json_count(list) && i < max; i++) {
        struct cfr_view text = {NULL, 0};

        (void)cfr_json_string(cfr_json_at(list, i), &text);
        out[count++] = number_of(text, good);
    }
    return count;
}

static uint16_t count_at_most(const struct cfr_json *list, size_t max)
{
    size_t n = cfr_json_count(list);

    return (uint16_t)(n < max ? n : max);
}

static int get_lists(const struct cfr_json *doc, struct cfr_publish_record *out, bool *good, struct cfr_err *err)
{
    const struct cfr_json *targets = cfr_json_get(doc, "targets");
    const struct cfr_json *delivered = cfr_json_get(doc, "delivered");
    const struct cfr_json *hooks = cfr_json_get(doc, "hooks");
    const struct cfr_json *consumers = cfr_json_get(doc, "acknowledged");
    struct cfr_publish_record_room room = {
        .targets =
            greater(count_at_most(targets, CFR_CONFIG_TARGETS_MAX), count_at_most(delivered, CFR_CONFIG_TARGETS_MAX)),
        .hooks = count_at_most(hooks, CFR_CONFIG_HOOKS_MAX),
        .consumers = count_at_most(consumers, CFR_CONFIG_ACKNOWLEDGE_MAX + CFR_CONFIG_HOOKS_MAX),
    };
    int rc = cfr_publish_record_fit(out, room, err);

    if (rc != 0)
        return rc;
    for (size_t i = 0; i < cfr_json_count(targets) && i < room.targets; i++)
        *good = *good && get_mark(cfr_json_at(targets, i), &out->targets[out->target_count++]);
    out->hook_count = get_generations(hooks, out->hook_done, room.hooks, good);
    out->delivered_count = get_generations(delivered, out->delivered, room.targets, good);
    out->acknowledged_count = get_generations(consumers, out->acknowledged, room.consumers, good);
    return 0;
}

static int decode(const struct cfr_json *doc, struct cfr_publish_record *out, struct cfr_err *err)
{
    int64_t version;
    bool good = cfr_json_integer(cfr_json_get(doc, "version"), &version) && version == 1;
    int rc;

    out->generation = get_number(doc, "generation", &good);
    out->issued_ms = (int64_t)get_number(doc, "issued_ms", &good);
    out->expires_ms = (int64_t)get_number(doc, "expires_ms", &good);
    out->last_success_s = (int64_t)get_number(doc, "last_success_s", &good);
    out->retire_ms = (int64_t)get_number(doc, "retire_ms", &good);
    out->digest = get_number(doc, "digest", &good);
    out->digest_material = get_number(doc, "digest_material", &good);
    out->token_issued_s = (int64_t)get_number(doc, "token_issued_s", &good);
    out->token_expires_s = (int64_t)get_number(doc, "token_expires_s", &good);
    out->token_mark = get_number(doc, "token_mark", &good);
    /* Older records have none. */
    out->published_ns = cfr_json_get(doc, "published_ns") != NULL ? (int64_t)get_number(doc, "published_ns", &good) : 0;
    out->run = cfr_json_get(doc, "run") != NULL ? get_number(doc, "run", &good) : 0;
    out->identity = get_text(doc, "identity");
    out->pending_reason = get_text(doc, "pending_reason");
    rc = get_lists(doc, out, &good, err);
    if (rc == 0 && cfr_json_get(doc, "key") != NULL)
        rc = get_key(cfr_json_get(doc, "key"), out, &good, err);
    if (rc != 0)
        return rc;
    if (!good)
        return cfr_err_set(err, CFR_E_ANSWER, "it is not a record of this version");
    rc = get_texts(cfr_json_get(doc, "made"), MADE_MAX, out, cfr_publish_record_add_made, err);
    return rc == 0 ? get_texts(cfr_json_get(doc, "reasons"), CFR_PUBLISH_RECORD_REASONS_MAX, out,
                               cfr_publish_record_add_reason, err)
                   : rc;
}

int cfr_publish_record_load(int state_fd, const char *name, struct cfr_publish_record *out, struct cfr_err *err)
{
    struct cfr_secret text;
    struct cfr_json *doc = NULL;
    int rc;

    *out = (struct cfr_publish_record){0};
    cfr_secret_init(&text, CFR_STATE_MAX);
    rc = cfr_state_load(state_fd, name, &text, err);
    if (rc == 0)
        rc = cfr_json_parse(cfr_secret_view(&text), &doc, err);
    if (rc == 0)
        rc = decode(doc, out, err);
    cfr_json_free(doc);
    cfr_secret_free(&text);
    if (rc != 0)
        cfr_publish_record_free(out);
    return rc;
}

int cfr_publish_record_set_key(struct cfr_publish_record *r, const struct cfr_publish_minted *minted,
                               struct cfr_err *err)
{
    size_t n = minted != NULL ? strlen(minted->id) + 1 : 0;

    free(r->key);
    r->key = minted != NULL ? malloc(sizeof *r->key + n) : NULL;
    if (r->key == NULL)
        return minted != NULL ? cfr_err_nomem(err) : 0;
    /* Its id is behind it, in the same block. */
    *r->key = *minted;
    r->key->id = memcpy(r->key + 1, minted->id, n);
    return 0;
}

static bool has_text(char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

static int add_text(char ***list, size_t *count, size_t max, const char *text, struct cfr_err *err)
{
    char *copy = strdup(text);
    char **longer = *list;

    if (*count < max)
        longer = realloc(*list, (*count + 1) * sizeof(char *));
    if (longer != NULL)
        *list = longer;
    if (copy == NULL || longer == NULL) {
        free(copy);
        return cfr_err_nomem(err);
    }
    if (*count == max) {
        free(longer[0]);
        memmove(longer, longer + 1, (max - 1) * sizeof(char *));
        --*count;
    }
    longer[(*count)++] = copy;
    return 0;
}

bool cfr_publish_record_has_made(const struct cfr_publish_record *r, const char *id)
{
    return (r->key != NULL && strcmp(r->key->id, id) == 0) || has_text(r->made, r->made_count, id);
}

int cfr_publish_record_add_made(struct cfr_publish_record *r, const char *id, struct cfr_err *err)
{
    return has_text(r->made, r->made_count, id) ? 0 : add_text(&r->made, &r->made_count, MADE_MAX, id, err);
}

bool cfr_publish_record_has_reason(const struct cfr_publish_record *r, const char *reason)
{
    return has_text(r->reasons, r->reason_count, reason);
}

int cfr_publish_record_add_reason(struct cfr_publish_record *r, const char *reason, struct cfr_err *err)
{
    return add_text(&r->reasons, &r->reason_count, CFR_PUBLISH_RECORD_REASONS_MAX, reason, err);
}

void cfr_publish_record_drop_reason(struct cfr_publish_record *r)
{
    free(r->reasons[--r->reason_count]);
}
