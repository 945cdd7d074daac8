/* SPDX-License-Identifier: MIT */
/* A TLS server that never restarts: its certificate, key and CA bundle follow the directory that they are mounted in.
 *
 *     tls_server DIRECTORY [mutual]      prints its port, answers each client with one line, ends with its standard
 * input
 *
 * Four threads shake hands from one SSL_CTX; the main thread has the event loop, in which the follower takes two lines.
 */
#include <credfresh-tls.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS = 4, CLIENT_TIMEOUT_S = 30 };

struct server {
    int listener;
    SSL_CTX *ctx;
};

static void serve_one(SSL_CTX *ctx, int fd)
{
    static const char answer[] = "hello\n";
    const struct timeval limit = {.tv_sec = CLIENT_TIMEOUT_S};
    SSL *ssl = SSL_new(ctx);

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (ssl != NULL && SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1) {
        (void)SSL_write(ssl, answer, sizeof answer - 1);
        (void)SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    (void)close(fd);
}

static void *serve(void *arg)
{
    const struct server *server = arg;

    for (;;) {
        int fd = accept(server->listener, NULL, NULL);

        if (fd >= 0)
            serve_one(server->ctx, fd);
    }
    return NULL;
}

static int listen_on_loopback(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 128) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return -1;
    (void)printf("%u\n", (unsigned)ntohs(address.sin_port));
    (void)fflush(stdout);
    return fd;
}

static void say(struct credfresh_tls *tls, const struct credfresh_tls_status *status, void *context)
{
    (void)tls;
    (void)context;
    if (status->code != 0)
        (void)fprintf(stderr, "tls_server: keeping the certificate: %s\n", status->text);
}

static void run(struct credfresh_tls *tls)
{
    struct pollfd wait[] = {{.fd = credfresh_tls_fd(tls), .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};

    while (poll(wait, 2, -1) >= 0 && wait[1].revents == 0)
        (void)credfresh_tls_dispatch(tls);
}

int main(int argc, char **argv)
{
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;
    struct server server = {-1, NULL};
    char text[400];

    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "mutual") != 0)) {
        (void)fprintf(stderr, "usage: tls_server DIRECTORY [mutual]\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN); /* a client that hangs up */
    options.directory = argv[1];
    options.ca_name = argc == 3 ? "ca.crt" : "";
    options.on_change = say;
    if (credfresh_tls_open(&tls, &options, text, sizeof text) != 0) {
        (void)fprintf(stderr, "tls_server: %s\n", text);
        return 1;
    }
    server.ctx = credfresh_tls_ctx(tls);
    server.listener = listen_on_loopback();
    for (int i = 0; server.listener >= 0 && i < THREADS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, serve, &server) != 0)
            return 1;
    }
    if (server.listener >= 0)
        run(tls);
    _exit(server.listener >= 0 ? 0 : 1); /* the threads are still serving: no clean-up below their feet */
}
