#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A fleet of agents in virtual time (fleet.c): how evenly it sends its requests, how soon it recovers, and whether anybody is left
without a credential that could be had.

usage: fleet.py [--agents N] [--draw]

--draw: also writes the pictures of docs/fleet.md, docs/pictures/fleet-*.svg, and prints its table.
"""
import argparse
import html
import math
import os
import pathlib
import subprocess
import sys

from common import ROOT, finish, verdict

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
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 300, 62, 40, 12, 44
COLOURS = {"requests": "line1", "without a valid credential": "line2"}


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
    def x(minute):
        return LEFT + (WIDTH - LEFT - RIGHT) * minute / len(minutes)

    def y(value):
        part = (math.log10(max(value, 100)) - 2) / 4
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(part, 1)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">',
           "<style>text{font:12px system-ui,sans-serif;fill:#24292f}.grid{stroke:#8c959f;stroke-opacity:.35}.band{fill:#8c959f;"
           "fill-opacity:.25}.line1,.line2{fill:none;stroke-width:1.5}.line1{stroke:#0969da}.line2{stroke:#cf222e}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.line1{stroke:#58a6ff}.line2{stroke:#ff7b72}}</style>",
           f'<text x="{LEFT}" y="18">{html.escape(title)}</text>']
    for first, last, what in bands:
        out += [f'<rect class="band" x="{x(first):.1f}" y="{TOP}" width="{x(last) - x(first):.1f}" height="{HEIGHT - TOP - BOTTOM}"/>',
                f'<text x="{x(first):.1f}" y="{TOP - 4}">{html.escape(what)}</text>']
    for value, label in ((100, "100"), (1000, "1,000"), (10000, "10,000"), (100000, "100,000"), (1000000, "1,000,000")):
        out += [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>',
                f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>']
    out += [f'<text x="{x(hour * 60):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{hour} h</text>'
            for hour in range(0, len(minutes) // 60 + 1, 2)]
    for column, (what, style) in zip((0, 2), COLOURS.items()):
        points = " ".join(f"{x(i + 0.5):.1f},{y(row[column]):.1f}" for i, row in enumerate(minutes))
        place = LEFT + 230 * list(COLOURS).index(what)
        label = "requests in each minute" if what == "requests" else "agents " + what
        out += [f'<polyline class="{style}" points="{points}"/>',
                f'<line class="{style}" x1="{place}" x2="{place + 20}" y1="{HEIGHT - 12}" y2="{HEIGHT - 12}"/>',
                f'<text x="{place + 26}" y="{HEIGHT - 8}">{label}</text>']
    (PICTURES / f"fleet-{name}.svg").write_text("\n".join([*out, "</svg>"]) + "\n")


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
    verdict(fleet + "highest to mean requests per minute after the first life", uneven, 1.5)
    slow = max(f["recovery_s"] / f["ideal_s"] for f in limited if f["ideal_s"])
    verdict(fleet + "time to recover, compared with what the cloud's limit allows", slow, 1.2)
    late = sum(f["late"] for f in limited)
    verdict(fleet + "agents left past expiry although the cloud could have served them", late, 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
