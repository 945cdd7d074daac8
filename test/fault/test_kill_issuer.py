# SPDX-License-Identifier: MIT
"""SIGKILL at every system call of each step of an issuer's rotation: the key that signs is published at each point, and the
next run takes the step up where it stood."""
import base64
import hashlib
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from faults import needs, plain_binary, read_text
from kills import calls_of, killed_at
from processes import OIDC


def steps_of_the_model():
    """(phase, the one that follows it), in the words of test/model/issuer.pml."""
    text = (pathlib.Path(__file__).resolve().parents[1] / "model/issuer.pml").read_text()
    found = set()
    for part in text.split("::"):
        step = re.search(r"^ *phase == (\w+)\b.*?\bphase = (\w+)", part, re.S)
        found |= {(step.group(1).lower(), step.group(2).lower())} if step else set()
    return found


class Issuer:
    """`credfresh-oidc`, and what the world sees of it."""

    STEPS = [("beginning", "steady"), ("publishing", "published"), ("switching", "switched"), ("retiring", "steady")]

    def __init__(self, directory):
        self.dir = directory
        self.kids = {}

    def argv(self, *words):
        return [OIDC, *words, "-d", str(self.dir)]

    def run(self, *words):
        done = subprocess.run(self.argv(*words), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def init(self):
        return ["init", "--issuer", "https://oidc.test/c", "--token-life", "1h", "--settle", "0s", "--signer-lag", "0s",
                "--key", "ecdsa-p256"]

    def journal(self):
        text = read_text(self.dir / "issuer.json")
        return json.loads(text) if text else {"phase": "none"}

    def later(self):
        """An hour and more goes by: what is left of the last step's time is over."""
        journal = self.journal()
        journal["since"] -= 10000
        (self.dir / "issuer.json").write_text(json.dumps(journal))

    def published(self):
        """The kids in the key set; none before there is one."""
        text = read_text(self.dir / "web/openid/v1/jwks")
        return {key["kid"] for key in json.loads(text)["keys"]} if text else set()

    def signer(self):
        """The kid of the key that signs, None before there is one."""
        pem = read_text(self.dir / "signing.key")
        if pem and pem not in self.kids:
            der = subprocess.run(["openssl", "pkey", "-pubout", "-outform", "DER"], input=pem.encode(), capture_output=True,
                                 check=True).stdout
            self.kids[pem] = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
        return self.kids.get(pem)


@plain_binary
@pytest.mark.parametrize("step", range(4), ids=["init", "publish", "switch", "retire"])
def test_issuer_killed_at_every_call(tmp_path, step):
    needs("strace", "openssl")
    issuer = Issuer(tmp_path / "issuer")
    for i in range(step):
        issuer.run(*(["rotate"] if i else issuer.init()))
        issuer.later()
    issuer.dir.mkdir(exist_ok=True)
    base = tmp_path / "base"
    shutil.copytree(issuer.dir, base, symlinks=True)
    before = issuer.journal()
    used = {before[key]["kid"] for key in ("signing", "other") if key in before and step < 3}
    words = ["rotate"] if step else issuer.init()
    calls = calls_of(issuer.argv(*words), tmp_path / "log", str(issuer.dir), network=False)
    intent, after = Issuer.STEPS[step]
    phases = set()

    def look():
        phases.add(issuer.journal()["phase"])
        assert issuer.signer() is None or issuer.signer() in issuer.published()
        # Whatever signed before, and so is in tokens, is still published; but for the step that ends it.
        if step in (1, 2):
            assert before["signing"]["kid"] in issuer.published()
        if step == 2:
            assert used <= issuer.published()

    def recover():
        if issuer.journal()["phase"] != after:
            issuer.run(*words)
        assert issuer.journal()["phase"] == after
        look()
        assert len(issuer.published()) == (2 if step in (1, 2) else 1)

    killed_at(calls, issuer.argv(*words), issuer.dir, base, look, recover)
    assert phases == {before["phase"], intent, after}
    assert {(intent, after)} | ({(before["phase"], intent)} if step else set()) <= steps_of_the_model()


@plain_binary
@pytest.mark.parametrize("step", range(4), ids=["init", "publish", "confirm", "retire"])
def test_a_cluster_that_keeps_its_keys_killed_at_every_call(tmp_path, step):
    """The same where the cluster switches: what signs there is published at each point, and nothing private is written."""
    needs("strace", "openssl")
    issuer = Issuer(tmp_path / "issuer")
    keys = []
    for name in ("first", "second"):
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(tmp_path / name)], check=True,
                       capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", str(tmp_path / name), "-pubout", "-out", str(tmp_path / (name + ".pub"))],
                       check=True)
        keys.append(str(tmp_path / (name + ".pub")))
    words = [["init", "--issuer", "https://oidc.test/c", "--token-life", "1h", "--settle", "0s", "--public-key", keys[0]],
             ["rotate", "--public-key", keys[1]], ["rotate", "--confirm"], ["rotate"]]
    for earlier in words[:step]:
        issuer.run(*earlier)
    if step == 3:
        journal = issuer.journal()
        journal.update(since=journal["since"] - 10000, confirmed=journal["confirmed"] - 10000)
        (issuer.dir / "issuer.json").write_text(json.dumps(journal))
    issuer.dir.mkdir(exist_ok=True)
    base = tmp_path / "base"
    shutil.copytree(issuer.dir, base, symlinks=True)
    before = issuer.journal()
    after = ["steady", "published", "switched", "steady"][step]
    calls = calls_of(issuer.argv(*words[step]), tmp_path / "log", str(issuer.dir), network=False)

    def look():
        # Up to the confirmation either key may sign; after it the new one does, and the old one's tokens live on.
        assert "PRIVATE" not in (read_text(issuer.dir / "issuer.json") or "") and not (issuer.dir / "signing.key").exists()
        used = {before[key]["kid"] for key in ("signing", "other")[:1 if step == 3 else 2] if key in before}
        assert used <= issuer.published()

    def recover():
        if issuer.journal()["phase"] != after:
            issuer.run(*words[step if step == 0 or issuer.journal()["phase"] == before["phase"] else 3])
        assert issuer.journal()["phase"] == after
        look()
        assert len(issuer.published()) == (2 if step in (1, 2) else 1)

    killed_at(calls, issuer.argv(*words[step]), issuer.dir, base, look, recover)
