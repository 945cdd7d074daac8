# SPDX-License-Identifier: MIT
"""The manifests of container/kubernetes: kubectl builds them, a real API server takes them, credfresh takes the
configurations in them, and what belongs together in them agrees.

An API server before 1.29 knows no native sidecars: it is shown an ordinary container for them. The manifests are written for
kubectl 1.21 and later; an older one gets them in its own words (Kubernetes.kustomize).
"""
import copy
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

from conftest import CREDFRESH

KUBERNETES = pathlib.Path(__file__).resolve().parents[2] / "container/kubernetes"
# "injection" has no pod: test_kube_injection.py.
USES = sorted(d.name for d in KUBERNETES.iterdir() if d.name not in ("base", "injection"))
PLATFORMS = sorted((KUBERNETES.parents[1] / "docs/platforms").glob("*.md"))
# The only containers that run as root, and what they may do as root: they make files of the node.
ROOT = {("daemonset", "directories"): ["CHOWN"], ("kubelet", "setup"): []}


@pytest.fixture(scope="module")
def manifests(kubernetes):
    """use -> its objects."""
    return {use: kubernetes.kustomize(KUBERNETES, use) for use in USES}


def pod_of(objects):
    return next(o["spec"]["template"]["spec"] for o in objects if o["kind"] in ("Deployment", "Job", "DaemonSet"))


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


def configurations(objects):
    return [o["data"]["credfresh.yaml"] for o in objects if o["kind"] == "ConfigMap"]


def for_server(kubernetes, objects):
    objects = copy.deepcopy(objects)
    if kubernetes.version >= (1, 29):
        return objects
    pod = pod_of(objects)
    for c in [c for c in pod.get("initContainers", []) if c.pop("restartPolicy", None) == "Always"]:
        pod["initContainers"].remove(c)
        pod["containers"].insert(0, c)
    return objects


def test_there_is_one_for_each_use():
    assert USES == ["daemonset", "job", "job-exec", "kubelet", "native-sidecar", "pod-certificates", "service-ca", "sidecar"]


@pytest.mark.parametrize("use", USES)
def test_the_api_server_takes_them(kubernetes, manifests, use):
    by_namespace = {}
    for o in for_server(kubernetes, manifests[use]):
        if o["kind"] == "Namespace":  # the others are looked at in it
            kubernetes.kubectl("apply", "-f", "-", text=yaml.safe_dump(o))
        by_namespace.setdefault(o["metadata"].get("namespace", "default"), []).append(o)
    for namespace, objects in by_namespace.items():
        kubernetes.kubectl("apply", "-f", "-", text=yaml.safe_dump(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
        said = kubernetes.kubectl("apply", "--dry-run=server", "-f", "-", text=yaml.safe_dump_all(objects), namespace=namespace)
        assert len(said.splitlines()) == len(objects) and said.count("(server dry run)") == len(objects), said


def comparable(objects):
    """Without what differs between versions: the order, empty metadata, and the hash at the end of a ConfigMap's name."""
    texts = []
    for o in objects:
        o = {**o, "metadata": {key: value for key, value in o["metadata"].items() if value}}
        texts.append(re.sub(r"\b(credfresh[a-z-]*)-[a-z0-9]{10}\b", r"\1-HASH", yaml.safe_dump(o)))
    return sorted(texts)


@pytest.mark.parametrize("use", USES)
def test_a_newer_kubectl_builds_the_same_and_warns_of_nothing(manifests, use):
    kubectl = shutil.which("kubectl")
    said = kubectl and subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, timeout=60).stdout
    version = re.search(r"v(\d+)\.(\d+)", said or "")
    if version is None or tuple(map(int, version.groups())) < (1, 27):  # which begins to warn
        pytest.skip("no kubectl of 1.27 or newer")
    done = subprocess.run([kubectl, "kustomize", str(KUBERNETES / use)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
    assert comparable(yaml.safe_load_all(done.stdout)) == comparable(manifests[use])


def test_native_sidecars_start_before_the_application(manifests):
    sidecar, = pod_of(manifests["native-sidecar"])["initContainers"]
    assert sidecar["restartPolicy"] == "Always"
    assert sidecar["startupProbe"]["exec"]["command"][:2] == ["/credfresh", "wait"]


@pytest.mark.parametrize("use", USES)
def test_credfresh_takes_the_configuration(manifests, use, tmp_path):
    found = configurations(manifests[use])
    assert found
    for text in found:
        path = tmp_path / "credfresh.yaml"
        path.write_text(text)
        done = subprocess.run([CREDFRESH, "check", "-c", path], capture_output=True, text=True, env={}, timeout=30)
        assert done.returncode in (0, 1) and not done.stderr, done.stderr
        wrong = [line for line in done.stdout.splitlines() if line.startswith("ERROR") and "this is not a pod" not in line]
        assert not wrong, wrong


@pytest.mark.parametrize("use", USES)
def test_containers_may_as_little_as_possible(manifests, use):
    pod = pod_of(manifests[use])
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for c in containers(pod):
        security = c["securityContext"]
        assert security["allowPrivilegeEscalation"] is False and security["readOnlyRootFilesystem"] is True, c["name"]
        assert security["capabilities"]["drop"] == ["ALL"] and "privileged" not in security, c["name"]
        assert security["capabilities"].get("add", []) == ROOT.get((use, c["name"]), []), c["name"]
        assert (security["runAsUser"] == 0) == ((use, c["name"]) in ROOT), c["name"]
        non_root = security.get("runAsNonRoot", pod["securityContext"].get("runAsNonRoot"))
        assert non_root or (use, c["name"]) in ROOT, c["name"]
        if "/credfresh" in c["image"]:
            assert c["resources"]["limits"]["memory"] == "32Mi" and c["resources"]["requests"], c["name"]
        named = {v["name"] for v in pod["volumes"]}
        assert {m["name"] for m in c["volumeMounts"]} <= named, c["name"]


def blocks(page, first):
    return [b for b in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S) if b.startswith(first)]


def shop(kubernetes, directory, page, configuration, way=0):
    """The objects of the directory `shop` that PAGE shows, with this CONFIGURATION and the WAYth patch of the application."""
    shutil.copytree(KUBERNETES, directory / "container/kubernetes")
    (directory / "shop").mkdir()
    (directory / "shop/kustomization.yaml").write_text(blocks(page, "# shop/kustomization.yaml\n")[0])
    (directory / "shop/credfresh.yaml").write_text(configuration)
    for name in ("app.yaml", "web.yaml"):
        for text in blocks(page, f"# shop/{name}\n")[way:way + 1]:
            (directory / "shop" / name).write_text(text)
    return kubernetes.kustomize(directory, "shop")


def dry_run(kubernetes, objects, namespace):
    kubernetes.kubectl("create", "namespace", namespace)
    objects = for_server(kubernetes, objects)
    for o in objects:
        o["metadata"]["namespace"] = namespace
    said = kubernetes.kubectl("apply", "--dry-run=server", "-f", "-", text=yaml.safe_dump_all(objects), namespace=namespace)
    assert said.count("(server dry run)") == len(objects), said


@pytest.mark.parametrize("page, replicas", [("kubernetes", 3), ("getting-started", None)])
def test_the_pages_own_kustomization_builds(kubernetes, tmp_path, page, replicas):
    base = (KUBERNETES / "base/credfresh.yaml").read_text()
    path = KUBERNETES.parents[1] / f"docs/{page}.md"
    assert "\ncp container/kubernetes/base/credfresh.yaml shop/" in path.read_text()
    objects = shop(kubernetes, tmp_path, path, base)
    assert configurations(objects) == [base]
    assert {c["image"] for c in containers(pod_of(objects))} == {
        "registry.shop.example/credfresh:0.1.0", "registry.shop.example/web:2.4"}
    deployment = next(o for o in objects if o["kind"] == "Deployment")
    config = next(o for o in objects if o["kind"] == "ConfigMap")["metadata"]["name"]
    assert {"name": "configuration", "configMap": {"name": config}} in pod_of(objects)["volumes"]
    assert (deployment["spec"].get("replicas"), deployment["metadata"]["namespace"]) == (replicas, "shop")
    dry_run(kubernetes, objects, f"shop-{page}")


@pytest.mark.parametrize("page, way", [pytest.param(p, way, id=f"{p.stem}-{way}")
                                       for p in PLATFORMS for way in range(len(blocks(p, "# shop/app.yaml\n")))])
def test_a_platforms_kustomization_builds(kubernetes, tmp_path, page, way):
    """What the pages add to native-sidecar, each way with its own configuration."""
    configuration = blocks(page, "version: 1\n")[way]
    objects = shop(kubernetes, tmp_path, page, configuration, way)
    pod = pod_of(objects)
    # Patched, not doubled: one token, or none where a stored secret logs in; and variables of the one cloud only.
    tokens = [s for v in pod["volumes"] for s in v.get("projected", {}).get("sources", [])]
    assert len(tokens) == (0 if "application_credential_secret_file" in configuration else 1)
    env = {e["name"].partition("_")[0] for c in pod["containers"] for e in c.get("env", [])}
    assert len(env) == 1, env
    dry_run(kubernetes, objects, f"shop-{page.stem}-{way}")


def credentials(use, objects):
    return [c for text in configurations(objects) for c in yaml.safe_load(text).get("credentials", [])]


@pytest.mark.parametrize("use", [u for u in USES if u not in ("kubelet", "service-ca", "pod-certificates")])
def test_volumes_and_configuration_agree(manifests, use):
    pod = pod_of(manifests[use])
    groups = {pod["securityContext"].get("fsGroup"), *pod["securityContext"].get("supplementalGroups", [])}
    mounts = {m["mountPath"]: (m["name"], m.get("readOnly", False)) for c in containers(pod) for m in c["volumeMounts"]
              if any(m["mountPath"] == "/etc/credfresh" for m in c["volumeMounts"])}
    volumes = {v["name"]: v for v in pod["volumes"]}
    for c in credentials(use, manifests[use]):
        if "file" in c["token"]:
            directory, _, name = c["token"]["file"].rpartition("/")
            source, = volumes[mounts[directory][0]]["projected"]["sources"]
            assert source["serviceAccountToken"] == {"path": name, "audience": c["token"]["audience"],
                                                     "expirationSeconds": 3600}
        volume, read_only = mounts[c["publish"]["directory"].rpartition("/")[0]]
        assert not read_only
        assert volumes[volume].get("emptyDir", {}).get("medium") == "Memory" or use == "daemonset"
        assert {(f["mode"], int(f["group"]) in groups) for f in c["publish"]["files"]} == {("0640", True)}


def test_the_node_agent_may_ask_for_one_account_only(kubernetes, manifests):
    objects = manifests["daemonset"]
    kubernetes.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(
        [o for o in objects if o["kind"] not in ("DaemonSet", "ConfigMap")]), namespace="credfresh")

    def may(verb, what, *more):
        done = subprocess.run([kubernetes.bin / "kubectl", "--kubeconfig", kubernetes.admin, "-n", "credfresh", "auth",
                               "can-i", verb, what, "--as=system:serviceaccount:credfresh:credfresh-node", *more],
                              capture_output=True, text=True, timeout=60)
        return {"yes": True, "no": False}[done.stdout.strip().split(" ")[0]]

    wanted = [c["token"]["request"]["service_account"] for c in credentials("daemonset", objects) if "request" in c["token"]]
    assert wanted == ["backup"]
    assert may("create", "serviceaccounts/backup", "--subresource=token")
    assert not may("create", "serviceaccounts/credfresh-node", "--subresource=token")
    assert not may("create", "serviceaccounts/backup", "--subresource=token", "--namespace=default")
    assert not may("get", "secrets") and not may("list", "pods")


def test_the_kubelet_asks_for_what_credfresh_answers(manifests):
    objects = manifests["kubelet"]
    data = next(o["data"] for o in objects if o["kind"] == "ConfigMap")
    kubelet = yaml.safe_load(data["credential-provider.yaml"])
    assert (kubelet["apiVersion"], kubelet["kind"]) == ("kubelet.config.k8s.io/v1", "CredentialProviderConfig")
    provider, = kubelet["providers"]
    login, = yaml.safe_load(data["credfresh.yaml"])["image_credentials"]
    attributes = provider["tokenAttributes"]
    assert provider["matchImages"] == login["match"]
    assert attributes["cacheType"] == "ServiceAccount"  # one exchange for all pods of an account
    assert attributes["serviceAccountTokenAudience"] == login["audience"]
    assert attributes["requiredServiceAccountAnnotationKeys"] == list(login["annotations"].values())
    rule, = next(o for o in objects if o["kind"] == "ClusterRole")["rules"]
    assert rule["resources"] == [login["audience"]]
    # The DaemonSet puts the program where its name is the provider's, and the flags in the kustomization name its places.
    pod = pod_of(objects)
    args = pod["containers"][0]["args"]
    placed = dict(zip(args[1::2], args[2::2]))
    flags = dict(line.split("--")[1].split("=") for line in (KUBERNETES / "kubelet/kustomization.yaml").read_text()
                 .splitlines() if line.startswith("#   --"))
    assert placed["/credfresh"] == f"{flags['image-credential-provider-bin-dir']}/{provider['name']}"
    assert placed["/configuration/credential-provider.yaml"] == flags["image-credential-provider-config"]
    assert placed["/configuration/credfresh.yaml"] == "/etc/credfresh/credfresh.yaml"
    hosts = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v}
    for mount in pod["containers"][0]["volumeMounts"]:
        assert hosts.get(mount["name"], mount["mountPath"]) == mount["mountPath"]
