/* SPDX-License-Identifier: MIT */
/* Long-lived keys with the times at which the parts of a cloud know them. */
#include "minted.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A key has these instants in addition to its cloud's data; 0 = never. */
#define USABLE_AT   "usable_at"
#define UNUSABLE_AT "unusable_at"
#define LISTED_AT   "listed_at"
#define UNLISTED_AT "unlisted_at"
#define REMOVED     "removed"

struct lc_minted {
    pthread_mutex_t lock;
    json_t *owners; /* {OWNER: {ID: key}} */
};

struct lc_minted *lc_minted_new(struct lc_fail *fail)
{
    struct lc_minted *minted = calloc(1, sizeof *minted);

    if (minted != NULL && (minted->owners = json_object()) == NULL) {
        free(minted);
        minted = NULL;
    }
    if (minted == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&minted->lock, NULL);
    return minted;
}

void lc_minted_free(struct lc_minted *minted)
{
    if (minted != NULL) {
        json_decref(minted->owners);
        (void)pthread_mutex_destroy(&minted->lock);
        free(minted);
    }
}

static double at(json_t *key, const char *name)
{
    return json_number_value(json_object_get(key, name));
}

static void set(json_t *key, const char *name, double when)
{
    (void)json_object_set_new(key, name, json_real(when));
}

/* Has it begun, and not ended? */
static bool holds(json_t *key, const char *from, const char *to)
{
    double now = lc_time_now();

    return now >= at(key, from) && (at(key, to) <= 0 || now < at(key, to));
}

/* Those of OWNER, made when there are none; the lock is held. */
static json_t *keys_of(struct lc_minted *minted, const char *owner)
{
    json_t *keys = json_object_get(minted->owners, owner);

    if (keys == NULL) {
        keys = json_object();
        (void)json_object_set_new(minted->owners, owner, keys);
    }
    return keys;
}

static size_t count_of(json_t *keys)
{
    const char *id = NULL;
    json_t *key = NULL;
    size_t count = 0;

    json_object_foreach(keys, id, key)
    {
        count += json_is_true(json_object_get(key, REMOVED)) ? 0 : 1;
    }
    return count;
}

bool lc_minted_add(struct lc_minted *minted, const char *owner, json_t *key, const struct lc_minted_lag *lag,
                   size_t limit)
{
    json_t *keys = NULL;
    bool room = false;

    set(key, USABLE_AT, lc_time_now() + lag->use_s);
    set(key, LISTED_AT, lc_time_now() + lag->list_s);
    (void)pthread_mutex_lock(&minted->lock);
    keys = keys_of(minted, owner);
    room = count_of(keys) < limit;
    if (room) {
        (void)json_object_set(keys, json_string_value(json_object_get(key, "id")), key);
    }
    (void)pthread_mutex_unlock(&minted->lock);
    json_decref(key);
    return room;
}

void lc_minted_adopt(struct lc_minted *minted, const char *owner, json_t *key)
{
    const char *id = json_string_value(json_object_get(key, "id"));

    (void)pthread_mutex_lock(&minted->lock);
    if (json_object_get(keys_of(minted, owner), id) == NULL) {
        (void)json_object_set(keys_of(minted, owner), id, key);
    }
    (void)pthread_mutex_unlock(&minted->lock);
    json_decref(key);
}

static void change(json_t *key, enum lc_minted_do what, const struct lc_minted_lag *lag)
{
    double now = lc_time_now();

    if (what == LC_MINTED_ENABLE) {
        set(key, USABLE_AT, now + lag->use_s);
        set(key, UNUSABLE_AT, 0);
    } else {
        set(key, UNUSABLE_AT, now + lag->use_s);
    }
    if (what == LC_MINTED_REMOVE) {
        set(key, UNLISTED_AT, now + lag->list_s);
        (void)json_object_set_new(key, REMOVED, json_true());
    } else {
        (void)json_object_set_new(key, "disabled", json_boolean(what == LC_MINTED_DISABLE));
    }
}

bool lc_minted_do(struct lc_minted *minted, const char *owner, const char *id, enum lc_minted_do what,
                  const struct lc_minted_lag *lag)
{
    json_t *key = NULL;
    bool there = false;

    (void)pthread_mutex_lock(&minted->lock);
    key = json_object_get(json_object_get(minted->owners, owner), id);
    there = key != NULL && !json_is_true(json_object_get(key, REMOVED)) && holds(key, LISTED_AT, UNLISTED_AT);
    if (there) {
        change(key, what, lag);
    }
    (void)pthread_mutex_unlock(&minted->lock);
    return there;
}

bool lc_minted_knows(struct lc_minted *minted, const char *owner, const char *id)
{
    bool knows = false;

    (void)pthread_mutex_lock(&minted->lock);
    knows = json_object_get(json_object_get(minted->owners, owner), id) != NULL;
    (void)pthread_mutex_unlock(&minted->lock);
    return knows;
}

static json_t *copies(struct lc_minted *minted, const char *owner, const char *from, const char *to)
{
    json_t *out = json_array();
    const char *id = NULL;
    json_t *key = NULL;

    (void)pthread_mutex_lock(&minted->lock);
    json_object_foreach(json_object_get(minted->owners, owner), id, key)
    {
        if (holds(key, from, to)) {
            (void)json_array_append_new(out, json_deep_copy(key));
        }
    }
    (void)pthread_mutex_unlock(&minted->lock);
    return out;
}

json_t *lc_minted_listed(struct lc_minted *minted, const char *owner)
{
    return copies(minted, owner, LISTED_AT, UNLISTED_AT);
}

json_t *lc_minted_usable(struct lc_minted *minted, const char *owner)
{
    return copies(minted, owner, USABLE_AT, UNUSABLE_AT);
}

/* Those that were not removed, without what is secret. */
static json_t *shown(json_t *keys)
{
    json_t *out = json_array();
    const char *id = NULL;
    json_t *key = NULL;

    json_object_foreach(keys, id, key)
    {
        json_t *copy = json_deep_copy(key);
        (void)json_object_del(copy, "value");
        if (json_is_true(json_object_get(key, REMOVED))) {
            json_decref(copy);
        } else {
            (void)json_array_append_new(out, copy);
        }
    }
    return out;
}

json_t *lc_minted_report(struct lc_minted *minted)
{
    json_t *out = json_object();
    const char *owner = NULL;
    json_t *keys = NULL;

    (void)pthread_mutex_lock(&minted->lock);
    json_object_foreach(minted->owners, owner, keys)
    {
        (void)json_object_set_new(out, owner, shown(keys));
    }
    (void)pthread_mutex_unlock(&minted->lock);
    return out;
}
