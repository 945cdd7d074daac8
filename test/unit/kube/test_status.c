/* SPDX-License-Identifier: MIT */
/* Golden refusals of an API server: the error of each, and its remedy. */
#include "unit.h"

#include "base/json.h"
#include "data_file.h"
#include "kube/status.h"
#include "refusal_row.h"

#define TOKEN "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlc2lnbmF0dXJl"

static const struct cfr_view token = {TOKEN, sizeof TOKEN - 1};

static struct cfr_k8s_asked asked_for(struct cfr_view kind)
{
    if (cfr_view_is(kind, "token"))
        return (struct cfr_k8s_asked){.what = "a token for the service account ns-a/sa-b",
                                      .verb = "create",
                                      .resource = "serviceaccounts/token",
                                      .name = "sa-b",
                                      .namespace_name = "ns-a",
                                      .audience = "sts.amazonaws.com",
                                      .secrets = &token,
                                      .secret_count = 1};
    if (cfr_view_is(kind, "secret") || cfr_view_is(kind, "new"))
        return (struct cfr_k8s_asked){.what = "the Secret ns-a/cloud-creds",
                                      .verb = cfr_view_is(kind, "new") ? "create" : "patch",
                                      .resource = "secrets",
                                      .name = "cloud-creds",
                                      .namespace_name = "ns-a"};
    if (cfr_view_is(kind, "bundle"))
        return (struct cfr_k8s_asked){.what = "caBundle",
                                      .verb = "patch",
                                      .resource = "clustertrustbundles.certificates.k8s.io",
                                      .name = "example.com:service:ca",
                                      .signer = "example.com/service"};
    if (cfr_view_is(kind, "pod"))
        return (struct cfr_k8s_asked){.what = "a pod's certificate",
                                      .verb = "update",
                                      .resource = "podcertificaterequests/status.certificates.k8s.io",
                                      .signer = "example.com/service"};
    return (struct cfr_k8s_asked){.what = "something"};
}

static void check_error(const struct cfr_view col[7])
{
    struct cfr_view body = data_file_case("kube", "errors", col[0]);
    struct cfr_k8s_asked asked = asked_for(col[2]);
    struct cfr_err err = {0};
    int64_t retry_after_s = -1;
    int rc = cfr_k8s_refusal((long)data_file_number(col[1]), body, &asked, &retry_after_s, &err);

    refusal_row(col[0], rc, &err, col[3], col[4], col[6]);
    assert_int_equal(retry_after_s, data_file_number(col[5]));
    assert_true(strncmp(err.text, asked.what, strlen(asked.what)) == 0);
    assert_null(strstr(err.text, "eyJzdWIiOiJhIn0"));
    assert_null(strstr(err.text, "c2lnbmF0dXJlc2ln"));
    data_file_free(body);
}

static void errors(void **state)
{
    struct cfr_view table = data_file_read("kube/errors.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[7];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 7); rows++)
        check_error(col);
    assert_true(rows >= 75);
    data_file_free(table);
}

static void whole_texts(void **state)
{
    struct cfr_k8s_asked asked = asked_for(cfr_view_of("token"));
    struct cfr_err err = {0};
    int64_t retry = -1;

    (void)state;
    assert_int_equal(
        cfr_k8s_refusal(403,
                        LITERAL("{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"User \\\"a\\\" "
                                "cannot create resource \\\"serviceaccounts/token\\\"\"}"),
                        &asked, &retry, &err),
        CFR_E_DENIED);
    assert_string_equal(
        err.text, "a token for the service account ns-a/sa-b: Forbidden: User \"a\" cannot create resource "
                  "\"serviceaccounts/token\" (HTTP 403): a Role in ns-a for the caller needs the rule {apiGroups: "
                  "[\"\"], resources: [\"serviceaccounts/token\"], verbs: [\"create\"], resourceNames: [\"sa-b\"]}");
    asked.resource = "deployments.apps";
    asked.verb = "patch";
    assert_int_equal(
        cfr_k8s_refusal(403, LITERAL("{\"kind\":\"Status\",\"reason\":\"Forbidden\"}"), &asked, &retry, &err),
        CFR_E_DENIED);
    assert_contains(err.text, "the rule {apiGroups: [\"apps\"], resources: [\"deployments\"], verbs: [\"patch\"], "
                              "resourceNames: [\"sa-b\"]}");
    assert_int_equal(cfr_k8s_refusal(503, LITERAL(""), &asked, &retry, &err), CFR_E_UNAVAILABLE);
    assert_string_equal(err.text, "a token for the service account ns-a/sa-b (HTTP 503): the API server is "
                                  "unavailable; this is usually temporary");
}

/* A long message gives way to the advice, and so does a long name. */
static void advice_is_not_cut(void **state)
{
    char name[254];
    char message[900] = "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"";
    struct cfr_k8s_asked asked = asked_for(cfr_view_of("token"));
    struct cfr_err err = {0};
    int64_t retry = -1;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        strcat(message, "words ");
    strcat(message, "\"}");
    memset(name, 'n', sizeof name);
    for (size_t n = 1; n <= 150; n++) {
        name[n - 1] = 'n';
        name[n] = '\0';
        asked.name = name;
        assert_int_equal(cfr_k8s_refusal(403, cfr_view_of(message), &asked, &retry, &err), CFR_E_DENIED);
        assert_string_equal(err.text + strlen(err.text) - 4, "n\"]}");
        assert_contains(err.text, ": words ");
    }
}

/* An audience of Google's is longer than a word of a foreign text may be, and none is cut. */
static void long_audience(void **state)
{
    static const char audience[] = "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
                                   "pool-1/providers/provider-1";
    char longest[1200];
    struct cfr_view body = data_file_read("kube/errors/node-audience.json");
    struct cfr_k8s_asked asked = asked_for(cfr_view_of("token"));
    struct cfr_err err = {0};
    int64_t retry = -1;

    (void)state;
    asked.audience = audience;
    assert_int_equal(cfr_k8s_refusal(403, body, &asked, &retry, &err), CFR_E_DENIED);
    assert_contains(err.text, "resources: [\"//iam.googleapis.com/projects/123456789012/locations/global/"
                              "workloadIdentityPools/pool-1/providers/provider-1\"], verbs: "
                              "[\"request-serviceaccounts-token-audience\"], resourceNames: [\"sa-b\"]}");
    for (size_t n = 1; n < sizeof longest; n++) { /* whole, or not at all */
        char whole[sizeof longest + 16];

        memset(longest, 'a', n);
        longest[n] = '\0';
        asked.audience = longest;
        assert_int_equal(cfr_k8s_refusal(403, body, &asked, &retry, &err), CFR_E_DENIED);
        (void)snprintf(whole, sizeof whole, "resources: [\"%s\"]", longest);
        if (n <= 100 || strstr(err.text, "[\"AUDIENCE\"]") == NULL)
            assert_contains(err.text, whole);
        else
            assert_contains(err.text, "resourceNames: [\"NAME\"]}, with the audience and the account of the request in "
                                      "their places");
    }
    assert_contains(err.text, "[\"AUDIENCE\"]");
    asked.audience = NULL;
    assert_int_equal(cfr_k8s_refusal(403, body, &asked, &retry, &err), CFR_E_DENIED);
    assert_contains(err.text, "resources: [\"*\"]");
    data_file_free(body);
}

static void every_status_without_a_body(void **state)
{
    struct cfr_k8s_asked asked = {.what = "it"};

    (void)state;
    for (long status = 0; status < 700; status++) {
        struct cfr_err err = {0};
        int64_t retry = -1;
        int want = status < 300                                                       ? CFR_E_ANSWER
                   : status < 400                                                     ? CFR_E_REDIRECT
                   : status == 401 || status == 403 || status == 404 || status == 407 ? CFR_E_DENIED
                   : status == 429                                                    ? CFR_E_THROTTLED
                   : status >= 500 || status == 408 || status == 409 || status == 410 ? CFR_E_UNAVAILABLE
                                                                                      : CFR_E_REJECTED;

        assert_int_equal(cfr_k8s_refusal(status, (struct cfr_view){NULL, 0}, &asked, &retry, &err), want);
        assert_int_equal(retry, -1);
    }
    assert_int_equal(cfr_k8s_refusal(403, (struct cfr_view){NULL, 0}, &asked, &(int64_t){0}, NULL), CFR_E_DENIED);
}

/* Whatever the server repeats, and in which place, the token does not come out. */
static void echoed_secrets(void **state)
{
    static const char *const places[] = {
        "{\"kind\":\"Status\",\"reason\":\"%s\"}",
        "{\"kind\":\"Status\",\"message\":\"bad %s value\"}",
        "{\"kind\":\"Status\",\"message\":\"User \\\"%s\\\" cannot create resource \\\"x\\\"\"}",
        "{\"kind\":\"Status\",\"message\":\"x cannot %s resource \"}",
        "invalid token '%s'",
        "{%s",
    };
    static const char *const secrets[] = {TOKEN, "c2lnbmF0dXJlc2lnbmF0dXJl", "abcdefghijklmnopqrstuvwx"};
    static const struct cfr_view known[] = {{TOKEN, sizeof TOKEN - 1}, {"abcdefghijklmnopqrstuvwx", 24}};
    char body[1024];

    (void)state;
    for (size_t i = 0; i < COUNT(places); i++) {
        for (size_t k = 0; k < COUNT(secrets); k++) {
            struct cfr_k8s_asked asked = asked_for(cfr_view_of("token"));
            const char *at = strstr(places[i], "%s");
            struct cfr_err err = {0};
            int64_t retry = -1;

            asked.secrets = known;
            asked.secret_count = 2;
            (void)snprintf(body, sizeof body, "%.*s%s%s", (int)(at - places[i]), places[i], secrets[k], at + 2);
            assert_true(cfr_k8s_refusal(403, cfr_view_of(body), &asked, &retry, &err) < 0);
            assert_null(strstr(err.text, "c2lnbmF0"));
            assert_null(strstr(err.text, "klmnopqrst"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(whole_texts),
        cmocka_unit_test(advice_is_not_cut),
        cmocka_unit_test(long_audience),
        cmocka_unit_test(every_status_without_a_body),
        cmocka_unit_test(echoed_secrets),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
