/* SPDX-License-Identifier: MIT */
/* Acknowledgements: which generation each consumer of a credential has in use, which consumers are behind, and how long
 * the previous generation is kept for them.
 *
 * Pure: time and the content of files are parameters. Never blocks, allocates nothing, calls nothing back, cannot fail.
 * The caller fills CONSUMERS and COUNT; at most CFR_HOOK_ACK_CONSUMERS_MAX. */
#ifndef CFR_AGENT_HOOK_ACK_H
#define CFR_AGENT_HOOK_ACK_H

#include "agent/config/config.h"

#define CFR_HOOK_ACK_CONSUMERS_MAX (CFR_CONFIG_ACKNOWLEDGE_MAX + CFR_CONFIG_HOOKS_MAX)
#define CFR_HOOK_ACK_SETTLE_MS     1000 /* an empty file younger than this may be about to be written */

struct cfr_hook_ack_consumer {
    bool wait;               /* keep the previous generation until it has acknowledged the present one, ... */
    int64_t limit_ms;        /* ... for so long after the publish at most */
    int64_t behind_after_ms; /* without an acknowledgement for so long it is behind */
    uint64_t generation;     /* in use, by its last acknowledgement; 0 = none that counts */
    int64_t said_s;          /* when, by the wall clock; 0 = not known */
    bool reported;           /* by cfr_hook_ack_next_behind, for the present generation */
};

/* Zero-initialised: no consumers, nothing published. */
struct cfr_hook_ack {
    struct cfr_hook_ack_consumer consumers[CFR_HOOK_ACK_CONSUMERS_MAX];
    size_t count;
    uint64_t generation; /* the present one; 0 = none */
    int64_t published_boot_ms;
};

/* Content of a consumer's file. */
struct cfr_hook_ack_file {
    struct cfr_view text; /* its beginning, without trust */
    bool whole;           /* TEXT was the whole file when its times were read */
    int64_t mtime_ns;
};

/* GENERATION was published at PUBLISHED_BOOT_MS, which may be before this machine started. */
void cfr_hook_ack_published(struct cfr_hook_ack *a, uint64_t generation, int64_t published_boot_ms);
/* Consumer INDEX has GENERATION in use. True if that is news. Ignores what cannot be: 0, or a generation that is not
 * published yet. */
bool cfr_hook_ack_said(struct cfr_hook_ack *a, size_t index, uint64_t generation, int64_t said_s);
/* True if consumer INDEX has acknowledged the present generation, or there is none. */
bool cfr_hook_ack_is_current(const struct cfr_hook_ack *a, size_t index);
/* True if consumer INDEX has had its time and not acknowledged the present generation. */
bool cfr_hook_ack_is_behind(const struct cfr_hook_ack *a, size_t index, int64_t now_boot_ms);
/* The next consumer that is behind, each once for a generation; a->count if there is none. */
size_t cfr_hook_ack_next_behind(struct cfr_hook_ack *a, int64_t now_boot_ms);
/* Boot time at which cfr_hook_ack_next_behind has a consumer to return; INT64_MAX if only a publish can change that. */
int64_t cfr_hook_ack_deadline(const struct cfr_hook_ack *a);
/* When to wipe the previous generation, which is planned for PLANNED_BOOT_MS (INT64_MAX: there is none). */
int64_t cfr_hook_ack_retire_at(const struct cfr_hook_ack *a, int64_t planned_boot_ms);

/* Which generation F acknowledges, 0 for none: the number in it; or, if it holds anything else or nothing,
 * CURRENT once it was touched at or after PUBLISHED_NS, when CURRENT was published. *AGAIN: it may be about
 * to be written, look again in CFR_HOOK_ACK_SETTLE_MS. */
uint64_t cfr_hook_ack_read(const struct cfr_hook_ack_file *f, uint64_t current, int64_t published_ns, int64_t now_ns,
                           bool *again);

#endif
