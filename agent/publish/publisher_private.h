/* SPDX-License-Identifier: MIT */
/* What the files of a publisher share: publisher.c (the work at its targets), publisher_crew.c (its turn),
 * publisher_seen.c (what is there). Private to them. */
#ifndef CFR_AGENT_PUBLISH_PUBLISHER_PRIVATE_H
#define CFR_AGENT_PUBLISH_PUBLISHER_PRIVATE_H

#include "agent/loop/errand.h"
#include "agent/publish/publisher.h"
#include "agent/publish/target_private.h"
#include "files/route.h"

/* What of a target to look at. */
enum {
    CFR_LOOK_SET = 1,  /* CURRENT, MARK and LOOK */
    CFR_LOOK_KEY = 2,  /* KEY */
    CFR_LOOK_TIME = 4, /* RENAMED_NS */
    CFR_LOOK_ALL = 7
};

struct cfr_publish_work;

struct cfr_publish_slot {
    bool failed;                   /* the last publish did not reach it */
    bool left;                     /* a child was killed, and may have left a temporary file */
    struct cfr_errand *hanging;    /* was killed and has not ended; NULL = none */
    struct cfr_publish_seen *seen; /* what the last work saw; kept only where we cannot look ourselves */
};

/* A publisher in its crew. */
struct cfr_publisher_place {
    struct cfr_publisher *next; /* in the queue */
    bool queued;
    bool slow;      /* its child waits for something */
    unsigned mount; /* of the target that it works at; 0: not known */
};

struct cfr_publisher {
    const struct cfr_config_credential *config;
    struct cfr_publisher_crew *crew;
    struct cfr_publisher_place place;
    cfr_publisher_fn *done;
    void *ctx;
    struct cfr_watch *watch; /* NULL: none */
    void *watcher;
    int64_t time_ns;               /* cfr_publisher_time_ns */
    struct cfr_publish_work *work; /* NULL = none */
    struct cfr_publish_slot slots[];
};

/* Finds what lies at T, which is on this machine. True if it may not even be looked at by this process, because its
 * file system may not answer. */
bool cfr_publish_find_route(const struct cfr_target *t, struct cfr_route *route);
/* True if it may not, for any target. */
bool cfr_publish_lies_remote(const struct cfr_target *t);
/* Of a target that failed. Like nothing that was ever published: what is there is not what was to be. */
extern const struct cfr_file_fingerprint cfr_publish_never;

bool cfr_publish_is_mark(const struct cfr_file_fingerprint *a, const struct cfr_file_fingerprint *b);
/* 0 if target I, if it is on this machine, is as RECORD remembers it. */
int cfr_publish_verify_target(const struct cfr_publisher *p, size_t i, const struct cfr_publish_record *record,
                              struct cfr_err *err);
/* publisher_crew.c: how many children the publishers of a crew have. P's target and its mount are known. */
/* True if P may begin a child now. */
bool cfr_publisher_crew_has_room(const struct cfr_publisher *p);
/* P waits in the queue for its turn, or gives that up. */
void cfr_publisher_crew_wait(struct cfr_publisher *p);
void cfr_publisher_crew_give_up(struct cfr_publisher *p);
/* Takes the first that may begin a child out of the queue; NULL = none. */
struct cfr_publisher *cfr_publisher_crew_next(struct cfr_publisher_crew *crew);
/* P's child has begun; waits for something (may be called again); has ended, or is given up. */
void cfr_publisher_crew_join(struct cfr_publisher *p);
void cfr_publisher_crew_slow_down(struct cfr_publisher *p);
void cfr_publisher_crew_leave(struct cfr_publisher *p);
/* Fills in the PARTS of what is at a target on this machine, but for the work. Blocks as its file system does. */
void cfr_publish_look_at(const struct cfr_target *t, unsigned parts, struct cfr_publish_seen *seen);

#endif
