/* SPDX-License-Identifier: MIT */
/* Answers of token endpoints: grants, error formats, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "sts/core/oauth_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cfr_oauth_answer answer;
static struct cfr_err err;

static int read_text(const char *body)
{
    cfr_oauth_answer_free(&answer);
    err = (struct cfr_err){0};
    return cfr_oauth_answer_read(cfr_view_of("application/json"), cfr_view_of(body), &answer, &err);
}

static void expect(enum cfr_oauth_answer_field field, const char *want)
{
    struct cfr_view got = cfr_oauth_answer_get(&answer, field);

    if (!cfr_view_is(got, want))
        fail_msg("field %d: got \"%.*s\", expected \"%s\"", (int)field, (int)got.n, got.p, want);
}

static void a_grant(void **state)
{
    struct cfr_view token;

    (void)state;
    assert_int_equal(read_text("\xef\xbb\xbf {\"token_type\":\"Bearer\",\"expires_in\":3599,\"ext_expires_in\":3599,"
                               "\"refresh_in\":\"1800\",\"access_token\":\"abc.def-_~+/=\",\"id_token\":\"i\","
                               "\"refresh_token\":null,\"scope\":\"a b\","
                               "\"issued_token_type\":\"urn:ietf:params:oauth:token-type:access_token\"}\n"),
                     0);
    expect(CFR_OAUTH_ACCESS_TOKEN, "abc.def-_~+/=");
    expect(CFR_OAUTH_ID_TOKEN, "i");
    expect(CFR_OAUTH_REFRESH_TOKEN, "");
    expect(CFR_OAUTH_TOKEN_TYPE, "Bearer");
    expect(CFR_OAUTH_ISSUED_TYPE, "urn:ietf:params:oauth:token-type:access_token");
    expect(CFR_OAUTH_SCOPE, "a b");
    expect(CFR_OAUTH_ERROR, "");
    assert_int_equal(answer.expires_in_s, 3599);
    assert_int_equal(answer.refresh_in_s, 1800);
    assert_int_equal(answer.code_count, 0);
    assert_int_equal(cfr_oauth_answer_bearer(&answer, &token, &err), 0);
    assert_true(cfr_view_is(token, "abc.def-_~+/="));
}

static void seconds(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"3599", 3599},
        {"3599.0", 3599},
        {"3599.9", 3599},
        {"3.599e3", 3599},
        {"\"3599\"", 3599},
        {"\" 3599 \"", 3599},
        {"0", 0},
        {"-5", 0},
        {"\"-5\"", 0},
        {"\"0\"", 0},
        {"null", -1},
        {"\"\"", -1},
        {"\"1h\"", -1},
        {"1e300", -1},
        {"-1e300", -1},
        {"0.5", 0},
        {"31536000000", 31536000000},
        {"31536000001", -1},
        {"\"9223372036854775807\"", -1},
    };
    char body[128];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"expires_in\":%s,\"refresh_in\":%s}", rows[i].text, rows[i].text);
        assert_int_equal(read_text(body), 0);
        if (answer.expires_in_s != rows[i].want || answer.refresh_in_s != rows[i].want)
            fail_msg("%s: got %lld", body, (long long)answer.expires_in_s);
    }
    assert_int_equal(read_text("{}"), 0);
    assert_int_equal(answer.expires_in_s, -1);
    assert_int_equal(answer.refresh_in_s, -1);
}

static void an_error_of_oauth(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"error\":\"invalid_client\",\"error_description\":\"AADSTS700213: no match\","
                               "\"error_codes\":[700213,1,2,3,4,5,6,7,8,9],\"timestamp\":\"2026-01-01 00:00:00Z\","
                               "\"trace_id\":\"t-1\",\"correlation_id\":\"c-1\",\"suberror\":\"basic_action\"}"),
                     0);
    expect(CFR_OAUTH_ERROR, "invalid_client");
    expect(CFR_OAUTH_DESCRIPTION, "AADSTS700213: no match");
    expect(CFR_OAUTH_SUBERROR, "basic_action");
    expect(CFR_OAUTH_TRACE_ID, "t-1");
    expect(CFR_OAUTH_CORRELATION_ID, "c-1");
    assert_int_equal(answer.code_count, CFR_OAUTH_CODES_MAX);
    assert_int_equal(answer.codes[0], 700213);
    assert_int_equal(answer.codes[7], 7);
}

static void an_error_of_google(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"error\":{\"code\":403,\"message\":\"Permission denied\","
                               "\"status\":\"PERMISSION_DENIED\",\"details\":[{\"@type\":\"x\"},{\"@type\":"
                               "\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"IAM_PERMISSION_DENIED\"},"
                               "{\"reason\":\"OTHER\"}]}}"),
                     0);
    expect(CFR_OAUTH_ERROR, "PERMISSION_DENIED");
    expect(CFR_OAUTH_DESCRIPTION, "Permission denied");
    expect(CFR_OAUTH_SUBERROR, "IAM_PERMISSION_DENIED");
    assert_int_equal(answer.code_count, 1);
    assert_int_equal(answer.codes[0], 403);
    /* Its oldest form has no status. */
    assert_int_equal(read_text("{\"error\":{\"code\":404,\"message\":\"Not found\",\"errors\":[]}}"), 0);
    expect(CFR_OAUTH_ERROR, "");
    expect(CFR_OAUTH_DESCRIPTION, "Not found");
    assert_int_equal(answer.codes[0], 404);
    assert_int_equal(read_text("{\"error\":{\"details\":{\"reason\":\"x\"}}}"), 0);
    expect(CFR_OAUTH_SUBERROR, "");
    assert_int_equal(read_text("{\"error\":{\"details\":{\"a\":{\"reason\":7}}}}"), 0);
    assert_int_equal(read_text("{\"error\":{}}"), 0);
    assert_int_equal(read_text("{\"error\":null}"), 0);
    /* STS of the same house answers as OAuth does. */
    assert_int_equal(read_text("{\"error\":\"invalid_grant\",\"error_description\":\"The audience ...\"}"), 0);
    expect(CFR_OAUTH_ERROR, "invalid_grant");
    assert_int_equal(answer.code_count, 0);
}

static void refused(void **state)
{
    static const struct {
        const char *body;
        const char *why;
    } rows[] = {
        {"", "the answer is empty"},
        {" \r\n", "the answer is empty"},
        {"<html>", "not a JSON object (its type is application/json)"},
        {"[{\"access_token\":\"x\"}]", "not a JSON object"},
        {"\"x\"", "not a JSON object"},
        {"{\"access_token\":\"x\"", "the answer: not JSON"},
        {"{} {}", "something follows"},
        {"{\"access_token\":\"x\",\"access_token\":\"x\"}", "the answer has access_token twice"},
        {"{\"access_token\":\"\",\"access_token\":\"x\"}", "the answer has access_token twice"},
        {"{\"expires_in\":1,\"expires_in\":2}", "the answer has expires_in twice"},
        {"{\"error\":null,\"error\":\"x\"}", "the answer has error twice"},
        {"{\"access_token\":1}", "access_token is not text"},
        {"{\"access_token\":{}}", "access_token is not text"},
        {"{\"token_type\":[]}", "token_type is not text"},
        {"{\"expires_in\":true}", "expires_in is not a number"},
        {"{\"refresh_in\":{}}", "refresh_in is not a number"},
        {"{\"error\":7}", "error is not text"},
        {"{\"error\":[\"x\"]}", "error is not text"},
        {"{\"error\":{\"status\":7}}", "error.status is not text"},
        {"{\"error\":{\"message\":[]}}", "error.message is not text"},
        {"{\"error_codes\":7}", "error_codes is not a list"},
        {"{\"error_codes\":[\"7\"]}", "error_codes is not a list of whole numbers"},
        {"{\"error_codes\":[7.5]}", "error_codes is not a list of whole numbers"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int rc = read_text(rows[i].body);

        if (rc != CFR_E_ANSWER || err.code != rc || strstr(err.text, rows[i].why) == NULL)
            fail_msg("%s: got %d \"%s\", expected \"%s\"", rows[i].body, rc, err.text, rows[i].why);
        cfr_oauth_answer_free(&answer);
        assert_int_equal(cfr_oauth_answer_read((struct cfr_view){NULL, 0}, cfr_view_of(rows[i].body), &answer, NULL),
                         CFR_E_ANSWER);
    }
}

/* A refusal with an odd member still says what it is. */
static void an_odd_refusal(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"trace_id\":7,\"suberror\":[],\"error\":\"invalid_grant\",\"error_codes\":[50013]}"),
                     CFR_E_ANSWER);
    assert_non_null(strstr(err.text, "trace_id is not text"));
    expect(CFR_OAUTH_ERROR, "invalid_grant");
    assert_int_equal(answer.codes[0], 50013);
}

static void lengths(void **state)
{
    char *body = malloc(300000);
    int n = snprintf(body, 300000, "{\"error\":\"");

    (void)state;
    memset(body + n, 'x', 257);
    (void)snprintf(body + n + 257, 8, "\"}");
    assert_int_equal(read_text(body), CFR_E_ANSWER);
    assert_non_null(strstr(err.text, "error has 257 bytes, more than 256"));
    n = snprintf(body, 300000, "{\"error_description\":\"");
    memset(body + n, 'x', 10000);
    (void)snprintf(body + n + 10000, 8, "\"}");
    assert_int_equal(read_text(body), 0);
    assert_int_equal(cfr_oauth_answer_get(&answer, CFR_OAUTH_DESCRIPTION).n, 8192);
    free(body);
}

static void bearers(void **state)
{
    static const struct {
        const char *body;
        const char *why; /* NULL: taken */
    } rows[] = {
        {"{\"access_token\":\"x\"}", NULL},
        {"{\"access_token\":\"x\",\"token_type\":\"bEARER\",\"expires_in\":1}", NULL},
        {"{\"access_token\":\"x\",\"token_type\":\"\"}", NULL},
        {"{}", "no access_token"},
        {"{\"access_token\":\"\"}", "no access_token"},
        {"{\"access_token\":\"a b\"}", "holds a space"},
        {"{\"access_token\":\"a\\nb\"}", "holds a space"},
        {"{\"access_token\":\"a\xc3\xa9\"}", "holds a space"},
        {"{\"access_token\":\"x\",\"token_type\":\"N_A\"}", "token_type is not Bearer"},
        {"{\"access_token\":\"x\",\"token_type\":\"pop\"}", "token_type is not Bearer"},
        {"{\"access_token\":\"x\",\"expires_in\":0}", "expires_in is not positive"},
        {"{\"access_token\":\"x\",\"expires_in\":\"-1\"}", "expires_in is not positive"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cfr_view token;
        int rc;

        assert_int_equal(read_text(rows[i].body), 0);
        rc = cfr_oauth_answer_bearer(&answer, &token, &err);
        if (rc != (rows[i].why == NULL ? 0 : CFR_E_ANSWER) ||
            (rows[i].why != NULL && strstr(err.text, rows[i].why) == NULL))
            fail_msg("%s: got %d \"%s\"", rows[i].body, rc, err.text);
    }
}

static void the_expiry_of_a_jwt(void **state)
{
    static const struct {
        const char *token;
        int64_t expires_s; /* 0 = none */
    } rows[] = {
        {"e30.eyJleHAiOjE3fQ.c2ln", 17},  /* {"exp":17} */
        {"e30.eyJleHAiOjE3fQ.", 0},       /* no signature */
        {"e30.eyJleHAiOjE3fQ", 0},        /* two parts */
        {"e30.eyJleHAiOiIxNyJ9.c2ln", 0}, /* {"exp":"17"} */
        {"e30.eyJleHAiOjEuNX0.c2ln", 0},  /* {"exp":1.5} */
        {"e30.e30.c2ln", 0},              /* {} */
        {"e30.W10.c2ln", 0},              /* [] */
        {"e30.*.c2ln", 0},
        {"opaque", 0},
        {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t expires_s = 0;

        if (cfr_oauth_answer_jwt_expiry(cfr_view_of(rows[i].token), &expires_s) != (rows[i].expires_s != 0) ||
            expires_s != rows[i].expires_s)
            fail_msg("%s: %d", rows[i].token, (int)expires_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant),
        cmocka_unit_test(seconds),
        cmocka_unit_test(an_error_of_oauth),
        cmocka_unit_test(an_error_of_google),
        cmocka_unit_test(refused),
        cmocka_unit_test(an_odd_refusal),
        cmocka_unit_test(lengths),
        cmocka_unit_test(bearers),
        cmocka_unit_test(the_expiry_of_a_jwt),
    };
    int failed;

    cfr_json_setup();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    cfr_oauth_answer_free(&answer);
    return failed;
}
