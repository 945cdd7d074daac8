# SPDX-License-Identifier: MIT
"""Tests of credfresh-localcloud: each rule, refusal and fault, with an own client of the standard library, and with the
AWS command line as a second judge. The binary's path comes from CFR_LOCALCLOUD."""
import base64
import calendar
import concurrent.futures
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

BINARY = os.environ.get("CFR_LOCALCLOUD", "")
FORM = "application/x-www-form-urlencoded"
DEMO = "arn:aws:iam::123456789012:role/demo"
LONG = "arn:aws:iam::123456789012:role/team/long"
TARGET = "arn:aws:iam::123456789012:role/target"
GUARDED = "arn:aws:iam::123456789012:role/guarded"
SUBJECT = "system:serviceaccount:default:demo"
USER_KEY = ("AKIALOCALCLOUDUSER00", "local/secret+key")
CONFIG = {
    "roles": [
        {"arn": DEMO, "trust": [{"subject": SUBJECT, "audience": ["sts.amazonaws.com"]}]},
        {"arn": LONG, "max_session_s": 43200,
         "trust": [{"subject": "system:serviceaccount:*:demo", "audience": ["sts.amazonaws.com", "other"],
                    "allow_tags": True}]},
        {"arn": TARGET, "max_session_s": 43200,
         "trust": [{"aws_principal": LONG, "allow_tags": True},
                   {"aws_principal": "arn:aws:iam::123456789012:user/robot"}]},
        {"arn": GUARDED, "trust": [{"aws_principal": LONG, "external_id": "hush:1", "require_source_identity": True}]},
    ],
    "volumes": [{"name": "demo"}, {"name": "still", "mode": "0640", "paused": True, "file": "id.jwt"}],
    "iam_keys": [{"access_key_id": USER_KEY[0], "secret_access_key": USER_KEY[1],
                  "arn": "arn:aws:iam::123456789012:user/robot"}],
}


class Cloud:
    """A running local cloud."""

    keys = {}  # key files of the first one, so that not each has to make its own

    def __init__(self, config=None, speed=1, state=None, extra=(), fresh=False):
        self.own_state = state is None
        self.state = Path(state or tempfile.mkdtemp(prefix="localcloud-"))
        if self.own_state and not fresh:
            for name, content in Cloud.keys.items():
                (self.state / name).write_bytes(content)
        command = [BINARY, "--state", str(self.state), "--speed", str(speed), *extra]
        if config is not None:
            path = self.state / "config.json"
            path.write_text(json.dumps(config))
            command += ["--config", str(path)]
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.errors)
        until(lambda: (self.state / "ready.json").exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.said()
        self.ready = json.loads((self.state / "ready.json").read_text())
        if not Cloud.keys:
            Cloud.keys = {name: (self.state / name).read_bytes() for name in ("ca.pem", "ca.key", "issuer.key")}
        self.ssl = ssl.create_default_context(cafile=self.ready["ca_file"])

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        text = self.said()
        self.errors.close()
        assert not (self.state / "ready.json").exists()
        if self.own_state:
            shutil.rmtree(self.state)
        assert code == 0 and text == "", text

    def connect(self, url=None, context=None):
        parts = urllib.parse.urlsplit(url or self.ready["sts_url"])
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port, context=context or self.ssl, timeout=60)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)

    def request(self, method="POST", path="/", body=None, headers=None, url=None, connection=None):
        own = connection is None
        connection = connection or self.connect(url)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            if own:
                connection.close()

    def admin(self, method, path, document=None, status=200):
        body = None if document is None else json.dumps(document)
        answer = self.request(method, path, body, url=self.ready["admin_url"])
        assert answer.status == status, answer.body
        return json.loads(answer.body)

    def sts(self, params, headers=None, **more):
        body = params if isinstance(params, (str, bytes)) else urllib.parse.urlencode(params, doseq=True)
        return self.request("POST", "/", body, {"Content-Type": FORM, **(headers or {})}, **more)

    def token(self, **wish):
        return self.admin("POST", "/token", wish)["token"]

    def web(self, changes=None, headers=None, **more):
        """AssumeRoleWithWebIdentity with good parameters, changed: None takes one away."""
        params = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": DEMO,
                  "RoleSessionName": "session-1"}
        params.update(changes or {})
        if "WebIdentityToken" not in params:
            params["WebIdentityToken"] = self.token()
        params = {name: value for name, value in params.items() if value is not None}
        return self.sts(params, headers, **more)

    def session(self, role=DEMO, **changes):
        answer = self.web({"RoleArn": role, **changes})
        assert answer.status == 200, answer.body
        return answer.credentials()

    def signed(self, params, keys, headers=None, **sign):
        body = urllib.parse.urlencode(params)
        host = urllib.parse.urlsplit(self.ready["sts_url"]).netloc
        return self.request("POST", "/", body, {**signature("POST", host, "", body, keys, **sign), **(headers or {})})

    def whoami(self, keys, **sign):
        return self.signed({"Action": "GetCallerIdentity", "Version": "2011-06-15"}, keys, **sign)

    def assume(self, keys, role=TARGET, headers=None, **params):
        return self.signed({"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": role,
                            "RoleSessionName": "chained", **params}, keys, headers)

    def fault(self, kind, **more):
        self.admin("POST", "/fault", {"kind": kind, **more})


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def find(self, name):
        for element in ElementTree.fromstring(self.body).iter():
            if element.tag.split("}")[-1] == name:
                return element.text or ""
        return None

    def error(self):
        return self.status, self.find("Code")

    def message(self):
        return self.find("Message")

    def expires(self):
        return calendar.timegm(time.strptime(self.find("Expiration"), "%Y-%m-%dT%H:%M:%SZ"))

    def credentials(self):
        return self.find("AccessKeyId"), self.find("SecretAccessKey"), self.find("SessionToken")


def until(condition, limit_s=15):
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.01)


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(method, host, query, body, keys, region="eu-west-1", service="sts", ago_s=0, signed=None, tamper=None,
              scope_date=None, drop=()):
    """Headers of a request with Signature Version 4, made from the published algorithm."""
    key_id, secret, token = (*keys, None)[:3]
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - ago_s))
    date = scope_date or stamp[:8]
    headers = {"host": host, "x-amz-date": stamp, "content-type": FORM}
    if token:
        headers["x-amz-security-token"] = token
    names = sorted(signed or headers)
    canonical = "\n".join([method, "/", query, *(f"{name}:{headers[name]}" for name in names), "", ";".join(names),
                           hashlib.sha256(body.encode()).hexdigest()])
    scope = f"{date}/{region}/{service}/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = mac(mac(mac(mac(b"AWS4" + secret.encode(), date), region), service), "aws4_request")
    proof = tamper or hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, SignedHeaders={';'.join(names)}, "
                                f"Signature={proof}")
    return {name: value for name, value in headers.items() if name not in drop}


def claims_of(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.fixture(scope="module")
def cloud():
    running = Cloud(CONFIG)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def state_with_keys(tmp_path_factory):
    """A state directory that was used before: no key has to be made at each start."""
    path = tmp_path_factory.mktemp("state") / "s"
    Cloud(state=path).stop()
    return path


@pytest.fixture(autouse=True)
def no_faults_left(request):
    yield
    if "cloud" in request.fixturenames:
        running = request.getfixturevalue("cloud")
        running.admin("DELETE", "/fault")
        running.admin("POST", "/outage", {"on": False})


# --- start and state --------------------------------------------------------------------------------------------------

def test_version_and_help():
    assert subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout.startswith(
        "credfresh-localcloud ")
    assert "--state" in subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("arguments,reason", [
    ([], "--state DIR is missing"),
    (["--state"], "--state needs a value"),
    (["--state", "{dir}", "--speed", "0"], "--speed must be"),
    (["--state", "{dir}", "--speed", "fast"], "--speed must be"),
    (["--state", "{dir}", "--speed", "nan"], "--speed must be"),
    (["--state", "{dir}", "--port", "65536"], "--port must be"),
    (["--state", "{dir}", "--what"], "unknown option"),
    (["--state", "{dir}/no/such/dir"], "cannot be made"),
    (["--state", "{dir}", "--config", "{dir}/missing.json"], "missing.json: No such file"),
])
def test_bad_options(tmp_path, arguments, reason):
    done = subprocess.run([BINARY, *(a.format(dir=tmp_path) for a in arguments)], capture_output=True, text=True)
    assert done.returncode == 2
    assert reason in done.stderr


@pytest.mark.parametrize("text,reason", [
    ("{", "line 1"),
    ("[]", "must be a JSON object"),
    ('{"roles":[],"roles":[]}', "duplicate"),
    ('{"rolls":[]}', 'unknown key "rolls"; known are: region, roles'),
    ('{"roles":{}}', '"roles" must be an array'),
    ('{"roles":[{"arn":"role/x"}]}', 'roles[0]: role: "arn" must look like'),
    ('{"roles":[{"arn":"arn:aws:iam::123456789012:role/x","max_session_s":3599,"trust":[]}]}', "from 3600 to 43200"),
    ('{"roles":[{"arn":"arn:aws:iam::123456789012:role/x"}]}', '"trust" must be an array'),
    ('{"roles":[{"arn":"arn:aws:iam::123456789012:role/x","trust":[{}]}]}', '"subject" is missing'),
    ('{"roles":[{"arn":"arn:aws:iam::123456789012:role/x","trust":[{"subject":"s","federated_issuer":"http://a"}]}]}',
     "https:// URL"),
    ('{"roles":[{"arn":"arn:aws:iam::123456789012:role/x","trust":[{"subject":"s","federated_issuer":"https://a"}]}]}',
     "keys of issuer https://a are not known"),
    ('{"roles":[{"arn":"arn:aws:iam::123456789012:role/x","trust":[{"subject":"s","federated_issuer":"https://a",'
     '"jwks":{"keys":[{"kid":"k","kty":"RSA","n":"AQAB","e":"AQAB"}]}}]}]}', 'key "k" of the JWKS is not a usable'),
    ('{"volumes":[{"name":"a/b"}]}', "volumes[0]"),
    ('{"volumes":[{"name":"..data"}]}', "volumes[0]"),
    ('{"volumes":[{"expiration_s":599}]}', "from 600 to"),
    ('{"volumes":[{"mode":"644"}]}', "four octal digits"),
    ('{"volumes":[{},{}]}', 'volume "demo" occurs twice'),
    ('{"iam_keys":[{"access_key_id":"short"}]}', "iam_keys[0]"),
])
def test_bad_configuration(tmp_path, state_with_keys, text, reason):
    (tmp_path / "c.json").write_text(text)
    done = subprocess.run([BINARY, "--state", str(state_with_keys), "--config", str(tmp_path / "c.json")],
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert "c.json" in done.stderr
    assert reason in done.stderr
    assert not (state_with_keys / "ready.json").exists()


def test_state_directory(cloud):
    ready = cloud.ready
    assert ready["pid"] == cloud.process.pid
    assert ready["issuer"] == ready["sts_url"] + "issuer"
    assert ready["volumes"]["demo"] == str(cloud.state / "volumes" / "demo")


def test_state_is_made_private_and_survives_a_restart(tmp_path):
    first = Cloud(state=tmp_path / "s")
    try:
        assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700
        for name in ("ca.key", "issuer.key", "session.key", "ready.json"):
            assert stat.S_IMODE((tmp_path / "s" / name).stat().st_mode) == 0o600, name
        ca = (tmp_path / "s" / "ca.pem").read_text()
        keys = first.session()
        port = urllib.parse.urlsplit(first.ready["sts_url"]).port
        first.admin("POST", "/issuer/rotate", {"phase": "all"})
        token = first.token()
    finally:
        first.stop()
    second = Cloud(state=tmp_path / "s", extra=["--port", str(port)])
    try:
        assert (tmp_path / "s" / "ca.pem").read_text() == ca
        assert second.ready["sts_url"] == first.ready["sts_url"]
        assert second.whoami(keys).status == 200
        assert second.web({"WebIdentityToken": token}).status == 200
    finally:
        second.stop()


def test_port_in_use_is_said(cloud, tmp_path):
    port = str(urllib.parse.urlsplit(cloud.ready["sts_url"]).port)
    done = subprocess.run([BINARY, "--state", str(tmp_path / "s"), "--port", port], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr


def test_log_has_no_secret(tmp_path):
    log = tmp_path / "log"
    running = Cloud(extra=["--log", str(log)])
    try:
        token = running.token()
        key_id, secret, session = running.web({"WebIdentityToken": token}).credentials()
        until(lambda: key_id in log.read_text())
        assert secret not in log.read_text()
        assert session not in log.read_text()
        assert token not in log.read_text()
    finally:
        running.stop()


# --- TLS --------------------------------------------------------------------------------------------------------------

def test_certificates(cloud):
    for url, reason in (("sts_expired_url", "expired"), ("sts_wrongname_url", "IP address mismatch")):
        with pytest.raises(ssl.SSLCertVerificationError, match=reason):
            cloud.request(url=cloud.ready[url])
    stranger = ssl.create_default_context(cafile=cloud.ready["other_ca_file"])
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer|self.signed|verify failed"):
        cloud.connect(context=stranger).request("GET", "/")


def test_plain_listener_has_the_same_services(cloud):
    assert cloud.web(url=cloud.ready["http_url"]).status == 200


# --- issuer -----------------------------------------------------------------------------------------------------------

def test_discovery(cloud):
    answer = cloud.request("GET", "/issuer/.well-known/openid-configuration")
    document = json.loads(answer.body)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert document == {"issuer": cloud.ready["issuer"], "jwks_uri": cloud.ready["issuer"] + "/openid/v1/jwks",
                        "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
                        "id_token_signing_alg_values_supported": ["RS256"]}
    assert cloud.request("GET", "/issuer/nothing").status == 404
    assert cloud.request("POST", "/issuer/openid/v1/jwks").status == 405
    assert cloud.request("GET", "/nothing").status == 404


def jwks(cloud):
    answer = cloud.request("GET", "/issuer/openid/v1/jwks")
    assert answer.headers["Content-Type"] == "application/jwk-set+json"
    assert answer.headers["Cache-Control"] == "public, max-age=3600"
    return json.loads(answer.body)["keys"]


def der(tag, content):
    length = len(content)
    head = bytes([length]) if length < 128 else bytes([0x82]) + length.to_bytes(2, "big")
    return bytes([tag]) + head + content


def test_kid_is_the_one_of_kubernetes(cloud):
    key = jwks(cloud)[0]
    assert key["kty"] == "RSA" and key["alg"] == "RS256" and key["use"] == "sig" and key["e"] == "AQAB"
    modulus = base64.urlsafe_b64decode(key["n"] + "==")
    assert len(modulus) == 256
    rsa = der(0x30, der(0x02, b"\0" + modulus) + der(0x02, b"\1\0\1"))
    spki = der(0x30, bytes.fromhex("300d06092a864886f70d0101010500") + der(0x03, b"\0" + rsa))
    assert key["kid"] == base64.urlsafe_b64encode(hashlib.sha256(spki).digest()).rstrip(b"=").decode()


def test_token_has_the_shape_of_kubernetes(cloud):
    token = cloud.token(namespace="ns-a", service_account="sa-b", audience=["one", "two"])
    claims = claims_of(token)
    assert claims["aud"] == ["one", "two"]
    assert claims["iss"] == cloud.ready["issuer"]
    assert claims["sub"] == "system:serviceaccount:ns-a:sa-b"
    assert claims["iat"] == claims["nbf"] and claims["exp"] - claims["iat"] == 3600
    assert all(type(claims[name]) is int for name in ("exp", "iat", "nbf"))
    assert len(claims["jti"]) == 36 and claims["jti"] != claims_of(cloud.token())["jti"]
    kubernetes = claims["kubernetes.io"]
    assert kubernetes["namespace"] == "ns-a" and kubernetes["serviceaccount"]["name"] == "sa-b"
    assert kubernetes["pod"]["uid"] and kubernetes["node"]["name"]


def test_keys_rotate_with_overlap(cloud):
    old_token = cloud.token()
    old = cloud.admin("GET", "/issuer")["signing"]
    new = cloud.admin("POST", "/issuer/rotate", {"phase": "publish"})["published"][-1]
    assert {key["kid"] for key in jwks(cloud)} >= {old, new}
    assert cloud.admin("GET", "/issuer")["signing"] == old
    assert cloud.admin("POST", "/issuer/rotate", {"phase": "switch"})["signing"] == new
    new_token = cloud.token()
    assert cloud.web({"WebIdentityToken": old_token}).status == 200
    assert cloud.web({"WebIdentityToken": new_token}).status == 200
    assert cloud.admin("POST", "/issuer/rotate", {"phase": "retire"})["published"] == [new]
    answer = cloud.web({"WebIdentityToken": old_token})
    assert answer.error() == (400, "InvalidIdentityToken")
    assert "Couldn't retrieve verification key" in answer.message()
    assert cloud.web({"WebIdentityToken": new_token}).status == 200
    assert "publish one first" in cloud.admin("POST", "/issuer/rotate", {"phase": "switch"}, 400)["error"]
    assert "phase" in cloud.admin("POST", "/issuer/rotate", {"phase": "sideways"}, 400)["error"]
    for _ in range(7):
        cloud.admin("POST", "/issuer/rotate", {"phase": "publish"})
    assert "retire the old" in cloud.admin("POST", "/issuer/rotate", {"phase": "publish"}, 400)["error"]
    cloud.admin("POST", "/issuer/rotate", {"phase": "switch"})
    assert len(cloud.admin("POST", "/issuer/rotate", {"phase": "retire"})["published"]) == 1


# --- AssumeRoleWithWebIdentity ----------------------------------------------------------------------------------------

def test_web_identity(cloud):
    before = time.time()
    answer = cloud.web({"RoleSessionName": "a.b=c,d@e+f-g"})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/xml"
    assert answer.headers["x-amzn-RequestId"] == answer.find("RequestId")
    assert answer.headers["x-amz-sts-extended-request-id"]
    root = ElementTree.fromstring(answer.body)
    assert root.tag == "{https://sts.amazonaws.com/doc/2011-06-15/}AssumeRoleWithWebIdentityResponse"
    key_id, secret, token = answer.credentials()
    assert key_id.startswith("ASIA") and len(key_id) == 20 and len(secret) == 40 and len(token) >= 100
    assert answer.find("Arn") == "arn:aws:sts::123456789012:assumed-role/demo/a.b=c,d@e+f-g"
    assert answer.find("AssumedRoleId").startswith("AROA") and len(answer.find("AssumedRoleId").split(":")[0]) == 21
    assert answer.find("SubjectFromWebIdentityToken") == SUBJECT
    assert answer.find("Audience") == "sts.amazonaws.com"
    assert answer.find("Provider") == "arn:aws:iam::123456789012:oidc-provider/" + cloud.ready["issuer"][8:]
    assert answer.find("PackedPolicySize") is None and answer.find("SourceIdentity") is None
    assert before + 3600 <= answer.expires() <= time.time() + 3601


def test_the_volume_token_works(cloud):
    cloud.admin("POST", "/volume/demo/renew")
    token = (Path(cloud.ready["volumes"]["demo"]) / "token").read_text()
    assert token == token.strip()
    assert cloud.web({"WebIdentityToken": token}).status == 200
    assert cloud.web({"WebIdentityToken": token + "\n"}).status == 200


def test_json_answers(cloud):
    before = time.time()
    answer = cloud.web({"DurationSeconds": "900"}, {"Accept": "application/json"})
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    document = json.loads(answer.body)["AssumeRoleWithWebIdentityResponse"]
    result = document["AssumeRoleWithWebIdentityResult"]
    assert result["PackedPolicySize"] is None and result["SourceIdentity"] is None
    text = answer.body.decode().split('"Expiration":')[1].split("}")[0]
    assert text[1] == "." and text.endswith("E9")
    assert before + 900 <= float(text) <= time.time() + 901
    assert document["ResponseMetadata"]["RequestId"] == answer.headers["x-amzn-RequestId"]
    assert set(result["Credentials"]) == {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}
    refused = cloud.web({"RoleArn": None}, {"Accept": "application/json"})
    error = json.loads(refused.body)
    assert refused.status == 400
    assert error["Error"]["Code"] == "ValidationError" and error["Error"]["Type"] == "Sender" and error["RequestId"]


POLICY = json.dumps({"Version": "2012-10-17", "Statement": []})


@pytest.mark.parametrize("changes,code,text", [
    ({"RoleArn": None}, "ValidationError",
     "1 validation error detected: Value null at 'roleArn' failed to satisfy constraint: Member must not be null"),
    ({"RoleSessionName": None}, "ValidationError", "Value null at 'roleSessionName'"),
    ({"WebIdentityToken": None}, "ValidationError", "Value null at 'webIdentityToken'"),
    ({"RoleArn": "arn:aws:iam::1:role"}, "ValidationError", "length greater than or equal to 20"),
    ({"RoleArn": "arn:aws:iam::123456789012:role/" + "x" * 2048}, "ValidationError",
     "length less than or equal to 2048"),
    ({"RoleArn": "arn:aws:iam::12345678901:role/demo"}, "ValidationError", "Request ARN is invalid"),
    ({"RoleArn": "arn:aws:iam::123456789012:user/demo"}, "ValidationError", "Request ARN is invalid"),
    ({"RoleSessionName": "a"}, "ValidationError", "length greater than or equal to 2"),
    ({"RoleSessionName": "a" * 65}, "ValidationError", "length less than or equal to 64"),
    ({"RoleSessionName": "a:b"}, "ValidationError", "regular expression pattern: [\\w+=,.@-]*"),
    ({"RoleSessionName": "a b"}, "ValidationError", "Value 'a b' at 'roleSessionName'"),
    ({"RoleSessionName": "a/b"}, "ValidationError", "regular expression"),
    ({"RoleSessionName": "gr\u00fcn"}, "ValidationError", "regular expression"),
    ({"WebIdentityToken": "abc"}, "ValidationError", "Value '***' at 'webIdentityToken'"),
    ({"WebIdentityToken": "a" * 20001}, "ValidationError", "length less than or equal to 20000"),
    ({"ProviderId": "graph.facebook.com"}, "ValidationError", "ProviderId"),
    ({"DurationSeconds": "899"}, "ValidationError", "greater than or equal to 900"),
    ({"DurationSeconds": "43201"}, "ValidationError", "less than or equal to 43200"),
    ({"DurationSeconds": "-900"}, "ValidationError", "greater than or equal to 900"),
    ({"DurationSeconds": "3601"}, "ValidationError",
     "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."),
    ({"RoleArn": None, "RoleSessionName": None}, "ValidationError", "2 validation errors detected: "),
    ({"Policy": ""}, "ValidationError", "at 'policy'"),
    ({"Policy": "x" * 2049}, "ValidationError", "length less than or equal to 2048"),
    ({"Policy": POLICY + "\u20ac"}, "ValidationError", "\\u0020-\\u00FF"),
    ({"Policy": "{not json"}, "MalformedPolicyDocument", ""),
    ({"Policy": "[]"}, "MalformedPolicyDocument", ""),
    ({"Policy": '{"Version":"2012-10-17"}'}, "MalformedPolicyDocument", ""),
    ({"PolicyArns.member.1.arn": "short"}, "ValidationError", "at 'policyArns'"),
    ({"PolicyArns.member.1.arn": "arn:aws:iam::999999999999:policy/other"}, "ValidationError", "is not valid"),
    ({f"PolicyArns.member.{n}.arn": "arn:aws:iam::aws:policy/ReadOnlyAccess" for n in range(1, 12)},
     "ValidationError", "less than or equal to 10"),
    ({"Policy": POLICY + " " * 1900, "PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/" + "R" * 200},
     "PackedPolicyTooLarge", "%"),
])
def test_parameter_rules(cloud, changes, code, text):
    answer = cloud.web(changes)
    assert answer.error() == (400, code)
    assert text in answer.message()
    assert answer.find("Type") == "Sender"


@pytest.mark.parametrize("value", ["ten", "900.0", "", "99999999999", "1e3"])
def test_a_duration_that_is_no_number(cloud, value):
    answer = cloud.web({"DurationSeconds": value})
    assert answer.error() == (400, "MalformedInput")
    assert answer.message() is None


@pytest.mark.parametrize("changes", [
    {"DurationSeconds": "+900"}, {"DurationSeconds": "0900"}, {"DurationSeconds": "3600"}, {"Nonsense": "ignored"},
    {"RoleArn": LONG, "DurationSeconds": "43200"}, {"PolicyARNs.member.1.arn": "x"}, {"RoleSessionName": "_" * 64},
])
def test_parameters_that_are_fine(cloud, changes):
    assert cloud.web(changes).status == 200


def test_session_policy_is_measured(cloud):
    answer = cloud.web({"Policy": POLICY, "PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/ReadOnlyAccess"})
    assert answer.status == 200
    assert 1 <= int(answer.find("PackedPolicySize")) <= 10


def test_first_duplicate_wins(cloud):
    good = urllib.parse.urlencode({"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": DEMO,
                                   "RoleSessionName": "first", "WebIdentityToken": cloud.token()})
    answer = cloud.sts(good + "&RoleSessionName=second&Action=Nothing")
    assert answer.find("Arn").endswith("/first")


def test_long_role_has_no_path_in_its_session(cloud):
    answer = cloud.web({"RoleArn": LONG})
    assert answer.find("Arn") == "arn:aws:sts::123456789012:assumed-role/long/session-1"


# --- dispatch ---------------------------------------------------------------------------------------------------------

def test_redirects(cloud):
    body = urllib.parse.urlencode({"Action": "GetCallerIdentity", "Version": "2011-06-15"})
    for answer in (cloud.request("POST", "/", body), cloud.request("POST", "/", body, {"Content-Type": "text/plain"}),
                   cloud.sts("Version=2011-06-15"), cloud.sts(""), cloud.request("GET", "/"),
                   cloud.request("PUT", "/", body, {"Content-Type": FORM})):
        assert answer.status == 302 and answer.body == b""
        assert answer.headers["Location"] == "https://aws.amazon.com/iam"
    assert cloud.sts(body, {"Content-Type": FORM + "; charset=utf-8"}).error() == (403, "MissingAuthenticationToken")


@pytest.mark.parametrize("params,text", [
    ({"Action": "Nope", "Version": "2011-06-15"}, "Could not find operation Nope for version 2011-06-15"),
    ({"Action": "GetCallerIdentity", "Version": "2010-05-08"},
     "Could not find operation GetCallerIdentity for version 2010-05-08"),
    ({"Action": "AssumeRole"}, "NO_VERSION_SPECIFIED"),
])
def test_invalid_action(cloud, params, text):
    answer = cloud.sts(params)
    assert answer.error() == (400, "InvalidAction")
    assert text in answer.message()
    assert b"http://webservices.amazon.com/AWSFault/2005-15-09" in answer.body


def test_get_with_a_query(cloud):
    query = urllib.parse.urlencode({"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": DEMO,
                                    "RoleSessionName": "by-get", "WebIdentityToken": cloud.token()})
    assert cloud.request("GET", "/?" + query).status == 200


def test_post_with_a_query(cloud):
    fields = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": DEMO, "RoleSessionName": "by-query",
              "WebIdentityToken": cloud.token()}
    query = urllib.parse.urlencode(fields)
    assert cloud.request("POST", "/?" + query).status == 200  # object_store sends so: no body, no content type
    assert cloud.request("POST", "/?" + query, "", {"Content-Type": FORM}).status == 200
    named = cloud.request("POST", "/?RoleSessionName=first", urllib.parse.urlencode(fields), {"Content-Type": FORM})
    assert named.status == 200 and b"assumed-role/demo/first" in named.body
    assert cloud.request("POST", "/?" + query, "x=y", {"Content-Type": "text/plain"}).status == 302
    assert cloud.request("POST", "/?Version=2011-06-15").status == 302
    without = urllib.parse.urlencode({name: value for name, value in fields.items() if name != "RoleArn"})
    assert cloud.request("POST", "/?" + without).error() == (400, "ValidationError")
    assert cloud.request("POST", "/?" + query + "&DurationSeconds=899").error() == (400, "ValidationError")
    assert cloud.request("POST", "/?Action=%zz").error() == (400, "MalformedInput")


@pytest.mark.parametrize("body", [b"Action=%zz", b"Action=%", b"Action=Get%00Caller", b"Action=\xff\xfe",
                                  b"Action=a\0b"])
def test_undecodable_input(cloud, body):
    assert cloud.sts(body).error() == (400, "MalformedInput")


def test_body_limit(cloud):
    most = b"Action=Nope&x=" + b"a" * (10_000_000 - 14)
    assert cloud.sts(most).error() == (400, "InvalidAction")
    answer = cloud.sts(most + b"a")
    assert answer.status == 413 and answer.body == b""


# --- token refusals ---------------------------------------------------------------------------------------------------

def recode(token, header=None, claims=None):
    """The token with its header or claims changed and the signature kept."""
    parts = token.split(".")
    for at, value in ((0, header), (1, claims)):
        if value is not None:
            text = value if isinstance(value, bytes) else json.dumps(value).encode()
            parts[at] = base64.urlsafe_b64encode(text).rstrip(b"=").decode()
    return ".".join(parts)


NOT_A_JWT = "The ID Token provided is not a valid JWT"
NO_KEY = "Couldn't retrieve verification key from your identity provider"


@pytest.mark.parametrize("wish,code,text", [
    ({"alg": "none"}, "InvalidIdentityToken", NOT_A_JWT),
    ({"alg": "HS256"}, "InvalidIdentityToken", NOT_A_JWT),
    ({"stray_key": True}, "InvalidIdentityToken", "signature"),
    ({"kid": "unknown"}, "InvalidIdentityToken", NO_KEY),
    ({"kid": ""}, "InvalidIdentityToken", NO_KEY),
    ({"expires_in_s": 0}, "ExpiredTokenException", "Token expired: current date/time "),
    ({"expires_in_s": -100, "issued_ago_s": 200}, "ExpiredTokenException", "must be before the expiration"),
    ({"issued_ago_s": -100}, "InvalidIdentityToken", "not valid yet"),
    ({"extra_claims": {"nbf": 4102444800}}, "InvalidIdentityToken", "not valid yet"),
    ({"extra_claims": {"nbf": None, "iat": 4102444800}}, "InvalidIdentityToken", "future"),
    ({"extra_claims": {"exp": 4102444800.5}}, "InvalidIdentityToken", "exp must be an integer"),
    ({"extra_claims": {"exp": "4102444800"}}, "InvalidIdentityToken", "exp must be an integer"),
    ({"extra_claims": {"iat": 1.0}}, "InvalidIdentityToken", "iat must be an integer"),
    ({"extra_claims": {"exp": None}}, "InvalidIdentityToken", "Missing a required claim: exp"),
    ({"extra_claims": {"iat": None}}, "InvalidIdentityToken", "Missing a required claim: iat"),
    ({"extra_claims": {"iss": None}}, "InvalidIdentityToken", "Missing a required claim: iss"),
    ({"extra_claims": {"sub": None}}, "InvalidIdentityToken", "Missing a required claim: sub"),
    ({"extra_claims": {"sub": 7}}, "InvalidIdentityToken", "Missing a required claim: sub"),
    ({"extra_claims": {"aud": None}}, "InvalidIdentityToken", "Missing a required claim: aud"),
    ({"extra_claims": {"iss": "https://elsewhere.example"}}, "InvalidIdentityToken",
     "No OpenIDConnect provider found in your account for https://elsewhere.example"),
    ({"audience": ["nobody"]}, "InvalidIdentityToken", "Incorrect token audience"),
    ({"audience": []}, "InvalidIdentityToken", "Incorrect token audience"),
    ({"extra_claims": {"aud": {"a": 1}}}, "InvalidIdentityToken", "Incorrect token audience"),
])
def test_token_refusals(cloud, wish, code, text):
    answer = cloud.web({"WebIdentityToken": cloud.token(**wish)})
    assert answer.error() == (400, code)
    assert text in answer.message()


def test_tokens_that_were_tampered_with(cloud):
    token = cloud.token()
    header = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    claims = claims_of(token)
    other = cloud.token(service_account="other").split(".")
    for bad in (recode(token, claims={**claims, "sub": "system:serviceaccount:default:root"}),
                ".".join(token.split(".")[:2] + [other[2]]), token[:-8] + "AAAAAAAA",
                recode(token, header={**header, "typ": "jwt"})):
        answer = cloud.web({"WebIdentityToken": bad})
        assert answer.error() == (400, "InvalidIdentityToken") and "signature" in answer.message()
    for bad in ("garbage", "a.b.c", token.rsplit(".", 1)[0], token + ".x", token + "=", " " + token,
                recode(token, header=b"[]"), recode(token, claims=b"{"), recode(token, header={**header, "crit": ["x"]}),
                recode(token, header={**header, "alg": "PS256"}), recode(token, claims=b'{"sub":"a","sub":"b"}'),
                recode(token, header={"kid": header["kid"]}), "....", "\u20ac" * 20):
        answer = cloud.web({"WebIdentityToken": bad})
        assert answer.error() == (400, "InvalidIdentityToken") and NOT_A_JWT in answer.message(), bad


def test_other_algorithms_of_the_same_key(cloud):
    assert cloud.web({"WebIdentityToken": cloud.token(alg="RS384")}).status == 200
    assert cloud.web({"WebIdentityToken": cloud.token(alg="RS512")}).status == 200
    assert cloud.web({"WebIdentityToken": cloud.token(extra_claims={"aud": "sts.amazonaws.com"})}).status == 200
    assert cloud.web({"WebIdentityToken": cloud.token(audience=["x", "sts.amazonaws.com"])}).status == 200


@pytest.mark.parametrize("wish,role", [
    ({"service_account": "other"}, DEMO), ({"namespace": "other"}, DEMO), ({"audience": ["other"]}, DEMO), ({}, TARGET),
    ({}, "arn:aws:iam::123456789012:role/missing"), ({}, "arn:aws:iam::999999999999:role/demo"),
    ({"extra_claims": {"https://aws.amazon.com/tags": {"principal_tags": {"team": ["a"]}}}}, DEMO),
])
def test_the_trust_policy_says_no(cloud, wish, role):
    answer = cloud.web({"WebIdentityToken": cloud.token(**wish), "RoleArn": role})
    assert answer.error() == (403, "AccessDenied")
    assert answer.message() == "Not authorized to perform sts:AssumeRoleWithWebIdentity"


def test_subject_pattern_and_session_claims(cloud):
    extra = {"https://aws.amazon.com/tags": {"principal_tags": {"team": ["a"]}, "transitive_tag_keys": ["team"]},
             "https://aws.amazon.com/source_identity": "somebody"}
    answer = cloud.web({"WebIdentityToken": cloud.token(namespace="any", audience=["other"], extra_claims=extra),
                        "RoleArn": LONG})
    assert answer.status == 200
    assert answer.find("SourceIdentity") == "somebody" and answer.find("Audience") == "other"
    chained = cloud.assume(answer.credentials())
    assert chained.find("SourceIdentity") == "somebody"
    assert cloud.assume(answer.credentials(), **{"Tags.member.1.Key": "TEAM", "Tags.member.1.Value": "b"}).status == 400


def test_another_issuer_is_trusted_by_its_jwks(cloud, tmp_path):
    other = Cloud(fresh=True)
    try:
        token = other.token()
        keys = {"keys": jwks(other)}
        issuer = other.ready["issuer"]
        statement = {"federated_issuer": issuer, "subject": SUBJECT}
        role = {"arn": "arn:aws:iam::222222222222:role/foreign", "trust": [{**statement, "jwks": keys}]}
        cloud.admin("POST", "/role", role)
        answer = cloud.web({"WebIdentityToken": token, "RoleArn": role["arn"]})
        assert answer.status == 200
        assert answer.find("Provider") == "arn:aws:iam::222222222222:oidc-provider/" + issuer[8:]
        assert "No OpenIDConnect provider" in cloud.web({"WebIdentityToken": token}).message()
        assert "No OpenIDConnect provider" in cloud.web({"RoleArn": role["arn"]}).message()
        path = tmp_path / "jwks.json"
        path.write_text(json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}, *keys["keys"]]}))
        cloud.admin("POST", "/role", {**role, "trust": [{**statement, "jwks_file": str(path)}]})
        assert cloud.web({"WebIdentityToken": token, "RoleArn": role["arn"]}).status == 200
        error = cloud.admin("POST", "/role", {**role, "trust": [{**statement, "jwks_file": "/no/such"}]}, 400)
        assert "/no/such" in error["error"]
    finally:
        other.stop()


# --- signed calls -----------------------------------------------------------------------------------------------------

def test_caller_identity(cloud):
    answer = cloud.whoami(cloud.session())
    assert answer.status == 200
    assert answer.find("Arn") == "arn:aws:sts::123456789012:assumed-role/demo/session-1"
    assert answer.find("Account") == "123456789012"
    assert answer.find("UserId").startswith("AROA") and answer.find("UserId").endswith(":session-1")
    answer = cloud.whoami(USER_KEY)
    assert answer.find("Arn") == "arn:aws:iam::123456789012:user/robot" and answer.find("UserId").startswith("AIDA")


@pytest.mark.parametrize("sign,status,code,text", [
    ({"region": "nowhere"}, 403, "SignatureDoesNotMatch", "Credential should be scoped to a valid region. "),
    ({"service": "iam"}, 403, "SignatureDoesNotMatch", "Credential should be scoped to correct service: 'sts'. "),
    ({"scope_date": "20200101"}, 403, "SignatureDoesNotMatch", "Date in Credential scope does not match"),
    ({"ago_s": 1000}, 403, "SignatureDoesNotMatch", "Signature expired: "),
    ({"ago_s": -1000}, 403, "SignatureDoesNotMatch", "Signature not yet current: "),
    ({"tamper": "0" * 64}, 403, "SignatureDoesNotMatch", "does not match the signature you provided"),
    ({"signed": ["x-amz-date", "x-amz-security-token"]}, 403, "SignatureDoesNotMatch", "does not match"),
    ({"signed": ["host", "x-amz-date"]}, 403, "SignatureDoesNotMatch", "does not match"),
    ({"drop": ["x-amz-security-token"]}, 403, "InvalidClientTokenId",
     "The security token included in the request is invalid."),
    ({"drop": ["x-amz-date"]}, 400, "IncompleteSignature", "X-Amz-Date"),
    ({"drop": ["authorization"]}, 403, "MissingAuthenticationToken", "Request is missing Authentication Token"),
])
def test_bad_signatures(cloud, sign, status, code, text):
    answer = cloud.whoami(cloud.session(), **sign)
    assert answer.error() == (status, code)
    assert text in answer.message()


def test_skew_of_fourteen_minutes_is_fine(cloud):
    assert cloud.whoami(USER_KEY, ago_s=840).status == 200
    assert cloud.whoami(USER_KEY, ago_s=-840).status == 200


def test_wrong_keys(cloud):
    key_id, secret, token = cloud.session()
    other = cloud.session()
    scoped = cloud.whoami((key_id, secret, other[2]), region="nowhere")
    assert "valid region" in scoped.message()
    for keys in ((key_id, secret, other[2]), (other[0], secret, token), (key_id, secret),
                 ("ASIA" + "X" * 16, secret, token), (key_id, secret, token[:-4] + "AAA="), (*USER_KEY, token),
                 ("AKIA" + "X" * 16, secret), (key_id, secret, "short")):
        assert cloud.whoami(keys).error() == (403, "InvalidClientTokenId")
    assert cloud.whoami((key_id, secret[:-1] + "!", token)).error() == (403, "SignatureDoesNotMatch")


@pytest.mark.parametrize("header", [
    "Bearer abc", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=a", "AWS4-HMAC-SHA1 Credential=a/b/c/d/e",
    "AWS4-HMAC-SHA256 Credential=a/b/c, SignedHeaders=host, Signature=00", "",
    "AWS4-HMAC-SHA256 Credential=a/b/c/d/e/f, SignedHeaders=host, Signature=00",
])
def test_malformed_authorization(cloud, header):
    answer = cloud.sts({"Action": "GetCallerIdentity", "Version": "2011-06-15"},
                       {"Authorization": header, "X-Amz-Date": "20260102T030405Z"})
    assert answer.error() == (400, "IncompleteSignature")


def test_presigned_query(cloud):
    key_id, secret, token = cloud.session()
    host = urllib.parse.urlsplit(cloud.ready["sts_url"]).netloc
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"{stamp[:8]}/us-east-1/sts/aws4_request"
    params = {"Action": "GetCallerIdentity", "Version": "2011-06-15", "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
              "X-Amz-Credential": f"{key_id}/{scope}", "X-Amz-Date": stamp, "X-Amz-Expires": "60",
              "X-Amz-Security-Token": token, "X-Amz-SignedHeaders": "host"}
    query = "&".join(f"{name}={urllib.parse.quote(value, safe='-_.~')}" for name, value in sorted(params.items()))
    canonical = "\n".join(["GET", "/", query, f"host:{host}", "", "host", hashlib.sha256(b"").hexdigest()])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = mac(mac(mac(mac(b"AWS4" + secret.encode(), stamp[:8]), "us-east-1"), "sts"), "aws4_request")
    proof = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    assert cloud.request("GET", f"/?{query}&X-Amz-Signature={proof}").status == 200
    assert cloud.request("GET", f"/?{query}&X-Amz-Signature={'0' * 64}").error() == (403, "SignatureDoesNotMatch")
    assert cloud.request("GET", f"/?{query}&x=1&X-Amz-Signature={proof}").error() == (403, "SignatureDoesNotMatch")


def test_region_of_the_configuration():
    running = Cloud({"region": "eu-central-1", "iam_keys": CONFIG["iam_keys"]})
    try:
        assert running.whoami(USER_KEY, region="eu-central-1").status == 200
        assert "valid region" in running.whoami(USER_KEY, region="eu-west-1").message()
    finally:
        running.stop()


def test_assume_role(cloud):
    answer = cloud.assume(cloud.session(LONG))
    assert answer.status == 200
    assert answer.find("Arn") == "arn:aws:sts::123456789012:assumed-role/target/chained"
    assert cloud.whoami(answer.credentials()).find("Arn").endswith("assumed-role/target/chained")
    answer = cloud.assume(cloud.session(LONG), headers={"Accept": "application/json"})
    assert json.loads(answer.body)["AssumeRoleResponse"]["AssumeRoleResult"]["Credentials"]["SessionToken"]


def test_chaining_lasts_an_hour_at_most(cloud):
    keys = cloud.session(LONG)
    assert cloud.assume(keys, DurationSeconds="3600").status == 200
    answer = cloud.assume(keys, DurationSeconds="3601")
    assert answer.error() == (400, "ValidationError") and "1 hour session limit" in answer.message()
    assert cloud.assume(USER_KEY, DurationSeconds="3601").status == 200
    answer = cloud.assume(keys, GUARDED, DurationSeconds="3601", ExternalId="hush:1", SourceIdentity="me")
    assert "MaxSessionDuration" in answer.message()


@pytest.mark.parametrize("role,params", [
    (GUARDED, {}), (GUARDED, {"ExternalId": "wrong", "SourceIdentity": "me"}), (GUARDED, {"ExternalId": "hush:1"}),
    (DEMO, {}), ("arn:aws:iam::123456789012:role/missing", {}),
])
def test_assume_role_denied(cloud, role, params):
    answer = cloud.assume(cloud.session(LONG), role, **params)
    assert answer.error() == (403, "AccessDenied")
    assert answer.message() == ("User: arn:aws:sts::123456789012:assumed-role/long/session-1 is not authorized to "
                                f"perform: sts:AssumeRole on resource: {role}")


def test_source_identity_and_tags(cloud):
    keys = cloud.session(LONG)
    answer = cloud.assume(keys, GUARDED, ExternalId="hush:1", SourceIdentity="me")
    assert answer.status == 200 and answer.find("SourceIdentity") == "me"
    tags = {"Tags.member.1.Key": "team", "Tags.member.1.Value": "a", "TransitiveTagKeys.member.1": "team"}
    answer = cloud.assume(keys, SourceIdentity="me", **tags)
    assert answer.status == 200 and int(answer.find("PackedPolicySize")) >= 1
    cloud.admin("POST", "/role", {"arn": "arn:aws:iam::123456789012:role/third",
                                  "trust": [{"aws_principal": TARGET, "allow_tags": True}]})
    third, chained = "arn:aws:iam::123456789012:role/third", answer.credentials()
    assert cloud.assume(chained, third).find("SourceIdentity") == "me"
    assert cloud.assume(chained, third, SourceIdentity="me").status == 200
    other = cloud.assume(chained, third, SourceIdentity="you")
    assert other.error() == (400, "ValidationError")
    assert other.message() == "The source identity is already set for this assume role session"
    assert cloud.assume(chained, third, **tags).status == 400
    refused = cloud.assume(USER_KEY, **tags)
    assert refused.error() == (403, "AccessDenied") and "sts:TagSession" in refused.message()


@pytest.mark.parametrize("params,text", [
    ({"ExternalId": "x"}, "at 'externalId'"), ({"ExternalId": "x" * 1225}, "less than or equal to 1224"),
    ({"ExternalId": "a b"}, "at 'externalId'"), ({"SourceIdentity": "a:b"}, "at 'sourceIdentity'"),
    ({"SourceIdentity": "a" * 257}, "at 'sourceIdentity'"),
    ({"RoleSessionName": "a:b"}, "at 'roleSessionName'"),
    ({"Tags.member.1.Key": "", "Tags.member.1.Value": "v"}, "at 'tags.key'"),
    ({"Tags.member.1.Key": "k" * 129, "Tags.member.1.Value": "v"}, "at 'tags.key'"),
    ({"Tags.member.1.Key": "a*b", "Tags.member.1.Value": "v"}, "at 'tags.key'"),
    ({"Tags.member.1.Key": "k"}, "at 'tags.value'"),
    ({"Tags.member.1.Key": "k", "Tags.member.1.Value": "v" * 257}, "at 'tags.value'"),
    ({f"Tags.member.{n}.{part}": f"t{n}" for n in range(1, 52) for part in ("Key", "Value")}, "at 'tags'"),
    ({f"TransitiveTagKeys.member.{n}": f"t{n}" for n in range(1, 52)}, "at 'transitiveTagKeys'"),
    ({"RoleArn": "arn:aws:s3:::bucket/object"}, "is invalid"),
])
def test_assume_role_parameters(cloud, params, text):
    answer = cloud.assume(cloud.session(LONG), **params)
    assert answer.error() == (400, "ValidationError")
    assert text in answer.message()


@pytest.mark.parametrize("params", [
    {"Tags.member.1.Key": "k", "Tags.member.1.Value": "v", "Tags.member.2.Key": "K", "Tags.member.2.Value": "w"},
    {"TransitiveTagKeys.member.1": "not-a-tag"},
])
def test_tag_sets(cloud, params):
    assert cloud.assume(cloud.session(LONG), **params).error() == (400, "InvalidParameterValue")


def test_a_deleted_role_ends_its_sessions(cloud):
    role = {"arn": "arn:aws:iam::123456789012:role/brief", "trust": [{"subject": SUBJECT}]}
    cloud.admin("POST", "/role", role)
    keys = cloud.session(role["arn"])
    cloud.admin("POST", "/role", {**role, "trust": []})
    assert cloud.whoami(keys).status == 200
    assert cloud.web({"RoleArn": role["arn"]}).status == 403
    cloud.admin("DELETE", "/role", {"arn": role["arn"]})
    assert cloud.whoami(keys).error() == (403, "InvalidClientTokenId")
    cloud.admin("POST", "/role", role)
    assert cloud.whoami(keys).error() == (403, "InvalidClientTokenId")
    assert cloud.whoami(cloud.session(role["arn"])).status == 200
    assert cloud.admin("DELETE", "/role", {"arn": "arn:aws:iam::123456789012:role/none"}, 400)["error"]


AWS = next((path for path in ("/usr/bin/aws", shutil.which("aws") or "") if path and os.access(path, os.X_OK)), None)


@pytest.mark.skipif(AWS is None, reason="the AWS command line is not installed")
def test_the_aws_command_line_agrees(cloud, tmp_path):
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "AWS_CA_BUNDLE": cloud.ready["ca_file"],
             "AWS_DEFAULT_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1"}
    command = [AWS, "--endpoint-url", cloud.ready["sts_url"], "--output", "json", "sts"]
    token = tmp_path / "token"
    token.write_text(cloud.token())

    done = subprocess.run([*command, "assume-role-with-web-identity", "--role-arn", LONG, "--role-session-name",
                           "by-cli", "--web-identity-token", token.read_text()],
                          env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    keys = json.loads(done.stdout)["Credentials"]
    signed = {**clean, "AWS_ACCESS_KEY_ID": keys["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
              "AWS_SESSION_TOKEN": keys["SessionToken"]}

    done = subprocess.run([*command, "get-caller-identity"], env=signed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["Arn"] == "arn:aws:sts::123456789012:assumed-role/long/by-cli"

    done = subprocess.run([*command, "assume-role", "--role-arn", TARGET, "--role-session-name", "by-cli", "--tags",
                           "Key=a b,Value=c+d/e"], env=signed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    done = subprocess.run([*command, "get-caller-identity"], env={**signed, "AWS_SECRET_ACCESS_KEY": "wrong"},
                          capture_output=True, text=True)
    assert done.returncode != 0 and "SignatureDoesNotMatch" in done.stderr


# --- speed ------------------------------------------------------------------------------------------------------------

def test_speed_divides_lifetimes():
    running = Cloud({"roles": CONFIG["roles"]}, speed=1800)
    try:
        before = time.time()
        answer = running.web({"DurationSeconds": "3600"})
        expires = answer.expires()
        assert before + 2 <= expires <= time.time() + 3
        assert running.web({"DurationSeconds": "899"}).status == 400
        keys = answer.credentials()
        assert running.whoami(keys).status == 200
        until(lambda: running.whoami(keys).status != 200)
        expired = running.whoami(keys)
        assert time.time() >= expires
        assert expired.error() == (403, "ExpiredToken")
        assert expired.message() == "The security token included in the request is expired"
        assert running.assume(keys).error() == (403, "ExpiredToken")
    finally:
        running.stop()


def test_slow_speed_makes_life_longer():
    running = Cloud(speed=0.5)
    try:
        before = time.time()
        assert before + 7200 <= running.web().expires() <= time.time() + 7201
    finally:
        running.stop()


# --- volumes ----------------------------------------------------------------------------------------------------------

def check_layout(directory, file, mode):
    names = sorted(os.listdir(directory))
    assert len(names) == 3 and names[0].startswith("..2") and names[1:] == ["..data", file]
    assert os.readlink(directory / "..data") == names[0]
    assert os.readlink(directory / file) == "..data/" + file
    assert os.listdir(directory / names[0]) == [file]
    assert stat.S_IMODE((directory / names[0]).stat().st_mode) == 0o755
    assert stat.S_IMODE((directory / file).stat().st_mode) == mode
    stamp, number = names[0][2:].rsplit(".", 1)
    time.strptime(stamp, "%Y_%m_%d_%H_%M_%S")
    assert number.isdigit()


def test_volume_layout_and_swap(cloud):
    directory = Path(cloud.ready["volumes"]["still"])
    check_layout(directory, "id.jwt", 0o640)
    old = os.readlink(directory / "..data")
    held = open(directory / "id.jwt")
    token = (directory / "id.jwt").read_text()
    cloud.admin("POST", "/volume/still/renew")
    check_layout(directory, "id.jwt", 0o640)
    assert os.readlink(directory / "..data") != old
    assert held.read() == token != (directory / "id.jwt").read_text()
    held.close()
    assert cloud.admin("GET", "/volumes")["still"]["paused"] is True


def test_renewal_is_planned_at_80_percent(cloud):
    plan = cloud.admin("GET", "/volumes")["demo"]
    assert 3600 <= plan["expires_at"] - plan["issued_at"] <= 3601
    assert 0.8 * 3600 - 10 <= plan["renew_at"] - plan["issued_at"] <= 0.8 * 3600 + 1


def test_volume_write_takes_anything(cloud):
    path = Path(cloud.ready["volumes"]["still"]) / "id.jwt"
    for content in ("garbage\x07\u20ac", "", cloud.token(alg="none"), "x" * (1 << 20)):
        cloud.admin("POST", "/volume/still/write", {"content": content})
        assert path.read_text() == content
        check_layout(path.parent, "id.jwt", 0o640)
    before = os.readlink(path.parent / "..data")
    cloud.admin("POST", "/volume/still/write", {"content": "x" * (1 << 20)})
    assert os.readlink(path.parent / "..data") == before
    assert "content" in cloud.admin("POST", "/volume/still/write", {}, 400)["error"]
    assert "content" in cloud.admin("POST", "/volume/still/write", {"content": 1}, 400)["error"]
    cloud.admin("POST", "/volume/none/renew", status=404)
    cloud.admin("POST", "/volume/still/explode", status=404)
    cloud.admin("GET", "/volume/still/renew", status=405)
    cloud.admin("POST", "/volume/still/renew")


def test_volume_added_while_running(cloud):
    cloud.admin("POST", "/volume", {"name": "late", "namespace": "ns-l", "service_account": "sa-l", "audience": "aud"})
    claims = claims_of((cloud.state / "volumes" / "late" / "token").read_text())
    assert claims["sub"] == "system:serviceaccount:ns-l:sa-l" and claims["aud"] == ["aud"]
    assert "twice" in cloud.admin("POST", "/volume", {"name": "late"}, 400)["error"]


def test_volume_is_renewed_past_80_percent():
    running = Cloud({"volumes": [{"name": "demo", "expiration_s": 600}]}, speed=300)
    try:
        path = Path(running.ready["volumes"]["demo"]) / "token"
        seen = [claims_of(path.read_text())]
        assert 2 <= seen[0]["exp"] - seen[0]["iat"] <= 3
        while len(seen) < 3:
            until(lambda: claims_of(path.read_text())["jti"] != seen[-1]["jti"])
            seen.append(claims_of(path.read_text()))
        for old, new in zip(seen, seen[1:]):
            assert new["iat"] >= old["iat"] + 1
            assert new["exp"] > old["exp"]
        running.admin("POST", "/volume/demo/pause")
        stalled = claims_of(path.read_text())
        until(lambda: time.time() > stalled["exp"] + 0.2)
        assert claims_of(path.read_text()) == stalled
        assert running.web({"WebIdentityToken": path.read_text()}).error() == (400, "ExpiredTokenException")
        running.admin("POST", "/volume/demo/resume")
        until(lambda: claims_of(path.read_text())["jti"] != stalled["jti"])
        assert running.admin("GET", "/volumes")["demo"]["renewals"] >= 4
    finally:
        running.stop()


def test_volume_never_shows_a_torn_token():
    running = Cloud({"volumes": [{"name": "demo"}]}, speed=1)
    try:
        path = Path(running.ready["volumes"]["demo"]) / "token"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            work = pool.submit(lambda: [running.admin("POST", "/volume/demo/renew") for _ in range(50)])
            reads = 0
            while not work.done() or reads == 0:
                # As with the kubelet's volumes, a reader may have followed the link to a directory that is gone when it opens
                # the file.
                with contextlib.suppress(FileNotFoundError):
                    assert claims_of(path.read_text())["sub"] == SUBJECT
                    reads += 1
            work.result()
        check_layout(path.parent, "token", 0o644)
    finally:
        running.stop()


# --- faults -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("code,status", [
    ("IDPCommunicationError", 400), ("InvalidIdentityToken", 400), ("ExpiredTokenException", 400),
    ("IDPRejectedClaim", 403), ("AccessDenied", 403), ("MalformedPolicyDocument", 400), ("PackedPolicyTooLarge", 400),
    ("RegionDisabledException", 403), ("ValidationError", 400), ("Throttling", 400), ("ThrottlingException", 400),
    ("InternalFailure", 500), ("ServiceUnavailable", 503), ("InvalidAction", 400), ("MalformedInput", 400),
    ("MissingParameter", 400), ("InvalidParameterValue", 400), ("MalformedQueryString", 400), ("OptInRequired", 403),
    ("IncompleteSignature", 400), ("MissingAuthenticationToken", 403), ("InvalidClientTokenId", 403),
    ("SignatureDoesNotMatch", 403), ("RequestExpired", 400),
])
def test_fault_error(cloud, code, status):
    cloud.fault("error", code=code, status=status, message="<why & how>")
    answer = cloud.web()
    assert answer.error() == (status, code) and answer.message() == "<why & how>"
    assert answer.find("Type") == ("Receiver" if status >= 500 else "Sender")
    assert cloud.web().status == 200


def test_fault_error_in_json(cloud):
    cloud.fault("error", code="Throttling", message="Rate exceeded", type="Sender")
    answer = cloud.web(headers={"Accept": "application/json"})
    assert json.loads(answer.body)["Error"] == {"Type": "Sender", "Code": "Throttling", "Message": "Rate exceeded"}


def test_fault_status(cloud):
    cloud.fault("status", status=429, body="slow down", headers={"Retry-After": "7"}, content_type="text/plain")
    answer = cloud.web()
    assert (answer.status, answer.body) == (429, b"slow down")
    assert answer.headers["Retry-After"] == "7" and answer.headers["Content-Type"] == "text/plain"


def test_fault_delay(cloud):
    cloud.fault("delay", ms=300)
    begin = time.monotonic()
    assert cloud.web().status == 200
    assert time.monotonic() - begin >= 0.3


def test_fault_truncate(cloud):
    for size in (0, 100, 1 << 20):
        cloud.fault("truncate", bytes=size)
        with pytest.raises(http.client.IncompleteRead) as caught:
            cloud.web()
        assert len(caught.value.partial) >= min(size, 1000) and caught.value.expected >= 1


def test_fault_oversize(cloud):
    cloud.fault("oversize", bytes=3_000_000)
    answer = cloud.web()
    assert len(answer.body) == 3_000_000 and answer.headers["Content-Length"] == "3000000"
    assert answer.credentials()[0].startswith("ASIA")


def test_fault_close(cloud):
    cloud.fault("close")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError, ssl.SSLEOFError)):
        cloud.web()
    assert cloud.web().status == 200


def test_fault_content_type(cloud):
    cloud.fault("content_type", value="text/html")
    answer = cloud.web()
    assert answer.headers["Content-Type"] == "text/html" and answer.credentials()[0].startswith("ASIA")


def test_fault_redirect(cloud):
    cloud.fault("redirect")
    answer = cloud.web()
    assert (answer.status, answer.headers["Location"], answer.body) == (302, "https://aws.amazon.com/iam", b"")
    cloud.fault("redirect", location="https://127.0.0.1:1/", status=307)
    answer = cloud.web()
    assert (answer.status, answer.headers["Location"]) == (307, "https://127.0.0.1:1/")


def test_fault_slow(cloud):
    cloud.fault("slow", ms_per_byte=0.2)
    connection = cloud.connect()
    begin = time.monotonic()
    answer = cloud.web(connection=connection)
    assert answer.status == 200 and time.monotonic() - begin >= 0.2 * len(answer.body) / 1000
    connection.close()


def test_fault_malformed(cloud):
    cloud.fault("malformed")
    answer = cloud.web()
    with pytest.raises(ElementTree.ParseError):
        answer.find("Credentials")
    cloud.fault("malformed", body="<a/>")
    assert cloud.web().body == b"<a/>"


def test_fault_expiration(cloud):
    cloud.fault("expiration", value="2026-01-02T04:04:05.359Z")
    assert cloud.web().find("Expiration") == "2026-01-02T04:04:05.359Z"
    cloud.fault("expiration", value="omit")
    answer = cloud.web()
    assert answer.find("Expiration") is None and answer.find("SessionToken")
    cloud.fault("expiration", value="past")
    assert cloud.web().expires() < time.time() - 3500
    cloud.fault("expiration", value="garbage")
    answer = cloud.web(headers={"Accept": "application/json"})
    assert b'"Expiration":"garbage"' in answer.body


def test_fault_short_life(cloud):
    cloud.fault("short_life", s=1)
    answer = cloud.web()
    assert answer.expires() <= time.time() + 2
    until(lambda: cloud.whoami(answer.credentials()).status == 403)
    assert cloud.whoami(answer.credentials()).find("Code") == "ExpiredToken"


def test_faults_match_count_and_clear(cloud):
    cloud.fault("error", code="One", match={"role": LONG}, count=2)
    cloud.fault("error", code="Two", match={"action": "GetCallerIdentity"}, count=-1)
    assert cloud.web().status == 200
    assert cloud.web({"RoleArn": LONG}).find("Code") == "One"
    assert cloud.admin("GET", "/fault")["faults"][0]["count"] == 1
    assert cloud.web({"RoleArn": LONG}).find("Code") == "One"
    assert cloud.web({"RoleArn": LONG}).status == 200
    for _ in range(3):
        assert cloud.whoami(USER_KEY).find("Code") == "Two"
    cloud.admin("DELETE", "/fault")
    assert cloud.whoami(USER_KEY).status == 200
    assert cloud.admin("GET", "/fault") == {"faults": []}
    cloud.fault("status", status=500, match={"action": "JWKS"})
    assert cloud.request("GET", "/issuer/openid/v1/jwks").status == 500
    assert cloud.request("GET", "/issuer/openid/v1/jwks").status == 200


def test_outage(cloud):
    assert cloud.admin("POST", "/outage", {"on": True}) == {"on": True}
    answer = cloud.web()
    assert answer.status == 503 and answer.headers["Retry-After"] == "1"
    # Who uses a credential wants to know that it is still good.
    assert cloud.whoami(USER_KEY).status == 200
    assert cloud.request("GET", "/issuer/openid/v1/jwks").status == 200
    cloud.admin("POST", "/outage", {"on": False})
    assert cloud.web().status == 200


@pytest.mark.parametrize("method,path,document,reason", [
    ("POST", "/fault", {}, "kind"), ("POST", "/fault", {"kind": "explode"}, "kind"),
    ("POST", "/fault", {"kind": "delay"}, '"ms"'), ("POST", "/fault", {"kind": "delay", "ms": "1"}, '"ms"'),
    ("POST", "/fault", {"kind": "close", "ms": 1}, "unknown key"),
    ("POST", "/fault", {"kind": "close", "match": {"roll": "x"}}, "unknown key"),
    ("POST", "/fault", {"kind": "close", "count": "many"}, '"count"'),
    ("POST", "/fault", {"kind": "status", "status": 99}, '"status"'),
    ("POST", "/fault", {"kind": "status", "status": 500, "headers": {"A": 1}}, "header"),
    ("POST", "/outage", {}, '"on"'), ("POST", "/outage", {"on": "yes"}, '"on"'),
    ("POST", "/token", {"alg": "ES256"}, '"alg"'), ("POST", "/token", {"audience": "x"}, "array"),
    ("POST", "/token", {"expires_in_s": "x"}, "whole number"), ("POST", "/role", {"arn": "x"}, '"arn"'),
    ("GET", "/stats?log=x", None, "log"),
])
def test_admin_refusals(cloud, method, path, document, reason):
    assert reason in cloud.admin(method, path, document, 400)["error"]


def test_admin_dispatch(cloud):
    cloud.admin("GET", "/nothing", status=404)
    cloud.admin("DELETE", "/stats", status=405)
    answer = cloud.request("POST", "/fault", "{not json", url=cloud.ready["admin_url"])
    assert answer.status == 400 and "line 1" in json.loads(answer.body)["error"]
    answer = cloud.request("POST", "/fault", "[]", url=cloud.ready["admin_url"])
    assert answer.status == 400
    assert cloud.admin("GET", "/health") == {"ok": True}


def test_stats(cloud):
    cloud.admin("POST", "/stats/reset")
    connection = cloud.connect()
    key_id = cloud.web({"RoleSessionName": "counted"}, connection=connection).credentials()[0]
    cloud.web({"RoleArn": None}, connection=connection)
    connection.close()
    cloud.whoami(USER_KEY)
    until(lambda: cloud.admin("GET", "/stats")["in_flight"] == 0)
    stats = cloud.admin("GET", "/stats")
    assert stats["actions"] == {"AssumeRoleWithWebIdentity": {"OK": 1, "ValidationError": 1},
                                "GetCallerIdentity": {"OK": 1}}
    assert (stats["connections"], stats["requests"], stats["exchanges"]) == (2, 3, 1)
    assert stats["most_in_flight"] >= 1 and stats["tokens_minted"] >= 1
    first, second, third = stats["log"]
    assert first["action"] == "AssumeRoleWithWebIdentity" and first["role"] == DEMO
    assert first["session_name"] == "counted" and first["access_key_id"] == key_id
    assert (first["status"], first["code"]) == (200, "OK")
    assert first["connection"] == second["connection"] != third["connection"]
    assert abs(first["t"] - time.time()) < 30
    assert len(cloud.admin("GET", "/stats?log=1")["log"]) == 1


def test_high_water_mark(cloud):
    cloud.admin("POST", "/stats/reset")
    cloud.fault("delay", ms=400, count=8)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        token = cloud.token()
        assert {a.status for a in pool.map(lambda _: cloud.web({"WebIdentityToken": token}), range(8))} == {200}
    assert cloud.admin("GET", "/stats")["most_in_flight"] >= 2


# --- abuse ------------------------------------------------------------------------------------------------------------

def raw(url, data):
    parts = urllib.parse.urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
        except OSError:
            pass


def test_garbage_does_not_kill_it(cloud):
    noise = [os.urandom(n) for n in (1, 10, 1000, 100_000)]
    heads = [b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
             b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"b" * 300_000 + b"\r\n\r\n",
             b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n", b"GET /%00%zz?%%% HTTP/1.0\r\n\r\n",
             b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"\r\n" * 1000,
             b"POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + b"[" * 200_000]
    for url in ("sts_url", "http_url", "admin_url"):
        for data in noise + heads:
            raw(cloud.ready[url], data)
    for path in ("/?Action=", "/?=&=&&", "/?" + "&".join(f"a{n}=1" for n in range(500))):
        assert cloud.request("GET", path).status in (302, 400)
    assert cloud.web().status == 200


def test_many_exchanges_on_kept_connections(cloud):
    token = cloud.token()
    minted = cloud.admin("GET", "/stats?log=0")["connections"]

    def worker(_):
        connection = cloud.connect()
        good = sum(cloud.web({"WebIdentityToken": token}, connection=connection).status == 200 for _ in range(50))
        connection.close()
        return good

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(worker, range(4))) == 200
    assert cloud.admin("GET", "/stats?log=0")["connections"] - minted == 4


def test_it_ends_at_once_with_slow_requests_pending():
    running = Cloud()
    connection = running.connect()
    running.fault("delay", ms=60000)
    body = urllib.parse.urlencode({"Action": "AssumeRole", "Version": "2011-06-15"})
    connection.request("POST", "/", body, {"Content-Type": FORM})
    until(lambda: running.admin("GET", "/stats")["in_flight"] == 1)
    idle = running.connect(running.ready["http_url"])
    idle.connect()
    running.stop()
    connection.close()
    idle.close()
