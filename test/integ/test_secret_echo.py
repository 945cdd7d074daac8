# SPDX-License-Identifier: MIT
"""An API server that repeats the values of a Secret target, or the agent's own token, in its answers: they are shown nowhere."""
import base64
import http.server
import json
import socketserver
import threading

import pytest

from conftest import eventually
from test_hostile_server import check_shown, outputs, written

BEARER = "BearTok0Kq7Zw3Rt9Lm2xVb8hN4wQz6Yc1fDgTAb"


def status_of(code, reason, message, **details):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code,
            "details": details}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body, **heads):
        data = json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **heads}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        server = self.server
        if self.path.endswith("/serviceaccounts/demo/token"):
            text = server.token[-40:] if server.repeats == "token" else BEARER
            self.answer(201, {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"audiences": ["sts.amazonaws.com"]},
                              "status": {"token": server.token, "expirationTimestamp": "2100-01-01T00:00:00Z"}},
                        Warning=f'299 - "beware of {text}"')
        elif "/podcertificaterequests?" in self.path and "watch=" not in self.path:
            self.answer(200, {"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "9"}, "items": [
                {"metadata": {"namespace": "default", "name": "one", "uid": "u", "resourceVersion": "1"}}]})
        elif "/secrets/" not in self.path:
            self.answer(403, status_of(403, "Forbidden", BEARER))
        elif self.command == "GET" and server.repeats == "type":
            server.answered += 1
            self.answer(200, {"kind": "Secret", "apiVersion": "v1", "type": BEARER, "data": {}, "metadata": {
                "name": "t", "namespace": "default", "labels": {"app.kubernetes.io/managed-by": "credfresh"}}})
        elif self.command == "GET":
            self.answer(404, status_of(404, "NotFound", "no", name="t", kind="secrets"))
        else:
            encoded = json.loads(body)["data"]["tok"]
            server.value = base64.b64decode(encoded).decode()
            server.answered += 1
            self.refuse(server.value[-60:], encoded)

    do_GET = do_PATCH = do_POST = handle_request

    def refuse(self, value, encoded):
        if self.server.repeats == "conflict":
            self.answer(409, status_of(409, "Conflict", value, causes=[
                {"reason": "FieldManagerConflict", "message": f'conflict with "{value[-40:]}" using v1',
                 "field": f".data.{value[:30]}"}]))
        else:
            text = {"value": value, "base64": encoded[-60:], "token": BEARER}[self.server.repeats]
            self.answer(403, status_of(403, "Forbidden", f"{text} x{text[:20]}"), Warning=f'299 - "{text}"')


def secret_target(agent, kubeconfig):
    keys = [{"name": "tok", "format": "field", "field": "aws_session_token"}]
    return agent.credential(publish={"secret": {"name": "t", "kubeconfig": kubeconfig, "keys": keys, "events": True}}), {}


def rollout(agent, kubeconfig):
    hook = {"rollout": {"kind": "Deployment", "namespace": "default", "name": "web", "kubeconfig": kubeconfig}}
    return agent.credential(reload=[hook]), {}


def service_ca(agent, kubeconfig):
    trust = {"directory": str(agent.dir / "trust"), "files": [{"name": "ca.crt", "format": "ca-bundle"}]}
    return {"name": "demo", "ca_bundle": True, "publish": trust}, {"service_ca": {
        "store": str(agent.dir / "store"), "inject": [{"kubeconfig": kubeconfig, "kind": "APIService", "name": "v1.x.example.com"}],
        "pod_certificates": [{"signer": "example.com/service", "trust_domain": "example.com", "kubeconfig": kubeconfig,
                              "allow": [{"namespace": "default", "service_account": "demo", "names": ["spiffe"]}]}]}}


def token_request(agent, kubeconfig):
    request = {"service_account": "demo", "namespace": "default", "kubeconfig": kubeconfig}
    return agent.credential(token={"audience": "sts.amazonaws.com", "request": request}), {}


@pytest.fixture
def repeating(agent_factory, shared_cloud):
    servers = []

    def make(repeats, configured=secret_target):
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.repeats, server.value, server.answered = repeats, None, 0
        server.token = (shared_cloud.volumes["demo"] / "token").read_text()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        agent = agent_factory(shared_cloud)
        kubeconfig = written(agent, "kubeconfig", json.dumps({
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
            "users": [{"name": "u", "user": {"token": BEARER}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}], "current-context": "c"}))
        credential, more = configured(agent, kubeconfig)
        agent.configure(credential, **more)
        agent.start()
        return agent, server

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("repeats", ["type", "conflict", "value", "base64", "token"])
def test_an_answer_that_repeats_secrets(repeating, repeats):
    agent, server = repeating(repeats)
    eventually(lambda: server.answered and "[removed]" in agent.log, lambda: agent.log)
    value = server.value or ""
    secrets = [BEARER, value, base64.b64encode(value.encode()).decode()]
    for what, text in outputs(agent):
        check_shown(what, text, secrets)


@pytest.mark.parametrize("configured, says", [
    (secret_target, ["an Event was lost", "cannot watch "]), (rollout, ["rollout"]), (service_ca, ["caBundle of", "a pod's certificate"])])
def test_each_client_of_the_api_server(repeating, configured, says):
    agent, _ = repeating("token", configured)

    def redacted(words):
        return any(words in line and "[removed]" in line for line in agent.log.splitlines())

    eventually(lambda: all(redacted(words) for words in says), lambda: agent.log)
    for what, text in outputs(agent):
        check_shown(what, text, [BEARER])


@pytest.mark.parametrize("repeats", ["token", "login"])
def test_a_warning_with_a_requested_token(repeating, repeats):
    """The request's own login is redacted where it is answered, the token that came with the warning once it is known."""
    agent, server = repeating(repeats, token_request)
    eventually(lambda: "beware of [removed]" in agent.log + json.dumps(agent.status()), lambda: agent.log)
    for what, text in outputs(agent):
        check_shown(what, text, [BEARER, server.token])
