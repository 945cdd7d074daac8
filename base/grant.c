/* SPDX-License-Identifier: MIT */
/* Grants: named secret values with one lifetime. */
#include "base/grant.h"

#include "base/field.h"
#include "base/field_private.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const struct cfr_grant_kind cfr_grant_kinds[] = {
    {.field = CFR_FIELD_AWS_ACCESS_KEY_ID, .kind = "aws"},
    {.field = CFR_FIELD_GCP_ACCESS_TOKEN, .kind = "gcp", .token = true, .cluster = 3},
    {.field = CFR_FIELD_AZURE_ACCESS_TOKEN, .kind = "azure", .token = true, .cluster = 2},
    {.field = CFR_FIELD_OPENSTACK_TOKEN, .kind = "openstack", .token = true},
    {.field = CFR_FIELD_OPENSTACK_AUTH_URL, .kind = "openstack"},
    {.field = CFR_FIELD_OAUTH_ACCESS_TOKEN, .kind = "oauth", .token = true, .cluster = 4},
    {.field = CFR_FIELD_GCP_ID_TOKEN, .kind = "gcp", .token = true, .subject = 3},
    {.field = CFR_FIELD_OAUTH_ID_TOKEN, .kind = "oauth", .token = true, .subject = 2, .cluster = 1},
    {.field = CFR_FIELD_REGISTRY_AUTHS, .kind = "registry"},
    {.field = CFR_FIELD_TOKEN, .kind = "token", .token = true, .subject = 1, .cluster = 5},
    {.field = NULL}};

/* Index of the field, or field_count. */
static size_t find(const struct cfr_grant *g, const char *name)
{
    size_t i = 0;

    while (i < g->field_count && strcmp(g->fields[i].name, name) != 0)
        i++;
    return i;
}

int cfr_grant_set(struct cfr_grant *g, const char *name, struct cfr_view value, struct cfr_err *err)
{
    size_t i = find(g, name);
    struct cfr_secret copy;
    char *own = NULL;
    int rc;

    if (i == CFR_GRANT_FIELDS_MAX)
        return cfr_err_set(err, CFR_E_LIMIT, "no room for the field %s", name);
    cfr_secret_init(&copy, CFR_GRANT_VALUE_MAX);
    rc = cfr_secret_append(&copy, value, err);
    if (rc == 0 && i == g->field_count) {
        own = strdup(name);
        if (own == NULL)
            rc = cfr_err_nomem(err);
    }
    if (rc != 0) {
        cfr_secret_free(&copy);
        return rc;
    }
    if (i == g->field_count)
        g->fields[g->field_count++] = (struct cfr_grant_field){.name = own};
    cfr_secret_move(&g->fields[i].value, &copy);
    return 0;
}

bool cfr_grant_has(const struct cfr_grant *g, const char *name)
{
    return find(g, name) < g->field_count;
}

struct cfr_view cfr_grant_get(const struct cfr_grant *g, const char *name)
{
    size_t i = find(g, name);

    return i < g->field_count ? cfr_secret_view(&g->fields[i].value) : (struct cfr_view){NULL, 0};
}

#define SECRET .shown = false
#define SHOWN  .shown = true
#define MANY   .many = true
#define ROW(name, text, kind)                                                                                          \
    {                                                                                                                  \
        .field = (name), .doc = CFR_DOC(text), kind                                                                    \
    }
const struct cfr_grant_name cfr_grant_names[] = {
    ROW(CFR_FIELD_TOKEN, "the service account's token", SECRET),
    ROW(CFR_FIELD_AWS_ACCESS_KEY_ID, "of a session or of a rotated key", SHOWN),
    ROW(CFR_FIELD_AWS_SECRET_ACCESS_KEY, "of a session or of a rotated key", SECRET),
    ROW(CFR_FIELD_AWS_SESSION_TOKEN, "of a session; a rotated key has none", SECRET),
    ROW(CFR_FIELD_AWS_ACCOUNT_ID, "12 digits", SHOWN),
    ROW(CFR_FIELD_AWS_REGION, "of the exchange, or the first of a rotated key's `regions`", SHOWN),
    ROW(CFR_FIELD_GCP_ACCESS_TOKEN, "an OAuth 2 access token", SECRET),
    ROW(CFR_FIELD_GCP_ID_TOKEN, "with `id_token_audience`", SECRET),
    ROW(CFR_FIELD_GCP_SERVICE_ACCOUNT, "email of a rotated key's service account", SHOWN),
    ROW(CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, "a rotated key, the JSON that SDKs read", SECRET),
    ROW(CFR_FIELD_AZURE_ACCESS_TOKEN, "for the first scope; `azure_access_token:SCOPE` for another one", MANY),
    ROW(CFR_FIELD_AZURE_TENANT_ID, "directory of the client", SHOWN),
    ROW(CFR_FIELD_AZURE_CLIENT_ID, "application or managed identity", SHOWN),
    ROW(CFR_FIELD_AZURE_SCOPE, "the first scope", SHOWN),
    ROW(CFR_FIELD_AZURE_AUTHORITY_HOST, "URL with a slash at its end", SHOWN),
    ROW(CFR_FIELD_AZURE_REGION, "of a mounted Secret that is exchanged", SHOWN),
    ROW(CFR_FIELD_AZURE_SUBSCRIPTION_ID, "of a mounted Secret that is exchanged", SHOWN),
    ROW(CFR_FIELD_AZURE_RESOURCEGROUP, "of a mounted Secret that is exchanged", SHOWN),
    ROW(CFR_FIELD_AZURE_RESOURCE_PREFIX, "of a mounted Secret that is exchanged", SHOWN),
    ROW(CFR_FIELD_AZURE_CLIENT_SECRET, "a rotated key", SECRET),
    ROW(CFR_FIELD_OPENSTACK_TOKEN, "a Keystone token", SECRET),
    ROW(CFR_FIELD_OPENSTACK_AUTH_URL, "URL that ends with /v3", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_USER_ID, "the token's user", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_PROJECT_ID, "of a token for a project", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_DOMAIN_ID, "of a token for a domain", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_SYSTEM_SCOPE, "`all`, of a token for the system", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_REGION_NAME, "of the exchange", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_INTERFACE, "public, internal or admin", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_CACERT, "path of the cloud's CA on this machine", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID, "of an exchange by one, or of a rotated one", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET, "of a rotated application credential", SECRET),
    ROW(CFR_FIELD_OPENSTACK_PASSWORD, "of an exchange by password", SECRET),
    ROW(CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER, "of an exchange by federation", SHOWN),
    ROW(CFR_FIELD_OPENSTACK_PROTOCOL, "of an exchange by federation", SHOWN),
    ROW(CFR_FIELD_IBM_API_KEY, "a rotated API key", SECRET),
    ROW(CFR_FIELD_IBM_API_KEY_ID, "of a rotated API key", SHOWN),
    ROW(CFR_FIELD_IBM_IAM_ID, "identity that a rotated API key authenticates", SHOWN),
    ROW(CFR_FIELD_IBM_ACCOUNT_ID, "account of that identity", SHOWN),
    ROW(CFR_FIELD_OAUTH_ACCESS_TOKEN, "of any OAuth 2 server", SECRET),
    ROW(CFR_FIELD_OAUTH_ID_TOKEN, "of any OpenID provider", SECRET),
    ROW(CFR_FIELD_REGISTRY_AUTHS, "the members of docker's `auths`, JSON without the outer braces", SECRET),
    ROW(CFR_FIELD_SERVICE_CERTIFICATE, "PEM, with the certificates that lead to older CAs", SHOWN),
    ROW(CFR_FIELD_SERVICE_KEY, "PEM, of the certificate", SECRET),
    ROW(CFR_FIELD_SERVICE_BUNDLE, "PEM, what clients verify certificates by", SHOWN),
    ROW(CFR_FIELD_KUBERNETES_SERVER, "URL of the API server that the token was requested from", SHOWN),
    ROW(CFR_FIELD_KUBERNETES_CA, "PEM, what that API server is verified by", SHOWN),
    ROW(CFR_FIELD_KUBERNETES_NAMESPACE, "of the requested token's service account", SHOWN),
    ROW(CFR_FIELD_SECRET_PREFIX, "`secret:KEY`: a key of a mounted Secret that is passed on", MANY),
    {.field = NULL}};

const char *cfr_grant_public_name(const char *field)
{
    return field[0] == CFR_FIELD_PRIVATE_PREFIX ? field + 1 : field;
}

const struct cfr_grant_name *cfr_grant_find_name(struct cfr_view name)
{
    for (const struct cfr_grant_name *row = cfr_grant_names; row->field != NULL; row++) {
        const char *field = cfr_grant_public_name(row->field);
        bool divided = strchr(field, ':') != NULL;
        size_t n = strlen(field);

        if (!divided && cfr_view_is(name, field))
            return row;
        if (row->many && cfr_view_starts(name, field) && name.n > n + !divided && (divided || name.p[n] == ':'))
            return row;
    }
    return NULL;
}

const char *cfr_grant_suggest_name(struct cfr_view name)
{
    const char *all[sizeof cfr_grant_names / sizeof cfr_grant_names[0]] = {NULL};

    for (size_t i = 0; cfr_grant_names[i].field != NULL; i++)
        all[i] = cfr_grant_public_name(cfr_grant_names[i].field);
    return cfr_field_suggest_choice(all, name);
}

bool cfr_grant_is_secret(const char *name)
{
    const struct cfr_grant_name *row = cfr_grant_names;

    while (row->field != NULL && strcmp(row->field, name) != 0)
        row++;
    return !row->shown;
}

/* Text between the quotes that follow "private_key" in JSON, still with its escapes. */
static struct cfr_view find_private_key(struct cfr_view json)
{
    static const char name[] = "\"private_key\"";
    ptrdiff_t at = cfr_view_find(json, name);
    struct cfr_view rest = {json.p, 0};
    ptrdiff_t quote;

    if (at < 0)
        return rest;
    rest = (struct cfr_view){json.p + at + sizeof name - 1, json.n - (size_t)at - (sizeof name - 1)};
    quote = cfr_view_find(rest, "\"");
    if (quote < 0)
        return (struct cfr_view){rest.p, 0};
    rest = (struct cfr_view){rest.p + quote + 1, rest.n - (size_t)quote - 1};
    quote = cfr_view_find(rest, "\"");
    return (struct cfr_view){rest.p, quote >= 0 ? (size_t)quote : rest.n};
}

/* Of a mounted Secret, the keys that are fields of ours: all others are its author's, and sent nowhere. */
static bool is_listed(const char *name)
{
    const size_t n = sizeof CFR_FIELD_SECRET_PREFIX - 1;
    const struct cfr_grant_name *row;

    if (strncmp(name, CFR_FIELD_SECRET_PREFIX, n) != 0)
        return cfr_grant_is_secret(name) && strcmp(name, CFR_FIELD_REGISTRY_AUTHS) != 0;
    row = cfr_grant_find_name(cfr_view_of(name + n));
    return row != NULL && !row->shown;
}

size_t cfr_grant_list_secrets(const struct cfr_grant *g, struct cfr_view out[CFR_GRANT_FIELDS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < g->field_count; i++) {
        struct cfr_view value = cfr_view_trim(cfr_secret_view(&g->fields[i].value));

        if (!is_listed(g->fields[i].name))
            continue;
        if (value.n != 0 && (value.p[0] == '{' || value.p[0] == '['))
            value = find_private_key(value);
        if (value.n != 0)
            out[n++] = value;
    }
    return n;
}

int cfr_grant_set_identity(struct cfr_grant *g, struct cfr_view identity, struct cfr_err *err)
{
    char *copy;

    if (identity.n > CFR_GRANT_IDENTITY_MAX || !cfr_view_printable(identity))
        return cfr_err_set(err, CFR_E_ANSWER, "the identity in the answer is too long or not printable");
    copy = cfr_str_dup(identity);
    if (copy == NULL)
        return cfr_err_nomem(err);
    free(g->identity);
    g->identity = copy;
    return 0;
}

void cfr_grant_free(struct cfr_grant *g)
{
    for (size_t i = 0; i < g->field_count; i++) {
        cfr_secret_free(&g->fields[i].value);
        free(g->fields[i].name);
    }
    free(g->identity);
    *g = (struct cfr_grant){0};
}

int cfr_grant_copy(struct cfr_grant *to, const struct cfr_grant *from, struct cfr_err *err)
{
    int rc = from->identity != NULL ? cfr_grant_set_identity(to, cfr_view_of(from->identity), err) : 0;

    for (size_t i = 0; rc == 0 && i < from->field_count; i++)
        rc = cfr_grant_set(to, from->fields[i].name, cfr_secret_view(&from->fields[i].value), err);
    to->issued_s = from->issued_s;
    to->expires_s = from->expires_s;
    to->refresh_s = from->refresh_s;
    if (rc != 0)
        cfr_grant_free(to);
    return rc;
}

void cfr_grant_move(struct cfr_grant *to, struct cfr_grant *from)
{
    if (to == from)
        return;
    cfr_grant_free(to);
    *to = *from;
    *from = (struct cfr_grant){0};
}
