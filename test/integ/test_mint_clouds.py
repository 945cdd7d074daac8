# SPDX-License-Identifier: MIT
"""Rotation of long-lived keys in the other clouds: keys of Google service accounts, client secrets of Azure applications, application
credentials of OpenStack users, API keys of IBM Cloud. New ones are known late, as in the real ones."""
import datetime
import json
import re
import shutil
import threading

import pytest

from conftest import LocalCloud, eventually
from mint_kinds import ACCOUNT, KINDS, TENANT, all_settings, held, mint_of, only_published, wait_all

LATE = {"use_late_s": 3, "list_late_s": 0.7}  # the former longer than all tries take that would succeed


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config=all_settings(1, **LATE))
    yield made
    made.stop()


@pytest.fixture
def agent(agent_factory, shared):
    """One that rotates in all of them, at the same time."""
    made = agent_factory(shared)
    return made.configure(*(one for kind in KINDS for one in kind.configured(made)))


class Consumer(threading.Thread):
    """Uses what is published all the time."""

    def __init__(self, agent, kind):
        super().__init__()
        self.agent, self.kind = agent, kind
        self.answers = []
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            self.answers.append(self.kind.use(self.agent))
            self.over.wait(0.05)

    def end(self):
        self.over.set()
        self.join()
        assert self.answers and set(self.answers) == {200}, (self.kind.name, set(self.answers))


def test_one_takes_the_place_of_another(agent):
    before = held(agent)
    agent.start()
    wait_all(agent, 1)
    only_published(agent, before)
    first = {kind.name: kind.published(agent) for kind in KINDS}
    made = next(one for one in agent.cloud.admin("/keystone")["application_credentials"] if one["id"] == first["openstack"])
    assert [(rule["service"], rule["method"], rule["path"]) for rule in made["access_rules"]] == [
        ("compute", "GET", "/v2.1/servers/**"), ("image", "POST", "/v2/images")]
    consumers = [Consumer(agent, kind) for kind in KINDS]
    for consumer in consumers:
        consumer.start()
    try:
        for kind in KINDS:
            done = agent.run("rotate", kind.name)
            assert done.returncode == 0, done.stderr + agent.log
        wait_all(agent, 2)
    finally:
        for consumer in consumers:
            consumer.over.set()
    for consumer in consumers:
        consumer.end()
    only_published(agent, before)
    for kind in KINDS:
        assert kind.published(agent) != first[kind.name]
        eventually(lambda: not list(kind.directory(agent).glob("*.old")), f"the end of the old one of {kind.name}")
        text = (kind.directory(agent) / "creds.json").read_text() + agent.log
        assert "PRIVATE KEY" not in text and "SECRET" not in text and "credential_secret" not in text


def test_new_keys_are_known_late(agent):
    """How long that takes at most is known of each cloud."""
    agent.configure(*(one for kind in KINDS for one in kind.configured(agent, verify_wait=None))).start()
    left_s = {}

    def all_wait():
        for kind in KINDS:
            said = re.match(r"verify_wait, (?:1 min|(\d+) s) more", mint_of(agent, kind).get("waits_for") or "")
            if said:
                left_s.setdefault(kind.name, int(said.group(1) or 60))
        return len(left_s) == len(KINDS)

    eventually(all_wait, lambda: f"{left_s}\n{agent.log}")
    assert max(left_s["openstack"], left_s["ibm"]) <= 10 < left_s["azure"] <= 30 < left_s["gcp"] <= 60


def test_keys_that_end_by_themselves_are_rotated_before(agent):
    """Whatever `expire_after` says; and every reader sees them expire, also after a restart."""
    ending = [kind for kind in KINDS if kind.name in ("azure", "openstack")]
    credentials = [one for kind in ending for one in kind.configured(agent, expire_after="720h")]
    for kind, credential in zip(ending, credentials[::2]):
        credential["mint"][kind.name]["lifetime"] = "24h"
    agent.configure(*credentials).start()

    def left_h(kind, key):
        at = datetime.datetime.fromisoformat(agent.status(kind.credential)[key].replace("Z", "+00:00"))
        return (at - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 3600

    for _ in range(2):
        for kind in ending:
            agent.wait_generation(1, kind.credential)
            eventually(lambda: mint_of(agent, kind).get("step") == "rest", lambda: agent.log)
            assert 23 < left_h(kind, "expires") <= 24.1, agent.status(kind.credential)
            assert 17 < left_h(kind, "next_refresh") <= 19.3, agent.status(kind.credential)
        assert agent.stop() == 0
        agent.start()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_adoption(agent_factory, shared, kind):
    """A key whose file is all that is left is adopted, also where the file does not say which key it is (Azure)."""
    agent = agent_factory(shared)
    agent.configure(*kind.configured(agent)).start()
    eventually(lambda: mint_of(agent, kind).get("step") == "rest" and agent.generation(kind.name) == 1, lambda: agent.log)
    assert agent.stop() == 0
    key = mint_key(agent, kind)
    given = agent.dir / "given"
    given.write_text((kind.directory(agent) / kind.publish["name"]).read_text())
    shutil.rmtree(kind.directory(agent))
    for path in agent.state.iterdir():
        path.unlink()
    shared.admin("/stats/reset", {})
    agent.configure(*kind.configured(agent, adopt=str(given))).start()
    eventually(lambda: mint_of(agent, kind).get("step") == "rest" and mint_of(agent, kind).get("key") == key,
               lambda: f"{mint_of(agent, kind)}\n{agent.log}")
    assert kind.use(agent) == 200 and not shared.exchanges(kind.create)
    done = agent.run("rotate", kind.name)
    assert done.returncode == 0, done.stderr
    eventually(lambda: mint_of(agent, kind).get("step") == "rest" and mint_of(agent, kind).get("key") != key,
               lambda: f"{mint_of(agent, kind)}\n{agent.log}")
    assert kind.use(agent) == 200 and key not in kind.held(shared)


def test_what_has_expired_is_not_adopted(agent_factory, shared):
    """Azure has nothing that could be activated again."""
    agent = agent_factory(shared)
    kind = next(one for one in KINDS if one.name == "azure")
    ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)
    made = kind.by_hand(shared, "addPassword", {"passwordCredential": {"endDateTime": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}})
    given = agent.dir / "given"
    given.write_text(f"AZURE_TENANT_ID={TENANT}\nAZURE_CLIENT_ID={kind.subject}\nAZURE_CLIENT_SECRET={made['secretText']}\n")
    eventually(lambda: datetime.datetime.now(datetime.timezone.utc) > ends, lambda: "the clock stands still")
    agent.configure(*kind.configured(agent, adopt=str(given))).start()
    eventually(lambda: "that was found has expired; put one that is valid in its place" in
               (agent.status(kind.credential).get("last_error") or {}).get("message", ""), lambda: agent.log)
    assert not kind.directory(agent).exists()
    kind.delete(shared, made["keyId"])


def test_an_api_key_makes_others(agent):
    """IBM Cloud: `with` is an API key that is exchanged, of the same identity; it is not touched."""
    kind = KINDS[-1]
    made = kind.by_hand(agent.cloud, "", {"name": "by hand", "iam_id": kind.subject, "account_id": ACCOUNT})
    secret = agent.dir / "api-key"
    secret.write_text(made["apikey"] + "\n")
    minted, _ = kind.configured(agent)
    exchange = {"token_url": agent.cloud.ready["ibm_url"] + "/identity/token", "grant": "custom", "secret_parameter": "apikey",
                "grant_type": "urn:ibm:params:oauth:grant-type:apikey", "client_secret_file": str(secret),
                "ca_file": agent.cloud.ca}
    # Tokens take a key only once it is known everywhere.
    agent.configure(minted, {"name": minted["mint"]["with"], "exchange": {"oauth": exchange}}).start()
    for generation in (1, 2):
        eventually(lambda: agent.generation(kind.name) == generation and mint_of(agent, kind).get("step") == "rest",
                   lambda: f"{mint_of(agent, kind)}\n{agent.log}")
        assert kind.use(agent) == 200 and made["apikey"] not in agent.log
        if generation == 1:
            assert agent.run("rotate", kind.name).returncode == 0
    assert set(kind.held(agent.cloud)) >= {made["id"], kind.published(agent)}
    kind.delete(agent.cloud, made["id"])


def mint_key(agent, kind):
    return json.loads((agent.state / f"{kind.name}+mint.json").read_text())["current"]
