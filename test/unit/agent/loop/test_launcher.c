/* SPDX-License-Identifier: MIT */
/* Which commands the launcher starts, and how it learns of new ones. */
#include "unit.h"

#include "agent/loop/launcher_private.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECRET    "hunter2"

#define VARIABLES "NAME=demo|NUMBER=" CFR_LAUNCHER_NUMBER
#define STARTED   "NAME=demo|NUMBER=17"

/* The words of a text, which bars separate. */
struct words {
    char text[256];
    char *items[16];
};

static char *const *split(struct words *w, const char *text)
{
    char *rest = w->text;
    size_t n = 0;

    assert_true(strlen(text) < sizeof w->text);
    strcpy(w->text, text);
    while (text[0] != '\0' && n < COUNT(w->items) - 1 && (w->items[n] = strsep(&rest, "|")) != NULL)
        n++;
    w->items[n] = NULL;
    return w->items;
}

static void add(struct cfr_secret *list, const char *argv, const char *environment)
{
    struct words a;
    struct words e;

    assert_int_equal(cfr_launcher_list_add(list, split(&a, argv), split(&e, environment), NULL), 0);
}

/* ---- the comparison ---- */

static void fill(struct cfr_secret *list)
{
    cfr_secret_init(list, CFR_LAUNCHER_LIST_MAX);
    add(list, "/bin/true|-a|b c", VARIABLES);
    add(list, "/bin/false", "");
}

static bool has(const struct cfr_secret *list, const char *argv, const char *environment)
{
    struct cfr_launcher_command head;
    struct cfr_secret one;
    bool found;

    cfr_secret_init(&one, CFR_LAUNCHER_LIST_MAX);
    add(&one, argv, environment);
    memcpy(&head, one.p, sizeof head);
    found = cfr_launcher_list_has(cfr_secret_view(list), &head, one.p + sizeof head);
    cfr_secret_free(&one);
    return found;
}

static void only_the_same_words_are_the_same_command(void **state)
{
    static const char *const bad[] = {
        "/bin/true",         "/bin/true|-a",   "/bin/true|-a|b",    "/bin/true|-a|b cd",  "/bin/true|-a|b|c",
        "/bin/true|-a|b c|", "/bin/sh|-a|b c", "/bin/false|-a|b c", "/bin/true|-a|b c|d", "",
    };
    struct cfr_secret list;

    (void)state;
    fill(&list);
    assert_true(has(&list, "/bin/true|-a|b c", STARTED));
    assert_true(has(&list, "/bin/false", ""));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(has(&list, bad[i], STARTED));
    /* A list that was cut off. */
    list.len--;
    assert_false(has(&list, "/bin/false", ""));
    list.len = 40;
    assert_false(has(&list, "/bin/true|-a|b c", STARTED));
    cfr_secret_free(&list);
}

static void only_the_same_variables_are_the_same_command(void **state)
{
    static const char *const good[] = {STARTED, "NAME=demo|NUMBER=0", "NAME=demo|NUMBER=18446744073709551615"};
    static const char *const bad[] = {
        "",
        "NAME=demo",
        STARTED "|LD_PRELOAD=/tmp/x.so",
        "LD_PRELOAD=/tmp/x.so|NUMBER=17",
        "NAME=demo|LD_PRELOAD=17",
        "NAME=17|NUMBER=17",
        "NUMBER=17|NAME=demo",
        "NAME=demo|NUMBER=",
        "NAME=demo|NUMBER=-1",
        "NAME=demo|NUMBER=1;id",
        "NAME=demo|NUMBER=$(id)",
        "NAME=demo|NUMBER=184467440737095516150",
    };
    struct cfr_secret list;

    (void)state;
    fill(&list);
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(has(&list, "/bin/true|-a|b c", good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(has(&list, "/bin/true|-a|b c", bad[i]));
    cfr_secret_free(&list);
}

/* Words move neither between arguments and variables nor over the end of what was sent. */
static void the_counts_are_compared(void **state)
{
    const char words[] = "/bin/true\0-a\0b c\0NAME=demo\0NUMBER=17"; /* the last NUL is the text's */
    struct cfr_launcher_command head = {sizeof words, 3, 2};
    struct cfr_secret list;

    (void)state;
    fill(&list);
    assert_true(cfr_launcher_list_has(cfr_secret_view(&list), &head, words));
    head = (struct cfr_launcher_command){sizeof words, 4, 1};
    assert_false(cfr_launcher_list_has(cfr_secret_view(&list), &head, words));
    head = (struct cfr_launcher_command){sizeof words - 1, 3, 2};
    assert_false(cfr_launcher_list_has(cfr_secret_view(&list), &head, words));
    cfr_secret_free(&list);
}

static void merged_lists_have_each_command_once(void **state)
{
    struct cfr_secret list;
    struct cfr_secret more;
    size_t n;

    (void)state;
    fill(&list);
    n = list.len;
    cfr_secret_init(&more, CFR_LAUNCHER_LIST_MAX);
    add(&more, "/bin/false", "");
    assert_true(cfr_launcher_list_merge(&list, cfr_secret_view(&more)));
    assert_int_equal(list.len, n);
    add(&more, "/bin/echo", "");
    assert_true(cfr_launcher_list_merge(&list, cfr_secret_view(&more)));
    assert_true(has(&list, "/bin/echo", "") && has(&list, "/bin/true|-a|b c", STARTED));
    list.limit = list.len;
    add(&more, "/bin/ls", "");
    assert_false(cfr_launcher_list_merge(&list, cfr_secret_view(&more)));
    cfr_secret_free(&list);
    cfr_secret_free(&more);
}

/* ---- the process ---- */

/* What the configuration has, as its readers see it. */
static struct {
    char program[64]; /* "" = none */
    enum { READS, READS_PART, FAILS, CRASHES, HANGS, HANGS_LATER } how;
    unsigned reads;
} * config;

static int read_config(const void *ctx, struct cfr_secret *list, struct cfr_err *err)
{
    char *const argv[] = {config->program, NULL};
    char *const none[] = {NULL};

    assert_string_equal(ctx, "the path");
    config->reads++;
    if (config->how == FAILS)
        return cfr_err_set(err, CFR_E_CONFIG, "demo.yaml:3: a mistake");
    if (config->how == READS_PART)
        cfr_launcher_list_is_partial();
    if (config->how == CRASHES)
        (void)raise(SIGKILL);
    if (config->how == HANGS_LATER && cfr_launcher_list_add(list, argv, none, err) == 0)
        cfr_launcher_list_send(list);
    while (config->how == HANGS || config->how == HANGS_LATER)
        (void)usleep(1000);
    return argv[0][0] != '\0' ? cfr_launcher_list_add(list, argv, none, err) : 0;
}

/* A launcher whose list has /bin/true only. */
static int open_launcher(void **state)
{
    struct cfr_secret list;

    (void)state;
    config = mmap(NULL, sizeof *config, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(config, MAP_FAILED);
    assert_int_equal(cfr_launcher_open(read_config, "the path", NULL), 0);
    cfr_secret_init(&list, CFR_LAUNCHER_LIST_MAX);
    add(&list, "/bin/true", "");
    cfr_launcher_bind(&list);
    cfr_secret_free(&list);
    return 0;
}

static int close_launcher(void **state)
{
    (void)state;
    (void)close(cfr_launcher_fd());
    (void)wait(NULL);
    return munmap(config, sizeof *config);
}

/* Its code; *ERR is set as well. */
static int start_with(const char *argv, const char *environment, struct cfr_err *err)
{
    struct words a;
    struct words e;
    pid_t pid;
    int rc = cfr_launcher_start(split(&a, argv), split(&e, environment), STDERR_FILENO, &pid, err);

    if (rc == 0)
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    return rc;
}

/* The error's text; "" if it ran. */
static const char *start(const char *program, int code)
{
    static struct cfr_err err;

    err = (struct cfr_err){0};
    assert_int_equal(start_with(program, "", &err), code);
    return err.text;
}

static void a_known_command_needs_no_reading(void **state)
{
    (void)state;
    assert_string_equal(start("/bin/true", 0), "");
    assert_int_equal(config->reads, 0);
}

static void an_unknown_one_is_refused(void **state)
{
    (void)state;
    assert_contains(start("/bin/echo", CFR_E_PERM), "refused to start /bin/echo: ");
    assert_int_equal(config->reads, 1);
    assert_string_equal(start("/bin/true", 0), "");
}

static void one_that_the_configuration_has_since_is_started(void **state)
{
    (void)state;
    strcpy(config->program, "/bin/echo");
    assert_string_equal(start("/bin/echo", 0), "");
    assert_string_equal(start("/bin/echo", 0), "");
    assert_int_equal(config->reads, 1);
    /* It was not reloaded: what it had before runs still. */
    assert_string_equal(start("/bin/true", 0), "");
}

static void what_a_reload_takes_out_is_refused(void **state)
{
    (void)state;
    strcpy(config->program, "/bin/echo");
    cfr_launcher_read_again();
    assert_string_equal(start("/bin/echo", 0), "");
    assert_int_equal(config->reads, 1);
    assert_contains(start("/bin/true", CFR_E_PERM), "refused to start /bin/true: ");
}

/* PROGRAM is known, or has gone, once the configuration has been read. */
static void start_in_time(const char *program, int code)
{
    struct cfr_err err = {0};
    int rc = 0;

    for (int i = 0; i < 20000; i++) {
        rc = start_with(program, "", &err);
        if (rc == code)
            return;
        (void)usleep(1000);
    }
    assert_int_equal(rc, code);
}

/* Such as a kubeconfig that is malformed for the moment. */
static void what_a_reload_cannot_read_is_not_taken_out(void **state)
{
    static const char *const programs[] = {"/bin/echo", "/bin/cat"};

    (void)state;
    config->how = READS_PART;
    for (size_t i = 0; i < COUNT(programs); i++) {
        strcpy(config->program, programs[i]);
        cfr_launcher_read_again();
        start_in_time(programs[i], 0);
        assert_string_equal(start("/bin/true", 0), "");
    }
    assert_string_equal(start("/bin/echo", 0), "");
    config->how = READS;
    cfr_launcher_read_again();
    start_in_time("/bin/true", CFR_E_PERM);
    assert_string_equal(start("/bin/cat", 0), "");
}

/* The same without a reload: what an earlier reading added is known still. */
static void what_a_later_reading_lacks_is_not_taken_out(void **state)
{
    (void)state;
    strcpy(config->program, "/bin/echo");
    assert_string_equal(start("/bin/echo", 0), "");
    config->how = READS_PART;
    strcpy(config->program, "/bin/cat");
    assert_string_equal(start("/bin/cat", 0), "");
    assert_string_equal(start("/bin/echo", 0), "");
    assert_int_equal(config->reads, 2);
}

static void a_configuration_that_cannot_be_read(void **state)
{
    (void)state;
    config->how = FAILS;
    assert_contains(start("/bin/echo", CFR_E_CONFIG), "demo.yaml:3: a mistake");
    cfr_launcher_read_again();
    assert_contains(start("/bin/echo", CFR_E_CONFIG), "demo.yaml:3: a mistake");
    assert_string_equal(start("/bin/true", 0), "");
}

static void one_that_breaks_the_parser(void **state)
{
    (void)state;
    config->how = CRASHES;
    assert_contains(start("/bin/echo", CFR_E_CONFIG), "ended by signal 9");
    assert_string_equal(start("/bin/true", 0), "");
}

static void one_that_hangs_is_waited_for_once(void **state)
{
    struct timespec before;
    struct timespec after;
    struct cfr_err err = {0};
    int rc = CFR_E_TIMEOUT;

    (void)state;
    config->how = HANGS;
    assert_contains(start("/bin/echo", CFR_E_TIMEOUT), "still reading the configuration");
    assert_string_equal(start("/bin/true", 0), "");
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < 5; i++)
        assert_contains(start("/bin/echo", CFR_E_TIMEOUT), "still reading the configuration");
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec - before.tv_sec < 5);
    assert_int_equal(config->reads, 1);
    /* It continues. */
    strcpy(config->program, "/bin/echo");
    config->how = READS;
    while (rc == CFR_E_TIMEOUT)
        rc = start_with("/bin/echo", "", &err);
    assert_int_equal(rc, 0);
    assert_int_equal(config->reads, 1);
}

/* Such as a kubeconfig on a disk that does not answer. */
static void what_was_read_before_a_hang_is_started(void **state)
{
    (void)state;
    strcpy(config->program, "/bin/echo");
    config->how = HANGS_LATER;
    assert_string_equal(start("/bin/echo", 0), "");
    assert_string_equal(start("/bin/echo", 0), "");
    assert_string_equal(start("/bin/true", 0), "");
    assert_int_equal(config->reads, 1);
    assert_contains(start("/bin/false", CFR_E_TIMEOUT), "still reading the configuration");
}

static void a_second_list_ends_it(void **state)
{
    struct cfr_secret list;

    (void)state;
    cfr_secret_init(&list, CFR_LAUNCHER_LIST_MAX);
    add(&list, "/bin/echo", "");
    cfr_launcher_bind(&list);
    cfr_secret_free(&list);
    assert_contains(start("/bin/echo", CFR_E_IO), "has ended");
}

/* A variable may be a secret, and so may an argument. */
static void a_refusal_has_no_secret(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(start_with("/bin/echo|" SECRET, "PASSWORD=" SECRET, &err), CFR_E_PERM);
    assert_null(strstr(err.text, SECRET));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_same_words_are_the_same_command),
        cmocka_unit_test(only_the_same_variables_are_the_same_command),
        cmocka_unit_test(the_counts_are_compared),
        cmocka_unit_test(merged_lists_have_each_command_once),
        cmocka_unit_test_setup_teardown(a_known_command_needs_no_reading, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(an_unknown_one_is_refused, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(one_that_the_configuration_has_since_is_started, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(what_a_reload_takes_out_is_refused, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(what_a_reload_cannot_read_is_not_taken_out, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(what_a_later_reading_lacks_is_not_taken_out, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(a_configuration_that_cannot_be_read, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(one_that_breaks_the_parser, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(one_that_hangs_is_waited_for_once, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(what_was_read_before_a_hang_is_started, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(a_second_list_ends_it, open_launcher, close_launcher),
        cmocka_unit_test_setup_teardown(a_refusal_has_no_secret, open_launcher, close_launcher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
