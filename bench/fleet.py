#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A fleet of agents in virtual time (fleet.c): how evenly it sends its requests, how soon it recovers, and whether anybody is left
without a credential that could be had.

usage: fleet.py [--agents N] [--draw]

--draw: also writes the pictures of docs/fleet.md, docs/pictures/fleet-*.svg, and prints its table.
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys

from common import ROOT, finish, verdict
from svg import AMBER, BLUE, DIM, PALE, Picture, RED, TEXT

PROGRAM = os.environ.get("CFR_BENCH_FLEET", str(ROOT / "build/dev/bench/bench_fleet"))
PICTURES = ROOT / "docs/pictures"
# Title of the picture; bands that it marks: from and to (minutes), and what happens then.
SCENARIOS = {
    "start": ("All agents start at once", []),
    "start-throttled": ("All agents start at once; the cloud grants 200 requests per second", []),
    "outage": ("The cloud does not answer for an hour, and then grants 500 requests per second", [(180, 240, "no answer")]),
    "throttled": ("The cloud does not answer for an hour, and then grants 100 requests per second, with Retry-After: 5",
                  [(180, 240, "no answer")]),
    "clock-forward": ("The clocks of a quarter of the agents are set forward by 30 minutes", [(180, 181, "clocks are set")]),
    "clock-back": ("The clocks of a quarter of the agents are set back by 30 minutes", [(180, 181, "clocks are set")]),
    "issuer-key": ("The cloud refuses every token for 30 minutes, because the issuer's key expired", [(180, 210, "refused")]),
}
# Without limits, because the kubelet sets this pace.
KUBELET = {"start-short-tokens": ("All agents start at once, with tokens of an hour, which the kubelets renew", [])}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 300, 84, 56, 20, 48


def simulate(name, agents):
    """The figures, and requests, grants and agents without a credential by minute."""
    figures, minutes = {}, []
    for line in subprocess.run([PROGRAM, name, str(agents)], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if words[0] == "minute":
            minutes.append([int(word) for word in words[2:]])
        else:
            figures[words[0]] = float(words[1])
    return figures, minutes


def draw(name, title, bands, minutes):
    """Requests of each minute and agents without a valid credential, on a logarithmic scale from 100 to 1,000,000."""
    peak = max(row[0] for row in minutes)
    p = Picture(WIDTH, HEIGHT, title, f"Requests in each minute of ten hours, at most {peak:,}, and agents without a valid credential.")
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(minute):
        return LEFT + (right - LEFT) * minute / len(minutes)

    def y(value):
        return bottom - (bottom - TOP) * min((math.log10(max(value, 100)) - 2) / 4, 1)

    p.text(16, 26, title, TEXT, 14, True)
    for first, last, what in bands:
        p.rect(x(first), TOP, x(last) - x(first), bottom - TOP, PALE[AMBER])
        p.text(x(first), TOP - 6, what, AMBER, 11)
    for power in range(2, 7):
        p.line(LEFT, y(10 ** power), right, y(10 ** power))
        p.text(LEFT - 8, y(10 ** power) + 4, f"{10 ** power:,}", DIM, 11, anchor="end")
    for hour in range(0, len(minutes) // 60 + 1, 2):
        p.text(x(hour * 60), bottom + 16, f"{hour} h", DIM, 11, anchor="middle")
    for column, what, colour, place in ((0, "requests in each minute", BLUE, LEFT), (2, "agents without a valid credential", RED, LEFT + 240)):
        p.path("M" + "L".join(f"{x(i + 0.5):.1f} {y(row[column]):.1f}" for i, row in enumerate(minutes)), colour, 1.5)
        p.line(place, HEIGHT - 14, place + 20, HEIGHT - 14, colour, 2)
        p.text(place + 26, HEIGHT - 10, what, TEXT, 12)
    (PICTURES / f"fleet-{name}.svg").write_text(p.done())


def table_row(name, figures, minutes):
    peak = max(row[0] for row in minutes)
    recovery = f"{figures['recovery_s']:.0f} s" if figures["recovery_s"] > 0.5 else "-"
    if figures["ideal_s"]:
        recovery += f" ({figures['recovery_s'] / figures['ideal_s']:.2f} times {figures['ideal_s']:.0f} s)"
    return (f"| [{name}](pictures/fleet-{name}.svg) | {peak:,} | {figures['highest_to_mean']:.2f} | {figures['bare']:,.0f} | {recovery} "
            f"| {figures['late']:.0f} |")


def main():
    arguments = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", maxsplit=1)[-1].split("\n", maxsplit=1)[0])
    arguments.add_argument("--agents", type=int, default=100000)
    arguments.add_argument("--draw", action="store_true")
    options = arguments.parse_args()
    figures, rows = {}, []
    for name, (title, bands) in {**SCENARIOS, **KUBELET}.items():
        found, minutes = simulate(name, options.agents)
        figures[name] = found
        rows.append(table_row(name, found, minutes))
        print(f"{name}: highest to mean {found['highest_to_mean']:.2f}, recovery {found['recovery_s']:.0f} s, late {found['late']:.0f}",
              flush=True)
        if options.draw:
            draw(name, title, bands, minutes)
    if options.draw:
        print("\n".join(rows))
    limited = [figures[name] for name in SCENARIOS]
    fleet = f"fleet of {options.agents:,} agents, worst of {len(limited)} scenarios: "
    uneven = max(f["highest_to_mean"] for f in limited)
    verdict(fleet + "highest to mean requests per minute from the fourth life on", uneven, 1.5)
    slow = max(f["recovery_s"] / f["ideal_s"] for f in limited if f["ideal_s"])
    verdict(fleet + "time to recover, compared with what the cloud's limit allows", slow, 1.2)
    late = sum(f["late"] for f in limited)
    verdict(fleet + "agents left past expiry although the cloud could have served them", late, 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
