/* SPDX-License-Identifier: MIT */
/* What of the settings only the Azure provider asks: the token endpoint, the scopes, and the rules of one value each.
 */
#ifndef CFR_STS_AZURE_SETTINGS_PRIVATE_H
#define CFR_STS_AZURE_SETTINGS_PRIVATE_H

#include "sts/azure/settings.h"

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

/* How the client proves itself at the token endpoint: a federated token, a secret, or a signed assertion (RFC 7523).
 * Source of the assertion: the identity platform's page on certificate credentials. */
enum cfr_azure_client_assertion { CFR_AZURE_FEDERATED, CFR_AZURE_SECRET, CFR_AZURE_CERTIFICATE };

enum cfr_azure_client_assertion cfr_azure_client_assertion_of(const struct cfr_azure *config);
/* Appends the proof to the form BODY. CFR_E_CONFIG: a file does not hold what it should, with its key in the
 * text; CFR_E_TOKEN: there is no token. */
int cfr_azure_client_assertion_add(const struct cfr_azure *config, const struct cfr_azure_settings *place,
                                   const struct cfr_sts_input *in, struct cfr_secret *body, struct cfr_err *err);

#endif
