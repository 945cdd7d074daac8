/* SPDX-License-Identifier: MIT */
/* API keys of IBM Cloud: requests, answers, refusals, and how a new key is tried. */
#include "mint_golden.h"

#include "rotation/found.h"
#include "rotation/ibm_private.h"

#define IAM_ID  "iam-ServiceId-8b7f2a1c-0000-4000-8000-000000000001"
#define ACCOUNT "0123456789abcdef0123456789abcdef"
#define KEYS    "https://iam.cloud.ibm.com/v1/apikeys"
#define FIRST   "ApiKey-00000001-1111-4222-8333-444444444444"
#define AUTH    "Authorization: Bearer " MINT_TOKEN "\n"
#define QUERY   "?account_id=" ACCOUNT "&iam_id=" IAM_ID "&pagesize=100&sort=created_at"

static const struct cfr_rotation_provider *const ibm = &cfr_rotation_ibm_provider;
static struct cfr_rotation_ibm config = {.iam_id = (char[]){IAM_ID}, .account_id = (char[]){ACCOUNT}};
static struct cfr_rotation_ibm local = {.iam_id = (char[]){IAM_ID},
                                        .account_id = (char[]){ACCOUNT},
                                        .endpoint = (char[]){"https://127.0.0.1:8080/ibm/"},
                                        .ca_file = (char[]){"/etc/ca.pem"}};

static struct cfr_grant admin(void)
{
    struct cfr_grant g = {0};

    mint_set(&g, CFR_FIELD_OAUTH_ACCESS_TOKEN, MINT_TOKEN);
    mint_set(&g, CFR_FIELD_IBM_API_KEY, "hush-hush&value");
    return g;
}

static void requests(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_ask list = mint_ask(CFR_ROTATION_LIST, NULL, &g);
    struct cfr_rotation_ask create = mint_ask(CFR_ROTATION_CREATE, NULL, &g);
    struct cfr_rotation_ask verify = mint_ask(CFR_ROTATION_VERIFY, NULL, &g);
    struct cfr_rotation_ask disable = mint_ask(CFR_ROTATION_DEACTIVATE, "a/b", &g);
    struct cfr_rotation_ask drop = mint_ask(CFR_ROTATION_DELETE, FIRST, &g);

    (void)state;
    mint_request(ibm, &config, &list, "GET " KEYS QUERY "\n" AUTH "\n");
    mint_request(ibm, &config, &create,
                 "POST " KEYS "\n" AUTH "Content-Type: application/json\n\n"
                 "{\"name\":\"" MINT_NAME "\",\"description\":\"Rotated by credfresh\",\"iam_id\":\"" IAM_ID
                 "\",\"account_id\":\"" ACCOUNT "\",\"store_value\":false}");
    mint_request(ibm, &config, &verify,
                 "POST https://iam.cloud.ibm.com/identity/token\n"
                 "Content-Type: application/x-www-form-urlencoded\nAccept: application/json\n\n"
                 "grant_type=urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Aapikey&apikey=hush-hush%26value");
    mint_request(ibm, &config, &disable, "POST " KEYS "/a%2Fb/disable\n" AUTH "\n");
    mint_request(ibm, &config, &drop, "DELETE " KEYS "/" FIRST "\n" AUTH "\n");
    mint_request(ibm, &local, &drop,
                 "DELETE https://127.0.0.1:8080/ibm/v1/apikeys/" FIRST "\n" AUTH "(CA: /etc/ca.pem)\n\n");
    cfr_grant_free(&g);
}

static void refused_before_sending(void **state)
{
    static const char *const bad[] = {"", "two words", "line\nbreak"};
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};
    struct cfr_grant none = {0};
    struct cfr_rotation_ask ask = mint_ask(CFR_ROTATION_VERIFY, NULL, &none);

    (void)state;
    assert_int_equal(ibm->build(&config, &ask, "", &r, &err), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    r = (struct cfr_wire_request){0};
    ask.op = CFR_ROTATION_LAST_USED;
    assert_int_equal(ibm->build(&config, &ask, "", &r, &err), CFR_E_INTERNAL);
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct cfr_grant g = {0};

        ask = mint_ask(CFR_ROTATION_LIST, NULL, &g);
        r = (struct cfr_wire_request){0};
        mint_set(&g, CFR_FIELD_OAUTH_ACCESS_TOKEN, bad[i]);
        assert_int_equal(ibm->build(&config, &ask, "", &r, &err), CFR_E_CONFIG);
        assert_contains(err.text, "must be an exchange with `oauth`");
        cfr_wire_request_free(&r);
        cfr_grant_free(&g);
    }
}

static void lists(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    mint_read(ibm, &config, &g, CFR_ROTATION_LIST, 200, "empty.json", &out);
    assert_int_equal(out.keys.count, 0);
    mint_read(ibm, &config, &g, CFR_ROTATION_LIST, 200, "list.json", &out);
    assert_int_equal(out.keys.count, 5); /* and not the one of another identity */
    assert_string_equal(out.keys.key[0].id, FIRST);
    assert_string_equal(out.keys.key[0].name, MINT_NAME);
    assert_string_equal(out.keys.key[0].maker, "iam-Profile-1");
    assert_true(out.keys.key[0].active && !out.keys.key[1].active);
    assert_true(!out.keys.key[1].expired && out.keys.key[2].expired && !out.keys.key[2].active);
    assert_true(out.keys.key[3].active && out.keys.key[3].ends_s == 1798761600);
    assert_int_equal(out.keys.key[0].created_s, MINT_NOW - 5);
    assert_int_equal(out.keys.key[2].created_s, 1735689600);
    assert_int_equal(out.keys.key[3].created_s, 1764547200);
    assert_int_equal(out.keys.key[4].created_s, 0);
    assert_string_equal(out.next, "");
    cfr_rotation_answer_free(&out);
    cfr_grant_free(&g);
}

/* Of a link only the page token counts, so that the token of `with` goes nowhere else. */
static void pages(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_ask list = mint_ask(CFR_ROTATION_LIST, NULL, &g);
    struct cfr_rotation_answer out = {.used_s = 0};
    struct cfr_wire_request r = {0};
    struct cfr_err err = {0};

    (void)state;
    mint_read(ibm, &config, &g, CFR_ROTATION_LIST, 200, "page.json", &out);
    assert_string_equal(out.next, "g1A%3D.b-c");
    assert_int_equal(ibm->build(&config, &list, out.next, &r, &err), 0);
    assert_string_equal(r.url, KEYS QUERY "&pagetoken=g1A%3D.b-c");
    cfr_wire_request_free(&r);
    mint_read(ibm, &config, &g, CFR_ROTATION_LIST, 200, "page-token.json", &out);
    assert_string_equal(out.next, "g2");
    mint_read(ibm, &config, &g, CFR_ROTATION_LIST, 200, "empty.json", &out);
    assert_string_equal(out.next, "");
    assert_int_equal(out.keys.count, 1);
    cfr_rotation_answer_free(&out);
    cfr_grant_free(&g);
}

static void new_keys(void **state)
{
    struct cfr_grant g = admin();
    struct cfr_rotation_answer out = {.used_s = 0};

    (void)state;
    mint_read(ibm, &config, &g, CFR_ROTATION_CREATE, 201, "created.json", &out);
    assert_string_equal(out.made.id, FIRST);
    assert_string_equal(out.grant.identity, MINT_NAME " (" FIRST ") of " IAM_ID);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_IBM_API_KEY), "hush-hush-value_of-the-key");
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_IBM_API_KEY_ID), FIRST);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_IBM_IAM_ID), IAM_ID);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_IBM_ACCOUNT_ID), ACCOUNT);
    assert_true(cfr_grant_is_secret(CFR_FIELD_IBM_API_KEY) && !cfr_grant_is_secret(CFR_FIELD_IBM_API_KEY_ID));
    assert_int_equal(out.grant.issued_s, MINT_NOW - 5);
    assert_int_equal(out.grant.expires_s, 0);
    cfr_rotation_answer_free(&out);
    mint_read(ibm, &config, &g, CFR_ROTATION_CREATE, 201, "created-ending.json", &out);
    assert_int_equal(out.grant.expires_s, 1798761600);
    cfr_rotation_answer_free(&out);
    mint_read(ibm, &config, &g, CFR_ROTATION_VERIFY, 200, "token.json", &out);
    mint_read(ibm, &config, &g, CFR_ROTATION_DELETE, 204, "empty.json", &out);
    mint_read(ibm, &config, &g, CFR_ROTATION_DEACTIVATE, 204, "empty.json", &out);
    cfr_grant_free(&g);
}

static void refusals(void **state)
{
    struct cfr_grant g = admin();

    (void)state;
    mint_bad_answers(ibm, &config, &g, 35, 201);
    cfr_grant_free(&g);
}

/* Reads FIELDS, names and values in turn, as a key that another program created. */
static int recognize(const char *const *fields, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_rotation_ask ask = {.op = CFR_ROTATION_LIST};
    struct cfr_rotation_found found = {.since_s = 0};
    struct cfr_grant read = {0};
    int rc;

    for (; *fields != NULL; fields += 2)
        mint_set(&found.values, fields[0], fields[1]);
    assert_int_equal(cfr_rotation_found_fields(&found, &read, err), 0);
    *out = (struct cfr_rotation_answer){.used_s = 0};
    rc = ibm->recognize(&config, &ask, &read, out, err);
    cfr_grant_free(&found.values);
    cfr_grant_free(&read);
    return rc;
}

static void adoption(void **state)
{
    struct cfr_rotation_answer out;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(recognize(MINT_LIST("ibmcloud_api_key", "hush-hush-1\n", "ibm_api_key_id", FIRST,
                                         "ibm-credentials.env", "IBMCLOUD_AUTHTYPE=iam\nIBMCLOUD_APIKEY=hush-hush-1"),
                               &out, &err),
                     0);
    assert_string_equal(out.made.id, FIRST);
    assert_view(cfr_grant_get(&out.grant, CFR_FIELD_IBM_API_KEY), "hush-hush-1");
    assert_string_equal(out.grant.identity, FIRST " of " IAM_ID);
    cfr_rotation_answer_free(&out);
    assert_int_equal(
        recognize(MINT_LIST("ibmcloud_api_key", "hush-hush-1", "minted", "2026-01-02T03:04:05Z " FIRST), &out, &err),
        0);
    assert_string_equal(out.made.id, FIRST);
    cfr_rotation_answer_free(&out);
    assert_int_equal(recognize(MINT_LIST("other", "x"), &out, &err), CFR_E_MISSING);
    assert_int_equal(recognize(MINT_LIST("ibmcloud_api_key", "hush-hush-1"), &out, &err), CFR_E_ANSWER);
    assert_contains(err.text, "does not say its id");
    mint_no_secret(&err);
    assert_int_equal(recognize(MINT_LIST("ibmcloud_api_key", "hush-hush 1", "ibm_api_key_id", FIRST), &out, &err),
                     CFR_E_ANSWER);
    mint_no_secret(&err);
    assert_int_equal(
        recognize(MINT_LIST("ibmcloud_api_key", "hush-hush-1", "ibm_iam_id", "iam-ServiceId-2"), &out, &err),
        CFR_E_CONFLICT);
}

static void configurations(void **state)
{
    const struct cfr_table *t = ibm->table;

    (void)state;
    mint_table(t);
    assert_true(ibm->names && ibm->deactivates && !ibm->tells_use && ibm->places == NULL && ibm->trial == NULL);
    assert_string_equal(ibm->subject(&config), IAM_ID);
    mint_check(t, NULL, MINT_LIST("iam_id", IAM_ID, "account_id", ACCOUNT));
    mint_check(t, NULL, MINT_LIST("iam_id", "IBMid-0123456789", "account_id", ACCOUNT));
    mint_check(t, NULL, MINT_LIST("iam_id", IAM_ID, "account_id", ACCOUNT, "endpoint", "https://iam.test:8443/x"));
    mint_check(t, "iam_id: must be an IAM ID", MINT_LIST("iam_id", "ServiceId-1", "account_id", ACCOUNT));
    mint_check(t, "iam_id: must be an IAM ID", MINT_LIST("iam_id", "a&b", "account_id", ACCOUNT));
    mint_check(t, "account_id: must be", MINT_LIST("iam_id", IAM_ID, "account_id", "a/b"));
    mint_check(t, "endpoint: plain http is only for",
               MINT_LIST("iam_id", IAM_ID, "account_id", ACCOUNT, "endpoint", "http://iam.test"));
    mint_check(t, "endpoint: must be a host",
               MINT_LIST("iam_id", IAM_ID, "account_id", ACCOUNT, "endpoint", "https://iam.test/?a=b"));
}

static void every_allocation(void **state)
{
    struct cfr_grant g = admin();

    (void)state;
    mint_burn(ibm, &config, &g, CFR_ROTATION_LIST, 200, "list.json", 0);
    mint_burn(ibm, &config, &g, CFR_ROTATION_CREATE, 201, "created.json", 0);
    mint_burn(ibm, &config, &g, CFR_ROTATION_VERIFY, 200, "token.json", 0);
    mint_burn(ibm, &config, &g, CFR_ROTATION_CREATE, 403, "forbidden.json", CFR_E_DENIED);
    cfr_grant_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(refused_before_sending),
        cmocka_unit_test(lists),
        cmocka_unit_test(pages),
        cmocka_unit_test(new_keys),
        cmocka_unit_test(refusals),
        cmocka_unit_test(adoption),
        cmocka_unit_test(configurations),
        cmocka_unit_test(every_allocation),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
