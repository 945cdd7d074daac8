/* SPDX-License-Identifier: MIT */
/* Agent's sandbox: gives up what the configuration does not need. */
#include "agent/daemon/confine_private.h"

#include "agent/daemon/needs_private.h"
#include "agent/loop/launcher.h"
#include "agent/loop/sandbox.h"
#include "agent/loop/slow_write.h"
#include "base/log.h"
#include "base/str.h"
#include "files/path.h"
#include "files/route.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAKE_MS    500 /* that nothing could be made in */
#define MAKE_LOOKS 100

static const char *const names[CFR_PARTS] = {"no_new_privs", "capabilities", "seccomp", "landlock", "landlock_read"};

/* ---- giving up ---- */

/* NAME: a path in the directory to make. */
static int make_parents(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *err)
{
    const char *last;
    int fd = cfr_path_open_parent(name, true, &last, err);

    (void)dir_fd;
    (void)content;
    if (fd < 0)
        return fd;
    (void)close(fd);
    return 0;
}

/* Makes DIRECTORY, as a publish would, below NEAREST. A disk that is frozen is not waited for. */
static int make_directory(struct cfr_daemon_directories *all, const char *directory, const char *nearest,
                          struct cfr_err *err)
{
    const struct timespec pause = {.tv_nsec = MAKE_MS * 1000000 / MAKE_LOOKS};
    struct cfr_slow_write write = {.next = NULL};
    char inside[PATH_MAX + 2];
    const char *name;
    int rc;
    int fd;

    (void)snprintf(inside, sizeof inside, "%s/x", nearest[1] != '\0' ? nearest : "");
    fd = cfr_path_open_parent(inside, false, &name, err);
    if (fd < 0)
        return fd;
    (void)snprintf(inside, sizeof inside, "%s/x", directory);
    rc = cfr_slow_write(&write, fd, make_parents, inside, (struct cfr_view){NULL, 0}, err);
    while (rc == CFR_SLOW_WRITE_UNDER_WAY && all->make_looks++ < MAKE_LOOKS) {
        (void)nanosleep(&pause, NULL);
        rc = cfr_slow_write(&write, fd, make_parents, inside, (struct cfr_view){NULL, 0}, err);
    }
    if (rc == 0)
        all->make_looks = 0;
    cfr_slow_write_close(&write);
    (void)close(fd);
    return rc == CFR_SLOW_WRITE_UNDER_WAY ? cfr_err_set(err, CFR_E_TIMEOUT, "the file system does not answer") : rc;
}

static bool is_given(const struct cfr_daemon_directories *all, const char *directory)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->items[i], directory) == 0)
            return true;
    }
    return false;
}

static void give(struct cfr_daemon_directories *all, const char *directory)
{
    char **more;

    if (is_given(all, directory))
        return;
    more = realloc(all->items, (all->count + 1) * sizeof *more);
    if (more == NULL)
        return;
    all->items = more;
    all->items[all->count] = strdup(directory);
    all->count += all->items[all->count] != NULL;
}

static void note_in_root(struct cfr_daemon_directories *all, const char *path)
{
    if (all->in_root[0] == '\0')
        (void)snprintf(all->in_root, sizeof all->in_root, "%s", path);
}

/* What does not exist yet is made, because nothing narrower than the nearest directory that does could be allowed.
 * Where a publish makes it with another user's rights, that directory is this user's, or below one. */
static void give_written(void *ctx, const char *directory, const char *path)
{
    struct cfr_daemon_directories *all = ctx;
    struct cfr_err err = {0};
    struct cfr_route route;
    char nearest[PATH_MAX];
    int rc = CFR_E_PATH;

    (void)path;
    if (!cfr_daemon_known_add(&all->seen, directory))
        return;
    (void)snprintf(nearest, sizeof nearest, "%s", directory);
    cfr_sandbox_nearest(nearest);
    cfr_route_find(directory, true, false, &route);
    if (strcmp(nearest, directory) != 0 && route.storage != CFR_ROUTE_REMOTE && !route.blocked &&
        (!route.foreign || geteuid() != 0)) {
        rc = make_directory(all, directory, nearest, &err);
        if (rc == 0)
            (void)snprintf(nearest, sizeof nearest, "%s", directory);
        else
            cfr_log(CFR_LOG_WARN, NULL, NULL, "cannot make %s: %s%s", directory, err.text,
                    nearest[1] == '\0' ? "; make it, and restart the agent, which may not make it later (landlock)"
                                       : "");
    }
    if (nearest[1] != '\0')
        give(all, nearest);
    else if (rc == CFR_E_PATH)
        note_in_root(all, directory);
}

static void give_read(void *ctx, const char *directory, const char *path)
{
    struct cfr_daemon_directories *all = ctx;
    char nearest[PATH_MAX];

    if (path != NULL && !cfr_daemon_known_add(&all->seen, directory))
        return;
    (void)snprintf(nearest, sizeof nearest, "%s", directory);
    /* /proc does not count as a file system that answers. */
    if (path != NULL)
        cfr_sandbox_nearest(nearest);
    if (nearest[1] != '\0')
        give(all, nearest);
    else
        note_in_root(all, path);
}

static int confine_files(const struct cfr_daemon_directories *all, enum cfr_sandbox_access access, struct cfr_err *err)
{
    if (all->in_root[0] != '\0')
        return cfr_err_set(err, CFR_E_PATH,
                           "it would allow to %s everywhere, for %s: use paths that are not directly in /, in "
                           "directories that exist at the start",
                           access == CFR_SANDBOX_READ ? "read" : "write", all->in_root);
    return cfr_sandbox_landlock(access, (const char *const *)all->items, all->count, err);
}

/* The service manager's socket may be an abstract one. What the configuration runs is outside, because the process that
 * starts it is; with the capability to signal it, a reload that would run something is refused, too. */
static int confine_scope(const struct cfr_daemon_sandbox *s, struct cfr_err *err)
{
    const char *notify = getenv("NOTIFY_SOCKET");
    bool gave_up = (s->had & ~s->kept & (UINT64_C(1) << CAP_KILL)) != 0;

    return cfr_sandbox_scope(notify == NULL || notify[0] != '@', gave_up, err);
}

static int confine_part(struct cfr_daemon_sandbox *s, enum cfr_daemon_part part, const struct cfr_config *config,
                        const char *config_path, struct cfr_err *err)
{
    int rc;

    switch (part) {
    case CFR_PART_NO_NEW_PRIVS:
        cfr_launcher_keep_privileges();
        return cfr_sandbox_no_new_privs(err);
    case CFR_PART_CAPABILITIES:
        s->kept = cfr_daemon_needs_capabilities(config, NULL) & s->had;
        return cfr_sandbox_capabilities(s->kept, err);
    case CFR_PART_SECCOMP:
        return cfr_sandbox_seccomp(err);
    case CFR_PART_LANDLOCK:
        cfr_daemon_needs_written(config, give_written, &s->written);
        cfr_daemon_known_free(&s->written.seen);
        rc = confine_files(&s->written, CFR_SANDBOX_WRITE, err);
        return rc != 0 ? rc : confine_scope(s, err);
    default:
        for (size_t i = 0; s->parts[CFR_PART_LANDLOCK].on && i < s->written.count; i++)
            give(&s->read, s->written.items[i]);
        if (!s->parts[CFR_PART_LANDLOCK].on)
            cfr_daemon_needs_written(config, give_read, &s->read);
        cfr_daemon_needs_read(config, give_read, &s->read);
        cfr_daemon_needs_read_at_start(config, config_path, give_read, &s->read);
        cfr_daemon_known_free(&s->read.seen);
        return confine_files(&s->read, CFR_SANDBOX_READ, err);
    }
}

static bool is_wanted(const struct cfr_config *config, enum cfr_daemon_part part)
{
    const struct cfr_config_sandbox *c = config->sandbox;

    if (c == NULL)
        return true;
    return part == CFR_PART_NO_NEW_PRIVS   ? c->no_new_privs
           : part == CFR_PART_CAPABILITIES ? c->capabilities
           : part == CFR_PART_SECCOMP      ? c->seccomp
           : part == CFR_PART_LANDLOCK     ? c->landlock
                                           : c->landlock_read;
}

void cfr_daemon_confine(struct cfr_daemon_sandbox *s, const struct cfr_config *config, const char *config_path,
                        struct cfr_str *summary)
{
    /* Directories that are missing are made first. Seccomp comes last: it takes the calls that the others need. */
    static const enum cfr_daemon_part order[CFR_PARTS] = {CFR_PART_NO_NEW_PRIVS, CFR_PART_CAPABILITIES,
                                                          CFR_PART_LANDLOCK, CFR_PART_LANDLOCK_READ, CFR_PART_SECCOMP};
    struct cfr_str on = {.limit = 256};
    struct cfr_str off = {.limit = 2048};

    s->had = cfr_sandbox_capabilities_now();
    s->kept = s->had;
    for (size_t i = 0; i < CFR_PARTS; i++) {
        enum cfr_daemon_part part = order[i];
        struct cfr_api_status_sandbox *out = &s->parts[part];

        out->part = names[part];
        if (!is_wanted(config, part))
            (void)cfr_err_set(&s->why[part], CFR_E_CONFIG, "turned off in the configuration");
        else
            out->on = confine_part(s, part, config, config_path, &s->why[part]) == 0;
        out->why = out->on ? NULL : s->why[part].text;
        if (out->on)
            cfr_str_addf(&on, "%s%s", on.len != 0 ? ", " : "", names[part]);
        else
            cfr_str_addf(&off, "%s%s (%s)", off.len != 0 ? ", " : "; without ", names[part], out->why);
    }
    cfr_str_addf(summary, "sandbox: %s%s", on.len != 0 ? on.p : "none", off.len != 0 ? off.p : "");
    cfr_str_free(&on);
    cfr_str_free(&off);
}

static void free_directories(struct cfr_daemon_directories *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i]);
    free(all->items);
}

void cfr_daemon_confine_free(struct cfr_daemon_sandbox *s)
{
    free_directories(&s->written);
    free_directories(&s->read);
}

/* ---- a new configuration ---- */

typedef void needs_fn(const struct cfr_config *c, cfr_daemon_directory_fn *each, void *ctx);

struct check {
    enum cfr_sandbox_access access;
    needs_fn *needs;
    struct cfr_daemon_known known;
    struct cfr_err *err;
    int rc;
};

static void note_directory(void *ctx, const char *directory, const char *path)
{
    (void)path;
    (void)cfr_daemon_known_add(ctx, directory);
}

static void check_directory(void *ctx, const char *directory, const char *path)
{
    struct check *check = ctx;
    const char *verb = check->access == CFR_SANDBOX_READ ? "read" : "write to";
    const char *key = cfr_sandbox_landlock_key(check->access);
    bool lost;

    /* One that is in use already is no reason to refuse: a consumer could hold up every reload by its directory. */
    if (check->rc != 0 || cfr_daemon_known_has(&check->known, directory))
        return;
    lost = cfr_sandbox_has_lost(check->access, directory);
    if (!lost && cfr_sandbox_allows(check->access, directory))
        return;
    if (lost)
        check->rc = cfr_err_set(check->err, CFR_E_CONFIG,
                                "%s, or a directory above, was removed or made again since the agent started, and its "
                                "sandbox (%s) lets it %s the old one only: restart it",
                                directory, key, verb);
    else
        check->rc = cfr_err_set(check->err, CFR_E_CONFIG,
                                "%s is outside of the directories that the agent may %s since its start: restart "
                                "it (or run it with sandbox.%s: false)",
                                check->access == CFR_SANDBOX_READ ? path : directory, verb, key);
}

static int check_files(const struct cfr_daemon_sandbox *s, enum cfr_daemon_part part, struct check check,
                       const struct cfr_config *now, const struct cfr_config *next)
{
    if (!s->parts[part].on)
        return 0;
    check.needs(now, note_directory, &check.known);
    check.needs(next, check_directory, &check);
    cfr_daemon_known_free(&check.known);
    return check.rc;
}

int cfr_daemon_confine_check(const struct cfr_daemon_sandbox *s, const struct cfr_config *now,
                             const struct cfr_config *next, struct cfr_err *err)
{
    /* Looking at each path takes its time. */
    uint64_t missing = s->had != s->kept ? cfr_daemon_needs_capabilities(next, now) & s->had & ~s->kept : 0;
    int rc;

    for (int i = 0; i < CFR_PARTS; i++) {
        bool wanted = is_wanted(next, (enum cfr_daemon_part)i);
        /* What this machine cannot do is no reason to refuse. */
        bool given_up = !s->parts[i].on && s->why[i].code == CFR_E_CONFIG;

        if (s->parts[i].on ? !wanted : wanted && given_up)
            return cfr_err_set(err, CFR_E_CONFIG, "sandbox.%s cannot be turned %s while the agent runs: restart it",
                               names[i], wanted ? "on" : "off");
    }
    if (missing != 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "%s now, as it did not before: the agent gave up the capability for it at its start: restart "
            "it",
            cfr_daemon_needs_explain(missing));
    rc = check_files(s, CFR_PART_LANDLOCK,
                     (struct check){.access = CFR_SANDBOX_WRITE, .needs = cfr_daemon_needs_written, .err = err}, now,
                     next);
    if (rc == 0)
        rc = check_files(s, CFR_PART_LANDLOCK_READ,
                         (struct check){.access = CFR_SANDBOX_READ, .needs = cfr_daemon_needs_read, .err = err}, now,
                         next);
    return rc;
}
