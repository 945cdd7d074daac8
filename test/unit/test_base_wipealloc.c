/* SPDX-License-Identifier: MIT */
/* The wiping allocator: nothing that was in a block is left when it is freed. */
#include "unit.h"

#include "base/wipealloc.h"
#include "heap_watch.h"

#define MARK "IQoJb3JpZ2luX2VjEHoaCXVzLWVhc3Qt"

static void every_way_out_wipes(void **state)
{
    char *p;

    (void)state;
    heap_watch(MARK);
    p = cfr_wipealloc_malloc(sizeof MARK);
    assert_non_null(p);
    memcpy(p, MARK, sizeof MARK);
    cfr_wipealloc_free(p);
    p = cfr_wipealloc_strdup(MARK);
    assert_string_equal(p, MARK);
    p = cfr_wipealloc_realloc(p, 4096);
    assert_non_null(p);
    assert_string_equal(p, MARK);
    p = cfr_wipealloc_realloc(p, 10);
    assert_memory_equal(p, MARK, 10);
    cfr_wipealloc_free(p);
    cfr_wipealloc_free(NULL);
    assert_int_equal(heap_frees, 4);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
}

static void blocks_are_aligned_and_zeroed(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        unsigned char *p = cfr_wipealloc_calloc(n, 3);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n * 3; i++)
            assert_int_equal(p[i], 0);
        cfr_wipealloc_free(p);
    }
}

static void sizes_that_overflow_are_refused(void **state)
{
    char *p = cfr_wipealloc_strdup("kept");

    (void)state;
    assert_null(cfr_wipealloc_malloc(SIZE_MAX));
    assert_null(cfr_wipealloc_malloc(SIZE_MAX - 8));
    assert_null(cfr_wipealloc_calloc(SIZE_MAX / 2, 3));
    assert_null(cfr_wipealloc_calloc(1, SIZE_MAX));
    assert_null(cfr_wipealloc_realloc(p, SIZE_MAX));
    assert_string_equal(p, "kept");
    cfr_wipealloc_free(p);
}

static void short_memory(void **state)
{
    char *p = cfr_wipealloc_strdup("kept");

    (void)state;
    heap_fail_at = 1;
    assert_null(cfr_wipealloc_realloc(p, 100));
    assert_string_equal(p, "kept");
    heap_fail_at = 1;
    assert_null(cfr_wipealloc_strdup("x"));
    heap_fail_at = 0;
    cfr_wipealloc_free(p);
    p = cfr_wipealloc_realloc(NULL, 5);
    assert_non_null(p);
    cfr_wipealloc_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_out_wipes),
        cmocka_unit_test(blocks_are_aligned_and_zeroed),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(short_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
