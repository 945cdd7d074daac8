/* SPDX-License-Identifier: MIT */
/* Publishing a set of files in one step, and recovering from a crash. */
#include "files/generation.h"

#include "base/hash.h"
#include "files/file_private.h"
#include "files/layout_private.h"
#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_BITS 07777

/* One publish under way: the state before it, and what was made and has to be undone after an error. */
struct attempt {
    const struct cfr_generation *g;
    struct cfr_err *err;
    int dir_fd;
    bool made_directory;
    struct cfr_layout old;
    struct cfr_layout new; /* none until its directory is made */
    int new_fd;            /* that directory; -1: it is not open */
    bool made_tmp;
    uint64_t made_links; /* one bit for each of g->files */
    uint64_t had_links;  /* those that existed before */
};

_Static_assert(CFR_GENERATION_FILES_MAX <= 64, "made_links and had_links have one bit for each file");

static int check_names(const struct cfr_generation *g, struct cfr_err *err)
{
    if (g->file_count == 0 || g->file_count > CFR_GENERATION_FILES_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "%s: a generation has 1 to %d files, not %zu", g->directory,
                           CFR_GENERATION_FILES_MAX, g->file_count);
    for (size_t i = 0; i < g->file_count; i++) {
        const char *name = g->files[i].name;

        if (!cfr_path_is_name(name) || strncmp(name, "..", 2) == 0)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: \"%s\" cannot be a file's name: it must not be empty, hold a "
                               "slash or begin with two dots",
                               g->directory, name);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(name, g->files[j].name) == 0)
                return cfr_err_set(err, CFR_E_CONFIG, "%s: two files are named %s", g->directory, name);
        }
    }
    return 0;
}

/* Opens G's directory, or makes it. Returns the descriptor or an error. */
static int open_directory(const struct cfr_generation *g, bool *made, struct cfr_err *err)
{
    struct cfr_err first = {0};
    const char *name;
    int fd = cfr_path_open_dir(g->directory, false, 0, &first);
    int parent;
    int rc;

    *made = false;
    if (fd >= 0)
        return fd;
    if (fd != CFR_E_MISSING)
        return cfr_err_set(err, first.code, "%s", first.text);
    parent = cfr_path_open_parent(g->directory, true, &name, err);
    if (parent < 0)
        return parent;
    rc = cfr_path_make_dir(parent, name, g->directory_mode, g->uid, g->gid, err);
    (void)close(parent);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", g->directory);
    *made = true;
    return cfr_path_open_dir(g->directory, false, 0, err);
}

int cfr_generation_make(const struct cfr_generation *g, struct cfr_err *err)
{
    bool made;
    int fd = open_directory(g, &made, err);

    if (fd < 0)
        return fd;
    (void)close(fd);
    return 0;
}

/* Only root writes with the rights of another user. */
static int check_owner(const struct cfr_generation *g, struct cfr_err *err)
{
    if (g->uid == CFR_FILE_KEEP_ID || geteuid() == 0 || g->uid == geteuid())
        return 0;
    return cfr_err_set(err, CFR_E_PERM,
                       "%s: only root can publish in a directory that it gives to another user: leave its `owner` out, "
                       "and let that user in by `group` and `directory_mode`",
                       g->directory);
}

/* *OURS: it is a link that was published before. */
static int check_entry(int dir_fd, const char *directory, const char *name, bool *ours, struct cfr_err *err)
{
    struct stat st;

    *ours = cfr_layout_is_link(dir_fd, name);
    if (*ours)
        return 0;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : cfr_err_sys(err, errno, "cannot read the status of %s/%s", directory, name);
    return cfr_err_set(err, CFR_E_CONFLICT,
                       "%s/%s exists and is not credfresh's: remove it or publish under another name", directory, name);
}

static int check_visible(struct attempt *a, size_t i)
{
    bool ours;
    int rc = check_entry(a->dir_fd, a->g->directory, a->g->files[i].name, &ours, a->err);

    if (ours)
        a->had_links |= UINT64_C(1) << i;
    return rc;
}

int cfr_generation_check_name(const char *directory, const char *name, struct cfr_err *err)
{
    struct cfr_err none = {0};
    int dir_fd = cfr_path_open_dir(directory, false, 0, &none);
    bool ours;
    int rc;

    if (dir_fd < 0)
        return 0; /* it is still to be made, or the directory itself is in the way */
    rc = check_entry(dir_fd, directory, name, &ours, err);
    (void)close(dir_fd);
    return rc;
}

/* 0 for a name that is to be published, 1 for another. */
static int is_other(void *ctx, int dir_fd, const char *name)
{
    const struct attempt *a = ctx;

    (void)dir_fd;
    for (size_t i = 0; i < a->g->file_count; i++) {
        if (strcmp(name, a->g->files[i].name) == 0)
            return 0;
    }
    return 1;
}

static bool same_directory(int fd, const struct cfr_generation *g)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & MODE_BITS) == g->directory_mode &&
           (g->uid == CFR_FILE_KEEP_ID ? st.st_uid == 0 || st.st_uid == geteuid() : st.st_uid == g->uid) &&
           (g->gid == CFR_FILE_KEEP_ID || st.st_gid == g->gid);
}

/* True if the current generation is what is to be published. */
static bool is_current(struct attempt *a)
{
    bool same;
    int fd;

    /* A greater number is not of our making. */
    if (a->old.name[0] == '\0' || a->g->differs || a->old.number > a->g->number)
        return false;
    fd = cfr_path_openat(a->dir_fd, a->old.name, O_RDONLY | O_DIRECTORY, 0, NULL);
    if (fd < 0)
        return false;
    same = same_directory(fd, a->g);
    for (size_t i = 0; same && i < a->g->file_count; i++)
        same = cfr_file_same(fd, &a->g->files[i]);
    same = same && cfr_path_each(fd, is_other, a, NULL) == 0;
    (void)close(fd);
    return same;
}

static int make_generation(struct attempt *a)
{
    const struct cfr_generation *g = a->g;
    struct cfr_layout name = {0};
    int rc = 0;
    int fd;

    cfr_layout_name(g->number, g->now_s, &name);
    if (mkdirat(a->dir_fd, name.name, 0700) != 0)
        return errno == EEXIST ? cfr_err_set(a->err, CFR_E_CONFLICT, "the generation %s exists already", name.name)
                               : cfr_err_sys(a->err, errno, "cannot make the generation %s", name.name);
    a->new = name;
    fd = cfr_path_openat(a->dir_fd, name.name, O_RDONLY | O_DIRECTORY, 0, a->err);
    if (fd < 0)
        return fd;
    a->new_fd = fd;
    for (size_t i = 0; rc == 0 && i < g->file_count; i++)
        rc = cfr_file_create(fd, &g->files[i], a->err);
    if (rc == 0 && (g->uid != CFR_FILE_KEEP_ID || g->gid != CFR_FILE_KEEP_ID) && fchown(fd, g->uid, g->gid) != 0)
        rc = cfr_err_sys(a->err, errno, "cannot set the owner of the generation%s",
                         errno == EINVAL ? CFR_PATH_UNMAPPED : "");
    if (rc == 0 && fchmod(fd, g->directory_mode) != 0)
        rc = cfr_err_sys(a->err, errno, "cannot set the mode of the generation");
    if (rc == 0)
        rc = cfr_path_sync(fd, "the generation", a->err);
    return rc;
}

static void close_new(struct attempt *a)
{
    if (a->new_fd >= 0)
        (void)close(a->new_fd);
    a->new_fd = -1;
}

static void wipe_new(struct attempt *a)
{
    close_new(a);
    if (a->new.name[0] != '\0')
        (void)cfr_layout_wipe(a->dir_fd, a->new.name, NULL);
    a->new = (struct cfr_layout){0};
}

/* Before the commit, so that a first set appears whole: until then the links lead nowhere. */
static int make_links(struct attempt *a)
{
    char target[sizeof CFR_GENERATION_DATA + 1 + CFR_PATH_NAME_MAX];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < a->g->file_count; i++) {
        const char *name = a->g->files[i].name;

        if ((a->had_links >> i & 1) != 0)
            continue;
        (void)snprintf(target, sizeof target, CFR_GENERATION_DATA "/%s", name);
        if (symlinkat(target, a->dir_fd, name) == 0)
            a->made_links |= UINT64_C(1) << i;
        else if (errno != EEXIST)
            rc = cfr_err_sys(a->err, errno, "cannot make the link %s", name);
        else
            rc = check_visible(a, i);
    }
    return rc;
}

static int commit(struct attempt *a)
{
    int made = symlinkat(a->new.name, a->dir_fd, CFR_LAYOUT_DATA_TMP);
    int rc;

    if (made != 0 && errno == EEXIST) {
        rc = cfr_layout_remove_tmp(a->dir_fd, a->err);
        if (rc != 0)
            return rc;
        made = symlinkat(a->new.name, a->dir_fd, CFR_LAYOUT_DATA_TMP);
    }
    if (made != 0)
        return cfr_err_sys(a->err, errno, "cannot make the link %s", CFR_LAYOUT_DATA_TMP);
    a->made_tmp = true;
    rc = cfr_path_sync(a->dir_fd, "the directory", a->err);
    if (rc != 0)
        return rc;
    if (renameat(a->dir_fd, CFR_LAYOUT_DATA_TMP, a->dir_fd, CFR_GENERATION_DATA) != 0)
        return cfr_err_sys(a->err, errno, "cannot rename %s to %s", CFR_LAYOUT_DATA_TMP, CFR_GENERATION_DATA);
    return 0;
}

/* Gives a file an mtime after the moment when it became visible, unless it has one. */
static int stamp_late(void *ctx, int dir_fd, const char *name)
{
    const struct timespec *visible = ctx;
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        (st.st_mtim.tv_sec < visible->tv_sec ||
         (st.st_mtim.tv_sec == visible->tv_sec && st.st_mtim.tv_nsec <= visible->tv_nsec)))
        cfr_file_stamp(dir_fd, name);
    return 0;
}

/* Stamps the files of CURRENT that a crash after the commit left without. */
static void stamp_after_crash(int dir_fd, const struct cfr_layout *current)
{
    struct stat data;
    int fd;

    /* The rename of ..data changed its ctime. */
    if (current->name[0] == '\0' || fstatat(dir_fd, CFR_GENERATION_DATA, &data, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    fd = cfr_path_openat(dir_fd, current->name, O_RDONLY | O_DIRECTORY, 0, NULL);
    if (fd < 0)
        return;
    (void)cfr_path_each(fd, stamp_late, &data.st_ctim, NULL);
    (void)close(fd);
}

/* When ..data was renamed; 0: there is none. */
static int64_t read_renamed_ns(int dir_fd)
{
    struct stat st;

    return fstatat(dir_fd, CFR_GENERATION_DATA, &st, AT_SYMLINK_NOFOLLOW) == 0
               ? (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec
               : 0;
}

/* In any order of the files. */
static void add_to_mark(struct cfr_file_fingerprint *mark, const char *name, const struct cfr_file_fingerprint *one)
{
    uint64_t h = cfr_hash_add(CFR_HASH_START, name, strlen(name));

    h = cfr_hash_add(h, &one->size, sizeof one->size);
    h = cfr_hash_add(h, &one->mtime_ns, sizeof one->mtime_ns);
    mark->size += one->size;
    mark->mtime_ns = (int64_t)((uint64_t)mark->mtime_ns + h);
}

static void undo(struct attempt *a)
{
    if (a->made_tmp)
        (void)unlinkat(a->dir_fd, CFR_LAYOUT_DATA_TMP, 0);
    for (size_t i = 0; i < a->g->file_count; i++) {
        if ((a->made_links >> i & 1) != 0)
            (void)unlinkat(a->dir_fd, a->g->files[i].name, 0);
    }
    wipe_new(a);
    if (a->made_directory)
        (void)rmdir(a->g->directory);
}

/* The generation is published; no failure here changes that. */
static void finish(const struct attempt *a, struct cfr_generation_state *state)
{
    struct cfr_generation_state now = {.number = a->g->number};
    struct cfr_file_fingerprint one;

    for (size_t i = 0; i < a->g->file_count; i++)
        cfr_file_stamp(a->new_fd, a->g->files[i].name);
    (void)cfr_path_sync(a->dir_fd, "the directory", NULL);
    (void)cfr_layout_tidy(a->dir_fd, &a->new, &a->old, a->g, NULL);
    if (state == NULL)
        return;
    for (size_t i = 0; i < a->g->file_count; i++) {
        if (cfr_file_fingerprint(a->new_fd, a->g->files[i].name, &one, NULL) != 0)
            return;
        add_to_mark(&now.mark, a->g->files[i].name, &one);
    }
    now.renamed_ns = read_renamed_ns(a->dir_fd);
    *state = now;
}

/* Wipes generations that were never published: they may have the name that is needed, and take space. */
static void clear_unfinished(const struct attempt *a)
{
    struct cfr_layout previous = {0};

    if (a->old.name[0] == '\0' || cfr_layout_previous(a->dir_fd, &a->old, &previous, NULL) == 0)
        (void)cfr_layout_wipe_others(a->dir_fd, &a->old, &previous, NULL);
}

/* Steps 2 to 8 below. */
static int replace_current(struct attempt *a, bool *changed)
{
    int rc = cfr_layout_current(a->dir_fd, &a->old, a->err);

    if (rc != 0)
        return rc;
    if (is_current(a)) {
        rc = make_links(a);
        /* It may come from a run that was killed after the swap. */
        (void)cfr_path_sync(a->dir_fd, "the directory", NULL);
        return rc;
    }
    rc = make_generation(a);
    /* A crash may have left a generation of this name, or several that fill the disk. */
    if (rc == CFR_E_NOSPACE || rc == CFR_E_CONFLICT) {
        wipe_new(a);
        clear_unfinished(a);
        rc = make_generation(a);
    }
    rc = rc != 0 ? rc : make_links(a);
    if (rc == 0 && a->old.name[0] == '\0')
        cfr_path_sync_above(a->dir_fd);
    rc = rc != 0 ? rc : commit(a);
    *changed = rc == 0;
    return rc;
}

/* A kill or power failure at any point leaves the old set or the new one, whole:
 *  1. check the names; open the directory, or make it (owner and mode are set before it gets its name)
 *  2. read the current generation; without a difference there is nothing to do
 *  3. make the new generation's directory, mode 0700, which no link leads to yet
 *  4. create each file in it: write, owner, mode, fsync, close
 *  5. set the owner and mode of the generation's directory, fsync it
 *  6. make the visible links that are missing; those of a first set lead nowhere until the commit
 *  7. at a first publish fsync the directories above; make the link ..data_tmp, fsync the directory
 *  8. commit: rename ..data_tmp to ..data
 *  9. set the mtime of its files to now; fsync the directory; wipe the generations before the previous one
 * After an error up to step 8, undo() takes back 7, 6, 3 to 5 and 1. Errors of step 9 are not reported. */
int cfr_generation_publish(const struct cfr_generation *g, bool *changed, struct cfr_generation_state *state,
                           struct cfr_err *err)
{
    struct attempt a = {.g = g, .err = err, .dir_fd = -1, .new_fd = -1};
    int rc = check_names(g, err);

    *changed = false;
    if (state != NULL)
        *state = (struct cfr_generation_state){0};
    if (rc != 0)
        return rc;
    rc = check_owner(g, err);
    if (rc == 0) {
        a.dir_fd = open_directory(g, &a.made_directory, err);
        rc = a.dir_fd < 0 ? a.dir_fd : 0;
    }
    for (size_t i = 0; rc == 0 && i < g->file_count; i++)
        rc = check_visible(&a, i);
    if (rc == 0) {
        rc = replace_current(&a, changed);
        if (rc != 0)
            (void)cfr_err_prefix(err, "%s", g->directory);
    }
    if (rc != 0)
        undo(&a);
    else if (*changed)
        finish(&a, state);
    close_new(&a);
    if (a.dir_fd >= 0)
        (void)close(a.dir_fd);
    return rc;
}

/* Opens DIRECTORY and reads the current generation. CFR_E_MISSING if there is no directory. */
static int open_current(const char *directory, int *dir_fd, struct cfr_layout *current, struct cfr_err *err)
{
    int rc;

    *dir_fd = cfr_path_open_dir(directory, false, 0, err);
    if (*dir_fd < 0)
        return *dir_fd;
    rc = cfr_layout_current(*dir_fd, current, err);
    if (rc != 0) {
        (void)close(*dir_fd);
        (void)cfr_err_prefix(err, "%s", directory);
    }
    return rc;
}

/* Removes an unfinished directory that was to become DIRECTORY. */
static int recover_parent(const char *directory, struct cfr_err *err)
{
    const char *name;
    int fd = cfr_path_open_parent(directory, false, &name, NULL);
    int rc;

    if (fd < 0)
        return 0;
    rc = cfr_file_remove_temps(fd, name, err);
    (void)close(fd);
    return rc;
}

int cfr_generation_recover(const char *directory, bool recorded, struct cfr_err *err)
{
    struct cfr_layout previous = {0};
    struct cfr_layout current;
    struct cfr_err local = {0};
    int dir_fd;
    int rc = recover_parent(directory, err);
    int found = open_current(directory, &dir_fd, &current, &local);

    if (found != 0)
        return found == CFR_E_MISSING ? rc : cfr_err_set(err, found, "%s", local.text);
    if (rc == 0)
        rc = cfr_layout_remove_tmp(dir_fd, err);
    if (rc == 0 && current.name[0] != '\0')
        rc = cfr_layout_previous(dir_fd, &current, &previous, err);
    if (rc == 0) {
        if (!recorded)
            stamp_after_crash(dir_fd, &current);
        rc = cfr_layout_tidy(dir_fd, &current, &previous, NULL, err);
    }
    (void)close(dir_fd);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", directory);
    return rc;
}

int cfr_generation_retire(const char *directory, struct cfr_err *err)
{
    struct cfr_layout none = {0};
    struct cfr_layout current;
    struct cfr_err local = {0};
    int dir_fd;
    int rc = open_current(directory, &dir_fd, &current, &local);

    if (rc != 0)
        return rc == CFR_E_MISSING ? 0 : cfr_err_set(err, rc, "%s", local.text);
    rc = cfr_layout_wipe_others(dir_fd, &current, &none, err);
    (void)close(dir_fd);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", directory);
    return rc;
}

int cfr_generation_drop(const char *directory, const char *name, struct cfr_err *err)
{
    struct cfr_layout current;
    struct cfr_err local = {0};
    int dir_fd;
    int fd;
    int rc = open_current(directory, &dir_fd, &current, &local);

    if (rc != 0)
        return rc == CFR_E_MISSING ? 0 : cfr_err_set(err, rc, "%s", local.text);
    if (current.name[0] != '\0') {
        /* The file first: a link that a crash leaves leads nowhere, and is removed by the next start. */
        fd = cfr_path_openat(dir_fd, current.name, O_RDONLY | O_DIRECTORY, 0, err);
        rc = fd < 0 ? fd : cfr_file_wipe(fd, name, err);
        if (rc == 0)
            rc = cfr_path_sync(fd, "the generation", err);
        if (fd >= 0)
            (void)close(fd);
    }
    if (rc == 0 && cfr_layout_is_link(dir_fd, name) && unlinkat(dir_fd, name, 0) != 0 && errno != ENOENT)
        rc = cfr_err_sys(err, errno, "cannot remove the link %s", name);
    (void)close(dir_fd);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", directory);
    return rc;
}

struct look {
    const struct cfr_generation_expected *expected;
    struct cfr_generation_state *state;
    struct cfr_err *err;
    int dir_fd;
    size_t found;
};

static int check_link(const struct look *l, const char *name)
{
    if (cfr_layout_is_link(l->dir_fd, name))
        return 0;
    return cfr_err_set(l->err, CFR_E_MISSING, "the link %s is missing or is not ours", name);
}

static int check_name(void *ctx, int dir_fd, const char *name)
{
    struct cfr_file_fingerprint one = {0};
    struct look *l = ctx;

    l->found++;
    if (l->expected->names == NULL) {
        (void)cfr_file_fingerprint(dir_fd, name, &one, NULL);
        add_to_mark(&l->state->mark, name, &one);
        return check_link(l, name);
    }
    for (size_t i = 0; i < l->expected->count; i++) {
        if (strcmp(name, l->expected->names[i]) == 0)
            return 0;
    }
    return cfr_err_set(l->err, CFR_E_MISSING, "the current generation has another file, %s", name);
}

static int check_files(struct look *l, const struct cfr_layout *current)
{
    const struct cfr_generation_expected *e = l->expected;
    struct cfr_file_fingerprint one;
    int fd;
    int rc = 0;

    if (current->name[0] == '\0')
        return cfr_err_set(l->err, CFR_E_MISSING, "nothing is published there");
    fd = cfr_path_openat(l->dir_fd, current->name, O_RDONLY | O_DIRECTORY, 0, l->err);
    if (fd < 0)
        return fd;
    for (size_t i = 0; rc == 0 && e->names != NULL && i < e->count; i++) {
        if (cfr_file_fingerprint(fd, e->names[i], &one, NULL) != 0)
            rc = cfr_err_set(l->err, CFR_E_MISSING, "the current generation has no file %s", e->names[i]);
        else if (one.size == 0 && !e->may_be_empty)
            rc = cfr_err_set(l->err, CFR_E_MISSING, "%s is empty", e->names[i]);
        else
            rc = check_link(l, e->names[i]);
        if (rc == 0)
            add_to_mark(&l->state->mark, e->names[i], &one);
    }
    if (rc == 0)
        rc = cfr_path_each(fd, check_name, l, l->err);
    if (rc == 0 && l->found == 0)
        rc = cfr_err_set(l->err, CFR_E_MISSING, "the current generation is empty");
    (void)close(fd);
    return rc;
}

int cfr_generation_look(const char *directory, const struct cfr_generation_expected *expected,
                        struct cfr_generation_state *state, struct cfr_err *err)
{
    struct look l = {.expected = expected, .state = state, .err = err};
    struct cfr_layout current;
    struct stat st;
    int rc = open_current(directory, &l.dir_fd, &current, err);

    *state = (struct cfr_generation_state){0};
    if (rc != 0)
        return rc;
    if (current.uid == 0 || current.uid == geteuid() || current.uid == expected->owner ||
        (fstat(l.dir_fd, &st) == 0 && current.uid == st.st_uid))
        state->number = current.number;
    state->renamed_ns = read_renamed_ns(l.dir_fd);
    rc = check_files(&l, &current);
    (void)close(l.dir_fd);
    return rc != 0 ? cfr_err_prefix(err, "%s", directory) : 0;
}

int cfr_generation_read(const char *directory, const char *name, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_layout current;
    int dir_fd;
    int fd;
    int rc = open_current(directory, &dir_fd, &current, err);

    if (rc != 0)
        return rc;
    if (current.name[0] == '\0') {
        (void)close(dir_fd);
        return cfr_err_set(err, CFR_E_MISSING, "%s: nothing is published there", directory);
    }
    fd = cfr_path_openat(dir_fd, current.name, O_RDONLY | O_DIRECTORY, 0, err);
    (void)close(dir_fd);
    if (fd < 0)
        return fd;
    rc = cfr_file_read_at(fd, name, out, err);
    (void)close(fd);
    return rc != 0 ? cfr_err_prefix(err, "%s", directory) : 0;
}
