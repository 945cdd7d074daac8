/* SPDX-License-Identifier: MIT */
/* What the Azure formats write, byte for byte, and what they refuse. */
#include "format_sample.h"

#define EXPIRES 1767326645

static int setup(void **state)
{
    (void)state;
    format_begin();
    set(CFR_FIELD_TOKEN, "e30.e30.c2ln");
    set(CFR_FIELD_AZURE_CLIENT_ID, "11111111-2222-3333-4444-555555555555");
    set(CFR_FIELD_AZURE_TENANT_ID, "contoso.example");
    set(CFR_FIELD_AZURE_SCOPE, "https://management.azure.com/.default");
    set(CFR_FIELD_AZURE_AUTHORITY_HOST, "https://login.microsoftonline.com/");
    set(CFR_FIELD_AZURE_ACCESS_TOKEN, "one\"token");
    set(CFR_FIELD_AZURE_ACCESS_TOKEN ":https://database.windows.net//.default", "two");
    set(CFR_FIELD_AZURE_ACCESS_TOKEN ":https://plain.example", "three");
    grant.expires_s = EXPIRES;
    input =
        (struct cfr_format_input){.credential = "c", .generation = 1, .grant = &grant, .token_path = "/run/c/token"};
    return 0;
}

#define TAIL(scope)                                                                                                    \
    ",\"token_type\":\"Bearer\",\"client_id\":\"11111111-2222-3333-4444-555555555555\",\"scope\":\"" scope             \
    "\",\"tenant_id\":\"contoso.example\"}\n"
#define ARM                                                                                                            \
    "{\"access_token\":\"one\\\"token\",\"expires_on\":\"1767326645\",\"resource\":\"https://"                         \
    "management.azure.com\"" TAIL("https://management.azure.com/.default")
#define DATABASE                                                                                                       \
    "{\"access_token\":\"two\",\"expires_on\":\"1767326645\",\"resource\":\"https://database.windows.net/"             \
    "\"" TAIL("https://database.windows.net//.default")
#define PLAIN                                                                                                          \
    "{\"access_token\":\"three\",\"expires_on\":\"1767326645\",\"resource\":\"https://plain.example\"" TAIL(           \
        "https://plain.example")

static void token_json(void **state)
{
    static const char *const rows[][2] = {
        {NULL, ARM},
        {"", ARM},
        {"https://management.azure.com", ARM},
        {"https://management.azure.com/.default", ARM},
        {"https://database.windows.net/", DATABASE},
        {"https://database.windows.net//.default", DATABASE},
        {"https://plain.example", PLAIN},
        {"https://plain.example/.default", PLAIN},
    };
    static const char *const unknown[] = {"https://management.azure.com/", "https://database.windows.net",
                                          "contoso.example", "azure_scope", "/.default"};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        input.scope = rows[i][0];
        check("azure-token-json", rows[i][1]);
    }
    for (size_t i = 0; i < COUNT(unknown); i++) {
        input.scope = unknown[i];
        assert_int_equal(render("azure-token-json"), CFR_E_CONFIG);
        assert_contains(err.text, "finds no token for the scope");
    }
}

static void token_json_of_others(void **state)
{
    (void)state;
    grant.expires_s = 0;
    assert_int_equal(render("azure-token-json"), 0);
    assert_null(strstr(out.p, "expires_on"));
    cfr_grant_free(&grant);
    set(CFR_FIELD_AWS_ACCESS_KEY_ID, "A");
    assert_int_equal(render("azure-token-json"), CFR_E_CONFIG);
    assert_contains(err.text, "needs azure_access_token");
}

static void environment(void **state)
{
    (void)state;
    check("azure-env", "AZURE_CLIENT_ID=11111111-2222-3333-4444-555555555555\n"
                       "AZURE_TENANT_ID=contoso.example\n"
                       "AZURE_FEDERATED_TOKEN_FILE=/run/c/token\n"
                       "AZURE_AUTHORITY_HOST=https://login.microsoftonline.com/\n");
    input.azure_client_id = "client";
    input.azure_tenant_id = "tenant";
    input.azure_authority_host = "https://login.microsoftonline.us/";
    check("azure-env", "AZURE_CLIENT_ID=client\nAZURE_TENANT_ID=tenant\nAZURE_FEDERATED_TOKEN_FILE=/run/c/token\n"
                       "AZURE_AUTHORITY_HOST=https://login.microsoftonline.us/\n");
    /* Without an exchange the consumer does it, and the configuration has to name everything. */
    cfr_grant_free(&grant);
    input.azure_authority_host = NULL;
    check("azure-env", "AZURE_CLIENT_ID=client\nAZURE_TENANT_ID=tenant\nAZURE_FEDERATED_TOKEN_FILE=/run/c/token\n");
    input.azure_tenant_id = NULL;
    assert_int_equal(render("azure-env"), CFR_E_CONFIG);
    assert_contains(err.text, "azure-env needs a tenant ID");
    input.azure_client_id = "";
    assert_int_equal(render("azure-env"), CFR_E_CONFIG);
    assert_contains(err.text, "azure-env needs a client ID");
    input.token_path = NULL;
    assert_int_equal(render("azure-env"), CFR_E_CONFIG);
    assert_contains(err.text, "azure-env needs the path of a token: write `token_path`");
}

/* A secret needs no token; what follows a tilde in it no shell takes for a home directory. */
static void client_secret(void **state)
{
    (void)state;
    input.token_path = NULL;
    set(CFR_FIELD_AZURE_CLIENT_SECRET, "s8Q~a_.-~");
    check("azure-env", "AZURE_CLIENT_ID=11111111-2222-3333-4444-555555555555\n"
                       "AZURE_TENANT_ID=contoso.example\n"
                       "AZURE_CLIENT_SECRET=s8Q~a_.-~\n"
                       "AZURE_AUTHORITY_HOST=https://login.microsoftonline.com/\n");
    assert_int_equal(render("json"), 0);
    assert_null(strstr(out.p, "s8Q"));
    set(CFR_FIELD_AZURE_CLIENT_SECRET, "~home");
    assert_int_equal(render("azure-env"), CFR_E_ANSWER);
    set(CFR_FIELD_AZURE_CLIENT_SECRET, "a:~home");
    assert_int_equal(render("azure-env"), CFR_E_ANSWER);
}

static void values_that_need_quotes(void **state)
{
    (void)state;
    input.token_path = "/run/c/a token";
    assert_int_equal(render("azure-env"), CFR_E_CONFIG);
    assert_contains(err.text, "AZURE_FEDERATED_TOKEN_FILE");
    input.token_path = "/run/c/token";
    set(CFR_FIELD_AZURE_CLIENT_ID, "my app");
    assert_int_equal(render("azure-env"), CFR_E_ANSWER);
    input.azure_client_id = "my app";
    assert_int_equal(render("azure-env"), CFR_E_CONFIG);
}

/* Further tokens are in json, and not in env, where their names could not stand. */
static void plain_formats(void **state)
{
    (void)state;
    set(CFR_FIELD_AZURE_ACCESS_TOKEN, "one");
    check("env", "AZURE_CLIENT_ID=11111111-2222-3333-4444-555555555555\n"
                 "AZURE_TENANT_ID=contoso.example\n"
                 "AZURE_SCOPE=https://management.azure.com/.default\n"
                 "AZURE_AUTHORITY_HOST=https://login.microsoftonline.com/\n"
                 "AZURE_ACCESS_TOKEN=one\n");
    assert_int_equal(render("json"), 0);
    assert_contains(out.p, "\"azure_access_token:https://plain.example\":\"three\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(token_json, setup, teardown),
        cmocka_unit_test_setup_teardown(token_json_of_others, setup, teardown),
        cmocka_unit_test_setup_teardown(environment, setup, teardown),
        cmocka_unit_test_setup_teardown(client_secret, setup, teardown),
        cmocka_unit_test_setup_teardown(values_that_need_quotes, setup, teardown),
        cmocka_unit_test_setup_teardown(plain_formats, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
