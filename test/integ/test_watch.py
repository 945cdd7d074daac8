# SPDX-License-Identifier: MIT
"""Objects of the cluster are watched: what others do to them is put back within seconds, by one watch for a namespace."""
import base64
import json
import time

import pytest

from conftest import Mounted, eventually
from test_secret_target import ACCOUNT, Kube, configmap, delivery, start, target

SECONDS = 20  # less than the minute between two looks without a watch


@pytest.fixture
def kube(cloud):
    return Kube(cloud)


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud)


def actions(agent, name):
    return [r for r in agent.cloud.stats()["log"] if r["action"] == name]


def wait_ok(agent, count):
    eventually(lambda: [d.get("result") for d in agent.status().get("deliveries") or []] == ["ok"] * count, agent.log)


def wait_watching(agent, count):
    eventually(lambda: len(actions(agent, "kube.watch")) >= count, lambda: agent.log)


def uid(kube, name, kind="secrets"):
    return (kube.call("GET", name, kind=kind).get("metadata") or {}).get("uid")


def test_what_is_deleted_or_overwritten_is_back_within_seconds(agent, kube):
    start(agent, target(agent, "one"), target(agent, "two"), configmap(agent, "map", ACCOUNT))
    wait_ok(agent, 3)
    wait_watching(agent, 2)
    first = uid(kube, "one"), uid(kube, "map", "configmaps")
    kube.call("DELETE", "one")
    eventually(lambda: uid(kube, "one") not in (None, first[0]), agent.log, SECONDS)
    kube.call("DELETE", "map", kind="configmaps")
    eventually(lambda: uid(kube, "map", "configmaps") not in (None, first[1]), agent.log, SECONDS)
    kube.apply("two", "rival", {"token": "overwritten"}, force=True)
    kube.apply("two", "rival", {})
    eventually(lambda: kube.data("two").get("token", "").startswith("ey"), agent.log, SECONDS)
    wait_ok(agent, 3)
    # Two Secrets share one watch; ConfigMaps are another kind.
    assert len({r["role"] for r in actions(agent, "kube.watch")}) == 1
    assert len(actions(agent, "kube.watch")) == 2, actions(agent, "kube.watch")


def test_a_copied_secret_comes_back_however_often_it_is_removed(agent, kube):
    """A copy costs no exchange: it is noticed, reported and written again each time."""
    mounted = Mounted(agent.dir / "mnt")
    mounted.put({"password": "hunter2-hunter2"})
    start(agent, target(agent, "copied", keys=None), token=None, exchange=None,
          secret={"directory": str(mounted.dir), "pass_on": True})
    wait_ok(agent, 1)
    wait_watching(agent, 1)
    for _ in range(5):
        gone = uid(kube, "copied")
        kube.call("DELETE", "copied")
        eventually(lambda was=gone: uid(kube, "copied") not in (None, was), agent.log, SECONDS)
        wait_ok(agent, 1)


def test_an_answer_of_the_server_ends_the_pauses_of_other_requests(agent, kube):
    """The pause of the first request is 5 minutes; the watch's list shows that the server works again."""
    agent.cloud.fault(kind="status", status=503, body="", headers={"Retry-After": "300"}, count=1,
                      match={"action": "kube.secret.get"})
    # The order of the two requests is not fixed: the list has to be answered after the 503.
    agent.cloud.fault(kind="delay", ms=1000, count=1, match={"action": "kube.list"})
    start(agent, target(agent, "paused"))
    wait_ok(agent, 1)


def test_another_kubeconfig_ends_the_pauses(agent, kube):
    kubeconfig = agent.dir / "kubeconfig"
    kubeconfig.write_text(open(agent.cloud.ready["kubeconfig"]).read())
    agent.cloud.fault(kind="status", status=401, body="", headers={"Retry-After": "300"}, count=-1, match={"action": "kube.*"})
    start(agent, target(agent, "paused", kubeconfig=str(kubeconfig)))
    eventually(lambda: delivery(agent).get("runs_failed"), lambda: agent.log)
    agent.cloud.clear_faults()
    new = kubeconfig.with_suffix(".new")
    new.write_text(kubeconfig.read_text() + "\n# another\n")
    new.rename(kubeconfig)
    wait_ok(agent, 1)


def test_its_own_writes_are_no_news(agent, kube):
    start(agent, target(agent, "own"))
    wait_ok(agent, 1)
    wait_watching(agent, 1)
    for generation in (2, 3):
        assert agent.run("rotate", "demo").returncode == 0
        eventually(lambda wanted=generation: delivery(agent).get("generation") == wanted, agent.log)
    # A change by another manager of a field that is not ours: one look, which finds all as it was.
    before = len(actions(agent, "kube.secret.get"))
    kube.apply("own", "somebody", {"theirs": "x"})
    eventually(lambda: len(actions(agent, "kube.secret.get")) > before, agent.log, SECONDS)
    assert delivery(agent)["generation"] == 3 and "published again" not in agent.log
    # One read before each of the three applies; a report that overtook the answer may have cost another look.
    assert before <= 6, actions(agent, "kube.secret.get")


def test_a_watch_survives_410_and_outages(agent, kube):
    agent.cloud.fault(kind="status", status=410, body="{}", count=1, match={"action": "kube.watch"})
    start(agent, target(agent, "again"))
    wait_ok(agent, 1)
    wait_watching(agent, 2)
    assert len(actions(agent, "kube.list")) >= 2
    agent.cloud.admin("/outage", {"on": True, "service": "kube"})
    agent.cloud.admin("/outage", {"on": False, "service": "kube"})
    first = uid(kube, "again")
    kube.call("DELETE", "again")
    eventually(lambda: uid(kube, "again") not in (None, first), agent.log, SECONDS)


def test_without_the_right_to_watch_it_says_so_once(agent, kube):
    rules = [{"user": "demo", "verb": ["get", "patch", "create"], "resource": "secrets", "namespace": "default"}]
    agent.cloud.admin("/kube/rbac", {"rules": rules})
    start(agent, target(agent, "blind"))
    wait_ok(agent, 1)
    eventually(lambda: "cannot watch /api/v1/namespaces/default/secrets" in agent.log, lambda: agent.log)
    assert agent.log.count("warn  cannot watch /api/v1/namespaces/default/secrets") == 1
    assert agent.status()["ready"]


def test_one_secret_is_watched_by_its_name(agent, kube):
    """So that a Role can name it."""
    rules = [{"user": "demo", "verb": ["get", "patch", "create", "list", "watch"], "resource": "secrets",
              "namespace": "default", "names": ["named"]}]
    agent.cloud.admin("/kube/rbac", {"rules": rules})
    start(agent, target(agent, "named"))
    wait_ok(agent, 1)
    wait_watching(agent, 1)
    assert "cannot watch" not in agent.log


def test_named_secrets_are_watched_one_by_one_where_all_together_may_not_be(agent, kube):
    rules = [{"user": "demo", "verb": "*", "resource": "secrets", "namespace": "default", "names": ["left", "right"]}]
    agent.cloud.admin("/kube/rbac", {"rules": rules})
    start(agent, target(agent, "left"), target(agent, "right"))
    wait_ok(agent, 2)
    eventually(lambda: len([r for r in actions(agent, "kube.watch") if r["status"] == 200]) >= 2, lambda: agent.log)
    first = uid(kube, "right")
    kube.call("DELETE", "right")
    eventually(lambda: uid(kube, "right") not in (None, first), agent.log, SECONDS)
    assert "cannot watch" not in agent.log


def test_twenty_named_secrets_are_all_watched(agent, kube):
    names = [f"named-{i}" for i in range(20)]
    rules = [{"user": "demo", "verb": "*", "resource": "secrets", "namespace": "default", "names": names}]
    agent.cloud.admin("/kube/rbac", {"rules": rules})
    agent.configure(agent.credential(publish=[target(agent, name) for name in names[:10]]),
                    agent.credential(name="more", publish=[target(agent, name) for name in names[10:]])).start()
    eventually(lambda: all(uid(kube, name) for name in names), lambda: agent.log)
    eventually(lambda: len([r for r in actions(agent, "kube.watch") if r["status"] == 200]) >= 20, lambda: agent.log)
    first = uid(kube, names[19])
    kube.call("DELETE", names[19])
    eventually(lambda: uid(kube, names[19]) not in (None, first), agent.log, SECONDS)
    assert "cannot watch" not in agent.log


def test_a_list_of_large_objects_is_read_in_smaller_parts(agent, kube):
    """One part of the list may have 512 KiB: what others carry does not end the watch."""
    for i in range(8):
        kube.make(f"large-{i}", metadata={"name": f"large-{i}", "labels": {"app.kubernetes.io/managed-by": "credfresh"},
                                          "annotations": {"note": "x" * 100000}})
    start(agent, target(agent, "one"), target(agent, "two"))
    wait_ok(agent, 2)
    wait_watching(agent, 1)
    first = uid(kube, "one")
    kube.call("DELETE", "one")
    eventually(lambda: uid(kube, "one") not in (None, first), agent.log, SECONDS)
    assert len(actions(agent, "kube.list")) > 8, actions(agent, "kube.list")


def test_a_namespace_that_appears_late(agent, kube):
    rules = [{"user": "demo", "verb": "*", "resource": ["secrets", "namespaces"]}]
    agent.cloud.admin("/kube/rbac", {"rules": rules})
    start(agent, target(agent, "late", namespace="late"))
    # Until a retry is many seconds away, so that only the watch can be in time.
    eventually(lambda: delivery(agent).get("runs_failed", 0) >= 3, lambda: agent.log, 90)
    agent.cloud.admin("/kube/object", {"kind": "ServiceAccount", "namespace": "late", "name": "default"})
    began = time.monotonic()
    eventually(lambda: delivery(agent).get("result") == "ok", agent.log, SECONDS)
    print(f"{time.monotonic() - began:.1f} s")


@pytest.mark.parametrize("body", ["", '{"type":"ERROR","object":{"code":410}}\n'], ids=["nothing", "410"])
def test_watches_that_end_at_once_are_spaced(agent, kube, body):
    """A server that ends each watch is asked again after pauses, and the log says so once."""
    agent.cloud.fault(kind="status", status=200, body=body, count=99, match={"action": "kube.watch"})
    start(agent, target(agent, "short"))
    wait_ok(agent, 1)
    wait_watching(agent, 4)
    at = [r["t"] for r in actions(agent, "kube.watch")]
    assert at[3] - at[0] >= 1, at
    assert agent.log.count("warn  cannot watch /api/v1/namespaces/default/secrets") == 1


def test_a_refusal_that_repeats_a_value(agent, kube):
    """An admission webhook may quote what it refuses, as it is or in base64: that is in no log, status or Event."""
    value = "hunter2-hunter2-hunter2"
    shown = base64.b64encode(value.encode()).decode()
    agent.cloud.fault(kind="status", status=403, count=9, match={"action": "kube.secret.apply"},
                      body=json.dumps({"kind": "Status", "message": f"denied by webhook: {value} is {shown}"}))
    mounted = Mounted(agent.dir / "mnt")
    mounted.put({"password": value})
    start(agent, target(agent, "quoted", keys=None, events=True), token=None, exchange=None,
          secret={"directory": str(mounted.dir), "pass_on": True})
    eventually(lambda: "denied by webhook" in (delivery(agent).get("error") or ""), agent.log)
    eventually(lambda: actions(agent, "kube.event.create"), lambda: agent.log)
    events = kube.call("GET", "", kind="events")
    for text in (agent.log, json.dumps(agent.request("GET", "/v1/credentials")[1]), json.dumps(events)):
        assert "hunter2" not in text and shown not in text, text
