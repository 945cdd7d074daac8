/* SPDX-License-Identifier: MIT */
/* Table of the output formats. */
#include "files/format/format_private.h"

#include "base/field.h"

/* azure-identity of Python and Go, and Rust's azure_identity, keep the assertion for 10 min. A token that is renewed at
 * 80 % of its lifetime has as long left at its worst if it lives five times that. */
#define AZURE_TOKEN_LEAST_MS (INT64_C(5) * 10 * 60 * 1000)

/* Each row once: its name, then the members of its struct cfr_format. */
#define FORMATS(X)                                                                                                     \
    X("aws-credentials",                                                                                               \
      .own = "lines aws_access_key_id aws_secret_access_key aws_session_token aws_account_id "                         \
             "region",                                                                                                 \
      .render = cfr_format_aws_credentials, .profile = true, .needs = CFR_FIELD_AWS_ACCESS_KEY_ID,                     \
      .sdk_variable = "AWS_SHARED_CREDENTIALS_FILE", .doc = CFR_DOC("a profile of an AWS shared credentials file"))    \
    X("aws-config",                                                                                                    \
      .own = "lines sts_regional_endpoints role_arn web_identity_token_file role_session_name "                        \
             "credential_process region",                                                                              \
      .render = cfr_format_aws_config,                                                                                 \
      .options = CFR_FORMAT_ROLE_ARN | CFR_FORMAT_SESSION_NAME | CFR_FORMAT_TOKEN_PATH | CFR_FORMAT_REGION |           \
                 CFR_FORMAT_COMMAND | CFR_FORMAT_STS_ENDPOINTS,                                                        \
      .profile = true, .config_file = true, .is_public = true, .passes_on = true, .sdk_variable = "AWS_CONFIG_FILE",   \
      .doc = CFR_DOC("a profile of an AWS config file that makes SDKs use a published token, or run a command"))       \
    X("aws-credential-process", .own = "json Version AccessKeyId SecretAccessKey SessionToken Expiration AccountId",   \
      .render = cfr_format_aws_credential_process, .needs = CFR_FIELD_AWS_ACCESS_KEY_ID,                               \
      .doc = CFR_DOC("the JSON that AWS SDKs expect of a credential_process"))                                         \
    X("azure-token-json", .own = "json access_token expires_on resource token_type client_id scope tenant_id",         \
      .render = cfr_format_azure_token_json, .options = CFR_FORMAT_SCOPE, .needs = CFR_FIELD_AZURE_ACCESS_TOKEN,       \
      .doc = CFR_DOC("a token in the JSON that Azure's local endpoints (App Service, IMDS) answer"))                   \
    X("azure-env",                                                                                                     \
      .own = "lines AZURE_CLIENT_ID AZURE_TENANT_ID AZURE_CLIENT_SECRET "                                              \
             "AZURE_FEDERATED_TOKEN_FILE AZURE_AUTHORITY_HOST",                                                        \
      .render = cfr_format_azure_env, .options = CFR_FORMAT_TOKEN_PATH, .needs_token_path = true,                      \
      .needs = CFR_FIELD_AZURE_CLIENT_ID, .token_least_ms = AZURE_TOKEN_LEAST_MS,                                      \
      .sdk_variable = "AZURE_FEDERATED_TOKEN_FILE",                                                                    \
      .doc =                                                                                                           \
          CFR_DOC("the AZURE_ variables that make SDKs use a published token (workload identity) or a client secret")) \
    X("gcp-external-account",                                                                                          \
      .own = "json type universe_domain audience subject_token_type token_url client_id "                              \
             "client_secret workforce_pool_user_project quota_project_id "                                             \
             "service_account_impersonation_url service_account_impersonation "                                        \
             "token_lifetime_seconds credential_source file format",                                                   \
      .render = cfr_format_gcp_external_account, .options = CFR_FORMAT_TOKEN_PATH,                                     \
      .needs = CFR_FIELD_GCP_ACCESS_TOKEN, .needs_token_path = true, .sdk_variable = "GOOGLE_APPLICATION_CREDENTIALS", \
      .doc = CFR_DOC("a Google credential file that makes SDKs exchange a published token"))                           \
    X("gcp-access-token", .render = cfr_format_gcp_access_token, .needs = CFR_FIELD_GCP_ACCESS_TOKEN,                  \
      .sdk_variable = "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE",                                                               \
      .doc = CFR_DOC("only the Google access token, without a line feed, as gcloud's access_token_file"))              \
    X("gcp-token-json", .own = "json token_type access_token id_token expiry expires_at",                              \
      .render = cfr_format_gcp_token_json, .needs = CFR_FIELD_GCP_ACCESS_TOKEN,                                        \
      .doc = CFR_DOC("the Google tokens and their expiry as one JSON object"))                                         \
    X("gcp-service-account-key",                                                                                       \
      .own = "json type project_id private_key_id private_key client_email client_id auth_uri "                        \
             "token_uri auth_provider_x509_cert_url client_x509_cert_url universe_domain",                             \
      .render = cfr_format_gcp_service_account_key, .needs = CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY,                        \
      .sdk_variable = "GOOGLE_APPLICATION_CREDENTIALS",                                                                \
      .doc = CFR_DOC(                                                                                                  \
          "a service account's key, as the JSON file that Google's SDKs read (GOOGLE_APPLICATION_CREDENTIALS)"))       \
    X("clouds-yaml",                                                                                                   \
      .own = "lines clouds auth_type auth auth_url token application_credential_id "                                   \
             "application_credential_secret user_id password identity_provider protocol "                              \
             "access_token project_id domain_id system_scope region_name interface "                                   \
             "identity_api_version cacert",                                                                            \
      .render = cfr_format_clouds_yaml,                                                                                \
      .options = CFR_FORMAT_REGION | CFR_FORMAT_CLOUD | CFR_FORMAT_CACERT | CFR_FORMAT_CLOUDS_AUTH,                    \
      .needs = CFR_FIELD_OPENSTACK_AUTH_URL, .sdk_variable = "OS_CLIENT_CONFIG_FILE",                                  \
      .doc = CFR_DOC("a clouds.yaml with one cloud, for OpenStack clients"))                                           \
    X("clouds-conf",                                                                                                   \
      .own = "lines auth-url application-credential-id application-credential-secret user-id "                         \
             "password tenant-id domain-id region os-endpoint-type ca-file",                                           \
      .render = cfr_format_clouds_conf, .options = CFR_FORMAT_REGION | CFR_FORMAT_CACERT,                              \
      .needs = CFR_FIELD_OPENSTACK_AUTH_URL,                                                                           \
      .doc = CFR_DOC("the [Global] section of the configuration of OpenStack's cloud provider for Kubernetes"))        \
    X("openstack-token", .render = cfr_format_openstack_token, .needs = CFR_FIELD_OPENSTACK_TOKEN,                     \
      .doc = CFR_DOC("only the Keystone token, without a line feed"))                                                  \
    X("docker-config", .render = cfr_format_docker_config, .merge = cfr_format_docker_merge,                           \
      .ignored = cfr_format_docker_ignored, .needs = CFR_FIELD_REGISTRY_AUTHS, .sdk_variable = "REGISTRY_AUTH_FILE",   \
      .doc = CFR_DOC("docker's config.json with logins to container registries"))                                      \
    X("oauth-access-token", .render = cfr_format_oauth_access_token, .needs = CFR_FIELD_OAUTH_ACCESS_TOKEN,            \
      .doc = CFR_DOC("only the access token of an OAuth server, without a line feed"))                                 \
    X("token", .render = cfr_format_token, .needs = CFR_FIELD_TOKEN, .holds_token = true, .is_token = true,            \
      .doc = CFR_DOC("only the token, without a line feed"))                                                           \
    X("env", .own = "lines", .render = cfr_format_env, .options = CFR_FORMAT_REGION, .holds_token = true,              \
      .doc = CFR_DOC(                                                                                                  \
          "KEY=value lines for shells, systemd and containers; the source's token only if nothing else was granted"))  \
    X("json", .own = "json version credential generation identity issued expires fields", .render = cfr_format_json,   \
      .holds_token = true, .passes_on = true, .doc = CFR_DOC("all values of the credential, as one JSON object"))      \
    X("secret-key", .own = "any", .render = cfr_format_secret_key, .options = CFR_FORMAT_KEY,                          \
      .needs = CFR_FIELD_SECRET_PREFIX, .passes_on = true,                                                             \
      .doc = CFR_DOC("one key of a mounted Secret in passthrough mode, unchanged"))                                    \
    X("field", .own = "any", .render = cfr_format_field, .options = CFR_FORMAT_FIELD, .is_public = true,               \
      .passes_on = true, .doc = CFR_DOC("only the value of `field`, without a line feed"))                             \
    X("template", .own = "template", .render = cfr_format_template, .options = CFR_FORMAT_TEMPLATE, .is_public = true, \
      .passes_on = true, .doc = CFR_DOC("the text of `template`, with the values of its fields"))                      \
    X("ca.crt", .own = "pem CERTIFICATE", .render = cfr_format_kube_ca, .needs = CFR_FIELD_KUBERNETES_CA,              \
      .is_public = true, .doc = CFR_DOC("the CA certificates of the API server that issued the token, in PEM form"))   \
    X("namespace", .render = cfr_format_kube_namespace, .needs = CFR_FIELD_KUBERNETES_NAMESPACE, .is_public = true,    \
      .doc = CFR_DOC("the namespace of the requested token's service account, without a line feed"))                   \
    X("kubeconfig",                                                                                                    \
      .own = "json apiVersion kind clusters name cluster server certificate-authority-data "                           \
             "users user tokenFile token contexts context namespace current-context",                                  \
      .render = cfr_format_kubeconfig, .options = CFR_FORMAT_TOKEN_PATH | CFR_FORMAT_SERVER, .needs = CFR_FIELD_TOKEN, \
      .holds_token = true, .needs_token_path = true, .sdk_variable = "KUBECONFIG",                                     \
      .doc = CFR_DOC("a kubeconfig, in JSON, by which clients use the token; with the token's path where there is "    \
                     "one, so that clients notice a new token"))                                                       \
    X("certificate", .own = "pem CERTIFICATE", .render = cfr_format_certificate,                                       \
      .needs = CFR_FIELD_SERVICE_CERTIFICATE, .is_public = true,                                                       \
      .doc = CFR_DOC(                                                                                                  \
          "a serving certificate of the service CA in PEM form, with the certificates that lead to older CAs"))        \
    X("private-key", .own = "pem PRIVATE KEY", .render = cfr_format_private_key, .needs = CFR_FIELD_SERVICE_KEY,       \
      .doc = CFR_DOC("the certificate's key in PEM form (PKCS#8)"))                                                    \
    X("ca-bundle", .own = "pem CERTIFICATE", .render = cfr_format_ca_bundle, .needs = CFR_FIELD_SERVICE_BUNDLE,        \
      .is_public = true, .doc = CFR_DOC("the CA certificates of the service CA, for clients, in PEM form"))

const struct cfr_format cfr_formats[] = {
#define X(format, ...) {.name = (format), __VA_ARGS__},
    FORMATS(X)
#undef X
        {.name = NULL}};

const char *const cfr_format_names[] = {
#define X(format, ...) format,
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
