/* SPDX-License-Identifier: MIT */
/* A command and the agent that keeps its credentials fresh, each a process of its own, under one parent: the parent
 * publishes first, passes signals on, reaps orphans, and exits as the command exits. It can be process 1.
 */
#ifndef CFR_AGENT_CMD_SUPERVISE_PRIVATE_H
#define CFR_AGENT_CMD_SUPERVISE_PRIVATE_H

#include <stdint.h>

struct cfr_cmd_supervise {
    char *const *argv;        /* the command; argv[0] is looked for in PATH */
    char *const *environment; /* its own */
    /* The agent's life, in a process of its own; what it returns is that one's exit status. READY_FD is 0 for one that
     * takes over from an agent that failed. */
    int (*agent)(void *ctx, int ready_fd);
    void *ctx;
    int64_t timeout_ms; /* until what the command needs is published */
    int64_t grace_ms;   /* from SIGTERM to SIGKILL: for the agent, and the rest of the command's process group */
};

/* Returns an exit status: the command's own, 128 and the signal that ended it, 126 or 127 if it could not be started;
 * or, if it never came to that, the agent's, CFR_EXIT_TIMEOUT, or 128 and the signal that ended the waiting. */
int cfr_cmd_supervise_run(const struct cfr_cmd_supervise *s);

#endif
