/* SPDX-License-Identifier: MIT */
/* The logger, tested by its output on standard error. */
#include "unit.h"

#include "base/json.h"
#include "base/log.h"
#include "base/time.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char caught[32768];

/* Sends standard error into a file while F runs; what arrived is in `caught` then. */
static void catch_stderr(void (*f)(void))
{
    char name[] = "/tmp/cfr-log-XXXXXX";
    int keep = dup(STDERR_FILENO);
    int fd = mkstemp(name);
    ssize_t n;

    assert_true(keep >= 0 && fd >= 0);
    (void)unlink(name);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    f();
    assert_true(dup2(keep, STDERR_FILENO) >= 0);
    (void)close(keep);
    n = pread(fd, caught, sizeof caught - 1, 0);
    (void)close(fd);
    assert_true(n >= 0);
    caught[n] = '\0';
}

static void some_events(void)
{
    cfr_log(CFR_LOG_WARN, "registry", "fresh", "%d of %s", 3, "them");
    cfr_log(CFR_LOG_ERROR, "registry", NULL, "no state");
    cfr_log(CFR_LOG_INFO, NULL, NULL, "plain");
    cfr_log(CFR_LOG_DEBUG, NULL, NULL, "not shown");
}

static void text(void **state)
{
    struct cfr_view rest;
    struct cfr_view line;
    int64_t t;

    (void)state;
    cfr_log_setup(CFR_LOG_INFO, CFR_LOG_TEXT, false);
    catch_stderr(some_events);
    rest = cfr_view_of(caught);
    assert_true(cfr_view_line(&rest, &line));
    assert_true(line.n > 25);
    assert_true(cfr_time_parse((struct cfr_view){line.p, 24}, &t));
    assert_view(((struct cfr_view){line.p + 24, line.n - 24}), " warn  registry [fresh]: 3 of them");
    assert_true(cfr_view_line(&rest, &line));
    assert_view(((struct cfr_view){line.p + 24, line.n - 24}), " error registry: no state");
    assert_true(cfr_view_line(&rest, &line));
    assert_view(((struct cfr_view){line.p + 24, line.n - 24}), " info  plain");
    assert_false(cfr_view_line(&rest, &line));
}

static void journal(void **state)
{
    (void)state;
    cfr_log_setup(CFR_LOG_DEBUG, CFR_LOG_TEXT, true);
    catch_stderr(some_events);
    assert_string_equal(caught, "<4>registry [fresh]: 3 of them\n<3>registry: no state\n<6>plain\n<7>not shown\n");
}

static void json(void **state)
{
    struct cfr_view rest;
    struct cfr_view line;
    struct cfr_json *doc = NULL;
    struct cfr_view value;
    int64_t t;

    (void)state;
    cfr_log_setup(CFR_LOG_INFO, CFR_LOG_JSON, false);
    catch_stderr(some_events);
    rest = cfr_view_of(caught);
    assert_true(cfr_view_line(&rest, &line));
    assert_int_equal(cfr_json_parse(line, &doc, NULL), 0);
    assert_true(cfr_json_string(cfr_json_get(doc, "time"), &value));
    assert_true(cfr_time_parse(value, &t));
    assert_true(cfr_json_string(cfr_json_get(doc, "level"), &value));
    assert_view(value, "warn");
    assert_true(cfr_json_string(cfr_json_get(doc, "credential"), &value));
    assert_view(value, "registry");
    assert_true(cfr_json_string(cfr_json_get(doc, "state"), &value));
    assert_view(value, "fresh");
    assert_true(cfr_json_string(cfr_json_get(doc, "message"), &value));
    assert_view(value, "3 of them");
    cfr_json_free(doc);
    assert_true(cfr_view_line(&rest, &line));
    assert_true(cfr_view_line(&rest, &line));
    assert_int_equal(cfr_json_parse(line, &doc, NULL), 0);
    assert_null(cfr_json_get(doc, "credential"));
    assert_null(cfr_json_get(doc, "state"));
    cfr_json_free(doc);
    assert_false(cfr_view_line(&rest, &line));
}

static void an_event_with_fields(void)
{
    const struct cfr_log_fields fields = {
        .code = "denied", .class = "stop", .hook = "exec", .generation = 7, .expires_s = 1795000000, .attempt = 3};

    cfr_log_with(&fields, CFR_LOG_ERROR, "registry", "backoff", "no");
    cfr_log_with(&(struct cfr_log_fields){.code = NULL}, CFR_LOG_ERROR, "registry", "backoff", "no");
}

static void fields_are_members(void **state)
{
    (void)state;
    cfr_log_setup(CFR_LOG_INFO, CFR_LOG_JSON, false);
    catch_stderr(an_event_with_fields);
    assert_contains(caught,
                    "\"state\":\"backoff\",\"code\":\"denied\",\"class\":\"stop\",\"hook\":\"exec\",\"generation\":7,"
                    "\"expires\":\"2026-11-18T11:06:40Z\",\"attempt\":3,\"message\":\"no\"}");
    assert_contains(caught, "\"state\":\"backoff\",\"message\":\"no\"}");
}

static void levels_in_colour(void **state)
{
    (void)state;
    cfr_log_setup(CFR_LOG_INFO, CFR_LOG_TEXT, false);
    cfr_log_terminal(true, 0);
    catch_stderr(some_events);
    assert_contains(caught, " \033[33mwarn \033[0m registry [fresh]: 3 of them\n");
    assert_contains(caught, " \033[31merror\033[0m registry: no state\n");
    assert_contains(caught, "Z info  plain\n");
    cfr_log_terminal(false, 0);
}

static void json_to_the_journal(void **state)
{
    struct cfr_view rest;
    struct cfr_view line;

    (void)state;
    cfr_log_setup(CFR_LOG_INFO, CFR_LOG_JSON, true);
    catch_stderr(some_events);
    rest = cfr_view_of(caught);
    assert_true(cfr_view_line(&rest, &line) && cfr_view_starts(line, "<4>{\"time\":"));
    assert_true(cfr_view_line(&rest, &line) && cfr_view_starts(line, "<3>{\"time\":"));
    assert_true(cfr_view_line(&rest, &line) && cfr_view_starts(line, "<6>{\"time\":"));
    assert_false(cfr_view_line(&rest, &line));
}

static void hostile_event(void)
{
    static char longest[20000];

    memset(longest, '\x01', sizeof longest - 1);
    cfr_log(CFR_LOG_ERROR, NULL, NULL, "a\nb\rc\x1b[31m\x7f%s", longest);
}

/* Nobody can forge a line, or be silenced by sending much. */
static void control_characters_and_length(void **state)
{
    struct cfr_view rest;
    struct cfr_view line;

    (void)state;
    for (int format = CFR_LOG_TEXT; format <= CFR_LOG_JSON; format++) {
        cfr_log_setup(CFR_LOG_INFO, (enum cfr_log_format)format, true);
        catch_stderr(hostile_event);
        rest = cfr_view_of(caught);
        assert_true(cfr_view_line(&rest, &line));
        assert_true(line.n > 1000 && line.n < 8192);
        assert_true(cfr_view_printable(line));
        assert_contains(caught, format == CFR_LOG_TEXT ? "a?b?c?[31m???" : "a\\u000ab\\u000dc");
        assert_false(cfr_view_line(&rest, &line));
    }
}

static void names_follow_the_enums(void **state)
{
    (void)state;
    assert_string_equal(cfr_log_levels[CFR_LOG_DEBUG], "debug");
    assert_null(cfr_log_levels[CFR_LOG_DEBUG + 1]);
    assert_string_equal(cfr_log_formats[CFR_LOG_JSON], "json");
    assert_null(cfr_log_formats[CFR_LOG_JSON + 1]);
}

/* Root's pipe cannot be opened again by an agent of another user: it is written as it is. */
static void a_reader_of_roots_pipe_that_does_not_read(void **state)
{
    int status = -1;
    int ends[2];
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
    pid = fork();
    if (pid == 0) {
        (void)alarm(20);
        if (dup2(ends[1], STDERR_FILENO) < 0 || setgid(65534) != 0 || setuid(65534) != 0)
            _exit(1);
        cfr_log_setup(CFR_LOG_INFO, CFR_LOG_TEXT, true);
        cfr_log_never_wait();
        for (int i = 0; i < 300; i++)
            cfr_log(CFR_LOG_INFO, NULL, NULL, "line %d %0*d", i, 50, 0);
        _exit(cfr_log_dropped() > 200 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A reader that stands still costs lines, which are counted, and no time. None is torn. */
static void a_reader_that_does_not_read(void **state)
{
    struct cfr_view rest;
    struct cfr_view line;
    int keep = dup(STDERR_FILENO);
    int ends[2];
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
    assert_true(keep >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    cfr_log_setup(CFR_LOG_INFO, CFR_LOG_TEXT, true);
    cfr_log_never_wait();
    for (int i = 0; i < 300; i++)
        cfr_log(CFR_LOG_INFO, NULL, NULL, "line %d %0*d", i, 50, 0);
    assert_true(cfr_log_dropped() > 200 && cfr_log_dropped() < 300);
    n = read(ends[0], caught, 8192);
    cfr_log(CFR_LOG_INFO, NULL, NULL, "again");
    assert_int_equal(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0); /* what hooks inherit is as it was */
    assert_true(dup2(keep, STDERR_FILENO) >= 0);
    (void)close(keep);
    n += read(ends[0], caught + n, 8192);
    caught[n] = '\0';
    rest = cfr_view_of(caught);
    for (int i = 0; i < 300 - (int)cfr_log_dropped(); i++) {
        char begin[32];

        (void)snprintf(begin, sizeof begin, "<6>line %d 0000", i);
        assert_true(cfr_view_line(&rest, &line) && cfr_view_starts(line, begin));
    }
    assert_true(cfr_view_line(&rest, &line) && cfr_view_starts(line, "<4>2"));
    assert_true(cfr_view_find(line, " log lines were dropped, because the log was not read in time") > 0);
    assert_true(cfr_view_line(&rest, &line) && cfr_view_is(line, "<6>again"));
    assert_false(cfr_view_line(&rest, &line));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A child has only the first three descriptors; another of its files may have got the number of the one for the log. */
static void a_child_writes_to_standard_error(void **state)
{
    int keep = dup(STDERR_FILENO);
    int ends[2];
    int other[2];
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(other), 0);
    assert_true(keep >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    cfr_log_through(other[1], -1);
    cfr_log_in_child();
    cfr_log(CFR_LOG_INFO, NULL, NULL, "from the child");
    assert_true(dup2(keep, STDERR_FILENO) >= 0);
    (void)close(keep);
    (void)close(ends[1]);
    (void)close(other[1]);
    n = read(ends[0], caught, sizeof caught - 1);
    assert_true(n > 0);
    caught[n] = '\0';
    assert_non_null(strstr(caught, "from the child"));
    assert_int_equal(read(other[0], caught, 1), 0);
    (void)close(ends[0]);
    (void)close(other[0]);
}

static struct {
    bool on;
    int64_t now_ms;
    int64_t waited_ms; /* for the process that writes the log */
    bool answers;
} fake;

int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    if (!fake.on || fds->events != POLLIN)
        return __real_poll(fds, n, timeout);
    if (fake.answers)
        return 1;
    fake.waited_ms += timeout;
    fake.now_ms += timeout;
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!fake.on || clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, out);
    *out = (struct timespec){.tv_sec = fake.now_ms / 1000, .tv_nsec = fake.now_ms % 1000 * 1000000};
    return 0;
}

/* Writes a line a second for MINUTES. Returns how long they waited, in ms. */
static int64_t log_for_minutes(int minutes)
{
    fake.waited_ms = 0;
    for (int i = 0; i < 60 * minutes; i++) {
        fake.now_ms += 1000;
        cfr_log(CFR_LOG_INFO, NULL, NULL, "line");
    }
    return fake.waited_ms;
}

/* A disk that hangs delays the agent once, not in each second. */
static void waits_once_for_a_disk_that_hangs(void **state)
{
    int lines[2];
    int done[2];

    (void)state;
    assert_int_equal(pipe(lines), 0);
    assert_int_equal(pipe2(done, O_NONBLOCK), 0);
    fake.now_ms = 5000000;
    fake.on = true;
    cfr_log_through(lines[1], done[1]);
    assert_int_equal(log_for_minutes(2), 50);
    fake.answers = true;
    assert_int_equal(log_for_minutes(1), 0);
    fake.answers = false;
    assert_int_equal(log_for_minutes(1), 50);
    fake.on = false;
    cfr_log_through(-1, -1);
    cfr_log_in_child();
    (void)close(lines[0]);
    (void)close(lines[1]);
    (void)close(done[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),
        cmocka_unit_test(journal),
        cmocka_unit_test(json),
        cmocka_unit_test(json_to_the_journal),
        cmocka_unit_test(fields_are_members),
        cmocka_unit_test(levels_in_colour),
        cmocka_unit_test(control_characters_and_length),
        cmocka_unit_test(names_follow_the_enums),
        /* Before this process has a log that never waits. */
        cmocka_unit_test(a_reader_of_roots_pipe_that_does_not_read),
        cmocka_unit_test(a_reader_that_does_not_read),
        cmocka_unit_test(waits_once_for_a_disk_that_hangs),
        cmocka_unit_test(a_child_writes_to_standard_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
