/* SPDX-License-Identifier: MIT */
/* Listeners of the local endpoints: a plan is taken or dropped as a whole, and what is in both continues. */
#include "daemon_fixture.h"

#include "agent/daemon/listener_private.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD                                                                                                           \
    "version: 1\nstate_dir: @/state\ncredentials:\n"                                                                   \
    "  - {name: a, token: {file: @/token}, allow: {}, exchange: {aws: {role_arn: "                                     \
    "\"arn:aws:iam::123456789012:role/r\", "                                                                           \
    "region: us-east-1}}}\n"
#define SHAPE    "    aws_container: {credential: a, authorization: {file: @/auth}}\n"
#define AT(port) "endpoints:\n  - listen: 127.0.0.1:" port "\n"
#define SOCKET   "token_socket: @/t.sock\n"

static struct cfr_daemon agent;

static int begin(void **state)
{
    struct cfr_err err;

    if (scratch_make(state) != 0 || mkdir(in("state"), 0700) != 0)
        return -1;
    put(in("token"), "x");
    agent = (struct cfr_daemon){.config = load_text(HEAD)};
    agent.host.state_fd = open(in("state"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cfr_daemon_endpoints_open(&agent, &agent.endpoints, &err) == 0 ? begin_test(state) : -1;
}

static int end(void **state)
{
    cfr_daemon_endpoints_close(agent.endpoints);
    cfr_config_free(agent.config);
    (void)close(agent.host.state_fd);
    return scratch_remove(state);
}

/* Prepares the configuration TEXT, which becomes the agent's if it is taken. */
static int prepare(const char *text, struct cfr_config **next, struct cfr_endpoints_plan **plan, struct cfr_err *err)
{
    *next = load_text(text);
    /* Any port, which a configuration file may not say. */
    for (size_t i = 0; i < (*next)->endpoints.count; i++) {
        struct cfr_config_endpoint *c = cfr_config_endpoint_at(*next, i);

        free(c->listen);
        c->listen = strdup("127.0.0.1:0");
        assert_non_null(c->listen);
    }
    *err = (struct cfr_err){.code = 0};
    return cfr_daemon_endpoints_prepare(agent.endpoints, *next, plan, err);
}

static void take(const char *text)
{
    struct cfr_config *next;
    struct cfr_endpoints_plan *plan;
    struct cfr_err err;

    if (prepare(text, &next, &plan, &err) != 0)
        fail_msg("refused: %s", err.text);
    cfr_daemon_endpoints_take(agent.endpoints, plan);
    cfr_config_free(agent.config);
    agent.config = next;
}

static void is_refused(const char *text, int code, const char *why)
{
    struct cfr_config *next;
    struct cfr_endpoints_plan *plan;
    struct cfr_err err;

    assert_int_equal(prepare(text, &next, &plan, &err), code);
    assert_null(plan);
    assert_contains(err.text, why);
    cfr_config_free(next);
}

/* A connection to the token socket; -1 if nothing listens. */
static int connect_to_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", in("t.sock"));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void test_none(void **state)
{
    struct cfr_api_status_endpoint counter;

    (void)state;
    take(HEAD);
    assert_int_equal(agent.endpoints->count, 0);
    assert_false(cfr_daemon_endpoints_busy(agent.endpoints));
    assert_false(cfr_daemon_endpoints_count(agent.endpoints, 0, &counter));
}

static void test_one_continues(void **state)
{
    const struct cfr_daemon_listener *socket_before;
    int fd;

    (void)state;
    take(SOCKET HEAD);
    assert_int_equal(mode_of(in("t.sock")), 0666);
    socket_before = agent.endpoints->items[0];
    fd = connect_to_socket();
    assert_true(fd >= 0);
    run_loop();
    assert_true(cfr_daemon_endpoints_busy(agent.endpoints));
    forget();
    take(SOCKET HEAD AT("9911") SHAPE);
    assert_int_equal(agent.endpoints->count, 2);
    /* The endpoints come first. */
    assert_ptr_equal(agent.endpoints->items[1], socket_before);
    assert_ptr_equal(agent.endpoints->items[0]->config, cfr_config_endpoint_at(agent.config, 0));
    assert_null(agent.endpoints->items[1]->config);
    assert_contains(test_log, "INFO credentials are served on 127.0.0.1:0\n");
    assert_null(strstr(test_log, "t.sock"));
    /* The connection was not ended. */
    assert_int_equal(write(fd, "GET /v1/token/a HTTP/1.1\r\nHost: a\r\n\r\n", 38), 38);
    for (int i = 0; i < 100 && recv(fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) < 0; i++) {
        run_loop();
        (void)usleep(1000);
    }
    assert_int_equal(recv(fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT), 1);
    (void)close(fd);
    forget();
    take(HEAD AT("9911") SHAPE);
    assert_contains(test_log, "INFO nothing is served on ");
    assert_false(exists(in("t.sock")));
    assert_int_equal(agent.endpoints->count, 1);
}

/* The part of a plan that was opened is closed again when another part fails. */
static void test_a_plan_fails_as_a_whole(void **state)
{
    (void)state;
    take(HEAD);
    is_refused("token_socket: @/none/t.sock\n" HEAD AT("9911") SHAPE, CFR_E_MISSING, "token_socket: ");
    assert_int_equal(agent.endpoints->count, 0);
    assert_string_equal(test_log, "");
}

static void test_a_plan_is_dropped(void **state)
{
    const struct cfr_daemon_listener *before;
    struct cfr_config *next;
    struct cfr_endpoints_plan *plan;
    struct cfr_err err;

    (void)state;
    take(HEAD AT("9911") SHAPE);
    before = agent.endpoints->items[0];
    assert_int_equal(prepare(SOCKET HEAD AT("9911") "    from: [10.0.0.0/8]\n" SHAPE, &next, &plan, &err), 0);
    assert_true(exists(in("t.sock")));
    /* It must be able to answer others by the time the plan is taken. */
    assert_int_equal(before->reach, CFR_HTTPD_LINK);
    assert_int_equal(before->from_count, 0);
    cfr_daemon_endpoints_drop(agent.endpoints, plan);
    cfr_config_free(next);
    assert_false(exists(in("t.sock")));
    assert_int_equal(before->reach, CFR_HTTPD_HERE);
    assert_ptr_equal(agent.endpoints->items[0], before);
    cfr_daemon_endpoints_drop(agent.endpoints, NULL);
}

static void test_networks(void **state)
{
    const struct cfr_daemon_listener *l;

    (void)state;
    take(HEAD AT("9911") SHAPE);
    l = agent.endpoints->items[0];
    assert_int_equal(l->reach, CFR_HTTPD_HERE);
    take(HEAD AT("9911") "    from: [10.0.0.0/8, 192.0.2.0/24]\n" SHAPE);
    assert_ptr_equal(agent.endpoints->items[0], l);
    assert_int_equal(l->from_count, 2);
    assert_int_equal(l->reach, CFR_HTTPD_LINK);
    take(HEAD AT("9911") SHAPE);
    assert_int_equal(l->from_count, 0);
    assert_int_equal(l->reach, CFR_HTTPD_HERE);
}

/* A socket file that was removed leaves clients without it: a reload makes it again. */
static void test_a_removed_socket(void **state)
{
    const struct cfr_daemon_listener *before;

    (void)state;
    take(SOCKET HEAD);
    before = agent.endpoints->items[0];
    assert_int_equal(unlink(in("t.sock")), 0);
    forget();
    take(SOCKET HEAD);
    assert_true(exists(in("t.sock")));
    assert_ptr_not_equal(agent.endpoints->items[0], before);
    assert_contains(test_log, "INFO credentials are served on ");
    assert_null(strstr(test_log, "nothing is served"));
}

static void test_an_address_of_the_agent_itself(void **state)
{
    struct cfr_err err = {0};
    struct cfr_config *now = load_text("listen: 127.0.0.1:9080\n" HEAD AT("9911") SHAPE);

    (void)state;
    (void)cfr_err_set(&err, CFR_E_CONFLICT, "in use");
    assert_int_equal(cfr_daemon_endpoints_explain_taken(now, "0.0.0.0:9080", &err), CFR_E_CONFLICT);
    assert_contains(err.text, "cannot listen on 0.0.0.0:9080: the agent itself listens on 127.0.0.1:9080");
    (void)cfr_err_set(&err, CFR_E_CONFLICT, "in use");
    assert_int_equal(cfr_daemon_endpoints_explain_taken(now, ":9911", &err), CFR_E_CONFLICT);
    assert_contains(err.text, "the agent itself listens on 127.0.0.1:9911");
    (void)cfr_err_set(&err, CFR_E_CONFLICT, "in use");
    assert_int_equal(cfr_daemon_endpoints_explain_taken(now, "127.0.0.1:1", &err), CFR_E_CONFLICT);
    assert_string_equal(err.text, "in use");
    (void)cfr_err_set(&err, CFR_E_PERM, "not allowed");
    assert_int_equal(cfr_daemon_endpoints_explain_taken(now, ":9911", &err), CFR_E_PERM);
    assert_string_equal(err.text, "not allowed");
    cfr_config_free(now);
}

/* Clients that only wait must leave descriptors to renew credentials with. */
static void test_descriptors(void **state)
{
    const struct rlimit few = {100, 100};
    pid_t pid;
    int status;

    (void)state;
    pid = fork();
    if (pid == 0) {
        struct cfr_endpoints_plan *plan;
        struct cfr_err err = {0};
        struct cfr_config *next;

        if (setrlimit(RLIMIT_NOFILE, &few) != 0) /* as under valgrind */
            _exit(77);
        next = load_text(SOCKET HEAD AT("9911") SHAPE);
        CHILD_CHECK(cfr_daemon_endpoints_spare() == 16);
        CHILD_CHECK(cfr_daemon_endpoints_prepare(agent.endpoints, next, &plan, &err) == CFR_E_LIMIT);
        CHILD_CHECK(strstr(err.text, "the limit of open files is 100, and this configuration needs 112") != NULL);
        cfr_config_free(next);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static void test_counters(void **state)
{
    struct cfr_api_status_endpoint counter;
    struct cfr_daemon_listener *l;

    (void)state;
    take(SOCKET HEAD AT("9911") SHAPE);
    l = agent.endpoints->items[0];
    l->counts = calloc(2, sizeof *l->counts);
    l->count_count = 2;
    l->counts[0] = (struct cfr_daemon_listener_count){"aws_container", 200, 5};
    l->counts[1] = (struct cfr_daemon_listener_count){NULL, 0, 3};
    l = agent.endpoints->items[1];
    l->counts = calloc(1, sizeof *l->counts);
    l->count_count = 1;
    l->counts[0] = (struct cfr_daemon_listener_count){"token", 403, 7};
    assert_true(cfr_daemon_endpoints_count(agent.endpoints, 1, &counter));
    assert_string_equal(counter.endpoint, "127.0.0.1:0");
    assert_null(counter.shape);
    assert_int_equal(counter.requests, 3);
    assert_true(cfr_daemon_endpoints_count(agent.endpoints, 2, &counter));
    assert_string_equal(counter.endpoint, in("t.sock"));
    assert_string_equal(counter.shape, "token");
    assert_int_equal(counter.status, 403);
    assert_false(cfr_daemon_endpoints_count(agent.endpoints, 3, &counter));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_none),
        TEST(test_one_continues),
        TEST(test_a_plan_fails_as_a_whole),
        TEST(test_a_plan_is_dropped),
        TEST(test_networks),
        TEST(test_a_removed_socket),
        TEST(test_an_address_of_the_agent_itself),
        TEST(test_descriptors),
        TEST(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
