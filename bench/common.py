# SPDX-License-Identifier: MIT
"""What the benchmarks share: the programs and the local cloud as the integration tests run them, a scratch folder, and figures
with their limits, which become the rows of the table in README.md."""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "test/integ"), str(ROOT / "tools/pictures")]  # processes.py; svg.py
from processes import CREDFRESH, Agent, LocalCloud, eventually  # noqa: E402,F401

RESULTS = []  # of verdict()


@contextlib.contextmanager
def scratch(in_memory=False):
    """A folder in /tmp, or on the tmpfs that glibc expects for shm_open(3): like /run, where the agent's state and what it
    publishes are by default, and like the kubelet's volumes."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="credfresh-bench-", dir="/dev/shm" if in_memory else None))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def local_cloud(directory, **how):
    cloud = LocalCloud(directory / "cloud", **how)
    try:
        yield cloud
    finally:
        cloud.stop()


def kind_of(binary):
    """"static" of a program that names no loader."""
    headers = subprocess.run(["readelf", "-lW", binary], check=True, capture_output=True, text=True).stdout
    return "dynamic" if "INTERP" in headers else "static"


def spread(values):
    """median [10th percentile, 90th percentile]"""
    ordered = sorted(values)
    return (statistics.median(ordered), ordered[len(ordered) // 10], ordered[len(ordered) * 9 // 10])


def verdict(benchmark, value, limit, unit="", at_least=False, detail=""):
    """Prints a figure with its limit and keeps both for finish(). BENCHMARK and DETAIL are texts of the table."""
    ok = value >= limit if at_least else value <= limit
    RESULTS.append({"benchmark": benchmark, "value": round(value, 3), "limit": limit, "unit": unit.strip(), "at_least": at_least,
                    "ok": ok, "detail": detail, "command": "python3 bench/" + " ".join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])})
    print(f"{benchmark}: {value:.2f}{unit} ({'at least' if at_least else 'at most'} {limit}{unit}): {'ok' if ok else 'OVER THE LIMIT'}",
          flush=True)
    return ok


def row(result):
    """A result as a row of README.md's table."""
    unit = " " + result["unit"] if result["unit"] else ""
    limit = f"{'at least ' if result['at_least'] else ''}{result['limit']:g}{unit}"
    figure = f"{result['value']:.2f}{unit}"
    if not result["ok"]:
        figure = f"**{figure}, over the limit**"
    detail = f" ({result['detail']})" if result["detail"] else ""
    return f"| {result['benchmark']} | {limit} | {figure}{detail} | `{result['command']}` |"


def finish():
    """Prints the rows of all verdicts, hands them to all.py if that runs the benchmark, and returns the exit status."""
    print()
    for result in RESULTS:
        print(row(result))
    if "CFR_BENCH_RESULTS" in os.environ:
        pathlib.Path(os.environ["CFR_BENCH_RESULTS"]).write_text(json.dumps(RESULTS))
    return 0 if RESULTS and all(result["ok"] for result in RESULTS) else 1
