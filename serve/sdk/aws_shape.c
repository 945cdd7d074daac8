/* SPDX-License-Identifier: MIT */
/* Keys and errors as the SDKs of AWS read them. */
#include "serve/sdk/aws_shape_private.h"

#include "base/time.h"

#include <stdio.h>

void cfr_sdk_aws_error(struct cfr_sdk_endpoint_answer *out, int status, const char *code, const char *message)
{
    struct cfr_writer w = cfr_sdk_endpoint_json(out, status, CFR_SDK_AWS_JSON);

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "code", cfr_view_of(code));
    cfr_writer_string(&w, "message", cfr_view_of(message));
    cfr_writer_string(&w, "Code", cfr_view_of(code));
    cfr_writer_string(&w, "Message", cfr_view_of(message));
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    cfr_sdk_endpoint_end(out, &w);
}

bool cfr_sdk_aws_direct(const struct cfr_sdk_endpoint_request *r, struct cfr_sdk_endpoint_answer *out)
{
    if (!cfr_sdk_endpoint_proxied(r))
        return true;
    cfr_sdk_aws_error(out, 403, "Forwarded",
                      "credentials are not given through a proxy; ask without X-Forwarded-For, Forwarded and Via");
    out->refused = "a proxy brought it (X-Forwarded-For, Forwarded or Via)";
    return false;
}

bool cfr_sdk_aws_reads(const struct cfr_sdk_endpoint_request *r, struct cfr_sdk_endpoint_answer *out)
{
    if (cfr_view_is(r->method, "GET") || cfr_view_is(r->method, "HEAD"))
        return true;
    cfr_sdk_aws_error(out, 405, "MethodNotAllowed", "only GET, HEAD is allowed here");
    cfr_sdk_endpoint_header(out, "Allow", cfr_view_of("GET, HEAD"));
    return false;
}

bool cfr_sdk_aws_offer(const struct cfr_sdk_endpoint_world *w, const char *credential, struct cfr_offer *offer,
                       struct cfr_sdk_endpoint_answer *out)
{
    char text[CFR_SDK_ENDPOINT_WHY_MAX];

    *offer = (struct cfr_offer){0};
    if (!w->offer(w->ctx, credential, offer)) {
        (void)snprintf(text, sizeof text, "no credential is named %s; fix the endpoint in the configuration",
                       credential);
        cfr_sdk_aws_error(out, 500, "NoSuchCredential", text);
        return false;
    }
    if (!cfr_sdk_endpoint_offer_lives(offer, w->now_s)) {
        cfr_sdk_aws_error(out, 503, "CredentialsUnavailable", cfr_sdk_endpoint_why(offer, text));
        cfr_sdk_endpoint_retry_after(out, offer);
        return false;
    }
    if (cfr_grant_get(offer->grant, CFR_FIELD_AWS_ACCESS_KEY_ID).n == 0 ||
        cfr_grant_get(offer->grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY).n == 0) {
        (void)snprintf(text, sizeof text,
                       "credential %s holds no AWS keys; name one that does in the endpoint's configuration",
                       credential);
        cfr_sdk_aws_error(out, 500, "NoAwsKeys", text);
        return false;
    }
    return true;
}

void cfr_sdk_aws_time(struct cfr_writer *w, const char *name, int64_t unix_s)
{
    char text[CFR_TIME_RFC3339_MAX];

    cfr_writer_string(w, name, cfr_view_of(cfr_time_format(unix_s, text)));
}

void cfr_sdk_aws_keys(const struct cfr_offer *offer, int64_t now_s, struct cfr_writer *w)
{
    struct cfr_view session = cfr_grant_get(offer->grant, CFR_FIELD_AWS_SESSION_TOKEN);

    cfr_writer_string(w, "AccessKeyId", cfr_grant_get(offer->grant, CFR_FIELD_AWS_ACCESS_KEY_ID));
    cfr_writer_string(w, "SecretAccessKey", cfr_grant_get(offer->grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY));
    cfr_writer_string(w, "Token", session.n != 0 ? session : cfr_view_of(""));
    cfr_sdk_aws_time(w, "Expiration", offer->expires_s != 0 ? offer->expires_s : now_s + CFR_SDK_AWS_ROLLING_S);
    cfr_writer_optional(w, "AccountId", cfr_sdk_aws_account(offer->grant));
}

struct cfr_view cfr_sdk_aws_arn_part(const char *text, unsigned part)
{
    struct cfr_view rest = cfr_view_of(text);

    if (!cfr_view_starts(rest, "arn:"))
        return (struct cfr_view){NULL, 0};
    for (unsigned i = 0; i < part; i++) {
        ptrdiff_t colon = cfr_view_find(rest, ":");

        if (colon < 0)
            return (struct cfr_view){NULL, 0};
        rest = (struct cfr_view){rest.p + colon + 1, rest.n - (size_t)colon - 1};
    }
    if (part < 5 && cfr_view_find(rest, ":") >= 0)
        rest.n = (size_t)cfr_view_find(rest, ":");
    return rest;
}

struct cfr_view cfr_sdk_aws_account(const struct cfr_grant *grant)
{
    struct cfr_view account = cfr_grant_get(grant, CFR_FIELD_AWS_ACCOUNT_ID);

    if (account.n == 0)
        account = cfr_sdk_aws_arn_part(grant->identity, 4);
    for (size_t i = 0; i < account.n; i++) {
        if (account.p[i] < '0' || account.p[i] > '9')
            account.n = 0;
    }
    return account.n == 12 ? account : (struct cfr_view){NULL, 0};
}
