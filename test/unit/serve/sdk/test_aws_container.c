/* SPDX-License-Identifier: MIT */
/* AWS container credentials: requests and their answers. */
#include "serve/sdk/shape_private.h"

#include "endpoint_fixture.h"

#define PASSWORD "Bearer the password"
#define AUTH     "Authorization: " PASSWORD "\n"
#define KEYS     "\"AccessKeyId\":\"ASIAEXAMPLE\",\"SecretAccessKey\":\"wJalr/secret+example\","
#define SESSION  "\"Token\":\"IQoJ//session==\",\"Expiration\":\"2026-01-02T05:04:05Z\""
#define ERROR(code, text)                                                                                              \
    "{\"code\":\"" code "\",\"message\":\"" text "\",\"Code\":\"" code "\",\"Message\":\"" text "\"}\n"
#define DENIED ERROR("AccessDenied", "the Authorization header is wrong for this path")
#define PROXIED                                                                                                        \
    ERROR("Forwarded", "credentials are not given through a proxy; ask without X-Forwarded-For, Forwarded and Via")
#define METHOD ERROR("MethodNotAllowed", "only GET, HEAD is allowed here")

static const struct row {
    const char *fact;
    const char *method;
    const char *headers;
    enum fixture_offer offer;
    int status;
    const char *extra; /* a header of the answer: "Name: value" */
    const char *body;
} rows[] = {
    /* success, 7.2 */
    {"Token, not SessionToken; the time with Z; the account of the identity", "GET", AUTH, OFFER_SESSION, 200,
     "Cache-Control: no-store", "{" KEYS SESSION ",\"AccountId\":\"123456789012\"}\n"},
    {"HEAD is as GET", "HEAD", AUTH, OFFER_SESSION, 200, NULL, "{" KEYS SESSION ",\"AccountId\":\"123456789012\"}\n"},
    {"RoleArn where the identity is the role", "GET", AUTH, OFFER_ROLE, 200, NULL,
     "{" KEYS SESSION ",\"AccountId\":\"123456789012\",\"RoleArn\":\"" ROLE_ARN "\"}\n"},
    {"a user is no role", "GET", AUTH, OFFER_USER, 200, NULL, "{" KEYS SESSION ",\"AccountId\":\"123456789012\"}\n"},
    {"the account that the grant names", "GET", AUTH, OFFER_ACCOUNT, 200, NULL,
     "{" KEYS SESSION ",\"AccountId\":\"210987654321\"}\n"},
    {"nothing is said of an account that is not known", "GET", AUTH, OFFER_ANONYMOUS, 200, NULL,
     "{" KEYS SESSION "}\n"},
    {"values are escaped", "GET", AUTH, OFFER_ODD, 200, NULL,
     "{\"AccessKeyId\":\"ASIAEXAMPLE\",\"SecretAccessKey\":\"a\\\"b\\\\c\\u0001\xef\xbf\xbd\"," SESSION "}\n"},
    {"keys without an end: Token empty, Expiration an hour from now", "GET", AUTH, OFFER_LONG_LIVED, 200, NULL,
     "{" KEYS "\"Token\":\"\",\"Expiration\":\"2026-01-02T05:04:05Z\"}\n"},
    {"a second of life is life", "GET", AUTH, OFFER_ENDING, 200, NULL,
     "{" KEYS "\"Token\":\"IQoJ//session==\",\"Expiration\":\"2026-01-02T04:04:06Z\"}\n"},
    /* nothing to give: retryable, never an empty success */
    {"what has ended is not given", "GET", AUTH, OFFER_ENDED, 503, "Retry-After: 1",
     ERROR("CredentialsUnavailable", "credential registry: the last one has expired, and there is no newer one yet")},
    {"there is none, and why", "GET", AUTH, OFFER_NONE, 503, "Retry-After: 5",
     ERROR("CredentialsUnavailable", "credential registry: the cloud refuses")},
    {"none has been granted yet", "GET", AUTH, OFFER_NONE_SILENT, 503, "Retry-After: 1",
     ERROR("CredentialsUnavailable", "credential registry: none has been granted yet")},
    {"another cloud's", "GET", AUTH, OFFER_OTHER_CLOUD, 500, NULL,
     ERROR("NoAwsKeys", "credential registry holds no AWS keys; name one that does in the endpoint's configuration")},
    {"a key without its secret", "GET", AUTH, OFFER_HALF, 500, NULL,
     ERROR("NoAwsKeys", "credential registry holds no AWS keys; name one that does in the endpoint's configuration")},
    {"no such credential", "GET", AUTH, OFFER_UNKNOWN, 500, NULL,
     ERROR("NoSuchCredential", "no credential is named registry; fix the endpoint in the configuration")},
    /* who asks, 7.1 */
    {"no Authorization", "GET", "", OFFER_SESSION, 401, NULL,
     ERROR("MissingAuthorization", "the request has no Authorization header: set "
                                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE; botocore before 1.32 reads "
                                   "only AWS_CONTAINER_AUTHORIZATION_TOKEN, which holds the content of that file")},
    {"one that is empty, or came twice", "GET", "Authorization:\n", OFFER_SESSION, 403, NULL, DENIED},
    {"a wrong one", "GET", "Authorization: Bearer the passwore\n", OFFER_SESSION, 403, NULL, DENIED},
    {"the beginning of it", "GET", "Authorization: Bearer the passwor\n", OFFER_SESSION, 403, NULL, DENIED},
    {"more than it", "GET", "Authorization: Bearer the password1\n", OFFER_SESSION, 403, NULL, DENIED},
    {"verbatim: no scheme is added or taken off", "GET", "Authorization: the password\n", OFFER_SESSION, 403, NULL,
     DENIED},
    {"the header's name in any case", "GET", "AUTHORIZATION: " PASSWORD "\n", OFFER_ANONYMOUS, 200, NULL,
     "{" KEYS SESSION "}\n"},
    {"who may not ask does not learn what there is", "GET", "Authorization: x\n", OFFER_NONE, 403, NULL, DENIED},
    /* hygiene */
    {"through a proxy", "GET", AUTH "X-Forwarded-For: 10.0.0.1\n", OFFER_SESSION, 403, NULL, PROXIED},
    {"through a proxy, which says nothing", "GET", AUTH "x-forwarded-for:\n", OFFER_SESSION, 403, NULL, PROXIED},
    {"through a proxy of RFC 7239", "GET", AUTH "Forwarded: for=10.0.0.1\n", OFFER_SESSION, 403, NULL, PROXIED},
    {"POST", "POST", AUTH, OFFER_SESSION, 405, "Allow: GET, HEAD", METHOD},
    {"PUT", "PUT", AUTH, OFFER_SESSION, 405, "Allow: GET, HEAD", METHOD},
    {"methods have a case", "get", AUTH, OFFER_SESSION, 405, "Allow: GET, HEAD", METHOD},
};

static struct cfr_sdk_aws_container config(void)
{
    static char credential[] = "registry";
    static char path[] = "/aws/registry";
    static char file[] = "/run/auth";
    static struct cfr_sdk_client_secret authorization = {.file = file};

    return (struct cfr_sdk_aws_container){.credential = credential, .path = path, .authorization = &authorization};
}

static void check_extra(const struct cfr_sdk_endpoint_answer *a, const char *extra)
{
    char name[64] = "";
    const char *colon;

    if (extra == NULL)
        return;
    colon = strchr(extra, ':');
    memcpy(name, extra, (size_t)(colon - extra));
    assert_non_null(ask_answer_header(a, name));
    assert_string_equal(ask_answer_header(a, name), colon + 2);
}

static void check_row(const struct row *row)
{
    const struct cfr_sdk_aws_container c = config();
    struct fixture f = {.secret = PASSWORD};
    struct cfr_sdk_endpoint_world w = fixture_world(&f);
    struct cfr_sdk_endpoint_answer a = {0};
    char headers[256];
    struct cfr_sdk_endpoint_request r = fixture_request(row->method, c.path, headers);

    (void)snprintf(headers, sizeof headers, "%s", row->headers);
    fixture_fill(&f, row->offer);
    assert_true(cfr_sdk_aws_container_shape.answer(&c, &r, &w, &a));
    if (a.status != row->status || strcmp(ask_body(&a), row->body) != 0)
        fail_msg("%s: %d %s", row->fact, a.status, ask_body(&a));
    assert_string_equal(a.content_type, "application/json");
    assert_string_equal(ask_answer_header(&a, "Cache-Control"), "no-store");
    check_extra(&a, row->extra);
    assert_int_equal(a.refused != NULL, a.status == 401 || a.status == 403);
    fixture_check_no_secret(&a);
    cfr_sdk_endpoint_answer_free(&a);
    cfr_grant_free(&f.grant);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(&rows[i]);
}

static void test_paths(void **state)
{
    static const char *const others[] = {
        "/", "/aws/registr",   "/aws/registry//", "/aws/registry2", "/aws//registry", "/AWS/registry", "aws/registry",
        "",  "/aws/registr%79"};
    const struct cfr_sdk_aws_container c = config();
    struct fixture f = {.secret = PASSWORD};
    struct cfr_sdk_endpoint_world w = fixture_world(&f);
    char headers[] = AUTH "X-Forwarded-For: 1\n";

    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        struct cfr_sdk_endpoint_request r = fixture_request("GET", others[i], headers);
        struct cfr_sdk_endpoint_answer a = {0};

        assert_false(cfr_sdk_aws_container_shape.answer(&c, &r, &w, &a));
        assert_int_equal(a.status, 0);
        assert_null(a.body.p);
    }
}

/* A slash at the end opens no way around the authorization. */
static void test_slash_at_the_end(void **state)
{
    static char shown[2][80] = {AUTH, ""};
    static const int statuses[] = {200, 401};
    const struct cfr_sdk_aws_container c = config();

    (void)state;
    for (size_t i = 0; i < COUNT(statuses); i++) {
        struct fixture f = {.secret = PASSWORD};
        struct cfr_sdk_endpoint_world w = fixture_world(&f);
        struct cfr_sdk_endpoint_request r = fixture_request("GET", "/aws/registry/", shown[i]);
        struct cfr_sdk_endpoint_answer a = {0};

        fixture_fill(&f, OFFER_SESSION);
        assert_true(cfr_sdk_aws_container_shape.answer(&c, &r, &w, &a));
        assert_int_equal(a.status, statuses[i]);
        cfr_sdk_endpoint_answer_free(&a);
        cfr_grant_free(&f.grant);
    }
}

/* Without the file's content nobody is let in, and the client is told to come back. */
static void test_authorization_file_unreadable(void **state)
{
    static const char *const contents[] = {NULL, ""};
    static char shown[2][40] = {AUTH, "Authorization:\n"};
    const struct cfr_sdk_aws_container c = config();

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct fixture f = {.secret = contents[i / 2]};
        struct cfr_sdk_endpoint_world w = fixture_world(&f);
        struct cfr_sdk_endpoint_request r = fixture_request("GET", c.path, shown[i % 2]);
        struct cfr_sdk_endpoint_answer a = {0};

        fixture_fill(&f, OFFER_SESSION);
        assert_true(cfr_sdk_aws_container_shape.answer(&c, &r, &w, &a));
        assert_int_equal(a.status, 503);
        assert_string_equal(ask_answer_header(&a, "Retry-After"), "1");
        assert_contains(ask_body(&a), "\"Code\":\"AuthorizationUnavailable\"");
        assert_string_equal(f.secret_path, "/run/auth");
        assert_non_null(a.refused);
        fixture_check_no_secret(&a);
        cfr_sdk_endpoint_answer_free(&a);
        cfr_grant_free(&f.grant);
    }
}

static void test_no_authorization_wanted(void **state)
{
    struct cfr_sdk_aws_container c = config();
    struct fixture f = {0};
    struct cfr_sdk_endpoint_world w = fixture_world(&f);
    char none[] = "";
    struct cfr_sdk_endpoint_request r = fixture_request("GET", c.path, none);
    struct cfr_sdk_endpoint_answer a = {0};

    (void)state;
    c.authorization = NULL;
    fixture_fill(&f, OFFER_SESSION);
    assert_true(cfr_sdk_aws_container_shape.answer(&c, &r, &w, &a));
    assert_int_equal(a.status, 200);
    assert_null(f.secret_path);
    cfr_sdk_endpoint_answer_free(&a);
    cfr_grant_free(&f.grant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_slash_at_the_end),
        cmocka_unit_test(test_authorization_file_unreadable),
        cmocka_unit_test(test_no_authorization_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
