/* SPDX-License-Identifier: MIT */
/* Unix sockets in directories that others write to. bind(2) is replaced by one that does at once what they would do. */
#include "agent/httpd/listener_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char dir[64];
static int swaps; /* bind replaces what it has made by a link to the victim */
static char victim[96];

static const char *in(const char *name)
{
    static char path[4][128];
    static unsigned next;
    char *out = path[next++ % 4];

    (void)snprintf(out, sizeof path[0], "%s/%s", dir, name);
    return out;
}

/* glibc and musl declare it with different types. */
int replaced_bind(int fd, const void *address, socklen_t n) __asm__("bind");

int replaced_bind(int fd, const void *address, socklen_t n)
{
    int rc = (int)syscall(SYS_bind, fd, address, n);

    if (rc == 0 && swaps != 0) {
        swaps = 0;
        if (unlink(in("soc~")) != 0 || symlink(victim, in("soc~")) != 0)
            return -1;
    }
    return rc;
}

static int set_up(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/credfresh-listener-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    (void)snprintf(victim, sizeof victim, "%s", in("victim"));
    fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 ? close(fd) : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"sock", "soc~", "victim"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(in(names[i]));
    return rmdir(dir);
}

static void a_link_in_place_of_the_socket_changes_nothing_elsewhere(void **state)
{
    struct cfr_httpd_socket s;
    struct cfr_err err = {0};
    struct stat st;

    (void)state;
    swaps = 1;
    assert_int_not_equal(cfr_httpd_listen_unix(in("sock"), 0666, 0, &s, &err), 0);
    assert_int_equal(swaps, 0);
    assert_int_equal(s.fd, -1);
    assert_non_null(strstr(err.text, "was replaced"));
    assert_int_equal(lstat(victim, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(lstat(in("sock"), &st), -1);
}

static void the_mode_is_exact_under_any_umask(void **state)
{
    static const mode_t modes[] = {0600, 0666};
    mode_t old = umask(0);

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct cfr_httpd_socket s;
        struct cfr_err err = {0};
        struct stat st;

        (void)umask(i < 2 ? 0077 : 0);
        assert_int_equal(cfr_httpd_listen_unix(in("sock"), modes[i % 2], 0, &s, &err), 0);
        assert_int_equal(umask(old), i < 2 ? 0077 : 0);
        assert_int_equal(lstat(in("sock"), &st), 0);
        assert_int_equal(st.st_mode, S_IFSOCK | modes[i % 2]);
        cfr_httpd_listen_end(&s);
    }
    (void)umask(old);
}

static void a_directory_that_others_can_write_is_refused(void **state)
{
    static const struct {
        mode_t mode;
        int code;
    } cases[] = {{0777, CFR_E_PERM}, {0770, CFR_E_PERM}, {01777, 0}, {0755, 0}, {0700, 0}};
    struct cfr_httpd_socket s;
    struct cfr_err err = {0};
    struct stat st;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(chmod(dir, cases[i].mode), 0);
        assert_int_equal(cfr_httpd_listen_unix(in("sock"), 0666, 0, &s, &err), cases[i].code);
        if (cases[i].code != 0) {
            assert_non_null(strstr(err.text, "can be written by"));
            assert_int_equal(lstat(in("sock"), &st), -1);
        }
        cfr_httpd_listen_end(&s);
    }
    if (geteuid() == 0) {
        assert_int_equal(chown(dir, 65534, 65534), 0);
        assert_int_equal(cfr_httpd_listen_unix(in("sock"), 0666, 0, &s, &err), CFR_E_PERM);
        assert_non_null(strstr(err.text, "belongs to uid 65534"));
        assert_int_equal(chown(dir, 0, 0), 0);
    }
}

static int read_option(int fd, int level, int name)
{
    int value = -1;
    socklen_t n = sizeof value;

    assert_int_equal(getsockopt(fd, level, name, &value, &n), 0);
    return value;
}

/* Of both families, because one socket serves both; the kernel gives accepted connections the same. */
static void answers_do_not_leave_the_link(void **state)
{
    struct cfr_httpd_socket s;

    (void)state;
    for (int reach = CFR_HTTPD_ANY; reach <= CFR_HTTPD_HERE; reach++) {
        assert_int_equal(cfr_httpd_listen_tcp(":0", (enum cfr_httpd_reach)reach, &s, NULL), 0);
        assert_int_equal(read_option(s.fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS) == 1, reach != CFR_HTTPD_ANY);
        assert_int_equal(read_option(s.fd, IPPROTO_IP, IP_TTL) == 1, reach != CFR_HTTPD_ANY);
        cfr_httpd_listen_end(&s);
        assert_int_equal(cfr_httpd_listen_tcp("0.0.0.0:0", (enum cfr_httpd_reach)reach, &s, NULL), 0);
        assert_int_equal(read_option(s.fd, IPPROTO_IP, IP_TTL) == 1, reach != CFR_HTTPD_ANY);
        cfr_httpd_listen_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_do_not_leave_the_link),
        cmocka_unit_test_setup_teardown(a_link_in_place_of_the_socket_changes_nothing_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_mode_is_exact_under_any_umask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_that_others_can_write_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
