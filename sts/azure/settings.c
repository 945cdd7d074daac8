/* SPDX-License-Identifier: MIT */
/* Configuration before environment. */
#include "sts/azure/settings_private.h"

#include "wire/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_SUFFIX "/.default"

/* `hosts`: the one to call, then its other names, with blanks between. */
static const struct {
    enum cfr_azure_cloud cloud;
    const char *name; /* as in the table */
    const char *hosts;
    const char *arm;
} clouds[] = {
    {CFR_AZURE_PUBLIC, "public", "login.microsoftonline.com login.windows.net login.microsoft.com sts.windows.net",
     "https://management.azure.com/.default"},
    {CFR_AZURE_USGOV, "usgov", "login.microsoftonline.us login.usgovcloudapi.net",
     "https://management.usgovcloudapi.net/.default"},
    {CFR_AZURE_CHINA, "china", "login.partner.microsoftonline.cn login.chinacloudapi.cn",
     "https://management.chinacloudapi.cn/.default"},
    {CFR_AZURE_SOV_DE, "sov-de", "login.sovcloud-identity.de", NULL},
    {CFR_AZURE_SOV_FR, "sov-fr", "login.sovcloud-identity.fr", NULL},
    {CFR_AZURE_SOV_SG, "sov-sg", "login.sovcloud-identity.sg", NULL},
};
#define CLOUDS (sizeof clouds / sizeof clouds[0])

/* A value, and where it comes from. */
struct choice {
    const char *value;
    const char *from;
};

/* An empty variable counts as unset. */
static struct choice choose(const char *configured, const char *key, const char *(*env)(const char *),
                            const char *variable)
{
    const char *value = configured == NULL && env != NULL ? env(variable) : NULL;

    if (value != NULL && value[0] != '\0')
        return (struct choice){value, variable};
    return (struct choice){configured, key};
}

static bool is_guid(const char *text)
{
    for (size_t i = 0; i < 36; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

        if (hyphen ? text[i] != '-' : text[i] == '\0' || strchr("0123456789abcdefABCDEF", text[i]) == NULL)
            return false;
    }
    return text[36] == '\0';
}

bool cfr_azure_settings_is_adfs(const char *tenant)
{
    return tenant != NULL && strcasecmp(tenant, "adfs") == 0;
}

int cfr_azure_settings_check_tenant(const char *key, const char *tenant, struct cfr_err *err)
{
    if (tenant == NULL || is_guid(tenant) || cfr_azure_settings_is_adfs(tenant))
        return 0;
    if (strcasecmp(tenant, "common") == 0 || strcasecmp(tenant, "organizations") == 0 ||
        strcasecmp(tenant, "consumers") == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: `%s` means any tenant, and an application's token belongs to one; write the "
                           "tenant's ID",
                           key, tenant);
    for (const char *p = tenant; *p != '\0'; p++) {
        if (!cfr_view_is_alnum(*p) && *p != '.' && *p != '-')
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: character %td is not allowed; write the tenant's ID (a GUID) or one of its domains",
                               key, p - tenant + 1);
    }
    if (strchr(tenant, '.') == NULL || strlen(tenant) > 253 || !cfr_url_host_ok(cfr_view_of(tenant)))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "%s: it is neither a GUID nor a domain; write the tenant's ID, such as "
            "\"72f988bf-86f1-41af-91ab-2d7cd011db47\", or a domain of it, such as contoso.onmicrosoft.com",
            key);
    return 0;
}

int cfr_azure_settings_check_client(const char *key, const char *client, bool adfs, struct cfr_err *err)
{
    if (client == NULL || is_guid(client))
        return 0;
    if (adfs && client[0] != '\0' && strlen(client) <= 256 && cfr_view_printable(cfr_view_of(client)))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: it must be the application (client) ID, a GUID such as "
                       "\"11111111-2222-3333-4444-555555555555\", not the application's name",
                       key);
}

int cfr_azure_settings_check_scope(size_t number, const char *scope, struct cfr_err *err)
{
    size_t n = strlen(scope);

    if (strpbrk(scope, " \t\r\n,") != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "scopes: element %zu holds a blank or a comma; one token is for one resource, so write each "
                           "as a separate element",
                           number);
    if (n == 0 || n + sizeof DEFAULT_SUFFIX > CFR_AZURE_SCOPE_MAX || !cfr_view_printable(cfr_view_of(scope)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "scopes: element %zu must be a resource with /.default after it, such as "
                           "https://vault.azure.net/.default",
                           number);
    if (strcmp(scope, "openid") == 0 || strcmp(scope, "profile") == 0 || strcmp(scope, "offline_access") == 0 ||
        strcmp(scope, DEFAULT_SUFFIX) == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "scopes: element %zu, `%s`, names no resource; an application asks for a resource, such as "
                           "https://vault.azure.net/.default",
                           number, scope);
    return 0;
}

static bool has_host(const char *hosts, struct cfr_view host)
{
    char buf[128];

    while (*hosts != '\0') {
        size_t n = strcspn(hosts, " ");

        (void)snprintf(buf, sizeof buf, "%.*s", (int)n, hosts);
        if (cfr_view_is_nocase(host, buf))
            return true;
        hosts += n + (hosts[n] == ' ' ? 1 : 0);
    }
    return false;
}

/* Of the host called, or CLOUDS. */
static size_t cloud_of_host(struct cfr_view host)
{
    static const char regional[] = ".login.microsoft.com"; /* REGION.login.microsoft.com */
    struct cfr_view tail = {host.p + (host.n > sizeof regional - 1 ? host.n - (sizeof regional - 1) : 0),
                            sizeof regional - 1};
    size_t i = 0;

    if (host.n > tail.n && cfr_view_is_nocase(tail, regional))
        return 0;
    while (i < CLOUDS && !has_host(clouds[i].hosts, host))
        i++;
    return i;
}

static int parse_url(struct choice authority, struct cfr_azure_settings *out, size_t *cloud, struct cfr_err *err)
{
    struct cfr_url url;
    size_t n;

    /* The SDKs also take the variable without a scheme. */
    (void)snprintf(out->authority, sizeof out->authority, "%s%s",
                   strstr(authority.value, "://") == NULL && strcmp(authority.from, "authority_host") != 0 ? "https://"
                                                                                                           : "",
                   authority.value);
    n = strlen(out->authority);
    if (n + 1 == sizeof out->authority)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it is longer than %zu characters", authority.from, n - 1);
    if (cfr_url_parse(out->authority, &url, err) != 0)
        return cfr_err_prefix(err, "%s", authority.from);
    if (memchr(url.path.p, '?', url.path.n) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has a query; write only https://HOST/", authority.from);
    *cloud = cloud_of_host(url.host);
    while (n != 0 && out->authority[n - 1] == '/' && url.path.n != 0) {
        out->authority[--n] = '\0';
        url.path.n--;
    }
    if (*cloud != CLOUDS && url.path.n != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: it has a path; write only the host, for the tenant is set with tenant_id",
                           authority.from);
    out->tls = url.tls;
    return 0;
}

static int resolve_authority(const struct cfr_azure *config, const char *(*env)(const char *),
                             struct cfr_azure_settings *out, struct cfr_err *err)
{
    struct choice authority = {config->authority_host, "authority_host"};
    size_t chosen = 0;
    size_t found = 0;
    int rc;

    while (chosen < CLOUDS && (int)clouds[chosen].cloud != config->cloud)
        chosen++;
    if (chosen == CLOUDS)
        authority = choose(config->authority_host, "authority_host", env, "AZURE_AUTHORITY_HOST");
    if (authority.value == NULL) {
        size_t i = chosen < CLOUDS ? chosen : 0;

        (void)snprintf(out->authority, sizeof out->authority, "https://%.*s", (int)strcspn(clouds[i].hosts, " "),
                       clouds[i].hosts);
        out->tls = true;
        out->arm = clouds[i].arm;
        return 0;
    }
    rc = parse_url(authority, out, &found, err);
    if (rc != 0)
        return rc;
    if (chosen < CLOUDS && found != chosen)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "authority_host: it does not belong to the cloud `%s`; remove one of the two",
                           clouds[chosen].name);
    /* A host that is not Microsoft's may be a proxy of one: a gateway, or a test. */
    out->arm = clouds[found < CLOUDS ? found : 0].arm;
    return 0;
}

static int resolve_names(const struct cfr_azure *config, const char *(*env)(const char *),
                         struct cfr_azure_settings *out, struct cfr_err *err)
{
    struct choice tenant = choose(config->tenant_id, "tenant_id", env, "AZURE_TENANT_ID");
    struct choice client = choose(config->client_id, "client_id", env, "AZURE_CLIENT_ID");
    int rc;

    if (tenant.value == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "tenant_id: it is missing, and AZURE_TENANT_ID is not set; write the tenant's ID, a GUID");
    rc = cfr_azure_settings_check_tenant(tenant.from, tenant.value, err);
    if (rc != 0)
        return rc;
    if (client.value == NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "client_id: it is missing, and AZURE_CLIENT_ID is not set; write the application (client) ID, "
            "a GUID");
    out->tenant = tenant.value;
    out->client = client.value;
    out->adfs = cfr_azure_settings_is_adfs(tenant.value);
    return cfr_azure_settings_check_client(client.from, client.value, out->adfs, err);
}

static int check_adfs(const struct cfr_azure *config, const char *(*env)(const char *), struct cfr_err *err)
{
    if (config->cloud != CFR_AZURE_ENVIRONMENT ||
        choose(config->authority_host, "", env, "AZURE_AUTHORITY_HOST").value == NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "authority_host: the tenant `adfs` is your own AD FS server; write its URL here, without a cloud");
    if (config->acr.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "acr: Azure's registries know no tokens of an AD FS; leave it out");
    return 0;
}

int cfr_azure_settings_of(const struct cfr_azure *config, const char *(*env)(const char *),
                          struct cfr_azure_settings *out, struct cfr_err *err)
{
    int rc;

    *out = (struct cfr_azure_settings){0};
    rc = resolve_names(config, env, out, err);
    if (rc == 0 && out->adfs)
        rc = check_adfs(config, env, err);
    if (rc == 0)
        rc = resolve_authority(config, env, out, err);
    if (rc != 0)
        return rc;
    if (out->adfs)
        out->arm = NULL;
    if (config->scopes.count == 0 && out->arm == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "scopes: there is no default for %s; write the resource that is meant",
                           out->adfs ? "AD FS" : "this cloud");
    return 0;
}

const char *cfr_azure_settings_token_url(const struct cfr_azure_settings *place, char out[CFR_AZURE_URL_MAX])
{
    if (place->adfs)
        (void)snprintf(out, CFR_AZURE_URL_MAX, "%s/adfs/oauth2/token", place->authority);
    else
        (void)snprintf(out, CFR_AZURE_URL_MAX, "%s/%s/oauth2/v2.0/token", place->authority, place->tenant);
    return out;
}

size_t cfr_azure_settings_scopes(const struct cfr_azure *config)
{
    return config->scopes.count != 0 ? config->scopes.count : 1;
}

static bool ends_in_default(const char *scope)
{
    size_t n = strlen(scope);
    size_t suffix = strlen(DEFAULT_SUFFIX);

    return n >= suffix && strcmp(scope + n - suffix, DEFAULT_SUFFIX) == 0;
}

const char *cfr_azure_settings_scope(const struct cfr_azure *config, const struct cfr_azure_settings *place,
                                     size_t index, char out[CFR_AZURE_SCOPE_MAX])
{
    const char *scope = index < config->scopes.count ? config->scopes.items[index] : place->arm;
    bool has = ends_in_default(scope);

    /* The service cuts at the last slash, so the slash of a resource that ends in one has to stay: it is part
     * of the audience. AD FS takes the resource as it is. */
    if (place->adfs)
        (void)snprintf(out, CFR_AZURE_SCOPE_MAX, "%.*s", (int)(strlen(scope) - (has ? strlen(DEFAULT_SUFFIX) : 0)),
                       scope);
    else
        (void)snprintf(out, CFR_AZURE_SCOPE_MAX, "%s%s", scope, has ? "" : DEFAULT_SUFFIX);
    return out;
}

int cfr_azure_settings_registry_scope(const struct cfr_azure *config, const struct cfr_azure_settings *place)
{
    char scope[CFR_AZURE_SCOPE_MAX];
    int found = -1;

    for (size_t i = cfr_azure_settings_scopes(config); i-- > 0;) {
        struct cfr_view s = cfr_view_of(cfr_azure_settings_scope(config, place, i, scope));

        /* Registries can be configured to refuse tokens for the Resource Manager. */
        if (cfr_view_starts(s, "https://containerregistry."))
            return (int)i;
        if (cfr_view_starts(s, "https://management."))
            found = (int)i;
    }
    return found;
}
