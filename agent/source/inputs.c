/* SPDX-License-Identifier: MIT */
/* Reading what an exchange begins with. */
#include "agent/source/inputs.h"

#include "agent/config/schema.h"
#include "agent/source/token_file.h"
#include "base/hash.h"
#include "base/str.h"
#include "files/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONTENT_MAX 262144
#define VARIABLE    "env:"

/* The token's alone stays what it is: it is compared with records of earlier runs. */
static uint64_t join(uint64_t all, uint64_t mark)
{
    return all == 0 ? mark : cfr_hash_add(cfr_hash_add(CFR_HASH_START, &all, sizeof all), &mark, sizeof mark);
}

static void add_mark(struct cfr_source_inputs *m, uint64_t mark)
{
    m->mark = join(m->mark, mark);
    if (m->token_mark != 0)
        m->token_mark = join(m->token_mark, mark);
}

/* ---- the files that the provider's configuration names ---- */

static const char *content_path(const struct cfr_field *f, const void *config)
{
    if (f->type != CFR_FIELD_STRING || (f->flags & CFR_FIELD_CONTENT) == 0)
        return NULL;
    return *(char *const *)(const void *)((const char *)config + f->offset);
}

/* Something that is not kept in a file; it cannot change while we run. */
static int read_variable(struct cfr_source_inputs *m, const char *key, const char *name, struct cfr_err *err)
{
    struct cfr_secret *to = &m->files[m->content_count];
    const char *value = getenv(name);
    int rc;

    if (value == NULL || value[0] == '\0')
        return cfr_err_set(err, CFR_E_CONFIG, "%s: the environment variable %s is not set", key, name);
    cfr_secret_init(to, CONTENT_MAX);
    rc = cfr_secret_append_str(to, value, err);
    if (rc == 0)
        m->contents[m->content_count++] = (struct cfr_sts_content){key, cfr_view_trim(cfr_secret_view(to))};
    return rc;
}

static int read_content(struct cfr_source_inputs *m, const char *key, const char *path, struct cfr_err *err)
{
    struct cfr_secret *to = &m->files[m->content_count];
    struct stat st;
    uint64_t mark = CFR_HASH_START;
    int rc;

    if (m->content_count == CFR_STS_CONTENTS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "no room for %s", key);
    if (strncmp(path, VARIABLE, sizeof VARIABLE - 1) == 0)
        return read_variable(m, key, path + sizeof VARIABLE - 1, err);
    cfr_secret_init(to, CONTENT_MAX);
    /* In this order, so that a file which is replaced in between counts as changed once more, not as the same. */
    rc = stat(path, &st) == 0 ? 0 : cfr_err_sys(err, errno, "cannot open %s", path);
    if (rc == 0)
        rc = cfr_file_read(path, to, err);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", key);
    m->contents[m->content_count] = (struct cfr_sts_content){key, cfr_view_trim(cfr_secret_view(to))};
    if (m->contents[m->content_count++].bytes.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "%s: %s is empty", key, path);
    mark = cfr_hash_add(mark, &st.st_ino, sizeof st.st_ino);
    mark = cfr_hash_add(mark, &st.st_size, sizeof st.st_size);
    mark = cfr_hash_add(mark, &st.st_mtim.tv_sec, sizeof st.st_mtim.tv_sec);
    add_mark(m, cfr_hash_add(mark, &st.st_mtim.tv_nsec, sizeof st.st_mtim.tv_nsec));
    return 0;
}

/* True for what a mounted Secret has brought already. */
static bool has_content(const struct cfr_source_inputs *m, const char *key)
{
    for (size_t i = 0; i < m->content_count; i++) {
        if (strcmp(m->contents[i].key, key) == 0)
            return true;
    }
    return false;
}

static int read_contents(struct cfr_source_inputs *m, struct cfr_err *err)
{
    int rc = 0;

    if (m->provider == NULL)
        return 0;
    for (const struct cfr_field *f = m->provider->table->fields; rc == 0 && f->key != NULL; f++) {
        const char *path = content_path(f, m->config);

        if (path != NULL && !has_content(m, f->key))
            rc = read_content(m, f->key, path, err);
    }
    return rc;
}

/* ---- a mounted Secret ---- */

static const char *environment(const char *name)
{
    return getenv(name);
}

static int judge_mounted(const struct cfr_config_credential *c, struct cfr_source_inputs *m, struct cfr_err *err)
{
    struct cfr_mounted_key keys[CFR_VOLUME_FILES_MAX];
    struct cfr_mounted_wish wish = {
        .expect = c->secret->kind, .pass_on = c->secret->pass_on, .directory = c->secret->directory};
    int rc;

    wish.provider = cfr_config_provider(c, &wish.config);
    for (size_t i = 0; i < m->volume->count; i++)
        keys[i] = (struct cfr_mounted_key){m->volume->names[i], cfr_secret_view(&m->volume->values[i])};
    rc = cfr_mounted_read(keys, m->volume->count, &wish, &m->mounted, err);
    if (rc == 0 && m->mounted.provider != NULL && m->mounted.provider->check != NULL)
        rc = m->mounted.provider->check(m->mounted.config, environment, err);
    if (rc != 0)
        return cfr_err_prefix(err, "the Secret in %s", c->secret->directory);
    m->provider = m->mounted.provider;
    m->config = m->mounted.config;
    for (size_t i = 0; i < m->mounted.content_count && i < CFR_STS_CONTENTS_MAX; i++)
        m->contents[m->content_count++] = m->mounted.contents[i];
    return 0;
}

static int read_mounted(const struct cfr_config_credential *c, struct cfr_source_inputs *m, struct cfr_err *err)
{
    int rc;

    m->volume = calloc(1, sizeof *m->volume);
    if (m->volume == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    rc = cfr_volume_read(c->secret->directory, m->volume, err);
    if (rc == CFR_E_MISSING)
        return cfr_err_set(err, rc, "waiting for the Secret in %s, which is not mounted yet", c->secret->directory);
    if (rc == 0)
        rc = judge_mounted(c, m, err);
    if (rc == 0)
        add_mark(m, m->volume->mark);
    return rc;
}

/* ---- the token ---- */

static bool wants_token(const struct cfr_config_credential *c, const struct cfr_source_inputs *m)
{
    if (m->provider != NULL)
        return c->token != NULL || m->mounted.token_file != NULL || cfr_sts_needs_token(m->provider, m->config);
    return m->volume == NULL;
}

static int set_path(const struct cfr_config_credential *c, struct cfr_source_inputs *m, struct cfr_err *err)
{
    const char *path = c->token != NULL && c->token->file != NULL ? c->token->file : m->mounted.token_file;

    if (path == NULL)
        return 0;
    m->token_path = strdup(path);
    return m->token_path != NULL ? 0 : cfr_err_set(err, CFR_E_NOMEM, "out of memory");
}

static void take_token(struct cfr_source_inputs *m, struct cfr_source_token_file *t)
{
    cfr_secret_move(&m->token, &t->token);
    m->subject = t->subject;
    t->subject = NULL;
    add_mark(m, t->mark);
}

/* The request takes over from the file. */
static int stand_in(struct cfr_source_inputs *m, const char *why, struct cfr_err *err)
{
    m->requested = true;
    m->issued_s = 0;
    m->expires_s = 0;
    m->stood_in_for = strdup(why);
    return m->stood_in_for != NULL ? 0 : cfr_err_set(err, CFR_E_NOMEM, "out of memory");
}

static int read_token(const struct cfr_config_credential *c, struct cfr_source_inputs *m, int64_t now_ms, bool trust,
                      int64_t *wait_ms, struct cfr_err *err)
{
    bool may_ask = c->token != NULL && c->token->request != NULL;
    struct cfr_config_token from = {.file = m->token_path, .json_field = m->mounted.token_field};
    struct cfr_source_token_file t;
    struct cfr_err why = {0};
    int rc;

    if (c->token != NULL)
        from.audience = c->token->audience;
    if (c->token != NULL && c->token->file != NULL)
        from.json_field = c->token->json_field;
    rc = cfr_source_token_file_read(&from, now_ms, &t, wait_ms, &why);

    m->issued_s = t.issued_s;
    m->expires_s = t.expires_s;
    if (rc == CFR_E_NOMEM || (rc != 0 && !may_ask)) {
        if (err != NULL)
            *err = why;
    } else if (rc != 0) {
        rc = stand_in(m, why.text, err);
    } else if (may_ask && !trust && now_ms >= cfr_source_token_file_overdue_ms(t.issued_s, t.expires_s)) {
        m->token_mark = join(m->mark, t.mark);
        (void)cfr_err_set(&why, CFR_E_TOKEN_EXPIRED, "the token in %s is past 80 %% of its life and nobody replaces it",
                          m->token_path);
        rc = stand_in(m, why.text, err);
    } else {
        take_token(m, &t);
    }
    cfr_source_token_file_free(&t);
    return rc;
}

static int find_token(const struct cfr_config_credential *c, struct cfr_source_inputs *m, int64_t now_ms, bool trust,
                      int64_t *wait_ms, struct cfr_err *err)
{
    int rc;

    if (!wants_token(c, m))
        return 0;
    rc = set_path(c, m, err);
    if (rc != 0)
        return rc;
    if (m->token_path != NULL)
        return read_token(c, m, now_ms, trust, wait_ms, err);
    m->requested = c->token != NULL && c->token->request != NULL;
    if (!m->requested)
        return cfr_err_set(err, CFR_E_CONFIG, "the exchange needs a token; write `token:` with `file` or `request`");
    return 0;
}

int cfr_source_inputs_read(const struct cfr_config_credential *c, int64_t now_ms, bool trust,
                           struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err)
{
    int rc = 0;

    *wait_ms = -1;
    *out = (struct cfr_source_inputs){.issued = cfr_config_is_issued(c), .minted = c->mint != NULL};
    if (out->issued || out->minted)
        return 0;
    if (c->secret != NULL)
        rc = read_mounted(c, out, err);
    else
        out->provider = cfr_config_provider(c, &out->config);
    if (rc == 0)
        rc = find_token(c, out, now_ms, trust, wait_ms, err);
    if (rc == 0)
        rc = read_contents(out, err);
    return rc;
}

int cfr_source_inputs_with_token(const struct cfr_config_credential *c, struct cfr_source_token_file *token,
                                 struct cfr_source_inputs *out, struct cfr_err *err)
{
    *out = (struct cfr_source_inputs){.issued_s = token->issued_s, .expires_s = token->expires_s};
    out->provider = cfr_config_provider(c, &out->config);
    take_token(out, token);
    return read_contents(out, err);
}

void cfr_source_inputs_free(struct cfr_source_inputs *m)
{
    cfr_secret_free(&m->token);
    free(m->subject);
    free(m->token_path);
    free(m->stood_in_for);
    cfr_mounted_free(&m->mounted);
    if (m->volume != NULL)
        cfr_volume_free(m->volume);
    free(m->volume);
    for (size_t i = 0; i < CFR_STS_CONTENTS_MAX; i++)
        cfr_secret_free(&m->files[i]);
    *m = (struct cfr_source_inputs){.provider = NULL};
}

void cfr_source_inputs_move(struct cfr_source_inputs *to, struct cfr_source_inputs *from)
{
    *to = *from;
    *from = (struct cfr_source_inputs){.provider = NULL};
}

bool cfr_source_inputs_is_final(const struct cfr_source_inputs *m)
{
    return m->provider == NULL && !m->requested;
}

static int grant_keys(const struct cfr_volume *v, struct cfr_grant *out, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < v->count; i++) {
        char name[sizeof CFR_FIELD_SECRET_PREFIX + 256];

        (void)snprintf(name, sizeof name, CFR_FIELD_SECRET_PREFIX "%s", v->names[i]);
        rc = cfr_grant_set(out, name, cfr_secret_view(&v->values[i]), err);
    }
    return rc;
}

int cfr_source_inputs_grant(const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err)
{
    int rc;

    if (m->issued || m->minted)
        return cfr_err_set(err, CFR_E_CONFIG, "%s is published by a running agent alone",
                           m->issued ? "what the service CA issues" : "a key that is minted");
    if (m->volume != NULL)
        return grant_keys(m->volume, out, err);
    rc = cfr_grant_set(out, CFR_FIELD_TOKEN, cfr_secret_view(&m->token), err);
    if (rc == 0)
        rc = cfr_grant_set_identity(out, cfr_view_of(m->subject), err);
    out->issued_s = m->issued_s;
    out->expires_s = m->expires_s;
    return rc;
}

/* ---- watching ---- */

struct watching {
    struct cfr_watch *watch;
    struct cfr_watcher *watcher;
    struct cfr_err *err;
    int rc;
};

static void watch_path(struct watching *w, const char *path)
{
    struct cfr_err err = {0};
    int rc = path != NULL ? cfr_watch_add(w->watch, path, w->watcher, &err) : 0;

    if (rc == 0 || w->rc != 0)
        return;
    w->rc = rc;
    if (w->err != NULL)
        *w->err = err;
}

static void watch_content(struct watching *w, const char *path)
{
    if (path != NULL && strncmp(path, VARIABLE, sizeof VARIABLE - 1) != 0)
        watch_path(w, path);
}

static void watch_below(struct watching *w, const char *directory, const char *name)
{
    char path[4096 + 260];

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    watch_path(w, path);
}

int cfr_source_inputs_watch(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                            struct cfr_watch *watch, struct cfr_watcher *watcher, struct cfr_err *err)
{
    struct watching w = {watch, watcher, err, 0};
    const void *config;
    const struct cfr_sts_provider *provider = cfr_config_provider(c, &config);

    if (c->token != NULL)
        watch_path(&w, c->token->file);
    for (const struct cfr_field *f = provider != NULL ? provider->table->fields : NULL; f != NULL && f->key != NULL;
         f++)
        watch_content(&w, content_path(f, config));
    if (c->secret != NULL)
        watch_below(&w, c->secret->directory, "..data");
    if (m != NULL && m->token_path != NULL && (c->token == NULL || c->token->file == NULL))
        watch_path(&w, m->token_path);
    return w.rc;
}
