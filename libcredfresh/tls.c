/* SPDX-License-Identifier: MIT */
/* The follower of a TLS set: opens the directories, joins their parts into the set in use, and reports. */
#include "tls_hook.h"
#include "tls_source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { SOURCES_MAX = 2 };

struct credfresh_tls {
    struct cfl_tls_source sources[SOURCES_MAX]; /* the key pair's first */
    size_t source_count;
    struct cfl_tls_live *live;
    SSL_CTX *ctx;
    unsigned int hooks;
    unsigned int flags;
    int fd;       /* epoll: the watchers and the timer */
    int timer_fd; /* for a certificate that is not valid yet */
    pid_t pid;    /* whose descriptors these are */
    credfresh_tls_change_fn *on_change;
    void *context;
    pthread_mutex_t lock; /* of STATUS, which other threads ask for */
    struct credfresh_tls_status status;
};

static int __attribute__((format(printf, 4, 5))) set_error(char *text, size_t size, int code, const char *fmt, ...)
{
    va_list args;

    if (size == 0)
        return code;
    va_start(args, fmt);
    (void)vsnprintf(text, size, fmt, args);
    va_end(args);
    return code;
}

/* ---- descriptors ---- */

static int add_fd(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int make_epoll(const struct credfresh_tls *tls)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    bool ok = fd >= 0 && add_fd(fd, tls->timer_fd) == 0;

    for (size_t i = 0; ok && i < tls->source_count; i++)
        ok = add_fd(fd, credfresh_fd(tls->sources[i].watch)) == 0;
    if (!ok && fd >= 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static void set_timer(const struct credfresh_tls *tls)
{
    struct itimerspec when = {0};
    uint64_t rings = 0;

    (void)!read(tls->timer_fd, &rings, sizeof rings);
    for (size_t i = 0; i < tls->source_count; i++) {
        time_t again_s = (time_t)tls->sources[i].again_s;

        if (again_s != 0 && (when.it_value.tv_sec == 0 || again_s < when.it_value.tv_sec))
            when.it_value.tv_sec = again_s;
    }
    (void)timerfd_settime(tls->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* ---- options ---- */

static int read_options(struct credfresh_tls_options *o, const struct credfresh_tls_options *given, char *text,
                        size_t size)
{
    const unsigned known =
        CREDFRESH_TLS_ALLOW_EXPIRED | CREDFRESH_TLS_WAIT | CREDFRESH_TLS_KEEP_SESSIONS | CREDFRESH_TLS_POLL_ONLY;

    if (given == NULL || given->struct_size < offsetof(struct credfresh_tls_options, ca_directory)) {
        (void)set_error(text, size, CREDFRESH_E_INVALID, "the options are missing, or their struct_size is not set");
        return CREDFRESH_E_INVALID;
    }
    for (size_t i = sizeof *o; i < given->struct_size; i++)
        if (((const unsigned char *)given)[i] != 0) {
            (void)set_error(text, size, CREDFRESH_E_INVALID,
                            "the options ask for what libcredfresh-tls %s does not know: use a newer one",
                            credfresh_version());
            return CREDFRESH_E_INVALID;
        }
    memcpy(o, given, given->struct_size < sizeof *o ? given->struct_size : sizeof *o);
    o->cert_name = o->cert_name != NULL ? o->cert_name : "tls.crt";
    o->key_name = o->key_name != NULL ? o->key_name : "tls.key";
    o->ca_name = o->ca_name != NULL ? o->ca_name : "ca.crt";
    if ((o->flags & ~known) != 0)
        return set_error(text, size, CREDFRESH_E_INVALID, "flags: 0x%x are unknown", o->flags & ~known);
    if (o->cert_name[0] == '\0' && o->ca_name[0] == '\0')
        return set_error(text, size, CREDFRESH_E_INVALID,
                         "cert_name and ca_name are both empty: there is nothing to follow");
    if (o->cert_name[0] != '\0' && o->key_name[0] == '\0')
        return set_error(text, size, CREDFRESH_E_INVALID, "key_name is empty: a certificate needs its key");
    if (o->cert_name[0] != '\0' && o->directory == NULL)
        return set_error(text, size, CREDFRESH_E_INVALID, "directory is not set");
    if (o->directory == NULL && o->ca_directory == NULL)
        return set_error(text, size, CREDFRESH_E_INVALID, "neither directory nor ca_directory is set");
    return 0;
}

/* Certificate, key and bundle may be in one file, which is followed once. */
static int copy_name(char **to, const char *name, const char **names, size_t *count)
{
    bool followed = false;

    *to = strdup(name);
    if (*to == NULL)
        return CREDFRESH_E_NOMEM;
    for (size_t i = 0; i < *count; i++)
        followed = followed || strcmp(names[i], name) == 0;
    if (!followed)
        names[(*count)++] = *to;
    return 0;
}

/* Adds a directory of which the key pair, the bundle or both are followed. */
static int add_source(struct credfresh_tls *tls, const struct credfresh_tls_options *o, const char *directory,
                      bool pair, bool trust, char *text, size_t size)
{
    struct cfl_tls_source *source = &tls->sources[tls->source_count];
    const char *names[3] = {0};
    struct credfresh_options watch = CREDFRESH_OPTIONS_INIT;
    int rc = 0;

    if (pair)
        rc = copy_name(&source->cert_name, o->cert_name, names, &watch.name_count);
    if (pair && rc == 0)
        rc = copy_name(&source->key_name, o->key_name, names, &watch.name_count);
    if (trust && rc == 0)
        rc = copy_name(&source->ca_name, o->ca_name, names, &watch.name_count);
    if (rc != 0)
        return set_error(text, size, rc, "no memory");
    watch.flags = (o->flags & CREDFRESH_TLS_POLL_ONLY) != 0 ? CREDFRESH_POLL_ONLY : 0;
    watch.check_ms = o->check_ms;
    watch.poll_ms = o->poll_ms;
    watch.names = names;
    rc = credfresh_open(&source->watch, directory, &watch, text, size);
    source->fresh = true;
    if (rc == 0)
        tls->source_count++;
    return rc;
}

static int add_sources(struct credfresh_tls *tls, const struct credfresh_tls_options *o, char *text, size_t size)
{
    bool pair = o->cert_name[0] != '\0';
    bool trust = o->ca_name[0] != '\0';
    bool apart = trust && o->ca_directory != NULL;
    int rc = 0;

    tls->hooks = (pair ? CFL_TLS_HOOK_PAIR : 0u) | (trust ? CFL_TLS_HOOK_TRUST : 0u);
    if (pair || !apart)
        rc = add_source(tls, o, o->directory, pair, trust && !apart, text, size);
    if (rc == 0 && apart)
        rc = add_source(tls, o, o->ca_directory, false, true, text, size);
    return rc;
}

/* ---- the set in use ---- */

static bool put_into_use(struct credfresh_tls *tls, struct cfl_tls_source *newest, int64_t now_s)
{
    struct cfl_tls_set *set = NULL;

    for (size_t i = 0; i < tls->source_count; i++) {
        if (tls->sources[i].good == NULL)
            return false; /* the other directory has nothing yet */
    }
    set = tls->source_count == 1 ? cfl_tls_set_ref(tls->sources[0].good)
                                 : cfl_tls_set_join(tls->sources[0].good, tls->sources[1].good);
    if (set == NULL) {
        newest->again_s = now_s + 1;
        return false;
    }
    cfl_tls_live_swap(tls->live, set);
    return true;
}

static void describe_watch(const struct credfresh_tls *tls, struct credfresh_tls_status *status)
{
    status->watch_text[0] = '\0';
    for (size_t i = 0; i < tls->source_count; i++) {
        struct credfresh_status watch = {.struct_size = sizeof watch};

        if (credfresh_status(tls->sources[i].watch, &watch) != 0)
            continue;
        if (watch.kind == CREDFRESH_KIND_FROZEN)
            (void)snprintf(status->watch_text, sizeof status->watch_text, "%s", watch.error_text);
        else if (watch.mode == CREDFRESH_MODE_POLLING && status->watch_text[0] == '\0')
            (void)snprintf(status->watch_text, sizeof status->watch_text, "%s", watch.mode_reason);
    }
}

/* The newest event decides the counters; the code is that of the first directory which has something to complain of. */
static int report(struct credfresh_tls *tls, enum cfl_tls_event event)
{
    struct credfresh_tls_status status;
    const struct cfl_tls_verdict *said = cfl_tls_source_verdict(&tls->sources[0]);

    if (said->code == 0 && tls->source_count > 1)
        said = cfl_tls_source_verdict(&tls->sources[1]);
    (void)pthread_mutex_lock(&tls->lock);
    tls->status.code = said->code;
    memcpy(tls->status.text, said->text, sizeof tls->status.text);
    tls->status.taken += event == CFL_TLS_TAKEN ? 1 : 0;
    tls->status.refused += event == CFL_TLS_REFUSED ? 1 : 0;
    if (event == CFL_TLS_TAKEN) {
        tls->status.generation = tls->sources[0].generation;
        tls->status.not_after_s = tls->sources[0].cert_name != NULL ? tls->sources[0].good->not_after_s : 0;
    }
    describe_watch(tls, &tls->status);
    status = tls->status;
    (void)pthread_mutex_unlock(&tls->lock);
    if (event != CFL_TLS_NOTHING && tls->on_change != NULL)
        tls->on_change(tls, &status, tls->context);
    return event == CFL_TLS_TAKEN ? 1 : status.code;
}

static int refresh_sources(struct credfresh_tls *tls)
{
    int64_t now_s = (int64_t)time(NULL);
    int rc = 0;
    int taken = 0;

    for (size_t i = 0; i < tls->source_count; i++) {
        enum cfl_tls_event event = cfl_tls_source_refresh(&tls->sources[i], tls->ctx, tls->flags, now_s);
        int said = 0;

        if (event == CFL_TLS_TAKEN && !put_into_use(tls, &tls->sources[i], now_s))
            event = CFL_TLS_NOTHING;
        said = report(tls, event);
        taken = said > 0 ? 1 : taken;
        rc = event == CFL_TLS_REFUSED ? said : rc;
    }
    set_timer(tls);
    return rc < 0 ? rc : taken;
}

/* ---- the public functions ---- */

static int make_context(struct credfresh_tls *tls)
{
    tls->live = cfl_tls_live_new();
    tls->ctx = tls->live != NULL ? SSL_CTX_new(TLS_method()) : NULL;
    if (tls->ctx == NULL || SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION) != 1)
        return CREDFRESH_TLS_E_OPENSSL;
    (void)SSL_CTX_set_options(tls->ctx, SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_mode(tls->ctx, SSL_MODE_NO_AUTO_CHAIN); /* the chain is what the file says */
    (void)SSL_CTX_set_dh_auto(tls->ctx, 1);
    if ((tls->hooks & CFL_TLS_HOOK_TRUST) != 0)
        SSL_CTX_set_verify(tls->ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return cfl_tls_hook_attach(tls->ctx, tls->live, tls->hooks);
}

/* Without any verdict: a directory that keeps changing gives no snapshot to verify. */
static int report_no_verdict(const struct credfresh_tls *tls, char *text, size_t size)
{
    for (size_t i = 0; i < tls->source_count; i++) {
        struct credfresh_status watch = {.struct_size = sizeof watch};

        if (credfresh_status(tls->sources[i].watch, &watch) == 0 && watch.error != 0)
            return set_error(text, size, watch.error, "%s", watch.error_text);
    }
    return set_error(text, size, CREDFRESH_E_NOMEM, "no memory");
}

static int start(struct credfresh_tls *tls, const struct credfresh_tls_options *o, char *text, size_t size)
{
    int rc = add_sources(tls, o, text, size);

    if (rc != 0)
        return rc;
    rc = make_context(tls);
    if (rc != 0)
        return set_error(text, size, rc, "OpenSSL could not make a context");
    tls->timer_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    tls->fd = tls->timer_fd >= 0 ? make_epoll(tls) : -1;
    if (tls->fd < 0)
        return set_error(text, size, CREDFRESH_E_LIMIT, "cannot get a descriptor: %s", strerror(errno));
    (void)refresh_sources(tls);
    if (tls->status.taken == 0 && (o->flags & CREDFRESH_TLS_WAIT) == 0)
        return tls->status.code == 0 ? report_no_verdict(tls, text, size)
                                     : set_error(text, size, tls->status.code, "%s", tls->status.text);
    tls->on_change = o->on_change;
    tls->context = o->context;
    return 0;
}

int credfresh_tls_open(struct credfresh_tls **out, const struct credfresh_tls_options *options, char *text,
                       size_t text_size)
{
    struct credfresh_tls_options o = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;
    int rc = read_options(&o, options, text, text_size);

    *out = NULL;
    if (rc != 0)
        return rc;
    tls = calloc(1, sizeof *tls);
    if (tls == NULL || pthread_mutex_init(&tls->lock, NULL) != 0) {
        free(tls);
        return set_error(text, text_size, CREDFRESH_E_NOMEM, "no memory");
    }
    tls->fd = -1;
    tls->timer_fd = -1;
    tls->pid = getpid();
    tls->flags = o.flags;
    tls->status.struct_size = sizeof tls->status;
    rc = start(tls, &o, text, text_size);
    if (rc == 0)
        *out = tls;
    else
        credfresh_tls_close(tls);
    return rc;
}

void credfresh_tls_close(struct credfresh_tls *tls)
{
    if (tls == NULL)
        return;
    if (tls->fd >= 0)
        (void)close(tls->fd);
    if (tls->timer_fd >= 0)
        (void)close(tls->timer_fd);
    for (size_t i = 0; i < SOURCES_MAX; i++) {
        struct cfl_tls_source *source = &tls->sources[i];

        credfresh_close(source->watch);
        cfl_tls_set_unref(source->good);
        free(source->cert_name);
        free(source->key_name);
        free(source->ca_name);
    }
    SSL_CTX_free(tls->ctx);
    cfl_tls_live_unref(tls->live);
    (void)pthread_mutex_destroy(&tls->lock);
    free(tls);
}

SSL_CTX *credfresh_tls_ctx(struct credfresh_tls *tls)
{
    return tls->ctx;
}

int credfresh_tls_follow(struct credfresh_tls *tls, SSL_CTX *ctx)
{
    return cfl_tls_hook_attach(ctx, tls->live, tls->hooks);
}

int credfresh_tls_fd(const struct credfresh_tls *tls)
{
    return tls->fd;
}

int credfresh_tls_after_fork(struct credfresh_tls *tls)
{
    int timer = -1;
    int epoll = -1;
    int rc = 0;

    if (tls->pid == getpid())
        return 0;
    cfl_tls_live_after_fork(tls->live);
    (void)pthread_mutex_init(&tls->lock, NULL);
    for (size_t i = 0; i < tls->source_count; i++)
        tls->sources[i].fresh = credfresh_after_fork(tls->sources[i].watch) > 0 || tls->sources[i].fresh;
    timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer >= 0 && dup3(timer, tls->timer_fd, O_CLOEXEC) >= 0)
        epoll = make_epoll(tls);
    if (epoll < 0 || dup3(epoll, tls->fd, O_CLOEXEC) < 0)
        rc = CREDFRESH_E_LIMIT;
    if (timer >= 0)
        (void)close(timer);
    if (epoll >= 0)
        (void)close(epoll);
    if (rc == 0)
        tls->pid = getpid();
    return rc != 0 ? rc : refresh_sources(tls);
}

int credfresh_tls_dispatch(struct credfresh_tls *tls)
{
    return tls->pid == getpid() ? refresh_sources(tls) : credfresh_tls_after_fork(tls);
}

void credfresh_tls_status(struct credfresh_tls *tls, struct credfresh_tls_status *status)
{
    size_t size = status->struct_size < sizeof *status ? status->struct_size : sizeof *status;

    (void)pthread_mutex_lock(&tls->lock);
    memcpy(status, &tls->status, size);
    (void)pthread_mutex_unlock(&tls->lock);
    if (size >= sizeof status->struct_size)
        status->struct_size = size;
}
