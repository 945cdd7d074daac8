/* SPDX-License-Identifier: MIT */
/* Client secret files of the local endpoints: created, read and cached. */
#include "agent/daemon/client_secret_file_private.h"

#include "agent/loop/clock.h"
#include "agent/loop/errand.h"
#include "agent/loop/sandbox.h"
#include "base/base64.h"
#include "base/log.h"
#include "files/path.h"
#include "files/route.h"
#include "files/single.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define RANDOM_BYTES 32
#define CONTENT_MAX  16384 /* a service-account token is the longest of them */
#define MODE         0600
#define REREAD_MS    1000
#define WAIT_MS      50 /* for a child that writes, in all */
#define SILENT_MS    10000

#define UNDER_WAY    1

struct client_secret {
    char *path;
    bool ours;
    mode_t mode; /* of our own */
    uid_t uid;
    gid_t gid;
    struct cfr_secret content; /* of our own: empty until it is to be written */
    bool made;                 /* it was at the path */
    struct cfr_errand *errand; /* that writes it; NULL: none */
    int64_t since_boot_ms;     /* with it */
    int64_t read_boot_ms;
    bool good;     /* the file held it at the last look */
    bool reported; /* that it did not */
};

struct cfr_daemon_client_secrets {
    struct client_secret *items;
    size_t count;
};

/* What the walk over the configuration carries. */
struct opening {
    struct cfr_daemon_client_secrets *secrets;
    struct cfr_err *err;
    int rc;
};

static void count_one(void *ctx, const struct cfr_config_endpoint *endpoint, const struct cfr_sdk_client_secret *secret)
{
    (void)endpoint;
    (void)secret;
    ++*(size_t *)ctx;
}

static bool is_well_formed(struct cfr_view text)
{
    size_t n = (RANDOM_BYTES * 4 + 2) / 3;

    if (text.n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = text.p[i];

        if (!(cfr_view_is_alnum(c) || c == '-' || c == '_'))
            return false;
    }
    return true;
}

static int make_content(struct cfr_secret *to, struct cfr_err *err)
{
    unsigned char bytes[RANDOM_BYTES];
    int rc;

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return cfr_err_sys(err, errno, "cannot get random bytes");
    cfr_secret_clear(to);
    rc = cfr_base64url_encode((struct cfr_view){(const char *)bytes, sizeof bytes}, to, err);
    cfr_secret_wipe(bytes, sizeof bytes);
    return rc;
}

/* ---- writing ---- */

static void write_there(void *ctx, void *result)
{
    const struct client_secret *p = ctx;
    struct cfr_file file = {.content = cfr_secret_view(&p->content), .mode = p->mode, .uid = p->uid, .gid = p->gid};
    struct cfr_err *err = result;
    bool changed;

    err->code = cfr_single_publish(p->path, &file, false, NULL, &changed, err);
}

static bool is_foreign(const struct cfr_route *route)
{
    return route->foreign && geteuid() == 0;
}

/* As other files in a directory of another user: with that user's rights. */
static void write_in_child(void *ctx, void *result)
{
    const struct client_secret *p = ctx;
    const struct cfr_errand_gids none = {.count = 0};
    struct cfr_err *err = result;
    struct cfr_route route;

    cfr_route_find(p->path, false, true, &route);
    if (!is_foreign(&route)) {
        write_there(ctx, result);
        return;
    }
    (void)cfr_errand_as(route.uid, &none, write_there, ctx, result, err);
}

/* What it was to write is there. */
static int end_child(struct client_secret *p)
{
    if (p->errand != NULL && cfr_errand_look(p->errand) != CFR_ERRAND_RUNNING) {
        cfr_errand_close(p->errand);
        p->errand = NULL;
    }
    return 0;
}

/* UNDER_WAY: it is to be called again. A frozen disk shows only when it is written to. */
static int write_client_secret(struct client_secret *p, const struct cfr_route *route, int64_t wait_ms,
                               struct cfr_err *err)
{
    struct cfr_err here = {0};
    enum cfr_errand_state state;
    int rc = 0;

    if (p->errand == NULL && route->storage == CFR_ROUTE_MEMORY && !is_foreign(route)) {
        write_there(p, &here);
        return here.code == 0 ? 0 : cfr_err_set(err, here.code, "%s", here.text);
    }
    if (p->errand == NULL) {
        p->since_boot_ms = cfr_clock_now().boot_ms;
        rc = cfr_errand_start(write_in_child, p, sizeof here, &p->errand, err);
        if (rc != 0)
            return rc;
        state = cfr_errand_wait(p->errand, wait_ms);
    } else {
        state = cfr_errand_look(p->errand);
    }
    if (state == CFR_ERRAND_RUNNING && cfr_clock_now().boot_ms - p->since_boot_ms < SILENT_MS)
        return UNDER_WAY;
    /* It may go on: consumers that wait for the file make no request that would begin another. */
    if (state == CFR_ERRAND_RUNNING)
        return cfr_err_set(err, CFR_E_TIMEOUT,
                           "%s: its file system has not answered for %d s: look at the mount (frozen, or its server "
                           "gone), or name another path",
                           p->path, SILENT_MS / 1000);
    here = *(const struct cfr_err *)cfr_errand_result(p->errand);
    cfr_errand_close(p->errand);
    p->errand = NULL;
    if (state != CFR_ERRAND_DONE)
        return cfr_err_set(err, CFR_E_INTERNAL, "%s: the process that writes it was killed", p->path);
    return here.code == 0 ? 0 : cfr_err_set(err, here.code, "%s", here.text);
}

static int resolve_owner(const struct cfr_sdk_client_secret *c, struct client_secret *p, struct cfr_err *err)
{
    int rc = 0;

    p->ours = true;
    p->mode = c->mode != -1 ? (mode_t)c->mode : MODE;
    p->uid = CFR_FILE_KEEP_ID;
    p->gid = CFR_FILE_KEEP_ID;
    if (c->owner != NULL)
        rc = cfr_path_uid(c->owner, &p->uid, err);
    if (rc == 0 && c->group != NULL)
        rc = cfr_path_gid(c->group, &p->gid, err);
    return rc;
}

/* True if only those who may read it from now on can know what the file of ORIGIN holds. */
static bool is_kept(const struct client_secret *p, const struct cfr_route *route, const struct cfr_file_origin *origin)
{
    uid_t owner = p->uid != CFR_FILE_KEEP_ID ? p->uid : is_foreign(route) ? route->uid : geteuid();

    return origin->owner == owner && origin->mode == p->mode && (p->gid == CFR_FILE_KEEP_ID || origin->group == p->gid);
}

/* Once made, a file that holds something else is written again with the content that clients know. */
static int look_at_ours(struct client_secret *p, struct cfr_secret *found, int64_t wait_ms, struct cfr_err *err)
{
    struct cfr_file_origin origin = {.size = 0};
    struct cfr_route route;
    bool there;
    int rc = cfr_file_read_foreign(p->path, found, &origin, err);

    if (rc != 0 && rc != CFR_E_MISSING && rc != CFR_E_LIMIT)
        return rc;
    cfr_route_find(p->path, false, false, &route);
    there = p->content.len != 0 ? rc == 0 && cfr_secret_equal(cfr_secret_view(found), cfr_secret_view(&p->content))
                                : rc == 0 && is_kept(p, &route, &origin) && is_well_formed(cfr_secret_view(found));
    if (p->content.len == 0 && there) {
        cfr_secret_move(&p->content, found);
        p->made = true;
    } else if (p->content.len == 0 && (rc = make_content(&p->content, err)) != 0) {
        return rc;
    }
    rc = there ? end_child(p) : write_client_secret(p, &route, wait_ms, err);
    if (rc == 0 && !p->made)
        cfr_log(CFR_LOG_INFO, NULL, NULL, "made %s, which clients of an endpoint must show the content of", p->path);
    p->made = p->made || rc == 0;
    /* What did not get there is not kept: the next look begins again. */
    if (rc < 0 && !p->made && p->errand == NULL)
        cfr_secret_clear(&p->content);
    return rc;
}

static void look_at(struct client_secret *p, int64_t wait_ms)
{
    struct cfr_secret found = {.limit = CONTENT_MAX};
    struct cfr_err err = {0};
    int rc = p->ours ? look_at_ours(p, &found, wait_ms, &err) : cfr_file_read_linked(p->path, &found, &err);

    p->read_boot_ms = cfr_clock_now().boot_ms;
    /* While the disk does not answer, the last content remains valid. */
    if (!p->ours && rc == CFR_E_TIMEOUT && p->good) {
        cfr_secret_free(&found);
        return;
    }
    if (!p->ours)
        cfr_secret_move(&p->content, &found); /* empty after an error */
    cfr_secret_free(&found);
    p->good = rc == 0;
    cfr_sandbox_explain(CFR_SANDBOX_WRITE, p->path, &err);
    if (rc < 0 && !p->reported)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "clients that must show the content of %s are not served: %s", p->path,
                err.text);
    else if (rc == 0 && p->reported)
        cfr_log(CFR_LOG_INFO, NULL, NULL, "clients that show the content of %s are served again", p->path);
    p->reported = rc < 0 || (rc == UNDER_WAY && p->reported);
}

static struct client_secret *find(const struct cfr_daemon_client_secrets *p, const char *path)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->items[i].path, path) == 0)
            return &p->items[i];
    }
    return NULL;
}

static void open_one(void *ctx, const struct cfr_config_endpoint *endpoint, const struct cfr_sdk_client_secret *c)
{
    struct opening *o = ctx;
    struct client_secret *p = &o->secrets->items[o->secrets->count];

    (void)endpoint;
    if (o->rc != 0 || find(o->secrets, c->file) != NULL)
        return;
    p->path = cfr_str_dup(cfr_view_of(c->file));
    if (p->path == NULL) {
        o->rc = cfr_err_nomem(o->err);
        return;
    }
    o->secrets->count++;
    cfr_secret_init(&p->content, CONTENT_MAX);
    if (!c->existing)
        o->rc = resolve_owner(c, p, o->err);
    if (o->rc != 0)
        (void)cfr_err_prefix(o->err, "%s", c->file);
}

int cfr_daemon_client_secret_open(const struct cfr_config *config, struct cfr_daemon_client_secrets **out,
                                  struct cfr_err *err)
{
    struct opening o = {.secrets = calloc(1, sizeof *o.secrets), .err = err};
    size_t room = 1;

    *out = NULL;
    cfr_config_each_client_secret(config, count_one, &room);
    if (o.secrets != NULL)
        o.secrets->items = calloc(room, sizeof *o.secrets->items);
    if (o.secrets == NULL || o.secrets->items == NULL) {
        free(o.secrets);
        return cfr_err_nomem(err);
    }
    cfr_config_each_client_secret(config, open_one, &o);
    if (o.rc != 0) {
        cfr_daemon_client_secret_close(o.secrets);
        return o.rc;
    }
    *out = o.secrets;
    return 0;
}

void cfr_daemon_client_secret_make(struct cfr_daemon_client_secrets *p)
{
    int64_t end_boot_ms = cfr_clock_now().boot_ms + WAIT_MS;

    for (size_t i = 0; i < p->count; i++) {
        int64_t left_ms = end_boot_ms - cfr_clock_now().boot_ms;

        look_at(&p->items[i], left_ms > 0 ? left_ms : 0);
    }
}

bool cfr_daemon_client_secret_is_making(struct cfr_daemon_client_secrets *p)
{
    bool making = false;

    for (size_t i = 0; i < p->count; i++) {
        struct client_secret *one = &p->items[i];

        if (one->errand != NULL && !one->made && !one->reported)
            look_at(one, 0);
        making = making || (one->errand != NULL && !one->made && !one->reported);
    }
    return making;
}

void cfr_daemon_client_secret_close(struct cfr_daemon_client_secrets *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->count; i++) {
        cfr_errand_close(p->items[i].errand);
        cfr_secret_free(&p->items[i].content);
        free(p->items[i].path);
    }
    free(p->items);
    free(p);
}

struct cfr_view cfr_daemon_client_secret_get(struct cfr_daemon_client_secrets *p, const char *path)
{
    struct client_secret *one = find(p, path);
    struct cfr_view content;

    if (one == NULL)
        return (struct cfr_view){NULL, 0};
    if (one->errand != NULL || cfr_clock_now().boot_ms - one->read_boot_ms >= REREAD_MS)
        look_at(one, WAIT_MS);
    content = cfr_view_trim(cfr_secret_view(&one->content));
    return one->good && content.n != 0 ? content : (struct cfr_view){NULL, 0};
}
