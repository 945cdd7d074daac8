# SPDX-License-Identifier: MIT
"""`credfresh doctor`: each finding, provoked and reported with its location and its remedy."""
import base64
import contextlib
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import threading
import time
from email.utils import formatdate

import pytest

import shifted_clock
from conftest import AS_NOBODY, CREDFRESH, ROLE, eventually, let_others_in, needs_namespace
from shifted_clock import ShiftedClock

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/doctor.md"
SANITIZED = b"__asan_init" in open(CREDFRESH, "rb").read()
ISSUER_ROLE = "arn:aws:iam::123456789012:oidc-provider/"


class Report:
    def __init__(self, done):
        assert done.returncode in (0, 1), done.stderr
        self.status = done.returncode
        self.doc = json.loads(done.stdout)
        self.text = done.stdout
        self.findings = self.doc["findings"]
        wrong = [f for f in self.findings if f["level"] == "wrong"]
        assert self.status == (1 if wrong else 0) and self.doc["summary"]["wrong"] == len(wrong)
        documented = DOCS.read_text()
        for finding in self.findings:
            assert f"`{finding['check']}`" in documented, f"docs/doctor.md does not tell of {finding['check']}"

    def all(self, check, level=None):
        return [f for f in self.findings if f["check"] == check and level in (None, f["level"])]

    def one(self, check, level, *words):
        """The finding of this check and level that has all WORDS in it."""
        hits = [f for f in self.all(check, level) if all(word in f["text"] for word in words)]
        assert hits, f"no {level} {check} with {words} in:\n" + json.dumps(self.findings, indent=1)
        return hits[0]

    def wrong(self):
        return sorted({f["check"] for f in self.findings if f["level"] == "wrong"})


def doctor(agent, *argv, **how):
    wrapper = how.pop("wrapper", ())
    env = {**os.environ, **how.pop("env", {})}
    done = subprocess.run([*wrapper, CREDFRESH, "doctor", "-c", str(agent.config_path), "--json", *argv], text=True,
                          capture_output=True, timeout=60, env=env, cwd=agent.dir)
    return Report(done)


@pytest.fixture
def sick(agent_factory, shared_cloud):
    return agent_factory(shared_cloud).configure()


def aws(agent, **over):
    """The exchange of the harness with other settings."""
    return {"aws": {**agent.credential()["exchange"]["aws"], **over}}


def token_file(agent, **how):
    path = agent.dir / "token"
    path.write_text(agent.cloud.token(**how))
    return {"file": str(path)}


def token_only(agent, **over):
    """Nothing to exchange, so nothing of the cloud's directory to read."""
    publish = {"directory": str(agent.out), "files": [{"name": "token", "format": "token"}]}
    return agent.credential(**{"exchange": None, "publish": publish, **over})


def test_a_terminal_is_safe_from_a_token(sick):
    """What a token, a name or a file says in control characters, or in bytes that are no text, is not obeyed."""
    def part(content):
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    now = int(time.time())
    # Also of format, for private use, and none at all; each as it is and as JSON escapes it.
    unseen = "\u061c\u00ad\u180e\ufff9\ufffe\uffff\ufdd0\ue000\U0001d173\U000e0001\U000e0041\U0010ffff\u202e\u2028"
    evil = b"a\\u001b[31m\\n  ok\\u009b2J\x9b31m\xc2\x9b\x80\x9f" + unseen.encode() + json.dumps(unseen)[1:-1].encode()
    claims = b'{"iss":"https://%s","sub":"%s","jti":"%s","aud":["%s"],"iat":%d,"exp":%d,"kubernetes.io":{"namespace":"%s",' \
             b'"serviceaccount":{"name":"%s"},"pod":{"name":"%s"},"node":{"name":"%s"}}}'
    claims %= (evil, evil, evil, evil, now, now + 3600, evil, evil, evil, evil)
    token = sick.dir / "token"
    token.write_text(".".join((part(b'{"alg":"RS256","kid":"%s"}' % evil), part(claims), "c2ln")))
    sick.configure(sick.credential(token={"file": str(token), "audience": "other"}))
    config = str(sick.config_path)
    for argv in (["check", "-c", config], ["doctor", "-c", config, "--offline"], ["inspect", str(token)],
                 ["inspect", os.fsencode(sick.dir) + b"/\x1b[31m\x9b"], [b"\x1b[31m\x9b"],
                 ["doctor", "-c", config, b"\x1b[31m\x9b"]):
        done = subprocess.run([CREDFRESH, *argv], capture_output=True, timeout=60, cwd=sick.dir)
        out = done.stdout + done.stderr
        assert b"?[31m" in out, out
        assert not re.search(rb"[^\n\x20-\x7e]", out) and b"\n  ok?" not in out, out


# ---- as it should be ----

def test_nothing_is_wrong(sick):
    report = doctor(sick)
    assert report.status == 0 and report.wrong() == []
    assert report.doc["version"] == 1 and report.doc["complete"] and not report.doc["offline"]
    report.one("token.claims", "ok", "system:serviceaccount:default:demo", "sts.amazonaws.com", "of the pod demo-0")
    report.one("volume.layout", "ok", "a volume of the kubelet")
    report.one("net.connect", "ok", "TLS after", "certificate is good")
    report.one("clock.cloud", "ok")
    report.one("cloud.exchange", "ok", "assumed-role/demo")
    report.one("agent.running", "note", "no socket")
    assert not sick.state.exists() and not sick.out.exists(), "doctor changes nothing"


def test_text_for_people(sick):
    done = sick.run("doctor", "demo", "-v")
    assert done.returncode == 0 and not done.stderr
    assert re.search(r"^demo\n", done.stdout, re.M) and re.search(r"^  ok       cloud\.exchange +exchanged in",
                                                                  done.stdout, re.M)
    assert ": 0 wrong, 0 warnings, " in done.stdout.splitlines()[-1]
    assert max(len(line) for line in done.stdout.splitlines() if " " in line.strip()) <= 160


def test_bad_use(sick):
    assert sick.run("doctor", "nobody").returncode == 2
    assert sick.run("doctor", "--watch").returncode == 2
    assert sick.run("doctor", "--timeout", "soon").returncode == 2


def test_configuration_with_mistakes(sick):
    sick.configure(sick.credential(exchange=aws(sick, regoin="x")))
    report = doctor(sick)
    assert report.wrong() == ["config"]
    found = report.one("config", "wrong", "regoin")
    assert found["file"] == str(sick.config_path) and found["line"] > 5 and not found["text"].startswith("/")


def test_configuration_that_is_not_there(sick):
    sick.config_path.unlink()
    found = doctor(sick).one("config", "wrong", "cannot open")
    assert found["remedy"] == "name the configuration's file with -c"


def test_offline_sends_nothing(sick):
    report = doctor(sick, "--offline")
    assert report.doc["offline"] and not report.all("net.connect")
    report.one("cloud.exchange", "note", "--offline")
    needed = report.one("trust.needed", "note", "must allow this token")
    assert "--trust-policy" in needed["remedy"]
    assert not sick.cloud.exchanges()


def test_names_choose(sick):
    sick.configure(sick.credential(), sick.credential("other"))
    report = doctor(sick, "other")
    assert {f["credential"] for f in report.findings} == {None, "other"}
    report.one("cloud.exchange", "ok")
    both = doctor(sick)
    assert "it was checked for demo" in both.one("net.connect", "ok", "it was")["text"]


# ---- the token and its volume ----

def test_expired_token(sick):
    sick.configure(sick.credential(token=token_file(sick, expires_in_s=-60, issued_ago_s=4000)))
    report = doctor(sick)
    found = report.one("token.expired", "wrong", "expired")
    assert found["credential"] == "demo" and found["file"] == str(sick.config_path) and found["line"] > 1
    assert "kubelet" in found["remedy"]
    report.one("volume.layout", "note", "not in a volume of the kubelet")
    assert "what writes the file" in report.one("volume.age", "warning", "80 %")["remedy"]
    report.one("cloud.exchange", "wrong", "ExpiredToken")
    assert report.wrong() == ["cloud.exchange", "token.expired"]


# ---- the token's signature ----

def signature(agent, token, *argv, trusted=True):
    """What doctor reports about the signature of TOKEN; the system trusts the local cloud's CA only where TRUSTED."""
    path = agent.dir / "token"
    path.write_text(token)
    agent.configure(agent.credential(token={"file": str(path)}))
    return doctor(agent, *argv, env={"SSL_CERT_FILE": agent.cloud.ca} if trusted else {})


def changed(token, number, change):
    """TOKEN with another header (0) or payload (1)."""
    parts = token.split(".")
    old = json.loads(base64.urlsafe_b64decode(parts[number] + "=="))
    parts[number] = base64.urlsafe_b64encode(json.dumps({**old, **change}).encode()).rstrip(b"=").decode()
    return ".".join(parts)


def test_the_signature_is_verified(sick):
    report = signature(sick, sick.cloud.token())
    report.one("token.signature", "ok", "the signature matches the key kid=")
    assert not report.wrong()


def test_a_signature_that_does_not_match(sick):
    token = changed(sick.cloud.token(), 1, {"sub": "system:serviceaccount:default:admin"})
    found = signature(sick, token).one("token.signature", "wrong", "the signature does not match the key kid=")
    assert "another key signed it" in found["remedy"] and token not in json.dumps(found)


def test_a_key_that_is_not_published(sick):
    token = changed(sick.cloud.token(), 0, {"kid": "gone"})
    report = signature(sick, token)
    found = report.one("token.signature", "warning", "no key has the kid gone: the only key of the set")
    assert "publish the key set" in found["remedy"] and found["line"] > 1


def test_an_issuer_that_cannot_be_read(sick):
    report = signature(sick, sick.cloud.token(), trusted=False)
    report.one("token.signature", "note", "the issuer's keys cannot be read from here")
    assert not report.wrong()


def test_an_issuer_that_does_not_answer_in_time(sick):
    sick.cloud.fault(kind="delay", ms=20000, count=1, match={"action": "OpenIDConfiguration"})
    started = time.monotonic()
    report = signature(sick, sick.cloud.token(), "--timeout", "1s")
    sick.cloud.clear_faults()
    report.one("token.signature", "note", "the issuer's keys cannot be read from here")
    assert time.monotonic() - started < 15


def test_no_signature_is_verified_offline(sick):
    assert not signature(sick, sick.cloud.token(), "--offline").all("token.signature")


def test_the_keys_of_an_issuer_are_read_once(sick):
    sick.configure(*(sick.credential(name, token=token_file(sick)) for name in ("demo", "other", "third")))
    before = len(sick.cloud.exchanges("JWKS"))
    report = doctor(sick, env={"SSL_CERT_FILE": sick.cloud.ca})
    assert len(report.all("token.signature", "ok")) == 3
    assert len(sick.cloud.exchanges("JWKS")) - before == 1


def test_check_verifies_the_signature_with_online_only(sick):
    token = changed(sick.cloud.token(), 0, {"kid": "gone"})
    signature(sick, token, "--offline")
    env = {**os.environ, "SSL_CERT_FILE": sick.cloud.ca}
    found = {how: subprocess.run([CREDFRESH, "check", *how, str(sick.config_path)], text=True, capture_output=True, timeout=60, env=env).stdout
             for how in ((), ("--online",))}
    assert "no key has the kid gone" in found["--online",] and "kid gone" not in found[()], found


def test_wrong_audience(sick):
    token = {**token_file(sick, audience=["elsewhere"]), "audience": "sts.amazonaws.com"}
    sick.configure(sick.credential(token=token))
    report = doctor(sick)
    found = report.one("token.audience", "wrong", 'expects the audience "sts.amazonaws.com", your token says "elsewhere"')
    assert "projected volume" in found["remedy"]


def test_no_token(sick):
    sick.configure(sick.credential(token={"file": str(sick.dir / "nowhere/token")}))
    report = doctor(sick)
    report.one("volume.missing", "wrong", "nowhere does not exist")
    assert "net.connect" in {f["check"] for f in report.findings}, "the network is looked at nevertheless"


def test_no_jwt(sick):
    (sick.dir / "token").write_text("s3cret-that-is-no-token")
    sick.configure(sick.credential(token={"file": str(sick.dir / "token")}))
    report = doctor(sick)
    report.one("token.malformed", "wrong")
    assert "s3cret" not in report.text


def test_link_that_leads_nowhere(sick):
    (sick.dir / "token").symlink_to("..data/token")
    sick.configure(sick.credential(token={"file": str(sick.dir / "token")}))
    doctor(sick).one("volume.missing", "wrong", "is a link to something that does not exist")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_token_that_is_not_ours_to_read(sick):
    token = token_file(sick)
    os.chmod(token["file"], 0o600)
    sick.keep_state_in(sick.dir / "state").configure(token_only(sick, token=token))
    let_others_in(sick.dir)
    report = doctor(sick, "--offline", wrapper=AS_NOBODY)
    found = report.one("volume.rights", "wrong", "uid 65534 gid 65534 may not read", "mode 0600, owner 0:0")
    assert "fsGroup" in found["remedy"]
    report.one("machine.state-dir", "wrong", "uid 65534 may not write")
    report.one("publish.rights", "wrong", "uid 65534", "may not write")


def test_a_file_that_is_mounted_alone(sick):
    """It may be written in place, so that it is nothing wrong for certain."""
    needs_namespace("--mount")
    token = token_file(sick)
    (sick.dir / "mounted").write_text("")
    sick.configure(sick.credential(token={"file": str(sick.dir / "mounted")}))
    script = f"mount --bind {token['file']} {sick.dir}/mounted && exec \"$@\""
    report = doctor(sick, wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
    report.one("volume.subpath", "warning", "a separate mount point:")
    assert not report.wrong()


def test_subpath_of_a_file(sick):
    needs_namespace("--mount")
    (sick.dir / "mounted").write_text("")
    sick.configure(sick.credential(token={"file": str(sick.dir / "mounted")}))
    script = f"mount --bind $(realpath {sick.cloud.volumes['demo']}/token) {sick.dir}/mounted && exec \"$@\""
    report = doctor(sick, wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
    found = report.one("volume.subpath", "wrong", "never changes")
    assert "without subPath" in found["remedy"]
    assert report.wrong() == ["volume.subpath"], "the token itself is still good"


def test_subpath_of_a_directory(sick):
    """A version of a kubelet's volume that was mounted itself: the swap of ..data never reaches it."""
    needs_namespace("--mount")
    (sick.dir / "mounted").mkdir()
    sick.configure(sick.credential(token={"file": str(sick.dir / "mounted/token")}))
    script = f"mount --bind $(realpath {sick.cloud.volumes['demo']}/..data) {sick.dir}/mounted && exec \"$@\""
    report = doctor(sick, wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
    report.one("volume.subpath", "wrong", "/..20")


def test_token_by_request(sick):
    request = {"service_account": "demo", "namespace": "default", "audiences": ["sts.amazonaws.com"],
               "kubeconfig": sick.cloud.ready["kubeconfig"]}
    sick.configure(sick.credential(token={"request": request}))
    report = doctor(sick)
    assert report.wrong() == []
    report.one("token.request", "ok")
    report.one("token.claims", "ok", "system:serviceaccount:default:demo")
    doctor(sick, "--offline").one("token.request", "note", "--offline")
    sick.configure(sick.credential(token={"request": {**request, "service_account": "nobody"}}))
    report = doctor(sick)
    assert "default/nobody" in report.one("token.request", "wrong")["text"]


def test_mounted_secret(sick):
    secret = sick.dir / "secret"
    secret.mkdir()
    (secret / "unknown").write_text("value-that-nobody-sees")
    sick.configure(sick.credential(token=None, exchange=None, secret={"directory": str(secret)},
                                   publish={"directory": str(sick.out), "files": [{"name": "x", "format": "secret-key"}]}))
    report = doctor(sick)
    report.one("source", "wrong", str(secret))
    assert "nobody-sees" not in report.text


# ---- clocks ----

def test_the_clouds_date(sick):
    for skew_s, level in ((-90, "warning"), (400, "wrong")):
        sick.cloud.clear_faults()
        sick.cloud.fault(kind="status", status=302, headers={"Date": formatdate(time.time() - skew_s, usegmt=True)})
        found = doctor(sick).one("clock.cloud", level, "ahead of" if skew_s > 0 else "behind")
        told = int(re.search(r"clock is (\d+) s", found["text"]).group(1))
        assert abs(told - abs(skew_s)) <= 15 and "time service" in found["remedy"]


@pytest.mark.parametrize("claim", ["iat", "nbf"])
def test_the_issuers_clock(sick, claim):
    """The cloud's clock and ours agree, so it is the issuer's that is wrong."""
    sick.configure(sick.credential(token=token_file(sick, extra_claims={claim: int(time.time()) + 600})))
    report = doctor(sick)
    report.one("token.not-yet-valid", "wrong")
    report.one("clock.issuer", "wrong", "in the cloud's future", "issuer's clock is ahead")
    report.one("clock.cloud", "ok")


def test_a_token_that_only_we_think_good(sick):
    sick.configure(sick.credential(token=token_file(sick, expires_in_s=200, issued_ago_s=1000)))
    sick.cloud.fault(kind="status", status=302, headers={"Date": formatdate(time.time() + 400, usegmt=True)})
    doctor(sick).one("clock.token", "wrong", "expired by the cloud's clock")


@pytest.mark.skipif(shifted_clock.missing(CREDFRESH) is not None, reason=f"there is no {shifted_clock.missing(CREDFRESH)}")
def test_a_token_that_only_we_think_expired(sick):
    sick.configure(sick.credential(token=token_file(sick, expires_in_s=3600)))
    report = doctor(sick, "--offline", env=ShiftedClock(sick.dir, 7200).env)
    assert not report.all("clock.token")
    report = doctor(sick, env=ShiftedClock(sick.dir, 7200).env)
    report.one("clock.cloud", "wrong", "ahead of")
    report.one("clock.token", "wrong", "valid by the cloud's clock")
    assert "clock" in report.one("token.expired", "wrong", "this machine's clock is ahead")["remedy"]


def test_a_token_is_not_called_good_before_it_is_valid(sick):
    sick.configure(sick.credential(token=token_file(sick, extra_claims={"nbf": int(time.time()) + 600})))
    done = sick.run("check")
    assert "not valid yet" in done.stdout + done.stderr and "good for" not in done.stdout + done.stderr


# ---- network ----

def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_nobody_listens(sick):
    port = closed_port()
    sick.configure(sick.credential(exchange=aws(sick, endpoint=f"https://127.0.0.1:{port}")))
    report = doctor(sick)
    report.one("net.connect", "wrong", f"127.0.0.1:{port}", "Connection refused")
    report.one("cloud.exchange", "note", "127.0.0.1 is not reached")
    assert report.wrong() == ["net.connect"], "one trouble is told once"


def test_a_name_that_does_not_exist(sick):
    sick.configure(sick.credential(exchange=aws(sick, endpoint="https://no-such-host.invalid")))
    report = doctor(sick)
    found = report.one("net.dns", "wrong", "no-such-host.invalid cannot be resolved", "/etc/resolv.conf says:")
    assert "NetworkPolicy" in found["remedy"] and not report.all("net.connect")


@contextlib.contextmanager
def silent_server():
    """Takes datagrams or connections on one port, and never answers."""
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(8)
        yield tcp.getsockname()[1]


def test_a_name_server_that_does_not_answer(sick, tmp_path):
    needs_namespace("--mount", "--net")
    conf = tmp_path / "resolv.conf"
    conf.write_text("nameserver 127.0.0.53\noptions timeout:30 attempts:1\n")
    sick.configure(sick.credential(exchange=aws(sick, endpoint="https://sts.example.test")))
    # Nobody answers, and nobody refuses: the datagrams are dropped on the way.
    script = (f"ip link set lo up && mount --bind {conf} /etc/resolv.conf && iptables -A INPUT -p udp -j DROP && "
              "exec \"$@\"")
    wrapper = ("unshare", "--mount", "--net", "sh", "-c", script, "sh")
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("no packet filter of its own here")
    report = doctor(sick, "--timeout", "2s", wrapper=wrapper)
    report.one("net.dns", "wrong", "no answer within", "nameserver 127.0.0.53", "timeout:30")
    report.one("doctor.time", "warning")
    assert not report.doc["complete"]


def test_a_server_that_says_nothing(sick):
    with silent_server() as port:
        sick.configure(sick.credential(exchange=aws(sick, endpoint=f"https://127.0.0.1:{port}")))
        report = doctor(sick, "--timeout", "3s")
    found = report.one("net.timeout", "wrong", f"127.0.0.1:{port}", "within")
    assert "firewall" in found["remedy"]
    report.one("doctor.time", "warning")


def test_wrong_ca(sick):
    sick.configure(sick.credential(exchange=aws(sick, ca_file=sick.cloud.other_ca)))
    report = doctor(sick)
    found = report.one("net.tls", "wrong", "not signed by a CA in", sick.cloud.other_ca)
    assert "ca_file" in found["remedy"]
    report.one("net.certificate", "note", "certificate 1 of", "issued by")


def test_a_certificate_whose_names_are_in_utf_16(sick, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8", "-subj",
                    "/CN=Zürich Ünit/O=Æther", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "crt"), "-config",
                    "/dev/stdin"], input=b"[req]\ndistinguished_name=dn\nstring_mask=MASK:0x800\n[dn]\n", check=True,
                   capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    taken = listener.accept()[0]
                    with taken, contextlib.suppress(OSError):
                        context.wrap_socket(taken, server_side=True).close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        sick.configure(sick.credential(exchange=aws(sick, endpoint=f"https://127.0.0.1:{listener.getsockname()[1]}")))
        report = doctor(sick)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    report.one("net.certificate", "note", ": CN=Zürich Ünit, O=Æther, issued by CN=Zürich Ünit, O=Æther, ")


def test_expired_certificate_and_wrong_name(sick):
    sick.configure(sick.credential(exchange=aws(sick, endpoint=sick.cloud.ready["sts_expired_url"])))
    report = doctor(sick)
    report.one("net.tls", "wrong", "has expired")
    report.one("net.certificate", "note", " to ")
    sick.configure(sick.credential(exchange=aws(sick, endpoint=sick.cloud.ready["sts_wrongname_url"])))
    report = doctor(sick)
    report.one("net.tls", "wrong", "for another name")
    assert ", for " in report.one("net.certificate", "note", "certificate 1")["text"]


def test_proxy(sick):
    port = closed_port()
    sick.configure(sick.credential(exchange=aws(sick, endpoint="https://sts.example.test")))
    report = doctor(sick, env={"https_proxy": f"http://user:pa/55word@127.0.0.1:{port}"})
    report.one("net.proxy", "note", f"127.0.0.1:{port}, by https_proxy")
    report.one("net.dns", "note", "(the proxy resolves it)")
    assert "proxy" in report.one("net.connect", "wrong")["remedy"] and "55word" not in report.text
    direct = doctor(sick, env={"https_proxy": f"http://127.0.0.1:{port}", "no_proxy": "example.test"})
    assert not direct.all("net.proxy") and direct.all("net.dns", "wrong")


@pytest.mark.parametrize("env, says", [
    ({"https_proxy": "", "HTTPS_PROXY": "http://127.0.0.1:PORT"}, "127.0.0.1:PORT, by HTTPS_PROXY"),
    ({"all_proxy": "127.0.0.1:PORT/"}, "127.0.0.1:PORT, by all_proxy"),
    ({"https_proxy": "socks5://u:pa@55word@127.0.0.1:PORT"}, "127.0.0.1:PORT, by https_proxy"),
    ({"https_proxy": "http://user:55word"}, "https_proxy (not a URL)"),
    ({"https_proxy": "http://127.0.0.1:PORT", "no_proxy": "10.99.0.0/16,x"}, None),
    ({"https_proxy": "http://127.0.0.1:PORT", "no_proxy": "10.96.0.0/12"}, None),
    ({"https_proxy": "http://127.0.0.1:PORT", "no_proxy": "10.100.0.0/16, *"}, "127.0.0.1:PORT"),
    ({"https_proxy": "http://127.0.0.1:PORT", "no_proxy": "*"}, None),
])
def test_which_proxy(sick, env, says):
    """As the exchange takes it."""
    port = str(closed_port())
    sick.configure(sick.credential(exchange=aws(sick, endpoint="https://10.99.9.9")))
    report = doctor(sick, "--timeout", "2s", env={key: value.replace("PORT", port) for key, value in env.items()})
    assert bool(report.all("net.proxy")) == (says is not None) and "55word" not in report.text
    if says is not None:
        report.one("net.proxy", "note", says.replace("PORT", port))


def test_an_address_of_version_6_alone(sick, tmp_path):
    needs_namespace("--mount", "--net")
    if not os.path.exists("/etc/hosts"):
        pytest.skip("there is no /etc/hosts in whose place another could be")
    hosts = tmp_path / "hosts"
    hosts.write_text("2001:db8::5 sts.example.test\n")
    sick.configure(sick.credential(exchange=aws(sick, endpoint="https://sts.example.test")))
    script = f"ip link set lo up && mount --bind {hosts} /etc/hosts && exec \"$@\""
    report = doctor(sick, "--timeout", "10s", wrapper=("unshare", "--mount", "--net", "sh", "-c", script, "sh"))
    report.one("net.dns", "ok", "2001:db8::5")
    report.one("net.connect", "wrong", "Network is unreachable")


# ---- the machine and the targets ----

@pytest.mark.skipif(SANITIZED, reason="the sanitizer needs /proc")
def test_without_proc(sick):
    """Nothing is made up of what cannot be seen."""
    needs_namespace("--mount")
    script = "mount -t tmpfs none /proc && exec \"$@\""
    report = doctor(sick, "--offline", wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
    assert not report.wrong() and not report.all("publish.on-disk")
    report.one("machine.memory", "note", "/proc is missing")


def test_a_file_in_place_of_a_directory(sick):
    sick.out.write_text("")
    sick.state.write_text("")
    report = doctor(sick, "--offline")
    report.one("publish.rights", "wrong", "is not a directory")
    report.one("machine.state-dir", "wrong", "is not a directory")


def test_a_file_that_is_written_in_place(sick):
    """The file counts, not the directory around it."""
    needs_namespace("--mount")
    for name in ("mounted", "source"):
        (sick.dir / name).write_text("")
    publish = {"file": {"path": str(sick.dir / "mounted"), "format": "token", "in_place": True}}
    sick.configure(token_only(sick, publish=publish))
    bind = f"mount --bind {sick.dir}/source {sick.dir}/mounted"
    wrapper = ("unshare", "--mount", "sh", "-c")
    report = doctor(sick, "--offline", wrapper=(*wrapper, f"{bind} && exec \"$@\"", "sh"))
    report.one("publish.rights", "ok", "mounted can be written")
    readonly = f"{bind} && mount -o remount,ro,bind {sick.dir}/mounted && exec \"$@\""
    report = doctor(sick, "--offline", wrapper=(*wrapper, readonly, "sh"))
    report.one("publish.read-only", "wrong", "mounted lies on a read-only")


def test_a_program_on_a_volume_without_exec(sick):
    needs_namespace("--mount")
    (sick.dir / "bin").mkdir()
    sick.configure(sick.credential(reload=[{"exec": [str(sick.dir / "bin/hook")]}]))
    script = f"mount -t tmpfs -o noexec none {sick.dir}/bin && cp /bin/true {sick.dir}/bin/hook && exec \"$@\""
    report = doctor(sick, "--offline", wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
    report.one("hook.program", "wrong", "mounted noexec")


def test_hooks(sick):
    script = sick.dir / "hook.sh"
    script.write_text("#!/no/such/shell\n")
    script.chmod(0o755)
    plain = sick.dir / "plain"
    plain.write_text("")
    stale = sick.dir / "app.pid"
    stale.write_text(f"{os.getpid()}\n")
    os.utime(stale, (1, 1))
    sick.configure(sick.credential(reload=[
        {"exec": [str(script)]}, {"exec": [str(plain)]}, {"exec": [str(sick.dir / "gone")]},
        {"signal": {"pid_file": str(stale), "signal": "HUP"}},
        {"signal": {"pid_file": str(sick.dir / "none.pid"), "signal": "HUP"}},
        {"signal": {"executable": "no-such-program", "signal": "HUP"}},
        {"http": {"url": f"http://127.0.0.1:{closed_port()}/-/reload"}},
    ]))
    report = doctor(sick, "--timeout", "20s")
    report.one("hook.program", "wrong", "is a script for /no/such/shell")
    report.one("hook.program", "wrong", "plain (mode 0644")
    lines = {f["line"] for f in report.all("hook.program", "wrong")}
    report.one("hook.program", "wrong", "gone cannot be run: No such file")
    report.one("hook.pid-file", "wrong", "stale")
    report.one("hook.pid-file", "warning", "none.pid")
    report.one("hook.signal", "warning", "no-such-program")
    report.one("hook.http", "warning", "Connection refused")
    assert len(lines) == 3, "each is told with its own line"


def test_published_directory(sick):
    needs_namespace("--mount")
    sick.out.mkdir()
    wrapper = ("unshare", "--mount", "sh", "-c")
    full = f"mount -t tmpfs -o size=64k none {sick.out} && head -c 60000 /dev/zero >{sick.out}/big; exec \"$@\""
    report = doctor(sick, "--offline", wrapper=(*wrapper, full, "sh"))
    report.one("publish.space", "wrong", "KiB are left", "tmpfs")
    inodes = f"mount -t tmpfs -o nr_inodes=8 none {sick.out}; exec \"$@\""
    doctor(sick, "--offline", wrapper=(*wrapper, inodes, "sh")).one("publish.inodes", "wrong", "inodes are left")
    readonly = f"mount -t tmpfs -o ro none {sick.out}; exec \"$@\""
    report = doctor(sick, "--offline", wrapper=(*wrapper, readonly, "sh"))
    report.one("publish.read-only", "wrong", "tmpfs", "ro")


def test_a_directory_of_somebody_else(sick):
    (sick.out / "..data").mkdir(parents=True)
    doctor(sick, "--offline").one("publish.foreign", "wrong")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_somebody_who_cannot_be_signalled(sick):
    """Nobody is signalled: only whether it could be done is asked."""
    consumer = subprocess.Popen(["sleep", "60"])
    try:
        (sick.dir / "app.pid").write_text(f"{consumer.pid}\n")
        let_others_in(sick.dir)
        sick.configure(token_only(sick, reload=[{"signal": {"pid_file": str(sick.dir / "app.pid"), "signal": "TERM"}}]))
        doctor(sick, "--offline").one("hook.pid-file", "ok", "can be signalled")
        report = doctor(sick, "--offline", wrapper=AS_NOBODY)
        report.one("hook.pid-file", "wrong", "not allowed to signal", "CAP_KILL")
        assert consumer.poll() is None
    finally:
        consumer.kill()
        consumer.wait(10)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_owner_that_cannot_be_given(sick):
    let_others_in(sick.dir)
    publish = {"directory": str(sick.out), "owner": "1", "group": "1", "files": [{"name": "t", "format": "token"}]}
    sick.configure(token_only(sick, publish=publish))
    report = doctor(sick, "--offline", wrapper=AS_NOBODY)
    report.one("publish.owner", "wrong", "without CAP_CHOWN")
    report.one("publish.group", "wrong", "is not in it")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_as_root_beside_an_agent_of_another_user(sick):
    """Root may do everything, which says nothing of the agent."""
    let_others_in(sick.dir)
    sick.configure(token_only(sick, token=token_file(sick)))
    os.chown(sick.dir, 65534, 65534)
    sick.start(wrapper=AS_NOBODY)
    doctor(sick, "--offline").one("machine.user", "note", "you are uid 0, and the agent runs as uid 65534")


def test_open_files(sick):
    report = doctor(sick, "--offline", wrapper=("prlimit", "--nofile=60:60"))
    found = report.one("machine.open-files", "wrong", "at most 60 files")
    assert "LimitNOFILE" in found["remedy"]


def test_privileges(sick):
    sick.configure(sick.credential(reload=[{"exec": ["/bin/true"]}]))
    report = doctor(sick, "--offline", wrapper=("setpriv", "--no-new-privs"))
    report.one("machine.privileges", "note", "no_new_privs")


def test_core_dumps_of_processes_that_change_their_user(sick, tmp_path):
    needs_namespace("--mount")
    setting = tmp_path / "suid_dumpable"
    for value in ("0", "1", "2"):
        setting.write_text(value + "\n")
        report = doctor(sick, "--offline", wrapper=(
            "unshare", "--mount", "sh", "-c", f'mount --bind {setting} /proc/sys/fs/suid_dumpable && exec "$@"', "sh"))
        assert len(report.all("machine.core-dumps", "warning")) == (value == "1")


# ---- the running agent ----

def test_running_agent(sick):
    acknowledge = sick.dir / "in-use"
    sick.configure(sick.credential(reload=[{"exec": ["/bin/false"]}],
                                   acknowledge=[{"file": str(acknowledge), "behind_after": "1s"}]))
    sick.start()
    sick.wait_generation(1)
    eventually(lambda: sick.status()["consumers"][0]["behind"], "a consumer that is behind")
    eventually(lambda: sick.status()["hooks"][0]["error"], "a hook that fails")
    report = doctor(sick)
    report.one("agent.running", "ok")
    report.one("agent.config", "ok", "the current configuration")
    report.one("agent.credential", "ok", "generation 1 is published")
    report.one("publish.generation", "ok", "generation 1")
    report.one("agent.hook", "warning", "/bin/false")
    report.one("agent.behind", "warning", "in-use", "newest is 1")
    sick.configure(sick.credential(), sick.credential("other"))
    later = time.time() + 5
    os.utime(sick.config_path, (later, later))
    report = doctor(sick)
    report.one("agent.config", "warning", "was changed after")
    assert report.one("agent.credential", "warning", "does not know")["credential"] == "other"
    sick.config_path.write_text("version: 1\nnonsense: true\n")
    sick.run("reload", "-s", str(sick.socket))
    sick.configure()
    report = doctor(sick)
    report.one("agent.config", "wrong", "nonsense")


def test_the_agents_own_limits_and_mounts(sick):
    """Not those of the shell that doctor is run from."""
    needs_namespace("--mount")
    sick.start(wrapper=("unshare", "--mount", "prlimit", "--nofile=90:90"))
    sick.wait_generation(1)
    report = doctor(sick, "--offline")
    report.one("machine.open-files", "wrong", "at most 90 files")
    report.one("machine.namespace", "note", f"process {sick.process.pid}, has separate mounts")
    assert not report.all("machine.user")
    sick.stop()
    sick.start()
    report = doctor(sick, "--offline", wrapper=("prlimit", "--nofile=60:60"))
    assert not report.wrong() and not report.all("machine.namespace")


def test_an_agent_that_hangs(sick):
    sick.state.mkdir()
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(sick.socket))
        mute.listen(4)
        report = doctor(sick, "--timeout", "1s")
    report.one("agent.running", "warning", "does not answer as it should")
    report.one("doctor.time", "warning")
    assert not report.doc["complete"] and not sick.cloud.exchanges()


def test_an_agent_that_is_refused(sick):
    sick.cloud.fault(kind="error", code="AccessDenied", status=403, count=-1)
    sick.start()
    eventually(lambda: sick.status().get("last_error"), "a refusal")
    report = doctor(sick)
    report.one("agent.credential", "wrong", "nothing is published yet")
    error = report.one("agent.error", "warning", "for the reason of cloud.exchange")
    assert "AccessDenied" not in error["text"] and "1 times" not in error["text"]
    report.one("cloud.exchange", "wrong", "AccessDenied")


def test_a_conflict_is_not_called_nothing_yet(sick):
    """Another program's file stands where the directory is to lead to."""
    sick.out.mkdir()
    (sick.out / "credentials").write_text("of another program")
    sick.start(wait=False)
    eventually(lambda: (sick.status().get("last_error") or {}).get("code") == "conflict", lambda: sick.log)
    doctor(sick, "--offline").one("agent.credential", "wrong", "it cannot be published: the target belongs to another program")


# ---- trust ----

def issuer_of(agent):
    return agent.cloud.ready["issuer"].removeprefix("https://")


def policy(agent, condition, federated=None, **statement):
    issuer = issuer_of(agent)
    s = {"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
         "Principal": {"Federated": federated or ISSUER_ROLE + issuer},
         "Condition": {op: {key.replace("ISS", issuer): value for key, value in keys.items()}
                       for op, keys in condition.items()}, **statement}
    return {"Role": {"Arn": ROLE, "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [s]}}}


SUBJECT = "system:serviceaccount:default:demo"
GOOD = {"StringEquals": {"ISS:sub": SUBJECT, "ISS:aud": "sts.amazonaws.com"}}


def judged(agent, option, document, *argv):
    path = agent.dir / "trust.json"
    path.write_text(json.dumps(document))
    report = doctor(agent, option, str(path), *argv)
    for finding in report.findings:
        if finding["check"] in ("trust.policy", "trust.federated", "trust.pool"):
            assert finding["file"] == str(path) and finding["line"] is None
    return report


def test_trust_policy_that_fits(sick):
    for condition in (GOOD, {"StringLike": {"ISS:sub": "system:serviceaccount:*:demo"}}, {},
                      {"StringLike": {"ISS:aud": ["x", "sts.*"]}}):
        report = judged(sick, "--trust-policy", policy(sick, condition), "--offline")
        assert not report.wrong()
        report.one("trust.policy", "ok", "lets this token in")


MISMATCHES = {
    "subject": ({"StringEquals": {"ISS:sub": "system:serviceaccount:default:other"}},
                'expects the subject "system:serviceaccount:default:other"', f'your token says "{SUBJECT}"'),
    "audience": ({"StringEquals": {"ISS:sub": SUBJECT, "ISS:aud": "elsewhere"}}, 'expects the audience "elsewhere"',
                 'your token says "sts.amazonaws.com"'),
    "a pattern taken literally": ({"StringEquals": {"ISS:sub": "system:serviceaccount:default:*"}}, "`*` is taken literally",
                                  "expects the subject"),
    "case": ({"StringEquals": {"ISS:sub": SUBJECT.upper()}}, "upper and lower case differ", "expects the subject"),
    "white space": ({"StringEquals": {"ISS:sub": SUBJECT + " "}}, "white space", "expects the subject"),
    "another issuer's key": ({"StringEquals": {"oidc.example.net:sub": SUBJECT}}, "asks for the key",
                             "oidc.example.net:sub"),
    "one of several": ({"StringLike": {"ISS:sub": ["a*", "b*"]}}, '"a*" or "b*"', "your token says"),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_trust_policy_that_does_not_fit(sick, name):
    condition, *words = MISMATCHES[name]
    report = judged(sick, "--trust-policy", policy(sick, condition), "--offline")
    found = report.one("trust.policy", "wrong", "statement 1", *words)
    assert found["remedy"] and report.wrong() == ["trust.policy"]


def test_trust_policy_of_another_provider(sick):
    report = judged(sick, "--trust-policy", policy(sick, GOOD, federated=ISSUER_ROLE + issuer_of(sick) + "/"), "--offline")
    report.one("trust.policy", "wrong", "trusts the provider", "a slash at the end counts")
    other = ISSUER_ROLE.replace("123456789012", "999999999999") + issuer_of(sick)
    report = judged(sick, "--trust-policy", policy(sick, GOOD, federated=other), "--offline")
    report.one("trust.policy", "wrong", "999999999999", "needs")
    report = judged(sick, "--trust-policy", policy(sick, GOOD, Action="sts:AssumeRole"), "--offline")
    report.one("trust.policy", "wrong", "no statement of the trust policy allows")
    report = judged(sick, "--trust-policy", policy(sick, GOOD, Effect="Deny"), "--offline")
    report.one("trust.policy", "wrong", "denies this token")


def test_trust_policy_that_cannot_be_judged(sick):
    condition = {**GOOD, "IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    report = judged(sick, "--trust-policy", policy(sick, condition), "--offline")
    report.one("trust.policy", "warning", "IpAddress", "cannot be judged")
    report.one("trust.policy", "note", "if what could not be judged holds")
    assert not report.wrong()
    report = judged(sick, "--trust-policy", policy(sick, {"StringNotEquals": {"ISS:sub": "x"}}), "--offline")
    report.one("trust.policy", "warning", "StringNotEquals", "cannot be judged")
    assert not report.wrong()


def test_trust_file_that_is_none(sick):
    token = sick.cloud.volumes["demo"] / "token"
    report = doctor(sick, "--trust-policy", str(token), "--offline")
    assert "get-role" in report.one("trust.file", "wrong")["remedy"]
    assert token.read_text()[:60] not in report.text
    report = doctor(sick, "--trust-policy", str(sick.dir / "none"), "--offline")
    report.one("trust.file", "wrong", "none")


def test_trust_by_a_pipe(sick):
    """`--trust-policy <(aws iam get-role ...)`, for two credentials; and from a program that never ends."""
    sick.configure(sick.credential(), sick.credential("other"))
    path = sick.dir / "role.json"
    path.write_text(json.dumps(policy(sick, GOOD)))
    command = [CREDFRESH, "doctor", "-c", str(sick.config_path), "--json", "--offline", "--timeout", "1s"]
    for script, level in ((f'exec "$@" --trust-policy <(cat {path})', "ok"),
                          (f'cat {path} | "$@" --trust-policy /dev/stdin', "ok"),
                          ('exec "$@" --trust-policy <(sleep 3)', "wrong")):
        report = Report(subprocess.run(["bash", "-c", script, "bash", *command], text=True, capture_output=True, timeout=30))
        if level == "ok":
            assert [f["credential"] for f in report.all("trust.policy", "ok")] == ["demo", "other"]
        else:
            report.one("trust.file", "wrong", "nothing came in time")
            report.one("doctor.time", "warning")


def test_trust_that_is_not_compared(sick):
    """Said, so that nobody takes silence for consent."""
    path = sick.dir / "pool.json"
    path.write_text("{}")
    report = doctor(sick, "--offline", "--pool-provider", str(path))
    assert report.one("trust.file", "warning", "was not compared", "gcp")["credential"] is None
    sick.configure(sick.credential(token={"file": str(sick.dir / "none")}))
    doctor(sick, "--offline", "--trust-policy", str(path)).one("trust.file", "warning", "because the token is missing:")


def test_role_that_refuses(sick):
    """AWS does not say why; what the policy must hold is computed, and the file says what differs."""
    sick.cloud.admin("/role", {"arn": ROLE.replace("demo", "other"),
                               "trust": [{"subject": "system:serviceaccount:default:other"}]})
    sick.configure(sick.credential(exchange=aws(sick, role_arn=ROLE.replace("demo", "other"))))
    document = policy(sick, {"StringEquals": {"ISS:sub": "system:serviceaccount:default:other"}})
    document["Role"]["Arn"] = ROLE.replace("demo", "other")
    report = judged(sick, "--trust-policy", document)
    report.one("cloud.exchange", "wrong", "AccessDenied")
    report.one("trust.refused", "note", "AWS does not say")
    issuer = issuer_of(sick)
    needed = report.one("trust.needed", "note", "must allow this token")
    condition = {"StringEquals": {f"{issuer}:sub": SUBJECT, f"{issuer}:aud": "sts.amazonaws.com"}}
    [statement] = json.loads(needed["paste"])["Statement"]
    assert statement["Condition"] == condition and statement["Principal"] == {"Federated": f"{ISSUER_ROLE}{issuer}"}
    report.one("trust.policy", "wrong", "default:other", "default:demo")


def test_what_is_printed_when_the_cloud_refuses_can_be_pasted(sick):
    """Without -v, and once: the cause, and a policy that lets the token in."""
    sick.configure(sick.credential(exchange=aws(sick, role_arn=ROLE.replace("demo", "missing")))).start()
    eventually(lambda: sick.status().get("last_error"), "a refusal")
    shown = sick.run("doctor").stdout
    assert shown.count("AccessDenied") == 1 and "1 times" not in shown
    text = shown[shown.index("    {\n"):]
    policy_text = text[:text.index("\n    }\n") + 6]
    path = sick.dir / "trust.json"
    path.write_text(policy_text)
    doctor(sick, "--trust-policy", str(path)).one("trust.policy", "ok", "lets this token in")
    assert "\n    aws iam create-open-id-connect-provider --url 'https://" in shown


def test_roles_in_a_row(sick):
    """The second request is signed; what refuses it is not the trust in the token."""
    sick.cloud.admin("/role", {"arn": ROLE.replace("demo", "second"), "trust": [{"aws_principal": ROLE}]})
    steps = [{"role_arn": ROLE.replace("demo", "second")}]
    sick.configure(sick.credential(exchange=aws(sick, then_assume=steps)))
    report = doctor(sick)
    assert not report.wrong()
    report.one("cloud.exchange", "ok", "assumed-role/second")
    steps[0]["role_arn"] = ROLE.replace("demo", "nowhere")
    sick.configure(sick.credential(exchange=aws(sick, then_assume=steps)))
    report = doctor(sick)
    report.one("cloud.exchange", "wrong", "AccessDenied", "may not assume it")
    assert not report.all("trust.refused")


def test_audience_that_iam_does_not_list(sick):
    sick.configure(sick.credential(token=token_file(sick, audience=["elsewhere"])))
    report = doctor(sick)
    report.one("cloud.exchange", "wrong", "InvalidIdentityToken")
    report.one("trust.refused", "wrong", '"elsewhere"', "client ID")


def azure(agent, **over):
    azure_url = agent.cloud.ready["azure_url"]
    return {"azure": {"tenant_id": "11111111-2222-3333-4444-555555555555",
                      "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa", "authority_host": azure_url,
                      "ca_file": agent.cloud.ca, **over}}


def azure_credential(agent, **token):
    how = {"audience": ["api://AzureADTokenExchange"], **token}
    publish = {"directory": str(agent.out), "files": [{"name": "t", "format": "token"}]}
    return agent.credential(exchange=azure(agent), token=token_file(agent, **how), publish=publish)


def federated(agent, **over):
    return {"name": "demo-fic", "issuer": agent.cloud.ready["issuer"], "subject": SUBJECT,
            "audiences": ["api://AzureADTokenExchange"], **over}


def test_azure(sick):
    sick.configure(azure_credential(sick))
    report = judged(sick, "--federated-credential", [federated(sick, subject="x"), federated(sick)])
    assert not report.wrong()
    report.one("trust.federated", "ok", "demo-fic")
    for token, what, says in (({"service_account": "other"}, "subject", "system:serviceaccount:default:other"),
                              ({"audience": ["elsewhere"]}, "audience", "elsewhere")):
        sick.configure(azure_credential(sick, **token))
        report = judged(sick, "--federated-credential", {"value": [federated(sick)]})
        report.one("cloud.exchange", "wrong", "AADSTS70021")
        report.one("trust.refused", "wrong", f'the {what} "{says}"', "your token says")
        report.one("trust.federated", "wrong", f"expects the {what}", f'your token says "{says}"')
        report.one("trust.needed", "note", "usual here: api://AzureADTokenExchange")


def test_azure_case_and_slash(sick):
    sick.configure(azure_credential(sick))
    wrong = {"name": "f", "properties": {**federated(sick, issuer=sick.cloud.ready["issuer"] + "/",
                                                     subject=SUBJECT.replace("demo", "Demo"))}}
    report = judged(sick, "--federated-credential", wrong, "--offline")
    report.one("trust.federated", "wrong", "expects the issuer", "a slash at the end counts")
    report.one("trust.federated", "wrong", "expects the subject", "upper and lower case")


GCP_ACCOUNT = "demo@demo-project.iam.gserviceaccount.com"
POOL = "projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"


def gcp_credential(agent, **token):
    how = {"audience": [f"//iam.googleapis.com/{POOL}"], **token}
    url = agent.cloud.ready["gcp_url"]
    exchange = {"gcp": {"audience": f"//iam.googleapis.com/{POOL}", "service_account": GCP_ACCOUNT,
                        "sts_endpoint": url + "/v1/token", "iam_endpoint": url, "ca_file": agent.cloud.ca}}
    publish = {"directory": str(agent.out), "files": [{"name": "t", "format": "token"}]}
    return agent.credential(exchange=exchange, token=token_file(agent, **how), publish=publish)


def pool(agent, mapping=None, condition=None, **over):
    oidc = {"issuerUri": agent.cloud.ready["issuer"], **over.pop("oidc", {})}
    return {"name": POOL, "state": "ACTIVE", "oidc": oidc, "attributeCondition": condition or "",
            "attributeMapping": mapping or {"google.subject": "assertion.sub"}, **over}


def test_gcp(sick):
    sick.configure(gcp_credential(sick))
    report = judged(sick, "--pool-provider", pool(sick))
    assert not report.wrong()
    report.one("trust.pool", "ok")
    sick.configure(gcp_credential(sick, audience=["elsewhere"]))
    report = judged(sick, "--pool-provider", pool(sick))
    report.one("cloud.exchange", "wrong", "audience")
    report.one("trust.refused", "wrong", f'expects the audience "//iam.googleapis.com/{POOL}"',
               'your token says "elsewhere"')
    report.one("trust.pool", "wrong", "expects the audience", 'your token says "elsewhere"')
    report.one("trust.needed", "note", sick.cloud.ready["issuer"], SUBJECT)
    report.one("trust.needed", "note", GCP_ACCOUNT, f'workloadIdentityPools/demo/subject/{SUBJECT}"')


POOL_MISTAKES = {
    "issuer": ({"oidc": {"issuerUri": "https://other.example"}}, 'expects the issuer "https://other.example"'),
    "allowed audiences": ({"oidc": {"allowedAudiences": ["a", "b"]}}, 'expects the audience "a" or "b"'),
    "disabled": ({"disabled": True}, "is disabled"),
    "deleted": ({"state": "DELETED"}, "was deleted"),
    "not OIDC": ({"oidc": None}, "not for OpenID Connect"),
    "not a mapping": ({"mapping": {"attribute.x": "assertion.sub"}}, "maps nothing to google.subject"),
    "condition": ({"condition": "assertion.sub == 'x'"}, "is false for your token"),
    "condition on a mapped attribute": ({"condition": "google.subject == 'system:serviceaccount:prod:x'"},
                                        "is false for your token"),
    "another provider": ({"name": POOL.replace("demo", "other")}, "the file describes"),
}


@pytest.mark.parametrize("name", POOL_MISTAKES)
def test_pool_that_does_not_fit(sick, name):
    over, words = POOL_MISTAKES[name]
    sick.configure(gcp_credential(sick))
    document = pool(sick, **{**over, "oidc": over.get("oidc") or {}})
    if over.get("oidc", {}) is None:
        del document["oidc"]
    report = judged(sick, "--pool-provider", document, "--offline")
    report.one("trust.pool", "wrong", words)
    assert report.wrong() == ["trust.pool"]


@pytest.mark.parametrize("over", [
    {"condition": "assertion.sub.matches('^system:.*$')"},
    {"condition": "assertion.sub == 'x' || assertion.sub.startsWith('system:serviceaccount:prod:')"},
    {"condition": "google.subject in ['a', 'b']"},
    {"mapping": {"google.subject": "assertion.email"}},
    {"mapping": {"google.subject": "'" + "x" * 100 + "' + assertion.sub"}},
])
def test_pool_that_cannot_be_evaluated(sick, over):
    sick.configure(gcp_credential(sick))
    report = judged(sick, "--pool-provider", pool(sick, **over), "--offline")
    report.one("trust.pool", "warning", "cannot be evaluated")
    assert not report.wrong()


def test_token_for_another_pool(sick):
    """Known without asking the cloud: the token names a provider, and the configuration another."""
    sick.configure(gcp_credential(sick, audience=["https://iam.googleapis.com/" + POOL.replace("demo", "other")]))
    doctor(sick, "--offline").one("trust.needed", "warning", "configured provider is", "workloadIdentityPools/other")
    sick.configure(gcp_credential(sick, audience=["https://iam.googleapis.com/" + POOL]))
    assert not doctor(sick, "--offline").all("trust.needed", "warning")


def test_secret_of_the_cluster(sick):
    secret = {"name": "s", "namespace": "default", "kubeconfig": sick.cloud.ready["kubeconfig"],
              "keys": [{"name": "t", "format": "token"}]}
    sick.configure(sick.credential(publish={"secret": secret}))
    report = doctor(sick)
    report.one("publish.cluster", "ok", "answers")
    assert not report.wrong()
    config = sick.dir / "kubeconfig"
    config.write_text(pathlib.Path(sick.cloud.ready["kubeconfig"]).read_text().replace("demo-kube-token", "no-such-token"))
    sick.configure(sick.credential(publish={"secret": {**secret, "kubeconfig": str(config)}}))
    report = doctor(sick)
    assert "401" in report.one("publish.cluster", "wrong")["text"] and "no-such-token" not in report.text


def test_image_credential(sick):
    image = {"name": "pull", "match": ["123456789012.dkr.ecr.us-east-1.amazonaws.com"], "exchange": aws(sick)}
    sick.configure(sick.credential(), image_credentials=[image])
    report = doctor(sick, "pull")
    report.one("cloud.exchange", "note", "request of the kubelet")
    report.one("net.connect", "ok")


def test_keystone(sick):
    exchange = {"openstack": {"auth_url": sick.cloud.ready["keystone_url"], "identity_provider": "demo",
                              "protocol": "openid", "project_id": "demo-project", "ca_file": sick.cloud.ca}}
    publish = {"directory": str(sick.out), "files": [{"name": "t", "format": "token"}]}
    sick.configure(sick.credential(exchange=exchange, token=token_file(sick, audience=["elsewhere"]), publish=publish))
    report = doctor(sick)
    report.one("cloud.exchange", "wrong")
    report.one("trust.needed", "note", 'identity provider "demo"', sick.cloud.ready["issuer"], SUBJECT)


# ---- secrets, and the whole of it ----

def test_no_secret_is_told(sick):
    token = (sick.cloud.volumes["demo"] / "token").read_text()
    done = sick.run("doctor")
    text = done.stdout + done.stderr
    for part in token.split("."):
        assert part not in text
    assert not re.search(r"eyJ[A-Za-z0-9_-]{10}|ASIA[A-Z0-9]{16}", text)


def test_every_check_is_documented_and_real():
    """What docs/doctor.md lists is what the sources have."""
    root = DOCS.parents[1]
    sources = "\n".join(path.read_text() for path in [*root.glob("agent/doctor/*.c"), *root.glob("agent/doctor/policy/*.c"),
                                                     *root.glob("agent/hook/*.c"), root / "sts/core/trust.h", root / "token/inspect.c"])
    kinds = "config|machine|agent|publish|hook|mint|ca|source|volume|token|clock|net|cloud|trust|doctor"
    named = set(re.findall(rf'"((?:{kinds})\.[a-z-]+)"', sources))
    listed = set(re.findall(r"^\| `([a-z]+\.[a-z-]+)` \|", DOCS.read_text(), re.M))
    assert named == listed, named ^ listed
