/* SPDX-License-Identifier: MIT */
/* Refusals of Keystone, and of the web servers in front of it.
 * Source of statuses and messages: the Identity API v3 reference, seen at Keystone 22. */
#include "sts/openstack/openstack_private.h"

#include "base/json.h"
#include "base/error_table.h"

/* The code for an answer that requests a second factor: such an answer has no error in it. */
#define RECEIPT     "receipt"

#define HINT_METHOD "this Keystone does not accept this kind of login; its operator must add it to [auth] methods"
#define HINT_URL    "there is no Keystone v3 at this URL; check `auth_url`"

/* What Keystone itself says, whatever was asked. */
static const struct cfr_error_table_row keystone[] = {
    {RECEIPT, NULL, 401, CFR_E_DENIED,
     "{who} must authenticate with more than one factor, which an agent cannot; use an application credential"},
    {NULL, "unsupported method", 401, CFR_E_REJECTED, HINT_METHOD},
    {NULL, NULL, 400, CFR_E_REJECTED, "Keystone does not understand the request; check the keys next to `auth_url`"},
    {0},
};

static const struct cfr_error_table_row application_credential[] = {
    {NULL, "cannot request a scope", 401, CFR_E_REJECTED,
     "something between here and Keystone adds a scope to the request, which has none"},
    {NULL, "Could not find user", 404, CFR_E_DENIED,
     "the owner of {who} does not exist; check `username` and its domain"},
    {NULL, "Could not find domain", 404, CFR_E_DENIED, "the domain of the owner of {who} does not exist; check it"},
    {NULL, NULL, 404, CFR_E_DENIED, "{who}, its owner, its project or one of its roles was deleted; create a new one"},
    {NULL, NULL, 401, CFR_E_DENIED,
     "{who} does not exist (if given by name), its secret is wrong, it has expired, or its owner is disabled "
     "or has "
     "lost the roles in the project; Keystone does not say which"},
    {NULL, NULL, 403, CFR_E_DENIED, "Keystone's policy denies access to {who}"},
    {0},
};

static const struct cfr_error_table_row password[] = {
    {NULL, "password is expired", 401, CFR_E_DENIED, "give {who} a new password, and write that to `password_file`"},
    {NULL, "locked", 401, CFR_E_DENIED,
     "{who} is locked after too many failures; correct `password_file`, and wait or have it unlocked"},
    {NULL, NULL, 401, CFR_E_DENIED,
     "{who}, its domain or its password is wrong, or it or the project is disabled, or it has no role in the requested "
     "scope; Keystone does not say which"},
    {NULL, NULL, 403, CFR_E_DENIED, "Keystone's policy denies access to {who}"},
    {NULL, NULL, 404, CFR_E_DENIED, "what the message names does not exist; check it"},
    {0},
};

/* Keystone behind the web server that took the token. */
static const struct cfr_error_table_row federation[] = {
    {NULL, "Could not find Identity Provider", 404, CFR_E_REJECTED,
     "there is no such identity provider in Keystone; check `identity_provider`"},
    {NULL, "protocol", 404, CFR_E_REJECTED, "the identity provider has no such protocol; check `protocol`"},
    {NULL, NULL, 404, CFR_E_REJECTED, "what the message names does not exist; check it"},
    {NULL, NULL, 401, CFR_E_DENIED,
     "the web server passes no issuer to Keystone (see its remote_id_attribute), or the mapping does not match {who}"},
    {NULL, NULL, 403, CFR_E_DENIED,
     "the identity provider is disabled, the token's issuer is not among its remote ids, or the mapping does not match "
     "{who}"},
    {0},
};

static const struct cfr_error_table_row federation_web[] = {
    {NULL, NULL, 401, CFR_E_DENIED,
     "the web server in front of Keystone does not accept the token of {who}; check that it knows the token's issuer "
     "and keys, and expects its audience"},
    {NULL, NULL, 302, CFR_E_REDIRECT,
     "the web server sends to a login page; this path must accept bearer tokens (AuthType auth-openidc or oauth20)"},
    {NULL, NULL, 303, CFR_E_REDIRECT, "the web server sends to a login page; this path must accept bearer tokens"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no federation at this URL; check `auth_url`"},
    {0},
};

static const struct cfr_error_table_row scoping[] = {
    {NULL, "recognize", 404, CFR_E_UNAVAILABLE,
     "Keystone does not know the token that it has just given; do its nodes share their keys?"},
    {NULL, NULL, 404, CFR_E_DENIED, "what the message names does not exist; check it"},
    {NULL, NULL, 401, CFR_E_DENIED,
     "the mapping gives {who} no role in the requested scope, or that project or domain does not exist; Keystone does "
     "not say which"},
    {NULL, NULL, 403, CFR_E_DENIED, "Keystone's policy denies access to {who}"},
    {0},
};

/* Answers that are not Keystone's own. */
static const struct cfr_error_table_row web[] = {
    {NULL, NULL, 300, CFR_E_REDIRECT, "this is a list of the API's versions; write an `auth_url` that ends in /v3"},
    {NULL, NULL, 401, CFR_E_DENIED, "a proxy in front of Keystone refuses; check `auth_url`"},
    {NULL, NULL, 403, CFR_E_DENIED, "a proxy in front of Keystone refuses; check `auth_url`"},
    {NULL, NULL, 404, CFR_E_REJECTED, HINT_URL},
    {NULL, NULL, 405, CFR_E_REJECTED, HINT_URL},
    {0},
};

/* What an answer says; views into the document. */
struct said {
    bool by_keystone;
    struct cfr_view code;
    struct cfr_view message;
};

static struct said listen(const struct cfr_json *doc)
{
    const struct cfr_json *error = cfr_json_get(doc, "error");
    struct said s = {.by_keystone = cfr_json_is_object(error)};

    if (s.by_keystone) {
        (void)cfr_json_string(cfr_json_get(error, "title"), &s.code);
        (void)cfr_json_string(cfr_json_get(error, "message"), &s.message);
    } else if (cfr_json_is_object(cfr_json_get(doc, RECEIPT))) {
        s = (struct said){true, cfr_view_of(RECEIPT), {NULL, 0}};
    } else {
        (void)cfr_json_string(cfr_json_get(doc, "message"), &s.message);
    }
    return s;
}

static bool fits(const struct cfr_error_table_row *rows, const struct cfr_error_table *r)
{
    return cfr_error_table_find(rows, r->status, r->code, r->message) != NULL;
}

/* The table that says what R means. */
static const struct cfr_error_table_row *rows_for(const struct cfr_sts_exchange *x, bool by_keystone,
                                                  const struct cfr_error_table *r)
{
    enum cfr_openstack_way way = cfr_openstack_way_of(x->config);

    if (!by_keystone)
        return cfr_openstack_presents_token(x) && fits(federation_web, r) ? federation_web : web;
    if (fits(keystone, r))
        return keystone;
    if (way == CFR_OPENSTACK_FEDERATION)
        return cfr_openstack_presents_token(x) ? federation : scoping;
    return way == CFR_OPENSTACK_APPLICATION_CREDENTIAL ? application_credential : password;
}

static void name_caller(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_error_table *r)
{
    const struct cfr_openstack *c = x->config;

    switch (cfr_openstack_way_of(c)) {
    case CFR_OPENSTACK_APPLICATION_CREDENTIAL:
        r->who_is = "application credential";
        r->who = cfr_view_of(c->application_credential_id != NULL ? c->application_credential_id
                                                                  : c->application_credential_name);
        return;
    case CFR_OPENSTACK_PASSWORD:
        r->who_is = "user";
        r->who = cfr_view_of(c->user_id != NULL ? c->user_id : c->username);
        return;
    case CFR_OPENSTACK_FEDERATION:
    case CFR_OPENSTACK_NO_WAY:
        r->who_is = "subject";
        r->who = in->subject;
        return;
    }
}

int cfr_openstack_refuse(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                         const struct cfr_wire_reply *reply, struct cfr_err *err)
{
    const struct cfr_view secrets[] = {
        in->token,
        reply->header,
        cfr_sts_input_content(in, CFR_OPENSTACK_SECRET_KEY),
        cfr_sts_input_content(in, CFR_OPENSTACK_PASSWORD_KEY),
        cfr_grant_get(&x->grant, CFR_FIELD_OPENSTACK_TOKEN),
    };
    struct cfr_error_table r = {
        .status = reply->status,
        .request_id = reply->request_id,
        .secrets = secrets,
        .secret_count = sizeof secrets / sizeof secrets[0],
    };
    struct cfr_json *doc;
    struct said said = {0};
    /* An answer that cannot be read, such as a page of a proxy, is classified by its status alone. */
    int rc = cfr_json_parse(reply->body, &doc, err);

    if (rc == CFR_E_NOMEM)
        return rc;
    if (rc == 0)
        said = listen(doc);
    r.code = said.code;
    r.message = said.message;
    r.rows = rows_for(x, said.by_keystone, &r);
    name_caller(x, in, &r);
    rc = cfr_error_table_set(&r, err);
    cfr_json_free(doc);
    return rc;
}
