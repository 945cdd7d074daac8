/* SPDX-License-Identifier: MIT */
/* Trial of a new key by an exchange, before it is published. */
#include "agent/rotation/verify_private.h"

#include "sts/core/config.h"
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
    cfr_sts_config_free(t->provider, t->config);
    free(t);
}

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct cfr_trial *t = ctx;

    /* It ended while it was started. */
    if (t->exchange == NULL)
        return;
    t->done(t->ctx, result);
    destroy(t);
}

static int configure(struct cfr_trial *t, const struct cfr_rotation_trial *what, struct cfr_err *err)
{
    int rc;

    t->provider = cfr_sts_find(cfr_view_of(what->provider));
    if (t->provider == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "no exchange with %s", what->provider);
    rc = cfr_sts_config_new(t->provider, NULL, &t->config, err);
    for (size_t i = 0; rc == 0 && i < what->setting_count; i++)
        rc = cfr_sts_config_set(t->provider, t->config, what->settings[i].key, what->settings[i].value, err);
    return rc;
}

static int add_content(struct cfr_trial *t, const struct cfr_rotation_trial_value *from, struct cfr_source_inputs *m,
                       struct cfr_err *err)
{
    struct cfr_secret *copy = &m->files[m->content_count];
    int rc;

    cfr_secret_init(copy, CONTENT_MAX);
    rc = cfr_secret_append(copy, from->value, err);
    return rc == 0 ? cfr_sts_config_add_content(t->provider, t->config, from->key, cfr_secret_view(copy), m->contents,
                                                &m->content_count, err)
                   : rc;
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
