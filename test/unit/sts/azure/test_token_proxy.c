/* SPDX-License-Identifier: MIT */
/* Identity bindings of AKS: where the token goes, and which settings are refused. */
#include "sts_golden.h"

#include "azure_sample.h"
#include "sts/azure/azure_private.h"
#include "sts/azure/token_proxy_private.h"

#define ENV(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define PROXY_URL "AZURE_KUBERNETES_TOKEN_PROXY", "https://10.0.0.1:8443/proxy/"
#define PEM       "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

static char tenant[] = SAMPLE_TENANT;
static char client[] = SAMPLE_CLIENT;

static struct cfr_azure base(void)
{
    return (struct cfr_azure){.tenant_id = tenant, .client_id = client};
}

static void compare(const struct cfr_azure *c, const char *const *environment, unsigned step, const char *file)
{
    struct cfr_sts_exchange x = {.provider = &cfr_azure_provider, .config = c, .step = step};
    struct cfr_sts_input in = sample_input();

    sample_environment = environment;
    assert_int_equal(cfr_grant_set(&x.grant, CFR_FIELD_AZURE_ACCESS_TOKEN, cfr_view_of("arm.token"), NULL), 0);
    golden_request(&x, &in, file);
    cfr_grant_free(&x.grant);
    sample_environment = NULL;
}

static void the_same_request_goes_to_the_proxy(void **state)
{
    struct cfr_azure_token_proxy proxy = {.url = (char[]){"https://proxy.example"}};
    struct cfr_azure_token_proxy_settings p;
    struct cfr_azure c = base();
    char *registries[] = {(char[]){"myregistry.azurecr.io"}};

    (void)state;
    compare(&c, ENV(PROXY_URL, "AZURE_KUBERNETES_SNI_NAME", "abc.proxy.example", "AZURE_KUBERNETES_CA_FILE", "/ca.pem"),
            0, "azure/requests/token-proxy-file.txt");
    compare(&c, ENV(PROXY_URL, "AZURE_KUBERNETES_CA_DATA", PEM), 0, "azure/requests/token-proxy-data.txt");
    /* The configuration comes first, as a whole. */
    c.token_proxy = &proxy;
    compare(&c, ENV(PROXY_URL, "AZURE_KUBERNETES_SNI_NAME", "abc.proxy.example", "AZURE_KUBERNETES_CA_FILE", "/ca.pem"),
            0, "azure/requests/token-proxy-key.txt");
    /* Without a CA for the proxy, that of the exchange is used. */
    c.ca_file = (char[]){"/exchange.pem"};
    compare(&c, NULL, 0, "azure/requests/token-proxy-exchange-ca.txt");
    c.ca_file = NULL;
    /* A registry gets a token of the identity, by itself. */
    c.token_proxy = NULL;
    c.acr = (struct cfr_strings){registries, 1};
    compare(&c, ENV(PROXY_URL), 1, "azure/requests/token-proxy-registry.txt");
    /* It takes tokens only. */
    c.acr = (struct cfr_strings){NULL, 0};
    c.client_secret_file = (char[]){"/secret"};
    sample_environment = ENV(PROXY_URL);
    assert_int_equal(cfr_azure_token_proxy_of(&c, sample_env, &p, NULL), 0);
    assert_null(p.url);
    sample_environment = ENV("AZURE_KUBERNETES_SNI_NAME", "abc");
    assert_int_equal(cfr_azure_provider.check(&c, sample_env, NULL), 0);
    sample_environment = NULL;
}

static void refuses(const char *const *environment, const char *why)
{
    struct cfr_azure c = base();
    struct cfr_err err = {0};

    sample_environment = environment;
    if (cfr_azure_provider.check(&c, sample_env, &err) != CFR_E_CONFIG || strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\", got \"%s\"", why, err.text);
    sample_environment = NULL;
}

static void half_of_the_settings_is_an_error(void **state)
{
    struct cfr_azure c = base();
    char url[600] = "https://a/";

    (void)state;
    memset(url + strlen(url), 'b', sizeof url - 1 - strlen(url));
    refuses(ENV("AZURE_KUBERNETES_TOKEN_PROXY", url), "AZURE_KUBERNETES_TOKEN_PROXY: it is longer than 500 bytes");
    refuses(ENV("AZURE_KUBERNETES_SNI_NAME", "abc"),
            "the environment has AZURE_KUBERNETES_SNI_NAME but not AZURE_KUBERNETES_TOKEN_PROXY");
    refuses(ENV("AZURE_KUBERNETES_CA_FILE", "/ca.pem"), "the environment has AZURE_KUBERNETES_CA_FILE but not");
    refuses(ENV("AZURE_KUBERNETES_CA_DATA", PEM), "the environment has AZURE_KUBERNETES_CA_DATA but not");
    refuses(ENV(PROXY_URL, "AZURE_KUBERNETES_CA_FILE", "/ca.pem", "AZURE_KUBERNETES_CA_DATA", PEM), "has both");
    refuses(ENV(PROXY_URL, "AZURE_KUBERNETES_CA_DATA", "/ca.pem"), "AZURE_KUBERNETES_CA_DATA: it holds no certificate");
    refuses(ENV(PROXY_URL, "AZURE_KUBERNETES_SNI_NAME", "a b"), "AZURE_KUBERNETES_SNI_NAME: it must be the name");
    refuses(ENV("AZURE_KUBERNETES_TOKEN_PROXY", "http://127.0.0.1"),
            "AZURE_KUBERNETES_TOKEN_PROXY: it must begin with");
    refuses(ENV("AZURE_KUBERNETES_TOKEN_PROXY", "http://proxy"), "AZURE_KUBERNETES_TOKEN_PROXY: ");
    refuses(ENV("AZURE_KUBERNETES_TOKEN_PROXY", "https://a/?b"), "AZURE_KUBERNETES_TOKEN_PROXY: it has a query");
    refuses(ENV("AZURE_KUBERNETES_TOKEN_PROXY", "https://a/#b"), "AZURE_KUBERNETES_TOKEN_PROXY: ");
    refuses(ENV("AZURE_KUBERNETES_TOKEN_PROXY", "https://u@a/"), "AZURE_KUBERNETES_TOKEN_PROXY: ");
    /* Empty variables count as unset. */
    sample_environment = ENV("AZURE_KUBERNETES_TOKEN_PROXY", "", "AZURE_KUBERNETES_SNI_NAME", "");
    assert_int_equal(cfr_azure_provider.check(&c, sample_env, NULL), 0);
    sample_environment = NULL;
}

static void keys(void **state)
{
    struct cfr_azure_token_proxy proxy = {.url = (char[]){"https://proxy.example/a"}};
    struct cfr_azure c = base();
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_azure_token_proxy_table.check(&proxy, &err), 0);
    proxy.server_name = (char[]){"proxy.example:443"};
    assert_int_equal(cfr_azure_token_proxy_table.check(&proxy, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "server_name: it must be the name of a host"));
    proxy.url = (char[]){"http://localhost"};
    assert_int_equal(cfr_azure_token_proxy_table.check(&proxy, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "url: it must begin with https://"));
    c.token_proxy = &proxy;
    c.certificate_file = (char[]){"/cert.pem"};
    assert_int_equal(cfr_azure_table.check(&c, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "token_proxy: it only takes tokens, and there is a certificate_file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_request_goes_to_the_proxy),
        cmocka_unit_test(half_of_the_settings_is_an_error),
        cmocka_unit_test(keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
