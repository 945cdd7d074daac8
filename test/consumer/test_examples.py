# SPDX-License-Identifier: MIT
"""The examples for libcredfresh at work: each follows a volume through twenty updates in one process."""
import os
import pathlib
import subprocess
import sys
import threading

import pytest

from volume import Volume

PROGRAMS = pathlib.Path(os.environ["CFR_CONSUMERS"])
SOURCES = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def volume(tmp_path):
    return Volume(tmp_path / "volume")


@pytest.fixture
def start():
    """Starts a program; what does not end within a minute is killed, so that no read waits for ever."""
    started = []

    def begin(*command, **how):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)
        timer = threading.Timer(60, process.kill)
        timer.start()
        started.append((process, timer))
        return process

    yield begin
    for process, timer in started:
        timer.cancel()
        process.kill()
        process.communicate()


@pytest.mark.parametrize("program", ["plain_poll", "with_libevent", "with_libuv"])
@pytest.mark.parametrize("begins_with", ["a token", "nothing"])
def test_loop(volume, start, program, begins_with):
    if begins_with == "a token":
        volume.update(token="token 1")
    process = start(PROGRAMS / program, volume.path)
    if begins_with == "a token":
        assert process.stdout.readline() == "1 token 1\n"
    while volume.number < 20:
        volume.update(token=f"token {volume.number + 1}")
        assert process.stdout.readline() == f"{volume.number} token {volume.number}\n"
    out, _ = process.communicate()
    assert (out, process.returncode) == ("", 0)


def test_workers(volume, start, tmp_path):
    in_use = tmp_path / "in-use"
    volume.update(token="token 1")
    process = start(PROGRAMS / "workers", volume.path, in_use)
    for number in range(2, 21):
        volume.update(token=f"token {number}")
        while not in_use.exists() or in_use.read_text() != f"{number}\n":
            assert process.poll() is None
    out, _ = process.communicate()
    assert (out, process.returncode) == ("token 20\n" * 3, 0)


PYTHON = """
import credfresh, select, sys
with credfresh.Watcher(sys.argv[1], names=["token"]) as watcher:
    while watcher.wait(60):
        snapshot = watcher.snapshot()
        assert list(snapshot) == ["token"] and not watcher.changed(snapshot.sequence)
        assert watcher.status()["generation"] == snapshot.generation and watcher.status()["mode"] == 1
        credfresh.acknowledge(snapshot.generation, sys.argv[2])
        print(snapshot.generation, snapshot["token"].decode(), snapshot.expires, flush=True)
        if snapshot.generation == 20:
            break
watcher.close()
for method, arguments in ("fileno", ()), ("dispatch", ()), ("wait", (0,)), ("after_fork", ()), ("changed", (0,)), \
        ("snapshot", ()), ("status", ()):
    try:
        print(method, getattr(watcher, method)(*arguments))
    except ValueError as error:
        assert str(error) == "the watcher is closed"
try:
    credfresh.Watcher("")
except credfresh.Error as error:
    print(error.code, error)
"""


@pytest.mark.skipif("CREDFRESH_LIBRARY" not in os.environ, reason="an instrumented library cannot be loaded into Python")
def test_python(volume, start, tmp_path):
    in_use = tmp_path / "in-use"
    volume.update(token='{"expires_at":1767323045}')
    process = start(sys.executable, "-c", PYTHON, volume.path, in_use,
                    env=dict(os.environ, PYTHONPATH=str(SOURCES / "libcredfresh/python"), PYTHONDONTWRITEBYTECODE="1"))
    assert process.stdout.readline() == '1 {"expires_at":1767323045} 1767323045\n'
    while volume.number < 20:
        volume.update(token=f"token {volume.number + 1}")
        assert process.stdout.readline() == f"{volume.number} token {volume.number} None\n"
        assert in_use.read_text() == f"{volume.number}\n"
    assert process.stdout.readline() == "-1 the directory is empty\n"
    assert process.wait(10) == 0
