# SPDX-License-Identifier: MIT
"""The Helm chart of container/helm: helm renders it, a real API server accepts it, and its agent is that of the manifests."""
import os
import pathlib
import shutil
import subprocess

import pytest
import yaml

REPO = pathlib.Path(__file__).resolve().parents[2]
CHART = REPO / "container/helm/credfresh"
VALUES = sorted((CHART / "ci").iterdir())
HELM = shutil.which("helm", path=os.pathsep.join([os.environ["CFR_KUBE"], os.environ["PATH"]]))

pytestmark = pytest.mark.skipif(HELM is None, reason="there is no helm; CFR_REAL=1 builds it where there is a Go")


def helm(*argv):
    return subprocess.run([HELM, *[str(a) for a in argv]], capture_output=True, text=True, timeout=60)


def render(values, *more):
    done = helm("template", "credfresh", CHART, "--namespace", "credfresh", "-f", values, *more)
    assert done.returncode == 0, done.stderr
    return [o for o in yaml.safe_load_all(done.stdout) if o]


def agent_of(objects):
    return next(o for o in objects if o["kind"] in ("Deployment", "DaemonSet"))


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_lint(values):
    done = helm("lint", "--strict", CHART, "-f", values)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_the_api_server_accepts_it(kubernetes, values):
    for name in ("credfresh", "shop"):
        kubernetes.kubectl("apply", "-f", "-", text=yaml.safe_dump({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": name, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}))
    objects = render(values)
    for o in objects:
        o["metadata"].setdefault("namespace", "credfresh")
        # Strict: an unknown field is an error.
        said = kubernetes.kubectl("apply", "--dry-run=server", "--validate=true", "-f", "-", text=yaml.safe_dump(o),
                                  namespace=o["metadata"]["namespace"])
        assert "(server dry run)" in said


def test_the_daemonset_is_that_of_the_manifests(kubernetes):
    manifest = next(o for o in kubernetes.kustomize(REPO / "container/kubernetes", "daemonset") if o["kind"] == "DaemonSet")
    wanted = manifest["spec"]["template"]["spec"]
    made = agent_of(render(CHART / "ci/daemonset-values.yaml"))["spec"]["template"]["spec"]
    for container in made["initContainers"] + made["containers"]:
        assert container.pop("imagePullPolicy") == "IfNotPresent"
    for pod in (wanted, made):
        next(v for v in pod["volumes"] if v["name"] == "configuration")["configMap"]["name"] = "credfresh"
    assert made == wanted


def test_rights_are_named_one_by_one():
    objects = render(CHART / "ci/deployment-values.yaml")
    role, = [o for o in objects if o["kind"] == "Role"]
    assert role["metadata"]["namespace"] == "shop"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["registry-login"],
                              "verbs": ["get", "patch", "create", "list", "watch"]}]
    # Without any the agent has no token for the API server.
    none = ["--set", "rbac.secrets=null"]
    for rbac, mounted in (([], True), (none, False), *((none + ["--set", one], True) for one in (
            "rbac.tokens[0].name=x", "rbac.configmaps[0].name=x", "rbac.sharedRotations[0].name=x", "rbac.events[0].namespace=x",
            "rbac.rollouts[0].name=x,rbac.rollouts[0].kind=Deployment"))):
        assert agent_of(render(CHART / "ci/deployment-values.yaml", *rbac))["spec"]["template"]["spec"][
            "automountServiceAccountToken"] is mounted


@pytest.mark.parametrize("value, names, rule", [
    ({"tokens": [{"namespace": "shop", "name": "web"}]}, ["credfresh-token-web"],
     {"apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": ["web"], "verbs": ["create"]}),
    ({"configmaps": [{"namespace": "shop", "name": "ca"}]}, ["credfresh-configmap-ca"],
     {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["ca"],
      "verbs": ["get", "patch", "create", "list", "watch"]}),
    ({"sharedRotations": [{"namespace": "shop", "name": "mint"}]}, ["credfresh-shared-rotation-mint"],
     {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mint"], "verbs": ["get", "list", "watch", "patch"]}),
    *(({"rollouts": [{"kind": kind, "namespace": "shop", "name": "web"}]}, [f"credfresh-rollout-{kind.lower()}-web"],
       {"apiGroups": ["apps"], "resources": [kind.lower() + "s"], "resourceNames": ["web"], "verbs": ["get", "patch"]})
      for kind in ("Deployment", "StatefulSet", "DaemonSet")),
    ({"events": [{"namespace": "shop"}]}, ["credfresh-events"],
     {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) and len(value) == 1 else "")
def test_each_right(tmp_path, value, names, rule):
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"config": "version: 1\n", "rbac": value}))
    objects = render(values)
    roles = [o for o in objects if o["kind"] == "Role"]
    assert [(o["metadata"]["name"], o["metadata"]["namespace"]) for o in roles] == [(name, "shop") for name in names]
    assert [o["rules"] for o in roles] == [[rule]]
    binding, = [o for o in objects if o["kind"] == "RoleBinding"]
    assert binding["roleRef"]["name"] == names[0] and binding["metadata"]["namespace"] == "shop"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "credfresh", "namespace": "credfresh"}]


def test_nothing_is_allowed_by_default(tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text("config: |\n  version: 1\n")
    objects = render(values)
    assert not [o for o in objects if o["kind"].startswith("Role")]
    assert not agent_of(objects)["spec"]["template"]["spec"]["automountServiceAccountToken"]


def test_a_changed_configuration_replaces_the_pods(tmp_path):
    def checksum(*more):
        template = agent_of(render(CHART / "ci/deployment-values.yaml", *more))["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/configuration"]
    config = tmp_path / "credfresh.yaml"
    config.write_text("version: 1\n")
    assert checksum() == checksum() != checksum("--set-file", f"config={config}")


@pytest.mark.parametrize("wrong, said", [
    (["--set", "config="], "config is empty: give the configuration with --set-file config=credfresh.yaml"),
    (["--set", "kind=StatefulSet"], "kind"),
    (["--set", "imag.tag=1"], "imag"),
    (["--set", "securityContext.runAsUser=0"], "runAsUser"),
    (["--set", "rbac.secrets[0].nam=x"], "nam"),
    (["--set", "rbac.configmaps[0].namespace=x"], "name"),
    (["--set", "rbac.sharedRotations[0].namespace=x"], "name"),
    (["--set", "rbac.rollouts[0].name=x"], "kind"),
    (["--set", "rbac.rollouts[0].name=x,rbac.rollouts[0].kind=Job"], "kind"),
    (["--set", "rbac.events[0].name=x"], "name"),
])
def test_mistakes_are_refused(wrong, said):
    done = helm("template", "credfresh", CHART, "-f", CHART / "ci/deployment-values.yaml", *wrong)
    assert done.returncode != 0 and said in done.stderr, done.stderr
