/* SPDX-License-Identifier: MIT */
/* Crew of publishers: limits their children, and queues those that wait for one. */
#include "agent/publish/publisher_private.h"

#define WORKING_MAX 4  /* children at a time, without those that wait for something slow */
#define SLOW_MAX    48 /* of these on one mount, so that one that hangs leaves room for others */
#define CROWD       8  /* publishers in the queue: more would only take memory */

static bool has_room(const struct cfr_publisher_crew *crew)
{
    return crew->working < WORKING_MAX && crew->children < CFR_PUBLISHER_CHILDREN_MAX;
}

static bool is_full(const struct cfr_publisher_crew *crew, unsigned mount)
{
    unsigned slow = 0;

    for (unsigned i = 0; i < crew->slow; i++)
        slow += crew->slow_mounts[i] == mount;
    return mount != 0 && slow >= SLOW_MAX;
}

bool cfr_publisher_crew_has_room(const struct cfr_publisher *p)
{
    return has_room(p->crew) && !is_full(p->crew, p->place.mount);
}

bool cfr_publisher_is_crowded(const struct cfr_publisher_crew *crew)
{
    return crew->waiting >= CROWD && crew->working == crew->children;
}

bool cfr_publisher_is_idle(const struct cfr_publisher_crew *crew)
{
    return crew->children == 0 && crew->first == NULL;
}

/* ---- the queue ---- */

void cfr_publisher_crew_wait(struct cfr_publisher *p)
{
    struct cfr_publisher_crew *crew = p->crew;

    p->place.next = NULL;
    p->place.queued = true;
    crew->waiting++;
    if (crew->last != NULL)
        crew->last->place.next = p;
    else
        crew->first = p;
    crew->last = p;
}

void cfr_publisher_crew_give_up(struct cfr_publisher *p)
{
    struct cfr_publisher_crew *crew = p->crew;
    struct cfr_publisher *before = NULL;

    for (struct cfr_publisher *q = crew->first; q != p; q = q->place.next)
        before = q;
    if (before != NULL)
        before->place.next = p->place.next;
    else
        crew->first = p->place.next;
    if (crew->last == p)
        crew->last = before;
    crew->waiting--;
    p->place.next = NULL;
    p->place.queued = false;
}

struct cfr_publisher *cfr_publisher_crew_next(struct cfr_publisher_crew *crew)
{
    struct cfr_publisher *p = has_room(crew) ? crew->first : NULL;

    while (p != NULL && is_full(crew, p->place.mount))
        p = p->place.next;
    if (p != NULL)
        cfr_publisher_crew_give_up(p);
    return p;
}

/* ---- children ---- */

void cfr_publisher_crew_join(struct cfr_publisher *p)
{
    p->crew->working++;
    p->crew->children++;
    p->place.slow = false;
}

void cfr_publisher_crew_slow_down(struct cfr_publisher *p)
{
    struct cfr_publisher_crew *crew = p->crew;

    if (p->place.slow)
        return;
    p->place.slow = true;
    crew->working--;
    crew->slow_mounts[crew->slow++] = p->place.mount;
}

void cfr_publisher_crew_leave(struct cfr_publisher *p)
{
    struct cfr_publisher_crew *crew = p->crew;
    unsigned i = 0;

    crew->children--;
    if (!p->place.slow) {
        crew->working--;
        return;
    }
    while (crew->slow_mounts[i] != p->place.mount)
        i++;
    crew->slow_mounts[i] = crew->slow_mounts[--crew->slow];
}
