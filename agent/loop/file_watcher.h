/* SPDX-License-Identifier: MIT */
/* Who is told of a changed file: what agent/ hands to cfr_watch_add as the owner. */
#ifndef CFR_AGENT_LOOP_FILE_WATCHER_H
#define CFR_AGENT_LOOP_FILE_WATCHER_H

/* Lives at one place as long as it watches anything. */
struct cfr_watcher {
    void (*changed)(void *ctx);
    void *ctx;
};

#endif
