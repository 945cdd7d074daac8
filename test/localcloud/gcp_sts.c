/* SPDX-License-Identifier: MIT */
/* Google's security token service: exchanges an issuer's token for a federated access token (RFC 8693). */
#include "gcp.h"

#include "token_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GRANT        "urn:ietf:params:oauth:grant-type:token-exchange"
#define TYPE         "urn:ietf:params:oauth:token-type:"
#define ACCESS_TOKEN TYPE "access_token"

enum { MOST_SUBJECT_BYTES = 127, LONGEST_TOKEN_S = 48 * 3600, MOST_PROJECT_CHARS = 32 };

/* What is asked, from a form or from JSON with the names of the REST surface. */
enum { GRANT_TYPE, AUDIENCE, SCOPE, REQUESTED, SUBJECT, SUBJECT_TYPE, OPTIONS, FIELDS };

static const char *const form_names[FIELDS] = {"grant_type",    "audience",           "scope",  "requested_token_type",
                                               "subject_token", "subject_token_type", "options"};
static const char *const json_names[FIELDS + 1] = {"grantType",    "audience",         "scope",   "requestedTokenType",
                                                   "subjectToken", "subjectTokenType", "options", NULL};
/* Sent by libraries and not used for federation. */
static const char *const idle_names[] = {"resource", "actor_token", "actor_token_type"};

struct ask {
    const char *fields[FIELDS]; /* NULL: absent or empty */
    json_t *document;
    json_t *options;
    json_t *provider; /* borrowed */
    json_t *scopes;
    struct lc_gcp_place place;
    struct lc_subject subject;
};

static void free_ask(struct ask *ask)
{
    json_decref(ask->document);
    json_decref(ask->options);
    json_decref(ask->scopes);
    lc_subject_free(&ask->subject);
}

static int unknown_name(struct lc_visit *visit, const char *name)
{
    return lc_visit_refuse(visit, 400, "INVALID_ARGUMENT",
                           "Invalid JSON payload received. Unknown name \"%.100s\": Cannot find field.", name);
}

static int read_form(struct lc_visit *visit, struct ask *ask)
{
    if (visit->form_broken) {
        return lc_visit_refuse(visit, 400, "invalid_request", "The body is not a decodable form.");
    }
    for (size_t i = 0; i < visit->params.count; i++) {
        const char *name = visit->params.at[i].name;
        bool known = false;
        for (size_t n = 0; n < FIELDS; n++) {
            known = known || strcmp(name, form_names[n]) == 0;
        }
        for (size_t n = 0; n < sizeof idle_names / sizeof idle_names[0]; n++) {
            known = known || strcmp(name, idle_names[n]) == 0;
        }
        if (!known) {
            return unknown_name(visit, name);
        }
    }
    for (size_t n = 0; n < FIELDS; n++) {
        ask->fields[n] = lc_visit_param(visit, form_names[n]);
    }
    return 0;
}

static int read_json(struct lc_visit *visit, struct ask *ask)
{
    const char *name = NULL;
    json_t *value = NULL;

    ask->document = json_loadb(visit->request->body, visit->request->body_len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(ask->document)) {
        return lc_visit_refuse(visit, 400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unexpected token.");
    }
    json_object_foreach(ask->document, name, value)
    {
        size_t n = 0;
        while (n < FIELDS && strcmp(json_names[n], name) != 0 && strcmp(form_names[n], name) != 0) {
            n++;
        }
        if (n == FIELDS) {
            return unknown_name(visit, name);
        }
        if (json_is_null(value)) { /* protobuf's JSON mapping: null is the default, as if absent */
            continue;
        }
        if (!json_is_string(value)) {
            return lc_visit_refuse(visit, 400, "INVALID_ARGUMENT", "Invalid value at '%s' (TYPE_STRING)",
                                   form_names[n]);
        }
        ask->fields[n] = json_string_length(value) == 0 ? NULL : json_string_value(value);
    }
    return 0;
}

static int check_types(struct lc_visit *visit, const struct ask *ask)
{
    const char *type = ask->fields[SUBJECT_TYPE];

    for (size_t n = 0; n < FIELDS; n++) {
        if (ask->fields[n] == NULL && n != OPTIONS && n != SCOPE) {
            return lc_visit_refuse(visit, 400, "invalid_request", "Missing required field: %s", form_names[n]);
        }
    }
    if (strcmp(ask->fields[GRANT_TYPE], GRANT) != 0) {
        return lc_visit_refuse(visit, 400, "unsupported_grant_type", "Invalid grant_type: %.200s",
                               ask->fields[GRANT_TYPE]);
    }
    if (strcmp(ask->fields[REQUESTED], ACCESS_TOKEN) != 0) {
        return lc_visit_refuse(visit, 400, "invalid_request", "Invalid requested_token_type: %.200s",
                               ask->fields[REQUESTED]);
    }
    if (strcmp(type, TYPE "jwt") != 0 && strcmp(type, TYPE "id_token") != 0) {
        return lc_visit_refuse(visit, 400, "invalid_request", "Invalid subject_token_type: %.200s", type);
    }
    return 0;
}

static int find_provider(struct lc_visit *visit, struct ask *ask)
{
    json_t *provider = NULL;
    size_t index = 0;

    if (!lc_gcp_place(ask->fields[AUDIENCE], &ask->place)) {
        return lc_visit_refuse(visit, 400, "invalid_request",
                               "Invalid value for \"audience\". This value should be the full resource name of the "
                               "Identity Provider. See https://cloud.google.com/iam/docs/reference/sts/rest/v1/"
                               "TopLevel/token for the list of possible formats.");
    }
    json_array_foreach(json_object_get(visit->settings, "providers"), index, provider)
    {
        if (strcmp(json_string_value(json_object_get(provider, "audience")), ask->fields[AUDIENCE]) == 0 &&
            !json_is_true(json_object_get(provider, "disabled"))) {
            ask->provider = provider;
            return 0;
        }
    }
    return lc_visit_refuse(visit, 400, "invalid_target",
                           "The target service indicated by the \"audience\" parameters is invalid. This might either "
                           "be because the pool or provider is disabled or deleted or because it doesn't exist.");
}

static bool client_known(json_t *provider, const char *id, const char *secret)
{
    json_t *client = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(provider, "clients"), index, client)
    {
        if (strcmp(json_string_value(json_object_get(client, "id")), id) == 0) {
            return lc_same_text(json_string_value(json_object_get(client, "secret")), secret);
        }
    }
    return false;
}

/* HTTP Basic with an OAuth client; *named says that there was one. */
static int check_client(struct lc_visit *visit, const struct ask *ask, bool *named)
{
    char *id = NULL;
    char *secret = NULL;
    bool good = lc_visit_basic(visit, true, &id, &secret);

    *named = id != NULL;
    good = good && (id == NULL || client_known(ask->provider, id, secret));
    free(id);
    free(secret);
    if (!good) {
        return lc_visit_refuse(visit, 401, "invalid_client", "The OAuth client was not found or its secret is wrong.");
    }
    return 0;
}

/* Python percent-encodes the options once more; the service takes both. */
static json_t *parse_options(const char *text)
{
    json_t *options = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    if (options == NULL) {
        char *plain = strdup(text);
        options =
            plain != NULL && lc_text_unpercent(plain, false) ? json_loads(plain, JSON_REJECT_DUPLICATES, NULL) : NULL;
        free(plain);
    }
    if (!json_is_object(options)) {
        json_decref(options);
        return NULL;
    }
    return options;
}

static int check_options(struct lc_visit *visit, struct ask *ask, bool client)
{
    static const char *const known[] = {"userProject", "bindCertFingerprint", NULL};
    const char *wanted = json_string_value(json_object_get(ask->provider, "user_project"));
    const char *project = NULL;

    if (ask->fields[OPTIONS] != NULL) {
        ask->options = parse_options(ask->fields[OPTIONS]);
        if (ask->options == NULL || lc_json_keys(ask->options, "options", known, NULL) != 0) {
            return lc_visit_refuse(visit, 400, "invalid_request", "Invalid value for \"options\".");
        }
        project = json_string_value(json_object_get(ask->options, "userProject"));
        if (json_object_get(ask->options, "userProject") != NULL &&
            (project == NULL || *project == '\0' || strlen(project) > MOST_PROJECT_CHARS)) {
            return lc_visit_refuse(visit, 400, "invalid_request",
                                   "options.userProject must be a project number or id of at most 32 characters.");
        }
    }
    if (project != NULL && !ask->place.workforce) {
        return lc_visit_refuse(visit, 400, "invalid_request",
                               "options.userProject is only for workforce identity pools.");
    }
    if (ask->place.workforce && !client && project == NULL) {
        return lc_visit_refuse(visit, 400, "invalid_request",
                               "A workforce identity pool needs options.userProject, or an OAuth client.");
    }
    if (project != NULL && wanted != NULL && strcmp(project, wanted) != 0) {
        return lc_visit_refuse(visit, 403, "unauthorized_client",
                               "Caller does not have required permission to use project %.32s.", project);
    }
    return 0;
}

static int check_scope(struct lc_visit *visit, struct ask *ask)
{
    if (ask->fields[SCOPE] == NULL) {
        return lc_visit_refuse(visit, 400, "invalid_scope", "Missing required field: scope");
    }
    ask->scopes = lc_gcp_scopes(ask->fields[SCOPE]);
    if (json_array_size(ask->scopes) == 0) {
        return lc_visit_refuse(visit, 400, "invalid_scope", "Some requested scopes were invalid: %.300s",
                               ask->fields[SCOPE]);
    }
    return 0;
}

static int check_times(struct lc_visit *visit, const struct lc_subject *subject)
{
    long long issued = (long long)subject->issued_at_s;

    switch (lc_subject_times(subject)) {
    case LC_TIME_MISSING:
        return lc_visit_refuse(visit, 400, "invalid_grant", "The ID Token must have the integer claims exp and iat.");
    case LC_TIME_EXPIRED:
        return lc_visit_refuse(visit, 400, "invalid_grant", "ID Token issued at %lld is stale to sign-in.", issued);
    case LC_TIME_FUTURE:
        return lc_visit_refuse(visit, 400, "invalid_grant", "ID Token issued at %lld is not valid yet.", issued);
    case LC_TIME_GOOD:
        break;
    }
    if (subject->expires_at_s - subject->issued_at_s >= LONGEST_TOKEN_S) {
        return lc_visit_refuse(visit, 400, "invalid_grant",
                               "The ID Token's lifetime is too long: exp must be less than 48 hours after iat.");
    }
    return 0;
}

static int check_subject(struct lc_visit *visit, struct ask *ask)
{
    const char *issuer = json_string_value(json_object_get(ask->provider, "issuer"));
    json_t *allowed = json_object_get(ask->provider, "allowed_audiences");
    struct lc_subject *subject = &ask->subject;

    if (!lc_subject_read(ask->fields[SUBJECT], subject) ||
        (strcmp(subject->jwt.alg, "RS256") != 0 && strcmp(subject->jwt.alg, "ES256") != 0) ||
        subject->jwt.kid == NULL) {
        return lc_visit_refuse(
            visit, 400, "invalid_grant",
            "Unable to parse the ID Token: it must be a JWT with a kid, signed with RS256 or ES256.");
    }
    if (strcmp(subject->issuer, issuer) != 0) {
        return lc_visit_refuse(visit, 400, "invalid_grant",
                               "The issuer in ID Token %.300s does not match the expected ones.", subject->issuer);
    }
    if (!lc_subject_for_any(subject, allowed)) {
        char *audience = lc_subject_audience(subject);
        (void)lc_visit_refuse(visit, 400, "invalid_grant",
                              "The audience in ID Token [%.300s] does not match the expected audience %.300s.",
                              audience == NULL ? "" : audience, json_string_value(json_array_get(allowed, 0)));
        free(audience);
        return -1;
    }
    switch (lc_subject_signed(visit->cloud, subject)) {
    case LC_SIGNED_UNKNOWN:
        return lc_visit_refuse(visit, 400, "invalid_grant",
                               "The ID Token's signing key was not found among the issuer's keys.");
    case LC_SIGNED_BADLY:
        return lc_visit_refuse(visit, 400, "invalid_grant", "The ID Token's signature is invalid.");
    case LC_SIGNED_WELL:
        break;
    }
    return check_times(visit, subject);
}

/* google.subject and the condition; *principal is the token's identity. */
static int map_subject(struct lc_visit *visit, const struct ask *ask, char **principal)
{
    const char *mapping = json_string_value(json_object_get(ask->provider, "subject"));
    const char *condition = json_string_value(json_object_get(ask->provider, "attribute_condition"));
    const char *mapped = json_string_value(json_object_get(ask->subject.jwt.claims, mapping + strlen("assertion.")));

    if (mapped == NULL || *mapped == '\0') {
        return lc_visit_refuse(visit, 400, "invalid_grant",
                               "Could not obtain a value for google.subject from the given credential.");
    }
    if (strlen(mapped) > MOST_SUBJECT_BYTES) {
        return lc_visit_refuse(visit, 400, "invalid_request",
                               "The size of mapped attribute google.subject exceeds the %d bytes limit. Either modify "
                               "your attribute mapping or the incoming assertion to produce a mapped attribute that is "
                               "less than %d bytes.",
                               MOST_SUBJECT_BYTES, MOST_SUBJECT_BYTES);
    }
    if (condition != NULL && !lc_text_like(condition, ask->subject.subject)) {
        return lc_visit_refuse(visit, 401, "unauthorized_client",
                               "The given credential is rejected by the attribute condition.");
    }
    *principal = lc_text_format("principal://iam.googleapis.com/%.*s/subject/%s", (int)ask->place.pool_len,
                                ask->place.pool, mapped);
    return *principal == NULL ? lc_visit_refuse(visit, 500, "server_error", "out of memory") : 0;
}

static void grant(struct lc_visit *visit, const struct ask *ask, const char *principal)
{
    int64_t life_s = lc_visit_life_s(visit, LC_GCP_LIFE_S);
    char *token = lc_gcp_issue(visit, 'd', principal, ask->scopes, lc_visit_until(life_s));
    json_t *document =
        json_pack("{s:s*,s:s,s:s}", "access_token", token, "issued_token_type", ACCESS_TOKEN, "token_type", "Bearer");

    if (token == NULL) {
        json_decref(document);
        (void)lc_visit_refuse(visit, 500, "server_error", "out of memory");
        return;
    }
    lc_visit_put_expiry(visit, document, "expires_in", json_integer(life_s), json_integer(-3600));
    lc_visit_granted(visit, token);
    (void)snprintf(visit->record.session_name, sizeof visit->record.session_name, "%s", ask->subject.subject);
    lc_visit_json(visit, 200, document);
    free(token);
}

void lc_gcp_token(struct lc_visit *visit)
{
    struct ask ask = {0};
    char *principal = NULL;
    bool client = false;
    int result = 0;

    if (lc_visit_bearer(visit) != NULL) {
        (void)lc_visit_refuse(visit, 401, "UNAUTHENTICATED",
                              "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
                              "cookie or other valid authentication credential.");
        return;
    }
    result = visit->form ? read_form(visit, &ask) : read_json(visit, &ask);
    if (result == 0 && ask.fields[AUDIENCE] != NULL) {
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", ask.fields[AUDIENCE]);
    }
    if (result == 0 && check_types(visit, &ask) == 0 && find_provider(visit, &ask) == 0 &&
        check_client(visit, &ask, &client) == 0 && check_scope(visit, &ask) == 0 &&
        check_options(visit, &ask, client) == 0 && check_subject(visit, &ask) == 0 &&
        map_subject(visit, &ask, &principal) == 0) {
        grant(visit, &ask, principal);
    }
    free(principal);
    free_ask(&ask);
}
