/* SPDX-License-Identifier: MIT */
/* Long-lived keys of credentials that left the configuration: logged once, kept for the status, and dropped when their
 * journal is gone. */
#include "daemon_fixture.h"

#include "agent/rotation/leftover.h"

/* The journals that are found; NULL subject: it cannot be read. */
static struct journal {
    const char *name;
    const char *subject;
} journals[4];
static int walk_rc;

int __wrap_cfr_rotator_each_leftover(int state_fd, const struct cfr_config *config, cfr_rotator_leftover_fn *fn,
                                     void *ctx, struct cfr_err *err);
int __wrap_cfr_slow_state_answers(const char *directory, struct cfr_err *err);

int __wrap_cfr_rotator_each_leftover(int state_fd, const struct cfr_config *config, cfr_rotator_leftover_fn *fn,
                                     void *ctx, struct cfr_err *err)
{
    (void)state_fd;
    (void)config;
    for (const struct journal *j = journals; j->name != NULL; j++) {
        struct cfr_rotation_journal found = {.subject = {0}};
        struct cfr_err why = {0};

        (void)snprintf(found.subject, sizeof found.subject, "%s", j->subject != NULL ? j->subject : "");
        (void)cfr_err_set(&why, CFR_E_ANSWER, "not JSON");
        fn(ctx, j->name, j->subject != NULL ? &found : NULL, j->subject != NULL ? NULL : &why);
    }
    return walk_rc == 0 ? 0 : cfr_err_set(err, walk_rc, "cannot list");
}

static int answers_rc;

int __wrap_cfr_slow_state_answers(const char *directory, struct cfr_err *err)
{
    (void)directory;
    return answers_rc == 0 ? 0 : cfr_err_set(err, answers_rc, "does not answer");
}

static char *const names[] = {(char[]){"a"}};

static struct cfr_daemon agent(void)
{
    memset(journals, 0, sizeof journals);
    walk_rc = answers_rc = 0;
    return agent_with(names, 1);
}

static void test_each_is_logged_once(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    journals[0] = (struct journal){"old", "aws/robot"};
    cfr_daemon_look_forgotten(&a);
    assert_int_equal(a.forgotten_count, 1);
    assert_string_equal(a.forgotten[0].name, "old");
    assert_string_equal(a.forgotten[0].subject, "aws/robot");
    assert_int_equal(a.forgotten[0].count, 1);
    assert_contains(test_log, "WARN old: this rotated key was removed from the configuration; its keys of aws/robot "
                              "remain valid");
    forget();
    cfr_daemon_look_forgotten(&a);
    assert_string_equal(test_log, "");
    journals[1] = (struct journal){"older", NULL};
    cfr_daemon_look_forgotten(&a);
    assert_int_equal(a.forgotten_count, 2);
    assert_null(a.forgotten[1].subject);
    assert_string_equal(a.forgotten[1].error, "not JSON");
    assert_contains(test_log, "WARN older: the configuration has no rotated key of this name any more");
    assert_null(strstr(test_log, "WARN old: "));
    cfr_daemon_forgotten_free(&a);
}

/* `credfresh forget`, or the credential is back. */
static void test_they_are_gone(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    journals[0] = (struct journal){"old", "aws/robot"};
    cfr_daemon_look_forgotten(&a);
    journals[0].name = NULL;
    cfr_daemon_look_forgotten(&a);
    assert_int_equal(a.forgotten_count, 0);
    cfr_daemon_forgotten_free(&a);
}

/* What cannot be listed says nothing about what was known. */
static void test_a_failure_changes_nothing(void **state)
{
    struct cfr_daemon a = agent();

    (void)state;
    journals[0] = (struct journal){"old", "aws/robot"};
    cfr_daemon_look_forgotten(&a);
    journals[0].name = NULL;
    walk_rc = CFR_E_IO;
    cfr_daemon_look_forgotten(&a);
    assert_int_equal(a.forgotten_count, 1);
    walk_rc = 0;
    answers_rc = CFR_E_TIMEOUT;
    cfr_daemon_look_forgotten(&a);
    assert_int_equal(a.forgotten_count, 1);
    answers_rc = 0;
    cfr_daemon_look_forgotten(&a);
    assert_int_equal(a.forgotten_count, 0);
    cfr_daemon_forgotten_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_is_logged_once, begin_test),
        cmocka_unit_test_setup(test_they_are_gone, begin_test),
        cmocka_unit_test_setup(test_a_failure_changes_nothing, begin_test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
