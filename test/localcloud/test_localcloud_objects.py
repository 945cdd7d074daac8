# SPDX-License-Identifier: MIT
"""Tests of the local cloud's object stores. The binary's path comes from CFR_LOCALCLOUD."""
import hashlib
import hmac
import time
import urllib.parse

import pytest

from test_localcloud import CONFIG, DEMO, Cloud, mac

BUCKETS = [{"store": "s3", "name": "b", "region": "eu-west-1", "public": True, "writers": [DEMO]},
           {"store": "s3", "name": "theirs", "writers": []}, {"store": "blob", "name": "c", "writers": ["*"]},
           {"store": "gcs", "name": "g", "public": True, "writers": ["*"]}]


class Store(Cloud):
    def s3(self, method, path, body="", region="eu-west-1", service="s3", hashed=None, leave_out=(), tamper="", at=None,
           keys=None):
        host = urllib.parse.urlsplit(self.ready["sts_url"]).netloc
        key_id, secret, token = keys or self.keys
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
        digest = hashlib.sha256(body.encode()).hexdigest()
        headers = {"host": host, "x-amz-date": stamp, "x-amz-content-sha256": hashed or digest, "x-amz-security-token": token}
        headers = {name: value for name, value in headers.items() if name not in leave_out}
        names = sorted(headers)
        canonical = "\n".join([method, path, "", *(f"{name}:{headers[name]}" for name in names), "", ";".join(names),
                               hashed or digest])
        scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = mac(mac(mac(mac(b"AWS4" + secret.encode(), stamp[:8]), region), service), "aws4_request")
        proof = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, SignedHeaders={';'.join(names)}, "
                                    f"Signature={proof}")
        return self.request(method, path, body + tamper, headers)


@pytest.fixture(scope="module")
def cloud():
    cloud = Store({**CONFIG, "objects": {"buckets": BUCKETS}})
    cloud.keys = cloud.session()
    yield cloud
    cloud.stop()


def code(answer):
    return answer.body.decode().partition("<Code>")[2].partition("<")[0]


def test_s3(cloud):
    assert cloud.s3("PUT", "/objects/s3/b/x", "one").status == 200
    got = cloud.s3("GET", "/objects/s3/b/x")
    assert (got.status, got.body) == (200, b"one")
    assert cloud.request("GET", "/objects/s3/b/x").body == b"one"  # it is public
    refused = [
        (cloud.s3("PUT", "/objects/s3/b/x", "two", tamper="!"), 403, "SignatureDoesNotMatch"),
        (cloud.s3("PUT", "/objects/s3/b/x", "two", hashed="0" * 64), 403, "SignatureDoesNotMatch"),
        (cloud.s3("PUT", "/objects/s3/b/x", "two", leave_out=["x-amz-content-sha256"]), 400, "InvalidRequest"),
        (cloud.s3("PUT", "/objects/s3/b/x", "two", region="us-east-1"), 400, "AuthorizationHeaderMalformed"),
        (cloud.s3("PUT", "/objects/s3/b/x", "two", service="sts"), 400, "AuthorizationHeaderMalformed"),
        (cloud.s3("PUT", "/objects/s3/b/x", "two", at=time.time() - 1000), 403, "RequestTimeTooSkewed"),
        (cloud.s3("PUT", "/objects/s3/theirs/x", "two"), 403, "AccessDenied"),
        (cloud.s3("PUT", "/objects/s3/none/x", "two"), 404, "NoSuchBucket"),
        (cloud.s3("GET", "/objects/s3/b/none"), 404, "NoSuchKey"),
        (cloud.request("GET", "/objects/s3/b/none"), 403, "AccessDenied"),
        (cloud.request("GET", "/objects/s3/theirs/x"), 403, "AccessDenied"),
        (cloud.request("PUT", "/objects/s3/b/x", "two", {"x-amz-content-sha256": "0" * 64}), 403, "AccessDenied"),
    ]
    for n, (answer, status, name) in enumerate(refused):
        assert (answer.status, code(answer)) == (status, name), n
    assert cloud.request("GET", "/objects/s3/b/x").body == b"one"


def test_blob_wants_its_headers(cloud):
    bearer = {"Authorization": "Bearer none", "x-ms-version": "2021-12-02", "x-ms-date": "x", "x-ms-blob-type": "BlockBlob"}
    for headers, status, name in [({**bearer, "x-ms-version": "2015-12-11"}, 403, "AuthenticationFailed"),
                                  ({key: bearer[key] for key in bearer if key != "x-ms-date"}, 400, "MissingRequiredHeader"),
                                  (bearer, 401, "InvalidAuthenticationInfo")]:
        answer = cloud.request("PUT", "/objects/blob/c/x", "one", headers)
        assert (answer.status, code(answer)) == (status, name)
    answer = cloud.request("GET", "/objects/blob/c/x")
    assert (answer.status, code(answer)) == (404, "ResourceNotFound")


def test_gcs_wants_a_token(cloud):
    for headers in ({}, {"Authorization": "Bearer none"}):
        answer = cloud.request("PUT", "/objects/gcs/g/x", "one", headers)
        assert (answer.status, code(answer)) == (401, "AuthenticationRequired")


def test_a_cache_shows_what_it_has(cloud):
    cloud.admin("POST", "/service/objects", {"buckets": BUCKETS, "cdn_s": 1000})
    cloud.admin("POST", "/object", {"name": "gcs/g/y", "text": "one"})
    assert cloud.request("GET", "/objects/cdn/gcs/g/y").body == b"one"
    cloud.admin("POST", "/object", {"name": "gcs/g/y", "text": "two"})
    assert cloud.request("GET", "/objects/cdn/gcs/g/y").body == b"one"
    assert cloud.request("GET", "/objects/gcs/g/y").body == b"two"
    assert cloud.request("GET", "/objects/cdn/gcs/g/none").status == 404
