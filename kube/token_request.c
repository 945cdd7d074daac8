/* SPDX-License-Identifier: MIT */
/* TokenRequest objects, written and read. */
#include "kube/token_request.h"

#include "base/json.h"
#include "base/redact.h"
#include "base/time.h"
#include "base/writer.h"
#include "kube/name_private.h"

#include <stdio.h>
#include <string.h>

#define API_VERSION "authentication.k8s.io/v1"
#define KIND        "TokenRequest"
/* Kubernetes did not exist before: an earlier expiry is a mistake, not a wrong clock. */
#define EARLIEST_S    INT64_C(1262304000) /* 2010-01-01 */
#define AUDIENCES_MAX 64
#define UID_MAX       128
#define SHOWN_MAX     80

bool cfr_k8s_token_request_path(const struct cfr_k8s_token_request *r, char out[CFR_K8S_TOKEN_REQUEST_PATH_MAX])
{
    out[0] = '\0';
    if (!cfr_k8s_name_is_label(r->namespace_name) || !cfr_k8s_name_is_subdomain(r->service_account))
        return false;
    (void)snprintf(out, CFR_K8S_TOKEN_REQUEST_PATH_MAX, "/api/v1/namespaces/%s/serviceaccounts/%s/token",
                   r->namespace_name, r->service_account);
    return true;
}

static int check_audiences(const struct cfr_k8s_token_request *r, struct cfr_err *err)
{
    if (r->audience_count == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "name an audience: without one the token would be valid for the API server itself");
    if (r->audience_count > AUDIENCES_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "a token has at most %d audiences here", AUDIENCES_MAX);
    for (size_t i = 0; i < r->audience_count; i++) {
        struct cfr_view a = cfr_view_of(r->audiences[i]);

        if (a.n == 0 || !cfr_view_printable(a))
            return cfr_err_set(err, CFR_E_CONFIG, "an audience must be text of printable ASCII characters");
    }
    return 0;
}

static int check_bound(const struct cfr_k8s_token_request *r, struct cfr_err *err)
{
    struct cfr_view uid = cfr_view_of(r->bound_uid);

    if (r->bound_kind == NULL)
        return 0;
    if (strcmp(r->bound_kind, "Pod") != 0 && strcmp(r->bound_kind, "Secret") != 0 && strcmp(r->bound_kind, "Node") != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "a token is bound to a Pod, a Secret or a Node");
    if (!cfr_k8s_name_is_subdomain(r->bound_name))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the name of the %s that the token is bound to is missing or cannot be one", r->bound_kind);
    if (r->bound_uid != NULL && (uid.n == 0 || uid.n > UID_MAX || !cfr_view_printable(uid)))
        return cfr_err_set(err, CFR_E_CONFIG, "the uid of the %s that the token is bound to cannot be one",
                           r->bound_kind);
    return 0;
}

static int check_request(const struct cfr_k8s_token_request *r, struct cfr_err *err)
{
    int rc = check_audiences(r, err);

    if (rc == 0 && (r->expiration_s < CFR_K8S_TOKEN_REQUEST_MIN_S || r->expiration_s > CFR_K8S_TOKEN_REQUEST_MAX_S))
        return cfr_err_set(err, CFR_E_CONFIG, "a token lives for at least 10 minutes and at most 2^32 seconds");
    return rc != 0 ? rc : check_bound(r, err);
}

int cfr_k8s_token_request_body(const struct cfr_k8s_token_request *r, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err, .rc = check_request(r, err)};

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "apiVersion", cfr_view_of(API_VERSION));
    cfr_writer_string(&w, "kind", cfr_view_of(KIND));
    cfr_writer_object(&w, "spec");
    cfr_writer_array(&w, "audiences");
    for (size_t i = 0; i < r->audience_count; i++)
        cfr_writer_string(&w, NULL, cfr_view_of(r->audiences[i]));
    cfr_writer_close(&w);
    cfr_writer_number(&w, "expirationSeconds", r->expiration_s);
    if (r->bound_kind != NULL) {
        cfr_writer_object(&w, "boundObjectRef");
        cfr_writer_string(&w, "kind", cfr_view_of(r->bound_kind));
        cfr_writer_string(&w, "apiVersion", cfr_view_of("v1"));
        cfr_writer_string(&w, "name", cfr_view_of(r->bound_name));
        if (r->bound_uid != NULL)
            cfr_writer_string(&w, "uid", cfr_view_of(r->bound_uid));
        cfr_writer_close(&w);
    }
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}

static int check_kind(const struct cfr_json *doc, struct cfr_err *err)
{
    struct cfr_view token = cfr_json_text(cfr_json_get(doc, "status"), "token");
    struct cfr_view kind = cfr_json_text(doc, "kind");
    struct cfr_view version = cfr_json_text(doc, "apiVersion");
    char shown[2][CFR_REDACT_MAX];

    if (cfr_view_is(kind, KIND) && cfr_view_is(version, API_VERSION))
        return 0;
    return cfr_err_set(err, CFR_E_ANSWER,
                       "the answer is not a TokenRequest of " API_VERSION
                       ", but %.*s of %.*s; check the API server's address",
                       SHOWN_MAX, kind.n != 0 ? cfr_redact(kind, &token, 1, shown[0]) : "something without a kind",
                       SHOWN_MAX, version.n != 0 ? cfr_redact(version, &token, 1, shown[1]) : "no version");
}

static int read_token(const struct cfr_json *status, struct cfr_k8s_token_grant *out, struct cfr_err *err)
{
    struct cfr_view token = cfr_json_text(status, "token");

    if (token.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the TokenRequest that came back has no token");
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];

        if (!(cfr_view_is_alnum(c) || c == '-' || c == '_' || c == '.'))
            return cfr_err_set(err, CFR_E_ANSWER,
                               "the token that came back holds a character that no JSON Web Token has");
    }
    if (token.n > out->token.limit)
        return cfr_err_set(err, CFR_E_ANSWER, "the token that came back has %zu bytes, more than %zu", token.n,
                           out->token.limit);
    return cfr_secret_append(&out->token, token, err);
}

static int read_lifetime(const struct cfr_json *doc, struct cfr_k8s_token_grant *out, struct cfr_err *err)
{
    const struct cfr_json *granted = cfr_json_get(cfr_json_get(doc, "spec"), "expirationSeconds");

    if (!cfr_time_parse(cfr_json_text(cfr_json_get(doc, "status"), "expirationTimestamp"), &out->expires_s))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the expirationTimestamp that came with the token is missing or is not a time");
    if (out->expires_s < EARLIEST_S)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the expirationTimestamp that came with the token lies in a year before 2010");
    if (granted != NULL && (!cfr_json_integer(granted, &out->granted_s) || out->granted_s < 1 ||
                            out->granted_s > CFR_K8S_TOKEN_REQUEST_MAX_S))
        return cfr_err_set(err, CFR_E_ANSWER, "the expirationSeconds that came with the token are not a valid number");
    return 0;
}

static bool is_requested(const struct cfr_k8s_token_request *r, struct cfr_view audience)
{
    for (size_t i = 0; i < r->audience_count; i++) {
        if (cfr_view_is(audience, r->audiences[i]))
            return true;
    }
    return false;
}

static bool is_granted(const struct cfr_json *audiences, const char *audience)
{
    const struct cfr_json *item = cfr_json_first(audiences);
    struct cfr_view text;

    for (; item != NULL; item = cfr_json_next(item)) {
        if (cfr_json_string(item, &text) && cfr_view_is(text, audience))
            return true;
    }
    return false;
}

/* A token for other audiences is not published, nor one for more audiences than requested. */
static int check_granted(const struct cfr_k8s_token_request *r, const struct cfr_json *doc, struct cfr_view token,
                         struct cfr_err *err)
{
    const struct cfr_json *audiences = cfr_json_get(cfr_json_get(doc, "spec"), "audiences");
    const struct cfr_json *item = cfr_json_first(audiences);
    char shown[CFR_REDACT_MAX];

    if (!cfr_json_is_array(audiences))
        return cfr_err_set(err, CFR_E_ANSWER, "the TokenRequest that came back does not say for which audiences");
    for (; item != NULL; item = cfr_json_next(item)) {
        struct cfr_view text = {NULL, 0};

        if (!cfr_json_string(item, &text) || !is_requested(r, text))
            return cfr_err_set(err, CFR_E_ANSWER,
                               "the token is for the audience \"%s\", which was not asked for (\"%.*s\"%s was)",
                               cfr_redact(text, &token, 1, shown), SHOWN_MAX, r->audiences[0],
                               r->audience_count > 1 ? " and others" : "");
    }
    for (size_t i = 0; i < r->audience_count; i++) {
        if (!is_granted(audiences, r->audiences[i]))
            return cfr_err_set(err, CFR_E_ANSWER, "the token is not for the audience \"%.*s\", which was asked for",
                               2 * SHOWN_MAX, r->audiences[i]);
    }
    return 0;
}

int cfr_k8s_token_request_answer(const struct cfr_k8s_token_request *r, struct cfr_view body,
                                 struct cfr_k8s_token_grant *out, struct cfr_err *err)
{
    struct cfr_json *doc;
    int rc;

    *out = (struct cfr_k8s_token_grant){0};
    cfr_secret_init(&out->token, CFR_K8S_TOKEN_REQUEST_TOKEN_MAX);
    if (r->audience_count == 0)
        return check_audiences(r, err);
    rc = cfr_json_parse(body, &doc, err);
    if (rc != 0)
        return rc;
    rc = check_kind(doc, err);
    if (rc == 0)
        rc = read_token(cfr_json_get(doc, "status"), out, err);
    if (rc == 0)
        rc = read_lifetime(doc, out, err);
    if (rc == 0)
        rc = check_granted(r, doc, cfr_secret_view(&out->token), err);
    cfr_json_free(doc);
    if (rc != 0)
        cfr_k8s_token_grant_free(out);
    return rc;
}

void cfr_k8s_token_grant_free(struct cfr_k8s_token_grant *g)
{
    cfr_secret_free(&g->token);
    *g = (struct cfr_k8s_token_grant){.token = {.limit = g->token.limit}};
}
