/* SPDX-License-Identifier: MIT */
/* Parses URLs and holds them to the one rule of plain http: it goes to loopback only, because secrets would cross the
 * network in the clear.
 *
 * Loopback is a literal address in 127.0.0.0/8, the literal address ::1, and the name `localhost`, which libcurl
 * resolves to these two itself, without a name server or /etc/hosts. Nothing else is: not `localhost.example`, not
 * `127.0.0.1.example`, not the short, octal or hexadecimal forms of an address. What wants more (hooks want a literal
 * address) or has another reason to trust the way (a Unix socket, AWS's link-local addresses) looks at the result.
 *
 * Pure; the results are views into the caller's text. Source: RFC 3986. */
#ifndef CFR_WIRE_URL_H
#define CFR_WIRE_URL_H

#include "base/err.h"
#include "base/view.h"

#define CFR_URL_MAX 2048

/* Views into the URL. */
struct cfr_url {
    bool tls;
    bool loopback;             /* the host is loopback, by the rule above */
    bool literal;              /* the host is an IP address */
    struct cfr_view host;      /* with brackets if it is an IPv6 literal, without the port */
    struct cfr_view port;      /* empty if there is none */
    struct cfr_view authority; /* host with the port, as in a Host header */
    struct cfr_view path;      /* from the first `/` after the authority on, with any query; may be empty */
};

/* Parses a URL that a configuration, a Secret or a credential file names. CFR_E_CONFIG, without naming the key and
 * without a word of TEXT, says what is wrong: neither https nor http, http to anything but loopback, a user, a
 * fragment, blanks or other characters that no URL has, longer than CFR_URL_MAX. */
int cfr_url_parse(const char *text, struct cfr_url *out, struct cfr_err *err);

/* What cfr_url_parse_as lets pass. */
enum {
    CFR_URL_ANY_LENGTH = 1, /* a composed URL */
    CFR_URL_ANY_HTTP = 2,   /* plain http to any host: the caller decides by out->loopback and what else it knows */
    CFR_URL_USER = 4,       /* a user and password before the host, as in the URL of a proxy; not in authority */
};
int cfr_url_parse_as(unsigned flags, const char *text, struct cfr_url *out, struct cfr_err *err);

/* True for a DNS name or literal address, with an optional port, that may appear in a URL: for hosts that are composed.
 */
bool cfr_url_host_ok(struct cfr_view host);
/* Reads HOST as a literal address: the 4 bytes of IPv4, or the 16 bytes of IPv6, which has brackets. Returns their
 * count, 0 if HOST is none. */
size_t cfr_url_address(struct cfr_view host, unsigned char out[16]);

#endif
