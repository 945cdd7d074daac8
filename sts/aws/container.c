/* SPDX-License-Identifier: MIT */
/* The provider of container credentials: one request to the endpoint, then the check and the registries. */
#include "sts/aws/container_private.h"

#include "base/str.h"
#include "sts/aws/aws.h"
#include "sts/aws/aws_private.h"
#include "sts/aws/settings_private.h"
#include "sts/aws/params_private.h"
#include "sts/aws/verify_private.h"
#include "wire/url.h"

#include <string.h>

/* As sts/aws/aws.c: its keys serve the same consumers. */
#define CONSUMER_WINDOW_MS INT64_C(1200000)
#define ECS                "http://169.254.170.2"

enum stage { STAGE_KEYS, STAGE_VERIFY, STAGE_ECR, STAGE_NONE };

/* *INDEX is the number of the request to ECR. */
static enum stage stage_at(const struct cfr_aws_container *c, const struct cfr_aws_ecr_session *ecr, unsigned step,
                           size_t *index)
{
    size_t n = step;

    *index = 0;
    if (n-- == 0)
        return STAGE_KEYS;
    if (c->verify && n-- == 0)
        return STAGE_VERIFY;
    *index = n;
    return n < cfr_aws_ecr_calls(ecr) ? STAGE_ECR : STAGE_NONE;
}

static bool needs_token(const void *config)
{
    const struct cfr_aws_container *c = config;

    return c->authorization == CFR_AWS_CONTAINER_TOKEN;
}

static const char *read_variable(const char *(*env)(const char *), const char *name)
{
    const char *value = env != NULL ? env(name) : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Writes the endpoint's URL into the empty OUT. */
static int find_url(const struct cfr_aws_container *c, const char *(*env)(const char *), struct cfr_str *out,
                    bool *link_local, struct cfr_err *err)
{
    const char *relative = read_variable(env, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = read_variable(env, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *from = "endpoint";
    int rc;

    if (c->endpoint != NULL) {
        cfr_str_addz(out, c->endpoint);
    } else if (relative != NULL) {
        from = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
        if (relative[0] != '/')
            return cfr_err_set(err, CFR_E_CONFIG, "%s: it must begin with a slash", from);
        cfr_str_addf(out, ECS "%s", relative);
    } else {
        from = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
        cfr_str_addz(out, full != NULL ? full : CFR_AWS_CONTAINER_DEFAULT);
    }
    if (out->failed)
        return cfr_err_nomem(err);
    rc = cfr_aws_container_url(out->p, link_local, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", from);
    return rc;
}

static struct cfr_aws_ecr_session ecr_session(const struct cfr_aws_container *c, const char *(*env)(const char *))
{
    struct cfr_aws_settings place = {0};
    struct cfr_aws_ecr_session s = {.config = c->ecr, .ca_file = c->ca_file, .env = env};

    cfr_wire_aws_find_region(c->region, env, &place);
    s.region = place.region;
    if (c->role_arn != NULL)
        s.partition = cfr_aws_params_arn_part(c->role_arn, 1);
    if (cfr_wire_aws_find_switches(CFR_AWS_ENVIRONMENT, CFR_AWS_ENVIRONMENT, env, &place, NULL) == 0) {
        s.fips = place.fips;
        s.dual_stack = place.dual_stack;
        s.fips_from = place.fips_from;
        s.dual_stack_from = place.dual_stack_from;
    }
    return s;
}

/* The STS that verify asks. */
static int find_sts(const struct cfr_aws_container *c, const char *(*env)(const char *),
                    struct cfr_wire_aws_endpoint *out, struct cfr_err *err)
{
    struct cfr_aws_settings place = {0};
    struct cfr_view partition = {NULL, 0};
    int rc = cfr_wire_aws_find_endpoint(c->sts_endpoint, "AWS_ENDPOINT_URL_STS", env, &place, err);

    cfr_wire_aws_find_region(c->region, env, &place);
    if (rc == 0)
        rc = cfr_wire_aws_find_switches(CFR_AWS_ENVIRONMENT, CFR_AWS_ENVIRONMENT, env, &place, err);
    if (c->role_arn != NULL)
        partition = cfr_aws_params_arn_part(c->role_arn, 1);
    if (rc == 0)
        rc = cfr_aws_endpoint_resolve(&place, partition, out, err);
    if (rc == 0 && out->region[0] == '\0')
        rc = cfr_err_set(
            err, CFR_E_CONFIG,
            "region: verify signs its request and needs to know for which region; write `region: eu-west-1` "
            "(or whichever the endpoint serves)");
    return rc;
}

static int check(const void *config, const char *(*env)(const char *), struct cfr_err *err)
{
    const struct cfr_aws_container *c = config;
    struct cfr_aws_ecr_session ecr = ecr_session(c, env);
    struct cfr_str url = {.limit = (size_t)2 * CFR_URL_MAX};
    struct cfr_wire_aws_endpoint sts;
    bool link_local;
    int rc = find_url(c, env, &url, &link_local, err);

    if (rc == 0 && c->ca_file != NULL && cfr_view_starts(cfr_str_view(&url), "http:") && !c->verify && c->ecr == NULL)
        rc = cfr_err_set(err, CFR_E_CONFIG, "ca_file: it has no effect with an http endpoint; leave it out%s",
                         c->endpoint == NULL ? ", or write `endpoint`" : "");
    cfr_str_free(&url);
    if (rc == 0 && ecr.region != NULL && !cfr_wire_aws_region_ok(cfr_view_of(ecr.region)))
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "region: AWS_REGION (or AWS_DEFAULT_REGION) is not a region such as eu-west-1; set `region`");
    if (rc == 0 && c->verify)
        rc = find_sts(c, env, &sts, err);
    if (rc != 0 || c->ecr == NULL)
        return rc;
    rc = cfr_aws_ecr_check(&ecr, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "ecr");
    return rc;
}

static int build_keys(const struct cfr_aws_container *c, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                      struct cfr_err *err)
{
    struct cfr_str url = {.limit = (size_t)2 * CFR_URL_MAX};
    int rc = find_url(c, in->env, &url, &out->link_local, err);

    out->method = "GET";
    out->url = url.p;
    if (rc != 0)
        return rc;
    out->ca_file = cfr_view_starts(cfr_view_of(out->url), "https:") ? c->ca_file : NULL;
    out->ca_variable = CFR_WIRE_AWS_CA_VARIABLE;
    rc = cfr_wire_request_header(out, "Accept", cfr_view_of("application/json"), err);
    if (rc != 0 || !needs_token(c))
        return rc;
    if (in->token.n == 0)
        return cfr_err_set(err, CFR_E_TOKEN, "the token is empty");
    return cfr_wire_request_header(out, "Authorization", in->token, err);
}

static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_aws_container *c = x->config;
    struct cfr_aws_ecr_session ecr = ecr_session(c, in->env);
    struct cfr_wire_aws_endpoint sts;
    size_t index;
    int rc;

    switch (stage_at(c, &ecr, x->step, &index)) {
    case STAGE_KEYS:
        return build_keys(c, in, out, err);
    case STAGE_VERIFY:
        rc = find_sts(c, in->env, &sts, err);
        if (rc != 0)
            return rc;
        out->ca_file = sts.tls ? c->ca_file : NULL;
        return cfr_aws_verify_build(&sts, &x->grant, in->now_s, out, err);
    case STAGE_ECR:
        return cfr_aws_ecr_build(&ecr, index, &x->grant, in->now_s, out, err);
    case STAGE_NONE:
        break;
    }
    return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
}

static int parse_keys(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                      struct cfr_err *err)
{
    const struct cfr_aws_container *c = x->config;
    struct cfr_aws_settings place = {0};
    struct cfr_grant fresh = {0};
    int rc = cfr_aws_container_answer(reply, in->token, &fresh, err);

    cfr_wire_aws_find_region(c->region, in->env, &place);
    if (rc == 0 && c->role_arn != NULL && fresh.identity == NULL)
        rc = cfr_grant_set_identity(&fresh, cfr_view_of(c->role_arn), err);
    if (rc == 0 && c->role_arn != NULL && strcmp(c->role_arn, fresh.identity) != 0)
        rc = cfr_err_set(err, CFR_E_DENIED,
                         "the endpoint granted the keys of another role than `role_arn`; nothing is published");
    if (rc == 0 && place.region != NULL)
        rc = cfr_grant_set(&fresh, CFR_FIELD_AWS_REGION, cfr_view_of(place.region), err);
    if (rc != 0) {
        cfr_grant_free(&fresh);
        return rc;
    }
    cfr_grant_move(&x->grant, &fresh);
    return 0;
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err)
{
    const struct cfr_aws_container *c = x->config;
    struct cfr_aws_ecr_session ecr = ecr_session(c, in->env);
    size_t index;
    enum stage stage = stage_at(c, &ecr, x->step, &index);
    int rc;

    if (stage == STAGE_NONE)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    if (stage == STAGE_KEYS)
        rc = parse_keys(x, in, reply, err);
    else if (stage == STAGE_VERIFY)
        rc = cfr_aws_verify_parse(reply, &x->grant, err);
    else
        rc = cfr_aws_ecr_parse(&ecr, index, reply, &x->grant, err);
    if (rc != 0)
        return rc;
    if (stage_at(c, &ecr, x->step + 1, &index) == STAGE_NONE)
        return CFR_STS_DONE;
    x->step++;
    return CFR_STS_MORE;
}

static int add_registry(void *config, struct cfr_view host, struct cfr_err *err)
{
    struct cfr_aws_container *c = config;

    return cfr_aws_ecr_add(&c->ecr, host, err);
}

static const char *const grant_fields[] = {CFR_FIELD_AWS_ACCESS_KEY_ID, CFR_FIELD_AWS_SECRET_ACCESS_KEY,
                                           CFR_FIELD_AWS_SESSION_TOKEN, NULL};

const struct cfr_sts_provider cfr_aws_container_provider = {
    .name = "aws_container",
    .family = "aws",
    .table = &cfr_aws_container_table,
    .doc = CFR_DOC("The EKS Pod Identity agent, or another endpoint of AWS's container credentials."),
    .fields = grant_fields,
    .ca_variable = CFR_WIRE_AWS_CA_VARIABLE,
    .consumer_window_ms = CONSUMER_WINDOW_MS,
    .check = check,
    .needs_token = needs_token,
    .build = build,
    .parse = parse,
    .add_registry = add_registry,
    .registries = "ecr",
    .trust_needed = cfr_aws_container_trust_needed,
};
