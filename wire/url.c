/* SPDX-License-Identifier: MIT */
/* URL parser, and the rule of plain http. */
#include "wire/url.h"

#include <arpa/inet.h>
#include <string.h>

#define HOST_MAX  253
#define LABEL_MAX 63

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool letter_or_digit(char c)
{
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool parse_address(struct cfr_view text, int family, unsigned char out[16])
{
    char buf[INET6_ADDRSTRLEN];

    if (text.n >= sizeof buf || memchr(text.p, '\0', text.n) != NULL)
        return false;
    memcpy(buf, text.p, text.n);
    buf[text.n] = '\0';
    return inet_pton(family, buf, out) == 1;
}

/* Underscores are no part of host names, but clusters have such names in their DNS. */
static bool label_ok(struct cfr_view label)
{
    if (label.n == 0 || label.n > LABEL_MAX || label.p[0] == '-' || label.p[label.n - 1] == '-')
        return false;
    for (size_t i = 0; i < label.n; i++) {
        if (!letter_or_digit(label.p[i]) && label.p[i] != '-' && label.p[i] != '_')
            return false;
    }
    return true;
}

/* Short, octal and hexadecimal forms of addresses, such as 127.1, mean different things to different
 * resolvers. */
static bool like_number(struct cfr_view label)
{
    size_t n = 0;

    while (n < label.n && digit(label.p[n]))
        n++;
    return n == label.n || (n == 1 && label.p[0] == '0' && (label.p[1] == 'x' || label.p[1] == 'X'));
}

static bool name_ok(struct cfr_view host)
{
    unsigned char bytes[16];
    struct cfr_view rest = host;
    struct cfr_view label = {NULL, 0};

    if (host.n == 0 || host.n > HOST_MAX)
        return false;
    while (rest.n != 0) {
        const char *dot = memchr(rest.p, '.', rest.n);

        label = (struct cfr_view){rest.p, dot != NULL ? (size_t)(dot - rest.p) : rest.n};
        if (!label_ok(label))
            return false;
        rest.p += label.n + (dot != NULL ? 1 : 0);
        rest.n -= label.n + (dot != NULL ? 1 : 0);
    }
    return !like_number(label) || parse_address(host, AF_INET, bytes);
}

size_t cfr_url_address(struct cfr_view host, unsigned char out[16])
{
    if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        return parse_address((struct cfr_view){host.p + 1, host.n - 2}, AF_INET6, out) ? 16 : 0;
    return parse_address(host, AF_INET, out) ? 4 : 0;
}

static bool name_or_address_ok(struct cfr_view host)
{
    unsigned char bytes[16];

    return host.n > 2 && host.p[0] == '[' ? cfr_url_address(host, bytes) != 0 : name_ok(host);
}

static bool port_ok(struct cfr_view port)
{
    int64_t n;

    return port.n != 0 && port.n <= 5 && port.p[0] != '0' && digit(port.p[0]) && cfr_view_int(port, &n) && n <= 65535;
}

/* Parts HOST and `:PORT`; the port is empty, with p == NULL, if there is none. */
static struct cfr_view split_port(struct cfr_view authority, struct cfr_view *port)
{
    size_t from = 0;
    const char *colon;

    *port = (struct cfr_view){NULL, 0};
    if (authority.n != 0 && authority.p[0] == '[') {
        const char *end = memchr(authority.p, ']', authority.n);

        from = end != NULL ? (size_t)(end - authority.p) : 0;
    }
    colon = memchr(authority.p + from, ':', authority.n - from);
    if (authority.n == 0 || colon == NULL)
        return authority;
    *port = (struct cfr_view){colon + 1, authority.n - (size_t)(colon + 1 - authority.p)};
    return (struct cfr_view){authority.p, (size_t)(colon - authority.p)};
}

bool cfr_url_host_ok(struct cfr_view host)
{
    struct cfr_view port;
    struct cfr_view name;

    if (host.n == 0)
        return false;
    name = split_port(host, &port);
    return name_or_address_ok(name) && (port.p == NULL || port_ok(port));
}

static bool is_hex(char c)
{
    return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* RFC 3986, 3.3 and 3.4. */
static bool path_ok(struct cfr_view path)
{
    for (size_t i = 0; i < path.n; i++) {
        char c = path.p[i];

        if (c == '%' && (path.n - i < 3 || !is_hex(path.p[i + 1]) || !is_hex(path.p[i + 2])))
            return false;
        if (c == '\0' || (!letter_or_digit(c) && strchr("-._~!$&'()*+,;=:@/?%", c) == NULL))
            return false;
    }
    return path.n == 0 || path.p[0] == '/';
}

/* Fills host, port and what they are from the authority. */
static int split_authority(struct cfr_url *out, struct cfr_err *err)
{
    static const unsigned char six[16] = {[15] = 1};
    unsigned char bytes[16];
    size_t n;

    out->host = split_port(out->authority, &out->port);
    if (!name_or_address_ok(out->host))
        return cfr_err_set(err, CFR_E_CONFIG, "it has no valid host name; write https://HOST or https://HOST:PORT");
    if (out->port.p != NULL && !port_ok(out->port))
        return cfr_err_set(err, CFR_E_CONFIG, "its port must be a number from 1 to 65535");
    n = cfr_url_address(out->host, bytes);
    out->literal = n != 0;
    if (n == 0)
        out->loopback = cfr_view_is_nocase(out->host, "localhost");
    else
        out->loopback = n == 4 ? bytes[0] == 127 : memcmp(bytes, six, sizeof six) == 0;
    return 0;
}

/* TEXT is shown where it is an address of this machine: any other may hold a user and a password. */
static int refuse_scheme(const char *text, struct cfr_err *err)
{
    static const char *const hosts[] = {"127.", "localhost", "[::1]"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        if (strncmp(text, hosts[i], strlen(hosts[i])) == 0 && strlen(text) < 128 && strpbrk(text, "@?# ") == NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "it must be a URL that begins with https://, or http:// on this machine: write "
                               "http://%s",
                               text);
    }
    return cfr_err_set(err, CFR_E_CONFIG, "it must be a URL that begins with https://");
}

int cfr_url_parse_as(unsigned flags, const char *text, struct cfr_url *out, struct cfr_err *err)
{
    size_t n = strlen(text);
    const char *p;
    const char *at;
    int rc;

    *out = (struct cfr_url){.tls = strncmp(text, "https://", 8) == 0};
    if (n > CFR_URL_MAX && (flags & CFR_URL_ANY_LENGTH) == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it is longer than %d characters", CFR_URL_MAX);
    if (!out->tls && strncmp(text, "http://", 7) != 0)
        return refuse_scheme(text, err);
    p = text + (out->tls ? 8 : 7);
    out->authority = (struct cfr_view){p, strcspn(p, "/?#")};
    p += out->authority.n;
    out->path = cfr_view_of(p);
    if (strchr(p, '#') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "it has a fragment; remove everything from the # on, it is never sent");
    if (!path_ok(out->path))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "after the host it may only have a path that begins with / and a query, without "
                           "blanks and with other special characters percent-encoded");
    at = memchr(out->authority.p, '@', out->authority.n);
    if (at != NULL && (flags & CFR_URL_USER) == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it has a user or password before the host; remove everything up to the @");
    if (at != NULL) {
        out->authority.n -= (size_t)(at + 1 - out->authority.p);
        out->authority.p = at + 1;
    }
    rc = split_authority(out, err);
    if (rc == 0 && !out->tls && !out->loopback && (flags & CFR_URL_ANY_HTTP) == 0)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "plain http is only for loopback (127.0.0.0/8, [::1], localhost), because secrets would cross "
                         "the network in the clear; write https:// (with ca_file for a private CA)");
    return rc;
}

int cfr_url_parse(const char *text, struct cfr_url *out, struct cfr_err *err)
{
    return cfr_url_parse_as(0, text, out, err);
}
