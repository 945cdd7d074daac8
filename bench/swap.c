/* SPDX-License-Identifier: MIT */
/* Measures how long after a token volume's swap an exchange begins, from outside, and is also the smallest program that
 * could begin one.
 *   swap probe VOLUME COUNT PAUSE_MS
 *                                listens on loopback (prints the port), makes COUNT swaps of VOLUME, a pause after each
 *                                exchange, using the tokens that are in VOLUME/.tokens/N, and prints the microseconds
 *                                from each rename to the connection that the exchange begins with
 *   swap raw VOLUME PORT         on each swap reads VOLUME/token, connects and sends it
 * Each exchange has a connection of its own, as in life: tokens are renewed eight minutes to a day apart, and no server
 * keeps an idle connection that long.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

static void send_token(const char *volume, int port)
{
    struct sockaddr_in to = loopback(port);
    char path[4096];
    char token[16384];
    char request[20000];
    char answer[4096];
    int connection;
    int fd;
    ssize_t n;

    (void)snprintf(path, sizeof path, "%s/token", volume);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, token, sizeof token - 1) : -1;
    if (n <= 0)
        die(path);
    (void)close(fd);
    token[n] = '\0';
    connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect");
    n = snprintf(request, sizeof request, "POST / HTTP/1.1\r\nHost: sts\r\nContent-Length: %zd\r\n\r\n%s", n, token);
    if (write(connection, request, (size_t)n) != n || read(connection, answer, sizeof answer) <= 0)
        die("connection");
    (void)close(connection);
}

static void raw(const char *volume, int port)
{
    int notify = inotify_init1(IN_CLOEXEC);
    char events[4096] __attribute__((aligned(8)));

    if (notify < 0 || inotify_add_watch(notify, volume, IN_MOVED_TO) < 0)
        die("inotify");
    send_token(volume, port);
    for (;;) {
        ssize_t n = read(notify, events, sizeof events);

        for (char *p = events; n > 0 && p < events + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)p;

            if (e->len != 0 && strcmp(e->name, "..data") == 0)
                send_token(volume, port);
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

/* Reads one request. False when the peer has gone. */
static int take_request(int fd)
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
    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", n);
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

/* Serves one exchange and says when its connection came. */
static double serve(int listener)
{
    int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    double came = now_us();

    if (peer < 0 || !take_request(peer))
        die("exchange");
    answer(peer);
    (void)close(peer);
    return came;
}

static int probe(const char *volume, int count, int pause_ms)
{
    struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000L};
    int port;
    int listener = listen_any(&port);

    (void)printf("%d\n", port);
    (void)fflush(stdout);
    (void)serve(listener);
    for (int i = 1; i <= count; i++) {
        double before;

        (void)nanosleep(&pause, NULL);
        before = swap_to(volume, i);
        (void)printf("%.1f\n", serve(listener) - before);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "probe") == 0)
        return probe(argv[2], atoi(argv[3]), atoi(argv[4]));
    if (argc == 4 && strcmp(argv[1], "raw") == 0)
        raw(argv[2], atoi(argv[3]));
    (void)fprintf(stderr, "usage: swap probe VOLUME COUNT PAUSE_MS | swap raw VOLUME PORT\n");
    return 2;
}
