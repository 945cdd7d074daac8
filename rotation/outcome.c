/* SPDX-License-Identifier: MIT */
/* Outcomes of the requests of a rotation, and how they change its journal. */
#include "rotation/rotation_private.h"

#include <string.h>

#define AGAIN_S 3 /* between tries of a key that is not accepted everywhere yet */
#define NEXT_S  1 /* between successes in a row */

bool cfr_rotation_lacks_room(const struct cfr_rotation_rotation *r)
{
    return r->provider->most != 0 && r->others != 0 && r->others + 2 > r->provider->most;
}

/* It is retired like an old key, also if its owner is the present one again. */
static bool is_former(const struct cfr_rotation_journal *j, const char *id)
{
    for (size_t i = 0; i < j->former_count; i++) {
        if (strcmp(j->former[i].id, id) == 0 && strcmp(j->former[i].subject, j->subject) == 0)
            return true;
    }
    return false;
}

static void count_others(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys)
{
    const struct cfr_rotation_journal *j = &r->journal;

    r->others = 0;
    for (size_t i = 0; i < keys->count; i++) {
        const char *id = keys->key[i].id;

        if (strcmp(id, j->current) == 0 || strcmp(id, j->old) == 0 || strcmp(id, j->minted) == 0 ||
            cfr_rotation_aside_find(j, id) != j->aside_count || is_former(j, id))
            continue;
        r->others++;
        cfr_rotation_copy(r->other, sizeof r->other, id);
    }
}

bool cfr_rotation_listed(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys, int64_t now_s)
{
    bool lookup = r->looking_up;

    r->looking_up = false;
    cfr_rotation_note_lookup(r, keys, now_s);
    count_others(r, keys);
    if (!lookup) {
        r->seen = *keys;
        r->listed_s = now_s;
    }
    return cfr_rotation_aside_review(r, keys, now_s);
}

bool cfr_rotation_is_new(const struct cfr_rotation_rotation *r, const char *id)
{
    return !cfr_rotation_is_known(&r->journal, id) && strcmp(r->journal.current, id) != 0;
}

bool cfr_rotation_made(struct cfr_rotation_rotation *r, const struct cfr_rotation_key *key, int64_t now_s)
{
    cfr_rotation_copy(r->journal.minted, CFR_ROTATION_ID_MAX, key->id);
    cfr_rotation_copy(r->journal.maker, CFR_ROTATION_MAKER_MAX, key->maker);
    r->journal.minted_s = now_s;
    r->journal.minted_ends_s = key->ends_s;
    return cfr_rotation_enter(r, CFR_ROTATION_MINTED, now_s);
}

bool cfr_rotation_refused(struct cfr_rotation_rotation *r, int64_t now_s)
{
    return cfr_rotation_give_up(r, now_s);
}

bool cfr_rotation_unknown(struct cfr_rotation_rotation *r, int64_t now_s)
{
    return cfr_rotation_enter(r, CFR_ROTATION_LOST, now_s);
}

bool cfr_rotation_verified(struct cfr_rotation_rotation *r, bool everywhere, int64_t now_s)
{
    r->successes = everywhere ? r->successes + 1 : 0;
    r->tried_s = r->tried_s != 0 ? r->tried_s : now_s;
    r->verified_s = now_s;
    r->try_s = now_s + (everywhere ? NEXT_S : AGAIN_S);
    return false;
}

bool cfr_rotation_published(struct cfr_rotation_rotation *r, uint64_t generation, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;

    /* The former one was gone, and the one before it is kept as the old one. Lists that did not have it may have been
     * wrong: at rest it is looked for once more. */
    if (j->old[0] != '\0')
        cfr_rotation_aside_put(j, j->current, true, now_s);
    else
        cfr_rotation_copy(j->old, CFR_ROTATION_ID_MAX, j->current);
    cfr_rotation_copy(j->current, CFR_ROTATION_ID_MAX, j->minted);
    j->current_s = j->minted_s;
    j->current_ends_s = j->minted_ends_s;
    j->minted[0] = '\0';
    j->published_s = now_s;
    j->generation = generation;
    j->published++;
    count_others(r, &r->seen);
    r->key_state = CFR_ROTATION_KEY_ACTIVE;
    r->misses = 0;
    r->looked_s = now_s;
    r->look_pause_s = cfr_rotation_lookup_pause_s(r);
    return cfr_rotation_enter(r, CFR_ROTATION_PUBLISHED, now_s);
}

bool cfr_rotation_deactivated(struct cfr_rotation_rotation *r, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    size_t at = cfr_rotation_aside_find(j, r->suspect);

    if (j->step != CFR_ROTATION_LOST && j->step != CFR_ROTATION_REST)
        return cfr_rotation_enter(r, CFR_ROTATION_INACTIVE, now_s);
    if (j->step == CFR_ROTATION_LOST) {
        cfr_rotation_aside_put(j, r->suspect, false, now_s);
        j->aside[j->aside_count - 1].lost = true;
    } else if (at < j->aside_count)
        j->aside[at].since_s = now_s;
    r->suspect[0] = '\0';
    return true;
}

bool cfr_rotation_used(struct cfr_rotation_rotation *r, int64_t used_s, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;

    (void)now_s;
    r->judged = true;
    if (j->step == CFR_ROTATION_INACTIVE) {
        /* Once it is deactivated it cannot be used, so only use near the end of the grace counts. */
        j->late_use = used_s > j->published_s + r->rules.grace_s / 2;
        return j->late_use;
    }
    if (used_s == 0 || j->known_count == CFR_ROTATION_KEYS_MAX)
        return false;
    /* It is in use, so it is not the one that was lost. */
    cfr_rotation_copy(j->known[j->known_count++], CFR_ROTATION_ID_MAX, r->suspect);
    r->suspect[0] = '\0';
    return true;
}

static void forget_seen(struct cfr_rotation_keys *seen, const char *id)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (strcmp(seen->key[i].id, id) == 0)
            seen->key[i--] = seen->key[--seen->count];
    }
}

bool cfr_rotation_deleted(struct cfr_rotation_rotation *r, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    size_t at = cfr_rotation_aside_find(j, r->suspect);
    bool tidied = j->step == CFR_ROTATION_REST && at < j->aside_count;

    switch (j->step) {
    case CFR_ROTATION_REST:
    case CFR_ROTATION_LOST:
        r->listed_s = 0;
        r->try_s = now_s + CFR_ROTATION_LOOK_AGAIN_S;
        r->suspect[0] = '\0';
        if (tidied)
            cfr_rotation_aside_forget(j, at);
        return tidied;
    case CFR_ROTATION_PUBLISHED: /* to make room */
        forget_seen(&r->seen, j->current);
        r->key_state = CFR_ROTATION_KEY_DELETED;
        return false;
    case CFR_ROTATION_UNDOING:
        /* Gone may mean that it was not known yet where it was asked for: it is looked for until the lists have
         * settled. */
        return cfr_rotation_enter(r, CFR_ROTATION_LOST, now_s);
    default:
        j->old[0] = '\0';
        return cfr_rotation_enter(r, CFR_ROTATION_REST, now_s);
    }
}
