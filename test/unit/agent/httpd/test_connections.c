/* SPDX-License-Identifier: MIT */
/* Which connections make room for others. */
#include "agent/httpd/connections_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

static struct cfr_httpd_connection *come(struct cfr_httpd_connections *g, unsigned char user, int64_t now_ms)
{
    struct cfr_httpd_connection *one =
        cfr_httpd_connections_come(g, cfr_httpd_connections_group(g, &user, 1), -1, now_ms);

    assert_non_null(one);
    return one;
}

static void go_all(struct cfr_httpd_connections *g, struct cfr_httpd_connection *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cfr_httpd_connections_go(g, all[i]);
    cfr_httpd_connections_tidy(g);
    assert_int_equal(g->served.count + g->unserved.count, 0);
    assert_null(g->groups);
}

static void test_a_group_makes_room_among_its_own(void **state)
{
    enum { MAX = 4 };
    struct cfr_httpd_connections g = {0};
    struct cfr_httpd_connection *all[2 * MAX + 3];
    struct cfr_httpd_connection **idle = all + 3;
    struct cfr_httpd_connection *of_another = all[0] = come(&g, 2, 1);
    struct cfr_httpd_connection *served = all[1] = come(&g, 1, 3);

    (void)state;
    cfr_httpd_connections_active(&g, served, true, 4);
    for (int i = 0; i < 2 * MAX; i++) {
        idle[i] = come(&g, 1, 5 + i);
        cfr_httpd_connections_make_room_in(&g, idle[i]->group, MAX);
        assert_false(idle[i]->ended);
    }
    assert_int_equal(served->group->count, MAX);
    for (int i = 0; i < 2 * MAX; i++)
        assert_int_equal(idle[i]->ended, i < MAX + 1);
    assert_false(served->ended);
    /* Served ones do not keep a new one out. */
    for (int i = MAX + 1; i < 2 * MAX; i++)
        cfr_httpd_connections_active(&g, idle[i], true, 20);
    all[2] = come(&g, 1, 21);
    cfr_httpd_connections_make_room_in(&g, all[2]->group, MAX);
    assert_true(served->ended);
    assert_int_equal(g.unserved.count, 2);
    assert_false(of_another->ended);
    go_all(&g, all, sizeof all / sizeof all[0]);
}

/* However many connections it has, and whichever user connected first. */
static void test_the_largest_group_makes_room_for_others(void **state)
{
    enum { MAX = 8 };
    struct cfr_httpd_connections g = {0};
    struct cfr_httpd_connection *all[MAX + 40];
    size_t n = 0;

    (void)state;
    all[n++] = come(&g, 9, 1); /* the oldest of all, and alone */
    for (unsigned char user = 1; user <= 3; user++) {
        for (int i = 0; i < 10; i++) {
            all[n++] = come(&g, user, 2);
            cfr_httpd_connections_make_room(&g, MAX);
        }
    }
    all[n++] = come(&g, 8, 3);
    cfr_httpd_connections_make_room(&g, MAX);
    assert_int_equal(g.unserved.count, MAX);
    assert_false(all[0]->ended);
    assert_false(all[n - 1]->ended);
    for (size_t i = 1; i < n; i++)
        assert_true(all[i]->ended || all[i]->group->count <= MAX / 4 + 1);
    go_all(&g, all, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_group_makes_room_among_its_own),
        cmocka_unit_test(test_the_largest_group_makes_room_for_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
