/* SPDX-License-Identifier: MIT */
/* From a grant to files. */
#include "agent/publish/targets.h"

#include "agent/publish/previous_private.h"
#include "base/hash.h"
#include "files/format/format.h"
#include "files/generation.h"
#include "files/path.h"
#include "files/profile.h"
#include "files/single.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Everything of one target, rendered. */
struct rendered {
    struct cfr_file files[CFR_CONFIG_FILES_MAX];
    struct cfr_secret contents[CFR_CONFIG_FILES_MAX];
    size_t count;
    char old_names[CFR_MINT_FILES_MAX][CFR_PATH_NAME_MAX + 1];
    struct cfr_generation set;
    char section[CFR_FORMAT_SECTION_MAX];
};

static const struct cfr_config_publish *target_at(const struct cfr_config_credential *c, size_t i)
{
    return (const struct cfr_config_publish *)c->publish.items + i;
}

static const struct cfr_config_file *file_at(const struct cfr_config_publish *t, size_t i)
{
    return (const struct cfr_config_file *)t->files.items + i;
}

static void forget(struct rendered *r)
{
    for (size_t i = 0; i < r->count; i++)
        cfr_secret_free(&r->contents[i]);
    free(r);
}

static int ids(const char *owner, const char *group, uid_t *uid, gid_t *gid, struct cfr_err *err)
{
    int rc = 0;

    *uid = CFR_FILE_KEEP_ID;
    *gid = CFR_FILE_KEEP_ID;
    if (owner != NULL)
        rc = cfr_path_uid(owner, uid, err);
    if (rc == 0 && group != NULL)
        rc = cfr_path_gid(group, gid, err);
    return rc;
}

static struct cfr_secret *next_content(struct rendered *r)
{
    struct cfr_secret *content = &r->contents[r->count++];

    cfr_secret_init(content, CFR_FORMAT_OUTPUT_MAX);
    return content;
}

static int render_file(const struct cfr_publish_render *job, const struct cfr_config_file *f, struct rendered *r,
                       struct cfr_err *err)
{
    size_t i = r->count;
    int rc = cfr_publish_render_file(job, f, next_content(r), err);

    if (rc != 0)
        return rc;
    r->files[i].name = f->name;
    r->files[i].content = cfr_secret_view(&r->contents[i]);
    r->files[i].mode = (mode_t)f->mode;
    return ids(f->owner, f->group, &r->files[i].uid, &r->files[i].gid, err);
}

static int render_profile(const struct cfr_publish_render *job, const struct cfr_config_profile *p, struct rendered *r,
                          struct cfr_err *err)
{
    int rc = cfr_publish_render_profile(job, p, next_content(r), err);

    if (rc == 0)
        rc = cfr_format_section(&cfr_formats[p->format], p->name, r->section, err);
    if (rc != 0)
        return rc;
    r->files[0].content = cfr_secret_view(&r->contents[0]);
    r->files[0].mode = (mode_t)p->mode;
    return ids(p->owner, p->group, &r->files[0].uid, &r->files[0].gid, err);
}

/* A Secret that is passed on: its keys as they are, whatever they are called this time. */
static int take_keys(const struct cfr_publish_render *job, const struct cfr_config_publish *t, struct rendered *r,
                     struct cfr_err *err)
{
    struct cfr_view value;
    const char *name;

    for (size_t i = 0; i < CFR_CONFIG_FILES_MAX && (name = cfr_publish_render_key(job->grant, i, &value)) != NULL;
         i++) {
        r->files[i] = (struct cfr_file){name, value, (mode_t)t->files_mode, CFR_FILE_KEEP_ID, CFR_FILE_KEEP_ID};
        r->set.file_count = i + 1;
    }
    if (r->set.file_count == 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "%s: there is no Secret's key to publish there, because the Secret is exchanged; name `files` "
            "with their formats, or write pass_on: true",
            t->directory);
    return 0;
}

/* Where the token of this directory will be, for formats that point at it. */
static const char *find_token(const struct cfr_config_publish *t, char path[PATH_MAX])
{
    for (size_t i = 0; i < t->files.count; i++) {
        if (cfr_formats[file_at(t, i)->format].is_token) {
            (void)snprintf(path, PATH_MAX, "%s/%s", t->directory, file_at(t, i)->name);
            return path;
        }
    }
    return NULL;
}

static int add_old(const struct cfr_config_publish *t, size_t i, struct cfr_view line, struct rendered *r,
                   struct cfr_err *err)
{
    bool there;
    int rc;

    (void)snprintf(r->old_names[i], sizeof r->old_names[i], "%s" CFR_MINT_OLD_SUFFIX, file_at(t, i)->name);
    rc = cfr_publish_old_read(t->directory, file_at(t, i)->name, line, next_content(r), &there, err);
    if (rc == 0 && there) {
        r->files[r->count - 1] = r->files[i];
        r->files[r->count - 1].name = r->old_names[i];
        r->files[r->count - 1].content = cfr_secret_view(&r->contents[r->count - 1]);
    } else {
        r->count--;
    }
    return rc;
}

/* The old key works on for a while, and the time says for which of the two a consumer has to ask. */
static int add_minted(const struct cfr_publish_render *job, const struct cfr_config_publish *t, struct rendered *r,
                      struct cfr_err *err)
{
    size_t at = r->count;
    int rc = cfr_publish_old_line(job->from->minted, next_content(r), err);

    r->files[at] = (struct cfr_file){CFR_ROTATION_FILE, cfr_secret_view(&r->contents[at]), r->files[0].mode,
                                     r->files[0].uid, r->files[0].gid};
    for (size_t i = 0; rc == 0 && i < t->files.count; i++)
        rc = add_old(t, i, r->files[at].content, r, err);
    return rc;
}

static int render_directory(const struct cfr_publish_render *whole, const struct cfr_config_publish *t,
                            struct rendered *r, struct cfr_err *err)
{
    char path[PATH_MAX];
    struct cfr_publish_render with_token = *whole;
    const struct cfr_publish_render *job = &with_token;
    int rc = 0;

    with_token.token_path = find_token(t, path);

    r->set.directory = t->directory;
    r->set.directory_mode = (mode_t)t->directory_mode;
    r->set.files = r->files;
    r->set.number = job->generation;
    for (size_t i = 0; rc == 0 && i < t->files.count; i++)
        rc = render_file(job, file_at(t, i), r, err);
    if (rc == 0 && job->from->minted != NULL)
        rc = add_minted(job, t, r, err);
    r->set.file_count = r->count;
    if (rc == 0 && t->files.count == 0)
        rc = take_keys(job, t, r, err);
    return rc != 0 ? rc : ids(t->owner, t->group, &r->set.uid, &r->set.gid, err);
}

static int render_target(const struct cfr_publish_render *job, const struct cfr_config_publish *t,
                         struct rendered **out, struct cfr_err *err)
{
    struct rendered *r = calloc(1, sizeof *r);
    int rc;

    *out = NULL;
    if (r == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    if (t->directory != NULL)
        rc = render_directory(job, t, r, err);
    else if (t->file != NULL)
        rc = render_file(job, t->file, r, err);
    else
        rc = render_profile(job, t->profile, r, err);
    if (rc != 0) {
        forget(r);
        return rc;
    }
    *out = r;
    return 0;
}

/* Never 0. */
static uint64_t hash_of(const struct rendered *r)
{
    uint64_t h = CFR_HASH_START;

    for (size_t i = 0; i < r->set.file_count; i++) {
        h = cfr_hash_add(h, r->files[i].name, strlen(r->files[i].name) + 1);
        h = cfr_hash_add(h, r->files[i].content.p, r->files[i].content.n);
    }
    return h != 0 ? h : 1;
}

/* What the directory was given last is compared by *LAST first: new secrets differ nearly always. */
static int write_directory(struct rendered *r, uint64_t *last, bool *changed, struct cfr_err *err)
{
    uint64_t hash = hash_of(r);
    int rc;

    r->set.differs = *last != 0 && *last != hash;
    rc = cfr_generation_publish(&r->set, changed, err);
    *last = rc == 0 ? hash : 0;
    return rc;
}

static int write_target(const struct cfr_config_publish *t, struct rendered *r, int64_t now_s, uint64_t *last,
                        bool *changed, struct cfr_err *err)
{
    if (t->directory != NULL) {
        r->set.now_s = now_s;
        return write_directory(r, last, changed, err);
    }
    if (t->file != NULL)
        return cfr_single_publish(t->file->path, &r->files[0], t->file->in_place, changed, err);
    return cfr_profile_publish(t->profile->path, r->section, &r->files[0], changed, err);
}

static void remember(const struct cfr_config_publish *t, struct cfr_file_mark *mark)
{
    *mark = (struct cfr_file_mark){0};
    if (t->file != NULL)
        (void)cfr_single_mark(t->file->path, mark, NULL);
}

int cfr_publish(const struct cfr_config_credential *c, const struct cfr_publish_from *from,
                const struct cfr_grant *grant, uint64_t generation, int64_t now_s, struct cfr_publish_record *record,
                bool *changed, struct cfr_err *err)
{
    struct rendered *all[CFR_CONFIG_TARGETS_MAX] = {NULL};
    struct cfr_publish_render job = {c->name, from, grant, generation, NULL};
    int rc = 0;

    *changed = false;
    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        if (target_at(c, i)->secret == NULL)
            rc = render_target(&job, target_at(c, i), &all[i], err);
    }
    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        bool one = false;

        if (all[i] == NULL)
            continue;
        rc = write_target(target_at(c, i), all[i], now_s, &record->rendered[i], &one, err);
        *changed = *changed || one;
        if (rc == 0)
            remember(target_at(c, i), &record->targets[i]);
    }
    for (size_t i = 0; i < c->publish.count; i++) {
        if (all[i] != NULL)
            forget(all[i]);
    }
    record->target_count = c->publish.count;
    return rc;
}

int cfr_publish_rehearse(const struct cfr_config_credential *c, const struct cfr_publish_from *from,
                         const struct cfr_grant *grant, struct cfr_err *err)
{
    struct cfr_publish_render job = {c->name, from, grant, 1, NULL};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        struct rendered *r = NULL;

        if (target_at(c, i)->secret == NULL)
            rc = render_target(&job, target_at(c, i), &r, err);
        if (r != NULL)
            forget(r);
    }
    return rc;
}

int cfr_publish_recover(const struct cfr_config_credential *c, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        const struct cfr_config_publish *t = target_at(c, i);

        if (t->directory != NULL)
            rc = cfr_generation_recover(t->directory, err);
        else if (t->secret == NULL)
            rc = cfr_single_recover(t->file != NULL ? t->file->path : t->profile->path, err);
    }
    return rc;
}

/* Beside what is configured there may be what was published before. */
static int present_minted(const struct cfr_config_publish *t, struct cfr_err *err)
{
    int rc = cfr_generation_verify(t->directory, NULL, 0, err);

    for (size_t i = 0; rc == 0 && i < t->files.count; i++) {
        char path[PATH_MAX];
        struct stat st;

        (void)snprintf(path, sizeof path, "%s/%s", t->directory, file_at(t, i)->name);
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
            rc = cfr_err_set(err, CFR_E_MISSING, "%s is not there", path);
    }
    return rc;
}

static int present_directory(const struct cfr_config_credential *c, const struct cfr_config_publish *t,
                             struct cfr_err *err)
{
    const char *names[CFR_CONFIG_FILES_MAX];

    if (c->mint != NULL)
        return present_minted(t, err);

    for (size_t i = 0; i < t->files.count; i++)
        names[i] = file_at(t, i)->name;
    /* A Secret that is passed on has whatever keys it has. */
    return cfr_generation_verify(t->directory, t->files.count != 0 ? names : NULL, t->files.count, err);
}

static int verify_directory(const struct cfr_config_credential *c, const struct cfr_config_publish *t,
                            const struct cfr_publish_record *record, struct cfr_err *err)
{
    uint64_t current = 0;
    int rc = cfr_generation_current(t->directory, &current, err);

    if (rc != 0)
        return rc;
    /* A credential with several targets may have left this one as it was. */
    if (current == 0 || current > record->generation)
        return cfr_err_set(err, CFR_E_MISSING, "%s does not hold generation %llu", t->directory,
                           (unsigned long long)record->generation);
    return present_directory(c, t, err);
}

static int verify_single(const char *path, const struct cfr_file_mark *remembered, struct cfr_err *err)
{
    struct cfr_file_mark now;
    int rc = cfr_single_mark(path, &now, err);

    if (rc != 0)
        return rc;
    if (now.inode != remembered->inode || now.size != remembered->size || now.mtime_ns != remembered->mtime_ns)
        return cfr_err_set(err, CFR_E_MISSING, "%s was changed by somebody else", path);
    return 0;
}

static int verify_profile(const struct cfr_config_profile *p, struct cfr_err *err)
{
    char section[CFR_FORMAT_SECTION_MAX];
    int rc = cfr_format_section(&cfr_formats[p->format], p->name, section, err);

    return rc != 0 ? rc : cfr_profile_verify(p->path, section, err);
}

int cfr_publish_verify(const struct cfr_config_credential *c, const struct cfr_publish_record *record,
                       struct cfr_err *err)
{
    int rc = 0;

    if (record->target_count != c->publish.count)
        return cfr_err_set(err, CFR_E_MISSING, "the targets have changed");
    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        const struct cfr_config_publish *t = target_at(c, i);

        if (t->directory != NULL)
            rc = verify_directory(c, t, record, err);
        else if (t->file != NULL)
            rc = verify_single(t->file->path, &record->targets[i], err);
        else if (t->profile != NULL)
            rc = verify_profile(t->profile, err);
    }
    return rc;
}

int cfr_publish_present(const struct cfr_config_credential *c, struct cfr_err *err)
{
    struct cfr_file_mark mark;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        const struct cfr_config_publish *t = target_at(c, i);

        if (t->directory != NULL)
            rc = present_directory(c, t, err);
        else if (t->file != NULL)
            rc = cfr_single_mark(t->file->path, &mark, err);
        else if (t->profile != NULL)
            rc = verify_profile(t->profile, err);
    }
    return rc;
}

uint64_t cfr_publish_newest(const struct cfr_config_credential *c)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < c->publish.count; i++) {
        uint64_t number = 0;

        if (target_at(c, i)->directory != NULL &&
            cfr_generation_current(target_at(c, i)->directory, &number, NULL) == 0 && number > newest)
            newest = number;
    }
    return newest;
}

int64_t cfr_publish_moment_ns(const struct cfr_config_credential *c)
{
    int64_t newest_ns = 0;

    for (size_t i = 0; i < c->publish.count; i++) {
        const struct cfr_config_publish *t = target_at(c, i);
        const char *file = t->file != NULL ? t->file->path : t->profile != NULL ? t->profile->path : NULL;
        char path[PATH_MAX + sizeof CFR_GENERATION_DATA + 1];
        struct stat st;
        int64_t ns;

        if (t->directory == NULL && file == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s%s", t->directory != NULL ? t->directory : file,
                       t->directory != NULL ? "/" CFR_GENERATION_DATA : "");
        /* Renaming changes it. */
        ns = lstat(path, &st) == 0 ? (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec : 0;
        if (ns > newest_ns)
            newest_ns = ns;
    }
    return newest_ns;
}

int cfr_publish_retire(const struct cfr_config_credential *c, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        if (target_at(c, i)->directory != NULL)
            rc = cfr_generation_retire(target_at(c, i)->directory, err);
    }
    return rc;
}
