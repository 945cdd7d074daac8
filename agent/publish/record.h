/* SPDX-License-Identifier: MIT */
/* Record of a credential that survives restarts: one small document in the state directory, without secrets.
 *
 * Loading and saving block on disk. A record owns its heap members. No callbacks. Errors: those of files/state.h,
 * CFR_E_ANSWER, CFR_E_NOMEM. The document is at most CFR_STATE_MAX bytes. */
#ifndef CFR_AGENT_PUBLISH_RECORD_H
#define CFR_AGENT_PUBLISH_RECORD_H

#include "agent/loop/slow_write.h"
#include "agent/publish/render.h"
#include "files/file.h"

#define CFR_PUBLISH_RECORD_REASONS_MAX 64

/* Zero-initialised is empty; heap members are freed by cfr_publish_record_free. */
struct cfr_publish_record {
    uint64_t generation; /* last published, 0 = none */
    int64_t issued_ms;   /* wall clock of this machine */
    int64_t expires_ms;  /* INT64_MAX = never */
    int64_t last_success_s;
    int64_t retire_ms;        /* wall clock; when the previous generation is wiped, 0 = nothing to wipe */
    uint64_t digest_material; /* of the configuration it was made by */
    int64_t token_issued_s;
    int64_t token_expires_s;
    uint64_t token_mark; /* fingerprint of the token: 64 bits, FNV-1a, from which it cannot be restored */
    char *identity;
    struct cfr_publish_minted *key; /* that is published, with its id; NULL = it is no such key, or not known */
    /* Lists with room for what was asked of cfr_publish_record_fit, which owns them: most credentials have one target.
     */
    struct cfr_file_fingerprint *targets; /* as each was published; zero: not known */
    size_t target_count;
    uint64_t *rendered;  /* hash of what each target was given in this run, 0 = not known; not kept */
    uint64_t *delivered; /* generation that each Secret of the cluster holds, in configuration order */
    size_t delivered_count;
    uint64_t run;        /* of the agent that wrote one of them last; 0 = not known */
    uint64_t *hook_done; /* generation each hook last succeeded for */
    size_t hook_count;
    uint64_t *acknowledged; /* generation that each consumer has in use */
    size_t acknowledged_count;
    struct cfr_publish_record_room {
        uint16_t targets; /* of TARGETS, RENDERED and DELIVERED */
        uint16_t hooks;
        uint16_t consumers; /* of ACKNOWLEDGED */
    } room;
    int64_t published_ns; /* when the generation was published, by the clock of the file system; 0 = not known */
    uint64_t digest;      /* of the configuration, see there: marks of other hooks mean nothing */
    char *pending_reason; /* a rotation that was accepted and is not done yet */
    char **reasons;       /* already used, oldest first */
    size_t reason_count;
    char **made; /* ids of the rotated keys that this agent created, or confirmed with their secret; oldest first */
    size_t made_count;
};

void cfr_publish_record_free(struct cfr_publish_record *r);
/* Makes room in the lists for at least that many; what is new is zero. R may be zero-initialised. CFR_E_NOMEM: as it
 * was.
 */
int cfr_publish_record_fit(struct cfr_publish_record *r, struct cfr_publish_record_room room, struct cfr_err *err);
/* NAME.json below STATE_FD. CFR_E_MISSING if there is none; CFR_E_ANSWER if it cannot be understood. */
int cfr_publish_record_load(int state_fd, const char *name, struct cfr_publish_record *out, struct cfr_err *err);
/* CFR_SLOW_WRITE_UNDER_WAY, CFR_E_TIMEOUT: see agent/loop/slow_write.h. */
int cfr_publish_record_save(struct cfr_slow_write *s, int state_fd, const char *name,
                            const struct cfr_publish_record *r, struct cfr_err *err);
/* MINTED is the key that is published now; NULL: it is no such key. CFR_E_NOMEM: none is known then. */
int cfr_publish_record_set_key(struct cfr_publish_record *r, const struct cfr_publish_minted *minted,
                               struct cfr_err *err);
/* The key ID is one of those, or the published one. */
bool cfr_publish_record_has_made(const struct cfr_publish_record *r, const char *id);
/* Remembers it, forgetting the oldest beyond the limit. CFR_E_NOMEM. */
int cfr_publish_record_add_made(struct cfr_publish_record *r, const char *id, struct cfr_err *err);
bool cfr_publish_record_has_reason(const struct cfr_publish_record *r, const char *reason);
/* Remembers REASON as used, forgetting the oldest beyond the limit. CFR_E_NOMEM. */
int cfr_publish_record_add_reason(struct cfr_publish_record *r, const char *reason, struct cfr_err *err);
/* Takes back the last cfr_publish_record_add_reason. */
void cfr_publish_record_drop_reason(struct cfr_publish_record *r);

#endif
