# SPDX-License-Identifier: MIT
"""A rotation that two agents share by a Secret of a real API server, with the rights of the example and no others: the holder
is stopped, or killed, at each step and the other one goes on; a Secret that somebody deleted; the example's manifests."""
import base64
import json
import pathlib

import pytest
import yaml

from conftest import Mounted, eventually
from minting import ADMIN, IAM, admin, cloud, iam_cloud, keys_of, mint_of  # noqa: F401
from processes import Agent
from shared_minting import created, go_on, key_of, shared, stop_signal

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
RIGHTS = EXAMPLES / "rbac/shared-rotation.yaml"
NAMESPACE, SECRET = "credfresh", "credfresh-mint-robot"
PATH = f"/api/v1/namespaces/{NAMESPACE}/secrets"
LATE = {"intent": "CreateAccessKey", "minted": None, "published": None, "retiring": "UpdateAccessKey",
        "deleting": "DeleteAccessKey"}


@pytest.fixture(scope="module")
def cluster(kubernetes):
    kubernetes.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    kubernetes.request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "credfresh"}})
    kubernetes.kubectl("apply", "-f", str(RIGHTS), namespace=NAMESPACE)
    return kubernetes


class Pair:
    """Two agents of one configuration, and a new Secret."""

    def __init__(self, directory, cloud, cluster):
        self.cloud, self.cluster = cloud, cluster
        cloud.admin("/service/iam", IAM)
        cluster.kubectl("delete", "secret", SECRET, "--ignore-not-found", namespace=NAMESPACE)
        cluster.kubectl("create", "secret", "generic", SECRET, namespace=NAMESPACE)
        token = cluster.mint("kubernetes", 3600, NAMESPACE, "credfresh")
        kubeconfig = cluster.kubeconfig({"token": token}, NAMESPACE)
        self.agents = [Agent(directory / name, cloud) for name in ("one", "two")]
        for agent in self.agents:
            Mounted(agent.dir / "admin").put(ADMIN)
            agent.configure(shared(agent, state={"namespace": NAMESPACE, "kubeconfig": kubeconfig}), admin(agent)).start()

    def data(self):
        return {key: base64.b64decode(text).decode() for key, text in
                (json.loads(self.cluster.request("GET", f"{PATH}/{SECRET}")).get("data") or {}).items()}

    def journal(self):
        return json.loads(self.data().get("journal") or "{}")

    def said(self):
        return f"{self.journal()} {keys_of(self.cloud)}\n{self.said_by_agents()}"

    def said_by_agents(self):
        return "\n\n".join(agent.log for agent in self.agents)

    def together(self, agents, but=None):
        """AGENTS publish the key of the journal, which works; the cloud holds no other."""
        def done():
            journal = self.journal()
            for one in journal.get("aside") or []:  # an operator deletes what nothing proves to be ours
                if not one["ours"] and one["id"] in keys_of(self.cloud):
                    self.cloud.admin("/iam/key", {"access_key_id": one["id"], "delete": True})
            key = journal.get("current") or ""
            keys = keys_of(self.cloud)
            return (key not in ("", but) and journal["step"] == "rest" and set(keys) == {key} and keys[key]["active"]
                    and all(key_of(agent) == key for agent in agents))

        eventually(done, self.said, 90, pause_s=0.2)
        return self.journal()["current"]

    def holder(self):
        return next((agent for agent in self.agents if mint_of(agent).get("role") == "holder"), None)

    def stop(self):
        for agent in self.agents:
            go_on(agent)
            agent.stop()


@pytest.fixture
def pair(tmp_path, cloud, cluster):
    made = Pair(tmp_path, cloud, cluster)
    yield made
    made.stop()


@pytest.mark.parametrize("at", LATE)
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_the_other_goes_on(pair, at, how):
    first = pair.together(pair.agents)
    if LATE[at] is not None:
        pair.cloud.fault(kind="delay", ms=1500, count=-1, match={"action": LATE[at], "role": "robot"})
    done = pair.agents[0].run("rotate", "robot", "--reason", "drill")
    assert done.returncode == 0, done.stderr
    eventually(lambda: pair.journal()["step"] == at, pair.said, 60, pause_s=0.05)
    holder = pair.holder()
    other = pair.agents[1 - pair.agents.index(holder)]
    stop_signal(holder) if how == "stopped" else holder.kill()
    second = pair.together([other], None if at == "intent" else first)
    if how == "stopped":
        go_on(holder)
    else:
        holder.socket.unlink()
        holder.start().wait_state("fresh", "robot", 60)
    last = pair.together(pair.agents)
    # A key that was lost at `intent` is made again when the one that was asked starts again.
    assert last == second if at != "intent" else second == first, pair.said()


def test_a_deleted_secret_stops_the_rotation(pair):
    first = pair.together(pair.agents)
    pair.cluster.request("DELETE", f"{PATH}/{SECRET}")
    count = created(pair.cloud)
    pair.agents[0].run("rotate", "robot", "--reason", "drill")
    eventually(lambda: f"kubectl create secret generic {SECRET} -n {NAMESPACE}" in pair.agents[0].log, pair.said_by_agents, 90)
    assert created(pair.cloud) == count and set(keys_of(pair.cloud)) == {first}
    assert all(key_of(agent) == first for agent in pair.agents)


def test_the_manifests_are_admitted(cluster):
    objects = list(yaml.safe_load_all((EXAMPLES / "shared-rotation/deployment.yaml").read_text()))
    assert next(o for o in objects if o["kind"] == "Deployment")["spec"]["replicas"] == 2
    for path in (EXAMPLES / "shared-rotation/deployment.yaml", RIGHTS):
        cluster.kubectl("apply", "--dry-run=server", "-f", str(path), namespace=NAMESPACE)
    role = next(o for o in yaml.safe_load_all(RIGHTS.read_text()) if o["kind"] == "Role")
    rule, = role["rules"]
    assert rule["resourceNames"] == [SECRET] and not {"create", "delete", "update"} & set(rule["verbs"])
