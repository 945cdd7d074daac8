# SPDX-License-Identifier: MIT
"""`credfresh-oidc`: an issuer's documents, and the rotation of its key as an administrator does it."""
import base64
import fcntl
import hashlib
import json
import pathlib
import re
import subprocess

import pytest

from conftest import OIDC

URL = "https://oidc.example.net/cluster"
HOUR = 3600


class Issuer:
    def __init__(self, directory):
        self.dir = directory
        self.web = directory / "web"

    def run(self, *words):
        return subprocess.run([OIDC, words[0], "-d", str(self.dir), *words[1:]], capture_output=True,
                              text=True, timeout=60)

    def good(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *words):
        done = self.run(*words)
        assert done.returncode == 6 and done.stdout == "", done
        return done.stderr

    def init(self, *words):
        return self.good("init", "--issuer", URL, "--token-life", "24h", *words)

    def status(self):
        return json.loads(self.good("status", "--json"))

    def keys(self):
        return {key["kid"]: key for key in json.loads((self.web / "openid/v1/jwks").read_text())["keys"]}

    def pass_time(self, seconds):
        """As if the journal's last entry were older."""
        path = self.dir / "issuer.json"
        journal = json.loads(path.read_text())
        for key in ("since", "confirmed", "uploaded_at"):
            if journal.get(key):
                journal[key] -= seconds
        path.write_text(json.dumps(journal))

    def files(self):
        return {path: (path.stat().st_ino, path.read_bytes()) for path in self.dir.rglob("*")
                if path.is_file() and path.name != "lock"}


@pytest.fixture
def issuer(tmp_path):
    return Issuer(tmp_path / "issuer")


def spki(pem):
    return subprocess.run(["openssl", "pkey", "-pubout", "-outform", "DER"], input=pem, capture_output=True,
                          check=True).stdout


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_the_documents(issuer):
    issuer.init()
    key = (issuer.dir / "signing.key").read_bytes()
    kid = b64(hashlib.sha256(spki(key)).digest())
    (published,) = issuer.keys().values()
    said = subprocess.run(["openssl", "rsa", "-noout", "-modulus"], input=key, capture_output=True, check=True).stdout
    modulus = bytes.fromhex(re.search("Modulus=([0-9A-F]+)", said.decode()).group(1))
    assert published == {"use": "sig", "kty": "RSA", "kid": kid, "alg": "RS256", "n": b64(modulus), "e": "AQAB"}
    assert json.loads((issuer.web / ".well-known/openid-configuration").read_text()) == {
        "issuer": URL, "jwks_uri": URL + "/openid/v1/jwks", "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"]}
    modes = {name: oct((issuer.dir / name).stat().st_mode & 0o777)
             for name in (".", "issuer.json", "signing.key", "signing.pub", "web/openid/v1/jwks")}
    assert modes == {".": "0o700", "issuer.json": "0o600", "signing.key": "0o600", "signing.pub": "0o644",
                     "web/openid/v1/jwks": "0o644"}
    public = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], capture_output=True, check=True,
                            input=(issuer.dir / "signing.pub").read_bytes()).stdout
    assert spki(key) == public


@pytest.mark.parametrize("kind, algorithm", [("ecdsa-p256", "ES256"), ("ecdsa-p384", "ES384"), ("rsa-4096", "RS256")])
def test_kinds_of_keys(issuer, kind, algorithm):
    issuer.init("--key", kind, "--web-root", str(issuer.dir.parent / "www"))
    issuer.web = issuer.dir.parent / "www"
    ((kid, published),) = issuer.keys().items()
    assert published["alg"] == algorithm
    assert kid == b64(hashlib.sha256(spki((issuer.dir / "signing.key").read_bytes())).digest())


def test_a_rotation_in_the_safe_order(issuer):
    issuer.init()
    first = issuer.status()["signing"]
    issuer.good("rotate")
    assert issuer.status()["phase"] == "published" and issuer.status()["signing"] == first
    next_kid = issuer.status()["other"]
    assert set(issuer.keys()) == {first, next_kid}
    assert (issuer.dir / "signing.pub").read_text().count("BEGIN PUBLIC KEY") == 2
    assert "too recently" in issuer.refused("rotate")
    assert "nothing to confirm" in issuer.refused("rotate", "--confirm")
    issuer.pass_time(HOUR)
    both = (issuer.web / "openid/v1/jwks").read_bytes()
    issuer.good("rotate")
    assert issuer.status()["signing"] == next_kid
    assert b64(hashlib.sha256(spki((issuer.dir / "signing.key").read_bytes())).digest()) == next_kid
    assert (issuer.web / "openid/v1/jwks").read_bytes() == both
    issuer.pass_time(100 * HOUR)
    assert "--confirm" in issuer.refused("rotate")  # whatever the time
    issuer.good("rotate", "--confirm")
    assert "may be in use until" in issuer.refused("rotate")
    issuer.pass_time(24 * HOUR)
    assert "may be in use until" in issuer.refused("rotate")  # clocks differ
    issuer.pass_time(HOUR // 12)
    issuer.good("rotate")
    status = issuer.status()
    assert (status["phase"], status["signing"], status["other"], status["rotations"]) == ("steady", next_kid, None, 1)
    assert set(issuer.keys()) == {next_kid}
    assert first not in (issuer.dir / "issuer.json").read_text()


def test_a_timer_that_only_continues(issuer):
    """--continue begins nothing, does what is due, and is content where nothing is."""
    issuer.init("--settle", "10m", "--signer-lag", "30s")
    before = issuer.files()
    assert "nothing to do" in issuer.good("rotate", "--continue")
    assert issuer.files() == before
    issuer.good("rotate")
    for seconds, phase in ((0, "published"), (600, "switched"), (0, "switched"), (25 * HOUR, "steady"), (0, "steady")):
        issuer.pass_time(seconds)
        issuer.good("rotate", "--continue")
        assert issuer.status()["phase"] == phase


def test_files_that_were_lost_or_changed_are_put_back(issuer):
    issuer.init()
    before = {path: content for path, (_, content) in issuer.files().items()}
    (issuer.web / "openid/v1/jwks").unlink()
    (issuer.dir / "signing.key").write_text("not a key")
    assert "restored" in issuer.run("rotate", "--continue").stderr
    assert issuer.run("rotate", "--continue").stderr == ""
    assert {path: content for path, (_, content) in issuer.files().items()} == before


@pytest.mark.parametrize("name", ["web/openid/v1/jwks", "web/.well-known/openid-configuration", "signing.pub"])
@pytest.mark.parametrize("how", ["overwritten", "unreadable", "removed"])
def test_no_switch_to_a_key_that_was_just_put_back(issuer, name, how):
    """As by a deployment of the web root: verifiers have read what was there, so the time is counted again."""
    issuer.init("--key", "ecdsa-p256")
    path = issuer.dir / name
    old = path.read_bytes()
    issuer.good("rotate")
    before = issuer.status()
    issuer.pass_time(HOUR)
    if how == "overwritten":
        path.write_bytes(old + b"\n")
    elif how == "unreadable":
        path.chmod(0o600)
    else:
        path.unlink()
    done = issuer.run("rotate", "--continue")
    assert done.returncode == 0 and "restored" in done.stderr
    assert {key: issuer.status()[key] for key in ("phase", "signing", "other")} == {
        "phase": "published", "signing": before["signing"], "other": before["other"]}
    assert set(issuer.keys()) == {before["signing"], before["other"]}
    issuer.pass_time(HOUR - 60)
    assert "too recently" in issuer.refused("rotate")
    issuer.pass_time(60)
    issuer.good("rotate", "--continue")
    assert issuer.status()["signing"] == before["other"]


def test_a_loss_is_stored_before_the_documents_are_put_back(issuer):
    """A run that cannot put them back, or is killed, leaves nothing that the next one could take for published."""
    issuer.init("--key", "ecdsa-p256")
    issuer.good("rotate")
    issuer.pass_time(HOUR)
    jwks = issuer.web / "openid/v1/jwks"
    jwks.unlink()
    jwks.mkdir()
    assert issuer.run("rotate").returncode == 1
    assert issuer.status()["phase"] == "publishing"
    jwks.rmdir()
    issuer.good("rotate")
    assert issuer.status()["phase"] == "published"
    assert "too recently" in issuer.refused("rotate")


def test_a_lost_journal_replaces_no_live_key(issuer):
    """The key that signs is in tokens, even if the state forgot it; init with that very key takes it over."""
    www = ["--web-root", str(issuer.dir.parent / "www"), "--key", "ecdsa-p256"]
    issuer.web = issuer.dir.parent / "www"
    issuer.init(*www)
    kid = issuer.status()["signing"]
    (issuer.dir / "issuer.json").unlink()
    live = issuer.files()
    key = issuer.dir / "signing.key"
    for there in ("both", "signing.key alone"):
        said = issuer.refused("init", "--issuer", URL, "--token-life", "24h", *www)
        assert kid in said and "--replace" in said and issuer.files() == live
        assert not (issuer.dir / "issuer.json").exists()
        if there == "both":
            assert "www/openid/v1/jwks" in said
            jwks = (issuer.web / "openid/v1/jwks").read_bytes()
            (issuer.web / "openid/v1/jwks").unlink()
    assert "signing.key" in said
    (issuer.web / "openid/v1/jwks").write_bytes(jwks)
    issuer.init(*www[:2], "--signing-key", str(key))
    assert issuer.status()["signing"] == kid and (issuer.web / "openid/v1/jwks").read_bytes() == jwks
    (issuer.dir / "issuer.json").unlink()
    issuer.init(*www, "--replace")
    assert issuer.status()["signing"] != kid and set(issuer.keys()) == {issuer.status()["signing"]}


@pytest.mark.parametrize("words", [["rotate"], ["rotate", "--continue"], ["rotate", "--confirm"],
                                   ["publish", "--to", "gcs:https://127.0.0.1:1/b", "--name", "a", "-c", "/nonexistent"]])
def test_a_journal_that_was_set_back_replaces_no_live_key(issuer, words):
    """As from an old backup: the next key is published, or signs already, and the journal has only the first."""
    issuer.init("--key", "ecdsa-p256", "--settle", "0s")
    old = (issuer.dir / "issuer.json").read_bytes()
    issuer.good("rotate")
    other = issuer.status()["other"]
    for switched in (False, True):
        if switched:
            issuer.good("rotate")
        now = (issuer.dir / "issuer.json").read_bytes()
        (issuer.dir / "issuer.json").write_bytes(old)
        live = issuer.files()
        assert other in issuer.refused(*words) and issuer.files() == live
        (issuer.dir / "issuer.json").write_bytes(now)
    (issuer.dir / "issuer.json").write_bytes(old)
    if words[0] == "rotate":
        issuer.run(*words, "--replace")
        assert other not in issuer.keys()


def test_the_key_that_is_being_retired_is_no_stranger(issuer):
    """The step was interrupted before any file was written."""
    issuer.init("--key", "ecdsa-p256", "--settle", "0s", "--signer-lag", "0s")
    issuer.good("rotate")
    issuer.good("rotate")
    journal = json.loads((issuer.dir / "issuer.json").read_text())
    (issuer.dir / "issuer.json").write_text(json.dumps({**journal, "phase": "retiring"}))
    assert len(issuer.keys()) == 2
    issuer.good("rotate", "--continue")
    assert len(issuer.keys()) == 1 and issuer.status()["phase"] == "steady"


def test_a_web_root_of_a_running_cluster_is_taken_over(issuer, tmp_path):
    """Its key set has the key that is given, and no other."""
    for half in ("private", "public"):
        one = Issuer(tmp_path / half)
        one.web = tmp_path / (half + "-www")
        one.web.mkdir()
        key = ["--signing-key", str(KEY)] if half == "private" else ["--public-key", str(public_half(KEY, tmp_path / "pub"))]
        where = ["--web-root", str(one.web), "--jwks-path", "keys.json"]
        (one.web / "keys.json").write_bytes((CCOCTL / "keys.json").read_bytes())
        assert "--replace" in one.refused("init", "--issuer", URL, "--token-life", "1h", *where)
        one.init(*where, *key)
        assert json.loads((one.web / "keys.json").read_text()) == json.loads((CCOCTL / "keys.json").read_text())


def test_an_init_that_failed_is_begun_again(issuer):
    """With what is wanted now, and with its key, which may stand somewhere already."""
    kind = ["--key", "ecdsa-p256"]
    (issuer.dir.parent / "file").touch()
    nowhere = str(issuer.dir.parent / "file/web")
    done = issuer.run("init", "--issuer", URL + "x", "--token-life", "1h", "--web-root", nowhere, *kind)
    assert done.returncode == 1 and "Not a directory" in done.stderr
    kid = issuer.status()["signing"]
    issuer.init(*kind)
    assert set(issuer.keys()) == {kid} and issuer.status()["issuer"] == URL
    assert json.loads((issuer.dir / "issuer.json").read_text())["token_life"] == 24 * HOUR


def test_what_nobody_can_have_followed_is_not_confirmed(issuer):
    """The signer's file was written by this very command, because the switch was interrupted."""
    issuer.init("--key", "ecdsa-p256", "--settle", "0s")
    issuer.good("rotate")
    journal = json.loads((issuer.dir / "issuer.json").read_text())
    journal.update(phase="switching", signing=journal["other"], other=journal["signing"])
    (issuer.dir / "issuer.json").write_text(json.dumps(journal))
    assert "just now" in issuer.refused("rotate", "--confirm")
    assert (issuer.status()["phase"], issuer.status()["confirmed"]) == ("switched", False)
    (issuer.dir / "signing.key").unlink()
    assert "just now" in issuer.refused("rotate", "--confirm")
    issuer.good("rotate", "--confirm")
    assert issuer.status()["confirmed"] is True


def test_a_life_that_was_raised_counts(issuer):
    """By hand in the journal, as the page says."""
    issuer.init("--key", "ecdsa-p256", "--settle", "0s", "--signer-lag", "0s")
    issuer.good("rotate")
    issuer.good("rotate")
    journal = json.loads((issuer.dir / "issuer.json").read_text())
    (issuer.dir / "issuer.json").write_text(json.dumps({**journal, "token_life": 48 * HOUR}))
    issuer.pass_time(25 * HOUR)
    assert "may be in use until" in issuer.refused("rotate")
    issuer.pass_time(24 * HOUR)
    issuer.good("rotate")


def test_somebody_elses_directory_is_left_alone(issuer):
    issuer.dir.mkdir()
    (issuer.dir / "theirs").touch()
    for words in (["status"], ["rotate"]):
        assert "holds no issuer" in issuer.run(*words).stderr
    assert [path.name for path in issuer.dir.iterdir()] == ["theirs"]


def test_what_cannot_be(issuer):
    usage = [(["init"], "--issuer"), (["init", "--issuer", URL], "--token-life"),
             (["init", "--issuer", "http://a", "--token-life", "1h"], "https"),
             (["init", "--issuer", URL + "/", "--token-life", "1h"], "slash"),
             (["init", "--issuer", URL, "--token-life", "long"], "duration"),
             (["init", "--issuer", URL, "--token-life", "0s"], "longer than 0s"),
             (["init", "--issuer", URL, "--token-life", "1h", "--key", "dsa"], "no such kind"),
             (["init", "--issuer", URL, "--token-life", "1h", "--web-root", "www"], "absolute"),
             (["init", "--issuer", URL, "--token-life", "1h", "--web-root", str(issuer.dir) + "/"], "signing key"),
             (["init", "--issuer", URL, "--token-life", "1h", "--web-root", str(issuer.dir.parent)], "signing key"),
             (["init", "--issuer", URL, "--token-life", "1h", "--web-root", "/"], "signing key"),
             (["rotate", "--issuer", URL], 'unknown option "--issuer" of rotate'), (["rotate", "--confirm", "--continue"], "give one"),
             (["rotate", "--public-key", "x", "--confirm"], "leave out --confirm"),
             (["status", "--confirm"], 'unknown option "--confirm" of status'), (["destroy"], 'unknown command "destroy"')]
    for words, says in usage:
        done = issuer.run(*words)
        assert done.returncode == 2 and says in done.stderr, (words, done)
    for words in (["status"], ["rotate"]):
        done = issuer.run(*words)
        assert done.returncode == 1 and "holds no issuer" in done.stderr
    assert not issuer.dir.exists()
    issuer.init()
    assert "already" in issuer.refused("init", "--issuer", URL, "--token-life", "24h")
    (issuer.dir / "issuer.json").write_text("{}")
    done = issuer.run("rotate")
    assert done.returncode == 1 and "issuer.json" in done.stderr


def test_one_at_a_time(issuer):
    issuer.init()
    with open(issuer.dir / "lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "in use by another credfresh" in issuer.refused("rotate")
    issuer.good("rotate")


# ---- a running cluster ----

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
CCOCTL = DATA / "openshift/ccoctl"
KEY = DATA / "jwt/rsa-traditional.pem"  # PKCS#1, as ccoctl writes serviceaccount-signer.private


def public_half(path, to):
    done = subprocess.run(["openssl", "pkey", "-pubout", "-in", str(path), "-out", str(to)], capture_output=True)
    assert done.returncode == 0, done.stderr
    return to


def make_public(tmp_path, name):
    subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out",
                    str(tmp_path / (name + ".key"))], check=True, capture_output=True)
    return public_half(tmp_path / (name + ".key"), tmp_path / (name + ".pub"))


@pytest.mark.parametrize("half", ["private", "public"])
@pytest.mark.parametrize("cloud, words", [("aws", ["--jwks-path", "keys.json", "--claims-supported"]),
                                          ("gcp", ["--jwks-path", "keys.json", "--claims-supported"]), ("azure", [])])
def test_the_documents_of_ccoctl(issuer, tmp_path, cloud, words, half):
    """Equal as JSON, with the order of the members, for the key of a running cluster or its public half."""
    expected = (CCOCTL / (cloud + "-openid-configuration")).read_text()
    keys = (CCOCTL / "keys.json").read_text()
    url = json.loads(expected)["issuer"]
    key = ["--signing-key", str(KEY)] if half == "private" else ["--public-key",
                                                                 str(public_half(KEY, tmp_path / "signer.public"))]
    issuer.good("init", "--issuer", url, "--token-life", "24h", *words, *key)
    path = json.loads(expected)["jwks_uri"].removeprefix(url + "/")
    pairs = {"object_pairs_hook": list}
    assert json.loads((issuer.web / ".well-known/openid-configuration").read_text(), **pairs) == json.loads(expected, **pairs)
    assert json.loads((issuer.web / path).read_text(), **pairs) == json.loads(keys, **pairs)
    assert (issuer.dir / "signing.key").exists() == (half == "private")
    if half == "private":
        assert spki((issuer.dir / "signing.key").read_bytes()) == spki(KEY.read_bytes())


def test_imported_keys_of_every_form(issuer, tmp_path):
    """PKCS#1, PKCS#8 and SEC 1; later keys are like the first."""
    for n, (name, kind) in enumerate([("rsa-traditional.pem", "rsa-2048"), ("rsa.pem", "rsa-2048"),
                                      ("p256-sec1.pem", "ecdsa-p256"), ("p384.pem", "ecdsa-p384")]):
        one = Issuer(tmp_path / str(n))
        one.init("--signing-key", str(DATA / "jwt" / name))
        assert spki((one.dir / "signing.key").read_bytes()) == spki((DATA / "jwt" / name).read_bytes())
        assert json.loads((one.dir / "issuer.json").read_text())["key"] == kind
        one.good("rotate")
        assert len(one.keys()) == 2


def test_keys_that_are_not_imported(issuer, tmp_path):
    two = tmp_path / "two.pem"
    two.write_bytes(KEY.read_bytes() * 2)
    public = public_half(KEY, tmp_path / "public")
    cases = [("--signing-key", tmp_path / "none", "No such file"), ("--signing-key", DATA / "jwt/encrypted.pem", "encrypted"),
             ("--signing-key", DATA / "jwt/rsa1024.pem", "1024 bits"), ("--signing-key", DATA / "jwt/rsa-pss.pem", "PSS"),
             ("--signing-key", DATA / "jwt/ed25519.pem", "ED25519"), ("--signing-key", two, "2 keys"),
             ("--signing-key", public, "--public-key"), ("--public-key", KEY, "--signing-key"),
             ("--signing-key", CCOCTL / "keys.json", "no key in PEM")]
    for option, path, says in cases:
        done = issuer.run("init", "--issuer", URL, "--token-life", "1h", option, str(path))
        assert done.returncode == 1 and says in done.stderr, (path, done)
        assert not (issuer.dir / "signing.key").exists()
    for words, says in [(["--public-key", str(public), "--key", "rsa-4096"], "leave out"),
                        (["--public-key", str(public), "--certificates"], "leave out"),
                        (["--public-key", str(public), "--signing-key", str(KEY)], "one of"),
                        (["--jwks-path", "/keys.json"], "relative"), (["--jwks-path", "a/../keys.json"], "relative"),
                        (["--jwks-path", ".well-known/openid-configuration"], "relative")]:
        done = issuer.run("init", "--issuer", URL, "--token-life", "1h", *words)
        assert done.returncode == 2 and says in done.stderr, (words, done)


def test_a_clock_that_is_behind_or_was_ahead(issuer):
    """Neither shortens a wait; what a clock ahead of time has recorded is not waited for for years."""
    issuer.init("--key", "ecdsa-p256", "--settle", "10m")
    issuer.pass_time(-HOUR)  # as if the clock had been set back since
    before = issuer.files()
    for words in [], ["--continue"]:
        assert "set the clock right" in issuer.refused("rotate", *words)
    assert "set the clock right" in issuer.good("status")
    assert issuer.files() == before
    issuer.pass_time(HOUR)
    issuer.good("rotate")
    issuer.pass_time(-3 * 8760 * HOUR)
    assert "--recount" in issuer.refused("rotate", "--continue")
    assert "both keys are published" in issuer.good("rotate", "--recount")
    assert "nothing to count again" in issuer.refused("rotate", "--recount")
    assert "too recently" in issuer.refused("rotate")
    issuer.pass_time(600)
    issuer.good("rotate")
    issuer.good("rotate", "--confirm")
    issuer.pass_time(-3 * 8760 * HOUR)
    assert "--recount" in issuer.refused("rotate", "--confirm")
    issuer.good("rotate", "--recount")
    assert "may be in use until" in issuer.refused("rotate")
    issuer.pass_time(25 * HOUR)
    issuer.good("rotate")
    assert issuer.status()["phase"] == "steady"
    assert issuer.run("rotate", "--recount", "--confirm").returncode == 2


def test_a_cluster_that_keeps_its_keys(issuer, tmp_path):
    """Publish, wait, retire: the switch is the cluster's, and nothing private is ever here."""
    first, second = make_public(tmp_path, "first"), make_public(tmp_path, "second")
    issuer.init("--public-key", str(first), "--settle", "10m")
    one = issuer.status()["signing"]
    assert one == b64(hashlib.sha256(spki((tmp_path / "first.key").read_bytes())).digest())
    assert "--public-key" in issuer.refused("rotate")
    assert "signs already" in issuer.refused("rotate", "--public-key", str(first))
    assert "let the cluster sign" in issuer.good("rotate", "--public-key", str(second))
    two = issuer.status()["other"]
    assert set(issuer.keys()) == {one, two}
    both = (issuer.web / "openid/v1/jwks").read_bytes()
    assert "too recently" in issuer.refused("rotate")
    assert "in progress" in issuer.refused("rotate", "--public-key", str(first))
    issuer.pass_time(600)
    assert "make it sign with the new one" in issuer.refused("rotate")
    issuer.good("rotate", "--continue")
    assert issuer.status()["phase"] == "published"
    issuer.good("rotate", "--confirm")
    status = issuer.status()
    assert (status["phase"], status["signing"], status["other"], status["confirmed"]) == ("switched", two, one, True)
    assert (issuer.web / "openid/v1/jwks").read_bytes() == both
    assert "may be in use until" in issuer.refused("rotate")
    issuer.pass_time(25 * HOUR)
    issuer.good("rotate", "--continue")
    assert set(issuer.keys()) == {two} and issuer.status()["phase"] == "steady"
    assert "PRIVATE" not in (issuer.dir / "issuer.json").read_text() and not (issuer.dir / "signing.key").exists()


def test_a_cluster_that_made_another_key_after_an_interruption(issuer, tmp_path):
    """The interrupted step is completed; the key that it was not about is never taken for published."""
    first, second, third = (make_public(tmp_path, name) for name in ("first", "second", "third"))
    issuer.init("--public-key", str(first), "--settle", "0s")
    issuer.good("rotate", "--public-key", str(second))
    two = issuer.status()["other"]
    path = issuer.dir / "issuer.json"
    for key, refused in (third, True), (second, False):
        path.write_text(json.dumps({**json.loads(path.read_text()), "phase": "publishing"}))
        if refused:
            assert two in issuer.refused("rotate", "--public-key", str(key))
        else:
            issuer.good("rotate", "--public-key", str(key))
        assert (issuer.status()["phase"], issuer.status()["other"]) == ("published", two)
    issuer.good("rotate", "--confirm")
    issuer.pass_time(25 * HOUR)
    path.write_text(json.dumps({**json.loads(path.read_text()), "phase": "retiring"}))
    issuer.good("rotate", "--public-key", str(third))  # the end of one rotation, and the beginning of this one
    assert issuer.status()["phase"] == "published" and set(issuer.keys()) == {two, issuer.status()["other"]}


def test_a_cluster_that_switched_too_early(issuer, tmp_path):
    """As OpenShift does when its key is deleted: that is a fact, which is warned of and counted."""
    issuer.init("--public-key", str(make_public(tmp_path, "first")))
    issuer.good("rotate", "--public-key", str(make_public(tmp_path, "second")))
    done = issuer.run("rotate", "--confirm")
    assert done.returncode == 0 and "earlier than" in done.stderr
    assert issuer.status()["phase"] == "switched"


def test_only_an_own_issuer_makes_keys(issuer, tmp_path):
    issuer.init("--key", "ecdsa-p256")
    done = issuer.run("rotate", "--public-key", str(make_public(tmp_path, "next")))
    assert done.returncode == 2 and "makes its next key itself" in done.stderr


def test_certificates_for_ceph(issuer, tmp_path):
    """x5c: a self-signed certificate of the very key, which OpenSSL verifies, and which stays the same."""
    issuer.init("--certificates", "--settle", "0s", "--signing-key", str(KEY))
    (before,) = issuer.keys().values()
    (text,) = before["x5c"]
    (tmp_path / "cert.der").write_bytes(base64.b64decode(text, validate=True))
    shown = subprocess.run(["openssl", "x509", "-inform", "DER", "-in", str(tmp_path / "cert.der"), "-noout",
                            "-pubkey"], capture_output=True, check=True).stdout
    public = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=shown, capture_output=True,
                            check=True).stdout
    assert public == spki(KEY.read_bytes())
    subprocess.run(["openssl", "x509", "-inform", "DER", "-in", str(tmp_path / "cert.der"), "-out",
                    str(tmp_path / "cert.pem")], check=True)
    subprocess.run(["openssl", "verify", "-CAfile", str(tmp_path / "cert.pem"), str(tmp_path / "cert.pem")], check=True,
                   capture_output=True)
    issuer.good("rotate")
    keys = issuer.keys()
    assert len(keys) == 2 and keys[before["kid"]] == before and all(len(key["x5c"]) == 1 for key in keys.values())
