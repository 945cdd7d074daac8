/* SPDX-License-Identifier: MIT */
/* What is said of a credential that cannot be renewed, and when: soon after it began, at a falling pace while it lasts,
 * before and after what is published expires, and once at its end. Pure: time is a parameter; nothing here blocks,
 * allocates, logs or calls back. Zero-initialise, but for begun_boot_ms. */
#ifndef CFR_AGENT_WORKER_TROUBLE_PRIVATE_H
#define CFR_AGENT_WORKER_TROUBLE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

enum cfr_trouble_word {
    CFR_TROUBLE_NOTHING,
    CFR_TROUBLE_LASTS,    /* it fails still */
    CFR_TROUBLE_EXPIRING, /* and what is published expires soon */
    CFR_TROUBLE_EXPIRED,  /* what is published has expired */
    CFR_TROUBLE_STILL_EXPIRED,
};

struct cfr_trouble {
    uint32_t failures;
    uint32_t reminders;
    int64_t since_boot_ms; /* the first failure, or the expiry if that came first */
    int64_t next_boot_ms;  /* of the next reminder */
    bool warned;           /* of the expiry to come */
    bool expired;          /* it was said */
    int64_t expired_boot_ms;
    int64_t begun_boot_ms; /* the agent's start, which finds what has expired meanwhile */
};

/* What is published. */
struct cfr_trouble_life {
    bool published;
    bool valid;
    int64_t lifetime_ms;     /* INT64_MAX: it does not expire */
    int64_t expires_boot_ms; /* INT64_MAX: never */
};

/* A try has failed. */
void cfr_trouble_failed(struct cfr_trouble *t, int64_t now_boot_ms);
/* It was renewed. True if there was something that is worth a word; *WAS is then what it was. */
bool cfr_trouble_ended(struct cfr_trouble *t, struct cfr_trouble *was);
/* What is to be said now; plans the next word. */
enum cfr_trouble_word cfr_trouble_due(struct cfr_trouble *t, const struct cfr_trouble_life *life, int64_t now_boot_ms);
/* The boot time of the next word; INT64_MAX if there is none. */
int64_t cfr_trouble_deadline(const struct cfr_trouble *t, const struct cfr_trouble_life *life);

#endif
