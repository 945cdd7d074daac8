/* SPDX-License-Identifier: MIT */
/* The agent's parts. They call each other in this order only: daemon.c (start and end), turn.c (the loop),
 * reconfigure.c, control_api.c, endpoints.c, endpoint_request.c, session_key.c, readiness.c, lookup.c. */
#ifndef CFR_AGENT_DAEMON_DAEMON_PRIVATE_H
#define CFR_AGENT_DAEMON_DAEMON_PRIVATE_H

#include "agent/daemon/confine_private.h"
#include "agent/daemon/daemon.h"
#include "agent/daemon/endpoints_private.h"
#include "agent/daemon/follow_process_private.h"
#include "agent/httpd/server.h"
#include "agent/kube/module.h"
#include "agent/worker/worker.h"

struct cfr_daemon;

#define CFR_DAEMON_MODULES 1

/* What the control socket can have done. */
struct cfr_daemon_actions {
    int (*reload)(struct cfr_daemon *a, struct cfr_err *err);
    void (*quit)(struct cfr_daemon *a);
};

struct cfr_daemon {
    struct cfr_host host;
    struct cfr_daemon_options options;
    struct cfr_config *config;
    const struct cfr_daemon_actions *actions;
    struct cfr_worker **workers; /* in configuration order */
    struct cfr_worker **by_name; /* the same, sorted; NULL where memory was short */
    size_t count;
    struct cfr_httpd_server *control;
    struct cfr_httpd_server *health;
    struct cfr_daemon_endpoints *endpoints; /* NULL with once */
    struct cfr_module_slot modules[CFR_DAEMON_MODULES + 1];
    struct cfr_daemon_follow exit_with;
    struct cfr_daemon_sandbox sandbox;
    int state_lock_fd;
    int signal_fd;
    int step_fd;
    struct cfr_task step;  /* the wall clock was set */
    struct cfr_task files; /* a file has changed, or may be reported again */
    struct cfr_task signals;
    struct cfr_task orphans;  /* what others have left to us is to be reaped */
    struct cfr_task launcher; /* the process that starts commands has ended */
    struct cfr_task rest;     /* the modules */
    struct cfr_task tick;     /* next look at everything that may have been missed */
    struct cfr_task watchdog;
    struct cfr_task notice;  /* once logs what it waits for */
    struct cfr_task end;     /* of once, or of what is still in progress at the end */
    int64_t clock_offset_ms; /* wall minus boot, to notice steps that no event announced */
    int64_t started_boot_ms; /* a clock that is set after the boot would make it a moment long ago */
    int64_t config_loaded_boot_ms;
    struct cfr_api_status_forgotten *forgotten; /* keys of credentials that left the configuration */
    size_t forgotten_count;
    char *config_error; /* why the last reload was refused, or NULL */
    struct {
        bool ready;
        int64_t lost_boot_ms;
        struct cfr_task look;
        struct cfr_task tell; /* the service manager gets to know what is not ready */
        int64_t told_boot_ms; /* when it last did */
        char *waiting;        /* what it was told; NULL = nothing */
        size_t unready;       /* the last worker found unready, where the next search begins */
    } readiness;
    bool control_lost; /* its socket is to be made again */
    bool announced;    /* READY=1 was sent */
    bool timed_out;    /* the time of END has come */
    bool stopping;
    bool broken; /* it stops because of a failure: exit status 1, so that the service manager starts it again */
    bool hurry;  /* a second signal to end came */
};

#define CFR_DAEMON_START_MS  10000 /* what a file system may take to answer at the start */
#define CFR_DAEMON_NOTICE_MS 5000  /* until once says what it waits for; then once a tick */
#define CFR_DAEMON_TICK_MS   60000 /* between two looks at everything that may have been missed */

/* daemon.c */
/* Creates the control socket again if its file was removed; control_lost says that it could not. Not to be called from
 * one of its requests. */
void cfr_daemon_keep_control(struct cfr_daemon *a);
/* Logs as the options say, else CONFIG, which may be NULL. */
void cfr_daemon_set_log(const struct cfr_daemon *a, const struct cfr_config *config);

/* turn.c */
/* Opens the loop's descriptors and sets its first tasks. After cfr_launcher_open; the readiness is not one of them. */
int cfr_daemon_open_loop(struct cfr_daemon *a, struct cfr_err *err);
void cfr_daemon_close_loop(struct cfr_daemon *a);
/* Opens the watch of files. */
int cfr_daemon_watch_files(struct cfr_daemon *a, struct cfr_err *err);
/* Waits for the next event, for what is due at the latest, and handles what there is. Errors of the loop's wait. */
int cfr_daemon_turn(struct cfr_daemon *a, struct cfr_err *err);

/* consumer_variables.c */
/* Logs for each credential of CONFIG, which comes from the environment, its files and the variables that lead SDKs to
 * them. */
void cfr_daemon_report_variables(const struct cfr_config *config);

/* forgotten.c */
/* Looks which long-lived keys belong to no credential any more; logs those that were not known. */
void cfr_daemon_look_forgotten(struct cfr_daemon *a);
void cfr_daemon_forgotten_free(struct cfr_daemon *a);

/* reconfigure.c */
/* Takes the new configuration, or keeps the old one and says why not. */
int cfr_daemon_reload(struct cfr_daemon *a, struct cfr_err *err);

/* control_api.c: the two servers' callbacks; CTX is the agent. */
void cfr_daemon_on_control(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                           struct cfr_httpd_response *response);
void cfr_daemon_on_health(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                          struct cfr_httpd_response *response);

/* readiness.c */
/* True if every credential of WANTED, or without one (NULL, or empty) every required one, is published, valid, and in
 * memory where an endpoint serves it. */
bool cfr_daemon_readiness_is_open(struct cfr_daemon *a, const struct cfr_strings *wanted);
/* From now on announces to the service manager and in the log that all is ready, and when that ends and begins again;
 * with once logs what it waits for. Before workers are opened. */
void cfr_daemon_readiness_open(struct cfr_daemon *a);
/* Announces nothing any more. */
void cfr_daemon_readiness_close(struct cfr_daemon *a);
/* Writes to the options' ready_fd, once, that it is open or that it will not be. Does nothing without a ready_fd. */
void cfr_daemon_readiness_report(struct cfr_daemon *a);

#endif
