/* SPDX-License-Identifier: MIT */
/* The clock of a rotation. */
#include "agent/rotation/shared_private.h"

int64_t cfr_rotator_now_s(struct cfr_rotator *m)
{
    struct cfr_now now = cfr_clock_now();
    int64_t now_s = now.wall_ms / 1000;
    bool own = m->shared == NULL || m->shared->holds;

    /* At rest it can wait. */
    if (cfr_rotation_set_clock(&m->r, now_s, (now.wall_ms - now.boot_ms) / 1000) && own &&
        m->r.journal.step != CFR_ROTATION_REST)
        m->save.unsaved = true;
    return now_s;
}
