#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Instructions of the hot paths, counted by callgrind, and system calls of whole jobs (calls.py), against those in counts.json:
unlike times they do not drift. Exits non-zero if instructions are more than 3 %, or calls more than 10 % (and 20 calls), above the recorded ones.

Counts depend on the compiler, libc and the type of the build, which are recorded next to them. Where these differ nothing is
compared: the counts are printed with the reason, and the exit status is 0.

usage: counts.py [--write] [BUILD_DIR]        (default: build/dev)

--write: records the counts of this machine. Do so in the commit that changes them, and say there why.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

import calls
from common import ROOT

# Few and many times; the difference of the two counts leaves out what happens once.
PATHS = {"answer": ("an endpoint's answer (AWS container)", 200, 1200), "claims": ("a token's claims read", 100, 600),
         "publish": ("a publish of three files", 20, 120), "acquire": ("a reader's acquire and release", 1000, 11000)}
TOLERANCE = 0.03
CALLS_TOLERANCE = 0.1
CALLS_CHANCE = 20  # how many more may be due to chance, which counts in a short job
FILE = ROOT / "bench/counts.json"
# The variants of memcpy and the like that every x86-64 has.
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX,-AVX512F,-ERMS,-FSRM,-BMI2,-MOVBE", "LC_ALL": "C", "PATH": os.environ["PATH"]}


def circumstances(build):
    """What counts depend on."""
    cache = dict(re.findall(r"^(CMAKE_BUILD_TYPE|CMAKE_C_COMPILER|CMAKE_C_FLAGS|CFR_SANITIZE):\w+=(.*)$",
                            (build / "CMakeCache.txt").read_text(), re.M))
    version = subprocess.run([cache["CMAKE_C_COMPILER"], "--version"], check=True, capture_output=True, text=True).stdout
    flags = " ".join(filter(None, (cache.get("CMAKE_C_FLAGS"), cache.get("CFR_SANITIZE"))))
    return {"compiler": version.splitlines()[0], "libc": " ".join(platform.libc_ver()), "machine": platform.machine(),
            "build": " ".join(filter(None, (cache["CMAKE_BUILD_TYPE"], flags)))}


def collected(program, name, times):
    """Instructions of a whole run."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, str(times), directory],
                              capture_output=True, text=True, env=ENVIRONMENT, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"counts.py: {name}: valgrind ended with {done.returncode}: {done.stderr.strip()}")
    return int(found.group(1))


def count(build):
    program = build / "bench/bench_counts"
    return {name: round((collected(program, name, many) - collected(program, name, few)) / (many - few))
            for name, (_, few, many) in PATHS.items()}


def compare(counts, recorded, texts, unit, tolerance, different, chance=0):
    """Prints them; the names of those above the recorded ones."""
    more = []
    for name, text in texts.items():
        change = counts[name] / recorded[name] - 1
        print(f"{text}: {counts[name]} {unit}" + ("" if different else f", recorded {recorded[name]} ({change:+.1%})"))
        if change > tolerance and counts[name] - recorded[name] > chance:
            more.append(name)
        elif change < -tolerance and not different:
            print("  fewer than recorded: run bench/counts.py --write, so that they stay as few")
    return more


def main():
    arguments = argparse.ArgumentParser(usage="counts.py [--write] [BUILD_DIR]")
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("build", type=pathlib.Path, nargs="?", default=ROOT / "build/dev")
    options = arguments.parse_args()
    here = circumstances(options.build)
    counts = count(options.build)
    system = calls.count(options.build)
    if options.write:
        FILE.write_text(json.dumps({**here, "counts": counts, "calls": system}, indent=1) + "\n")
    recorded = json.loads(FILE.read_text())
    different = [f"{key} {value}, recorded with {recorded[key]}" for key, value in here.items() if recorded[key] != value]
    more = compare(counts, recorded["counts"], {name: text for name, (text, _, _) in PATHS.items()}, "instructions", TOLERANCE, different)
    more += compare(system, recorded["calls"], calls.JOBS, "system calls", CALLS_TOLERANCE, different, CALLS_CHANCE)
    if different:
        print(f"counts.py: skipped, nothing is compared: {'; '.join(different)}")
    elif more:
        sys.exit(f"counts.py: too far above the recorded counts: {', '.join(more)}; find out why with callgrind or strace, or "
                 "record them with bench/counts.py --write and give the reason in the commit")


if __name__ == "__main__":
    main()
