/* SPDX-License-Identifier: MIT */
/* One server process, 100 rotations of its volume under the load of clients that never rest: no handshake fails, every
 * certificate is seen, and half-way the authority itself is exchanged, on both sides of mutual TLS.
 *
 *     tls_rotation PATH-OF-TLS_SERVER */
#include "../unit/fixtures/tls_fixture.h"

#include <openssl/err.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
    ROTATIONS = 100,
    CLIENTS = 3,
    WAIT_LIMIT_S = 120,
    BOTH_FROM = 40,    /* the new authority joins the bundle */
    NEW_FROM = 50,     /* it signs from here on */
    ONLY_NEW_FROM = 70 /* the old one leaves the bundle */
};

struct client {
    pthread_t thread;
    atomic_ulong finished; /* handshakes */
};

static uint16_t port;
static SSL_CTX *client_ctx;
static atomic_bool over;
static atomic_ulong failed;
static atomic_bool seen[ROTATIONS + 1];
static struct client clients[CLIENTS];

/* True if the server's certificate verifies, ours is accepted, and the answer comes. */
static bool talk(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    char answer[16] = "";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SSL *ssl = SSL_new(client_ctx);
    bool ok = fd >= 0 && ssl != NULL && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;

    ok = ok && SSL_set_fd(ssl, fd) == 1 && SSL_set1_host(ssl, "server.test") == 1 && SSL_connect(ssl) == 1;
    ok = ok && SSL_read(ssl, answer, sizeof answer) == 6 && memcmp(answer, "hello\n", 6) == 0;
    if (ok) {
        long serial = ASN1_INTEGER_get(X509_get0_serialNumber(SSL_get0_peer_certificate(ssl)));

        ok = serial >= 0 && serial <= ROTATIONS;
        if (ok)
            atomic_store(&seen[serial], true);
        (void)SSL_shutdown(ssl);
    } else {
        ERR_print_errors_fp(stderr);
    }
    SSL_free(ssl);
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

static void *load(void *arg)
{
    struct client *client = arg;

    while (!atomic_load(&over)) {
        if (!talk())
            atomic_fetch_add(&failed, 1);
        atomic_fetch_add(&client->finished, 1);
    }
    return NULL;
}

static void give_up_if_late(time_t since, const char *what, int rotation)
{
    if (time(NULL) - since < WAIT_LIMIT_S)
        return;
    (void)fprintf(stderr, "tls_rotation: %s did not happen in rotation %d\n", what, rotation);
    exit(1);
}

/* Runs the follower of the clients' own context until CONDITION. */
#define DISPATCH_UNTIL(condition, what, rotation)                                                                      \
    for (time_t since_ = time(NULL); !(condition); give_up_if_late(since_, (what), (rotation))) {                      \
        struct pollfd fd_ = {.fd = credfresh_tls_fd(tls), .events = POLLIN};                                           \
        if (poll(&fd_, 1, 5) == 1)                                                                                     \
            (void)credfresh_tls_dispatch(tls);                                                                         \
    }

static uint64_t taken(struct credfresh_tls *tls)
{
    struct credfresh_tls_status status;

    memset(&status, 0, sizeof status);
    status.struct_size = sizeof status;
    credfresh_tls_status(tls, &status);
    if (status.code != 0)
        (void)fprintf(stderr, "tls_rotation: %s\n", status.text);
    return status.taken;
}

/* Nobody is still in a handshake that began before: each client has finished two more. */
static void wait_for_everybody(struct credfresh_tls *tls, int rotation)
{
    for (int i = 0; i < CLIENTS; i++) {
        unsigned long target = atomic_load(&clients[i].finished) + 2;

        DISPATCH_UNTIL(atomic_load(&clients[i].finished) >= target, "a handshake of each client", rotation)
    }
}

static void publish(struct volume *v, const struct identity authorities[2], int rotation)
{
    struct identity own = leaf(&authorities[rotation >= NEW_FROM ? 1 : 0], rotation);
    struct files f;

    files_of(&f, &own, NULL);
    if (rotation < ONLY_NEW_FROM)
        pem_cert(f.ca, authorities[0].cert);
    if (rotation >= BOTH_FROM)
        pem_cert(f.ca, authorities[1].cert);
    volume_publish(v, &f);
    identity_free(&own);
}

static void rotate(struct credfresh_tls *tls, struct volume *v, const struct identity authorities[2])
{
    for (int i = 1; i <= ROTATIONS; i++) {
        if (i == NEW_FROM || i == ONLY_NEW_FROM)
            wait_for_everybody(tls, i);
        publish(v, authorities, i);
        DISPATCH_UNTIL(atomic_load(&seen[i]) && taken(tls) > (uint64_t)i, "the certificate's first use", i)
    }
    wait_for_everybody(tls, ROTATIONS);
}

static pid_t start_server(const char *program, const char *directory, int *input)
{
    int in[2];
    int out[2];
    char line[16] = "";
    size_t n = 0;
    pid_t pid = -1;

    MUST(pipe(in) == 0 && pipe(out) == 0);
    pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        MUST(dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0);
        (void)close(in[1]);
        (void)close(out[0]);
        (void)execl(program, program, directory, "mutual", (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    while (n < sizeof line - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n')
        n++;
    port = (uint16_t)strtoul(line, NULL, 10);
    MUST(port != 0);
    *input = in[1];
    return pid;
}

static int count_seen(void)
{
    int count = 0;

    for (int i = 0; i <= ROTATIONS; i++)
        count += atomic_load(&seen[i]) ? 1 : 0;
    return count;
}

int main(int argc, char **argv)
{
    struct identity authorities[2] = {authority("old"), authority("new")};
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;
    struct volume v;
    unsigned long finished = 0;
    int input = -1;
    int status = 0;
    pid_t server = -1;

    MUST(argc == 2 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    volume_make(&v);
    publish(&v, authorities, 0);
    server = start_server(argv[1], v.path, &input);
    options.directory = v.path;
    MUST(credfresh_tls_open(&tls, &options, NULL, 0) == 0);
    client_ctx = credfresh_tls_ctx(tls);
    for (int i = 0; i < CLIENTS; i++)
        MUST(pthread_create(&clients[i].thread, NULL, load, &clients[i]) == 0);
    rotate(tls, &v, authorities);
    atomic_store(&over, true);
    for (int i = 0; i < CLIENTS; i++) {
        MUST(pthread_join(clients[i].thread, NULL) == 0);
        finished += atomic_load(&clients[i].finished);
    }
    MUST(waitpid(server, &status, WNOHANG) == 0); /* it has lived through all of it */
    (void)close(input);
    MUST(waitpid(server, &status, 0) == server && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    credfresh_tls_close(tls);
    volume_remove(&v);
    identity_free(&authorities[0]);
    identity_free(&authorities[1]);
    (void)printf("%d rotations, %d certificates seen, %lu handshakes, %lu failed\n", ROTATIONS, count_seen(), finished,
                 atomic_load(&failed));
    return atomic_load(&failed) == 0 && count_seen() >= ROTATIONS ? 0 : 1;
}
