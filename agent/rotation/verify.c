/* SPDX-License-Identifier: MIT */
/* An exchange with a key that is not published yet. */
#include "agent/rotation/verify_private.h"

#include "base/str.h"
#include "sts/providers.h"

#include <stdlib.h>

#define CONTENT_MAX 65536

struct cfr_trial {
    const struct cfr_sts_provider *provider;
    void *config; /* heap; the provider's */
    struct cfr_exchange *exchange;
    cfr_source_exchange_fn *done;
    void *ctx;
};

static void destroy(struct cfr_trial *t)
{
    if (t->config != NULL)
        cfr_field_free(t->provider->table, t->config);
    free(t->config);
    free(t);
}

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_trial *t = ctx;

    /* It has begun and ended in one. */
    if (t->exchange == NULL)
        return;
    t->done(t->ctx, result);
    destroy(t);
}

static int set_text(struct cfr_trial *t, const char *key, struct cfr_view value, struct cfr_err *err)
{
    const struct cfr_field *f = cfr_field_find(t->provider->table, cfr_view_of(key));

    if (f == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "an exchange with %s has no %s", t->provider->name, key);
    return cfr_field_store(f, t->config, value, true, err) != 0 ? cfr_err_prefix(err, "%s", key) : 0;
}

static int configure(struct cfr_trial *t, const struct cfr_rotation_trial *what, struct cfr_err *err)
{
    int rc;

    t->provider = cfr_sts_find(cfr_view_of(what->provider));
    if (t->provider == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no exchange with %s", what->provider);
    t->config = calloc(1, t->provider->table->size);
    if (t->config == NULL)
        return cfr_err_nomem(err);
    rc = cfr_field_defaults(t->provider->table, t->config, err);
    for (size_t i = 0; rc == 0 && i < what->setting_count; i++)
        rc = set_text(t, what->settings[i].key, what->settings[i].value, err);
    return rc;
}

/* The configuration names a file for each content, which is never read: FROM is what would be in it. */
static int add_content(struct cfr_trial *t, const struct cfr_rotation_trial_value *from, struct cfr_source_inputs *m,
                       struct cfr_err *err)
{
    const struct cfr_field *f = cfr_field_find(t->provider->table, cfr_view_of(from->key));
    struct cfr_secret *copy = &m->files[m->content_count];
    char **name;
    int rc;

    if (f == NULL || f->type != CFR_FIELD_STRING || m->content_count == CFR_STS_CONTENTS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "an exchange with %s has no %s", t->provider->name, from->key);
    name = (char **)(void *)((char *)t->config + f->offset);
    *name = cfr_str_dup(cfr_view_of(from->key));
    if (*name == NULL)
        return cfr_err_nomem(err);
    cfr_secret_init(copy, CONTENT_MAX);
    rc = cfr_secret_append(copy, from->value, err);
    m->contents[m->content_count++] = (struct cfr_sts_content){from->key, cfr_secret_view(copy)};
    return rc;
}

static int begin(struct cfr_trial *t, struct cfr_http *http, const struct cfr_config_credential *credential,
                 const struct cfr_rotation_trial *what, struct cfr_err *err)
{
    struct cfr_source_inputs m = {.mark = 0};
    int rc = configure(t, what, err);

    for (size_t i = 0; rc == 0 && i < what->content_count; i++)
        rc = add_content(t, &what->contents[i], &m, err);
    m.provider = t->provider;
    m.config = t->config;
    if (rc == 0)
        rc = cfr_source_exchange_start(http, NULL, credential, &m, on_exchanged, t, &t->exchange, err);
    cfr_source_inputs_free(&m);
    if (rc == 0 && t->exchange == NULL)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "the new key signs tokens that no server is asked for, so that it cannot be tried");
    return rc;
}

int cfr_rotator_verify_start(struct cfr_http *http, const struct cfr_config_credential *credential,
                             const struct cfr_rotation_trial *what, cfr_source_exchange_fn *done, void *ctx,
                             struct cfr_trial **out, struct cfr_err *err)
{
    struct cfr_trial *t = calloc(1, sizeof *t);
    int rc;

    *out = NULL;
    if (t == NULL)
        return cfr_err_nomem(err);
    t->done = done;
    t->ctx = ctx;
    rc = begin(t, http, credential, what, err);
    if (rc == 0)
        *out = t;
    else
        destroy(t);
    return rc;
}

void cfr_rotator_verify_cancel(struct cfr_trial *t)
{
    if (t == NULL)
        return;
    cfr_source_exchange_cancel(t->exchange);
    destroy(t);
}
