/* SPDX-License-Identifier: MIT */
/* check: the configuration, what it needs of this machine, and with --online every exchange. */
#include "agent/cmd/commands_private.h"

#include "agent/publish/secret_target.h"
#include "agent/config/from_environment.h"
#include "agent/source/exchange.h"
#include "agent/publish/targets.h"
#include "agent/source/token_file.h"
#include "base/json.h"
#include "base/time.h"
#include "files/path.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLUGIN_LOOK_MS 200 /* nobody blocks SIGCHLD here, so plugins are looked at */

struct tally {
    unsigned errors;
    unsigned warnings;
};

static const char *environment(const char *name)
{
    return getenv(name);
}

/* Before every line of findings: below a configuration that is to be kept they are comments. */
static const char *margin = "";

static void say(const char *mark, const char *credential, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void say(const char *mark, const char *credential, const char *fmt, ...)
{
    va_list ap;

    (void)printf("%s%-5s  %s: ", margin, mark, credential);
    va_start(ap, fmt);
    (void)vprintf(fmt, ap);
    va_end(ap);
    (void)putchar('\n');
}

static void problem(struct tally *t, const char *credential, const char *text)
{
    t->errors++;
    say("ERROR", credential, "%s", text);
}

static void warning(struct tally *t, const char *credential, const char *text)
{
    t->warnings++;
    say("warn", credential, "%s", text);
}

/* The nearest existing directory at or above PATH must let us write. */
static void check_writable(struct tally *t, const char *credential, const char *path)
{
    char buf[4096];
    char *at = buf;
    struct cfr_err err = {0};

    (void)snprintf(buf, sizeof buf, "%s", path);
    while (access(at, F_OK) != 0 && errno == ENOENT && strcmp(at, "/") != 0)
        at = dirname(at);
    if (access(at, W_OK | X_OK) == 0)
        return;
    (void)cfr_err_sys(&err, errno, "%s: cannot write in %s", path, at);
    problem(t, credential, err.text);
}

static void check_ids(struct tally *t, const char *credential, const char *owner, const char *group)
{
    struct cfr_err err = {0};
    uid_t uid = 0;
    gid_t gid = 0;

    if (owner != NULL && cfr_path_uid(owner, &uid, &err) != 0)
        problem(t, credential, err.text);
    else if (owner != NULL && geteuid() != 0 && uid != geteuid())
        warning(t, credential, "owner: giving files to another user takes CAP_CHOWN");
    if (group != NULL && cfr_path_gid(group, &gid, &err) != 0)
        problem(t, credential, err.text);
}

static void check_parent(struct tally *t, const char *credential, const char *path)
{
    char buf[4096];

    (void)snprintf(buf, sizeof buf, "%s", path);
    check_writable(t, credential, dirname(buf));
}

static void check_server(struct tally *t, const char *credential, const char *kubeconfig, const char *context)
{
    struct cfr_kube_where where = {kubeconfig, context};
    struct cfr_err err = {0};

    if (cfr_kube_check(&where, &err) != 0)
        problem(t, credential, err.text);
}

static void check_target(struct tally *t, const struct cfr_config_credential *c, const struct cfr_config_publish *p)
{
    check_ids(t, c->name, p->owner, p->group);
    for (size_t i = 0; i < p->files.count; i++) {
        const struct cfr_config_file *f = (const struct cfr_config_file *)p->files.items + i;

        check_ids(t, c->name, f->owner, f->group);
    }
    if (p->directory != NULL)
        check_writable(t, c->name, p->directory);
    if (p->file != NULL) {
        check_parent(t, c->name, p->file->path);
        check_ids(t, c->name, p->file->owner, p->file->group);
        if (!p->file->in_place && cfr_file_is_mount(p->file->path))
            problem(t, c->name,
                    "the file is a mount point of its own and cannot be replaced by rename: mount its "
                    "directory, or set in_place: true");
    }
    if (p->secret != NULL)
        check_server(t, c->name, p->secret->kubeconfig, p->secret->context);
    if (p->profile != NULL) {
        check_parent(t, c->name, p->profile->path);
        check_ids(t, c->name, p->profile->owner, p->profile->group);
    }
}

static void check_hook(struct tally *t, const char *credential, const struct cfr_config_hook *h)
{
    struct cfr_err err = {0};

    if (h->exec.count != 0 && access(h->exec.items[0], X_OK) != 0) {
        (void)cfr_err_sys(&err, errno, "hook: cannot run %s", h->exec.items[0]);
        problem(t, credential, err.text);
    }
    if (h->signal != NULL && h->signal->pid_file != NULL && access(h->signal->pid_file, R_OK) != 0) {
        (void)cfr_err_sys(&err, errno, "hook: cannot read %s now", h->signal->pid_file);
        warning(t, credential, err.text);
    }
}

static void check_acknowledged(struct tally *t, const char *credential, const char *path)
{
    struct cfr_err err = {0};
    const char *name;
    int fd = cfr_path_open_parent(path, false, &name, &err);

    if (fd >= 0) {
        (void)close(fd);
        return;
    }
    (void)cfr_err_prefix(&err, "acknowledge");
    if (fd == CFR_E_MISSING)
        warning(t, credential, err.text);
    else
        problem(t, credential, err.text);
}

static void tell_material(struct tally *t, const struct cfr_config_credential *c, const struct cfr_source_inputs *m)
{
    char words[CFR_TIME_WORDS_MAX];

    if (m->mounted.note[0] != '\0')
        warning(t, c->name, m->mounted.note);
    if (c->secret != NULL)
        say("ok", c->name, "Secret of kind %s, %s", cfr_mounted_kinds[m->mounted.kind],
            m->provider != NULL ? "to be exchanged" : "to be passed on");
    if (m->stood_in_for != NULL)
        warning(t, c->name, m->stood_in_for);
    if (m->subject != NULL)
        say("ok", c->name, "token of %s, good for %s", m->subject,
            cfr_time_words(m->expires_s * 1000 - cfr_clock_now().wall_ms, words));
    if (m->token_path != NULL && cfr_file_is_mount(m->token_path))
        warning(t, c->name, "the token file is a subPath mount, which never changes: mount the whole volume");
}

static void check_material(struct tally *t, const struct cfr_config_credential *c)
{
    struct cfr_source_inputs m;
    struct cfr_err err = {0};
    int64_t wait_ms;
    int rc = cfr_source_inputs_read(c, cfr_clock_now().wall_ms, 0, &m, &wait_ms, &err);

    if (rc == CFR_E_MISSING)
        warning(t, c->name, err.text);
    else if (rc != 0)
        problem(t, c->name, err.text);
    else
        tell_material(t, c, &m);
    if (c->token != NULL && c->token->request != NULL)
        check_server(t, c->name, c->token->request->kubeconfig, c->token->request->context);
    cfr_source_inputs_free(&m);
}

static void check_credential(struct tally *t, const struct cfr_config_credential *c)
{
    check_material(t, c);
    for (size_t i = 0; i < c->publish.count; i++)
        check_target(t, c, (const struct cfr_config_publish *)c->publish.items + i);
    for (size_t i = 0; i < c->reload.count; i++)
        check_hook(t, c->name, (const struct cfr_config_hook *)c->reload.items + i);
    for (size_t i = 0; i < c->acknowledge.count; i++) {
        const struct cfr_config_acknowledge *a = (const struct cfr_config_acknowledge *)c->acknowledge.items + i;

        if (a->file != NULL)
            check_acknowledged(t, c->name, a->file);
    }
}

/* ---- image credentials ---- */

/* What the kubelet's request says is not known here. */
static void check_image(struct tally *t, const struct cfr_config_image *c)
{
    struct cfr_source_token_file token;
    struct cfr_err err = {0};
    int64_t wait_ms;
    void *config;

    if (c->token != NULL && c->token->request != NULL)
        check_server(t, c->name, c->token->request->kubeconfig, c->token->request->context);
    if (c->token != NULL && c->token->file != NULL) {
        if (cfr_source_token_file_read(c->token, cfr_clock_now().wall_ms, &token, &wait_ms, &err) != 0)
            warning(t, c->name, err.text);
        cfr_source_token_file_free(&token);
    }
    say("ok", c->name, "logins by %s for %zu patterns of images",
        cfr_config_exchange_provider(c->exchange, &config)->name, c->match.count);
}

/* ---- --online ---- */

struct online {
    struct tally *tally;
    const struct cfr_config_credential *credential;
    bool done;
};

static void judge(struct online *o, struct cfr_source_exchange_result *result)
{
    const char *name = o->credential->name;
    struct cfr_err err = result->err;
    char words[CFR_TIME_WORDS_MAX];
    int64_t left_s = result->grant->expires_s - cfr_clock_now().wall_ms / 1000;
    const char *life = result->grant->expires_s != 0 ? cfr_time_words(left_s * 1000, words) : "ever";

    struct cfr_publish_from from = {result->provider, result->config, result->contents, result->content_count, NULL};

    struct cfr_publish_render render = {name, &from, result->grant, 1, NULL};

    if (result->rc == 0 && cfr_publish_rehearse(o->credential, &from, result->grant, &err) == 0 &&
        cfr_publish_secret_rehearse(o->credential, &render, &err) == 0)
        say("ok", name, "exchanged in %.0f ms: %s, good for %s", result->duration_s * 1000,
            result->grant->identity != NULL ? result->grant->identity : "no name", life);
    else
        problem(o->tally, name, err.text);
}

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct online *o = ctx;

    o->done = true;
    judge(o, result);
}

/* The engines that requests go through, and what is told. */
struct engines {
    struct cfr_http *http;
    struct cfr_kube *kube;
    struct tally *tally;
};

static int wait_for(const struct engines *g, const struct online *o, struct cfr_err *err)
{
    int rc = 0;

    while (rc == 0 && !o->done) {
        rc = cfr_http_step(g->http, NULL, 0, PLUGIN_LOOK_MS, err);
        cfr_kube_child(g->kube);
        cfr_kube_step(g->kube, cfr_clock_now());
    }
    return rc;
}

static void exchange(const struct engines *g, const struct cfr_config_credential *c)
{
    struct online o = {g->tally, c, false};
    struct cfr_exchange *e = NULL;
    struct cfr_source_inputs m;
    struct cfr_err err = {0};
    int64_t wait_ms;
    int rc = cfr_source_inputs_read(c, cfr_clock_now().wall_ms, 0, &m, &wait_ms, &err);

    if (rc == CFR_E_MISSING)
        problem(g->tally, c->name, err.text); /* only a warning before, but nothing can be exchanged without it */
    if (rc == 0 && !cfr_source_inputs_is_final(&m)) {
        rc = cfr_source_exchange_start(g->http, g->kube, c, &m, on_exchanged, &o, &e, &err);
        if (rc != 0)
            problem(g->tally, c->name, err.text);
        else
            (void)wait_for(g, &o, &err);
    }
    cfr_source_inputs_free(&m);
}

static int check_online(struct tally *t, const struct cfr_config *config)
{
    struct engines g = {.tally = t};
    struct cfr_err err = {0};
    int rc = cfr_http_open(&g.http, &err);

    if (rc == 0)
        rc = cfr_kube_open(g.http, &g.kube, &err);
    if (rc != 0)
        cfr_cli_complain("%s", err.text);
    for (size_t i = 0; rc == 0 && i < config->credentials.count; i++) {
        if (cfr_config_may_send(cfr_config_at(config, i)))
            exchange(&g, cfr_config_at(config, i));
    }
    if (g.kube != NULL)
        cfr_kube_close(g.kube);
    if (g.http != NULL)
        cfr_http_close(g.http);
    return rc == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

static void print_mistakes(const struct cfr_str *all, const struct cfr_err *err)
{
    if (all->len != 0)
        (void)fwrite(all->p, 1, all->len, stderr);
    else
        cfr_cli_complain("%s", err->text);
}

/* To be kept: what it says is what was checked. */
static void print_environment(void)
{
    struct cfr_str yaml = {.limit = 1048576};

    if (cfr_config_environment_yaml(environment, &yaml, NULL) == 0)
        (void)printf("%s\n", yaml.p);
    margin = "# ";
    cfr_str_free(&yaml);
}

int cfr_cmd_check(const struct cfr_cli_options *o)
{
    struct cfr_config *config = NULL;
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    struct tally t = {0, 0};

    cfr_json_setup();
    if (cfr_config_load(o->config, environment, &config, &all, &err) != 0) {
        print_mistakes(&all, &err);
        cfr_str_free(&all);
        return CFR_EXIT_CONFIG;
    }
    cfr_str_free(&all);
    if (o->config == NULL)
        print_environment();
    if (config->credentials.count != 0)
        check_writable(&t, "agent", config->state_dir);
    for (size_t i = 0; i < config->credentials.count; i++)
        check_credential(&t, cfr_config_at(config, i));
    for (size_t i = 0; i < config->image_credentials.count; i++)
        check_image(&t, cfr_config_image_at(config, i));
    if (o->online && check_online(&t, config) != CFR_EXIT_OK)
        t.errors++;
    (void)printf("%s%s: %zu credentials, %u errors, %u warnings\n", margin,
                 o->config != NULL ? o->config : "environment", config->credentials.count, t.errors, t.warnings);
    cfr_config_free(config);
    return t.errors != 0 ? CFR_EXIT_FAILED : CFR_EXIT_OK;
}
