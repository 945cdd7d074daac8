# SPDX-License-Identifier: MIT
"""Secrets and ConfigMaps as targets in a real Kubernetes API server with RBAC: watched, put back, in late namespaces."""
import base64
import json
import urllib.error

import pytest

from conftest import eventually

SECONDS = 25  # less than the minute between two looks without a watch
VERBS = ["get", "patch", "create", "list", "watch"]


def reach(space):
    return {"namespace": space.name, "kubeconfig": space.kube.kubeconfig({"token": "tok-robot"})}


def secret(space, name, **over):
    return {"secret": {**reach(space), "name": name, "keys": [{"name": "token", "format": "token"}], **over}}


def configmap(space, name):
    return {"configmap": {**reach(space), "name": name,
                          "keys": [{"name": "account", "format": "field", "field": "aws_account_id"}]}}


def start(agent_factory, cloud_factory, *publish):
    agent = agent_factory(cloud_factory())
    agent.configure(agent.credential(publish=list(publish))).start()
    return agent


def wait_ok(agent, count):
    eventually(lambda: [d.get("result") for d in agent.status().get("deliveries") or []] == ["ok"] * count,
               lambda: agent.log)


def get(space, kind, name):
    try:
        return json.loads(space.kube.request("GET", f"{space.base}/{kind}/{name}"))
    except urllib.error.HTTPError as e:
        assert e.code == 404, e
        return {"metadata": {"uid": None}, "data": {}}


def uid(space, kind, name):
    return get(space, kind, name)["metadata"]["uid"]


def test_what_others_do_is_put_back_within_seconds(space, agent_factory, cloud_factory):
    space.allow({"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": VERBS})
    agent = start(agent_factory, cloud_factory, secret(space, "one"), secret(space, "two"), configmap(space, "map"))
    wait_ok(agent, 3)
    for kind, name in (("secrets", "one"), ("configmaps", "map")):
        first = uid(space, kind, name)
        space.kube.request("DELETE", f"{space.base}/{kind}/{name}")
        eventually(lambda k=kind, n=name, f=first: uid(space, k, n) not in (None, f), lambda: agent.log, SECONDS)
    space.kubectl("patch", "secret", "two", "--type=json", '-p=[{"op": "remove", "path": "/data/token"}]')
    eventually(lambda: base64.b64decode((get(space, "secrets", "two").get("data") or {}).get("token", "")).startswith(b"ey"),
               lambda: agent.log, SECONDS)
    wait_ok(agent, 3)
    assert get(space, "configmaps", "map")["data"]["account"] == "123456789012"
    assert "cannot watch" not in agent.log, agent.log


def test_a_role_that_names_its_objects_is_enough(space, agent_factory, cloud_factory):
    space.allow({"apiGroups": [""], "resources": ["secrets"], "verbs": VERBS, "resourceNames": ["left", "right"]})
    agent = start(agent_factory, cloud_factory, secret(space, "left"), secret(space, "right"))
    wait_ok(agent, 2)
    first = uid(space, "secrets", "right")
    space.kube.request("DELETE", f"{space.base}/secrets/right")
    eventually(lambda: uid(space, "secrets", "right") not in (None, first), lambda: agent.log, SECONDS)
    assert "cannot watch" not in agent.log, agent.log


@pytest.fixture
def late(space):
    """A namespace that does not exist, and rights for it, which only rights for all of them are; they end with the test."""
    name = f"{space.name}-late"
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    space.kube.request("POST", rbac + "/clusterroles", {"metadata": {"name": name}, "rules": [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": VERBS},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"], "resourceNames": [name]}]})
    space.kube.request("POST", rbac + "/clusterrolebindings", {
        "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "robot", "apiGroup": "rbac.authorization.k8s.io"}]})
    yield name
    space.kube.request("DELETE", f"{rbac}/clusterrolebindings/{name}")
    space.kube.request("DELETE", f"{rbac}/clusterroles/{name}")


def test_a_namespace_that_appears_late(space, late, agent_factory, cloud_factory):
    agent = start(agent_factory, cloud_factory, secret(space, "late", namespace=late))
    eventually(lambda: (agent.status().get("deliveries") or [{}])[0].get("runs_failed", 0) >= 2, lambda: agent.log, 90)
    space.kube.request("POST", "/api/v1/namespaces", {"metadata": {"name": late}})
    wait_ok(agent, 1)
    assert "cannot watch" not in agent.log, agent.log


def test_a_deployment_is_restarted_as_kubectl_does(space, agent_factory, cloud_factory):
    apps = f"/apis/apps/v1/namespaces/{space.name}/deployments"
    labels = {"app": "web"}
    space.kube.request("POST", apps, {"metadata": {"name": "web"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}}})
    space.allow({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"], "resourceNames": ["web"]})
    agent = agent_factory(cloud_factory())
    agent.configure(agent.credential(reload=[{
        "rollout": {"kind": "Deployment", "name": "web", "wait": True, **reach(space)}, "timeout": "3s"}])).start()
    eventually(lambda: "0 of 1 pods are new" in agent.log, lambda: agent.log)
    made = json.loads(space.kube.request("GET", f"{apps}/web"))
    marks = made["spec"]["template"]["metadata"]["annotations"]
    assert sorted(marks) == ["kubectl.kubernetes.io/restartedAt", "restarted-for.credfresh.io/demo"], marks
    # There is no controller: its part is played here.
    made["status"] = {"observedGeneration": made["metadata"]["generation"], "replicas": 1, "updatedReplicas": 1,
                      "availableReplicas": 1, "readyReplicas": 1}
    space.kube.request("PUT", f"{apps}/web/status", made)
    eventually(lambda: agent.status()["hooks"][0]["result"] == "ok", lambda: agent.log)
    assert json.loads(space.kube.request("GET", f"{apps}/web"))["metadata"]["generation"] == made["metadata"]["generation"]


def test_events_are_accepted(space, agent_factory, cloud_factory):
    space.allow({"apiGroups": [""], "resources": ["secrets"], "verbs": VERBS},
                {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]})
    agent = start(agent_factory, cloud_factory, secret(space, "told", events=True))
    wait_ok(agent, 1)
    path = f"/apis/events.k8s.io/v1/namespaces/{space.name}/events"
    eventually(lambda: json.loads(space.kube.request("GET", path))["items"], lambda: agent.log)
    event = json.loads(space.kube.request("GET", path))["items"][0]
    assert event["reason"] == "Published" and event["regarding"]["uid"] == uid(space, "secrets", "told")
    assert "Published" in space.kubectl("describe", "secret", "told") or "told" in space.kubectl("get", "events")
    assert "an Event was lost" not in agent.log
