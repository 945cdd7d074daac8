/* SPDX-License-Identifier: MIT */
/* What the cluster and the clouds must know about an OIDC issuer, as files and as the commands of the clouds' own
 * tools. Pure. Inputs are borrowed. Errors: CFR_E_CONFIG for an input that cannot be quoted in a shell, CFR_E_NOMEM.
 * Sources: OpenShift's Authentication (config.openshift.io/v1); AWS, CreateOpenIDConnectProvider; Azure, `az identity
 * federated-credential create`, `az ad app federated-credential create`; Google, `gcloud iam workload-identity-pools
 * providers create-oidc`. */
#ifndef CFR_OIDC_ISSUER_MANIFEST_H
#define CFR_OIDC_ISSUER_MANIFEST_H

#include "oidc/issuer/issuer.h"

#define CFR_OIDC_MANIFEST_MAX 65536

struct cfr_oidc_manifest_input {
    const struct cfr_oidc_issuer *issuer;
    const char *audience;          /* of the tokens; NULL = the usual one of each cloud */
    char *const *service_accounts; /* NAMESPACE/NAME, each */
    size_t service_account_count;
    const char *thumbprint; /* of the last certificate of the issuer's server; NULL = not known */
};

/* CFR_E_CONFIG for a service account, an audience or a URL that cannot be written down. */
int cfr_oidc_manifest_check(const struct cfr_oidc_manifest_input *in, struct cfr_err *err);
/* Writes file N into NAME (at most 256 bytes) and appends its content to OUT; *MODE is its mode. False past the last
 * one, and then nothing is written. Errors are in *RC. */
bool cfr_oidc_manifest_write(const struct cfr_oidc_manifest_input *in, size_t n, char name[256], struct cfr_str *out,
                             unsigned *mode, int *rc, struct cfr_err *err);

#endif
