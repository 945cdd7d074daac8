/* SPDX-License-Identifier: MIT */
/* The state directory: certificate authorities and keys that outlive a restart, and ready.json. */
#ifndef LC_STATE_H
#define LC_STATE_H

#include "issuer.h"
#include "tls.h"

struct lc_state {
    struct lc_cert ca;
    struct lc_key *signing_key; /* for the issuer, which takes it over */
    unsigned char session_key[32];
    char *token_key; /* PEM */
};

/* Makes the directory (0700), removes an old ready.json, and reads or makes ca.pem, other-ca.pem and the
 * keys. */
int lc_state_open(const char *dir, struct lc_state *out, struct lc_fail *fail);
void lc_state_free(struct lc_state *state);

/* The orderly end: removes ready.json, which is no longer true, and stores the present signing key for the
 * next start. */
void lc_state_close(const char *dir, struct lc_issuer *issuer);

/* Adds ca_file and other_ca_file and writes the document (taking the reference) as ready.json, in one step.
 */
int lc_state_write_ready(const char *dir, json_t *ready, struct lc_fail *fail);

#endif
