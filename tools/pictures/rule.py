# SPDX-License-Identifier: MIT
"""The rules of docs/design.md, "When a credential is renewed", for a session of an hour at AWS. Times are minutes."""
import random

LIFE = 60.0
EARLIEST, LATEST = 39 + 9 / 60, 39 + 19 / 60  # of the renewal: the period of 39 min 19 s, less the jitter
CAP, CAP_EXPIRED = 5.0, 15 / 60
WARNING = 10.0  # left when a warning is logged: a sixth of the lifetime


def retries(start, expires, until, seed):
    """Times of the attempts from START on while all of them fail, up to and with the first one after UNTIL."""
    chance = random.Random(seed)
    at, failures, expired = start, 0, False
    yield at
    while at <= until:
        if at >= expires and not expired:
            failures, expired = 0, True
        cap = CAP_EXPIRED if expired else min(CAP, max(1 / 60, (expires - at) / 2))
        base = 1 / 60
        most = min(cap, base * 2 ** failures)
        at += min(base / 2, most) + chance.random() * (most - min(base / 2, most))
        failures += 1
        yield at
