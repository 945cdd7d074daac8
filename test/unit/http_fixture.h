/* SPDX-License-Identifier: MIT */
/* A server of its own (http_server.py) for the tests of the HTTP client engine, and requests to it. */
#ifndef CFR_TEST_HTTP_FIXTURE_H
#define CFR_TEST_HTTP_FIXTURE_H

#include "agent/http/client.h"
#include "unit.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S    20
#define ANSWER_MAX 16384

static struct {
    char dir[64];
    pid_t pid;
    int in;
    int plain, good, elsewhere, expired, early, close, many, mutual, proxy, gone;
    char ca[96];
    char other[96];
    char sock[96];
} srv;

struct got {
    int calls;
    int error;
    char err[CFR_ERR_TEXT_MAX];
    long status;
    char type[64];
    char id[64];
    char header[64];
    int64_t retry_after_s;
    int64_t date_s;
    size_t body_n;
    char body[ANSWER_MAX + 1];
    double duration_s;
};

static inline void on_done(void *ctx, const struct cfr_http_answer *a)
{
    struct got *g = ctx;

    g->calls++;
    g->error = a->error;
    assert_int_equal(a->error, a->err.code);
    (void)snprintf(g->err, sizeof g->err, "%s", a->err.text);
    g->status = a->status;
    (void)snprintf(g->type, sizeof g->type, "%.*s", (int)a->content_type.n, a->content_type.p);
    (void)snprintf(g->id, sizeof g->id, "%.*s", (int)a->request_id.n, a->request_id.p);
    (void)snprintf(g->header, sizeof g->header, "%.*s", (int)a->header.n, a->header.n != 0 ? a->header.p : "");
    g->retry_after_s = a->retry_after_s;
    g->date_s = a->date_s;
    g->body_n = a->body.n;
    assert_true(a->body.n <= ANSWER_MAX);
    if (a->body.n != 0)
        memcpy(g->body, a->body.p, a->body.n);
    g->body[a->body.n] = '\0';
    g->duration_s = a->duration_s;
}

static inline int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Steps until *CALLS reaches WANTED. */
static inline void run_until(struct cfr_http *h, const int *calls, int wanted)
{
    int64_t end = now_ms() + LIMIT_S * 1000;

    while (*calls < wanted) {
        struct cfr_err err = {0};

        if (now_ms() > end)
            fail_msg("no answer within %d s", LIMIT_S);
        assert_int_equal(cfr_http_step(h, NULL, 0, 1000, &err), 0);
    }
}

static inline struct cfr_http *engine(void)
{
    struct cfr_http *h;
    struct cfr_err err = {0};

    assert_int_equal(cfr_http_open(&h, &err), 0);
    return h;
}

static inline char *url_of(char buf[256], const char *scheme, int port, const char *path)
{
    (void)snprintf(buf, 256, "%s://127.0.0.1:%d%s", scheme, port, path);
    return buf;
}

static inline struct cfr_http_request get(const char *url)
{
    return (struct cfr_http_request){
        .method = "GET", .url = url, .ca_file = srv.ca, .answer_max = ANSWER_MAX, .timeout_ms = 10000};
}

static inline struct got fetch(struct cfr_http *h, const struct cfr_http_request *r)
{
    struct got g = {0};
    struct cfr_err err = {0};
    int rc = cfr_http_start(h, r, on_done, &g, NULL, &err);

    if (rc != 0)
        fail_msg("not started: %s", err.text);
    assert_int_equal(g.calls, 0);
    run_until(h, &g.calls, 1);
    return g;
}

static inline struct got fetch_plain(struct cfr_http *h, const char *path)
{
    char url[256];
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, path));

    return fetch(h, &r);
}

static inline struct got fetch_tls(struct cfr_http *h, int port, const char *ca)
{
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", port, "/echo"));

    r.ca_file = ca;
    return fetch(h, &r);
}

/* How many connections the server on PORT has ever taken, and the most at once. */
static inline long connections(struct cfr_http *h, int port, const char *ca, long *most)
{
    char url[256];
    struct cfr_http_request r = get(url_of(url, ca != NULL ? "https" : "http", port, "/count"));
    struct got g;
    char *end;
    long total;

    r.ca_file = ca;
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    total = strtol(g.body, &end, 10);
    if (most != NULL)
        *most = strtol(end, NULL, 10);
    return total;
}

static inline struct cfr_secret secret_of(const char *text)
{
    struct cfr_secret s;

    cfr_secret_init(&s, 1 << 22);
    assert_int_equal(cfr_secret_append_str(&s, text, NULL), 0);
    return s;
}

/* A file that the server has made. */
static inline struct cfr_secret read_made(const char *name)
{
    char path[128];
    struct cfr_secret s;
    char *to;
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", srv.dir, name);
    cfr_secret_init(&s, 65536);
    to = cfr_secret_reserve(&s, 65536, NULL);
    f = fopen(path, "r");
    assert_non_null(to);
    assert_non_null(f);
    cfr_secret_grown(&s, fread(to, 1, 65536, f));
    assert_int_equal(fclose(f), 0);
    return s;
}

static inline void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strcasestr(text, part) != NULL)
        fail_msg("\"%s\" is in: %s", part, text);
}

static inline int read_ports(FILE *f)
{
    char line[512];

    if (fgets(line, sizeof line, f) == NULL)
        return -1;
    return sscanf(line, "plain=%d close=%d good=%d elsewhere=%d expired=%d early=%d many=%d mutual=%d proxy=%d gone=%d",
                  &srv.plain, &srv.close, &srv.good, &srv.elsewhere, &srv.expired, &srv.early, &srv.many,
                  &srv.mutual, &srv.proxy, &srv.gone) == 10
               ? 0
               : -1;
}

static inline int start_server(void **state)
{
    static char script[] = CFR_TEST_SOURCE "/http_server.py";
    int in[2];
    int out[2];
    FILE *f;
    int rc;

    (void)state;
    (void)snprintf(srv.dir, sizeof srv.dir, "/tmp/credfresh-http-XXXXXX");
    if (mkdtemp(srv.dir) == NULL || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return -1;
    srv.pid = fork();
    if (srv.pid == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        (void)execl("/usr/bin/python3", "python3", script, srv.dir, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    srv.in = in[1];
    f = fdopen(out[0], "r");
    rc = f != NULL ? read_ports(f) : -1;
    if (f != NULL)
        (void)fclose(f);
    (void)snprintf(srv.ca, sizeof srv.ca, "%s/ca.pem", srv.dir);
    (void)snprintf(srv.other, sizeof srv.other, "%s/other.pem", srv.dir);
    (void)snprintf(srv.sock, sizeof srv.sock, "%s/sock", srv.dir);
    (void)unsetenv("SSL_CERT_FILE");
    return rc;
}

static inline int stop_server(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    (void)close(srv.in); /* it ends when its input does */
    (void)waitpid(srv.pid, &status, 0);
    pid = fork();
    if (pid == 0) {
        (void)execlp("rm", "rm", "-rf", srv.dir, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(pid, &status, 0);
    return 0;
}

#endif
