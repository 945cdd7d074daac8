# SPDX-License-Identifier: MIT
"""Rotated keys in Secrets of the cluster: KEY, KEY.old and the mint time in one apply; the old key outlives the apply."""
import json

import pytest

from conftest import eventually
from test_events import reasons
from test_mint_adopt import by_hand, ini
from minting import (ADMIN, IAM, admin, clean_up, cloud, configured, iam_cloud, keys_of, mint_of, minted, rotate, wait_complete,
                     wait_step)
from test_secret_target import Kube, delivery

KEYS = [{"name": "aws_access_key_id", "format": "field", "field": "aws_access_key_id"},
        {"name": "credentials", "format": "aws-credentials"}]


@pytest.fixture
def kube(cloud):
    found = Kube(cloud)
    found.call("DELETE", "robot")
    return found


def secret(agent, **over):
    return {"secret": {"namespace": "default", "name": "robot", "kubeconfig": agent.cloud.ready["kubeconfig"],
                       "keys": KEYS, **over}}


@pytest.fixture
def agent(configured, kube):
    """One that rotates a key in a Secret, not started."""
    configured.configure(minted(configured, publish=secret(configured)), admin(configured))
    return configured


def held(kube):
    return kube.data("robot")


def start(agent):
    agent.start()
    agent.wait_generation(1, "robot")
    eventually(lambda: delivery_of(agent).get("result") == "ok", agent.log)
    wait_complete(agent)
    return agent


def active(agent):
    return {name for name, key in keys_of(agent.cloud).items() if key["active"]}


def test_old_and_new_in_one_apply(agent, kube):
    start(agent)
    first = held(kube)
    assert sorted(first) == ["aws_access_key_id", "credentials", "minted"]
    assert first["minted"].split()[1] == first["aws_access_key_id"] and first["minted"].endswith("Z " + first["minted"].split()[1] + "\n")
    assert first["aws_access_key_id"] in first["credentials"] and active(agent) == {first["aws_access_key_id"]}
    agent.cloud.admin("/stats/reset", {})
    rotate(agent, "one")
    eventually(lambda: held(kube)["aws_access_key_id"] != first["aws_access_key_id"], agent.log)
    second = held(kube)
    assert sorted(second) == ["aws_access_key_id", "aws_access_key_id.old", "credentials", "credentials.old", "minted"]
    assert second["aws_access_key_id.old"] == first["aws_access_key_id"] and second["credentials.old"] == first["credentials"]
    assert second["minted"].split()[1] == second["aws_access_key_id"]
    assert len(agent.cloud.exchanges("kube.secret.apply")) == 1
    wait_complete(agent)
    assert active(agent) == {second["aws_access_key_id"]}
    managers = {entry["manager"] for entry in kube.get("robot")["metadata"]["managedFields"]}
    assert managers == {"credfresh"}
    # The old values go with the old key, and everything else remains as it is.
    generation = agent.generation("robot")
    eventually(lambda: "credentials.old" not in held(kube), agent.log)
    assert held(kube) == {key: value for key, value in second.items() if not key.endswith(".old")}
    assert agent.generation("robot") == generation and delivery_of(agent)["result"] == "ok"
    assert len(agent.cloud.exchanges("kube.secret.apply")) == 2
    agent.stop()
    agent.start()
    agent.wait_state("fresh", "robot")
    assert active(agent) == {second["aws_access_key_id"]} and len(agent.cloud.exchanges("kube.secret.apply")) == 2
    assert first["credentials"].split()[-1] not in agent.log


def test_events_say_why(agent, kube):
    """An adopted key was not rotated, and a repair is no new key."""
    key = by_hand(agent)
    (agent.dir / "old").write_text(ini(key))
    agent.configure(minted(agent, publish=secret(agent, events=True), mint={"adopt": str(agent.dir / "old")}), admin(agent))
    start(agent)
    assert held(kube)["aws_access_key_id"] == key[0]
    eventually(lambda: reasons(agent, "robot") == ["Adopted"], lambda: agent.log)
    rotate(agent, "drill")
    eventually(lambda: reasons(agent, "robot") == ["Adopted", "Rotated"], lambda: f"{reasons(agent, 'robot')} {agent.log}")
    wait_complete(agent)


def refuse(agent):
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "kube.secret.apply"})


def test_the_old_key_stays_until_the_cluster_has_the_new_one(agent, kube):
    start(agent)
    first = held(kube)
    refuse(agent)
    rotate(agent, "one")
    wait_step(agent, "verified")
    eventually(lambda: delivery_of(agent).get("error"), agent.log)
    assert held(kube) == first
    # Longer than the grace, by what the agent itself counts.
    failed = delivery_of(agent)["runs_failed"]
    eventually(lambda: delivery_of(agent)["runs_failed"] > failed + 1, agent.log)
    assert first["aws_access_key_id"] in active(agent) and mint_of(agent)["step"] == "verified"
    assert not agent.status("robot")["ready"] or held(kube) == first
    agent.cloud.clear_faults()
    eventually(lambda: held(kube).get("credentials.old") == first["credentials"], agent.log)
    wait_complete(agent)
    assert active(agent) == {held(kube)["aws_access_key_id"]}


def delivery_of(agent):
    return (agent.status("robot").get("deliveries") or [{}])[0]


def test_a_crash_before_the_apply_loses_no_key_and_makes_no_other(agent, kube):
    start(agent)
    first = held(kube)
    refuse(agent)
    rotate(agent, "one")
    wait_step(agent, "verified")
    eventually(lambda: delivery_of(agent).get("error"), agent.log)
    made = set(keys_of(agent.cloud))
    agent.kill()
    agent.cloud.clear_faults()
    agent.start()
    eventually(lambda: held(kube).get("credentials.old") == first["credentials"], agent.log)
    wait_complete(agent)
    second = held(kube)
    assert made == {first["aws_access_key_id"], second["aws_access_key_id"]}
    assert set(keys_of(agent.cloud)) == {second["aws_access_key_id"]}


def test_the_same_key_again_keeps_the_old_one(agent, kube):
    """An apply whose answer was lost is repeated."""
    start(agent)
    first = held(kube)
    agent.cloud.fault(kind="truncate", bytes=10, count=1, match={"action": "kube.secret.apply"})
    rotate(agent, "one")
    eventually(lambda: held(kube)["aws_access_key_id"] != first["aws_access_key_id"], agent.log)
    assert held(kube)["credentials.old"] == first["credentials"]
    wait_complete(agent)


def test_another_managers_field_is_refused_in_words(agent, kube):
    start(agent)
    first = held(kube)
    taken = kube.apply("robot", "helm", {"credentials": "mine"}, force=True)
    assert taken["kind"] == "Secret"
    rotate(agent, "one")
    eventually(lambda: '"helm"' in (delivery_of(agent).get("error") or ""), agent.log)
    assert held(kube)["credentials"] == "mine" and first["aws_access_key_id"] in active(agent)
    eventually(lambda: "owns .data.credentials" in (delivery_of(agent).get("error") or ""), agent.log)
    assert mint_of(agent)["step"] == "verified" and first["aws_access_key_id"] in active(agent)


def test_a_secret_that_was_deleted_is_made_with_a_new_key(agent, kube):
    start(agent)
    first = held(kube)
    agent.stop()
    kube.call("DELETE", "robot")
    agent.start()
    eventually(lambda: "aws_access_key_id" in held(kube), agent.log)
    wait_complete(agent)
    assert sorted(held(kube)) == ["aws_access_key_id", "credentials", "minted"]
    assert active(agent) == {held(kube)["aws_access_key_id"]} != {first["aws_access_key_id"]}


def test_a_directory_and_a_secret_change_together(configured, kube):
    agent = configured
    files = minted(agent)["publish"]
    agent.configure(minted(agent, publish=[files, secret(agent)]), admin(agent))
    start(agent)
    assert held(kube)["credentials"] == (agent.out / "credentials").read_text()
    rotate(agent, "one")
    eventually(lambda: "credentials.old" in held(kube), agent.log)
    for name in ("credentials", "credentials.old", "minted"):
        assert held(kube)[name] == (agent.out / name).read_text()
    eventually(lambda: "credentials.old" not in held(kube) and not (agent.out / "credentials.old").exists(), agent.log)


def test_names_that_would_be_overwritten(agent):
    for name in ("credentials.old", "minted"):
        agent.configure(minted(agent, publish=secret(agent, keys=[{"name": name, "format": "aws-credentials"}])),
                        admin(agent))
        done = agent.run("check")
        assert done.returncode != 0 and "choose another name" in done.stderr + done.stdout


def test_a_key_that_is_passed_on(agent, kube):
    """It has no `minted`, is not applied again by a restart, and is no KEY.old of the key that follows."""
    agent.cloud.admin("/service/iam", {**IAM, "deny": ["CreateAccessKey"]})
    agent.configure(minted(agent, mint={"or": "pass_on"}, publish=secret(agent)), admin(agent)).start()
    agent.wait_generation(1, "robot")
    eventually(lambda: delivery_of(agent).get("result") == "ok", agent.log)
    assert sorted(held(kube)) == ["aws_access_key_id", "credentials"]
    assert held(kube)["aws_access_key_id"] == ADMIN["aws_access_key_id"]
    agent.kill()
    agent.cloud.admin("/stats/reset", {})
    agent.start()
    eventually(lambda: agent.cloud.exchanges("CreateAccessKey") and mint_of(agent).get("passed_on"), lambda: agent.log)
    agent.wait_state("fresh", "robot")
    assert agent.generation("robot") == 1 and not agent.cloud.exchanges("kube.secret.apply")
    agent.stop()
    agent.cloud.admin("/service/iam", IAM)
    agent.start()
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert sorted(held(kube)) == ["aws_access_key_id", "credentials", "minted"]
    assert active(agent) == {held(kube)["aws_access_key_id"]} == {held(kube)["minted"].split()[1]}


def test_what_the_record_alone_says_is_published_is_not_counted_again(agent, kube):
    """As after a crash between the delivery and the next step, whose pending secret is lost: no directory has a generation."""
    start(agent)
    first = held(kube)
    rotate(agent, "one")
    eventually(lambda: held(kube)["aws_access_key_id"] != first["aws_access_key_id"], agent.log)
    wait_complete(agent)
    assert agent.stop() == 0
    path = agent.state / "robot+mint.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "minted": kept["current"], "minted_s": kept["current_s"], "current": "", "step": "verified",
                                "published": "1"}))
    agent.start()
    eventually(lambda: "continues: rest" in agent.log.split("stopping")[-1], lambda: f"{mint_of(agent)}\n{agent.log}")
    assert agent.generation("robot") == 2 and agent.status("robot")["ready"] and json.loads(path.read_text())["current"] == kept["current"]
