/* SPDX-License-Identifier: MIT */
/* Microsoft Entra ID: the service, the texts of its refusals, and a resource that verifies tokens. */
#include "azure.h"

#include "token_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct row {
    long number;
    const char *error;
    unsigned status;
};

static const struct row rows[] = {
    {50001, "invalid_resource", 400},
    {50005, "interaction_required", 400},
    {50012, "invalid_client", 401},
    {50013, "invalid_grant", 400},
    {50027, "invalid_client", 401},
    {50033, "temporarily_unavailable", 503},
    {50034, "invalid_grant", 400},
    {50196, "invalid_grant", 400},
    {53003, "invalid_grant", 400},
    {70001, "unauthorized_client", 400},
    {70003, "unsupported_grant_type", 400},
    {70011, "invalid_scope", 400},
    {70021, "invalid_client", 401},
    {90002, "invalid_request", 400},
    {90006, "temporarily_unavailable", 503},
    {90012, "temporarily_unavailable", 503},
    {90014, "invalid_request", 400},
    {90019, "invalid_request", 400},
    {90023, "invalid_request", 400},
    {90024, "temporarily_unavailable", 503},
    {90033, "temporarily_unavailable", 503},
    {90038, "invalid_request", 400},
    {90055, "temporarily_unavailable", 429},
    {90061, "invalid_request", 400},
    {90090, "server_error", 500},
    {90091, "server_error", 500},
    {100007, "invalid_request", 400},
    {500011, "invalid_resource", 400},
    {500133, "invalid_grant", 400},
    {700011, "unauthorized_client", 400},
    {700016, "unauthorized_client", 400},
    {700021, "invalid_client", 401},
    {700022, "invalid_scope", 400},
    {700023, "invalid_client", 401},
    {700024, "invalid_client", 401},
    {700027, "invalid_client", 401},
    {700211, "invalid_client", 401},
    {700212, "invalid_client", 401},
    {700213, "invalid_client", 401},
    {700229, "invalid_client", 401},
    {900144, "invalid_request", 400},
    {1002012, "invalid_scope", 400},
    {5002738, "invalid_client", 401},
    {7000112, "unauthorized_client", 400},
    {7000215, "invalid_client", 401},
    {7000218, "invalid_client", 401},
    {7000222, "invalid_client", 401},
    {7000272, "invalid_client", 401},
    {7002131, "invalid_client", 401},
    {7002137, "invalid_client", 401},
    {7002138, "invalid_client", 401},
    {7002381, "invalid_client", 401},
};

static const struct row *row_of(long number)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].number == number) {
            return &rows[i];
        }
    }
    return NULL;
}

int lc_azure_refuse(struct lc_visit *visit, long number, const char *format, ...)
{
    const struct row *row = row_of(number);
    char code[32] = "";
    char message[1200] = "";
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    (void)snprintf(code, sizeof code, "AADSTS%ld", number);
    return lc_visit_refuse(visit, row == NULL ? 400 : row->status, code, "%s", message);
}

bool lc_azure_is_guid(const char *text)
{
    for (size_t i = 0; i < LC_UUID_BYTES - 1; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : text[i] == '\0' || strchr("0123456789abcdefABCDEF", text[i]) == NULL) {
            return false;
        }
    }
    return text[LC_UUID_BYTES - 1] == '\0';
}

/* A resource answers in the words of the resource manager. */
static void refuse_use(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    char *challenge = lc_text_format("Bearer authorization_uri=\"https://login.windows.net/\", "
                                     "error=\"invalid_token\", error_description=\"%.200s\"",
                                     refusal->message);

    if (refusal->status == 401 && challenge != NULL) {
        lc_reply_header(visit->reply, "WWW-Authenticate", challenge);
    }
    free(challenge);
    lc_visit_json(visit, refusal->status,
                  json_pack("{s:{s:s,s:s}}", "error", "code", refusal->code, "message", refusal->message));
}

static const char *error_of(const struct lc_refusal *refusal, const struct row *row)
{
    if (refusal->own_type) {
        return refusal->type;
    }
    if (row != NULL) {
        return row->error;
    }
    if (!lc_text_starts(refusal->code, "AADSTS")) {
        return refusal->code;
    }
    return refusal->status >= 500   ? "temporarily_unavailable"
           : refusal->status == 401 ? "invalid_client"
                                    : "invalid_request";
}

static void refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    bool coded = lc_text_starts(refusal->code, "AADSTS");
    long number = coded ? strtol(refusal->code + 6, NULL, 10) : 0;
    const char *asked_id = lc_request_header(visit->request, "client-request-id");
    const char *correlation = asked_id != NULL && lc_azure_is_guid(asked_id) ? asked_id : visit->id;
    char stamp[LC_TIME_BYTES];
    char *text = NULL;
    char *uri = lc_text_format("https://login.microsoftonline.com/error?code=%ld", number);
    json_t *document = NULL;

    if (visit->action->use) {
        refuse_use(visit, refusal);
        free(uri);
        return;
    }
    lc_time_iso((int64_t)lc_time_now(), stamp);
    stamp[10] = ' ';
    lc_reply_header(visit->reply, "Cache-Control", "no-store, no-cache");
    lc_reply_header(visit->reply, "Pragma", "no-cache");
    lc_reply_header(visit->reply, "x-ms-request-id", visit->id);
    if (lc_text_starts(visit->request->path, "/azure/adfs/") || lc_text_starts(visit->request->path, "/adfs/")) {
        document =
            json_pack("{s:s,s:s}", "error", error_of(refusal, row_of(number)), "error_description", refusal->message);
    } else {
        text = lc_text_format("%s%s%s Trace ID: %s Correlation ID: %s Timestamp: %s", coded ? refusal->code : "",
                              coded ? ": " : "", refusal->message, visit->id, correlation, stamp);
        document =
            json_pack("{s:s,s:s*,s:o*,s:s,s:s,s:s}", "error", error_of(refusal, row_of(number)), "error_description",
                      text, "error_codes", coded ? json_pack("[I]", (json_int_t)number) : NULL, "timestamp", stamp,
                      "trace_id", visit->id, "correlation_id", correlation);
        if (coded) {
            (void)json_object_set_new(document, "error_uri", json_string(uri == NULL ? "" : uri));
        }
    }
    lc_visit_json(visit, refusal->status, document);
    free(text);
    free(uri);
}

void lc_azure_open(struct lc_cloud *cloud, const char *token, struct lc_azure_access *out)
{
    json_t *claims = lc_token_key_open(cloud->token_key, token);

    *out = (struct lc_azure_access){0};
    if (json_unpack(claims, "{s:s,s:s,s:s}", "tid", &out->tenant, "appid", &out->client_id, "aud", &out->audience) !=
        0) {
        json_decref(claims);
        *out = (struct lc_azure_access){0};
        return;
    }
    out->expired = json_integer_value(json_object_get(claims, "exp")) <= (json_int_t)lc_time_now();
    out->claims = claims;
}

bool lc_azure_same_resource(const char *a, const char *b)
{
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);

    a_len -= a_len > 0 && a[a_len - 1] == '/';
    b_len -= b_len > 0 && b[b_len - 1] == '/';
    return a_len == b_len && strncasecmp(a, b, a_len) == 0;
}

static void answer_whoami(struct lc_visit *visit, const struct lc_azure_access *access)
{
    json_int_t expires = json_integer_value(json_object_get(access->claims, "exp"));
    char *scope = lc_text_format("%s/.default", access->audience);

    (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", access->client_id);
    lc_visit_json(visit, 200,
                  json_pack("{s:s,s:s,s:s,s:I,s:[s*]}", "identity", access->client_id, "tenant", access->tenant,
                            "resource", access->audience, "expires_in", (json_int_t)lc_visit_left_s(expires), "scopes",
                            scope));
    free(scope);
}

static void whoami(struct lc_visit *visit)
{
    const char *token = lc_visit_bearer(visit);
    struct lc_azure_access access = {0};
    struct lc_params query = {0};
    const char *resource = NULL;

    if (lc_params_read(visit->request->query, strlen(visit->request->query), &query)) {
        resource = lc_params_get(&query, "resource");
    }
    if (resource == NULL) {
        (void)lc_visit_refuse(visit, 400, "MissingParameter", "The query needs resource=, who is asking.");
    } else if (token == NULL) {
        (void)lc_visit_refuse(visit, 401, "AuthenticationFailed",
                              "Authentication failed. The 'Authorization' header is missing.");
    } else {
        lc_azure_open(visit->cloud, token, &access);
        if (access.claims == NULL) {
            (void)lc_visit_refuse(visit, 401, "InvalidAuthenticationToken", "The access token is invalid.");
        } else if (access.expired) {
            (void)lc_visit_refuse(visit, 401, "ExpiredAuthenticationToken", "The access token has expired.");
        } else if (!lc_azure_same_resource(access.audience, resource)) {
            (void)lc_visit_refuse(visit, 401, "InvalidAuthenticationTokenAudience",
                                  "The access token has been obtained for wrong audience or resource '%.300s'. It "
                                  "should exactly match '%.300s'.",
                                  access.audience, resource);
        } else {
            answer_whoami(visit, &access);
        }
        json_decref(access.claims);
    }
    lc_params_free(&query);
}

static void keys(struct lc_visit *visit)
{
    lc_visit_json(visit, 200, lc_token_key_jwks(visit->cloud->token_key));
}

static const struct lc_action actions[] = {
    {"azure.discovery", "GET", "/azure/*/v2.0/.well-known/openid-configuration", lc_azure_discovery, NULL, false},
    {"azure.discovery", "GET", "/azure/adfs/.well-known/openid-configuration", lc_azure_discovery, NULL, false},
    {"azure.token", "POST", "/azure/*/oauth2/v2.0/token", lc_azure_token, "client_id", false},
    {"azure.token", "POST", "/azure/adfs/oauth2/token", lc_azure_token, "client_id", false},
    {"azure.keys", "GET", "/azure/*/discovery/v2.0/keys", keys, NULL, true},
    {"azure.whoami", "GET", "/azure/whoami", whoami, NULL, true},
    /* Without /azure, for SDKs that take the host of an authority and its first segment as the tenant. */
    {"azure.discovery", "GET", "/*/v2.0/.well-known/openid-configuration", lc_azure_discovery, NULL, false},
    {"azure.discovery", "GET", "/adfs/.well-known/openid-configuration", lc_azure_discovery, NULL, false},
    {"azure.token", "POST", "/*/oauth2/v2.0/token", lc_azure_token, "client_id", false},
    {"azure.token", "POST", "/adfs/oauth2/token", lc_azure_token, "client_id", false},
    {"azure.keys", "GET", "/*/discovery/v2.0/keys", keys, NULL, true},
};

#define DEMO_APPLICATION                                                                                               \
    "{\"client_id\":\"66666666-7777-8888-9999-aaaaaaaaaaaa\","                                                         \
    "\"federated\":[{\"subject\":\"system:serviceaccount:default:demo\",\"audience\":\"api://"                         \
    "AzureADTokenExchange\"}],"                                                                                        \
    "\"secrets\":[{\"value\":\"demo-client-secret\"}]}"

const struct lc_service lc_azure_service = {
    .name = "azure",
    .prefix = "/azure/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .refuse = refuse,
    .demo = "{\"tenants\":[{\"id\":\"11111111-2222-3333-4444-555555555555\",\"domains\":[\"demo.onmicrosoft."
            "com\"],"
            "\"applications\":[" DEMO_APPLICATION "]},{\"id\":\"adfs\",\"applications\":[" DEMO_APPLICATION "]}]}",
    .check = lc_azure_check,
};
