/* SPDX-License-Identifier: MIT */
/* Rotations of all clouds, from the first key on, with failures, kills, requests of an operator, and without the right
 * to create keys. */
#include "rotation_fixture.h"

static const char *const clouds[] = {"aws", "azure", "gcp", "ibm", "openstack"};
static struct agent *const a = &fake.agents[0];

/* One agent at CLOUD, with its first key. */
static void begin_at(const char *cloud)
{
    use_cloud(cloud);
    add_agent(0, NULL);
    open_agent(a);
    run_for(CFR_HOUR_MS);
    assert_string_equal(published_by(a), "key-1");
    assert_string_equal(fake.events, "+key-1 ^key-1");
}

static void again(void **state)
{
    (void)end(state);
    (void)begin(state);
}

static void its_row_is_found(void **state)
{
    struct cfr_config_mint mint = {.with = admin_text};
    const struct cfr_config_credential key = {.name = robot_text, .mint = &mint};
    const struct cfr_config_credential other = {.name = robot_text};
    const struct cfr_source_ops *source = cfr_source_of(&key);

    (void)state;
    assert_ptr_equal(source, &cfr_rotator_source);
    assert_string_equal(source->describe(&key), "mint");
    assert_false(source->may_send(&key));
    assert_ptr_not_equal(cfr_source_of(&other), &cfr_rotator_source);
}

/* Only a running agent has a rotator. */
static void it_is_not_granted_elsewhere(void **state)
{
    struct cfr_config_mint mint = {.with = admin_text};
    const struct cfr_config_credential key = {.name = robot_text, .mint = &mint};
    struct cfr_source_inputs m;
    struct cfr_grant grant = {0};
    struct cfr_err err = {0};
    int64_t wait_ms;

    (void)state;
    assert_int_equal(cfr_source_inputs_read(&key, 0, false, &m, &wait_ms, &err), 0);
    assert_int_equal(cfr_source_inputs_grant(&m, &grant, &err), CFR_E_CONFIG);
    assert_string_equal(err.text, "only a running agent publishes a rotated key");
    cfr_source_inputs_free(&m);
    cfr_grant_free(&grant);
}

/* Each key is replaced before it is 30 days old; the old one works on for the grace, and is deactivated first where the
 * cloud can do that. */
static void a_year_in_each_cloud(void **state)
{
    for (size_t i = 0; i < COUNT(clouds); i++) {
        struct cfr_api_status_mint mint;

        begin_at(clouds[i]);
        run_for(365 * CFR_DAY_MS);
        mint = status_of(a);
        assert_int_equal(count_keys(), 1);
        assert_true(fake.made >= 13 && fake.made <= 15);
        assert_int_equal(mint.completed, fake.made - 1);
        assert_string_equal(mint.state, "UPDATE_COMPLETE");
        assert_string_equal(mint.step, "rest");
        assert_string_equal(mint.key, published_by(a));
        assert_null(mint.old_key);
        assert_null(mint.error);
        assert_contains(fake.events, fake.provider.deactivates ? "+key-2 ^key-2 ~key-1 -key-1 +key-3"
                                                               : "+key-2 ^key-2 -key-1 +key-3");
        assert_true(fake.asked[CFR_ROTATION_VERIFY] >=
                    fake.provider.verify_count * fake.made * (fake.provider.places != NULL ? 2 : 1));
        assert_true(report_of(a).made && report_of(a).old_gone && !report_of(a).busy && !report_of(a).refused);
        again(state);
    }
}

static void the_old_key_works_for_the_grace(void **state)
{
    int64_t published_ms;

    (void)state;
    begin_at("aws");
    request_rotation(a);
    while (strcmp(published_by(a), "key-2") != 0)
        (void)turn(INT64_MAX);
    published_ms = fake.now.wall_ms;
    assert_string_equal(status_of(a).old_key, "key-1");
    assert_false(report_of(a).old_gone);
    while (fake.keys[0].active)
        (void)turn(INT64_MAX);
    assert_true(fake.now.wall_ms - published_ms >= CFR_HOUR_MS);
    assert_true(fake.now.wall_ms - published_ms <= 3 * CFR_HOUR_MS);
    assert_int_equal(a->answered, 1);
}

/* A request during a rotation that began for the key's age is answered by the next one. */
static void a_request_during_a_rotation(void **state)
{
    (void)state;
    begin_at("aws");
    while (fake.made < 2)
        (void)turn(INT64_MAX);
    request_rotation(a);
    run_for(CFR_DAY_MS);
    assert_int_equal(a->answered, 1);
    assert_string_equal(published_by(a), "key-3");
    assert_int_equal(count_keys(), 1);
}

/* The same, if the agent was restarted before the request. */
static void a_request_after_a_restart_during_a_rotation(void **state)
{
    (void)state;
    begin_at("aws");
    while (fake.made < 2)
        (void)turn(INT64_MAX);
    (void)turn(INT64_MAX);
    kill_agent(a);
    open_agent(a);
    request_rotation(a);
    run_for(CFR_DAY_MS);
    assert_int_equal(a->answered, 1);
    assert_string_equal(published_by(a), "key-3");
}

/* Wherever the agent is killed, the next run ends with one key, and the published key always works. */
static void a_kill_at_any_moment(void **state)
{
    for (size_t i = 0; i < COUNT(clouds); i++) {
        for (unsigned at = 1; at < 120; at += 3) {
            begin_at(clouds[i]);
            request_rotation(a);
            for (unsigned k = 0; k < at; k++)
                (void)turn(INT64_MAX);
            kill_agent(a);
            for (size_t k = 0; k < CALLS_MAX; k++)
                assert_false(fake.calls[k].open);
            pass_ms(CFR_MINUTE_MS);
            open_agent(a);
            assert_true(is_active(published_by(a)));
            run_for(2 * CFR_DAY_MS);
            assert_string_equal(status_of(a).step, "rest");
            assert_string_not_equal(published_by(a), "key-1");
            assert_int_equal(count_keys(), 1);
            assert_non_null(find_key(published_by(a)));
            again(state);
        }
    }
}

/* The cloud creates a key, and its answer is lost: it is recognized by its name, or as the only new one. */
static void a_lost_answer(void **state)
{
    for (size_t i = 0; i < COUNT(clouds); i++) {
        begin_at(clouds[i]);
        fake.faults[CFR_ROTATION_CREATE] = (struct fake_fault){.count = 1, .rc = CFR_E_NET, .done = true};
        request_rotation(a);
        run_for(3 * CFR_DAY_MS);
        assert_string_equal(published_by(a), "key-3");
        assert_null(find_key("key-1"));
        if (fake.provider.names || fake.provider.sole)
            assert_null(find_key("key-2"));
        else if (fake.provider.deactivates)
            assert_false(is_active("key-2"));
        again(state);
    }
}

static void a_key_that_is_never_accepted(void **state)
{
    for (size_t i = 0; i < COUNT(clouds); i++) {
        begin_at(clouds[i]);
        fake.unusable = true;
        request_rotation(a);
        run_for(20 * CFR_MINUTE_MS);
        assert_contains(a->err.text, "was not accepted within 10 min");
        assert_string_equal(published_by(a), "key-1");
        fake.unusable = false;
        run_for(CFR_DAY_MS);
        assert_true(status_of(a).undone >= 1);
        assert_string_not_equal(published_by(a), "key-1");
        assert_int_equal(count_keys(), 1);
        again(state);
    }
}

static void a_published_key_that_was_deleted(void **state)
{
    for (size_t i = 0; i < COUNT(clouds); i++) {
        begin_at(clouds[i]);
        fake.keys[0].exists = false;
        while (!report_of(a).refused && fake.steps < 10000)
            (void)turn(INT64_MAX);
        assert_true(report_of(a).refused);
        assert_contains(status_of(a).key_refused, "the published key key-1");
        run_for(CFR_DAY_MS);
        assert_string_equal(published_by(a), "key-2");
        assert_false(report_of(a).refused);
        assert_int_equal(count_keys(), 1);
        again(state);
    }
}

/* `verify: false`: it is reported only. */
static void a_deleted_key_is_not_replaced_unasked(void **state)
{
    (void)state;
    use_cloud("gcp");
    add_agent(0, NULL);
    a->mint.verify = false;
    open_agent(a);
    run_for(CFR_HOUR_MS);
    fake.keys[0].exists = false;
    run_for(CFR_DAY_MS);
    assert_true(report_of(a).refused);
    assert_string_equal(published_by(a), "key-1");
    request_rotation(a);
    run_for(CFR_HOUR_MS);
    assert_string_equal(published_by(a), "key-2");
}

static void refusals_change_nothing(void **state)
{
    static const enum cfr_rotation_op ops[] = {CFR_ROTATION_LIST, CFR_ROTATION_CREATE, CFR_ROTATION_DELETE};

    for (size_t i = 0; i < COUNT(ops); i++) {
        begin_at("aws");
        fake.faults[ops[i]] = (struct fake_fault){.count = 3, .rc = CFR_E_DENIED, .status = 403};
        request_rotation(a);
        run_for(CFR_MINUTE_MS / 2);
        assert_string_equal(published_by(a), "key-1");
        assert_true(a->failed);
        assert_int_equal(a->err.code, CFR_E_DENIED);
        run_for(CFR_DAY_MS);
        assert_string_equal(published_by(a), "key-2");
        assert_int_equal(count_keys(), 1);
        assert_int_equal(a->answered, 1);
        again(state);
    }
}

static void an_administrator_that_is_not_there_yet(void **state)
{
    (void)state;
    use_cloud("ibm");
    add_agent(0, NULL);
    fake.no_admin = true;
    open_agent(a);
    (void)turn(INT64_MAX);
    assert_true(row()->needs(a->key, "admin", false));
    assert_false(row()->needs(a->key, "other", true));
    (void)turn(INT64_MAX);
    assert_true(report_of(a).continues);
    run_for(CFR_MINUTE_MS / 2);
    assert_true(a->failed);
    assert_int_equal(a->err.code, CFR_E_UNAVAILABLE);
    assert_contains(a->err.text, "it is being exchanged");
    fake.no_admin = false;
    run_for(CFR_HOUR_MS);
    assert_string_equal(published_by(a), "key-1");
    assert_false(row()->needs(a->key, "admin", false));
    assert_true(row()->needs(a->key, "admin", true));
}

static void nothing_is_begun_at_the_end(void **state)
{
    unsigned made;

    (void)state;
    begin_at("aws");
    fake.draining = true;
    made = fake.made;
    run_for(60 * CFR_DAY_MS);
    assert_int_equal(fake.made, made);
    assert_false(report_of(a).busy);
}

/* Targets that cannot take the new key: the old one stays, and works. */
static void targets_that_cannot_be_written(void **state)
{
    (void)state;
    begin_at("openstack");
    a->no_publish = true;
    request_rotation(a);
    run_for(CFR_DAY_MS);
    assert_string_equal(published_by(a), "key-1");
    assert_true(is_active("key-1"));
    assert_string_equal(status_of(a).step, "verified");
    assert_int_equal(fake.made, 2);
    a->no_publish = false;
    run_for(CFR_DAY_MS);
    assert_string_equal(published_by(a), "key-2");
    assert_int_equal(count_keys(), 1);
}

static void what_was_published_is_lost(void **state)
{
    (void)state;
    begin_at("gcp");
    a->published_elsewhere = true;
    a->due_ms = fake.now.wall_ms;
    run_for(CFR_DAY_MS);
    assert_string_equal(published_by(a), "key-2");
    assert_int_equal(count_keys(), 1);
}

/* A broken journal stops everything, and nothing is deleted. */
static void a_journal_that_cannot_be_read(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    begin_at("aws");
    kill_agent(a);
    put(in("0/robot+mint.json"), "{\"version\":");
    open_agent(a);
    assert_int_equal(row()->may_request(a->key, &err), CFR_E_UNAVAILABLE);
    assert_contains(err.text, "robot cannot be rotated now: ");
    a->due_ms = fake.now.wall_ms;
    run_for(CFR_DAY_MS);
    assert_int_equal(a->err.code, CFR_E_ANSWER);
    assert_int_equal(fake.made, 1);
    assert_string_equal(published_by(a), "key-1");
    assert_non_null(find_key("key-1"));
}

static void a_reload_that_shortens_the_age(void **state)
{
    int64_t due_ms;

    (void)state;
    begin_at("azure");
    a->mint.expire_after_ms = CFR_DAY_MS;
    row()->rebind(a->key, &a->config);
    assert_true(row()->adopt(a->key, &due_ms));
    assert_true(due_ms < START_MS + CFR_DAY_MS + CFR_HOUR_MS);
    a->due_ms = due_ms;
    assert_false(row()->changed(a->key, NULL));
    run_for(10 * CFR_DAY_MS);
    assert_true(fake.made >= 9);
    assert_int_equal(count_keys(), 1);
}

/* The wall clock is set back by a year, and forward again: no wait changes, and nothing is rotated for it. */
static void a_clock_that_is_set(void **state)
{
    (void)state;
    begin_at("aws");
    fake.now.wall_ms -= 365 * CFR_DAY_MS;
    a->due_ms -= 365 * CFR_DAY_MS;
    run_for(CFR_DAY_MS);
    fake.now.wall_ms += 365 * CFR_DAY_MS;
    a->due_ms += 365 * CFR_DAY_MS;
    run_for(CFR_DAY_MS);
    assert_int_equal(fake.made, 1);
    run_for(35 * CFR_DAY_MS);
    assert_int_equal(count_keys(), 1);
    assert_string_equal(published_by(a), "key-2");
}

/* ---- mint.or: pass_on ---- */

static void begin_refused(void)
{
    use_cloud("aws");
    add_agent(0, NULL);
    a->mint.otherwise = (char[]){CFR_MINT_PASS_ON};
    fake.faults[CFR_ROTATION_CREATE] =
        (struct fake_fault){.count = UINT32_MAX, .rc = CFR_E_DENIED, .may_not = true, .status = 403};
    open_agent(a);
    run_for(CFR_MINUTE_MS / 2);
}

static void the_key_of_the_administrator_in_its_place(void **state)
{
    struct cfr_err err = {0};
    unsigned asked;

    (void)state;
    begin_refused();
    assert_int_equal(a->grants, 1);
    assert_true(a->mark != 0);
    assert_null(a->record.key);
    assert_false(report_of(a).made);
    assert_string_equal(status_of(a).passed_on, "admin");
    assert_int_equal(row()->may_request(a->key, &err), CFR_E_USAGE);
    assert_contains(err.text, "robot publishes the key of `mint.with`, which may not create keys");
    /* It is tried again within the hour, and published once only. */
    asked = fake.asked[CFR_ROTATION_CREATE];
    run_for(4 * CFR_HOUR_MS);
    assert_true(fake.asked[CFR_ROTATION_CREATE] >= asked + 4);
    assert_int_equal(a->grants, 1);
    assert_false(a->failed);
    assert_false(row()->changed(a->key, "other"));
    assert_true(row()->changed(a->key, "admin"));
    /* Another key of the administrator is published at once. */
    (void)cfr_grant_set(&fake.admin, CFR_FIELD_TOKEN, cfr_view_of("the-next-key-of-the-administrator"), NULL);
    a->due_ms = fake.now.wall_ms;
    run_for(CFR_MINUTE_MS);
    assert_int_equal(a->grants, 2);
    /* Once keys may be created, one is. */
    fake.faults[CFR_ROTATION_CREATE].count = 0;
    run_for(2 * CFR_HOUR_MS);
    assert_string_equal(published_by(a), "key-1");
    assert_true(report_of(a).made);
    assert_null(status_of(a).passed_on);
    assert_false(row()->changed(a->key, "admin"));
    request_rotation(a);
    run_for(CFR_DAY_MS);
    assert_string_equal(published_by(a), "key-2");
}

/* Another failure than the refusal of a right is reported, and what is published stays. */
static void another_failure_while_it_is_passed_on(void **state)
{
    (void)state;
    begin_refused();
    fake.faults[CFR_ROTATION_LIST] = (struct fake_fault){.count = 1, .rc = CFR_E_THROTTLED, .status = 429};
    a->due_ms = fake.now.wall_ms;
    run_for(CFR_MINUTE_MS / 2);
    assert_true(a->failed);
    assert_int_equal(a->err.code, CFR_E_THROTTLED);
    assert_int_equal(a->grants, 1);
    run_for(2 * CFR_MINUTE_MS);
    assert_false(a->failed);
}

static void without_that_setting_nothing_is_published(void **state)
{
    (void)state;
    use_cloud("aws");
    add_agent(0, NULL);
    fake.faults[CFR_ROTATION_CREATE] =
        (struct fake_fault){.count = 1, .rc = CFR_E_DENIED, .may_not = true, .status = 403};
    open_agent(a);
    run_for(CFR_MINUTE_MS / 2);
    assert_true(a->failed);
    assert_int_equal(a->grants, 0);
    assert_false(row()->changed(a->key, "admin"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(its_row_is_found),
        TEST(it_is_not_granted_elsewhere),
        TEST(a_year_in_each_cloud),
        TEST(the_old_key_works_for_the_grace),
        TEST(a_request_during_a_rotation),
        TEST(a_request_after_a_restart_during_a_rotation),
        TEST(a_kill_at_any_moment),
        TEST(a_lost_answer),
        TEST(a_key_that_is_never_accepted),
        TEST(a_published_key_that_was_deleted),
        TEST(a_deleted_key_is_not_replaced_unasked),
        TEST(refusals_change_nothing),
        TEST(an_administrator_that_is_not_there_yet),
        TEST(nothing_is_begun_at_the_end),
        TEST(targets_that_cannot_be_written),
        TEST(what_was_published_is_lost),
        TEST(a_journal_that_cannot_be_read),
        TEST(a_reload_that_shortens_the_age),
        TEST(a_clock_that_is_set),
        TEST(the_key_of_the_administrator_in_its_place),
        TEST(another_failure_while_it_is_passed_on),
        TEST(without_that_setting_nothing_is_published),
    };

    cfr_log_setup(CFR_LOG_ERROR, CFR_LOG_TEXT, false);
    cfr_source_add(&cfr_rotator_source);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
