/* SPDX-License-Identifier: MIT */
/* The load generator that storm.py compares with: sends recorded requests over a few kept connections and
 * reads the answers, as fast as one thread can. No library but TLS, nothing is built, parsed or kept.
 *
 * usage: storm_load PORT CA CONNECTIONS REQUESTS FILE...
 *
 * FILE... hold one request each, as it goes over the wire to 127.0.0.1:PORT; they are sent in turns until
 * REQUESTS are answered, one at a time on each connection. Prints the seconds from the first request to the
 * last answer: the agent's connections are open, too. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX 65536
#define LINES_MAX  64

struct request {
    char *bytes;
    int count;
};

struct line {
    SSL *tls;
    char answer[ANSWER_MAX];
    int have;
};

struct load {
    int epoll;
    struct request *requests;
    int request_count;
    long wanted;
    long sent;
    long answered;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "storm_load: %s: %s\n", what, strerror(errno));
    ERR_print_errors_fp(stderr);
    exit(1);
}

static struct request load_request(const char *path)
{
    struct request r = {malloc(ANSWER_MAX), 0};
    FILE *f = fopen(path, "rb");

    if (r.bytes == NULL || f == NULL)
        die(path);
    r.count = (int)fread(r.bytes, 1, ANSWER_MAX, f);
    (void)fclose(f);
    return r;
}

static SSL *connect_to(SSL_CTX *context, unsigned short port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    SSL *tls = SSL_new(context);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || tls == NULL || connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 || SSL_set_fd(tls, fd) != 1 ||
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), "127.0.0.1") != 1 || SSL_connect(tls) != 1)
        die("cannot connect");
    return tls;
}

static void send_next(struct load *l, struct line *line)
{
    const struct request *r = &l->requests[l->sent % l->request_count];

    if (l->sent == l->wanted)
        return;
    /* The socket's buffer is empty and larger than any request, so it takes all of it. */
    if (SSL_write(line->tls, r->bytes, r->count) != r->count)
        die("cannot send");
    line->have = 0;
    l->sent++;
}

/* True once the answer is complete; anything but 2xx ends the program. */
static int is_complete(struct line *line)
{
    const char *head_end;
    const char *length;

    line->answer[line->have] = '\0';
    head_end = strstr(line->answer, "\r\n\r\n");
    if (head_end == NULL)
        return 0;
    length = strcasestr(line->answer, "\r\nContent-Length:");
    if (strncmp(line->answer, "HTTP/1.1 2", 10) != 0 || length == NULL || length > head_end) {
        errno = EPROTO;
        (void)fprintf(stderr, "%s\n", line->answer);
        die("the answer is no success");
    }
    return line->have >= head_end + 4 - line->answer + atol(length + 17);
}

static void receive(struct load *l, struct line *line)
{
    for (;;) {
        int n = SSL_read(line->tls, line->answer + line->have, ANSWER_MAX - 1 - line->have);

        if (n <= 0 && SSL_get_error(line->tls, n) == SSL_ERROR_WANT_READ)
            return;
        if (n <= 0)
            die("cannot receive");
        line->have += n;
        if (is_complete(line)) {
            l->answered++;
            send_next(l, line);
        }
    }
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct line *add_line(struct load *l, SSL_CTX *context, unsigned short port)
{
    struct line *line = calloc(1, sizeof *line);
    struct epoll_event event = {.events = EPOLLIN};

    if (line == NULL)
        die("no memory");
    line->tls = connect_to(context, port);
    event.data.ptr = line;
    if (fcntl(SSL_get_fd(line->tls), F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, SSL_get_fd(line->tls), &event) != 0)
        die("epoll");
    return line;
}

int main(int argc, char **argv)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    struct load l = {.epoll = epoll_create1(0), .wanted = argc > 5 ? atol(argv[4]) : 0, .request_count = argc - 5};
    struct epoll_event events[LINES_MAX];
    struct line *lines[LINES_MAX];
    int line_count = argc > 5 ? atoi(argv[3]) : 0;
    double start_s;

    if (line_count < 1 || line_count > LINES_MAX || context == NULL || SSL_CTX_load_verify_file(context, argv[2]) != 1)
        die("usage: storm_load PORT CA CONNECTIONS REQUESTS FILE...");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    l.requests = calloc((size_t)l.request_count, sizeof *l.requests);
    for (int i = 0; i < l.request_count; i++)
        l.requests[i] = load_request(argv[5 + i]);
    for (int i = 0; i < line_count; i++)
        lines[i] = add_line(&l, context, (unsigned short)atoi(argv[1]));
    start_s = now_s();
    for (int i = 0; i < line_count; i++)
        send_next(&l, lines[i]);
    while (l.answered < l.wanted) {
        int n = epoll_wait(l.epoll, events, LINES_MAX, -1);

        for (int i = 0; i < n; i++)
            receive(&l, events[i].data.ptr);
    }
    (void)printf("%.6f\n", now_s() - start_s);
    return 0;
}
