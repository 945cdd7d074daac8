/* SPDX-License-Identifier: MIT */
/* Google's credential files. */
#include "sts/gcp/credential_file.h"

#include "sts/gcp/validate_private.h"
#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define FILE_MAX      65536
#define DEFAULT_TOKEN "https://oauth2.googleapis.com/token"
#define ACCOUNTS      "/v1/projects/-/serviceAccounts/"
#define GENERATE      ":generateAccessToken"
#define LIFETIME_MIN  600
#define LIFETIME_MAX  43200

/* What becomes of a member: an offset of -1 means that it is known and of no use here. */
struct member {
    const char *key;
    ptrdiff_t offset; /* of a struct cfr_view, which takes a text */
};

#define TEXT(member) ((ptrdiff_t)offsetof(struct cfr_gcp_file, member))
#define SKIP         ((ptrdiff_t)-1)

static const struct member external_members[] = {
    {"type", SKIP},
    {"audience", TEXT(audience)},
    {"subject_token_type", TEXT(subject_token_type)},
    {"token_url", TEXT(token_url)},
    {"token_info_url", SKIP}, /* introspection, which is not used here */
    {"service_account_impersonation_url", SKIP},
    {"service_account_impersonation", SKIP},
    {"credential_source", SKIP},
    {"client_id", TEXT(client_id)},
    {"client_secret", TEXT(client_secret)},
    {"quota_project_id", TEXT(quota_project_id)},
    {"workforce_pool_user_project", TEXT(user_project)},
    {"universe_domain", TEXT(universe_domain)},
    {NULL, SKIP},
};

static const struct member key_members[] = {
    {"type", SKIP},
    {"project_id", TEXT(project_id)},
    {"private_key_id", TEXT(private_key_id)},
    {"private_key", TEXT(private_key)},
    {"client_email", TEXT(client_email)},
    {"client_id", SKIP}, /* the account's number */
    {"auth_uri", SKIP},
    {"token_uri", TEXT(token_uri)},
    {"auth_provider_x509_cert_url", SKIP},
    {"client_x509_cert_url", SKIP},
    {"quota_project_id", TEXT(quota_project_id)},
    {"universe_domain", TEXT(universe_domain)},
    {NULL, SKIP},
};

static const struct member source_members[] = {
    {"file", TEXT(token_path)}, {"format", SKIP}, {"certificate", SKIP}, {NULL, SKIP}};
static const struct member format_members[] = {
    {"type", SKIP}, {"subject_token_field_name", TEXT(token_field)}, {NULL, SKIP}};
static const struct member certificate_members[] = {
    {"use_default_certificate_config", SKIP},
    {"certificate_config_location", TEXT(certificate_config)},
    {"trust_chain_path", TEXT(trust_chain_path)},
    {NULL, SKIP},
};
static const struct member lifetime_members[] = {{"token_lifetime_seconds", SKIP}, {NULL, SKIP}};

static const struct member *find(const struct member *members, struct cfr_view key)
{
    for (; members->key != NULL; members++) {
        if (cfr_view_is(key, members->key))
            return members;
    }
    return NULL;
}

static int read_text(const struct member *m, const struct cfr_json *value, struct cfr_gcp_file *out,
                     struct cfr_err *err)
{
    struct cfr_view *to = (struct cfr_view *)(void *)((char *)out + m->offset);
    struct cfr_view text;

    if (!cfr_json_string(value, &text))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it must be text", m->key);
    if (m->offset != TEXT(private_key) && !cfr_view_printable(text))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has a character that is not printable ASCII", m->key);
    *to = text;
    return 0;
}

/* Takes the texts out of OBJECT. What is not known would be a setting without effect, so it is refused. */
static int read_members(const struct cfr_json *object, const struct member *members, struct cfr_gcp_file *out,
                        struct cfr_err *err)
{
    char name[44];
    int rc = 0;

    for (const struct cfr_json *v = cfr_json_first(object); rc == 0 && v != NULL; v = cfr_json_next(v)) {
        const struct member *m = find(members, cfr_json_key(v));

        if (m == NULL)
            return cfr_err_set(err, CFR_E_CONFIG, "%s: credfresh does not know this member; remove it",
                               cfr_view_show(cfr_json_key(v), name, sizeof name));
        if (cfr_json_get(object, m->key) != v)
            return cfr_err_set(err, CFR_E_CONFIG, "%s: it occurs twice; remove one", m->key);
        if (m->offset != SKIP && !cfr_json_is_null(v))
            rc = read_text(m, v, out, err);
    }
    return rc;
}

static int check_url(const char *key, struct cfr_view text, struct cfr_err *err)
{
    char buf[CFR_URL_MAX + 1];
    struct cfr_url url;

    if (text.n > CFR_URL_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it is longer than %d characters", key, CFR_URL_MAX);
    (void)snprintf(buf, sizeof buf, "%.*s", (int)text.n, text.p);
    if (cfr_url_parse(buf, &url, err) == 0)
        return 0;
    return err != NULL ? cfr_err_prefix(err, "%s", key) : CFR_E_CONFIG;
}

/* Parts the impersonation URL into the service's base and the account. */
static int read_impersonation(const struct cfr_json *value, struct cfr_gcp_file *out, struct cfr_err *err)
{
    static const char key[] = "service_account_impersonation_url";
    struct cfr_view url;
    ptrdiff_t at;
    int rc;

    if (value == NULL || cfr_json_is_null(value))
        return 0;
    if (!cfr_json_string(value, &url))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it must be text", key);
    rc = check_url(key, url, err);
    if (rc != 0)
        return rc;
    at = cfr_view_find(url, ACCOUNTS);
    if (at < 0 || url.n < (size_t)at + strlen(ACCOUNTS) + strlen(GENERATE) ||
        memcmp(url.p + url.n - strlen(GENERATE), GENERATE, strlen(GENERATE)) != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: it must be https://iamcredentials.googleapis.com" ACCOUNTS "EMAIL" GENERATE, key);
    out->iam_url = (struct cfr_view){url.p, (size_t)at};
    out->service_account =
        (struct cfr_view){url.p + at + strlen(ACCOUNTS), url.n - (size_t)at - strlen(ACCOUNTS) - strlen(GENERATE)};
    rc = cfr_gcp_check_account(out->service_account, err);
    return rc != 0 && err != NULL ? cfr_err_prefix(err, "%s", key) : rc;
}

static int read_lifetime(const struct cfr_json *object, struct cfr_gcp_file *out, struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(object, "token_lifetime_seconds");
    int rc;

    if (object == NULL || cfr_json_is_null(object))
        return 0;
    if (!cfr_json_is_object(object))
        return cfr_err_set(err, CFR_E_CONFIG, "service_account_impersonation: it must be an object");
    rc = read_members(object, lifetime_members, out, err);
    if (rc != 0 || value == NULL)
        return rc != 0 && err != NULL ? cfr_err_prefix(err, "service_account_impersonation") : rc;
    if (!cfr_json_integer(value, &out->lifetime_s) || out->lifetime_s < LIFETIME_MIN || out->lifetime_s > LIFETIME_MAX)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "service_account_impersonation.token_lifetime_seconds: it must be a number from %d "
                           "to %d",
                           LIFETIME_MIN, LIFETIME_MAX);
    return out->service_account.n != 0 ? 0
                                       : cfr_err_set(err, CFR_E_CONFIG,
                                                     "service_account_impersonation: it has no effect without "
                                                     "service_account_impersonation_url");
}

static int read_format(const struct cfr_json *object, struct cfr_gcp_file *out, struct cfr_err *err)
{
    struct cfr_view type = cfr_view_of("text");
    int rc;

    if (object == NULL || cfr_json_is_null(object))
        return 0;
    if (!cfr_json_is_object(object))
        return cfr_err_set(err, CFR_E_CONFIG, "it must be an object");
    rc = read_members(object, format_members, out, err);
    if (rc != 0)
        return rc;
    (void)cfr_json_string(cfr_json_get(object, "type"), &type);
    if (cfr_view_is(type, "text"))
        return out->token_field.n == 0
                   ? 0
                   : cfr_err_set(err, CFR_E_CONFIG, "subject_token_field_name has no effect with the type text");
    if (!cfr_view_is(type, "json"))
        return cfr_err_set(err, CFR_E_CONFIG, "its type must be text or json");
    return out->token_field.n != 0 ? 0 : cfr_err_set(err, CFR_E_CONFIG, "the type json needs subject_token_field_name");
}

static int read_certificate(const struct cfr_json *object, struct cfr_gcp_file *out, struct cfr_err *err)
{
    bool standard = false;
    int rc;

    if (!cfr_json_is_object(object))
        return cfr_err_set(err, CFR_E_CONFIG, "it must be an object");
    rc = read_members(object, certificate_members, out, err);
    if (rc != 0)
        return rc;
    (void)cfr_json_bool(cfr_json_get(object, "use_default_certificate_config"), &standard);
    if (standard == (out->certificate_config.n != 0))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "exactly one of use_default_certificate_config and certificate_config_location "
                           "must be given");
    out->source = CFR_GCP_SOURCE_CERTIFICATE;
    return 0;
}

/* The kinds of source that would have credfresh call or run something. */
static int refuse_kind(const struct cfr_json *source, struct cfr_err *err)
{
    if (cfr_json_get(source, "environment_id") != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "credential_source: it asks for the keys of an AWS machine, which credfresh does "
                           "not sign with; use a file source with a Kubernetes token");
    if (cfr_json_get(source, "executable") != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "credential_source: it asks for a program to be run; let that program write its "
                           "token to a file, and give a file source and `token: {file: PATH}`");
    if (cfr_json_get(source, "url") != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "credential_source: it asks for a token from a URL; have the token in a file, and "
                           "give a file source and `token: {file: PATH}`");
    return 0;
}

static int read_source(const struct cfr_json *source, struct cfr_gcp_file *out, struct cfr_err *err)
{
    const struct cfr_json *certificate = cfr_json_get(source, "certificate");
    const struct cfr_json *format = cfr_json_get(source, "format");
    int rc;

    if (!cfr_json_is_object(source))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "credential_source: it is missing or no object; write {\"file\": \"PATH\"}");
    rc = refuse_kind(source, err);
    if (rc == 0)
        rc = read_members(source, source_members, out, err);
    if (rc == 0 && (out->token_path.n != 0) == (certificate != NULL))
        rc = cfr_err_set(err, CFR_E_CONFIG, "exactly one of file and certificate must be given");
    if (rc == 0 && certificate != NULL)
        rc = format != NULL ? cfr_err_set(err, CFR_E_CONFIG, "format has no effect with a certificate")
                            : read_certificate(certificate, out, err);
    else if (rc == 0)
        rc = read_format(format, out, err);
    return rc != 0 && err != NULL && strncmp(err->text, "credential_source", 17) != 0
               ? cfr_err_prefix(err, "credential_source")
               : rc;
}

static int missing(const char *key, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_CONFIG, "%s: it is missing or empty", key);
}

static int check_external(const struct cfr_gcp_file *f, struct cfr_err *err)
{
    const char *key = "audience";
    int rc;

    if (f->audience.n == 0 || f->subject_token_type.n == 0)
        return missing(f->audience.n == 0 ? "audience" : "subject_token_type", err);
    if (f->client_secret.n != 0 && f->client_id.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "client_secret: it has no effect without client_id");
    if (cfr_view_find(f->client_id, ":") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "client_id: it must not have a colon");
    if (f->source == CFR_GCP_SOURCE_FILE && f->token_path.p[0] != '/')
        return cfr_err_set(err, CFR_E_CONFIG, "credential_source.file: it must be an absolute path");
    rc = cfr_gcp_check_audience(f->audience, err);
    if (rc == 0 && f->user_project.n != 0) {
        key = "workforce_pool_user_project";
        rc = cfr_gcp_check_user_project(f->user_project, f->audience, err);
    }
    if (rc != 0)
        return err != NULL ? cfr_err_prefix(err, "%s", key) : rc;
    return f->token_url.n != 0 ? check_url("token_url", f->token_url, err) : 0;
}

static int read_external(const struct cfr_json *doc, struct cfr_gcp_file *out, struct cfr_err *err)
{
    int rc;

    out->type = CFR_GCP_FILE_EXTERNAL_ACCOUNT;
    rc = read_members(doc, external_members, out, err);
    if (rc == 0)
        rc = read_impersonation(cfr_json_get(doc, "service_account_impersonation_url"), out, err);
    if (rc == 0)
        rc = read_lifetime(cfr_json_get(doc, "service_account_impersonation"), out, err);
    if (rc == 0)
        rc = read_source(cfr_json_get(doc, "credential_source"), out, err);
    return rc != 0 ? rc : check_external(out, err);
}

static int read_key(const struct cfr_json *doc, struct cfr_gcp_file *out, struct cfr_err *err)
{
    int rc;

    out->type = CFR_GCP_FILE_SERVICE_ACCOUNT;
    rc = read_members(doc, key_members, out, err);
    if (rc != 0)
        return rc;
    if (out->client_email.n == 0 || out->private_key.n == 0)
        return missing(out->client_email.n == 0 ? "client_email" : "private_key", err);
    if (out->private_key_id.n == 0)
        return missing("private_key_id", err);
    if (out->token_uri.n == 0)
        out->token_uri = cfr_view_of(DEFAULT_TOKEN);
    rc = cfr_gcp_check_account(out->client_email, err);
    if (rc != 0)
        return err != NULL ? cfr_err_prefix(err, "client_email") : rc;
    return check_url("token_uri", out->token_uri, err);
}

static int refuse_type(struct cfr_view type, struct cfr_err *err)
{
    char name[44];

    if (cfr_view_is(type, "authorized_user") || cfr_view_is(type, "external_account_authorized_user"))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "type: %s is a person's login, not a workload's; use an external_account or a "
                           "service_account",
                           cfr_view_show(type, name, sizeof name));
    if (cfr_view_is(type, "impersonated_service_account"))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "type: write credentials_file with the file of its source_credentials, and "
                           "`service_account: EMAIL` for what it impersonates");
    return cfr_err_set(err, CFR_E_CONFIG, "type: it must be external_account or service_account, not \"%s\"",
                       cfr_view_show(type, name, sizeof name));
}

static int read_document(const struct cfr_json *doc, struct cfr_gcp_file *out, struct cfr_err *err)
{
    struct cfr_view type;
    int rc;

    if (!cfr_json_string(cfr_json_get(doc, "type"), &type))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "it is not a Google credential file: it has no `type`, such as external_account or service_account");
    if (cfr_view_is(type, "external_account"))
        rc = read_external(doc, out, err);
    else if (cfr_view_is(type, "service_account"))
        rc = read_key(doc, out, err);
    else
        rc = refuse_type(type, err);
    if (rc != 0)
        return rc;
    if (out->universe_domain.n == 0)
        out->universe_domain = cfr_view_of(CFR_GCP_UNIVERSE);
    rc = cfr_gcp_check_universe(out->universe_domain, err);
    return rc != 0 && err != NULL ? cfr_err_prefix(err, "universe_domain") : rc;
}

int cfr_gcp_file_read(struct cfr_view json, struct cfr_gcp_file *out, struct cfr_err *err)
{
    int rc;

    *out = (struct cfr_gcp_file){0};
    json = cfr_view_trim(json);
    if (json.n > FILE_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it has %zu bytes, more than %d", json.n, FILE_MAX);
    rc = cfr_json_parse(json, &out->doc, err);
    if (rc == CFR_E_NOMEM)
        return rc;
    if (rc != 0 && cfr_view_mistake(json, CFR_FORM_JSON) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it is not JSON, but %s; it must be the file as Google's console or gcloud wrote it",
                           cfr_view_mistake(json, CFR_FORM_JSON));
    if (rc != 0 || !cfr_json_is_object(out->doc))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it is no JSON object; it must be the file as Google's console or gcloud wrote it");
    return read_document(out->doc, out, err);
}

void cfr_gcp_file_free(struct cfr_gcp_file *f)
{
    cfr_json_free(f->doc);
    *f = (struct cfr_gcp_file){0};
}
