/* SPDX-License-Identifier: MIT */
/* Journal and pending secret of a rotation, on disk. */
#include "agent/rotation/rotator_private.h"

#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "base/writer.h"
#include "files/file.h"
#include "files/state.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 128
#define PENDING_MAX    262144

/* A `+` is in no credential's name, so that it is no other one's record. */
static const char *journal_name(const struct cfr_rotator *m, char out[NAME_MAX_BYTES])
{
    (void)snprintf(out, NAME_MAX_BYTES, "%.63s+mint", m->config->name);
    return out;
}

static const char *pending_name(const struct cfr_rotator *m, char out[NAME_MAX_BYTES])
{
    (void)snprintf(out, NAME_MAX_BYTES, "%.63s+mint.pending", m->config->name);
    return out;
}

/* The former name of the same file: still read, never written. */
static const char *old_pending_name(const struct cfr_rotator *m, char out[NAME_MAX_BYTES])
{
    (void)snprintf(out, NAME_MAX_BYTES, "%.63s+mint.seal", m->config->name);
    return out;
}

/* ---- the journal ---- */

int cfr_rotator_save_journal(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_STATE_MAX};
    char name[NAME_MAX_BYTES];
    int rc = cfr_rotation_journal_write(&m->r.journal, &text);

    if (rc != 0)
        rc = cfr_err_set(err, rc, "out of memory");
    else
        rc = cfr_state_save(m->context.state_fd, journal_name(m, name), cfr_str_view(&text), err);
    cfr_str_free(&text);
    return rc != 0 ? cfr_err_prefix(err, "cannot write down the rotation's step") : 0;
}

static int load_journal(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_secret text;
    char name[NAME_MAX_BYTES];
    char subject[CFR_ROTATION_SUBJECT_MAX];
    int rc;

    cfr_secret_init(&text, CFR_STATE_MAX);
    rc = cfr_state_load(m->context.state_fd, journal_name(m, name), &text, err);
    if (rc == 0)
        rc = cfr_rotation_journal_read(cfr_secret_view(&text), &m->r.journal, err);
    cfr_secret_free(&text);
    if (rc == CFR_E_MISSING)
        return 0;
    cfr_config_mint_subject(m->config->mint, subject);
    return rc == 0 || rc == CFR_E_NOMEM ? rc
                                        : cfr_err_prefix(err,
                                                         "the journal %s.json in state_dir cannot be used, "
                                                         "and without it nothing is done; restore it, "
                                                         "or remove it with the keys of %s that are not in use",
                                                         name, subject);
}

/* ---- the pending secret ---- */

static int write_pending(const struct cfr_rotator_pending *p, struct cfr_secret *out, struct cfr_err *err)
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

int cfr_rotator_save_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_secret text;
    char name[NAME_MAX_BYTES];
    struct cfr_file file = {.mode = 0600, .uid = CFR_FILE_KEEP_ID, .gid = CFR_FILE_KEEP_ID};
    int rc;

    cfr_secret_init(&text, PENDING_MAX);
    rc = write_pending(&m->pending, &text, err);
    file.name = pending_name(m, name);
    file.content = cfr_secret_view(&text);
    if (rc == 0)
        rc = cfr_file_replace(m->context.state_fd, &file, err);
    cfr_secret_free(&text);
    m->pending.stored = rc == 0;
    return rc != 0 ? cfr_err_prefix(err, "cannot keep the new key until it is published") : 0;
}

void cfr_rotator_free_pending(struct cfr_rotator_pending *pending)
{
    cfr_grant_free(&pending->grant);
    *pending = (struct cfr_rotator_pending){.held = false};
}

int cfr_rotator_drop_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    char name[NAME_MAX_BYTES];
    int rc = cfr_file_wipe(m->context.state_fd, pending_name(m, name), err);

    if (rc == 0)
        rc = cfr_file_wipe(m->context.state_fd, old_pending_name(m, name), err);
    if (rc == 0)
        cfr_rotator_free_pending(&m->pending);
    return rc;
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
            return cfr_err_set(err, CFR_E_ANSWER, "a field is no text");
        (void)snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
        rc = cfr_grant_set(g, name, text, err);
    }
    if (rc == 0 && cfr_json_string(cfr_json_get(doc, "identity"), &text))
        rc = cfr_grant_set_identity(g, text, err);
    return rc;
}

static int parse_pending(struct cfr_view text, struct cfr_rotator_pending *out, struct cfr_err *err)
{
    struct cfr_json *doc;
    char made[CFR_TIME_RFC3339_MAX];
    int64_t version = 0;
    int rc = cfr_json_parse(text, &doc, err);

    if (rc != 0)
        return rc;
    if (!cfr_json_integer(cfr_json_get(doc, "version"), &version) || version != 1)
        rc = cfr_err_set(err, CFR_E_ANSWER, "it is not of this version");
    else if (!read_text(doc, "name", out->name, sizeof out->name) ||
             !read_text(doc, "id", out->key.id, sizeof out->key.id) || !read_text(doc, "created", made, sizeof made) ||
             !cfr_time_parse(cfr_view_of(made), &out->key.created_s))
        rc = cfr_err_set(err, CFR_E_ANSWER, "it is not whole");
    if (rc == 0 && cfr_json_get(doc, "ends") != NULL &&
        !(read_text(doc, "ends", made, sizeof made) && cfr_time_parse(cfr_view_of(made), &out->key.ends_s)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "it has no proper end");
    if (rc == 0)
        rc = read_fields(doc, &out->grant, err);
    cfr_json_free(doc);
    return rc;
}

/* A file that cannot be used is as good as none: the key is then found again in the cloud, and removed. */
static int load_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_secret text;
    char name[NAME_MAX_BYTES];
    bool old = false;
    int rc;

    cfr_secret_init(&text, PENDING_MAX);
    rc = cfr_file_read_own_at(m->context.state_fd, pending_name(m, name), &text, err);
    if (rc == CFR_E_MISSING) {
        old = true;
        rc = cfr_file_read_own_at(m->context.state_fd, old_pending_name(m, name), &text, err);
    }
    if (rc == 0) {
        rc = parse_pending(cfr_secret_view(&text), &m->pending, err);
        m->pending.held = rc == 0;
        m->pending.stored = true;
    }
    cfr_secret_free(&text);
    if (rc != 0 && rc != CFR_E_MISSING && rc != CFR_E_NOMEM)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "the pending secret of a new key, %s in state_dir, cannot be used: %s", name, err->text);
    /* If this fails the old file is still there, for the next start. */
    if (rc == 0 && old && cfr_rotator_save_pending(m, err) == 0)
        (void)cfr_file_wipe(m->context.state_fd, old_pending_name(m, name), NULL);
    m->pending.stored = m->pending.stored || (rc == 0 && old);
    return rc == CFR_E_NOMEM ? rc : 0;
}

int cfr_rotator_load(struct cfr_rotator *m, struct cfr_err *err)
{
    int rc = load_journal(m, err);

    return rc == 0 ? load_pending(m, err) : rc;
}

int cfr_rotator_copy_grant(const struct cfr_grant *from, struct cfr_grant *to, struct cfr_err *err)
{
    int rc = cfr_grant_set_identity(to, cfr_view_of(from->identity), err);

    to->issued_s = from->issued_s;
    for (size_t i = 0; rc == 0 && i < from->field_count; i++)
        rc = cfr_grant_set(to, from->fields[i].name, cfr_secret_view(&from->fields[i].value), err);
    return rc;
}
