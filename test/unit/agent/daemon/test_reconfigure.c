/* SPDX-License-Identifier: MIT */
/* Reconfiguration: which workers continue, which are replaced, and what a refused configuration leaves as it was. */
#include "daemon_fixture.h"

#include "agent/daemon/lookup_private.h"

#include <unistd.h>

#define HEAD            "version: 1\nstate_dir: @/state\nsandbox: {landlock: false, landlock_read: false}\n"
#define ONE(name, mode) "  - {name: " name ", token: {file: @/token}, publish: {file: {path: @/" name mode "}}}\n"
#define PLAIN(name)     ONE(name, ", format: token")
#define OTHER(name)     ONE(name, "2, format: token")
#define WITH_HOOK(name)                                                                                                \
    "  - {name: " name ", token: {file: @/token}, publish: {file: {path: @/" name                                      \
    ", format: token}}, reload: [{signal: {signal: HUP, pid_file: @/pid}}]}\n"
#define OTHER_TOKEN(name)                                                                                              \
    "  - {name: " name ", token: {file: @/token2}, publish: {file: {path: @/" name ", format: token}}}\n"

static struct cfr_daemon agent;

/* An agent that has the configuration TEXT, and one worker for each of its credentials. */
static void start(const char *text)
{
    assert_int_equal(mkdir(in("state"), 0700) == 0 || errno == EEXIST, 1);
    put(in("token"), "x");
    agent = (struct cfr_daemon){.config = load_text(text), .exit_with = {.pidfd = -1}};
    agent.options.config_path = strdup(in("config.yaml"));
    agent.host.state_fd = open(in("state"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(agent.host.state_fd >= 0);
    agent.host.config = agent.config;
    cfr_daemon_follow(&agent.exit_with, agent.config->exit_with, &agent.stopping);
    agent.workers = calloc(agent.config->credentials.count + 1, sizeof(struct cfr_worker *));
    assert_non_null(agent.workers);
    for (size_t i = 0; i < agent.config->credentials.count; i++)
        assert_int_equal(
            cfr_worker_open(&agent.host, cfr_config_at(agent.config, i), &agent.workers[agent.count++], NULL), 0);
    cfr_daemon_index_workers(&agent);
    forget();
}

/* Reloads TEXT. Returns the error's code; its text is in ERR. */
static int reload_with(const char *text, struct cfr_err *err)
{
    put_config(text);
    *err = (struct cfr_err){.code = 0};
    return cfr_daemon_reload(&agent, err);
}

static void reload(const char *text)
{
    struct cfr_err err;

    if (reload_with(text, &err) != 0)
        fail_msg("refused: %s", err.text);
    assert_null(agent.config_error);
    assert_ptr_equal(agent.host.config, agent.config);
}

/* TEXT is refused with words that have WHY in them, and nothing has changed. */
static void is_refused(const char *text, const char *why)
{
    const struct cfr_config *config = agent.config;
    struct cfr_worker *const *workers = agent.workers;
    struct cfr_err err;

    forget();
    assert_int_not_equal(reload_with(text, &err), 0);
    assert_contains(err.text, why);
    assert_ptr_equal(agent.config, config);
    assert_ptr_equal(agent.workers, workers);
    assert_string_equal(test_events, "");
    assert_non_null(agent.config_error);
    assert_contains(agent.config_error, why);
    assert_contains(test_log, "ERROR the new configuration is invalid, keeping the old one: ");
}

static int begin(void **state)
{
    return scratch_make(state) == 0 ? begin_test(state) : -1;
}

static int end(void **state)
{
    cfr_daemon_follow(&agent.exit_with, NULL, &agent.stopping);
    for (size_t i = 0; i < agent.count; i++)
        cfr_worker_close(agent.workers[i]);
    free(agent.workers);
    free(agent.by_name);
    free(agent.config_error);
    if (agent.health != NULL)
        cfr_httpd_close(agent.health);
    cfr_daemon_endpoints_close(agent.endpoints);
    cfr_daemon_forgotten_free(&agent);
    (void)close(agent.host.state_fd);
    cfr_config_free(agent.config);
    free((void *)(uintptr_t)agent.options.config_path);
    return scratch_remove(state);
}

static void test_nothing_changes(void **state)
{
    const struct cfr_worker *a;
    const struct cfr_worker *b;

    (void)state;
    start(HEAD "credentials:\n" PLAIN("a") PLAIN("b"));
    a = agent.workers[0];
    b = agent.workers[1];
    pass_ms(5000);
    reload(HEAD "credentials:\n" PLAIN("a") PLAIN("b"));
    assert_string_equal(test_events, "rebind a, rebind b, serve queue, ");
    assert_ptr_equal(agent.workers[0], a);
    assert_ptr_equal(agent.workers[1], b);
    assert_ptr_equal(a->config, cfr_config_at(agent.config, 0));
    assert_int_equal(agent.config_loaded_boot_ms, test_now.boot_ms);
    assert_string_equal(test_log, "INFO loaded the new configuration: 2 credentials\n");
}

static void test_the_order_may_change(void **state)
{
    const struct cfr_worker *b;

    (void)state;
    start(HEAD "credentials:\n" PLAIN("a") PLAIN("b"));
    b = agent.workers[1];
    reload(HEAD "credentials:\n" PLAIN("b") PLAIN("a"));
    assert_string_equal(test_events, "rebind b, rebind a, serve queue, ");
    assert_ptr_equal(agent.workers[0], b);
    assert_ptr_equal(cfr_daemon_worker(&agent, "b"), b);
}

static void test_added_and_removed(void **state)
{
    (void)state;
    start(HEAD "credentials:\n" PLAIN("a") PLAIN("b"));
    reload(HEAD "credentials:\n" PLAIN("b") PLAIN("c"));
    assert_string_equal(test_events, "rebind b, open c, start c, abandon a, close a, serve queue, ");
    assert_contains(test_log,
                    "INFO a: was removed from the configuration: its published files remain, but are not renewed\n");
    assert_int_equal(agent.count, 2);
    assert_null(cfr_daemon_worker(&agent, "a"));
    assert_non_null(cfr_daemon_worker(&agent, "c"));
    forget();
    reload(HEAD "credentials:\n" PLAIN("c"));
    assert_string_equal(test_events, "rebind c, abandon b, close b, serve queue, ");
    assert_contains(test_log, "loaded the new configuration: 1 credential\n");
}

/* The hooks alone do not decide what is published. */
static void test_other_hooks(void **state)
{
    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    reload(HEAD "credentials:\n" WITH_HOOK("a"));
    assert_string_equal(test_events, "rebind a, serve queue, ");
}

/* A target changed: what is in memory goes to the successor, which is granted the same. */
static void test_other_target(void **state)
{
    (void)state;
    start(HEAD "credentials:\n" PLAIN("a") PLAIN("b"));
    reload(HEAD "credentials:\n" OTHER("a") PLAIN("b"));
    assert_string_equal(test_events, "take a, close a, open a, give a, start a, rebind b, serve queue, ");
    assert_true(agent.workers[0]->saw_history);
}

/* The source changed: what is in memory would be another credential. */
static void test_other_source(void **state)
{
    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    reload(HEAD "credentials:\n" OTHER_TOKEN("a"));
    assert_string_equal(test_events, "close a, open a, start a, serve queue, ");
    assert_true(agent.workers[0]->saw_history);
}

static void test_one_that_cannot_start(void **state)
{
    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    test_fails_open = "b";
    reload(HEAD "credentials:\n" PLAIN("a") PLAIN("b") PLAIN("c"));
    assert_contains(test_log, "ERROR b: ");
    assert_contains(test_log, "out of memory");
    assert_int_equal(agent.count, 2);
    assert_string_equal(agent.workers[1]->config->name, "c");
    assert_null(cfr_daemon_worker(&agent, "b"));
    assert_non_null(cfr_daemon_worker(&agent, "c"));
}

static void test_refused(void **state)
{
    struct cfr_err err;

    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    is_refused("version: 1\nstate_dir: @/other\ncredentials:\n" PLAIN("a"), "state_dir cannot change");
    is_refused(HEAD "control_socket: @/c.sock\ncredentials:\n" PLAIN("a"), "control_socket cannot change");
    is_refused(HEAD "credentials: [", "");
    is_refused(HEAD "credentials:\n  - {name: a, token: {fil: @/token}}\n", "fil");
    is_refused(HEAD "credentials:\n" PLAIN("a") PLAIN("a"), "a");
    (void)unlink(agent.options.config_path);
    assert_int_not_equal(cfr_daemon_reload(&agent, &err), 0);
    assert_non_null(agent.config_error);
    forget();
    reload(HEAD "credentials:\n" PLAIN("a"));
    assert_string_equal(test_events, "rebind a, serve queue, ");
}

static void test_the_service_manager(void **state)
{
    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    reload(HEAD "credentials:\n" PLAIN("a"));
    assert_string_equal(test_notified, "");
    agent.announced = true;
    reload(HEAD "credentials:\n" PLAIN("a"));
    assert_int_equal(strncmp(test_notified, "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
    assert_contains(test_notified, "\nREADY=1\n");
    /* A refused one ends as well. */
    is_refused(HEAD "credentials: [", "");
    assert_contains(test_notified, "\nREADY=1\n");
}

static void test_the_health_address(void **state)
{
    struct cfr_httpd_server *first;

    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    reload(HEAD "listen: 127.0.0.1:0\ncredentials:\n" PLAIN("a"));
    first = agent.health;
    assert_non_null(first);
    /* The same address keeps its server. */
    reload(HEAD "listen: 127.0.0.1:0\ncredentials:\n" PLAIN("a"));
    assert_ptr_equal(agent.health, first);
    reload(HEAD "listen: \"[::1]:0\"\ncredentials:\n" PLAIN("a"));
    assert_non_null(agent.health);
    assert_int_equal(strncmp(cfr_httpd_address(agent.health), "[::1]:", 6), 0);
    reload(HEAD "credentials:\n" PLAIN("a"));
    assert_null(agent.health);
}

/* A taken address refuses all of the configuration. */
static void test_a_taken_address(void **state)
{
    struct cfr_httpd_server *other;
    struct cfr_err err;
    char text[1024];

    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    assert_int_equal(cfr_httpd_open_tcp("127.0.0.1:0", cfr_daemon_on_health, &agent, &other, &err), 0);
    (void)snprintf(text, sizeof text, HEAD "listen: %s\ncredentials:\n" PLAIN("a") PLAIN("b"),
                   cfr_httpd_address(other));
    is_refused(text, cfr_httpd_address(other));
    assert_null(agent.health);
    cfr_httpd_close(other);
    reload(text);
    assert_non_null(agent.health);
}

/* A process that was seen is waited for again only if another one is meant. */
static void test_the_process_that_the_agent_ends_with(void **state)
{
    (void)state;
    start(HEAD "exit_with: {pid_file: @/pid}\ncredentials:\n" PLAIN("a"));
    agent.exit_with.seen = true;
    reload(HEAD "exit_with: {pid_file: @/pid}\ncredentials:\n" PLAIN("a"));
    assert_true(agent.exit_with.seen);
    reload(HEAD "exit_with: {pid_file: @/pid2}\ncredentials:\n" PLAIN("a"));
    assert_false(agent.exit_with.seen);
}

static void test_endpoints(void **state)
{
    struct cfr_err err;

    (void)state;
    start(HEAD "credentials:\n" PLAIN("a"));
    assert_int_equal(cfr_daemon_endpoints_open(&agent, &agent.endpoints, &err), 0);
    reload(HEAD "token_socket: @/t.sock\ncredentials:\n"
                "  - {name: a, token: {file: @/token}, allow: {}}\n");
    assert_true(exists(in("t.sock")));
    assert_contains(test_log, "INFO credentials are served on ");
    is_refused(HEAD "token_socket: @/none/t.sock\ncredentials:\n"
                    "  - {name: a, token: {file: @/token}, allow: {}}\n",
               "token_socket");
    assert_true(exists(in("t.sock")));
    forget();
    reload(HEAD "credentials:\n" PLAIN("a"));
    assert_false(exists(in("t.sock")));
    assert_contains(test_log, "INFO nothing is served on ");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_changes),
        TEST(test_the_order_may_change),
        TEST(test_added_and_removed),
        TEST(test_other_hooks),
        TEST(test_other_target),
        TEST(test_other_source),
        TEST(test_one_that_cannot_start),
        TEST(test_refused),
        TEST(test_the_service_manager),
        TEST(test_the_health_address),
        TEST(test_a_taken_address),
        TEST(test_the_process_that_the_agent_ends_with),
        TEST(test_endpoints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
