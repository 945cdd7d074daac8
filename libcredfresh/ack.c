/* SPDX-License-Identifier: MIT */
/* Acknowledging to credfresh which generation is in use. */
#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE 0644

/* A loss of power after the rename could leave an empty file, which credfresh takes for the current generation. */
static int sync_file(int fd)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc != 0 && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

static int write_line(int fd, const char *line)
{
    size_t n = strlen(line);
    ssize_t done;

    do
        done = write(fd, line, n);
    while (done < 0 && errno == EINTR);
    if (done >= 0 && (size_t)done != n)
        errno = EIO;
    return done >= 0 && (size_t)done == n ? sync_file(fd) : -1;
}

/* A random temporary name next to PATH: the directory may be shared by containers whose processes have the same
 * ids. */
static int make_temp_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    int n = (int)(slash == NULL ? 0 : slash - path + 1);
    uint64_t number = 0;
    int written;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return -1;
    written = snprintf(out, size, "%.*s.%s.%016" PRIx64, n, path, path + n, number);
    return written > 0 && (size_t)written < size ? 0 : -1;
}

/* 0, or -1 with errno. */
static int replace(const char *path, const char *line)
{
    char temp[PATH_MAX];
    int error;
    int fd;

    if (make_temp_name(path, temp, sizeof temp) != 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
    if (fd < 0)
        return -1;
    if (write_line(fd, line) == 0 && rename(temp, path) == 0)
        return close(fd);
    error = errno;
    (void)close(fd);
    (void)unlink(temp);
    errno = error;
    return -1;
}

/* Readers see it empty or whole: it is cut and then written at once. 0, or -1 with errno. */
static int write_in_place(const char *path, const char *line)
{
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    int error;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        errno = EINVAL;
    else if (ftruncate(fd, 0) == 0 && write_line(fd, line) == 0)
        return close(fd);
    error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

int credfresh_ack(uint64_t generation, const char *path, char *text, size_t text_size)
{
    struct cfl_error e = {.code = 0};
    char line[32];
    int error;

    if (generation == 0 || path == NULL || path[0] == '\0') {
        (void)cfl_fail(&e, CREDFRESH_E_INVALID, "%s",
                       generation == 0 ? "there is no generation 0" : "the path is empty");
        return cfl_report(&e, text, text_size);
    }
    (void)snprintf(line, sizeof line, "%" PRIu64 "\n", generation);
    if (replace(path, line) == 0)
        return 0;
    error = errno;
    if ((error == EBUSY || error == EXDEV || error == EACCES || error == EPERM || error == EROFS) &&
        write_in_place(path, line) == 0)
        return 0;
    (void)cfl_fail_errno(&e, error, "cannot write %s", path);
    if (error == ENOSPC) /* a full disk; of inotify and epoll it is a limit */
        e.code = CREDFRESH_E_IO;
    return cfl_report(&e, text, text_size);
}
