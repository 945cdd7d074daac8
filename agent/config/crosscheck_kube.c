/* SPDX-License-Identifier: MIT */
/* Rules of the configuration about objects of the cluster, each of which has one writer, and about image credentials.
 */
#include "agent/config/crosscheck_private.h"

#include "agent/config/image.h"
#include "agent/config/schema_private.h"

#include <stdlib.h>
#include <string.h>

/* A Secret or ConfigMap, and who writes it. */
struct target {
    const struct cfr_config_secret *secret;
    const struct cfr_config_credential *credential;
};

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* Two ways to one API server, or to one namespace, cannot be distinguished before they are used. */
static int compare_places(const struct target *a, const struct target *b)
{
    int order = (int)(a->secret->type == NULL) - (int)(b->secret->type == NULL);

    if (order == 0)
        order = compare_texts(a->secret->name, b->secret->name);

    if (order == 0)
        order = compare_texts(a->secret->namespace_name, b->secret->namespace_name);
    if (order == 0)
        order = compare_texts(a->secret->kubeconfig, b->secret->kubeconfig);
    return order != 0 ? order : compare_texts(a->secret->context, b->secret->context);
}

static int compare(const void *a, const void *b)
{
    const struct target *x = a;
    const struct target *y = b;
    int order = compare_places(x, y);

    return order != 0 ? order : x->secret->node.line - y->secret->node.line;
}

static void collect(const struct cfr_config_credential *c, struct target *all, size_t *count)
{
    for (size_t i = 0; i < c->publish.count; i++) {
        const struct cfr_config_publish *p = (const struct cfr_config_publish *)c->publish.items + i;

        const struct cfr_config_secret *object = cfr_config_cluster_object(p);

        if (object != NULL && object->name != NULL)
            all[(*count)++] = (struct target){object, c};
    }
}

/* The state of a shared rotation would be overwritten. */
static void check_states(const struct cfr_config *config, const struct target *all, size_t count,
                         struct cfr_config_diagnostics *problems)
{
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);
        const struct cfr_config_mint_state *s = c->mint != NULL ? c->mint->state : NULL;

        for (size_t k = 0; s != NULL && s->secret != NULL && k < count; k++) {
            const struct cfr_config_secret *o = all[k].secret;

            if (o->type != NULL && compare_texts(o->name, s->secret) == 0 &&
                compare_texts(o->namespace_name, s->namespace_name) == 0 &&
                compare_texts(o->kubeconfig, s->kubeconfig) == 0 && compare_texts(o->context, s->context) == 0)
                cfr_config_diagnostics_add(problems, o->node.line,
                                           "credential %.63s: publish.secret: %.100s has the state of a rotation "
                                           "(`mint.state`, line %d); choose another name",
                                           cfr_config_label(all[k].credential->name), o->name, s->node.line);
        }
    }
}

void cfr_config_check_cluster(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    struct target *all;
    size_t count = 1;

    for (size_t i = 0; i < config->credentials.count; i++)
        count += cfr_config_at(config, i)->publish.count;
    all = calloc(count, sizeof *all);
    if (all == NULL) {
        problems->nomem = true;
        return;
    }
    count = 0;
    for (size_t i = 0; i < config->credentials.count; i++)
        collect(cfr_config_at(config, i), all, &count);
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 1; i < count; i++) {
        const struct target *t = &all[i];

        if (compare_places(t, &all[i - 1]) == 0)
            cfr_config_diagnostics_add(
                problems, t->secret->node.line,
                "credential %.63s: publish.%s: %.100s is also written on line %d; choose another name, or "
                "put the keys of both into one",
                cfr_config_label(t->credential->name), t->secret->type != NULL ? "secret" : "configmap",
                t->secret->name, all[i - 1].secret->node.line);
    }
    check_states(config, all, count, problems);
    free(all);
}

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

void cfr_config_check_image_names(const struct cfr_config *config, struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < config->image_credentials.count; i++) {
        const struct cfr_config_image *c = cfr_config_image_at(config, i);
        size_t k = 0;

        while (k < i && !same(cfr_config_image_at(config, k)->name, c->name))
            k++;
        if (k < i)
            cfr_config_diagnostics_add(
                ps, c->node.line,
                "image credential %.63s: name: another image credential has it, on line %d; rename one of "
                "them",
                c->name, cfr_config_image_at(config, k)->node.line);
    }
}

void cfr_config_check_images(const struct cfr_config *config, const char *(*env)(const char *),
                             struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < config->image_credentials.count && !ps->nomem; i++) {
        const struct cfr_config_image *c = cfr_config_image_at(config, i);
        struct cfr_config_exchange x;
        struct cfr_err err = {0};
        void *provider_config = NULL;
        const struct cfr_sts_provider *provider;
        int rc;

        if (c->node.faulty)
            continue;
        provider = cfr_config_exchange_provider(c->exchange, &provider_config);
        rc = cfr_config_image_resolve(c, NULL, env, &x, &err);
        if (rc == CFR_E_NOMEM)
            ps->nomem = true;
        else if (rc != 0)
            cfr_config_diagnostics_add(ps, ((const struct cfr_node *)provider_config)->line,
                                       "image credential %s: exchange.%s: %s", cfr_config_label(c->name),
                                       provider->name, err.text);
        cfr_field_free(&cfr_config_exchange_table, &x);
    }
}
