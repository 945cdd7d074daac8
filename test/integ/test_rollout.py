# SPDX-License-Identifier: MIT
"""The hook `rollout` restarts a workload once for a generation, waits for its pods, and says what holds it up."""
import json
import shutil

import pytest

from conftest import eventually


class Workload:
    """A workload as its owner sees it."""

    def __init__(self, cloud, name="web", namespace="default", kind="Deployment"):
        self.cloud = cloud
        self.name = name
        self.base = f"{cloud.ready['kube_url']}/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s"
        self.call("POST", "", {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
                               "spec": {"replicas": 2, "template": {"metadata": {"annotations": {"theirs": "x"}}}}})

    def call(self, method, path, body=None):
        headers = {"Authorization": "Bearer demo-kube-token",
                   "Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.cloud.client.ask(self.base + path, data, headers, method).good())

    def get(self):
        return self.call("GET", f"/{self.name}")

    def annotations(self):
        return self.get()["spec"]["template"]["metadata"]["annotations"]

    def status(self, updated, available, observed=None, **more):
        made = self.get()
        self.call("PATCH", f"/{self.name}/status", {"status": {
            "observedGeneration": observed if observed is not None else made["metadata"]["generation"], "replicas": 2,
            "updatedReplicas": updated, "availableReplicas": available, **more}})


@pytest.fixture
def web(cloud):
    return Workload(cloud)


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud)


def start(agent, timeout=None, **over):
    hook = {"rollout": {"kind": "Deployment", "namespace": "default", "name": "web",
                        "kubeconfig": agent.cloud.ready["kubeconfig"], **over}}
    agent.configure(agent.credential(reload=[{**hook, **({"timeout": timeout} if timeout else {})}])).start()


def hook(agent):
    return (agent.status().get("hooks") or [{}])[0]


def patches(agent):
    return [r for r in agent.cloud.stats()["log"] if r["action"] == "kube.workload.patch" and r["status"] == 200]


def test_it_restarts_as_kubectl_does(agent, web):
    start(agent)
    eventually(lambda: hook(agent).get("result") == "ok", lambda: agent.log)
    marks = web.annotations()
    assert marks["kubectl.kubernetes.io/restartedAt"].endswith("Z") and marks["theirs"] == "x"
    assert marks["restarted-for.credfresh.io/demo"].startswith("1-")
    assert hook(agent)["name"] == "rollout Deployment default/web"
    assert agent.run("rotate", "demo").returncode == 0
    eventually(lambda: web.annotations()["restarted-for.credfresh.io/demo"].startswith("2-"), lambda: agent.log)
    eventually(lambda: hook(agent).get("generation") == 2, lambda: agent.log)
    assert web.get()["metadata"]["generation"] == 3


def test_it_waits_and_restarts_only_once(agent, web):
    start(agent, timeout="2s", wait=True)
    eventually(lambda: hook(agent).get("runs_failed", 0) >= 1, lambda: agent.log)
    # What the status says of the former template does not count.
    web.status(2, 2, observed=1)
    eventually(lambda: hook(agent).get("runs_failed", 0) >= 2, lambda: agent.log)
    assert "0 of 2 pods are new" in agent.log and "2 of 2 are available" in hook(agent)["error"]
    web.status(2, 1)
    eventually(lambda: "1 of 2 are available" in (hook(agent).get("error") or ""), lambda: agent.log)
    web.status(2, 2)
    eventually(lambda: hook(agent).get("result") == "ok", lambda: agent.log)
    assert web.get()["metadata"]["generation"] == 2
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    assert web.get()["metadata"]["generation"] == 2


def test_a_lost_state_restarts_again(agent, web):
    """Generations are counted from 1 again then: the mark of the first one must not seem to be this one's."""
    start(agent)
    eventually(lambda: hook(agent).get("result") == "ok", lambda: agent.log)
    assert web.get()["metadata"]["generation"] == 2
    agent.stop()
    shutil.rmtree(agent.state)
    shutil.rmtree(agent.out)
    agent.start()
    eventually(lambda: web.get()["metadata"]["generation"] == 3, lambda: agent.log)


def test_what_holds_it_up_is_said(agent, web):
    web.call("PATCH", "/web", {"spec": {"paused": True}})
    start(agent)
    eventually(lambda: "kubectl rollout resume" in (hook(agent).get("error") or ""), lambda: agent.log)
    assert "restarted-for.credfresh.io/demo" not in web.annotations()
    web.call("PATCH", "/web", {"spec": {"paused": False}})
    eventually(lambda: hook(agent).get("result") == "ok", lambda: agent.log)


def test_a_workload_whose_pods_wait_for_their_deletion_is_not_waited_for(agent, cloud):
    """With updateStrategy OnDelete its pods are never replaced by the restart, and the hook would never end."""
    db = Workload(cloud, "db", kind="StatefulSet")
    db.call("PATCH", "/db", {"spec": {"updateStrategy": {"type": "OnDelete"}}})
    start(agent, kind="StatefulSet", name="db", wait=True)
    eventually(lambda: "leave out `wait`" in (hook(agent).get("error") or ""), lambda: agent.log)
    assert "restarted-for.credfresh.io/demo" not in db.annotations()
    agent.stop()
    start(agent, kind="StatefulSet", name="db")
    eventually(lambda: hook(agent).get("result") == "ok", lambda: agent.log)
    assert "restarted-for.credfresh.io/demo" in db.annotations()


def test_a_failed_rollout(agent, web):
    start(agent, wait=True)
    eventually(lambda: "restarted-for.credfresh.io/demo" in web.annotations(), lambda: agent.log)
    web.status(1, 0, conditions=[{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}])
    eventually(lambda: "progress deadline" in (hook(agent).get("error") or ""), lambda: agent.log)


def test_without_the_right(agent, web):
    agent.cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "get", "resource": "deployments"}]})
    start(agent)
    eventually(lambda: "patch" in (hook(agent).get("error") or ""), lambda: agent.log)
    assert "deployments" in hook(agent)["error"] and "demo-kube-token" not in agent.log


def test_an_unknown_kind_is_refused(agent):
    hook_of = {"rollout": {"kind": "Pod", "name": "web"}}
    agent.configure(agent.credential(reload=[hook_of]))
    done = agent.run("check")
    assert done.returncode != 0 and "Deployment" in done.stdout + done.stderr
