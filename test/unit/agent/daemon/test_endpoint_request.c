/* SPDX-License-Identifier: MIT */
/* One request on a listener: which peers may have which token, which shape answers, what is counted and logged. */
#include "daemon_fixture.h"

#include "agent/daemon/listener_private.h"
#include "serve_ask.h"

#include <arpa/inet.h>
#include <unistd.h>

static char *const names[] = {(char[]){"a"}, (char[]){"b"}, (char[]){"hidden"}};
static char where[] = "/run/t.sock";
static struct cfr_daemon agent;
static struct cfr_daemon_endpoints endpoints;
static struct cfr_daemon_listener listener;
static struct cfr_sdk_endpoint_answer answer;
static struct cfr_grant grant;
static struct cfr_config_allow nobody_else;
static struct cfr_config_allow some;
static char *users[] = {(char[]){"1234"}};
static char *groups[] = {(char[]){"77"}};

static int begin(void **state)
{
    agent = agent_with(names, 3);
    endpoints = (struct cfr_daemon_endpoints){.agent = &agent};
    listener = (struct cfr_daemon_listener){.endpoints = &endpoints, .where = where};
    some = (struct cfr_config_allow){.users = {users, 1}, .groups = {groups, 1}};
    test_credentials[0].allow = &nobody_else;
    test_credentials[1].allow = &some;
    if (cfr_grant_set(&grant, "access_token", cfr_view_of("secret-token"), NULL) != 0)
        return -1;
    grant.expires_s = INT64_C(1767326645) + 3600;
    for (size_t i = 0; i < 3; i++)
        test_workers[i].grant = &grant;
    return begin_test(state);
}

static int end(void **state)
{
    (void)state;
    cfr_sdk_endpoint_answer_free(&answer);
    cfr_grant_free(&grant);
    free(listener.counts);
    return 0;
}

static struct cfr_httpd_peer peer_of(uid_t uid, gid_t gid)
{
    return (struct cfr_httpd_peer){.known = true, .uid = uid, .gid = gid, .text = "uid 1"};
}

static int ask_token(const struct cfr_httpd_peer *peer, const char *line)
{
    const struct cfr_sdk_endpoint_request request = ask_request(line, "Host: localhost\n");

    cfr_sdk_endpoint_answer_free(&answer);
    answer = (struct cfr_sdk_endpoint_answer){.status = 0};
    assert_true(cfr_daemon_listener_on_token(&listener, peer, &request, &answer));
    return answer.status;
}

static void test_who_may_have_a_token(void **state)
{
    const struct cfr_httpd_peer root = peer_of(0, 0);
    const struct cfr_httpd_peer own = peer_of(geteuid(), 99999);
    const struct cfr_httpd_peer other = peer_of(4321, 4321);
    const struct cfr_httpd_peer user = peer_of(1234, 4321);
    const struct cfr_httpd_peer group = peer_of(4321, 77);
    const struct cfr_httpd_peer unknown = {.uid = 1234, .text = "unknown"};
    struct cfr_httpd_peer member = peer_of(4321, 4321);

    (void)state;
    member.groups[0] = 5;
    member.groups[1] = 77;
    member.group_count = 2;
    assert_int_equal(ask_token(&root, "GET /v1/token/a"), 200);
    assert_contains(ask_body(&answer), "secret-token");
    assert_int_equal(ask_token(&own, "GET /v1/token/a"), 200);
    assert_int_equal(ask_token(&other, "GET /v1/token/a"), 403);
    assert_int_equal(ask_token(&user, "GET /v1/token/a"), 403);
    assert_int_equal(ask_token(&user, "GET /v1/token/b"), 200);
    assert_int_equal(ask_token(&group, "GET /v1/token/b"), 200);
    assert_int_equal(ask_token(&member, "GET /v1/token/b"), 200);
    assert_int_equal(ask_token(&other, "GET /v1/token/b"), 403);
    assert_null(strstr(ask_body(&answer), "secret-token"));
    assert_int_equal(ask_token(&unknown, "GET /v1/token/b"), 403);
}

/* Root may not have what has no `allow` either, and the answer does not say whether it exists. */
static void test_what_is_not_served(void **state)
{
    const struct cfr_httpd_peer root = peer_of(0, 0);
    char hidden[512];

    (void)state;
    assert_int_equal(ask_token(&root, "GET /v1/token/hidden"), 403);
    (void)snprintf(hidden, sizeof hidden, "%s", ask_body(&answer));
    assert_int_equal(ask_token(&root, "GET /v1/token/none"), 403);
    assert_string_equal(ask_body(&answer), hidden);
    assert_int_equal(
        ask_token(&root, "GET /v1/token/a-name-that-is-longer-than-the-name-of-any-credential-may-be-0123456789"), 403);
    assert_int_equal(ask_token(&root, "GET /v1/token/"), 403);
    assert_int_equal(ask_token(&root, "GET /v1/credentials"), 404);
    assert_int_equal(ask_token(&root, "GET /v1/token/a/b"), 403);
}

static void test_counts(void **state)
{
    const struct cfr_httpd_peer root = peer_of(0, 0);
    const struct cfr_httpd_peer other = peer_of(4321, 4321);

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask_token(&root, "GET /v1/token/a"), 200);
    assert_int_equal(ask_token(&other, "GET /v1/token/a"), 403);
    assert_int_equal(listener.count_count, 2);
    assert_string_equal(listener.counts[0].shape, "token");
    assert_int_equal(listener.counts[0].status, 200);
    assert_int_equal(listener.counts[0].requests, 3);
    assert_int_equal(listener.counts[1].status, 403);
    assert_int_equal(listener.counts[1].requests, 1);
}

/* A client that is refused may ask often: each kind is logged once. */
static void test_refusals_are_logged_once(void **state)
{
    const struct cfr_httpd_peer other = peer_of(4321, 4321);

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask_token(&other, "GET /v1/token/a"), 403);
    assert_string_equal(test_log, "WARN /run/t.sock (token): refused a request of uid 1 with 403: there is no such "
                                  "credential, or its user may not have it; more of the kind are only counted\n");
    forget();
    assert_int_equal(ask_token(&other, "GET /elsewhere"), 404);
    assert_contains(test_log, "with 404: nothing is at its path");
    forget();
    assert_int_equal(ask_token(&other, "GET /elsewhere"), 404);
    assert_string_equal(test_log, "");
}

/* On the control socket, which only root and the agent's own user may use, all tokens can be had. */
static void test_the_control_socket(void **state)
{
    const struct cfr_httpd_peer root = peer_of(0, 0);
    const struct cfr_httpd_peer user = peer_of(geteuid() == 1234 ? 1235 : 1234, 1234);
    struct cfr_sdk_endpoint_request request = ask_request("GET /v1/token/hidden", "");

    (void)state;
    assert_false(cfr_daemon_endpoints_on_control(&agent, &user, &request, &answer));
    assert_true(cfr_daemon_endpoints_on_control(&agent, &root, &request, &answer));
    assert_int_equal(answer.status, 200);
    assert_contains(ask_body(&answer), "secret-token");
    cfr_sdk_endpoint_answer_free(&answer);
    answer = (struct cfr_sdk_endpoint_answer){.status = 0};
    request = ask_request("GET /v1/credentials", "");
    assert_false(cfr_daemon_endpoints_on_control(&agent, &root, &request, &answer));
}

/* ---- connections ---- */

static bool accepts(const char *address, bool here)
{
    struct cfr_httpd_origin o = {.n = 4, .here = here};

    assert_int_equal(inet_pton(AF_INET, address, o.address), 1);
    (void)snprintf(o.text, sizeof o.text, "%s", address);
    return cfr_daemon_listener_accepts(&listener, &o);
}

static void test_connections(void **state)
{
    (void)state;
    assert_true(accepts("127.0.0.1", true));
    assert_int_equal(listener.count_count, 0);
    assert_false(accepts("10.1.2.3", false));
    assert_contains(test_log, "refused a connection from 10.1.2.3, which is not this machine; more of");
    assert_null(listener.counts[0].shape);
    assert_int_equal(listener.counts[0].requests, 1);
    assert_int_equal(cfr_cidr_parse("10.1.0.0/16", &listener.from[0], NULL), 0);
    listener.from_count = 1;
    assert_true(accepts("10.1.2.3", false));
    assert_false(accepts("10.2.2.3", false));
    assert_contains(test_log, "10.2.2.3, which is not this machine and not in `from`; more of");
    assert_int_equal(listener.counts[0].requests, 2);
}

/* A scan must not fill the log. */
static void test_a_scan(void **state)
{
    char address[32];
    size_t lines = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(address, sizeof address, "10.1.2.%d", i);
        assert_false(accepts(address, false));
        assert_false(accepts(address, false));
    }
    for (const char *at = strchr(test_log, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        lines++;
    assert_int_equal(lines, CFR_DAEMON_LISTENER_PEERS_MAX);
    assert_int_equal(listener.counts[0].requests, 200);
    forget();
    pass_ms(3600000);
    assert_false(accepts("10.1.2.1", false));
    assert_string_equal(test_log, "");
    pass_ms(1);
    assert_false(accepts("10.1.2.1", false));
    assert_contains(test_log, "refused a connection from 10.1.2.1");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_who_may_have_a_token),
        TEST(test_what_is_not_served),
        TEST(test_counts),
        TEST(test_refusals_are_logged_once),
        TEST(test_the_control_socket),
        TEST(test_connections),
        TEST(test_a_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
