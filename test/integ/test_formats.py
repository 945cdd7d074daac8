# SPDX-License-Identifier: MIT
"""Formats that are put together in the configuration: single fields, templates, and what a pod's kube-api-access holds."""
import base64
import json

import pytest

from conftest import Mounted, eventually
from test_requests import asked
from test_secret_target import Kube, delivery

STS = """[default]
sts_regional_endpoints = regional
role_arn = arn:aws:iam::123456789012:role/NAME
web_identity_token_file = /var/run/secrets/openshift/serviceaccount/token"""


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


def keyed(agent, name, keys, **over):
    """A credential that is published to the Secret NAME."""
    secret = {"namespace": "default", "name": name, "kubeconfig": agent.cloud.ready["kubeconfig"], "keys": keys}
    return agent.credential(publish={"secret": secret}, **over)


def test_the_layouts_of_openshift_in_a_secret_of_the_cluster(agent, shared_cloud):
    kube = Kube(shared_cloud)
    keys = [{"name": "aws_access_key_id", "format": "field", "field": "aws_access_key_id"},
            {"name": "aws_secret_access_key", "format": "field", "field": "aws_secret_access_key"},
            {"name": "credentials", "format": "template",
             "template": "[default]\naws_access_key_id = ${aws_access_key_id}\n"
                         "aws_secret_access_key = ${aws_secret_access_key}"},
            {"name": "sts", "format": "template", "template": STS},
            {"name": "config", "format": "aws-config", "sts_regional_endpoints": "regional",
             "role_arn": "arn:aws:iam::123456789012:role/NAME",
             "token_path": "/var/run/secrets/openshift/serviceaccount/token"}]
    agent.configure(keyed(agent, "layouts", keys)).start()
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    held = kube.data("layouts")
    assert held["credentials"] == (f"[default]\naws_access_key_id = {held['aws_access_key_id']}\n"
                                   f"aws_secret_access_key = {held['aws_secret_access_key']}")
    assert held["aws_access_key_id"].startswith("ASIA")
    assert held["sts"] == STS and held["config"] == STS + "\nregion = us-east-1\n"


def test_a_missing_value_keeps_what_is_published(agent, tmp_path):
    secret = Mounted(tmp_path / "secret")
    secret.put({"user": "robot", "password": "one"})
    files = [{"name": "login", "format": "template", "template": "${secret:user}:${secret:password}@${generation}"}]
    agent.configure(agent.credential(token=None, exchange=None, secret={"directory": str(secret.dir), "pass_on": True},
                                     publish={"directory": str(agent.out), "files": files}))
    agent.start().wait_generation(1)
    assert (agent.out / "login").read_text() == "robot:one@1"
    secret.put({"user": "robot"})
    wanted = "login: format template: this credential has no value for secret:password"
    eventually(lambda: "no value for secret:password" in json.dumps(agent.status()), f"{wanted}: {agent.log}")
    assert (agent.out / "login").read_text() == "robot:one@1"
    secret.put({"user": "robot", "password": "two\nx: y"})
    eventually(lambda: "is not one line of text" in json.dumps(agent.status()), agent.log)
    assert "two" not in agent.log and (agent.out / "login").read_text() == "robot:one@1"
    secret.put({"user": "robot", "password": "two"})
    eventually(lambda: (agent.out / "login").read_text().startswith("robot:two@"), agent.log)


def test_a_pods_volume_and_a_kubeconfig(agent):
    credential = asked(agent)
    credential["publish"]["files"] = [{"name": name, "format": name}
                                      for name in ("token", "ca.crt", "namespace", "kubeconfig")]
    agent.configure(credential).start().wait_generation(1)
    assert (agent.out / "namespace").read_text() == "default"
    with open(agent.cloud.ca, encoding="utf-8") as ca:
        assert (agent.out / "ca.crt").read_text() == ca.read()
    config = json.loads((agent.out / "kubeconfig").read_text())
    cluster = config["clusters"][0]["cluster"]
    assert cluster["server"] == agent.cloud.ready["kube_url"].rstrip("/")
    assert base64.b64decode(cluster["certificate-authority-data"]).decode() == (agent.out / "ca.crt").read_text()
    assert config["users"][0]["user"] == {"tokenFile": str(agent.out / "token")}
    assert config["contexts"][0]["context"]["namespace"] == "default"
