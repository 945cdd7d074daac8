# SPDX-License-Identifier: MIT
"""Tests of the local cloud's ECR, of its EKS Pod Identity agent and of STS GetSessionToken. The binary's path comes from
CFR_LOCALCLOUD."""
import base64
import hashlib
import hmac
import json
import re
import time
import urllib.parse

import pytest

from test_localcloud import CONFIG, DEMO, TARGET, USER_KEY, Cloud, mac, until

PRIVATE = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
PUBLIC = "SpencerFrontendService.GetAuthorizationToken"
JSON = "application/x-amz-json-1.1"
POD = {"cluster": "one", "associations": [
    {"namespace": "default", "service_account": "demo", "role": DEMO},
    {"namespace": "default", "service_account": "lost", "role": "arn:aws:iam::123456789012:role/nowhere"}]}


class Registry(Cloud):
    def ecr(self, keys, body="{}", target=PRIVATE, service="ecr", region="eu-west-1", content=JSON, path="/ecr/", tamper=""):
        host = urllib.parse.urlsplit(self.ready["sts_url"]).netloc
        key_id, secret, token = (*keys, None)[:3]
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = {"host": host, "x-amz-date": stamp, "content-type": content, "x-amz-target": target}
        if token:
            headers["x-amz-security-token"] = token
        names = sorted(headers)
        canonical = "\n".join(["POST", path, "", *(f"{name}:{headers[name]}" for name in names), "", ";".join(names),
                               hashlib.sha256(body.encode()).hexdigest()])
        scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = mac(mac(mac(mac(b"AWS4" + secret.encode(), stamp[:8]), region), service), "aws4_request")
        proof = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, SignedHeaders={';'.join(names)}, "
                                    f"Signature={proof}")
        return self.request("POST", path, body + tamper, headers)

    def login(self, token):
        return self.request("GET", "/ecr/v2/", headers={"Authorization": "Basic " + token})

    def pod(self, token, host=None, **more):
        headers = {} if token is None else {"Authorization": token}
        if host is not None:
            headers["Host"] = host
        return self.request("GET", "/v1/credentials", headers=headers, url=self.ready["pod_identity_url"], **more)


@pytest.fixture(scope="module")
def cloud():
    cloud = Registry({**CONFIG, "pod_identity": POD})
    yield cloud
    cloud.stop()


@pytest.fixture(autouse=True)
def no_faults_left(request):
    yield
    if "cloud" in request.fixturenames:
        request.getfixturevalue("cloud").admin("DELETE", "/fault")


def data_of(answer):
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == JSON and len(answer.headers["x-amzn-RequestId"]) == 36
    return json.loads(answer.body)["authorizationData"]


def refused(answer, code, text="", status=400):
    assert answer.status == status, answer.body
    error = json.loads(answer.body)
    assert error["__type"] == code and text in error["message"], error
    assert answer.headers["Content-Type"] == JSON


def test_ready_names_the_urls(cloud):
    assert cloud.ready["ecr_url"] == cloud.ready["sts_url"] + "ecr"
    assert cloud.ready["pod_identity_url"] == cloud.ready["http_url"] + "v1/credentials"


def test_private_token(cloud):
    answer = cloud.ecr(cloud.session())
    (entry,) = data_of(answer)
    assert set(entry) == {"authorizationToken", "expiresAt", "proxyEndpoint"}
    assert entry["proxyEndpoint"] == "https://123456789012.dkr.ecr.eu-west-1.amazonaws.com"
    assert isinstance(entry["expiresAt"], float) and abs(entry["expiresAt"] - time.time() - 43200) < 10
    assert re.search(rb'"expiresAt":1\.\d+E9', answer.body)
    user, password = base64.b64decode(entry["authorizationToken"]).decode().split(":")
    assert user == "AWS" and len(password) > 50
    good = cloud.login(entry["authorizationToken"])
    assert good.status == 200 and good.headers["Docker-Distribution-Api-Version"] == "registry/2.0"


def test_long_lived_keys_and_the_path_without_slash(cloud):
    assert data_of(cloud.ecr(USER_KEY, path="/ecr"))[0]["proxyEndpoint"].startswith("https://123456789012.")


def test_registry_ids(cloud):
    entries = data_of(cloud.ecr(USER_KEY, '{"registryIds":["111111111111","222222222222"]}'))
    assert [e["proxyEndpoint"][8:20] for e in entries] == ["111111111111", "222222222222"]
    for ids in ('[]', '["12"]', '[1]', '"111111111111"', json.dumps(["111111111111"] * 11)):
        refused(cloud.ecr(USER_KEY, '{"registryIds":%s}' % ids), "InvalidParameterException", "registryIds")
    refused(cloud.ecr(USER_KEY, "[]"), "SerializationException")


def test_public_token_is_an_object(cloud):
    entry = data_of(cloud.ecr(cloud.session(), target=PUBLIC, service="ecr-public", region="us-east-1"))
    assert set(entry) == {"authorizationToken", "expiresAt"}
    assert cloud.login(entry["authorizationToken"]).status == 200
    refused(cloud.ecr(USER_KEY, target=PUBLIC, service="ecr-public"), "InvalidSignatureException", "valid region")
    refused(cloud.ecr(USER_KEY, target=PUBLIC, region="us-east-1"), "InvalidSignatureException",
            "correct service: 'ecr-public'")


def test_refusals_of_the_front_end(cloud):
    keys = cloud.session()
    refused(cloud.ecr(keys, service="sts"), "InvalidSignatureException", "correct service: 'ecr'")
    refused(cloud.ecr(keys, tamper=" "), "InvalidSignatureException", "does not match")
    refused(cloud.ecr((keys[0], "wrong", keys[2])), "InvalidSignatureException", "does not match")
    refused(cloud.ecr(keys[:2]), "UnrecognizedClientException", "security token")
    refused(cloud.ecr((keys[0], keys[1], "nonsense")), "UnrecognizedClientException", "security token")
    refused(cloud.ecr(keys, target="Nonsense.Other"), "UnknownOperationException")
    refused(cloud.ecr(keys, content="application/json"), "UnknownOperationException")
    bare = cloud.request("POST", "/ecr/", "{}", {"X-Amz-Target": PRIVATE, "Content-Type": JSON})
    refused(bare, "MissingAuthenticationTokenException")
    assert cloud.request("GET", "/ecr/").status == 405 and cloud.request("GET", "/ecr/other").status == 404


def test_bad_logins(cloud):
    answer = cloud.request("GET", "/ecr/v2/")
    assert answer.status == 401 and answer.headers["WWW-Authenticate"].startswith("Basic realm=")
    for text in ("AWS:nonsense", "nobody:x", "nocolon"):
        assert cloud.login(base64.b64encode(text.encode()).decode()).status == 401
    assert cloud.login("%%%").status == 401
    cloud.fault("short_life", s=1, match={"action": "ecr.GetAuthorizationToken"})
    token = data_of(cloud.ecr(USER_KEY))[0]["authorizationToken"]
    until(lambda: cloud.login(token).status == 403, 5)
    assert json.loads(cloud.login(token).body)["errors"][0]["code"] == "DENIED"


def test_ecr_faults_and_statistics(cloud):
    match = {"action": "ecr.GetAuthorizationToken"}
    cloud.admin("POST", "/stats/reset")
    cloud.fault("error", code="ServerException", status=500, message="Later.", match=match)
    refused(cloud.ecr(USER_KEY), "ServerException", "Later.", 500)
    for value, shown in (("past", None), ("omit", "absent"), ("2031-01-01T00:00:00Z", "2031-01-01T00:00:00Z")):
        cloud.fault("expiration", value=value, match=match)
        entry = data_of(cloud.ecr(USER_KEY))[0]
        assert entry.get("expiresAt", "absent") == shown if shown else entry["expiresAt"] < time.time()
    counts = cloud.admin("GET", "/stats")["actions"]["ecr.GetAuthorizationToken"]
    assert counts == {"ServerException": 1, "OK": 3}


def test_session_token(cloud):
    def ask(keys, **params):
        return cloud.signed({"Action": "GetSessionToken", "Version": "2011-06-15", **params}, keys)

    answer = ask(USER_KEY)
    assert answer.status == 200, answer.body
    assert b"<GetSessionTokenResponse" in answer.body and b"<GetSessionTokenResult>" in answer.body
    assert abs(answer.expires() - time.time() - 43200) < 10
    keys = answer.credentials()
    assert cloud.whoami(keys).find("Arn") == "arn:aws:iam::123456789012:user/robot"
    assert cloud.whoami(USER_KEY).find("UserId") == cloud.whoami(keys).find("UserId")
    # No chaining: a session of a user may assume roles for longer than an hour.
    assert cloud.assume(keys, TARGET, DurationSeconds=7200).status == 200
    assert data_of(cloud.ecr(keys))
    for good in ("900", "129600"):
        assert abs(ask(USER_KEY, DurationSeconds=good).expires() - time.time() - int(good)) < 10
    for bad, text in (("899", "greater than or equal to 900"), ("129601", "less than or equal to 129600")):
        answer = ask(USER_KEY, DurationSeconds=bad)
        assert answer.error() == (400, "ValidationError") and text in answer.message()
    assert ask(USER_KEY, DurationSeconds="x").error() == (400, "MalformedInput")
    for session in (keys, cloud.session()):
        answer = ask(session)
        assert answer.error() == (403, "AccessDenied")
        assert answer.message() == "Cannot call GetSessionToken with session credentials"
    assert ask((USER_KEY[0], "wrong")).error() == (403, "SignatureDoesNotMatch")


def pod_token(cloud, **more):
    return cloud.token(**{"audience": ["pods.eks.amazonaws.com"], **more})


def test_pod_identity(cloud):
    answer = cloud.pod(pod_token(cloud))
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json", answer.body
    document = json.loads(answer.body)
    assert set(document) == {"AccessKeyId", "SecretAccessKey", "Token", "AccountId", "Expiration"}
    assert document["AccountId"] == "123456789012"
    left = time.mktime(time.strptime(document["Expiration"], "%Y-%m-%dT%H:%M:%SZ")) - time.mktime(time.gmtime())
    assert abs(left - 21600) < 10
    keys = (document["AccessKeyId"], document["SecretAccessKey"], document["Token"])
    arn = cloud.whoami(keys).find("Arn")
    assert re.fullmatch(r"arn:aws:sts::123456789012:assumed-role/demo/eks-one-demo-0-[0-9a-f-]{24}", arn)
    assert cloud.pod(pod_token(cloud), "localhost:80").status == 200


@pytest.mark.parametrize("wish,status,text", [
    ({"audience": ["sts.amazonaws.com"]}, 400, "(InvalidTokenException)"),
    ({"stray_key": True}, 400, "(InvalidTokenException)"),
    ({"extra_claims": {"iss": "https://elsewhere.example"}}, 400, "(InvalidTokenException)"),
    ({"service_account": "stranger"}, 404, "(ResourceNotFoundException)"),
    ({"service_account": "lost"}, 400, "(AccessDeniedException)"),
    ({"expires_in_s": -1}, 400, "expired"),
    ({"extra_claims": {"exp": None}}, 400, "not valid now"),
])
def test_pod_identity_refusals(cloud, wish, status, text):
    answer = cloud.pod(pod_token(cloud, **wish))
    assert answer.status == status and text in answer.body.decode(), answer.body
    assert answer.headers["Content-Type"].startswith("text/plain")


def test_pod_identity_outer_refusals(cloud):
    assert cloud.pod(None).status == 400
    assert cloud.pod("nonsense").status == 400
    answer = cloud.pod(pod_token(cloud), "evil.example")
    assert answer.status == 403 and answer.body.startswith(b"Access Denied")
    cloud.fault("error", code="Throttling", status=429, message="Slow down.", match={"action": "pod_identity.credentials"})
    answer = cloud.pod(pod_token(cloud))
    assert (answer.status, answer.body) == (429, b"Slow down.\n")
    cloud.fault("expiration", value="2031-01-01T00:00:00.123456789Z", match={"action": "pod_identity.credentials"})
    assert json.loads(cloud.pod(pod_token(cloud)).body)["Expiration"].endswith(".123456789Z")


def test_speed_and_demo():
    cloud = Registry(speed=7200)
    document = json.loads(cloud.pod(pod_token(cloud)).body)
    keys = (document["AccessKeyId"], document["SecretAccessKey"], document["Token"])
    token = data_of(cloud.ecr(keys))[0]["authorizationToken"]
    assert cloud.login(token).status == 200
    until(lambda: cloud.whoami(keys).error() == (403, "ExpiredToken"))
    until(lambda: cloud.login(token).status == 403)
    cloud.stop()


@pytest.mark.parametrize("section,reason", [
    ({"associations": {}}, '"associations" must be an array'),
    ({"associations": [{"namespace": "n"}]}, '"service_account" must be a string'),
    ({"other": 1}, 'unknown key "other"'),
])
def test_bad_configuration(section, reason):
    with pytest.raises(AssertionError) as caught:
        Registry({"pod_identity": section})
    assert reason in str(caught.value)
