# SPDX-License-Identifier: MIT
"""Helpers of the fault tests: the harness of the integration tests, strace, and mounts of their own."""
import collections
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integ"))
import shifted_clock  # noqa: E402
from conftest import (CREDFRESH, LIMIT_S, ROLE, Agent, LocalCloud, agent, agent_factory, cloud, needs_namespace,  # noqa: E402,F401
                      cloud_factory, eventually, read_text)

SANITIZED = os.environ.get("CFR_SANITIZED") == "1"
own_clock = pytest.mark.skipif(shifted_clock.missing(CREDFRESH) is not None, reason=f"there is no {shifted_clock.missing(CREDFRESH)}")
plain_binary = pytest.mark.skipif(SANITIZED, reason="the sanitizers do not go with strace and preloaded libraries")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for mounts, other users or namespaces")

CLONE_NEWNS = 0x00020000
LINE = re.compile(r"^(?:\[pid +)?(\d+)?\]? *([a-z0-9_]+)\((.*)$")


def needs(*programs):
    """Skips the test, with the reason, where one of PROGRAMS is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def library(variable):
    """A preloadable library of ours, named by the environment."""
    path = os.environ.get(variable)
    if path is None or not os.path.exists(path):
        pytest.skip(f"{variable} names no library")
    return path


def own_mounts():
    """Gives this process a mount namespace of its own, so that nothing it mounts is left behind."""
    needs_namespace("-m")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        pytest.skip("no mount namespace: " + os.strerror(ctypes.get_errno()))
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def trace(agent, calls, argv=("once",), env=None):
    """Runs credfresh under strace; [(call, how many times that process has called it, arguments)] in order."""
    log = agent.dir.with_suffix(".strace")
    done = subprocess.run(["strace", "-f", "--seccomp-bpf", "-s", "512", "-o", str(log), "-e", "trace=" + ",".join(calls),
                           CREDFRESH, argv[0], "-c", str(agent.config_path), *argv[1:]], capture_output=True, text=True,
                          timeout=60, env={**os.environ, **(env or {})}, cwd=agent.dir)
    assert done.returncode == 0, done.stderr
    counts = collections.Counter()
    lines = []
    for line in read_text(log).splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        pid, call, rest = match.groups()
        counts[pid, call] += 1
        lines.append((call, counts[pid, call], rest))
    return lines


def injected(call, nth, what):
    """The command line that makes the NTH call of CALL go wrong in the way that WHAT says."""
    # Signals are not injected together with --seccomp-bpf.
    return ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={nth}"]


def snapshot(directory):
    """{path below DIRECTORY: (mode, bytes)} as a consumer who follows every link sees it."""
    seen = {}
    root = pathlib.Path(directory)
    if not root.exists():
        return seen
    for path in sorted(root.iterdir()):
        if path.name.startswith("..") or not path.is_file():
            continue
        seen[path.name] = (path.stat().st_mode & 0o7777, path.read_bytes())
    return seen
