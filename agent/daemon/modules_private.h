/* SPDX-License-Identifier: MIT */
/* Table of the agent's modules (agent/kube/module.h), and what the loop calls of all of them. */
#ifndef CFR_AGENT_DAEMON_MODULES_PRIVATE_H
#define CFR_AGENT_DAEMON_MODULES_PRIVATE_H

#include "agent/daemon/daemon_private.h"

/* Opens, changes and closes modules as CONFIG says. CFR_E_NOMEM. */
int cfr_daemon_modules_configure(struct cfr_daemon *a, const struct cfr_config *config, struct cfr_err *err);
void cfr_daemon_modules_start(struct cfr_daemon *a);
void cfr_daemon_modules_close(struct cfr_daemon *a);
/* Does what is due; workers whose source grants something else then look at it soon. */
void cfr_daemon_modules_step(struct cfr_daemon *a);
int64_t cfr_daemon_modules_deadline(const struct cfr_daemon *a);
/* The wall clock was set. */
void cfr_daemon_modules_on_clock(struct cfr_daemon *a);
void cfr_daemon_modules_on_child(struct cfr_daemon *a);
void cfr_daemon_modules_resume(struct cfr_daemon *a, const struct cfr_kube_where *where);
bool cfr_daemon_modules_are_busy(const struct cfr_daemon *a);
bool cfr_daemon_modules_are_failing(const struct cfr_daemon *a);
/* The first that has one, see struct cfr_module; false if none has. */
bool cfr_daemon_modules_status(struct cfr_daemon *a, struct cfr_api_status_authority *out);

#endif
