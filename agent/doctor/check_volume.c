/* SPDX-License-Identifier: MIT */
/* Check of the token's file and of the volume that it is in. */
#include "agent/doctor/doctor_private.h"

#include "agent/doctor/mountinfo_private.h"
#include "agent/loop/clock.h"
#include "agent/source/token_file.h"
#include "base/time.h"
#include "files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMEDY_RIGHTS                                                                                                  \
    "in a pod set securityContext.fsGroup (or a group that credfresh is in) and the volume's defaultMode; "            \
    "elsewhere give "                                                                                                  \
    "credfresh's user the group of the file"
#define REMEDY_PART "mount the whole volume as a directory, without subPath, and name the file in it"

/* The first part of PATH that cannot be had, and why. */
static void report_path(struct cfr_doctor *d, const char *path, int why)
{
    char part[PATH_MAX];
    struct stat st;

    for (size_t n = 1; path[n - 1] != '\0'; n++) {
        if (path[n] != '/' && path[n] != '\0')
            continue;
        (void)snprintf(part, sizeof part, "%.*s", (int)n, path);
        if (stat(part, &st) != 0) {
            bool dangling = errno == ENOENT && lstat(part, &st) == 0;

            if (why == ENOENT)
                cfr_doctor_report(d, cfr_doctor_later(d), "volume.missing",
                                  "mount the volume there, or fix the path; the kubelet makes it before the container "
                                  "starts",
                                  "waiting for the token file %s: %s%s does not exist", path, part,
                                  dangling ? " is a link to something that" : "");
            else
                cfr_doctor_report(d, CFR_FINDING_WRONG, "volume.missing", REMEDY_RIGHTS, "%s cannot be read: %s: %s",
                                  path, part, strerror(why));
            return;
        }
        if (S_ISDIR(st.st_mode) && path[n] != '\0' && access(part, X_OK) != 0) {
            cfr_doctor_report(d, CFR_FINDING_WRONG, "volume.rights", REMEDY_RIGHTS,
                              "%s cannot be read: uid %u may not enter %s (mode %04o, owner %u:%u)", path,
                              (unsigned)geteuid(), part, (unsigned)st.st_mode & 07777U, (unsigned)st.st_uid,
                              (unsigned)st.st_gid);
            return;
        }
    }
}

static bool report_rights(struct cfr_doctor *d, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        report_path(d, path, errno);
        return false;
    }
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "volume.rights", REMEDY_RIGHTS,
                          "uid %u gid %u may not read %s (mode %04o, owner %u:%u)", (unsigned)geteuid(),
                          (unsigned)getegid(), path, (unsigned)st.st_mode & 07777U, (unsigned)st.st_uid,
                          (unsigned)st.st_gid);
        return false;
    }
    cfr_doctor_report(d, CFR_FINDING_OK, "volume.rights", NULL, "%s can be read (mode %04o, owner %u:%u)", path,
                      (unsigned)st.st_mode & 07777U, (unsigned)st.st_uid, (unsigned)st.st_gid);
    return true;
}

/* True if it is a part of a volume, which never changes. */
static bool report_mount(struct cfr_doctor *d, const char *path)
{
    struct cfr_doctor_mount m;
    char real[4096];
    bool known = cfr_doctor_mount_of(path, &m, real);
    bool self = cfr_file_is_mount(path) || (known && strcmp(real, m.point) == 0);

    if (!self && !(known && cfr_doctor_mount_is_part(&m)))
        return false;
    if (!known || !cfr_doctor_mount_is_part(&m))
        cfr_doctor_report(d, CFR_FINDING_WARNING, "volume.subpath",
                          "mount the directory that it is in; or have it written in place, not replaced",
                          "%s is a separate mount point: replacing the file has no effect here, and its token expires",
                          path);
    else
        cfr_doctor_report(d, cfr_doctor_later(d), "volume.subpath", REMEDY_PART,
                          "%s is a subPath mount (of %s), which never changes: its token expires", path, m.root);
    return true;
}

/* When `..data` was swapped last; false if there is none. */
static bool report_layout(struct cfr_doctor *d, const char *path)
{
    char dir[PATH_MAX];
    char link[PATH_MAX];
    char target[256];
    char words[CFR_TIME_WORDS_MAX];
    struct stat st;
    ssize_t n;

    (void)snprintf(dir, sizeof dir, "%s", path);
    if ((size_t)snprintf(link, sizeof link, "%s/..data", dirname(dir)) >= sizeof link)
        return false;
    n = readlink(link, target, sizeof target - 1);
    if (n < 0) {
        cfr_doctor_report(
            d, CFR_FINDING_NOTE, "volume.layout", NULL,
            "%s has no ..data next to it: it is not in a volume of the kubelet, so another program must renew it",
            path);
        return false;
    }
    target[n] = '\0';
    if (lstat(link, &st) == 0)
        cfr_doctor_report(d, CFR_FINDING_OK, "volume.layout", NULL, "a volume of the kubelet, last changed %s ago (%s)",
                          cfr_time_words(cfr_clock_now().wall_ms - (int64_t)st.st_mtim.tv_sec * 1000, words), target);
    return true;
}

static void report_age(struct cfr_doctor *d, const struct cfr_doctor_case *c, bool kubelet)
{
    int64_t due_ms = cfr_source_token_file_overdue_ms(c->claims.iat, cfr_claims_expires(&c->claims));
    int64_t late_ms = cfr_clock_now().wall_ms - due_ms;
    char words[CFR_TIME_WORDS_MAX];

    if (c->claims.iat == 0 || c->claims.exp == 0)
        return;
    if (late_ms >= 0)
        cfr_doctor_report(
            d, CFR_FINDING_WARNING, "volume.age",
            kubelet ? "look at the kubelet of this node (its journal, its way to the API server) and at the "
                      "pod's "
                      "events; a pod that is being deleted gets no new token"
                    : "look at what writes the file",
            "the token should have been replaced when 80 %% of its lifetime had passed, %s ago, and was not",
            cfr_time_words(late_ms, words));
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "volume.age", NULL,
                          "the token is to be replaced after 80 %% of its lifetime, within %s",
                          cfr_time_words(-late_ms, words));
}

void cfr_doctor_volume(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const char *path = cfr_doctor_token_path(c);
    bool kubelet;

    if (path == NULL)
        return;
    cfr_doctor_at(d, c->name, c->token != NULL ? c->token->node.line : c->line);
    if (!report_rights(d, path))
        return;
    kubelet = !report_mount(d, path) && report_layout(d, path);
    if (c->has_claims)
        report_age(d, c, kubelet);
}
