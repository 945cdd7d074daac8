/* SPDX-License-Identifier: MIT */
/* check: the configuration, what it needs of this machine, and with --online every exchange. */
#include "agent/command.h"

#include "agent/publish.h"
#include "agent/token_file.h"
#include "base/json.h"
#include "base/time.h"
#include "files/path.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tally {
    unsigned errors;
    unsigned warnings;
};

static const char *environment(const char *name)
{
    return getenv(name);
}

static void say(const char *mark, const char *credential, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void say(const char *mark, const char *credential, const char *fmt, ...)
{
    va_list ap;

    (void)printf("%-5s  %s: ", mark, credential);
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
            problem(t, c->name, "the file is a mount point of its own and cannot be replaced by rename: mount its "
                                "directory, or set in_place: true");
    }
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

static void check_token(struct tally *t, const struct cfr_config_credential *c)
{
    struct cfr_token_file token;
    struct cfr_err err = {0};
    int64_t wait_ms;
    char words[CFR_TIME_WORDS_MAX];
    int64_t now_ms = cfr_clock_now().wall_ms;
    int rc = cfr_token_file_read(c->token, now_ms, &token, &wait_ms, &err);

    if (rc == CFR_E_MISSING)
        warning(t, c->name, err.text);
    else if (rc != 0)
        problem(t, c->name, err.text);
    else
        say("ok", c->name, "token of %s, good for %s", token.subject,
            cfr_time_words(token.expires_s * 1000 - now_ms, words));
    if (rc == 0 && cfr_file_is_mount(c->token->file))
        warning(t, c->name, "the token file is a subPath mount, which never changes: mount the whole volume");
    cfr_token_file_free(&token);
}

static void check_credential(struct tally *t, const struct cfr_config_credential *c)
{
    check_token(t, c);
    for (size_t i = 0; i < c->publish.count; i++)
        check_target(t, c, (const struct cfr_config_publish *)c->publish.items + i);
    for (size_t i = 0; i < c->reload.count; i++)
        check_hook(t, c->name, (const struct cfr_config_hook *)c->reload.items + i);
}

/* ---- --online ---- */

struct online {
    struct tally *tally;
    const struct cfr_config_credential *credential;
    bool done;
};

static void judge(struct online *o, struct cfr_exchange_result *result)
{
    const char *name = o->credential->name;
    struct cfr_err err = result->err;
    char words[CFR_TIME_WORDS_MAX];
    int64_t now_s = cfr_clock_now().wall_ms / 1000;
    int64_t left_s = result->grant->expires_s - now_s;

    if (result->rc == 0 && cfr_publish_rehearse(o->credential, result->grant, &err) == 0)
        say("ok", name, "exchanged in %.0f ms: %s, good for %s", result->duration_s * 1000,
            result->grant->identity != NULL ? result->grant->identity : "no name", cfr_time_words(left_s * 1000, words));
    else
        problem(o->tally, name, err.text);
}

static void on_exchanged(void *ctx, struct cfr_exchange_result *result)
{
    struct online *o = ctx;

    o->done = true;
    judge(o, result);
}

static void exchange(struct cfr_http *http, struct tally *t, const struct cfr_config_credential *c)
{
    struct online o = {t, c, false};
    struct cfr_exchange *e = NULL;
    struct cfr_token_file token;
    struct cfr_err err = {0};
    int64_t wait_ms;
    int rc = cfr_token_file_read(c->token, cfr_clock_now().wall_ms, &token, &wait_ms, &err);

    if (rc == CFR_E_MISSING)
        problem(t, c->name, err.text); /* only a warning before, but nothing can be exchanged without it */
    if (rc == 0)
        rc = cfr_exchange_start(http, c, &token.token, cfr_view_of(token.subject), on_exchanged, &o, &e, &err);
    if (rc != 0 && rc != CFR_E_MISSING)
        problem(t, c->name, err.text);
    while (rc == 0 && !o.done)
        rc = cfr_http_step(http, NULL, 0, 1000, &err);
    cfr_token_file_free(&token);
}

static int check_online(struct tally *t, const struct cfr_config *config)
{
    struct cfr_http *http = NULL;
    struct cfr_err err = {0};

    if (cfr_http_open(&http, &err) != 0) {
        cfr_command_complain("%s", err.text);
        return CFR_EXIT_FAILED;
    }
    for (size_t i = 0; i < config->credentials.count; i++) {
        if (cfr_config_at(config, i)->exchange != NULL)
            exchange(http, t, cfr_config_at(config, i));
    }
    cfr_http_close(http);
    return CFR_EXIT_OK;
}

static void print_mistakes(const struct cfr_str *all, const struct cfr_err *err)
{
    if (all->len != 0)
        (void)fwrite(all->p, 1, all->len, stderr);
    else
        cfr_command_complain("%s", err->text);
}

int cfr_command_check(const struct cfr_options *o)
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
    check_writable(&t, "agent", config->state_dir);
    for (size_t i = 0; i < config->credentials.count; i++)
        check_credential(&t, cfr_config_at(config, i));
    if (o->online && check_online(&t, config) != CFR_EXIT_OK)
        t.errors++;
    (void)printf("%s: %zu credentials, %u errors, %u warnings\n", o->config, config->credentials.count, t.errors,
                 t.warnings);
    cfr_config_free(config);
    return t.errors != 0 ? CFR_EXIT_FAILED : CFR_EXIT_OK;
}
