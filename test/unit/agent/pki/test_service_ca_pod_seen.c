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
    /* The oldest first, each until it is done or waits. */
    one = cfr_service_ca_pod_seen_due(&s, 0);
    assert_string_equal(one->path, "b/x");
    cfr_service_ca_pod_seen_finish(one, "1");
    one = cfr_service_ca_pod_seen_due(&s, 0);
    assert_string_equal(one->path, "a/y");
    one->backoff.failures = 1;
    cfr_service_ca_pod_seen_put_back(&s, one, 500);
    assert_true(cfr_service_ca_pod_seen_waits(&s));
    assert_string_equal(cfr_service_ca_pod_seen_due(&s, 499)->path, "a/x");
    cfr_service_ca_pod_seen_finish(cfr_service_ca_pod_seen_find(&s, "a/x"), "3");
    assert_null(cfr_service_ca_pod_seen_due(&s, 499));
    assert_int_equal(cfr_service_ca_pod_seen_next(&s), 500);
    assert_string_equal(cfr_service_ca_pod_seen_due(&s, 500)->path, "a/y");
    cfr_service_ca_pod_seen_finish(cfr_service_ca_pod_seen_find(&s, "a/y"), "2");
    assert_false(cfr_service_ca_pod_seen_waits(&s));
    cfr_service_ca_pod_seen_free(&s);
}

/* Serves the next one; WANTED is its path, NULL: any. */
static void serve(struct cfr_service_ca_pod_seen *s, const char *wanted)
{
    struct cfr_service_ca_pod_seen_one *one = cfr_service_ca_pod_seen_due(s, 0);

    assert_non_null(one);
    if (wanted != NULL)
        assert_string_equal(one->path, wanted);
    cfr_service_ca_pod_seen_finish(one, one->version);
}

static void note_many(struct cfr_service_ca_pod_seen *s, const char *space, int from, int to)
{
    char name[16];
    char version[16];

    for (int i = from; i < to; i++) {
        (void)snprintf(name, sizeof name, "r%05d", i);
        (void)snprintf(version, sizeof version, "%d", 1000 + i);
        assert_int_equal(note(s, space, name, version), 0);
    }
}

/* However many requests one namespace has, another's is next but one; in a namespace the oldest is first, whatever it
 * is called. */
static void namespaces_take_turns(void **state)
{
    struct cfr_service_ca_pod_seen s = {0};

    (void)state;
    note_many(&s, "a", 0, 500);
    serve(&s, "a/r00000");
    assert_int_equal(note(&s, "b", "late", "5000"), 0);
    assert_int_equal(note(&s, "c", "first-by-name", "5002"), 0);
    assert_int_equal(note(&s, "c", "later-by-name", "5001"), 0);
    serve(&s, "a/r00001");
    serve(&s, "b/late");
    serve(&s, "c/later-by-name");
    serve(&s, "a/r00002");
    serve(&s, "c/first-by-name");
    serve(&s, "a/r00003");
    /* A namespace that was idle has not saved up turns. */
    note_many(&s, "b", 6000, 6002);
    serve(&s, "a/r00004");
    serve(&s, "b/r06000");
    serve(&s, "a/r00005");
    serve(&s, "b/r06001");
    serve(&s, "a/r00006");
    cfr_service_ca_pod_seen_free(&s);
}

/* Requests that are created all the time, are removed once they are served, or fail repeatedly. */
static void nobody_starves(void **state)
{
    struct cfr_service_ca_pod_seen s = {0};
    struct cfr_service_ca_pod_seen_one *one;
    bool served = false;

    (void)state;
    note_many(&s, "a", 0, 3);
    serve(&s, NULL);
    assert_int_equal(note(&s, "b", "victim", "9000"), 0);
    for (int i = 3; !served && i < 8; i++) {
        note_many(&s, "a", i, i + 1);
        one = cfr_service_ca_pod_seen_due(&s, 0);
        served = strcmp(one->path, "b/victim") == 0;
        if (i % 2 == 0)
            cfr_service_ca_pod_seen_put_back(&s, one, 0);
        else
            cfr_service_ca_pod_seen_drop(&s, cfr_view_of("a"), cfr_view_of(one->path + 2));
    }
    assert_true(served);
    cfr_service_ca_pod_seen_free(&s);
}

/* One namespace fills the list: another's request takes the place of its newest. */
static void a_full_list_has_room_for_other_namespaces(void **state)
{
    struct cfr_service_ca_pod_seen s = {0};

    (void)state;
    note_many(&s, "a", 0, LIMIT);
    assert_int_equal(note(&s, "b", "x", "90000"), CFR_E_LIMIT);
    assert_int_equal(s.count, LIMIT);
    assert_non_null(cfr_service_ca_pod_seen_find(&s, "b/x"));
    assert_null(cfr_service_ca_pod_seen_find(&s, "a/r19999"));
    assert_int_equal(note(&s, "a", "r19999", "20999"), CFR_E_LIMIT);
    assert_null(cfr_service_ca_pod_seen_find(&s, "a/r19999"));
    serve(&s, "a/r00000");
    serve(&s, "b/x");
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
        cmocka_unit_test(what_is_due),       cmocka_unit_test(namespaces_take_turns),
        cmocka_unit_test(nobody_starves),    cmocka_unit_test(a_full_list_has_room_for_other_namespaces),
        cmocka_unit_test(versions),          cmocka_unit_test(lists),
        cmocka_unit_test(what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
