/* SPDX-License-Identifier: MIT */
/* Mounted Secrets of Azure: a client secret, or the path of a federated token.
 * Source: the cloud credential operator's Azure actuator and ccoctl. */
#include "sts/mounted/mounted_private.h"

#include "sts/azure/azure.h"

int cfr_mounted_azure(const struct cfr_mounted_case *c)
{
    struct cfr_view client;
    struct cfr_view tenant;
    struct cfr_view secret = {NULL, 0};
    struct cfr_view token = cfr_mounted_get(c, "azure_federated_token_file");
    const struct cfr_azure *azure;
    int rc = cfr_mounted_need(c, "azure_client_id", &client);

    if (rc == 0)
        rc = cfr_mounted_need(c, "azure_tenant_id", &tenant);
    if (rc == 0 && token.n != 0)
        rc = cfr_mounted_token(c, "azure_federated_token_file", token);
    else if (rc == 0)
        rc = cfr_mounted_need(c, "azure_client_secret", &secret);
    if (rc != 0)
        return rc;
    /* A patch that merges leaves the old key behind when a cluster moves to tokens. */
    if (token.n != 0 && cfr_mounted_get(c, "azure_client_secret").n != 0)
        cfr_mounted_note(c,
                         "it holds a stale azure_client_secret next to azure_federated_token_file; the token file is "
                         "followed, delete the secret");
    if (c->options->pass_on)
        return 0;
    if (cfr_mounted_get(c, "azure_authority_host").n != 0)
        return cfr_err_set(
            c->err, CFR_E_CONFIG,
            "azure_authority_host says where requests go, and a Secret does not decide that: set `cloud` "
            "or `authority_host` in `exchange: {azure: ...}`, and remove it from the Secret");
    rc = cfr_mounted_exchange(c, &cfr_azure_provider);
    if (rc == 0)
        rc = cfr_mounted_fill(c, "client_id", client);
    if (rc == 0)
        rc = cfr_mounted_fill(c, "tenant_id", tenant);
    if (rc == 0)
        rc = cfr_mounted_facts(c);
    if (rc != 0)
        return rc;
    azure = c->out->config;
    return token.n == 0 && azure->certificate_file == NULL ? cfr_mounted_content(c, "client_secret_file", secret) : 0;
}
