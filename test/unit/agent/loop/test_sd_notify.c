/* SPDX-License-Identifier: MIT */
/* Messages to the service manager: the words of others make no assignment of their own. */
#include "unit.h"

#include "agent/loop/sd_notify.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char got[2048];
static int manager;

static int open_manager(void **state)
{
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    socklen_t n = sizeof here;
    char name[32];

    (void)state;
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    /* The kernel chooses an abstract address. */
    if (manager < 0 || bind(manager, (const struct sockaddr *)&here, sizeof here.sun_family) != 0 ||
        getsockname(manager, (struct sockaddr *)&here, &n) != 0)
        return -1;
    (void)snprintf(name, sizeof name, "@%.*s", (int)(n - sizeof here.sun_family - 1), here.sun_path + 1);
    return setenv("NOTIFY_SOCKET", name, 1);
}

static int close_manager(void **state)
{
    (void)state;
    return close(manager);
}

static const char *receive(void)
{
    ssize_t n = recv(manager, got, sizeof got - 1, MSG_DONTWAIT);

    assert_true(n > 0);
    got[n] = '\0';
    return got;
}

static void a_status_is_one_assignment(void **state)
{
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"a: refused\nREADY=1", "STATUS=a: refused?READY=1"},
        {"a\r\nSTOPPING=1\n", "STATUS=a??STOPPING=1?"},
        {"\x1b[31mred\x7f\x01", "STATUS=?[31mred??"},
        {"line\xe2\x80\xa8separator, Z\xc3\xbcrich", "STATUS=line???separator, Z\xc3\xbcrich"},
        {"", "STATUS="},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        cfr_sd_notify_status(false, "%s", cases[i].text);
        assert_string_equal(receive(), cases[i].expected);
    }
    cfr_sd_notify_status(true, "2 credentials\nSTOPPING=1");
    assert_string_equal(receive(), "READY=1\nSTATUS=2 credentials?STOPPING=1");
}

static void a_long_status_is_cut(void **state)
{
    char text[4000];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cfr_sd_notify_status(true, "%s", text);
    assert_true(strlen(receive()) < 1024);
    assert_int_equal(strncmp(got, "READY=1\nSTATUS=xxx", 18), 0);
}

static void other_messages_are_sent_as_they_are(void **state)
{
    (void)state;
    cfr_sd_notify("RELOADING=1\nMONOTONIC_USEC=%d", 5);
    assert_string_equal(receive(), "RELOADING=1\nMONOTONIC_USEC=5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_is_one_assignment),
        cmocka_unit_test(a_long_status_is_cut),
        cmocka_unit_test(other_messages_are_sent_as_they_are),
    };

    return cmocka_run_group_tests(tests, open_manager, close_manager);
}
