# SPDX-License-Identifier: MIT
"""Tests of the local cloud's PodCertificateRequests: the admin interface, lists and watches, and every rule for a status."""
import base64
import json
import threading
import time
import urllib.parse

import pytest

from cloud_client import Key, openssl, request_pod_certificate
from test_localcloud_kube import Cluster, ok, refused, seconds

SIGNER = "example.com/pods"
PATH = "/apis/certificates.k8s.io"
RESOURCE = "podcertificaterequests"
CONFIG = {"kube": {
    "service_accounts": [{"namespace": "apps", "name": "web"}, {"namespace": "more", "name": "job"}],
    "nodes": [{"name": "worker-1"}],
    "pods": [{"namespace": "apps", "name": "web-0", "service_account": "web", "node": "worker-1"},
             {"namespace": "more", "name": "job-0", "service_account": "job", "node": "worker-1"}],
    "tokens": [{"token": "t-admin", "user": "admin", "groups": ["system:masters"]}, {"token": "t-signer", "user": "signer"},
               {"token": "t-domain", "user": "domain"}, {"token": "t-other", "user": "other"},
               {"token": "t-none", "user": "none"}],
    "rbac": [{"user": user, "verb": verbs, "resource": resource}
             for user in ("signer", "domain", "other")
             for verbs, resource in ((["get", "list", "watch"], RESOURCE), (["update", "patch"], RESOURCE + "/status"))] + [
                 {"user": "signer", "verb": "sign", "resource": "signers", "names": [SIGNER]},
                 {"user": "domain", "verb": "sign", "resource": "signers", "names": ["example.com/*"]},
                 {"user": "other", "verb": "sign", "resource": "signers", "names": ["example.com/other", "*/pods"]}],
}}


def stamp(when, form="%Y-%m-%dT%H:%M:%SZ"):
    return time.strftime(form, time.gmtime(when))


class Authority:
    """A CA that issues certificates with the times that a test chooses."""

    def __init__(self, directory, name="ca", parent=None):
        self.dir, self.name = directory, name
        self.key = Key(directory, name, "EC")
        if parent:
            self.pem = parent.issue(self.key, ca=True, life_s=864000)
        else:
            self.pem = openssl("req", "-new", "-x509", "-key", self.key.path, "-subj", f"/CN={name}", "-days", "30").decode()
        (directory / f"{name}.crt").write_text(self.pem)
        (directory / f"{name}.index").write_text("")

    def issue(self, key, from_s=0, life_s=7200, ca=False):
        now = int(time.time())
        settings = self.dir / f"{self.name}.cnf"
        settings.write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase={self.dir}/{self.name}.index\nnew_certs_dir={self.dir}\n"
                            "rand_serial=yes\ndefault_md=sha256\npolicy=p\nunique_subject=no\nx509_extensions=e\n"
                            f"[p]\ncommonName=optional\n[e]\nbasicConstraints=critical,CA:{str(ca).lower()}\n"
                            "subjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n")
        request = self.dir / f"{self.name}.csr"
        request.write_bytes(openssl("req", "-new", "-key", key.path, "-subj", "/CN=issued"))
        return openssl("ca", "-batch", "-config", str(settings), "-in", str(request), "-keyfile", self.key.path, "-cert",
                       str(self.dir / f"{self.name}.crt"), "-startdate", stamp(now + from_s, "%Y%m%d%H%M%SZ"), "-enddate",
                       stamp(now + from_s + life_s, "%Y%m%d%H%M%SZ"), "-notext").decode()


def condition(kind="Issued", **more):
    fields = {"type": kind, "status": "True", "reason": "Reason", "message": "text", "lastTransitionTime": stamp(time.time()),
              **more}
    return {name: value for name, value in fields.items() if value is not None}


def times_of(pem):
    """notBefore and notAfter of the first certificate, in seconds."""
    text = openssl("x509", "-noout", "-dates", data=pem.encode()).decode()
    return [time.mktime(time.strptime(line.split("=")[1], "%b %d %H:%M:%S %Y GMT")) - time.timezone
            for line in text.splitlines()]


def issued(pem, **more):
    start, end = times_of(pem)
    fields = {"conditions": [condition()], "certificateChain": pem, "notBefore": stamp(start), "notAfter": stamp(end),
              "beginRefreshAt": stamp(start + (end - start) // 2), **more}
    return {name: value for name, value in fields.items() if value is not None}


class Signer:
    def __init__(self, cloud, directory):
        self.cloud, self.dir = cloud, directory
        self.key = Key(directory, "pod", "EC")
        self.root = Authority(directory, "root")
        self.ca = Authority(directory, "ca", self.root)

    def ask(self, name="web-0-a", key=None, signer=SIGNER, pod="web-0", namespace="apps", **more):
        return request_pod_certificate(self.cloud, name, signer, key or self.key, pod, namespace, **more)

    def path(self, name="web-0-a", namespace="apps", version="v1", sub=""):
        return f"{PATH}/{version}/namespaces/{namespace}/{RESOURCE}/{name}{sub}"

    def get(self, *args, token="t-signer", **more):
        return ok(self.cloud.kube("GET", self.path(*args, **more), token=token))

    def put(self, status, name="web-0-a", token="t-signer", version="v1", change=None, **more):
        body = self.get(name, version=version, **more)
        body["status"] = status
        for field in change or {}:
            body[field] = change[field]
        return self.cloud.kube("PUT", self.path(name, version=version, sub="/status", **more), body, token=token)

    def patch(self, patch, kind="merge-patch+json", query="", token="t-signer", **more):
        return self.cloud.kube("PATCH", self.path(sub="/status", **more) + query, patch, token=token,
                               content="application/" + kind)

    def chain(self, key=None, **more):
        return self.ca.issue(key or self.key, **more) + self.ca.pem

    def items(self, query="", where="", version="v1", token="t-signer"):
        return ok(self.cloud.kube("GET", f"{PATH}/{version}/{where}{RESOURCE}{query}", token=token))["items"]


@pytest.fixture(scope="module")
def cloud():
    cloud = Cluster(CONFIG)
    yield cloud
    cloud.stop()


@pytest.fixture(scope="module")
def signer(cloud, tmp_path_factory):
    return Signer(cloud, tmp_path_factory.mktemp("signer"))


@pytest.fixture(autouse=True)
def clean(cloud):
    yield
    cloud.admin("POST", "/kube/versions", {RESOURCE: ["v1", "v1beta1"]})
    for one in cloud.admin("GET", "/kube/objects")["pod_certificate_requests"]:
        cloud.admin("POST", "/kube/object", {"kind": "PodCertificateRequest", "namespace": one["metadata"]["namespace"],
                                             "name": one["metadata"]["name"], "delete": True})


# ---- requests ----


def test_request(cloud, signer):
    signer.ask(maxExpirationSeconds=3600, unverifiedUserAnnotations={"example.com/names": "a"})
    shown = signer.get()
    assert shown["apiVersion"] == "certificates.k8s.io/v1" and shown["kind"] == "PodCertificateRequest"
    assert shown["status"] == {} and shown["metadata"]["resourceVersion"] and shown["metadata"]["creationTimestamp"]
    spec = shown["spec"]
    assert spec["podUID"] == cloud.uid("pods", "web-0") and spec["serviceAccountName"] == "web"
    assert spec["serviceAccountUID"] == cloud.uid("service_accounts", "web")
    assert spec["nodeName"] == "worker-1" and spec["nodeUID"] == cloud.uid("nodes", "worker-1")
    assert spec["maxExpirationSeconds"] == 3600 and base64.b64decode(spec["stubPKCS10Request"])
    signer.ask("defaults")
    assert signer.get("defaults")["spec"]["maxExpirationSeconds"] == 86400
    assert signer.ask("defaults", status=400)["error"].endswith("already exists")
    cloud.admin("POST", "/kube/object", {"kind": "PodCertificateRequest", "namespace": "apps", "name": "web-0-a",
                                         "delete": True})
    refused(cloud.kube("GET", signer.path()), 404, "NotFound")


@pytest.mark.parametrize("changes,text", [
    ({"signerName": "nodomain/x"}, "spec.signerName"),
    ({"signerName": "example.com"}, "spec.signerName"),
    ({"signerName": "example.com/a/b"}, "spec.signerName"),
    ({"signerName": "Example.com/a"}, "spec.signerName"),
    ({"signerName": "example.com/" + "a" * 600}, "spec.signerName"),
    ({"podName": "web-1"}, "spec.podName"),
    ({"podName": "job-0"}, "spec.podName"),
    ({"podUID": "other"}, "spec.podUID"),
    ({"serviceAccountName": "default"}, "spec.serviceAccountName"),
    ({"serviceAccountUID": "other"}, "spec.serviceAccountUID"),
    ({"nodeName": "worker-2"}, "spec.nodeName"),
    ({"nodeUID": 5}, "spec.nodeUID"),
    ({"maxExpirationSeconds": 3599}, "[3600, 7862400]"),
    ({"maxExpirationSeconds": 7862401}, "[3600, 7862400]"),
    ({"maxExpirationSeconds": "3600"}, "spec.maxExpirationSeconds"),
    ({"maxExpirationSeconds": 86401, "signerName": "kubernetes.io/x"}, "[3600, 86400]"),
    ({"unverifiedUserAnnotations": {"plain": "x"}}, "spec.unverifiedUserAnnotations"),
    ({"unverifiedUserAnnotations": {"example.com/x": 1}}, "spec.unverifiedUserAnnotations"),
    ({"stubPKCS10Request": None}, "spec.pkixPublicKey"),
    ({"stubPKCS10Request": "%"}, "spec.stubPKCS10Request"),
    ({"stubPKCS10Request": "AAAA"}, "PKCS#10"),
    ({"pkixPublicKey": "AAAA"}, "excludes"),
    ({"pkixPublickey": "AAAA"}, "unknown key"),
])
def test_invalid_requests(signer, changes, text):
    assert text in signer.ask(status=400, **{"signer": changes.pop("signerName", SIGNER), "pod": changes.pop(
        "podName", "web-0"), **changes})["error"]


@pytest.mark.parametrize("kind,bits", [("P-256", 0), ("P-384", 0), ("P-521", 0), ("ED25519", 0), ("RSA", 3072)])
def test_keys(cloud, signer, tmp_path, kind, bits):
    key, uid = Key(tmp_path, "key", kind, bits), cloud.uid("pods", "web-0")
    signer.ask(key=key)
    signer.ask("older", key=key.proof(uid))
    for name, version in (("web-0-a", "v1"), ("older", "v1beta1")):
        ok(signer.put(issued(signer.chain(key)), name, version=version))
    assert "proofOfPossession" in signer.ask("x", key=key.proof("other"), status=400)["error"]
    assert "pkixPublicKey" not in signer.get("older")["spec"] and "proofOfPossession" not in signer.get("older")["spec"]


@pytest.mark.parametrize("kind,bits", [("RSA", 2048), ("P-224", 0)])
def test_keys_that_are_refused(cloud, signer, tmp_path, kind, bits):
    key = Key(tmp_path, "key", kind, bits)
    assert "keys must be" in signer.ask(key=key, status=400)["error"]
    assert "keys must be" in signer.ask(key=key.proof(cloud.uid("pods", "web-0")), status=400)["error"]


def test_a_request_with_a_broken_signature(signer):
    stub = bytearray(base64.b64decode(signer.key.stub_request()["stubPKCS10Request"]))
    stub[-1] ^= 1
    assert "does not verify" in signer.ask(key={"stubPKCS10Request": base64.b64encode(stub).decode()}, status=400)["error"]


# ---- lists and watches ----


def test_lists(cloud, signer):
    signer.ask("a")
    signer.ask("b", signer="example.com/other")
    signer.ask("c", pod="job-0", namespace="more")

    def names(*args, **more):
        return [one["metadata"]["name"] for one in signer.items(*args, **more)]

    assert names() == ["a", "b", "c"] and names(where="namespaces/apps/") == ["a", "b"]
    assert names(version="v1beta1") == ["a", "b", "c"]
    assert names("?fieldSelector=spec.signerName%3D" + urllib.parse.quote(SIGNER, safe="")) == ["a", "c"]
    assert names("?fieldSelector=spec.signerName%3D%3Dexample.com/pods,metadata.namespace%3Dmore") == ["c"]
    assert names("?fieldSelector=metadata.name%3Db", "namespaces/apps/") == ["b"]
    answer = ok(cloud.kube("GET", f"{PATH}/v1beta1/{RESOURCE}?limit=2", token="t-signer"))
    assert answer["kind"] == "PodCertificateRequestList" and answer["apiVersion"] == "certificates.k8s.io/v1beta1"
    assert len(answer["items"]) == 2 and "kind" not in answer["items"][0] and answer["metadata"]["resourceVersion"]
    assert names(f"?limit=2&continue={answer['metadata']['continue']}") == ["c"]
    for selector in ("spec.podName%3Dx", "spec.signerName", "spec.signerName!%3Dx", "metadata.name%3Da,x%3Dy"):
        refused(cloud.kube("GET", f"{PATH}/v1/{RESOURCE}?fieldSelector={selector}"), 400, "BadRequest")


def watch(signer, version, out, count, where=""):
    connection = signer.cloud.connect()
    query = f"?watch=true&timeoutSeconds=20&resourceVersion={version}&fieldSelector=spec.signerName%3Dexample.com/pods"
    connection.request("GET", f"/kube{PATH}/v1/{where}{RESOURCE}{query}", headers={"Authorization": "Bearer t-signer"})
    answer = connection.getresponse()
    while len(out) < count:
        line = answer.readline()
        if not line:
            break
        out.append(json.loads(line))
    connection.close()


def test_watch(cloud, signer):
    version = ok(cloud.kube("GET", f"{PATH}/v1/{RESOURCE}"))["metadata"]["resourceVersion"]
    events, one = [], []
    threads = [threading.Thread(target=watch, args=(signer, version, events, 4)),
               threading.Thread(target=watch, args=(signer, version, one, 1, "namespaces/more/"))]
    for thread in threads:
        thread.start()
    signer.ask("a")
    signer.ask("b", signer="example.com/other")
    ok(signer.put({"conditions": [condition("Denied")]}, "a"))
    signer.ask("c", pod="job-0", namespace="more")
    cloud.admin("POST", "/kube/object", {"kind": "PodCertificateRequest", "namespace": "apps", "name": "a", "delete": True})
    for thread in threads:
        thread.join(20)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "c"), ("DELETED", "a")]
    assert [event["object"]["metadata"]["name"] for event in one] == ["c"]
    assert events[1]["object"]["apiVersion"] == "certificates.k8s.io/v1"
    assert events[1]["object"]["status"]["conditions"][0]["type"] == "Denied"


def test_versions(cloud, signer):
    signer.ask()
    cloud.admin("POST", "/kube/versions", {RESOURCE: ["v1beta1"]})
    assert signer.get(version="v1beta1")["apiVersion"] == "certificates.k8s.io/v1beta1"
    assert len(signer.items(version="v1beta1")) == 1
    for path in (f"{PATH}/v1/{RESOURCE}", f"{PATH}/v1/{RESOURCE}?watch=1&resourceVersion=1", signer.path()):
        refused(cloud.kube("GET", path), 404, "NotFound", "the server could not find the requested resource")
    refused(cloud.kube("PUT", signer.path(sub="/status"), {}), 404, "NotFound", "could not find the requested resource")
    ok(signer.put(issued(signer.chain()), version="v1beta1"))
    cloud.admin("POST", "/kube/versions", {RESOURCE: ["v2"]}, status=400)
    with pytest.raises(AssertionError, match="pod_certificate_versions"):
        Cluster({"kube": {"pod_certificate_versions": "v1"}})


# ---- the status ----


def test_issued(cloud, signer):
    signer.ask()
    before = signer.get()
    status = issued(signer.chain())
    after = ok(signer.put(status))
    assert after["status"] == status and after["spec"] == before["spec"] and signer.get() == after
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    assert signer.get(version="v1beta1")["status"] == status
    # Writing the same again changes nothing; any other status is refused.
    assert ok(signer.put(status)) == after
    for other in ({}, {"conditions": [condition("Denied")]}, {**status, "beginRefreshAt": status["notAfter"]}):
        cause = refused(signer.put(other), 422, "Invalid", "immutable after")["details"]["causes"][0]
        assert cause["field"] == "status"


@pytest.mark.parametrize("kind", ["Denied", "Failed"])
def test_denied_and_failed(signer, kind):
    signer.ask()
    refused(signer.put(issued(signer.chain(), conditions=[condition(kind)])), 422, "Invalid", "must be empty when denying")
    after = ok(signer.put({"conditions": [condition(kind, reason="UnsupportedKeyType")]}))
    assert after["status"]["conditions"][0]["type"] == kind
    refused(signer.put(issued(signer.chain())), 422, "Invalid", "immutable after")


def fields_of(answer):
    details = refused(answer, 422, "Invalid")["details"]
    assert details["kind"] == "PodCertificateRequest" and details["group"] == "certificates.k8s.io"
    return {cause["field"] for cause in details["causes"]}


@pytest.mark.parametrize("conditions,field", [
    ([condition(), condition("Denied")], "status.conditions[1].type"),
    ([condition("Approved")], "status.conditions[0].type"),
    ([condition(status="False")], "status.conditions[0].status"),
    ([condition(status="Unknown")], "status.conditions[0].status"),
    ([condition(reason=None)], "status.conditions[0].reason"),
    ([condition(reason="")], "status.conditions[0].reason"),
    ([condition(reason="no spaces")], "status.conditions[0].reason"),
    ([condition(reason="1st")], "status.conditions[0].reason"),
    ([condition(reason="Ends:")], "status.conditions[0].reason"),
    ([condition(message="x" * 32769)], "status.conditions[0].message"),
    ([condition(lastTransitionTime=None)], "status.conditions[0].lastTransitionTime"),
    (None, "status"),
    ([], "status"),
])
def test_conditions(signer, conditions, field):
    signer.ask()
    assert fields_of(signer.put(issued(signer.chain(), conditions=conditions))) == {field}


@pytest.mark.parametrize("missing", ["notBefore", "notAfter", "beginRefreshAt", "certificateChain"])
def test_all_or_none(signer, missing):
    signer.ask()
    assert fields_of(signer.put(issued(signer.chain(), **{missing: None}))) == {f"status.{missing}"}


@pytest.mark.parametrize("life_s,more,field,text", [
    (7200, {"from_s": -400}, "notBefore", "within 5 minutes"),
    (7200, {"from_s": 400}, "notBefore", "within 5 minutes"),
    (3599, {}, "certificateChain", ">= 1 hour"),
    (7201, {}, "certificateChain", "<= spec.maxExpirationSeconds (7200)"),
])
def test_lifetimes(signer, life_s, more, field, text):
    signer.ask(maxExpirationSeconds=7200)
    answer = signer.put(issued(signer.chain(life_s=life_s, **more)))
    assert text in refused(answer, 422, "Invalid")["message"] and fields_of(answer) == {f"status.{field}"}


def test_edges_of_the_lifetime(signer):
    for name, life_s in (("least", 3600), ("most", 7200)):
        signer.ask(name, maxExpirationSeconds=7200)
        ok(signer.put(issued(signer.chain(life_s=life_s)), name))


@pytest.mark.parametrize("field,off_s", [("notBefore", 1), ("notBefore", -1), ("notAfter", 1), ("notAfter", -1)])
def test_times_of_the_leaf(signer, field, off_s):
    signer.ask()
    status = issued(signer.chain())
    status[field] = stamp(seconds(status[field]) + off_s)
    answer = signer.put(status)
    assert fields_of(answer) == {f"status.{field}"} and "encoded in the leaf" in answer.body.decode()


def test_begin_refresh(signer):
    pem = signer.chain()
    start, end = times_of(pem)
    for when in (start, start + 599, end - 599, end, start - 9000, end + 9000):
        signer.ask()
        assert fields_of(signer.put(issued(pem, beginRefreshAt=stamp(when)))) == {"status.beginRefreshAt"}
        signer.cloud.admin("POST", "/kube/object", {"kind": "PodCertificateRequest", "namespace": "apps",
                                                    "name": "web-0-a", "delete": True})
    for name, when in (("a", start + 600), ("b", end - 600)):
        signer.ask(name)
        ok(signer.put(issued(pem, beginRefreshAt=stamp(when)), name))


def test_chains(signer, tmp_path):
    other = Key(tmp_path, "other", "EC")
    leaf = signer.ca.issue(signer.key)
    stranger = Authority(tmp_path, "stranger")
    namesake = Authority(tmp_path, "namesake", signer.root)  # of the name of the CA, with another key
    good = issued(leaf)
    cases = {
        "": "at least one certificate",
        "no PEM": "at least one certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n": "leaf certificate does not parse",
        leaf + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n": "intermediate certificate does not parse",
        leaf + signer.key.public: "entirely of CERTIFICATE",
        open(signer.key.path).read() + leaf: "entirely of CERTIFICATE",
        signer.ca.pem + leaf: "must be the leaf",
        leaf + signer.root.pem: "signed by the next",
        leaf + stranger.pem: "signed by the next",
        leaf + namesake.pem: "signed by the next",
        leaf + signer.root.pem + signer.ca.pem: "signed by the next",
        signer.ca.issue(other): "requested public key",
        leaf + "x" * 102400: "Too long",
    }
    signer.ask()
    for chain, text in cases.items():
        answer = signer.put({**good, "certificateChain": chain})
        assert fields_of(answer) == {"status.certificateChain"} and text in json.loads(answer.body)["message"], text
    ok(signer.put({**good, "certificateChain": leaf + signer.ca.pem + signer.root.pem}))


@pytest.mark.parametrize("status", [
    {"certificatechain": ""}, {"certificateChain": 5}, {"notBefore": 1}, {"notBefore": "2026-01-02 03:04:05"},
    {"notAfter": "2026-01-02T03:04:05.5Z"}, {"beginRefreshAt": "2026-13-02T03:04:05Z"}, {"conditions": {}},
    {"conditions": ["Issued"]}, {"conditions": [condition(typ="x")]}, {"conditions": [condition(reason=5)]},
    {"conditions": [condition(lastTransitionTime="now")]}, "text",
])
def test_statuses_that_cannot_be_decoded(signer, status):
    signer.ask()
    refused(signer.put(status), 400, "BadRequest", "cannot be handled as a PodCertificateRequest")


def test_identity_and_versions_of_the_object(cloud, signer):
    signer.ask()
    status = issued(signer.chain())
    shown = signer.get()

    def metadata(**more):
        return {"metadata": {name: value for name, value in {**shown["metadata"], **more}.items() if value is not None}}

    assert fields_of(signer.put(status, change={"spec": {**shown["spec"], "maxExpirationSeconds": 7200}})) == {"spec"}
    refused(signer.put(status, change={"apiVersion": "certificates.k8s.io/v1beta1"}), 400, "BadRequest")
    refused(signer.put(status, change={"kind": "CertificateSigningRequest"}), 400, "BadRequest")
    refused(signer.put(status, change=metadata(name="other")), 400, "BadRequest", "does not match the name on the URL")
    refused(signer.put(status, change=metadata(namespace="other")), 400, "BadRequest", "namespace")
    missing = refused(signer.put(status, change=metadata(resourceVersion=None)), 422, "Invalid", "must be specified")
    assert missing["details"]["causes"][0]["field"] == "metadata.resourceVersion"
    refused(signer.put(status, change=metadata(resourceVersion="1")), 409, "Conflict", "object has been modified")
    refused(signer.put(status, change=metadata(uid="other")), 409, "Conflict", "UID")
    refused(cloud.kube("PUT", signer.path("none", sub="/status"), shown), 404, "NotFound")
    assert signer.get() == shown


def test_patches(cloud, signer):
    refused(signer.patch({"status": {}}), 404, "NotFound")
    signer.ask()
    status = issued(signer.chain())
    shown = signer.get()
    refused(signer.patch({}, "json-patch+json"), 415, "UnsupportedMediaType")
    refused(signer.patch({"status": status, "metadata": {"resourceVersion": "1"}}), 409, "Conflict")
    assert fields_of(signer.patch({"spec": {"podName": "x"}, "status": status})) == {"spec"}
    assert fields_of(signer.patch({"status": {"notAfter": status["notAfter"]}})) == {"status"}
    refused(signer.patch({"status": status}, "apply-patch+yaml"), 422, "Invalid", "fieldManager")
    assert signer.get() == shown
    patch = {"status": status, "metadata": {"resourceVersion": shown["metadata"]["resourceVersion"]}}
    assert ok(signer.patch(patch))["status"] == status
    for number, kind in enumerate(("strategic-merge-patch+json", "apply-patch+yaml")):
        signer.ask(f"other-{number}")
        body = {"apiVersion": "certificates.k8s.io/v1", "kind": "PodCertificateRequest",
                "metadata": {"name": f"other-{number}"}, "status": status}
        assert ok(signer.patch(body, kind, "?fieldManager=x", name=f"other-{number}"))["status"] == status


def test_rights(cloud, signer):
    signer.ask()
    status = issued(signer.chain())
    for path in (f"{PATH}/v1/{RESOURCE}", f"{PATH}/v1/namespaces/apps/{RESOURCE}", signer.path()):
        refused(cloud.kube("GET", path, token="t-none"), 403, "Forbidden")
    refused(signer.cloud.kube("PUT", signer.path(sub="/status"), signer.get(), token="t-none"), 403, "Forbidden",
            'podcertificaterequests/status" in API group "certificates.k8s.io" in the namespace "apps"')
    cause = refused(signer.put(status, token="t-other"), 422, "Invalid", 'is not permitted to "sign"')["details"]["causes"][0]
    assert cause == {"reason": "FieldValueForbidden", "field": "spec.signerName", "message": cause["message"]}
    assert fields_of(signer.put({"conditions": [condition("Denied")]}, token="t-other")) == {"spec.signerName"}
    ok(signer.put(status, token="t-domain"))


def test_other_methods(cloud, signer):
    signer.ask()
    for method, path in (("PUT", signer.path()), ("PATCH", signer.path()), ("DELETE", signer.path()),
                         ("POST", f"{PATH}/v1/namespaces/apps/{RESOURCE}"), ("DELETE", signer.path(sub="/status"))):
        refused(cloud.kube(method, path, {}), 405, "MethodNotAllowed")
    refused(cloud.kube("GET", signer.path(sub="/approval")), 404, "NotFound")
    assert ok(cloud.kube("GET", signer.path(sub="/status")))["metadata"]["name"] == "web-0-a"


def test_the_built_in_identity(tmp_path):
    cloud = Cluster()
    signer, token = Signer(cloud, tmp_path), "demo-kube-token"
    request_pod_certificate(cloud, "demo-0-a", "example.com/service", signer.key)
    request_pod_certificate(cloud, "demo-0-b", "example.com/other", signer.key)
    assert len(signer.items(token=token)) == 2
    for name, status in (("demo-0-a", 200), ("demo-0-b", 422)):
        body = ok(cloud.kube("GET", signer.path(name, "default"), token=token))
        body["status"] = issued(signer.chain())
        assert cloud.kube("PUT", signer.path(name, "default", sub="/status"), body, token=token).status == status
    cloud.stop()
