# SPDX-License-Identifier: MIT
"""A rotation that two agents share by a Secret of the cluster: one of them replaces the key, and both publish it; what is
missing, emptied, or not permitted is refused in words, and what is published stays."""
import json
import shutil

import pytest

from conftest import eventually
from minting import admin, cloud, configured, iam_cloud, keys_of, mint_of, rotate  # noqa: F401
from test_example_rights import rules_of
from test_mint_adopt import by_hand, ini
from shared_minting import (SECRET, b64, created, current, follow_each_other, journal, key_of, kube, pair, shared, step,  # noqa: F401
                            works)


def start(pair, kube):
    for agent in pair:
        agent.start()
    return follow_each_other(pair, kube)


def test_one_creates_the_key_and_both_publish_it(pair, kube, cloud):
    key = start(pair, kube)
    assert set(keys_of(cloud)) == {key} and created(cloud) == 1
    roles = sorted(mint_of(agent)["role"] for agent in pair)
    assert roles == ["follower", "holder"]
    holder, = [agent for agent in pair if mint_of(agent)["role"] == "holder"]
    assert {mint_of(agent)["holder"] for agent in pair} == {kube.data(SECRET)["holder"]} and mint_of(holder)["step"] == "rest"
    held = kube.data(SECRET)
    assert sorted(held) == ["holder", "journal", "nonce", "published", "takeover"]
    assert not [agent for agent in pair if list(agent.state.glob("robot+mint*"))]


def test_of_two_that_begin_at_once_one_creates_a_key(pair, kube, cloud):
    """Each has read the Secret before the other's step is written down."""
    cloud.fault(kind="delay", ms=1500, count=2, match={"action": "kube.secret.patch"})
    for agent in pair:
        agent.start(wait=False)
    key = follow_each_other(pair, kube)
    assert created(cloud) == 1 and set(keys_of(cloud)) == {key}
    assert sorted("HTTP 409" in agent.log for agent in pair) == [False, True]


@pytest.mark.parametrize("asked", [0, 1])
def test_a_rotation_reaches_both(pair, kube, cloud, asked):
    first = start(pair, kube)
    before = pair[0].published()["fields"]["aws_secret_access_key"]
    rotate(pair[asked], "drill")
    second = follow_each_other(pair, kube, first)
    eventually(lambda: set(keys_of(cloud)) == {second}, lambda: f"{keys_of(cloud)}")
    assert created(cloud) == 2 and len({agent.published()["fields"]["aws_secret_access_key"] for agent in pair}) == 1
    secret = pair[0].published()["fields"]["aws_secret_access_key"]
    for agent in pair:
        assert secret not in agent.log and before not in agent.log and b64(secret) not in agent.log
        eventually(lambda: not (agent.out / "creds.json.old").exists(), lambda: agent.log)


def test_asked_of_both_at_once(pair, kube, cloud):
    first = start(pair, kube)
    for agent in pair:
        assert agent.request("POST", "/v1/credentials/robot/rotate", json.dumps({"reason": "drill"}))[0] in (200, 202)
    second = follow_each_other(pair, kube, first)
    eventually(lambda: works(cloud) == {current(kube)} and step(kube) == "rest", lambda: f"{keys_of(cloud)}")
    assert second and created(cloud) <= 3


def test_an_agent_that_comes_later_publishes_what_is_there(pair, kube, cloud):
    pair[0].start()
    key = follow_each_other(pair[:1], kube)
    pair[1].start()
    assert follow_each_other(pair, kube) == key and created(cloud) == 1
    # One that has lost its files, too.
    pair[1].stop()
    shutil.rmtree(pair[1].out)
    pair[1].start()
    assert follow_each_other(pair, kube) == key and created(cloud) == 1 and set(keys_of(cloud)) == {key}


def test_a_restart_creates_nothing(pair, kube, cloud):
    key = start(pair, kube)
    for agent in pair:
        assert agent.stop() == 0
        agent.start()
    for agent in pair:
        agent.wait_state("fresh", "robot")
    assert follow_each_other(pair, kube) == key and created(cloud) == 1


@pytest.fixture
def rights(cloud):
    """Sets the rights of the local cloud's user to those of the example but VERB."""
    def limit(verb=None):
        rules = rules_of("shared-rotation.yaml", [("secrets", verb)])
        cloud.admin("/kube/rbac", {"rules": [{**rule, "namespace": "default"} for rule in rules]})

    yield limit
    cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "*", "resource": "*"}]})


def test_the_rights_of_the_example_are_enough(pair, kube, cloud, rights):
    rights()
    first = start(pair, kube)
    rotate(pair[0], "drill")
    follow_each_other(pair, kube, first)
    assert not [agent for agent in pair if "forbidden" in agent.log]


@pytest.mark.parametrize("verb", ["get", "patch"])
def test_a_right_that_is_missing_is_told(pair, kube, cloud, rights, verb):
    rights(verb)
    pair[0].start()
    eventually(lambda: all(word in error_of(pair[0]) for word in (verb, "secrets", SECRET, "default")), lambda: pair[0].log)
    assert not keys_of(cloud)
    rights()
    follow_each_other(pair[:1], kube)


def error_of(agent):
    status = agent.status("robot")
    return f"{(status.get('last_error') or {}).get('message')} {(status.get('mint') or {}).get('error')}"


def test_without_the_secret_nothing_is_created(pair, kube, cloud):
    kube.call("DELETE", SECRET)
    pair[0].start()
    eventually(lambda: "does not exist" in error_of(pair[0]) and "kubectl create secret generic" in error_of(pair[0]),
               lambda: pair[0].log)
    assert not keys_of(cloud) and "Secret" in error_of(pair[0])
    kube.make(SECRET)
    follow_each_other(pair[:1], kube)


def test_a_secret_that_was_deleted_is_no_new_one(pair, kube, cloud):
    key = start(pair, kube)
    kept = kube.get(SECRET)
    kube.call("DELETE", SECRET)
    for agent in pair:
        eventually(lambda: "does not exist" in error_of(agent), lambda: agent.log)
    # Not even when an empty one takes its place.
    kube.make(SECRET)
    for agent in pair:
        eventually(lambda: "is empty" in error_of(agent), lambda: agent.log)
        assert key_of(agent) == key
    assert agent.stop() == 0
    agent.start()
    eventually(lambda: "is empty" in error_of(agent), lambda: agent.log)
    assert set(keys_of(cloud)) == {key} and created(cloud) == 1
    # What was there before is good.
    kube.call("PATCH", SECRET, {"data": kept["data"]}, content="application/merge-patch+json")
    for agent in pair:
        eventually(lambda: "is empty" not in error_of(agent), lambda: agent.log)
        agent.wait_state("fresh", "robot")
    rotate(pair[0], "drill")
    follow_each_other(pair, kube, key)


def test_a_journal_that_is_older_than_the_one_before_is_refused(pair, kube, cloud):
    first = start(pair, kube)
    old = kube.get(SECRET)["data"]
    rotate(pair[0], "drill")
    second = follow_each_other(pair, kube, first)
    eventually(lambda: set(keys_of(cloud)) == {second}, lambda: f"{keys_of(cloud)}")
    kube.call("PATCH", SECRET, {"data": old}, content="application/merge-patch+json")
    for agent in pair:
        eventually(lambda: "is older than" in error_of(agent), lambda: agent.log)
        assert key_of(agent) == second


def test_a_journal_that_is_gone_is_refused(pair, kube, cloud):
    key = start(pair, kube)
    whole = kube.data(SECRET)["journal"]
    kube.call("PATCH", SECRET, {"data": {"journal": None}}, content="application/merge-patch+json")
    for agent in pair:
        eventually(lambda: "has lost its key journal" in error_of(agent), lambda: agent.log)
        assert key_of(agent) == key
        for _ in range(2):
            code, doc = agent.request("POST", "/v1/credentials/robot/rotate", json.dumps({"reason": "drill"}))
            assert code == 503 and "cannot be rotated now" in doc["error"]["message"] and "journal" in doc["error"]["message"]
    kube.call("PATCH", SECRET, {"data": {"journal": b64("{}")}}, content="application/merge-patch+json")
    for agent in pair:
        eventually(lambda: "cannot be used" in error_of(agent), lambda: agent.log)
    kube.call("PATCH", SECRET, {"data": {"journal": b64(whole)}}, content="application/merge-patch+json")
    for agent in pair:
        eventually(lambda: mint_of(agent).get("error") is None, lambda: agent.log)
    assert set(keys_of(cloud)) == {key}


def test_a_write_that_is_lost_is_repeated_and_one_whose_answer_is_lost_is_not(pair, kube, cloud):
    first = start(pair, kube)
    for fault in ({"kind": "truncate", "bytes": 10}, {"kind": "status", "status": 503, "body": ""},
                  {"kind": "status", "status": 409, "body": ""}):
        cloud.admin("/stats/reset", {})
        cloud.fault(count=1, match={"action": "kube.secret.patch"}, **fault)
        rotate(pair[0], json.dumps(fault))
        first = follow_each_other(pair, kube, first)
        eventually(lambda: set(keys_of(cloud)) == {current(kube)}, lambda: f"{keys_of(cloud)}")
        assert created(cloud) == 1


def test_a_failed_write_in_the_grace_is_made_good_by_the_next(pair, kube, cloud):
    for agent in pair:
        agent.configure(shared(agent, mint={"grace": "60s", "grace_most": "90s"}), admin(agent))
    first = start(pair, kube)
    rotate(pair[0], "drill")
    eventually(lambda: step(kube) == "published" and current(kube) != first, lambda: pair[0].log)
    holder, = [agent for agent in pair if mint_of(agent)["role"] == "holder"]
    cloud.fault(kind="status", status=503, body="", count=1, match={"action": "kube.secret.patch"})
    eventually(lambda: mint_of(holder).get("error"), lambda: holder.log)
    assert mint_of(holder)["state"] == "UPDATE_FAILED"
    eventually(lambda: not mint_of(holder).get("error"), lambda: holder.log)
    assert mint_of(holder)["state"] == "UPDATE_IN_PROGRESS" and step(kube) == "published"


def test_while_the_api_server_fails_nothing_is_begun(pair, kube, cloud):
    key = start(pair, kube)
    cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "kube.secret.patch"})
    cloud.admin("/stats/reset", {})
    rotate(pair[0], "drill")
    eventually(lambda: len(cloud.exchanges("kube.secret.patch")) > 2, lambda: pair[0].log)
    assert created(cloud) == 0 and set(keys_of(cloud)) == {key} == {key_of(agent) for agent in pair}
    cloud.clear_faults()
    follow_each_other(pair, kube, key)


@pytest.mark.parametrize("status", [409, 429, 503])
@pytest.mark.parametrize("role", ["holder", "follower"])
def test_a_write_that_is_refused_again_and_again_is_repeated_with_pauses(pair, kube, cloud, role, status):
    key = start(pair, kube)
    asked, = [agent for agent in pair if mint_of(agent)["role"] == role]
    cloud.admin("/stats/reset", {})
    cloud.fault(kind="status", status=status, body="", count=-1, match={"action": "kube.secret.patch"})
    rotate(asked, "drill")
    # By then the pauses are at their longest; without any there would be hundreds of each.
    eventually(lambda: asked.log.count("next try in") > 2, lambda: asked.log)
    assert len(cloud.exchanges("kube.secret.patch")) < 30 and len(cloud.exchanges("ListAccessKeys")) < 30
    assert created(cloud) == 0 and "cannot write down the rotation's step" in error_of(asked) + asked.log
    cloud.clear_faults()
    follow_each_other(pair, kube, key)


def test_a_reload_changes_the_secret(pair, kube, cloud):
    key = start(pair, kube)
    kube.call("DELETE", "other")
    kube.make("other")
    pair[1].configure(shared(pair[1], secret="other"), admin(pair[1]))
    assert pair[1].run("reload").returncode == 0
    eventually(lambda: "is empty" in error_of(pair[1]), lambda: pair[1].log)
    pair[1].configure(shared(pair[1], state={"takeover": "30s"}), admin(pair[1]))
    assert pair[1].run("reload").returncode == 0
    eventually(lambda: mint_of(pair[1]).get("error") is None and mint_of(pair[1]).get("key") == key, lambda: pair[1].log)
    rotate(pair[1], "drill")
    follow_each_other(pair, kube, key)


def test_a_journal_of_its_own_is_not_gone_on_with(configured, kube):
    configured.start()
    configured.wait_generation(1, "robot")
    key = key_of(configured)
    assert configured.stop() == 0
    configured.configure(shared(configured), admin(configured)).start()
    eventually(lambda: "robot+mint.json" in error_of(configured), lambda: configured.log)
    assert key_of(configured) == key and set(keys_of(configured.cloud)) == {key} and not kube.data(SECRET)


def test_an_adopted_key_is_shared(pair, kube, cloud):
    made = by_hand(pair[0])
    given = pair[0].dir / "given"
    given.write_text(ini(made))
    for agent in pair:
        agent.configure(shared(agent, mint={"adopt": str(given)}), admin(agent))
    cloud.admin("/stats/reset", {})
    assert start(pair, kube) == made[0] and created(cloud) == 0


def test_other_owners_are_refused(pair, kube, cloud):
    cloud.admin("/service/iam", {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot", "other"]})
    pair[0].start()
    key = follow_each_other(pair[:1], kube)
    pair[1].configure(shared(pair[1], user="other"), admin(pair[1])).start()
    eventually(lambda: "give all agents the same configuration" in error_of(pair[0]), lambda: pair[0].log)
    assert key in keys_of(cloud) and key_of(pair[0]) == key


@pytest.mark.parametrize("change, words", [
    ({"mint": {"or": "pass_on"}}, "or: cannot be combined with `state`"),
    ({"state": {"takeover": "5s"}}, "takeover"),
    ({"state": {"kubeconfig": None, "context": "x"}}, "context: has no effect without `kubeconfig`;"),
    ({"secret": "No_Name"}, "cannot be the name of a Secret"),
    ({"publish": {"secret": {"namespace": "default", "name": SECRET, "keys": [{"name": "a", "format": "json"}]}},
      "state": {"kubeconfig": None}}, "has the state of a rotation"),
])
def test_what_check_refuses(pair, change, words):
    c = shared(pair[0], **change)
    c["mint"]["state"] = {key: value for key, value in c["mint"]["state"].items() if value is not None}
    done = pair[0].configure(c, admin(pair[0])).run("check")
    assert done.returncode != 0 and words in done.stderr + done.stdout


def test_two_credentials_need_two_secrets(pair):
    other = {**shared(pair[0], user="other"), "name": "other",
             "publish": {"directory": str(pair[0].dir / "other"), "files": [{"name": "creds.json", "format": "json"}]}}
    done = pair[0].configure(shared(pair[0]), other, admin(pair[0])).run("check")
    assert done.returncode != 0 and "is used by robot already" in done.stderr + done.stdout
