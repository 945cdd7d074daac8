/* SPDX-License-Identifier: MIT */
/* A fake API server (the one of http_fixture.h, whose /api/... knows those that the file `known` names),
 * kubeconfigs and plugins for it, and calls to it. */
#ifndef CFR_TEST_KUBE_FIXTURE_H
#define CFR_TEST_KUBE_FIXTURE_H

#include "agent/kube/client_private.h"
#include "http_fixture.h"

#include <sys/stat.h>

struct reply {
    int calls;
    int error;
    char err[CFR_ERR_TEXT_MAX];
    long status;
    char audit[64];
    char secrets[2][128];
    size_t secret_count;
    char body[ANSWER_MAX + 1];
};

static inline void on_reply(void *ctx, const struct cfr_kube_answer *a)
{
    struct reply *r = ctx;

    r->calls++;
    r->error = a->error;
    assert_int_equal(a->error, a->err.code);
    (void)snprintf(r->err, sizeof r->err, "%s", a->err.text);
    r->status = a->status;
    (void)snprintf(r->audit, sizeof r->audit, "%.*s", (int)a->audit_id.n, a->audit_id.n != 0 ? a->audit_id.p : "");
    r->secret_count = a->secret_count;
    for (size_t i = 0; i < a->secret_count; i++)
        (void)snprintf(r->secrets[i], sizeof r->secrets[i], "%.*s", (int)a->secrets[i].n, a->secrets[i].p);
    assert_true(a->body.n <= ANSWER_MAX);
    (void)snprintf(r->body, sizeof r->body, "%.*s", (int)a->body.n, a->body.n != 0 ? a->body.p : "");
}

struct setup {
    struct cfr_http *http;
    struct cfr_kube *kube;
};

static inline struct setup open_kube(void)
{
    struct setup s;

    s.http = engine();
    assert_int_equal(cfr_kube_open(s.http, &s.kube, NULL), 0);
    s.kube->pod_directory = srv.dir;
    return s;
}

static inline void close_kube(struct setup *s)
{
    cfr_kube_close(s->kube);
    cfr_http_close(s->http);
}

/* NAME in the server's folder; good for four at a time. */
static inline char *in_dir(const char *name)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", srv.dir, name);
    return path;
}

/* Puts a file in place in one step, as those do who know that it is read. */
static inline void put(const char *name, const char *text)
{
    char tmp[200];
    FILE *f;

    (void)snprintf(tmp, sizeof tmp, "%s.new", in_dir(name));
    f = fopen(tmp, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(tmp, in_dir(name)), 0);
}

static inline void put_plugin(const char *name, const char *script)
{
    char text[4096];

    (void)snprintf(text, sizeof text, "#!/bin/sh\ncd %s\necho run >>runs\n%s\n", srv.dir, script);
    put(name, text);
    assert_int_equal(chmod(in_dir(name), 0755), 0);
}

/* How often plugins have run since the file was last removed. */
static inline int runs(void)
{
    FILE *f = fopen(in_dir("runs"), "r");
    char line[16];
    int n = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        n++;
    if (f != NULL)
        (void)fclose(f);
    return n;
}

/* A kubeconfig for PORT whose user is USER, in YAML. */
static inline void put_config(const char *name, int port, const char *cluster, const char *user)
{
    char text[8192];

    (void)snprintf(text, sizeof text,
                   "current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u, namespace: team-a}}\n"
                   "clusters:\n- name: k\n  cluster:\n    server: https://127.0.0.1:%d\n"
                   "    certificate-authority: ca.pem\n%s"
                   "users:\n- name: u\n  user:\n%s",
                   port, cluster, user);
    put(name, text);
}

/* Turns the loop once, as the agent does. */
static inline void turn(struct setup *s, int ms)
{
    assert_int_equal(cfr_http_step(s->http, NULL, 0, ms, NULL), 0);
    cfr_loop_children();
    cfr_loop_run(cfr_clock_now().boot_ms);
}

static inline void wait_for(struct setup *s, const int *calls, int wanted)
{
    int64_t end = now_ms() + LIMIT_S * 1000;

    while (*calls < wanted) {
        if (now_ms() > end)
            fail_msg("no answer within %d s", LIMIT_S);
        turn(s, 10);
    }
}

static inline struct cfr_kube_call *start_call(struct setup *s, const char *kubeconfig, const char *path,
                                               struct reply *r)
{
    struct cfr_kube_where where = {.kubeconfig = kubeconfig};
    struct cfr_kube_request request = {.method = "GET", .path = path};
    struct cfr_kube_call *c = NULL;
    struct cfr_err err = {0};

    if (cfr_kube_start(s->kube, &where, &request, on_reply, r, &c, &err) != 0)
        fail_msg("not started: %s", err.text);
    assert_int_equal(r->calls, 0);
    return c;
}

static inline struct reply ask(struct setup *s, const char *kubeconfig, const char *path)
{
    struct reply r = {0};

    (void)start_call(s, kubeconfig, path, &r);
    wait_for(s, &r.calls, 1);
    return r;
}

/* What a call that cannot be started says. */
static inline struct cfr_err refused(struct setup *s, const char *kubeconfig)
{
    struct cfr_kube_where where = {.kubeconfig = kubeconfig};
    struct cfr_kube_request request = {.method = "GET", .path = "/api"};
    struct cfr_kube_call *c = NULL;
    struct cfr_err err = {0};
    struct reply r = {0};

    assert_int_not_equal(cfr_kube_start(s->kube, &where, &request, on_reply, &r, &c, &err), 0);
    assert_null(c);
    assert_int_equal(r.calls, 0);
    return err;
}

#endif
