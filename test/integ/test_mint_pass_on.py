# SPDX-License-Identifier: MIT
"""`mint.or: pass_on`: while the cloud refuses `with` the right to create keys, its own key is published; that key is never the
rotation's to remove."""
import json
import shutil

import pytest

from conftest import Mounted, eventually
from mint_kinds import iam
from minting import (ADMIN, IAM, admin, call, cloud, configured, iam_cloud, keys_of, minted, mint_of, published_key,  # noqa: F401
                     rotate, wait_complete)

REFUSED = {**IAM, "deny": ["CreateAccessKey"]}
SAID = "admin may not create keys of aws/robot: publishing its own key until it may; consumers have the rights of admin"
ALONE = {"aws_access_key_id": "AKIAADMINADMINADMIN0", "aws_secret_access_key": "admin-secret", "note": "changed"}


def pass_on(agent, settings, **over):
    agent.cloud.admin("/service/iam", settings)
    return agent.configure(minted(agent, mint={"or": "pass_on"}, **over), admin(agent))


def start_passed_on(agent, settings=REFUSED):
    pass_on(agent, settings).start()
    agent.wait_generation(1, "robot")
    eventually(lambda: mint_of(agent).get("passed_on") == "admin", lambda: f"{mint_of(agent)}\n{agent.log}")
    return agent


def metric(agent):
    return [line for line in agent.request("GET", "/metrics")[1].splitlines() if line.startswith("credfresh_key_passed_on{")]


def warnings(agent):
    return [line for line in agent.log.splitlines() if SAID in line and " warn " in line]


def attempts(agent):
    return len(agent.cloud.exchanges("CreateAccessKey"))


def test_it_is_passed_on_until_the_right_is_there(configured):
    agent = start_passed_on(configured)
    assert published_key(agent) == ADMIN["aws_access_key_id"] and call(agent).endswith(":user/admin")
    assert not (agent.out / "minted").exists() and not keys_of(agent.cloud)
    status = agent.status("robot")
    assert status["ready"] and status["last_error"] is None and status["mint"]["state"] == "UPDATE_COMPLETE"
    assert status["mint"]["key"] is None and status["mint"]["old_key"] is None
    assert status["mint"]["waits_for"] == "an operator: admin may not create keys of aws/robot, so its own key is published"
    assert metric(agent) == ['credfresh_key_passed_on{credential="robot"} 1']
    assert len(warnings(agent)) == 1 and "admin-secret" not in agent.log
    assert "mint.waits" in agent.run("doctor").stdout
    # A change of the Secret is a reason to try, and is no reason to publish the same key once more.
    tried = attempts(agent)
    secret = Mounted(agent.dir / "admin")
    secret.number = 1
    secret.put(ALONE)
    eventually(lambda: attempts(agent) > tried, lambda: agent.log)
    agent.wait_state("fresh", "robot")
    assert agent.generation("robot") == 1 and len(warnings(agent)) == 1
    # The right is there.
    agent.cloud.admin("/service/iam", IAM)
    secret.put(ADMIN)
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert [published_key(agent)] == list(keys_of(agent.cloud)) and call(agent).endswith(":user/robot")
    assert (agent.out / "minted").read_text().split()[1] == published_key(agent)
    assert mint_of(agent)["passed_on"] is None and metric(agent) == ['credfresh_key_passed_on{credential="robot"} 0']
    # What consumers had before is no old key of the rotation.
    assert not (agent.out / "creds.json.old").exists() and mint_of(agent)["old_key"] is None


def test_the_key_of_the_administrator_is_never_removed(configured):
    """Even where it is a key of the very user whose keys are rotated, through a rotation that follows."""
    agent = configured
    agent.cloud.admin("/service/iam", IAM)
    made = iam(agent.cloud).create_access_key(UserName="robot")["AccessKey"]
    own = {"admins": ["arn:aws:iam::*:user/robot"], "users": ["robot"]}
    secret = Mounted(agent.dir / "admin")
    secret.number = 1
    secret.put({"aws_access_key_id": made["AccessKeyId"], "aws_secret_access_key": made["SecretAccessKey"]})
    start_passed_on(agent, {**own, "deny": ["CreateAccessKey"]})
    key = made["AccessKeyId"]
    assert published_key(agent) == key
    journal = json.loads((agent.state / "robot+mint.json").read_text())
    assert journal["step"] == "rest" and not journal.get("current") and not journal.get("old")
    agent.cloud.admin("/service/iam", own)
    agent.cloud.admin("/stats/reset", {})
    secret.put({"aws_access_key_id": key, "aws_secret_access_key": made["SecretAccessKey"], "note": "allowed"})
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert published_key(agent) != key and keys_of(agent.cloud)[key]["active"]
    # Past the grace and `inactive`, and with another rotation asked for, which has no room for its key.
    rotate(agent, "drill")
    eventually(lambda: "waits for room" in ((agent.status("robot").get("last_error") or {}).get("message") or ""),
               lambda: f"{agent.status('robot')}\n{agent.log}")
    assert keys_of(agent.cloud)[key]["active"] and keys_of(agent.cloud)[published_key(agent)]["active"]
    text = (agent.state / "robot+mint.json").read_text()
    journal = json.loads(text)
    assert key not in (journal.get("current"), journal.get("old"), journal.get("minted")) and not journal["aside"]
    assert f"removed the key {key}" not in agent.log


def test_an_outage_is_no_refusal(configured):
    agent = configured
    agent.cloud.fault(kind="error", code="ServiceFailure", status=503, count=-1, match={"action": "CreateAccessKey"})
    pass_on(agent, IAM).start()
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code"), lambda: agent.log)
    assert attempts(agent) and agent.generation("robot") == 0 and not agent.out.exists() and SAID not in agent.log


def test_a_refused_list_passes_on_and_an_unknown_key_does_not(configured):
    agent = configured
    secret = Mounted(agent.dir / "admin")
    secret.number = 1
    secret.put({"aws_access_key_id": "AKIAUNKNOWNUNKNOWN00", "aws_secret_access_key": "x"})
    pass_on(agent, {**IAM, "deny": ["ListAccessKeys"]}).start()
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code"), lambda: agent.log)
    assert agent.generation("robot") == 0 and SAID not in agent.log
    secret.put(ADMIN)
    agent.wait_generation(1, "robot")
    assert published_key(agent) == ADMIN["aws_access_key_id"] and SAID in agent.log


def test_it_follows_the_secret_in_an_outage(configured):
    """What was passed on may have been deleted since."""
    agent = start_passed_on(configured)
    agent.cloud.fault(kind="error", code="ServiceFailure", status=503, count=-1, match={"action": "ListAccessKeys"})
    secret = Mounted(agent.dir / "admin")
    secret.number = 1
    secret.put({"aws_access_key_id": "AKIAOTHEROTHEROTHER0", "aws_secret_access_key": "other"})
    agent.wait_generation(2, "robot")
    assert published_key(agent) == "AKIAOTHEROTHEROTHER0" and mint_of(agent)["passed_on"] == "admin"


def test_it_is_killed_and_goes_on(configured):
    agent = start_passed_on(configured)
    agent.kill()
    agent.start()
    eventually(lambda: mint_of(agent).get("passed_on") == "admin", lambda: agent.log)
    agent.wait_state("fresh", "robot")
    assert agent.generation("robot") == 1 and published_key(agent) == ADMIN["aws_access_key_id"]
    assert agent.status("robot")["ready"] and agent.status("robot")["last_reason"] is None
    # Killed once more; meanwhile the right is granted.
    agent.kill()
    agent.cloud.admin("/service/iam", IAM)
    agent.start()
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert [published_key(agent)] == list(keys_of(agent.cloud)) and mint_of(agent)["passed_on"] is None


def test_a_rotation_that_is_asked_for_is_refused_and_its_reason_kept(configured):
    agent = start_passed_on(configured)
    done = agent.run("rotate", "robot", "--reason", "drill")
    assert done.returncode != 0 and "publishes the key of `mint.with`, which may not create keys, so" in done.stderr
    agent.cloud.admin("/service/iam", IAM)
    secret = Mounted(agent.dir / "admin")
    secret.number = 1
    secret.put(ALONE)
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert agent.status("robot")["last_reason"] is None
    rotate(agent, "drill")
    agent.wait_generation(3, "robot")
    assert agent.status("robot")["last_reason"] == "drill"


def test_it_is_configured_later(configured):
    agent = configured
    agent.cloud.admin("/service/iam", REFUSED)
    agent.start()
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code") == "denied", lambda: agent.log)
    pass_on(agent, REFUSED)
    assert agent.run("reload").returncode == 0
    agent.wait_generation(1, "robot")
    assert published_key(agent) == ADMIN["aws_access_key_id"] and agent.status("robot")["ready"]


def test_a_key_that_was_made_is_never_given_up_for_it(configured):
    agent = pass_on(configured, IAM).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    key = published_key(agent)
    agent.cloud.admin("/service/iam", REFUSED)
    rotate(agent, "drill")
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code") == "denied", lambda: agent.log)
    assert published_key(agent) == key and agent.generation("robot") == 1 and mint_of(agent)["passed_on"] is None
    assert SAID not in agent.log


def test_a_key_in_a_directory_is_one_that_was_made(configured):
    """The journal is lost, and what is published says so."""
    agent = pass_on(configured, IAM).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    key = published_key(agent)
    agent.stop()
    shutil.rmtree(agent.state)
    agent.cloud.admin("/service/iam", REFUSED)
    agent.start()
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code") == "denied", lambda: agent.log)
    assert published_key(agent) == key and SAID not in agent.log


@pytest.mark.parametrize("change, why", [
    ({"mint": {"or": "give_up"}}, 'or: must be `pass_on`, got "give_up"'),
    ({"mint": {"or": "pass_on", "adopt": "target"}}, "or: cannot be combined with `adopt`"),
    ({"mint": {"or": "pass_on", "aws": None, "gcp": {"service_account": "r@p.iam.gserviceaccount.com"}}},
     "mint.or: `with` has an access token of gcp, and a minted key has gcp_service_account_key: it cannot be published"),
    ({"mint": {"or": "pass_on", "aws": None, "azure": {"client_id": "99999999-8888-7777-6666-555555555555"}}},
     "mint.or: `with` has an access token of azure, and a minted key has azure_client_secret"),
    ({"mint": {"or": "pass_on", "aws": None, "openstack": {}}}, "mint.or: `with` has a token of openstack"),
    ({"mint": {"or": "pass_on"}, "publish": {"file": {"path": "/tmp/x", "format": "token"}}}, "which a minted key does not have"),
    ({"mint": {"or": "pass_on"}, "with": {"exchange": {"aws": {"role_arn": "arn:aws:iam::1:role/r", "region": "us-east-1"}},
                                          "token": {"file": "/tmp/token"}}},
     "mint.or: admin is exchanged, whose session token a minted key does not have"),
    ({"mint": {"or": "pass_on"}, "with": {"secret": {"directory": "/tmp/admin", "kind": "aws"}}},
     "mint.or: admin is a Secret that is exchanged"),
])
def test_refused_configurations(configured, change, why):
    agent = configured
    with_ = {"name": "admin", **change["with"]} if "with" in change else admin(agent)
    key = minted(agent, **{name: value for name, value in change.items() if name != "with"})
    key["mint"] = {name: value for name, value in key["mint"].items() if value is not None}
    agent.configure(key, with_)
    done = agent.run("check")
    assert done.returncode == 3 and why in done.stdout + done.stderr, done.stdout + done.stderr
