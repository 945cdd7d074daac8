# SPDX-License-Identifier: MIT
"""Rotation deletes no key that may be another user's: what is made by hand, or by another agent, while an answer is lost. In every
cloud."""
import json
import time

import botocore.session
import pytest

from conftest import eventually
from mint_kinds import KINDS, iam, mint_of
from test_doctor import doctor
from test_mint_gone import ALL, AMAZON, GOOGLE, LIMIT_S, NAMELESS, agent, cloud, shared, start, wait_step  # noqa: F401


def lose(agent, kind, fault):
    """The answer to a request for another key is lost."""
    agent.cloud.fault(match={"action": kind.create, "role": kind.subject}, **fault)
    assert agent.run("rotate", kind.credential).returncode == 0


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_a_key_made_by_hand_while_an_answer_is_lost(agent, kind):
    """The request never arrived, and an operator makes a key in that moment, which nothing uses yet. It is deactivated at most,
    and never deleted; status and doctor say so, and an operator decides."""
    first = start(agent, [kind], settle="4s", inactive="1s")[kind.name]
    lose(agent, kind, {"kind": "close"})
    wait_step(agent, kind, "lost")
    agent.cloud.fault(kind="status", status=503, count=-1, match={"action": kind.requests[0]})  # it takes a while to make one
    mine = kind.make(agent.cloud)
    agent.cloud.clear_faults()
    if kind not in NAMELESS:
        agent.wait_generation(2, kind.credential)  # by its name it is not ours
        wait_step(agent, kind, "rest")
        assert kind.held(agent.cloud) == {kind.published(agent): True, mine: True} and "set it aside" not in agent.log
        return
    eventually(lambda: kind.held(agent.cloud)[mine] is False, lambda: agent.log)
    eventually(lambda: mint_of(agent, kind).get("step") != "lost", lambda: agent.log)
    if kind is GOOGLE:
        agent.wait_generation(2, kind.credential)
        wait_step(agent, kind, "rest")
        eventually(lambda: f"{mine} may be a lost key or another user's, so it is deactivated and never deleted"
                   in mint_of(agent, kind)["waits_for"], lambda: f"{mint_of(agent, kind)}\n{agent.log}")
    else:
        eventually(lambda: (agent.status("aws").get("last_error") or {}).get("code") == "limit", lambda: agent.log)
        assert f"set {mine} aside" in agent.status("aws")["last_error"]["message"]
    assert mint_of(agent, kind)["put_aside"] == [mine]
    doctor(agent, "--offline").one("mint.aside", "warning", mine)
    assert agent.stop() == 0
    aside, = json.loads((agent.state / f"{kind.credential}+mint.json").read_text())["aside"]
    assert aside["id"] == mine and aside["ours"] is False
    # Its time was over long ago, and still it is there.
    time.sleep(max(0, int(aside["since_s"]) + 6 - time.time()))
    agent.start()
    eventually(lambda: mint_of(agent, kind).get("key_state") == "active", lambda: agent.log)
    assert kind.held(agent.cloud)[mine] is False
    kind.activate(agent.cloud, mine)
    assert agent.run("rotate", kind.credential).returncode == 0
    eventually(lambda: f"{mine}, which was set aside, is active again: ignoring it" in agent.log, lambda: agent.log)
    if kind is GOOGLE:
        eventually(lambda: kind.held(agent.cloud) == {kind.published(agent): True, mine: True}, lambda: agent.log, LIMIT_S)
    else:
        assert kind.held(agent.cloud) == {first: True, mine: True} and kind.published(agent) == first


def test_a_lost_key_and_one_made_by_hand(agent):
    """Nothing tells which is which: both are put aside, but one of another creator. None of it stands in the way."""
    start(agent, [GOOGLE], settle="10s")
    lose(agent, GOOGLE, {"kind": "truncate", "bytes": 40})
    wait_step(agent, GOOGLE, "lost")
    other, mine = (GOOGLE.make(agent.cloud, who) for who in ("other", "demo"))
    agent.wait_generation(2, "gcp")
    wait_step(agent, GOOGLE, "rest")
    lost, = GOOGLE.held(agent.cloud).keys() - {other, mine, GOOGLE.published(agent)}
    assert GOOGLE.held(agent.cloud) == {GOOGLE.published(agent): True, other: True, mine: False, lost: False}
    assert not agent.cloud.exchanges("gcp.key.delete")[1:], "the old key alone"
    report = doctor(agent, "--offline").one("mint.aside", "warning", mine)
    assert lost in report["text"] and other not in report["text"]


def test_a_key_that_is_used_is_not_the_lost_one(agent):
    """The secret of a lost key is known to nobody."""
    first = start(agent, [AMAZON], settle="5s")["aws"]
    lose(agent, AMAZON, {"kind": "close"})
    wait_step(agent, AMAZON, "lost")
    mine = iam(agent.cloud).create_access_key(UserName=AMAZON.subject)["AccessKey"]
    session = botocore.session.Session()
    session.set_credentials(mine["AccessKeyId"], mine["SecretAccessKey"])
    session.create_client("sts", region_name="us-east-1", endpoint_url=agent.cloud.sts,
                          verify=agent.cloud.ca).get_caller_identity()
    eventually(lambda: mint_of(agent, AMAZON).get("step") == "rest", lambda: agent.log)
    assert AMAZON.held(agent.cloud) == {first: True, mine["AccessKeyId"]: True} and "set it aside" not in agent.log


def test_two_agents_rotate_one_users_keys(agent_factory, cloud):
    """Neither deletes a key of the other's, whatever answers are lost, and both publish one that works."""
    agents = [agent_factory(cloud, name) for name in ("one", "two")]
    published = {kind.name: set() for kind in ALL}

    def note():
        for one in agents:
            for kind in ALL:
                published[kind.name].add((agents.index(one), kind.published(one)))

    for one in agents:
        start(one, ALL, settle="3s")
    note()
    for kind in ALL:
        cloud.fault(kind="truncate", bytes=40, match={"action": kind.create, "role": kind.subject})
        for one in agents:
            assert one.run("rotate", kind.credential).returncode == 0
    for kind in KINDS:
        for one in agents:
            eventually(lambda: one.generation(kind.credential) >= 2 and mint_of(one, kind)["step"] == "rest" and kind.works(one),
                       lambda: f"{kind.name}: {mint_of(one, kind)}\n{one.log}", LIMIT_S)
    note()
    # At AWS there is no room.
    for one in agents:
        eventually(lambda: (one.status("aws").get("last_error") or {}).get("code") == "limit", lambda: one.log)
        assert AMAZON.works(one) and one.generation("aws") == 1
    for kind in ALL:
        for number, one in enumerate(agents):
            others = {key for owner, key in published[kind.name] if owner != number}
            assert not [key for key in others if f"{kind.credential}: removed the key {key}" in one.log], one.log
