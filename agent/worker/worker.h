/* SPDX-License-Identifier: MIT */
/* Worker: keeps one credential fresh by feeding its lifecycle with events and doing what the lifecycle says.
 * Blocks on disk only. A worker borrows its configuration until cfr_worker_rebind or cfr_worker_close, and its host for
 * life. Functions are called from the loop, never from a callback of another worker; host.offer may be called from any
 * of them. Errors of the credential are logged and shown by cfr_worker_status; functions return what the caller has to
 * know. One exchange at a time for a worker; CFR_HOST_TURN_MS for a batch of workers. */
#ifndef CFR_AGENT_WORKER_WORKER_H
#define CFR_AGENT_WORKER_WORKER_H

#include "agent/config/config.h"
#include "agent/http/client.h"
#include "agent/kube/client.h"
#include "agent/kube/module.h"
#include "agent/loop/clock.h"
#include "agent/loop/fair_queue.h"
#include "agent/loop/loop.h"
#include "agent/publish/publisher.h"
#include "files/watch.h"
#include "serve/api/status.h"
#include "serve/sdk/endpoint.h"

#define CFR_HOST_TURN_MS 100 /* how long a batch of workers may hold the loop */

struct cfr_worker;
struct cfr_worker_kept; /* a grant in memory, see cfr_worker_take_kept */

/* What all workers share; owned by the agent. */
struct cfr_host {
    struct cfr_http *http;
    struct cfr_kube *kube;
    const struct cfr_module_slot *modules; /* NULL = none */
    struct cfr_watch *watch;               /* NULL: polling only */
    int state_fd;
    const struct cfr_config *config;
    bool (*offer)(void *ctx, const char *name,
                  struct cfr_offer *out); /* what the credential NAME has; false: there is none */
    void *offer_ctx;
    bool (*admin_needed)(void *ctx, const char *name);  /* a rotation needs what NAME has; CTX as of the former */
    void (*admin_changed)(void *ctx, const char *name); /* NAME, which is named by a `with`, has something new */
    unsigned hook_attempts;                             /* 0 = never give up */
    struct cfr_fair_queue turns;                        /* of workers, by provider */
    struct cfr_publisher_crew crew;
    bool draining;         /* the end is near: what is in progress continues, and nothing new begins */
    unsigned begun;        /* turns since memory was given back */
    struct cfr_task moved; /* a worker may have become ready, or not ready any more */
};

enum cfr_worker_outcome { CFR_WORKER_BUSY, CFR_WORKER_GOOD, CFR_WORKER_BAD };

/* ---- life ---- */

/* Makes a worker and reads what an earlier run left (record, published files); starts nothing. CFR_E_NOMEM. */
int cfr_worker_open(struct cfr_host *host, const struct cfr_config_credential *config, struct cfr_worker **out,
                    struct cfr_err *err);
/* Adopts what is still fresh, or makes the first try due. */
void cfr_worker_start(struct cfr_worker *w);
/* Watches W's source and targets, where its host had no watch when W was started, and looks at a source that could not
 * be used. */
void cfr_worker_watch(struct cfr_worker *w);
/* The credential NAME has something new to offer: a source that waits for that continues. */
void cfr_worker_dependency_changed(struct cfr_worker *w, const char *name);
/* What waits after a failure of a request to the API server WHERE, waits no longer. */
void cfr_worker_resume(struct cfr_worker *w, const struct cfr_kube_where *where);
/* The record is being written. */
bool cfr_worker_is_saving(const struct cfr_worker *w);
/* Goes on with writing the record, if that takes its time. True if it is written, or cannot be. */
bool cfr_worker_is_saved(struct cfr_worker *w);
/* Ends what is under way, without touching what is published, and frees W. */
void cfr_worker_close(struct cfr_worker *w);
/* The configuration was reloaded; CONFIG has the same digest_material. Replaces the hooks where they differ. */
int cfr_worker_rebind(struct cfr_worker *w, const struct cfr_config_credential *config, struct cfr_err *err);
/* Before a close for good: logs which long-lived keys are not rotated any more. */
void cfr_worker_abandon(const struct cfr_worker *w);

/* Takes what W has in memory for clients, NULL if there is nothing; and gives it to a successor that is granted the
 * same, so that clients are served until it has its own. KEPT may be NULL. */
struct cfr_worker_kept *cfr_worker_take_kept(struct cfr_worker *w);
void cfr_worker_give_kept(struct cfr_worker *w, struct cfr_worker_kept *kept);
void cfr_worker_free_kept(struct cfr_worker_kept *kept);
/* How W was over the last day, which a successor of the same name goes on with. */
struct cfr_api_history cfr_worker_history(const struct cfr_worker *w);
void cfr_worker_give_history(struct cfr_worker *w, const struct cfr_api_history *history);

/* ---- events from the loop ---- */

/* The source may have changed. */
void cfr_worker_on_source(struct cfr_worker *w);
/* The same at its next timer, for what concerns many workers at once: making a key for each of them would hold the loop
 * for too long. */
void cfr_worker_look_soon(struct cfr_worker *w);
/* A child process has ended; it may be W's hook, or write its files. */
void cfr_worker_on_child(struct cfr_worker *w);
/* The wall clock was set. */
void cfr_worker_on_clock(struct cfr_worker *w);
/* Once a minute: published files that were removed are published again, a lost deadline is planned again. */
void cfr_worker_on_tick(struct cfr_worker *w);
/* Gives turns to queued workers while there are any to give, for CFR_HOST_TURN_MS at most. */
void cfr_worker_serve_queue(struct cfr_host *host);
/* True if a turn could be given to a queued worker now. */
bool cfr_worker_queue_ready(const struct cfr_host *host);

/* Rotates now. REASON may be NULL or empty. CFR_E_USAGE if there is nothing to rotate, CFR_E_UNAVAILABLE
 * while the rotation's journal cannot be used, CFR_E_CONFLICT if this
 * reason was used before; other errors if it could not be recorded. A reason that is refused is not used up. *REPLACES
 * is the generation that will be replaced. */
int cfr_worker_rotate(struct cfr_worker *w, const char *reason, uint64_t *replaces, struct cfr_err *err);

/* ---- what it shows ---- */

/* What it can serve now: from memory, never waits. OUT borrows until the loop's next turn. Where nothing is in memory
 * an exchange is made due, if none is under way or planned. */
void cfr_worker_offer(struct cfr_worker *w, struct cfr_offer *out);
/* A command waits for it: as a client that cfr_worker_offer refuses, it brings a retry forward. */
void cfr_worker_want(struct cfr_worker *w);
const struct cfr_config_credential *cfr_worker_config(const struct cfr_worker *w);
const char *cfr_worker_state_name(const struct cfr_worker *w);
/* True if something that has not expired is published at every target, and in memory where an endpoint serves it. */
bool cfr_worker_is_ready(const struct cfr_worker *w);
/* It counts for readiness: it is required, and if it is there for rotations alone, one needs it now. */
bool cfr_worker_counts(const struct cfr_worker *w);
/* What W's source does next needs the credential NAME. */
bool cfr_worker_needs(const struct cfr_worker *w, const char *name);
/* Why it is not done, NULL if no error says so. Lives until the next event. */
const char *cfr_worker_error(const struct cfr_worker *w);
/* True while an exchange, work at the targets, a delivery or a hook is under way. */
bool cfr_worker_is_busy(const struct cfr_worker *w);
enum cfr_worker_outcome cfr_worker_outcome(const struct cfr_worker *w);
/* Strings live until the next event. */
void cfr_worker_status(struct cfr_worker *w, struct cfr_now now, struct cfr_api_status_credential *out);

#endif
