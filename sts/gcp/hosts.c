/* SPDX-License-Identifier: MIT */
/* Hosts that a credential file names, compared with Google's. */
#include "sts/gcp/credential_file.h"

#include "sts/gcp/gcp.h"
#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 128

/* Cuts SUFFIX off *TEXT; false if it does not end in it. */
static bool cut_end(struct cfr_view *text, struct cfr_view suffix)
{
    char end[256];

    (void)snprintf(end, sizeof end, "%.*s", (int)suffix.n, suffix.p);
    if (text->n <= suffix.n || !cfr_view_is_nocase((struct cfr_view){text->p + text->n - suffix.n, suffix.n}, end))
        return false;
    text->n -= suffix.n;
    return true;
}

static bool is_label(struct cfr_view text)
{
    return text.n != 0 && memchr(text.p, '.', text.n) == NULL;
}

/* Whether HOST serves SERVICE ("sts") in UNIVERSE: sts.U, sts.X.U, X.sts.U, X-sts.U, sts-X.p.U, sts.X.rep.U. */
static bool is_host_of(const char *service, struct cfr_view host, struct cfr_view universe)
{
    size_t n = strlen(service);
    struct cfr_view name = host;
    struct cfr_view rest;
    bool private_connect;
    bool regional;

    if (!cut_end(&name, universe) || name.p[name.n - 1] != '.')
        return false;
    name.n--;
    private_connect = cut_end(&name, cfr_view_of(".p"));
    regional = !private_connect && cut_end(&name, cfr_view_of(".rep"));
    if (cfr_view_starts(name, service)) {
        rest = (struct cfr_view){name.p + n, name.n - n};
        if (rest.n == 0)
            return !private_connect && !regional;
        if (!is_label((struct cfr_view){rest.p + 1, rest.n - 1}))
            return false;
        return private_connect ? rest.p[0] == '-' : rest.p[0] == '.';
    }
    if (private_connect || regional || !cut_end(&name, cfr_view_of(service)))
        return false;
    rest = (struct cfr_view){name.p, name.n - 1};
    return is_label(rest) && (name.p[rest.n] == '.' || name.p[rest.n] == '-');
}

/* A key's assertion is signed by the key itself, but that goes to Google's authorization servers alone, too. */
static bool is_authorization_server(struct cfr_view host, struct cfr_view universe)
{
    return cfr_view_is_nocase(host, "accounts.google.com") || cfr_view_is_nocase(host, "www.googleapis.com") ||
           is_host_of("oauth2", host, cfr_view_of(CFR_GCP_UNIVERSE)) || is_host_of("oauth2", host, universe);
}

/* The host of URL, which was checked when the file was read; empty where it is not https. */
static struct cfr_view host_of(struct cfr_view url, char text[CFR_URL_MAX + 1])
{
    struct cfr_url parsed;

    (void)snprintf(text, CFR_URL_MAX + 1, "%.*s", (int)url.n, url.p);
    if (cfr_url_parse(text, &parsed, NULL) != 0 || !parsed.tls)
        return (struct cfr_view){NULL, 0};
    return parsed.host;
}

static int refuse(const char *member, struct cfr_view url, const char *key, struct cfr_err *err)
{
    char shown[SHOWN_MAX];

    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: %s is not https to a host of Google's for this, and a credential file does not decide "
                       "where tokens go: if they may go there, set `%s` below `gcp`",
                       member, cfr_view_show(url, shown, sizeof shown), key);
}

static int check_universe(const struct cfr_gcp *config, const struct cfr_gcp_file *file, struct cfr_err *err)
{
    char shown[SHOWN_MAX];

    if (config->universe_domain != NULL && !cfr_view_is(file->universe_domain, config->universe_domain))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "universe_domain: the credential file is for %s, not for %.128s; correct one of the two",
                           cfr_view_show(file->universe_domain, shown, sizeof shown), config->universe_domain);
    if (config->universe_domain == NULL && !cfr_view_is(file->universe_domain, CFR_GCP_UNIVERSE))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "universe_domain: %s is not googleapis.com, and a credential file does not decide where "
                           "tokens go: if they may go there, set `universe_domain` below `gcp`, too",
                           cfr_view_show(file->universe_domain, shown, sizeof shown));
    return 0;
}

int cfr_gcp_file_check_hosts(const struct cfr_gcp *config, const struct cfr_gcp_file *file, struct cfr_err *err)
{
    struct cfr_view universe = file->universe_domain;
    char text[CFR_URL_MAX + 1];
    int rc = check_universe(config, file, err);

    if (rc != 0)
        return rc;
    if (file->type == CFR_GCP_FILE_SERVICE_ACCOUNT)
        return config->sts_endpoint != NULL || is_authorization_server(host_of(file->token_uri, text), universe)
                   ? 0
                   : refuse("token_uri", file->token_uri, "sts_endpoint", err);
    if (config->sts_endpoint == NULL && file->token_url.n != 0 &&
        !is_host_of("sts", host_of(file->token_url, text), universe))
        return refuse("token_url", file->token_url, "sts_endpoint", err);
    if (config->iam_endpoint == NULL && file->iam_url.n != 0 &&
        !is_host_of("iamcredentials", host_of(file->iam_url, text), universe))
        return refuse("service_account_impersonation_url", file->iam_url, "iam_endpoint", err);
    return 0;
}
