/* SPDX-License-Identifier: MIT */
/* An issuer of service-account tokens: its documents (OpenID Connect Discovery 1.0, RFC 7517), and the rotation of its
 * key in the only order that cuts off nobody: both keys are published, then the signer is switched, and the old key is
 * retired when the last token that it signed has expired. Each step is entered as an intention, which is written down;
 * then the files are written, and then it counts as done, from when on its time runs. Pure: time is a parameter, in
 * seconds of the wall clock. */
#ifndef CFR_PKI_OIDC_ISSUER_H
#define CFR_PKI_OIDC_ISSUER_H

#include "pki/key.h"

#define CFR_OIDC_ISSUER_STORE_MAX    65536
#define CFR_OIDC_ISSUER_DOCUMENT_MAX 16384
/* How far the clocks of those who check a token's expiry may be behind ours. */
#define CFR_OIDC_ISSUER_LEEWAY_S 300

/* The steps, in their order. Those that end with -ing are intentions. */
#define CFR_OIDC_ISSUER_PHASE_LIST(X)                                                                                  \
    X(BEGINNING, "beginning")   /* the first key's documents are to be written */                                      \
    X(STEADY, "steady")         /* one key */                                                                          \
    X(PUBLISHING, "publishing") /* documents with the next key beside the one that signs are to be written */          \
    X(PUBLISHED, "published")                                                                                          \
    X(SWITCHING, "switching") /* the file of the signing key is to become the next key */                              \
    X(SWITCHED, "switched")   /* tokens of the old key are still in use */                                             \
    X(RETIRING, "retiring")   /* documents without the old key are to be written */

enum cfr_oidc_issuer_phase {
#define X(name, text) CFR_OIDC_ISSUER_##name,
    CFR_OIDC_ISSUER_PHASE_LIST(X)
#undef X
        CFR_OIDC_ISSUER_PHASE_COUNT
};

struct cfr_oidc_issuer_key {
    char kid[CFR_KEY_KID_MAX];     /* empty = there is none */
    char *public_pem;              /* heap */
    struct cfr_secret private_pem; /* empty for one that does not sign any more */
};

/* Zero-initialised is none. */
struct cfr_oidc_issuer {
    char *url;             /* heap; `iss` of the tokens, without a slash at its end */
    char *web_root;        /* heap; where the documents are written */
    enum cfr_key_kind key; /* of new keys */
    int64_t token_life_s;  /* the longest of a token */
    int64_t settle_s;      /* how long after a publish everybody who verifies tokens has read it */
    int64_t lag_s; /* how long signers go on with the old key after the file was switched; -1: they are confirmed */
    enum cfr_oidc_issuer_phase phase;
    int64_t since_s;                    /* when PUBLISHED or SWITCHED was reached */
    int64_t confirmed_s;                /* in SWITCHED: all signers use the new key since; 0 = not known to */
    uint64_t rotations;                 /* finished ones */
    struct cfr_oidc_issuer_key signing; /* what the signing key's file holds, or is to hold */
    struct cfr_oidc_issuer_key other;   /* up to PUBLISHED the next one, from SWITCHING on the one before */
};

const char *cfr_oidc_issuer_phase_name(enum cfr_oidc_issuer_phase phase);
/* CFR_E_CONFIG unless URL is https with neither query, fragment, user nor slash at its end. */
int cfr_oidc_issuer_check_url(const char *url, struct cfr_err *err);
/* Makes the first key of ISSUER, whose settings the caller has set: BEGINNING. */
int cfr_oidc_issuer_begin(struct cfr_oidc_issuer *issuer, struct cfr_err *err);
/* True in a phase whose files are to be written, and then cfr_oidc_issuer_done is to be called. */
bool cfr_oidc_issuer_is_intent(const struct cfr_oidc_issuer *issuer);
/* Enters the next step: from STEADY, PUBLISHED or SWITCHED. CFR_E_CONFLICT, saying when it may be taken or what it
 * waits for, where it would cut off tokens: of the new key that not everybody knows yet, or of the old one that have
 * not expired. */
int cfr_oidc_issuer_next(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err);
/* The files of the intention stand at NOW_S. */
void cfr_oidc_issuer_done(struct cfr_oidc_issuer *issuer, int64_t now_s);
/* In SWITCHED: all signers use the new key since NOW_S. CFR_E_CONFLICT in another phase. A second time changes nothing.
 */
int cfr_oidc_issuer_confirm(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err);
/* When the next step may be taken: 0 = at once, -1 = not before something else has happened (a confirmation, the
 * beginning of a rotation). */
int64_t cfr_oidc_issuer_ready_s(const struct cfr_oidc_issuer *issuer);

/* What the files are to hold in this phase; the same phase and keys give the same bytes. CFR_E_NOMEM. */
int cfr_oidc_issuer_jwks(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err);
int cfr_oidc_issuer_discovery(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err);
int cfr_oidc_issuer_public_keys(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err);

/* The journal: everything as one JSON document, private keys included. */
int cfr_oidc_issuer_store(const struct cfr_oidc_issuer *issuer, struct cfr_secret *out, struct cfr_err *err);
/* CFR_E_CONFIG for what is none. On error ISSUER is empty. */
int cfr_oidc_issuer_load(struct cfr_view text, struct cfr_oidc_issuer *issuer, struct cfr_err *err);
void cfr_oidc_issuer_free(struct cfr_oidc_issuer *issuer);

#endif
