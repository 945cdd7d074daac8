/* SPDX-License-Identifier: MIT */
/* Table of the output formats. */
#include "files/format/format_private.h"

/* One list makes the table and the names. */
#define FORMATS(X)                                                                                                     \
    X("aws-credentials", cfr_format_aws_credentials, true, CFR_FIELD_AWS_ACCESS_KEY_ID,                                \
      "a profile of an AWS shared credentials file")                                                                   \
    X("aws-config", cfr_format_aws_config, true, NULL,                                                                 \
      "a profile of an AWS config file that makes SDKs use a published token, or run a command")                       \
    X("aws-credential-process", cfr_format_aws_credential_process, false, CFR_FIELD_AWS_ACCESS_KEY_ID,                 \
      "the JSON that AWS SDKs expect of a credential_process")                                                         \
    X("azure-token-json", cfr_format_azure_token_json, false, CFR_FIELD_AZURE_ACCESS_TOKEN,                            \
      "a token in the JSON that Azure's local endpoints (App Service, IMDS) answer")                                   \
    X("azure-env", cfr_format_azure_env, false, NULL,                                                                  \
      "the AZURE_ variables that make SDKs use a published token (workload identity) or a client secret")              \
    X("gcp-external-account", cfr_format_gcp_external_account, false, CFR_FIELD_GCP_ACCESS_TOKEN,                      \
      "a Google credential file that makes SDKs exchange a published token by themselves")                             \
    X("gcp-access-token", cfr_format_gcp_access_token, false, CFR_FIELD_GCP_ACCESS_TOKEN,                              \
      "the Google access token alone, without a line feed, as gcloud's access_token_file")                             \
    X("gcp-token-json", cfr_format_gcp_token_json, false, CFR_FIELD_GCP_ACCESS_TOKEN,                                  \
      "the Google tokens and their expiry as one JSON object")                                                         \
    X("gcp-service-account-key", cfr_format_gcp_service_account_key, false, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY,         \
      "a service account's key, as the JSON file that Google's SDKs read (GOOGLE_APPLICATION_CREDENTIALS)")            \
    X("clouds-yaml", cfr_format_clouds_yaml, false, CFR_FIELD_OPENSTACK_TOKEN,                                         \
      "a clouds.yaml with one cloud, for OpenStack clients")                                                           \
    X("clouds-conf", cfr_format_clouds_conf, false, CFR_FIELD_OPENSTACK_TOKEN,                                         \
      "the [Global] section of the configuration of OpenStack's cloud provider for Kubernetes")                        \
    X("openstack-token", cfr_format_openstack_token, false, CFR_FIELD_OPENSTACK_TOKEN,                                 \
      "the Keystone token alone, without a line feed")                                                                 \
    X("docker-config", cfr_format_docker_config, false, CFR_FIELD_REGISTRY_AUTHS,                                      \
      "docker's config.json with logins to container registries")                                                      \
    X("oauth-access-token", cfr_format_oauth_access_token, false, CFR_FIELD_OAUTH_ACCESS_TOKEN,                        \
      "the access token of an OAuth server alone, without a line feed")                                                \
    X("token", cfr_format_token, false, CFR_FIELD_TOKEN, "the token alone, without a line feed")                       \
    X("env", cfr_format_env, false, NULL, "KEY=value lines for shells, systemd and containers")                        \
    X("json", cfr_format_json, false, NULL, "everything that is known, as one JSON object")                            \
    X("secret-key", cfr_format_secret_key, false, CFR_FIELD_SECRET_PREFIX,                                             \
      "one key of a mounted Secret that is passed on, as it is")                                                       \
    X("certificate", cfr_format_certificate, false, CFR_FIELD_SERVICE_CERTIFICATE,                                     \
      "a serving certificate of the service CA in PEM form, with the certificates that lead to older CAs")             \
    X("private-key", cfr_format_private_key, false, CFR_FIELD_SERVICE_KEY,                                             \
      "the certificate's key in PEM form (PKCS#8)")                                                                    \
    X("ca-bundle", cfr_format_ca_bundle, false, CFR_FIELD_SERVICE_BUNDLE,                                              \
      "the certificates by which clients verify what the service CA issues, in PEM form")

const struct cfr_format cfr_formats[] = {
#define X(name, render, profile, needs, doc) {name, render, profile, (render) == cfr_format_aws_config, needs, doc},
    FORMATS(X)
#undef X
        {0}};

const char *const cfr_format_names[] = {
#define X(name, render, profile, needs, doc) name,
    FORMATS(X)
#undef X
        NULL};

const struct cfr_format *cfr_format_find(struct cfr_view name)
{
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++) {
        if (cfr_view_is(name, f->name))
            return f;
    }
    return NULL;
}
