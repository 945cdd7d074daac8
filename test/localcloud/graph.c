/* SPDX-License-Identifier: MIT */
/* Microsoft Graph, v1.0: applications show their secrets, get new ones and lose old ones. */
#include "graph.h"

#include "azure.h"
#include "minted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define GRAPH        "https://graph.microsoft.com"
#define APPLICATIONS "/graph/v1.0/applications"
#define CHARACTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~"

enum { MOST_SECRETS = 600, HEAD_CHARS = 3, TAIL_CHARS = 34, TWO_YEARS_S = 63072000, OWNER_BYTES = 160 };

static void refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    char date[LC_TIME_BYTES];

    lc_time_iso((int64_t)lc_time_now(), date);
    date[strcspn(date, "Z")] = '\0';
    lc_reply_header(visit->reply, "request-id", visit->id);
    lc_visit_json(visit, refusal->status,
                  json_pack("{s:{s:s,s:s,s:{s:s,s:s,s:s}}}", "error", "code", refusal->code, "message",
                            refusal->message, "innerError", "date", date, "request-id", visit->id, "client-request-id",
                            visit->id));
}

/* The text between quotes, or the object's id. */
static void note(struct lc_visit *visit)
{
    char *path = strdup(visit->request->path + strlen(APPLICATIONS));
    char *id = path != NULL && lc_text_unpercent(path, false) ? strpbrk(path, "'/") : NULL;

    if (id != NULL) {
        id[1 + strcspn(id + 1, "'/")] = '\0';
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", id + 1);
    }
    free(path);
}

static int bad(struct lc_visit *visit, const char *text)
{
    return lc_visit_refuse(visit, 400, "Request_BadRequest", "%s", text);
}

/* A request that was understood. */
struct call {
    struct lc_azure_access access;
    struct lc_held *held;
    json_t *application; /* borrowed from Azure's settings */
    json_t *body;
    char owner[OWNER_BYTES]; /* of the keys that were minted */
};

/* What is checked when the configuration is read is always there. */
static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

/* Does TEXT, which follows "applications", name it: (appId='ID') or /OBJECT? */
static bool is_named(json_t *application, const char *text)
{
    const char *client = json_string_value(json_object_get(application, "client_id"));
    const char *object = json_string_value(json_object_get(application, "object_id"));
    static const char by_client[] = "(appId='";
    size_t len = strlen(client);

    if (strncasecmp(text, by_client, sizeof by_client - 1) == 0) {
        text += sizeof by_client - 1;
        return strncasecmp(text, client, len) == 0 && strncmp(text + len, "')", 2) == 0 &&
               (text[len + 2] == '/' || text[len + 2] == '\0');
    }
    len = object == NULL ? 0 : strlen(object);
    return object != NULL && text[0] == '/' && strncasecmp(text + 1, object, len) == 0 &&
           (text[len + 1] == '/' || text[len + 1] == '\0');
}

static int check_token(struct lc_visit *visit, struct call *call)
{
    const char *token = lc_visit_bearer(visit);

    if (token == NULL) {
        return lc_visit_refuse(visit, 401, "InvalidAuthenticationToken", "Access token is empty.");
    }
    lc_azure_open(visit->cloud, token, &call->access);
    if (call->access.claims == NULL) {
        return lc_visit_refuse(visit, 401, "InvalidAuthenticationToken", "Invalid JWT.");
    }
    if (call->access.expired) {
        return lc_visit_refuse(visit, 401, "InvalidAuthenticationToken",
                               "Lifetime validation failed, the token is expired.");
    }
    return lc_azure_same_resource(call->access.audience, GRAPH)
               ? 0
               : lc_visit_refuse(visit, 401, "InvalidAuthenticationToken",
                                 "Access token validation failure. Invalid audience.");
}

static int find_application(struct lc_visit *visit, struct call *call, const char *path)
{
    json_t *settings = NULL;
    json_t *tenant = NULL;
    json_t *application = NULL;
    size_t index = 0;
    size_t inner = 0;

    call->held = lc_service_hold(visit->cloud, &lc_azure_service, &settings);
    json_array_foreach(json_object_get(settings, "tenants"), index, tenant)
    {
        if (call->access.tenant == NULL || strcasecmp(text_of(tenant, "id"), call->access.tenant) != 0) {
            continue;
        }
        json_array_foreach(json_object_get(tenant, "applications"), inner, application)
        {
            call->application = is_named(application, path) ? application : call->application;
        }
    }
    if (call->application == NULL) {
        return lc_visit_refuse(visit, 404, "Request_ResourceNotFound",
                               "Resource '%.100s' does not exist or one of its queried reference-property "
                               "objects are not present.",
                               path);
    }
    lc_azure_owner(call->access.tenant, text_of(call->application, "client_id"), call->owner, sizeof call->owner);
    (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", text_of(call->application, "client_id"));
    return 0;
}

/* Application.ReadWrite.OwnedBy: owners only. Without a list the application itself is its only owner. */
static int check_owner(struct lc_visit *visit, const struct call *call)
{
    json_t *owners = json_object_get(call->application, "owners");
    bool allowed = owners == NULL ? call->access.client_id != NULL &&
                                        strcasecmp(text_of(call->application, "client_id"), call->access.client_id) == 0
                                  : lc_json_holds(owners, call->access.client_id);

    return allowed ? 0
                   : lc_visit_refuse(visit, 403, "Authorization_RequestDenied",
                                     "Insufficient privileges to complete the operation.");
}

static int begin(struct lc_visit *visit, struct call *call)
{
    char *path = strdup(visit->request->path + strlen(APPLICATIONS));
    int result = -1;

    if (path == NULL || !lc_text_unpercent(path, false)) {
        result = bad(visit, "The request URI is not valid.");
    } else if (check_token(visit, call) == 0 && find_application(visit, call, path) == 0) {
        result = check_owner(visit, call);
    }
    free(path);
    if (result == 0 && strcmp(visit->request->method, "POST") == 0) {
        call->body = lc_json_parse(visit->request->body, visit->request->body_len, NULL);
        result = call->body != NULL
                     ? 0
                     : bad(visit, "Unable to read JSON request payload. Please ensure Content-Type header is set.");
    }
    return result;
}

static void end(struct call *call)
{
    json_decref(call->access.claims);
    json_decref(call->body);
    lc_service_release(call->held);
}

static struct lc_minted_lag lag_of(const struct call *call)
{
    return (struct lc_minted_lag){json_number_value(json_object_get(call->application, "secret_delay_s")),
                                  json_number_value(json_object_get(call->application, "list_delay_s"))};
}

/* ---- secrets ---- */

static json_t *shown(json_t *secret, bool text)
{
    const char *value = text_of(secret, "value");
    double expires_at = json_number_value(json_object_get(secret, "expires_at"));
    char starts[LC_TIME_BYTES];
    char ends[LC_TIME_BYTES];

    lc_time_iso((int64_t)json_number_value(json_object_get(secret, "made_at")), starts);
    lc_time_iso(expires_at > 0 ? (int64_t)expires_at : (int64_t)lc_time_now() + TWO_YEARS_S, ends);
    return json_pack("{s:n,s:O?,s:s,s:s%,s:O,s:s?,s:s}", "customKeyIdentifier", "displayName",
                     json_object_get(secret, "name"), "endDateTime", ends, "hint", value,
                     strlen(value) < HEAD_CHARS ? strlen(value) : HEAD_CHARS, "keyId", json_object_get(secret, "id"),
                     "secretText", text ? value : NULL, "startDateTime", starts);
}

/* Of the settings, and not touched since. */
static bool is_settled(struct lc_visit *visit, const struct call *call, json_t *secret)
{
    return !lc_minted_knows(visit->cloud->minted, call->owner, text_of(secret, "id"));
}

static void show(struct lc_visit *visit)
{
    struct call call = {0};

    if (begin(visit, &call) == 0) {
        json_t *minted = lc_minted_listed(visit->cloud->minted, call.owner);
        json_t *out = json_array();
        json_t *secret = NULL;
        size_t index = 0;
        json_array_foreach(json_object_get(call.application, "secrets"), index, secret)
        {
            if (is_settled(visit, &call, secret)) {
                (void)json_array_append_new(out, shown(secret, false));
            }
        }
        json_array_foreach(minted, index, secret)
        {
            (void)json_array_append_new(out, shown(secret, false));
        }
        json_decref(minted);
        lc_visit_json(visit, 200,
                      json_pack("{s:s,s:O,s:o}", "@odata.context",
                                GRAPH "/v1.0/$metadata#applications(appId,passwordCredentials)/$entity", "appId",
                                json_object_get(call.application, "client_id"), "passwordCredentials", out));
    }
    end(&call);
}

static int read_wish(struct lc_visit *visit, const struct call *call, const char **name, double *ends_at)
{
    json_t *wish = json_object_get(call->body, "passwordCredential");
    const char *end_time = NULL;
    struct tm parts = {0};
    const char *rest = NULL;

    *ends_at = lc_time_now() + (double)TWO_YEARS_S;
    if (json_object_size(call->body) > (wish == NULL ? 0 : 1) ||
        (wish != NULL &&
         json_unpack_ex(wish, NULL, JSON_STRICT, "{s?s,s?s}", "displayName", name, "endDateTime", &end_time) != 0)) {
        return bad(visit, "Invalid value specified for property 'passwordCredential' of resource 'Application'.");
    }
    if (end_time == NULL) {
        return 0;
    }
    rest = strptime(end_time, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == NULL || rest[strlen(rest) - (*rest != '\0' ? 1 : 0)] != 'Z') {
        return bad(visit, "Invalid value specified for property 'endDateTime'.");
    }
    *ends_at = (double)timegm(&parts);
    return *ends_at > lc_time_now() ? 0 : bad(visit, "Key credential end date is invalid.");
}

static size_t settled_count(struct lc_visit *visit, const struct call *call)
{
    json_t *secret = NULL;
    size_t index = 0;
    size_t count = 0;

    json_array_foreach(json_object_get(call->application, "secrets"), index, secret)
    {
        count += is_settled(visit, call, secret) ? 1 : 0;
    }
    return count;
}

static json_t *new_secret(const char *name, double ends_at)
{
    char head[HEAD_CHARS + 1] = "";
    char tail[TAIL_CHARS + 1] = "";
    char id[LC_UUID_BYTES] = "";
    char *value = NULL;
    json_t *secret = NULL;

    lc_uuid(id);
    if (lc_random_text(head, HEAD_CHARS, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") &&
        lc_random_text(tail, TAIL_CHARS, CHARACTERS)) {
        value = lc_text_format("%s8Q~%s", head, tail);
        secret = json_pack("{s:s,s:s*,s:s?,s:f,s:I}", "id", id, "value", value, "name", name, "expires_at", ends_at,
                           "made_at", (json_int_t)lc_time_now());
    }
    free(value);
    return secret;
}

static void add_password(struct lc_visit *visit)
{
    struct call call = {0};
    const char *name = NULL;
    double ends_at = 0;

    if (begin(visit, &call) == 0 && read_wish(visit, &call, &name, &ends_at) == 0) {
        struct lc_minted_lag lag = lag_of(&call);
        json_t *limit = json_object_get(call.application, "secret_limit");
        size_t most = limit == NULL ? MOST_SECRETS : (size_t)json_integer_value(limit);
        size_t taken = settled_count(visit, &call);
        json_t *secret = new_secret(name, ends_at);
        if (secret == NULL) {
            (void)lc_visit_refuse(visit, 500, "Service_InternalServerError", "out of memory");
        } else if (!lc_minted_add(visit->cloud->minted, call.owner, json_incref(secret), &lag,
                                  most > taken ? most - taken : 0)) {
            (void)lc_visit_refuse(visit, 400, "TooManyAppPasswords",
                                  "Not allowed to add %zu passwords. You can only add a maximum of %zu passwords.",
                                  most + 1, most);
        } else {
            json_t *out = shown(secret, true);
            (void)json_object_set_new(out, "@odata.context",
                                      json_string(GRAPH "/v1.0/$metadata#microsoft.graph.passwordCredential"));
            lc_visit_granted(visit, text_of(secret, "id"));
            lc_visit_json(visit, 200, out);
        }
        json_decref(secret);
    }
    end(&call);
}

/* What the settings have can be removed, too. */
static void adopt(struct lc_visit *visit, const struct call *call, const char *id)
{
    json_t *secret = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(call->application, "secrets"), index, secret)
    {
        if (strcmp(text_of(secret, "id"), id) == 0) {
            lc_minted_adopt(visit->cloud->minted, call->owner, json_deep_copy(secret));
        }
    }
}

static void remove_password(struct lc_visit *visit)
{
    struct call call = {0};
    const char *id = NULL;

    if (begin(visit, &call) == 0) {
        struct lc_minted_lag lag = lag_of(&call);
        id = json_string_value(json_object_get(call.body, "keyId"));
        if (id == NULL || !lc_azure_is_guid(id)) {
            (void)bad(visit, "Invalid value specified for property 'keyId'.");
        } else {
            adopt(visit, &call, id);
            if (lc_minted_do(visit->cloud->minted, call.owner, id, LC_MINTED_REMOVE, &lag)) {
                visit->reply->status = 204;
            } else {
                (void)lc_visit_refuse(visit, 400, "Request_BadRequest",
                                      "No password credential found with keyId '%.40s'.", id);
            }
        }
    }
    end(&call);
}

static const struct lc_action actions[] = {
    {"graph.addPassword", "POST", APPLICATIONS "*/addPassword", add_password, NULL, false},
    {"graph.removePassword", "POST", APPLICATIONS "*/removePassword", remove_password, NULL, false},
    {"graph.application", "GET", APPLICATIONS "*", show, NULL, false},
};

const struct lc_service lc_graph_service = {
    .name = "graph",
    .prefix = "/graph/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .note = note,
    .refuse = refuse,
};
