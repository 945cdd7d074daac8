/* SPDX-License-Identifier: MIT */
/* When trouble is spoken of. */
#include "agent/worker/trouble_private.h"

#define MINUTE_MS     INT64_C(60000)
#define FIRST_MS      (10 * MINUTE_MS) /* until the first reminder, and between those of an expiry */
#define SECOND_MS     (20 * MINUTE_MS)
#define LATER_MS      (30 * MINUTE_MS) /* so that an hour of the log always has one */
#define LATE_MS       5000             /* a renewal that comes this late is no news */
#define WARNING_PART  6                /* of a lifetime, before its end */
#define WARNING_LEAST MINUTE_MS
#define WARNING_MOST  (15 * MINUTE_MS)

void cfr_trouble_failed(struct cfr_trouble *t, int64_t now_boot_ms)
{
    if (t->failures++ != 0 || t->expired)
        return;
    t->since_boot_ms = now_boot_ms;
    t->next_boot_ms = now_boot_ms + FIRST_MS;
}

bool cfr_trouble_ended(struct cfr_trouble *t, struct cfr_trouble *was)
{
    *was = *t;
    *t = (struct cfr_trouble){.begun_boot_ms = was->begun_boot_ms};
    return was->failures != 0 || was->expired;
}

static int64_t warning_at(const struct cfr_trouble_life *life)
{
    int64_t before_ms = life->lifetime_ms / WARNING_PART;

    if (before_ms < WARNING_LEAST)
        before_ms = WARNING_LEAST;
    return life->expires_boot_ms - (before_ms < WARNING_MOST ? before_ms : WARNING_MOST);
}

static int64_t expiry_at(const struct cfr_trouble *t, const struct cfr_trouble_life *life)
{
    int64_t from_ms = life->expires_boot_ms > t->begun_boot_ms ? life->expires_boot_ms : t->begun_boot_ms;

    return t->failures != 0 ? life->expires_boot_ms : from_ms + LATE_MS;
}

static void plan_next(struct cfr_trouble *t, int64_t now_boot_ms)
{
    t->reminders++;
    t->next_boot_ms = now_boot_ms + (t->expired ? FIRST_MS : t->reminders == 1 ? SECOND_MS : LATER_MS);
}

enum cfr_trouble_word cfr_trouble_due(struct cfr_trouble *t, const struct cfr_trouble_life *life, int64_t now_boot_ms)
{
    bool ends = life->published && life->expires_boot_ms != INT64_MAX;

    if (ends && !life->valid && !t->expired && (t->failures != 0 || now_boot_ms >= expiry_at(t, life))) {
        t->expired = true;
        t->expired_boot_ms = life->expires_boot_ms < now_boot_ms ? life->expires_boot_ms : now_boot_ms;
        if (t->failures == 0)
            t->since_boot_ms = t->expired_boot_ms;
        plan_next(t, now_boot_ms);
        return CFR_TROUBLE_EXPIRED;
    }
    if (ends && life->valid && t->failures != 0 && !t->warned && now_boot_ms >= warning_at(life)) {
        t->warned = true;
        plan_next(t, now_boot_ms);
        return CFR_TROUBLE_EXPIRING;
    }
    if ((t->failures == 0 && !t->expired) || now_boot_ms < t->next_boot_ms)
        return CFR_TROUBLE_NOTHING;
    plan_next(t, now_boot_ms);
    return t->expired ? CFR_TROUBLE_STILL_EXPIRED : CFR_TROUBLE_LASTS;
}

int64_t cfr_trouble_deadline(const struct cfr_trouble *t, const struct cfr_trouble_life *life)
{
    bool ends = life->published && life->expires_boot_ms != INT64_MAX;
    int64_t at_ms = t->failures != 0 || t->expired ? t->next_boot_ms : INT64_MAX;

    if (ends && !t->expired && expiry_at(t, life) < at_ms)
        at_ms = expiry_at(t, life);
    if (ends && t->failures != 0 && !t->warned && !t->expired && warning_at(life) < at_ms)
        at_ms = warning_at(life);
    return at_ms;
}
