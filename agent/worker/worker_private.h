/* SPDX-License-Identifier: MIT */
/* What the worker's parts share: worker.c (its life), worker_step.c (events), worker_try.c (token and exchange),
 * worker_mint.c (keys that are rotated), worker_publish.c and worker_ack.c (what consumers say). Private to them. */
#ifndef CFR_AGENT_WORKER_WORKER_PRIVATE_H
#define CFR_AGENT_WORKER_WORKER_PRIVATE_H

#include "agent/source/inputs.h"
#include "agent/publish/targets.h"
#include "agent/source/token_file.h"
#include "agent/worker/worker.h"

#define CFR_WORKER_LOOK_AGAIN_MS 60000 /* what is overdue or could not be cleaned is looked at again after a minute */

/* What the exchange begins with, as it was just read. */
struct reading {
    struct cfr_source_inputs material;
    struct cfr_err err;
    int64_t wait_ms;
    int rc;
};

/* worker_step.c */
const char *cfr_worker_state_name(const struct cfr_worker *w);
int64_t cfr_worker_window_ms(const struct cfr_worker *w);
struct cfr_refresh_jitter cfr_worker_jitter(const struct cfr_worker *w);
/* Sets the timer; after everything that may have moved a deadline. */
void cfr_worker_plan(struct cfr_worker *w);
/* Writes the record; a failure is told, and no reason to stop. */
void cfr_worker_save(struct cfr_worker *w);
void cfr_worker_clear_error(struct cfr_worker *w);
/* Each error once: the same one again is only news for a debugger. */
void cfr_worker_note_error(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_ms);
/* An attempt failed: backs off. RETRY_AFTER_S is -1 if the server did not say. */
void cfr_worker_fail(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_after_s);
/* Gives the machine an event and does what it says. */
void cfr_worker_step(struct cfr_worker *w, enum cfr_event event);
void cfr_worker_tell(struct cfr_worker *w);
cfr_hook_fn cfr_worker_on_hook;
cfr_publish_secret_fn cfr_worker_on_delivered;

/* True if everything is published in the cluster, so that hooks have to wait for it to be there. */
bool cfr_worker_hooks_wait(const struct cfr_worker *w);

/* worker_try.c */
void cfr_worker_read(struct cfr_worker *w, struct reading *r);
/* What M says of the token's file and of who stands in for it. */
void cfr_worker_note_source(struct cfr_worker *w, const struct cfr_source_inputs *m);
void cfr_worker_check_overdue(struct cfr_worker *w, struct cfr_now now);
void cfr_worker_try(struct cfr_worker *w);
void cfr_worker_cancel(struct cfr_worker *w);

/* worker_ack.c */
/* Finds who acknowledges, and what is on record of them. With w->hooks, before they are restored. CFR_E_NOMEM. */
int cfr_worker_ack_open(struct cfr_worker *w, struct cfr_err *err);
void cfr_worker_ack_close(struct cfr_worker *w);
/* Watches the files and reads them. */
void cfr_worker_ack_start(struct cfr_worker *w);
/* The generation on record stands now; before it is saved. */
void cfr_worker_ack_published(struct cfr_worker *w);
/* Reads the files; takes what hooks were answered. The latter is not saved. */
void cfr_worker_ack_look(struct cfr_worker *w);
void cfr_worker_ack_hooks(struct cfr_worker *w);
/* Puts what is known into the record. */
void cfr_worker_ack_save(struct cfr_worker *w);
/* Does what is due: another look, a warning. */
void cfr_worker_ack_step(struct cfr_worker *w, struct cfr_now now);
int64_t cfr_worker_ack_deadline(const struct cfr_worker *w);
/* Boot time at which the previous generation may go, INT64_MAX if there is none. */
int64_t cfr_worker_ack_retire_at(const struct cfr_worker *w);
/* Every consumer that acknowledges has said that it uses what is published. */
bool cfr_worker_ack_all(const struct cfr_worker *w);
/* It has gone: says who was waited for in vain. */
void cfr_worker_ack_retired(const struct cfr_worker *w);
void cfr_worker_ack_status(struct cfr_worker *w, struct cfr_now now, struct cfr_api_status_credential *out);

/* worker_mint.c: all but the first do nothing, or are not to be called, without w->minter */
int cfr_worker_mint_open(struct cfr_worker *w, struct cfr_err *err);
/* Plans the next rotation. True if what stands is good until then, and none is under way. */
bool cfr_worker_mint_adopt(struct cfr_worker *w, struct cfr_now now);
void cfr_worker_mint_try(struct cfr_worker *w);
void cfr_worker_mint_step(struct cfr_worker *w);
/* The generation on record stands, and is on disk. */
void cfr_worker_mint_published(struct cfr_worker *w);

/* worker_publish.c */
/* A grant, and where it comes from. */
struct cfr_worker_granted {
    struct cfr_grant *grant;
    struct cfr_publish_from from;
    int64_t server_date_s;   /* 0 = not known */
    int64_t token_expires_s; /* of a token that was asked for; 0 = none was */
    bool begins_now;         /* it was just granted, by a clock that may not be ours; otherwise its times are those that
                              * were read */
};
void cfr_worker_publish(struct cfr_worker *w, const struct cfr_worker_granted *granted);
/* What was granted at ISSUED_S stands at all targets, though it may not be on record. */
void cfr_worker_publish_found(struct cfr_worker *w, int64_t issued_s);

/* worker_keep.c */
/* The credential is served, and there is no good grant in memory. */
bool cfr_worker_must_keep(const struct cfr_worker *w);
/* Moves GRANT, which lives LIFE_MS from now, into memory where it is to be served. PUBLISHED: its identity may be in
 * the record by now. Unless it REPLACES what is there, however long that lives, it only takes the place of what ends
 * sooner. */
void cfr_worker_keep(struct cfr_worker *w, struct cfr_grant *grant, int64_t life_ms, bool published, bool replaces);
void cfr_worker_drop_kept(struct cfr_worker *w);
/* After whatever may have changed what is served, and once a minute: wipes what has expired or is not wanted any more,
 * and makes an exchange due where something is missing. */
void cfr_worker_review_kept(struct cfr_worker *w);

#endif
