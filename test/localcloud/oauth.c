/* SPDX-License-Identifier: MIT */
/* An OAuth 2.0 authorization server: the service, its refusals, and a resource that takes its tokens. */
#include "oauth.h"

#include "token_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    char *challenge = NULL;

    lc_reply_header(visit->reply, "Cache-Control", "no-store");
    if (refusal->status == 401) {
        challenge = visit->action->use ? lc_text_format("Bearer error=\"%.40s\", error_description=\"%.200s\"",
                                                        refusal->code, refusal->message)
                                       : strdup("Basic realm=\"oauth\"");
    }
    if (challenge != NULL) {
        lc_reply_header(visit->reply, "WWW-Authenticate", challenge);
    }
    free(challenge);
    lc_visit_json(visit, refusal->status,
                  json_pack("{s:s,s:s}", "error", refusal->code, "error_description", refusal->message));
}

static void whoami(struct lc_visit *visit)
{
    const char *token = lc_visit_bearer(visit);
    json_t *claims = token == NULL ? NULL : lc_token_key_open(visit->cloud->token_key, token);
    const char *issuer = "";
    const char *subject = "";
    const char *scope = "";
    json_int_t expires = 0;

    if (json_unpack(claims, "{s:s,s:s,s?s,s:I}", "iss", &issuer, "sub", &subject, "scope", &scope, "exp", &expires) !=
            0 ||
        !lc_text_like("http*/oauth", issuer)) {
        (void)lc_visit_refuse(visit, 401, "invalid_token", "%s",
                              token == NULL ? "no bearer token was sent" : "the access token is not valid");
    } else if (expires <= (json_int_t)lc_time_now()) {
        (void)lc_visit_refuse(visit, 401, "invalid_token", "the access token has expired");
    } else {
        json_t *scopes = json_array();
        char *copy = strdup(scope);
        char *rest = NULL;
        for (char *one = strtok_r(copy, " ", &rest); one != NULL; one = strtok_r(NULL, " ", &rest)) {
            (void)json_array_append_new(scopes, json_string(one));
        }
        free(copy);
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", subject);
        lc_visit_json(visit, 200,
                      json_pack("{s:s,s:I,s:o,s:O*}", "identity", subject, "expires_in",
                                (json_int_t)lc_visit_left_s(expires), "scopes", scopes, "audience",
                                json_object_get(claims, "aud")));
    }
    json_decref(claims);
}

static void jwks(struct lc_visit *visit)
{
    lc_visit_json(visit, 200, lc_token_key_jwks(visit->cloud->token_key));
}

static const struct lc_action actions[] = {
    {"oauth.token", "POST", "/oauth/token", lc_oauth_token, "client_id", false},
    {"oauth.jwks", "GET", "/oauth/jwks", jwks, NULL, true},
    {"oauth.whoami", "GET", "/oauth/whoami", whoami, NULL, true},
};

const struct lc_service lc_oauth_service = {
    .name = "oauth",
    .prefix = "/oauth/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .refuse = refuse,
    .demo = "{\"clients\":[{\"id\":\"demo\",\"secrets\":[\"demo-secret\"],"
            "\"federated\":[{\"subject\":\"system:serviceaccount:default:demo\",\"audience\":\"oauth\"}]}],"
            "\"subjects\":[{\"subject\":\"system:serviceaccount:default:demo\",\"audience\":[\"oauth\"]}],"
            "\"audiences\":[\"api\"],\"scopes\":[\"read\",\"write\"]}",
    .check = lc_oauth_check,
};
