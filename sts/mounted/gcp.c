/* SPDX-License-Identifier: MIT */
/* Mounted Secrets of GCP: a service account's key, or an external account that names a token.
 * Source: the cloud credential operator's GCP actuator and ccoctl. */
#include "sts/mounted/mounted_private.h"

#include "base/json.h"
#include "base/str.h"
#include "sts/gcp/gcp.h"
#include "sts/gcp/credential_file.h"

static int store_token(const struct cfr_mounted_case *c, const struct cfr_gcp_file *f)
{
    if (f->type != CFR_GCP_FILE_EXTERNAL_ACCOUNT || f->source != CFR_GCP_SOURCE_FILE)
        return 0;
    if (f->token_field.n != 0) {
        c->out->token_field = cfr_str_dup(f->token_field);
        if (c->out->token_field == NULL)
            return cfr_err_nomem(c->err);
    }
    return cfr_mounted_token(c, "credential_source in service_account.json", f->token_path);
}

/* Passed on, it is checked by its consumers, which may know more types than credfresh does. */
static int check_json(const struct cfr_mounted_case *c, struct cfr_view text)
{
    struct cfr_json *doc = NULL;
    int rc = cfr_json_parse(text, &doc, c->err);

    if (rc == CFR_E_ANSWER || (rc == 0 && cfr_json_get(doc, "type") == NULL))
        rc = cfr_err_set(c->err, CFR_E_CONFIG, "service_account.json is no JSON object with a `type`");
    cfr_json_free(doc);
    return rc;
}

int cfr_mounted_gcp(const struct cfr_mounted_case *c)
{
    struct cfr_view json;
    struct cfr_gcp_file file;
    int rc = cfr_mounted_await(c, "service_account.json", &json);

    if (rc != 0)
        return rc;
    if (c->options->pass_on)
        return check_json(c, json);
    rc = cfr_gcp_file_read(json, &file, c->err);
    if (rc != 0)
        (void)cfr_err_prefix(c->err, "service_account.json");
    if (rc == 0)
        rc = store_token(c, &file);
    if (rc == 0)
        rc = cfr_mounted_exchange(c, &cfr_gcp_provider);
    if (rc == 0 && ((const struct cfr_gcp *)c->out->config)->credentials_file == NULL) {
        rc = cfr_gcp_file_check_hosts(c->out->config, &file, c->err);
        if (rc != 0)
            (void)cfr_err_prefix(c->err, "service_account.json");
    }
    cfr_gcp_file_free(&file);
    return rc == 0 ? cfr_mounted_content(c, "credentials_file", json) : rc;
}
