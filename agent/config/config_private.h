/* SPDX-License-Identifier: MIT */
/* Parsing without files, and questions about a credential that only this room asks. Does not block. */
#ifndef CFR_AGENT_CONFIG_CONFIG_PRIVATE_H
#define CFR_AGENT_CONFIG_CONFIG_PRIVATE_H

#include "agent/config/config.h"

/* As cfr_config_load, from memory, without looking at files, users and groups. */
int cfr_config_parse(const char *path, struct cfr_view text, const char *(*env)(const char *), struct cfr_config **out,
                     struct cfr_str *all, struct cfr_err *err);
/* The configuration of C's exchange if that is with PROVIDER, else NULL. */
const void *cfr_config_exchange_of(const struct cfr_config_credential *c, const struct cfr_sts_provider *provider);
/* What becomes of C's mounted Secret, as far as its configuration decides that. */
enum cfr_config_fate { CFR_CONFIG_UNDECIDED, CFR_CONFIG_EXCHANGED, CFR_CONFIG_PASSED_ON };
enum cfr_config_fate cfr_config_secret_fate(const struct cfr_config_credential *c);
/* Whether credentials of this kind have the grant field NEEDS (NULL: any), as far as that is known before they are
 * there: what a mounted Secret leads to is not. */
bool cfr_config_may_have(const struct cfr_config_credential *c, const char *needs);

/* The INDEX-th field that FILE is made of, as far as its format, `field` and `template` say; NULL after the last. */
const struct cfr_grant_name *cfr_config_file_field(const struct cfr_config_file *file, size_t index);

#endif
