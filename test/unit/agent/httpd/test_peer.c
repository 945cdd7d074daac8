/* SPDX-License-Identifier: MIT */
/* Which peers are this machine. */
#include "agent/httpd/peer_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static struct cfr_httpd_origin origin_of(const char *address, bool loopback)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct cfr_httpd_origin o;

    if (inet_pton(AF_INET, address, &in4.sin_addr) == 1) {
        cfr_httpd_peer_origin((struct sockaddr *)&in4, loopback, &o);
    } else {
        assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
        cfr_httpd_peer_origin((struct sockaddr *)&in6, loopback, &o);
    }
    assert_string_equal(o.text, address);
    return o;
}

static void test_loopback_peers_are_here(void **state)
{
    static const char *const here[] = {"127.0.0.1", "127.9.8.7", "::1"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(origin_of(here[i], true).here);
        assert_true(origin_of(here[i], false).here);
    }
}

/* As a listener for IPv4 and IPv6 reports them. */
static void test_mapped_addresses_are_those_of_ipv4(void **state)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6};
    struct cfr_httpd_origin o;

    (void)state;
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &a.sin6_addr), 1);
    cfr_httpd_peer_origin((struct sockaddr *)&a, false, &o);
    assert_true(o.here);
    assert_int_equal(o.n, 4);
    assert_string_equal(o.text, "127.0.0.1");
}

static void test_foreign_peers_are_not(void **state)
{
    static const char *const there[] = {"192.0.2.1", "169.254.169.253", "2001:db8::1",    "fe80::1234:5678:9abc:def0",
                                        "::2",       "128.0.0.1",       "255.255.255.255"};

    (void)state;
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++) {
        assert_false(origin_of(there[i], true).here);
        if (origin_of(there[i], false).here)
            fail_msg("%s", there[i]);
    }
}

static void test_own_addresses_are_here_but_not_for_loopback(void **state)
{
    struct ifaddrs *all = NULL;
    struct cfr_httpd_origin o;

    (void)state;
    assert_int_equal(getifaddrs(&all), 0);
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr == NULL || (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6))
            continue;
        cfr_httpd_peer_origin(one->ifa_addr, false, &o);
        if (!o.here)
            fail_msg("%s", o.text);
        cfr_httpd_peer_origin(one->ifa_addr, true, &o);
        assert_int_equal(o.here, cfr_httpd_peer_is_loopback(one->ifa_addr));
    }
    freeifaddrs(all);
}

static void test_no_address_is_not_here(void **state)
{
    struct cfr_httpd_origin o;

    (void)state;
    cfr_httpd_peer_origin(NULL, false, &o);
    assert_false(o.here);
    assert_int_equal(o.n, 0);
    cfr_httpd_peer_origin(&(struct sockaddr){.sa_family = AF_UNIX}, false, &o);
    assert_false(o.here);
}

/* A connection of this process: FDS[0] is the accepted end. */
static void connect_here(int family, int fds[2], struct sockaddr_storage *peer)
{
    struct sockaddr_storage a = {.ss_family = (sa_family_t)family};
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t n = family == AF_INET ? sizeof in4 : sizeof in6;
    int listening = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (family == AF_INET)
        memcpy(&a, &in4, n);
    else
        memcpy(&a, &in6, n);
    assert_int_equal(bind(listening, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&a, &n), 0);
    fds[1] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fds[1], (struct sockaddr *)&a, n), 0);
    n = sizeof *peer;
    fds[0] = accept4(listening, (struct sockaddr *)peer, &n, SOCK_CLOEXEC);
    assert_true(fds[0] >= 0);
    assert_int_equal(close(listening), 0);
}

static void test_the_user_of_a_peer(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct sockaddr_storage peer;
    uint32_t uid = 0;
    int diag_fd = -1;
    int fds[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        connect_here(families[i], fds, &peer);
        /* As another user: the socket is its creator's, whoever uses it. */
        assert_int_equal(fchown(fds[1], 4242, (gid_t)-1), geteuid() == 0 ? 0 : -1);
        assert_true(cfr_httpd_peer_user(&diag_fd, fds[0], (struct sockaddr *)&peer, &uid));
        assert_int_equal(uid, geteuid() == 0 ? 4242 : geteuid());
        /* What is closed is root's for the kernel. */
        assert_int_equal(close(fds[1]), 0);
        assert_false(cfr_httpd_peer_user(&diag_fd, fds[0], (struct sockaddr *)&peer, &uid));
        assert_int_equal(close(fds[0]), 0);
    }
    assert_int_equal(close(diag_fd), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_true(cfr_httpd_peer_user(&diag_fd, fds[0], NULL, &uid));
    assert_int_equal(uid, geteuid());
    assert_int_equal(close(fds[0]) + close(fds[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_user_of_a_peer),
        cmocka_unit_test(test_loopback_peers_are_here),
        cmocka_unit_test(test_mapped_addresses_are_those_of_ipv4),
        cmocka_unit_test(test_foreign_peers_are_not),
        cmocka_unit_test(test_own_addresses_are_here_but_not_for_loopback),
        cmocka_unit_test(test_no_address_is_not_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
