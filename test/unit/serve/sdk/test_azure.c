/* SPDX-License-Identifier: MIT */
/* Azure's two local endpoints: one row for each fact that a client may rely on. */
#include "serve/sdk/shape_private.h"

#include "heap_fuse.h"
#include "serve_ask.h"

#include "base/json.h"

#define NOW      INT64_C(1767323045) /* 2026-01-02T03:04:05Z */
#define NOON     INT64_C(1767355200)
#define MIDNIGHT INT64_C(1767398400)
#define CLIENT   "11111111-aaaa-4bbb-8ccc-000000000001"
#define SECOND   "22222222-aaaa-4bbb-8ccc-000000000002"
#define OBJECT   "33333333-aaaa-4bbb-8ccc-000000000003"
#define LATE     "44444444-aaaa-4bbb-8ccc-000000000004"
#define ARM_ID   "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/app"
#define ARM      "https%3A%2F%2Fmanagement.azure.com%2F"
#define SECRET   "0123456789abcdef0123456789abcdef"
#define IMDS     "GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource="
#define APP      "GET /msi/token?api-version=2019-08-01&resource="
#define OLD      "GET /msi/token?api-version=2017-09-01&resource="
#define META     "Metadata: true\n"
#define KEY      "X-IDENTITY-HEADER: " SECRET "\n"

/* ---- the world ---- */

static const struct {
    const char *name;
    int64_t expires_s;
    const char *why;
    const char *fields[7][2];
} credentials[] = {
    {"app",
     NOW + 3599,
     NULL,
     {{CFR_FIELD_AZURE_ACCESS_TOKEN, "tok-arm"},
      {CFR_FIELD_AZURE_SCOPE, "https://management.azure.com/.default"},
      {CFR_FIELD_AZURE_ACCESS_TOKEN ":https://vault.azure.net/.default", "tok-vault"},
      {CFR_FIELD_AZURE_ACCESS_TOKEN ":https://database.windows.net//.default", "tok-sql"},
      {CFR_FIELD_AZURE_CLIENT_ID, CLIENT}}},
    {"second",
     NOW + 60,
     NULL,
     {{CFR_FIELD_AZURE_ACCESS_TOKEN, "tok-api"},
      {CFR_FIELD_AZURE_SCOPE, "api://Guid/Path/.default"},
      {CFR_FIELD_AZURE_ACCESS_TOKEN ":https://two.example/.default", "tok-two"},
      {CFR_FIELD_AZURE_ACCESS_TOKEN ":https://two.example//.default", "tok-two-slash"},
      {CFR_FIELD_AZURE_ACCESS_TOKEN ":00000003-0000-0000-C000-000000000000/.default", "tok-guid"}}},
    {"late",
     NOW + 1, /* its expires_in would be 0 */
     "the exchange is refused: AADSTS700016",
     {{CFR_FIELD_AZURE_ACCESS_TOKEN, "tok-late"}, {CFR_FIELD_AZURE_CLIENT_ID, LATE}}},
    {"gone", 0, "waiting for the token file", {{NULL, NULL}}},
    {"silent", 0, NULL, {{NULL, NULL}}},
    {"noon",
     NOON,
     NULL,
     {{CFR_FIELD_AZURE_ACCESS_TOKEN, "tok"}, {CFR_FIELD_AZURE_SCOPE, "https://management.azure.com/.default"}}},
    {"midnight",
     MIDNIGHT,
     NULL,
     {{CFR_FIELD_AZURE_ACCESS_TOKEN, "tok"}, {CFR_FIELD_AZURE_SCOPE, "https://management.azure.com/.default"}}},
    {"endless",
     0,
     NULL,
     {{CFR_FIELD_AZURE_ACCESS_TOKEN, "tok"}, {CFR_FIELD_AZURE_SCOPE, "https://management.azure.com"}}},
    {"aws", NOW + 100, NULL, {{CFR_FIELD_AWS_ACCESS_KEY_ID, "AKIA"}}},
};
static struct cfr_grant grants[COUNT(credentials)];
static const char *secret = SECRET; /* content of the header file; NULL = it cannot be read */

static bool offer(void *ctx, const char *credential, struct cfr_offer *out)
{
    (void)ctx;
    for (size_t i = 0; i < COUNT(credentials); i++) {
        if (strcmp(credentials[i].name, credential) != 0)
            continue;
        *out = (struct cfr_offer){.credential = credential,
                                  .grant = credentials[i].fields[0][0] != NULL ? &grants[i] : NULL,
                                  .issued_s = NOW - 301,
                                  .expires_s = credentials[i].expires_s,
                                  .why = credentials[i].why,
                                  .retry_after_s = credentials[i].fields[0][0] != NULL ? 0 : 17};
        return true;
    }
    return false;
}

static struct cfr_view secret_file(void *ctx, const char *path)
{
    (void)ctx;
    assert_string_equal(path, "/run/header");
    return cfr_view_of(secret);
}

static const struct cfr_sdk_endpoint_world world = {.now_s = NOW, .offer = offer, .secret_file = secret_file};

static int make_grants(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(credentials); i++) {
        for (size_t k = 0; k < COUNT(credentials[i].fields) && credentials[i].fields[k][0] != NULL; k++)
            assert_int_equal(
                cfr_grant_set(&grants[i], credentials[i].fields[k][0], cfr_view_of(credentials[i].fields[k][1]), NULL),
                0);
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

static struct cfr_sdk_azure_identity identities[] = {
    {.credential = (char[]){"app"}},
    {.credential = (char[]){"second"},
     .client_id = (char[]){SECOND},
     .object_id = (char[]){OBJECT},
     .resource_id = (char[]){ARM_ID}},
};
static struct cfr_sdk_azure_identity waiting[] = {
    {.credential = (char[]){"second"}, .client_id = (char[]){SECOND}},
    {.credential = (char[]){"gone"}},
};
static struct cfr_sdk_azure_identity expired[] = {{.credential = (char[]){"late"}}};
static struct cfr_sdk_azure_identity silent[] = {{.credential = (char[]){"silent"}}};
static struct cfr_sdk_azure_identity nowhere[] = {{.credential = (char[]){"nowhere"}}};
static struct cfr_sdk_azure_identity noon[] = {{.credential = (char[]){"noon"}}};
static struct cfr_sdk_azure_identity midnight[] = {{.credential = (char[]){"midnight"}}};
static struct cfr_sdk_azure_identity endless[] = {{.credential = (char[]){"endless"}}};
static struct cfr_sdk_azure_identity aws[] = {{.credential = (char[]){"aws"}}};

#define LIST(array)                                                                                                    \
    {                                                                                                                  \
        array, COUNT(array)                                                                                            \
    }
static const struct cfr_sdk_azure two = {.identities = LIST(identities),
                                         .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_waiting = {
    .identities = LIST(waiting), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_expired = {
    .identities = LIST(expired), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_silent = {
    .identities = LIST(silent), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_nowhere = {
    .identities = LIST(nowhere), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_noon = {
    .identities = LIST(noon), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_midnight = {
    .identities = LIST(midnight), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_endless = {
    .identities = LIST(endless), .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};
static const struct cfr_sdk_azure of_aws = {.identities = LIST(aws),
                                            .header = &(struct cfr_sdk_client_secret){.file = (char[]){"/run/header"}}};

/* ---- the rows ---- */

struct row {
    const char *fact;
    const char *request;
    const char *headers;
    int status; /* 0 = another shape's path */
    const char *body;
    bool part;                          /* BODY is a part of the answer's */
    const struct cfr_sdk_azure *config; /* NULL = two */
};

#define ERROR(error, text) "{\"error\":\"" error "\",\"error_description\":\"" text "\"}"
#define APP_ERROR(status, error, text)                                                                                 \
    "{\"statusCode\":" status ",\"message\":\"" text "\",\"error\":\"" error "\",\"error_description\":\"" text "\"}"
#define GIVES(token, client, resource)                                                                                 \
    "{\"access_token\":\"" token "\",\"client_id\":\"" client                                                          \
    "\",\"expires_in\":\"3598\",\"expires_on\":\"1767326644\","                                                        \
    "\"ext_expires_in\":\"3598\",\"not_before\":\"1767322744\",\"refresh_token\":\"\",\"resource\":\"" resource        \
    "\",\"token_type\":\"Bearer\"}"
#define NEEDED      ERROR("bad_request_102", "Required metadata header not specified")
#define UNKNOWN     ERROR("invalid_request", "Identity not found")
#define TWICE(name) ERROR("invalid_request", "the parameter " name " is given twice, too long, or not well encoded")
#define NO_RESOURCE ERROR("invalid_request", "the parameter resource is missing")
#define PASSED_ON   "requests through a proxy are refused"
#define WRONG_KEY                                                                                                      \
    APP_ERROR("401", "unauthorized", "the header X-IDENTITY-HEADER is missing or not the one that is expected")

static const struct row imds_rows[] = {
    {"the probe leaves the header out", "GET /metadata/identity/oauth2/token?api-version=2018-02-01", NULL, 400, NEEDED,
     false, NULL},
    {"the probe asks for nothing", "GET /metadata/identity/oauth2/token", NULL, 400, NEEDED, false, NULL},
    {"a wrong value is no header", IMDS ARM, "Metadata: false", 400, NEEDED, false, NULL},
    {"a header that came twice is none", IMDS ARM, META META, 400, NEEDED, false, NULL},
    {"the value has no case", IMDS ARM, "metadata: True", 200,
     GIVES("tok-arm", CLIENT, "https://management.azure.com/"), false, NULL},
    {"all values are texts", IMDS ARM, META, 200, GIVES("tok-arm", CLIENT, "https://management.azure.com/"), false,
     NULL},
    {"the path may end with a slash", "GET /metadata/identity/oauth2/token/?resource=" ARM, META, 200, "tok-arm", true,
     NULL},
    {"the path has no case", "GET /Metadata/Identity/OAuth2/Token?resource=" ARM, META, 200, "tok-arm", true, NULL},
    {"no version is needed", "GET /metadata/identity/oauth2/token?resource=" ARM, META, 200, "tok-arm", true, NULL},
    {"HEAD is as GET", "HEAD /metadata/identity/oauth2/token?resource=" ARM, META, 200, "tok-arm", true, NULL},
    {"POST is not", "POST /metadata/identity/oauth2/token", META, 405,
     ERROR("method_not_allowed", "only GET is answered here"), false, NULL},
    {"what a proxy passed on", IMDS ARM, META "X-Forwarded-For: 10.0.0.1", 403, ERROR("forbidden", PASSED_ON), false,
     NULL},
    {"even empty", IMDS ARM, META "X-Forwarded-For:", 403, ERROR("forbidden", PASSED_ON), false, NULL},
    {"what a proxy of RFC 7239 passed on", IMDS ARM, META "Forwarded: for=10.0.0.1", 403, ERROR("forbidden", PASSED_ON),
     false, NULL},
    {"other pages are not there", "GET /metadata/instance?api-version=2021-02-01", META, 404, "\"error\":\"not_found\"",
     true, NULL},
    {"other pages want the header too", "GET /metadata/instance", NULL, 400, NEEDED, false, NULL},
    {"other paths are other shapes'", "GET /metadatas", META, 0, NULL, false, NULL},
    {"the root too", "GET /", META, 0, NULL, false, NULL},
    /* resources */
    {"none", "GET /metadata/identity/oauth2/token?api-version=2018-02-01", META, 400, NO_RESOURCE, false, NULL},
    {"empty", IMDS, META, 400, NO_RESOURCE, false, NULL},
    {"twice", IMDS ARM "&resource=" ARM, META, 400, TWICE("resource"), false, NULL},
    {"malformed", IMDS "%zz", META, 400, TWICE("resource"), false, NULL},
    {"without the slash, kept as given", IMDS "https%3A%2F%2Fmanagement.azure.com", META, 200,
     GIVES("tok-arm", CLIENT, "https://management.azure.com"), false, NULL},
    {"not encoded", IMDS "https://management.azure.com/", META, 200,
     GIVES("tok-arm", CLIENT, "https://management.azure.com/"), false, NULL},
    {"with /.default", IMDS "https://management.azure.com/.default", META, 200,
     GIVES("tok-arm", CLIENT, "https://management.azure.com/.default"), false, NULL},
    {"with a slash and /.default", IMDS "https://management.azure.com//.default", META, 200,
     GIVES("tok-arm", CLIENT, "https://management.azure.com//.default"), false, NULL},
    {"the authority has no case", IMDS "HTTPS://Management.Azure.com/", META, 200,
     GIVES("tok-arm", CLIENT, "HTTPS://Management.Azure.com/"), false, NULL},
    {"a further scope", IMDS "https://vault.azure.net", META, 200,
     GIVES("tok-vault", CLIENT, "https://vault.azure.net"), false, NULL},
    {"a scope whose resource ends in a slash", IMDS "https://database.windows.net/", META, 200,
     GIVES("tok-sql", CLIENT, "https://database.windows.net/"), false, NULL},
    {"the same without", IMDS "https://database.windows.net", META, 200,
     GIVES("tok-sql", CLIENT, "https://database.windows.net"), false, NULL},
    {"one that is not configured", IMDS "https://graph.microsoft.com", META, 400,
     ERROR("invalid_resource",
           "credential app has no token for the resource \\\"https://graph.microsoft.com\\\"; it has tokens for "
           "https://management.azure.com, https://vault.azure.net, https://database.windows.net/: add it to the scopes "
           "of the "
           "credential's exchange"),
     false, NULL},
    {"a longer one is another", IMDS "https://management.azure.com.example", META, 400, "invalid_resource", true, NULL},
    {"a shorter one is another", IMDS "https://management.azure", META, 400, "invalid_resource", true, NULL},
    {"a path is another", IMDS "https://management.azure.com/x", META, 400, "invalid_resource", true, NULL},
    {"two slashes are another", IMDS "https://vault.azure.net//", META, 400, "invalid_resource", true, NULL},
    {"a quote stays inside its text", IMDS "%22", META, 400, "resource \\\"\\\"\\\"", true, NULL},
    {"a path has case", IMDS "api://guid/Path&client_id=" SECOND, META, 200, "tok-api", true, NULL},
    {"and is not met without", IMDS "api://guid/path&client_id=" SECOND, META, 400, "invalid_resource", true, NULL},
    {"to the letter goes before nearly (1)", IMDS "https://two.example&client_id=" SECOND, META, 200, "\"tok-two\"",
     true, NULL},
    {"to the letter goes before nearly (2)", IMDS "https://two.example/&client_id=" SECOND, META, 200,
     "\"tok-two-slash\"", true, NULL},
    {"a GUID has no case", IMDS "00000003-0000-0000-c000-000000000000&client_id=" SECOND, META, 200, "tok-guid", true,
     NULL},
    {"a credential of another cloud", IMDS ARM, META, 400,
     ERROR("invalid_resource",
           "credential aws has no token for the resource \\\"https://management.azure.com/\\\": add it to the "
           "scopes of the credential's exchange"),
     false, &of_aws},
    /* selectors */
    {"client_id of the grant", IMDS ARM "&client_id=" CLIENT, META, 200, "tok-arm", true, NULL},
    {"without case", IMDS ARM "&client_id=11111111-AAAA-4BBB-8CCC-000000000001", META, 200, "tok-arm", true, NULL},
    {"client_id of the configuration", IMDS "api://Guid/Path&client_id=" SECOND, META, 200,
     "\"client_id\":\"" SECOND "\",\"object_id\":\"" OBJECT "\",\"msi_res_id\":\"" ARM_ID "\"", true, NULL},
    {"clientid", IMDS "api://Guid/Path&clientid=" SECOND, META, 200, "tok-api", true, NULL},
    {"object_id", IMDS "api://Guid/Path&object_id=" OBJECT, META, 200, "tok-api", true, NULL},
    {"principal_id", IMDS "api://Guid/Path&principal_id=" OBJECT, META, 200, "tok-api", true, NULL},
    {"msi_res_id", IMDS "api://Guid/Path&msi_res_id=" ARM_ID, META, 200, "tok-api", true, NULL},
    {"mi_res_id", IMDS "api://Guid/Path&mi_res_id=" ARM_ID, META, 200, "tok-api", true, NULL},
    {"an empty one selects nothing", IMDS ARM "&client_id=", META, 200, "tok-arm", true, NULL},
    {"two that agree", IMDS "api://Guid/Path&client_id=" SECOND "&object_id=" OBJECT, META, 200, "tok-api", true, NULL},
    {"two spellings that agree", IMDS "api://Guid/Path&client_id=" SECOND "&clientid=" SECOND, META, 200, "tok-api",
     true, NULL},
    {"two spellings that do not", IMDS ARM "&client_id=" SECOND "&clientid=" CLIENT, META, 400,
     ERROR("invalid_request", "two parameters name different identities"), false, NULL},
    {"two that are of different identities", IMDS ARM "&client_id=" CLIENT "&object_id=" OBJECT, META, 400, UNKNOWN,
     false, NULL},
    {"one twice", IMDS ARM "&client_id=" SECOND "&client_id=" SECOND, META, 400, TWICE("client_id"), false, NULL},
    {"an unknown client", IMDS ARM "&client_id=" OBJECT, META, 400, UNKNOWN, false, NULL},
    {"an unknown object", IMDS ARM "&object_id=" CLIENT, META, 400, UNKNOWN, false, NULL},
    {"an unknown resource", IMDS ARM "&msi_res_id=/subscriptions/x", META, 400, UNKNOWN, false, NULL},
    /* nothing to give */
    {"a grant that is not there", IMDS ARM "&client_id=" CLIENT, META, 503,
     ERROR("temporarily_unavailable", "credential gone: waiting for the token file"), false, &of_waiting},
    {"an expired one", IMDS ARM, META, 503,
     ERROR("temporarily_unavailable", "credential late: the exchange is refused: AADSTS700016"), false, &of_expired},
    {"even for a resource that is none", IMDS "x", META, 503, "temporarily_unavailable", true, &of_expired},
    {"without a reason", IMDS ARM, META, 503,
     ERROR("temporarily_unavailable", "credential silent: none has been granted yet"), false, &of_silent},
    {"a credential that is not there", IMDS ARM, META, 503, "temporarily_unavailable", true, &of_nowhere},
    {"without an end", IMDS ARM, META, 200, "\"expires_in\":\"86400\",\"expires_on\":\"1767409445\"", true,
     &of_endless},
};

static const struct row app_rows[] = {
    {"all values are texts", APP ARM, KEY, 200,
     "{\"access_token\":\"tok-arm\",\"client_id\":\"" CLIENT "\",\"expires_on\":\"1767326644\",\"resource\":"
     "\"https://management.azure.com/\",\"token_type\":\"Bearer\"}",
     false, NULL},
    {"the metadata header does no harm", APP ARM, KEY META, 200, "tok-arm", true, NULL},
    {"the path may end with a slash", "GET /msi/token/?resource=" ARM, KEY, 200, "tok-arm", true, NULL},
    {"the path has no case", "GET /MSI/token?resource=" ARM, KEY, 200, "tok-arm", true, NULL},
    {"other paths are other shapes'", "GET /msi/tokens", KEY, 0, NULL, false, NULL},
    {"the other contract is not this one", IMDS ARM, KEY, 0, NULL, false, NULL},
    {"no secret", APP ARM, NULL, 401, WRONG_KEY, false, NULL},
    {"the metadata header is none", APP ARM, META, 401, WRONG_KEY, false, NULL},
    {"a wrong secret", APP ARM, "X-IDENTITY-HEADER: 0123456789abcdef0123456789abcdeg", 401, WRONG_KEY, false, NULL},
    {"its beginning", APP ARM, "X-IDENTITY-HEADER: 0123456789abcdef", 401, WRONG_KEY, false, NULL},
    {"an empty one", APP ARM, "X-IDENTITY-HEADER:", 401, WRONG_KEY, false, NULL},
    {"twice", APP ARM, KEY KEY, 401, WRONG_KEY, false, NULL},
    {"a wrong one beside a right one of old", APP ARM, "X-IDENTITY-HEADER: x\nSecret: " SECRET, 401, WRONG_KEY, false,
     NULL},
    {"the secret goes before the query", "GET /msi/token", NULL, 401, WRONG_KEY, false, NULL},
    {"POST is not", "POST /msi/token", KEY, 405, APP_ERROR("405", "method_not_allowed", "only GET is answered here"),
     false, NULL},
    {"what a proxy passed on", APP ARM, KEY "X-Forwarded-For: 10.0.0.1", 403, APP_ERROR("403", "forbidden", PASSED_ON),
     false, NULL},
    {"what a proxy of RFC 7239 passed on", APP ARM, KEY "Forwarded:", 403, APP_ERROR("403", "forbidden", PASSED_ON),
     false, NULL},
    {"errors in both forms", "GET /msi/token", KEY, 400,
     APP_ERROR("400", "invalid_request", "the parameter resource is missing"), false, NULL},
    {"an unknown identity", APP ARM "&client_id=" OBJECT, KEY, 400,
     APP_ERROR("400", "invalid_request", "Identity not found"), false, NULL},
    {"client_id", APP "api://Guid/Path&client_id=" SECOND, KEY, 200, "tok-api", true, NULL},
    {"principal_id", APP "api://Guid/Path&principal_id=" OBJECT, KEY, 200, "tok-api", true, NULL},
    {"mi_res_id", APP "api://Guid/Path&mi_res_id=" ARM_ID, KEY, 200, "tok-api", true, NULL},
    {"one that is not configured", APP "https://graph.microsoft.com", KEY, 400, "\"statusCode\":400", true, NULL},
    {"a grant that is not there", APP ARM, KEY, 503, "\"statusCode\":503", true, &of_expired},
    /* as it was in 2017 */
    {"the date is a text", OLD ARM, "Secret: " SECRET, 200,
     "{\"access_token\":\"tok-arm\",\"client_id\":\"" CLIENT
     "\",\"expires_on\":\"1/2/2026 4:04:04 AM +00:00\",\"resource\":"
     "\"https://management.azure.com/\",\"token_type\":\"Bearer\"}",
     false, NULL},
    {"at noon", OLD ARM, "secret: " SECRET, 200, "\"1/2/2026 12:00:00 PM +00:00\"", true, &of_noon},
    {"at midnight", OLD ARM, "secret: " SECRET, 200, "\"1/3/2026 12:00:00 AM +00:00\"", true, &of_midnight},
    {"clientid", OLD "api://Guid/Path&clientid=" SECOND, "secret: " SECRET, 200, "tok-api", true, NULL},
    {"the header alone tells it", "GET /msi/token?resource=" ARM, "secret: " SECRET, 200, "AM +00:00", true, NULL},
    {"the version alone tells it", OLD ARM, KEY, 200, "AM +00:00", true, NULL},
    {"a wrong secret", OLD ARM, "secret: x", 401, WRONG_KEY, false, NULL},
};

/* Every answer is one JSON object whose values are texts, but for the number that App Service has in its errors. */
static void check_json(const char *fact, const struct cfr_sdk_endpoint_answer *a)
{
    const struct cfr_json *m;
    struct cfr_json *doc;
    struct cfr_view text;

    if (cfr_json_parse(cfr_secret_view(&a->body), &doc, NULL) != 0)
        fail_msg("%s: no JSON: %s", fact, ask_body(a));
    for (m = cfr_json_first(doc); m != NULL; m = cfr_json_next(m)) {
        if (!cfr_json_string(m, &text) && !cfr_view_is(cfr_json_key(m), "statusCode"))
            fail_msg("%s: a value is no text: %s", fact, ask_body(a));
    }
    cfr_json_free(doc);
}

static void check_row(const struct row *row, const struct cfr_sdk_shape *shape)
{
    struct cfr_sdk_endpoint_request r = ask_request(row->request, row->headers);
    struct cfr_sdk_endpoint_answer a = {0};
    bool mine = shape->answer(row->config != NULL ? row->config : &two, &r, &world, &a);

    if (mine != (row->status != 0))
        fail_msg("%s: %s", row->fact, mine ? "was taken" : "was not taken");
    if (a.status != row->status)
        fail_msg("%s: status %d: %s", row->fact, a.status, ask_body(&a));
    if (mine) {
        if (row->part ? strstr(ask_body(&a), row->body) == NULL : strcmp(ask_body(&a), row->body) != 0)
            fail_msg("%s:\n  %s\nis not\n  %s", row->fact, ask_body(&a), row->body);
        check_json(row->fact, &a);
        assert_string_equal(a.content_type, "application/json; charset=utf-8");
        assert_string_equal(ask_answer_header(&a, "Cache-Control"), "no-store");
        assert_int_equal(ask_answer_header(&a, "Retry-After") != NULL, a.status == 503);
        assert_int_equal(ask_answer_header(&a, "Allow") != NULL, a.status == 405);
        /* A probe is nothing to tell of in a log. */
        assert_int_equal(a.refused != NULL, a.status >= 400 && a.status != 503 && a.status != 404 &&
                                                strstr(ask_body(&a), "bad_request_102") == NULL);
        /* Some clients take this word for a machine without the service. */
        assert_true(a.status != 403 || strstr(ask_body(&a), "unreachable") == NULL);
    }
    cfr_sdk_endpoint_answer_free(&a);
}

static void test_imds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(imds_rows); i++)
        check_row(&imds_rows[i], &cfr_sdk_azure_imds_shape);
}

static void test_app_service(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(app_rows); i++)
        check_row(&app_rows[i], &cfr_sdk_azure_app_service_shape);
}

static void test_retry_after(void **state)
{
    struct cfr_sdk_endpoint_request r = ask_request(IMDS ARM "&client_id=" CLIENT, META);
    struct cfr_sdk_endpoint_answer a = {0};

    (void)state;
    assert_true(cfr_sdk_azure_imds_shape.answer(&of_waiting, &r, &world, &a));
    assert_string_equal(ask_answer_header(&a, "Retry-After"), "5");
    r = ask_request(IMDS ARM "&client_id=" LATE, META);
    assert_true(cfr_sdk_azure_imds_shape.answer(&of_expired, &r, &world, &a));
    assert_string_equal(ask_answer_header(&a, "Retry-After"), "1");
    cfr_sdk_endpoint_answer_free(&a);
}

/* A secret that cannot be read now, or is empty, lets nobody in. */
static void test_secret_file(void **state)
{
    static const struct {
        const char *content;
        const char *headers;
        int status;
    } rows[] = {
        {NULL, KEY, 503}, {NULL, NULL, 503},  {"", KEY, 401}, {"", "X-IDENTITY-HEADER:", 401},
        {"", NULL, 401},  {SECRET, KEY, 200},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_sdk_endpoint_request r = ask_request(APP ARM, rows[i].headers);
        struct cfr_sdk_endpoint_answer a = {0};

        secret = rows[i].content;
        assert_true(cfr_sdk_azure_app_service_shape.answer(&two, &r, &world, &a));
        assert_int_equal(a.status, rows[i].status);
        if (a.status != 200)
            assert_non_null(a.refused);
        cfr_sdk_endpoint_answer_free(&a);
    }
    secret = SECRET;
}

/* What is too long is refused, never cut. */
static void test_long(void **state)
{
    char request[4096];
    struct cfr_sdk_endpoint_answer a = {0};

    (void)state;
    for (int pad = 900; pad <= 1100; pad += 100) {
        (void)snprintf(request, sizeof request, IMDS "https://management.azure.com%0*d", pad, 0);
        struct cfr_sdk_endpoint_request r = ask_request(request, META);

        assert_true(cfr_sdk_azure_imds_shape.answer(&two, &r, &world, &a));
        assert_int_equal(a.status, 400);
        if (pad == 1100)
            assert_contains(ask_body(&a), "too long");
        else if (pad == 900)
            assert_contains(ask_body(&a), "no token for the resource");
    }
    cfr_sdk_endpoint_answer_free(&a);
}

/* Whichever allocation fails, an answer is whole or a 500 without a body. */
static void test_memory(void **state)
{
    static const char *const requests[] = {IMDS ARM, IMDS "https://graph.microsoft.com", IMDS};

    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        struct cfr_sdk_endpoint_request r = ask_request(requests[i], META);
        struct cfr_sdk_endpoint_answer whole = {0};
        struct cfr_sdk_endpoint_answer a = {0};
        int failed = 0;

        assert_true(cfr_sdk_azure_imds_shape.answer(&two, &r, &world, &whole));
        for (long n = 0; n < 20; n++) {
            fuse = n;
            assert_true(cfr_sdk_azure_imds_shape.answer(&two, &r, &world, &a));
            fuse = -1;
            if (a.status == 500) {
                failed++;
                assert_int_equal(a.body.len, 0);
            } else {
                assert_int_equal(a.status, whole.status);
                /* What is configured may be left out. */
                assert_true(strcmp(ask_body(&a), ask_body(&whole)) == 0 ||
                            strstr(ask_body(&a), "the credential has no token for this resource") != NULL);
            }
            cfr_sdk_endpoint_answer_free(&a);
        }
        assert_true(failed > 0 && failed < 20);
        cfr_sdk_endpoint_answer_free(&whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_imds),        cmocka_unit_test(test_app_service), cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_secret_file), cmocka_unit_test(test_long),        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, make_grants, free_grants);
}
