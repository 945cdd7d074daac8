/* SPDX-License-Identifier: MIT */
/* EC2's instance metadata, version 2: session tokens, the role's keys, the region. Nothing is invented: what is not
 * known (instance-id, availability zone) is not found. */
#include "serve/sdk/aws_shape_private.h"
#include "serve/sdk/ec2_token_private.h"
#include "serve/sdk/shape_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROOT "/latest"
/* botocore takes keys of IMDS that have less than 15 min left as good for 2 to 10 min more; half a life must be more.
 */
#define SESSION_LEAST_MS (INT64_C(20) * 60 * 1000)
#define TOKEN_PATH       ROOT "/api/token"
#define ROLES_PATH       ROOT "/meta-data/iam/security-credentials"
/* The same; newer SDKs ask here first, for the account's number. */
#define ROLES_EXTENDED_PATH ROLES_PATH "-extended"
#define TTL_HEADER          "X-aws-ec2-metadata-token-ttl-seconds"
#define ROLE_MAX            129 /* IAM allows 64 characters, a credential's name 63 */
#define SEGMENT_MAX         256

/* One request and what it is about. */
struct ask {
    const struct cfr_sdk_ec2_imds *config;
    const struct cfr_sdk_endpoint_request *request;
    const struct cfr_sdk_endpoint_world *world;
};

static void not_found(struct cfr_sdk_endpoint_answer *out)
{
    cfr_sdk_aws_error(out, 404, "NotFound", "this metadata does not exist here");
}

static void text(struct cfr_sdk_endpoint_answer *out, struct cfr_view content)
{
    cfr_sdk_endpoint_start(out, 200, CFR_SDK_AWS_TEXT);
    cfr_sdk_endpoint_add(out, content);
}

/* The offer, without making an answer if nothing in it lives now: its grant is NULL then. */
static struct cfr_offer find_live_offer(const struct ask *a)
{
    struct cfr_offer offer = {0};

    if (!a->world->offer(a->world->ctx, a->config->credential, &offer) ||
        !cfr_sdk_endpoint_offer_lives(&offer, a->world->now_s))
        offer.grant = NULL;
    return offer;
}

/* "role/team/NAME" or "assumed-role/NAME/SESSION"; empty if it is another kind of identity. */
static struct cfr_view role_of(const char *arn)
{
    struct cfr_view rest = cfr_sdk_aws_arn_part(arn, 5);
    bool session = cfr_view_starts(rest, "assumed-role/");
    ptrdiff_t slash;

    if (!session && !cfr_view_starts(rest, "role/"))
        return (struct cfr_view){NULL, 0};
    for (slash = cfr_view_find(rest, "/"); slash >= 0; slash = cfr_view_find(rest, "/")) {
        rest = (struct cfr_view){rest.p + slash + 1, rest.n - (size_t)slash - 1};
        if (session)
            break;
    }
    if (cfr_view_find(rest, "/") >= 0)
        rest.n = (size_t)cfr_view_find(rest, "/");
    return rest.n < ROLE_MAX && cfr_view_printable(rest) ? rest : (struct cfr_view){NULL, 0};
}

/* What the listing shows. Empty while it is not known: a name that changes with the first keys would make the role's
 * own path one that was never listed. */
static struct cfr_view role_name(const struct ask *a, const struct cfr_offer *offer)
{
    struct cfr_view role = cfr_view_of(a->config->role);

    if (role.n == 0 && offer->grant != NULL)
        role = role_of(offer->grant->identity);
    if (role.n == 0)
        role = role_of(offer->role_arn);
    return role.n == 0 && offer->grant != NULL ? cfr_view_of(a->config->credential) : role;
}

static void roles(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_offer offer = find_live_offer(a);
    struct cfr_view role = role_name(a, &offer);

    if (role.n != 0)
        text(out, role);
    else
        (void)cfr_sdk_aws_offer(a->world, a->config->credential, &offer, out); /* the answer says what is missing */
}

static int64_t updated_s(const struct ask *a, const struct cfr_offer *offer)
{
    return offer->issued_s != 0 ? offer->issued_s : a->world->now_s;
}

static struct cfr_writer start_success(const struct ask *a, const struct cfr_offer *offer,
                                       struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_writer w = cfr_sdk_endpoint_json(out, 200, CFR_SDK_AWS_JSON);

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "Code", cfr_view_of("Success"));
    cfr_sdk_aws_time(&w, "LastUpdated", updated_s(a, offer));
    return w;
}

static void close_json(struct cfr_sdk_endpoint_answer *out, struct cfr_writer *w)
{
    cfr_writer_close(w);
    cfr_writer_text(w, "\n");
    cfr_sdk_endpoint_end(out, w);
}

/* NAME is the path's last part. */
static void keys(const struct ask *a, struct cfr_view name, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_offer offer = find_live_offer(a);
    struct cfr_view known = role_name(a, &offer);
    struct cfr_writer w;
    char role[SEGMENT_MAX];

    /* The credential's name is always accepted. While the role is not known, no name is wrong: 404 is final. */
    if (!cfr_sdk_endpoint_decode(name, role, sizeof role) ||
        (known.n != 0 && !cfr_view_is(known, role) && strcmp(role, a->config->credential) != 0)) {
        not_found(out);
        return;
    }
    if (!cfr_sdk_aws_offer(a->world, a->config->credential, &offer, out))
        return;
    w = start_success(a, &offer, out);
    cfr_writer_string(&w, "Type", cfr_view_of("AWS-HMAC"));
    cfr_sdk_aws_keys(&offer, a->world->now_s, &w);
    close_json(out, &w);
}

/* Those who ask for it want the partition and the account of the profile's ARN. */
static void info(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_offer offer = find_live_offer(a);
    struct cfr_view partition, account, role;
    struct cfr_writer w;
    char arn[512];
    int n;

    partition = offer.grant != NULL ? cfr_sdk_aws_arn_part(offer.grant->identity, 1) : (struct cfr_view){NULL, 0};
    account = offer.grant != NULL ? cfr_sdk_aws_account(offer.grant) : (struct cfr_view){NULL, 0};
    role = role_name(a, &offer);
    if (partition.n == 0 || partition.n > 32 || account.n == 0 || role.n > SEGMENT_MAX) {
        not_found(out);
        return;
    }
    n = snprintf(arn, sizeof arn, "arn:%.*s:iam::%.*s:instance-profile/%.*s", (int)partition.n, partition.p,
                 (int)account.n, account.p, (int)role.n, role.p);
    w = start_success(a, &offer, out);
    cfr_writer_string(&w, "InstanceProfileArn", (struct cfr_view){arn, n > 0 ? (size_t)n : 0});
    close_json(out, &w);
}

static void region(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    if (a->config->region != NULL)
        text(out, cfr_view_of(a->config->region));
    else
        not_found(out);
}

/* What the SDKs for Go and Java ask for the region. */
static void document(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_offer offer = find_live_offer(a);
    struct cfr_view account = offer.grant != NULL ? cfr_sdk_aws_account(offer.grant) : (struct cfr_view){NULL, 0};
    struct cfr_writer w;

    if (a->config->region == NULL) {
        not_found(out);
        return;
    }
    w = cfr_sdk_endpoint_json(out, 200, CFR_SDK_AWS_JSON);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "region", cfr_view_of(a->config->region));
    cfr_writer_optional(&w, "accountId", account);
    close_json(out, &w);
}

static void listing(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    text(out, cfr_view_of(a->config->region != NULL ? "iam/\nplacement/" : "iam/"));
}

static const struct page {
    const char *path;
    void (*make)(const struct ask *a, struct cfr_sdk_endpoint_answer *out);
} pages[] = {
    {ROOT "/meta-data", listing},
    {ROLES_PATH, roles},
    {ROLES_EXTENDED_PATH, roles},
    {ROOT "/meta-data/iam/info", info},
    {ROOT "/meta-data/placement/region", region},
    {ROOT "/dynamic/instance-identity/document", document},
};

/* True if PATH is PARENT/NAME; NAME is then not empty and has no slash. */
static bool below(struct cfr_view path, const char *parent, struct cfr_view *name)
{
    size_t n = strlen(parent);

    if (!cfr_view_starts(path, parent) || path.n < n + 2 || path.p[n] != '/')
        return false;
    *name = (struct cfr_view){path.p + n + 1, path.n - n - 1};
    return cfr_view_find(*name, "/") < 0;
}

static void answer(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_view path = a->request->path;
    struct cfr_view name;

    /* SDKs ask for listings with and without the slash. */
    if (path.p[path.n - 1] == '/')
        path.n--;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (cfr_view_is(path, pages[i].path)) {
            pages[i].make(a, out);
            return;
        }
    }
    if (below(path, ROLES_PATH, &name) || below(path, ROLES_EXTENDED_PATH, &name))
        keys(a, name, out);
    else
        not_found(out);
}

static bool read_ttl(struct cfr_view asked, int64_t *ttl_s)
{
    return asked.n != 0 && asked.p[0] >= '0' && asked.p[0] <= '9' && cfr_view_int(asked, ttl_s) && *ttl_s >= 1 &&
           *ttl_s <= CFR_SDK_EC2_TOKEN_TTL_MAX_S;
}

static void begin_session(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    char ttl[24];
    int64_t ttl_s;

    if (!cfr_view_is(a->request->method, "PUT")) {
        cfr_sdk_aws_error(out, 405, "MethodNotAllowed", "only PUT is allowed here");
        cfr_sdk_endpoint_header(out, "Allow", cfr_view_of("PUT"));
        return;
    }
    if (!read_ttl(cfr_view_trim(cfr_sdk_endpoint_asked(a->request, TTL_HEADER)), &ttl_s)) {
        cfr_sdk_aws_error(out, 400, "BadRequest", TTL_HEADER " must be a number of seconds from 1 to 21600");
        return;
    }
    cfr_sdk_endpoint_start(out, 200, CFR_SDK_AWS_TEXT);
    if (cfr_sdk_ec2_token_make(a->world->signer, a->config->credential, a->world->now_s + ttl_s, &out->body) != 0) {
        cfr_sdk_aws_error(out, 500, "InternalError", "no session token can be made");
        return;
    }
    (void)snprintf(ttl, sizeof ttl, "%" PRId64, ttl_s);
    cfr_sdk_endpoint_header(out, TTL_HEADER, cfr_view_of(ttl));
}

/* Version 1, which is without a token, is never answered. */
static bool in_session(const struct ask *a, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_view token = cfr_sdk_endpoint_asked(a->request, "X-aws-ec2-metadata-token");

    if (cfr_sdk_ec2_token_good(a->world->signer, a->config->credential, cfr_view_trim(token), a->world->now_s))
        return true;
    cfr_sdk_aws_error(out, 401, "Unauthorized",
                      "a session token is needed that has not ended: PUT " TOKEN_PATH " first");
    out->refused =
        token.p == NULL ? "it has no session token (version 1 of the instance metadata is not served)" : NULL;
    return false;
}

static bool answer_request(const void *config, const struct cfr_sdk_endpoint_request *asked,
                           const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct cfr_sdk_endpoint_request one = *asked;
    const struct cfr_sdk_endpoint_request *r = &one;
    const struct ask a = {config, r, w};

    /* Some SDKs join the endpoint, which others need with a slash at its end, and "/latest". */
    while (cfr_view_starts(one.path, "//"))
        one.path = (struct cfr_view){one.path.p + 1, one.path.n - 1};
    if (!cfr_view_is(r->path, ROOT) && !cfr_view_starts(r->path, ROOT "/"))
        return false;
    if (!cfr_sdk_aws_direct(r, out))
        return true;
    if (cfr_sdk_endpoint_path_is(r->path, TOKEN_PATH))
        begin_session(&a, out);
    else if (cfr_sdk_aws_reads(r, out) && in_session(&a, out))
        answer(&a, out);
    return true;
}

/* ---- its configuration ---- */

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_ec2_imds *e = node;

    if (e->role != NULL && !cfr_sdk_shape_is_plain(e->role, "_+=,.@-"))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "role: has a character that no role's name has; use letters, digits and _+=,.@-");
    if (e->region != NULL && !cfr_sdk_shape_is_plain(e->region, "-"))
        return cfr_err_set(err, CFR_E_CONFIG, "region: is none; write one such as eu-west-1");
    return 0;
}

#define AT(member) offsetof(struct cfr_sdk_ec2_imds, member)
static const struct cfr_field fields[] = {
    {FIELD(credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63,
     .doc = CFR_DOC(CFR_SDK_SHAPE_DOC_CREDENTIAL)},
    {FIELD(role, STRING), .min = 1, .max = 128,
     .doc = CFR_DOC("Name of the role in the listing. Default: the role of the granted keys, or that of "
                    "the exchange; for keys without a role the credential's name.")},
    {FIELD(region, STRING), .min = 1, .max = 63, .doc = CFR_DOC("The region that it reports. Default: none.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table table = {
    .name = "EC2 metadata endpoint",
    .size = sizeof(struct cfr_sdk_ec2_imds),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("EC2's instance metadata service, version 2, for programs that support nothing better. Clients send "
                   "no secret: every process that can connect gets the credential."),
};

static void each_use(const void *config, cfr_sdk_use_fn *each, void *ctx)
{
    const struct cfr_sdk_ec2_imds *c = config;

    each(ctx, &(struct cfr_sdk_use){.credential = c->credential,
                                    .key = "ec2_imds.credential",
                                    .line = c->node.line,
                                    .field = CFR_FIELD_AWS_ACCESS_KEY_ID});
}

static int add_env(struct cfr_sdk_env *e, const void *config, const char *listen, const char *credential,
                   const char *client_id, struct cfr_err *err)
{
    const struct cfr_sdk_ec2_imds *c = config;
    int rc;

    (void)client_id;
    if (!cfr_sdk_shape_names(c->credential, credential))
        return 0;
    if (cfr_sdk_env_has_way(e, CFR_SDK_ENV_AWS_IMDS))
        return cfr_sdk_shape_note_second(e, listen, "", err);
    /* AWS CLI 2 and some versions of boto3 need the slash. */
    rc = cfr_sdk_shape_set_url(e, CFR_SDK_ENV_AWS_IMDS, "AWS_EC2_METADATA_SERVICE_ENDPOINT", listen, "/", err);
    if (rc == 0 && listen[0] == '[')
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_IMDS, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6", err);
    /* What object_store reads in its place, and without the slash. */
    if (rc == 0)
        rc = cfr_sdk_shape_set_url(e, CFR_SDK_ENV_AWS_IMDS, "AWS_METADATA_ENDPOINT", listen, "", err);
    /* Half of the SDKs read the one, half the other. */
    if (rc == 0 && cfr_sdk_shape_given(c->region))
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_IMDS, "AWS_REGION", c->region, err);
    if (rc == 0 && cfr_sdk_shape_given(c->region))
        rc = cfr_sdk_env_set(e, CFR_SDK_ENV_AWS_IMDS, "AWS_DEFAULT_REGION", c->region, err);
    return rc;
}

const struct cfr_sdk_shape cfr_sdk_ec2_imds_shape = {
    .name = "ec2_imds",
    .doc = CFR_DOC("EC2's instance metadata."),
    .table = &table,
    .session_least_ms = SESSION_LEAST_MS,
    .signs = true,
    .prefix = ROOT,
    .each_use = each_use,
    .answer = answer_request,
    .env = add_env,
};
