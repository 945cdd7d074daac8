/* SPDX-License-Identifier: MIT */
/* Google Cloud: the token exchange of workload and workforce pools, service accounts' keys, and impersonation
 * of service accounts for access and ID tokens. */
#ifndef CFR_STS_GCP_GCP_H
#define CFR_STS_GCP_GCP_H

#include "sts/core/provider.h"

#define CFR_GCP_TYPE_JWT  "urn:ietf:params:oauth:token-type:jwt"
#define CFR_GCP_TYPE_ID   "urn:ietf:params:oauth:token-type:id_token"
#define CFR_GCP_TYPE_MTLS "urn:ietf:params:oauth:token-type:mtls"

#define CFR_GCP_SCOPE     "https://www.googleapis.com/auth/cloud-platform"

/* `exchange: gcp:` */
struct cfr_gcp {
    struct cfr_node node;
    char *audience;
    char *subject_token_type;
    struct cfr_strings scopes;
    char *service_account;
    struct cfr_strings delegates;
    int64_t lifetime_ms; /* -1 when absent */
    bool access_token;
    char *id_token_audience;
    bool include_email;
    char *universe_domain;
    char *location;
    bool mtls;
    char *sts_endpoint;
    char *iam_endpoint;
    char *user_project;
    char *client_id;
    char *client_secret_file;
    char *certificate_file;
    char *key_file;
    char *credentials_file;
    bool self_signed;
    char *subject;
    struct cfr_strings artifact_registry;
    char *ca_file;
};

extern const struct cfr_sts_provider cfr_gcp_provider;

/* What an SDK has to know that does the exchange by itself (an external_account file). Heap; NULL where not
 * there. */
struct cfr_gcp_sdk {
    char *audience;
    char *subject_token_type;
    char *token_url;
    char *impersonation_url;
    int64_t lifetime_s; /* 0 = not given */
    char *universe_domain;
    char *user_project;
    char *quota_project_id;
    char *client_id;
    struct cfr_secret client_secret;
};

/* IN is as for build, for what files hold. CFR_E_CONFIG: there is no such exchange (a service account's key,
 * a certificate), or it does what such a file cannot say. The caller frees OUT in every case. */
int cfr_gcp_sdk_make(const struct cfr_gcp *config, const struct cfr_sts_input *in, struct cfr_gcp_sdk *out,
                     struct cfr_err *err);
void cfr_gcp_sdk_free(struct cfr_gcp_sdk *s);

#endif
