/* SPDX-License-Identifier: MIT */
/* Reading of targets, and of what is mounted, for a key that is adopted. */
#include "agent/publish/found.h"

#include "agent/loop/slow_file.h"
#include "agent/publish/targets.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/time.h"
#include "files/file.h"
#include "files/generation.h"
#include "files/route.h"
#include "files/volume.h"
#include "kube/secret_apply.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX 65536 /* of one that holds a key */

struct cfr_publish_search {
    const struct cfr_config_credential *config;
    struct cfr_kube *kube;
    struct cfr_kube_call *call;
    const struct cfr_config_secret *secret;
    size_t next; /* target */
    cfr_publish_found_fn *done;
    void *ctx;
};

/* ---- on this machine ---- */

static void note_time(struct cfr_rotation_found *found, const char *path)
{
    struct stat st;

    if (lstat(path, &st) == 0)
        found->since_s = st.st_mtim.tv_sec;
}

static int read_mounted(const char *path, struct cfr_rotation_found *found, struct cfr_err *err)
{
    char data[PATH_MAX];
    struct cfr_volume volume = {.count = 0};
    int rc = cfr_slow_file_read_volume(path, &volume, err);

    for (size_t i = 0; rc == 0 && i < volume.count; i++)
        rc = cfr_grant_set(&found->values, volume.names[i], cfr_secret_view(&volume.values[i]), err);
    cfr_volume_free(&volume);
    note_time(found, path);
    if ((size_t)snprintf(data, sizeof data, "%s/" CFR_GENERATION_DATA, path) < sizeof data)
        note_time(found, data);
    return rc;
}

static int read_file(const char *path, struct cfr_rotation_found *found, struct cfr_err *err)
{
    const char *name = strrchr(path, '/') + 1;
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, FILE_MAX);
    rc = cfr_slow_file_read(path, &text, NULL, err);
    if (rc == 0)
        rc = cfr_grant_set(&found->values, name, cfr_secret_view(&text), err);
    cfr_secret_free(&text);
    note_time(found, path);
    return rc;
}

static int fail_silent(const char *path, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_TIMEOUT, "%s: its disk has not answered", path);
}

static int read_path(const char *path, struct cfr_rotation_found *found, struct cfr_err *err)
{
    struct stat st;
    int rc = cfr_slow_file_status(path, &st, err);

    if (rc == CFR_FILE_ELSEWHERE && errno == EAGAIN)
        return fail_silent(path, err);
    if (rc == CFR_FILE_ELSEWHERE)
        return cfr_err_set(err, CFR_E_PATH,
                           "%s is on a file system that may not answer, or behind a link that another user could have "
                           "made; copy the key to another place",
                           path);
    if (rc != 0)
        return rc;
    return S_ISDIR(st.st_mode) ? read_mounted(path, found, err) : read_file(path, found, err);
}

/* NAME of the target's directory, as credfresh or another program has put it there. */
static int read_name(const char *directory, const char *name, struct cfr_rotation_found *found, struct cfr_err *err)
{
    char path[PATH_MAX];
    struct cfr_file_origin origin;
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, FILE_MAX);
    rc = cfr_generation_read(directory, name, &text, err);
    if (rc == CFR_E_MISSING && (size_t)snprintf(path, sizeof path, "%s/%s", directory, name) < sizeof path) {
        rc = cfr_file_read_foreign(path, &text, &origin, err);
        if (rc == 0)
            found->since_s = origin.mtime_ns / 1000000000;
    }
    if (rc == 0)
        rc = cfr_grant_set(&found->values, name, cfr_secret_view(&text), err);
    cfr_secret_free(&text);
    return rc == CFR_E_MISSING ? 0 : rc;
}

static int read_target(const struct cfr_config_publish *t, struct cfr_rotation_found *found, struct cfr_err *err)
{
    const char *path = cfr_publish_path(t);
    const struct cfr_config_file *files = t->files.items;
    struct cfr_file_origin origin;
    struct cfr_route route;
    struct cfr_secret text;
    int rc = 0;

    if (path == NULL)
        return 0;
    cfr_route_find_whole(path, true, &route);
    if (route.silent)
        return fail_silent(path, err);
    if (route.storage == CFR_ROUTE_REMOTE)
        return cfr_err_set(err, CFR_E_PATH, "%s is on a file system that may not answer; name a copy in `adopt`", path);
    for (size_t i = 0; rc == 0 && t->directory != NULL && i < t->files.count; i++)
        rc = read_name(path, files[i].name, found, err);
    if (rc == 0 && t->directory != NULL && found->values.field_count != 0)
        rc = read_name(path, CFR_ROTATION_FILE, found, err);
    if (t->directory != NULL)
        return rc;
    cfr_secret_init(&text, FILE_MAX);
    rc = cfr_file_read_foreign(path, &text, &origin, err);
    if (rc == 0) {
        found->since_s = origin.mtime_ns / 1000000000;
        rc = cfr_grant_set(&found->values, strrchr(path, '/') + 1, cfr_secret_view(&text), err);
    }
    cfr_secret_free(&text);
    return rc == CFR_E_MISSING ? 0 : rc;
}

/* ---- in the cluster ---- */

/* All values of the Secret that is BODY. */
static int read_values(struct cfr_view body, struct cfr_rotation_found *found, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    struct cfr_view when = {NULL, 0};
    int rc = cfr_json_parse(body, &doc, err);
    const struct cfr_json *data = cfr_json_get(doc, "data");
    char name[CFR_K8S_SECRET_KEY_MAX + 1];

    if (rc == 0 && cfr_json_string(cfr_json_get(cfr_json_get(doc, "metadata"), "creationTimestamp"), &when) &&
        !cfr_time_parse(when, &found->since_s))
        found->since_s = 0;
    for (const struct cfr_json *one = cfr_json_first(data); rc == 0 && one != NULL; one = cfr_json_next(one)) {
        struct cfr_view key = cfr_json_key(one);
        struct cfr_view value;
        struct cfr_secret text;

        if (key.n >= sizeof name || !cfr_json_string(one, &value))
            continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
        cfr_secret_init(&text, CFR_K8S_SECRET_TOTAL_MAX);
        rc = cfr_base64_decode(value, &text, err);
        if (rc == 0)
            rc = cfr_grant_set(&found->values, name, cfr_secret_view(&text), err);
        cfr_secret_free(&text);
    }
    cfr_json_free(doc);
    return rc;
}

static int find_next(struct cfr_publish_search *s, struct cfr_rotation_found *found, struct cfr_err *err);

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct cfr_publish_search *s = ctx;
    struct cfr_rotation_found found = {0};
    struct cfr_err err = answer->err;
    int rc = answer->error;

    s->call = NULL;
    if (rc == 0 && answer->status == 200)
        rc = read_values(answer->body, &found, &err);
    else if (rc == 0 && answer->status != 404)
        rc = cfr_err_set(&err, answer->status == 403 ? CFR_E_DENIED : CFR_E_UNAVAILABLE,
                         "cannot read the Secret %s: the API server answered %ld%s", s->secret->name, answer->status,
                         answer->status == 403 ? "; allow `get` on it" : "");
    if (rc == 0 && found.values.field_count == 0)
        rc = find_next(s, &found, &err);
    if (rc != 1)
        s->done(s->ctx, rc, &found, &err);
    cfr_grant_free(&found.values);
}

static int ask_for(struct cfr_publish_search *s, const struct cfr_config_secret *secret, struct cfr_err *err)
{
    const struct cfr_kube_where where = {secret->kubeconfig, secret->context};
    const char *space = secret->namespace_name;
    char path[CFR_K8S_SECRET_PATH_MAX];
    const struct cfr_kube_request request = {.method = "GET", .path = path, .answer_max = CFR_K8S_SECRET_ANSWER_MAX};
    int rc = space == NULL ? cfr_kube_find_namespace(s->kube, &where, "publish.secret", &space, err) : 0;

    if (rc != 0)
        return rc;
    if (!cfr_k8s_secret_apply_path(&cfr_k8s_kind_secret, space, secret->name, CFR_K8S_SECRET_READ, path))
        return cfr_err_set(err, CFR_E_CONFIG, "%.63s/%.253s cannot be the name of a Secret", space, secret->name);
    s->secret = secret;
    return cfr_kube_start(s->kube, &where, &request, on_answer, s, &s->call, err);
}

static int find_next(struct cfr_publish_search *s, struct cfr_rotation_found *found, struct cfr_err *err)
{
    const struct cfr_config_publish *targets = s->config->publish.items;

    while (s->next < s->config->publish.count) {
        const struct cfr_config_publish *t = &targets[s->next++];
        int rc = t->secret != NULL ? ask_for(s, t->secret, err) : read_target(t, found, err);

        if (t->secret != NULL)
            return rc == 0 ? 1 : rc;
        if (rc != 0 || found->values.field_count != 0)
            return rc;
    }
    return cfr_err_set(err, CFR_E_MISSING, "the targets hold nothing");
}

int cfr_publish_find(const struct cfr_config_credential *c, struct cfr_kube *kube, cfr_publish_found_fn *done,
                     void *ctx, struct cfr_publish_search **out, struct cfr_rotation_found *found, struct cfr_err *err)
{
    struct cfr_publish_search *s;
    int rc;

    *out = NULL;
    if (strcmp(c->mint->adopt, CFR_ADOPT_TARGET) != 0)
        return read_path(c->mint->adopt, found, err);
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return cfr_err_nomem(err);
    *s = (struct cfr_publish_search){.config = c, .kube = kube, .done = done, .ctx = ctx};
    rc = find_next(s, found, err);
    if (rc == 1)
        *out = s;
    else
        free(s);
    return rc;
}

void cfr_publish_search_end(struct cfr_publish_search *s)
{
    if (s == NULL)
        return;
    if (s->call != NULL)
        cfr_kube_cancel(s->call);
    free(s);
}
