/* SPDX-License-Identifier: MIT */
/* Certificates with a curve of their own. */
#include "wire/curve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define IS_OWN(bytes) cfr_curve_is_own((struct cfr_view){bytes, sizeof(bytes) - 1})

static void curves_of_their_own(void **state)
{
    (void)state;
    /* ecPublicKey, and a prime field (RFC 3279, 2.3.5) or one of characteristic two. */
    assert_true(IS_OWN("\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x30\x82\x06\x07\x2a\x86\x48\xce\x3d\x01\x01"));
    assert_true(IS_OWN("\x06\x07\x2a\x86\x48\xce\x3d\x01\x02"));
}

static void curves_with_a_name(void **state)
{
    (void)state;
    /* ecPublicKey on P-256, signed by ecdsa-with-SHA256. */
    assert_false(IS_OWN("\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"));
    assert_false(IS_OWN("\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02"));
    assert_false(IS_OWN("\x2a\x86\x48\xce\x3d"));
    assert_false(cfr_curve_is_own((struct cfr_view){NULL, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_of_their_own),
        cmocka_unit_test(curves_with_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
