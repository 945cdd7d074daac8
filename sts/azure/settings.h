/* SPDX-License-Identifier: MIT */
/* Who asks where for what: the tenant, the client, the token endpoint and the scopes, from the configuration
 * and, where that is silent, from the environment. Source of hosts: the lists of known authorities of the
 * MSAL libraries; of environment variables: the Azure SDKs. */
#ifndef CFR_STS_AZURE_SETTINGS_H
#define CFR_STS_AZURE_SETTINGS_H

#include "sts/azure/azure.h"

#define CFR_AZURE_AUTHORITY_MAX 512
#define CFR_AZURE_URL_MAX       1024
#define CFR_AZURE_SCOPE_MAX     1024 /* with its NUL */

/* Resolved; the pointers borrow from the configuration or the environment. */
struct cfr_azure_settings {
    const char *tenant;
    const char *client;
    char authority[CFR_AZURE_AUTHORITY_MAX]; /* URL without a slash at its end */
    bool tls;
    bool adfs;       /* AD FS instead of Entra ID: other paths, resources instead of scopes */
    const char *arm; /* the cloud's Resource Manager, a scope; NULL where it is not known */
};

/* Resolves and checks. ENV may be NULL. CFR_E_CONFIG; the text names the key or variable. */
int cfr_azure_settings_of(const struct cfr_azure *config, const char *(*env)(const char *),
                          struct cfr_azure_settings *out, struct cfr_err *err);
/* Writes the token endpoint's URL. Never cut: place_of has checked its parts. */
const char *cfr_azure_settings_token_url(const struct cfr_azure_settings *place, char out[CFR_AZURE_URL_MAX]);
/* How many scopes are asked for: those of the configuration, or 1, the cloud's Resource Manager. */
size_t cfr_azure_settings_scopes(const struct cfr_azure *config);
/* Writes scope INDEX as it is sent. */
const char *cfr_azure_settings_scope(const struct cfr_azure *config, const struct cfr_azure_settings *place,
                                     size_t index, char out[CFR_AZURE_SCOPE_MAX]);
/* The index of the scope whose token registries take, or -1. */
int cfr_azure_settings_registry_scope(const struct cfr_azure *config, const struct cfr_azure_settings *place);

/* The rules that need no environment, for one value each; KEY is for the text. NULL values pass. */
int cfr_azure_settings_check_tenant(const char *key, const char *tenant, struct cfr_err *err);
int cfr_azure_settings_check_client(const char *key, const char *client, bool adfs, struct cfr_err *err);
int cfr_azure_settings_check_scope(size_t number, const char *scope, struct cfr_err *err);
/* True for `adfs`. */
bool cfr_azure_settings_is_adfs(const char *tenant);

#endif
