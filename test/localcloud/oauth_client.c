/* SPDX-License-Identifier: MIT */
/* Client authentication: client_secret_basic, client_secret_post (RFC 6749, 2.3.1), private_key_jwt (RFC
 * 7523, 2.2), and an assertion of another issuer. */
#include "oauth.h"

#include "token_proof.h"
#include "token_replay.h"
#include "token_subject.h"

#include <stdlib.h>
#include <string.h>

#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

enum { LONGEST_S = 3600, SLACK_S = 300 };

int lc_oauth_no_client(struct lc_visit *visit, const char *why)
{
    return lc_visit_refuse(visit, 401, "invalid_client", "%s", why);
}

static json_t *find_client(struct lc_visit *visit, const char *id)
{
    json_t *client = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(visit->settings, "clients"), index, client)
    {
        if (strcmp(json_string_value(json_object_get(client, "id")), id) == 0) {
            return client;
        }
    }
    return NULL;
}

static int by_secret(struct lc_visit *visit, const char *id, const char *secret, json_t **client)
{
    json_t *found = find_client(visit, id);
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(found, "secrets"), index, item)
    {
        if (lc_same_text(json_string_value(item), secret)) {
            *client = found;
            return 0;
        }
    }
    return lc_oauth_no_client(visit, "the client is not known, or its secret is wrong");
}

static bool signed_by(json_t *client, const struct lc_subject *assertion)
{
    json_t *key = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(client, "keys"), index, key)
    {
        const char *id = json_string_value(json_object_get(key, "id"));
        const char *kid = assertion->jwt.kid;
        if ((kid == NULL || id == NULL || strcmp(kid, id) == 0) &&
            lc_token_proof(assertion->token, assertion->jwt.alg,
                           json_string_value(json_object_get(key, "public_key_pem")))) {
            return true;
        }
    }
    return false;
}

/* The audience is this token endpoint, or the issuer's name. */
static bool for_us(struct lc_visit *visit, const struct lc_subject *assertion)
{
    json_t *aud = json_object_get(assertion->jwt.claims, "aud");
    const char *text =
        json_string_value(json_is_array(aud) && json_array_size(aud) == 1 ? json_array_get(aud, 0) : aud);

    return text != NULL && (lc_visit_is_url(visit, text, "/oauth/token") || lc_visit_is_url(visit, text, "/oauth"));
}

static int by_own_key(struct lc_visit *visit, json_t *client, const char *id, const struct lc_subject *assertion)
{
    const char *jti = json_string_value(json_object_get(assertion->jwt.claims, "jti"));
    int64_t now = (int64_t)lc_time_now();

    if (strcmp(assertion->subject, id) != 0) {
        return lc_oauth_no_client(visit, "the assertion's sub must be the client_id, as its iss");
    }
    if (!signed_by(client, assertion)) {
        return lc_oauth_no_client(visit, "the assertion's signature is not of a key of this client");
    }
    if (!for_us(visit, assertion)) {
        return lc_oauth_no_client(visit, "the assertion's aud must be this token endpoint");
    }
    if (assertion->expires_at_s <= now || assertion->expires_at_s > now + LONGEST_S ||
        assertion->not_before_s > now + SLACK_S || assertion->issued_at_s > now + SLACK_S) {
        return lc_oauth_no_client(visit,
                                  "the assertion has expired, is not valid yet, or is valid for more than an hour");
    }
    if (jti == NULL || !lc_token_first_use(id, jti, assertion->expires_at_s)) {
        return lc_oauth_no_client(visit, "the assertion needs a jti that was not used before");
    }
    return 0;
}

static int by_other_issuer(struct lc_visit *visit, json_t *client, const struct lc_subject *assertion)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(client, "federated"), index, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "issuer")), assertion->issuer) == 0 &&
            strcmp(json_string_value(json_object_get(item, "subject")), assertion->subject) == 0 &&
            lc_subject_for(assertion, json_string_value(json_object_get(item, "audience")))) {
            return lc_subject_signed(visit->cloud, assertion) == LC_SIGNED_WELL &&
                           lc_subject_times(assertion) == LC_TIME_GOOD
                       ? 0
                       : lc_oauth_no_client(visit, "the assertion's signature is wrong, or it has expired");
        }
    }
    return lc_oauth_no_client(visit, "no client trusts this assertion's issuer, subject and audience");
}

static int by_assertion(struct lc_visit *visit, const char *id, const char *text, json_t **client)
{
    const char *type = lc_visit_param(visit, "client_assertion_type");
    struct lc_subject assertion = {0};
    const char *name = NULL;
    int result = 0;

    if (type == NULL || strcmp(type, ASSERTION_TYPE) != 0) {
        return lc_visit_refuse(visit, 400, "invalid_request", "client_assertion_type must be %s", ASSERTION_TYPE);
    }
    if (!lc_subject_read(text, &assertion)) {
        return lc_oauth_no_client(visit, "the assertion is no JWT");
    }
    name = id != NULL ? id : assertion.subject;
    *client = find_client(visit, name);
    if (*client == NULL) {
        result = lc_oauth_no_client(visit, "the client is not known");
    } else {
        result = strcmp(assertion.issuer, name) == 0 ? by_own_key(visit, *client, name, &assertion)
                                                     : by_other_issuer(visit, *client, &assertion);
    }
    lc_subject_free(&assertion);
    return result;
}

int lc_oauth_client(struct lc_visit *visit, json_t **client)
{
    const char *id = lc_visit_param(visit, "client_id");
    const char *secret = lc_visit_param(visit, "client_secret");
    const char *assertion = lc_visit_param(visit, "client_assertion");
    char *user = NULL;
    char *password = NULL;
    int result = 0;

    *client = NULL;
    if (!lc_visit_basic(visit, true, &user, &password)) {
        return lc_oauth_no_client(visit, "the Authorization header is not HTTP Basic");
    }
    if ((user != NULL) + (secret != NULL) + (assertion != NULL) > 1) {
        result = lc_visit_refuse(visit, 400, "invalid_request", "use one way of client authentication, not several");
    } else if (user != NULL) {
        result = id != NULL && strcmp(id, user) != 0
                     ? lc_visit_refuse(visit, 400, "invalid_request", "client_id is not the user of HTTP Basic")
                     : by_secret(visit, user, password, client);
    } else if (assertion != NULL) {
        result = by_assertion(visit, id, assertion, client);
    } else if (secret != NULL) {
        result = id == NULL ? lc_visit_refuse(visit, 400, "invalid_request", "client_id is missing")
                            : by_secret(visit, id, secret, client);
    } else if (id != NULL || json_is_true(json_object_get(visit->settings, "client_required"))) {
        result = lc_oauth_no_client(visit, "the client did not authenticate");
    }
    free(user);
    free(password);
    return result;
}
