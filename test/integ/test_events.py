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
    agent.cloud.fault(kind="status", status=403, body="{}", count=3, match={"action": "kube.secret.apply", "role": "default/told"})
    assert agent.run("rotate", "demo").returncode == 0
    eventually(lambda: "PublishFailed" in reasons(agent, "told"), lambda: agent.log)
    failed = events(agent, "told")[1]
    assert failed["type"] == "Warning" and failed["note"]
    eventually(lambda: delivery(agent)["runs_failed"] >= 2, lambda: agent.log)
    assert reasons(agent, "told") == ["Published", "PublishFailed"]
    assert reasons(agent, "quiet") == []


def test_expired_is_told_once(agent, kube):
    agent.cloud.fault(kind="short_life", s=5, count=1, match={"action": "AssumeRoleWithWebIdentity"})
    start(agent, target(agent, "ends", events=True))
    eventually(lambda: "Published" in reasons(agent, "ends"), lambda: agent.log)
    agent.cloud.admin("/outage", {"on": True, "service": "sts"})
    eventually(lambda: "Expired" in reasons(agent, "ends"), lambda: agent.log, 75)
    assert reasons(agent, "ends").count("Expired") == 1


def test_without_the_right_it_is_logged_once(agent, kube):
    agent.cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "*", "resource": "secrets"}]})
    start(agent, target(agent, "mute", events=True))
    eventually(lambda: "an Event was lost" in agent.log, lambda: agent.log)
    assert agent.run("rotate", "demo").returncode == 0
    eventually(lambda: delivery(agent).get("generation") == 2, lambda: agent.log)
    assert agent.log.count("warn  an Event was lost") <= 1 and agent.status()["ready"]
