/* SPDX-License-Identifier: MIT */
/* A look at a server without anything to send it: how its name, its address, its certificate and its clock
 * are seen from here. For people who search for a fault. */
#ifndef CFR_AGENT_HTTP_PROBE_H
#define CFR_AGENT_HTTP_PROBE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFR_HTTP_LOOK_CERTS 4
#define CFR_HTTP_LOOK_TEXT  256

struct cfr_http_look_request {
    const char *url;     /* its scheme, host and port; the path is not asked for */
    const char *ca_file; /* as in struct cfr_http_request */
    bool link_local;
    bool connect_only; /* no request, not even one without content */
    int64_t timeout_ms;
};

struct cfr_http_look_cert {
    char subject[CFR_HTTP_LOOK_TEXT];
    char issuer[CFR_HTTP_LOOK_TEXT];
    char names[CFR_HTTP_LOOK_TEXT]; /* for which it is good; empty = not said */
    char from[64];
    char until[64];
};

struct cfr_http_look {
    int error; /* 0, or as in struct cfr_http_answer */
    struct cfr_err err;
    char address[64];    /* that was connected to; empty = none */
    bool proxied;        /* through a proxy's CONNECT */
    int64_t resolved_ms; /* from the beginning on; -1 = not reached */
    int64_t connected_ms;
    int64_t secured_ms; /* the TLS handshake was done; -1 also where there is none */
    long status;        /* 0 = no answer */
    int64_t date_s;     /* the server's Date, 0 = none */
    /* Where the certificate was refused: what was shown, the server's own first. */
    struct cfr_http_look_cert certs[CFR_HTTP_LOOK_CERTS];
    size_t cert_count;
};

/* Connects, and unless CONNECT_ONLY asks `HEAD /`, which every server answers somehow. A certificate that is
 * refused is fetched once more without judging it, and nothing is sent there. After cfr_http_open; blocks for
 * at most TIMEOUT_MS. */
void cfr_http_look(const struct cfr_http_look_request *request, struct cfr_http_look *out);
/* "HOST:PORT" of URL and whether it is https; HOST alone in *HOST (brackets off). False if URL is none. */
bool cfr_http_look_host(const char *url, char host[CFR_HTTP_LOOK_TEXT], int *port, bool *tls);

#endif
