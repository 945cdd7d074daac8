# SPDX-License-Identifier: MIT
"""The life of a credential: token, session, the windows in which SDKs ask again, retries, expiry."""
from rule import EARLIEST, LATEST, LIFE, retries
from svg import AMBER, Axis, BLUE, DIM, GREEN, PALE, Picture, PURPLE, RED, TEXT

RENEWED = 39.2
# Minutes before the expiry: from then on the SDK asks again in passing, and from then on each call waits for the answer.
SDKS = [("Python (botocore)", 15, 10), ("newest Java v2, Go v2", 15, 1), ("JavaScript v3", 5, 0), ("C runtime (CRT)", 5, 5)]


def label(minute):
    return f"{minute:.0f} min"


def draw():
    p = Picture(860, 520, "The life of a credential",
                "A session of one hour at AWS is renewed after 39 minutes, before any SDK asks again; if that fails there is "
                "time for some twenty attempts before it expires.")
    axis = Axis(p, 214, 826, 0, 80)
    p.text(16, 28, "The life of a credential", TEXT, 16, True)
    p.text(16, 47, "A session of one hour at AWS, and a token of one hour.", DIM, 12)
    axis.ticks(478, 66, 10, label)
    p.rect(axis.x(EARLIEST), 66, axis.x(LATEST) - axis.x(EARLIEST), 412, PALE[BLUE])
    p.line(axis.x(LIFE), 66, axis.x(LIFE), 478, RED, 1, "4 3")
    p.text(axis.x(LIFE) + 5, 76, "generation 1 expires", RED, 11)

    def row(y, name, text=""):
        p.text(16, y, name, TEXT, 13, True)
        p.text(16, y + 16, text, DIM, 11)

    row(102, "token", "renewed by the kubelet at 80 %")
    axis.bar(0, 60, 90, 14, PALE[PURPLE], PURPLE)
    axis.bar(48, 80, 108, 14, PALE[PURPLE], PURPLE)
    row(154, "session", "renewed by credfresh")
    axis.bar(0, 60, 142, 14, PALE[GREEN], GREEN)
    p.text(axis.x(1), 153, "generation 1", GREEN, 11)
    axis.bar(RENEWED, 80, 160, 14, PALE[GREEN], GREEN)
    p.text(axis.x(RENEWED) + 6, 171, "generation 2", GREEN, 11)
    row(206, "published", "what a reader finds")
    axis.bar(0, RENEWED, 194, 14, GREEN, radius=0)
    axis.bar(RENEWED, 80, 194, 14, "#2da44e", radius=0)
    p.text(axis.x(1), 205, "1", "#ffffff", 11, True)
    p.text(axis.x(RENEWED) + 6, 205, "2: never a moment without one", "#ffffff", 11, True)

    row(250, "SDKs ask again", "at an endpoint, or by a command")
    for i, (name, early, late) in enumerate(SDKS):
        y = 240 + i * 22
        axis.bar(LIFE - early, LIFE - late, y, 12, PALE[AMBER], AMBER, 2)
        if late:
            axis.bar(LIFE - late, LIFE, y, 12, AMBER, radius=2)
        p.text(axis.x(LIFE) + 8, y + 10, name, TEXT, 11)
    p.lines(axis.x(0) + 4, 254, ["pale: in passing, the old ones are still used", "full: each call waits for new ones",
                                 "Each of them finds generation 2."], DIM, 11)
    row(352, "if the renewal fails", "what is published stays")
    attempts = [at for at in retries(RENEWED, LIFE, 66, 5)]
    for at in attempts:
        p.dot(axis.x(at), 352, 3, RED)
    before = sum(at < LIFE for at in attempts)
    p.lines(axis.x(0) + 4, 348, [f"{before} attempts in this example, the pauses", "grow from 1 s to 5 min and shrink again",
                                 "towards the end; then every 15 s at most"], DIM, 11)
    row(412, "warnings", "log and alerts")
    for at, text, colour, dy in ((RENEWED, "first failure", AMBER, 0), (48.5, "failing for 10 min", AMBER, 18),
                                 (50, "expires in 10 min", AMBER, 36), (60, "expired, not ready", RED, 0)):
        p.line(axis.x(at), 400, axis.x(at), 406 + dy, colour, 2)
        p.text(axis.x(at) + (-5 if dy else 5), 412 + dy, text, colour, 11, anchor="end" if dy else None)
    p.text(axis.x((EARLIEST + LATEST) / 2), 62, "renewal", BLUE, 12, True, "middle")
    p.text(16, 508, "The times and pauses: docs/design.md, \"When a credential is renewed\".", DIM, 11)
    return p.done()
