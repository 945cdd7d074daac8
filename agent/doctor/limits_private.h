/* SPDX-License-Identifier: MIT */
/* Open files that a configuration needs, and the memory limit of the control group. */
#ifndef CFR_AGENT_DOCTOR_LIMITS_PRIVATE_H
#define CFR_AGENT_DOCTOR_LIMITS_PRIVATE_H

#include "agent/config/config.h"

/* Descriptors that an agent with this configuration may have open at once. Pure. */
int64_t cfr_doctor_needed_files(const struct cfr_config *config);
/* The least memory limit of the control groups that CGROUP (the text of /proc/self/cgroup) names, looked for
 * below ROOT
 * (/sys/fs/cgroup): version 2's memory.max and version 1's memory.limit_in_bytes, up to the root. -1 = none.
 * PATH (may be NULL) becomes the path of its file. Blocks on disk. */
int64_t cfr_doctor_memory_limit(struct cfr_view cgroup, const char *root, char path[512]);

#endif
