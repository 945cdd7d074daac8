# SPDX-License-Identifier: MIT
"""SIGKILL while a key is rotated: before and after everything that is written down, and while each request is under way.
What is published works at each point; afterwards the cloud holds that key and no other. An operator deletes what is put
aside, because nothing proves that it is ours. The same where the new key was removed during the grace: the old one stays until
another one is published. Every point has a subject of its own in the cloud, so that all of them go on at the same time."""
import concurrent.futures
import contextlib
import json
import os
import shutil
import signal

import pytest

from faults import LINE, Agent, LocalCloud, eventually, injected, needs, plain_binary, read_text
from minting import complete
from mint_kinds import IBM, Amazon, Azure, Google, OpenStack

CALLS = ("renameat", "renameat2", "fsync", "unlinkat")
LIMIT_S = 60
PAUSE_S = 0.5  # of each of the many that wait at the same time: a look asks the cloud for all of its keys
AT_ONCE = 40
SUBJECTS = 250
FAULTS = [{"kind": "delay", "ms": 1000}, {"kind": "close"}, {"kind": "truncate", "bytes": 20}]


@pytest.fixture(scope="module", params=[Amazon, Google, Azure, OpenStack, IBM], ids=lambda kind: kind.name)
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
    agent.second = None  # that an operator removed
    agent.configure(*agent.kind.configured(agent, grace="1s", inactive="1s")).start()
    wait_published(agent, 1)
    assert agent.stop() == 0
    agent.first = agent.kind.published(agent)
    return agent


def stands(agent):
    """What is published is there, and not deactivated, but by an operator. What takes its place is published before it goes."""
    key = agent.kind.published(agent)
    return agent.kind.held(agent.cloud).get(key) or agent.kind.published(agent) != key or key == agent.second


def clean_up(agent):
    """An operator deletes what was put aside."""
    path = agent.state / "robot+mint.json"
    for one in json.loads(path.read_text())["aside"] if path.exists() else []:
        active = agent.kind.held(agent.cloud).get(one["id"])
        if not one["ours"] and active is not None:
            assert active is False, f"{one}: {agent.log}"
            agent.kind.delete(agent.cloud, one["id"])


def wait_published(agent, generation):
    def done():
        assert agent.generation("robot") == 0 or stands(agent), agent.log
        clean_up(agent)
        return agent.generation("robot") >= generation and complete(agent)

    eventually(done, lambda: f"generation {generation}: {agent.log}", LIMIT_S, pause_s=PAUSE_S)
    eventually(lambda: complete(agent), lambda: agent.log, LIMIT_S, pause_s=PAUSE_S)


def rotate(agent):
    """Asks for a rotation once the agent is up. It may end at any moment from then on."""
    eventually(lambda: agent.socket.exists() and agent.status("robot").get("state") == "fresh"
               or agent.process.poll() is not None, "the agent", LIMIT_S, pause_s=PAUSE_S)
    agent.run("rotate", "robot", "--reason", "drill")


def was_killed(agent):
    """Ends an agent that runs below strace, which passes nothing on; the signal that is injected may come until its very end."""
    with contextlib.suppress(ProcessLookupError):
        if agent.process.poll() is None:
            os.kill(int(read_text(agent.state / "lock")), signal.SIGTERM)
    status = agent.process.wait(20)
    assert status in (0, -signal.SIGKILL), agent.log
    return status != 0


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
    eventually(lambda: clean_up(agent) or agent.kind.held(agent.cloud) == {key: True}, lambda: agent.log, LIMIT_S, pause_s=PAUSE_S)
    assert agent.stop() == 0
    assert key != agent.first
    published_works(agent)
    assert not list(agent.state.glob("*.pending"))
    made = [entry for entry in agent.cloud.exchanges(agent.kind.create) if entry["role"] == agent.kind.subject]
    # The promise was kept once, not twice; but a key whose secret nobody heard of has another in its place.
    assert len(made) <= 3, agent.log


def points_of(agent, generation=2, ask=rotate):
    """[(call, its number)] of one whole rotation, from the first time that the journal is written."""
    log = agent.dir / "strace"
    agent.start(wrapper=["strace", "-f", "--seccomp-bpf", "-s", "256", "-o", str(log), "-e", "trace=" + ",".join(CALLS)])
    ask(agent)
    wait_published(agent, generation)
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
    assert not was_killed(agent)
    return found


def killed_at(kind, cloud, directory, number, point):
    agent = prepare(kind, cloud, directory, number)
    agent.start(wrapper=injected(*point, "signal=KILL"), wait=False)
    rotate(agent)
    eventually(lambda: agent.process.poll() is not None or agent.generation("robot") == 2 and complete(agent),
               lambda: f"{point}: {agent.log}", LIMIT_S, pause_s=PAUSE_S)
    killed = was_killed(agent)
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


# ---- the new key is removed during the grace ----

def prepare_removed(kind, cloud, directory, number):
    """An agent with a key whose grace goes on, and one that is published and was removed; not running."""
    agent = prepare(kind, cloud, directory, number)
    agent.configure(*agent.kind.configured(agent, grace="60s", grace_most="60s", inactive="1s")).start()
    rotate(agent)
    eventually(lambda: agent.generation("robot") == 2 and agent.status("robot")["mint"]["step"] == "published",
               lambda: agent.log, LIMIT_S)
    agent.kill()
    agent.second = agent.kind.published(agent)
    if kind.deactivates and number % 2:
        agent.kind.deactivate(cloud, agent.second)
    else:
        agent.kind.delete(cloud, agent.second)
    # Lists tell of the key that is gone once it is as old as `settle`.
    return agent.configure(*agent.kind.configured(agent, grace="1s", settle="1s", inactive="1s"))


def kept(agent):
    """The old key works until another one than the removed one is published."""
    return agent.kind.held(agent.cloud).get(agent.first) or agent.kind.published(agent) != agent.second


def removed_at(kind, cloud, directory, number, point):
    agent = prepare_removed(kind, cloud, directory, number)
    agent.start(wrapper=injected(*point, "signal=KILL"), wait=False)

    def over():
        assert kept(agent), f"{point}: {agent.log}"
        return agent.process.poll() is not None or agent.generation("robot") == 3 and complete(agent)

    eventually(over, lambda: f"{point}: {agent.log}", LIMIT_S, pause_s=PAUSE_S)
    killed = was_killed(agent)
    step = step_of(agent)
    agent.start()
    eventually(lambda: kept(agent) and (clean_up(agent) or agent.generation("robot") >= 3), lambda: f"{point}: {agent.log}",
               LIMIT_S, pause_s=PAUSE_S)
    wait_published(agent, 3)
    key = agent.kind.published(agent)
    eventually(lambda: clean_up(agent) or agent.kind.held(agent.cloud) == {key: True}, lambda: f"{point}: {agent.log}",
               LIMIT_S, pause_s=PAUSE_S)
    assert agent.stop() == 0 and key not in (agent.first, agent.second)
    published_works(agent)
    return step if killed else None


@plain_binary
def test_killed_while_a_removed_key_is_replaced(kind, cloud, tmp_path):
    needs("strace")
    first = SUBJECTS // 2 + len(FAULTS) * len(kind.requests)
    points = points_of(prepare_removed(kind, cloud, tmp_path, first), 3, lambda agent: None)
    points = points[:: 1 + len(points) // 40]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        steps = list(pool.map(lambda n: removed_at(kind, cloud, tmp_path, first + n + 1, points[n]), range(len(points))))
    assert {"published", "intent", "minted", "verified"} <= set(steps), steps


def killed_during(kind, cloud, directory, number, action, fault):
    agent = prepare(kind, cloud, directory, number)
    tried = action in ("UpdateAccessKey", "DeleteAccessKey")  # once before the new key is created, too
    if tried:
        agent.configure(*agent.kind.configured(agent, grace="5s", grace_most="5s", inactive="1s"))
    agent.start()
    eventually(lambda: agent.status("robot").get("state") == "fresh", lambda: agent.log, LIMIT_S)
    match = {"action": action, "role": agent.kind.subject}
    if tried:
        agent.run("rotate", "robot")
        eventually(lambda: agent.generation("robot") == 2, lambda: agent.log, LIMIT_S)
    cloud.fault(match=match, **fault)
    if not tried:
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


# ---- a key that another program created is adopted ----

def prepare_found(kind, cloud, directory, number):
    """An agent that is to adopt a key whose file is all that is left; not running."""
    agent = prepare(kind, cloud, directory, number)
    given = agent.dir / "given"
    given.write_text((agent.kind.directory(agent) / kind.publish["name"]).read_text())
    agent.found = json.loads((agent.state / "robot+mint.json").read_text())["current"]
    shutil.rmtree(agent.kind.directory(agent))
    for path in agent.state.iterdir():
        path.unlink()
    return agent.configure(*agent.kind.configured(agent, grace="1s", inactive="1s", adopt=str(given)))


def adopted(agent):
    return agent.generation("robot") >= 1 and complete(agent)


def adopted_at(kind, cloud, directory, number, point):
    agent = prepare_found(kind, cloud, directory, number)
    agent.start(wrapper=injected(*point, "signal=KILL"), wait=False)

    def over():
        assert agent.kind.held(cloud) == {agent.found: True}, f"{point}: {agent.log}"
        return agent.process.poll() is not None or adopted(agent)

    eventually(over, lambda: f"{point}: {agent.log}", LIMIT_S, pause_s=PAUSE_S)
    killed = was_killed(agent)
    path = agent.state / "robot+mint.json"
    step = step_of(agent) if path.exists() else "rest"
    agent.start()
    eventually(lambda: adopted(agent), lambda: f"{point}: {agent.log}", LIMIT_S, pause_s=PAUSE_S)
    assert agent.kind.held(cloud) == {agent.found: True} and json.loads(path.read_text())["current"] == agent.found
    assert agent.stop() == 0 and not list(agent.state.glob("*.pending"))
    published_works(agent)
    return step if killed else None


@plain_binary
def test_killed_while_a_key_is_adopted(kind, cloud, tmp_path):
    """It is never lost, and no other one is created."""
    needs("strace")
    first = SUBJECTS - 45
    points = points_of(prepare_found(kind, cloud, tmp_path, first), 1, lambda agent: None)
    points = points[:: 1 + len(points) // 40]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        steps = list(pool.map(lambda n: adopted_at(kind, cloud, tmp_path, first + n + 1, points[n]), range(len(points))))
    assert {"rest", "verified"} <= set(steps), steps
