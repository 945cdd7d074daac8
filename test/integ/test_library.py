# SPDX-License-Identifier: MIT
"""A program with libcredfresh next to the agent: it follows and acknowledges every generation, also after the agent ends."""
import os
import subprocess
import threading

import pytest

from conftest import REPO, binary, eventually, read_text

WORKERS = binary("CFR_WORKERS", str(REPO / "build/dev/test/consumer/workers"))


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def program(agent):
    """Follows and acknowledges; starts before there is anything."""
    process = subprocess.Popen([WORKERS, agent.out, agent.dir / "in-use"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env=dict(os.environ))
    timer = threading.Timer(60, process.kill)
    timer.start()
    yield process
    timer.cancel()
    process.kill()
    process.communicate()


def in_use(agent):
    return read_text(agent.dir / "in-use")


def rotate(agent):
    before = agent.generation()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_generation(before + 1)


def test_follows_through_restarts_of_the_agent(agent, program):
    agent.configure(agent.credential(acknowledge={"file": str(agent.dir / "in-use")}))
    agent.start()
    agent.wait_generation(1)
    for round_ in range(6):
        eventually(lambda: in_use(agent) == f"{agent.generation()}\n", lambda: f"{in_use(agent)}, {agent.status()}")
        eventually(lambda: (agent.status().get("consumers") or [{}])[0].get("current"), lambda: f"the word of it: {agent.status()}")
        assert agent.status()["consumers"][0]["generation"] == agent.generation()
        if round_ in (2, 4):
            agent.kill() if round_ == 2 else agent.stop()
            agent.start()
            eventually(lambda: agent.generation() > 0, "the agent's return")
        rotate(agent)
    last = agent.generation()
    assert last >= 7
    eventually(lambda: in_use(agent) == f"{last}\n", lambda: in_use(agent))
    token = (agent.out / "token").read_text()
    out, _ = program.communicate()
    assert (out, program.returncode) == (f"{token}\n" * 3, 0)
