/* SPDX-License-Identifier: MIT */
/* Keys of a Google service account. Source of operations and limits: the IAM API, v1,
 * projects.serviceAccounts.keys. */
#ifndef CFR_ROTATION_GCP_H
#define CFR_ROTATION_GCP_H

#include "rotation/provider.h"

struct cfr_mint_gcp {
    struct cfr_node node;
    char *service_account;
    char *project;  /* NULL = as its email says */
    char *endpoint; /* of IAM; NULL = https://iam.googleapis.com */
    char *ca_file;
};

extern const struct cfr_table cfr_mint_gcp_table;
extern const struct cfr_mint_provider cfr_mint_gcp_provider;

/* rotation/gcp_answer.c: the provider's parse. */
int cfr_mint_gcp_parse(const void *config, const struct cfr_mint_ask *ask, const struct cfr_mint_reply *reply,
                       struct cfr_mint_answer *out, struct cfr_err *err);

#endif
