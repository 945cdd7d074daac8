/* SPDX-License-Identifier: MIT */
/* Acknowledgements of consumers. */
#include "agent/hook/hook_private.h"

#define NS_PER_MS 1000000

void cfr_hook_ack_published(struct cfr_hook_ack *a, uint64_t generation, int64_t published_boot_ms)
{
    a->generation = generation;
    a->published_boot_ms = published_boot_ms;
    for (size_t i = 0; i < a->count; i++)
        a->consumers[i].reported = false;
}

bool cfr_hook_ack_said(struct cfr_hook_ack *a, size_t index, uint64_t generation, int64_t said_s)
{
    struct cfr_hook_ack_consumer *c = &a->consumers[index];

    /* A number from the future dates from before files and state were removed. */
    if (generation == 0 || generation > a->generation || generation == c->generation)
        return false;
    c->generation = generation;
    c->said_s = said_s;
    return true;
}

bool cfr_hook_ack_is_current(const struct cfr_hook_ack *a, size_t index)
{
    return a->consumers[index].generation >= a->generation;
}

static int64_t behind_at(const struct cfr_hook_ack *a, size_t index)
{
    return a->published_boot_ms + a->consumers[index].behind_after_ms;
}

bool cfr_hook_ack_is_behind(const struct cfr_hook_ack *a, size_t index, int64_t now_boot_ms)
{
    return !cfr_hook_ack_is_current(a, index) && now_boot_ms >= behind_at(a, index);
}

size_t cfr_hook_ack_next_behind(struct cfr_hook_ack *a, int64_t now_boot_ms)
{
    for (size_t i = 0; i < a->count; i++) {
        if (!a->consumers[i].reported && cfr_hook_ack_is_behind(a, i, now_boot_ms)) {
            a->consumers[i].reported = true;
            return i;
        }
    }
    return a->count;
}

int64_t cfr_hook_ack_deadline(const struct cfr_hook_ack *a)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < a->count; i++) {
        if (!a->consumers[i].reported && !cfr_hook_ack_is_current(a, i) && behind_at(a, i) < next)
            next = behind_at(a, i);
    }
    return next;
}

int64_t cfr_hook_ack_retire_at(const struct cfr_hook_ack *a, int64_t planned_boot_ms)
{
    int64_t at = planned_boot_ms;

    for (size_t i = 0; i < a->count; i++) {
        const struct cfr_hook_ack_consumer *c = &a->consumers[i];

        if (c->wait && !cfr_hook_ack_is_current(a, i) && a->published_boot_ms + c->limit_ms > at)
            at = a->published_boot_ms + c->limit_ms;
    }
    return at;
}

static bool is_digits(struct cfr_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return text.n != 0;
}

bool cfr_hook_ack_number(struct cfr_view text, uint64_t *out)
{
    struct cfr_view digits = cfr_view_trim(text);
    uint64_t value = 0;

    if (!is_digits(digits))
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digits.p[i] - '0'), &value))
            return false;
    }
    *out = value;
    return value != 0;
}

uint64_t cfr_hook_ack_read(const struct cfr_hook_ack_file *f, uint64_t current, int64_t published_ns, int64_t now_ns,
                           bool *again)
{
    uint64_t number = 0;
    int64_t settle_ns = (int64_t)CFR_HOOK_ACK_SETTLE_MS * NS_PER_MS;
    int64_t age_ns = now_ns - f->mtime_ns;

    *again = false;
    if (is_digits(cfr_view_trim(f->text)))
        return cfr_hook_ack_number(f->text, &number) && number <= current ? number : 0;
    /* A time that lies ahead, but for what clocks are read in different steps, is by one that was set back
     * since: it says nothing. */
    if (f->whole && (age_ns < -settle_ns || f->mtime_ns < published_ns))
        return 0;
    /* A writer that truncates first leaves it empty for a moment, and what follows may be an older number. */
    *again = !f->whole || age_ns < settle_ns;
    return *again ? 0 : current;
}
