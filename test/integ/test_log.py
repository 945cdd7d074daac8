# SPDX-License-Identifier: MIT
"""The reader of the log stands still: everything else continues, and what was not written is counted."""
import fcntl
import os
import pty
import re
import socket
import subprocess

import pytest

from conftest import CREDFRESH, eventually
from processes import LIMIT_S


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
