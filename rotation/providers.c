/* SPDX-License-Identifier: MIT */
/* Table of the rotation providers. */
#include "rotation/providers.h"

#include "rotation/aws.h"
#include "rotation/azure.h"
#include "rotation/gcp.h"
#include "rotation/openstack.h"

const struct cfr_mint_provider *const cfr_mint_providers[] = {
    &cfr_mint_aws_provider,
    &cfr_mint_azure_provider,
    &cfr_mint_gcp_provider,
    &cfr_mint_openstack_provider,
    NULL,
};

const struct cfr_mint_provider *cfr_mint_find(struct cfr_view name)
{
    for (size_t i = 0; cfr_mint_providers[i] != NULL; i++) {
        if (cfr_view_is(name, cfr_mint_providers[i]->name))
            return cfr_mint_providers[i];
    }
    return NULL;
}
