/* SPDX-License-Identifier: MIT */
/* API keys of IBM Cloud. Source of operations and fields: the IAM Identity Services API, v1
 * (https://cloud.ibm.com/apidocs/iam-identity-token-api). */
#ifndef CFR_ROTATION_IBM_PRIVATE_H
#define CFR_ROTATION_IBM_PRIVATE_H

#include "rotation/provider.h"

struct cfr_rotation_ibm {
    struct cfr_node node;
    char *iam_id;
    char *account_id;
    char *endpoint; /* of IAM; NULL = https://iam.cloud.ibm.com */
    char *ca_file;
};

extern const struct cfr_table cfr_rotation_ibm_table;
extern const struct cfr_rotation_provider cfr_rotation_ibm_provider;

/* rotation/ibm_answer.c: the provider's parse and recognize. */
int cfr_rotation_ibm_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                           struct cfr_rotation_answer *out, struct cfr_err *err);
int cfr_rotation_ibm_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                               struct cfr_rotation_answer *out, struct cfr_err *err);

#endif
