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
           : state == CFR_ROTATION_KEY_DELETED     ? "deleted"
                                                   : NULL;
}

static void list_seen(const struct cfr_rotation_rotation *r, char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < r->seen.count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%.40s", i == 0 ? "" : ", ", r->seen.key[i].id);
}

void cfr_rotation_words(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *f,
                        char out[CFR_ROTATION_WORDS_MAX])
{
    const struct cfr_rotation_journal *j = &r->journal;
    char words[CFR_TIME_WORDS_MAX];
    char ids[88];
    int64_t left_s = j->published_s + r->rules.grace_s - f->now_s;

    out[0] = '\0';
    if (j->step == CFR_ROTATION_REST && r->listed_s != 0 && cfr_rotation_is_full(r)) {
        list_seen(r, ids, sizeof ids);
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_ROOM "the cloud allows %u keys and there are %s; remove one that is not used",
                       r->provider->most, ids);
    } else if (j->step == CFR_ROTATION_REST && j->aside_count != 0) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR
                       "%.40s may be a lost key or another's; it is deactivated, and removed in %s unless it "
                       "is made active again",
                       j->aside[0].id, cfr_time_words((cfr_rotation_aside_due_s(r) - f->now_s) * 1000, words));
    } else if (j->step == CFR_ROTATION_MINTED && r->successes >= r->provider->verify_count) {
        left_s = r->verified_s + r->rules.verify_wait_s - f->now_s;
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "verify_wait, %s more: the cloud accepts the new key",
                       cfr_time_words(left_s * 1000, words));
    } else if (j->step == CFR_ROTATION_MINTED) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "the cloud to accept the new key everywhere (%u of %u)",
                       r->successes, r->provider->verify_count);
    } else if (j->step == CFR_ROTATION_VERIFIED && !cfr_rotation_has_pending(r, f)) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR
                       "the file with the pending secret of the new key %.40s is gone or unreadable, and it may be "
                       "published already: restore it",
                       j->minted);
    } else if (j->step == CFR_ROTATION_PUBLISHED && left_s > 0) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "the grace of the old key, %s more",
                       cfr_time_words(left_s * 1000, words));
    } else if (j->step == CFR_ROTATION_PUBLISHED) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX, "consumers to say that they use generation %llu",
                       (unsigned long long)j->generation);
    } else if (j->step == CFR_ROTATION_INACTIVE && j->late_use) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       CFR_ROTATION_WAITS_OPERATOR
                       "the old key %.40s was still used late in its grace; it is deactivated, and "
                       "deleted later",
                       j->old);
    } else if (j->step == CFR_ROTATION_LOST) {
        (void)snprintf(out, CFR_ROTATION_WORDS_MAX,
                       "a key that may have been made while its answer was lost, to remove it");
    }
}
