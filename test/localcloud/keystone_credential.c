/* SPDX-License-Identifier: MIT */
/* Keystone's application credentials: create, list, show, delete. */
#include "crypto.h"
#include "keystone_call.h"
#include "params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREATE "identity:create_application_credential"
#define RESTRICTED                                                                                                     \
    "Using method 'application_credential' is not allowed for managing additional application credentials"

enum { SECRET_BYTES = 64, MOST_NAME_POINTS = 255 };

/* As the interface shows a credential: with its secret only when it is made. */
static json_t *shown(const struct lc_visit *visit, json_t *credential, bool secret)
{
    const char *user = lc_keystone_text(credential, "user");
    const char *id = lc_keystone_text(credential, "id");
    char *self =
        lc_text_format("%s/v3/users/%s/application_credentials/%s", visit->cloud->keystone->base_url, user, id);
    int64_t expires_us = json_integer_value(json_object_get(credential, "expires_us"));
    json_t *roles = json_array();
    json_t *role = NULL;
    json_t *out = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(credential, "roles"), index, role)
    {
        json_t *copy = json_copy(role);
        (void)json_object_set_new(copy, "domain_id", json_null());
        (void)json_array_append_new(roles, copy);
    }
    out = json_pack("{s:s,s:O,s:O?,s:s,s:s,s:o,s:O,s:o,s:{s:s},s:n}", "id", id, "name",
                    json_object_get(credential, "name"), "description", json_object_get(credential, "description"),
                    "project_id", lc_keystone_text(credential, "project"), "user_id", user, "roles", roles,
                    "unrestricted", json_object_get(credential, "unrestricted"), "expires_at",
                    expires_us == 0 ? json_null() : lc_keystone_time(expires_us, LC_KEYSTONE_DIGITS), "links", "self",
                    self == NULL ? "" : self, "system");
    free(self);
    if (secret) {
        (void)json_object_set(out, "secret", json_object_get(credential, "secret"));
    }
    if (json_object_get(credential, "access_rules") != NULL) {
        (void)json_object_set(out, "access_rules", json_object_get(credential, "access_rules"));
    }
    return out;
}

/* The roles that are asked for, all of which the token must have; a new reference or NULL with the answer. */
static json_t *asked_roles(struct lc_visit *visit, const struct lc_keystone_token *token, json_t *asked)
{
    json_t *out = json_array();
    json_t *item = NULL;
    size_t index = 0;

    if (asked == NULL) {
        json_decref(out);
        return json_incref(token->roles);
    }
    json_array_foreach(asked, index, item)
    {
        const char *key = json_object_get(item, "id") != NULL ? "id" : "name";
        json_t *role = lc_keystone_pick(token->roles, key, lc_keystone_text(item, key));
        if (role == NULL) {
            json_decref(out);
            (void)lc_keystone_refuse(visit, 400,
                                     "Invalid application credential: Could not find role assignment with role: "
                                     "%.200s, user or group: %.200s, project, domain, or system: %.200s.",
                                     lc_keystone_text(item, key), token->user_id, token->project_id);
            return NULL;
        }
        (void)json_array_append(out, role);
    }
    return out;
}

static bool good_rule(json_t *rule)
{
    static const char *const methods[] = {"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"};
    const char *path = lc_keystone_text(rule, "path");
    const char *method = lc_keystone_text(rule, "method");
    bool known = false;

    if (json_object_get(rule, "id") != NULL) {
        return json_is_string(json_object_get(rule, "id"));
    }
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        known = known || strcmp(methods[i], method) == 0;
    }
    return path[0] == '/' && strlen(path) <= 225 && known && json_is_string(json_object_get(rule, "service"));
}

/* Access rules with ids; a new reference (json null when there are none), or NULL with the answer written. */
static json_t *asked_rules(struct lc_visit *visit, json_t *asked)
{
    json_t *out = NULL;
    json_t *rule = NULL;
    size_t index = 0;

    if (asked == NULL) {
        return json_null();
    }
    out = json_array();
    json_array_foreach(asked, index, rule)
    {
        json_t *copy = json_copy(rule);
        if (!good_rule(rule)) {
            json_decref(copy);
            json_decref(out);
            (void)lc_keystone_refuse(visit, 400, "Invalid input for field 'access_rules/%zu'", index);
            return NULL;
        }
        if (json_object_get(copy, "id") == NULL) {
            (void)json_object_set_new(copy, "id", lc_keystone_new_id());
        }
        (void)json_array_append_new(out, copy);
    }
    return out;
}

static int check_fields(struct lc_visit *visit, json_t *asked)
{
    json_t *name = json_object_get(asked, "name");
    json_t *unrestricted = json_object_get(asked, "unrestricted");
    json_t *secret = json_object_get(asked, "secret");
    long points = 0;

    if (!json_is_object(asked)) {
        return lc_keystone_refuse(visit, 400, "'application_credential' is a required property");
    }
    if (name == NULL) {
        return lc_keystone_refuse(visit, 400, "'name' is a required property");
    }
    points = json_is_string(name) ? lc_text_points(json_string_value(name)) : -1;
    if (points < 1 || points > MOST_NAME_POINTS) {
        return lc_keystone_refuse(visit, 400, "Invalid input for field 'name': it has 1 to 255 characters");
    }
    if (unrestricted != NULL && !json_is_boolean(unrestricted) && !json_is_null(unrestricted)) {
        return lc_keystone_refuse(visit, 400, "Invalid input for field 'unrestricted': it is a boolean");
    }
    if (secret != NULL && !json_is_string(secret) && !json_is_null(secret)) {
        return lc_keystone_refuse(visit, 400, "Invalid input for field 'secret': it is a string or null");
    }
    return 0;
}

static int check_expiry(struct lc_visit *visit, json_t *asked, int64_t *expires_us)
{
    json_t *value = json_object_get(asked, "expires_at");

    *expires_us = 0;
    if (value == NULL || json_is_null(value)) {
        return 0;
    }
    if (!json_is_string(value) || !lc_keystone_parse_time(json_string_value(value), expires_us)) {
        return lc_keystone_refuse(visit, 400, "Timestamp not in expected format." LC_KEYSTONE_MALFORMED);
    }
    if (*expires_us < (int64_t)(lc_time_now() * 1e6)) {
        return lc_keystone_refuse(visit, 400, "The 'expires_at' must not be before now." LC_KEYSTONE_MALFORMED);
    }
    return 0;
}

static json_t *secret_of(json_t *asked)
{
    const char *given = json_string_value(json_object_get(asked, "secret"));
    unsigned char random[SECRET_BYTES];
    struct lc_buf text = {0};
    json_t *secret = NULL;

    if (given != NULL && *given != '\0') {
        return json_string(given);
    }
    if (lc_random(random, sizeof random)) {
        lc_base64(&text, random, sizeof random, true);
        secret = json_string(text.at == NULL ? "" : text.at);
    }
    lc_buf_free(&text);
    return secret;
}

/* A new credential object, or NULL with the answer written. */
static json_t *make(struct lc_visit *visit, const struct lc_keystone_token *token, json_t *asked)
{
    int64_t expires_us = 0;
    json_t *roles = NULL;
    json_t *rules = NULL;
    json_t *description = json_object_get(asked, "description");
    json_t *credential = NULL;

    if (check_fields(visit, asked) != 0 || check_expiry(visit, asked, &expires_us) != 0 ||
        (roles = asked_roles(visit, token, json_object_get(asked, "roles"))) == NULL) {
        return NULL;
    }
    rules = asked_rules(visit, json_object_get(asked, "access_rules"));
    if (rules != NULL) {
        credential =
            json_pack("{s:o,s:O,s:o,s:s,s:s,s:O,s:I,s:b,s:O?}", "id", lc_keystone_new_id(), "name",
                      json_object_get(asked, "name"), "secret", secret_of(asked), "user", token->user_id, "project",
                      token->project_id, "roles", roles, "expires_us", (json_int_t)expires_us, "unrestricted",
                      json_is_true(json_object_get(asked, "unrestricted")) ? 1 : 0, "description", description);
    }
    if (json_is_array(rules)) {
        (void)json_object_set(credential, "access_rules", rules);
    }
    json_decref(rules);
    json_decref(roles);
    return credential;
}

static bool is_restricted(const struct lc_keystone_token *token)
{
    return token->credential != NULL && !json_is_true(json_object_get(token->credential, "unrestricted"));
}

static void put(struct lc_visit *visit, json_t *credential)
{
    json_t *kept = json_incref(credential);
    enum lc_keystone_put result = lc_keystone_put_credential(visit->cloud->keystone, credential);

    if (result == LC_KEYSTONE_PUT) {
        lc_keystone_answer(visit, 201, json_pack("{s:o}", "application_credential", shown(visit, kept, true)));
        visit->record.exchange = true;
    } else if (result == LC_KEYSTONE_TAKEN) {
        (void)lc_keystone_refuse(visit, 409,
                                 "Conflict occurred attempting to store application_credential - Duplicate entry "
                                 "found with name %.255s.",
                                 lc_keystone_text(kept, "name"));
    } else {
        (void)lc_keystone_refuse(visit, 403,
                                 "Unable to create additional application credentials, maximum of %lld already "
                                 "exceeded for user.",
                                 (long long)visit->cloud->keystone->user_limit);
    }
    json_decref(kept);
}

static void create(struct lc_visit *visit, const struct lc_keystone_token *token, const char *user)
{
    json_t *document = NULL;
    json_t *credential = NULL;

    if (strcmp(token->user_id, user) != 0) {
        (void)lc_keystone_forbidden(visit, CREATE);
        return;
    }
    if (is_restricted(token)) {
        (void)lc_keystone_forbidden(visit, RESTRICTED);
        return;
    }
    document = lc_keystone_body(visit);
    if (document == NULL) {
        return;
    }
    if (token->project_id == NULL) {
        (void)lc_keystone_refuse(visit, 400, "Invalid application credential: the token is not scoped to a project");
    } else if (token->provider != NULL) {
        /* A mapping gives its roles by group, and those are no assignments. */
        (void)lc_keystone_refuse(visit, 400,
                                 "Invalid application credential: Could not find role assignment with role: %.200s, "
                                 "user or group: %.200s, project, domain, or system: %.200s.",
                                 lc_keystone_text(json_array_get(token->roles, 0), "id"), token->user_id,
                                 token->project_id);
    } else {
        credential = make(visit, token, json_object_get(document, "application_credential"));
        if (credential != NULL) {
            put(visit, credential);
        }
    }
    json_decref(document);
}

static void list(struct lc_visit *visit, const char *user)
{
    struct lc_params params = {0};
    bool decoded = lc_params_read(visit->request->query, strlen(visit->request->query), &params);
    const char *name = decoded ? lc_params_get(&params, "name") : NULL;
    json_t *found = json_array();
    char *self = lc_text_format("%s/v3/users/%s/application_credentials", visit->cloud->keystone->base_url, user);
    const char *id = NULL;
    json_t *credential = NULL;

    (void)pthread_rwlock_rdlock(&visit->cloud->keystone->lock);
    json_object_foreach(visit->cloud->keystone->credentials, id, credential)
    {
        if (strcmp(lc_keystone_text(credential, "user"), user) == 0 &&
            (name == NULL || strcmp(lc_keystone_text(credential, "name"), name) == 0)) {
            (void)json_array_append_new(found, shown(visit, credential, false));
        }
    }
    (void)pthread_rwlock_unlock(&visit->cloud->keystone->lock);
    lc_keystone_answer(visit, 200,
                       json_pack("{s:o,s:{s:s,s:n,s:n}}", "application_credentials", found, "links", "self",
                                 self == NULL ? "" : self, "previous", "next"));
    free(self);
    lc_params_free(&params);
}

static void show_or_delete(struct lc_visit *visit, const struct lc_keystone_token *token, const char *user,
                           const char *id)
{
    json_t *credential = lc_keystone_get_credential(visit->cloud->keystone, id);
    bool drop = strcmp(visit->request->method, "DELETE") == 0;
    bool there = credential != NULL && strcmp(lc_keystone_text(credential, "user"), user) == 0;

    if (drop && is_restricted(token)) {
        (void)lc_keystone_forbidden(visit, RESTRICTED);
    } else if (!there || (drop && !lc_keystone_drop_credential(visit->cloud->keystone, id))) {
        (void)lc_keystone_refuse(visit, 404, "Could not find Application Credential: %.200s.", id);
    } else if (drop) {
        lc_keystone_answer(visit, 204, NULL);
    } else {
        lc_keystone_answer(visit, 200, json_pack("{s:o}", "application_credential", shown(visit, credential, false)));
    }
    json_decref(credential);
}

/* Takes "/users/{user}/application_credentials[/{credential}]" apart; all for free(). */
static bool split_path(const char *path, char **user, char **credential)
{
    static const char before[] = "/identity/v3/users/";
    static const char middle[] = "/application_credentials";
    const char *from = path + sizeof before - 1;
    const char *mark = strstr(from, middle);
    const char *rest = mark == NULL ? NULL : mark + sizeof middle - 1;

    if (rest == NULL) {
        return false;
    }
    *user = strndup(from, (size_t)(mark - from));
    *credential = *rest == '/' ? strdup(rest + 1) : NULL;
    return *user != NULL && lc_text_unpercent(*user, false) &&
           (*credential == NULL || lc_text_unpercent(*credential, false));
}

static void run(struct lc_visit *visit, const struct lc_keystone_token *token, const char *user, const char *credential)
{
    const char *method = visit->request->method;

    if (strcmp(method, "POST") == 0) {
        create(visit, token, user);
    } else if (strcmp(token->user_id, user) != 0 && !lc_keystone_token_has(token, "admin")) {
        (void)lc_keystone_forbidden(visit, credential == NULL              ? "identity:list_application_credentials"
                                           : strcmp(method, "DELETE") == 0 ? "identity:delete_application_credential"
                                                                           : "identity:get_application_credential");
    } else if (credential == NULL) {
        list(visit, user);
    } else {
        show_or_delete(visit, token, user, credential);
    }
}

void lc_keystone_credentials(struct lc_visit *visit)
{
    struct lc_keystone_token token = {0};
    char *user = NULL;
    char *credential = NULL;

    if (lc_keystone_caller(visit, &token) == 0) {
        if (split_path(visit->request->path, &user, &credential)) {
            (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", user);
            run(visit, &token, user, credential);
        } else {
            (void)lc_keystone_refuse(visit, 404, "The resource could not be found.");
        }
    }
    lc_keystone_token_free(&token);
    free(user);
    free(credential);
}
