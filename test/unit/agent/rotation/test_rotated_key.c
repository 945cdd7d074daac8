/* SPDX-License-Identifier: MIT */
/* The row of a rotated key among the sources. */
#include "unit.h"

#include "agent/rotation/rotated_key.h"

#include <string.h>

static char name[] = "a";
static struct cfr_config_mint mint = {.with = name};
static const struct cfr_config_credential key = {.name = name, .mint = &mint};

static void its_row_is_found(void **state)
{
    const struct cfr_source_ops *source = cfr_source_of(&key);
    const struct cfr_config_credential other = {.name = name};

    (void)state;
    assert_ptr_equal(source, &cfr_rotator_source);
    assert_string_equal(source->describe(&key), "mint");
    assert_false(source->may_send(&key));
    assert_ptr_not_equal(cfr_source_of(&other), &cfr_rotator_source);
}

/* Only a running agent has a rotator. */
static void it_is_not_granted_elsewhere(void **state)
{
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_row_is_found),
        cmocka_unit_test(it_is_not_granted_elsewhere),
    };

    cfr_source_add(&cfr_rotator_source);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
