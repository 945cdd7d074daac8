/* SPDX-License-Identifier: MIT */
/* Lookup of a name's addresses within a time limit, as text. Blocks. */
#ifndef CFR_AGENT_DOCTOR_RESOLVE_PRIVATE_H
#define CFR_AGENT_DOCTOR_RESOLVE_PRIVATE_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFR_DOCTOR_ADDRESSES_MAX 512

/* True for an address in place of a name. */
bool cfr_doctor_is_address(const char *host);
/* Writes HOST's addresses, "10.0.0.1, 2001:db8::1", and how long it took. CFR_E_NET with the resolver's
 * words; CFR_E_TIMEOUT. The resolver itself knows no limit, so a process of its own asks it. */
int cfr_doctor_resolve(const char *host, int64_t timeout_ms, char addresses[CFR_DOCTOR_ADDRESSES_MAX], int64_t *took_ms,
                       struct cfr_err *err);
/* What RESOLV_CONF (the text of /etc/resolv.conf) says, in a few words: servers and search list. Pure. */
void cfr_doctor_resolver(struct cfr_view resolv_conf, char *out, size_t size);

#endif
