/* SPDX-License-Identifier: MIT */
/* Application credentials: requests, answers, refusals, and how a new one is tried. */
#include "mint_golden.h"

#include "rotation/openstack_private.h"

#define LIST  "https://keystone.test:5000/v3/users/u1/application_credentials"
#define AUTH  "X-Auth-Token: " MINT_TOKEN "\n"
#define FIRST "aa809205ed614a0e854bac92c0768bb9"

static const struct cfr_rotation_provider *const openstack = &cfr_rotation_openstack_provider;
static struct cfr_rotation_openstack config = {.lifetime_ms = -1};
static char *roles[] = {(char[]){"member"}, (char[]){"load \"balancer\""}};
static struct cfr_rotation_openstack_rule rules[] = {
    {.service = (char[]){"compute"}, .path = (char[]){"/v2.1/servers/**"}},
    {.service = (char[]){"image"}, .method = 2, .path = (char[]){"/v2/images"}}};
static struct cfr_rotation_openstack full = {.auth_url = (char[]){"http://127.0.0.1:5000/identity/"},
                                             .user_id = (char[]){"u/2"},
                                             .roles = {roles, 2},
                                             .unrestricted = true,
                                             .access_rules = {rules, 2},
                                             .lifetime_ms = 7776000000,
                                             .region_name = (char[]){"Here"},
                                             .ca_file = (char[]){"/etc/ca.pem"}};

static struct cfr_grant admin(void)
{
    struct cfr_grant g = {0};

    mint_set(&g, CFR_FIELD_OPENSTACK_TOKEN, MINT_TOKEN);
    mint_set(&g, CFR_FIELD_OPENSTACK_AUTH_URL, "https://keystone.test:5000/v3");
    mint_set(&g, CFR_FIELD_OPENSTACK_USER_ID, "u1");
    mint_set(&g, CFR_FIELD_OPENSTACK_REGION_NAME, "RegionOne");
    mint_set(&g, CFR_FIELD_OPENSTACK_INTERFACE, "public");
    return g;
}

static void requests(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_ask list = mint_ask(CFR_ROTATION_LIST, NULL, &g);
    struct cfr_rotation_ask create = mint_ask(CFR_ROTATION_CREATE, NULL, &g);
    struct cfr_rotation_ask drop = mint_ask(CFR_ROTATION_DELETE, "k/1", &g);

    (void)state;
    mint_request(openstack, &config, &list, "GET " LIST "\n" AUTH "\n");
    mint_request(openstack, &config, &create,
                 "POST " LIST "\n" AUTH "Content-Type: application/json\n\n"
                 "{\"application_credential\":{\"name\":\"" MINT_NAME "\",\"unrestricted\":false}}");
    mint_request(openstack, &config, &drop, "DELETE " LIST "/k%2F1\n" AUTH "\n");
    mint_request(openstack, &full, &create,
                 "POST http://127.0.0.1:5000/identity/v3/users/u%2F2/application_credentials\n" AUTH
                 "Content-Type: application/json\n(CA: /etc/ca.pem)\n\n"
                 "{\"application_credential\":{\"name\":\"" MINT_NAME
                 "\",\"unrestricted\":true,\"roles\":[{\"name\":\"member\"},"
                 "{\"name\":\"load \\\"balancer\\\"\"}],"
                 "\"access_rules\":[{\"service\":\"compute\",\"method\":\"GET\",\"path\":\"/v2.1/servers/**\"},"
                 "{\"service\":\"image\",\"method\":\"POST\",\"path\":\"/v2/"
                 "images\"}],\"expires_at\":\"2026-04-02T03:04:05Z\"}}");
    cfr_grant_free(&g);
}

/* A field of the admin's grant at a time is left out. */
static void without(void **state)
{
    static const struct {
        const char *field;
        const char *why;
    } all[] = {{CFR_FIELD_OPENSTACK_TOKEN, "has no token of Keystone"},
               {CFR_FIELD_OPENSTACK_AUTH_URL, "auth_url: is missing"},
               {CFR_FIELD_OPENSTACK_USER_ID, "user_id: is missing"}};

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        struct cfr_grant g = admin();
        struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_LIST, NULL, &g);
        struct cfr_wire_request r = {0};
        struct cfr_err err = {0};

        mint_set(&g, all[i].field, "");
        assert_int_equal(openstack->build(&config, &ask, "", &r, &err), CFR_E_CONFIG);
        assert_contains(err.text, all[i].why);
        cfr_wire_request_free(&r);
        cfr_grant_free(&g);
    }
}

static void lists(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_answer out = {.used_s = 0};
    bool found = false;

    (void)state;
    mint_read(openstack, &config, &g, CFR_ROTATION_LIST, 200, "empty.json", &out);
    assert_int_equal(out.keys.count, 0);
    mint_read(openstack, &config, &g, CFR_ROTATION_LIST, 200, "list.json", &out);
    assert_int_equal(out.keys.count, 2);
    assert_string_equal(out.keys.key[0].id, FIRST);
    assert_string_equal(out.keys.key[0].name, MINT_NAME);
    assert_true(out.keys.key[0].active && out.keys.key[0].created_s == 0);
    assert_string_equal(out.keys.key[1].name, "");                   /* no name of ours */
    assert_true(!out.keys.key[1].active && out.keys.key[1].expired); /* now */
    out = (struct cfr_rotation_answer){.used_s = 0};
    mint_read(openstack, &config, &g, CFR_ROTATION_LIST, 200, "many.json", &out);
    assert_int_equal(out.keys.count, CFR_ROTATION_KEYS_MAX);
    for (size_t i = 0; i < out.keys.count; i++)
        found = found || strcmp(out.keys.key[i].name, MINT_NAME) == 0;
    assert_true(found);
    cfr_grant_free(&g);
}

static bool has(const struct cfr_rotation_keys *keys, const char *id)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->key[i].id, id) == 0)
            return true;
    }
    return false;
}

/* The first and the last of a list that is too long, which have names of their owner's. */
static void adopted_ones_in_a_long_list(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_view body = mint_case(openstack, "answers", cfr_view_of("many.json"));
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_LIST, "", &g);
    struct cfr_wire_reply reply = {.status = 200, .body = body};
    struct cfr_rotation_answer out = {.used_s = 0};
    struct cfr_err err = {0};

    (void)state;
    ask.keep[0] = "k0";
    ask.keep[1] = "";
    ask.keep[2] = "l8";
    assert_int_equal(openstack->parse(&config, &ask, &reply, &out, &err), 0);
    assert_int_equal(out.keys.count, CFR_ROTATION_KEYS_MAX);
    assert_true(has(&out.keys, "k0") && has(&out.keys, "l8"));
    data_file_free(body);
    cfr_grant_free(&g);
}

static void new_credentials(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    mint_read(openstack, &config, &g, CFR_ROTATION_CREATE, 201, "created.json", &out);
    assert_string_equal(out.made.id, FIRST);
    assert_string_equal(out.made.name, MINT_NAME);
    assert_string_equal(out.grant.identity, MINT_NAME " (" FIRST ")");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID), FIRST);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET), "hush-hush-rEaxvSg");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_AUTH_URL), "https://keystone.test:5000/v3");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_USER_ID), "u1");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_PROJECT_ID), "p1");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_REGION_NAME), "RegionOne");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_INTERFACE), "public");
    assert_null(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_CACERT).p);
    assert_int_equal(out.grant.expires_s, 0);
    cfr_rotation_answer_free(&out);
    mint_read(openstack, &full, &g, CFR_ROTATION_CREATE, 201, "created-expiring.json", &out);
    assert_int_equal(out.grant.expires_s, 1775099045);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_AUTH_URL), "http://127.0.0.1:5000/identity/v3");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_REGION_NAME), "Here");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_OPENSTACK_CACERT), "/etc/ca.pem");
    cfr_rotation_answer_free(&out);
    cfr_grant_free(&g);
}

static void deleted(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_DELETE, "k1", &g);
    struct cfr_wire_reply reply = {.status = 204};
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    assert_int_equal(openstack->parse(&config, &ask, &reply, &out, NULL), 0);
    cfr_grant_free(&g);
}

static void refusals(void **state)
{
    struct cfr_grant g = admin();

    (void)state;
    mint_bad_answers(openstack, &config, &g, 29, 201);
    cfr_grant_free(&g);
}

static void trials(void **state)
{
    struct cfr_grant g = {0};
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_VERIFY, NULL, &g);
    struct cfr_rotation_trial t = {.provider = NULL};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(openstack->trial(&config, &ask, &t, &err), CFR_E_INTERNAL);
    mint_set(&g, CFR_FIELD_OPENSTACK_AUTH_URL, "https://keystone.test/v3");
    mint_set(&g, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_ID, "c1");
    mint_set(&g, CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET, "s1");
    t = (struct cfr_rotation_trial){.provider = NULL};
    assert_int_equal(openstack->trial(&full, &ask, &t, &err), 0);
    assert_string_equal(t.provider, "openstack");
    assert_view(mint_trial_value(t.settings, t.setting_count, "auth_url"), "https://keystone.test/v3");
    assert_view(mint_trial_value(t.settings, t.setting_count, "application_credential_id"), "c1");
    assert_view(mint_trial_value(t.settings, t.setting_count, "ca_file"), "/etc/ca.pem");
    assert_view(mint_trial_value(t.contents, t.content_count, "application_credential_secret_file"), "s1");
    cfr_grant_free(&g);
}

static void configurations(void **state)
{
    const struct cfr_table *t = openstack->table;

    (void)state;
    mint_table(t);
    assert_true(openstack->names && openstack->most == 0 && !openstack->deactivates && openstack->places == NULL);
    assert_null(openstack->subject(&config));
    assert_string_equal(openstack->subject(&full), "u/2");
    mint_check(t, NULL, MINT_LIST(NULL));
    mint_check(t, NULL,
               MINT_LIST("auth_url", "https://k.test/v3", "user_id", "u", "lifetime", "720h", "unrestricted", "true"));
    mint_check(t, "auth_url: plain http is only for", MINT_LIST("auth_url", "http://k.test/v3"));
    mint_check(t, "", MINT_LIST("lifetime", "1m"));
}

static void every_allocation(void **state)
{
    struct cfr_grant g = admin();

    (void)state;
    mint_burn(openstack, &config, &g, CFR_ROTATION_LIST, 200, "list.json", 0);
    mint_burn(openstack, &full, &g, CFR_ROTATION_CREATE, 201, "created.json", 0);
    mint_burn(openstack, &config, &g, CFR_ROTATION_CREATE, 403, "restricted.json", CFR_E_DENIED);
    cfr_grant_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),        cmocka_unit_test(without),
        cmocka_unit_test(lists),           cmocka_unit_test(adopted_ones_in_a_long_list),
        cmocka_unit_test(new_credentials), cmocka_unit_test(deleted),
        cmocka_unit_test(refusals),        cmocka_unit_test(trials),
        cmocka_unit_test(configurations),  cmocka_unit_test(every_allocation),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
