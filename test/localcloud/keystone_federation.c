/* SPDX-License-Identifier: MIT */
/* Keystone's federation door. The web server in front of it verifies the token, so that its refusals are
 * HTML. */
#include "keystone_call.h"
#include "token_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void html_refusal(struct lc_visit *visit)
{
    struct lc_reply *reply = visit->reply;

    reply->status = 401;
    lc_reply_header(reply, "Content-Type", "text/html; charset=iso-8859-1");
    lc_reply_header(reply, "WWW-Authenticate", "Bearer realm=\"keystone\", error=\"invalid_token\"");
    lc_buf_text(&reply->body,
                "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>401 "
                "Unauthorized</title>\n"
                "</head><body>\n<h1>Unauthorized</h1>\n<p>This server could not verify that you\nare authorized to "
                "access the document\nrequested.</p>\n</body></html>\n");
    (void)snprintf(visit->record.code, sizeof visit->record.code, "WebServer401");
}

/* Takes "/identity_providers/{idp}/protocols/{protocol}/auth" apart; both are for free(). */
static bool split_path(const char *path, char **provider, char **protocol)
{
    const char *from = strstr(path, "/identity_providers/");
    const char *middle = from == NULL ? NULL : strstr(from, "/protocols/");

    if (middle == NULL) {
        return false;
    }
    from += strlen("/identity_providers/");
    *provider = strndup(from, (size_t)(middle - from));
    middle += strlen("/protocols/");
    *protocol = strndup(middle, strlen(middle) - strlen("/auth"));
    return *provider != NULL && *protocol != NULL && lc_text_unpercent(*provider, false) &&
           lc_text_unpercent(*protocol, false);
}

static bool is_good(struct lc_visit *visit, json_t *provider, const struct lc_subject *subject)
{
    return strcmp(subject->issuer, lc_keystone_text(provider, "issuer")) == 0 &&
           lc_subject_signed(visit->cloud, subject) == LC_SIGNED_WELL && lc_subject_times(subject) == LC_TIME_GOOD &&
           lc_subject_for_any(subject, json_object_get(provider, "audience"));
}

static void admit(struct lc_visit *visit, json_t *provider, const char *subject)
{
    const char *id = lc_keystone_text(provider, "id");
    char *seed = lc_text_format("%s %s", id, subject);
    char user[33] = "";
    struct lc_keystone_token token = {0};

    lc_keystone_id("federated user", seed == NULL ? "" : seed, user);
    free(seed);
    token.methods = json_pack("[s]", lc_keystone_text(provider, "protocol"));
    token.user_id = strdup(user);
    token.provider = strdup(id);
    token.protocol = strdup(lc_keystone_text(provider, "protocol"));
    token.subject = strdup(subject);
    (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", subject);
    if (token.methods == NULL || token.user_id == NULL || token.provider == NULL || token.protocol == NULL ||
        token.subject == NULL || !lc_keystone_token_resolve(visit->cloud->keystone, &token)) {
        (void)lc_keystone_unauthorized(visit); /* no rule of the mapping fits */
    } else {
        (void)lc_keystone_issue(visit, &token, NULL);
    }
    lc_keystone_token_free(&token);
}

void lc_keystone_federate(struct lc_visit *visit)
{
    const char *bearer = lc_visit_bearer(visit);
    struct lc_subject subject = {0};
    char *id = NULL;
    char *protocol = NULL;
    json_t *provider = NULL;

    if (split_path(visit->request->path, &id, &protocol)) {
        provider = lc_keystone_get_provider(visit->cloud->keystone, id);
    }
    if (provider == NULL || strcmp(lc_keystone_text(provider, "protocol"), protocol) != 0) {
        (void)lc_keystone_refuse(visit, 404, "Could not find %s: %.200s.",
                                 provider == NULL ? "Identity Provider" : "federated protocol",
                                 provider == NULL ? (id == NULL ? "" : id) : protocol);
    } else if (bearer == NULL || !lc_subject_read(bearer, &subject) || !is_good(visit, provider, &subject)) {
        html_refusal(visit);
    } else {
        admit(visit, provider, subject.subject);
    }
    lc_subject_free(&subject);
    json_decref(provider);
    free(id);
    free(protocol);
}
