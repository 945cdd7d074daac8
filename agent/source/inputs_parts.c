/* SPDX-License-Identifier: MIT */
/* Parts of inputs that several sources share: fingerprints, the token, the files that a provider's configuration names.
 */
#include "agent/source/inputs_private.h"
#include "agent/source/token_place_private.h"

#include "agent/loop/slow_file.h"

#include "base/hash.h"

#include <errno.h>
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

void cfr_source_add_mark(struct cfr_source_inputs *m, uint64_t mark)
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

/* What is in a variable cannot change while we run. */
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

/* An encoding that no reader of a key, password or document expects, as an editor may have left it. */
static int check_form(const char *key, const char *path, const struct cfr_secret *text, struct cfr_err *err)
{
    struct cfr_view all = cfr_secret_view(text);
    enum cfr_view_form form = cfr_view_form(all);
    enum cfr_view_form rest = CFR_FORM_TEXT;

    if (form == CFR_FORM_MARKED)
        rest = cfr_view_form((struct cfr_view){all.p + 3, all.n - 3});
    /* Readers of JSON and of ini files skip the mark. */
    if ((form != CFR_FORM_UTF16 && form != CFR_FORM_MARKED && form != CFR_FORM_ARCHIVE && form != CFR_FORM_HEADER) ||
        rest == CFR_FORM_JSON || rest == CFR_FORM_INI)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "%s: %s is %s", key, path, cfr_view_mistake(all, CFR_FORM_TEXT));
}

static int read_content(struct cfr_source_inputs *m, const char *key, const char *path, struct cfr_err *err)
{
    struct cfr_secret *to = &m->files[m->content_count];
    struct stat st;
    uint64_t mark = CFR_HASH_START;
    int rc;

    if (strncmp(path, VARIABLE, sizeof VARIABLE - 1) == 0)
        return read_variable(m, key, path + sizeof VARIABLE - 1, err);
    cfr_secret_init(to, CONTENT_MAX);
    rc = cfr_slow_file_read(path, to, &st, err);
    if (rc != 0)
        return cfr_err_prefix(err, "%s", key);
    rc = check_form(key, path, to, err);
    if (rc != 0)
        return rc;
    m->contents[m->content_count] = (struct cfr_sts_content){key, cfr_view_trim(cfr_secret_view(to))};
    if (m->contents[m->content_count++].bytes.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "%s: %s is empty", key, path);
    mark = cfr_hash_add(mark, &st.st_ino, sizeof st.st_ino);
    mark = cfr_hash_add(mark, &st.st_size, sizeof st.st_size);
    mark = cfr_hash_add(mark, &st.st_mtim.tv_sec, sizeof st.st_mtim.tv_sec);
    cfr_source_add_mark(m, cfr_hash_add(mark, &st.st_mtim.tv_nsec, sizeof st.st_mtim.tv_nsec));
    return 0;
}

/* Calls FN for each file that CONFIG names: KEY is the name in its table. The first error ends it. */
typedef int content_fn(void *ctx, const char *key, const char *path, struct cfr_err *err);

static int each_content(const struct cfr_table *table, const void *config, content_fn *fn, void *ctx,
                        struct cfr_err *err)
{
    int rc = 0;

    for (const struct cfr_field *f = table->fields; rc == 0 && f->key != NULL; f++) {
        const char *path = content_path(f, config);

        if (path != NULL)
            rc = fn(ctx, f->key, path, err);
    }
    return rc;
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

static int add_content(void *ctx, const char *key, const char *path, struct cfr_err *err)
{
    struct cfr_source_inputs *m = ctx;

    if (has_content(m, key))
        return 0;
    if (m->content_count == CFR_STS_CONTENTS_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: the exchange names more than %d files; name fewer", key,
                           CFR_STS_CONTENTS_MAX);
    return read_content(m, key, path, err);
}

int cfr_source_read_contents(struct cfr_source_inputs *m, struct cfr_err *err)
{
    return m->provider != NULL ? each_content(m->provider->table, m->config, add_content, m, err) : 0;
}

/* ---- the token ---- */

static bool wants_token(const struct cfr_config_credential *c, const struct cfr_source_inputs *m)
{
    if (m->provider != NULL)
        return c->token != NULL || m->mounted.token_file != NULL || cfr_sts_needs_token(m->provider, m->config);
    return m->volume == NULL;
}

static bool names_token_file(const struct cfr_config_credential *c)
{
    return c->token != NULL && c->token->file != NULL;
}

static int set_path(const struct cfr_config_credential *c, struct cfr_source_inputs *m, struct cfr_err *err)
{
    const char *path = names_token_file(c) ? c->token->file : m->mounted.token_file;
    int rc;

    if (path == NULL)
        return 0;
    /* What is refused is not watched either. */
    rc = names_token_file(c) ? 0 : cfr_source_token_place_check(c->secret->token_directory, path, err);
    if (rc != 0)
        return cfr_err_prefix(err, "the Secret in %s", c->secret->directory);
    m->token_path = strdup(path);
    return m->token_path != NULL ? 0 : cfr_err_nomem(err);
}

void cfr_source_move_token(struct cfr_source_inputs *m, struct cfr_source_token_file *t)
{
    cfr_secret_move(&m->token, &t->token);
    m->subject = t->subject;
    t->subject = NULL;
    cfr_source_add_mark(m, t->mark);
}

/* The request takes over from the file. */
static int fall_back(struct cfr_source_inputs *m, const char *why, struct cfr_err *err)
{
    m->requested = true;
    m->issued_s = 0;
    m->expires_s = 0;
    m->fallback_reason = strdup(why);
    return m->fallback_reason != NULL ? 0 : cfr_err_nomem(err);
}

/* The server that exchanges a token decides by its own clock, and ours may be wrong: a token is refused here only if
 * both clocks agree, and tried while the server's is not known. A request can replace what ours refuses. */
static struct cfr_source_time time_of(const struct cfr_source_env *env, const struct cfr_source_inputs *m,
                                      bool may_request)
{
    int64_t ours_ms = env->now.wall_ms;
    int64_t servers_ms = env->server_ms;

    if (m->provider == NULL || (servers_ms == 0 && may_request))
        return (struct cfr_source_time){ours_ms, INT64_MAX};
    if (servers_ms == 0)
        return (struct cfr_source_time){INT64_MIN, INT64_MAX};
    return ours_ms < servers_ms ? (struct cfr_source_time){ours_ms, servers_ms}
                                : (struct cfr_source_time){servers_ms, ours_ms};
}

static int read_token(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                      struct cfr_source_inputs *m, int64_t *wait_ms, struct cfr_err *err)
{
    bool may_request = c->token != NULL && c->token->request != NULL;
    struct cfr_config_token from = {.file = m->token_path, .json_field = m->mounted.token_field};
    const char *directory = names_token_file(c) ? NULL : c->secret->token_directory;
    const struct cfr_source_time now = time_of(env, m, may_request);
    struct cfr_source_token_file t;
    struct cfr_err why = {0};
    int rc;

    if (c->token != NULL)
        from.audience = c->token->audience;
    if (names_token_file(c))
        from.json_field = c->token->json_field;
    rc = cfr_source_token_file_read(&from, directory, &now, &t, wait_ms, &why);

    m->issued_s = t.issued_s;
    m->expires_s = t.expires_s;
    if (rc == CFR_E_CONFIG && directory != NULL) {
        free(m->token_path);
        m->token_path = NULL;
    }
    if (rc == CFR_E_NOMEM || (rc != 0 && !may_request)) {
        if (err != NULL)
            *err = why;
    } else if (rc != 0) {
        rc = fall_back(m, why.text, err);
    } else if (may_request && !env->trust &&
               env->now.wall_ms >= cfr_source_token_file_overdue_ms(t.issued_s, t.expires_s)) {
        m->token_mark = join(m->mark, t.mark);
        (void)cfr_err_set(&why, CFR_E_TOKEN_EXPIRED,
                          "the token in %s is past 80 %% of its lifetime and is not replaced", m->token_path);
        rc = fall_back(m, why.text, err);
    } else {
        cfr_source_move_token(m, &t);
    }
    cfr_source_token_file_free(&t);
    return rc;
}

int cfr_source_find_token(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                          struct cfr_source_inputs *m, int64_t *wait_ms, struct cfr_err *err)
{
    int rc;

    if (!wants_token(c, m))
        return 0;
    rc = set_path(c, m, err);
    if (rc != 0)
        return rc;
    if (m->token_path != NULL)
        return read_token(env, c, m, wait_ms, err);
    m->requested = c->token != NULL && c->token->request != NULL;
    if (!m->requested)
        return cfr_err_set(err, CFR_E_CONFIG, "the exchange needs a token; write `token:` with `file` or `request`");
    return 0;
}

/* ---- watching ---- */

void cfr_source_watch_path(struct cfr_source_watching *w, const char *path)
{
    struct cfr_err err = {0};
    int rc = 0;

    if (path != NULL && cfr_slow_file_is(path))
        rc = cfr_err_set(&err, CFR_E_PATH,
                         "%s lies on a network or FUSE file system, or behind a link that another user can change, and "
                         "may not answer",
                         path);
    else if (path != NULL)
        rc = cfr_watch_add(w->watch, path, w->watcher, &err);

    if (rc == 0 || w->rc != 0)
        return;
    w->rc = rc;
    if (w->err != NULL)
        *w->err = err;
}

static int watch_content(void *ctx, const char *key, const char *path, struct cfr_err *err)
{
    (void)key;
    (void)err;
    if (strncmp(path, VARIABLE, sizeof VARIABLE - 1) != 0)
        cfr_source_watch_path(ctx, path);
    return 0;
}

void cfr_source_watch_contents(struct cfr_source_watching *w, const struct cfr_config_credential *c)
{
    const void *config;
    const struct cfr_sts_provider *provider = cfr_config_provider(c, &config);

    if (provider != NULL)
        (void)each_content(provider->table, config, watch_content, w, NULL);
}
