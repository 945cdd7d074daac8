/* SPDX-License-Identifier: MIT */
/* The hash is FNV-1a as published: its values are stored on disk. */
#include "unit.h"

#include "base/hash.h"

static void published_values(void **state)
{
    (void)state;
    assert_true(cfr_hash_add(CFR_HASH_START, NULL, 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(cfr_hash_add(CFR_HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(cfr_hash_add(CFR_HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    /* Piece by piece, and with bytes that are negative as char. */
    assert_true(cfr_hash_add(cfr_hash_add(CFR_HASH_START, "foo", 3), "bar", 3) == UINT64_C(0x85944171f73967e8));
    assert_true(cfr_hash_add(CFR_HASH_START, "\xff", 1) == (CFR_HASH_START ^ 0xff) * UINT64_C(0x100000001b3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
