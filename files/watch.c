/* SPDX-License-Identifier: MIT */
/* File watches on inotify. */
#include "files/watch.h"

#include "base/hash.h"
#include "files/file_private.h"
#include "files/generation.h"

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

/* The file at a path when it was last read. All zero: none. */
struct identity {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t changed_ns;
    uint64_t data_hash; /* of ..data's target */
};

struct entry {
    void *owner;
    struct directory *directory; /* NULL while it cannot be watched */
    struct entry *next;          /* in the directory */
    struct identity seen;
    uint16_t name_at; /* offset of the path's last component */
    uint16_t part_at; /* of the component to find in the directory; name_at once all parents exist */
    bool pending;
    unsigned expected; /* own renames of ..data among the events that are pending */
    char path[];
};

struct directory {
    int wd;
    struct entry *first;
};

struct cfr_watch {
    int fd;
    struct directory **directories; /* sorted by wd */
    size_t directory_count;
    size_t directory_cap;
    struct entry **entries; /* sorted by owner */
    size_t entry_count;
    size_t entry_cap;
};

int cfr_watch_open(struct cfr_watch **out, struct cfr_err *err)
{
    struct cfr_watch *w = calloc(1, sizeof *w);

    *out = NULL;
    if (w == NULL)
        return cfr_err_nomem(err);
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0) {
        int code = errno == EMFILE ? cfr_err_set(err, CFR_E_LIMIT,
                                                 "no inotify instance is left for this user: raise the sysctl "
                                                 "fs.inotify.max_user_instances (or the limit of open files)")
                                   : cfr_err_sys(err, errno, "cannot start inotify");

        free(w);
        return code;
    }
    *out = w;
    return 0;
}

void cfr_watch_close(struct cfr_watch *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->entry_count; i++)
        free(w->entries[i]);
    for (size_t i = 0; i < w->directory_count; i++)
        free(w->directories[i]);
    free(w->entries);
    free(w->directories);
    (void)close(w->fd);
    free(w);
}

int cfr_watch_fd(const struct cfr_watch *w)
{
    return w->fd;
}

/* Makes room for one more pointer in a sorted array. */
static void *grow_array(void *array, size_t count, size_t *cap)
{
    size_t more = *cap == 0 ? 8 : *cap + *cap / 2;
    void *p = array;

    if (count < *cap)
        return array;
    p = realloc(array, more * sizeof(void *));
    if (p != NULL)
        *cap = more;
    return p;
}

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

static struct directory *find_directory(const struct cfr_watch *w, int wd)
{
    size_t i = find_directory_index(w, wd);

    return i < w->directory_count && w->directories[i]->wd == wd ? w->directories[i] : NULL;
}

static struct directory *add_directory(struct cfr_watch *w, int wd)
{
    struct directory *d = find_directory(w, wd);
    struct directory **array;
    size_t i = find_directory_index(w, wd);

    if (d != NULL)
        return d;
    array = grow_array(w->directories, w->directory_count, &w->directory_cap);
    if (array == NULL)
        return NULL;
    w->directories = array;
    d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->wd = wd;
    memmove(array + i + 1, array + i, (w->directory_count - i) * sizeof(struct directory *));
    array[i] = d;
    w->directory_count++;
    return d;
}

/* Removes a directory that no entry uses any more. */
static void drop_directory(struct cfr_watch *w, struct directory *d)
{
    size_t i = find_directory_index(w, d->wd);

    /* It fails where the kernel has dropped the watch itself. */
    (void)inotify_rm_watch(w->fd, d->wd);
    w->directory_count--;
    memmove(w->directories + i, w->directories + i + 1, (w->directory_count - i) * sizeof(struct directory *));
    free(d);
}

static void detach(struct cfr_watch *w, struct entry *e)
{
    struct entry **link;

    if (e->directory == NULL)
        return;
    for (link = &e->directory->first; *link != e; link = &(*link)->next)
        ;
    *link = e->next;
    if (e->directory->first == NULL)
        drop_directory(w, e->directory);
    e->directory = NULL;
    e->next = NULL;
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
static bool is_whole_directory(const struct entry *e)
{
    return strcmp(e->path + e->name_at, CFR_GENERATION_DATA) == 0;
}

/* A path that ends with `.` means the directory itself. */
static bool is_directory_itself(const struct entry *e)
{
    return strcmp(e->path + e->name_at, ".") == 0;
}

static uint32_t events_of(const struct entry *e)
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
static bool read_status(int dir_fd, const struct entry *e, struct stat *st)
{
    struct stat behind;

    if (!read_cached_status(dir_fd, e->path + e->name_at, st))
        return false;
    if (S_ISLNK(st->st_mode) && cfr_file_status(e->path, &behind, NULL) == 0)
        *st = behind;
    return true;
}

/* Of E's file, whose directory DIR_FD is. */
static struct identity read_identity(int dir_fd, const struct entry *e)
{
    char target[256];
    struct identity id = {0};
    struct stat st;
    ssize_t n;

    if (read_status(dir_fd, e, &st) || (is_whole_directory(e) && fstat(dir_fd, &st) == 0)) {
        id.device = st.st_dev;
        id.inode = st.st_ino;
    }
    /* What is in it is not meant. */
    if (is_directory_itself(e))
        return id;
    if (id.inode != 0) {
        id.size = st.st_size;
        id.changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    }
    n = readlinkat(dir_fd, CFR_GENERATION_DATA, target, sizeof target);
    if (n >= 0)
        id.data_hash = cfr_hash_add(CFR_HASH_START, target, (size_t)n);
    return id;
}

/* Watches the directory whose path is the first N bytes of the entry's. NOW (may be NULL) becomes the identity of the
 * file, if that is its directory. */
static int watch_prefix(const struct cfr_watch *w, const struct entry *e, size_t n, struct identity *now)
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
static int watch_nearest(const struct cfr_watch *w, struct entry *e, size_t *part_at, struct identity *now)
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

static bool part_exists(const struct entry *e, size_t part_at)
{
    int fd = open_prefix(e->path, part_at + strcspn(e->path + part_at, "/"));

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static int report_no_watch(const struct entry *e, int errnum, struct cfr_err *err)
{
    if (errnum == ENOSPC)
        return cfr_err_set(err, CFR_E_LIMIT,
                           "no inotify watch is left for this user, so %s is only checked once a "
                           "minute: raise the sysctl fs.inotify.max_user_watches",
                           e->path);
    return cfr_err_sys(err, errnum, "cannot watch the directory of %s", e->path);
}

/* Attaches E to the right directory, which may be its present one. NOW (may be NULL) becomes the file's identity. */
static int attach(struct cfr_watch *w, struct entry *e, struct identity *now, struct cfr_err *err)
{
    struct directory *d;
    size_t part_at = e->name_at;
    int wd = -1;

    /* A parent may be made just before its watch begins. */
    for (int i = 0; i < CLIMB_TRIES; i++) {
        if (now != NULL)
            *now = (struct identity){0};
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
    e->part_at = (uint16_t)part_at;
    if (e->directory != NULL && e->directory->wd == wd)
        return 0;
    detach(w, e);
    d = add_directory(w, wd);
    if (d == NULL) {
        (void)inotify_rm_watch(w->fd, wd);
        return cfr_err_nomem(err);
    }
    e->directory = d;
    e->expected = 0;
    e->next = d->first;
    d->first = e;
    return 0;
}

static bool same_identity(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size && a->changed_ns == b->changed_ns &&
           a->data_hash == b->data_hash;
}

/* Index of the first entry whose owner is not below OWNER (AFTER: is above). */
static size_t find_owner_index(const struct cfr_watch *w, const void *owner, bool after)
{
    size_t low = 0;
    size_t high = w->entry_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uintptr_t there = (uintptr_t)w->entries[middle]->owner;

        if (there < (uintptr_t)owner || (after && there == (uintptr_t)owner))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int cfr_watch_add(struct cfr_watch *w, const char *path, void *owner, struct cfr_err *err)
{
    size_t n = strlen(path);
    const char *slash = strrchr(path, '/');
    struct entry **array;
    struct entry *e;
    size_t i;
    int rc;

    if (path[0] != '/' || n >= PATH_MAX || slash[1] == '\0')
        return cfr_err_set(err, CFR_E_PATH, "%.200s is not an absolute path of a file, so it cannot be watched", path);
    array = grow_array(w->entries, w->entry_count, &w->entry_cap);
    if (array == NULL)
        return cfr_err_nomem(err);
    w->entries = array;
    e = calloc(1, sizeof *e + n + 1);
    if (e == NULL)
        return cfr_err_nomem(err);
    memcpy(e->path, path, n + 1);
    e->owner = owner;
    e->name_at = (uint16_t)(slash - path + 1);
    rc = attach(w, e, &e->seen, err);
    if (rc == CFR_E_NOMEM) {
        free(e);
        return rc;
    }
    i = find_owner_index(w, owner, true);
    memmove(array + i + 1, array + i, (w->entry_count - i) * sizeof(struct entry *));
    array[i] = e;
    w->entry_count++;
    return rc;
}

void cfr_watch_remove(struct cfr_watch *w, void *owner)
{
    size_t from = find_owner_index(w, owner, false);
    size_t to = find_owner_index(w, owner, true);

    if (from == to)
        return;
    for (size_t i = from; i < to; i++) {
        detach(w, w->entries[i]);
        free(w->entries[i]);
    }
    memmove(w->entries + from, w->entries + to, (w->entry_count - to) * sizeof(struct entry *));
    w->entry_count -= to - from;
}

void cfr_watch_expect(struct cfr_watch *w, const char *path, const void *owner)
{
    for (size_t i = find_owner_index(w, owner, false); i < w->entry_count && w->entries[i]->owner == owner; i++) {
        struct entry *e = w->entries[i];

        if (e->part_at == e->name_at && is_whole_directory(e) && strcmp(e->path, path) == 0)
            e->expected++;
    }
}

/* Looking at the paths would delay FN. So the next rescan calls FN once more, and what changes after FN has read the
 * file is noticed, too. */
static void forget_pending_identities(const struct cfr_watch *w)
{
    for (size_t i = 0; i < w->entry_count; i++) {
        w->entries[i]->expected = 0;
        if (w->entries[i]->pending)
            w->entries[i]->seen = (struct identity){.inode = 0};
    }
}

/* Calls FN once for each owner with a pending entry. FN may add and remove entries, so nothing but the last
 * owner is remembered from one call to the next. */
static void notify_owners(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx)
{
    size_t i = 0;

    while (i < w->entry_count) {
        void *owner = w->entries[i]->owner;
        size_t first = i;
        bool pending = false;
        bool moved = false;

        for (; i < w->entry_count && w->entries[i]->owner == owner; i++) {
            struct entry *e = w->entries[i];

            pending = pending || e->pending;
            moved = moved || (e->pending && is_directory_itself(e));
            e->pending = false;
        }
        for (size_t k = first; moved && k < i; k++)
            (void)attach(w, w->entries[k], NULL, NULL);
        if (pending && fn(ctx, owner))
            i = find_owner_index(w, owner, true);
        else if (pending)
            w->entries[first]->pending = true;
    }
}

/* Attaches all entries of a directory that is gone again. */
static void reattach(struct cfr_watch *w, struct directory *d)
{
    struct entry *e = d->first;

    /* The node goes at once, so that its number can be given to another. */
    d->first = NULL;
    drop_directory(w, d);
    while (e != NULL) {
        struct entry *next = e->next;

        e->next = NULL;
        e->directory = NULL;
        e->pending = true;
        (void)attach(w, e, NULL, NULL);
        e = next;
    }
}

/* True for the names of a kubelet's volume that only its swap makes known. */
static bool is_generation(const char *name)
{
    return strncmp(name, "..", 2) == 0 && strcmp(name, CFR_GENERATION_DATA) != 0;
}

static void mark_pending(struct cfr_watch *w, struct directory *d, const char *name)
{
    bool data = strcmp(name, CFR_GENERATION_DATA) == 0;
    size_t n = strlen(name);
    bool moved = false;

    for (struct entry *e = d->first; e != NULL; e = e->next) {
        const char *part = e->path + e->part_at;
        bool own = e->part_at == e->name_at;

        if (data && e->expected != 0)
            e->expected--;
        else if ((own && !is_directory_itself(e) && (data || (is_whole_directory(e) && !is_generation(name)))) ||
                 (strncmp(part, name, n) == 0 && part[n] == (own ? '\0' : '/'))) {
            e->pending = true;
            moved = moved || !own;
        }
    }
    /* Attaching takes an entry out of the list, and with the last one the directory goes. */
    for (struct entry *e = moved ? d->first : NULL; e != NULL;) {
        struct entry *next = e->next;

        if (e->pending && e->part_at != e->name_at)
            (void)attach(w, e, NULL, NULL);
        e = next;
    }
}

/* Earlier generations are removed after each swap, which no worker needs to know. */
static void mark_removal(struct directory *d, const char *name)
{
    for (struct entry *e = is_generation(name) ? NULL : d->first; e != NULL; e = e->next)
        e->pending = e->pending || (e->part_at == e->name_at && is_whole_directory(e));
}

static void handle_event(struct cfr_watch *w, const struct inotify_event *event, bool *overflowed)
{
    struct directory *d;

    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        *overflowed = true;
        return;
    }
    d = find_directory(w, event->wd);
    if (d == NULL)
        return;
    if ((event->mask & GONE) != 0)
        reattach(w, d);
    else if (event->len != 0 && (event->mask & REMOVALS) != 0)
        mark_removal(d, event->name);
    else if (event->len != 0)
        mark_pending(w, d, event->name);
}

static void attach_all(struct cfr_watch *w)
{
    for (size_t i = 0; i < w->entry_count; i++)
        (void)attach(w, w->entries[i], NULL, NULL);
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
    if (lost) {
        attach_all(w);
        for (size_t i = 0; i < w->entry_count; i++)
            w->entries[i]->pending = true;
    }
    if (overflowed != NULL)
        *overflowed = lost;
    forget_pending_identities(w);
    notify_owners(w, fn, ctx);
    return rc;
}

void cfr_watch_rescan(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx)
{
    for (size_t i = 0; i < w->entry_count; i++) {
        struct entry *e = w->entries[i];
        struct identity now;

        (void)attach(w, e, &now, NULL);
        e->pending = e->pending || !same_identity(&e->seen, &now);
        e->seen = now; /* before FN reads the file */
    }
    notify_owners(w, fn, ctx);
}
