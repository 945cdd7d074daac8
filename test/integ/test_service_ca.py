# SPDX-License-Identifier: MIT
"""The service CA in the agent: what it publishes, when it rotates, and its behaviour after kills, restarts and lost
stores."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import ssl
import subprocess
import threading
import time

import pytest

from conftest import agent_factory, eventually, read_text  # noqa: F401
from test_secrets import SANITIZED, memory, root_only
from trust import HOST, Authority, certificates, shake_hands


@pytest.fixture
def authority(agent_factory):  # noqa: F811
    return Authority(agent_factory(None)).configure()


def identities(*roots):
    """{path: (inode, time, bytes)} of everything below ROOTS."""
    seen = {}
    for root in roots:
        for directory, _, files in os.walk(root):
            for name in files:
                path = os.path.join(directory, name)
                status = os.lstat(path)
                if not os.path.islink(path) and name != "lock":
                    seen[path] = (status.st_ino, status.st_mtime_ns, open(path, "rb").read())
    return seen


def key_ids(pem):
    """(own, issuer's) key identifier of a certificate."""
    text = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectKeyIdentifier,authorityKeyIdentifier"], input=pem,
                          capture_output=True, text=True, check=True).stdout
    return tuple(value.replace("keyid:", "") for value in re.findall(r"^\s+((?:keyid:)?[0-9A-F:]{40,})$", text, re.M))


def service_ca(agent):  # noqa: F811
    return agent.request("GET", "/v1/credentials")[1]["service_ca"]


def test_what_is_published(authority):
    authority.once()
    authority.check()
    assert (authority.tls / "ca.crt").read_text() == authority.bundle()
    assert [oct((authority.tls / name).stat().st_mode & 0o777) for name in ("tls.crt", "tls.key")] == ["0o644", "0o600"]
    assert [oct((authority.store / name).stat().st_mode & 0o777) for name in (".", "authority.json")] == ["0o700", "0o600"]
    (root,) = certificates(authority.trust / "ca.crt")
    (server,) = certificates(authority.tls / "tls.crt")
    assert key_ids(root)[0] == key_ids(root)[1] == key_ids(server)[1] != key_ids(server)[0]


def test_nothing_is_written_where_nothing_has_changed(authority):
    authority.once()
    before = identities(authority.tls, authority.trust, authority.store)
    log = authority.once().stderr
    assert identities(authority.tls, authority.trust, authority.store) == before
    assert "published" not in log
    authority.agent.start()
    authority.agent.wait_state("fresh", "tls")
    authority.agent.wait_state("fresh", "trust")
    assert authority.agent.stop() == 0
    assert identities(authority.tls, authority.trust, authority.store) == before
    assert "PRIVATE" not in authority.agent.log


def test_a_forced_rotation_reaches_everybody_once(authority):
    agent = authority.agent  # noqa: F811
    hook = agent.dir / "hook"
    runs = agent.dir / "runs"
    hook.write_text(f'#!/bin/sh\necho "$CREDFRESH_CREDENTIAL $CREDFRESH_GENERATION" >>{runs}\n')
    hook.chmod(0o755)
    reload = [{"exec": [str(hook)]}]
    authority.configure(reload=reload)
    agent.start()
    agent.wait_generation(1, "tls")
    agent.wait_generation(1, "trust")
    first = service_ca(agent)
    assert first["number"] == 1 and first["generations"] == 1 and first["last_reason"] is None
    assert first["subject"] == "credfresh service CA" and first["expires"] > first["rotates"] > first["issued"]
    assert first["error"] is None
    authority.configure(reload=reload, force={"reason": "the key was seen", "validity": "30d"})
    assert agent.request("POST", "/v1/reload")[0] == 200
    agent.wait_generation(2, "tls")
    agent.wait_generation(2, "trust")
    authority.check()
    second = service_ca(agent)
    assert second["number"] == 2 and second["generations"] == 2 and second["last_reason"] == "the key was seen"
    assert second["expires"] < first["expires"] and second["key_id"] != first["key_id"]
    assert agent.status("tls")["expires"] <= second["expires"]
    eventually(lambda: sorted(read_text(runs).split("\n")) == ["", "tls 1", "tls 2", "trust 1", "trust 2"],
               lambda: read_text(runs))
    assert len(certificates(authority.trust / "ca.crt")) == len(certificates(authority.tls / "tls.crt")) == 2
    # The same reason, by a reload, by a restart and after a kill: no second rotation.
    assert agent.request("POST", "/v1/reload")[0] == 200
    agent.kill()
    agent.start()
    agent.wait_state("fresh", "tls")
    assert service_ca(agent)["number"] == 2
    assert agent.generation("tls") == agent.generation("trust") == 2
    metrics = agent.request("GET", "/metrics")[1]
    for sample in ("number 2", "ok 1", "consecutive_failures 0"):
        assert f"credfresh_service_ca_{sample}\n" in metrics
    # One that is written again is warned of; what stays where it was is not.
    assert "force.reason" not in agent.log
    for force in (None, {"reason": "the key was seen"}):
        authority.configure(reload=reload, **({"force": force} if force else {}))
        assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: 'force.reason: "the key was seen" forced a rotation before' in agent.log, lambda: agent.log)
    assert service_ca(agent)["number"] == 2


@root_only
@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")
def test_only_the_present_key_is_in_memory(authority):
    """Not the CA's before, and none of the servers'."""
    agent = authority.agent  # noqa: F811
    store = authority.store / "authority.json"

    def found(pem):
        secret = pem.split("-----")[2].replace("\n", "")[48:64].encode()  # of the private number, in the first line
        return sum(data.count(secret) for _, data in memory(agent))

    agent.start()
    agent.wait_generation(1, "tls")
    first = json.loads(store.read_text())["key"]
    assert found(first) == 1
    authority.configure(force={"reason": "why not"})
    assert agent.request("POST", "/v1/reload")[0] == 200
    agent.wait_generation(2, "tls")
    assert found(json.loads(store.read_text())["key"]) == 1
    assert found(first) == found((authority.tls / "tls.key").read_text()) == 0


def test_a_certificate_is_issued_anew(authority):
    """On request, when it is to have other names, and when it was removed; by the same CA."""
    agent = authority.agent  # noqa: F811
    agent.start()
    agent.wait_generation(1, "tls")
    agent.wait_generation(1, "trust")
    bundle = authority.bundle()
    assert agent.request("POST", "/v1/credentials/tls/rotate", json.dumps({"reason": "why not"}))[0] == 202
    agent.wait_generation(2, "tls")
    authority.configure({"dns_names": [HOST, "other.test"]})
    assert agent.request("POST", "/v1/reload")[0] == 200
    agent.wait_generation(3, "tls")
    names = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", authority.tls / "tls.crt"],
                           capture_output=True, text=True, check=True).stdout
    assert "other.test" in names
    agent.stop()
    shutil.rmtree(authority.tls)
    authority.once()
    authority.check()
    assert authority.bundle() == bundle


class Onlooker(threading.Thread):
    """Connects as fast as it can with what is published at the moment, and counts the failures."""

    def __init__(self, authority):
        super().__init__(daemon=True)
        self.authority = authority
        self.seen = set()
        self.connections = 0
        self.failures = []
        self.ends = False

    def run(self):
        while not self.ends:
            bundle, pair = self.authority.bundle(), self.authority.published()
            try:
                shake_hands(bundle, *pair)
            except (OSError, ssl.SSLError) as error:
                self.failures.append(f"{error} with {bundle} and {read_text(pair[0])}")
            self.seen.add(bundle)
            self.connections += 1
            time.sleep(0.01)


def test_short_lives_and_kills(authority):
    """CAs that live for twenty seconds, and an agent that is killed again and again: no connection fails."""
    agent = authority.agent  # noqa: F811
    authority.configure({"validity": "10s"}, validity="20s", rotate_below="10s", generations=6)
    authority.once()
    onlooker = Onlooker(authority)
    onlooker.start()
    chance = random.Random(20)
    kills = 0
    end = time.monotonic() + 26
    while time.monotonic() < end:
        agent.start(wait=False)
        time.sleep(chance.choice((0.05, 0.1, 0.3, 1, 2)))
        agent.kill()
        kills += 1
    authority.once()
    onlooker.ends = True
    onlooker.join(20)
    assert not onlooker.failures, onlooker.failures[0]
    assert len(onlooker.seen) >= 3 and onlooker.connections > 100 and kills > 10


def test_a_lost_store_is_not_a_beginning(authority):
    """Without its store it issues nothing and breaks nothing; with it, it goes on."""
    agent = authority.agent  # noqa: F811
    authority.once()
    before = identities(authority.tls, authority.trust)
    kept = authority.store.with_suffix(".away")
    authority.store.rename(kept)
    agent.start()
    eventually(lambda: "restore the directory" in (agent.status("tls").get("last_error") or {}).get("message", ""),
               agent.log)
    assert service_ca(agent)["error"] is not None
    assert identities(authority.tls, authority.trust) == before
    agent.stop()
    # What tells that there was one may itself be damaged.
    marker = agent.state / "_service-ca.json"
    marker.unlink()
    marker.mkdir()
    assert "restore the directory" in agent.run("once", "--timeout", "2s").stderr
    shutil.rmtree(authority.store)
    kept.rename(authority.store)
    authority.once()
    assert identities(authority.tls, authority.trust) == before


def test_a_reload_that_brings_it_back(authority):
    """The CA is loaded before anything is issued from it, so nothing fails on the way."""
    agent = authority.agent  # noqa: F811
    whole = json.loads(agent.config_path.read_text())
    agent.start()
    for name in ("tls", "trust"):
        agent.wait_state("fresh", name)
    before = identities(authority.tls, authority.trust)
    other = {"name": "other", "token": {"file": str(agent.dir / "token")},
             "publish": {"file": {"path": str(agent.dir / "copy"), "format": "token"}}}
    agent.configure(other)
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert "service_ca" not in agent.request("GET", "/v1/credentials")[1]
    eventually(lambda: "waiting for the token file" in agent.log, "the other credential")
    seen = len(agent.log)
    agent.config_path.write_text(json.dumps(whole))
    assert agent.request("POST", "/v1/reload")[0] == 200
    for name in ("tls", "trust"):
        agent.wait_state("fresh", name)
        assert agent.status(name)["consecutive_failures"] == 0
    log = agent.log[seen:]
    # A disk that is busy is asked again a moment later.
    said = [line for line in log.splitlines() if "the service CA's store has not answered yet" not in line]
    assert "loaded the new configuration" in log and not any(" error " in line or " warn " in line for line in said), log
    assert identities(authority.tls, authority.trust) == before


def test_a_store_is_followed(authority):
    """While the agent runs: what was removed is written again, and a directory that was put in its place is the one that
    counts."""
    agent = authority.agent  # noqa: F811
    path = authority.store / "authority.json"
    agent.start()
    agent.wait_generation(1, "tls")
    agent.wait_generation(1, "trust")
    text = path.read_text()
    shutil.rmtree(authority.store)
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: path.exists() and path.read_text() == text and service_ca(agent)["error"] is None, lambda: agent.log)
    assert [oct(p.stat().st_mode & 0o777) for p in (authority.store, path)] == ["0o700", "0o600"]
    away = authority.store.rename(authority.store.with_suffix(".away"))
    shutil.copytree(away, authority.store)
    authority.configure(force={"reason": "why not"})
    assert agent.request("POST", "/v1/reload")[0] == 200
    agent.wait_generation(2, "tls")
    agent.wait_generation(2, "trust")
    assert json.loads(path.read_text())["number"] == 2 and (away / "authority.json").read_text() == text
    # One that is damaged is told, and not written over.
    path.write_text(text[:-20])
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: "authority.json" in (service_ca(agent)["error"] or ""), lambda: agent.log)
    assert path.read_text() == text[:-20]
    assert "credfresh_service_ca_ok 0\n" in agent.request("GET", "/metrics")[1]
    assert agent.request("POST", "/v1/credentials/tls/rotate", json.dumps({"reason": "with what is known"}))[0] == 202
    agent.wait_generation(3, "tls")
    authority.check()
    path.unlink()
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: service_ca(agent)["error"] is None and path.exists(), lambda: agent.log)
    assert json.loads(path.read_text())["number"] == 2


def frozen_maker(agent):  # noqa: F811
    """The child that makes a key, stopped; None if there is none now."""
    for line in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = line.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(line.parent.name)
        # The launcher of hooks sleeps; who makes a key computes.
        if int(fields[1]) == agent.process.pid and fields[0] == "R":
            os.kill(pid, signal.SIGSTOP)
            return pid
    return None


def test_an_rsa_key_holds_nobody_up(agent_factory):  # noqa: F811
    """While a key is made, however long that takes, the agent answers, and others are published; then all go on."""
    agent = agent_factory(None)  # noqa: F811
    names = [f"tls{i}" for i in range(3)]

    def certificate(name, key):
        return {"name": name, "certificate": {"dns_names": [HOST], "key": key},
                "publish": {"directory": str(agent.dir / name), "files": [
                    {"name": "tls.crt", "format": "certificate"}, {"name": "tls.key", "format": "private-key"}]}}

    def generations():
        return {one["name"]: one["generation"] for one in agent.request("GET", "/v1/credentials")[1]["credentials"]}

    store = {"store": str(agent.dir / "store"), "key": "rsa-2048"}
    credentials = [certificate(name, "rsa-2048") for name in names] + [certificate("quick", "ecdsa-p256")]
    agent.configure(*credentials, service_ca=store).start()
    for name in [*names, "quick"]:
        agent.wait_generation(1, name)
    agent.configure(*credentials, service_ca={**store, "force": {"reason": "why not"}})
    assert agent.request("POST", "/v1/reload")[0] == 200
    # The CA's own key: nothing changes without it, and the agent answers.
    maker = eventually(lambda: frozen_maker(agent), "a child that makes a key")
    assert service_ca(agent)["number"] == 1 and set(generations().values()) == {1}
    os.kill(maker, signal.SIGCONT)
    eventually(lambda: service_ca(agent)["number"] == 2, "the new CA")
    # A server's: those that need none go on.
    maker = eventually(lambda: frozen_maker(agent), "a child that makes a key")
    eventually(lambda: generations()["quick"] == 2, "quick")
    assert [generations()[name] for name in names].count(2) < len(names)
    os.kill(maker, signal.SIGCONT)
    eventually(lambda: set(generations().values()) == {2}, "the others", 120)


def test_once_waits_for_a_key_that_takes_long(authority):
    """Its child makes the key of the next CA: once ends when that CA is published, not with what was there before."""
    authority.once()
    authority.configure(key="rsa-4096", force={"reason": "a stronger key"}).once()
    assert authority.number() == 2
    assert len(certificates(authority.trust / "ca.crt")) == len(certificates(authority.tls / "tls.crt")) == 2
    authority.check()


@pytest.mark.parametrize("spoil", [lambda text: text[:-20], lambda text: "",
                                   lambda text: text.replace("BEGIN PRIVATE", "BEGIN PIRATE")],
                         ids=["cut", "empty", "no key"])
def test_a_damaged_store_is_told(authority, spoil):
    authority.once()
    before = identities(authority.tls, authority.trust)
    path = authority.store / "authority.json"
    text = path.read_text()
    path.write_text(spoil(text))
    done = authority.agent.run("once", "--timeout", "2s")
    assert "authority.json" in done.stderr and "[configuration, local]" in done.stderr
    assert identities(authority.tls, authority.trust) == before
    assert path.read_text() == spoil(text)


def test_one_store_for_two(authority, agent_factory):  # noqa: F811
    """Another agent with the same store waits, says why, and goes on when it may."""
    other = Authority(agent_factory(None, "other"))
    other.store = authority.store
    other.configure()
    authority.agent.start()
    authority.agent.wait_generation(1, "tls")
    other.agent.start()
    eventually(lambda: (other.agent.status("tls").get("last_error") or {}).get("code") == "conflict", other.agent.log)
    authority.agent.stop()
    other.agent.wait_generation(1, "tls")
    shake_hands(authority.bundle(), *other.published())


CA = {"store": "/x/store"}
TLS = {"name": "tls", "certificate": {"dns_names": ["a.test"]},
       "publish": {"directory": "/x/out", "files": [{"name": "tls.crt", "format": "certificate"}]}}
ALONE = {"name": "trust", "ca_bundle": True, "publish": {"file": {"path": "/x/b", "format": "ca-bundle"}}}
REFUSED = [
    ("no service CA", None, TLS, "needs `service_ca`"),
    ("nothing issued", CA, {"name": "t", "token": {"file": "/t"}, "publish": {"file": {"path": "/x/t", "format": "token"}}},
     "is not used"),
    ("a subject of two lines", {**CA, "subject": "one\ntwo"}, TLS, "control characters"),
    ("no names", CA, {**TLS, "certificate": {"validity": "1d"}}, "has no name"),
    ("no DNS name", CA, {**TLS, "certificate": {"dns_names": ["a b"]}}, "not a DNS name"),
    ("an address as a name", CA, {**TLS, "certificate": {"dns_names": ["10.0.0.1"]}}, "ip_addresses"),
    ("not an address", CA, {**TLS, "certificate": {"ip_addresses": ["1.2.3"]}}, "not an address"),
    ("two sources", CA, {**TLS, "token": {"file": "/t"}}, "remove `token`"),
    ("both kinds", CA, {**TLS, "ca_bundle": True}, "is part of what a `certificate` gives"),
    ("another format", CA, {**TLS, "publish": {"file": {"path": "/x/t", "format": "token"}}}, "does not have"),
    ("a key of a bundle", CA, {**ALONE, "publish": {"file": {"path": "/x/k", "format": "private-key"}}}, "does not have"),
    ("old when it is made", {**CA, "validity": "10d", "rotate_below": "10d"}, TLS, "less than validity"),
    ("a store among what is published", {"store": "/x/out/store"}, TLS, "service_ca.store"),
    ("the state's own directory", {"store": "STATE"}, TLS, "service_ca.store"),
]


@pytest.mark.parametrize("ca, credential, words", [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_cannot_work_is_refused(agent_factory, ca, credential, words):  # noqa: F811
    agent = agent_factory(None)  # noqa: F811
    if ca is not None and ca["store"] == "STATE":
        ca = {"store": str(agent.state)}
    agent.configure(credential, **({"service_ca": ca} if ca is not None else {}))
    done = agent.run("check")
    assert done.returncode != 0 and words in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("state", [None, "/run/credfresh", "/var/run/x"])
def test_a_state_directory_that_is_gone_after_a_restart_is_refused(agent_factory, state):  # noqa: F811
    """It records that there was a CA: without it, and with a store that is not mounted, another CA would be made."""
    agent = agent_factory(None)  # noqa: F811
    agent.configure(TLS, service_ca=CA, state_dir=state or "")
    if state is None:
        agent.config_path.write_text(json.dumps({key: value for key, value in json.loads(
            agent.config_path.read_text()).items() if key != "state_dir"}))
    done = agent.run("check")
    assert done.returncode == 3 and "survives a reboot," in done.stdout + done.stderr, done.stdout + done.stderr


def test_certificate_and_key_in_one_file(agent_factory):
    """What HAProxy reads."""
    agent = agent_factory(None)  # noqa: F811
    (agent.dir / "store").mkdir(mode=0o700)
    pem = {"name": "site.pem", "format": "template", "values": "raw", "template": "${service_certificate}${service_key}"}
    agent.configure({"name": "site", "certificate": {"dns_names": ["web.apps.svc"]},
                     "publish": {"directory": str(agent.out), "files": [pem]}},
                    service_ca={"store": str(agent.dir / "store")})
    done = agent.run("once")
    assert done.returncode == 0, done.stderr
    path = agent.out / "site.pem"
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)
