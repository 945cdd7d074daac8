# SPDX-License-Identifier: MIT
"""Another owner of the rotated key: the former owner's is removed after the grace, or the reason is shown why it is not."""
import functools
import json
import signal

import pytest

from conftest import LocalCloud, eventually
from mint_kinds import OpenStack
from minting import (IAM, admin, call, cloud, configured, iam_cloud, keys_of, mint_of, minted, published_key,  # noqa: F401
                     rotate, wait_complete, wait_step)

BOTH = {**IAM, "users": ["robot", "other"]}


def change_owner(agent):
    """An agent that had published robot's key, and was told to rotate those of other: robot's key."""
    for key in keys_of(agent.cloud, "other"):
        agent.cloud.admin("/iam/key", {"access_key_id": key, "delete": True})
    agent.cloud.admin("/service/iam", BOTH)
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    key = published_key(agent)
    agent.configure(minted(agent, user="other", mint={"verify_every": "10s", "settle": "1s"}), admin(agent))
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_generation(2, "robot")
    return key


def test_it_is_removed_after_the_grace(configured):
    agent = configured
    key = change_owner(agent)
    assert list(keys_of(agent.cloud, "other")) == [published_key(agent)] and call(agent).endswith(":user/other")
    assert f"the key {key} of aws/robot is removed once the new owner's is published" in agent.log
    assert "AWS" not in (mint_of(agent)["waits_for"] or "")
    eventually(lambda: not keys_of(agent.cloud), lambda: f"{mint_of(agent)}\n{agent.log}")
    assert f"deactivated the key {key} of the former owner aws/robot" in agent.log
    eventually(lambda: f"removed the key {key} of the former owner aws/robot" in agent.log, lambda: agent.log)
    wait_complete(agent)
    assert "former" not in json.loads((agent.state / "robot+mint.json").read_text())
    assert list(keys_of(agent.cloud, "other")) == [published_key(agent)] and agent.status("robot")["ready"]


def test_it_survives_a_restart_and_says_why_it_cannot(configured):
    agent = configured
    key = change_owner(agent)
    agent.cloud.fault(kind="error", code="AccessDenied", status=403, count=-1,
                      match={"action": "UpdateAccessKey", "role": "robot"})
    agent.stop()
    agent.start()
    eventually(lambda: f"the key {key} of the former owner aws/robot remains: UpdateAccessKey" in (mint_of(agent)["waits_for"] or ""),
               lambda: f"{mint_of(agent)}\n{agent.log}")
    assert mint_of(agent)["state"] == "UPDATE_COMPLETE" and agent.status("robot")["ready"]
    assert list(keys_of(agent.cloud)) == [key]
    agent.cloud.clear_faults()
    agent.stop()
    agent.start()
    eventually(lambda: not keys_of(agent.cloud), lambda: f"{mint_of(agent)}\n{agent.log}")


@pytest.mark.parametrize("step", ["rest", "published"])
def test_a_mistake_is_set_back(configured, step):
    """Nothing of the former owner is forgotten before a key of the new one is made: its rotation goes on."""
    agent = configured
    times = {"grace": "12s", "grace_most": "12s", "verify_every": "10s", "settle": "1s"}
    agent.configure(minted(agent, mint=times), admin(agent)).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    if step == "published":
        rotate(agent, "ticket")
        agent.wait_generation(2, "robot")
        wait_step(agent, step)
    key, generation = published_key(agent), agent.generation("robot")
    eventually(lambda: json.loads((agent.state / "robot+mint.json").read_text())["step"] == step, lambda: agent.log)
    journal = (agent.state / "robot+mint.json").read_text()
    agent.configure(minted(agent, user="robto", mint=times), admin(agent))
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: "there is no such user" in ((agent.status("robot")["last_error"] or {}).get("message") or ""),
               lambda: agent.log)
    assert f"the key {key} of aws/robot is removed once the new owner's is published" in agent.log
    assert (agent.state / "robot+mint.json").read_text() == journal and published_key(agent) == key
    agent.configure(minted(agent, mint=times), admin(agent))
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: agent.status("robot")["ready"] and mint_of(agent).get("key_state") == "active", lambda: agent.log)
    eventually(lambda: mint_of(agent)["step"] == "rest", lambda: f"{mint_of(agent)}\n{agent.log}")
    assert list(keys_of(agent.cloud)) == [key] == [published_key(agent)] and agent.generation("robot") == generation
    assert "not credfresh's" not in agent.log and mint_of(agent)["state"] == "UPDATE_COMPLETE"


def test_every_key_of_the_former_owner_is_told_of(configured):
    agent = configured
    for key in keys_of(agent.cloud, "other"):
        agent.cloud.admin("/iam/key", {"access_key_id": key, "delete": True})
    agent.cloud.admin("/service/iam", BOTH)
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    key = published_key(agent)
    agent.stop()
    # As a run leaves it that ended while it made another key.
    path = agent.state / "robot+mint.json"
    aside = [{"since_s": "1700000000", "id": "AKIATHEIRS0000000000", "ours": False},
             {"since_s": "1700000000", "id": "AKIAOURS000000000000", "ours": True}]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"step": "lost", "aside": aside}))
    agent.configure(minted(agent, user="other", mint={"settle": "1s"}), admin(agent))
    agent.start()
    agent.wait_generation(2, "robot")
    for one in key, "AKIAOURS000000000000":
        assert f"the key {one} of aws/robot is removed once the new owner's is published" in agent.log
    assert "these keys of aws/robot remain until an operator deletes them" in agent.log and "there are too many: AKIATHEIRS0000000000" in agent.log
    assert "one more key of aws/robot may have been created a moment ago" in agent.log
    eventually(lambda: agent.log.count("the key AKIAOURS000000000000 of the former owner aws/robot was not found") == 2,
               lambda: f"{mint_of(agent)}\n{agent.log}")
    assert not keys_of(agent.cloud)
    for said in "removed", "deactivated":
        assert f"{said} the key {key} of" in agent.log and f"{said} the key AKIAOURS000000000000" not in agent.log


def test_a_key_whose_answer_was_stored_just_before_a_crash(configured):
    """The journal does not have its id yet: its pending secret does, and it is removed as any other."""
    agent = configured
    for key in keys_of(agent.cloud, "other"):
        agent.cloud.admin("/iam/key", {"access_key_id": key, "delete": True})
    agent.cloud.admin("/service/iam", BOTH)
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "GetCallerIdentity"})
    agent.start()
    wait_step(agent, "minted")
    agent.kill()
    agent.cloud.clear_faults()
    path = agent.state / "robot+mint.json"
    key, = keys_of(agent.cloud)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"step": "intent", "minted": ""}))
    agent.configure(minted(agent, user="other", mint={"settle": "1s"}), admin(agent))
    agent.start()
    agent.wait_generation(1, "robot")
    assert f"the key {key} of aws/robot is removed once the new owner's is published" in agent.log
    assert "one more key of aws/robot" not in agent.log
    eventually(lambda: not keys_of(agent.cloud), lambda: f"{mint_of(agent)}\n{agent.log}")


@pytest.mark.parametrize("key", ["created", "adopted", "of an earlier version"])
def test_another_user_behind_with(agent_factory, tmp_path, key):
    """Its list does not have the keys of the user before: that is said, and nothing is done, until `with` is set back."""
    first, second = OpenStack(0, "robot"), OpenStack(1, "robot")
    settings = OpenStack.settings(2)
    given = tmp_path / "given"
    if key == "adopted":
        settings["keystone"]["application_credentials"] += [
            {"id": "prod-key", "name": "prod", "secret": "prod-secret", "user": first.subject}]
        first.configured = functools.partial(first.configured, adopt=str(given))
        second.configured = functools.partial(second.configured, adopt=str(given))
    cloud = LocalCloud(tmp_path / "keystone", config=settings)
    given.write_text(f"OS_AUTH_URL={cloud.ready['keystone_url']}\nOS_APPLICATION_CREDENTIAL_ID=prod-key\n"
                     "OS_APPLICATION_CREDENTIAL_SECRET=prod-secret\n")
    agent = agent_factory(cloud)
    agent.configure(*first.configured(agent)).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    journal = agent.state / "robot+mint.json"
    if key == "of an earlier version":
        agent.stop()
        journal.write_text(json.dumps({name: value for name, value in json.loads(journal.read_text()).items()
                                       if name != "account"}))
        agent.start()
    assert (first.published(agent) == "prod-key") == (key == "adopted")
    key = first.published(agent)
    eventually(lambda: json.loads(journal.read_text()).get("account") == first.subject, lambda: agent.log)
    for kind, words in ((second, f"now belongs to {second.subject}, but the keys"), (first, None)):
        agent.configure(*kind.configured(agent))
        agent.process.send_signal(signal.SIGHUP)
        eventually(lambda: agent.log.count("loaded the new configuration") == (1 if kind is second else 2), lambda: agent.log)
        agent.run("rotate", "robot", "--reason", kind.subject)
        if words:
            eventually(lambda: words in ((agent.status("robot")["last_error"] or {}).get("message") or ""), lambda: agent.log)
            assert key in agent.log and f"were created in {first.subject}" in agent.log
            assert first.published(agent) == key and first.held(cloud) == {key: True} and not second.held(cloud)
    agent.wait_generation(2, "robot")
    eventually(lambda: first.held(cloud) == {first.published(agent): True}, lambda: agent.log)
    assert first.published(agent) != key and not second.held(cloud)
    cloud.stop()
