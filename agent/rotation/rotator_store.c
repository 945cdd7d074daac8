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
#define UNASKED_MAX    10

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

/* What takes its time goes on with a child. */
static int after_write(struct cfr_rotator *m, int rc, const char *what, struct cfr_err *err)
{
    m->files.look_boot_ms = rc == CFR_SLOW_WRITE_UNDER_WAY ? cfr_clock_now().boot_ms + CFR_SLOW_WRITE_LOOK_MS : 0;
    m->files.unasked = 0;
    return rc < 0 ? cfr_err_prefix(err, "%s", what) : rc;
}

static int save_journal(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_STATE_MAX};
    char name[NAME_MAX_BYTES];
    int rc = cfr_rotation_journal_write(&m->r.journal, &text);

    if (rc != 0)
        rc = cfr_err_set(err, rc, "out of memory");
    else
        rc = cfr_slow_write(&m->files.journal, m->context.state_fd, cfr_state_save, journal_name(m, name),
                            cfr_str_view(&text), err);
    cfr_str_free(&text);
    return after_write(m, rc, "cannot write down the rotation's step in state_dir", err);
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

static int replace_file(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *err)
{
    const struct cfr_file file = {name, content, 0600, CFR_FILE_KEEP_ID, CFR_FILE_KEEP_ID};

    return cfr_file_replace(dir_fd, &file, err);
}

/* OLD is its former name. */
static int wipe_files(int dir_fd, const char *name, struct cfr_view old, struct cfr_err *err)
{
    int rc = cfr_file_wipe(dir_fd, name, err);

    return rc != 0 ? rc : cfr_file_wipe(dir_fd, old.p, err);
}

static int save_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    struct cfr_secret text;
    char name[NAME_MAX_BYTES];
    int rc;

    cfr_secret_init(&text, PENDING_MAX);
    rc = cfr_rotator_pending_write(&m->pending, &text, err);
    if (rc == 0)
        rc = cfr_slow_write(&m->files.pending, m->context.state_fd, replace_file, pending_name(m, name),
                            cfr_secret_view(&text), err);
    cfr_secret_free(&text);
    m->pending.stored = rc == 0;
    return after_write(m, rc, "cannot keep the new key in state_dir until it is published", err);
}

static int drop_pending(struct cfr_rotator *m, struct cfr_err *err)
{
    char name[NAME_MAX_BYTES];
    char old[NAME_MAX_BYTES];
    int rc = cfr_slow_write(&m->files.pending, m->context.state_fd, wipe_files, pending_name(m, name),
                            cfr_view_of(old_pending_name(m, old)), err);

    if (rc == 0)
        cfr_rotator_free_pending(&m->pending);
    return after_write(m, rc, "cannot remove the pending secret from state_dir", err);
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

/* What is no longer asked for is forgotten. */
static void look_on(struct cfr_rotator *m)
{
    int64_t now_ms = cfr_clock_now().boot_ms;

    if (m->files.look_boot_ms != 0 && m->files.look_boot_ms <= now_ms)
        m->files.look_boot_ms = ++m->files.unasked < UNASKED_MAX ? now_ms + CFR_SLOW_WRITE_LOOK_MS : 0;
}

static void step(struct cfr_rotator *m)
{
    struct cfr_err err = {0};
    int rc;

    if (!m->save.saving) {
        look_on(m);
        look_for_pending(m);
        return;
    }
    rc = save_journal(m, &err);
    if (rc != CFR_ROTATOR_UNDER_WAY)
        cfr_rotator_saved(m, rc, &err);
}

static int64_t look_at(struct cfr_rotator *m)
{
    return m->files.look_boot_ms != 0 ? m->files.look_boot_ms : INT64_MAX;
}

static void close_files(struct cfr_rotator *m)
{
    cfr_slow_write_close(&m->files.journal);
    cfr_slow_write_close(&m->files.pending);
    m->files.look_boot_ms = 0;
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
    .close = close_files,
    .step = step,
    .deadline = look_at,
    .may_go_on = always,
    .may_change = may_change,
    .lags = lags,
    .start = start,
    .published = always,
};
