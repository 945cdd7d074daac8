# SPDX-License-Identifier: MIT
"""Unavailable or lost file events: the token is still read."""
import os
import signal

import pytest

from faults import (agent, agent_factory, as_root, cloud, cloud_factory, eventually, library, needs, needs_namespace,  # noqa: F401
                    plain_binary, read_text)

QUEUE = int(read_text("/proc/sys/fs/inotify/max_queued_events") or 16384)


def own_token(agent):  # noqa: F811
    """A token file in a directory of the test's own."""
    directory = agent.dir / "token-dir"
    directory.mkdir()
    path = directory / "token"
    path.write_text(agent.cloud.token())
    agent.configure(agent.credential(token={"file": str(path)}))
    return path


def replace(path, text):
    new = path.with_name("new")
    new.write_text(text)
    new.rename(path)


def limited(name):
    """Starts a program in a user namespace of its own that may have no more of what NAME counts."""
    return ["unshare", "-Ur", "sh", "-c", f'echo 0 >/proc/sys/user/{name} && exec "$@"', "sh"]


@plain_binary
@as_root
@pytest.mark.parametrize("name,words", [("max_inotify_instances", "fs.inotify.max_user_instances"),
                                        ("max_inotify_watches", "fs.inotify.max_user_watches")])
def test_without_inotify_files_are_looked_at_once_a_minute(agent, name, words):  # noqa: F811
    needs("unshare")
    needs_namespace("-Ur")
    path = own_token(agent)
    # The minute passes in a second.
    agent.start(env={"LD_PRELOAD": library("CFR_FASTCLOCK")}, wrapper=limited(name))
    agent.wait_generation(1)
    assert words in agent.log and "once a minute" in agent.log
    assert len(agent.cloud.exchanges()) == 1
    replace(path, agent.cloud.token(expires_in_s=7200))
    agent.wait_generation(2)
    assert agent.status()["last_error"] is None
    assert len(agent.cloud.exchanges()) <= 3


def test_an_overflowing_queue_loses_nothing(agent):  # noqa: F811
    path = own_token(agent)
    agent.start()
    agent.wait_generation(1)
    os.kill(agent.process.pid, signal.SIGSTOP)
    try:
        for i in range(QUEUE // 2 + 10):  # each is made and closed: two events
            name = path.with_name(f"noise-{i}")
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600))
            os.unlink(name)
        replace(path, agent.cloud.token(expires_in_s=7200))
    finally:
        os.kill(agent.process.pid, signal.SIGCONT)
    agent.wait_generation(2)
    assert "overflowed" in agent.log
    assert (agent.out / "token").read_text() == path.read_text()
