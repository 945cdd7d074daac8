/* SPDX-License-Identifier: MIT */
/* Networks of IP addresses as text: "10.244.0.0/16", "fd00:10::/64". Pure. Source: RFC 4632, 3.1; RFC 4291, 2.3. */
#ifndef CFR_WIRE_CIDR_H
#define CFR_WIRE_CIDR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Without padding, so that two can be compared as bytes. */
struct cfr_cidr {
    unsigned char address[16]; /* zero beyond the prefix */
    unsigned char n;           /* bytes of the address: 4 or 16 */
    unsigned char bits;        /* of the prefix, at least 1 */
};

/* Reads ADDRESS/BITS; an address alone is a network of one. CFR_E_CONFIG, without naming the key: no literal address, a
 * prefix that is too long or empty, bits set beyond the prefix. */
int cfr_cidr_parse(const char *text, struct cfr_cidr *out, struct cfr_err *err);
/* True if the N bytes of ADDRESS, 4 or 16, lie in C. */
bool cfr_cidr_has(const struct cfr_cidr *c, const unsigned char *address, size_t n);

#endif
