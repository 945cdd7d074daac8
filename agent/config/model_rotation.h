/* SPDX-License-Identifier: MIT */
/* The part of the configuration that is about long-lived keys that are rotated. */
#ifndef CFR_AGENT_CONFIG_MODEL_ROTATION_H
#define CFR_AGENT_CONFIG_MODEL_ROTATION_H

#include "rotation/rotation.h"

#define CFR_MINT_OLD_SUFFIX ".old"   /* of the files that hold what was published before */
#define CFR_ROTATION_FILE   "minted" /* when the published key was minted, and which it is */

#define CFR_MINT_FILES_MAX  31 /* of a directory: each has another beside it */

/* A long-lived key that is made and replaced. */
struct cfr_config_mint {
    struct cfr_node node;
    struct cfr_one_of provider; /* of struct cfr_rotation_provider */
    char *with;
    int64_t expire_after_ms;
    int64_t grace_ms;
    int64_t grace_most_ms;
    int64_t settle_ms;
    int64_t inactive_ms;
    int64_t verify_wait_ms;
    int64_t verify_timeout_ms;
};

/* The provider and its configuration; NULL only while the configuration is being checked. */
const struct cfr_rotation_provider *cfr_config_mint_provider(const struct cfr_config_mint *c,
                                                             const void **provider_config);

/* Whose keys these are, "aws/robot"; "" only while the configuration is being checked. */
void cfr_config_mint_subject(const struct cfr_config_mint *c, char out[CFR_ROTATION_SUBJECT_MAX]);

#endif
