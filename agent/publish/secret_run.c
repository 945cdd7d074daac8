/* SPDX-License-Identifier: MIT */
/* Which run of an agent publishes to a Secret: of two agents with the same credential, the one that started later does.
 */
#include "agent/publish/delivery_private.h"

#include <sys/random.h>

uint64_t cfr_publish_delivery_run(void)
{
    static uint64_t id;

    while (id == 0 && getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        id = (uint64_t)(cfr_clock_chance() * (double)INT64_MAX);
    return id;
}

int64_t cfr_publish_delivery_start_s(void)
{
    static int64_t start_s;

    if (start_s == 0)
        start_s = cfr_clock_now().wall_ms / 1000;
    return start_s;
}
