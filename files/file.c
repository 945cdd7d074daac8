/* SPDX-License-Identifier: MIT */
/* Writing, replacing and wiping single files. */
#include "files/file_private.h"

#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MODE_BITS  07777
#define TEMP_TRIES 8
#define CLEAN_MAX  16
#define WIPE_MAX   (4 << 20) /* more than anything that is published */

static int write_all(int fd, struct cfr_view bytes)
{
    while (bytes.n != 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return 0;
}

/* Owner before mode, because chown clears bits of the mode; what is right already is not set, because setting it may
 * need rights. */
static int set_owner_and_mode(int fd, const struct cfr_file *file)
{
    struct stat st;
    bool uid_wrong;
    bool gid_wrong;

    if (fstat(fd, &st) != 0)
        return -1;
    uid_wrong = file->uid != CFR_FILE_KEEP_ID && st.st_uid != file->uid;
    gid_wrong = file->gid != CFR_FILE_KEEP_ID && st.st_gid != file->gid;
    if ((uid_wrong || gid_wrong) && fchown(fd, file->uid, file->gid) != 0)
        return -1;
    return (st.st_mode & MODE_BITS) == file->mode && !uid_wrong && !gid_wrong ? 0 : fchmod(fd, file->mode);
}

static int report_owner(const struct cfr_file *file, int errnum, struct cfr_err *err)
{
    char uid[32] = "";
    char gid[32] = "";

    if (file->uid != CFR_FILE_KEEP_ID)
        (void)snprintf(uid, sizeof uid, ", owner %u", (unsigned)file->uid);
    if (file->gid != CFR_FILE_KEEP_ID)
        (void)snprintf(gid, sizeof gid, ", group %u", (unsigned)file->gid);
    return cfr_err_sys(err, errnum, "cannot set the mode or owner of %s (mode %04o%s%s)%s", file->name,
                       (unsigned)file->mode, uid, gid,
                       errnum == EPERM    ? "; another owner, or a group that credfresh is not in, needs CAP_CHOWN"
                       : errnum == EINVAL ? CFR_PATH_UNMAPPED
                                          : "");
}

int cfr_file_create(int dir_fd, const struct cfr_file *file, struct cfr_err *err)
{
    int fd = cfr_path_openat(dir_fd, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0600, err);
    int rc = 0;

    if (fd < 0)
        return fd;
    if (write_all(fd, file->content) != 0)
        rc = cfr_err_sys(err, errno, "cannot write %s", file->name);
    else if (set_owner_and_mode(fd, file) != 0)
        rc = report_owner(file, errno, err);
    else
        rc = cfr_path_sync(fd, file->name, err);
    if (close(fd) != 0 && rc == 0)
        rc = cfr_err_sys(err, errno, "cannot write %s", file->name);
    if (rc != 0)
        (void)cfr_file_wipe(dir_fd, file->name, NULL);
    return rc;
}

void cfr_file_stamp(int dir_fd, const char *name)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};

    if (clock_gettime(CLOCK_REALTIME, &times[1]) == 0)
        (void)utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW);
}

/* Creates FILE under a temporary name, which is left in TEMP. */
static int create_temp(int dir_fd, const struct cfr_file *file, char temp[CFR_PATH_TEMP_MAX], struct cfr_err *err)
{
    struct cfr_file as_temp = *file;
    int rc = CFR_E_CONFLICT;

    as_temp.name = temp;
    for (int i = 0; i < TEMP_TRIES && rc == CFR_E_CONFLICT; i++) {
        cfr_path_temp_name(file->name, temp);
        rc = cfr_file_create(dir_fd, &as_temp, err);
    }
    return rc;
}

int cfr_file_replace(int dir_fd, const struct cfr_file *file, struct cfr_err *err)
{
    char temp[CFR_PATH_TEMP_MAX];
    int rc = create_temp(dir_fd, file, temp, err);

    if (rc != 0)
        return rc;
    if (renameat(dir_fd, temp, dir_fd, file->name) != 0) {
        if (errno == EBUSY)
            rc = cfr_err_set(err, CFR_E_PATH,
                             "it is a mount point (a bind mount or subPath), which cannot be replaced by rename: mount "
                             "the directory, or set in_place: true");
        else
            rc = cfr_err_sys(err, errno, "cannot rename the new file to %s", file->name);
    }
    if (rc != 0) {
        (void)cfr_file_wipe(dir_fd, temp, NULL);
        return rc;
    }
    cfr_file_stamp(dir_fd, file->name);
    /* The rename is done, whether or not it has reached the disk. */
    (void)cfr_path_sync(dir_fd, "the directory", NULL);
    return 0;
}

int cfr_file_overwrite(int dir_fd, const struct cfr_file *file, struct cfr_err *err)
{
    int fd = cfr_path_openat(dir_fd, file->name, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0, err);
    struct stat st;
    int rc = 0;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        rc = cfr_err_set(err, CFR_E_PATH, "%s is not a regular file", file->name);
    } else if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)(file->content.n + (file->content.n == 0))) != 0 &&
               (errno == ENOSPC || errno == EDQUOT)) {
        /* A full disk is noticed before the old content is touched. */
        rc = cfr_err_sys(err, errno, "cannot write %s", file->name);
    } else if (set_owner_and_mode(fd, file) != 0) {
        /* First, so that nobody sees the new content who must not, and a refusal leaves the old one. */
        rc = report_owner(file, errno, err);
    } else if (write_all(fd, file->content) != 0 || ftruncate(fd, (off_t)file->content.n) != 0) {
        rc = cfr_err_sys(err, errno, "cannot write %s in place", file->name);
    } else {
        rc = cfr_path_sync(fd, file->name, err);
    }
    if (close(fd) != 0 && rc == 0)
        rc = cfr_err_sys(err, errno, "cannot write %s", file->name);
    /* The last write is what a reader may have missed. */
    cfr_file_stamp(dir_fd, file->name);
    return rc;
}

int cfr_file_fingerprint(int dir_fd, const char *name, struct cfr_file_fingerprint *out, struct cfr_err *err)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return cfr_err_sys(err, errno, "cannot read the status of %s", name);
    if (!S_ISREG(st.st_mode))
        return cfr_err_set(err, CFR_E_PATH, "%s is not a regular file", name);
    *out = (struct cfr_file_fingerprint){
        .inode = st.st_ino,
        .size = (uint64_t)st.st_size,
        .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
    };
    return 0;
}

/* Opens NAME for writing; a read-only file of ours is made writable first. */
static int open_to_wipe(int dir_fd, const char *name, struct cfr_err *err)
{
    int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY;
    int fd = cfr_path_openat(dir_fd, name, flags, 0, NULL);
    int probe = fd == CFR_E_PERM ? cfr_path_openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, NULL) : -1;

    if (fd >= 0)
        return fd;
    if (probe >= 0) {
        (void)fchmod(probe, 0600);
        (void)close(probe);
    }
    return cfr_path_openat(dir_fd, name, flags, 0, err);
}

static int overwrite_with_zeros(int fd, const char *name, struct cfr_file_budget *budget, struct cfr_err *err)
{
    static const char zeros[4096];
    struct stat st;

    /* Another hard link may be another user's file, planted here for us to overwrite. */
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1)
        return 0;
    /* Nor did we write what is so large; zeros for a sparse file could fill the disk. */
    if (st.st_size > WIPE_MAX || (uint64_t)st.st_size > budget->bytes)
        return 0;
    budget->bytes -= (uint64_t)st.st_size;
    for (off_t left = st.st_size; left > 0;) {
        size_t n = left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros;

        if (write_all(fd, (struct cfr_view){zeros, n}) != 0)
            return cfr_err_sys(err, errno, "cannot overwrite %s before removing it", name);
        left -= (off_t)n;
    }
    return cfr_path_sync(fd, name, err);
}

int cfr_file_wipe_within(int dir_fd, const char *name, struct cfr_file_budget *budget, struct cfr_err *err)
{
    struct stat st;
    int rc = 0;
    int fd;

    if (budget->entries == 0)
        return 0;
    budget->entries--;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : cfr_err_sys(err, errno, "cannot read the status of %s", name);
    if (S_ISREG(st.st_mode)) {
        fd = open_to_wipe(dir_fd, name, err);
        rc = fd >= 0 ? overwrite_with_zeros(fd, name, budget, err) : fd == CFR_E_MISSING ? 0 : fd;
        if (fd >= 0)
            (void)close(fd);
    }
    if (unlinkat(dir_fd, name, 0) != 0 && errno != ENOENT)
        return cfr_err_sys(err, errno, "cannot remove %s", name);
    return rc;
}

int cfr_file_wipe(int dir_fd, const char *name, struct cfr_err *err)
{
    struct cfr_file_budget budget = CFR_FILE_BUDGET;

    return cfr_file_wipe_within(dir_fd, name, &budget, err);
}

/* Directories that had no temporary file when they were last looked through: many targets share the one above them. */
static struct {
    struct statx items[CLEAN_MAX];
    size_t count;
    size_t next;
} clean;

void cfr_file_forget_clean(void)
{
    clean.count = 0;
}

/* A number is used again for another directory, which is made later. */
static bool is_clean(const struct statx *st)
{
    for (size_t i = 0; i < clean.count; i++) {
        const struct statx *one = &clean.items[i];

        if (one->stx_ino == st->stx_ino && one->stx_dev_major == st->stx_dev_major &&
            one->stx_dev_minor == st->stx_dev_minor && one->stx_btime.tv_sec == st->stx_btime.tv_sec &&
            one->stx_btime.tv_nsec == st->stx_btime.tv_nsec)
            return true;
    }
    return false;
}

static void add_clean(const struct statx *st)
{
    clean.items[clean.next] = *st;
    clean.next = (clean.next + 1) % CLEAN_MAX;
    clean.count += clean.count < CLEAN_MAX;
}

struct cleaning {
    const char *name;
    struct cfr_file_budget budget;
    size_t seen;
    bool found;
    int rc;
    struct cfr_err *err;
};

static int remove_temp(void *ctx, int dir_fd, const char *name)
{
    struct cleaning *c = ctx;

    c->seen++;
    c->found = c->found || cfr_path_is_temp(name, NULL);
    /* An unfinished directory of ours is empty; one with entries is not ours. */
    if (cfr_path_is_temp(name, c->name) && unlinkat(dir_fd, name, AT_REMOVEDIR) != 0 && errno == ENOTDIR && c->rc == 0)
        c->rc = cfr_file_wipe_within(dir_fd, name, &c->budget, c->err);
    return c->budget.entries == 0;
}

int cfr_file_remove_temps(int dir_fd, const char *name, struct cfr_err *err)
{
    struct cleaning c = {.name = name, .budget = CFR_FILE_BUDGET, .err = err};
    struct statx st;
    bool known =
        statx(dir_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) == 0 && (st.stx_mask & STATX_BTIME) != 0;
    int rc;

    if (known && is_clean(&st))
        return 0;
    rc = cfr_path_each(dir_fd, remove_temp, &c, err);
    if (rc == 0 && known && !c.found && c.seen < CFR_PATH_ENTRIES_MAX - 2)
        add_clean(&st);
    return rc < 0 ? rc : c.rc;
}
