/* SPDX-License-Identifier: MIT */
/* The token endpoint of AKS identity bindings. */
#include "sts/azure/token_proxy_private.h"

#include "base/str.h"
#include "sts/azure/settings_private.h"
#include "wire/url.h"

#include <stdlib.h>
#include <string.h>

#define PROXY_VARIABLE  "AZURE_KUBERNETES_TOKEN_PROXY"
#define NAME_VARIABLE   "AZURE_KUBERNETES_SNI_NAME"
#define CA_PEM_VARIABLE "AZURE_KUBERNETES_CA_DATA"
#define PROXY_MAX       500

#define FIELD(member, kind)                                                                                            \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_azure_token_proxy, member)

static const struct cfr_field proxy_fields[] = {
    {FIELD(url, STRING), .variables = PROXY_VARIABLE, .flags = CFR_FIELD_REQUIRED, .min = 1, .max = PROXY_MAX,
     .doc = CFR_DOC("URL of the proxy, https only. The path of Entra ID's token endpoint is added.")},
    {FIELD(server_name, STRING), .variables = NAME_VARIABLE, .min = 1, .max = 253,
     .doc = CFR_DOC("The name to send in the TLS handshake (SNI), which the proxy's certificate must have. Default: "
                    "the URL's host.")},
    {FIELD(ca_file, STRING), .variables = CFR_AZURE_TOKEN_PROXY_CA_VARIABLE,
     .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust for the proxy. Default: as for the exchange.")},
    {.key = NULL},
};

static int check_url(const char *key, const char *text, struct cfr_err *err)
{
    struct cfr_url url;

    if (strlen(text) > PROXY_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it is longer than %d bytes", key, PROXY_MAX);
    if (cfr_url_parse(text, &url, err) != 0)
        return cfr_err_prefix(err, "%s", key);
    if (!url.tls)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it must begin with https://", key);
    if (memchr(url.path.p, '?', url.path.n) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has a query; write only https://HOST, with a path if needed",
                           key);
    return 0;
}

static int check_name(const char *key, const char *name, struct cfr_err *err)
{
    if (name == NULL || (strchr(name, ':') == NULL && cfr_url_host_ok(cfr_view_of(name))))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "%s: it must be the name of a host, without a port", key);
}

static int check_table(const void *node, struct cfr_err *err)
{
    const struct cfr_azure_token_proxy *c = node;
    int rc = check_url("url", c->url, err);

    return rc != 0 ? rc : check_name("server_name", c->server_name, err);
}

const struct cfr_table cfr_azure_token_proxy_table = {
    .name = "azure token proxy",
    .size = sizeof(struct cfr_azure_token_proxy),
    .fields = proxy_fields,
    .check = check_table,
    .doc = CFR_DOC("A server in the cluster that takes the token in place of Entra ID: AKS identity bindings."),
};

static const char *get(const char *(*env)(const char *), const char *variable)
{
    const char *value = env != NULL ? env(variable) : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static int from_environment(const char *(*env)(const char *), struct cfr_azure_token_proxy_settings *out,
                            struct cfr_err *err)
{
    struct cfr_azure_token_proxy_settings p = {
        .url = get(env, PROXY_VARIABLE),
        .server_name = get(env, NAME_VARIABLE),
        .ca_file = get(env, CFR_AZURE_TOKEN_PROXY_CA_VARIABLE),
        .ca_pem = get(env, CA_PEM_VARIABLE),
    };
    const char *other = p.server_name != NULL ? NAME_VARIABLE
                        : p.ca_file != NULL   ? CFR_AZURE_TOKEN_PROXY_CA_VARIABLE
                                              : CA_PEM_VARIABLE;
    int rc;

    if (p.url == NULL && (p.server_name != NULL || p.ca_file != NULL || p.ca_pem != NULL))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the environment has %s but not " PROXY_VARIABLE
                           ", so the token would go to Entra ID itself; set both or neither",
                           other);
    if (p.ca_file != NULL && p.ca_pem != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the environment has both " CFR_AZURE_TOKEN_PROXY_CA_VARIABLE " and " CA_PEM_VARIABLE
                           "; set only one of them");
    if (p.ca_pem != NULL && strstr(p.ca_pem, "-----BEGIN CERTIFICATE-----") == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, CA_PEM_VARIABLE ": it holds no certificate in PEM form");
    rc = p.url != NULL ? check_url(PROXY_VARIABLE, p.url, err) : 0;
    if (rc == 0)
        rc = check_name(NAME_VARIABLE, p.server_name, err);
    *out = p;
    return rc;
}

int cfr_azure_token_proxy_of(const struct cfr_azure *config, const char *(*env)(const char *),
                             struct cfr_azure_token_proxy_settings *out, struct cfr_err *err)
{
    const struct cfr_azure_token_proxy *c = config->token_proxy;

    *out = (struct cfr_azure_token_proxy_settings){.url = NULL};
    if (c != NULL)
        *out = (struct cfr_azure_token_proxy_settings){c->url, c->server_name, c->ca_file, NULL};
    else if (cfr_azure_client_assertion_of(config) == CFR_AZURE_FEDERATED)
        return from_environment(env, out, err);
    return 0;
}

int cfr_azure_token_proxy_apply(const struct cfr_azure_token_proxy_settings *p, struct cfr_wire_request *request,
                                struct cfr_err *err)
{
    struct cfr_str url = {.limit = CFR_URL_MAX};
    struct cfr_url entra;
    size_t n = p->url != NULL ? strlen(p->url) : 0;
    int rc = p->url != NULL ? cfr_url_parse(request->url, &entra, err) : 0;

    if (p->url == NULL || rc != 0)
        return rc;
    while (n != 0 && p->url[n - 1] == '/')
        n--;
    cfr_str_addf(&url, "%.*s%.*s", (int)n, p->url, (int)entra.path.n, entra.path.p);
    if (url.failed)
        return cfr_err_nomem(err);
    free(request->url);
    request->url = url.p;
    request->server_name = p->server_name;
    if (p->ca_file != NULL)
        request->ca_file = p->ca_file;
    request->ca_pem = cfr_view_of(p->ca_pem != NULL ? p->ca_pem : "");
    return 0;
}
