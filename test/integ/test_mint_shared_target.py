# SPDX-License-Identifier: MIT
"""A Secret of the cluster into which all agents that share a rotation publish: one restart, one event and one content for each
key; what was removed is put back; a newer key of another agent is left alone; and none of them writes without need."""
import json
import ssl
import threading
import urllib.parse
import urllib.request

import pytest

from conftest import eventually
from minting import IAM, admin, cloud, configured, iam_cloud, keys_of, mint_of, minted, rotate, wait_complete  # noqa: F401
from shared_minting import SECRET, created, follow_each_other, kube, pair, shared, step, target  # noqa: F401
from test_events import reasons
from test_rollout import Workload
from test_secret_target import b64

OUT = "robot"


@pytest.fixture(autouse=True)
def fresh(kube):
    kube.call("DELETE", OUT)


def configure(pair, directory=True, reload=(), **over):
    for agent in pair:
        c = shared(agent, reload=list(reload))
        c["publish"] = [*([c["publish"]] if directory else []), target(agent, OUT, **over)]
        agent.configure(c, admin(agent))


def delivery(agent):
    return (agent.status("robot").get("deliveries") or [{}])[0]


def holds(kube, key):
    return kube.data(OUT).get("aws_access_key_id") == key


def settled(pair, kube, but=None):
    """The key that the Secret holds, and that all of PAIR know to be there, at rest."""
    def done():
        key = kube.data(OUT).get("aws_access_key_id")
        return key not in (None, but) and step(kube) == "rest" and all(
            delivery(agent).get("result") == "ok" and mint_of(agent).get("key") == key and agent.status("robot")["ready"]
            for agent in pair)

    eventually(done, lambda: f"{kube.get(OUT)}\n" + "\n\n".join(f"{agent.status()}\n{agent.log}" for agent in pair))
    return kube.data(OUT)["aws_access_key_id"]


def start(pair, kube):
    for agent in pair:
        agent.start()
    return settled(pair, kube)


def number(kube):
    return kube.get(OUT)["metadata"]["annotations"]["credfresh.io/generation"]


class Writes(threading.Thread):
    """What has changed the Secret since this began, oldest first: its keys' numbers, by a watch."""

    def __init__(self, kube):
        super().__init__(daemon=True)
        query = urllib.parse.urlencode({"watch": "true", "fieldSelector": f"metadata.name={OUT}",
                                        "resourceVersion": kube.call("GET", "")["metadata"]["resourceVersion"]})
        request = urllib.request.Request(f"{kube.cloud.ready['kube_url']}/api/v1/namespaces/default/secrets?{query}",
                                         headers={"Authorization": "Bearer demo-kube-token"})
        self.answer = urllib.request.urlopen(request, context=ssl.create_default_context(cafile=kube.cloud.ca), timeout=200)
        self.numbers = []
        self.start()

    def run(self):
        for line in self.answer:
            event = json.loads(line)
            if event["type"] in ("ADDED", "MODIFIED"):
                self.numbers.append(event["object"]["metadata"].get("annotations", {}).get("credfresh.io/generation"))


def test_each_key_is_written_once(pair, kube, cloud):
    configure(pair)
    writes = Writes(kube)
    first = start(pair, kube)
    assert follow_each_other(pair, kube) == first and number(kube) == "1"
    rotate(pair[1], "drill")
    second = settled(pair, kube, first)
    assert follow_each_other(pair, kube, first) == second and created(cloud) == 2
    assert number(kube) == "2" and kube.data(OUT)["minted"].split()[1] == second
    eventually(lambda: set(keys_of(cloud)) == {second}, lambda: f"{keys_of(cloud)}")
    assert writes.numbers[:2] == ["1", "2"]
    # The old values go with the old key.
    eventually(lambda: "aws_access_key_id.old" not in kube.data(OUT), lambda: f"{writes.numbers}")
    assert set(writes.numbers[2:]) <= {"2"}
    for agent in pair:
        assert "published again" not in agent.log and " warn " not in agent.log.split("rotation asked")[-1], agent.log


def test_one_restart_and_one_event_for_each_key(pair, kube, cloud):
    web = Workload(cloud, "two-agents")
    configure(pair, events=True, reload=[{"rollout": {"kind": "Deployment", "namespace": "default", "name": "two-agents",
                                                      "kubeconfig": cloud.ready["kubeconfig"]}}])
    # The generations of one that comes later begin at 1.
    first = start(pair[:1], kube)
    rotate(pair[0], "drill")
    second = settled(pair[:1], kube, first)
    pair[1].start()
    settled(pair, kube)
    rotate(pair[1], "drill")
    settled(pair, kube, second)
    for agent in pair:
        eventually(lambda a=agent: a.status("robot")["hooks"][0]["result"] == "ok" and a.status("robot")["hooks"][0]["generation"] ==
                   a.generation("robot"), lambda a=agent: a.log)
    assert web.annotations()["restarted-for.credfresh.io/robot"].startswith("3-")
    restarts = [one for one in cloud.stats()["log"] if one["action"] == "kube.workload.patch" and one["status"] == 200]
    assert len(restarts) == 3 and reasons(pair[0], OUT) == ["Rotated"] * 3


def test_a_restart_of_the_workload_that_came_too_late_is_not_made_up_for(pair, kube, cloud):
    web = Workload(cloud, "late")
    configure(pair, reload=[{"rollout": {"kind": "Deployment", "namespace": "default", "name": "late",
                                         "kubeconfig": cloud.ready["kubeconfig"]}}])
    first = start(pair, kube)

    def restarted(agent, generation):
        eventually(lambda: (agent.status("robot")["hooks"][0]["result"], agent.status("robot")["hooks"][0]["generation"]) ==
                   ("ok", generation), lambda: f"{agent.status('robot')}\n{agent.log}")

    restarted(pair[0], 1)
    restarted(pair[1], 1)
    cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "kube.workload.get"})
    rotate(pair[0], "one")
    second = settled(pair, kube, first)
    assert pair[1].stop() == 0
    cloud.clear_faults()
    restarted(pair[0], 2)
    rotate(pair[0], "two")
    settled(pair[:1], kube, second)
    restarted(pair[0], 3)
    marks = web.annotations()
    assert marks["restarted-for.credfresh.io/robot"].startswith("3-")
    pair[1].start()
    settled(pair, kube)
    restarted(pair[1], 3)
    assert web.annotations() == marks


def test_a_restart_writes_nothing(pair, kube, cloud):
    """Also where no directory says which key is published."""
    configure(pair, directory=False)
    key = start(pair, kube)
    before = kube.get(OUT)["metadata"]["resourceVersion"]
    generations = [agent.generation("robot") for agent in pair]
    for agent in pair:
        assert agent.stop() == 0
        agent.start()
    assert settled(pair, kube) == key and created(cloud) == 1
    assert kube.get(OUT)["metadata"]["resourceVersion"] == before
    assert [agent.generation("robot") for agent in pair] == generations


def test_what_was_removed_or_overwritten_is_put_back(pair, kube, cloud):
    configure(pair)
    key = start(pair, kube)
    kube.call("DELETE", OUT)
    eventually(lambda: holds(kube, key), lambda: pair[0].log + pair[1].log)
    settled(pair, kube)
    assert kube.apply(OUT, "somebody", {"aws_access_key_id": "theirs"}, force=True)["kind"] == "Secret"
    # A field that another manager took is a conflict until that one lets go of it, as for an agent alone.
    eventually(lambda: all("somebody" in (delivery(agent).get("error") or "") for agent in pair),
               lambda: pair[0].log + pair[1].log)
    kube.call("DELETE", OUT)
    eventually(lambda: holds(kube, key), lambda: pair[0].log + pair[1].log)
    assert settled(pair, kube) == key and created(cloud) == 1 and number(kube) == "1"


def test_a_newer_key_is_left_alone(pair, kube, cloud):
    """As when an older state of the rotation was restored: nobody knows whether what the Secret holds still works, and an
    operator decides."""
    configure(pair)
    key = start(pair, kube)
    made = kube.call("PATCH", OUT, {"metadata": {"annotations": {"credfresh.io/generation": "9"}}},
                     content="application/merge-patch+json")
    assert made["kind"] == "Secret", made
    for agent in pair:
        eventually(lambda a=agent: "holds the key number 9 of the rotation" in (delivery(a).get("error") or ""),
                   lambda a=agent: a.log)
        assert "delete the Secret" in delivery(agent)["error"]
    assert number(kube) == "9" and holds(kube, key)
    # A new key is not taken for published before the Secret holds it: the old one goes on.
    rotate(pair[0], "drill")
    eventually(lambda: step(kube) == "verified", lambda: pair[0].log + pair[1].log)
    assert keys_of(cloud)[key]["active"] and number(kube) == "9"
    kube.call("DELETE", OUT)
    second = settled(pair, kube, key)
    assert number(kube) == "2" and created(cloud) == 2 and follow_each_other(pair, kube, key) == second


def test_what_has_changed_since_it_was_looked_at_is_looked_at_again(pair, kube, cloud):
    """So that what an agent sends late, after it was suspended, does not overwrite what came after it."""
    configure(pair)
    first = start(pair, kube)
    cloud.fault(kind="delay", ms=2000, count=1, match={"action": "kube.secret.apply", "role": f"default/{OUT}"})
    rotate(pair[0], "drill")
    eventually(lambda: not cloud.admin("/fault")["faults"], lambda: pair[0].log + pair[1].log)
    made = kube.call("PATCH", OUT, {"metadata": {"labels": {"theirs": "x"}}}, content="application/merge-patch+json")
    assert made["kind"] == "Secret", made
    settled(pair, kube, first)
    # The other agent of the pair may collide as well.
    assert 409 in [one["status"] for one in cloud.exchanges("kube.secret.apply")]
    assert kube.get(OUT)["metadata"]["labels"]["theirs"] == "x" and number(kube) == "2"
    assert not any(delivery(agent)["runs_failed"] for agent in pair)


def test_another_owner_counts_on(pair, kube, cloud):
    configure(pair)
    first = start(pair, kube)
    rotate(pair[0], "drill")
    second = settled(pair, kube, first)
    cloud.admin("/service/iam", {**IAM, "users": ["robot", "other"]})
    for agent in pair:
        c = shared(agent, "other")
        c["publish"] = [c["publish"], target(agent, OUT)]
        agent.configure(c, admin(agent))
        assert agent.run("reload").returncode == 0
    third = settled(pair, kube, second)
    assert set(keys_of(cloud, "other")) == {third} and int(number(kube)) >= 3
    eventually(lambda: not keys_of(cloud), lambda: f"{keys_of(cloud)}\n{pair[0].log}\n{pair[1].log}")
    cloud.admin("/iam/key", {"access_key_id": third, "delete": True})


def test_what_an_agent_alone_has_published_is_taken_over(pair, kube, cloud):
    """Its generations are no numbers of a rotation that is shared. The key is adopted, as the page says."""
    alone = pair[0]
    c = minted(alone)
    c["publish"] = [c["publish"], target(alone, OUT)]
    alone.configure(c, admin(alone)).start()
    eventually(lambda: delivery(alone).get("result") == "ok", lambda: alone.log)
    wait_complete(alone)
    first = kube.data(OUT)["aws_access_key_id"]
    rotate(alone, "drill")
    eventually(lambda: not holds(kube, first), lambda: alone.log)
    wait_complete(alone)
    second = kube.data(OUT)["aws_access_key_id"]
    assert alone.stop() == 0 and number(kube) == "2" and "credfresh.io/rotation" not in kube.get(OUT)["metadata"]["annotations"]
    (alone.state / "robot+mint.json").unlink()
    c = shared(alone, mint={"adopt": "target"})
    c["publish"] = [c["publish"], target(alone, OUT)]
    alone.configure(c, admin(alone)).start()
    eventually(lambda: number(kube) == "1", lambda: f"{alone.status('robot')}\n{alone.log}")
    assert settled(pair[:1], kube) == second and kube.get(OUT)["metadata"]["annotations"]["credfresh.io/rotation"] == SECRET
    rotate(alone, "drill2")
    settled(pair[:1], kube, second)


@pytest.mark.parametrize("state", [True, False], ids=["shared", "alone"])
def test_a_target_that_cannot_take_a_key_keeps_the_old_one(pair, kube, cloud, state):
    """The cluster does not get it either, so that what arrives there does not end the old key while a file still holds it."""
    agent = pair[0]
    path = agent.dir / "sub/aws.json"
    path.parent.mkdir()
    c = shared(agent) if state else minted(agent)
    c["publish"] = [c["publish"], {"file": {"path": str(path), "format": "json"}}, target(agent, OUT)]
    agent.configure(c, admin(agent)).start()
    eventually(lambda: delivery(agent).get("result") == "ok", lambda: agent.log)
    wait_complete(agent)
    first = kube.data(OUT)["aws_access_key_id"]
    aside = agent.dir / "aside"
    path.parent.rename(aside)
    path.parent.write_text("not a directory")
    rotate(agent, "drill")
    eventually(lambda: agent.log.count("robot [backoff]") >= 3, lambda: f"{agent.status('robot')}\n{agent.log}")
    assert holds(kube, first) and keys_of(cloud)[first]["active"]
    # An agent alone replaces what is lost to a target; what is shared is published there once more, before anything else.
    assert mint_of(agent)["step"] == ("rest" if state else "verified")
    before = agent.generation("robot")
    cloud.fault(kind="delay", ms=500, count=1, match={"action": "kube.secret.apply", "role": f"default/{OUT}"})
    path.parent.unlink()
    aside.rename(path.parent)
    eventually(lambda: not holds(kube, first), lambda: agent.log)
    second = settled([agent], kube, first) if state else wait_complete(agent) or kube.data(OUT)["aws_access_key_id"]
    eventually(lambda: set(keys_of(cloud)) == {second}, lambda: f"{keys_of(cloud)}\n{agent.log}")
    assert json.loads(path.read_text())["fields"]["aws_access_key_id"] == second and created(cloud) == 2
    # While the cluster takes the key, it is not published again and again.
    assert agent.generation("robot") <= before + 3, agent.log


def test_a_published_secret_that_is_lost_is_replaced(pair, kube, cloud):
    """One that comes later has nothing to publish, and is not ready until all have another key."""
    pair[0].start()
    first = follow_each_other(pair[:1], kube)
    made = kube.call("PATCH", SECRET, {"data": {"published": None}}, content="application/merge-patch+json")
    assert made["kind"] == "Secret", made
    pair[1].start()
    follow_each_other(pair, kube, first)
    assert created(cloud) == 2
    said = pair[1].log
    assert "published first generation 1" in said[:said.index("ready: every required credential")]


def test_while_the_target_is_refused_the_old_key_stays(pair, kube, cloud):
    """The key is made once, is tried at the pace of failures, and is not published before the cluster has it."""
    configure(pair)
    first = start(pair, kube)
    cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "kube.secret.apply"})
    rotate(pair[0], "drill")
    eventually(lambda: step(kube) == "verified" and any((delivery(agent).get("runs_failed") or 0) > 2 for agent in pair),
               lambda: pair[0].log + pair[1].log)
    tries = sum(delivery(agent).get("runs_failed") or 0 for agent in pair)
    asked = len([one for one in cloud.stats()["log"] if one["action"] == "kube.secret.apply" and one["status"] == 503])
    assert asked <= tries + 2 and created(cloud) == 2 and keys_of(cloud)[first]["active"] and holds(kube, first)
    generations = [agent.generation("robot") for agent in pair]
    assert max(generations) == 2, generations
    cloud.clear_faults()
    second = settled(pair, kube, first)
    assert created(cloud) == 2 and follow_each_other(pair, kube, first) == second


def test_an_agent_that_comes_later_takes_what_is_there(pair, kube, cloud):
    configure(pair)
    key = start(pair[:1], kube)
    rotate(pair[0], "drill")
    second = settled(pair[:1], kube, key)
    assert number(kube) == "2"
    eventually(lambda: "aws_access_key_id.old" not in kube.data(OUT), lambda: pair[0].log)
    before = kube.get(OUT)["metadata"]["resourceVersion"]
    pair[1].start()
    assert settled(pair, kube) == second and pair[1].generation("robot") == 1
    assert kube.get(OUT)["metadata"]["resourceVersion"] == before
    assert SECRET not in kube.data(OUT)
