# SPDX-License-Identifier: MIT
"""The figures of the last full run that were kept, in measured.json: {SDK:WAY: {left_s, per_hour, pause_s, back_s}}.

left_s is how long before the end of what an endpoint gave it a way asks again; per_hour how often it asks in an hour of the fast
clock, a minute, in which it makes 60 calls; pause_s how long it waits in an outage until it asks again, at most; back_s how long
after the agent it works again.
"""
import json
import pathlib

FILE = pathlib.Path(__file__).with_name("measured.json")
LONGER_S = 60  # pauses in an outage depend on when it begins
FIGURES = ("left_s", "per_hour", "pause_s", "back_s")


def load():
    return json.loads(FILE.read_text())


def write(results):
    """Keeps the figures of RESULTS, and those of ways that did not run."""
    kept = load() if FILE.exists() else {}
    kept.update({result["way"]: {figure: result[figure] for figure in FIGURES} for result in results})
    lines = (f"{json.dumps(way)}: {json.dumps(kept[way])}" for way in sorted(kept))
    FILE.write_text("{" + ",\n ".join(lines) + "}\n")


def far(seen, kept, slack):
    """Whether they differ by more than half, and more than SLACK."""
    return abs(seen - kept) > max(slack, max(seen, kept) / 2)


def difference(result, kept=None):
    """What is not as it was measured before, or None."""
    kept = (load() if kept is None else kept).get(result["way"])
    if kept is None:
        return "measured.json has no figures of it"
    # A run may be too short to see the end, and an SDK that asks at random times has luck.
    if None not in (result["left_s"], kept["left_s"]) and far(result["left_s"], kept["left_s"], 30):
        return f"asks again {result['left_s']} s before the end, not {kept['left_s']}"
    if (result["per_hour"] is None) != (kept["per_hour"] is None) or far(result["per_hour"] or 0, kept["per_hour"] or 0, 3):
        return f"asks {result['per_hour']} times per hour, not {kept['per_hour']}"
    if (result["pause_s"] or 0) > (kept["pause_s"] or 0) + LONGER_S:
        return f"asks again within {result['pause_s']} s in an outage, not {kept['pause_s']}"
    return None
