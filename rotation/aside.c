/* SPDX-License-Identifier: MIT */
/* Keys that are put aside: ours, which are to be deleted, and such as may be another user's. */
#include "rotation/rotation_private.h"

#include <stdio.h>
#include <string.h>

#define AGAIN_S 3600 /* between tries of one that cannot be retired */

void cfr_rotation_aside_forget(struct cfr_rotation_journal *j, size_t at)
{
    j->aside_count--;
    memmove(&j->aside[at], &j->aside[at + 1], (j->aside_count - at) * sizeof j->aside[0]);
}

void cfr_rotation_aside_put(struct cfr_rotation_journal *j, const char *id, bool ours, int64_t now_s)
{
    if (j->aside_count == CFR_ROTATION_ASIDE_MAX)
        cfr_rotation_aside_forget(j, 0);
    (void)snprintf(j->aside[j->aside_count].id, CFR_ROTATION_ID_MAX, "%s", id);
    j->aside[j->aside_count].ours = ours;
    j->aside[j->aside_count].lost = false;
    j->aside[j->aside_count++].since_s = now_s;
}

size_t cfr_rotation_aside_find(const struct cfr_rotation_journal *j, const char *id)
{
    size_t at = 0;

    while (at < j->aside_count && strcmp(j->aside[at].id, id) != 0)
        at++;
    return at;
}

bool cfr_rotation_aside_ends(const struct cfr_rotation_rotation *r, const struct cfr_rotation_aside *one)
{
    return one->ours || (one->lost && !r->rules.keep_lost);
}

size_t cfr_rotation_aside_next(const struct cfr_rotation_rotation *r)
{
    const struct cfr_rotation_journal *j = &r->journal;
    size_t found = j->aside_count;

    for (size_t i = 0; i < j->aside_count; i++) {
        if (cfr_rotation_aside_ends(r, &j->aside[i]) &&
            (found == j->aside_count || j->aside[i].since_s < j->aside[found].since_s))
            found = i;
    }
    return found;
}

static int64_t wait_s(const struct cfr_rotation_rotation *r)
{
    return r->rules.inactive_s > r->rules.settle_s ? r->rules.inactive_s : r->rules.settle_s;
}

int64_t cfr_rotation_aside_due_s(const struct cfr_rotation_rotation *r)
{
    size_t at = cfr_rotation_aside_next(r);
    int64_t due_s;

    if (at == r->journal.aside_count)
        return INT64_MAX;
    due_s = r->journal.aside[at].since_s + wait_s(r);
    return due_s > r->aside_try_s ? due_s : r->aside_try_s;
}

bool cfr_rotation_aside_failed(struct cfr_rotation_rotation *r, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    size_t at = cfr_rotation_aside_find(j, r->suspect);

    r->aside_try_s = now_s + AGAIN_S;
    r->suspect[0] = '\0';
    if (at == j->aside_count)
        return false;
    /* Due as before, and after the others that are. */
    j->aside[at].since_s = now_s - wait_s(r);
    return true;
}

bool cfr_rotation_aside_review(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    bool changed = false;

    for (size_t i = j->step == CFR_ROTATION_REST ? j->aside_count : 0; i-- > 0;) {
        enum cfr_rotation_key_state found = cfr_rotation_look_up(keys, j->aside[i].id);
        bool taken = found == CFR_ROTATION_KEY_ACTIVE && !j->aside[i].ours && r->provider->deactivates;

        if (now_s >= j->aside[i].since_s + r->rules.settle_s && (found == CFR_ROTATION_KEY_DELETED || taken)) {
            cfr_rotation_aside_forget(j, i);
            changed = true;
        }
    }
    return changed;
}
