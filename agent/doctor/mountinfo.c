/* SPDX-License-Identifier: MIT */
/* Mounts of the machine, as /proc/self/mountinfo lists them. */
#include "agent/doctor/mountinfo_private.h"

#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNTINFO_MAX 4194304

/* Blanks and the like are written as octal numbers. */
static void read_field(struct cfr_view field, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < field.n && n + 1 < size; i++) {
        if (field.p[i] == '\\' && i + 3 < field.n) {
            out[n++] = (char)((field.p[i + 1] - '0') * 64 + (field.p[i + 2] - '0') * 8 + (field.p[i + 3] - '0'));
            i += 3;
        } else {
            out[n++] = field.p[i];
        }
    }
    out[n] = '\0';
}

static struct cfr_view next_field(struct cfr_view *rest)
{
    struct cfr_view field = {rest->p, 0};

    while (field.n < rest->n && rest->p[field.n] != ' ')
        field.n++;
    rest->p += field.n;
    rest->n -= field.n;
    if (rest->n != 0) {
        rest->p++;
        rest->n--;
    }
    return field;
}

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPEROPTIONS */
static bool parse_line(struct cfr_view line, struct cfr_doctor_mount *out)
{
    char super[256];
    ptrdiff_t dash = cfr_view_find(line, " - ");
    struct cfr_view tail;
    size_t n;

    if (dash < 0)
        return false;
    tail = (struct cfr_view){line.p + dash + 3, line.n - (size_t)dash - 3};
    for (int i = 0; i < 3; i++)
        (void)next_field(&line);
    read_field(next_field(&line), out->root, sizeof out->root);
    read_field(next_field(&line), out->point, sizeof out->point);
    read_field(next_field(&line), out->options, sizeof out->options);
    read_field(next_field(&tail), out->type, sizeof out->type);
    (void)next_field(&tail);
    read_field(next_field(&tail), super, sizeof super);
    n = strlen(out->options);
    (void)snprintf(out->options + n, sizeof out->options - n, ";%.200s", super);
    return out->point[0] == '/';
}

static bool covers(const char *point, const char *path)
{
    size_t n = strlen(point);

    if (n == 1)
        return true;
    return strncmp(point, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool cfr_doctor_mount_find(struct cfr_view mountinfo, const char *path, struct cfr_doctor_mount *out)
{
    struct cfr_doctor_mount one;
    struct cfr_view line;
    size_t best = 0;

    while (cfr_view_line(&mountinfo, &line)) {
        if (parse_line(line, &one) && covers(one.point, path) && strlen(one.point) >= best) {
            best = strlen(one.point);
            *out = one;
        }
    }
    return best != 0;
}

static int read_all(const char *path, struct cfr_secret *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 1;

    if (fd < 0)
        return CFR_E_MISSING;
    while (n > 0) {
        char *p = cfr_secret_reserve(text, 8192, NULL);

        n = p != NULL ? read(fd, p, 8192) : -1;
        if (n > 0)
            cfr_secret_grown(text, (size_t)n);
    }
    (void)close(fd);
    return n == 0 ? 0 : CFR_E_IO;
}

bool cfr_doctor_mount_of(const char *path, struct cfr_doctor_mount *out, char real[4096])
{
    char resolved[PATH_MAX];
    struct cfr_secret text;
    bool found = false;

    if (realpath(path, resolved) == NULL)
        return false;
    cfr_secret_init(&text, MOUNTINFO_MAX);
    if (read_all("/proc/self/mountinfo", &text) == 0)
        found = cfr_doctor_mount_find(cfr_secret_view(&text), resolved, out);
    cfr_secret_free(&text);
    if (real != NULL)
        (void)snprintf(real, 4096, "%s", resolved);
    return found;
}

bool cfr_doctor_mount_is_part(const struct cfr_doctor_mount *m)
{
    return strstr(m->root, "/volume-subpaths/") != NULL || strstr(m->root, "/..20") != NULL;
}

const char *cfr_doctor_mount_passing(const struct cfr_doctor_mount *m)
{
    if (strcmp(m->type, "tmpfs") == 0 || strcmp(m->type, "ramfs") == 0)
        return "is in memory, and gone when the machine, or the pod, starts again";
    if (strstr(m->root, "/kubernetes.io~empty-dir/") != NULL)
        return "is an emptyDir, and gone with the pod";
    if (strcmp(m->type, "overlay") == 0)
        return "is in the container's own file system, and gone with the container";
    return NULL;
}

void cfr_doctor_check_lasting(struct cfr_doctor *d, const char *check, const char *what, const char *path)
{
    struct cfr_doctor_mount m;
    char at[PATH_MAX];
    const char *why;

    cfr_doctor_nearest(path, at);
    why = cfr_doctor_mount_of(at, &m, NULL) ? cfr_doctor_mount_passing(&m) : NULL;
    if (why != NULL)
        cfr_doctor_report(
            d, CFR_FINDING_WARNING, check,
            "keep it on a disk (systemd: StateDirectory=; in a pod: a PersistentVolumeClaim or a hostPath)",
            "%s %s, which %s", what, path, why);
}

bool cfr_doctor_check_link(struct cfr_doctor *d, const char *check, const char *what, const char *path)
{
    struct stat st;

    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return false;
    cfr_doctor_report(d, CFR_FINDING_WRONG, check, NULL,
                      "%s%s is a symbolic link, which is not followed here: remove it or name the real path", what,
                      path);
    return true;
}

void cfr_doctor_nearest(const char *path, char out[PATH_MAX])
{
    struct stat st;

    (void)snprintf(out, PATH_MAX, "%s", path);
    while (stat(out, &st) != 0 && errno == ENOENT && strcmp(out, "/") != 0) {
        char copy[PATH_MAX];

        (void)snprintf(copy, sizeof copy, "%s", out);
        (void)snprintf(out, PATH_MAX, "%s", dirname(copy));
    }
}
