/* SPDX-License-Identifier: MIT */
/* Measures how long after a token volume's swap an exchange begins, from outside, and is also the smallest program that
 * could begin one.
 *   swap probe VOLUME COUNT      listens on loopback (prints the port), makes COUNT swaps of VOLUME, using the tokens
 *                                that stand in VOLUME/.tokens/N, and prints the microseconds from each rename to the
 *                                first byte of the request that follows it
 *   swap raw VOLUME PORT         on each swap reads VOLUME/token and sends it over a connection that it keeps
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- raw ---- */

static void send_token(const char *volume, int connection)
{
    char path[4096];
    char token[16384];
    char request[20000];
    char answer[4096];
    int fd;
    ssize_t n;

    (void)snprintf(path, sizeof path, "%s/token", volume);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, token, sizeof token - 1) : -1;
    if (n <= 0)
        die(path);
    (void)close(fd);
    token[n] = '\0';
    n = snprintf(request, sizeof request, "POST / HTTP/1.1\r\nHost: sts\r\nContent-Length: %zd\r\n\r\n%s", n, token);
    if (write(connection, request, (size_t)n) != n || read(connection, answer, sizeof answer) <= 0)
        die("connection");
}

static int raw(const char *volume, int port)
{
    struct sockaddr_in to = loopback(port);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int notify = inotify_init1(IN_CLOEXEC);
    int one = 1;
    char events[4096] __attribute__((aligned(8)));

    if (connection < 0 || connect(connection, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect");
    (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (notify < 0 || inotify_add_watch(notify, volume, IN_MOVED_TO) < 0)
        die("inotify");
    send_token(volume, connection);
    for (;;) {
        ssize_t n = read(notify, events, sizeof events);

        for (char *p = events; n > 0 && p < events + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)p;

            if (e->len != 0 && strcmp(e->name, "..data") == 0)
                send_token(volume, connection);
            p += sizeof *e + e->len;
        }
    }
}

/* ---- probe ---- */

static int listen_any(int *port)
{
    struct sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        die("listen");
    *port = ntohs(at.sin_port);
    return fd;
}

/* Reads one request; the moment of its first byte is what counts. False when the peer has gone. */
static int take_request(int fd, double *first_us)
{
    static char buf[65536];
    size_t have = 0;
    size_t want = sizeof buf;

    while (have < want) {
        ssize_t n = read(fd, buf + have, sizeof buf - 1 - have);
        const char *head_end;
        const char *length;

        if (n <= 0)
            return 0;
        if (have == 0)
            *first_us = now_us();
        have += (size_t)n;
        buf[have] = '\0';
        head_end = strstr(buf, "\r\n\r\n");
        length = strcasestr(buf, "content-length:");
        if (head_end != NULL)
            want = (size_t)(head_end - buf) + 4 + (length != NULL ? strtoul(length + 15, NULL, 10) : 0);
    }
    return 1;
}

static void answer(int fd)
{
    static unsigned serial;
    char body[2048];
    char head[256];
    char expires[32];
    time_t at = time(NULL) + 3600;
    struct tm tm;
    int n;

    (void)strftime(expires, sizeof expires, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
    n = snprintf(body, sizeof body,
                 "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
                 "<AssumeRoleWithWebIdentityResult><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/demo/x"
                 "</Arn><AssumedRoleId>AROAEXAMPLEEXAMPLE000:x</AssumedRoleId></AssumedRoleUser><Credentials>"
                 "<AccessKeyId>ASIAEXAMPLE%09u</AccessKeyId><SecretAccessKey>secret%09u</SecretAccessKey>"
                 "<SessionToken>token%09u</SessionToken><Expiration>%s</Expiration></Credentials>"
                 "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
                 serial, serial, serial, expires);
    serial++;
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n", n);
    if (write(fd, head, strlen(head)) < 0 || write(fd, body, (size_t)n) < 0)
        die("answer");
}

static double swap_to(const char *volume, int number)
{
    char from[4096];
    char dir[4096];
    char tmp[4096];
    char data[4096];
    double before;

    (void)snprintf(from, sizeof from, "%s/.tokens/%d", volume, number);
    (void)snprintf(dir, sizeof dir, "%s/..g%d", volume, number);
    (void)snprintf(tmp, sizeof tmp, "%s/..data_tmp", volume);
    (void)snprintf(data, sizeof data, "%s/..data", volume);
    if (mkdir(dir, 0755) != 0)
        die(dir);
    (void)snprintf(dir, sizeof dir, "%s/..g%d/token", volume, number);
    if (rename(from, dir) != 0)
        die(from);
    (void)snprintf(dir, sizeof dir, "..g%d", number);
    if (symlink(dir, tmp) != 0)
        die(tmp);
    before = now_us();
    if (rename(tmp, data) != 0)
        die(data);
    return before;
}

static int probe(const char *volume, int count)
{
    struct timespec pause = {0, 40000000};
    int port;
    int listener = listen_any(&port);
    int peer;
    double first = 0;
    int one = 1;

    (void)printf("%d\n", port);
    (void)fflush(stdout);
    peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (peer < 0)
        die("accept");
    (void)setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!take_request(peer, &first))
        die("first request");
    answer(peer);
    for (int i = 1; i <= count; i++) {
        double before;

        (void)nanosleep(&pause, NULL);
        before = swap_to(volume, i);
        if (!take_request(peer, &first)) {
            (void)fprintf(stderr, "the connection was not kept\n");
            return 1;
        }
        answer(peer);
        (void)printf("%.1f\n", first - before);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "probe") == 0)
        return probe(argv[2], atoi(argv[3]));
    if (argc == 4 && strcmp(argv[1], "raw") == 0)
        return raw(argv[2], atoi(argv[3]));
    (void)fprintf(stderr, "usage: swap probe VOLUME COUNT | swap raw VOLUME PORT\n");
    return 2;
}
