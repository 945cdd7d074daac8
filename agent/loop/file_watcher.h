/* SPDX-License-Identifier: MIT */
/* Receiver of a changed file's event: what the agent passes to cfr_watch_add as the owner. */
#ifndef CFR_AGENT_LOOP_FILE_WATCHER_H
#define CFR_AGENT_LOOP_FILE_WATCHER_H

#include <stdint.h>

/* Stays at its address while it watches anything. CHANGED is called from the loop and must not add or remove watches
 * of other receivers. */
struct cfr_watcher {
    void (*changed)(void *ctx);
    void *ctx;
    int64_t next_boot_ms; /* until then changes are not reported; of the loop */
};

#endif
