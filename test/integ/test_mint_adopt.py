# SPDX-License-Identifier: MIT
"""Adoption: a key that another program created is taken over where it is, and replaced at its age in the cloud."""
import json

import pytest

from conftest import Mounted, eventually
from mint_kinds import Amazon, iam
from minting import (admin, call, cloud, configured, iam_cloud, keys_of, mint_of, minted, published_key,  # noqa: F401
                     rotate, wait_complete)
from test_secret_target import Kube


def by_hand(agent, user="robot"):
    """A key that an operator created: its id and its secret."""
    made = iam(agent.cloud).create_access_key(UserName=user)["AccessKey"]
    agent.cloud.admin("/stats/reset", {})
    return made["AccessKeyId"], made["SecretAccessKey"]


def ini(key):
    return f"[default]\naws_access_key_id = {key[0]}\naws_secret_access_key = {key[1]}\n"


def adopt(agent, source="target", **over):
    mint = {"adopt": source, **over.pop("mint", {})}
    return agent.configure(minted(agent, mint=mint, **over), admin(agent))


def start(agent):
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    return agent


def test_a_mounted_secret(configured):
    agent = configured
    key = by_hand(agent)
    Mounted(agent.dir / "old").put({"aws_access_key_id": key[0], "aws_secret_access_key": key[1]})
    start(adopt(agent, str(agent.dir / "old")))
    assert published_key(agent) == key[0] and call(agent).endswith(":user/robot")
    assert (agent.out / "minted").read_text().split()[1] == key[0]
    assert not agent.cloud.exchanges("CreateAccessKey") and list(keys_of(agent.cloud)) == [key[0]]
    assert f"adopted the key {key[0]} of aws/robot" in agent.log and key[1] not in agent.log
    assert not list(agent.state.glob("*.pending"))
    # The rotation is not stuck: the adopted key is the old one of the next.
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    assert mint_of(agent)["old_key"] == key[0] and (agent.out / "creds.json.old").exists()
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)] != [key[0]]
    agent.stop()
    agent.start()
    agent.wait_state("fresh", "robot")
    assert agent.generation("robot") == 2 and len(agent.cloud.exchanges("CreateAccessKey")) == 1


@pytest.mark.parametrize("text", [ini, lambda key: f"export AWS_ACCESS_KEY_ID='{key[0]}'\nAWS_SECRET_ACCESS_KEY=\"{key[1]}\"\n",
                                  lambda key: json.dumps({"AccessKeyId": key[0], "SecretAccessKey": key[1]})])
def test_a_file(configured, text):
    agent = configured
    key = by_hand(agent)
    (agent.dir / "old").write_text(text(key))
    start(adopt(agent, str(agent.dir / "old")))
    assert published_key(agent) == key[0] and not agent.cloud.exchanges("CreateAccessKey")


def test_the_target_that_is_a_file(configured):
    agent = configured
    key = by_hand(agent)
    path = agent.dir / "credentials"
    path.write_text(ini(key))
    start(adopt(agent, publish={"file": {"path": str(path), "format": "aws-credentials"}}))
    assert key[0] in path.read_text() and list(keys_of(agent.cloud)) == [key[0]]
    assert mint_of(agent)["key"] == key[0] and not agent.cloud.exchanges("CreateAccessKey")


def test_the_directory_of_an_agent_that_lost_its_state(configured):
    agent = configured
    start(adopt(agent))
    assert "found no key to adopt" in agent.log
    key = published_key(agent)
    minted_s = mint_of(agent)["minted"]
    agent.stop()
    for path in agent.state.iterdir():
        path.unlink()
    agent.cloud.admin("/stats/reset", {})
    agent.start()
    eventually(lambda: mint_of(agent).get("key") == key, lambda: agent.log)
    wait_complete(agent)
    assert not agent.cloud.exchanges("CreateAccessKey") and list(keys_of(agent.cloud)) == [key]
    assert mint_of(agent)["minted"] <= minted_s  # the cloud's date, and not that of the adoption


def secret_target(agent, **over):
    return {"secret": {"namespace": "default", "name": "robot", "kubeconfig": agent.cloud.ready["kubeconfig"], "adopt": True,
                       "keys": [{"name": "aws_access_key_id", "format": "field", "field": "aws_access_key_id"},
                                {"name": "aws_secret_access_key", "format": "field", "field": "aws_secret_access_key"}],
                       **over}}


def test_a_secret_of_the_cluster(configured):
    agent = configured
    kube = Kube(agent.cloud)
    kube.call("DELETE", "robot")
    key = by_hand(agent)
    kube.apply("robot", "cco", {"aws_access_key_id": key[0], "aws_secret_access_key": key[1]})
    start(adopt(agent, publish=secret_target(agent)))
    assert kube.data("robot")["aws_access_key_id"] == key[0] and list(keys_of(agent.cloud)) == [key[0]]
    assert kube.data("robot")["minted"].split()[1] == key[0]
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    eventually(lambda: kube.data("robot").get("aws_access_key_id.old") == key[0], lambda: agent.log)
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [kube.data("robot")["aws_access_key_id"]]


def test_nothing_in_the_cluster_yet(configured):
    agent = configured
    kube = Kube(agent.cloud)
    kube.call("DELETE", "robot")
    start(adopt(agent, publish=secret_target(agent)))
    assert list(keys_of(agent.cloud)) == [kube.data("robot")["aws_access_key_id"]]


def test_it_is_replaced_at_its_age(configured):
    """Its age is that in the cloud, not the time since its adoption."""
    agent = configured
    agent.cloud.admin("/service/iam", {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot"], "made_before_s": 7200})
    key = by_hand(agent)
    agent.cloud.admin("/service/iam", {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot"]})
    (agent.dir / "old").write_text(ini(key))
    adopt(agent, str(agent.dir / "old"), mint={"expire_after": "1h"}).start()
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)] != [key[0]]
    assert len(agent.cloud.exchanges("CreateAccessKey")) == 1 and "which is 2 h" in agent.log


def refused(agent):
    return (agent.status("robot").get("last_error") or {}).get("message", "")


def test_a_key_that_is_not_the_users(configured):
    """Nothing is created and nothing published until an operator says which is right."""
    agent = configured
    agent.cloud.admin("/service/iam", {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot", "other"]})
    key = by_hand(agent, "other")
    (agent.dir / "old").write_text(ini(key))
    adopt(agent, str(agent.dir / "old")).start()
    eventually(lambda: f"{key[0]} that was found is none of aws/robot" in refused(agent), lambda: agent.log)
    assert not keys_of(agent.cloud) and not agent.out.exists() and "remove `adopt`" in refused(agent)
    # Without `adopt`, the first key is created.
    agent.configure(minted(agent), admin(agent))
    assert agent.run("reload").returncode == 0
    agent.run("rotate", "robot")
    agent.wait_generation(1, "robot")
    agent.cloud.admin("/iam/key", {"access_key_id": key[0], "delete": True})


def test_a_wrong_secret(configured):
    agent = configured
    key = by_hand(agent)
    (agent.dir / "old").write_text(ini((key[0], "wrong" * 8)))
    adopt(agent, str(agent.dir / "old")).start()
    eventually(lambda: "is refused by the cloud" in refused(agent), lambda: agent.log)
    assert list(keys_of(agent.cloud)) == [key[0]] and not agent.out.exists()


def test_two_different_keys(configured):
    agent = configured
    (agent.dir / "old").write_text(ini(("AKIAONE0000000000000", "x" * 40)) + ini(("AKIATWO0000000000000", "x" * 40)))
    adopt(agent, str(agent.dir / "old")).start()
    eventually(lambda: "more than once with different values" in refused(agent), lambda: agent.log)
    assert not agent.cloud.exchanges("CreateAccessKey")


def test_a_mount_that_comes_late(configured):
    """Where a path is named and is not there, nothing is created in its place."""
    agent = configured
    key = by_hand(agent)
    adopt(agent, str(agent.dir / "old")).start()
    eventually(lambda: "cannot adopt a key from" in refused(agent), lambda: agent.log)
    assert list(keys_of(agent.cloud)) == [key[0]]
    Mounted(agent.dir / "old").put({"credentials": ini(key)})
    assert agent.run("rotate", "robot").returncode == 0
    agent.wait_generation(1, "robot")
    agent.wait_generation(2, "robot")  # that was asked for
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)] != [key[0]]


def test_where_it_may_be(configured):
    done = adopt(configured, "somewhere").run("check")
    assert done.returncode == 3 and "adopt: must be `target`" in done.stdout + done.stderr
