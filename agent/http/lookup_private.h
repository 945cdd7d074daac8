/* SPDX-License-Identifier: MIT */
/* Name lookups that outlived their requests. libcurl looks names up in threads that cannot be stopped: one that the
 * name servers leave without an answer lives as long as resolv.conf has it ask, which may be minutes. This limits how
 * many there are, in all and for one server, so that they take neither all descriptors nor the places of other servers.
 */
#ifndef CFR_AGENT_HTTP_LOOKUP_PRIVATE_H
#define CFR_AGENT_HTTP_LOOKUP_PRIVATE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define CFR_HTTP_LOOKUPS_MAX      64
#define CFR_HTTP_LOOKUPS_HOST_MAX 8

/* Zero-initialised is none. */
struct cfr_http_lookups {
    uint64_t hosts[CFR_HTTP_LOOKUPS_MAX]; /* hashes of the servers' names, oldest first */
    size_t count;
};

/* Records that a request for TARGET ended while its lookup went on. Pure. */
void cfr_http_lookup_abandon(struct cfr_http_lookups *l, const char *target);
/* Forgets the oldest beyond RUNNING, the number of lookups that may still go on: all ask the same servers with the same
 * limits, so they end in order. Then 0, or CFR_E_NET if there are too many of TARGET, or in all. Pure. */
int cfr_http_lookup_check(struct cfr_http_lookups *l, size_t running, const char *target, struct cfr_err *err);
/* The number of threads of this process, perhaps with a constant on top; 0 if /proc does not show it. */
size_t cfr_http_lookup_threads(void);

#endif
