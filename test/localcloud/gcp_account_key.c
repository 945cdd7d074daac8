/* SPDX-License-Identifier: MIT */
/* The IAM API for the keys of service accounts: made, listed, shown, disabled, enabled, deleted. */
#include "gcp.h"

#include "keys.h"
#include "minted.h"
#include "token_proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_ID_CHARS = 40, NAME_BYTES = 640 };

/* A request that was understood. */
struct call {
    struct lc_gcp_caller caller;
    json_t *account;
    const char *email;
    char *path; /* decoded */
    char *id;   /* of the key, within path; NULL: it is about all of them */
    char project[128];
};

static int refuse(struct lc_visit *visit, unsigned status, const char *code, const char *text)
{
    return lc_visit_refuse(visit, status, code, "%s", text);
}

static struct lc_minted_lag lag_of(json_t *account)
{
    return (struct lc_minted_lag){json_number_value(json_object_get(account, "key_delay_s")),
                                  json_number_value(json_object_get(account, "list_delay_s"))};
}

/* ---- the keys of an account ---- */

/* Of the settings, and not touched since; borrowed. NULL: none. */
static json_t *settled(struct lc_visit *visit, json_t *account, const char *id)
{
    const char *email = json_string_value(json_object_get(account, "email"));
    json_t *key = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(account, "keys"), index, key)
    {
        if (strcmp(json_string_value(json_object_get(key, "id")), id) == 0) {
            return lc_minted_knows(visit->cloud->minted, email, id) ? NULL : key;
        }
    }
    return NULL;
}

/* A copy of the key that may sign now; NULL: none. */
static json_t *usable(struct lc_visit *visit, json_t *account, const char *id)
{
    json_t *keys = lc_minted_usable(visit->cloud->minted, json_string_value(json_object_get(account, "email")));
    json_t *found = json_deep_copy(settled(visit, account, id));
    json_t *key = NULL;
    size_t index = 0;

    json_array_foreach(keys, index, key)
    {
        if (found == NULL && strcmp(json_string_value(json_object_get(key, "id")), id) == 0) {
            found = json_incref(key);
        }
    }
    json_decref(keys);
    return found;
}

bool lc_gcp_signed_by(struct lc_visit *visit, json_t *account, const char *token, const struct lc_jwt *jwt)
{
    json_t *key = jwt->kid == NULL ? NULL : usable(visit, account, jwt->kid);
    bool good = key != NULL && strcmp(jwt->alg, "RS256") == 0 &&
                lc_token_proof(token, "RS256", json_string_value(json_object_get(key, "public_key_pem")));

    json_decref(key);
    return good;
}

/* ---- requests ---- */

/* "/gcp/v1/projects/P/serviceAccounts/SA", then SUFFIX, which is "/keys" before "[/ID][:VERB]", or a verb */
static int read_path(struct lc_visit *visit, struct call *call, const char *suffix)
{
    static const char middle[] = "/serviceAccounts/";
    char *project = NULL;
    char *email = NULL;
    char *rest = NULL;

    call->path = strdup(visit->request->path + strlen("/gcp/v1/projects/"));
    if (call->path == NULL || !lc_text_unpercent(call->path, false)) {
        return refuse(visit, 400, "INVALID_ARGUMENT", "Request contains an invalid argument.");
    }
    project = call->path;
    email = strstr(project, middle);
    rest = email == NULL ? NULL : strstr(email + sizeof middle - 1, suffix);
    if (rest == NULL) {
        return refuse(visit, 404, "NOT_FOUND", "Requested entity was not found.");
    }
    *email = '\0';
    email += sizeof middle - 1;
    *rest = '\0';
    rest += strlen(suffix);
    if (*rest == '/') {
        call->id = rest + 1;
        call->id[strcspn(call->id, ":")] = '\0';
    }
    (void)snprintf(call->project, sizeof call->project, "%s", project);
    (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", email);
    call->account = lc_gcp_account(visit->settings, email);
    call->email = json_string_value(json_object_get(call->account, "email"));
    return 0;
}

/* PERMISSION without "iam.serviceAccountKeys." */
static bool is_permitted(const struct call *call, const char *permission)
{
    return lc_gcp_allows(call->account, "key_admins", call->caller.identity) &&
           !lc_json_holds(json_object_get(call->account, "key_denied"), permission);
}

/* With projects/-, or without permission, the answer does not reveal what exists. */
static int check_account(struct lc_visit *visit, const struct call *call, const char *permission)
{
    const char *domain = call->email == NULL ? "" : strchr(call->email, '@') + 1;
    size_t len = strlen(call->project);
    bool here = strncmp(domain, call->project, len) == 0 && domain[len] == '.';
    bool any = strcmp(call->project, "-") == 0;

    if (call->account == NULL || !(here || any)) {
        return any ? lc_visit_refuse(visit, 403, "PERMISSION_DENIED",
                                     "Permission 'iam.serviceAccountKeys.%s' denied on resource (or it may not exist).",
                                     permission)
                   : refuse(visit, 404, "NOT_FOUND", "Unknown service account");
    }
    if (!is_permitted(call, permission)) {
        return lc_visit_refuse(visit, 403, "PERMISSION_DENIED",
                               "Permission 'iam.serviceAccountKeys.%s' denied on resource (or it may not exist).",
                               permission);
    }
    return 0;
}

static int begin_any(struct lc_visit *visit, struct call *call, const char *suffix)
{
    if (lc_gcp_caller(visit, &call->caller) != 0) {
        return -1;
    }
    if (!lc_gcp_scoped(call->caller.scopes, "cloud-platform") && !lc_gcp_scoped(call->caller.scopes, "iam")) {
        return refuse(visit, 403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.");
    }
    return read_path(visit, call, suffix);
}

static int begin(struct lc_visit *visit, struct call *call, const char *permission)
{
    return begin_any(visit, call, "/keys") != 0 ? -1 : check_account(visit, call, permission);
}

static void end(struct call *call)
{
    json_decref(call->caller.content);
    free(call->path);
}

/* ---- answers ---- */

static json_t *shown(const struct call *call, json_t *key)
{
    const char *type = json_string_value(json_object_get(key, "type"));
    int64_t made_at = (int64_t)json_number_value(json_object_get(key, "made_at"));
    const char *domain = strchr(call->email, '@') + 1;
    char made[LC_TIME_BYTES];
    char name[NAME_BYTES];
    json_t *out = NULL;

    lc_time_iso(made_at, made);
    (void)snprintf(name, sizeof name, "projects/%.*s/serviceAccounts/%s/keys/%s", (int)strcspn(domain, "."), domain,
                   call->email, json_string_value(json_object_get(key, "id")));
    out = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "name", name, "validAfterTime", made, "validBeforeTime",
                    "9999-12-31T23:59:59Z", "keyAlgorithm", "KEY_ALG_RSA_2048", "keyOrigin", "GOOGLE_PROVIDED",
                    "keyType", type == NULL ? "USER_MANAGED" : type);
    if (json_is_true(json_object_get(key, "disabled"))) {
        (void)json_object_set_new(out, "disabled", json_true());
    }
    if (json_object_get(key, "creator") != NULL) {
        (void)json_object_set(out, "creator", json_object_get(key, "creator"));
    }
    return out;
}

static char *token_uri(const struct lc_visit *visit)
{
    const char *issuer = lc_issuer_url(visit->cloud->issuer);

    return lc_text_format("%.*s/gcp/oauth2/token", (int)(strlen(issuer) - strlen("/issuer")), issuer);
}

/* The file that SDKs read, encoded. */
static json_t *file_of(struct lc_visit *visit, const struct call *call, const char *id, const char *private_pem)
{
    const char *domain = strchr(call->email, '@') + 1;
    char *uri = token_uri(visit);
    json_t *file =
        json_pack("{s:s,s:s%,s:s,s:s,s:s,s:O,s:s,s:s*,s:s}", "type", "service_account", "project_id", domain,
                  strcspn(domain, "."), "private_key_id", id, "private_key", private_pem, "client_email", call->email,
                  "client_id", json_object_get(call->account, "unique_id"), "auth_uri",
                  "https://accounts.google.com/o/oauth2/auth", "token_uri", uri, "universe_domain", "googleapis.com");
    char *text = json_dumps(file, JSON_INDENT(2));
    struct lc_buf encoded = {0};
    json_t *out = NULL;

    if (text != NULL) {
        lc_base64(&encoded, text, strlen(text), false);
        out = json_string(encoded.at == NULL ? "" : encoded.at);
    }
    free(text);
    free(uri);
    json_decref(file);
    lc_buf_free(&encoded);
    return out;
}

/* How many the settings have that were not touched. */
static size_t settled_count(struct lc_visit *visit, const struct call *call)
{
    json_t *key = NULL;
    size_t index = 0;
    size_t count = 0;

    json_array_foreach(json_object_get(call->account, "keys"), index, key)
    {
        count += settled(visit, call->account, json_string_value(json_object_get(key, "id"))) != NULL ? 1 : 0;
    }
    return count;
}

static void make(struct lc_visit *visit, const struct call *call)
{
    struct lc_minted_lag lag = lag_of(call->account);
    size_t limit = (size_t)json_integer_value(json_object_get(call->account, "key_limit"));
    size_t taken = settled_count(visit, call);
    const char *given = json_string_value(json_object_get(call->account, "key_pair"));
    struct lc_key *pair = given != NULL ? lc_key_from_pem(given, NULL) : lc_key_generate(NULL);
    char id[KEY_ID_CHARS + 1] = "";
    json_t *key = NULL;

    if (pair == NULL || !lc_random_text(id, KEY_ID_CHARS, "0123456789abcdef")) {
        lc_key_free(pair);
        (void)refuse(visit, 500, "INTERNAL", "Internal error encountered.");
        return;
    }
    key = json_pack("{s:s,s:s,s:I,s:s*}", "id", id, "public_key_pem", pair->public_pem, "made_at",
                    (json_int_t)lc_time_now(), "creator", call->caller.identity);
    if (!lc_minted_add(visit->cloud->minted, call->email, json_incref(key), &lag, limit > taken ? limit - taken : 0)) {
        (void)refuse(visit, 400, "FAILED_PRECONDITION", "Precondition check failed.");
    } else {
        json_t *out = shown(call, key);
        (void)json_object_set_new(out, "privateKeyType", json_string("TYPE_GOOGLE_CREDENTIALS_FILE"));
        (void)json_object_set_new(out, "privateKeyData", file_of(visit, call, id, pair->private_pem));
        lc_visit_granted(visit, id);
        lc_visit_json(visit, 200, out);
    }
    json_decref(key);
    lc_key_free(pair);
}

static int check_wish(struct lc_visit *visit)
{
    json_t *body = visit->request->body_len == 0
                       ? json_object()
                       : json_loadb(visit->request->body, visit->request->body_len, JSON_REJECT_DUPLICATES, NULL);
    const char *type = "TYPE_GOOGLE_CREDENTIALS_FILE";
    const char *algorithm = "KEY_ALG_RSA_2048";
    bool good = json_is_object(body) &&
                json_unpack_ex(body, NULL, JSON_STRICT, "{s?s,s?s}", "privateKeyType", &type, "keyAlgorithm",
                               &algorithm) == 0 &&
                strcmp(type, "TYPE_GOOGLE_CREDENTIALS_FILE") == 0 && strcmp(algorithm, "KEY_ALG_RSA_2048") == 0;

    json_decref(body);
    return good ? 0 : refuse(visit, 400, "INVALID_ARGUMENT", "Request contains an invalid argument.");
}

void lc_gcp_key_create(struct lc_visit *visit)
{
    struct call call = {0};

    if (begin(visit, &call, "create") == 0 && check_wish(visit) == 0) {
        make(visit, &call);
    }
    end(&call);
}

/* Google's own keys, which cannot be removed. */
static void add_system_keys(const struct call *call, json_t *out)
{
    json_int_t count = json_integer_value(json_object_get(call->account, "system_keys"));

    for (json_int_t n = 0; n < count; n++) {
        char id[KEY_ID_CHARS + 1];
        json_t *key = NULL;
        (void)snprintf(id, sizeof id, "%040lld", (long long)n + 1);
        key = json_pack("{s:s,s:s,s:i}", "id", id, "type", "SYSTEM_MANAGED", "made_at", 1);
        (void)json_array_append_new(out, shown(call, key));
        json_decref(key);
    }
}

void lc_gcp_key_list(struct lc_visit *visit)
{
    struct call call = {0};

    if (begin(visit, &call, "list") == 0) {
        bool own = strstr(visit->request->query, "keyTypes=USER_MANAGED") != NULL;
        json_t *keys = lc_minted_listed(visit->cloud->minted, call.email);
        json_t *out = json_array();
        json_t *key = NULL;
        size_t index = 0;
        json_array_foreach(json_object_get(call.account, "keys"), index, key)
        {
            if (settled(visit, call.account, json_string_value(json_object_get(key, "id"))) != NULL) {
                (void)json_array_append_new(out, shown(&call, key));
            }
        }
        json_array_foreach(keys, index, key)
        {
            (void)json_array_append_new(out, shown(&call, key));
        }
        if (!own) {
            add_system_keys(&call, out);
        }
        lc_visit_json(visit, 200, json_array_size(out) == 0 ? json_object() : json_pack("{s:O}", "keys", out));
        json_decref(out);
        json_decref(keys);
    }
    end(&call);
}

static void change(struct lc_visit *visit, const char *permission, enum lc_minted_do what)
{
    struct call call = {0};

    if (begin(visit, &call, permission) == 0) {
        struct lc_minted_lag lag = lag_of(call.account);
        json_t *key = call.id == NULL ? NULL : settled(visit, call.account, call.id);
        if (key != NULL) {
            lc_minted_adopt(visit->cloud->minted, call.email, json_deep_copy(key));
        }
        if (call.id != NULL && lc_minted_do(visit->cloud->minted, call.email, call.id, what, &lag)) {
            lc_visit_json(visit, 200, json_object());
        } else if (call.id != NULL && strspn(call.id, "0") >= KEY_ID_CHARS - 4) {
            (void)refuse(visit, 400, "FAILED_PRECONDITION", "Precondition check failed.");
        } else {
            (void)lc_visit_refuse(visit, 404, "NOT_FOUND", "Service account key %.60s does not exist.",
                                  call.id == NULL ? "" : call.id);
        }
    }
    end(&call);
}

void lc_gcp_key_disable(struct lc_visit *visit)
{
    change(visit, "disable", LC_MINTED_DISABLE);
}

void lc_gcp_key_enable(struct lc_visit *visit)
{
    change(visit, "enable", LC_MINTED_ENABLE);
}

void lc_gcp_key_delete(struct lc_visit *visit)
{
    change(visit, "delete", LC_MINTED_REMOVE);
}

void lc_gcp_key_get(struct lc_visit *visit)
{
    struct call call = {0};

    if (begin(visit, &call, "get") == 0) {
        json_t *keys = lc_minted_listed(visit->cloud->minted, call.email);
        json_t *found = call.id == NULL ? NULL : settled(visit, call.account, call.id);
        json_t *key = NULL;
        size_t index = 0;
        json_array_foreach(keys, index, key)
        {
            found =
                call.id != NULL && strcmp(json_string_value(json_object_get(key, "id")), call.id) == 0 ? key : found;
        }
        if (found == NULL) {
            (void)lc_visit_refuse(visit, 404, "NOT_FOUND", "Service account key %.60s does not exist.",
                                  call.id == NULL ? "" : call.id);
        } else {
            lc_visit_json(visit, 200, shown(&call, found));
        }
        json_decref(keys);
    }
    end(&call);
}

/* ---- what the caller may ---- */

enum { MOST_PERMISSIONS = 100 };

static void test_permissions(struct lc_visit *visit, const struct call *call)
{
    static const char prefix[] = "iam.serviceAccountKeys.";
    json_t *body = json_loadb(visit->request->body, visit->request->body_len, JSON_REJECT_DUPLICATES, NULL);
    json_t *asked = json_object_get(body, "permissions");
    json_t *granted = json_array();
    json_t *one = NULL;
    size_t index = 0;
    bool good = json_is_array(asked) && json_object_size(body) == 1 && json_array_size(asked) > 0 &&
                json_array_size(asked) <= MOST_PERMISSIONS;

    json_array_foreach(asked, index, one)
    {
        const char *name = json_string_value(one);

        /* Wildcards are not allowed, nor permissions of other resources. */
        good = good && name != NULL && lc_text_starts(name, prefix) && strchr(name, '*') == NULL;
        if (good && is_permitted(call, name + sizeof prefix - 1)) {
            (void)json_array_append(granted, one);
        }
    }
    if (good) {
        lc_visit_json(visit, 200,
                      json_array_size(granted) == 0 ? json_object() : json_pack("{s:O}", "permissions", granted));
    } else {
        (void)refuse(visit, 400, "INVALID_ARGUMENT", "Request contains an invalid argument.");
    }
    json_decref(granted);
    json_decref(body);
}

void lc_gcp_key_permissions(struct lc_visit *visit)
{
    struct call call = {0};

    if (begin_any(visit, &call, ":testIamPermissions") == 0) {
        if (call.account == NULL) {
            (void)refuse(visit, 404, "NOT_FOUND", "Unknown service account");
        } else {
            test_permissions(visit, &call);
        }
    }
    end(&call);
}
