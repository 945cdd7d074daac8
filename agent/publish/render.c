/* SPDX-License-Identifier: MIT */
/* Rendering of a grant in a format. */
#include "agent/publish/render_private.h"

#include "files/format/format.h"
#include "sts/aws/aws.h"
#include "sts/gcp/gcp.h"

#include <string.h>

#define EXTERNAL_ACCOUNT "gcp-external-account"

/* Names what a format may need that the file's own keys leave open. */
static void fill_aws(const struct cfr_aws *aws, struct cfr_format_input *in)
{
    if (in->region == NULL)
        in->region = aws->region;
    if (in->role_arn == NULL)
        in->role_arn = aws->role_arn;
    if (in->session_name == NULL)
        in->session_name = aws->session_name;
}

static int render_gcp(const struct cfr_publish_render *r, struct cfr_format_input *in, struct cfr_secret *out,
                      struct cfr_err *err)
{
    const struct cfr_sts_input from = {.contents = r->from->contents, .content_count = r->from->content_count};
    struct cfr_gcp_sdk sdk;
    struct cfr_format_gcp gcp;
    int rc = cfr_gcp_sdk_make(r->from->config, &from, &sdk, err);

    if (rc == 0) {
        gcp = (struct cfr_format_gcp){
            .audience = sdk.audience,
            .subject_token_type = sdk.subject_token_type,
            .token_url = sdk.token_url,
            .impersonation_url = sdk.impersonation_url,
            .lifetime_s = sdk.lifetime_s,
            .universe_domain = sdk.universe_domain,
            .user_project = sdk.user_project,
            .quota_project_id = sdk.quota_project_id,
            .client_id = sdk.client_id,
            .client_secret = cfr_secret_view(&sdk.client_secret),
        };
        in->gcp = &gcp;
        rc = cfr_format_find(cfr_view_of(EXTERNAL_ACCOUNT))->render(in, out, err);
        in->gcp = NULL;
    }
    cfr_gcp_sdk_free(&sdk);
    return rc;
}

static int render(const struct cfr_publish_render *r, int format, struct cfr_format_input *in, struct cfr_secret *out,
                  struct cfr_err *err)
{
    const char *name = cfr_formats[format].name;
    int rc;

    in->credential = r->credential;
    in->generation = r->generation;
    in->grant = r->grant;
    if (in->token_path == NULL && cfr_formats[format].needs_token_path)
        in->token_path = r->token_path;
    if (r->from->provider == &cfr_aws_provider)
        fill_aws(r->from->config, in);
    if (r->from->provider == &cfr_gcp_provider && strcmp(name, EXTERNAL_ACCOUNT) == 0)
        rc = render_gcp(r, in, out, err);
    else
        rc = cfr_formats[format].render(in, out, err);
    return rc != 0 ? cfr_err_prefix(err, "format %s", name) : 0;
}

static struct cfr_format_input input_of(const struct cfr_config_file *file)
{
    return (struct cfr_format_input){
        .profile = file->profile,
        .command = file->command,
        .token_path = file->token_path,
        .role_arn = file->role_arn,
        .session_name = file->session_name,
        .region = file->region,
        .key = file->key != NULL ? file->key : file->name,
        .scope = file->scope,
        .cloud = file->cloud,
        .cacert = file->cacert,
        .token_only = file->clouds_auth != 0,
        .sts_regional_endpoints =
            file->sts_regional_endpoints != 0 ? cfr_config_sts_endpoints[file->sts_regional_endpoints] : NULL,
        .field = file->field,
        .template_text = file->template_text,
        .values = file->values,
        .server = file->server,
    };
}

int cfr_publish_render_file(const struct cfr_publish_render *r, const struct cfr_config_file *file,
                            struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_format_input in = input_of(file);

    in.section_header = true;
    return render(r, file->format, &in, out, err);
}

int cfr_publish_render_profile(const struct cfr_publish_render *r, const struct cfr_config_file *profile,
                               struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_format_input in = input_of(profile);

    return render(r, profile->format, &in, out, err);
}

const char *cfr_publish_render_key(const struct cfr_grant *grant, size_t index, struct cfr_view *value)
{
    const size_t n = sizeof CFR_FIELD_SECRET_PREFIX - 1;

    for (size_t i = 0; i < grant->field_count; i++) {
        if (strncmp(grant->fields[i].name, CFR_FIELD_SECRET_PREFIX, n) == 0 && index-- == 0) {
            *value = cfr_secret_view(&grant->fields[i].value);
            return grant->fields[i].name + n;
        }
    }
    return NULL;
}
