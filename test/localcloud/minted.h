/* SPDX-License-Identifier: MIT */
/* Long-lived keys that are made and removed while the cloud runs, of GCP's service accounts and Azure's
 * applications: each a JSON object with an "id". A key that the settings have is there too once it was
 * touched. */
#ifndef LC_MINTED_H
#define LC_MINTED_H

#include "json.h"

struct lc_minted;

struct lc_minted *lc_minted_new(struct lc_fail *fail);
void lc_minted_free(struct lc_minted *minted);

/* How late it is known that one was made, removed, disabled or enabled, in real seconds. */
struct lc_minted_lag {
    double use_s;  /* by those who verify what it signs */
    double list_s; /* by lists, and by what removes it */
};

/* Adds KEY (takes the reference) to those of OWNER. False: OWNER has LIMIT already; keys that were removed do
 * not count. */
bool lc_minted_add(struct lc_minted *minted, const char *owner, json_t *key, const struct lc_minted_lag *lag,
                   size_t limit);
/* Takes over KEY of the settings (takes the reference), unless it was already. */
void lc_minted_adopt(struct lc_minted *minted, const char *owner, json_t *key);

enum lc_minted_do { LC_MINTED_REMOVE, LC_MINTED_DISABLE, LC_MINTED_ENABLE };
/* False: there is none, or not yet. */
bool lc_minted_do(struct lc_minted *minted, const char *owner, const char *id, enum lc_minted_do what,
                  const struct lc_minted_lag *lag);

/* Is it known here, even as one that was removed? */
bool lc_minted_knows(struct lc_minted *minted, const char *owner, const char *id);
/* Copies of those that lists show now, and of those that can be used now. */
json_t *lc_minted_listed(struct lc_minted *minted, const char *owner);
json_t *lc_minted_usable(struct lc_minted *minted, const char *owner);
/* For the admin interface: {OWNER: [key that was not removed, without what is secret]}. */
json_t *lc_minted_report(struct lc_minted *minted);

#endif
