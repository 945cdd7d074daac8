/* SPDX-License-Identifier: MIT */
/* Azure (Microsoft Entra ID, or AD FS): an access token for each scope, by client credentials, and logins to
 * Azure container registries. The caller proves itself with a Kubernetes token, a client secret or a
 * certificate. */
#ifndef CFR_STS_AZURE_AZURE_H
#define CFR_STS_AZURE_AZURE_H

#include "sts/core/provider.h"

/* Requests of one exchange: one for each scope and one for each registry. */
#define CFR_AZURE_STEPS_MAX 8

/* In the order of the choices in the table. */
enum cfr_azure_cloud {
    CFR_AZURE_ENVIRONMENT, /* AZURE_AUTHORITY_HOST, else the public cloud */
    CFR_AZURE_PUBLIC,
    CFR_AZURE_USGOV,
    CFR_AZURE_CHINA,
    CFR_AZURE_SOV_DE,
    CFR_AZURE_SOV_FR,
    CFR_AZURE_SOV_SG,
};

/* `token_proxy:` */
struct cfr_azure_token_proxy {
    struct cfr_node node;
    char *url;
    char *server_name;
    char *ca_file;
};

/* `exchange: azure:` */
struct cfr_azure {
    struct cfr_node node;
    char *tenant_id;
    char *client_id;
    struct cfr_strings scopes;
    int cloud; /* enum cfr_azure_cloud */
    char *authority_host;
    struct cfr_azure_token_proxy *token_proxy; /* NULL = by the environment */
    char *client_secret_file;
    char *certificate_file;
    char *key_file;
    bool send_certificate_chain;
    struct cfr_strings acr;
    char *acr_endpoint;
    char *ca_file;
};

extern const struct cfr_sts_provider cfr_azure_provider;

#endif
