/* SPDX-License-Identifier: MIT */
/* Service-account impersonation (iamcredentials): access tokens and ID tokens of an account, for those it
 * allows. */
#include "gcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SET "principalSet:"

enum { NANO_DIGITS = 9, MOST_DELEGATES = 20 };

json_t *lc_gcp_account(json_t *settings, const char *name)
{
    json_t *account = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(settings, "service_accounts"), index, account)
    {
        const char *id = json_string_value(json_object_get(account, "unique_id"));
        if (strcmp(json_string_value(json_object_get(account, "email")), name) == 0 ||
            (id != NULL && strcmp(id, name) == 0)) {
            return account;
        }
    }
    return NULL;
}

/* "principalSet://X/<asterisk>" is everybody of the pool X; other members are patterns. */
static bool is_member(json_t *members, const char *caller)
{
    json_t *member = NULL;
    size_t index = 0;

    json_array_foreach(members, index, member)
    {
        const char *text = json_string_value(member);
        if (lc_text_like(text, caller) || (lc_text_starts(text, SET) && lc_text_starts(caller, "principal:") &&
                                           lc_text_like(text + strlen(SET), caller + strlen("principal:")))) {
            return true;
        }
    }
    return false;
}

bool lc_gcp_allows(json_t *account, const char *list, const char *identity)
{
    char *caller = lc_text_format("%s%s", strchr(identity, ':') == NULL ? "serviceAccount:" : "", identity);
    json_t *members = json_object_get(account, list);
    bool allowed = caller != NULL && is_member(members != NULL ? members : json_object_get(account, "members"), caller);

    free(caller);
    return allowed;
}

static int denied(struct lc_visit *visit, const char *permission)
{
    return lc_visit_refuse(visit, 403, "PERMISSION_DENIED",
                           "Permission 'iam.serviceAccounts.%s' denied on resource (or it may not exist).", permission);
}

static int bad(struct lc_visit *visit, const char *what)
{
    return lc_visit_refuse(visit, 400, "INVALID_ARGUMENT", "%s", what);
}

/* The account behind "projects/-/serviceAccounts/NAME"; false: not that form. *account NULL: unknown. */
static bool read_name(json_t *settings, const char *text, json_t **account)
{
    static const char prefix[] = "projects/-/serviceAccounts/";

    if (!lc_text_starts(text, prefix) || strchr(text + sizeof prefix - 1, '/') != NULL ||
        text[sizeof prefix - 1] == '\0') {
        return false;
    }
    *account = lc_gcp_account(settings, text + sizeof prefix - 1);
    return true;
}

/* The path without "/gcp/v1/" and the verb, decoded. The caller frees it. */
static char *resource_of(const char *path)
{
    const char *start = path + strlen("/gcp/v1/");
    char *name = strndup(start, (size_t)(strrchr(start, ':') - start));

    if (name != NULL && !lc_text_unpercent(name, false)) {
        free(name);
        name = NULL;
    }
    return name;
}

static int check_chain(struct lc_visit *visit, const char *identity, json_t *delegates, json_t *target,
                       const char *permission)
{
    char *caller = lc_text_format("%s%s", strchr(identity, ':') == NULL ? "serviceAccount:" : "", identity);
    json_t *item = NULL;
    size_t index = 0;
    int result = caller == NULL ? -1 : 0;

    json_array_foreach(delegates, index, item)
    {
        json_t *link = NULL;
        if (result == 0 && !read_name(visit->settings, json_string_value(item), &link)) {
            result = bad(visit, "Invalid delegates: each is projects/-/serviceAccounts/{email or unique id}.");
        }
        if (result == 0 && (link == NULL || !is_member(json_object_get(link, "members"), caller))) {
            result = denied(visit, "implicitDelegation");
        }
        if (result == 0) {
            free(caller);
            caller = lc_text_format("serviceAccount:%s", json_string_value(json_object_get(link, "email")));
            result = caller == NULL ? -1 : 0;
        }
    }
    if (result == 0 && (target == NULL || !is_member(json_object_get(target, "members"), caller))) {
        result = denied(visit, permission);
    }
    free(caller);
    return result;
}

/* "3600s", "3600.5s" (protobuf's Duration in JSON). */
static bool read_duration(const char *text, double *seconds)
{
    size_t whole = strspn(text, "0123456789");
    const char *at = text + whole;
    size_t fraction = 0;

    if (*at == '.') {
        fraction = strspn(at + 1, "0123456789");
        at += 1 + fraction;
        if (fraction == 0) {
            return false;
        }
    }
    *seconds = strtod(text, NULL);
    return whole > 0 && whole <= 12 && fraction <= NANO_DIGITS && strcmp(at, "s") == 0;
}

/* What both verbs share: who calls, the path, the body. */
struct call {
    struct lc_gcp_caller caller;
    json_t *body;
    json_t *delegates;
    json_t *account;
};

static void end(struct call *call)
{
    json_decref(call->caller.content);
    json_decref(call->body);
}

static int read_path(struct lc_visit *visit, struct call *call)
{
    char *name = resource_of(visit->request->path);
    bool good = name != NULL && read_name(visit->settings, name, &call->account);

    free(name);
    return good ? 0
                : bad(visit, "Invalid name: it must be projects/-/serviceAccounts/{email or unique id}; the "
                             "wildcard - "
                             "is required, a project is not taken.");
}

static int read_body(struct lc_visit *visit, struct call *call, const char *const known[])
{
    struct lc_fail fail = {""};
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;

    call->body = json_loadb(visit->request->body, visit->request->body_len, JSON_REJECT_DUPLICATES, NULL);
    if (visit->form || !json_is_object(call->body)) {
        return bad(visit, "Invalid JSON payload received. Unexpected token.");
    }
    json_object_foreach_safe(call->body, next, key, value)
    {
        size_t n = 0;
        while (known[n] != NULL && strcmp(known[n], key) != 0) {
            n++;
        }
        if (known[n] == NULL) {
            return lc_visit_refuse(visit, 400, "INVALID_ARGUMENT",
                                   "Invalid JSON payload received. Unknown name \"%.100s\": Cannot find field.", key);
        }
        if (json_is_null(value)) { /* protobuf's JSON mapping: null is the default, as if absent */
            (void)json_object_del(call->body, key);
        }
    }
    if (lc_json_array(call->body, "body", "delegates", &call->delegates, &fail) != 0 ||
        json_array_size(call->delegates) > MOST_DELEGATES) {
        return bad(visit, "Invalid value at 'delegates'.");
    }
    return 0;
}

static int begin(struct lc_visit *visit, struct call *call, const char *const known[])
{
    if (lc_gcp_caller(visit, &call->caller) != 0) {
        return -1;
    }
    if (!lc_gcp_scoped(call->caller.scopes, "cloud-platform") && !lc_gcp_scoped(call->caller.scopes, "iam")) {
        return lc_visit_refuse(visit, 403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.");
    }
    return read_path(visit, call) != 0 || read_body(visit, call, known) != 0 ? -1 : 0;
}

static int read_scopes(struct lc_visit *visit, json_t *body, json_t **scopes)
{
    struct lc_fail fail = {""};
    json_t *item = NULL;
    size_t index = 0;

    if (lc_json_array(body, "body", "scope", scopes, &fail) != 0) {
        return bad(visit, "Invalid value at 'scope'.");
    }
    if (json_array_size(*scopes) == 0) {
        return bad(visit, "Request contains an invalid argument: scope is required.");
    }
    json_array_foreach(*scopes, index, item)
    {
        if (!lc_gcp_is_scope(json_string_value(item))) {
            return bad(visit, "Invalid OAuth scope or ID token audience provided.");
        }
    }
    return 0;
}

static int read_lifetime(struct lc_visit *visit, const struct call *call, double *seconds)
{
    json_t *value = json_object_get(call->body, "lifetime");
    double longest = json_number_value(json_object_get(call->account, "max_lifetime_s"));

    if (longest <= 0) {
        longest = LC_GCP_LIFE_S;
    }
    *seconds = LC_GCP_LIFE_S;
    if (value == NULL) {
        return 0;
    }
    if (!json_is_string(value) || !read_duration(json_string_value(value), seconds)) {
        return bad(visit, "Invalid value at 'lifetime' (type.googleapis.com/google.protobuf.Duration), Field "
                          "'lifetime', Illegal duration format; duration must end with 's'.");
    }
    if (*seconds <= 0 || *seconds > longest) {
        return lc_visit_refuse(visit, 400, "INVALID_ARGUMENT",
                               "Invalid lifetime: it must be more than 0 and at most %.0f seconds for this account.",
                               longest);
    }
    return 0;
}

static void answer_access_token(struct lc_visit *visit, const struct call *call, json_t *scopes, double seconds)
{
    const char *email = json_string_value(json_object_get(call->account, "email"));
    int64_t life_s = lc_visit_life_s(visit, seconds < 1 ? 1 : (int64_t)seconds);
    int64_t expires_at_s = lc_visit_until(life_s);
    char *token = lc_gcp_issue(visit, 'c', email, scopes, expires_at_s);
    char when[LC_TIME_BYTES];
    char past[LC_TIME_BYTES];
    json_t *document = json_pack("{s:s*}", "accessToken", token);

    if (token == NULL) {
        json_decref(document);
        (void)lc_visit_refuse(visit, 500, "INTERNAL", "out of memory");
        return;
    }
    lc_time_iso(expires_at_s, when);
    lc_time_iso((int64_t)lc_time_now() - 3600, past);
    lc_visit_put_expiry(visit, document, "expireTime", json_string(when), json_string(past));
    lc_visit_granted(visit, token);
    lc_visit_json(visit, 200, document);
    free(token);
}

void lc_gcp_access_token(struct lc_visit *visit)
{
    static const char *const known[] = {"scope", "delegates", "lifetime", NULL};
    struct call call = {0};
    json_t *scopes = NULL;
    double seconds = 0;

    if (begin(visit, &call, known) == 0 && read_scopes(visit, call.body, &scopes) == 0 &&
        check_chain(visit, call.caller.identity, call.delegates, call.account, "getAccessToken") == 0 &&
        read_lifetime(visit, &call, &seconds) == 0) {
        answer_access_token(visit, &call, scopes, seconds);
    }
    end(&call);
}

void lc_gcp_id_token(struct lc_visit *visit)
{
    static const char *const known[] = {"audience", "includeEmail", "delegates", NULL};
    struct lc_fail fail = {""};
    struct call call = {0};
    const char *audience = "";
    bool email = false;

    if (begin(visit, &call, known) == 0) {
        if (lc_json_text(call.body, "body", "audience", &audience, &fail) != 0 || *audience == '\0' ||
            lc_json_bool(call.body, "body", "includeEmail", &email, &fail) != 0) {
            (void)bad(visit, "Invalid OAuth scope or ID token audience provided.");
        } else if (check_chain(visit, call.caller.identity, call.delegates, call.account, "getOpenIdToken") == 0) {
            char *token = lc_gcp_issue_id(visit, call.account, audience, email, lc_visit_life_s(visit, LC_GCP_LIFE_S));
            lc_visit_granted(visit, token == NULL ? "" : token);
            lc_visit_json(visit, 200, json_pack("{s:s*}", "token", token));
            free(token);
        }
    }
    end(&call);
}
