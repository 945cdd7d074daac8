/* SPDX-License-Identifier: MIT */
/* Roles and their trust policies, OIDC providers and their keys, long-lived IAM keys. */
#include "trust.h"

#include "crypto.h"
#include "trust_read.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROLES = 10000 };

struct provider {
    char *issuer;
    struct lc_key_list keys;
};

struct lc_trust {
    struct lc_issuer *own;
    unsigned char id_key[32];
    unsigned long made; /* how many roles were dropped: part of the next unique ids */
    pthread_rwlock_t lock;
    struct lc_role **roles;
    size_t role_count;
    struct provider *providers;
    size_t provider_count;
    struct lc_iam_key **iam_keys;
    size_t iam_key_count;
};

struct lc_trust *lc_trust_new(struct lc_issuer *own, const unsigned char id_key[32], struct lc_fail *fail)
{
    struct lc_trust *trust = calloc(1, sizeof *trust);

    if (trust == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    trust->own = own;
    memcpy(trust->id_key, id_key, sizeof trust->id_key);
    (void)pthread_rwlock_init(&trust->lock, NULL);
    return trust;
}

static void free_iam_key(struct lc_iam_key *key)
{
    if (key != NULL) {
        free(key->access_key_id);
        free(key->secret);
        free(key->arn);
        free(key);
    }
}

void lc_trust_free(struct lc_trust *trust)
{
    if (trust == NULL) {
        return;
    }
    for (size_t i = 0; i < trust->role_count; i++) {
        lc_role_free(trust->roles[i]);
    }
    for (size_t i = 0; i < trust->provider_count; i++) {
        free(trust->providers[i].issuer);
        lc_key_list_free(&trust->providers[i].keys);
    }
    for (size_t i = 0; i < trust->iam_key_count; i++) {
        free_iam_key(trust->iam_keys[i]);
    }
    free(trust->roles);
    free(trust->providers);
    free(trust->iam_keys);
    (void)pthread_rwlock_destroy(&trust->lock);
    free(trust);
}

void lc_trust_lock(struct lc_trust *trust)
{
    (void)pthread_rwlock_rdlock(&trust->lock);
}

void lc_trust_unlock(struct lc_trust *trust)
{
    (void)pthread_rwlock_unlock(&trust->lock);
}

/* AROA... or AIDA... and 17 characters, always the same for the same thing. */
static void unique_id(const struct lc_trust *trust, const char *prefix, const char *arn, unsigned long made,
                      char out[LC_UNIQUE_ID_BYTES])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned char digest[LC_SHA256_BYTES] = {0};
    char *text = lc_text_format("%s:%lu", arn, made);

    if (text != NULL) {
        lc_hmac256(trust->id_key, sizeof trust->id_key, text, strlen(text), digest);
    }
    free(text);
    (void)snprintf(out, LC_UNIQUE_ID_BYTES, "%s", prefix);
    for (size_t i = 4; i < LC_UNIQUE_ID_BYTES - 1; i++) {
        out[i] = alphabet[digest[i] & 31];
    }
    out[LC_UNIQUE_ID_BYTES - 1] = '\0';
}

static struct lc_role **find_role(struct lc_trust *trust, const char *arn)
{
    for (size_t i = 0; i < trust->role_count; i++) {
        if (strcmp(trust->roles[i]->arn, arn) == 0) {
            return &trust->roles[i];
        }
    }
    return NULL;
}

static struct provider *find_provider(struct lc_trust *trust, const char *issuer)
{
    for (size_t i = 0; i < trust->provider_count; i++) {
        if (strcmp(trust->providers[i].issuer, issuer) == 0) {
            return &trust->providers[i];
        }
    }
    return NULL;
}

/* Takes the keys that came with a statement. */
static int put_provider(struct lc_trust *trust, const char *issuer, struct lc_key_list *keys, struct lc_fail *fail)
{
    struct provider *provider = find_provider(trust, issuer);
    struct provider *grown = NULL;

    if (strcmp(issuer, lc_issuer_url(trust->own)) == 0) {
        return keys->count == 0 ? 0 : lc_fail_set(fail, "role: the own issuer's keys cannot be given");
    }
    if (keys->count == 0) {
        return provider != NULL
                   ? 0
                   : lc_fail_set(fail, "role: the keys of issuer %.200s are not known: give \"jwks_file\" or \"jwks\"",
                                 issuer);
    }
    if (provider == NULL) {
        grown = realloc(trust->providers, (trust->provider_count + 1) * sizeof *grown);
        if (grown == NULL) {
            return lc_fail_set(fail, "out of memory");
        }
        trust->providers = grown;
        provider = &grown[trust->provider_count];
        *provider = (struct provider){.issuer = strdup(issuer)};
        if (provider->issuer == NULL) {
            return lc_fail_set(fail, "out of memory");
        }
        trust->provider_count++;
    }
    lc_key_list_free(&provider->keys);
    provider->keys = *keys;
    *keys = (struct lc_key_list){0};
    return 0;
}

static int put_locked(struct lc_trust *trust, struct lc_role_reading *reading, struct lc_fail *fail)
{
    struct lc_role **there = find_role(trust, reading->role->arn);
    struct lc_role **grown = NULL;

    for (size_t i = 0; i < reading->role->count; i++) {
        const char *issuer = reading->role->statements[i].issuer;
        if (issuer != NULL && put_provider(trust, issuer, &reading->keys[i], fail) != 0) {
            return -1;
        }
    }
    if (there != NULL) {
        memcpy(reading->role->id, (*there)->id, sizeof reading->role->id);
        lc_role_free(*there);
        *there = reading->role;
        reading->role = NULL;
        return 0;
    }
    if (trust->role_count >= MOST_ROLES) {
        return lc_fail_set(fail, "there are %d roles already", MOST_ROLES);
    }
    grown = realloc(trust->roles, (trust->role_count + 1) * sizeof(struct lc_role *));
    if (grown == NULL) {
        return lc_fail_set(fail, "out of memory");
    }
    trust->roles = grown;
    unique_id(trust, "AROA", reading->role->arn, trust->made, reading->role->id);
    grown[trust->role_count++] = reading->role;
    reading->role = NULL;
    return 0;
}

int lc_trust_put_role(struct lc_trust *trust, json_t *object, struct lc_fail *fail)
{
    struct lc_role_reading reading = {0};
    int result = lc_role_read(object, lc_issuer_url(trust->own), &reading, fail);

    if (result == 0) {
        (void)pthread_rwlock_wrlock(&trust->lock);
        result = put_locked(trust, &reading, fail);
        (void)pthread_rwlock_unlock(&trust->lock);
    }
    lc_role_reading_free(&reading);
    return result;
}

int lc_trust_put_issuer(struct lc_trust *trust, json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"issuer", "jwks", "jwks_file", NULL};
    const char *issuer = "";
    struct lc_key_list keys = {0};
    int result = lc_json_keys(object, "issuer", known, fail) != 0 ||
                         lc_json_text(object, "issuer", "issuer", &issuer, fail) != 0 ||
                         lc_jwks_read(object, &keys, fail) != 0
                     ? -1
                     : 0;

    if (result == 0 && (!lc_text_starts(issuer, "https://") || issuer[8] == '\0')) {
        result = lc_fail_set(fail, "issuer: \"issuer\" must be an https:// URL");
    }
    if (result == 0) {
        (void)pthread_rwlock_wrlock(&trust->lock);
        result = put_provider(trust, issuer, &keys, fail);
        (void)pthread_rwlock_unlock(&trust->lock);
    }
    lc_key_list_free(&keys);
    return result;
}

int lc_trust_drop_role(struct lc_trust *trust, const char *arn, struct lc_fail *fail)
{
    struct lc_role **there = NULL;

    (void)pthread_rwlock_wrlock(&trust->lock);
    there = find_role(trust, arn);
    if (there != NULL) {
        lc_role_free(*there);
        *there = trust->roles[--trust->role_count];
        trust->made++;
    }
    (void)pthread_rwlock_unlock(&trust->lock);
    return there != NULL ? 0 : lc_fail_set(fail, "there is no role %.200s", arn);
}

int lc_trust_put_iam_key(struct lc_trust *trust, json_t *object, struct lc_fail *fail)
{
    struct lc_iam_key *key = lc_iam_key_read(object, fail);
    struct lc_iam_key **grown = NULL;
    int result = 0;

    if (key == NULL) {
        return -1;
    }
    unique_id(trust, "AIDA", key->arn, 0, key->user_id);
    (void)pthread_rwlock_wrlock(&trust->lock);
    if (lc_trust_iam_key(trust, key->access_key_id) != NULL) {
        result = lc_fail_set(fail, "iam_keys: %.40s occurs twice", key->access_key_id);
    } else if ((grown = realloc(trust->iam_keys, (trust->iam_key_count + 1) * sizeof(struct lc_iam_key *))) == NULL) {
        result = lc_fail_set(fail, "out of memory");
    } else {
        trust->iam_keys = grown;
        grown[trust->iam_key_count++] = key;
    }
    (void)pthread_rwlock_unlock(&trust->lock);
    if (result != 0) {
        free_iam_key(key);
    }
    return result;
}

const struct lc_role *lc_trust_role(struct lc_trust *trust, const char *arn)
{
    struct lc_role **there = find_role(trust, arn);

    return there == NULL ? NULL : *there;
}

const struct lc_iam_key *lc_trust_iam_key(struct lc_trust *trust, const char *access_key_id)
{
    for (size_t i = 0; i < trust->iam_key_count; i++) {
        if (strcmp(trust->iam_keys[i]->access_key_id, access_key_id) == 0) {
            return trust->iam_keys[i];
        }
    }
    return NULL;
}

bool lc_trust_provider(struct lc_trust *trust, const char *account, const char *issuer, const char *audience)
{
    for (size_t i = 0; i < trust->role_count; i++) {
        const struct lc_role *role = trust->roles[i];
        for (size_t n = 0; strcmp(role->account, account) == 0 && n < role->count; n++) {
            const struct lc_statement *statement = &role->statements[n];
            if (statement->issuer != NULL && strcmp(statement->issuer, issuer) == 0 &&
                (audience == NULL || lc_json_holds(statement->audience, audience))) {
                return true;
            }
        }
    }
    return false;
}

bool lc_trust_account(struct lc_trust *trust, const char *account)
{
    for (size_t i = 0; i < trust->role_count; i++) {
        if (strcmp(trust->roles[i]->account, account) == 0) {
            return true;
        }
    }
    return false;
}

bool lc_trust_key(struct lc_trust *trust, const char *issuer, const char *kid, enum lc_key_kind *kind,
                  char **public_pem)
{
    const struct provider *provider = NULL;
    const struct lc_key *key = NULL;

    if (strcmp(issuer, lc_issuer_url(trust->own)) == 0) {
        return lc_issuer_find(trust->own, kid, kind, public_pem);
    }
    provider = find_provider(trust, issuer);
    key = provider == NULL ? NULL : lc_key_list_find(&provider->keys, kid);
    if (key == NULL) {
        return false;
    }
    *kind = key->kind;
    *public_pem = strdup(key->public_pem);
    return *public_pem != NULL;
}
