# SPDX-License-Identifier: MIT
"""What the tests of the clouds share: keys, certificates and signed tokens, made with openssl(1), and a small client."""
import base64
import json
import os
import subprocess
import tempfile
import time
import urllib.parse
import uuid

from test_localcloud import FORM, Cloud, claims_of, until  # noqa: F401  (the tests take them from here)

JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt"
BEARER_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=None, env=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True,
                          env={**os.environ, **(env or {})}).stdout


CURVES = {"EC": "P-256", "P-256": "P-256", "P-384": "P-384", "P-521": "P-521", "P-224": "P-224"}


class Key:
    """A private key in a file, RSA, Ed25519 or of a curve; RSA and P-256 sign tokens."""

    def __init__(self, directory, name, kind="RSA", bits=2048):
        self.path = str(directory / (name + ".pem"))
        self.kind = kind
        how = {"RSA": ["-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}"],
               "ED25519": ["-algorithm", "ED25519"]}.get(kind) or [
            "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:" + CURVES[kind]]
        openssl("genpkey", *how, "-out", self.path)
        self.public = openssl("pkey", "-in", self.path, "-pubout").decode()

    def certificate(self, days=30):
        return openssl("req", "-new", "-x509", "-key", self.path, "-subj", "/CN=test", "-days", str(days)).decode()

    def stub_request(self):
        """spec.stubPKCS10Request of a PodCertificateRequest."""
        return {"stubPKCS10Request": base64.b64encode(
            openssl("req", "-new", "-key", self.path, "-subj", "/", "-outform", "DER")).decode()}

    def proof(self, uid):
        """spec.pkixPublicKey and spec.proofOfPossession, the older form: a signature over the pod's UID."""
        with tempfile.NamedTemporaryFile() as text:
            text.write(uid.encode())
            text.flush()
            pss = ["-pkeyopt", "rsa_padding_mode:pss", "-pkeyopt", "rsa_pss_saltlen:-1"] if self.kind == "RSA" else []
            digest = [] if self.kind == "ED25519" else ["-digest", "sha256"]
            signature = openssl("pkeyutl", "-sign", "-rawin", *digest, *pss, "-inkey", self.path, "-in", text.name)
        return {"pkixPublicKey": base64.b64encode(
                    openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")).decode(),
                "proofOfPossession": base64.b64encode(signature).decode()}

    def jwk(self, kid):
        """Public JWK of a P-256 key: its DER form ends with the point."""
        point = openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")[-64:]
        return {"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": b64url(point[:32]), "y": b64url(point[32:])}

    def sign(self, claims, **header):
        alg = header.setdefault("alg", "RS256" if self.kind == "RSA" else "ES256")
        text = b64url(json.dumps({"typ": "JWT", **header}).encode()) + "." + b64url(json.dumps(claims).encode())
        pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"] if alg == "PS256" else []
        signature = openssl("dgst", "-sha256", *pss, "-sign", self.path, data=text.encode())
        if self.kind != "RSA":
            signature = raw_signature(signature)
        return text + "." + b64url(signature)


def raw_signature(der):
    """r and s out of SEQUENCE { INTEGER, INTEGER } as 32 bytes each."""
    numbers, at = b"", 2
    for _ in range(2):
        length = der[at + 1]
        numbers += der[at + 2:at + 2 + length].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + length
    return numbers


def thumbprint(certificate, digest):
    return b64url(bytes.fromhex(openssl("x509", "-noout", "-fingerprint", "-" + digest, data=certificate.encode())
                                .decode().strip().split("=")[1].replace(":", "")))


def own_claims(client, audience, life_s=600, **more):
    """What a client says of itself; None takes a claim away."""
    now = int(time.time())
    claims = {"iss": client, "sub": client, "aud": audience, "iat": now, "nbf": now, "exp": now + life_s,
              "jti": str(uuid.uuid4())}
    claims.update(more)
    return {name: value for name, value in claims.items() if value is not None}


def form(cloud, path, fields, headers=None, **more):
    """POSTs the fields as a form; None leaves one out. Fields may be pairs."""
    pairs = fields.items() if isinstance(fields, dict) else fields
    body = urllib.parse.urlencode([pair for pair in pairs if pair[1] is not None])
    return cloud.request("POST", path, body, {"Content-Type": FORM, **(headers or {})}, **more)


def document(answer, status=200):
    assert answer.status == status, answer.body
    return json.loads(answer.body)


def basic(user, password):
    text = urllib.parse.quote(user, safe="") + ":" + urllib.parse.quote(password, safe="")
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


def bearer(token):
    return {"Authorization": "Bearer " + token}


def request_pod_certificate(cloud, name, signer, key, pod="demo-0", namespace="default", status=200, **spec):
    """A PodCertificateRequest as the kubelet creates it. KEY is a Key, or the fields of the spec for it; the cloud fills in
    what it knows of the pod. None leaves a field out."""
    fields = {"signerName": signer, "podName": pod, **(key.stub_request() if isinstance(key, Key) else key), **spec}
    return cloud.admin("POST", "/kube/object", {
        "kind": "PodCertificateRequest", "namespace": namespace, "name": name,
        "spec": {field: value for field, value in fields.items() if value is not None}}, status=status)


def reset(cloud):
    cloud.admin("DELETE", "/fault")
    cloud.admin("POST", "/outage", {"on": False})
