/* SPDX-License-Identifier: MIT */
/* A publisher at directories and files: what it writes, what it verifies, and what remains where it fails. */
#include "files_scratch.h"
#include "publish_work.h"
#include "unit.h"

#include <unistd.h>

#define HEAD      "version: 1\nstate_dir: @/state\ncredentials:\n  - name: a\n    token: {file: @/token}\n    publish:\n"
#define DIRECTORY "      - {directory: @/set, files: [{name: t, format: token}, {name: u, format: token}]}\n"
#define FILE_A    "      - {file: {path: @/a, format: token}}\n"
#define FILE_B    "      - {file: {path: @/b/c, format: token, mode: \"0640\"}}\n"

static struct cfr_config *config;
static const struct cfr_config_credential *credential;
static struct cfr_grant grant;
static struct cfr_publish_record record;
static struct cfr_publisher_crew crew;
static struct cfr_publisher *publisher;

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static int begin(void **state)
{
    record = (struct cfr_publish_record){.generation = 0};
    return scratch_make_fast(state);
}

static int end(void **state)
{
    cfr_publisher_close(publisher);
    publisher = NULL;
    cfr_publish_record_free(&record);
    cfr_grant_free(&grant);
    cfr_config_free(config);
    config = NULL;
    return scratch_remove(state);
}

/* Loads a configuration, in which each @ is the scratch directory. */
static void configure(const char *text)
{
    static char whole[8192];
    struct cfr_str all = {.limit = 8192};
    size_t n = 0;

    for (const char *at = text; *at != '\0'; at++)
        n += (size_t)snprintf(whole + n, sizeof whole - n, "%.*s", *at == '@' ? (int)strlen(scratch) : 1,
                              *at == '@' ? scratch : at);
    put(in("config.yaml"), whole);
    cfr_publish_register();
    if (cfr_config_load(in("config.yaml"), no_env, &config, &all, NULL) != 0)
        fail_msg("refused: %s", all.p);
    cfr_str_free(&all);
    credential = cfr_config_at(config, 0);
}

static void done(void *ctx)
{
    (void)ctx;
}

/* Publishes TOKEN (NULL: a grant without one) as GENERATION, after which the publisher can be asked. Returns the
 * error's code. */
static int publish(const char *token, uint64_t generation, struct cfr_publisher_outcome *out)
{
    struct cfr_publish_from from = {.provider = NULL};
    struct cfr_publish_job job = {
        .render = {.credential = "a", .from = &from, .grant = &grant, .generation = generation},
        .now = cfr_clock_now(),
        .expires_ms = INT64_MAX};
    struct cfr_err err = {0};
    int rc;

    cfr_grant_free(&grant);
    if (token != NULL)
        assert_int_equal(cfr_grant_set(&grant, CFR_FIELD_TOKEN, cfr_view_of(token), &err), 0);
    rc = cfr_test_work(credential, CFR_PUBLISHER_RECOVER | CFR_PUBLISHER_PUBLISH, &job, &record, out, &err);
    if (rc == 0)
        record.generation = generation;
    return rc;
}

/* A publisher that has looked at what is there. */
static struct cfr_publisher *look(void)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err = {0};

    cfr_publisher_close(publisher);
    publisher = NULL;
    assert_int_equal(cfr_publisher_open(credential, &crew, done, NULL, &publisher, &err), 0);
    assert_int_equal(cfr_publish_record_fit(
                         &record, (struct cfr_publish_record_room){(uint16_t)credential->publish.count, 0, 0}, &err),
                     0);
    assert_true(cfr_publisher_start(publisher, CFR_PUBLISHER_LOOK, NULL, &record, &err) >= 0);
    for (int i = 0; i < 10000 && !cfr_publisher_has_ended(publisher); i++) {
        (void)usleep(1000);
        cfr_publisher_step(publisher, cfr_clock_now());
    }
    assert_true(cfr_publisher_has_ended(publisher));
    cfr_publisher_finish(publisher, &record, &out);
    assert_false(cfr_publisher_is_busy(publisher));
    assert_true(cfr_publisher_is_idle(&crew));
    return publisher;
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
