/* SPDX-License-Identifier: MIT */
/* The HTTP server engine on a Unix socket or a TCP address. The only user of libmicrohttpd. */
#ifndef CFR_AGENT_HTTPD_SERVER_H
#define CFR_AGENT_HTTPD_SERVER_H

#include "serve/sdk/endpoint.h"
#include "serve/api/routes.h"

#include <sys/types.h>

struct cfr_server;

#define CFR_PEER_GROUPS_MAX 256

struct cfr_peer {
    bool known; /* only on Unix sockets: what follows is the kernel's word */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    gid_t groups[CFR_PEER_GROUPS_MAX]; /* the supplementary ones; none where there are more */
    size_t group_count;
    char text[64]; /* "127.0.0.1", "uid 1000" */
};

/* Answers one request; the body, if any, is complete. Must not block. The engine frees RESPONSE's body. */
typedef void cfr_server_fn(void *ctx, const struct cfr_peer *peer, const struct cfr_request *request,
                           struct cfr_response *response);
/* As above for answers that hold secrets, which are wiped once sent; ANSWER is zeroed, and freed by the engine. False if it
 * is not for this function: then ANSWER is untouched. */
typedef bool cfr_server_secret_fn(void *ctx, const struct cfr_peer *peer, const struct cfr_endpoint_request *request,
                                  struct cfr_endpoint_answer *answer);

struct cfr_server_options {
    cfr_server_secret_fn *secret; /* asked first; NULL = none */
    cfr_server_fn *fn;            /* NULL = none: 404 */
    void *ctx;
    unsigned connections; /* beyond these one has to go, see agent/httpd/connections_private.h; 0 = 256 */
    unsigned per_address; /* 0 = as many as there are; only on TCP */
    bool no_body;         /* requests with a body are refused */
    mode_t mode;          /* of a Unix socket; 0 = 0600 */
};

/* Listens as the two functions below say, with OPTIONS (copied). Whoever has asked nothing whole for 10 s is cut off, however
 * many bytes he sends. */
int cfr_server_open(const char *where, bool unix_socket, const struct cfr_server_options *options, struct cfr_server **out,
                    struct cfr_err *err);
/* Listens on ADDRESS, "127.0.0.1:9080", "[::1]:9080", ":9080" (all addresses) or a port of 0 (any; see
 * cfr_server_address). CFR_E_CONFIG, CFR_E_CONFLICT (in use), CFR_E_PERM. At most 256 connections, 32 per
 * address, 10 s of idling, 8 KiB of request head, CFR_ROUTES_BODY_MAX of body. */
int cfr_server_open_tcp(const char *address, cfr_server_fn *fn, void *ctx, struct cfr_server **out,
                        struct cfr_err *err);
/* Listens on a Unix socket of mode 0600, made beside and renamed into place; a socket that nobody listens on
 * is replaced, one that is alive is CFR_E_CONFLICT, a path longer than the kernel takes (107 bytes)
 * CFR_E_CONFIG. */
int cfr_server_open_unix(const char *path, cfr_server_fn *fn, void *ctx, struct cfr_server **out,
                         struct cfr_err *err);
/* Stops listening, ends connections, removes the socket file. */
void cfr_server_close(struct cfr_server *s);
/* To be polled for reading. */
int cfr_server_fd(const struct cfr_server *s);
/* Does what is due; never blocks. */
void cfr_server_step(struct cfr_server *s);
/* Milliseconds until cfr_server_step wants to be called again, -1 = only when readable. */
int64_t cfr_server_timeout_ms(const struct cfr_server *s);
/* "127.0.0.1:34567", as it really listens. */
const char *cfr_server_address(const struct cfr_server *s);
/* The version of libmicrohttpd, as in "0.9.75". */
const char *cfr_server_library(void);

#endif
