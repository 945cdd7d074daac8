/* SPDX-License-Identifier: MIT */
/* Client secrets of applications: requests, answers, refusals, and how a new one is tried. */
#include "mint_golden.h"

#include "rotation/azure_private.h"

#define APP    "66666666-7777-8888-9999-aaaaaaaaaaaa"
#define TENANT "11111111-2222-3333-4444-555555555555"
#define FIRST  "f0b0b335-1d71-4883-8f98-567911bfdca6"
#define OBJECT "https://graph.microsoft.com/v1.0/applications(appId='" APP "')"
#define AUTH   "Authorization: Bearer " MINT_TOKEN "\n"

static const struct cfr_rotation_provider *const azure = &cfr_rotation_azure_provider;
static struct cfr_rotation_azure config = {.client_id = (char[]){APP}, .lifetime_ms = -1};
static struct cfr_rotation_azure full = {.client_id = (char[]){APP},
                                         .tenant_id = (char[]){"contoso.com"},
                                         .lifetime_ms = 7776000000,
                                         .cloud = CFR_ROTATION_AZURE_USGOV,
                                         .endpoint = (char[]){"http://127.0.0.1:8080/graph/"},
                                         .authority_host = (char[]){"http://127.0.0.1:8080/azure"},
                                         .ca_file = (char[]){"/etc/ca.pem"}};

/* FURTHER: the token for Graph is not the first. */
static struct cfr_grant admin(bool further, const char *resource)
{
    struct cfr_grant g = {0};
    char scope[128];
    char name[192];

    (void)snprintf(scope, sizeof scope, "%s/.default", resource);
    (void)snprintf(name, sizeof name, CFR_FIELD_AZURE_ACCESS_TOKEN ":%s", scope);
    mint_set(&g, CFR_FIELD_AZURE_SCOPE, further ? "https://management.azure.com/.default" : scope);
    mint_set(&g, CFR_FIELD_AZURE_ACCESS_TOKEN, further ? "other" : MINT_TOKEN);
    if (further)
        mint_set(&g, name, MINT_TOKEN);
    mint_set(&g, CFR_FIELD_AZURE_TENANT_ID, TENANT);
    return g;
}

static void requests(void **state)
{
    struct cfr_grant g = admin(false, "https://graph.microsoft.com");
    struct cfr_grant second = admin(true, "https://graph.microsoft.us");
    struct cfr_rotation_ask list = mint_ask(CFR_ROTATION_LIST, NULL, &g);
    struct cfr_rotation_ask create = mint_ask(CFR_ROTATION_CREATE, NULL, &g);
    struct cfr_rotation_ask drop = mint_ask(CFR_ROTATION_DELETE, FIRST, &g);

    (void)state;
    mint_request(azure, &config, &list, "GET " OBJECT "?$select=appId,passwordCredentials\n" AUTH "\n");
    mint_request(azure, &config, &create,
                 "POST " OBJECT "/addPassword\n" AUTH "Content-Type: application/json\n\n"
                 "{\"passwordCredential\":{\"displayName\":\"" MINT_NAME "\"}}");
    mint_request(azure, &config, &drop,
                 "POST " OBJECT "/removePassword\n" AUTH "Content-Type: application/json\n\n{\"keyId\":\"" FIRST "\"}");
    create.admin = &second;
    mint_request(azure, &full, &create,
                 "POST http://127.0.0.1:8080/graph/v1.0/applications(appId='" APP "')/addPassword\n" AUTH
                 "Content-Type: application/json\n(CA: /etc/ca.pem)\n\n"
                 "{\"passwordCredential\":{\"displayName\":\"" MINT_NAME
                 "\",\"endDateTime\":\"2026-04-02T03:04:05Z\"}}");
    cfr_grant_free(&g);
    cfr_grant_free(&second);
}

static void without_a_token(void **state)
{
    static const char *const bad[] = {"https://management.azure.com", "https://graph.microsoft.us",
                                      "https://graph.microsoft.com.test"};

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(bad); i++) {
        struct cfr_grant g = admin(i % 2 != 0, bad[i / 2]);
        struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_LIST, NULL, &g);
        struct cfr_wire_request r = {0};
        struct cfr_err err = {0};

        assert_int_equal(azure->build(&config, &ask, "", &r, &err), CFR_E_CONFIG);
        assert_contains(err.text, "https://graph.microsoft.com/.default among its `scopes`");
        cfr_wire_request_free(&r);
        cfr_grant_free(&g);
    }
}

/* Graph of the US Department of Defense, and one that only the configuration knows: the token is for that one. */
static void other_graphs(void **state)
{
    struct cfr_rotation_azure dod = {
        .client_id = (char[]){APP}, .lifetime_ms = -1, .cloud = CFR_ROTATION_AZURE_USGOV_DOD};
    struct cfr_rotation_azure usgov = {.client_id = (char[]){APP},
                                       .lifetime_ms = -1,
                                       .cloud = CFR_ROTATION_AZURE_USGOV,
                                       .endpoint = (char[]){"https://dod-graph.microsoft.us/"}};
    struct cfr_rotation_azure sov = {.client_id = (char[]){APP},
                                     .lifetime_ms = -1,
                                     .cloud = CFR_ROTATION_AZURE_SOV_DE,
                                     .endpoint = (char[]){"https://graph.example.de"}};
    struct cfr_grant g = admin(true, "https://dod-graph.microsoft.us");
    struct cfr_grant de = admin(false, "https://graph.example.de");
    struct cfr_grant wrong = admin(false, "https://graph.microsoft.us");
    struct cfr_rotation_ask list = mint_ask(CFR_ROTATION_LIST, NULL, &g);
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};

    (void)state;
#define DOD "GET https://dod-graph.microsoft.us/v1.0/applications(appId='" APP "')?$select=appId,passwordCredentials\n"
    mint_request(azure, &dod, &list, DOD AUTH "\n");
    mint_request(azure, &usgov, &list, DOD AUTH "\n");
    list.admin = &de;
    mint_request(azure, &sov, &list,
                 "GET https://graph.example.de/v1.0/applications(appId='" APP
                 "')?$select=appId,passwordCredentials\n" AUTH "\n");
    list.admin = &wrong;
    assert_int_equal(azure->build(&dod, &list, "", &r, &err), CFR_E_CONFIG);
    assert_contains(err.text, "https://dod-graph.microsoft.us/.default among its `scopes`");
    cfr_wire_request_free(&r);
    r = (struct cfr_wire_request){0};
    assert_int_equal(azure->build(&sov, &list, "", &r, &err), CFR_E_CONFIG);
    assert_contains(err.text, "https://graph.example.de/.default among its `scopes`");
    cfr_wire_request_free(&r);
    mint_check(azure->table, "endpoint: is missing; write the URL of Microsoft Graph in sov-fr",
               MINT_LIST("client_id", APP, "cloud", "sov-fr"));
    mint_check(azure->table, NULL, MINT_LIST("client_id", APP, "cloud", "usgov-dod"));
    cfr_grant_free(&g);
    cfr_grant_free(&de);
    cfr_grant_free(&wrong);
}

static void lists(void **state)
{
    struct cfr_grant g = admin(false, "https://graph.microsoft.com");
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    mint_read(azure, &config, &g, CFR_ROTATION_LIST, 200, "empty.json", &out);
    assert_int_equal(out.keys.count, 0);
    mint_read(azure, &config, &g, CFR_ROTATION_LIST, 200, "list.json", &out);
    assert_int_equal(out.keys.count, 2);
    assert_string_equal(out.keys.key[0].id, FIRST);
    assert_string_equal(out.keys.key[0].name, MINT_NAME);
    assert_int_equal(out.keys.key[0].created_s, MINT_NOW);
    assert_string_equal(out.keys.key[1].name, "");
    assert_true(out.keys.key[0].active && !out.keys.key[1].active && out.keys.key[1].expired);
    cfr_grant_free(&g);
}

static void new_secrets(void **state)
{
    struct cfr_grant g = admin(false, "https://graph.microsoft.com");
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    mint_read(azure, &config, &g, CFR_ROTATION_CREATE, 200, "created.json", &out);
    assert_string_equal(out.made.id, FIRST);
    assert_string_equal(out.grant.identity, MINT_NAME " (" FIRST ") of " APP);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_AZURE_CLIENT_ID), APP);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_AZURE_TENANT_ID), TENANT);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_AZURE_CLIENT_SECRET), "hush-hush~8Q_.");
    assert_null(cfr_grant_get(&out.grant, CFR_FIELD_AZURE_AUTHORITY_HOST).p);
    assert_int_equal(out.grant.issued_s, MINT_NOW);
    assert_int_equal(out.grant.expires_s, 1830395045);
    cfr_rotation_answer_free(&out);
    mint_read(azure, &full, &g, CFR_ROTATION_CREATE, 200, "created.json", &out);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_AZURE_TENANT_ID), "contoso.com");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_AZURE_AUTHORITY_HOST), "http://127.0.0.1:8080/azure/");
    cfr_rotation_answer_free(&out);
    cfr_grant_free(&g);
}

static void deleted(void **state)
{
    struct cfr_grant g = admin(false, "https://graph.microsoft.com");
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_DELETE, FIRST, &g);
    struct cfr_wire_reply reply = {.status = 204};
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    assert_int_equal(azure->parse(&config, &ask, &reply, &out, NULL), 0);
    cfr_grant_free(&g);
}

static void refusals(void **state)
{
    struct cfr_grant g = admin(false, "https://graph.microsoft.com");

    (void)state;
    mint_bad_answers(azure, &config, &g, 40, 200);
    cfr_grant_free(&g);
}

static void trials(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_VERIFY, NULL, &g);
    struct cfr_rotation_trial t = {.provider = NULL};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(azure->trial(&config, &ask, &t, &err), CFR_E_INTERNAL);
    mint_set(&g, CFR_FIELD_AZURE_TENANT_ID, TENANT);
    mint_set(&g, CFR_FIELD_AZURE_CLIENT_SECRET, "s1");
    t = (struct cfr_rotation_trial){.provider = NULL};
    assert_int_equal(azure->trial(&config, &ask, &t, &err), 0);
    assert_string_equal(t.provider, "azure");
    assert_view(mint_trial_value(t.settings, t.setting_count, "client_id"), APP);
    assert_view(mint_trial_value(t.settings, t.setting_count, "tenant_id"), TENANT);
    assert_view(mint_trial_value(t.settings, t.setting_count, "cloud"), "public");
    assert_view(mint_trial_value(t.contents, t.content_count, "client_secret_file"), "s1");
    t = (struct cfr_rotation_trial){.provider = NULL};
    assert_int_equal(azure->trial(&full, &ask, &t, &err), 0);
    assert_view(mint_trial_value(t.settings, t.setting_count, "authority_host"), "http://127.0.0.1:8080/azure");
    assert_view(mint_trial_value(t.settings, t.setting_count, "ca_file"), "/etc/ca.pem");
    assert_int_equal(t.setting_count, CFR_ROTATION_TRIAL_MAX);
    cfr_grant_free(&g);
}

static void configurations(void **state)
{
    const struct cfr_table *t = azure->table;

    (void)state;
    mint_table(t);
    assert_true(azure->names && azure->most == 0 && !azure->deactivates && azure->places == NULL);
    assert_string_equal(azure->subject(&config), APP);
    mint_check(t, NULL, MINT_LIST("client_id", APP));
    mint_check(t, NULL, MINT_LIST("client_id", APP, "tenant_id", "contoso.com", "lifetime", "2160h", "cloud", "china"));
    mint_check(t, "client_id: must be a GUID", MINT_LIST("client_id", "66666666-7777-8888-9999-aaaaaaaaaaa'"));
    mint_check(t, "tenant_id: must be", MINT_LIST("client_id", APP, "tenant_id", "a/b.com"));
    mint_check(t, "endpoint: plain http is only for", MINT_LIST("client_id", APP, "endpoint", "http://graph.test"));
    mint_check(t, "authority_host: it must be a URL", MINT_LIST("client_id", APP, "authority_host", "login.test"));
}

static void every_allocation(void **state)
{
    struct cfr_grant g = admin(false, "https://graph.microsoft.com");

    (void)state;
    mint_burn(azure, &config, &g, CFR_ROTATION_LIST, 200, "list.json", 0);
    mint_burn(azure, &config, &g, CFR_ROTATION_CREATE, 200, "created.json", 0);
    mint_burn(azure, &config, &g, CFR_ROTATION_CREATE, 403, "denied.json", CFR_E_DENIED);
    cfr_grant_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),       cmocka_unit_test(without_a_token),
        cmocka_unit_test(other_graphs),   cmocka_unit_test(lists),
        cmocka_unit_test(new_secrets),    cmocka_unit_test(deleted),
        cmocka_unit_test(refusals),       cmocka_unit_test(trials),
        cmocka_unit_test(configurations), cmocka_unit_test(every_allocation),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
