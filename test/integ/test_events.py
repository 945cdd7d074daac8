# SPDX-License-Identifier: MIT
"""Events on target objects: published, failed, expired, once for a change; without the right, a line in the log."""
import json

import pytest

from conftest import eventually
from test_secret_target import Kube, delivery, start, target


@pytest.fixture
def kube(cloud):
    return Kube(cloud)


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud)


def events(agent, name):
    url = f"{agent.cloud.ready['kube_url']}/apis/events.k8s.io/v1/namespaces/default/events"
    answer = agent.cloud.client.ask(url, headers={"Authorization": "Bearer demo-kube-token"})
    return [e for e in json.loads(answer.good())["items"] if e["regarding"]["name"] == name]


def reasons(agent, name):
    return [e["reason"] for e in events(agent, name)]


def test_published_and_failed_once_each(agent, kube):
    start(agent, target(agent, "told", events=True), target(agent, "quiet"))
    eventually(lambda: reasons(agent, "told") == ["Published"], lambda: agent.log)
    event = events(agent, "told")[0]
    assert event["type"] == "Normal" and "generation 1 of the credential demo, which expires at 20" in event["note"]
    assert event["regarding"]["kind"] == "Secret" and event["regarding"]["uid"] == kube.get("told")["metadata"]["uid"]
    agent.cloud.fault(kind="status", status=403, body="{}", count=-1, match={"action": "kube.secret.apply", "role": "default/told"})
    assert agent.run("rotate", "demo").returncode == 0
    eventually(lambda: "PublishFailed" in reasons(agent, "told"), lambda: agent.log)
    failed = events(agent, "told")[1]
    assert failed["type"] == "Warning" and failed["note"]
    eventually(lambda: delivery(agent).get("runs_failed", 0) >= 2, lambda: agent.log)
    assert reasons(agent, "told") == ["Published", "PublishFailed"]
    assert reasons(agent, "quiet") == []


def test_expired_is_told_once(agent, kube):
    # Each session, because a busy machine renews the first one before the outage begins.
    agent.cloud.fault(kind="short_life", s=10, count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    start(agent, target(agent, "ends", events=True))
    eventually(lambda: "Published" in reasons(agent, "ends"), lambda: agent.log)
    agent.cloud.admin("/outage", {"on": True, "service": "sts"})
    eventually(lambda: "Expired" in reasons(agent, "ends"), lambda: agent.log, 75)
    assert reasons(agent, "ends").count("Expired") == 1


def test_a_repair_is_no_new_content(agent, kube):
    start(agent, target(agent, "lost", events=True))
    eventually(lambda: reasons(agent, "lost") == ["Published"], lambda: agent.log)
    kube.call("DELETE", "lost")
    # Each is a separate request.
    eventually(lambda: sorted(reasons(agent, "lost")) == ["PublishFailed", "Published", "Restored"], lambda: agent.log)


def serve(agent, reason=None, store="store"):
    """A Secret with a certificate of the service CA, which is rotated for REASON."""
    keys = [{"name": "tls.crt", "format": "certificate"}, {"name": "tls.key", "format": "private-key"}]
    agent.configure({"name": "web", "certificate": {"dns_names": ["web.default.svc"]},
                     "publish": target(agent, "web-tls", events=True, keys=keys)},
                    service_ca={"store": str(agent.dir / store), **({"force": {"reason": reason}} if reason else {})})
    return agent


def test_the_rotation_of_the_ca_is_told(agent, kube):
    """Also of one that an earlier run has published."""
    serve(agent).start()
    eventually(lambda: reasons(agent, "web-tls") == ["Published"], lambda: agent.log)
    serve(agent, "one")
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: reasons(agent, "web-tls") == ["Published", "CARotated"], lambda: agent.log)
    agent.stop()
    serve(agent, "two").start()
    eventually(lambda: reasons(agent, "web-tls") == ["Published", "CARotated", "CARotated"], lambda: agent.log)
    assert agent.run("rotate", "web").returncode == 0
    eventually(lambda: reasons(agent, "web-tls")[3:] == ["Published"], lambda: agent.log)


def target_of(agent, name):
    return (agent.status(name).get("deliveries") or [{}])[0]


def test_a_secret_of_another_service_ca_is_left_alone(agent_factory, cloud, kube):
    first = serve(agent_factory(cloud, "first")).start()
    eventually(lambda: target_of(first, "web").get("result") == "ok", lambda: first.log)
    held = kube.get("web-tls")
    second = serve(agent_factory(cloud, "second")).start(wait=False)
    eventually(lambda: "remove the annotation credfresh.io/ca-key-id" in (target_of(second, "web").get("error") or ""),
               lambda: second.log)
    assert kube.get("web-tls")["data"] == held["data"] and first.status("web")["ready"] and not second.status("web")["ready"]
    first.stop()
    mark = {"credfresh.io/ca-key-id": None}
    kube.call("PATCH", "web-tls", {"metadata": {"annotations": mark}}, content="application/merge-patch+json")
    eventually(lambda: target_of(second, "web").get("result") == "ok", lambda: second.log)
    assert kube.get("web-tls")["data"] != held["data"]


def test_a_secret_of_another_credential_is_left_alone(agent_factory, cloud, kube):
    first = start(agent_factory(cloud, "first"), target(agent_factory(cloud, "first"), "both"))
    eventually(lambda: delivery(first).get("result") == "ok", lambda: first.log)
    second = agent_factory(cloud, "second")
    credential = second.credential("other", publish=[target(second, "both")])
    second.configure(credential).start(wait=False)
    eventually(lambda: 'holds the credential "demo", not other' in (target_of(second, "other").get("error") or ""),
               lambda: second.log)
    assert kube.get("both")["metadata"]["annotations"]["credfresh.io/credential"] == "demo"
    # Another name of the one and only is given with adopt.
    first.stop()
    second.configure(second.credential("other", publish=[target(second, "both", adopt=True)]))
    assert second.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: target_of(second, "other").get("result") == "ok", lambda: second.log)


def test_without_the_right_it_is_logged_once(agent, kube):
    agent.cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "*", "resource": "secrets"}]})
    start(agent, target(agent, "mute", events=True))
    eventually(lambda: "an Event was lost" in agent.log, lambda: agent.log)
    assert agent.run("rotate", "demo").returncode == 0
    eventually(lambda: delivery(agent).get("generation") == 2, lambda: agent.log)
    assert agent.log.count("warn  an Event was lost") <= 1 and agent.status()["ready"]
