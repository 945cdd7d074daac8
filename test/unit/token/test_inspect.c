/* SPDX-License-Identifier: MIT */
/* The report on a token: what it shows, and what it counts as a problem. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "token/inspect.h"
#include "token_text.h"

#include <stdio.h>

#define NOW   INT64_C(1767323825)
#define GOOD  "\"aud\":[\"sts.amazonaws.com\"],\"iss\":\"https://i\",\"sub\":\"system:serviceaccount:ns-a:sa-b\""
#define TIMES ",\"exp\":1767326645,\"iat\":1767323045,\"nbf\":1767323045"

static const char *const algorithms[] = {"RS256", "ES384", NULL};
static const struct cfr_token_rules rules = {.algorithms = algorithms,
                                             .only = "AWS accepts only RS256 and ES384",
                                             .accepts = "AWS",
                                             .bytes_max = 20000,
                                             .usual_audience = "sts.amazonaws.com",
                                             .usual_audience_china = "sts.amazonaws.com.cn"};

static char *last; /* the report of the last call */

static unsigned inspect(const char *alg, const char *payload, const char *tail, const char *audience)
{
    char header[64];
    char *text;
    struct cfr_str file = {.limit = 100000};
    struct cfr_claims c;
    struct cfr_str out = {.limit = 65536};
    struct cfr_inspect_subject s = {
        .claims = &c, .now_s = NOW, .audience = audience, .region = "cn-north-1", .rules = &rules};
    unsigned problems;

    (void)snprintf(header, sizeof header, "{\"alg\":\"%s\"}", alg);
    text = token_text(header, payload);
    cfr_str_addf(&file, "%s%s", text, tail);
    assert_int_equal(cfr_claims_read(cfr_view_of(text), &c, NULL), 0);
    s.file = cfr_str_view(&file);
    problems = cfr_inspect_write(&s, &out);
    assert_false(out.failed);
    assert_null(strstr(out.p, text));
    cfr_claims_free(&c);
    free(text);
    cfr_str_free(&file);
    free(last);
    last = out.p;
    return problems;
}

static void says(const char *text)
{
    if (strstr(last, text) == NULL)
        fail_msg("expected \"%s\" in:\n%s", text, last);
}

static void good_token(void **state)
{
    (void)state;
    assert_int_equal(inspect("RS256", "{" GOOD TIMES "}", "", "sts.amazonaws.com"), 0);
    says("subject         system:serviceaccount:ns-a:sa-b\n");
    says("issued          2026-01-02T03:04:05Z (13 min ago)\n");
    says("80 % of life    2026-01-02T03:52:05Z (in 35 min)\n");
    says("expires         2026-01-02T04:04:05Z (in 47 min)\n");
    says("ok      the audience is the configured sts.amazonaws.com\n");
    assert_null(strstr(last, "PROBLEM"));
    assert_int_equal(inspect("ES384", "{" GOOD TIMES "}", "\n", NULL), 0);
    says("white space");
    says("the usual one");
}

static void problems(void **state)
{
    (void)state;
    assert_int_equal(inspect("HS256", "{" GOOD TIMES "}", "", NULL), 1);
    says("PROBLEM AWS accepts only RS256");
    assert_int_equal(inspect("PS256", "{" GOOD TIMES "}", "", NULL), 1);
    assert_int_equal(inspect("RS256", "{" GOOD ",\"exp\":1767323825,\"iat\":1767320000}", "", NULL), 1);
    says("PROBLEM expired");
    assert_int_equal(inspect("RS256", "{" GOOD ",\"exp\":1767326645,\"iat\":1767323900}", "", NULL), 1);
    says("PROBLEM not valid yet");
    assert_int_equal(inspect("RS256", "{" GOOD ",\"exp\":1767326645,\"iat\":1767323045,\"nbf\":1767323900}", "", NULL),
                     1);
    says("valid from      2026-01-02T03:18:20Z");
    says("PROBLEM not valid yet");
    assert_int_equal(inspect("RS256", "{" GOOD TIMES "}", "", "other"), 1);
    says("PROBLEM the audience is not the configured other");
    assert_int_equal(inspect("RS256", "{" GOOD ",\"exp\":1767326645.5,\"iat\":1767323045}", "", NULL), 1);
    says("a time has a fraction");
    assert_int_equal(inspect("RS256", "{\"aud\":\"sts.amazonaws.com\"" TIMES ",\"iss\":\"http://i\"}", "", NULL), 1);
    says("no `iss` or no `sub`");
    says("note    the issuer is not an https URL: AWS, Google and Azure cannot");
    assert_int_equal(inspect("RS256", "{" GOOD "}", "", NULL), 1);
    says("no `exp`");
    assert_int_equal(
        inspect("RS256", "{\"iss\":\"kubernetes/serviceaccount\",\"sub\":\"system:serviceaccount:a:b\"}", "", NULL), 2);
    says("of the old kind");
    says("no audience");
}

static void notes_are_no_problems(void **state)
{
    (void)state;
    assert_int_equal(inspect("RS256", "{" GOOD ",\"exp\":1767323900,\"iat\":1767323400}", "", NULL), 0);
    says("note    its whole life is shorter than 10 min");
    assert_int_equal(inspect("RS256",
                             "{" GOOD ",\"exp\":1798859045,\"iat\":1767323045,"
                             "\"kubernetes.io\":{\"warnafter\":1767326652}}",
                             "", NULL),
                     0);
    says("note    its life was extended");
    says("warn after      2026-01-02T04:04:12Z");
    assert_int_equal(inspect("RS256", "{\"iss\":\"https://i\",\"sub\":\"s\",\"aud\":\"openshift\"" TIMES "}", "", NULL),
                     0);
    says("note    the audience is not sts.amazonaws.com or sts.amazonaws.com.cn");
}

static void long_token(void **state)
{
    struct cfr_str payload = {.limit = 40000};

    (void)state;
    cfr_str_addf(&payload, "{" GOOD TIMES ",\"x\":\"%015000d\"}", 0);
    assert_int_equal(inspect("RS256", payload.p, "", NULL), 1);
    says("longer than the 20000 characters");
    cfr_str_free(&payload);
}

static void terminal_is_safe(void **state)
{
    (void)state;
    (void)inspect("RS256", "{" GOOD TIMES ",\"jti\":\"a\\u001b[31mb\\u009bc\\nd\"}", "", NULL);
    says("token id        a?[31mb??c?d\n");
    /* The subject and the audience, too, in bytes that are no text. */
    (void)inspect("RS256",
                  "{\"iss\":\"https://i\",\"sub\":\"s\x9b\x80x\\u009by\\u001b]0;\\u0007\\n  "
                  "PROBLEM\",\"aud\":\"sts.amazonaws.com\"" TIMES "}",
                  "", NULL);
    says("subject         s??x??y?]0;??  PROBLEM\n");
    assert_null(strchr(last, 0x1b));
    for (const char *p = last; *p != '\0'; p++)
        assert_true(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_token), cmocka_unit_test(problems),         cmocka_unit_test(notes_are_no_problems),
        cmocka_unit_test(long_token), cmocka_unit_test(terminal_is_safe),
    };
    int failed;

    cfr_json_setup();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(last);
    return failed;
}
