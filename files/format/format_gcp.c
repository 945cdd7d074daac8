/* SPDX-License-Identifier: MIT */
/* Formats for Google Cloud. Sources: AIP-4117 (external_account); gcloud's auth/access_token_file. */
#include "files/format/format_private.h"

#include "base/time.h"

#include <string.h>

/* The grant's token, or what is missing. */
static int need_either(const struct cfr_format_input *in, const char *format, struct cfr_err *err)
{
    return cfr_format_get(in, CFR_FIELD_GCP_ID_TOKEN).n != 0
               ? 0
               : cfr_format_need(in, format, CFR_FIELD_GCP_ACCESS_TOKEN, err);
}

static int check_external(const struct cfr_format_input *in, struct cfr_err *err)
{
    const struct cfr_format_gcp *g = in->gcp;

    if (g == NULL || !cfr_format_given(g->audience) || !cfr_format_given(g->subject_token_type) ||
        !cfr_format_given(g->token_url))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the format gcp-external-account needs an `exchange: gcp` that begins with a token");
    if (!cfr_format_given(in->token_path))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the format gcp-external-account needs the path of a token: write `token_path`, where the "
                           "consumer finds its own, or in a directory add a file with format token");
    if (in->token_path[0] != '/')
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the format gcp-external-account needs an absolute path of the published token");
    return 0;
}

/* SDKs take `text` as it is, so that the token's file must end without a line feed, as the format token
 * writes it. */
static void write_source(struct cfr_writer *p, const char *path)
{
    cfr_writer_object(p, "credential_source");
    cfr_writer_string(p, "file", cfr_view_of(path));
    cfr_writer_object(p, "format");
    cfr_writer_string(p, "type", cfr_view_of("text"));
    cfr_writer_close(p);
    cfr_writer_close(p);
}

static void write_impersonation(struct cfr_writer *p, const struct cfr_format_gcp *g)
{
    if (!cfr_format_given(g->impersonation_url))
        return;
    cfr_writer_string(p, "service_account_impersonation_url", cfr_view_of(g->impersonation_url));
    if (g->lifetime_s <= 0)
        return;
    cfr_writer_object(p, "service_account_impersonation");
    cfr_writer_number(p, "token_lifetime_seconds", g->lifetime_s);
    cfr_writer_close(p);
}

int cfr_format_gcp_external_account(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_format_gcp *g = in->gcp;
    struct cfr_writer p = {.secret = out, .err = err, .rc = check_external(in, err)};

    if (p.rc != 0)
        return p.rc;
    cfr_writer_object(&p, NULL);
    cfr_writer_string(&p, "type", cfr_view_of("external_account"));
    /* As gcloud writes it: only where it is not the default. */
    if (cfr_format_given(g->universe_domain) && strcmp(g->universe_domain, "googleapis.com") != 0)
        cfr_writer_optional(&p, "universe_domain", cfr_view_of(g->universe_domain));
    cfr_writer_optional(&p, "audience", cfr_view_of(g->audience));
    cfr_writer_optional(&p, "subject_token_type", cfr_view_of(g->subject_token_type));
    cfr_writer_optional(&p, "token_url", cfr_view_of(g->token_url));
    write_impersonation(&p, g);
    write_source(&p, in->token_path);
    cfr_writer_optional(&p, "client_id", cfr_view_of(g->client_id));
    cfr_writer_optional(&p, "client_secret", g->client_secret);
    cfr_writer_optional(&p, "workforce_pool_user_project", cfr_view_of(g->user_project));
    cfr_writer_optional(&p, "quota_project_id", cfr_view_of(g->quota_project_id));
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}

int cfr_format_gcp_access_token(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_format_need(in, "gcp-access-token", CFR_FIELD_GCP_ACCESS_TOKEN, err);

    return rc != 0 ? rc : cfr_secret_append(out, cfr_format_get(in, CFR_FIELD_GCP_ACCESS_TOKEN), err);
}

int cfr_format_gcp_token_json(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {.secret = out, .err = err, .rc = need_either(in, "gcp-token-json", err)};
    char when[CFR_TIME_RFC3339_MAX];

    cfr_writer_object(&p, NULL);
    cfr_writer_string(&p, "token_type", cfr_view_of("Bearer"));
    cfr_writer_optional(&p, "access_token", cfr_format_get(in, CFR_FIELD_GCP_ACCESS_TOKEN));
    cfr_writer_optional(&p, "id_token", cfr_format_get(in, CFR_FIELD_GCP_ID_TOKEN));
    if (in->grant->expires_s != 0) {
        cfr_writer_optional(&p, "expiry", cfr_view_of(cfr_time_format(in->grant->expires_s, when)));
        cfr_writer_number(&p, "expires_at", in->grant->expires_s);
    }
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}

int cfr_format_gcp_service_account_key(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_format_need(in, "gcp-service-account-key", CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, err);

    return rc != 0 ? rc : cfr_secret_append(out, cfr_format_get(in, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY), err);
}
