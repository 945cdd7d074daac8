/* SPDX-License-Identifier: MIT */
/* The configuration of the AWS provider: its table, and the rules that need no environment. */
#include "sts/aws/aws_private.h"
#include "wire/aws_settings.h"
#include "sts/aws/params_private.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS   (60 * MINUTE_MS)

#define STEP_FIELD(member, kind)                                                                                       \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_aws_step, member)
#define STEP_FIELD_AS(name, member, kind)                                                                              \
    .key = (name), .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_aws_step, member)
#define FIELD(member, kind)          .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_aws, member)
#define FIELD_AS(name, member, kind) .key = (name), .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_aws, member)

#define DOC_POLICY                                                                                                     \
    "Inline session policy in JSON: the session may do only what both it and the role allow. Only the "                \
    "characters U+0020 to U+00FF, TAB, LF and CR."
#define DOC_POLICY_ARNS                                                                                                \
    "ARNs of at most 10 managed policies of the role's account, used as session policies like `policy`."
#define DOC_EXTERNAL_ID                                                                                                \
    "The external id that the role's trust policy asks for (`sts:ExternalId`): letters, "                              \
    "digits and `_+=,.@:/-`."
#define DOC_TAGS                                                                                                       \
    "At most 50 session tags, for conditions on `aws:PrincipalTag`. Needs `sts:TagSession` "                           \
    "in the role's trust policy and in the caller's policy."
#define DOC_TRANSITIVE                                                                                                 \
    "Keys of `tags` that the following steps inherit. A step cannot set an inherited tag "                             \
    "again."
#define DOC_SOURCE_IDENTITY                                                                                            \
    "Source identity, kept through all following steps and seen in CloudTrail: letters, "                              \
    "digits and `_+=,.@-`. Needs `sts:SetSourceIdentity` on every role of the chain; once "                            \
    "set it cannot be changed."

#define GONE_CONTEXTS                                                                                                  \
    "was removed: an unattended agent has no assertion about a user; remove the key, and allow the role itself what "  \
    "it needs"
#define GONE_MFA                                                                                                       \
    "was removed: an unattended agent has no MFA device; use a role that trusts the token, or keys of a user whose "   \
    "policies require no MFA"

static const struct cfr_field_gone step_gone[] = {{"provided_contexts", GONE_CONTEXTS}, {NULL, NULL}};

static const struct cfr_field_gone aws_gone[] = {
    {"provided_contexts", GONE_CONTEXTS},
    {"serial_number", GONE_MFA},
    {"token_code_command", GONE_MFA},
    {"sts_regional_endpoints",
     "was removed: the STS of `region` is always called; remove the key, and for the global host set `endpoint`"},
    {"accept", "was removed: AWS answers in XML; remove the key"},
    {NULL, NULL},
};

static const struct cfr_field step_fields[] = {
    {STEP_FIELD(role_arn, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 2048,
     .doc = CFR_DOC("ARN of the role to assume with the keys of the previous step. Its trust policy must "
                    "name that step's role.")},
    {STEP_FIELD(session_name, STRING), .min = 2, .max = 64,
     .doc = CFR_DOC("Name of the session in its ARN and in CloudTrail: letters, digits and `_+=,.@-`. "
                    "Default: the session name of the first step.")},
    {STEP_FIELD_AS("duration", duration_ms, DURATION), .fallback = "1h", .min = 15 * MINUTE_MS, .max = HOUR_MS,
     .doc = CFR_DOC("Lifetime of the session, in whole seconds: AWS allows chained sessions at most one "
                    "hour, whatever the role's maximum.")},
    {STEP_FIELD(external_id, STRING), .min = 2, .max = 1224, .doc = CFR_DOC(DOC_EXTERNAL_ID)},
    {STEP_FIELD(policy, STRING), .min = 1, .max = 16384, .doc = CFR_DOC(DOC_POLICY)},
    {STEP_FIELD(policy_arns, STRINGS), .max = 10, .doc = CFR_DOC(DOC_POLICY_ARNS)},
    {STEP_FIELD(tags, PAIRS), .max = 50, .doc = CFR_DOC(DOC_TAGS)},
    {STEP_FIELD(transitive_tag_keys, STRINGS), .max = 50, .doc = CFR_DOC(DOC_TRANSITIVE)},
    {STEP_FIELD(source_identity, STRING), .min = 2, .max = 64, .doc = CFR_DOC(DOC_SOURCE_IDENTITY)},
    {STEP_FIELD(region, STRING), .min = 1, .max = 63,
     .doc = CFR_DOC("Region whose STS this step calls. Default: that of the exchange.")},
    {STEP_FIELD(endpoint, STRING), .min = 1, .max = 511,
     .doc = CFR_DOC("URL that this step calls instead of the region's STS. Default: that of the exchange.")},
    {.key = NULL},
};

static int check_whole_seconds(int64_t duration_ms, struct cfr_err *err)
{
    return duration_ms < 0 || duration_ms % 1000 == 0
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG, "duration: it must be in whole seconds");
}

static int check_region(const char *region, struct cfr_err *err)
{
    if (region == NULL || cfr_wire_aws_region_ok(cfr_view_of(region)))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "region: a region has only lower-case letters, digits and hyphens, such as eu-west-1");
}

static int check_endpoint(const char *endpoint, bool plain_http, struct cfr_err *err)
{
    struct cfr_wire_aws_endpoint parsed;

    if (endpoint == NULL || cfr_wire_aws_endpoint_parse_as(plain_http, endpoint, &parsed, err) == 0)
        return 0;
    return cfr_err_prefix(err, "endpoint");
}

static int check_step(const void *node, struct cfr_err *err)
{
    const struct cfr_aws_step *s = node;
    int rc = cfr_aws_params_check_role("role_arn", s->role_arn, err);

    if (rc == 0)
        rc = cfr_aws_params_check_session_name("session_name", s->session_name, err);
    if (rc == 0 && s->duration_ms > HOUR_MS)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "duration: AWS limits a chained session to one hour, whatever the role's own "
                         "maximum; write 1h or less");
    if (rc == 0)
        rc = check_whole_seconds(s->duration_ms, err);
    if (rc == 0)
        rc = cfr_aws_params_check_external_id("external_id", s->external_id, err);
    if (rc == 0)
        rc = cfr_aws_params_check_policy("policy", s->policy, err);
    if (rc == 0)
        rc = cfr_aws_params_check_policy_arns("policy_arns", &s->policy_arns, err);
    if (rc == 0)
        rc = cfr_aws_params_check_tags(&s->tags, &s->transitive_tag_keys, err);
    if (rc == 0)
        rc = cfr_aws_params_check_session_name("source_identity", s->source_identity, err);
    if (rc == 0)
        rc = check_region(s->region, err);
    /* Whether http is allowed says the exchange, which is looked at with its environment. */
    return rc != 0 ? rc : check_endpoint(s->endpoint, true, err);
}

const struct cfr_table cfr_aws_step_table = {
    .name = "then_assume step",
    .size = sizeof(struct cfr_aws_step),
    .fields = step_fields,
    .gone = step_gone,
    .check = check_step,
    .doc = CFR_DOC("A further role, assumed with the keys of the previous step (AssumeRole, signed)."),
};

static const struct cfr_field aws_fields[] = {
    {FIELD(role_arn, STRING), .variables = "AWS_ROLE_ARN ROLEARN", .min = 1, .max = 2048,
     .doc = CFR_DOC("ARN of the role to assume, such as `arn:aws:iam::123456789012:role/NAME`. Its trust policy must "
                    "accept the token's issuer, audience and subject, or the user of the keys. Required, except with "
                    "keys, which then get a session of their user (GetSessionToken).")},
    {FIELD(access_key_id_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with the ID of a long-lived access key: the exchange then begins with keys instead of a "
                    "token. Needs "
                    "`secret_access_key_file` and excludes `credentials_file`.")},
    {FIELD(secret_access_key_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with the secret access key that belongs to `access_key_id_file`.")},
    {FIELD(credentials_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("AWS shared credentials file with the keys to exchange, instead of a token. With "
                    "`role_arn` they "
                    "may be those of a session.")},
    {FIELD(profile, STRING), .min = 1, .max = 64,
     .doc = CFR_DOC("Profile of `credentials_file` with the keys. Default: `default`.")},
    {FIELD(region, STRING), .variables = "AWS_REGION AWS_DEFAULT_REGION", .min = 1, .max = 63,
     .doc = CFR_DOC("Region whose STS is called; it is also published as the consumer's region. Default: "
                    "`AWS_REGION`, then `AWS_DEFAULT_REGION`. Required, unless `endpoint` is set and no "
                    "request is signed (`then_assume`, `verify` and keys need signatures).")},
    {FIELD(session_name, STRING), .variables = "AWS_ROLE_SESSION_NAME", .min = 2, .max = 64,
     .doc = CFR_DOC("Name of the session in its ARN and in CloudTrail: letters, digits and `_+=,.@-`. "
                    "Default: from the token's subject, `NAMESPACE.SERVICEACCOUNT`, else the "
                    "credential's name.")},
    {FIELD_AS("duration", duration_ms, DURATION), .flags = CFR_FIELD_UNSET, .min = 15 * MINUTE_MS, .max = 36 * HOUR_MS,
     .doc = CFR_DOC("Lifetime of the session, in whole seconds: at most 12h for a role, 36h for keys without one. AWS "
                    "refuses more than the role's maximum session duration. Below about 30m, SDKs that refresh by "
                    "themselves query constantly. Default: 1h.")},
    {FIELD(policy, STRING), .min = 1, .max = 4096,
     .doc = CFR_DOC(DOC_POLICY " Together with `policy_arns` at most 2048 characters.")},
    {FIELD(policy_arns, STRINGS), .max = 10, .doc = CFR_DOC(DOC_POLICY_ARNS)},
    {FIELD(external_id, STRING), .min = 2, .max = 1224, .doc = CFR_DOC(DOC_EXTERNAL_ID " Only with keys.")},
    {FIELD(tags, PAIRS), .max = 50, .doc = CFR_DOC(DOC_TAGS " Only with keys: a token carries its own.")},
    {FIELD(transitive_tag_keys, STRINGS), .max = 50, .doc = CFR_DOC(DOC_TRANSITIVE)},
    {FIELD(source_identity, STRING), .min = 2, .max = 64, .doc = CFR_DOC(DOC_SOURCE_IDENTITY " Only with keys.")},
    {FIELD(endpoint, STRING), .min = 1, .max = 511,
     .doc = CFR_DOC("URL to call instead of the region's STS: a VPC endpoint (`https://vpce-...`), a proxy, or a "
                    "compatible server. https, or http to 127.0.0.0/8, [::1] or localhost. Default: "
                    "`AWS_ENDPOINT_URL_STS`, then `AWS_ENDPOINT_URL`, unless `AWS_IGNORE_CONFIGURED_ENDPOINT_URLS` "
                    "is true. Excludes `fips` and `dual_stack`.")},
    {FIELD(plain_http, BOOL), .fallback = "false",
     .doc = CFR_DOC("Whether the endpoint, and those of `then_assume`, may use plain http to another machine, such as "
                    "a gateway in the cluster. Anyone who can read that network reads the token and the granted keys; "
                    "`credfresh check` warns.")},
    {FIELD(ca_file, STRING), .variables = "AWS_CA_BUNDLE SSL_CERT_FILE", .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC(
         "Certificates (PEM) to trust for this exchange. Default: those in the file that `AWS_CA_BUNDLE` names, "
         "else the system's.")},
    {FIELD(fips, ENUM), .fallback = "environment", .choices = cfr_wire_aws_switches,
     .doc = CFR_DOC("Call the FIPS endpoint. `environment` means `AWS_USE_FIPS_ENDPOINT`, else no.")},
    {FIELD(dual_stack, ENUM), .fallback = "environment", .choices = cfr_wire_aws_switches,
     .doc = CFR_DOC("Call the endpoint that also has IPv6 addresses. `environment` means "
                    "`AWS_USE_DUALSTACK_ENDPOINT`, else no.")},
    {FIELD(then_assume, LIST), .max = CFR_AWS_STEPS_MAX, .table = &cfr_aws_step_table,
     .doc = CFR_DOC("Roles to assume one after the other, each with the keys of the previous one. The "
                    "keys of the last one are published.")},
    {FIELD(verify, BOOL), .fallback = "false",
     .doc = CFR_DOC("Ask AWS to which role the granted keys belong (GetCallerIdentity) before "
                    "publishing. If it is another account or role, or AWS does not know the keys yet, "
                    "nothing is published.")},
    {FIELD(ecr, MAP), .table = &cfr_aws_ecr_table,
     .doc = CFR_DOC("Logins to container registries, obtained with the session's keys, for the format "
                    "docker-config.")},
    {.key = NULL},
};

const struct cfr_aws_step *cfr_aws_step_at(const struct cfr_aws *config, size_t n)
{
    const struct cfr_aws_step *steps = config->then_assume.items;

    return n < config->then_assume.count ? &steps[n] : NULL;
}

int64_t cfr_aws_duration_ms(const struct cfr_aws *config)
{
    return config->duration_ms > 0 ? config->duration_ms : HOUR_MS;
}

int cfr_aws_add_step(struct cfr_aws *config, struct cfr_aws_step **out, struct cfr_err *err)
{
    struct cfr_list *steps = &config->then_assume;
    void *grown;

    if (steps->count == CFR_AWS_STEPS_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "then_assume: at most %d roles follow the first one", CFR_AWS_STEPS_MAX);
    grown = realloc(steps->items, (steps->count + 1) * sizeof **out);
    if (grown == NULL)
        return cfr_err_nomem(err);
    steps->items = grown;
    *out = (struct cfr_aws_step *)grown + steps->count;
    **out = (struct cfr_aws_step){.role_arn = NULL};
    steps->count++;
    return cfr_field_defaults(&cfr_aws_step_table, *out, err);
}

bool cfr_aws_has_keys(const struct cfr_aws *config)
{
    return config->access_key_id_file != NULL || config->credentials_file != NULL;
}

static int check_keys(const struct cfr_aws *c, struct cfr_err *err)
{
    bool id = c->access_key_id_file != NULL;
    bool secret = c->secret_access_key_file != NULL;

    if (c->credentials_file != NULL && (id || secret))
        return cfr_err_set(err, CFR_E_CONFIG, "credentials_file: it cannot be used with %s; keep one of the two",
                           id ? "access_key_id_file" : "secret_access_key_file");
    if (id != secret)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it is missing; a key is an ID and a secret",
                           id ? "secret_access_key_file" : "access_key_id_file");
    if (c->profile != NULL && c->credentials_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "profile: it has no effect without credentials_file; leave it out");
    if (c->role_arn == NULL && !cfr_aws_has_keys(c))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "role_arn: it is missing; write the role to assume with the token, such as "
                           "\"arn:aws:iam::123456789012:role/NAME\"");
    return 0;
}

/* What the first operation does not take is refused, not ignored. */
static int check_operation(const struct cfr_aws *c, struct cfr_err *err)
{
    const char *only_keys = c->external_id != NULL              ? "external_id"
                            : c->tags.count != 0                ? "tags"
                            : c->transitive_tag_keys.count != 0 ? "transitive_tag_keys"
                            : c->source_identity != NULL        ? "source_identity"
                                                                : NULL;
    const char *only_role = c->session_name != NULL     ? "session_name"
                            : c->policy != NULL         ? "policy"
                            : c->policy_arns.count != 0 ? "policy_arns"
                                                        : only_keys;

    if (!cfr_aws_has_keys(c) && only_keys != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: AWS does not take it with a token (only what the token itself says); leave it out, or "
                           "set it in a step of then_assume",
                           only_keys);
    if (c->role_arn == NULL && c->then_assume.count == 0 && only_role != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has no effect without `role_arn`; leave it out", only_role);
    if (c->role_arn != NULL && c->duration_ms > 12 * HOUR_MS)
        return cfr_err_set(err, CFR_E_CONFIG, "duration: a role's session lives at most 12h; write 12h or less");
    return 0;
}

int cfr_aws_check_begin(const struct cfr_aws *config, struct cfr_err *err)
{
    int rc = check_keys(config, err);

    return rc != 0 ? rc : check_operation(config, err);
}

static int check_policies(const struct cfr_aws *c, struct cfr_err *err)
{
    size_t n = cfr_aws_params_length(c->policy);
    int rc = cfr_aws_params_check_policy("policy", c->policy, err);

    if (rc == 0)
        rc = cfr_aws_params_check_policy_arns("policy_arns", &c->policy_arns, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < c->policy_arns.count; i++)
        n += strlen(c->policy_arns.items[i]);
    if (n > 2048)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "policy: together with policy_arns it has %zu characters; AWS takes at most 2048 of both",
                           n);
    return 0;
}

/* Settings that would be without effect are refused rather than ignored. */
static int check_combinations(const struct cfr_aws *c, struct cfr_err *err)
{
    if (c->endpoint == NULL)
        return 0;
    if (c->fips == CFR_AWS_TRUE || c->dual_stack == CFR_AWS_TRUE)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "endpoint: it cannot be combined with %s; give the host that is meant in the URL itself",
                           c->fips == CFR_AWS_TRUE ? "fips" : "dual_stack");
    if (c->ca_file != NULL && strncmp(c->endpoint, "http:", 5) == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "ca_file: it has no effect with an http endpoint; leave it out");
    return 0;
}

static int check_aws(const void *node, struct cfr_err *err)
{
    const struct cfr_aws *c = node;
    int rc = cfr_aws_params_check_role("role_arn", c->role_arn, err);

    if (rc == 0)
        rc = check_region(c->region, err);
    if (rc == 0)
        rc = cfr_aws_params_check_session_name("session_name", c->session_name, err);
    if (rc == 0)
        rc = check_whole_seconds(c->duration_ms, err);
    if (rc == 0)
        rc = check_policies(c, err);
    if (rc == 0)
        rc = cfr_aws_params_check_external_id("external_id", c->external_id, err);
    if (rc == 0)
        rc = cfr_aws_params_check_tags(&c->tags, &c->transitive_tag_keys, err);
    if (rc == 0)
        rc = cfr_aws_params_check_session_name("source_identity", c->source_identity, err);
    if (rc == 0)
        rc = check_endpoint(c->endpoint, c->plain_http, err);
    return rc != 0 ? rc : check_combinations(c, err);
}

const struct cfr_table cfr_aws_table = {
    .name = "aws exchange",
    .size = sizeof(struct cfr_aws),
    .fields = aws_fields,
    .gone = aws_gone,
    .check = check_aws,
    .doc = CFR_DOC("Exchange of the token at AWS STS (AssumeRoleWithWebIdentity) for the keys of a role's session; "
                   "or of long-lived "
                   "keys (AssumeRole, or GetSessionToken without a role) for those of a session."),
};
