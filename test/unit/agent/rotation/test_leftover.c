/* SPDX-License-Identifier: MIT */
/* Journals of credentials that are no longer in the configuration. */
#include "files_scratch.h"
#include "unit.h"

#include "agent/rotation/leftover.h"

static char robot[] = "robot";
static int state_fd;
static char seen[512];

static int begin(void **state)
{
    int rc = scratch_make(state);

    state_fd = open(in("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    seen[0] = '\0';
    return rc != 0 || state_fd < 0;
}

static int end(void **state)
{
    (void)close(state_fd);
    return scratch_remove(state);
}

static struct cfr_rotation_journal journal_of(const char *current, const char *old, const char *former)
{
    struct cfr_rotation_journal j = {.step = CFR_ROTATION_REST, .rotation = 3, .published = 3};

    (void)snprintf(j.subject, sizeof j.subject, "aws/robot");
    (void)snprintf(j.current, sizeof j.current, "%s", current);
    (void)snprintf(j.old, sizeof j.old, "%s", old);
    if (former[0] != '\0') {
        (void)snprintf(j.former[0].id, sizeof j.former[0].id, "%s", former);
        (void)snprintf(j.former[0].subject, sizeof j.former[0].subject, "aws/before");
        j.former_count = 1;
    }
    return j;
}

static void put_journal(const char *name, const struct cfr_rotation_journal *j)
{
    struct cfr_str text = {.limit = 1 << 20};

    assert_int_equal(cfr_rotation_journal_write(j, &text), 0);
    put(in(name), text.p);
    cfr_str_free(&text);
}

static void note(void *ctx, const char *name, const struct cfr_rotation_journal *j, const struct cfr_err *err)
{
    struct cfr_str keys = {.limit = CFR_ROTATOR_LEFTOVER_MAX};
    size_t n = strlen(seen);

    (void)ctx;
    if (j != NULL)
        cfr_rotator_leftover_keys(j, &keys);
    (void)snprintf(seen + n, sizeof seen - n, "%s=%s;", name, j != NULL ? keys.p : cfr_err_name(err->code));
    cfr_str_free(&keys);
}

static void keys_in_words(void **state)
{
    static const struct {
        const char *current;
        const char *old;
        const char *former;
        enum cfr_rotation_step step;
        size_t count;
        const char *words;
    } rows[] = {
        {"A", "", "", CFR_ROTATION_REST, 1, "A"},
        {"A", "B", "", CFR_ROTATION_PUBLISHED, 2, "A, B"},
        {"A", "B", "C", CFR_ROTATION_PUBLISHED, 3, "A, B, C of the former owner aws/before"},
        {"A", "", "", CFR_ROTATION_INTENT, 1, "A; one more that may have been created while its answer was lost"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cfr_rotation_journal j = journal_of(rows[i].current, rows[i].old, rows[i].former);
        struct cfr_str words = {.limit = CFR_ROTATOR_LEFTOVER_MAX};

        j.step = rows[i].step;
        cfr_rotator_leftover_keys(&j, &words);
        assert_string_equal(words.p, rows[i].words);
        assert_int_equal(cfr_rotator_leftover_count(&j), rows[i].count);
        cfr_str_free(&words);
    }
}

static void only_those_that_are_not_configured(void **state)
{
    struct cfr_config_mint mint = {.with = robot};
    struct cfr_config_credential kept = {.name = robot, .mint = &mint};
    const struct cfr_config config = {.credentials = {.items = &kept, .count = 1}};
    const struct cfr_rotation_journal j = journal_of("A", "", "");
    const struct cfr_rotation_journal none = journal_of("", "", "");
    struct cfr_err err = {0};

    (void)state;
    put_journal("robot+mint.json", &j);
    put_journal("empty+mint.json", &none);
    put_journal("gone+mint.json", &j);
    put(in("gone.json"), "{}");
    assert_int_equal(cfr_rotator_each_leftover(state_fd, &config, note, NULL, &err), 0);
    assert_string_equal(seen, "gone=A;");
    /* A credential of that name without `mint` does not rotate them. */
    kept.mint = NULL;
    (void)unlink(in("gone+mint.json"));
    seen[0] = '\0';
    assert_int_equal(cfr_rotator_each_leftover(state_fd, &config, note, NULL, &err), 0);
    assert_string_equal(seen, "robot=A;");
}

static void one_that_cannot_be_read_is_reported(void **state)
{
    const struct cfr_config config = {.credentials = {.count = 0}};
    struct cfr_err err = {0};

    (void)state;
    put(in("gone+mint.json"), "{\"version\"");
    assert_int_equal(cfr_rotator_each_leftover(state_fd, &config, note, NULL, &err), 0);
    assert_string_equal(seen, "gone=bad-answer;");
}

static void it_is_forgotten(void **state)
{
    const struct cfr_rotation_journal j = journal_of("A", "", "");
    struct cfr_err err = {0};

    (void)state;
    put_journal("gone+mint.json", &j);
    put(in("gone+mint.pending"), "a secret");
    put(in("other+mint.pending"), "another one");
    assert_int_equal(cfr_rotator_forget_leftover(state_fd, "gone", &err), 0);
    assert_false(exists(in("gone+mint.json")));
    assert_false(exists(in("gone+mint.pending")));
    assert_true(exists(in("other+mint.pending")));
    assert_int_equal(cfr_rotator_forget_leftover(state_fd, "gone", &err), CFR_E_MISSING);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(keys_in_words),
        TEST(only_those_that_are_not_configured),
        TEST(one_that_cannot_be_read_is_reported),
        TEST(it_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
