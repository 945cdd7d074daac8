/* SPDX-License-Identifier: MIT */
/* Any request to any shape of the local endpoints. The input is a byte that chooses the shape, one that chooses what
 * there is to offer, a line "METHOD PATH?QUERY", lines "Name: value" up to an empty one, and a body. */
#include "serve/sdk/ec2_token_private.h"
#include "serve/sdk/shape_private.h"

#include "fuzz.h"

#include "base/json.h"
#include "serve/sdk/endpoint.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define NOW_S        INT64_C(1767326645)
#define MARK         "S3CRET" /* in every secret that is offered */
#define PASSWORD     "the password"
#define HEADERS_MAX  16

enum kind { LIVING, ENDED, NONE, NEVER_ENDS, EMPTY, UNKNOWN, KINDS };

struct input {
    enum kind kind;
    struct cfr_grant grant;
    struct cfr_secret session;
    struct cfr_view headers; /* lines */
    bool has_mark;           /* an answer may repeat what the request says */
};

static const struct {
    const char *name, *value;
} fields[] = {
    {CFR_FIELD_AWS_ACCESS_KEY_ID, MARK "-id"},
    {CFR_FIELD_AWS_SECRET_ACCESS_KEY, MARK "\"\\\n\xff"},
    {CFR_FIELD_AWS_SESSION_TOKEN, MARK "-session"},
    {CFR_FIELD_AWS_ACCOUNT_ID, "123456789012"},
    {CFR_FIELD_GCP_ACCESS_TOKEN, MARK "-gcp"},
    {CFR_FIELD_GCP_ID_TOKEN, MARK ".gcp.id"},
    {CFR_FIELD_AZURE_ACCESS_TOKEN, MARK "-azure"},
    {CFR_FIELD_AZURE_CLIENT_ID, "11111111-1111-1111-1111-111111111111"},
    {CFR_FIELD_AZURE_SCOPE, "https://a.example/.default"},
    {CFR_FIELD_TOKEN, MARK "-token"},
};

static char name[] = "registry";
static char path[] = "/aws/registry";
static char file[] = "/run/auth";
static char role[] = "a/role b";
static char place[] = "us-east-1";
static char object_id[] = "22222222-2222-2222-2222-222222222222";
static char resource_id[] =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i";
static char email[] = "app@p.iam.gserviceaccount.com";
static char number[] = "123456789012";
static char audience[] = "https://a.example/x?y=z";

static struct cfr_sdk_gce_identity id_tokens[] = {{.audience = audience, .credential = name}};
static struct cfr_sdk_gce_account accounts[] = {
    {.credential = name, .email = email, .identities = {id_tokens, COUNT(id_tokens)}},
    {.identities = {id_tokens, COUNT(id_tokens)}},
};
static struct cfr_sdk_azure_identity identities[] = {
    {.credential = name},
    {.credential = name, .client_id = number, .object_id = object_id, .resource_id = resource_id},
};

static const struct cfr_sdk_aws_container container = {
    .credential = name, .path = path, .authorization = &(struct cfr_sdk_client_secret){.file = file}};
static const struct cfr_sdk_ec2_imds imds[] = {{.credential = name, .region = place},
                                               {.credential = name, .role = role}};
static const struct cfr_sdk_gce_metadata gce = {.project_id = place,
                                                .numeric_project_id = number,
                                                .zone = place,
                                                .universe_domain = place,
                                                .instance_name = name,
                                                .cluster_name = name,
                                                .accounts = {accounts, COUNT(accounts)}};
static const struct cfr_sdk_azure azure = {.identities = {identities, COUNT(identities)}};
static const struct cfr_sdk_azure app_service = {.identities = {identities, COUNT(identities)},
                                                 .header = &(struct cfr_sdk_client_secret){.file = file}};

static bool offer(void *ctx, const char *credential, struct cfr_offer *out)
{
    const struct input *in = ctx;

    if (in->kind == UNKNOWN || strcmp(credential, name) != 0)
        return false;
    *out = (struct cfr_offer){.credential = name,
                              .grant = in->kind != NONE ? &in->grant : NULL,
                              .issued_s = NOW_S - 60,
                              .expires_s = in->kind == NEVER_ENDS ? 0
                                           : in->kind == ENDED    ? NOW_S
                                                                  : NOW_S + 3600,
                              .why = in->kind == NONE ? "a \"reason\" \xff" : NULL};
    return true;
}

static struct cfr_view secret_file(void *ctx, const char *which)
{
    const struct input *in = ctx;

    CFR_FUZZ_MUST(strcmp(which, file) == 0);
    return cfr_view_of(in->kind == EMPTY ? NULL : PASSWORD);
}

/* A token cannot be guessed: "@" stands for a good one. */
static struct cfr_view header(void *ctx, const char *wanted)
{
    const struct input *in = ctx;
    struct cfr_view rest = in->headers;
    struct cfr_view line;

    for (int i = 0; i < HEADERS_MAX && cfr_view_line(&rest, &line); i++) {
        ptrdiff_t colon = cfr_view_find(line, ":");
        struct cfr_view value;

        if (colon < 0 || !cfr_view_is_nocase((struct cfr_view){line.p, (size_t)colon}, wanted))
            continue;
        value = cfr_view_trim((struct cfr_view){line.p + colon + 1, line.n - (size_t)colon - 1});
        return cfr_view_is(value, "@") ? cfr_secret_view(&in->session) : value;
    }
    return (struct cfr_view){NULL, 0};
}

static const struct cfr_sdk_endpoint_world *world_of(struct input *in)
{
    static struct cfr_sdk_endpoint_world w;
    static struct cfr_ec2_signer *signer;

    if (signer == NULL)
        CFR_FUZZ_MUST(
            cfr_sdk_ec2_signer_open((struct cfr_view){MARK "-key-of-32-bytes-or-more--", 32}, &signer, NULL) == 0);
    w = (struct cfr_sdk_endpoint_world){
        .now_s = NOW_S, .offer = offer, .secret_file = secret_file, .ctx = in, .signer = signer};
    return &w;
}

static bool call(unsigned shape, const struct cfr_sdk_endpoint_request *r, const struct cfr_sdk_endpoint_world *w,
                 struct cfr_sdk_endpoint_answer *out)
{
    switch (shape % 7) {
    case 0:
        return cfr_sdk_aws_container_shape.answer(&container, r, w, out);
    case 1:
    case 2:
        return cfr_sdk_ec2_imds_shape.answer(&imds[shape % 7 - 1], r, w, out);
    case 3:
        return cfr_sdk_gce_metadata_shape.answer(&gce, r, w, out);
    case 4:
        return cfr_sdk_azure_imds_shape.answer(&azure, r, w, out);
    case 5:
        return cfr_sdk_azure_app_service_shape.answer(&app_service, r, w, out);
    default:
        return cfr_sdk_token(r, w, out);
    }
}

static void check_headers(const struct cfr_sdk_endpoint_answer *a)
{
    bool allow = false;
    bool retry = false;

    CFR_FUZZ_MUST(a->header_count <= CFR_SDK_ENDPOINT_HEADERS_MAX);
    for (size_t i = 0; i < a->header_count; i++) {
        struct cfr_view value = cfr_view_of(a->headers[i].value);

        CFR_FUZZ_MUST(value.n < sizeof a->headers[i].value && cfr_view_printable(value));
        allow = allow || strcmp(a->headers[i].name, "Allow") == 0;
        retry = retry || strcmp(a->headers[i].name, "Retry-After") == 0;
    }
    CFR_FUZZ_MUST(allow == (a->status == 405));
    CFR_FUZZ_MUST(retry == (a->status == 503));
}

/* Who is given a secret has shown what the shape demands. */
static bool entitled(unsigned shape, const struct input *in, const struct cfr_sdk_endpoint_request *r)
{
    struct input look = *in;

    if (in->kind != LIVING && in->kind != NEVER_ENDS)
        return false;
    if (header(&look, "X-Forwarded-For").p != NULL || header(&look, "Forwarded").p != NULL ||
        header(&look, "Via").p != NULL)
        return false;
    if (shape % 7 == 6)
        return true;
    switch (shape % 7) {
    case 0:
        return cfr_view_is(header(&look, "Authorization"), PASSWORD) &&
               (cfr_view_is(r->path, path) || cfr_view_is(r->path, "/aws/registry/"));
    case 1:
    case 2:
        return cfr_view_eq(header(&look, "X-aws-ec2-metadata-token"), cfr_secret_view(&in->session));
    case 3:
        return cfr_view_is_nocase(header(&look, "Metadata-Flavor"), "Google");
    case 4:
        return header(&look, "Metadata").p != NULL;
    default:
        return cfr_view_is(header(&look, "X-IDENTITY-HEADER"), PASSWORD) ||
               cfr_view_is(header(&look, "Secret"), PASSWORD);
    }
}

static void check(unsigned shape, const struct input *in, const struct cfr_sdk_endpoint_request *r,
                  struct cfr_sdk_endpoint_answer *a)
{
    struct cfr_view body = cfr_secret_view(&a->body);
    struct cfr_json *doc = NULL;

    CFR_FUZZ_MUST(a->status >= 200 && a->status < 600 && a->content_type != NULL && body.n != 0);
    CFR_FUZZ_MUST(a->status != 500 || in->kind == UNKNOWN || in->kind == EMPTY);
    check_headers(a);
    if (cfr_view_find(body, MARK) >= 0 && !in->has_mark)
        CFR_FUZZ_MUST(a->status == 200 && entitled(shape, in, r));
    if (strncmp(a->content_type, "application/json", 16) == 0)
        CFR_FUZZ_MUST(cfr_json_parse(body, &doc, NULL) == 0);
    cfr_json_free(doc);
}

static void check_helpers(const struct cfr_sdk_endpoint_request *r, struct cfr_view host)
{
    char to[24];
    int found = cfr_sdk_endpoint_parameter(r->query, "resource", to, sizeof to);

    CFR_FUZZ_MUST(found >= -1 && found <= 1 && memchr(to, '\0', sizeof to) != NULL && (found == 1 || to[0] == '\0'));
    CFR_FUZZ_MUST(cfr_sdk_endpoint_decode(r->path, to, sizeof to) || to[0] == '\0');
    CFR_FUZZ_MUST(memchr(to, '\0', sizeof to) != NULL);
    if (cfr_sdk_endpoint_host_is(host, "127.0.0.1:9911"))
        CFR_FUZZ_MUST(cfr_view_find(host, "127.0.0.1") >= 0 || cfr_view_starts(host, "[127.0.0.1]") ||
                      cfr_view_is_nocase((struct cfr_view){host.p, 9}, "localhost"));
    (void)cfr_sdk_endpoint_host_is(host, "[::1]:9911");
}

static void read_request(struct cfr_view text, struct input *in, struct cfr_sdk_endpoint_request *r)
{
    struct cfr_view line = {0};
    const char *mark;

    (void)cfr_view_line(&text, &line);
    mark = line.n != 0 ? memchr(line.p, ' ', line.n) : NULL;
    r->method = (struct cfr_view){line.p, mark != NULL ? (size_t)(mark - line.p) : line.n};
    if (mark != NULL)
        r->path = (struct cfr_view){mark + 1, line.n - r->method.n - 1};
    mark = r->path.n != 0 ? memchr(r->path.p, '?', r->path.n) : NULL;
    if (mark != NULL) {
        r->query = (struct cfr_view){mark + 1, r->path.n - (size_t)(mark - r->path.p) - 1};
        r->path.n = (size_t)(mark - r->path.p);
    }
    in->headers = text;
    while (cfr_view_line(&text, &line) && line.n != 0)
        continue;
    in->headers.n -= text.n;
    r->body = text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.session = {.limit = CFR_SDK_EC2_TOKEN_LENGTH}};
    struct cfr_sdk_endpoint_request r = {.header = header, .header_ctx = &in};
    struct cfr_sdk_endpoint_answer a = {0};
    const struct cfr_sdk_endpoint_world *w = world_of(&in);

    if (size < 2)
        return 0;
    cfr_json_setup();
    in.kind = (enum kind)(data[1] % KINDS);
    for (size_t i = 0; i < COUNT(fields) && in.kind != EMPTY; i++)
        CFR_FUZZ_MUST(cfr_grant_set(&in.grant, fields[i].name, cfr_view_of(fields[i].value), NULL) == 0);
    CFR_FUZZ_MUST(cfr_grant_set_identity(&in.grant, cfr_view_of("arn:aws:sts::123456789012:assumed-role/r/s"), NULL) ==
                  0);
    CFR_FUZZ_MUST(cfr_sdk_ec2_token_make(w->signer, name, NOW_S + 60, &in.session) == 0);
    in.has_mark = cfr_view_find((struct cfr_view){(const char *)data, size}, MARK) >= 0;
    read_request((struct cfr_view){(const char *)data + 2, size - 2}, &in, &r);
    check_helpers(&r, header(&in, "Host"));
    if (call(data[0], &r, w, &a))
        check(data[0], &in, &r, &a);
    else
        CFR_FUZZ_MUST(a.status == 0 && a.body.p == NULL);
    cfr_sdk_endpoint_answer_free(&a);
    cfr_secret_free(&in.session);
    cfr_grant_free(&in.grant);
    return 0;
}
