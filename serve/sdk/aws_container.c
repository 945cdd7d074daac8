/* SPDX-License-Identifier: MIT */
/* AWS container credentials: one address that answers with the keys. */
#include "serve/sdk/endpoint.h"

#include "serve/sdk/aws_shape_private.h"

/* True if the client shows what the file holds. SDKs send the content of their token file as it is, with no scheme
 * before it; they take 401 and 403 for final, and 503 for a reason to try again. */
static bool authorized(const struct cfr_sdk_aws_container *c, const struct cfr_sdk_endpoint_request *r,
                       const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_view shown = cfr_sdk_endpoint_asked(r, "Authorization");
    struct cfr_view wanted;

    if (c->authorization_file == NULL)
        return true;
    if (shown.p == NULL) {
        cfr_sdk_aws_error(out, 401, "MissingAuthorization",
                          "an Authorization header is needed; set AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        out->refused = "it has no Authorization header";
        return false;
    }
    wanted = w->secret_file(w->ctx, c->authorization_file);
    if (wanted.n == 0) {
        cfr_sdk_aws_error(out, 503, "AuthorizationUnavailable",
                          "the authorization file is empty or cannot be read now, so that nobody can be authorized");
        cfr_sdk_endpoint_header(out, "Retry-After", cfr_view_of("1"));
        out->refused = "the authorization file is empty or cannot be read";
        return false;
    }
    if (!cfr_sdk_endpoint_same_secret(cfr_view_trim(shown), wanted)) {
        cfr_sdk_aws_error(out, 403, "AccessDenied", "the Authorization header is not what this address wants");
        out->refused = "its Authorization header is wrong";
        return false;
    }
    return true;
}

bool cfr_sdk_aws_container(const struct cfr_sdk_aws_container *c, const struct cfr_sdk_endpoint_request *r,
                           const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_offer offer;

    if (!cfr_view_is(r->path, c->path))
        return false;
    if (!cfr_sdk_aws_direct(r, out) || !cfr_sdk_aws_reads(r, out) || !authorized(c, r, w, out) ||
        !cfr_sdk_aws_offer(w, c->credential, &offer, out))
        return true;
    cfr_sdk_endpoint_start(out, 200, CFR_SDK_AWS_JSON);
    cfr_sdk_endpoint_text(out, "{");
    cfr_sdk_aws_keys(&offer, w->now_s, out);
    /* Not made out of a session's ARN: that has lost the role's path. */
    if (cfr_view_starts(cfr_sdk_aws_arn_part(offer.grant, 5), "role/"))
        cfr_sdk_aws_member(out, "RoleArn", cfr_view_of(offer.grant->identity));
    cfr_sdk_endpoint_text(out, "}\n");
    return true;
}
