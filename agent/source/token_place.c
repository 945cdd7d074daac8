/* SPDX-License-Identifier: MIT */
/* Walk from a trusted directory to a token file, one component at a time. */
#include "agent/source/token_place_private.h"

#include "files/route.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 8

/* Without `/var` before `/run`, which is a link to the latter, and without slashes at the end. */
static struct cfr_view plain(const char *path)
{
    struct cfr_view v = cfr_view_of(path);

    if (cfr_view_starts(v, "/var/run") && (v.n == strlen("/var/run") || v.p[strlen("/var/run")] == '/'))
        v = cfr_view_of(path + strlen("/var"));
    while (v.n != 0 && v.p[v.n - 1] == '/')
        v.n--;
    return v;
}

/* Cuts the first component off *REST. False at the end. */
static bool next_component(struct cfr_view *rest, struct cfr_view *out)
{
    const char *end;

    while (rest->n != 0 && rest->p[0] == '/')
        *rest = (struct cfr_view){rest->p + 1, rest->n - 1};
    end = rest->n != 0 ? memchr(rest->p, '/', rest->n) : NULL;
    *out = (struct cfr_view){rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n};
    *rest = (struct cfr_view){rest->p + out->n, rest->n - out->n};
    return out->n != 0;
}

static bool climbs(struct cfr_view path)
{
    struct cfr_view part;

    while (next_component(&path, &part)) {
        if (cfr_view_is(part, ".."))
            return true;
    }
    return false;
}

int cfr_source_token_place_check(const char *directory, const char *path, struct cfr_err *err)
{
    struct cfr_view d = plain(directory);
    struct cfr_view p = plain(path);

    if (directory[0] == '/' && p.n > d.n + 1 && memcmp(p.p, d.p, d.n) == 0 && p.p[d.n] == '/' && !climbs(p))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "it names the token file %.300s, and a Secret names none but those below %.300s: set "
                       "`token_directory` of `secret`, or name the file in `token: {file: ...}`",
                       path, directory);
}

/* Puts the target of LINK, an O_PATH descriptor, before REST in TEXT. */
static int follow(int link, struct cfr_view *rest, char text[PATH_MAX], struct cfr_err *err)
{
    char target[PATH_MAX];
    char joined[2 * PATH_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof target - 1);
    int len;

    if (n < 0)
        return cfr_err_sys(err, errno, "cannot read a link");
    target[n] = '\0';
    if (target[0] == '/' || climbs(cfr_view_of(target)))
        return cfr_err_set(err, CFR_E_CONFIG, "a link on the way leads to %.300s, out of that directory", target);
    len = snprintf(joined, sizeof joined, "%s/%.*s", target, (int)rest->n, rest->p);
    if (len >= PATH_MAX)
        return cfr_err_set(err, CFR_E_PATH, "its path is too long");
    memcpy(text, joined, (size_t)len + 1);
    *rest = cfr_view_of(text);
    return 0;
}

/* Goes from *DIR, which it replaces, to the component NAME: into a directory, or through a link. *FOUND for anything
 * else, which is what is looked for. */
static int step(int *dir, const char *name, enum cfr_file_reach reach, struct cfr_view *rest, char text[PATH_MAX],
                bool *found, struct cfr_err *err)
{
    int fd = openat(*dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st = {0};
    unsigned mount;
    int rc = 0;

    if (fd >= 0 && reach == CFR_FILE_ANSWERING && cfr_route_storage_of(fd, &mount) == CFR_ROUTE_REMOTE)
        rc = CFR_FILE_ELSEWHERE;
    else if (fd < 0 || fstat(fd, &st) != 0)
        rc = cfr_err_sys(err, errno, "cannot open %s", name);
    else if (S_ISLNK(st.st_mode))
        rc = follow(fd, rest, text, err);
    else if (!S_ISDIR(st.st_mode))
        *found = true;
    if (rc == 0 && S_ISDIR(st.st_mode)) {
        int before = *dir;

        *dir = fd;
        fd = before;
    }
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* Leaves *DIR at the last directory. */
static int walk(int *dir, struct cfr_view rest, enum cfr_file_reach reach, struct cfr_secret *out, struct cfr_err *err)
{
    char text[PATH_MAX];
    char name[NAME_MAX + 1];
    struct cfr_view part;
    bool found = false;

    for (int links = 0; next_component(&rest, &part) && links <= LINKS_MAX;) {
        struct cfr_view before = rest;
        int rc;

        if (part.n > NAME_MAX)
            return cfr_err_set(err, CFR_E_PATH, "a name in its path is too long");
        (void)snprintf(name, sizeof name, "%.*s", (int)part.n, part.p);
        rc = step(dir, name, reach, &rest, text, &found, err);
        if (rc != 0)
            return rc;
        links += rest.p != before.p;
        /* It may have been replaced since it was looked at: by a link, which is not followed here. */
        if (found)
            return next_component(&rest, &part) ? cfr_err_set(err, CFR_E_PATH, "%s is not a directory", name)
                                                : cfr_file_read_below(*dir, name, reach, out, err);
    }
    return cfr_err_set(err, CFR_E_PATH, "it is a directory, or leads through more than %d links", LINKS_MAX);
}

int cfr_source_token_place_read(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                                struct stat *status, struct cfr_err *err)
{
    size_t n = plain(what->directory).n;
    struct cfr_view p = plain(what->path);
    int dir;
    int rc = cfr_file_open(what->directory, O_PATH | O_DIRECTORY, reach, &dir, err);

    (void)status;
    if (rc != 0)
        return rc;
    rc = walk(&dir, (struct cfr_view){p.p + n, p.n - n}, reach, out, err);
    (void)close(dir);
    return rc;
}
