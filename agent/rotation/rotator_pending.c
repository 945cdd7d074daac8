/* SPDX-License-Identifier: MIT */
/* The secret of a key that is not published yet: its text, and copies. */
#include "agent/rotation/rotator_private.h"

#include "base/json.h"
#include "base/time.h"
#include "base/writer.h"

#include <stdio.h>
#include <string.h>

int cfr_rotator_pending_write(const struct cfr_rotator_pending *p, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err, .exact = true};
    char time[CFR_TIME_RFC3339_MAX];

    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", 1);
    cfr_writer_string(&w, "name", cfr_view_of(p->name));
    cfr_writer_string(&w, "id", cfr_view_of(p->key.id));
    cfr_writer_string(&w, "created", cfr_view_of(cfr_time_format(p->key.created_s, time)));
    if (p->key.ends_s != 0)
        cfr_writer_string(&w, "ends", cfr_view_of(cfr_time_format(p->key.ends_s, time)));
    cfr_writer_string(&w, "identity", cfr_view_of(p->grant.identity != NULL ? p->grant.identity : ""));
    cfr_writer_object(&w, "fields");
    for (size_t i = 0; i < p->grant.field_count; i++) {
        const struct cfr_secret *value = &p->grant.fields[i].value;

        cfr_writer_string(&w, p->grant.fields[i].name, value->len != 0 ? cfr_secret_view(value) : cfr_view_of(""));
    }
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    return w.rc;
}

static bool read_text(const struct cfr_json *doc, const char *key, char *to, size_t size)
{
    struct cfr_view text;

    if (!cfr_json_string(cfr_json_get(doc, key), &text) || text.n >= size)
        return false;
    if (text.n != 0)
        memcpy(to, text.p, text.n);
    to[text.n] = '\0';
    return true;
}

static int read_fields(const struct cfr_json *doc, struct cfr_grant *g, struct cfr_err *err)
{
    const struct cfr_json *fields = cfr_json_get(doc, "fields");
    struct cfr_view text = {NULL, 0};
    char name[128];
    int rc = 0;

    if (!cfr_json_is_object(fields))
        return cfr_err_set(err, CFR_E_ANSWER, "it has no fields");
    for (const struct cfr_json *f = cfr_json_first(fields); rc == 0 && f != NULL; f = cfr_json_next(f)) {
        struct cfr_view key = cfr_json_key(f);

        if (!cfr_json_string(f, &text) || key.n >= sizeof name)
            return cfr_err_set(err, CFR_E_ANSWER, "a field is not text");
        (void)snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
        rc = cfr_grant_set(g, name, text, err);
    }
    if (rc == 0 && cfr_json_string(cfr_json_get(doc, "identity"), &text))
        rc = cfr_grant_set_identity(g, text, err);
    return rc;
}

int cfr_rotator_pending_read(struct cfr_view text, struct cfr_rotator_pending *p, struct cfr_err *err)
{
    struct cfr_json *doc;
    char made[CFR_TIME_RFC3339_MAX];
    int64_t version = 0;
    int rc = cfr_json_parse(text, &doc, err);

    if (rc != 0)
        return rc;
    if (!cfr_json_integer(cfr_json_get(doc, "version"), &version) || version != 1)
        rc = cfr_err_set(err, CFR_E_ANSWER, "it is not of this version");
    else if (!read_text(doc, "name", p->name, sizeof p->name) || !read_text(doc, "id", p->key.id, sizeof p->key.id) ||
             !read_text(doc, "created", made, sizeof made) || !cfr_time_parse(cfr_view_of(made), &p->key.created_s))
        rc = cfr_err_set(err, CFR_E_ANSWER, "it is not whole");
    if (rc == 0 && cfr_json_get(doc, "ends") != NULL &&
        !(read_text(doc, "ends", made, sizeof made) && cfr_time_parse(cfr_view_of(made), &p->key.ends_s)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "it has no proper end");
    if (rc == 0)
        rc = read_fields(doc, &p->grant, err);
    cfr_json_free(doc);
    return rc;
}

void cfr_rotator_free_pending(struct cfr_rotator_pending *pending)
{
    cfr_grant_free(&pending->grant);
    *pending = (struct cfr_rotator_pending){.held = false};
}

int cfr_rotator_copy_grant(const struct cfr_grant *from, struct cfr_grant *to, struct cfr_err *err)
{
    int rc = cfr_grant_set_identity(to, cfr_view_of(from->identity), err);

    to->issued_s = from->issued_s;
    for (size_t i = 0; rc == 0 && i < from->field_count; i++)
        rc = cfr_grant_set(to, from->fields[i].name, cfr_secret_view(&from->fields[i].value), err);
    return rc;
}
