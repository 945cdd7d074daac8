/* SPDX-License-Identifier: MIT */
/* Request of a credential's fields from the running agent. Blocks until the given time. */
#ifndef CFR_AGENT_CLI_FETCH_H
#define CFR_AGENT_CLI_FETCH_H

#include "agent/cli/client.h"
#include "base/grant.h"

/* Asks on the socket that O names, else on the configuration's control socket, else, where that is not ours to use, on
 * its token socket. Until END_BOOT_MS it retries while no agent answers or the credential is not published yet. On
 * errors *STATUS is what a command ends with. Says nothing on standard error. The caller frees OUT in every case. */
int cfr_cli_fetch(const struct cfr_cli_options *o, const char *name, int64_t end_boot_ms, struct cfr_grant *out,
                  int *status, struct cfr_err *err);

#endif
