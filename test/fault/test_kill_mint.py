# SPDX-License-Identifier: MIT
"""SIGKILL while a key is rotated: before and after everything that is written down, and while each request is under way.
What is published works at each point; afterwards the cloud holds that key and no other. Every point has a subject of its
own in the cloud, so that all of them go on at the same time."""
import concurrent.futures
import json
import os
import signal

import pytest

from faults import LINE, Agent, LocalCloud, eventually, injected, needs, plain_binary, read_text
from minting import complete, wait_complete
from mint_kinds import Amazon, Azure, Google, OpenStack

CALLS = ("renameat", "renameat2", "fsync", "unlinkat")
LIMIT_S = 60
AT_ONCE = 40
SUBJECTS = 200
FAULTS = [{"kind": "delay", "ms": 1000}, {"kind": "close"}, {"kind": "truncate", "bytes": 20}]


@pytest.fixture(scope="module", params=[Amazon, Google, Azure, OpenStack], ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def cloud(tmp_path_factory, kind):
    made = LocalCloud(tmp_path_factory.mktemp("cloud") / "cloud", config=kind.settings(SUBJECTS))
    yield made
    made.stop()


def prepare(kind, cloud, directory, number):
    """An agent with a published key, at rest, and not running."""
    agent = Agent(directory / str(number), cloud)
    agent.kind = kind(number, "robot")
    agent.configure(*agent.kind.configured(agent, grace="1s", inactive="1s")).start()
    wait_published(agent, 1)
    assert agent.stop() == 0
    agent.first = agent.kind.published(agent)
    return agent


def stands(agent):
    """What is published is there, and not deactivated. What takes its place is published before it goes."""
    key = agent.kind.published(agent)
    return agent.kind.held(agent.cloud).get(key) or agent.kind.published(agent) != key


def wait_published(agent, generation):
    def done():
        assert agent.generation("robot") == 0 or stands(agent), agent.log
        return agent.generation("robot") >= generation and complete(agent)

    eventually(done, lambda: f"generation {generation}: {agent.log}", LIMIT_S, pause_s=0.2)
    wait_complete(agent)


def rotate(agent):
    """Asks for a rotation once the agent is up. It may end at any moment from then on."""
    eventually(lambda: agent.socket.exists() and agent.status("robot").get("state") == "fresh"
               or agent.process.poll() is not None, "the agent", LIMIT_S, pause_s=0.1)
    agent.run("rotate", "robot", "--reason", "drill")


def end(agent):
    """Ends an agent that runs below strace, which passes nothing on."""
    os.kill(int(read_text(agent.state / "lock")), signal.SIGTERM)
    assert agent.process.wait(20) == 0


def step_of(agent):
    return json.loads((agent.state / "robot+mint.json").read_text())["step"]


def published_works(agent):
    assert agent.kind.use(agent) == 200, agent.log


def recover(agent):
    """The next run finishes it: the one key that is left is the one that is published."""
    published_works(agent)
    agent.start()
    wait_published(agent, 2)
    key = agent.kind.published(agent)
    # What may have been somebody else's is put aside for a while first.
    eventually(lambda: agent.kind.held(agent.cloud) == {key: True}, lambda: agent.log, LIMIT_S, pause_s=0.2)
    assert agent.stop() == 0
    assert key != agent.first
    published_works(agent)
    assert not list(agent.state.glob("*.pending"))
    made = [entry for entry in agent.cloud.exchanges(agent.kind.create) if entry["role"] == agent.kind.subject]
    # The promise was kept once, not twice; but a key whose secret nobody heard of has another in its place.
    assert len(made) <= 3, agent.log


def points_of(agent):
    """[(call, its number)] of one whole rotation, from the first time that the journal is written."""
    log = agent.dir / "strace"
    agent.start(wrapper=["strace", "-f", "--seccomp-bpf", "-s", "256", "-o", str(log), "-e", "trace=" + ",".join(CALLS)])
    rotate(agent)
    wait_published(agent, 2)
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


def killed_at(kind, cloud, directory, number, point):
    agent = prepare(kind, cloud, directory, number)
    agent.start(wrapper=injected(*point, "signal=KILL"))
    rotate(agent)
    eventually(lambda: agent.process.poll() is not None or agent.generation("robot") == 2 and complete(agent),
               lambda: f"{point}: {agent.log}", LIMIT_S, pause_s=0.1)
    killed = agent.process.poll() == -9
    if not killed:
        end(agent)
    step = step_of(agent)
    recover(agent)
    return step if killed else None


@plain_binary
def test_killed_before_and_after_each_record(kind, cloud, tmp_path):
    needs("strace")
    points = points_of(prepare(kind, cloud, tmp_path, 0))
    assert 20 < len(points) < SUBJECTS // 2
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        steps = list(pool.map(lambda n: killed_at(kind, cloud, tmp_path, n + 1, points[n]), range(len(points))))
    assert steps.count(None) <= len(points) // 10
    retiring = {"retiring"} if kind.deactivates else set()
    assert {"rest", "intent", "minted", "verified", "published", "deleting", *retiring} <= set(steps)


def killed_during(kind, cloud, directory, number, action, fault):
    agent = prepare(kind, cloud, directory, number)
    agent.start()
    eventually(lambda: agent.status("robot").get("state") == "fresh", lambda: agent.log, LIMIT_S)
    match = {"action": action, "role": agent.kind.subject}
    cloud.fault(match=match, **fault)
    agent.run("rotate", "robot")
    # It has arrived, and is done after the agent's end, or never.
    eventually(lambda: not [f for f in cloud.admin("/fault")["faults"] if f.get("match") == match], lambda: agent.log,
               LIMIT_S)
    agent.kill()
    recover(agent)


def test_killed_while_a_request_is_under_way(kind, cloud, tmp_path):
    """It is done later, or never, or its answer is cut short."""
    cases = [(action, fault) for action in kind.requests for fault in FAULTS]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda n: killed_during(kind, cloud, tmp_path, SUBJECTS // 2 + n, *cases[n]), range(len(cases))))
