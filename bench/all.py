#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the benchmarks, pairs each figure with its limit, and writes bench/results.json and docs/pictures/bench.svg, which
bench/README.md shows. Exits non-zero if a limit is exceeded or a benchmark fails.

usage: all.py [--short] [--draw] [NAME...]        (default: all; names are those of the scripts, such as "once lib")

--short: fewer rounds, to see that everything runs. --draw: no run, only the picture and the table from results.json.
Results of benchmarks that are not named stay in the file.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import textwrap

from common import ROOT, row
from svg import DIM, GREEN, Picture, RED, TEXT

# The arguments, and those of a short run.
BENCHMARKS = {"once": ([], ["10"]), "swap": ([], ["20"]), "memory": ([], []), "watched": ([], ["--targets", "1000"]),
              "start": ([], ["100"]), "reload": ([], ["4"]), "follower": ([], ["--rotations", "5"]), "wakeups": ([], ["0.5"]), "lib": ([], []),
              "storm": (["build/dev"], ["--credentials", "100", "--rounds", "2", "build/dev"]),
              "endpoints": ([], ["--seconds", "3"]), "fleet": ([], ["--agents", "20000"])}
FILE, PICTURE = ROOT / "bench/results.json", ROOT / "docs/pictures/bench.svg"
WIDTH, LEFT, LINE, GAP, SCALE = 1080, 540, 16, 8, 80  # pixels; SCALE: of a bar that is just at its limit
LABEL, MOST = 84, 3  # characters of a line; bars are not longer than this many limits


def run(name, short):
    """What the benchmark found: its verdicts; None if it did not get that far."""
    with tempfile.TemporaryDirectory() as directory:
        results = pathlib.Path(directory) / "results"
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, ROOT / f"bench/{name}.py", *BENCHMARKS[name][short]], cwd=ROOT, check=False,
                       env={**os.environ, "CFR_BENCH_RESULTS": str(results)})
        return json.loads(results.read_text()) if results.exists() else None


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("model name")),
               platform.machine())
    return f"{os.cpu_count()} processors ({cpu}), kernel {platform.release().split('-')[0]}, {' '.join(platform.libc_ver())}"


def score(result):
    """How good a figure is: 1 is just at its limit, more is better."""
    better, worse = (result["value"], result["limit"]) if result["at_least"] else (result["limit"], result["value"])
    return better / worse if worse else MOST


def draw(document):
    """One bar for each figure: the longer, the better."""
    results = [r for rows in document["benchmarks"].values() for r in rows if r["limit"]]
    labels = [textwrap.wrap(r["benchmark"].replace("`", ""), LABEL) for r in results]
    height = 72 + sum(GAP + LINE * len(label) for label in labels)
    p = Picture(WIDTH, height, "The benchmarks", f"{sum(r['ok'] for r in results)} of {len(results)} figures are within their "
                "limits. Longer bars are better; a bar that ends left of the line is over its limit.")
    p.text(LEFT + SCALE, 24, "limit", DIM, 11, anchor="middle")
    p.text(LEFT + SCALE + 30, 24, "better \u2192", DIM, 11)
    y = 34
    for result, label in zip(results, labels):
        unit = f" {result['unit']}" if result["unit"] else ""
        value = f"{result['value']:.2f}{unit}"
        limit = f"{'at least' if result['at_least'] else 'at most'} {result['limit']:g}"
        p.lines(16, y + 13, label, TEXT, 12, step=LINE)
        p.rect(LEFT, y, min(score(result), MOST) * SCALE, 16, GREEN if result["ok"] else RED, radius=2)
        p.text(LEFT + MOST * SCALE + 8, y + 13, f"{value} ({limit})" if result["ok"] else f"{value}: over its limit, {limit}",
               TEXT if result["ok"] else RED, 12)
        y += GAP + LINE * len(label)
    p.line(LEFT + SCALE, 28, LEFT + SCALE, height - 32, DIM, 1, "3 3")
    p.text(16, height - 12, f"{document['date']}, {document['machine']}. Bars end at {MOST} times better than the limit.", DIM, 11)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(p.done())


def main():
    arguments = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", maxsplit=1)[-1].split("\n", maxsplit=1)[0])
    arguments.add_argument("--short", action="store_true")
    arguments.add_argument("--draw", action="store_true")
    arguments.add_argument("names", nargs="*", metavar="NAME")
    options = arguments.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        arguments.error(f"unknown benchmark \"{unknown.pop()}\": use {', '.join(BENCHMARKS)}")
    document = json.loads(FILE.read_text()) if FILE.exists() else {"benchmarks": {}}
    failed = []
    for name in [] if options.draw else options.names or BENCHMARKS:
        found = run(name, options.short)
        if found is None:
            failed.append(name)
        else:
            document["benchmarks"][name] = found
            document.update(date=datetime.date.today().isoformat(), machine=machine(), short=options.short)
    if not document["benchmarks"]:
        sys.exit("all.py: there are no results")
    FILE.write_text(json.dumps(document, indent=1) + "\n")
    draw(document)
    results = [r for rows in document["benchmarks"].values() for r in rows]
    print("\n| benchmark | limit | measured | command |\n|---|---|---|---|")
    for result in results:
        print(row(result))
    over = [r["benchmark"] for r in results if not r["ok"]]
    print(f"\n{len(results)} figures, {len(over)} over the limit" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if over or failed else 0


if __name__ == "__main__":
    sys.exit(main())
