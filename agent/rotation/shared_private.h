/* SPDX-License-Identifier: MIT */
/* The store of a rotation that several agents share: its journal in a Secret of the cluster. shared.c decides who goes
 * on with the rotation, shared_call.c reads and writes the Secret.
 *
 * Who wrote last is the holder. Each write needs the version that was read, so that two agents never go on from the
 * same step. At rest, whoever first writes the next step is the holder. While a rotation is under way the others
 * follow, and take over when the Secret has not changed for `takeover`, by their own boot clock since they saw it
 * change; the holder writes at each third of it, and begins no request that changes something at the cloud unless its
 * last write was sent a third ago or less, and a request ends within another third. What a holder still does when it
 * was stopped for longer, its successor finds as after a crash: it wrote the step down before. */
#ifndef CFR_AGENT_ROTATION_SHARED_PRIVATE_H
#define CFR_AGENT_ROTATION_SHARED_PRIVATE_H

#include "agent/kube/client.h"
#include "agent/kube/watch.h"
#include "agent/rotation/rotator_private.h"
#include "kube/shared_state.h"

struct cfr_rotator_shared {
    struct cfr_rotator *m;
    char *kubeconfig; /* as in the configuration; NULL where it has none */
    char *context;
    char *given_namespace;
    char *name;
    uint64_t mark;           /* hash of both */
    char namespace_name[64]; /* empty: not known yet */
    int64_t takeover_ms;
    char me[CFR_K8S_SHARED_NAME_MAX];
    char instance[32]; /* of this run: how its nonces begin */
    uint64_t writes;
    bool barred; /* the state directory has a journal of its own */

    struct cfr_kube_call *call;            /* a look, or a write while m->save.saving */
    char news[CFR_K8S_SHARED_VERSION_MAX]; /* the version that the watch has told of while a request was under way */
    bool claiming;                         /* the look is the one before taking over */
    bool writes_published;                 /* the write under way has the secret of the published key */
    struct cfr_kube_watch *watch;
    struct cfr_secret body;
    struct cfr_backoff backoff;
    struct cfr_log_once logged;

    bool known; /* it was read by this run */
    bool stale; /* what is in memory alone is to be forgotten: it is read before anything else */
    char version[CFR_K8S_SHARED_VERSION_MAX]; /* that was read or written last */
    enum cfr_rotation_step there;             /* its step then */
    enum cfr_rotation_step sending;           /* that of the write under way */
    uint64_t sending_rotation;
    uint64_t sending_number;
    char holder[CFR_K8S_SHARED_NAME_MAX];
    char nonce[CFR_K8S_SHARED_NONCE_MAX]; /* of the last write that was seen */
    int64_t silence_ms;                   /* how long its writer may be silent */
    bool pending_there;                   /* it has a pending secret */
    struct cfr_rotator_pending published; /* the published key, for followers */
    bool begun;                           /* it had a journal in this run */
    uint64_t rotation;                    /* the newest that it had in this run */
    uint64_t number;                      /* of the newest published key that it had */
    bool holds;
    bool owned;              /* the journal was seen to be one of the configured owner */
    int64_t changed_boot_ms; /* when another write of an agent was last seen */
    int64_t sent_boot_ms;    /* when our last write was sent that has arrived */
    int64_t sending_boot_ms;
    int64_t look_boot_ms;  /* when it is read next */
    int64_t retry_boot_ms; /* not taken over before then */
    int64_t write_boot_ms; /* not written before then */
    struct cfr_backoff write_backoff;
    struct cfr_err write_err;    /* why it is not known whether the write under way has arrived */
    int64_t write_retry_after_s; /* that came with it; -1 = none */

    bool again;                    /* what this agent publishes is lost to it */
    bool known_own;                /* `own` and `own_number` are up to date */
    char own[CFR_ROTATION_ID_MAX]; /* the key that this agent publishes */
    uint64_t own_number;           /* that this agent recorded for it; 0 = none */
    struct cfr_log_once older_log; /* that the journal is older than that key */
    bool wake;                     /* there is news for which a start is wanted */
};

/* Another agent goes on with the rotation that is under way. */
static inline bool cfr_rotator_shared_is_followed(const struct cfr_rotator_shared *s)
{
    return s->known && !s->holds && s->there != CFR_ROTATION_REST;
}

/* ---- shared_call.c ---- */

/* Reads the Secret; cfr_rotator_shared_read or _unread follows. */
void cfr_rotator_shared_look(struct cfr_rotator_shared *s);
/* Ends what is under way. */
void cfr_rotator_shared_hang_up(struct cfr_rotator_shared *s);
/* Of struct cfr_rotator_store; ends by cfr_rotator_shared_written, or by a look if it is not known whether it did. */
int cfr_rotator_shared_save_journal(struct cfr_rotator *m, struct cfr_err *err);
struct cfr_kube_where cfr_rotator_shared_where(const struct cfr_rotator_shared *s);
bool cfr_rotator_shared_is_own(const struct cfr_rotator_shared *s, const char *nonce);
/* STATE is what we wrote last. */
bool cfr_rotator_shared_is_untouched(const struct cfr_rotator_shared *s, const struct cfr_k8s_shared_state *state);
/* The nonce of our last write. */
void cfr_rotator_shared_last_nonce(const struct cfr_rotator_shared *s, char out[CFR_K8S_SHARED_NONCE_MAX]);
bool cfr_rotator_shared_is_last(const struct cfr_rotator_shared *s, const char *nonce);

/* ---- shared.c ---- */

/* S is at the Secret of C, or both are NULL; how long it may be silent is taken from C. */
bool cfr_rotator_shared_fits(struct cfr_rotator_shared *s, const struct cfr_config_mint_state *c);
/* Gives M this store. CFR_E_NOMEM. */
int cfr_rotator_shared_open(struct cfr_rotator *m, const struct cfr_config_mint_state *c, struct cfr_err *err);

/* STATE was read; what it holds may be moved out of it. */
void cfr_rotator_shared_read(struct cfr_rotator_shared *s, struct cfr_k8s_shared_state *state);
/* It could not be read. CERTAIN: it is not there, may not be read, or cannot be used, so that nothing may be done. */
void cfr_rotator_shared_unread(struct cfr_rotator_shared *s, const struct cfr_err *err, bool certain,
                               int64_t retry_after_s);
/* Our last write has arrived, as VERSION. */
void cfr_rotator_shared_written(struct cfr_rotator_shared *s, const char *version);
/* It has not, for certain. */
void cfr_rotator_shared_unwritten(struct cfr_rotator_shared *s, const struct cfr_err *err, int64_t retry_after_s);
/* Nothing is written for a while, longer with each failure in a row. */
void cfr_rotator_shared_pause_writes(struct cfr_rotator_shared *s, const struct cfr_err *err, int64_t retry_after_s);

#endif
