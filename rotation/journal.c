/* SPDX-License-Identifier: MIT */
/* The journal as JSON. */
#include "base/json.h"
#include "base/writer.h"
#include "rotation/rotation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const step_names[] = {
#define X(name, text) text,
    CFR_ROTATION_STEP_LIST(X)
#undef X
};

const char *cfr_rotation_step_name(enum cfr_rotation_step step)
{
    return (unsigned)step < CFR_ROTATION_STEP_COUNT ? step_names[step] : "unknown";
}

#define TIME_MAX_S INT64_C(253402300799) /* 9999-12-31T23:59:59Z */
#define COUNT_MAX  (INT64_C(1) << 53)
#define DIGITS_MAX 16

/* 64-bit numbers are text, because JSON's are doubles to most readers. */
static void put_number(struct cfr_writer *w, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, value);
    cfr_writer_string(w, key, cfr_view_of(text));
}

static void put_text(struct cfr_writer *w, const char *key, const char *value)
{
    cfr_writer_string(w, key, cfr_view_of(value));
}

static void put_former(struct cfr_writer *w, const struct cfr_rotation_journal *j)
{
    cfr_writer_array(w, "former");
    for (size_t i = 0; i < j->former_count; i++) {
        cfr_writer_object(w, NULL);
        put_text(w, "subject", j->former[i].subject);
        put_text(w, "id", j->former[i].id);
        put_number(w, "off_s", j->former[i].off_s);
        cfr_writer_close(w);
    }
    cfr_writer_close(w);
}

int cfr_rotation_journal_write(const struct cfr_rotation_journal *j, struct cfr_str *out)
{
    struct cfr_writer w = {.str = out};

    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", 1);
    put_text(&w, "step", step_names[j->step]);
    put_number(&w, "rotation", (int64_t)j->rotation);
    put_text(&w, "subject", j->subject);
    put_text(&w, "name", j->name);
    put_text(&w, "maker", j->maker);
    if (j->account[0] != '\0')
        put_text(&w, "account", j->account);
    put_text(&w, "current", j->current);
    put_number(&w, "current_s", j->current_s);
    put_number(&w, "current_ends_s", j->current_ends_s);
    put_text(&w, "minted", j->minted);
    put_number(&w, "minted_s", j->minted_s);
    put_number(&w, "minted_ends_s", j->minted_ends_s);
    put_text(&w, "old", j->old);
    put_number(&w, "intent_s", j->intent_s);
    put_number(&w, "step_s", j->step_s);
    put_number(&w, "published_s", j->published_s);
    put_number(&w, "generation", (int64_t)j->generation);
    put_number(&w, "published", (int64_t)j->published);
    cfr_writer_bool(&w, "late_use", j->late_use);
    cfr_writer_bool(&w, "asked", j->asked);
    cfr_writer_array(&w, "known");
    for (size_t i = 0; i < j->known_count; i++)
        put_text(&w, NULL, j->known[i]);
    cfr_writer_close(&w);
    cfr_writer_array(&w, "aside");
    for (size_t i = 0; i < j->aside_count; i++) {
        cfr_writer_object(&w, NULL);
        put_number(&w, "since_s", j->aside[i].since_s);
        put_text(&w, "id", j->aside[i].id);
        cfr_writer_bool(&w, "ours", j->aside[i].ours);
        if (j->aside[i].lost)
            cfr_writer_bool(&w, "lost", true);
        cfr_writer_close(&w);
    }
    cfr_writer_close(&w);
    if (j->former_count != 0)
        put_former(&w, j);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    return out->failed ? CFR_E_NOMEM : 0;
}

struct reader {
    const struct cfr_json *doc;
    bool good;
};

static void copy_text(struct reader *r, const struct cfr_json *value, char *to, size_t size)
{
    struct cfr_view text = {NULL, 0};

    if (!cfr_json_string(value, &text) || text.n >= size) {
        r->good = false;
        return;
    }
    if (text.n != 0)
        memcpy(to, text.p, text.n);
    to[text.n] = '\0';
}

static int64_t get_number(struct reader *r, const char *key, int64_t max)
{
    char text[DIGITS_MAX + 1] = "";
    int64_t value = 0;

    copy_text(r, cfr_json_get(r->doc, key), text, sizeof text);
    r->good =
        r->good && text[strspn(text, "0123456789")] == '\0' && cfr_view_int(cfr_view_of(text), &value) && value <= max;
    return r->good ? value : 0;
}

static int64_t get_time(struct reader *r, const char *key)
{
    return get_number(r, key, TIME_MAX_S);
}

static void get_text(struct reader *r, const char *key, char *to, size_t size)
{
    copy_text(r, cfr_json_get(r->doc, key), to, size);
}

static enum cfr_rotation_step get_step(struct reader *r)
{
    char text[16] = "";

    get_text(r, "step", text, sizeof text);
    for (int i = 0; i < CFR_ROTATION_STEP_COUNT; i++) {
        if (strcmp(text, step_names[i]) == 0)
            return (enum cfr_rotation_step)i;
    }
    r->good = false;
    return CFR_ROTATION_REST;
}

static bool is_current(const struct cfr_rotation_journal *j, const char *id)
{
    return id[0] != '\0' && strcmp(id, j->current) == 0;
}

/* What a step needs is there: a journal that was changed by hand must not lead to a key without a name, or
 * the one that is published, being deleted. */
static bool is_whole(const struct cfr_rotation_journal *j)
{
    bool has_new =
        j->step == CFR_ROTATION_MINTED || j->step == CFR_ROTATION_VERIFIED || j->step == CFR_ROTATION_UNDOING;
    bool has_old =
        j->step == CFR_ROTATION_RETIRING || j->step == CFR_ROTATION_INACTIVE || j->step == CFR_ROTATION_DELETING;

    return (!has_new || j->minted[0] != '\0') && (!has_old || j->old[0] != '\0') &&
           (j->old[0] == '\0' || (j->current[0] != '\0' && strcmp(j->old, j->minted) != 0)) &&
           !is_current(j, j->minted) && !is_current(j, j->old);
}

static void get_aside(struct reader *r, struct cfr_rotation_journal *out)
{
    const struct cfr_json *aside = cfr_json_get(r->doc, "aside");
    size_t count = cfr_json_count(aside);

    r->good = r->good && cfr_json_is_array(aside) && count <= CFR_ROTATION_ASIDE_MAX;
    for (out->aside_count = 0; r->good && out->aside_count < count; out->aside_count++) {
        struct cfr_rotation_aside *one = &out->aside[out->aside_count];
        struct reader item = {cfr_json_at(aside, out->aside_count), true};

        get_text(&item, "id", one->id, sizeof one->id);
        one->since_s = get_time(&item, "since_s");
        /* Journals of earlier versions do not say: such a key may be another user's. */
        if (cfr_json_get(item.doc, "ours") != NULL)
            item.good = item.good && cfr_json_bool(cfr_json_get(item.doc, "ours"), &one->ours);
        if (cfr_json_get(item.doc, "lost") != NULL)
            item.good = item.good && cfr_json_bool(cfr_json_get(item.doc, "lost"), &one->lost);
        r->good = item.good && one->id[0] != '\0' && !is_current(out, one->id) && strcmp(one->id, out->old) != 0;
    }
}

static void get_former(struct reader *r, struct cfr_rotation_journal *out)
{
    const struct cfr_json *former = cfr_json_get(r->doc, "former");
    size_t count = cfr_json_count(former);

    r->good = r->good && cfr_json_is_array(former) && count <= CFR_ROTATION_FORMER_MAX;
    for (out->former_count = 0; r->good && out->former_count < count; out->former_count++) {
        struct cfr_rotation_former *one = &out->former[out->former_count];
        struct reader item = {cfr_json_at(former, out->former_count), true};

        get_text(&item, "subject", one->subject, sizeof one->subject);
        get_text(&item, "id", one->id, sizeof one->id);
        one->off_s = get_time(&item, "off_s");
        r->good = item.good && one->id[0] != '\0' && !is_current(out, one->id);
    }
}

static void decode(struct reader *r, struct cfr_rotation_journal *out)
{
    const struct cfr_json *known = cfr_json_get(r->doc, "known");
    int64_t version;

    r->good = cfr_json_integer(cfr_json_get(r->doc, "version"), &version) && version == 1 && cfr_json_is_array(known) &&
              cfr_json_count(known) <= CFR_ROTATION_KEYS_MAX &&
              cfr_json_bool(cfr_json_get(r->doc, "late_use"), &out->late_use) &&
              cfr_json_bool(cfr_json_get(r->doc, "asked"), &out->asked);
    if (!r->good)
        return;
    out->step = get_step(r);
    out->rotation = (uint64_t)get_number(r, "rotation", COUNT_MAX);
    get_text(r, "subject", out->subject, sizeof out->subject);
    get_text(r, "name", out->name, sizeof out->name);
    get_text(r, "current", out->current, sizeof out->current);
    out->current_s = get_time(r, "current_s");
    get_text(r, "minted", out->minted, sizeof out->minted);
    out->minted_s = get_time(r, "minted_s");
    get_text(r, "old", out->old, sizeof out->old);
    out->intent_s = get_time(r, "intent_s");
    out->step_s = get_time(r, "step_s");
    out->published_s = get_time(r, "published_s");
    out->generation = (uint64_t)get_number(r, "generation", COUNT_MAX);
    for (out->known_count = 0; out->known_count < cfr_json_count(known); out->known_count++)
        copy_text(r, cfr_json_at(known, out->known_count), out->known[out->known_count], CFR_ROTATION_ID_MAX);
    /* Journals of the first version have none of these. */
    if (cfr_json_get(r->doc, "current_ends_s") != NULL) {
        out->current_ends_s = get_time(r, "current_ends_s");
        out->minted_ends_s = get_time(r, "minted_ends_s");
    }
    if (cfr_json_get(r->doc, "published") != NULL)
        out->published = (uint64_t)get_number(r, "published", COUNT_MAX);
    if (cfr_json_get(r->doc, "maker") != NULL)
        get_text(r, "maker", out->maker, sizeof out->maker);
    if (cfr_json_get(r->doc, "account") != NULL)
        get_text(r, "account", out->account, sizeof out->account);
    if (cfr_json_get(r->doc, "aside") != NULL)
        get_aside(r, out);
    if (cfr_json_get(r->doc, "former") != NULL)
        get_former(r, out);
}

int cfr_rotation_journal_read(struct cfr_view text, struct cfr_rotation_journal *out, struct cfr_err *err)
{
    struct reader r = {NULL, true};
    struct cfr_json *doc = NULL;
    int rc = cfr_json_parse(text, &doc, err);

    *out = (struct cfr_rotation_journal){.step = CFR_ROTATION_REST};
    if (rc != 0)
        return rc;
    r.doc = doc;
    decode(&r, out);
    cfr_json_free(doc);
    if (r.good && is_whole(out))
        return 0;
    *out = (struct cfr_rotation_journal){.step = CFR_ROTATION_REST};
    return cfr_err_set(err, CFR_E_ANSWER,
                       "it is not a journal of this version, or not a whole one, or a number in it is out of range");
}
