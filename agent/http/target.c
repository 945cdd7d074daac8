/* SPDX-License-Identifier: MIT */
/* Where a request goes: what URLs are taken, and which addresses are close enough for plain http. */
#include "agent/http/transfer_private.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a URL, each to be freed with curl_free. */
struct parts {
    char *scheme;
    char *host;
    char *port;
    char *user;
};

static void free_parts(struct parts *p)
{
    curl_free(p->scheme);
    curl_free(p->host);
    curl_free(p->port);
    curl_free(p->user);
}

static bool split(CURLU *u, const char *url, struct parts *p)
{
    bool good = curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_SCHEME, &p->scheme, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_HOST, &p->host, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_PORT, &p->port, CURLU_DEFAULT_PORT) == CURLUE_OK;

    (void)curl_url_get(u, CURLUPART_USER, &p->user, 0);
    return good;
}

/* The address in HOST, if it is a literal one. */
static int family_of(const char *host, unsigned char a[sizeof(struct in6_addr)])
{
    char inner[INET6_ADDRSTRLEN];
    size_t n = strlen(host);

    if (inet_pton(AF_INET, host, a) == 1)
        return AF_INET;
    if (n < 3 || n > sizeof inner || host[0] != '[' || host[n - 1] != ']')
        return AF_UNSPEC;
    memcpy(inner, host + 1, n - 2);
    inner[n - 2] = '\0';
    return inet_pton(AF_INET6, inner, a) == 1 ? AF_INET6 : AF_UNSPEC;
}

static bool is_loopback(const char *host)
{
    unsigned char a[sizeof(struct in6_addr)];
    int family = family_of(host, a);

    if (family == AF_INET)
        return a[0] == 127;
    if (family == AF_INET6)
        return memcmp(a, &in6addr_loopback, sizeof in6addr_loopback) == 0;
    return strcasecmp(host, "localhost") == 0;
}

/* Where AWS's container credentials come from: the ECS agent's address and EKS Pod Identity's two. */
static bool is_container_address(const char *host)
{
    static const unsigned char pods[16] = {0xfd, 0, 0x0e, 0xc2, [15] = 0x23};
    unsigned char a[sizeof(struct in6_addr)];
    int family = family_of(host, a);

    if (family == AF_INET)
        return a[0] == 169 && a[1] == 254 && a[2] == 170 && (a[3] == 2 || a[3] == 23);
    return family == AF_INET6 && memcmp(a, pods, sizeof pods) == 0;
}

static int check_parts(const struct cfr_http_request *r, const struct parts *p, struct cfr_http_target *out,
                       struct cfr_err *err)
{
    bool near = r->link_local && is_container_address(p->host);

    out->tls = strcmp(p->scheme, "https") == 0;
    if (p->user != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: a URL must not hold a user or password", p->host);
    if (!out->tls && (strcmp(p->scheme, "http") != 0 || (r->unix_socket == NULL && !is_loopback(p->host) && !near)))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "%s: %s is not allowed here; use https (http goes to loopback addresses and Unix sockets only)", p->host,
            p->scheme);
    out->loopback = is_loopback(p->host);
    out->link_local = near;
    return 0;
}

/* The proxy's URL may hold a password, so nothing of it is said but its host. */
static int check_proxy(const char *url, struct cfr_err *err)
{
    struct parts p = {NULL, NULL, NULL, NULL};
    CURLU *u = curl_url();
    int rc = 0;

    if (u == NULL)
        rc = cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    else if (!split(u, url, &p))
        rc = cfr_err_set(err, CFR_E_CONFIG, "the proxy's URL is malformed; write http://HOST:PORT");
    else if (strcmp(p.scheme, "http") != 0 && strcmp(p.scheme, "https") != 0)
        rc = cfr_err_set(err, CFR_E_CONFIG, "the proxy %s: %s is not supported; use an http or https proxy", p.host,
                         p.scheme);
    free_parts(&p);
    curl_url_cleanup(u);
    return rc;
}

int cfr_http_target_check(struct cfr_http_transfer *t, const struct cfr_http_request *r, struct cfr_http_target *out,
                          struct cfr_err *err)
{
    struct parts p = {NULL, NULL, NULL, NULL};
    CURLU *u = curl_url();
    int rc;

    if (u == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    if (split(u, r->url, &p))
        rc = check_parts(r, &p, out, err);
    else
        rc = cfr_err_set(err, CFR_E_CONFIG, "the URL is malformed; write https://HOST[:PORT]/PATH");
    if (rc == 0 && r->unix_socket != NULL)
        (void)snprintf(t->target, sizeof t->target, "the socket %s", r->unix_socket);
    else if (rc == 0)
        (void)snprintf(t->target, sizeof t->target, "%s:%s", p.host, p.port);
    free_parts(&p);
    if (rc == 0 && r->proxy != NULL) {
        rc = check_proxy(r->proxy, err);
        if (rc != 0)
            (void)cfr_err_prefix(err, "%s", t->target);
    }
    curl_url_cleanup(u);
    return rc;
}

static int put_name(CURLU *u, const struct cfr_http_request *r, char **url, struct cfr_err *err)
{
    unsigned char a[sizeof(struct in6_addr)];
    char name[300];
    bool bare = inet_pton(AF_INET6, r->server_name, a) == 1;

    (void)snprintf(name, sizeof name, bare ? "[%s]" : "%s", r->server_name);
    if (strlen(r->server_name) > 253 || curl_url_set(u, CURLUPART_HOST, name, 0) != CURLUE_OK)
        return cfr_err_set(err, CFR_E_CONFIG, "the server name is not the name of a host");
    return curl_url_get(u, CURLUPART_URL, url, 0) == CURLUE_OK ? 0 : cfr_err_set(err, CFR_E_NOMEM, "out of memory");
}

int cfr_http_target_rename(struct cfr_http_transfer *t, const struct cfr_http_request *r, char **url,
                           struct cfr_err *err)
{
    struct cfr_str to = {.limit = 1024};
    struct cfr_str host = {.limit = 1024};
    struct parts p = {NULL, NULL, NULL, NULL};
    CURLU *u = curl_url();
    char *port = NULL;
    int rc;

    if (u == NULL || !split(u, r->url, &p)) {
        rc = cfr_err_set(err, CFR_E_NOMEM, "out of memory");
    } else {
        /* As the URL has it: a port that is the usual one is left out of the header. */
        (void)curl_url_get(u, CURLUPART_PORT, &port, 0);
        cfr_str_addf(&to, "::%s:%s", p.host, p.port);
        cfr_str_addf(&host, "Host: %s%s%s", p.host, port != NULL ? ":" : "", port != NULL ? port : "");
        rc = put_name(u, r, url, err);
    }
    t->host = host.p;
    t->connect_to = rc == 0 && !to.failed ? curl_slist_append(NULL, to.p) : NULL;
    if (rc == 0 && (t->connect_to == NULL || host.failed))
        rc = cfr_err_set(err, CFR_E_NOMEM, "%s: out of memory", t->target);
    if (rc != 0) {
        curl_free(*url);
        *url = NULL;
    }
    cfr_str_free(&to);
    curl_free(port);
    free_parts(&p);
    curl_url_cleanup(u);
    return rc;
}
