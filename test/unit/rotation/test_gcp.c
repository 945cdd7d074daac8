/* SPDX-License-Identifier: MIT */
/* Keys of service accounts: requests, answers, refusals, and how a new key is tried. */
#include "mint_golden.h"

#include "rotation/gcp_private.h"

#define KEYS                                                                                                           \
    "https://iam.googleapis.com/v1/projects/demo-project/serviceAccounts/"                                             \
    "robot%40demo-project.iam.gserviceaccount.com/keys"
#define FIRST "0123456789abcdef0123456789abcdef01234567"
#define AUTH  "Authorization: Bearer " MINT_TOKEN "\n"

static const struct cfr_rotation_provider *const gcp = &cfr_rotation_gcp_provider;
static struct cfr_rotation_gcp config = {.service_account = (char[]){"robot@demo-project.iam.gserviceaccount.com"}};
static struct cfr_rotation_gcp other = {.service_account = (char[]){"robot@demo.example"},
                                        .project = (char[]){"example.com:p"},
                                        .sts_endpoint = (char[]){"https://oauth2.test/token"},
                                        .ca_file = (char[]){"/etc/ca.pem"}};
static struct cfr_rotation_gcp local = {.service_account = (char[]){"robot@demo-project.iam.gserviceaccount.com"},
                                        .endpoint = (char[]){"http://127.0.0.1:8080/gcp/"}};

static struct cfr_grant admin(void)
{
    struct cfr_grant g = {0};

    mint_set(&g, CFR_FIELD_GCP_ACCESS_TOKEN, MINT_TOKEN);
    return g;
}

static void requests(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_ask list = mint_ask(CFR_ROTATION_LIST, NULL, &g);
    struct cfr_rotation_ask create = mint_ask(CFR_ROTATION_CREATE, NULL, &g);
    struct cfr_rotation_ask disable = mint_ask(CFR_ROTATION_DEACTIVATE, "a/b", &g);
    struct cfr_rotation_ask drop = mint_ask(CFR_ROTATION_DELETE, "k1", &g);
    struct cfr_rotation_ask rights = mint_ask(CFR_ROTATION_RIGHTS, "", &g);

    (void)state;
    mint_request(gcp, &config, &list, "GET " KEYS "?keyTypes=USER_MANAGED\n" AUTH "\n");
    mint_request(gcp, &config, &create,
                 "POST " KEYS "\n" AUTH "Content-Type: application/json\n\n"
                 "{\"privateKeyType\":\"TYPE_GOOGLE_CREDENTIALS_FILE\",\"keyAlgorithm\":\"KEY_ALG_RSA_2048\"}");
    mint_request(gcp, &config, &disable, "POST " KEYS "/a%2Fb:disable\n" AUTH "Content-Type: application/json\n\n{}");
    mint_request(gcp, &config, &drop, "DELETE " KEYS "/k1\n" AUTH "\n");
    mint_request(gcp, &config, &rights,
                 "POST https://iam.googleapis.com/v1/projects/demo-project/serviceAccounts/"
                 "robot%40demo-project.iam.gserviceaccount.com:testIamPermissions\n" AUTH
                 "Content-Type: application/json\n\n"
                 "{\"permissions\":[\"iam.serviceAccountKeys.list\",\"iam.serviceAccountKeys.create\","
                 "\"iam.serviceAccountKeys.disable\",\"iam.serviceAccountKeys.delete\"]}");
    mint_request(gcp, &other, &drop,
                 "DELETE "
                 "https://iam.googleapis.com/v1/projects/example.com%3Ap/serviceAccounts/"
                 "robot%40demo.example/keys/k1\n" AUTH "(CA: /etc/ca.pem)\n\n");
    mint_request(gcp, &local, &list,
                 "GET http://127.0.0.1:8080/gcp/v1/projects/demo-project/serviceAccounts/"
                 "robot%40demo-project.iam.gserviceaccount.com/keys?keyTypes=USER_MANAGED\n" AUTH "\n");
    other.universe_domain = (char[]){"apis-tpczero.goog"};
    mint_request(gcp, &other, &drop,
                 "DELETE "
                 "https://iam.apis-tpczero.goog/v1/projects/example.com%3Ap/serviceAccounts/"
                 "robot%40demo.example/keys/k1\n" AUTH "(CA: /etc/ca.pem)\n\n");
    other.universe_domain = NULL;
    cfr_grant_free(&g);
}

static void answered_rights(void **state)
{
    static const struct {
        const char *body;
        int rc;
        const char *denied; /* or a part of the error */
    } rows[] = {
        {"{\"permissions\":[\"iam.serviceAccountKeys.delete\",\"iam.serviceAccountKeys.list\","
         "\"iam.serviceAccountKeys.create\",\"iam.serviceAccountKeys.disable\"]}",
         0, ""},
        {"{\"permissions\":[\"iam.serviceAccountKeys.list\",\"iam.serviceAccountKeys.create\"]}", 0,
         "iam.serviceAccountKeys.disable, iam.serviceAccountKeys.delete"},
        /* Nothing is granted. */
        {"{}", 0,
         "iam.serviceAccountKeys.list, iam.serviceAccountKeys.create, iam.serviceAccountKeys.disable, "
         "iam.serviceAccountKeys.delete"},
        {"{\"permissions\":\"all\"}", CFR_E_ANSWER, "`permissions` in the answer is not a list"},
        {"[]", CFR_E_ANSWER, "no JSON object"},
    };
    struct cfr_grant g = admin();
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_RIGHTS, "", &g);

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_wire_reply reply = {.status = 200, .body = cfr_view_of(rows[i].body)};
        struct cfr_rotation_answer out = {.judged = 0};
        struct cfr_err err = {0};

        assert_int_equal(gcp->parse(&config, &ask, &reply, &out, &err), rows[i].rc);
        if (rows[i].rc == 0)
            assert_string_equal(out.denied, rows[i].denied);
        else
            assert_contains(err.text, rows[i].denied);
        cfr_rotation_answer_free(&out);
    }
    cfr_grant_free(&g);
}

static void without_a_token(void **state)
{
    static const char *const bad[] = {"", "two words", "line\nbreak"};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct cfr_grant g = {0};
        struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_LIST, NULL, &g);
        struct cfr_wire_request r = {0};
        struct cfr_err err = {0};

        mint_set(&g, CFR_FIELD_GCP_ACCESS_TOKEN, bad[i]);
        assert_int_equal(gcp->build(&config, &ask, "", &r, &err), CFR_E_CONFIG);
        assert_contains(err.text, "must be an exchange with `gcp`");
        cfr_wire_request_free(&r);
        cfr_grant_free(&g);
    }
}

static void lists(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    mint_read(gcp, &config, &g, CFR_ROTATION_LIST, 200, "empty.json", &out);
    assert_int_equal(out.keys.count, 0);
    mint_read(gcp, &config, &g, CFR_ROTATION_LIST, 200, "list.json", &out);
    assert_int_equal(out.keys.count, 3); /* and not the one that nobody can remove */
    assert_string_equal(out.keys.key[0].id, FIRST);
    assert_true(out.keys.key[0].active && !out.keys.key[1].active);
    assert_true(!out.keys.key[1].expired && out.keys.key[2].expired && !out.keys.key[2].active);
    assert_int_equal(out.keys.key[0].created_s, MINT_NOW);
    assert_int_equal(out.keys.key[1].created_s, 1764547200);
    assert_string_equal(out.keys.key[0].name, "");
    assert_string_equal(out.keys.key[0].maker, "key-admin@demo-project.iam.gserviceaccount.com");
    assert_string_equal(out.keys.key[1].maker, "");
    assert_true(!out.keys.key[0].foreign && out.keys.key[1].foreign);
    assert_string_equal(out.next, "");
    cfr_rotation_answer_free(&out);
    cfr_grant_free(&g);
}

static void new_keys(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    mint_read(gcp, &config, &g, CFR_ROTATION_CREATE, 200, "created.json", &out);
    assert_string_equal(out.made.id, FIRST);
    assert_string_equal(out.grant.identity, FIRST " of robot@demo-project.iam.gserviceaccount.com");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_GCP_SERVICE_ACCOUNT), "robot@demo-project.iam.gserviceaccount.com");
    assert_true(cfr_view_starts(cfr_grant_get(&out.grant, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY),
                                "{\n  \"type\": \"service_account\""));
    assert_int_equal(out.grant.issued_s, MINT_NOW);
    assert_int_equal(out.grant.expires_s, 0);
    cfr_rotation_answer_free(&out);
    mint_read(gcp, &config, &g, CFR_ROTATION_CREATE, 200, "created-expiring.json", &out);
    assert_int_equal(out.grant.expires_s, 1775099045);
    cfr_rotation_answer_free(&out);
    mint_read(gcp, &config, &g, CFR_ROTATION_DELETE, 200, "empty.json", &out);
    mint_read(gcp, &config, &g, CFR_ROTATION_DEACTIVATE, 200, "empty.json", &out);
    cfr_grant_free(&g);
}

static void refusals(void **state)
{
    struct cfr_grant g = admin();

    (void)state;
    mint_bad_answers(gcp, &config, &g, 39, 200);
    cfr_grant_free(&g);
}

static void trials(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_VERIFY, NULL, &g);
    struct cfr_rotation_trial t = {.provider = NULL};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(gcp->trial(&config, &ask, &t, &err), CFR_E_INTERNAL);
    mint_set(&g, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, "{}");
    t = (struct cfr_rotation_trial){.provider = NULL};
    assert_int_equal(gcp->trial(&other, &ask, &t, &err), 0);
    assert_string_equal(t.provider, "gcp");
    assert_view(mint_trial_value(t.settings, t.setting_count, "ca_file"), "/etc/ca.pem");
    assert_view(mint_trial_value(t.settings, t.setting_count, "sts_endpoint"), "https://oauth2.test/token");
    assert_view(mint_trial_value(t.contents, t.content_count, "credentials_file"), "{}");
    assert_true(t.setting_count == 2 && t.content_count == 1 && gcp->places == NULL);
    cfr_grant_free(&g);
}

static void configurations(void **state)
{
    const struct cfr_table *t = gcp->table;

    (void)state;
    mint_table(t);
    assert_true(gcp->most == 10 && gcp->deactivates && !gcp->names && !gcp->tells_use);
    assert_string_equal(gcp->subject(&config), config.service_account);
    mint_check(t, NULL, MINT_LIST("service_account", "a@p.iam.gserviceaccount.com"));
    mint_check(t, NULL,
               MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "endpoint", "https://iam.test:8443/x"));
    mint_check(t, NULL, MINT_LIST("service_account", "1-compute@developer.gserviceaccount.com", "project", "p"));
    mint_check(t, "project: is missing", MINT_LIST("service_account", "1-compute@developer.gserviceaccount.com"));
    mint_check(t, "service_account: must be", MINT_LIST("service_account", "no-address"));
    mint_check(t, "service_account: must be", MINT_LIST("service_account", "a/b@p.iam.gserviceaccount.com"));
    mint_check(t, "project: must be", MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "project", "a/b"));
    mint_check(t, "endpoint: plain http is only for",
               MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "endpoint", "http://iam.test"));
    mint_check(t, "endpoint: plain http is only for",
               MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "endpoint", "http://127.0.0.1.test/"));
    mint_check(t, "endpoint: it has a user or password",
               MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "endpoint", "https://u@iam.test"));
    mint_check(t, "endpoint: must be a host",
               MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "endpoint", "https://iam.test/?a=b"));
    mint_check(t, "sts_endpoint: plain http is only for",
               MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "sts_endpoint", "http://iam.test"));
    mint_check(t, NULL, MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "endpoint", "http://[::1]:80"));
    mint_check(t, NULL, MINT_LIST("service_account", "a@p.iam.gserviceaccount.com", "endpoint", "http://localhost:80"));
}

static void every_allocation(void **state)
{
    struct cfr_grant g = admin();

    (void)state;
    mint_burn(gcp, &config, &g, CFR_ROTATION_LIST, 200, "list.json", 0);
    mint_burn(gcp, &config, &g, CFR_ROTATION_CREATE, 200, "created.json", 0);
    mint_burn(gcp, &config, &g, CFR_ROTATION_CREATE, 403, "denied.json", CFR_E_DENIED);
    cfr_grant_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests), cmocka_unit_test(answered_rights), cmocka_unit_test(without_a_token),
        cmocka_unit_test(lists),    cmocka_unit_test(new_keys),        cmocka_unit_test(refusals),
        cmocka_unit_test(trials),   cmocka_unit_test(configurations),  cmocka_unit_test(every_allocation),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
