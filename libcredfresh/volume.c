/* SPDX-License-Identifier: MIT */
/* Reading a directory into a snapshot, completely or not at all.
 *
 * The kubelet swaps `..data` and then removes the old version, file by file, while a reader may still be in it.
 * So all files are read below the directory that `..data` named at first, and what was read counts only if `..data`
 * still names it afterwards: removal begins after the swap, hence nothing had been removed. Otherwise it is read again.
 */
#include "volume.h"

#include "listing.h"
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRIES     10
#define FNV_BASIS 14695981039346656037U
/* File systems stamp their files with a clock of up to 10 ms, old ones of 2 s: a file that was written this shortly
 * before it was read may be written again without looking any different. */
#define RACY_NS 2000000000

/* Where the files are at this moment. */
struct place {
    int fd;
    int kind;
    int mount; /* of a plain directory */
    struct cfl_identity id;
    char target[NAME_MAX + 1]; /* of ..data */
};

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
    const unsigned char *bytes = p;

    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 1099511628211U;
    return h;
}

/* Never 0. */
static uint64_t mark_of(const struct place *p, const struct cfl_listing *l)
{
    uint64_t h = mix(FNV_BASIS, &p->kind, sizeof p->kind);

    h = mix(mix(h, p->target, strlen(p->target)), &p->id, sizeof p->id);
    for (size_t i = 0; i < l->count; i++)
        h = mix(mix(h, l->entries[i].name, strlen(l->entries[i].name) + 1), &l->entries[i].id, sizeof l->entries[i].id);
    return h | 1;
}

uint64_t cfl_volume_generation(const char *target)
{
    const char *dot = strrchr(target, '.');
    uint64_t number = 0;

    if (strncmp(target, "..", 2) != 0 || dot < target + 2 || dot[1] == '\0')
        return 0;
    for (const char *p = dot + 1; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || number > (UINT64_MAX - 9) / 10)
            return 0;
        number = number * 10 + (uint64_t)(*p - '0');
    }
    return number;
}

static int place_open(const char *directory, struct place *p, struct cfl_error *e)
{
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    *p = (struct place){.fd = -1, .kind = CREDFRESH_KIND_NONE};
    if (fd < 0)
        return cfl_fail_errno(e, errno, "cannot open %s", directory);
    n = readlinkat(fd, "..data", p->target, sizeof p->target - 1);
    p->target[n > 0 ? n : 0] = '\0';
    p->kind = n > 0 ? CREDFRESH_KIND_SWAPPED : CREDFRESH_KIND_PLAIN;
    p->fd = n > 0 ? openat(fd, p->target, O_PATH | O_DIRECTORY | O_CLOEXEC) : fd;
    if (p->fd != fd) {
        int error = errno;

        (void)close(fd);
        errno = error;
    }
    if (p->fd < 0 || fstat(p->fd, &st) != 0)
        return cfl_fail_errno(e, errno, "cannot open %s/%s", directory, p->target);
    p->id = cfl_identity_of(&st);
    /* A plain directory may be a busy one: its own times say nothing of the files. */
    if (p->kind == CREDFRESH_KIND_PLAIN)
        p->id = (struct cfl_identity){.device = st.st_dev, .inode = st.st_ino};
    return 0;
}

static void place_close(struct place *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
}

/* True if nothing was swapped, made, renamed or removed since BEFORE was opened. */
static bool place_stands(const char *directory, const struct place *before)
{
    struct place now;
    struct cfl_error unused = {.code = 0};
    bool same = place_open(directory, &now, &unused) == 0 && now.kind == before->kind &&
                strcmp(now.target, before->target) == 0 && cfl_identity_same(&now.id, &before->id);

    place_close(&now);
    return same;
}

/* 0, -1 with errno, or 1 if it is shorter or longer than SIZE. */
static int read_fully(int fd, unsigned char *to, size_t size)
{
    unsigned char beyond;
    size_t done = 0;

    while (done <= size) {
        ssize_t n = done < size ? read(fd, to + done, size - done) : read(fd, &beyond, 1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return done == size ? 0 : 1;
}

/* A file in a plain directory may be a mount of its own. */
static void check_mount(const struct place *p, int fd, struct cfl_seen *seen)
{
    int inner = cfl_mount_id(fd);

    if (inner < 0 || inner == p->mount)
        return;
    seen->mounted = true;
    if (cfl_mount_is_frozen(inner))
        seen->kind = CREDFRESH_KIND_FROZEN;
}

static int read_open(int fd, const struct cfl_wanted *wanted, const struct cfl_entry *entry,
                     struct credfresh_snapshot *s, struct cfl_error *e)
{
    struct cfl_identity id;
    struct stat st;
    int rc;

    if (fstat(fd, &st) != 0)
        return cfl_fail_errno(e, errno, "cannot read the status of %s in %s", entry->name, wanted->directory);
    id = cfl_identity_of(&st);
    rc = cfl_identity_same(&id, &entry->id)
             ? read_fully(fd, cfl_snapshot_add(s, entry->name, (size_t)id.size), (size_t)id.size)
             : 1;
    if (rc > 0)
        return cfl_fail(e, CREDFRESH_E_UNSTABLE, "%s in %s changed while it was being read", entry->name,
                        wanted->directory);
    return rc == 0 ? 0 : cfl_fail_errno(e, errno, "cannot read %s in %s", entry->name, wanted->directory);
}

static int read_file(const struct cfl_wanted *wanted, const struct place *p, const struct cfl_entry *entry,
                     struct credfresh_snapshot *s, struct cfl_seen *seen, struct cfl_error *e)
{
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (p->kind == CREDFRESH_KIND_SWAPPED ? O_NOFOLLOW : 0);
    int fd = openat(p->fd, entry->name, flags);
    int rc;

    if (fd < 0)
        return cfl_fail_errno(e, errno, "cannot open %s in %s", entry->name, wanted->directory);
    rc = read_open(fd, wanted, entry, s, e);
    if (rc == 0 && p->kind == CREDFRESH_KIND_PLAIN)
        check_mount(p, fd, seen);
    (void)close(fd);
    return rc;
}

static void stamp_snapshot(struct credfresh_snapshot *s, const struct place *p, const struct cfl_listing *l)
{
    int64_t newest_ns = p->id.modified_ns;

    if (p->kind == CREDFRESH_KIND_PLAIN)
        newest_ns = l->entries[0].id.modified_ns;
    for (size_t i = 1; p->kind == CREDFRESH_KIND_PLAIN && i < l->count; i++)
        if (l->entries[i].id.modified_ns > newest_ns)
            newest_ns = l->entries[i].id.modified_ns;
    cfl_snapshot_stamp(s, cfl_volume_generation(p->target), newest_ns / 1000000);
}

static int read_files(const struct cfl_wanted *wanted, struct place *p, const struct cfl_listing *l,
                      struct cfl_seen *seen, struct credfresh_snapshot **out, struct cfl_error *e)
{
    struct credfresh_snapshot *s = cfl_snapshot_new(l->count, l->names_bytes, l->bytes);
    int rc = 0;

    if (s == NULL)
        return cfl_fail(e, CREDFRESH_E_NOMEM, "out of memory for the %zu bytes of %s", l->bytes, wanted->directory);
    if (p->kind == CREDFRESH_KIND_PLAIN) {
        p->mount = cfl_mount_id(p->fd);
        if (cfl_mount_is_frozen(p->mount))
            seen->kind = CREDFRESH_KIND_FROZEN;
    }
    for (size_t i = 0; rc == 0 && i < l->count; i++)
        rc = read_file(wanted, p, &l->entries[i], s, seen, e);
    stamp_snapshot(s, p, l);
    *out = s;
    return rc;
}

/* True if a plain directory's files may yet change without their identities telling. */
static bool is_racy(const struct place *p, const struct cfl_listing *l)
{
    struct timespec now;

    if (p->kind != CREDFRESH_KIND_PLAIN || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    for (size_t i = 0; i < l->count; i++)
        if ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - l->entries[i].id.changed_ns < RACY_NS)
            return true;
    return false;
}

/* True if the files of a plain directory are still those of L. */
static bool files_stand(const struct cfl_wanted *wanted, const struct place *p, const struct cfl_listing *l)
{
    struct cfl_listing again = {.count = 0};
    struct cfl_error unused = {.code = 0};
    bool same = p->kind == CREDFRESH_KIND_SWAPPED ||
                (cfl_listing_read(p->fd, p->kind, wanted, &again, &unused) == 0 && mark_of(p, &again) == mark_of(p, l));

    cfl_listing_free(&again);
    return same;
}

/* True if `..data` still names what could not be opened. */
static bool link_stands(const char *directory, const struct place *before)
{
    char target[NAME_MAX + 1] = "";
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : readlinkat(fd, "..data", target, sizeof target - 1);

    if (fd >= 0)
        (void)close(fd);
    return n > 0 && strcmp(target, before->target) == 0;
}

static int read_once(const struct cfl_wanted *wanted, bool force, struct place *p, struct cfl_seen *seen,
                     struct credfresh_snapshot **out, bool *whole, struct cfl_error *e)
{
    struct cfl_listing list = {.count = 0};
    bool racy;
    uint64_t mark;
    int rc;

    *whole = true;
    if (p->kind == CREDFRESH_KIND_SWAPPED && mark_of(p, &list) == seen->mark)
        return 0;
    rc = cfl_listing_read(p->fd, p->kind, wanted, &list, e);
    mark = p->kind == CREDFRESH_KIND_SWAPPED ? mark_of(p, &(struct cfl_listing){.count = 0}) : mark_of(p, &list);
    if (rc == 0 && (mark != seen->mark || force)) {
        seen->mounted = false;
        seen->kind = p->kind;
        racy = is_racy(p, &list);
        rc = read_files(wanted, p, &list, seen, out, e);
        *whole = rc != CREDFRESH_E_UNSTABLE && place_stands(wanted->directory, p) && files_stand(wanted, p, &list);
        if (rc == 0 && *whole)
            seen->mark = racy ? 0 : mark;
    } else if (rc != 0) {
        *whole = place_stands(wanted->directory, p);
    }
    cfl_listing_free(&list);
    return rc;
}

int cfl_volume_read(const struct cfl_wanted *wanted, bool force, struct cfl_seen *seen, struct credfresh_snapshot **out,
                    struct cfl_error *e)
{
    bool whole = false;
    int rc = 0;

    *out = NULL;
    for (int i = 0; i < TRIES && !whole; i++) {
        struct place p;

        cfl_snapshot_drop(*out);
        *out = NULL;
        seen->torn += i != 0;
        rc = place_open(wanted->directory, &p, e);
        if (seen->kind != CREDFRESH_KIND_FROZEN || p.kind != CREDFRESH_KIND_PLAIN)
            seen->kind = p.kind;
        whole = rc != 0 && (p.kind != CREDFRESH_KIND_SWAPPED || link_stands(wanted->directory, &p));
        if (rc == 0)
            rc = read_once(wanted, force, &p, seen, out, &whole, e);
        place_close(&p);
    }
    if (rc == 0 && whole)
        return 0;
    cfl_snapshot_drop(*out);
    *out = NULL;
    return whole ? rc : cfl_fail(e, CREDFRESH_E_UNSTABLE, "%s changes while it is being read", wanted->directory);
}
