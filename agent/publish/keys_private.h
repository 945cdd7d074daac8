/* SPDX-License-Identifier: MIT */
/* The keys of a Secret or ConfigMap that is published, with their values. Does not block. */
#ifndef CFR_AGENT_PUBLISH_KEYS_PRIVATE_H
#define CFR_AGENT_PUBLISH_KEYS_PRIVATE_H

#include "base/err.h"
#include "base/secret.h"

struct cfr_publish_key {
    char *name; /* heap */
    struct cfr_secret value;
    struct cfr_secret merged; /* with what other programs have in it; empty: nothing else is */
};

/* All zero is none. */
struct cfr_publish_keys {
    struct cfr_publish_key *items; /* heap */
    size_t count;
};

/* What is to be written. */
static inline struct cfr_view cfr_publish_key_content(const struct cfr_publish_key *k)
{
    return cfr_secret_view(k->merged.len != 0 ? &k->merged : &k->value);
}

/* Appends the key NAME with an empty value of at most LIMIT bytes. CFR_E_NOMEM: nothing was appended. */
int cfr_publish_keys_add(struct cfr_publish_keys *keys, const char *name, size_t limit, struct cfr_err *err);
/* Wipes the values; the names stay. */
void cfr_publish_keys_wipe(struct cfr_publish_keys *keys);
/* Removes the keys from the one at COUNT on; 0 frees everything. */
void cfr_publish_keys_cut(struct cfr_publish_keys *keys, size_t count);

#endif
