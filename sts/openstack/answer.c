/* SPDX-License-Identifier: MIT */
/* Token documents of Keystone. */
#include "sts/openstack/openstack_private.h"

#include "base/json.h"
#include "base/redact.h"
#include "base/str.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

#define TOKEN_MAX  65536 /* PKI tokens of old held the catalog; Fernet's have some hundred bytes */
#define SHOWN_TYPE 40

/* Text at a path of keys, or an empty view. */
static struct cfr_view at(const struct cfr_json *value, const char *const *path)
{
    struct cfr_view text = {NULL, 0};

    (void)cfr_json_string(cfr_json_path(value, path), &text);
    return text;
}

#define AT(value, ...) at(value, (const char *const[]){__VA_ARGS__, NULL})

static int parse(const struct cfr_wire_reply *reply, struct cfr_json **doc, struct cfr_err *err)
{
    char type[SHOWN_TYPE + 1] = "not given";
    int rc = cfr_json_parse(reply->body, doc, err);

    if (rc == 0 || rc == CFR_E_NOMEM)
        return rc;
    if (reply->content_type.n != 0 && cfr_view_printable(reply->content_type))
        (void)snprintf(type, sizeof type, "%.*s",
                       (int)(reply->content_type.n < SHOWN_TYPE ? reply->content_type.n : SHOWN_TYPE),
                       reply->content_type.p);
    return cfr_err_set(err, CFR_E_ANSWER,
                       "the answer is no JSON (its type is %s), so it is not from Keystone; check auth_url", type);
}

static int read_token(const struct cfr_wire_reply *reply, struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view token = cfr_view_trim(reply->header);

    if (token.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the answer has no header " CFR_OPENSTACK_TOKEN_HEADER
                           ", where Keystone puts the token; does a proxy drop it?");
    if (token.n > TOKEN_MAX)
        return cfr_err_set(err, CFR_E_ANSWER, "the token in the answer has more than %d bytes", TOKEN_MAX);
    if (!cfr_view_printable(token) || memchr(token.p, ' ', token.n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the token in the answer holds a space or a character that is not printable");
    return cfr_grant_set(g, CFR_FIELD_OPENSTACK_TOKEN, token, err);
}

static int read_times(const struct cfr_json *token, struct cfr_grant *g, struct cfr_err *err)
{
    if (!cfr_time_parse(AT(token, "expires_at"), &g->expires_s))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's token.expires_at is missing or not a time");
    if (!cfr_time_parse(AT(token, "issued_at"), &g->issued_s))
        g->issued_s = 0;
    if (g->issued_s >= g->expires_s)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's token.expires_at is not later than its token.issued_at");
    return 0;
}

/* Sets NAME unless VALUE is empty. An id with characters that a header or a file cannot hold is refused. */
static int set_id(struct cfr_grant *g, const char *name, struct cfr_view value, struct cfr_err *err)
{
    if (value.n == 0)
        return 0;
    if (value.n > CFR_URL_MAX || !cfr_view_printable(value))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's %s is too long or not printable", name);
    return cfr_grant_set(g, name, value, err);
}

/* What was asked for and what came must be the same. */
static int check_scope(const struct cfr_openstack *c, const struct cfr_json *token, struct cfr_err *err)
{
    bool system = c->system_scope != CFR_OPENSTACK_SYSTEM_NONE;
    bool domain = c->domain_id != NULL || c->domain_name != NULL;
    const char *kind = system ? "system" : (domain ? "domain" : "project");
    const char *id = domain ? c->domain_id : c->project_id;

    if (!cfr_json_is_object(cfr_json_get(token, kind)))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's token is not for a %s", kind);
    if (!system && AT(token, kind, "id").n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's token.%s has no id", kind);
    if (id != NULL && !cfr_view_is(AT(token, kind, "id"), id))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's token is for another %s than %s_id", kind, kind);
    return 0;
}

static int read_ids(const struct cfr_openstack *c, const struct cfr_json *token, struct cfr_grant *g,
                    struct cfr_err *err)
{
    bool all = false;
    int rc = check_scope(c, token, err);

    if (rc == 0 && AT(token, "user", "id").n == 0)
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer's token.user has no id");
    if (rc == 0)
        rc = set_id(g, CFR_FIELD_OPENSTACK_USER_ID, AT(token, "user", "id"), err);
    if (rc == 0)
        rc = set_id(g, CFR_FIELD_OPENSTACK_PROJECT_ID, AT(token, "project", "id"), err);
    if (rc == 0)
        rc = set_id(g, CFR_FIELD_OPENSTACK_DOMAIN_ID, AT(token, "domain", "id"), err);
    if (rc == 0 && cfr_json_bool(cfr_json_path(token, (const char *const[]){"system", "all", NULL}), &all) && all)
        rc = cfr_grant_set(g, CFR_FIELD_OPENSTACK_SYSTEM_SCOPE, cfr_view_of("all"), err);
    return rc;
}

/* What a client needs to log in by itself. */
static int add_login(const struct cfr_openstack *c, const struct cfr_sts_input *in, const struct cfr_json *token,
                     struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_view id = AT(token, "application_credential", "id");
    int rc;

    switch (cfr_openstack_way_of(c)) {
    case CFR_OPENSTACK_APPLICATION_CREDENTIAL:
        if (id.n == 0)
            id = cfr_view_of(c->application_credential_id);
        if (id.n == 0)
            return cfr_err_set(err, CFR_E_ANSWER, "the answer's token.application_credential has no id");
        rc = set_id(g, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID, id, err);
        return rc != 0 ? rc
                       : cfr_grant_set(g, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET,
                                       cfr_sts_input_content(in, CFR_OPENSTACK_SECRET_KEY), err);
    case CFR_OPENSTACK_PASSWORD:
        return cfr_grant_set(g, CFR_FIELD_OPENSTACK_PASSWORD, cfr_sts_input_content(in, CFR_OPENSTACK_PASSWORD_KEY),
                             err);
    case CFR_OPENSTACK_FEDERATION:
        rc = cfr_grant_set(g, CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER, cfr_view_of(c->identity_provider), err);
        return rc != 0 ? rc : cfr_grant_set(g, CFR_FIELD_OPENSTACK_PROTOCOL, cfr_view_of(c->protocol), err);
    case CFR_OPENSTACK_NO_WAY:
        break;
    }
    return cfr_err_set(err, CFR_E_INTERNAL, "no method of authentication");
}

static int add_auth_url(const struct cfr_openstack *c, struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_str full = {.limit = CFR_URL_MAX + 8};
    struct cfr_url url;
    struct cfr_view base = {NULL, 0};
    int rc = cfr_openstack_base(c, &url, &base, err);

    if (rc != 0)
        return rc;
    cfr_str_add(&full, base);
    cfr_str_addz(&full, "/v3");
    rc = full.failed ? cfr_err_nomem(err) : cfr_grant_set(g, CFR_FIELD_OPENSTACK_AUTH_URL, cfr_str_view(&full), err);
    cfr_str_free(&full);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_OPENSTACK_INTERFACE, cfr_view_of(cfr_openstack_interfaces[c->interface]), err);
    if (rc == 0 && c->region_name != NULL)
        rc = cfr_grant_set(g, CFR_FIELD_OPENSTACK_REGION_NAME, cfr_view_of(c->region_name), err);
    if (rc == 0 && c->ca_file != NULL)
        rc = cfr_grant_set(g, CFR_FIELD_OPENSTACK_CACERT, cfr_view_of(c->ca_file), err);
    return rc;
}

/* The name of a thing, or its id where the name cannot be shown. */
static struct cfr_view label(const struct cfr_json *thing)
{
    struct cfr_view name = AT(thing, "name");

    if (name.n == 0 || name.n > 255 || !cfr_view_printable(name))
        name = AT(thing, "id");
    return name.n <= 255 && cfr_view_printable(name) ? name : (struct cfr_view){NULL, 0};
}

/* user@domain/project, user@domain/domain:NAME or user@domain/system. */
static int read_identity(const struct cfr_json *token, struct cfr_grant *g, struct cfr_err *err)
{
    const struct cfr_json *user = cfr_json_get(token, "user");
    const struct cfr_json *domain =
        cfr_json_is_object(cfr_json_get(token, "domain")) ? cfr_json_get(token, "domain") : NULL;
    struct cfr_str text = {.limit = CFR_GRANT_IDENTITY_MAX};
    int rc;

    cfr_str_add(&text, label(user));
    cfr_str_addz(&text, "@");
    cfr_str_add(&text, label(cfr_json_get(user, "domain")));
    cfr_str_addz(&text, domain != NULL ? "/domain:" : "/");
    cfr_str_add(&text, label(domain != NULL ? domain : cfr_json_get(token, "project")));
    if (cfr_json_is_object(cfr_json_get(token, "system")))
        cfr_str_addz(&text, "system");
    rc = text.failed ? cfr_err_nomem(err) : cfr_grant_set_identity(g, cfr_str_view(&text), err);
    cfr_str_free(&text);
    return rc;
}

/* Whether ENDPOINT is of the interface and in the region; notes the region of one that is elsewhere. */
static bool serves(const struct cfr_json *endpoint, const struct cfr_openstack *c, struct cfr_view *elsewhere)
{
    struct cfr_view region = AT(endpoint, "region_id");

    if (region.n == 0)
        region = AT(endpoint, "region");
    if (!cfr_view_is(AT(endpoint, "interface"), cfr_openstack_interfaces[c->interface]))
        return false;
    if (cfr_view_is(region, c->region_name))
        return true;
    if (elsewhere->n == 0)
        *elsewhere = region;
    return false;
}

static int check_catalog(const struct cfr_openstack *c, const struct cfr_json *token, struct cfr_err *err)
{
    const struct cfr_json *catalog = cfr_json_get(token, "catalog");
    struct cfr_view elsewhere = {NULL, 0};
    char shown[CFR_REDACT_MAX];

    if (!c->catalog)
        return 0;
    for (const struct cfr_json *service = cfr_json_first(catalog); service != NULL; service = cfr_json_next(service)) {
        const struct cfr_json *endpoints = cfr_json_get(service, "endpoints");

        for (const struct cfr_json *one = cfr_json_first(endpoints); one != NULL; one = cfr_json_next(one)) {
            if (serves(one, c, &elsewhere))
                return 0;
        }
    }
    (void)cfr_redact(elsewhere, NULL, 0, shown);
    return cfr_err_set(
        err, CFR_E_REJECTED, "region_name: the token's catalog has no %s endpoint in the region \"%.64s\"%s%.64s%s",
        cfr_openstack_interfaces[c->interface], c->region_name,
        shown[0] != '\0' ? "; it has one in \"" : "; it has none anywhere", shown, shown[0] != '\0' ? "\"" : "");
}

static int add_rest(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_json *token,
                    struct cfr_grant *g, struct cfr_err *err)
{
    const struct cfr_openstack *c = x->config;
    int rc = read_ids(c, token, g, err);

    if (rc == 0)
        rc = add_auth_url(c, g, err);
    if (rc == 0)
        rc = add_login(c, in, token, g, err);
    if (rc == 0)
        rc = read_identity(token, g, err);
    return rc != 0 ? rc : check_catalog(c, token, err);
}

int cfr_openstack_grant(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in,
                        const struct cfr_wire_reply *reply, struct cfr_grant *g, struct cfr_err *err)
{
    const struct cfr_json *token;
    struct cfr_json *doc;
    int rc = parse(reply, &doc, err);

    if (rc != 0)
        return rc;
    token = cfr_json_get(doc, "token");
    if (!cfr_json_is_object(token))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer has no token document; check auth_url");
    if (rc == 0)
        rc = read_token(reply, g, err);
    if (rc == 0)
        rc = read_times(token, g, err);
    if (rc == 0 && !cfr_openstack_presents_token(x))
        rc = add_rest(x, in, token, g, err);
    cfr_json_free(doc);
    return rc;
}
