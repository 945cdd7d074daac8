/* SPDX-License-Identifier: MIT */
/* A publisher at directories and files: what it writes, what it verifies, and what remains where it fails. */
#include "publisher_fixture.h"

#define HEAD      "version: 1\nstate_dir: @/state\ncredentials:\n  - name: a\n    token: {file: @/token}\n    publish:\n"
#define DIRECTORY "      - {directory: @/set, files: [{name: t, format: token}, {name: u, format: token}]}\n"
#define FILE_A    "      - {file: {path: @/a, format: token}}\n"
#define FILE_B    "      - {file: {path: @/b/c, format: token, mode: \"0640\"}}\n"

/* Publishes TOKEN; NULL: a grant without one. */
static int publish(const char *token, uint64_t generation, struct cfr_publisher_outcome *out)
{
    cfr_grant_free(&grant);
    if (token != NULL)
        set_field(CFR_FIELD_TOKEN, token);
    return publish_grant(generation, out);
}

static int verify(struct cfr_err *err)
{
    *err = (struct cfr_err){.code = 0};
    return cfr_publisher_verify(look(), &record, err);
}

static void test_all_targets(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err;

    (void)state;
    configure(HEAD DIRECTORY FILE_A FILE_B);
    assert_int_equal(publish("first", 1, &out), 0);
    assert_int_equal(out.done, 3);
    assert_int_equal(out.failed, 0);
    assert_true(out.changed);
    assert_string_equal(get(in("set/t")), "first");
    assert_string_equal(get(in("set/u")), "first");
    assert_string_equal(get(in("a")), "first");
    assert_string_equal(get(in("b/c")), "first");
    assert_int_equal(mode_of(in("b/c")), 0640);
    assert_int_equal(verify(&err), 0);
    assert_int_equal(cfr_publisher_newest(publisher), 1);
    assert_true(cfr_publisher_time_ns(publisher) != 0);
    assert_false(cfr_publisher_is_remote(publisher));
}

/* Consumers that watch are not woken for what they have. */
static void test_the_same_content(void **state)
{
    struct cfr_publisher_outcome out;
    struct stat before;
    struct stat after;

    (void)state;
    configure(HEAD FILE_A);
    assert_int_equal(publish("same", 1, &out), 0);
    assert_int_equal(stat(in("a"), &before), 0);
    assert_int_equal(publish("same", 2, &out), 0);
    assert_false(out.changed);
    assert_int_equal(stat(in("a"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(publish("other", 3, &out), 0);
    assert_true(out.changed);
    assert_string_equal(get(in("a")), "other");
}

static void test_removed_and_changed_files(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err;

    (void)state;
    configure(HEAD DIRECTORY FILE_A);
    assert_int_equal(publish("first", 1, &out), 0);
    assert_int_equal(verify(&err), 0);
    assert_int_equal(unlink(in("a")), 0);
    assert_int_not_equal(verify(&err), 0);
    assert_contains(err.text, in("a"));
    assert_int_equal(publish("first", 1, &out), 0);
    assert_int_equal(verify(&err), 0);
    put(in("a"), "changed by another program");
    assert_int_not_equal(verify(&err), 0);
    assert_int_equal(publish("first", 1, &out), 0);
    assert_string_equal(get(in("a")), "first");
    assert_int_equal(unlink(in("set/..data")), 0);
    assert_int_not_equal(verify(&err), 0);
    assert_contains(err.text, in("set"));
}

/* A target that fails keeps what it had, and does not hold up the others. */
static void test_one_target_fails(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err;

    (void)state;
    configure(HEAD DIRECTORY FILE_B FILE_A);
    put(in("b"), "a file where a directory must be");
    assert_int_not_equal(publish("first", 1, &out), 0);
    assert_int_equal(out.done, 2);
    assert_int_equal(out.failed, 1);
    assert_contains(out.err.text, in("b"));
    assert_string_equal(get(in("set/t")), "first");
    assert_string_equal(get(in("a")), "first");
    assert_string_equal(get(in("b")), "a file where a directory must be");
    assert_int_not_equal(verify(&err), 0);
    assert_int_equal(unlink(in("b")), 0);
    assert_int_equal(publish("first", 1, &out), 0);
    assert_int_equal(out.failed, 0);
    assert_int_equal(verify(&err), 0);
}

/* After a publish that reached some of the targets the others only have to hold something complete. */
static void test_verify_after_a_failure(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err;

    (void)state;
    configure(HEAD FILE_A FILE_B);
    assert_int_equal(publish("first", 1, &out), 0);
    assert_int_equal(unlink(in("b/c")), 0);
    assert_int_equal(mkdir(in("b/c"), 0700), 0);
    assert_int_not_equal(publish("second", 2, &out), 0);
    assert_string_equal(get(in("a")), "second");
    assert_int_not_equal(cfr_publisher_verify_left(look(), &record, &err), 0);
    assert_int_equal(rmdir(in("b/c")), 0);
    assert_int_equal(publish("second", 2, &out), 0);
    assert_int_equal(cfr_publisher_verify_left(look(), &record, &err), 0);
}

/* What cannot be rendered for one of the files changes none of them. */
static void test_a_grant_that_does_not_fit(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err;

    (void)state;
    configure(HEAD FILE_A DIRECTORY);
    assert_int_not_equal(publish(NULL, 1, &out), 0);
    assert_int_equal(out.done, 0);
    assert_false(exists(in("a")));
    assert_false(exists(in("set")));
    assert_int_equal(publish("first", 1, &out), 0);
    assert_int_not_equal(publish(NULL, 2, &out), 0);
    assert_string_equal(get(in("a")), "first");
    assert_string_equal(get(in("set/t")), "first");
    assert_int_equal(verify(&err), 0);
}

static void test_the_previous_generation(void **state)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err = {0};

    (void)state;
    configure(HEAD DIRECTORY);
    assert_int_equal(publish("first", 1, &out), 0);
    assert_int_equal(publish("second", 2, &out), 0);
    assert_string_equal(get(in("set/t")), "second");
    /* A consumer may still have it open. */
    assert_int_equal(count_entries(in("set"), "..2") + count_entries(in("set"), "..g"), 2);
    assert_int_equal(cfr_test_work(credential, CFR_PUBLISHER_RETIRE, NULL, &record, &out, &err), 0);
    assert_int_equal(count_entries(in("set"), "..2") + count_entries(in("set"), "..g"), 1);
    assert_string_equal(get(in("set/t")), "second");
    assert_int_equal(cfr_publisher_newest(look()), 2);
}

static void test_nothing_is_there(void **state)
{
    struct cfr_err err;

    (void)state;
    configure(HEAD DIRECTORY FILE_A);
    assert_int_not_equal(verify(&err), 0);
    assert_int_equal(cfr_publisher_newest(publisher), 0);
    assert_int_equal(cfr_publisher_time_ns(publisher), 0);
    assert_false(cfr_publisher_holds_made_key(publisher));
    assert_false(cfr_publisher_is_crowded(&crew));
    cfr_publisher_close(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_targets),
        TEST(test_the_same_content),
        TEST(test_removed_and_changed_files),
        TEST(test_one_target_fails),
        TEST(test_verify_after_a_failure),
        TEST(test_a_grant_that_does_not_fit),
        TEST(test_the_previous_generation),
        TEST(test_nothing_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
