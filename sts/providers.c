/* SPDX-License-Identifier: MIT */
/* Table of the exchange providers. */
#include "sts/providers.h"

#include "sts/aws/aws.h"
#include "sts/aws/container.h"
#include "sts/azure/azure.h"
#include "sts/gcp/gcp.h"
#include "sts/oauth/oauth.h"
#include "sts/openstack/openstack.h"

static const struct cfr_sts_provider *const providers[] = {
    &cfr_aws_provider,
    &cfr_aws_container_provider,
    &cfr_gcp_provider,
    &cfr_azure_provider,
    &cfr_openstack_provider,
    &cfr_oauth_provider,
    NULL,
};

const struct cfr_sts_provider *cfr_sts_find(struct cfr_view name)
{
    for (size_t i = 0; providers[i] != NULL; i++) {
        if (cfr_view_is(name, providers[i]->name))
            return providers[i];
    }
    return NULL;
}

struct cfr_variant cfr_sts_variant(size_t index)
{
    const struct cfr_sts_provider *p = providers[index];

    return p != NULL ? (struct cfr_variant){.key = p->name, .table = p->table, .doc = p->doc, .row = p}
                     : (struct cfr_variant){.key = NULL};
}
