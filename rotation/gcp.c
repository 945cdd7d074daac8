/* SPDX-License-Identifier: MIT */
/* Requests for the keys of a Google service account, and how a new one is tried. */
#include "rotation/gcp_private.h"

#include "rotation/rest_private.h"
#include "rotation/provider_private.h"
#include "wire/url.h"

#include <string.h>

#define ACCOUNT_MAX  254
#define PROJECT_MAX  64
#define UNIVERSE     "googleapis.com"
#define UNIVERSE_MAX 253
#define ACCOUNTS     ".iam.gserviceaccount.com"

#define FIELD(member, kind)                                                                                            \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_rotation_gcp, member)
static const struct cfr_field fields[] = {
    {FIELD(service_account, STRING), .flags = CFR_FIELD_REQUIRED, .min = 6, .max = ACCOUNT_MAX,
     .doc = CFR_DOC("Email address of the service account of the keys. It has at most ten.")},
    {FIELD(project, STRING), .min = 1, .max = PROJECT_MAX,
     .doc = CFR_DOC("Id or number of the account's project. Default: from the email, "
                    "`NAME@PROJECT.iam.gserviceaccount.com`. Required with other emails.")},
    {FIELD(endpoint, STRING), .min = 8, .max = CFR_ROTATION_URL_MAX,
     .doc = CFR_DOC("URL of the IAM API. Default: that of `universe_domain`, such as https://iam.googleapis.com.")},
    {FIELD(universe_domain, STRING), .min = 4, .max = UNIVERSE_MAX,
     .doc = CFR_DOC("Domain of the Google Cloud universe, for Trusted Partner Cloud. Default: googleapis.com.")},
    {FIELD(sts_endpoint, STRING), .min = 8, .max = CFR_ROTATION_URL_MAX,
     .doc = CFR_DOC("URL of the token endpoint that verifies new keys. Default: the key's token_uri, "
                    "which must then be Google's.")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust instead of the system's.")},
    {.key = NULL},
};

/* ---- rules ---- */

static bool made_of(const char *text, size_t n, const char *more)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];

        if (!cfr_view_is_alnum(c) && strchr(more, c) == NULL)
            return false;
    }
    return n != 0;
}

/* The project in NAME@PROJECT.iam.gserviceaccount.com; empty if that is not its form. */
static struct cfr_view project_of(const char *email)
{
    const char *at = strchr(email, '@');
    size_t n = at != NULL ? strlen(at + 1) : 0;
    size_t tail = strlen(ACCOUNTS);

    if (n <= tail || strcmp(at + 1 + n - tail, ACCOUNTS) != 0 || !made_of(at + 1, n - tail, "-"))
        return (struct cfr_view){NULL, 0};
    return (struct cfr_view){at + 1, n - tail};
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_rotation_gcp *c = node;
    const char *at = c->service_account != NULL ? strchr(c->service_account, '@') : NULL;

    if (c->service_account != NULL &&
        (at == NULL || !made_of(c->service_account, (size_t)(at - c->service_account), "-._") ||
         !made_of(at + 1, strlen(at + 1), "-.")))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "service_account: must be an email address, such as NAME@PROJECT.iam.gserviceaccount.com");
    if (c->project != NULL && !made_of(c->project, strlen(c->project), "-.:"))
        return cfr_err_set(err, CFR_E_CONFIG, "project: must be a project's id or number");
    if (c->service_account != NULL && c->project == NULL && project_of(c->service_account).n == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "project: is missing, and the email address of service_account does not say it");
    if (c->universe_domain != NULL && (!made_of(c->universe_domain, strlen(c->universe_domain), "-.") ||
                                       !cfr_url_host_ok(cfr_view_of(c->universe_domain))))
        return cfr_err_set(err, CFR_E_CONFIG, "universe_domain: must be a domain, such as " UNIVERSE);
    if (cfr_rotation_rest_check_url("endpoint", c->endpoint, err) != 0)
        return CFR_E_CONFIG;
    return cfr_rotation_rest_check_url("sts_endpoint", c->sts_endpoint, err);
}

const struct cfr_table cfr_rotation_gcp_table = {
    .name = "GCP service account keys",
    .size = sizeof(struct cfr_rotation_gcp),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("Keys of a Google service account. `with` must be granted roles/iam.serviceAccountKeyAdmin on it. "
                   "After a key is deleted, access tokens obtained with it are valid for up to an hour."),
};

/* ---- requests ---- */

static void put_url(const struct cfr_rotation_gcp *c, const struct cfr_rotation_ask *ask, struct cfr_str *url)
{
    const char *account = ask->owner != NULL ? ask->owner : c->service_account;
    struct cfr_view project = project_of(account);

    if (c->endpoint != NULL)
        cfr_rotation_rest_base(url, c->endpoint);
    else
        cfr_str_addf(url, "https://iam.%s", c->universe_domain != NULL ? c->universe_domain : UNIVERSE);
    cfr_str_addz(url, "/v1/projects/");
    if (c->project != NULL && ask->owner == NULL)
        cfr_rotation_rest_part(url, c->project);
    else
        cfr_str_add(url, project.n != 0 ? project : cfr_view_of("-"));
    cfr_str_addz(url, "/serviceAccounts/");
    cfr_rotation_rest_part(url, account);
    cfr_str_addz(url, ask->op == CFR_ROTATION_RIGHTS ? ":testIamPermissions" : "/keys");
    if (ask->op == CFR_ROTATION_LIST)
        cfr_str_addz(url, "?keyTypes=USER_MANAGED");
    if (ask->op == CFR_ROTATION_DEACTIVATE || ask->op == CFR_ROTATION_DELETE) {
        cfr_str_addz(url, "/");
        cfr_rotation_rest_part(url, ask->id);
    }
    if (ask->op == CFR_ROTATION_DEACTIVATE)
        cfr_str_addz(url, ":disable");
}

static int build(const void *config, const struct cfr_rotation_ask *ask, const char *page, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    static const char *const methods[] = {[CFR_ROTATION_LIST] = "GET",
                                          [CFR_ROTATION_CREATE] = "POST",
                                          [CFR_ROTATION_DEACTIVATE] = "POST",
                                          [CFR_ROTATION_DELETE] = "DELETE",
                                          [CFR_ROTATION_RIGHTS] = "POST"};
    const struct cfr_rotation_gcp *c = config;
    struct cfr_str url = {.limit = CFR_ROTATION_URL_MAX + 1024};
    struct cfr_writer w;
    int rc;

    (void)page;
    if (ask->op == CFR_ROTATION_VERIFY || ask->op == CFR_ROTATION_LAST_USED)
        return cfr_err_set(err, CFR_E_INTERNAL, "keys of service accounts have no such operation");
    put_url(c, ask, &url);
    out->ca_file = c->ca_file;
    out->method = methods[ask->op];
    rc = cfr_wire_request_url(out, &url, err);
    if (rc == 0)
        rc = cfr_rotation_rest_token(out, "Authorization", "Bearer ",
                                     cfr_rotation_admin_field(ask->admin, CFR_FIELD_GCP_ACCESS_TOKEN),
                                     "`with` has no access token of Google: it must be an exchange with `gcp`", err);
    if (rc != 0 || strcmp(methods[ask->op], "POST") != 0)
        return rc;
    w = cfr_rotation_rest_body(out, err);
    cfr_writer_object(&w, NULL);
    if (ask->op == CFR_ROTATION_CREATE) {
        cfr_writer_string(&w, "privateKeyType", cfr_view_of("TYPE_GOOGLE_CREDENTIALS_FILE"));
        cfr_writer_string(&w, "keyAlgorithm", cfr_view_of("KEY_ALG_RSA_2048"));
    }
    if (ask->op == CFR_ROTATION_RIGHTS)
        cfr_rotation_gcp_write_rights(&w);
    cfr_writer_close(&w);
    return w.rc;
}

static int trial(const void *config, const struct cfr_rotation_ask *ask, struct cfr_rotation_trial *out,
                 struct cfr_err *err)
{
    const struct cfr_rotation_gcp *c = config;
    struct cfr_view key = cfr_grant_get(ask->fresh, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY);

    if (key.n == 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no key to try");
    out->provider = "gcp";
    if (c->ca_file != NULL)
        out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){"ca_file", cfr_view_of(c->ca_file)};
    if (c->universe_domain != NULL)
        out->settings[out->setting_count++] =
            (struct cfr_rotation_trial_value){"universe_domain", cfr_view_of(c->universe_domain)};
    if (c->sts_endpoint != NULL)
        out->settings[out->setting_count++] =
            (struct cfr_rotation_trial_value){"sts_endpoint", cfr_view_of(c->sts_endpoint)};
    out->contents[out->content_count++] = (struct cfr_rotation_trial_value){"credentials_file", key};
    return 0;
}

static const char *subject(const void *config)
{
    return ((const struct cfr_rotation_gcp *)config)->service_account;
}

static const char *const grants[] = {CFR_FIELD_GCP_SERVICE_ACCOUNT, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, NULL};

const struct cfr_rotation_provider cfr_rotation_gcp_provider = {
    .grants = grants,
    .admin_has = "an access token",
    .name = "gcp",
    .table = &cfr_rotation_gcp_table,
    .doc = CFR_DOC("Keys of a Google service account."),
    .deactivates = true,
    .tells_rights = true,
    .most = 10,
    .verify_count = 3,
    .verify_wait_s = 60,
    .asks_owner = true,
    .subject = subject,
    .build = build,
    .parse = cfr_rotation_gcp_parse,
    .recognize = cfr_rotation_gcp_recognize,
    .trial = trial,
};
