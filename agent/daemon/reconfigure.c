/* SPDX-License-Identifier: MIT */
/* Reconfiguration: takes a new configuration without touching a credential that did not change. */
#include "agent/daemon/daemon_private.h"

#include "agent/daemon/commands_private.h"
#include "agent/daemon/lookup_private.h"
#include "agent/daemon/modules_private.h"
#include "agent/loop/env.h"
#include "agent/loop/launcher.h"
#include "agent/loop/sd_notify.h"
#include "agent/loop/slow_file.h"
#include "agent/loop/slow_state.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int check_fixed(const struct cfr_daemon *a, const struct cfr_config *next, struct cfr_err *err)
{
    if (!cfr_view_same(a->config->state_dir, next->state_dir))
        return cfr_err_set(err, CFR_E_CONFIG, "state_dir cannot change while the agent runs: restart it");
    if (!cfr_view_same(a->config->control_socket, next->control_socket))
        return cfr_err_set(err, CFR_E_CONFIG, "control_socket cannot change while the agent runs: restart it");
    return cfr_daemon_confine_check(&a->sandbox, a->config, next, err);
}

/* A worker of the former configuration, which NAME is of and which outlives it. */
struct former {
    const char *name;
    struct cfr_worker *worker; /* NULL: it has its place in the new one, or was closed */
};

static int compare_names(const void *a, const void *b)
{
    const struct former *x = a;
    const struct former *y = b;

    return strcmp(x->name, y->name);
}

/* Those of the agent, sorted by name; NULL without memory. */
static struct former *list_former(const struct cfr_daemon *a)
{
    struct former *all = calloc(a->count + 1, sizeof *all);

    for (size_t i = 0; all != NULL && i < a->count; i++)
        all[i] = (struct former){cfr_worker_config(a->workers[i])->name, a->workers[i]};
    if (all != NULL)
        qsort(all, a->count, sizeof *all, compare_names);
    return all;
}

/* Takes the worker that C names out of ALL; NULL: there is none. */
static struct cfr_worker *take_worker(struct former *all, size_t count, const struct cfr_config_credential *c)
{
    const struct former key = {.name = c->name};
    struct former *f = bsearch(&key, all, count, sizeof *all, compare_names);
    struct cfr_worker *w = f != NULL ? f->worker : NULL;

    if (f != NULL)
        f->worker = NULL;
    return w;
}

static bool can_stay(const struct cfr_worker *w, const struct cfr_config_credential *c)
{
    return cfr_worker_config(w)->digest_material == c->digest_material;
}

/* Opens C's worker in the place of OLD (NULL: there was none), which is closed. */
static int replace(struct cfr_daemon *a, struct cfr_worker *old, const struct cfr_config_credential *c,
                   struct cfr_worker **out, struct cfr_err *err)
{
    struct cfr_worker_kept *kept = NULL;
    struct cfr_api_history history = {0};
    int rc;

    if (old != NULL && cfr_worker_config(old)->digest_source == c->digest_source)
        kept = cfr_worker_take_kept(old);
    if (old != NULL) {
        history = cfr_worker_history(old);
        cfr_worker_close(old);
    }
    rc = cfr_worker_open(&a->host, c, out, err);
    if (rc != 0) {
        cfr_worker_free_kept(kept);
        return rc;
    }
    cfr_worker_give_kept(*out, kept);
    cfr_worker_give_history(*out, &history);
    cfr_worker_start(*out);
    return 0;
}

/* Former workers go on where they can. A changed one is closed before its successor is opened, because the two share a
 * record and files. Meanwhile the agent has no workers, and lookups find none. */
static int swap_workers(struct cfr_daemon *a, struct cfr_config *next, struct cfr_err *err)
{
    struct cfr_worker **workers = calloc(next->credentials.count + 1, sizeof(struct cfr_worker *));
    struct former *former = list_former(a);
    size_t former_count = a->count;
    size_t count = 0;

    if (workers == NULL || former == NULL) {
        free(workers);
        free(former);
        return cfr_err_nomem(err);
    }
    free(a->workers);
    a->host.config = next;
    a->workers = workers;
    a->count = 0;
    for (size_t i = 0; i < next->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(next, i);
        struct cfr_worker *old = take_worker(former, former_count, c);
        struct cfr_err one = {0};

        if (old != NULL && can_stay(old, c) && cfr_worker_rebind(old, c, &one) == 0)
            workers[count++] = old;
        else if (replace(a, old, c, &workers[count], &one) == 0)
            count++;
        else
            cfr_log(CFR_LOG_ERROR, c->name, NULL, "cannot be kept: %s", one.text);
    }
    for (size_t i = 0; i < former_count; i++) {
        struct cfr_worker *w = former[i].worker;

        if (w == NULL)
            continue;
        cfr_log(CFR_LOG_INFO, cfr_worker_config(w)->name, NULL,
                "was removed from the configuration: its published files remain, but are not renewed");
        cfr_worker_abandon(w);
        cfr_worker_close(w);
    }
    free(former);
    a->count = count;
    cfr_daemon_index_workers(a);
    return 0;
}

static int swap_health(struct cfr_daemon *a, const struct cfr_config *next, struct cfr_httpd_server **fresh,
                       struct cfr_err *err)
{
    int rc;

    *fresh = NULL;
    if (next->listen == NULL || cfr_view_same(next->listen, a->config->listen))
        return 0;
    rc = cfr_httpd_open_tcp(next->listen, cfr_daemon_on_health, a, fresh, err);
    if (rc == 0)
        cfr_httpd_set_connections(*fresh, cfr_daemon_endpoints_spare());
    return rc == 0 ? 0 : cfr_daemon_endpoints_explain_taken(a->config, next->listen, err);
}

static int apply(struct cfr_daemon *a, struct cfr_config *next, struct cfr_err *err)
{
    struct cfr_httpd_server *health;
    struct cfr_endpoints_plan *plan = NULL;
    bool keep = cfr_view_same(next->listen, a->config->listen);
    int rc = swap_health(a, next, &health, err);

    if (rc != 0)
        return rc;
    /* With once there are none. */
    if (a->endpoints != NULL)
        rc = cfr_daemon_endpoints_prepare(a->endpoints, next, &plan, err);
    if (rc == 0)
        rc = cfr_daemon_modules_configure(a, next, err);
    /* What a worker asks a module for is loaded first. */
    if (rc == 0)
        cfr_daemon_modules_step(a);
    if (rc == 0)
        rc = swap_workers(a, next, err);
    if (rc != 0) {
        cfr_daemon_endpoints_drop(a->endpoints, plan);
        if (health != NULL)
            cfr_httpd_close(health);
        return rc;
    }
    if (!keep) {
        if (a->health != NULL)
            cfr_httpd_close(a->health);
        a->health = health;
    }
    if (plan != NULL)
        cfr_daemon_endpoints_take(a->endpoints, plan);
    if (cfr_daemon_has_commands(a->config) || cfr_daemon_has_commands(next))
        cfr_launcher_read_again();
    if (!a->options.once)
        cfr_daemon_follow(&a->exit_with, next->exit_with, &a->stopping);
    cfr_config_free(a->config);
    a->config = next;
    cfr_daemon_look_forgotten(a);
    cfr_http_forget(a->host.http);
    cfr_daemon_set_log(a, next);
    cfr_worker_serve_queue(&a->host);
    return 0;
}

static int read_file(const struct cfr_slow_read *what, enum cfr_file_reach reach, struct cfr_secret *out,
                     struct stat *status, struct cfr_err *err)
{
    struct cfr_secret text = {.limit = CFR_CONFIG_FILE_MAX};
    int rc = cfr_file_read_reach(what->path, reach, &text, status, err);

    (void)out;
    cfr_secret_free(&text);
    return rc;
}

/* What a reload reads must not keep all else waiting: it can be repeated. */
static int check_answers(const struct cfr_daemon *a, struct cfr_err *err)
{
    const struct cfr_slow_read config = {.read = read_file, .path = a->options.config_path};
    int rc = config.path != NULL && cfr_slow_file_is(config.path) ? cfr_slow_file_try(&config, 0, err) : 0;

    if (rc == 0 && cfr_slow_state_answers(a->config->state_dir, err) != 0)
        rc = cfr_err_prefix(err, "state_dir");
    return rc;
}

int cfr_daemon_reload(struct cfr_daemon *a, struct cfr_err *err)
{
    struct cfr_config *next = NULL;
    struct cfr_str all = {.limit = 16384};
    struct cfr_now now = cfr_clock_now();
    int rc;

    /* Before the first publish there is no readiness to suspend, and the end of a reload would announce one. */
    if (a->announced)
        cfr_sd_notify("RELOADING=1\nMONOTONIC_USEC=%" PRId64, cfr_clock_monotonic_us());
    rc = check_answers(a, err);
    if (rc == 0)
        rc = cfr_config_load(a->options.config_path, cfr_env_get, &next, &all, err);
    if (rc == 0)
        rc = cfr_config_need_credentials(a->options.config_path, next, err);
    if (rc == 0)
        rc = check_fixed(a, next, err);
    if (rc == 0)
        rc = apply(a, next, err);
    free(a->config_error);
    a->config_error = rc != 0 ? strdup(err->text) : NULL;
    if (rc != 0) {
        cfr_config_free(next);
        cfr_log(CFR_LOG_ERROR, NULL, NULL, "the new configuration is invalid, keeping the old one: %s", err->text);
    } else {
        a->config_loaded_boot_ms = now.boot_ms;
        cfr_log(CFR_LOG_INFO, NULL, NULL, "loaded the new configuration: %zu credential%s", a->count,
                a->count == 1 ? "" : "s");
    }
    cfr_str_free(&all);
    if (a->announced)
        cfr_sd_notify("READY=1");
    return rc;
}
