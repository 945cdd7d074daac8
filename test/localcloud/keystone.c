/* SPDX-License-Identifier: MIT */
/* OpenStack Keystone v3: the table of its operations, its errors, version documents, validation and
 * revocation. */
#include "keystone.h"

#include "keystone_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *title_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *title;
    } titles[] = {{400, "Bad Request"},
                  {401, "Unauthorized"},
                  {403, "Forbidden"},
                  {404, "Not Found"},
                  {405, "Method Not Allowed"},
                  {409, "Conflict"},
                  {413, "Request Entity Too Large"},
                  {429, "Too Many Requests"},
                  {500, "Internal Server Error"},
                  {502, "Bad Gateway"},
                  {503, "Service Unavailable"},
                  {504, "Gateway Timeout"}};

    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (titles[i].status == status) {
            return titles[i].title;
        }
    }
    return "Error";
}

static void common_headers(struct lc_visit *visit)
{
    char id[48] = "";

    (void)snprintf(id, sizeof id, "req-%s", visit->id);
    lc_reply_header(visit->reply, "Content-Type", "application/json");
    lc_reply_header(visit->reply, "Vary", "X-Auth-Token");
    lc_reply_header(visit->reply, "x-openstack-request-id", id);
}

void lc_keystone_answer(struct lc_visit *visit, unsigned status, json_t *document)
{
    common_headers(visit);
    if (document != NULL) {
        lc_visit_json(visit, status, document);
    } else {
        lc_reply_header(visit->reply, "Content-Type", NULL);
        visit->reply->status = status;
    }
}

static void put_error(struct lc_visit *visit, unsigned status, json_t *identity, const char *message)
{
    json_t *error = json_pack("{s:i,s:s,s:s,s:o*}", "code", (int)status, "title", title_of(status), "message", message,
                              "identity", identity);
    char *uri = lc_text_format("Keystone uri=\"%s\"", visit->cloud->keystone->base_url);

    lc_buf_free(&visit->reply->body);
    lc_keystone_answer(visit, status, json_pack("{s:o}", "error", error));
    if (status == 401 && uri != NULL) {
        lc_reply_header(visit->reply, "WWW-Authenticate", uri);
    }
    free(uri);
}

static void service_refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    put_error(visit, refusal->status, NULL, refusal->message);
}

int lc_keystone_refuse(struct lc_visit *visit, unsigned status, const char *format, ...)
{
    const char *title = title_of(status);
    char code[40] = "";
    char message[1200] = "";
    size_t len = 0;
    va_list args;

    for (size_t i = 0; title[i] != '\0' && len + 1 < sizeof code; i++) {
        if (title[i] != ' ') {
            code[len++] = title[i];
        }
    }
    code[len] = '\0';
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return lc_visit_refuse(visit, status, code, "%s", message);
}

int lc_keystone_refuse_plugin(struct lc_visit *visit, json_t *identity, const char *message)
{
    (void)snprintf(visit->record.code, sizeof visit->record.code, "Unauthorized");
    put_error(visit, 401, identity, message);
    return -1;
}

int lc_keystone_unauthorized(struct lc_visit *visit)
{
    return lc_keystone_refuse(visit, 401, "The request you have made requires authentication.");
}

int lc_keystone_forbidden(struct lc_visit *visit, const char *action)
{
    return lc_keystone_refuse(visit, 403, "You are not authorized to perform the requested action: %s.", action);
}

json_t *lc_keystone_body(struct lc_visit *visit)
{
    static const char json[] = "application/json";
    const char *type = lc_request_header(visit->request, "content-type");
    json_t *document = NULL;

    if (type == NULL || strncasecmp(type, json, sizeof json - 1) != 0) {
        (void)lc_keystone_refuse(visit, 400,
                                 "Expecting to find application/json in Content-Type header." LC_KEYSTONE_MALFORMED);
        return NULL;
    }
    document = lc_json_parse(visit->request->body, visit->request->body_len, NULL);
    if (document == NULL) {
        (void)lc_keystone_refuse(visit, 400, "Expecting to find valid JSON in request body." LC_KEYSTONE_MALFORMED);
    }
    return document;
}

static bool no_catalog(const struct lc_visit *visit)
{
    const char *query = visit->request->query;

    return lc_text_starts(query, "nocatalog") || strstr(query, "&nocatalog") != NULL;
}

int lc_keystone_issue(struct lc_visit *visit, struct lc_keystone_token *token, const struct lc_keystone_token *parent)
{
    struct lc_keystone *keystone = visit->cloud->keystone;
    json_t *body = NULL;
    json_t *inside = NULL;
    char *text = NULL;

    lc_keystone_token_start(token, parent, lc_visit_life_s(visit, keystone->expiration_s));
    text = lc_keystone_token_seal(keystone, token);
    if (text == NULL) {
        return lc_keystone_refuse(visit, 500, "An unexpected error prevented the server from fulfilling your request.");
    }
    body = lc_keystone_token_body(keystone, token, !no_catalog(visit), true);
    inside = json_object_get(body, "token");
    if (strcmp(lc_fault_kind(visit->fault), "expiration") == 0) {
        json_t *normal = json_incref(json_object_get(inside, "expires_at"));
        (void)json_object_del(inside, "expires_at");
        lc_visit_put_expiry(visit, inside, "expires_at", normal,
                            lc_keystone_time(((int64_t)lc_time_now() - 3600) * 1000000, LC_KEYSTONE_Z));
    }
    lc_keystone_answer(visit, 201, body);
    lc_reply_header(visit->reply, "X-Subject-Token", text);
    lc_visit_granted(visit, text);
    (void)snprintf(visit->record.session_name, sizeof visit->record.session_name, "%s",
                   token->project_id == NULL ? "" : token->project_id);
    free(text);
    return 0;
}

int lc_keystone_caller(struct lc_visit *visit, struct lc_keystone_token *out)
{
    const char *text = lc_request_header(visit->request, "x-auth-token");

    if (text == NULL || !lc_keystone_token_open(visit->cloud->keystone, text, out)) {
        return lc_keystone_unauthorized(visit);
    }
    return 0;
}

/* Tokens of credentials with access rules are only for services that say they keep them. */
static bool rules_kept(const struct lc_visit *visit, const struct lc_keystone_token *token)
{
    const char *header = lc_request_header(visit->request, "openstack-identity-access-rules");

    return json_object_get(token->credential, "access_rules") == NULL || (header != NULL && strcmp(header, "1.0") == 0);
}

static bool same_user(const struct lc_keystone_token *a, const struct lc_keystone_token *b)
{
    return a->user_id != NULL && b->user_id != NULL && strcmp(a->user_id, b->user_id) == 0;
}

/* X-Subject-Token, which the caller may look at: his own ones, and all for services and administrators. */
static int subject_of(struct lc_visit *visit, const char *action, struct lc_keystone_token *out)
{
    const char *text = lc_request_header(visit->request, "x-subject-token");
    struct lc_keystone_token caller = {0};
    int result = lc_keystone_caller(visit, &caller);

    if (result == 0 && (text == NULL || !lc_keystone_token_open(visit->cloud->keystone, text, out))) {
        result = lc_keystone_refuse(visit, 404, "Failed to validate token");
    } else if (result == 0 && !same_user(&caller, out) && !lc_keystone_token_has(&caller, "admin") &&
               !lc_keystone_token_has(&caller, "service")) {
        result = lc_keystone_forbidden(visit, action);
        lc_keystone_token_free(out);
    }
    lc_keystone_token_free(&caller);
    return result;
}

static void validate(struct lc_visit *visit)
{
    struct lc_keystone_token token = {0};

    if (subject_of(visit, "identity:validate_token", &token) != 0) {
        return;
    }
    if (!rules_kept(visit, &token)) {
        (void)lc_keystone_refuse(visit, 404, "Failed to validate token");
    } else {
        lc_keystone_answer(visit, 200,
                           lc_keystone_token_body(visit->cloud->keystone, &token, !no_catalog(visit), false));
        lc_reply_header(visit->reply, "X-Subject-Token", lc_request_header(visit->request, "x-subject-token"));
    }
    lc_keystone_token_free(&token);
}

static void revoke(struct lc_visit *visit)
{
    struct lc_keystone_token token = {0};

    if (subject_of(visit, "identity:revoke_token", &token) != 0) {
        return;
    }
    lc_keystone_revoke(visit->cloud->keystone, json_string_value(json_array_get(token.audit_ids, 0)),
                       token.expires_us / 1000000 + 1);
    lc_keystone_answer(visit, 204, NULL);
    lc_keystone_token_free(&token);
}

static void version(struct lc_visit *visit)
{
    char *self = lc_text_format("%s/v3/", visit->cloud->keystone->base_url);
    json_t *v3 =
        json_pack("{s:s,s:s,s:s,s:[{s:s,s:s}],s:[{s:s,s:s}]}", "id", "v3.14", "status", "stable", "updated",
                  "2020-04-07T00:00:00Z", "links", "rel", "self", "href", self == NULL ? "" : self, "media-types",
                  "base", "application/json", "type", "application/vnd.openstack.identity-v3+json");

    if (lc_text_starts(visit->request->path, "/identity/v3")) {
        lc_keystone_answer(visit, 200, json_pack("{s:o}", "version", v3));
    } else {
        lc_keystone_answer(visit, 300, json_pack("{s:{s:[o]}}", "versions", "values", v3));
        lc_reply_header(visit->reply, "Location", self == NULL ? "" : self);
    }
    free(self);
}

#define USERS "/identity/v3/users/"

/* Who is meant, for `match.role` of faults and the statistics: the credential, the user, the provider. */
static void note(struct lc_visit *visit)
{
    json_t *document = NULL;
    json_t *identity = NULL;
    json_t *asked = NULL;
    const char *who = NULL;

    if (visit->action->run == lc_keystone_credentials) {
        who = visit->request->path + strlen(USERS);
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%.*s", (int)strcspn(who, "/"), who);
    }
    if (visit->action->run != lc_keystone_auth) {
        return;
    }
    document = lc_json_parse(visit->request->body, visit->request->body_len, NULL);
    identity = json_object_get(json_object_get(document, "auth"), "identity");
    asked = json_object_get(identity, "application_credential");
    if (asked == NULL) {
        asked = json_object_get(json_object_get(identity, "password"), "user");
    }
    who = json_string_value(json_object_get(asked, "id"));
    if (who == NULL) {
        who = json_string_value(json_object_get(asked, "name"));
    }
    (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", who == NULL ? "" : who);
    json_decref(document);
}

#define TOKENS      "/identity/v3/auth/tokens"
#define FEDERATION  "/identity/v3/OS-FEDERATION/identity_providers/*/protocols/*/auth"
#define CREDENTIALS USERS "*/application_credentials"

static const struct lc_action actions[] = {
    {"keystone.version", "GET", "/identity", version, NULL, false},
    {"keystone.version", "GET", "/identity/", version, NULL, false},
    {"keystone.version", "GET", "/identity/v3", version, NULL, false},
    {"keystone.version", "GET", "/identity/v3/", version, NULL, false},
    {"keystone.auth", "POST", TOKENS, lc_keystone_auth, NULL, false},
    {"keystone.validate", "GET", TOKENS, validate, NULL, true},
    {"keystone.validate", "HEAD", TOKENS, validate, NULL, true},
    {"keystone.revoke", "DELETE", TOKENS, revoke, NULL, false},
    {"keystone.federation", "POST", FEDERATION, lc_keystone_federate, NULL, false},
    {"keystone.federation", "GET", FEDERATION, lc_keystone_federate, NULL, false},
    {"keystone.credential.create", "POST", CREDENTIALS, lc_keystone_credentials, NULL, false},
    {"keystone.credential.list", "GET", CREDENTIALS, lc_keystone_credentials, NULL, false},
    {"keystone.credential.show", "GET", CREDENTIALS "/*", lc_keystone_credentials, NULL, false},
    {"keystone.credential.delete", "DELETE", CREDENTIALS "/*", lc_keystone_credentials, NULL, false},
};

const struct lc_service lc_keystone_service = {
    .name = "keystone",
    .prefix = "/identity/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .note = note,
    .refuse = service_refuse,
    .demo = lc_keystone_demo,
    .check = lc_keystone_check,
    .url = "/identity/v3",
};
