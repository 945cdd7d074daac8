# SPDX-License-Identifier: MIT
"""The reader of the log stands still: everything else continues, and what was not written is counted."""
import fcntl
import os
import pty
import re
import signal
import socket
import subprocess

import pytest

from conftest import CREDFRESH, eventually, read_text
from processes import LIMIT_S
from test_hostile import HANG_S, root_only, slowest_answer
from test_hung_disk import frozen  # noqa: F401


def a_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    return reader, writer


def a_stream():
    """What the journal gives."""
    reader, writer = socket.socketpair()
    writer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return reader.detach(), writer.detach()


def a_terminal():
    return pty.openpty()


def dropped(agent):
    return int(re.search(r"^credfresh_log_lines_dropped_total (\d+)$", agent.request("GET", "/metrics")[1], re.M)[1])


@pytest.mark.parametrize("kind", [a_pipe, a_stream, a_terminal])
def test_a_log_that_nobody_reads(agent, kind):
    reader, writer = kind()
    agent.process = subprocess.Popen([CREDFRESH, "run", "-c", str(agent.config_path)], stdout=subprocess.DEVNULL, stderr=writer,
                                     cwd=agent.dir)
    try:
        eventually(agent.socket.exists, "the agent")
        eventually(lambda: agent.request("POST", "/v1/credentials/demo/rotate", "") and dropped(agent) > 0, "a dropped line")
        generation = agent.status()["generation"]
        eventually(lambda: agent.request("POST", "/v1/credentials/demo/rotate", "")
                   and agent.status()["generation"] > generation, "another generation")
        assert fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK == 0  # hooks write to the same open file

        # A reader that returns is told how many lines it missed.
        os.set_blocking(reader, False)
        text = b""

        def reads():
            nonlocal text
            agent.request("POST", "/v1/credentials/demo/rotate", "")
            try:
                text += os.read(reader, 65536)
            except BlockingIOError:
                pass
            return re.search(rb" \d+ log lines? w(ere|as) dropped", text)

        eventually(reads, lambda: f"the report in {text[-2000:]!r}")
        agent.process.terminate()
        assert agent.process.wait(LIMIT_S) == 0
    finally:
        if agent.process.poll() is None:
            agent.process.kill()
            agent.process.wait(LIMIT_S)
        os.close(reader)
        os.close(writer)


def start_with_log(agent, path):
    with open(path, "ab") as log:
        agent.process = subprocess.Popen([CREDFRESH, "run", "-c", str(agent.config_path)], stdout=subprocess.DEVNULL, stderr=log,
                                         cwd=agent.dir)
    eventually(agent.socket.exists, "the agent")


def log_process(agent):
    done = subprocess.run(["ps", "--ppid", str(agent.process.pid), "-o", "pid=,comm="], capture_output=True, text=True)
    return [int(line.split()[0]) for line in done.stdout.splitlines() if line.endswith("credfresh-log")]


@root_only
def test_a_log_file_on_a_disk_that_hangs(agent, frozen):  # noqa: F811
    path = frozen / "log"
    ran = agent.dir / "ran"
    hook = {"exec": ["/bin/sh", "-c", f"echo x >> {ran}"], "on_first": "run"}
    agent.configure(agent.credential(reload=[hook]))
    start_with_log(agent, path)
    agent.wait_state("fresh")
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    goal = agent.generation() + 5

    def goes_on():
        agent.request("POST", "/v1/credentials/demo/rotate")
        return agent.generation() >= goal

    assert slowest_answer(agent, goes_on) < HANG_S
    eventually(lambda: len(read_text(ran)) >= 2 * 3, "its hooks")
    agent.process.terminate()
    assert agent.process.wait(8) == 0
    subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    # The process that writes it ends when it has written all.
    eventually(lambda: f"published generation {goal}" in path.read_text() and "stopp" in path.read_text().splitlines()[-1],
               lambda: path.read_text())


def test_a_log_file_is_complete(agent):
    """At the end, after a crash, and without the process that writes it."""
    path = agent.dir / "agent.log"
    start_with_log(agent, path)
    agent.wait_state("fresh")
    with open(f"/proc/{log_process(agent)[0]}/status") as status:
        assert re.search(r"^Seccomp:\t1$", status.read(), re.M)
    before = agent.generation()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_generation(before + 1)
    assert f"published generation {before + 1}" in path.read_text()
    os.kill(log_process(agent)[0], signal.SIGKILL)
    eventually(lambda: log_process(agent) == [], "its end")
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    eventually(lambda: f"published generation {before + 2}" in path.read_text(), lambda: path.read_text())
    agent.process.kill()
    agent.process.wait(LIMIT_S)
    start_with_log(agent, path)
    agent.wait_state("fresh")
    assert agent.stop() == 0
    assert "stopp" in path.read_text().splitlines()[-1], path.read_text()
