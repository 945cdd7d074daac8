/* SPDX-License-Identifier: MIT */
/* The token endpoint of AKS identity bindings: a server in the cluster that takes the token request in place of Entra
 * ID. Pure. Source: the Azure SDK for Go, azidentity/internal/customtokenproxy; learn.microsoft.com, "identity
 * bindings". */
#ifndef CFR_STS_AZURE_TOKEN_PROXY_PRIVATE_H
#define CFR_STS_AZURE_TOKEN_PROXY_PRIVATE_H

#include "sts/azure/azure.h"

/* Names the CA file of the token proxy where the environment alone configures one. */
#define CFR_AZURE_TOKEN_PROXY_CA_VARIABLE "AZURE_KUBERNETES_CA_FILE"

/* Borrowed from the configuration or the environment. All NULL: Entra ID is called itself. */
struct cfr_azure_token_proxy_settings {
    const char *url;
    const char *server_name; /* NULL = the URL's host */
    const char *ca_file;     /* without it and ca_pem: as for the exchange */
    const char *ca_pem;
};

extern const struct cfr_table cfr_azure_token_proxy_table;

/* The configuration's token_proxy; without one that of the environment, where the exchange begins with a token. ENV
 * may be NULL. CFR_E_CONFIG; the text names the key or variable. */
int cfr_azure_token_proxy_of(const struct cfr_azure *config, const char *(*env)(const char *),
                             struct cfr_azure_token_proxy_settings *out, struct cfr_err *err);
/* Makes the request for a token, whose URL is set, one to the proxy P. CFR_E_NOMEM. */
int cfr_azure_token_proxy_apply(const struct cfr_azure_token_proxy_settings *p, struct cfr_wire_request *request,
                                struct cfr_err *err);

#endif
