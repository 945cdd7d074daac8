/* SPDX-License-Identifier: MIT */
/* Command line of credfresh-oidc, for the generator of completion scripts. */
#ifndef CFR_OIDC_OIDC_H
#define CFR_OIDC_OIDC_H

#include "agent/cli/command.h"

extern const struct cfr_cli_program cfr_oidc_program;

#endif
