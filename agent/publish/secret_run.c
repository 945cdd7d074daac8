/* SPDX-License-Identifier: MIT */
/* Which run of an agent publishes to a Secret: of two agents with the same credential, the one that started later does.
 */
#include "agent/publish/delivery_private.h"

#include <sys/random.h>

#define MS_SHIFT 54 /* 10 bits above it: the milliseconds */

static uint64_t id;
static int64_t start_ms;

static void begin(void)
{
    if (id != 0)
        return;
    start_ms = cfr_clock_now().wall_ms;
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        id = (uint64_t)(cfr_clock_chance() * (double)INT64_MAX);
    /* Of two runs of the same second, the later one has the greater number. */
    id = (id >> (64 - MS_SHIFT)) | 1 | ((uint64_t)(start_ms % 1000) << MS_SHIFT);
}

uint64_t cfr_publish_delivery_run(void)
{
    begin();
    return id;
}

int64_t cfr_publish_delivery_start_s(void)
{
    begin();
    return start_ms / 1000;
}
