/* SPDX-License-Identifier: MIT */
/* What the cluster and the clouds must know about an OIDC issuer, as files and as the commands of the clouds' own
 * tools. Pure. Inputs are borrowed. Errors: CFR_E_CONFIG for an input that cannot be quoted in a shell, CFR_E_NOMEM.
 * Sources: OpenShift's Authentication (config.openshift.io/v1); AWS, CreateOpenIDConnectProvider; Azure, `az identity
 * federated-credential create`, `az ad app federated-credential create`; Google, `gcloud iam workload-identity-pools
 * providers create-oidc`. */
#ifndef CFR_PKI_OIDC_MANIFEST_H
#define CFR_PKI_OIDC_MANIFEST_H

#include "pki/oidc_issuer.h"

#define CFR_OIDC_MANIFEST_MAX   65536
#define CFR_OIDC_THUMBPRINT_MAX 41 /* SHA-1 in upper-case hex, with its NUL */

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
/* The thumbprint of the first certificate of PEM, as IAM wants it: SHA-1 of its DER form. CFR_E_CONFIG. */
int cfr_oidc_manifest_thumbprint(struct cfr_view pem, char out[CFR_OIDC_THUMBPRINT_MAX], struct cfr_err *err);

#endif
