/* SPDX-License-Identifier: MIT */
/* The Azure provider: requests and answers, step by step: first a token for each scope, then a login to each
 * registry. */
#include "sts/azure/azure_private.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/str.h"
#include "sts/azure/error_private.h"
#include "sts/azure/settings_private.h"
#include "sts/azure/token_proxy_private.h"
#include "wire/form.h"
#include "wire/jwt.h"
#include "sts/core/docker_auths.h"

#include <stdio.h>
#include <string.h>

/* The SDKs take a token for expired 5 min before its end; and time for an outage in front of it. */
#define CONSUMER_WINDOW_MS INT64_C(600000)
/* Entra ID refuses a client that is caught in a loop for some minutes, and each further request prolongs that. */
#define LOOP_CODE   50196
#define LOOP_WAIT_S 300
/* What registries want as the user with a token for the password. */
#define REGISTRY_USER "00000000-0000-0000-0000-000000000000"
#define FIELD_MAX     (CFR_AZURE_SCOPE_MAX + 32)

static bool needs_token(const void *config)
{
    return cfr_azure_client_assertion_of(config) == CFR_AZURE_FEDERATED;
}

static size_t steps_of(const struct cfr_azure *c)
{
    return cfr_azure_settings_scopes(c) + c->acr.count;
}

/* The registry that STEP logs in to, or NULL if it asks for a token. */
static const char *registry_of(const struct cfr_azure *c, unsigned step)
{
    size_t scopes = cfr_azure_settings_scopes(c);

    return step < scopes ? NULL : c->acr.items[step - scopes];
}

static int check(const void *config, const char *(*env)(const char *), struct cfr_err *err)
{
    const struct cfr_azure *c = config;
    struct cfr_azure_token_proxy_settings proxy;
    struct cfr_azure_settings place;
    int rc = cfr_azure_settings_of(c, env, &place, err);

    if (rc == 0)
        rc = cfr_azure_token_proxy_of(c, env, &proxy, err);
    if (rc != 0)
        return rc;
    if (c->acr.count == 0 && c->acr_endpoint != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "acr_endpoint: it has no effect without acr; leave it out");
    if (c->acr.count != 0 && cfr_azure_settings_registry_scope(c, &place) < 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "acr: no scope fits a registry; add https://containerregistry.azure.net/.default to `scopes`");
    if (c->ca_file != NULL && !place.tls &&
        (c->acr.count == 0 || (c->acr_endpoint != NULL && strncmp(c->acr_endpoint, "http:", 5) == 0)))
        return cfr_err_set(err, CFR_E_CONFIG, "ca_file: it has no effect with plain http; leave it out");
    return 0;
}

static int set_url(const char *url, struct cfr_wire_request *out, struct cfr_err *err)
{
    out->url = cfr_str_dup(cfr_view_of(url));
    return out->url != NULL ? 0 : cfr_err_nomem(err);
}

/* The field of the grant that scope INDEX has its token in. */
static const char *field_of(const struct cfr_azure *c, const struct cfr_azure_settings *place, size_t index,
                            char out[FIELD_MAX])
{
    char scope[CFR_AZURE_SCOPE_MAX];

    if (index == 0)
        (void)snprintf(out, FIELD_MAX, "%s", CFR_FIELD_AZURE_ACCESS_TOKEN);
    else
        (void)snprintf(out, FIELD_MAX, "%s:%s", CFR_FIELD_AZURE_ACCESS_TOKEN,
                       cfr_azure_settings_scope(c, place, index, scope));
    return out;
}

static int build_token(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                       const struct cfr_azure_settings *place, struct cfr_wire_request *out, struct cfr_err *err)
{
    const struct cfr_azure *c = x->config;
    struct cfr_azure_token_proxy_settings proxy;
    char url[CFR_AZURE_URL_MAX];
    char scope[CFR_AZURE_SCOPE_MAX];
    int rc = set_url(cfr_azure_settings_token_url(place, url), out, err);

    if (rc == 0)
        rc = cfr_azure_token_proxy_of(c, in->env, &proxy, err);
    if (rc == 0)
        rc = cfr_azure_token_proxy_apply(&proxy, out, err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "grant_type", cfr_view_of("client_credentials"), err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "client_id", cfr_view_of(place->client), err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "scope", cfr_view_of(cfr_azure_settings_scope(c, place, x->step, scope)), err);
    return rc != 0 ? rc : cfr_azure_client_assertion_add(c, place, in, &out->body, err);
}

static int set_registry_url(const struct cfr_azure *c, const char *host, struct cfr_wire_request *out,
                            struct cfr_err *err)
{
    const char *base = c->acr_endpoint;
    char url[CFR_AZURE_URL_MAX];
    size_t n;

    if (base == NULL) {
        (void)snprintf(url, sizeof url, "https://%s/oauth2/exchange", host);
        return set_url(url, out, err);
    }
    n = strlen(base);
    while (n != 0 && base[n - 1] == '/')
        n--;
    (void)snprintf(url, sizeof url, "%.*s/oauth2/exchange", (int)n, base);
    return set_url(url, out, err);
}

/* `service` is the registry's own name whatever host is called. */
static int build_registry(const struct cfr_sts_exchange *x, const char *host, const struct cfr_azure_settings *place,
                          struct cfr_wire_request *out, struct cfr_err *err)
{
    const struct cfr_azure *c = x->config;
    int index = cfr_azure_settings_registry_scope(c, place);
    char field[FIELD_MAX];
    struct cfr_view token = {NULL, 0};
    int rc;

    if (index >= 0)
        token = cfr_grant_get(&x->grant, field_of(c, place, (size_t)index, field));
    if (token.n == 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "step %u has no token for a registry", x->step);
    rc = set_registry_url(c, host, out, err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "grant_type", cfr_view_of("access_token"), err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "service", cfr_view_of(host), err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "tenant", cfr_view_of(place->tenant), err);
    return rc != 0 ? rc : cfr_form_add(&out->body, "access_token", token, err);
}

static int set_headers(const struct cfr_sts_input *in, struct cfr_wire_request *out, struct cfr_err *err)
{
    char id[CFR_JWT_UUID_MAX];
    int rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(CFR_FORM_TYPE), err);

    if (rc == 0)
        rc = cfr_wire_request_header(out, "Accept", cfr_view_of("application/json"), err);
    /* The server's logs and its errors then have the same id, the correlation id. */
    if (rc == 0 && in->nonce != NULL)
        rc = cfr_wire_request_header(out, "client-request-id", cfr_view_of(cfr_jwt_uuid(in->nonce, id)), err);
    return rc;
}

static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_azure *c = x->config;
    struct cfr_azure_settings place;
    const char *registry;
    int rc;

    if (x->step >= steps_of(c))
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    out->method = "POST";
    out->ca_file = c->ca_file;
    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    rc = cfr_azure_settings_of(c, in->env, &place, err);
    if (rc == 0)
        rc = set_headers(in, out, err);
    if (rc != 0)
        return rc;
    registry = registry_of(c, x->step);
    return registry != NULL ? build_registry(x, registry, &place, out, err) : build_token(x, in, &place, out, err);
}

static int refuse(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                  const struct cfr_oauth_answer *answer, struct cfr_err *err)
{
    const struct cfr_azure *c = x->config;
    bool registry = registry_of(c, x->step) != NULL;
    enum cfr_azure_client_assertion proof = cfr_azure_client_assertion_of(c);
    struct cfr_view secrets[4 + CFR_AZURE_STEPS_MAX] = {
        in->token,
        cfr_sts_input_content(in, "client_secret_file"),
        cfr_oauth_answer_get(answer, CFR_OAUTH_ACCESS_TOKEN),
        cfr_oauth_answer_get(answer, CFR_OAUTH_REFRESH_TOKEN),
    };
    struct cfr_azure_refusal r = {.reply = reply, .proof = proof, .secrets = secrets, .secret_count = 4};

    for (size_t i = 0; i < x->grant.field_count && r.secret_count < sizeof secrets / sizeof secrets[0]; i++) {
        if (strncmp(x->grant.fields[i].name, CFR_FIELD_AZURE_ACCESS_TOKEN, strlen(CFR_FIELD_AZURE_ACCESS_TOKEN)) == 0)
            secrets[r.secret_count++] = cfr_secret_view(&x->grant.fields[i].value);
    }
    if (registry) {
        r.who = cfr_grant_get(&x->grant, CFR_FIELD_AZURE_CLIENT_ID);
        return cfr_azure_error_set_registry(&r, err);
    }
    if (proof == CFR_AZURE_FEDERATED)
        r.who = in->subject;
    return cfr_azure_error_set(&r, answer, err);
}

/* What the first answer begins the grant with. */
static int begin_grant(const struct cfr_azure *c, const struct cfr_azure_settings *place, struct cfr_grant *g,
                       struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_GRANT_IDENTITY_MAX};
    char scope[CFR_AZURE_SCOPE_MAX];
    int rc = cfr_grant_set(g, CFR_FIELD_AZURE_CLIENT_ID, cfr_view_of(place->client), err);

    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_AZURE_TENANT_ID, cfr_view_of(place->tenant), err);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_AZURE_SCOPE, cfr_view_of(cfr_azure_settings_scope(c, place, 0, scope)), err);
    if (rc == 0) {
        cfr_str_addf(&text, "%s/", place->authority);
        rc = text.failed ? cfr_err_nomem(err)
                         : cfr_grant_set(g, CFR_FIELD_AZURE_AUTHORITY_HOST, cfr_str_view(&text), err);
    }
    if (rc == 0) {
        cfr_str_free(&text);
        cfr_str_addf(&text, "client %s of tenant %s", place->client, place->tenant);
        rc = text.failed ? cfr_err_nomem(err) : cfr_grant_set_identity(g, cfr_str_view(&text), err);
    }
    cfr_str_free(&text);
    return rc;
}

static void earliest(int64_t *to, int64_t when_s)
{
    if (*to == 0 || when_s < *to)
        *to = when_s;
}

static int read_token(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_oauth_answer *answer,
                      struct cfr_err *err)
{
    const struct cfr_azure *c = x->config;
    struct cfr_azure_settings place;
    struct cfr_view token = {NULL, 0};
    char field[FIELD_MAX];
    int rc = cfr_azure_settings_of(c, in->env, &place, err);

    if (rc == 0)
        rc = cfr_oauth_answer_bearer(answer, &token, err);
    if (rc == 0 && answer->expires_in_s < 0)
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer has no expires_in, so the token's life is not known");
    if (rc == 0 && x->step == 0)
        rc = begin_grant(c, &place, &x->grant, err);
    if (rc == 0)
        rc = cfr_grant_set(&x->grant, field_of(c, &place, x->step, field), token, err);
    if (rc != 0)
        return rc;
    earliest(&x->grant.issued_s, in->now_s);
    earliest(&x->grant.expires_s, in->now_s + answer->expires_in_s);
    if (answer->refresh_in_s > 0)
        earliest(&x->grant.refresh_s, in->now_s + answer->refresh_in_s);
    return 0;
}

/* `exp` of a JSON Web Token's claims; the signature is the registry's own business. */
static bool expiry_of(struct cfr_view token, int64_t *exp)
{
    const char *dot = token.n != 0 ? memchr(token.p, '.', token.n) : NULL;
    struct cfr_view rest = {dot, dot != NULL ? token.n - (size_t)(dot - token.p) : 0};
    struct cfr_json *doc = NULL;
    struct cfr_secret claims;
    const char *end;
    bool found = false;

    end = rest.n > 1 ? memchr(rest.p + 1, '.', rest.n - 1) : NULL;
    if (end == NULL)
        return false;
    cfr_secret_init(&claims, CFR_STS_ANSWER_MAX);
    if (cfr_base64url_decode((struct cfr_view){rest.p + 1, (size_t)(end - rest.p - 1)}, &claims, NULL) == 0 &&
        cfr_json_parse(cfr_secret_view(&claims), &doc, NULL) == 0)
        found = cfr_json_integer(cfr_json_get(doc, "exp"), exp);
    cfr_json_free(doc);
    cfr_secret_free(&claims);
    return found;
}

static int read_login(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_oauth_answer *answer,
                      struct cfr_err *err)
{
    struct cfr_view token = cfr_oauth_answer_get(answer, CFR_OAUTH_REFRESH_TOKEN);
    const char *host = registry_of(x->config, x->step);
    int64_t exp;

    if (token.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer of the registry %s has no refresh_token", host);
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= 0x20 || token.p[i] > 0x7e)
            return cfr_err_set(
                err, CFR_E_ANSWER,
                "the refresh_token of the registry %s holds a space or a character that is not printable", host);
    }
    if (!expiry_of(token, &exp))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the refresh_token of the registry %s is no JSON Web Token with an expiry", host);
    if (exp <= in->now_s)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the refresh_token of the registry %s has expired already; check this machine's clock",
                           host);
    earliest(&x->grant.expires_s, exp);
    return cfr_docker_auths_add(&x->grant, host, cfr_view_of(REGISTRY_USER), token, err);
}

static int advance(struct cfr_sts_exchange *x)
{
    if (x->step + 1 < steps_of(x->config)) {
        x->step++;
        return CFR_STS_MORE;
    }
    if (x->grant.refresh_s >= x->grant.expires_s)
        x->grant.refresh_s = 0;
    return CFR_STS_DONE;
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err)
{
    struct cfr_oauth_answer answer;
    int rc;

    if (x->step >= steps_of(x->config))
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    rc = cfr_oauth_answer_read(reply->content_type, reply->body, &answer, err);
    x->wait_s = answer.code_count != 0 && answer.codes[0] == LOOP_CODE ? LOOP_WAIT_S : 0;
    /* What came with an error status decides by its status alone if it cannot be read: a page from a proxy,
     * say. */
    if (rc != CFR_E_NOMEM && (reply->status != 200 || cfr_oauth_answer_get(&answer, CFR_OAUTH_ERROR).n != 0))
        rc = refuse(x, in, reply, &answer, err);
    else if (rc == 0)
        rc =
            registry_of(x->config, x->step) != NULL ? read_login(x, in, &answer, err) : read_token(x, in, &answer, err);
    cfr_oauth_answer_free(&answer);
    return rc != 0 ? rc : advance(x);
}

static int add_registry(void *config, struct cfr_view host, struct cfr_err *err)
{
    static const char *const domains[] = {".azurecr.io", ".azurecr.cn", ".azurecr.us", NULL};
    struct cfr_azure *c = config;

    /* The image names the host, and its author must not choose where a token goes. */
    if (host.n != 0 && c->acr.count == 0 && c->acr_endpoint == NULL && !cfr_docker_auths_host_in(host, domains))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "acr: the host is not below azurecr.io, azurecr.cn or azurecr.us, so no token is sent to it; "
            "narrow `match`, or name the host in `acr` or a URL in `acr_endpoint`");
    return cfr_docker_auths_default(&c->acr, host, "registry.azurecr.io", err);
}

static const char *const grant_fields[] = {CFR_FIELD_AZURE_ACCESS_TOKEN, NULL};
static const char *const hosts[] = {".microsoftonline.com",  ".microsoftonline.us",
                                    ".microsoftonline.cn",   ".sovcloud-identity.de",
                                    ".sovcloud-identity.fr", ".sovcloud-identity.sg",
                                    ".azurecr.io",           ".azurecr.us",
                                    ".azurecr.cn",           NULL};
static const char *const algorithms[] = {"RS256", NULL};
static const struct cfr_token_rules token_rules = {
    .algorithms = algorithms, .only = "Entra ID accepts only RS256", .accepts = "the cloud"};

const struct cfr_sts_provider cfr_azure_provider = {
    .name = "azure",
    .table = &cfr_azure_table,
    .doc = CFR_DOC("Azure AD (Microsoft Entra ID), and container registries of Azure."),
    .fields = grant_fields,
    .ca_variable = CFR_AZURE_TOKEN_PROXY_CA_VARIABLE,
    .hosts = hosts,
    .token_rules = &token_rules,
    .consumer_window_ms = CONSUMER_WINDOW_MS,
    .lives_vary = true, /* from 60 to 90 min */
    .check = check,
    .needs_token = needs_token,
    .build = build,
    .parse = parse,
    .add_registry = add_registry,
    .registries = "acr",
    .trust_needed = cfr_azure_trust_needed,
    .trust_refused = cfr_azure_trust_refused,
};
