/* SPDX-License-Identifier: MIT */
/* The HTTP server engine, tested byte by byte over real sockets. */
#include "agent/httpd/server.h"

#include "agent/loop/clock.h"
#include "agent/loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 20000

struct seen {
    int calls;
    struct cfr_httpd_peer peer;
    char method[16];
    char path[256];
    char query[256];
    char host[64];
    size_t body_n;
    char body[CFR_API_ROUTES_BODY_MAX + 1];
};

static void keep(char *to, size_t cap, struct cfr_view v)
{
    assert_true(v.n < cap);
    if (v.n != 0)
        memcpy(to, v.p, v.n);
    to[v.n] = '\0';
}

static void on_request(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                       struct cfr_httpd_response *response)
{
    struct seen *s = ctx;

    s->calls++;
    s->peer = *peer;
    keep(s->method, sizeof s->method, request->method);
    keep(s->path, sizeof s->path, request->path);
    keep(s->query, sizeof s->query, request->query);
    keep(s->host, sizeof s->host, request->host);
    keep(s->body, sizeof s->body, request->body);
    s->body_n = request->body.n;
    *response = (struct cfr_httpd_response){.status = 200, .content_type = "text/plain", .body = {.limit = 1 << 20}};
    if (cfr_view_is(request->path, "/empty"))
        response->status = 204;
    else if (cfr_view_is(request->path, "/large"))
        for (int i = 0; i < 100000; i++)
            cfr_str_addz(&response->body, "line 12345");
    else
        cfr_str_addz(&response->body, "hello\n");
    if (cfr_view_is(request->path, "/allow"))
        response->allow = "GET, HEAD";
}

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits up to MS for the servers or FD. Returns how many are ready. */
static int wait_for(int fd, short events, int64_t ms)
{
    struct pollfd fds[9] = {{.fd = fd, .events = events}};
    struct pollfd *own;
    size_t count = cfr_loop_prepare(&own);
    int n;

    assert_true(count <= 8);
    memcpy(fds + 1, own, count * sizeof *own);
    n = poll(fds, count + 1, (int)ms);
    assert_true(n >= 0);
    memcpy(own, fds + 1, count * sizeof *own);
    return n;
}

/* One round of a loop as the agent has it: waits for the servers or FD, then runs what is due. */
static void turn(int fd, short events)
{
    int64_t ms = cfr_loop_next() - cfr_clock_now().boot_ms;

    (void)wait_for(fd, events, ms > 100 ? 100 : ms > 0 ? ms : 0);
    cfr_loop_run(cfr_clock_now().boot_ms);
}

static int tcp_client(const struct cfr_httpd_server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const char *colon = strrchr(cfr_httpd_address(s), ':');
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_non_null(colon);
    a.sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10));
    assert_true(connect(fd, (struct sockaddr *)&a, sizeof a) == 0 || errno == EINPROGRESS);
    return fd;
}

static struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    assert_true(strlen(path) < sizeof a.sun_path);
    (void)strcpy(a.sun_path, path);
    return a;
}

static int unix_client(const char *path)
{
    struct sockaddr_un a = unix_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void put(int fd, const char *bytes, size_t n)
{
    int64_t end = now_ms() + LIMIT_MS;

    while (n != 0) {
        ssize_t k = send(fd, bytes, n, MSG_NOSIGNAL);

        if (k < 0 && (errno == EPIPE || errno == ECONNRESET))
            return;
        assert_true(now_ms() < end);
        if (k < 0) {
            assert_true(errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS);
            turn(fd, POLLOUT);
            continue;
        }
        bytes += k;
        n -= (size_t)k;
    }
}

static char answer[1 << 21];

/* Reads until the server closes. Returns how much came. */
static size_t get_all(int fd)
{
    int64_t end = now_ms() + LIMIT_MS;
    size_t n = 0;

    for (;;) {
        ssize_t k = recv(fd, answer + n, sizeof answer - n - 1, 0);

        if (k == 0 || (k < 0 && errno != EAGAIN))
            break;
        if (now_ms() > end)
            fail_msg("the server does not close");
        if (k < 0)
            turn(fd, POLLIN);
        else
            n += (size_t)k;
    }
    answer[n] = '\0';
    (void)close(fd);
    return n;
}

static size_t ask(int fd, const char *request)
{
    put(fd, request, strlen(request));
    return get_all(fd);
}

static void assert_has(const char *part)
{
    if (strstr(answer, part) == NULL)
        fail_msg("\"%s\" is not in: %.500s", part, answer);
}

static struct cfr_httpd_server *open_tcp(struct seen *seen)
{
    struct cfr_httpd_server *s;
    struct cfr_err err = {0};

    if (cfr_httpd_open_tcp("127.0.0.1:0", on_request, seen, &s, &err) != 0)
        fail_msg("%s", err.text);
    return s;
}

static void test_passes_requests_on(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);

    (void)state;
    (void)ask(tcp_client(s), "GET /a%2Fb/c?verbose&x=%20y HTTP/1.1\r\nHost: me:1\r\nConnection: close\r\n\r\n");
    assert_has("HTTP/1.1 200 OK\r\n");
    assert_has("Content-Type: text/plain\r\n");
    assert_has("Cache-Control: no-store\r\n");
    assert_has("X-Content-Type-Options: nosniff\r\n");
    assert_has("\r\n\r\nhello\n");
    assert_null(strstr(answer, "Allow:"));
    assert_string_equal(seen.method, "GET");
    assert_string_equal(seen.path, "/a%2Fb/c");
    assert_string_equal(seen.query, "verbose&x=%20y");
    assert_string_equal(seen.host, "me:1");
    assert_false(seen.peer.known);
    assert_int_equal(seen.body_n, 0);
    (void)ask(tcp_client(s), "HEAD /allow HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    assert_string_equal(seen.method, "HEAD");
    assert_has("Allow: GET, HEAD\r\n");
    assert_has("Content-Length: 6\r\n");
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
    (void)ask(tcp_client(s), "DELETE /empty HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    assert_string_equal(seen.method, "DELETE");
    assert_has("HTTP/1.1 204 ");
    cfr_httpd_close(s);
}

static void test_large_answers_and_kept_connections(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);

    (void)state;
    assert_true(ask(tcp_client(s),
                    "GET /large HTTP/1.1\r\nHost: me\r\n\r\nGET /second HTTP/1.1\r\nHost: me\r\nConnection: "
                    "close\r\n\r\n") > 1000000);
    assert_has("Content-Length: 1000000\r\n");
    assert_int_equal(seen.calls, 2);
    assert_string_equal(seen.path, "/second");
    cfr_httpd_close(s);
}

static void test_bodies(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);

    (void)state;
    (void)ask(tcp_client(s), "POST /p HTTP/1.1\r\nHost: me\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    assert_string_equal(seen.body, "hello");
    (void)ask(tcp_client(s), "POST /p HTTP/1.1\r\nHost: me\r\nContent-Length: 4097\r\n\r\n");
    assert_has("HTTP/1.1 413 ");
    assert_has("\"code\":\"too-large\"");
    (void)ask(tcp_client(s), "POST /p HTTP/1.1\r\nHost: me\r\nContent-Length: 99999999999999999999\r\n\r\n");
    assert_has("HTTP/1.1 4");
    /* Neither read to its end nor as far as it is well-formed. */
    (void)ask(tcp_client(s), "POST /p HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n"
                             "GET /next HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    assert_has("HTTP/1.1 400 ");
    assert_null(strstr(answer, "200 OK"));
    assert_int_equal(seen.calls, 1);
    cfr_httpd_close(s);
}

static void test_malformed_requests(void **state)
{
    static const char *const requests[] = {"nonsense\r\n\r\n",
                                           "GET\r\n\r\n",
                                           "GET / HTTP/9.9\r\n\r\n",
                                           "GET / HTTP/1.1\r\n\r\n",
                                           "POST / HTTP/1.1\r\nHost: me\r\nContent-Length: -5\r\n\r\n",
                                           "POST / HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"};
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);
    static char big[40000];

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        int fd = tcp_client(s);

        put(fd, requests[i], strlen(requests[i]));
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        (void)get_all(fd);
        assert_null(strstr(answer, "hello"));
    }
    (void)snprintf(big, sizeof big, "GET / HTTP/1.1\r\nHost: me\r\nX: %030000d\r\n\r\n", 0);
    (void)ask(tcp_client(s), big);
    assert_null(strstr(answer, "hello"));
    assert_int_equal(seen.calls, 0);
    (void)snprintf(big, sizeof big, "GET /ok HTTP/1.1\r\nHost: me\r\nConnection: close\r\nX: %07900d\r\n\r\n", 0);
    (void)ask(tcp_client(s), big);
    assert_has("HTTP/1.1 200 ");
    cfr_httpd_close(s);
}

static void test_idle_asks_for_no_wake_up(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);
    int64_t end = now_ms() + LIMIT_MS;
    int fd;

    (void)state;
    assert_int_equal(cfr_loop_next(), INT64_MAX);
    assert_int_equal(wait_for(-1, 0, 0), 0);
    fd = tcp_client(s);
    assert_int_equal(wait_for(-1, 0, LIMIT_MS), 1);
    turn(fd, POLLOUT);
    assert_true(cfr_loop_next() < INT64_MAX);
    (void)ask(fd, "GET / HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    while (cfr_loop_next() != INT64_MAX && now_ms() < end)
        turn(-1, 0);
    assert_int_equal(cfr_loop_next(), INT64_MAX);
    assert_int_equal(wait_for(-1, 0, 0), 0);
    cfr_httpd_close(s);
}

static bool is_closed(int fd)
{
    char c;
    ssize_t k = recv(fd, &c, 1, MSG_PEEK);

    return k == 0 || (k < 0 && errno == ECONNRESET);
}

/* All programs of this machine share its addresses. */
static void test_one_program_does_not_take_all_connections_of_this_machine(void **state)
{
    enum { HELD = 70 };
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);
    int fds[HELD];

    (void)state;
    for (int i = 0; i < HELD; i++) {
        fds[i] = tcp_client(s);
        turn(-1, 0);
    }
    (void)ask(tcp_client(s), "GET /another HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    assert_has("HTTP/1.1 200 ");
    for (int i = 0; i < HELD; i++) {
        assert_false(is_closed(fds[i]));
        assert_int_equal(close(fds[i]), 0);
    }
    cfr_httpd_close(s);
}

/* In the queue before it and after it, and whatever they have sent. */
static void test_a_client_among_many_that_pipeline(void **state)
{
    enum { BEFORE = 600, AFTER = 300, REQUESTS = 200, CONNECTIONS = 16 };
    static const char one[] = "GET / HTTP/1.1\r\nHost: me\r\n\r\n";
    static char many[REQUESTS * sizeof one];
    static int fds[BEFORE + AFTER];
    struct seen seen = {0};
    struct cfr_httpd_options options = {.fn = on_request, .ctx = &seen, .connections = CONNECTIONS, .no_body = true};
    struct cfr_httpd_server *s;
    struct cfr_err err = {0};
    size_t n = 0;
    int client = -1;
    char byte;

    (void)state;
    for (int i = 0; i < REQUESTS; i++, n += sizeof one - 1)
        memcpy(many + n, one, sizeof one - 1);
    assert_int_equal(cfr_httpd_open("127.0.0.1:0", false, &options, &s, &err), 0);
    for (int i = 0; i < BEFORE + AFTER; i++) {
        if (i == BEFORE) {
            client = tcp_client(s);
            assert_int_equal(send(client, one, sizeof one - 1, MSG_NOSIGNAL), sizeof one - 1);
        }
        fds[i] = tcp_client(s);
        assert_true(send(fds[i], many, n, MSG_NOSIGNAL) > 0);
    }
    for (int64_t end = now_ms() + LIMIT_MS; recv(client, &byte, 1, MSG_PEEK) != 1;) {
        assert_true(now_ms() < end);
        turn(client, POLLIN);
    }
    /* The others have had a turn or two for each connection. */
    assert_true(seen.calls <= 8 * CONNECTIONS);
    for (int i = 0; i < BEFORE + AFTER; i++)
        (void)close(fds[i]);
    (void)close(client);
    cfr_httpd_close(s);
}

/* One that waits for its answers may have all of them; one that does not is closed with an answer that says so. */
static void test_a_connection_that_pipelines_ends(void **state)
{
    enum { REQUESTS = 2000 };
    static const char one[] = "GET / HTTP/1.1\r\nHost: me\r\n\r\n";
    static char many[REQUESTS * sizeof one];
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);
    int fd = tcp_client(s);
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        put(fd, one, sizeof one - 1);
        while (recv(fd, answer, sizeof answer, 0) < 0)
            turn(fd, POLLIN);
    }
    assert_int_equal(seen.calls, 100);
    for (int i = 0; i < REQUESTS; i++, n += sizeof one - 1)
        memcpy(many + n, one, sizeof one - 1);
    put(fd, many, n);
    (void)get_all(fd);
    assert_true(seen.calls < 100 + REQUESTS / 2);
    cfr_httpd_close(s);
}

static void test_tcp_addresses(void **state)
{
    static const char *const bad[] = {"",      "9080",    "localhost:80", "127.0.0.1",       "127.0.0.1:",
                                      "1:2:3", "[::1:80", "[::1]",        "127.0.0.1:65536", "127.0.0.1:-1",
                                      ":x",    "[zz]:80", "127.0.0.1:8o", "127.0.0.1 :80",   "http://127.0.0.1:80"};
    struct seen seen = {0};
    struct cfr_httpd_server *s;
    struct cfr_httpd_server *t;
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cfr_httpd_open_tcp(bad[i], on_request, &seen, &s, &err) != CFR_E_CONFIG)
            fail_msg("%s: %s", bad[i], err.text);
        assert_null(s);
    }
    assert_int_equal(cfr_httpd_open_tcp("192.0.2.1:0", on_request, &seen, &s, &err), CFR_E_CONFIG);
    s = open_tcp(&seen);
    assert_int_equal(cfr_httpd_open_tcp(cfr_httpd_address(s), on_request, &seen, &t, &err), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, cfr_httpd_address(s)));
    cfr_httpd_close(s);
    assert_int_equal(cfr_httpd_open_tcp(":0", on_request, &seen, &s, &err), 0);
    (void)ask(tcp_client(s), "GET /v4 HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    assert_string_equal(seen.path, "/v4");
    cfr_httpd_close(s);
    if (cfr_httpd_open_tcp("[::1]:0", on_request, &seen, &s, &err) == 0) {
        assert_memory_equal(cfr_httpd_address(s), "[::1]:", 6);
        cfr_httpd_close(s);
    }
}

static char dir[64];

static char *in_dir(char buf[200], const char *name)
{
    assert_true(strlen(dir) + strlen(name) + 2 <= 200);
    (void)strcpy(buf, dir);
    (void)strcat(buf, "/");
    return strcat(buf, name);
}

static int open_unix(const char *path, struct seen *seen, struct cfr_httpd_server **out, struct cfr_err *err)
{
    return cfr_httpd_open(path, true, &(struct cfr_httpd_options){.fn = on_request, .ctx = seen}, out, err);
}

static void test_unix_socket(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s;
    struct cfr_httpd_server *t;
    struct cfr_err err = {0};
    struct stat st;
    char path[200];
    mode_t old = umask(0);

    (void)state;
    assert_int_equal(open_unix(in_dir(path, "sock"), &seen, &s, &err), 0);
    (void)umask(old);
    assert_string_equal(cfr_httpd_address(s), path);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode, S_IFSOCK | 0600);
    (void)ask(unix_client(path), "POST /u HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    assert_has("HTTP/1.1 200 ");
    assert_true(seen.peer.known);
    assert_int_equal(seen.peer.uid, getuid());
    assert_int_equal(seen.peer.gid, getgid());
    assert_int_equal(seen.peer.pid, getpid());
    assert_int_equal(open_unix(path, &seen, &t, &err), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, "another process listens"));
    cfr_httpd_close(s);
    assert_int_equal(lstat(path, &st), -1);
}

static void test_unix_socket_leftovers(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s;
    struct cfr_err err = {0};
    struct stat st;
    char path[200];
    FILE *f;
    int fd;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sockaddr_un a = unix_address(in_dir(path, i == 0 ? "left" : "lef~"));

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
        assert_int_equal(close(fd), 0);
    }
    assert_int_equal(open_unix(in_dir(path, "left"), &seen, &s, &err), 0);
    assert_int_equal(lstat(in_dir(path, "lef~"), &st), -1);
    /* Another program's socket at our path is not ours to remove. */
    assert_int_equal(unlink(in_dir(path, "left")), 0);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    cfr_httpd_close(s);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(open_unix(path, &seen, &s, &err), CFR_E_CONFLICT);
    assert_non_null(strstr(err.text, "not a socket"));
    assert_int_equal(unlink(path), 0);
}

static void test_unix_paths(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s;
    struct cfr_err err = {0};
    char path[200];
    char name[200];
    size_t n = strlen(dir) + 1;

    (void)state;
    memset(name, 'n', sizeof name);
    name[107 - n] = '\0';
    assert_int_equal(strlen(in_dir(path, name)), 107);
    if (open_unix(path, &seen, &s, &err) != 0)
        fail_msg("%s", err.text);
    (void)ask(unix_client(path), "GET / HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n");
    cfr_httpd_close(s);
    name[107 - n] = 'n';
    name[108 - n] = '\0';
    assert_int_equal(open_unix(in_dir(path, name), &seen, &s, &err), CFR_E_CONFIG);
    assert_non_null(strstr(err.text, "107"));
    assert_int_equal(open_unix(in_dir(path, "none/sock"), &seen, &s, &err), CFR_E_MISSING);
    assert_int_equal(open_unix("", &seen, &s, &err), CFR_E_CONFIG);
}

static void test_descriptors_are_not_inherited(void **state)
{
    struct seen seen = {0};
    struct cfr_httpd_server *s = open_tcp(&seen);
    int fd = tcp_client(s);
    struct pollfd *own;
    int any = 0;

    (void)state;
    put(fd, "GET /", 5);
    turn(-1, 0);
    for (int i = 3; i < 64; i++) {
        int flags = fcntl(i, F_GETFD);
        struct stat st;

        if (flags < 0 || fstat(i, &st) != 0 || !S_ISSOCK(st.st_mode))
            continue;
        any++;
        assert_true((flags & FD_CLOEXEC) != 0);
    }
    assert_true(any >= 2);
    assert_int_equal(cfr_loop_prepare(&own), 1);
    assert_true((fcntl(own[0].fd, F_GETFD) & FD_CLOEXEC) != 0);
    (void)close(fd);
    cfr_httpd_close(s);
}

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/credfresh-server-XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir); /* fails if a socket was left behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes_requests_on),
        cmocka_unit_test(test_large_answers_and_kept_connections),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_malformed_requests),
        cmocka_unit_test(test_idle_asks_for_no_wake_up),
        cmocka_unit_test(test_one_program_does_not_take_all_connections_of_this_machine),
        cmocka_unit_test(test_a_client_among_many_that_pipeline),
        cmocka_unit_test(test_a_connection_that_pipelines_ends),
        cmocka_unit_test(test_tcp_addresses),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_unix_socket_leftovers),
        cmocka_unit_test(test_unix_paths),
        cmocka_unit_test(test_descriptors_are_not_inherited),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
