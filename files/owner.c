/* SPDX-License-Identifier: MIT */
/* Lookup of users and groups by name or number. */
#include "files/path.h"

#include "base/view.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

#define ID_MAX     INT64_C(4294967294) /* the one above means "leave it" to chown(2) */
#define NAME_BYTES 256
#define LINE_BYTES 16384 /* a group's line holds all its members */

static bool parse_id(const char *text, int64_t *id)
{
    struct cfr_view v = cfr_view_of(text);

    return v.n != 0 && v.p[0] != '+' && cfr_view_int(v, id) && *id >= 0 && *id <= ID_MAX;
}

int cfr_path_uid(const char *owner, uid_t *uid, struct cfr_err *err)
{
    char buf[LINE_BYTES];
    struct passwd entry;
    struct passwd *found = NULL;
    int64_t id;
    FILE *f;

    if (parse_id(owner, &id)) {
        *uid = (uid_t)id;
        return 0;
    }
    f = fopen("/etc/passwd", "re");
    if (f == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "cannot look up the user \"%s\", because /etc/passwd cannot be read: "
                           "write the user's number",
                           owner);
    while (fgetpwent_r(f, &entry, buf, sizeof buf, &found) == 0 && strcmp(entry.pw_name, owner) != 0)
        found = NULL;
    (void)fclose(f);
    if (found == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "there is no user \"%s\" in /etc/passwd: write a name from there or a "
                           "number",
                           owner);
    *uid = found->pw_uid;
    return 0;
}

int cfr_path_gid(const char *group, gid_t *gid, struct cfr_err *err)
{
    char buf[LINE_BYTES];
    struct group entry;
    struct group *found = NULL;
    int64_t id;
    FILE *f;

    if (parse_id(group, &id)) {
        *gid = (gid_t)id;
        return 0;
    }
    f = fopen("/etc/group", "re");
    if (f == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "cannot look up the group \"%s\", because /etc/group cannot be read: "
                           "write the group's number",
                           group);
    while (fgetgrent_r(f, &entry, buf, sizeof buf, &found) == 0 && strcmp(entry.gr_name, group) != 0)
        found = NULL;
    (void)fclose(f);
    if (found == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "there is no group \"%s\" in /etc/group: write a name from there or a "
                           "number",
                           group);
    *gid = found->gr_gid;
    return 0;
}

static bool find_user(uid_t uid, char name[NAME_BYTES], gid_t *gid)
{
    char buf[LINE_BYTES];
    struct passwd entry;
    struct passwd *found = NULL;
    FILE *f = fopen("/etc/passwd", "re");

    if (f == NULL)
        return false;
    while (fgetpwent_r(f, &entry, buf, sizeof buf, &found) == 0 && entry.pw_uid != uid)
        found = NULL;
    if (found != NULL) {
        (void)snprintf(name, NAME_BYTES, "%s", found->pw_name);
        *gid = found->pw_gid;
    }
    (void)fclose(f);
    return found != NULL;
}

size_t cfr_path_groups(uid_t uid, gid_t *primary, gid_t *groups, size_t most)
{
    char name[NAME_BYTES];
    char buf[LINE_BYTES];
    struct group entry;
    struct group *found = NULL;
    size_t count = 0;
    FILE *f = find_user(uid, name, primary) ? fopen("/etc/group", "re") : NULL;

    while (f != NULL && count < most && fgetgrent_r(f, &entry, buf, sizeof buf, &found) == 0) {
        for (char **member = entry.gr_mem; *member != NULL && count < most; member++) {
            if (strcmp(*member, name) == 0) {
                groups[count++] = entry.gr_gid;
                break;
            }
        }
    }
    if (f != NULL)
        (void)fclose(f);
    return count;
}
