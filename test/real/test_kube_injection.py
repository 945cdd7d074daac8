# SPDX-License-Identifier: MIT
"""The policy of container/kubernetes/injection in a real API server: which pods get the sidecar, and what they then have."""
import json
import pathlib
import re
import subprocess

import pytest
import yaml

from conftest import eventually

KUBERNETES = pathlib.Path(__file__).resolve().parents[2] / "container/kubernetes"
LABEL = {"credfresh.io/inject": "true"}


@pytest.fixture(scope="module")
def injection(kubernetes):
    if kubernetes.version < (1, 36):
        pytest.skip("mutating admission policies are in the API since 1.36")
    objects = kubernetes.kustomize(KUBERNETES, "injection")
    for kind in ("Namespace", None):  # the others are in it
        chosen = [o for o in objects if (o["kind"] == "Namespace") == (kind is not None)]
        kubernetes.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(chosen), namespace="credfresh-injection")
    kubernetes.kubectl("create", "namespace", "injected")

    def active():
        return "initContainers" in create(kubernetes, pod("probe"))["spec"]

    eventually(active, "the policy", 30, 0.2)  # API servers learn of a policy by a watch
    return kubernetes


def pod(name, labels=LABEL, annotations=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": labels, "annotations": annotations or {}},
            "spec": {"serviceAccountName": "app", "containers": [{"name": "app", "image": "app:1"}], **spec}}


def create(kubernetes, manifest, namespace="injected"):
    """What the API server would make of MANIFEST."""
    return json.loads(kubernetes.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-",
                                         text=yaml.safe_dump(manifest), namespace=namespace))


def test_a_labelled_pod_gets_the_native_sidecar(injection):
    native = next(o for o in injection.kustomize(KUBERNETES, "native-sidecar") if o["kind"] == "Deployment")
    template = native["spec"]["template"]
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "native"}, "spec": template["spec"]}
    wanted = create(injection, template)["spec"]
    made = create(injection, pod("web"))["spec"]
    for container in (wanted["initContainers"][0], made["initContainers"][0]):
        container["volumeMounts"] = [{**m, "name": m["name"].removeprefix("credfresh-")} for m in container["volumeMounts"]]
        container["securityContext"] = {key: value for key, value in container["securityContext"].items()
                                        if key not in ("runAsNonRoot", "seccompProfile")}
    assert made["initContainers"][0] == wanted["initContainers"][0]
    volumes = {v["name"].removeprefix("credfresh-"): {k: x for k, x in v.items() if k != "name"} for v in made["volumes"]}
    expected = {v["name"]: {k: x for k, x in v.items() if k != "name"} for v in wanted["volumes"]}
    expected["configuration"]["configMap"]["name"] = "credfresh"  # kustomize adds a hash
    assert volumes == expected
    assert made["securityContext"]["fsGroup"] == 2000
    app, = made["containers"]
    assert {"name": "credentials", "mountPath": "/run/credentials", "readOnly": True} in app["volumeMounts"]


def test_a_pods_own_parts_stay(injection):
    own = pod("own", annotations={"credfresh.io/configuration": "mine", "credfresh.io/audience": "api://AzureADTokenExchange"},
              initContainers=[{"name": "first", "image": "first:1"}], volumes=[{"name": "data", "emptyDir": {}}],
              securityContext={"fsGroup": 3000, "runAsUser": 1000},
              containers=[{"name": "a", "image": "a:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
                          {"name": "b", "image": "b:1"}])
    made = create(injection, own)["spec"]
    assert [c["name"] for c in made["initContainers"]] == ["credfresh", "first"]
    assert made["securityContext"] == {"fsGroup": 3000, "runAsUser": 1000}
    assert [[m["mountPath"] for m in c["volumeMounts"]] for c in made["containers"]] == [["/data", "/run/credentials"],
                                                                                          ["/run/credentials"]]
    volumes = {v["name"]: v for v in made["volumes"]}
    assert volumes["credfresh-configuration"]["configMap"]["name"] == "mine"
    source, = volumes["credfresh-token"]["projected"]["sources"]
    assert source["serviceAccountToken"]["audience"] == "api://AzureADTokenExchange"
    # Once more, as when another policy or webhook has changed the pod since: nothing is added twice.
    again = create(injection, {**own, "metadata": {"name": "again", "labels": LABEL}, "spec": made})["spec"]
    assert [len(again[key]) for key in ("initContainers", "volumes")] == [2, len(made["volumes"])]
    assert [len(c["volumeMounts"]) for c in again["containers"]] == [2, 1]


def test_the_pages_own_deployment_is_injected(injection):
    page = (KUBERNETES.parents[1] / "docs/kubernetes.md").read_text().partition("\n## injection\n")[2]
    deployment = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.S)[1])
    assert json.loads(injection.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", text=yaml.safe_dump(deployment)))
    template = deployment["spec"]["template"]
    made = create(injection, {"apiVersion": "v1", "kind": "Pod", **template,
                              "metadata": {**template["metadata"], "name": "web-1"}})["spec"]
    assert made["initContainers"][0]["name"] == "credfresh"
    configuration, = [v["configMap"]["name"] for v in made["volumes"] if "configMap" in v]
    assert configuration == template["metadata"]["annotations"]["credfresh.io/configuration"]


def test_other_pods_stay_as_they_are(injection):
    for labels in ({}, {"credfresh.io/inject": "false"}):
        assert "initContainers" not in create(injection, pod("plain", labels))["spec"]
    assert "initContainers" not in create(injection, pod("system"), "kube-system")["spec"]


def test_an_injected_pod_meets_the_restricted_standard(injection):
    injection.kubectl("create", "namespace", "strict")
    injection.kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
    restricted = {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
                  "seccompProfile": {"type": "RuntimeDefault"}}
    made = create(injection, pod("strict", containers=[{"name": "app", "image": "app:1", "securityContext": restricted}]),
                  "strict")
    assert made["spec"]["initContainers"][0]["name"] == "credfresh"


def test_a_labelled_pod_is_refused_without_settings(injection):
    """Not started without its credentials."""
    settings = injection.kubectl("get", "configmap", "settings", "-o", "json", namespace="credfresh-injection")
    injection.kubectl("delete", "configmap", "settings", namespace="credfresh-injection")
    try:
        def refused():
            done = subprocess.run([injection.bin / "kubectl", "--kubeconfig", injection.admin, "-n", "injected", "create",
                                   "--dry-run=server", "-f", "-"], input=yaml.safe_dump(pod("late")), capture_output=True,
                                  text=True, timeout=60)
            return done.returncode != 0 and "credfresh-sidecar" in done.stderr
        eventually(refused, "the refusal", 30, 0.2)
    finally:
        kept = json.loads(settings)
        kept["metadata"] = {key: kept["metadata"][key] for key in ("name", "namespace")}
        injection.kubectl("apply", "-f", "-", text=yaml.safe_dump(kept), namespace="credfresh-injection")
        eventually(lambda: "initContainers" in create(injection, pod("probe"))["spec"], "the settings", 30, 0.2)
