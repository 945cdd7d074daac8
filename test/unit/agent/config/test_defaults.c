/* SPDX-License-Identifier: MIT */
/* Defaults for credentials: where they hold, what is written elsewhere, and what they cannot be. */
#include "agent/config/config_private.h"

#include "config_text.h"

/* Two lines each, but for REST. */
#define ADMIN    "  - name: admin\n    secret: {directory: /s, pass_on: true}\n"
#define AWS      "aws: {user_name: u, regions: [us-east-1]}, with: admin"
#define HEAD     "version: 1\nstate_dir: /var/lib/credfresh\n"
#define ROBOT(x) "  - name: robot\n    mint: {" AWS x "}\n" REST
#define REST     "    publish: {directory: /d, files: [{name: t, format: aws-credentials}]}\n"
#define PLAIN    "  - name: plain\n    token: {file: /t/token}\n    publish: {file: {path: /p, format: token}}\n"
#define LIST     "credentials:\n"
#define TIMES    "{expire_after: 48h, grace: 1h, grace_most: 2h, verify_every: 5m}"
#define RUN(x)   "{exec: [/bin/" x "]}"

static void hold_where_there_is_no_such_key(void **state)
{
    /* In whatever order. */
    static const char *const texts[] = {
        HEAD "defaults: {mint: " TIMES ", reload: [" RUN("a") ", " RUN("b") "]}\n" LIST ADMIN ROBOT("") PLAIN,
        HEAD LIST ADMIN ROBOT("") PLAIN "defaults: {reload: [" RUN("a") ", " RUN("b") "], mint: " TIMES "}\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct cfr_config *config = parse(texts[i]);
        const struct cfr_config_credential *robot = cfr_config_find(config, "robot");
        const struct cfr_config_credential *plain = cfr_config_find(config, "plain");

        assert_int_equal(robot->mint->expire_after_ms, 48 * CFR_HOUR_MS);
        assert_int_equal(robot->mint->grace_ms, CFR_HOUR_MS);
        assert_int_equal(robot->mint->grace_most_ms, 2 * CFR_HOUR_MS);
        assert_int_equal(robot->mint->verify_every_ms, 5 * CFR_MINUTE_MS);
        assert_int_equal(robot->mint->settle_ms, 5 * CFR_MINUTE_MS);
        assert_int_equal(robot->reload.count, 2);
        assert_int_equal(plain->reload.count, 2);
        assert_null(plain->mint);
        /* Nothing of it is published. */
        assert_int_equal(cfr_config_find(config, "admin")->reload.count, 0);
        assert_true(cfr_config_has_default(robot, "mint.grace") && cfr_config_has_default(robot, "reload"));
        assert_true(cfr_config_has_default(plain, "reload") && !cfr_config_has_default(plain, "mint.grace"));
        assert_false(cfr_config_has_default(cfr_config_find(config, "admin"), "reload"));
        cfr_config_free(config);
    }
}

static void are_overridden(void **state)
{
    struct cfr_config *config =
        parse(HEAD "defaults: {mint: " TIMES ", reload: [" RUN("a") ", " RUN("b") "]}\n" LIST ADMIN
                  /* Each key alone; a list as a whole. */
                  ROBOT(", grace: 2m, verify_every: 10s") "    reload: [" RUN("c") "]\n" PLAIN "    reload: []\n");
    const struct cfr_config_credential *robot = cfr_config_find(config, "robot");

    (void)state;
    assert_int_equal(robot->mint->expire_after_ms, 48 * CFR_HOUR_MS);
    assert_int_equal(robot->mint->grace_ms, 2 * CFR_MINUTE_MS);
    assert_int_equal(robot->mint->grace_most_ms, 2 * CFR_HOUR_MS);
    assert_int_equal(robot->mint->verify_every_ms, 10 * CFR_SECOND_MS);
    assert_int_equal(robot->reload.count, 1);
    assert_int_equal(cfr_config_find(config, "plain")->reload.count, 0);
    assert_true(cfr_config_has_default(robot, "mint.expire_after"));
    assert_false(cfr_config_has_default(robot, "mint.grace") || cfr_config_has_default(robot, "reload"));
    assert_false(cfr_config_has_default(cfr_config_find(config, "plain"), "reload"));
    cfr_config_free(config);
}

static void are_listed_as_they_are_written(void **state)
{
    struct cfr_config *config =
        parse(HEAD "defaults:\n  mint:\n    verify_every: 5m\n    grace: 1h\n  reload:\n    - " RUN(
            "a") "\n" LIST ADMIN ROBOT(""));
    struct cfr_config *none = parse(HEAD "defaults: {}\n" LIST PLAIN);
    static const struct {
        const char *key;
        int line;
    } wanted[] = {{"reload", 8}, {"mint.grace", 5}, {"mint.verify_every", 5}};
    char key[CFR_CONFIG_DEFAULT_MAX];
    int line;

    (void)state;
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_true(cfr_config_default_at(config, i, key, &line));
        assert_string_equal(key, wanted[i].key);
        assert_int_equal(line, wanted[i].line);
    }
    assert_false(cfr_config_default_at(config, COUNT(wanted), key, &line));
    assert_false(cfr_config_default_at(none, 0, key, &line));
    cfr_config_free(config);
    cfr_config_free(none);
}

/* What is recorded and kept follows from what holds, not from where it is written. */
static void same_digests_as_written_out(void **state)
{
    static const char *const pairs[][2] = {
        {HEAD "defaults: {mint: " TIMES ", reload: [" RUN("a") "]}\n" LIST ADMIN ROBOT("") PLAIN,
         HEAD LIST ADMIN ROBOT(", expire_after: 48h, grace: 1h, grace_most: 2h, verify_every: 5m") "    reload: [" RUN(
             "a") "]\n" PLAIN "    reload: [" RUN("a") "]\n"},
        {HEAD "defaults: {mint: " TIMES ", reload: [" RUN("a") "]}\n" LIST ADMIN ROBOT(
             ", expire_after: 720h, grace: 10m, grace_most: 24h, verify_every: 1h") "    reload: []\n" PLAIN
                                                                                    "    reload: [" RUN("b") "]\n",
         HEAD LIST ADMIN ROBOT("") PLAIN "    reload: [" RUN("b") "]\n"},
    };
    static const char *const names[] = {"admin", "robot", "plain"};
    struct cfr_config *changed =
        parse(HEAD "defaults: {mint: {grace: 2h}, reload: [" RUN("z") "]}\n" LIST ADMIN ROBOT("") PLAIN);

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct cfr_config *with = parse(pairs[i][0]);
        struct cfr_config *written = parse(pairs[i][1]);

        for (size_t k = 0; k < COUNT(names); k++) {
            const struct cfr_config_credential *a = cfr_config_find(with, names[k]);
            const struct cfr_config_credential *b = cfr_config_find(written, names[k]);
            const struct cfr_config_credential *c = cfr_config_find(changed, names[k]);

            assert_true(a->digest == b->digest);
            assert_true(a->digest_material == b->digest_material && a->digest_material == c->digest_material);
            assert_true(a->digest_source == b->digest_source && a->digest_source == c->digest_source);
            assert_true((a->digest == c->digest) == (k == 0));
        }
        cfr_config_free(with);
        cfr_config_free(written);
    }
    cfr_config_free(changed);
}

static void mistakes_in_them(void **state)
{
    static const struct refusal cases[] = {
        {HEAD "defaults:\n" LIST PLAIN, "f:3: defaults: has no value; write one, or leave the key out\n"},
        {HEAD "defaults: []\n" LIST PLAIN,
         "f:3: defaults: expected a mapping, got a list; write `mint: ...` below it, indented\n"},
        {HEAD "defaults: {required: false}\n" LIST PLAIN,
         "f:3: defaults: unknown key required; this default for credentials has: mint, reload\n"},
        {HEAD "defaults: {relaod: []}\n" LIST PLAIN, "f:3: defaults: unknown key relaod; did you mean reload?\n"},
        {HEAD "defaults: {mint: {with: admin}}\n" LIST PLAIN,
         "f:3: defaults.mint: unknown key with; this default for minted keys has: expire_after, grace, grace_most, "
         "verify_every\n"},
        {HEAD "defaults: {reload: []}\n" LIST PLAIN, "f:3: defaults.reload: is empty; write at least 1\n"},
        {HEAD "defaults:\n  mint:\n    grace: 1\n" LIST ADMIN ROBOT(""),
         "f:5: defaults.mint.grace: 1 has no unit; write 1s if seconds are meant\n"},
        {HEAD "defaults:\n  mint:\n    verify_every: 1s\n" LIST ADMIN ROBOT(""),
         "f:5: defaults.mint.verify_every: 1s is out of range; write a duration from 10s to 1d\n"},
        {HEAD "defaults:\n  mint:\n    expire_after: 1h\n    grace: 40m\n" LIST ADMIN ROBOT(""),
         "f:5: defaults.mint.expire_after: must be twice the grace at least, or a key is old before the one before it "
         "may go\n"},
        {HEAD "defaults:\n  mint:\n    grace_most: 1h\n    grace: 2h\n" LIST ADMIN ROBOT(""),
         "f:5: defaults.mint.grace_most: must be as long as grace at least\n"},
        {HEAD "defaults: {}\ndefaults: {}\n" LIST PLAIN,
         "f:4: defaults: is given twice, first on line 3; remove one\n"},
        /* Reported once, however many credentials would have it. */
        {HEAD LIST ADMIN ROBOT("") PLAIN "defaults:\n  reload:\n    - {on_first: skip}\n",
         "f:14: defaults.reload: does nothing; write one of `signal`, `exec`, `http` or `rollout`\n"},
        {HEAD LIST PLAIN "    acknowledge: {hooks: true}\ndefaults:\n  reload:\n    - {http: {url: x}}\n",
         "f:10: defaults.reload.http.url: is shorter than 8 characters\n"},
        {HEAD LIST "  - name: a_\n    token: {file: /t/token}\n    publish: {file: {path: /p, format: token}}\n"
                   "defaults:\n  reload:\n    - {rollout: {kind: Deployment, name: web}}\n",
         "f:4: credential a_: name: ends with \"_\", with which the annotation of the hook `rollout` cannot end; use a "
         "letter or a digit there, or remove the hook\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void wrong_for_one_credential(void **state)
{
    static const struct refusal cases[] = {
        {HEAD "defaults:\n  mint:\n    grace: 20h\n" LIST ADMIN ROBOT(", expire_after: 24h"),
         "f:10: credential robot: mint.expire_after: must be twice the grace at least, or a key is old before the one "
         "before it may go (`grace` is that of `defaults`, line 5)\n"},
        {HEAD "defaults:\n  mint:\n    expire_after: 2h\n    verify_every: 1m\n" LIST ADMIN ROBOT(", grace: 90m"),
         "f:11: credential robot: mint.expire_after: must be twice the grace at least, or a key is old before the one "
         "before it may go (`expire_after` is that of `defaults`, line 5)\n"},
        {HEAD "defaults: {mint: {grace: 25h}}\n" LIST ADMIN ROBOT(""),
         "f:8: credential robot: mint.grace_most: must be as long as grace at least (`grace` is that of `defaults`, "
         "line 3)\n"},
        {HEAD "defaults:\n  reload:\n    - " RUN("a") "\n" LIST PLAIN "    acknowledge: {hooks: true}\n",
         "f:10: credential plain: acknowledge: hooks: no hook of `reload` has an acknowledge_header; write one in its "
         "`http` (`reload` is that of `defaults`, line 4)\n"},
        /* Others are checked as without defaults. */
        {HEAD "defaults: {mint: {grace: 1h}}\n" LIST ADMIN ROBOT(", grace: 25h"),
         "f:8: credential robot: mint.grace_most: must be as long as grace at least\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void hold_for_many(void **state)
{
    struct cfr_str text = {.limit = 4194304};
    struct cfr_config *config;

    (void)state;
    cfr_str_addz(&text, HEAD "defaults: {reload: [" RUN("a") "]}\n" LIST);
    for (int i = 0; i < 2000; i++)
        cfr_str_addf(&text, "- {name: c%d, token: {file: /t/token}, publish: {file: {path: /p/%d, format: token}}}\n",
                     i, i);
    config = parse(text.p);
    for (size_t i = 0; i < 2000; i++)
        assert_int_equal(cfr_config_at(config, i)->reload.count, 1);
    cfr_config_free(config);
    cfr_str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hold_where_there_is_no_such_key),
        cmocka_unit_test(are_overridden),
        cmocka_unit_test(are_listed_as_they_are_written),
        cmocka_unit_test(same_digests_as_written_out),
        cmocka_unit_test(mistakes_in_them),
        cmocka_unit_test(wrong_for_one_credential),
        cmocka_unit_test(hold_for_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
