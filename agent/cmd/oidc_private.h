/* SPDX-License-Identifier: MIT */
/* Parts of the subcommand oidc. Each returns 0 or an error with ERR set, and blocks. */
#ifndef CFR_AGENT_CMD_OIDC_PRIVATE_H
#define CFR_AGENT_CMD_OIDC_PRIVATE_H

#include "agent/cli/command.h"
#include "agent/pki/oidc_store.h"

/* Uploads the documents of the open store D to the object store that O names, and waits until the issuer's URL shows
 * them; prints what it did. CFR_E_CONFLICT if what is there belongs to another issuer, or has keys that D does not
 * know; CFR_E_TIMEOUT if the URL still shows something else when the time is up. */
int cfr_cmd_oidc_publish(const struct cfr_cli_options *o, struct cfr_oidc_store *d, struct cfr_err *err);
/* Writes the files for the cluster and the clouds into the directory that O names, and prints those that changed. Reads
 * the certificates of the issuer's server, unless O is offline. CFR_E_USAGE, and errors of files/single.h. */
int cfr_cmd_oidc_manifests(const struct cfr_cli_options *o, const struct cfr_oidc_issuer *issuer, struct cfr_err *err);

#endif
