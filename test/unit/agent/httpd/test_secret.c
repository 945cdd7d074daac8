/* SPDX-License-Identifier: MIT */
/* The HTTP server engine with secret answers: requests, and which connections make room for others. */
#include "unit.h"

#include "agent/httpd/server.h"

#include "agent/loop/clock.h"
#include "agent/loop/loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TRIES 2000
#define ROOM  4U

struct seen {
    int calls;
    char query[64];
    char twice[16];
    bool twice_there;
    bool absent;
    char proof[16];
    char peer[64];
    bool known;
};

static void keep(char *to, size_t cap, struct cfr_view v)
{
    assert_true(v.n < cap);
    if (v.n != 0)
        memcpy(to, v.p, v.n);
    to[v.n] = '\0';
}

static bool on_secret(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_sdk_endpoint_request *r,
                      struct cfr_sdk_endpoint_answer *out)
{
    struct seen *s = ctx;
    struct cfr_view twice = r->header(r->header_ctx, "X-Twice");

    if (!cfr_view_is(r->path, "/secret"))
        return false;
    s->calls++;
    keep(s->query, sizeof s->query, r->query);
    keep(s->twice, sizeof s->twice, twice);
    s->twice_there = twice.p != NULL;
    s->absent = r->header(r->header_ctx, "X-Absent").p == NULL;
    keep(s->proof, sizeof s->proof, r->header(r->header_ctx, "authorization"));
    keep(s->peer, sizeof s->peer, cfr_view_of(peer->text));
    s->known = peer->known;
    cfr_sdk_endpoint_start(out, 200, "text/plain");
    out->headers[out->header_count++] = (struct cfr_sdk_endpoint_header){"X-More", "yes"};
    cfr_sdk_endpoint_text(out, "keys");
    return true;
}

static void on_rest(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                    struct cfr_httpd_response *response)
{
    (void)ctx;
    (void)peer;
    (void)request;
    *response = (struct cfr_httpd_response){.status = 200, .content_type = "text/plain", .body = {.limit = 16}};
    cfr_str_addz(&response->body, "rest");
}

static struct cfr_httpd_server *serve(struct seen *seen, cfr_httpd_fn *fn)
{
    const struct cfr_httpd_options options = {
        .secret = on_secret, .fn = fn, .ctx = seen, .connections = ROOM, .no_body = true};
    struct cfr_httpd_server *s;
    struct cfr_err err = {0};

    if (cfr_httpd_open("127.0.0.1:0", false, &options, &s, &err) != 0)
        fail_msg("%s", err.text);
    return s;
}

static int dial(const struct cfr_httpd_server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_port = htons((uint16_t)atoi(strrchr(cfr_httpd_address(s), ':') + 1));
    assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&a, sizeof a), 0);
    return fd;
}

static void turn(void)
{
    struct pollfd *fds;
    size_t count = cfr_loop_prepare(&fds);

    assert_true(poll(fds, count, 0) >= 0);
    cfr_loop_run(cfr_clock_now().boot_ms);
}

/* Runs the loop until FD has something to read (or its end has come), then reads it all. */
static size_t hear(int fd, char *to, size_t cap)
{
    struct pollfd p = {fd, POLLIN, 0};
    ssize_t n;

    for (int i = 0; i < TRIES && poll(&p, 1, 10) == 0; i++)
        turn();
    n = recv(fd, to, cap - 1, MSG_DONTWAIT);
    assert_true(n >= 0);
    to[n] = '\0';
    return (size_t)n;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void test_what_a_request_carries(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = serve(&seen, on_rest);
    char text[1024];
    int fd = dial(s);

    (void)state;
    say(fd, "GET /secret?a=b+c%20d&e HTTP/1.1\r\nHost: h\r\nX-Twice: 1\r\nX-Twice: 2\r\nAuthorization: proof\r\n\r\n");
    (void)hear(fd, text, sizeof text);
    assert_non_null(strstr(text, "200 OK"));
    assert_non_null(strstr(text, "X-More: yes\r\n"));
    assert_non_null(strstr(text, "Cache-Control: no-store\r\n"));
    assert_non_null(strstr(text, "\r\n\r\nkeys"));
    assert_string_equal(seen.query, "a=b+c%20d&e");
    assert_true(seen.twice_there && seen.absent && !seen.known);
    assert_string_equal(seen.twice, "");
    assert_string_equal(seen.proof, "proof");
    assert_string_equal(seen.peer, "127.0.0.1");
    /* What is not for that function goes to the other one, on the same connection. */
    say(fd, "GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)hear(fd, text, sizeof text);
    assert_non_null(strstr(text, "\r\n\r\nrest"));
    say(fd, "GET /secret HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
    (void)hear(fd, text, sizeof text);
    assert_non_null(strstr(text, " 413 "));
    assert_int_equal(seen.calls, 1);
    (void)close(fd);
    cfr_httpd_close(s);
}

static void test_who_asks_nothing_makes_room(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = serve(&seen, NULL);
    int idle[ROOM * 8];
    char text[1024];
    int fd;

    (void)state;
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        idle[i] = dial(s);
        turn();
    }
    fd = dial(s);
    say(fd, "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)hear(fd, text, sizeof text);
    assert_non_null(strstr(text, "\r\n\r\nkeys"));
    /* The first has been told to go, the last has not. */
    assert_int_equal(hear(idle[0], text, sizeof text), 0);
    assert_int_equal(recv(idle[sizeof idle / sizeof idle[0] - 1], text, sizeof text, MSG_DONTWAIT), -1);
    /* Nor has who asks again and again, while others come. */
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        (void)close(idle[i]);
        idle[i] = dial(s);
        turn();
        say(fd, "GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
        (void)hear(fd, text, sizeof text);
        assert_non_null(strstr(text, " 404 "));
    }
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
        (void)close(idle[i]);
    (void)close(fd);
    cfr_httpd_close(s);
}

static void test_a_unix_socket_for_everybody(void **state)
{
    struct seen seen = {0};
    const struct cfr_httpd_options options = {.secret = on_secret, .ctx = &seen, .mode = 0666};
    char dir[] = "/tmp/cfr-secret-XXXXXX";
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct cfr_httpd_server *s;
    char text[1024];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s/s", dir);
    assert_int_equal(cfr_httpd_open(a.sun_path, true, &options, &s, NULL), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&a, sizeof a), 0);
    say(fd, "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)hear(fd, text, sizeof text);
    assert_non_null(strstr(text, "\r\n\r\nkeys"));
    assert_true(seen.known);
    (void)snprintf(text, sizeof text, "uid %u", (unsigned)getuid());
    assert_string_equal(seen.peer, text);
    (void)close(fd);
    cfr_httpd_close(s);
    assert_int_equal(rmdir(dir), 0);
}

/* A connection that is in the queue when the server stops listening is accepted and answered; a later one is refused.
 */
static void test_it_stops_listening(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = serve(&seen, on_rest);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char text[1024];
    int queued = dial(s);
    int late = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    assert_false(cfr_httpd_is_busy(s));
    cfr_httpd_quiesce(s);
    cfr_httpd_quiesce(s);
    assert_true(cfr_httpd_is_busy(s));
    a.sin_port = htons((uint16_t)atoi(strrchr(cfr_httpd_address(s), ':') + 1));
    assert_int_equal(connect(late, (const struct sockaddr *)(const void *)&a, sizeof a), -1);
    assert_int_equal(errno, ECONNREFUSED);
    say(queued, "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n");
    (void)hear(queued, text, sizeof text);
    assert_non_null(strstr(text, "200 OK"));
    assert_non_null(strstr(text, "Connection: close"));
    for (int i = 0; i < TRIES && cfr_httpd_is_busy(s); i++)
        turn();
    assert_false(cfr_httpd_is_busy(s));
    (void)close(late);
    (void)close(queued);
    cfr_httpd_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_request_carries),
        cmocka_unit_test(test_it_stops_listening),
        cmocka_unit_test(test_who_asks_nothing_makes_room),
        cmocka_unit_test(test_a_unix_socket_for_everybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
