/* SPDX-License-Identifier: MIT */
/* What the configuration needs of the machine, and what a control group allows. */
#ifndef CFR_AGENT_DOCTOR_LIMITS_PRIVATE_H
#define CFR_AGENT_DOCTOR_LIMITS_PRIVATE_H

#include "agent/config/config.h"

/* Descriptors that an agent with this configuration may have open at once. Pure. */
int64_t cfr_doctor_needed_files(const struct cfr_config *config);
/* Resident memory that it may come to, in bytes (bench/README.md), a round figure upwards. Pure. */
int64_t cfr_doctor_needed_memory(const struct cfr_config *config);
/* The least memory limit of the control groups that CGROUP (the text of /proc/self/cgroup) names, looked for
 * below ROOT
 * (/sys/fs/cgroup): version 2's memory.max and version 1's memory.limit_in_bytes, up to the root. -1 = none.
 * PATH (may be NULL) is where it stands. Blocks on disk. */
int64_t cfr_doctor_memory_limit(struct cfr_view cgroup, const char *root, char path[512]);

#endif
