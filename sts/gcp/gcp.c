/* SPDX-License-Identifier: MIT */
/* The GCP provider: requests and answers, step by step. */
#include "sts/gcp/gcp_private.h"

#include "sts/gcp/answer_private.h"
#include "sts/gcp/error_private.h"
#include "sts/gcp/account_key_private.h"
#include "sts/gcp/request_private.h"
#include "wire/jwt.h"
#include "sts/core/docker_auths.h"

#include <stdio.h>
#include <string.h>

/* The widest window of the SDKs (5 min), and time for an outage in front of it. */
#define CONSUMER_WINDOW_MS INT64_C(600000)

/* A credential file may be a key; only its content says so. */
static bool needs_token(const void *config)
{
    const struct cfr_gcp *c = config;

    if (c->credentials_file != NULL)
        return false;
    return c->certificate_file == NULL ||
           (c->subject_token_type != NULL && strcmp(c->subject_token_type, CFR_GCP_TYPE_MTLS) != 0);
}

static int step_of(const struct cfr_sts_exchange *x, const struct cfr_gcp_plan *p, enum cfr_gcp_step *out,
                   struct cfr_err *err)
{
    if (x->step >= p->count)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    *out = p->steps[x->step];
    return 0;
}

static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    enum cfr_gcp_step step = CFR_GCP_STEP_STS;
    struct cfr_gcp_plan plan;
    int rc = cfr_gcp_plan_make(x->config, in, &plan, err);

    if (rc == 0)
        rc = step_of(x, &plan, &step, err);
    if (rc == 0)
        rc = cfr_gcp_request_make(&plan, step, cfr_grant_get(&x->grant, CFR_FIELD_GCP_ACCESS_TOKEN), in, out, err);
    cfr_gcp_plan_free(&plan);
    return rc;
}

/* The service account, or the principal that the pool makes of the token's subject, or just the pool's provider. */
static int set_identity(const struct cfr_gcp_plan *p, const struct cfr_sts_input *in, struct cfr_grant *g,
                        struct cfr_err *err)
{
    struct cfr_view account = p->impersonates ? p->account : p->file.client_email;
    ptrdiff_t end = cfr_view_find(p->audience, "/providers/");
    char text[1024];

    if (p->impersonates || p->key)
        return cfr_grant_set_identity(g, account, err);
    if (end < 0 || in->subject.n == 0 || in->subject.n > 256 || !cfr_view_printable(in->subject))
        return cfr_grant_set_identity(g, p->audience, err);
    (void)snprintf(text, sizeof text, "principal:%.*s/subject/%.*s", (int)end, p->audience.p, (int)in->subject.n,
                   in->subject.p);
    return cfr_grant_set_identity(g, cfr_view_of(text), err);
}

/* Makes of the tokens in G what is published. */
static int finish(struct cfr_sts_exchange *x, const struct cfr_gcp_plan *p, const struct cfr_sts_input *in,
                  struct cfr_err *err)
{
    const struct cfr_gcp *c = p->config;
    struct cfr_view access = cfr_grant_get(&x->grant, CFR_FIELD_GCP_ACCESS_TOKEN);
    struct cfr_view id = cfr_grant_get(&x->grant, CFR_FIELD_GCP_ID_TOKEN);
    struct cfr_grant final = {.issued_s = in->now_s, .expires_s = x->grant.expires_s};
    int rc = 0;

    if (c->access_token)
        rc = cfr_grant_set(&final, CFR_FIELD_GCP_ACCESS_TOKEN, access, err);
    if (rc == 0 && id.n != 0)
        rc = cfr_grant_set(&final, CFR_FIELD_GCP_ID_TOKEN, id, err);
    for (size_t i = 0; rc == 0 && c->access_token && i < c->artifact_registry.count; i++)
        rc = cfr_docker_auths_add(&final, c->artifact_registry.items[i], cfr_view_of("oauth2accesstoken"), access, err);
    if (rc == 0)
        rc = set_identity(p, in, &final, err);
    if (rc != 0) {
        cfr_grant_free(&final);
        return rc;
    }
    cfr_grant_move(&x->grant, &final);
    return CFR_STS_DONE;
}

/* Puts a token into the grant; the grant ends when the first of those ends that will be published. */
static int keep(struct cfr_sts_exchange *x, const struct cfr_gcp_plan *p, const struct cfr_gcp_token *token,
                struct cfr_err *err)
{
    const char *other = token->id ? CFR_FIELD_GCP_ACCESS_TOKEN : CFR_FIELD_GCP_ID_TOKEN;
    /* An access token with an ID token is final only if it was not a means to get the ID token. */
    bool both = cfr_grant_get(&x->grant, other).n != 0 && (!token->id || (p->local && !p->impersonates));
    int rc = cfr_grant_set(&x->grant, token->id ? CFR_FIELD_GCP_ID_TOKEN : CFR_FIELD_GCP_ACCESS_TOKEN,
                           cfr_secret_view(&token->value), err);

    if (rc == 0 && (!both || token->expires_s < x->grant.expires_s))
        x->grant.expires_s = token->expires_s;
    return rc;
}

/* A token that the key signs by itself is there before any request. */
static int local(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_err *err)
{
    struct cfr_gcp_token token = {.id = false};
    struct cfr_gcp_plan plan;
    int rc = cfr_gcp_plan_make(x->config, in, &plan, err);

    cfr_secret_init(&token.value, CFR_JWT_MAX);
    if (rc == 0 && plan.local && !plan.impersonates && plan.config->access_token) {
        rc = cfr_gcp_key_token(&plan, false, in->now_s, &token.value, &token.expires_s, err);
        if (rc == 0)
            rc = keep(x, &plan, &token, err);
    }
    if (rc == 0)
        rc = plan.count == 0 ? finish(x, &plan, in, err) : CFR_STS_MORE;
    cfr_secret_free(&token.value);
    cfr_gcp_plan_free(&plan);
    return rc;
}

static int refuse(const struct cfr_sts_exchange *x, const struct cfr_gcp_plan *p, const struct cfr_sts_input *in,
                  const struct cfr_wire_reply *reply, const struct cfr_oauth_answer *answer, struct cfr_err *err)
{
    const struct cfr_view secrets[] = {
        in->token,
        p->client_secret,
        p->file.private_key,
        p->key_pem,
        cfr_grant_get(&x->grant, CFR_FIELD_GCP_ACCESS_TOKEN),
        cfr_grant_get(&x->grant, CFR_FIELD_GCP_ID_TOKEN),
        cfr_oauth_answer_get(answer, CFR_OAUTH_ACCESS_TOKEN),
        cfr_oauth_answer_get(answer, CFR_OAUTH_ID_TOKEN),
    };
    const struct cfr_gcp_refusal r = {
        .step = p->steps[x->step],
        .reply = reply,
        .answer = answer,
        .who = p->key ? p->file.client_email : in->subject,
        .who_is = p->key           ? "service account"
                  : p->certificate ? "certificate's subject"
                                   : "token's subject",
        .secrets = secrets,
        .secret_count = sizeof secrets / sizeof secrets[0],
    };

    return cfr_gcp_error_set(&r, err);
}

static int collect_token(struct cfr_sts_exchange *x, const struct cfr_gcp_plan *p, const struct cfr_sts_input *in,
                         const struct cfr_oauth_answer *answer, struct cfr_view body, struct cfr_err *err)
{
    struct cfr_gcp_token token;
    int rc = cfr_gcp_answer_read(p->steps[x->step], answer, body, in->now_s, &token, err);

    if (rc == 0)
        rc = keep(x, p, &token, err);
    cfr_secret_free(&token.value);
    if (rc != 0)
        return rc;
    if (x->step + 1 == p->count)
        return finish(x, p, in, err);
    x->step++;
    return CFR_STS_MORE;
}

static int read_reply(struct cfr_sts_exchange *x, const struct cfr_gcp_plan *p, const struct cfr_sts_input *in,
                      const struct cfr_wire_reply *reply, struct cfr_err *err)
{
    enum cfr_gcp_step step;
    struct cfr_oauth_answer answer;
    int rc = step_of(x, p, &step, err);

    if (rc != 0)
        return rc;
    rc = cfr_oauth_answer_read(reply->content_type, reply->body, &answer, err);
    /* What came with an error status decides by its status alone if it cannot be read: a page from a proxy,
     * say. */
    if (rc != CFR_E_NOMEM && (reply->status != 200 || cfr_oauth_answer_get(&answer, CFR_OAUTH_ERROR).n != 0))
        rc = refuse(x, p, in, reply, &answer, err);
    else if (rc == 0)
        rc = collect_token(x, p, in, &answer, reply->body, err);
    cfr_oauth_answer_free(&answer);
    return rc;
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err)
{
    struct cfr_gcp_plan plan;
    int rc = cfr_gcp_plan_make(x->config, in, &plan, err);

    if (rc == 0)
        rc = read_reply(x, &plan, in, reply, err);
    cfr_gcp_plan_free(&plan);
    return rc;
}

static int add_registry(void *config, struct cfr_view host, struct cfr_err *err)
{
    static const char *const domains[] = {".pkg.dev", ".gcr.io", "gcr.io", NULL};
    struct cfr_gcp *c = config;

    /* The kubelet sends the access token, as the password, to the host that the image names. */
    if (host.n != 0 && c->artifact_registry.count == 0 && !cfr_docker_auths_host_in(host, domains))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "artifact_registry: the host is not below pkg.dev or gcr.io, so no token is given for it; "
                           "narrow `match`, or name the host in `artifact_registry`");
    return cfr_docker_auths_default(&c->artifact_registry, host, "europe-docker.pkg.dev", err);
}

static const char *const grant_fields[] = {CFR_FIELD_GCP_ACCESS_TOKEN, NULL};
static const char *const hosts[] = {".googleapis.com", NULL};
static const char *const algorithms[] = {"RS256", "ES256", NULL};
static const struct cfr_token_rules token_rules = {
    .algorithms = algorithms, .only = "Google accepts only RS256 and ES256", .accepts = "the cloud"};

/* The members of a credentials file, next to which none of these keys may stand. */
static const char *origin(const void *ctx, struct cfr_view key, char buf[CFR_STS_ORIGIN_MAX])
{
    static const struct {
        const char *key;
        const char *member;
    } members[] = {
        {"audience", "audience in credentials_file"},
        {"subject_token_type", "subject_token_type in credentials_file"},
        {"user_project", "workforce_pool_user_project in credentials_file"},
        {"client_id", "client_id in credentials_file"},
        {"client_secret_file", "client_secret in credentials_file"},
    };
    const struct cfr_gcp *c = ctx;

    (void)buf;
    for (size_t i = 0; c->credentials_file != NULL && i < sizeof members / sizeof members[0]; i++) {
        if (cfr_view_is(key, members[i].key))
            return members[i].member;
    }
    if (c->credentials_file != NULL && c->service_account == NULL && cfr_view_is(key, "service_account"))
        return "service_account_impersonation_url in credentials_file";
    return NULL;
}

const struct cfr_sts_provider cfr_gcp_provider = {
    .name = "gcp",
    .table = &cfr_gcp_table,
    .doc = CFR_DOC("Google Cloud: the STS of workload and workforce pools, service accounts' keys, impersonation."),
    .fields = grant_fields,
    .hosts = hosts,
    .token_rules = &token_rules,
    .consumer_window_ms = CONSUMER_WINDOW_MS,
    .needs_token = needs_token,
    .local = local,
    .build = build,
    .parse = parse,
    .add_registry = add_registry,
    .registries = "artifact_registry",
    .origin = origin,
    .trust_needed = cfr_gcp_trust_needed,
    .trust_refused = cfr_gcp_trust_refused,
};
