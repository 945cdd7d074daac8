/* SPDX-License-Identifier: MIT */
/* Signatures against values computed by another implementation of HMAC (Python's). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/sigv4_private.h"

#include <stdlib.h>
#include <string.h>

#define KEY    "AKIDEXAMPLE0000000AA"
#define SECRET "c2VjcmV0LWtleS1mb3ItZG9jLW9ubHktMDAwMDAw"
#define BODY   "Action=GetCallerIdentity&Version=2011-06-15"

static struct cfr_sigv4_request example(void)
{
    return (struct cfr_sigv4_request){
        .method = "POST",
        .path = "/",
        .host = "sts.eu-west-1.amazonaws.com",
        .content_type = "application/x-www-form-urlencoded",
        .body = cfr_view_of(BODY),
        .region = "eu-west-1",
        .service = "sts",
        .access_key_id = cfr_view_of(KEY),
        .secret_access_key = cfr_view_of(SECRET),
        .session_token = cfr_view_of("FAKESESSIONTOKEN//=="),
        .now_s = 1767323045,
    };
}

static void signs(const struct cfr_sigv4_request *r, const char *date, const char *authorization)
{
    struct cfr_secret out;
    struct cfr_err err = {0};
    char got[CFR_SIGV4_DATE_MAX];

    cfr_secret_init(&out, 2048);
    assert_int_equal(cfr_sigv4_sign(r, got, &out, &err), 0);
    assert_string_equal(got, date);
    assert_string_equal(out.p, authorization);
    cfr_secret_free(&out);
}

static void with_session_token(void **state)
{
    struct cfr_sigv4_request r = example();

    (void)state;
    signs(&r, "20260102T030405Z",
          "AWS4-HMAC-SHA256 Credential=" KEY "/20260102/eu-west-1/sts/aws4_request, "
          "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
          "Signature=4b661ce91ce3cf7cbb7b86e2f603a74341f587a9507789ed4e217941378042c1");
}

static void without_session_token(void **state)
{
    struct cfr_sigv4_request r = example();

    (void)state;
    r.session_token = (struct cfr_view){NULL, 0};
    signs(&r, "20260102T030405Z",
          "AWS4-HMAC-SHA256 Credential=" KEY "/20260102/eu-west-1/sts/aws4_request, "
          "SignedHeaders=content-type;host;x-amz-date, "
          "Signature=cd2ed5d5bbefd909df2a8d65f7c0ff4ca729034faf55cf58a3ee66409088220b");
}

static void other_host_path_and_empty_body(void **state)
{
    struct cfr_sigv4_request r = example();

    (void)state;
    r.host = "127.0.0.1:4566";
    r.path = "/sts/x-y_z~1";
    r.region = "us-gov-west-1";
    r.body = (struct cfr_view){NULL, 0};
    r.now_s = 0;
    signs(&r, "19700101T000000Z",
          "AWS4-HMAC-SHA256 Credential=" KEY "/19700101/us-gov-west-1/sts/aws4_request, "
          "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
          "Signature=a7756b1990a54be0e0626f426bdd8f97f7f83f3d280b709896d0f8e1b399027d");
}

/* Further headers take their place among the others by name. */
static void more_headers(void **state)
{
    struct cfr_sigv4_request r = example();

    (void)state;
    r.host = "api.ecr.eu-west-1.amazonaws.com";
    r.content_type = "application/x-amz-json-1.1";
    r.body = cfr_view_of("{}");
    r.service = "ecr";
    r.headers[0] =
        (struct cfr_sigv4_header){"x-amz-target", "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"};
    r.headers[1] = (struct cfr_sigv4_header){"accept", "x"};
    signs(&r, "20260102T030405Z",
          "AWS4-HMAC-SHA256 Credential=" KEY "/20260102/eu-west-1/ecr/aws4_request, "
          "SignedHeaders=accept;content-type;host;x-amz-date;x-amz-security-token;x-amz-target, "
          "Signature=61e3057e904326119dcdbd57927b50fc533866039022e0172786f8a62a1d3eba");
}

static void large_token_and_body(void **state)
{
    struct cfr_sigv4_request r = example();
    char *token = malloc(60000);
    char *body = malloc(100000);

    (void)state;
    memset(token, 't', 60000);
    memset(body, 'b', 100000);
    r.access_key_id = cfr_view_of("ASIA");
    r.secret_access_key = cfr_view_of("s");
    r.session_token = (struct cfr_view){token, 60000};
    r.body = (struct cfr_view){body, 100000};
    r.region = "cn-north-1";
    r.host = "sts.cn-north-1.amazonaws.com.cn";
    r.now_s = INT64_MAX;
    signs(&r, "99991231T235959Z",
          "AWS4-HMAC-SHA256 Credential=ASIA/99991231/cn-north-1/sts/aws4_request, "
          "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
          "Signature=36b257b47a2da57468a823296b17e6169b92f51fa1f8c6432e02f81cf5b98eae");
    free(token);
    free(body);
}

static void limits(void **state)
{
    struct cfr_sigv4_request r = example();
    struct cfr_secret out;
    struct cfr_err err = {0};
    char date[CFR_SIGV4_DATE_MAX];
    char *token = malloc(200000);

    (void)state;
    cfr_secret_init(&out, 100);
    assert_int_equal(cfr_sigv4_sign(&r, date, &out, &err), CFR_E_LIMIT);
    cfr_secret_free(&out);
    memset(token, 't', 200000);
    r.session_token = (struct cfr_view){token, 200000};
    cfr_secret_init(&out, 2048);
    assert_int_equal(cfr_sigv4_sign(&r, date, &out, &err), CFR_E_LIMIT);
    assert_int_equal(out.len, 0);
    cfr_secret_free(&out);
    free(token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_session_token),
        cmocka_unit_test(without_session_token),
        cmocka_unit_test(other_host_path_and_empty_body),
        cmocka_unit_test(more_headers),
        cmocka_unit_test(large_token_and_body),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
