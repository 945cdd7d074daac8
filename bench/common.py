# SPDX-License-Identifier: MIT
"""What the benchmarks share: the harness of the integration tests, a scratch folder, and figures in one line each."""
import contextlib
import pathlib
import shutil
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "test/integ"))
from conftest import CREDFRESH, Agent, LocalCloud, eventually  # noqa: E402,F401


@contextlib.contextmanager
def scratch():
    path = pathlib.Path(tempfile.mkdtemp(prefix="credfresh-bench-"))
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


def spread(values):
    """median [10th percentile, 90th percentile]"""
    ordered = sorted(values)
    return (statistics.median(ordered), ordered[len(ordered) // 10], ordered[len(ordered) * 9 // 10])


def verdict(what, value, limit, unit=""):
    good = value <= limit
    print(f"{what}: {value:.2f}{unit} (at most {limit}{unit}): {'ok' if good else 'TOO MUCH'}")
    return good
