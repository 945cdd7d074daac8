# SPDX-License-Identifier: MIT
"""Rotation of long-lived keys in the other clouds, when answers get lost."""
import pytest

from conftest import LocalCloud
from mint_kinds import KINDS, all_settings, clean_up, held, mint_of, only_published, wait_all


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config=all_settings(2))
    yield made
    made.stop()


@pytest.fixture
def agent(agent_factory, shared):
    """One that rotates in all of them, at the same time."""
    made = agent_factory(shared)
    return made.configure(*(one for kind in KINDS for one in kind.configured(made)))


@pytest.mark.parametrize("fault", [{"kind": "truncate", "bytes": 40}, {"kind": "close"}], ids=["cut", "never-done"])
def test_a_lost_answer_leaves_nothing_behind(agent, fault):
    """The request is never sent again as it is: two keys could come of that. A lost key is deleted where its name proves that
    it is ours; at Google it is put aside."""
    before = held(agent)
    agent.cloud.admin("/stats/reset", {})
    for kind in KINDS:
        agent.cloud.fault(match={"action": kind.create}, **fault)
    agent.start()
    wait_all(agent, 1)
    for kind in KINDS:
        assert f"{kind.name}: rotation 1 continues: intent" in agent.log and mint_of(agent, kind)["rotation"] == 2, agent.log
        assert len(agent.cloud.exchanges(kind.create)) == 2
    made = fault["kind"] == "truncate"
    if made:
        lost = clean_up(agent, KINDS[0])
        assert f"{lost} may be a lost key or another user's" in mint_of(agent, KINDS[0])["waits_for"]
        assert not agent.cloud.exchanges("gcp.key.delete")[1:]
    only_published(agent, before)
    assert ("removed the key" in agent.log) == made
