/* SPDX-License-Identifier: MIT */
/* Keystone's data. Users, credentials and providers are JSON objects that are replaced and never changed,
 * so that whoever holds a reference needs no lock. */
#ifndef LC_KEYSTONE_DATA_H
#define LC_KEYSTONE_DATA_H

#include "cloud.h"

#include <pthread.h>

struct lc_keystone {
    struct lc_cloud *cloud;
    char *base_url;        /* without /v3 */
    pthread_rwlock_t lock; /* of what follows */
    json_t *settings;      /* from which the rest was loaded */
    int64_t expiration_s;
    int64_t user_limit; /* of application credentials; -1: none */
    /* id: {"id", "name", "domain": {"id", "name"}, "password", "enabled", "projects": [{"id", "name",
     * "domain"}], "roles": [{"id", "name"}]} */
    json_t *users;
    /* id: {"id", "name", "secret", "user", "project" (both ids), "roles", "expires_us" (0: never),
     * "unrestricted", "description", "access_rules" (or absent)} */
    json_t *credentials;
    /* id: {"id", "protocol", "issuer", "audience", "mapping": [{"subject", "projects", "roles"}]} */
    json_t *providers;
    json_t *revoked; /* audit id: time until which it matters, in seconds */
};

/* New references, NULL when there is none. */
json_t *lc_keystone_get_user(struct lc_keystone *keystone, const char *id);
json_t *lc_keystone_named_user(struct lc_keystone *keystone, const char *name, json_t *domain);
json_t *lc_keystone_get_credential(struct lc_keystone *keystone, const char *id);
json_t *lc_keystone_named_credential(struct lc_keystone *keystone, const char *user, const char *name);
json_t *lc_keystone_get_provider(struct lc_keystone *keystone, const char *id);

/* Takes the reference. LC_KEYSTONE_TAKEN: the user has one of that name; LC_KEYSTONE_FULL: the limit is
 * reached. */
enum lc_keystone_put { LC_KEYSTONE_PUT, LC_KEYSTONE_TAKEN, LC_KEYSTONE_FULL };
enum lc_keystone_put lc_keystone_put_credential(struct lc_keystone *keystone, json_t *credential);
/* The same for who holds the lock for writing. */
enum lc_keystone_put lc_keystone_put_locked(struct lc_keystone *keystone, json_t *credential);
bool lc_keystone_drop_credential(struct lc_keystone *keystone, const char *id);

void lc_keystone_revoke(struct lc_keystone *keystone, const char *audit_id, int64_t until_s);
bool lc_keystone_revoked(struct lc_keystone *keystone, const char *audit_id);

/* 32 hex digits, always the same for the same name. */
void lc_keystone_id(const char *kind, const char *name, char out[33]);
json_t *lc_keystone_new_id(void);

/* The member of an array of objects whose key has that text; borrowed or NULL. */
json_t *lc_keystone_pick(json_t *array, const char *key, const char *text);
const char *lc_keystone_text(json_t *object, const char *key);
/* Does {"id"} or {"name"} (which it must have) mean this domain? */
bool lc_keystone_is_domain(json_t *asked, json_t *domain);

/* "2026-01-01T00:00:00[.ffffff][Z]" in UTC; false when it is not that. */
bool lc_keystone_parse_time(const char *text, int64_t *when_us);
/* Six digits and Z; six digits alone; or as Python's isoformat() has it: digits only when they are not zero.
 */
enum lc_keystone_spelling { LC_KEYSTONE_Z, LC_KEYSTONE_DIGITS, LC_KEYSTONE_ISOFORMAT };
json_t *lc_keystone_time(int64_t when_us, enum lc_keystone_spelling spelling);

#endif
