# SPDX-License-Identifier: MIT
"""A published long-lived key that an operator deletes or deactivates in its cloud: it is noticed, reported, and replaced. All five clouds."""
import json

import pytest

from conftest import LocalCloud, eventually
from mint_kinds import KINDS, Amazon, all_settings, mint_of

AMAZON = Amazon()
ALL = [AMAZON, *KINDS]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config={**AMAZON.settings(1), **all_settings(1)})
    yield made
    made.stop()


@pytest.fixture
def agent(agent_factory, shared):
    shared.clear_faults()
    for key in AMAZON.held(shared):
        shared.admin("/iam/key", {"access_key_id": key, "delete": True})
    return agent_factory(shared)


def key_of(agent, kind):
    """The id of the published key."""
    return (kind.directory(agent) / "minted").read_text().split()[1]


def remove(agent, kind):
    """An operator deletes the published key, or deactivates it at Google."""
    key = key_of(agent, kind)
    if kind.name == "gcp":
        kind.deactivate(agent.cloud, key)
    else:
        kind.delete(agent.cloud, key)
    assert not kind.works(agent)
    return key


def start(agent, kinds, **mint):
    agent.configure(*(one for kind in kinds for one in kind.configured(agent, **mint))).start()
    for kind in kinds:
        agent.wait_generation(1, kind.name)
        eventually(lambda: mint_of(agent, kind).get("key_state") == "active" and mint_of(agent, kind)["step"] == "rest",
                   lambda: f"{mint_of(agent, kind)}\n{agent.log}")


def test_a_removed_key_is_replaced(agent):
    """In every cloud; the next start notices it, and the rotation is an ordinary one."""
    start(agent, ALL)
    agent.stop()
    gone = {kind.name: remove(agent, kind) for kind in ALL}
    agent.start()
    for kind in ALL:
        agent.wait_generation(2, kind.name)
        eventually(lambda: mint_of(agent, kind).get("step") == "rest", lambda: agent.log)
        assert mint_of(agent, kind)["state"] == "UPDATE_COMPLETE" and agent.status(kind.name)["ready"]
        assert key_of(agent, kind) != gone[kind.name] and kind.works(agent)
        how = "deactivated" if kind.name == "gcp" else "deleted"
        assert f"the published key {gone[kind.name]} of {kind.name}/" in agent.log
        assert f"was {how} in the cloud, and not by credfresh" in agent.log
        assert gone[kind.name] not in kind.held(agent.cloud)


def test_a_removed_key_is_replaced_while_a_hook_fails(agent):
    credentials = list(AMAZON.configured(agent, settle="1s", verify_every="10s"))
    for one in credentials:
        if one["name"] == AMAZON.credential:
            one["reload"] = [{"exec": ["/bin/false"]}]
    agent.configure(*credentials).start()
    agent.wait_generation(1, AMAZON.credential)
    eventually(lambda: mint_of(agent, AMAZON).get("key_state") == "active" and mint_of(agent, AMAZON)["step"] == "rest",
               lambda: agent.log)
    gone = remove(agent, AMAZON)
    agent.wait_generation(2, AMAZON.credential)
    assert agent.status(AMAZON.credential)["state"] == "reloading" and key_of(agent, AMAZON) != gone


def test_without_verify_it_is_reported(agent):
    """Status, metrics, readiness, doctor and `check --online` say so, and nothing is made; `rotate` ends it."""
    start(agent, [AMAZON], verify=False)
    assert agent.run("check", "--online").returncode == 0
    agent.stop()
    agent.cloud.admin("/stats/reset", {})
    key = key_of(agent, AMAZON)
    AMAZON.deactivate(agent.cloud, key)
    agent.start()
    eventually(lambda: mint_of(agent, AMAZON).get("key_state") == "deactivated",
               lambda: f"{mint_of(agent, AMAZON)}\n{agent.log}")
    status = agent.status("aws")
    assert status["mint"]["state"] == "UPDATE_FAILED" and not status["ready"] and status["published"]
    assert f"the published key {key} of" in status["mint"]["error"] and "mint.verify" in status["mint"]["error"]
    assert agent.log.count("and not by credfresh") == 1
    code, page = agent.request("GET", "/readyz")
    assert code == 503 and f"{key} of aws/{AMAZON.subject} was deactivated in the cloud" in str(page)
    code, page = agent.request("GET", "/metrics")
    assert 'credfresh_key_state{credential="aws",state="deactivated"} 1' in str(page)
    assert 'credfresh_key_state{credential="aws",state="active"} 0' in str(page)
    doctor = agent.run("doctor", "--json")
    found = [one for one in json.loads(doctor.stdout)["findings"] if one["check"] == "mint.key"]
    assert [one["level"] for one in found] == ["wrong"] and key in found[0]["text"], doctor.stdout
    check = agent.run("check", "--online")
    assert check.returncode != 0 and "was deactivated in the cloud" in check.stdout + check.stderr
    assert not agent.cloud.exchanges("CreateAccessKey") and agent.generation("aws") == 1
    assert agent.run("rotate", "aws").returncode == 0
    agent.wait_generation(2, "aws")
    eventually(lambda: mint_of(agent, AMAZON).get("key_state") == "active" and agent.status("aws")["ready"],
               lambda: f"{mint_of(agent, AMAZON)}\n{agent.log}")


def test_a_cloud_that_cannot_be_asked(agent):
    """An outage says nothing about the key: nothing changes, and it is logged once."""
    start(agent, [AMAZON])
    agent.stop()
    agent.cloud.admin("/stats/reset", {})
    agent.cloud.fault(kind="error", code="ServiceUnavailable", status=503, count=-1, match={"action": "ListAccessKeys"})
    agent.start()
    eventually(lambda: "cannot look up the published key" in agent.log, lambda: agent.log)
    status = agent.status("aws")
    assert status["ready"] and status["mint"]["state"] == "UPDATE_COMPLETE" and status["mint"]["key_state"] is None
    assert agent.log.count("cannot look up the published key") == 1
    assert not agent.cloud.exchanges("CreateAccessKey") and status["generation"] == 1


def test_it_is_looked_up_as_often_as_is_said(agent):
    """Without a restart, and without a command."""
    kind = AMAZON
    agent.configure(*kind.configured(agent, settle="1s", verify_every="10s")).start()
    agent.wait_generation(1, kind.credential)
    eventually(lambda: mint_of(agent, kind).get("key_state") == "active", lambda: agent.log)
    kind.delete(agent.cloud, key_of(agent, kind))
    agent.wait_generation(2, kind.credential)
    assert "deleted in the cloud, and not by credfresh" in agent.log and kind.use(agent) == 200
