/* SPDX-License-Identifier: MIT */
/* Journal and pending secret of a rotation, on disk. */
#include "agent/rotation/rotator_private.h"

#include "base/log.h"
#include "files/file.h"
#include "files/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int save_journal(struct cfr_rotator *m, struct cfr_err *err)
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

static int save_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_secret text;
    char name[NAME_MAX_BYTES];
    struct cfr_file file = {.mode = 0600, .uid = CFR_FILE_KEEP_ID, .gid = CFR_FILE_KEEP_ID};
    int rc;

    cfr_secret_init(&text, PENDING_MAX);
    rc = cfr_rotator_pending_write(&m->pending, &text, err);
    file.name = pending_name(m, name);
    file.content = cfr_secret_view(&text);
    if (rc == 0)
        rc = cfr_file_replace(m->context.state_fd, &file, err);
    cfr_secret_free(&text);
    m->pending.stored = rc == 0;
    return rc != 0 ? cfr_err_prefix(err, "cannot keep the new key until it is published") : 0;
}

static int drop_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    char name[NAME_MAX_BYTES];
    int rc = cfr_file_wipe(m->context.state_fd, pending_name(m, name), err);

    if (rc == 0)
        rc = cfr_file_wipe(m->context.state_fd, old_pending_name(m, name), err);
    if (rc == 0)
        cfr_rotator_free_pending(&m->pending);
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
        rc = cfr_rotator_pending_read(cfr_secret_view(&text), &m->pending, err);
        m->pending.held = rc == 0;
        m->pending.stored = true;
    }
    cfr_secret_free(&text);
    if (rc != 0 && rc != CFR_E_MISSING && rc != CFR_E_NOMEM)
        cfr_log(CFR_LOG_WARN, m->config->name, NULL,
                "the pending secret of a new key, %s in state_dir, cannot be used: %s", name, err->text);
    /* If this fails the old file is still there, for the next start. */
    if (rc == 0 && old && save_pending(m, err) == 0)
        (void)cfr_file_wipe(m->context.state_fd, old_pending_name(m, name), NULL);
    m->pending.stored = m->pending.stored || (rc == 0 && old);
    return rc == CFR_E_NOMEM ? rc : 0;
}

static int load(struct cfr_rotator *m, struct cfr_err *err)
{
    int rc;

    cfr_rotator_free_pending(&m->pending);
    rc = load_journal(m, err);
    return rc == 0 ? load_pending(m, err) : rc;
}

/* One that was missing may be restored at any time. A file that is half written is left as it is, and read again. */
static void look_for_pending(struct cfr_rotator *m)
{
    struct cfr_secret text;
    struct cfr_rotator_pending found = {.held = false};
    char name[NAME_MAX_BYTES];

    if (m->r.journal.step != CFR_ROTATION_VERIFIED || m->pending.held || m->broken.code != 0)
        return;
    cfr_secret_init(&text, PENDING_MAX);
    if (cfr_file_read_own_at(m->context.state_fd, pending_name(m, name), &text, NULL) == 0 &&
        cfr_rotator_pending_read(cfr_secret_view(&text), &found, NULL) == 0 &&
        strcmp(found.name, m->r.journal.name) == 0 && strcmp(found.key.id, m->r.journal.minted) == 0) {
        cfr_rotator_free_pending(&m->pending);
        found.held = true;
        found.stored = true;
        m->pending = found;
        found = (struct cfr_rotator_pending){.held = false};
    }
    cfr_secret_free(&text);
    cfr_rotator_free_pending(&found);
}

/* ---- nobody else writes it ---- */

static void do_nothing(struct cfr_rotator *m)
{
    (void)m;
}

static int64_t never(struct cfr_rotator *m)
{
    (void)m;
    return INT64_MAX;
}

static bool always(struct cfr_rotator *m)
{
    (void)m;
    return true;
}

static bool may_change(const struct cfr_rotator *m)
{
    (void)m;
    return true;
}

static bool lags(struct cfr_rotator *m)
{
    (void)m;
    return false;
}

/* What is lost is replaced. */
static bool start(struct cfr_rotator *m, bool again)
{
    (void)m;
    return again;
}

bool cfr_rotator_has_file(const struct cfr_rotator *m)
{
    char name[NAME_MAX_BYTES];
    char file[NAME_MAX_BYTES + 8];

    (void)snprintf(file, sizeof file, "%s.json", journal_name(m, name));
    return faccessat(m->context.state_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

const struct cfr_rotator_store cfr_rotator_file_store = {
    .load = load,
    .save_journal = save_journal,
    .save_pending = save_pending,
    .drop_pending = drop_pending,
    .close = do_nothing,
    .step = look_for_pending,
    .deadline = never,
    .may_go_on = always,
    .may_change = may_change,
    .lags = lags,
    .start = start,
    .published = always,
};
