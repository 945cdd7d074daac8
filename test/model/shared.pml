/* SPDX-License-Identifier: MIT */
/* A rotation that two agents share (rotation/rotation.c with its journal in a Secret), for spin. Each agent may stop at any
 * point for any time, and go on as if nothing had been.
 *
 * Besides, there are TROUBLES: one ends and starts again under another name; a write arrives late, when its writer waits no
 * more, or only its answer is lost; the answer to the request that makes a key comes too late; another call never arrives; an
 * operator deletes or deactivates the published key (and may activate it again). One of them anywhere is searched by default;
 * -DTROUBLES=2 has 15 million states, and no error either.
 *
 * The journal is written by compare-and-swap. A writer without an answer, or with a conflict, reads again, and knows its own
 * write by the nonce. Who wrote last has the hold. `hold_over`, that the time of the takeover is over, may become true at any
 * time once the time fence of the last writer is over and each call that it began within the fence has ended; a write takes it
 * back.
 *
 * Fenced are the calls that make a key, that deactivate one, that delete the old one, and that delete the published one, which an
 * operator deactivated, to make room. To look at the fence and to send is one step: a stop between them is what no clock in a
 * process can exclude. A call that deactivates or deletes arrives within its time limit or never; one that makes a key may arrive
 * later, which the step `lost` waits for. A deletion in `undoing`, in `lost` and of what is aside has no fence: this search shows
 * that it needs none.
 *
 * Checked: what is published works, unless an operator removed it; the old key is neither deactivated nor deleted but while the
 * journal says so, and not before its grace is over; a published key is not deleted to make room once the journal relies on it; at
 * rest the cloud holds what is published and what is aside, and nothing else, and what the journal says is published is in the
 * Secret; two agents never have a fenced call each.
 *
 * BREAK_... takes one precaution away each; check.py sees that the search notices, by the harm alone. */

mtype { REST, INTENT, MINTED, VERIFIED, PUBLISHED, RETIRING, DELETING, UNDOING, LOST };
/* Writes: by the step that each goes to, or what else it does. */
mtype { NOTHING, TO_INTENT, TO_MINTED, TO_LOST, TO_ASIDE, TO_SETTLED, TO_REFUSED, TO_VERIFIED, TO_UNDOING, TO_PUBLISHED, TO_TARGET,
        TO_RETIRING, TO_DELETING, TO_KEEP, TO_REST, TO_TIDY, TO_TAKE };
/* Calls: deactivate the old key, delete it, delete a published one that an operator deactivated (to make room), deactivate one
 * that may have been lost; and those without a fence: delete one that never worked, one that was lost for certain, one aside. */
mtype { RETIRE, REMOVE, ROOM, SUSPECT, UNDO, CERTAIN, TIDY };

#define KEYS 3 /* a published one, the one before it or one aside, and one that is made */
#define NONE 3
#ifndef TROUBLES
#ifdef BREAK_NAME /* its harm takes an operator, too */
#define TROUBLES 2
#else
#define TROUBLES 1
#endif
#endif
#define TROUBLE troubles > 0 -> troubles--

/* The cloud. */
bool exists[KEYS + 1]; /* the last is NONE, which never does */
bool accepted[KEYS + 1];
byte removed = NONE;   /* by an operator, while it was published */
byte troubles = TROUBLES;

/* The Secret. */
mtype step = REST;
byte current = 0;
byte minted = NONE;
byte old = NONE;
byte pending = NONE;
byte published = 0;    /* what every agent writes to its files */
bool aside[KEYS + 1];  /* was published once, and is to be deleted */

/* The clocks. */
bool hold_over = false;
bool grace_over = true;

typedef Agent {
    bool fresh;      /* nobody has written since it read */
    bool fence;      /* its last write was sent not long ago */
    bool nonce;      /* the Secret has that of its last write */
    /* Its write. */
    mtype write = NOTHING;
    byte what = NONE;
    bool late;       /* the agent does not wait for it any more */
    /* Its call: what it is about to do, and what is on its way. */
    mtype job = NOTHING;
    byte key = NONE;
    mtype call = NOTHING;
    byte on = NONE;
    bool fenced;
    bool done;
    /* Its request to make a key. */
    bool may_ask;    /* it wrote the intent itself, and has not asked yet */
    bool asked;      /* it is on its way */
    bool listens;
    byte made = NONE;
    /* What it read of the journal before it looks for a lost key. */
    byte current = NONE;
    byte minted = NONE;
    byte old = NONE;
};
Agent a[2];

#define ALIVE(k) (exists[k] && accepted[k])
#define WORKS(k) (k == NONE || k == removed || ALIVE(k))
#define HAS(i, k) (a[i].current == k || a[i].minted == k || a[i].old == k || a[i].key == k || a[i].what == k || a[i].on == k || \
                   a[i].made == k)
#define USED(k) (exists[k] || k == published || k == current || k == old || k == minted || k == pending || k == removed || \
                 aside[k] || HAS(0, k) || HAS(1, k))
#define RETIRES (step == RETIRING || step == DELETING)
#define LEFT(k) (exists[k] && k != current && !aside[k])

/* ---- precautions ---- */

/* A write is for the version that was read. */
#ifdef BREAK_VERSION
#define BASED(i) true
#else
#define BASED(i) a[i].fresh
#endif
/* After a conflict or without an answer: was it one's own write? */
#ifdef BREAK_NONCE
#define OWN(i) true
#else
#define OWN(i) a[i].nonce
#endif
/* The fence counts from when the write was sent. */
#ifdef BREAK_SENT
#define CONFIRM(i) a[i].fence = true
#else
#define CONFIRM(i) skip
#endif
/* The time of the takeover is longer than the fence of what was last written, and than each call that began within it. */
#if defined BREAK_WAIT
#define WAITED(i) true
#elif defined BREAK_LIMIT
#define WAITED(i) !(a[i].nonce && a[i].fence)
#else
#define WAITED(i) (!(a[i].nonce && a[i].fence) && !a[i].fenced)
#endif
/* What has a fence. */
#ifdef BREAK_CREATE
#define CREATE_FENCE(i) true
#else
#define CREATE_FENCE(i) a[i].fence
#endif
#ifdef BREAK_RETIRE
#define FREE_RETIRE true
#else
#define FREE_RETIRE false
#endif
#ifdef BREAK_REMOVE
#define FREE_REMOVE true
#else
#define FREE_REMOVE false
#endif
#ifdef BREAK_ROOM
#define FREE_ROOM true
#else
#define FREE_ROOM false
#endif
#ifdef BREAK_SUSPECT
#define FREE_SUSPECT true
#else
#define FREE_SUSPECT false
#endif
#define FREE(j) (j == UNDO || j == CERTAIN || j == TIDY || (j == RETIRE && FREE_RETIRE) || (j == REMOVE && FREE_REMOVE) || \
                 (j == ROOM && FREE_ROOM) || (j == SUSPECT && FREE_SUSPECT))
/* A lost key is given up only when no request can make one any more. */
#ifdef BREAK_SETTLE
#define SETTLED true
#else
#define SETTLED (!a[0].asked && !a[1].asked)
#endif
/* The grace is measured by everybody. */
#ifdef BREAK_GRACE
#define GRACE_OVER true
#else
#define GRACE_OVER grace_over
#endif
/* An agent that starts again is another one. */
#ifdef BREAK_NAME
#define MAY_TAKE(i) (hold_over || a[i].nonce)
#else
#define MAY_TAKE(i) hold_over
#endif
#ifdef BREAK
#define HOLDS(i) skip /* the harm is looked for, not the carelessness */
#else
#define HOLDS(i) assert(a[i].nonce)
#endif

/* ---- the Secret ---- */

inline change(i)
{
    if
    :: a[i].write == TO_INTENT -> step = INTENT; minted = NONE
    :: a[i].write == TO_MINTED -> step = MINTED; minted = a[i].what; pending = a[i].what
    :: a[i].write == TO_LOST -> step = LOST; pending = NONE
    :: a[i].write == TO_ASIDE -> assert(!accepted[a[i].what]); exists[a[i].what] = false /* an operator deletes it */
    :: a[i].write == TO_SETTLED || a[i].write == TO_REFUSED ->
        minted = NONE;
        if :: old == NONE -> step = REST :: else -> step = PUBLISHED fi
    :: a[i].write == TO_VERIFIED -> step = VERIFIED
    :: a[i].write == TO_UNDOING -> step = UNDOING; pending = NONE
    :: a[i].write == TO_PUBLISHED ->
        if
        :: old == NONE -> old = current
        :: else -> aside[current] = true /* the one before it is kept */
        fi;
        current = minted; minted = NONE; step = PUBLISHED; grace_over = (old == NONE);
#ifndef BREAK_TARGET
        published = pending; removed = NONE;
#endif
        pending = NONE
    :: a[i].write == TO_TARGET -> published = a[i].what; removed = NONE
    :: a[i].write == TO_RETIRING -> step = RETIRING
    :: a[i].write == TO_DELETING -> step = DELETING
    :: a[i].write == TO_KEEP -> step = PUBLISHED
    :: a[i].write == TO_REST -> step = REST; old = NONE; grace_over = true
    :: a[i].write == TO_TIDY -> aside[a[i].what] = false
    :: a[i].write == TO_TAKE -> skip
    fi;
    a[i].write = NOTHING; a[i].what = NONE; a[i].late = false; a[i].nonce = true; hold_over = false;
    a[1 - i].fresh = false; a[1 - i].nonce = false;
    /* What is on its way for the version before would only be refused. */
    if :: a[1 - i].late && !BASED(1 - i) -> a[1 - i].write = NOTHING; a[1 - i].what = NONE; a[1 - i].late = false :: else -> skip fi
}

/* ---- the cloud ---- */

/* What a call may do depends on what the journal says when it arrives. */
inline perform(i)
{
    if
    :: a[i].call == RETIRE -> assert(!ALIVE(a[i].on) || (RETIRES && old == a[i].on && grace_over))
    :: a[i].call == REMOVE -> assert(!exists[a[i].on] || (RETIRES && old == a[i].on && grace_over))
    :: a[i].call == ROOM -> assert(!exists[a[i].on] || (step == PUBLISHED && current == a[i].on && old != NONE)); removed = current
    :: else -> skip
    fi;
    accepted[a[i].on] = false;
    if :: a[i].call != RETIRE && a[i].call != SUSPECT -> exists[a[i].on] = false :: else -> skip fi;
    a[i].done = (a[i].job != NOTHING)
}

inline make(i)
{
    if
    :: !USED(0) -> k = 0
    :: USED(0) && !USED(1) -> k = 1
    :: USED(0) && USED(1) && !USED(2) -> k = 2
    :: else -> skip
    fi;
    if
    :: k != NONE -> exists[k] = true; accepted[k] = true; if :: a[i].listens -> a[i].made = k :: else -> skip fi
    :: else -> skip
    fi;
    a[i].asked = false; k = NONE
}

#define EVENTS(i) \
    :: atomic { a[i].late && BASED(i) -> change(i); a[i].fresh = false } \
    :: atomic { a[i].late -> a[i].write = NOTHING; a[i].what = NONE; a[i].late = false } \
    :: atomic { a[i].call != NOTHING -> \
        if :: perform(i) :: TROUBLE fi; \
        a[i].call = NOTHING; a[i].on = NONE; a[i].fenced = false } \
    :: atomic { a[i].asked -> make(i) } \
    :: atomic { a[i].asked && !a[i].listens -> a[i].asked = false } /* it never arrives */ \
    :: atomic { a[i].fence -> a[i].fence = false }

proctype World()
{
    byte k = NONE;
end:
    do
    EVENTS(0)
    EVENTS(1)
    :: atomic { !grace_over -> grace_over = true }
    :: atomic { !hold_over && step != REST && WAITED(0) && WAITED(1) -> hold_over = true }
    od
}

proctype Operator()
{
end:
    do
    :: atomic { ALIVE(published) && removed == NONE && TROUBLE;
        removed = published; accepted[published] = false; if :: exists[published] = false :: skip fi }
    :: atomic { removed != NONE && exists[removed] && removed == published -> accepted[removed] = true; removed = NONE }
    od
}

proctype Promise()
{
    do
    :: atomic { !WORKS(published) -> assert(WORKS(published)) }
    :: atomic { step == REST && (published != current || old != NONE || pending != NONE) ->
        assert(published == current && old == NONE && pending == NONE) }
    :: atomic { step == REST && (LEFT(0) || LEFT(1) || LEFT(2)) -> assert(!LEFT(0) && !LEFT(1) && !LEFT(2)) }
#ifndef BREAK
    :: atomic { a[0].fenced && a[1].fenced -> assert(false) }
#endif
    od
}

/* ---- an agent ---- */

#define me (_pid - 4)
#define FORGET \
    a[me].fresh = false; a[me].fence = false; a[me].late = (a[me].write != NOTHING); a[me].job = NOTHING; a[me].key = NONE; \
    a[me].done = false; a[me].may_ask = false; a[me].listens = false; a[me].made = NONE; a[me].current = NONE; \
    a[me].minted = NONE; a[me].old = NONE
#define SEND(kind, k) \
    a[me].write = kind; a[me].what = k; a[me].late = false; a[me].nonce = false; a[me].fence = true; a[me].job = NOTHING; \
    a[me].key = NONE; a[me].done = false; a[me].listens = false; a[me].made = NONE; goto sent
#define DO(what_, k) a[me].job = what_; a[me].key = k; goto about
#define LOOK(k) (exists[k] && a[me].minted == NONE && k != a[me].current && k != a[me].old && !aside[k])
#define ASK a[me].may_ask = false; a[me].asked = true; a[me].listens = true; goto asked
#ifdef BREAK_ORDER
#define INTEND ASK
#else
#define INTEND a[me].may_ask = true; SEND(TO_INTENT, NONE)
#endif
#ifdef BREAK_TARGET
#define TARGETED (published == current || a[me].key != current)
#else
#define TARGETED true
#endif
#define TIDY_UP(k) \
    :: step == REST && aside[k] && exists[k] && ALIVE(current) -> DO(TIDY, k) \
    :: step == REST && aside[k] && !exists[k] -> SEND(TO_TIDY, k)

/* From one label to the next it goes on at once; between, it may stop for any time. */
proctype Program()
{
start:
    atomic { FORGET };
follow: /* it reads, now and then */
    atomic { a[me].write == NOTHING && (step == REST || MAY_TAKE(me)) -> a[me].fresh = true;
        if
        TIDY_UP(0)
        TIDY_UP(1)
        TIDY_UP(2)
        :: step == REST -> INTEND
        :: step != REST -> SEND(TO_TAKE, NONE)
        fi };
sent:
    if
    :: atomic { BASED(me) -> change(me); a[me].fresh = true; CONFIRM(me); goto decide }
    :: atomic { BASED(me) && TROUBLE; change(me); a[me].fresh = false; goto hold } /* the answer is lost */
    :: atomic { !BASED(me) -> a[me].write = NOTHING; a[me].what = NONE; goto hold }
    :: atomic { TROUBLE; a[me].late = true; goto hold } /* it comes late, or never */
    :: atomic { TROUBLE; a[me].write = NOTHING; a[me].what = NONE; goto start }
    fi;
hold: /* it reads, and goes on with its own */
    atomic {
        if
        :: OWN(me) -> a[me].fresh = true; CONFIRM(me)
        :: else -> FORGET; goto follow
        fi;
decide:
        if
        :: step == REST -> FORGET; goto follow
        :: step == INTENT && a[me].may_ask -> goto create
        :: step == INTENT && !a[me].may_ask -> SEND(TO_LOST, NONE)
        :: step == MINTED && ALIVE(minted) -> SEND(TO_VERIFIED, NONE)
        :: step == MINTED -> SEND(TO_UNDOING, NONE)
        :: step == VERIFIED -> SEND(TO_PUBLISHED, NONE)
        :: step == PUBLISHED && old == NONE -> SEND(TO_REST, NONE)
        :: step == PUBLISHED && old != NONE && GRACE_OVER -> SEND(TO_RETIRING, NONE)
        :: step == PUBLISHED && old != NONE && !ALIVE(current) && exists[current] -> DO(ROOM, current)
        :: step == PUBLISHED && old != NONE && !ALIVE(current) -> a[me].may_ask = true; SEND(TO_INTENT, NONE)
        :: step == RETIRING && ALIVE(current) -> DO(RETIRE, old)
        :: step == RETIRING && ALIVE(current) -> SEND(TO_DELETING, NONE) /* a cloud that has no such thing */
        :: step == DELETING && ALIVE(current) -> DO(REMOVE, old)
        :: RETIRES && !ALIVE(current) -> SEND(TO_KEEP, NONE)
        :: step == UNDOING -> DO(UNDO, minted)
        :: step == LOST -> a[me].current = current; a[me].minted = minted; a[me].old = old; goto list
        :: else -> goto hold
        fi };
about:
    if
    :: atomic { a[me].call == NOTHING && FREE(a[me].job) -> a[me].call = a[me].job; a[me].on = a[me].key; a[me].done = false }
    :: atomic { a[me].call == NOTHING && !FREE(a[me].job) && a[me].fence -> HOLDS(me); a[me].call = a[me].job; a[me].on = a[me].key; a[me].done = false;
        a[me].fenced = true }
    :: atomic { !FREE(a[me].job) && !a[me].fence -> SEND(TO_TAKE, NONE) }
    :: atomic { TROUBLE; goto start }
    fi;
    if
    :: atomic { a[me].call == NOTHING ->
        if
        :: a[me].done && a[me].job == RETIRE -> SEND(TO_DELETING, NONE)
        :: a[me].done && a[me].job == REMOVE -> SEND(TO_REST, NONE)
        :: a[me].done && a[me].job == UNDO -> SEND(TO_LOST, NONE)
        :: a[me].done && a[me].job == SUSPECT -> SEND(TO_ASIDE, a[me].key)
        :: a[me].job == TIDY -> FORGET; goto follow
        :: a[me].job != TIDY -> a[me].job = NOTHING; a[me].key = NONE; a[me].done = false; goto hold
        fi }
    :: atomic { TROUBLE; goto start }
    fi;
list:
    atomic {
        if
        :: exists[a[me].minted] -> a[me].key = a[me].minted; a[me].job = CERTAIN
        :: LOOK(0) -> a[me].key = 0; a[me].job = SUSPECT
        :: LOOK(1) -> a[me].key = 1; a[me].job = SUSPECT
        :: LOOK(2) -> a[me].key = 2; a[me].job = SUSPECT
        :: !exists[a[me].minted] && !LOOK(0) && !LOOK(1) && !LOOK(2) -> skip
        fi;
        a[me].current = NONE; a[me].minted = NONE; a[me].old = NONE;
        if
        :: a[me].job != NOTHING -> goto about
        :: a[me].job == NOTHING && SETTLED -> SEND(TO_SETTLED, NONE)
        :: a[me].job == NOTHING -> goto hold
        fi };
create:
    if
    :: atomic { CREATE_FENCE(me) -> HOLDS(me); ASK }
    :: atomic { !CREATE_FENCE(me) -> SEND(TO_TAKE, NONE) }
    :: atomic { TROUBLE; goto start }
    fi;
asked:
    if
    :: atomic { a[me].made != NONE -> SEND(TO_MINTED, a[me].made) }
    :: atomic { !a[me].asked && a[me].made == NONE -> SEND(TO_LOST, NONE) }
    :: atomic { TROUBLE; SEND(TO_LOST, NONE) } /* no answer in time */
    :: atomic { a[me].asked -> a[me].asked = false; SEND(TO_REFUSED, NONE) }
    :: atomic { TROUBLE; goto start }
    fi
}

init
{
    atomic { exists[0] = true; accepted[0] = true; run World(); run Operator(); run Promise(); run Program(); run Program() }
}
