# SPDX-License-Identifier: MIT
"""Two outages of a cloud's token service: one that ends before the expiry, and one that outlasts it."""
from rule import LIFE, WARNING, retries
from svg import AMBER, Axis, GREEN, LINE, PALE, Picture, RED, TEXT

RENEWAL = 38.5
START = 30  # of the outages
FROM, TO = 25, 95


def panel(p, top, end, seed, head):
    axis = Axis(p, 170, 836, FROM, TO)
    attempts = list(retries(RENEWAL, LIFE, end, seed))
    recovered = attempts[-1]
    p.text(16, top, head, TEXT, 14, True)
    axis.ticks(top + (206 if recovered > LIFE else 174), top + 16, 5,
               lambda minute: f"{minute:.0f} min" if minute % 10 == 0 else "")

    def row(y, name):
        p.text(16, y + 11, name, TEXT, 12)

    row(top + 20, "token service")
    axis.bar(FROM, START, top + 20, 14, PALE[GREEN], GREEN, 0)
    axis.bar(START, end, top + 20, 14, RED, None, 0)
    axis.bar(end, TO, top + 20, 14, PALE[GREEN], GREEN, 0)
    p.text((axis.x(START) + axis.x(end)) / 2, top + 31, "unavailable", "#ffffff", 11, True, "middle")
    row(top + 46, "attempts")
    p.line(axis.x(FROM), top + 53, axis.x(TO), top + 53, LINE)
    for at in attempts[:-1]:
        p.dot(axis.x(at), top + 53, 3, RED)
    p.dot(axis.x(recovered), top + 53, 4.5, GREEN)
    row(top + 72, "published credential")
    axis.bar(FROM, min(LIFE, recovered), top + 72, 14, GREEN, None, 0)
    if recovered > LIFE:
        axis.bar(LIFE, recovered, top + 72, 14, RED, None, 0)
        p.text(axis.x(LIFE) + 5, top + 83, "expired", "#ffffff", 11, True)
    axis.bar(recovered, TO, top + 72, 14, "#2da44e", None, 0)
    p.text(axis.x(FROM) + 6, top + 83, "generation 1 stays in place", "#ffffff", 11, True)
    p.text(axis.x(recovered) + 6, top + 83, "generation 2", "#ffffff", 11, True)
    row(top + 98, "calls of consumers")
    axis.bar(FROM, TO, top + 98, 14, PALE[GREEN], GREEN, 0)
    if recovered > LIFE:
        axis.bar(LIFE, recovered, top + 98, 14, PALE[RED], RED, 0)
        p.text(axis.x(LIFE) + 5, top + 109, "refused by the cloud", RED, 11)
    row(top + 124, "log and readiness")
    events = [(RENEWAL, "warn: the cause, next try in 1 s", AMBER)]
    if recovered > LIFE:
        events += [(LIFE - WARNING, "warn: expires in 10 min", AMBER), (LIFE, "error: has expired; not ready any more", RED),
                   (LIFE + 10, "error: expired 10 min ago", RED)]
    else:
        events += [(RENEWAL + 10, "warn: it could not be renewed for 10 min", AMBER)]
    events.append((recovered, f"info: recovered after {len(attempts) - 1} failures", GREEN))
    for i, (at, text, colour) in enumerate(events):
        y = top + 134 + (len(events) - 1 - i) * 16
        p.line(axis.x(at), top + 122, axis.x(at), y, colour, 2)
        p.text(axis.x(at) + 5, y, text, colour, 11)


def draw():
    p = Picture(860, 490, "Two outages",
                "A token service that is unavailable for 24 minutes is not noticed by consumers; after one that outlasts the "
                "session, a new credential is published within 15 seconds.")
    panel(p, 30, 54, 11, "An outage of 24 min: no call fails")
    panel(p, 250, 75, 4, "An outage of 45 min outlasts the session: back within 15 s of its end")
    return p.done()
