/* SPDX-License-Identifier: MIT */
/* The protocol by which one long-lived key takes the place of another: make before break. Pure: it decides
 * the next action from the journal and what was seen; the caller carries it out, reports, and writes the
 * journal whenever the protocol says so, before anything else. A crash at any point, and an answer that is lost
 * or late, leaves a journal from which the rotation goes on or is undone.
 *
 *   rest -> intent -> minted -> verified -> published -> retiring -> (inactive) -> deleting -> rest
 *              |        |  not usable in time   ^ |          |            |            |
 *              v        v                       | v          |            |            |
 *            lost <- undoing                 intent <--------+------------+------------+ the published key is gone,
 *                                                                                        or its secret is lost
 *
 *   rest -> verified   a key that another program created is adopted: it is listed, and was tried
 *
 * Where others may write the journal, a key is deactivated or deleted as one of ours only if the caller knows it as
 * such, or if the cloud's list has it under a name of ours. Any other is left as it is.
 *
 * The published key must be listed as active before the old one is deactivated, and again before it is deleted. If it
 * was deleted or deactivated meanwhile, the old one is kept, and another key is made from `published`; so it is, where
 * there is room, if what was published is lost. In `lost`, a key that may have been made is looked for: one that is
 * ours for certain is deleted, any other is deactivated and put aside. Where the owner has no keys of others, that one
 * is deleted later, unless an operator has activated it again. The published key remains.
 *
 * test/model/mint.pml is the same machine for spin; test_mint_rotation compares their steps. */
#ifndef CFR_ROTATION_ROTATION_H
#define CFR_ROTATION_ROTATION_H

#include "base/str.h"
#include "rotation/provider.h"

#define CFR_ROTATION_WORDS_MAX 512
/* How the text of a wait begins that time alone does not end. */
#define CFR_ROTATION_WAITS_ROOM     "room: "
#define CFR_ROTATION_WAITS_OPERATOR "an operator: "
#define CFR_ROTATION_SUBJECT_MAX    320 /* with its NUL */

#define CFR_ROTATION_ACCOUNT_MAX    128 /* with its NUL */

#define CFR_ROTATION_ASIDE_MAX      16

/* Each is written down before what it is named for is done. */
#define CFR_ROTATION_STEP_LIST(X)                                                                                      \
    X(REST, "rest")           /* nothing is under way */                                                               \
    X(INTENT, "intent")       /* a key is being made: it may exist or not */                                           \
    X(MINTED, "minted")       /* it exists, its secret is pending; whether it works is being tried */                  \
    X(VERIFIED, "verified")   /* it works, and is being published */                                                   \
    X(PUBLISHED, "published") /* it is published; the old one works on for the grace */                                \
    X(RETIRING, "retiring")   /* the old one is being deactivated */                                                   \
    X(INACTIVE, "inactive")   /* it is, and its last use is looked at */                                               \
    X(DELETING, "deleting")   /* it is being deleted */                                                                \
    X(UNDOING, "undoing")     /* the new one never worked, and is being deleted */                                     \
    X(LOST, "lost")           /* whether one was made is unknown: it is looked for */

enum cfr_rotation_step {
#define X(name, text) CFR_ROTATION_##name,
    CFR_ROTATION_STEP_LIST(X)
#undef X
        CFR_ROTATION_STEP_COUNT
};

/* A key that is put aside: deactivated, where the cloud can do that, so that its user can activate it again. */
struct cfr_rotation_aside {
    char id[CFR_ROTATION_ID_MAX];
    int64_t since_s;
    bool ours; /* it was published once, and is deleted in the end; any other may be another user's */
    bool lost; /* it may be the one whose answer was lost: the rules say whether it is deleted in the end */
};

/* A key of the owner that was configured before: it is removed once the present owner's is published and its grace is
 * over. */
#define CFR_ROTATION_FORMER_MAX 24
struct cfr_rotation_former {
    char subject[CFR_ROTATION_SUBJECT_MAX];
    char id[CFR_ROTATION_ID_MAX];
    int64_t off_s; /* when it was deactivated; 0 = it was not */
};

/* What the cloud's list says of the published key; certain once two lists in a row, with a pause between them, agree.
 */
enum cfr_rotation_key_state {
    CFR_ROTATION_KEY_UNKNOWN, /* not looked up by this run yet, or none is published */
    CFR_ROTATION_KEY_ACTIVE,
    CFR_ROTATION_KEY_DEACTIVATED,
    CFR_ROTATION_KEY_EXPIRED, /* its time was over; activating it does not help */
    CFR_ROTATION_KEY_DELETED,
};

/* What is written down; no secrets. Times are Unix seconds by this machine's wall clock. */
struct cfr_rotation_journal {
    enum cfr_rotation_step step;
    uint64_t rotation;                 /* counts; the present or last one */
    char name[CFR_ROTATION_NAME_MAX];  /* of the key that is, or was last, made */
    char current[CFR_ROTATION_ID_MAX]; /* that is published; "" = none yet */
    int64_t current_s;                 /* when it was minted */
    int64_t current_ends_s;            /* when it ends by itself; 0 = it does not */
    char minted[CFR_ROTATION_ID_MAX];  /* the new one, from MINTED to VERIFIED, in UNDOING, and in LOST after it */
    int64_t minted_s;
    int64_t minted_ends_s;
    char old[CFR_ROTATION_ID_MAX]; /* from PUBLISHED on, and while a key is made because the published one is gone; ""
                                      = there was none */
    char known[CFR_ROTATION_KEYS_MAX][CFR_ROTATION_ID_MAX]; /* keys that existed before INTENT: never ours to remove */
    size_t known_count;
    char maker[CFR_ROTATION_MAKER_MAX]; /* of the key that was last made, and so of a lost one; "" = not known */
    struct cfr_rotation_aside aside[CFR_ROTATION_ASIDE_MAX]; /* the oldest first */
    size_t aside_count;
    int64_t intent_s; /* when the last INTENT was written down */
    int64_t step_s;   /* when this step was */
    int64_t published_s;
    uint64_t generation;                    /* that the new key was published as */
    uint64_t published;                     /* how many keys were: the number of `current` */
    bool late_use;                          /* the old key was used in the second half of the grace */
    bool asked;                             /* the present or last rotation was begun on request */
    char subject[CFR_ROTATION_SUBJECT_MAX]; /* whose keys these are */
    char account[CFR_ROTATION_ACCOUNT_MAX]; /* where the last one was made, as the provider's `account` says; "" = not
                                               known */
    struct cfr_rotation_former former[CFR_ROTATION_FORMER_MAX];
    size_t former_count;
};

struct cfr_rotation_rules {
    int64_t expire_after_s;
    int64_t grace_s;       /* at least this long */
    int64_t grace_most_s;  /* and at most this long for consumers that do not acknowledge */
    int64_t verify_wait_s; /* after the last of the successes in a row */
    int64_t verify_most_s; /* a new key that is not accepted everywhere this long after it was tried first is undone,
                              and no sooner than a try that late: a stop of the program says nothing about the key */
    int64_t inactive_s;    /* a key that was used in the second half of the grace, or one of ours that is aside, stays
                              deactivated this long before it is deleted */
    int64_t settle_s; /* how long after INTENT a key whose answer was lost may still turn up; a key is not looked up
                         before it is that old */
    int64_t lookup_s; /* between lookups of the published key; 0 = an hour */
    bool replace;     /* a published key that was deleted or deactivated, or has expired, is replaced at once */
    bool keep_lost;   /* one that is aside because it may be a lost one is never deleted */
    double spread;    /* 0 to 1, stable for a credential: up to a tenth of expire_after earlier, and of the
                         time between lookups, so that fleets spread */
};

enum cfr_rotation_action {
    CFR_ROTATION_ACT_WAIT,    /* until `at_s`, or until a fact changes */
    CFR_ROTATION_ACT_LIST,    /* then cfr_rotation_listed */
    CFR_ROTATION_ACT_RIGHTS,  /* try the provider's `rights`; then cfr_rotation_permitted, or nothing after a refusal */
    CFR_ROTATION_ACT_TAKE,    /* the key `id` was found: store its secret (fsynced), then cfr_rotation_taken */
    CFR_ROTATION_ACT_CREATE,  /* then: store the answer (fsynced), cfr_rotation_made; or cfr_rotation_refused,
                             cfr_rotation_unknown */
    CFR_ROTATION_ACT_VERIFY,  /* one try in every place; then cfr_rotation_verified */
    CFR_ROTATION_ACT_PUBLISH, /* the pending secret; then cfr_rotation_published */
    CFR_ROTATION_ACT_ADOPT,   /* the new key is published already; then cfr_rotation_published */
    CFR_ROTATION_ACT_DEACTIVATE,        /* `id`; then cfr_rotation_deactivated */
    CFR_ROTATION_ACT_LAST_USED,         /* of `id`; then cfr_rotation_used */
    CFR_ROTATION_ACT_DELETE,            /* `id`; then cfr_rotation_deleted */
    CFR_ROTATION_ACT_DEACTIVATE_FORMER, /* `id` of the first of `former`; then cfr_rotation_former_retired, or _failed
                                         */
    CFR_ROTATION_ACT_DELETE_FORMER,
};

/* What is seen at this moment. */
struct cfr_rotation_facts {
    int64_t now_s;
    uint32_t chance; /* random: a part of the next name */
    bool wanted;     /* a rotation was asked for */
    bool lost;       /* nothing is published any more, and the secret of `current` is not available */
    bool alone;      /* nothing waits for a key: none is begun */
    bool pending;    /* a pending secret of journal->name is there */
    const char *pending_id;
    int64_t pending_ends_s;
    bool found;             /* a key that another program created is to be adopted, if none is published yet */
    const char *found_id;   /* "" = only its hint is known */
    const char *found_hint; /* how its secret begins */
    bool new_published;     /* what is published is the key journal->minted */
    int64_t grace_left_s;   /* by a clock that cannot be set, as far as that is known; 0 = none */
    bool used_by_all;       /* every consumer that acknowledges has `generation`, or there is none */
    uint64_t number;        /* that a published key has, as this agent recorded it: the next one is greater */
    bool refused;           /* the cloud refuses the key journal->minted for certain */
    /* True for a key ID that another proof than the journal shows to be ours. NULL: no other party writes the journal.
     */
    bool (*is_own)(void *ctx, const char *id);
    void *ctx;
};

struct cfr_rotation_todo {
    enum cfr_rotation_action action;
    const char *id;    /* within the journal */
    int64_t at_s;      /* WAIT; INT64_MAX = for an event only */
    bool drop_pending; /* remove the pending secret before the action: it is published, or was undone */
};

/* Why a key that was found is not adopted. */
enum cfr_rotation_unfit {
    CFR_ROTATION_FIT,
    CFR_ROTATION_UNFIT_UNLISTED,
    CFR_ROTATION_UNFIT_INACTIVE,
    CFR_ROTATION_UNFIT_EXPIRED,
    CFR_ROTATION_UNFIT_REFUSED,
};

struct cfr_rotation_rotation {
    const struct cfr_rotation_provider *provider;
    const char *credential; /* its name in the configuration, borrowed */
    struct cfr_rotation_rules rules;
    struct cfr_rotation_journal journal;
    /* Since the program began, or since this step did; not written down. */
    struct cfr_rotation_keys seen; /* by the last list */
    int64_t listed_s;              /* 0 = not in this step */
    int64_t try_s;                 /* not before then */
    unsigned successes;
    int64_t tried_s;    /* when the new key was tried first; 0 = not in this step, or by this run */
    int64_t verified_s; /* when it was tried last */
    int64_t search_s; /* when the settle of a lost key begins; 0 = at intent_s, unless another agent wrote that down by
                         its clock, or the clock was set since */
    bool clocked;     /* `ahead_s` is known */
    int64_t ahead_s;  /* the wall clock, of one that cannot be set */
    bool begun;       /* INTENT was written down by this run, and its CREATE was not reported on yet */
    bool judged;      /* the last use of the key in question is known */
    bool permitted;   /* the rights that a rotation needs were tried, since the last one began */
    int64_t former_try_s; /* a former owner's key is not tried again before then */
    int64_t aside_try_s;  /* nor is one that is aside */
    enum cfr_rotation_unfit unfit;
    char left[CFR_ROTATION_ID_MAX]; /* a key that the journal calls ours, which nothing proves: it is left as it is. The
                                       caller reports and clears it */
    unsigned others;                /* of the last list: keys that are neither ours nor aside */
    char other[CFR_ROTATION_ID_MAX]; /* one of them */
    enum cfr_rotation_key_state key_state;
    bool looking_up;                   /* the LIST under way is a lookup of the published key, and for nothing else */
    unsigned misses;                   /* lists in a row without the published key as an active one */
    int64_t looked_s;                  /* when it was looked up last; 0 = not by this run */
    int64_t look_pause_s;              /* until the next lookup */
    char suspect[CFR_ROTATION_ID_MAX]; /* in LOST: the key that the last use was asked of, or that is being removed or
                                          put aside; at REST: the one of those aside that is being retired, or the
                                          one that is being adopted */
};

/* The next action. It may change the journal: *SAVE is then true, the caller writes it down and asks again
 * before it does anything. */
void cfr_rotation_next(struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *facts, bool *save,
                       struct cfr_rotation_todo *out);

/* To be called whenever the wall clock is read, before anything else here that takes NOW_S: it is AHEAD_S ahead of a
 * clock that cannot be set. When it was set, all times follow it, so that nothing lasts shorter or longer for that.
 * When a run begins, times of the journal that are ahead of it begin again. True if the journal has changed; it is
 * right also if that is not written down. */
bool cfr_rotation_set_clock(struct cfr_rotation_rotation *r, int64_t now_s, int64_t ahead_s);

/* Reports of what came of an action. Each may change the journal, which is to be written down then (true). */
bool cfr_rotation_listed(struct cfr_rotation_rotation *r, const struct cfr_rotation_keys *keys, int64_t now_s);
/* A LIST for a lookup (looking_up) failed: says nothing about the key; another one follows in some minutes. */
void cfr_rotation_lookup_failed(struct cfr_rotation_rotation *r, int64_t now_s);
/* When the published key is looked up next, Unix seconds; INT64_MAX while there is none, or it is about to change. */
int64_t cfr_rotation_lookup_s(const struct cfr_rotation_rotation *r, int64_t now_s);
/* The published key is deleted, deactivated or expired for certain. */
bool cfr_rotation_is_refused(const struct cfr_rotation_rotation *r);
/* It is, and is to be replaced for that. */
bool cfr_rotation_must_replace(const struct cfr_rotation_rotation *r);
/* What KEYS, a list that was just made, say of the key ID: anything but UNKNOWN. */
enum cfr_rotation_key_state cfr_rotation_look_up(const struct cfr_rotation_keys *keys, const char *id);
/* "active", "deactivated", "expired", "deleted"; NULL for UNKNOWN. */
const char *cfr_rotation_key_state_name(enum cfr_rotation_key_state state);
/* What became of a key that is refused, to follow its name: "was deleted in the cloud", "has expired". */
const char *cfr_rotation_key_fate(enum cfr_rotation_key_state state);
/* The secret of the key that was found is stored, under NAME; the last list has the key. */
bool cfr_rotation_taken(struct cfr_rotation_rotation *r, const char *name, int64_t found_s, int64_t now_s);
/* The configured owner is SUBJECT now: another one's keys become former ones. True if they did. LEFT, which may be
 * NULL, is given the ids, with ", " between them, of those that stay as they are in the cloud and are not in the
 * journal any more: what may be another user's, and what there is no room for. */
bool cfr_rotation_change_owner(struct cfr_rotation_journal *j, const char *subject, struct cfr_str *left);
/* When the next key of a former owner is to be retired; INT64_MAX if there is none. */
int64_t cfr_rotation_former_due_s(const struct cfr_rotation_rotation *r);
bool cfr_rotation_former_retired(struct cfr_rotation_rotation *r, bool deleted, int64_t now_s);
/* It could not be, which is no failure of the rotation: after an hour the next one is tried, and it again after the
 * others. */
bool cfr_rotation_former_failed(struct cfr_rotation_rotation *r, int64_t now_s);
/* The same for a key of ours that is aside: the cloud refuses to deactivate or delete it. */
bool cfr_rotation_aside_failed(struct cfr_rotation_rotation *r, int64_t now_s);
/* The rights that a rotation needs are there. */
void cfr_rotation_permitted(struct cfr_rotation_rotation *r);
/* False for a key that was there before: such an answer is not one to our request. */
bool cfr_rotation_is_new(const struct cfr_rotation_rotation *r, const char *id);
bool cfr_rotation_made(struct cfr_rotation_rotation *r, const struct cfr_rotation_key *key, int64_t now_s);
bool cfr_rotation_refused(struct cfr_rotation_rotation *r, int64_t now_s); /* nothing was made for certain */
bool cfr_rotation_unknown(struct cfr_rotation_rotation *r, int64_t now_s); /* the answer is lost */
bool cfr_rotation_verified(struct cfr_rotation_rotation *r, bool everywhere, int64_t now_s);
bool cfr_rotation_published(struct cfr_rotation_rotation *r, uint64_t generation, int64_t now_s);
bool cfr_rotation_deactivated(struct cfr_rotation_rotation *r, int64_t now_s);
bool cfr_rotation_used(struct cfr_rotation_rotation *r, int64_t used_s, int64_t now_s);
bool cfr_rotation_deleted(struct cfr_rotation_rotation *r, int64_t now_s);

/* By the last list, keys that are not ours take the room that the next rotation needs. */
bool cfr_rotation_lacks_room(const struct cfr_rotation_rotation *r);
/* By the last list the cloud has no room for another key. */
bool cfr_rotation_is_full(const struct cfr_rotation_rotation *r);
/* When the next rotation is due, Unix seconds; 0 = now, because nothing is published. */
int64_t cfr_rotation_due_s(const struct cfr_rotation_journal *j, const struct cfr_rotation_rules *rules);
/* As it is written down: "published". */
const char *cfr_rotation_step_name(enum cfr_rotation_step step);
/* UPDATE_IN_PROGRESS, UPDATE_COMPLETE or UPDATE_FAILED; FAILED: the last attempt failed. */
const char *cfr_rotation_state(const struct cfr_rotation_journal *j, bool failed);
/* What is waited for, in words, for status; "" = nothing. */
/* Seconds for which the old key is still kept at least; 0 or less if its grace period is over or there is none. */
int64_t cfr_rotation_grace_left_s(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *facts);
void cfr_rotation_words(const struct cfr_rotation_rotation *r, const struct cfr_rotation_facts *facts,
                        char out[CFR_ROTATION_WORDS_MAX]);

/* The journal as JSON, and back. CFR_E_ANSWER if it cannot be understood, so that nothing is done on a guess.
 */
int cfr_rotation_journal_write(const struct cfr_rotation_journal *j, struct cfr_str *out);
int cfr_rotation_journal_read(struct cfr_view text, struct cfr_rotation_journal *out, struct cfr_err *err);

#endif
