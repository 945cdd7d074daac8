# SPDX-License-Identifier: MIT
"""The Helm chart of container/helm: helm renders it, a real API server accepts it, and its agent is that of the manifests."""
import os
import pathlib
import re
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


def dry_run(kubernetes, objects):
    """Strict: an unknown field is an error."""
    by_namespace = {}
    for o in objects:
        cluster = o["kind"].startswith("Cluster")
        by_namespace.setdefault("default" if cluster else o["metadata"].setdefault("namespace", "credfresh"), []).append(o)
    for namespace, some in by_namespace.items():
        kubernetes.kubectl("apply", "-f", "-", text=yaml.safe_dump({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}))
        said = kubernetes.kubectl("apply", "--dry-run=server", "--validate=true", "-f", "-", text=yaml.safe_dump_all(some),
                                  namespace=namespace)
        assert said.count("(server dry run)") == len(some), said


def agent_of(objects):
    return next(o for o in objects if o["kind"] in ("Deployment", "DaemonSet"))


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_lint(values):
    done = helm("lint", "--strict", CHART, "-f", values)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_the_api_server_accepts_it(kubernetes, values):
    dry_run(kubernetes, render(values))


# ---- the examples ----

EXAMPLES = [path for path in sorted((REPO / "examples").glob("*.yaml")) if "docs/systemd.md" not in path.read_text()]
# Those with rights in the cluster, and the manifests that name them.
RIGHTS = {**{path.stem: path for path in (REPO / "examples/rbac").iterdir()},
          **{use: REPO / f"container/kubernetes/{use}/rbac.yaml" for use in ("service-ca", "pod-certificates")}}


def strings(value):
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(part)
    if isinstance(value, str):
        yield value


def rights(objects):
    """Each right that OBJECTS give: (namespace, API group, resource, names, verb)."""
    return {(o["metadata"].get("namespace") if o["kind"] == "Role" else None, group, resource,
             tuple(rule.get("resourceNames", ())), verb)
            for o in objects if o["kind"] in ("Role", "ClusterRole") for rule in o["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def test_examples_are_found():
    assert len(EXAMPLES) >= 16 and {path.stem for path in EXAMPLES} >= set(RIGHTS)


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_installs(kubernetes, tmp_path, example, kind):
    """With no other value than its mounted Secrets: each path of the configuration is in a volume, each token is projected, and
    the account has the rights of the example's manifest and no others."""
    config = yaml.safe_load(example.read_text())
    paths = {s for s in strings(config) if re.match(r"/\w", s)}
    secrets = sorted({s.split("/")[4] for s in paths if s.startswith("/var/run/secrets/")} - {"credfresh"})
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"kind": kind, "secrets": secrets}))
    alone = "service_ca" in config or any("mint" in c and "state" not in c["mint"] for c in config["credentials"])
    if kind == "DaemonSet" and alone:
        done = helm("template", CHART, "-f", values, "--set-file", f"config={example}")
        assert done.returncode != 0 and "needs the kind Deployment" in done.stderr
        return
    objects = render(values, "--set-file", f"config={example}")
    dry_run(kubernetes, objects)
    pod = agent_of(objects)["spec"]["template"]["spec"]
    volumes = {v["name"]: v for v in pod["volumes"]}
    mounts = {m["mountPath"]: m for m in pod["containers"][0]["volumeMounts"]}
    found = {path: mount for path in paths for at, mount in mounts.items() if f"{path}/".startswith(f"{at}/")}
    assert set(found) == paths
    for path, mount in found.items():
        assert mount.get("readOnly", False) == path.startswith("/var/run/secrets/"), path
    tokens = {c["token"]["file"]: c["token"]["audience"] for c in config["credentials"] if "file" in c.get("token", {})}
    sources = volumes["token"]["projected"]["sources"] if tokens else []
    assert {f"/var/run/secrets/credfresh/{s['serviceAccountToken']['path']}": s["serviceAccountToken"]["audience"]
            for s in sources} == tokens
    assert {v["secret"]["secretName"] for v in volumes.values() if "secret" in v} == set(secrets)
    survives = any(path.startswith("/var/lib/credfresh") for path in paths)
    claims = [o["metadata"]["name"] for o in objects if o["kind"] == "PersistentVolumeClaim"]
    if kind == "Deployment":
        assert [volumes["state"].get("persistentVolumeClaim", {}).get("claimName")] == (claims or [None])
        assert bool(claims) == survives and agent_of(objects)["spec"]["strategy"] == {"type": "Recreate"}
        assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    else:
        assert not claims and volumes["state"]["hostPath"]["path"] == ("/var/lib/credfresh" if survives else "/run/credfresh")
    manifest = list(yaml.safe_load_all(RIGHTS[example.stem].read_text())) if example.stem in RIGHTS else []
    assert rights(objects) == rights(manifest)
    assert pod["automountServiceAccountToken"] is bool(manifest)


def test_the_daemonset_is_that_of_the_manifests(kubernetes):
    manifest = next(o for o in kubernetes.kustomize(REPO / "container/kubernetes", "daemonset") if o["kind"] == "DaemonSet")
    wanted = manifest["spec"]["template"]["spec"]
    made = agent_of(render(CHART / "ci/daemonset-values.yaml"))["spec"]["template"]["spec"]
    for container in made["initContainers"] + made["containers"]:
        assert container.pop("imagePullPolicy") == "IfNotPresent"
    for pod in (wanted, made):
        next(v for v in pod["volumes"] if v["name"] == "configuration")["configMap"]["name"] = "credfresh"
    assert made == wanted


CREDENTIAL = {"name": "web", "token": {"file": "/var/run/secrets/credfresh/token", "audience": "a"}}
SECRET = {"secret": {"namespace": "shop", "name": "login"}}


def applied(resource, name):
    return ("shop", "", resource, (name,)), ("get", "patch", "create", "list", "watch")


@pytest.mark.parametrize("over, name, expected", [
    ({"token": {"request": {"namespace": "shop", "service_account": "web"}}}, "token-web",
     [(("shop", "", "serviceaccounts/token", ("web",)), ("create",))]),
    ({"publish": SECRET}, "secret-login", [applied("secrets", "login")]),
    ({"publish": [{"directory": "/run/credentials/web"}, {"configmap": {"namespace": "shop", "name": "ca"}}]}, "configmap-ca",
     [applied("configmaps", "ca")]),
    ({"publish": {"secret": {**SECRET["secret"], "events": True}}}, "secret-login",
     [applied("secrets", "login"), (("shop", "events.k8s.io", "events", ()), ("create",))]),
    ({"mint": {"state": {"namespace": "shop", "secret": "mint"}}}, "shared-rotation-mint",
     [(("shop", "", "secrets", ("mint",)), ("get", "list", "watch", "patch"))]),
    *(({"reload": [{"rollout": {"kind": kind, "namespace": "shop", "name": "web"}}]}, f"rollout-{kind.lower()}-web",
       [(("shop", "apps", kind.lower() + "s", ("web",)), ("get", "patch"))]) for kind in ("Deployment", "StatefulSet", "DaemonSet")),
    ({"publish": {"secret": {**SECRET["secret"], "kubeconfig": "/etc/other"}}}, None, []),
])
def test_each_right(tmp_path, over, name, expected):
    values = tmp_path / "values.yaml"
    # Twice: one Role for both.
    config = {"version": 1, "credentials": [{**CREDENTIAL, **over}, {**CREDENTIAL, **over}]}
    values.write_text(yaml.safe_dump({"config": yaml.safe_dump(config)}))
    objects = render(values)
    roles = [o for o in objects if o["kind"] == "Role"]
    assert not name or roles[0]["metadata"]["name"] == f"credfresh-{name}"
    assert len(roles) == len(expected)
    assert rights(objects) == {(*what, verb) for what, verbs in expected for verb in verbs}
    for role, binding in zip(roles, [o for o in objects if o["kind"] == "RoleBinding"]):
        assert binding["roleRef"]["name"] == role["metadata"]["name"] and binding["metadata"]["namespace"] == "shop"
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "credfresh", "namespace": "credfresh"}]
    assert agent_of(objects)["spec"]["template"]["spec"]["automountServiceAccountToken"] is bool(expected)
    assert not rights(render(values, "--set", "rbac.create=false"))


def test_a_default_hook_counts_unless_a_credential_has_its_own(tmp_path):
    hook = {"rollout": {"kind": "Deployment", "namespace": "shop", "name": "web"}}
    values = tmp_path / "values.yaml"
    for own, roles in (({}, 1), ({"reload": []}, 0)):
        config = {"version": 1, "defaults": {"reload": [hook]}, "credentials": [{**CREDENTIAL, **own}]}
        values.write_text(yaml.safe_dump({"config": yaml.safe_dump(config)}))
        assert len([o for o in render(values) if o["kind"] == "Role"]) == roles


def test_a_changed_configuration_replaces_the_pods(tmp_path):
    def checksum(*more):
        template = agent_of(render(CHART / "ci/deployment-values.yaml", *more))["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/configuration"]
    config = tmp_path / "credfresh.yaml"
    config.write_text("version: 1\n")
    assert checksum() == checksum() != checksum("--set-file", f"config={config}")


@pytest.mark.parametrize("wrong, said", [
    (["--set", "config="], "config is empty: give the configuration with --set-file config=credfresh.yaml"),
    (["--set", "config=a: b: c"], "config is not valid YAML"),
    (["--set", "config=state_dir: /srv/credfresh"], "/srv/credfresh is on no volume"),
    (["--set", "config=state_dir: /run/credfreshly"], "/run/credfreshly is on no volume"),
    (["--set", "config=service_ca: {store: /var/lib/credfresh/ca}"], "not on the volume of state_dir: put it in /run/credfresh"),
    (["--set", "kind=StatefulSet"], "kind"),
    (["--set", "imag.tag=1"], "imag"),
    (["--set", "securityContext.runAsUser=0"], "runAsUser"),
    (["--set", "rbac.secrets[0].name=x"], "secrets"),
    (["--set", "tokenExpirationSeconds=60"], "tokenExpirationSeconds"),
])
def test_mistakes_are_refused(wrong, said):
    done = helm("template", "credfresh", CHART, "-f", CHART / "ci/deployment-values.yaml", *wrong)
    assert done.returncode != 0 and said in done.stderr, done.stderr


def test_a_token_without_an_audience_is_refused(tmp_path):
    config = tmp_path / "credfresh.yaml"
    config.write_text("credentials: [{name: app, token: {file: /var/run/secrets/credfresh/token}}]")
    done = helm("template", "credfresh", CHART, "--set-file", f"config={config}")
    assert done.returncode != 0 and "credential app: write the audience" in done.stderr, done.stderr
