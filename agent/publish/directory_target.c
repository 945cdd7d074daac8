/* SPDX-License-Identifier: MIT */
/* Target kind `directory`: all files of a generation in one step. A long-lived key's directory also has the key's
 * previous values, and the file that says when it was made. */
#include "agent/publish/previous_private.h"
#include "agent/publish/target_private.h"
#include "base/hash.h"
#include "files/format/format.h"
#include "files/generation.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct cfr_config_file *file_at(const struct cfr_config_publish *t, size_t i)
{
    return cfr_publish_file_at(&t->files, i);
}

static bool is_directory(const struct cfr_config_publish *t)
{
    return t->directory != NULL;
}

static const char *path_of_directory(const struct cfr_config_publish *t)
{
    return t->directory;
}

static void name_link(const struct cfr_config_publish *t, char path[CFR_TARGET_PATH_MAX])
{
    (void)snprintf(path, CFR_TARGET_PATH_MAX, "%s/" CFR_GENERATION_DATA, t->directory);
}

/* ---- rendering ---- */

/* Where the token of this directory will be, for formats that point at it; NULL = nowhere. */
static const char *find_token(const struct cfr_config_publish *t, char path[PATH_MAX])
{
    for (size_t i = 0; i < t->files.count; i++) {
        if (strcmp(cfr_formats[file_at(t, i)->format].name, "token") == 0) {
            (void)snprintf(path, PATH_MAX, "%s/%s", t->directory, file_at(t, i)->name);
            return path;
        }
    }
    return NULL;
}

/* The content of file I before this key, as NAME.old; nothing where there was none. */
static int add_previous(const struct cfr_config_publish *t, size_t i, struct cfr_view line,
                        struct cfr_target_content *out, struct cfr_err *err)
{
    struct cfr_secret *secret = cfr_publish_content_add(out);
    bool there;
    int rc = cfr_publish_previous_read(t->directory, file_at(t, i)->name, line, secret, &there, err);

    if (rc != 0 || !there) {
        cfr_secret_free(secret);
        out->content_count--;
        return rc;
    }
    (void)snprintf(out->old_names[i], sizeof out->old_names[i], "%s" CFR_MINT_OLD_SUFFIX, file_at(t, i)->name);
    out->files[out->count] = out->files[i];
    out->files[out->count].name = out->old_names[i];
    out->files[out->count++].content = cfr_secret_view(secret);
    return 0;
}

/* The old key still works for a while, and from the time a consumer knows which of the two to expect. */
static int add_minted(const struct cfr_config_publish *t, const struct cfr_publish_minted *minted,
                      struct cfr_target_content *out, struct cfr_err *err)
{
    struct cfr_secret *secret = cfr_publish_content_add(out);
    int rc = cfr_publish_minted_line(minted, secret, err);
    struct cfr_view line = cfr_secret_view(secret);

    if (rc == 0)
        out->files[out->count++] =
            (struct cfr_file){CFR_ROTATION_FILE, line, out->files[0].mode, out->files[0].uid, out->files[0].gid};
    for (size_t i = 0; rc == 0 && i < t->files.count; i++)
        rc = add_previous(t, i, line, out, err);
    return rc;
}

static int render_directory(const struct cfr_target *target, const struct cfr_publish_render *whole,
                            struct cfr_target_content *out, struct cfr_err *err)
{
    const struct cfr_config_publish *t = target->config;
    struct cfr_publish_render job = *whole;
    char path[PATH_MAX];
    int rc = 0;

    job.token_path = find_token(t, path);
    for (size_t i = 0; rc == 0 && i < t->files.count; i++)
        rc = cfr_publish_content_file(out, &job, file_at(t, i), err);
    if (rc == 0 && job.from->minted != NULL)
        rc = add_minted(t, job.from->minted, out, err);
    if (rc == 0 && t->files.count == 0) {
        cfr_publish_content_keys(out, &job, (mode_t)t->files_mode);
        if (out->count == 0)
            rc = cfr_err_set(err, CFR_E_CONFIG,
                             "%s: an exchanged Secret has no keys to publish; name `files` with their formats, or "
                             "write pass_on: true",
                             t->directory);
    }
    return rc != 0 ? rc : cfr_publish_content_ids(t->owner, t->group, &out->uid, &out->gid, err);
}

/* ---- publishing ---- */

/* Never 0. */
static uint64_t hash_of(const struct cfr_target_content *content)
{
    uint64_t h = CFR_HASH_START;

    for (size_t i = 0; i < content->count; i++) {
        h = cfr_hash_add(h, content->files[i].name, strlen(content->files[i].name) + 1);
        h = cfr_hash_add(h, content->files[i].content.p, content->files[i].content.n);
    }
    return h != 0 ? h : 1;
}

static void take_state(const struct cfr_generation_state *state, struct cfr_publish_seen *seen)
{
    seen->current = state->number;
    seen->mark = state->mark;
    seen->renamed_ns = state->renamed_ns;
}

static int make_directory(const struct cfr_target *t, struct cfr_err *err)
{
    struct cfr_generation set = {.directory = t->config->directory,
                                 .directory_mode = (mode_t)t->config->directory_mode};
    int rc = cfr_publish_content_ids(t->config->owner, t->config->group, &set.uid, &set.gid, err);

    return rc != 0 ? rc : cfr_generation_make(&set, err);
}

static int publish_directory(const struct cfr_target *t, const struct cfr_publish_job *job,
                             struct cfr_target_content *content, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    uint64_t last = seen->hash;
    struct cfr_generation_state state;
    struct cfr_generation set = {
        .directory = t->config->directory,
        .directory_mode = (mode_t)t->config->directory_mode,
        .uid = content->uid,
        .gid = content->gid,
        .files = content->files,
        .file_count = content->count,
        .number = job->render.generation,
        .now_s = job->now.wall_ms / 1000,
        /* New secrets differ nearly always: comparing hashes saves reading the files. */
        .differs = last != 0 && last != hash_of(content),
    };
    int rc = cfr_generation_publish(&set, &seen->changed, &state, err);

    seen->hash = rc == 0 ? hash_of(content) : 0;
    seen->known = rc == 0 && state.number != 0;
    take_state(&state, seen);
    return rc;
}

static int recover_directory(const struct cfr_target *t, bool recorded, struct cfr_err *err)
{
    return cfr_generation_recover(t->config->directory, recorded, err);
}

static int retire_previous(const struct cfr_target *t, struct cfr_err *err)
{
    return cfr_generation_retire(t->config->directory, err);
}

static int forget_old(const struct cfr_target *t, struct cfr_err *err)
{
    char name[CFR_PATH_NAME_MAX + 1];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < t->config->files.count; i++) {
        (void)snprintf(name, sizeof name, "%s" CFR_MINT_OLD_SUFFIX, file_at(t->config, i)->name);
        rc = cfr_generation_drop(t->config->directory, name, err);
    }
    return rc;
}

/* ---- what is there ---- */

/* Each file that is configured has something in it: a long-lived key's directory may have more than these, which are
 * those of the previous key. */
static int check_minted(const struct cfr_config_publish *t, struct cfr_err *err)
{
    int rc = 0;

    /* Not by its path: a link in it could lead to a file system that does not answer. */
    for (size_t i = 0; rc == 0 && i < t->files.count; i++) {
        struct cfr_secret content;

        cfr_secret_init(&content, CFR_FORMAT_OUTPUT_MAX);
        if (cfr_generation_read(t->directory, file_at(t, i)->name, &content, NULL) != 0 || content.len == 0)
            rc = cfr_err_set(err, CFR_E_MISSING, "%s/%s is not there", t->directory, file_at(t, i)->name);
        cfr_secret_free(&content);
    }
    return rc;
}

static int look_at(const struct cfr_target *target, struct cfr_publish_seen *seen, struct cfr_err *err)
{
    const struct cfr_config_publish *t = target->config;
    bool minted = target->credential->mint != NULL;
    const char *names[CFR_CONFIG_FILES_MAX];
    struct cfr_generation_expected expected = {.count = t->files.count};
    struct cfr_generation_state state;
    struct cfr_err none = {0};
    gid_t gid;
    int rc;

    for (size_t i = 0; i < t->files.count; i++) {
        names[i] = file_at(t, i)->name;
        /* A key of a Secret may be empty. */
        expected.may_be_empty = expected.may_be_empty || cfr_formats[file_at(t, i)->format].passes_on;
    }
    /* A Secret that is passed on has whatever keys it has. */
    expected.names = minted || t->files.count == 0 ? NULL : names;
    if (cfr_publish_content_ids(t->owner, NULL, &expected.owner, &gid, &none) != 0)
        expected.owner = CFR_FILE_KEEP_ID;
    rc = cfr_generation_look(t->directory, &expected, &state, err);
    take_state(&state, seen);
    return rc == 0 && minted ? check_minted(t, err) : rc;
}

static void read_key(const struct cfr_target *t, char id[CFR_PUBLISH_KEY_MAX])
{
    cfr_publish_minted_id(t->config->directory, id);
}

static void inspect_directory(const struct cfr_target *target, const struct cfr_publish_inspection *i)
{
    const struct cfr_config_publish *t = target->config;

    i->owner(i->ctx, t->owner, t->group);
    for (size_t k = 0; k < t->files.count; k++)
        i->owner(i->ctx, file_at(t, k)->owner, file_at(t, k)->group);
    i->directory(i->ctx, t->directory);
}

const struct cfr_target_ops cfr_publish_directory = {
    .has_generations = true,
    .inspect = inspect_directory,
    .is_configured = is_directory,
    .path = path_of_directory,
    .renamed = name_link,
    .render = render_directory,
    .make = make_directory,
    .publish = publish_directory,
    .recover = recover_directory,
    .look = look_at,
    .retire = retire_previous,
    .forget = forget_old,
    .read_key = read_key,
};
