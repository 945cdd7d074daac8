# SPDX-License-Identifier: MIT
"""SIGKILL at every system call of a publish: a consumer sees a complete set at each point, and the next run repairs the
rest. The state that is written down and every kind of target take part."""
import json
import os
import shutil
import subprocess

import pytest

from faults import (CREDFRESH, agent, agent_factory, cloud, cloud_factory, eventually, injected, needs,  # noqa: F401
                    plain_binary, read_text, trace)
from targets import FILE, Directory, File, Profile

CALLS = ("openat2 openat mkdirat write fsync fdatasync fchmod fchown fchownat symlinkat linkat renameat renameat2 "
         "unlinkat ftruncate fallocate fcntl flock").split()


def shape(agent):
    """What stands on the disk, without the random parts of temporary names."""
    found = []
    for root in (agent.out, agent.state):
        for directory, names, files in os.walk(root):
            for name in names + files:
                path = os.path.join(directory, name)
                known = name.split(".credfresh-")[0]
                size = 0 if os.path.isdir(path) else os.lstat(path).st_size
                link = os.readlink(path) if os.path.islink(path) else ""
                found.append((directory.split(".credfresh-")[0], known, size, oct(os.lstat(path).st_mode), link))
    return sorted(found) + [sorted(p.name.split(".credfresh-")[0] for p in agent.dir.iterdir())]


def restore(agent, base):
    shutil.rmtree(agent.dir)
    shutil.copytree(base, agent.dir, symlinks=True)


def recover(agent, kind, first):
    """The next run finds its way, whatever was left behind."""
    done = agent.run("once")
    assert done.returncode == 0, done.stderr
    assert kind.view(agent) not in (None, first)
    kind.clean(agent)
    assert not [p.name for root in (agent.dir, agent.state) for p in root.iterdir() if ".credfresh-" in p.name]


@plain_binary
@pytest.mark.parametrize("again", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("kind", [Directory(), File(), Profile()], ids=lambda kind: type(kind).__name__.lower())
def test_killed_at_every_call(agent, tmp_path, kind, again):
    needs("strace")
    agent.configure(agent.credential(publish=kind.target(agent)))
    kind.prepare(agent)
    base = tmp_path / "base"
    if again:  # a generation that has expired is what stands there
        agent.cloud.fault(kind="short_life", s=1)
        assert agent.run("once").returncode == 0
        expires = json.loads(read_text(agent.state / "demo.json"))["expires_ms"]
        eventually(lambda: subprocess.check_output(["date", "+%s%3N"]).decode() > expires, "the end of a short life")
    first = kind.view(agent)
    assert (first is not None) == again
    shutil.copytree(agent.dir, base, symlinks=True)
    calls = trace(agent, CALLS)
    # All before the way to the target is gone, after the answer has come, is reading only, and so is going it.
    at = max(i for i, (_, _, args) in enumerate(calls) if "ca.pem" in args)
    begin = next(i for i, (_, _, args) in enumerate(calls) if i > at and ('"/", O_' in args or "RESOLVE_CACHED" in args))
    points = [(call, nth) for call, nth, args in calls[begin:] if "O_PATH" not in args]
    killed = 0
    seen = None
    kinds = set()
    for call, nth in points:
        restore(agent, base)
        done = subprocess.run([*injected(call, nth, "signal=KILL"), CREDFRESH, "once", "-c", str(agent.config_path)],
                              capture_output=True, text=True, timeout=60, cwd=agent.dir)
        killed += done.returncode == -9
        assert done.returncode in (-9, 0), (call, nth, done.stderr)
        view = kind.view(agent)
        kinds.add("none" if view is None else "old" if view == first else "new")
        assert view is not None or not again, (call, nth)
        now = shape(agent)
        if now != seen:  # many calls leave the disk as it was
            recover(agent, kind, first)
            seen = now
    assert killed >= len(points) * 9 // 10 and killed > 20
    assert kinds == {"old" if again else "none", "new"}


@plain_binary
@pytest.mark.parametrize("kind", ["directory", "file"])
def test_killed_before_it_is_written_down(agent, tmp_path, kind):
    """The next run finds the very token published that it would publish: the consumer was not told of it yet."""
    needs("strace")
    base = tmp_path / "base"
    runs = agent.dir / "runs"
    token = agent.dir / "token"
    hook = agent.dir / "hook"
    hook.write_text(f"#!/bin/sh\necho run >>{runs}\n")
    hook.chmod(0o755)
    agent.configure(agent.credential(token={"file": str(token)}, exchange=None, reload=[{"exec": [str(hook)]}], publish={
        "directory": {"directory": str(agent.out), "files": [{"name": "token", "format": "token"}]},
        "file": {"file": {"path": str(agent.out / "token"), "format": "token"}}}[kind]))
    agent.out.mkdir()
    token.write_text(agent.cloud.token())
    assert agent.run("once").returncode == 0 and read_text(runs) == "run\n"
    token.write_text(agent.cloud.token(expires_in_s=7200))
    shutil.copytree(agent.dir, base, symlinks=True)
    calls = trace(agent, ("renameat", "renameat2"))
    assert read_text(runs) == "run\n" * 2
    restore(agent, base)
    swap = next(i for i, (_, _, args) in enumerate(calls) if '"..data"' in args or '"token"' in args)
    call, nth, args = calls[swap + 1]
    assert "demo.json" in args
    done = subprocess.run([*injected(call, nth, "signal=KILL"), CREDFRESH, "once", "-c", str(agent.config_path)],
                          capture_output=True, text=True, timeout=60, cwd=agent.dir)
    assert done.returncode == -9, done.stderr
    assert (agent.out / "token").read_text() == token.read_text() and read_text(runs) == "run\n"
    for _ in range(2):  # and once is enough
        assert agent.run("once").returncode == 0
        assert read_text(runs) == "run\n" * 2
