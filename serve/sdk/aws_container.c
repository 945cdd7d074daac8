/* SPDX-License-Identifier: MIT */
/* AWS container credentials: one address that answers with the keys. */
#include "serve/sdk/aws_shape_private.h"
#include "serve/sdk/shape_private.h"

#include <stdio.h>
#include <string.h>

/* True if the client shows what the file holds. SDKs send the content of their token file as it is, with no scheme
 * before it; they take 401 and 403 for final, and 503 for a reason to try again. */
static bool authorized(const struct cfr_sdk_aws_container *c, const struct cfr_sdk_endpoint_request *r,
                       const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_view shown = cfr_sdk_endpoint_asked(r, "Authorization");
    struct cfr_view wanted;

    if (c->authorization == NULL)
        return true;
    if (shown.p == NULL) {
        cfr_sdk_aws_error(
            out, 401, "MissingAuthorization",
            "the request has no Authorization header: set AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE; botocore "
            "before 1.32 reads only AWS_CONTAINER_AUTHORIZATION_TOKEN, which holds the content of that "
            "file");
        out->refused = "it has no Authorization header";
        return false;
    }
    wanted = w->secret_file(w->ctx, c->authorization->file);
    if (wanted.n == 0) {
        cfr_sdk_aws_error(
            out, 503, "AuthorizationUnavailable",
            "the authorization file is empty or cannot be read now, so that no request can be authorized");
        cfr_sdk_endpoint_header(out, "Retry-After", cfr_view_of("1"));
        out->refused = "the authorization file is empty or cannot be read";
        return false;
    }
    if (!cfr_sdk_endpoint_same_secret(cfr_view_trim(shown), wanted)) {
        cfr_sdk_aws_error(out, 403, "AccessDenied", "the Authorization header is wrong for this path");
        out->refused = "its Authorization header is wrong";
        return false;
    }
    return true;
}

static bool answer(const void *config, const struct cfr_sdk_endpoint_request *r,
                   const struct cfr_sdk_endpoint_world *world, struct cfr_sdk_endpoint_answer *out)
{
    const struct cfr_sdk_aws_container *c = config;
    struct cfr_offer offer;
    struct cfr_writer w;

    if (!cfr_sdk_endpoint_path_is(r->path, c->path))
        return false;
    if (!cfr_sdk_aws_direct(r, out) || !cfr_sdk_aws_reads(r, out) || !authorized(c, r, world, out) ||
        !cfr_sdk_aws_offer(world, c->credential, &offer, out))
        return true;
    w = cfr_sdk_endpoint_json(out, 200, CFR_SDK_AWS_JSON);
    cfr_writer_object(&w, NULL);
    cfr_sdk_aws_keys(&offer, world->now_s, &w);
    /* Not made out of a session's ARN: that has lost the role's path. */
    if (cfr_view_starts(cfr_sdk_aws_arn_part(offer.grant->identity, 5), "role/"))
        cfr_writer_string(&w, "RoleArn", cfr_view_of(offer.grant->identity));
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    cfr_sdk_endpoint_end(out, &w);
    return true;
}

/* ---- its configuration ---- */

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_aws_container *c = node;
    const char *path = c->path;
    size_t n = path != NULL ? strlen(path) : 0;

    if (path == NULL)
        return 0;
    if (path[0] != '/' || path[n - 1] == '/' || !cfr_sdk_shape_is_plain(path, "/._~-"))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "path: write one that begins with / and does not end with it, of letters, digits and ._~-, such as "
            "/aws/registry");
    if (strstr(path, "//") != NULL || strstr(path, "/./") != NULL || strstr(path, "/../") != NULL ||
        (n >= 2 && strcmp(path + n - 2, "/.") == 0) || (n >= 3 && strcmp(path + n - 3, "/..") == 0))
        return cfr_err_set(err, CFR_E_CONFIG, "path: has an empty, . or .. part, which clients remove; remove it");
    return 0;
}

#define AT(member) offsetof(struct cfr_sdk_aws_container, member)
static const struct cfr_field fields[] = {
    {FIELD(credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63,
     .doc = CFR_DOC(CFR_SDK_SHAPE_DOC_CREDENTIAL)},
    {FIELD(path, STRING), .min = 2, .max = 128,
     .doc = CFR_DOC("Path of the URL. Default: `/aws/` and the credential's name.")},
    {FIELD(authorization, MAP), .flags = CFR_FIELD_REQUIRED, .table = &cfr_sdk_client_secret_table,
     .doc = CFR_DOC("What the client's Authorization header must contain; its file is the SDK's "
                    "`AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table table = {
    .name = "AWS container endpoint",
    .size = sizeof(struct cfr_sdk_aws_container),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("AWS container credentials (`AWS_CONTAINER_CREDENTIALS_FULL_URI`), which every AWS "
                   "SDK polls before the keys expire."),
};

static const char *path_of(const void *config)
{
    return ((const struct cfr_sdk_aws_container *)config)->path;
}

static int complete(void *config, struct cfr_err *err)
{
    struct cfr_sdk_aws_container *c = config;
    struct cfr_str path = {.limit = 256};

    if (c->path != NULL || c->credential == NULL)
        return 0;
    cfr_str_addf(&path, "/aws/%s", c->credential);
    c->path = path.p;
    return path.failed ? cfr_err_nomem(err) : 0;
}

static void each_use(const void *config, cfr_sdk_use_fn *each, void *ctx)
{
    const struct cfr_sdk_aws_container *c = config;

    each(ctx, &(struct cfr_sdk_use){.credential = c->credential,
                                    .key = "aws_container.credential",
                                    .line = c->node.line,
                                    .field = CFR_FIELD_AWS_ACCESS_KEY_ID});
}

static const struct cfr_sdk_client_secret *client_secret(const void *config)
{
    return ((const struct cfr_sdk_aws_container *)config)->authorization;
}

static int add_env(struct cfr_sdk_env *e, const void *config, const char *listen, const char *credential,
                   const char *client_id, struct cfr_err *err)
{
    const struct cfr_sdk_aws_container *c = config;
    char path[256];
    int rc;

    (void)client_id;
    if (!cfr_sdk_shape_names(c->credential, credential))
        return 0;
    /* A second address would have its own secret: half of one and half of the other would not work. */
    if (cfr_sdk_env_has_way(e, CFR_SDK_ENV_AWS_CONTAINER))
        return cfr_sdk_shape_note_second(e, listen, cfr_sdk_shape_given(c->path) ? c->path : "", err);
    (void)snprintf(path, sizeof path, "%s%s", cfr_sdk_shape_given(c->path) ? c->path : "/aws/",
                   cfr_sdk_shape_given(c->path) ? "" : credential);
    rc = cfr_sdk_shape_set_url(e, CFR_SDK_ENV_AWS_CONTAINER, "AWS_CONTAINER_CREDENTIALS_FULL_URI", listen, path, err);
    if (rc == 0 && c->authorization != NULL)
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_CONTAINER, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                             c->authorization->file, err);
    return rc;
}

const struct cfr_sdk_shape cfr_sdk_aws_container_shape = {
    .name = "aws_container",
    .doc = CFR_DOC("AWS container credentials, each with a separate path."),
    .table = &table,
    .most = 256,
    .path = path_of,
    .complete = complete,
    .each_use = each_use,
    .client_secret = client_secret,
    .answer = answer,
    .env = add_env,
};
