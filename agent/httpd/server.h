/* SPDX-License-Identifier: MIT */
/* The HTTP server engine on libmicrohttpd, on a Unix socket or a TCP address. Never blocks, and runs as a task of
 * the loop (agent/loop/loop.h). Callbacks are called from there, must answer at once and must not block or call this
 * engine. The peer's identity is known on Unix sockets only. Limits: 256 connections by default, 32 per address of
 * another machine, 10 s without a complete request, 8 KiB of request head, CFR_API_ROUTES_BODY_MAX of body. */
#ifndef CFR_AGENT_HTTPD_SERVER_H
#define CFR_AGENT_HTTPD_SERVER_H

#include "serve/api/routes.h"
#include "serve/sdk/endpoint.h"

#include <sys/types.h>

struct cfr_httpd_server;

#define CFR_HTTPD_PEER_GROUPS_MAX 256

struct cfr_httpd_peer {
    bool known; /* the kernel reported the rest; only on Unix sockets */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    gid_t groups[CFR_HTTPD_PEER_GROUPS_MAX]; /* supplementary groups; none if there are more */
    size_t group_count;
    char text[64]; /* "127.0.0.1", "uid 1000" */
};

/* Answers one request; the body, if any, is complete. The engine frees RESPONSE's body. */
typedef void cfr_httpd_fn(void *ctx, const struct cfr_httpd_peer *peer, const struct cfr_httpd_request *request,
                          struct cfr_httpd_response *response);
/* The same for answers with secrets, which are wiped once sent; ANSWER is zeroed, and freed by the engine. Returns
 * false, with ANSWER untouched, if the request is not for this function. */
typedef bool cfr_httpd_secret_fn(void *ctx, const struct cfr_httpd_peer *peer,
                                 const struct cfr_sdk_endpoint_request *request,
                                 struct cfr_sdk_endpoint_answer *answer);

/* Which machines can reach a TCP address. */
enum cfr_httpd_reach {
    CFR_HTTPD_ANY,  /* every machine */
    CFR_HTTPD_LINK, /* answers do not leave the link: hop limit 1, except on loopback addresses */
    CFR_HTTPD_HERE, /* the same, and an address of the interface lo is bound to it. The kernel may refuse that (before
                     * Linux 5.7 without CAP_NET_RAW), which is logged at debug level */
};

/* The other end of a TCP connection. */
struct cfr_httpd_origin {
    unsigned char address[16];
    size_t n;  /* bytes of the address: 4 or 16; 0 = not known */
    bool here; /* it is this machine: for a loopback address a loopback address, else any of its own, by the kernel */
    char text[64];
};

/* Called before anything is read from a new connection; false closes it. */
typedef bool cfr_httpd_accept_fn(void *ctx, const struct cfr_httpd_origin *origin);

struct cfr_httpd_options {
    cfr_httpd_secret_fn *secret; /* called first; NULL = none */
    cfr_httpd_fn *fn;            /* NULL = none: 404 */
    void *ctx;
    unsigned connections;         /* one more closes the longest idle one of the user with the most; 0 = 256 */
    unsigned per_address;         /* of another machine: one more closes its longest idle one; 0 = no limit */
    bool no_body;                 /* requests with a body are refused */
    mode_t mode;                  /* of a Unix socket; 0 = 0600 */
    int64_t patience_ms;          /* with the directory of a Unix socket that does not answer; 0 = 50 */
    enum cfr_httpd_reach reach;   /* of a TCP address */
    cfr_httpd_accept_fn *accepts; /* NULL = all; only on TCP */
};

/* Listens on WHERE with OPTIONS (copied). A connection that has not sent a complete request for 10 s is closed, however
 * many bytes it sends.
 * TCP: "127.0.0.1:9080", "[::1]:9080", ":9080" (all addresses), or a port of 0 (any; see cfr_httpd_address).
 * Unix socket: an absolute path; made under another name and renamed into place; an existing socket that no process
 * listens on is replaced.
 * CFR_E_CONFIG (malformed address, path longer than the kernel's 107 bytes), CFR_E_CONFLICT (in use), CFR_E_PERM,
 * CFR_E_TIMEOUT (the socket's directory is on a file system that does not answer), CFR_E_NOMEM. */
int cfr_httpd_open(const char *where, bool unix_socket, const struct cfr_httpd_options *options,
                   struct cfr_httpd_server **out, struct cfr_err *err);
/* The same on a TCP address with the default limits. */
int cfr_httpd_open_tcp(const char *address, cfr_httpd_fn *fn, void *ctx, struct cfr_httpd_server **out,
                       struct cfr_err *err);
/* Stops listening, closes connections, removes the socket file. NULL is allowed. */
void cfr_httpd_close(struct cfr_httpd_server *s);
/* Stops listening: clients that are connected already are accepted and answered by later steps, others are refused.
 * Each answer then ends its connection. Blocks for at most 100 ms. */
void cfr_httpd_quiesce(struct cfr_httpd_server *s);
/* Changes what can reach S from now on. CFR_E_PERM: what is bound to lo cannot be released without CAP_NET_RAW. */
int cfr_httpd_set_reach(struct cfr_httpd_server *s, enum cfr_httpd_reach reach, struct cfr_err *err);
/* Limits S to MOST connections, but to no more than it was opened with, and ends those beyond. */
void cfr_httpd_set_connections(struct cfr_httpd_server *s, unsigned most);
/* Ends all connections. */
void cfr_httpd_end_connections(struct cfr_httpd_server *s);
/* True while a connection waits for an answer, or has not sent its first request. */
bool cfr_httpd_is_busy(const struct cfr_httpd_server *s);
/* "127.0.0.1:34567", the address it listens on, or the path. */
const char *cfr_httpd_address(const struct cfr_httpd_server *s);
/* Whether clients can find it: false if its Unix socket's file was removed or replaced. */
bool cfr_httpd_is_there(const struct cfr_httpd_server *s);
/* The version of libmicrohttpd, as in "0.9.75". */
const char *cfr_httpd_library(void);

#endif
