/* SPDX-License-Identifier: MIT */
/* The HTTP client engine on libcurl's multi interface: start, wait, collect. */
#include "agent/http/client.h"

#include "agent/http/openssl_private.h"
#include "agent/loop/clock.h"
#include "agent/loop/loop.h"
#include "agent/http/transfer_private.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wipealloc.h"

#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOST_CONNECTIONS_MAX 8L
#define CONNECTIONS_MAX      32L
#define IDLE_CONNECTIONS_MAX 8L
#define RUN_STEP_MS          200

struct cfr_http {
    CURLM *multi;
    struct cfr_http_transfer *first;
    size_t active;
    size_t streams; /* of these, those whose body is read as it arrives */
    bool warm;      /* the first transfer has ended, which starts the TLS library */
    bool stale;     /* what MULTI caches must not be used again */
    struct cfr_http_sockets sockets;
    struct cfr_http_lookups lookups;
    size_t quiet_threads; /* of the process before the first lookup */
    bool moved;           /* a transfer may have ended outside of cfr_http_step */
    struct cfr_http_trust trust;
    char *no_proxy;
    struct curl_waitfd *wait;
    size_t wait_cap;
};

/* A stream occupies its connection for minutes, so that each has one on top of the limits. */
static void limit_connections(CURLM *m, size_t streams)
{
    (void)curl_multi_setopt(m, CURLMOPT_MAX_HOST_CONNECTIONS, HOST_CONNECTIONS_MAX + (long)streams);
    (void)curl_multi_setopt(m, CURLMOPT_MAX_TOTAL_CONNECTIONS, CONNECTIONS_MAX + (long)streams);
}

static CURLM *make_multi(void)
{
    CURLM *m = curl_multi_init();

    if (m == NULL)
        return NULL;
    limit_connections(m, 0);
    (void)curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
#if LIBCURL_VERSION_NUM >= 0x081400 /* its lookups belong to the multi handle, and the rest waits for these threads */
    (void)curl_multi_setopt(m, CURLMOPT_RESOLVE_THREADS_MAX, (long)CFR_HTTP_LOOKUPS_MAX);
    (void)curl_multi_setopt(m, CURLMOPT_QUICK_EXIT, 1L);
#endif
    return m;
}

int cfr_http_open(struct cfr_http **out, struct cfr_err *err)
{
    struct cfr_http *h;

    *out = NULL;
    if (!cfr_http_crypto_wipe())
        return cfr_err_set(err, CFR_E_INTERNAL, "the TLS library was used before the HTTP engine was opened");
    /* libcurl does not check whether OpenSSL had the memory to start, and crashes later without it. */
    if (!cfr_http_crypto_start())
        return cfr_err_nomem(err);
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, cfr_wipealloc_malloc, cfr_wipealloc_free, cfr_wipealloc_realloc,
                             cfr_wipealloc_strdup, cfr_wipealloc_calloc) != CURLE_OK)
        return cfr_err_set(err, CFR_E_INTERNAL, "the HTTP library does not start");
    (void)signal(SIGPIPE, SIG_IGN);
    h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->quiet_threads = cfr_http_lookup_threads();
        h->multi = make_multi();
        h->no_proxy = cfr_http_setup_no_proxy();
    }
    if (h == NULL || h->multi == NULL || h->no_proxy == NULL) {
        cfr_http_close(h);
        if (h == NULL)
            curl_global_cleanup();
        return cfr_err_nomem(err);
    }
    *out = h;
    return 0;
}

static void free_transfer(struct cfr_http_transfer *t)
{
    /* The handle is not reused: it would keep the last request's secrets. */
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    curl_slist_free_all(t->connect_to);
    cfr_secret_free(&t->body);
    cfr_secret_free(&t->kept);
    free(t->host);
    free(t->ca_file);
    free(t);
}

static void unlink_transfer(struct cfr_http *h, struct cfr_http_transfer *t)
{
    (void)curl_multi_remove_handle(h->multi, t->easy);
    if (t->prev != NULL)
        t->prev->next = t->next;
    else
        h->first = t->next;
    if (t->next != NULL)
        t->next->prev = t->prev;
    h->active--;
    if (t->part != NULL)
        limit_connections(h->multi, --h->streams);
}

void cfr_http_close(struct cfr_http *h)
{
    if (h == NULL)
        return;
    while (h->first != NULL)
        cfr_http_cancel(h, h->first);
    (void)curl_multi_cleanup(h->multi);
    cfr_http_sockets_free(&h->sockets);
    cfr_http_trust_free(&h->trust);
    free(h->no_proxy);
    free(h->wait);
    free(h);
    curl_global_cleanup();
}

void cfr_http_cancel(struct cfr_http *h, void *handle)
{
    struct cfr_http_transfer *t = handle;

    if (t == NULL || t->ended)
        return;
    if (cfr_http_is_lookup_open(t))
        cfr_http_lookup_abandon(&h->lookups, t->target);
    unlink_transfer(h, t);
    free_transfer(t);
}

void cfr_http_forget(struct cfr_http *h)
{
    CURLM *fresh;

    h->stale = true;
    /* Caches belong to the multi handle and cannot be emptied, so a new one replaces it when it is idle. */
    if (h->active != 0)
        return;
    fresh = make_multi();
    if (fresh == NULL)
        return;
    (void)curl_multi_cleanup(h->multi);
    h->multi = fresh;
    h->stale = false;
    cfr_http_trust_close_retired(&h->trust);
}

void cfr_http_rest(struct cfr_http *h)
{
    /* Connections hold most of what a storm takes, and no server keeps them until the next one. */
    if (h->active == 0)
        cfr_http_forget(h);
    (void)malloc_trim(0);
}

static int set_up_transfer(struct cfr_http *h, const struct cfr_http_request *r, struct cfr_http_transfer *t,
                           struct cfr_err *err)
{
    struct cfr_http_target to = {.tls = false};
    bool changed = false;
    int rc = cfr_http_target_check(t, r, &to, err);

    if (rc == 0 && r->timeout_ms <= 0)
        rc = cfr_err_set(err, CFR_E_INTERNAL, "%s: a request without a time limit", t->target);
    if (rc == 0)
        rc = cfr_http_setup_trust(t, r, &to, &h->trust, &changed, err);
    if (changed)
        cfr_http_forget(h);
    if (rc != 0)
        return rc;
    (void)snprintf(t->method, sizeof t->method, "%s", r->method);
    t->lookups = &h->lookups;
    t->sockets = &h->sockets;
    t->quiet_threads = h->quiet_threads;
    t->easy = curl_easy_init();
    if (t->easy == NULL)
        return cfr_err_nomem(err);
    rc = cfr_http_setup(t, r, &to, h->no_proxy, h->stale, err);
    if (rc == 0 && curl_multi_add_handle(h->multi, t->easy) != CURLM_OK)
        rc = cfr_err_set(err, CFR_E_NOMEM, "%s: out of memory", t->target);
    return rc;
}

int cfr_http_start(struct cfr_http *h, const struct cfr_http_request *request, cfr_http_done_fn *done, void *ctx,
                   void **handle, struct cfr_err *err)
{
    struct cfr_http_transfer *t = calloc(1, sizeof *t);
    int running = 0;
    int rc;

    if (handle != NULL)
        *handle = NULL;
    if (t == NULL)
        return cfr_err_nomem(err);
    if (h->stale)
        cfr_http_forget(h);
    rc = set_up_transfer(h, request, t, err);
    if (rc != 0) {
        free_transfer(t);
        return rc;
    }
    t->done = done;
    t->ctx = ctx;
    t->part = request->part;
    if (t->part != NULL)
        limit_connections(h->multi, ++h->streams);
    t->next = h->first;
    if (t->next != NULL)
        t->next->prev = t;
    h->first = t;
    h->active++;
    if (handle != NULL)
        *handle = t;
    /* On an open connection the request is sent now, and not after another turn of the loop. */
    (void)curl_multi_perform(h->multi, &running);
    h->moved = h->moved || running < (int)h->active;
    return 0;
}

static void call_done(struct cfr_http_transfer *t, CURLcode code)
{
    struct cfr_http_answer a = {.retry_after_s = -1};
    curl_off_t total_us = 0;

    (void)curl_easy_getinfo(t->easy, CURLINFO_TOTAL_TIME_T, &total_us);
    a.duration_s = (double)total_us / 1e6;
    if (code != CURLE_OK && t->refused.code != 0)
        a.error = cfr_err_set(&a.err, t->refused.code, "%s: %s", t->target, t->refused.text);
    else if (code != CURLE_OK)
        a.error = cfr_http_explain(t, code, &a.err);
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &a.status);
    a.content_type = cfr_view_of(t->head.content_type);
    a.body = cfr_secret_view(&t->body);
    a.request_id = cfr_view_of(t->head.request_id);
    a.warning = cfr_view_of(t->head.warning);
    a.header = cfr_secret_view(&t->kept);
    a.retry_after_s = cfr_http_head_retry_after_s(&t->head, (int64_t)time(NULL));
    a.date_s = t->head.date_s;
    a.renewed = t->renewed;
    /* Neither the path nor the query, which may hold secrets. */
    cfr_log(CFR_LOG_DEBUG, NULL, NULL, "%s %s: %s %ld in %.0f ms", t->method, t->target,
            a.error != 0 ? cfr_err_name(a.error) : "HTTP", a.status, a.duration_s * 1000);
    t->done(t->ctx, &a);
}

/* Wipes the first N bytes, which were read. */
static void drop_front(struct cfr_secret *s, size_t n)
{
    if (n == 0)
        return;
    memmove(s->p, s->p + n, s->len - n);
    cfr_secret_wipe(s->p + s->len - n, n);
    s->len -= n;
}

/* Passes on what has arrived of streams, and lets those go on that wait for it. */
static void pass_parts(struct cfr_http *h)
{
    for (struct cfr_http_transfer *t = h->first; t != NULL; t = t->next) {
        long status = 0;
        size_t used;

        if (t->part == NULL || t->body.len == 0)
            continue;
        (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        used = status == 200 ? t->part(t->ctx, cfr_secret_view(&t->body)) : 0;
        drop_front(&t->body, used);
        if (t->paused) {
            t->paused = false;
            t->unread = used == 0;
            h->moved = true;
            (void)curl_easy_pause(t->easy, CURLPAUSE_CONT);
        }
    }
}

static void collect_finished(struct cfr_http *h)
{
    CURLMsg *msg;
    bool ended = false;
    int left;

    while ((msg = curl_multi_info_read(h->multi, &left)) != NULL) {
        struct cfr_http_transfer *t = NULL;
        CURLcode code = msg->data.result;

        if (msg->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
        if (code == CURLE_OPERATION_TIMEDOUT && cfr_http_is_lookup_open(t))
            cfr_http_lookup_abandon(&h->lookups, t->target);
        unlink_transfer(h, t);
        t->ended = true;
        ended = true;
        call_done(t, code);
        free_transfer(t);
    }
    if (h->active != 0)
        return;
    if (h->stale)
        cfr_http_forget(h);
    if (ended && !h->warm)
        (void)malloc_trim(0);
    h->warm = h->warm || ended;
}

static int fill_wait_list(struct cfr_http *h, const struct pollfd *fds, size_t count, struct cfr_err *err)
{
    if (count > h->wait_cap) {
        struct curl_waitfd *wait = realloc(h->wait, count * sizeof *wait);

        if (wait == NULL)
            return cfr_err_nomem(err);
        h->wait = wait;
        h->wait_cap = count;
    }
    for (size_t i = 0; i < count; i++) {
        short events = 0;

        events |= (fds[i].events & POLLIN) != 0 ? CURL_WAIT_POLLIN : 0;
        events |= (fds[i].events & POLLPRI) != 0 ? CURL_WAIT_POLLPRI : 0;
        events |= (fds[i].events & POLLOUT) != 0 ? CURL_WAIT_POLLOUT : 0;
        h->wait[i] = (struct curl_waitfd){.fd = fds[i].fd, .events = events};
    }
    return 0;
}

/* Sets revents of our own descriptors from the result of the wait. READY: how many descriptors it found, with
 * libcurl's.
 */
static void read_revents(const struct cfr_http *h, struct pollfd *fds, size_t count, int ready)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        fds[i].revents = 0;
        if ((h->wait[i].revents & CURL_WAIT_POLLIN) != 0)
            fds[i].revents |= POLLIN;
        if ((h->wait[i].revents & CURL_WAIT_POLLPRI) != 0)
            fds[i].revents |= POLLPRI;
        if ((h->wait[i].revents & CURL_WAIT_POLLOUT) != 0)
            fds[i].revents |= POLLOUT;
        any = any || fds[i].revents != 0;
    }
    /* libcurl does not pass on POLLHUP and POLLERR, which would then be missed indefinitely. */
    if (!any && ready != 0 && count != 0)
        (void)poll(fds, count, 0);
}

static int report_multi_error(CURLMcode code, struct cfr_err *err)
{
    return cfr_err_set(err, code == CURLM_OUT_OF_MEMORY ? CFR_E_NOMEM : CFR_E_INTERNAL, "the HTTP engine: %s",
                       curl_multi_strerror(code));
}

/* They would keep what is cached from being forgotten. */
static void end_streams(struct cfr_http *h)
{
    struct cfr_http_transfer *t;

    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list before */
    while ((t = h->first) != NULL && t->part != NULL) {
        unlink_transfer(h, t);
        t->ended = true;
        t->renewed = true;
        (void)cfr_err_set(&t->refused, CFR_E_NET, "the connection is renewed");
        call_done(t, CURLE_ABORTED_BY_CALLBACK);
        free_transfer(t);
    }
    if (h->active == 0)
        cfr_http_forget(h);
}

int cfr_http_step(struct cfr_http *h, struct pollfd *fds, size_t count, int64_t timeout_ms, struct cfr_err *err)
{
    int ms = timeout_ms < 0 || timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
    int ready = 0;
    int running;
    CURLMcode code;
    int rc = fill_wait_list(h, fds, count, err);

    if (rc != 0)
        return rc;
    code = curl_multi_poll(h->multi, h->wait, (unsigned)count, h->moved ? 0 : ms, &ready);
    h->moved = false;
    if (code != CURLM_OK)
        return report_multi_error(code, err);
    read_revents(h, fds, count, ready);
    code = curl_multi_perform(h->multi, &running);
    if (code != CURLM_OK)
        return report_multi_error(code, err);
    pass_parts(h);
    collect_finished(h);
    if (h->stale && h->streams != 0 && h->active == h->streams)
        end_streams(h);
    return 0;
}

int cfr_http_run(struct cfr_http *h, const bool *done, int64_t end_boot_ms, struct cfr_err *err)
{
    int rc = 0;

    while (rc == 0 && !*done) {
        int64_t left_ms = end_boot_ms - cfr_clock_now().boot_ms;

        if (left_ms <= 0)
            return cfr_err_set(err, CFR_E_TIMEOUT, "no answer in time");
        rc = cfr_http_step(h, NULL, 0, left_ms < RUN_STEP_MS ? left_ms : RUN_STEP_MS, err);
        cfr_loop_children();
        cfr_loop_run(cfr_clock_now().boot_ms);
    }
    return rc;
}

const char *cfr_http_library(void)
{
    return curl_version_info(CURLVERSION_NOW)->version;
}
