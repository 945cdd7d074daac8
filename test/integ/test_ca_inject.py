# SPDX-License-Identifier: MIT
"""The service CA's bundle in objects of the cluster: of every kind, by name and by annotation, put back, refused; on the
local cloud's API server. With a real one: test/real/test_kube_ca_bundle.py."""
import base64
import json

import pytest

from conftest import eventually
from test_secret_target import Kube

GROUPS = {"APIService": ("apiregistration.k8s.io", "apiservices"),
          "CustomResourceDefinition": ("apiextensions.k8s.io", "customresourcedefinitions"),
          "MutatingWebhookConfiguration": ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
          "ClusterTrustBundle": ("certificates.k8s.io", "clustertrustbundles", "v1beta1"),
          "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io", "validatingwebhookconfigurations")}
OBJECTS = [kind for kind in GROUPS if kind != "ClusterTrustBundle"]
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class Cluster:
    """The API server as its user `demo` sees it."""

    def __init__(self, cloud):
        self.cloud = cloud

    def call(self, method, kind, name="", body=None, query="", content="application/json"):
        group, plural, version = (*GROUPS[kind], "v1")[:3]
        url = f"{self.cloud.ready['kube_url']}/apis/{group}/{version}/{plural}" + (f"/{name}" if name else "") + query
        headers = {"Authorization": "Bearer demo-kube-token", "Content-Type": content}
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.cloud.client.ask(url, data, headers, method).body)

    def make(self, kind, name, annotated=False, notes=None, **fields):
        annotations = {"annotations": {"credfresh.io/inject-ca": "true", **(notes or {})}} if annotated else {}
        made = self.call("POST", kind, body={"apiVersion": f"{GROUPS[kind][0]}/v1", "kind": kind,
                                             "metadata": {"name": name, **annotations}, **(fields or SAMPLES[kind])})
        assert made["kind"] == kind, made
        return made

    def get(self, kind, name):
        return self.call("GET", kind, name)

    def bundles(self, kind, name):
        thing = self.get(kind, name)
        spec = thing.get("spec", {})
        places = {"APIService": lambda: [spec],
                  "CustomResourceDefinition": lambda: [spec["conversion"]["webhook"]["clientConfig"]],
                  }.get(kind, lambda: [one["clientConfig"] for one in thing["webhooks"]])()
        return [base64.b64decode(one["caBundle"]).decode() if one.get("caBundle") else None for one in places]


def webhook(name):
    return {"name": name, "clientConfig": {"url": "https://localhost:1/"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 3}


HOOKS = {"webhooks": [webhook("a.example.com"), webhook("b.example.com")]}
SAMPLES = {"APIService": {"spec": {"group": "x.example.com", "version": "v1", "groupPriorityMinimum": 100,
                                   "versionPriority": 10, "service": {"namespace": "default", "name": "x"}}},
           "CustomResourceDefinition": {"spec": {"group": "x.example.com", "scope": "Namespaced",
                                                 "names": {"kind": "Thing", "plural": "things"}, "versions": [],
                                                 "conversion": {"strategy": "Webhook", "webhook": {
                                                     "conversionReviewVersions": ["v1"],
                                                     "clientConfig": {"url": "https://localhost:1/"}}}}},
           "MutatingWebhookConfiguration": HOOKS, "ValidatingWebhookConfiguration": HOOKS}


@pytest.fixture
def cluster(cloud):
    return Cluster(cloud)


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud)


def configure(agent, *inject, kubeconfig=None, **ca):
    kubeconfig = kubeconfig or agent.cloud.ready["kubeconfig"]
    agent.configure({"name": "trust", "ca_bundle": True,
                     "publish": {"directory": str(agent.dir / "trust"),
                                 "files": [{"name": "ca.crt", "format": "ca-bundle"}]}},
                    service_ca={"store": str(agent.dir / "store"), **ca,
                                "inject": [{"kubeconfig": kubeconfig, **one} for one in inject]})
    return agent


def bundle(agent):
    return (agent.dir / "trust/ca.crt").read_text()


def injected(agent):
    return agent.request("GET", "/v1/credentials")[1]["service_ca"]["injected"]


def settled(agent):
    eventually(lambda: all(one["result"] == "ok" for one in injected(agent)), lambda: f"{injected(agent)}\n{agent.log}")


def test_every_kind(agent, cluster):
    for kind in OBJECTS:
        for name, annotated in (("named.example.com", False), ("annotated.example.com", True), ("other.example.com", False)):
            cluster.make(kind, name, annotated)
    others = {kind: cluster.get(kind, "other.example.com") for kind in OBJECTS}
    entries = [entry for kind in OBJECTS for entry in ({"kind": kind, "name": "named.example.com"},
                                                      {"kind": kind, "annotated": True})]
    done = configure(agent, *entries).run("once")
    assert done.returncode == 0, done.stderr
    for kind in OBJECTS:
        for name in ("named.example.com", "annotated.example.com"):
            assert set(cluster.bundles(kind, name)) == {bundle(agent)}, (kind, name)
            managers = cluster.get(kind, name)["metadata"]["managedFields"]
            (ours,) = [one for one in managers if one["manager"] == "credfresh"]
            assert ours["operation"] == "Apply" and json.dumps(ours["fieldsV1"]).count("f:caBundle") in (1, 2)
            assert "f:url" not in json.dumps(ours["fieldsV1"]) and "f:group" not in json.dumps(ours["fieldsV1"])
        assert cluster.get(kind, "other.example.com") == others[kind]
    # Once more nothing is written; after a rotation everything is.
    versions = {kind: cluster.get(kind, "named.example.com")["metadata"]["resourceVersion"] for kind in OBJECTS}
    assert agent.run("once").returncode == 0
    assert versions == {kind: cluster.get(kind, "named.example.com")["metadata"]["resourceVersion"] for kind in OBJECTS}
    assert configure(agent, *entries, force={"reason": "once more"}).run("once").returncode == 0
    for kind in OBJECTS:
        assert set(cluster.bundles(kind, "annotated.example.com")) == {bundle(agent)}
    assert bundle(agent).count("BEGIN") == 2


def test_it_is_put_back(agent, cluster):
    """When another program removes it, or writes another, with force or as its own."""
    cluster.make("APIService", "v1.x.example.com")
    cluster.make("ValidatingWebhookConfiguration", "x.example.com")
    entries = [{"kind": "APIService", "name": "v1.x.example.com"},
               {"kind": "ValidatingWebhookConfiguration", "name": "x.example.com", "webhooks": ["b.example.com"]}]
    configure(agent, *entries).start()
    agent.wait_state("fresh", "trust")
    settled(agent)
    assert cluster.bundles("ValidatingWebhookConfiguration", "x.example.com") == [None, bundle(agent)]
    cluster.call("PATCH", "APIService", "v1.x.example.com", {"spec": {"caBundle": None}}, content=MERGE)
    hooks = cluster.get("ValidatingWebhookConfiguration", "x.example.com")["webhooks"]
    hooks[1]["clientConfig"]["caBundle"] = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nanother").decode()
    cluster.call("PATCH", "ValidatingWebhookConfiguration", "x.example.com", {"webhooks": hooks}, content=MERGE)
    assert cluster.bundles("APIService", "v1.x.example.com") == [None]
    # By the look after a reload, or within a minute.
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: cluster.bundles("APIService", "v1.x.example.com") == [bundle(agent)], agent.log)
    eventually(lambda: cluster.bundles("ValidatingWebhookConfiguration", "x.example.com") == [None, bundle(agent)],
               agent.log)
    assert "PRIVATE" not in agent.log


def test_webhooks_that_are_left_out_keep_their_bundle(agent, cluster):
    """When the list becomes shorter, or an annotated object gets a list, the API server must not remove what was applied; what
    another program writes there from then on is its own."""
    kind, hook, b = "ValidatingWebhookConfiguration", "x.example.com", "b.example.com"
    cluster.make(kind, hook, annotated=True, webhooks=[webhook(f"{one}.example.com") for one in "abc"])
    short = {"kind": kind, "name": hook, "webhooks": ["a.example.com"]}
    assert configure(agent, {"kind": kind, "annotated": True}).run("once").returncode == 0
    first = bundle(agent)
    assert cluster.bundles(kind, hook) == [first, first, first]
    for entry in ({**short, "webhooks": ["a.example.com", b]}, short):
        assert configure(agent, entry).run("once").returncode == 0
        assert cluster.bundles(kind, hook) == [first, first, first]
    done = configure(agent, short, force={"reason": "a new bundle"}).run("once")
    assert done.returncode == 0, done.stderr
    assert bundle(agent) != first and cluster.bundles(kind, hook) == [bundle(agent), first, first]
    hooks = cluster.get(kind, hook)["webhooks"]
    theirs = "-----BEGIN CERTIFICATE-----\ntheirs"
    hooks[1]["clientConfig"]["caBundle"] = base64.b64encode(theirs.encode()).decode()
    del hooks[2]["clientConfig"]["caBundle"]
    cluster.call("PATCH", kind, hook, {"webhooks": hooks}, content=MERGE)
    assert configure(agent, short, force={"reason": "another bundle"}).run("once").returncode == 0
    assert cluster.bundles(kind, hook) == [bundle(agent), theirs, None]
    owners = [one["manager"] for one in cluster.get(kind, hook)["metadata"]["managedFields"]
              if "f:caBundle" in one["fieldsV1"]["f:webhooks"].get(f'k:{{"name":"{b}"}}', {}).get("f:clientConfig", {})]
    assert owners == ["client"]


def test_it_is_looked_at_every_minute(agent, cluster):
    cluster.make("APIService", "v1.x.example.com")
    configure(agent, {"kind": "APIService", "name": "v1.x.example.com"}).start()
    agent.wait_state("fresh", "trust")
    settled(agent)
    cluster.call("PATCH", "APIService", "v1.x.example.com", {"spec": {"caBundle": None}}, content=MERGE)
    eventually(lambda: cluster.bundles("APIService", "v1.x.example.com") == [bundle(agent)], agent.log, 75)
    eventually(lambda: "was changed by another program, and is set again" in agent.log, agent.log)


def test_what_is_refused(agent, cluster):
    """An object that does not exist is not made, but gets its bundle when it is there; one that cannot have it, and missing
    rights, are reported; the others, and the credentials, do not wait for them."""
    cluster.make("CustomResourceDefinition", "plain.example.com",
                 spec={"group": "x", "conversion": {"strategy": "None"}, "versions": []})
    cluster.make("APIService", "v1.insecure.example.com", spec={**SAMPLES["APIService"]["spec"],
                                                                "insecureSkipTLSVerify": True})
    cluster.make("MutatingWebhookConfiguration", "x.example.com")
    cluster.make("ValidatingWebhookConfiguration", "good.example.com")
    configure(agent, {"kind": "ValidatingWebhookConfiguration", "name": "later.example.com"},
              {"kind": "CustomResourceDefinition", "name": "plain.example.com"},
              {"kind": "APIService", "name": "v1.insecure.example.com"},
              {"kind": "MutatingWebhookConfiguration", "name": "x.example.com", "webhooks": ["z.example.com"]},
              {"kind": "ValidatingWebhookConfiguration", "name": "good.example.com"}).start()
    agent.wait_state("fresh", "trust")
    eventually(lambda: [one["result"] for one in injected(agent)] == ["failed"] * 4 + ["ok"], agent.log)
    errors = [one["error"] or "" for one in injected(agent)]
    assert "no such object yet" in errors[0] and "later.example.com" in errors[0]
    assert "strategy" in errors[1] and "insecureSkipTLSVerify" in errors[2] and '"z.example.com"' in errors[3]
    assert cluster.get("ValidatingWebhookConfiguration", "later.example.com")["kind"] == "Status"
    assert "credfresh_service_ca_inject_failing 4\n" in agent.request("GET", "/metrics")[1]
    cluster.make("ValidatingWebhookConfiguration", "later.example.com")
    eventually(lambda: set(cluster.bundles("ValidatingWebhookConfiguration", "later.example.com")) == {bundle(agent)},
               agent.log)
    assert cluster.bundles("MutatingWebhookConfiguration", "x.example.com") == [None, None]


def test_missing_rights_and_pages(agent, cluster):
    """More objects than a page of the list has; without the right to list the RBAC rule is named."""
    for i in range(45):
        cluster.make("ValidatingWebhookConfiguration", f"x{i}.example.com", i % 3 == 0)
    configure(agent, {"kind": "ValidatingWebhookConfiguration", "annotated": True})
    assert agent.run("once").returncode == 0
    for i in range(45):
        found = set(cluster.bundles("ValidatingWebhookConfiguration", f"x{i}.example.com"))
        assert found == ({bundle(agent)} if i % 3 == 0 else {None})
    agent.cloud.admin("/kube/rbac", {"rules": []})
    done = agent.run("once")
    assert done.returncode != 0
    assert "validatingwebhookconfigurations" in done.stderr and "list" in done.stderr


def test_pages_of_large_objects(agent, cluster):
    """A page that would be larger than 2 MiB is asked for again with fewer objects."""
    for i in range(14):
        cluster.make("ValidatingWebhookConfiguration", f"x{i}.example.com", True, notes={"note": "x" * 200000}, **HOOKS)
    configure(agent, {"kind": "ValidatingWebhookConfiguration", "annotated": True})
    assert agent.run("once").returncode == 0
    for i in range(14):
        assert set(cluster.bundles("ValidatingWebhookConfiguration", f"x{i}.example.com")) == {bundle(agent)}


def test_a_cluster_trust_bundle(agent, cluster):
    """Made where there is none, kept, put back; by the version of the API that there is; not taken from another manager, and
    only with the right to attest for its signer."""
    name = "example.com:service:ca"
    entry = {"kind": "ClusterTrustBundle", "name": name}

    def text():
        return cluster.get("ClusterTrustBundle", name).get("spec", {}).get("trustBundle")

    done = configure(agent, entry).run("once")
    assert done.returncode == 0, done.stderr
    made = cluster.get("ClusterTrustBundle", name)
    assert made["spec"] == {"signerName": "example.com/service", "trustBundle": bundle(agent)}
    assert [one["manager"] for one in made["metadata"]["managedFields"]] == ["credfresh"]
    assert agent.run("once").returncode == 0
    assert cluster.get("ClusterTrustBundle", name) == made
    configure(agent, entry, force={"reason": "once more"}).start()
    eventually(lambda: text() == bundle(agent) and text().count("BEGIN") == 2, agent.log)
    cluster.call("DELETE", "ClusterTrustBundle", name)
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: text() == bundle(agent), agent.log)
    # Another manager's is left to it.
    cluster.call("DELETE", "ClusterTrustBundle", name)
    theirs = {"apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle", "metadata": {"name": name},
              "spec": {"signerName": "example.com/service", "trustBundle": "-----BEGIN CERTIFICATE-----\ntheirs"}}
    assert cluster.call("PATCH", "ClusterTrustBundle", name, theirs, "?fieldManager=another", APPLY)["kind"] != "Status"
    assert agent.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: "another" in (injected(agent)[0]["error"] or ""), lambda: f"{injected(agent)}")
    assert "theirs" in text()
    configure(agent, {"kind": "ClusterTrustBundle", "name": "example.com:other:ca"})
    assert agent.request("POST", "/v1/reload")[0] == 200
    rule = 'a ClusterRole for the caller needs the rule {apiGroups: ["certificates.k8s.io"], resources: ["signers"], ' \
           'verbs: ["attest"], resourceNames: ["example.com/other"]}'
    eventually(lambda: rule in (injected(agent)[0]["error"] or ""), lambda: f"{injected(agent)}")


OWNER = "credfresh.io/ca-key-id"


def owner(cluster, kind, name):
    return cluster.get(kind, name)["metadata"].get("annotations", {}).get(OWNER)


def key_id(agent):
    return agent.request("GET", "/v1/credentials")[1]["service_ca"]["key_id"]


OWNED = [("ClusterTrustBundle", "example.com:service:ca"), ("APIService", "v1.x.example.com"),
         ("CustomResourceDefinition", "x.example.com"), ("ValidatingWebhookConfiguration", "x.example.com")]


def content(cluster, kind, name):
    if kind == "ClusterTrustBundle":
        return {cluster.get(kind, name)["spec"]["trustBundle"]}
    return set(cluster.bundles(kind, name))


@pytest.mark.parametrize("kind, name", OWNED, ids=[kind for kind, _ in OWNED])
def test_two_agents_with_stores_of_their_own(agent_factory, cluster, kind, name):
    """Whichever comes first keeps the object; the other one says what to do, and gets it when its mark was removed. A new CA of
    the same store is no other one."""
    agents = [configure(agent_factory(cluster.cloud, one), {"kind": kind, "name": name}) for one in ("one", "two")]
    if kind != "ClusterTrustBundle":
        cluster.make(kind, name)
    for one in agents:
        one.start()

    def results():
        return [injected(one)[0]["result"] for one in agents]

    def has_bundle_of(one):
        """Its file is published in its own time."""
        file = one.dir / "trust/ca.crt"
        eventually(lambda: file.exists() and content(cluster, kind, name) == {file.read_text()}, lambda: one.log)

    eventually(lambda: sorted(results()) == ["failed", "ok"], lambda: f"{results()} {[one.log for one in agents]}")
    first, second = agents if results()[0] == "ok" else agents[::-1]
    # At first perhaps only that the other one has written it meanwhile.
    eventually(lambda: OWNER in (injected(second)[0]["error"] or ""), lambda: f"{injected(second)}")
    has_bundle_of(first)
    assert owner(cluster, kind, name) == key_id(first)
    error = injected(second)[0]["error"]
    assert key_id(first) in error and key_id(second) in error and f"remove the annotation {OWNER}" in error
    # A reload, and the CA's rotation, change nothing about that.
    old = key_id(first)
    configure(first, {"kind": kind, "name": name}, force={"reason": "a new CA"})
    assert [one.request("POST", "/v1/reload")[0] for one in (second, first)] == [200, 200]
    eventually(lambda: owner(cluster, kind, name) == key_id(first) != old, first.log)
    has_bundle_of(first)
    # The first one's CA is no more.
    first.stop()
    eventually(lambda: injected(second)[0]["result"] == "failed", second.log)
    spec = {"spec": {"signerName": "example.com/service"}} if kind == "ClusterTrustBundle" else {}
    bare = cluster.call("PATCH", kind, name, {"metadata": {"annotations": {OWNER: None}}, **spec}, content=MERGE)
    assert bare["kind"] == kind, bare
    assert second.request("POST", "/v1/reload")[0] == 200
    eventually(lambda: owner(cluster, kind, name) == key_id(second), lambda: f"{injected(second)}\n{second.log}")
    has_bundle_of(second)
    done = first.run("once")
    assert done.returncode != 0 and OWNER in done.stderr, done.stderr


def test_an_object_of_an_earlier_version_is_marked(agent, cluster):
    """One that credfresh applied before it wrote marks."""
    name = "example.com:service:ca"
    old = {"apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle", "metadata": {"name": name},
           "spec": {"signerName": "example.com/service", "trustBundle": "-----BEGIN CERTIFICATE-----\nold"}}
    assert cluster.call("PATCH", "ClusterTrustBundle", name, old, "?fieldManager=credfresh", APPLY)["kind"] != "Status"
    done = configure(agent, {"kind": "ClusterTrustBundle", "name": name}).run("once")
    assert done.returncode == 0, done.stderr
    assert len(owner(cluster, "ClusterTrustBundle", name)) == 40


@pytest.mark.parametrize("entry, word", [
    ({"kind": "ClusterTrustBundle", "annotated": True}, "write its `name`"),
    ({"kind": "ClusterTrustBundle", "name": "example.com"}, "SIGNER:NAME"),
    ({"kind": "ClusterTrustBundle", "name": "example.com:a:b:c"}, "SIGNER:NAME"),
    ({"kind": "APIService"}, "either `name` or `annotated"),
    ({"kind": "APIService", "name": "x", "annotated": True}, "either `name` or `annotated"),
    ({"kind": "APIService", "name": "x/../y"}, "cannot be the name"),
    ({"kind": "Deployment", "name": "x"}, "APIService"),
    ({"kind": "APIService", "name": "x", "webhooks": ["a"]}, "webhooks"),
    ({"kind": "MutatingWebhookConfiguration", "annotated": True, "webhooks": ["a"]}, "webhooks"),
])
def test_the_configuration_is_checked(agent, entry, word):
    done = configure(agent, entry).run("check")
    assert done.returncode != 0 and word in done.stdout + done.stderr, done.stdout + done.stderr


def test_the_same_name_in_two_clusters(agent, cluster, tmp_path):
    """An entry for an object of one cluster says nothing about that of the same name in another."""
    kind, hook = "ValidatingWebhookConfiguration", "x.example.com"
    cluster.make(kind, hook, annotated=True)
    away = tmp_path / "another-cluster"
    away.write_text(open(agent.cloud.ready["kubeconfig"]).read().replace(agent.cloud.ready["kube_url"], "https://127.0.0.1:1"))
    configure(agent, {"kind": kind, "annotated": True}, {"kind": kind, "name": hook, "kubeconfig": str(away)}).start()
    agent.wait_state("fresh", "trust")
    eventually(lambda: injected(agent)[0]["result"] == "ok" and injected(agent)[1]["result"] == "failed",
               lambda: f"{injected(agent)}\n{agent.log}")
    assert cluster.bundles(kind, hook) == [bundle(agent)] * 2


def test_an_object_is_in_one_entry(agent):
    entry = {"kind": "MutatingWebhookConfiguration", "name": "x"}
    done = configure(agent, {**entry, "webhooks": ["a"]}, {**entry, "webhooks": ["b"]}).run("check")
    assert done.returncode != 0 and "about the same" in done.stdout + done.stderr


# ---- ConfigMaps, which are found by their annotation in all namespaces ----

def config_maps(cloud, rights=("get", "list", "patch")):
    """The ConfigMaps of two namespaces, and the right to write them."""
    rules = [{"user": "demo", "verb": "*", "resource": ["secrets", "configmaps"]}]
    cloud.admin("/kube/rbac", {"rules": rules})
    cloud.admin("/kube/object", {"kind": "ServiceAccount", "namespace": "apps", "name": "default"})
    return {space: Kube(cloud, space) for space in ("default", "apps")}


def make_map(kube, name, annotated=True, **fields):
    note = {"annotations": {"credfresh.io/inject-ca": "true"}} if annotated else {}
    made = kube.call("POST", "", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **note}, **fields},
                     kind="configmaps")
    assert made["kind"] == "ConfigMap", made


def data_of(kube, name):
    return kube.call("GET", name, kind="configmaps").get("data") or {}


def test_annotated_configmaps_of_all_namespaces_have_the_bundle(agent, cloud):
    maps = config_maps(cloud)
    for space, kube in maps.items():
        make_map(kube, "trust", data={"theirs": space})
        make_map(kube, "other", annotated=False, data={"theirs": "x"})
    configure(agent, {"kind": "ConfigMap", "annotated": True}).start()
    for space, kube in maps.items():
        eventually(lambda k=kube: data_of(k, "trust").get("service-ca.crt"), lambda: agent.log)
        eventually((agent.dir / "trust/ca.crt").exists, lambda: agent.log)
        assert data_of(kube, "trust") == {"theirs": space, "service-ca.crt": bundle(agent)}
        assert data_of(kube, "other") == {"theirs": "x"}


def test_one_namespace_does_not_use_up_the_others_configmaps(agent, cloud):
    maps = config_maps(cloud)
    for i in range(20):
        make_map(maps["apps"], f"many-{i:02}")
    make_map(maps["default"], "trust")
    configure(agent, {"kind": "ConfigMap", "annotated": True}).start()
    eventually(lambda: data_of(maps["default"], "trust").get("service-ca.crt"), lambda: agent.log)
    have = [i for i in range(20) if data_of(maps["apps"], f"many-{i:02}").get("service-ca.crt")]
    assert have == list(range(16))


def test_a_configmap_cannot_be_named(agent):
    checked = configure(agent, {"kind": "ConfigMap", "name": "trust"}).run("check")
    assert checked.returncode != 0 and "a ConfigMap is found by its annotation" in checked.stdout
