/* SPDX-License-Identifier: MIT */
/* The configuration of the Azure provider: defaults, the table's own rules, and those that need the
 * environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "azure_sample.h"
#include "base/json.h"
#include "base/view.h"
#include "sts/azure/settings_private.h"
#include "sts/providers.h"

#include <stdio.h>
#include <stdlib.h>

/* Makes a configuration from keys and values in turn, up to a NULL; lists by commas. The caller frees it with
 * drop. */
static struct cfr_azure make(const char *const *settings)
{
    struct cfr_azure c = {0};
    struct cfr_err err = {0};

    assert_int_equal(cfr_field_defaults(cfr_azure_provider.table, &c, &err), 0);
    for (; *settings != NULL; settings += 2) {
        const struct cfr_field *f = cfr_field_find(cfr_azure_provider.table, cfr_view_of(settings[0]));
        struct cfr_strings *list;
        char *copy = strdup(settings[1]);
        char *rest = copy;

        assert_non_null(f);
        if (f->type != CFR_FIELD_STRINGS) {
            if (cfr_field_store(f, &c, cfr_view_of(settings[1]), false, &err) != 0)
                fail_msg("%s: %s", settings[0], err.text);
            free(copy);
            continue;
        }
        list = (struct cfr_strings *)(void *)((char *)&c + f->offset);
        list->items = calloc(16, sizeof *list->items);
        for (char *item; (item = strsep(&rest, "|")) != NULL;)
            list->items[list->count++] = strdup(item);
        free(copy);
    }
    return c;
}

#define NAMES     "tenant_id", SAMPLE_TENANT, "client_id", SAMPLE_CLIENT
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Both checks; WHY NULL means that they must pass. URL is then where the first request goes, SCOPE what it
 * asks for. */
static void checks(const char *const *settings, const char *const *variables, const char *why, const char *url,
                   const char *scope)
{
    struct cfr_azure c = make(settings);
    struct cfr_azure_settings place;
    struct cfr_err err = {0};
    char buf[CFR_AZURE_URL_MAX];
    int rc;

    sample_environment = variables;
    rc = cfr_azure_provider.table->check(&c, &err);
    if (rc == 0)
        rc = cfr_azure_provider.check(&c, sample_env, &err);
    if (why != NULL) {
        if (rc != CFR_E_CONFIG || strstr(err.text, why) == NULL)
            fail_msg("expected \"%s\", got %d \"%s\"", why, rc, err.text);
        assert_true(strlen(err.text) < 400);
    } else if (rc != 0) {
        fail_msg("%s", err.text);
    } else {
        assert_int_equal(cfr_azure_settings_of(&c, sample_env, &place, &err), 0);
        if (url != NULL)
            assert_string_equal(cfr_azure_settings_token_url(&place, buf), url);
        if (scope != NULL)
            assert_string_equal(cfr_azure_settings_scope(&c, &place, 0, buf), scope);
    }
    cfr_field_free(cfr_azure_provider.table, &c);
    sample_environment = NULL;
}

static void defaults(void **state)
{
    struct cfr_azure c = make(LIST(NAMES));

    (void)state;
    assert_int_equal(c.cloud, CFR_AZURE_ENVIRONMENT);
    assert_false(c.send_certificate_chain);
    assert_true(cfr_sts_needs_token(&cfr_azure_provider, &c));
    cfr_field_free(cfr_azure_provider.table, &c);
    assert_ptr_equal(cfr_sts_find(cfr_view_of("azure")), &cfr_azure_provider);
}

/* Every key has a text for the reference page, and valid limits; every cloud has its choice. */
static void the_table_is_whole(void **state)
{
    const struct cfr_table *t = cfr_azure_provider.table;

    (void)state;
    for (const struct cfr_field *f = t->fields; f->key != NULL; f++) {
        assert_true(f->doc != NULL && strlen(f->doc) > 40 && f->doc[strlen(f->doc) - 1] == '.');
        assert_true(f->offset >= sizeof(struct cfr_node) && f->offset < t->size);
        assert_true(f->min <= f->max);
        if ((f->flags & CFR_FIELD_CONTENT) != 0)
            assert_true((f->flags & CFR_FIELD_PATH) != 0 && f->type == CFR_FIELD_STRING);
    }
}

static void names(void **state)
{
    const char *const *both = LIST("AZURE_TENANT_ID", "contoso.example", "AZURE_CLIENT_ID", SAMPLE_CLIENT);

    (void)state;
    checks(LIST("cloud", "public"), NULL, "tenant_id: it is missing, and AZURE_TENANT_ID is not set", NULL, NULL);
    checks(LIST("tenant_id", SAMPLE_TENANT), NULL, "client_id: it is missing", NULL, NULL);
    checks(LIST("tenant_id", SAMPLE_TENANT), LIST("AZURE_CLIENT_ID", ""), "client_id: it is missing", NULL, NULL);
    checks(LIST("cloud", "public"), both, NULL, "https://login.microsoftonline.com/contoso.example/oauth2/v2.0/token",
           SAMPLE_ARM);
    checks(LIST(NAMES), both, NULL, "https://login.microsoftonline.com/" SAMPLE_TENANT "/oauth2/v2.0/token", NULL);
    checks(LIST("tenant_id", "Common", "client_id", SAMPLE_CLIENT), NULL, "tenant_id: `Common` means any tenant", NULL,
           NULL);
    checks(LIST("tenant_id", "organizations"), NULL, "means any tenant", NULL, NULL);
    checks(LIST("tenant_id", "consumers"), NULL, "means any tenant", NULL, NULL);
    checks(LIST("client_id", SAMPLE_CLIENT), LIST("AZURE_TENANT_ID", "common"), "AZURE_TENANT_ID: `common`", NULL,
           NULL);
    checks(LIST("tenant_id", "contoso"), NULL, "tenant_id: it is neither a GUID nor a domain", NULL, NULL);
    checks(LIST("tenant_id", "a/../b.c"), NULL, "tenant_id: character 2 is not allowed", NULL, NULL);
    checks(LIST("tenant_id", "..a.b"), NULL, "tenant_id: it is neither", NULL, NULL);
    checks(LIST("tenant_id", "72f988bf-86f1-41af-91ab-2d7cd011db4g"), NULL, "tenant_id: it is neither", NULL, NULL);
    checks(LIST("tenant_id", SAMPLE_TENANT, "client_id", "my-app"), NULL,
           "client_id: it must be the application (client) ID", NULL, NULL);
    checks(LIST("tenant_id", SAMPLE_TENANT), LIST("AZURE_CLIENT_ID", "my-app"), "AZURE_CLIENT_ID: it must be", NULL,
           NULL);
}

#define PATH "/" SAMPLE_TENANT "/oauth2/v2.0/token"

static void hosts(void **state)
{
    const char *const *gov = LIST("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us/");

    (void)state;
    checks(LIST(NAMES), gov, NULL, "https://login.microsoftonline.us" PATH,
           "https://management.usgovcloudapi.net/.default");
    checks(LIST(NAMES, "cloud", "public"), gov, NULL, "https://login.microsoftonline.com" PATH, SAMPLE_ARM);
    checks(LIST(NAMES, "cloud", "china"), NULL, NULL, "https://login.partner.microsoftonline.cn" PATH,
           "https://management.chinacloudapi.cn/.default");
    checks(LIST(NAMES, "authority_host", "https://login.chinacloudapi.cn/"), gov, NULL,
           "https://login.chinacloudapi.cn" PATH, "https://management.chinacloudapi.cn/.default");
    checks(LIST(NAMES, "cloud", "china", "authority_host", "https://LOGIN.chinacloudapi.cn"), NULL, NULL,
           "https://LOGIN.chinacloudapi.cn" PATH, NULL);
    checks(LIST(NAMES, "cloud", "usgov", "authority_host", "https://login.microsoftonline.com"), NULL,
           "authority_host: it does not belong to the cloud `usgov`", NULL, NULL);
    checks(LIST(NAMES, "cloud", "public", "authority_host", "https://entra.example"), NULL,
           "authority_host: it does not belong to the cloud `public`", NULL, NULL);
    checks(LIST(NAMES, "authority_host", "https://entra.example:8443/a/b///"), NULL, NULL,
           "https://entra.example:8443/a/b" PATH, SAMPLE_ARM);
    checks(LIST(NAMES, "authority_host", "https://westeurope.login.microsoft.com/"), NULL, NULL,
           "https://westeurope.login.microsoft.com" PATH, SAMPLE_ARM);
    checks(LIST(NAMES, "cloud", "public", "authority_host", "https://westeurope.login.microsoft.com/"), NULL, NULL,
           NULL, NULL);
    checks(LIST(NAMES), LIST("AZURE_AUTHORITY_HOST", "login.microsoftonline.us"), NULL,
           "https://login.microsoftonline.us" PATH, NULL);
    checks(LIST(NAMES, "authority_host", "login.microsoftonline.us"), NULL, "authority_host: it must be a URL", NULL,
           NULL);
    checks(LIST(NAMES, "authority_host", "https://login.microsoftonline.com/" SAMPLE_TENANT), NULL,
           "authority_host: it has a path; write only the host", NULL, NULL);
    checks(LIST(NAMES, "authority_host", "https://entra.example/?a=b"), NULL, "authority_host: it has a query", NULL,
           NULL);
    checks(LIST(NAMES, "authority_host", "http://entra.example"), NULL, "authority_host: plain http", NULL, NULL);
    checks(LIST(NAMES), LIST("AZURE_AUTHORITY_HOST", "http://entra.example"), "AZURE_AUTHORITY_HOST: plain http", NULL,
           NULL);
    checks(LIST(NAMES, "cloud", "sov-fr"), NULL, "scopes: there is no default for this cloud", NULL, NULL);
    checks(LIST(NAMES, "cloud", "sov-de", "scopes", "https://x.example"), NULL, NULL,
           "https://login.sovcloud-identity.de" PATH, "https://x.example/.default");
    checks(LIST(NAMES, "authority_host", "http://127.0.0.1:1", "ca_file", "/ca.pem"), NULL, "ca_file: it has no effect",
           NULL, NULL);
    checks(LIST(NAMES, "ca_file", "/ca.pem"), NULL, NULL, NULL, NULL);
}

static void adfs(void **state)
{
    (void)state;
    checks(LIST("tenant_id", "adfs", "client_id", "my app", "scopes", "https://app/.default", "authority_host",
                "https://adfs.example/"),
           NULL, NULL, "https://adfs.example/adfs/oauth2/token", "https://app");
    checks(LIST("tenant_id", "adfs", "client_id", "x", "scopes", "https://app"), NULL,
           "authority_host: the tenant `adfs` is your own AD FS server;", NULL, NULL);
    checks(LIST("tenant_id", "adfs", "client_id", "x", "scopes", "https://app", "cloud", "public"), NULL,
           "authority_host: the tenant `adfs`", NULL, NULL);
    checks(LIST("tenant_id", "adfs", "client_id", "x", "authority_host", "https://adfs.example"), NULL,
           "scopes: there is no default for AD FS", NULL, NULL);
    checks(LIST("tenant_id", "adfs", "client_id", "x", "authority_host", "https://adfs.example", "scopes",
                "https://app", "acr", "reg.azurecr.io"),
           NULL, "acr: Azure's registries know no tokens of an AD FS", NULL, NULL);
}

static void scopes(void **state)
{
    (void)state;
    checks(LIST(NAMES, "scopes", "https://database.windows.net/"), NULL, NULL, NULL,
           "https://database.windows.net//.default");
    checks(LIST(NAMES, "scopes", "https://database.windows.net//.default"), NULL, NULL, NULL,
           "https://database.windows.net//.default");
    checks(LIST(NAMES, "scopes", "https://a.example https://b.example"), NULL, "scopes: element 1 holds a blank", NULL,
           NULL);
    checks(LIST(NAMES, "scopes", "https://a.example|https://b.example,c"), NULL,
           "scopes: element 2 holds a blank or a comma", NULL, NULL);
    checks(LIST(NAMES, "scopes", "openid"), NULL, "scopes: element 1, `openid`, names no resource", NULL, NULL);
    checks(LIST(NAMES, "scopes", "/.default"), NULL, "names no resource", NULL, NULL);
    checks(LIST(NAMES, "scopes", ""), NULL, "scopes: element 1 must be a resource", NULL, NULL);
    checks(LIST(NAMES, "scopes", "https://caf\xc3\xa9"), NULL, "scopes: element 1 must be a resource", NULL, NULL);
    checks(LIST(NAMES, "scopes", "https://a/.default|https://b|https://a"), NULL,
           "scopes: elements 1 and 3 are the same", NULL, NULL);
    checks(LIST(NAMES, "scopes", "https://a|https://a/"), NULL, NULL, NULL, NULL);
    checks(LIST(NAMES, "scopes", "a|b|c|d|e|f|https://management.azure.com", "acr", "r.azurecr.io"), NULL, NULL, NULL,
           NULL);
    checks(LIST(NAMES, "scopes", "a|b|c|d|e|f|https://management.azure.com", "acr", "r.azurecr.io|s.azurecr.io"), NULL,
           "together with acr there are 9, and one credential can have 8", NULL, NULL);
}

static void proofs(void **state)
{
    (void)state;
    checks(LIST(NAMES, "client_secret_file", "/s", "certificate_file", "/c"), NULL,
           "certificate_file: there is also a client_secret_file", NULL, NULL);
    checks(LIST(NAMES, "key_file", "/k"), NULL, "key_file: it has no effect without certificate_file", NULL, NULL);
    checks(LIST(NAMES, "client_secret_file", "/s", "key_file", "/k"), NULL, "key_file: it has no effect", NULL, NULL);
    checks(LIST(NAMES, "send_certificate_chain", "true"), NULL, "send_certificate_chain: it has no effect", NULL, NULL);
    checks(LIST(NAMES, "certificate_file", "/c", "key_file", "/k", "send_certificate_chain", "true"), NULL, NULL, NULL,
           NULL);
}

static void registries(void **state)
{
    (void)state;
    checks(LIST(NAMES, "acr", "reg.azurecr.io|other.azurecr.io:443"), NULL, NULL, NULL, NULL);
    checks(LIST(NAMES, "acr", "https://reg.azurecr.io"), NULL, "acr: element 1 must be the host of a registry alone",
           NULL, NULL);
    checks(LIST(NAMES, "acr", "reg.azurecr.io/repo"), NULL, "acr: element 1", NULL, NULL);
    checks(LIST(NAMES, "acr", "reg.azurecr.io|b.azurecr.io|REG.azurecr.io"), NULL, "acr: elements 1 and 3 are the same",
           NULL, NULL);
    checks(LIST(NAMES, "acr_endpoint", "http://127.0.0.1:1"), NULL, "acr_endpoint: it has no effect without acr", NULL,
           NULL);
    checks(LIST(NAMES, "acr", "reg.azurecr.io", "acr_endpoint", "http://reg.example"), NULL, "acr_endpoint: plain http",
           NULL, NULL);
    checks(LIST(NAMES, "acr", "reg.azurecr.io", "acr_endpoint", "http://127.0.0.1:1/?x"), NULL,
           "acr_endpoint: it has a query", NULL, NULL);
    checks(LIST(NAMES, "acr", "reg.azurecr.io", "scopes", "https://vault.azure.net"), NULL,
           "acr: no scope fits a registry", NULL, NULL);
    checks(
        LIST(NAMES, "acr", "reg.azurecr.io", "scopes", "https://vault.azure.net|https://containerregistry.azure.net"),
        NULL, NULL, NULL, NULL);
    checks(LIST(NAMES, "acr", "reg.azurecr.cn", "cloud", "china"), NULL, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(names),    cmocka_unit_test(hosts),
        cmocka_unit_test(adfs),     cmocka_unit_test(scopes),
        cmocka_unit_test(proofs),   cmocka_unit_test(registries),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
