/* SPDX-License-Identifier: MIT */
/* The agent: all workers, the servers, and the loop that routes events to them. */
#ifndef CFR_AGENT_DAEMON_DAEMON_H
#define CFR_AGENT_DAEMON_DAEMON_H

#include "agent/daemon/endpoints.h"
#include "agent/daemon/follow_process.h"
#include "agent/httpd/server.h"
#include "agent/worker/worker.h"

struct cfr_daemon_options {
    const char *config_path;
    bool once;
    int64_t timeout_ms;             /* of once */
    int ready_fd;                   /* of a supervisor, see agent/daemon/readiness.h; 0 = none */
    const struct cfr_strings *gate; /* the credentials that it waits for; NULL = all that are required */
};

struct cfr_daemon {
    struct cfr_host host;
    struct cfr_daemon_options options;
    struct cfr_config *config;
    struct cfr_worker **workers; /* in configuration order */
    bool swapping;               /* workers are being replaced: nobody can be asked */
    struct cfr_worker **by_name; /* the same, sorted; NULL where memory was short */
    size_t count;
    struct cfr_server *control;
    struct cfr_server *health;
    struct cfr_daemon_endpoints *endpoints; /* NULL with once */
    struct cfr_daemon_follow exit_with;
    int state_lock_fd;
    int signal_fd;
    int alarm_fd;
    int step_fd;
    int64_t clock_offset_ms; /* wall minus boot, to notice steps that nobody announced */
    int64_t tick_boot_ms;    /* next look at everything that may have been missed */
    int64_t watchdog_boot_ms;
    int64_t end_boot_ms; /* of once, or of what is still under way when the end has come */
    int64_t started_s;
    int64_t config_loaded_s;
    char *config_error; /* why the last reload was refused, or NULL */
    bool announced;     /* READY=1 was sent */
    bool stopping;
    bool hurry; /* told to end a second time */
};

/* For every subcommand, before anything else: secrets may pass through this memory, so no core dumps, and no reading by
 * other processes of the same user. */
void cfr_daemon_harden(void);
/* Runs until a signal or, with once, until everything is published or the time is up. Returns an exit status. */
int cfr_daemon_run(const struct cfr_daemon_options *options);

/* Does what is due at the service CA, and lets those know who are issued something else from now on. */
void cfr_daemon_keep_service_ca(struct cfr_daemon *a);
/* agent/daemon/reconfigure.c: takes the new configuration, or keeps the old one and says why not. */
int cfr_daemon_reload(struct cfr_daemon *a, struct cfr_err *err);
/* agent/daemon/control_api.c: the two servers' callbacks and what they show. */
void cfr_daemon_on_control(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                           struct cfr_httpd_response *response);
void cfr_daemon_on_health(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                          struct cfr_httpd_response *response);
void cfr_daemon_status(struct cfr_daemon *a, struct cfr_api_status *out);

#endif
