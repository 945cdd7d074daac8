/* SPDX-License-Identifier: MIT */
/* ExecCredential: the plugin's input, and valid and invalid output. */
#include "unit.h"

#include "base/json.h"
#include "kube/exec_credential.h"

#define V1   "client.authentication.k8s.io/v1"
#define HEAD "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\","
#define CERT "-----BEGIN CERTIFICATE-----\\nQUJD\\n-----END CERTIFICATE-----\\n"
#define KEY  "-----BEGIN PRIVATE KEY-----\\nQUJD\\n-----END PRIVATE KEY-----\\n"

static void expect_info(const char *version, const char *cluster, const char *want)
{
    struct cfr_secret out;
    struct cfr_err err = {0};

    cfr_secret_init(&out, 4096);
    assert_int_equal(cfr_k8s_exec_credential_info(version, cfr_view_of(cluster), &out, &err), 0);
    assert_view(cfr_secret_view(&out), want);
    cfr_secret_free(&out);
}

static void info(void **state)
{
    struct cfr_secret out;
    struct cfr_err err = {0};

    (void)state;
    expect_info(V1, NULL,
                "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"spec\":{"
                "\"interactive\":false}}");
    expect_info("client.authentication.k8s.io/v1beta1", "{\"server\":\"https://10.0.0.1\"}",
                "{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\",\"spec\":{"
                "\"cluster\":{\"server\":\"https://10.0.0.1\"},\"interactive\":false}}");
    cfr_secret_init(&out, 4096);
    assert_int_equal(
        cfr_k8s_exec_credential_info("client.authentication.k8s.io/v1alpha1", (struct cfr_view){NULL, 0}, &out, &err),
        CFR_E_CONFIG);
    assert_contains(err.text, "must be client.authentication.k8s.io/v1 or");
    assert_int_equal(cfr_k8s_exec_credential_info(NULL, (struct cfr_view){NULL, 0}, &out, &err), CFR_E_CONFIG);
    assert_false(cfr_k8s_exec_credential_version_ok("v1"));
}

static void token(void **state)
{
    struct cfr_k8s_exec_credential c;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_k8s_exec_credential_read(V1,
                                                  LITERAL(HEAD "\"spec\":{},\"status\":{\"token\":\"k8s-aws-v1.abc\","
                                                               "\"expirationTimestamp\":\"2026-01-02T04:04:05Z\"}}\n"),
                                                  &c, &err),
                     0);
    assert_view(cfr_secret_view(&c.token), "k8s-aws-v1.abc");
    assert_int_equal(c.expires_s, 1767326645);
    assert_int_equal(c.cert.len + c.key.len, 0);
    cfr_k8s_exec_credential_free(&c);
    assert_int_equal(
        cfr_k8s_exec_credential_read(
            V1, LITERAL(HEAD "\"status\":{\"token\":\"a\",\"expirationTimestamp\":null,\"clientKeyData\":null}}"), &c,
            &err),
        0);
    assert_int_equal(c.expires_s, 0);
    cfr_k8s_exec_credential_free(&c);
}

static void certificate(void **state)
{
    struct cfr_k8s_exec_credential c;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_k8s_exec_credential_read(V1,
                                                  LITERAL(HEAD "\"status\":{\"clientCertificateData\":\"" CERT
                                                               "\",\"clientKeyData\":\"" KEY "\"}}"),
                                                  &c, &err),
                     0);
    assert_view(cfr_secret_view(&c.cert), "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n");
    assert_view(cfr_secret_view(&c.key), "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n");
    assert_int_equal(c.token.len, 0);
    cfr_k8s_exec_credential_free(&c);
    cfr_k8s_exec_credential_free(&c);
}

struct bad_case {
    const char *text;
    const char *error;
};

static const struct bad_case bad_cases[] = {
    {"", "the output of the exec plugin is not JSON: it is empty"},
    {"please log in\n", "the output of the exec plugin is not JSON"},
    {HEAD "\"status\":{\"token\":\"a\"}} and more", "something follows"},
    {"{\"apiVersion\":\"" V1 "\",\"kind\":\"Config\"}", "printed no ExecCredential (its kind is \"Config\")"},
    {"{\"apiVersion\":\"" V1 "\"}", "its kind is \"\""},
    {"[]", "its kind is \"\""},
    {"{\"apiVersion\":\"" V1 "beta1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"a\"}}",
     "answers with apiVersion \"client.authentication.k8s.io/v1beta1\", and the kubeconfig says " V1},
    {HEAD "\"spec\":{}}", "has no status"},
    {HEAD "\"status\":7}", "has no status"},
    {HEAD "\"status\":{}}", "neither a token nor a certificate"},
    {HEAD "\"status\":{\"token\":\"\"}}", "neither a token nor a certificate"},
    {HEAD "\"status\":{\"token\":7}}", "token is not a string"},
    {HEAD "\"status\":{\"token\":\"a b\"}}", "token holds a space"},
    {HEAD "\"status\":{\"token\":\"a\\r\\nX: y\"}}", "token holds a space"},
    {HEAD "\"status\":{\"clientCertificateData\":\"" CERT "\"}}", "a clientCertificateData without a clientKeyData"},
    {HEAD "\"status\":{\"token\":\"a\",\"clientKeyData\":\"" KEY "\"}}", "a clientKeyData without"},
    {HEAD "\"status\":{\"clientCertificateData\":\"LS0t\",\"clientKeyData\":\"" KEY "\"}}", "is not PEM"},
    {HEAD "\"status\":{\"clientCertificateData\":\"" CERT "\",\"clientKeyData\":\"LS0t\"}}", "is not PEM"},
    {HEAD "\"status\":{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}}", "expirationTimestamp is not a time"},
    {HEAD "\"status\":{\"token\":\"a\",\"expirationTimestamp\":1767326645}}", "expirationTimestamp is not a time"},
    {HEAD "\"status\":{\"token\":\"a\",\"expirationTimestamp\":\"1970-01-01T00:00:00Z\"}}",
     "expirationTimestamp is not a time"},
    {"{\"kind\":\"the-secret-token-itself\",\"status\":{\"token\":\"the-secret-token-itself\"}}",
     "its kind is \"[removed]\""},
};

static void bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_cases); i++) {
        struct cfr_k8s_exec_credential c;
        struct cfr_err err = {0};
        int rc = cfr_k8s_exec_credential_read(V1, cfr_view_of(bad_cases[i].text), &c, &err);

        if (rc != CFR_E_ANSWER || strstr(err.text, bad_cases[i].error) == NULL)
            fail_msg("%s: %s", bad_cases[i].text, err.text);
        assert_true(c.token.p == NULL && c.cert.p == NULL && c.key.p == NULL && c.expires_s == 0);
    }
}

static void too_long(void **state)
{
    size_t n = CFR_K8S_EXEC_CREDENTIAL_MAX + 1;
    char *text = malloc(n + 256);
    struct cfr_k8s_exec_credential c;
    struct cfr_err err = {0};
    size_t at = strlen(HEAD "\"status\":{\"token\":\"");

    (void)state;
    memcpy(text, HEAD "\"status\":{\"token\":\"", at);
    memset(text + at, 'a', n);
    strcpy(text + at + n, "\"}}");
    assert_int_equal(cfr_k8s_exec_credential_read(V1, cfr_view_of(text), &c, &err), CFR_E_ANSWER);
    assert_contains(err.text, "more than 262144");
    free(text);
}

static void asked(void **state)
{
    static const char *const bad[] = {
        "{", "{}", "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"Pod\"}",
        "{\"apiVersion\":\"client.authentication.k8s.io/v1alpha1\",\"kind\":\"ExecCredential\"}"};
    const char *version = NULL;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_k8s_exec_credential_version_of((struct cfr_view){NULL, 0}, &version, &err), 0);
    assert_string_equal(version, V1);
    assert_int_equal(
        cfr_k8s_exec_credential_version_of(LITERAL(HEAD "\"spec\":{\"interactive\":false}}"), &version, &err), 0);
    assert_string_equal(version, V1);
    assert_int_equal(
        cfr_k8s_exec_credential_version_of(LITERAL("{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":"
                                                   "\"ExecCredential\"}"),
                                           &version, &err),
        0);
    assert_string_equal(version, V1 "beta1");
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(cfr_k8s_exec_credential_version_of(cfr_view_of(bad[i]), &version, &err), CFR_E_CONFIG);
        assert_contains(err.text, "KUBERNETES_EXEC_INFO");
    }
}

static int write_one(const char *token, const char *cert, const char *key, int64_t expires_s, struct cfr_secret *out)
{
    struct cfr_k8s_exec_credential c = {.expires_s = expires_s};
    struct cfr_err err = {0};
    int rc;

    cfr_secret_init(&c.token, 4096);
    cfr_secret_init(&c.cert, 4096);
    cfr_secret_init(&c.key, 4096);
    cfr_secret_init(out, 4096);
    assert_int_equal(cfr_secret_append_str(&c.token, token, &err), 0);
    assert_int_equal(cfr_secret_append_str(&c.cert, cert, &err), 0);
    assert_int_equal(cfr_secret_append_str(&c.key, key, &err), 0);
    rc = cfr_k8s_exec_credential_write(V1, &c, out, &err);
    cfr_k8s_exec_credential_free(&c);
    return rc;
}

static void written(void **state)
{
    struct cfr_k8s_exec_credential back;
    struct cfr_secret out;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(write_one("a.b.c", "", "", 1767326645, &out), 0);
    assert_view(cfr_secret_view(&out),
                HEAD "\"status\":{\"expirationTimestamp\":\"2026-01-02T04:04:05Z\",\"token\":\"a.b.c\"}}\n");
    cfr_secret_free(&out);
    assert_int_equal(write_one("a.b.c", "", "", 0, &out), 0);
    assert_view(cfr_secret_view(&out), HEAD "\"status\":{\"token\":\"a.b.c\"}}\n");
    cfr_secret_free(&out);
    assert_int_equal(write_one("", "-----BEGIN A\n", "-----BEGIN B\n", 0, &out), 0);
    assert_view(
        cfr_secret_view(&out), HEAD
        "\"status\":{\"clientCertificateData\":\"-----BEGIN A\\u000a\",\"clientKeyData\":\"-----BEGIN B\\u000a\"}}\n");
    assert_int_equal(cfr_k8s_exec_credential_read(V1, cfr_secret_view(&out), &back, &err), 0);
    assert_view(cfr_secret_view(&back.key), "-----BEGIN B\n");
    cfr_k8s_exec_credential_free(&back);
    cfr_secret_free(&out);
    assert_int_equal(write_one("a b", "", "", 0, &out), CFR_E_ANSWER);
    cfr_secret_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked),       cmocka_unit_test(written), cmocka_unit_test(info),     cmocka_unit_test(token),
        cmocka_unit_test(certificate), cmocka_unit_test(bad),     cmocka_unit_test(too_long),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
