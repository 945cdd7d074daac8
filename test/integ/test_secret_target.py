# SPDX-License-Identifier: MIT
"""Secrets of the cluster as targets: applied, updated, in conflict, refused, adopted."""
import base64
import calendar
import json
import re
import shutil
import time
import urllib.parse

import pytest

from conftest import Mounted, eventually


REGISTRY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"


class Kube:
    """The API server as its user `demo` sees it."""

    def __init__(self, cloud, namespace="default"):
        self.cloud = cloud
        self.namespace = namespace

    def call(self, method, name, body=None, query="", content="application/json", kind="secrets"):
        url = f"{self.cloud.ready['kube_url']}/api/v1/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "") + query
        headers = {"Authorization": "Bearer demo-kube-token", "Content-Type": content}
        data = None if body is None else json.dumps(body).encode()
        answer = self.cloud.client.ask(url, data, headers, method)
        return json.loads(answer.body) if answer.status < 300 else {"kind": "Status", "code": answer.status}

    def make(self, name, **fields):
        made = self.call("POST", "", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **fields})
        assert made["kind"] == "Secret", made
        return made

    def apply(self, name, manager, data, force=False):
        query = "?" + urllib.parse.urlencode({"fieldManager": manager, "force": str(force).lower()})
        return self.call("PATCH", name, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                                         "data": {key: b64(value) for key, value in data.items()}}, query,
                         "application/apply-patch+yaml")

    def get(self, name):
        return self.call("GET", name)

    def data(self, name):
        return {key: base64.b64decode(value).decode() for key, value in (self.get(name).get("data") or {}).items()}


def b64(text):
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def kube(shared_cloud):
    return Kube(shared_cloud)


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


def target(agent, name, **over):
    secret = {"namespace": "default", "name": name, "kubeconfig": agent.cloud.ready["kubeconfig"],
              "keys": [{"name": "token", "format": "token"}, {"name": "credentials", "format": "aws-credentials"}], **over}
    return {"secret": {key: value for key, value in secret.items() if value is not None}}


def start(agent, *targets, **over):
    agent.configure(agent.credential(publish=list(targets), **over)).start()
    return agent


def delivery(agent, index=0):
    return (agent.status().get("deliveries") or [{}] * (index + 1))[index]


def wait_failed(agent, text):
    eventually(lambda: text in (delivery(agent).get("error") or ""), f"{text!r}: {agent.log}")


def test_applied_and_updated(agent, kube):
    start(agent, target(agent, "creds"))
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    made = kube.get("creds")
    meta = made["metadata"]
    assert made["type"] == "Opaque" and sorted(made["data"]) == ["credentials", "token"]
    assert meta["labels"]["app.kubernetes.io/managed-by"] == "credfresh"
    assert meta["annotations"]["credfresh.io/credential"] == "demo"
    assert meta["annotations"]["credfresh.io/generation"] == "1"
    assert {entry["manager"] for entry in meta["managedFields"]} == {"credfresh"}
    assert "aws_session_token" in kube.data("creds")["credentials"]
    assert agent.status()["ready"]
    assert agent.run("rotate", "demo").returncode == 0
    eventually(lambda: kube.get("creds")["metadata"]["annotations"]["credfresh.io/generation"] == "2", agent.log)
    # Once more after a restart nothing is written.
    agent.wait_state("fresh")
    agent.stop()
    version = kube.get("creds")["metadata"]["resourceVersion"]
    agent.start()
    agent.wait_state("fresh")
    assert agent.generation() == 2 and agent.status()["ready"]
    assert kube.get("creds")["metadata"]["resourceVersion"] == version


def test_the_api_servers_warning_is_logged_once(agent, kube):
    agent.cloud.fault(kind="status", status=200, body="{}", count=2, match={"action": "kube.secret.apply"},
                      headers={"Warning": '299 - "policy \\"soon\\" will refuse this"'})
    start(agent, target(agent, "warned"))
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_generation(2)
    eventually(lambda: delivery(agent).get("generation") == 2, agent.log)
    assert agent.log.count('Secret default/warned: the API server warns: policy "soon" will refuse this') == 1


def test_what_has_expired_was_published(agent, kube):
    """Not ready because it has expired, which is told apart from never having been there."""
    # Each session, because a busy machine renews the first one before the outage begins.
    agent.cloud.fault(kind="short_life", s=5, count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    start(agent, target(agent, "ends"))
    eventually(lambda: agent.status().get("ready"), lambda: agent.log)
    agent.cloud.admin("/outage", {"on": True})
    eventually(lambda: not agent.status()["ready"], lambda: agent.log)
    status = agent.status()
    assert status["published"] and status["expires_in_s"] <= 0
    assert "demo: expired" in agent.request("GET", "/readyz")[1]


def test_what_was_deleted_or_overwritten_meanwhile_is_applied_again_at_the_start(agent, kube):
    """A restart and `once` look at what each Secret holds, not only at the record."""
    start(agent, target(agent, "gone"), target(agent, "edited"))
    eventually(lambda: [d.get("result") for d in agent.status().get("deliveries") or []] == ["ok", "ok"], agent.log)
    agent.stop()
    kube.call("DELETE", "gone")
    agent.start()
    eventually(lambda: "Secret default/gone was deleted: it is published again" in agent.log, agent.log)
    eventually(lambda: "aws_session_token" in kube.data("gone").get("credentials", ""), agent.log)
    agent.wait_state("fresh")
    agent.stop()
    kube.apply("edited", "rival", {"token": "overwritten"}, force=True)
    kube.apply("edited", "rival", {})
    assert "token" not in kube.data("edited")
    done = agent.run("once")
    assert done.returncode == 0, done.stderr
    assert 'the key "token" was removed from the Secret default/edited' in done.stderr
    assert kube.data("edited")["token"].startswith("ey")


def test_once_says_what_it_cannot_look_at(agent, kube):
    start(agent, target(agent, "unseen"))
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    agent.wait_state("fresh")
    agent.stop()
    agent.cloud.fault(kind="status", status=403, body="{}", count=-1, match={"action": "kube.secret.get"})
    done = agent.run("once")
    assert done.returncode != 0 and "Secret default/unseen" in done.stderr, done.stderr


def test_a_deleted_and_an_overwritten_secret_are_noticed(agent, kube):
    """First the loss is reported, then the Secret is there again; what belongs to others by then is not taken."""
    start(agent, target(agent, "noticed"), target(agent, "taken"))
    eventually(lambda: [d.get("result") for d in agent.status().get("deliveries") or []] == ["ok", "ok"], agent.log)
    first = kube.get("noticed")["metadata"]["uid"]
    # Otherwise the loss is made good before anybody can see that it was reported.
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    kube.apply("taken", "rival", {"token": "mine now"}, force=True)
    kube.call("DELETE", "noticed")
    eventually(lambda: "was deleted" in (delivery(agent).get("error") or ""), agent.log, 90)
    assert not agent.status()["ready"] and not agent.status()["published"]
    agent.cloud.clear_faults()
    eventually(lambda: kube.get("noticed").get("metadata", {}).get("uid", first) != first, agent.log, 90)
    eventually(lambda: "rival" in (delivery(agent, 1).get("error") or ""), agent.log)
    assert kube.data("taken")["token"] == "mine now"
    assert agent.status()["deliveries"][0]["result"] == "ok" and not agent.status()["ready"]


def test_a_session_that_comes_while_the_new_token_is_applied_is_applied_too(agent, kube):
    """Both have one number where another target is in the way: the first is not recorded."""
    there = agent.dir / "there"
    start(agent, target(agent, "both"), {"file": {"path": str(there), "format": "token"}})
    eventually(lambda: delivery(agent).get("result") == "ok", lambda: agent.log)
    before = kube.data("both")
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    there.unlink()
    there.mkdir()
    agent.cloud.fault(kind="delay", ms=6000, count=1, match={"action": "kube.secret.apply"})

    def renewed():  # one of the same second is the same
        agent.cloud.admin("/volume/demo/renew", {})
        return (agent.cloud.volumes["demo"] / "token").read_text() != before["token"]

    eventually(renewed, "another token", pause_s=0.3)
    eventually(lambda: "delay" not in json.dumps(agent.cloud.admin("/fault")), lambda: agent.log)
    agent.cloud.clear_faults()
    assert agent.run("rotate", "demo").returncode == 0
    eventually(lambda: kube.data("both")["credentials"] != before["credentials"], lambda: agent.log)
    there.rmdir()
    agent.wait_state("fresh")


def test_a_deleted_secret_comes_back_while_a_hook_fails(agent, kube):
    """With a file next to it, so that the hook does not wait for the cluster."""
    start(agent, {"directory": str(agent.out), "files": [{"name": "creds.json", "format": "json"}]}, target(agent, "heal"),
          reload=[{"exec": ["/bin/false"]}])
    eventually(lambda: delivery(agent).get("result") == "ok", lambda: agent.log)
    agent.wait_state("reloading")
    kube.call("DELETE", "heal")
    eventually(lambda: "was deleted" in agent.log and kube.get("heal").get("data"), lambda: agent.log, 90)


def doctors_words(agent):
    """About what is published. A conflict is not "nothing is published yet"."""
    findings = json.loads(agent.run("doctor", "--json", "--offline").stdout)["findings"]
    (one,) = [f for f in findings if f["check"] == "agent.credential"]
    return one["text"]


def test_a_removed_label_comes_back(agent, kube):
    start(agent, target(agent, "label"))
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    label = {"app.kubernetes.io/managed-by": None}
    assert kube.call("PATCH", "label", {"metadata": {"labels": label}}, content="application/merge-patch+json")["kind"] == "Secret"
    eventually(lambda: kube.get("label")["metadata"].get("labels"), lambda: agent.log)
    assert kube.get("label")["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "credfresh"}
    assert "the label app.kubernetes.io/managed-by of the Secret default/label was removed" in agent.log


def test_keys_of_others_stay_and_conflicts_name_their_owner(agent, kube):
    start(agent, target(agent, "shared"))
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    kube.apply("shared", "somebody", {"theirs": "x"})
    kube.apply("shared", "rival", {"token": "mine now"}, force=True)
    wait_failed(agent, '"rival" owns .data.token')
    assert kube.data("shared")["token"] == "mine now" and kube.data("shared")["theirs"] == "x"
    assert agent.status()["deliveries"][0]["generation"] == 0
    assert "generation 2 is not published at all of its targets" in doctors_words(agent)
    kube.apply("shared", "rival", {})
    eventually(lambda: delivery(agent).get("result") == "ok" and delivery(agent)["generation"] >= 2, agent.log)
    assert kube.data("shared")["theirs"] == "x"


def test_foreign_is_refused_and_adopted_when_told_to(agent, kube):
    kube.make("foreign", stringData={"token": "old", "other": "stays"})
    start(agent, target(agent, "foreign"))
    wait_failed(agent, "adopt")
    assert kube.data("foreign")["token"] == "old"
    assert not agent.status()["ready"]
    assert "generation 1 is not published at all of its targets" in doctors_words(agent)
    agent.stop()
    start(agent, target(agent, "foreign", adopt=True))
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    assert kube.data("foreign")["other"] == "stays" and kube.data("foreign")["token"] != "old"


def registry(agent, **target):
    """A credential for one registry, published to TARGET."""
    ecr = {"registries": [REGISTRY], "endpoint": agent.cloud.ready["ecr_url"]}
    made = agent.credential(publish=target)
    made["exchange"]["aws"]["ecr"] = ecr
    return made


def test_a_pull_secret_keeps_the_logins_of_other_registries(agent, kube):
    theirs = {"auths": {"registry.shop.example": {"auth": b64("robot:pw")}, REGISTRY: {"auth": b64("AWS:stale")}},
              "credHelpers": {"gcr.io": "gcloud"}}
    kube.make("logins", type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": json.dumps(theirs)})
    secret = target(agent, "logins", adopt=True, type="kubernetes.io/dockerconfigjson",
                    keys=[{"name": ".dockerconfigjson", "format": "docker-config"}])
    agent.configure(registry(agent, **secret)).start()
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    first = json.loads(kube.data("logins")[".dockerconfigjson"])
    assert first["auths"].pop(REGISTRY)["auth"] != b64("AWS:stale")
    assert first == {"auths": {"registry.shop.example": {"auth": b64("robot:pw")}}, "credHelpers": {"gcr.io": "gcloud"}}
    # Another program adds a login to what credfresh wrote.
    added = json.loads(kube.data("logins")[".dockerconfigjson"])
    added["auths"]["added.example"] = {"auth": b64("a:b")}
    kube.apply("logins", "operator", {".dockerconfigjson": json.dumps(added)}, force=True)
    eventually(lambda: delivery(agent).get("generation", 0) >= 2 and delivery(agent)["result"] == "ok", agent.log)
    assert set(json.loads(kube.data("logins")[".dockerconfigjson"])["auths"]) == {"registry.shop.example", "added.example", REGISTRY}
    # What is not JSON cannot be merged, and is left as it is.
    agent.stop()
    kube.call("DELETE", "logins")
    kube.make("logins", stringData={".dockerconfigjson": "auths: none"})
    secret["secret"]["type"] = "Opaque"
    agent.configure(registry(agent, **secret)).start()
    wait_failed(agent, "the logins of other registries in it cannot be kept")
    assert kube.data("logins") == {".dockerconfigjson": "auths: none"}


def test_a_docker_config_keeps_the_logins_of_other_registries(agent):
    path = agent.dir / "config.json"
    theirs = {"auths": {"registry.shop.example": {"auth": b64("robot:pw")}}, "credHelpers": {"gcr.io": "gcloud"},
              "proxies": {"default": {"httpProxy": "http://p:1"}}}
    path.write_text(json.dumps(theirs))
    agent.configure(registry(agent, file={"path": str(path), "format": "docker-config"})).start()
    agent.wait_state("fresh")
    merged = json.loads(path.read_text())
    assert merged["auths"].pop(REGISTRY)["username"] == "AWS"
    assert merged == theirs
    agent.stop()
    path.write_text("not JSON")
    done = agent.run("once", "--timeout", "3s")
    assert done.returncode != 0 and "the logins of other registries in it cannot be kept" in done.stderr
    assert path.read_text() == "not JSON"


def test_immutable_and_of_another_type(agent, kube):
    kube.make("frozen", immutable=True, stringData={"token": "old"})
    kube.make("typed", type="kubernetes.io/basic-auth", stringData={"username": "x"})
    start(agent, target(agent, "frozen", adopt=True), target(agent, "typed", adopt=True))
    wait_failed(agent, "immutable")
    eventually(lambda: "type" in (delivery(agent, 1).get("error") or ""), agent.log)
    assert kube.data("frozen") == {"token": "old"}
    agent.stop()
    done = agent.run("once")
    assert done.returncode != 0 and ("immutable" in done.stderr or "cannot be changed" in done.stderr)


def publisher(kube, name):
    return kube.get(name)["metadata"]["annotations"]["credfresh.io/publisher"]


def test_of_two_agents_with_one_credential_the_newer_writes(agent, agent_factory, kube):
    """With separate stores. They do not replace each other's content, and the older takes over when the newer has ended."""
    agent.cloud.fault(kind="short_life", s=30, count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    start(agent, target(agent, "rivals"))
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    older = publisher(kube, "rivals")
    # By when it first published.
    eventually(lambda: time.time() // 1 > started(older), "the next second", pause_s=0.05)
    newer = start(agent_factory(agent.cloud, "newer"), target(agent, "rivals"))
    eventually(lambda: delivery(newer).get("result") == "ok", newer.log)
    wait_failed(agent, f"another agent, started at {publisher(kube, 'rivals').split('/')[0]}, publishes demo to the Secret "
                       "default/rivals: stop one of the two, or publish under another name")
    assert not agent.status()["ready"]
    (finding,) = [f for f in json.loads(agent.run("doctor", "--json", "--offline").stdout)["findings"] if f["check"] == "agent.delivery"]
    assert "another agent, started at" in finding["text"]
    metrics = agent.request("GET", "/metrics")[1]
    assert re.search(r'credfresh_delivery_runs_total{credential="demo",target="Secret default/rivals",result="failed"} [1-9]', metrics)
    # Through renewals and a loss.
    for generation in (2, 3):
        assert agent.run("rotate", "demo").returncode == 0 and newer.run("rotate", "demo").returncode == 0
        eventually(lambda: delivery(newer).get("generation", 0) >= generation, newer.log)
        assert delivery(newer)["result"] == "ok" and publisher(kube, "rivals") != older
    kube.call("DELETE", "rivals")
    eventually(lambda: kube.get("rivals").get("data") and delivery(newer)["result"] == "ok" and "another agent" in
               (delivery(agent).get("error") or ""), lambda: newer.log + agent.log)
    # Its own restart is no other agent.
    newer.wait_state("fresh")
    newer.stop()
    newer.start()
    eventually(lambda: newer.status().get("ready"), lambda: newer.log)
    assert publisher(kube, "rivals") != older and "another agent, started" not in (delivery(newer).get("error") or "")
    newer.stop()
    ends = kube.get("rivals")["metadata"]["annotations"]["credfresh.io/expires"]
    eventually(lambda: delivery(agent).get("result") == "ok", lambda: agent.log, 90)
    assert publisher(kube, "rivals") == older
    assert time.time() < calendar.timegm(time.strptime(ends, "%Y-%m-%dT%H:%M:%SZ")) + 31  # a retry comes within 30 s
    assert agent.status()["ready"]


def started(text):
    return calendar.timegm(time.strptime(text.split("/")[0], "%Y-%m-%dT%H:%M:%SZ"))


def test_an_image_pull_secret_of_a_mounted_one(agent, kube):
    mounted = Mounted(agent.dir / "mnt")
    auths = json.dumps({"auths": {"registry.example.com": {"auth": b64("u:p")}}})
    mounted.put({".dockerconfigjson": auths})
    start(agent, target(agent, "pull", keys=None, type="kubernetes.io/dockerconfigjson"), token=None, exchange=None,
          secret={"directory": str(mounted.dir), "pass_on": True})
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    made = kube.get("pull")
    assert made["type"] == "kubernetes.io/dockerconfigjson" and kube.data("pull") == {".dockerconfigjson": auths}
    # What the type does not allow is refused before it is sent.
    mounted.put({"config.json": auths})
    eventually(lambda: ".dockerconfigjson" in ((agent.status().get("last_error") or {}).get("message") or ""), agent.log)
    assert kube.data("pull") == {".dockerconfigjson": auths}
    mounted.put({".dockerconfigjson": auths.replace("registry", "second")})
    eventually(lambda: "second" in kube.data("pull")[".dockerconfigjson"], agent.log)


def test_hooks_wait_for_the_cluster(agent, kube):
    out = agent.dir / "hook.log"
    agent.cloud.admin("/outage", {"on": True, "service": "kube"})
    start(agent, target(agent, "waits"), reload=[{"exec": ["/bin/sh", "-c", f"echo run >> {out}"]}])
    eventually(lambda: delivery(agent).get("result") in ("failed", "pending") and delivery(agent).get("error"), agent.log)
    assert not out.exists() and not agent.status()["ready"]
    agent.cloud.admin("/outage", {"on": False, "service": "kube"})
    eventually(out.exists, agent.log)
    assert kube.data("waits")["token"]
    assert out.read_text() == "run\n"


def test_beside_files(agent, kube):
    directory = {"directory": str(agent.out), "files": [{"name": "creds.json", "format": "json"}]}
    start(agent, directory, target(agent, "beside"))
    agent.wait_generation(1)
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    assert agent.published()["generation"] == 1


def test_a_file_in_the_way_does_not_apply_the_secret_again(agent, kube):
    bad = agent.dir / "bad"
    (bad / "..data" / "x").mkdir(parents=True)
    out = agent.dir / "hook.log"
    directory = {"directory": str(bad), "files": [{"name": "creds.json", "format": "json"}]}
    start(agent, directory, target(agent, "apart"),
          reload=[{"exec": ["/bin/sh", "-c", f"echo $CREDFRESH_GENERATION >> {out}"]}])
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log)
    eventually(lambda: agent.status()["consecutive_failures"] >= 3, lambda: agent.log)
    assert kube.get("apart")["metadata"]["annotations"]["credfresh.io/generation"] == "1"
    assert out.read_text() == "1\n"
    # What is deleted meanwhile comes back.
    kube.call("DELETE", "apart")
    eventually(lambda: kube.get("apart").get("data"), lambda: agent.log)
    shutil.rmtree(bad)
    agent.wait_state("fresh")
    eventually(lambda: kube.get("apart")["metadata"]["annotations"]["credfresh.io/generation"] == str(agent.generation()),
               lambda: agent.log)
    assert (bad / "creds.json").exists()


def test_forbidden_says_which_rule_is_missing(agent):
    start(agent, target(agent, "creds", namespace="kube-system"))
    wait_failed(agent, "kube-system")
    assert "secrets" in delivery(agent)["error"] and "demo-kube-token" not in agent.log


def configmap(agent, name, *keys, **over):
    return {"configmap": {"namespace": "default", "name": name, "kubeconfig": agent.cloud.ready["kubeconfig"],
                          "keys": list(keys), **over}}


ACCOUNT = {"name": "account", "format": "field", "field": "aws_account_id"}


def test_a_configmap_is_applied_put_back_and_adopted_like_a_secret(agent, kube):
    start(agent, configmap(agent, "public", ACCOUNT, {"name": "config", "format": "aws-config", "region": "eu-west-1",
                                                  "role_arn": "arn:aws:iam::123456789012:role/demo", "token_path": "/t"}),
          target(agent, "public"))
    eventually(lambda: [d.get("result") for d in agent.status().get("deliveries") or []] == ["ok", "ok"], agent.log)
    made = kube.call("GET", "public", kind="configmaps")
    assert made["kind"] == "ConfigMap" and "type" not in made and made["data"]["account"].isdigit(), made
    assert "eu-west-1" in made["data"]["config"]
    assert made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "credfresh"
    assert delivery(agent)["name"] == "ConfigMap default/public"
    agent.stop()
    kube.call("DELETE", "public", kind="configmaps")
    agent.start()
    eventually(lambda: "ConfigMap default/public was deleted: it is published again" in agent.log, agent.log)
    eventually(lambda: kube.call("GET", "public", kind="configmaps")["kind"] == "ConfigMap", agent.log)
    agent.stop()
    assert kube.call("POST", "", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"},
                                  "data": {"account": "old"}}, kind="configmaps")["kind"] == "ConfigMap"
    start(agent, configmap(agent, "theirs", ACCOUNT))
    wait_failed(agent, "the ConfigMap default/theirs was not made by credfresh")


@pytest.mark.parametrize("key, part", [
    ({"name": "c", "format": "aws-credentials"}, "aws-credentials"),
    ({"name": "c", "format": "token"}, "token"),
    ({"name": "c", "format": "field", "field": "aws_session_token"}, "aws_session_token"),
    ({"name": "c", "format": "template", "template": "a ${aws_account_id} ${aws_secret_access_key}"},
     "aws_secret_access_key"),
])
def test_a_configmap_takes_nothing_secret(agent, key, part):
    agent.configure(agent.credential(publish=[configmap(agent, "public", ACCOUNT, key)]))
    done = agent.run("check")
    assert done.returncode != 0 and f"{part} holds a secret" in done.stdout + done.stderr, done.stdout + done.stderr
