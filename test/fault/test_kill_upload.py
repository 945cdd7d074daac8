# SPDX-License-Identifier: MIT
"""SIGKILL at every system call of an upload of an issuer's documents: the store has whole documents, the key that signs is in
them at each point, the journal never claims an upload that is not there, and the next run completes it."""
import json
import shutil
import subprocess

import pytest

from faults import LocalCloud, injected, needs, plain_binary
from kills import calls_of, restore
from processes import OIDC

BUCKET = {"store": "s3", "name": "b", "public": True, "writers": ["arn:aws:iam::123456789012:role/demo"]}
JWKS, DISCOVERY = "s3/b/keys.json", "s3/b/.well-known/openid-configuration"


class Issuer:
    def __init__(self, directory, cloud):
        self.dir, self.cloud = directory, cloud
        self.url = cloud.sts.rstrip("/") + "/objects/s3/b"

    def argv(self, *words):
        return [OIDC, words[0], "-d", str(self.dir), *words[1:]]

    def run(self, *words):
        done = subprocess.run(self.argv(*words), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    def upload(self):
        return ["publish", "--to", "s3@eu-west-1:" + self.url, "--name", "aws", "-c", str(self.cloud.dir / "credfresh.yaml"),
                "--ca-file", self.cloud.ca]

    def journal(self):
        return json.loads((self.dir / "issuer.json").read_text())

    def store(self):
        return self.cloud.admin("/objects")

    def document(self, name):
        return (self.dir / "web" / name.partition("/b/")[2]).read_text()

    def kids(self):
        text = self.store().get(JWKS)
        return {key["kid"] for key in json.loads(text)["keys"]} if text else set()


@pytest.fixture
def issuer(tmp_path):
    cloud = LocalCloud(tmp_path / "cloud")
    cloud.admin("/service/objects", {"buckets": [BUCKET]})
    made = Issuer(tmp_path / "issuer", cloud)
    made.run("init", "--issuer", made.url, "--token-life", "1h", "--settle", "0s", "--key", "ecdsa-p256", "--jwks-path",
             "keys.json")
    yield made
    cloud.stop()


@plain_binary
@pytest.mark.parametrize("step", ["first", "rotation"])
def test_upload_killed_at_every_call(issuer, tmp_path, step):
    needs("strace")
    other = "nothing yet"
    if step == "rotation":
        issuer.run(*issuer.upload())
        issuer.run("rotate")
        other = issuer.store()[JWKS]
    signing = issuer.journal()["signing"]["kid"]
    wanted = " ".join(sorted(issuer.journal()[key]["kid"] for key in ("signing", "other") if key in issuer.journal()))
    base = tmp_path / "base"
    shutil.copytree(issuer.dir, base, symlinks=True)
    # The store is set back by what was there; before the first upload that is a key set without a document that leads to it.
    if step == "first":
        other = '{"keys":[]}'
        issuer.cloud.admin("/object", {"name": JWKS, "text": other})
    calls = calls_of(issuer.argv(*issuer.upload()), tmp_path / "log", str(issuer.dir / "issuer.json"))
    calls = calls or calls_of(issuer.argv(*issuer.upload()), tmp_path / "log", str(issuer.dir))
    killed, states = 0, set()
    for call, nth in calls:
        restore(issuer.dir, base)
        issuer.cloud.admin("/object", {"name": JWKS, "text": other})
        done = subprocess.run([*injected(call, nth, "signal=KILL"), *issuer.argv(*issuer.upload())], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode in (-9, 0), (call, nth, done.stderr)
        killed += done.returncode == -9
        there = issuer.store()[JWKS]
        assert there in (other, issuer.document(JWKS))
        assert step == "first" or signing in issuer.kids()
        claimed = issuer.journal().get("uploaded") == wanted
        assert not claimed or there == issuer.document(JWKS)
        state = (there == other, claimed, issuer.journal().get("store"))
        if state not in states:
            states.add(state)
            if step == "rotation" and not claimed:
                refused = subprocess.run(issuer.argv("rotate"), capture_output=True, text=True, timeout=60)
                assert refused.returncode == 6 and "credfresh-oidc publish" in refused.stderr
            issuer.run(*issuer.upload())
            assert issuer.journal()["uploaded"] == wanted
            assert {name: issuer.document(name) for name in (JWKS, DISCOVERY)} == issuer.store()
    assert killed >= len(calls) * 9 // 10 and killed > 10
    assert {(was_there, claimed) for was_there, claimed, _ in states} == {(True, False), (False, False), (False, True)}
