/* SPDX-License-Identifier: MIT */
/* TokenRequest: golden requests and answers, and invalid requests. */
#include "unit.h"

#include "base/json.h"
#include "data_file.h"
#include "kube/token_request.h"

#define UID "0d6f0000-0000-4000-8000-000000000001"

static char sts[] = "sts.amazonaws.com";
static char quoted[] = "a \"quoted\" one";
static char *audiences[] = {sts, quoted};

static struct cfr_k8s_token_request request(void)
{
    return (struct cfr_k8s_token_request){.namespace_name = "ns-a",
                                          .service_account = "sa-b",
                                          .audiences = audiences,
                                          .audience_count = 1,
                                          .expiration_s = 3600};
}

static void paths(void **state)
{
    struct cfr_k8s_token_request r = request();
    char path[CFR_K8S_TOKEN_REQUEST_PATH_MAX];
    char ns[65];
    char sa[255];

    (void)state;
    assert_true(cfr_k8s_token_request_path(&r, path));
    assert_string_equal(path, "/api/v1/namespaces/ns-a/serviceaccounts/sa-b/token");
    r.service_account = "sa.b";
    assert_true(cfr_k8s_token_request_path(&r, path));
    r.service_account = "../secrets";
    assert_false(cfr_k8s_token_request_path(&r, path));
    assert_string_equal(path, "");
    r.service_account = "sa-b";
    r.namespace_name = "ns.a";
    assert_false(cfr_k8s_token_request_path(&r, path));
    r.namespace_name = NULL;
    assert_false(cfr_k8s_token_request_path(&r, path));
    memset(ns, 'n', sizeof ns);
    memset(sa, 's', sizeof sa);
    ns[63] = sa[253] = '\0';
    r = (struct cfr_k8s_token_request){.namespace_name = ns, .service_account = sa};
    assert_true(cfr_k8s_token_request_path(&r, path));
    assert_string_equal(path + strlen(path) - 7, "s/token");
}

static void expect_body(const struct cfr_k8s_token_request *r, const char *file)
{
    struct cfr_view want = data_file_read(file);
    struct cfr_secret body;
    struct cfr_err err = {0};

    cfr_secret_init(&body, CFR_K8S_TOKEN_REQUEST_BODY_MAX);
    if (cfr_k8s_token_request_body(r, &body, &err) != 0)
        fail_msg("%s", err.text);
    want.n--; /* the file ends with a line end */
    if (!cfr_view_eq(cfr_secret_view(&body), want))
        fail_msg("%s: got %s", file, body.p);
    cfr_secret_free(&body);
    want.n++;
    data_file_free(want);
}

static void bodies(void **state)
{
    struct cfr_k8s_token_request r = request();

    (void)state;
    expect_body(&r, "kube/requests/token.json");
    r.audience_count = 2;
    r.expiration_s = 600;
    r.bound_kind = "Pod";
    r.bound_name = "app-0";
    r.bound_uid = UID;
    expect_body(&r, "kube/requests/token-bound.json");
}

static void refuses(const struct cfr_k8s_token_request *r, const char *text)
{
    struct cfr_secret body;
    struct cfr_err err = {0};

    cfr_secret_init(&body, CFR_K8S_TOKEN_REQUEST_BODY_MAX);
    assert_int_equal(cfr_k8s_token_request_body(r, &body, &err), CFR_E_CONFIG);
    assert_contains(err.text, text);
    assert_int_equal(body.len, 0);
    cfr_secret_free(&body);
}

static void what_cannot_be_asked(void **state)
{
    struct cfr_k8s_token_request r = request();
    char *empty[] = {(char[]){""}};
    char *many[65];

    (void)state;
    r.audience_count = 0;
    refuses(&r, "valid for the API server itself");
    r.audience_count = 1;
    r.audiences = empty;
    refuses(&r, "printable");
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = sts;
    r.audiences = many;
    r.audience_count = COUNT(many);
    refuses(&r, "at most 64");
    r = request();
    r.expiration_s = 599;
    refuses(&r, "at least 10 minutes");
    r.expiration_s = INT64_C(4294967297);
    refuses(&r, "at most 2^32");
    r = request();
    r.bound_kind = "Deployment";
    refuses(&r, "a Pod, a Secret or a Node");
    r.bound_kind = "Pod";
    refuses(&r, "the name of the Pod");
    r.bound_name = "a/b";
    refuses(&r, "the name of the Pod");
    r.bound_name = "app-0";
    r.bound_uid = "";
    refuses(&r, "the uid of the Pod");
}

static void check_answer(const struct cfr_view col[5])
{
    struct cfr_k8s_token_request r = request();
    struct cfr_k8s_token_grant g;
    struct cfr_err err = {0};
    struct cfr_view body;
    char name[256];
    char want[256];
    int64_t expires = 0;
    int64_t granted = 0;
    int rc;

    (void)snprintf(name, sizeof name, "kube/grants/%.*s", (int)col[0].n, col[0].p);
    (void)snprintf(want, sizeof want, "%.*s", (int)col[4].n, col[4].p);
    assert_true(cfr_view_int(col[2], &expires) && cfr_view_int(col[3], &granted));
    body = data_file_read(name);
    rc = cfr_k8s_token_request_answer(&r, body, &g, &err);
    if (!cfr_view_is(col[1], cfr_err_name(rc)) || err.code != rc || strstr(err.text, want) == NULL)
        fail_msg("%s: got %s: %s", name, cfr_err_name(rc), err.text);
    assert_int_equal(g.expires_s, expires);
    assert_int_equal(g.granted_s, granted);
    assert_true(rc == 0 ? cfr_view_starts(cfr_secret_view(&g.token), "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.")
                        : g.token.p == NULL);
    assert_null(strstr(err.text, "eyJzdWIi"));
    cfr_k8s_token_grant_free(&g);
    data_file_free(body);
}

static void answers(void **state)
{
    struct cfr_view table = data_file_read("kube/grants.tsv");
    struct cfr_view rest = table;
    struct cfr_view col[5];
    unsigned rows = 0;

    (void)state;
    for (; data_file_row(&rest, col, 5); rows++)
        check_answer(col);
    assert_true(rows >= 34);
    data_file_free(table);
}

static void several_audiences(void **state)
{
    static const char format[] = "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/"
                                 "v1\",\"spec\":{\"audiences\":[%s]},"
                                 "\"status\":{\"token\":\"a.b.c\",\"expirationTimestamp\":\"2026-01-02T04:04:05Z\"}}";
    struct cfr_k8s_token_request r = request();
    struct cfr_k8s_token_grant g;
    struct cfr_err err = {0};
    char body[512];

    (void)state;
    r.audience_count = 2;
    (void)snprintf(body, sizeof body, format, "\"a \\\"quoted\\\" one\",\"sts.amazonaws.com\"");
    assert_int_equal(cfr_k8s_token_request_answer(&r, cfr_view_of(body), &g, &err), 0);
    assert_view(cfr_secret_view(&g.token), "a.b.c");
    cfr_k8s_token_grant_free(&g);
    (void)snprintf(body, sizeof body, format, "\"sts.amazonaws.com\"");
    assert_int_equal(cfr_k8s_token_request_answer(&r, cfr_view_of(body), &g, &err), CFR_E_ANSWER);
    assert_contains(err.text, "is not for the audience \"a \"quoted\" one\", which was asked for");
    (void)snprintf(body, sizeof body, format, "\"sts.amazonaws.com\",\"x\"");
    assert_int_equal(cfr_k8s_token_request_answer(&r, cfr_view_of(body), &g, &err), CFR_E_ANSWER);
    assert_contains(err.text, "audience \"x\", which was not asked for (\"sts.amazonaws.com\" and others was)");
    r.audience_count = 0;
    assert_int_equal(cfr_k8s_token_request_answer(&r, cfr_view_of(body), &g, &err), CFR_E_CONFIG);
}

/* Every cut of a good answer is an error. */
static void truncated_anywhere(void **state)
{
    struct cfr_view whole = data_file_read("kube/grants/plain.json");
    struct cfr_k8s_token_request r = request();

    (void)state;
    for (size_t n = 0; n + 2 < whole.n; n++) {
        struct cfr_k8s_token_grant g;
        struct cfr_err err = {0};

        assert_int_equal(cfr_k8s_token_request_answer(&r, (struct cfr_view){whole.p, n}, &g, &err), CFR_E_ANSWER);
        assert_null(g.token.p);
    }
    data_file_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),
        cmocka_unit_test(bodies),
        cmocka_unit_test(what_cannot_be_asked),
        cmocka_unit_test(answers),
        cmocka_unit_test(several_audiences),
        cmocka_unit_test(truncated_anywhere),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
