/* SPDX-License-Identifier: MIT */
/* Table of the shapes. */
#include "serve/sdk/shape_private.h"

static const struct cfr_sdk_shape *const shapes[] = {
    &cfr_sdk_aws_container_shape, &cfr_sdk_ec2_imds_shape,          &cfr_sdk_gce_metadata_shape,
    &cfr_sdk_azure_imds_shape,    &cfr_sdk_azure_app_service_shape, NULL,
};

struct cfr_variant cfr_sdk_shape_variant(size_t index)
{
    const struct cfr_sdk_shape *s = shapes[index];

    return s != NULL ? (struct cfr_variant){.key = s->name, .table = s->table, .doc = s->doc, .row = s, .most = s->most}
                     : (struct cfr_variant){.key = NULL};
}
