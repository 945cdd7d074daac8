# SPDX-License-Identifier: MIT
"""Clouds of rotated keys that repeat a secret as the id of a key or in a refusal: it is shown and stored nowhere."""
import http.server
import json
import socketserver
import threading
import time
import urllib.parse

import pytest

from conftest import Mounted, eventually
from test_hostile_server import check_shown, outputs, written

ADMIN = "AdmSecret0Kq7Zw3Rt9Lm2xVb8hN4wQz6Yc1fDgT"
NEW = "NewSecret0Lz2gOa9iVd7Sq3yWe6rTn1cXbPkUjM"
PASSWORD = "kW7qZp3Rt9Lm2xAA"
CLIENT = "99999999-8888-7777-6666-555555555555"
KINDS = ["aws", "azure", "openstack"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", **heads):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **heads}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 90 * 86400))
        if "Action=" in body:
            self.aws(urllib.parse.parse_qs(body)["Action"][0])
        elif self.path.endswith("/token"):
            self.answer(200, {"access_token": ADMIN, "token_type": "Bearer", "expires_in": 3600})
        elif "/applications" in self.path:
            self.azure(body)
        else:
            self.openstack(body)

    do_GET = do_POST = do_DELETE = handle_request

    def make(self, proper, name=None):
        """(id, name, secret) of a new key"""
        number = len(self.server.made)
        secret = f"{NEW}{number}"
        self.server.made.append((secret if self.server.repeats == "id" else f"{proper}{number}", name, secret))
        return self.server.made[-1]

    def listed(self):
        return [(key, name) for key, name, _ in self.server.made] + [(ADMIN, ADMIN)] * (self.server.repeats == "list")

    def refuses(self):
        # The rights are tried before the second key is created.
        refused = self.server.repeats == "refusal" and len(self.server.made) > 1
        self.server.refused += refused
        return refused

    def aws(self, action):
        inner = ""
        if action == "ListAccessKeys":
            inner = "".join(f"<member><UserName>robot</UserName><AccessKeyId>{key}</AccessKeyId><Status>Active</Status>"
                            f"<CreateDate>{self.now}</CreateDate></member>" for key, _ in self.listed())
            inner = f"<AccessKeyMetadata>{inner}</AccessKeyMetadata><IsTruncated>false</IsTruncated>"
        elif action == "CreateAccessKey":
            key, _, secret = self.make("AKIANORMALKEY000000")
            inner = (f"<AccessKey><UserName>robot</UserName><AccessKeyId>{key}</AccessKeyId><Status>Active</Status>"
                     f"<SecretAccessKey>{secret}</SecretAccessKey><CreateDate>{self.now}</CreateDate></AccessKey>")
        elif action == "GetCallerIdentity":
            inner = "<Arn>arn:aws:iam::123456789012:user/robot</Arn><UserId>x</UserId><Account>123456789012</Account>"
        elif action == "UpdateAccessKey" and self.refuses():
            self.answer(403, f"<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>{NEW}1 "
                             f"x{NEW[3:-3]}y</Message></Error><RequestId>{NEW}1</RequestId></ErrorResponse>", "text/xml")
            return
        self.answer(200, f"<{action}Response><{action}Result>{inner}</{action}Result><ResponseMetadata><RequestId>r</RequestId>"
                         f"</ResponseMetadata></{action}Response>", "text/xml")

    def azure(self, body):
        times = {"startDateTime": self.now, "endDateTime": self.end}
        if "addPassword" in self.path:
            key, name, secret = self.make(CLIENT[:-1], json.loads(body)["passwordCredential"]["displayName"])
            self.answer(200, {"keyId": key, "displayName": name, "secretText": secret, "hint": secret[:3], **times})
        elif "removePassword" in self.path and self.refuses():
            self.answer(403, {"error": {"code": NEW + "1", "message": f"{NEW}1 x{NEW[3:-3]}y", "innerError": {"request-id": NEW}}})
        elif "removePassword" in self.path:
            self.answer(204, "")
        else:
            keys = [{"keyId": key, "displayName": name, "hint": key[:3], **times} for key, name in self.listed()]
            self.answer(200, {"appId": CLIENT, "passwordCredentials": keys})

    def openstack(self, body):
        if "/auth/tokens" in self.path:
            names = {"id": "u" * 32, "name": "demo", "domain": {"id": "default", "name": "Default"}}
            self.answer(201, {"token": {"expires_at": self.end.replace("Z", ".000000Z"), "methods": ["password"], "user": names,
                                        "issued_at": "2020-01-01T00:00:00.000000Z", "project": names, "roles": [names]}},
                        **{"X-Subject-Token": ADMIN})
        elif self.command == "GET":
            keys = [{"id": key, "name": name, "expires_at": None, "project_id": "u" * 32} for key, name in self.listed()]
            self.answer(200, {"application_credentials": keys, "links": {"next": None}})
        elif self.command == "POST":
            key, name, secret = self.make("c" * 31, json.loads(body)["application_credential"]["name"])
            self.answer(201, {"application_credential": {"id": key, "name": name, "secret": secret, "project_id": "u" * 32,
                                                         "expires_at": None}})
        elif self.refuses():
            self.answer(403, {"error": {"code": 403, "title": NEW + "1", "message": f"{NEW}1 x{NEW[3:-3]}y"}})
        else:
            self.answer(204, "")


class Cloud(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self, repeats):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repeats, self.made, self.refused = repeats, [], 0
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def mint_and_admin(agent, kind, url):
    if kind == "aws":
        Mounted(agent.dir / "admin").put({"aws_access_key_id": "AKIAADMINADMINADMIN0", "aws_secret_access_key": ADMIN})
        return ({"user_name": "robot", "regions": ["us-east-1"], "endpoint": url, "sts_endpoint": url},
                {"secret": {"directory": str(agent.dir / "admin"), "pass_on": True}})
    secret = written(agent, "password", PASSWORD)
    if kind == "azure":
        mint = {"client_id": CLIENT, "lifetime": "90d", "endpoint": url, "authority_host": url}
        exchange = {"tenant_id": "11111111-2222-3333-4444-555555555555", "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa",
                    "client_secret_file": secret, "scopes": ["https://graph.microsoft.com/.default"], "authority_host": url}
    else:
        mint = {"roles": ["member"], "lifetime": "90d"}
        exchange = {"auth_url": url + "/v3", "username": "demo", "user_domain_name": "Default", "project_name": "demo",
                    "project_domain_name": "Default", "password_file": secret}
    return mint, {"exchange": {kind: exchange}, "publish": {"file": {"path": str(agent.dir / "admin.json"), "format": "json"}}}


@pytest.fixture
def repeating(agent_factory, shared_cloud):
    clouds = []

    def make(kind, repeats):
        agent = agent_factory(shared_cloud)
        clouds.append(Cloud(repeats))
        mint, admin = mint_and_admin(agent, kind, clouds[0].url)
        quick = {"grace": "1s", "grace_most": "2s", "settle": "1s", "inactive": "1s", "verify_wait": "0s", "verify": False}
        agent.configure({"name": "demo", "mint": {kind: mint, "with": "admin", **quick},
                         "publish": {"directory": str(agent.out), "files": [{"name": "creds.json", "format": "json"}]}},
                        {"name": "admin", **admin})
        agent.start()
        return agent, clouds[0]

    yield make
    for cloud in clouds:
        cloud.shutdown()
        cloud.server_close()


def check_nowhere(agent, secrets):
    for what, text in outputs(agent):
        check_shown(what, text, secrets)
    for path in agent.state.iterdir():
        if path.is_file():
            check_shown(path.name, path.read_text(), secrets)


def said(agent):
    return agent.log + json.dumps(agent.status())


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_keys_id_is_its_secret(repeating, kind):
    agent, cloud = repeating(kind, "id")
    eventually(lambda: cloud.made and "repeats a secret as the id of a key" in said(agent), lambda: agent.log)
    # The lists that are asked for the lost key have the same id.
    eventually(lambda: agent.status()["mint"].get("error"), lambda: agent.log)
    check_nowhere(agent, [NEW, ADMIN])
    assert not (agent.out / "creds.json").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_listed_id_is_a_secret(repeating, kind):
    agent, cloud = repeating(kind, "list")
    eventually(lambda: "repeats a secret as the id of a key" in said(agent), lambda: agent.log)
    check_nowhere(agent, [ADMIN])
    assert cloud.made == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_later_refusal_repeats_the_new_secret(repeating, kind):
    agent, cloud = repeating(kind, "refusal")
    agent.wait_generation(1)
    agent.run("rotate", "demo", "--reason", "drill")
    agent.wait_generation(2)
    eventually(lambda: cloud.refused and "[removed]" in said(agent), lambda: agent.log)
    check_nowhere(agent, [NEW, ADMIN])
