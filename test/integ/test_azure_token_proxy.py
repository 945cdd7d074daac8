# SPDX-License-Identifier: MIT
"""Identity bindings of AKS: the proxy in the cluster gets the token, by the name and the CA that the webhook sets."""
import http.client
import http.server
import json
import ssl
import subprocess
import threading
import urllib.parse

import pytest

from conftest import eventually
from test_environment import azure, run
from test_sources import CLIENT, TENANT

NAME = "0123abcd.proxy.example"


class Proxy:
    """Answers from the local cloud, but only clients that send NAME; for any other name it ends the handshake."""

    def __init__(self, directory, cloud):
        self.names, self.paths, self.hosts, self.directory = [], [], [], directory
        upstream = urllib.parse.urlsplit(cloud.http)
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                proxy.paths.append(self.path)
                proxy.hosts.append(self.headers["Host"])
                to = http.client.HTTPConnection(upstream.hostname, upstream.port, timeout=20)
                to.request("POST", self.path.replace("/bound", "/azure"), body,
                           {"Content-Type": self.headers["Content-Type"]})
                answer = to.getresponse()
                text = answer.read()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        def judge(_socket, name, _context):
            self.names.append(name)
            return None if name == NAME else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.sni_callback = judge
        self.ca = directory / "ca.crt"
        self.renew()
        self.server.socket = self.context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}/bound"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def renew(self):
        """Another certificate, which the CA file has from now on."""
        new, key = self.directory / "new.crt", self.directory / "proxy.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", "/CN=proxy", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", key, "-out", new],
                       check=True, capture_output=True)
        self.context.load_cert_chain(new, key)
        new.rename(self.ca)


@pytest.fixture
def proxy(tmp_path, shared_cloud):
    made = Proxy(tmp_path, shared_cloud)
    yield made
    made.server.shutdown()


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


def bound(proxy, cloud, data=False):
    """The variables that the webhook sets. No request may reach the authority."""
    ca = {"AZURE_KUBERNETES_CA_DATA": proxy.ca.read_text()} if data else {"AZURE_KUBERNETES_CA_FILE": str(proxy.ca)}
    return {**azure(cloud), "AZURE_AUTHORITY_HOST": "https://login.microsoftonline.com/",
            "AZURE_KUBERNETES_TOKEN_PROXY": proxy.url, "AZURE_KUBERNETES_SNI_NAME": NAME, **ca}


@pytest.mark.parametrize("data", [False, True], ids=["file", "data"])
def test_without_a_configuration(agent, proxy, data):
    env = bound(proxy, agent.cloud, data)
    done = run(agent, "once", env)
    assert done.returncode == 0, done.stderr
    assert json.loads((agent.out / "azure" / "token.json").read_text())["access_token"]
    assert proxy.paths == [f"/bound/{TENANT}/oauth2/v2.0/token"] and set(proxy.names) == {NAME}
    assert proxy.hosts == [urllib.parse.urlsplit(proxy.url).netloc]
    shown = run(agent, "check", env)
    assert shown.returncode == 0 and "AZURE_KUBERNETES_TOKEN_PROXY" in shown.stdout, shown.stderr


def test_half_of_it_is_an_error(agent, proxy):
    env = bound(proxy, agent.cloud)
    del env["AZURE_KUBERNETES_TOKEN_PROXY"]
    done = run(agent, "once", env)
    assert done.returncode != 0
    assert "the environment has AZURE_KUBERNETES_SNI_NAME but not AZURE_KUBERNETES_TOKEN_PROXY" in done.stderr
    assert not proxy.names


def test_another_name_or_ca_gets_no_token(agent, proxy, tmp_path):
    env = bound(proxy, agent.cloud)
    done = run(agent, "once", {**env, "AZURE_KUBERNETES_SNI_NAME": "other.example"}, "--timeout", "20s")
    assert done.returncode != 0 and "127.0.0.1" in done.stderr, done.stderr
    done = run(agent, "once", {**env, "AZURE_KUBERNETES_CA_FILE": str(agent.cloud.ca)}, "--timeout", "20s")
    assert done.returncode != 0 and "not signed by a CA in" in done.stderr, done.stderr
    assert not proxy.paths


def test_keys_and_a_new_certificate(agent, proxy):
    """In a running agent with its sandbox; the CA file is read again for each exchange."""
    agent.configure({
        "name": "azure", "token": {"file": str(agent.cloud.volumes["azure"] / "token")},
        "exchange": {"azure": {"tenant_id": TENANT, "client_id": CLIENT,
                               "token_proxy": {"url": proxy.url, "server_name": NAME, "ca_file": str(proxy.ca)}}},
        "publish": {"directory": str(agent.out / "azure"), "files": [{"name": "token.json", "format": "azure-token-json"}]}})
    agent.start()
    file = agent.out / "azure" / "token.json"
    eventually(file.exists, lambda: agent.log)
    before = file.read_text()
    proxy.renew()
    done = agent.run("rotate", "azure", "--reason", "another certificate")
    assert done.returncode == 0, done.stderr
    eventually(lambda: file.read_text() != before, lambda: agent.log)
    assert len(proxy.paths) >= 2


def test_doctor_names_the_proxy(agent, proxy):
    env = {**bound(proxy, agent.cloud), "AZURE_CLIENT_ID": "99999999-2222-3333-4444-555555555555"}
    done = run(agent, "doctor", env)
    said = " ".join(done.stdout.split())
    assert f"the token goes to {proxy.url}, whose cluster must have an identity binding" in said, done.stdout
    assert "federated-credential create" not in said
    assert set(proxy.names) == {NAME}
