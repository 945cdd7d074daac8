/* SPDX-License-Identifier: MIT */
/* Verification of web identity tokens, and of a role's trust in them. */
#include "web_identity.h"

#include <stdlib.h>
#include <string.h>

#define INVALID "InvalidIdentityToken"

enum { MOST_TOKEN_BYTES = 20000, SKEW_S = 300 };

void lc_web_identity_free(struct lc_web_identity *identity)
{
    free(identity->subject);
    free(identity->audience);
    free(identity->issuer);
    free(identity->source_identity);
    json_decref(identity->transitive);
    *identity = (struct lc_web_identity){0};
}

static int not_a_jwt(struct lc_refusal *refusal)
{
    return lc_refuse(refusal, 400, INVALID,
                     "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)");
}

static int denied(struct lc_refusal *refusal)
{
    return lc_refuse(refusal, 403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity");
}

/* A time claim must be a JSON integer: a float or a string is not a NumericDate that the real service takes.
 */
static int time_claim(json_t *claims, const char *name, bool required, int64_t *out, struct lc_refusal *refusal)
{
    json_t *value = json_object_get(claims, name);

    if (value == NULL && !required) {
        return 0;
    }
    if (value == NULL) {
        return lc_refuse(refusal, 400, INVALID, "Missing a required claim: %s", name);
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return lc_refuse(refusal, 400, INVALID, "The claim %s must be an integer", name);
    }
    *out = json_integer_value(value);
    return 0;
}

static int check_times(json_t *claims, struct lc_refusal *refusal)
{
    int64_t now = (int64_t)lc_time_now();
    int64_t expires = 0;
    int64_t issued = 0;
    int64_t from = 0;

    if (time_claim(claims, "exp", true, &expires, refusal) != 0 ||
        time_claim(claims, "iat", true, &issued, refusal) != 0 ||
        time_claim(claims, "nbf", false, &from, refusal) != 0) {
        return -1;
    }
    if (now >= expires) {
        return lc_refuse(refusal, 400, "ExpiredTokenException",
                         "Token expired: current date/time %lld must be before the expiration date/time %lld",
                         (long long)now, (long long)expires);
    }
    if (now < from) {
        return lc_refuse(refusal, 400, INVALID, "Token is not valid yet: current date/time %lld is before nbf %lld",
                         (long long)now, (long long)from);
    }
    if (issued > now + SKEW_S) {
        return lc_refuse(refusal, 400, INVALID, "Token was issued in the future: iat %lld, current date/time %lld",
                         (long long)issued, (long long)now);
    }
    return 0;
}

static int check_signature(struct lc_cloud *cloud, const struct lc_jwt *jwt, const char *token, const char *issuer,
                           struct lc_refusal *refusal)
{
    enum lc_key_kind kind = LC_KEY_RSA;
    char *pem = NULL;
    bool good = false;

    if (jwt->kid == NULL || !lc_trust_key(cloud->trust, issuer, jwt->kid, &kind, &pem)) {
        return lc_refuse(refusal, 400, INVALID,
                         "Couldn't retrieve verification key from your identity provider, please reference "
                         "AssumeRoleWithWebIdentity documentation for requirements");
    }
    good = lc_jwt_verify(token, jwt, kind, pem);
    free(pem);
    return good ? 0 : lc_refuse(refusal, 400, INVALID, "Token signature invalid");
}

/* Calls visit for "aud" as a string or as each string of an array, until it returns true. */
static const char *find_audience(json_t *claims, bool (*visit)(void *with, const char *audience), void *with)
{
    json_t *claim = json_object_get(claims, "aud");
    json_t *item = NULL;
    size_t index = 0;

    if (json_is_string(claim)) {
        return visit(with, json_string_value(claim)) ? json_string_value(claim) : NULL;
    }
    json_array_foreach(claim, index, item)
    {
        if (json_is_string(item) && visit(with, json_string_value(item))) {
            return json_string_value(item);
        }
    }
    return NULL;
}

struct known_to {
    struct lc_trust *trust;
    const char *account;
    const char *issuer;
};

static bool is_client_id(void *with, const char *audience)
{
    const struct known_to *known = with;

    return lc_trust_provider(known->trust, known->account, known->issuer, audience);
}

static bool is_in_statement(void *with, const char *audience)
{
    return lc_json_holds(with, audience);
}

/* https://aws.amazon.com/tags and /source_identity, as the IAM user guide has them. */
static int read_session_claims(json_t *claims, struct lc_web_identity *out, struct lc_refusal *refusal)
{
    json_t *tags = json_object_get(claims, "https://aws.amazon.com/tags");
    json_t *source = json_object_get(claims, "https://aws.amazon.com/source_identity");
    json_t *transitive = json_object_get(tags, "transitive_tag_keys");
    const char *text = json_string_value(source);

    if ((tags != NULL && !json_is_object(json_object_get(tags, "principal_tags"))) ||
        (transitive != NULL && !json_is_array(transitive))) {
        return lc_refuse(refusal, 400, INVALID, "The tags claim is not {\"principal_tags\": {...}}");
    }
    if (source != NULL && (text == NULL || strlen(text) < 2 || strlen(text) > 64 || !lc_text_only(text, "_+=,.@-"))) {
        return lc_refuse(refusal, 400, INVALID, "The source_identity claim has 2-64 of [\\w+=,.@-]");
    }
    out->tagged = tags != NULL;
    out->transitive = json_incref(transitive);
    out->source_identity = text == NULL ? NULL : strdup(text);
    return 0;
}

static int check_trust(const struct lc_role *role, json_t *claims, struct lc_web_identity *out,
                       struct lc_refusal *refusal)
{
    for (size_t i = 0; role != NULL && i < role->count; i++) {
        const struct lc_statement *statement = &role->statements[i];
        if (statement->issuer == NULL || strcmp(statement->issuer, out->issuer) != 0 ||
            !lc_text_like(statement->subject, out->subject) ||
            find_audience(claims, is_in_statement, statement->audience) == NULL ||
            (out->tagged && !statement->allow_tags)) {
            continue;
        }
        free(out->audience);
        out->audience = strdup(find_audience(claims, is_in_statement, statement->audience));
        return out->audience == NULL ? lc_refuse(refusal, 500, "InternalFailure", "out of memory") : 0;
    }
    return denied(refusal);
}

static int check_claims(struct lc_cloud *cloud, const struct lc_jwt *jwt, const char *token, const char *role_arn,
                        struct lc_web_identity *out, const struct lc_role **role, struct lc_refusal *refusal)
{
    const char *issuer = json_string_value(json_object_get(jwt->claims, "iss"));
    const char *subject = json_string_value(json_object_get(jwt->claims, "sub"));
    const char *name = NULL;
    char account[LC_ACCOUNT_BYTES] = "";
    struct known_to known = {cloud->trust, account, issuer};

    if (issuer == NULL || subject == NULL || json_object_get(jwt->claims, "aud") == NULL) {
        return lc_refuse(refusal, 400, INVALID, "Missing a required claim: %s",
                         issuer == NULL    ? "iss"
                         : subject == NULL ? "sub"
                                           : "aud");
    }
    if (!lc_trust_split_arn(role_arn, "role", account, &name)) {
        return lc_refuse(refusal, 400, "ValidationError", "Request ARN is invalid");
    }
    if (!lc_trust_account(cloud->trust, account)) {
        return denied(refusal);
    }
    if (!lc_trust_provider(cloud->trust, account, issuer, NULL)) {
        return lc_refuse(refusal, 400, INVALID, "No OpenIDConnect provider found in your account for %.500s", issuer);
    }
    if (check_signature(cloud, jwt, token, issuer, refusal) != 0 || check_times(jwt->claims, refusal) != 0) {
        return -1;
    }
    if (find_audience(jwt->claims, is_client_id, &known) == NULL) {
        return lc_refuse(refusal, 400, INVALID, "Incorrect token audience");
    }
    out->issuer = strdup(issuer);
    out->subject = strdup(subject);
    if (out->issuer == NULL || out->subject == NULL) {
        return lc_refuse(refusal, 500, "InternalFailure", "out of memory");
    }
    *role = lc_trust_role(cloud->trust, role_arn);
    return read_session_claims(jwt->claims, out, refusal) != 0 ? -1 : check_trust(*role, jwt->claims, out, refusal);
}

int lc_web_identity_check(struct lc_cloud *cloud, const char *role_arn, const char *token, struct lc_web_identity *out,
                          const struct lc_role **role, struct lc_refusal *refusal)
{
    char *trimmed = strdup(token);
    size_t len = trimmed == NULL ? 0 : strlen(trimmed);
    struct lc_jwt jwt = {0};
    int result = 0;

    *out = (struct lc_web_identity){0};
    if (trimmed == NULL) {
        return lc_refuse(refusal, 500, "InternalFailure", "out of memory");
    }
    /* The real service takes a token with the newline of its file. */
    while (len > 0 && (trimmed[len - 1] == '\n' || trimmed[len - 1] == '\r')) {
        trimmed[--len] = '\0';
    }
    if (len > MOST_TOKEN_BYTES || lc_jwt_read(trimmed, &jwt, NULL) != 0 || !lc_jwt_alg_allowed(jwt.alg)) {
        result = not_a_jwt(refusal);
    } else {
        result = check_claims(cloud, &jwt, trimmed, role_arn, out, role, refusal);
    }
    lc_jwt_free(&jwt);
    free(trimmed);
    if (result != 0) {
        lc_web_identity_free(out);
    }
    return result;
}
