/* SPDX-License-Identifier: MIT */
/* A certification authority whose CA is replaced without breaking trust. Its successive CAs have one subject and a new
 * key each. Each replacement (rotation) makes two kinds of bridges: the kept older CAs signed by the new key, for the
 * bundle that clients trust, and the new CA signed by the key before, for the chain of serving certificates. So every
 * issued certificate verifies with every bundle of the kept generations, older and newer. A rotation wipes the key that
 * it replaces. All CAs and bridges are valid from the first CA's beginning, so that a rotation under a wrong clock that
 * is corrected later breaks nothing. Pure: time is a parameter, in seconds of the wall clock. The caller owns the
 * struct and frees it with cfr_ca_free. */
#ifndef CFR_PKI_CA_H
#define CFR_PKI_CA_H

#include "pki/cert.h"
#include "pki/key.h"

#define CFR_CA_GENERATIONS_MAX 6
#define CFR_CA_REASONS_MAX     32
#define CFR_CA_REASON_MAX      128 /* bytes */
#define CFR_CA_SUBJECT_MAX     64
#define CFR_CA_STORE_MAX       65536

struct cfr_ca_rules {
    const char *subject; /* of the first CA; later ones keep it */
    enum cfr_key_kind key;
    int64_t validity_s;
    int64_t
        rotate_below_s; /* a CA with less left is replaced; also the minimum time that the replaced one stays trusted */
    size_t generations; /* maximum number of CAs in the bundle, 2 to CFR_CA_GENERATIONS_MAX */
    const char *force;  /* a reason to rotate at once; NULL = none */
    int64_t force_validity_s; /* of the CA that is made for it; 0 = validity_s */
    int64_t force_trust_s;    /* how long the CAs before it are trusted from then on; 0 = as after any rotation */
    struct cfr_secret *made;  /* a new key of KEY, moved out of; NULL = one is made here */
};

struct cfr_ca_generation {
    struct cfr_cert root;     /* signed by its own key */
    struct cfr_cert outgoing; /* its key, signed by the newest one; none for the newest */
    struct cfr_cert incoming; /* its key, signed by that of the CA before it; none for the first */
};

/* Zero-initialised is empty. */
struct cfr_ca {
    uint64_t number;                                              /* how many CAs there have been */
    char subject[CFR_CA_SUBJECT_MAX + 1];                         /* as it may be shown; that of the roots counts */
    int64_t made_s;                                               /* when the newest was */
    struct cfr_secret key;                                        /* PEM, of the newest */
    struct cfr_ca_generation generations[CFR_CA_GENERATIONS_MAX]; /* the newest first */
    size_t count;
    char *reason;                      /* heap; why the newest was made, NULL = it was due */
    char *reasons[CFR_CA_REASONS_MAX]; /* heap; used already, the oldest first */
    size_t reason_count;
};

enum cfr_ca_need {
    CFR_CA_NOTHING,
    CFR_CA_FIRST, /* there is none yet */
    CFR_CA_FORCED,
    CFR_CA_DUE
};

/* The rotation needed at NOW_S. A reason that was used already does not count. */
enum cfr_ca_need cfr_ca_need(const struct cfr_ca *a, const struct cfr_ca_rules *rules, int64_t now_s);
/* Whether a rotation was forced by REASON already, which forces no second one; LAST says whether it was the latest. */
bool cfr_ca_reason_is_used(const struct cfr_ca *a, const char *reason, bool *last);
/* When a rotation is due by age: when less than rules->rotate_below_s is left, but not before half of the CA's
 * lifetime, so that a short-lived CA is not replaced at once. One that was taken over is: its successor lives longer.
 */
int64_t cfr_ca_due_s(const struct cfr_ca *a, const struct cfr_ca_rules *rules);
/* The next time after NOW_S at which a rotation is due or the bundle changes. */
int64_t cfr_ca_next_s(const struct cfr_ca *a, const struct cfr_ca_rules *rules, int64_t now_s);
/* True if the CAs are not valid yet at NOW_S: the first was made under a clock that was ahead, or this clock is
 * behind. */
bool cfr_ca_is_ahead(const struct cfr_ca *a, int64_t now_s);
/* Makes the first CA, or replaces the newest. A forced rotation uses up its reason, also where one was due. On error A
 * is unchanged. The caller stores A before it publishes anything that depends on it. */
int cfr_ca_rotate(struct cfr_ca *a, const struct cfr_ca_rules *rules, int64_t now_s, struct cfr_err *err);
void cfr_ca_free(struct cfr_ca *a);
/* Moves FROM into TO (freed first). */
void cfr_ca_move(struct cfr_ca *to, struct cfr_ca *from);
int cfr_ca_copy(const struct cfr_ca *from, struct cfr_ca *to, struct cfr_err *err);

/* Appends everything as one JSON document, the private key included. CFR_E_LIMIT above CFR_CA_STORE_MAX. */
int cfr_ca_store(const struct cfr_ca *a, struct cfr_secret *out, struct cfr_err *err);
/* Reads such a document and checks that its parts belong together, down to the signatures. CFR_E_CONFIG. On error A is
 * empty. */
int cfr_ca_load(struct cfr_view text, struct cfr_ca *a, struct cfr_err *err);

#endif
