/* SPDX-License-Identifier: MIT */
/* What the files of a publisher share: publisher.c (the work at its targets), publisher_seen.c (what is there). Private
 * to them. */
#ifndef CFR_AGENT_PUBLISH_PUBLISHER_PRIVATE_H
#define CFR_AGENT_PUBLISH_PUBLISHER_PRIVATE_H

#include "agent/loop/errand.h"
#include "agent/publish/publisher.h"
#include "agent/publish/target_private.h"

/* One target after work at it. Values only: a child hands it over. */
struct cfr_publish_seen {
    struct cfr_err err;  /* of the work */
    struct cfr_err look; /* why nothing complete is there */
    bool changed;
    bool known; /* it was looked at */
    uint64_t hash;
    uint64_t current;
    struct cfr_file_fingerprint mark;
    int64_t renamed_ns;
    char key[CFR_PUBLISH_KEY_MAX];
};

struct cfr_publish_work;

struct cfr_publish_slot {
    bool failed;                   /* the last publish did not reach it */
    bool left;                     /* a child was killed, and may have left a temporary file */
    struct cfr_errand *hanging;    /* was killed and has not ended; NULL = none */
    struct cfr_publish_seen *seen; /* what the last work saw; kept only where we cannot look ourselves */
};

struct cfr_publisher {
    const struct cfr_config_credential *config;
    struct cfr_publisher_crew *crew;
    struct cfr_publisher *next; /* in the crew's queue */
    cfr_publisher_fn *done;
    void *ctx;
    struct cfr_publish_work *work; /* NULL = none */
    struct cfr_publish_slot slots[];
};

static inline bool cfr_publish_is_directory(const struct cfr_target *t)
{
    return t->ops->current != NULL;
}

/* True if a target may not even be looked at by this process, because its file system may not answer. */
bool cfr_publish_lies_remote(const struct cfr_target *t);
/* Of a target that failed. Like nothing that was ever published: what is there is not what was to be. */
extern const struct cfr_file_fingerprint cfr_publish_never;

bool cfr_publish_is_mark(const struct cfr_file_fingerprint *a, const struct cfr_file_fingerprint *b);
/* 0 if target I, if it is on this machine, is as RECORD remembers it. */
int cfr_publish_verify_target(const struct cfr_publisher *p, size_t i, const struct cfr_publish_record *record,
                              struct cfr_err *err);
/* Fills in what is at a target on this machine, but for the work. Blocks as its file system does. */
void cfr_publish_look_at(const struct cfr_target *t, struct cfr_publish_seen *seen);

#endif
