/* SPDX-License-Identifier: MIT */
/* An issuer of service-account tokens: its documents (OpenID Connect Discovery 1.0, RFC 7517), and the rotation of its
 * key in the only order that invalidates no token in use: both keys are published, then the signer is switched, and the
 * old key is retired when the last token that it signed has expired. Each step begins as an intention, which is stored;
 * then the files are written, and then the step is done, and its waiting time begins. Pure: time is a parameter, in
 * seconds of the wall clock. */
#ifndef CFR_OIDC_ISSUER_ISSUER_H
#define CFR_OIDC_ISSUER_ISSUER_H

#include "pki/jwks.h"
#include "pki/key.h"

#define CFR_OIDC_ISSUER_STORE_MAX    65536
#define CFR_OIDC_ISSUER_DOCUMENT_MAX 16384
/* How far a verifier's clock may be behind ours, and ours behind the journal's times. */
#define CFR_OIDC_ISSUER_LEEWAY_S 300
/* The path of the key set below the issuer's URL, and the longest one; CFR_JWKS_DISCOVERY is that of the other
 * document. */
#define CFR_OIDC_ISSUER_JWKS_PATH "openid/v1/jwks"
#define CFR_OIDC_ISSUER_PATH_MAX  200
/* How long the certificate of a key is valid. Nobody looks at its end: it lasts as long as the key at least. */
#define CFR_OIDC_ISSUER_CERTIFICATE_S INT64_C(315360000)

/* The steps, in their order. Those that end with -ing are intentions. */
#define CFR_OIDC_ISSUER_PHASE_LIST(X)                                                                                  \
    X(BEGINNING, "beginning")   /* the first key's documents are to be written */                                      \
    X(STEADY, "steady")         /* one key */                                                                          \
    X(PUBLISHING, "publishing") /* documents with the next key and the signing one are to be written */                \
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
    char kid[CFR_KEY_KID_MAX];     /* empty = none */
    char *public_pem;              /* heap */
    struct cfr_secret private_pem; /* empty for a key that no longer signs, and for one that the cluster keeps */
    char *certificate;             /* heap; its own, self-signed, PEM; NULL = none */
};

/* Zero-initialised is none. */
struct cfr_oidc_issuer {
    char *url;             /* heap; `iss` of the tokens, without a slash at its end */
    char *web_root;        /* heap; where the documents are written */
    char *jwks_path;       /* heap; of the key set, below URL and web_root; NULL = CFR_OIDC_ISSUER_JWKS_PATH */
    bool claims;           /* the discovery document has claims_supported, as ccoctl writes it */
    bool certified;        /* each key of the set has its certificate in x5c (RFC 7517, 4.7), for Ceph */
    bool cluster_key;      /* the cluster keeps the private keys; here are public ones, and no signing key's file */
    enum cfr_key_kind key; /* of new keys */
    int64_t token_life_s;  /* the longest of any token */
    int64_t settle_s;      /* how long after a publish all verifiers of tokens have read it */
    int64_t lag_s;      /* -1 where the cluster keeps the keys; how long signers use the old key after the switch of the
                           file; -1: until confirmed */
    char *store;        /* heap; where the documents are uploaded to, as users name it; NULL = nowhere */
    char *uploaded;     /* heap; the kids of the key set that is there, with blanks between them; NULL = none yet */
    int64_t uploaded_s; /* since when it is */
    enum cfr_oidc_issuer_phase phase;
    int64_t since_s;                    /* when PUBLISHED or SWITCHED was reached */
    int64_t confirmed_s;                /* in SWITCHED: all signers use the new key since; 0 = not known to */
    uint64_t rotations;                 /* finished ones */
    struct cfr_oidc_issuer_key signing; /* the present or next content of the signing key's file */
    struct cfr_oidc_issuer_key other;   /* up to PUBLISHED the next one, from SWITCHING on the one before */
};

const char *cfr_oidc_issuer_phase_name(enum cfr_oidc_issuer_phase phase);
/* CFR_E_CONFIG unless URL is https with neither query, fragment, user nor slash at its end. */
int cfr_oidc_issuer_check_url(const char *url, struct cfr_err *err);
/* CFR_E_CONFIG unless PATH is a relative path of plain characters, other than the discovery document's. */
int cfr_oidc_issuer_check_path(const char *path, struct cfr_err *err);
/* The path of the key set below the issuer's URL. */
const char *cfr_oidc_issuer_jwks_path(const struct cfr_oidc_issuer *issuer);
/* Makes the first key of ISSUER, whose settings the caller has set: BEGINNING. Not where the cluster keeps the keys. */
int cfr_oidc_issuer_begin(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err);
/* The same with the key PEM, of a running cluster: private (PKCS#1, PKCS#8 or SEC 1), or its public half where the
 * cluster keeps the private one. Sets the kind of later keys to that of PEM. CFR_E_CONFIG for anything but one key that
 * a token service takes. */
int cfr_oidc_issuer_begin_with(struct cfr_oidc_issuer *issuer, struct cfr_view pem, int64_t now_s, struct cfr_err *err);
/* True in a phase whose files are to be written, before cfr_oidc_issuer_done is called. */
bool cfr_oidc_issuer_is_intent(const struct cfr_oidc_issuer *issuer);
/* Enters the next step: from STEADY, PUBLISHED or SWITCHED. CFR_E_CONFLICT, saying from when it is allowed or what it
 * waits for, if it would invalidate tokens: of the new key that some verifiers do not know yet, or unexpired ones of
 * the old key. */
int cfr_oidc_issuer_next(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err);
/* From STEADY, where the cluster keeps the keys: the next one is PEM, public. CFR_E_CONFLICT in another phase, or if it
 * is the present one; CFR_E_CONFIG as for cfr_oidc_issuer_begin_with. */
int cfr_oidc_issuer_next_with(struct cfr_oidc_issuer *issuer, struct cfr_view pem, struct cfr_err *err);
/* After the completion of an interrupted step: CFR_E_CONFLICT if the key PEM is not the one of the rotation under way,
 * CFR_E_CONFIG if it is no key. */
int cfr_oidc_issuer_check_next(struct cfr_oidc_issuer *issuer, struct cfr_view pem, struct cfr_err *err);
/* The files of the intention are written, at NOW_S. */
void cfr_oidc_issuer_done(struct cfr_oidc_issuer *issuer, int64_t now_s);
/* Files of the phase were found missing or changed: the new key of PUBLISHED is not known to verifiers, whatever was
 * waited for, so it is PUBLISHING again. Other phases stay: to be stored before the files are written again. */
void cfr_oidc_issuer_set_lost(struct cfr_oidc_issuer *issuer);
/* In SWITCHED: all signers use the new key since NOW_S. A second time changes nothing. Where the cluster keeps the
 * keys, also in PUBLISHED, from which it leads to SWITCHED: the switch is the cluster's. CFR_E_CONFLICT in another
 * phase. */
int cfr_oidc_issuer_confirm(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err);
/* CFR_E_CONFLICT, with what to do, if a time of the journal is later than NOW_S by more than CFR_OIDC_ISSUER_LEEWAY_S:
 * the clock is behind, or was ahead then, and no waiting time can be told by it. */
int cfr_oidc_issuer_check_clock(const struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err);
/* Sets the times that are later than NOW_S, which is right, to it, so that waiting begins again. False if there are
 * none. */
bool cfr_oidc_issuer_recount(struct cfr_oidc_issuer *issuer, int64_t now_s);
/* When the next step is allowed: 0 = at once, -1 = not before another event (an upload, a confirmation, the
 * beginning of a rotation). */
int64_t cfr_oidc_issuer_ready_s(const struct cfr_oidc_issuer *issuer);

/* ---- documents in an object store: a key that is not uploaded there does not count as published ---- */

/* The documents go to STORE from now on: to be stored before the first upload. CFR_E_NOMEM. */
int cfr_oidc_issuer_set_store(struct cfr_oidc_issuer *issuer, const char *store, struct cfr_err *err);
/* The store has the documents of this phase since NOW_S, or, unless CHANGED, since it was last said so. CFR_E_NOMEM. */
int cfr_oidc_issuer_set_uploaded(struct cfr_oidc_issuer *issuer, bool changed, int64_t now_s, struct cfr_err *err);
/* In PUBLISHED: verifiers were seen to be shown something else than what was uploaded, so that the next upload counts
 * again. False if nothing changes: the new key did not count as uploaded, or another phase waits for nothing. */
bool cfr_oidc_issuer_set_not_uploaded(struct cfr_oidc_issuer *issuer);
/* True if the store has the keys of this phase, or there is no store. */
bool cfr_oidc_issuer_is_uploaded(const struct cfr_oidc_issuer *issuer);
/* True if FOUND, a key set or a key in PEM form, has a key that neither ISSUER nor BEFORE (may be NULL) knows: it may
 * be in tokens, which would be refused without it. A key of a set without a kid is unknown. Then its kid, or that it
 * has none, is appended to KID, as it may be shown. False for what is neither. */
bool cfr_oidc_issuer_finds_unknown(const struct cfr_oidc_issuer *issuer, const struct cfr_oidc_issuer *before,
                                   struct cfr_view found, struct cfr_str *kid);

/* Append the contents of the files in this phase; the same phase and keys give the same bytes. CFR_E_NOMEM. */
int cfr_oidc_issuer_jwks(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err);
int cfr_oidc_issuer_discovery(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err);
int cfr_oidc_issuer_public_keys(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err);

/* The journal: everything as one JSON document, private keys included. */
int cfr_oidc_issuer_store(const struct cfr_oidc_issuer *issuer, struct cfr_secret *out, struct cfr_err *err);
/* CFR_E_CONFIG if TEXT is not a journal. On error ISSUER is empty. */
int cfr_oidc_issuer_load(struct cfr_view text, struct cfr_oidc_issuer *issuer, struct cfr_err *err);
void cfr_oidc_issuer_free(struct cfr_oidc_issuer *issuer);

#endif
