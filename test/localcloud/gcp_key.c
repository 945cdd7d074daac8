/* SPDX-License-Identifier: MIT */
/* The JWT-bearer grant of service-account keys (RFC 7523, 2.1). */
#include "gcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRANT "urn:ietf:params:oauth:grant-type:jwt-bearer"

enum { LIFE_S = 3599, SKEW_S = 300 };

struct assertion {
    struct lc_jwt jwt;
    const char *email;
    const char *aud;
    const char *scope;
    const char *target_audience;
    json_int_t issued;
    json_int_t expires;
};

static int bad_grant(struct lc_visit *visit, const char *text)
{
    return lc_visit_refuse(visit, 400, "invalid_grant", "%s", text);
}

static int check_form(struct lc_visit *visit)
{
    const char *grant = lc_visit_param(visit, "grant_type");

    if (!visit->form || visit->form_broken || grant == NULL) {
        return lc_visit_refuse(visit, 400, "invalid_request", "Required parameter is missing: grant_type");
    }
    if (strcmp(grant, GRANT) != 0) {
        return lc_visit_refuse(visit, 400, "unsupported_grant_type", "Invalid grant_type: %.200s", grant);
    }
    if (lc_visit_param(visit, "assertion") == NULL) {
        return lc_visit_refuse(visit, 400, "invalid_request", "Required parameter is missing: assertion");
    }
    return 0;
}

static int read_assertion(struct lc_visit *visit, const char *token, struct assertion *out)
{
    if (lc_jwt_read(token, &out->jwt, NULL) != 0 ||
        json_unpack(out->jwt.claims, "{s:s,s:s,s?s,s?s,s:I,s:I}", "iss", &out->email, "aud", &out->aud, "scope",
                    &out->scope, "target_audience", &out->target_audience, "iat", &out->issued, "exp",
                    &out->expires) != 0) {
        return bad_grant(visit, "Invalid JWT: it must be signed with RS256 and have iss, aud, iat and exp.");
    }
    (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", out->email);
    return 0;
}

static int check_assertion(struct lc_visit *visit, const char *token, const struct assertion *assertion,
                           json_t *account)
{
    json_int_t now = (json_int_t)lc_time_now();
    const char *subject = json_string_value(json_object_get(assertion->jwt.claims, "sub"));

    if (account == NULL) {
        return bad_grant(visit, "Invalid grant: account not found");
    }
    if (!lc_gcp_signed_by(visit, account, token, &assertion->jwt)) {
        return bad_grant(visit, "Invalid JWT Signature.");
    }
    if (strcmp(assertion->aud, "https://oauth2.googleapis.com/token") != 0 &&
        !lc_visit_is_url(visit, assertion->aud, "/gcp/oauth2/token")) {
        return bad_grant(visit, "Invalid JWT: Failed audience check. The right audience is "
                                "https://oauth2.googleapis.com/token");
    }
    if (assertion->issued > now + SKEW_S || assertion->expires <= now ||
        assertion->expires > assertion->issued + LC_GCP_LIFE_S) {
        return bad_grant(visit, "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
                                "timeframe. Check your iat and exp values in the JWT claim.");
    }
    if (subject != NULL && strcmp(subject, assertion->email) != 0) {
        return lc_visit_refuse(visit, 401, "unauthorized_client",
                               "Client is unauthorized to retrieve access tokens using this method, or client not "
                               "authorized for any of the scopes requested.");
    }
    return 0;
}

static void grant_access(struct lc_visit *visit, const struct assertion *assertion)
{
    json_t *scopes = lc_gcp_scopes(assertion->scope == NULL ? "" : assertion->scope);
    int64_t life_s = lc_visit_life_s(visit, LIFE_S);
    char *token = NULL;
    json_t *document = NULL;

    if (scopes == NULL || json_array_size(scopes) == 0) {
        (void)lc_visit_refuse(visit, 400, "invalid_scope", "%s",
                              scopes == NULL ? "Invalid OAuth scope or ID token audience provided."
                                             : "Empty or missing scope not allowed.");
        json_decref(scopes);
        return;
    }
    token = lc_gcp_issue(visit, 'c', assertion->email, scopes, lc_visit_until(life_s));
    json_decref(scopes);
    document = json_pack("{s:s*,s:s}", "access_token", token, "token_type", "Bearer");
    lc_visit_put_expiry(visit, document, "expires_in", json_integer(life_s), json_integer(-3600));
    lc_visit_granted(visit, token == NULL ? "" : token);
    lc_visit_json(visit, 200, document);
    free(token);
}

static void grant_id(struct lc_visit *visit, const struct assertion *assertion, json_t *account)
{
    char *token = NULL;

    if (assertion->scope != NULL) {
        (void)lc_visit_refuse(visit, 400, "invalid_request", "Give scope or target_audience, not both.");
        return;
    }
    token = lc_gcp_issue_id(visit, account, assertion->target_audience, true, lc_visit_life_s(visit, LC_GCP_LIFE_S));
    lc_visit_granted(visit, token == NULL ? "" : token);
    lc_visit_json(visit, 200, json_pack("{s:s*}", "id_token", token));
    free(token);
}

void lc_gcp_jwt_bearer(struct lc_visit *visit)
{
    struct assertion assertion = {0};
    const char *token = NULL;
    json_t *account = NULL;

    if (check_form(visit) != 0) {
        return;
    }
    token = lc_visit_param(visit, "assertion");
    if (read_assertion(visit, token, &assertion) == 0) {
        account = lc_gcp_account(visit->settings, assertion.email);
        if (check_assertion(visit, token, &assertion, account) == 0) {
            if (assertion.target_audience != NULL) {
                grant_id(visit, &assertion, account);
            } else {
                grant_access(visit, &assertion);
            }
        }
    }
    lc_jwt_free(&assertion.jwt);
}
