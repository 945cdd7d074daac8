/* SPDX-License-Identifier: MIT */
/* JSON documents in the state directory, and its lock. */
#include "files/state.h"

#include "files/file_private.h"
#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOCK_NAME      "lock"
#define PID_MAX        16
#define LEFT_BEHIND_MS 5000
#define LOOK_MS        20

/* The holder of the lock wrote its process id there. */
static void read_holder(int fd, char pid[PID_MAX])
{
    ssize_t n = pread(fd, pid, PID_MAX - 1, 0);

    pid[n > 0 ? n : 0] = '\0';
    pid[strspn(pid, "0123456789")] = '\0';
}

static bool has_ended(int fd)
{
    char text[PID_MAX];
    int64_t pid;

    read_holder(fd, text);
    /* Or it was us, who let go of it: a child that has just begun still has it. */
    return cfr_view_int(cfr_view_of(text), &pid) && pid > 0 && pid <= INT_MAX &&
           (pid == getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH));
}

/* An agent that was killed may have left a child that still writes a file, and has the lock until then. */
static int wait_for_lock(int fd)
{
    const struct timespec pause = {0, LOOK_MS * 1000000L};

    for (int left_ms = LEFT_BEHIND_MS; flock(fd, LOCK_EX | LOCK_NB) != 0; left_ms -= LOOK_MS) {
        int code = errno;

        if (code != EWOULDBLOCK || left_ms <= 0 || !has_ended(fd))
            return code;
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

static int report_locked(int fd, const char *directory, struct cfr_err *err)
{
    char pid[PID_MAX];

    read_holder(fd, pid);
    return cfr_err_set(
        err, CFR_E_CONFLICT,
        "%s is in use by another credfresh%s%s: stop that one, or give each its own state_dir and its own "
        "paths to publish to",
        directory, pid[0] != '\0' ? " with process id " : "", pid);
}

/* Of a directory that this user may not make or write in, the system's words name only the part that failed. */
static int add_advice(int rc, struct cfr_err *err)
{
    struct cfr_err was;

    if (err == NULL || rc != CFR_E_PERM)
        return rc;
    was = *err;
    return cfr_err_set(err, rc, "%.440s; name a directory in which credfresh may write", was.text);
}

/* Keeps the file FD open in the queue of a socket, without a descriptor. A child closes all descriptors that it
 * inherits, and on a FUSE file system that hangs, close(2) of a file does not return. Consumes FD. Returns the socket,
 * which closes the file when it is closed; -1 with errno. */
static int keep_open(int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {(char[]){0}, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    int ends[2] = {-1, -1};
    bool sent;
    int failed;

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    sent = socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0 && sendmsg(ends[0], &message, 0) >= 0;
    failed = errno;
    (void)close(fd);
    if (ends[0] >= 0)
        (void)close(ends[0]);
    if (!sent && ends[1] >= 0)
        (void)close(ends[1]);
    errno = failed;
    return sent ? ends[1] : -1;
}

static int acquire_lock(int dir_fd, const char *directory, struct cfr_err *err)
{
    int fd = cfr_path_openat(dir_fd, LOCK_NAME, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY, 0600, err);
    int rc = 0;
    int code;

    if (fd < 0) {
        (void)cfr_err_prefix(err, "%s", directory);
        return add_advice(fd, err);
    }
    code = wait_for_lock(fd);
    if (code != 0)
        rc = code == EWOULDBLOCK ? report_locked(fd, directory, err)
                                 : cfr_err_sys(err, code, "cannot lock %s/" LOCK_NAME, directory);
    if (rc != 0) {
        (void)close(fd);
        return rc;
    }
    if (ftruncate(fd, 0) == 0)
        (void)dprintf(fd, "%ld\n", (long)getpid());
    fd = keep_open(fd);
    return fd >= 0 ? fd : cfr_err_sys(err, errno, "cannot keep %s/" LOCK_NAME " open", directory);
}

/* Directories that everybody uses, as the file system's standard has them. */
static bool is_common(const char *directory)
{
    static const char *const common[] = {"/tmp", "/var/tmp", "/dev/shm"};

    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        if (strcmp(directory, common[i]) == 0)
            return true;
    }
    return false;
}

static bool is_volume(const struct stat *st, bool mounted, const char *directory)
{
    return mounted && st->st_uid == 0 && !is_common(directory);
}

int cfr_state_check(const struct stat *st, bool mounted, uid_t owner, const char *directory, struct cfr_err *err)
{
    unsigned others = st->st_mode & (S_IWGRP | S_IWOTH);

    if (st->st_uid != owner && st->st_uid != 0)
        return cfr_err_set(err, CFR_E_PERM,
                           "%s belongs to uid %u, and credfresh runs as uid %u, so that its content could be another "
                           "user's: run it as the directory's owner, or name a separate directory",
                           directory, (unsigned)st->st_uid, (unsigned)owner);
    if (others != 0 && !is_volume(st, mounted, directory))
        return cfr_err_set(err, CFR_E_PERM,
                           "%s can be written by %s (mode %04o), so that its content could be another user's: check "
                           "its content, then chmod 0700 it, or name a separate directory",
                           directory, (others & S_IWOTH) != 0 ? "every user" : "its group",
                           (unsigned)st->st_mode & 07777U);
    return 0;
}

int cfr_state_check_shared(const struct stat *st, bool mounted, uid_t owner, const char *directory, struct cfr_err *err)
{
    unsigned others = st->st_mode & (S_IWGRP | S_IWOTH);

    if (st->st_uid != owner && st->st_uid != 0)
        return cfr_err_set(err, CFR_E_PERM,
                           "%s belongs to uid %u, which could replace the socket in it, and credfresh runs as uid %u: "
                           "choose a path in a directory of root or of credfresh's user",
                           directory, (unsigned)st->st_uid, (unsigned)owner);
    if (others != 0 && (st->st_mode & S_ISVTX) == 0 && !is_volume(st, mounted, directory))
        return cfr_err_set(err, CFR_E_PERM,
                           "%s can be written by %s (mode %04o), so that another user could replace the socket in it: "
                           "chmod go-w it, or choose a path in another directory",
                           directory, (others & S_IWOTH) != 0 ? "every user" : "its group",
                           (unsigned)st->st_mode & 07777U);
    return 0;
}

bool cfr_state_is_mounted(int dir_fd, const struct stat *st)
{
    struct stat parent;

    return fstatat(dir_fd, "..", &parent, 0) == 0 && parent.st_dev != st->st_dev;
}

static int check_open(int dir_fd, const char *directory, struct cfr_err *err)
{
    struct stat st;

    if (fstat(dir_fd, &st) != 0)
        return cfr_err_sys(err, errno, "cannot read the status of %s", directory);
    return cfr_state_check(&st, cfr_state_is_mounted(dir_fd, &st), geteuid(), directory, err);
}

int cfr_state_open(const char *directory, int *lock_fd, struct cfr_err *err)
{
    int dir_fd = cfr_path_open_dir(directory, true, 0700, err);
    int unsafe;

    *lock_fd = -1;
    if (dir_fd < 0)
        return add_advice(dir_fd, err);
    unsafe = check_open(dir_fd, directory, err);
    if (unsafe == 0 && faccessat(dir_fd, LOCK_NAME, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        cfr_path_sync_above(dir_fd);
    *lock_fd = unsafe != 0 ? unsafe : acquire_lock(dir_fd, directory, err);
    if (*lock_fd < 0) {
        int rc = *lock_fd;

        *lock_fd = -1;
        (void)close(dir_fd);
        return rc;
    }
    /* Under the lock they can only be what a crash left. */
    (void)cfr_file_remove_temps(dir_fd, NULL, NULL);
    /* What is read here is acted on, and a run that was killed may not have synced it. */
    (void)cfr_path_sync(dir_fd, "the directory", NULL);
    return dir_fd;
}

static int make_file_name(const char *name, char out[CFR_PATH_NAME_MAX + 1], struct cfr_err *err)
{
    int n = snprintf(out, CFR_PATH_NAME_MAX + 1, "%s.json", name);

    if (n < 0 || n > CFR_PATH_NAME_MAX || !cfr_path_is_name(name))
        return cfr_err_set(err, CFR_E_CONFIG, "\"%.80s\" cannot be the name of a state file", name);
    return 0;
}

int cfr_state_load(int dir_fd, const char *name, struct cfr_secret *out, struct cfr_err *err)
{
    char file[CFR_PATH_NAME_MAX + 1];
    int rc = make_file_name(name, file, err);

    return rc != 0 ? rc : cfr_file_read_own_at(dir_fd, file, out, err);
}

int cfr_state_save(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *err)
{
    char file[CFR_PATH_NAME_MAX + 1];
    struct cfr_file f = {file, content, 0600, CFR_FILE_KEEP_ID, CFR_FILE_KEEP_ID};
    int rc = make_file_name(name, file, err);

    if (rc == 0 && content.n > CFR_STATE_MAX)
        rc = cfr_err_set(err, CFR_E_LIMIT, "the state of %s has %zu bytes, more than %d", name, content.n,
                         CFR_STATE_MAX);
    return rc != 0 ? rc : cfr_file_replace(dir_fd, &f, err);
}
