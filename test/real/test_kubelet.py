# SPDX-License-Identifier: MIT
"""The pod of container/kubernetes/sidecar on a real kubelet: its projected token, its volumes and its users are the
kubelet's, credfresh is its sidecar, and the application is a witness with another uid, which reports whatever it was given
to read.

A token lives ten minutes at least, and the kubelet renews it once 80 % of that have passed: most of the time is spent
waiting for this. No clock can be turned for it: programs in Go ask the kernel itself, and it has but one time of day.
"""
import base64
import ctypes
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tarfile
import urllib.request

import pytest
import yaml

from conftest import CREDFRESH, ISSUER, WITNESS, Kubernetes, LocalCloud, Space, eventually, read_text

HERE = pathlib.Path(__file__).resolve().parent
KUBERNETES = HERE.parents[1] / "container/kubernetes"
PROGRAM = os.environ.get("CFR_STATIC") or CREDFRESH
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
ADDRESS = "192.0.2.10"
CLONE_NEWNET = 0x40000000
AUDIENCE = "sts.amazonaws.com"
ROLE = "arn:aws:iam::123456789012:role/app"
LIFE_S = 600
GROUP, AGENT = 2000, 65532


def own_network():
    """This process' and its children's network: loopback, and an address that is not loopback, which a node has to have."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        pytest.skip(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    for command in ("link set lo up", "link add node0 type veth peer name node1", f"address add {ADDRESS}/24 dev node0",
                    "link set node0 up", "link set node1 up"):
        subprocess.run(["ip", *command.split()], check=True)


# ---- images ----

def libraries(program):
    """What PROGRAM is loaded with: nothing if it is static."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return {path: path for path in re.findall(r"(/\S+) \(0x", listed)}


def layer(files):
    """A tar archive with FILES (path in the image: path here)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, path in files.items():
            info = tarfile.TarInfo(name.lstrip("/"))
            data = pathlib.Path(path).read_bytes()
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def image(path, name, program, *arguments):
    """Writes the image NAME, an empty root but for PROGRAM and what it is loaded with, as an archive for containerd."""
    start = "/" + pathlib.Path(program).name
    content = layer({start: program, **libraries(program)})
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    config = json.dumps({"architecture": ARCHITECTURE, "os": "linux", "config": {"Entrypoint": [start], "Cmd": arguments},
                         "rootfs": {"type": "layers", "diff_ids": [digest]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as tar:
        for part, data in (("manifest.json", manifest), ("config.json", config), ("layer.tar", content)):
            info = tarfile.TarInfo(part)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


# ---- the node ----

class Node:
    """A kubelet and a containerd in a root and namespaces of their own."""

    def __init__(self, directory, kube):
        self.dir = directory
        (self.dir / "images").mkdir(parents=True)
        image(self.dir / "images/pause.tar", "localhost/pause:test", "/usr/bin/sleep", "infinity")
        image(self.dir / "images/credfresh.tar", "localhost/credfresh:test", PROGRAM, "run")
        image(self.dir / "images/witness.tar", "localhost/witness:test", WITNESS)
        self.kube = kube
        config = yaml.safe_load(read_text(kube.kubeconfig({"token": "tok-node1"})))
        config["clusters"][0]["cluster"].pop("certificate-authority")
        config["clusters"][0]["cluster"]["certificate-authority-data"] = base64.b64encode(kube.ca.encode()).decode()
        (self.dir / "kubeconfig").write_text(yaml.safe_dump(config))
        self.log = open(self.dir / "node.log", "wb")
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", HERE / "kubelet-node.sh",
             self.dir, kube.bin, ADDRESS], stdout=self.log, stderr=self.log)
        eventually(self.is_ready, lambda: "the node\n" + self.said(), 120, 0.2)

    def said(self):
        return "".join(read_text(self.dir / f"{name}.log")[-3000:] for name in ("node", "containerd", "kubelet"))

    def is_ready(self):
        assert self.process.poll() is None, self.said()
        return self.kube.kubectl("get", "node", "node1", "--ignore-not-found", "--output=name")

    @property
    def first(self):
        """The pid of its process 1."""
        return int(read_text(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split()[0])

    def run(self, *argv):
        done = subprocess.run(["nsenter", "--target", str(self.first), "--mount", "--pid", *argv], capture_output=True,
                              text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def path(self, *parts):
        """A path of the node as this process sees it."""
        return pathlib.Path(f"/proc/{self.first}/root", *parts)

    def restart_kubelet(self):
        os.kill(self.first, 1)

    def stop(self):
        if self.process.poll() is None:
            os.kill(self.first, 15)
            self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.dir / "var", ignore_errors=True)


# ---- the pod ----

class Pod:
    """The Deployment's pod: there is no controller here that would make it, nor a scheduler."""

    def __init__(self, node, space, cloud):
        self.node, self.space, self.name = node, space, "app"
        documents = {d["kind"]: d for d in node.kube.kustomize(KUBERNETES, "sidecar")}
        self.adapt_configuration(documents["ConfigMap"], cloud)
        template = documents["Deployment"]["spec"]["template"]
        self.adapt(template["spec"])
        for document in (documents["ServiceAccount"], documents["ConfigMap"], {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name, **template["metadata"]},
                "spec": template["spec"]}):
            space.kubectl("create", "--filename=-", text=json.dumps(document))
        self.uid = self.object()["metadata"]["uid"]

    def adapt_configuration(self, map_, cloud):
        config = yaml.safe_load(map_["data"]["credfresh.yaml"])
        config["credentials"][0]["exchange"]["aws"].update(endpoint=cloud.sts, ca_file="/etc/credfresh/ca.pem")
        assert config["credentials"][0]["exchange"]["aws"]["role_arn"] == ROLE
        map_["data"] = {"credfresh.yaml": yaml.safe_dump(config), "ca.pem": read_text(cloud.ca)}

    def adapt(self, spec):
        """To a node without a registry and a pod network, and to the shortest life that there is."""
        spec.update(nodeName="node1", hostNetwork=True, restartPolicy="Never", terminationGracePeriodSeconds=5)
        for container in spec["initContainers"] + spec["containers"]:
            container["imagePullPolicy"] = "Never"
            container["image"] = "localhost/credfresh:test"
        app = spec["containers"][-1]
        assert app["name"] == "app" and app["securityContext"]["runAsUser"] not in (0, AGENT)
        self.environment = {e["name"]: e["value"] for e in app["env"]}
        app["image"] = "localhost/witness:test"
        app["args"] = ["--json", "--expect", "credentials", "--mode", "credentials=0640", "--no-allow-missing-at-start",
                       "/run/credentials/app"]
        token, = (v["projected"]["sources"][0]["serviceAccountToken"] for v in spec["volumes"] if v["name"] == "token")
        assert token["audience"] == AUDIENCE
        token["expirationSeconds"] = LIFE_S

    def object(self):
        return json.loads(self.space.kubectl("get", "pod", self.name, "--output=json"))

    def is_ready(self):
        return any(c["type"] == "Ready" and c["status"] == "True" for c in self.object()["status"].get("conditions", []))

    def answer(self):
        """What the endpoint answers that the application's variables name. The pod's network is the node's, and this test's."""
        uri = self.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
        file = pathlib.PurePath(self.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]).relative_to("/run/credentials")
        secret = (self.volume("empty-dir", "credentials") / file).read_text()
        with urllib.request.urlopen(urllib.request.Request(uri, headers={"Authorization": secret}), timeout=10) as answer:
            return json.loads(answer.read())

    def container(self, name):
        return next((c for c in self.object()["status"].get("containerStatuses", []) if c["name"] == name), None)

    def volume(self, kind, name):
        return self.node.path("var/lib/kubelet/pods", self.uid, "volumes/kubernetes.io~" + kind, name)

    def token(self):
        return (self.volume("projected", "token") / "token").read_text()

    def credentials(self):
        return (self.volume("empty-dir", "credentials") / "app/credentials").read_text()

    def output(self, container):
        """Its lines, without what the runtime puts before each."""
        lines = []
        logs = self.node.path("var/log/pods", f"{self.space.name}_{self.name}_{self.uid}", container)
        for path in sorted(logs.glob("*.log")):
            lines += [line.split(" ", 3)[3] for line in path.read_text().splitlines()]
        return lines

    def witnessed(self):
        """What the application reported: one document a line."""
        return [json.loads(line) for line in self.output("app")]

    def why(self):
        said = self.output("credfresh-once") + self.output("credfresh")
        return json.dumps(self.object()["status"], indent=1) + "\n".join(said)


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    own_network()
    kube = Kubernetes(tmp_path_factory.mktemp("kubernetes") / "run")
    n = None
    try:
        n = Node(tmp_path_factory.mktemp("node") / "run", kube)
        yield n
    finally:
        if n is not None:
            n.stop()
        kube.stop()


@pytest.fixture(scope="module")
def cloud(node, tmp_path_factory):
    c = LocalCloud(tmp_path_factory.mktemp("cloud") / "cloud", config={"roles": [{"arn": ROLE, "trust": [{
        "federated_issuer": ISSUER, "jwks": node.kube.jwks(), "audience": [AUDIENCE],
        "subject": "system:serviceaccount:team:app"}]}]})
    yield c
    c.stop()


@pytest.fixture(scope="module")
def pod(node, cloud):
    return Pod(node, Space(node.kube, "team"), cloud)


def assert_next(pod, cloud, old_text, exchanges):
    """The new token was exchanged, and the application saw what came of it."""
    eventually(lambda: len(cloud.exchanges()) > exchanges, pod.why)
    eventually(lambda: pod.credentials() != old_text, pod.why)
    key = re.search(r"aws_access_key_id = (\S+)", pod.credentials())[1]
    eventually(lambda: any(f["key_id_end"] == key[-4:] for s in pod.witnessed() if s["type"] == "state"
                           for f in s["files"]), pod.why)
    assert all(entry["status"] == 200 for entry in cloud.exchanges()), cloud.exchanges()
    assert not any(s["flaws"] for s in pod.witnessed() if s["type"] == "state")


def test_the_application_starts_with_a_credential(pod, cloud):
    eventually(pod.is_ready, pod.why, 180, 0.5)
    said = claims(pod.token())
    assert said["sub"] == "system:serviceaccount:team:app" and said["aud"] == [AUDIENCE]
    assert said["exp"] - said["iat"] == LIFE_S
    assert said["kubernetes.io"]["pod"] == {"name": "app", "uid": pod.uid}
    for path, owner in ((pod.volume("projected", "token") / "token", 0),
                        (pod.volume("empty-dir", "credentials") / "app/credentials", AGENT)):
        seen = path.stat()
        assert (stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid) == (0o640, owner, GROUP)
    # It starts when there is something to read, and sees it though it is somebody else's.
    first = eventually(lambda: [s for s in pod.witnessed() if s["type"] == "state"], pod.why)[0]
    assert first["files"] and not first["flaws"]
    # The init container's, and the sidecar's own.
    assert [entry["status"] for entry in cloud.exchanges()] == [200, 200]


def test_the_variables_of_the_manifest_lead_to_the_credential(pod):
    assert f"aws_access_key_id = {pod.answer()['AccessKeyId']}\n" in pod.credentials()


def test_a_restarted_kubelet_brings_a_new_token(pod, cloud, node):
    """It has forgotten the one that it had, and the pod does not notice otherwise."""
    token, text, exchanges = pod.token(), pod.credentials(), len(cloud.exchanges())
    node.restart_kubelet()
    eventually(lambda: pod.token() != token, pod.why, 120, 0.2)
    assert_next(pod, cloud, text, exchanges)
    eventually(pod.is_ready, pod.why, 180, 0.5)
    assert all(c["restartCount"] == 0 for c in pod.object()["status"]["containerStatuses"])


def test_the_kubelet_renews_the_token_at_80_percent(pod, cloud):
    token, text, exchanges = pod.token(), pod.credentials(), len(cloud.exchanges())
    eventually(lambda: pod.token() != token, pod.why, LIFE_S, 1)
    old, new = claims(token), claims(pod.token())
    # Ten seconds of jitter are the kubelet's.
    assert new["iat"] - old["iat"] >= 0.8 * LIFE_S - 10 and new["iat"] < old["exp"]
    assert_next(pod, cloud, text, exchanges)


def test_nothing_was_ever_torn(pod, node):
    node.run("ctr", "-n", "k8s.io", "tasks", "kill", "-s", "SIGTERM",
             pod.container("app")["containerID"].removeprefix("containerd://"))
    ended = eventually(lambda: pod.container("app")["state"].get("terminated"), pod.why, 60, 0.5)
    summary = pod.witnessed()[-1]
    assert ended["exitCode"] == 0 and summary["type"] == "summary" and summary["ok"], summary
    assert summary["generations"] >= 3
    assert pod.container("credfresh")["ready"] and pod.container("credfresh")["restartCount"] == 0


# ---- the service CA ----

class AuthorityPod:
    """The pod of container/kubernetes/service-ca with its claim, which a controller would bind, on a directory of the node."""

    NAMESPACE, VOLUME = "credfresh-ca", "var/ca-volume"

    def __init__(self, node):
        self.node, self.kube = node, node.kube
        self.documents = {d["kind"]: d for d in self.kube.kustomize(KUBERNETES, "service-ca")}
        config = yaml.safe_load((KUBERNETES / "pod-certificates/credfresh.yaml").read_text())
        config["service_ca"] = {"store": config["service_ca"]["store"]}  # this API server knows no such requests
        del config["listen"]  # the network is the node's
        self.documents["ConfigMap"]["data"] = {"credfresh.yaml": yaml.safe_dump(config)}
        node.path(self.VOLUME).mkdir()
        for kind in ("Namespace", "ServiceAccount", "ConfigMap"):
            self.create(self.documents[kind])
        claim = self.documents["PersistentVolumeClaim"]
        claim["spec"].update(storageClassName="none", volumeName="ca")
        self.create(claim)
        path = f"/api/v1/namespaces/{self.NAMESPACE}/persistentvolumeclaims/{claim['metadata']['name']}"
        made = json.loads(self.kube.request("GET", path))
        names = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node1"]}
        self.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "ca"}, "spec": {
            "capacity": {"storage": "64Mi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none",
            "local": {"path": f"/{self.VOLUME}"}, "claimRef": {**{key: made["metadata"][key] for key in ("namespace", "name", "uid")}},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [names]}]}}}})
        made["status"]["phase"] = "Bound"
        self.kube.request("PUT", f"{path}/status", made)

    def create(self, document):
        self.kube.kubectl("create", "--filename=-", text=json.dumps(document),
                          namespace=document["metadata"].get("namespace", self.NAMESPACE))

    def start(self):
        spec = json.loads(json.dumps(self.documents["Deployment"]["spec"]["template"]["spec"]))
        spec.update(nodeName="node1", hostNetwork=True, terminationGracePeriodSeconds=5)
        [container] = spec["containers"]
        container.update(image="localhost/credfresh:test", imagePullPolicy="Never", ports=[])
        self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ca", "namespace": self.NAMESPACE}, "spec": spec})
        eventually(self.is_ready, lambda: json.dumps(self.object()["status"], indent=1) + self.output(), 120, 0.5)

    def object(self):
        return json.loads(self.kube.kubectl("get", "pod", "ca", "--output=json", namespace=self.NAMESPACE))

    def output(self):
        logs = self.node.path("var/log/pods").glob(f"{self.NAMESPACE}_ca_*/credfresh/*.log")
        return "".join(path.read_text() for path in sorted(logs))

    def is_ready(self):
        status = self.object()["status"]
        assert not any(c["restartCount"] for c in status.get("containerStatuses", [])), self.output()
        return any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))

    def stop(self):
        self.kube.kubectl("delete", "pod", "ca", namespace=self.NAMESPACE)

    def store(self):
        """The CA, and the owner and mode of each file and directory in the volume."""
        volume = self.node.path(self.VOLUME)
        seen = {path.name: path.stat() for path in volume.rglob("*")}
        return ((volume / "service-ca/authority.json").read_text(),
                {name: (one.st_uid, stat.S_IMODE(one.st_mode) & 0o777) for name, one in seen.items()})


def test_the_service_ca_survives_its_pod(node):
    """The kubelet sets the group of the volume, and does not open the files in it when the next pod starts."""
    pod = AuthorityPod(node)
    pod.start()
    authority, modes = pod.store()
    assert modes["authority.json"] == (AGENT, 0o600) and modes["state"] == modes["service-ca"] == (AGENT, 0o700)
    pod.stop()
    pod.start()
    assert pod.store()[0] == authority
    assert {name: pod.store()[1][name] for name in ("authority.json", "state", "service-ca")} == {
        name: modes[name] for name in ("authority.json", "state", "service-ca")}
