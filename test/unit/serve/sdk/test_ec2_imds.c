/* SPDX-License-Identifier: MIT */
/* EC2's instance metadata, version 2: requests and their answers. */
#include "serve/sdk/ec2_token_private.h"
#include "serve/sdk/shape_private.h"

#include "endpoint_fixture.h"

#define ROLES    "/latest/meta-data/iam/security-credentials/"
#define EXTENDED "/latest/meta-data/iam/security-credentials-extended/"
#define TOKEN    "/latest/api/token"
#define TTL      "X-aws-ec2-metadata-token-ttl-seconds: "
#define KEYS_OF(token, end, more)                                                                                      \
    "\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"ASIAEXAMPLE\",\"SecretAccessKey\":\"wJalr/"                               \
    "secret+example\",\"Token\":\"" token "\",\"Expiration\":\"" end "\"" more "}\n"
#define KEYS                                                                                                           \
    "{\"Code\":\"Success\",\"LastUpdated\":\"2026-01-02T04:03:05Z\"," KEYS_OF(                                         \
        "IQoJ//session==", "2026-01-02T05:04:05Z", ",\"AccountId\":\"123456789012\"")
#define ERROR(code, text)                                                                                              \
    "{\"code\":\"" code "\",\"message\":\"" text "\",\"Code\":\"" code "\",\"Message\":\"" text "\"}\n"
#define NOT_FOUND    ERROR("NotFound", "this metadata does not exist here")
#define UNAUTHORIZED ERROR("Unauthorized", "a session token is needed that has not ended: PUT " TOKEN " first")
#define BAD_TTL      ERROR("BadRequest", "X-aws-ec2-metadata-token-ttl-seconds must be a number of seconds from 1 to 21600")
#define PROXIED                                                                                                        \
    ERROR("Forwarded", "credentials are not given through a proxy; ask without X-Forwarded-For, Forwarded and Via")
#define METHOD   ERROR("MethodNotAllowed", "only GET, HEAD is allowed here")
#define PUT_ONLY ERROR("MethodNotAllowed", "only PUT is allowed here")

static char registry[] = "registry";
static char east[] = "us-east-1";
static char named[] = "my-role";

static const struct cfr_sdk_ec2_imds plain = {.credential = registry, .region = east};
static const struct cfr_sdk_ec2_imds bare = {.credential = registry};
static const struct cfr_sdk_ec2_imds with_role = {.credential = registry, .role = named, .region = east};

/* Within a session. */
static const struct row {
    const char *fact;
    const struct cfr_sdk_ec2_imds *config;
    const char *method;
    const char *path;
    enum fixture_offer offer;
    int status;
    const char *body;
} rows[] = {
    {"an endpoint with a slash at its end", &plain, "GET", "/" ROLES, OFFER_SESSION, 200, "reporting"},
    {"the role of a session's ARN", &plain, "GET", ROLES, OFFER_SESSION, 200, "reporting"},
    {"the role without its path", &plain, "GET", ROLES, OFFER_ROLE, 200, "reporting"},
    {"a user has no role: the credential's name", &plain, "GET", ROLES, OFFER_USER, 200, "registry"},
    {"no identity: the credential's name", &plain, "GET", ROLES, OFFER_ANONYMOUS, 200, "registry"},
    {"the configured name", &with_role, "GET", ROLES, OFFER_SESSION, 200, "my-role"},
    {"the configured name does not need a grant", &with_role, "GET", ROLES, OFFER_NONE, 200, "my-role"},
    {"a role that is not known yet is not invented", &plain, "GET", ROLES, OFFER_NONE, 503,
     ERROR("CredentialsUnavailable", "credential registry: the cloud refuses")},
    {"and no path of a role is wrong then", &plain, "GET", ROLES "reporting", OFFER_NONE, 503,
     ERROR("CredentialsUnavailable", "credential registry: the cloud refuses")},
    {"C++ asks without the slash", &plain, "GET", "/latest/meta-data/iam/security-credentials", OFFER_SESSION, 200,
     "reporting"},
    {"newer SDKs ask here first", &plain, "GET", EXTENDED, OFFER_SESSION, 200, "reporting"},
    {"the keys", &plain, "GET", ROLES "reporting", OFFER_SESSION, 200, KEYS},
    {"HEAD is as GET", &plain, "HEAD", ROLES "reporting", OFFER_SESSION, 200, KEYS},
    {"with the account, which is what the newer address is for", &plain, "GET", EXTENDED "reporting", OFFER_SESSION,
     200, KEYS},
    {"a slash after it", &plain, "GET", ROLES "reporting/", OFFER_SESSION, 200, KEYS},
    {"the role percent-encoded", &plain, "GET", ROLES "report%69ng", OFFER_SESSION, 200, KEYS},
    {"the credential's name, which was listed before there was a grant", &plain, "GET", ROLES "registry", OFFER_SESSION,
     200, KEYS},
    {"the configured role", &with_role, "GET", ROLES "my-role", OFFER_SESSION, 200, KEYS},
    {"keys without an end: Token empty, Expiration an hour from now", &plain, "GET", ROLES "registry", OFFER_LONG_LIVED,
     200, "{\"Code\":\"Success\",\"LastUpdated\":\"2026-01-02T04:04:05Z\"," KEYS_OF("", "2026-01-02T05:04:05Z", "")},
    {"another role", &plain, "GET", ROLES "other", OFFER_SESSION, 404, NOT_FOUND},
    {"a role below the role", &plain, "GET", ROLES "reporting/x", OFFER_SESSION, 404, NOT_FOUND},
    {"a role that is malformed", &plain, "GET", ROLES "reporting%00", OFFER_SESSION, 404, NOT_FOUND},
    {"two slashes", &plain, "GET", ROLES "/", OFFER_SESSION, 404, NOT_FOUND},
    {"none now: 503, so that SDKs keep what they have", &plain, "GET", ROLES "registry", OFFER_NONE, 503,
     ERROR("CredentialsUnavailable", "credential registry: the cloud refuses")},
    {"what has ended is not given", &plain, "GET", ROLES "registry", OFFER_ENDED, 503,
     ERROR("CredentialsUnavailable", "credential registry: the last one has expired, and there is no newer one yet")},
    {"another cloud's", &plain, "GET", ROLES "registry", OFFER_OTHER_CLOUD, 500,
     ERROR("NoAwsKeys", "credential registry holds no AWS keys; name one that does in the endpoint's configuration")},
    {"no such credential", &plain, "GET", ROLES "registry", OFFER_UNKNOWN, 500,
     ERROR("NoSuchCredential", "no credential is named registry; fix the endpoint in the configuration")},
    {"the profile's ARN, in its partition", &plain, "GET", "/latest/meta-data/iam/info", OFFER_SESSION, 200,
     "{\"Code\":\"Success\",\"LastUpdated\":\"2026-01-02T04:03:05Z\",\"InstanceProfileArn\":"
     "\"arn:aws-cn:iam::123456789012:instance-profile/reporting\"}\n"},
    {"of which nothing is known", &plain, "GET", "/latest/meta-data/iam/info", OFFER_ANONYMOUS, 404, NOT_FOUND},
    {"of which nothing is known now", &plain, "GET", "/latest/meta-data/iam/info", OFFER_ENDED, 404, NOT_FOUND},
    {"the region: JavaScript, Rust", &plain, "GET", "/latest/meta-data/placement/region", OFFER_NONE, 200, "us-east-1"},
    {"no region", &bare, "GET", "/latest/meta-data/placement/region", OFFER_SESSION, 404, NOT_FOUND},
    {"the region: Go, Java", &plain, "GET", "/latest/dynamic/instance-identity/document", OFFER_SESSION, 200,
     "{\"region\":\"us-east-1\",\"accountId\":\"123456789012\"}\n"},
    {"the account only where it is known", &plain, "GET", "/latest/dynamic/instance-identity/document", OFFER_NONE, 200,
     "{\"region\":\"us-east-1\"}\n"},
    {"no region", &bare, "GET", "/latest/dynamic/instance-identity/document", OFFER_SESSION, 404, NOT_FOUND},
    {"the zone is not known, and not invented: botocore", &plain, "GET",
     "/latest/meta-data/placement/availability-zone/", OFFER_SESSION, 404, NOT_FOUND},
    {"the zone: C++", &plain, "GET", "/latest/meta-data/placement/availability-zone", OFFER_SESSION, 404, NOT_FOUND},
    {"there is no instance", &plain, "GET", "/latest/meta-data/instance-id", OFFER_SESSION, 404, NOT_FOUND},
    {"user data", &plain, "GET", "/latest/user-data", OFFER_SESSION, 404, NOT_FOUND},
    {"the root", &plain, "GET", "/latest", OFFER_SESSION, 404, NOT_FOUND},
    {"the root", &plain, "GET", "/latest/", OFFER_SESSION, 404, NOT_FOUND},
    {"what there is", &plain, "GET", "/latest/meta-data/", OFFER_SESSION, 200, "iam/\nplacement/"},
    {"what there is", &bare, "GET", "/latest/meta-data", OFFER_SESSION, 200, "iam/"},
    {"PUT elsewhere", &plain, "PUT", ROLES, OFFER_SESSION, 405, METHOD},
    {"POST", &plain, "POST", ROLES "reporting", OFFER_SESSION, 405, METHOD},
    {"DELETE", &plain, "DELETE", "/latest/meta-data/", OFFER_SESSION, 405, METHOD},
};

/* Asks once. HEADERS as in the fixture. */
static void ask(const struct cfr_sdk_ec2_imds *c, struct fixture *f, struct cfr_sdk_endpoint_request r,
                struct cfr_sdk_endpoint_answer *a)
{
    struct cfr_sdk_endpoint_world w = fixture_world(f);

    *a = (struct cfr_sdk_endpoint_answer){0};
    assert_true(cfr_sdk_ec2_imds_shape.answer(c, &r, &w, a));
    assert_string_equal(ask_answer_header(a, "Cache-Control"), "no-store");
    assert_int_equal(ask_answer_header(a, "Retry-After") != NULL, a->status == 503);
    assert_int_equal(ask_answer_header(a, "Allow") != NULL, a->status == 405);
    fixture_check_no_secret(a);
}

/* The header line of a session that lasts TTL. */
static void begin(struct fixture *f, const char *ttl, char line[256])
{
    struct cfr_sdk_endpoint_answer a;
    char asked[64];

    (void)snprintf(asked, sizeof asked, TTL "%s\n", ttl);
    ask(&plain, f, fixture_request("PUT", TOKEN, asked), &a);
    assert_int_equal(a.status, 200);
    assert_string_equal(ask_answer_header(&a, "X-aws-ec2-metadata-token-ttl-seconds"), ttl);
    (void)snprintf(line, 256, "x-aws-ec2-metadata-token: %s\n", ask_body(&a));
    cfr_sdk_endpoint_answer_free(&a);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct fixture f = {0};
        struct cfr_sdk_endpoint_answer a;
        char session[256];

        fixture_fill(&f, row->offer);
        begin(&f, "21600", session);
        ask(row->config, &f, fixture_request(row->method, row->path, session), &a);
        if (a.status != row->status || strcmp(ask_body(&a), row->body) != 0)
            fail_msg("%s: %d %s", row->fact, a.status, ask_body(&a));
        assert_null(a.refused);
        if (row->body[0] == '{')
            assert_string_equal(a.content_type, "application/json");
        else
            assert_string_equal(a.content_type, "text/plain");
        cfr_sdk_endpoint_answer_free(&a);
        cfr_grant_free(&f.grant);
    }
}

/* While there are no keys the role's name is that of the configuration's ARN: the path that clients ask for later. */
static void test_role_before_the_keys(void **state)
{
    static const struct {
        const char *path;
        int status;
        const char *body;
    } role_rows[] = {
        {ROLES, 200, "reporting"},
        {EXTENDED, 200, "reporting"},
        {ROLES "reporting", 503, ERROR("CredentialsUnavailable", "credential registry: the cloud refuses")},
        {EXTENDED "reporting", 503, ERROR("CredentialsUnavailable", "credential registry: the cloud refuses")},
        {ROLES "other", 404, NOT_FOUND},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(role_rows); i++) {
        struct fixture f = {.role_arn = ROLE_ARN};
        struct cfr_sdk_endpoint_answer a;
        char session[256];

        fixture_fill(&f, OFFER_NONE);
        begin(&f, "21600", session);
        ask(&plain, &f, fixture_request("GET", role_rows[i].path, session), &a);
        assert_int_equal(a.status, role_rows[i].status);
        assert_string_equal(ask_body(&a), role_rows[i].body);
        cfr_sdk_endpoint_answer_free(&a);
        cfr_grant_free(&f.grant);
    }
}

/* Around a session. */
static void test_session_rows(void **state)
{
    static const struct {
        const char *fact;
        const char *method;
        const char *path;
        const char *headers;
        int status;
        const char *body; /* NULL: a token */
        bool refused;
    } session_rows[] = {
        {"PUT gives a token", "PUT", TOKEN, TTL "21600\n", 200, NULL, false},
        {"a second is enough", "PUT", TOKEN, TTL "1\n", 200, NULL, false},
        {"the header's name in any case", "PUT", TOKEN "/", "x-AWS-ec2-metadata-token-TTL-seconds: 60\n", 200, NULL,
         false},
        {"no TTL", "PUT", TOKEN, "", 400, BAD_TTL, false},
        {"TTL 0", "PUT", TOKEN, TTL "0\n", 400, BAD_TTL, false},
        {"too long a TTL", "PUT", TOKEN, TTL "21601\n", 400, BAD_TTL, false},
        {"a TTL below 0", "PUT", TOKEN, TTL "-1\n", 400, BAD_TTL, false},
        {"a TTL with a sign", "PUT", TOKEN, TTL "+60\n", 400, BAD_TTL, false},
        {"a TTL that is no number", "PUT", TOKEN, TTL "60s\n", 400, BAD_TTL, false},
        {"an empty TTL, or one that came twice", "PUT", TOKEN, TTL "\n", 400, BAD_TTL, false},
        {"a TTL beyond all numbers", "PUT", TOKEN, TTL "99999999999999999999\n", 400, BAD_TTL, false},
        {"through a proxy", "PUT", TOKEN, TTL "21600\nX-Forwarded-For: 10.0.0.1\n", 403, PROXIED, true},
        {"through a proxy of RFC 7239", "PUT", TOKEN, TTL "21600\nForwarded: for=10.0.0.1\n", 403, PROXIED, true},
        {"a token is not to be had by GET", "GET", TOKEN, TTL "21600\n", 405, PUT_ONLY, false},
        {"nor by POST", "POST", TOKEN, TTL "21600\n", 405, PUT_ONLY, false},
        {"version 1 is not served", "GET", ROLES, "", 401, UNAUTHORIZED, true},
        {"version 1 is not served", "GET", ROLES "reporting", "", 401, UNAUTHORIZED, true},
        {"nor for what does not exist", "GET", "/latest/x", "", 401, UNAUTHORIZED, true},
        {"nor for the region", "GET", "/latest/meta-data/placement/region", "", 401, UNAUTHORIZED, true},
        {"an empty token", "GET", ROLES, "X-aws-ec2-metadata-token:\n", 401, UNAUTHORIZED, false},
        {"a made-up token", "GET", ROLES, "X-aws-ec2-metadata-token: x\n", 401, UNAUTHORIZED, false},
        {"reading through a proxy", "GET", ROLES, "X-Forwarded-For: 10.0.0.1\n", 403, PROXIED, true},
        {"reading through a proxy of RFC 7239", "GET", ROLES, "Forwarded:\n", 403, PROXIED, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(session_rows); i++) {
        struct fixture f = {0};
        struct cfr_sdk_endpoint_answer a;
        char headers[256];

        fixture_fill(&f, OFFER_SESSION);
        (void)snprintf(headers, sizeof headers, "%s", session_rows[i].headers);
        ask(&plain, &f, fixture_request(session_rows[i].method, session_rows[i].path, headers), &a);
        if (a.status != session_rows[i].status ||
            (session_rows[i].body != NULL ? strcmp(ask_body(&a), session_rows[i].body) != 0
                                          : a.body.len != CFR_SDK_EC2_TOKEN_LENGTH))
            fail_msg("%s: %d %s", session_rows[i].fact, a.status, ask_body(&a));
        assert_int_equal(a.refused != NULL, session_rows[i].refused);
        if (a.status == 405)
            assert_string_equal(ask_answer_header(&a, "Allow"), "PUT");
        cfr_sdk_endpoint_answer_free(&a);
        cfr_grant_free(&f.grant);
    }
}

static void test_paths(void **state)
{
    static const char *const others[] = {
        "", "/", "/latest2", "/lates", "/LATEST/meta-data/", "/x//latest/meta-data/", "/v1/x"};
    struct fixture f = {0};
    struct cfr_sdk_endpoint_world w = fixture_world(&f);
    char none[] = "";

    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        struct cfr_sdk_endpoint_request r = fixture_request("GET", others[i], none);
        struct cfr_sdk_endpoint_answer a = {0};

        assert_false(cfr_sdk_ec2_imds_shape.answer(&plain, &r, &w, &a));
        assert_int_equal(a.status, 0);
    }
}

/* Without a key there is no session, rather than one that any client could make. */
static void test_no_signer(void **state)
{
    struct fixture f = {0};
    struct cfr_sdk_endpoint_world w = fixture_world(&f);
    char headers[] = TTL "60\n";
    struct cfr_sdk_endpoint_request r = fixture_request("PUT", TOKEN, headers);
    struct cfr_sdk_endpoint_answer a = {0};
    struct cfr_secret made = {.limit = 128};

    (void)state;
    w.signer = NULL;
    assert_true(cfr_sdk_ec2_imds_shape.answer(&plain, &r, &w, &a));
    assert_int_equal(a.status, 500);
    assert_int_equal(cfr_sdk_ec2_token_make(NULL, "registry", FIXTURE_NOW_S, &made), CFR_E_INTERNAL);
    assert_int_equal(made.len, 0);
    assert_int_equal(cfr_sdk_ec2_token_make(fixture_signer, "registry", FIXTURE_NOW_S + 60, &made), 0);
    assert_false(cfr_sdk_ec2_token_good(NULL, "registry", cfr_secret_view(&made), FIXTURE_NOW_S));
    cfr_secret_free(&made);
    cfr_sdk_endpoint_answer_free(&a);
}

static void test_key_length(void **state)
{
    static const char bytes[CFR_SDK_EC2_KEY_BYTES + 1];
    const size_t lengths[] = {0, 1, CFR_SDK_EC2_KEY_BYTES - 1, CFR_SDK_EC2_KEY_BYTES + 1};

    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct cfr_ec2_signer *s = fixture_signer;
        struct cfr_err err = {0};

        assert_int_equal(cfr_sdk_ec2_signer_open((struct cfr_view){bytes, lengths[i]}, &s, &err), CFR_E_INTERNAL);
        assert_null(s);
        assert_contains(err.text, "32 bytes");
    }
    cfr_sdk_ec2_signer_close(NULL);
}

/* As OpenSSL 3.0.0 to 3.0.2: without a key it says that it begins again, and does nothing. */
static bool old_library;

int __real_EVP_MAC_init(void *ctx, const unsigned char *key, size_t n, const void *params);
int __wrap_EVP_MAC_init(void *ctx, const unsigned char *key, size_t n, const void *params);
int __wrap_EVP_MAC_init(void *ctx, const unsigned char *key, size_t n, const void *params)
{
    return old_library && key == NULL ? 1 : __real_EVP_MAC_init(ctx, key, n, params);
}

/* Made with another implementation of HMAC-SHA-256; the second time as the first, whatever was signed in between. */
static void check_golden(struct cfr_ec2_signer *s)
{
    static const char golden[] = "00000000695743f1e497ed1d6b7bcf8ebc2544028a9d5f4df1ac865f56601951bb670f2fbc6f6cd8";

    for (int i = 0; i < 3; i++) {
        struct cfr_secret made = {.limit = 128};

        assert_int_equal(cfr_sdk_ec2_token_make(s, "registry", FIXTURE_NOW_S + 60, &made), 0);
        assert_view(cfr_secret_view(&made), golden);
        assert_true(cfr_sdk_ec2_token_good(s, "registry", LITERAL(golden), FIXTURE_NOW_S));
        assert_false(cfr_sdk_ec2_token_good(s, "registry2", LITERAL(golden), FIXTURE_NOW_S));
        cfr_secret_free(&made);
    }
}

static void test_token_golden(void **state)
{
    struct cfr_ec2_signer *s = NULL;

    (void)state;
    check_golden(fixture_signer);
    old_library = true;
    assert_int_equal(cfr_sdk_ec2_signer_open(LITERAL(FIXTURE_KEY), &s, NULL), 0);
    check_golden(s);
    old_library = false;
    cfr_sdk_ec2_signer_close(s);
}

static void test_token_good(void **state)
{
    struct cfr_ec2_signer *other = NULL;
    struct cfr_ec2_signer *s = fixture_signer;
    struct cfr_secret made = {.limit = 128};
    struct cfr_view token;
    const int64_t end = FIXTURE_NOW_S + 60;

    (void)state;
    assert_int_equal(cfr_sdk_ec2_signer_open(LITERAL("1123456789abcdef0123456789abcdef"), &other, NULL), 0);
    assert_int_equal(cfr_sdk_ec2_token_make(s, "registry", end, &made), 0);
    token = cfr_secret_view(&made);
    assert_int_equal(token.n, CFR_SDK_EC2_TOKEN_LENGTH);
    assert_true(cfr_sdk_ec2_token_good(s, "registry", token, FIXTURE_NOW_S));
    assert_true(cfr_sdk_ec2_token_good(s, "registry", token, end - 1));
    assert_false(cfr_sdk_ec2_token_good(s, "registry", token, end));
    assert_false(cfr_sdk_ec2_token_good(s, "registry", token, end + 1));
    assert_true(cfr_sdk_ec2_token_good(s, "registry", token, end - CFR_SDK_EC2_TOKEN_TTL_MAX_S));
    assert_false(cfr_sdk_ec2_token_good(s, "registry", token, end - CFR_SDK_EC2_TOKEN_TTL_MAX_S - 1));
    assert_false(cfr_sdk_ec2_token_good(s, "registry2", token, FIXTURE_NOW_S));
    assert_false(cfr_sdk_ec2_token_good(other, "registry", token, FIXTURE_NOW_S));
    assert_false(cfr_sdk_ec2_token_good(s, "registry", (struct cfr_view){token.p, token.n - 1}, FIXTURE_NOW_S));
    assert_false(cfr_sdk_ec2_token_good(s, "registry", (struct cfr_view){NULL, 0}, FIXTURE_NOW_S));
    for (size_t i = 0; i < made.len; i++) {
        made.p[i] ^= 1;
        assert_false(cfr_sdk_ec2_token_good(s, "registry", token, FIXTURE_NOW_S));
        made.p[i] ^= 1;
    }
    cfr_secret_free(&made);
    cfr_sdk_ec2_signer_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),         cmocka_unit_test(test_role_before_the_keys),
        cmocka_unit_test(test_session_rows), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_no_signer),    cmocka_unit_test(test_key_length),
        cmocka_unit_test(test_token_golden), cmocka_unit_test(test_token_good),
    };

    return cmocka_run_group_tests(tests, fixture_open_signer, fixture_close_signer);
}
