/* SPDX-License-Identifier: MIT */
/* What SDKs have to know that do the exchange by themselves. */
#include "sts/gcp/plan_private.h"

#include "base/str.h"

#include <stdlib.h>

static int copy(char **out, struct cfr_view text, struct cfr_err *err)
{
    if (text.n == 0)
        return 0;
    *out = cfr_str_dup(text);
    return *out != NULL ? 0 : cfr_err_nomem(err);
}

static int make_impersonation_url(const struct cfr_gcp_plan *p, char **out, struct cfr_err *err)
{
    struct cfr_str url = {.limit = 4096};

    cfr_str_addz(&url, p->iam_url);
    cfr_str_addz(&url, "/v1/projects/-/serviceAccounts/");
    cfr_str_add(&url, p->account);
    cfr_str_addz(&url, ":generateAccessToken");
    if (url.failed) {
        cfr_str_free(&url);
        return cfr_err_nomem(err);
    }
    *out = url.p;
    return 0;
}

/* An external_account file has no words for these. */
static int check(const struct cfr_gcp_plan *p, struct cfr_err *err)
{
    if (p->key)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "an external_account file is for a token, and this exchange begins with a service "
                           "account's key; publish gcp-access-token instead");
    if (p->certificate)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "an external_account file with a published token cannot replace a certificate; "
                           "publish gcp-access-token instead");
    if (p->config->delegates.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "an external_account file cannot name delegates; publish gcp-access-token instead");
    return 0;
}

static int fill(const struct cfr_gcp_plan *p, struct cfr_gcp_sdk *out, struct cfr_err *err)
{
    int rc = copy(&out->audience, p->audience, err);

    if (rc == 0)
        rc = copy(&out->subject_token_type, p->subject_token_type, err);
    if (rc == 0)
        rc = copy(&out->token_url, cfr_view_of(p->token_url), err);
    if (rc == 0 && p->impersonates)
        rc = make_impersonation_url(p, &out->impersonation_url, err);
    if (rc == 0)
        rc = copy(&out->universe_domain, p->universe, err);
    if (rc == 0)
        rc = copy(&out->user_project, p->user_project, err);
    if (rc == 0)
        rc = copy(&out->quota_project_id, p->file.quota_project_id, err);
    if (rc == 0)
        rc = copy(&out->client_id, p->client_id, err);
    if (rc == 0 && p->impersonates && (p->config->lifetime_ms > 0 || p->file.lifetime_s != 0))
        out->lifetime_s = p->lifetime_s;
    return rc != 0 ? rc : cfr_secret_append(&out->client_secret, p->client_secret, err);
}

int cfr_gcp_sdk_make(const struct cfr_gcp *config, const struct cfr_sts_input *in, struct cfr_gcp_sdk *out,
                     struct cfr_err *err)
{
    struct cfr_gcp_plan plan;
    int rc = cfr_gcp_plan_make(config, in, &plan, err);

    *out = (struct cfr_gcp_sdk){0};
    cfr_secret_init(&out->client_secret, CFR_GRANT_VALUE_MAX);
    if (rc == 0)
        rc = check(&plan, err);
    if (rc == 0)
        rc = fill(&plan, out, err);
    cfr_gcp_plan_free(&plan);
    return rc;
}

void cfr_gcp_sdk_free(struct cfr_gcp_sdk *s)
{
    free(s->audience);
    free(s->subject_token_type);
    free(s->token_url);
    free(s->impersonation_url);
    free(s->universe_domain);
    free(s->user_project);
    free(s->quota_project_id);
    free(s->client_id);
    cfr_secret_free(&s->client_secret);
    *s = (struct cfr_gcp_sdk){0};
}
