/* SPDX-License-Identifier: MIT */
/* Azure Container Registry: exchanges an Entra token for a refresh token, which is the password of a docker
 * login. */
#include "acr.h"

#include "azure.h"
#include "token_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISSUER "Azure Container Registry"
#define NOBODY "00000000-0000-0000-0000-000000000000"

enum { REFRESH_S = 10800, ACCESS_S = 4500 };

static void refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    const char *host = lc_visit_host(visit);
    char *challenge = lc_text_format("Bearer realm=\"https://%s/acr/oauth2/token\",service=\"%s\"", host, host);

    if (refusal->status == 401 && challenge != NULL) {
        lc_reply_header(visit->reply, "WWW-Authenticate", challenge);
    }
    free(challenge);
    lc_visit_json(
        visit, refusal->status,
        json_pack("{s:[{s:s,s:s,s:n}]}", "errors", "code", refusal->code, "message", refusal->message, "detail"));
}

static int unauthorized(struct lc_visit *visit, const char *text)
{
    return lc_visit_refuse(visit, 401, "UNAUTHORIZED", "%s", text);
}

static int bad(struct lc_visit *visit, const char *text)
{
    return lc_visit_refuse(visit, 400, "INVALID_REQUEST", "%s", text);
}

/* The registry of that name; "*" in the settings is the host that the request went to. */
static json_t *find_registry(struct lc_visit *visit, const char *service)
{
    json_t *registry = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(visit->settings, "registries"), index, registry)
    {
        const char *name = json_string_value(json_object_get(registry, "service"));
        if (strcmp(name, service) == 0 || (strcmp(name, "*") == 0 && strcmp(lc_visit_host(visit), service) == 0)) {
            return registry;
        }
    }
    return NULL;
}

/* A token of a registry; kind is its grant_type claim. The caller frees it. */
static char *issue(struct lc_visit *visit, const char *kind, const char *service, const char *subject, int64_t life_s,
                   json_t *access)
{
    json_int_t now = (json_int_t)lc_time_now();
    json_t *claims =
        json_pack("{s:s,s:s,s:I,s:I,s:s,s:s,s:s,s:s,s:O*}", "jti", visit->id, "sub", subject, "nbf", now, "iat", now,
                  "iss", ISSUER, "aud", service, "version", "1.0", "grant_type", kind, "access", access);
    char *token = NULL;

    lc_visit_put_expiry(visit, claims, "exp", json_integer((json_int_t)lc_visit_until(lc_visit_life_s(visit, life_s))),
                        json_integer(now - 3600));
    token = lc_token_key_sign(visit->cloud->token_key, claims);
    json_decref(claims);
    return token;
}

/* The claims of a good token of that kind for the service (NULL: any), or NULL. */
static json_t *open_token(struct lc_visit *visit, const char *kind, const char *service, const char *token)
{
    json_t *claims = lc_token_key_open(visit->cloud->token_key, token);
    const char *issuer = "";
    const char *is = "";
    const char *audience = "";
    json_int_t expires = 0;

    if (json_unpack(claims, "{s:s,s:s,s:s,s:I}", "iss", &issuer, "grant_type", &is, "aud", &audience, "exp",
                    &expires) != 0 ||
        strcmp(issuer, ISSUER) != 0 || strcmp(is, kind) != 0 || expires <= (json_int_t)lc_time_now() ||
        (service != NULL && strcmp(audience, service) != 0)) {
        json_decref(claims);
        return NULL;
    }
    return claims;
}

static int check_access(struct lc_visit *visit, json_t *registry, const struct lc_azure_access *access)
{
    const char *tenant = json_string_value(json_object_get(registry, "tenant"));
    const char *asked = lc_visit_param(visit, "tenant");
    bool arm = !json_is_false(json_object_get(registry, "arm_audience"));

    if (access->claims == NULL || access->expired) {
        return unauthorized(visit, access->expired ? "the access token has expired" : "the access token is not valid");
    }
    if (!lc_azure_same_resource(access->audience, "https://containerregistry.azure.net") &&
        !(arm && (lc_azure_same_resource(access->audience, "https://management.azure.com") ||
                  lc_azure_same_resource(access->audience, "https://management.core.windows.net")))) {
        return unauthorized(visit, "the access token is for another audience");
    }
    if (strcmp(access->tenant, tenant) != 0 || (asked != NULL && strcmp(asked, tenant) != 0)) {
        return unauthorized(visit, "the access token is of another tenant than the registry");
    }
    if (!lc_json_holds(json_object_get(registry, "identities"), access->client_id)) {
        return lc_visit_refuse(visit, 403, "DENIED", "the identity %.100s may not use this registry",
                               access->client_id);
    }
    return 0;
}

static void exchange(struct lc_visit *visit)
{
    const char *grant = lc_visit_param(visit, "grant_type");
    const char *service = lc_visit_param(visit, "service");
    const char *token = lc_visit_param(visit, "access_token");
    json_t *registry = service == NULL ? NULL : find_registry(visit, service);
    struct lc_azure_access access = {0};
    char *refresh = NULL;

    if (!visit->form || visit->form_broken || grant == NULL || strcmp(grant, "access_token") != 0) {
        (void)bad(visit, "grant_type must be access_token, in a form");
        return;
    }
    if (service == NULL || token == NULL) {
        (void)bad(visit, "service and access_token must be given");
        return;
    }
    if (registry == NULL) {
        (void)lc_visit_refuse(visit, 404, "NAME_UNKNOWN", "the registry %.200s is not known", service);
        return;
    }
    lc_azure_open(visit->cloud, token, &access);
    if (check_access(visit, registry, &access) == 0) {
        refresh = issue(visit, "refresh_token", service, access.client_id,
                        json_integer_value(json_object_get(registry, "lifetime_s")), NULL);
        (void)snprintf(visit->record.session_name, sizeof visit->record.session_name, "%s", access.client_id);
        lc_visit_granted(visit, refresh == NULL ? "" : refresh);
        lc_visit_json(visit, 200, json_pack("{s:s*}", "refresh_token", refresh));
    }
    free(refresh);
    json_decref(access.claims);
}

/* Every scope of the request, "TYPE:NAME:ACTIONS", as the access that is granted. NULL: one is none. */
static json_t *read_scopes(const struct lc_params *params)
{
    json_t *access = json_array();

    for (size_t i = 0; i < params->count; i++) {
        const char *scope = params->at[i].value;
        const char *first = strchr(scope, ':');
        const char *last = strrchr(scope, ':');
        if (strcmp(params->at[i].name, "scope") != 0) {
            continue;
        }
        if (first == NULL || last == first || last[1] == '\0') {
            json_decref(access);
            return NULL;
        }
        (void)json_array_append_new(access,
                                    json_pack("{s:s%,s:s%,s:[s]}", "type", scope, (size_t)(first - scope), "name",
                                              first + 1, (size_t)(last - first - 1), "actions", last + 1));
    }
    return access;
}

static void answer_token(struct lc_visit *visit, const struct lc_params *params, const char *refresh)
{
    const char *service = lc_params_get(params, "service");
    json_t *access = read_scopes(params);
    json_t *claims = service == NULL || refresh == NULL ? NULL : open_token(visit, "refresh_token", service, refresh);
    char *token = NULL;

    if (service == NULL || access == NULL) {
        (void)bad(visit, "service must be given, and scopes look like repository:NAME:pull");
    } else if (claims == NULL) {
        (void)unauthorized(visit, "the refresh token is not valid");
    } else {
        token =
            issue(visit, "access_token", service, json_string_value(json_object_get(claims, "sub")), ACCESS_S, access);
        lc_visit_granted(visit, token == NULL ? "" : token);
        lc_visit_json(visit, 200, json_pack("{s:s*}", "access_token", token));
    }
    free(token);
    json_decref(access);
    json_decref(claims);
}

static void post_token(struct lc_visit *visit)
{
    const char *grant = lc_visit_param(visit, "grant_type");

    if (!visit->form || visit->form_broken || grant == NULL || strcmp(grant, "refresh_token") != 0) {
        (void)bad(visit, "grant_type must be refresh_token, in a form");
        return;
    }
    answer_token(visit, &visit->params, lc_visit_param(visit, "refresh_token"));
}

/* What docker does with a user and a password. */
static void get_token(struct lc_visit *visit)
{
    struct lc_params query = {0};
    char *user = NULL;
    char *password = NULL;

    if (!lc_params_read(visit->request->query, strlen(visit->request->query), &query)) {
        (void)bad(visit, "the query cannot be decoded");
    } else if (!lc_visit_basic(visit, false, &user, &password) || user == NULL || strcmp(user, NOBODY) != 0) {
        (void)unauthorized(visit, "authentication required");
    } else {
        answer_token(visit, &query, password);
    }
    lc_params_free(&query);
    free(user);
    free(password);
}

static void v2(struct lc_visit *visit)
{
    const char *bearer = lc_visit_bearer(visit);
    char *user = NULL;
    char *password = NULL;
    json_t *claims = NULL;

    if (bearer != NULL) {
        claims = open_token(visit, "access_token", NULL, bearer);
    } else if (lc_visit_basic(visit, false, &user, &password) && user != NULL && strcmp(user, NOBODY) == 0) {
        claims = open_token(visit, "refresh_token", NULL, password);
    }
    lc_reply_header(visit->reply, "Docker-Distribution-Api-Version", "registry/2.0");
    if (claims == NULL) {
        (void)unauthorized(visit,
                           "authentication required, visit https://aka.ms/acr/authorization for more information.");
    } else {
        json_int_t expires = json_integer_value(json_object_get(claims, "exp"));
        lc_visit_json(visit, 200,
                      json_pack("{s:O,s:O,s:I}", "identity", json_object_get(claims, "sub"), "service",
                                json_object_get(claims, "aud"), "expires_in", (json_int_t)lc_visit_left_s(expires)));
    }
    free(user);
    free(password);
    json_decref(claims);
}

static int check_registry(json_t *registry, struct lc_fail *fail)
{
    static const char *const known[] = {"service", "tenant", "identities", "lifetime_s", "arm_audience", NULL};
    const char *service = "";
    const char *tenant = "";
    json_t *identities = NULL;
    int64_t life_s = REFRESH_S;
    bool arm = true;

    if (lc_json_keys(registry, "registries", known, fail) != 0 ||
        lc_json_text(registry, "registries", "service", &service, fail) != 0 ||
        lc_json_text(registry, "registries", "tenant", &tenant, fail) != 0 ||
        lc_json_array(registry, "registries", "identities", &identities, fail) != 0 ||
        lc_json_integer(registry, "registries", "lifetime_s", 60, 86400, &life_s, fail) != 0 ||
        lc_json_bool(registry, "registries", "arm_audience", &arm, fail) != 0) {
        return -1;
    }
    if (*service == '\0' || *tenant == '\0') {
        return lc_fail_set(fail, "registries: \"service\" is the login server's name and \"tenant\" a tenant's id");
    }
    (void)json_object_set_new(registry, "lifetime_s", json_integer(life_s));
    return 0;
}

static json_t *check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"registries", NULL};
    json_t *copy = json_deep_copy(settings);
    json_t *registries = json_object_get(copy, "registries");
    json_t *item = NULL;
    size_t index = 0;
    int result = lc_json_keys(copy, "acr", known, fail);

    (void)cloud;
    if (result == 0 && registries != NULL && !json_is_array(registries)) {
        result = lc_fail_set(fail, "\"registries\" must be an array");
    }
    json_array_foreach(registries, index, item)
    {
        result = result != 0 ? result : check_registry(item, fail);
    }
    if (result != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static const struct lc_action actions[] = {
    {"acr.exchange", "POST", "/acr/oauth2/exchange", exchange, "service", false},
    {"acr.token", "POST", "/acr/oauth2/token", post_token, "service", false},
    {"acr.token", "GET", "/acr/oauth2/token", get_token, NULL, false},
    {"acr.v2", "GET", "/acr/v2/", v2, NULL, true},
};

#define DEMO_REGISTRY(service)                                                                                         \
    "{\"service\":\"" service "\",\"tenant\":\"11111111-2222-3333-4444-555555555555\","                                \
    "\"identities\":[\"66666666-7777-8888-9999-aaaaaaaaaaaa\"]}"

const struct lc_service lc_acr_service = {
    .name = "acr",
    .prefix = "/acr/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .refuse = refuse,
    .demo = "{\"registries\":[" DEMO_REGISTRY("demo.azurecr.io") "," DEMO_REGISTRY("*") "]}",
    .check = check,
};
