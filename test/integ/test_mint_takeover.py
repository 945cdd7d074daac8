# SPDX-License-Identifier: MIT
"""Two agents share a rotation, and the one that goes on with it is killed or stopped at each of its steps: the other one
goes on. One that was stopped and continues much later does no harm: it finds that it is the holder no longer. What the
other publishes works at each moment, and so does what the Secret holds into which both publish; at the end the cloud holds the
published key, and of others only what is written down as put aside. Every case has a user and Secrets of its own, so that several go
on at the same time."""
import concurrent.futures
import re
import time

import pytest

from conftest import Mounted, eventually
from minting import ADMIN, IAM, admin, call, cloud, iam_cloud, keys_of, mint_of  # noqa: F401
from processes import Agent
from shared_minting import SECRET, TAKEOVER_S, current, go_on, journal, key_of, shared, step, stop_signal, target
from test_secret_target import Kube

AT_ONCE = 6
# What keeps the holder at a step for a while: the request whose answer comes late.
LATE = {"intent": "CreateAccessKey", "minted": None, "verified": "kube.secret.patch", "published": None,
        "retiring": "UpdateAccessKey", "deleting": "DeleteAccessKey"}
MANY = 1000000  # of faults


STARTED = []


@pytest.fixture(autouse=True)
def ended():
    """Of a case that fails, too, no agent is left."""
    yield
    for agent in STARTED:
        if agent.process.poll() is None:
            agent.kill()
    STARTED.clear()


class Case:
    """A user, a Secret, and two agents that publish its key. An API server KUBE of another kind says in `state` where it is."""

    def __init__(self, directory, cloud, number, at, kube=None, takeovers=(f"{TAKEOVER_S}s",) * 2, **mint):
        self.cloud = cloud
        self.kube = kube or Kube(cloud)
        self.user = f"robot-{number}"
        self.secret = f"mint-{number}" if kube is None else SECRET
        self.at = at
        self.out = f"out-{number}" if kube is None else "out"
        self.kube.make(self.secret)
        self.agents = [Agent(directory / f"{number}-{name}", cloud) for name in ("one", "two")]
        for agent, takeover in zip(self.agents, takeovers):
            Mounted(agent.dir / "admin").put(ADMIN)
            state = {**({} if kube is None else kube.state), "takeover": takeover}
            c = shared(agent, self.user, self.secret, state=state, mint=mint)
            c["publish"] = [c["publish"], target(agent, self.out, **({} if kube is None else kube.place()))]
            STARTED.append(agent.configure(c, admin(agent)).start())
        self.always = list(self.agents)  # those that are never away
        self.first = self.together(self.agents)

    def said(self):
        return f"{self.at}: {journal(self.kube, self.secret)}\n" + "\n\n".join(agent.log for agent in self.agents)

    def clean_up(self):
        """An operator deletes what was put aside, because nothing proves that it is ours."""
        for one in journal(self.kube, self.secret).get("aside") or []:
            key = keys_of(self.cloud, self.user).get(one["id"])
            if key is not None and not one["ours"]:
                assert key["active"] is False, self.said()
                self.cloud.admin("/iam/key", {"access_key_id": one["id"], "delete": True})

    def stands(self, agent):
        """What AGENT publishes works, unless it has just published another."""
        key = key_of(agent)
        return key is None or keys_of(self.cloud, self.user).get(key, {}).get("active") or key_of(agent) != key

    def delivered(self):
        return self.kube.data(self.out).get("aws_access_key_id")

    def target_stands(self):
        """The key in the Secret into which both publish works, unless it has just got another."""
        key = self.delivered()
        return key is None or keys_of(self.cloud, self.user).get(key, {}).get("active") or self.delivered() != key

    def together(self, agents, but=None):
        """AGENTS publish the key of the journal, which is at rest, and the cloud holds no other."""
        def done():
            self.clean_up()
            key = current(self.kube, self.secret)
            assert all(self.stands(agent) for agent in self.always) and self.target_stands(), self.said()
            return (key not in ("", but) and step(self.kube, self.secret) == "rest" and set(keys_of(self.cloud, self.user)) == {key}
                    and all(key_of(agent) == key for agent in agents) and self.delivered() == key)

        eventually(done, self.said, 90, pause_s=0.3)
        return current(self.kube, self.secret)

    def be_late(self, action):
        """The answers to ACTION come late."""
        role = f"default/{self.secret}" if action == "kube.secret.patch" else self.user
        self.cloud.fault(kind="delay", ms=1000, count=MANY, match={"action": action, "role": role})

    def has_come(self, action):
        """A request for ACTION has arrived. An agent that is stopped between its last look at the clock and sending a request
        sends it when it continues, and the key that is made then is reported as one of somebody else's."""
        return any(fault["match"]["action"] == action and fault["match"]["role"] == self.user and fault["count"] < MANY
                   for fault in self.cloud.admin("/fault")["faults"])

    def begin(self):
        """Asks one agent for a rotation, and waits until it is at the step. That agent, and the other."""
        if LATE.get(self.at) is not None:
            self.be_late(LATE[self.at])
        done = self.agents[0].run("rotate", "robot", "--reason", "drill")
        assert done.returncode == 0, done.stderr
        eventually(lambda: step(self.kube, self.secret) == self.at, self.said, pause_s=0.05)
        if self.at == "intent":
            eventually(lambda: self.has_come(LATE[self.at]), self.said, pause_s=0.05)
        holder = journal_holder(self)
        self.always.remove(holder)
        return holder, self.agents[1 - self.agents.index(holder)]

    def taken_over(self, other):
        """OTHER ends the rotation. One whose key was lost is ended without another, whose asker is not there."""
        lost = self.at == "intent"
        second = self.together([other], None if lost else self.first)
        assert "this agent takes over" in other.log and (second == self.first) == lost, self.said()
        return second

    def end(self):
        for agent in self.agents:
            assert agent.stop() in (0, None), agent.log


def journal_holder(case):
    name = case.kube.data(case.secret)["holder"]
    return next(agent for agent in case.agents if mint_of(agent).get("holder") == name and mint_of(agent)["role"] == "holder")


def killed(case):
    holder, other = case.begin()
    holder.kill()
    second = case.taken_over(other)
    holder.socket.unlink()
    holder.start().wait_state("fresh", "robot")
    # What it was asked for, and does not know to be done, it begins again.
    third = case.together(case.agents, second if case.at == "intent" else None)
    assert third == second or case.at in ("intent", "verified"), case.said()
    case.end()


def stopped(case):
    holder, other = case.begin()
    stop_signal(holder)
    try:
        second = case.taken_over(other)
    finally:
        go_on(holder)
    assert case.together(case.agents) == second
    # It may have been stopped on the way to publishing that key.
    eventually(lambda: "has taken over the rotation: this agent follows" in holder.log, case.said)
    # It is a follower like any other, and may be the next holder.
    done = holder.run("rotate", "robot", "--reason", "again")
    assert done.returncode == 0, done.stderr
    case.together(case.agents, second)
    case.end()


@pytest.mark.parametrize("how", [killed, stopped])
def test_the_other_goes_on(tmp_path, cloud, how):
    numbers = range(len(LATE)) if how is killed else range(len(LATE), 2 * len(LATE))
    cloud.admin("/service/iam", {**IAM, "users": [f"robot-{number}" for number in range(2 * len(LATE))]})
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda number, at: how(Case(tmp_path, cloud, number, at)), numbers, LATE))


def test_no_key_is_created_on_an_old_word(tmp_path, cloud):
    """The holder was stopped for more than a third of `takeover` between writing a step down and doing it, and for less than
    the whole: it writes once more before it creates a key."""
    cloud.admin("/service/iam", {**IAM, "users": ["robot-20"]})
    case = Case(tmp_path, cloud, 20, "intent")
    holder, other = case.agents
    looks = other.log.count("GET ")
    cloud.fault(kind="delay", ms=2000, count=1, match={"action": "kube.secret.patch", "role": f"default/{case.secret}"})
    assert holder.run("rotate", "robot", "--reason", "drill").returncode == 0
    eventually(lambda: "continues: intent" in holder.log.split("drill")[-1], case.said, pause_s=0.02)
    stop_signal(holder)
    try:
        eventually(lambda: step(case.kube, case.secret) == "intent", case.said, pause_s=0.05)
        # It looks at each third of `takeover`: when it is told of the step, and twice after that.
        eventually(lambda: other.log.count("GET ") >= looks + 3, case.said, pause_s=0.05)
    finally:
        go_on(holder)
    case.together(case.agents, case.first)
    said = holder.log.split("drill")[-1]
    assert said[said.index("continues: intent"):said.index("made the key")].count("PATCH ") == 2, said
    assert "taken over the rotation:" not in holder.log
    case.end()


def test_what_others_edit_is_no_sign_of_life(tmp_path, cloud):
    """A label that a controller changes again and again does not keep a rotation with an agent that has ended."""
    cloud.admin("/service/iam", {**IAM, "users": ["robot-21"]})
    case = Case(tmp_path, cloud, 21, "published")
    holder, other = case.begin()
    holder.kill()

    def taken_over():
        done = case.kube.call("PATCH", case.secret, {"metadata": {"labels": {"touched": str(time.monotonic_ns())}}},
                              content="application/merge-patch+json")
        assert done["kind"] == "Secret", done
        return "this agent takes over" in other.log

    eventually(taken_over, case.said, pause_s=0.2)
    case.together([other], case.first)
    assert other.stop() == 0


def test_the_holder_is_waited_for_as_long_as_it_says(tmp_path, cloud):
    """Of two agents with another `takeover`, as while a new configuration is rolled out, the longer one counts."""
    cloud.admin("/service/iam", {**IAM, "users": ["robot-22"]})
    case = Case(tmp_path, cloud, 22, "published", takeovers=("9s", "6s"))
    holder, other = case.begin()
    assert holder == case.agents[0] and case.kube.data(case.secret)["takeover"] == "9000"
    holder.kill()
    case.together([other], case.first)
    assert int(re.search(r"silent for (\d+) s during", other.log)[1]) >= 9
    assert case.kube.data(case.secret)["takeover"] == "6000"
    assert other.stop() == 0


def test_the_last_use_of_the_old_key_is_known_after_a_takeover(tmp_path, cloud):
    """That it was late is judged by when the new key was published, not by when another agent took the rotation over."""
    cloud.admin("/service/iam", {**IAM, "users": ["robot-23"]})
    case = Case(tmp_path, cloud, 23, "retiring", grace="4s", grace_most="4s", inactive="24s")
    holder, other = case.begin()
    call(other, suffix=".old")
    case.cloud.clear_faults()
    eventually(lambda: step(case.kube, case.secret) == "inactive", case.said, pause_s=0.05)
    holder.kill()
    eventually(lambda: "used late in its grace" in (mint_of(other).get("waits_for") or ""), case.said)
    assert keys_of(cloud, case.user)[case.first]["active"] is False
    assert other.stop() == 0
