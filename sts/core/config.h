/* SPDX-License-Identifier: MIT */
/* Builds the configuration of an exchange in code, by the keys of the provider's table, where no `exchange:` in the
 * configuration file is read: for mounted Secrets, and to try a new key.
 *
 * Does not block and has no callbacks. The caller owns the configuration and frees it with cfr_sts_config_free; values
 * are copied, contents are borrowed. Errors: CFR_E_INTERNAL for a key that the provider does not have, CFR_E_CONFIG for
 * a value that its table refuses, CFR_E_NOMEM. Limits: CFR_STS_CONTENTS_MAX contents. */
#ifndef CFR_STS_CORE_CONFIG_H
#define CFR_STS_CORE_CONFIG_H

#include "sts/core/provider.h"

/* Providers know by its path whether a file is configured. This is the path of one whose content is handed over
 * instead: it is never opened. */
#define CFR_STS_CONFIG_GIVEN "/content-is-given"

/* A deep copy of FROM, or the defaults if FROM is NULL. *OUT is set, and is to be freed, also after an error, unless
 * that is CFR_E_NOMEM for *OUT itself, which is then NULL. */
int cfr_sts_config_new(const struct cfr_sts_provider *provider, const void *from, void **out, struct cfr_err *err);
/* CONFIG may be NULL. */
void cfr_sts_config_free(const struct cfr_sts_provider *provider, void *config);
/* True if KEY is a text of the configuration and has a value. */
bool cfr_sts_config_has(const struct cfr_sts_provider *provider, const void *config, const char *key);
/* Names in TEXT, an error about CONFIG in a buffer of SIZE bytes, where the values of keys come from that it does not
 * have (provider->origin). */
void cfr_sts_config_name_origin(const struct cfr_sts_provider *provider, const void *config, char *text, size_t size);
/* Stores VALUE under KEY by the rules of the table. An error of the value names the key. */
int cfr_sts_config_set(const struct cfr_sts_provider *provider, void *config, const char *key, struct cfr_view value,
                       struct cfr_err *err);
/* Adds BYTES to CONTENTS, which has *COUNT of CFR_STS_CONTENTS_MAX, as the content of the file at KEY, whose path
 * becomes CFR_STS_CONFIG_GIVEN. A path that is set already stays, and nothing is added. */
int cfr_sts_config_add_content(const struct cfr_sts_provider *provider, void *config, const char *key,
                               struct cfr_view bytes, struct cfr_sts_content *contents, size_t *count,
                               struct cfr_err *err);

#endif
