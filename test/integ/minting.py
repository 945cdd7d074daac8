# SPDX-License-Identifier: MIT
"""Helpers for tests of rotated keys: fast configurations, and the state of the local cloud's IAM."""
import json

import botocore.session
import pytest
from botocore.config import Config

from conftest import LocalCloud, Mounted, eventually

ADMIN = {"aws_access_key_id": "AKIAADMINADMINADMIN0", "aws_secret_access_key": "admin-secret"}
CLOUD = {"iam_keys": [{"access_key_id": ADMIN["aws_access_key_id"], "secret_access_key": ADMIN["aws_secret_access_key"],
                       "arn": "arn:aws:iam::123456789012:user/admin"}]}
IAM = {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot"]}


def minted(agent, user="robot", **over):
    """A quick one: everything that takes minutes takes a second or two."""
    aws = {"user_name": user, "regions": ["us-east-1", "eu-west-1"], "endpoint": agent.cloud.sts.rstrip("/") + "/iam",
           "sts_endpoint": agent.cloud.sts, "ca_file": agent.cloud.ca}
    mint = {"aws": aws, "with": "admin", "grace": "2s", "grace_most": "4s", "settle": "3s", "inactive": "2s",
            "verify_wait": "0s", "verify_timeout": "20s", "keep_unknown": True, **over.pop("mint", {})}
    return {"name": "robot", "mint": mint,
            "publish": {"directory": str(agent.out), "files": [{"name": "credentials", "format": "aws-credentials"},
                                                               {"name": "creds.json", "format": "json"}]}, **over}


def admin(agent):
    return {"name": "admin", "secret": {"directory": str(agent.dir / "admin"), "pass_on": True}}


def keys_of(cloud, user="robot"):
    return {key["access_key_id"]: key for key in cloud.admin("/iam")["keys"] if key["user"] == user}


def published_key(agent, suffix=""):
    return json.loads((agent.out / f"creds.json{suffix}").read_text())["fields"]["aws_access_key_id"]


def mint_of(agent):
    return agent.status("robot").get("mint") or {}


def complete(agent):
    return mint_of(agent).get("step") == "rest" and mint_of(agent).get("state") == "UPDATE_COMPLETE"


def clean_up(agent):
    """What an operator does with a key that was put aside: deletes it, once it is deactivated. Its id."""
    path = agent.state / "robot+mint.json"
    eventually(lambda: json.loads(path.read_text())["aside"], lambda: f"a key that is aside: {agent.log}")
    one, = json.loads(path.read_text())["aside"]
    assert keys_of(agent.cloud)[one["id"]]["active"] is False and one["ours"] is False
    agent.cloud.admin("/iam/key", {"access_key_id": one["id"], "delete": True})
    return one["id"]


def wait_complete(agent):
    eventually(lambda: complete(agent), lambda: f"the rotation: {mint_of(agent)}\n{agent.log}")


def call(agent, region="us-east-1", suffix="", out=None):
    """A call by an SDK that reads the published file."""
    session = botocore.session.Session()
    session.set_config_variable("credentials_file", str((out or agent.out) / f"credentials{suffix}"))
    client = session.create_client("sts", region_name=region, endpoint_url=agent.cloud.sts, verify=agent.cloud.ca,
                                   config=Config(retries={"max_attempts": 0}))
    return client.get_caller_identity()["Arn"]


@pytest.fixture(scope="module")
def iam_cloud(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config=CLOUD)
    yield made
    made.stop()


@pytest.fixture
def cloud(iam_cloud):
    """The same for all tests of a file, without any key but the administrator's."""
    for key in keys_of(iam_cloud):
        iam_cloud.admin("/iam/key", {"access_key_id": key, "delete": True})
    iam_cloud.clear_faults()
    iam_cloud.admin("/service/iam", IAM)
    iam_cloud.admin("/stats/reset", {})
    return iam_cloud


@pytest.fixture
def configured(agent_factory, cloud):
    """An agent that rotates a key, not started."""
    made = agent_factory(cloud)
    Mounted(made.dir / "admin").put(ADMIN)
    return made.configure(minted(made), admin(made))


@pytest.fixture
def settled(configured):
    """One that has published a key and is at rest."""
    configured.configure(minted(configured, mint={"settle": "5s"}), admin(configured)).start()
    configured.wait_generation(1, "robot")
    wait_complete(configured)
    configured.cloud.admin("/stats/reset", {})
    return configured


def rotate(agent, reason, status=0):
    done = agent.run("rotate", "robot", "--reason", reason)
    assert done.returncode == status, done.stderr + agent.log


def wait_step(agent, step):
    eventually(lambda: mint_of(agent).get("step") == step, lambda: f"{mint_of(agent)}\n{agent.log}")
