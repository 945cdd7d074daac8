/* SPDX-License-Identifier: MIT */
/* The libcurl options of a request. */
#include "agent/http/openssl_private.h"
#include "agent/http/transfer_private.h"
#include "agent/loop/clock.h"
#include "base/str.h"
#include "base/wipealloc.h"
#include "wire/cidr.h"
#include "wire/url.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOW_LOOK_MS         100
#define CA_CACHE_S           86400L
#define KEEPALIVE_IDLE_S     30L
#define KEEPALIVE_INTERVAL_S 10L
/* Of each transfer, wiped as a whole at its end: requests and answers are small. The second is libcurl's minimum. */
#define RECEIVE_BYTES 4096L
#define SEND_BYTES    16384L

/* Loopback and link-local addresses; among them are the clouds' metadata and credential endpoints. */
static const char never_proxied[] = "localhost,127.0.0.0/8,::1,169.254.0.0/16,fe80::/10,fd00:ec2::23";

/* Ours and the environment's. libcurl takes `*` as "all" only where it is the whole list. */
static bool has_proxy(void)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i]) != NULL)
            return true;
    }
    return false;
}

char *cfr_http_setup_no_proxy(void)
{
    const char *env = getenv("no_proxy");
    struct cfr_str s = {.limit = 65536};

    if (env == NULL)
        env = getenv("NO_PROXY");
    /* Without a proxy, libcurl need not search the list for each request. */
    if (!has_proxy() || (env != NULL && strcmp(env, "*") == 0))
        cfr_str_addz(&s, "*");
    else
        cfr_str_addf(&s, "%s%s%s", never_proxied, env != NULL ? "," : "", env != NULL ? env : "");
    if (s.failed)
        cfr_str_free(&s);
    return s.p;
}

static bool is_header_named(const struct cfr_secret *header, const char *name)
{
    size_t n = strlen(name);

    return header->len >= n && strncasecmp(header->p, name, n) == 0;
}

static int add_header(struct cfr_http_transfer *t, const char *line, struct cfr_err *err)
{
    struct curl_slist *list = curl_slist_append(t->headers, line);

    if (list == NULL)
        return cfr_err_nomem(err);
    t->headers = list;
    return 0;
}

/* With a server_name the URL has the certificate's host, and the Host header the real one. */
static int add_host_header(struct cfr_http_transfer *t, struct cfr_err *err)
{
    return t->host != NULL ? add_header(t, t->host, err) : 0;
}

/* libcurl adds these headers itself, unless there is a line without a value. */
static int suppress_defaults(struct cfr_http_transfer *t, const struct cfr_http_request *r, struct cfr_err *err)
{
    static const char *const lines[] = {"Expect:", "Accept:", "Content-Type:"};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        bool given = false;

        for (size_t k = 0; k < r->header_count; k++)
            given = given || is_header_named(&r->headers[k], lines[i]);
        if (!given && add_header(t, lines[i], err) != 0)
            return CFR_E_NOMEM;
    }
    return 0;
}

/* `Name: value` on one line, without blanks around either. */
static bool is_header(struct cfr_view line)
{
    ptrdiff_t colon = cfr_view_find(line, ": ");
    struct cfr_view name = {line.p, colon > 0 ? (size_t)colon : 0};
    struct cfr_view value = {0};

    if (name.n != 0)
        value = (struct cfr_view){line.p + name.n + 2, line.n - name.n - 2};
    if (name.n == 0 || value.n == 0 || memchr(name.p, ' ', name.n) != NULL || !cfr_view_eq(cfr_view_trim(value), value))
        return false;
    for (size_t i = 0; i < line.n; i++) {
        if ((unsigned char)line.p[i] < 0x20 || line.p[i] == 0x7f)
            return false;
    }
    return true;
}

static int add_headers(struct cfr_http_transfer *t, const struct cfr_http_request *r, struct cfr_err *err)
{
    for (size_t i = 0; i < r->header_count; i++) {
        struct cfr_view line = cfr_secret_view(&r->headers[i]);

        /* The error does not quote the line: it may be a secret that lost its name. */
        if (!is_header(line))
            return cfr_err_set(err, CFR_E_CONFIG, "%s: a request header is not of the form `Name: value` on one line",
                               t->target);
        if (add_header(t, line.p, err) != 0)
            return CFR_E_NOMEM;
    }
    return add_host_header(t, err) != 0 ? CFR_E_NOMEM : suppress_defaults(t, r, err);
}

static void store_header(struct cfr_http_transfer *t, struct cfr_view line)
{
    size_t n = t->keep_header != NULL ? strlen(t->keep_header) : 0;

    if (cfr_view_starts(line, "HTTP/"))
        cfr_secret_clear(&t->kept);
    if (n == 0 || line.n <= n || line.p[n] != ':' || t->kept.len != 0 ||
        !cfr_view_is_nocase((struct cfr_view){line.p, n}, t->keep_header))
        return;
    line = cfr_view_trim((struct cfr_view){line.p + n + 1, line.n - n - 1});
    (void)cfr_secret_append(&t->kept, line, &t->refused);
}

static size_t on_head(char *p, size_t size, size_t n, void *ctx)
{
    struct cfr_http_transfer *t = ctx;

    (void)size; /* always 1 */
    store_header(t, (struct cfr_view){p, n});
    return t->refused.code == 0 && cfr_http_head_line(&t->head, (struct cfr_view){p, n}, &t->refused) == 0 ? n : 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct cfr_http_transfer *t = ctx;

    (void)size;
    if (t->part != NULL)
        t->flow = (struct cfr_http_flow){.known = false};
    if (n > t->body.limit - t->body.len && t->part != NULL && t->body.len != 0 && !t->unread) {
        t->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (n > t->body.limit - t->body.len)
        (void)cfr_err_set(&t->refused, CFR_E_LIMIT, "the answer is larger than the %zu bytes that are allowed",
                          t->body.limit);
    else if (cfr_secret_append(&t->body, (struct cfr_view){p, n}, &t->refused) == 0)
        return n;
    return 0;
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    (void)purpose;
    cfr_http_sockets_add(ctx, fd);
    return CURL_SOCKOPT_OK;
}

static int on_close(void *ctx, curl_socket_t fd)
{
    return cfr_http_sockets_close(ctx, fd);
}

/* Called while the answer arrives. libcurl counts the bytes of the body only, and an extension of a chunk has no limit,
 * but the kernel counts all bytes of a TCP connection. */
static int on_progress(void *ctx, curl_off_t to_come, curl_off_t come, curl_off_t to_go, curl_off_t gone)
{
    struct cfr_http_transfer *t = ctx;
    int64_t now_ms = cfr_clock_now().boot_ms;
    uint64_t bytes = 0;
    long port = 0;

    (void)to_come;
    (void)come;
    (void)to_go;
    (void)gone;
    /* Three system calls for each piece of an answer would be too many. */
    if (t->flow.known && now_ms - t->flow_boot_ms < FLOW_LOOK_MS)
        return 0;
    t->flow_boot_ms = now_ms;
    if (curl_easy_getinfo(t->easy, CURLINFO_LOCAL_PORT, &port) != CURLE_OK ||
        !cfr_http_sockets_received(t->sockets, port, &bytes))
        return 0;
    return cfr_http_flow_check(&t->flow, bytes, t->part == NULL && t->head.bytes != 0, t->body.limit, now_ms,
                               &t->refused) != 0;
}

/* Called before a name is looked up that is not cached. */
static int on_lookup(void *resolver, void *reserved, void *ctx)
{
    struct cfr_http_transfer *t = ctx;
    size_t threads = cfr_http_lookup_threads();

    (void)resolver;
    (void)reserved;
    t->looked_up = true;
    return t->named && t->lookups != NULL &&
           cfr_http_lookup_check(t->lookups, threads > t->quiet_threads ? threads - t->quiet_threads : 0, t->target,
                                 &t->refused) != 0;
}

/* Each function below returns 0, or the bits of the errors. */
static unsigned set_method(CURL *e, const struct cfr_http_request *r)
{
    const struct cfr_secret *body = r->body;
    bool sends = body != NULL || strcmp(r->method, "POST") == 0 || strcmp(r->method, "PUT") == 0 ||
                 strcmp(r->method, "PATCH") == 0;
    unsigned bad = 0;

    if (sends) {
        bad |= curl_easy_setopt(e, CURLOPT_POST, 1L);
        bad |= curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(body != NULL ? body->len : 0));
        /* Not copied: the secret stays in one place. */
        bad |= curl_easy_setopt(e, CURLOPT_POSTFIELDS, body != NULL && body->len != 0 ? body->p : "");
    } else if (strcmp(r->method, "HEAD") == 0) {
        return curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    }
    return bad | curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
}

int cfr_http_setup_trust(struct cfr_http_transfer *t, const struct cfr_http_request *r,
                         const struct cfr_http_target *to, struct cfr_http_trust *trust, bool *changed,
                         struct cfr_err *err)
{
    const char *system = cfr_http_trust_system();
    const char *path = r->ca_file != NULL ? r->ca_file : system;
    bool also = false;
    int rc = 0;

    if (!to->tls)
        return 0;
    if (r->ca_pem.n == 0 && path == NULL)
        return cfr_err_set(err, CFR_E_MISSING,
                           "this system has no CA certificates; install the package ca-certificates, or set ca_file");
    if (r->ca_pem.n == 0) {
        rc = cfr_http_trust_load(trust, path, &t->ca, changed, err);
        if (rc == 0)
            t->ca_file = cfr_str_dup(cfr_view_of(path));
        if (rc == 0 && t->ca_file == NULL)
            rc = cfr_err_nomem(err);
    }
    if (rc == 0 && system != NULL && (r->proxy != NULL || has_proxy()))
        rc = cfr_http_trust_load(trust, system, &t->proxy_ca, &also, err);
    *changed = *changed || also;
    return rc;
}

static unsigned set_blob(CURL *e, CURLoption option, struct cfr_view bytes)
{
    /* libcurl copies it and never writes to it. */
    union {
        const char *in;
        void *out;
    } data = {bytes.p};
    struct curl_blob blob = {data.out, bytes.n, CURL_BLOB_COPY};

    return bytes.n != 0 ? curl_easy_setopt(e, option, &blob) : 0;
}

static CURLcode on_tls(CURL *e, void *ssl_ctx, void *ctx)
{
    (void)e;
    (void)ctx;
    cfr_http_crypto_keep_nothing(ssl_ctx);
    return cfr_http_crypto_limit(ssl_ctx) ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

/* libcurl compares all of these before it uses a kept connection again. */
static unsigned set_trust(CURL *e, const struct cfr_http_transfer *t, const struct cfr_http_request *r, bool fresh)
{
    unsigned bad = curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);

    bad |= curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
    bad |= curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    bad |= curl_easy_setopt(e, CURLOPT_CAINFO, t->ca.path[0] != '\0' ? t->ca.path : NULL);
    bad |= curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
    /* libcurl's cache of CA files does not apply to certificates from memory. */
    bad |= set_blob(e, CURLOPT_CAINFO_BLOB, r->ca_pem.n != 0 ? r->ca_pem : t->ca.bytes);
    /* A resumed session would keep an old verdict after a change of the CA file. */
    bad |= curl_easy_setopt(e, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    bad |= curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, on_tls);
    bad |= curl_easy_setopt(e, CURLOPT_CA_CACHE_TIMEOUT, fresh ? 0L : CA_CACHE_S);
    bad |= curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, fresh || r->once ? 1L : 0L);
    bad |= curl_easy_setopt(e, CURLOPT_FORBID_REUSE, fresh ? 1L : 0L);
    if (r->client_cert.n == 0)
        return bad;
    bad |= set_blob(e, CURLOPT_SSLCERT_BLOB, r->client_cert);
    bad |= set_blob(e, CURLOPT_SSLKEY_BLOB, r->client_key);
    /* Without a password, OpenSSL prompts on the terminal for that of an encrypted key. */
    return bad | curl_easy_setopt(e, CURLOPT_KEYPASSWD, "");
}

static bool is_never_proxied(const struct cfr_http_request *r, const struct cfr_http_target *to)
{
    return r->direct || r->unix_socket != NULL || to->link_local || (to->loopback && r->proxy == NULL);
}

/* As libcurl compares them: a network, or a domain with what lies below it. */
static bool covers(struct cfr_view entry, struct cfr_view host)
{
    unsigned char address[16];
    size_t n = cfr_url_address(host, address);
    struct cfr_cidr network;
    char text[256];

    if (entry.n == 0 || entry.n >= sizeof text)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", (int)entry.n, entry.p);
    if (n != 0)
        return cfr_cidr_parse(text, &network, NULL) == 0 && cfr_cidr_has(&network, address, n);
    if (entry.n > host.n)
        return text[0] == '.' && cfr_view_is_nocase(host, text + 1);
    return cfr_view_is_nocase((struct cfr_view){host.p + (host.n - entry.n), entry.n}, text) &&
           (entry.n == host.n || text[0] == '.' || host.p[host.n - entry.n - 1] == '.');
}

static bool is_exempt(struct cfr_view host, const char *no_proxy)
{
    size_t n;

    for (const char *entry = no_proxy; *entry != '\0'; entry += n + strspn(entry + n, ", ")) {
        n = strcspn(entry, ", ");
        if (covers((struct cfr_view){entry, n}, host))
            return true;
    }
    return strcmp(no_proxy, "*") == 0;
}

static unsigned set_proxy(CURL *e, const struct cfr_http_transfer *t, const struct cfr_http_request *r,
                          const struct cfr_http_target *to, const char *no_proxy)
{
    /* The server's CA does not apply to an https proxy. */
    unsigned bad = curl_easy_setopt(e, CURLOPT_PROXY_CAINFO, t->proxy_ca.path[0] != '\0' ? t->proxy_ca.path : NULL);

    bad |= set_blob(e, CURLOPT_PROXY_CAINFO_BLOB, t->proxy_ca.bytes);
    bad |= curl_easy_setopt(e, CURLOPT_PROXY_CAPATH, NULL);
    if (is_never_proxied(r, to))
        return bad | curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
    /* libcurl would compare the list with the server_name. */
    if (r->proxy == NULL && r->server_name != NULL)
        no_proxy = is_exempt(to->host, no_proxy) ? "*" : "";
    if (r->proxy == NULL)
        return bad | curl_easy_setopt(e, CURLOPT_NOPROXY, no_proxy);
    bad |= curl_easy_setopt(e, CURLOPT_PROXY, r->proxy);
    return bad | curl_easy_setopt(e, CURLOPT_NOPROXY, "");
}

static unsigned set_target(CURL *e, const struct cfr_http_request *r, const char *url)
{
    unsigned bad = curl_easy_setopt(e, CURLOPT_URL, url);

    bad |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "https,http");
    bad |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    /* Not HTTP/2: nghttp2 copies requests and answers into memory that it frees unwiped, and libcurl gives it
     * no other allocator. */
    bad |= curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (r->unix_socket != NULL)
        bad |= curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
    return bad;
}

/* Sets the URL, or with a server_name the renamed URL and the address to connect to. */
static int set_url(struct cfr_http_transfer *t, const struct cfr_http_request *r, struct cfr_err *err)
{
    char *url = NULL;
    unsigned bad;
    int rc;

    if (r->server_name == NULL)
        return set_target(t->easy, r, r->url) == 0 ? 0 : cfr_err_nomem(err);
    rc = cfr_http_target_rename(t, r, &url, err);
    if (rc != 0)
        return rc;
    bad = set_target(t->easy, r, url) | curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->connect_to);
    free(url);
    return bad == 0 ? 0 : cfr_err_nomem(err);
}

static unsigned set_limits(CURL *e, const struct cfr_http_request *r)
{
    int64_t ms = r->timeout_ms > INT_MAX ? INT_MAX : r->timeout_ms;
    unsigned bad = curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)ms);

    bad |= curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                            (long)(ms < CFR_HTTP_CONNECT_MAX_MS ? ms : CFR_HTTP_CONNECT_MAX_MS));
    /* Refuses a Content-Length; on_body refuses an answer without one. */
    /* A stream is limited by what was not consumed of it. */
    if (r->part == NULL)
        bad |=
            curl_easy_setopt(e, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)(r->answer_max <= INT_MAX ? r->answer_max : 0));
    bad |= curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    if (r->part != NULL) {
        /* It is silent for minutes, and a peer that is gone should be noticed. */
        bad |= curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
        bad |= curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
        bad |= curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    }
    /* Otherwise the end of a request waits for the thread that looks its name up, as long as the name servers do. The
     * thread is detached instead, and frees what it holds. */
    bad |= curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
    return bad;
}

static unsigned set_progress(struct cfr_http_transfer *t)
{
    unsigned bad = curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0L);

    bad |= curl_easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    bad |= curl_easy_setopt(t->easy, CURLOPT_XFERINFODATA, t);
    bad |= curl_easy_setopt(t->easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    bad |= curl_easy_setopt(t->easy, CURLOPT_SOCKOPTDATA, t->sockets);
    bad |= curl_easy_setopt(t->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    return bad | curl_easy_setopt(t->easy, CURLOPT_CLOSESOCKETDATA, t->sockets);
}

static unsigned set_callbacks(struct cfr_http_transfer *t)
{
    unsigned bad = curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);

    bad |= curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->words);
    bad |= curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
    bad |= curl_easy_setopt(t->easy, CURLOPT_USERAGENT, "credfresh/" CFR_VERSION);
    bad |= curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_head);
    bad |= curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
    bad |= curl_easy_setopt(t->easy, CURLOPT_RESOLVER_START_FUNCTION, on_lookup);
    bad |= curl_easy_setopt(t->easy, CURLOPT_RESOLVER_START_DATA, t);
    bad |= curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    bad |= curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    bad |= curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    bad |= curl_easy_setopt(t->easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BYTES);
    return bad;
}

int cfr_http_setup(struct cfr_http_transfer *t, const struct cfr_http_request *r, const struct cfr_http_target *to,
                   const char *no_proxy, bool fresh, struct cfr_err *err)
{
    int rc = set_url(t, r, err);

    t->failures = cfr_wipealloc_failures();
    if (rc == 0)
        rc = add_headers(t, r, err);
    if (rc != 0)
        return rc;
    /* A stream that holds answer_max still has room for what libcurl delivers next. */
    cfr_secret_init(&t->body, r->answer_max + (r->part != NULL ? CURL_MAX_WRITE_SIZE : 0));
    cfr_secret_init(&t->kept, CFR_HTTP_HEAD_MAX);
    t->keep_header = r->keep_header;
    t->own_proxy = r->proxy != NULL;
    t->may_proxy = !is_never_proxied(r, to) && (r->proxy != NULL || has_proxy());
    t->timeout_ms = r->timeout_ms;
    /* All values are valid for libcurl, so the only possible error is a lack of memory. */
    if (set_callbacks(t) != 0 || (t->sockets != NULL && set_progress(t) != 0) ||
        set_proxy(t->easy, t, r, to, no_proxy) != 0 || set_limits(t->easy, r) != 0 ||
        set_trust(t->easy, t, r, fresh) != 0 || set_method(t->easy, r) != 0)
        return cfr_err_set(err, CFR_E_NOMEM, "%s: out of memory", t->target);
    return 0;
}
