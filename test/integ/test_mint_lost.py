# SPDX-License-Identifier: MIT
"""Rotation of long-lived keys in the other clouds, when answers get lost."""
import pytest

from conftest import LocalCloud, eventually
from mint_kinds import KINDS, Google, all_settings, held, mint_of, only_published, wait_all


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config=all_settings(2))
    yield made
    made.stop()


@pytest.fixture
def agent(agent_factory, shared):
    """One that rotates in all three clouds, at the same time."""
    made = agent_factory(shared)
    return made.configure(*(one for kind in KINDS for one in kind.configured(made)))


@pytest.mark.parametrize("fault", [{"kind": "truncate", "bytes": 40}, {"kind": "close"}], ids=["cut", "never-done"])
def test_a_lost_answer_leaves_nothing_behind(agent, fault):
    """The request is never sent again as it is: two keys could come of that."""
    before = held(agent)
    agent.cloud.admin("/stats/reset", {})
    for kind in KINDS:
        agent.cloud.fault(match={"action": kind.create}, **fault)
    agent.start()
    wait_all(agent, 1)
    for kind in KINDS:
        assert f"{kind.name}: rotation 1 goes on: intent" in agent.log and mint_of(agent, kind)["rotation"] == 2, agent.log
        assert len(agent.cloud.exchanges(kind.create)) == 2
        # What may be somebody else's is put aside before it goes.
        eventually(lambda: not mint_of(agent, kind).get("waits_for"), lambda: agent.log)
    only_published(agent, before)
    assert ("removed the key" in agent.log) == (fault["kind"] == "truncate")


def test_a_key_that_may_be_somebody_elses(agent_factory, shared):
    """While an answer is lost at Google somebody makes a key, and with the same rights: both are put aside. Whose it is
    brings it back, and it stays; the lost one is removed. A key made with other rights is not touched."""
    google = Google(1)
    agent = agent_factory(shared)
    agent.configure(*google.configured(agent, settle="6s", inactive="10s")).start()
    agent.wait_generation(1, "gcp")
    shared.fault(kind="truncate", bytes=40, match={"action": google.create, "role": google.subject})
    assert agent.run("rotate", "gcp").returncode == 0
    eventually(lambda: mint_of(agent, google).get("step") == "lost", lambda: agent.log)
    other, mine = (google.by_hand(shared, "keys", who)["name"].rsplit("/", 1)[1] for who in ("other", "demo"))
    eventually(lambda: google.held(shared)[mine] is False, lambda: agent.log)
    lost = {key for key, active in google.held(shared).items() if not active} - {mine}
    assert len(lost) == 1 and google.held(shared)[other]
    eventually(lambda: f"deactivated the key {mine}" in agent.log, lambda: agent.log)
    google.by_hand(shared, f"keys/{mine}:enable")
    # None of it stands in the way of the rotation.
    agent.wait_generation(2, "gcp", 30)
    eventually(lambda: google.held(shared) == {google.published(agent): True, other: True, mine: True}, lambda: agent.log,
               30)
    eventually(lambda: f"{mine}, which was deactivated, is active again" in agent.log, lambda: agent.log)
    assert not mint_of(agent, google).get("waits_for") and lost.pop() in agent.log
