/* SPDX-License-Identifier: MIT */
/* The token endpoint of the authorization server. */
#include "oauth.h"

#include "token_key.h"
#include "token_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRANT "urn:ietf:params:oauth:grant-type:"

/* What is granted: to whom, for what. */
struct grant {
    json_t *client;         /* NULL: none */
    struct lc_subject from; /* the subject token or assertion, if there was one */
    const char *identity;
    json_t *audience; /* array */
    char *scope;      /* NULL: none */
    const char *type; /* issued_token_type, NULL: not said */
};

static int invalid_request(struct lc_visit *visit, const char *why)
{
    return lc_visit_refuse(visit, 400, "invalid_request", "%s", why);
}

/* RFC 6749, 3.2: a parameter occurs once; RFC 8693, 2.1 lets resource and audience repeat. */
static int check_form(struct lc_visit *visit)
{
    const struct lc_params *params = &visit->params;

    if (!visit->form || visit->form_broken) {
        return invalid_request(visit, "the body must be a form: application/x-www-form-urlencoded, in UTF-8");
    }
    for (size_t i = 0; i < params->count; i++) {
        const char *name = params->at[i].name;
        for (size_t n = 0; n < i; n++) {
            if (strcmp(params->at[n].name, name) == 0 && strcmp(name, "resource") != 0 &&
                strcmp(name, "audience") != 0) {
                return lc_visit_refuse(visit, 400, "invalid_request", "the parameter %.60s occurs twice", name);
            }
        }
    }
    return lc_visit_param(visit, "grant_type") == NULL ? invalid_request(visit, "grant_type is missing") : 0;
}

/* Every audience and resource must be one that is known. */
static int read_targets(struct lc_visit *visit, struct grant *grant)
{
    json_t *known = json_object_get(visit->settings, "audiences");

    grant->audience = json_array();
    for (size_t i = 0; i < visit->params.count; i++) {
        const struct lc_param *param = &visit->params.at[i];
        bool resource = strcmp(param->name, "resource") == 0;
        if ((!resource && strcmp(param->name, "audience") != 0) || *param->value == '\0') {
            continue;
        }
        if (resource && (strstr(param->value, "://") == NULL || strchr(param->value, '#') != NULL)) {
            return lc_visit_refuse(visit, 400, "invalid_target", "resource must be an absolute URI without a fragment");
        }
        if (!lc_json_holds(known, param->value)) {
            return lc_visit_refuse(visit, 400, "invalid_target", "the target %.200s is not known", param->value);
        }
        (void)json_array_append_new(grant->audience, json_string(param->value));
    }
    if (json_array_size(grant->audience) == 0 && json_array_size(known) > 0) {
        (void)json_array_append_new(grant->audience, json_string(json_string_value(json_array_get(known, 0))));
    }
    return 0;
}

static int read_scope(struct lc_visit *visit, struct grant *grant)
{
    const char *scope = lc_visit_param(visit, "scope");
    char *copy = scope == NULL ? NULL : strdup(scope);
    char *rest = NULL;
    int result = 0;

    for (char *one = copy == NULL ? NULL : strtok_r(copy, " ", &rest); result == 0 && one != NULL;
         one = strtok_r(NULL, " ", &rest)) {
        if (!lc_json_holds(json_object_get(visit->settings, "scopes"), one)) {
            result = lc_visit_refuse(visit, 400, "invalid_scope", "the scope %.100s is not known", one);
        }
    }
    free(copy);
    grant->scope = scope == NULL ? NULL : strdup(scope);
    return result;
}

/* A token of an issuer that is trusted: invalid_request (RFC 8693, 2.2.2) or invalid_grant (RFC 7523, 3.1).
 */
static int read_subject(struct lc_visit *visit, const char *token, const char *error, struct grant *grant)
{
    struct lc_subject *from = &grant->from;
    json_t *item = NULL;
    size_t index = 0;

    if (!lc_subject_read(token, from) || !lc_jwt_alg_allowed(from->jwt.alg)) {
        return lc_visit_refuse(visit, 400, error, "the token is no JWT with a signature");
    }
    json_array_foreach(json_object_get(visit->settings, "subjects"), index, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "issuer")), from->issuer) == 0 &&
            lc_text_like(json_string_value(json_object_get(item, "subject")), from->subject) &&
            lc_subject_for_any(from, json_object_get(item, "audience"))) {
            grant->identity = from->subject;
        }
    }
    if (grant->identity == NULL) {
        return lc_visit_refuse(visit, 400, error, "no setting trusts the token's issuer, subject and audience");
    }
    if (lc_subject_signed(visit->cloud, from) != LC_SIGNED_WELL) {
        return lc_visit_refuse(visit, 400, error, "the token's signature is not of a key of its issuer");
    }
    switch (lc_subject_times(from)) {
    case LC_TIME_MISSING:
        return lc_visit_refuse(visit, 400, error, "the token must have exp and iat");
    case LC_TIME_EXPIRED:
        return lc_visit_refuse(visit, 400, error, "the token has expired");
    case LC_TIME_FUTURE:
        return lc_visit_refuse(visit, 400, error, "the token is not valid yet");
    case LC_TIME_GOOD:
        break;
    }
    return 0;
}

static bool is_type(const char *type, const char *const names[])
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(type + (lc_text_starts(type, LC_OAUTH_TYPE) ? sizeof LC_OAUTH_TYPE - 1 : strlen(type)), names[i]) ==
            0) {
            return true;
        }
    }
    return false;
}

static int token_exchange(struct lc_visit *visit, struct grant *grant)
{
    static const char *const subjects[] = {"jwt", "id_token", NULL};
    static const char *const issued[] = {"access_token", "jwt", NULL};
    const char *token = lc_visit_param(visit, "subject_token");
    const char *type = lc_visit_param(visit, "subject_token_type");
    const char *wanted = lc_visit_param(visit, "requested_token_type");

    if (token == NULL || type == NULL) {
        return invalid_request(visit, "subject_token and subject_token_type must be given");
    }
    if ((lc_visit_param(visit, "actor_token") == NULL) != (lc_visit_param(visit, "actor_token_type") == NULL)) {
        return invalid_request(visit, "actor_token and actor_token_type go together");
    }
    if (lc_visit_param(visit, "actor_token") != NULL) {
        return invalid_request(visit, "delegation with an actor_token is not supported");
    }
    if (!is_type(type, subjects) || (wanted != NULL && !is_type(wanted, issued))) {
        return invalid_request(visit,
                               "subject_token_type must be jwt or id_token, requested_token_type access_token or "
                               "jwt, each as urn:ietf:params:oauth:token-type:");
    }
    grant->type = wanted != NULL ? wanted : LC_OAUTH_TYPE "access_token";
    return read_subject(visit, token, "invalid_request", grant);
}

static int jwt_bearer(struct lc_visit *visit, struct grant *grant)
{
    const char *assertion = lc_visit_param(visit, "assertion");

    return assertion == NULL ? invalid_request(visit, "assertion is missing")
                             : read_subject(visit, assertion, "invalid_grant", grant);
}

static int client_credentials(struct lc_visit *visit, struct grant *grant)
{
    if (grant->client == NULL) {
        return lc_oauth_no_client(visit, "this grant needs client authentication");
    }
    grant->identity = json_string_value(json_object_get(grant->client, "id"));
    return 0;
}

static int by_grant_type(struct lc_visit *visit, struct grant *grant)
{
    static const struct {
        const char *name;
        int (*run)(struct lc_visit *visit, struct grant *grant);
    } grants[] = {{GRANT "token-exchange", token_exchange},
                  {GRANT "jwt-bearer", jwt_bearer},
                  {"client_credentials", client_credentials}};
    const char *type = lc_visit_param(visit, "grant_type");

    for (size_t i = 0; i < sizeof grants / sizeof grants[0]; i++) {
        if (strcmp(grants[i].name, type) == 0) {
            return grants[i].run(visit, grant);
        }
    }
    return lc_visit_refuse(visit, 400, "unsupported_grant_type", "grant_type %.100s is not supported", type);
}

static char *make_token(struct lc_visit *visit, const struct grant *grant, int64_t life_s)
{
    char *issuer = lc_text_format("https://%s/oauth", lc_visit_host(visit));
    json_int_t now = (json_int_t)lc_time_now();
    json_t *claims =
        json_pack("{s:s*,s:s,s:O,s:I,s:I,s:s,s:s*,s:s*}", "iss", issuer, "sub", grant->identity, "aud", grant->audience,
                  "iat", now, "exp", (json_int_t)lc_visit_until(life_s), "jti", visit->id, "client_id",
                  json_string_value(json_object_get(grant->client, "id")), "scope", grant->scope);
    char *token = claims == NULL ? NULL : lc_token_key_sign(visit->cloud->token_key, claims);

    free(issuer);
    json_decref(claims);
    return token;
}

static void answer(struct lc_visit *visit, const struct grant *grant)
{
    int64_t life_s = lc_visit_life_s(visit, json_integer_value(json_object_get(visit->settings, "lifetime_s")));
    char *token = make_token(visit, grant, life_s);
    bool jwt = grant->type != NULL && strcmp(grant->type, LC_OAUTH_TYPE "jwt") == 0;
    json_t *document = json_pack("{s:s*,s:s*,s:s,s:s*}", "access_token", token, "issued_token_type", grant->type,
                                 "token_type", jwt ? "N_A" : "Bearer", "scope", grant->scope);

    if (token == NULL) {
        json_decref(document);
        (void)lc_visit_refuse(visit, 500, "server_error", "out of memory");
        return;
    }
    lc_visit_put_expiry(visit, document, "expires_in", json_integer(life_s), json_integer(-3600));
    (void)snprintf(visit->record.session_name, sizeof visit->record.session_name, "%s", grant->identity);
    lc_visit_granted(visit, token);
    lc_reply_header(visit->reply, "Cache-Control", "no-store");
    lc_reply_header(visit->reply, "Pragma", "no-cache");
    lc_visit_json(visit, 200, document);
    free(token);
}

void lc_oauth_token(struct lc_visit *visit)
{
    struct grant grant = {0};

    if (check_form(visit) == 0 && lc_oauth_client(visit, &grant.client) == 0) {
        const char *id = json_string_value(json_object_get(grant.client, "id"));
        if (id != NULL) {
            (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", id);
        }
        if (by_grant_type(visit, &grant) == 0 && read_targets(visit, &grant) == 0 && read_scope(visit, &grant) == 0) {
            answer(visit, &grant);
        }
    }
    lc_subject_free(&grant.from);
    json_decref(grant.audience);
    free(grant.scope);
}
