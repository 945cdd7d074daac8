/* SPDX-License-Identifier: MIT */
/* The configuration of the OpenStack provider: its table, and the rules across its keys. */
#include "sts/openstack/openstack.h"

#include "sts/openstack/openstack_private.h"

#include <stdlib.h>
#include <string.h>

/* What Keystone's own tables hold. */
#define ID_MAX   64
#define NAME_MAX 255

static const char *const systems[] = {"none", "all", NULL};

#define TEXT(member, most)                                                                                             \
    .key = #member, .type = CFR_FIELD_STRING, .offset = offsetof(struct cfr_openstack, member), .min = 1, .max = (most)
#define PATH(member) .key = #member, .type = CFR_FIELD_STRING, .offset = offsetof(struct cfr_openstack, member)

static const struct cfr_field fields[] = {
    {TEXT(auth_url, CFR_URL_MAX), .variables = "OS_AUTH_URL",
     .doc = CFR_DOC("URL of Keystone, with or without its last part `/v3`, such as "
                    "`https://keystone.example.com:5000/v3`. "
                    "https, or http to 127.0.0.0/8, [::1] or localhost. Required, "
                    "except with a `secret` that has it.")},
    {TEXT(application_credential_id, ID_MAX), .variables = "OS_APPLICATION_CREDENTIAL_ID",
     .doc = CFR_DOC("Id of the application credential to authenticate with. "
                    "It is bound to one user and project, so no other "
                    "key names them.")},
    {TEXT(application_credential_name, NAME_MAX), .variables = "OS_APPLICATION_CREDENTIAL_NAME",
     .doc = CFR_DOC("Name of the application credential, if its id is unknown. Needs its owner: "
                    "`user_id`, or `username` with the user's domain.")},
    {PATH(application_credential_secret_file), .variables = "OS_APPLICATION_CREDENTIAL_SECRET",
     .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with the secret of the application credential. It is read before every "
                    "exchange.")},
    {TEXT(user_id, ID_MAX), .variables = "OS_USER_ID",
     .doc = CFR_DOC("Id of the user that logs in with a password, or that owns the application "
                    "credential that is given by name.")},
    {TEXT(username, NAME_MAX), .variables = "OS_USERNAME",
     .doc = CFR_DOC("Name of the user, instead of `user_id`. Needs `user_domain_id` or "
                    "`user_domain_name`.")},
    {TEXT(user_domain_id, ID_MAX), .variables = "OS_USER_DOMAIN_ID OS_DEFAULT_DOMAIN_ID",
     .doc = CFR_DOC("Id of the domain that `username` belongs to, often `default`.")},
    {TEXT(user_domain_name, ID_MAX), .variables = "OS_USER_DOMAIN_NAME OS_DEFAULT_DOMAIN_NAME",
     .doc = CFR_DOC("Name of the domain that `username` belongs to, often `Default`.")},
    {PATH(password_file), .variables = "OS_PASSWORD", .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with the user's password. It is read before every exchange. Prefer an "
                    "application credential: it can be limited, and revoked separately.")},
    {TEXT(identity_provider, ID_MAX),
     .doc = CFR_DOC("Id of the identity provider in Keystone that represents the issuer of the "
                    "credential's `token:`. The token is exchanged as by `v3oidcaccesstoken`.")},
    {TEXT(protocol, ID_MAX),
     .doc = CFR_DOC("Id of the federation protocol of `identity_provider`, often `openid` or `mapped`.")},
    {TEXT(project_id, ID_MAX), .variables = "OS_PROJECT_ID",
     .doc = CFR_DOC("Id of the project that the token is for. Not with an application credential, "
                    "which has its own.")},
    {TEXT(project_name, ID_MAX), .variables = "OS_PROJECT_NAME",
     .doc = CFR_DOC("Name of the project that the token is for. Needs `project_domain_id` or "
                    "`project_domain_name`.")},
    {TEXT(project_domain_id, ID_MAX), .variables = "OS_PROJECT_DOMAIN_ID OS_DEFAULT_DOMAIN_ID",
     .doc = CFR_DOC("Id of the domain that `project_name` belongs to, often `default`.")},
    {TEXT(project_domain_name, ID_MAX), .variables = "OS_PROJECT_DOMAIN_NAME OS_DEFAULT_DOMAIN_NAME",
     .doc = CFR_DOC("Name of the domain that `project_name` belongs to, often `Default`.")},
    {TEXT(domain_id, ID_MAX), .variables = "OS_DOMAIN_ID",
     .doc = CFR_DOC("Id of the domain that the token is for, instead of a project.")},
    {TEXT(domain_name, ID_MAX), .variables = "OS_DOMAIN_NAME",
     .doc = CFR_DOC("Name of the domain that the token is for, instead of a project.")},
    {.key = "system_scope",
     .variables = "OS_SYSTEM_SCOPE",
     .type = CFR_FIELD_ENUM,
     .offset = offsetof(struct cfr_openstack, system_scope),
     .fallback = "none",
     .choices = systems,
     .doc = CFR_DOC("`all` requests a token for the deployment itself, instead of a project.")},
    {TEXT(region_name, NAME_MAX), .variables = "OS_REGION_NAME",
     .doc = CFR_DOC("Region whose services the consumer uses; written by the formats clouds-yaml and clouds-conf.")},
    {.key = "interface",
     .variables = "OS_INTERFACE OS_ENDPOINT_TYPE",
     .type = CFR_FIELD_ENUM,
     .offset = offsetof(struct cfr_openstack, interface),
     .fallback = "public",
     .choices = cfr_openstack_interfaces,
     .doc = CFR_DOC("Interface of the services' endpoints that the consumer uses; written by the formats "
                    "clouds-yaml and clouds-conf.")},
    {PATH(ca_file), .variables = "OS_CACERT", .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust for this exchange instead of the system's. The formats "
                    "clouds-yaml and clouds-conf also name this file, unless they set `cacert`.")},
    {.key = "catalog",
     .type = CFR_FIELD_BOOL,
     .offset = offsetof(struct cfr_openstack, catalog),
     .fallback = "false",
     .doc = CFR_DOC("Also request the catalog of services, and refuse a token whose catalog has no "
                    "endpoint with this `interface` in `region_name`.")},
    {.key = NULL},
};

static int refuse(struct cfr_err *err, const char *key, const char *why)
{
    return cfr_err_set(err, CFR_E_CONFIG, "%s: %s", key, why);
}

/* One thing that has a name or an id; the name needs a domain, which has a name or an id too. */
struct named {
    const char *id_key;
    const char *id;
    const char *name_key;
    const char *name;
    const char *domain_id_key;
    const char *domain_id;
    const char *domain_name_key;
    const char *domain_name;
};

static struct named user_of(const struct cfr_openstack *c)
{
    return (struct named){"user_id",        c->user_id,        "username",         c->username,
                          "user_domain_id", c->user_domain_id, "user_domain_name", c->user_domain_name};
}

static struct named project_of(const struct cfr_openstack *c)
{
    return (struct named){"project_id",        c->project_id,        "project_name",        c->project_name,
                          "project_domain_id", c->project_domain_id, "project_domain_name", c->project_domain_name};
}

/* The first key of it that is set, or NULL. */
static const char *first_key(const struct named *n)
{
    return n->id != NULL          ? n->id_key
           : n->name != NULL      ? n->name_key
           : n->domain_id != NULL ? n->domain_id_key
                                  : (n->domain_name != NULL ? n->domain_name_key : NULL);
}

static int check_named(const struct named *n, struct cfr_err *err)
{
    const char *domain_key = n->domain_id != NULL ? n->domain_id_key : n->domain_name_key;
    bool domain = n->domain_id != NULL || n->domain_name != NULL;

    if (n->id != NULL && n->name != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: %s says the same; remove one of them", n->name_key, n->id_key);
    if (n->domain_id != NULL && n->domain_name != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: %s says the same; remove one of them", n->domain_name_key,
                           n->domain_id_key);
    if (domain && n->name == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has no effect without %s; remove it", domain_key, n->name_key);
    if (n->name != NULL && !domain)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: names are unique in a domain only; add %s or %s, or write %s instead", n->name_key,
                           n->domain_id_key, n->domain_name_key, n->id_key);
    return 0;
}

/* The first key that asks for a scope, or NULL. */
static const char *scope_key(const struct cfr_openstack *c)
{
    struct named project = project_of(c);
    const char *key = first_key(&project);

    return key != NULL              ? key
           : c->domain_id != NULL   ? "domain_id"
           : c->domain_name != NULL ? "domain_name"
                                    : (c->system_scope != CFR_OPENSTACK_SYSTEM_NONE ? "system_scope" : NULL);
}

static int check_scope(const struct cfr_openstack *c, struct cfr_err *err)
{
    struct named project = project_of(c);
    bool system = c->system_scope != CFR_OPENSTACK_SYSTEM_NONE;
    int count = (first_key(&project) != NULL) + (c->domain_id != NULL) + (c->domain_name != NULL) + system;

    if (count == 0)
        return refuse(err, "project_id",
                      "it is missing; a token that is for nothing is good for nothing: write "
                      "project_id, project_name with its domain, domain_id, domain_name or "
                      "`system_scope: all`");
    if (count > 1)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: a token is for one project, or one domain, or the system; remove the others",
                           scope_key(c));
    return check_named(&project, err);
}

static int check_application_credential(const struct cfr_openstack *c, struct cfr_err *err)
{
    struct named user = user_of(c);
    const char *scope = scope_key(c);

    if (scope != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: an application credential is for the project in which it was made, and Keystone "
                           "refuses a request that names any; remove it",
                           scope);
    if (c->application_credential_id != NULL && c->application_credential_name != NULL)
        return refuse(err, "application_credential_name",
                      "application_credential_id says the same; remove one of them");
    if (c->application_credential_id != NULL)
        return first_key(&user) == NULL
                   ? 0
                   : cfr_err_set(err, CFR_E_CONFIG,
                                 "%s: application_credential_id says whose it is; remove this, or write "
                                 "application_credential_name in place of the id",
                                 first_key(&user));
    if (c->application_credential_name == NULL)
        return refuse(err, "application_credential_id",
                      "it is missing; write it, or application_credential_name with its owner");
    if (c->user_id == NULL && c->username == NULL)
        return refuse(err, "application_credential_name",
                      "names are unique for a user only; add user_id, or username with user_domain_name");
    return check_named(&user, err);
}

static int check_password(const struct cfr_openstack *c, struct cfr_err *err)
{
    struct named user = user_of(c);
    int rc;

    if (c->user_id == NULL && c->username == NULL)
        return refuse(err, "password_file", "its user is missing; add user_id, or username with user_domain_name");
    rc = check_named(&user, err);
    return rc != 0 ? rc : check_scope(c, err);
}

static bool path_segment(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    return text[strspn(text, plain)] == '\0' && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

static int check_federation(const struct cfr_openstack *c, struct cfr_err *err)
{
    static const char letters[] = "it becomes a part of a URL and may have only letters, digits, `-`, `.`, `_` and `~`";
    struct named user = user_of(c);

    if (c->identity_provider == NULL)
        return refuse(err, "identity_provider", "it is missing; protocol needs it");
    if (c->protocol == NULL)
        return refuse(err, "protocol", "it is missing; identity_provider needs it");
    if (!path_segment(c->identity_provider))
        return refuse(err, "identity_provider", letters);
    if (!path_segment(c->protocol))
        return refuse(err, "protocol", letters);
    if (first_key(&user) != NULL)
        return refuse(err, first_key(&user),
                      "with identity_provider Keystone's mapping says who the user is; remove it");
    return check_scope(c, err);
}

static int check_way(const struct cfr_openstack *c, struct cfr_err *err)
{
    switch (cfr_openstack_way_of(c)) {
    case CFR_OPENSTACK_APPLICATION_CREDENTIAL:
        return check_application_credential(c, err);
    case CFR_OPENSTACK_PASSWORD:
        return check_password(c, err);
    case CFR_OPENSTACK_FEDERATION:
        return check_federation(c, err);
    case CFR_OPENSTACK_NO_WAY:
        break;
    }
    return refuse(err, "auth_url",
                  "needs exactly one way of authentication: application_credential_id with "
                  "application_credential_secret_file, or user_id with password_file, or identity_provider with "
                  "protocol and a `token:`");
}

int cfr_openstack_check(const struct cfr_openstack *c, struct cfr_err *err)
{
    struct cfr_url url;
    struct cfr_view base = {NULL, 0};
    int rc;

    if (c->auth_url == NULL)
        return refuse(err, "auth_url",
                      "it is missing; write the URL of Keystone, such as \"https://keystone.example.com:5000/v3\"");
    rc = cfr_openstack_base(c, &url, &base, err);
    if (rc != 0)
        return cfr_err_prefix(err, "auth_url");
    if (c->ca_file != NULL && !url.tls)
        return refuse(err, "ca_file", "it has no effect with an http auth_url; leave it out");
    if (c->catalog && c->region_name == NULL)
        return refuse(err, "catalog", "its endpoints are chosen by region; add region_name, or leave it out");
    return check_way(c, err);
}

static int check_openstack(const void *node, struct cfr_err *err)
{
    const struct cfr_openstack *c = node;
    int rc = cfr_openstack_check(c, err);

    if (rc != 0)
        return rc;
    switch (cfr_openstack_way_of(c)) {
    case CFR_OPENSTACK_APPLICATION_CREDENTIAL:
        if (c->application_credential_secret_file == NULL)
            return refuse(err, "application_credential_secret_file",
                          "it is missing; write the path of the file that holds the secret");
        return 0;
    case CFR_OPENSTACK_PASSWORD:
        if (c->password_file == NULL)
            return refuse(err, "password_file", "it is missing; write the path of the file that holds the password");
        return 0;
    case CFR_OPENSTACK_FEDERATION:
    case CFR_OPENSTACK_NO_WAY:
        break;
    }
    return 0;
}

const struct cfr_table cfr_openstack_table = {
    .name = "openstack exchange",
    .size = sizeof(struct cfr_openstack),
    .fields = fields,
    .check = check_openstack,
    .late = true,
    .doc = CFR_DOC("Authentication at OpenStack Keystone (v3) for a token of a project: by an application "
                   "credential, by a "
                   "password, or by exchange of the credential's `token:` where Keystone federates with its issuer."),
};
