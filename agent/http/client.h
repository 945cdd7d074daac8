/* SPDX-License-Identifier: MIT */
/* The HTTP client engine, and the one wait of the whole agent. The only user of libcurl. */
#ifndef CFR_AGENT_HTTP_CLIENT_H
#define CFR_AGENT_HTTP_CLIENT_H

#include "base/secret.h"

#include <poll.h>

struct cfr_http; /* engine: connections, their limits, and the requests under way */

struct cfr_http_request {
    const char *method;
    const char *url;
    const char *unix_socket;     /* connect there instead; NULL = by the URL */
    const char *ca_file;         /* NULL = the system's certificates; else it alone is trusted */
    struct cfr_view ca_pem;      /* in place of ca_file, when not empty; copied */
    struct cfr_view client_cert; /* PEM chain to show in the handshake, with client_key; copied; empty = none */
    struct cfr_view client_key;
    const char *server_name; /* the name in the server's certificate where it is not the URL's host; NULL */
    const char *proxy;       /* URL of the http(s) proxy to use whatever the environment says; NULL = by it */
    bool link_local;         /* plain http to AWS's container credential addresses is meant; never proxied */
    const char *keep_header; /* literal; the answer's header of this name is kept for `header`; NULL = none */
    bool once;               /* to be sent once only: an idle connection may turn out to be dead, and what is sent
                              * on one of those is sent again */
    bool direct;             /* never through a proxy, whatever the environment and `proxy` say */
    const struct cfr_secret *headers; /* "Name: value" each, without a line end; copied */
    size_t header_count;
    const struct cfr_secret *body; /* NULL = none. Borrowed until done or cancelled */
    size_t answer_max;             /* larger answers are refused while they arrive */
    int64_t timeout_ms;            /* > 0; whole request, its queueing included; connecting takes at most 10 s of it */
};

struct cfr_http_answer {
    int error;          /* 0, or CFR_E_NET, _TIMEOUT, _TLS, _LIMIT, _NOMEM ... with err set */
    struct cfr_err err; /* says host, what went wrong, what to do; never the URL's query or a header */
    long status;
    struct cfr_view content_type;
    struct cfr_view body;
    struct cfr_view request_id; /* x-amzn-RequestId, x-ms-request-id, Audit-Id or their like */
    struct cfr_view header;     /* the header that was to be kept, at most 64 KiB; empty = there was none */
    int64_t retry_after_s;      /* -1 = none; both header forms, capped at one day */
    int64_t date_s;             /* the server's Date, 0 = none */
    double duration_s;
};

/* Called once for each request, from cfr_http_step. The answer is wiped after it returns. It may start and
 * cancel requests. */
typedef void cfr_http_done_fn(void *ctx, const struct cfr_http_answer *answer);

/* One per process, before anything else uses OpenSSL (CFR_E_INTERNAL if not). From now on OpenSSL's memory
 * and libcurl's is wiped when it is freed, and SIGPIPE is ignored, because TLS writes with write(2); what is
 * executed later should get the default back. */
int cfr_http_open(struct cfr_http **out, struct cfr_err *err);
void cfr_http_close(struct cfr_http *h);
/* Starts a request; DONE is not called before this returns. HTTPS is verified always; plain http goes to
 * loopback (by the rule of wire/url.h) and Unix sockets only; redirects are never followed; proxies (environment) are
 * never used for loopback and link-local addresses. At most 8 connections go to one host and 32 to all, the
 * rest waits its turn. METHOD, URL, headers and paths are copied. *HANDLE (may be NULL) is for
 * cfr_http_cancel, until DONE is called. CFR_E_CONFIG (URL or header that cannot be), CFR_E_MISSING or the
 * like (CA file), CFR_E_NOMEM: DONE is then never called. */
int cfr_http_start(struct cfr_http *h, const struct cfr_http_request *request, cfr_http_done_fn *done, void *ctx,
                   void **handle, struct cfr_err *err);
/* Ends it without calling DONE. NULL is allowed; from within its own DONE it does nothing. */
void cfr_http_cancel(struct cfr_http *h, void *handle);
/* The wait: until a descriptor of FDS is ready, a transfer moves, or TIMEOUT_MS (-1 = for ever) has passed.
 * Sets revents in FDS. Then moves the transfers on and calls DONE for those that ended. */
int cfr_http_step(struct cfr_http *h, struct pollfd *fds, size_t count, int64_t timeout_ms, struct cfr_err *err);
/* Forgets idle connections, addresses and certificates; after a clock step or a change of the network. A
 * changed CA file is noticed without it, at the next request that names it. Transfers under way go on. */
void cfr_http_forget(struct cfr_http *h);
/* The versions of libcurl and of OpenSSL, as in "7.88.1" and "3.0.17". */
const char *cfr_http_library(void);
const char *cfr_http_crypto_library(void);

#endif
