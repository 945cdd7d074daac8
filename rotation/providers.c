/* SPDX-License-Identifier: MIT */
/* Table of the rotation providers. */
#include "rotation/providers.h"

#include "rotation/aws.h"
#include "rotation/azure.h"
#include "rotation/gcp.h"
#include "rotation/openstack.h"

const struct cfr_rotation_provider *const cfr_rotation_providers[] = {
    &cfr_rotation_aws_provider,
    &cfr_rotation_azure_provider,
    &cfr_rotation_gcp_provider,
    &cfr_rotation_openstack_provider,
    NULL,
};

const struct cfr_rotation_provider *cfr_rotation_find(struct cfr_view name)
{
    for (size_t i = 0; cfr_rotation_providers[i] != NULL; i++) {
        if (cfr_view_is(name, cfr_rotation_providers[i]->name))
            return cfr_rotation_providers[i];
    }
    return NULL;
}

struct cfr_variant cfr_rotation_variant(size_t index)
{
    const struct cfr_rotation_provider *p = cfr_rotation_providers[index];

    return p != NULL ? (struct cfr_variant){p->name, p->table, p->doc, p} : (struct cfr_variant){.key = NULL};
}
