/* SPDX-License-Identifier: MIT */
/* From the settings to the requests. */
#include "sts/gcp/plan_private.h"

#include "base/str.h"
#include "sts/gcp/validate_private.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIFETIME_S 3600
#define URL_LIMIT          4096

static struct cfr_view configured(const char *own, struct cfr_view of_file)
{
    return own != NULL ? cfr_view_of(own) : of_file;
}

/* The content of a file that the configuration names: empty only if there is no such file. */
static int read_content(const struct cfr_sts_input *in, const char *key, const char *path, struct cfr_view *out,
                        struct cfr_err *err)
{
    if (path == NULL)
        return 0;
    *out = cfr_sts_input_content(in, key);
    return out->n != 0 ? 0 : cfr_err_set(err, CFR_E_CONFIG, "%s: %s is empty", key, path);
}

static int read_file(const struct cfr_sts_input *in, struct cfr_gcp_plan *p, struct cfr_err *err)
{
    const char *path = p->config->credentials_file;
    struct cfr_view json = {NULL, 0};
    int rc = read_content(in, "credentials_file", path, &json, err);

    if (rc != 0 || path == NULL)
        return rc;
    rc = cfr_gcp_file_read(json, &p->file, err);
    if (rc == 0)
        rc = cfr_gcp_file_check_hosts(p->config, &p->file, err);
    return rc != 0 && err != NULL ? cfr_err_prefix(err, "credentials_file %.128s", path) : rc;
}

static int read_contents(const struct cfr_sts_input *in, struct cfr_gcp_plan *p, struct cfr_err *err)
{
    const struct cfr_gcp *c = p->config;
    int rc = read_content(in, "client_secret_file", c->client_secret_file, &p->client_secret, err);

    if (rc == 0 && c->client_secret_file == NULL)
        p->client_secret = p->file.client_secret;
    if (rc == 0)
        rc = read_content(in, "certificate_file", c->certificate_file, &p->certificate_pem, err);
    return rc != 0 ? rc : read_content(in, "key_file", c->key_file, &p->key_pem, err);
}

static struct cfr_view default_type(const struct cfr_gcp_plan *p)
{
    if (p->config->certificate_file != NULL)
        return cfr_view_of(CFR_GCP_TYPE_MTLS);
    return cfr_view_of(cfr_gcp_is_workforce(p->audience) ? CFR_GCP_TYPE_ID : CFR_GCP_TYPE_JWT);
}

static void merge_settings(struct cfr_gcp_plan *p)
{
    const struct cfr_gcp *c = p->config;

    p->key = p->file.doc != NULL && p->file.type == CFR_GCP_FILE_SERVICE_ACCOUNT;
    p->audience = configured(c->audience, p->file.audience);
    p->subject_token_type = configured(c->subject_token_type, p->file.subject_token_type);
    if (p->subject_token_type.n == 0)
        p->subject_token_type = default_type(p);
    p->universe = configured(c->universe_domain, p->file.universe_domain);
    if (p->universe.n == 0)
        p->universe = cfr_view_of(CFR_GCP_UNIVERSE);
    p->user_project = configured(c->user_project, p->file.user_project);
    p->client_id = configured(c->client_id, p->file.client_id);
    p->account = configured(c->service_account, p->file.service_account);
    p->impersonates = p->account.n != 0;
    p->lifetime_s = c->lifetime_ms > 0        ? c->lifetime_ms / 1000
                    : p->file.lifetime_s != 0 ? p->file.lifetime_s
                                              : DEFAULT_LIFETIME_S;
    p->certificate = p->file.doc != NULL ? !p->key && p->file.source == CFR_GCP_SOURCE_CERTIFICATE
                                         : cfr_view_is(p->subject_token_type, CFR_GCP_TYPE_MTLS);
    p->local = p->key && (c->self_signed || !cfr_view_is(p->universe, CFR_GCP_UNIVERSE));
}

/* The configuration against the credential file, which the table's rules have not seen. */
static int check_against_file(const struct cfr_gcp_plan *p, struct cfr_err *err)
{
    const struct cfr_gcp *c = p->config;
    const struct cfr_gcp_file *f = &p->file;

    if (c->service_account != NULL && f->service_account.n != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "service_account: the credentials_file has a service_account_impersonation_url; "
                           "leave one of them out");
    if (c->lifetime_ms > 0 && f->lifetime_s != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "lifetime: the credentials_file has a token_lifetime_seconds; leave one of them "
                           "out");
    if (!p->key && (c->self_signed || c->subject != NULL))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: it is for a service account's key, and the credentials_file is an "
                           "external_account",
                           c->self_signed ? "self_signed" : "subject");
    if (p->local && c->subject != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "subject: only keys of googleapis.com can act for users");
    if (p->certificate && c->certificate_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "certificate_file: the credential_source of the credentials_file is a certificate; "
                           "write certificate_file and key_file with its paths");
    return 0;
}

/* A chain that the file asks to send has to be in the one file that is read. */
static int check_chain(const struct cfr_gcp_plan *p, struct cfr_err *err)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    struct cfr_view pem = p->certificate_pem;
    ptrdiff_t first = cfr_view_find(pem, begin);

    if (p->file.trust_chain_path.n == 0 || first < 0)
        return 0;
    pem = (struct cfr_view){pem.p + first + 1, pem.n - (size_t)first - 1};
    return cfr_view_find(pem, begin) >= 0
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG,
                             "certificate_file: the credentials_file has a trust_chain_path; append that "
                             "file's certificates to this one");
}

/* Settings that would be without effect are refused rather than ignored. */
static int check_effects(const struct cfr_gcp_plan *p, struct cfr_err *err)
{
    const struct cfr_gcp *c = p->config;
    bool iam = p->impersonates || (p->local && c->id_token_audience != NULL);
    const char *key = c->delegates.count != 0 && !p->impersonates                   ? "delegates"
                      : c->lifetime_ms > 0 && !p->impersonates                      ? "lifetime"
                      : c->iam_endpoint != NULL && !iam                             ? "iam_endpoint"
                      : c->id_token_audience != NULL && !p->impersonates && !p->key ? "id_token_audience"
                                                                                    : NULL;

    if (key != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: it is for the impersonation of a service account; write `service_account: "
                           "EMAIL`, or leave this out",
                           key);
    return 0;
}

static void add(struct cfr_gcp_plan *p, enum cfr_gcp_step step)
{
    p->steps[p->count++] = step;
}

static void make_steps(struct cfr_gcp_plan *p)
{
    bool id = p->config->id_token_audience != NULL;
    bool access = p->config->access_token;

    if (!p->key)
        add(p, CFR_GCP_STEP_STS);
    if (p->key && !p->local && id && !p->impersonates)
        add(p, CFR_GCP_STEP_KEY_ID);
    if (p->key && !p->local && (access || p->impersonates))
        add(p, CFR_GCP_STEP_KEY_ACCESS);
    if (id && (p->impersonates || p->local))
        add(p, CFR_GCP_STEP_IAM_ID);
    if (access && p->impersonates)
        add(p, CFR_GCP_STEP_IAM_ACCESS);
    /* Without impersonation a token that the key signed asks for an ID token of the key's own account. */
    if (p->account.n == 0 && p->local)
        p->account = p->file.client_email;
}

static int keep(struct cfr_str *text, char **out, struct cfr_err *err)
{
    if (text->failed) {
        cfr_str_free(text);
        return cfr_err_nomem(err);
    }
    *out = text->p;
    return 0;
}

static int compose(char **out, struct cfr_err *err, const char *const *parts)
{
    struct cfr_str url = {.limit = URL_LIMIT};

    for (; *parts != NULL; parts++)
        cfr_str_addz(&url, *parts);
    return keep(&url, out, err);
}

static int copy(char **out, struct cfr_view text, struct cfr_err *err)
{
    *out = cfr_str_dup(text);
    return *out != NULL ? 0 : cfr_err_nomem(err);
}

/* A configured URL: PATH is added if it has none of its own. PATH NULL: the caller adds one in any case. */
static int custom_url(char **out, const char *url, const char *path, struct cfr_err *err)
{
    const char *host = strstr(url, "://") + 3;
    const char *own = host + strcspn(host, "/");
    bool root = own[strspn(own, "/")] == '\0';
    struct cfr_view text = cfr_view_of(url);
    struct cfr_str whole = {.limit = URL_LIMIT};

    while ((root || path == NULL) && text.p[text.n - 1] == '/')
        text.n--;
    cfr_str_add(&whole, text);
    if (root && path != NULL)
        cfr_str_addz(&whole, path);
    return keep(&whole, out, err);
}

static int make_token_url(struct cfr_gcp_plan *p, const char *universe, struct cfr_err *err)
{
    const struct cfr_gcp *c = p->config;
    bool regional = c->location != NULL && strcmp(c->location, "global") != 0;

    if (c->sts_endpoint != NULL)
        return custom_url(&p->token_url, c->sts_endpoint, p->key ? "/token" : "/v1/token", err);
    if (p->key)
        return copy(&p->token_url, p->file.token_uri, err);
    if (p->file.token_url.n != 0)
        return copy(&p->token_url, p->file.token_url, err);
    return compose(&p->token_url, err,
                   (const char *const[]){"https://sts.", regional ? c->location : "", regional ? ".rep." : "",
                                         c->mtls || p->certificate ? "mtls." : "", universe, "/v1/token", NULL});
}

static int make_iam_url(struct cfr_gcp_plan *p, const char *universe, struct cfr_err *err)
{
    const struct cfr_gcp *c = p->config;

    if (c->iam_endpoint != NULL)
        return custom_url(&p->iam_url, c->iam_endpoint, NULL, err);
    if (p->file.iam_url.n != 0)
        return copy(&p->iam_url, p->file.iam_url, err);
    return compose(&p->iam_url, err,
                   (const char *const[]){"https://iamcredentials.",
                                         c->mtls || (p->certificate && p->file.doc == NULL) ? "mtls." : "", universe,
                                         NULL});
}

static int make_urls(struct cfr_gcp_plan *p, struct cfr_err *err)
{
    char *universe = NULL;
    int rc = copy(&universe, p->universe, err);

    if (rc == 0)
        rc = make_token_url(p, universe, err);
    if (rc == 0)
        rc = make_iam_url(p, universe, err);
    free(universe);
    return rc;
}

int cfr_gcp_plan_make(const struct cfr_gcp *config, const struct cfr_sts_input *in, struct cfr_gcp_plan *out,
                      struct cfr_err *err)
{
    int rc;

    *out = (struct cfr_gcp_plan){.config = config};
    rc = read_file(in, out, err);
    if (rc == 0)
        rc = read_contents(in, out, err);
    if (rc != 0)
        return rc;
    merge_settings(out);
    if (out->file.doc != NULL)
        rc = check_against_file(out, err);
    if (rc == 0)
        rc = check_chain(out, err);
    if (rc == 0)
        rc = check_effects(out, err);
    if (rc != 0)
        return rc;
    make_steps(out);
    return make_urls(out, err);
}

void cfr_gcp_plan_free(struct cfr_gcp_plan *p)
{
    cfr_gcp_file_free(&p->file);
    free(p->token_url);
    free(p->iam_url);
    *p = (struct cfr_gcp_plan){0};
}

bool cfr_gcp_plan_has(const struct cfr_gcp_plan *p, enum cfr_gcp_step step)
{
    for (unsigned i = 0; i < p->count; i++) {
        if (p->steps[i] == step)
            return true;
    }
    return false;
}
