/* SPDX-License-Identifier: MIT */
/* How snapshots are acquired, released and freed (libcredfresh/snapshot.c) for spin: two stripes, two slots, two readers that
 * may use any stripe at any step (as threads do that share one, or that take another one after a publish), and a publisher
 * that publishes three snapshots, or finds no slot, and then closes. A reader may pass its hold on to the other one, and
 * retain it.
 *
 * Checked: a snapshot is never freed while it is held, and exactly once; a slot that a reader follows leads to the snapshot
 * that it holds; no reader gets an older snapshot than one that any reader had got before it asked; nothing is acquired
 * that was not yet published, or after the end; when all holds are gone, everything is freed, and the core.
 *
 * Spin interleaves whole steps in one order; that the orders which C11 allows are enough is what ThreadSanitizer looks at
 * (libcredfresh_tsan). */

#define STRIPES 2
#define SLOTS 3 /* slot 0 is "none" */
#define PUBLISHES 3
#define BIAS 20
#define IS_OPEN(cell) (cell < 0)

short cell[6];      /* stripe * SLOTS + slot */
byte in_slot[SLOTS];  /* the snapshot; 0: empty */
byte current_slot = 0;
byte current = 0;   /* one word with current_slot */

/* By snapshot: 1, 2, 3. */
short count[PUBLISHES + 1];
byte slot_of[PUBLISHES + 1];
byte freed[PUBLISHES + 1];
byte holds[PUBLISHES + 1];  /* what readers believe to have */

short users = 1;    /* of the core */
bool closed = false;
bool retained = false; /* once */
byte newest = 0;    /* that any reader has got */
byte passed = 0;    /* a hold that the other reader may take over */
byte acquiring = 0; /* readers that are in the middle of it, which must end before the watcher is closed */

#define FREE(s) atomic { assert(holds[s] == 0); assert(freed[s] == 0); freed[s] = 1 }
#define LEAVE_CORE atomic { assert(users > 0); users = users - 1 }
/* The two steps after a count has reached 0: the slot is emptied once the memory is gone. */
#define END(s) FREE(s); atomic { assert(in_slot[slot_of[s]] == s); in_slot[slot_of[s]] = 0 }; LEAVE_CORE
#define CORE_IS_THERE assert(users > 0)

#define ANY_STRIPE if :: stripe = 0 :: stripe = 1 fi

/* Ends a hold on S, and sets S to 0. */
inline release(s)
{
    atomic {
        ANY_STRIPE;
        CORE_IS_THERE; assert(freed[s] == 0);
        cell[stripe * SLOTS + slot_of[s]] = cell[stripe * SLOTS + slot_of[s]] - 1;
        if
        :: IS_OPEN(cell[stripe * SLOTS + slot_of[s]]) -> holds[s] = holds[s] - 1; s = 0
        :: else -> skip
        fi;
        stripe = 0
    };
    if
    :: s == 0 -> skip
    :: else ->
        atomic {
            CORE_IS_THERE; assert(freed[s] == 0);
            holds[s] = holds[s] - 1; count[s] = count[s] - 1;
            if :: count[s] == 0 -> skip :: else -> s = 0 fi
        };
        if :: s == 0 -> skip :: else -> END(s); s = 0 fi
    fi
}

proctype Reader(byte times)
{
    byte stripe, slot, sequence, mine, extra, floor;

    do
    :: atomic { times > 0 && mine == 0 && !closed -> acquiring++; times--; floor = newest };
again:  atomic {
            assert(!closed); slot = current_slot; sequence = current;
            if :: slot == 0 -> goto acquired :: else -> skip fi
        };
        atomic {
            ANY_STRIPE;
            CORE_IS_THERE;
            cell[stripe * SLOTS + slot] = cell[stripe * SLOTS + slot] + 1;
            if
            :: IS_OPEN(cell[stripe * SLOTS + slot]) ->
                mine = in_slot[slot]; assert(mine != 0); holds[mine] = holds[mine] + 1; stripe = 0
            :: else -> stripe = 0; goto again
            fi
        };
        atomic {
            assert(in_slot[slot] == mine && freed[mine] == 0);
            if
            :: mine == sequence ->
                assert(mine >= floor);
                if :: mine > newest -> newest = mine :: else -> skip fi;
                goto acquired
            :: else -> extra = mine; mine = 0
            fi
        };
        release(extra);
        goto again;
acquired: atomic { acquiring--; slot = 0; sequence = 0; floor = 0 }
    :: atomic { mine != 0 && !retained -> retained = true;
        assert(freed[mine] == 0); count[mine] = count[mine] + 1; holds[mine] = holds[mine] + 1; extra = mine };
        release(extra)
    :: atomic { mine != 0 && passed == 0 -> passed = mine; mine = 0 }
    :: atomic { mine == 0 && passed != 0 -> mine = passed; passed = 0 }
    :: mine != 0 -> release(mine)
    :: atomic { mine == 0 && passed == 0 && (times == 0 || closed) -> times = 0 }; break
    od
}

inline retire(s)
{
    if
    :: s == 0 -> skip
    :: else ->
        change = 0 - BIAS;
        i = 0;
        do
        :: i < STRIPES ->
            atomic { change = change + cell[i * SLOTS + slot_of[s]] + BIAS; cell[i * SLOTS + slot_of[s]] = BIAS; i++ }
        :: else -> break
        od;
        atomic { assert(freed[s] == 0); count[s] = count[s] + change; last = (count[s] == 0); change = 0; i = 0 };
        if :: last -> last = false; END(s) :: else -> skip fi;
        s = 0
    fi
}

proctype Publisher()
{
    byte s, old, slot, i;
    short change;
    bool last;

    do
    :: s < PUBLISHES ->
        if
        :: atomic { in_slot[1] == 0 -> slot = 1 }
        :: atomic { in_slot[1] != 0 && in_slot[2] == 0 -> slot = 2 }
        :: atomic { in_slot[1] != 0 && in_slot[2] != 0 -> slot = 0 } /* CREDFRESH_E_HELD */
        fi;
        if
        :: slot == 0 -> break
        :: else -> skip
        fi;
        s++;
        atomic { count[s] = BIAS; slot_of[s] = slot; users = users + 1; in_slot[slot] = s };
        do
        :: i < STRIPES -> atomic { cell[i * SLOTS + slot] = 0 - BIAS; i++ }
        :: else -> i = 0; break
        od;
        old = current;
        atomic { current = s; current_slot = slot };
        retire(old)
    :: s > 0 -> break
    od;
    /* No other thread may use the watcher from here on. A reader that is in the middle of acquiring is waited for. */
    atomic { acquiring == 0 -> closed = true; old = current; current = 0; current_slot = 0 };
    retire(old);
    LEAVE_CORE
}

init
{
    byte i;

    atomic {
        do :: i < STRIPES * SLOTS -> cell[i] = BIAS; i++ :: else -> break od;
        i = 0
    };
    atomic { run Publisher(); run Reader(1); run Reader(1) };
    _nr_pr == 1;
    assert(users == 0);
    i = 1;
    do
    :: i <= PUBLISHES -> assert(freed[i] == (slot_of[i] != 0)); i++
    :: else -> break
    od
}
