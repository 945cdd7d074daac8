/* SPDX-License-Identifier: MIT */
/* The HTTP server engine: one listener per certificate, a thread per connection, a whole request in, a reply
 * out. */
#ifndef LC_HTTP_H
#define LC_HTTP_H

#include "text.h"

enum { LC_MOST_REPLY_HEADERS = 24, LC_MOST_BODY_BYTES = 10000000 };

struct lc_header {
    char *name;
    char *value;
};

/* A request that arrived completely. Everything is the engine's. */
struct lc_request {
    const char *method;
    const char *path;  /* as sent, before '?' */
    const char *query; /* as sent, after '?'; "" when there is none */
    const struct lc_header *headers;
    size_t header_count;
    const char *body; /* NUL-terminated, may hold NULs */
    size_t body_len;
    bool too_big; /* the body was longer than LC_MOST_BODY_BYTES and is not here */
    unsigned long connection;
    const void *client_der; /* the client's certificate, verified; NULL: none */
    size_t client_der_len;
    bool client_bad; /* a certificate was shown that is not good */
};

/* The first header of that name, or NULL. */
const char *lc_request_header(const struct lc_request *request, const char *name);

/* What to answer, and how badly. */
struct lc_reply {
    unsigned status;
    struct lc_buf body;
    struct lc_header headers[LC_MOST_REPLY_HEADERS];
    size_t header_count;
    bool no_answer; /* close the connection instead */
    bool cut;       /* send only cut_bytes of the announced length, then close */
    size_t cut_bytes;
    size_t total_bytes; /* when larger than the body: filled up with spaces to that length */
    double slow_ms;     /* per byte of the body */
    /* After the body, which may be empty: appends what comes next to OUT, waiting for it for at most 0.2 s. False at
     * the end. FLOW_FREE frees the owner. NULL: there is nothing more. */
    bool (*flow)(void *owner, struct lc_buf *out);
    void (*flow_free)(void *owner);
    void *flow_owner;
};

/* Sets or replaces a header; value NULL removes it. */
void lc_reply_header(struct lc_reply *reply, const char *name, const char *value);
void lc_reply_free(struct lc_reply *reply);

/* What a listener calls, each from the connection's thread. */
struct lc_http_use {
    void *owner;
    void (*handle)(void *owner, const struct lc_request *request, struct lc_reply *reply);
    void (*opened)(void *owner);
    void (*began)(void *owner); /* a request is complete and is being handled */
    void (*ended)(void *owner); /* its answer is out, or the connection is gone */
};

struct lc_http;

/* What a TLS listener shows, and the CA of the client certificates that it takes without asking for one
 * (NULL: it takes none). PEM texts, borrowed for the listener's life. */
struct lc_http_tls {
    const char *cert_pem;
    const char *key_pem;
    const char *client_ca_pem;
};

/* Listens on 127.0.0.1. port 0 takes any free one. tls NULL: plain HTTP. Nothing is accepted before
 * lc_http_start. */
struct lc_http *lc_http_new(unsigned short port, const struct lc_http_tls *tls, const struct lc_http_use *use,
                            struct lc_fail *fail);
unsigned short lc_http_port(const struct lc_http *http);
int lc_http_start(struct lc_http *http, struct lc_fail *fail);
/* Ends every connection and waits for its thread. */
void lc_http_free(struct lc_http *http);

#endif
