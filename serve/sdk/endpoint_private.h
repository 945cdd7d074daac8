/* SPDX-License-Identifier: MIT */
/* What the shapes share to read requests and write answers (endpoint.c). */
#ifndef CFR_SERVE_SDK_ENDPOINT_PRIVATE_H
#define CFR_SERVE_SDK_ENDPOINT_PRIVATE_H

#include "serve/sdk/endpoint.h"

void cfr_sdk_endpoint_header(struct cfr_sdk_endpoint_answer *out, const char *name, struct cfr_view value);
void cfr_sdk_endpoint_add(struct cfr_sdk_endpoint_answer *out, struct cfr_view bytes);
/* True if a proxy passed the request on: X-Forwarded-For, Forwarded (RFC 7239) or Via (RFC 9110) is there, whatever it
 * says. */
bool cfr_sdk_endpoint_proxied(const struct cfr_sdk_endpoint_request *r);
/* True if the offer has a grant whose life has not ended at NOW_S. */
bool cfr_sdk_endpoint_offer_lives(const struct cfr_offer *o, int64_t now_s);
/* Whole seconds of life to report: never more than there are, and never negative. The offer must expire. */
int64_t cfr_sdk_endpoint_offer_left_s(const struct cfr_offer *o, int64_t now_s);
/* True if the offer lives, and long enough to report a whole second: google-auth-library (JavaScript) never refreshes a
 * token that came with an `expires_in` of 0. */
bool cfr_sdk_endpoint_offer_lasts(const struct cfr_offer *o, int64_t now_s);
#define CFR_SDK_ENDPOINT_WHY_MAX 640
/* "credential NAME: why there is nothing", for the error that a shape's client shows. Returns TEXT. */
const char *cfr_sdk_endpoint_why(const struct cfr_offer *o, char text[CFR_SDK_ENDPOINT_WHY_MAX]);
/* Adds Retry-After: 1 to 5 seconds, however long the agent itself waits. A request here costs the cloud nothing, and
 * SDKs sleep for that time inside a call. */
void cfr_sdk_endpoint_retry_after(struct cfr_sdk_endpoint_answer *out, const struct cfr_offer *o);
/* True if PATH is WANTED, or WANTED and one slash. */
bool cfr_sdk_endpoint_path_is(struct cfr_view path, const char *wanted);
/* The value of a query parameter, decoded into TO (size N, always terminated): 1 found, 0 absent, -1 given twice,
 * malformed or longer than N - 1. Unescaped ":" and "/" are taken as they are, "+" as a space; a control character is
 * malformed. */
int cfr_sdk_endpoint_parameter(struct cfr_view query, const char *name, char *to, size_t n);
/* A segment of a path, percent-decoded into TO (size N, always terminated). False, and TO empty, if it is malformed,
 * longer than N - 1, no UTF-8, or holds a control character. */
bool cfr_sdk_endpoint_decode(struct cfr_view segment, char *to, size_t n);
/* True if A and B are the same; takes the same time wherever they differ. Two empty ones are not. */
bool cfr_sdk_endpoint_same_secret(struct cfr_view a, struct cfr_view b);

/* Begins OUT as cfr_sdk_endpoint_start does, and returns the writer of its body, in which no object is open yet. */
struct cfr_writer cfr_sdk_endpoint_json(struct cfr_sdk_endpoint_answer *out, int status, const char *type);
/* Ends what that writer has written: if it failed, OUT becomes the 500. */
void cfr_sdk_endpoint_end(struct cfr_sdk_endpoint_answer *out, const struct cfr_writer *w);

#endif
