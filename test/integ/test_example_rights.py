# SPDX-License-Identifier: MIT
"""Examples with objects of a cluster at work: each has exactly the rights that its manifest in examples/rbac names."""
import json

import pytest
import yaml

from conftest import REPO, eventually
from test_rollout import Workload
from test_secret_target import Kube

EXAMPLES = REPO / "examples"
MANIFESTS = sorted((EXAMPLES / "rbac").glob("*.yaml"))


def role_of(name):
    role, binding = yaml.safe_load_all((EXAMPLES / "rbac" / name).read_text())
    assert (role["kind"], binding["kind"]) == ("Role", "RoleBinding")
    assert role["metadata"] == binding["metadata"]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"]}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "credfresh", "namespace": "credfresh"}]
    return role


def rules_of(name, without=()):
    """The rules of the Role NAME for the local cloud's user, each with names; WITHOUT: (resource, verb) that are left out."""
    role = role_of(name)
    return [{"user": "demo", "namespace": role["metadata"]["namespace"], "resource": rule["resources"],
             "names": rule["resourceNames"],
             "verb": [verb for verb in rule["verbs"] if (rule["resources"][0], verb) not in without]}
            for rule in role["rules"]]


@pytest.fixture
def example(agent_factory, cloud):
    """An agent with an example as its configuration, where only paths and the way to the API server are other ones."""
    agent = agent_factory(cloud)

    def configure(name):
        document = yaml.safe_load((EXAMPLES / name).read_text())
        document["state_dir"], document["service_ca"]["store"] = str(agent.state), str(agent.dir / "ca")
        for credential in document["credentials"]:
            for target in [*credential["publish"].values(), *(hook["rollout"] for hook in credential.get("reload", []))]:
                target["kubeconfig"] = cloud.ready["kubeconfig"]
        agent.config_path.write_text(json.dumps({**document, "log": {"level": "debug"}}))
        return agent

    return configure


def make_namespace(cloud, name):
    """It exists once there is an object in it. Until its rules are set, the local cloud's user may do everything."""
    cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "*", "resource": "*"}]})
    cloud.admin("/kube/object", {"kind": "ServiceAccount", "namespace": name, "name": "default"})


def test_each_manifest_has_its_example():
    assert [path.name for path in MANIFESTS] == ["configmap.yaml", "rollout.yaml", "shared-rotation.yaml"]
    for path in MANIFESTS:
        assert f"rbac/{path.name}" in (EXAMPLES / path.name).read_text()
        assert f"](rbac/{path.name})" in (EXAMPLES / "README.md").read_text()


def refusals(cloud):
    return {(line.get("action"), line.get("status")) for line in cloud.stats()["log"] if line.get("status") == 403}


def test_configmap(example, cloud):
    agent = example("configmap.yaml")
    make_namespace(cloud, "apps")
    cloud.admin("/kube/rbac", {"rules": rules_of("configmap.yaml")})
    agent.start()
    agent.wait_generation(1, "service-ca")
    kube = Kube(cloud, "apps")
    eventually(lambda: "data" in kube.call("GET", "service-ca", kind="configmaps"), lambda: agent.log)
    assert kube.call("GET", "service-ca", kind="configmaps")["data"]["ca-bundle.crt"].startswith("-----BEGIN CERTIFICATE-----")
    eventually(lambda: agent.status("service-ca")["state"] == "fresh", lambda: agent.log)
    assert not refusals(cloud), agent.log


def test_rollout(example, cloud):
    agent = example("rollout.yaml")
    make_namespace(cloud, "shop")
    web = Workload(cloud, namespace="shop")
    # What a controller does in a cluster.
    cloud.admin("/kube/rbac", {"rules": [*rules_of("rollout.yaml"),
                                         {"user": "demo", "verb": "patch", "resource": "deployments/status"}]})
    agent.start()
    agent.wait_generation(1, "web-tls")
    agent.wait_state("fresh", "web-tls")
    eventually(lambda: "Secret shop/web-tls holds generation 1" in agent.log, lambda: agent.log)
    assert web.get()["metadata"]["generation"] == 1, "not after the very first publish"
    assert agent.run("rotate", "web-tls").returncode == 0
    eventually(lambda: web.get()["metadata"]["generation"] == 2, lambda: agent.log)
    web.status(2, 2)
    eventually(lambda: agent.status("web-tls")["hooks"][0].get("result") == "ok", lambda: agent.log)
    secret = Kube(cloud, "shop").get("web-tls")
    assert secret["type"] == "kubernetes.io/tls" and sorted(secret["data"]) == ["tls.crt", "tls.key"]
    assert not refusals(cloud), agent.log


@pytest.mark.parametrize("resource, verb", [("secrets", "get"), ("secrets", "patch"), ("secrets", "create"),
                                            ("deployments", "get"), ("deployments", "patch")])
def test_each_right_is_needed(example, cloud, resource, verb):
    agent = example("rollout.yaml")
    make_namespace(cloud, "shop")
    Workload(cloud, namespace="shop")
    document = json.loads(agent.config_path.read_text())
    hooks = document["credentials"][0]["reload"]
    assert hooks[0].pop("on_first") == "skip"
    agent.config_path.write_text(json.dumps(document))
    cloud.admin("/kube/rbac", {"rules": rules_of("rollout.yaml", without=[(resource, verb)])})
    agent.start()
    eventually(lambda: refusals(cloud), lambda: f"no refusal without {verb} on {resource}:\n{agent.log}")
    group = {"secrets": "", "deployments": "apps"}[resource]
    name = {"secrets": "web-tls", "deployments": "web"}[resource]
    rule = f'a Role in shop for the caller needs the rule {{apiGroups: ["{group}"], resources: ["{resource}"], ' \
           f'verbs: ["{verb}"], resourceNames: ["{name}"]}}'
    eventually(lambda: rule in agent.log, lambda: f"{rule}\n{agent.log}")
