/* SPDX-License-Identifier: MIT */
/* The configuration of the Azure provider: its table, and the rules that need no environment. */
#include "sts/azure/azure_private.h"
#include "sts/azure/settings_private.h"
#include "sts/azure/token_proxy_private.h"
#include "sts/core/docker_auths.h"
#include "wire/url.h"

#include <string.h>
#include <strings.h>

static const char *const cloud_names[] = {"environment", "public", "usgov",  "china",
                                          "sov-de",      "sov-fr", "sov-sg", NULL};

#define FIELD(member, kind) .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_azure, member)

static const struct cfr_field azure_fields[] = {
    {FIELD(tenant_id, STRING), .variables = "AZURE_TENANT_ID TENANTID", .min = 4, .max = 253,
     .doc = CFR_DOC("The tenant of the application: its ID (a GUID) or one of its domains; `adfs` for an AD FS of "
                    "your own. "
                    "Default: `AZURE_TENANT_ID`. One of both is required.")},
    {FIELD(client_id, STRING), .variables = "AZURE_CLIENT_ID CLIENTID", .min = 1, .max = 256,
     .doc = CFR_DOC("The application (client) ID of the app registration or of the user-assigned managed identity, a "
                    "GUID. "
                    "Default: `AZURE_CLIENT_ID`. One of both is required.")},
    {FIELD(scopes, STRINGS), .max = CFR_AZURE_STEPS_MAX,
     .doc = CFR_DOC("What the tokens are for, one token for each: a resource, to which `/.default` is added if it is "
                    "missing. A slash at the resource's end is kept. Most formats publish the first token. Default: "
                    "the cloud's Resource Manager (`https://management.azure.com/.default`).")},
    {FIELD(cloud, ENUM), .fallback = "environment", .choices = cloud_names,
     .doc = CFR_DOC("The cloud, which determines the authority host and the default scope. `environment` means "
                    "`AZURE_AUTHORITY_HOST`, else the public cloud. Not together with an `authority_host` of another "
                    "cloud.")},
    {FIELD(authority_host, STRING), .variables = "AZURE_AUTHORITY_HOST", .min = 1, .max = 500,
     .doc = CFR_DOC("URL of the authority, without the tenant, for a private or a regional one. https, or http to "
                    "127.0.0.0/8, "
                    "[::1] or localhost. Default: that of `cloud`.")},
    {FIELD(token_proxy, MAP), .variables = "AZURE_KUBERNETES_TOKEN_PROXY", .table = &cfr_azure_token_proxy_table,
     .doc = CFR_DOC("Where to send the token in place of the authority: the proxy of AKS identity bindings. "
                    "Default: `AZURE_KUBERNETES_TOKEN_PROXY`, with `AZURE_KUBERNETES_SNI_NAME`, and "
                    "`AZURE_KUBERNETES_CA_FILE` or `AZURE_KUBERNETES_CA_DATA`.")},
    {FIELD(client_secret_file, STRING), .variables = "AZURE_CLIENT_SECRET", .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with a client secret (its value, not its ID) to use instead of a token. A new one is used as "
                    "soon as it is written there.")},
    {FIELD(certificate_file, STRING), .variables = "AZURE_CLIENT_CERTIFICATE_PATH",
     .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("PEM file with the certificate that is registered for the application, the leaf "
                    "first, and its RSA private key (2048 to 4096 bits) unless that is in `key_file`. "
                    "Used instead of a token.")},
    {FIELD(key_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("PEM file with the private key, not encrypted, if it is not in `certificate_file`.")},
    {FIELD(send_certificate_chain, BOOL), .fallback = "false",
     .doc = CFR_DOC("Also send all certificates of `certificate_file` (`x5c`), for applications that "
                    "trust a subject name and an issuer instead of one certificate.")},
    {FIELD(acr, STRINGS), .max = CFR_AZURE_STEPS_MAX - 1,
     .doc = CFR_DOC(
         "Azure container registries to log in to, such as `myregistry.azurecr.io`, for the format `docker-config`. "
         "The token is that for `https://containerregistry.azure.net/.default`, else the Resource Manager's. Default "
         "in `image_credentials`: the image's host, below azurecr.io, azurecr.cn or azurecr.us.")},
    {FIELD(acr_endpoint, STRING), .min = 1, .max = 500,
     .doc = CFR_DOC("URL to call instead of `https://REGISTRY` for every registry of `acr`: a gateway, or a "
                    "compatible server. In `image_credentials` it is called whatever the host of the image is.")},
    {FIELD(ca_file, STRING), .variables = "SSL_CERT_FILE", .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust for this exchange instead of the system's.")},
    {.key = NULL},
};

/* Settings that would be without effect are refused rather than ignored. */
static int check_proof(const struct cfr_azure *c, struct cfr_err *err)
{
    if (c->client_secret_file != NULL && c->certificate_file != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "certificate_file: there is also a client_secret_file, and only one of them can be shown; "
                           "leave one out");
    if (c->token_proxy != NULL && (c->client_secret_file != NULL || c->certificate_file != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "token_proxy: it only takes tokens, and there is a %s; leave one out",
                           c->client_secret_file != NULL ? "client_secret_file" : "certificate_file");
    if (c->key_file != NULL && c->certificate_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "key_file: it has no effect without certificate_file; write the certificate's path there");
    if (c->send_certificate_chain && c->certificate_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "send_certificate_chain: it has no effect without certificate_file; leave it out");
    return 0;
}

/* With and without the suffix a scope is the same. */
static bool same_scope(const char *a, const char *b)
{
    static const char suffix[] = "/.default";
    size_t n = strlen(a);
    size_t m = strlen(b);

    if (n > m)
        return same_scope(b, a);
    return strncmp(a, b, n) == 0 && (b[n] == '\0' || strcmp(b + n, suffix) == 0);
}

static int check_scopes(const struct cfr_azure *c, struct cfr_err *err)
{
    for (size_t i = 0; i < c->scopes.count; i++) {
        int rc = cfr_azure_settings_check_scope(i + 1, c->scopes.items[i], err);

        if (rc != 0)
            return rc;
        for (size_t k = 0; k < i; k++) {
            if (same_scope(c->scopes.items[k], c->scopes.items[i]))
                return cfr_err_set(err, CFR_E_CONFIG, "scopes: elements %zu and %zu are the same; leave one out", k + 1,
                                   i + 1);
        }
    }
    if (cfr_azure_settings_scopes(c) + c->acr.count > CFR_AZURE_STEPS_MAX)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "scopes: together with acr there are %zu, and one credential can have %d; make a second "
                           "credential",
                           cfr_azure_settings_scopes(c) + c->acr.count, CFR_AZURE_STEPS_MAX);
    return 0;
}

static int check_acr(const struct cfr_azure *c, struct cfr_err *err)
{
    struct cfr_url url;

    for (size_t i = 0; i < c->acr.count; i++) {
        if (!cfr_docker_auths_host_ok(cfr_view_of(c->acr.items[i])))
            return cfr_err_set(err, CFR_E_CONFIG,
                               "acr: element %zu must be the host of a registry alone, such as myregistry.azurecr.io",
                               i + 1);
        for (size_t k = 0; k < i; k++) {
            if (strcasecmp(c->acr.items[k], c->acr.items[i]) == 0)
                return cfr_err_set(err, CFR_E_CONFIG, "acr: elements %zu and %zu are the same; leave one out", k + 1,
                                   i + 1);
        }
    }
    if (c->acr_endpoint == NULL)
        return 0;
    if (cfr_url_parse(c->acr_endpoint, &url, err) != 0)
        return cfr_err_prefix(err, "acr_endpoint");
    return memchr(url.path.p, '?', url.path.n) == NULL
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG, "acr_endpoint: it has a query; write only https://HOST");
}

static int check_azure(const void *node, struct cfr_err *err)
{
    const struct cfr_azure *c = node;
    int rc = cfr_azure_settings_check_tenant("tenant_id", c->tenant_id, err);

    if (rc == 0 && c->tenant_id != NULL)
        rc = cfr_azure_settings_check_client("client_id", c->client_id, cfr_azure_settings_is_adfs(c->tenant_id), err);
    if (rc == 0)
        rc = check_proof(c, err);
    if (rc == 0)
        rc = check_scopes(c, err);
    return rc != 0 ? rc : check_acr(c, err);
}

const struct cfr_table cfr_azure_table = {
    .name = "azure exchange",
    .size = sizeof(struct cfr_azure),
    .fields = azure_fields,
    .check = check_azure,
    .doc = CFR_DOC("Access tokens of Microsoft Entra ID (Azure AD) for an application or a managed identity, in "
                   "exchange for the "
                   "token (workload identity federation), a client secret or a certificate."),
};
