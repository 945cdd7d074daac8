# SPDX-License-Identifier: MIT
"""Two agents share a rotation in a real API server with RBAC, each as a pod of the example: with the rights of
examples/rbac/shared-rotation.yaml and no others. The cases of test/integ/test_mint_takeover.py, and what only a real one does:
its watch, its conflict for a write that comes late, its refusals, and what it says to the manifests."""
import base64
import concurrent.futures
import http.server
import json
import ssl
import threading

import pytest
import yaml

from conftest import REPO, Kubernetes, Mounted, Space, eventually, read_text
from minting import ADMIN, IAM, admin, cloud, iam_cloud, keys_of, mint_of, rotate  # noqa: F401
from shared_minting import SECRET, created, follow_each_other, key_of, shared, step
from test_mint_shared import error_of
from test_mint_takeover import LATE, Case, ended, killed, stopped  # noqa: F401

EXAMPLES = REPO / "examples"
OUT = "out"
SECONDS = 25  # less than the minute between two looks without a watch
TAKEOVER_S = 12  # more than in the tests with the local cloud: an API server and etcd take part of the processor
AT_ONCE = 4
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"], "rules": [
    {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]}, {"level": "None"}]}


class Held:
    """A write of a step that one agent, the first that comes with it, has under way."""

    def __init__(self, wanted):
        self.step = wanted
        self.holder = None
        self.free = threading.Event()

    def is_one(self, data):
        if data.get("journal", {}).get("step") == self.step and self.holder is None:
            self.holder = data["holder"]
        return data.get("journal", {}).get("step") == self.step and data["holder"] == self.holder


class Gate(http.server.BaseHTTPRequestHandler):
    """The webhook that the API server asks before each change of a Secret."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # pylint: disable=invalid-name
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        held = self.server.held.get(request["namespace"])
        if held is not None and held.is_one(decoded(request["object"])):
            held.free.wait(28)
        answer = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                             "response": {"uid": request["uid"], "allowed": True}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):  # pylint: disable=arguments-differ
        pass


class GateServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """The API server hangs up when the agent does."""


def decoded(secret):
    data = {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
    return {**data, "journal": json.loads(data["journal"])} if data.get("journal") else data


class Cluster:
    """An API server that writes down who asks for Secrets, and lets a test hold back a write."""

    def __init__(self, directory):
        self.log = directory / "audit.log"
        (directory / "audit.json").write_text(json.dumps(AUDIT))
        self.kube = Kubernetes(directory / "run", lambda version: (
            f"--audit-policy-file={directory}/audit.json", f"--audit-log-path={self.log}"))
        self.kube.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                          "/CN=gate", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "gate.key", "-out", "gate.crt")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.kube.dir / "gate.crt", self.kube.dir / "gate.key")
        self.server = GateServer(("127.0.0.1", 0), Gate)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.server.held = {}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kube.request("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
            "metadata": {"name": "gate"}, "webhooks": [{
                "name": "gate.test.example", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
                "failurePolicy": "Fail",
                "rules": [{"operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}],
                "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/",
                                 "caBundle": base64.b64encode((self.kube.dir / "gate.crt").read_bytes()).decode()}}]})

    def stop(self):
        for held in self.server.held.values():
            held.free.set()
        self.kube.stop()
        self.server.shutdown()
        self.server.server_close()


class Place:
    """A namespace with what the example has in its own: the Role, and two pods of its account. For the helpers of the
    integration tests it is what their local API server is."""

    def __init__(self, cluster, name, without=None):
        self.cluster = cluster
        self.kube = cluster.kube
        self.name = name
        self.space = Space(self.kube, name)
        self.space.account("credfresh")
        self.permit(without)
        self.pods = {}
        template = deployment()["spec"]["template"]
        for pod in ("robot-one", "robot-two"):
            self.pods[pod] = json.loads(self.kube.request("POST", f"{self.space.base}/pods", {
                "metadata": {"name": pod}, "spec": template["spec"]}))["metadata"]["uid"]
        self.state = self.state_of("robot-one")

    def permit(self, without=None):
        """The rights of the example, but the verb WITHOUT, and those for a Secret that is published."""
        role, binding = yaml.safe_load_all((EXAMPLES / "rbac/shared-rotation.yaml").read_text())
        for one in (role, binding):
            one["metadata"]["namespace"] = self.name
        binding["subjects"][0]["namespace"] = self.name
        role["rules"][0]["verbs"] = [verb for verb in role["rules"][0]["verbs"] if verb != without]
        role["rules"] += [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": [OUT], "verbs": ["get", "list", "watch", "patch"]},
                          {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]
        self.space.kubectl("apply", "-f", "-", text=yaml.safe_dump_all([role, binding]))
        # The API server learns of a Role by a watch.
        for verb in role["rules"][0]["verbs"]:
            eventually(lambda v=verb: self.may(v), verb, 30, 0.2)

    def may(self, verb):
        asked = {"spec": {"user": f"system:serviceaccount:{self.name}:credfresh", "resourceAttributes": {
            "namespace": self.name, "verb": verb, "resource": "secrets", "name": SECRET}}}
        return json.loads(self.kube.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", asked))["status"]["allowed"]

    def state_of(self, pod):
        """`mint.state` of an agent in POD."""
        token = json.loads(self.kube.request("POST", f"{self.space.base}/serviceaccounts/credfresh/token", {
            "spec": {"expirationSeconds": 7200, "boundObjectRef": {
                "kind": "Pod", "apiVersion": "v1", "name": pod, "uid": self.pods[pod]}}}))["status"]["token"]
        return {"namespace": self.name, "kubeconfig": self.kube.kubeconfig({"token": token}, self.name),
                "takeover": f"{TAKEOVER_S}s"}

    def place(self):
        """Where a target is."""
        return {"namespace": self.name, "kubeconfig": self.state["kubeconfig"]}

    def make(self, name):
        self.space.kubectl("create", "secret", "generic", name)

    def delete(self):
        self.space.kubectl("delete", "secret", SECRET)

    def get(self, name):
        return self.space.secret(name) or {}

    def data(self, name):
        return {key: base64.b64decode(value).decode() for key, value in (self.get(name).get("data") or {}).items()}

    def restore(self, secret):
        self.space.kubectl("patch", "secret", SECRET, "--type=merge", "-p", json.dumps({"data": secret["data"]}))

    def hold(self, wanted):
        """Holds back the write of the step WANTED of the agent that comes first with it, until it is released."""
        held = self.cluster.server.held[self.name] = Held(wanted)
        return held

    def asked(self):
        """(pod, verb, status) of each request about the Secret with the rotation, oldest first."""
        found = []
        for line in read_text(self.cluster.log).splitlines():
            event = json.loads(line)
            about = event["objectRef"]
            if about.get("namespace") == self.name and about.get("name") == SECRET and "credfresh" in event["user"]["username"]:
                pod, = event["user"]["extra"]["authentication.kubernetes.io/pod-name"]
                found.append((pod, event["verb"], event["responseStatus"]["code"]))
        return found


def deployment():
    return next(one for one in yaml.safe_load_all((EXAMPLES / "shared-rotation/deployment.yaml").read_text())
                if one["kind"] == "Deployment")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


@pytest.fixture
def place(cluster, request):
    without = getattr(request, "param", None)
    return Place(cluster, f"ns-{next(cluster.kube.serial)}", without)


@pytest.fixture
def pair(agent_factory, cloud, place):  # noqa: F811
    """Two agents, each in a pod of its own, not started."""
    place.make(SECRET)
    made = [agent_factory(cloud, pod) for pod in place.pods]
    for agent in made:
        Mounted(agent.dir / "admin").put(ADMIN)
        configure(agent, place)
    return made


def configure(agent, place, **over):
    agent.configure(shared(agent, state={**place.state_of(agent.dir.name), **over}), admin(agent))


def start(pair, place):
    """Both are there. The holder, the other one, and the key that they publish."""
    for agent in pair:
        agent.start()
    key = follow_each_other(pair, place)
    holder, = [agent for agent in pair if mint_of(agent)["role"] == "holder"]
    other, = [agent for agent in pair if agent is not holder]
    assert mint_of(other)["role"] == "follower"
    return holder, other, key


# ---- what both do ----

def test_both_publish_the_key_and_the_follower_learns_of_it_by_its_watch(pair, place, cloud):  # noqa: F811
    for agent in pair:  # for so long nobody takes over, and the follower looks once a minute without a watch
        configure(agent, place, takeover="10m")
    holder, other, first = start(pair, place)
    follower = other.dir.name
    assert set(keys_of(cloud)) == {first} and created(cloud) == 1
    known = len(place.asked())
    held = place.hold("retiring")
    rotate(holder, "drill")
    # Each change is looked at as the watch reports it; a minute has not passed since the last one.
    eventually(lambda: key_of(other) not in (None, first), lambda: f"{place.asked()}\n{other.log}", SECONDS)
    eventually(lambda: held.holder is not None, lambda: holder.log, SECONDS)
    assert step(place, SECRET) == "published" and key_of(other) == key_of(holder)
    held.free.set()
    assert follow_each_other(pair, place, first) == key_of(other)
    eventually(lambda: set(keys_of(cloud)) == {key_of(other)}, lambda: f"{keys_of(cloud)}")
    news = place.asked()[known:]
    assert [one for one in news if one[0] == follower].count((follower, "get", 200)) >= 3, news
    assert {verb for pod, verb, _ in news if pod == follower} <= {"get", "watch"}, news
    assert not [one for one in place.asked() if one[2] == 403], place.asked()
    # A watch is written down when it ends.
    assert other.stop() == 0
    eventually(lambda: (follower, "watch", 200) in place.asked(), lambda: f"{place.asked()}\n{other.log}")
    assert "cannot watch" not in holder.log + other.log


def test_the_follower_rotates_when_it_is_asked(pair, place, cloud):  # noqa: F811
    _, other, first = start(pair, place)
    rotate(other, "drill")
    follow_each_other(pair, place, first)
    assert mint_of(other)["role"] == "holder" and created(cloud) == 2


# ---- killed and stopped at each step ----

class Guard(threading.Thread):
    """Looks whether what an agent publishes that is never away is a key that the cloud takes."""

    def __init__(self, cloud):  # noqa: F811
        super().__init__(daemon=True)
        self.cloud = cloud
        self.cases = []
        self.harm = []
        self.looks = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            before = [(case, agent, key_of(agent)) for case in list(self.cases) for agent in list(case.always)]
            works = {key["access_key_id"] for key in self.cloud.admin("/iam")["keys"] if key["active"]}
            self.harm += [(case.at, agent.dir.name, key) for case, agent, key in before
                          if key is not None and key not in works and key_of(agent) == key]
            self.looks += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *how):
        self.over.set()
        self.join()


class RealCase(Case):
    def __init__(self, directory, cluster, guard, number, at):
        self.held = None
        self.known = 0
        super().__init__(directory, guard.cloud, number, at, Place(cluster, f"case-{next(cluster.kube.serial)}"))
        guard.cases.append(self)

    def be_late(self, action):
        if action == "kube.secret.patch":
            self.known = len(self.kube.asked())
            self.held = self.kube.hold("published")
        else:
            super().be_late(action)

    def begin(self):
        """At `verified` the holder has also published, and its next write is under way."""
        found = super().begin()
        eventually(lambda: self.held is None or self.held.holder is not None, self.said)
        return found

    def taken_over(self, other):
        """The write of one that was killed may arrive at once; that of one that was stopped arrives when it is no longer the
        holder, and is refused."""
        holder = self.agents[1 - self.agents.index(other)]
        was_killed = holder.process.poll() is not None
        if self.held is not None:
            eventually(lambda: was_killed or self.kube.data(self.secret)["holder"] != self.held.holder, self.said)
            self.held.free.set()
        second = super().taken_over(other)
        if self.held is not None and not was_killed:
            eventually(lambda: ("robot-one", "patch", 409) in self.kube.asked()[self.known:], lambda: f"{self.kube.asked()}\n{self.said()}")
        return second


@pytest.mark.parametrize("how", [killed, stopped])
def test_the_other_goes_on(tmp_path, cluster, cloud, how):  # noqa: F811
    numbers = range(len(LATE)) if how is killed else range(len(LATE), 2 * len(LATE))
    cloud.admin("/service/iam", {**IAM, "users": [f"robot-{number}" for number in range(2 * len(LATE))]})
    with Guard(cloud) as guard, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda number, at: how(RealCase(tmp_path, cluster, guard, number, at)), numbers, LATE))
    assert guard.looks > 100 and not guard.harm, guard.harm


# ---- what is not there ----

@pytest.mark.parametrize("at, minted", [("intent", 1), ("retiring", 2)])
def test_a_secret_that_is_deleted_in_the_middle(pair, place, cloud, at, minted):  # noqa: F811
    holder, other, first = start(pair, place)
    held = place.hold(at)
    rotate(holder, "drill")
    eventually(lambda: held.holder is not None, lambda: holder.log)
    if at == "retiring":
        eventually(lambda: key_of(other) not in (None, first), lambda: other.log)
    key = key_of(other)
    kept = place.get(SECRET)
    place.delete()
    held.free.set()
    for agent in pair:
        eventually(lambda a=agent: all(words in error_of(a) for words in (f"{place.name}/{SECRET}", "does not exist", "restore it")),
                   lambda a=agent: f"{error_of(a)}\n{a.log}", 90)
    # An empty one is not taken for a new one.
    place.make(SECRET)
    for agent in pair:
        eventually(lambda a=agent: "is empty" in error_of(a), lambda a=agent: f"{error_of(a)}\n{a.log}", 90)
        assert key_of(agent) == key
    assert created(cloud) == minted and keys_of(cloud)[key]["active"] and not place.data(SECRET)
    place.restore(kept)
    second = follow_each_other(pair, place, first)
    eventually(lambda: set(keys_of(cloud)) == {second}, lambda: f"{keys_of(cloud)}")
    assert created(cloud) == 2


@pytest.mark.parametrize("place, verb", [("get", "get"), ("patch", "patch")], indirect=["place"])
def test_a_right_that_is_missing_is_told(pair, place, cloud, verb):  # noqa: F811
    pair[0].start()
    rule = f'{{apiGroups: [""], resources: ["secrets"], verbs: ["{verb}"], resourceNames: ["{SECRET}"]}}'
    eventually(lambda: rule in error_of(pair[0]) and place.name in error_of(pair[0]),
               lambda: f"{rule}\n{error_of(pair[0])}\n{pair[0].log}")
    assert not keys_of(cloud)
    place.permit()
    follow_each_other(pair[:1], place)


@pytest.mark.parametrize("place, verb", [("list", "list"), ("watch", "watch")], indirect=["place"])
def test_without_a_watch_it_is_told_and_works(pair, place, verb):
    pair[0].start()
    follow_each_other(pair[:1], place)
    rule = f'{{apiGroups: [""], resources: ["secrets"], verbs: ["{verb}"], resourceNames: ["{SECRET}"]}}'
    eventually(lambda: "cannot watch" in pair[0].log and rule in pair[0].log, lambda: f"{rule}\n{pair[0].log}")


# ---- the manifests ----

def test_the_api_server_takes_the_example(cluster):
    kube = cluster.kube
    objects = [one for path in ("rbac/shared-rotation.yaml", "shared-rotation/deployment.yaml")
               for one in yaml.safe_load_all((EXAMPLES / path).read_text())]
    assert {one["metadata"]["namespace"] for one in objects} == {"credfresh"}
    kube.request("POST", "/api/v1/namespaces", {"metadata": {"name": "credfresh"}})
    # What the comments say that an operator does.
    kube.kubectl("create", "secret", "generic", SECRET, namespace="credfresh")
    kube.kubectl("create", "configmap", "credfresh", f"--from-file=credfresh.yaml={EXAMPLES}/shared-rotation.yaml",
                 namespace="credfresh")
    said = kube.kubectl("apply", "--validate=true", "-f", "-", text=yaml.safe_dump_all(objects), namespace="credfresh")
    assert len(said.splitlines()) == len(objects) and said.count(" created") == len(objects), said
    # There is no controller: its part is played here.
    made = deployment()
    assert made["spec"]["replicas"] == 2
    for name in ("robot-one", "robot-two"):
        kube.request("POST", "/api/v1/namespaces/credfresh/pods", {
            "metadata": {"name": name, **made["spec"]["template"]["metadata"]}, "spec": made["spec"]["template"]["spec"]})
    config = yaml.safe_load(json.loads(kube.request("GET", "/api/v1/namespaces/credfresh/configmaps/credfresh"))
                            ["data"]["credfresh.yaml"])
    state, = [one["mint"]["state"] for one in config["credentials"] if "mint" in one]
    names = {one["spec"]["template"]["spec"]["serviceAccountName"] for one in objects if one["kind"] == "Deployment"}
    assert (state["namespace"], state["secret"]) == ("credfresh", SECRET) and names == {"credfresh"}
