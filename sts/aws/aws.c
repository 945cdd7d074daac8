/* SPDX-License-Identifier: MIT */
/* The AWS provider: requests and answers, step by step. */
#include "sts/aws/aws_private.h"

#include "sts/aws/answer_private.h"
#include "wire/aws_settings.h"
#include "sts/aws/error_private.h"
#include "sts/aws/keys_private.h"
#include "sts/aws/params_private.h"
#include "sts/aws/settings_private.h"
#include "wire/aws.h"
#include "sts/aws/stage_private.h"
#include "sts/aws/verify_private.h"
#include "wire/form.h"

/* The widest window of the SDKs (15 min), and time for an outage in front of it. */
#define CONSUMER_WINDOW_MS INT64_C(1200000)

/* What is known about one step. */
struct stage {
    enum cfr_aws_stage kind;
    size_t index;
    unsigned sts_step;                 /* whose region and endpoint hold: 0, or the N-th element of then_assume */
    const struct cfr_aws_step *assume; /* of a chain */
    char region[CFR_AWS_REGION_MAX];
    struct cfr_aws_ecr_session ecr;
};

static bool needs_token(const void *config)
{
    return !cfr_aws_has_keys(config);
}

/* The registries' session; its region is kept in REGION. */
static struct cfr_aws_ecr_session ecr_session(const struct cfr_aws *c, const char *(*env)(const char *),
                                              char region[CFR_AWS_REGION_MAX])
{
    struct cfr_aws_ecr_session s = {.config = c->ecr, .ca_file = c->ca_file, .env = env};
    struct cfr_aws_settings place = {0};
    const char *role;

    if (c->ecr == NULL || cfr_wire_aws_find_switches(c->fips, c->dual_stack, env, &place, NULL) != 0)
        return s;
    s.region = cfr_aws_settings_region(c, env, region);
    role = c->then_assume.count != 0 ? cfr_aws_step_at(c, c->then_assume.count - 1)->role_arn : c->role_arn;
    if (role != NULL)
        s.partition = cfr_aws_params_arn_part(role, 1);
    s.fips = place.fips;
    s.dual_stack = place.dual_stack;
    s.fips_from = place.fips_from;
    s.dual_stack_from = place.dual_stack_from;
    return s;
}

static void find_stage(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct stage *out)
{
    const struct cfr_aws *c = x->config;

    out->ecr = ecr_session(c, in->env, out->region);
    out->kind = cfr_aws_stage_at(c, cfr_aws_ecr_calls(&out->ecr), x->step, &out->index);
    out->sts_step = x->step < c->then_assume.count ? x->step : (unsigned)c->then_assume.count;
    out->assume = out->kind == CFR_AWS_STAGE_CHAIN ? cfr_aws_step_at(c, out->index) : NULL;
}

static const char *region_reason(const struct cfr_aws *c, unsigned step)
{
    if (step != 0)
        return "then_assume signs its requests";
    if (cfr_aws_has_keys(c))
        return "what begins with keys signs its requests";
    return c->verify && c->then_assume.count == 0 ? "verify signs its request" : NULL;
}

static int check_step(const struct cfr_aws *c, unsigned step, const char *(*env)(const char *), struct cfr_err *err)
{
    const char *role = step == 0 ? c->role_arn : cfr_aws_step_at(c, step - 1)->role_arn;
    struct cfr_wire_aws_endpoint endpoint;
    int rc = cfr_aws_settings_resolve(c, step, env, &endpoint, err);

    if (rc != 0)
        return rc;
    if (!endpoint.custom && role != NULL && cfr_aws_params_arn_part(role, 4).n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "role_arn: it has no account; AWS needs its 12 digits");
    if (region_reason(c, step) != NULL && endpoint.region[0] == '\0')
        return cfr_err_set(err, CFR_E_CONFIG,
                           "region: %s and needs to know for which region; write `region: eu-west-1` (or whichever the "
                           "endpoint serves)",
                           region_reason(c, step));
    if (c->ca_file != NULL && !endpoint.tls)
        return cfr_err_set(err, CFR_E_CONFIG, "ca_file: it has no effect with an http endpoint; leave it out");
    return 0;
}

static int check(const void *config, const char *(*env)(const char *), struct cfr_err *err)
{
    const struct cfr_aws *c = config;
    char region[CFR_AWS_REGION_MAX];
    struct cfr_aws_ecr_session ecr;
    int rc = cfr_aws_check_begin(c, err);

    for (unsigned step = 0; rc == 0 && step <= c->then_assume.count; step++) {
        rc = check_step(c, step, env, err);
        if (rc != 0 && step != 0)
            (void)cfr_err_prefix(err, "then_assume step %u", step);
    }
    if (rc != 0 || c->ecr == NULL)
        return rc;
    ecr = ecr_session(c, env, region);
    rc = cfr_aws_ecr_check(&ecr, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "ecr");
    return rc;
}

/* What the first request says of its role, in the form of a later one. */
static struct cfr_aws_step first_step(const struct cfr_aws *c)
{
    return (struct cfr_aws_step){
        .role_arn = c->role_arn,
        .duration_ms = cfr_aws_duration_ms(c),
        .external_id = c->external_id,
        .policy = c->policy,
        .policy_arns = c->policy_arns,
        .tags = c->tags,
        .transitive_tag_keys = c->transitive_tag_keys,
        .source_identity = c->source_identity,
    };
}

static int set_body(const struct cfr_sts_exchange *x, const struct stage *s, const struct cfr_sts_input *in,
                    struct cfr_wire_request *out, struct cfr_err *err)
{
    const struct cfr_aws *c = x->config;
    const char *configured =
        s->assume != NULL && s->assume->session_name != NULL ? s->assume->session_name : c->session_name;
    struct cfr_aws_step first = first_step(c);
    char buf[CFR_AWS_SESSION_NAME_MAX + 1];
    const char *name = cfr_aws_params_session_name(configured, in->subject, in->credential, buf);

    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    if (s->kind == CFR_AWS_STAGE_WEB_IDENTITY)
        return cfr_aws_params_web_identity(c, name, in->token, &out->body, err);
    return s->kind == CFR_AWS_STAGE_SESSION_TOKEN
               ? cfr_aws_params_session_token(cfr_aws_duration_ms(c), &out->body, err)
               : cfr_aws_params_assume_role(s->assume != NULL ? s->assume : &first, name, &out->body, err);
}

static bool with_file_keys(enum cfr_aws_stage kind)
{
    return kind == CFR_AWS_STAGE_ASSUME_ROLE || kind == CFR_AWS_STAGE_SESSION_TOKEN;
}

/* A request to STS other than the check. */
static int build_sts(const struct cfr_sts_exchange *x, const struct stage *s, const struct cfr_sts_input *in,
                     const struct cfr_wire_aws_endpoint *endpoint, struct cfr_wire_request *out, struct cfr_err *err)
{
    const struct cfr_aws *c = x->config;
    struct cfr_wire_aws_keys keys = cfr_aws_keys_granted(&x->grant);
    struct cfr_wire_aws_call post = {
        .endpoint = endpoint,
        .service = "sts",
        .content_type = CFR_FORM_TYPE,
        .accept = CFR_AWS_ANSWER_TYPE,
        .keys = s->kind == CFR_AWS_STAGE_WEB_IDENTITY ? NULL : &keys,
        .now_s = in->now_s,
    };
    int rc = with_file_keys(s->kind) ? cfr_aws_keys_read(c, in, &keys, err) : 0;

    if (rc == 0)
        rc = set_body(x, s, in, out, err);
    return rc != 0 ? rc : cfr_wire_aws_request(&post, out, err);
}

static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_aws *c = x->config;
    struct cfr_wire_aws_endpoint endpoint;
    struct stage s;
    int rc;

    find_stage(x, in, &s);
    if (s.kind == CFR_AWS_STAGE_NONE)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    if (s.kind == CFR_AWS_STAGE_ECR)
        return cfr_aws_ecr_build(&s.ecr, s.index, &x->grant, in->now_s, out, err);
    rc = cfr_aws_settings_resolve(c, s.sts_step, in->env, &endpoint, err);
    if (rc != 0)
        return rc;
    out->ca_file = c->ca_file;
    out->plain_http = c->plain_http;
    return s.kind == CFR_AWS_STAGE_VERIFY ? cfr_aws_verify_build(&endpoint, &x->grant, in->now_s, out, err)
                                          : build_sts(x, &s, in, &endpoint, out, err);
}

static int refuse(const struct cfr_sts_exchange *x, const struct stage *s, const struct cfr_sts_input *in,
                  const struct cfr_wire_reply *reply, const struct cfr_aws_answer *answer, struct cfr_err *err)
{
    struct cfr_wire_aws_keys keys = {0};
    int unread = with_file_keys(s->kind) ? cfr_aws_keys_read(x->config, in, &keys, NULL) : 0;
    const struct cfr_view secrets[] = {
        in->token,
        keys.secret,
        keys.session_token,
        cfr_grant_get(&x->grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY),
        cfr_grant_get(&x->grant, CFR_FIELD_AWS_SESSION_TOKEN),
        cfr_aws_answer_get(answer, CFR_AWS_SECRET),
        cfr_aws_answer_get(answer, CFR_AWS_SESSION_TOKEN),
    };
    struct cfr_aws_refusal r = {
        .status = reply->status,
        .answer = answer,
        .request_id = reply->request_id,
        .call = CFR_AWS_WITH_SESSION,
        .who = cfr_view_of(x->grant.identity),
        .secrets = secrets,
        .secret_count = sizeof secrets / sizeof secrets[0],
    };

    if (with_file_keys(s->kind)) {
        r.call = CFR_AWS_WITH_KEYS;
        r.who = unread == 0 ? keys.id : (struct cfr_view){NULL, 0};
    } else if (s->kind == CFR_AWS_STAGE_WEB_IDENTITY) {
        r.call = CFR_AWS_WITH_TOKEN;
        r.who = in->subject;
    }
    return cfr_aws_error_set(&r, err);
}

static int read_grant(struct cfr_sts_exchange *x, const struct stage *s, const struct cfr_sts_input *in,
                      const struct cfr_aws_answer *answer, struct cfr_err *err)
{
    const struct cfr_aws *c = x->config;
    const char *role = s->assume != NULL ? s->assume->role_arn : c->role_arn;
    char region[CFR_AWS_REGION_MAX];
    struct cfr_grant fresh = {0};
    int rc = cfr_aws_answer_grant(answer, role, &fresh, err);

    if (rc == 0 && cfr_aws_settings_region(c, in->env, region)[0] != '\0')
        rc = cfr_grant_set(&fresh, CFR_FIELD_AWS_REGION, cfr_view_of(region), err);
    if (rc != 0) {
        cfr_grant_free(&fresh);
        return rc;
    }
    cfr_grant_move(&x->grant, &fresh);
    return 0;
}

static int parse_sts(struct cfr_sts_exchange *x, const struct stage *s, const struct cfr_sts_input *in,
                     const struct cfr_wire_reply *reply, struct cfr_err *err)
{
    struct cfr_aws_answer answer;
    int rc = cfr_aws_answer_read(cfr_aws_stage_operation(s->kind), reply->content_type, reply->body, &answer, err);

    /* What came with an error status decides by its status alone if it cannot be read: a page from a proxy,
     * say. */
    if (rc != CFR_E_NOMEM && (reply->status != 200 || cfr_aws_answer_get(&answer, CFR_AWS_CODE).n != 0))
        rc = refuse(x, s, in, reply, &answer, err);
    else if (rc == 0)
        rc = read_grant(x, s, in, &answer, err);
    cfr_aws_answer_free(&answer);
    return rc;
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err)
{
    struct stage s;
    int rc;

    find_stage(x, in, &s);
    if (s.kind == CFR_AWS_STAGE_NONE)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no step %u", x->step);
    if (s.kind == CFR_AWS_STAGE_ECR)
        rc = cfr_aws_ecr_parse(&s.ecr, s.index, reply, &x->grant, err);
    else if (s.kind == CFR_AWS_STAGE_VERIFY)
        rc = cfr_aws_verify_parse(reply, &x->grant, err);
    else
        rc = parse_sts(x, &s, in, reply, err);
    if (rc != 0)
        return rc;
    if (cfr_aws_stage_at(x->config, cfr_aws_ecr_calls(&s.ecr), x->step + 1, &s.index) == CFR_AWS_STAGE_NONE)
        return CFR_STS_DONE;
    x->step++;
    return CFR_STS_MORE;
}

static int add_registry(void *config, struct cfr_view host, struct cfr_err *err)
{
    struct cfr_aws *c = config;

    return cfr_aws_ecr_add(&c->ecr, host, err);
}

static const char *const grant_fields[] = {CFR_FIELD_AWS_ACCESS_KEY_ID, CFR_FIELD_AWS_SECRET_ACCESS_KEY,
                                           CFR_FIELD_AWS_SESSION_TOKEN, NULL};
/* Those of the isolated partitions (ISO) are not here: their certificates are of a CA of their own. */
static const char *const hosts[] = {".amazonaws.com",
                                    ".api.aws",
                                    ".amazonaws.com.cn",
                                    ".api.amazonwebservices.com.cn",
                                    ".amazonaws.eu",
                                    ".api.amazonwebservices.eu",
                                    NULL};
static const char *const algorithms[] = {"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", NULL};
static const struct cfr_token_rules token_rules = {
    .algorithms = algorithms,
    .only = "AWS accepts only RS256, RS384, RS512, ES256, ES384 and ES512",
    .accepts = "AWS",
    .bytes_max = CFR_AWS_TOKEN_MAX,
    .usual_audience = "sts.amazonaws.com",
    .usual_audience_china = "sts.amazonaws.com.cn",
};

const struct cfr_sts_provider cfr_aws_provider = {
    .name = "aws",
    .family = "aws",
    .table = &cfr_aws_table,
    .doc = CFR_DOC("AWS STS, and container registries of AWS."),
    .fields = grant_fields,
    .ca_variable = CFR_WIRE_AWS_CA_VARIABLE,
    .hosts = hosts,
    .token_rules = &token_rules,
    .consumer_window_ms = CONSUMER_WINDOW_MS,
    .check = check,
    .needs_token = needs_token,
    .build = build,
    .parse = parse,
    .add_registry = add_registry,
    .registries = "ecr",
    .trust_needed = cfr_aws_trust_needed,
    .trust_refused = cfr_aws_trust_refused,
};
