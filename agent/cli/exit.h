/* SPDX-License-Identifier: MIT */
/* Exit statuses of every subcommand. */
#ifndef CFR_AGENT_CLI_EXIT_H
#define CFR_AGENT_CLI_EXIT_H

/* Exit statuses, documented in docs/errors.md. */
enum cfr_exit {
    CFR_EXIT_OK = 0,
    CFR_EXIT_FAILED = 1, /* a credential could not be obtained or published */
    CFR_EXIT_USAGE = 2,
    CFR_EXIT_CONFIG = 3, /* the configuration is wrong */
    CFR_EXIT_TIMEOUT = 4,
    CFR_EXIT_NO_AGENT = 5, /* no agent answers on the control socket */
    CFR_EXIT_REFUSED = 6   /* the agent refused: unknown credential, reason already used */
};

#endif
