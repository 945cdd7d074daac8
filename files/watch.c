/* SPDX-License-Identifier: MIT */
/* File watches on inotify. A path is watched once, for all of its owners. */
#include "files/watch.h"

#include "base/hash.h"
#include "files/file_private.h"
#include "files/generation.h"
#include "files/watch_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* IN_MASK_ADD, because one directory may be watched both as a file's own and as the parent of a missing one.
 */
#define PARENT_EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD)
#define FILE_EVENTS   (PARENT_EVENTS | IN_CLOSE_WRITE | IN_ATTRIB) /* the last for files that are only touched */
#define SELF_EVENTS   (IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD)
#define REMOVALS      (IN_DELETE | IN_MOVED_FROM)
#define GONE          (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)
#define READ_BYTES    8192
#define CLIMB_TRIES   16

int cfr_watch_open(struct cfr_watch **out, struct cfr_err *err)
{
    struct cfr_watch *w = calloc(1, sizeof *w);

    *out = NULL;
    if (w == NULL)
        return cfr_err_nomem(err);
    w->fd = -1;
    if (!cfr_watch_make_tables(w)) {
        cfr_watch_close(w);
        return cfr_err_nomem(err);
    }
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0) {
        int code = errno == EMFILE ? cfr_err_set(err, CFR_E_LIMIT,
                                                 "no inotify instance is left for this user: raise the sysctl "
                                                 "fs.inotify.max_user_instances (or the limit of open files)")
                                   : cfr_err_sys(err, errno, "cannot start inotify");

        cfr_watch_close(w);
        return code;
    }
    *out = w;
    return 0;
}

void cfr_watch_close(struct cfr_watch *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->directory_count; i++)
        free(w->directories[i]);
    free(w->directories);
    cfr_watch_free_tables(w);
    if (w->fd >= 0)
        (void)close(w->fd);
    free(w);
}

int cfr_watch_fd(const struct cfr_watch *w)
{
    return w->fd;
}

/* ---- directories ---- */

/* Index of the first directory whose wd is not below WD. */
static size_t find_directory_index(const struct cfr_watch *w, int wd)
{
    size_t low = 0;
    size_t high = w->directory_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->directories[middle]->wd < wd)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct cfr_watch_directory *find_directory(const struct cfr_watch *w, int wd)
{
    size_t i = find_directory_index(w, wd);

    return i < w->directory_count && w->directories[i]->wd == wd ? w->directories[i] : NULL;
}

static struct cfr_watch_directory *add_directory(struct cfr_watch *w, int wd)
{
    struct cfr_watch_directory *d = find_directory(w, wd);
    size_t i = find_directory_index(w, wd);

    if (d != NULL)
        return d;
    if (w->directory_count == w->directory_cap) {
        size_t more = w->directory_cap == 0 ? 8 : w->directory_cap + w->directory_cap / 2;
        struct cfr_watch_directory **array = realloc(w->directories, more * sizeof(struct cfr_watch_directory *));

        if (array == NULL)
            return NULL;
        w->directories = array;
        w->directory_cap = more;
    }
    d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->wd = wd;
    memmove(w->directories + i + 1, w->directories + i,
            (w->directory_count - i) * sizeof(struct cfr_watch_directory *));
    w->directories[i] = d;
    w->directory_count++;
    return d;
}

/* Removes a directory that no entry uses any more. */
static void drop_directory(struct cfr_watch *w, struct cfr_watch_directory *d)
{
    size_t i = find_directory_index(w, d->wd);

    /* It fails where the kernel has dropped the watch itself. */
    (void)inotify_rm_watch(w->fd, d->wd);
    w->directory_count--;
    memmove(w->directories + i, w->directories + i + 1,
            (w->directory_count - i) * sizeof(struct cfr_watch_directory *));
    free(d);
}

static void detach(struct cfr_watch *w, struct cfr_watch_entry *e)
{
    if (e->directory == NULL)
        return;
    cfr_watch_remove_part(w, e);
    *e->back = e->next;
    if (e->next != NULL)
        e->next->back = e->back;
    if (e->directory->first == NULL)
        drop_directory(w, e->directory);
    e->directory = NULL;
}

/* Opens the directory whose path is the first N bytes of PATH, for passing through. What may never answer, and a link
 * that others could have made to such a place, is as if it were no directory. Returns -1 with errno. */
static int open_prefix(const char *path, size_t n)
{
    bool foreign;
    int fd = -1;
    int rc = cfr_file_open_above(path, n, CFR_FILE_ANSWERING, &foreign, &fd, NULL);

    if (rc == CFR_E_PATH || rc == CFR_E_MISSING || rc == CFR_FILE_ELSEWHERE)
        errno = ENOTDIR;
    return rc == 0 ? fd : -1;
}

/* A path that ends with it means everything in its directory. */
static bool is_whole_directory(const struct cfr_watch_entry *e)
{
    return strcmp(e->path + e->name_at, CFR_GENERATION_DATA) == 0;
}

/* A path that ends with `.` means the directory itself. */
static bool is_directory_itself(const struct cfr_watch_entry *e)
{
    return strcmp(e->path + e->name_at, ".") == 0;
}

static uint32_t events_of(const struct cfr_watch_entry *e)
{
    if (is_directory_itself(e))
        return SELF_EVENTS;
    return is_whole_directory(e) ? FILE_EVENTS | REMOVALS : FILE_EVENTS;
}

/* As fstatat(2) of what is there itself, but a file system that is mounted there, and may never answer, is not asked.
 */
static bool read_cached_status(int dir_fd, const char *name, struct stat *st)
{
    struct statx now;

    if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &now) != 0)
        return false;
    *st = (struct stat){.st_mode = now.stx_mode,
                        .st_uid = now.stx_uid,
                        .st_dev = makedev(now.stx_dev_major, now.stx_dev_minor),
                        .st_ino = now.stx_ino,
                        .st_size = (off_t)now.stx_size,
                        .st_ctim = {.tv_sec = now.stx_ctime.tv_sec, .tv_nsec = now.stx_ctime.tv_nsec}};
    return true;
}

/* As stat(2), but a link that others could have made is read itself. */
static bool read_status(int dir_fd, const struct cfr_watch_entry *e, struct stat *st)
{
    struct stat behind;

    if (!read_cached_status(dir_fd, e->path + e->name_at, st))
        return false;
    if (S_ISLNK(st->st_mode) && cfr_file_status(e->path, &behind, NULL) == 0)
        *st = behind;
    return true;
}

/* Hash of device, inode, size and change time of E's file, whose directory DIR_FD is, and of the target of ..data. 0:
 * neither exists. */
static uint64_t read_identity(int dir_fd, const struct cfr_watch_entry *e)
{
    uint64_t id = 0;
    char target[256];
    struct stat st;
    ssize_t n;

    if (is_directory_itself(e))
        return 0;
    if (read_status(dir_fd, e, &st) || (is_whole_directory(e) && fstat(dir_fd, &st) == 0)) {
        id = cfr_hash_add(CFR_HASH_START, &st.st_dev, sizeof st.st_dev);
        id = cfr_hash_add(id, &st.st_ino, sizeof st.st_ino);
        id = cfr_hash_add(id, &st.st_size, sizeof st.st_size);
        id = cfr_hash_add(id, &st.st_ctim.tv_sec, sizeof st.st_ctim.tv_sec);
        id = cfr_hash_add(id, &st.st_ctim.tv_nsec, sizeof st.st_ctim.tv_nsec);
    }
    n = readlinkat(dir_fd, CFR_GENERATION_DATA, target, sizeof target);
    if (n >= 0)
        id = cfr_hash_add(id, target, (size_t)n);
    return id;
}

/* Watches the directory whose path is the first N bytes of the entry's. NOW (may be NULL) becomes the identity of the
 * file, if that is its directory. */
static int watch_prefix(const struct cfr_watch *w, const struct cfr_watch_entry *e, size_t n, uint64_t *now)
{
    bool whole = n + 1 == e->name_at;
    char opened[64];
    int fd = open_prefix(e->path, n);
    int saved;
    int wd;

    if (fd < 0)
        return -1;
    (void)snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd);
    wd = inotify_add_watch(w->fd, opened, whole ? events_of(e) : PARENT_EVENTS);
    saved = errno;
    /* Changes after this are reported as events. */
    if (whole && now != NULL)
        *now = read_identity(fd, e);
    (void)close(fd);
    errno = saved;
    return wd;
}

/* Watches the directory itself, or its nearest existing parent. Sets the offset of the component to find
 * there. Returns a watch descriptor, or -1 with errno. */
static int watch_nearest(const struct cfr_watch *w, struct cfr_watch_entry *e, size_t *part_at, uint64_t *now)
{
    size_t at = e->name_at;

    for (;;) {
        int wd = watch_prefix(w, e, at - 1, now);

        *part_at = at;
        if (wd >= 0 || (errno != ENOENT && errno != ENOTDIR) || at == 1)
            return wd;
        do
            at--;
        while (e->path[at - 1] != '/');
    }
}

static bool part_exists(const struct cfr_watch_entry *e, size_t part_at)
{
    int fd = open_prefix(e->path, part_at + strcspn(e->path + part_at, "/"));

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static int report_no_watch(const struct cfr_watch_entry *e, int errnum, struct cfr_err *err)
{
    if (errnum == ENOSPC)
        return cfr_err_set(err, CFR_E_LIMIT,
                           "no inotify watch is left for this user, so %s is only checked once a "
                           "minute: raise the sysctl fs.inotify.max_user_watches",
                           e->path);
    return cfr_err_sys(err, errnum, "cannot watch the directory of %s", e->path);
}

/* Attaches E to the right directory, which may be its present one. NOW (may be NULL) becomes the file's identity. */
static int attach(struct cfr_watch *w, struct cfr_watch_entry *e, uint64_t *now, struct cfr_err *err)
{
    struct cfr_watch_directory *d;
    size_t part_at = e->name_at;
    int wd = -1;

    /* A parent may be made just before its watch begins. */
    for (int i = 0; i < CLIMB_TRIES; i++) {
        if (now != NULL)
            *now = 0;
        wd = watch_nearest(w, e, &part_at, now);
        if (wd < 0 || part_at == e->name_at || !part_exists(e, part_at))
            break;
        if (find_directory(w, wd) == NULL)
            (void)inotify_rm_watch(w->fd, wd);
    }
    if (wd < 0) {
        int errnum = errno;

        detach(w, e);
        return report_no_watch(e, errnum, err);
    }
    if (e->directory != NULL && e->directory->wd == wd && e->part_at == part_at)
        return 0;
    d = add_directory(w, wd);
    if (d == NULL) {
        (void)inotify_rm_watch(w->fd, wd);
        detach(w, e);
        return cfr_err_nomem(err);
    }
    if (d == e->directory) {
        cfr_watch_remove_part(w, e);
        e->part_at = (uint16_t)part_at;
        cfr_watch_add_part(w, e);
        return 0;
    }
    detach(w, e);
    e->directory = d;
    e->part_at = (uint16_t)part_at;
    e->next = d->first;
    e->back = &d->first;
    if (e->next != NULL)
        e->next->back = &e->next;
    d->first = e;
    cfr_watch_add_part(w, e);
    for (struct cfr_watch_link *l = e->links; l != NULL; l = l->next_of_entry)
        l->expected = 0;
    return 0;
}

/* ---- owners ---- */

/* OWNER's callback is to be called. */
static void mark_watcher(struct cfr_watch *w, struct cfr_watch_watcher *x)
{
    if (x->pending)
        return;
    x->pending = true;
    x->next_pending = w->pending;
    w->pending = x;
}

static void mark(struct cfr_watch *w, const struct cfr_watch_entry *e)
{
    for (const struct cfr_watch_link *l = e->links; l != NULL; l = l->next_of_entry)
        mark_watcher(w, l->watcher);
}

/* After an event. Reading the identity would delay the callback. So the next rescan calls it again, and a change after
 * the callback has read the file is noticed, too. */
static void mark_changed(struct cfr_watch *w, struct cfr_watch_entry *e)
{
    e->seen = 0;
    mark(w, e);
}

static uint32_t now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint32_t)now.tv_sec;
}

/* Follows E's path again; the owners are called if its file is another one. */
static int check(struct cfr_watch *w, struct cfr_watch_entry *e, struct cfr_err *err)
{
    uint64_t now;
    int rc = attach(w, e, &now, err);

    if (now != e->seen)
        mark(w, e);
    e->seen = now; /* before the owners read the file */
    e->checked_s = now_s();
    return rc;
}

/* Frees E, if it has neither an owner nor a path below, and then those above it. */
static void release_entry(struct cfr_watch *w, struct cfr_watch_entry *e)
{
    while (e != NULL && e->links == NULL && e->below == 0) {
        struct cfr_watch_entry *above = e->above;

        detach(w, e);
        cfr_watch_free_entry(w, e);
        if (above != NULL)
            above->below--;
        e = above;
    }
}

/* The length of the path above the first N bytes of PATH; both end with a slash. */
static size_t length_above(const char *path, size_t n)
{
    for (n--; n > 0 && path[n - 1] != '/'; n--)
        ;
    return n;
}

static void watch_above(struct cfr_watch *w, struct cfr_watch_entry *e)
{
    size_t n = length_above(e->path, e->name_at);

    while (n > 1 && e->above == NULL) {
        char path[PATH_MAX + 1];
        struct cfr_watch_entry *above;

        (void)snprintf(path, sizeof path, "%.*s.", (int)n, e->path);
        above = cfr_watch_find_entry(w, path);
        if (above == NULL) {
            above = cfr_watch_add_entry(w, path);
            if (above == NULL)
                return;
            (void)check(w, above, NULL);
        }
        e->above = above;
        above->below++;
        e = above;
        n = length_above(path, n);
    }
}

static int add(struct cfr_watch *w, const char *path, bool above, void *owner, struct cfr_err *err)
{
    const char *slash = strrchr(path, '/');
    struct cfr_watch_entry *e;
    int rc = 0;

    if (path[0] != '/' || strlen(path) >= PATH_MAX || slash[1] == '\0')
        return cfr_err_set(err, CFR_E_PATH, "%.200s is not an absolute path of a file, so it cannot be watched", path);
    e = cfr_watch_find_entry(w, path);
    if (e == NULL) {
        e = cfr_watch_add_entry(w, path);
        if (e == NULL)
            return cfr_err_nomem(err);
        rc = check(w, e, err);
    } else if (e->directory == NULL || e->checked_s != now_s()) {
        /* What was found in this second is not looked for again. */
        rc = attach(w, e, NULL, err);
        e->checked_s = now_s();
    }
    if (rc != CFR_E_NOMEM && cfr_watch_add_link(w, e, owner) != 0)
        rc = cfr_err_nomem(err);
    if (rc == CFR_E_NOMEM)
        release_entry(w, e);
    else if (above)
        watch_above(w, e);
    return rc;
}

int cfr_watch_add(struct cfr_watch *w, const char *path, void *owner, struct cfr_err *err)
{
    return add(w, path, false, owner, err);
}

int cfr_watch_add_with_parents(struct cfr_watch *w, const char *path, void *owner, struct cfr_err *err)
{
    return add(w, path, true, owner, err);
}

static void remove_link(struct cfr_watch *w, struct cfr_watch_link *l)
{
    struct cfr_watch_entry *e = l->entry;
    struct cfr_watch_link **at = &e->links;

    while (*at != l)
        at = &(*at)->next_of_entry;
    *at = l->next_of_entry;
    free(l);
    release_entry(w, e);
}

void cfr_watch_remove(struct cfr_watch *w, void *owner)
{
    struct cfr_watch_watcher *x = cfr_watch_find_watcher(w, owner);

    if (x == NULL)
        return;
    for (struct cfr_watch_link *l = x->links, *next; l != NULL; l = next) {
        next = l->next_of_watcher;
        remove_link(w, l);
    }
    cfr_watch_free_watcher(w, x);
}

void cfr_watch_expect(struct cfr_watch *w, const char *path, const void *owner)
{
    const struct cfr_watch_watcher *x = cfr_watch_find_watcher(w, owner);
    const struct cfr_watch_entry *e = cfr_watch_find_entry(w, path);
    struct cfr_watch_link *l = x != NULL && e != NULL ? cfr_watch_find_link(x, e) : NULL;

    if (l == NULL || e->directory == NULL || e->part_at != e->name_at || !is_whole_directory(e))
        return;
    if (l->round != w->round)
        l->expected = 0;
    l->round = w->round;
    l->expected++;
}

/* Calls FN once for each pending owner. FN may add and remove owners and their paths. */
static void notify_owners(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx)
{
    while (w->pending != NULL) {
        struct cfr_watch_watcher *x = w->pending;
        void *owner = x->owner;

        w->pending = x->next_pending;
        x->pending = false;
        if (fn(ctx, owner))
            continue;
        x = cfr_watch_find_watcher(w, owner);
        if (x == NULL || x->pending)
            continue;
        x->pending = true;
        x->next_pending = w->later;
        w->later = x;
    }
    w->pending = w->later;
    w->later = NULL;
}

/* ---- events ---- */

/* Attaches all entries of a directory that is gone again. */
static void reattach(struct cfr_watch *w, struct cfr_watch_directory *d)
{
    struct cfr_watch_entry *all = NULL;
    bool last = false;

    /* First all of them leave the node, so that its number can be given to another. */
    while (!last) {
        struct cfr_watch_entry *e = d->first;

        last = e->next == NULL;
        detach(w, e);
        e->next = all;
        all = e;
    }
    while (all != NULL) {
        struct cfr_watch_entry *e = all;

        all = e->next;
        mark_changed(w, e);
        e->moved = is_directory_itself(e);
        w->moved = w->moved || e->moved;
        (void)attach(w, e, NULL, NULL);
    }
}

static bool is_below_moved(const struct cfr_watch_entry *e)
{
    for (e = e->above; e != NULL; e = e->above) {
        if (e->moved)
            return true;
    }
    return false;
}

/* What is below a directory that was moved hears nothing of it. */
static void follow_moved(struct cfr_watch *w)
{
    for (size_t i = 0; w->moved && i < w->buckets; i++) {
        for (struct cfr_watch_entry *e = w->paths[i]; e != NULL; e = e->next_path) {
            if (e->links == NULL || !is_below_moved(e))
                continue;
            (void)attach(w, e, NULL, NULL);
            mark_changed(w, e);
        }
    }
    for (size_t i = 0; w->moved && i < w->buckets; i++) {
        for (struct cfr_watch_entry *e = w->paths[i]; e != NULL; e = e->next_path)
            e->moved = false;
    }
    w->moved = false;
}

/* True for the names of a kubelet's volume that only its swap makes known. */
static bool is_generation(const char *name)
{
    return strncmp(name, "..", 2) == 0 && strcmp(name, CFR_GENERATION_DATA) != 0;
}

static bool is_part(const struct cfr_watch_entry *e, int wd, const char *name)
{
    const char *part = e->path + e->part_at;
    size_t n = strlen(name);

    return e->directory->wd == wd && strncmp(part, name, n) == 0 && (part[n] == '\0' || part[n] == '/');
}

/* The files of a directory whose ..data was changed. */
static void mark_data(struct cfr_watch *w, const struct cfr_watch_directory *d)
{
    for (struct cfr_watch_entry *e = d->first; e != NULL; e = e->next) {
        if (e->part_at != e->name_at || is_directory_itself(e))
            continue;
        for (struct cfr_watch_link *l = e->links; l != NULL; l = l->next_of_entry) {
            if (l->round == w->round && l->expected != 0) {
                l->expected--;
                continue;
            }
            e->seen = 0;
            mark_watcher(w, l->watcher);
        }
    }
}

/* Entries that watch everything in a directory. Earlier generations come and go with each swap, which no worker needs
 * to know. */
static void mark_whole(struct cfr_watch *w, int wd, const char *name)
{
    if (is_generation(name))
        return;
    for (struct cfr_watch_entry *e = *cfr_watch_part_bucket(w, wd, CFR_GENERATION_DATA); e != NULL; e = e->next_part) {
        if (e->part_at == e->name_at && is_part(e, wd, CFR_GENERATION_DATA))
            mark_changed(w, e);
    }
}

/* The file itself, or a directory on the way to it. (mark_data marks what watches ..data.) */
static void mark_part(struct cfr_watch *w, int wd, const char *name)
{
    struct cfr_watch_entry *next;

    for (struct cfr_watch_entry *e = *cfr_watch_part_bucket(w, wd, name); e != NULL; e = next) {
        /* Attaching takes E alone out of this bucket. */
        next = e->next_part;
        if (!is_part(e, wd, name) || (e->part_at == e->name_at && is_whole_directory(e)))
            continue;
        mark_changed(w, e);
        if (e->part_at != e->name_at)
            (void)attach(w, e, NULL, NULL);
    }
}

static void handle_event(struct cfr_watch *w, const struct inotify_event *event, bool *overflowed)
{
    struct cfr_watch_directory *d;

    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        *overflowed = true;
        return;
    }
    d = find_directory(w, event->wd);
    if (d == NULL)
        return;
    if ((event->mask & GONE) != 0) {
        reattach(w, d);
    } else if (event->len != 0 && (event->mask & REMOVALS) != 0) {
        mark_whole(w, event->wd, event->name);
    } else if (event->len != 0) {
        if (strcmp(event->name, CFR_GENERATION_DATA) == 0)
            mark_data(w, d);
        else
            mark_whole(w, event->wd, event->name);
        mark_part(w, event->wd, event->name);
    }
}

int cfr_watch_dispatch(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx, bool *overflowed, struct cfr_err *err)
{
    union {
        struct inotify_event event;
        char bytes[READ_BYTES];
    } buf;
    bool lost = false;
    ssize_t n;
    int rc = 0;

    do {
        n = read(w->fd, buf.bytes, sizeof buf.bytes);
        for (const char *p = buf.bytes; n > 0 && p < buf.bytes + n;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)p;

            handle_event(w, event, &lost);
            p += sizeof *event + event->len;
        }
    } while (n > (ssize_t)(sizeof buf.bytes - sizeof(struct inotify_event) - NAME_MAX - 1));
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        rc = cfr_err_sys(err, errno, "cannot read inotify events");
    for (size_t i = 0; lost && i < w->buckets; i++) {
        for (struct cfr_watch_entry *e = w->paths[i]; e != NULL; e = e->next_path) {
            (void)attach(w, e, NULL, NULL);
            mark_changed(w, e);
        }
    }
    if (overflowed != NULL)
        *overflowed = lost;
    follow_moved(w);
    w->round++;
    notify_owners(w, fn, ctx);
    return rc;
}

void cfr_watch_rescan(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx)
{
    for (size_t i = 0; i < w->buckets; i++) {
        for (struct cfr_watch_entry *e = w->paths[i]; e != NULL; e = e->next_path)
            (void)check(w, e, NULL);
    }
    notify_owners(w, fn, ctx);
}
