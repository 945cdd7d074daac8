# SPDX-License-Identifier: MIT
"""Container runtimes whose filters know only the system calls of Linux 5.0 and before."""
import errno
import os
import pathlib
import platform
import subprocess
import sys

import pytest

from conftest import eventually

OLD = [sys.executable, str(pathlib.Path(__file__).parent / "old_runtime.py")]
SINCE_5_1 = 424

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="numbers of calls differ")


@pytest.fixture(params=[errno.ENOSYS, errno.EPERM], ids=["ENOSYS", "EPERM"])
def old(agent, request):
    agent.wrapper = [*OLD, str(request.param), str(SINCE_5_1)]
    done = subprocess.run([*agent.wrapper, "/bin/true"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return agent


def test_a_command_runs_once(old):
    ran = old.dir / "ran"
    hook = {"exec": ["/bin/sh", "-c", f"echo x >> {ran}"], "on_first": "run"}
    old.configure(old.credential(reload=[hook])).start(wrapper=old.wrapper)
    eventually(lambda: old.status().get("hooks", [{}])[0].get("result") == "ok", lambda: f"the hook:\n{old.log}")
    assert ran.read_text() == "x\n"
    assert old.run("rotate", "demo").returncode == 0
    eventually(lambda: ran.read_text() == "x\nx\n", lambda: f"the second one:\n{old.log}")
    assert "failed" not in old.log and not zombies(old.process.pid)
    assert old.stop() == 0


def test_a_signal_needs_the_call(old):
    """A pid may be another process's by the time that it is signalled."""
    (old.dir / "pid").write_text(f"{os.getpid()}\n")
    hook = {"signal": {"pid_file": str(old.dir / "pid"), "signal": "CONT"}, "on_first": "run"}
    old.configure(old.credential(reload=[hook])).start(wrapper=old.wrapper)
    eventually(lambda: "does not allow pidfd_open" in old.log, lambda: old.log)


def zombies(parent):
    return [stat for stat in map(stat_of, pathlib.Path("/proc").glob("[0-9]*/stat")) if stat[:2] == ["Z", str(parent)]]


def stat_of(path):
    try:
        return path.read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
