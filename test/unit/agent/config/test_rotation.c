/* SPDX-License-Identifier: MIT */
/* What a rotated key may be published as while none may be created. */
#include "agent/config/config_private.h"

#include "config_text.h"

/* Two lines each. */
#define HEAD     "version: 1\nstate_dir: /var/lib/credfresh\n"
#define ADMIN(x) "credentials:\n  - {name: admin, " x "}\n"
#define SECRET   ADMIN("secret: {directory: /s, pass_on: true}")
#define AWS      "aws: {user_name: u, regions: [us-east-1]}"
#define KEY(x)   "  - name: robot\n    mint: {with: admin, " x "}\n"
#define PUB      "    publish: {directory: /d, files: [{name: t, format: json}]}\n"

static void the_key_of_the_administrator(void **state)
{
    struct cfr_config *config = parse(HEAD SECRET KEY(AWS ", or: pass_on") PUB);

    (void)state;
    assert_string_equal(cfr_config_find(config, "robot")->mint->otherwise, CFR_MINT_PASS_ON);
    cfr_config_free(config);
    config = parse(HEAD SECRET KEY(AWS) PUB);
    assert_null(cfr_config_find(config, "robot")->mint->otherwise);
    cfr_config_free(config);
}

static void what_cannot_be_passed_on(void **state)
{
    static const struct refusal cases[] = {
        {HEAD SECRET KEY(AWS ", or: nothing") PUB,
         "f:6: credential robot: mint.or: must be `pass_on`, got \"nothing\"\n"},
        {HEAD SECRET KEY(AWS ", or: pass_on, adopt: target") PUB,
         "f:6: credential robot: mint.or: cannot be combined with `adopt`, which waits for the rights to list keys; "
         "remove one\n"},
        {HEAD ADMIN("secret: {directory: /s, kind: aws}") KEY(AWS ", or: pass_on") PUB,
         "f:6: credential robot: mint.or: admin is a Secret that is exchanged, whose session token a minted key does "
         "not have; write a mounted Secret with `pass_on: true`, or remove `or`\n"},
        {HEAD SECRET KEY("gcp: {service_account: r@p.iam.gserviceaccount.com}, or: pass_on") PUB,
         "f:6: credential robot: mint.or: `with` has an access token of gcp, and a minted key has "
         "gcp_service_account_key: it cannot be published instead; remove `or`\n"},
        {HEAD SECRET KEY("openstack: {}, or: pass_on") PUB,
         "f:6: credential robot: mint.or: `with` has a token of openstack, and a minted key has "
         "openstack_application_credential_secret: it cannot be published instead; remove `or`\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

/* Two with one `with` are compared, also where one of them says nothing of its keys. */
static void a_provider_of_the_wrong_kind(void **state)
{
    static const struct refusal cases[] = {
        {HEAD SECRET KEY("aws: nonsense") PUB "  - name: backup\n    mint: {with: admin, " AWS
                                              "}\n    publish: {directory: /e, files: [{name: t, format: json}]}\n",
         "f:6: credential robot: mint.aws: expected a mapping, got text; write `user_name: ...` below it, "
         "indented\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_of_the_administrator),
        cmocka_unit_test(what_cannot_be_passed_on),
        cmocka_unit_test(a_provider_of_the_wrong_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
