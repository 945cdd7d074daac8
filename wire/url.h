/* SPDX-License-Identifier: MIT */
/* URLs that a configuration, a Secret or a credential file names: taken apart, and held to the rules that hold for all.
 * Source: RFC 3986. */
#ifndef CFR_WIRE_URL_H
#define CFR_WIRE_URL_H

#include "base/err.h"
#include "base/view.h"

#define CFR_URL_MAX 2048

/* Views into the URL. */
struct cfr_url {
    bool tls;
    struct cfr_view host;      /* with brackets if it is an IPv6 literal, without the port */
    struct cfr_view authority; /* host with the port, as in a Host header */
    struct cfr_view path;      /* from the first `/` after the authority on, with any query; may be empty */
};

/* Takes TEXT apart. CFR_E_CONFIG, without naming the key, says what is wrong: neither https nor http, http to anything
 * but localhost or a literal loopback address, a user, a fragment, blanks or other characters that no URL has, too
 * long. */
int cfr_url_parse(const char *text, struct cfr_url *out, struct cfr_err *err);
/* True for a DNS name or literal address that may stand in a URL, with an optional port: for hosts that are composed.
 */
bool cfr_url_host_ok(struct cfr_view host);

#endif
