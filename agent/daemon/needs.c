/* SPDX-License-Identifier: MIT */
/* Capabilities and directories that a configuration needs. */
#include "agent/daemon/needs_private.h"

#include "agent/http/client.h"
#include "agent/kube/client.h"
#include "agent/loop/sandbox.h"
#include "agent/loop/slow_file.h"
#include "agent/publish/targets.h"
#include "agent/source/inputs.h"
#include "files/file.h"
#include "files/path.h"
#include "files/route.h"
#include "sts/providers.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIT(cap) (UINT64_C(1) << (cap))
/* Tokens and keys belong to other users, and may change their owner with each renewal. */
#define ALWAYS BIT(CAP_DAC_OVERRIDE)
/* To read and write with the rights of other users, and to end children that hang there. */
#define AS_OTHERS (BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL))
/* To give files to others. */
#define GIVING   (BIT(CAP_CHOWN) | BIT(CAP_FOWNER) | BIT(CAP_FSETID))
#define LOW_PORT 1024
#define POD      "/var/run/secrets" /* where Kubernetes mounts a pod's own token */

/* ---- capabilities ---- */

static bool has_low_port(const char *address)
{
    const char *colon = address != NULL ? strrchr(address, ':') : NULL;

    return colon != NULL && strtol(colon + 1, NULL, 10) < LOW_PORT;
}

static uint64_t for_hook(const struct cfr_config_hook *hook)
{
    const void *own;
    const struct cfr_config_hook_kind *kind = cfr_config_hook_kind(hook, &own);
    uint64_t needed = 0;

    /* A program may continue as another user, and has to end in time. */
    if (kind->runs_program || kind->finds_process != NULL)
        needed |= BIT(CAP_KILL);
    /* The kernel shows the executable of another user's process only to a process that could trace it. */
    if (kind->finds_process != NULL && kind->finds_process(own))
        needed |= BIT(CAP_SYS_PTRACE);
    return needed;
}

static void add_owner(void *ctx, const char *owner, const char *group)
{
    uint64_t *needed = ctx;
    struct cfr_err none = {0};
    uid_t uid;

    if (owner != NULL || group != NULL)
        *needed |= GIVING;
    /* A directory with an owner is written as that user. */
    if (owner != NULL && (cfr_path_uid(owner, &uid, &none) != 0 || uid != 0))
        *needed |= AS_OTHERS;
}

static void skip_path(void *ctx, const char *path)
{
    (void)ctx;
    (void)path;
}

/* A file that is written in place keeps its owner, and one of another user gets its mode by CAP_FOWNER only. */
static void add_file(void *ctx, const char *path, bool in_place)
{
    uint64_t *needed = ctx;

    (void)path;
    if (in_place)
        *needed |= GIVING;
}

/* The new file of a profile gets the owner and the group of the old one, which may have changed by then. */
static void add_profile(void *ctx, const char *path)
{
    uint64_t *needed = ctx;

    (void)path;
    *needed |= GIVING;
}

static void skip_cluster(void *ctx, const struct cfr_kube_where *where)
{
    (void)ctx;
    (void)where;
}

static void skip_secret_file(void *ctx, const char *path, mode_t mode)
{
    (void)ctx;
    (void)path;
    (void)mode;
}

static uint64_t for_credential(const struct cfr_config_credential *c)
{
    uint64_t needed = 0;
    const struct cfr_publish_inspection i = {&needed,     add_owner,    skip_path,        add_file,
                                             add_profile, skip_cluster, skip_secret_file, NULL};

    for (size_t k = 0; k < c->publish.count; k++)
        cfr_publish_inspect(c, k, &i);
    for (size_t k = 0; k < c->reload.count; k++)
        needed |= for_hook((const struct cfr_config_hook *)c->reload.items + k);
    return needed;
}

static void add_client_secret(void *ctx, const struct cfr_config_endpoint *endpoint,
                              const struct cfr_sdk_client_secret *secret)
{
    (void)endpoint;
    add_owner(ctx, secret->owner, secret->group);
}

static void note_path(void *ctx, const struct cfr_field_text *p)
{
    (void)cfr_daemon_known_add(ctx, p->text);
}

struct paths {
    struct cfr_daemon_known known;
    uint64_t needed;
};

static bool is_kubeconfig(const struct cfr_field_text *p)
{
    return (p->field->flags & CFR_FIELD_KUBECONFIG) != 0;
}

static uint64_t for_path(const struct cfr_field_text *p)
{
    const struct cfr_kube_where where = cfr_daemon_kube_where(p);
    struct cfr_route route;

    cfr_route_find(p->text, false, false, &route);
    /* Whatever it is, reading it fails, and is reported. */
    if (route.silent)
        return 0;
    if (route.foreign || route.blocked || route.storage == CFR_ROUTE_REMOTE)
        return AS_OTHERS;
    return is_kubeconfig(p) && cfr_kube_has_plugin(&where) ? BIT(CAP_KILL) : 0;
}

static void add_path(void *ctx, const struct cfr_field_text *p)
{
    struct paths *paths = ctx;

    if ((paths->needed & AS_OTHERS) == AS_OTHERS || (p->field->flags & CFR_FIELD_PRIVATE) != 0)
        return;
    /* One that is in use already is no reason to refuse a reload: whose it is may have changed since. */
    if (cfr_daemon_known_add(&paths->known, p->text))
        paths->needed |= for_path(p);
}

uint64_t cfr_daemon_needs_capabilities(const struct cfr_config *c, const struct cfr_config *now)
{
    struct paths paths = {.needed = ALWAYS};
    bool low = has_low_port(c->listen);

    for (size_t i = 0; i < c->endpoints.count; i++)
        low = low || has_low_port(cfr_config_endpoint_at(c, i)->listen);
    if (low)
        paths.needed |= BIT(CAP_NET_BIND_SERVICE);
    if (c->exit_with != NULL && c->exit_with->process != NULL)
        paths.needed |= BIT(CAP_SYS_PTRACE);
    for (size_t i = 0; i < c->credentials.count; i++)
        paths.needed |= for_credential(cfr_config_at(c, i));
    cfr_config_each_client_secret(c, add_client_secret, &paths.needed);
    if (now != NULL)
        cfr_daemon_each_path(now, note_path, &paths.known);
    cfr_daemon_each_path(c, add_path, &paths);
    cfr_daemon_known_free(&paths.known);
    return paths.needed;
}

const char *cfr_daemon_needs_explain(uint64_t missing)
{
    return (missing & BIT(CAP_NET_BIND_SERVICE)) != 0 ? "it listens on a port below 1024"
           : (missing & BIT(CAP_SYS_PTRACE)) != 0     ? "it looks for processes by their executables"
           : (missing & GIVING) != 0                  ? "it gives files to an owner or a group"
           : (missing & BIT(CAP_SETUID)) != 0         ? "it has files in directories of other users"
                                                      : "it signals processes or runs programs";
}

/* ---- directories ---- */

struct directories {
    cfr_daemon_directory_fn *fn;
    void *ctx;
    struct cfr_daemon_known named; /* paths whose links were followed */
};

static bool write_parent(const char *path, char out[PATH_MAX])
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    if (slash == NULL || (size_t)(slash - path) >= PATH_MAX)
        return false;
    (void)snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return true;
}

static void give_parent(const struct directories *d, const char *path)
{
    char parent[PATH_MAX];

    if (write_parent(path, parent))
        d->fn(d->ctx, parent, path);
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
        d->fn(d->ctx, path, path);
    else
        give_parent(d, path);
}

void cfr_daemon_needs_written(const struct cfr_config *c, cfr_daemon_directory_fn *each, void *ctx)
{
    struct directories d = {.fn = each, .ctx = ctx};

    each(ctx, c->state_dir, c->state_dir);
    give_parent(&d, c->control_socket);
    give_parent(&d, c->token_socket);
    if (c->service_ca != NULL)
        give_parent(&d, c->service_ca->store);
    cfr_config_each_client_secret(c, give_client_secret, &d);
    for (size_t i = 0; i < c->credentials.count; i++) {
        const struct cfr_config_credential *one = cfr_config_at(c, i);

        for (size_t k = 0; k < one->publish.count; k++)
            give_target(&d, (const struct cfr_config_publish *)one->publish.items + k);
    }
}

static void give_above(const struct directories *d, const char *path)
{
    char parent[PATH_MAX];
    char above[PATH_MAX];

    if (!write_parent(path, parent) || !write_parent(parent, above))
        return;
    /* What is in / may be a directory itself. */
    d->fn(d->ctx, above[1] != '\0' ? above : parent[1] != '\0' ? parent : path, path);
}

static void give_path(void *ctx, const struct cfr_field_text *p)
{
    give_above(ctx, p->text);
}

void cfr_daemon_needs_read(const struct cfr_config *c, cfr_daemon_directory_fn *each, void *ctx)
{
    struct directories d = {.fn = each, .ctx = ctx};

    cfr_daemon_each_path(c, give_path, &d);
}

static void give_link(const struct directories *d, const char *path)
{
    char real[PATH_MAX];

    if (cfr_file_leads_to(path, cfr_slow_file_reach(path), real) && strcmp(real, path) != 0)
        give_above(d, real);
}

/* PATH in /etc may lead to what is made later in the boot. */
static void give_link_of_system(const struct directories *d, const char *path)
{
    char target[PATH_MAX];
    char parent[PATH_MAX];
    char above[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    const char *at = target;

    give_link(d, path);
    target[n > 0 ? n : 0] = '\0';
    if (strncmp(at, "../", 3) == 0)
        at += 2;
    if (at[0] != '/' || strstr(at, "/..") != NULL || !write_parent(at, parent) || !write_parent(parent, above))
        return;
    cfr_sandbox_nearest(above);
    if (above[1] != '\0')
        d->fn(d->ctx, above, NULL);
}

static void give_named(void *ctx, const char *path)
{
    give_above(ctx, path);
    give_link(ctx, path);
}

static void give_named_by(void *ctx, const struct cfr_field_text *p)
{
    const struct cfr_kube_where where = cfr_daemon_kube_where(p);
    struct directories *d = ctx;

    if (cfr_daemon_known_add(&d->named, p->text))
        give_link(d, p->text);
    if (is_kubeconfig(p))
        cfr_kube_each_file(&where, give_named, ctx);
}

/* PATH may be relative. */
static void give_config(struct directories *d, const char *path)
{
    char cwd[PATH_MAX];
    char whole[2 * PATH_MAX] = "";

    if (path[0] != '/' && (getcwd(cwd, sizeof cwd) == NULL || cwd[0] != '/'))
        return;
    if (path[0] != '/')
        (void)snprintf(whole, sizeof whole, "%s/", cwd[1] != '\0' ? cwd : "");
    (void)snprintf(whole + strlen(whole), sizeof whole - strlen(whole), "%s", path);
    if (strlen(whole) < PATH_MAX)
        give_named(d, whole);
}

static void give_trust(struct directories *d, const char *ca_file)
{
    if (ca_file != NULL && ca_file[0] == '/')
        give_named(d, ca_file);
}

void cfr_daemon_needs_read_at_start(const struct cfr_config *c, const char *config_path, cfr_daemon_directory_fn *each,
                                    void *ctx)
{
    /* Name services of glibc have libraries and files of their own. Other programs replace `resolv.conf`, so that a
     * rule for the file would be lost. */
    static const char *const directories[] = {
        "/etc", "/usr",       "/lib",       "/lib64",    "/proc",       "/run/systemd/resolve",
        POD,    "/nix/store", "/gnu/store", "/run/nscd", "/var/lib/sss"};
    static const char *const links[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/localtime"};
    struct directories d = {.fn = each, .ctx = ctx};
    struct cfr_variant v;
    struct stat st;

    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        if (stat(directories[i], &st) == 0 && S_ISDIR(st.st_mode))
            each(ctx, directories[i], NULL);
    }
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        give_link_of_system(&d, links[i]);
    give_trust(&d, cfr_http_trust_system());
    for (size_t i = 0; (v = cfr_sts_variant(i)).key != NULL; i++) {
        const struct cfr_sts_provider *p = v.row;

        if (p->ca_variable != NULL)
            give_trust(&d, getenv(p->ca_variable));
    }
    if (config_path != NULL)
        give_config(&d, config_path);
    cfr_daemon_each_path(c, give_named_by, &d);
    cfr_daemon_known_free(&d.named);
}
