/* SPDX-License-Identifier: MIT */
/* The table of output formats, and what they share. */
#include "files/format.h"

#include "files/format_inside.h"

#include <stdio.h>
#include <string.h>

#define PROFILE_MAX   64
#define PROFILE_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
/* What needs no quotes in a shell, in systemd's EnvironmentFile and in docker's --env-file, all at once. */
#define ENV_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%"

/* A tilde is no home directory there but at the beginning, after a colon and, in some shells, after an equals sign. */
static bool needs_no_quotes(struct cfr_view value, size_t i)
{
    char c = value.p[i];

    if (c == '~')
        return i != 0 && strchr(":=", value.p[i - 1]) == NULL;
    return c != '\0' && strchr(ENV_CHARS, c) != NULL;
}

struct cfr_view cfr_format_get(const struct cfr_format_input *in, const char *field)
{
    return cfr_grant_get(in->grant, field);
}

struct cfr_view cfr_format_region(const struct cfr_format_input *in)
{
    return in->region != NULL && in->region[0] != '\0' ? cfr_view_of(in->region)
                                                       : cfr_format_get(in, CFR_FIELD_AWS_REGION);
}

int cfr_format_need(const struct cfr_format_input *in, const char *format, const char *field,
                    struct cfr_err *err)
{
    if (cfr_format_get(in, field).n != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "the format %s needs %s, which this credential does not have",
                       format, field);
}

bool cfr_format_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

void cfr_pen_member(struct cfr_pen *p, const char *key, struct cfr_view value)
{
    if (value.n == 0)
        return;
    cfr_pen_text(p, ",");
    cfr_pen_json(p, cfr_view_of(key));
    cfr_pen_text(p, ":");
    cfr_pen_json(p, value);
}

void cfr_pen_env(struct cfr_pen *p, const char *field, struct cfr_view value, int code)
{
    char key[64];

    if (value.n == 0 || p->rc != 0)
        return;
    (void)snprintf(key, sizeof key, "%s", field);
    for (char *c = key; *c != '\0'; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    for (size_t i = 0; i < value.n; i++) {
        if (!needs_no_quotes(value, i)) {
            p->rc = cfr_err_set(p->err, code,
                                "the value of %s would need quotes, which readers of env files do not "
                                "read alike, so it cannot be written as env: publish json instead",
                                key);
            return;
        }
    }
    cfr_pen_text(p, key);
    cfr_pen_text(p, "=");
    cfr_pen_view(p, value);
    cfr_pen_text(p, "\n");
}

/* One list makes the table and the names. */
#define FORMATS(X)                                                                                           \
    X("aws-credentials", cfr_format_aws_credentials, true, CFR_FIELD_AWS_ACCESS_KEY_ID,                      \
      "a profile of an AWS shared credentials file")                                                         \
    X("aws-config", cfr_format_aws_config, true, NULL,                                                       \
      "a profile of an AWS config file that makes SDKs use a published token, or run a command")             \
    X("aws-credential-process", cfr_format_aws_credential_process, false, CFR_FIELD_AWS_ACCESS_KEY_ID,       \
      "the JSON that AWS SDKs expect of a credential_process")                                               \
    X("azure-token-json", cfr_format_azure_token_json, false, CFR_FIELD_AZURE_ACCESS_TOKEN,                  \
      "a token in the JSON that Azure's local endpoints (App Service, IMDS) answer")                         \
    X("azure-env", cfr_format_azure_env, false, NULL,                                                        \
      "the AZURE_ variables that make SDKs use a published token (workload identity) or a client secret")    \
    X("gcp-external-account", cfr_format_gcp_external_account, false, CFR_FIELD_GCP_ACCESS_TOKEN,            \
      "a Google credential file that makes SDKs exchange a published token by themselves")                   \
    X("gcp-access-token", cfr_format_gcp_access_token, false, CFR_FIELD_GCP_ACCESS_TOKEN,                    \
      "the Google access token alone, without a line feed, as gcloud's access_token_file")                   \
    X("gcp-token-json", cfr_format_gcp_token_json, false, CFR_FIELD_GCP_ACCESS_TOKEN,                        \
      "the Google tokens and their expiry as one JSON object")                                               \
    X("gcp-service-account-key", cfr_format_gcp_service_account_key, false,                                  \
      CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY,                                                                     \
      "a service account's key, as the JSON file that Google's SDKs read (GOOGLE_APPLICATION_CREDENTIALS)")  \
    X("clouds-yaml", cfr_format_clouds_yaml, false, CFR_FIELD_OPENSTACK_TOKEN,                               \
      "a clouds.yaml with one cloud, for OpenStack clients")                                                 \
    X("clouds-conf", cfr_format_clouds_conf, false, CFR_FIELD_OPENSTACK_TOKEN,                               \
      "the [Global] section of the configuration of OpenStack's cloud provider for Kubernetes")              \
    X("openstack-token", cfr_format_openstack_token, false, CFR_FIELD_OPENSTACK_TOKEN,                       \
      "the Keystone token alone, without a line feed")                                                       \
    X("docker-config", cfr_format_docker_config, false, CFR_FIELD_REGISTRY_AUTHS,                            \
      "docker's config.json with logins to container registries")                                            \
    X("oauth-access-token", cfr_format_oauth_access_token, false, CFR_FIELD_OAUTH_ACCESS_TOKEN,              \
      "the access token of an OAuth server alone, without a line feed")                                      \
    X("token", cfr_format_token, false, CFR_FIELD_TOKEN, "the token alone, without a line feed")             \
    X("env", cfr_format_env, false, NULL, "KEY=value lines for shells, systemd and containers")              \
    X("json", cfr_format_json, false, NULL, "everything that is known, as one JSON object")                  \
    X("secret-key", cfr_format_secret_key, false, CFR_FIELD_SECRET_PREFIX,                                   \
      "one key of a mounted Secret that is passed on, as it is")                                             \
    X("certificate", cfr_format_certificate, false, CFR_FIELD_SERVICE_CERTIFICATE,                           \
      "a serving certificate of the service CA in PEM form, with the certificates that lead to older CAs")   \
    X("private-key", cfr_format_private_key, false, CFR_FIELD_SERVICE_KEY,                                   \
      "the certificate's key in PEM form (PKCS#8)")                                                          \
    X("ca-bundle", cfr_format_ca_bundle, false, CFR_FIELD_SERVICE_BUNDLE,                                    \
      "the certificates by which clients verify what the service CA issues, in PEM form")

const struct cfr_format cfr_formats[] = {
#define X(name, render, profile, needs, doc) {name, render, profile, needs, doc},
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

int cfr_format_section(const struct cfr_format *format, const char *profile, char out[CFR_FORMAT_SECTION_MAX],
                       struct cfr_err *err)
{
    const char *name = profile != NULL ? profile : "default";
    bool in_config = format->render == cfr_format_aws_config;

    if (!format->profile)
        return cfr_err_set(err, CFR_E_CONFIG, "the format %s has no profiles", format->name);
    if (name[0] == '\0' || strlen(name) > PROFILE_MAX || name[strspn(name, PROFILE_CHARS)] != '\0' ||
        strcmp(name, "DEFAULT") == 0)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "\"%.80s\" is not a profile name that all SDKs take: use 1 to %d letters, digits, `_`, `.` "
            "and `-`, and not DEFAULT",
            name, PROFILE_MAX);
    (void)snprintf(out, CFR_FORMAT_SECTION_MAX, "%s%s",
                   in_config && strcmp(name, "default") != 0 ? "profile " : "", name);
    return 0;
}
