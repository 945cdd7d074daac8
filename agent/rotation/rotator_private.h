/* SPDX-License-Identifier: MIT */
/* What the rotator's files share: rotator_open.c (opening and closing), rotator.c (steps), rotator_view.c (what others
 * ask), rotator_result.c (results of requests), rotator_request.c (requests), rotator_clock.c (time), rotator_adopt.c
 * (keys that other programs created), rotator_confirm.c (the key that is about to be published), rotator_store.c
 * (journal and pending secret on disk), shared.c (the same in a Secret of the cluster, for several agents),
 * rotator_pending.c (the latter's text). Private to them. */
#ifndef CFR_AGENT_ROTATION_ROTATOR_PRIVATE_H
#define CFR_AGENT_ROTATION_ROTATOR_PRIVATE_H

#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "agent/loop/slow_write.h"
#include "agent/rotation/rotator_use_private.h"
#include "agent/rotation/verify_private.h"
#include "rotation/rotation.h"

/* A key whose secret is not published yet. */
struct cfr_rotator_pending {
    char name[CFR_ROTATION_NAME_MAX];
    struct cfr_rotation_key key;
    struct cfr_grant grant;
    bool held;      /* in memory */
    bool stored;    /* on disk, too */
    bool confirmed; /* by the cloud, for the publish that follows */
};

/* A key that the cloud must confirm before it is published. */
struct cfr_rotator_confirmation {
    struct cfr_rotator_pending *key;
    char id[CFR_ROTATION_ID_MAX];      /* its id; "" = none */
    struct cfr_rotation_answer answer; /* what was recognized in its secret */
    bool listed;                       /* the cloud's list has it as an active one */
    int64_t listed_from_s;             /* from then on a list without it counts */
    int64_t list_boot_ms;              /* not listed again before then */
    char refused[CFR_ROTATION_ID_MAX]; /* the key that the cloud refused for certain */
};

/* What is being written in state_dir. */
struct cfr_rotator_files {
    struct cfr_slow_write journal;
    struct cfr_slow_write pending;
    int64_t look_boot_ms; /* when it is looked at; 0 = nothing is under way */
    unsigned unasked;     /* how often it was looked at in vain */
};

/* A key that is to be adopted. */
struct cfr_rotator_adoption {
    enum { CFR_ADOPTION_NEW, CFR_ADOPTION_UNDER_WAY, CFR_ADOPTION_READ, CFR_ADOPTION_DONE } state;
    struct cfr_rotation_found found;   /* READ */
    struct cfr_rotation_answer answer; /* DONE: what was recognized; no grant: there is none */
    struct cfr_err err;                /* READ: code 0 = it was found */
};

struct cfr_rotator_waiter {
    cfr_source_exchange_fn *done; /* NULL = there is none */
    void *ctx;
    bool wanted;
    bool lost; /* nothing is published any more */
};

/* The key that the waiter was given, or that was reported to it as published. */
struct cfr_rotator_given {
    char id[CFR_ROTATION_ID_MAX]; /* "" = none */
    int64_t minted_s;
    uint64_t number;
    uint64_t journal;
    bool adopted;
};

/* The request in progress, and what is known of the last one. */
struct cfr_rotator_call {
    enum cfr_rotation_op op;
    char id[CFR_ROTATION_ID_MAX];
    const char *owner; /* NULL = the configured subject */
    /* Of the key that this run requested last, if no other agent has requested one since. */
    char asked_name[CFR_ROTATION_NAME_MAX];
    char account[CFR_ROTATION_ACCOUNT_MAX]; /* that the last LIST was asked of; "" = not known */
    bool former;                            /* the key is one of a former owner */
    bool confirming;                        /* it is the one that is about to be published */
    size_t place;
    size_t right; /* how many of the rights that are being tried were found; only while `rights` */
    bool rights;  /* they are being tried */
    unsigned pages;
    struct cfr_wire_request request;
    struct cfr_rotation_answer answer; /* of the pages so far */
    void *handle;                      /* NULL = none is under way; a trial may be */
    struct cfr_trial *trial;           /* for VERIFY, where that is an exchange; NULL = none is under way */
};

struct cfr_rotator;

/* How many times in a row `with` may have nothing to offer before that counts as a failure. */
#define CFR_ROTATOR_OFFER_RETRIES 8

/* Where something went wrong, beside the operations of the cloud. */
enum cfr_rotator_place {
    CFR_ROTATOR_AT_STORE = -1,   /* the journal or the pending secret could not be written */
    CFR_ROTATOR_AT_START = -2,   /* a request could not be begun */
    CFR_ROTATOR_AT_CONFIRM = -3, /* the cloud did not confirm the key that was to be published */
};

/* It is under way. Of a store's save_journal cfr_rotator_saved follows; all others are to be called again, after a step
 * of the store. */
#define CFR_ROTATOR_UNDER_WAY CFR_SLOW_WRITE_UNDER_WAY

/* Where the journal and the pending secret are kept. Functions that can fail return 0 or an error. */
struct cfr_rotator_store {
    /* Reads what an earlier run left into the journal and the pending secret, at once or later. */
    int (*load)(struct cfr_rotator *m, struct cfr_err *err);
    int (*save_journal)(struct cfr_rotator *m, struct cfr_err *err);
    int (*save_pending)(struct cfr_rotator *m, struct cfr_err *err);
    /* Wipes it, in memory and where it is kept. */
    int (*drop_pending)(struct cfr_rotator *m, struct cfr_err *err);

    void (*close)(struct cfr_rotator *m);
    /* Does what is due of itself, also while a request to the cloud is under way. */
    void (*step)(struct cfr_rotator *m);
    int64_t (*deadline)(struct cfr_rotator *m); /* of that, boot time */
    /* True if this agent goes on with the rotation; else the waiter is given what there is for it. */
    bool (*may_go_on)(struct cfr_rotator *m);
    /* Nobody else goes on with it at this moment, so that something may be changed in the cloud. */
    bool (*may_change)(const struct cfr_rotator *m);
    /* Another key than the one that this agent publishes is the published one. */
    bool (*lags)(struct cfr_rotator *m);
    /* A waiter has come. AGAIN: what this agent publishes is lost to it. True if its secret is not available any more.
     */
    bool (*start)(struct cfr_rotator *m, bool again);
    /* What was given is published. True if it is the new key, whose step is this agent's to take. */
    bool (*published)(struct cfr_rotator *m);
};

struct cfr_rotator_shared; /* agent/rotation/shared_private.h */

/* Where the journal stands against its store. */
struct cfr_rotator_save {
    bool unsaved; /* it is ahead of the store, and of what is being saved */
    bool saving;  /* a save is in progress */
    bool moved;   /* the owner is another one than in the store */
};

/* The last attempt. */
struct cfr_rotator_attempt {
    bool failed;
    bool may_not;       /* it was refused because `with` lacks a right */
    bool found_refused; /* the key was found refused, and no start has followed yet */
};

/* The last error that is not resolved yet. */
struct cfr_rotator_error {
    struct cfr_err err; /* code 0 = there is none */
    int at;             /* an operation, or enum cfr_rotator_place */
    enum cfr_rotation_step step;
    struct cfr_backoff backoff; /* after failures for which there is no waiter */
    struct cfr_log_once logged;
    int64_t retry_boot_ms; /* not before then */
};

/* What is logged once. */
struct cfr_rotator_log {
    struct cfr_log_once lookup; /* lookups of the key that failed */
    bool room_warned;           /* that the next rotation lacks room */
};

/* Texts for status. */
struct cfr_rotator_words {
    char wait[CFR_ROTATION_WORDS_MAX];
    char former[2 * CFR_ROTATION_SUBJECT_MAX]; /* why a former owner's key remains; "" = none does */
    char aside[2 * CFR_ROTATION_SUBJECT_MAX];  /* the same of a key of ours that is set aside */
    char refused[2 * CFR_ROTATION_ID_MAX + CFR_ROTATION_SUBJECT_MAX + 160]; /* that the published key is */
    const char *put_aside[CFR_ROTATION_ASIDE_MAX];
};

/* Since the agent started. */
struct cfr_rotator_stats {
    double duration_s; /* of the requests since the last result */
    uint64_t completed;
    uint64_t undone;
};

struct cfr_rotator {
    struct cfr_rotator_context context;
    const struct cfr_rotator_store *store;
    struct cfr_rotator_shared *shared; /* of that store; NULL = it is this agent's alone */
    struct cfr_rotator_files files;    /* of the other one */
    const struct cfr_config_credential *config;
    const struct cfr_rotation_provider *provider;
    const void *provider_config;
    struct cfr_rotation_rotation r;
    struct cfr_rotator_save save;
    struct cfr_err broken; /* the journal cannot be used; code 0 = it can */
    struct cfr_rotator_pending pending;
    struct cfr_grant made; /* what was granted last, until its rotation is complete: answers must not repeat it */
    struct cfr_rotator_adoption adoption;
    struct cfr_rotator_confirmation confirm;
    struct cfr_rotator_waiter waiter;
    struct cfr_rotator_given given;
    struct cfr_rotator_call call;
    unsigned offer_retries; /* times in a row that `with` had nothing to offer */
    int64_t deadline_boot_ms;
    int64_t published_boot_ms; /* 0 = not by this run */
    struct cfr_rotator_attempt last;
    struct cfr_rotator_error error;
    struct cfr_rotator_log log;
    struct cfr_rotator_words words;
    struct cfr_rotator_stats stats;
};

/* rotator.c: goes on as far as it can now. */
void cfr_rotator_run(struct cfr_rotator *m);
/* Gives the waiter, which must be there, its result. */
void cfr_rotator_finish(struct cfr_rotator *m, struct cfr_source_exchange_result *result);

/* rotator_clock.c: the wall clock in seconds, for the rotation, whose times follow it. */
int64_t cfr_rotator_now_s(struct cfr_rotator *m);
/* rotator.c: what is seen at this moment. */
void cfr_rotator_facts(struct cfr_rotator *m, struct cfr_rotation_facts *out);
/* rotator.c: in the steps from which a rotation begins, if it is due. */
bool cfr_rotator_may_begin(const struct cfr_rotator *m);

/* rotator_result.c */
/* An error AT an operation or enum cfr_rotator_place. Reports it to the waiter if it waits for this, else
 * tries again later. RETRY_AFTER_S is -1 if the server did not say. */
void cfr_rotator_note_error(struct cfr_rotator *m, int at, const struct cfr_err *err, int64_t retry_after_s);
/* All went well AT it: the error there, or of an earlier step, is resolved. An error elsewhere remains, and its
 * pauses go on growing. */
void cfr_rotator_clear_error(struct cfr_rotator *m, int at);
/* The same, for what the journal has taken into account: nothing is tried again. */
void cfr_rotator_report(struct cfr_rotator *m, const struct cfr_err *err, int64_t retry_after_s);
/* The published key could not be looked up, which is no failure of the key: logs it once, and looks again later. */
void cfr_rotator_lookup_failed(struct cfr_rotator *m, const struct cfr_err *err);

/* rotator_request.c: starts the request for OP; ID as in struct cfr_rotation_ask. */
int cfr_rotator_call(struct cfr_rotator *m, enum cfr_rotation_op op, const char *id, struct cfr_err *err);
/* The same for the key that is about to be published. */
int cfr_rotator_call_to_confirm(struct cfr_rotator *m, enum cfr_rotation_op op, const char *id, struct cfr_err *err);
/* Tries the provider's rights, one after the other; the outcome is the first refusal, or that of the last. */
int cfr_rotator_try_rights(struct cfr_rotator *m, struct cfr_err *err);
/* Starts OP for the first of the former owners' keys; CFR_E_CONFIG if its owner cannot be asked. */
int cfr_rotator_call_former(struct cfr_rotator *m, enum cfr_rotation_op op, struct cfr_err *err);
/* It could not be retired: reports why. */
void cfr_rotator_former_failed(struct cfr_rotator *m, const struct cfr_err *err);
void cfr_rotator_hang_up(struct cfr_rotator *m);
bool cfr_rotator_is_calling(const struct cfr_rotator *m);
/* How long a request may take at most. */
int64_t cfr_rotator_request_limit_ms(const struct cfr_rotator *m);
/* What came of it; rc 0, or an error with err set. STATUS 0: no answer came. */
struct cfr_rotator_outcome {
    int rc;
    struct cfr_err err;
    long status;
    int64_t retry_after_s;
};
/* rotator_result.c */
void cfr_rotator_on_outcome(struct cfr_rotator *m, struct cfr_rotator_outcome *o);

/* rotator_admin.c: what the credential named `with` has, borrowed until the loop's next turn. CFR_E_UNAVAILABLE. */
int cfr_rotator_find_admin(const struct cfr_rotator *m, const struct cfr_grant **out, struct cfr_err *err);
/* The last list has a key of ours, so that its account is where our keys are: notes it, if none is noted. */
void cfr_rotator_note_account(struct cfr_rotator *m);
/* This agent has created the key ID, or has confirmed it with its secret, and may remove it some day. */
void cfr_rotator_note_own(struct cfr_rotator *m, const char *id);

/* rotator_confirm.c */
/* Prepares the confirmation of KEY, which was created at MADE_S, or continues it. An error: its secret is not that of
 * KEY, or `with` has nothing to offer (CFR_E_UNAVAILABLE). */
int cfr_rotator_begin_confirmation(struct cfr_rotator *m, struct cfr_rotator_pending *key, int64_t made_s,
                                   struct cfr_err *err);
/* What KEYS say of the key that is being confirmed: 0, an error, or 1: it may be too young for the list. */
int cfr_rotator_judge_listed(const struct cfr_rotator *m, const struct cfr_rotation_keys *keys, struct cfr_err *err);
/* KEY is about to change: what was found out about it so far does not count. */
void cfr_rotator_forget_confirmation(struct cfr_rotator *m);

/* rotator.c: true if KEY, which was created at MADE_S, may be published now. False: the cloud is being asked, and a
 * step follows; or the waiter, which must be there, has its error. */
bool cfr_rotator_is_confirmed(struct cfr_rotator *m, struct cfr_rotator_pending *key, int64_t made_s);
/* rotator_result.c: the key that is being confirmed is not published. CERTAIN: it does not help to ask again. */
void cfr_rotator_refuse_key(struct cfr_rotator *m, struct cfr_err *err, bool certain, int64_t retry_after_s);

/* rotator_adopt.c */
/* The newest key is one that another program made. */
bool cfr_rotator_has_adopted_name(const struct cfr_rotator *m);
/* Looks for the key that is to be adopted, if one is. 0: that is done; 1: it is under way; or an error. */
int cfr_rotator_find_key(struct cfr_rotator *m, struct cfr_err *err);
/* True if there is one; a step of the journal follows. */
bool cfr_rotator_has_found(const struct cfr_rotator *m);
/* Stores its secret as pending, and takes the step. CFR_ROTATOR_UNDER_WAY, or an error. */
int cfr_rotator_take(struct cfr_rotator *m, struct cfr_err *err);
void cfr_rotator_forget_found(struct cfr_rotator *m);

/* rotator.c: the save that was under way has ended; what it wrote down is certain only after 0. ERR is
 * empty then. */
void cfr_rotator_saved(struct cfr_rotator *m, int rc, const struct cfr_err *err);
/* rotator.c: writes the journal down, whether it has changed or not. */
void cfr_rotator_save(struct cfr_rotator *m);
/* rotator.c: reads what there is, also when what was broken may have been repaired. */
void cfr_rotator_load(struct cfr_rotator *m);
/* rotator.c: what an earlier run knew of another user's keys is not about these. It is written down when the first key
 * of the new owner is about to be made. */
void cfr_rotator_check_subject(struct cfr_rotator *m);

/* rotator_store.c: files in the state directory. */
extern const struct cfr_rotator_store cfr_rotator_file_store;
/* It has a journal of this credential. */
bool cfr_rotator_has_file(const struct cfr_rotator *m);

/* rotator_pending.c */
/* As it is kept: JSON. P and OUT may hold a part after an error. */
int cfr_rotator_pending_write(const struct cfr_rotator_pending *p, struct cfr_secret *out, struct cfr_err *err);
int cfr_rotator_pending_read(struct cfr_view text, struct cfr_rotator_pending *p, struct cfr_err *err);
void cfr_rotator_free_pending(struct cfr_rotator_pending *pending);
int cfr_rotator_copy_grant(const struct cfr_grant *from, struct cfr_grant *to, struct cfr_err *err);

#endif
