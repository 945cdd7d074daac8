/* SPDX-License-Identifier: MIT */
/* Keys of the service CA that take long to make: a child makes them, and the loop goes on.
 * The caller owns the struct; zero-initialised is empty. Never blocks. */
#ifndef CFR_AGENT_PKI_SERVICE_CA_KEY_PRIVATE_H
#define CFR_AGENT_PKI_SERVICE_CA_KEY_PRIVATE_H

#include "agent/loop/errand.h"
#include "agent/pki/service_ca.h"
#include "pki/key.h"

struct cfr_service_ca_keys {
    struct cfr_errand *makers[CFR_KEY_KINDS]; /* NULL = no key of that kind is being made */
};

/* Moves a new key of KIND, in PEM form, into the empty PEM, whose limit is at least CFR_KEY_PEM_MAX. 0;
 * CFR_SERVICE_CA_LATER while a child makes it: ask again after the next SIGCHLD; else the error of making it, or
 * CFR_E_NOMEM, CFR_E_LIMIT, CFR_E_IO. */
int cfr_service_ca_key_take(struct cfr_service_ca_keys *keys, enum cfr_key_kind kind, struct cfr_secret *pem,
                            struct cfr_err *err);
/* True while a key is being made, or is ready and was not taken. */
bool cfr_service_ca_keys_are_pending(const struct cfr_service_ca_keys *keys);
/* Ends the children and wipes what they made. */
void cfr_service_ca_keys_close(struct cfr_service_ca_keys *keys);

#endif
