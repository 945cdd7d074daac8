/* SPDX-License-Identifier: MIT */
/* Lookup of the published key in the cloud's lists. */
#include "rotation/rotation_private.h"

#include <string.h>

#define LOOKUP_S 3600 /* between lookups of the published key */

enum cfr_rotation_key_state cfr_rotation_look_up(const struct cfr_rotation_keys *keys, const char *id)
{
    for (size_t i = 0; i < keys->count; i++) {
        const struct cfr_rotation_key *key = &keys->key[i];

        if (strcmp(key->id, id) == 0)
            return key->active    ? CFR_ROTATION_KEY_ACTIVE
                   : key->expired ? CFR_ROTATION_KEY_EXPIRED
                                  : CFR_ROTATION_KEY_DEACTIVATED;
    }
    return CFR_ROTATION_KEY_DELETED;
}

bool cfr_rotation_is_refused(const struct cfr_rotation_rotation *r)
{
    return r->key_state != CFR_ROTATION_KEY_UNKNOWN && r->key_state != CFR_ROTATION_KEY_ACTIVE;
}

bool cfr_rotation_must_replace(const struct cfr_rotation_rotation *r)
{
    return r->rules.replace && cfr_rotation_is_refused(r);
}

/* What is published is not about to change. */
static bool is_settled(const struct cfr_rotation_journal *j)
{
    return j->current[0] != '\0' &&
           (j->step == CFR_ROTATION_REST || j->step == CFR_ROTATION_PUBLISHED || j->step == CFR_ROTATION_RETIRING ||
            j->step == CFR_ROTATION_INACTIVE || j->step == CFR_ROTATION_DELETING);
}

/* When lists tell whether the published key is there: a young one may be missing from them. */
static int64_t known_s(const struct cfr_rotation_rotation *r)
{
    return r->journal.current_s + r->rules.settle_s;
}

int64_t cfr_rotation_lookup_s(const struct cfr_rotation_rotation *r, int64_t now_s)
{
    if (!is_settled(&r->journal))
        return INT64_MAX;
    if (now_s < known_s(r))
        return known_s(r);
    return r->looked_s == 0 || now_s < r->looked_s ? now_s : r->looked_s + r->look_pause_s;
}

int64_t cfr_rotation_lookup_pause_s(const struct cfr_rotation_rotation *r)
{
    int64_t pause_s = r->rules.lookup_s != 0 ? r->rules.lookup_s : LOOKUP_S;

    pause_s -= (int64_t)(r->rules.spread * (double)pause_s / 10);
    return r->journal.aside_count != 0 && pause_s > CFR_ROTATION_FULL_S ? CFR_ROTATION_FULL_S : pause_s;
}

/* Whether a list without the published key says something: it does not while the key is young, nor right after the
 * list before it. */
static bool counts(const struct cfr_rotation_rotation *r, int64_t now_s)
{
    return now_s >= known_s(r) &&
           (r->looked_s == 0 || now_s < r->looked_s || now_s >= r->looked_s + CFR_ROTATION_LOOK_AGAIN_S);
}

void cfr_rotation_note_lookup(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys, int64_t now_s)
{
    enum cfr_rotation_key_state found = cfr_rotation_look_up(keys, r->journal.current);
    int64_t pause_s = cfr_rotation_lookup_pause_s(r);

    if (!is_settled(&r->journal) || (found != CFR_ROTATION_KEY_ACTIVE && !counts(r, now_s)))
        return;
    if (found == CFR_ROTATION_KEY_ACTIVE) {
        r->misses = 0;
        r->key_state = found;
        r->look_pause_s = pause_s;
    } else {
        r->misses++;
        r->look_pause_s = CFR_ROTATION_LOOK_AGAIN_S;
        if (r->misses > 1) {
            r->key_state = found;
            r->look_pause_s = pause_s < CFR_ROTATION_FULL_S ? pause_s : CFR_ROTATION_FULL_S;
        }
    }
    r->looked_s = now_s;
}

void cfr_rotation_lookup_failed(struct cfr_rotation_rotation *r, int64_t now_s)
{
    r->looking_up = false;
    r->misses = r->misses > 1 ? r->misses : 0;
    r->looked_s = now_s;
    r->look_pause_s = CFR_ROTATION_FULL_S;
}
