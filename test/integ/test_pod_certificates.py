# SPDX-License-Identifier: MIT
"""Certificates for pods: PodCertificateRequests that the service CA answers, on the local cloud's API server, which is as
strict as the real one, and on one that lets hostile requests through."""
import base64
import calendar
import http.server
import json
import re
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

from conftest import REPO, eventually

sys.path.append(str(REPO / "test/localcloud"))
from cloud_client import Key  # noqa: E402

SIGNER = "example.com/service"
SPIFFE = "spiffe://example.com/ns/default/sa/demo"
ALLOW = [{"namespace": "default", "service_account": "demo",
          "names": ["spiffe", "demo.default.svc", "{pod}.demo.default.svc.cluster.local"]}]


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout.decode()


class Cluster:
    """The API server as its user `demo` sees it, and as the kubelet writes to it."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.kubeconfig = cloud.ready["kubeconfig"]

    def ask(self, name, key, signer=SIGNER, pod="demo-0", **spec):
        fields = key.stub_request() if isinstance(key, Key) else key
        self.cloud.admin("/kube/object", {"kind": "PodCertificateRequest", "namespace": "default", "name": name,
                                          "spec": {"signerName": signer, "podName": pod, **fields, **spec}})

    def get(self, name, version="v1"):
        url = (f"{self.cloud.ready['kube_url']}/apis/certificates.k8s.io/{version}/namespaces/default/podcertificaterequests/"
               + name)
        return json.loads(self.cloud.client.ask(url, headers={"Authorization": "Bearer demo-kube-token"}).good())

    def status(self, name, version="v1"):
        return self.get(name, version).get("status") or {}


@pytest.fixture
def cluster(cloud):
    return Cluster(cloud)


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud)


@pytest.fixture
def key(tmp_path):
    return Key(tmp_path, "pod", "EC")


def configure(agent, kubeconfig=None, allow=None, signer=SIGNER, ca=None, **entry):
    entry = {"signer": signer, "trust_domain": "example.com", "allow": allow or ALLOW,
             "kubeconfig": kubeconfig or agent.cloud.ready["kubeconfig"], **entry}
    agent.configure({"name": "trust", "ca_bundle": True,
                     "publish": {"directory": str(agent.dir / "trust"),
                                 "files": [{"name": "ca.crt", "format": "ca-bundle"}]}},
                    service_ca={"store": str(agent.dir / "store"), "pod_certificates": [entry], **(ca or {})})
    return agent


def signer(agent):
    (one,) = agent.request("GET", "/v1/credentials")[1]["service_ca"]["pod_certificates"]
    return one


def answered(server, agent, name, **more):
    eventually(lambda: server.status(name, **more).get("conditions"), lambda: f"{server.status(name, **more)}\n{agent.log}")
    (condition,) = server.status(name, **more)["conditions"]
    return condition


def verify(agent, status, key):
    """The chain verifies with the published bundle, as a server's and as a client's, and is for the pod's key. The text of the
    leaf."""
    chain = status["certificateChain"]
    path = agent.dir / "chain.pem"
    path.write_text(chain)
    eventually((agent.dir / "trust/ca.crt").exists, "the bundle")
    for purpose in ("sslserver", "sslclient"):
        openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", str(agent.dir / "trust/ca.crt"), "-untrusted",
                str(path), str(path))
    assert openssl("x509", "-noout", "-pubkey", data=chain.encode()) == key.public
    return openssl("x509", "-noout", "-text", data=chain.encode())


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def life(status):
    return seconds(status["notAfter"]) - seconds(status["notBefore"])


# ---- issue ----


def test_a_pod_gets_its_certificate(agent, cluster, key):
    cluster.ask("before", key, maxExpirationSeconds=7200)
    configure(agent).start()
    assert answered(cluster, agent, "before")["type"] == "Issued"
    status = cluster.status("before")
    text = verify(agent, status, key)
    names = re.search(r"X509v3 Subject Alternative Name:.*\n\s*(.*)", text).group(1)
    assert names == f"DNS:demo.default.svc, DNS:demo-0.demo.default.svc.cluster.local, URI:{SPIFFE}"
    assert "TLS Web Server Authentication, TLS Web Client Authentication" in text and "CA:FALSE" in text
    assert life(status) == 7200
    refresh = seconds(status["beginRefreshAt"]) - seconds(status["notBefore"])
    assert life(status) / 2 < refresh < life(status) * 0.8
    # One that comes later, with a life of its own; and each is written once.
    cluster.ask("after", key)
    assert answered(cluster, agent, "after")["type"] == "Issued"
    assert life(cluster.status("after")) == 86400
    eventually(lambda: signer(agent)["issued"] == 2 and signer(agent)["result"] == "ok", lambda: f"{signer(agent)}")
    assert cluster.status("before") == status
    assert agent.log.count("was issued: " + SPIFFE) == 2 and "PRIVATE" not in agent.log
    metrics = agent.request("GET", "/metrics")[1]
    assert f'credfresh_service_ca_pod_certificates_total{{signer="{SIGNER}",result="issued"}} 2\n' in metrics
    assert "credfresh_service_ca_pod_signers_failing 0\n" in metrics


@pytest.mark.parametrize("kind, bits", [("P-384", 0), ("P-521", 0), ("ED25519", 0), ("RSA", 3072)])
def test_kinds_of_keys(agent, cluster, tmp_path, kind, bits):
    """By a certificate request, and by the older proof, which version v1 does not show."""
    key = Key(tmp_path, "pod", kind, bits)
    cluster.ask("newer", key)
    (uid,) = [pod["uid"] for pod in cluster.cloud.admin("/kube/objects")["pods"] if pod["name"] == "demo-0"]
    cluster.ask("older", key.proof(uid))
    done = configure(agent).run("once")
    assert done.returncode == 0, done.stderr
    for name in ("newer", "older"):
        assert answered(cluster, agent, name)["type"] == "Issued"
        verify(agent, cluster.status(name), key)


def test_the_version_before(agent, cluster, key):
    cluster.cloud.admin("/kube/versions", {"podcertificaterequests": ["v1beta1"]})
    cluster.ask("older", key)
    configure(agent).start()
    assert answered(cluster, agent, "older", version="v1beta1")["type"] == "Issued"
    # A later API server has v1, and at last v1 alone.
    cluster.cloud.admin("/kube/versions", {"podcertificaterequests": ["v1"]})
    cluster.ask("newer", key)
    assert answered(cluster, agent, "newer")["type"] == "Issued"
    cluster.cloud.admin("/kube/versions", {"podcertificaterequests": []})
    eventually(lambda: "feature gate" in (signer(agent)["error"] or ""), lambda: f"{signer(agent)}")


def test_many_requests(agent, cluster, key):
    """More than a page of the list has."""
    for i in range(110):
        cluster.ask(f"pod-{i}", key)
    done = configure(agent).run("once")
    assert done.returncode == 0, done.stderr
    assert all(cluster.status(f"pod-{i}")["conditions"][0]["type"] == "Issued" for i in range(110))


# ---- watch ----


def calls(cluster, *names):
    """What the agent asked the API server, oldest first."""
    return [one for one in cluster.cloud.stats()["log"] if one["action"] in names]


def watching(agent, cluster, count=1):
    eventually(lambda: len([w for w in calls(cluster, "kube.watch") if w["status"] == 200]) >= count, agent.log)


def test_a_request_is_answered_by_the_watch(agent, cluster, key):
    """Between the beginning of the watch and the answer nothing is listed; and what it wrote itself is no news."""
    configure(agent).start()
    watching(agent, cluster)
    cluster.ask("first", key)
    answered(cluster, agent, "first")
    cluster.ask("second", key)
    answered(cluster, agent, "second")
    eventually(lambda: signer(agent)["issued"] == 2, agent.log)
    order = [one["action"].rsplit(".", 1)[1] for one in
             calls(cluster, "kube.list", "kube.watch", "kube.pod_certificate.put")]
    assert order == ["list", "watch", "put", "put"]
    own = {one["connection"] for one in calls(cluster, "kube.pod_certificate.put")}
    reads = [one for one in calls(cluster, "kube.pod_certificate.get") if one["connection"] in own]
    assert len(reads) == 2, reads


def test_a_request_that_is_withdrawn(agent, cluster, key):
    cluster.cloud.fault(kind="status", status=503, body="{}", count=1, match={"action": "kube.pod_certificate.get"})
    cluster.ask("gone", key)
    configure(agent).start()
    eventually(lambda: "default/gone" in (signer(agent)["error"] or ""), agent.log)
    cluster.cloud.admin("/kube/object", {"kind": "PodCertificateRequest", "namespace": "default", "name": "gone", "delete": True})
    cluster.ask("next", key)
    assert answered(cluster, agent, "next")["type"] == "Issued"
    eventually(lambda: signer(agent)["result"] == "ok", lambda: f"{signer(agent)}")


def test_a_reload_is_no_failure_of_the_watch(agent, cluster, key):
    """It renews the connections, as soon as nothing but the watch is under way, and the watch goes on."""
    inject = [{"kind": "ClusterTrustBundle", "name": "example.com:service:ca", "kubeconfig": cluster.kubeconfig}]
    configure(agent, ca={"inject": inject}).start()
    watching(agent, cluster)
    cluster.cloud.fault(kind="delay", ms=1000, count=1, match={"action": "kube.other"})
    configure(agent, ca={"inject": inject, "force": {"reason": "once more"}})
    assert agent.request("POST", "/v1/reload")[0] == 200
    watching(agent, cluster, 3)
    cluster.ask("after", key)
    assert answered(cluster, agent, "after")["type"] == "Issued"
    assert "until a watch works" not in agent.log


@pytest.mark.parametrize("fault", [
    {"kind": "status", "status": 410, "body": "{}"},
    {"kind": "status", "status": 500, "body": "{}"},
    {"kind": "status", "status": 200, "body": ""},
    {"kind": "status", "status": 200, "body": '{"type":"ERROR","object":{"code":410}}\n'},
    {"kind": "status", "status": 200, "body": "<html>\n"},
], ids=["410", "500", "ends", "expired", "garbage"])
def test_a_watch_that_fails(agent, cluster, key, fault):
    """It is begun again, and meanwhile nothing is lost."""
    cluster.cloud.fault(count=2, match={"action": "kube.watch"}, **fault)
    configure(agent).start()
    eventually(lambda: len(calls(cluster, "kube.watch")) >= 2, agent.log)
    cluster.ask("meanwhile", key)
    watching(agent, cluster, 1 + 2 * (fault["status"] == 200))
    cluster.ask("afterwards", key)
    for name in ("meanwhile", "afterwards"):
        assert answered(cluster, agent, name)["type"] == "Issued"
    assert agent.log.count("warn  service-ca: pod certificates") == 1, agent.log


def test_without_the_right_to_watch(agent, cluster, key):
    """The list is repeated, which the log says once; the right is used when it is there."""
    rights = [{"user": "demo", "verb": ["get", "list"], "resource": "podcertificaterequests"},
              {"user": "demo", "verb": "update", "resource": "podcertificaterequests/status"},
              {"user": "demo", "verb": "sign", "resource": "signers"}]
    cluster.cloud.admin("/kube/rbac", {"rules": rights})
    configure(agent).start()
    eventually(lambda: "requests are looked for every 5 s" in agent.log, agent.log)
    for name in ("first", "second"):
        cluster.ask(name, key)
        assert answered(cluster, agent, name)["type"] == "Issued"
    assert signer(agent)["result"] == "ok"
    assert agent.log.count("warn  service-ca: pod certificates") == 1 and 'verbs: ["watch"]' in agent.log, agent.log
    rights[0]["verb"].append("watch")
    cluster.cloud.admin("/kube/rbac", {"rules": rights})
    eventually(lambda: [w for w in calls(cluster, "kube.watch") if w["status"] == 200], agent.log)


def test_across_a_rotation(agent, cluster, key):
    """A certificate of the CA before verifies with the bundle after it, and the other way round."""
    cluster.ask("first", key)
    assert configure(agent).run("once").returncode == 0
    old = (agent.dir / "trust/ca.crt").read_text()
    cluster.ask("second", key)
    assert configure(agent, ca={"force": {"reason": "once more"}}).run("once").returncode == 0
    assert (agent.dir / "trust/ca.crt").read_text() != old
    verify(agent, cluster.status("first"), key)
    verify(agent, cluster.status("second"), key)
    before = agent.dir / "before.pem"
    before.write_text(old)
    chain = agent.dir / "chain.pem"
    openssl("verify", "-CAfile", str(before), "-untrusted", str(chain), str(chain))


# ---- two agents ----

BUNDLE = "example.com:service:ca"
OWNER = "credfresh.io/ca-key-id"


def trust_bundle(cluster, method="GET", body=None):
    url = (f"{cluster.cloud.ready['kube_url']}/apis/certificates.k8s.io/v1beta1/clustertrustbundles/{BUNDLE}"
           + ("" if body is None else "?fieldManager=credfresh"))
    headers = {"Authorization": "Bearer demo-kube-token", "Content-Type": "application/apply-patch+yaml"}
    return json.loads(cluster.cloud.client.ask(url, body and json.dumps(body).encode(), headers, method).body)


def configure_both(agent):
    return configure(agent, ca={"inject": [{"kind": "ClusterTrustBundle", "name": BUNDLE,
                                            "kubeconfig": agent.cloud.ready["kubeconfig"]}]})


def test_two_agents_of_one_signer(agent_factory, cluster, key):
    """Two replicas, each with an empty store: what is issued verifies with the bundle that pods see."""
    agents = [configure_both(agent_factory(cluster.cloud, name)) for name in ("one", "two")]
    for i in range(6):
        cluster.ask(f"pod-{i}", key)
    for one in agents:
        one.start()

    def results():
        return [signer(one)["result"] for one in agents]

    eventually(lambda: sorted(results()) == ["failed", "ok"], lambda: f"{results()} {[one.log for one in agents]}", 150)
    first, second = agents if results()[0] == "ok" else agents[::-1]
    assert "they would not verify" in signer(second)["error"] and OWNER in signer(second)["error"]
    cluster.ask("pod-6", key)
    for i in range(7):
        assert answered(cluster, first, f"pod-{i}")["type"] == "Issued"
        verify(first, cluster.status(f"pod-{i}"), key)
    eventually(lambda: trust_bundle(cluster)["spec"]["trustBundle"] == (first.dir / "trust/ca.crt").read_text(), first.log)
    assert signer(second)["issued"] == 0
    # Once the first one is stopped and its mark removed, the second one continues.
    first.stop()
    trust_bundle(cluster, "DELETE")
    cluster.ask("pod-7", key)
    assert second.request("POST", "/v1/reload")[0] == 200
    assert answered(cluster, second, "pod-7")["type"] == "Issued"
    verify(second, cluster.status("pod-7"), key)
    eventually(lambda: signer(second)["result"] == "ok", lambda: f"{signer(second)}")


def test_a_bundle_that_two_agents_make_at_once(agent, cluster, key):
    """Each finds none, and makes it: the one that was first is replaced, notices it, and has issued nothing."""
    cluster.ask("pod", key)
    configure_both(agent).start()
    eventually(lambda: trust_bundle(cluster).get("kind") == "ClusterTrustBundle", agent.log)
    theirs = {"apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle",
              "metadata": {"name": BUNDLE, "annotations": {OWNER: "ab" * 20}},
              "spec": {"signerName": SIGNER, "trustBundle": "-----BEGIN CERTIFICATE-----\ntheirs"}}
    assert trust_bundle(cluster, "PATCH", theirs)["kind"] != "Status"
    eventually(lambda: "ab" * 20 in (signer(agent)["error"] or ""), lambda: f"{signer(agent)}")
    assert "theirs" in trust_bundle(cluster)["spec"]["trustBundle"] and not cluster.status("pod").get("conditions")


def test_not_past_the_ca(agent, cluster, key):
    """A lifetime is cut to the CA's; less than an hour is not possible, and is our trouble: nothing is written."""
    cluster.ask("cut", key)
    done = configure(agent, ca={"validity": "5h", "rotate_below": "1h"}).run("once")
    assert done.returncode == 0, done.stderr
    assert 4 * 3600 < life(cluster.status("cut")) < 5 * 3600 + 120
    verify(agent, cluster.status("cut"), key)
    cluster.ask("short", key)
    (agent.state / "_service-ca.json").unlink()
    configure(agent, ca={"validity": "30m", "rotate_below": "10m", "store": str(agent.dir / "other")}).start()
    eventually(lambda: "within the hour" in (signer(agent)["error"] or ""), lambda: f"{signer(agent)}")
    assert not cluster.status("short").get("conditions")


# ---- deny ----


def test_other_service_accounts_are_denied(agent, cluster, key):
    cluster.ask("foreign", key)
    configure(agent, allow=[{"namespace": "default", "service_account": "other", "names": ["spiffe"]},
                            {"namespace": "other", "service_account": "demo", "names": ["spiffe"]}]).start()
    condition = answered(cluster, agent, "foreign")
    assert (condition["type"], condition["reason"]) == ("Denied", "NotAllowed")
    assert "certificateChain" not in cluster.status("foreign")
    eventually(lambda: signer(agent)["denied"] == 1, lambda: f"{signer(agent)}")
    assert signer(agent)["issued"] == 0 and signer(agent)["result"] == "ok"
    assert "service account demo" in agent.log and "was denied" in agent.log


def test_options_are_denied(agent, cluster, key):
    cluster.ask("options", key, unverifiedUserAnnotations={"example.com/names": "admin.default.svc"})
    configure(agent).start()
    condition = answered(cluster, agent, "options")
    assert (condition["type"], condition["reason"]) == ("Denied", "InvalidUnverifiedUserAnnotations")


def test_requests_of_other_signers_are_left_alone(agent, cluster, key):
    cluster.ask("theirs", key, signer="example.com/other")
    cluster.ask("ours", key)
    configure(agent).start()
    assert answered(cluster, agent, "ours")["type"] == "Issued"
    assert not cluster.status("theirs").get("conditions")


def test_every_service_account_by_spiffe(agent, cluster, key):
    cluster.ask("any", key)
    configure(agent, allow=[{"namespace": "*", "service_account": "*", "names": ["spiffe"]}]).start()
    assert answered(cluster, agent, "any")["type"] == "Issued"
    text = verify(agent, cluster.status("any"), key)
    assert f"URI:{SPIFFE}\n" in text and "DNS:" not in text


# ---- trouble that is not the pod's ----


def test_an_outage(agent, cluster, key):
    """Nothing is written as failed, and afterwards the pods get their certificates."""
    configure(agent).start()
    eventually(lambda: signer(agent)["result"] == "ok", lambda: f"{signer(agent)}")
    cluster.cloud.admin("/outage", {"on": True, "service": "kube"})
    eventually(lambda: signer(agent)["result"] == "failed", lambda: f"{signer(agent)}")
    assert "credfresh_service_ca_pod_signers_failing 1\n" in agent.request("GET", "/metrics")[1]
    cluster.ask("waiting", key)
    cluster.cloud.admin("/outage", {"on": False})
    assert answered(cluster, agent, "waiting")["type"] == "Issued"
    eventually(lambda: signer(agent)["result"] == "ok", lambda: f"{signer(agent)}")


def test_missing_rights(agent, cluster, key):
    """The rule that is missing is named; the request is answered as soon as it is there."""
    rights = [{"user": "demo", "verb": ["get", "list"], "resource": "podcertificaterequests"}]
    cluster.cloud.admin("/kube/rbac", {"rules": []})
    cluster.ask("waiting", key)
    configure(agent).start()
    eventually(lambda: "list" in (signer(agent)["error"] or ""), lambda: f"{signer(agent)}")
    assert "podcertificaterequests" in signer(agent)["error"]
    cluster.cloud.admin("/kube/rbac", {"rules": rights})
    eventually(lambda: "podcertificaterequests" in (signer(agent)["error"] or "") and "status" in signer(agent)["error"],
               lambda: f"{signer(agent)}")
    rights.append({"user": "demo", "verb": "update", "resource": "podcertificaterequests/status"})
    cluster.cloud.admin("/kube/rbac", {"rules": rights})
    rule = f'a ClusterRole for the caller needs the rule {{apiGroups: ["certificates.k8s.io"], resources: ["signers"], ' \
           f'verbs: ["sign"], resourceNames: ["{SIGNER}"]}}'
    eventually(lambda: rule in (signer(agent)["error"] or ""), lambda: f"{signer(agent)}", 90)
    rights.append({"user": "demo", "verb": "sign", "resource": "signers", "names": [SIGNER]})
    cluster.cloud.admin("/kube/rbac", {"rules": rights})
    eventually(lambda: cluster.status("waiting").get("conditions"), agent.log, 90)


# ---- an API server that lets everything through ----


class Hostile(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Requests as no API server would have let them in. A PUT is refused with 409 as often as CONFLICTS says."""

    daemon_threads = True

    def __init__(self, directory):
        self.requests, self.puts, self.conflicts, self.theirs, self.lost = {}, [], {}, {}, set()
        super().__init__(("127.0.0.1", 0), Handler)
        self.kubeconfig = str(directory / "hostile.kubeconfig")
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "users": [{"name": "u", "user": {"username": "u", "password": "p"}}]}, file)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def ask(self, name, fields, **spec):
        self.requests[name] = {
            "apiVersion": "certificates.k8s.io/v1", "kind": "PodCertificateRequest",
            "metadata": {"namespace": "default", "name": name, "uid": "u-" + name, "resourceVersion": "1"},
            "spec": {"signerName": SIGNER, "podName": "demo-0", "podUID": "uid-of-pod", "serviceAccountName": "demo",
                     "maxExpirationSeconds": 86400, **fields, **spec}}

    def status(self, name):
        return self.requests[name].get("status") or {}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def reply(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if "&watch=" in self.path:
            self.reply(405, {"kind": "Status", "status": "Failure", "reason": "MethodNotAllowed", "code": 405})
        elif path.endswith("/podcertificaterequests"):
            assert f"spec.signerName%3D{SIGNER.replace('/', '%2F')}" in self.path
            self.reply(200, {"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "9"},
                             "items": [{"metadata": one["metadata"]} for one in self.server.requests.values()]})
        else:
            self.reply(200, self.server.requests[path.rsplit("/", 1)[1]])

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = body["metadata"]["name"]
        one = self.server.requests[name]
        self.server.puts.append((name, body["metadata"]["resourceVersion"]))
        if self.server.conflicts.get(name):
            self.server.conflicts[name] -= 1
            one.update({"status": self.server.theirs[name]} if name in self.server.theirs else {})
            one["metadata"]["resourceVersion"] = str(int(one["metadata"]["resourceVersion"]) + 1)
        if body["metadata"]["resourceVersion"] != one["metadata"]["resourceVersion"]:
            self.reply(409, {"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409,
                             "message": "the object has been modified"})
            return
        one["status"] = body["status"]
        one["metadata"]["resourceVersion"] = str(int(one["metadata"]["resourceVersion"]) + 1)
        if name in self.server.lost:
            self.server.lost.remove(name)
            self.close_connection = True
            return
        self.reply(200, one)


@pytest.fixture
def hostile(tmp_path):
    server = Hostile(tmp_path)
    yield server
    server.shutdown()
    server.server_close()


def denied(hostile, agent, name):
    condition = answered(hostile, agent, name)
    assert condition["type"] == "Denied" and "certificateChain" not in hostile.status(name)
    return condition["reason"]


def test_hostile_requests(agent, hostile, key, tmp_path):
    """None of them gets a certificate, and none keeps the others from theirs."""
    other = Key(tmp_path, "other", "EC")
    hostile.ask("a-wrong-proof", {**key.proof("uid-of-pod"), "proofOfPossession": other.proof("uid-of-pod")[
        "proofOfPossession"]})
    hostile.ask("b-other-pod", key.proof("uid-of-another"))
    hostile.ask("c-no-proof", {"pkixPublicKey": key.proof("x")["pkixPublicKey"]})
    hostile.ask("d-garbage", {"stubPKCS10Request": base64.b64encode(b"\x30\x82\xff\xff garbage").decode()})
    hostile.ask("e-no-base64", {"stubPKCS10Request": "%%%"})
    hostile.ask("f-weak", Key(tmp_path, "weak", "RSA", 1024).stub_request())
    hostile.ask("g-2048", Key(tmp_path, "usual", "RSA", 2048).stub_request())
    hostile.ask("h-curve", Key(tmp_path, "curve", "P-224").stub_request())
    broken = bytearray(base64.b64decode(key.stub_request()["stubPKCS10Request"]))
    broken[-1] ^= 1
    hostile.ask("i-not-signed", {"stubPKCS10Request": base64.b64encode(broken).decode()})
    hostile.ask("j-huge", {"stubPKCS10Request": "A" * 3000000})
    hostile.ask("k-values", key.stub_request(), unverifiedUserAnnotations={f"a.b/{i}": "" for i in range(40000)})
    hostile.ask("l-short", key.stub_request(), maxExpirationSeconds=60)
    hostile.ask("m-other-signer", key.stub_request(), signerName="example.com/other")
    hostile.ask("n-names", key.stub_request(), podName="Demo/../0")
    hostile.ask("o-dots", key.stub_request(), podName="a.b")
    hostile.ask("z-good", key.stub_request())
    configure(agent, hostile.kubeconfig).start()
    assert answered(hostile, agent, "z-good")["type"] == "Issued"
    verify(agent, hostile.status("z-good"), key)
    for name in ("a-wrong-proof", "b-other-pod", "c-no-proof", "d-garbage", "e-no-base64", "i-not-signed"):
        assert denied(hostile, agent, name) == "InvalidKey", name
    for name in ("f-weak", "g-2048", "h-curve"):
        assert denied(hostile, agent, name) == "UnsupportedKeyType", name
        assert "ECDSAP256" in hostile.status(name)["conditions"][0]["message"]
    assert denied(hostile, agent, "l-short") == "InvalidMaxExpiration"
    assert denied(hostile, agent, "o-dots") == "ImpossibleName"
    for name in ("j-huge", "k-values", "m-other-signer", "n-names"):
        assert hostile.status(name) == {}, name
    # Later ones do not wait for those that cannot be read.
    hostile.ask("later", key.stub_request())
    assert answered(hostile, agent, "later")["type"] == "Issued"
    assert signer(agent)["result"] == "failed" and signer(agent)["issued"] == 2


def test_a_request_that_was_changed_meanwhile(agent, hostile, key):
    """It is read again at once, and not overwritten if another signer has answered it."""
    theirs = {"conditions": [{"type": "Denied", "status": "True", "reason": "Theirs"}]}
    hostile.ask("changed", key.stub_request())
    hostile.ask("taken", key.stub_request())
    hostile.conflicts = {"changed": 1, "taken": 1}
    hostile.theirs["taken"] = theirs
    configure(agent, hostile.kubeconfig).start()
    assert answered(hostile, agent, "changed")["type"] == "Issued"
    eventually(lambda: signer(agent)["result"] == "ok", lambda: f"{signer(agent)}")
    assert hostile.puts == [("changed", "1"), ("changed", "2"), ("taken", "1")]
    assert hostile.status("taken") == theirs
    assert (signer(agent)["issued"], signer(agent)["denied"]) == (1, 0) and "conflict" not in agent.log.lower()


def test_a_result_whose_answer_was_lost_is_not_written_again(agent, hostile, key):
    hostile.ask("lost", key.stub_request())
    hostile.lost.add("lost")
    configure(agent, hostile.kubeconfig).start()
    status = answered(hostile, agent, "lost") and hostile.status("lost")
    hostile.ask("later", key.stub_request())
    answered(hostile, agent, "later")
    eventually(lambda: signer(agent)["result"] == "ok", lambda: f"{signer(agent)}")
    assert hostile.status("lost") == status and [name for name, _ in hostile.puts].count("lost") == 1


# ---- configuration ----


@pytest.mark.parametrize("entry, word", [
    ({"signer": "service"}, "signer:"),
    ({"signer": "example.com/a/b"}, "signer:"),
    ({"signer": "kubernetes.io/kube-apiserver-client-pod"}, "reserved"),
    ({"trust_domain": "Example.com"}, "trust_domain:"),
    ({"trust_domain": None}, "trust_domain: is needed"),
    ({"validity": "10m"}, "1h"),
    ({"allow": []}, "allow"),
    ({"allow": [{"namespace": "Default", "service_account": "demo", "names": ["spiffe"]}]}, "namespace:"),
    ({"allow": [{"namespace": "*", "service_account": "demo", "names": ["spiffe"]}]}, "name the namespace"),
    ({"allow": [{"namespace": "default", "service_account": "*", "names": ["demo.default.svc"]}]}, "`spiffe` alone"),
    ({"allow": [{"namespace": "default", "service_account": "demo", "names": []}]}, "names"),
    ({"allow": [{"namespace": "default", "service_account": "demo", "names": ["demo.other.svc"]}]}, "not a name of a service"),
    ({"allow": [{"namespace": "default", "service_account": "demo", "names": ["{pod}.default.svc"]}]}, "not a name of a service"),
    ({"allow": [{"namespace": "default", "service_account": "demo", "names": ["*.demo.default.svc"]}]}, "not a DNS name"),
    ({"allow": ALLOW + ALLOW}, "make them one"),
])
def test_the_configuration_is_checked(agent, entry, word):
    configure(agent)
    document = json.loads(agent.config_path.read_text())
    document["service_ca"]["pod_certificates"][0].update(entry)
    if entry.get("trust_domain", "") is None:
        del document["service_ca"]["pod_certificates"][0]["trust_domain"]
    agent.config_path.write_text(json.dumps(document))
    done = agent.run("check")
    assert done.returncode != 0 and word in done.stdout + done.stderr, done.stdout + done.stderr
