# SPDX-License-Identifier: MIT
"""PodCertificateRequests and ClusterTrustBundles on a real API server, with the rights of docs/service-ca.md. One that has the
kinds is asked for them as they are. An older one has them as CRDs of the same shape, which drop each field that they do not know;
as it knows no field selectors of CRDs, and no colons in their objects' names, a proxy carries out the former and puts dots in
place of the latter. It passes everything else on."""
import calendar
import http.client
import http.server
import json
import pathlib
import re
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse

import pytest
import yaml

from conftest import Kubernetes, Space, eventually

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPO / "test/localcloud"))
from cloud_client import Key  # noqa: E402

SIGNER = "example.com/service"
GROUP = "certificates.k8s.io"
TRUST = "example.com:service:ca"
DOTTED = TRUST.replace(":", ".")
# The first that has the kinds in a version that credfresh speaks.
HAS_KINDS = (1, 35)


def flags(version):
    if version >= HAS_KINDS:
        return ("--feature-gates=PodCertificateRequest=true,ClusterTrustBundle=true",
                f"--runtime-config={GROUP}/v1beta1=true")
    # So that CRDs can be of this group.
    return (f"--runtime-config={GROUP}/v1=false,{GROUP}/v1beta1=false",)


def text(**more):
    return {"type": "string", **more}


def whole(*required, **properties):
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


REQUEST = whole(
    "spec",
    spec=whole("signerName", "podName", "podUID", "serviceAccountName", "serviceAccountUID", "nodeName", "nodeUID",
               signerName=text(), podName=text(), podUID=text(), serviceAccountName=text(), serviceAccountUID=text(),
               nodeName=text(), nodeUID=text(), maxExpirationSeconds={"type": "integer", "minimum": 3600, "maximum": 7862400},
               pkixPublicKey=text(format="byte"), proofOfPossession=text(format="byte"), stubPKCS10Request=text(format="byte"),
               unverifiedUserAnnotations={"type": "object", "additionalProperties": text()}),
    status=whole(
        conditions={"type": "array", "maxItems": 1, "items": whole(
            "type", "status", "reason", "message", "lastTransitionTime",
            type=text(enum=["Issued", "Denied", "Failed"]), status=text(enum=["True"]), reason=text(minLength=1), message=text(),
            lastTransitionTime=text(format="date-time"), observedGeneration={"type": "integer"})},
        certificateChain=text(maxLength=102400), notBefore=text(format="date-time"), beginRefreshAt=text(format="date-time"),
        notAfter=text(format="date-time")))
BUNDLE = whole("spec", spec=whole("trustBundle", signerName=text(), trustBundle=text(minLength=1)))


def crd(kind, scope, versions, schema):
    plural = kind.lower() + "s"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}",
                         "annotations": {"api-approved.kubernetes.io": "unapproved, of the shape of the kind itself"}},
            "spec": {"group": GROUP, "scope": scope, "names": {"kind": kind, "listKind": kind + "List", "plural": plural},
                     "versions": [{"name": one, "served": True, "storage": one == versions[0],
                                   "schema": {"openAPIV3Schema": schema},
                                   **({"subresources": {"status": {}}} if "status" in schema["properties"] else {})}
                                  for one in versions]}}


class Proxy(http.server.ThreadingHTTPServer):
    """Passes requests on as the user of TOKEN. A field selector by the signer is carried out here: it is not passed on, whole
    objects are asked for, and those of other signers are left out. The ClusterTrustBundle has another name behind it."""

    daemon_threads = True

    def __init__(self, kube, token):
        self.kube, self.token = kube, token
        self.trust = ssl.create_default_context(cafile=kube.dir / "certs/apiserver.crt")
        self.watches = []
        super().__init__(("127.0.0.1", 0), Pass)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def kubeconfig(self):
        path = self.kube.dir / f"proxy{self.server_port}"
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}],
            "users": [{"name": "u", "user": {"username": "u", "password": "p"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}]}))
        return str(path)


class Pass(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def begin(self, answer, **headers):
        self.send_response(answer.status)
        for name, value in {"Content-Type": answer.headers["Content-Type"], **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def follow(self, answer, signer):
        """Events, a line each, those of SIGNER."""
        self.server.watches.append(self)
        self.begin(answer, Connection="close")
        self.close_connection = True
        try:
            for line in answer:
                if json.loads(line)["object"].get("spec", {}).get("signerName", signer) == signer:
                    self.wfile.write(line)
        except OSError:
            pass

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).replace(TRUST.encode(), DOTTED.encode()) or None
        url = urllib.parse.urlsplit(urllib.parse.unquote(self.path).replace(TRUST, DOTTED))
        query = urllib.parse.parse_qs(url.query)
        selector = query.pop("fieldSelector", [""])[0]
        signer = selector.removeprefix("spec.signerName=") if selector else None
        headers = {"Authorization": f"Bearer {self.server.token}", "Accept": self.headers.get("Accept", "application/json")}
        if selector:
            headers["Accept"] = "application/json"
        if body is not None:
            headers["Content-Type"] = self.headers["Content-Type"]
        upstream = http.client.HTTPSConnection("127.0.0.1", self.server.kube.port, context=self.server.trust, timeout=600)
        upstream.request(self.command, url.path + "?" + urllib.parse.urlencode(query, doseq=True), body, headers)
        answer = upstream.getresponse()
        if answer.status == 200 and "watch" in query:
            self.follow(answer, signer)
        else:
            data = answer.read().replace(DOTTED.encode(), TRUST.encode())
            if answer.status == 200 and signer is not None:
                document = json.loads(data)
                document["items"] = [one for one in document["items"] if one["spec"]["signerName"] == signer]
                data = json.dumps(document).encode()
            self.begin(answer, Content_Length=str(len(data)))
            self.wfile.write(data)
        upstream.close()

    do_GET = do_PUT = do_PATCH = do_POST = forward


class Cluster:
    """The API server with the two kinds, and its parts: the kubelet of node1, a pod, and the user `robot` with the rights that
    the page gives."""

    def __init__(self, directory):
        self.kube = Kubernetes(directory, flags)
        self.has_kinds = self.kube.version >= HAS_KINDS
        self.proxy = None if self.has_kinds else Proxy(self.kube, "tok-robot")
        self.robot = self.kube.kubeconfig({"token": "tok-robot"}) if self.has_kinds else self.proxy.kubeconfig()
        self.direct = self.kube.kubeconfig({"token": "tok-robot"})
        self.node = json.loads(self.kube.request("POST", "/api/v1/nodes", {"metadata": {"name": "node1"}}))["metadata"]["uid"]
        page = (REPO / "docs/service-ca.md").read_text()
        for block in re.findall(r"```yaml\n(.*?)```", page, re.S):
            role = yaml.safe_load(block)
            if role.get("kind") == "ClusterRole" if isinstance(role, dict) else False:
                self.allow(role)

    def allow(self, role):
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        self.kube.request("POST", f"{rbac}/clusterroles", role)
        self.kube.request("POST", f"{rbac}/clusterrolebindings", {
            "metadata": {"name": role["metadata"]["name"]},
            "subjects": [{"kind": "User", "name": "robot", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]}})

    def serve(self, *versions):
        """The kinds in these versions, where they are CRDs."""
        for definition in (crd("PodCertificateRequest", "Namespaced", versions, REQUEST),
                           crd("ClusterTrustBundle", "Cluster", versions, BUNDLE)):
            self.kube.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for version in versions:
            for plural in ("podcertificaterequests", "clustertrustbundles"):
                eventually(lambda: self.is_served(f"/apis/{GROUP}/{version}/{plural}"), f"{version} {plural}")

    def is_served(self, path):
        try:
            return json.loads(self.kube.request("GET", path))["kind"].endswith("List")
        except urllib.error.HTTPError:
            return False

    def withdraw(self):
        for plural in ("podcertificaterequests", "clustertrustbundles"):
            try:
                self.kube.request("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{GROUP}")
            except urllib.error.HTTPError as absent:
                assert absent.code == 404
            eventually(lambda: not any(self.is_served(f"/apis/{GROUP}/{version}/{plural}") for version in ("v1", "v1beta1")),
                       f"the end of {plural}")

    def stop(self):
        if self.proxy is not None:
            self.proxy.shutdown()
        self.kube.stop()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("certificates") / "run")
    yield cluster
    cluster.stop()


@pytest.fixture(params=["v1beta1", "v1"])
def cluster(base, request):
    """The kinds in this version. Those of a server that has them itself are what they are."""
    base.version = request.param
    if base.has_kinds:
        if not base.is_served(f"/apis/{GROUP}/{request.param}/podcertificaterequests"):
            pytest.skip(f"this API server has no PodCertificateRequests of {request.param}")
        yield base
        base.kube.request("DELETE", f"/apis/{GROUP}/{base.version}/clustertrustbundles?labelSelector=")
    else:
        base.serve(request.param)
        yield base
        base.withdraw()


class Pod:
    """A pod of the service account `registry` on node1, and what its kubelet does."""

    def __init__(self, cluster, space):
        self.cluster, self.kube, self.space = cluster, cluster.kube, space
        self.uid = space.pod("web-0", "node1")
        account = json.loads(self.kube.request("GET", f"{space.base}/serviceaccounts/registry"))
        self.account = account["metadata"]["uid"]
        self.path = f"/apis/{GROUP}/{cluster.version}/namespaces/{space.name}/podcertificaterequests"

    def ask(self, name, key, signer=SIGNER, **spec):
        self.kube.request("POST", self.path, {
            "apiVersion": f"{GROUP}/{self.cluster.version}", "kind": "PodCertificateRequest", "metadata": {"name": name},
            "spec": {"signerName": signer, "podName": "web-0", "podUID": self.uid, "serviceAccountName": "registry",
                     "serviceAccountUID": self.account, "nodeName": "node1", "nodeUID": self.cluster.node,
                     "maxExpirationSeconds": 86400, **key.stub_request(), **spec}},
            "tok-node1" if self.cluster.has_kinds else "tok-admin")

    def status(self, name):
        return json.loads(self.kube.request("GET", f"{self.path}/{name}")).get("status") or {}

    def answered(self, agent, name):
        eventually(lambda: self.status(name).get("conditions"), lambda: f"{self.status(name)}\n{agent.log}")
        (condition,) = self.status(name)["conditions"]
        return condition


@pytest.fixture
def pod(cluster, request):
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())
    return Pod(cluster, Space(cluster.kube, f"{words[:40].strip('-')}-{next(cluster.kube.serial)}"))


@pytest.fixture
def agent(agent_factory):
    return agent_factory(None)


@pytest.fixture
def key(tmp_path):
    return Key(tmp_path, "pod", "EC")


def configure(agent, cluster, kubeconfig=None, allow=None, **ca):
    kubeconfig = kubeconfig or cluster.robot
    entry = {"signer": SIGNER, "trust_domain": "example.com", "kubeconfig": kubeconfig,
             "allow": allow or [{"namespace": "*", "service_account": "*", "names": ["spiffe"]}]}
    agent.configure({"name": "trust", "ca_bundle": True,
                     "publish": {"directory": str(agent.dir / "trust"), "files": [{"name": "ca.crt", "format": "ca-bundle"}]}},
                    service_ca={"store": str(agent.dir / "store"), "pod_certificates": [entry],
                                "inject": [{"kind": "ClusterTrustBundle", "name": TRUST, "kubeconfig": kubeconfig}], **ca})


def signer(agent):
    (one,) = agent.request("GET", "/v1/credentials")[1]["service_ca"]["pod_certificates"]
    return one


def trust(cluster):
    """The spec of the ClusterTrustBundle, or None."""
    name = TRUST if cluster.has_kinds else DOTTED
    try:
        return json.loads(cluster.kube.request("GET", f"/apis/{GROUP}/{cluster.version}/clustertrustbundles/{name}"))["spec"]
    except urllib.error.HTTPError as absent:
        assert absent.code == 404
        return None


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout.decode()


def verify(agent, cluster, status, key):
    """The chain verifies with the ClusterTrustBundle, and is for the pod's key. The text of the leaf."""
    eventually(lambda: trust(cluster), agent.log)
    chain, roots = agent.dir / "chain.pem", agent.dir / "roots.pem"
    chain.write_text(status["certificateChain"])
    roots.write_text(trust(cluster)["trustBundle"])
    openssl("verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", str(roots), "-untrusted", str(chain), str(chain))
    assert openssl("x509", "-noout", "-pubkey", data=status["certificateChain"].encode()) == key.public
    return openssl("x509", "-noout", "-text", data=status["certificateChain"].encode())


def seconds(instant):
    return calendar.timegm(time.strptime(instant, "%Y-%m-%dT%H:%M:%SZ"))


def test_a_pod_gets_its_certificate(agent, cluster, pod, key):
    """Before and after the agent starts, across a rotation, and each is written once."""
    pod.ask("before", key, maxExpirationSeconds=3600)
    configure(agent, cluster)
    agent.start()
    assert pod.answered(agent, "before")["type"] == "Issued"
    first = pod.status("before")
    assert seconds(first["notAfter"]) - seconds(first["notBefore"]) == 3600
    assert seconds(first["notBefore"]) + 600 <= seconds(first["beginRefreshAt"]) <= seconds(first["notAfter"]) - 600
    assert f"URI:spiffe://example.com/ns/{pod.space.name}/sa/registry\n" in verify(agent, cluster, first, key)
    pod.ask("during", key)
    assert pod.answered(agent, "during")["type"] == "Issued"
    verify(agent, cluster, pod.status("during"), key)
    before = trust(cluster)
    assert before["signerName"] == SIGNER
    configure(agent, cluster, force={"reason": "once more"})
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: trust(cluster)["trustBundle"] != before["trustBundle"], agent.log)
    pod.ask("after", key)
    assert pod.answered(agent, "after")["type"] == "Issued"
    for name in ("before", "during", "after"):
        verify(agent, cluster, pod.status(name), key)
    assert pod.status("before") == first
    eventually(lambda: signer(agent)["issued"] == 1 and signer(agent)["result"] == "ok", lambda: f"{signer(agent)}")
    assert "requests are looked for" not in agent.log


@pytest.mark.parametrize("kind, bits", [("P-384", 0), ("P-521", 0), ("ED25519", 0), ("RSA", 3072), ("RSA", 4096)])
def test_kinds_of_keys(agent, cluster, pod, tmp_path, kind, bits):
    key = Key(tmp_path, "pod", kind, bits)
    pod.ask("kind", key)
    configure(agent, cluster)
    done = agent.run("once")
    assert done.returncode == 0, done.stderr
    assert pod.answered(agent, "kind")["type"] == "Issued"
    verify(agent, cluster, pod.status("kind"), key)


def test_denials(agent, cluster, pod, key):
    pod.ask("options", key, unverifiedUserAnnotations={"example.com/name": "admin"})
    pod.ask("theirs", key, signer="example.com/other")
    configure(agent, cluster)
    agent.start()
    condition = pod.answered(agent, "options")
    assert (condition["type"], condition["reason"]) == ("Denied", "InvalidUnverifiedUserAnnotations")
    assert "certificateChain" not in pod.status("options")
    configure(agent, cluster, allow=[{"namespace": "default", "service_account": "registry", "names": ["spiffe"]}])
    assert agent.request("POST", "/v1/reload")[0] == 200
    pod.ask("foreign", key)
    condition = pod.answered(agent, "foreign")
    assert (condition["type"], condition["reason"]) == ("Denied", "NotAllowed")
    assert not pod.status("theirs").get("conditions")
    eventually(lambda: signer(agent)["result"] == "ok", lambda: f"{signer(agent)}\n{agent.log}")


def test_missing_rights_are_named(agent, cluster, pod, key):
    """Nothing is written for them, and the pod gets its certificate once they are there."""
    rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/credfresh-pod-certificates"
    binding = json.loads(cluster.kube.request("GET", rbac))
    cluster.kube.request("DELETE", rbac)
    try:
        pod.ask("waiting", key)
        configure(agent, cluster)
        agent.start()
        eventually(lambda: f"podcertificaterequests.{GROUP}" in (signer(agent)["error"] or "").replace('"], resources: ["', "."),
                   lambda: f"{signer(agent)}")
        assert 'verbs: ["list"]' in signer(agent)["error"]
        assert not pod.status("waiting").get("conditions")
    finally:
        cluster.kube.request("POST", rbac.rsplit("/", 1)[0], {
            "metadata": {"name": binding["metadata"]["name"]}, "subjects": binding["subjects"], "roleRef": binding["roleRef"]})
    assert pod.answered(agent, "waiting")["type"] == "Issued"


def test_the_right_to_sign(agent, cluster, pod, key):
    """Without it nothing is written, and the error says so. CRDs have signers of nobody."""
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/credfresh-pod-certificates"
    whole = json.loads(cluster.kube.request("GET", role))
    rules = [rule for rule in whole["rules"] if rule["resources"] != ["signers"]]
    cluster.kube.request("PUT", role, {**whole, "metadata": {"name": whole["metadata"]["name"]}, "rules": rules})
    try:
        pod.ask("waiting", key)
        configure(agent, cluster)
        agent.start()
        if cluster.has_kinds:
            eventually(lambda: "sign" in (signer(agent)["error"] or "").replace("signer", ""), lambda: f"{signer(agent)}")
            assert SIGNER in signer(agent)["error"] and not pod.status("waiting").get("conditions")
    finally:
        cluster.kube.request("PUT", role, {"metadata": {"name": whole["metadata"]["name"]}, "rules": whole["rules"]})
    assert pod.answered(agent, "waiting")["type"] == "Issued"


def test_what_is_not_there(agent, base, key):
    """Without the kinds it is said which they are; a server that refuses the field selector gets no other question."""
    if base.has_kinds:
        pytest.skip("this API server has the kinds")
    configure(agent, base)
    agent.start()
    eventually(lambda: "no PodCertificateRequests" in (signer(agent)["error"] or ""), lambda: f"{signer(agent)}")
    (injected,) = agent.request("GET", "/v1/credentials")[1]["service_ca"]["injected"]
    assert "no ClusterTrustBundles" in injected["error"]
    base.version = "v1beta1"
    base.serve("v1beta1")
    try:
        pod = Pod(base, Space(base.kube, f"selector-{next(base.kube.serial)}"))
        pod.ask("waiting", key)
        configure(agent, base, base.direct)
        assert agent.request("POST", "/v1/reload")[0] == 200
        eventually(lambda: "field label not supported" in (signer(agent)["error"] or ""), lambda: f"{signer(agent)}")
        assert not pod.status("waiting").get("conditions")
        # Where the selector is known the request is still good.
        configure(agent, base)
        assert agent.request("POST", "/v1/reload")[0] == 200
        assert pod.answered(agent, "waiting")["type"] == "Issued"
    finally:
        base.withdraw()
