/* SPDX-License-Identifier: MIT */
/* Requests on the control socket and the health address. */
#include "agent/daemon/daemon_private.h"
#include "agent/daemon/modules_private.h"

#include "base/log.h"

#include <string.h>
#include <unistd.h>

static void get_credential(void *ctx, size_t index, struct cfr_api_status_credential *out)
{
    struct cfr_daemon *a = ctx;

    cfr_worker_status(a->workers[index], cfr_clock_now(), out);
}

static bool get_endpoint(void *ctx, size_t index, struct cfr_api_status_endpoint *out)
{
    const struct cfr_daemon *a = ctx;

    return a->endpoints != NULL && cfr_daemon_endpoints_count(a->endpoints, index, out);
}

static bool get_authority(void *ctx, struct cfr_api_status_authority *out)
{
    return cfr_daemon_modules_status(ctx, out);
}

static void fill_status(struct cfr_daemon *a, struct cfr_api_status *out)
{
    *out = (struct cfr_api_status){
        .version = CFR_VERSION,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .started_s = (a->started_boot_ms + a->clock_offset_ms) / 1000,
        .config_file = a->options.config_path,
        .config_loaded_s = (a->config_loaded_boot_ms + a->clock_offset_ms) / 1000,
        .config_ok = a->config_error == NULL,
        .config_error = a->config_error,
        .stopping = a->stopping,
        .log_dropped = cfr_log_dropped(),
        .sandbox = a->sandbox.parts,
        .forgotten = a->forgotten,
        .forgotten_count = a->forgotten_count,
        .count = a->count,
        .get = get_credential,
        .get_endpoint = get_endpoint,
        .get_authority = get_authority,
        .ctx = a,
    };
}

static void rotate(struct cfr_daemon *a, const struct cfr_action *action, struct cfr_httpd_response *response)
{
    struct cfr_err err = {0};
    uint64_t replaces = 0;

    for (size_t i = 0; i < a->count; i++) {
        int rc;

        if (strcmp(cfr_worker_config(a->workers[i])->name, action->name) != 0)
            continue;
        rc = cfr_worker_rotate(a->workers[i], action->reason, &replaces, &err);
        if (rc == 0)
            cfr_api_routes_accepted(action->name, replaces, response);
        else
            cfr_api_routes_error(rc == CFR_E_CONFLICT      ? 409
                                 : rc == CFR_E_USAGE       ? 400
                                 : rc == CFR_E_UNAVAILABLE ? 503
                                                           : 500,
                                 cfr_err_name(rc), err.text, response);
        return;
    }
    cfr_api_routes_error(404, "missing", "there is no such credential", response);
}

static void reload(struct cfr_daemon *a, struct cfr_httpd_response *response)
{
    struct cfr_err err = {0};

    if (a->actions->reload(a, &err) != 0) {
        cfr_api_routes_error(400, cfr_err_name(err.code), err.text, response);
        return;
    }
    response->status = 200;
    response->content_type = "application/json";
    response->body.limit = 64;
    cfr_str_addz(&response->body, "{\"reloaded\":true}\n");
}

static void quit(struct cfr_daemon *a, struct cfr_httpd_response *response)
{
    cfr_log(CFR_LOG_INFO, NULL, NULL, "asked to end");
    a->actions->quit(a);
    cfr_api_routes_stopping(response);
}

void cfr_daemon_on_control(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                           struct cfr_httpd_response *response)
{
    struct cfr_daemon *a = ctx;
    struct cfr_action action = {.kind = CFR_API_ACTION_NONE};
    struct cfr_api_status status;

    if (!peer->known || (peer->uid != 0 && peer->uid != geteuid())) {
        cfr_api_routes_error(403, "permission", "only root and the agent's own user may use this socket", response);
        return;
    }
    fill_status(a, &status);
    cfr_api_routes_control(request, &status, &action, response);
    if (action.kind == CFR_API_ACTION_ROTATE)
        rotate(a, &action, response);
    else if (action.kind == CFR_API_ACTION_RELOAD)
        reload(a, response);
    else if (action.kind == CFR_API_ACTION_QUIT)
        quit(a, response);
}

void cfr_daemon_on_health(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                          struct cfr_httpd_response *response)
{
    const struct cfr_daemon *a = ctx;
    const struct cfr_strings *names = &a->config->listen_hosts;
    struct cfr_api_status status;
    char machine[256] = "";

    (void)peer;
    (void)gethostname(machine, sizeof machine - 1);
    if (!cfr_api_routes_is_host(request->host, machine, names->items, names->count)) {
        cfr_api_routes_error(403, "host",
                             "the Host header does not name this address; ask by an IP address, or write the name in "
                             "`listen_hosts`",
                             response);
        return;
    }
    fill_status(ctx, &status);
    cfr_api_routes_health(request, &status, response);
}
