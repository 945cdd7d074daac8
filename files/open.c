/* SPDX-License-Identifier: MIT */
/* Opening what is read, where another user may have a hand in the path. */
#include "files/file_private.h"

#include "files/mount_private.h"
#include "files/path_private.h"
#include "files/walk_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel has it */

struct passage {
    bool may_wait;
    bool foreign;
};

static bool pass(void *ctx, int dir_fd, const struct stat *st, unsigned mount)
{
    struct passage *p = ctx;

    p->foreign = p->foreign || (st->st_uid != 0 && st->st_uid != geteuid());
    return p->may_wait || cfr_mount_storage(dir_fd, mount) != CFR_ROUTE_REMOTE;
}

int cfr_file_open_above(const char *path, size_t n, enum cfr_file_reach reach, bool *foreign, int *out,
                        struct cfr_err *err)
{
    struct passage p = {.may_wait = reach != CFR_FILE_ANSWERING};
    struct cfr_walk walk = {.enter = pass, .ctx = &p, .cached = !p.may_wait};
    int fd;

    cfr_mount_refresh();
    fd = cfr_walk_open(path, n, &walk, err);
    *foreign = p.foreign;
    if (fd < 0)
        return fd;
    if (walk.ended) {
        (void)close(fd);
        return CFR_FILE_ELSEWHERE;
    }
    *out = fd;
    return 0;
}

/* FD is what NAME in DIR_FD was a moment ago. */
static int reopen(int fd, int dir_fd, const char *name, int flags)
{
    char path[32];
    int out;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    out = open(path, flags | O_CLOEXEC);
    /* Where there is no /proc. */
    return out < 0 && errno == ENOENT ? openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC) : out;
}

/* SHOWN: NAME, for errors. LINK: what a link is, instead of an error. */
static int open_in(int dir_fd, const char *name, const char *shown, int flags, enum cfr_file_reach reach, int link,
                   int *out, struct cfr_err *err)
{
    int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    unsigned mount;
    int rc = 0;

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open %s", shown);
    if (reach == CFR_FILE_ANSWERING && cfr_route_storage_of(fd, &mount) == CFR_ROUTE_REMOTE)
        rc = CFR_FILE_ELSEWHERE;
    else if (fstat(fd, &st) != 0)
        rc = cfr_err_sys(err, errno, "cannot read the status of %s", shown);
    else if (S_ISLNK(st.st_mode) && link != 0)
        rc = link;
    else if (S_ISLNK(st.st_mode))
        rc = cfr_err_set(err, CFR_E_PATH,
                         "%s is a symbolic link in a directory that other users can write to, and is not followed: "
                         "remove it or name the real path",
                         shown);
    if (rc == 0)
        *out = reopen(fd, dir_fd, name, flags);
    if (rc == 0 && *out < 0)
        rc = cfr_err_sys(err, errno, "cannot open %s", shown);
    (void)close(fd);
    return rc;
}

int cfr_file_open_at(int dir_fd, const char *name, int flags, enum cfr_file_reach reach, int *out, struct cfr_err *err)
{
    return open_in(dir_fd, name, name, flags, reach, 0, out, err);
}

/* True if NAME, at the end of PATH, is a link that may be followed: PATH becomes where it leads. False also where that
 * is too long to be opened. */
static bool follow_link(int dir_fd, const char *name, char path[PATH_MAX])
{
    int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char target[PATH_MAX];
    char next[2 * PATH_MAX];
    struct stat dir;
    struct stat link;
    ssize_t n = fd >= 0 ? readlinkat(fd, "", target, sizeof target - 1) : -1;
    bool judged = n > 0 && fstat(dir_fd, &dir) == 0 && fstat(fd, &link) == 0 && S_ISLNK(link.st_mode);

    if (fd >= 0)
        (void)close(fd);
    if (!judged)
        return false;
    target[n] = '\0';
    if (!cfr_walk_trusts_link(&dir, &link, target))
        return false;
    (void)snprintf(next, sizeof next, "%.*s%s", target[0] != '/' ? (int)(name - path) : 0, path, target);
    if (strlen(next) >= PATH_MAX)
        return false;
    memcpy(path, next, strlen(next) + 1);
    return true;
}

static int open_step(char path[PATH_MAX], int flags, enum cfr_file_reach reach, bool *again, int *out,
                     struct cfr_err *err)
{
    char *name = strrchr(path, '/');
    int dir_fd;
    bool foreign;
    int rc = cfr_file_open_above(path, (size_t)(name - path), reach, &foreign, &dir_fd, err);

    name++;
    if (rc == CFR_E_PATH && reach == CFR_FILE_ANSWERING)
        return CFR_FILE_ELSEWHERE;
    if (rc != 0)
        return rc == CFR_E_MISSING ? cfr_err_sys(err, ENOENT, "cannot open %s", path)
               : rc < 0            ? cfr_err_prefix(err, "%s", path)
                                   : rc;
    *again = follow_link(dir_fd, name, path);
    if (!*again)
        rc = open_in(dir_fd, name[0] != '\0' ? name : ".", path, flags, reach,
                     reach == CFR_FILE_ANSWERING ? CFR_FILE_ELSEWHERE : 0, out, err);
    (void)close(dir_fd);
    return rc;
}

int cfr_file_open(const char *path, int flags, enum cfr_file_reach reach, int *out, struct cfr_err *err)
{
    char at[PATH_MAX];
    bool again = true;
    size_t n = strlen(path);
    int rc = 0;

    *out = -1;
    if (reach == CFR_FILE_ANYWHERE || path[0] != '/') {
        *out = open(path, flags | O_CLOEXEC);
        return *out < 0 ? cfr_err_sys(err, errno, "cannot open %s", path) : 0;
    }
    if (n >= sizeof at)
        return cfr_err_sys(err, ENAMETOOLONG, "cannot open %s", path);
    memcpy(at, path, n + 1);
    while (n > 1 && at[n - 1] == '/')
        at[--n] = '\0';
    for (int links = 0; rc == 0 && again; links++)
        rc = links > LINKS_MAX ? cfr_err_sys(err, ELOOP, "cannot follow %s", path)
                               : open_step(at, flags, reach, &again, out, err);
    return rc;
}

bool cfr_file_leads_to(const char *path, enum cfr_file_reach reach, char *out)
{
    bool found;
    int fd;

    if (cfr_file_open(path, O_PATH, reach, &fd, NULL) != 0)
        return false;
    found = cfr_path_of_fd(fd, out);
    (void)close(fd);
    return found;
}
