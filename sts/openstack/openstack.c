/* SPDX-License-Identifier: MIT */
/* The OpenStack provider: one request for a token, or two where the subject token is exchanged first. */
#include "sts/openstack/openstack.h"

#include "base/str.h"
#include "sts/openstack/openstack_private.h"

/* keystoneauth asks for a new token when less than 2 min are left; time for an outage in front of it. */
#define CONSUMER_WINDOW_MS INT64_C(300000)
#define URL_MAX            (CFR_URL_MAX + 512)
#define JSON               "application/json"

static bool federated(const struct cfr_sts_exchange *x)
{
    return cfr_openstack_way_of(x->config) == CFR_OPENSTACK_FEDERATION;
}

static bool needs_token(const void *config)
{
    return cfr_openstack_way_of(config) == CFR_OPENSTACK_FEDERATION;
}

static int set_url(const struct cfr_sts_exchange *x, struct cfr_wire_request *out, struct cfr_err *err)
{
    const struct cfr_openstack *c = x->config;
    struct cfr_str text = {.limit = URL_MAX};
    struct cfr_url url;
    struct cfr_view base = {NULL, 0};
    int rc = cfr_openstack_base(c, &url, &base, err);

    if (rc != 0)
        return cfr_err_prefix(err, "auth_url");
    cfr_str_add(&text, base);
    if (cfr_openstack_presents_token(x))
        cfr_str_addf(&text, "/v3/OS-FEDERATION/identity_providers/%s/protocols/%s/auth", c->identity_provider,
                     c->protocol);
    else
        cfr_str_addf(&text, "/v3/auth/tokens%s", c->catalog ? "" : "?nocatalog");
    return cfr_wire_request_url(out, &text, err);
}

/* The token's place in the header. */
static int set_bearer(const struct cfr_sts_input *in, struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_secret value;
    int rc;

    if (in->token.n == 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no token to exchange");
    cfr_secret_init(&value, CFR_GRANT_VALUE_MAX);
    rc = cfr_secret_append_str(&value, "Bearer ", err);
    if (rc == 0)
        rc = cfr_secret_append(&value, in->token, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Authorization", cfr_secret_view(&value), err);
    cfr_secret_free(&value);
    return rc;
}

static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_openstack *c = x->config;
    int rc;

    if (x->step > (federated(x) ? 1U : 0U))
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    out->method = "POST";
    out->ca_file = c->ca_file;
    out->answer_header = CFR_OPENSTACK_TOKEN_HEADER;
    rc = set_url(x, out, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Accept", cfr_view_of(JSON), err);
    if (rc != 0 || cfr_openstack_presents_token(x))
        return rc != 0 ? rc : set_bearer(in, out, err);
    rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(JSON), err);
    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    return rc != 0 ? rc : cfr_openstack_body(x, in, &out->body, err);
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err)
{
    struct cfr_grant fresh = {0};
    int rc;

    if (x->step > (federated(x) ? 1U : 0U))
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    if (reply->status != 201 && reply->status != 200)
        return cfr_openstack_refuse(x, in, reply, err);
    rc = cfr_openstack_grant(x, in, reply, &fresh, err);
    if (rc != 0) {
        cfr_grant_free(&fresh);
        return rc;
    }
    cfr_grant_move(&x->grant, &fresh);
    if (!cfr_openstack_presents_token(x))
        return CFR_STS_DONE;
    x->step++;
    return CFR_STS_MORE;
}

static const char *const grant_fields[] = {CFR_FIELD_OPENSTACK_TOKEN, NULL};

const struct cfr_sts_provider cfr_openstack_provider = {
    .name = "openstack",
    .table = &cfr_openstack_table,
    .doc = CFR_DOC("OpenStack Keystone."),
    .fields = grant_fields,
    .consumer_window_ms = CONSUMER_WINDOW_MS,
    .needs_token = needs_token,
    .build = build,
    .parse = parse,
    .trust_needed = cfr_openstack_trust_needed,
};
