/* SPDX-License-Identifier: MIT */
/* Requests to IAM, and to STS with a key that is new. */
#include "rotation/aws_private.h"
#include "rotation/provider_private.h"

#include "base/str.h"
#include "wire/aws_settings.h"
#include "wire/form.h"

#include <stdio.h>
#include <string.h>

#define USER_NAME_MAX       128
#define REGIONS_MAX         40
#define IAM_VERSION         "2010-05-08"
#define STS_VERSION         "2011-06-15"
#define REGION_MARK         "{region}"

#define AT(member)          offsetof(struct cfr_rotation_aws, member)
#define FIELD(member, kind) .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)
static const struct cfr_field fields[] = {
    {FIELD(user_name, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = USER_NAME_MAX,
     .doc = CFR_DOC("IAM user of the access keys. AWS allows two, and a rotation needs both for a while, "
                    "so the user must have no other key. `adopt` takes over an existing one.")},
    {FIELD(regions, STRINGS), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = REGIONS_MAX,
     .doc = CFR_DOC("Regions where consumers use the key. They accept a new key at different times, so "
                    "it is verified in all of them before it is published. The first one is published as "
                    "the region.")},
    {FIELD(endpoint, STRING), .min = 8, .max = CFR_AWS_ENDPOINT_MAX - 1,
     .doc = CFR_DOC("URL of IAM. Default: `AWS_ENDPOINT_URL_IAM`, then `AWS_ENDPOINT_URL`, unless "
                    "`AWS_IGNORE_CONFIGURED_ENDPOINT_URLS` is true; else that of the regions' partition, such as "
                    "https://iam.amazonaws.com. Excludes `fips` and `dual_stack`.")},
    {FIELD(sts_endpoint, STRING), .min = 8, .max = CFR_AWS_ENDPOINT_MAX - 1,
     .doc = CFR_DOC("URL of the STS that verifies new keys; `{region}` in it is replaced by each of the "
                    "regions. Default: `AWS_ENDPOINT_URL_STS`, then `AWS_ENDPOINT_URL`, as above; else "
                    "that of the region, such as https://sts.us-east-1.amazonaws.com. Excludes `fips` "
                    "and `dual_stack`.")},
    {FIELD(fips, ENUM), .fallback = "environment", .choices = cfr_wire_aws_switches,
     .doc = CFR_DOC("Call the FIPS endpoints of IAM and STS. `environment` means `AWS_USE_FIPS_ENDPOINT`, else no.")},
    {FIELD(dual_stack, ENUM), .fallback = "environment", .choices = cfr_wire_aws_switches,
     .doc = CFR_DOC("Call the endpoints that also have IPv6 addresses. `environment` means "
                    "`AWS_USE_DUALSTACK_ENDPOINT`, else no.")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC(
         "Certificates (PEM) to trust. Default: those in the file that `AWS_CA_BUNDLE` names, else the system's.")},
    {.key = NULL},
};
#undef AT

/* A region of an unknown form is one of the commercial partition that is newer than the table. */
static const struct cfr_wire_aws_partition *partition_of(const char *region)
{
    const struct cfr_wire_aws_partition *p = cfr_wire_aws_partition(region);

    return p != NULL ? p : cfr_wire_aws_partition_named(cfr_view_of("aws"));
}

/* ---- rules ---- */

static int check_user(const char *name, struct cfr_err *err)
{
    for (const char *p = name; *p != '\0'; p++) {
        if (!cfr_view_is_alnum(*p) && strchr("_+=,.@-", *p) == NULL)
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "user_name: %.130s has a character that is not allowed; write only the name, without path or ARN",
                name);
    }
    return 0;
}

static int check_regions(const struct cfr_strings *regions, struct cfr_err *err)
{
    for (size_t i = 0; i < regions->count; i++) {
        if (!cfr_wire_aws_region_ok(cfr_view_of(regions->items[i])))
            return cfr_err_set(err, CFR_E_CONFIG, "regions: \"%.64s\" is not a region; write one such as us-east-1",
                               regions->items[i]);
        if (partition_of(regions->items[i]) != partition_of(regions->items[0]))
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "regions: %.64s and %.64s are in different partitions of AWS, which have different users",
                regions->items[0], regions->items[i]);
    }
    return 0;
}

/* A custom endpoint as it is called and signed; in the STS of REGION, or NULL. */
static int parse_endpoint(const char *key, const char *url, const char *region, struct cfr_wire_aws_endpoint *out,
                          struct cfr_err *err)
{
    struct cfr_str text = {.limit = CFR_AWS_ENDPOINT_MAX + 128};
    const char *mark = region != NULL ? strstr(url, REGION_MARK) : NULL;
    int rc;

    if (mark != NULL)
        cfr_str_addf(&text, "%.*s%s%s", (int)(mark - url), url, region, mark + strlen(REGION_MARK));
    else
        cfr_str_addz(&text, url);
    if (text.failed)
        rc = cfr_err_nomem(err);
    else
        rc = cfr_wire_aws_endpoint_parse(text.p, out, err);
    cfr_str_free(&text);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", key);
    return rc;
}

static int check_switches(const struct cfr_rotation_aws *c, struct cfr_err *err)
{
    const char *key = c->endpoint != NULL ? "endpoint" : "sts_endpoint";

    if ((c->endpoint == NULL && c->sts_endpoint == NULL) || (c->fips != CFR_AWS_TRUE && c->dual_stack != CFR_AWS_TRUE))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: it cannot be combined with %s; give the host that is meant in the URL itself", key,
                       c->fips == CFR_AWS_TRUE ? "fips" : "dual_stack");
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_rotation_aws *c = node;
    struct cfr_wire_aws_endpoint at;
    int rc = 0;

    if (c->user_name != NULL)
        rc = check_user(c->user_name, err);
    if (rc == 0)
        rc = check_regions(&c->regions, err);
    if (rc == 0)
        rc = check_switches(c, err);
    if (rc == 0 && c->endpoint != NULL)
        rc = parse_endpoint("endpoint", c->endpoint, NULL, &at, err);
    if (rc == 0 && c->sts_endpoint != NULL && c->regions.count != 0)
        rc = parse_endpoint("sts_endpoint", c->sts_endpoint, c->regions.items[0], &at, err);
    return rc;
}

const struct cfr_table cfr_rotation_aws_table = {
    .name = "AWS access keys",
    .size = sizeof(struct cfr_rotation_aws),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("Access keys of an IAM user. `with` must be allowed iam:ListAccessKeys, "
                   "iam:CreateAccessKey, iam:UpdateAccessKey, iam:GetAccessKeyLastUsed and "
                   "iam:DeleteAccessKey for it. A session from GetSessionToken cannot call IAM."),
};

/* ---- requests ---- */

static int read_keys(const struct cfr_grant *g, struct cfr_wire_aws_keys *out, struct cfr_err *err)
{
    *out = (struct cfr_wire_aws_keys){.id = {NULL, 0}};
    if (g != NULL) {
        out->id = cfr_rotation_admin_field(g, CFR_FIELD_AWS_ACCESS_KEY_ID);
        out->secret = cfr_rotation_admin_field(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY);
        out->session_token = cfr_rotation_admin_field(g, CFR_FIELD_AWS_SESSION_TOKEN);
    }
    if (out->id.n != 0 && out->secret.n != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "`with` has no keys of AWS: it must be an exchange with `aws`, or a mounted Secret with "
                       "aws_access_key_id and aws_secret_access_key that is passed on");
}

/* STS otherwise: for a use of the new key, and for who the caller is. */
static bool calls_iam(const struct cfr_rotation_ask *ask)
{
    return ask->op != CFR_ROTATION_VERIFY && (ask->op != CFR_ROTATION_RIGHTS || ask->id[0] != '\0');
}

static int add_parameters(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask, const char *page,
                          struct cfr_secret *body, struct cfr_err *err)
{
    static const char *const actions[] = {
        [CFR_ROTATION_LIST] = "ListAccessKeys",
        [CFR_ROTATION_CREATE] = "CreateAccessKey",
        [CFR_ROTATION_DEACTIVATE] = "UpdateAccessKey",
        [CFR_ROTATION_LAST_USED] = "GetAccessKeyLastUsed",
        [CFR_ROTATION_DELETE] = "DeleteAccessKey",
        [CFR_ROTATION_VERIFY] = "GetCallerIdentity",
        [CFR_ROTATION_RIGHTS] = "SimulatePrincipalPolicy",
    };
    bool iam = calls_iam(ask);
    bool one =
        ask->op == CFR_ROTATION_DEACTIVATE || ask->op == CFR_ROTATION_LAST_USED || ask->op == CFR_ROTATION_DELETE;
    int rc = cfr_form_add(body, "Action", cfr_view_of(actions[iam ? ask->op : CFR_ROTATION_VERIFY]), err);

    if (rc == 0)
        rc = cfr_form_add(body, "Version", cfr_view_of(iam ? IAM_VERSION : STS_VERSION), err);
    if (rc == 0 && iam && ask->op == CFR_ROTATION_RIGHTS)
        return cfr_rotation_aws_add_simulation(c, ask, page, body, err);
    if (rc == 0 && iam && ask->op != CFR_ROTATION_LAST_USED)
        rc = cfr_form_add(body, "UserName", cfr_view_of(ask->owner != NULL ? ask->owner : c->user_name), err);
    if (rc == 0 && one && ask->id != NULL)
        rc = cfr_form_add(body, "AccessKeyId", cfr_view_of(ask->id), err);
    if (rc == 0 && ask->op == CFR_ROTATION_DEACTIVATE)
        rc = cfr_form_add(body, "Status", cfr_view_of("Inactive"), err);
    if (rc == 0 && ask->op == CFR_ROTATION_LIST)
        rc = cfr_form_add(body, "Marker", cfr_view_of(page), err);
    return rc;
}

static int find_settings(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask,
                         struct cfr_aws_settings *out, struct cfr_err *err)
{
    bool iam = calls_iam(ask);
    int rc = cfr_wire_aws_find_endpoint(iam ? c->endpoint : c->sts_endpoint,
                                        iam ? "AWS_ENDPOINT_URL_IAM" : "AWS_ENDPOINT_URL_STS", ask->env, out, err);

    if (!iam && c->sts_endpoint != NULL)
        out->endpoint_from = "sts_endpoint";
    if (rc == 0)
        rc = cfr_wire_aws_find_switches(c->fips, c->dual_stack, ask->env, out, err);
    return rc == 0 ? cfr_wire_aws_check_custom(out, err) : rc;
}

/* Where IAM is, or the STS of the place in which a new key is tried. */
static int find_endpoint(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask,
                         struct cfr_wire_aws_endpoint *out, struct cfr_err *err)
{
    bool iam = calls_iam(ask);
    const char *region = c->regions.items[iam ? 0 : ask->place];
    const struct cfr_wire_aws_partition *p = partition_of(region);
    struct cfr_aws_settings place = {.region = region};
    const char *host;
    int rc = find_settings(c, ask, &place, err);

    if (rc != 0)
        return rc;
    host = cfr_wire_aws_iam_host(p, place.fips, place.dual_stack);
    *out = (struct cfr_wire_aws_endpoint){.path = "/", .tls = true};
    if (place.endpoint != NULL)
        rc = parse_endpoint(place.endpoint_from, place.endpoint, iam ? NULL : region, out, err);
    else if (!iam)
        cfr_wire_aws_sts_host(p, region, place.fips, place.dual_stack, out->host);
    else if (host != NULL)
        (void)snprintf(out->host, sizeof out->host, "%s", host);
    else
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "%s: no such host of IAM is known in the partition %s: write it as `endpoint`, and set %s to "
                         "false",
                         place.fips ? place.fips_from : place.dual_stack_from, p->name,
                         place.fips ? place.fips_from : place.dual_stack_from);
    (void)snprintf(out->region, sizeof out->region, "%s", iam ? p->iam_region : region);
    return rc;
}

static int build(const void *config, const struct cfr_rotation_ask *ask, const char *page, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_rotation_aws *c = config;
    struct cfr_wire_aws_endpoint at;
    struct cfr_wire_aws_keys keys;
    struct cfr_wire_aws_call call = {.endpoint = &at,
                                     .service = calls_iam(ask) ? "iam" : "sts",
                                     .content_type = CFR_FORM_TYPE,
                                     .keys = &keys,
                                     .now_s = ask->now_s};
    int rc = find_endpoint(c, ask, &at, err);

    out->ca_file = c->ca_file;
    cfr_secret_init(&out->body, CFR_ROTATION_BODY_MAX);
    if (rc == 0)
        rc = read_keys(ask->op == CFR_ROTATION_VERIFY ? ask->fresh : ask->admin, &keys, err);
    if (rc == 0)
        rc = add_parameters(c, ask, page, &out->body, err);
    return rc == 0 ? cfr_wire_aws_request(&call, out, err) : rc;
}

static const char *subject(const void *config)
{
    return ((const struct cfr_rotation_aws *)config)->user_name;
}

static struct cfr_view account(const void *config, const struct cfr_rotation_ask *ask)
{
    (void)config;
    return cfr_rotation_admin_field(ask->admin, CFR_FIELD_AWS_ACCOUNT_ID);
}

static size_t places(const void *config)
{
    return ((const struct cfr_rotation_aws *)config)->regions.count;
}

static int pass_on(const void *config, const struct cfr_rotation_ask *ask, struct cfr_grant *out, struct cfr_err *err)
{
    const struct cfr_rotation_aws *c = config;
    struct cfr_wire_aws_keys keys;
    int rc = read_keys(ask->admin, &keys, err);

    if (rc == 0 && keys.session_token.n != 0)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "`with` has aws_session_token, which a rotated key does not have, so it cannot be published");
    if (rc == 0)
        rc = cfr_grant_set(out, CFR_FIELD_AWS_ACCESS_KEY_ID, keys.id, err);
    if (rc == 0)
        rc = cfr_grant_set(out, CFR_FIELD_AWS_SECRET_ACCESS_KEY, keys.secret, err);
    return rc == 0 ? cfr_grant_set(out, CFR_FIELD_AWS_REGION, cfr_view_of(c->regions.items[0]), err) : rc;
}

static const char *const grants[] = {CFR_FIELD_AWS_ACCESS_KEY_ID, CFR_FIELD_AWS_SECRET_ACCESS_KEY, CFR_FIELD_AWS_REGION,
                                     NULL};

const struct cfr_rotation_provider cfr_rotation_aws_provider = {
    .grants = grants,
    .name = "aws",
    .table = &cfr_rotation_aws_table,
    .doc = CFR_DOC("Access keys of an IAM user."),
    .deactivates = true,
    .sole = true,
    .tells_use = true,
    .tells_rights = true,
    .rights_unseen = "a policy with conditions, or for a user with a path",
    /* IAM judges the rights before it looks for the key (reference of the local cloud's IAM: AccessDenied, then
     * NoSuchEntity). */
    .rights = {CFR_ROTATION_DELETE, CFR_ROTATION_DEACTIVATE, CFR_ROTATION_LAST_USED},
    .right_count = 3,
    .absent = "AKIACREDFRESHTRIES00",
    .most = 2,
    .verify_count = 3,
    .verify_wait_s = 10,
    .asks_owner = true,
    .subject = subject,
    .account = account,
    .places = places,
    .build = build,
    .parse = cfr_rotation_aws_parse,
    .recognize = cfr_rotation_aws_recognize,
    .pass_on = pass_on,
};
