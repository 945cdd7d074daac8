/* SPDX-License-Identifier: MIT */
/* The agent: its start, its loop and its end. */
#include "agent/daemon/daemon.h"

#include "agent/cli/command.h"
#include "agent/cli/exit.h"
#include "agent/daemon/commands_private.h"
#include "agent/daemon/daemon_private.h"
#include "agent/daemon/modules_private.h"
#include "agent/loop/env.h"
#include "agent/loop/launcher.h"
#include "agent/loop/log_file.h"
#include "agent/loop/sd_notify.h"
#include "agent/loop/slow_file.h"
#include "agent/loop/slow_state.h"
#include "agent/daemon/lookup_private.h"
#include "agent/source/token_file.h"
#include "base/err.h"
#include "base/json.h"
#include "base/finding.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ONCE_HOOK_ATTEMPTS 3
#define SAVE_MS            1000 /* for records that are being written when the agent ends */
#define ANSWER_MS          1000 /* for clients that are connected when the listeners close to send and get an answer */

void cfr_daemon_set_log(const struct cfr_daemon *a, const struct cfr_config *config)
{
    const struct cfr_daemon_options *o = &a->options;
    const struct cfr_config_log *log = config != NULL ? config->log : NULL;
    enum cfr_log_level level = log != NULL ? (enum cfr_log_level)log->level : CFR_LOG_INFO;
    enum cfr_log_format format = log != NULL ? (enum cfr_log_format)log->format : CFR_LOG_TEXT;
    size_t columns;

    cfr_log_setup(o->log_level != NULL ? *o->log_level : level, o->log_format != NULL ? *o->log_format : format,
                  cfr_sd_notify_to_journal());
    columns = cfr_cli_columns(STDERR_FILENO);
    cfr_log_terminal(columns != 0 && cfr_env_get("NO_COLOR") == NULL, columns);
}

static int load(struct cfr_daemon *a, struct cfr_err *err)
{
    struct cfr_str all = {.limit = 16384};
    int rc = cfr_config_load(a->options.config_path, cfr_env_get, &a->config, &all, err);

    if (rc == 0)
        rc = cfr_config_need_credentials(a->options.config_path, a->config, err);
    if (rc != 0) {
        struct cfr_view rest = cfr_str_view(&all);
        struct cfr_view line;

        while (cfr_view_line(&rest, &line))
            cfr_log(CFR_LOG_ERROR, NULL, NULL, "%.*s", (int)line.n, line.p);
        if (all.len == 0)
            cfr_log(CFR_LOG_ERROR, NULL, NULL, "%s", err->text);
    } else {
        cfr_daemon_set_log(a, a->config);
    }
    cfr_str_free(&all);
    return rc;
}

static bool offer(void *ctx, const char *name, struct cfr_offer *out)
{
    return cfr_daemon_offer(ctx, name, out);
}

static void open_watch(struct cfr_daemon *a)
{
    struct cfr_err err = {0};

    if (cfr_daemon_watch_files(a, &err) != 0)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "%s; polling files once a minute", err.text);
}

static bool admin_needed(void *ctx, const char *name)
{
    return cfr_daemon_admin_needed(ctx, name);
}

static void admin_changed(void *ctx, const char *name)
{
    cfr_daemon_admin_changed(ctx, name);
}

/* What waits for an API server waits no longer. */
static void resume(void *ctx, const struct cfr_kube_where *where)
{
    struct cfr_daemon *a = ctx;

    for (size_t i = 0; i < a->count; i++)
        cfr_worker_resume(a->workers[i], where);
    cfr_daemon_modules_resume(a, where);
}

static int open_engines(struct cfr_daemon *a, struct cfr_err *err)
{
    a->host.config = a->config;
    a->host.offer = offer;
    a->host.admin_needed = admin_needed;
    a->host.admin_changed = admin_changed;
    a->host.offer_ctx = a;
    a->host.hook_attempts = a->options.once ? ONCE_HOOK_ATTEMPTS : 0;
    a->host.state_fd = cfr_slow_state_open(a->config->state_dir, CFR_DAEMON_START_MS, &a->state_lock_fd, err);
    if (a->host.state_fd < 0)
        return cfr_err_prefix(err, "state_dir");
    if (!a->options.once)
        open_watch(a);
    if (cfr_daemon_open_loop(a, err) != 0)
        return err->code;
    if (cfr_http_open(&a->host.http, err) != 0)
        return err->code;
    if (cfr_kube_open(a->host.http, &a->host.kube, err) != 0)
        return err->code;
    cfr_kube_on_resume(a->host.kube, resume, a);
    return 0;
}

static int open_control(struct cfr_daemon *a, int64_t patience_ms, struct cfr_httpd_server **out, struct cfr_err *err)
{
    const struct cfr_httpd_options options = {
        .secret = cfr_daemon_endpoints_on_control, .fn = cfr_daemon_on_control, .ctx = a, .patience_ms = patience_ms};
    int rc = cfr_httpd_open(a->config->control_socket, true, &options, out, err);

    if (rc != 0)
        return cfr_err_prefix(err, "control_socket");
    cfr_httpd_set_connections(*out, cfr_daemon_endpoints_spare());
    return 0;
}

void cfr_daemon_keep_control(struct cfr_daemon *a)
{
    struct cfr_httpd_server *fresh;
    struct cfr_err err = {0};

    if (a->control == NULL || cfr_httpd_is_there(a->control)) {
        a->control_lost = false;
        return;
    }
    if (open_control(a, 0, &fresh, &err) != 0) {
        if (!a->control_lost)
            cfr_log(CFR_LOG_ERROR, NULL, NULL, "the control socket was removed and cannot be created again: %s",
                    err.text);
        a->control_lost = true;
        return;
    }
    a->control_lost = false;
    cfr_httpd_close(a->control);
    a->control = fresh;
    cfr_log(CFR_LOG_WARN, NULL, NULL, "the control socket %s was removed; created it again", a->config->control_socket);
}

static int open_endpoints(struct cfr_daemon *a, struct cfr_err *err)
{
    struct cfr_endpoints_plan *plan;
    int rc = cfr_daemon_endpoints_open(a, &a->endpoints, err);

    if (rc == 0)
        rc = cfr_daemon_endpoints_prepare(a->endpoints, a->config, &plan, err);
    if (rc == 0)
        cfr_daemon_endpoints_take(a->endpoints, plan);
    return rc;
}

static int open_servers(struct cfr_daemon *a, struct cfr_err *err)
{
    int rc;

    if (a->options.once)
        return 0;
    rc = open_endpoints(a, err);
    if (rc == 0 && a->config->listen != NULL) {
        rc = cfr_httpd_open_tcp(a->config->listen, cfr_daemon_on_health, a, &a->health, err);
        if (rc == 0)
            cfr_httpd_set_connections(a->health, cfr_daemon_endpoints_spare());
        if (rc == 0)
            cfr_log(CFR_LOG_INFO, NULL, NULL, "status page, health and metrics on http://%s",
                    cfr_httpd_address(a->health));
    }
    /* The control socket comes last: a client that sees it can use the rest, too. */
    return rc == 0 ? open_control(a, CFR_DAEMON_START_MS, &a->control, err) : rc;
}

static int open_workers(struct cfr_daemon *a, struct cfr_err *err)
{
    a->workers = calloc(a->config->credentials.count + 1, sizeof(struct cfr_worker *));
    if (a->workers == NULL)
        return cfr_err_nomem(err);
    if (cfr_daemon_modules_configure(a, a->config, err) != 0)
        return err->code;
    /* Before the workers that need them. */
    cfr_daemon_modules_start(a);
    for (size_t i = 0; i < a->config->credentials.count; i++) {
        struct cfr_worker *w;
        int rc = cfr_worker_open(&a->host, cfr_config_at(a->config, i), &w, err);

        if (rc != 0)
            return rc;
        a->workers[a->count++] = w;
    }
    cfr_daemon_index_workers(a);
    for (size_t i = 0; i < a->count; i++)
        cfr_worker_start(a->workers[i]);
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* `once` has nobody to serve meanwhile. */
static void finish_saving(struct cfr_daemon *a)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int64_t end_ms = cfr_clock_now().boot_ms + SAVE_MS;

    for (size_t i = 0; i < a->count; i++) {
        while (!cfr_worker_is_saved(a->workers[i]) && cfr_clock_now().boot_ms < end_ms)
            (void)nanosleep(&pause, NULL);
    }
}

static void close_all(struct cfr_daemon *a)
{
    if (a->options.once)
        finish_saving(a);
    cfr_daemon_endpoints_close(a->endpoints);
    for (size_t i = 0; i < a->count; i++)
        cfr_worker_close(a->workers[i]);
    free(a->workers);
    free(a->by_name);
    cfr_daemon_modules_close(a);
    if (a->control != NULL)
        cfr_httpd_close(a->control);
    if (a->health != NULL)
        cfr_httpd_close(a->health);
    if (a->host.kube != NULL)
        cfr_kube_close(a->host.kube);
    if (a->host.http != NULL)
        cfr_http_close(a->host.http);
    if (a->host.watch != NULL)
        cfr_watch_close(a->host.watch);
    cfr_daemon_follow(&a->exit_with, NULL, NULL);
    cfr_source_token_file_forget();
    cfr_daemon_close_loop(a);
    close_fd(&a->host.state_fd);
    close_fd(&a->state_lock_fd);
    cfr_config_free(a->config);
    cfr_daemon_confine_free(&a->sandbox);
    cfr_daemon_forgotten_free(a);
    free(a->config_error);
    cfr_daemon_readiness_close(a);
}

/* ---- readiness and ends ---- */

static enum cfr_worker_outcome outcome(const struct cfr_daemon *a)
{
    bool bad = cfr_daemon_modules_are_failing(a);
    bool busy = cfr_daemon_modules_are_busy(a);

    for (size_t i = 0; i < a->count; i++) {
        enum cfr_worker_outcome one = cfr_worker_outcome(a->workers[i]);

        /* It is there for a rotation that is not due. */
        if (cfr_worker_config(a->workers[i])->admin_only && !cfr_worker_counts(a->workers[i]))
            continue;
        bad = bad || one == CFR_WORKER_BAD;
        busy = busy || one == CFR_WORKER_BUSY;
    }
    return busy ? CFR_WORKER_BUSY : bad ? CFR_WORKER_BAD : CFR_WORKER_GOOD;
}

static void report_unfinished(const struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct cfr_worker *w = a->workers[i];
        struct cfr_api_status_credential status;
        const char *why;
        char tries[40] = "";

        /* Every place below count is filled, which the analyzer does not see. */
        if (w == NULL || cfr_worker_outcome(w) == CFR_WORKER_GOOD)
            continue;
        why = cfr_worker_error(w);
        cfr_worker_status(a->workers[i], cfr_clock_now(), &status);
        if (why != NULL && status.failures > 1)
            (void)snprintf(tries, sizeof tries, " after %" PRIu64 " tries", status.failures);
        cfr_log(CFR_LOG_ERROR, cfr_worker_config(w)->name, cfr_worker_state_name(w), "not done%s: %s", tries,
                why != NULL ? why : "a hook did not succeed, or the time was too short");
    }
}

static bool is_busy(const struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (cfr_worker_is_busy(a->workers[i]))
            return true;
    }
    return false;
}

/* True while a connected client has no answer yet. */
static bool owes_answers(const struct cfr_daemon *a)
{
    return (a->control != NULL && cfr_httpd_is_busy(a->control)) ||
           (a->health != NULL && cfr_httpd_is_busy(a->health)) ||
           (a->endpoints != NULL && cfr_daemon_endpoints_busy(a->endpoints));
}

/* Serves on while BUSY says so, up to LIMIT_MS. False if the loop failed. */
static bool serve_while(struct cfr_daemon *a, bool (*busy)(const struct cfr_daemon *a), int64_t limit_ms)
{
    struct cfr_err err = {0};

    a->timed_out = false;
    cfr_loop_at(&a->end, cfr_clock_now().boot_ms + limit_ms);
    while (busy(a) && !a->timed_out) {
        if (cfr_daemon_turn(a, &err) != 0)
            return false;
    }
    return true;
}

static bool is_unfinished(const struct cfr_daemon *a)
{
    return !a->hurry && is_busy(a);
}

/* A disk that is busy is waited for, so that the next run knows what was published. */
static bool is_saving(const struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (cfr_worker_is_saving(a->workers[i]))
            return true;
    }
    return false;
}

/* A publish is whole in any case. */
static void drain(struct cfr_daemon *a)
{
    cfr_sd_notify("STOPPING=1");
    cfr_log(CFR_LOG_INFO, NULL, NULL, "stopping: published files remain%s",
            is_busy(a) ? "; finishing what is in progress first" : "");
    a->host.draining = true;
    cfr_daemon_readiness_close(a);
    /* 1. Finish what is under way. Clients are served meanwhile, and readiness is over. */
    if (!serve_while(a, is_unfinished, a->config->stop_grace_ms))
        return;
    if (!serve_while(a, is_saving, SAVE_MS))
        return;
    /* 2. Close the listeners: a new client is refused at once, and can ask the next agent. */
    if (a->endpoints != NULL)
        cfr_daemon_endpoints_quiesce(a->endpoints);
    if (a->control != NULL)
        cfr_httpd_quiesce(a->control);
    if (a->health != NULL)
        cfr_httpd_quiesce(a->health);
    /* 3. Answer the clients that are connected. */
    (void)serve_while(a, owes_answers, ANSWER_MS);
}

static bool has_error(const struct cfr_daemon *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (cfr_worker_error(a->workers[i]) != NULL)
            return true;
    }
    return false;
}

/* `once` watches files only when it has to wait: at its end the kernel would take several milliseconds to let go of the
 * watches. */
static void watch_late(struct cfr_daemon *a)
{
    open_watch(a);
    for (size_t i = 0; a->host.watch != NULL && i < a->count; i++)
        cfr_worker_watch(a->workers[i]);
}

static int run_loop(struct cfr_daemon *a, struct cfr_err *err)
{
    bool watches = !a->options.once;

    while (!a->stopping) {
        int rc;

        if (!watches && has_error(a)) {
            watches = true;
            watch_late(a);
        }

        cfr_daemon_readiness_report(a);
        if (a->options.once && outcome(a) != CFR_WORKER_BUSY)
            return outcome(a) == CFR_WORKER_GOOD ? CFR_EXIT_OK : CFR_EXIT_FAILED;
        if (a->timed_out)
            return CFR_EXIT_TIMEOUT;
        rc = cfr_daemon_turn(a, err);
        if (rc != 0) {
            cfr_log(CFR_LOG_ERROR, NULL, NULL, "%s", err->text);
            return CFR_EXIT_FAILED;
        }
    }
    if (a->options.once)
        return CFR_EXIT_FAILED;
    drain(a);
    return a->broken ? CFR_EXIT_FAILED : CFR_EXIT_OK;
}

static void set_times(struct cfr_daemon *a)
{
    struct cfr_now now = cfr_clock_now();

    a->clock_offset_ms = now.wall_ms - now.boot_ms;
    a->started_boot_ms = now.boot_ms;
    a->config_loaded_boot_ms = now.boot_ms;
}

static void log_finding(void *ctx, const struct cfr_finding *f)
{
    (void)ctx;
    cfr_log(CFR_LOG_WARN, NULL, NULL, "%s", f->text);
}

static void confine(struct cfr_daemon *a)
{
    const char *path = a->options.config_path;
    struct cfr_str summary = {.limit = 4096};

    cfr_daemon_confine(&a->sandbox, a->config, path, &summary);
    cfr_log(CFR_LOG_INFO, NULL, NULL, "credfresh " CFR_VERSION " with %zu credential%s of %s; %s",
            a->config->credentials.count, a->config->credentials.count == 1 ? "" : "s",
            path != NULL ? path : "the environment", summary.p != NULL ? summary.p : "");
    cfr_str_free(&summary);
    cfr_http_check_proxy(&(struct cfr_finding_sink){log_finding, NULL});
}

static void bind_commands(const struct cfr_daemon *a)
{
    struct cfr_secret list;

    cfr_secret_init(&list, CFR_LAUNCHER_LIST_MAX);
    cfr_daemon_list_commands(a->config, &list);
    cfr_launcher_bind(&list);
    cfr_secret_free(&list);
}

static void quit(struct cfr_daemon *a)
{
    a->stopping = true;
}

static void open_launcher(const struct cfr_daemon *a)
{
    struct cfr_err err = {0};

    if (cfr_launcher_open(cfr_daemon_read_commands, a->options.config_path, &err) != 0)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "hooks cannot run: %s", err.text);
}

int cfr_daemon_run(const struct cfr_daemon_options *options)
{
    static const struct cfr_daemon_actions actions = {.reload = cfr_daemon_reload, .quit = quit};
    struct cfr_daemon a = {
        .options = *options,
        .actions = &actions,
        .host.state_fd = -1,
        .state_lock_fd = -1,
        .signal_fd = -1,
        .step_fd = -1,
        .exit_with.pidfd = -1,
    };
    struct cfr_err err = {0};
    int status = CFR_EXIT_FAILED;
    int rc = 0;

    /* Before anything is read: hooks are started with what there is now. A reload may bring the first command. */
    if (!a.options.once)
        open_launcher(&a);
    if (a.options.once)
        cfr_log_never_wait();
    else if (cfr_log_file_open(&err) != 0)
        cfr_log(CFR_LOG_WARN, NULL, NULL, "the log waits for its disk: %s", err.text);
    cfr_slow_file_guard();
    cfr_json_setup();
    cfr_daemon_set_log(&a, NULL);
    if (load(&a, &err) != 0) {
        close_all(&a);
        cfr_log_file_close();
        return CFR_EXIT_CONFIG;
    }
    /* `once` has no reload, and mostly nothing to start. */
    if (a.options.once && cfr_daemon_has_commands(a.config))
        open_launcher(&a);
    set_times(&a);
    cfr_daemon_readiness_open(&a);
    if (open_engines(&a, &err) != 0 || open_servers(&a, &err) != 0)
        rc = err.code;
    if (rc == 0) {
        /* Nothing has come from the network so far. */
        confine(&a);
        bind_commands(&a);
        cfr_slow_file_guard_disks();
        if (a.options.config_path == NULL && a.options.gate == NULL)
            cfr_daemon_report_variables(a.config);
        rc = open_workers(&a, &err);
    }
    if (rc == 0) {
        if (!options->once)
            cfr_daemon_follow(&a.exit_with, a.config->exit_with, &a.stopping);
        cfr_daemon_look_forgotten(&a);
    }
    if (rc != 0)
        cfr_log(CFR_LOG_ERROR, NULL, NULL, "cannot start: %s", err.text);
    else
        status = run_loop(&a, &err);
    if (options->once && status != CFR_EXIT_OK)
        report_unfinished(&a);
    close_all(&a);
    cfr_log_file_close();
    return status;
}
