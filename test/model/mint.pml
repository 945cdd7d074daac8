/* SPDX-License-Identifier: MIT */
/* The rotation of one long-lived key (rotation/rotation.c) for spin: the program may end before and after everything it does,
 * and the answer to the one request that is not idempotent may be lost, or come while nobody waits any more.
 *
 * The pending secret may be gone whenever the program starts.
 *
 * An operator may delete the published key in the cloud at any time.
 *
 * Checked: what is published always exists and is accepted, unless an operator deleted it; the old key is neither deactivated nor deleted before its grace
 * is over; at rest the cloud holds what is published and what is aside, deactivated, and nothing else; and no end is reached
 * but rest.
 *
 * test_rotation_rotation prints the steps that it saw follow each other, and check.py looks for each of them here: GO(FROM, TO)
 * is the only way to write a step down. */

mtype = { REST, INTENT, MINTED, VERIFIED, PUBLISHED, RETIRING, INACTIVE, DELETING, UNDOING, LOST };

#define KEYS 4 /* a published one, the one before it, one that is being made, one that is aside */
#define NONE 4

/* The cloud. */
bool exists[KEYS + 1]; /* the last is NONE, which never does */
bool accepted[KEYS + 1];
bool good[KEYS + 1];      /* will be accepted, in the end */
bool in_flight = false;   /* a request to make a key that may still arrive */
byte deleted = NONE;      /* by an operator, while it was published */
bool answered = false;    /* its answer came to somebody who waits */
byte made = NONE;         /* by the last request that arrived */

/* The disk. */
mtype step = REST;
byte pending = NONE;
byte current = NONE;      /* in the journal */
byte minted = NONE;
byte old = NONE;
byte published = NONE;    /* in the consumer's files */
byte before = NONE;       /* what was published before it */
bool known[KEYS + 1];
bool aside[KEYS + 1];     /* deactivated, to be removed later */

/* The clock. */
bool grace_over = true;   /* since the last publish */
bool waits = false;       /* the program is waiting for an answer */

#define OURS(k) (!exists[k] || known[k] || current == k || aside[k])
#define GO(from, to) atomic { assert(step == from); step = to }
#define REMOVE(k) atomic { exists[k] = false; accepted[k] = false; good[k] = false }
#define MAY_END if :: skip :: goto start fi

active proctype Cloud()
{
    byte k;
end:
    do
    :: atomic { in_flight ->
        if
        :: k = 0 :: k = 1 :: k = 2 :: k = 3
        fi;
        if
        :: !exists[k] && k != published && k != before && !aside[k] ->
            exists[k] = true; accepted[k] = true; in_flight = false; made = k;
            if :: k == deleted -> deleted = NONE :: else -> skip fi;
            if :: good[k] = true :: good[k] = false fi;
            if :: waits -> answered = true :: else -> skip fi
        :: else -> skip
        fi;
        k = 0 }
    :: atomic { in_flight -> in_flight = false; made = NONE } /* it never arrives */
    :: atomic { !grace_over -> grace_over = true }
    :: atomic { published != NONE && exists[published] && deleted == NONE ->
        deleted = published;
        exists[published] = false; accepted[published] = false; good[published] = false }
    od
}

#define WORKS(k) (k == NONE || k == deleted || (exists[k] && accepted[k] && good[k]))

/* At every moment. */
active proctype Promise()
{
    do
    :: atomic { !WORKS(published) -> assert(false) }
    :: atomic { !grace_over && !WORKS(before) -> assert(false) }
    od
}

active proctype Program()
{
    byte k;
start:
    atomic { waits = false; answered = false; if :: pending = NONE :: skip fi };
    do
    :: step == REST ->
        /* Nothing but what is published or aside, and nothing on its way. */
        atomic { assert(!in_flight); assert(published == current);
                 k = 0; do :: k < KEYS -> assert(!exists[k] || k == published || (aside[k] && !accepted[k])); k++ :: else -> break od };
        pending = NONE;
        k = 0;
        do
        :: k < KEYS && aside[k] -> /* its time has come */
            REMOVE(k);
            MAY_END;
            atomic { aside[k] = false; GO(REST, REST) };
            MAY_END;
            k++
        :: k < KEYS -> k++
        :: k >= KEYS -> k = 0; break
        od;
        atomic { k = 0; do :: k < KEYS -> known[k] = exists[k]; k++ :: else -> k = 0; break od; minted = NONE; GO(REST, INTENT) };
        MAY_END;
        atomic { in_flight = true; made = NONE; waits = true };
        MAY_END;
        if
        :: atomic { answered -> answered = false; waits = false; k = made };
            MAY_END;
            pending = k;
            MAY_END;
            atomic { minted = k; k = 0; GO(INTENT, MINTED) }
        :: atomic { waits = false; answered = false; GO(INTENT, LOST) }             /* no answer in time */
        :: atomic { in_flight -> in_flight = false; waits = false; GO(INTENT, REST) } /* refused for certain */
        fi;
        MAY_END
    :: step == INTENT -> /* an earlier run's */
        if
        :: pending != NONE -> atomic { minted = pending; GO(INTENT, MINTED) }
        :: else -> GO(INTENT, LOST)
        fi;
        MAY_END
    :: step == LOST ->
        pending = NONE;
        k = 0;
        do
        :: k < KEYS ->
            if
            :: !OURS(k) -> REMOVE(k); MAY_END; GO(LOST, LOST)
            :: !OURS(k) -> accepted[k] = false; MAY_END; atomic { aside[k] = true; GO(LOST, LOST) } /* it may be another's */
            :: else -> skip
            fi;
            k++
        :: else -> k = 0; break
        od;
        /* Settled: no request is under way any more, and the list that was looked at is younger than that. */
        if
        :: atomic { !in_flight && OURS(0) && OURS(1) && OURS(2) && OURS(3) -> GO(LOST, REST) }
        :: else -> skip
        fi;
        MAY_END
    :: step == MINTED ->
        if
        :: pending == minted && good[minted] -> GO(MINTED, VERIFIED)
        :: pending != minted || !good[minted] -> GO(MINTED, UNDOING)
        fi;
        MAY_END
    :: step == VERIFIED ->
        if
        :: pending == minted && published != pending -> atomic { before = published; published = pending; grace_over = (before == NONE) }
        :: published == minted -> skip /* it was, before a crash; the pending may be gone */
        :: pending != minted && published != minted -> pending = minted; goto start /* somebody restores it */
        fi;
        MAY_END;
        atomic { old = current; current = minted; minted = NONE; GO(VERIFIED, PUBLISHED) };
        MAY_END
    :: step == PUBLISHED ->
        pending = NONE;
        MAY_END;
        if
        :: old == NONE -> GO(PUBLISHED, REST)
        :: old != NONE && grace_over -> GO(PUBLISHED, RETIRING)
        fi;
        MAY_END
    :: step == RETIRING ->
        if
        :: assert(old != published); accepted[old] = false; MAY_END; GO(RETIRING, INACTIVE)
        :: GO(RETIRING, DELETING) /* where the cloud cannot deactivate */
        fi;
        MAY_END
    :: step == INACTIVE ->
        if
        :: GO(INACTIVE, DELETING)
        :: GO(INACTIVE, INACTIVE); MAY_END; GO(INACTIVE, DELETING) /* its use was late: that is written down */
        fi;
        MAY_END
    :: step == DELETING ->
        assert(old != published);
        REMOVE(old);
        MAY_END;
        atomic { old = NONE; before = NONE; GO(DELETING, REST) };
        MAY_END
    :: step == UNDOING ->
        assert(minted != published);
        REMOVE(minted);
        MAY_END;
        atomic { minted = NONE; GO(UNDOING, LOST) }; /* lists tell whether it is gone */
        MAY_END
    od
}
