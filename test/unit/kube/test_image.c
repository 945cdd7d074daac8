/* SPDX-License-Identifier: MIT */
/* The image credential provider's request and response. */
#include "unit.h"

#include "kube/image_credential.h"

#define HEAD  "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\""
#define IMAGE "123456789012.dkr.ecr.eu-west-1.amazonaws.com/app:1"
#define RESPONSE                                                                                                       \
    "{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","                \
    "\"cacheKeyType\":\"Registry\",\"cacheDuration\":"

static void whole_request(void **state)
{
    struct cfr_k8s_image_request r;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(
        cfr_k8s_image_request_read(LITERAL(HEAD ",\"image\":\"" IMAGE "\",\"serviceAccountToken\":\"a.b.c\","
                                                "\"serviceAccountAnnotations\":{\"example.net/role\":\"r1\","
                                                "\"n\":7}}\n"),
                                   &r, &err),
        0);
    assert_view(r.image, IMAGE);
    assert_view(r.registry, "123456789012.dkr.ecr.eu-west-1.amazonaws.com");
    assert_view(r.token, "a.b.c");
    assert_view(cfr_k8s_image_request_annotation(&r, "example.net/role"), "r1");
    assert_int_equal(cfr_k8s_image_request_annotation(&r, "example.net/other").n, 0);
    assert_int_equal(cfr_k8s_image_request_annotation(&r, "n").n, 0);
    cfr_k8s_image_request_free(&r);
    assert_null(r.doc);
    cfr_k8s_image_request_free(&r);
}

static void smallest_request(void **state)
{
    struct cfr_k8s_image_request r;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_k8s_image_request_read(LITERAL(HEAD ",\"image\":\"docker.io/library/nginx\"}"), &r, &err), 0);
    assert_view(r.registry, "docker.io");
    assert_int_equal(r.token.n, 0);
    assert_int_equal(cfr_k8s_image_request_annotation(&r, "x").n, 0);
    cfr_k8s_image_request_free(&r);
}

static void bad_request(const char *text, const char *error)
{
    struct cfr_k8s_image_request r;
    struct cfr_err err = {0};

    assert_int_equal(cfr_k8s_image_request_read(cfr_view_of(text), &r, &err), CFR_E_ANSWER);
    assert_contains(err.text, error);
    cfr_k8s_image_request_free(&r);
}

static void bad_requests(void **state)
{
    char *large = calloc(1, CFR_K8S_IMAGE_REQUEST_MAX + 2);

    (void)state;
    bad_request("", "the kubelet's request is not JSON: it is empty");
    bad_request("{", "the kubelet's request is not JSON");
    bad_request("{}", "no CredentialProviderRequest (its kind is \"\"): this command is run by the kubelet");
    bad_request("{\"kind\":\"Pod\"}", "its kind is \"Pod\"");
    bad_request("{\"kind\":\"secretsecretsecret\",\"serviceAccountToken\":\"secretsecretsecret\"}", "\"[removed]\"");
    bad_request("{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/"
                "v1beta1\"}",
                "apiVersion \"credentialprovider.kubelet.k8s.io/v1beta1\": write `apiVersion: "
                "credentialprovider.kubelet.k8s.io/v1`");
    bad_request(HEAD "}", "names no image");
    bad_request(HEAD ",\"image\":\"\"}", "names no image");
    bad_request(HEAD ",\"image\":7}", "names no image");
    bad_request(HEAD ",\"image\":\"a b\"}", "is not an image name");
    bad_request(HEAD ",\"image\":\"a\\u0007\"}", "is not an image name");
    memset(large, ' ', CFR_K8S_IMAGE_REQUEST_MAX + 1);
    bad_request(large, "more than 262144 bytes");
    free(large);
}

static void expect(const char *auths, int64_t cache_s, const char *want)
{
    struct cfr_secret out;
    struct cfr_err err = {0};

    cfr_secret_init(&out, CFR_K8S_IMAGE_RESPONSE_MAX);
    if (cfr_k8s_image_response(cfr_view_of(auths), cache_s, false, &out, &err) != 0)
        fail_msg("%s: %s", auths, err.text);
    if (strcmp(out.p, want) != 0)
        fail_msg("got %s", out.p);
    cfr_secret_free(&out);
}

static void responses(void **state)
{
    (void)state;
    expect("", 0, RESPONSE "\"0s\",\"auth\":null}\n");
    expect(NULL, 300, RESPONSE "\"5m0s\",\"auth\":null}\n");
    expect("\"r.example.net\":{\"username\":\"AWS\",\"password\":\"p\\\"w\",\"auth\":\"ignored\"}", 21600,
           RESPONSE "\"6h0m0s\",\"auth\":{\"r.example.net\":{\"username\":\"AWS\",\"password\":\"p\\\"w\"}}}\n");
    expect("\"a\":{\"username\":\"u\",\"password\":\"p\"},\"b/team\":{\"auth\":\"dTpwOnE=\"}", 59,
           RESPONSE "\"59s\",\"auth\":{\"a\":{\"username\":\"u\",\"password\":\"p\"},\"b/team\":{\"username\":\"u\","
                    "\"password\":\"p:q\"}}}\n");
}

static void durations(void **state)
{
    static const struct {
        int64_t s;
        const char *text;
    } table[] = {
        {INT64_MIN, "0s"}, {-1, "0s"},       {1, "1s"},        {60, "1m0s"},       {61, "1m1s"},
        {3599, "59m59s"},  {3600, "1h0m0s"}, {3661, "1h1m1s"}, {90000, "25h0m0s"}, {INT64_MAX, "2562047h47m16s"},
    };
    char want[256];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        (void)snprintf(want, sizeof want, RESPONSE "\"%s\",\"auth\":null}\n", table[i].text);
        expect("", table[i].s, want);
    }
}

static void bad_logins(void **state)
{
    static const struct {
        const char *auths;
        const char *text;
    } table[] = {
        {"\"a\":", "the logins to registries: not JSON"},
        {"}, \"a\":{", "the logins to registries: not JSON"},
        {"\"a\":{}", "the login for the registry a has no username and password"},
        {"\"a\":7", "registry a has no username"},
        {"\"a\":{\"username\":\"u\"}", "registry a has no username"},
        {"\"a\":{\"username\":\"u\",\"password\":\"\"}", "registry a has no username"},
        {"\"a\":{\"auth\":\"dTpwOnE\"}", "registry a has no username"},
        {"\"a\":{\"auth\":\"bm9jb2xvbg==\"}", "registry a has no username"},
        {"\"a\":{\"auth\":\"dToA\"}", "registry a has no username"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct cfr_secret out;
        struct cfr_err err = {0};

        cfr_secret_init(&out, CFR_K8S_IMAGE_RESPONSE_MAX);
        assert_int_equal(cfr_k8s_image_response(cfr_view_of(table[i].auths), 60, false, &out, &err), CFR_E_ANSWER);
        assert_contains(err.text, table[i].text);
        cfr_secret_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_request), cmocka_unit_test(smallest_request), cmocka_unit_test(bad_requests),
        cmocka_unit_test(responses),     cmocka_unit_test(durations),        cmocka_unit_test(bad_logins),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
