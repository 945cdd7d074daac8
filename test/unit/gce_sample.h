/* SPDX-License-Identifier: MIT */
/* A world and a configuration for the tests of the GCE metadata shape, and how a row is asked and compared. */
#ifndef CFR_TEST_GCE_SAMPLE_H
#define CFR_TEST_GCE_SAMPLE_H

#include "serve/sdk/endpoint.h"
#include "unit.h"

#define NOW            INT64_C(1800000000)
#define CLOUD_PLATFORM "https://www.googleapis.com/auth/cloud-platform"
#define READ_ONLY      "https://www.googleapis.com/auth/devstorage.read_only"
#define APP            "app@shop-prod.iam.gserviceaccount.com"
#define BATCH          "batch-job@shop-prod.iam.gserviceaccount.com"
#define V1             "/computeMetadata/v1/"
#define ACCOUNTS       V1 "instance/service-accounts/"
#define MISSING        "Missing required header \"Metadata-Flavor\": \"Google\""

/* ---- the world: credentials, some without a grant ---- */

static struct cfr_grant grants[8];
static int64_t issued_s = NOW - 301;

static const struct {
    const char *name;
    const char *field;
    const char *token;
    const char *identity;
    int64_t expires_s;
    const char *why;
} credentials[] = {
    {"app", CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.app", APP, NOW + 3299, NULL},
    {"app-id", CFR_FIELD_GCP_ID_TOKEN, "eyJh.app.id", APP, NOW + 3000, NULL},
    {"narrow", CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.narrow", BATCH, NOW + 100, NULL},
    {"wide", CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.wide", BATCH, NOW + 200, NULL},
    {"gone", CFR_FIELD_GCP_ACCESS_TOKEN, NULL, NULL, 0, "the exchange was refused: no such pool"},
    {"over", CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.over", NULL, NOW, NULL},
    {"endless", CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.endless", "principal://pool/subject/a@b", 0, NULL},
    {"far", CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.far", "far@b.c", INT64_C(253402300799), NULL},
};

static bool offer(void *ctx, const char *credential, struct cfr_offer *out)
{
    (void)ctx;
    for (size_t i = 0; i < COUNT(credentials); i++) {
        if (strcmp(credentials[i].name, credential) != 0)
            continue;
        *out = (struct cfr_offer){.credential = credential,
                                  .grant = credentials[i].token != NULL ? &grants[i] : NULL,
                                  .issued_s = issued_s,
                                  .expires_s = credentials[i].expires_s,
                                  .why = credentials[i].why,
                                  .retry_after_s = credentials[i].token != NULL ? 0 : 17};
        return true;
    }
    return false;
}

static int make_grants(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(credentials); i++) {
        if (credentials[i].token == NULL)
            continue;
        assert_int_equal(cfr_grant_set(&grants[i], credentials[i].field, cfr_view_of(credentials[i].token), NULL), 0);
        assert_int_equal(cfr_grant_set_identity(&grants[i], cfr_view_of(credentials[i].identity), NULL), 0);
    }
    return 0;
}

static int free_grants(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(credentials); i++)
        cfr_grant_free(&grants[i]);
    return 0;
}

/* ---- the configuration ---- */

#define STRINGS(...)                                                                                                     \
    {                                                                                                                    \
        (char *[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)                                        \
    }

static char app_id[] = "app-id";
static struct cfr_serve_gce_identity app_identities[] = {
    {.audience = (char[]){"https://api.example.com/v1?x=1"}, .credential = app_id},
    {.audience = (char[]){"32555940559.apps.googleusercontent.com"}, .credential = app_id},
    {.audience = (char[]){"wrong-kind"}, .credential = (char[]){"app"}},
    {.audience = (char[]){"no-grant"}, .credential = (char[]){"gone"}},
};
static struct cfr_serve_gce_account full_accounts[] = {
    {.credential = (char[]){"app"}, .email = (char[]){APP}, .identities = {app_identities, COUNT(app_identities)}},
    {.credential = (char[]){"narrow"},
     .aliases = STRINGS((char[]){"batch"}),
     .scopes = STRINGS((char[]){READ_ONLY}, (char[]){"openid"})},
    {.credential = (char[]){"gone"}, .email = (char[]){BATCH}, .scopes = STRINGS((char[]){"https://a/only-gone"})},
    {.credential = (char[]){"wide"}, .email = (char[]){BATCH}, .scopes = STRINGS((char[]){CLOUD_PLATFORM})},
    {.email = (char[]){"ids@x.y"}},
    {.credential = (char[]){"gone"}, .email = (char[]){"gone@x.y"}},
    {.credential = (char[]){"over"}, .email = (char[]){"over@x.y"}},
    {.credential = (char[]){"far"}},
    {.credential = app_id, .email = (char[]){"wrong@x.y"}},
    {.credential = (char[]){"nowhere"}, .email = (char[]){"nowhere@x.y"}},
};
static const struct cfr_serve_gce_metadata full = {
    .project_id = (char[]){"shop-prod"},
    .numeric_project_id = (char[]){"739419398126"},
    .zone = (char[]){"europe-west1-b"},
    .universe_domain = (char[]){"example-universe.com"},
    .instance_name = (char[]){"node-7"},
    .instance_id = (char[]){"3520924272487962000"},
    .cluster_name = (char[]){"shop"},
    .cluster_location = (char[]){"europe-west1"},
    .accounts = {full_accounts, COUNT(full_accounts)},
};

/* The least that can be configured: an identity that is no email. */
static struct cfr_serve_gce_account bare_accounts[] = {{.credential = (char[]){"endless"}}};
static const struct cfr_serve_gce_metadata bare = {.accounts = {bare_accounts, COUNT(bare_accounts)}};
/* What is derived where it is not given. */
static const struct cfr_serve_gce_metadata derived = {.project_id = (char[]){"shop-prod"},
                                                      .zone = (char[]){"europe-west1-b"},
                                                      .instance_name = (char[]){"node-7"},
                                                      .cluster_name = (char[]){"shop"},
                                                      .accounts = {bare_accounts, COUNT(bare_accounts)}};

/* Emails that are known only with a grant, and there is none. */
static struct cfr_serve_gce_account waiting_accounts[] = {
    {.credential = (char[]){"gone"}},
    {.credential = (char[]){"gone"}, .aliases = STRINGS((char[]){"batch"}), .identities = {app_identities, 2}},
    {.credential = (char[]){"gone"}, .identities = {app_identities, 2}},
    {.credential = (char[]){"endless"}, .aliases = STRINGS((char[]){"pool"})},
    {.credential = (char[]){"wide"}, .email = (char[]){"known@x.y"}},
    {.credential = (char[]){"narrow"}, .email = (char[]){"known@x.y"}, .scopes = STRINGS((char[]){READ_ONLY})},
};
static const struct cfr_serve_gce_metadata waiting = {.instance_name = (char[]){"42"},
                                                      .accounts = {waiting_accounts, COUNT(waiting_accounts)}};

/* ---- one request ---- */

/* HEADERS is "Name: value" lines; the header function knows them without case. */
static struct cfr_view header(void *ctx, const char *name)
{
    struct cfr_view rest = cfr_view_of(ctx);
    struct cfr_view line;

    while (cfr_view_line(&rest, &line)) {
        ptrdiff_t colon = cfr_view_find(line, ":");

        if (cfr_view_is_nocase((struct cfr_view){line.p, (size_t)colon}, name))
            return cfr_view_trim((struct cfr_view){line.p + colon + 1, line.n - (size_t)colon - 1});
    }
    return (struct cfr_view){NULL, 0};
}

static struct cfr_endpoint_answer out;

/* TARGET is path?query. */
static bool ask(const struct cfr_serve_gce_metadata *c, const char *method, const char *target, const char *headers)
{
    const char *mark = strchr(target, '?');
    char lines[512];
    struct cfr_endpoint_request r = {
        .method = cfr_view_of(method),
        .path = {target, mark != NULL ? (size_t)(mark - target) : strlen(target)},
        .query = cfr_view_of(mark != NULL ? mark + 1 : NULL),
        .header = header,
        .header_ctx = lines,
        .peer = "127.0.0.1",
    };
    struct cfr_endpoint_world w = {.now_s = NOW, .offer = offer};

    (void)snprintf(lines, sizeof lines, "%s", headers);
    cfr_endpoint_answer_free(&out);
    return cfr_serve_gce_metadata(c, &r, &w, &out);
}

static const char *sent(const char *name)
{
    for (size_t i = 0; i < out.header_count; i++) {
        if (strcmp(out.headers[i].name, name) == 0)
            return out.headers[i].value;
    }
    return NULL;
}

#define FLAVOR "Metadata-Flavor: Google\nHost: 127.0.0.1:9911\n"
#define TEXT   "application/text"
#define JSON   "application/json"
#define HTML   "text/html"
#define PLAIN  "text/plain; charset=utf-8"

struct row {
    const char *method; /* NULL = GET */
    const char *target;
    const char *headers; /* NULL = FLAVOR */
    int status;
    const char *type;
    const char *body; /* the whole; NULL = any */
    const char *name; /* a header of the answer beside the usual ones, and its value */
    const char *value;
    const struct cfr_serve_gce_metadata *config; /* NULL = full */
};

/* The beginning of a row, and a header of its answer. */
#define GET(t, s, k, b) .target = (t), .status = (s), .type = (k), .body = (b)
#define SENT(n, v)      .name = (n), .value = (v)

static void check(const struct row *row)
{
    const char *target = row->target;

    if (!ask(row->config != NULL ? row->config : &full, row->method != NULL ? row->method : "GET", target,
             row->headers != NULL ? row->headers : FLAVOR))
        fail_msg("%s: not taken", target);
    if (out.status != row->status)
        fail_msg("%s: status %d, not %d", target, out.status, row->status);
    if (strcmp(out.content_type, row->type) != 0)
        fail_msg("%s: type %s, not %s", target, out.content_type, row->type);
    if (row->body != NULL && !cfr_view_is(cfr_secret_view(&out.body), row->body))
        fail_msg("%s: body \"%.*s\", not \"%s\"", target, (int)out.body.len, out.body.p, row->body);
    if (row->name != NULL && (sent(row->name) == NULL || strcmp(sent(row->name), row->value) != 0))
        fail_msg("%s: header %s \"%s\", not \"%s\"", target, row->name, sent(row->name), row->value);
    /* On each and every answer. */
    assert_string_equal(sent("Metadata-Flavor"), "Google");
    assert_string_equal(sent("Server"), "Metadata Server for VM");
    assert_string_equal(sent("X-XSS-Protection"), "0");
    assert_string_equal(sent("X-Frame-Options"), "SAMEORIGIN");
    assert_string_equal(sent("Cache-Control"), "no-store");
    assert_true((sent("ETag") != NULL) == (out.status == 200));
    /* Whoever is turned away is worth a line in the log. */
    assert_true(out.refused != NULL || (row->status != 403 && row->status != 405));
}

static void check_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&rows[i]);
    cfr_endpoint_answer_free(&out);
}

#endif
