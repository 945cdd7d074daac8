/* SPDX-License-Identifier: MIT */
/* The wiping allocator: freed blocks hold no data. */
#include "base/wipealloc.h"
#include "heap_watch.h"
#include "unit.h"

/* AddressSanitizer ends a program that asks for too much, unless it is told to answer as the heap does. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_wipes(void **state)
{
    char *p = cfr_wipealloc_strdup("SESAME");
    char *q;

    (void)state;
    heap_watch("SESAM");
    assert_string_equal(p, "SESAME");
    q = cfr_wipealloc_realloc(p, 100000);
    assert_string_equal(q, "SESAME");
    memcpy(q + 99990, "SESAME", 7);
    p = cfr_wipealloc_realloc(q, 5);
    assert_memory_equal(p, "SESAM", 5);
    cfr_wipealloc_free(p);
    assert_int_equal(heap_frees, 3);
    cfr_wipealloc_free(NULL);
    assert_int_equal(heap_frees, 3);
    assert_int_equal(heap_leaks, 0);
    heap_secret = NULL;
}

static void test_sizes(void **state)
{
    unsigned char *p = cfr_wipealloc_calloc(1000, 3);

    (void)state;
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(p[i], 0);
    cfr_wipealloc_free(p);
    assert_null(cfr_wipealloc_malloc(SIZE_MAX));
    assert_null(cfr_wipealloc_calloc(SIZE_MAX, 2));
    assert_null(cfr_wipealloc_calloc(SIZE_MAX, 1));
    heap_fail_at = 1;
    assert_null(cfr_wipealloc_strdup("x"));
    p = cfr_wipealloc_realloc(NULL, 8);
    assert_non_null(p);
    memcpy(p, "1234567", 8);
    assert_null(cfr_wipealloc_realloc(p, SIZE_MAX));
    assert_string_equal((char *)p, "1234567");
    cfr_wipealloc_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wipes), cmocka_unit_test(test_sizes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
