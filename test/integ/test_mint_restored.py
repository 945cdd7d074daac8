# SPDX-License-Identifier: MIT
"""The Secret of a shared rotation is restored from a copy, or edited: no agent publishes a key that the cloud does not confirm."""
import json

import pytest

import conftest
from minting import admin, cloud, iam_cloud, keys_of, mint_of, rotate  # noqa: F401
from shared_minting import (SECRET, b64, created, current, follow_each_other, journal, key_of, kube, pair, shared, step,  # noqa: F401
                            target, works)
from test_mint_shared import error_of, start

FOREIGN = "AKIAFOREIGNFOREIGN00"


def eventually(done, said, pause_s=0.1):
    """A lookup that finds no key is certain after 10 s, and is often one of two."""
    return conftest.eventually(done, said, 150, pause_s=pause_s)


def replace(kube, data):
    done = kube.call("PATCH", SECRET, {"data": data}, content="application/merge-patch+json")
    assert done["kind"] == "Secret", done


def said(pair, kube, cloud):
    return lambda: f"{journal(kube)}\n{keys_of(cloud)}\n" + "\n\n".join(agent.log for agent in pair)


def test_a_journal_of_an_earlier_rotation_publishes_no_deleted_key(pair, kube, cloud):
    """The agents are restarted after that. The published key remains until another one takes its place."""
    first = start(pair, kube)
    copy = kube.get(SECRET)["data"]
    rotate(pair[0], "drill")
    second = follow_each_other(pair, kube, first)
    eventually(lambda: set(keys_of(cloud)) == {second}, said(pair, kube, cloud))
    for agent in pair:
        assert agent.stop() == 0
    replace(kube, copy)
    for agent in pair:
        agent.start()
    seen = {key_of(agent) for agent in pair}

    def replaced():
        seen.update(key_of(agent) for agent in pair)
        return current(kube) not in (first, second) and all(key_of(agent) == current(kube) for agent in pair)

    eventually(replaced, said(pair, kube, cloud), pause_s=0.02)
    assert seen == {second, current(kube)} and works(cloud) == {second, current(kube)}
    assert any(f"not published: the key {first}" in agent.log for agent in pair)


def edited(held, part, **fields):
    """The text of PART, `published` or `pending`, of what the Secret HELD, with other FIELDS of the key."""
    text = json.loads(held[part])
    text["fields"].update(fields)
    text["id"] = fields.get("aws_access_key_id", text["id"])
    return b64(json.dumps(text))


@pytest.fixture
def stopped(pair, kube):
    """Agents that have published a key, and are off; what the Secret holds."""
    start(pair, kube)
    for agent in pair:
        assert agent.stop() == 0
    return kube.data(SECRET)


def planted(kube, held, **over):
    return b64(json.dumps({**journal(kube), **over}))


@pytest.mark.parametrize("user", [None, "other"], ids=["of-nobody", "of-another-user"])
def test_a_foreign_key_is_not_published(pair, kube, cloud, stopped, user):
    """It is planted with its secret, in place of the published one. Another account may have a user of the same name."""
    key = current(kube)
    cloud.admin("/service/iam", {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot", "other"]})
    if user:
        cloud.admin("/iam/key", {"user": user, "access_key_id": FOREIGN})
    replace(kube, {"journal": planted(kube, stopped, current=FOREIGN, published="2", rotation="2"),
                   "published": edited(stopped, "published", aws_access_key_id=FOREIGN, aws_secret_access_key="theirs")})
    for agent in pair:
        agent.start()
    eventually(lambda: any(f"not published: the key {FOREIGN}" in error_of(agent) and mint_of(agent)["state"] == "UPDATE_FAILED"
                           for agent in pair), said(pair, kube, cloud))
    follow_each_other(pair, kube, FOREIGN)
    assert [agent.generation("robot") for agent in pair] == [2, 2]
    assert keys_of(cloud)[key]["active"]
    if user:
        cloud.admin("/iam/key", {"access_key_id": FOREIGN, "delete": True})


@pytest.mark.parametrize("change, words", [
    ({"aws_secret_access_key": "theirs"}, "could not be confirmed"),
    ({"aws_session_token": "theirs"}, "its field aws_session_token is not the one that the configuration gives"),
], ids=["secret", "field"])
def test_another_secret_of_the_same_key_is_not_published(pair, kube, cloud, stopped, agent_factory, change, words):
    """An agent that comes later has only what the Secret says."""
    replace(kube, {"published": edited(stopped, "published", **change)})
    late = agent_factory(cloud, "late")
    (late.dir / "admin").symlink_to(pair[0].dir / "admin")
    late.configure(shared(late), admin(late)).start(wait=False)
    eventually(lambda: words in error_of(late), lambda: late.log)
    seen = set()
    rotate(pair[0].start(), "drill")

    def done():
        seen.add(late.published()["fields"]["aws_secret_access_key"] if key_of(late) else None)
        return key_of(late) == key_of(pair[0]) != stopped["journal"]

    eventually(done, lambda: late.log + pair[0].log)
    assert "theirs" not in seen


def test_a_new_key_that_is_planted_is_not_published(pair, kube, cloud, stopped):
    """As the one that is about to be published by an agent that takes over."""
    key = current(kube)
    replace(kube, {"journal": planted(kube, stopped, step="verified", minted=FOREIGN, minted_s="1", rotation="2", name="credfresh-x"),
                   "pending": b64(json.dumps({**json.loads(stopped["published"]), "id": FOREIGN, "name": "credfresh-x", "fields": {
                       "aws_access_key_id": FOREIGN, "aws_secret_access_key": "theirs", "aws_region": "us-east-1"}})),
                   "nonce": b64("planted.1")})
    for agent in pair:
        agent.start()
    eventually(lambda: any(f"not published: the key {FOREIGN}" in error_of(agent) for agent in pair), said(pair, kube, cloud))
    assert {key_of(agent) for agent in pair} == {key} and set(keys_of(cloud)) == {key} and created(cloud) == 1


def test_a_key_that_lists_do_not_have_yet_is_waited_for(pair, kube, cloud):
    """Another agent has just created it: that is no failure."""
    pair[0].configure(shared(pair[0], mint={"settle": "60s"}), admin(pair[0])).start()
    pair[1].configure(shared(pair[1], mint={"settle": "60s"}), admin(pair[1]))
    key = follow_each_other(pair[:1], kube)
    cloud.fault(kind="status", status=200, body='<ListAccessKeysResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">'
                '<ListAccessKeysResult><UserName>robot</UserName><AccessKeyMetadata/><IsTruncated>false</IsTruncated>'
                '</ListAccessKeysResult></ListAccessKeysResponse>', content_type="text/xml", count=1,
                match={"action": "ListAccessKeys"})
    pair[1].start(wait=False)
    eventually(lambda: key_of(pair[1]) == key, lambda: pair[1].log)
    assert " warn " not in pair[1].log and "not published" not in pair[1].log


OUT = "robot"


@pytest.fixture
def delivering(pair, kube):
    """Agents that publish to a directory and to one Secret, and whose hook writes down each key that it runs for."""
    kube.call("DELETE", OUT)
    for agent in pair:
        c = shared(agent, mint={"grace": "60s", "grace_most": "90s"},
                   reload=[{"exec": ["/bin/sh", "-c", f"cut -d' ' -f2 {agent.out}/minted >> {agent.dir}/ran"]}])
        c["publish"] = [c["publish"], target(agent, OUT)]
        agent.configure(c, admin(agent))
    start(pair, kube)
    return pair


def ran(agent):
    return (agent.dir / "ran").read_text().split()


def published(pair, kube, but):
    """All of PAIR publish another key than BUT, which the Secret holds, too; the old one is in its grace."""
    def done():
        key = current(kube)
        return (key != but and step(kube) == "published" and all(key_of(agent) == key and key in ran(agent) for agent in pair)
                and kube.data(OUT).get("aws_access_key_id") == key)

    eventually(done, lambda: f"{journal(kube)}\n" + "\n\n".join(agent.log for agent in pair))
    return current(kube)


def test_an_older_step_of_the_same_rotation_publishes_no_older_key(delivering, kube, cloud):
    """Whether the agents run meanwhile or not. No hook runs twice for a key."""
    first = current(kube)
    cloud.fault(kind="delay", ms=1000, count=1000, match={"action": "kube.secret.patch", "role": f"default/{SECRET}"})
    rotate(delivering[0], "drill")
    eventually(lambda: step(kube) == "verified", said(delivering, kube, cloud), pause_s=0.02)
    copy = kube.get(SECRET)["data"]
    cloud.clear_faults()
    second = published(delivering, kube, first)
    replace(kube, copy)
    for agent in delivering:
        eventually(lambda a=agent: "is older than the one read before" in error_of(a), said(delivering, kube, cloud))
    for agent in delivering:
        assert agent.stop() == 0
        agent.start()
    assert published(delivering, kube, first) == second
    assert [ran(agent) for agent in delivering] == [[first, second]] * 2 and set(keys_of(cloud)) == {first, second}
    assert kube.get(OUT)["metadata"]["annotations"]["credfresh.io/generation"] == "2"


def test_a_journal_that_is_older_than_the_published_key_is_no_reason_to_go_back(delivering, kube, cloud):
    """Although its key works: the agents remember the number of the key that they publish, and go on from there."""
    first = current(kube)
    copy = kube.get(SECRET)["data"]
    rotate(delivering[0], "drill")
    second = published(delivering, kube, first)
    for agent in delivering:
        assert agent.stop() == 0
    replace(kube, copy)
    for agent in delivering:
        agent.start()
    for agent in delivering:
        eventually(lambda a=agent: f"is older than the published key {second}" in error_of(a), said(delivering, kube, cloud))
        assert key_of(agent) == second and mint_of(agent)["state"] == "UPDATE_FAILED"
    cloud.admin("/iam/key", {"access_key_id": first, "delete": True})
    rotate(delivering[0], "go on")
    third = published(delivering, kube, first)
    assert third not in (first, second) and [ran(agent) for agent in delivering] == [[first, second, third]] * 2
    assert kube.get(OUT)["metadata"]["annotations"]["credfresh.io/generation"] == "3" and keys_of(cloud)[second]["active"]


BY_HAND = "AKIAMADEBYHAND000000"
LONG_AGO = "1700000000"
PLANTS = {
    "aside": {"aside": [{"id": BY_HAND, "since_s": LONG_AGO, "ours": True}]},
    "retiring": {"step": "retiring", "old": BY_HAND},
    "deleting": {"step": "deleting", "old": BY_HAND},
    "undoing": {"step": "undoing", "minted": BY_HAND, "name": "credfresh-robot-9-0", "rotation": "9"},
    "lost": {"step": "lost", "minted": BY_HAND, "name": "credfresh-robot-9-0", "rotation": "9"},
    "former": {"former": [{"subject": "aws/robot", "id": BY_HAND, "off_s": LONG_AGO}]},
}


@pytest.mark.parametrize("where", PLANTS)
def test_a_key_that_only_the_journal_calls_ours_is_not_removed(pair, kube, cloud, stopped, where):
    """An operator made it; the user is the right one."""
    key = current(kube)
    cloud.admin("/iam/key", {"user": "robot", "access_key_id": BY_HAND})
    replace(kube, {"journal": planted(kube, stopped, **{"step_s": LONG_AGO, **PLANTS[where]}), "nonce": b64("planted.1")})
    cloud.admin("/stats/reset", {})
    for agent in pair:
        agent.start()
    words = f"the key {BY_HAND} remains: the journal says that credfresh created it"
    if where == "lost":  # it is not even looked for
        eventually(lambda: step(kube) == "rest", said(pair, kube, cloud))
    else:
        eventually(lambda: any(words in agent.log for agent in pair), said(pair, kube, cloud))
    # Our own key continues to be rotated.
    assert keys_of(cloud)[BY_HAND]["active"] and keys_of(cloud)[key]["active"]
    assert not [one for action in ("UpdateAccessKey", "DeleteAccessKey") for one in cloud.exchanges(action) if one["code"] == "OK"]
    eventually(lambda: step(kube) == "rest" and not journal(kube).get("old"), said(pair, kube, cloud))
    assert not any(one["ours"] for one in journal(kube).get("aside", []))


def test_an_agent_removes_what_another_one_created_and_it_has_published(pair, kube, cloud):
    """It has confirmed that key with its secret, and remembers that after a restart."""
    for agent in pair:
        agent.configure(shared(agent, mint={"grace": "8s", "grace_most": "12s"}), admin(agent))
    first = start(pair, kube)
    maker, other = sorted(pair, key=lambda agent: f"made the key {first}" in agent.log, reverse=True)
    assert maker.stop() == 0 and other.stop() == 0
    other.start()
    rotate(other, "drill")
    second = follow_each_other([other], kube, first)
    eventually(lambda: set(keys_of(cloud)) == {second}, said(pair, kube, cloud))
