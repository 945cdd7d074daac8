/* SPDX-License-Identifier: MIT */
/* Decoding of claims: Kubernetes tokens old and new, and everything that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"
#include "token/claims_private.h"
#include "token_text.h"

#include <stdio.h>

#define RS256 "{\"alg\":\"RS256\",\"kid\":\"k1\"}"
#define TIMES "\"exp\":1767326645,\"iat\":1767323045"

static int decode(const char *header, const char *payload, struct cfr_claims *c, struct cfr_err *err)
{
    char *text = token_text(header, payload);
    int rc = cfr_claims_decode(cfr_view_of(text), c, err);

    free(text);
    return rc;
}

static void refused(const char *header, const char *payload, const char *why)
{
    struct cfr_claims c;
    struct cfr_err err = {0};

    assert_int_equal(decode(header, payload, &c, &err), CFR_E_TOKEN);
    if (strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", why, err.text);
    assert_null(c.header);
    assert_null(c.payload);
}

static void kubernetes_token(void **state)
{
    struct cfr_claims c;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(
        decode(RS256,
               "{\"aud\":[\"sts.amazonaws.com\",\"other\"]," TIMES ",\"nbf\":1767323045,\"iss\":\"https://i\","
               "\"jti\":\"7a3c\",\"kubernetes.io\":{\"namespace\":\"ns-a\",\"serviceaccount\":{\"name\":\"sa-"
               "b\"},"
               "\"pod\":{\"name\":\"app-0\"},\"node\":{\"name\":\"worker-1\"},\"warnafter\":1767323652},"
               "\"sub\":\"system:serviceaccount:ns-a:sa-b\"}",
               &c, &err),
        0);
    assert_true(cfr_view_is(c.alg, "RS256") && cfr_view_is(c.kid, "k1"));
    assert_true(cfr_view_is(c.iss, "https://i") && cfr_view_is(c.jti, "7a3c"));
    assert_true(cfr_view_is(c.sub, "system:serviceaccount:ns-a:sa-b"));
    assert_true(cfr_view_is(c.namespace_name, "ns-a") && cfr_view_is(c.service_account, "sa-b"));
    assert_true(cfr_view_is(c.pod, "app-0") && cfr_view_is(c.node, "worker-1"));
    assert_int_equal(c.iat, 1767323045);
    assert_int_equal(c.nbf, 1767323045);
    assert_int_equal(c.exp, 1767326645);
    assert_int_equal(cfr_claims_expires(&c), 1767323652);
    assert_int_equal(cfr_claims_audience_count(&c), 2);
    assert_true(cfr_view_is(cfr_claims_audience(&c, 1), "other"));
    assert_null(cfr_claims_audience(&c, 2).p);
    assert_true(cfr_claims_has_audience(&c, "sts.amazonaws.com"));
    assert_false(cfr_claims_has_audience(&c, "sts.amazonaws.co"));
    assert_false(cfr_claims_is_legacy(&c));
    cfr_claims_free(&c);
    assert_null(c.payload);
}

static void audience_as_text(void **state)
{
    struct cfr_claims c;

    (void)state;
    assert_int_equal(decode(RS256, "{\"aud\":\"one\"," TIMES "}", &c, NULL), 0);
    assert_int_equal(cfr_claims_audience_count(&c), 1);
    assert_true(cfr_claims_has_audience(&c, "one"));
    assert_null(cfr_claims_audience(&c, 1).p);
    cfr_claims_free(&c);
    assert_int_equal(decode(RS256, "{" TIMES "}", &c, NULL), 0);
    assert_int_equal(cfr_claims_audience_count(&c), 0);
    assert_int_equal(cfr_claims_expires(&c), 1767326645);
    cfr_claims_free(&c);
}

static void warnafter_later_than_exp_counts_not(void **state)
{
    struct cfr_claims c;

    (void)state;
    assert_int_equal(decode(RS256, "{" TIMES ",\"kubernetes.io\":{\"warnafter\":1767326652}}", &c, NULL), 0);
    assert_int_equal(cfr_claims_expires(&c), 1767326645);
    cfr_claims_free(&c);
}

static void legacy_token(void **state)
{
    static const char payload[] =
        "{\"iss\":\"kubernetes/serviceaccount\",\"kubernetes.io/serviceaccount/namespace\":\"ns-a\","
        "\"kubernetes.io/serviceaccount/service-account.name\":\"sa-b\","
        "\"sub\":\"system:serviceaccount:ns-a:sa-b\"}";
    char *text = token_text(RS256, payload);
    struct cfr_claims c;

    (void)state;
    refused(RS256, payload, "of the old kind");
    assert_int_equal(cfr_claims_read(cfr_view_of(text), &c, NULL), 0);
    assert_true(cfr_claims_is_legacy(&c));
    assert_true(cfr_view_is(c.namespace_name, "ns-a") && cfr_view_is(c.service_account, "sa-b"));
    cfr_claims_free(&c);
    free(text);
}

static void fractions_are_dropped(void **state)
{
    struct cfr_claims c;

    (void)state;
    assert_int_equal(decode(RS256, "{\"exp\":1767326645.9,\"iat\":1.767323045E9}", &c, NULL), 0);
    assert_int_equal(c.exp, 1767326645);
    assert_int_equal(c.iat, 1767323045);
    cfr_claims_free(&c);
}

static void algorithm(void **state)
{
    (void)state;
    refused("{}", "{" TIMES "}", "no `alg`");
    refused("{\"alg\":\"\"}", "{" TIMES "}", "no `alg`");
    refused("{\"alg\":\"none\"}", "{" TIMES "}", "not signed");
    refused("{\"alg\":\"NoNe\"}", "{" TIMES "}", "not signed");
    refused("{\"alg\":1}", "{" TIMES "}", "`alg` is not a string");
    refused("{\"alg\":null}", "{" TIMES "}", "`alg` is not a string");
}

static void wrong_types(void **state)
{
    static const char *const text_claims[] = {"iss", "sub", "jti"};
    static const char *const times[] = {"exp", "iat", "nbf"};
    static const char *const no_times[] = {"\"1767326645\"", "true", "{}", "[]", "null"};
    static const char *const out_of_range[] = {"-1", "1e300", "-1e300", "253402300800"};
    char payload[128];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(payload, sizeof payload, "{" TIMES ",\"%s\":1}", text_claims[i]);
        refused(RS256, payload, "is not a string");
        for (size_t k = 0; k < 5; k++) {
            (void)snprintf(payload, sizeof payload, "{\"%s\":%s}", times[i], no_times[k]);
            refused(RS256, payload, "is not a number");
        }
        for (size_t k = 0; k < 4; k++) {
            (void)snprintf(payload, sizeof payload, "{\"%s\":%s}", times[i], out_of_range[k]);
            refused(RS256, payload, "is not a time");
        }
    }
    refused(RS256, "{" TIMES ",\"aud\":7}", "neither a string nor an array");
    refused(RS256, "{" TIMES ",\"aud\":[\"a\",7]}", "not a string");
    refused(RS256, "{" TIMES ",\"kubernetes.io\":[]}", "`kubernetes.io` is not an object");
    refused(RS256, "{" TIMES ",\"kubernetes.io\":{\"namespace\":1}}", "`namespace` is not a string");
    refused(RS256, "{" TIMES ",\"kubernetes.io\":{\"pod\":\"x\"}}", "`pod` is not an object");
    refused(RS256, "{" TIMES ",\"kubernetes.io\":{\"serviceaccount\":{\"name\":[]}}}", "is not a string");
    refused(RS256, "{" TIMES ",\"kubernetes.io\":{\"warnafter\":\"x\"}}", "`warnafter` is not a number");
}

static void life(void **state)
{
    (void)state;
    refused(RS256, "{}", "no `exp`");
    refused(RS256, "{\"iat\":5}", "no `exp`");
    refused(RS256, "{\"iat\":5,\"exp\":5}", "not after its `iat`");
    refused(RS256, "{\"iat\":6,\"exp\":5}", "not after its `iat`");
}

static void not_a_token(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "is empty"},
        {"hello", "three parts"},
        {"a.b", "three parts"},
        {"..", "no signature"},
        {"..x", "header"},
        {"eyJhbGciOiJSUzI1NiJ9.e30.", "half written"},
        {"eyJhbGciOiJSUzI1NiJ9.e30.c2ln.x", "more than three parts"},
        {"{\"token\": \"a.b.c\"}", "not a JSON Web Token, but JSON; `json_field` names the member"},
        {"Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "but a line of an HTTP header"},
        {"\"eyJhbGciOiJSUzI1NiJ9.e30.c2ln\"", "but text in quotes (remove them)"},
        {"\xef\xbb\xbf"
         "eyJhbGciOiJSUzI1NiJ9.e30.c2ln",
         "begins with a byte order mark"},
        {"ZXlKaGJHY2lPaUpTVXpJMU5pSjk=", "but base64 of a JSON Web Token (decode it)"},
        {"-----BEGIN CERTIFICATE-----", "but a certificate in PEM form"},
        {"a.b.c.d.e", "more than three parts"},
        {"eyJhbGciOiJSUzI1NiJ9.e30.c2l n", "signature is not base64url"},
        {"eyJhbGciOiJSUzI1NiJ9.e30.c2ln\n", "signature is not base64url"},
        {"eyJhbGciOiJSUzI1NiJ9.e3=.c2ln", "payload"},
        {"eyJhbGciOiJSUzI1NiJ9.e30=.c2ln", "payload"},
        {"eyJhbGciOiJSUzI1NiJ9.W10.c2ln", "not a JSON object"},
        {"W10.e30.c2ln", "its header is not a JSON object"},
        {"eyJhbGciOiJSUzI1NiJ9.e30g.c2l+", "signature is not base64url"},
        {"eyJhbGciOiJSUzI1NiJ9.e31.c2ln", "stray bits"},
        {"eyJhbGciOiJSUzI1NiJ9.ey.c2ln", "payload"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cfr_claims c;
        struct cfr_err err = {0};

        assert_int_equal(cfr_claims_decode(cfr_view_of(cases[i].text), &c, &err), CFR_E_TOKEN);
        if (strstr(err.text, cases[i].why) == NULL)
            fail_msg("\"%s\": expected \"%s\" in \"%s\"", cases[i].text, cases[i].why, err.text);
        assert_null(c.header);
        assert_null(c.payload);
    }
}

static void too_long_and_too_deep(void **state)
{
    char *text = malloc(CFR_TOKEN_MAX + 2);
    char deep[8001];
    struct cfr_str many = {.limit = 2000};
    struct cfr_claims c;
    struct cfr_err err = {0};

    (void)state;
    memset(text, 'a', CFR_TOKEN_MAX + 1);
    assert_int_equal(cfr_claims_decode((struct cfr_view){text, CFR_TOKEN_MAX + 1}, &c, &err), CFR_E_TOKEN);
    assert_non_null(strstr(err.text, "65537 bytes"));
    free(text);
    memset(deep, '[', 8000);
    deep[8000] = '\0';
    memcpy(deep, "{\"a\":", 5);
    refused(RS256, deep, "not JSON");
    cfr_str_addz(&many, "{" TIMES ",\"aud\":[\"a\"");
    for (int i = 0; i < 64; i++)
        cfr_str_addz(&many, ",\"a\"");
    cfr_str_addz(&many, "]}");
    refused(RS256, many.p, "more than 64 audiences");
    cfr_str_free(&many);
}

static void error_texts_hold_no_claims(void **state)
{
    struct cfr_claims c;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(decode(RS256, "{\"sub\":\"very-private\"," TIMES ",\"aud\":3}", &c, &err), CFR_E_TOKEN);
    assert_null(strstr(err.text, "very-private"));
    assert_null(strstr(err.text, "eyJ"));
}

/* As the API servers of kubeadm, OpenShift, EKS, GKE and AKS issue them, and as a projected volume for a cloud asks. */
static void tokens_of_the_api_server(void **state)
{
    static const struct {
        const char *claims;
        bool api;
    } cases[] = {
        {"\"iss\":\"https://kubernetes.default.svc.cluster.local\",\"aud\":[\"https://"
         "kubernetes.default.svc.cluster.local\"]",
         true},
        {"\"iss\":\"https://oidc.example/id\",\"aud\":[\"https://oidc.example/id\"]", true},
        {"\"iss\":\"https://oidc.example/id\",\"aud\":\"https://oidc.example/id\"", true},
        {"\"iss\":\"https://oidc.eks.eu-west-1.amazonaws.com/id/A\",\"aud\":[\"https://kubernetes.default.svc\"]",
         true},
        {"\"iss\":\"https://a\",\"aud\":[\"sts.amazonaws.com\",\"https://kubernetes.default.svc:443/\"]", true},
        {"\"iss\":\"https://a\",\"aud\":[\"openshift\",\"https://a\"]", true},
        {"\"iss\":\"https://a\",\"aud\":[\"kubernetes.default\"]", true},
        {"\"iss\":\"https://a\",\"aud\":[\"\"]", true},
        {"\"iss\":\"https://a\",\"aud\":[]", true},
        {"\"iss\":\"https://a\"", true},
        {"\"iss\":\"https://a\",\"aud\":[\"openshift\"]", false},
        {"\"iss\":\"https://a\",\"aud\":[\"sts.amazonaws.com\"]", false},
        {"\"iss\":\"https://a\",\"aud\":[\"api://AzureADTokenExchange\",\"https://kubernetes.defaults\"]", false},
        {"\"iss\":\"https://a\",\"aud\":[\"https://iam.googleapis.com/projects/1/kubernetes.default\"]", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cfr_claims c;
        struct cfr_err err = {0};
        char payload[512];

        (void)snprintf(payload, sizeof payload, "{%s," TIMES "}", cases[i].claims);
        if (decode(RS256, payload, &c, &err) != 0)
            fail_msg("%s: %s", payload, err.text);
        if (cfr_claims_is_for_api_server(&c) != cases[i].api)
            fail_msg("%s", payload);
        cfr_claims_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kubernetes_token),
        cmocka_unit_test(audience_as_text),
        cmocka_unit_test(warnafter_later_than_exp_counts_not),
        cmocka_unit_test(legacy_token),
        cmocka_unit_test(fractions_are_dropped),
        cmocka_unit_test(algorithm),
        cmocka_unit_test(wrong_types),
        cmocka_unit_test(life),
        cmocka_unit_test(not_a_token),
        cmocka_unit_test(too_long_and_too_deep),
        cmocka_unit_test(error_texts_hold_no_claims),
        cmocka_unit_test(tokens_of_the_api_server),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
