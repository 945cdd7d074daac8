/* SPDX-License-Identifier: MIT */
/* The configuration of the GCP provider: its table, and the rules that need neither files nor the
 * environment. */
#include "sts/gcp/gcp_private.h"
#include "sts/gcp/validate_private.h"
#include "sts/core/docker_auths.h"
#include "wire/url.h"

#include <string.h>

#define MINUTE_MS                    INT64_C(60000)
#define HOUR_MS                      (60 * MINUTE_MS)

#define FIELD(member, kind)          .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_gcp, member)
#define FIELD_AS(name, member, kind) .key = (name), .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_gcp, member)

static const struct cfr_field gcp_fields[] = {
    {FIELD(audience, STRING), .min = 1, .max = 512,
     .doc = CFR_DOC("Full name of the identity provider that accepts the token, with the project's number: "
                    "`//iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/"
                    "PROVIDER`, or that of a workforce pool. Required unless `credentials_file` is given.")},
    {FIELD(subject_token_type, STRING), .min = 1, .max = 128,
     .doc = CFR_DOC("What the token is. Default: `" CFR_GCP_TYPE_JWT "`; for a workforce pool `" CFR_GCP_TYPE_ID
                    "`; with `certificate_file` `" CFR_GCP_TYPE_MTLS "`.")},
    {FIELD(scopes, STRINGS), .max = 50, .doc = CFR_DOC("Scopes of the access token. Default: `" CFR_GCP_SCOPE "`.")},
    {FIELD(service_account, STRING), .min = 1, .max = 254,
     .doc = CFR_DOC("Email address (or numeric id) of a service account to impersonate: its access token "
                    "is published instead of the federated one.")},
    {FIELD(delegates, STRINGS), .max = 10,
     .doc = CFR_DOC("Delegation chain to the impersonated service account, by email address. Each "
                    "account may create tokens for the next one, and the caller for the first.")},
    {FIELD_AS("lifetime", lifetime_ms, DURATION), .flags = CFR_FIELD_UNSET, .min = 10 * MINUTE_MS, .max = 12 * HOUR_MS,
     .doc = CFR_DOC("Lifetime of the impersonated account's access token, in whole seconds. Default: 1h; "
                    "more only if the organization's policy "
                    "constraints/iam.allowServiceAccountCredentialLifetimeExtension lists the account.")},
    {FIELD(access_token, BOOL), .fallback = "true",
     .doc = CFR_DOC("Set it to false to publish only the ID token, and never request an access token of "
                    "the service account.")},
    {FIELD(id_token_audience, STRING), .min = 1, .max = 2048,
     .doc = CFR_DOC("Also get an ID token of the service account for this audience, such as the URL of a "
                    "Cloud Run service. Published as `gcp_id_token`.")},
    {FIELD(include_email, BOOL),
     .doc = CFR_DOC("Whether the ID token of an impersonated account has its email address. Default: false.")},
    {FIELD(universe_domain, STRING), .variables = "GOOGLE_CLOUD_UNIVERSE_DOMAIN", .min = 1, .max = 253,
     .doc = CFR_DOC("Domain of the cloud's services, if it is not `googleapis.com`. It does not change "
                    "the audience. Required with a credential file of another domain, because such a "
                    "file must not determine where tokens are sent.")},
    {FIELD(location, STRING), .min = 1, .max = 63,
     .doc = CFR_DOC("Region whose token service is called, such as `europe-west1`. Default: `global`, which is "
                    "sts.googleapis.com. There are no regional hosts for a certificate as the credential.")},
    {FIELD(mtls, BOOL),
     .doc = CFR_DOC("Call the hosts that require a client certificate (sts.mtls.googleapis.com). Needs "
                    "`certificate_file`; implied when the certificate is the credential. Default: false.")},
    {FIELD(sts_endpoint, STRING), .variables = "CLOUDSDK_API_ENDPOINT_OVERRIDES_STS CLOUDSDK_AUTH_TOKEN_HOST", .min = 1,
     .max = CFR_URL_MAX,
     .doc = CFR_DOC("URL to call instead of the token service, or of a key's token_uri. Required if a credential file "
                    "names a host that is not Google's. Default path: `/v1/token`, for a key `/token`. https, or http "
                    "to 127.0.0.0/8, [::1] or localhost.")},
    {FIELD(iam_endpoint, STRING), .variables = "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS", .min = 1, .max = 1024,
     .doc = CFR_DOC("URL to call instead of https://iamcredentials.googleapis.com for impersonation, "
                    "without `/v1/projects/...`. Needed if a credential file names a host that is not "
                    "Google's.")},
    {FIELD(user_project, STRING), .min = 1, .max = 32,
     .doc = CFR_DOC("Project for quota and billing; for workforce pools only.")},
    {FIELD(client_id, STRING), .min = 1, .max = 512,
     .doc = CFR_DOC("OAuth client for requests to the token service, for workforce pools with one. Needs "
                    "`client_secret_file`.")},
    {FIELD(client_secret_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with the secret of `client_id`. It is read before each exchange.")},
    {FIELD(certificate_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("Certificate (PEM, the leaf first, then the certificates that the pool's trust store "
                    "lacks). It is the credential, instead of a token, unless `subject_token_type` is "
                    "set. It is read before each exchange.")},
    {FIELD(key_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("Private key (PEM) of `certificate_file`. It is read before each exchange.")},
    {FIELD(credentials_file, STRING), .variables = "GOOGLE_APPLICATION_CREDENTIALS",
     .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("A credential file in Google's JSON: an external_account, which then contains "
                    "audience, service account and the rest (the token still comes from `token`), or a "
                    "service account's key. It is read before each exchange.")},
    {FIELD(self_signed, BOOL),
     .doc = CFR_DOC("With a service account's key: sign the access token locally instead of requesting "
                    "it from Google. Not every API accepts such a token. Default: false; always true if "
                    "`universe_domain` is not googleapis.com.")},
    {FIELD(subject, STRING), .min = 3, .max = 320,
     .doc = CFR_DOC("With a service account's key: email address of the user to act for (domain-wide delegation, "
                    "which the domain's administrator grants).")},
    {FIELD(artifact_registry, STRINGS), .max = 32,
     .doc = CFR_DOC(
         "Hosts of container registries to log in to with the access token, such as "
         "`europe-docker.pkg.dev` or `gcr.io`: for the format docker-config. In `image_credentials` the default is "
         "the host of the image, which must then be below pkg.dev or gcr.io.")},
    {FIELD(ca_file, STRING), .variables = "SSL_CERT_FILE", .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust for this exchange instead of the system's.")},
    {.key = NULL},
};

static int named(int rc, const char *key, struct cfr_err *err)
{
    return rc != 0 && err != NULL ? cfr_err_prefix(err, "%s", key) : rc;
}

/* What a credential file says by itself. */
static int check_next_to_file(const struct cfr_gcp *c, struct cfr_err *err)
{
    const struct {
        const char *key;
        bool given;
    } keys[] = {
        {"audience", c->audience != NULL},
        {"subject_token_type", c->subject_token_type != NULL},
        {"user_project", c->user_project != NULL},
        {"client_id", c->client_id != NULL},
        {"client_secret_file", c->client_secret_file != NULL},
        {"location", c->location != NULL},
        {"mtls", c->mtls},
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i].given)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: the file that credentials_file names says this; leave one of them out",
                               keys[i].key);
    }
    return 0;
}

static int check_without_file(const struct cfr_gcp *c, struct cfr_err *err)
{
    if (c->audience == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "audience: it is missing; write the provider's full name, "
                           "//iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/POOL/"
                           "providers/PROVIDER, or give a credentials_file");
    if (c->self_signed || c->subject != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: it is for a service account's key; give that as credentials_file, or leave "
                           "this out",
                           c->self_signed ? "self_signed" : "subject");
    if (c->user_project != NULL && c->client_id != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "user_project: it has no effect with client_id; leave one of them out");
    return 0;
}

static int check_pairs(const struct cfr_gcp *c, struct cfr_err *err)
{
    if ((c->client_id == NULL) != (c->client_secret_file == NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it needs %s",
                           c->client_id != NULL ? "client_id" : "client_secret_file",
                           c->client_id != NULL ? "client_secret_file" : "client_id");
    if ((c->certificate_file == NULL) != (c->key_file == NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it needs %s", c->key_file != NULL ? "key_file" : "certificate_file",
                           c->key_file != NULL ? "certificate_file" : "key_file");
    if (c->client_id != NULL && strchr(c->client_id, ':') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "client_id: it must not have a colon");
    if (c->self_signed && c->subject != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "subject: a self-signed token cannot act for a user; leave self_signed out");
    if (c->self_signed && c->sts_endpoint != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "sts_endpoint: it has no effect with self_signed; leave one of them out");
    if (c->include_email && c->id_token_audience == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "include_email: it has no effect without id_token_audience");
    if (!c->access_token && c->id_token_audience == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "access_token: without it nothing is left to ask for; give id_token_audience too");
    if (!c->access_token && (c->scopes.count != 0 || c->lifetime_ms > 0 || c->artifact_registry.count != 0))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has no effect with `access_token: false`",
                           c->scopes.count != 0 ? "scopes"
                           : c->lifetime_ms > 0 ? "lifetime"
                                                : "artifact_registry");
    return 0;
}

/* What is about impersonation; a credential file may name the account. */
static int check_impersonation(const struct cfr_gcp *c, struct cfr_err *err)
{
    const char *key = c->delegates.count != 0        ? "delegates"
                      : c->lifetime_ms > 0           ? "lifetime"
                      : c->id_token_audience != NULL ? "id_token_audience"
                      : c->iam_endpoint != NULL      ? "iam_endpoint"
                                                     : NULL;

    if (c->lifetime_ms > 0 && c->lifetime_ms % 1000 != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "lifetime: it must be in whole seconds");
    if (c->service_account != NULL || c->credentials_file != NULL || key == NULL)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: it is for the impersonation of a service account; write `service_account: EMAIL`, "
                       "or leave this out",
                       key);
}

static bool is_label(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return text[n] == '\0' && text[0] != '-' && text[n - 1] != '-';
}

/* The hosts that a certificate calls where it is the credential, whether or not `mtls` is written out. */
static int check_certificate_hosts(const struct cfr_gcp *c, bool regional, bool other, struct cfr_err *err)
{
    bool credential = c->certificate_file != NULL && c->credentials_file == NULL &&
                      (c->subject_token_type == NULL || strcmp(c->subject_token_type, CFR_GCP_TYPE_MTLS) == 0);
    bool custom = c->sts_endpoint != NULL && (c->service_account == NULL || c->iam_endpoint != NULL);

    if (credential && regional)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "location: there are no regional hosts for a certificate as the credential; leave it out");
    if (credential && other && !custom)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "universe_domain: the hosts for a certificate as the credential are known for "
                           "googleapis.com only; write the URLs as sts_endpoint and, with `service_account`, "
                           "iam_endpoint");
    return 0;
}

static int check_hosts(const struct cfr_gcp *c, struct cfr_err *err)
{
    bool regional = c->location != NULL && strcmp(c->location, "global") != 0;
    bool other = c->universe_domain != NULL && strcmp(c->universe_domain, "googleapis.com") != 0;
    const char *key = regional ? "location" : c->mtls ? "mtls" : NULL;

    if (c->location != NULL && !is_label(c->location))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "location: it has only lower-case letters, digits and hyphens, such as "
                           "europe-west1");
    if (key != NULL && c->sts_endpoint != NULL && (!c->mtls || c->iam_endpoint != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has no effect with sts_endpoint; leave it out", key);
    if (key != NULL && other)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: such hosts are known for googleapis.com only; write the URL as sts_endpoint", key);
    if (c->mtls && regional)
        return cfr_err_set(err, CFR_E_CONFIG, "location: there are no regional hosts with mtls; leave one out");
    if (c->mtls && c->certificate_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "mtls: it needs certificate_file and key_file");
    return check_certificate_hosts(c, regional, other, err);
}

static bool is_http(const char *url)
{
    return url != NULL && strncmp(url, "http:", 5) == 0;
}

static int check_tls(const struct cfr_gcp *c, struct cfr_err *err)
{
    bool iam = c->service_account != NULL || c->credentials_file != NULL;

    if (c->ca_file != NULL && is_http(c->sts_endpoint) && (!iam || is_http(c->iam_endpoint)))
        return cfr_err_set(err, CFR_E_CONFIG, "ca_file: it has no effect with http endpoints; leave it out");
    if (c->certificate_file != NULL && is_http(c->sts_endpoint))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "certificate_file: no certificate can be shown to an http endpoint; use https");
    if (c->certificate_file != NULL && c->credentials_file == NULL && c->subject_token_type != NULL &&
        strcmp(c->subject_token_type, CFR_GCP_TYPE_MTLS) != 0 && !c->mtls && c->sts_endpoint == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "certificate_file: with this subject_token_type it is not the credential; write "
                           "`mtls: true` to show it to the token service all the same");
    if (c->certificate_file == NULL && c->subject_token_type != NULL &&
        strcmp(c->subject_token_type, CFR_GCP_TYPE_MTLS) == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "subject_token_type: this one needs certificate_file");
    return 0;
}

static int check_endpoints(const struct cfr_gcp *c, struct cfr_err *err)
{
    int rc = c->sts_endpoint != NULL ? cfr_gcp_check_endpoint(c->sts_endpoint, err) : 0;

    if (rc != 0)
        return named(rc, "sts_endpoint", err);
    return c->iam_endpoint != NULL ? named(cfr_gcp_check_endpoint(c->iam_endpoint, err), "iam_endpoint", err) : 0;
}

static int check_lists(const struct cfr_gcp *c, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->scopes.count; i++)
        rc = named(cfr_gcp_check_scope(cfr_view_of(c->scopes.items[i]), err), "scopes", err);
    for (size_t i = 0; rc == 0 && i < c->delegates.count; i++)
        rc = named(cfr_gcp_check_account(cfr_view_of(c->delegates.items[i]), err), "delegates", err);
    for (size_t i = 0; rc == 0 && i < c->artifact_registry.count; i++) {
        const char *host = c->artifact_registry.items[i];

        if (!cfr_docker_auths_host_ok(cfr_view_of(host)))
            rc = cfr_err_set(err, CFR_E_CONFIG,
                             "artifact_registry: \"%.80s\" is not a registry's host; write it as it is before "
                             "the first `/` of an image's name",
                             host);
        for (size_t k = 0; rc == 0 && k < i; k++) {
            if (strcmp(host, c->artifact_registry.items[k]) == 0)
                rc = cfr_err_set(err, CFR_E_CONFIG, "artifact_registry: %.80s occurs twice", host);
        }
    }
    return rc;
}

static int check_texts(const struct cfr_gcp *c, struct cfr_err *err)
{
    int rc = 0;

    if (c->audience != NULL)
        rc = named(cfr_gcp_check_audience(cfr_view_of(c->audience), err), "audience", err);
    if (rc == 0 && c->service_account != NULL)
        rc = named(cfr_gcp_check_account(cfr_view_of(c->service_account), err), "service_account", err);
    if (rc == 0 && c->universe_domain != NULL)
        rc = named(cfr_gcp_check_universe(cfr_view_of(c->universe_domain), err), "universe_domain", err);
    if (rc == 0 && c->user_project != NULL)
        rc = named(cfr_gcp_check_user_project(cfr_view_of(c->user_project), cfr_view_of(c->audience), err),
                   "user_project", err);
    if (rc == 0 && c->subject_token_type != NULL && strncmp(c->subject_token_type, "urn:", 4) != 0)
        rc = cfr_err_set(err, CFR_E_CONFIG, "subject_token_type: it must be a URN such as %s", CFR_GCP_TYPE_JWT);
    if (rc == 0 && c->subject_token_type != NULL && strstr(c->subject_token_type, ":aws:") != NULL)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "subject_token_type: credfresh does not sign AWS requests for Google; use a "
                         "Kubernetes token, which is a JWT");
    if (rc == 0 && c->subject != NULL && strchr(c->subject, '@') == NULL)
        rc = cfr_err_set(err, CFR_E_CONFIG, "subject: it must be a user's email address");
    return rc;
}

static int check_gcp(const void *node, struct cfr_err *err)
{
    const struct cfr_gcp *c = node;
    int rc = c->credentials_file != NULL ? check_next_to_file(c, err) : check_without_file(c, err);

    if (rc == 0)
        rc = check_texts(c, err);
    if (rc == 0)
        rc = check_lists(c, err);
    if (rc == 0)
        rc = check_pairs(c, err);
    if (rc == 0)
        rc = check_impersonation(c, err);
    if (rc == 0)
        rc = check_endpoints(c, err);
    if (rc == 0)
        rc = check_hosts(c, err);
    return rc != 0 ? rc : check_tls(c, err);
}

const struct cfr_table cfr_gcp_table = {
    .name = "gcp exchange",
    .size = sizeof(struct cfr_gcp),
    .fields = gcp_fields,
    .check = check_gcp,
    .late = true,
    .doc = CFR_DOC("Exchange of the token (or of a certificate, or a service account's key) for Google Cloud access "
                   "and ID "
                   "tokens."),
};
