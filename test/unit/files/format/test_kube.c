/* SPDX-License-Identifier: MIT */
/* The formats of what clients of a Kubernetes API server need: ca.crt, namespace and kubeconfig. */
#include "format_sample.h"

#include "base/json.h"

static int setup(void **state)
{
    (void)state;
    format_begin();
    set(CFR_FIELD_TOKEN, "e30.e30.c2ln");
    set(CFR_FIELD_KUBERNETES_SERVER, "https://10.0.0.1:6443");
    set(CFR_FIELD_KUBERNETES_CA, "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
    set(CFR_FIELD_KUBERNETES_NAMESPACE, "payments");
    input = (struct cfr_format_input){.credential = "api", .generation = 1, .grant = &grant, .section_header = true};
    return 0;
}

static void files_of_the_volume(void **state)
{
    (void)state;
    check("ca.crt", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
    check("namespace", "payments");
    check("token", "e30.e30.c2ln");
    input.field = "kubernetes_server";
    check("field", "https://10.0.0.1:6443");
    /* They are no part of what is known of the credential itself. */
    check("env", "TOKEN=e30.e30.c2ln\n");
    cfr_grant_free(&grant);
    assert_int_equal(render("ca.crt"), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "needs kubernetes_ca,"));
    assert_int_equal(render("namespace"), CFR_E_CONFIG);
    assert_int_equal(render("kubeconfig"), CFR_E_CONFIG);
}

static void kubeconfig(void **state)
{
    struct cfr_json *doc = NULL;

    (void)state;
    check("kubeconfig",
          "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"clusters\":[{\"name\":\"api\",\"cluster\":{\"server\":"
          "\"https://10.0.0.1:6443\",\"certificate-authority-data\":"
          "\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\"}}],"
          "\"users\":[{\"name\":\"api\",\"user\":{\"token\":\"e30.e30.c2ln\"}}],\"contexts\":[{\"name\":\"api\","
          "\"context\":{\"cluster\":\"api\",\"user\":\"api\",\"namespace\":\"payments\"}}],"
          "\"current-context\":\"api\"}\n");
    assert_int_equal(cfr_json_parse(cfr_secret_view(&out), &doc, NULL), 0);
    cfr_json_free(doc);
    input.server = "https://api.example.com";
    input.token_path = "/run/credentials/api/token";
    set(CFR_FIELD_KUBERNETES_CA, "");
    set(CFR_FIELD_KUBERNETES_NAMESPACE, "");
    check("kubeconfig", "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"clusters\":[{\"name\":\"api\",\"cluster\":"
                        "{\"server\":\"https://api.example.com\"}}],\"users\":[{\"name\":\"api\",\"user\":{"
                        "\"tokenFile\":\"/run/credentials/api/token\"}}],\"contexts\":[{\"name\":\"api\",\"context\":{"
                        "\"cluster\":\"api\",\"user\":\"api\"}}],\"current-context\":\"api\"}\n");
    input.server = NULL;
    set(CFR_FIELD_KUBERNETES_SERVER, "");
    assert_int_equal(render("kubeconfig"), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "`server`"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_the_volume),
        TEST(kubeconfig),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
