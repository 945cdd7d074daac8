/* SPDX-License-Identifier: MIT */
/* The clients of endpoints.py: as many connections as it says, each with one request at a time, without a
 * pause.
 *
 * usage: endpoint_load WHERE CONNECTIONS SECONDS FILE
 *
 * WHERE is a port of 127.0.0.1 or the path of a Unix socket, FILE holds the request as it goes over the wire.
 * Prints the answers, those that were no 200 or did not come, the new connections that were needed, seconds,
 * and the microseconds of the median, the 99th percentile and the slowest. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX  65536
#define REQUEST_MAX 8192
#define SAMPLES_MAX 20000000U

struct line {
    int fd;
    int have;
    double sent_s;
    char answer[ANSWER_MAX];
};

struct load {
    const char *where;
    char request[REQUEST_MAX];
    size_t request_n;
    int epoll;
    unsigned answers;
    unsigned errors;
    unsigned connects;
    float *samples_us;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "endpoint_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int dial(const char *where)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    bool is_path = where[0] == '/';
    int one = 1;
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    int rc;

    (void)snprintf(path.sun_path, sizeof path.sun_path, "%s", where);
    port.sin_port = htons((uint16_t)atoi(where));
    if (fd < 0)
        die("socket");
    rc = is_path ? connect(fd, (struct sockaddr *)&path, sizeof path)
                 : connect(fd, (struct sockaddr *)&port, sizeof port);
    if (rc != 0)
        die(where);
    if (!is_path)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* The first few in full, because a figure alone does not show what went wrong. */
static void fail(struct load *l, const struct line *line, const char *what)
{
    if (l->errors++ < 3)
        (void)fprintf(stderr, "endpoint_load: after %.3f ms and %u answers: %s: %.*s\n", (now_s() - line->sent_s) * 1e3,
                      l->answers, what, line->have < 300 ? line->have : 300, line->answer);
}

static void ask(struct load *l, struct line *line)
{
    line->have = 0;
    line->sent_s = now_s();
    if (send(line->fd, l->request, l->request_n, MSG_NOSIGNAL) != (ssize_t)l->request_n)
        fail(l, line, strerror(errno));
}

static void open_line(struct load *l, struct line *line)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = line}};

    line->fd = dial(l->where);
    l->connects++;
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, line->fd, &event) != 0)
        die("epoll");
    ask(l, line);
}

/* Length of the whole answer, or 0 while its head is not there. */
static int whole(const struct line *line)
{
    const char *end = strstr(line->answer, "\r\n\r\n");
    const char *length = strcasestr(line->answer, "\r\ncontent-length:");

    if (end == NULL || length == NULL || length > end)
        return 0;
    return (int)(end - line->answer) + 4 + atoi(length + 17);
}

static void take(struct load *l, struct line *line)
{
    ssize_t n = recv(line->fd, line->answer + line->have, ANSWER_MAX - 1 - (size_t)line->have, 0);
    int length;

    if (n <= 0) {
        fail(l, line, n == 0 ? "closed without an answer" : strerror(errno));
        (void)close(line->fd);
        open_line(l, line);
        return;
    }
    line->have += (int)n;
    line->answer[line->have] = '\0';
    length = whole(line);
    if (length == 0 || line->have < length)
        return;
    if (strncmp(line->answer, "HTTP/1.1 200 ", 13) != 0)
        fail(l, line, "no 200");
    if (l->answers < SAMPLES_MAX)
        l->samples_us[l->answers] = (float)((now_s() - line->sent_s) * 1e6);
    l->answers++;
    if (strcasestr(line->answer, "\r\nconnection: close") != NULL) {
        (void)close(line->fd);
        open_line(l, line);
    } else {
        ask(l, line);
    }
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a;
    float y = *(const float *)b;

    return (x > y) - (x < y);
}

static void report(struct load *l, double seconds)
{
    unsigned n = l->answers < SAMPLES_MAX ? l->answers : SAMPLES_MAX;

    qsort(l->samples_us, n, sizeof *l->samples_us, compare);
    if (n == 0)
        die("no answer at all");
    (void)printf("%u %u %u %.3f %.0f %.0f %.0f\n", l->answers, l->errors, l->connects, seconds,
                 (double)l->samples_us[n / 2], (double)l->samples_us[(size_t)((double)n * 0.99)],
                 (double)l->samples_us[n - 1]);
}

int main(int argc, char **argv)
{
    static struct load l;
    struct epoll_event events[64];
    int count = argc == 5 ? atoi(argv[2]) : 0;
    struct line *lines = calloc((size_t)count + 1, sizeof *lines);
    FILE *f = argc == 5 ? fopen(argv[4], "rb") : NULL;
    double start_s;
    double end_s;

    l.samples_us = malloc(SAMPLES_MAX * sizeof *l.samples_us);
    if (lines == NULL || f == NULL || l.samples_us == NULL)
        die("usage: endpoint_load WHERE CONNECTIONS SECONDS FILE");
    l.request_n = fread(l.request, 1, sizeof l.request, f);
    (void)fclose(f);
    l.where = argv[1];
    l.epoll = epoll_create1(0);
    for (int i = 0; i < count; i++)
        open_line(&l, &lines[i]);
    start_s = now_s();
    end_s = start_s + atof(argv[3]);
    while (now_s() < end_s) {
        int n = epoll_wait(l.epoll, events, 64, 1000);

        for (int i = 0; i < n; i++)
            take(&l, events[i].data.ptr);
    }
    report(&l, now_s() - start_s);
    free(l.samples_us);
    free(lines);
    return 0;
}
