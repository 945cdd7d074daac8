/* SPDX-License-Identifier: MIT */
/* The rotation of one long-lived key (rotation/rotation.c) for spin: the program may end before and after everything it does,
 * and the answer to the one request that is not idempotent may be lost, or come while nobody waits any more.
 *
 * The pending secret may be gone whenever the program starts, and what is published during a grace.
 *
 * A key that another program created may be adopted: it is published already where consumers read it.
 *
 * At any time, an operator may delete or deactivate the published key, make a key by hand, activate that one again, and delete
 * what is aside.
 *
 * Checked: what is published always exists and is accepted, unless an operator removed it; the old key is neither deactivated
 * nor deleted before its grace is over, nor in a step that began when the published one was gone; a key that was made by hand is
 * never deleted; at rest the cloud holds what is published, what is aside, what was made by hand, and nothing else; and no end is
 * reached but rest.
 *
 * test_rotation_rotation prints the steps that it saw follow each other, and check.py looks for each of them here: GO(FROM, TO)
 * is the only way to write a step down. */

mtype = { REST, INTENT, MINTED, VERIFIED, PUBLISHED, RETIRING, INACTIVE, DELETING, UNDOING, LOST };

#define KEYS 4 /* a published one, the one before it, one that is being made, one that is aside or made by hand */
#define NONE 4

/* The cloud. */
bool names;               /* keys have names, by which ours are found */
bool deactivates;
bool exists[KEYS + 1];    /* the last is NONE, which never does */
bool accepted[KEYS + 1];
bool good[KEYS + 1];      /* will be accepted, in the end */
bool in_flight = false;   /* a request to make a key that may still arrive */
bool answered = false;    /* its answer came to a program that waits */
byte made = NONE;         /* by the last request that arrived */
byte removed = NONE;      /* by an operator, while it was published */
byte foreign = NONE;      /* made by hand */
byte found = NONE;        /* to be adopted, and published already */

/* The disk. */
mtype step = REST;
byte pending = NONE;
byte current = NONE;      /* in the journal */
byte minted = NONE;
byte old = NONE;
byte published = NONE;    /* in the consumer's files */
byte before = NONE;       /* what was published before it */
bool known[KEYS + 1];
bool aside[KEYS + 1];
bool ours[KEYS + 1];      /* of those aside: it was published once */

/* The clock. */
bool grace_over = true;   /* since the last publish */
bool waits = false;       /* the program is waiting for an answer */
byte suspect = NONE;      /* what it is putting aside: ids are never used again */

#define ALIVE(k) (exists[k] && accepted[k])
#define USED(k) (k == published || k == before || k == current || k == old || k == minted || k == pending || k == suspect || k == found || aside[k])
#define OURS(k) (!exists[k] || known[k] || current == k || old == k || aside[k])
#define GO(from, to) atomic { assert(step == from); step = to }
#define REMOVE(k) atomic { assert(k != foreign); exists[k] = false; accepted[k] = false; good[k] = false }
#define APPEAR(k) exists[k] = true; accepted[k] = true; known[k] = false; if :: k == removed -> removed = NONE :: else -> skip fi
#define FORGET_KNOWN known[0] = false; known[1] = false; known[2] = false; known[3] = false; made = NONE /* not looked at again */
#define MAY_END if :: skip :: goto start fi
#define ANY_KEY if :: k = 0 :: k = 1 :: k = 2 :: k = 3 fi

active proctype Cloud()
{
    byte k;
end:
    do
    :: atomic { in_flight ->
        ANY_KEY;
        if
        :: !exists[k] && !USED(k) ->
            APPEAR(k); in_flight = false; made = k;
            if :: good[k] = true :: good[k] = false fi;
            if :: waits -> answered = true :: else -> skip fi
        :: else -> skip
        fi;
        k = 0 }
    :: atomic { in_flight -> in_flight = false; made = NONE } /* it never arrives */
    :: atomic { !grace_over -> grace_over = true }
    od
}

active proctype Operator()
{
    byte k;
end:
    do
    :: atomic { published != NONE && ALIVE(published) && removed == NONE ->
        removed = published;
        if
        :: exists[published] = false; good[published] = false
        :: deactivates
        fi;
        accepted[published] = false }
    :: atomic { removed != NONE && removed != published && removed != before -> removed = NONE } /* so that others may be */
    :: atomic { foreign == NONE ->
        ANY_KEY;
        if
        :: !exists[k] && !USED(k) -> APPEAR(k); good[k] = true; foreign = k
        :: else -> skip
        fi;
        k = 0 }
    :: atomic { foreign != NONE && !accepted[foreign] -> accepted[foreign] = true }
    :: atomic { foreign != NONE -> exists[foreign] = false; accepted[foreign] = false; good[foreign] = false; foreign = NONE }
    :: atomic {
        ANY_KEY;
        if
        :: aside[k] && !ours[k] && k != foreign -> exists[k] = false; accepted[k] = false; good[k] = false
        :: else -> skip
        fi;
        k = 0 }
    od
}

#define WORKS(k) (k == NONE || k == removed || (exists[k] && accepted[k] && good[k]))

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
    bool gone; /* the published key was, when the step began: what the program must find out */
    bool sure; /* the program has found that it is not */

    /* AWS and Google, Azure and OpenStack, and one that can do nothing. */
    atomic { if :: deactivates = true :: names = true :: skip fi };
    atomic { if :: foreign == NONE -> found = 0; APPEAR(0); good[0] = true; published = 0 :: skip fi };
start:
    atomic { waits = false; answered = false; suspect = NONE; k = 0; gone = false; sure = false; if :: pending = NONE :: skip fi };
    do
    :: step == REST ->
        /* Nothing but what is published or aside, and nothing on its way. One of ours that is aside may have been lost with what
         * was published, and is deactivated when its time has come. */
        atomic { assert(!in_flight); assert(published == current || current == NONE); assert(old == NONE);
                 k = 0;
                 do
                 :: k < KEYS ->
                    assert(!exists[k] || k == published || k == foreign || (aside[k] && (ours[k] || !deactivates || !accepted[k])));
                    k++
                 :: else -> k = 0; break
                 od };
        pending = NONE;
        if
        :: current == NONE && found != NONE && ALIVE(found) -> /* listed, and tried */
            pending = found;
            MAY_END;
            atomic { k = 0; do :: k < KEYS -> known[k] = exists[k]; k++ :: else -> k = 0; break od; minted = found; GO(REST, VERIFIED) };
            MAY_END;
            goto start
        :: atomic { current == NONE && found != NONE && !ALIVE(found) -> /* an operator has another one created instead */
            exists[found] = false; good[found] = false; found = NONE }
        :: else -> skip
        fi;
        do
        :: k < KEYS && aside[k] && !exists[k] -> atomic { aside[k] = false; ours[k] = false; GO(REST, REST) }; MAY_END; k++
        :: k < KEYS && aside[k] && !ours[k] && deactivates && accepted[k] -> /* its user has activated it again */
            atomic { aside[k] = false; GO(REST, REST) };
            MAY_END;
            k++
        :: k < KEYS && ours[k] && exists[k] -> /* its time has come */
            gone = !ALIVE(current);
            sure = ALIVE(current);
            if
            :: sure -> assert(!gone); REMOVE(k); MAY_END; atomic { aside[k] = false; ours[k] = false; GO(REST, REST) }; MAY_END
            :: else -> skip
            fi;
            k++
        :: k < KEYS -> k++
        :: else -> k = 0; break
        od;
        atomic { k = 0; do :: k < KEYS -> known[k] = exists[k]; k++ :: else -> k = 0; break od; minted = NONE; GO(REST, INTENT) };
        MAY_END;
        goto create
    :: step == INTENT -> /* an earlier run's */
        if
        :: pending != NONE -> atomic { minted = pending; FORGET_KNOWN; GO(INTENT, MINTED) }
        :: else -> GO(INTENT, LOST)
        fi;
        MAY_END
    :: step == LOST ->
        pending = NONE;
        do
        :: k < KEYS ->
            if
            :: minted == NONE && !OURS(k) && names && k != foreign -> REMOVE(k); MAY_END
            :: minted == NONE && !OURS(k) && !names -> /* it may be another user's */
                suspect = k;
                if :: deactivates -> accepted[k] = false; MAY_END :: else -> skip fi;
                atomic { aside[k] = true; suspect = NONE; GO(LOST, LOST) };
                MAY_END
            :: else -> skip
            fi;
            k++
        :: else -> k = 0; break
        od;
        /* Settled: no request is under way any more, and the list that was looked at is younger than that. */
        if
        :: atomic { !in_flight ->
            k = 0;
            do
            :: k < KEYS && (OURS(k) || k == foreign) -> k++
            :: else -> break
            od;
            if
            :: k < KEYS -> skip
            :: else -> minted = NONE; FORGET_KNOWN; if :: old == NONE -> GO(LOST, REST) :: else -> GO(LOST, PUBLISHED) fi
            fi;
            k = 0 }
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
        :: pending != minted && published != minted && !known[minted] -> pending = minted; goto start /* an operator restores it */
        :: pending != minted && known[minted] -> atomic { minted = NONE; GO(VERIFIED, REST) }; goto start /* it is found again */
        :: pending == minted && published != minted && !ALIVE(minted) && !known[minted] -> GO(VERIFIED, LOST); goto start
        fi;
        MAY_END;
        atomic {
            if
            :: old == NONE -> old = current
            :: old != NONE -> aside[current] = true; ours[current] = true /* the one before it is kept, and it may live on */
            fi;
            current = minted; minted = NONE; GO(VERIFIED, PUBLISHED) };
        MAY_END
    :: step == PUBLISHED ->
        pending = NONE;
        MAY_END;
        if
        :: old == NONE -> GO(PUBLISHED, REST)
        :: old != NONE && grace_over -> GO(PUBLISHED, RETIRING) /* it may not know yet that the published one is gone */
        :: old != NONE -> /* what was published is lost, though it may be in use: another one is made where there is room */
            atomic { k = 0; do :: k < KEYS -> known[k] = exists[k]; k++ :: else -> k = 0; break od; minted = NONE; GO(PUBLISHED, INTENT) };
            MAY_END;
            goto create
        :: old != NONE && !ALIVE(current) -> /* another one is made, and the old one kept */
            if :: exists[current] -> REMOVE(current); MAY_END :: skip fi; /* where there is no room */
            atomic { k = 0; do :: k < KEYS -> known[k] = exists[k]; k++ :: else -> k = 0; break od; minted = NONE; GO(PUBLISHED, INTENT) };
            MAY_END;
            goto create
        :: old != NONE && !ALIVE(current) -> skip /* it is not to be replaced */
        fi;
        MAY_END
    :: step == RETIRING ->
        if
        :: deactivates ->
            gone = !ALIVE(current);
            sure = ALIVE(current);
            if
            :: sure -> assert(!gone); assert(old != published); accepted[old] = false; MAY_END; GO(RETIRING, INACTIVE)
            :: else -> GO(RETIRING, PUBLISHED)
            fi
        :: else -> GO(RETIRING, DELETING)
        fi;
        MAY_END
    :: step == INACTIVE ->
        if
        :: GO(INACTIVE, DELETING)
        :: GO(INACTIVE, INACTIVE); MAY_END; GO(INACTIVE, DELETING) /* its use was late: that is written down */
        :: !ALIVE(current) -> GO(INACTIVE, PUBLISHED)
        fi;
        MAY_END
    :: step == DELETING ->
        gone = !ALIVE(current);
        sure = ALIVE(current);
        if
        :: sure -> assert(!gone); assert(old != published); REMOVE(old); MAY_END; atomic { old = NONE; before = NONE; GO(DELETING, REST) }
        :: else -> GO(DELETING, PUBLISHED)
        fi;
        MAY_END
    :: step == UNDOING ->
        assert(minted != published);
        REMOVE(minted);
        MAY_END;
        GO(UNDOING, LOST); /* lists tell whether it is gone */
        MAY_END
    od;
create:
    atomic { in_flight = true; made = NONE; waits = true };
    MAY_END;
    if
    :: atomic { answered -> answered = false; waits = false; k = made };
        MAY_END;
        pending = k;
        MAY_END;
        atomic { minted = k; k = 0; FORGET_KNOWN; GO(INTENT, MINTED) }
    :: atomic { waits = false; answered = false; GO(INTENT, LOST) } /* no answer in time */
    :: atomic { in_flight -> in_flight = false; waits = false;      /* refused for certain */
        FORGET_KNOWN; if :: old == NONE -> GO(INTENT, REST) :: else -> GO(INTENT, PUBLISHED) fi }
    fi;
    MAY_END;
    goto start
}
