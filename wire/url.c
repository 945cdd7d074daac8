/* SPDX-License-Identifier: MIT */
/* URLs. */
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

static bool address(struct cfr_view text, int family, unsigned char out[16])
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
    return !like_number(label) || address(host, AF_INET, bytes);
}

static bool name_or_address_ok(struct cfr_view host)
{
    unsigned char bytes[16];

    if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        return address((struct cfr_view){host.p + 1, host.n - 2}, AF_INET6, bytes);
    return name_ok(host);
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

static bool is_loopback(struct cfr_view host)
{
    static const unsigned char six[16] = {[15] = 1};
    unsigned char bytes[16];

    if (cfr_view_is_nocase(host, "localhost"))
        return true;
    if (host.p[0] == '[')
        return address((struct cfr_view){host.p + 1, host.n - 2}, AF_INET6, bytes) &&
               memcmp(bytes, six, sizeof six) == 0;
    return address(host, AF_INET, bytes) && bytes[0] == 127;
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

static int check_authority(struct cfr_view authority, struct cfr_url *out, struct cfr_err *err)
{
    struct cfr_view port;

    if (memchr(authority.p, '@', authority.n) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it has a user or password before the host; leave out what stands before the @");
    out->host = split_port(authority, &port);
    if (!name_or_address_ok(out->host))
        return cfr_err_set(err, CFR_E_CONFIG, "it has no valid host name; write https://HOST or https://HOST:PORT");
    if (port.p != NULL && !port_ok(port))
        return cfr_err_set(err, CFR_E_CONFIG, "its port must be a number from 1 to 65535");
    if (!out->tls && !is_loopback(out->host))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "plain http is only for 127.0.0.1, [::1] and localhost, because secrets would "
                           "cross the network in the clear; use https (with ca_file for a private CA)");
    return 0;
}

int cfr_url_parse(const char *text, struct cfr_url *out, struct cfr_err *err)
{
    size_t n = strlen(text);
    const char *p;

    *out = (struct cfr_url){.tls = strncmp(text, "https://", 8) == 0};
    if (n > CFR_URL_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it is longer than %d characters", CFR_URL_MAX);
    if (!out->tls && strncmp(text, "http://", 7) != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it must be a URL that begins with https://");
    p = text + (out->tls ? 8 : 7);
    out->authority = (struct cfr_view){p, strcspn(p, "/?#")};
    p += out->authority.n;
    out->path = cfr_view_of(p);
    if (strchr(p, '#') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it has a fragment; leave out what stands from the # on, for it is never sent");
    if (!path_ok(out->path))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "after the host it may only have a path that begins with / and a query, without "
                           "blanks and with other special characters percent-encoded");
    return check_authority(out->authority, out, err);
}
