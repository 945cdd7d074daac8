# SPDX-License-Identifier: MIT
"""A loss of power at every point: what the disk may then hold is made by losses.py, and looked at as readers do, and by
the next run of the agent. Nothing partial, empty or mixed is ever seen, what consumers were told of is there, and no key is
forgotten."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from faults import (CREDFRESH, SANITIZED, Agent, LocalCloud, agent, agent_factory, as_root, cloud,  # noqa: F401
                    cloud_factory, eventually, needs, own_mounts, plain_binary, read_text)
from losses import Disk, flat, record, wrapper
from mint_kinds import Amazon
from minting import wait_complete
from targets import FILE, Directory, File, Profile
from test_kill_issuer import Issuer
from trust import Authority, shake_hands

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "libcredfresh/python"))
if not SANITIZED:
    import credfresh

pytestmark = plain_binary
IGNORED = ["agent.log"]
RESTARTS = 16
NOBODY = 65534


def explain(state, live):
    """What STATE lacks of what programs see."""
    return [f"{path}: {state.get(path)}, not {live.get(path)}"[:300]
            for path in sorted({*state, *live}) if state.get(path) != live.get(path)]


class Losses:
    """The states that a recorded run may leave."""

    def __init__(self, disk, log, moments=()):
        """MOMENTS are when something elsewhere changed what must be on the disk from then on."""
        self.disk = disk
        self.points = []  # (when, after which call, what programs see, what was seen elsewhere, states not looked at yet)
        self.known = set()
        moments = sorted(moments)
        call = "the beginning"
        for at, next_call in disk.replay(log):
            while moments and moments[0] < at:
                self.known.clear()
                self.add(moments.pop(0), call)
            call = next_call
            self.add(at, call)
        self.end = list(disk.states())
        assert disk.is_true()
        assert not disk.lost_secrets, f"removed before the zeros were on the disk: {disk.lost_secrets}"

    def add(self, at, call):
        seen = frozenset(self.disk.seen)
        new = []
        for state in self.disk.states():
            key = hash(frozenset(state.items())), seen
            if key not in self.known:
                self.known.add(key)
                new.append(state)
        self.points.append((at, call, flat(self.disk.top), seen, new))

    def look(self, reader):
        """Has READER(when, seen) look at each state; the last ones come with None for when."""
        self.disk.put_back(self.points[0][2])
        for at, call, live, seen, states in [*self.points, (None, "the end", self.points[-1][2], self.disk.seen, self.end)]:
            for state in states:
                self.disk.change_to(state)
                try:
                    reader(at, seen)
                except Exception as e:
                    raise AssertionError(f"after {call}, without: {explain(state, live)}") from e

    def each_kind(self):
        """Some of the states, those that differ most: one for each set of names, at most RESTARTS of them."""
        shapes = {}
        for _, _, _, _, states in self.points:
            for state in states:
                shapes.setdefault(frozenset((path.split(".credfresh-")[0], kind, len(content or ""), mode)
                                            for path, (kind, content, mode) in state.items()), state)
        found = list(shapes.values())
        return [found[i * len(found) // RESTARTS] for i in range(RESTARTS)] if len(found) > RESTARTS else found


def expire(agent):
    """Publishes what is expired when this returns."""
    agent.cloud.fault(kind="short_life", s=1, count=-1)  # of a second try, too
    done = agent.run("once")
    agent.cloud.clear_faults()
    assert done.returncode == 0, done.stderr
    expires = int(json.loads(read_text(agent.state / "demo.json"))["expires_ms"])
    eventually(lambda: time.time() * 1000 > expires, "the end of a short life")


def once(agent):
    return [CREDFRESH, "once", "-c", str(agent.config_path)]


def library_view(agent):
    """The key that libcredfresh's readers find in the directory, None where there is nothing."""
    if not agent.out.exists():
        return None
    with credfresh.Watcher(str(agent.out), poll_only=True) as watcher:
        watcher.dispatch()
        snapshot = watcher.snapshot()
    if snapshot is None:
        return None
    fields = json.loads(snapshot["creds.json"])["fields"]
    assert fields["token"].encode() == snapshot["token"] and fields["aws_access_key_id"].encode() in snapshot["credentials"]
    return fields["aws_access_key_id"]


def recorded(agent):
    """The number of the generation that the record names; 0 without a record."""
    text = read_text(agent.state / "demo.json")
    return int(json.loads(text)["generation"]) if (agent.state / "demo.json").exists() else 0


KINDS = pytest.mark.parametrize("kind", [Directory(), File(), Profile()], ids=lambda kind: type(kind).__name__.lower())
LATER = pytest.mark.parametrize("before", [0, 2], ids=["first", "later"])


@LATER
@KINDS
def test_what_is_published(agent, tmp_path, kind, before):
    published(agent, tmp_path, kind, before)


@as_root
@LATER
@KINDS
def test_what_a_child_publishes(cloud, tmp_path, kind, before):
    """In another user's directory, with that user's rights, who may not enter pytest's directories."""
    with tempfile.TemporaryDirectory(prefix="credfresh-test-") as scratch:
        os.chmod(scratch, 0o755)
        agent = Agent(pathlib.Path(scratch) / "agent", cloud)
        theirs = agent.dir / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        agent.out = theirs / "out"
        published(agent, tmp_path, kind, before, theirs)


def published(agent, tmp_path, kind, before, theirs=None):
    needs("strace")
    told = tmp_path / "told"
    hook = {"exec": ["/bin/touch", str(told)]}
    agent.configure(agent.credential(publish=kind.target(agent), reload=[hook]))
    if isinstance(kind, Profile):
        kind.prepare(agent)
        if theirs:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(theirs)], check=True)
    for _ in range(before):
        expire(agent)
    told.unlink(missing_ok=True)
    old = kind.view(agent)
    disk = Disk(agent.dir, IGNORED, [told])
    record(once(agent), tmp_path / "log", cwd=agent.dir)
    new = kind.view(agent)
    assert new not in (None, old)
    mode, owner = agent.out.stat().st_mode, agent.out.stat().st_uid
    losses = Losses(disk, tmp_path / "log")
    views = set()

    def look(at, seen):
        view = kind.view(agent)
        views.add(view)
        assert view in (old, new)
        assert view == new or at is not None and not seen, "the consumer was told of it"
        assert recorded(agent) <= before or view == new, "the record has what is not there"
        assert recorded(agent) >= before and (at is not None or recorded(agent) == before + 1)
        if isinstance(kind, Directory):
            assert library_view(agent) == view

    losses.look(look)
    assert views == {old, new} and told.exists()
    if theirs:
        assert owner == NOBODY
        return
    for state in losses.each_kind():
        disk.put_back(state)
        done = agent.run("once")
        assert done.returncode == 0, done.stderr
        assert kind.view(agent) not in (None, old) and agent.out.stat().st_mode == mode
        kind.clean(agent)


@pytest.mark.parametrize("target", ["directory", "file", "profile"])
def test_what_a_killed_run_left_is_on_the_disk_after_the_next(agent, tmp_path, target):
    """The next run finds published what it would publish, by one that was killed, and says so to the consumer."""
    needs("strace")
    path = agent.dir / "deep/er/out/file"
    agent.state = agent.dir / "other/state"
    token = agent.dir / "token"
    token.write_text(agent.cloud.token())
    over = {"token": {"file": str(token)}, "exchange": None}
    agent.configure(agent.credential(**{
        "directory": {**over, "publish": {"directory": str(path.parent), "files": [{"name": path.name, "format": "token"}]}},
        "file": {**over, "publish": {"file": {"path": str(path), "format": "token"}}},
        "profile": {"publish": {"profile": {"path": str(path), "name": "demo", "format": "aws-credentials"}}}}[target]))
    disk = Disk(agent.dir, IGNORED)
    base = flat(disk.top)
    record(once(agent), tmp_path / "log", cwd=agent.dir)
    points = [i for i, (_, call) in enumerate(disk.replay(tmp_path / "log")) if call.startswith(("rename", "mkdir"))]
    assert disk.is_true() and len(points) > 4
    for point in points:
        disk.put_back(base)
        disk = Disk(agent.dir, IGNORED)
        for i, (_, call) in enumerate(disk.replay(tmp_path / "log")):
            if i == point:
                break
        disk.put_back(flat(disk.top))
        record(once(agent), tmp_path / "next", cwd=agent.dir)
        for _ in disk.replay(tmp_path / "next"):
            pass
        assert disk.is_true()
        live, published = flat(disk.top), path.read_text()
        for state in disk.states():
            disk.put_back(state)
            assert read_text(path) == published and recorded(agent), (
                f"killed after {call}, without: {explain(state, live)}")


@as_root
def test_a_file_that_is_written_in_place(agent, tmp_path):
    """A mount point: readers may see a partial file, as is documented, but not once the consumer was told of it."""
    needs("strace")
    own_mounts()
    path = agent.out / "creds.json"
    told = tmp_path / "told"
    agent.out.mkdir()
    path.write_text("{}")
    subprocess.run(["mount", "--bind", str(path), str(path)], check=True)
    agent.configure(agent.credential(publish={"file": {"path": str(path), "in_place": True, **FILE}},
                                     reload=[{"exec": ["/bin/touch", str(told)]}]))
    disk = Disk(agent.dir, IGNORED, [told])
    record(once(agent), tmp_path / "log", cwd=agent.dir)
    new = File().view(agent)
    losses = Losses(disk, tmp_path / "log")
    subprocess.run(["umount", str(path)], check=True)

    def look(at, seen):
        if seen or at is None:
            assert File().view(agent) == new

    losses.look(look)
    assert told.exists() and new is not None


@pytest.mark.parametrize("first", [True, False], ids=["first", "next"])
def test_the_service_ca(agent_factory, tmp_path, first):  # noqa: F811
    """What is published is trusted by what is published, and comes from the CA in the store; a first CA that signed what
    consumers have is never followed by another first one."""
    needs("strace")
    authority = Authority(agent_factory(None)).configure()
    agent = authority.agent
    old = None
    if not first:
        authority.once()
        authority.configure(force={"reason": "why not"})
        old = authority.keep(tmp_path / "old")
    disk = Disk(agent.dir, IGNORED)
    record(once(agent), tmp_path / "log", cwd=agent.dir)
    losses = Losses(disk, tmp_path / "log")
    number = 1 if first else 2
    numbers = set()
    trusted = set()

    def trusts(bundle, certificate, key):
        """The same files need no second handshake."""
        texts = (bundle, read_text(certificate), read_text(key))
        if texts not in trusted:
            shake_hands(bundle, certificate, key)
            trusted.add(texts)

    def look(at, seen):
        held = authority.number()
        numbers.add(held)
        assert held == number or at is not None
        there = [(authority.trust / "ca.crt").exists(), (authority.tls / "tls.crt").exists()]
        if not first:
            assert held != 0 and all(there)
            trusts((old / "ca.crt").read_text(), *authority.published())
            trusts(authority.bundle(), old / "tls.crt", old / "tls.key")
        assert all(there) or at is not None
        if any(there):
            assert held != 0
        if all(there):
            trusts(authority.bundle(), *authority.published())

    losses.look(look)
    assert numbers == {number - 1, number}
    for state in losses.each_kind():
        disk.put_back(state)
        kept = {path: (path.read_text(), path.with_name("tls.crt"), path.with_name("tls.key"))
                for path in (authority.trust / "ca.crt", authority.tls / "ca.crt") if path.exists()}
        authority.once()
        authority.check()
        assert authority.number() == number
        for bundle, _, _ in kept.values():  # for every reader of it
            shake_hands(bundle, *authority.published())


@pytest.mark.parametrize("step", range(4), ids=["init", "publish", "switch", "retire"])
def test_the_issuer(tmp_path, step):
    """The key that signs is published, and the next run takes the step up where it was."""
    needs("strace", "openssl")
    issuer = Issuer(tmp_path / "dir/issuer")
    issuer.dir.parent.mkdir()
    for i in range(step):
        issuer.run(*(["rotate"] if i else issuer.init()))
        issuer.later()
    before = issuer.journal()
    words = ["rotate"] if step else issuer.init()
    after = Issuer.STEPS[step][1]
    disk = Disk(issuer.dir.parent)
    record(issuer.argv(*words), tmp_path / "log")
    losses = Losses(disk, tmp_path / "log")
    phases = set()

    def look(at, seen):
        phase = issuer.journal()["phase"]
        phases.add(phase)
        assert phase == after or at is not None
        assert issuer.signer() is None or issuer.signer() in issuer.published()
        assert issuer.signer() is None or phase != "none", "a key that the journal does not know"
        if step in (1, 2):
            assert before["signing"]["kid"] in issuer.published()

    losses.look(look)
    assert phases == {before["phase"], *Issuer.STEPS[step]}
    for state in losses.each_kind():
        disk.put_back(state)
        if issuer.journal()["phase"] != after:
            issuer.run(*words)
        assert issuer.journal()["phase"] == after and issuer.signer() in issuer.published()


class Rotation:
    """What the disk knows of a rotation. Only the published key and those that the journal names are known."""

    def __init__(self, agent):
        self.agent = agent
        self.directory = agent.kind.directory(agent)

    def journal(self):
        return json.loads((self.agent.state / "robot+mint.json").read_text())

    def pending(self):
        path = self.agent.state / "robot+mint.pending"
        return json.loads(path.read_text()) if path.exists() else None

    def published(self):
        fields = json.loads((self.directory / "creds.json").read_text())["fields"]
        text = (self.directory / "credentials").read_text()
        assert fields["aws_access_key_id"] in text and fields["aws_secret_access_key"] in text
        return fields["aws_access_key_id"]

    def knows(self, key):
        journal = self.journal()
        return journal["step"] in ("intent", "lost") and key not in journal["known"] or key in (
            journal["current"], journal["minted"], journal["old"], *(one["id"] for one in journal["aside"]))


def test_the_journal_of_a_rotation(tmp_path):
    """At each point the journal knows every key that the cloud holds at that time, has the secret of the new one until it is
    published, and what is published works."""
    needs("strace")
    cloud = LocalCloud(tmp_path / "cloud", config=Amazon.settings(1))  # noqa: F811
    agent = Agent(tmp_path / "agent", cloud)  # noqa: F811
    agent.kind = Amazon(0, "robot")
    agent.configure(*agent.kind.configured(agent, grace="1s", inactive="1s")).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    assert agent.stop() == 0
    rotation = Rotation(agent)
    first = rotation.published()
    cloud.admin("/stats/reset", {})
    disk = Disk(agent.dir, IGNORED)
    agent.start(wrapper=wrapper(tmp_path / "log"))
    agent.wait_state("fresh", "robot")
    assert agent.run("rotate", "robot", "--reason", "drill").returncode == 0
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    os.kill(int(read_text(agent.state / "lock")), signal.SIGTERM)
    assert agent.process.wait(20) == 0
    second = rotation.published()
    made, = [entry["t"] for entry in cloud.exchanges("CreateAccessKey")]
    gone = [entry["t"] for entry in cloud.exchanges("UpdateAccessKey") + cloud.exchanges("DeleteAccessKey")
            if entry["code"] == "OK"]
    cloud.stop()
    losses = Losses(disk, tmp_path / "log", [made, *gone])
    steps = set()

    def look(at, seen):
        steps.add(rotation.journal()["step"])
        at = at or time.time()
        assert rotation.knows(second) or at < made
        assert rotation.knows(first) or at >= max(gone)
        assert rotation.published() in ((first,) if at < made else (first, second) if at < min(gone) else (second,))
        if rotation.journal()["step"] in ("minted", "verified"):
            assert rotation.pending()["id"] == second and rotation.pending()["fields"]["aws_secret_access_key"]
        assert rotation.journal()["current"] == rotation.published() or rotation.journal()["step"] == "verified"

    losses.look(look)
    assert {"rest", "intent", "minted", "verified", "published", "retiring", "deleting"} <= steps


@pytest.mark.parametrize("old", ["", "7\n", "10000\n"])
def test_an_acknowledgement(tmp_path, old):
    """It names the generation or is what it was: one that is empty would acknowledge whatever is current."""
    needs("strace")
    path = tmp_path / "consumer/in-use"
    path.parent.mkdir()
    if old:
        path.write_text(old)
    disk = Disk(path.parent)
    record([sys.executable, "-c", "import credfresh, sys; credfresh.acknowledge(8, sys.argv[1])", str(path)],
           tmp_path / "log", env={**os.environ, "PYTHONPATH": str(pathlib.Path(credfresh.__file__).parent)})
    assert path.read_text() == "8\n"
    losses = Losses(disk, tmp_path / "log")
    seen_texts = set()

    def look(at, seen):
        seen_texts.add(read_text(path))
        assert path.exists() or not old
        assert not path.exists() or read_text(path) in (old or "8\n", "8\n")

    losses.look(look)
    assert seen_texts == {old, "8\n"}
