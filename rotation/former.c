/* SPDX-License-Identifier: MIT */
/* Keys of the owner that was configured before. */
#include "rotation/rotation_private.h"

#include <stdio.h>
#include <string.h>

#define AGAIN_S 3600

static void leave(struct cfr_str *left, const char *id)
{
    if (left != NULL && id[0] != '\0')
        cfr_str_addf(left, "%s%s", left->len != 0 ? ", " : "", id);
}

static void add(struct cfr_rotation_journal *to, const char *subject, const char *id, struct cfr_str *left)
{
    struct cfr_rotation_former *one = &to->former[to->former_count];

    if (id[0] == '\0')
        return;
    if (to->former_count == CFR_ROTATION_FORMER_MAX) {
        leave(left, id);
        return;
    }
    (void)snprintf(one->subject, sizeof one->subject, "%s", subject);
    (void)snprintf(one->id, sizeof one->id, "%s", id);
    to->former_count++;
}

bool cfr_rotation_change_owner(struct cfr_rotation_journal *j, const char *subject, struct cfr_str *left)
{
    struct cfr_rotation_journal next = {.step = CFR_ROTATION_REST};
    bool changed = j->subject[0] != '\0' && strcmp(j->subject, subject) != 0;

    if (changed) {
        for (size_t i = 0; i < j->former_count; i++)
            next.former[i] = j->former[i];
        next.former_count = j->former_count;
        add(&next, j->subject, j->current, left);
        add(&next, j->subject, j->old, left);
        /* One that was to be adopted, and never was published, is its creator's. */
        if (cfr_rotation_is_known(j, j->minted))
            leave(left, j->minted);
        else
            add(&next, j->subject, j->minted, left);
        for (size_t i = 0; i < j->aside_count; i++) {
            if (j->aside[i].ours)
                add(&next, j->subject, j->aside[i].id, left);
            else
                leave(left, j->aside[i].id);
        }
        next.rotation = j->rotation;
        /* A new key of the former owner may be published already, though that was not written down. */
        next.published = j->published + (j->minted[0] != '\0');
        /* The former keys are there. */
        memcpy(next.account, j->account, sizeof next.account);
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

bool cfr_rotation_former_failed(struct cfr_rotation_rotation *r, int64_t now_s)
{
    struct cfr_rotation_journal *j = &r->journal;
    struct cfr_rotation_former failed = j->former[0];

    r->former_try_s = now_s + AGAIN_S;
    if (j->former_count < 2)
        return false;
    memmove(&j->former[0], &j->former[1], (j->former_count - 1) * sizeof j->former[0]);
    j->former[j->former_count - 1] = failed;
    return true;
}
