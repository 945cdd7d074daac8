/* SPDX-License-Identifier: MIT */
/* Limits of the name lookups that outlived their requests. */
#include "agent/http/lookup_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EVERY 1000 /* still running */

static void abandon(struct cfr_http_lookups *l, const char *target, size_t times)
{
    for (size_t i = 0; i < times; i++)
        cfr_http_lookup_abandon(l, target);
}

static void test_one_server_has_its_share(void **state)
{
    struct cfr_http_lookups l = {0};
    struct cfr_err err = {0};

    (void)state;
    abandon(&l, "dead:443", CFR_HTTP_LOOKUPS_HOST_MAX - 1);
    assert_int_equal(cfr_http_lookup_check(&l, EVERY, "dead:443", &err), 0);
    abandon(&l, "dead:443", 1);
    assert_int_equal(cfr_http_lookup_check(&l, EVERY, "dead:443", &err), CFR_E_NET);
    assert_non_null(strstr(err.text, "8 earlier lookups"));
    assert_int_equal(cfr_http_lookup_check(&l, EVERY, "good:443", NULL), 0);
}

static void test_all_servers_have_a_limit(void **state)
{
    struct cfr_http_lookups l = {0};
    struct cfr_err err = {0};
    char name[32];

    (void)state;
    for (size_t i = 0; i < CFR_HTTP_LOOKUPS_MAX; i++) {
        assert_int_equal(cfr_http_lookup_check(&l, EVERY, "next:443", NULL), 0);
        (void)snprintf(name, sizeof name, "dead%zu:443", i);
        abandon(&l, name, 1);
    }
    assert_int_equal(cfr_http_lookup_check(&l, EVERY, "next:443", &err), CFR_E_NET);
    assert_non_null(strstr(err.text, "64 earlier lookups"));
    abandon(&l, "one more:443", 3); /* by requests that began before */
    assert_int_equal(l.count, CFR_HTTP_LOOKUPS_MAX);
}

static void test_what_has_ended_is_forgotten_oldest_first(void **state)
{
    struct cfr_http_lookups l = {0};

    (void)state;
    abandon(&l, "a:443", CFR_HTTP_LOOKUPS_HOST_MAX);
    abandon(&l, "b:443", CFR_HTTP_LOOKUPS_HOST_MAX);
    assert_int_equal(cfr_http_lookup_check(&l, CFR_HTTP_LOOKUPS_HOST_MAX, "a:443", NULL), 0);
    assert_int_equal(cfr_http_lookup_check(&l, CFR_HTTP_LOOKUPS_HOST_MAX, "b:443", NULL), CFR_E_NET);
    assert_int_equal(cfr_http_lookup_check(&l, 0, "b:443", NULL), 0);
    assert_int_equal(l.count, 0);
}

static void *wait_for_unlock(void *ctx)
{
    (void)pthread_mutex_lock(ctx);
    (void)pthread_mutex_unlock(ctx);
    return NULL;
}

static void test_threads_are_counted(void **state)
{
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    size_t before = cfr_http_lookup_threads();
    pthread_t threads[3];

    (void)state;
    if (before == 0)
        skip(); /* no /proc */
    (void)pthread_mutex_lock(&held);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_unlock, &held), 0);
    assert_int_equal(cfr_http_lookup_threads(), before + 3);
    (void)pthread_mutex_unlock(&held);
    for (size_t i = 0; i < 3; i++)
        (void)pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_server_has_its_share),
        cmocka_unit_test(test_all_servers_have_a_limit),
        cmocka_unit_test(test_what_has_ended_is_forgotten_oldest_first),
        cmocka_unit_test(test_threads_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
