/* SPDX-License-Identifier: MIT */
/* Keys of the owner that was configured before. */
#include "rotation/rotation_private.h"

#include <stdio.h>
#include <string.h>

#define AGAIN_S 3600

static void add(struct cfr_rotation_journal *to, const char *subject, const char *id)
{
    struct cfr_rotation_former *one = &to->former[to->former_count];

    if (id[0] == '\0' || to->former_count == CFR_ROTATION_FORMER_MAX)
        return;
    (void)snprintf(one->subject, sizeof one->subject, "%s", subject);
    (void)snprintf(one->id, sizeof one->id, "%s", id);
    to->former_count++;
}

bool cfr_rotation_change_owner(struct cfr_rotation_journal *j, const char *subject)
{
    struct cfr_rotation_journal next = {.step = CFR_ROTATION_REST};
    bool changed = j->subject[0] != '\0' && strcmp(j->subject, subject) != 0;

    if (changed) {
        for (size_t i = 0; i < j->former_count; i++)
            next.former[i] = j->former[i];
        next.former_count = j->former_count;
        add(&next, j->subject, j->current);
        add(&next, j->subject, j->old);
        add(&next, j->subject, j->minted);
        next.rotation = j->rotation;
        *j = next;
    }
    (void)snprintf(j->subject, sizeof j->subject, "%s", subject);
    return changed;
}

int64_t cfr_rotation_former_due_s(const struct cfr_rotation_rotation *r)
{
    const struct cfr_rotation_journal *j = &r->journal;
    int64_t due_s = j->published_s + r->rules.grace_s;

    if (j->former_count == 0 || j->current[0] == '\0')
        return INT64_MAX;
    if (j->former[0].off_s != 0)
        due_s = j->former[0].off_s + r->rules.inactive_s;
    return due_s > r->former_try_s ? due_s : r->former_try_s;
}

bool cfr_rotation_former_retired(struct cfr_rotation_rotation *r, bool deleted, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;

    if (j->former_count == 0)
        return false;
    j->former[0].off_s = now_s;
    if (!deleted)
        return true;
    j->former_count--;
    memmove(&j->former[0], &j->former[1], j->former_count * sizeof j->former[0]);
    return true;
}

void cfr_rotation_former_failed(struct cfr_rotation_rotation *r, int64_t now_s)
{
    r->former_try_s = now_s + AGAIN_S;
}
