/* SPDX-License-Identifier: MIT */
/* The generic shape: one row for each fact that a client may rely on. */
#include "serve_ask.h"

#include "base/json.h"

#define NOW INT64_C(1767323045) /* 2026-01-02T03:04:05Z */

static const struct {
    const char *name;
    int64_t expires_s;
    const char *fields[4][2];
} credentials[] = {
    {"aws",
     NOW + 60,
     {{CFR_FIELD_AWS_ACCESS_KEY_ID, "AKIA"}, {CFR_FIELD_AWS_SECRET_ACCESS_KEY, "s\"k"}, {CFR_FIELD_TOKEN, "subject"}}},
    {"gcp",
     NOW + 60,
     {{CFR_FIELD_GCP_ID_TOKEN, "id"}, {CFR_FIELD_GCP_ACCESS_TOKEN, "ya29"}, {CFR_FIELD_TOKEN, "subject"}}},
    {"gcp-id", NOW + 60, {{CFR_FIELD_GCP_ID_TOKEN, "id"}}},
    {"azure", NOW + 60, {{CFR_FIELD_AZURE_TENANT_ID, "t"}, {CFR_FIELD_AZURE_ACCESS_TOKEN, "az"}}},
    {"openstack",
     NOW + 60,
     {{CFR_FIELD_OPENSTACK_TOKEN, "gAAA"}, {CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET, "private"}}},
    {"openstack-password",
     NOW + 60,
     {{CFR_FIELD_OPENSTACK_AUTH_URL, "https://k/v3"}, {CFR_FIELD_OPENSTACK_PASSWORD, "private"}}},
    {"oauth", NOW + 60, {{CFR_FIELD_OAUTH_ID_TOKEN, "oi"}, {CFR_FIELD_OAUTH_ACCESS_TOKEN, "oa"}}},
    {"registry", NOW + 60, {{CFR_FIELD_REGISTRY_AUTHS, "\"r\":{\"auth\":\"x\"}"}}},
    {"plain.token_1", 0, {{CFR_FIELD_TOKEN, "eyJh.x.y"}}},
    {"mounted", 0, {{CFR_FIELD_SECRET_PREFIX "password", "p\xff"}}},
    {"private", NOW + 60, {{CFR_FIELD_OPENSTACK_PASSWORD, "private"}}},
    {"over", NOW, {{CFR_FIELD_TOKEN, "old"}}},
    {"gone", 0, {{NULL, NULL}}},
};
static struct cfr_grant grants[COUNT(credentials)];

static bool offer(void *ctx, const char *credential, struct cfr_offer *out)
{
    (void)ctx;
    for (size_t i = 0; i < COUNT(credentials); i++) {
        if (strcmp(credentials[i].name, credential) != 0)
            continue;
        *out = (struct cfr_offer){.credential = credentials[i].name,
                                  .grant = credentials[i].fields[0][0] != NULL ? &grants[i] : NULL,
                                  .expires_s = credentials[i].expires_s,
                                  .why = credentials[i].fields[0][0] != NULL ? NULL : "waiting for the token file",
                                  .retry_after_s = 5};
        return true;
    }
    return false;
}

static const struct cfr_sdk_endpoint_world world = {.now_s = NOW, .offer = offer};

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

#define TEXT "Accept: text/plain"
#define GONE "{\"error\":{\"code\":\"not-found\",\"message\":\"there is no such credential\"}}\n"
#define MIXED                                                                                                          \
    "{\"error\":{\"code\":\"not-acceptable\",\"message\":\"this credential is more than one token: ask for "           \
    "application/json\"}}\n"
#define PLAIN                                                                                                          \
    "{\"credential\":\"plain.token_1\",\"kind\":\"token\",\"expires\":null,\"fields\":{\"token\":\"eyJh.x.y\"}}\n"
#define HEAD(name, kind)                                                                                               \
    "{\"credential\":\"" name "\",\"kind\":\"" kind "\",\"expires\":\"2026-01-02T03:05:05Z\",\"fields\":{"

static const struct {
    const char *fact;
    const char *request;
    const char *headers;
    int status; /* 0 = another's path */
    const char *body;
} rows[] = {
    {"keys", "GET /v1/token/aws", NULL, 200,
     HEAD("aws",
          "aws") "\"aws_access_key_id\":\"AKIA\",\"aws_secret_access_key\":\"s\\\"k\",\"token\":\"subject\"}}\n"},
    {"keys are no one token", "GET /v1/token/aws", TEXT, 406, MIXED},
    {"an access token", "GET /v1/token/gcp", NULL, 200,
     HEAD("gcp", "gcp") "\"gcp_id_token\":\"id\",\"gcp_access_token\":\"ya29\",\"token\":\"subject\"}}\n"},
    {"goes before the others", "GET /v1/token/gcp", TEXT, 200, "ya29"},
    {"an identity token", "GET /v1/token/gcp-id", TEXT, 200, "id"},
    {"of Azure", "GET /v1/token/azure", TEXT, 200, "az"},
    {"of OpenStack", "GET /v1/token/openstack", TEXT, 200, "gAAA"},
    {"what is private stays", "GET /v1/token/openstack", NULL, 200,
     HEAD("openstack", "openstack") "\"openstack_token\":\"gAAA\"}}\n"},
    {"where there is nothing else, too", "GET /v1/token/private", NULL, 200, HEAD("private", "unknown") "}}\n"},
    {"and is no token", "GET /v1/token/private", TEXT, 406, MIXED},
    {"OpenStack without a token", "GET /v1/token/openstack-password", NULL, 200,
     HEAD("openstack-password", "openstack") "\"openstack_auth_url\":\"https://k/v3\"}}\n"},
    {"of OAuth", "GET /v1/token/oauth", TEXT, 200, "oa"},
    {"a registry's login", "GET /v1/token/registry", NULL, 200,
     HEAD("registry", "registry") "\"registry_auths\":\"\\\"r\\\":{\\\"auth\\\":\\\"x\\\"}\"}}\n"},
    {"a token without an end", "GET /v1/token/plain.token_1", NULL, 200, PLAIN},
    {"a mounted Secret, with what is no UTF-8", "GET /v1/token/mounted", NULL, 200,
     "{\"credential\":\"mounted\",\"kind\":\"secret\",\"expires\":null,\"fields\":{\"secret:password\":"
     "\"p\xef\xbf\xbd\"}}"
     "\n"},
    /* Accept */
    {"anything is JSON", "GET /v1/token/plain.token_1", "Accept: */*", 200, PLAIN},
    {"the token alone", "GET /v1/token/plain.token_1", TEXT, 200, "eyJh.x.y"},
    {"with a parameter", "GET /v1/token/plain.token_1", "Accept: text/plain; charset=utf-8", 200, "eyJh.x.y"},
    {"without case", "GET /v1/token/plain.token_1", "accept: Text/Plain", 200, "eyJh.x.y"},
    {"any text", "GET /v1/token/plain.token_1", "Accept: text/*", 200, "eyJh.x.y"},
    {"both alike: JSON", "GET /v1/token/plain.token_1", "Accept: text/plain, application/json", 200, PLAIN},
    {"JSON weighs less", "GET /v1/token/plain.token_1", "Accept: application/json;q=0.5, text/plain", 200, "eyJh.x.y"},
    {"JSON weighs more", "GET /v1/token/plain.token_1", "Accept: text/plain;q=0.899, application/json;Q=0.9", 200,
     PLAIN},
    {"text that is not wanted", "GET /v1/token/plain.token_1", "Accept: text/plain;q=0", 200, PLAIN},
    {"text and anything", "GET /v1/token/plain.token_1", "Accept: text/plain, */*;q=0.1", 200, "eyJh.x.y"},
    {"a weight that is none", "GET /v1/token/plain.token_1", "Accept: text/plain;q=x", 200, PLAIN},
    {"nothing between commas", "GET /v1/token/plain.token_1", "Accept: ,, text/plain ,", 200, "eyJh.x.y"},
    {"an empty one", "GET /v1/token/plain.token_1", "Accept:", 200, PLAIN},
    {"only semicolons", "GET /v1/token/plain.token_1", "Accept: ;;;", 200, PLAIN},
    /* what is refused */
    {"no such credential", "GET /v1/token/other", NULL, 404, GONE},
    {"no name", "GET /v1/token/", NULL, 404, GONE},
    {"a longer path", "GET /v1/token/aws/x", NULL, 404, GONE},
    {"a name that is too long", "GET /v1/token/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
     404, GONE},
    {"another's path", "GET /v1/tokens/aws", NULL, 0, NULL},
    {"another's path (2)", "GET /v1/token", NULL, 0, NULL},
    {"HEAD is as GET", "HEAD /v1/token/plain.token_1", NULL, 200, PLAIN},
    {"POST is not", "POST /v1/token/aws", NULL, 405,
     "{\"error\":{\"code\":\"method\",\"message\":\"only GET is answered here\"}}\n"},
    {"what a proxy passed on", "GET /v1/token/aws", "X-Forwarded-For: 10.0.0.1", 403,
     "{\"error\":{\"code\":\"forbidden\",\"message\":\"requests through a proxy are refused\"}}\n"},
    {"what a proxy of RFC 7239 passed on", "GET /v1/token/aws", "Forwarded: for=10.0.0.1", 403,
     "{\"error\":{\"code\":\"forbidden\",\"message\":\"requests through a proxy are refused\"}}\n"},
    {"an expired one", "GET /v1/token/over", TEXT, 503,
     "{\"error\":{\"code\":\"unavailable\",\"message\":\"credential over: the last one has expired, and there is no "
     "newer one yet\"}}\n"},
    {"one that is not there", "GET /v1/token/gone", NULL, 503,
     "{\"error\":{\"code\":\"unavailable\",\"message\":\"credential gone: waiting for the token file\"}}\n"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_sdk_endpoint_request r = ask_request(rows[i].request, rows[i].headers);
        struct cfr_sdk_endpoint_answer a = {0};
        struct cfr_json *doc = NULL;
        bool mine = cfr_sdk_token(&r, &world, &a);

        if (mine != (rows[i].status != 0) || a.status != rows[i].status)
            fail_msg("%s: status %d: %s", rows[i].fact, a.status, ask_body(&a));
        if (mine && strcmp(ask_body(&a), rows[i].body) != 0)
            fail_msg("%s:\n  %s\nis not\n  %s", rows[i].fact, ask_body(&a), rows[i].body);
        if (mine) {
            bool text = rows[i].body[0] != '{';

            assert_string_equal(a.content_type, text ? "text/plain; charset=utf-8" : "application/json; charset=utf-8");
            assert_true(text || cfr_json_parse(cfr_secret_view(&a.body), &doc, NULL) == 0);
            assert_string_equal(ask_answer_header(&a, "Cache-Control"), "no-store");
            assert_int_equal(ask_answer_header(&a, "Retry-After") != NULL, a.status == 503);
            assert_int_equal(ask_answer_header(&a, "Allow") != NULL, a.status == 405);
        }
        cfr_json_free(doc);
        cfr_sdk_endpoint_answer_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

    return cmocka_run_group_tests(tests, make_grants, free_grants);
}
