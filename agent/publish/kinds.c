/* SPDX-License-Identifier: MIT */
/* Table of target kinds. */
#include "agent/publish/target_private.h"

#include <stddef.h>

const struct cfr_target_ops *const cfr_publish_kinds[] = {
    &cfr_publish_directory, &cfr_publish_file, &cfr_publish_profile, &cfr_publish_secret, &cfr_publish_configmap, NULL,
};
