/* SPDX-License-Identifier: MIT */
/* The entries of a directory of generations. */
#include "files/layout_private.h"

#include "base/time.h"
#include "files/file_private.h"
#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAMP_PATTERN "..dddd_dd_dd_dd_dd_dd."
#define STAMP_LEN     (sizeof STAMP_PATTERN - 1)
#define LINK_PREFIX   CFR_GENERATION_DATA "/"

/* False if NAME is not a name that cfr_layout_name writes. */
static bool parse_name(const char *name, struct cfr_layout *out)
{
    char canonical[24];
    uint64_t number = 0;

    if (strnlen(name, CFR_LAYOUT_NAME_MAX) >= CFR_LAYOUT_NAME_MAX || strlen(name) <= STAMP_LEN)
        return false;
    for (size_t i = 0; i < STAMP_LEN; i++) {
        bool digit = name[i] >= '0' && name[i] <= '9';

        if (STAMP_PATTERN[i] == 'd' ? !digit : name[i] != STAMP_PATTERN[i])
            return false;
    }
    for (const char *p = name + STAMP_LEN; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, (unsigned)(*p - '0'), &number))
            return false;
    }
    (void)snprintf(canonical, sizeof canonical, "%09" PRIu64, number);
    if (strcmp(canonical, name + STAMP_LEN) != 0)
        return false;
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    out->number = number;
    return true;
}

void cfr_layout_name(uint64_t number, int64_t now_s, struct cfr_layout *out)
{
    char stamp[CFR_TIME_RFC3339_MAX];

    (void)cfr_time_format(now_s, stamp);
    stamp[19] = '\0';
    for (char *p = stamp; *p != '\0'; p++) {
        if (*p == '-' || *p == ':' || *p == 'T')
            *p = '_';
    }
    (void)snprintf(out->name, sizeof out->name, "..%s.%09" PRIu64, stamp, number);
    out->number = number;
}

/* False if there is no directory ONE. */
static bool find_owner(int dir_fd, struct cfr_layout *one)
{
    struct stat st;

    if (fstatat(dir_fd, one->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
        return false;
    one->uid = st.st_uid;
    return true;
}

int cfr_layout_current(int dir_fd, struct cfr_layout *out, struct cfr_err *err)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, CFR_GENERATION_DATA, target, sizeof target - 1);

    *out = (struct cfr_layout){0};
    if (n < 0 && errno == ENOENT)
        return 0;
    if (n < 0 && errno == EINVAL)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "%s is not a symbolic link, so it is not credfresh's: remove it or "
                           "publish to another directory",
                           CFR_GENERATION_DATA);
    if (n < 0)
        return cfr_err_sys(err, errno, "cannot read the link %s", CFR_GENERATION_DATA);
    target[n] = '\0';
    if (!parse_name(target, out))
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "%s leads to %.80s, which credfresh did not make: remove it or publish "
                           "to another directory",
                           CFR_GENERATION_DATA, target);
    if (!find_owner(dir_fd, out))
        *out = (struct cfr_layout){0};
    return 0;
}

struct previous {
    const struct cfr_layout *current;
    struct cfr_layout *best;
};

static int find_previous(void *ctx, int dir_fd, const char *name)
{
    struct previous *p = ctx;
    struct cfr_layout one;

    if (parse_name(name, &one) && one.number < p->current->number &&
        (p->best->name[0] == '\0' || one.number > p->best->number) && find_owner(dir_fd, &one) &&
        (one.uid == p->current->uid || one.uid == 0 || one.uid == geteuid()))
        *p->best = one;
    return 0;
}

int cfr_layout_previous(int dir_fd, const struct cfr_layout *current, struct cfr_layout *out, struct cfr_err *err)
{
    struct previous p = {current, out};

    *out = (struct cfr_layout){0};
    return cfr_path_each(dir_fd, find_previous, &p, err);
}

struct sweep {
    const struct cfr_generation *set; /* NULL: none */
    const struct cfr_layout *keep;
    const struct cfr_layout *keep_too;
    int rc;
    struct cfr_err *err;
    struct cfr_file_budget budget;
};

static int wipe_entry(void *ctx, int dir_fd, const char *name)
{
    struct sweep *s = ctx;
    int rc = cfr_file_wipe_within(dir_fd, name, &s->budget, s->rc == 0 ? s->err : NULL);

    s->rc = s->rc != 0 ? s->rc : rc;
    return s->budget.entries == 0;
}

/* Wipes generation NAME. */
static void wipe_one(struct sweep *s, int dir_fd, const char *name)
{
    struct cfr_err *err = s->rc == 0 ? s->err : NULL;
    int fd = cfr_path_openat(dir_fd, name, O_RDONLY | O_DIRECTORY, 0, err);
    struct stat st;
    int rc;

    if (fd < 0) {
        s->rc = s->rc != 0 || fd == CFR_E_MISSING ? s->rc : fd;
        return;
    }
    /* Only the owner needs this; if it fails, the next call reports why. */
    if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700);
    rc = cfr_path_each(fd, wipe_entry, s, err);
    (void)close(fd);
    if (s->budget.entries == 0)
        return;
    s->budget.entries--;
    s->rc = s->rc == 0 && rc < 0 ? rc : s->rc;
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT && s->rc == 0)
        s->rc = cfr_err_sys(s->err, errno, "cannot remove the generation %s", name);
}

int cfr_layout_wipe(int dir_fd, const char *name, struct cfr_err *err)
{
    struct sweep s = {.err = err, .budget = CFR_FILE_BUDGET};

    wipe_one(&s, dir_fd, name);
    return s.rc;
}

static int wipe_other(void *ctx, int dir_fd, const char *name)
{
    struct sweep *s = ctx;
    struct cfr_layout one;

    if (parse_name(name, &one) && strcmp(name, s->keep->name) != 0 && strcmp(name, s->keep_too->name) != 0 &&
        find_owner(dir_fd, &one))
        wipe_one(s, dir_fd, name);
    return s->budget.entries == 0;
}

int cfr_layout_wipe_others(int dir_fd, const struct cfr_layout *keep, const struct cfr_layout *keep_too,
                           struct cfr_err *err)
{
    struct sweep s = {.keep = keep, .keep_too = keep_too, .err = err, .budget = CFR_FILE_BUDGET};
    int rc = cfr_path_each(dir_fd, wipe_other, &s, err);

    return rc < 0 ? rc : s.rc;
}

bool cfr_layout_is_link(int dir_fd, const char *name)
{
    char target[sizeof LINK_PREFIX + CFR_PATH_NAME_MAX + 1];
    ssize_t n = readlinkat(dir_fd, name, target, sizeof target);
    size_t prefix = sizeof LINK_PREFIX - 1;

    return n >= 0 && (size_t)n == prefix + strlen(name) && memcmp(target, LINK_PREFIX, prefix) == 0 &&
           memcmp(target + prefix, name, strlen(name)) == 0;
}

static int tidy_entry(void *ctx, int dir_fd, const char *name)
{
    struct sweep *s = ctx;
    struct stat st;

    if (strncmp(name, "..", 2) == 0)
        return wipe_other(ctx, dir_fd, name);
    for (size_t i = 0; s->set != NULL && i < s->set->file_count; i++) {
        if (strcmp(name, s->set->files[i].name) == 0)
            return 0;
    }
    if (!cfr_layout_is_link(dir_fd, name) || fstatat(dir_fd, name, &st, 0) == 0 || errno != ENOENT)
        return 0;
    if (unlinkat(dir_fd, name, 0) != 0 && errno != ENOENT && s->rc == 0)
        s->rc = cfr_err_sys(s->err, errno, "cannot remove the stale link %s", name);
    return 0;
}

int cfr_layout_tidy(int dir_fd, const struct cfr_layout *keep, const struct cfr_layout *keep_too,
                    const struct cfr_generation *set, struct cfr_err *err)
{
    struct sweep s = {.set = set, .keep = keep, .keep_too = keep_too, .err = err, .budget = CFR_FILE_BUDGET};
    int rc = cfr_path_each(dir_fd, tidy_entry, &s, err);

    return rc < 0 ? rc : s.rc;
}

int cfr_layout_remove_tmp(int dir_fd, struct cfr_err *err)
{
    struct stat st;

    if (fstatat(dir_fd, CFR_LAYOUT_DATA_TMP, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : cfr_err_sys(err, errno, "cannot read the status of %s", CFR_LAYOUT_DATA_TMP);
    if (!S_ISLNK(st.st_mode))
        return cfr_err_set(err, CFR_E_CONFLICT, "%s is not a symbolic link, so it is not credfresh's: remove it",
                           CFR_LAYOUT_DATA_TMP);
    if (unlinkat(dir_fd, CFR_LAYOUT_DATA_TMP, 0) != 0 && errno != ENOENT)
        return cfr_err_sys(err, errno, "cannot remove %s", CFR_LAYOUT_DATA_TMP);
    return 0;
}
