/* SPDX-License-Identifier: MIT */
/* Check of what the targets need: file system, rights, owners, and the generation that is published there. */
#include "agent/doctor/doctor_private.h"

#include "agent/doctor/mountinfo_private.h"
#include "agent/loop/unit.h"
#include "agent/publish/targets.h"
#include "files/generation.h"
#include "files/path.h"
#include "files/single.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CAP_CHOWN_BIT 0
#define SPACE_LEAST   (INT64_C(256) * 1024) /* two generations of what a credential usually has */
#define INODES_LEAST  32
#define GROUPS_MAX    256

static bool in_memory(const char *type)
{
    return strcmp(type, "tmpfs") == 0 || strcmp(type, "ramfs") == 0;
}

/* A file system in which the kernel shows itself. */
static bool is_pseudo(const char *type)
{
    static const char *const types[] = {"proc",      "sysfs",      "cgroup",  "cgroup2",    "devpts", "debugfs",
                                        "tracefs",   "securityfs", "bpf",     "configfs",   "pstore", "efivarfs",
                                        "selinuxfs", "mqueue",     "fusectl", "binfmt_misc"};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i]) == 0)
            return true;
    }
    return false;
}

/* Room and kind of the file system that DIR lies on. */
static void report_file_system(struct cfr_doctor *d, const char *dir)
{
    struct cfr_doctor_mount m = {.type = "an unknown file system", .options = "/proc is missing"};
    char drop_in[CFR_UNIT_ADVICE_MAX];
    struct statvfs v;
    int64_t room;
    bool known;

    known = cfr_doctor_mount_of(dir, &m, NULL);
    if (statvfs(dir, &v) != 0) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.filesystem", NULL, "%s: cannot look at its file system: %s",
                          dir, strerror(errno));
        return;
    }
    if (known && is_pseudo(m.type)) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.filesystem", "publish below /run, or into a volume",
                          "%s is on %s, which is not a real file system", dir, m.type);
        return;
    }
    room = (int64_t)v.f_bavail * (int64_t)v.f_frsize;
    if ((v.f_flag & ST_RDONLY) != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.read-only",
                          "mount a volume there that can be written (in a pod: a memory emptyDir, without readOnly)",
                          "%s lies on a read-only file system (%s, %s)%s", dir, m.type, m.options,
                          cfr_unit_drop_in(drop_in, "directories.conf", "ReadWritePaths=%s", dir));
    else if (v.f_blocks != 0 && room < SPACE_LEAST)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.space", "make room, or give the volume a larger limit",
                          "%s: %lld KiB are left on its file system (%s), which is not enough for two generations", dir,
                          (long long)(room / 1024), m.type);
    else if (v.f_files != 0 && v.f_favail < INODES_LEAST)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.inodes", "remove files, or give the volume more inodes",
                          "%s: %llu inodes are left on its file system (%s)", dir, (unsigned long long)v.f_favail,
                          m.type);
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "publish.filesystem", NULL, "%s lies on %s (%s), %lld MiB are left", dir,
                          m.type, m.options, (long long)(room / 1048576));
    if (known && !in_memory(m.type))
        cfr_doctor_report(d, CFR_FINDING_NOTE, "publish.on-disk",
                          "to keep credentials off the disk use tmpfs: below /run, or an emptyDir with medium: Memory",
                          "%s is on %s: secrets published there are written to a disk", dir, m.type);
}

/* DIR is the nearest that is there, or PATH itself: a file that is written in place. */
static void report_rights(struct cfr_doctor *d, const char *path, const char *dir)
{
    char drop_in[CFR_UNIT_ADVICE_MAX];
    struct stat st = {0};
    bool file = stat(dir, &st) == 0 && !S_ISDIR(st.st_mode);

    if (faccessat(AT_FDCWD, dir, file ? W_OK : W_OK | X_OK, AT_EACCESS) == 0) {
        cfr_doctor_report(d, CFR_FINDING_OK, "publish.rights", NULL, "%s can be written%s", path,
                          strcmp(path, dir) == 0 ? "" : " (it is still to be made)");
        return;
    }
    if (errno == EROFS)
        return; /* reported with the file system */
    cfr_doctor_report(
        d, CFR_FINDING_WRONG, "publish.rights",
        "give the directory to credfresh's user or group (systemd: RuntimeDirectory=; in a pod: "
        "securityContext.fsGroup)",
        "%s: cannot write in %s: %s (uid %u gid %u may not write there: mode %04o, owner %u:%u)%s", path, dir,
        strerror(errno), (unsigned)geteuid(), (unsigned)getegid(), (unsigned)st.st_mode & 07777U, (unsigned)st.st_uid,
        (unsigned)st.st_gid,
        cfr_unit_drop_in(
            drop_in, "users.conf",
            "User=root and its capabilities (see the example), unless you give the directory to the unit's user,"));
}

static bool in_group(gid_t gid)
{
    gid_t groups[GROUPS_MAX];
    int n = getgroups(GROUPS_MAX, groups);

    for (int i = 0; i < n; i++) {
        if (groups[i] == gid)
            return true;
    }
    return getegid() == gid;
}

static void report_owner(struct cfr_doctor *d, const char *owner, const char *group)
{
    bool may = cfr_doctor_capable(CAP_CHOWN_BIT);
    char drop_in[CFR_UNIT_ADVICE_MAX];
    struct cfr_err err = {0};
    uid_t uid = 0;
    gid_t gid = 0;

    if (owner != NULL && cfr_path_uid(owner, &uid, &err) != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.owner", NULL, "owner: %s", err.text);
    else if (owner != NULL && uid != geteuid() && !may)
        cfr_doctor_report(
            d, cfr_doctor_later(d), "publish.owner",
            "run credfresh as that user, leave `owner` out and use `group`, or give it CAP_CHOWN",
            "owner %s (uid %u): uid %u without CAP_CHOWN cannot give files away%s", owner, (unsigned)uid,
            (unsigned)geteuid(),
            cfr_unit_drop_in(
                drop_in, "owners.conf",
                "AmbientCapabilities=CAP_CHOWN CAP_FOWNER and CapabilityBoundingSet=CAP_CHOWN CAP_FOWNER"));
    if (group != NULL && cfr_path_gid(group, &gid, &err) != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.group", NULL, "group: %s", err.text);
    else if (group != NULL && !may && !in_group(gid))
        cfr_doctor_report(d, cfr_doctor_later(d), "publish.group",
                          "put credfresh's user into that group (systemd: SupplementaryGroups=; in a pod: "
                          "supplementalGroups or "
                          "fsGroup), or give it CAP_CHOWN",
                          "group %s (gid %u): uid %u is not in it and has no CAP_CHOWN%s", group, (unsigned)gid,
                          (unsigned)geteuid(),
                          cfr_unit_drop_in(drop_in, "groups.conf", "SupplementaryGroups=%s", group));
}

static void report_directory(struct cfr_doctor *d, const char *path)
{
    char dir[PATH_MAX];
    struct stat st;

    cfr_doctor_nearest(path, dir);
    if (stat(dir, &st) != 0) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.rights", NULL, "%s: cannot write in %s: %s", path, dir,
                          strerror(errno));
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.rights", "remove it, or publish elsewhere",
                          "%s cannot be written: %s is not a directory", path, dir);
        return;
    }
    report_file_system(d, dir);
    report_rights(d, path, dir);
}

static void report_parent(struct cfr_doctor *d, const char *path)
{
    char copy[PATH_MAX];

    (void)snprintf(copy, sizeof copy, "%s", path);
    report_directory(d, dirname(copy));
}

/* The published directory must belong to credfresh. */
static void report_generation(struct cfr_doctor *d, const char *directory)
{
    const struct cfr_generation_expected any = {.names = NULL};
    struct cfr_generation_state state;
    struct cfr_err err = {0};

    if (cfr_generation_look(directory, &any, &state, &err) == CFR_E_CONFLICT)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.foreign", "publish into a separate directory", "%s", err.text);
    else if (state.number != 0)
        cfr_doctor_report(d, CFR_FINDING_OK, "publish.generation", NULL, "%s holds generation %llu", directory,
                          (unsigned long long)state.number);
}

static void check_owner(void *ctx, const char *owner, const char *group)
{
    report_owner(ctx, owner, group);
}

static void check_directory(void *ctx, const char *path)
{
    if (cfr_doctor_check_link(ctx, "publish.link", "", path))
        return;
    report_directory(ctx, path);
    report_generation(ctx, path);
}

static void check_file(void *ctx, const char *path, bool in_place)
{
    struct cfr_doctor *d = ctx;
    bool mount = cfr_file_is_mount(path);
    struct cfr_err err = {0};

    if (mount && in_place) {
        report_file_system(d, path);
        report_rights(d, path, path);
    } else {
        report_parent(d, path);
    }
    if (!mount && cfr_single_check(path, &err) == CFR_E_PATH)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.foreign", "publish to a separate path", "%s", err.text);
    if (mount && !in_place)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.mount", "mount its directory, or set in_place: true",
                          "%s is a mount point and cannot be replaced by rename", path);
}

static void check_parent(void *ctx, const char *path)
{
    (void)cfr_doctor_check_link(ctx, "publish.link", "", path);
    report_parent(ctx, path);
}

static void check_cluster(void *ctx, const struct cfr_kube_where *where)
{
    cfr_doctor_cluster(ctx, where);
}

/* The names of the files of the directory T, as far as another program has taken them. */
static void report_taken(struct cfr_doctor *d, const struct cfr_doctor_case *one, const struct cfr_config_publish *t)
{
    for (size_t i = 0; t->directory != NULL && i < t->files.count; i++) {
        const struct cfr_config_file *f = (const struct cfr_config_file *)t->files.items + i;
        struct cfr_err err = {0};

        cfr_doctor_at(d, one->name, f->node.line);
        if (f->name != NULL && cfr_generation_check_name(t->directory, f->name, &err) == CFR_E_CONFLICT)
            cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.foreign", "publish into a separate directory", "%s",
                              err.text);
    }
}

static void check_loss(void *ctx, const char *text)
{
    cfr_doctor_report(ctx, CFR_FINDING_WARNING, "publish.loss", NULL, "%s", text);
}

static void check_secret_file(void *ctx, const char *path, mode_t mode)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IRWXO & ~mode) != 0)
        cfr_doctor_report(ctx, CFR_FINDING_WARNING, "publish.readable",
                          "remove the permission, or write the intended `mode`",
                          "%s can be read by other users (mode %04o); it gets mode %04o when it is published", path,
                          (unsigned)st.st_mode & 07777U, (unsigned)(st.st_mode & mode) & 07777U);
}

void cfr_doctor_targets(struct cfr_doctor *d, struct cfr_doctor_case *one)
{
    const struct cfr_config_credential *c = one->credential;
    const struct cfr_publish_inspection looks = {
        d, check_owner, check_directory, check_file, check_parent, check_cluster, check_secret_file, check_loss};

    for (size_t i = 0; i < c->publish.count; i++) {
        cfr_doctor_at(d, c->name, ((const struct cfr_config_publish *)c->publish.items)[i].node.line);
        cfr_publish_inspect(c, i, &looks);
        report_taken(d, one, (const struct cfr_config_publish *)c->publish.items + i);
    }
}
