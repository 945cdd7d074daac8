/* SPDX-License-Identifier: MIT */
/* Keys of a Google service account. Source of operations and limits: the IAM API, v1,
 * projects.serviceAccounts.keys. */
#ifndef CFR_ROTATION_GCP_PRIVATE_H
#define CFR_ROTATION_GCP_PRIVATE_H

#include "rotation/provider.h"

struct cfr_rotation_gcp {
    struct cfr_node node;
    char *service_account;
    char *project;         /* NULL = as its email says */
    char *endpoint;        /* of IAM; NULL = that of the next */
    char *universe_domain; /* NULL = googleapis.com */
    char *sts_endpoint;    /* where a new key is tried; NULL = its token_uri */
    char *ca_file;
};

extern const struct cfr_table cfr_rotation_gcp_table;
extern const struct cfr_rotation_provider cfr_rotation_gcp_provider;

/* rotation/gcp_answer.c: the provider's parse and recognize. */
int cfr_rotation_gcp_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                           struct cfr_rotation_answer *out, struct cfr_err *err);
int cfr_rotation_gcp_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                               struct cfr_rotation_answer *out, struct cfr_err *err);

/* rotation/gcp_rights.c: what the caller may do with the keys of the account. Source: the IAM API of Google Cloud,
 * projects.serviceAccounts.testIamPermissions. */
struct cfr_json;
struct cfr_writer;
/* Adds the permissions that are asked for to an open object. */
void cfr_rotation_gcp_write_rights(struct cfr_writer *w);
/* Those that DOC does not have, into OUT. CFR_E_ANSWER. */
int cfr_rotation_gcp_read_rights(const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err);

#endif
