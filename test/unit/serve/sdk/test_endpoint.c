/* SPDX-License-Identifier: MIT */
/* What the shapes of the local endpoints share. */
#include "serve/sdk/shape_private.h"

#include "endpoint_fixture.h"

static void test_answer(void **state)
{
    struct cfr_sdk_endpoint_answer a = {0};

    (void)state;
    cfr_sdk_endpoint_start(&a, 200, "text/plain");
    cfr_sdk_endpoint_text(&a, "one");
    cfr_sdk_endpoint_add(&a, LITERAL("\0two"));
    cfr_sdk_endpoint_header(&a, "X-One", cfr_view_of("1"));
    cfr_sdk_endpoint_header(&a, "X-Empty", (struct cfr_view){NULL, 0});
    a.refused = "no";
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body.len, 7);
    assert_memory_equal(a.body.p, "one\0two", 7);
    assert_int_equal(a.header_count, 3);
    assert_string_equal(ask_answer_header(&a, "Cache-Control"), "no-store");
    assert_string_equal(ask_answer_header(&a, "X-One"), "1");
    assert_string_equal(ask_answer_header(&a, "X-Empty"), "");
    cfr_sdk_endpoint_start(&a, 404, "application/json");
    assert_int_equal(a.status, 404);
    assert_int_equal(a.header_count, 1);
    assert_int_equal(a.body.len, 0);
    assert_null(a.refused);
    cfr_sdk_endpoint_answer_free(&a);
    assert_int_equal(a.header_count, 0);
}

/* As a shape does it, into a body that is begun. */
static void add_json(struct cfr_sdk_endpoint_answer *a, struct cfr_view text)
{
    struct cfr_writer w = {.secret = &a->body};

    cfr_writer_string(&w, NULL, text);
    cfr_sdk_endpoint_end(a, &w);
}

/* An answer that cannot be made whole is none, whatever comes after. */
static void check_failed(struct cfr_sdk_endpoint_answer *a)
{
    cfr_sdk_endpoint_text(a, "more");
    add_json(a, cfr_view_of("more"));
    assert_int_equal(a->status, 500);
    assert_int_equal(a->body.len, 0);
    assert_null(a->body.p);
    assert_non_null(a->content_type);
    assert_non_null(a->refused);
    cfr_sdk_endpoint_answer_free(a);
}

static void test_too_large(void **state)
{
    struct cfr_sdk_endpoint_answer a = {0};
    char *large = malloc(CFR_SDK_ENDPOINT_ANSWER_MAX + 1);
    char value[257];

    (void)state;
    assert_non_null(large);
    memset(large, 'x', CFR_SDK_ENDPOINT_ANSWER_MAX + 1);
    cfr_sdk_endpoint_start(&a, 200, "text/plain");
    cfr_sdk_endpoint_add(&a, (struct cfr_view){large, CFR_SDK_ENDPOINT_ANSWER_MAX});
    assert_int_equal(a.body.len, CFR_SDK_ENDPOINT_ANSWER_MAX);
    cfr_sdk_endpoint_text(&a, "x");
    check_failed(&a);
    cfr_sdk_endpoint_start(&a, 200, "text/plain");
    add_json(&a, (struct cfr_view){large, CFR_SDK_ENDPOINT_ANSWER_MAX});
    check_failed(&a);
    large[0] = '\xff';
    cfr_sdk_endpoint_start(&a, 200, "text/plain");
    add_json(&a, (struct cfr_view){large, CFR_SDK_ENDPOINT_ANSWER_MAX + 1});
    check_failed(&a);
    free(large);

    memset(value, 'v', sizeof value);
    cfr_sdk_endpoint_start(&a, 200, "text/plain");
    cfr_sdk_endpoint_header(&a, "X", (struct cfr_view){value, 255});
    assert_int_equal(a.status, 200);
    cfr_sdk_endpoint_header(&a, "X", (struct cfr_view){value, 256});
    check_failed(&a);
    cfr_sdk_endpoint_start(&a, 200, "text/plain");
    for (int i = 1; i < CFR_SDK_ENDPOINT_HEADERS_MAX; i++)
        cfr_sdk_endpoint_header(&a, "X", cfr_view_of("1"));
    assert_int_equal(a.status, 200);
    cfr_sdk_endpoint_header(&a, "X", cfr_view_of("1"));
    check_failed(&a);
}

static void test_header_injection(void **state)
{
    static const char *const values[] = {"a\r\nSet-Cookie: x", "a\nb", "\x7f", "\xc3\xb6", "\t"};
    struct cfr_sdk_endpoint_answer a = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        cfr_sdk_endpoint_start(&a, 200, "text/plain");
        cfr_sdk_endpoint_header(&a, "X", cfr_view_of(values[i]));
        check_failed(&a);
    }
}

static void test_json(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"t\xc3\xb6ken", "\"t\xc3\xb6ken\""},
        {"\"\\\n", "\"\\\"\\\\\\u000a\""},
        {"\xff", "\"\xef\xbf\xbd\""},
        {"a\xc3(\xe2\x82", "\"a\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\"\xed\xa0\x80", "\"\\\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_sdk_endpoint_answer a = {0};

        cfr_sdk_endpoint_start(&a, 200, "application/json");
        add_json(&a, cfr_view_of(rows[i].in));
        assert_string_equal(ask_body(&a), rows[i].out);
        cfr_sdk_endpoint_answer_free(&a);
    }
}

static void test_offer_lives(void **state)
{
    struct cfr_grant grant = {0};
    struct cfr_offer o = {.expires_s = 100};

    (void)state;
    assert_false(cfr_sdk_endpoint_offer_lives(&o, 1));
    o.grant = &grant;
    assert_true(cfr_sdk_endpoint_offer_lives(&o, 99));
    assert_false(cfr_sdk_endpoint_offer_lives(&o, 100));
    assert_false(cfr_sdk_endpoint_offer_lives(&o, 101));
    assert_true(cfr_sdk_endpoint_offer_lasts(&o, 98));
    assert_int_equal(cfr_sdk_endpoint_offer_left_s(&o, 98), 1);
    assert_false(cfr_sdk_endpoint_offer_lasts(&o, 99)); /* would be reported as 0 */
    o.expires_s = 0;
    assert_true(cfr_sdk_endpoint_offer_lives(&o, 101));
    assert_true(cfr_sdk_endpoint_offer_lasts(&o, 101));
}

static void test_retry_after(void **state)
{
    static const struct {
        int64_t in;
        const char *out;
    } rows[] = {{0, "1"}, {-5, "1"}, {1, "1"}, {5, "5"}, {6, "5"}, {300, "5"}, {INT64_MAX, "5"}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_sdk_endpoint_answer a = {0};
        struct cfr_offer o = {.retry_after_s = rows[i].in};

        cfr_sdk_endpoint_start(&a, 503, "text/plain");
        cfr_sdk_endpoint_retry_after(&a, &o);
        assert_string_equal(ask_answer_header(&a, "Retry-After"), rows[i].out);
        cfr_sdk_endpoint_answer_free(&a);
    }
}

/* Never longer than what is left, whatever part of the present second is over. */
static void test_life_that_is_left(void **state)
{
    struct cfr_offer o = {.expires_s = 100};

    (void)state;
    assert_int_equal(cfr_sdk_endpoint_offer_left_s(&o, 40), 59);
    assert_int_equal(cfr_sdk_endpoint_offer_left_s(&o, 99), 0);
    assert_int_equal(cfr_sdk_endpoint_offer_left_s(&o, 100), 0);
    assert_int_equal(cfr_sdk_endpoint_offer_left_s(&o, 200), 0);
}

static void test_why(void **state)
{
    struct cfr_offer o = {.credential = "demo", .why = "AccessDenied: no such role"};
    char text[CFR_SDK_ENDPOINT_WHY_MAX];

    (void)state;
    assert_string_equal(cfr_sdk_endpoint_why(&o, text), "credential demo: AccessDenied: no such role");
    o.why = NULL;
    assert_string_equal(cfr_sdk_endpoint_why(&o, text), "credential demo: none has been granted yet");
    o.credential = NULL;
    assert_string_equal(cfr_sdk_endpoint_why(&o, text), "none has been granted yet");
}

static void test_paths(void **state)
{
    static const struct {
        const char *sent;
        const char *path;
    } rows[] = {{"/a", "/a"},   {"//a", "/a"},  {"///a/b", "/a/b"}, {"/a//b", "/a//b"}, {"//", "/"}, {"/", "/"},
                {"a//", "a//"}, {"/a/", "/a/"}, {"/./a", "/./a"},   {"/%2Fa", "/%2Fa"}, {"", ""}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_true(cfr_view_is(cfr_sdk_endpoint_path(cfr_view_of(rows[i].sent)), rows[i].path));
    assert_true(cfr_sdk_endpoint_path_is(LITERAL("/aws/x"), "/aws/x"));
    assert_true(cfr_sdk_endpoint_path_is(LITERAL("/aws/x/"), "/aws/x"));
    assert_false(cfr_sdk_endpoint_path_is(LITERAL("/aws/x//"), "/aws/x"));
    assert_false(cfr_sdk_endpoint_path_is(LITERAL("/aws/xy"), "/aws/x"));
    assert_false(cfr_sdk_endpoint_path_is(LITERAL("/aws/x/y"), "/aws/x"));
    assert_false(cfr_sdk_endpoint_path_is(LITERAL(""), "/aws/x"));
}

static void test_asked(void **state)
{
    char headers[] = "Accept: text/plain\nEmpty:\n";
    struct cfr_sdk_endpoint_request r = fixture_request("GET", "/", headers);

    (void)state;
    assert_view(cfr_sdk_endpoint_asked(&r, "accept"), "text/plain");
    assert_non_null(cfr_sdk_endpoint_asked(&r, "EMPTY").p);
    assert_int_equal(cfr_sdk_endpoint_asked(&r, "EMPTY").n, 0);
    assert_null(cfr_sdk_endpoint_asked(&r, "Metadata").p);
    r.header = NULL;
    assert_null(cfr_sdk_endpoint_asked(&r, "accept").p);
}

static void test_parameter(void **state)
{
    static const struct {
        const char *query;
        int found;
        const char *value;
    } rows[] = {
        {"", 0, ""},
        {"resource=x", 1, "x"},
        {"a=b&resource=x&c=d", 1, "x"},
        {"&&resource=x&", 1, "x"},
        {"resource", 1, ""},
        {"resource=", 1, ""},
        {"Resource=x", 0, ""},
        {"resource2=x&xresource=y", 0, ""},
        {"resource=a=b", 1, "a=b"},
        {"resource=https%3A%2F%2Fexample.net%2f", 1, "https://example.net/"},
        {"resource=https://example.net/", 1, "https://example.net/"},
        {"resource=a+b%20c%2B", 1, "a b c+"},
        {"resource=t%C3%B6", 1, "t\xc3\xb6"},
        {"resource=x&resource=x", -1, ""},
        {"resource=x&resourc%65=y", -1, ""},
        {"resource=x&resource", -1, ""},
        {"resourc%65=y", 1, "y"},
        {"resource=%", -1, ""},
        {"resource=%4", -1, ""},
        {"resource=%4g", -1, ""},
        {"resource=%00", -1, ""},
        {"resource=a%0ab", -1, ""},
        {"resource=%7f", -1, ""},
        {"resource=%ff", -1, ""},
        {"resource=%c3", -1, ""},
        {"%=1&%zz=2&resource=x", 1, "x"},
        {"resource=0123456789012345678901234567890", 1, "0123456789012345678901234567890"},
        {"resource=01234567890123456789012345678901", -1, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char value[32] = "before";
        int found = cfr_sdk_endpoint_parameter(cfr_view_of(rows[i].query), "resource", value, sizeof value);

        if (found != rows[i].found || strcmp(value, rows[i].value) != 0)
            fail_msg("%s: %d \"%s\"", rows[i].query, found, value);
    }
}

static void test_decode(void **state)
{
    static const struct {
        const char *in;
        bool ok;
        const char *out;
    } rows[] = {
        {"", true, ""},     {"a+b", true, "a+b"},         {"a%2Fb%40", true, "a/b@"}, {"%zz", false, ""},
        {"%00", false, ""}, {"1234567", true, "1234567"}, {"12345678", false, ""},    {"a%", false, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char to[8] = "before";

        assert_int_equal(cfr_sdk_endpoint_decode(cfr_view_of(rows[i].in), to, sizeof to), rows[i].ok);
        assert_string_equal(to, rows[i].out);
    }
}

static void test_same_secret(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"secret", "secret", true}, {"secret", "secreT", false},
        {"secret", "secre", false}, {"secre", "secret", false},
        {"aa", "a", false},         {"", "", false},
        {NULL, NULL, false},        {"", "x", false},
        {"x", "", false},           {NULL, "x", false},
        {"x", NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(cfr_sdk_endpoint_same_secret(cfr_view_of(rows[i].a), cfr_view_of(rows[i].b)), rows[i].same);
}

static void test_host(void **state)
{
    static const struct {
        const char *host, *listen;
        bool is;
    } rows[] = {
        {"127.0.0.1:9911", "127.0.0.1:9911", true},
        {"127.0.0.1", "127.0.0.1:9911", true},
        {"localhost:9911", "127.0.0.1:9911", true},
        {"LocalHost", "127.0.0.1:9911", true},
        {"localhost", "127.3.0.1:9911", true},
        {"127.0.0.1:80", "127.0.0.1:9911", false},
        {"127.0.0.1:", "127.0.0.1:9911", false},
        {"127.0.0.1:9911x", "127.0.0.1:9911", false},
        {"127.0.0.1:009911", "127.0.0.1:9911", false},
        {"127.0.0.1:9911:9911", "127.0.0.1:9911", false},
        {"127.0.0.2:9911", "127.0.0.1:9911", false},
        {"127.1:9911", "127.0.0.1:9911", false},
        {"2130706433", "127.0.0.1:9911", false},
        {"rebound.example.net:9911", "127.0.0.1:9911", false},
        {"localhost.example.net", "127.0.0.1:9911", false},
        {"127.0.0.1.example.net:9911", "127.0.0.1:9911", false},
        {"127.0.0.1@example.net", "127.0.0.1:9911", false},
        {" 127.0.0.1", "127.0.0.1:9911", false},
        {"", "127.0.0.1:9911", false},
        {":9911", "127.0.0.1:9911", false},
        {NULL, "127.0.0.1:9911", false},
        {"[::1]:9911", "[::1]:9911", true},
        {"[::1]", "[::1]:9911", true},
        {"[0:0:0:0:0:0:0:1]:9911", "[::1]:9911", true},
        {"localhost:9911", "[::1]:9911", true},
        {"::1", "[::1]:9911", false},
        {"[::1", "[::1]:9911", false},
        {"[::1]9911", "[::1]:9911", false},
        {"[::1]:", "[::1]:9911", false},
        {"[]", "[::1]:9911", false},
        {"[", "[::1]:9911", false},
        {"[::2]", "[::1]:9911", false},
        {"127.0.0.1", "[::1]:9911", false},
        {"[::1]", "127.0.0.1:9911", false},
        {"169.254.170.23", "169.254.170.23:80", true},
        {"169.254.170.23:80", "169.254.170.23:80", true},
        {"localhost", "169.254.170.23:80", false},
        {"[fd00:ec2::23]", "[fd00:ec2::23]:80", true},
        {"[FD00:EC2:0::23]:80", "[fd00:ec2::23]:80", true},
        {"0.0.0.0:9911", "127.0.0.1:9911", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (cfr_sdk_endpoint_host_is(cfr_view_of(rows[i].host), rows[i].listen) != rows[i].is)
            fail_msg("%s at %s", rows[i].host, rows[i].listen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_header_injection),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_offer_lives),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_life_that_is_left),
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_parameter),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_same_secret),
        cmocka_unit_test(test_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
