/* SPDX-License-Identifier: MIT */
/* The agent's sandbox: what it keeps, by its configuration. */
#ifndef CFR_AGENT_DAEMON_CONFINE_PRIVATE_H
#define CFR_AGENT_DAEMON_CONFINE_PRIVATE_H

#include "agent/config/config.h"
#include "agent/daemon/needs_private.h"
#include "base/str.h"
#include "serve/api/status.h"

enum cfr_daemon_part {
    CFR_PART_NO_NEW_PRIVS,
    CFR_PART_CAPABILITIES,
    CFR_PART_SECCOMP,
    CFR_PART_LANDLOCK,
    CFR_PART_LANDLOCK_READ,
    CFR_PARTS
};
_Static_assert((int)CFR_PARTS == CFR_API_SANDBOX_PARTS, "the status has each part");

/* Directories that are kept; zero-initialised is none. */
struct cfr_daemon_directories {
    char **items; /* heap */
    size_t count;
    struct cfr_daemon_known seen;       /* while they are collected */
    int make_looks;                     /* at those that were being made since the last that was */
    char in_root[CFR_ERR_TEXT_MAX / 4]; /* what only the right to all of / would allow; empty: nothing */
};

/* Zero-initialised is none. */
struct cfr_daemon_sandbox {
    struct cfr_api_status_sandbox parts[CFR_PARTS];
    struct cfr_err why[CFR_PARTS]; /* not in force */
    uint64_t had;                  /* capabilities at the start */
    uint64_t kept;
    struct cfr_daemon_directories written;
    struct cfr_daemon_directories read;
};

/* Gives up what CONFIG, which was read from CONFIG_PATH (NULL = the environment), does not need, and appends to SUMMARY
 * what is in force. What this machine cannot do is left out and said. */
void cfr_daemon_confine(struct cfr_daemon_sandbox *s, const struct cfr_config *config, const char *config_path,
                        struct cfr_str *summary);
void cfr_daemon_confine_free(struct cfr_daemon_sandbox *s);
/* CFR_E_CONFIG, and what to do, if NEXT needs what was given up, or, other than NOW, a directory that was made again
 * since. */
int cfr_daemon_confine_check(const struct cfr_daemon_sandbox *s, const struct cfr_config *now,
                             const struct cfr_config *next, struct cfr_err *err);

#endif
