/* SPDX-License-Identifier: MIT */
/* Pauses between attempts. */
#include "agent/loop/backoff.h"

#define CAP_LEAST_MS 1000

static const struct {
    int64_t base_ms;
    int64_t cap_ms;
} pauses[CFR_CLASS_COUNT] = {
    [CFR_CLASS_NONE] = {1000, 300000},
    [CFR_CLASS_RETRY] = {1000, 300000},
    [CFR_CLASS_STOP] = {10000, 600000},
    [CFR_CLASS_LOCAL] = {2000, 300000},
};

int64_t cfr_backoff_failed(struct cfr_backoff *b, const struct cfr_backoff_cause *cause, double chance)
{
    int64_t base_ms = pauses[cause->class].base_ms;
    int64_t cap_ms = pauses[cause->class].cap_ms;
    int64_t half_left_ms = cause->left_ms / 2;
    /* An hour's notice must not cost a credential that could be renewed in time. */
    int64_t patience_ms = half_left_ms > cap_ms ? half_left_ms : cap_ms;
    int64_t low_ms = base_ms / 2;
    int64_t high_ms = base_ms;
    int64_t delay_ms;

    if (cause->max_ms > 0 && cause->max_ms < cap_ms)
        cap_ms = cause->max_ms;
    /* A life that ends before the cap still sees several attempts. */
    if (cause->left_ms > 0 && half_left_ms < cap_ms)
        cap_ms = half_left_ms > CAP_LEAST_MS ? half_left_ms : CAP_LEAST_MS;

    for (uint32_t i = 0; i < b->failures && high_ms < cap_ms; i++)
        high_ms *= 2;
    if (high_ms > cap_ms)
        high_ms = cap_ms;
    delay_ms = high_ms;
    if (high_ms > low_ms)
        delay_ms = low_ms + (int64_t)((double)(high_ms - low_ms) * chance);

    if (cause->retry_after_s > 0) {
        int64_t asked_ms = cause->retry_after_s < patience_ms / 1000 ? cause->retry_after_s * 1000 : patience_ms;

        if (delay_ms < asked_ms + asked_ms / 10)
            delay_ms = asked_ms + (int64_t)((double)asked_ms * 0.1 * chance);
    }
    if (b->failures < UINT32_MAX)
        b->failures++;
    return delay_ms;
}
