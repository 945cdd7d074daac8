/* SPDX-License-Identifier: MIT */
/* Two agents that share a rotation in a Secret of a cluster, keys that are adopted, and owners that change. */
#include "rotation_fixture.h"

static struct agent *const a = &fake.agents[0];
static struct agent *const b = &fake.agents[1];
static struct cfr_config_mint_state place = {
    .secret = (char[]){"state"}, .namespace_name = (char[]){"apps"}, .takeover_ms = 5 * CFR_MINUTE_MS};

/* Two agents at CLOUD, which publish the same first key. */
static void begin_shared(const char *cloud)
{
    use_cloud(cloud);
    add_agent(0, &place);
    add_agent(1, &place);
    a->mint.expire_after_ms = 4 * CFR_DAY_MS;
    b->mint.expire_after_ms = 4 * CFR_DAY_MS;
    a->mint.inactive_ms = 6 * CFR_HOUR_MS;
    b->mint.inactive_ms = 6 * CFR_HOUR_MS;
    open_agent(a);
    open_agent(b);
    run_for(CFR_HOUR_MS);
    assert_string_equal(published_by(a), "key-1");
    assert_string_equal(published_by(b), "key-1");
    assert_int_equal(fake.made, 1);
}

static void again(void **state)
{
    (void)end(state);
    (void)begin(state);
}

/* One creates each key, both publish it before the old one is deactivated. The Secret is read once a minute. */
static void rotations_in_each_cloud(void **state)
{
    static const char *const clouds[] = {"aws", "azure", "gcp", "ibm", "openstack"};

    for (size_t i = 0; i < COUNT(clouds); i++) {
        begin_shared(clouds[i]);
        run_for(10 * CFR_DAY_MS);
        assert_int_equal(fake.made, 3);
        assert_int_equal(count_keys(), 1);
        assert_string_equal(published_by(a), published_by(b));
        assert_true(is_active(published_by(a)));
        assert_contains(fake.events, fake.provider.deactivates ? "+key-2 ^key-2 ^key-2 ~key-1 -key-1"
                                                               : "+key-2 ^key-2 ^key-2 -key-1");
        again(state);
    }
}

static void one_holds_it_and_the_other_follows(void **state)
{
    struct cfr_api_status_mint one;
    struct cfr_api_status_mint two;

    (void)state;
    begin_shared("gcp");
    request_rotation(a);
    while (fake.made < 2)
        (void)turn(INT64_MAX);
    run_for(CFR_MINUTE_MS / 2);
    one = status_of(a);
    assert_string_equal(one.role, "holder");
    assert_non_null(one.holder);
    two = status_of(b);
    assert_string_equal(two.role, "follower");
    assert_contains(two.waits_for, "another agent, which continues the rotation: ");
    run_for(CFR_DAY_MS);
    assert_string_equal(published_by(a), "key-2");
    assert_string_equal(published_by(b), "key-2");
    assert_int_equal(count_keys(), 1);
    assert_int_equal(a->answered, 1);
    assert_int_equal(a->record.key->number, b->record.key->number);
    assert_true(a->record.key->journal != 0);
}

/* Wherever the holder stops for good, the other one takes over, and ends with one key. */
static void a_holder_that_stops(void **state)
{
    for (unsigned at = 1; at < 160; at += 23) {
        begin_shared("aws");
        request_rotation(a);
        for (unsigned k = 0; k < at; k++)
            (void)turn(INT64_MAX);
        kill_agent(a);
        run_for(30 * CFR_HOUR_MS);
        assert_string_equal(status_of(b).step, "rest");
        assert_true(is_active(published_by(b)));
        assert_int_equal(count_keys(), 1);
        /* It comes back, and publishes what the other one did. */
        open_agent(a);
        run_for(30 * CFR_HOUR_MS);
        assert_string_equal(published_by(a), published_by(b));
        assert_true(is_active(published_by(a)));
        assert_int_equal(count_keys(), 1);
        again(state);
    }
}

/* Without the Secret nothing is done: it may be one that was lost. */
static void a_secret_that_is_missing(void **state)
{
    (void)state;
    use_cloud("aws");
    fake.secret.exists = false;
    add_agent(0, &place);
    open_agent(a);
    run_for(CFR_HOUR_MS);
    assert_int_equal(fake.made, 0);
    assert_int_equal(a->err.code, CFR_E_MISSING);
    assert_contains(a->err.text, "the Secret apps/state, which holds the rotation, does not exist");
    fake.secret.exists = true;
    run_for(CFR_HOUR_MS);
    assert_string_equal(published_by(a), "key-1");
}

static void an_api_server_that_fails(void **state)
{
    const struct cfr_kube_where where = {NULL, NULL};
    const struct cfr_kube_where other = {"/other", NULL};
    unsigned events;

    (void)state;
    begin_shared("ibm");
    fake.secret.fails = true;
    request_rotation(a);
    run_for(CFR_HOUR_MS);
    assert_int_equal(fake.made, 1);
    assert_string_equal(published_by(a), "key-1");
    assert_false(row()->resume(a->key, &other));
    (void)row()->resume(a->key, &where);
    events = (unsigned)strlen(fake.events);
    fake.secret.fails = false;
    run_for(CFR_DAY_MS);
    assert_true(strlen(fake.events) > events);
    assert_string_equal(published_by(a), "key-2");
    assert_string_equal(published_by(b), "key-2");
    assert_int_equal(count_keys(), 1);
}

/* A follower whose targets are lost publishes the same key again, and no other one is created. */
static void a_follower_that_has_lost_it(void **state)
{
    (void)state;
    begin_shared("aws");
    b->published_elsewhere = true;
    b->due_ms = fake.now.wall_ms;
    run_for(CFR_HOUR_MS);
    assert_int_equal(fake.made, 1);
    assert_int_equal(b->grants, 2);
    assert_string_equal(published_by(b), "key-1");
}

/* ---- adoption ---- */

/* A key of another program, which is 20 days old, and is found at a target. */
static void begin_adoption(const char *cloud)
{
    static char adopt[] = CFR_ADOPT_TARGET;
    struct fake_key *k;

    use_cloud(cloud);
    k = make_key("terraform");
    k->made_ms -= 20 * CFR_DAY_MS;
    fill_grant(k, &fake.found);
    add_agent(0, NULL);
    a->mint.adopt = adopt;
    open_agent(a);
}

static void a_key_is_adopted_and_rotated(void **state)
{
    static const char *const clouds[] = {"aws", "azure", "gcp", "ibm", "openstack"};

    for (size_t i = 0; i < COUNT(clouds); i++) {
        begin_adoption(clouds[i]);
        run_for(CFR_HOUR_MS);
        assert_int_equal(fake.made, 1);
        assert_string_equal(published_by(a), "key-1");
        assert_true(a->adopted);
        assert_string_equal(status_of(a).key, "key-1");
        /* It is as old as it is. */
        run_for(15 * CFR_DAY_MS);
        assert_string_equal(published_by(a), "key-2");
        assert_false(a->adopted);
        assert_int_equal(count_keys(), 1);
        again(state);
    }
}

/* Where there is none, the first one is created. */
static void nothing_to_adopt(void **state)
{
    (void)state;
    use_cloud("aws");
    add_agent(0, NULL);
    a->mint.adopt = (char[]){CFR_ADOPT_TARGET};
    fake.find_rc = CFR_E_MISSING;
    open_agent(a);
    run_for(CFR_HOUR_MS);
    assert_string_equal(published_by(a), "key-1");
    assert_false(a->adopted);
}

/* A path that is named must have one. */
static void a_path_without_a_key(void **state)
{
    (void)state;
    use_cloud("aws");
    add_agent(0, NULL);
    a->mint.adopt = (char[]){"/etc/key"};
    fake.find_rc = CFR_E_MISSING;
    open_agent(a);
    run_for(CFR_HOUR_MS);
    assert_int_equal(fake.made, 0);
    assert_int_equal(a->err.code, CFR_E_MISSING);
    assert_contains(a->err.text, "cannot adopt a key from /etc/key");
}

/* ---- former owners ---- */

static const char *next_subject(const void *config)
{
    (void)config;
    return "next-user";
}

/* Keys of the former owner are removed once the new owner's is published and the grace is over. */
static void another_owner(void **state)
{
    (void)state;
    use_cloud("aws");
    add_agent(0, NULL);
    open_agent(a);
    run_for(CFR_HOUR_MS);
    kill_agent(a);
    fake.provider.subject = next_subject;
    a->config.digest_material = 2;
    a->replace = true;
    open_agent(a);
    a->due_ms = fake.now.wall_ms;
    run_for(CFR_MINUTE_MS);
    assert_string_equal(published_by(a), "key-2");
    assert_true(is_active("key-1"));
    run_for(3 * CFR_DAY_MS);
    assert_null(find_key("key-1"));
    assert_string_equal(status_of(a).subject, "aws/next-user");
    assert_int_equal(count_keys(), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(rotations_in_each_cloud),      TEST(one_holds_it_and_the_other_follows),
        TEST(a_holder_that_stops),          TEST(a_secret_that_is_missing),
        TEST(an_api_server_that_fails),     TEST(a_follower_that_has_lost_it),
        TEST(a_key_is_adopted_and_rotated), TEST(nothing_to_adopt),
        TEST(a_path_without_a_key),         TEST(another_owner),
    };

    cfr_log_setup(CFR_LOG_ERROR, CFR_LOG_TEXT, false);
    cfr_source_add(&cfr_rotator_source);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
