/* SPDX-License-Identifier: MIT */
/* The generic OAuth provider: one request, one answer. */
#include "sts/oauth/oauth_private.h"

#include "base/base64.h"
#include "base/writer.h"
#include "wire/form.h"
#include "wire/jwt.h"
#include "sts/core/oauth_answer.h"

#include <inttypes.h>
#include <string.h>

/* Consumers of plain tokens refresh at most five minutes ahead. */
#define CONSUMER_WINDOW_MS INT64_C(600000)
#define ASSERTION_TYPE     "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define ASSERTION_LIFE_S   300
#define GRANT              "urn:ietf:params:oauth:grant-type:"

static const char *const grant_types[] = {GRANT "token-exchange", GRANT "jwt-bearer", "client_credentials"};

static const char *grant_type(const struct cfr_oauth *c)
{
    return c->grant == CFR_OAUTH_CUSTOM ? c->grant_type : grant_types[c->grant];
}

static bool needs_token(const void *config)
{
    const struct cfr_oauth *c = config;

    if (c->client_authentication == CFR_OAUTH_TOKEN_ASSERTION || c->token_parameter != NULL)
        return true;
    return c->grant != CFR_OAUTH_CLIENT_CREDENTIALS && c->grant != CFR_OAUTH_CUSTOM;
}

/* The content of a file that must hold one word. */
static int word(const struct cfr_sts_input *in, const char *key, struct cfr_view *out, struct cfr_err *err)
{
    *out = cfr_sts_input_content(in, key);
    if (out->n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: the file is empty", key);
    for (size_t i = 0; i < out->n; i++) {
        if ((unsigned char)out->p[i] < 0x20 || out->p[i] == 0x7f)
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "%s: the file holds more than one line or a control character; it must hold only the value", key);
    }
    return 0;
}

/* RFC 6749, 2.3.1: both halves are form-encoded before they are joined. Many servers do not decode them. */
static int add_half(const struct cfr_oauth *c, struct cfr_view half, struct cfr_secret *out, struct cfr_err *err)
{
    if (c->client_authentication == CFR_OAUTH_BASIC_PLAIN)
        return cfr_secret_append(out, half, err);
    return cfr_secret_append_percent(out, half, err);
}

static int add_basic(const struct cfr_oauth *c, struct cfr_view secret, struct cfr_wire_request *out,
                     struct cfr_err *err)
{
    struct cfr_secret plain;
    struct cfr_secret value;
    int rc;

    cfr_secret_init(&plain, CFR_STS_BODY_MAX);
    cfr_secret_init(&value, CFR_STS_BODY_MAX);
    rc = add_half(c, cfr_view_of(c->client_id), &plain, err);
    if (rc == 0)
        rc = cfr_secret_append_str(&plain, ":", err);
    if (rc == 0)
        rc = add_half(c, secret, &plain, err);
    if (rc == 0)
        rc = cfr_secret_append_str(&value, "Basic ", err);
    if (rc == 0)
        rc = cfr_base64_encode(cfr_secret_view(&plain), &value, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Authorization", cfr_secret_view(&value), err);
    cfr_secret_free(&plain);
    cfr_secret_free(&value);
    return rc;
}

/* Neither holds a secret. */
static void write_assertion(const struct cfr_oauth *c, const struct cfr_sts_input *in, enum cfr_jwt_alg alg,
                            struct cfr_str *header, struct cfr_str *claims)
{
    struct cfr_writer h = {.str = header};
    struct cfr_writer w = {.str = claims};
    char id[CFR_JWT_UUID_MAX];

    cfr_writer_object(&h, NULL);
    cfr_writer_string(&h, "alg", cfr_view_of(alg == CFR_JWT_ES256 ? "ES256" : "RS256"));
    cfr_writer_string(&h, "typ", cfr_view_of("JWT"));
    cfr_writer_optional(&h, "kid", cfr_view_of(c->client_key_id));
    cfr_writer_close(&h);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "iss", cfr_view_of(c->client_id));
    cfr_writer_string(&w, "sub", cfr_view_of(c->client_id));
    cfr_writer_string(&w, "aud", cfr_view_of(c->assertion_audience != NULL ? c->assertion_audience : c->token_url));
    cfr_writer_string(&w, "jti", cfr_view_of(cfr_jwt_uuid(in->nonce, id)));
    cfr_writer_number(&w, "iat", in->now_s);
    cfr_writer_number(&w, "exp", in->now_s + ASSERTION_LIFE_S);
    cfr_writer_close(&w);
}

static int sign_assertion(const struct cfr_oauth *c, const struct cfr_sts_input *in, struct cfr_secret *out,
                          struct cfr_err *err)
{
    struct cfr_view key = cfr_sts_input_content(in, "client_key_file");
    struct cfr_str header = {.limit = 4096};
    struct cfr_str claims = {.limit = 16384};
    enum cfr_jwt_alg alg;
    int rc;

    if (in->nonce == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "cannot get random bytes for the assertion");
    if (key.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "client_key_file: the file is empty");
    rc = cfr_jwt_alg_of(key, &alg, err);
    if (rc == 0) {
        write_assertion(c, in, alg, &header, &claims);
        rc = header.failed || claims.failed
                 ? cfr_err_nomem(err)
                 : cfr_jwt_sign(alg, cfr_str_view(&header), cfr_str_view(&claims), key, out, err);
    }
    if (rc == CFR_E_CONFIG)
        (void)cfr_err_prefix(err, "client_key_file");
    cfr_str_free(&header);
    cfr_str_free(&claims);
    return rc;
}

static int add_assertion(struct cfr_view assertion, struct cfr_secret *body, struct cfr_err *err)
{
    int rc = cfr_form_add(body, "client_assertion_type", cfr_view_of(ASSERTION_TYPE), err);

    return rc != 0 ? rc : cfr_form_add(body, "client_assertion", assertion, err);
}

static int add_client(const struct cfr_oauth *c, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                      struct cfr_err *err)
{
    bool basic = c->client_authentication == CFR_OAUTH_BASIC || c->client_authentication == CFR_OAUTH_BASIC_PLAIN;
    struct cfr_view secret = {NULL, 0};
    struct cfr_secret assertion;
    int rc = 0;

    if (basic || c->client_authentication == CFR_OAUTH_POST)
        rc = word(in, "client_secret_file", &secret, err);
    if (rc == 0 && basic)
        return add_basic(c, secret, out, err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "client_id", cfr_view_of(c->client_id), err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "client_secret", secret, err);
    if (rc == 0 && c->client_authentication == CFR_OAUTH_TOKEN_ASSERTION)
        return add_assertion(in->token, &out->body, err);
    if (rc != 0 || c->client_authentication != CFR_OAUTH_PRIVATE_KEY_JWT)
        return rc;
    cfr_secret_init(&assertion, CFR_JWT_MAX);
    rc = sign_assertion(c, in, &assertion, err);
    if (rc == 0)
        rc = add_assertion(cfr_secret_view(&assertion), &out->body, err);
    cfr_secret_free(&assertion);
    return rc;
}

static int add_actor(const struct cfr_oauth *c, const struct cfr_sts_input *in, struct cfr_secret *body,
                     struct cfr_err *err)
{
    const char *type = c->actor_token_type != NULL ? c->actor_token_type : "jwt";
    struct cfr_view actor;
    int rc = word(in, "actor_token_file", &actor, err);

    if (rc == 0)
        rc = cfr_form_add(body, "actor_token", actor, err);
    return rc != 0 ? rc : cfr_form_add(body, "actor_token_type", cfr_view_of(cfr_oauth_token_type(type)), err);
}

static int add_exchange(const struct cfr_oauth *c, const struct cfr_sts_input *in, struct cfr_secret *body,
                        struct cfr_err *err)
{
    const char *type = cfr_oauth_token_type(c->subject_token_type != NULL ? c->subject_token_type : "jwt");
    int rc = cfr_form_add(body, "subject_token", in->token, err);

    if (rc == 0)
        rc = cfr_form_add(body, "subject_token_type", cfr_view_of(type), err);
    if (rc == 0 && c->requested_token_type != NULL)
        rc =
            cfr_form_add(body, "requested_token_type", cfr_view_of(cfr_oauth_token_type(c->requested_token_type)), err);
    return rc != 0 || c->actor_token_file == NULL ? rc : add_actor(c, in, body, err);
}

static int add_custom(const struct cfr_oauth *c, const struct cfr_sts_input *in, struct cfr_secret *body,
                      struct cfr_err *err)
{
    struct cfr_view secret;
    int rc = 0;

    if (c->token_parameter != NULL)
        rc = cfr_form_add(body, c->token_parameter, in->token, err);
    if (rc != 0 || c->secret_parameter == NULL)
        return rc;
    rc = word(in, "client_secret_file", &secret, err);
    return rc == 0 ? cfr_form_add(body, c->secret_parameter, secret, err) : rc;
}

static int add_requested(const struct cfr_oauth *c, struct cfr_secret *body, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->audience.count; i++)
        rc = cfr_form_add(body, "audience", cfr_view_of(c->audience.items[i]), err);
    for (size_t i = 0; rc == 0 && i < c->resource.count; i++)
        rc = cfr_form_add(body, "resource", cfr_view_of(c->resource.items[i]), err);
    if (rc == 0)
        rc = cfr_form_add_joined(body, "scope", c->scopes.items, c->scopes.count, err);
    for (size_t i = 0; rc == 0 && i < c->parameters.count; i++)
        rc = cfr_form_add(body, c->parameters.items[i].key, cfr_view_of(c->parameters.items[i].value), err);
    return rc;
}

static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_oauth *c = x->config;
    int rc;

    if (x->step != 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    if (needs_token(c) && in->token.n == 0)
        return cfr_err_set(err, CFR_E_TOKEN, "the token is empty");
    out->method = "POST";
    out->ca_file = c->ca_file;
    out->plain_http = c->plain_http;
    out->url = strdup(c->token_url);
    if (out->url == NULL)
        return cfr_err_nomem(err);
    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(CFR_FORM_TYPE), err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Accept", cfr_view_of("application/json"), err);
    if (rc == 0)
        rc = cfr_form_add(&out->body, "grant_type", cfr_view_of(grant_type(c)), err);
    if (rc == 0 && c->grant == CFR_OAUTH_TOKEN_EXCHANGE)
        rc = add_exchange(c, in, &out->body, err);
    if (rc == 0 && c->grant == CFR_OAUTH_JWT_BEARER)
        rc = cfr_form_add(&out->body, "assertion", in->token, err);
    if (rc == 0 && c->grant == CFR_OAUTH_CUSTOM)
        rc = add_custom(c, in, &out->body, err);
    if (rc == 0)
        rc = add_requested(c, &out->body, err);
    return rc != 0 ? rc : add_client(c, in, out, err);
}

static int read_expiry(const struct cfr_oauth *c, const struct cfr_sts_input *in, const struct cfr_oauth_answer *a,
                       struct cfr_grant *g, struct cfr_err *err)
{
    int64_t life_s = a->expires_in_s;

    if (life_s < 0 && c->default_lifetime_ms < 0)
        return cfr_err_set(
            err, CFR_E_ANSWER,
            "the answer has no expires_in that is understood; write `default_lifetime` if the server never names one");
    if (life_s < 0)
        life_s = c->default_lifetime_ms / 1000;
    if (life_s == 0 || life_s > INT64_C(31536000) * 10)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's expires_in is 0 or more than ten years");
    g->issued_s = in->now_s;
    g->expires_s = in->now_s + life_s;
    return 0;
}

/* Token exchange may issue what is no access token and says so by the type N_A (RFC 8693, 2.2.1). */
static int read_token(const struct cfr_oauth_answer *a, struct cfr_view *token, struct cfr_err *err)
{
    *token = cfr_oauth_answer_get(a, CFR_OAUTH_ACCESS_TOKEN);
    if (!cfr_view_is_nocase(cfr_oauth_answer_get(a, CFR_OAUTH_TOKEN_TYPE), "N_A"))
        return cfr_oauth_answer_bearer(a, token, err);
    if (token->n == 0 || !cfr_view_printable(*token) || memchr(token->p, ' ', token->n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's access_token is empty, or has blanks or line breaks");
    return 0;
}

/* An ID token ends with its own `exp`, of which expires_in says nothing; one that is no JWT has none to go by. */
static int add_id_token(const struct cfr_oauth_answer *a, int64_t now_s, struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view token = cfr_oauth_answer_get(a, CFR_OAUTH_ID_TOKEN);
    int64_t expires_s = INT64_MAX;

    if (token.n == 0)
        return 0;
    if (!cfr_view_printable(token) || memchr(token.p, ' ', token.n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's id_token has blanks or line breaks");
    (void)cfr_oauth_answer_jwt_expiry(token, &expires_s);
    if (expires_s <= now_s)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the answer's id_token has expired already: look at the clocks of this machine and of the "
                           "server, or leave the scope `openid` out if it is not needed");
    if (expires_s < g->expires_s)
        g->expires_s = expires_s;
    return cfr_grant_set(g, CFR_FIELD_OAUTH_ID_TOKEN, token, err);
}

static int fill_grant(const struct cfr_oauth *c, const struct cfr_sts_input *in, const struct cfr_oauth_answer *a,
                      struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view token;
    int rc = read_token(a, &token, err);

    if (rc == 0)
        rc = read_expiry(c, in, a, g, err);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_OAUTH_ACCESS_TOKEN, token, err);
    if (rc == 0)
        rc = add_id_token(a, in->now_s, g, err);
    if (rc == 0 && (in->subject.n != 0 || c->client_id != NULL) && cfr_view_printable(in->subject) &&
        in->subject.n <= CFR_GRANT_IDENTITY_MAX)
        rc = cfr_grant_set_identity(g, in->subject.n != 0 ? in->subject : cfr_view_of(c->client_id), err);
    return rc;
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err)
{
    const struct cfr_oauth *c = x->config;
    struct cfr_oauth_answer answer;
    struct cfr_grant fresh = {0};
    struct cfr_view code;
    int rc;

    if (x->step != 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    rc = cfr_oauth_answer_read(reply->content_type, reply->body, &answer, err);
    code = cfr_oauth_answer_get(&answer, CFR_OAUTH_ERROR);
    if (rc != CFR_E_NOMEM && (reply->status < 200 || reply->status > 201 || code.n != 0))
        rc = cfr_oauth_refuse(c, in, reply, code, cfr_oauth_answer_get(&answer, CFR_OAUTH_DESCRIPTION), err);
    else if (rc == 0)
        rc = fill_grant(c, in, &answer, &fresh, err);
    cfr_oauth_answer_free(&answer);
    if (rc != 0) {
        cfr_grant_free(&fresh);
        return rc;
    }
    cfr_grant_move(&x->grant, &fresh);
    return CFR_STS_DONE;
}

const struct cfr_sts_provider cfr_oauth_provider = {
    .name = "oauth",
    .family = "oauth",
    .table = &cfr_oauth_table,
    .doc =
        CFR_DOC("Any OAuth 2 server: token exchange (RFC 8693), JWT bearer grants and client credentials (RFC 7523)."),
    .consumer_window_ms = CONSUMER_WINDOW_MS,
    .needs_token = needs_token,
    .build = build,
    .parse = parse,
    .trust_needed = cfr_oauth_trust_needed,
};
