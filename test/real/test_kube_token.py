# SPDX-License-Identifier: MIT
"""Tokens that a real Kubernetes API server minted, through the same path: read, exchanged at an STS that trusts this
server's own JWKS, published, renewed.
"""
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integ"))
from conftest import *  # noqa: F401,F403,E402  the fixtures
from conftest import eventually  # noqa: E402

KUBE = pathlib.Path(os.environ["CFR_KUBE"])
ISSUER = "https://issuer.test/k8s"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Kubernetes:
    """etcd and an API server on loopback."""

    def __init__(self, directory):
        self.dir = directory
        self.dir.mkdir()
        self.port, client, peer = free_port(), free_port(), free_port()
        subprocess.run(["openssl", "genrsa", "-out", self.dir / "sa.key", "2048"], check=True, capture_output=True)
        (self.dir / "tokens.csv").write_text("tok-admin,admin,u1,system:masters\n")
        etcd_url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self.processes = [
            self.spawn("etcd", "etcd", "--data-dir", self.dir / "etcd", "--listen-client-urls", etcd_url,
                       "--advertise-client-urls", etcd_url, "--listen-peer-urls", peer_url,
                       "--initial-advertise-peer-urls", peer_url, "--initial-cluster", f"default={peer_url}",
                       "--unsafe-no-fsync"),
            self.spawn("api", KUBE / "kube-apiserver", f"--etcd-servers={etcd_url}", f"--cert-dir={self.dir}/certs",
                       "--bind-address=127.0.0.1", f"--secure-port={self.port}", "--insecure-port=0",
                       "--advertise-address=127.0.0.1", "--service-cluster-ip-range=10.0.0.0/24",
                       f"--token-auth-file={self.dir}/tokens.csv", "--authorization-mode=RBAC",
                       "--disable-admission-plugins=ServiceAccount", f"--service-account-key-file={self.dir}/sa.key",
                       f"--service-account-signing-key-file={self.dir}/sa.key", f"--service-account-issuer={ISSUER}",
                       f"--service-account-jwks-uri=https://127.0.0.1:{self.port}/openid/v1/jwks",
                       "--api-audiences=kubernetes", "--endpoint-reconciler-type=none"),
        ]
        eventually(self.is_ready, "the API server", 120, 0.2)

    def spawn(self, name, *argv):
        log = open(self.dir / f"{name}.log", "wb")
        return subprocess.Popen([str(a) for a in argv], stdout=log, stderr=log)

    def request(self, method, path, body=None):
        context = ssl.create_default_context(cafile=self.dir / "certs/apiserver.crt")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", data=data, method=method, headers={
            "Authorization": "Bearer tok-admin", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return answer.read().decode()

    def is_ready(self):
        assert all(p.poll() is None for p in self.processes), (self.dir / "api.log").read_text()[-2000:]
        try:
            return self.request("GET", "/readyz") == "ok"
        except OSError:
            return False

    def mint(self, audience, expiration_s=600):
        answer = self.request("POST", "/api/v1/namespaces/team-a/serviceaccounts/registry/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [audience], "expirationSeconds": expiration_s}})
        return json.loads(answer)["status"]["token"]

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(30)


@pytest.fixture
def kubernetes(tmp_path):
    k = Kubernetes(tmp_path / "kube")
    for path, kind, name in (("/api/v1/namespaces", "Namespace", "team-a"),
                             ("/api/v1/namespaces/team-a/serviceaccounts", "ServiceAccount", "registry")):
        k.request("POST", path, {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
    yield k
    k.stop()


def project(volume, token, serial):
    """What the kubelet does with a new token."""
    volume.mkdir(exist_ok=True)
    (volume / f"..2026_{serial}").mkdir()
    (volume / f"..2026_{serial}" / "token").write_text(token)
    (volume / "..data_tmp").symlink_to(f"..2026_{serial}")
    (volume / "..data_tmp").rename(volume / "..data")
    if not (volume / "token").is_symlink():
        (volume / "token").symlink_to("..data/token")


def test_a_real_token_is_exchanged_and_renewed(kubernetes, cloud_factory, agent_factory, tmp_path):
    role = "arn:aws:iam::123456789012:role/registry"
    jwks = json.loads(kubernetes.request("GET", "/openid/v1/jwks"))
    cloud = cloud_factory(config={"roles": [{"arn": role, "trust": [{
        "federated_issuer": ISSUER, "jwks": jwks, "audience": ["sts.amazonaws.com"],
        "subject": "system:serviceaccount:team-a:registry"}]}]})
    volume = tmp_path / "volume"
    agent = agent_factory(cloud)
    agent.configure(agent.credential(
        token={"file": str(volume / "token"), "audience": "sts.amazonaws.com"},
        exchange={"aws": {"role_arn": role, "region": "us-east-1", "endpoint": cloud.sts, "ca_file": cloud.ca}}))
    project(volume, kubernetes.mint("sts.amazonaws.com"), 1)
    inspected = subprocess.run([agent_binary(), "inspect", volume / "token"], capture_output=True, text=True)
    assert inspected.returncode == 0, inspected.stdout
    assert "system:serviceaccount:team-a:registry" in inspected.stdout
    agent.start()
    agent.wait_generation(1)
    assert agent.status()["identity"].endswith("assumed-role/registry/team-a.registry")
    # This version gives no jti: only another life makes a token of the same second another one.
    project(volume, kubernetes.mint("sts.amazonaws.com", 660), 2)
    agent.wait_generation(2)
    # A token for somebody else is refused before it goes anywhere, and what is published stays.
    before = agent.published()
    project(volume, kubernetes.mint("vault"), 3)
    eventually(lambda: "audience" in (agent.status().get("last_error") or {}).get("message", ""), "the refusal")
    assert agent.published() == before
    assert len(cloud.exchanges()) == 2


def agent_binary():
    return os.environ["CFR_CREDFRESH"]
