# SPDX-License-Identifier: MIT
"""A year in which a key is replaced every day, by a clock that is put forward, while the agent is killed at random moments.
What is published works whenever it is looked at, the agent running or dead; no key is left that nobody knows of.
CFR_YEAR_DAYS: how many days, 60 unless it says otherwise. CFR_YEAR_SEED: the random moments, again."""
import collections
import itertools
import json
import mmap
import os
import pathlib
import random
import struct
import subprocess
import sys

import pytest

from faults import LocalCloud, agent_factory, eventually, library, plain_binary  # noqa: F401
from mint_kinds import Amazon, OpenStack

DAY_S = 86400
DAYS = int(os.environ.get("CFR_YEAR_DAYS") or 60)
SEED = int(os.environ.get("CFR_YEAR_SEED") or random.SystemRandom().randrange(1 << 32))
LOOK_S = 0.002
LIMIT_S = 60
STEPS = ["rest", "intent", "minted", "verified", "published", "retiring", "inactive", "deleting"]
AFTER_LOOKS = 12
ANSWER_MS = 25
# Seconds of the clock for each look at the journal; more of them where it is time alone that is waited for. The others are
# few, for a slow disk must not look as if it had taken minutes to write down what is meant.
PACE_S = collections.defaultdict(lambda: 0.2, minted=1, published=60, inactive=60, lost=20)


class Clock:
    """The clock of all programs that are started with its environment. It only goes forward."""

    def __init__(self, directory):
        path = directory / "ahead"
        path.write_bytes(bytes(8))
        self.env = {"LD_PRELOAD": library("CFR_AHEADCLOCK"), "CFR_CLOCK_AHEAD": str(path)}
        with open(path, "r+b") as file:
            self.file = mmap.mmap(file.fileno(), 8)
        self.ahead_s = 0

    def advance(self, seconds):
        self.ahead_s += seconds
        self.file[:] = struct.pack("=q", int(self.ahead_s * 1e9))


class Consumer:
    """A process with that clock, which uses what is published."""

    def __init__(self, kind, agent, clock):
        use = pathlib.Path(__file__).with_name("use.py")
        argv = [sys.executable, use, type(kind).__name__, agent.dir, agent.cloud.sts, agent.cloud.ca]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **clock.env})

    def use(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


class Year:
    """One agent and its key, day after day."""

    def __init__(self, kind, agent, clock):
        self.kind, self.agent, self.clock = kind, agent, clock
        self.consumer = Consumer(kind, agent, clock)
        self.chance = random.Random(SEED)
        self.days = 0
        self.killed_in = collections.Counter()

    def journal(self):
        try:
            return json.loads((self.agent.state / "robot+mint.json").read_text())
        except FileNotFoundError:
            return {"step": "none", "current": ""}

    def say(self):
        held = self.kind.held(self.agent.cloud)
        return f"day {self.days} of seed {SEED}: {self.journal()}, {held}\n{self.agent.log[-4000:]}"

    def start(self):
        self.agent.start(env=self.clock.env, wait=False)

    def clean_up(self):
        """An operator deletes what was put aside."""
        for one in self.journal().get("aside", []):
            if not one["ours"] and one["id"] in self.kind.held(self.agent.cloud):
                self.kind.delete(self.agent.cloud, one["id"])

    def check(self):
        """What is published works, and there are two keys at most."""
        assert self.consumer.use() == "200", self.say()
        assert len(self.kind.held(self.agent.cloud)) <= 2, self.say()

    def kill(self):
        self.agent.kill()
        self.killed_in[self.journal()["step"]] += 1
        self.check()
        self.start()

    def moments(self):
        """When to kill the agent today: so many looks after the first that sees it in a step."""
        return {(self.chance.choice(STEPS), self.chance.randrange(AFTER_LOOKS)) for _ in range(self.chance.randrange(3))}

    def day(self):
        """The key is old. The day ends when another has taken its place, and it is gone."""
        before = self.journal()["current"]
        moments = self.moments() if before else set()  # there is something to use
        looks = itertools.count()
        first = {}

        def over():
            assert self.agent.process.poll() is None, self.say()
            now = self.journal()
            look = next(looks)
            first.setdefault(now["step"], look)
            if now.get("aside"):
                self.clean_up()
            if any(step in first and look == first[step] + after for step, after in moments):
                self.kill()
            # Until an operator comes there may be no room, and the agent waits longer and longer.
            self.clock.advance(20 if now["step"] == "rest" and now.get("aside") else PACE_S[now["step"]])
            return now["step"] == "rest" and now["current"] != before and not now.get("aside")

        self.clock.advance(DAY_S)
        eventually(over, self.say, LIMIT_S, LOOK_S)
        self.check()
        held = list(self.kind.held(self.agent.cloud))
        assert held == [self.journal()["current"]] == [self.kind.published(self.agent)], self.say()
        self.days += 1


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


@pytest.fixture(params=[Amazon, OpenStack], ids=lambda kind: kind.name)
def year(request, agent_factory, clock, tmp_path, monkeypatch):  # noqa: F811
    with monkeypatch.context() as environment:
        for name, value in clock.env.items():
            environment.setenv(name, value)
        cloud = LocalCloud(tmp_path / "cloud", config=request.param.settings(1))
    # As from far away: time enough to die before a key's answer has come.
    cloud.fault(kind="delay", ms=ANSWER_MS, count=-1, match={"action": request.param.create})
    agent = agent_factory(cloud)
    kind = request.param(0, "robot")
    minted, admin = kind.configured(agent)
    # A configuration that asks for no more than this has it so.
    minted["mint"] = {kind.name: minted["mint"][kind.name], "with": minted["mint"]["with"], "expire_after": "24h"}
    made = Year(kind, agent.configure(minted, admin), clock)
    yield made
    made.consumer.stop()
    agent.stop()
    cloud.stop()


@plain_binary
def test_a_key_every_day(year):
    year.start()
    for _ in range(DAYS + 1):
        year.day()
    assert year.agent.stop() == 0
    year.check()
    assert not list(year.agent.state.glob("*.pending"))
    made = sum(year.agent.cloud.stats()["actions"][year.kind.create].values())
    print(f"seed {SEED}: {made} keys made in {year.days} days, {dict(year.killed_in)}")
    assert len(year.killed_in) >= min(DAYS // 10, 4)
    # One a day, and another where the answer came to nobody; a slow machine may let a signature grow old.
    assert DAYS < made <= year.days + year.killed_in["intent"] + DAYS // 10
