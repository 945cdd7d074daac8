/* SPDX-License-Identifier: MIT */
/* One projected volume on disk, written with the kubelet's steps. */
#include "volume.h"

#include "crypto.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t wrote = write(fd, bytes, len);
        if (wrote < 0 && errno != EINTR) {
            return -1;
        }
        if (wrote > 0) {
            bytes += wrote;
            len -= (size_t)wrote;
        }
    }
    return 0;
}

static int write_at(int dir, const char *name, mode_t mode, const void *bytes, size_t len)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int result = 0;

    if (fd < 0) {
        return -1;
    }
    /* The mode is set on the descriptor because the umask took bits from open(). */
    result = write_all(fd, bytes, len) == 0 && fchmod(fd, mode) == 0 ? 0 : -1;
    if (close(fd) != 0) {
        result = -1;
    }
    return result;
}

static int read_fd(int fd, size_t max, struct lc_buf *out)
{
    char chunk[4096];
    ssize_t got = 0;

    lc_buf_add(out, "", 0);
    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 || out->len + (size_t)got > max) {
            errno = got < 0 ? errno : EFBIG;
            return -1;
        }
        lc_buf_add(out, chunk, (size_t)got);
    }
    return out->broken ? -1 : 0;
}

int lc_volume_get_file(const char *path, size_t max, struct lc_buf *out, struct lc_fail *fail)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = fd < 0 ? -1 : read_fd(fd, max, out);
    int error = errno;

    if (fd >= 0) {
        (void)close(fd);
    }
    if (result != 0) {
        (void)lc_fail_set(fail, "%s: %s", path, strerror(error));
        errno = error;
    }
    return result;
}

int lc_volume_put_file(const char *path, mode_t mode, const void *bytes, size_t len, struct lc_fail *fail)
{
    char *temporary = lc_text_format("%s.new", path);
    int result = -1;

    if (temporary != NULL) {
        (void)unlink(temporary);
        if (write_at(AT_FDCWD, temporary, mode, bytes, len) == 0 && rename(temporary, path) == 0) {
            result = 0;
        }
    }
    if (result != 0) {
        (void)lc_fail_set(fail, "%s cannot be written: %s", path, strerror(errno));
    }
    free(temporary);
    return result;
}

static bool is_same(int dir, const char *old, const char *file, mode_t mode, const void *bytes, size_t len)
{
    char *path = lc_text_format("%s/%s", old, file);
    int fd = path == NULL ? -1 : openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat info = {0};
    struct lc_buf now = {0};
    bool same = false;

    if (fd >= 0) {
        same = fstat(fd, &info) == 0 && (info.st_mode & 07777) == mode && (size_t)info.st_size == len &&
               read_fd(fd, len + 1, &now) == 0 && now.len == len && (len == 0 || memcmp(now.at, bytes, len) == 0);
        (void)close(fd);
    }
    lc_buf_free(&now);
    free(path);
    return same;
}

/* Removes the flat directory name below dir. */
static void remove_old(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry = NULL;

    if (list == NULL) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return;
    }
    while ((entry = readdir(list)) != NULL) {
        (void)unlinkat(fd, entry->d_name, 0);
    }
    (void)closedir(list);
    (void)unlinkat(dir, name, AT_REMOVEDIR);
}

static int make_timestamp_dir(int dir, char *name, size_t room)
{
    for (int tries = 0; tries < 10; tries++) {
        time_t now = time(NULL);
        struct tm parts = {0};
        char stamp[32] = "";
        unsigned random = 0;

        (void)gmtime_r(&now, &parts);
        (void)strftime(stamp, sizeof stamp, "%Y_%m_%d_%H_%M_%S", &parts);
        (void)lc_random(&random, sizeof random);
        (void)snprintf(name, room, "..%s.%u", stamp, random);
        if (mkdirat(dir, name, 0700) == 0) {
            return fchmodat(dir, name, 0755, 0);
        }
        if (errno != EEXIST) {
            return -1;
        }
    }
    return -1;
}

static int swap(int dir, const char *fresh, const char *file)
{
    char *target = lc_text_format("..data/%s", file);
    int result = -1;

    (void)unlinkat(dir, "..data_tmp", 0);
    if (target != NULL && symlinkat(fresh, dir, "..data_tmp") == 0 && renameat(dir, "..data_tmp", dir, "..data") == 0) {
        result = symlinkat(target, dir, file) == 0 || errno == EEXIST ? 0 : -1;
    }
    free(target);
    return result;
}

/* Visible links that the payload no longer has. */
static void remove_obsolete(int dir, const char *file)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry = NULL;
    char target[PATH_MAX];

    if (list == NULL) {
        if (copy >= 0) {
            (void)close(copy);
        }
        return;
    }
    while ((entry = readdir(list)) != NULL) {
        ssize_t len = readlinkat(dir, entry->d_name, target, sizeof target - 1);
        if (len > 7 && memcmp(target, "..data/", 7) == 0 && strcmp(entry->d_name, file) != 0) {
            (void)unlinkat(dir, entry->d_name, 0);
        }
    }
    (void)closedir(list);
}

static int project_into(int dir, const char *file, mode_t mode, const void *bytes, size_t len, bool *changed)
{
    char old[NAME_MAX + 1] = "";
    char fresh[64] = "";
    char *path = NULL;
    ssize_t old_len = readlinkat(dir, "..data", old, sizeof old - 1);
    int result = -1;

    old[old_len > 0 ? old_len : 0] = '\0';
    *changed = false;
    if (old[0] != '\0' && is_same(dir, old, file, mode, bytes, len)) {
        return 0;
    }
    if (make_timestamp_dir(dir, fresh, sizeof fresh) != 0 || (path = lc_text_format("%s/%s", fresh, file)) == NULL) {
        return -1;
    }
    if (write_at(dir, path, mode, bytes, len) == 0) {
        result = swap(dir, fresh, file);
    }
    free(path);
    if (result == 0) {
        *changed = true;
        remove_obsolete(dir, file);
    }
    if (result == 0 && old[0] != '\0' && strchr(old, '/') == NULL) {
        remove_old(dir, old);
    }
    return result;
}

int lc_volume_project(const char *dir, const char *file, mode_t mode, const void *bytes, size_t len, bool *changed,
                      struct lc_fail *fail)
{
    int fd = -1;
    int result = -1;

    if (mkdir(dir, 0755) == 0) {
        (void)chmod(dir, 0755);
    }
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        result = project_into(fd, file, mode, bytes, len, changed);
    }
    if (result != 0) {
        (void)lc_fail_set(fail, "volume %s cannot be written: %s", dir, strerror(errno));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return result;
}
