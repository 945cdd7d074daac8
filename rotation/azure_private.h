/* SPDX-License-Identifier: MIT */
/* Client secrets of an application in Microsoft Entra ID. Source of operations and answers: the Microsoft
 * Graph reference, v1.0, application: addPassword, removePassword. */
#ifndef CFR_ROTATION_AZURE_PRIVATE_H
#define CFR_ROTATION_AZURE_PRIVATE_H

#include "rotation/provider.h"

/* In the order of the choices in the table. */
enum cfr_rotation_azure_cloud {
    CFR_ROTATION_AZURE_PUBLIC,
    CFR_ROTATION_AZURE_USGOV,
    CFR_ROTATION_AZURE_CHINA,
    CFR_ROTATION_AZURE_USGOV_DOD,
    CFR_ROTATION_AZURE_SOV_DE,
    CFR_ROTATION_AZURE_SOV_FR,
    CFR_ROTATION_AZURE_SOV_SG
};

struct cfr_rotation_azure {
    struct cfr_node node;
    char *client_id;
    char *tenant_id;      /* NULL = that of `with` */
    int64_t lifetime_ms;  /* -1 = Entra ID's own, two years */
    int cloud;            /* enum cfr_rotation_azure_cloud */
    char *endpoint;       /* of Graph; NULL = the cloud's */
    char *authority_host; /* NULL = the cloud's */
    char *ca_file;
};

extern const struct cfr_table cfr_rotation_azure_table;
extern const struct cfr_rotation_provider cfr_rotation_azure_provider;

/* The token for Graph that `with` has, or an empty view. */
struct cfr_view cfr_rotation_azure_token(const struct cfr_rotation_azure *c, const struct cfr_grant *admin);

/* rotation/azure_answer.c: the provider's parse and recognize. */
int cfr_rotation_azure_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                             struct cfr_rotation_answer *out, struct cfr_err *err);
int cfr_rotation_azure_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                                 struct cfr_rotation_answer *out, struct cfr_err *err);

#endif
