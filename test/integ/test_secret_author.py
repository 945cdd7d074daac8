# SPDX-License-Identifier: MIT
"""The author of a mounted Secret attacks: files and work without an end, tokens of this machine, hosts of their own."""
import base64
import http.server
import json
import os
import pathlib
import random
import re
import ssl
import subprocess
import threading
import time

import pytest

from conftest import LIMIT_S, Mounted, eventually
from test_sources import CLIENT, DEMO_ROLE, GCP_ACCOUNT, GCP_AUDIENCE, TENANT, last_error

IMPERSONATE = f"/v1/projects/-/serviceAccounts/{GCP_ACCOUNT}:generateAccessToken"
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
API = ["https://kubernetes.default.svc.cluster.local"]


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


@pytest.fixture
def secret(tmp_path):
    return Mounted(tmp_path / "mnt" / "secret")


class Collector:
    """A server of the author's on loopback: keeps whatever is sent there, and answers that it is well, or ANSWER."""

    def __init__(self, directory, tls, key=("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), prepare=lambda context: None):
        self.got = []
        self.status, self.answer, self.token = 200, b"", "token-of-the-author"
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def collect(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                collector.got.append(f"{self.requestline}\n{self.headers}\n{body.decode('latin-1')}")
                self.send_response(collector.status)
                self.send_header("X-Subject-Token", collector.token)
                self.send_header("Content-Length", str(len(collector.answer)))
                self.end_headers()
                self.wfile.write(collector.answer)

            do_GET = do_POST = do_PUT = collect

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_port}"
        self.ca = directory / "collector.pem"
        if tls:
            subprocess.run(["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-days", "2", "-subj", "/CN=collector",
                            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", directory / "collector.key", "-out", self.ca],
                           check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.ca, directory / "collector.key")
            prepare(context)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def has(self, secret):
        return any(secret in text for text in list(self.got))


@pytest.fixture
def collector(tmp_path):
    made = Collector(tmp_path, True)
    yield made
    made.server.shutdown()


@pytest.fixture
def plain_collector(tmp_path):
    made = Collector(tmp_path, False)
    yield made
    made.server.shutdown()


def google_form(token, **over):
    doc = {"type": "external_account", "audience": GCP_AUDIENCE, "token_url": "https://sts.googleapis.com/v1/token",
           "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": {"file": str(token)}}
    return {"service_account.json": json.dumps({**doc, **over})}


def aws_form(token, *more):
    return {"credentials": "\n".join(["[default]", f"role_arn = {DEMO_ROLE}", "region = us-east-1",
                                      f"web_identity_token_file = {token}", *more])}


def azure_form(token, **more):
    return {"azure_client_id": CLIENT, "azure_tenant_id": TENANT, "azure_federated_token_file": str(token), **more}


def openstack_form(url, cacert=None, pem=None, **auth):
    auth = auth or {"application_credential_id": "demo-app-credential", "application_credential_secret": "demo-secret"}
    cloud = {"auth": {"auth_url": url, **auth}, **({"cacert": str(cacert)} if cacert else {})}
    return {"clouds.yaml": json.dumps({"clouds": {"openstack": cloud}}), **({"cacert": pem} if pem else {})}


def hostile(agent, secret, exchange=None, **mounted):
    """The credential of the Secret's author, whose token directory is where the good token is."""
    return agent.credential("hostile", token=None, exchange=exchange, secret={
        "directory": str(secret.dir), "token_directory": str(agent.dir / "tokens"), **mounted}, publish={
            "directory": str(agent.dir / "out-hostile"), "files": [{"name": "creds.json", "format": "json"}]})


def plant(agent, name="token", **how):
    path = agent.dir / "tokens" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(agent.cloud.token(**how))
    return path


def attack(agent, secret, keys, exchange=None, env=None, **mounted):
    """Runs the agent with the Secret KEYS; returns the text of the refusal."""
    secret.put(keys)
    agent.configure(hostile(agent, secret, exchange, **mounted)).start(env=env)
    eventually(lambda: last_error_of(agent) or agent.generation("hostile"), lambda: agent.log)
    assert agent.generation("hostile") == 0, agent.log
    return last_error_of(agent)


def last_error_of(agent):
    return (agent.status("hostile").get("last_error") or {}).get("message", "")


# ---- files without an end ----

def slowest_ms(agent, until):
    """The most processor time that the agent itself used from one answer on its control socket to the next, in milliseconds, until
    UNTIL is true. This is what an answer waits for, on a busy machine as well; what a child computes does not count."""
    clock = ~agent.process.pid << 3 | 2  # clock_getcpuclockid(3)
    slowest, before = 0.0, time.clock_gettime(clock)
    while True:
        done = until()
        assert agent.request("GET", "/v1/credentials")[0] == 200
        after = time.clock_gettime(clock)
        slowest, before = max(slowest, (after - before) * 1000), after
        if done:
            return slowest


def goes_on(agent):
    """Another credential is renewed, and the agent computes little."""
    before = agent.generation()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    end = time.monotonic() + LIMIT_S
    assert slowest_ms(agent, lambda: agent.generation() > before or time.monotonic() > end) < 100
    assert agent.generation() > before, agent.log


@pytest.mark.parametrize("kind", ["/proc/kmsg", "fifo"])
def test_a_ca_file_that_never_ends(agent, secret, kind):
    path = kind
    if kind == "fifo":
        path = agent.dir / "fifo"
        os.mkfifo(path)
    agent.configure(agent.credential(), hostile(agent, secret)).start()
    agent.wait_generation(1)
    secret.put(openstack_form(agent.cloud.ready["keystone_url"], cacert=path))
    eventually(lambda: "set `ca_file` in `exchange: {openstack: ...}`" in last_error_of(agent), lambda: agent.log)
    goes_on(agent)
    # Nor may the bytes that it brings in place of a path be anything else.
    secret.put(openstack_form(agent.cloud.ready["keystone_url"], pem=str(path)))
    eventually(lambda: "holds no whole certificate" in last_error_of(agent), lambda: agent.log)
    # OpenSSL would ask for the password of such a block, on the terminal or of standard input.
    with open(agent.cloud.ca, encoding="ascii") as f:
        pem = f.read().replace("CERTIFICATE-----\n", "CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n", 1)
    secret.put(openstack_form(agent.cloud.ready["keystone_url"], pem=pem))
    eventually(lambda: "something other than certificates" in last_error_of(agent), lambda: agent.log)
    goes_on(agent)


def test_a_ca_file_that_becomes_a_fifo(agent):
    """Of the configuration, which names a path of a volume: it is read by us, and is no file any more."""
    path = agent.dir / "ca.pem"
    with open(agent.cloud.ca, encoding="ascii") as f:
        path.write_text(f.read())
    other = agent.credential("hostile")
    other["exchange"] = json.loads(json.dumps(other["exchange"]))
    other["exchange"]["aws"]["ca_file"] = str(path)
    agent.configure(agent.credential(), other).start()
    agent.wait_generation(1, "hostile")
    path.unlink()
    os.mkfifo(path)
    assert agent.request("POST", "/v1/credentials/hostile/rotate")[0] == 202
    eventually(lambda: "not a regular file" in last_error_of(agent), lambda: agent.log)
    goes_on(agent)


def test_the_secrets_certificates_are_its_own(agent, secret, collector):
    """They count where the Secret's own secret goes, and for no other credential."""
    with open(agent.cloud.ca, encoding="ascii") as f:
        pem = f.read()
    secret.put(openstack_form(agent.cloud.ready["keystone_url"], cacert="/etc/of-another-pod.pem", pem=pem))
    # The bytes count that were read with the rest of the Secret; its path is not opened once more.
    (secret.dir / "cacert").unlink()
    (secret.dir / "cacert").symlink_to("/proc/kmsg")
    other = agent.credential("other")
    del other["exchange"]["aws"]["ca_file"]
    agent.configure(hostile(agent, secret), other).start(env={"SSL_CERT_FILE": str(collector.ca)})
    agent.wait_generation(1, "hostile")
    eventually(lambda: "not signed by a CA in" in (agent.status("other").get("last_error") or {}).get("message", ""),
               lambda: agent.log)
    assert agent.generation("other") == 0


# ---- work without an end ----

def slowest_until(agent, words):
    """slowest_ms until the Secret is refused with WORDS, a pattern."""
    end = time.monotonic() + LIMIT_S
    slowest = slowest_ms(agent, lambda: re.search(words, last_error_of(agent)) or time.monotonic() > end)
    assert re.search(words, last_error_of(agent)), agent.log
    return slowest


def der(tag, *parts):
    body = b"".join(parts)
    n = len(body)
    size = n.to_bytes((n.bit_length() + 7) // 8 or 1, "big")
    return bytes([tag]) + (size if n < 128 else bytes([0x80 | len(size)]) + size) + body


def number(n):
    return der(2, n.to_bytes(n.bit_length() // 8 + 1, "big"))


def pem(label, data):
    text = base64.b64encode(data).decode()
    lines = "\n".join(text[i:i + 64] for i in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


def large(bits):
    return random.Random(bits).getrandbits(bits) | 1 << (bits - 1) | 1


def rsa_key(bits, d, factor):
    """Nothing in it fits but its form, which is all that a reader checks."""
    numbers = [0, large(bits), 65537, large(d), *[large(factor)] * 5]
    return pem("RSA PRIVATE KEY", der(0x30, *map(number, numbers)))


def dsa_key(bits):
    """Without its public half, which a reader computes."""
    kind = der(0x30, bytes.fromhex("06072a8648ce380401"), der(0x30, *map(number, [large(bits), large(256), large(bits - 1)])))
    return pem("PRIVATE KEY", der(0x30, number(0), kind, der(4, number(large(bits - 1)))))


@pytest.mark.parametrize("key, words", [
    (lambda: rsa_key(2048, 2048, 20000), "do not belong together"),
    (lambda: rsa_key(2048, 200000, 1024), "do not belong together"),
    (lambda: rsa_key(16384, 16384, 8192), "the RSA key has 16384 bits"),
    (lambda: dsa_key(20000), "the key is of an unsupported type"),
], ids=["factors", "exponent", "size", "dsa"])
def test_a_key_that_takes_minutes(agent, secret, key, words):
    """Numbers of the author's choice, with which one signature, or reading the key, takes seconds or minutes."""
    agent.configure(agent.credential(), hostile(agent, secret)).start()
    agent.wait_generation(1)
    secret.put({"service_account.json": json.dumps({
        "type": "service_account", "client_email": GCP_ACCOUNT, "private_key_id": "1", "private_key": key()})})
    assert slowest_until(agent, words) < 300
    goes_on(agent)


def test_a_long_secret_that_is_looked_for(agent, secret, collector):
    """A refusal may repeat it: the more words it has, the more there was to look for at each character of the text."""
    collector.status = 401
    collector.answer = json.dumps({"error": {"code": 401, "title": "Unauthorized", "message": "a" * 2100}}).encode()
    agent.configure(agent.credential(), hostile(agent, secret)).start()
    agent.wait_generation(1)
    secret.put(openstack_form(collector.url, pem=collector.ca.read_text(), username="demo", user_domain_id="default",
                              project_id="demo", password="xxxx " * 25000 + "x"))
    assert slowest_until(agent, "HTTP 401") < 300
    goes_on(agent)


def test_a_catalog_of_nothing(agent, secret, collector):
    """As many entries as an answer may have, each of which is looked at."""
    collector.status = 201
    collector.answer = json.dumps({"token": {
        "expires_at": "2100-01-01T00:00:00.000000Z", "user": {"id": "1", "name": "demo"},
        "project": {"id": "demo", "name": "demo"}, "catalog": [0] * 16000}}, separators=(",", ":")).encode()
    agent.configure(agent.credential(), hostile(agent, secret, {"openstack": {"catalog": True}})).start()
    agent.wait_generation(1)
    keys = openstack_form(collector.url, pem=collector.ca.read_text(), username="demo", user_domain_id="default",
                          project_id="demo", password="demo-secret")
    clouds = json.loads(keys["clouds.yaml"])
    clouds["clouds"]["openstack"]["region_name"] = "here"
    secret.put({**keys, "clouds.yaml": json.dumps(clouds)})
    assert slowest_until(agent, "catalog has no public endpoint") < 300
    goes_on(agent)


def test_a_head_with_a_long_line(agent, secret, collector):
    """It is the server's mistake, not a want of memory here."""
    collector.token = "a" * 200000
    assert "a line of the answer's head is larger than" in attack(agent, secret, openstack_form(
        collector.url, pem=collector.ca.read_text()))
    assert agent.status("hostile")["last_error"]["code"] == "limit"


def test_a_key_exchange_of_the_servers_numbers(agent, secret, tmp_path):
    """TLS 1.2 lets a server choose the group of a Diffie-Hellman exchange, up to 10000 bits."""
    def prepare(context):
        group = tmp_path / "group.pem"
        group.write_text(pem("DH PARAMETERS", der(0x30, number(large(10000)), number(2))))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("DHE:ECDHE:@SECLEVEL=0")
        context.load_dh_params(group)

    server = Collector(tmp_path, True, ("rsa:2048",), prepare)
    server.status = 401
    agent.configure(agent.credential(), hostile(agent, secret)).start()
    agent.wait_generation(1)
    secret.put(openstack_form(server.url, pem=server.ca.read_text(), username="demo", user_domain_id="default",
                              project_id="demo", password="demo-secret"))
    assert slowest_until(agent, "HTTP 401") < 300
    goes_on(agent)
    server.server.shutdown()


def own_curve():
    """A certificate with a prime field in which it takes 45 ms to find the square root that its key needs."""
    return (DATA / "x509/own-curve.pem").read_text()


def test_a_chain_of_certificates_with_their_own_curves(agent, secret, tmp_path):
    """They are parsed before any is verified, so any host that answers in place of a server can send them."""
    def prepare(context):
        chain = tmp_path / "chain.pem"
        chain.write_text((tmp_path / "collector.pem").read_text() + own_curve() * 120)
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(chain, tmp_path / "collector.key")

    server = Collector(tmp_path, True, prepare=prepare)
    agent.configure(agent.credential(), hostile(agent, secret)).start()
    agent.wait_generation(1)
    secret.put(openstack_form(server.url, pem=pathlib.Path(agent.cloud.ca).read_text()))
    assert slowest_until(agent, "no TLS connection") < 300
    goes_on(agent)
    server.server.shutdown()


def test_a_long_chain(agent, secret, tmp_path):
    """Each signature in it is verified, with keys and exponents of the author's choice."""
    def openssl(*args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, cwd=tmp_path)

    def prepare(context):
        names = tmp_path / "names"
        names.write_text("basicConstraints=critical,CA:TRUE\nsubjectAltName=IP:127.0.0.1\n")
        issuer = tmp_path / "collector.pem"
        chain = issuer.read_text()
        for i in range(12):
            made = tmp_path / f"{i}.pem"
            openssl("req", "-new", "-key", "collector.key", "-subj", f"/CN={i}", "-out", "request.pem")
            openssl("x509", "-req", "-in", "request.pem", "-CA", issuer, "-CAkey", "collector.key", "-set_serial", i + 1, "-days",
                    "2", "-extfile", names, "-out", made)
            chain, issuer = made.read_text() + chain, made
        (tmp_path / "chain.pem").write_text(chain)
        context.load_cert_chain(tmp_path / "chain.pem", tmp_path / "collector.key")

    server = Collector(tmp_path, True, prepare=prepare)
    text = attack(agent, secret, openstack_form(server.url, pem=server.ca.read_text()))
    assert "its certificate is refused" in text and "chain too long" in text
    assert server.got == []
    server.server.shutdown()


def test_ca_certificates_with_their_own_curves(agent, secret, collector):
    agent.configure(agent.credential(), hostile(agent, secret)).start()
    agent.wait_generation(1)
    secret.put(openstack_form(collector.url, pem=collector.ca.read_text() + own_curve() * 100))
    assert slowest_until(agent, "cacert has a certificate that is refused: the key has explicit curve parameters") < 300
    assert collector.got == []
    goes_on(agent)


# ---- tokens of this machine ----

def admin_token(agent):
    """A cluster-admin's, as a pod's default volume has it."""
    return plant(agent, "api-token", namespace="kube-system", service_account="cluster-admin", audience=API)


FORMS = {
    "aws": lambda token: (aws_form(token), lambda c: {"aws": {"endpoint": c.url, "ca_file": str(c.ca)}}),
    "azure": lambda token: (azure_form(token), lambda c: {"azure": {"authority_host": c.url, "ca_file": str(c.ca)}}),
    "gcp": lambda token: (google_form(token), lambda c: {"gcp": {"sts_endpoint": c.url, "ca_file": str(c.ca)}}),
}


@pytest.mark.parametrize("provider", FORMS)
def test_a_token_for_the_api_server(agent, secret, collector, provider):
    """Even below the token directory, and even where the configuration itself names the collector."""
    path = admin_token(agent)
    keys, exchange = FORMS[provider](path)
    assert "is for the Kubernetes API server" in attack(agent, secret, keys, exchange(collector))
    assert collector.got == []
    # The same way with a token for the cloud: it is the audience that was refused, and the collector collects.
    good = plant(agent, "token")
    secret.put(FORMS[provider](good)[0])
    eventually(lambda: collector.has(good.read_text()), lambda: agent.log)
    assert not collector.has(path.read_text())


@pytest.mark.parametrize("provider", FORMS)
def test_a_token_file_elsewhere(agent, secret, collector, provider):
    path = agent.dir / "token-of-another"
    path.write_text(agent.cloud.token())
    keys, exchange = FORMS[provider](path)
    assert "set `token_directory` of `secret`" in attack(agent, secret, keys, exchange(collector))
    plant(agent)
    for around in ("tokens/../token-of-another", "tokens-of-another/token", "tokens//../token-of-another"):
        secret.put(FORMS[provider](agent.dir / around)[0])
        eventually(lambda a=around: str(agent.dir / a) in last_error_of(agent), lambda: agent.log)
    assert collector.got == []


def test_the_usual_directory(agent, secret, collector):
    """Without `token_directory` it is OpenShift's."""
    keys, exchange = FORMS["aws"](plant(agent))
    secret.put(keys)
    credential = hostile(agent, secret, exchange(collector))
    del credential["secret"]["token_directory"]
    agent.configure(credential).start()
    eventually(lambda: "below /var/run/secrets/openshift/serviceaccount" in last_error_of(agent), lambda: agent.log)
    assert collector.got == []


@pytest.mark.parametrize("how", ["file", "directory", "upward", "data"])
def test_a_planted_link(agent, secret, collector, how):
    """In the token directory, by a user that can write there, to the token of another."""
    away = agent.dir / "away"
    away.mkdir()
    (away / "token").write_text(agent.cloud.token())
    tokens = agent.dir / "tokens"
    tokens.mkdir()
    path = tokens / "token"
    if how == "file":
        path.symlink_to(away / "token")
    elif how == "upward":
        path.symlink_to("../away/token")
    elif how == "directory":
        (tokens / "sub").symlink_to(away)
        path = tokens / "sub" / "token"
    else:
        (tokens / "..data").symlink_to("../away")
        path.symlink_to("..data/token")
    keys, exchange = FORMS["aws"](path)
    assert "out of that directory" in attack(agent, secret, keys, exchange(collector))
    assert collector.got == []
    # A volume as the kubelet makes it is followed, with the same links inside.
    for entry in tokens.iterdir():
        entry.unlink()
    token = agent.cloud.token()
    Mounted(tokens).put({"token": token})
    secret.put(FORMS["aws"](tokens / "token")[0])
    eventually(lambda: collector.has(token), lambda: agent.log)
    assert not collector.has((away / "token").read_text())


# ---- hosts of the author's ----

def test_google_urls(agent, secret, collector, plain_collector):
    """The author's server is one whose certificate this machine trusts, so only the rule keeps the token here."""
    path = plant(agent)
    trusted = {"SSL_CERT_FILE": str(collector.ca)}
    text = attack(agent, secret, google_form(path, token_url=collector.url + "/v1/token"), env=trusted)
    assert "token_url: " in text and "set `sts_endpoint` below `gcp`" in text
    for over, words in (({"token_url": plain_collector.url + "/v1/token"}, "token_url: "),
                        ({"service_account_impersonation_url": collector.url + IMPERSONATE}, "set `iam_endpoint`"),
                        ({"service_account_impersonation_url": plain_collector.url + IMPERSONATE}, "set `iam_endpoint`"),
                        ({"universe_domain": "collector.example", "token_url": "https://sts.collector.example/v1/token"},
                         "set `universe_domain`")):
        secret.put(google_form(path, **over))
        eventually(lambda w=words: w in last_error_of(agent), lambda: agent.log)
    assert collector.got == [] and plain_collector.got == []
    # With the key that the error names it is the configuration's word.
    secret.put(google_form(path, token_url=collector.url + "/v1/token"))
    agent.configure(hostile(agent, secret, {"gcp": {"sts_endpoint": collector.url + "/v1/token"}}))
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: collector.has(path.read_text()), lambda: agent.log)


def test_google_tokens_on_the_way(agent, secret, collector):
    """The access token that the machine's token was exchanged for is as good as that."""
    path = plant(agent, audience=[f"https:{GCP_AUDIENCE}"])
    exchange = {"gcp": {"sts_endpoint": agent.cloud.ready["gcp_url"] + "/v1/token", "ca_file": agent.cloud.ca}}
    keys = google_form(path, service_account_impersonation_url=collector.url + IMPERSONATE)
    assert "set `iam_endpoint`" in attack(agent, secret, keys, exchange)
    assert collector.got == []


def test_a_file_that_the_configuration_names(agent, collector):
    """It may be a ConfigMap or a Secret of another author, and is held to the same rule."""
    path, file = plant(agent), agent.dir / "google.json"
    file.write_text(google_form(path, token_url=collector.url + "/v1/token")["service_account.json"])
    agent.configure(agent.credential("hostile", token={"file": str(path)}, exchange={"gcp": {"credentials_file": str(file)}},
                                     publish={"directory": str(agent.out),
                                              "files": [{"name": "t", "format": "gcp-access-token"}]}))
    agent.start(env={"SSL_CERT_FILE": str(collector.ca)})
    eventually(lambda: "set `sts_endpoint`" in last_error_of(agent), lambda: agent.log)
    assert collector.got == []


def test_hosts_of_the_others(agent, secret, collector):
    trusted = {"SSL_CERT_FILE": str(collector.ca)}
    path = plant(agent)
    assert "set `endpoint` in `exchange: {aws: ...}`" in attack(
        agent, secret, aws_form(path, f"endpoint_url = {collector.url}"), env=trusted)
    for keys, words in ((aws_form(path, "ca_bundle = /proc/kmsg"), "set `ca_file` in `exchange: {aws: ...}`"),
                        (aws_form(path, "credential_process = /bin/sh"), "credential_process"),
                        (azure_form(path, azure_authority_host=collector.url), "set `cloud` or `authority_host`"),
                        (aws_form(path).copy() | {"credentials": aws_form(path)["credentials"].replace(
                            "us-east-1", f"x.{collector.url.partition('//')[2]}/")}, "region")):
        secret.put(keys)
        eventually(lambda w=words: w in last_error_of(agent), lambda: agent.log)
    assert collector.got == []


def test_openstack_gets_its_own_secret_alone(agent, secret, collector, plain_collector):
    """The host that the Secret names may have the Secret's password, over https, and not one of the configuration's."""
    ours = agent.dir / "password"
    ours.write_text("password-of-this-machine")
    trusted = {"SSL_CERT_FILE": str(collector.ca)}
    user = {"username": "robot", "user_domain_name": "Default", "project_id": "p"}
    keys = openstack_form(collector.url, **user, password="of-the-secret")
    assert "set `auth_url` there, too" in attack(agent, secret, keys, {"openstack": {"password_file": str(ours)}}, env=trusted)
    agent.configure(hostile(agent, secret))
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: collector.has("of-the-secret"), lambda: agent.log)
    assert not collector.has("password-of-this-machine")
    secret.put(openstack_form(plain_collector.url, **user, password="of-the-secret"))
    eventually(lambda: "auth_url in clouds.yaml is not https" in last_error_of(agent), lambda: agent.log)
    assert plain_collector.got == []


# ---- what is said of it ----

def test_check_and_doctor_say_what_is_taken(agent, secret):
    path = plant(agent)
    secret.put(aws_form(path))
    agent.configure(hostile(agent, secret, {"aws": {"endpoint": agent.cloud.sts, "ca_file": agent.cloud.ca}}))
    for argv in (["check", "--online"], ["doctor", "-v"]):
        said = " ".join(agent.run(*argv).stdout.split())
        assert "used: the token's path, role_arn, region; ignored: other hosts, paths and CA files" in said, said
    secret.put(aws_form("/etc/shadow"))
    for argv in (["check", "--online"], ["doctor", "-v"]):
        done = agent.run(*argv)
        assert done.returncode != 0 and "set `token_directory` of `secret`" in " ".join(done.stdout.split()), done.stdout
