/* SPDX-License-Identifier: MIT */
/* What an exchange granted: named secret values with one lifetime. A provider fills it, an output format reads it;
 * neither knows the other. Pure.
 * Memory: owns names and values; cfr_grant_free wipes and frees them. Errors: CFR_E_NOMEM, CFR_E_LIMIT; the grant is
 * then unchanged. Limits: CFR_GRANT_FIELDS_MAX values of CFR_GRANT_VALUE_MAX bytes. */
#ifndef CFR_BASE_GRANT_H
#define CFR_BASE_GRANT_H

#include "base/secret.h"

#define CFR_GRANT_FIELDS_MAX   64      /* as many keys as a mounted Secret may hold */
#define CFR_GRANT_IDENTITY_MAX 2112    /* an AWS ARN has at most 2048 characters */
#define CFR_GRANT_VALUE_MAX    1048576 /* a key of a Secret may be as large as the whole */

/* Names of the fields that exist today. They are what `json` and `env` publish. */
#define CFR_FIELD_TOKEN                 "token"
#define CFR_FIELD_AWS_ACCESS_KEY_ID     "aws_access_key_id"
#define CFR_FIELD_AWS_SECRET_ACCESS_KEY "aws_secret_access_key"
#define CFR_FIELD_AWS_SESSION_TOKEN     "aws_session_token"
#define CFR_FIELD_AWS_ACCOUNT_ID        "aws_account_id"
#define CFR_FIELD_AWS_REGION            "aws_region"
#define CFR_FIELD_GCP_ACCESS_TOKEN      "gcp_access_token"
#define CFR_FIELD_GCP_ID_TOKEN          "gcp_id_token"
#define CFR_FIELD_GCP_SERVICE_ACCOUNT   "gcp_service_account" /* email, of a key */
#define CFR_FIELD_AZURE_ACCESS_TOKEN    "azure_access_token" /* for the first scope; further ones have ":SCOPE" added */
#define CFR_FIELD_AZURE_TENANT_ID       "azure_tenant_id"
#define CFR_FIELD_AZURE_CLIENT_ID       "azure_client_id"
#define CFR_FIELD_AZURE_SCOPE           "azure_scope"          /* the first one, as it was sent */
#define CFR_FIELD_AZURE_AUTHORITY_HOST  "azure_authority_host" /* URL with a slash at its end */
/* Of a mounted Secret: where its consumer is to work. */
#define CFR_FIELD_AZURE_REGION                        "azure_region"
#define CFR_FIELD_AZURE_SUBSCRIPTION_ID               "azure_subscription_id"
#define CFR_FIELD_AZURE_RESOURCEGROUP                 "azure_resourcegroup"
#define CFR_FIELD_AZURE_RESOURCE_PREFIX               "azure_resource_prefix"
#define CFR_FIELD_OPENSTACK_TOKEN                     "openstack_token"
#define CFR_FIELD_OPENSTACK_AUTH_URL                  "openstack_auth_url" /* with /v3 */
#define CFR_FIELD_OPENSTACK_USER_ID                   "openstack_user_id"
#define CFR_FIELD_OPENSTACK_PROJECT_ID                "openstack_project_id" /* what the token is for: one of these three */
#define CFR_FIELD_OPENSTACK_DOMAIN_ID                 "openstack_domain_id"
#define CFR_FIELD_OPENSTACK_SYSTEM_SCOPE              "openstack_system_scope" /* "all" */
#define CFR_FIELD_OPENSTACK_REGION_NAME               "openstack_region_name"
#define CFR_FIELD_OPENSTACK_INTERFACE                 "openstack_interface"
#define CFR_FIELD_OPENSTACK_CACERT                    "openstack_cacert" /* path */
#define CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID "openstack_application_credential_id"
#define CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER         "openstack_identity_provider"
#define CFR_FIELD_OPENSTACK_PROTOCOL                  "openstack_protocol"
#define CFR_FIELD_IBM_API_KEY_ID                      "ibm_api_key_id"
#define CFR_FIELD_IBM_IAM_ID                          "ibm_iam_id" /* whose key it is */
#define CFR_FIELD_IBM_ACCOUNT_ID                      "ibm_account_id"
#define CFR_FIELD_OAUTH_ACCESS_TOKEN                  "oauth_access_token"
#define CFR_FIELD_OAUTH_ID_TOKEN                      "oauth_id_token"
/* Logins to container registries: the members of docker's `auths` object, JSON without the outer braces. */
#define CFR_FIELD_REGISTRY_AUTHS      "registry_auths"
#define CFR_FIELD_SERVICE_CERTIFICATE "service_certificate" /* PEM, with what leads to older CAs */
#define CFR_FIELD_SERVICE_BUNDLE      "service_bundle"      /* PEM, what clients trust */
/* A field whose name begins with this is long-lived and there for the formats that mean it: `json` and `env` leave it
 * out.
 */
#define CFR_FIELD_PRIVATE_PREFIX                          '.'
#define CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET ".openstack_application_credential_secret"
#define CFR_FIELD_OPENSTACK_PASSWORD                      ".openstack_password"
#define CFR_FIELD_AZURE_CLIENT_SECRET                     ".azure_client_secret"
#define CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY                 ".gcp_service_account_key" /* JSON, as the file that SDKs read */
#define CFR_FIELD_IBM_API_KEY                             ".ibm_api_key"
#define CFR_FIELD_SERVICE_KEY                             ".service_key" /* PEM, of the certificate */
#define CFR_FIELD_SERVICE_CA_KEYS                         ".service_ca_keys" /* key ids, the newest CA's first, with commas */
/* The API server that a token was requested from: its URL, what it is verified by (PEM), and the namespace of the
 * service account. */
#define CFR_FIELD_KUBERNETES_PREFIX    ".kubernetes_"
#define CFR_FIELD_KUBERNETES_SERVER    CFR_FIELD_KUBERNETES_PREFIX "server"
#define CFR_FIELD_KUBERNETES_CA        CFR_FIELD_KUBERNETES_PREFIX "ca"
#define CFR_FIELD_KUBERNETES_NAMESPACE CFR_FIELD_KUBERNETES_PREFIX "namespace"
/* A mounted Secret that is passed on: one field for each of its keys, the name with this before it. */
#define CFR_FIELD_SECRET_PREFIX "secret:"

/* What a granted field says about a grant: the rows by which readers that know no cloud name a grant's kind and choose
 * its token. */
struct cfr_grant_kind {
    const char *field;
    const char *kind; /* of a grant that has the field */
    bool token;       /* the field's value alone is the credential; false: several fields belong together */
    /* Order of preference, from 1; 0 = not for this use. */
    uint8_t subject; /* as the subject token of another exchange */
    uint8_t cluster; /* to log in to a Kubernetes API server */
};

/* Ends with field == NULL. The first row whose field a grant has counts: what was granted precedes the subject token
 * that it was exchanged for. */
extern const struct cfr_grant_kind cfr_grant_kinds[];

/* A field that exists. */
struct cfr_grant_name {
    const char *field;
    const char *doc; /* for the reference page, CFR_DOC */
    bool shown;      /* a name, a place, an identifier or a certificate, which is no secret */
    bool many;       /* users may add `:` and which one of several: azure_access_token:SCOPE, secret:KEY */
};

/* Ends with field == NULL. */
extern const struct cfr_grant_name cfr_grant_names[];
/* What users write for FIELD: without CFR_FIELD_PRIVATE_PREFIX. */
const char *cfr_grant_public_name(const char *field);
/* The row of the field that a user calls NAME, also with `:` and more where there are many; NULL if there is none. */
const struct cfr_grant_name *cfr_grant_find_name(struct cfr_view name);
/* The name most like NAME (a typing error away), as users write it; or NULL. */
const char *cfr_grant_suggest_name(struct cfr_view name);

struct cfr_grant_field {
    char *name; /* heap */
    struct cfr_secret value;
};

/* Zero-initialised is empty. */
struct cfr_grant {
    int64_t issued_s;  /* wall clock of the grantor; 0 = unknown */
    int64_t expires_s; /* wall clock of the grantor; 0 = never */
    int64_t refresh_s; /* when the grantor advises to renew it, by its wall clock; 0 = no advice */
    char *identity;    /* heap; what it is, not secret (an ARN); may be NULL */
    struct cfr_grant_field fields[CFR_GRANT_FIELDS_MAX];
    size_t field_count;
};

/* Sets (or replaces) a field by a copy of VALUE. NAME is copied. CFR_E_NOMEM, CFR_E_LIMIT. */
int cfr_grant_set(struct cfr_grant *g, const char *name, struct cfr_view value, struct cfr_err *err);
/* The value of a field; an empty view when there is none. */
struct cfr_view cfr_grant_get(const struct cfr_grant *g, const char *name);
/* True if there is such a field; its value may be empty. */
bool cfr_grant_has(const struct cfr_grant *g, const char *name);
/* True if the values of fields with this NAME must never be shown; false for names, places and identifiers. */
bool cfr_grant_is_secret(const char *name);
/* What must not be shown of G's values, as views into them; of a file in JSON or INI only the private key in it, and of
 * a mounted Secret only fields that exist. Logins to registries, which are many in one value, are not listed. Returns
 * their count. */
size_t cfr_grant_list_secrets(const struct cfr_grant *g, struct cfr_view out[CFR_GRANT_FIELDS_MAX]);
int cfr_grant_set_identity(struct cfr_grant *g, struct cfr_view identity, struct cfr_err *err);
/* Wipes and frees everything; G is empty afterwards. */
void cfr_grant_free(struct cfr_grant *g);
/* Copies FROM into TO, which is empty. After CFR_E_NOMEM it still is. */
int cfr_grant_copy(struct cfr_grant *to, const struct cfr_grant *from, struct cfr_err *err);
/* Moves FROM into TO (freed first). */
void cfr_grant_move(struct cfr_grant *to, struct cfr_grant *from);

#endif
