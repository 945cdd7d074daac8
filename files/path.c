/* SPDX-License-Identifier: MIT */
/* Opening and making directories, and opening files below them without following links. */
#include "files/path_private.h"

#include "files/walk_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TEMP_MARK   ".credfresh-"
#define TEMP_DIGITS 8
#define SYNCED_MAX  16
#define LIST_BYTES  8192
#define TEMP_KEPT   (CFR_PATH_NAME_MAX - 1 - (sizeof TEMP_MARK - 1) - TEMP_DIGITS)

bool cfr_path_is_name(const char *name)
{
    size_t n = strnlen(name, CFR_PATH_NAME_MAX + 1);

    return n != 0 && n <= CFR_PATH_NAME_MAX && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Without openat2, O_NOFOLLOW makes a single component safe. */
static int open_component(int dir_fd, const char *name, int flags, mode_t mode)
{
    struct stat st;
    int fd;

    if (!cfr_path_is_name(name) && strcmp(name, ".") != 0) {
        errno = EXDEV;
        return -1;
    }
    fd = openat(dir_fd, name, flags | O_NOFOLLOW, mode);
    if (fd < 0 && errno == ENOTDIR) {
        /* With O_DIRECTORY the kernel says so of links too. */
        errno = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
    }
    return fd;
}

static int open_beneath(int dir_fd, const char *name, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC,
        .mode = (flags & O_CREAT) != 0 ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd;

    do {
        fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof how);
    } while (fd < 0 && errno == EINTR);
    /* Older seccomp filters answer EPERM for system calls that they do not know. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_component(dir_fd, name, flags | O_CLOEXEC, how.mode & 07777);
    return (int)fd;
}

int cfr_path_openat(int dir_fd, const char *name, int flags, mode_t mode, struct cfr_err *err)
{
    int fd = open_beneath(dir_fd, name, flags, mode);

    if (fd >= 0)
        return fd;
    if (errno == ELOOP)
        return cfr_err_set(err, CFR_E_PATH,
                           "%s is a symbolic link, which is not followed here: remove it or name the real path", name);
    if (errno == EEXIST)
        return cfr_err_set(err, CFR_E_CONFLICT, "%s exists already", name);
    return cfr_err_sys(err, errno, "cannot open %s", name);
}

bool cfr_path_of_fd(int fd, char out[PATH_MAX])
{
    char link[32];
    ssize_t n;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    return out[0] == '/';
}

int cfr_path_sync(int fd, const char *what, struct cfr_err *err)
{
    int rc;

    do {
        rc = fsync(fd);
    } while (rc != 0 && errno == EINTR);
    if (rc != 0 && errno != EINVAL && errno != ENOTSUP && errno != EBADF)
        return cfr_err_sys(err, errno, "cannot sync %s to disk", what);
    return 0;
}

/* Directories that were synced, as they were then: those above all targets are the same. */
static struct {
    struct stat items[SYNCED_MAX];
    size_t next;
} synced;

static bool is_synced(const struct stat *st)
{
    for (size_t i = 0; i < SYNCED_MAX; i++) {
        const struct stat *then = &synced.items[i];

        if (then->st_ino == st->st_ino && then->st_dev == st->st_dev && then->st_mtim.tv_sec == st->st_mtim.tv_sec &&
            then->st_mtim.tv_nsec == st->st_mtim.tv_nsec)
            return true;
    }
    return false;
}

static void sync_entries(int fd, const struct stat *st)
{
    if (cfr_path_sync(fd, "a directory above", NULL) != 0)
        return;
    synced.items[synced.next] = *st;
    synced.next = (synced.next + 1) % SYNCED_MAX;
}

void cfr_path_sync_above(int dir_fd)
{
    struct stat below;
    struct stat st;
    int fd = fstat(dir_fd, &below) == 0 ? openat(dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    /* The root is above itself. */
    while (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == below.st_dev && st.st_ino != below.st_ino) {
        int next = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (!is_synced(&st))
            sync_entries(fd, &st);
        (void)close(fd);
        below = st;
        fd = next;
    }
    if (fd >= 0)
        (void)close(fd);
}

void cfr_path_temp_name(const char *name, char out[CFR_PATH_TEMP_MAX])
{
    unsigned random;
    struct timespec now;

    /* Early in a boot there may be no random bytes; O_EXCL keeps the name ours, so the clock will do. */
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        random = (unsigned)now.tv_nsec ^ (unsigned)now.tv_sec << 20;
    }
    (void)snprintf(out, CFR_PATH_TEMP_MAX, ".%.*s" TEMP_MARK "%0*x", (int)TEMP_KEPT, name, TEMP_DIGITS, random);
}

bool cfr_path_is_temp(const char *entry, const char *name)
{
    size_t n = strlen(entry);
    size_t mark = sizeof TEMP_MARK - 1;
    size_t kept = name != NULL ? strnlen(name, TEMP_KEPT) : n - 1 - mark - TEMP_DIGITS;

    if (entry[0] != '.' || n < 2 + mark + TEMP_DIGITS || n != 1 + kept + mark + TEMP_DIGITS)
        return false;
    if (name != NULL && strncmp(entry + 1, name, kept) != 0)
        return false;
    return strncmp(entry + 1 + kept, TEMP_MARK, mark) == 0 &&
           strspn(entry + 1 + kept + mark, "0123456789abcdef") == TEMP_DIGITS;
}

/* Owner before mode, because chown clears bits of the mode. In a directory that gives its group to what is made in it
 * (fsGroup of a pod), and without another group, the new one does so, too. */
static int set_owner_and_mode(int fd, mode_t mode, uid_t uid, gid_t gid)
{
    struct stat st;

    if (gid == (gid_t)-1 && fstat(fd, &st) == 0)
        mode |= st.st_mode & S_ISGID;
    if ((uid != (uid_t)-1 || gid != (gid_t)-1) && fchown(fd, uid, gid) != 0)
        return -1;
    return fchmod(fd, mode);
}

/* A directory that is made under its own name could be left behind by a kill with the wrong mode. */
static int move_dir_in(int dir_fd, const char *temp, const char *name)
{
    if (renameat2(dir_fd, temp, dir_fd, name, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno == EINVAL || errno == ENOSYS) && renameat(dir_fd, temp, dir_fd, name) == 0)
        return 0;
    return errno;
}

int cfr_path_each(int dir_fd, int (*fn)(void *ctx, int dir_fd, const char *name), void *ctx, struct cfr_err *err)
{
    union {
        struct dirent64 entry;
        char bytes[LIST_BYTES];
    } buf;
    ssize_t n = lseek(dir_fd, 0, SEEK_SET) == 0 ? 1 : -1;
    int seen = 0;
    int rc = 0;

    while (n > 0 && rc == 0 && seen < CFR_PATH_ENTRIES_MAX) {
        n = getdents64(dir_fd, buf.bytes, sizeof buf.bytes);
        for (const char *p = buf.bytes; n > 0 && rc == 0 && p < buf.bytes + n && seen < CFR_PATH_ENTRIES_MAX; seen++) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)p;

            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                rc = fn(ctx, dir_fd, entry->d_name);
            p += entry->d_reclen;
        }
    }
    /* Of a directory that this user may not list, the descriptor is of O_PATH. */
    return n < 0 ? cfr_err_sys(err, errno == EBADF ? EACCES : errno, "cannot list the directory") : rc;
}

static int found_entry(void *ctx, int dir_fd, const char *name)
{
    (void)ctx;
    (void)dir_fd;
    (void)name;
    return 1;
}

/* Refuses a directory FD that is not empty and ours, as a new one is: another user that can write in the directory
 * above could have put a different one in its place, which must not change its owner. */
static int check_new_dir(int fd, const char *name, struct cfr_err *err)
{
    struct stat st;
    int rc = cfr_path_each(fd, found_entry, NULL, err);

    if (rc == 0 && fstat(fd, &st) != 0)
        rc = cfr_err_sys(err, errno, "cannot read the status of the new directory");
    if (rc < 0)
        return cfr_err_prefix(err, "%s", name);
    return rc == 0 && st.st_uid == geteuid()
               ? 0
               : cfr_err_set(err, CFR_E_CONFLICT,
                             "the directory %s was replaced while it was made: see which other program writes there",
                             name);
}

int cfr_path_make_dir(int dir_fd, const char *name, mode_t mode, uid_t uid, gid_t gid, struct cfr_err *err)
{
    char temp[CFR_PATH_TEMP_MAX];
    struct stat st;
    bool unmapped;
    int fd;
    int failed;
    int rc;

    cfr_path_temp_name(name, temp);
    if (mkdirat(dir_fd, temp, 0700) != 0)
        return cfr_err_sys(err, errno, "cannot make the directory %s", name);
    fd = cfr_path_openat(dir_fd, temp, O_RDONLY | O_DIRECTORY, 0, err);
    if (fd < 0) {
        (void)unlinkat(dir_fd, temp, AT_REMOVEDIR);
        return fd;
    }
    rc = check_new_dir(fd, name, err);
    if (rc != 0) {
        (void)close(fd);
        (void)unlinkat(dir_fd, temp, AT_REMOVEDIR);
        return rc;
    }
    failed = set_owner_and_mode(fd, mode, uid, gid) != 0 ? errno : 0;
    unmapped = failed == EINVAL;
    /* Some file systems cannot sync a directory. */
    if (failed == 0 && fsync(fd) != 0 && errno != EINVAL)
        failed = errno;
    failed = failed == 0 ? move_dir_in(dir_fd, temp, name) : failed;
    (void)close(fd);
    if (failed != 0)
        (void)unlinkat(dir_fd, temp, AT_REMOVEDIR);
    if (failed != 0 && failed != EEXIST && failed != ENOTEMPTY)
        return cfr_err_sys(err, failed, "cannot make the directory %s%s", name, unmapped ? CFR_PATH_UNMAPPED : "");
    fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        if (fstat(fd, &st) == 0)
            sync_entries(fd, &st);
        (void)close(fd);
    }
    return 0;
}

/* Opens the directory whose path is the first N bytes of PATH, if no link is on the way. -1: there is one, the
 * directory is not there or may not be listed, or this kernel has no openat2. */
static int open_without_links(const char *path, size_t n)
{
    char whole[PATH_MAX];
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    if (n >= sizeof whole)
        return -1;
    memcpy(whole, path, n);
    whole[n] = '\0';
    return (int)syscall(SYS_openat2, AT_FDCWD, n != 0 ? whole : "/", &how, sizeof how);
}

/* Opens the directory whose path is the first N bytes of PATH, following the links that may be followed. */
static int open_following_links(const char *path, size_t n, bool create, struct cfr_err *err)
{
    struct cfr_walk walk = {.create = create};
    int fd = open_without_links(path, n);
    int passing = fd < 0 ? cfr_walk_open(path, n, &walk, err) : -1;

    if (fd >= 0 || passing < 0)
        return fd >= 0 ? fd : passing;
    fd = openat(passing, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Passing through needs no right to list. */
    if (fd < 0 && errno == EACCES)
        return passing;
    if (fd < 0)
        fd = cfr_err_sys(err, errno, "cannot open the directory");
    (void)close(passing);
    return fd;
}

/* Where the last component of the first N bytes of PATH begins; 0 if PATH will not do. */
static size_t find_last_component(const char *path, size_t n)
{
    size_t i = n;

    if (path[0] != '/' || n >= PATH_MAX)
        return 0;
    while (i > 0 && path[i - 1] != '/')
        i--;
    return i == n ? 0 : i;
}

int cfr_path_open_parent(const char *path, bool create, const char **name, struct cfr_err *err)
{
    size_t at = find_last_component(path, strlen(path));
    int fd;

    if (at == 0 || !cfr_path_is_name(path + at))
        return cfr_err_set(err, CFR_E_PATH, "%s is not an absolute path of a file", path);
    *name = path + at;
    fd = open_following_links(path, at - 1, create, err);
    if (fd < 0)
        (void)cfr_err_prefix(err, "%s", path);
    return fd;
}

int cfr_path_open_dir(const char *path, bool create, mode_t mode, struct cfr_err *err)
{
    size_t n = strlen(path);
    char name[CFR_PATH_NAME_MAX + 1];
    size_t at;
    int parent;
    int fd;

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 1 && path[0] == '/')
        return open_following_links(path, 0, false, err);
    at = find_last_component(path, n);
    if (at == 0 || n - at > CFR_PATH_NAME_MAX)
        return cfr_err_set(err, CFR_E_PATH, "%s is not an absolute path of a directory", path);
    memcpy(name, path + at, n - at);
    name[n - at] = '\0';
    if (!cfr_path_is_name(name))
        return cfr_err_set(err, CFR_E_PATH, "%s: a path must not end with %s", path, name);
    fd = open_without_links(path, n);
    if (fd >= 0)
        return fd;
    parent = open_following_links(path, at - 1, create, err);
    fd = parent < 0 ? parent : cfr_path_openat(parent, name, O_RDONLY | O_DIRECTORY, 0, create ? NULL : err);
    if (parent >= 0 && fd < 0 && create) {
        fd = fd == CFR_E_MISSING ? cfr_path_make_dir(parent, name, mode, (uid_t)-1, (gid_t)-1, err) : 0;
        fd = fd == 0 ? cfr_path_openat(parent, name, O_RDONLY | O_DIRECTORY, 0, err) : fd;
    }
    if (parent >= 0)
        (void)close(parent);
    if (fd < 0)
        (void)cfr_err_prefix(err, "%s", path);
    return fd;
}
