/* SPDX-License-Identifier: MIT */
/* The credential files that Google's tools write and its libraries read: external_account and
 * service_account. Source: AIP-4117 and AIP-4112, and what Google's own libraries accept. Pure. */
#ifndef CFR_STS_GCP_CREDENTIAL_FILE_H
#define CFR_STS_GCP_CREDENTIAL_FILE_H

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"

enum cfr_gcp_file_type { CFR_GCP_FILE_EXTERNAL_ACCOUNT, CFR_GCP_FILE_SERVICE_ACCOUNT };
enum cfr_gcp_file_source { CFR_GCP_SOURCE_FILE, CFR_GCP_SOURCE_CERTIFICATE };

#define CFR_GCP_UNIVERSE "googleapis.com"

/* Views into DOC, empty where the file has no such member; all texts are printable ASCII but the key and the
 * secret. */
struct cfr_gcp_file {
    struct cfr_json *doc;
    enum cfr_gcp_file_type type;
    struct cfr_view universe_domain; /* never empty */
    struct cfr_view quota_project_id;

    /* external_account */
    struct cfr_view audience;
    struct cfr_view subject_token_type;
    struct cfr_view token_url;
    struct cfr_view iam_url;         /* of the impersonation URL: the part before /v1/projects/-/serviceAccounts/ */
    struct cfr_view service_account; /* the email (or unique id) in the impersonation URL */
    int64_t lifetime_s;              /* of the impersonated token; 0 = not given */
    struct cfr_view client_id;
    struct cfr_view client_secret;
    struct cfr_view user_project; /* workforce_pool_user_project */
    enum cfr_gcp_file_source source;
    struct cfr_view token_path;         /* CFR_GCP_SOURCE_FILE */
    struct cfr_view token_field;        /* not empty: the token's file is a JSON object, and this its member */
    struct cfr_view certificate_config; /* CFR_GCP_SOURCE_CERTIFICATE: a path; empty = gcloud's own place */
    struct cfr_view trust_chain_path;

    /* service_account */
    struct cfr_view client_email;
    struct cfr_view private_key; /* PEM */
    struct cfr_view private_key_id;
    struct cfr_view token_uri; /* never empty */
    struct cfr_view project_id;
};

/* Reads JSON. CFR_E_CONFIG says which member is wrong, is not known, or asks for what credfresh does not do,
 * and what to do instead; CFR_E_NOMEM. The caller frees OUT in every case. */
int cfr_gcp_file_read(struct cfr_view json, struct cfr_gcp_file *out, struct cfr_err *err);
void cfr_gcp_file_free(struct cfr_gcp_file *f);

struct cfr_gcp;
/* Checks the hosts of FILE that CONFIG does not replace: they must be Google's own, or of the universe domain that
 * CONFIG names, because tokens of this machine go there, and the file may have another author. CFR_E_CONFIG names the
 * file's member and the key to set. Source: the patterns by which google-auth checked token_url and
 * service_account_impersonation_url; Google's pages on regional, mutual TLS and Private Service Connect endpoints. */
int cfr_gcp_file_check_hosts(const struct cfr_gcp *config, const struct cfr_gcp_file *file, struct cfr_err *err);

#endif
