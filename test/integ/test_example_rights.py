# SPDX-License-Identifier: MIT
"""Examples with objects of a cluster at work: each has exactly the rights that its manifest names, which is in examples/rbac, or
in container/kubernetes."""
import json
import sys

import pytest
import yaml

import test_ca_inject
import test_pod_certificates as test_pod_certificates_
from conftest import REPO, eventually
from test_rollout import Workload
from test_secret_target import Kube

sys.path.append(str(REPO / "test/localcloud"))
from cloud_client import Key  # noqa: E402

EXAMPLES = REPO / "examples"
MANIFESTS = sorted((EXAMPLES / "rbac").glob("*.yaml"))
CA = REPO / "container/kubernetes"


def roles_of(path, account):
    """The Roles and ClusterRoles in PATH. Each is bound to ACCOUNT."""
    documents = list(yaml.safe_load_all(path.read_text()))
    roles = [one for one in documents if one["kind"] in ("Role", "ClusterRole")]
    bindings = [one for one in documents if one["kind"].endswith("Binding")]
    assert roles and [{"apiGroup": "rbac.authorization.k8s.io", "kind": one["kind"], "name": one["metadata"]["name"]}
                      for one in roles] == [one["roleRef"] for one in bindings]
    for role, binding in zip(roles, bindings):
        assert binding["kind"] == role["kind"] + "Binding" and binding["metadata"] == role["metadata"]
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": account}]
    return roles


def rules_of(name, without=()):
    """The rules of the manifest NAME for the local cloud's user; WITHOUT: (resource, verb) that are left out."""
    path, account = (EXAMPLES / "rbac" / name, "credfresh") if isinstance(name, str) else (name, "credfresh-ca")
    return [{"user": "demo", "resource": rule["resources"],
             **({"namespace": role["metadata"]["namespace"]} if role["kind"] == "Role" else {}),
             **({"names": rule["resourceNames"]} if "resourceNames" in rule else {}),
             "verb": [verb for verb in rule["verbs"] if (rule["resources"][0], verb) not in without]}
            for role in roles_of(path, account) for rule in role["rules"]]


@pytest.fixture
def example(agent_factory, cloud):
    """An agent with an example as its configuration, where only paths and the ways to the cloud and the API server are other ones."""
    agent = agent_factory(cloud)

    def configure(name):
        document = yaml.safe_load((EXAMPLES / name).read_text())
        document.pop("listen", None)
        document["state_dir"] = str(agent.state)
        in_cluster = []
        if "service_ca" in document:
            document["service_ca"]["store"] = str(agent.dir / "ca")
            in_cluster += document["service_ca"].get("inject", []) + document["service_ca"].get("pod_certificates", [])
        for credential in document["credentials"]:
            publish = credential["publish"]
            if "directory" in publish:
                publish["directory"] = str(agent.out)
            in_cluster += [publish[kind] for kind in ("secret", "configmap") if kind in publish]
            in_cluster += [hook["rollout"] for hook in credential.get("reload", [])]
            if "request" in credential.get("token", {}):
                in_cluster.append(credential["token"]["request"])
                credential["token"]["request"]["namespace"] = "credfresh"  # by default the pod's
            if "exchange" in credential:
                aws = credential["exchange"]["aws"]
                aws.update(endpoint=cloud.sts, ca_file=cloud.ca)
                aws["ecr"]["endpoint"] = cloud.ready["ecr_url"]
        for one in in_cluster:
            one["kubeconfig"] = cloud.ready["kubeconfig"]
        agent.config_path.write_text(json.dumps({**document, "log": {"level": "debug"}}))
        return agent

    return configure


def make_namespace(cloud, name):
    """It exists once there is an object in it. Until its rules are set, the local cloud's user may do everything."""
    cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "*", "resource": "*"}]})
    cloud.admin("/kube/object", {"kind": "ServiceAccount", "namespace": name, "name": "default"})


def test_each_manifest_has_its_example():
    assert [path.name for path in MANIFESTS] == ["cluster-secret.yaml", "configmap.yaml", "rollout.yaml", "shared-rotation.yaml"]
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


def test_cluster_secret(example, cloud):
    agent = example("cluster-secret.yaml")
    make_namespace(cloud, "apps")
    cloud.admin("/kube/object", {"kind": "ServiceAccount", "namespace": "credfresh", "name": "puller"})
    cloud.admin("/role", {"arn": "arn:aws:iam::123456789012:role/pull", "trust": [{
        "subject": "system:serviceaccount:credfresh:puller"}]})
    cloud.admin("/kube/rbac", {"rules": rules_of("cluster-secret.yaml")})
    agent.start()
    agent.wait_state("fresh", "pull")
    eventually(lambda: "Secret apps/registry-login holds generation 1" in agent.log, lambda: agent.log)
    secret = Kube(cloud, "apps").get("registry-login")
    assert secret["type"] == "kubernetes.io/dockerconfigjson" and list(secret["data"]) == [".dockerconfigjson"]
    assert not refusals(cloud), agent.log


@pytest.mark.parametrize("use", ["service-ca", "pod-certificates"])
def test_the_manifests_of_the_ca_have_the_example(use):
    example, manifest = (yaml.safe_load(path.read_text()) for path in (EXAMPLES / f"{use}.yaml", CA / use / "credfresh.yaml"))
    assert example == manifest and f"container/kubernetes/{use}" in (EXAMPLES / f"{use}.yaml").read_text()


def test_the_agent_of_the_ca_is_alone_and_its_store_survives():
    claim = yaml.safe_load((CA / "service-ca/agent/store.yaml").read_text())
    deployment = yaml.safe_load((CA / "service-ca/agent/deployment.yaml").read_text())["spec"]
    pod = deployment["template"]["spec"]
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    # Else the kubelet gives the group the right to write to state_dir, which the agent refuses when the pod starts again.
    assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    assert pod["securityContext"]["fsGroup"] == pod["containers"][0]["securityContext"]["runAsGroup"]
    [volume] = [v["name"] for v in pod["volumes"] if v.get("persistentVolumeClaim") == {"claimName": claim["metadata"]["name"]}]
    [mount] = [m["mountPath"] for m in pod["containers"][0]["volumeMounts"] if m["name"] == volume]
    for use in ("service-ca", "pod-certificates"):
        document = yaml.safe_load((CA / use / "credfresh.yaml").read_text())
        assert document["state_dir"].startswith(f"{mount}/") and document["service_ca"]["store"].startswith(f"{mount}/")


def test_service_ca(example, cloud):
    agent = example("service-ca.yaml")
    make_namespace(cloud, "apps")
    cluster = test_ca_inject.Cluster(cloud)
    cluster.make("ValidatingWebhookConfiguration", "registry-admission")
    cluster.make("APIService", "v1.x.example.com", annotated=True)
    cloud.admin("/kube/rbac", {"rules": rules_of(CA / "service-ca/rbac.yaml")})
    agent.start()
    agent.wait_state("fresh", "registry-admission-tls")
    eventually(lambda: "Secret apps/registry-admission-tls holds generation 1" in agent.log, lambda: agent.log)
    injected = lambda: agent.request("GET", "/v1/credentials")[1]["service_ca"]["injected"]  # noqa: E731
    eventually(lambda: [one.get("result") for one in injected()] == ["ok", "ok"], lambda: f"{injected()}\n{agent.log}")
    assert not refusals(cloud), agent.log
    # As the API server's administrator.
    cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "*", "resource": "*"}]})
    for kind, name in (("ValidatingWebhookConfiguration", "registry-admission"), ("APIService", "v1.x.example.com")):
        assert all("BEGIN CERTIFICATE" in bundle for bundle in cluster.bundles(kind, name))


def test_pod_certificates(example, cloud, tmp_path):
    agent = example("pod-certificates.yaml")
    cloud.admin("/kube/rbac", {"rules": rules_of(CA / "pod-certificates/rbac.yaml")})
    agent.start()
    cluster = test_pod_certificates_.Cluster(cloud)
    cluster.ask("first", Key(tmp_path, "pod", "EC"))
    assert test_pod_certificates_.answered(cluster, agent, "first")["type"] == "Issued"
    injected = lambda: agent.request("GET", "/v1/credentials")[1]["service_ca"]["injected"]  # noqa: E731
    eventually(lambda: [one.get("result") for one in injected()] == ["ok"], lambda: f"{injected()}\n{agent.log}")
    eventually(lambda: [one for one in cloud.stats()["log"] if one.get("action") == "kube.watch" and one["status"] == 200],
               lambda: agent.log)
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
