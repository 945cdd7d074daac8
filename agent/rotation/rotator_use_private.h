/* SPDX-License-Identifier: MIT */
/* One long-lived key that is rotated: takes the steps that rotation/rotation.h decides. It keeps the journal and,
 * between making a key and publishing it, the pending secret in the state directory, or in a Secret of the cluster that
 * several agents share, and makes the requests, one at a time. Its owner publishes. */
#ifndef CFR_AGENT_ROTATION_ROTATOR_USE_PRIVATE_H
#define CFR_AGENT_ROTATION_ROTATOR_USE_PRIVATE_H

#include "agent/loop/clock.h"
#include "agent/config/config.h"
#include "agent/publish/render.h"
#include "agent/source/exchange.h"
#include "rotation/found.h"
#include "agent/http/client.h"
#include "serve/sdk/endpoint.h"
#include "serve/api/status.h"

struct cfr_rotator;

/* What it needs of the rest; borrowed for its life. */
struct cfr_rotator_context {
    struct cfr_http *http;
    struct cfr_kube *kube; /* for a rotation that several agents share */
    int state_fd;
    const bool *draining; /* the end is near: nothing new is begun */
    /* What the credential NAME has to offer; false if there is none of that name. */
    bool (*offer)(void *ctx, const char *name, struct cfr_offer *out);
    void *offer_ctx;
    bool (*used_by_all)(void *ctx);                  /* every consumer that acknowledges uses what is published */
    bool (*is_published)(void *ctx, const char *id); /* the key ID is what is published, everywhere */
    bool (*has_published)(void *ctx);                /* a key that was made is published somewhere */
    /* Fills OUT with the key that is published everywhere, as this agent recorded it; false if none is, or if it is not
     * on record. OUT borrows until the loop's next turn. */
    bool (*published_key)(void *ctx, struct cfr_publish_minted *out);
    /* This agent created the key ID, or confirmed it with its secret, also in an earlier run. */
    bool (*is_own)(void *ctx, const char *id);
    void (*note_own)(void *ctx, const char *id); /* from now on it did */
    /* Looks for the key that is to be adopted. 0: FOUND has what is there; 1: cfr_rotator_found follows; CFR_E_MISSING:
     * there is none; or another error. */
    int (*find)(void *ctx, struct cfr_rotation_found *found, struct cfr_err *err);
    void (*replan)(void *ctx); /* a deadline may have moved; not called from within the functions below */
    void *ctx;                 /* of the latter eight */
};

/* Reads what an earlier run left; starts nothing. Every start reports what is wrong with the journal.
 * SPREAD as in struct cfr_rotation_rules. CFR_E_NOMEM. Blocks on disk, as all functions here may. */
int cfr_rotator_open(const struct cfr_rotator_context *context, const struct cfr_config_credential *config,
                     double spread, struct cfr_rotator **out, struct cfr_err *err);
/* Ends what is under way, where the next run takes it up again. NULL is allowed. */
void cfr_rotator_close(struct cfr_rotator *m);
/* Logs which keys are left over, and no longer rotated or removed from now on. */
void cfr_rotator_report_leftover(const struct cfr_rotator *m);
/* After a reload: borrow the new copy of the configuration, which is about the same keys. */
void cfr_rotator_rebind(struct cfr_rotator *m, const struct cfr_config_credential *config);

/* The cloud's name, as in the configuration. */
const char *cfr_rotator_provider(const struct cfr_rotator *m);

/* True if a key was published and no other is about to be: what is published can be adopted. */
bool cfr_rotator_is_settled(const struct cfr_rotator *m);
/* The key before the published one, if there was one, is deleted for good, and no other is about to be made. */
bool cfr_rotator_old_is_gone(struct cfr_rotator *m);
/* When the next rotation is due, by the wall clock. */
int64_t cfr_rotator_due_ms(const struct cfr_rotator *m);
/* When the key that is published, or is about to be, ends by itself, by the wall clock; INT64_MAX = it does not. */
int64_t cfr_rotator_ends_ms(const struct cfr_rotator *m);
/* 0 if a rotation may be asked for; the error of the journal, without which nothing is done. For NULL, too. */
int cfr_rotator_may_be_asked(const struct cfr_rotator *m, struct cfr_err *err);
/* True if what is published next answers a request for a rotation that is made now: it was not begun before for
 * its age. */
bool cfr_rotator_counts(struct cfr_rotator *m);
/* A rotation is requested: the one in progress, which began before, no longer counts for it, but that of another agent
 * does. For NULL, too. */
void cfr_rotator_ask(struct cfr_rotator *m);

/* Goes on until there is something to publish, and gives that to DONE with refresh_s, when the next rotation
 * is due. WANTED: even if none is due. AGAIN: it is to be published in another way; LOST: what was published is not
 * there any more; a key that several agents share is published again, any other is replaced. Nothing to publish is a
 * result without a grant. DONE is called once, not before this returns, unless it is cancelled, and must not call
 * cfr_rotator_step; after an error the rotator waits for the next start, but for what it has to clean up. */
void cfr_rotator_start(struct cfr_rotator *m, bool wanted, bool again, bool lost, cfr_source_exchange_fn *done,
                       void *ctx);
void cfr_rotator_cancel(struct cfr_rotator *m);
/* What DONE was given is published as GENERATION. */
void cfr_rotator_published(struct cfr_rotator *m, uint64_t generation);
/* What DONE was given, or what is published already if it was given nothing; false if there is none. OUT borrows. */
bool cfr_rotator_fresh(const struct cfr_rotator *m, struct cfr_publish_minted *out);

/* A key that another program created is to be adopted before anything else. */
bool cfr_rotator_adopts(const struct cfr_rotator *m);
/* What the context's find has found, later; FOUND is emptied. A step follows. */
void cfr_rotator_found(struct cfr_rotator *m, int rc, struct cfr_rotation_found *found, struct cfr_err *err);

/* A key was published once, of this owner or a former one, or is about to be. */
bool cfr_rotator_has_key(const struct cfr_rotator *m);
/* That the last attempt was refused is no failure: that key is published. */
void cfr_rotator_clear_failure(struct cfr_rotator *m);

/* What is under way, or due, needs the credential named `with`. */
bool cfr_rotator_needs_admin(struct cfr_rotator *m);

/* The published key is deleted, deactivated or expired in the cloud for certain. For NULL, too. */
bool cfr_rotator_is_refused(const struct cfr_rotator *m);
/* It is, and is to be replaced now, by a start. */
bool cfr_rotator_must_replace(const struct cfr_rotator *m);

/* A shared rotation that waits after a failure of a request to WHERE waits no longer. True if it did. M may be NULL. */
bool cfr_rotator_resume(struct cfr_rotator *m, const struct cfr_kube_where *where);
/* Does what is due, and what a change of its context calls for. */
void cfr_rotator_step(struct cfr_rotator *m);
/* Something is being written in state_dir: a step is due when a child ends. */
bool cfr_rotator_is_writing(const struct cfr_rotator *m);
/* Boot time of the next thing to do, INT64_MAX if none. For NULL, too. */
int64_t cfr_rotator_deadline(struct cfr_rotator *m);
/* True while there is something to do at once, or `with` is about to have something to offer. For NULL, too. */
bool cfr_rotator_goes_on(struct cfr_rotator *m);
/* A start is wanted: another agent has published a key that this one does not publish yet, or left a new key to be
 * published by this one, or what was broken was repaired. */
bool cfr_rotator_has_news(struct cfr_rotator *m);
/* The same once, for an attempt that failed before. */
bool cfr_rotator_takes_news(struct cfr_rotator *m);
/* True while a request is under way. For NULL, too. */
bool cfr_rotator_is_busy(const struct cfr_rotator *m);
/* PASSED_ON: the key of `with` is what is published. Strings live until the next call of any function here. */
void cfr_rotator_status(struct cfr_rotator *m, bool passed_on, struct cfr_api_status_mint *out);

#endif
