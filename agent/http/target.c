/* SPDX-License-Identifier: MIT */
/* Targets of requests: which URLs are accepted, and where a request with another server name connects. */
#include "agent/http/transfer_private.h"
#include "base/str.h"
#include "wire/url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* A request's URL is composed: what its parts came from has been checked, with the key's name, when it was read. */
#define REQUEST (CFR_URL_ANY_LENGTH | CFR_URL_ANY_HTTP)

/* Where AWS's container credentials come from: the ECS agent's address and EKS Pod Identity's two. */
static bool is_container_address(struct cfr_view host)
{
    static const unsigned char pods[16] = {0xfd, 0, 0x0e, 0xc2, [15] = 0x23};
    unsigned char a[16];
    size_t n = cfr_url_address(host, a);

    if (n == 4)
        return a[0] == 169 && a[1] == 254 && a[2] == 170 && (a[3] == 2 || a[3] == 23);
    return n == 16 && memcmp(a, pods, sizeof pods) == 0;
}

/* The proxy's URL may hold a password, so nothing of it is reported but its host. */
static int check_proxy(const char *proxy, struct cfr_err *err)
{
    struct cfr_url url;
    int rc = cfr_url_parse_as(CFR_URL_ANY_LENGTH | CFR_URL_ANY_HTTP | CFR_URL_USER, proxy, &url, err);

    if (rc == 0)
        return 0;
    if (strncmp(proxy, "http://", 7) != 0 && strncmp(proxy, "https://", 8) != 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the proxy's URL must begin with http:// or https://; use an http or https proxy");
    (void)cfr_err_prefix(err, "the proxy's URL (http://HOST:PORT)");
    return rc;
}

int cfr_http_target_check(struct cfr_http_transfer *t, const struct cfr_http_request *r, struct cfr_http_target *out,
                          struct cfr_err *err)
{
    struct cfr_url url;
    struct cfr_view port;
    int rc = cfr_url_parse_as(REQUEST, r->url, &url, err);

    if (rc != 0) {
        (void)cfr_err_prefix(err, "the request's URL");
        return rc;
    }
    out->host = url.host;
    out->tls = url.tls;
    out->loopback = url.loopback;
    t->named = r->unix_socket == NULL && !url.loopback && !url.literal;
    out->link_local = r->link_local && is_container_address(url.host);
    if (!url.tls && !url.loopback && !out->link_local && !r->plain_http && r->unix_socket == NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "%.*s: http is not allowed here; use https (http goes to loopback addresses and Unix sockets only)",
            (int)url.host.n, url.host.p);
    port = url.port.n != 0 ? url.port : cfr_view_of(url.tls ? "443" : "80");
    if (r->unix_socket != NULL)
        (void)snprintf(t->target, sizeof t->target, "the socket %s", r->unix_socket);
    else
        (void)snprintf(t->target, sizeof t->target, "%.*s:%.*s", (int)url.host.n, url.host.p, (int)port.n, port.p);
    if (r->proxy != NULL)
        rc = check_proxy(r->proxy, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", t->target);
    return rc;
}

int cfr_http_target_rename(struct cfr_http_transfer *t, const struct cfr_http_request *r, char **url,
                           struct cfr_err *err)
{
    struct cfr_str to = {.limit = 1024};
    struct cfr_str host = {.limit = 1024};
    struct cfr_str text = {.limit = strlen(r->url) + 300};
    struct cfr_url at;
    unsigned char a[sizeof(struct in6_addr)];
    bool bare = inet_pton(AF_INET6, r->server_name, a) == 1;
    int rc = cfr_url_parse_as(REQUEST, r->url, &at, err);

    if (rc != 0)
        return rc;
    if (!bare && (strchr(r->server_name, ':') != NULL || !cfr_url_host_ok(cfr_view_of(r->server_name))))
        return cfr_err_set(err, CFR_E_CONFIG, "the server name is not the name of a host");
    cfr_str_addf(&text, at.tls ? "https://" : "http://");
    cfr_str_addf(&text, bare ? "[%s]" : "%s", r->server_name);
    cfr_str_addf(&text, "%s%.*s%.*s", at.port.n != 0 ? ":" : "", (int)at.port.n, at.port.p, (int)at.path.n, at.path.p);
    cfr_str_addf(&to, "::%.*s:%.*s", (int)at.host.n, at.host.p,
                 at.port.n != 0 ? (int)at.port.n
                 : at.tls       ? 3
                                : 2,
                 at.port.n != 0 ? at.port.p
                 : at.tls       ? "443"
                                : "80");
    cfr_str_addf(&host, "Host: %.*s", (int)at.authority.n, at.authority.p);
    if (!to.failed)
        t->connect_to = curl_slist_append(NULL, to.p);
    if (t->connect_to == NULL || host.failed || text.failed) {
        rc = cfr_err_set(err, CFR_E_NOMEM, "%s: out of memory", t->target);
        cfr_str_free(&host);
        cfr_str_free(&text);
    }
    t->host = host.p;
    *url = text.p;
    cfr_str_free(&to);
    return rc;
}
