/* SPDX-License-Identifier: MIT */
/* The HTTP server engine, on libmicrohttpd. */
#include "http.h"

#include "client_cert.h"
#include "pause.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MEMORY_BYTES = 64 * 1024, /* head of one request */
    STACK_BYTES = 512 * 1024,
    IDLE_S = 120,
    MOST_CONNECTIONS = 4000,
    BACKLOG = 1024,
    MOST_HEADERS = 200,
    DISCARD_BYTES = 64 * 1024 * 1024, /* of a body that is too big, before the connection is cut */
};

struct lc_http {
    struct lc_http_use use;
    struct lc_http_tls tls;
    int socket;
    unsigned short port;
    struct MHD_Daemon *daemon;
};

/* One request on its way in. */
struct arrival {
    char *target;
    bool seen_head;
    bool began;
    bool failed;
    struct lc_buf body;
    size_t discarded;
    struct lc_header *headers;
    size_t header_count;
};

static atomic_ulong connections;

const char *lc_request_header(const struct lc_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) {
            return request->headers[i].value;
        }
    }
    return NULL;
}

void lc_reply_header(struct lc_reply *reply, const char *name, const char *value)
{
    size_t at = 0;

    while (at < reply->header_count && strcasecmp(reply->headers[at].name, name) != 0) {
        at++;
    }
    if (at < reply->header_count) {
        free(reply->headers[at].name);
        free(reply->headers[at].value);
        reply->headers[at] = reply->headers[--reply->header_count];
    }
    if (value != NULL && reply->header_count < LC_MOST_REPLY_HEADERS) {
        struct lc_header header = {strdup(name), strdup(value)};
        if (header.name == NULL || header.value == NULL) {
            free(header.name);
            free(header.value);
            return;
        }
        reply->headers[reply->header_count++] = header;
    }
}

void lc_reply_free(struct lc_reply *reply)
{
    while (reply->header_count > 0) {
        reply->header_count--;
        free(reply->headers[reply->header_count].name);
        free(reply->headers[reply->header_count].value);
    }
    lc_buf_free(&reply->body);
    if (reply->flow != NULL) {
        reply->flow_free(reply->flow_owner);
        reply->flow = NULL;
    }
}

/* A body that is sent in an unusual way. */
struct stream {
    struct lc_buf body;
    size_t send_bytes;
    double slow_ms;
};

static ssize_t stream_read(void *cls, uint64_t pos, char *out, size_t max)
{
    const struct stream *stream = cls;
    size_t from = (size_t)pos;
    size_t count = max;

    if (from >= stream->send_bytes) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (stream->slow_ms > 0) {
        count = 1;
        if (lc_pause(stream->slow_ms)) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
    }
    if (count > stream->send_bytes - from) {
        count = stream->send_bytes - from;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = from + i < stream->body.len ? stream->body.at[from + i] : ' ';
    }
    return (ssize_t)count;
}

/* A body without an announced end. */
struct flow {
    bool (*next)(void *owner, struct lc_buf *out);
    void (*free)(void *owner);
    void *owner;
    struct lc_buf body; /* not yet sent, from AT */
    size_t at;
};

static ssize_t flow_read(void *cls, uint64_t pos, char *out, size_t max)
{
    struct flow *flow = cls;
    size_t count = 0;

    (void)pos;
    if (flow->at == flow->body.len) {
        lc_buf_free(&flow->body);
        flow->at = 0;
        if (lc_pause(0) || !flow->next(flow->owner, &flow->body)) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
    }
    count = flow->body.len - flow->at < max ? flow->body.len - flow->at : max;
    if (count != 0) {
        memcpy(out, flow->body.at + flow->at, count);
    }
    flow->at += count;
    return (ssize_t)count;
}

static void flow_free(void *cls)
{
    struct flow *flow = cls;

    flow->free(flow->owner);
    lc_buf_free(&flow->body);
    free(flow);
}

static struct MHD_Response *flowing(struct lc_reply *reply)
{
    struct flow *flow = calloc(1, sizeof *flow);
    struct MHD_Response *response = NULL;

    if (flow == NULL) {
        return NULL;
    }
    *flow = (struct flow){reply->flow, reply->flow_free, reply->flow_owner, reply->body, 0};
    reply->body = (struct lc_buf){0};
    reply->flow = NULL;
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, flow_read, flow, flow_free);
    if (response == NULL) {
        flow_free(flow);
    }
    return response;
}

static void stream_free(void *cls)
{
    struct stream *stream = cls;

    lc_buf_free(&stream->body);
    free(stream);
}

static struct MHD_Response *streamed(struct lc_reply *reply)
{
    struct stream *stream = calloc(1, sizeof *stream);
    size_t announced = reply->total_bytes > reply->body.len ? reply->total_bytes : reply->body.len;
    struct MHD_Response *response = NULL;

    if (stream == NULL) {
        return NULL;
    }
    stream->body = reply->body;
    reply->body = (struct lc_buf){0};
    stream->slow_ms = reply->slow_ms;
    stream->send_bytes = reply->cut && reply->cut_bytes < announced ? reply->cut_bytes : announced;
    if (reply->cut && stream->send_bytes == announced) {
        announced++; /* the answer was shorter than the cut: still announce more than comes */
    }
    response =
        MHD_create_response_from_callback(announced, reply->slow_ms > 0 ? 16 : 16384, stream_read, stream, stream_free);
    if (response == NULL) {
        stream_free(stream);
    }
    return response;
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct lc_reply *reply)
{
    bool special = reply->cut || reply->slow_ms > 0 || reply->total_bytes > reply->body.len;
    struct MHD_Response *response = NULL;
    enum MHD_Result result = MHD_NO;

    if (reply->no_answer || reply->body.broken) {
        return MHD_NO;
    }
    if (reply->flow != NULL) {
        response = flowing(reply);
    } else if (special) {
        response = streamed(reply);
    } else {
        response = MHD_create_response_from_buffer(reply->body.len, reply->body.at, MHD_RESPMEM_MUST_COPY);
    }
    if (response == NULL) {
        return MHD_NO;
    }
    for (size_t i = 0; i < reply->header_count; i++) {
        (void)MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    }
    result = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result keep_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct arrival *arrival = cls;
    struct lc_header *grown = NULL;
    struct lc_header header = {0};

    (void)kind;
    if (arrival->header_count >= MOST_HEADERS) {
        arrival->failed = true;
        return MHD_NO;
    }
    grown = realloc(arrival->headers, (arrival->header_count + 1) * sizeof *grown);
    header = (struct lc_header){strdup(name), strdup(value == NULL ? "" : value)};
    if (grown != NULL) {
        arrival->headers = grown;
    }
    if (grown == NULL || header.name == NULL || header.value == NULL) {
        free(header.name);
        free(header.value);
        arrival->failed = true;
        return MHD_NO;
    }
    grown[arrival->header_count++] = header;
    return MHD_YES;
}

static enum MHD_Result answer(struct lc_http *http, struct MHD_Connection *connection, const char *method,
                              struct arrival *arrival)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    char *mark = strchr(arrival->target, '?');
    struct lc_reply reply = {.status = 500};
    struct lc_request request = {.method = method,
                                 .path = arrival->target,
                                 .query = mark == NULL ? "" : mark + 1,
                                 .headers = arrival->headers,
                                 .header_count = arrival->header_count,
                                 .body = arrival->body.at == NULL ? "" : arrival->body.at,
                                 .body_len = arrival->body.len,
                                 .too_big = arrival->discarded > 0,
                                 .connection = 0};
    enum MHD_Result result = MHD_NO;

    if (mark != NULL) {
        *mark = '\0';
    }
    if (info != NULL && info->socket_context != NULL) {
        request.connection = *(const unsigned long *)info->socket_context;
    }
    if (http->tls.client_ca_pem != NULL) {
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        lc_client_cert(info == NULL ? NULL : info->tls_session, &request);
    }
    arrival->began = true;
    http->use.began(http->use.owner);
    http->use.handle(http->use.owner, &request, &reply);
    result = send_reply(connection, &reply);
    lc_reply_free(&reply);
    return result;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *data_len, void **req_cls)
{
    struct arrival *arrival = *req_cls;

    (void)url;
    (void)version;
    if (arrival == NULL || arrival->failed) {
        return MHD_NO;
    }
    if (!arrival->seen_head) {
        arrival->seen_head = true;
        (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, keep_header, arrival);
        return arrival->failed ? MHD_NO : MHD_YES;
    }
    if (*data_len == 0) {
        return answer(cls, connection, method, arrival);
    }
    if (arrival->discarded > 0 || arrival->body.len + *data_len > LC_MOST_BODY_BYTES) {
        lc_buf_free(&arrival->body);
        arrival->discarded += *data_len;
    } else {
        lc_buf_add(&arrival->body, data, *data_len);
    }
    *data_len = 0;
    return arrival->body.broken || arrival->discarded > DISCARD_BYTES ? MHD_NO : MHD_YES;
}

/* libmicrohttpd decodes the target; signatures need it as it was sent. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
    struct arrival *arrival = calloc(1, sizeof *arrival);

    (void)cls;
    (void)connection;
    if (arrival != NULL && (arrival->target = strdup(target)) == NULL) {
        free(arrival);
        arrival = NULL;
    }
    return arrival;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **req_cls,
                         enum MHD_RequestTerminationCode code)
{
    struct lc_http *http = cls;
    struct arrival *arrival = *req_cls;

    (void)connection;
    (void)code;
    if (arrival == NULL) {
        return;
    }
    if (arrival->began) {
        http->use.ended(http->use.owner);
    }
    for (size_t i = 0; i < arrival->header_count; i++) {
        free(arrival->headers[i].name);
        free(arrival->headers[i].value);
    }
    free(arrival->headers);
    lc_buf_free(&arrival->body);
    free(arrival->target);
    free(arrival);
    *req_cls = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct lc_http *http = cls;

    (void)connection;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        unsigned long *number = malloc(sizeof *number);
        if (number != NULL) {
            *number = atomic_fetch_add(&connections, 1) + 1;
        }
        *socket_context = number;
        http->use.opened(http->use.owner);
    } else {
        free(*socket_context);
        *socket_context = NULL;
    }
}

static int listen_on(unsigned short port, unsigned short *got, struct lc_fail *fail)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof address;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return lc_fail_set(fail, "cannot listen on 127.0.0.1 port %u: %s", (unsigned)port, strerror(error));
    }
    *got = ntohs(address.sin_port);
    return fd;
}

struct lc_http *lc_http_new(unsigned short port, const struct lc_http_tls *tls, const struct lc_http_use *use,
                            struct lc_fail *fail)
{
    struct lc_http *http = calloc(1, sizeof *http);

    if (http == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    http->use = *use;
    http->tls = tls == NULL ? (struct lc_http_tls){0} : *tls;
    http->socket = listen_on(port, &http->port, fail);
    if (http->socket < 0) {
        free(http);
        return NULL;
    }
    return http;
}

unsigned short lc_http_port(const struct lc_http *http)
{
    return http->port;
}

int lc_http_start(struct lc_http *http, struct lc_fail *fail)
{
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)http->tls.cert_pem},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)http->tls.key_pem},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t) "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"},
        {http->tls.client_ca_pem == NULL ? MHD_OPTION_END : MHD_OPTION_HTTPS_MEM_TRUST, 0,
         (void *)(uintptr_t)http->tls.client_ca_pem},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};

    http->daemon = MHD_start_daemon(
        flags | (http->tls.cert_pem == NULL ? 0U : MHD_USE_TLS), 0, NULL, NULL, on_request, http,
        MHD_OPTION_LISTEN_SOCKET, http->socket, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS, MHD_OPTION_URI_LOG_CALLBACK, on_target, http,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
        MHD_OPTION_ARRAY, http->tls.cert_pem == NULL ? plain : tls, MHD_OPTION_END);
    if (http->daemon == NULL) {
        return lc_fail_set(fail, "the HTTP listener on port %u could not be started", (unsigned)http->port);
    }
    return 0;
}

void lc_http_free(struct lc_http *http)
{
    if (http == NULL) {
        return;
    }
    if (http->daemon != NULL) {
        MHD_stop_daemon(http->daemon); /* closes the socket too */
    } else {
        (void)close(http->socket);
    }
    free(http);
}
