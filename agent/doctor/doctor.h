/* SPDX-License-Identifier: MIT */
/* Diagnosis of the configuration, the machine and the clouds: `credfresh doctor`, and `credfresh check`, which is a
 * selection of its checks. Both block, print a report to standard output, and change and publish nothing; mistakes of
 * the configuration and of the command line are printed to standard error. They return an exit status (enum cfr_exit).
 */
#ifndef CFR_AGENT_DOCTOR_DOCTOR_H
#define CFR_AGENT_DOCTOR_DOCTOR_H

#include "agent/cli/command.h"

/* All checks, within --timeout (30 s by default); CFR_EXIT_FAILED if anything is wrong. */
int cfr_doctor_run(const struct cfr_cli_options *o);
/* The checks that a configuration must pass before an agent runs with it; with --online also every exchange. */
int cfr_doctor_run_selection(const struct cfr_cli_options *o);

#endif
