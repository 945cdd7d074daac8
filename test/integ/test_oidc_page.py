# SPDX-License-Identifier: MIT
"""The commands of docs/rotate-issuer-key.md, one block after the other, with the local cloud's STS as the verifier: it accepts
tokens of each key in use at every moment, by what the issuer's URL shows."""
import hashlib
import json
import os
import re
import subprocess
import time
import urllib.parse

import pytest

from conftest import OIDC, REPO
from test_oidc import HOUR, b64, spki
from test_oidc_publish import Published

PAGE = REPO / "docs/rotate-issuer-key.md"
ROLE = "arn:aws:iam::123456789012:role/pods"
SUBJECT = "system:serviceaccount:images:registry"
# A cluster's `oc`: its operator makes a key when there is none.
OC = """#!/bin/sh
set -eu
case "$1 $2" in
"delete secret/"*) rm -f "$CLUSTER/next.key" ;;
"get secret/"*)
    [ -e "$CLUSTER/next.key" ] || { openssl genrsa -out "$CLUSTER/next.key" 2048 2>/dev/null; exit 1; }
    case "$*" in
    *jsonpath*) openssl pkey -in "$CLUSTER/next.key" -pubout | base64 -w0 ;;
    *) echo secret/next-bound-service-account-signing-key ;;
    esac ;;
"adm wait-for-stable-cluster") cp "$CLUSTER/next.key" "$CLUSTER/signer.key" ;;
*) exit 64 ;;
esac
"""


def section(title):
    """The shell blocks below a heading of the page."""
    text = PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)


class Cluster:
    """API servers that sign with a key, clouds that read the issuer's URL, and the page's machine."""

    def __init__(self, tmp_path, cloud):
        self.root, self.cloud = tmp_path, cloud
        (tmp_path / "pki").mkdir()
        (tmp_path / "bin").mkdir()
        (tmp_path / "root").mkdir()
        name = "page-" + tmp_path.name.replace("_", "-").lower()[:40]
        cloud.admin("/service/objects", {"buckets": [{"store": "s3", "name": name, "public": True,
                                                      "writers": ["arn:aws:iam::123456789012:role/demo"]}]})
        self.issuer = Published(tmp_path / "issuer", cloud, "s3", name)
        config = self.issuer.config.read_text().replace("name: aws", "name: issuer-bucket")
        (tmp_path / "issuer.yaml").write_text(config)
        (tmp_path / "bin/oc").write_text(OC)
        # A CA, and a store whose host says nothing, are what this cloud has and the page has not.
        (tmp_path / "bin/credfresh-oidc").write_text(
            f'#!/bin/sh\n[ "$1" != publish ] || set -- "$@" --ca-file {cloud.ca} --to s3@eu-west-1:{self.issuer.base}\n'
            f'exec {os.path.abspath(OIDC)} "$@"\n')
        for tool in ("oc", "credfresh-oidc"):
            (tmp_path / "bin" / tool).chmod(0o755)
        self.signer = tmp_path / "pki/sa.key"
        self.used = []

    def run(self, block):
        for place, here in (("https://demo-oidc.s3.eu-west-1.amazonaws.com", self.issuer.url),
                            ("/var/lib/credfresh/issuer", str(self.issuer.dir)), ("/etc/kubernetes/pki", str(self.root / "pki")),
                            ("/etc/credfresh/issuer.yaml", str(self.root / "issuer.yaml")), ("/root/", str(self.root / "root") + "/")):
            block = block.replace(place, here)
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", block], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                                   "CLUSTER": str(self.root / "pki")})
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        return done.stderr

    def token(self, pem):
        """As an API server signs it."""
        now = int(time.time())
        claims = {"iss": self.issuer.url, "sub": SUBJECT, "aud": ["openshift"], "iat": now, "nbf": now, "exp": now + 3600}
        header = {"alg": "RS256", "kid": b64(hashlib.sha256(spki(pem)).digest())}
        text = ".".join(b64(json.dumps(part).encode()) for part in (header, claims))
        key = self.root / "signing.pem"
        key.write_bytes(pem)
        proof = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(key)], input=text.encode(), capture_output=True,
                               check=True).stdout
        return text + "." + b64(proof)

    def accepted(self, pem):
        """By STS, which has read the issuer's URL just now."""
        document = json.loads(self.issuer.get(".well-known/openid-configuration")[0])
        assert document["issuer"] == self.issuer.url
        keys = json.loads(self.issuer.get(document["jwks_uri"].removeprefix(self.issuer.url + "/"))[0])
        self.cloud.admin("/role", {"arn": ROLE, "trust": [{"subject": SUBJECT, "audience": ["openshift"], "jwks": keys,
                                                           "federated_issuer": self.issuer.url}]})
        form = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": ROLE, "RoleSessionName": "pod",
                "WebIdentityToken": self.token(pem)}
        done = subprocess.run(["curl", "-s", "--cacert", self.cloud.ca, self.cloud.sts, "-d", urllib.parse.urlencode(form)],
                              capture_output=True, text=True, timeout=30)
        return "<AssumeRoleWithWebIdentityResponse" in done.stdout

    def look(self):
        """Tokens of the key that signs, and of those that signed within the lifetime of a token."""
        pem = self.signer.read_bytes()
        if pem not in self.used:
            self.used.append(pem)
        assert all(self.accepted(one) for one in self.used)


@pytest.fixture
def cluster(tmp_path, shared_cloud):
    return Cluster(tmp_path, shared_cloud)


def test_the_private_key_is_yours(cluster):
    adopt, publish, switch, confirm, retire = section("The private key is yours")
    subprocess.run(["openssl", "genrsa", "-traditional", "-out", str(cluster.signer), "2048"], check=True, capture_output=True)
    cluster.run(adopt)
    cluster.look()
    for _ in range(2):
        first = cluster.signer.read_bytes()
        cluster.run(publish)
        cluster.look()
        assert (cluster.root / "pki/sa.pub").read_text().count("BEGIN PUBLIC KEY") == 2
        assert "too recently" in cluster.issuer.refused("rotate")
        cluster.issuer.pass_time(HOUR)
        cluster.run(switch)
        assert spki(cluster.signer.read_bytes()) != spki(first)
        cluster.look()
        cluster.run(confirm)
        assert "may be in use until" in cluster.issuer.refused("rotate")
        cluster.look()
        cluster.issuer.pass_time(24 * HOUR + 300)
        cluster.run(retire)
        cluster.used = []
        cluster.look()
        assert not cluster.accepted(first)
        assert (cluster.root / "pki/sa.pub").read_text().count("BEGIN PUBLIC KEY") == 1


def test_the_cluster_keeps_the_private_key(cluster):
    adopt, publish, confirm, retire = section("The cluster keeps the private key")
    cluster.signer = cluster.root / "pki/signer.key"
    for name in ("next.key", "signer.key"):
        subprocess.run(["openssl", "genrsa", "-out", str(cluster.root / "pki" / name), "2048"], check=True, capture_output=True)
    (cluster.root / "pki/signer.key").write_bytes((cluster.root / "pki/next.key").read_bytes())
    cluster.run(adopt)
    cluster.look()
    for _ in range(2):
        first = cluster.signer.read_bytes()
        cluster.run(publish)
        cluster.look()
        assert cluster.accepted((cluster.root / "pki/next.key").read_bytes())  # before it signs
        said = cluster.run(confirm)
        assert "earlier than" in said
        assert spki(cluster.signer.read_bytes()) != spki(first)
        cluster.look()
        assert "may be in use until" in cluster.issuer.refused("rotate")
        cluster.issuer.pass_time(24 * HOUR + 300)
        cluster.run(retire)
        cluster.used = []
        cluster.look()
        assert not cluster.accepted(first)
    assert "PRIVATE" not in (cluster.issuer.dir / "issuer.json").read_text()
