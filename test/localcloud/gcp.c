/* SPDX-License-Identifier: MIT */
/* Google Cloud: the service, its two dialects of refusal, its access tokens. */
#include "gcp.h"

#include "token_key.h"
#include "token_seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which ErrorInfo goes with a google.rpc status; found by a part of the message. */
struct reason {
    const char *status;
    const char *fragment;
    const char *reason;
    const char *domain;
};

static const struct reason reasons[] = {
    {"PERMISSION_DENIED", "Permission '", "IAM_PERMISSION_DENIED", "iam.googleapis.com"},
    {"PERMISSION_DENIED", "insufficient authentication scopes", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "googleapis.com"},
    {"UNAUTHENTICATED", "missing required", "CREDENTIALS_MISSING", "googleapis.com"},
};

/* "Permission 'X' denied on resource (or it may not exist)." names X. */
static json_t *metadata_of(const char *message)
{
    const char *start = strchr(message, '\'');
    const char *end = start == NULL ? NULL : strchr(start + 1, '\'');

    return end == NULL || !lc_text_starts(message, "Permission '")
               ? json_object()
               : json_pack("{s:s%}", "permission", start + 1, (size_t)(end - start - 1));
}

static json_t *details_of(const struct lc_refusal *refusal)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        const struct reason *row = &reasons[i];
        if (!refusal->own_type && strcmp(row->status, refusal->code) == 0 &&
            strstr(refusal->message, row->fragment) != NULL) {
            return json_pack("[{s:s,s:s,s:s,s:o}]", "@type", "type.googleapis.com/google.rpc.ErrorInfo", "reason",
                             row->reason, "domain", row->domain, "metadata", metadata_of(refusal->message));
        }
    }
    return !refusal->own_type ? NULL
                              : json_pack("[{s:s,s:s,s:s}]", "@type", "type.googleapis.com/google.rpc.ErrorInfo",
                                          "reason", refusal->type, "domain", "googleapis.com");
}

static void refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    bool oauth = strcmp(visit->action->name, "gcp.token") == 0 || strcmp(visit->action->name, "gcp.jwtBearer") == 0;
    char realm[] = "Bearer realm=\"https://accounts.google.com/\"";
    char invalid[] = "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\"";

    if (oauth && (refusal->code[0] < 'A' || refusal->code[0] > 'Z')) {
        lc_visit_json(visit, refusal->status,
                      json_pack("{s:s,s:s}", "error", refusal->code, "error_description", refusal->message));
        return;
    }
    if (refusal->status == 401) {
        lc_reply_header(visit->reply, "WWW-Authenticate",
                        strstr(refusal->message, "missing required") != NULL ? realm : invalid);
    }
    lc_visit_json(visit, refusal->status,
                  json_pack("{s:{s:i,s:s,s:s,s:o*}}", "error", "code", (int)refusal->status, "message",
                            refusal->message, "status", refusal->code, "details", details_of(refusal)));
}

/* Impersonation, and whatever is about an account's keys, names the account in the path. */
static void note(struct lc_visit *visit)
{
    const char *start = strstr(visit->request->path, "/serviceAccounts/");
    char *email = NULL;

    if (start != NULL) {
        start += strlen("/serviceAccounts/");
        email = strndup(start, strcspn(start, ":/"));
        if (email != NULL && lc_text_unpercent(email, false)) {
            (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", email);
        }
        free(email);
    }
}

bool lc_gcp_is_scope(const char *scope)
{
    static const char *const plain[] = {"openid", "email", "profile"};

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(scope, plain[i]) == 0) {
            return true;
        }
    }
    return lc_text_starts(scope, LC_GCP_AUTH) && scope[strlen(LC_GCP_AUTH)] != '\0' &&
           lc_text_only(scope + strlen(LC_GCP_AUTH), "._-/");
}

json_t *lc_gcp_scopes(const char *text)
{
    json_t *scopes = json_array();
    size_t len = 0;

    for (; *text != '\0' && scopes != NULL; text += len) {
        char *scope = NULL;
        bool good = false;
        len = strcspn(text, " ");
        if (len == 0) {
            len = 1;
            continue;
        }
        scope = strndup(text, len);
        good = scope != NULL && lc_gcp_is_scope(scope) && json_array_append_new(scopes, json_string(scope)) == 0;
        free(scope);
        if (!good) {
            json_decref(scopes);
            return NULL;
        }
    }
    return scopes;
}

bool lc_gcp_scoped(json_t *scopes, const char *name)
{
    char full[128] = "";

    (void)snprintf(full, sizeof full, "%s%s", LC_GCP_AUTH, name);
    return lc_json_holds(scopes, full);
}

char *lc_gcp_issue(struct lc_visit *visit, char kind, const char *identity, json_t *scopes, int64_t expires_at_s)
{
    char prefix[] = {'y', 'a', '2', '9', '.', kind, '.', '\0'};
    json_t *content = json_pack("{s:s,s:O,s:I}", "id", identity, "scopes", scopes, "exp", (json_int_t)expires_at_s);
    char *token = content == NULL ? NULL : lc_token_seal(visit->cloud, prefix, prefix, content);

    json_decref(content);
    return token;
}

char *lc_gcp_issue_id(struct lc_visit *visit, json_t *account, const char *audience, bool email, int64_t life_s)
{
    json_int_t now = (json_int_t)lc_time_now();
    const char *id = json_string_value(json_object_get(account, "unique_id"));
    json_t *claims = json_pack("{s:s,s:s,s:s,s:s,s:I,s:I}", "iss", "https://accounts.google.com", "aud", audience,
                               "azp", id, "sub", id, "iat", now, "exp", now + life_s);
    char *token = NULL;

    if (email) {
        (void)json_object_set_new(claims, "email", json_string(json_string_value(json_object_get(account, "email"))));
        (void)json_object_set_new(claims, "email_verified", json_true());
    }
    token = lc_token_key_sign(visit->cloud->token_key, claims);
    json_decref(claims);
    return token;
}

static int invalid(struct lc_visit *visit)
{
    return lc_visit_refuse(
        visit, 401, "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie "
        "or other valid authentication credential.");
}

/* A token that a service account signed itself, without any endpoint: aud or scope, never both; life exactly
 * an hour. */
static json_t *open_self_signed(struct lc_visit *visit, const char *token)
{
    struct lc_jwt jwt = {0};
    const char *email = NULL;
    const char *aud = NULL;
    const char *scope = NULL;
    const char *sub = "";
    json_int_t issued = 0;
    json_int_t expires = 0;
    json_t *content = NULL;
    json_t *scopes = NULL;
    json_t *account = NULL;

    if (lc_jwt_read(token, &jwt, NULL) != 0) {
        return NULL;
    }
    if (json_unpack(jwt.claims, "{s:s,s:s,s?s,s?s,s:I,s:I}", "iss", &email, "sub", &sub, "aud", &aud, "scope", &scope,
                    "iat", &issued, "exp", &expires) == 0 &&
        strcmp(email, sub) == 0 && (aud == NULL) != (scope == NULL) && expires == issued + LC_GCP_LIFE_S &&
        issued <= (json_int_t)lc_time_now() + 300 &&
        (aud == NULL || lc_text_like("https://*.googleapis.com/", aud) || lc_visit_is_url(visit, aud, "/"))) {
        account = lc_gcp_account(visit->settings, email);
        scopes = scope == NULL ? json_array() : lc_gcp_scopes(scope);
        if (account != NULL && scopes != NULL && lc_gcp_signed_by(visit, account, token, &jwt)) {
            content = json_pack("{s:s,s:O,s:I}", "id", email, "scopes", scopes, "exp", expires);
        }
        json_decref(scopes);
    }
    lc_jwt_free(&jwt);
    return content;
}

int lc_gcp_caller(struct lc_visit *visit, struct lc_gcp_caller *out)
{
    const char *token = lc_visit_bearer(visit);
    bool own = false;

    *out = (struct lc_gcp_caller){0};
    if (lc_request_header(visit->request, "authorization") == NULL) {
        return lc_visit_refuse(visit, 401, "UNAUTHENTICATED",
                               "Request is missing required authentication credential. Expected OAuth 2 "
                               "access token, login cookie or "
                               "other valid authentication credential.");
    }
    if (token == NULL) {
        return invalid(visit);
    }
    out->content = lc_token_open(visit->cloud, "ya29.d.", "ya29.d.", token);
    if (out->content == NULL) {
        own = true;
        out->content = lc_token_open(visit->cloud, "ya29.c.", "ya29.c.", token);
    }
    if (out->content == NULL) {
        out->content = open_self_signed(visit, token);
    }
    out->identity = json_string_value(json_object_get(out->content, "id"));
    out->scopes = json_object_get(out->content, "scopes");
    out->expires_at_s = json_integer_value(json_object_get(out->content, "exp"));
    if (out->identity == NULL || out->expires_at_s <= (int64_t)lc_time_now() ||
        (own && lc_gcp_account(visit->settings, out->identity) == NULL)) {
        json_decref(out->content);
        *out = (struct lc_gcp_caller){0};
        return invalid(visit);
    }
    return 0;
}

static void whoami(struct lc_visit *visit)
{
    struct lc_gcp_caller caller = {0};

    if (lc_gcp_caller(visit, &caller) == 0) {
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", caller.identity);
        lc_visit_json(visit, 200,
                      json_pack("{s:s,s:I,s:O}", "identity", caller.identity, "expires_in",
                                (json_int_t)lc_visit_left_s(caller.expires_at_s), "scopes", caller.scopes));
        json_decref(caller.content);
    }
}

static void certs(struct lc_visit *visit)
{
    lc_visit_json(visit, 200, lc_token_key_jwks(visit->cloud->token_key));
}

#define ACCOUNT_KEYS "/gcp/v1/projects/*/serviceAccounts/*/keys"

static const struct lc_action actions[] = {
    {"gcp.token", "POST", "/gcp/v1/token", lc_gcp_token, "audience", false},
    {"gcp.generateAccessToken", "POST", "/gcp/v1/projects/*/serviceAccounts/*:generateAccessToken", lc_gcp_access_token,
     NULL, false},
    {"gcp.generateIdToken", "POST", "/gcp/v1/projects/*/serviceAccounts/*:generateIdToken", lc_gcp_id_token, NULL,
     false},
    {"gcp.key.permissions", "POST", "/gcp/v1/projects/*/serviceAccounts/*:testIamPermissions", lc_gcp_key_permissions,
     NULL, false},
    {"gcp.jwtBearer", "POST", "/gcp/oauth2/token", lc_gcp_jwt_bearer, NULL, false},
    {"gcp.key.create", "POST", ACCOUNT_KEYS, lc_gcp_key_create, NULL, false},
    {"gcp.key.list", "GET", ACCOUNT_KEYS, lc_gcp_key_list, NULL, false},
    {"gcp.key.get", "GET", ACCOUNT_KEYS "/*", lc_gcp_key_get, NULL, false},
    {"gcp.key.disable", "POST", ACCOUNT_KEYS "/*:disable", lc_gcp_key_disable, NULL, false},
    {"gcp.key.enable", "POST", ACCOUNT_KEYS "/*:enable", lc_gcp_key_enable, NULL, false},
    {"gcp.key.delete", "DELETE", ACCOUNT_KEYS "/*", lc_gcp_key_delete, NULL, false},
    {"gcp.certs", "GET", "/gcp/oauth2/v3/certs", certs, NULL, true},
    {"gcp.whoami", "GET", "/gcp/whoami", whoami, NULL, true},
};

#define POOL "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo"

const struct lc_service lc_gcp_service = {
    .name = "gcp",
    .prefix = "/gcp/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .note = note,
    .refuse = refuse,
    .demo = "{\"providers\":[{\"audience\":\"" POOL "/providers/demo\"}],"
            "\"service_accounts\":[{\"email\":\"demo@demo-project.iam.gserviceaccount.com\",\"members\":["
            "\"principal:" POOL "/subject/system:serviceaccount:default:demo\"]}]}",
    .check = lc_gcp_check,
};
