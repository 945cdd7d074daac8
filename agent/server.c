/* SPDX-License-Identifier: MIT */
/* The HTTP server engine on libmicrohttpd's external epoll. */
#include "agent/server.h"

#include "agent/server_listen.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX             256U
#define CONNECTIONS_PER_ADDRESS_MAX 32U
#define IDLE_S                      10U
/* Request and answer heads share it; half of it holds the request's 8 KiB. */
#define CONNECTION_MEMORY 16384
#define QUERY_MAX         4096
/* How much of a body that is too large is read before the connection is cut instead of answered. */
#define DISCARD_MAX 65536

struct cfr_server {
    struct MHD_Daemon *daemon;
    struct cfr_server_socket socket;
    cfr_server_fn *fn;
    void *ctx;
};

/* One request while its body arrives. */
struct call {
    struct cfr_str body;
    size_t received;
};

/* Paths stay as they were sent: serve/ decodes them, strictly. */
static size_t leave_escaped(void *ctx, struct MHD_Connection *c, char *text)
{
    (void)ctx;
    (void)c;
    return strlen(text);
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode why)
{
    struct call *call = *state;

    (void)ctx;
    (void)c;
    (void)why;
    if (call == NULL)
        return;
    cfr_str_free(&call->body);
    free(call);
    *state = NULL;
}

static enum MHD_Result add_parameter(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct cfr_str *query = ctx;

    (void)kind;
    if (query->len != 0)
        cfr_str_addz(query, "&");
    cfr_str_addz(query, key);
    if (value != NULL) {
        cfr_str_addz(query, "=");
        cfr_str_addz(query, value);
    }
    return MHD_YES;
}

static struct cfr_peer peer_of(struct MHD_Connection *c, bool unix_socket)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct cfr_peer peer = {0};
    struct ucred cred;
    socklen_t n = sizeof cred;

    if (!unix_socket || info == NULL || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) != 0)
        return peer;
    return (struct cfr_peer){.known = true, .uid = cred.uid, .gid = cred.gid, .pid = cred.pid};
}

static bool add_fields(struct MHD_Response *m, const struct cfr_response *r)
{
    if (MHD_add_response_header(m, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") != MHD_YES ||
        MHD_add_response_header(m, "X-Content-Type-Options", "nosniff") != MHD_YES)
        return false;
    if (r->content_type != NULL &&
        MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_TYPE, r->content_type) != MHD_YES)
        return false;
    return r->allow == NULL || MHD_add_response_header(m, MHD_HTTP_HEADER_ALLOW, r->allow) == MHD_YES;
}

/* Hands R to the connection; R's body is given away. MHD_NO closes the connection. */
static enum MHD_Result respond(struct MHD_Connection *c, struct cfr_response *r)
{
    struct MHD_Response *m;
    enum MHD_Result rc;

    if (r->body.p != NULL)
        m = MHD_create_response_from_buffer(r->body.len, r->body.p, MHD_RESPMEM_MUST_FREE);
    else
        m = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (m == NULL) {
        cfr_str_free(&r->body);
        return MHD_NO;
    }
    rc = add_fields(m, r) ? MHD_queue_response(c, (unsigned)r->status, m) : MHD_NO;
    MHD_destroy_response(m);
    return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *code, const char *message)
{
    struct cfr_response r = {0};

    cfr_routes_error(status, code, message, &r);
    return respond(c, &r);
}

static enum MHD_Result refuse_body(struct MHD_Connection *c)
{
    return refuse(c, 413, "too-large", "the body is larger than the 4096 bytes that are allowed");
}

static enum MHD_Result answer(struct cfr_server *s, struct MHD_Connection *c, const char *path,
                              const char *method, const struct call *call)
{
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    struct cfr_str query = {.limit = QUERY_MAX};
    struct cfr_peer peer = peer_of(c, s->socket.unix_path != NULL);
    struct cfr_response r = {0};
    struct cfr_request req = {
        .method = cfr_view_of(method),
        .path = cfr_view_of(path),
        .host = cfr_view_of(host),
        .body = cfr_str_view(&call->body),
    };

    (void)MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, add_parameter, &query);
    if (query.failed) {
        cfr_str_free(&query);
        return refuse(c, 400, "bad-request", "the query is too long");
    }
    req.query = cfr_str_view(&query);
    s->fn(s->ctx, &peer, &req, &r);
    cfr_str_free(&query);
    return respond(c, &r);
}

/* The first of the calls that libmicrohttpd makes for each request: the head is there, the body is not. */
static enum MHD_Result begin(struct MHD_Connection *c, void **state)
{
    const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    struct call *call;
    int64_t n;

    if (length != NULL && (!cfr_view_int(cfr_view_of(length), &n) || n > CFR_ROUTES_BODY_MAX))
        return refuse_body(c);
    call = calloc(1, sizeof *call);
    if (call == NULL)
        return MHD_NO;
    call->body.limit = CFR_ROUTES_BODY_MAX;
    *state = call;
    return MHD_YES;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *data, size_t *size, void **state)
{
    struct call *call = *state;

    (void)version;
    if (call == NULL)
        return begin(c, state);
    if (*size != 0) {
        call->received += *size;
        cfr_str_add(&call->body, (struct cfr_view){data, *size});
        *size = 0;
        return call->received > DISCARD_MAX ? MHD_NO : MHD_YES;
    }
    if (call->received > CFR_ROUTES_BODY_MAX)
        return refuse_body(c);
    if (call->body.failed)
        return MHD_NO;
    return answer(ctx, c, path, method, call);
}

static int open_daemon(struct cfr_server *s, struct cfr_err *err)
{
    int fd = s->socket.fd;

    s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET,
                                 (MHD_socket)fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                                 MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_PER_ADDRESS_MAX,
                                 MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                 (size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                                 MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
                                 MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_END);
    if (s->daemon != NULL) {
        s->socket.fd = -1; /* the daemon closes it */
        return 0;
    }
    /* Whether a failed start has closed the socket is not documented. */
    if (fcntl(fd, F_GETFD) < 0)
        s->socket.fd = -1;
    return cfr_err_set(err, CFR_E_NOMEM,
                       "%s: the HTTP server does not start; memory or descriptors are short",
                       s->socket.address);
}

static int open_server(const char *where, bool unix_socket, cfr_server_fn *fn, void *ctx,
                       struct cfr_server **out, struct cfr_err *err)
{
    struct cfr_server *s = calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (s == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    s->fn = fn;
    s->ctx = ctx;
    rc = unix_socket ? cfr_server_listen_unix(where, &s->socket, err)
                     : cfr_server_listen_tcp(where, &s->socket, err);
    if (rc == 0)
        rc = open_daemon(s, err);
    if (rc != 0) {
        cfr_server_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

int cfr_server_open_tcp(const char *address, cfr_server_fn *fn, void *ctx, struct cfr_server **out,
                        struct cfr_err *err)
{
    return open_server(address, false, fn, ctx, out, err);
}

int cfr_server_open_unix(const char *path, cfr_server_fn *fn, void *ctx, struct cfr_server **out,
                         struct cfr_err *err)
{
    return open_server(path, true, fn, ctx, out, err);
}

void cfr_server_close(struct cfr_server *s)
{
    if (s == NULL)
        return;
    if (s->daemon != NULL)
        MHD_stop_daemon(s->daemon);
    cfr_server_listen_end(&s->socket);
    free(s);
}

int cfr_server_fd(const struct cfr_server *s)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    return info != NULL ? info->epoll_fd : -1;
}

void cfr_server_step(struct cfr_server *s)
{
    (void)MHD_run(s->daemon);
}

int64_t cfr_server_timeout_ms(const struct cfr_server *s)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (MHD_get_timeout(s->daemon, &ms) != MHD_YES)
        return -1;
    return ms > INT32_MAX ? INT32_MAX : (int64_t)ms;
}

const char *cfr_server_address(const struct cfr_server *s)
{
    return s->socket.address;
}
