# SPDX-License-Identifier: MIT
"""Rotation asks before it deletes: a published key that an operator deletes or deactivates while the old one is still there. In
every cloud."""

import pytest

from conftest import LocalCloud, eventually
from mint_kinds import KINDS, Amazon, all_settings, mint_of
from test_doctor import doctor

AMAZON = Amazon()
ALL = [AMAZON, *KINDS]
GOOGLE = KINDS[0]
NAMELESS = [AMAZON, GOOGLE]  # keys without names, which can be deactivated
LIMIT_S = 90


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config={**AMAZON.settings(2), **all_settings(2)})
    yield made
    made.stop()


@pytest.fixture
def cloud(shared):
    """Without any key but the administrators'."""
    shared.clear_faults()
    for kind in ALL:
        for key in kind.held(shared):
            kind.delete(shared, key)
    shared.admin("/stats/reset", {})
    return shared


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud)


def start(agent, kinds, **mint):
    """One that has published a key of each, and is at rest."""
    agent.configure(*(one for kind in kinds for one in kind.configured(agent, **mint))).start()
    for kind in kinds:
        agent.wait_generation(1, kind.credential)
        wait_step(agent, kind, "rest")
    return {kind.name: kind.published(agent) for kind in kinds}


def wait_step(agent, kind, step, limit_s=LIMIT_S):
    eventually(lambda: mint_of(agent, kind).get("step") == step, lambda: f"{kind.name}: {mint_of(agent, kind)}\n{agent.log}",
               limit_s)


def rotate(agent, kinds):
    """Asks for a rotation of each, and waits for its new key: the ids."""
    before = {kind: agent.generation(kind.credential) for kind in kinds}
    for kind in kinds:
        done = agent.run("rotate", kind.credential)
        assert done.returncode == 0, done.stderr + agent.log
    for kind in kinds:
        agent.wait_generation(before[kind] + 1, kind.credential)
    return {kind.name: kind.published(agent) for kind in kinds}


def held_until(agent, old, generation, active=True):
    """The keys OLD, {kind: key}, are there, and active, until GENERATION of each is published."""
    def over(kind):
        there = kind.held(agent.cloud)
        done = agent.generation(kind.credential) >= generation
        assert done or (old[kind] in there and (there[old[kind]] or not active)), f"{kind.name}: {old} of {there}\n{agent.log}"
        return done

    eventually(lambda: all([over(kind) for kind in old]), lambda: agent.log, LIMIT_S, pause_s=0.1)


def wait_alone(agent, kind):
    """The published key works, and is the only one."""
    eventually(lambda: kind.held(agent.cloud) == {kind.published(agent): True},
               lambda: f"{kind.name}: {kind.held(agent.cloud)}, {mint_of(agent, kind)}\n{agent.log}", LIMIT_S, pause_s=0.2)
    assert kind.works(agent)


@pytest.mark.parametrize("how", ["delete", "deactivate"])
def test_the_new_key_is_removed_during_the_grace(agent, how):
    """The old key is kept, and works, until another one has taken the place of the one that is gone."""
    kinds = ALL if how == "delete" else NAMELESS
    first = start(agent, kinds, grace="6s", grace_most="8s")  # until the slowest has its new key
    second = rotate(agent, kinds)
    for kind in kinds:
        assert mint_of(agent, kind)["step"] == "published", agent.log
        getattr(kind, how)(agent.cloud, second[kind.name])
        assert not kind.works(agent)
    held_until(agent, {kind: first[kind.name] for kind in kinds}, 3)
    for kind in kinds:
        assert f"and not by credfresh; consumers are refused. It is replaced now; kept is the old key {first[kind.name]}" \
            in agent.log
        assert f"the old key {first[kind.name]} is kept, because the published key {second[kind.name]} was {how}d" in agent.log
    for kind in kinds:
        wait_alone(agent, kind)
        eventually(lambda: agent.status(kind.credential)["ready"] and mint_of(agent, kind)["step"] == "rest"
                   and mint_of(agent, kind)["state"] == "UPDATE_COMPLETE", lambda: f"{mint_of(agent, kind)}\n{agent.log}")
    # Where there is no room for three keys, the one that is deactivated goes first.
    said = f"removed the key {second['aws']}, which was deactivated, to make room for another one"
    assert (said in agent.log) == (how == "deactivate")


def test_the_new_key_is_removed_after_the_old_one_was_deactivated(agent):
    """It is asked for once more before the old one is deleted, which can still be activated again."""
    first = start(agent, NAMELESS)
    second = rotate(agent, NAMELESS)
    for kind, action in zip(NAMELESS, ("UpdateAccessKey", "gcp.key.disable")):
        agent.cloud.fault(kind="delay", ms=6000, match={"action": action, "role": kind.subject})
    eventually(lambda: not agent.cloud.admin("/fault")["faults"], lambda: agent.log)
    # Both deactivations are under way: the lists before them had the new keys.
    for kind in NAMELESS:
        kind.delete(agent.cloud, second[kind.name])
    held_until(agent, {kind: first[kind.name] for kind in NAMELESS}, 3, active=False)
    for kind in NAMELESS:
        assert f"{kind.credential}: rotation 2 continues: deleting" in agent.log
        assert f"the old key {first[kind.name]} is kept, because the published key {second[kind.name]} was deleted" in agent.log
    for kind in NAMELESS:
        wait_alone(agent, kind)


def test_a_cloud_that_cannot_be_asked(agent):
    """Without a list the old key stays, and the reason is shown."""
    first = start(agent, ALL, grace="8s", grace_most="10s")  # so that no cloud is asked for its list before it cannot be
    rotate(agent, ALL)
    for kind in ALL:
        agent.cloud.fault(kind="status", status=503, count=-1, match={"action": kind.requests[0]})
    for kind in ALL:
        eventually(lambda: mint_of(agent, kind)["step"] == ("retiring" if kind.deactivates else "deleting")
                   and mint_of(agent, kind)["error"], lambda: f"{kind.name}: {mint_of(agent, kind)}\n{agent.log}")
        assert kind.held(agent.cloud)[first[kind.name]] and kind.works(agent, ".old")
        assert mint_of(agent, kind)["state"] == "UPDATE_FAILED"
    agent.cloud.clear_faults()
    for kind in ALL:
        wait_alone(agent, kind)


def test_without_verify_the_old_key_stays(agent):
    """Nothing is replaced then; the old key waits for an operator as long as it takes, and `rotate` ends it."""
    first = start(agent, [AMAZON], verify=False)["aws"]
    second = rotate(agent, [AMAZON])["aws"]
    AMAZON.delete(agent.cloud, second)
    eventually(lambda: mint_of(agent, AMAZON).get("key_state") == "deleted", lambda: f"{mint_of(agent, AMAZON)}\n{agent.log}",
               LIMIT_S)
    wait_step(agent, AMAZON, "published")
    mint = mint_of(agent, AMAZON)
    assert mint["state"] == "UPDATE_FAILED" and not agent.status("aws")["ready"]
    assert f"{second} was deleted in the cloud, so the old key {first} is kept: run `credfresh rotate`" in mint["waits_for"]
    assert f"kept is the old key {first}" in mint["error"] and mint["old_key"] == first
    doctor(agent, "--offline").one("mint.waits", "warning", f"the old key {first} is kept")
    assert AMAZON.held(agent.cloud) == {first: True} and AMAZON.works(agent, ".old")
    rotate(agent, [AMAZON])
    wait_alone(agent, AMAZON)
