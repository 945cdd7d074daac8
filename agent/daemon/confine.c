/* SPDX-License-Identifier: MIT */
/* What the agent keeps, by its configuration. */
#include "agent/daemon/confine_private.h"

#include "agent/loop/launcher.h"
#include "agent/loop/sandbox.h"
#include "agent/loop/slow_write.h"
#include "agent/publish/targets.h"
#include "base/log.h"
#include "base/str.h"
#include "files/path.h"
#include "files/route.h"

#include <linux/capability.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BIT(cap) (UINT64_C(1) << (cap))
/* To write files for others and with their rights, and to end what was started. */
#define ALWAYS                                                                                                         \
    (BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_SETUID) | BIT(CAP_SETGID) |  \
     BIT(CAP_KILL))
#define LOW_PORT   1024
#define MAKE_MS    500
#define MAKE_LOOKS 10

static const char *const names[CFR_PARTS] = {"no_new_privs", "capabilities", "seccomp", "landlock"};

/* ---- what a configuration needs ---- */

static bool has_low_port(const char *address)
{
    const char *colon = address != NULL ? strrchr(address, ':') : NULL;

    return colon != NULL && strtol(colon + 1, NULL, 10) < LOW_PORT;
}

static bool finds_process(const struct cfr_config_hook *hook)
{
    const void *own;
    const struct cfr_config_hook_kind *kind = cfr_config_hook_kind(hook, &own);

    return kind->finds_process != NULL && kind->finds_process(own);
}

static uint64_t capabilities_for(const struct cfr_config *c)
{
    uint64_t needed = ALWAYS;
    bool low = has_low_port(c->listen);
    bool looks = c->exit_with != NULL && c->exit_with->process != NULL;

    for (size_t i = 0; i < c->endpoints.count; i++)
        low = low || has_low_port(cfr_config_endpoint_at(c, i)->listen);
    for (size_t i = 0; i < c->credentials.count; i++) {
        const struct cfr_config_credential *one = cfr_config_at(c, i);

        for (size_t k = 0; k < one->reload.count; k++)
            looks = looks || finds_process((const struct cfr_config_hook *)one->reload.items + k);
    }
    if (low)
        needed |= BIT(CAP_NET_BIND_SERVICE);
    /* The executables of other users' processes are shown to those who could trace them. */
    if (looks)
        needed |= BIT(CAP_SYS_PTRACE);
    return needed;
}

struct directories {
    void (*fn)(void *ctx, const char *directory);
    void *ctx;
};

static void give_parent(const struct directories *d, const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    char parent[PATH_MAX];

    if (slash == NULL || (size_t)(slash - path) >= sizeof parent)
        return;
    (void)snprintf(parent, sizeof parent, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    d->fn(d->ctx, parent);
}

static void give_client_secret(void *ctx, const struct cfr_config_endpoint *endpoint,
                               const struct cfr_sdk_client_secret *secret)
{
    (void)endpoint;
    give_parent(ctx, secret->file);
}

/* The parent of a directory, too, because it is made there; but for one in /, which is there already. */
static void give_target(const struct directories *d, const struct cfr_config_publish *p)
{
    const char *path = cfr_publish_path(p);
    struct stat st;

    if (p->directory != NULL && strrchr(path, '/') == path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        d->fn(d->ctx, path);
    else
        give_parent(d, path);
}

/* Where C has files made. */
static void each_directory(const struct cfr_config *c, struct directories *d)
{
    d->fn(d->ctx, c->state_dir);
    give_parent(d, c->control_socket);
    give_parent(d, c->token_socket);
    if (c->service_ca != NULL)
        give_parent(d, c->service_ca->store);
    cfr_config_each_client_secret(c, give_client_secret, d);
    for (size_t i = 0; i < c->credentials.count; i++) {
        const struct cfr_config_credential *one = cfr_config_at(c, i);

        for (size_t k = 0; k < one->publish.count; k++)
            give_target(d, (const struct cfr_config_publish *)one->publish.items + k);
    }
}

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
static int make_directory(const char *directory, const char *nearest, struct cfr_err *err)
{
    const struct timespec pause = {.tv_nsec = MAKE_MS * 1000000 / MAKE_LOOKS};
    struct cfr_slow_write write = {.next = NULL};
    char inside[PATH_MAX + 2];
    const char *name;
    int rc = CFR_SLOW_WRITE_UNDER_WAY;
    int fd;

    (void)snprintf(inside, sizeof inside, "%s/x", nearest[1] != '\0' ? nearest : "");
    fd = cfr_path_open_parent(inside, false, &name, err);
    if (fd < 0)
        return fd;
    (void)snprintf(inside, sizeof inside, "%s/x", directory);
    for (int i = 0; i < MAKE_LOOKS && rc == CFR_SLOW_WRITE_UNDER_WAY; i++) {
        if (i != 0)
            (void)nanosleep(&pause, NULL);
        rc = cfr_slow_write(&write, fd, make_parents, inside, (struct cfr_view){NULL, 0}, err);
    }
    cfr_slow_write_close(&write);
    (void)close(fd);
    return rc == CFR_SLOW_WRITE_UNDER_WAY ? cfr_err_set(err, CFR_E_TIMEOUT, "the file system does not answer") : rc;
}

static bool is_given(const struct cfr_daemon_sandbox *s, const char *directory)
{
    for (size_t i = 0; i < s->directory_count; i++) {
        if (strcmp(s->directories[i], directory) == 0)
            return true;
    }
    return false;
}

/* What does not exist yet is made, because nothing narrower than the nearest directory that does could be allowed.
 * Where a publish makes it with another user's rights, that directory is this user's, or below one. */
static void add_directory(void *ctx, const char *directory)
{
    struct cfr_daemon_sandbox *s = ctx;
    struct cfr_err err = {0};
    struct cfr_route route;
    char path[PATH_MAX];
    char **more;
    int rc = CFR_E_PATH;

    (void)snprintf(path, sizeof path, "%s", directory);
    cfr_sandbox_nearest(path);
    cfr_route_find(directory, true, false, &route);
    if (strcmp(path, directory) != 0 && route.storage != CFR_ROUTE_REMOTE && !route.blocked &&
        (!route.foreign || geteuid() != 0)) {
        rc = make_directory(directory, path, &err);
        if (rc == 0)
            (void)snprintf(path, sizeof path, "%s", directory);
        else
            cfr_log(CFR_LOG_WARN, NULL, NULL, "cannot make %s: %s%s", directory, err.text,
                    path[1] == '\0' ? "; make it, and restart the agent, which may not make it later (landlock)" : "");
    }
    if (path[1] == '\0') {
        if (rc == CFR_E_PATH)
            (void)snprintf(s->in_root, sizeof s->in_root, "%s", directory);
        return;
    }
    if (is_given(s, path))
        return;
    more = realloc(s->directories, (s->directory_count + 1) * sizeof *more);
    if (more == NULL)
        return;
    s->directories = more;
    s->directories[s->directory_count] = strdup(path);
    s->directory_count += s->directories[s->directory_count] != NULL;
}

static int confine_part(struct cfr_daemon_sandbox *s, enum cfr_daemon_part part, const struct cfr_config *config,
                        struct cfr_err *err)
{
    struct directories d = {add_directory, s};

    switch (part) {
    case CFR_PART_NO_NEW_PRIVS:
        cfr_launcher_keep_privileges();
        return cfr_sandbox_no_new_privs(err);
    case CFR_PART_CAPABILITIES:
        s->kept = capabilities_for(config) & s->had;
        return cfr_sandbox_capabilities(s->kept, err);
    case CFR_PART_SECCOMP:
        return cfr_sandbox_seccomp(err);
    default:
        each_directory(config, &d);
        if (s->in_root[0] != '\0')
            return cfr_err_set(err, CFR_E_PATH,
                               "it would allow to write everywhere, for %s: use paths that are not directly in /",
                               s->in_root);
        return cfr_sandbox_landlock((const char *const *)s->directories, s->directory_count, err);
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
                                           : c->landlock;
}

void cfr_daemon_confine(struct cfr_daemon_sandbox *s, const struct cfr_config *config, struct cfr_str *summary)
{
    /* Seccomp comes last: it takes the calls that the others need. */
    static const enum cfr_daemon_part order[CFR_PARTS] = {CFR_PART_NO_NEW_PRIVS, CFR_PART_CAPABILITIES,
                                                          CFR_PART_LANDLOCK, CFR_PART_SECCOMP};
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
            out->on = confine_part(s, part, config, &s->why[part]) == 0;
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

void cfr_daemon_confine_free(struct cfr_daemon_sandbox *s)
{
    for (size_t i = 0; i < s->directory_count; i++)
        free(s->directories[i]);
    free(s->directories);
}

/* ---- a new configuration ---- */

struct check {
    const struct cfr_config *now;
    struct cfr_err *err;
    int rc;
};

struct wanted {
    const char *directory;
    bool found;
};

static void find_directory(void *ctx, const char *directory)
{
    struct wanted *w = ctx;

    w->found = w->found || strcmp(directory, w->directory) == 0;
}

/* One that is in use already is no reason to refuse: a consumer could hold up every reload by its directory. */
static bool is_new(const struct check *check, const char *directory)
{
    struct wanted w = {.directory = directory};
    struct directories d = {find_directory, &w};

    each_directory(check->now, &d);
    return !w.found;
}

static void check_directory(void *ctx, const char *directory)
{
    struct check *check = ctx;

    if (check->rc != 0 || !is_new(check, directory))
        return;
    if (cfr_sandbox_has_lost(directory))
        check->rc = cfr_err_set(check->err, CFR_E_CONFIG,
                                "%s, or a directory above, was removed or made again since the agent started, and its "
                                "sandbox (landlock) lets it write to the old one only: restart it",
                                directory);
    else if (!cfr_sandbox_allows(directory))
        check->rc = cfr_err_set(check->err, CFR_E_CONFIG,
                                "%s is outside of the directories that the agent may write to since its start: restart "
                                "it (or run it with sandbox.landlock: false)",
                                directory);
}

int cfr_daemon_confine_check(const struct cfr_daemon_sandbox *s, const struct cfr_config *now,
                             const struct cfr_config *next, struct cfr_err *err)
{
    struct check check = {.now = now, .err = err};
    struct directories d = {check_directory, &check};
    uint64_t missing = capabilities_for(next) & s->had & ~s->kept;

    for (int i = 0; i < CFR_PARTS; i++) {
        bool wanted = is_wanted(next, (enum cfr_daemon_part)i);
        /* What this machine cannot do is no reason to refuse. */
        bool given_up = !s->parts[i].on && s->why[i].code == CFR_E_CONFIG;

        if (s->parts[i].on ? !wanted : wanted && given_up)
            return cfr_err_set(err, CFR_E_CONFIG, "sandbox.%s cannot be turned %s while the agent runs: restart it",
                               names[i], wanted ? "on" : "off");
    }
    if (missing != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: the agent gave up the capability for it at its start: restart it",
                           (missing & BIT(CAP_NET_BIND_SERVICE)) != 0
                               ? "it listens on a port below 1024 now, as it did not before"
                               : "it looks for processes by their executables now, as it did not before");
    if (s->parts[CFR_PART_LANDLOCK].on)
        each_directory(next, &d);
    return check.rc;
}
