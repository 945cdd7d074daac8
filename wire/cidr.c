/* SPDX-License-Identifier: MIT */
/* Parses networks of IP addresses, and finds addresses in them. */
#include "wire/cidr.h"

#include "base/view.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static void keep_prefix(unsigned char *address, size_t n, unsigned bits)
{
    for (size_t i = 0; i < n; i++) {
        unsigned here = bits > 8 * i ? bits - (unsigned)(8 * i) : 0;

        if (here < 8)
            address[i] &= (unsigned char)(0xff00u >> here);
    }
}

static int parse_bits(const char *text, struct cfr_cidr *out, struct cfr_err *err)
{
    const int64_t most = INT64_C(8) * out->n;
    int64_t bits = most;

    if (text != NULL && (text[0] < '0' || text[0] > '9' || !cfr_view_int(cfr_view_of(text), &bits) || bits > most))
        return cfr_err_set(err, CFR_E_CONFIG, "its prefix is not a number from 1 to %d", (int)most);
    if (bits == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "that is every address; write the networks that are meant");
    out->bits = (unsigned char)bits;
    return 0;
}

int cfr_cidr_parse(const char *text, struct cfr_cidr *out, struct cfr_err *err)
{
    const char *slash = strchr(text, '/');
    size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
    char host[INET6_ADDRSTRLEN] = "";
    unsigned char given[16];
    int rc;

    *out = (struct cfr_cidr){.n = 0};
    if (n < sizeof host)
        (void)snprintf(host, sizeof host, "%.*s", (int)n, text);
    if (n < sizeof host && inet_pton(AF_INET, host, out->address) == 1)
        out->n = 4;
    else if (n < sizeof host && inet_pton(AF_INET6, host, out->address) == 1)
        out->n = 16;
    else
        return cfr_err_set(err, CFR_E_CONFIG, "is not a network; write one such as 10.244.0.0/16 or fd00:10::/64");
    rc = parse_bits(slash != NULL ? slash + 1 : NULL, out, err);
    if (rc != 0)
        return rc;
    memcpy(given, out->address, sizeof given);
    keep_prefix(out->address, out->n, out->bits);
    if (memcmp(given, out->address, sizeof given) == 0)
        return 0;
    (void)inet_ntop(out->n == 4 ? AF_INET : AF_INET6, out->address, host, sizeof host);
    return cfr_err_set(err, CFR_E_CONFIG, "has bits set beyond its prefix; write %s/%u, or %.*s for only that address",
                       host, out->bits, (int)n, text);
}

bool cfr_cidr_has(const struct cfr_cidr *c, const unsigned char *address, size_t n)
{
    unsigned char prefix[16];

    if (n != c->n)
        return false;
    memcpy(prefix, address, n);
    keep_prefix(prefix, n, c->bits);
    return memcmp(prefix, c->address, n) == 0;
}
