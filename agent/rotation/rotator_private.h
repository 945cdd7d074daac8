/* SPDX-License-Identifier: MIT */
/* What the minter's parts share: minter.c (its life and its steps), minter_outcome.c (what came of requests),
 * minter_calls.c (requests), minter_store.c (what is written down). Private to them. */
#ifndef CFR_AGENT_ROTATION_ROTATOR_PRIVATE_H
#define CFR_AGENT_ROTATION_ROTATOR_PRIVATE_H

#include "agent/rotation/rotator.h"
#include "agent/rotation/verify_private.h"
#include "rotation/rotation.h"

/* A key whose secret is not published yet. */
struct cfr_minter_seal {
    char name[CFR_MINT_NAME_MAX];
    struct cfr_mint_key key;
    struct cfr_grant grant;
    bool held;   /* in memory */
    bool stored; /* on disk, too */
};

struct cfr_minter_wish {
    cfr_exchange_fn *done; /* NULL = there is none */
    void *ctx;
    bool wanted;
};

/* The request under way. */
struct cfr_minter_call {
    enum cfr_mint_op op;
    char id[CFR_MINT_ID_MAX];
    size_t place;
    unsigned pages;
    struct cfr_mint_request request;
    struct cfr_mint_answer answer; /* of the pages so far */
    void *handle;                  /* NULL = none is under way; a trial may be */
    struct cfr_trial *trial;       /* for VERIFY, where that is an exchange; NULL = none is under way */
};

struct cfr_minter {
    struct cfr_minter_world world;
    const struct cfr_config_credential *config;
    const struct cfr_mint_provider *provider;
    const void *provider_config;
    struct cfr_mint_rotation r;
    struct cfr_minter_seal seal;
    struct cfr_minter_wish wish;
    struct cfr_minter_call call;
    struct cfr_err broken; /* the journal cannot be used; code 0 = it can */
    bool unsaved;          /* the journal is ahead of the disk */
    bool running;          /* a few frames up */
    bool failed;           /* the last attempt */
    unsigned patience;     /* looks in a row at which `with` had nothing to offer */
    unsigned failures;     /* in a row, of whatever has no wish to tell */
    int64_t retry_boot_ms; /* not before then */
    int64_t deadline_boot_ms;
    int64_t published_boot_ms; /* 0 = not by this run */
    char words[CFR_MINT_WORDS_MAX];
    struct cfr_err error; /* of the last thing that went wrong and was not made good */
    double duration_s;
    uint64_t rotations; /* done by this run */
    uint64_t undone;
};

/* minter.c: goes on as far as it can now. */
void cfr_minter_run(struct cfr_minter *m);
/* Gives the wish, which is there, its result. */
void cfr_minter_finish(struct cfr_minter *m, struct cfr_exchange_result *result);

/* minter_outcome.c */
/* Something went wrong. Tells the wish where that waits for it, else tries again later. RETRY_AFTER_S is -1
 * if the server did not say. */
void cfr_minter_trouble(struct cfr_minter *m, const struct cfr_err *err, int64_t retry_after_s);
/* The same, for what the journal has taken into account: nothing is tried again. */
void cfr_minter_tell(struct cfr_minter *m, const struct cfr_err *err, int64_t retry_after_s);

/* minter_calls.c: starts the request for OP; ID as in struct cfr_mint_ask. */
int cfr_minter_call(struct cfr_minter *m, enum cfr_mint_op op, const char *id, struct cfr_err *err);
void cfr_minter_hang_up(struct cfr_minter *m);
bool cfr_minter_is_calling(const struct cfr_minter *m);
/* What came of it; rc 0, or an error with err set. STATUS 0: no answer came. */
struct cfr_minter_outcome {
    int rc;
    struct cfr_err err;
    long status;
    int64_t retry_after_s;
};
/* minter_outcome.c */
void cfr_minter_on_outcome(struct cfr_minter *m, struct cfr_minter_outcome *o);

/* minter_store.c */
int cfr_minter_load(struct cfr_minter *m, struct cfr_err *err);
int cfr_minter_save_journal(struct cfr_minter *m, struct cfr_err *err);
int cfr_minter_save_seal(struct cfr_minter *m, struct cfr_err *err);
/* Wipes it, in memory and on disk. */
int cfr_minter_drop_seal(struct cfr_minter *m, struct cfr_err *err);
void cfr_minter_free_seal(struct cfr_minter_seal *seal);
int cfr_minter_copy_grant(const struct cfr_grant *from, struct cfr_grant *to, struct cfr_err *err);

#endif
