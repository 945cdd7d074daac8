/* SPDX-License-Identifier: MIT */
/* The sandbox and a new configuration: what needs something that was given up is refused, and what is given up is what
 * the configuration says. */
#include "daemon_fixture.h"

#include "agent/daemon/confine_private.h"
#include "agent/loop/sandbox.h"

#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "version: 1\nstate_dir: @/state\n"
#define REST                                                                                                           \
    "credentials:\n  - {name: a, token: {file: @/in/x/token}, publish: {file: {path: @/out/a, format: token}}}\n"
#define NO_FILES "sandbox: {landlock: false, landlock_read: false}\n"
#define ALL      UINT64_C(0x1ffffffffff)

static int begin(void **state)
{
    if (scratch_make(state) != 0 || mkdir(in("state"), 0700) != 0 || mkdir(in("in"), 0700) != 0 ||
        mkdir(in("in/x"), 0700) != 0)
        return -1;
    put(in("in/x/token"), "x");
    return begin_test(state);
}

/* A sandbox of which only capabilities are in force, of which KEPT are left. */
static struct cfr_daemon_sandbox sandbox_with(uint64_t kept)
{
    struct cfr_daemon_sandbox s = {.had = ALL, .kept = kept};

    for (int i = 0; i < CFR_PARTS; i++)
        s.parts[i] = (struct cfr_api_status_sandbox){.part = "x", .on = i == CFR_PART_CAPABILITIES};
    return s;
}

/* The reload of NEXT, where NOW is in use, is refused with words that have WHY in them; NULL: it is not. */
static void check(const struct cfr_daemon_sandbox *s, const char *now, const char *next, const char *why)
{
    struct cfr_config *a = load_text(now);
    struct cfr_config *b = load_text(next);
    struct cfr_err err = {0};
    int rc = cfr_daemon_confine_check(s, a, b, &err);

    if (why == NULL && rc != 0)
        fail_msg("%s: %s", next, err.text);
    if (why != NULL) {
        assert_int_equal(rc, CFR_E_CONFIG);
        assert_contains(err.text, why);
    }
    cfr_config_free(a);
    cfr_config_free(b);
}

static void test_a_capability_that_was_given_up(void **state)
{
    struct cfr_daemon_sandbox s = sandbox_with(UINT64_C(1) << CAP_DAC_OVERRIDE);

    (void)state;
    check(&s, HEAD REST, HEAD REST, NULL);
    check(&s, HEAD REST, HEAD "listen: 127.0.0.1:80\n" REST,
          "it listens on a port below 1024 now, as it did not before: the agent gave up the capability");
    check(&s, HEAD REST, HEAD "listen: 127.0.0.1:9080\n" REST, NULL);
    s.kept |= UINT64_C(1) << CAP_NET_BIND_SERVICE;
    check(&s, HEAD REST, HEAD "listen: 127.0.0.1:80\n" REST, NULL);
    /* What it never had, it did not give up. */
    s = sandbox_with(UINT64_C(1) << CAP_DAC_OVERRIDE);
    s.had = s.kept | UINT64_C(1) << CAP_KILL;
    check(&s, HEAD REST, HEAD "listen: 127.0.0.1:80\n" REST, NULL);
}

static void test_parts_stay_as_they_are(void **state)
{
    struct cfr_daemon_sandbox s = sandbox_with(ALL);

    (void)state;
    s.parts[CFR_PART_SECCOMP].on = true;
    check(&s, HEAD REST, HEAD "sandbox: {seccomp: false}\n" REST,
          "sandbox.seccomp cannot be turned off while the agent runs: restart it");
    check(&s, HEAD REST, HEAD "sandbox: {capabilities: false}\n" REST, "sandbox.capabilities cannot be turned off");
    /* What this machine cannot do is no reason to refuse. */
    s.why[CFR_PART_LANDLOCK].code = CFR_E_INTERNAL;
    check(&s, HEAD REST, HEAD REST, NULL);
    /* It was turned off by the configuration. */
    s.why[CFR_PART_LANDLOCK].code = CFR_E_CONFIG;
    check(&s, HEAD REST, HEAD REST, "sandbox.landlock cannot be turned on while the agent runs: restart it");
    check(&s, HEAD REST, HEAD "sandbox: {landlock: false}\n" REST, NULL);
}

/* ---- in a child, which gives up what it has ---- */

static void in_child(void (*f)(void))
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        f();
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* Frees what a child has, so that valgrind finds no leak in it. */
static void end_child(struct cfr_config *config, struct cfr_daemon_sandbox *s, struct cfr_str *summary)
{
    cfr_daemon_confine_free(s);
    cfr_config_free(config);
    cfr_str_free(summary);
}

static void confine_nothing(void)
{
    struct cfr_config *config = load_text(HEAD "sandbox: {no_new_privs: false, capabilities: false, seccomp: false, "
                                               "landlock: false, landlock_read: false}\n" REST);
    struct cfr_daemon_sandbox s = {.had = 0};
    struct cfr_str summary = {.limit = 4096};

    cfr_daemon_confine(&s, config, in("config.yaml"), &summary);
    CHILD_CHECK(strstr(summary.p, "sandbox: none; without no_new_privs (turned off in the configuration), ") ==
                summary.p);
    for (int i = 0; i < CFR_PARTS; i++) {
        CHILD_CHECK(!s.parts[i].on);
        CHILD_CHECK(strcmp(s.parts[i].why, "turned off in the configuration") == 0);
    }
    CHILD_CHECK(s.kept == s.had);
    CHILD_CHECK(!exists(in("out")));
    end_child(config, &s, &summary);
}

static void test_nothing_is_given_up(void **state)
{
    (void)state;
    in_child(confine_nothing);
}

static int reload_into(const struct cfr_daemon_sandbox *s, const struct cfr_config *now, const char *text,
                       struct cfr_err *err)
{
    struct cfr_config *next = load_text(text);
    int rc;

    *err = (struct cfr_err){.code = 0};
    rc = cfr_daemon_confine_check(s, now, next, err);
    cfr_config_free(next);
    return rc;
}

static void confine_files(void)
{
    struct cfr_config *config = load_text(HEAD "sandbox: {seccomp: false, capabilities: false}\n" REST);
    struct cfr_daemon_sandbox s = {.had = 0};
    struct cfr_str summary = {.limit = 4096};

    cfr_daemon_confine(&s, config, in("config.yaml"), &summary);
    if (!s.parts[CFR_PART_LANDLOCK].on || !s.parts[CFR_PART_LANDLOCK_READ].on) {
        end_child(config, &s, &summary);
        _exit(77);
    }
    /* Where it publishes was made, because nothing narrower than what exists can be allowed. */
    CHILD_CHECK(exists(in("out")));
    CHILD_CHECK(strstr(summary.p, "landlock, landlock_read") != NULL);
    CHILD_CHECK(open(in("out/new"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0);
    CHILD_CHECK(open(in("new"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600) < 0 && errno == EACCES);
    CHILD_CHECK(open(in("in/x/token"), O_RDONLY | O_CLOEXEC) >= 0);
    end_child(config, &s, &summary);
}

static void test_files(void **state)
{
    (void)state;
    in_child(confine_files);
}

static void confine_and_reload(void)
{
    /* The scratch directory is writable, as one of the configuration. */
    static const char text[] = HEAD "sandbox: {seccomp: false, capabilities: false}\ncontrol_socket: @/c.sock\n" REST;
    struct cfr_config *config = load_text(text);
    struct cfr_daemon_sandbox s = {.had = 0};
    struct cfr_str summary = {.limit = 4096};
    struct cfr_err err;

    cfr_daemon_confine(&s, config, in("config.yaml"), &summary);
    if (!s.parts[CFR_PART_LANDLOCK].on || !s.parts[CFR_PART_LANDLOCK_READ].on) {
        end_child(config, &s, &summary);
        _exit(77);
    }
    CHILD_CHECK(reload_into(&s, config, text, &err) == 0);
    CHILD_CHECK(reload_into(&s, config,
                            HEAD "sandbox: {seccomp: false, capabilities: false}\ncontrol_socket: @/c.sock\n"
                                 "credentials:\n  - {name: a, token: {file: @/in/x/token}, publish: {file: {path: "
                                 "/var/lib/elsewhere/a, format: token}}}\n",
                            &err) == CFR_E_CONFIG);
    CHILD_CHECK(strstr(err.text, "/var/lib/elsewhere is outside of the directories that the agent may write to since "
                                 "its start: restart it (or run it with sandbox.landlock: false)") != NULL);
    CHILD_CHECK(reload_into(&s, config,
                            HEAD "sandbox: {seccomp: false, capabilities: false}\ncontrol_socket: @/c.sock\n"
                                 "credentials:\n  - {name: a, token: {file: /var/lib/elsewhere/x/token}, publish: "
                                 "{file: {path: @/out/a, format: token}}}\n",
                            &err) == CFR_E_CONFIG);
    CHILD_CHECK(
        strstr(err.text, "may read since its start: restart it (or run it with sandbox.landlock_read: false)") != NULL);
    end_child(config, &s, &summary);
}

static void test_a_reload_into_other_directories(void **state)
{
    (void)state;
    in_child(confine_and_reload);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_capability_that_was_given_up),
        TEST(test_parts_stay_as_they_are),
        TEST(test_nothing_is_given_up),
        TEST(test_files),
        TEST(test_a_reload_into_other_directories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
