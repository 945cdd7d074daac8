/* SPDX-License-Identifier: MIT */
/* The HTTP server engine on libmicrohttpd's external epoll: requests, answers, and limits of connections. */
#include "agent/httpd/server.h"

#include "agent/loop/clock.h"
#include "agent/loop/loop.h"
#include "agent/httpd/admission_private.h"
#include "agent/httpd/connections_private.h"
#include "agent/httpd/listener_private.h"
#include "agent/httpd/peer_private.h"
#include "agent/httpd/strict_private.h"
#include "base/secret.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX             256U
#define CONNECTIONS_PER_ADDRESS_MAX 32U
/* Requests that a connection may send before it has the answer to the one before; then it is closed. */
#define AHEAD_MAX 16U
#define IDLE_S    10U
/* Request and answer heads share it; half of it holds the request's 8 KiB. */
#define CONNECTION_MEMORY 16384
#define HEAD_MAX          8192
#define QUERY_MAX         4096
/* Limit of one step, so that the rest of the loop gets its turn. */
#define STEP_MS 20
/* Connections to refuse at once when descriptors are short. */
#define SENT_AWAY_MAX 64
/* Limit for accepting what is in the queue when the server stops listening. */
#define QUIESCE_MS 100
#define SETTLE_MS  2

struct cfr_httpd_server {
    struct cfr_task task;
    struct MHD_Daemon *daemon;
    struct cfr_httpd_socket socket;
    struct cfr_httpd_options options;
    struct cfr_httpd_connections connections;
    unsigned connections_most;
    int epoll_fd;                         /* of the library's descriptor and the listening one */
    int diag_fd;                          /* see cfr_httpd_peer_user */
    int spare_fd;                         /* closed for a moment when descriptors are short */
    bool loopback;                        /* it listens on a loopback address */
    bool quiet;                           /* it listens no more */
    bool closing;                         /* it is about to listen no more */
    struct cfr_httpd_newcomers newcomers; /* of one step */
};

/* One request while it arrives. */
struct call {
    char *query;     /* as it was sent; NULL = none */
    const char *uri; /* in the library's buffer */
    const char *uri_end;
    bool begun;
    bool long_query;
    struct cfr_str body;
};

/* Paths stay as they were sent: serve/ decodes them strictly. */
static size_t leave_escaped(void *ctx, struct MHD_Connection *c, char *text)
{
    (void)ctx;
    (void)c;
    return strlen(text);
}

static int64_t now_ms(void)
{
    return cfr_clock_now().boot_ms;
}

static struct cfr_httpd_connection *find_connection(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info != NULL ? info->socket_context : NULL;
}

static size_t ahead_most(const struct cfr_httpd_server *s)
{
    return s->connections_most / 8 + 1;
}

/* True if more than one request waits. *ASKS: the first one, or a part of it, does. */
static bool has_pipelined(int fd, bool *asks)
{
    char head[HEAD_MAX];
    ssize_t n = recv(fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    const char *end = n > 0 ? memmem(head, (size_t)n, "\r\n\r\n", 4) : NULL;
    bool more = n == (ssize_t)sizeof head || (end != NULL && end + 4 != head + n);

    /* A client's secret is in the head. */
    if (n > 0)
        cfr_secret_wipe(head, (size_t)n);
    *asks = n > 0;
    return more;
}

/* Clients that pipeline share one part of the server, for all users: SDKs of the clouds do not pipeline. */
static struct cfr_httpd_group *ahead_group(struct cfr_httpd_server *s)
{
    static const unsigned char key[] = {CFR_HTTPD_GROUP_AHEAD};

    return cfr_httpd_connections_group(&s->connections, key, sizeof key);
}

/* By user, because all programs of this machine have the same addresses, or by the address of another machine. */
static struct cfr_httpd_group *find_group(void *ctx, struct cfr_httpd_newcomer *client)
{
    struct cfr_httpd_server *s = ctx;
    bool local = s->socket.unix_path != NULL;
    const struct sockaddr *peer = local ? NULL : &client->address.any;
    struct cfr_httpd_origin origin = {.here = true};
    unsigned char key[CFR_HTTPD_GROUP_KEY_MAX] = {CFR_HTTPD_GROUP_USER};
    struct cfr_httpd_group *ahead;
    uint32_t uid;
    size_t n = 1;

    if (s->closing)
        cfr_httpd_listen_admit(client->fd);
    if (!local)
        cfr_httpd_peer_origin(peer, s->loopback, &origin);
    if (s->options.accepts != NULL && !s->options.accepts(s->options.ctx, &origin))
        return NULL;
    if (s->options.no_body && has_pipelined(client->fd, &client->asks)) {
        ahead = ahead_group(s);
        return ahead != NULL && ahead->newcomers < ahead_most(s) ? ahead : NULL;
    }
    if (!origin.here) {
        key[0] = CFR_HTTPD_GROUP_AWAY;
        memcpy(key + 1, origin.address, origin.n);
        n += origin.n;
    } else if (cfr_httpd_peer_user(&s->diag_fd, client->fd, peer, &uid)) {
        memcpy(key + 1, &uid, sizeof uid);
        n += sizeof uid;
    }
    return cfr_httpd_connections_group(&s->connections, key, n);
}

/* What GROUP may have is limited, besides what all may have. */
static void limit_group(struct cfr_httpd_server *s, struct cfr_httpd_group *group)
{
    if (group->key[0] == CFR_HTTPD_GROUP_AHEAD)
        cfr_httpd_connections_make_room_in(&s->connections, group, ahead_most(s));
    if (group->key[0] == CFR_HTTPD_GROUP_AWAY && s->options.per_address != 0)
        cfr_httpd_connections_make_room_in(&s->connections, group, s->options.per_address);
}

static struct cfr_httpd_group *group_of(const struct cfr_httpd_server *s, int fd)
{
    size_t i = 0;

    while (i < s->newcomers.count && s->newcomers.items[i].fd != fd)
        i++;
    return i < s->newcomers.count ? s->newcomers.items[i].group : NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **connection,
                          enum MHD_ConnectionNotificationCode what)
{
    struct cfr_httpd_server *s = ctx;
    const union MHD_ConnectionInfo *info;
    struct cfr_httpd_group *group;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        cfr_httpd_connections_go(&s->connections, *connection);
        *connection = NULL;
        return;
    }
    info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    group = info != NULL ? group_of(s, info->connect_fd) : NULL;
    *connection = group != NULL ? cfr_httpd_connections_come(&s->connections, group, info->connect_fd, now_ms()) : NULL;
    if (group != NULL)
        limit_group(s, group);
    cfr_httpd_connections_make_room(&s->connections, s->connections_most);
}

/* The library's first call for a request. The returned pointer is the request's state from then on. */
static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *c)
{
    struct call *call = calloc(1, sizeof *call);
    const char *mark = strchr(uri, '?');

    (void)ctx;
    cfr_httpd_connections_owe(find_connection(c), true);
    if (call == NULL)
        return NULL;
    call->uri = uri;
    call->uri_end = uri + strlen(uri);
    if (mark == NULL)
        return call;
    call->long_query = strlen(mark + 1) > QUERY_MAX;
    call->query = call->long_query ? NULL : strdup(mark + 1);
    if (call->query != NULL || call->long_query)
        return call;
    free(call);
    return NULL;
}

static enum MHD_Result wipe_header(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
    static const char *const secret[] = {"Authorization", "X-IDENTITY-HEADER", "Secret", "X-aws-ec2-metadata-token"};

    (void)ctx;
    (void)kind;
    for (size_t i = 0; value != NULL && i < sizeof secret / sizeof secret[0]; i++) {
        /* The value is in the connection's own read buffer, which is not wiped when it is freed. */
        if (cfr_view_is_nocase(cfr_view_of(key), secret[i]))
            cfr_secret_wipe((void *)(uintptr_t)value, strlen(value));
    }
    return MHD_YES;
}

/* For every request whose first line was read, answered or not; its head is still in memory. */
static void on_completed(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
    struct cfr_httpd_server *s = ctx;
    struct call *call = *state;

    (void)why;
    (void)MHD_get_connection_values(c, MHD_HEADER_KIND, wipe_header, NULL);
    cfr_httpd_connections_owe(find_connection(c), false);
    cfr_httpd_connections_active(&s->connections, find_connection(c), false, now_ms());
    if (call == NULL)
        return;
    cfr_str_free(&call->body);
    free(call->query);
    free(call);
    *state = NULL;
}

static void read_peer(struct MHD_Connection *c, bool unix_socket, struct cfr_httpd_peer *peer)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, unix_socket ? MHD_CONNECTION_INFO_CONNECTION_FD
                                                                                  : MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct ucred cred;
    socklen_t n = sizeof cred;

    peer->known = false;
    peer->group_count = 0;
    peer->text[0] = '\0';
    if (info != NULL && !unix_socket)
        cfr_httpd_peer_name(info->client_addr, peer->text);
    if (!unix_socket || info == NULL || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) != 0)
        return;
    peer->known = true;
    peer->uid = cred.uid;
    peer->gid = cred.gid;
    peer->pid = cred.pid;
    n = sizeof peer->groups;
    if (getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &n) == 0)
        peer->group_count = n / sizeof peer->groups[0];
    (void)snprintf(peer->text, sizeof peer->text, "uid %ju", (uintmax_t)cred.uid);
}

static bool add_fields(struct MHD_Response *m, const struct cfr_httpd_response *r)
{
    if (MHD_add_response_header(m, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") != MHD_YES ||
        MHD_add_response_header(m, "X-Content-Type-Options", "nosniff") != MHD_YES)
        return false;
    if (r->content_type != NULL && MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_TYPE, r->content_type) != MHD_YES)
        return false;
    if (r->policy != NULL && MHD_add_response_header(m, "Content-Security-Policy", r->policy) != MHD_YES)
        return false;
    return r->allow == NULL || MHD_add_response_header(m, MHD_HTTP_HEADER_ALLOW, r->allow) == MHD_YES;
}

/* True if the client has sent so many requests without waiting for answers that its connection is to end: others wait
 * while it is served. */
static bool is_ahead(struct cfr_httpd_server *s, struct MHD_Connection *c)
{
    struct cfr_httpd_connection *one = find_connection(c);
    struct cfr_httpd_group *group;
    char byte;

    if (one == NULL || recv(one->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        return false;
    group = ahead_group(s);
    if (group != NULL) {
        cfr_httpd_connections_move(one, group);
        limit_group(s, group);
    }
    return ++one->ahead >= AHEAD_MAX;
}

/* Without a listener the answer is the connection's last one, which the client has to know. */
static bool add_end(struct cfr_httpd_server *s, struct MHD_Connection *c, struct MHD_Response *m, bool last)
{
    return (!s->quiet && !last && !is_ahead(s, c)) ||
           MHD_add_response_header(m, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
}

/* Queues R as the answer, the connection's LAST, and moves R's body. MHD_NO closes the connection. */
static enum MHD_Result queue_answer(struct cfr_httpd_server *s, struct MHD_Connection *c, struct cfr_httpd_response *r,
                                    bool last)
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
    rc = add_fields(m, r) && add_end(s, c, m, last) ? MHD_queue_response(c, (unsigned)r->status, m) : MHD_NO;
    MHD_destroy_response(m);
    return rc;
}

static enum MHD_Result queue_error(struct cfr_httpd_server *s, struct MHD_Connection *c, int status, const char *code,
                                   const char *message)
{
    struct cfr_httpd_response r = {0};

    cfr_api_routes_error(status, code, message, &r);
    return queue_answer(s, c, &r, false);
}

/* Ends the connection: where the next request would begin is not known. */
static enum MHD_Result queue_last_error(struct cfr_httpd_server *s, struct MHD_Connection *c, const char *message)
{
    struct cfr_httpd_response r = {0};

    cfr_api_routes_error(400, "bad-request", message, &r);
    return queue_answer(s, c, &r, true);
}

static enum MHD_Result queue_body_error(struct cfr_httpd_server *s, struct MHD_Connection *c)
{
    return queue_error(s, c, 413, "too-large",
                       s->options.no_body ? "no request has a body here"
                                          : "the body is larger than the 4096 bytes that are allowed");
}

/* ---- answers that hold secrets ---- */

static void wipe_body(void *body)
{
    cfr_secret_free(body);
    free(body);
}

static struct MHD_Response *secret_response(struct cfr_sdk_endpoint_answer *a)
{
    struct cfr_secret *body = calloc(1, sizeof *body);
    struct MHD_Response *m;

    if (body == NULL)
        return NULL;
    cfr_secret_move(body, &a->body);
    m = MHD_create_response_from_buffer_with_free_callback_cls(body->len, body->p, wipe_body, body);
    if (m == NULL)
        wipe_body(body);
    return m;
}

static enum MHD_Result respond_secret(struct cfr_httpd_server *s, struct MHD_Connection *c,
                                      struct cfr_sdk_endpoint_answer *a)
{
    struct MHD_Response *m = secret_response(a);
    bool ok = m != NULL;

    if (ok && a->content_type != NULL)
        ok = MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_TYPE, a->content_type) == MHD_YES;
    ok = ok && add_end(s, c, m, false);
    for (size_t i = 0; ok && i < a->header_count; i++)
        ok = MHD_add_response_header(m, a->headers[i].name, a->headers[i].value) == MHD_YES;
    ok = ok && MHD_queue_response(c, (unsigned)a->status, m) == MHD_YES;
    if (m != NULL)
        MHD_destroy_response(m);
    return ok ? MHD_YES : MHD_NO;
}

struct lookup {
    const char *name;
    struct cfr_view value;
    unsigned count;
};

static enum MHD_Result match_header(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct lookup *l = ctx;

    (void)kind;
    if (!cfr_view_is_nocase(cfr_view_of(key), l->name))
        return MHD_YES;
    l->count++;
    l->value = l->count == 1 && value != NULL ? cfr_view_of(value) : cfr_view_of("");
    return MHD_YES;
}

static struct cfr_view find_header(void *ctx, const char *name)
{
    struct lookup l = {.name = name};

    (void)MHD_get_connection_values(ctx, MHD_HEADER_KIND, match_header, &l);
    return l.value;
}

/* ---- requests ---- */

static void record_request(struct cfr_httpd_server *s, struct MHD_Connection *c, int status)
{
    cfr_httpd_connections_active(&s->connections, find_connection(c), status < 300, now_ms());
}

/* True if the function for secrets has answered; *RC is then for the library. */
static bool answer_secret(struct cfr_httpd_server *s, struct MHD_Connection *c, const struct cfr_httpd_peer *peer,
                          const struct cfr_httpd_request *req, enum MHD_Result *rc)
{
    struct cfr_sdk_endpoint_answer a = {0};
    struct cfr_sdk_endpoint_request r = {
        .method = req->method,
        .path = req->path,
        .query = req->query,
        .body = req->body,
        .header = find_header,
        .header_ctx = c,
    };

    if (s->options.secret == NULL || !s->options.secret(s->options.ctx, peer, &r, &a))
        return false;
    record_request(s, c, a.status);
    *rc = respond_secret(s, c, &a);
    cfr_sdk_endpoint_answer_free(&a);
    return true;
}

static enum MHD_Result answer_request(struct cfr_httpd_server *s, struct MHD_Connection *c, const char *path,
                                      const char *method, const struct call *call)
{
    enum MHD_Result rc = MHD_NO;
    struct cfr_httpd_peer peer;
    struct cfr_httpd_response r = {0};
    struct cfr_httpd_request req = {
        .method = cfr_view_of(method),
        .path = cfr_view_of(path),
        .query = cfr_view_of(call->query),
        .host = cfr_view_of(MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)),
        .body = cfr_str_view(&call->body),
    };

    read_peer(c, s->socket.unix_path != NULL, &peer);
    if (answer_secret(s, c, &peer, &req, &rc))
        return rc;
    if (s->options.fn == NULL)
        return queue_error(s, c, 404, "not-found", "there is nothing here");
    s->options.fn(s->options.ctx, &peer, &req, &r);
    record_request(s, c, r.status);
    return queue_answer(s, c, &r, false);
}

static enum MHD_Result check_field(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    cfr_httpd_strict_field(ctx, name, value);
    return MHD_YES;
}

/* Why the head is refused, or NULL. */
static const char *check_head(struct MHD_Connection *c, const struct call *call, const char *method,
                              const char *version)
{
    const union MHD_ConnectionInfo *head = MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct cfr_httpd_strict s = {.next = NULL};

    /* From version 1.0 on the library itself refuses what only the buffer shows. */
    cfr_httpd_strict_line(&s, MHD_get_version()[0] == '0', method, call->uri, call->uri_end, version);
    (void)MHD_get_connection_values(c, MHD_HEADER_KIND, check_field, &s);
    return cfr_httpd_strict_end(&s, method + (head != NULL ? head->header_size : 0));
}

/* The first of libmicrohttpd's calls for a request: its head is complete, its body is not. */
static enum MHD_Result begin_request(struct cfr_httpd_server *s, struct MHD_Connection *c, struct call *call,
                                     const char *method, const char *version)
{
    const char *why;
    const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t n;

    if (call == NULL)
        return MHD_NO;
    why = check_head(c, call, method, version);
    if (why != NULL)
        return queue_last_error(s, c, why);
    if (call->long_query)
        return queue_error(s, c, 400, "bad-request", "the query is too long");
    call->begun = true;
    call->body.limit = s->options.no_body ? 0 : CFR_API_ROUTES_BODY_MAX;
    if (length != NULL && (!cfr_view_int(cfr_view_of(length), &n) || n > (int64_t)call->body.limit))
        return queue_body_error(s, c);
    return MHD_YES;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *data, size_t *size, void **state)
{
    struct cfr_httpd_server *s = ctx;
    struct call *call = *state;

    if (call == NULL || !call->begun)
        return begin_request(s, c, call, method, version);
    if (*size != 0) {
        cfr_str_add(&call->body, (struct cfr_view){data, *size});
        *size = 0;
        return MHD_YES;
    }
    if (call->body.failed)
        return MHD_NO;
    return answer_request(ctx, c, path, method, call);
}

static int library_fd(const struct cfr_httpd_server *s)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    return info != NULL ? info->epoll_fd : -1;
}

static bool wait_for(const struct cfr_httpd_server *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int open_daemon(struct cfr_httpd_server *s, struct cfr_err *err)
{
    /* Those that are shut down make room for newcomers before the library has closed them. */
    unsigned limit = s->options.connections + CFR_HTTPD_NEWCOMERS_MAX;

    s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, s,
                                 MHD_OPTION_CONNECTION_LIMIT, limit, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
                                 MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
                                 MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
                                 MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_END);
    if (s->daemon == NULL || !wait_for(s, library_fd(s)) || !wait_for(s, s->socket.fd))
        return cfr_err_set(err, CFR_E_NOMEM, "%s: the HTTP server does not start; memory or descriptors are short",
                           s->socket.address);
    return 0;
}

static int listen_fd(const struct cfr_httpd_server *s)
{
    return s->quiet ? -1 : s->socket.fd;
}

static bool is_readable(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};

    return poll(&p, 1, 0) > 0;
}

/* Clients in the queue would keep the loop busy while none can be accepted: accepts and closes them, unless the end of
 * a connection makes room for the next one. */
static void refuse_waiting(struct cfr_httpd_server *s)
{
    size_t count = s->connections.unserved.count + s->connections.served.count;
    int fd = -1;

    if (count != 0) {
        cfr_httpd_connections_make_room(&s->connections, count - 1);
        return;
    }
    if (s->spare_fd >= 0)
        (void)close(s->spare_fd);
    for (size_t n = 0; n < SENT_AWAY_MAX && (fd = accept4(listen_fd(s), NULL, NULL, SOCK_CLOEXEC)) >= 0; n++)
        (void)close(fd);
    s->spare_fd = eventfd(0, EFD_CLOEXEC);
}

/* Accepts those that wait, and gives the library as many as it can serve in a moment. */
static void accept_clients(struct cfr_httpd_server *s)
{
    struct cfr_httpd_newcomers *new = &s->newcomers;
    int short_of = cfr_httpd_admission_collect(listen_fd(s), (s->connections_most + 1) / 2, find_group, s, new);

    for (size_t i = 0; i < new->count; i++)
        (void)MHD_add_connection(s->daemon, new->items[i].fd, &new->items[i].address.any, new->items[i].n);
    if (short_of != 0)
        refuse_waiting(s);
}

/* The library may take the newcomers over only when it runs. */
static void forget_newcomers(struct cfr_httpd_server *s)
{
    for (size_t i = 0; i < s->newcomers.count; i++)
        s->newcomers.items[i].group->newcomers--;
    s->newcomers.count = 0;
    cfr_httpd_connections_tidy(&s->connections);
}

/* When the library, or an idle connection, needs the next step. */
static int64_t next_step_ms(const struct cfr_httpd_server *s)
{
    int64_t oldest_ms = cfr_httpd_connections_oldest(&s->connections);
    int64_t at_ms = oldest_ms != INT64_MAX ? oldest_ms + IDLE_S * INT64_C(1000) + 1 : INT64_MAX;
    MHD_UNSIGNED_LONG_LONG left_ms;

    if (MHD_get_timeout(s->daemon, &left_ms) != MHD_YES || left_ms > INT32_MAX)
        return at_ms;
    return now_ms() + (int64_t)left_ms < at_ms ? now_ms() + (int64_t)left_ms : at_ms;
}

/* Accepts, reads, answers and closes connections, for at most STEP_MS. */
static void step(struct cfr_httpd_server *s)
{
    int64_t until_ms = now_ms() + STEP_MS;

    cfr_httpd_connections_end_idle(&s->connections, now_ms() - IDLE_S * INT64_C(1000));
    do {
        if (!s->quiet)
            accept_clients(s);
        (void)MHD_run(s->daemon);
        forget_newcomers(s);
    } while (is_readable(s->epoll_fd) && now_ms() < until_ms);
    cfr_loop_at(&s->task, next_step_ms(s));
}

static void run_server(struct cfr_task *task)
{
    step(CFR_TASK_OWNER(task, struct cfr_httpd_server, task));
}

int cfr_httpd_open(const char *where, bool unix_socket, const struct cfr_httpd_options *options,
                   struct cfr_httpd_server **out, struct cfr_err *err)
{
    struct cfr_httpd_server *s = calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (s == NULL)
        return cfr_err_nomem(err);
    s->options = *options;
    if (s->options.connections == 0)
        s->options.connections = CONNECTIONS_MAX;
    s->connections_most = s->options.connections;
    s->spare_fd = eventfd(0, EFD_CLOEXEC);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->diag_fd = -1;
    rc = unix_socket ? cfr_httpd_listen_unix(where, options->mode != 0 ? options->mode : 0600, options->patience_ms,
                                             &s->socket, err)
                     : cfr_httpd_listen_tcp(where, options->reach, &s->socket, err);
    s->loopback = !unix_socket && rc == 0 && cfr_httpd_peer_is_socket_loopback(s->socket.fd);
    if (rc == 0)
        rc = open_daemon(s, err);
    s->task.run = run_server;
    if (rc == 0)
        rc = cfr_loop_fd(&s->task, s->epoll_fd, err);
    if (rc != 0) {
        cfr_httpd_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

int cfr_httpd_open_tcp(const char *address, cfr_httpd_fn *fn, void *ctx, struct cfr_httpd_server **out,
                       struct cfr_err *err)
{
    return cfr_httpd_open(address, false,
                          &(struct cfr_httpd_options){.fn = fn, .ctx = ctx, .per_address = CONNECTIONS_PER_ADDRESS_MAX},
                          out, err);
}

void cfr_httpd_close(struct cfr_httpd_server *s)
{
    if (s == NULL)
        return;
    cfr_loop_off(&s->task);
    if (s->daemon != NULL)
        MHD_stop_daemon(s->daemon);
    cfr_httpd_listen_end(&s->socket);
    cfr_httpd_connections_tidy(&s->connections);
    if (s->spare_fd >= 0)
        (void)close(s->spare_fd);
    if (s->diag_fd >= 0)
        (void)close(s->diag_fd);
    if (s->epoll_fd >= 0)
        (void)close(s->epoll_fd);
    free(s);
}

void cfr_httpd_quiesce(struct cfr_httpd_server *s)
{
    int64_t settled_ms = now_ms() + SETTLE_MS;
    int64_t until_ms = now_ms() + QUIESCE_MS;
    bool waiting = true;

    if (s->quiet)
        return;
    s->closing = true;
    cfr_httpd_listen_quiesce(&s->socket, listen_fd(s));
    /* A handshake under way ends within SETTLE_MS on this machine. */
    while ((waiting || now_ms() < settled_ms) && now_ms() < until_ms) {
        struct pollfd p = {listen_fd(s), POLLIN, 0};

        (void)poll(&p, 1, SETTLE_MS);
        step(s);
        waiting = is_readable(listen_fd(s));
    }
    s->quiet = true;
    (void)close(s->socket.fd);
    s->socket.fd = -1;
}

int cfr_httpd_set_reach(struct cfr_httpd_server *s, enum cfr_httpd_reach reach, struct cfr_err *err)
{
    int rc = cfr_httpd_listen_reach(listen_fd(s), reach, err);

    if (rc == CFR_E_PERM)
        return cfr_err_set(err, rc,
                           "%s: changing from this machine only to other machines needs CAP_NET_RAW; restart the agent",
                           s->socket.address);
    return rc;
}

void cfr_httpd_set_connections(struct cfr_httpd_server *s, unsigned most)
{
    s->connections_most = most < s->options.connections ? most : s->options.connections;
    cfr_httpd_connections_make_room(&s->connections, s->connections_most);
}

void cfr_httpd_end_connections(struct cfr_httpd_server *s)
{
    cfr_httpd_connections_end_idle(&s->connections, INT64_MAX);
}

bool cfr_httpd_is_busy(const struct cfr_httpd_server *s)
{
    return cfr_httpd_connections_owed(&s->connections);
}

const char *cfr_httpd_address(const struct cfr_httpd_server *s)
{
    return s->socket.address;
}

bool cfr_httpd_is_there(const struct cfr_httpd_server *s)
{
    return cfr_httpd_listen_is_there(&s->socket);
}

const char *cfr_httpd_library(void)
{
    return MHD_get_version();
}
