# SPDX-License-Identifier: MIT
"""A token service that repeats every secret of the exchange in each field and header that it has, with control bytes: none is
ever shown."""
import base64
import http.server
import json
import os
import pathlib
import re
import socket
import socketserver
import subprocess
import threading
import time
import urllib.parse

import pytest

from conftest import CREDFRESH, ROLE, eventually
from test_sources import CLIENT, GCP_ACCOUNT, GCP_AUDIENCE, TENANT

# Not to be mistaken for a word of a message, and neither long nor of the form of a token.
CLIENT_SECRET = "kW7q.Zp3~Rt9-Lm2x"
PASSWORD = "Vb8 hN4wQz6+Yc1fDg"
SECRET_KEY = "sJ5d/Xe0uPa7rTk3oGi9mBv2"
SESSION = "Qy6tHs1nCw8/Er4bUj0+Mf5pKx"
NEW_KEY = "Lz2gOa9iVd7/Sq3yWe6rTn1cXb"
LOGIN = "Hn5ePz8wBq2_Jt7yGc4vXk0mDs"
EVIL = "\x1b[31m\x9b2J\u202e\x07\nFAKE error line \x7f"


class Service(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Answers as every cloud at once; REFUSES says with what."""

    daemon_threads = True

    def __init__(self, known):
        super().__init__(("127.0.0.1", 0), Handler)
        self.known, self.refuses, self.requests, self.name = known, True, 0, SESSION
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", **more):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        login = self.headers.get("Authorization", "").split(" ")[-1]
        said = list(self.server.known)
        for values in urllib.parse.parse_qs(body).values():
            said += [v for v in values if len(v) > 40]
        # By words of both kinds: alone, and inside another.
        self.action = (urllib.parse.parse_qs(body).get("Action") or ["AssumeRoleWithWebIdentity"])[0]
        echo = " ".join([*said, *(f"x{one[2:-1]}y" for one in said), login]) + " "
        self.server.requests += 1
        if self.path.endswith("/oauth2/exchange"):
            return self.log_in(urllib.parse.parse_qs(body)["service"][0])
        heads = {"x-amzn-RequestId": said[0][:90], "x-ms-request-id": said[0][:90], "x-openstack-request-id": said[0][:90],
                 "Warning": f'299 - "{said[0][:90]}"', "WWW-Authenticate": f'Bearer error="{said[0][:90]}"'}
        if self.server.refuses:
            self.refuse(echo, heads)
        else:
            self.grant(echo, heads)

    def log_in(self, registry):
        """The first registry grants a login, which the next one repeats."""
        if registry == "first.azurecr.io":
            claims = base64.urlsafe_b64encode(json.dumps({"exp": int(time.time()) + 3600}).encode()).decode().rstrip("=")
            return self.answer(200, {"refresh_token": f"e30.{claims}.{LOGIN}"})
        return self.answer(403, {"errors": [{"code": "DENIED", "message": f"{LOGIN} x{LOGIN[2:-1]} {registry}"}]})

    def refuse(self, echo, heads):
        which = self.server.requests % 3
        text = ("", EVIL)[which == 1] + echo
        if "Action=" in self.path or self.path == "/":
            plain = re.sub("[\x00-\x08\x0b-\x1f]", "?", text).replace("&", "&amp;").replace("<", "&lt;")
            return self.answer(400, f"<ErrorResponse><Error><Type>Sender</Type><Code>{('Validation', plain)[which == 2]}</Code><Message>"
                                    f"{plain}</Message></Error><RequestId>{plain}</RequestId></ErrorResponse>".encode(), "text/xml", **heads)
        code = ("invalid_request", text)[which == 2]
        if self.path.startswith("/v3"):
            return self.answer(401, {"error": {"code": 401, "title": code, "message": text}}, **heads)
        return self.answer(400, {"error": code, "error_description": text, "error_codes": [700016], "trace_id": text,
                                 "correlation_id": text, "error_uri": text}, **heads)

    def grant(self, echo, heads):
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        fresh = f"{SESSION} {NEW_KEY}"
        if self.path == "/":
            return self.answer(200, (
                f"<{self.action}Response><{self.action}Result><Audience>" + NEW_KEY + "</Audience>"
                f"<AssumedRoleUser><AssumedRoleId>{SESSION}</AssumedRoleId><Arn>arn:aws:sts::123456789012:assumed-role/demo/{SESSION}</Arn>"
                f"</AssumedRoleUser><Provider>{SESSION}</Provider><SubjectFromWebIdentityToken>{SESSION}</SubjectFromWebIdentityToken>"
                f"<Credentials><AccessKeyId>ASIAHOSTILE000000000</AccessKeyId><SecretAccessKey>{NEW_KEY}</SecretAccessKey>"
                f"<SessionToken>{SESSION}</SessionToken><Expiration>{end}</Expiration></Credentials>"
                f"</{self.action}Result><ResponseMetadata><RequestId>{fresh}</RequestId></ResponseMetadata>"
                f"</{self.action}Response>").encode(), "text/xml", **heads)
        if self.path.startswith("/v3"):
            name = self.server.name
            names = {"id": name, "name": name, "domain": {"id": name, "name": name}}
            return self.answer(201, {"token": {"expires_at": end.replace("Z", ".000000Z"), "issued_at": "2020-01-01T00:00:00.000000Z",
                                               "methods": ["password"], "user": names, "project": names, "roles": [names]}},
                               **{**heads, "X-Subject-Token": SESSION})
        if "generateAccessToken" in self.path:
            return self.answer(200, {"accessToken": SESSION, "expireTime": end, "name": SESSION}, **heads)
        return self.answer(200, {"access_token": SESSION, "token_type": "Bearer", "expires_in": 3600, "scope": fresh, "id": fresh,
                                 "client_id": SESSION, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}, **heads)


def written(agent, name, text):
    path = agent.dir / name
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def exchange_of(agent, kind, url):
    """(the exchange, the token's volume or None)"""
    if kind == "aws":
        return {"aws": {"role_arn": ROLE, "region": "us-east-1", "endpoint": url}}, "demo"
    if kind == "aws-keys":
        return {"aws": {"role_arn": ROLE, "region": "us-east-1", "endpoint": url, "access_key_id_file":
                        written(agent, "id", "AKIAHOSTILE000000000"), "secret_access_key_file": written(agent, "key", SECRET_KEY)}}, None
    if kind == "azure":
        return {"azure": {"tenant_id": TENANT, "client_id": CLIENT, "scopes": ["https://vault.azure.net/.default"],
                          "authority_host": url}}, "azure"
    if kind == "azure-secret":
        return {"azure": {"tenant_id": TENANT, "client_id": CLIENT, "scopes": ["https://vault.azure.net/.default"],
                          "authority_host": url, "client_secret_file": written(agent, "secret", CLIENT_SECRET)}}, None
    if kind == "gcp":
        return {"gcp": {"audience": GCP_AUDIENCE, "service_account": GCP_ACCOUNT, "sts_endpoint": url + "/v1/token",
                        "iam_endpoint": url}}, "gcp"
    if kind == "openstack":
        return {"openstack": {"auth_url": url + "/v3", "username": "demo", "user_domain_name": "Default", "project_name": "demo",
                              "project_domain_name": "Default", "password_file": written(agent, "password", PASSWORD)}}, None
    assert kind == "oauth"
    return {"oauth": {"token_url": url + "/token", "client_id": "demo-client", "client_authentication": "basic",
                      "client_secret_file": written(agent, "secret", CLIENT_SECRET)}}, "demo"


FIELDS = {"aws": "aws-credentials", "aws-keys": "aws-credentials"}
KINDS = ["aws", "aws-keys", "azure", "azure-secret", "gcp", "openstack", "oauth"]


def pieces(secrets):
    """12 characters of a secret are as good as the whole."""
    found = set()
    for one in secrets:
        for word in one.split():
            found |= {word[i:i + 12] for i in range(max(1, len(word) - 11))} if len(word) >= 8 else set()
    return found


def check_shown(what, text, secrets):
    leaked = [p for p in pieces(secrets) if p in text]
    assert not leaked, (what, leaked[:3], text[max(0, text.find(leaked[0]) - 200):][:600])
    bad = {hex(ord(c)) for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c == "\u202e" or c == "\ufffe"}
    assert not bad, (what, bad)
    assert not re.search("^FAKE", text, re.M), (what, text)


@pytest.fixture
def hostile(agent_factory, shared_cloud):
    made = []

    def make(kind):
        agent = agent_factory(shared_cloud)
        volume = None
        known = [CLIENT_SECRET, *PASSWORD.split(), PASSWORD, SECRET_KEY, SESSION, NEW_KEY]
        service = Service(known)
        made.append(service)
        exchange, volume = exchange_of(agent, kind, service.url)
        over = {"token": None}
        if volume is not None:
            path = pathlib.Path(shared_cloud.volumes[volume]) / "token"
            over = {"token": {"file": str(path)}}
            known.insert(0, path.read_text().strip())
        basic = base64.b64encode(f"demo-client:{CLIENT_SECRET}".encode()).decode()
        known.append(basic)
        # Without a subject token the others are no part of the exchange until they are granted.
        sent = {"aws": [0], "aws-keys": [SECRET_KEY], "azure": [0], "azure-secret": [CLIENT_SECRET], "gcp": [0],
                "openstack": [PASSWORD, *PASSWORD.split()], "oauth": [0, CLIENT_SECRET, basic]}[kind]
        service.known = [known[0] if one == 0 else one for one in sent]
        publish = {"directory": str(agent.out), "files": [{"name": "creds.json", "format": "json"}]}
        agent.configure(agent.credential(exchange=exchange, publish=publish, **over))
        return agent, service

    yield make
    for service in made:
        service.shutdown()
        service.server_close()


def test_status_of_a_socket_that_lies(tmp_path):
    """The table is for a terminal, whatever the other end of the socket is."""
    text = "a" + EVIL + "z"
    hook = {"name": text, "result": text, "error": text}
    doc = {"agent": {"config": {"error": text}}, "authority": {"number": 1, "error": text}, "sandbox": [
        {"part": text, "why_not": text, "on": False}], "credentials": [{
        "name": text, "state": text, "identity": text, "last_error": {"message": text}, "deliveries": [hook], "hooks": [hook],
        "consumers": [{"name": text}], "mint": {"state": text, "step": text, "waits_for": text, "error": text}}]}
    body = json.dumps(doc).encode()
    path = str(tmp_path / "sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        asking = subprocess.Popen([CREDFRESH, "status", "-s", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        one, _ = listening.accept()
        with one:
            one.recv(65536)
            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            shown = asking.communicate(timeout=20)[0].decode()
    assert asking.returncode == 0 and shown.count("FAKE error line") > 8, shown
    check_shown("status", shown, [])


class Liar(socketserver.ThreadingUnixStreamServer):
    """A control socket that answers each request alike."""

    daemon_threads = True

    def __init__(self, path, status, body):
        self.answer = (b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                       % (status, len(body)) + body)
        self.requests = 0
        super().__init__(path, LiarHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class LiarHandler(socketserver.BaseRequestHandler):
    def handle(self):
        self.server.requests += 1
        self.request.recv(65536)
        self.request.sendall(self.server.answer)


@pytest.mark.parametrize("argv", [["status", "--json"], ["completion", "names"]])
def test_a_terminal_is_safe_from_a_socket_that_lies(tmp_path, argv):
    """Where names and JSON are printed as they come, too."""
    path = str(tmp_path / "sock")
    doc = {"credentials": [{"name": "good", "state": "fresh"}, {"name": "a" + EVIL + "\u009b\u061c\U000e0041z", "state": "fresh"}]}
    for body in (json.dumps(doc), json.dumps(doc, ensure_ascii=False), json.dumps(doc, ensure_ascii=False).replace("\\u001b", "\x1b")):
        with Liar(path, 200, body.encode() + b"\n"):
            done = subprocess.run([CREDFRESH, *argv, "-s", path], capture_output=True, timeout=20)
        os.unlink(path)
        assert done.returncode == 0, done
        check_shown(argv, (done.stdout + done.stderr).decode(), [])
        assert b"good" in done.stdout and all(c == "\n" or c.isprintable() for c in done.stdout.decode()), done.stdout
        if argv[1] == "--json":
            assert json.loads(done.stdout)["credentials"][0] == doc["credentials"][0]


@pytest.mark.parametrize("status, body, says", [
    (403, b'{"error": {"message": "not for you"}}', "not for you"), (404, b"{}", "the agent answered 404"),
    (500, b'{"error": {"message": "broken"}}', "broken"), (200, b"{}", "has no list of credentials"),
    (200, b'{"credentials": null}', "has no list of credentials"), (200, b'{"credentials": {}}', "has no list of credentials")])
def test_an_error_is_no_success(tmp_path, status, body, says):
    """`wait` is a readiness probe: an answer without the list says nothing good."""
    for i, argv in enumerate((("wait",), ("wait", "demo"), ("rotate", "--all"), ("rotate", "demo"), ("status", "--exit-code"))):
        path = str(tmp_path / f"sock-{i}")
        with Liar(path, status, body) as liar:
            limit = ["--timeout", "2s"] if argv[0] == "wait" else []
            done = subprocess.run([CREDFRESH, *argv, *limit, "-s", path], capture_output=True, text=True, timeout=20)
            assert (done.returncode, done.stdout) == (6, "") and says in done.stderr, (argv, done)
            # Only an error of the agent itself can pass.
            assert (liar.requests > 1) == (argv[0] == "wait" and status == 500), argv
            liar.shutdown()


def outputs(agent):
    _, listing = agent.request("GET", "/v1/credentials")
    yield "status of the socket", json.dumps(listing, ensure_ascii=False).replace("\\u", "\\\\u")
    for page in ("/metrics", "/readyz?verbose"):
        yield page, agent.request("GET", page)[1]
    for argv in (("status",), ("check",), ("doctor", "--timeout", "10s"), ("once", "--timeout", "3s"),
                 ("get", "token", "demo", "--field", "none", "--timeout", "2s")):
        done = agent.run(*argv)
        yield argv[0], done.stderr + ("" if argv[0] == "get" else done.stdout)
    yield "log", agent.log


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_that_repeats_secrets(hostile, kind):
    agent, service = hostile(kind)
    agent.start()
    eventually(lambda: agent.status().get("consecutive_failures", 0) >= 1, lambda: agent.log)
    for count in (2, 3, 4):
        agent.request("POST", "/v1/credentials/demo/rotate", "{}")
        eventually(lambda: agent.status().get("consecutive_failures", 0) >= count, lambda: agent.log)
    assert service.requests >= 4
    for what, text in outputs(agent):
        check_shown(what, text, service.known)
    assert "[removed]" in agent.log or "[removed]" in json.dumps(agent.status()), agent.log


@pytest.mark.parametrize("kind", KINDS)
def test_a_grant_that_repeats_secrets(hostile, kind):
    agent, service = hostile(kind)
    service.refuses = False
    agent.start()
    eventually(lambda: agent.status().get("published") or agent.status().get("consecutive_failures"), lambda: agent.log)
    for what, text in outputs(agent):
        check_shown(what, text, [*service.known, SESSION, NEW_KEY])
    assert agent.status()["published"], agent.log
    # The grant itself is whole.
    assert SESSION in (agent.out / "creds.json").read_text()


@pytest.mark.parametrize("refuses", [True, False])
@pytest.mark.parametrize("password", ["qv7z", "hunter2", "correct horse battery staple"])
def test_a_short_password_or_one_of_short_words(hostile, password, refuses):
    agent, service = hostile("openstack")
    written(agent, "password", password)
    service.known, service.name, service.refuses = [password], password, refuses
    agent.start()
    eventually(lambda: agent.status().get("published") or agent.status().get("consecutive_failures"), lambda: agent.log)
    assert bool(agent.status()["published"]) != refuses, agent.log
    for what, text in outputs(agent):
        assert not re.search(r"\b(" + "|".join([password, *password.split()]) + r")\b", text), (what, text)


def test_a_login_to_a_registry_is_hidden_and_its_host_is_not(hostile):
    agent, service = hostile("azure")
    service.refuses = False
    exchange, volume = exchange_of(agent, "azure", service.url)
    exchange["azure"].update(scopes=["https://containerregistry.azure.net/.default"], acr_endpoint=service.url,
                             acr=["first.azurecr.io", "the-first.azurecr.io"])
    agent.configure(agent.credential(exchange=exchange, token={"file": str(agent.cloud.volumes[volume] / "token")},
                                     publish={"file": {"path": str(agent.dir / "config.json"), "format": "docker-config"}}))
    agent.start()
    eventually(lambda: agent.status().get("consecutive_failures"), lambda: agent.log)
    assert "DENIED: [removed] [removed] the-first.azurecr.io" in agent.status()["last_error"]["message"]
    for what, text in outputs(agent):
        check_shown(what, text, [LOGIN])
