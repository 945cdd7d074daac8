# SPDX-License-Identifier: MIT
"""SIGKILL while a key is rotated: before and after everything that is written down, and while each request is under way.
What is published works at each point; afterwards the cloud holds that key and no other. Every point has an IAM user of its
own, so that all of them go on at the same time."""
import concurrent.futures
import json
import os
import signal

import pytest

from faults import LINE, Agent, LocalCloud, eventually, injected, needs, plain_binary, read_text
from conftest import Mounted
from minting import ADMIN, CLOUD, IAM, admin, call, complete, keys_of, minted, published_key, wait_complete

CALLS = ("renameat", "renameat2", "fsync", "unlinkat")
LIMIT_S = 60
AT_ONCE = 24


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("cloud") / "cloud", config=CLOUD)
    made.admin("/service/iam", {**IAM, "users": [f"robot-{n}" for n in range(200)]})
    yield made
    made.stop()


def prepare(cloud, directory, number):
    """An agent with a published key, at rest, and not running."""
    agent = Agent(directory / str(number), cloud)
    agent.user = f"robot-{number}"
    Mounted(agent.dir / "admin").put(ADMIN)
    agent.configure(minted(agent, user=agent.user, mint={"grace": "1s"}), admin(agent)).start()
    agent.wait_generation(1, "robot", LIMIT_S)
    wait_complete(agent, LIMIT_S)
    assert agent.stop() == 0
    agent.first = published_key(agent)
    return agent


def rotate(agent):
    """Asks for a rotation once the agent is up. It may end at any moment from then on."""
    eventually(lambda: agent.socket.exists() and agent.status("robot").get("state") == "fresh"
               or agent.process.poll() is not None, "the agent", LIMIT_S)
    agent.run("rotate", "robot", "--reason", "drill")


def end(agent):
    """Ends an agent that runs below strace, which passes nothing on."""
    os.kill(int(read_text(agent.state / "lock")), signal.SIGTERM)
    assert agent.process.wait(20) == 0


def step_of(agent):
    return json.loads((agent.state / "robot+mint.json").read_text())["step"]


def published_works(agent):
    assert call(agent).endswith(":user/" + agent.user)


def recover(agent):
    """The next run finishes it: the one key that is left is the one that is published."""
    published_works(agent)
    agent.start()
    agent.wait_generation(2, "robot", LIMIT_S)
    wait_complete(agent, LIMIT_S)
    assert agent.stop() == 0
    assert list(keys_of(agent.cloud, agent.user)) == [published_key(agent)] != [agent.first], agent.log
    published_works(agent)
    assert not list(agent.state.glob("*.seal"))
    made = [entry for entry in agent.cloud.exchanges("CreateAccessKey") if entry["role"] == agent.user]
    # The promise was kept once, not twice; but a key whose secret nobody heard of has another in its place.
    assert len(made) <= 3, agent.log


def points_of(agent):
    """[(call, its number)] of one whole rotation, from the first time that the journal is written."""
    log = agent.dir / "strace"
    agent.start(wrapper=["strace", "-f", "--seccomp-bpf", "-s", "256", "-o", str(log), "-e", "trace=" + ",".join(CALLS)])
    rotate(agent)
    agent.wait_generation(2, "robot", LIMIT_S)
    wait_complete(agent, LIMIT_S)
    counts = dict.fromkeys(CALLS, 0)
    found = []
    begun = False
    before = ""
    for match in filter(None, map(LINE.match, read_text(log).splitlines())):
        _, name, rest = match.groups()
        counts[name] += 1
        begun = begun or "+mint" in rest
        # Before a new state stands, and after it; what comes before that leaves no trace.
        if begun and (name != "fsync" or before.startswith("rename")):
            found.append((name, counts[name]))
        before = name
    end(agent)
    return found


def killed_at(cloud, directory, number, point):
    agent = prepare(cloud, directory, number)
    agent.start(wrapper=injected(*point, "signal=KILL"))
    rotate(agent)
    eventually(lambda: agent.process.poll() is not None or agent.generation("robot") == 2 and complete(agent),
               lambda: f"{point}: {agent.log}", LIMIT_S)
    killed = agent.process.poll() == -9
    if not killed:
        end(agent)
    step = step_of(agent)
    recover(agent)
    return step if killed else None


@plain_binary
def test_killed_before_and_after_each_record(cloud, tmp_path):
    needs("strace")
    points = points_of(prepare(cloud, tmp_path, 0))
    assert 20 < len(points) < 150
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        steps = list(pool.map(lambda n: killed_at(cloud, tmp_path, n + 1, points[n]), range(len(points))))
    assert steps.count(None) <= len(points) // 10
    assert {"rest", "intent", "minted", "verified", "published", "retiring", "deleting"} <= set(steps)


REQUESTS = ["ListAccessKeys", "CreateAccessKey", "UpdateAccessKey", "DeleteAccessKey"]


def killed_during(cloud, directory, number, action, fault):
    agent = prepare(cloud, directory, number)
    agent.start()
    eventually(lambda: agent.status("robot").get("state") == "fresh", lambda: agent.log, LIMIT_S)
    match = {"action": action, "role": agent.user}
    cloud.fault(match=match, **fault)
    agent.run("rotate", "robot")
    # It has arrived, and is done after the agent's end, or never.
    eventually(lambda: not [f for f in cloud.admin("/fault")["faults"] if f.get("match") == match], lambda: agent.log,
               LIMIT_S)
    agent.kill()
    recover(agent)


@pytest.mark.parametrize("fault", [{"kind": "delay", "ms": 1000}, {"kind": "close"}, {"kind": "truncate", "bytes": 20}],
                         ids=["done-later", "never-done", "answer-cut"])
def test_killed_while_a_request_is_under_way(cloud, tmp_path, fault, request):
    first = 150 + 10 * ["done-later", "never-done", "answer-cut"].index(request.node.callspec.id)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda n: killed_during(cloud, tmp_path, first + n, REQUESTS[n], fault), range(len(REQUESTS))))
