/* SPDX-License-Identifier: MIT */
/* Publisher: all file work at the targets of one credential, and what is known of them.
 *
 * Where a path is ours and its file system is memory, work is done at once. What may wait for a disk, a server or a
 * lock, and what leads through another user's directory, is done in a child (agent/loop/errand.h), a target at a time:
 * with that user's rights, so that a link which they plant leads nowhere where they could not write themselves. Thus no
 * function here blocks on a file system that does not answer, as far as the kernel's table of mounts shows it. What is
 * published to the cluster is handed to agent/publish/secret_target.h.
 *
 * A publisher borrows its configuration and its crew for life. DONE is called from any function of a publisher of the
 * same crew, when work has ended or has had its turn, and does no more than to have cfr_publisher_deadline asked, and
 * cfr_publisher_finish called later. Errors are those of files/ and of the formats, with the path; CFR_E_TIMEOUT for a
 * file system that does not answer. What was published stays at every target that failed. */
#ifndef CFR_AGENT_PUBLISH_PUBLISHER_H
#define CFR_AGENT_PUBLISH_PUBLISHER_H

#include "agent/publish/targets.h"

#define CFR_PUBLISHER_TIME_MS      10000 /* that work at one target may take */
#define CFR_PUBLISHER_CHILDREN_MAX 64    /* at a time, with those that wait for something slow */

struct cfr_publisher;

/* All publishers of an agent: how many children they have. Zero-initialised. */
struct cfr_publisher_crew {
    unsigned working;
    unsigned children;                                /* with those that wait for something slow */
    unsigned slow;                                    /* those alone */
    unsigned slow_mounts[CFR_PUBLISHER_CHILDREN_MAX]; /* what they wait for */
    unsigned waiting;                                 /* publishers in the queue */
    struct cfr_publisher *first;
    struct cfr_publisher *last;
};

/* True while so many wait for their turn that nothing more should be granted before they have had it; never while a
 * file system is slow, which must hold up nobody else. */
bool cfr_publisher_is_crowded(const struct cfr_publisher_crew *crew);
/* True if no child is under way and none is waited for. */
bool cfr_publisher_is_idle(const struct cfr_publisher_crew *crew);

typedef void cfr_publisher_fn(void *ctx);

/* What is to be done at each target; several at once, in this order. */
enum cfr_publisher_work {
    CFR_PUBLISHER_RECOVER = 1, /* remove what a crash has left */
    CFR_PUBLISHER_PUBLISH = 2,
    CFR_PUBLISHER_RETIRE = 4,  /* wipe the previous generation */
    CFR_PUBLISHER_FORGET = 16, /* remove the previous values of a rotated key, see cfr_publisher_may_forget */
    CFR_PUBLISHER_LOOK = 8,    /* what is there; after the others in any case */
};

/* What became of work. */
struct cfr_publisher_outcome {
    unsigned work;
    size_t done;        /* targets at which all was well */
    size_t failed;      /* the others; each keeps what it had */
    bool changed;       /* something was written, or handed to the cluster */
    struct cfr_err err; /* of the first that failed */
};

/* CFR_E_NOMEM. */
int cfr_publisher_open(const struct cfr_config_credential *c, struct cfr_publisher_crew *crew, cfr_publisher_fn *done,
                       void *ctx, struct cfr_publisher **out, struct cfr_err *err);
/* Ends what is under way, as a kill would. NULL is allowed. */
void cfr_publisher_close(struct cfr_publisher *p);
/* C has the same targets. Work under way goes on with it; what its job is rendered from is the caller's to rebind. */
void cfr_publisher_rebind(struct cfr_publisher *p, const struct cfr_config_credential *c);

/* As cfr_publish_watch. Renames that P makes in this process are not reported to WATCHER; those of its children are. */
int cfr_publisher_watch(struct cfr_publisher *p, struct cfr_watch *watch, void *watcher, struct cfr_err *err);

/* Begins WORK, none being under way; every file of every target is rendered first, so that a grant that does not fit
 * one of them changes nothing. JOB is needed with CFR_PUBLISHER_PUBLISH, and its grant, of a rotated key, until it is
 * finished; RECORD says what was published last. 0 if all is done; 1 if DONE will be called; or an error, and nothing
 * was begun. After 0 and after DONE comes cfr_publisher_finish. */
int cfr_publisher_start(struct cfr_publisher *p, unsigned work, const struct cfr_publish_job *job,
                        const struct cfr_publish_record *record, struct cfr_err *err);
/* A child has ended, or a deadline has come. */
void cfr_publisher_step(struct cfr_publisher *p, struct cfr_now now);
int64_t cfr_publisher_deadline(const struct cfr_publisher *p);
/* Between start and finish. */
bool cfr_publisher_is_busy(const struct cfr_publisher *p);
/* All is done, and waits for finish. */
bool cfr_publisher_has_ended(const struct cfr_publisher *p);
/* Ends the work: brings the marks in RECORD up to date, if it published. */
void cfr_publisher_finish(struct cfr_publisher *p, struct cfr_publish_record *record,
                          struct cfr_publisher_outcome *out);

/* True if a target may only be looked at in a child: the functions below then know what the last work saw. */
bool cfr_publisher_is_remote(const struct cfr_publisher *p);
/* 0 if all targets on this machine are as RECORD remembers them; else why not. */
int cfr_publisher_verify(const struct cfr_publisher *p, const struct cfr_publish_record *record, struct cfr_err *err);
/* The same after a publish that failed: a target that it did not reach only has to hold something complete, and one
 * that it did may be ahead of RECORD. */
int cfr_publisher_verify_left(const struct cfr_publisher *p, const struct cfr_publish_record *record,
                              struct cfr_err *err);
/* What is at the targets is what RECORD is of, though an earlier run did not write that down. */
void cfr_publisher_found(struct cfr_publisher *p, struct cfr_publish_record *record);
/* True if every target holds the long-lived key ID: directories say so themselves, the others by RECORD. */
bool cfr_publisher_holds_key(const struct cfr_publisher *p, const struct cfr_publish_record *record, const char *id);
/* True if all targets are as RECORD remembers them, so that their files may be removed in place. RECORD then remembers
 * no marks of the targets: it is saved before the work, after which it has those that result. */
bool cfr_publisher_may_forget(const struct cfr_publisher *p, struct cfr_publish_record *record);
/* True if a target holds any long-lived key that was made, though an earlier run may not be on record. Only directories
 * know. */
bool cfr_publisher_holds_made_key(const struct cfr_publisher *p);
/* The highest generation found in any target directory; 0 if there is none. */
uint64_t cfr_publisher_newest(const struct cfr_publisher *p);
/* When the newest of the targets on this machine was published, in nanoseconds by the clock of its file system, as the
 * last work or cfr_publisher_found saw it; 0 if there is none. */
int64_t cfr_publisher_time_ns(const struct cfr_publisher *p);

#endif
