/* SPDX-License-Identifier: MIT */
/* The HTTP server engine on a Unix socket or a TCP address. The only user of libmicrohttpd. */
#ifndef CFR_AGENT_SERVER_H
#define CFR_AGENT_SERVER_H

#include "serve/routes.h"

#include <sys/types.h>

struct cfr_server;

struct cfr_peer {
    bool known; /* only on Unix sockets */
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

/* Answers one request; the body, if any, is complete. Must not block. The engine frees RESPONSE's body. */
typedef void cfr_server_fn(void *ctx, const struct cfr_peer *peer, const struct cfr_request *request,
                           struct cfr_response *response);

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

#endif
