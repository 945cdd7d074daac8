/* SPDX-License-Identifier: MIT */
/* The local endpoints and the token socket: their listeners, access, and counters. */
#ifndef CFR_AGENT_DAEMON_ENDPOINTS_PRIVATE_H
#define CFR_AGENT_DAEMON_ENDPOINTS_PRIVATE_H

#include "agent/config/config.h"
#include "agent/httpd/server.h"
#include "serve/api/status.h"

struct cfr_daemon;
struct cfr_daemon_endpoints;
struct cfr_endpoints_plan; /* listeners that are open already, and not in use yet */

/* Nothing listens yet. After cfr_http_open. CFR_E_NOMEM. */
int cfr_daemon_endpoints_open(struct cfr_daemon *a, struct cfr_daemon_endpoints **out, struct cfr_err *err);
/* NULL is allowed. */
void cfr_daemon_endpoints_close(struct cfr_daemon_endpoints *e);
/* Where ERR is that WHERE is taken, and it is an address of NOW that takes it: puts that into ERR. Returns ERR's code.
 */
int cfr_daemon_endpoints_explain_taken(const struct cfr_config *now, const char *where, struct cfr_err *err);
/* Opens what NEXT wants and E has not, and makes the files that clients must show the content of. On error all is as
 * before, but for such files. */
int cfr_daemon_endpoints_prepare(struct cfr_daemon_endpoints *e, const struct cfr_config *next,
                                 struct cfr_endpoints_plan **out, struct cfr_err *err);
/* E becomes as PLAN, which is freed: a listener in both keeps its connections and counts, others are closed. NEXT of
 * the plan must outlive E. */
void cfr_daemon_endpoints_take(struct cfr_daemon_endpoints *e, struct cfr_endpoints_plan *plan);
/* True while a file that clients must show the content of is written for the first time, for at most 10 s. NULL is
 * allowed. */
bool cfr_daemon_endpoints_are_making(struct cfr_daemon_endpoints *e);
/* Discards PLAN. NULL is allowed. */
void cfr_daemon_endpoints_drop(struct cfr_daemon_endpoints *e, struct cfr_endpoints_plan *plan);

/* As cfr_httpd_quiesce and cfr_httpd_is_busy, for all listeners. */
void cfr_daemon_endpoints_quiesce(struct cfr_daemon_endpoints *e);
bool cfr_daemon_endpoints_busy(const struct cfr_daemon_endpoints *e);

/* Connections that the control socket, and the address of health checks, may each have: a small part of the descriptors
 * that the process may have. */
unsigned cfr_daemon_endpoints_spare(void);
/* Goes on with what is still to be written in the state directory; after SIGCHLD, and once a minute. NULL is allowed.
 */
void cfr_daemon_endpoints_save(struct cfr_daemon_endpoints *e);

/* The INDEX-th counter; false beyond the last. */
bool cfr_daemon_endpoints_count(const struct cfr_daemon_endpoints *e, size_t index,
                                struct cfr_api_status_endpoint *out);

/* GET /v1/token/NAME on the control socket, whose peers may have everything; CTX is the agent. */
cfr_httpd_secret_fn cfr_daemon_endpoints_on_control;

#endif
