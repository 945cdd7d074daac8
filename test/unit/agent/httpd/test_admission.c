/* SPDX-License-Identifier: MIT */
/* Which of the waiting clients are accepted where there is not enough room for all. */
#include "unit.h"

#include "agent/httpd/admission_private.h"

#include <arpa/inet.h>
#include <unistd.h>

#define CLIENTS 9

static struct cfr_httpd_group flood;
static struct cfr_httpd_group quiet;
static struct cfr_httpd_group *group_of_client[CLIENTS];
static in_port_t port_of_client[CLIENTS];

/* Client *CTX is the only one that asks. */
static struct cfr_httpd_group *group_of(void *ctx, struct cfr_httpd_newcomer *client)
{
    const size_t *asking = ctx;

    for (size_t i = 0; i < CLIENTS; i++) {
        client->asks = i == *asking;
        if (port_of_client[i] == client->address.in4.sin_port)
            return group_of_client[i];
    }
    return NULL;
}

/* Client AT is OURS, the others are of the flood; it comes before, among or after them. It remains. */
static void check_room_for(size_t at, struct cfr_httpd_group *ours)
{
    static struct cfr_httpd_newcomers out;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int clients[CLIENTS];
    size_t asking = ours == &flood ? at : CLIENTS; /* where the group tells, none asks */
    bool found = false;

    flood.newcomers = 0;
    quiet.newcomers = 0;
    assert_int_equal(bind(listen_fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(listen(listen_fd, CLIENTS), 0);
    assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&address, &n), 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        struct sockaddr_in own;

        clients[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(clients[i], (struct sockaddr *)&address, sizeof address), 0);
        n = sizeof own;
        assert_int_equal(getsockname(clients[i], (struct sockaddr *)&own, &n), 0);
        port_of_client[i] = own.sin_port;
        group_of_client[i] = i == at ? ours : &flood;
    }
    assert_int_equal(cfr_httpd_admission_collect(listen_fd, 3, group_of, &asking, &out), 0);
    assert_int_equal(out.count, 3);
    assert_int_equal(quiet.newcomers, ours == &quiet);
    assert_int_equal(quiet.newcomers + flood.newcomers, 3);
    for (size_t i = 0; i < out.count; i++)
        found = found || out.items[i].address.in4.sin_port == port_of_client[at];
    assert_true(found);
    for (size_t i = 0; i < out.count; i++)
        (void)close(out.items[i].fd);
    for (size_t i = 0; i < CLIENTS; i++)
        (void)close(clients[i]);
    (void)close(listen_fd);
}

static void a_flood_leaves_room_for_another_client(void **state)
{
    (void)state;
    for (size_t at = 0; at < CLIENTS; at += 4)
        check_room_for(at, &quiet);
}

static void who_asks_stays_among_those_who_do_not(void **state)
{
    (void)state;
    for (size_t at = 0; at < CLIENTS; at += 4)
        check_room_for(at, &flood);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_leaves_room_for_another_client),
        cmocka_unit_test(who_asks_stays_among_those_who_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
