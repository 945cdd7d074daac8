/* SPDX-License-Identifier: MIT */
/* The HTTP client engine on libcurl, and the one wait of the whole agent. One per process. Only cfr_http_step blocks.
 * Requests are copied but for their bodies. Callbacks are called from cfr_http_step alone, once for each request, and
 * may start and cancel requests; the answer belongs to the engine and is wiped after the callback. HTTPS is always
 * verified, redirects are never followed. Errors: CFR_E_NET, _TIMEOUT, _TLS, _LIMIT, _ANSWER, _CONFIG, _NOMEM. At most
 * 8 connections to one host and 32 in all; heads of at most 64 KiB, bodies of at most answer_max. */
#ifndef CFR_AGENT_HTTP_CLIENT_H
#define CFR_AGENT_HTTP_CLIENT_H

#include "base/secret.h"

#include <poll.h>

#define CFR_HTTP_CA_FILE_MAX 4194304

struct cfr_http; /* the engine: its connections and the requests under way */

/* What has arrived of the body of an answer with status 200; returns how many of these bytes need not be passed again.
 * Called from cfr_http_step; must neither start nor cancel a request. */
typedef size_t cfr_http_part_fn(void *ctx, struct cfr_view bytes);

struct cfr_http_request {
    const char *method;
    const char *url;
    const char *unix_socket;     /* connect there instead; NULL = by the URL */
    const char *ca_file;         /* a regular file; NULL = the system's certificates; else it alone is trusted */
    struct cfr_view ca_pem;      /* in place of ca_file, when not empty; copied */
    struct cfr_view client_cert; /* PEM chain for the handshake, with client_key; copied; empty = none */
    struct cfr_view client_key;
    const char *server_name; /* the name in the server's certificate if it is not the URL's host; NULL */
    const char *proxy; /* URL of the http(s) proxy to use instead of the environment's; NULL = the environment's */
    bool link_local;   /* allow plain http to AWS's container credential addresses; never proxied */
    bool plain_http;   /* allow plain http to any host */
    const char *keep_header; /* literal; the answer's header of this name is kept for `header`; NULL = none */
    bool once;               /* never send it twice: use a new connection, because libcurl repeats a request whose idle
                              * connection turns out to be dead */
    bool direct;             /* never through a proxy, despite the environment and `proxy` */
    const struct cfr_secret *headers; /* "Name: value" each, without a line end; copied */
    size_t header_count;
    const struct cfr_secret *body; /* NULL = none. Borrowed until done or cancelled */
    size_t answer_max;             /* larger answers are cut off with CFR_E_LIMIT; with PART, what is not consumed */
    cfr_http_part_fn *part;        /* reads the body as it arrives, with DONE's CTX; NULL = whole. Such requests have
                                    * connections of their own on top of the limits */
    int64_t timeout_ms;            /* > 0; whole request, its queueing included; connecting takes at most 10 s of it */
};

struct cfr_http_answer {
    int error;          /* 0, or CFR_E_NET, _TIMEOUT, _TLS, _LIMIT, _NOMEM ... with err set */
    struct cfr_err err; /* names the host, the error and the remedy; never the URL's query or a header */
    long status;
    struct cfr_view content_type;
    struct cfr_view body;
    struct cfr_view request_id; /* x-amzn-RequestId, x-ms-request-id, Audit-Id or their like */
    struct cfr_view warning; /* texts of Warning headers with the code 299, at most 255 bytes; not printable as such */
    struct cfr_view header;  /* the header keep_header, at most 64 KiB; empty = there was none */
    int64_t retry_after_s;   /* -1 = none; both header forms, capped at one day */
    int64_t date_s;          /* the server's Date, 0 = none */
    double duration_s;
    bool renewed; /* CFR_E_NET of a request with PART, whose connection was in the way of cfr_http_forget: repeat it */
};

typedef void cfr_http_done_fn(void *ctx, const struct cfr_http_answer *answer);

/* To be called before anything else uses OpenSSL (CFR_E_INTERNAL otherwise). From now on OpenSSL and libcurl wipe their
 * memory when they free it, and SIGPIPE is ignored, because TLS writes with write(2); reset it before an exec. */
int cfr_http_open(struct cfr_http **out, struct cfr_err *err);
void cfr_http_close(struct cfr_http *h);
/* Starts a request; DONE is not called before this returns. Plain http goes to loopback addresses and Unix sockets only
 * (wire/url.h); the environment's proxies are not used for loopback and link-local addresses. Requests beyond the
 * limits of connections are queued. *HANDLE (may be NULL) is for cfr_http_cancel, until DONE is called. CFR_E_CONFIG
 * (malformed URL or header), CFR_E_MISSING ... (CA file), CFR_E_NOMEM: DONE is then never called. */
int cfr_http_start(struct cfr_http *h, const struct cfr_http_request *request, cfr_http_done_fn *done, void *ctx,
                   void **handle, struct cfr_err *err);
/* Ends a request without calling DONE. NULL is allowed; from within its own DONE it does nothing. */
void cfr_http_cancel(struct cfr_http *h, void *handle);
/* Waits until a descriptor of FDS is ready, a transfer progresses, or TIMEOUT_MS (-1 = no limit) has passed. Sets
 * revents in FDS, then continues the transfers and calls DONE for those that ended. */
int cfr_http_step(struct cfr_http *h, struct pollfd *fds, size_t count, int64_t timeout_ms, struct cfr_err *err);
/* For a program that waits for one thing: turns the loop until *DONE, which a callback sets, or END_BOOT_MS (INT64_MAX
 * = no limit): CFR_E_TIMEOUT, the requests then still to be cancelled. Blocks, and needs no SIGCHLD. */
int cfr_http_run(struct cfr_http *h, const bool *done, int64_t end_boot_ms, struct cfr_err *err);
/* Drops idle connections and cached addresses and certificates: after a clock step or a change of the network. A
 * changed CA file is noticed without it, at the next request that names it. Transfers under way continue, but for
 * requests with PART, which end as `renewed`. */
void cfr_http_forget(struct cfr_http *h);
/* Closes idle connections, unless a transfer is under way, and gives the free parts of the heap back to the kernel:
 * once many requests are through. */
void cfr_http_rest(struct cfr_http *h);
/* Makes OpenSSL wipe all memory that it frees; cfr_http_open does so too. False if OpenSSL was used before, which is
 * too late. */
bool cfr_http_crypto_wipe(void);
/* The versions of libcurl and of OpenSSL, as in "7.88.1" and "3.0.17". */
const char *cfr_http_library(void);
const char *cfr_http_crypto_library(void);
/* The system's bundle: $SSL_CERT_FILE if set, else the first existing one of the distributions' paths. NULL when there
 * is none. */
const char *cfr_http_trust_system(void);

/* Reports what the environment's proxy variables have that other programs take and libcurl ignores: wildcards, ports
 * and URLs in no_proxy, a proxy of an unknown kind, HTTP_PROXY alone. */
struct cfr_finding_sink;
void cfr_http_check_proxy(const struct cfr_finding_sink *sink);

#endif
