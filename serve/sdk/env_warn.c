/* SPDX-License-Identifier: MIT */
/* Settings that take precedence over the variables of a credential: other variables, files that SDKs read first. */
#include "serve/sdk/env.h"

#include <stdio.h>
#include <string.h>

#define BIT(way)     (1U << CFR_SDK_ENV_##way)
#define AWS_SERVED   (BIT(AWS_CONTAINER) | BIT(AWS_IMDS))
#define AWS_ANY      (AWS_SERVED | BIT(AWS_FILE))
#define GCP_ANY      (BIT(GCP_METADATA) | BIT(GCP_FILE))
#define AZURE_SERVED (BIT(AZURE_APP_SERVICE) | BIT(AZURE_IMDS))
#define AZURE_ANY    (AZURE_SERVED | BIT(AZURE_FILE))

/* A variable that takes precedence over those of some ways; with VALUE only if it has this one. */
struct rival {
    unsigned ways;
    const char *name;
    const char *value;
    const char *why;
};

static const struct rival rivals[] = {
    {AWS_ANY, "AWS_ACCESS_KEY_ID", NULL, "every AWS SDK prefers keys in the environment"},
    {AWS_SERVED, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", NULL,
     "AWS SDKs prefer it to AWS_CONTAINER_CREDENTIALS_FULL_URI"},
    {BIT(AWS_IMDS), "AWS_CONTAINER_CREDENTIALS_FULL_URI", NULL,
     "AWS SDKs ask the container endpoint before EC2's metadata"},
    {BIT(AWS_CONTAINER), "AWS_CONTAINER_AUTHORIZATION_TOKEN", NULL,
     "the SDK for Java sends it instead of the content of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"},
    {AWS_ANY, "AWS_WEB_IDENTITY_TOKEN_FILE", NULL,
     "AWS SDKs assume AWS_ROLE_ARN with the token in it before they look at files and endpoints"},
    {AWS_SERVED, "AWS_PROFILE", NULL, "AWS SDKs then use this profile of a file and no endpoint"},
    {AWS_SERVED, "AWS_DEFAULT_PROFILE", NULL, "some AWS SDKs then use this profile of a file and no endpoint"},
    {AWS_SERVED, "AWS_SHARED_CREDENTIALS_FILE", NULL, "AWS SDKs prefer a default profile in it to an endpoint"},
    {AWS_SERVED, "AWS_CONFIG_FILE", NULL, "AWS SDKs prefer a default profile in it to an endpoint"},
    {BIT(AWS_IMDS), "AWS_EC2_METADATA_DISABLED", "true", "AWS SDKs then do not ask EC2's metadata"},
    {BIT(GCP_METADATA), "GOOGLE_APPLICATION_CREDENTIALS", NULL,
     "Google's client libraries prefer this file to the metadata server"},
    {BIT(GCP_METADATA), "NO_GCE_CHECK", "true", "Google's client libraries then do not look for the metadata server"},
    {BIT(GCP_METADATA), "GCE_METADATA_MTLS_MODE", "strict",
     "Google's client library for Python then refuses a metadata server of another address"},
    {GCP_ANY, "CLOUDSDK_AUTH_ACCESS_TOKEN", NULL, "gcloud prefers this token"},
    {GCP_ANY, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", NULL, "gcloud prefers the token in this file"},
    {BIT(GCP_METADATA), "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", NULL,
     "gcloud prefers this file to the metadata server"},
    {AZURE_SERVED, "AZURE_FEDERATED_TOKEN_FILE", NULL,
     "DefaultAzureCredential, and the managed identity of the SDKs for JavaScript and Java, trade the token in it "
     "instead of asking an endpoint"},
    {AZURE_ANY, "AZURE_CLIENT_SECRET", NULL, "DefaultAzureCredential logs in with this secret first"},
    {AZURE_ANY, "AZURE_CLIENT_CERTIFICATE_PATH", NULL, "DefaultAzureCredential logs in with this certificate first"},
    {AZURE_ANY, "AZURE_USERNAME", NULL, "DefaultAzureCredential logs in as this user first"},
    {AZURE_ANY, "AZURE_TOKEN_CREDENTIALS", NULL, "it limits what DefaultAzureCredential tries"},
    {AZURE_SERVED, "AZURE_CLIENT_ID", NULL, "it selects an identity, and only that with this client ID will do"},
    {BIT(AZURE_APP_SERVICE), "IDENTITY_SERVER_THUMBPRINT", NULL,
     "Azure SDKs then speak to Service Fabric, another protocol with the same variables"},
    {BIT(AZURE_IMDS), "IDENTITY_ENDPOINT", NULL, "Azure SDKs ask it before the instance metadata"},
    {BIT(AZURE_IMDS), "MSI_ENDPOINT", NULL, "Azure SDKs ask it before the instance metadata"},
    {BIT(OPENSTACK_FILE), "OS_AUTH_URL", NULL, "OpenStack clients mix it into what the file says"},
    {BIT(OPENSTACK_FILE), "OS_AUTH_TYPE", NULL, "OpenStack clients mix it into what the file says"},
    {BIT(OPENSTACK_FILE), "OS_TOKEN", NULL, "OpenStack clients mix it into what the file says"},
    {BIT(OPENSTACK_FILE), "OS_APPLICATION_CREDENTIAL_ID", NULL, "OpenStack clients mix it into what the file says"},
    {BIT(OPENSTACK_FILE), "OS_CLIENT_SECURE_FILE", NULL, "OpenStack clients lay this file over the other"},
    {BIT(DOCKER_FILE), "DOCKER_AUTH_CONFIG", NULL, "newer docker clients prefer the logins in it"},
};

/* A file that SDKs look into first; below the directory in BASE, or below $HOME/HOME. */
static const struct {
    unsigned ways;
    const char *base;
    const char *home;
    const char *name;
    const char *why;
} files[] = {
    {AWS_SERVED, NULL, ".aws", "credentials", "AWS SDKs prefer a default profile in it to an endpoint"},
    {AWS_SERVED, NULL, ".aws", "config", "AWS SDKs prefer a default profile with credentials in it to an endpoint"},
    {BIT(GCP_METADATA), "CLOUDSDK_CONFIG", ".config/gcloud", "application_default_credentials.json",
     "Google's client libraries prefer it to the metadata server"},
};

static unsigned ways_of(const struct cfr_sdk_env *e)
{
    unsigned ways = 0;

    for (size_t i = 0; i < e->count; i++)
        ways |= 1U << e->items[i].way;
    return ways;
}

static const char *find_variable(const struct cfr_sdk_env_place *place, const char *name)
{
    const char *value = place->env(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *cfr_sdk_env_overrides(const struct cfr_sdk_env *e, const char *name, const char *value)
{
    unsigned ways = ways_of(e);

    for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++) {
        const struct rival *r = &rivals[i];

        if ((r->ways & ways) != 0 && strcmp(r->name, name) == 0 && value[0] != '\0' &&
            cfr_sdk_env_find(e, name) == NULL && (r->value == NULL || cfr_view_is_nocase(cfr_view_of(value), r->value)))
            return r->why;
    }
    return NULL;
}

/* Why rival I takes precedence at PLACE, or NULL. */
static const char *why_overriding(const struct cfr_sdk_env *e, const struct cfr_sdk_env_place *place, size_t i)
{
    const char *value = find_variable(place, rivals[i].name);

    return value != NULL ? cfr_sdk_env_overrides(e, rivals[i].name, value) : NULL;
}

static void warn_of_variables(const struct cfr_sdk_env *e, const struct cfr_sdk_env_place *place, const char *remedy,
                              struct cfr_str *out)
{
    for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++) {
        const char *why = why_overriding(e, place, i);

        if (why != NULL)
            cfr_str_addf(out, "%s is set and takes precedence: %s; %s\n", rivals[i].name, why, remedy);
    }
}

void cfr_sdk_env_overriding(const struct cfr_sdk_env *e, const struct cfr_sdk_env_place *place, struct cfr_str *out)
{
    for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++) {
        if (why_overriding(e, place, i) != NULL)
            cfr_str_addf(out, "%s\n", rivals[i].name);
    }
}

static void warn_of_files(const struct cfr_sdk_env_place *place, unsigned ways, struct cfr_str *out)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *base = files[i].base != NULL ? find_variable(place, files[i].base) : NULL;
        const char *home = find_variable(place, "HOME");
        char path[4096];
        int n;

        if ((files[i].ways & ways) == 0 || (base == NULL && home == NULL))
            continue;
        if (base != NULL)
            n = snprintf(path, sizeof path, "%s/%s", base, files[i].name);
        else
            n = snprintf(path, sizeof path, "%s/%s/%s", home, files[i].home, files[i].name);
        if (n > 0 && (size_t)n < sizeof path && place->exists(path))
            cfr_str_addf(out, "%s exists and may take precedence: %s\n", path, files[i].why);
    }
}

/* The host of an endpoint's URL or address, without its port. */
static struct cfr_view host_of(const char *value)
{
    struct cfr_view v = cfr_view_of(value);
    const char *end;

    if (cfr_view_starts(v, "http://"))
        v = (struct cfr_view){v.p + 7, v.n - 7};
    if (cfr_view_starts(v, "[")) {
        v = (struct cfr_view){v.p + 1, v.n - 1};
        end = memchr(v.p, ']', v.n);
    } else {
        end = memchr(v.p, ':', v.n);
    }
    return end != NULL ? (struct cfr_view){v.p, (size_t)(end - v.p)} : v;
}

/* As far as all clients understand: the address itself, everything, or the loopback network. */
static bool listed(const char *no_proxy, struct cfr_view host)
{
    const char *p = no_proxy;

    while (p != NULL && *p != '\0') {
        size_t n = strcspn(p, ",");
        struct cfr_view item = cfr_view_trim((struct cfr_view){p, n});

        if (cfr_view_is(item, "*") || cfr_view_eq(item, host) ||
            (cfr_view_starts(host, "127.") && cfr_view_is(item, "127.0.0.0/8")))
            return true;
        p += n + (p[n] == ',' ? 1 : 0);
    }
    return false;
}

static void warn_of_proxies(const struct cfr_sdk_env *e, const struct cfr_sdk_env_place *place, struct cfr_str *out)
{
    static const char *const proxies[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
    const char *set = NULL;

    for (size_t i = 0; set == NULL && i < sizeof proxies / sizeof proxies[0]; i++)
        set = find_variable(place, proxies[i]) != NULL ? proxies[i] : NULL;
    for (size_t i = 0; set != NULL && i < e->count; i++) {
        const struct cfr_sdk_env_variable *v = &e->items[i];
        struct cfr_view host = host_of(v->value);

        if (!cfr_view_starts(cfr_view_of(v->value), "http://") && strcmp(v->name, "GCE_METADATA_HOST") != 0)
            continue;
        if (!listed(find_variable(place, "no_proxy"), host) && !listed(find_variable(place, "NO_PROXY"), host)) {
            cfr_str_addf(
                out, "%s is set: some SDKs would ask the proxy for the endpoint; add %.*s to no_proxy and NO_PROXY\n",
                set, (int)host.n, host.p);
            return;
        }
    }
}

void cfr_sdk_env_warn(const struct cfr_sdk_env *e, const struct cfr_sdk_env_place *place, const char *remedy,
                      struct cfr_str *out)
{
    if (remedy != NULL)
        warn_of_variables(e, place, remedy, out);
    if (place->exists != NULL)
        warn_of_files(place, ways_of(e), out);
    warn_of_proxies(e, place, out);
}
