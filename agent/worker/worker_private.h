/* SPDX-License-Identifier: MIT */
/* What the worker's files share. They call each other in this order only: worker.c (life and status), worker_events.c
 * (events, the interpreter of the lifecycle, the acquire), worker_health.c, worker_publish.c, worker_producer.c
 * (sources that make what they grant), worker_source.c, worker_cache.c, worker_state.c (errors, record, timer),
 * worker_ack.c (consumers). */
#ifndef CFR_AGENT_WORKER_WORKER_PRIVATE_H
#define CFR_AGENT_WORKER_WORKER_PRIVATE_H

#include "agent/hook/hook.h"
#include "agent/loop/file_watcher.h"
#include "agent/loop/log_once.h"
#include "agent/publish/record.h"
#include "agent/publish/render.h"
#include "agent/publish/secret_target.h"
#include "agent/source/exchange.h"
#include "agent/source/inputs.h"
#include "agent/source/source.h"
#include "agent/worker/lifecycle_private.h"
#include "agent/worker/trouble_private.h"
#include "agent/worker/worker.h"
#include "base/log.h"

struct cfr_worker_ack;

/* The subject token as last read. */
struct cfr_worker_token {
    int64_t issued_s;
    int64_t expires_s;
    uint64_t mark;           /* of the inputs, see agent/source/inputs.h */
    int64_t overdue_boot_ms; /* when it should have been replaced at the latest */
    bool overdue;
    bool sub_path;
    bool requested; /* the last one was requested from the API server */
    bool missing;   /* the last request did not bring one */
    bool used_last; /* it is overdue, and was exchanged once more before it expires */
    bool refused;   /* the API server gave none in place of the overdue one, which is used while it is good */
};

/* What the exchange begins with, as it was just read. */
struct cfr_worker_inputs {
    struct cfr_source_inputs source;
    struct cfr_err err;
    int64_t wait_ms; /* until it may become usable by itself, -1 if not known */
    int rc;          /* 0, or an error with err set */
};

/* A publish that is under way: what follows from it. */
struct cfr_worker_plan {
    bool begun;      /* otherwise it waits for the end of other work at the targets */
    bool token_only; /* a new token with the last session */
    bool known;      /* what was published before was as on record */
    uint64_t generation;
    struct cfr_now now;
    int64_t life_ms;
    int64_t session_ms;     /* token_only: when the last session expires, by the wall clock */
    int64_t token_issued_s; /* token_only: of the token, and its mark */
    int64_t token_expires_s;
    uint64_t token_mark;
    int64_t expires_ms;
};

/* What was granted, and where it comes from. */
struct cfr_worker_granted {
    struct cfr_grant grant;
    struct cfr_source_inputs inputs; /* what the exchange began with; empty without one */
    struct cfr_publish_from from;    /* borrows from INPUTS and MINTED */
    struct cfr_publish_minted minted;
    int64_t server_date_s;  /* 0 = not known */
    int64_t token_issued_s; /* of a token that was requested; 0 = none was */
    int64_t token_expires_s;
    bool begins_now; /* it was just granted, by a clock that may not be ours; otherwise its times are those that
                      * were read */
    bool again;      /* it was published before, but not at every target */
    bool recorded;   /* and it is on record, because some target has it */
    struct cfr_worker_plan plan;
};

struct cfr_worker {
    struct cfr_task task; /* all that is due at some time */
    struct cfr_host *host;
    const struct cfr_config_credential *config;
    const struct cfr_source_ops *source;
    const struct cfr_sts_provider *provider; /* of what was last read; NULL = nothing is exchanged */
    bool found_final;                        /* what was last read is published as it is */
    struct cfr_lifecycle life;
    struct cfr_publish_record record;
    struct cfr_slow_write saving;
    struct cfr_log_once save_error;
    int64_t save_boot_ms; /* the record is being saved, and looked at then; INT64_MAX = it is not */
    struct cfr_worker_token token;
    struct cfr_exchange *exchange;
    void *production; /* of the source's producer; NULL = it has none */
    struct cfr_hooks *hooks;
    struct cfr_delivery *delivery;     /* NULL: no target in the cluster */
    struct cfr_worker_ack *ack;        /* NULL: no consumer acknowledges */
    struct cfr_watcher source_watcher; /* of everything that an exchange begins with */
    struct cfr_watcher target_watcher; /* of the directories that it is published to */
    struct cfr_watcher ca_watcher;     /* of the files that servers are verified by */
    struct cfr_fair_queue_entry turn;
    struct cfr_worker_inputs *inputs; /* owned; read by the event that is being handled; NULL: the acquire reads */
    struct cfr_worker_granted
        *granted;                    /* owned; from GRANTED, or a FAILED exchange, until it is published; else NULL */
    struct cfr_worker_granted *held; /* owned; what one of the targets could not take yet; NULL = none */
    struct cfr_publisher *targets;
    bool publishing;     /* GRANTED is being published, or waits for that */
    bool starting;       /* the targets are looked at before anything else */
    bool recover;        /* what a crash may have left at the targets is still there */
    bool acquire_after;  /* an acquire waits for the end of a child, at the targets or of the service CA */
    bool news;           /* a hook, a delivery, a consumer or the producer has something for the timer to look at */
    bool rotate_wanted;  /* a rotation was asked for, and no exchange since */
    bool forced;         /* the exchange under way is for that */
    bool known;          /* what is published is what the record says: this run published it, and it was not touched */
    bool first_delivery; /* nothing was delivered to the cluster before */
    bool replace;        /* the configuration changed: shorter lives are welcome */
    double spread;
    int64_t retire_boot_ms;
    int64_t forget_boot_ms; /* when the previous values of a rotated key are removed; INT64_MAX = they are not there, or
                               are still in use */
    bool forgotten;         /* they were, by this run */
    int64_t
        look_boot_ms;    /* when the source is looked at again, such as one that could not be read; INT64_MAX = never */
    unsigned looks;      /* how often it was */
    bool unwatched;      /* no event tells of all its changes */
    bool was_ready;      /* when its health was noted last */
    bool source_missing; /* the mounted Secret that is copied was removed */
    bool polled;         /* that look is for this, and nothing has announced a change */
    uint64_t token_used; /* mark of the inputs that the exchange under way, or the last one, used */
    uint64_t token_alone;         /* mark of the inputs whose token was published without their exchange; 0 = none */
    bool lost;                    /* what was published is not there, or not as it was */
    int64_t restore_boot_ms;      /* after that a loss is dealt with at once, until then once a minute */
    struct cfr_worker_kept *kept; /* the last grant, where it is served; NULL = none */
    bool wanted;                  /* a client asked for it, though the configuration names none */
    char *watched;                /* the token's path that a mounted Secret names, as it is watched now; NULL = none */
    char *warning;                /* of the API server, with the last token that it gave; NULL = none */
    char *note;                   /* the last note about a mounted Secret; NULL = none */
    struct cfr_log_once last_error;
    struct cfr_trouble trouble;
    struct cfr_log_once token_error; /* of cfr_worker_publish_token */
    char *error;                     /* in words; NULL = none */
    int error_code;
    int64_t error_s;
    char *last_reason;
    bool skew_known;
    int64_t skew_s; /* the server's clock less ours, when it last answered an exchange */
    uint64_t exchanges_ok;
    uint64_t exchanges_failed[CFR_CLASS_COUNT];
    struct cfr_api_status_histogram duration;
    struct cfr_api_history history;
};

/* worker.c */
/* What has to wait until the targets have been looked at. */
void cfr_worker_begin(struct cfr_worker *w);

/* worker_acquire.c */
/* Looks at the source and goes on from what it holds: SENT, GRANTED or ADOPT; FAILED; NONE where a turn, or work at the
 * targets, has to be waited for. */
enum cfr_event cfr_worker_acquire(struct cfr_worker *w);

/* worker_events.c */
/* Gives the lifecycle EVENT and does what it says, until nothing follows; then sets the timer. Called by what the loop
 * calls, never by an action. CFR_EVENT_NONE sets the timer alone. */
void cfr_worker_feed(struct cfr_worker *w, enum cfr_event event);
void cfr_worker_run(struct cfr_task *task);
/* Callbacks; CTX is the worker. */
void cfr_worker_on_targets(void *ctx);
void cfr_worker_on_acknowledged(void *ctx);
void cfr_worker_on_source_changed(void *ctx);
void cfr_worker_on_targets_changed(void *ctx);
void cfr_worker_on_ca_changed(void *ctx);
cfr_hook_fn cfr_worker_on_hook;
cfr_publish_secret_fn cfr_worker_on_delivered;

/* worker_health.c */
/* Notes in the history how the credential is now, and for the host whether readiness may have changed: after each
 * event, once a minute, and when the history is shown. */
void cfr_worker_note_health(struct cfr_worker *w);

/* worker_publish.c */
/* Publishes w->granted. Returns PUBLISHED, SAME or FAILED; NONE where that takes its time, with w->publishing. */
enum cfr_event cfr_worker_publish(struct cfr_worker *w);
/* The publish under way has ended: what follows from it. PUBLISHED, SAME, FAILED, or NONE of a token alone. */
enum cfr_event cfr_worker_publish_ended(struct cfr_worker *w);
/* What could not be published everywhere, if it is still what the inputs with MARK lead to, moves to w->granted. True
 * if it did. */
bool cfr_worker_publish_again(struct cfr_worker *w, uint64_t mark);
void cfr_worker_drop_granted(struct cfr_worker_granted **granted);
/* The exchange failed, and w->granted holds the inputs that it began with: publishes their token, if it is new, with
 * the last session. */
void cfr_worker_publish_token(struct cfr_worker *w);
/* What was granted at ISSUED_S is published at all targets, though it may not be on record. PUBLISHED or SAME. */
enum cfr_event cfr_worker_publish_found(struct cfr_worker *w, const struct cfr_publish_minted *minted);

/* worker_producer.c: without a producer all but the first two do nothing */
int cfr_worker_producer_open(struct cfr_worker *w, struct cfr_err *err);
/* Has the producer do its work. DONE is called once, by a step of it, unless it is cancelled. */
void cfr_worker_produce(struct cfr_worker *w, cfr_source_exchange_fn *done);
/* Takes the result: GRANTED, PUBLISHED, SAME or FAILED. */
enum cfr_event cfr_worker_producer_collect(struct cfr_worker *w, struct cfr_source_exchange_result *result);
void cfr_worker_producer_cancel(struct cfr_worker *w);
void cfr_worker_producer_close(struct cfr_worker *w);
/* w->config was replaced. */
void cfr_worker_producer_rebind(struct cfr_worker *w);
void cfr_worker_producer_abandon(const struct cfr_worker *w);
/* Plans the next start. True if what is published is good until then, and none is in progress; FRESH without a
 * producer. */
bool cfr_worker_producer_adopt(struct cfr_worker *w, struct cfr_now now, bool fresh);
/* Does what is due, and plans a start that the producer calls for. */
void cfr_worker_producer_step(struct cfr_worker *w);
/* The generation on record is published, and is on disk. */
void cfr_worker_producer_published(struct cfr_worker *w);
bool cfr_worker_producer_resume(struct cfr_worker *w, const struct cfr_kube_where *where);
int cfr_worker_producer_may_request(const struct cfr_worker *w, struct cfr_err *err);
void cfr_worker_producer_request(struct cfr_worker *w);
struct cfr_source_report cfr_worker_producer_report(const struct cfr_worker *w);
void cfr_worker_producer_status(const struct cfr_worker *w, struct cfr_api_status_credential *out);

/* worker_source.c */
/* What W's source needs. */
struct cfr_source_env cfr_worker_source_env(const struct cfr_worker *w);
/* Reads what the exchange begins with. The caller frees r->source. */
void cfr_worker_read(struct cfr_worker *w, struct cfr_worker_inputs *r);
/* Remembers, and logs, what M says of the token's file (its times, whether it was replaced at last), and of the request
 * that takes its place. */
void cfr_worker_note_token(struct cfr_worker *w, const struct cfr_source_inputs *m);
/* Remembers, and logs if it is new, what the API server said with a token; NULL: no token was requested. */
void cfr_worker_note_warning(struct cfr_worker *w, const char *warning);
void cfr_worker_note_request(struct cfr_worker *w, const struct cfr_source_inputs *m);

/* worker_cache.c */
/* The configuration has the credential served, and there is no good grant in memory. */
bool cfr_worker_lacks_served(const struct cfr_worker *w);
/* The same, also where only a client asked for it. */
bool cfr_worker_must_keep(const struct cfr_worker *w);
/* The source of W could not be read for RC: where the Secret is gone that authorises rotations, its keys are forgotten
 * at once. */
void cfr_worker_forget_admin(struct cfr_worker *w, int rc);
/* Moves GRANT, which lives LIFE_MS from now (SESSION_MS without the token that it came with), into memory where it is
 * to be served, or published with a new token. PUBLISHED: its identity may be in
 * the record by now. Unless it REPLACES what is there, however long that lives, it only takes the place of what ends
 * sooner. */
void cfr_worker_keep(struct cfr_worker *w, struct cfr_grant *grant, int64_t life_ms, int64_t session_ms, bool published,
                     bool replaces);
void cfr_worker_drop_kept(struct cfr_worker *w);
/* Puts TOKEN into the grant in memory, if that is one to publish a new token with, and lends it in *OUT (else NULL).
 * Returns when the session in it expires, by the wall clock, or an error. */
int64_t cfr_worker_kept_with_token(struct cfr_worker *w, struct cfr_view token, const struct cfr_grant **out,
                                   struct cfr_err *err);
/* Wipes that token from the grant again, unless it is served. */
void cfr_worker_kept_published(struct cfr_worker *w);
/* After whatever may have changed what is served, and once a minute: wipes what has expired or is not wanted any more,
 * and makes an exchange due where something is missing. */
void cfr_worker_review_kept(struct cfr_worker *w);

/* worker_state.c */
int64_t cfr_worker_window_ms(const struct cfr_worker *w);
struct cfr_refresh_jitter cfr_worker_jitter(const struct cfr_worker *w);
/* Everything is published in the cluster, so that hooks have to wait for it to be there. */
bool cfr_worker_hooks_wait(const struct cfr_worker *w);
/* What names the present publish to the hooks. */
void cfr_worker_set_issued(struct cfr_worker *w);
/* Sets the timer by all deadlines. Only cfr_worker_feed and cfr_worker_wake need it. */
void cfr_worker_rearm(struct cfr_worker *w);
/* For callbacks, which may run within an action: the timer looks at everything in the loop's next turn. */
void cfr_worker_wake(struct cfr_worker *w);
/* Writes the record. CFR_SLOW_WRITE_UNDER_WAY, CFR_E_TIMEOUT: it is written by and by (agent/loop/slow_write.h). */
int cfr_worker_write_record(struct cfr_worker *w, struct cfr_err *err);
/* The same; a failure is logged, and no reason to stop. */
void cfr_worker_save(struct cfr_worker *w);
/* The fields of a log line about W; CODE is the error's, 0 = none. */
struct cfr_log_fields cfr_worker_log_fields(const struct cfr_worker *w, int code);
/* It was renewed, or what was wrong is right: forgets the error, and says so if it has lasted. */
void cfr_worker_clear_error(struct cfr_worker *w);
/* Logs what is to be said by now of an error that lasts. */
void cfr_worker_report_trouble(struct cfr_worker *w);
/* Logs an error in STATE once: the same one again is only logged for debugging. */
void cfr_worker_note_error(struct cfr_worker *w, const struct cfr_err *err, enum cfr_state state, int64_t retry_ms);
/* An attempt failed: plans the next one and logs the error. RETRY_AFTER_S is -1 if the server did not say. Returns
 * FAILED. */
enum cfr_event cfr_worker_fail(struct cfr_worker *w, const struct cfr_err *err, int64_t retry_after_s);

/* worker_ack.c */
/* Finds the consumers that acknowledge, and what is on record of them; CHANGED is called with W when one of their files
 * changes. With w->hooks, before they are restored. CFR_E_NOMEM. */
int cfr_worker_ack_open(struct cfr_worker *w, void (*changed)(void *ctx), struct cfr_err *err);
void cfr_worker_ack_close(struct cfr_worker *w);
/* Watches the files. */
void cfr_worker_ack_watch(struct cfr_worker *w);
/* The generation on record is published; before it is saved. */
void cfr_worker_ack_published(struct cfr_worker *w);
/* Reads the files; takes what hooks were answered. True if the record is to be saved. */
bool cfr_worker_ack_look(struct cfr_worker *w);
bool cfr_worker_ack_hooks(struct cfr_worker *w);
/* Does what is due: another look, a warning. True if the record is to be saved. */
bool cfr_worker_ack_step(struct cfr_worker *w, struct cfr_now now);
/* Puts what is known into the record. */
void cfr_worker_ack_record(struct cfr_worker *w);
int64_t cfr_worker_ack_deadline(const struct cfr_worker *w);
/* Boot time at which the previous generation may go, INT64_MAX if there is none. */
int64_t cfr_worker_ack_retire_at(const struct cfr_worker *w);
/* Every consumer that acknowledges uses what is published. */
bool cfr_worker_ack_all(const struct cfr_worker *w);
/* It has gone: logs which consumers had not acknowledged. */
void cfr_worker_ack_retired(const struct cfr_worker *w);
void cfr_worker_ack_status(struct cfr_worker *w, struct cfr_now now, struct cfr_api_status_credential *out);

#endif
