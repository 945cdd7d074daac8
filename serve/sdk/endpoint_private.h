/* SPDX-License-Identifier: MIT */
/* What the shapes share to read requests and write answers (endpoint.c). */
#ifndef CFR_SERVE_SDK_ENDPOINT_PRIVATE_H
#define CFR_SERVE_SDK_ENDPOINT_PRIVATE_H

#include "serve/sdk/endpoint.h"

void cfr_sdk_endpoint_header(struct cfr_sdk_endpoint_answer *out, const char *name, struct cfr_view value);
void cfr_sdk_endpoint_add(struct cfr_sdk_endpoint_answer *out, struct cfr_view bytes);
/* True if a proxy passed the request on: X-Forwarded-For or Forwarded (RFC 7239) is there, whatever it says. */
bool cfr_sdk_endpoint_proxied(const struct cfr_sdk_endpoint_request *r);
/* True if the offer has a grant whose life has not ended at NOW_S. */
bool cfr_sdk_endpoint_offer_lives(const struct cfr_offer *o, int64_t now_s);
/* Adds Retry-After, at least one second. */
void cfr_sdk_endpoint_retry_after(struct cfr_sdk_endpoint_answer *out, const struct cfr_offer *o);
/* The value of a query parameter, decoded into TO (size N, always terminated): 1 found, 0 absent, -1 given twice,
 * malformed or longer than N - 1. Unescaped ":" and "/" are taken as they are, "+" as a space; a control character is
 * malformed. */
int cfr_sdk_endpoint_parameter(struct cfr_view query, const char *name, char *to, size_t n);
/* A segment of a path, percent-decoded into TO (size N, always terminated). False, and TO empty, if it is malformed,
 * longer than N - 1, no UTF-8, or holds a control character. */
bool cfr_sdk_endpoint_decode(struct cfr_view segment, char *to, size_t n);
/* True if A and B are the same; takes the same time wherever they differ. Two empty ones are not. */
bool cfr_sdk_endpoint_same_secret(struct cfr_view a, struct cfr_view b);

#endif
