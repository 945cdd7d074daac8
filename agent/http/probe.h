/* SPDX-License-Identifier: MIT */
/* A probe of a server for diagnosis: resolves its name, connects, checks its certificate and reads its clock, without
 * sending any secret. Blocks for at most the timeout of the request. */
#ifndef CFR_AGENT_HTTP_PROBE_H
#define CFR_AGENT_HTTP_PROBE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFR_HTTP_PROBE_CERTS 4
#define CFR_HTTP_PROBE_TEXT  256

struct cfr_http_probe_request {
    const char *url;     /* its scheme, host and port; the path is not requested */
    const char *ca_file; /* as in struct cfr_http_request */
    struct cfr_view ca_pem;
    const char *server_name;
    bool link_local;
    bool plain_http;
    bool connect_only; /* send no request at all */
    int64_t timeout_ms;
};

struct cfr_http_probe_cert {
    char subject[CFR_HTTP_PROBE_TEXT];
    char issuer[CFR_HTTP_PROBE_TEXT];
    char names[CFR_HTTP_PROBE_TEXT]; /* the names it is valid for; empty = none */
    char from[64];
    char until[64];
};

struct cfr_http_probe {
    int error; /* 0, or as in struct cfr_http_answer */
    struct cfr_err err;
    char address[64];        /* of the connection; empty = none */
    char proxy_variable[16]; /* of the environment, whose proxy applies; empty = none */
    bool proxied;            /* through a proxy's CONNECT */
    int64_t connected_ms;    /* since the beginning; -1 = not reached */
    int64_t secured_ms;      /* end of the TLS handshake; -1 also without TLS */
    long status;             /* 0 = no answer */
    int64_t date_s;          /* the server's Date, 0 = none */
    /* If the certificate was refused: the chain that the server sent, its own first. */
    struct cfr_http_probe_cert certs[CFR_HTTP_PROBE_CERTS];
    size_t cert_count;
};

/* Connects, and unless CONNECT_ONLY sends `HEAD /`, which every server answers. If the certificate is refused, a second
 * connection reads it without verification, and nothing is sent on it. Only after cfr_http_open. */
void cfr_http_probe(const struct cfr_http_probe_request *request, struct cfr_http_probe *out);
/* Appends, in PEM form, the last certificate that the server of REQUEST presents, which is verified as always.
 * CFR_E_MISSING without TLS, CFR_E_NET, _TIMEOUT, _TLS, _NOMEM. Blocks like cfr_http_probe. */
int cfr_http_probe_chain_end(const struct cfr_http_probe_request *request, struct cfr_str *pem, struct cfr_err *err);
/* Splits URL into HOST (without brackets), PORT and whether it is https. False if URL is malformed. */
bool cfr_http_probe_host(const char *url, char host[CFR_HTTP_PROBE_TEXT], int *port, bool *tls);

#endif
