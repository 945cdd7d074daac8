/* SPDX-License-Identifier: MIT */
/* Which connections make room for others. */
#include "agent/httpd/connections_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

static struct cfr_httpd_connection *come(struct cfr_httpd_connections *g, unsigned char address, int64_t now_ms)
{
    struct cfr_httpd_connection *one = cfr_httpd_connections_come(g, -1, now_ms);

    assert_non_null(one);
    one->address_n = address != 0 ? 4 : 0;
    memset(one->address, address, one->address_n);
    return one;
}

static void test_an_address_makes_room_among_its_own(void **state)
{
    enum { MAX = 4 };
    struct cfr_httpd_connections g = {0};
    struct cfr_httpd_connection *of_another = come(&g, 2, 1);
    struct cfr_httpd_connection *unix_client = come(&g, 0, 2);
    struct cfr_httpd_connection *served = come(&g, 1, 3);
    struct cfr_httpd_connection *idle[2 * MAX];

    (void)state;
    cfr_httpd_connections_active(&g, served, true, 4);
    for (int i = 0; i < 2 * MAX; i++) {
        idle[i] = come(&g, 1, 5 + i);
        cfr_httpd_connections_make_room_at(&g, idle[i], MAX);
        assert_false(idle[i]->ended);
    }
    assert_int_equal(cfr_httpd_connections_count_at(&g, served), MAX);
    for (int i = 0; i < 2 * MAX; i++)
        assert_int_equal(idle[i]->ended, i < MAX + 1);
    assert_false(served->ended);
    /* Served ones do not keep a new one out. */
    for (int i = MAX + 1; i < 2 * MAX; i++)
        cfr_httpd_connections_active(&g, idle[i], true, 20);
    cfr_httpd_connections_make_room_at(&g, come(&g, 1, 21), MAX);
    assert_true(served->ended);
    assert_int_equal(g.unserved.count, 3);
    assert_false(of_another->ended);
    assert_int_equal(cfr_httpd_connections_count_at(&g, of_another), 1);
    cfr_httpd_connections_make_room_at(&g, unix_client, 0);
    assert_false(unix_client->ended);
    for (int i = 0; i < 2 * MAX; i++)
        cfr_httpd_connections_go(&g, idle[i]);
    cfr_httpd_connections_go(&g, served);
    while (g.unserved.oldest != NULL)
        cfr_httpd_connections_go(&g, g.unserved.oldest);
    assert_int_equal(g.served.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_makes_room_among_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
