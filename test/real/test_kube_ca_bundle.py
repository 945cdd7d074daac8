# SPDX-License-Identifier: MIT
"""The service CA's bundle in the objects by which a real API server verifies servers: with it the API server calls a webhook
that credfresh has given its certificate, across rotations; what another client removes comes back, and no other field is touched."""
import base64
import http.server
import json
import ssl
import threading
import urllib.error

import pytest

from conftest import eventually

HOST = "localhost"
NAMES = {"APIService": ("apiregistration.k8s.io", "apiservices"),
         "CustomResourceDefinition": ("apiextensions.k8s.io", "customresourcedefinitions"),
         "MutatingWebhookConfiguration": ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
         "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io", "validatingwebhookconfigurations")}


def path(kind, name=""):
    group, plural = NAMES[kind]
    return f"/apis/{group}/v1/{plural}" + (f"/{name}" if name else "")


def make(kube, kind, name, annotated=False, **fields):
    group, _ = NAMES[kind]
    metadata = {"name": name, **({"annotations": {"credfresh.io/inject-ca": "true"}} if annotated else {})}
    kube.request("POST", path(kind), {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, **fields})


def get(kube, kind, name):
    return json.loads(kube.request("GET", path(kind, name)))


def webhook(name, url, **selector):
    return {"name": name, "clientConfig": {"url": url}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail", "timeoutSeconds": 5, "objectSelector": {"matchLabels": selector or {"none": "none"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}


def api_service(group, **spec):
    return {"spec": {"group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
                     "service": {"namespace": "default", "name": "none"}, **spec}}


def crd(group, conversion):
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {"spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
                     "preserveUnknownFields": False, "conversion": conversion,
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}]}}


def bundles(thing):
    """caBundle at all its places; None where there is none."""
    kind, spec = thing["kind"], thing.get("spec", {})
    if kind == "APIService":
        found = [spec]
    elif kind == "CustomResourceDefinition":
        found = [spec["conversion"].get("webhook", {}).get("clientConfig", {})]
    else:
        found = [one["clientConfig"] for one in thing["webhooks"]]
    return [base64.b64decode(one["caBundle"]).decode() if one.get("caBundle") else None for one in found]


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                             "response": {"uid": review["request"]["uid"], "allowed": True}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


class Server:
    """A webhook's server with what is in DIRECTORY; each connection is made with what is there then."""

    def __init__(self, directory):
        self.directory = directory
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
        self.url = f"https://{HOST}:{self.server.server_port}/"
        accept = self.server.socket.accept

        def wrapped():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
            peer, address = accept()
            return context.wrap_socket(peer, server_side=True, do_handshake_on_connect=False), address

        self.server.get_request = wrapped
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def kube(space):
    return space.kube


@pytest.fixture
def agent(agent_factory):
    return agent_factory(None)


def configure(agent, kube, *inject, **ca):
    files = [{"name": "tls.crt", "format": "certificate"}, {"name": "tls.key", "format": "private-key"},
             {"name": "ca.crt", "format": "ca-bundle"}]
    if inject:
        ca["inject"] = [{"kubeconfig": kube.admin, **one} for one in inject]
    agent.configure({"name": "tls", "certificate": {"dns_names": [HOST]},
                     "publish": {"directory": str(agent.dir / "tls"), "files": files}},
                    service_ca={"store": str(agent.dir / "store"), **ca})


def injected(agent):
    return agent.request("GET", "/v1/credentials")[1]["service_ca"]["injected"]


def settled(agent):
    return eventually(lambda: all(one["result"] == "ok" for one in injected(agent)) and injected(agent),
                      lambda: f"{injected(agent)}\n{agent.log}")


def bundle(agent):
    return (agent.dir / "tls/ca.crt").read_text()


def create(kube, space, name, **labels):
    try:
        kube.request("POST", f"{space.base}/configmaps", {"metadata": {"name": name, "labels": labels}})
    except urllib.error.HTTPError as refused:
        return json.loads(refused.read())["message"]
    return None


def test_a_webhook_is_called_across_rotations(kube, space, agent):
    configure(agent, kube)
    agent.start()
    agent.wait_generation(1, "tls")
    server = Server(agent.dir / "tls")
    label = {"test": space.name}
    hook = f"hook.{space.name}"
    try:
        make(kube, "ValidatingWebhookConfiguration", hook, webhooks=[webhook("a.example.com", server.url, **label)])
        eventually(lambda: "x509" in (create(kube, space, "before", **label) or ""), "the webhook in use")
        # What the kubeconfig names is read from the start.
        agent.stop()
        configure(agent, kube, {"kind": "ValidatingWebhookConfiguration", "name": hook})
        agent.start()
        settled(agent)
        for i in range(3):
            refused = []  # the API server reads the new bundle a moment after it was set
            eventually(lambda: refused.append(create(kube, space, f"after-{i}-{len(refused)}", **label)) or
                       refused[-1] is None, lambda: f"{refused}\n{agent.log}")
            configure(agent, kube, {"kind": "ValidatingWebhookConfiguration", "name": hook},
                      force={"reason": f"number {i}"})
            assert agent.request("POST", "/v1/reload")[0] == 200
            eventually(lambda: bundles(get(kube, "ValidatingWebhookConfiguration", hook)) == [bundle(agent)] and
                       bundle(agent).count("BEGIN") == min(i + 2, 3), agent.log)
            settled(agent)
    finally:
        kube.request("DELETE", path("ValidatingWebhookConfiguration", hook))
        server.stop()


def can_apply_api_services(kube):
    """That of 1.20 breaks down at any server-side apply of one, and closes the connection."""
    name = f"v1.probe{next(kube.serial)}.example.com"
    group = name.split(".", 1)[1]
    make(kube, "APIService", name, **api_service(group))
    try:
        kube.kubectl("apply", "--server-side", "-f", "-", text=json.dumps(
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}}))
        return True
    except AssertionError:
        return False
    finally:
        kube.request("DELETE", path("APIService", name))


def test_every_kind_by_name_and_by_annotation(kube, space, agent):
    """Objects of every kind: those named, those with the annotation, and those that are neither, which stay as they are."""
    group = f"{space.name}.example.com"
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                                                     "clientConfig": {"url": "https://localhost:1/"}}}
    made = []
    kinds = [kind for kind in NAMES if kind != "APIService" or can_apply_api_services(kube)]

    def add(kind, name, annotated, **fields):
        make(kube, kind, name, annotated, **fields)
        made.append((kind, name))

    try:
        for part, annotated in (("named", False), ("annotated", True), ("other", False)):
            one = f"{part}.{group}"
            if "APIService" in kinds:
                add("APIService", f"v1.{one}", annotated, **api_service(one))
            add("CustomResourceDefinition", f"things.{one}", annotated, **crd(one, conversion))
            for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
                add(kind, one, annotated, webhooks=[webhook("a.example.com", "https://localhost:1/"),
                                                    webhook("b.example.com", "https://localhost:1/")])
        before = {key: get(kube, *key) for key in made}
        named = [{"kind": kind, "name": name} for kind, name in made if "named." in name]
        named[-2]["webhooks"] = ["b.example.com"]
        configure(agent, kube, *named, *({"kind": kind, "annotated": True} for kind in kinds))
        agent.start()
        agent.wait_generation(1, "tls")
        settled(agent)
        after = {key: get(kube, *key) for key in made}
        for key in made:
            was, now = before[key], after[key]
            found = bundles(now)
            if "other." in key[1]:
                assert now["metadata"]["managedFields"] == was["metadata"]["managedFields"]
                assert not any(found)
            elif key == ("MutatingWebhookConfiguration", f"named.{group}"):
                assert found == [None, bundle(agent)]
            else:
                assert set(found) == {bundle(agent)}, key
            # Nothing but that field has changed.
            for thing in (was, now):
                text = json.dumps(thing.get("spec", thing.get("webhooks")))
                thing["rest"] = json.loads(text, object_hook=lambda o: {k: v for k, v in o.items() if k != "caBundle"})
            assert now["rest"] == was["rest"], key
        # It is removed, another is written, and an object is made again without it.
        versions = {key: thing["metadata"]["resourceVersion"] for key, thing in after.items()}
        changed = []
        if "APIService" in kinds:
            changed.append(("APIService", f"v1.annotated.{group}"))
            kube.kubectl("patch", "apiservice", changed[0][1], "--type=merge", "-p", '{"spec":{"caBundle":null}}')
        hook = ("ValidatingWebhookConfiguration", f"named.{group}")
        kube.kubectl("patch", "validatingwebhookconfiguration", hook[1], "--type=json", "-p", json.dumps(
            [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "Cg=="}]))
        thing = ("CustomResourceDefinition", f"things.named.{group}")
        kube.kubectl("patch", "crd", thing[1], "--type=json", "-p", json.dumps(
            [{"op": "remove", "path": "/spec/conversion/webhook/clientConfig/caBundle"}]))
        assert agent.request("POST", "/v1/reload")[0] == 200  # looks at everything at once instead of within a minute
        changed += [hook, thing]
        for key in changed:
            eventually(lambda: set(bundles(get(kube, *key))) == {bundle(agent)}, lambda: f"{key}\n{agent.log}")
        settled(agent)
        for key in set(made) - set(changed):
            if key[0] != "APIService":  # whose status the API server writes
                assert get(kube, *key)["metadata"]["resourceVersion"] == versions[key], key
        # A shorter list takes nothing away.
        named[-1]["webhooks"] = ["a.example.com"]
        old = bundle(agent)
        configure(agent, kube, *named, *({"kind": kind, "annotated": True} for kind in kinds), force={"reason": "shorter"})
        assert agent.request("POST", "/v1/reload")[0] == 200
        eventually(lambda: bundle(agent) != old and bundles(get(kube, *hook)) == [bundle(agent), old], agent.log)
    finally:
        for kind, name in made:
            kube.request("DELETE", path(kind, name))


def test_an_api_service(kube, space, agent):
    """Where it can be applied it gets the bundle. The API server of 1.20 closes the connection: that is said, the object stays as
    it was, and another one gets its bundle."""
    group = f"{space.name}.example.com"
    hook = f"beside.{group}"
    can = can_apply_api_services(kube)
    make(kube, "APIService", f"v1.{group}", **api_service(group))
    make(kube, "ValidatingWebhookConfiguration", hook, webhooks=[webhook("a.example.com", "https://localhost:1/")])
    try:
        before = get(kube, "APIService", f"v1.{group}")["spec"]
        configure(agent, kube, {"kind": "APIService", "name": f"v1.{group}"},
                  {"kind": "ValidatingWebhookConfiguration", "name": hook})
        agent.start()
        agent.wait_generation(1, "tls")
        eventually(lambda: all(one["result"] != "pending" for one in injected(agent)), agent.log)
        eventually(lambda: bundles(get(kube, "ValidatingWebhookConfiguration", hook)) == [bundle(agent)], agent.log)
        service, beside = injected(agent)
        assert beside["result"] == "ok"
        if can:
            assert service["result"] == "ok" and bundles(get(kube, "APIService", f"v1.{group}")) == [bundle(agent)]
        else:
            assert service["result"] == "failed" and "closed the connection" in service["error"]
            assert get(kube, "APIService", f"v1.{group}")["spec"] == before
    finally:
        kube.request("DELETE", path("APIService", f"v1.{group}"))
        kube.request("DELETE", path("ValidatingWebhookConfiguration", hook))


def test_what_cannot_be_done_is_said(kube, space, agent):
    """An object that does not exist yet is never made; a CRD without a conversion webhook, a webhook of another name, and
    missing rights are reported, and nothing else suffers."""
    group = f"{space.name}.example.com"
    hook = f"later.{group}"
    make(kube, "CustomResourceDefinition", f"things.{group}", **crd(group, {"strategy": "None"}))
    make(kube, "MutatingWebhookConfiguration", group, webhooks=[webhook("a.example.com", "https://localhost:1/")])
    robot = kube.kubeconfig({"token": "tok-robot"})
    try:
        configure(agent, kube, {"kind": "ValidatingWebhookConfiguration", "name": hook},
                  {"kind": "CustomResourceDefinition", "name": f"things.{group}"},
                  {"kind": "MutatingWebhookConfiguration", "name": group, "webhooks": ["z.example.com"]},
                  {"kind": "APIService", "annotated": True, "kubeconfig": robot},
                  {"kind": "ClusterTrustBundle", "name": "example.com:service:ca"})
        agent.start()
        agent.wait_generation(1, "tls")
        eventually(lambda: all(one["error"] for one in injected(agent)), agent.log)
        missing, no_webhook, no_name, denied, unknown = (one["error"] for one in injected(agent))
        assert "has no ClusterTrustBundles" in unknown
        assert "no such object" in missing
        assert "conversion" in no_webhook
        assert 'no webhook "z.example.com"' in no_name
        assert "list" in denied and "apiservices" in denied
        agent.wait_state("fresh", "tls")
        with pytest.raises(urllib.error.HTTPError):
            get(kube, "ValidatingWebhookConfiguration", hook)
        make(kube, "ValidatingWebhookConfiguration", hook, webhooks=[webhook("a.example.com", "https://localhost:1/")])
        eventually(lambda: bundles(get(kube, "ValidatingWebhookConfiguration", hook)) == [bundle(agent)], agent.log)
    finally:
        for kind, name in (("ValidatingWebhookConfiguration", hook), ("MutatingWebhookConfiguration", group),
                           ("CustomResourceDefinition", f"things.{group}")):
            kube.request("DELETE", path(kind, name))
