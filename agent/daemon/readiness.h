/* SPDX-License-Identifier: MIT */
/* What the agent writes, once, to the ready_fd of its options: one of these bytes. */
#ifndef CFR_AGENT_DAEMON_READINESS_H
#define CFR_AGENT_DAEMON_READINESS_H

#define CFR_DAEMON_READINESS_READY  'r' /* what the command needs is published */
#define CFR_DAEMON_READINESS_FAILED 'f' /* something that it needs cannot be published, and waiting does not help */

#endif
