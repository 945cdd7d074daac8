# SPDX-License-Identifier: MIT
"""Helpers of the tests with real components: the harness of the integration tests, and a Kubernetes API server."""
import importlib.util
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import yaml

# The harness is a conftest, too, so its own name is taken.
_HARNESS = pathlib.Path(__file__).resolve().parents[1] / "integ" / "conftest.py"
sys.path.append(str(_HARNESS.parent))  # for what it imports itself
_spec = importlib.util.spec_from_file_location("harness", _HARNESS)
sys.modules["harness"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["harness"])
from harness import *  # noqa: F401,F403,E402  the fixtures
from harness import eventually, read_text  # noqa: F401,E402

ISSUER = "https://issuer.test/k8s"
MAX_EXPIRATION_S = 7200


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# The API servers that the tests know: (1, 20), which Debian has the sources of, and (1, 36). What differs between them is
# asked of `version`; servers in between may do either.
OLDEST, NEWEST = (1, 20), (1, 36)


class Kubernetes:
    """etcd and an API server on loopback. Besides its administrator there are users without any rights of their own:
    by token (tok-robot, tok-node1) or certificate. FLAGS gives more arguments to an API server of a version."""

    def __init__(self, directory, flags=lambda version: ()):
        self.bin = pathlib.Path(os.environ["CFR_KUBE"])
        said = subprocess.run([self.bin / "kube-apiserver", "--version"], check=True, capture_output=True, text=True)
        self.version = tuple(int(n) for n in re.search(r"v(\d+)\.(\d+)", said.stdout).groups())
        self.dir = directory
        self.dir.mkdir()
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.serial = itertools.count(1)
        self.openssl("genrsa", "-out", "sa.key", "2048")
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-subj", "/CN=clients", "-keyout", "clients.key", "-out", "clients.crt")
        (self.dir / "tokens.csv").write_text("tok-admin,admin,u1,system:masters\ntok-robot,robot,u2\n"
                                             "tok-node1,system:node:node1,u3,system:nodes\n")
        self.processes = self.spawn_all(free_port(), free_port(), *flags(self.version))
        eventually(self.is_ready, "the API server", 120, 0.2)
        self.ca = (self.dir / "certs/apiserver.crt").read_text()
        self.admin = self.kubeconfig({"token": "tok-admin"})

    def spawn_all(self, client, peer, *flags):
        etcd_url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        return [
            self.spawn("etcd", "etcd", "--data-dir", self.dir / "etcd", "--listen-client-urls", etcd_url,
                       "--advertise-client-urls", etcd_url, "--listen-peer-urls", peer_url,
                       "--initial-advertise-peer-urls", peer_url, "--initial-cluster", f"default={peer_url}",
                       "--unsafe-no-fsync"),
            self.spawn("api", self.bin / "kube-apiserver", f"--etcd-servers={etcd_url}", f"--cert-dir={self.dir}/certs",
                       "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                       *(["--insecure-port=0"] if self.version < (1, 24) else []),
                       "--advertise-address=127.0.0.1", "--service-cluster-ip-range=10.0.0.0/24",
                       f"--token-auth-file={self.dir}/tokens.csv", f"--client-ca-file={self.dir}/clients.crt",
                       "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
                       "--disable-admission-plugins=ServiceAccount", f"--service-account-key-file={self.dir}/sa.key",
                       f"--service-account-signing-key-file={self.dir}/sa.key", f"--service-account-issuer={ISSUER}",
                       f"--service-account-jwks-uri={self.url}/openid/v1/jwks",
                       f"--service-account-max-token-expiration={MAX_EXPIRATION_S}s",
                       "--api-audiences=kubernetes", "--endpoint-reconciler-type=none", *flags),
        ]

    def openssl(self, *argv):
        subprocess.run(["openssl", *argv], check=True, capture_output=True, cwd=self.dir)

    def spawn(self, name, *argv):
        log = open(self.dir / f"{name}.log", "wb")
        return subprocess.Popen([str(a) for a in argv], stdout=log, stderr=log)

    def request(self, method, path, body=None, token="tok-admin"):
        context = ssl.create_default_context(cafile=self.dir / "certs/apiserver.crt")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={
            "Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return answer.read().decode()

    def is_ready(self):
        assert all(p.poll() is None for p in self.processes), (self.dir / "api.log").read_text()[-2000:]
        try:
            return self.request("GET", "/readyz") == "ok"
        except OSError:
            return False

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(30)

    # ---- who one is ----

    def certificate(self, user, *groups):
        """(certificate, key): paths of a new pair for USER in GROUPS."""
        name = f"client{next(self.serial)}"
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                     "".join(f"/O={g}" for g in groups) + f"/CN={user}", "-keyout", f"{name}.key",
                     "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "clients.crt", "-CAkey", "clients.key",
                     "-set_serial", "7", "-days", "1", "-out", f"{name}.crt")
        return self.dir / f"{name}.crt", self.dir / f"{name}.key"

    def kubeconfig(self, user, namespace="default"):
        """The path of a new kubeconfig; USER is what stands below users[].user."""
        path = self.dir / f"kubeconfig{next(self.serial)}"
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": self.url,
                                                   "certificate-authority": "certs/apiserver.crt"}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": namespace}}]}))
        return str(path)

    # ---- the administrator's work ----

    def kubectl(self, *argv, namespace="default", text=None):
        """What kubectl prints."""
        done = subprocess.run([self.bin / "kubectl", "--kubeconfig", self.admin, "-n", namespace, *argv], input=text,
                              capture_output=True, text=True, timeout=60, cwd=self.dir,
                              env={**os.environ, "HOME": str(self.dir)})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kustomize(self, root, directory):
        """The objects of the kustomization in DIRECTORY of the tree ROOT. Before 1.21 kubectl has other words for directories
        and patches: it gets a copy with those."""
        if self.version < (1, 21):
            root = shutil.copytree(root, self.dir / f"kustomize{next(self.serial)}")
            for path in root.rglob("kustomization.yaml"):
                k = yaml.safe_load(path.read_text())
                k["bases"] = [r for r in k.get("resources", []) if (path.parent / r).is_dir()]
                k["resources"] = [r for r in k.get("resources", []) if r not in k["bases"]]
                k["patchesStrategicMerge"] = [p["path"] for p in k.pop("patches", [])]
                path.write_text(yaml.safe_dump({key: value for key, value in k.items() if value}))
        return list(yaml.safe_load_all(self.kubectl("kustomize", str(pathlib.Path(root) / directory))))

    def mint(self, audience, expiration_s=600, namespace="default", account="registry"):
        answer = self.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [audience], "expirationSeconds": expiration_s}})
        return json.loads(answer)["status"]["token"]

    def review(self, token, audience):
        """Whom the API server takes TOKEN for, or None."""
        status = json.loads(self.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token, "audiences": [audience]}}))["status"]
        return status["user"]["username"] if status.get("authenticated") else None

    def jwks(self):
        return json.loads(self.request("GET", "/openid/v1/jwks"))


class Space:
    """A namespace of its own with the service account `registry`."""

    def __init__(self, kube, name):
        self.kube = kube
        self.name = name
        self.base = f"/api/v1/namespaces/{name}"
        kube.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self.account("registry")

    def account(self, name):
        self.kube.request("POST", f"{self.base}/serviceaccounts", {"metadata": {"name": name}})

    def allow(self, *rules, user="robot", kind="User"):
        """A Role with RULES, bound to USER (by default the one without rights of its own)."""
        name = f"r{next(self.kube.serial)}"
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.name}"
        subject = {"kind": kind, "name": user}
        subject["apiGroup" if kind == "User" else "namespace"] = \
            "rbac.authorization.k8s.io" if kind == "User" else self.name
        self.kube.request("POST", rbac + "/roles", {"metadata": {"name": name}, "rules": list(rules)})
        self.kube.request("POST", rbac + "/rolebindings", {
            "metadata": {"name": name}, "subjects": [subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})

    def allow_tokens(self, account="registry", **whom):
        self.allow({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"],
                    "resourceNames": [account]}, **whom)

    def pod(self, name, node, account="registry", audience="sts.amazonaws.com"):
        """Makes a pod that is scheduled on NODE, with a token for AUDIENCE in a volume: from 1.33 on a node gets tokens only for
        audiences that a volume of the pod names. Returns its uid."""
        volume = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token",
                                                                                      "audience": audience}}]}}
        return json.loads(self.kube.request("POST", f"{self.base}/pods", {
            "metadata": {"name": name}, "spec": {"nodeName": node, "serviceAccountName": account, "volumes": [volume],
                                                 "containers": [{"name": "c", "image": "none"}]}}))["metadata"]["uid"]

    def mint(self, audience, expiration_s=600, account="registry"):
        return self.kube.mint(audience, expiration_s, self.name, account)

    def kubectl(self, *argv, text=None):
        return self.kube.kubectl(*argv, namespace=self.name, text=text)

    def secret(self, name):
        """The Secret with its managed fields (which kubectl hides from 1.21 on), or None."""
        try:
            return json.loads(self.kube.request("GET", f"{self.base}/secrets/{name}"))
        except urllib.error.HTTPError as e:
            assert e.code == 404, e
            return None


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory):
    """One API server for all files: starting it takes seconds. Each test has a namespace of its own in it."""
    k = Kubernetes(tmp_path_factory.mktemp("kubernetes") / "run")
    yield k
    k.stop()


@pytest.fixture
def space(kubernetes, request):
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())
    return Space(kubernetes, f"{words[:50].strip('-')}-{next(kubernetes.serial)}")


def project(volume, serial, **files):
    """What the kubelet does with new content. Names of FILES have _ for a dot."""
    names = {key.replace("_", "."): text for key, text in files.items()}
    (volume / f"..2026_{serial}").mkdir(parents=True)
    for name, text in names.items():
        (volume / f"..2026_{serial}" / name).write_text(text)
    (volume / "..data_tmp").symlink_to(f"..2026_{serial}")
    (volume / "..data_tmp").rename(volume / "..data")
    for name in names:
        if not (volume / name).is_symlink():
            (volume / name).symlink_to(f"..data/{name}")
