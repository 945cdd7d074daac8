# SPDX-License-Identifier: MIT
"""What SDKs get from an endpoint in bad moments: outages, restarts, the end of a token, the end of the agent."""
import calendar
import os
import re
import socket
import threading
import time

import pytest

from conftest import eventually
from endpoint_client import ask, free_port
from test_endpoints import aws, azure, container, gcp, secret_of, serve_one, wait_served, where

ROLES = "/latest/meta-data/iam/security-credentials/"
VAULT = "resource=https%3A%2F%2Fvault.azure.net"


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


def session_of(at, ttl_s=21600, path="/latest/api/token"):
    got = ask(at, path, "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": str(ttl_s)}, body=b"")
    assert got.status == 200, got.text
    return {"X-aws-ec2-metadata-token": got.text}


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


# ---- an outage ----

def test_every_shape_says_why_and_to_ask_again_soon(agent):
    agent.cloud.fault(kind="error", code="AccessDenied", status=403, message="nobody may do this", count=-1)
    at = where()
    agent.configure(agent.credential(publish=None, allow={}), gcp(agent), azure(agent), token_socket=str(agent.dir / "tokens"), endpoints=[{
        "listen": at,
        "aws_container": container(agent),
        "ec2_imds": {"credential": "demo"},
        "gce_metadata": {"accounts": [{"credential": "gcp"}]},
        "azure_imds": {"identities": [{"credential": "azure"}]},
        "azure_app_service": {"identities": [{"credential": "azure"}], "header": {"file": str(agent.dir / "header")}},
    }]).start()
    for name in ("demo", "gcp", "azure"):
        agent.wait_state("backoff", name)
    session = session_of(at)
    answers = {
        "demo": [aws(agent, at), ask(at, ROLES + "demo", headers=session), ask(str(agent.socket), "/v1/token/demo"),
                 ask(str(agent.dir / "tokens"), "/v1/token/demo")],
        "gcp": [ask(at, "/computeMetadata/v1/instance/service-accounts/default/token", headers={"Metadata-Flavor": "Google"})],
        "azure": [ask(at, "/metadata/identity/oauth2/token?api-version=2018-02-01&" + VAULT, headers={"Metadata": "true"}),
                  ask(at, "/msi/token?api-version=2019-08-01&" + VAULT, headers={"X-IDENTITY-HEADER": secret_of(agent, "header")})],
    }
    for name, got in answers.items():
        cause = agent.status(name)["last_error"]["message"]
        for answer in got:
            assert answer.status == 503 and 1 <= int(answer.headers["retry-after"]) <= 5
            shown = answer.text if name == "gcp" else None
            if shown is None:
                doc = answer.json
                shown = doc.get("message") or doc.get("error_description") or doc["error"]["message"]
            assert shown.strip() == f"credential {name}: {cause}"
    assert "AccessDenied" in answers["demo"][0].text and "nobody may do this" in answers["demo"][0].text
    assert ask(at, ROLES, headers=session).text == "demo", "the role that the configuration names"
    assert ask(at, ROLES + "other", headers=session).status == 404


# ---- times ----

def test_no_client_gets_a_longer_life_than_there_is(agent):
    at = where()
    agent.configure(gcp(agent), azure(agent), agent.credential(publish=None), endpoints=[{
        "listen": at, "aws_container": container(agent), "gce_metadata": {"accounts": [{"credential": "gcp"}]},
        "azure_imds": {"identities": [{"credential": "azure"}]}}]).start()
    for name in ("demo", "gcp", "azure"):
        agent.wait_state("fresh", name)
    ends = {name: seconds(agent.status(name)["expires"]) for name in ("demo", "gcp", "azure")}  # in whole seconds, cut
    for _ in range(20):  # at any part of a second
        time.sleep(0.05)
        google = ask(at, "/computeMetadata/v1/instance/service-accounts/default/token", headers={"Metadata-Flavor": "Google"}).json
        assert ends["gcp"] - 4 < time.time() + google["expires_in"] <= ends["gcp"] - 1 + 0.1
        arm = ask(at, "/metadata/identity/oauth2/token?api-version=2018-02-01&" + VAULT, headers={"Metadata": "true"}).json
        assert ends["azure"] - 4 < time.time() + int(arm["expires_in"]) <= ends["azure"] - 1 + 0.1
        assert int(arm["expires_on"]) == ends["azure"] - 1
    assert seconds(aws(agent, at).json["Expiration"]) == ends["demo"] - 1


# ---- paths ----

def test_slashes_that_clients_add(agent):
    at = where()
    agent.configure(endpoints=[{"listen": at, "aws_container": container(agent), "ec2_imds": {"credential": "demo"}}]).start()
    wait_served(agent, at)
    assert aws(agent, at, "/aws/demo/").status == 200 and aws(agent, at, "//aws/demo").status == 200
    for path in ("/aws/demo/", "//aws/demo", "///aws/demo/"):
        assert ask(at, path).status == 401
        assert ask(at, path, headers={"Authorization": "wrong"}).status == 403
    session = session_of(at, path="//latest/api/token")
    assert ask(at, "//latest/meta-data/iam/security-credentials/", headers=session).text == "demo"
    assert ask(at, "//latest/meta-data/iam/security-credentials/demo", headers=session).json["AccessKeyId"]
    assert ask(at, "//latest/meta-data/iam/security-credentials/demo").status == 401
    assert aws(agent, at, "/aws//demo").status == 404 and aws(agent, at, "/aws/./demo").status == 404


# ---- restarts ----

def test_a_session_token_outlives_the_agent(agent):
    at = where()
    agent.configure(endpoints=[{"listen": at, "ec2_imds": {"credential": "demo"}}]).start()
    agent.wait_state("fresh")
    session = session_of(at)
    key = agent.state / "_ec2-session-key"
    first = key.read_bytes()
    assert len(first) == 32 and key.stat().st_mode & 0o7777 == 0o600

    def status():
        agent.wait_state("fresh")
        return ask(at, ROLES + "demo", headers=session).status

    for end in (agent.kill, agent.stop):
        end()
        agent.start()
        assert status() == 200 and key.read_bytes() == first
    for spoil in (lambda: key.write_bytes(b"short"), lambda: key.chmod(0o644), lambda: key.write_bytes(b"x" * 100)):
        agent.stop()
        spoil()
        agent.start()
        assert status() == 401, "a token under a key that is not used any more"
        assert len(key.read_bytes()) == 32 and key.stat().st_mode & 0o7777 == 0o600
        assert agent.log.count("a new key is made") == 1
        agent.log_path.write_text("")
        session.update(session_of(at))
    agent.stop()
    key.unlink()
    key.mkdir()
    (key / "x").touch()
    agent.start()
    session.update(session_of(at))
    assert status() == 200 and agent.log.count("end with this run") == 1
    assert first.hex() not in agent.log


def test_without_session_tokens_no_key_is_kept(agent):
    at = serve_one(agent)
    wait_served(agent, at)
    assert not (agent.state / "_ec2-session-key").exists()
    agent.configure(endpoints=[{"listen": at, "aws_container": container(agent), "ec2_imds": {"credential": "demo"}}])
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert ask(at, ROLES + "demo", headers=session_of(at)).status == 200 and (agent.state / "_ec2-session-key").exists()


def test_ready_is_what_is_served(agent):
    """What is published outlives a restart; what is in memory does not."""
    health = where()
    at = serve_one(agent, agent.credential(), agent.credential("plain"), listen=health)
    wait_served(agent, at)
    agent.wait_generation(1, "plain")
    agent.kill()
    agent.log_path.write_text("")
    agent.cloud.admin("/outage", {"on": True})
    agent.start()
    agent.wait_state("backoff")
    demo, plain = agent.status(), agent.status("plain")
    assert demo["published"] and not demo["ready"] and demo["generation"] == 1
    assert plain["published"] and plain["ready"], "of what no endpoint serves the files count"
    page = ask(health, "/readyz")
    assert page.status == 503 and page.text.startswith("demo: published, but not in memory yet for its endpoint: ")
    late = agent.run("wait", "demo", "--timeout", "300ms")
    assert late.returncode == 4 and agent.run("wait", "plain", "--timeout", "300ms").returncode == 0
    assert "ready: every" not in agent.log
    agent.cloud.admin("/outage", {"on": False})
    assert agent.run("wait", "demo", "--timeout", "30s").returncode == 0
    assert aws(agent, at).status == 200 and agent.status()["ready"]
    eventually(lambda: ask(health, "/readyz").status == 200, lambda: agent.log)


# ---- the end of the agent ----

class Load:
    """Clients that connect, ask and read one answer, each again and again. DROPPED holds connections that got no answer."""

    def __init__(self, connect, request):
        self.connect, self.request = connect, request
        self.answered, self.dropped, self.refused = 0, [], 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(6)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.over.is_set():
            try:
                client = self.connect()
            except (ConnectionRefusedError, ConnectionResetError, FileNotFoundError):  # reset within connect is refused, too
                self.refused += 1
                return
            except OSError as error:
                self.dropped.append(f"connect: {error!r}")
                return
            with client:
                try:
                    client.sendall(self.request)
                    answer = client.recv(65536)
                except OSError as error:
                    self.dropped.append(repr(error))
                    continue
            if answer.startswith(b"HTTP/1.1 "):
                self.answered += 1
            else:
                self.dropped.append(repr(answer) + self.request[:14].decode())

    def end(self):
        for thread in self.threads:
            thread.join(30)
        self.over.set()


def tcp(at):
    host, port = at.rsplit(":", 1)
    return lambda: socket.create_connection((host.strip("[]"), int(port)), timeout=20)


def unix(path):
    def connect():
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        try:
            client.connect(str(path))
        except OSError:
            client.close()
            raise
        return client

    return connect


def test_an_agent_that_ends_answers_connected_clients(agent):
    health = where().replace("127.0.0.1", "[::1]")
    at = serve_one(agent, listen=health)
    wait_served(agent, at)
    for _ in range(5):
        def request(path, host, more=""):
            return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode()

        loads = [Load(tcp(at), request("/aws/demo", at, f"Authorization: {secret_of(agent)}\r\n")),
                 Load(tcp(health), request("/livez", health)),
                 Load(unix(agent.socket), request("/v1/credentials", "localhost"))]
        eventually(lambda: all(load.answered > 50 for load in loads), "clients that are served")
        assert agent.stop() == 0
        for load in loads:
            load.end()
            assert load.dropped == [] and load.refused == 6, agent.log
        agent.start()
        wait_served(agent, at)


def test_a_request_after_the_signal_is_answered(agent):
    """A connection that was there before the signal, and a request after it."""
    at = serve_one(agent)
    wait_served(agent, at)
    with tcp(at)() as client:
        eventually(lambda: len(os.listdir(f"/proc/{agent.process.pid}/fd")) > 0 and aws(agent, at).status == 200, "the agent")
        agent.process.terminate()
        eventually(lambda: not agent.socket.exists(), lambda: agent.log)  # closed after the endpoints
        client.sendall(f"GET /aws/demo HTTP/1.1\r\nHost: {at}\r\nAuthorization: {secret_of(agent)}\r\n\r\n".encode())
        answer = b""
        while part := client.recv(65536):
            answer += part
    head, body = answer.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200 ") and re.search(rb"(?i)^connection: close\r?$", head, re.M) and b"AccessKeyId" in body
    assert agent.process.wait(20) == 0


def test_it_serves_on_while_its_work_is_finished_and_is_not_ready(agent):
    health = where()
    at = serve_one(agent, listen=health, stop_grace="20s")
    wait_served(agent, at)
    agent.cloud.fault(kind="delay", ms=2000, count=1)
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_state("exchanging")
    agent.process.terminate()
    eventually(lambda: "stopping" in agent.log, lambda: agent.log)
    page = ask(health, "/readyz")
    assert page.status == 503 and "the agent is stopping" in page.text
    assert aws(agent, at).status == 200
    assert agent.process.wait(30) == 0
    assert "generation 2" in agent.log
