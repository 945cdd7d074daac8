/* SPDX-License-Identifier: MIT */
/* The certificate requests of a signer: lists, events, what is due, limits. */
#include "unit.h"

#include "agent/pki/service_ca_pod_seen_private.h"

#define LIMIT 20000

static int note(struct cfr_service_ca_pod_seen *s, const char *space, const char *name, const char *version)
{
    struct cfr_err err = {0};
    int rc = cfr_service_ca_pod_seen_note(s, cfr_view_of(space), cfr_view_of(name), version, &err);

    assert_int_equal(rc, err.code);
    return rc;
}

static void what_is_due(void **state)
{
    struct cfr_service_ca_pod_seen s = {0};
    struct cfr_service_ca_pod_seen_one *one;

    (void)state;
    assert_null(cfr_service_ca_pod_seen_due(&s, 0));
    assert_int_equal(cfr_service_ca_pod_seen_next(&s), INT64_MAX);
    assert_int_equal(note(&s, "b", "x", "1"), 0);
    assert_int_equal(note(&s, "a", "y", "2"), 0);
    assert_int_equal(note(&s, "a", "x", "3"), 0);
    /* In the order of their paths, each until it is done or waits. */
    one = cfr_service_ca_pod_seen_due(&s, 0);
    assert_string_equal(one->path, "a/x");
    cfr_service_ca_pod_seen_finish(one, "3");
    one = cfr_service_ca_pod_seen_due(&s, 0);
    assert_string_equal(one->path, "a/y");
    one->backoff.failures = 1;
    one->next_boot_ms = 500;
    assert_true(cfr_service_ca_pod_seen_waits(&s));
    assert_string_equal(cfr_service_ca_pod_seen_due(&s, 499)->path, "b/x");
    cfr_service_ca_pod_seen_finish(cfr_service_ca_pod_seen_find(&s, "b/x"), "1");
    assert_null(cfr_service_ca_pod_seen_due(&s, 499));
    assert_int_equal(cfr_service_ca_pod_seen_next(&s), 500);
    assert_string_equal(cfr_service_ca_pod_seen_due(&s, 500)->path, "a/y");
    cfr_service_ca_pod_seen_finish(cfr_service_ca_pod_seen_find(&s, "a/y"), "2");
    assert_false(cfr_service_ca_pod_seen_waits(&s));
    cfr_service_ca_pod_seen_free(&s);
}

static void versions(void **state)
{
    struct cfr_service_ca_pod_seen s = {0};
    struct cfr_service_ca_pod_seen_one *one;

    (void)state;
    assert_int_equal(note(&s, "a", "x", "1"), 0);
    /* Written as version 2: that is no news, another one is, and it is looked at without a pause. */
    cfr_service_ca_pod_seen_finish(cfr_service_ca_pod_seen_find(&s, "a/x"), "2");
    assert_int_equal(note(&s, "a", "x", "2"), 0);
    assert_null(cfr_service_ca_pod_seen_due(&s, 0));
    assert_int_equal(note(&s, "a", "x", "3"), 0);
    one = cfr_service_ca_pod_seen_due(&s, 0);
    one->next_boot_ms = 900;
    one->backoff.failures = 3;
    assert_int_equal(note(&s, "a", "x", "3"), 0);
    assert_null(cfr_service_ca_pod_seen_due(&s, 0));
    assert_int_equal(note(&s, "a", "x", "4"), 0);
    assert_non_null(cfr_service_ca_pod_seen_due(&s, 0));
    assert_false(cfr_service_ca_pod_seen_waits(&s));
    cfr_service_ca_pod_seen_free(&s);
}

static void lists(void **state)
{
    struct cfr_service_ca_pod_seen s = {0};

    (void)state;
    for (int round = 0; round < 2; round++) {
        cfr_service_ca_pod_seen_begin(&s);
        assert_int_equal(note(&s, "a", "x", "1"), 0);
        assert_int_equal(note(&s, "a", "y", "1"), 0);
        cfr_service_ca_pod_seen_end(&s);
        assert_int_equal(s.count, 2);
    }
    /* What a list no longer has is gone, and what an event has dropped; a list that ended early drops nothing. */
    assert_int_equal(note(&s, "a", "z", "1"), 0);
    cfr_service_ca_pod_seen_begin(&s);
    assert_int_equal(s.count, 3);
    cfr_service_ca_pod_seen_begin(&s);
    assert_int_equal(note(&s, "a", "y", "1"), 0);
    assert_int_equal(note(&s, "a", "z", "1"), 0);
    cfr_service_ca_pod_seen_end(&s);
    assert_null(cfr_service_ca_pod_seen_find(&s, "a/x"));
    cfr_service_ca_pod_seen_drop(&s, cfr_view_of("a"), cfr_view_of("y"));
    cfr_service_ca_pod_seen_drop(&s, cfr_view_of("a"), cfr_view_of("unknown"));
    cfr_service_ca_pod_seen_drop(&s, cfr_view_of(""), cfr_view_of("z"));
    assert_int_equal(s.count, 1);
    assert_non_null(cfr_service_ca_pod_seen_find(&s, "a/z"));
    cfr_service_ca_pod_seen_free(&s);
}

static void what_does_not_fit(void **state)
{
    struct cfr_service_ca_pod_seen s = {0};
    char longest[CFR_K8S_NAME_MAX + 2];
    char name[16];

    (void)state;
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(note(&s, "a", longest, "1"), CFR_E_ANSWER);
    assert_int_equal(note(&s, longest, "x", "1"), CFR_E_ANSWER);
    assert_int_equal(note(&s, "", "x", "1"), CFR_E_ANSWER);
    assert_int_equal(note(&s, "a", "", "1"), CFR_E_ANSWER);
    for (int i = 0; i < LIMIT; i++) {
        (void)snprintf(name, sizeof name, "r%05d", i);
        assert_int_equal(note(&s, "a", name, "1"), 0);
    }
    assert_int_equal(note(&s, "a", "s", "1"), CFR_E_LIMIT);
    assert_int_equal(note(&s, "a", "r00000", "2"), 0);
    cfr_service_ca_pod_seen_drop(&s, cfr_view_of("a"), cfr_view_of("r00000"));
    assert_int_equal(note(&s, "a", "s", "1"), 0);
    assert_int_equal(s.count, LIMIT);
    cfr_service_ca_pod_seen_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due),
        cmocka_unit_test(versions),
        cmocka_unit_test(lists),
        cmocka_unit_test(what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
