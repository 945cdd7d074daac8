/* SPDX-License-Identifier: MIT */
/* Output of `credfresh get`, byte for byte, and which token it uses. */
#include "unit.h"

#include "base/json.h"
#include "serve/sdk/plugin_output.h"

static struct cfr_grant grant_of(const char *const *pairs)
{
    struct cfr_grant g = {0};

    for (; pairs[0] != NULL; pairs += 2)
        assert_int_equal(cfr_grant_set(&g, pairs[0], cfr_view_of(pairs[1]), NULL), 0);
    return g;
}

static void expect_field(const char *const *pairs, enum cfr_sdk_plugin_use use, const char *field, const char *want)
{
    struct cfr_grant g = grant_of(pairs);
    const struct cfr_grant_field *f;
    struct cfr_err err = {0};

    if (want != NULL) {
        assert_int_equal(cfr_sdk_plugin_field(&g, use, field, &f, &err), 0);
        assert_string_equal(f->name, want);
    } else {
        assert_int_equal(cfr_sdk_plugin_field(&g, use, field, &f, &err), CFR_E_CONFIG);
        assert_null(f);
        assert_contains(err.text, pairs[0]);
        assert_null(strstr(err.text, "secret-value"));
    }
    cfr_grant_free(&g);
}

static void fields(void **state)
{
    static const char *const plain[] = {"token", "secret-value", NULL};
    static const char *const gcp[] = {"token", "secret-value", "gcp_access_token", "b", NULL};
    static const char *const aws[] = {
        "aws_access_key_id", "a", "aws_secret_access_key", "secret-value", "token", "t", NULL};
    static const char *const oauth[] = {"oauth_access_token", "a", "oauth_id_token", "i", "token", "t", NULL};
    static const char *const docker[] = {"registry_auths", "secret-value", "token", "t", NULL};
    static const char *const secret[] = {"secret:token", "t", "secret:ca.crt", "c", NULL};
    static const char *const azure[] = {"gcp_access_token", "g", "azure_access_token", "a", "token", "t", NULL};
    static const char *const ids[] = {"gcp_id_token", "g", "oauth_id_token", "o", "secret:token", "t", NULL};
    static const char *const keystone[] = {"openstack_auth_url", "u", "openstack_token", "o", "token", "t", NULL};
    static const char *const empty[] = {"token", "", NULL};

    (void)state;
    expect_field(plain, CFR_SDK_PLUGIN_ANY, NULL, "token");
    expect_field(plain, CFR_SDK_PLUGIN_CLUSTER, NULL, "token");
    expect_field(gcp, CFR_SDK_PLUGIN_ANY, NULL, "gcp_access_token");
    expect_field(gcp, CFR_SDK_PLUGIN_SUBJECT, NULL, "token");
    expect_field(gcp, CFR_SDK_PLUGIN_CLUSTER, NULL, "gcp_access_token");
    expect_field(gcp, CFR_SDK_PLUGIN_CLUSTER, "token", "token");
    expect_field(aws, CFR_SDK_PLUGIN_ANY, NULL, NULL);
    expect_field(aws, CFR_SDK_PLUGIN_CLUSTER, NULL, NULL);
    expect_field(aws, CFR_SDK_PLUGIN_SUBJECT, NULL, "token");
    expect_field(aws, CFR_SDK_PLUGIN_ANY, "aws_secret_access_key", "aws_secret_access_key");
    expect_field(oauth, CFR_SDK_PLUGIN_ANY, NULL, "oauth_access_token");
    expect_field(oauth, CFR_SDK_PLUGIN_CLUSTER, NULL, "oauth_id_token");
    expect_field(docker, CFR_SDK_PLUGIN_ANY, NULL, NULL);
    expect_field(secret, CFR_SDK_PLUGIN_ANY, NULL, "secret:token");
    expect_field(secret, CFR_SDK_PLUGIN_SUBJECT, NULL, "secret:token");
    expect_field(azure, CFR_SDK_PLUGIN_ANY, NULL, "gcp_access_token");
    expect_field(azure, CFR_SDK_PLUGIN_CLUSTER, NULL, "azure_access_token");
    expect_field(ids, CFR_SDK_PLUGIN_ANY, NULL, "gcp_id_token");
    expect_field(ids, CFR_SDK_PLUGIN_SUBJECT, NULL, "oauth_id_token");
    expect_field(keystone, CFR_SDK_PLUGIN_ANY, NULL, "openstack_token");
    expect_field(keystone, CFR_SDK_PLUGIN_CLUSTER, NULL, NULL);
    expect_field(keystone, CFR_SDK_PLUGIN_SUBJECT, NULL, "token");
    expect_field(empty, CFR_SDK_PLUGIN_ANY, NULL, NULL);
    expect_field(plain, CFR_SDK_PLUGIN_ANY, "tokens", NULL);
}

static void answer(void **state)
{
    struct cfr_grant g;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(
        cfr_sdk_plugin_read(
            LITERAL("{\"credential\":\"demo\",\"kind\":\"aws\",\"expires\":\"2026-01-02T04:04:05Z\",\"fields\":{"
                    "\"aws_access_key_id\":\"AKIA\",\"aws_secret_access_key\":\"s/\\u0041\"}}\n"),
            &g, &err),
        0);
    assert_int_equal(g.expires_s, 1767326645);
    assert_view(cfr_grant_get(&g, "aws_access_key_id"), "AKIA");
    assert_view(cfr_grant_get(&g, "aws_secret_access_key"), "s/A");
    cfr_grant_free(&g);
    assert_int_equal(
        cfr_sdk_plugin_read(LITERAL("{\"expires\":null,\"fields\":{\"token\":\"t\"},\"more\":[1]}"), &g, &err), 0);
    assert_int_equal(g.expires_s, 0);
    cfr_grant_free(&g);
}

static void bad_answers(void **state)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"fields\":{}}",
                                      "{\"fields\":[\"token\"]}",
                                      "{\"fields\":{\"token\":1}}",
                                      "{\"expires\":5,\"fields\":{\"token\":\"t\"}}",
                                      "{\"expires\":\"soon\",\"fields\":{\"token\":\"t\"}}"};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct cfr_grant g;
        struct cfr_err err = {0};

        assert_int_equal(cfr_sdk_plugin_read(cfr_view_of(bad[i]), &g, &err), CFR_E_ANSWER);
        assert_contains(err.text, "the agent's answer");
        cfr_grant_free(&g);
    }
}

static void early(void **state)
{
    (void)state;
    assert_int_equal(cfr_sdk_plugin_early(0, 1000), 0);
    assert_int_equal(cfr_sdk_plugin_early(4600, 1000), 4540);
    assert_int_equal(cfr_sdk_plugin_early(1240, 1000), 1180);
    assert_int_equal(cfr_sdk_plugin_early(1100, 1000), 1075);
    assert_int_equal(cfr_sdk_plugin_early(1001, 1000), 1001);
    assert_int_equal(cfr_sdk_plugin_early(900, 1000), 900);
}

static void expect_gcp(const char *type, int64_t expires_s, const char *want)
{
    struct cfr_secret out;
    struct cfr_err err = {0};

    cfr_secret_init(&out, 4096);
    assert_int_equal(cfr_sdk_plugin_gcp(cfr_view_of("a.b\"c"), type, expires_s, &out, &err), 0);
    assert_view(cfr_secret_view(&out), want);
    cfr_secret_free(&out);
}

static void gcp(void **state)
{
    static const char jwt[] = "{\"version\":1,\"success\":true,\"token_type\":\"urn:ietf:params:oauth:token-type:jwt\","
                              "\"id_token\":\"a.b\\\"c\",\"expiration_time\":1767326645}\n";
    struct cfr_secret out;
    struct cfr_err err = {0};
    struct cfr_err why = {0};

    (void)state;
    expect_gcp(NULL, 1767326645, jwt);
    expect_gcp("", 1767326645, jwt);
    expect_gcp("urn:ietf:params:oauth:token-type:id_token", 0,
               "{\"version\":1,\"success\":true,\"token_type\":\"urn:ietf:params:oauth:token-type:id_token\","
               "\"id_token\":\"a.b\\\"c\"}\n");
    cfr_secret_init(&out, 4096);
    assert_int_equal(cfr_sdk_plugin_gcp(cfr_view_of("t"), "urn:ietf:params:oauth:token-type:saml2", 5, &out, &err),
                     CFR_E_CONFIG);
    assert_contains(err.text, "saml2");
    assert_int_equal(out.len, 0);
    (void)cfr_err_set(&why, CFR_E_NET, "nobody \"listens\"");
    assert_int_equal(cfr_sdk_plugin_gcp_failed(&why, &out, NULL), 0);
    assert_view(cfr_secret_view(&out),
                "{\"version\":1,\"success\":false,\"code\":\"network\",\"message\":\"nobody \\\"listens\\\"\"}\n");
    cfr_secret_clear(&out);
    assert_int_equal(cfr_sdk_plugin_gcp_revoked(&out, NULL), 0);
    assert_view(cfr_secret_view(&out), "{\"version\":1,\"success\":true}\n");
    cfr_secret_free(&out);
    cfr_secret_init(&out, 8);
    assert_int_equal(cfr_sdk_plugin_gcp(cfr_view_of("t"), NULL, 5, &out, &err), CFR_E_LIMIT);
    cfr_secret_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields), cmocka_unit_test(answer), cmocka_unit_test(bad_answers),
        cmocka_unit_test(early),  cmocka_unit_test(gcp),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
