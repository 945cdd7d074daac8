/* SPDX-License-Identifier: MIT */
/* Keystone's POST /v3/auth/tokens: application credentials, passwords, tokens; scopes. */
#include "crypto.h"
#include "keystone_call.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SECRET_BYTES = 72 };

/* What one authentication is made of while its methods are looked at. */
struct attempt {
    json_t *identity; /* borrowed from the request, like the next */
    json_t *scope;
    json_t *methods;                 /* of the new token */
    struct lc_keystone_token parent; /* the token that was shown, if one was */
    bool rescoped;
    struct lc_keystone_token token; /* the new one */
};

static int missing(struct lc_visit *visit, const char *attribute, const char *target)
{
    return lc_keystone_refuse(visit, 400, "Expecting to find %s in %s." LC_KEYSTONE_MALFORMED, attribute, target);
}

/* The hash sees 72 bytes of a secret, so that more of them do not count. */
static bool same_secret(const char *known, json_t *given)
{
    char *a = strndup(known, MOST_SECRET_BYTES);
    char *b = json_is_string(given) ? strndup(json_string_value(given), MOST_SECRET_BYTES) : NULL;
    bool same = a != NULL && b != NULL && *a != '\0' && lc_same_text(a, b);

    free(a);
    free(b);
    return same;
}

/* {"id"} or {"name", "domain"}; *user is the caller's reference, NULL when there is no such user. */
static int find_user(struct lc_visit *visit, json_t *asked, json_t **user)
{
    json_t *id = json_object_get(asked, "id");
    json_t *name = json_object_get(asked, "name");
    json_t *domain = json_object_get(asked, "domain");

    *user = NULL;
    if (json_is_string(id)) {
        *user = lc_keystone_get_user(visit->cloud->keystone, json_string_value(id));
        return 0;
    }
    if (!json_is_string(name)) {
        return missing(visit, "id or name", "user");
    }
    if (!json_is_object(domain) ||
        (!json_is_string(json_object_get(domain, "id")) && !json_is_string(json_object_get(domain, "name")))) {
        return missing(visit, "domain", "user");
    }
    *user = lc_keystone_named_user(visit->cloud->keystone, json_string_value(name), domain);
    return 0;
}

static char *copy_id(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? NULL : strdup(text);
}

/* Finds the credential that is meant: a new reference, or NULL with the answer written. An id that is not
 * there is found out before any secret is compared. */
static json_t *find_credential(struct lc_visit *visit, json_t *asked)
{
    const char *id = json_string_value(json_object_get(asked, "id"));
    const char *name = json_string_value(json_object_get(asked, "name"));
    json_t *user_asked = json_object_get(asked, "user");
    json_t *user = NULL;
    json_t *credential = NULL;

    if (id != NULL) {
        credential = lc_keystone_get_credential(visit->cloud->keystone, id);
        if (credential == NULL) {
            (void)lc_keystone_refuse(visit, 404, "Could not find Application Credential: %.200s.", id);
        }
        return credential;
    }
    if (name == NULL) {
        (void)missing(visit, "id or name", "application credential");
        return NULL;
    }
    if (!json_is_object(user_asked)) {
        (void)missing(visit, "user", "application credential");
        return NULL;
    }
    if (find_user(visit, user_asked, &user) != 0) {
        return NULL;
    }
    credential =
        user == NULL ? NULL : lc_keystone_named_credential(visit->cloud->keystone, lc_keystone_text(user, "id"), name);
    json_decref(user);
    if (credential == NULL) {
        (void)lc_keystone_unauthorized(visit);
    }
    return credential;
}

static int by_credential(struct lc_visit *visit, struct attempt *attempt)
{
    json_t *asked = json_object_get(attempt->identity, "application_credential");
    json_t *credential = NULL;

    if (!json_is_object(asked)) {
        return missing(visit, "application_credential", "identity");
    }
    if (attempt->scope != NULL) {
        return lc_keystone_refuse_plugin(visit, json_object(),
                                         "Error authenticating with application credential: Application credentials "
                                         "cannot request a scope.");
    }
    credential = find_credential(visit, asked);
    if (credential == NULL) {
        return -1;
    }
    attempt->token.credential_id = copy_id(credential, "id");
    attempt->token.user_id = copy_id(credential, "user");
    attempt->token.project_id = copy_id(credential, "project");
    if (!same_secret(lc_keystone_text(credential, "secret"), json_object_get(asked, "secret")) ||
        !lc_keystone_token_resolve(visit->cloud->keystone, &attempt->token)) {
        json_decref(credential);
        return lc_keystone_unauthorized(visit);
    }
    json_decref(credential);
    return 0;
}

/* The project of {"id"} or {"name", "domain"} among those of the user; borrowed. */
static json_t *scoped_project(json_t *projects, json_t *asked)
{
    const char *id = json_string_value(json_object_get(asked, "id"));
    const char *name = json_string_value(json_object_get(asked, "name"));
    json_t *project = NULL;
    size_t index = 0;

    json_array_foreach(projects, index, project)
    {
        bool match = id != NULL ? strcmp(lc_keystone_text(project, "id"), id) == 0
                                : name != NULL && strcmp(lc_keystone_text(project, "name"), name) == 0 &&
                                      lc_keystone_is_domain(json_object_get(asked, "domain"),
                                                            json_object_get(project, "domain"));
        if (match) {
            return project;
        }
    }
    return NULL;
}

/* The projects that this user or this mapping may use; a new reference. */
static json_t *projects_of(struct lc_visit *visit, const struct lc_keystone_token *token)
{
    json_t *projects = NULL;

    if (token->provider != NULL) {
        json_t *provider = lc_keystone_get_provider(visit->cloud->keystone, token->provider);
        json_t *rule = NULL;
        size_t index = 0;
        json_array_foreach(json_object_get(provider, "mapping"), index, rule)
        {
            if (lc_text_like(lc_keystone_text(rule, "subject"), token->subject)) {
                projects = json_incref(json_object_get(rule, "projects"));
                break;
            }
        }
        json_decref(provider);
        return projects;
    }
    return json_incref(json_object_get(token->user, "projects"));
}

/* Reads "scope" into the new token, which has its user (resolved, for the list of his projects). */
static int take_scope(struct lc_visit *visit, struct attempt *attempt)
{
    json_t *asked = json_object_get(attempt->scope, "project");
    json_t *projects = NULL;
    json_t *project = NULL;

    if (attempt->scope == NULL ||
        (json_is_string(attempt->scope) && strcmp(json_string_value(attempt->scope), "unscoped") == 0)) {
        return 0;
    }
    if (json_object_get(attempt->scope, "system") != NULL || json_object_get(attempt->scope, "domain") != NULL) {
        return attempt->parent.credential_id != NULL
                   ? lc_keystone_forbidden(visit, "Application credential tokens cannot be rescoped to the system")
                   : lc_keystone_unauthorized(visit);
    }
    if (!json_is_object(asked)) {
        return missing(visit, "project, domain, system or OS-TRUST:trust", "scope");
    }
    projects = projects_of(visit, &attempt->token);
    project = scoped_project(projects, asked);
    attempt->token.project_id = project == NULL ? NULL : copy_id(project, "id");
    json_decref(projects);
    return attempt->token.project_id == NULL ? lc_keystone_unauthorized(visit) : 0;
}

/* Forgets what a first look at the user found, so that the token can be resolved with its scope. */
static void unresolve(struct lc_keystone_token *token)
{
    json_decref(token->user);
    json_decref(token->project);
    json_decref(token->roles);
    json_decref(token->credential);
    token->user = NULL;
    token->project = NULL;
    token->roles = NULL;
    token->credential = NULL;
}

static int resolve_scoped(struct lc_visit *visit, struct attempt *attempt)
{
    if (take_scope(visit, attempt) != 0) {
        return -1;
    }
    unresolve(&attempt->token);
    return lc_keystone_token_resolve(visit->cloud->keystone, &attempt->token) ? 0 : lc_keystone_unauthorized(visit);
}

static int by_password(struct lc_visit *visit, struct attempt *attempt)
{
    json_t *asked = json_object_get(json_object_get(attempt->identity, "password"), "user");
    json_t *user = NULL;

    if (!json_is_object(asked)) {
        return missing(visit, "user", "password");
    }
    if (find_user(visit, asked, &user) != 0) {
        return -1;
    }
    if (user == NULL || !json_is_true(json_object_get(user, "enabled")) ||
        !same_secret(lc_keystone_text(user, "password"), json_object_get(asked, "password"))) {
        json_decref(user);
        return lc_keystone_unauthorized(visit);
    }
    attempt->token.user_id = copy_id(user, "id");
    attempt->token.user = user;
    return resolve_scoped(visit, attempt);
}

static char *copy_of(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static int by_token(struct lc_visit *visit, struct attempt *attempt)
{
    json_t *asked = json_object_get(json_object_get(attempt->identity, "token"), "id");
    struct lc_keystone_token *parent = &attempt->parent;
    json_t *method = NULL;
    size_t index = 0;

    if (!json_is_string(asked)) {
        return missing(visit, "id", "token");
    }
    if (!lc_keystone_token_open(visit->cloud->keystone, json_string_value(asked), parent)) {
        return lc_keystone_refuse(visit, 404, "Failed to validate token");
    }
    attempt->rescoped = true;
    json_array_foreach(parent->methods, index, method)
    {
        if (strcmp(json_string_value(method), "token") != 0) {
            (void)json_array_append(attempt->methods, method);
        }
    }
    attempt->token.user_id = copy_of(parent->user_id);
    attempt->token.provider = copy_of(parent->provider);
    attempt->token.protocol = copy_of(parent->protocol);
    attempt->token.subject = copy_of(parent->subject);
    attempt->token.credential_id = copy_of(parent->credential_id);
    attempt->token.user = json_incref(parent->user);
    if (attempt->scope == NULL && parent->project_id != NULL) {
        attempt->token.project_id = copy_of(parent->project_id);
    }
    return resolve_scoped(visit, attempt);
}

static int read_attempt(struct lc_visit *visit, json_t *document, struct attempt *attempt)
{
    json_t *auth = json_object_get(document, "auth");
    json_t *methods = NULL;

    attempt->identity = json_object_get(auth, "identity");
    attempt->scope = json_object_get(auth, "scope");
    methods = json_object_get(attempt->identity, "methods");
    if (!json_is_object(auth)) {
        return lc_keystone_refuse(visit, 400, "'auth' is a required property");
    }
    if (!json_is_object(attempt->identity)) {
        return missing(visit, "identity", "auth");
    }
    if (!json_is_array(methods) || json_array_size(methods) == 0) {
        return missing(visit, "methods", "identity");
    }
    attempt->methods = json_copy(methods);
    return 0;
}

static int run(struct lc_visit *visit, struct attempt *attempt)
{
    const char *method = json_string_value(json_array_get(attempt->methods, 0));

    if (json_array_size(attempt->methods) == 1 && method != NULL) {
        if (strcmp(method, "application_credential") == 0) {
            return by_credential(visit, attempt);
        }
        if (strcmp(method, "password") == 0) {
            return by_password(visit, attempt);
        }
        if (strcmp(method, "token") == 0) {
            return by_token(visit, attempt);
        }
    }
    return lc_keystone_refuse_plugin(visit,
                                     json_pack("{s:[s,s,s]}", "methods", "password", "token", "application_credential"),
                                     "Attempted to authenticate with an unsupported method.");
}

void lc_keystone_auth(struct lc_visit *visit)
{
    struct attempt attempt = {0};
    json_t *document = lc_keystone_body(visit);

    if (document != NULL && read_attempt(visit, document, &attempt) == 0 && run(visit, &attempt) == 0) {
        attempt.token.methods = attempt.methods;
        attempt.methods = NULL;
        (void)lc_keystone_issue(visit, &attempt.token, attempt.rescoped ? &attempt.parent : NULL);
    }
    json_decref(attempt.methods);
    lc_keystone_token_free(&attempt.token);
    lc_keystone_token_free(&attempt.parent);
    json_decref(document);
}
