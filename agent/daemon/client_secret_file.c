/* SPDX-License-Identifier: MIT */
/* Client secret files of the local endpoints: created, read and cached. */
#include "agent/daemon/client_secret_file_private.h"

#include "agent/loop/clock.h"
#include "agent/loop/sandbox.h"
#include "base/base64.h"
#include "base/log.h"
#include "files/path.h"
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

struct client_secret {
    char *path;
    bool ours;
    mode_t mode; /* of our own */
    uid_t uid;
    gid_t gid;
    struct cfr_secret content; /* of our own: empty until the file was made */
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

        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
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

static int write_client_secret(const struct client_secret *p, bool *changed, struct cfr_err *err)
{
    struct cfr_file file = {.content = cfr_secret_view(&p->content), .mode = p->mode, .uid = p->uid, .gid = p->gid};

    return cfr_single_publish(p->path, &file, false, changed, err);
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

/* What is there is kept if only those who may read it from now on can know it. */
static int make_client_secret(struct client_secret *p, struct cfr_secret *found, bool keeps, struct cfr_err *err)
{
    bool changed = false;
    int rc = 0;

    if (keeps)
        cfr_secret_move(&p->content, found);
    else
        rc = make_content(&p->content, err);
    if (rc == 0)
        rc = write_client_secret(p, &changed, err);
    /* Others may have seen what it held. */
    if (rc == 0 && keeps && changed) {
        rc = make_content(&p->content, err);
        if (rc == 0)
            rc = write_client_secret(p, &changed, err);
    }
    /* What did not get there is not kept: the next look begins again. */
    if (rc != 0)
        cfr_secret_clear(&p->content);
    else if (changed)
        cfr_log(CFR_LOG_INFO, NULL, NULL, "made %s, which clients of an endpoint must show the content of", p->path);
    return rc;
}

/* Once made, a file that holds something else is written again with the content that clients know. */
static int look_at_ours(struct client_secret *p, struct cfr_secret *found, struct cfr_err *err)
{
    struct cfr_file_origin origin = {.size = 0};
    bool changed;
    int rc = cfr_file_read_foreign(p->path, found, &origin, err);
    bool keeps = rc == 0 && origin.owner == (p->uid != CFR_FILE_KEEP_ID ? p->uid : geteuid()) &&
                 is_well_formed(cfr_secret_view(found));

    if (rc != 0 && rc != CFR_E_MISSING && rc != CFR_E_LIMIT)
        return rc;
    if (p->content.len == 0)
        return make_client_secret(p, found, keeps, err);
    return rc == 0 && cfr_secret_equal(cfr_secret_view(found), cfr_secret_view(&p->content))
               ? 0
               : write_client_secret(p, &changed, err);
}

static void look_at(struct client_secret *p)
{
    struct cfr_secret found = {.limit = CONTENT_MAX};
    struct cfr_err err = {0};
    int rc = p->ours ? look_at_ours(p, &found, &err) : cfr_file_read_linked(p->path, &found, &err);

    p->read_boot_ms = cfr_clock_now().boot_ms;
    if (!p->ours)
        cfr_secret_move(&p->content, &found); /* empty after an error */
    cfr_secret_free(&found);
    p->good = rc == 0;
    cfr_sandbox_explain(p->path, &err);
    if (rc != 0 && !p->reported)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "clients that must show the content of %s are not served: %s", p->path,
                err.text);
    else if (rc == 0 && p->reported)
        cfr_log(CFR_LOG_INFO, NULL, NULL, "clients that show the content of %s are served again", p->path);
    p->reported = rc != 0;
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
    for (size_t i = 0; i < p->count; i++)
        look_at(&p->items[i]);
}

void cfr_daemon_client_secret_close(struct cfr_daemon_client_secrets *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->count; i++) {
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
    if (cfr_clock_now().boot_ms - one->read_boot_ms >= REREAD_MS)
        look_at(one);
    content = cfr_view_trim(cfr_secret_view(&one->content));
    return one->good && content.n != 0 ? content : (struct cfr_view){NULL, 0};
}
