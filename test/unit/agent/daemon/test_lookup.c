/* SPDX-License-Identifier: MIT */
/* Lookup of credentials by name, with the index and without it. */
#include "daemon_fixture.h"

#include "agent/daemon/lookup_private.h"

static char *const names[] = {(char[]){"zebra"}, (char[]){"a"}, (char[]){"ab"}, (char[]){"middle"}, (char[]){"b"}};

static void find_all(const struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++)
        assert_ptr_equal(cfr_daemon_worker(a, names[i]), &test_workers[i]);
    assert_null(cfr_daemon_worker(a, ""));
    assert_null(cfr_daemon_worker(a, "aa"));
    assert_null(cfr_daemon_worker(a, "zebras"));
}

static void test_find(void **state)
{
    (void)state;
    for (size_t count = 0; count <= COUNT(names); count++) {
        struct cfr_daemon a = agent_with(names, count);

        find_all(&a); /* without memory for an index */
        cfr_daemon_index_workers(&a);
        assert_non_null(a.by_name);
        find_all(&a);
        free(a.by_name);
    }
}

static void test_the_index_follows_a_change(void **state)
{
    struct cfr_daemon a = agent_with(names, COUNT(names));

    (void)state;
    cfr_daemon_index_workers(&a);
    a.count = 2;
    cfr_daemon_index_workers(&a);
    assert_null(cfr_daemon_worker(&a, "middle"));
    assert_ptr_equal(cfr_daemon_worker(&a, "zebra"), &test_workers[0]);
    a.count = 0;
    assert_null(cfr_daemon_worker(&a, "zebra"));
    free(a.by_name);
}

static void test_offer(void **state)
{
    static const struct cfr_grant grant;
    struct cfr_daemon a = agent_with(names, COUNT(names));
    struct cfr_offer offer;

    (void)state;
    test_workers[3].grant = &grant;
    assert_true(cfr_daemon_offer(&a, "middle", &offer));
    assert_string_equal(offer.credential, "middle");
    assert_ptr_equal(offer.grant, &grant);
    assert_null(offer.role_arn);
    assert_true(cfr_daemon_offer(&a, "b", &offer));
    assert_null(offer.grant);
    assert_false(cfr_daemon_offer(&a, "none", &offer));
}

static void test_admins(void **state)
{
    struct cfr_daemon a = agent_with(names, COUNT(names));

    (void)state;
    assert_false(cfr_daemon_admin_needed(&a, "a"));
    test_workers[0].admin = test_workers[4].admin = "a";
    assert_true(cfr_daemon_admin_needed(&a, "a"));
    assert_false(cfr_daemon_admin_needed(&a, "b"));
    cfr_daemon_admin_changed(&a, "a");
    assert_int_equal(test_workers[0].told, 1);
    assert_int_equal(test_workers[1].told, 0);
    assert_int_equal(test_workers[4].told, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_find, begin_test),
        cmocka_unit_test_setup(test_the_index_follows_a_change, begin_test),
        cmocka_unit_test_setup(test_offer, begin_test),
        cmocka_unit_test_setup(test_admins, begin_test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
