/* SPDX-License-Identifier: MIT */
/* The agent's sandbox: what it keeps, by its configuration. */
#ifndef CFR_AGENT_DAEMON_CONFINE_PRIVATE_H
#define CFR_AGENT_DAEMON_CONFINE_PRIVATE_H

#include "agent/config/config.h"
#include "base/str.h"
#include "serve/api/status.h"

enum cfr_daemon_part { CFR_PART_NO_NEW_PRIVS, CFR_PART_CAPABILITIES, CFR_PART_SECCOMP, CFR_PART_LANDLOCK, CFR_PARTS };
_Static_assert((int)CFR_PARTS == CFR_API_SANDBOX_PARTS, "the status has each part");

/* Zero-initialised is none. */
struct cfr_daemon_sandbox {
    struct cfr_api_status_sandbox parts[CFR_PARTS];
    struct cfr_err why[CFR_PARTS]; /* not in force */
    uint64_t had;                  /* capabilities at the start */
    uint64_t kept;
    char **directories; /* that may be written to; heap */
    size_t directory_count;
    char in_root[CFR_ERR_TEXT_MAX / 4]; /* what only the right to write everywhere would allow; empty: nothing */
};

/* Gives up what CONFIG does not need, and appends to SUMMARY what is in force. What this machine
 * cannot do is left out and said. */
void cfr_daemon_confine(struct cfr_daemon_sandbox *s, const struct cfr_config *config, struct cfr_str *summary);
void cfr_daemon_confine_free(struct cfr_daemon_sandbox *s);
/* CFR_E_CONFIG, and what to do, if NEXT needs what was given up, or, other than NOW, a directory that was made again
 * since. */
int cfr_daemon_confine_check(const struct cfr_daemon_sandbox *s, const struct cfr_config *now,
                             const struct cfr_config *next, struct cfr_err *err);

#endif
