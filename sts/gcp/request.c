/* SPDX-License-Identifier: MIT */
/* Requests to Google's services. */
#include "sts/gcp/request_private.h"

#include "base/base64.h"
#include "base/str.h"
#include "base/writer.h"
#include "wire/form.h"
#include "sts/gcp/account_key_private.h"
#include "wire/jwt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GRANT_EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define GRANT_BEARER   "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define TYPE_ACCESS    "urn:ietf:params:oauth:token-type:access_token"
#define IAM_PATH       "/v1/projects/-/serviceAccounts/"
#define URL_LIMIT      4096

static int refuse_without(const struct cfr_gcp_plan *p, struct cfr_err *err)
{
    struct cfr_view path = p->file.token_path;

    if (path.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "this exchange needs a token: write `token: {file: PATH}`");
    return cfr_err_set(err, CFR_E_CONFIG,
                       "the credentials_file is an external_account, which needs a token: write `token: {file: "
                       "%.*s%s}`",
                       (int)(path.n < 200 ? path.n : 200), path.p, path.n > 200 ? "..." : "");
}

/* What goes into the form as subject_token. */
static int add_subject_token(const struct cfr_gcp_plan *p, const struct cfr_sts_input *in, struct cfr_secret *body,
                             struct cfr_err *err)
{
    struct cfr_secret chain;
    int rc;

    if (!p->certificate)
        return in->token.n != 0 ? cfr_form_add(body, "subject_token", in->token, err) : refuse_without(p, err);
    cfr_secret_init(&chain, CFR_STS_BODY_MAX);
    rc = cfr_jwt_chain(p->certificate_pem, &chain, err);
    if (rc == CFR_E_CONFIG && err != NULL)
        rc = cfr_err_prefix(err, "certificate_file");
    if (rc == 0)
        rc = cfr_form_add(body, "subject_token", cfr_secret_view(&chain), err);
    cfr_secret_free(&chain);
    return rc;
}

/* What comes next may be any API, so that the scopes of the configuration are for the last token only. */
static int add_scopes(const struct cfr_gcp_plan *p, struct cfr_secret *body, struct cfr_err *err)
{
    const struct cfr_strings *scopes = &p->config->scopes;

    if (p->impersonates || scopes->count == 0)
        return cfr_form_add(body, "scope", cfr_view_of(CFR_GCP_SCOPE), err);
    return cfr_form_add_joined(body, "scope", scopes->items, scopes->count, err);
}

static int add_options(const struct cfr_gcp_plan *p, struct cfr_secret *body, struct cfr_err *err)
{
    char text[80];

    /* With a client its own project counts. */
    if (p->user_project.n == 0 || p->client_id.n != 0)
        return 0;
    (void)snprintf(text, sizeof text, "{\"userProject\":\"%.*s\"}", (int)p->user_project.n, p->user_project.p);
    return cfr_form_add(body, "options", cfr_view_of(text), err);
}

static int set_exchange_body(const struct cfr_gcp_plan *p, const struct cfr_sts_input *in, struct cfr_secret *body,
                             struct cfr_err *err)
{
    int rc = cfr_form_add(body, "grant_type", cfr_view_of(GRANT_EXCHANGE), err);

    if (rc == 0)
        rc = cfr_form_add(body, "audience", p->audience, err);
    if (rc == 0)
        rc = add_scopes(p, body, err);
    if (rc == 0)
        rc = cfr_form_add(body, "requested_token_type", cfr_view_of(TYPE_ACCESS), err);
    if (rc == 0)
        rc = cfr_form_add(body, "subject_token_type", p->subject_token_type, err);
    if (rc == 0)
        rc = add_options(p, body, err);
    return rc != 0 ? rc : add_subject_token(p, in, body, err);
}

static int set_assertion_body(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, const struct cfr_sts_input *in,
                              struct cfr_secret *body, struct cfr_err *err)
{
    struct cfr_secret assertion;
    int rc = cfr_form_add(body, "grant_type", cfr_view_of(GRANT_BEARER), err);

    cfr_secret_init(&assertion, CFR_JWT_MAX);
    if (rc == 0)
        rc = cfr_gcp_key_assertion(p, step, in->now_s, &assertion, err);
    if (rc == 0)
        rc = cfr_form_add(body, "assertion", cfr_secret_view(&assertion), err);
    cfr_secret_free(&assertion);
    return rc;
}

static void write_list(struct cfr_writer *w, const char *key, const char *prefix, const struct cfr_strings *list)
{
    cfr_writer_array(w, key);
    for (size_t i = 0; i < list->count; i++) {
        char item[2400];

        (void)snprintf(item, sizeof item, "%s%s", prefix, list->items[i]);
        cfr_writer_string(w, NULL, cfr_view_of(item));
    }
    cfr_writer_close(w);
}

static void write_delegates(struct cfr_writer *w, const struct cfr_gcp_plan *p)
{
    if (p->config->delegates.count != 0)
        write_list(w, "delegates", "projects/-/serviceAccounts/", &p->config->delegates);
}

static int set_access_body(const struct cfr_gcp_plan *p, struct cfr_secret *body, struct cfr_err *err)
{
    char standard[] = CFR_GCP_SCOPE;
    char *items[] = {standard};
    struct cfr_strings fallback = {items, 1};
    struct cfr_writer w = {.secret = body, .err = err};
    char lifetime[40];

    (void)snprintf(lifetime, sizeof lifetime, "%" PRId64 "s", p->lifetime_s);
    cfr_writer_object(&w, NULL);
    write_list(&w, "scope", "", p->config->scopes.count != 0 ? &p->config->scopes : &fallback);
    cfr_writer_string(&w, "lifetime", cfr_view_of(lifetime));
    write_delegates(&w, p);
    cfr_writer_close(&w);
    return w.rc;
}

static int set_id_body(const struct cfr_gcp_plan *p, struct cfr_secret *body, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = body, .err = err};

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "audience", cfr_view_of(p->config->id_token_audience));
    if (p->config->include_email)
        cfr_writer_bool(&w, "includeEmail", true);
    write_delegates(&w, p);
    cfr_writer_close(&w);
    return w.rc;
}

static int set_body(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, const struct cfr_sts_input *in,
                    struct cfr_secret *body, struct cfr_err *err)
{
    cfr_secret_init(body, CFR_STS_BODY_MAX);
    switch (step) {
    case CFR_GCP_STEP_STS:
        return set_exchange_body(p, in, body, err);
    case CFR_GCP_STEP_KEY_ID:
    case CFR_GCP_STEP_KEY_ACCESS:
        return set_assertion_body(p, step, in, body, err);
    case CFR_GCP_STEP_IAM_ID:
        return set_id_body(p, body, err);
    case CFR_GCP_STEP_IAM_ACCESS:
        break;
    }
    return set_access_body(p, body, err);
}

static bool is_iam(enum cfr_gcp_step step)
{
    return step == CFR_GCP_STEP_IAM_ID || step == CFR_GCP_STEP_IAM_ACCESS;
}

static int set_url(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, struct cfr_wire_request *out,
                   struct cfr_err *err)
{
    struct cfr_str url = {.limit = URL_LIMIT};

    if (!is_iam(step)) {
        cfr_str_addz(&url, p->token_url);
    } else {
        cfr_str_addz(&url, p->iam_url);
        cfr_str_addz(&url, IAM_PATH);
        cfr_str_add(&url, p->account);
        cfr_str_addz(&url, step == CFR_GCP_STEP_IAM_ID ? ":generateIdToken" : ":generateAccessToken");
    }
    return cfr_wire_request_url(out, &url, err);
}

/* `Authorization: SCHEME VALUE` */
static int set_authorization(struct cfr_wire_request *out, const char *scheme, struct cfr_view value,
                             struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, CFR_GRANT_VALUE_MAX + 16);
    rc = cfr_secret_append_str(&text, scheme, err);
    if (rc == 0)
        rc = cfr_secret_append(&text, value, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Authorization", cfr_secret_view(&text), err);
    cfr_secret_free(&text);
    return rc;
}

/* RFC 6749, 2.3.1, though without its form encoding, which Google's own libraries leave out. */
static int set_basic(const struct cfr_gcp_plan *p, struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_secret plain;
    struct cfr_secret encoded;
    int rc;

    cfr_secret_init(&plain, CFR_GRANT_VALUE_MAX / 4);
    cfr_secret_init(&encoded, CFR_GRANT_VALUE_MAX / 2);
    rc = cfr_secret_append(&plain, p->client_id, err);
    if (rc == 0)
        rc = cfr_secret_append_str(&plain, ":", err);
    if (rc == 0)
        rc = cfr_secret_append(&plain, p->client_secret, err);
    if (rc == 0)
        rc = cfr_base64_encode(cfr_secret_view(&plain), &encoded, err);
    if (rc == 0)
        rc = set_authorization(out, "Basic ", cfr_secret_view(&encoded), err);
    cfr_secret_free(&plain);
    cfr_secret_free(&encoded);
    return rc;
}

static int set_bearer(const struct cfr_gcp_plan *p, struct cfr_view token, const struct cfr_sts_input *in,
                      struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_secret own;
    int64_t expires_s;
    int rc = 0;

    cfr_secret_init(&own, CFR_JWT_MAX);
    if (p->local) {
        rc = cfr_gcp_key_token(p, true, in->now_s, &own, &expires_s, err);
        token = cfr_secret_view(&own);
    } else if (token.n == 0) {
        rc = cfr_err_set(err, CFR_E_INTERNAL, "no token for IAM");
    }
    if (rc == 0)
        rc = set_authorization(out, "Bearer ", token, err);
    cfr_secret_free(&own);
    return rc;
}

static int set_headers(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, struct cfr_view access_token,
                       const struct cfr_sts_input *in, struct cfr_wire_request *out, struct cfr_err *err)
{
    const char *type = is_iam(step) ? "application/json" : CFR_FORM_TYPE;
    int rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(type), err);

    if (rc == 0)
        rc = cfr_wire_request_header(out, "Accept", cfr_view_of("application/json"), err);
    if (rc == 0 && is_iam(step))
        rc = set_bearer(p, access_token, in, out, err);
    /* Never a bearer token there: the service may refuse a request that has one. */
    if (rc == 0 && step == CFR_GCP_STEP_STS && p->client_id.n != 0)
        rc = set_basic(p, out, err);
    return rc;
}

static int set_certificate(const struct cfr_gcp_plan *p, struct cfr_wire_request *out, struct cfr_err *err)
{
    int rc;

    if (p->certificate_pem.n == 0 || strncmp(out->url, "https:", 6) != 0)
        return 0;
    cfr_secret_init(&out->client_cert, p->certificate_pem.n);
    cfr_secret_init(&out->client_key, p->key_pem.n);
    rc = cfr_secret_append(&out->client_cert, p->certificate_pem, err);
    return rc != 0 ? rc : cfr_secret_append(&out->client_key, p->key_pem, err);
}

int cfr_gcp_request_make(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, struct cfr_view access_token,
                         const struct cfr_sts_input *in, struct cfr_wire_request *out, struct cfr_err *err)
{
    int rc = set_url(p, step, out, err);

    out->method = "POST";
    out->ca_file = p->config->ca_file;
    if (rc == 0)
        rc = set_headers(p, step, access_token, in, out, err);
    if (rc == 0)
        rc = set_body(p, step, in, &out->body, err);
    return rc != 0 ? rc : set_certificate(p, out, err);
}
