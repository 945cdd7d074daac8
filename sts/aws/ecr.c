/* SPDX-License-Identifier: MIT */
/* Logins to ECR: requests and answers. */
#include "sts/aws/ecr_private.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/time.h"
#include "sts/aws/settings_private.h"
#include "sts/aws/keys_private.h"
#include "wire/aws.h"
#include "sts/core/docker_auths.h"

#include <stdio.h>
#include <string.h>

#define CONTENT_TYPE   "application/x-amz-json-1.1"
#define PRIVATE_TARGET "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
#define PUBLIC_TARGET  "SpencerFrontendService.GetAuthorizationToken"
#define PUBLIC_REGION  "us-east-1"
#define LATEST_S       INT64_C(253402300799)

/* One request: all private registries of a region, or the public one. */
struct call {
    bool is_public;
    bool fips;
    char region[CFR_AWS_ECR_REGION_MAX];
};

static void call_of_host(const struct cfr_aws_ecr_session *s, const char *host, struct call *out)
{
    struct cfr_aws_ecr_host parsed;
    const char *region = s->config->region != NULL ? s->config->region : s->region;

    *out = (struct call){.fips = s->fips};
    if (cfr_aws_ecr_host_parse(cfr_view_of(host), &parsed)) {
        region = parsed.region;
        out->fips = out->fips || parsed.fips;
    }
    (void)snprintf(out->region, sizeof out->region, "%s", region != NULL ? region : "");
}

static bool same_call(const struct call *a, const struct call *b)
{
    return a->is_public == b->is_public && a->fips == b->fips && strcmp(a->region, b->region) == 0;
}

/* True if no registry before number I has the same call as it, which is C. */
static bool is_first(const struct cfr_aws_ecr_session *s, size_t i, const struct call *c)
{
    for (size_t k = 0; k < i; k++) {
        struct call before;

        call_of_host(s, s->config->registries.items[k], &before);
        if (same_call(&before, c))
            return false;
    }
    return true;
}

/* Call N in the order of the registries, the public one last; false if there are no more. */
static bool find_call(const struct cfr_aws_ecr_session *s, size_t n, struct call *out)
{
    for (size_t i = 0; i < s->config->registries.count; i++) {
        call_of_host(s, s->config->registries.items[i], out);
        if (is_first(s, i, out) && n-- == 0)
            return true;
    }
    *out = (struct call){.is_public = true, .region = PUBLIC_REGION};
    return s->config->with_public && n == 0;
}

size_t cfr_aws_ecr_calls(const struct cfr_aws_ecr_session *s)
{
    struct call c;
    size_t n = 0;

    while (s->config != NULL && find_call(s, n, &c))
        n++;
    return n;
}

static void compose(const struct cfr_aws_ecr_session *s, const struct call *c, struct cfr_wire_aws_endpoint *out)
{
    const struct cfr_wire_aws_partition *p = cfr_wire_aws_partition(c->region);
    const char *name = c->is_public ? "ecr-public" : c->fips ? "ecr-fips" : "ecr";

    if (p == NULL)
        p = cfr_wire_aws_partition_named(cfr_view_of("aws"));
    *out = (struct cfr_wire_aws_endpoint){.path = "/", .tls = true};
    (void)snprintf(out->host, sizeof out->host, "%s%s.%s.%s", s->dual_stack ? "" : "api.", name, c->region,
                   s->dual_stack ? p->dual_stack_suffix : p->dns_suffix);
    (void)snprintf(out->region, sizeof out->region, "%s", c->region);
}

static int endpoint_of(const struct cfr_aws_ecr_session *s, const struct call *c, struct cfr_wire_aws_endpoint *out,
                       struct cfr_err *err)
{
    struct cfr_aws_settings place = {
        .fips = s->fips, .fips_from = s->fips_from, .dual_stack = s->dual_stack, .dual_stack_from = s->dual_stack_from};
    int rc = cfr_wire_aws_find_endpoint(s->config->endpoint,
                                        c->is_public ? "AWS_ENDPOINT_URL_ECR_PUBLIC" : "AWS_ENDPOINT_URL_ECR", s->env,
                                        &place, err);

    if (rc == 0)
        rc = cfr_wire_aws_check_custom(&place, err);
    if (rc != 0)
        return rc;
    if (c->region[0] == '\0')
        return cfr_err_set(err, CFR_E_CONFIG, "region: the registry's name does not say it, so it must be given");
    if (place.endpoint == NULL) {
        compose(s, c, out);
        return 0;
    }
    if (cfr_wire_aws_endpoint_parse(place.endpoint, out, err) != 0) {
        (void)cfr_err_prefix(err, "%s", place.endpoint_from);
        return CFR_E_CONFIG;
    }
    (void)snprintf(out->region, sizeof out->region, "%s", c->region);
    return 0;
}

/* The keys of one partition are not known in another. With an endpoint of the user's own the region is only a name. */
static int check_call(const struct cfr_aws_ecr_session *s, const struct call *c, struct cfr_err *err)
{
    const struct cfr_wire_aws_partition *p = cfr_wire_aws_partition(c->region);
    struct cfr_wire_aws_endpoint endpoint = {.custom = false};
    int rc = endpoint_of(s, c, &endpoint, err);

    if (rc != 0 || endpoint.custom)
        return rc;
    if (c->is_public && s->fips)
        return cfr_err_set(err, CFR_E_CONFIG, "public: ECR Public has no FIPS host, which %s asks for", s->fips_from);
    if (s->partition.n == 0 || p == NULL || cfr_view_is(s->partition, p->name))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: its region %s is in the partition %s, but the role's partition is %.*s; a registry accepts "
                       "only keys of its partition",
                       c->is_public ? "public" : "registries", c->region, p->name,
                       (int)(s->partition.n < 40 ? s->partition.n : 40), s->partition.p);
}

int cfr_aws_ecr_check(const struct cfr_aws_ecr_session *s, struct cfr_err *err)
{
    struct call c;
    size_t regions = cfr_aws_ecr_calls(s) - (s->config->with_public ? 1 : 0);
    int rc = 0;

    if (cfr_aws_ecr_calls(s) == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "registries: it is empty; name the registries, or write `public: true`");
    if (regions > CFR_AWS_ECR_REGIONS_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "registries: they are in %zu regions; a credential can hold those of %d",
                           regions, CFR_AWS_ECR_REGIONS_MAX);
    if (s->config->endpoint != NULL && regions > 1)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "endpoint: it serves one region, but the registries are in %zu; make a credential for each",
                           regions);
    for (size_t i = 0; rc == 0 && find_call(s, i, &c); i++)
        rc = check_call(s, &c, err);
    return rc;
}

static int call_at(const struct cfr_aws_ecr_session *s, size_t n, struct call *out, struct cfr_err *err)
{
    return s->config != NULL && find_call(s, n, out)
               ? 0
               : cfr_err_set(err, CFR_E_INTERNAL, "there is no request %zu to ECR", n);
}

int cfr_aws_ecr_build(const struct cfr_aws_ecr_session *s, size_t n, const struct cfr_grant *grant, int64_t now_s,
                      struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_wire_aws_keys keys = cfr_aws_keys_granted(grant);
    struct cfr_wire_aws_endpoint endpoint = {0};
    struct cfr_wire_aws_call post = {
        .endpoint = &endpoint, .content_type = CONTENT_TYPE, .keys = &keys, .now_s = now_s};
    struct call c = {0};
    int rc = call_at(s, n, &c, err);

    if (rc == 0)
        rc = endpoint_of(s, &c, &endpoint, err);
    if (rc != 0)
        return rc;
    post.service = c.is_public ? "ecr-public" : "ecr";
    post.target = c.is_public ? PUBLIC_TARGET : PRIVATE_TARGET;
    out->ca_file = endpoint.tls ? s->ca_file : NULL;
    out->answer_header = "x-amzn-ErrorType";
    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    rc = cfr_secret_append_str(&out->body, "{}", err);
    return rc != 0 ? rc : cfr_wire_aws_request(&post, out, err);
}

/* ECR answers with an array of one, ECR Public with an object. */
static const struct cfr_json *data_of(const struct cfr_json *doc)
{
    const struct cfr_json *data = cfr_json_get(doc, "authorizationData");

    return cfr_json_is_array(data) ? cfr_json_at(data, 0) : data;
}

static int read_expiry(const struct cfr_json *data, struct cfr_grant *g, struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(data, "expiresAt");
    struct cfr_view text;
    int64_t at = 0;
    double number;

    if (cfr_json_number(value, &number) && number >= 1 && number <= (double)LATEST_S)
        at = (int64_t)number;
    else if (!cfr_json_string(value, &text) || !cfr_time_parse(text, &at))
        return cfr_err_set(err, CFR_E_ANSWER, "ecr: the answer's expiresAt is missing or not a time");
    if (g->expires_s == 0 || at < g->expires_s)
        g->expires_s = at;
    return 0;
}

static int add_logins(const struct cfr_aws_ecr_session *s, const struct call *c, struct cfr_view user,
                      struct cfr_view password, struct cfr_grant *g, struct cfr_err *err)
{
    const char *const *name = cfr_aws_ecr_public_hosts;
    int rc = 0;

    for (; c->is_public && rc == 0 && *name != NULL; name++)
        rc = cfr_docker_auths_add(g, *name, user, password, err);
    if (c->is_public)
        return rc;
    for (size_t i = 0; rc == 0 && i < s->config->registries.count; i++) {
        struct call other;

        call_of_host(s, s->config->registries.items[i], &other);
        if (same_call(&other, c))
            rc = cfr_docker_auths_add(g, s->config->registries.items[i], user, password, err);
    }
    return rc;
}

/* The token is base64 of USER:PASSWORD. */
static int read_token(const struct cfr_aws_ecr_session *s, const struct call *c, const struct cfr_json *data,
                      struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_secret plain;
    struct cfr_view token;
    struct cfr_view all;
    const char *colon;
    int rc;

    if (!cfr_json_string(cfr_json_get(data, "authorizationToken"), &token) || token.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "ecr: the answer has no authorizationToken");
    cfr_secret_init(&plain, CFR_GRANT_VALUE_MAX);
    rc = cfr_base64_decode(token, &plain, err);
    all = cfr_secret_view(&plain);
    colon = rc == 0 ? memchr(all.p, ':', all.n) : NULL;
    if (rc == CFR_E_ANSWER)
        (void)cfr_err_prefix(err, "ecr: the answer's authorizationToken");
    else if (rc == 0 && (colon == NULL || !cfr_view_printable(all)))
        rc = cfr_err_set(err, CFR_E_ANSWER, "ecr: the answer's authorizationToken holds no user and password");
    else if (rc == 0)
        rc = add_logins(s, c, (struct cfr_view){all.p, (size_t)(colon - all.p)},
                        (struct cfr_view){colon + 1, (size_t)(all.p + all.n - colon) - 1}, g, err);
    cfr_secret_free(&plain);
    return rc;
}

int cfr_aws_ecr_parse(const struct cfr_aws_ecr_session *s, size_t n, const struct cfr_wire_reply *reply,
                      struct cfr_grant *grant, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    const struct cfr_json *data;
    struct call c = {0};
    int rc = call_at(s, n, &c, err);

    if (rc != 0)
        return rc;
    if (reply->status != 200)
        return cfr_aws_ecr_error_set(reply, c.is_public, grant, err);
    rc = cfr_json_parse(reply->body, &doc, err);
    if (rc != 0) {
        (void)cfr_err_prefix(err, "ecr");
        return rc;
    }
    data = data_of(doc);
    rc = read_expiry(data, grant, err);
    if (rc == 0)
        rc = read_token(s, &c, data, grant, err);
    cfr_json_free(doc);
    return rc;
}
