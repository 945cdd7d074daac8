/* SPDX-License-Identifier: MIT */
/* One request under way in libcurl. The only file that includes libcurl's header. */
#ifndef CFR_AGENT_HTTP_TRANSFER_PRIVATE_H
#define CFR_AGENT_HTTP_TRANSFER_PRIVATE_H

#include "agent/http/ca_file_private.h"
#include "agent/http/client.h"
#include "agent/http/flow_private.h"
#include "agent/http/header_private.h"
#include "agent/http/lookup_private.h"
#include "agent/http/sockets_private.h"

#include <curl/curl.h>

#define CFR_HTTP_CONNECT_MAX_MS 10000

/* Kind of a request's destination. */
struct cfr_http_target {
    struct cfr_view host; /* borrowed from the request's URL */
    bool tls;
    bool loopback;
    bool link_local; /* one of AWS's container credential addresses, and the request allows them */
};

struct cfr_http_transfer {
    struct cfr_http_transfer *prev;
    struct cfr_http_transfer *next;
    CURL *easy;
    struct curl_slist *headers;
    cfr_http_done_fn *done;
    cfr_http_part_fn *part; /* NULL = the body is collected */
    void *ctx;
    bool paused;                      /* a stream that waits until PART has read what there is */
    bool unread;                      /* ... and which PART then did not */
    bool ended;                       /* DONE is being called */
    bool renewed;                     /* a stream that cfr_http_forget has ended */
    bool named;                       /* the server has a name, not a literal address */
    bool looked_up;                   /* a lookup of a name was begun */
    struct cfr_http_lookups *lookups; /* NULL = not limited, as in a probe */
    struct cfr_http_sockets *sockets; /* NULL = what the server sends is not limited, as in a probe */
    size_t quiet_threads;             /* of the process while nothing is looked up */
    char method[8];                   /* for the log */
    char target[256];                 /* "host:port" or "the socket PATH", for error texts */
    char *ca_file;                    /* heap, for error texts; NULL without TLS, and where the CA comes from memory */
    struct cfr_http_trust_copy ca;    /* what was read from it; empty = none */
    struct cfr_http_trust_copy proxy_ca; /* of the system's certificates, for an https proxy; empty = none */
    char *host; /* heap: the Host header where the URL has the certificate's name instead; else NULL */
    struct curl_slist *connect_to; /* and where to connect then */
    bool own_proxy;                /* not the environment's */
    bool may_proxy;                /* there is a proxy that may apply */
    const char *keep_header;
    struct cfr_secret kept; /* the value of that header */
    int64_t timeout_ms;
    struct cfr_http_head head;
    struct cfr_http_flow flow; /* of a stream: since its last part */
    int64_t flow_boot_ms;      /* of the last look at it */
    struct cfr_secret body;
    struct cfr_err refused; /* why the answer was cut off */
    size_t failures;        /* of allocations before the transfer */
    char words[CURL_ERROR_SIZE];
};

/* Checks the URLs of R (its own and the proxy's), fills OUT and T's target. CFR_E_CONFIG, CFR_E_NOMEM. */
int cfr_http_target_check(struct cfr_http_transfer *t, const struct cfr_http_request *r, struct cfr_http_target *out,
                          struct cfr_err *err);
/* Makes T connect to the host of R's URL while the certificate is checked for R's server_name. *URL is the URL to use
 * (heap, free). CFR_E_CONFIG, CFR_E_NOMEM. */
int cfr_http_target_rename(struct cfr_http_transfer *t, const struct cfr_http_request *r, char **url,
                           struct cfr_err *err);
/* Reads the CA certificates that R's connection to TO is verified with into TRUST, for T; nothing where it needs none.
 * *CHANGED as in cfr_http_trust_load. CFR_E_MISSING: there are none. */
int cfr_http_setup_trust(struct cfr_http_transfer *t, const struct cfr_http_request *r,
                         const struct cfr_http_target *to, struct cfr_http_trust *trust, bool *changed,
                         struct cfr_err *err);
/* Sets every option of T's easy handle, and T's header list. NO_PROXY is libcurl's list; FRESH keeps the
 * transfer away from every connection and certificate that is cached. CFR_E_CONFIG (a header), CFR_E_NOMEM.
 */
int cfr_http_setup(struct cfr_http_transfer *t, const struct cfr_http_request *r, const struct cfr_http_target *to,
                   const char *no_proxy, bool fresh, struct cfr_err *err);
/* The environment's no_proxy and the addresses that are never proxied, as libcurl's list. The caller frees it; NULL
 * when memory is short. */
char *cfr_http_setup_no_proxy(void);
/* True if T's name has been asked for, and there is no answer. */
bool cfr_http_is_lookup_open(const struct cfr_http_transfer *t);
/* Sets ERR for CODE, which ended T: our code and a text that says what to do. Returns the code. */
int cfr_http_explain(const struct cfr_http_transfer *t, CURLcode code, struct cfr_err *err);

#endif
