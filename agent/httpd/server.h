/* SPDX-License-Identifier: MIT */
/* The HTTP server engine on a Unix socket or a TCP address. The only user of libmicrohttpd. */
#ifndef CFR_AGENT_HTTPD_SERVER_H
#define CFR_AGENT_HTTPD_SERVER_H

#include "serve/sdk/endpoint.h"
#include "serve/api/routes.h"

#include <sys/types.h>

struct cfr_server;

#define CFR_HTTPD_PEER_GROUPS_MAX 256

struct cfr_httpd_peer {
    bool known; /* only on Unix sockets: what follows is the kernel's word */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    gid_t groups[CFR_HTTPD_PEER_GROUPS_MAX]; /* the supplementary ones; none where there are more */
    size_t group_count;
    char text[64]; /* "127.0.0.1", "uid 1000" */
};

/* Answers one request; the body, if any, is complete. Must not block. The engine frees RESPONSE's body. */
typedef void cfr_httpd_fn(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                          struct cfr_httpd_response *response);
/* As above for answers that hold secrets, which are wiped once sent; ANSWER is zeroed, and freed by the engine. False
 * if it is not for this function: then ANSWER is untouched. */
typedef bool cfr_httpd_secret_fn(void *ctx, const struct cfr_httpd_peer *peer,
                                 const struct cfr_sdk_endpoint_request *request,
                                 struct cfr_sdk_endpoint_answer *answer);

struct cfr_httpd_options {
    cfr_httpd_secret_fn *secret; /* asked first; NULL = none */
    cfr_httpd_fn *fn;            /* NULL = none: 404 */
    void *ctx;
    unsigned connections; /* beyond these one has to go, see agent/httpd/connections_private.h; 0 = 256 */
    unsigned per_address; /* 0 = as many as there are; only on TCP */
    bool no_body;         /* requests with a body are refused */
    mode_t mode;          /* of a Unix socket; 0 = 0600 */
};

/* Listens as the two functions below say, with OPTIONS (copied). Whoever has asked nothing whole for 10 s is cut off,
 * however many bytes he sends. */
int cfr_httpd_open(const char *where, bool unix_socket, const struct cfr_httpd_options *options,
                   struct cfr_server **out, struct cfr_err *err);
/* Listens on ADDRESS, "127.0.0.1:9080", "[::1]:9080", ":9080" (all addresses) or a port of 0 (any; see
 * cfr_httpd_address). CFR_E_CONFIG, CFR_E_CONFLICT (in use), CFR_E_PERM. At most 256 connections, 32 per
 * address, 10 s of idling, 8 KiB of request head, CFR_API_ROUTES_BODY_MAX of body. */
int cfr_httpd_open_tcp(const char *address, cfr_httpd_fn *fn, void *ctx, struct cfr_server **out, struct cfr_err *err);
/* Listens on a Unix socket of mode 0600, made beside and renamed into place; a socket that nobody listens on
 * is replaced, one that is alive is CFR_E_CONFLICT, a path longer than the kernel takes (107 bytes)
 * CFR_E_CONFIG. */
int cfr_httpd_open_unix(const char *path, cfr_httpd_fn *fn, void *ctx, struct cfr_server **out, struct cfr_err *err);
/* Stops listening, ends connections, removes the socket file. */
void cfr_httpd_close(struct cfr_server *s);
/* To be polled for reading. */
int cfr_httpd_fd(const struct cfr_server *s);
/* Does what is due; never blocks. */
void cfr_httpd_step(struct cfr_server *s);
/* Milliseconds until cfr_httpd_step wants to be called again, -1 = only when readable. */
int64_t cfr_httpd_timeout_ms(const struct cfr_server *s);
/* "127.0.0.1:34567", as it really listens. */
const char *cfr_httpd_address(const struct cfr_server *s);
/* The version of libmicrohttpd, as in "0.9.75". */
const char *cfr_httpd_library(void);

#endif
