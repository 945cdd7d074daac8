/* SPDX-License-Identifier: MIT */
/* Routes of the health address and the control socket: they make a response, or an action for the agent, from a
 * request. Nothing here blocks; only the status has callbacks. Requests and the status are borrowed for the call; the
 * body of a response is the caller's to free. An error is a response with an HTTP status; a request's body is at most
 * CFR_API_ROUTES_BODY_MAX bytes. */
#ifndef CFR_SERVE_API_ROUTES_H
#define CFR_SERVE_API_ROUTES_H

#include "serve/api/status.h"

#define CFR_API_ROUTES_BODY_MAX   4096
#define CFR_API_ROUTES_REASON_MAX 256

struct cfr_httpd_request {
    struct cfr_view method;
    struct cfr_view path;  /* without query, still percent-encoded */
    struct cfr_view query; /* after '?', may be empty */
    struct cfr_view host;  /* Host header, may be empty */
    struct cfr_view body;
};

struct cfr_httpd_response {
    int status;
    const char *content_type; /* literal */
    const char *allow;        /* Allow header for 405, or NULL */
    const char *policy;       /* Content-Security-Policy header: literal, or NULL */
    struct cfr_str body;      /* freed by the caller */
};

/* The action that a control request demands. */
enum cfr_api_action_kind { CFR_API_ACTION_NONE, CFR_API_ACTION_ROTATE, CFR_API_ACTION_RELOAD, CFR_API_ACTION_QUIT };

struct cfr_action {
    enum cfr_api_action_kind kind;
    char name[128];
    char reason[CFR_API_ROUTES_REASON_MAX + 1]; /* empty = none */
};

/* True if clients of the health address may call it HOST, with or without a port: an address, `localhost`, MACHINE (the
 * machine's host name) or its first label, or one of NAMES. An empty host is good: no browser leaves it out. Against
 * DNS rebinding: other names without a dot, and those below .local, are answered by any neighbour (LLMNR, mDNS). */
bool cfr_api_routes_is_host(struct cfr_view host, const char *machine, char *const *names, size_t count);
/* The health address: GET or HEAD of /livez, /readyz (?verbose), /metrics, and the status page at `/`. 404, 405. */
void cfr_api_routes_health(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                           struct cfr_httpd_response *out);
/* The control socket: GET /v1/credentials, GET /v1/credentials/NAME, POST /v1/credentials/NAME/rotate and
 * POST /v1/reload and /v1/quit (body empty or {"reason":"..."}, UTF-8 without control characters), and the health
 * pages;
 * `/` lists them. With a kind other than NONE the agent acts and answers by one of the functions below; else
 * OUT is the answer: 400, 404, 405 say in words what was wrong. */
void cfr_api_routes_control(const struct cfr_httpd_request *req, const struct cfr_api_status *status,
                            struct cfr_action *action, struct cfr_httpd_response *out);
/* The functions below replace what OUT held before. */
/* 202 {"credential":NAME,"replaces":GENERATION}; GENERATION is null when nothing is published yet. */
void cfr_api_routes_accepted(const char *name, uint64_t replaces, struct cfr_httpd_response *out);
/* {"error":{"code":NAME,"message":TEXT}} with STATUS. */
void cfr_api_routes_error(int status, const char *code, const char *message, struct cfr_httpd_response *out);
/* 202 {"stopping":true} */
void cfr_api_routes_stopping(struct cfr_httpd_response *out);

#endif
