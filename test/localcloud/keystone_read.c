/* SPDX-License-Identifier: MIT */
/* Keystone's part of the configuration, and the admin interface's changes of it. */
#include "keystone_call.h"

#include <stdlib.h>
#include <string.h>

const char lc_keystone_demo[] =
    "{\"users\":[{\"id\":\"demo-user\",\"name\":\"demo\",\"password\":\"demo-password\","
    "\"projects\":[{\"id\":\"demo-project\",\"name\":\"demo\"}],\"roles\":[\"member\"]}],"
    "\"application_credentials\":[{\"id\":\"demo-app-credential\",\"name\":\"demo\",\"secret\":\"demo-"
    "secret\","
    "\"user\":\"demo-user\"},{\"id\":\"demo-unrestricted-credential\",\"name\":\"demo-unrestricted\","
    "\"secret\":\"demo-unrestricted-secret\",\"user\":\"demo-user\",\"unrestricted\":true}],"
    "\"identity_providers\":[{\"id\":\"demo\",\"protocol\":\"openid\",\"audience\":[\"openstack\"],"
    "\"mapping\":["
    "{\"subject\":\"system:serviceaccount:default:demo\",\"projects\":[{\"id\":\"demo-project\","
    "\"name\":\"demo\"}],\"roles\":[\"member\"]}]}]}";

static json_t *domain_of(const char *name)
{
    char id[33] = "";

    lc_keystone_id("domain", name, id);
    return json_pack("{s:s,s:s}", "id", strcmp(name, "Default") == 0 ? "default" : id, "name", name);
}

/* Projects are names, whose id is made up, or {"id", "name"}. */
static json_t *read_projects(json_t *list, const char *where, json_t *domain, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "name", NULL};
    json_t *out = json_array();
    json_t *item = NULL;
    size_t index = 0;

    if (list != NULL && !json_is_array(list)) {
        (void)lc_fail_set(fail, "%s: \"projects\" must be an array", where);
        json_decref(out);
        return NULL;
    }
    json_array_foreach(list, index, item)
    {
        const char *name = json_string_value(item);
        const char *id = NULL;
        char made[33] = "";
        if (name == NULL && (lc_json_keys(item, "projects", known, fail) != 0 ||
                             lc_json_text(item, "projects", "name", &name, fail) != 0 ||
                             lc_json_text(item, "projects", "id", &id, fail) != 0)) {
            json_decref(out);
            return NULL;
        }
        if (name == NULL || *name == '\0') {
            (void)lc_fail_set(fail, "%s: a project needs a \"name\"", where);
            json_decref(out);
            return NULL;
        }
        lc_keystone_id("project", name, made);
        (void)json_array_append_new(
            out, json_pack("{s:s,s:s,s:O}", "id", id == NULL ? made : id, "name", name, "domain", domain));
    }
    return out;
}

static json_t *read_roles(json_t *object, const char *where, struct lc_fail *fail)
{
    json_t *names = NULL;
    json_t *name = NULL;
    json_t *out = json_array();
    size_t index = 0;

    if (lc_json_array(object, where, "roles", &names, fail) != 0) {
        json_decref(out);
        return NULL;
    }
    if (names == NULL) {
        names = json_pack("[s]", "member");
    } else {
        (void)json_incref(names);
    }
    json_array_foreach(names, index, name)
    {
        char id[33] = "";
        lc_keystone_id("role", json_string_value(name), id);
        (void)json_array_append_new(out, json_pack("{s:s,s:s}", "id", id, "name", json_string_value(name)));
    }
    json_decref(names);
    return out;
}

static int read_user(struct lc_keystone *keystone, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "name", "domain", "password", "projects", "roles", "enabled", NULL};
    static const char where[] = "users";
    const char *name = NULL;
    const char *id = NULL;
    const char *domain_name = "Default";
    const char *password = NULL;
    bool enabled = true;
    char made[33] = "";
    json_t *domain = NULL;
    json_t *projects = NULL;
    json_t *roles = NULL;
    int result = -1;

    if (lc_json_keys(object, where, known, fail) != 0 || lc_json_text(object, where, "name", &name, fail) != 0 ||
        lc_json_text(object, where, "id", &id, fail) != 0 ||
        lc_json_text(object, where, "domain", &domain_name, fail) != 0 ||
        lc_json_text(object, where, "password", &password, fail) != 0 ||
        lc_json_bool(object, where, "enabled", &enabled, fail) != 0) {
        return -1;
    }
    if (name == NULL) {
        return lc_fail_set(fail, "%s: \"name\" is missing", where);
    }
    lc_keystone_id("user", name, made);
    domain = domain_of(domain_name);
    projects = read_projects(json_object_get(object, "projects"), where, domain, fail);
    roles = projects == NULL ? NULL : read_roles(object, where, fail);
    if (roles != NULL) {
        id = id == NULL ? made : id;
        (void)json_object_set_new(keystone->users, id,
                                  json_pack("{s:s,s:s,s:O,s:s*,s:b,s:O,s:O}", "id", id, "name", name, "domain", domain,
                                            "password", password, "enabled", enabled ? 1 : 0, "projects", projects,
                                            "roles", roles));
        result = 0;
    }
    json_decref(domain);
    json_decref(projects);
    json_decref(roles);
    return result;
}

/* The user by id or by name; borrowed. */
static json_t *user_of(struct lc_keystone *keystone, const char *which)
{
    json_t *user = json_object_get(keystone->users, which);
    const char *id = NULL;

    if (user == NULL) {
        json_object_foreach(keystone->users, id, user)
        {
            if (strcmp(lc_keystone_text(user, "name"), which) == 0) {
                return user;
            }
        }
        return NULL;
    }
    return user;
}

static json_t *project_of(json_t *user, const char *which)
{
    json_t *projects = json_object_get(user, "projects");
    json_t *project = which == NULL ? json_array_get(projects, 0) : lc_keystone_pick(projects, "id", which);

    return project != NULL || which == NULL ? project : lc_keystone_pick(projects, "name", which);
}

/* A new credential object out of the configuration's; NULL with the reason. The lock is held. */
static json_t *make_credential(struct lc_keystone *keystone, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"id",    "name",         "secret",       "user",        "project",
                                        "roles", "expires_in_s", "unrestricted", "description", "access_rules",
                                        NULL};
    static const char where[] = "application_credentials";
    const char *texts[5] = {NULL};
    static const char *const names[] = {"id", "name", "secret", "user", "project"};
    double expires_in_s = 0;
    bool unrestricted = false;
    json_t *user = NULL;
    json_t *project = NULL;
    json_t *roles = NULL;
    json_t *credential = NULL;
    int64_t expires_us = 0;

    if (lc_json_keys(object, where, known, fail) != 0 ||
        lc_json_bool(object, where, "unrestricted", &unrestricted, fail) != 0 ||
        lc_json_number(object, where, "expires_in_s", -1e9, 1e9, &expires_in_s, fail) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < 5; i++) {
        if (lc_json_text(object, where, names[i], &texts[i], fail) != 0) {
            return NULL;
        }
        if (texts[i] == NULL && i > 0 && i < 4) {
            (void)lc_fail_set(fail, "%s: \"%s\" is missing", where, names[i]);
            return NULL;
        }
    }
    user = user_of(keystone, texts[3]);
    project = project_of(user, texts[4]);
    if (project == NULL) {
        (void)lc_fail_set(fail, "%s: there is no such user, or the user is not in that project", where);
        return NULL;
    }
    roles = json_object_get(object, "roles") == NULL ? json_incref(json_object_get(user, "roles"))
                                                     : read_roles(object, where, fail);
    if (json_object_get(object, "expires_in_s") != NULL) {
        expires_us = (int64_t)((lc_time_now() + expires_in_s / keystone->cloud->speed) * 1e6);
    }
    if (roles != NULL) {
        credential =
            json_pack("{s:o,s:s,s:s,s:O,s:O,s:o,s:I,s:b,s:O*,s:O*}", "id",
                      texts[0] == NULL ? lc_keystone_new_id() : json_string(texts[0]), "name", texts[1], "secret",
                      texts[2], "user", json_object_get(user, "id"), "project", json_object_get(project, "id"), "roles",
                      roles, "expires_us", (json_int_t)expires_us, "unrestricted", unrestricted ? 1 : 0, "description",
                      json_object_get(object, "description"), "access_rules", json_object_get(object, "access_rules"));
    }
    if (credential == NULL) {
        (void)lc_fail_set(fail, "%s: not a credential", where);
    }
    return credential;
}

/* The lock is held for writing. */
static int add_credential(struct lc_keystone *keystone, json_t *object, struct lc_fail *fail)
{
    json_t *credential = make_credential(keystone, object, fail);

    if (credential == NULL) {
        return -1;
    }
    return lc_keystone_put_locked(keystone, credential) == LC_KEYSTONE_PUT
               ? 0
               : lc_fail_set(fail, "application credential: the id, or the user's name for it, is taken");
}

static json_t *read_mapping(json_t *list, struct lc_fail *fail)
{
    static const char *const known[] = {"subject", "projects", "roles", NULL};
    static const char where[] = "identity_providers.mapping";
    json_t *domain = domain_of("Default");
    json_t *out = json_array();
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(list, index, item)
    {
        const char *subject = NULL;
        json_t *projects = NULL;
        json_t *roles = NULL;
        if (lc_json_keys(item, where, known, fail) == 0 && lc_json_text(item, where, "subject", &subject, fail) == 0) {
            projects = read_projects(json_object_get(item, "projects"), where, domain, fail);
            roles = projects == NULL ? NULL : read_roles(item, where, fail);
        }
        if (roles == NULL || subject == NULL) {
            if (roles != NULL) {
                (void)lc_fail_set(fail, "%s: \"subject\" is missing", where);
            }
            json_decref(projects);
            json_decref(roles);
            json_decref(domain);
            json_decref(out);
            return NULL;
        }
        (void)json_array_append_new(
            out, json_pack("{s:s,s:o,s:o}", "subject", subject, "projects", projects, "roles", roles));
    }
    json_decref(domain);
    return out;
}

static int read_provider(struct lc_keystone *keystone, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "protocol", "issuer", "audience", "mapping", NULL};
    static const char where[] = "identity_providers";
    const char *id = NULL;
    const char *protocol = "openid";
    const char *issuer = lc_issuer_url(keystone->cloud->issuer);
    json_t *audience = NULL;
    json_t *mapping = NULL;

    if (lc_json_keys(object, where, known, fail) != 0 || lc_json_text(object, where, "id", &id, fail) != 0 ||
        lc_json_text(object, where, "protocol", &protocol, fail) != 0 ||
        lc_json_text(object, where, "issuer", &issuer, fail) != 0 ||
        lc_json_array(object, where, "audience", &audience, fail) != 0) {
        return -1;
    }
    if (id == NULL || audience == NULL) {
        return lc_fail_set(fail, "%s: \"id\" and \"audience\" are needed", where);
    }
    mapping = read_mapping(json_object_get(object, "mapping"), fail);
    if (mapping == NULL) {
        return -1;
    }
    return json_object_set_new(keystone->providers, id,
                               json_pack("{s:s,s:s,s:s,s:O,s:o}", "id", id, "protocol", protocol, "issuer", issuer,
                                         "audience", audience, "mapping", mapping));
}

static int read_list(struct lc_keystone *keystone, json_t *config, const char *name,
                     int (*read_one)(struct lc_keystone *keystone, json_t *object, struct lc_fail *fail),
                     struct lc_fail *fail)
{
    json_t *list = json_object_get(config, name);
    json_t *item = NULL;
    size_t index = 0;

    if (list != NULL && !json_is_array(list)) {
        return lc_fail_set(fail, "keystone: \"%s\" must be an array", name);
    }
    json_array_foreach(list, index, item)
    {
        if (read_one(keystone, item, fail) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Reads everything again from the settings. The lock is held. */
static int load(struct lc_keystone *keystone, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {
        "users", "application_credentials", "identity_providers", "token_expiration_s", "user_limit", NULL};
    static const char where[] = "keystone";

    (void)json_object_clear(keystone->users);
    (void)json_object_clear(keystone->credentials);
    (void)json_object_clear(keystone->providers);
    keystone->expiration_s = 3600;
    keystone->user_limit = -1;
    return lc_json_keys(settings, where, known, fail) != 0 ||
                   lc_json_integer(settings, where, "token_expiration_s", 1, 4294967296, &keystone->expiration_s,
                                   fail) != 0 ||
                   read_list(keystone, settings, "users", read_user, fail) != 0 ||
                   read_list(keystone, settings, "application_credentials", add_credential, fail) != 0 ||
                   read_list(keystone, settings, "identity_providers", read_provider, fail) != 0 ||
                   /* last: those of the settings do not fall under it */
                   lc_json_integer(settings, where, "user_limit", -1, 1000000, &keystone->user_limit, fail) != 0
               ? -1
               : 0;
}

json_t *lc_keystone_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    int result = -1;

    if (cloud->keystone == NULL) {
        cloud->keystone = lc_keystone_new(cloud, fail);
    }
    if (cloud->keystone != NULL) {
        (void)pthread_rwlock_wrlock(&cloud->keystone->lock);
        result = load(cloud->keystone, settings, fail);
        if (result == 0) {
            json_decref(cloud->keystone->settings);
            cloud->keystone->settings = json_incref(settings);
        } else if (cloud->keystone->settings != NULL) {
            (void)load(cloud->keystone, cloud->keystone->settings, NULL); /* what held before */
        }
        (void)pthread_rwlock_unlock(&cloud->keystone->lock);
    }
    return result == 0 ? json_incref(settings) : NULL;
}

/* Deleting a user takes the credentials along. The lock is held. */
static void drop_credentials_of(struct lc_keystone *keystone, const char *user)
{
    const char *id = NULL;
    json_t *credential = NULL;
    void *next = NULL;

    json_object_foreach_safe(keystone->credentials, next, id, credential)
    {
        if (strcmp(lc_keystone_text(credential, "user"), user) == 0) {
            (void)json_object_del(keystone->credentials, id);
        }
    }
}

/* A changed copy of the user, or NULL with the reason. */
static json_t *changed_user(json_t *user, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "enabled", "roles", "projects", "password", "delete", NULL};
    json_t *copy = json_copy(user);
    json_t *roles = NULL;
    json_t *projects = NULL;
    const char *password = NULL;
    bool enabled = json_is_true(json_object_get(user, "enabled"));

    if (lc_json_keys(body, "user", known, fail) != 0 || lc_json_bool(body, "user", "enabled", &enabled, fail) != 0 ||
        lc_json_text(body, "user", "password", &password, fail) != 0) {
        json_decref(copy);
        return NULL;
    }
    (void)json_object_set_new(copy, "enabled", json_boolean(enabled));
    if (password != NULL) {
        (void)json_object_set_new(copy, "password", json_string(password));
    }
    if (json_object_get(body, "roles") != NULL && (roles = read_roles(body, "user", fail)) != NULL) {
        (void)json_object_set_new(copy, "roles", roles);
    }
    if (json_object_get(body, "projects") != NULL &&
        (projects = read_projects(json_object_get(body, "projects"), "user", json_object_get(user, "domain"), fail)) !=
            NULL) {
        (void)json_object_set_new(copy, "projects", projects);
    }
    if ((json_object_get(body, "roles") != NULL && roles == NULL) ||
        (json_object_get(body, "projects") != NULL && projects == NULL)) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

int lc_keystone_user(struct lc_keystone *keystone, json_t *body, struct lc_fail *fail)
{
    const char *id = lc_keystone_text(body, "id");
    bool drop = json_is_true(json_object_get(body, "delete"));
    json_t *user = NULL;
    json_t *changed = NULL;
    int result = -1;

    (void)pthread_rwlock_wrlock(&keystone->lock);
    user = json_object_get(keystone->users, id);
    if (user == NULL) {
        (void)lc_fail_set(fail, "there is no user %.100s", id);
    } else if ((changed = changed_user(user, body, fail)) != NULL) {
        if (drop) {
            drop_credentials_of(keystone, id);
        }
        result = drop ? json_object_del(keystone->users, id) : json_object_set(keystone->users, id, changed);
    }
    (void)pthread_rwlock_unlock(&keystone->lock);
    json_decref(changed);
    return result;
}

int lc_keystone_credential(struct lc_keystone *keystone, json_t *body, struct lc_fail *fail)
{
    int result = 0;

    if (json_is_true(json_object_get(body, "delete"))) {
        return lc_keystone_drop_credential(keystone, lc_keystone_text(body, "id"))
                   ? 0
                   : lc_fail_set(fail, "there is no such application credential");
    }
    (void)pthread_rwlock_wrlock(&keystone->lock);
    result = add_credential(keystone, body, fail);
    (void)pthread_rwlock_unlock(&keystone->lock);
    return result;
}

json_t *lc_keystone_report(struct lc_keystone *keystone)
{
    json_t *users = json_array();
    json_t *credentials = json_array();
    const char *id = NULL;
    json_t *item = NULL;

    (void)pthread_rwlock_rdlock(&keystone->lock);
    json_object_foreach(keystone->users, id, item)
    {
        json_t *copy = json_copy(item);
        (void)json_object_del(copy, "password");
        (void)json_array_append_new(users, copy);
    }
    json_object_foreach(keystone->credentials, id, item)
    {
        json_t *copy = json_copy(item);
        (void)json_object_del(copy, "secret");
        (void)json_array_append_new(credentials, copy);
    }
    (void)pthread_rwlock_unlock(&keystone->lock);
    return json_pack("{s:o,s:o}", "users", users, "application_credentials", credentials);
}
