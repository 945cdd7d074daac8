/* SPDX-License-Identifier: MIT */
/* A listener of the endpoints, as endpoints.c (listeners) and endpoint_request.c (requests) share it. */
#ifndef CFR_AGENT_DAEMON_LISTENER_PRIVATE_H
#define CFR_AGENT_DAEMON_LISTENER_PRIVATE_H

#include "agent/daemon/endpoints_private.h"
#include "agent/daemon/lookup_private.h"
#include "agent/daemon/client_secret_file_private.h"
#include "agent/daemon/session_key_private.h"

#include "wire/cidr.h"

#define CFR_DAEMON_LISTENER_REFUSALS_MAX 32
#define CFR_DAEMON_LISTENER_PEERS_MAX    16

struct cfr_daemon_listener_count {
    const char *shape; /* literal; NULL: connections that were refused */
    int status;
    uint64_t requests;
};

/* One address, or the token socket. */
struct cfr_daemon_listener {
    struct cfr_daemon_endpoints *endpoints;
    const struct cfr_config_endpoint *config; /* NULL: the token socket */
    char *where;
    struct cfr_httpd_server *server;
    struct cfr_daemon_listener_count *counts;
    size_t count_count;
    const char *refusals[CFR_DAEMON_LISTENER_REFUSALS_MAX]; /* that were logged; literals */
    size_t refusal_count;
    struct cfr_cidr from[CFR_CONFIG_FROM_MAX]; /* other machines that may connect */
    size_t from_count;
    enum cfr_httpd_reach reach;                                   /* of the server now */
    struct cfr_cidr refused_peers[CFR_DAEMON_LISTENER_PEERS_MAX]; /* that were logged within the hour */
    size_t refused_peer_count;
    int64_t refused_peers_since_ms;
};

struct cfr_daemon_endpoints {
    struct cfr_daemon *agent;
    struct cfr_daemon_listener **items;
    size_t count;
    struct cfr_daemon_client_secrets *client_secrets;
    struct cfr_daemon_session_key session_key;
};

/* endpoint_request.c; CTX is the listener. */
cfr_httpd_secret_fn cfr_daemon_listener_on_endpoint;
cfr_httpd_secret_fn cfr_daemon_listener_on_token;
cfr_httpd_accept_fn cfr_daemon_listener_accepts;

#endif
