/* SPDX-License-Identifier: MIT */
/* Check of what the targets are to hold: whether it can be rendered, and what SDKs do with it. */
#include "agent/doctor/doctor_private.h"

#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "base/time.h"
#include "files/format/format.h"
#include "sts/aws/aws.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is published without an exchange is there to be tried. What an agent makes itself is not. */
static void rehearse(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct cfr_publish_from from = {.provider = NULL};
    struct cfr_grant grant = {0};
    struct cfr_publish_render render = {c->name, &from, &grant, 1, NULL};
    struct cfr_err err = {0};

    if (!c->ready || !cfr_source_inputs_is_final(&c->material))
        return;
    if (cfr_source_inputs_grant(&c->material, &grant, &err) == 0 &&
        cfr_publish_rehearse(c->credential, &render, &err) != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "publish.format", NULL, "what there is cannot be published: %s",
                          err.text);
    cfr_grant_free(&grant);
}

/* The life of the token that C begins with, or 0 if it is not known. */
static int64_t token_life_ms(const struct cfr_doctor_case *c)
{
    if (c->has_claims && c->claims.iat != 0 && c->claims.exp != 0)
        return (cfr_claims_expires(&c->claims) - c->claims.iat) * 1000;
    return c->token != NULL && c->token->request != NULL ? c->token->request->expiration_ms : 0;
}

/* The `ca_file` of C's exchange, which its grant names to the consumers; NULL = none. */
static const char *ca_of_exchange(const struct cfr_doctor_case *c)
{
    const struct cfr_field *f = c->provider != NULL ? cfr_field_find(c->provider->table, cfr_view_of("ca_file")) : NULL;

    return f != NULL ? *(char *const *)(const void *)((const char *)c->config + f->offset) : NULL;
}

static void check_file(struct cfr_doctor *d, const struct cfr_doctor_case *c, const struct cfr_config_publish *t,
                       const struct cfr_config_file *f)
{
    const struct cfr_format *format = &cfr_formats[f->format];
    const char *ca_file = ca_of_exchange(c);
    int64_t life_ms = token_life_ms(c);
    char life[CFR_TIME_WORDS_MAX];
    char least[CFR_TIME_WORDS_MAX];

    cfr_doctor_at(d, c->name, f->node.line);
    cfr_doctor_form(d, c, f);
    if (format->token_least_ms != 0 && life_ms != 0 && life_ms < format->token_least_ms)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "publish.token-life",
                          "raise `expirationSeconds` of the projected volume, or `expiration` of the request",
                          "%s: the token lives %s; SDKs keep it for 10 min and then present one that has expired: "
                          "let it live %s or more",
                          format->name, cfr_time_words(life_ms, life), cfr_time_words(format->token_least_ms, least));
    if (f->clouds_auth != 0)
        cfr_doctor_report(
            d, CFR_FINDING_WARNING, "publish.clouds-auth", "leave `clouds_auth` out",
            "%s: with `clouds_auth: token` a program that runs longer than the token lives fails: clients "
            "read the file once",
            format->name);
    if (t->secret != NULL && (format->options & CFR_FORMAT_CACERT) != 0 && f->cacert == NULL && ca_file != NULL)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "publish.cacert", "write `cacert`",
                          "%s: names %s, a file of this machine, to the readers of a Secret of the cluster; write "
                          "`cacert`, the path at which they find the CA",
                          format->name, ca_file);
}

/* Whether F is a config of an SDK that exchanges a token which the directory T holds. */
static bool names_published_token(const struct cfr_config_publish *t, const struct cfr_config_file *f)
{
    const struct cfr_format *format = &cfr_formats[f->format];
    char path[PATH_MAX];

    for (size_t i = 0; i < t->files.count; i++) {
        const struct cfr_config_file *other = (const struct cfr_config_file *)t->files.items + i;

        if (!cfr_formats[other->format].is_token)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", t->directory, other->name);
        if (f->token_path != NULL ? strcmp(f->token_path, path) == 0 : format->needs_token_path)
            return true;
    }
    return false;
}

/* The token's file if the kubelet renews it, or NULL. */
static const char *projected_token(const struct cfr_doctor_case *c)
{
    const char *path = c->token != NULL ? c->token->file : NULL;
    char dir[PATH_MAX];
    char link[PATH_MAX];
    char target[256];

    if (path == NULL || c->token->json_field != NULL || c->token->request != NULL)
        return NULL;
    (void)snprintf(dir, sizeof dir, "%s", path);
    if ((size_t)snprintf(link, sizeof link, "%s/..data", dirname(dir)) >= sizeof link)
        return NULL;
    return readlink(link, target, sizeof target) > 0 ? path : NULL;
}

/* Where only the consumers' SDKs exchange, the kubelet's own file is better than a copy of it, which depends on us. */
static void recommend_projected(struct cfr_doctor *d, const struct cfr_doctor_case *c)
{
    const struct cfr_config_credential *one = c->credential;
    const char *path = projected_token(c);
    const struct cfr_config_file *found = NULL;
    bool needed = one->served;

    for (size_t i = 0; i < one->publish.count; i++) {
        const struct cfr_config_publish *t = (const struct cfr_config_publish *)one->publish.items + i;

        needed = needed || t->directory == NULL;
        for (size_t k = 0; k < t->files.count; k++) {
            const struct cfr_config_file *f = (const struct cfr_config_file *)t->files.items + k;

            if (names_published_token(t, f))
                found = f;
            else
                needed = needed || !cfr_formats[f->format].is_token;
        }
    }
    if (needed || found == NULL || path == NULL)
        return;
    cfr_doctor_at(d, c->name, found->node.line);
    cfr_doctor_report(
        d, CFR_FINDING_WARNING, "publish.token-path",
        "mount the token's volume in the consumer, too, and write its path as `token_path`",
        "%s: nothing but the token is used, and a copy of it depends on credfresh; write `token_path: %s`, "
        "which the kubelet renews, where the consumer has that volume",
        cfr_formats[found->format].name, path);
}

struct serving {
    struct cfr_doctor *d;
    const struct cfr_doctor_case *c;
    const struct cfr_sdk_shape *shape;
    int64_t life_ms;
};

static void check_use(void *ctx, const struct cfr_sdk_use *use)
{
    const struct serving *s = ctx;
    char life[CFR_TIME_WORDS_MAX];

    if (use->credential == NULL || strcmp(use->credential, s->c->name) != 0)
        return;
    cfr_doctor_at(s->d, s->c->name, use->line);
    cfr_doctor_report(s->d, CFR_FINDING_WARNING, "publish.session-life",
                      "write a longer `duration`, or serve it by `aws_container`",
                      "%s: sessions live %s; SDKs use keys of this endpoint past their end when they live less than "
                      "20 min: write a longer `duration`, or serve them by aws_container",
                      s->shape->name, cfr_time_words(s->life_ms, life));
}

/* The life of the session that an exchange with AWS ends with. */
static int64_t session_life_ms(const struct cfr_doctor_case *c)
{
    const struct cfr_aws *aws = c->provider == &cfr_aws_provider ? c->config : NULL;

    if (aws == NULL)
        return 0;
    if (aws->then_assume.count == 0)
        return cfr_aws_duration_ms(aws);
    return ((const struct cfr_aws_step *)aws->then_assume.items)[aws->then_assume.count - 1].duration_ms;
}

static void check_served(struct cfr_doctor *d, const struct cfr_doctor_case *c)
{
    struct serving s = {.d = d, .c = c, .life_ms = session_life_ms(c)};
    void *config;

    for (size_t i = 0; i < d->config->endpoints.count; i++) {
        const struct cfr_config_endpoint *e = cfr_config_endpoint_at(d->config, i);

        for (size_t k = 0; (s.shape = cfr_config_shape_at(e, k, &config)) != NULL; k++) {
            if (s.life_ms != 0 && s.life_ms < s.shape->session_least_ms)
                s.shape->each_use(config, check_use, &s);
        }
    }
}

void cfr_doctor_publish(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const struct cfr_config_credential *one = c->credential;

    cfr_doctor_at(d, c->name, c->line);
    rehearse(d, c);
    for (size_t i = 0; i < one->publish.count; i++) {
        const struct cfr_config_publish *t = (const struct cfr_config_publish *)one->publish.items + i;
        const struct cfr_config_secret *object = cfr_config_cluster_object(t);
        const struct cfr_list *files = object != NULL ? &object->keys : &t->files;

        if (t->file != NULL)
            check_file(d, c, t, t->file);
        for (size_t k = 0; k < files->count; k++)
            check_file(d, c, t, (const struct cfr_config_file *)files->items + k);
    }
    recommend_projected(d, c);
    check_served(d, c);
}
