/* SPDX-License-Identifier: MIT */
/* Exchange of a credential's inputs, request by request. */
#include "agent/source/exchange.h"

#include "agent/loop/env.h"
#include "agent/source/source.h"
#include "agent/source/token_request_private.h"
#include "agent/source/inputs_private.h"
#include "base/redact.h"
#include "base/str.h"
#include "base/time.h"
#include "sts/core/docker_auths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define REQUEST_TIMEOUT_MS 30000
#define STEPS_MAX          64

struct cfr_exchange {
    struct cfr_http *http;
    struct cfr_kube *kube;
    const struct cfr_config_credential *credential;
    struct cfr_source_inputs m;
    struct cfr_sts_exchange x;
    struct cfr_wire_request request;
    struct cfr_source_token_request *ask; /* while the token is being asked for */
    void *handle;
    int64_t token_issued_s;
    int64_t token_expires_s;
    char *warning; /* heap; of the API server; NULL = no token was requested */
    double duration_s;
    cfr_source_exchange_fn *done;
    void *ctx;
};

static void destroy(struct cfr_exchange *e)
{
    cfr_sts_exchange_free(&e->x);
    cfr_wire_request_free(&e->request);
    cfr_source_inputs_free(&e->m);
    free(e->warning);
    free(e);
}

static struct cfr_sts_input input_of(const struct cfr_exchange *e, const unsigned char *nonce)
{
    return (struct cfr_sts_input){
        .credential = e->credential->name,
        .token = cfr_secret_view(&e->m.token),
        .subject = cfr_view_of(e->m.subject),
        .contents = e->m.contents,
        .content_count = e->m.content_count,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .nonce = nonce,
        .env = cfr_env_get,
    };
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer);

static int build(struct cfr_exchange *e, struct cfr_err *err)
{
    unsigned char nonce[CFR_STS_NONCE_BYTES] = {0};
    struct cfr_sts_input in = input_of(e, nonce);

    cfr_wire_request_free(&e->request);
    if (getrandom(nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
        return cfr_err_sys(err, errno, "the kernel gives no random bytes");
    return e->x.provider->build(&e->x, &in, &e->request, err);
}

/* What clients of the API server need next to the token that it gave, where that is published. */
static int add_cluster(struct cfr_exchange *e, struct cfr_err *err)
{
    const struct cfr_config_request *r = e->credential->token->request;
    struct cfr_kube_where where = {r->kubeconfig, r->context};
    const char *space = r->namespace_name;
    const char *url = NULL;
    struct cfr_view ca;
    int rc;

    if (!cfr_config_publishes_cluster(e->credential))
        return 0;
    if (space == NULL)
        space = cfr_kube_namespace(e->kube, &where, NULL);
    rc = cfr_kube_server(e->kube, &where, &url, &ca, err);
    if (rc == 0)
        rc = cfr_grant_set(&e->x.grant, CFR_FIELD_KUBERNETES_SERVER, cfr_view_of(url), err);
    if (rc == 0 && ca.n != 0)
        rc = cfr_grant_set(&e->x.grant, CFR_FIELD_KUBERNETES_CA, ca, err);
    if (rc == 0 && space != NULL)
        rc = cfr_grant_set(&e->x.grant, CFR_FIELD_KUBERNETES_NAMESPACE, cfr_view_of(space), err);
    return rc;
}

/* A consumer may read both, and they belong together; so does what the Secret says of where it is to work. */
static int add_token(struct cfr_exchange *e, struct cfr_err *err)
{
    int rc = 0;

    if (e->m.token.len != 0)
        rc = cfr_grant_set(&e->x.grant, CFR_FIELD_TOKEN, cfr_secret_view(&e->m.token), err);
    for (size_t i = 0; rc == 0 && i < e->m.mounted.fact_count; i++)
        rc = cfr_grant_set(&e->x.grant, e->m.mounted.facts[i].field, e->m.mounted.facts[i].value, err);
    if (rc == 0 && e->m.requested)
        rc = add_cluster(e, err);
    return rc;
}

/* What the provider grants by itself, if it does: CFR_STS_DONE, CFR_STS_MORE when requests are needed, or an error. */
static int grant_locally(struct cfr_exchange *e, struct cfr_err *err)
{
    unsigned char nonce[CFR_STS_NONCE_BYTES] = {0};
    struct cfr_sts_input in = input_of(e, nonce);
    int rc;

    if (e->x.provider->local == NULL)
        return CFR_STS_MORE;
    if (getrandom(nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce)
        return cfr_err_sys(err, errno, "the kernel gives no random bytes");
    rc = e->x.provider->local(&e->x, &in, err);
    return rc == CFR_STS_DONE ? add_token(e, err) : rc;
}

static int send_step(struct cfr_exchange *e, struct cfr_err *err)
{
    struct cfr_http_request http = {
        .answer_max = CFR_STS_ANSWER_MAX,
        .timeout_ms = REQUEST_TIMEOUT_MS,
    };
    int rc = build(e, err);

    if (rc != 0)
        return rc;
    http.method = e->request.method;
    http.url = e->request.url;
    http.ca_file = cfr_env_ca_file(&e->request);
    http.ca_pem = e->request.ca_pem.n != 0 ? e->request.ca_pem : cfr_secret_view(&e->m.mounted.ca);
    http.server_name = e->request.server_name;
    http.headers = e->request.headers;
    http.header_count = e->request.header_count;
    http.body = &e->request.body;
    http.keep_header = e->request.answer_header;
    http.client_cert = cfr_secret_view(&e->request.client_cert);
    http.client_key = cfr_secret_view(&e->request.client_key);
    http.link_local = e->request.link_local;
    http.plain_http = e->request.plain_http;
    return cfr_http_start(e->http, &http, on_answer, e, &e->handle, err);
}

/* ---- what a server repeats ---- */

#define SECRETS_MAX (1 + CFR_STS_CONTENTS_MAX + CFR_WIRE_HEADERS_MAX + CFR_GRANT_FIELDS_MAX)

/* A file that is one secret. Of others, such as a profile or a key in JSON or PEM, the provider knows the secret part;
 * an identifier is none. */
static bool is_bare_secret(const char *key, struct cfr_view content)
{
    return strstr(key, "_id_file") == NULL && strcmp(key, "credentials_file") != 0 && content.n != 0 &&
           content.p[0] != '{' && content.p[0] != '[' && cfr_view_find(content, "-----BEGIN") < 0;
}

/* What follows the scheme in a header that logs in; signatures of AWS are no secrets. */
static struct cfr_view find_login(struct cfr_view header)
{
    static const char *const schemes[] = {"Authorization: Basic ", "Authorization: Bearer ",
                                          "X-Auth-Token: ", "X-Amz-Security-Token: "};

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t n = strlen(schemes[i]);

        if (cfr_view_starts(header, schemes[i]))
            return (struct cfr_view){header.p + n, header.n - n};
    }
    return (struct cfr_view){NULL, 0};
}

/* Every secret of the exchange so far but the logins to registries, as views into E. Returns their count. */
static size_t list_secrets(const struct cfr_exchange *e, struct cfr_view out[SECRETS_MAX])
{
    size_t n = 0;

    out[n++] = cfr_secret_view(&e->m.token);
    for (size_t i = 0; i < e->m.content_count; i++) {
        if (is_bare_secret(e->m.contents[i].key, e->m.contents[i].bytes))
            out[n++] = e->m.contents[i].bytes;
    }
    for (size_t i = 0; i < e->request.header_count; i++)
        out[n++] = find_login(cfr_secret_view(&e->request.headers[i]));
    return n + cfr_grant_list_secrets(&e->x.grant, out + n);
}

static void hide(struct cfr_exchange *e, struct cfr_source_exchange_result *result, const struct cfr_view *secrets,
                 size_t n)
{
    (void)cfr_redact_secrets(result->err.text, secrets, n);
    if (e->x.grant.identity != NULL)
        (void)cfr_redact_secrets(e->x.grant.identity, secrets, n);
    if (e->warning != NULL)
        (void)cfr_redact_secrets(e->warning, secrets, n);
}

/* A server may repeat any secret in any field; what is shown of its answer is looked at once more here. */
static void hide_secrets(struct cfr_exchange *e, struct cfr_source_exchange_result *result)
{
    struct cfr_view auths = cfr_grant_get(&e->x.grant, CFR_FIELD_REGISTRY_AUTHS);
    struct cfr_view secrets[SECRETS_MAX];
    struct cfr_view login;

    hide(e, result, secrets, list_secrets(e, secrets));
    while (cfr_docker_auths_next_secret(&auths, &login))
        hide(e, result, &login, 1);
}

static void finish(struct cfr_exchange *e, struct cfr_source_exchange_result *result)
{
    e->handle = NULL;
    hide_secrets(e, result);
    if (result->rc < 0)
        cfr_source_name_origin(e->credential, &e->m, &result->err);
    result->grant = &e->x.grant;
    result->provider = e->x.provider;
    result->config = e->x.config;
    result->contents = e->m.contents;
    result->content_count = e->m.content_count;
    result->inputs = &e->m;
    result->token_issued_s = e->token_issued_s;
    result->token_expires_s = e->token_expires_s;
    result->warning = e->warning;
    result->duration_s = e->duration_s;
    e->done(e->ctx, result);
    destroy(e);
}

static int read_answer(struct cfr_exchange *e, const struct cfr_http_answer *answer, struct cfr_err *err)
{
    static const unsigned char none[CFR_STS_NONCE_BYTES];
    struct cfr_sts_input in = input_of(e, none);
    struct cfr_wire_reply reply = {.status = answer->status,
                                   .content_type = answer->content_type,
                                   .body = answer->body,
                                   .request_id = answer->request_id,
                                   .header = answer->header};
    int rc;

    if (answer->error != 0) {
        *err = answer->err;
        return answer->error;
    }
    /* A life that an answer gives in seconds begins now by the clock of who grants it. */
    in.now_s = cfr_clock_grantor_ms(answer->date_s, cfr_clock_now()) / 1000;
    rc = e->x.provider->parse(&e->x, &in, &reply, err);
    if (rc == CFR_STS_MORE && e->x.step >= STEPS_MAX)
        return cfr_err_set(err, CFR_E_INTERNAL, "the exchange takes more than %d requests", STEPS_MAX);
    return rc == CFR_STS_DONE ? add_token(e, err) : rc;
}

static void on_answer(void *ctx, const struct cfr_http_answer *answer)
{
    struct cfr_exchange *e = ctx;
    struct cfr_source_exchange_result result = {
        .retry_after_s = answer->retry_after_s,
        .server_date_s = answer->date_s,
    };

    e->handle = NULL;
    e->duration_s += answer->duration_s;
    result.rc = read_answer(e, answer, &result.err);
    if (result.retry_after_s < e->x.wait_s)
        result.retry_after_s = e->x.wait_s;
    if (result.rc == CFR_STS_MORE) {
        result.rc = send_step(e, &result.err);
        if (result.rc == 0)
            return;
    }
    finish(e, &result);
}

/* The token itself is what was wanted. */
static int grant_token(struct cfr_exchange *e, const struct cfr_token_answer *answer, struct cfr_err *err)
{
    int rc = cfr_grant_set_identity(&e->x.grant, cfr_view_of(e->m.subject), err);

    e->x.grant.issued_s = answer->issued_s;
    e->x.grant.expires_s = answer->expires_s;
    return rc != 0 ? rc : add_token(e, err);
}

/* With everything that the exchange begins with at hand. CFR_STS_MORE: a request is under way. */
static int send_first(struct cfr_exchange *e, struct cfr_err *err)
{
    int rc = grant_locally(e, err);

    if (rc != CFR_STS_MORE)
        return rc;
    rc = send_step(e, err);
    return rc != 0 ? rc : CFR_STS_MORE;
}

static void on_token(void *ctx, struct cfr_token_answer *answer)
{
    struct cfr_exchange *e = ctx;
    struct cfr_source_exchange_result result = {
        .rc = answer->rc,
        .err = answer->err,
        .retry_after_s = answer->retry_after_s,
        .server_date_s = answer->server_date_s,
    };

    e->ask = NULL;
    e->duration_s += answer->duration_s;
    if (result.rc == 0) {
        cfr_secret_move(&e->m.token, &answer->token);
        e->m.subject = answer->subject;
        answer->subject = NULL;
        e->token_issued_s = answer->issued_s;
        e->token_expires_s = answer->expires_s;
        e->warning = strdup(answer->warning);
    }
    if (result.rc == 0)
        result.rc = e->x.provider != NULL ? send_first(e, &result.err) : grant_token(e, answer, &result.err);
    if (result.rc == CFR_STS_MORE)
        return;
    finish(e, &result);
}

/* CFR_STS_MORE: a request is under way. */
static int begin(struct cfr_exchange *e, struct cfr_err *err)
{
    int rc;

    if (e->m.requested) {
        rc = cfr_source_token_request_start(e->kube, e->credential->token, on_token, e, &e->ask, err);
        return rc != 0 ? rc : CFR_STS_MORE;
    }
    return send_first(e, err);
}

int cfr_source_exchange_rehearse(const struct cfr_config_credential *credential, const struct cfr_source_inputs *m,
                                 struct cfr_err *err)
{
    struct cfr_exchange e = {.credential = credential, .m = *m, .x = {.provider = m->provider, .config = m->config}};
    int rc;

    /* What the API server is to give is not known. */
    if (m->requested)
        return 0;
    rc = grant_locally(&e, err);
    if (rc == CFR_STS_MORE)
        rc = build(&e, err);
    cfr_sts_exchange_free(&e.x);
    cfr_wire_request_free(&e.request);
    if (rc < 0 && err != NULL)
        cfr_source_name_origin(credential, m, err);
    return rc < 0 ? rc : 0;
}

int cfr_source_exchange_start(struct cfr_http *http, struct cfr_kube *kube,
                              const struct cfr_config_credential *credential, struct cfr_source_inputs *material,
                              cfr_source_exchange_fn *done, void *ctx, struct cfr_exchange **out, struct cfr_err *err)
{
    struct cfr_exchange *e = calloc(1, sizeof *e);
    int rc;

    if (e == NULL)
        return cfr_err_nomem(err);
    e->http = http;
    e->kube = kube;
    e->credential = credential;
    e->done = done;
    e->ctx = ctx;
    cfr_source_inputs_move(&e->m, material);
    e->x.provider = e->m.provider;
    e->x.config = e->m.config;
    rc = begin(e, err);
    if (rc == CFR_STS_MORE) {
        *out = e;
        return 0;
    }
    *out = NULL;
    if (rc == 0) {
        finish(e, &(struct cfr_source_exchange_result){.retry_after_s = -1});
        return 0;
    }
    if (err != NULL)
        cfr_source_name_origin(credential, &e->m, err);
    destroy(e);
    return rc;
}

int64_t cfr_source_exchange_life_ms(int64_t expires_s, int64_t server_date_s, struct cfr_now now)
{
    return expires_s == 0 ? INT64_MAX : expires_s * 1000 - cfr_clock_grantor_ms(server_date_s, now);
}

int cfr_source_exchange_check_life(int64_t life_ms, struct cfr_err *err)
{
    char words[CFR_TIME_WORDS_MAX];

    if (life_ms > 0)
        return 0;
    return cfr_err_set(err, CFR_E_ANSWER, "the answer's credential expired %s ago: check this machine's clock",
                       cfr_time_words(-life_ms, words));
}

void cfr_source_exchange_cancel(struct cfr_exchange *e)
{
    if (e->ask != NULL)
        cfr_source_token_request_cancel(e->ask);
    if (e->handle != NULL)
        cfr_http_cancel(e->http, e->handle);
    destroy(e);
}

void cfr_source_exchange_rebind(struct cfr_exchange *e, const struct cfr_config_credential *credential)
{
    const void *config;

    e->credential = credential;
    if (e->ask != NULL)
        cfr_source_token_request_rebind(e->ask, credential->token);
    /* What the source itself names is the inputs' own. */
    if (!cfr_source_of(credential)->names_provider) {
        e->x.provider = cfr_config_provider(credential, &config);
        e->x.config = config;
    }
}
