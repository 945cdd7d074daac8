/* SPDX-License-Identifier: MIT */
/* Token request to an API server. */
#include "agent/source/token_request_private.h"

#include "agent/loop/clock.h"
#include "base/str.h"
#include "kube/status.h"
#include "kube/token_request.h"
#include "token/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cfr_source_token_request {
    const struct cfr_config_token *config;
    struct cfr_kube_call *call;
    struct cfr_secret body;
    char namespace_name[254];
    char *bound_name; /* heap, when it comes from the environment */
    char *bound_uid;
    cfr_source_token_request_fn *done;
    void *ctx;
};

static void destroy(struct cfr_source_token_request *a)
{
    cfr_secret_free(&a->body);
    free(a->bound_name);
    free(a->bound_uid);
    free(a);
}

static int from_env(const char *key, const char *name, char **out, struct cfr_err *err)
{
    const char *value = getenv(name);

    if (value == NULL || value[0] == '\0')
        return cfr_err_set(err, CFR_E_CONFIG, "bound_to.%s: the environment variable %s is not set", key, name);
    *out = strdup(value);
    return *out != NULL ? 0 : cfr_err_nomem(err);
}

static int resolve_bound(struct cfr_source_token_request *a, struct cfr_err *err)
{
    const struct cfr_config_bound *b = a->config->request->bound_to;
    int rc = 0;

    if (b != NULL && b->name_env != NULL)
        rc = from_env("name_env", b->name_env, &a->bound_name, err);
    if (rc == 0 && b != NULL && b->uid_env != NULL)
        rc = from_env("uid_env", b->uid_env, &a->bound_uid, err);
    return rc;
}

static int resolve_namespace(struct cfr_source_token_request *a, struct cfr_kube *kube, struct cfr_err *err)
{
    const struct cfr_config_request *r = a->config->request;
    struct cfr_kube_where where = {r->kubeconfig, r->context};
    const char *name = r->namespace_name;
    int rc = name == NULL ? cfr_kube_find_namespace(kube, &where, "token.request", &name, err) : 0;

    if (rc != 0)
        return rc;
    (void)snprintf(a->namespace_name, sizeof a->namespace_name, "%s", name);
    return 0;
}

static struct cfr_k8s_token_request describe_request(const struct cfr_source_token_request *a)
{
    static const char *const kinds[] = {"Pod", "Secret", "Node"};
    const struct cfr_config_request *r = a->config->request;
    const struct cfr_config_bound *b = r->bound_to;
    struct cfr_k8s_token_request request = {
        .namespace_name = a->namespace_name,
        .service_account = r->service_account,
        .audiences = r->audiences.count != 0 ? r->audiences.items : (char *const *)&a->config->audience,
        .audience_count = r->audiences.count != 0 ? r->audiences.count : 1,
        .expiration_s = r->expiration_ms / 1000,
    };

    if (b != NULL) {
        request.bound_kind = kinds[b->kind];
        request.bound_name = a->bound_name != NULL ? a->bound_name : b->name;
        request.bound_uid = a->bound_uid != NULL ? a->bound_uid : b->uid;
    }
    return request;
}

static int refuse(const struct cfr_source_token_request *a, const struct cfr_kube_answer *answer,
                  struct cfr_token_answer *out)
{
    char what[400];
    struct cfr_k8s_token_request request = describe_request(a);
    struct cfr_k8s_asked asked = {.what = what,
                                  .verb = "create",
                                  .resource = "serviceaccounts/token",
                                  .name = request.service_account,
                                  .namespace_name = request.namespace_name,
                                  .audience = request.audiences[0],
                                  .secrets = answer->secrets,
                                  .secret_count = answer->secret_count};

    (void)snprintf(what, sizeof what, "a token for the service account %.100s/%.253s", a->namespace_name,
                   a->config->request->service_account);
    return cfr_k8s_refusal(answer->status, answer->body, &asked, &out->retry_after_s, &out->err);
}

/* The earliest of what the server says and what the token itself says: it may carry an extended expiry. */
static int read_claims(struct cfr_k8s_token_grant *g, struct cfr_token_answer *out)
{
    struct cfr_claims claims;
    int rc = cfr_claims_decode(cfr_secret_view(&g->token), &claims, &out->err);
    int64_t ends_s;

    if (rc != 0)
        return cfr_err_prefix(&out->err, "the token that the API server gave");
    ends_s = cfr_claims_expires(&claims);
    out->expires_s = g->expires_s < ends_s ? g->expires_s : ends_s;
    out->issued_s = g->granted_s > 0 ? g->expires_s - g->granted_s : claims.iat;
    out->subject = cfr_str_dup(claims.sub);
    if (out->subject == NULL)
        rc = cfr_err_nomem(&out->err);
    cfr_claims_free(&claims);
    return rc;
}

static int read_token(const struct cfr_source_token_request *a, const struct cfr_kube_answer *answer,
                      struct cfr_token_answer *out)
{
    struct cfr_k8s_token_request request = describe_request(a);
    struct cfr_k8s_token_grant grant = {.expires_s = 0};
    int rc = cfr_k8s_token_request_answer(&request, answer->body, &grant, &out->err);

    if (rc == 0)
        rc = read_claims(&grant, out);
    if (rc == 0)
        cfr_secret_move(&out->token, &grant.token);
    cfr_k8s_token_grant_free(&grant);
    return rc;
}

static void on_answer(void *ctx, const struct cfr_kube_answer *answer)
{
    struct cfr_source_token_request *a = ctx;
    struct cfr_token_answer out = {
        .err = answer->err,
        .rc = answer->error,
        .warning = answer->warning,
        .retry_after_s = answer->retry_after_s,
        .server_date_s = answer->date_s,
        .duration_s = answer->duration_s,
    };

    a->call = NULL;
    if (out.rc == 0 && answer->status != 201)
        out.rc = refuse(a, answer, &out);
    else if (out.rc == 0)
        out.rc = read_token(a, answer, &out);
    a->done(a->ctx, &out);
    cfr_secret_free(&out.token);
    free(out.subject);
    destroy(a);
}

static int send(struct cfr_source_token_request *a, struct cfr_kube *kube, struct cfr_err *err)
{
    const struct cfr_config_request *r = a->config->request;
    struct cfr_kube_where where = {r->kubeconfig, r->context};
    struct cfr_k8s_token_request token = describe_request(a);
    char path[CFR_K8S_TOKEN_REQUEST_PATH_MAX];
    struct cfr_kube_request request = {
        .method = "POST", .path = path, .content_type = "application/json", .body = &a->body};
    int rc;

    if (!cfr_k8s_token_request_path(&token, path))
        return cfr_err_set(err, CFR_E_CONFIG, "%.64s/%.64s cannot be the name of a service account", a->namespace_name,
                           r->service_account);
    cfr_secret_init(&a->body, CFR_K8S_TOKEN_REQUEST_BODY_MAX);
    rc = cfr_k8s_token_request_body(&token, &a->body, err);
    return rc != 0 ? rc : cfr_kube_start(kube, &where, &request, on_answer, a, &a->call, err);
}

int cfr_source_token_request_start(struct cfr_kube *kube, const struct cfr_config_token *config,
                                   cfr_source_token_request_fn *done, void *ctx, struct cfr_source_token_request **out,
                                   struct cfr_err *err)
{
    struct cfr_source_token_request *a = calloc(1, sizeof *a);
    int rc;

    if (a == NULL)
        return cfr_err_nomem(err);
    a->config = config;
    a->done = done;
    a->ctx = ctx;
    rc = resolve_bound(a, err);
    if (rc == 0)
        rc = resolve_namespace(a, kube, err);
    if (rc == 0)
        rc = send(a, kube, err);
    if (rc != 0) {
        destroy(a);
        return rc;
    }
    *out = a;
    return 0;
}

void cfr_source_token_request_cancel(struct cfr_source_token_request *a)
{
    if (a->call != NULL)
        cfr_kube_cancel(a->call);
    destroy(a);
}

void cfr_source_token_request_rebind(struct cfr_source_token_request *a, const struct cfr_config_token *config)
{
    a->config = config;
}
