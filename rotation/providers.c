/* SPDX-License-Identifier: MIT */
/* Table of the rotation providers. */
#include "rotation/providers.h"

#include "rotation/aws_private.h"
#include "rotation/azure_private.h"
#include "rotation/gcp_private.h"
#include "rotation/ibm_private.h"
#include "rotation/openstack_private.h"

static const struct cfr_rotation_provider *const providers[] = {
    &cfr_rotation_aws_provider, &cfr_rotation_azure_provider,     &cfr_rotation_gcp_provider,
    &cfr_rotation_ibm_provider, &cfr_rotation_openstack_provider, NULL,
};

struct cfr_variant cfr_rotation_variant(size_t index)
{
    const struct cfr_rotation_provider *p = providers[index];

    return p != NULL ? (struct cfr_variant){.key = p->name, .table = p->table, .doc = p->doc, .row = p}
                     : (struct cfr_variant){.key = NULL};
}
