/* SPDX-License-Identifier: MIT */
/* Text of a rotation's state, for status and logs. */
#include "rotation/rotation_private.h"

#include "base/time.h"

#include <stdio.h>
#include <string.h>

const char *cfr_rotation_state(const struct cfr_rotation_journal *j, bool failed)
{
    if (failed || j->step == CFR_ROTATION_LOST || j->step == CFR_ROTATION_UNDOING)
        return "UPDATE_FAILED";
    return j->step == CFR_ROTATION_REST ? "UPDATE_COMPLETE" : "UPDATE_IN_PROGRESS";
}

const char *cfr_rotation_key_state_name(enum cfr_rotation_key_state state)
{
    return state == CFR_ROTATION_KEY_ACTIVE        ? "active"
           : state == CFR_ROTATION_KEY_DEACTIVATED ? "deactivated"
           : state == CFR_ROTATION_KEY_EXPIRED     ? "expired"
           : state == CFR_ROTATION_KEY_DELETED     ? "deleted"
                                                   : NULL;
}

const char *cfr_rotation_key_fate(enum cfr_rotation_key_state state)
{
    return state == CFR_ROTATION_KEY_EXPIRED       ? "has expired"
           : state == CFR_ROTATION_KEY_DEACTIVATED ? "was deactivated in the cloud"
                                                   : "was deleted in the cloud";
}

static void list_seen(const struct cfr_rotation_rotation *r, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < r->seen.count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%.40s", i == 0 ? "" : ", ", r->seen.key[i].id);
}

/* The oldest that may be another user's, and is never deleted; NULL if there is none. */
static const struct cfr_rotation_aside *find_foreign(const struct cfr_rotation_rotation *r)
{
    const struct cfr_rotation_journal *j = &r->journal;

    for (size_t i = 0; i < j->aside_count; i++) {
        if (!cfr_rotation_aside_ends(r, &j->aside[i]))
            return &j->aside[i];
    }
    return NULL;
}

/* The cloud has no room for another key. */
static void describe_room(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                          char out[CFR_ROTATION_WORDS_MAX])
{
    const struct cfr_rotation_aside *foreign = find_foreign(r);
    size_t next = cfr_rotation_aside_next(r);
    char words[CFR_TIME_WORDS_MAX];
    char ids[88];

    list_seen(r, ids, sizeof ids);
    (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                   CFR_ROTATION_WAITS_ROOM "the cloud allows %u keys and there are %s; remove one that is not used",
                   r->provider->most, ids);
    if (foreign != NULL)
        (void)snprintf(out + strlen(out), CFR_ROTATION_WORDS_MAX - strlen(out),
                       ": set %.40s aside, because it may be a lost key or another user's", foreign->id);
    else if (next < r->journal.aside_count && r->journal.aside[next].lost)
        (void)snprintf(out + strlen(out), CFR_ROTATION_WORDS_MAX - strlen(out),
                       ": %.40s may be a lost key, and is deleted in %s unless it is activated",
                       r->journal.aside[next].id,
                       cfr_time_words((cfr_rotation_aside_due_s(r) - f->now_s) * 1000, words));
}

static void describe_aside(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                           char out[CFR_ROTATION_WORDS_MAX])
{
    const struct cfr_rotation_aside *foreign = find_foreign(r);
    const struct cfr_rotation_aside *next = &r->journal.aside[cfr_rotation_aside_next(r)];
    char words[CFR_TIME_WORDS_MAX];

    if (foreign != NULL)
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR
                       "%.130s may be a lost key or another user's, so it %s and never deleted: delete it, or %s",
                       foreign->id, r->provider->deactivates ? "is deactivated" : "is left as it is",
                       r->provider->deactivates ? "activate it if it is in use" : "leave it if it is in use");
    else
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "%.130s, which %s and is set aside, to be deleted in %s", next->id,
                       next->lost ? "may be a lost key" : "was published before",
                       cfr_time_words((cfr_rotation_aside_due_s(r) - f->now_s) * 1000, words));
}

/* The published key is gone, or not listed yet: the old one is kept. */
static void describe_kept(const struct cfr_rotation_rotation *r, char out[CFR_ROTATION_WORDS_MAX])
{
    const struct cfr_rotation_journal *j = &r->journal;

    if (!cfr_rotation_is_refused(r))
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       "the cloud to list the published key %.40s as active; until then the old key %.40s is kept",
                       j->current, j->old);
    else if (r->rules.replace)
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       "another key: the published key %.40s %s, so the old key %.40s is kept", j->current,
                       cfr_rotation_key_fate(r->key_state), j->old);
    else
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR
                       "the published key %.40s %s, so the old key %.40s is kept: run `credfresh rotate`",
                       j->current, cfr_rotation_key_fate(r->key_state), j->old);
}

int64_t cfr_rotation_grace_left_s(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f)
{
    int64_t left_s = r->journal.published_s + r->rules.grace_s - f->now_s;

    if (r->journal.step != CFR_ROTATION_PUBLISHED || r->journal.old[0] == '\0')
        return 0;
    return left_s > f->grace_left_s ? left_s : f->grace_left_s;
}

static void describe_grace(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                           char out[CFR_ROTATION_WORDS_MAX])
{
    const struct cfr_rotation_journal *j = &r->journal;
    int64_t left_s = cfr_rotation_grace_left_s(r, f);
    bool lost = f->lost && !f->alone;
    char words[CFR_TIME_WORDS_MAX];

    if (left_s > 0)
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "the grace of the old key, %s more",
                       cfr_time_words(left_s * 1000, words));
    if (lost && left_s > 0)
        (void)snprintf(out + strlen(out), CFR_ROTATION_WORDS_MAX - strlen(out),
                       ": nothing is published, because the secret of %.40s is lost, and the cloud allows no further "
                       "key before the old one, %.40s, is deleted",
                       j->current, j->old);
    else if (left_s <= 0 && !lost)
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "consumers to say that they use generation %llu",
                       (unsigned long long)j->generation);
}

/* What is wrong with a key that was found, and what the operator does. */
static const struct {
    const char *how;
    const char *remedy;
} unfit[] = {
    [CFR_ROTATION_UNFIT_UNLISTED] = {"is none of ", "check whose key it is"},
    [CFR_ROTATION_UNFIT_INACTIVE] = {"is deactivated", "activate it"},
    [CFR_ROTATION_UNFIT_EXPIRED] = {"has expired", "put one that is valid in its place"},
    [CFR_ROTATION_UNFIT_REFUSED] = {"is refused by the cloud", "check its secret"},
};

/* The key that was found is not adopted. */
static void describe_unfit(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                           char out[CFR_ROTATION_WORDS_MAX])
{
    bool hint = f->found_id[0] == '\0';
    bool unlisted = r->unfit == CFR_ROTATION_UNFIT_UNLISTED;

    if (unlisted && !hint && cfr_rotation_look_up(&r->seen, f->found_id) != CFR_ROTATION_KEY_DELETED) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR
                       "the id %.130s that was found is not that of the secret next to it, which begins otherwise; "
                       "correct it, or remove `adopt` to have another key created",
                       f->found_id);
        return;
    }
    (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                   CFR_ROTATION_WAITS_OPERATOR
                   "the key %.130s%s that was found %s%.90s%s; %s, or remove `adopt` to have another key created",
                   hint ? f->found_hint : f->found_id, hint ? "..." : "", unfit[r->unfit].how,
                   unlisted ? r->journal.subject : "", unlisted && hint ? ", or not the only one that begins so" : "",
                   unfit[r->unfit].remedy);
}

static bool is_kept(const struct cfr_rotation_rotation *r)
{
    enum cfr_rotation_step step = r->journal.step;
    bool retired = step == CFR_ROTATION_RETIRING || step == CFR_ROTATION_DELETING;

    return (step == CFR_ROTATION_PUBLISHED && r->journal.old[0] != '\0' && cfr_rotation_is_refused(r)) ||
           (retired && r->listed_s != 0 &&
            cfr_rotation_look_up(&r->seen, r->journal.current) != CFR_ROTATION_KEY_ACTIVE);
}

void cfr_rotation_words(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                        char out[CFR_ROTATION_WORDS_MAX])
{
    const struct cfr_rotation_journal *j = &r->journal;
    char words[CFR_TIME_WORDS_MAX];
    bool rests = j->step == CFR_ROTATION_REST || j->step == CFR_ROTATION_PUBLISHED;
    bool makes_up = j->step == CFR_ROTATION_PUBLISHED && f->lost && !cfr_rotation_is_refused(r);

    out[0] = '\0';
    if (j->step == CFR_ROTATION_REST && r->unfit != CFR_ROTATION_FIT && f->found) {
        describe_unfit(r, f, out);
    } else if (rests && !makes_up && r->listed_s != 0 && cfr_rotation_is_full(r)) {
        describe_room(r, f, out);
    } else if (is_kept(r)) {
        describe_kept(r, out);
    } else if (j->step == CFR_ROTATION_REST && j->aside_count != 0) {
        describe_aside(r, f, out);
    } else if (j->step == CFR_ROTATION_REST && j->current[0] != '\0' && cfr_rotation_lacks_room(r)) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_ROOM
                       "the next rotation needs a second key next to %.40s, the cloud allows %u, and "
                       "there is %.40s, which is not credfresh's: delete it",
                       j->current, r->provider->most, r->other);
    } else if (j->step == CFR_ROTATION_MINTED && r->successes >= r->provider->verify_count) {
        int64_t left_s = r->verified_s + r->rules.verify_wait_s - f->now_s;

        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "verify_wait, %s more: the cloud accepts the new key",
                       cfr_time_words(left_s * 1000, words));
    } else if (j->step == CFR_ROTATION_MINTED) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "the cloud to accept the new key everywhere (%u of %u)",
                       r->successes, r->provider->verify_count);
    } else if (j->step == CFR_ROTATION_VERIFIED && !cfr_rotation_has_pending(r, f)) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR "the file with the pending secret of the new key %.40s is missing "
                                                   "or unreadable, and the key may be published already: restore it",
                       j->minted);
    } else if (j->step == CFR_ROTATION_PUBLISHED) {
        describe_grace(r, f, out);
    } else if (j->step == CFR_ROTATION_INACTIVE && j->late_use) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR
                       "the old key %.40s was still used late in its grace; it is deactivated, and "
                       "deleted later",
                       j->old);
    } else if (j->step == CFR_ROTATION_INACTIVE && r->provider->tells_use) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       "the cloud to tell of the last use of the old key %.40s, which is deactivated", j->old);
    } else if (j->step == CFR_ROTATION_LOST) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       "a key that may have been made while its answer was lost, to find it");
    }
}
