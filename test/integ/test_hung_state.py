# SPDX-License-Identifier: MIT
"""A state directory on a FUSE that hangs: what the agent reads there keeps nobody waiting."""
import os
import signal
import subprocess
import time

import pytest

from conftest import LIMIT_S, eventually
from endpoint_client import ask, free_port
from test_frozen_state import slowest_health
from test_hostile import HANG_S, children, cloud, root_only  # noqa: F401
from test_hung_disk import frozen, hung, mirror  # noqa: F401

pytestmark = root_only


@pytest.fixture
def agent(agent_factory, cloud, mirror):  # noqa: F811
    made = agent_factory(cloud)
    made.keep_state_in(mirror[0] / "state")
    made.health = f"127.0.0.1:{free_port()}"
    yield made
    os.kill(mirror[1].pid, signal.SIGCONT)
    made.stop()


def fresh(agent):
    answer = ask(agent.health, "/readyz")
    return answer.status == 200


def test_a_reload_is_refused_while_it_does_not_answer(agent, mirror):  # noqa: F811
    agent.configure(listen=agent.health).start()
    eventually(lambda: fresh(agent), lambda: agent.log)
    agent.configure(agent.credential(), agent.credential("other"), listen=agent.health)
    os.kill(mirror[1].pid, signal.SIGSTOP)
    os.kill(agent.process.pid, signal.SIGHUP)
    assert slowest_health(agent.health, lambda: "the new configuration is invalid, keeping" in agent.log) < HANG_S
    assert f"state_dir: {agent.state}: its file system has not answered" in agent.log
    end = time.monotonic() + 2
    assert slowest_health(agent.health, lambda: time.monotonic() > end) < HANG_S
    os.kill(mirror[1].pid, signal.SIGCONT)
    eventually(lambda: agent.request("POST", "/v1/reload")[0] == 200, lambda: agent.log)
    agent.wait_state("fresh", "other")


def test_nobody_waits_for_it_at_the_look_of_each_minute(agent, mirror):  # noqa: F811
    agent.configure(listen=agent.health).start()
    eventually(lambda: fresh(agent), lambda: agent.log)
    os.kill(mirror[1].pid, signal.SIGSTOP)
    end = time.monotonic() + 65
    assert slowest_health(agent.health, lambda: time.monotonic() > end) < HANG_S
    assert len(children(agent)) <= 2


@pytest.mark.parametrize("kind", ["hung", "frozen"])
def test_the_start_ends_with_words(agent_factory, cloud, hung, frozen, kind):  # noqa: F811
    made = agent_factory(cloud)
    made.keep_state_in((hung if kind == "hung" else frozen) / "state")
    made.configure()
    if kind == "frozen":
        subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    try:
        made.start(wait=False)
        assert made.process.wait(LIMIT_S) != 0
    finally:
        made.process.kill()
        if kind == "frozen":
            subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    assert f"state_dir: {made.state}: its file system has not answered" in made.log
