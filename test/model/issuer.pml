/* SPDX-License-Identifier: MIT */
/* The rotation of an issuer's key (oidc/issuer/issuer.h, oidc/store.c), with a crash between any two writes.
 *
 * What is modelled: the tool, which is run again and again and may die after each write; the signer, which follows the signing
 * key's file in its own time; a verifier, which keeps the key set that it read for a while; and tokens, which are in use until
 * they expire. The times that the tool waits for are modelled by what they are to guarantee: that everybody has read the key set
 * once more, that the signer uses the new key, that the old one's tokens have expired.
 *
 * What is claimed: each token in use is known to the verifier; the key in the signing key's file is published; nothing is left
 * over when a rotation has ended; and each rotation ends, if the crashes do.
 *
 * With STORE the documents that verifiers read are those of an object store, which has the first key's from the beginning (the
 * issuer of a running cluster) and is written by a step of its own, `publish`, with a record of it in the journal.
 *
 * BREAK_... take one precaution away each; the test sees that the model notices. */

#define ROTATIONS 2
#define CRASHES   3
#define NONE      7
#define BIT(key)  (1 << (key))

mtype = { BEGINNING, STEADY, PUBLISHING, PUBLISHED, SWITCHING, SWITCHED, RETIRING };

/* The journal: every write of it is one step. */
mtype phase = BEGINNING;
byte signing = 0;
byte other = NONE;
bool confirmed = false;
byte rotations = 0;

/* The files. */
#ifdef STORE
byte jwks = BIT(0); /* in the store, a set */
byte document = 0;  /* on disk */
byte uploaded = 0;  /* the journal's record of the store */
#else
byte jwks = 0; /* a set */
#endif
byte file = NONE;

/* The world. */
byte loaded = NONE; /* what the signer signs with */
byte cache = 0;     /* what the verifier has read: a set, empty before it needed it */
byte live = 0;      /* whose tokens are in use: a set */
bool unread = false; /* the verifier has not read the key set since the tool began to wait for that */

byte crashes = 0;
bool running = false;

#define PUBLIC ((phase == BEGINNING || phase == STEADY || phase == RETIRING) -> BIT(signing) : (BIT(signing) | BIT(other)))
#define KNOWN(key) ((cache & BIT(key)) || (cache == 0 && (jwks & BIT(key))))
#define USED(key) ((live & BIT(key)) != 0)

#define MAY_DIE \
    if \
    :: true \
    :: crashes < CRASHES -> crashes++; goto dead \
    fi

inline write_jwks()
{
#ifdef STORE
    document = PUBLIC;
#else
    jwks = PUBLIC;
#endif
    MAY_DIE
}

inline write_file()
{
    file = signing;
    MAY_DIE
}

inline wait_for_readers()
{
    unread = true
}

#ifdef STORE
/* It is recorded only after it is done, and the time of the readers begins then. */
inline publish()
{
    jwks = document;
    MAY_DIE
    d_step {
        if
        :: uploaded != document -> uploaded = document; wait_for_readers()
        :: else
        fi
    }
    MAY_DIE
}
#define UPLOADED (uploaded == PUBLIC)
#else
#define UPLOADED true
#endif

/* Every file holds what it is to hold, and the intention is done. */
inline settle()
{
#ifdef BREAK_ORDER
    write_file();
    write_jwks();
#else
    write_jwks();
    write_file();
#endif
    d_step {
        if
        :: phase == BEGINNING -> phase = STEADY
        :: phase == PUBLISHING -> phase = PUBLISHED;
#ifndef BREAK_SINCE
            wait_for_readers()
#endif
        :: phase == SWITCHING -> phase = SWITCHED; confirmed = false
        :: phase == RETIRING -> phase = STEADY; other = NONE; rotations++
        :: else
        fi
    }
    MAY_DIE
}

/* The next intention, where it is time for it. */
inline next()
{
    d_step {
        if
        :: phase == STEADY && rotations < ROTATIONS -> other = rotations + 1; phase = PUBLISHING;
#ifdef BREAK_SINCE
            wait_for_readers() /* too early: nothing is published yet */
#endif
#ifdef BREAK_SETTLE
        :: phase == PUBLISHED ->
#else
#ifdef BREAK_UPLOAD
        :: phase == PUBLISHED && !unread ->
#else
        :: phase == PUBLISHED && UPLOADED && !unread ->
#endif
#endif
            byte before;
            before = signing; signing = other; other = before; phase = SWITCHING
        :: phase == SWITCHED && !confirmed && loaded == signing -> confirmed = true
#ifdef BREAK_CONFIRM
        :: phase == SWITCHED && !USED(other) -> phase = RETIRING
#else
#ifdef BREAK_RETIRE
        :: phase == SWITCHED && confirmed -> phase = RETIRING
#else
        :: phase == SWITCHED && confirmed && !USED(other) -> phase = RETIRING
#endif
#endif
        :: else
        fi
    }
    MAY_DIE
}

active proctype Tool()
{
    do
    :: running = true;
        settle();
        next();
        settle();
#ifdef STORE
        publish();
#endif
        running = false;
        assert(phase != STEADY || (other == NONE && jwks == BIT(signing) && file == signing));
        if
        :: phase == STEADY && rotations == ROTATIONS -> break
        :: else
        fi;
        skip;
        goto again;
    dead:
        running = false;
    again:
        skip
    od
}

active proctype Signer()
{
    do
    :: loaded != NONE && !USED(loaded) -> live = live | BIT(loaded)
    od
}

active proctype Reload()
{
    do
    :: loaded != file -> loaded = file
    od
}

active proctype Verifier()
{
    do
    :: jwks != 0 && (cache != jwks || unread) -> atomic { cache = jwks; unread = false }
    od
}

/* One for each key, because each token expires, whatever the others do. */
active [ROTATIONS + 1] proctype Expiry()
{
    byte key = _pid - 4;

    do
    :: USED(key) -> live = live & ~BIT(key)
    od
}

ltl known { [] ((!USED(0) || KNOWN(0)) && (!USED(1) || KNOWN(1)) && (!USED(2) || KNOWN(2))) }
ltl published { [] (file == NONE || (jwks & BIT(file)) != 0) }
ltl ends { <> (rotations == ROTATIONS && phase == STEADY) }
