/* SPDX-License-Identifier: MIT */
/* Requests to IAM, and to STS with a key that is new. */
#include "rotation/aws.h"

#include "base/str.h"
#include "rotation/rest_private.h"

#include <stdio.h>
#include <string.h>

#define USER_NAME_MAX       128
#define REGIONS_MAX         40
#define REGION_MAX          63
#define URL_MAX             2048
#define FORM_TYPE           "application/x-www-form-urlencoded"
#define IAM_VERSION         "2010-05-08"
#define STS_VERSION         "2011-06-15"
#define REGION_MARK         "{region}"

#define AT(member)          offsetof(struct cfr_rotation_aws, member)
#define FIELD(member, kind) .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)
static const struct cfr_field fields[] = {
    {FIELD(user_name, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = USER_NAME_MAX,
     .doc = "The IAM user whose access keys these are. It has two at the most, so it may have one that is "
            "not credfresh's."},
    {FIELD(regions, STRINGS), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = REGIONS_MAX,
     .doc = "Where consumers use the key. Each learns of a new one at its own time: it is tried in all of "
            "them before it is "
            "published. The first is published as the region."},
    {FIELD(endpoint, STRING), .min = 8, .max = URL_MAX,
     .doc = "URL of IAM. Default: that of the regions' partition, such as https://iam.amazonaws.com."},
    {FIELD(sts_endpoint, STRING), .min = 8, .max = URL_MAX,
     .doc = "URL of the STS that new keys are tried at; `{region}` in it stands for each of the regions. "
            "Default: theirs, such as "
            "https://sts.us-east-1.amazonaws.com."},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH, .doc = "Certificates (PEM) to trust instead of the system's."},
    {.key = NULL},
};
#undef AT

/* By the beginning of its regions' names; the last is everybody else's. A region of "" stands for the one
 * that was named. */
static const struct partition {
    const char *prefix;
    const char *iam;
    const char *iam_region;
    const char *suffix;
} partitions[] = {
    {"cn-", "iam.cn-north-1.amazonaws.com.cn", "cn-north-1", "amazonaws.com.cn"},
    {"us-gov-", "iam.us-gov.amazonaws.com", "us-gov-west-1", "amazonaws.com"},
    {"eusc-", "iam.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1", "amazonaws.eu"},
    {"us-iso-", "iam.us-iso-east-1.c2s.ic.gov", "us-iso-east-1", "c2s.ic.gov"},
    {"us-isob-", "iam.us-isob-east-1.sc2s.sgov.gov", "us-isob-east-1", "sc2s.sgov.gov"},
    {"eu-isoe-", "iam.eu-isoe-west-1.cloud.adc-e.uk", "eu-isoe-west-1", "cloud.adc-e.uk"},
    {"us-isof-", "iam.us-isof-south-1.csp.hci.ic.gov", "us-isof-south-1", "csp.hci.ic.gov"},
    {"", "iam.amazonaws.com", "us-east-1", "amazonaws.com"},
};

static const struct partition *partition_of(const char *region)
{
    const struct partition *p = partitions;

    while (strncmp(region, p->prefix, strlen(p->prefix)) != 0)
        p++;
    return p;
}

/* ---- rules ---- */

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* It becomes part of a host's name. */
static bool is_region(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return n != 0 && n <= REGION_MAX && text[n] == '\0' && text[0] != '-' && text[n - 1] != '-';
}

static int check_user(const char *name, struct cfr_err *err)
{
    for (const char *p = name; *p != '\0'; p++) {
        if (!is_alphanumeric(*p) && strchr("_+=,.@-", *p) == NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "user_name: %.130s has a character that names of users cannot have; write the "
                               "name alone, without "
                               "path or ARN",
                               name);
    }
    return 0;
}

static int check_regions(const struct cfr_strings *regions, struct cfr_err *err)
{
    for (size_t i = 0; i < regions->count; i++) {
        if (!is_region(regions->items[i]))
            return cfr_err_set(err, CFR_E_CONFIG, "regions: \"%.64s\" is no region; write one such as us-east-1",
                               regions->items[i]);
        if (partition_of(regions->items[i]) != partition_of(regions->items[0]))
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "regions: %.64s and %.64s are in different partitions of AWS, which have different users",
                regions->items[0], regions->items[i]);
    }
    return 0;
}

/* A URL in which `{region}` is replaced by REGION. */
static void add_url(struct cfr_str *url, const char *text, const char *region)
{
    const char *mark = strstr(text, REGION_MARK);

    if (mark != NULL)
        cfr_str_addf(url, "%.*s%s%s", (int)(mark - text), text, region, mark + strlen(REGION_MARK));
    else
        cfr_str_addz(url, text);
}

static int check_sts_endpoint(const struct cfr_rotation_aws *c, struct cfr_err *err)
{
    struct cfr_str url = {.limit = URL_MAX + 128};
    int rc;

    if (c->sts_endpoint == NULL || c->regions.count == 0)
        return 0;
    add_url(&url, c->sts_endpoint, c->regions.items[0]);
    rc = url.failed ? cfr_err_set(err, CFR_E_NOMEM, "out of memory")
                    : cfr_rotation_rest_check_url("sts_endpoint", url.p, err);
    cfr_str_free(&url);
    return rc;
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_rotation_aws *c = node;
    int rc = 0;

    if (c->user_name != NULL)
        rc = check_user(c->user_name, err);
    if (rc == 0)
        rc = check_regions(&c->regions, err);
    if (rc == 0)
        rc = cfr_rotation_rest_check_url("endpoint", c->endpoint, err);
    if (rc == 0)
        rc = check_sts_endpoint(c, err);
    return rc;
}

const struct cfr_table cfr_rotation_aws_table = {
    .name = "AWS access keys",
    .size = sizeof(struct cfr_rotation_aws),
    .fields = fields,
    .check = check,
    .doc = "Access keys of an IAM user. `with` must be allowed iam:ListAccessKeys, iam:CreateAccessKey, "
           "iam:UpdateAccessKey, "
           "iam:GetAccessKeyLastUsed and iam:DeleteAccessKey for it; what GetSessionToken gives cannot call "
           "IAM.",
};

/* ---- requests ---- */

static int add(struct cfr_secret *body, const char *key, struct cfr_view value, struct cfr_err *err)
{
    int rc = body->len != 0 ? cfr_secret_append_str(body, "&", err) : 0;

    rc = rc != 0 ? rc : cfr_secret_append_str(body, key, err);
    rc = rc != 0 ? rc : cfr_secret_append_str(body, "=", err);
    return rc != 0 ? rc : cfr_secret_append_percent(body, value, err);
}

static int add_operation(struct cfr_secret *body, const char *action, const char *version, struct cfr_err *err)
{
    int rc = add(body, "Action", cfr_view_of(action), err);

    return rc != 0 ? rc : add(body, "Version", cfr_view_of(version), err);
}

static int set_url(struct cfr_rotation_request *out, struct cfr_str *url, struct cfr_err *err)
{
    if (url->failed) {
        cfr_str_free(url);
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    }
    out->url = url->p;
    return 0;
}

static int set_keys(struct cfr_rotation_request *out, const struct cfr_grant *g, struct cfr_err *err)
{
    if (g != NULL) {
        out->sign_id = cfr_rotation_admin_field(g, CFR_FIELD_AWS_ACCESS_KEY_ID);
        out->sign_secret = cfr_rotation_admin_field(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY);
        out->sign_session = cfr_rotation_admin_field(g, CFR_FIELD_AWS_SESSION_TOKEN);
    }
    if (out->sign_id.n != 0 && out->sign_secret.n != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "`with` has no keys of AWS: it must be an exchange with `aws`, or a mounted Secret with "
                       "aws_access_key_id and aws_secret_access_key that is passed on");
}

/* What the operation says besides its name. */
static int add_details(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask, const char *page,
                       struct cfr_secret *body, struct cfr_err *err)
{
    int rc = 0;

    if (ask->op != CFR_ROTATION_LAST_USED)
        rc = add(body, "UserName", cfr_view_of(c->user_name), err);
    if (rc == 0 && ask->id != NULL && ask->op != CFR_ROTATION_LIST && ask->op != CFR_ROTATION_CREATE)
        rc = add(body, "AccessKeyId", cfr_view_of(ask->id), err);
    if (rc == 0 && ask->op == CFR_ROTATION_DEACTIVATE)
        rc = add(body, "Status", cfr_view_of("Inactive"), err);
    if (rc == 0 && ask->op == CFR_ROTATION_LIST && page[0] != '\0')
        rc = add(body, "Marker", cfr_view_of(page), err);
    return rc;
}

static int build_iam(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask, const char *page,
                     struct cfr_rotation_request *out, struct cfr_err *err)
{
    static const char *const actions[] = {
        [CFR_ROTATION_LIST] = "ListAccessKeys",        [CFR_ROTATION_CREATE] = "CreateAccessKey",
        [CFR_ROTATION_DEACTIVATE] = "UpdateAccessKey", [CFR_ROTATION_LAST_USED] = "GetAccessKeyLastUsed",
        [CFR_ROTATION_DELETE] = "DeleteAccessKey",
    };
    const struct partition *p = partition_of(c->regions.items[0]);
    struct cfr_str url = {.limit = URL_MAX + 64};
    int rc;

    if (c->endpoint != NULL)
        cfr_str_addz(&url, c->endpoint);
    else
        cfr_str_addf(&url, "https://%s/", p->iam);
    rc = set_url(out, &url, err);
    out->sign_service = "iam";
    out->sign_region = p->iam_region;
    if (rc == 0)
        rc = set_keys(out, ask->admin, err);
    if (rc == 0)
        rc = add_operation(&out->body, actions[ask->op], IAM_VERSION, err);
    return rc != 0 ? rc : add_details(c, ask, page, &out->body, err);
}

static int build_sts(const struct cfr_rotation_aws *c, const struct cfr_rotation_ask *ask,
                     struct cfr_rotation_request *out, struct cfr_err *err)
{
    const char *region = c->regions.items[ask->place];
    struct cfr_str url = {.limit = URL_MAX + 128};
    int rc;

    if (c->sts_endpoint != NULL)
        add_url(&url, c->sts_endpoint, region);
    else
        cfr_str_addf(&url, "https://sts.%s.%s/", region, partition_of(region)->suffix);
    rc = set_url(out, &url, err);
    out->sign_service = "sts";
    out->sign_region = region;
    if (rc == 0)
        rc = set_keys(out, ask->fresh, err);
    return rc != 0 ? rc : add_operation(&out->body, "GetCallerIdentity", STS_VERSION, err);
}

static int build(const void *config, const struct cfr_rotation_ask *ask, const char *page,
                 struct cfr_rotation_request *out, struct cfr_err *err)
{
    const struct cfr_rotation_aws *c = config;

    out->method = "POST";
    out->content_type = FORM_TYPE;
    out->ca_file = c->ca_file;
    cfr_secret_init(&out->body, CFR_ROTATION_BODY_MAX);
    return ask->op == CFR_ROTATION_VERIFY ? build_sts(c, ask, out, err) : build_iam(c, ask, page, out, err);
}

static const char *subject(const void *config)
{
    return ((const struct cfr_rotation_aws *)config)->user_name;
}

static size_t places(const void *config)
{
    return ((const struct cfr_rotation_aws *)config)->regions.count;
}

const struct cfr_rotation_provider cfr_rotation_aws_provider = {
    .name = "aws",
    .table = &cfr_rotation_aws_table,
    .doc = "Access keys of an IAM user.",
    .deactivates = true,
    .tells_use = true,
    .most = 2,
    .verify_count = 3,
    .verify_wait_s = 10,
    .subject = subject,
    .places = places,
    .build = build,
    .parse = cfr_rotation_aws_parse,
};
