/* SPDX-License-Identifier: MIT */
/* Settings of an exchange with Azure: the tenant, the client, the token endpoint and the scopes, from the
 * configuration and, where it has none, from the environment. Pure. Source of hosts: the lists of known authorities of
 * the MSAL libraries; of environment variables: the Azure SDKs. */
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
#endif
