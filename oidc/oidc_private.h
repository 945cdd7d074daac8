/* SPDX-License-Identifier: MIT */
/* The commands of credfresh-oidc and their options. Each command prints its results and its errors, blocks, and returns
 * an exit status (enum cfr_exit). */
#ifndef CFR_OIDC_OIDC_PRIVATE_H
#define CFR_OIDC_OIDC_PRIVATE_H

#include "agent/cli/command.h"
#include "oidc/store_private.h"

/* A parsed command line; each command uses a part of it. NULL was not given. */
struct cfr_oidc_options {
    struct cfr_cli_options cli; /* first: the parser sees this part, and the table's offsets */
    const char *directory;
    const char *issuer;
    const char *web_root;
    const char *key;
    const char *token_life;
    const char *settle;
    const char *signer_lag;
    const char *signing_key;
    const char *public_key;
    const char *jwks_path;
    const char *to;
    const char *ca_file;
    const char *jwks; /* of verify: the file of the key set */
    const char *at;   /* of verify: the time to check for */
    bool replace;
    bool claims;
    bool x5c;
    bool confirm;
    bool only_continue;
    bool recount;
};

int cfr_oidc_init(const struct cfr_oidc_options *o);
int cfr_oidc_rotate(const struct cfr_oidc_options *o);
int cfr_oidc_publish(const struct cfr_oidc_options *o);
int cfr_oidc_manifests(const struct cfr_oidc_options *o);
int cfr_oidc_status(const struct cfr_oidc_options *o);
int cfr_oidc_verify(const struct cfr_oidc_options *o);

/* Prints ERR; the exit status for it. */
int cfr_oidc_complain(const struct cfr_err *err);

/* ---- parts of commands; 0 or an error with ERR set ---- */

/* Uploads the documents of the open store D to the object store that O names, and waits until the issuer's URL shows
 * them; prints what it did. CFR_E_CONFLICT if what is there belongs to another issuer, or has keys that D does not
 * know; CFR_E_TIMEOUT if the URL still shows something else when the time is up. */
int cfr_oidc_upload(const struct cfr_oidc_options *o, struct cfr_oidc_store *d, struct cfr_err *err);
/* Writes the files for the cluster and the clouds into the directory that O names, and prints those that changed. Reads
 * the certificates of the issuer's server, unless O is offline. CFR_E_USAGE, and errors of files/single.h. */
int cfr_oidc_write_manifests(const struct cfr_oidc_options *o, const struct cfr_oidc_issuer *issuer,
                             struct cfr_err *err);

#endif
