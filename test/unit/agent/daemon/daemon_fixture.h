/* SPDX-License-Identifier: MIT */
/* Workers, a clock and a log that a test controls, in place of the real ones: everything of agent/worker/worker.h, so
 * that none of that room is linked. Link with ${daemon_wraps}. */
#ifndef TEST_DAEMON_FIXTURE_H
#define TEST_DAEMON_FIXTURE_H

#include "agent/daemon/daemon_private.h"
#include "agent/hook/hook.h"
#include "agent/loop/loop.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "files_scratch.h"
#include "unit.h"

#include <poll.h>

struct cfr_worker {
    const struct cfr_config_credential *config;
    bool is_ready;
    bool is_optional;
    bool is_heap;
    bool saw_history; /* it got the history of its predecessor */
    enum cfr_worker_outcome outcome;
    const char *error;
    const char *admin; /* the credential that it needs */
    unsigned wanted;
    unsigned looked;
    unsigned told; /* that a credential has something new for rotations */
    uint64_t generation;
    int rotate_rc;
    char reason[CFR_API_ROUTES_REASON_MAX + 1];
    const struct cfr_grant *grant;
    struct cfr_worker_kept *kept;
};

struct cfr_worker_kept {
    int unused;
};

static struct cfr_now test_now;
static char test_log[65536];    /* "WARN name: text\n" for each line */
static char test_events[65536]; /* "open a, " for each call that changes a worker */
static char test_notified[4096];
static bool test_is_notified = true; /* there is a service manager */
static const char *test_fails_open;  /* the credential whose worker cannot be opened */

struct cfr_now __wrap_cfr_clock_now(void);
void __wrap_cfr_log(enum cfr_log_level level, const char *credential, const char *state, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void __wrap_cfr_sd_notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void __wrap_cfr_sd_notify_status(bool ready, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool __wrap_cfr_sd_notify_is_on(void);
void __wrap_cfr_http_forget(struct cfr_http *h);

struct cfr_now __wrap_cfr_clock_now(void)
{
    return test_now;
}

/* Runs the tasks that are due, and those whose descriptor is readable. */
static inline void run_loop(void)
{
    struct pollfd *fds;
    int turns = 0;

    do {
        size_t n = cfr_loop_prepare(&fds);

        (void)poll(fds, n, 0);
        cfr_loop_run(test_now.boot_ms);
        assert_true(++turns < 1000);
    } while (cfr_loop_next() <= test_now.boot_ms);
}

/* Runs the loop for MS by its clock. */
static inline void pass_ms(int64_t ms)
{
    int64_t end_ms = test_now.boot_ms + ms;

    while (test_now.boot_ms < end_ms) {
        int64_t next_ms = cfr_loop_next() < end_ms ? cfr_loop_next() : end_ms;
        int64_t step_ms = next_ms > test_now.boot_ms ? next_ms - test_now.boot_ms : 0;

        test_now.boot_ms += step_ms;
        test_now.wall_ms += step_ms;
        run_loop();
    }
}

__attribute__((format(printf, 3, 0))) static inline void add_text(char *to, size_t size, const char *fmt, va_list ap)
{
    size_t n = strlen(to);

    (void)vsnprintf(to + n, size - n, fmt, ap);
}

void __wrap_cfr_log(enum cfr_log_level level, const char *credential, const char *state, const char *fmt, ...)
{
    static const char *const levels[] = {"ERROR", "WARN", "INFO", "DEBUG"};
    size_t n = strlen(test_log);
    va_list ap;

    (void)state;
    (void)snprintf(test_log + n, sizeof test_log - n, "%s %s%s", levels[level], credential != NULL ? credential : "",
                   credential != NULL ? ": " : "");
    va_start(ap, fmt);
    add_text(test_log, sizeof test_log - 2, fmt, ap);
    va_end(ap);
    (void)strcat(test_log, "\n");
}

static inline void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_text(test_events, sizeof test_events - 2, fmt, ap);
    va_end(ap);
    (void)strcat(test_events, ", ");
}

void __wrap_cfr_sd_notify(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_text(test_notified, sizeof test_notified - 2, fmt, ap);
    va_end(ap);
    (void)strcat(test_notified, "\n");
}

void __wrap_cfr_sd_notify_status(bool ready, const char *fmt, ...)
{
    va_list ap;

    (void)strcat(test_notified, ready ? "READY=1 " : "");
    va_start(ap, fmt);
    add_text(test_notified, sizeof test_notified - 2, fmt, ap);
    va_end(ap);
    (void)strcat(test_notified, "\n");
}

bool __wrap_cfr_sd_notify_is_on(void)
{
    return test_is_notified;
}

void __wrap_cfr_http_forget(struct cfr_http *h)
{
    (void)h;
}

/* Forgets what was logged, noted and notified so far. */
static inline void forget(void)
{
    test_log[0] = test_events[0] = test_notified[0] = '\0';
}

static inline int begin_test(void **state)
{
    (void)state;
    forget();
    test_now = (struct cfr_now){.wall_ms = INT64_C(1767326645000), .boot_ms = 1000000};
    test_is_notified = true;
    test_fails_open = NULL;
    return 0;
}

/* ---- agent/worker/worker.h ---- */

int cfr_worker_open(struct cfr_host *host, const struct cfr_config_credential *config, struct cfr_worker **out,
                    struct cfr_err *err)
{
    (void)host;
    *out = NULL;
    if (test_fails_open != NULL && strcmp(config->name, test_fails_open) == 0)
        return cfr_err_nomem(err);
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    (*out)->config = config;
    (*out)->is_heap = true;
    note("open %s", config->name);
    return 0;
}

void cfr_worker_close(struct cfr_worker *w)
{
    note("close %s", w->config->name);
    cfr_worker_free_kept(w->kept);
    if (w->is_heap)
        free(w);
}

void cfr_worker_start(struct cfr_worker *w)
{
    note("start %s", w->config->name);
}

int cfr_worker_rebind(struct cfr_worker *w, const struct cfr_config_credential *config, struct cfr_err *err)
{
    (void)err;
    w->config = config;
    note("rebind %s", config->name);
    return 0;
}

void cfr_worker_abandon(const struct cfr_worker *w)
{
    note("abandon %s", w->config->name);
}

struct cfr_worker_kept *cfr_worker_take_kept(struct cfr_worker *w)
{
    note("take %s", w->config->name);
    return calloc(1, sizeof(struct cfr_worker_kept));
}

void cfr_worker_give_kept(struct cfr_worker *w, struct cfr_worker_kept *kept)
{
    if (kept != NULL)
        note("give %s", w->config->name);
    w->kept = kept;
}

void cfr_worker_free_kept(struct cfr_worker_kept *kept)
{
    free(kept);
}

struct cfr_api_history cfr_worker_history(const struct cfr_worker *w)
{
    (void)w;
    return (struct cfr_api_history){.newest = 7};
}

void cfr_worker_give_history(struct cfr_worker *w, const struct cfr_api_history *history)
{
    w->saw_history = history->newest == 7;
}

int cfr_worker_rotate(struct cfr_worker *w, const char *reason, uint64_t *replaces, struct cfr_err *err)
{
    (void)snprintf(w->reason, sizeof w->reason, "%s", reason);
    *replaces = w->generation;
    note("rotate %s", w->config->name);
    return w->rotate_rc == 0 ? 0 : cfr_err_set(err, w->rotate_rc, "not now");
}

void cfr_worker_offer(struct cfr_worker *w, struct cfr_offer *out)
{
    *out = (struct cfr_offer){.credential = w->config->name, .grant = w->grant};
}

void cfr_worker_want(struct cfr_worker *w)
{
    w->wanted++;
}

const struct cfr_config_credential *cfr_worker_config(const struct cfr_worker *w)
{
    return w->config;
}

const char *cfr_worker_state_name(const struct cfr_worker *w)
{
    return w->is_ready ? "fresh" : "waiting";
}

bool cfr_worker_is_ready(const struct cfr_worker *w)
{
    return w->is_ready;
}

bool cfr_worker_counts(const struct cfr_worker *w)
{
    return !w->is_optional;
}

bool cfr_worker_needs(const struct cfr_worker *w, const char *name)
{
    return w->admin != NULL && strcmp(w->admin, name) == 0;
}

void cfr_worker_dependency_changed(struct cfr_worker *w, const char *name)
{
    w->told += w->admin != NULL && strcmp(w->admin, name) == 0 ? 1 : 0;
}

const char *cfr_worker_error(const struct cfr_worker *w)
{
    return w->error;
}

enum cfr_worker_outcome cfr_worker_outcome(const struct cfr_worker *w)
{
    return w->outcome;
}

void cfr_worker_look_soon(struct cfr_worker *w)
{
    w->looked++;
}

void cfr_worker_status(struct cfr_worker *w, struct cfr_now now, struct cfr_api_status_credential *out)
{
    (void)now;
    *out = (struct cfr_api_status_credential){.name = w->config->name,
                                              .state = cfr_worker_state_name(w),
                                              .provider = "token",
                                              .source = "file",
                                              .required = !w->is_optional,
                                              .published = w->is_ready,
                                              .generation = w->generation,
                                              .error = w->error,
                                              .history = NULL};
}

void cfr_worker_serve_queue(struct cfr_host *host)
{
    (void)host;
    note("serve queue");
}

/* What only the loop calls. */

void cfr_worker_watch(struct cfr_worker *w)
{
    (void)w;
}

void cfr_worker_resume(struct cfr_worker *w, const struct cfr_kube_where *where)
{
    (void)w;
    (void)where;
}

bool cfr_worker_is_saving(const struct cfr_worker *w)
{
    (void)w;
    return false;
}

bool cfr_worker_is_saved(struct cfr_worker *w)
{
    (void)w;
    return true;
}

void cfr_worker_on_source(struct cfr_worker *w)
{
    (void)w;
}

void cfr_worker_on_child(struct cfr_worker *w)
{
    (void)w;
}

void cfr_worker_on_clock(struct cfr_worker *w)
{
    (void)w;
}

void cfr_worker_on_tick(struct cfr_worker *w)
{
    (void)w;
}

bool cfr_worker_queue_ready(const struct cfr_host *host)
{
    (void)host;
    return false;
}

bool cfr_worker_is_busy(const struct cfr_worker *w)
{
    (void)w;
    return false;
}

/* ---- an agent with such workers ---- */

#define WORKERS_MAX 64

static struct cfr_worker test_workers[WORKERS_MAX];
static struct cfr_worker *test_list[WORKERS_MAX];
static struct cfr_config_credential test_credentials[WORKERS_MAX];

/* An agent with COUNT workers that are not ready, named as NAMES says. */
static inline struct cfr_daemon agent_with(char *const *names, size_t count)
{
    static struct cfr_config config;

    for (size_t i = 0; i < count; i++) {
        test_credentials[i] = (struct cfr_config_credential){.name = names[i]};
        test_workers[i] = (struct cfr_worker){.config = &test_credentials[i]};
        test_list[i] = &test_workers[i];
    }
    return (struct cfr_daemon){.config = &config, .workers = test_list, .count = count};
}

static inline const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* Writes TEXT to `config.yaml` in the scratch directory; each @ in it becomes that directory. */
static inline void put_config(const char *text)
{
    static char whole[65536];
    size_t n = 0;

    for (const char *at = text; *at != '\0'; at++)
        n += (size_t)snprintf(whole + n, sizeof whole - n, "%.*s", *at == '@' ? (int)strlen(scratch) : 1,
                              *at == '@' ? scratch : at);
    put(in("config.yaml"), whole);
}

/* Writes TEXT as put_config does, and loads it. */
static inline struct cfr_config *load_text(const char *text)
{
    struct cfr_config *config = NULL;
    struct cfr_str all = {.limit = 65536};

    put_config(text);
    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    if (cfr_config_load(in("config.yaml"), no_env, &config, &all, NULL) != 0)
        fail_msg("refused: %s\n%s", all.p, text);
    cfr_str_free(&all);
    return config;
}

#endif
