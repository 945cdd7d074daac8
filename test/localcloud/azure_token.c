/* SPDX-License-Identifier: MIT */
/* Entra ID's token endpoint for applications (client credentials, RFC 6749, 4.4), and AD FS's. */
#include "azure.h"

#include "token_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BEARER_ASSERTION "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

enum { LONG_LIFE_S = 7200 };

static void free_ask(struct lc_azure_ask *ask)
{
    free(ask->tenant_name);
    free(ask->client_id);
    free(ask->secret);
    free(ask->resource);
}

static int missing(struct lc_visit *visit, const char *name)
{
    return lc_azure_refuse(visit, 900144, "The request body must contain the following parameter: '%s'.", name);
}

static int find_tenant(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    static const char *const shared[] = {"common", "organizations", "consumers"};
    const char *path = visit->request->path;
    const char *start = path + (lc_text_starts(path, "/azure/") ? strlen("/azure/") : 1);
    json_t *tenant = NULL;
    size_t index = 0;

    start += strspn(start, "/"); /* An SDK may add a slash to an authority that ends with one. */
    ask->tenant_name = strndup(start, strcspn(start, "/"));
    if (ask->tenant_name == NULL || !lc_text_unpercent(ask->tenant_name, false)) {
        return lc_azure_refuse(visit, 90019, "No tenant-identifying information found in the request.");
    }
    ask->adfs = strcmp(ask->tenant_name, "adfs") == 0;
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        if (strcasecmp(shared[i], ask->tenant_name) == 0) {
            return lc_azure_refuse(visit, 90019,
                                   "No tenant-identifying information found in either the request or implied by any "
                                   "provided credentials.");
        }
    }
    json_array_foreach(json_object_get(visit->settings, "tenants"), index, tenant)
    {
        if (strcasecmp(json_string_value(json_object_get(tenant, "id")), ask->tenant_name) == 0 ||
            lc_json_holds(json_object_get(tenant, "domains"), ask->tenant_name)) {
            ask->tenant = tenant;
            return 0;
        }
    }
    return lc_azure_refuse(
        visit, 90002,
        "Tenant '%.100s' not found. Check to make sure you have the correct tenant ID and are signing "
        "into the correct cloud. Check with your subscription administrator, this may happen if "
        "there are no active subscriptions for the tenant.",
        ask->tenant_name);
}

static int find_application(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(ask->tenant, "applications"), index, item)
    {
        if (strcasecmp(json_string_value(json_object_get(item, "client_id")), ask->client_id) == 0) {
            ask->application = item;
        }
    }
    if (ask->application == NULL) {
        return lc_azure_refuse(visit, 700016,
                               "Application with identifier '%.100s' was not found in the directory '%.100s'. This can "
                               "happen if the application has not been installed by the administrator of the tenant or "
                               "consented to by any user in the tenant. You may have sent your authentication request "
                               "to the wrong tenant.",
                               ask->client_id, ask->tenant_name);
    }
    return json_is_true(json_object_get(ask->application, "disabled"))
               ? lc_azure_refuse(visit, 7000112, "Application '%.100s' is disabled.", ask->client_id)
               : 0;
}

/* Client id and secret come in the body or by HTTP Basic; never both ways, nor a secret together with an
 * assertion. */
static int read_client(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    const char *id = lc_visit_param(visit, "client_id");
    const char *secret = lc_visit_param(visit, "client_secret");

    ask->assertion = lc_visit_param(visit, "client_assertion");
    if (!lc_visit_basic(visit, true, &ask->client_id, &ask->secret)) {
        return lc_azure_refuse(visit, 90023, "Invalid STS request: the Authorization header is not HTTP Basic.");
    }
    if ((ask->secret != NULL) + (secret != NULL) + (ask->assertion != NULL) > 1 ||
        (ask->client_id != NULL && id != NULL && strcasecmp(id, ask->client_id) != 0)) {
        return lc_azure_refuse(visit, 90023, "Invalid STS request: more than one way of client authentication.");
    }
    if (ask->client_id == NULL && id == NULL) {
        return missing(visit, "client_id");
    }
    ask->client_id = ask->client_id != NULL ? ask->client_id : strdup(id);
    ask->secret = ask->secret != NULL ? ask->secret : secret == NULL ? NULL : strdup(secret);
    return ask->client_id == NULL ? lc_azure_refuse(visit, 90033, "out of memory") : 0;
}

static int check_form(struct lc_visit *visit)
{
    const char *grant = lc_visit_param(visit, "grant_type");

    if (visit->form_broken) {
        return lc_azure_refuse(visit, 90023, "Invalid STS request: the body is not a decodable form.");
    }
    if (grant == NULL) {
        return missing(visit, "grant_type");
    }
    return strcmp(grant, "client_credentials") == 0
               ? 0
               : lc_azure_refuse(visit, 70003, "The app requested an unsupported grant type '%.100s'.", grant);
}

/* Scopes that libraries add and that mean nothing for an application. */
static bool is_idle_scope(const char *scope)
{
    return strcmp(scope, "openid") == 0 || strcmp(scope, "offline_access") == 0 || strcmp(scope, "profile") == 0;
}

/* The one resource of "RESOURCE/.default": the part before the last slash. */
static int read_scope(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    static const char ending[] = "/.default";
    const char *scopes = lc_visit_param(visit, "scope");
    char *copy = scopes == NULL ? NULL : strdup(scopes);
    char *rest = NULL;
    int result = 0;

    if (copy == NULL) {
        return lc_azure_refuse(
            visit, 90014,
            "The required field 'scope' is missing from the credential. Ensure that you have all the "
            "necessary parameters for the login request.");
    }
    for (char *scope = strtok_r(copy, " ", &rest); result == 0 && scope != NULL; scope = strtok_r(NULL, " ", &rest)) {
        size_t len = strlen(scope);
        size_t tail = sizeof ending - 1;
        if (is_idle_scope(scope)) {
            continue;
        }
        if (ask->adfs && ask->resource == NULL && (len <= tail || strcmp(scope + len - tail, ending) != 0)) {
            ask->resource = strdup(scope); /* AD FS knows resources by themselves too */
        } else if (len <= tail || strcmp(scope + len - tail, ending) != 0) {
            result =
                lc_azure_refuse(visit, 1002012,
                                "The provided value for scope %.300s is not valid. Client credential flows must "
                                "have a scope value with /.default suffixed to the resource identifier (application "
                                "ID URI).",
                                scope);
        } else if (ask->resource != NULL) {
            result =
                lc_azure_refuse(visit, 700022,
                                "The provided value for the input parameter scope '%.400s' is not valid because it "
                                "contains more than one resource.",
                                scopes);
        } else {
            ask->resource = strndup(scope, len - tail);
        }
    }
    free(copy);
    return result == 0 && ask->resource == NULL
               ? lc_azure_refuse(visit, 70011,
                                 "The provided value for the input parameter 'scope' is not valid. The scope %.300s is "
                                 "not valid.",
                                 scopes)
               : result;
}

static int read_resource(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    const char *resource = ask->adfs ? lc_visit_param(visit, "resource") : NULL;

    if (resource != NULL) {
        ask->resource = strdup(resource);
        return 0;
    }
    return read_scope(visit, ask);
}

static int check_resource(struct lc_visit *visit, const struct lc_azure_ask *ask)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(ask->application, "resources"), index, item)
    {
        if (lc_azure_same_resource(json_string_value(item), ask->resource)) {
            return 0;
        }
    }
    return lc_azure_refuse(visit, 500011,
                           "The resource principal named %.300s was not found in the tenant named %.100s. This can "
                           "happen if the application has not been installed by the administrator of the tenant or "
                           "consented to by any user in the tenant. You might have sent your authentication request to "
                           "the wrong tenant.",
                           ask->resource, ask->tenant_name);
}

static int prove(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    const char *type = lc_visit_param(visit, "client_assertion_type");

    if (ask->assertion != NULL) {
        if (type == NULL) {
            return missing(visit, "client_assertion_type");
        }
        return strcmp(type, BEARER_ASSERTION) == 0
                   ? lc_azure_prove_assertion(visit, ask)
                   : lc_azure_refuse(visit, 90023, "Invalid STS request: client_assertion_type must be '%s'.",
                                     BEARER_ASSERTION);
    }
    return ask->secret != NULL
               ? lc_azure_prove_secret(visit, ask)
               : lc_azure_refuse(visit, 7000218,
                                 "The request body must contain the following parameter: 'client_assertion' or "
                                 "'client_secret'.");
}

static char *make_token(struct lc_visit *visit, const struct lc_azure_ask *ask, int64_t life_s)
{
    const char *tenant = json_string_value(json_object_get(ask->tenant, "id"));
    const char *client = json_string_value(json_object_get(ask->application, "client_id"));
    char *issuer = lc_text_format("https://sts.windows.net/%s/", tenant);
    json_int_t now = (json_int_t)lc_time_now();
    json_t *claims =
        json_pack("{s:s,s:s*,s:I,s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "aud", ask->resource, "iss", issuer, "iat", now,
                  "nbf", now, "exp", (json_int_t)lc_visit_until(life_s), "appid", client, "appidacr", ask->proved_by,
                  "oid", client, "sub", client, "tid", tenant, "uti", visit->id, "ver", "1.0");
    char *token = claims == NULL ? NULL : lc_token_key_sign(visit->cloud->token_key, claims);

    json_decref(claims);
    free(issuer);
    return token;
}

static void grant(struct lc_visit *visit, const struct lc_azure_ask *ask)
{
    int64_t asked_s = json_integer_value(json_object_get(ask->application, "lifetime_s"));
    int64_t life_s = lc_visit_life_s(visit, asked_s);
    char *token = make_token(visit, ask, life_s);
    json_t *document = json_pack("{s:s}", "token_type", ask->adfs ? "bearer" : "Bearer");

    if (token == NULL) {
        json_decref(document);
        (void)lc_azure_refuse(visit, 90033, "out of memory");
        return;
    }
    lc_visit_put_expiry(visit, document, "expires_in", json_integer(life_s), json_integer(-3600));
    if (!ask->adfs) {
        lc_visit_put_expiry(visit, document, "ext_expires_in", json_integer(life_s), json_integer(-3600));
        if (asked_s > LONG_LIFE_S) {
            (void)json_object_set_new(document, "refresh_in", json_integer(life_s / 2));
        }
    }
    (void)json_object_set_new(document, "access_token", json_string(token));
    (void)snprintf(visit->record.session_name, sizeof visit->record.session_name, "%s", ask->resource);
    lc_visit_granted(visit, token);
    lc_reply_header(visit->reply, "Cache-Control", "no-store, no-cache");
    lc_reply_header(visit->reply, "Pragma", "no-cache");
    lc_reply_header(visit->reply, "x-ms-request-id", visit->id);
    lc_visit_json(visit, 200, document);
    free(token);
}

void lc_azure_token(struct lc_visit *visit)
{
    struct lc_azure_ask ask = {0};

    if (find_tenant(visit, &ask) == 0 && check_form(visit) == 0 && read_client(visit, &ask) == 0) {
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", ask.client_id);
        if (find_application(visit, &ask) == 0 && read_resource(visit, &ask) == 0 && prove(visit, &ask) == 0 &&
            check_resource(visit, &ask) == 0) {
            grant(visit, &ask);
        }
    }
    free_ask(&ask);
}

void lc_azure_discovery(struct lc_visit *visit)
{
    const char *host = lc_visit_host(visit);
    const char *prefix = lc_text_starts(visit->request->path, "/azure/") ? "/azure" : "";
    struct lc_azure_ask ask = {0};

    if (find_tenant(visit, &ask) == 0) {
        char *base =
            lc_text_format("https://%s%s/%s", host, prefix, json_string_value(json_object_get(ask.tenant, "id")));
        char *issuer = lc_text_format("%s%s", base, ask.adfs ? "" : "/v2.0");
        char *token = lc_text_format("%s/oauth2/%stoken", base, ask.adfs ? "" : "v2.0/");
        char *authorize = lc_text_format("%s/oauth2/%sauthorize", base, ask.adfs ? "" : "v2.0/");
        char *keys = lc_text_format("%s/discovery/%skeys", base, ask.adfs ? "" : "v2.0/");

        lc_reply_header(visit->reply, "Cache-Control", "max-age=86400, private");
        lc_visit_json(visit, 200,
                      json_pack("{s:s*,s:s*,s:s*,s:s*,s:[sss],s:[ss],s:[s],s:[s],s:s,s:s}", "issuer", issuer,
                                "token_endpoint", token, "authorization_endpoint", authorize, "jwks_uri", keys,
                                "token_endpoint_auth_methods_supported", "client_secret_post", "private_key_jwt",
                                "client_secret_basic", "response_types_supported", "code", "id_token",
                                "subject_types_supported", "pairwise", "id_token_signing_alg_values_supported", "RS256",
                                "tenant_region_scope", "EU", "cloud_instance_name", "microsoftonline.com"));
        free(base);
        free(issuer);
        free(token);
        free(authorize);
        free(keys);
    }
    free_ask(&ask);
}
