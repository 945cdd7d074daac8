/* SPDX-License-Identifier: MIT */
/* What an exchange with Google takes: the settings of the configuration and of a credential file brought
 * together, and the requests that follow from them. */
#ifndef CFR_STS_GCP_PLAN_PRIVATE_H
#define CFR_STS_GCP_PLAN_PRIVATE_H

#include "sts/gcp/gcp.h"
#include "sts/gcp/credential_file.h"

/* The ID token comes before the access token: both are asked for with the token of the step before them. */
enum cfr_gcp_step {
    CFR_GCP_STEP_STS,        /* token exchange */
    CFR_GCP_STEP_KEY_ID,     /* a key's assertion for an ID token */
    CFR_GCP_STEP_KEY_ACCESS, /* a key's assertion for an access token */
    CFR_GCP_STEP_IAM_ID,     /* generateIdToken */
    CFR_GCP_STEP_IAM_ACCESS  /* generateAccessToken */
};
#define CFR_GCP_STEPS_MAX 3

struct cfr_gcp_plan {
    const struct cfr_gcp *config;
    struct cfr_gcp_file file; /* zero without credentials_file */
    enum cfr_gcp_step steps[CFR_GCP_STEPS_MAX];
    unsigned count;
    bool key;         /* begins with a service account's key */
    bool local;       /* begins with a token that the key signs by itself */
    bool certificate; /* begins with a certificate */
    bool impersonates;
    char *token_url; /* heap: the token service, or a key's token endpoint */
    char *iam_url;   /* heap: the part before /v1/projects/ */
    /* Borrowed from the configuration, its files' contents, and FILE. */
    struct cfr_view audience;
    struct cfr_view subject_token_type;
    struct cfr_view universe;
    struct cfr_view user_project;
    struct cfr_view client_id;
    struct cfr_view client_secret;
    struct cfr_view account; /* the account of the IAM steps; else empty */
    struct cfr_view certificate_pem;
    struct cfr_view key_pem;
    int64_t lifetime_s;
};

/* CFR_E_CONFIG names the key, or the file's member, that is wrong or contradicts another; CFR_E_NOMEM. IN's
 * token is not looked at. The caller frees OUT in every case. */
int cfr_gcp_plan_make(const struct cfr_gcp *config, const struct cfr_sts_input *in, struct cfr_gcp_plan *out,
                      struct cfr_err *err);
void cfr_gcp_plan_free(struct cfr_gcp_plan *p);
bool cfr_gcp_plan_has(const struct cfr_gcp_plan *p, enum cfr_gcp_step step);

#endif
