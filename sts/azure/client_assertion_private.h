/* SPDX-License-Identifier: MIT */
/* How the client proves itself at the token endpoint: a federated token, a secret, or a signed assertion (RFC
 * 7523). Source of the assertion: the identity platform's page on certificate credentials. */
#ifndef CFR_STS_AZURE_CLIENT_ASSERTION_PRIVATE_H
#define CFR_STS_AZURE_CLIENT_ASSERTION_PRIVATE_H

#include "sts/azure/settings_private.h"

enum cfr_azure_client_assertion { CFR_AZURE_FEDERATED, CFR_AZURE_SECRET, CFR_AZURE_CERTIFICATE };

enum cfr_azure_client_assertion cfr_azure_client_assertion_of(const struct cfr_azure *config);
/* Appends the proof to the form BODY. CFR_E_CONFIG: a file does not hold what it should, with its key in the
 * text; CFR_E_TOKEN: there is no token. */
int cfr_azure_client_assertion_add(const struct cfr_azure *config, const struct cfr_azure_settings *place,
                                   const struct cfr_sts_input *in, struct cfr_secret *body, struct cfr_err *err);

#endif
