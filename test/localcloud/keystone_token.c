/* SPDX-License-Identifier: MIT */
/* Keystone tokens: encryption, decryption, and lookup of their users. */
#include "keystone_token.h"

#include "crypto.h"
#include "token_seal.h"

#include <stdlib.h>
#include <string.h>

/* How every Fernet token starts: the version, and a time whose high bytes are zero. */
#define PREFIX "gAAAAA"

enum { AUDIT_BYTES = 16 };

void lc_keystone_token_free(struct lc_keystone_token *token)
{
    json_decref(token->methods);
    json_decref(token->audit_ids);
    free(token->user_id);
    free(token->project_id);
    free(token->credential_id);
    free(token->provider);
    free(token->protocol);
    free(token->subject);
    json_decref(token->user);
    json_decref(token->project);
    json_decref(token->roles);
    json_decref(token->credential);
    *token = (struct lc_keystone_token){0};
}

static int64_t now_us(void)
{
    return (int64_t)(lc_time_now() * 1e6);
}

/* Those of a that are also in b, by id. */
static json_t *common_roles(json_t *a, json_t *b)
{
    json_t *out = json_array();
    json_t *role = NULL;
    size_t index = 0;

    json_array_foreach(a, index, role)
    {
        if (lc_keystone_pick(b, "id", lc_keystone_text(role, "id")) != NULL) {
            (void)json_array_append(out, role);
        }
    }
    return out;
}

/* The mapped user is made up of the provider's first rule that fits the subject. */
static bool resolve_federated(struct lc_keystone *keystone, struct lc_keystone_token *token, json_t **projects,
                              json_t **roles)
{
    json_t *provider = lc_keystone_get_provider(keystone, token->provider);
    json_t *rule = NULL;
    size_t index = 0;
    bool found = false;

    json_array_foreach(json_object_get(provider, "mapping"), index, rule)
    {
        if (lc_text_like(lc_keystone_text(rule, "subject"), token->subject)) {
            token->user = json_pack("{s:s,s:s,s:{s:s,s:s}}", "id", token->user_id, "name", token->subject, "domain",
                                    "id", "Federated", "name", "Federated");
            *projects = json_incref(json_object_get(rule, "projects"));
            *roles = json_incref(json_object_get(rule, "roles"));
            found = token->user != NULL;
            break;
        }
    }
    json_decref(provider);
    return found;
}

static bool resolve_user(struct lc_keystone *keystone, struct lc_keystone_token *token, json_t **projects,
                         json_t **roles)
{
    if (token->provider != NULL) {
        return resolve_federated(keystone, token, projects, roles);
    }
    token->user = lc_keystone_get_user(keystone, token->user_id);
    *projects = json_incref(json_object_get(token->user, "projects"));
    *roles = json_incref(json_object_get(token->user, "roles"));
    return json_is_true(json_object_get(token->user, "enabled"));
}

static bool resolve_credential(struct lc_keystone *keystone, struct lc_keystone_token *token)
{
    int64_t expires_us = 0;

    if (token->credential_id == NULL) {
        return true;
    }
    token->credential = lc_keystone_get_credential(keystone, token->credential_id);
    expires_us = json_integer_value(json_object_get(token->credential, "expires_us"));
    return token->credential != NULL && strcmp(lc_keystone_text(token->credential, "user"), token->user_id) == 0 &&
           token->project_id != NULL &&
           strcmp(lc_keystone_text(token->credential, "project"), token->project_id) == 0 &&
           (expires_us == 0 || expires_us > now_us());
}

bool lc_keystone_token_resolve(struct lc_keystone *keystone, struct lc_keystone_token *token)
{
    json_t *projects = NULL;
    json_t *roles = NULL;
    bool good = resolve_user(keystone, token, &projects, &roles) && resolve_credential(keystone, token);

    if (good && token->project_id != NULL) {
        token->project = json_incref(lc_keystone_pick(projects, "id", token->project_id));
        token->roles = token->credential == NULL ? json_incref(roles)
                                                 : common_roles(json_object_get(token->credential, "roles"), roles);
        good = token->project != NULL && json_array_size(token->roles) > 0;
    }
    json_decref(projects);
    json_decref(roles);
    return good;
}

void lc_keystone_token_start(struct lc_keystone_token *token, const struct lc_keystone_token *parent, int64_t life_s)
{
    int64_t credential_us = json_integer_value(json_object_get(token->credential, "expires_us"));
    unsigned char random[AUDIT_BYTES] = {0};
    struct lc_buf audit = {0};

    (void)lc_random(random, sizeof random);
    lc_base64(&audit, random, sizeof random, true);
    token->audit_ids = json_pack("[s]", audit.at == NULL ? "" : audit.at);
    lc_buf_free(&audit);
    if (parent != NULL) {
        size_t last = json_array_size(parent->audit_ids) - 1;
        (void)json_array_append(token->audit_ids, json_array_get(parent->audit_ids, last));
    }
    token->issued_us = (int64_t)lc_time_now() * 1000000;
    token->expires_us = token->issued_us + life_s * 1000000;
    if (parent != NULL && parent->expires_us < token->expires_us) {
        token->expires_us = parent->expires_us;
    }
    if (credential_us > 0 && credential_us < token->expires_us) {
        token->expires_us = credential_us;
        token->capped = true;
    }
}

char *lc_keystone_token_seal(const struct lc_keystone *keystone, const struct lc_keystone_token *token)
{
    json_t *document = json_pack("{s:O,s:O,s:s,s:s*,s:s*,s:s*,s:s*,s:s*,s:I,s:I}", "m", token->methods, "a",
                                 token->audit_ids, "u", token->user_id, "p", token->project_id, "c",
                                 token->credential_id, "f", token->provider, "o", token->protocol, "s", token->subject,
                                 "i", (json_int_t)token->issued_us, "e", (json_int_t)token->expires_us);
    char *text = document == NULL ? NULL : lc_token_seal(keystone->cloud, "keystone", PREFIX, document);

    json_decref(document);
    return text;
}

static char *copy_of(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static bool take(json_t *document, struct lc_keystone_token *out)
{
    json_t *methods = NULL;
    json_t *audit = NULL;
    const char *user = NULL;
    const char *texts[5] = {NULL};
    json_int_t issued = 0;
    json_int_t expires = 0;

    if (json_unpack(document, "{s:o,s:o,s:s,s?s,s?s,s?s,s?s,s?s,s:I,s:I}", "m", &methods, "a", &audit, "u", &user, "p",
                    &texts[0], "c", &texts[1], "f", &texts[2], "o", &texts[3], "s", &texts[4], "i", &issued, "e",
                    &expires) != 0) {
        return false;
    }
    out->methods = json_incref(methods);
    out->audit_ids = json_incref(audit);
    out->user_id = copy_of(user);
    out->project_id = copy_of(texts[0]);
    out->credential_id = copy_of(texts[1]);
    out->provider = copy_of(texts[2]);
    out->protocol = copy_of(texts[3]);
    out->subject = copy_of(texts[4]);
    out->issued_us = issued;
    out->expires_us = expires;
    return out->user_id != NULL;
}

bool lc_keystone_token_open(struct lc_keystone *keystone, const char *text, struct lc_keystone_token *out)
{
    json_t *document = lc_token_open(keystone->cloud, "keystone", PREFIX, text);
    bool good = false;

    *out = (struct lc_keystone_token){0};
    good = document != NULL && take(document, out) && out->expires_us > now_us() &&
           !lc_keystone_revoked(keystone, json_string_value(json_array_get(out->audit_ids, 0))) &&
           lc_keystone_token_resolve(keystone, out);
    json_decref(document);
    if (!good) {
        lc_keystone_token_free(out);
    }
    return good;
}

bool lc_keystone_token_has(const struct lc_keystone_token *token, const char *role)
{
    return lc_keystone_pick(token->roles, "name", role) != NULL;
}

static json_t *endpoint(const struct lc_keystone *keystone, const char *interface)
{
    char *url = lc_text_format("%s/v3", keystone->base_url);
    char id[33] = "";
    json_t *object = NULL;

    lc_keystone_id("endpoint", interface, id);
    object = json_pack("{s:s,s:s,s:s,s:s,s:s}", "id", id, "interface", interface, "region", "RegionOne", "region_id",
                       "RegionOne", "url", url == NULL ? "" : url);
    free(url);
    return object;
}

static json_t *catalog_of(const struct lc_keystone *keystone)
{
    char id[33] = "";

    lc_keystone_id("service", "keystone", id);
    return json_pack("[{s:s,s:s,s:s,s:[o,o,o]}]", "type", "identity", "name", "keystone", "id", id, "endpoints",
                     endpoint(keystone, "public"), endpoint(keystone, "internal"), endpoint(keystone, "admin"));
}

static json_t *user_of(const struct lc_keystone_token *token)
{
    json_t *user = json_pack("{s:O,s:O,s:O}", "id", json_object_get(token->user, "id"), "name",
                             json_object_get(token->user, "name"), "domain", json_object_get(token->user, "domain"));

    if (token->provider != NULL) {
        (void)json_object_set_new(user, "OS-FEDERATION",
                                  json_pack("{s:[],s:{s:s},s:{s:s}}", "groups", "identity_provider", "id",
                                            token->provider, "protocol", "id", token->protocol));
    } else {
        (void)json_object_set_new(user, "password_expires_at", json_null());
    }
    return user;
}

static json_t *credential_of(const struct lc_keystone_token *token)
{
    return json_pack("{s:O,s:O,s:b}", "id", json_object_get(token->credential, "id"), "name",
                     json_object_get(token->credential, "name"), "restricted",
                     json_is_true(json_object_get(token->credential, "unrestricted")) ? 0 : 1);
}

json_t *lc_keystone_token_body(const struct lc_keystone *keystone, const struct lc_keystone_token *token, bool catalog,
                               bool capped_spelling)
{
    enum lc_keystone_spelling spelling = token->capped && capped_spelling ? LC_KEYSTONE_ISOFORMAT : LC_KEYSTONE_Z;
    json_t *body = json_pack("{s:O,s:o,s:O,s:o,s:o}", "methods", token->methods, "user", user_of(token), "audit_ids",
                             token->audit_ids, "expires_at", lc_keystone_time(token->expires_us, spelling), "issued_at",
                             lc_keystone_time(token->issued_us, LC_KEYSTONE_Z));

    if (token->project != NULL) {
        (void)json_object_set(body, "project", token->project);
        (void)json_object_set_new(body, "is_domain", json_false());
        (void)json_object_set(body, "roles", token->roles);
        if (catalog) {
            (void)json_object_set_new(body, "catalog", catalog_of(keystone));
        }
    }
    if (token->credential != NULL) {
        json_t *rules = json_object_get(token->credential, "access_rules");
        (void)json_object_set_new(body, "application_credential", credential_of(token));
        if (rules != NULL) {
            (void)json_object_set(json_object_get(body, "application_credential"), "access_rules", rules);
        }
    }
    return json_pack("{s:o}", "token", body);
}
