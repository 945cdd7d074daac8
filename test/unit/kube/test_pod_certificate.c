/* SPDX-License-Identifier: MIT */
/* PodCertificateRequests: paths, requests, the body of a status, and the names that a policy gives. */
#include "unit.h"

#include "base/json.h"
#include "kube/pod_policy.h"

#define REQUEST(metadata, spec, status)                                                                                \
    "{\"kind\":\"PodCertificateRequest\",\"metadata\":{\"namespace\":\"shop\",\"name\":\"r-1\",\"uid\":\"u\","         \
    "\"resourceVersion\":\"7\"" metadata                                                                               \
    "},\"spec\":{\"signerName\":\"example.com/service\",\"podName\":\"web-0\",\"podUID\":\"p\","                       \
    "\"serviceAccountName\":\"web\"" spec "}" status "}"

static void paths(void **state)
{
    char path[CFR_K8S_POD_CERT_PATH_MAX];

    (void)state;
    assert_string_equal(cfr_k8s_pod_cert_collection(false), "/apis/certificates.k8s.io/v1/podcertificaterequests");
    assert_string_equal(cfr_k8s_pod_cert_collection(true), "/apis/certificates.k8s.io/v1beta1/podcertificaterequests");
    assert_true(cfr_k8s_pod_cert_path(false, "shop", "r-1", true, path));
    assert_string_equal(path, "/apis/certificates.k8s.io/v1/namespaces/shop/podcertificaterequests/r-1/status"
                              "?fieldManager=credfresh");
    assert_false(cfr_k8s_pod_cert_path(false, "shop", "../r", true, path));
    assert_false(cfr_k8s_pod_cert_path(false, "a.b", "r", true, path));
}

static int read_request(const char *text, struct cfr_k8s_pod_cert *out)
{
    struct cfr_err err = {0};

    return cfr_k8s_pod_cert_read(cfr_view_of(text), "example.com/service", "shop", "r-1", out, &err);
}

static void requests(void **state)
{
    static const char *const decided[] = {
        REQUEST("", "", ",\"status\":{\"conditions\":[{\"type\":\"Denied\"}]}"),
        REQUEST("", "", ",\"status\":{\"certificateChain\":\"x\"}"),
        REQUEST(",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", "", ""),
    };
    struct cfr_k8s_pod_cert r;

    (void)state;
    assert_int_equal(read_request(REQUEST("",
                                          ",\"maxExpirationSeconds\":3600,\"stubPKCS10Request\":\"AQID\","
                                          "\"pkixPublicKey\":\"%%\",\"unverifiedUserAnnotations\":{\"a.b/c\":\"d\"}",
                                          ",\"status\":{}"),
                                  &r),
                     0);
    assert_string_equal(r.namespace_name, "shop");
    assert_string_equal(r.pod, "web-0");
    assert_string_equal(r.service_account, "web");
    assert_int_equal(r.life_max_s, 3600);
    assert_true(r.annotated && !r.decided);
    assert_int_equal(r.request.len, 3);
    assert_int_equal(r.public_key.len, 0);
    cfr_k8s_pod_cert_free(&r);
    assert_int_equal(read_request(REQUEST("", ",\"unverifiedUserAnnotations\":{}", ""), &r), 0);
    assert_int_equal(r.life_max_s, 86400);
    assert_false(r.annotated || r.decided);
    cfr_k8s_pod_cert_free(&r);
    for (size_t i = 0; i < COUNT(decided); i++) {
        assert_int_equal(read_request(decided[i], &r), 0);
        assert_true(r.decided);
        cfr_k8s_pod_cert_free(&r);
    }
}

static void other_objects(void **state)
{
    static const char good[] = REQUEST("", "", "");
    static const char *const changes[][2] = {
        {"PodCertificateRequest", "CertificateRequest_xx"},
        {"\"shop\"", "\"fish\""},
        {"\"r-1\"", "\"r-2\""},
        {"\"uid\"", "\"uld\""},
        {"\"7\"", "\"\""},
        {"web-0", "Web-0"},
        {"example.com/service", "example.com/another"},
        {"\"podUID\"", "\"podUid\""},
        {"\"web\"", "\"w/b\""},
    };
    struct cfr_k8s_pod_cert r;

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        char text[1024];
        const char *at = strstr(good, changes[i][0]);

        assert_non_null(at);
        (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, changes[i][1],
                       at + strlen(changes[i][0]));
        if (read_request(text, &r) != CFR_E_ANSWER)
            fail_msg("%s", text);
    }
}

static void bodies(void **state)
{
    struct cfr_k8s_pod_cert_result issued = {
        .message = "m", .chain = {"PEM\n", 4}, .begins_s = 1790000000, .ends_s = 1790086400, .refresh_s = 1790050000};
    struct cfr_k8s_pod_cert_result denied = {.denied = "NotAllowed", .message = "a \"b\""};
    struct cfr_k8s_pod_cert r;
    struct cfr_secret body;

    (void)state;
    assert_int_equal(read_request(REQUEST("", "", ""), &r), 0);
    cfr_secret_init(&body, CFR_K8S_POD_CERT_BODY_MAX);
    assert_int_equal(cfr_k8s_pod_cert_body(false, &r, &issued, 1790000060, &body, NULL), 0);
    assert_string_equal(
        body.p, "{\"apiVersion\":\"certificates.k8s.io/v1\",\"kind\":\"PodCertificateRequest\",\"metadata\":{"
                "\"namespace\":\"shop\",\"name\":\"r-1\",\"uid\":\"u\",\"resourceVersion\":\"7\"},\"status\":{"
                "\"conditions\":[{\"type\":\"Issued\",\"status\":\"True\",\"reason\":\"Issued\",\"message\":\"m\","
                "\"lastTransitionTime\":\"2026-09-21T14:14:20Z\"}],\"certificateChain\":\"PEM\\u000a\","
                "\"notBefore\":\"2026-09-21T14:13:20Z\",\"notAfter\":\"2026-09-22T14:13:20Z\","
                "\"beginRefreshAt\":\"2026-09-22T04:06:40Z\"}}");
    cfr_secret_clear(&body);
    assert_int_equal(cfr_k8s_pod_cert_body(true, &r, &denied, 1790000060, &body, NULL), 0);
    assert_non_null(strstr(body.p, "certificates.k8s.io/v1beta1"));
    assert_non_null(strstr(body.p, "\"type\":\"Denied\",\"status\":\"True\",\"reason\":\"NotAllowed\",\"message\":\"a "
                                   "\\\"b\\\"\""));
    assert_null(strstr(body.p, "certificateChain"));
    assert_null(strstr(body.p, "notBefore"));
    issued.chain.n = CFR_K8S_POD_CERT_CHAIN_MAX + 1;
    assert_int_equal(cfr_k8s_pod_cert_body(false, &r, &issued, 0, &body, NULL), CFR_E_LIMIT);
    cfr_secret_free(&body);
    cfr_k8s_pod_cert_free(&r);
}

static void names(void **state)
{
    static const char *const web[] = {"spiffe", "web.shop.svc", "{pod}.web.shop.svc"};
    static const char *const any[] = {"spiffe"};
    char shop[] = "shop";
    char account[] = "web";
    char star[] = "*";
    char domain[] = "example.com";
    struct cfr_k8s_pod_allow allow[] = {
        {.namespace_name = shop, .service_account = account, .names = {(char **)(void *)(uintptr_t)web, COUNT(web)}},
        {.namespace_name = star, .service_account = star, .names = {(char **)(void *)(uintptr_t)any, COUNT(any)}},
    };
    struct cfr_k8s_pod_policy policy = {.trust_domain = domain, .allow = {allow, COUNT(allow)}};
    struct cfr_k8s_pod_cert r = {.namespace_name = "shop", .pod = "web-0", .service_account = "web"};
    struct cfr_k8s_pod_names found;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_k8s_pod_policy_names(&policy, &r, &found, &err), 0);
    assert_int_equal(found.uris.count, 1);
    assert_string_equal(found.uris.items[0], "spiffe://example.com/ns/shop/sa/web");
    assert_int_equal(found.dns.count, 2);
    assert_string_equal(found.dns.items[0], "web.shop.svc");
    assert_string_equal(found.dns.items[1], "web-0.web.shop.svc");
    cfr_k8s_pod_names_free(&found);
    (void)snprintf(r.pod, sizeof r.pod, "a.b");
    assert_int_equal(cfr_k8s_pod_policy_names(&policy, &r, &found, &err), CFR_E_REJECTED);
    (void)snprintf(r.service_account, sizeof r.service_account, "web2");
    assert_int_equal(cfr_k8s_pod_policy_names(&policy, &r, &found, &err), 0);
    assert_int_equal(found.uris.count, 1);
    assert_string_equal(found.uris.items[0], "spiffe://example.com/ns/shop/sa/web2");
    assert_int_equal(found.dns.count, 0);
    cfr_k8s_pod_names_free(&found);
    policy.allow.count = 1;
    assert_int_equal(cfr_k8s_pod_policy_names(&policy, &r, &found, &err), CFR_E_DENIED);
    assert_int_equal(found.uris.count + found.dns.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),  cmocka_unit_test(requests), cmocka_unit_test(other_objects),
        cmocka_unit_test(bodies), cmocka_unit_test(names),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
