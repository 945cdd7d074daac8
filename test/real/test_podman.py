# SPDX-License-Identifier: MIT
"""The images of container/ in podman: what is in them, and the pods of all manifests, with the users, groups, capabilities,
volumes, memory limits and probes that the manifests say, in the order in which a kubelet begins them.

"podman play kube" knows too little of that (no native sidecars, probes or fsGroup), so each container is begun here.
Everything is below a storage of the test's own, which goes with it. CFR_CONTAINERS names what podman-setup.sh made.
"""
import contextlib
import copy
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import urllib.request

import pytest
import yaml

from conftest import ROLE, WITNESS, eventually, free_port, read_text

HERE = pathlib.Path(__file__).resolve().parent
KUBERNETES = HERE.parents[1] / "container/kubernetes"
IMAGES = pathlib.Path(os.environ["CFR_CONTAINERS"]) / "images.tar"
CREDFRESH_IMAGE, SETUP_IMAGE = "localhost/credfresh:test", "localhost/credfresh-setup:test"
DEMO_IMAGE = "localhost/credfresh-demo:test"
PAUSE = "localhost/pause:test"  # as containers.conf has it
DEBIAN = "docker.io/library/debian:bookworm-slim"
GROUP = 2000     # the pod's, as fsGroup
AGENT = 65532    # the image's user
READER = 1000    # the application's
SPEED = 240      # an hour lasts 15 seconds


class Podman:
    """podman with a storage of its own."""

    def __init__(self, directory):
        self.dir = directory
        self.base = ["podman", "--root", str(directory / "root"), "--runroot", str(directory / "run"),
                     "--tmpdir", str(directory / "tmp")]
        self.env = {**os.environ, "CONTAINERS_CONF": str(HERE / "containers.conf")}

    def run(self, *argv, limit_s=60):
        return subprocess.run([*self.base, *[str(a) for a in argv]], capture_output=True, text=True, env=self.env,
                              timeout=limit_s)

    def __call__(self, *argv, limit_s=60):
        """What it prints."""
        done = self.run(*argv, limit_s=limit_s)
        assert done.returncode == 0, f"podman {' '.join(map(str, argv))}: {done.stderr}"
        return done.stdout.strip()

    def load(self):
        """The images, and what keeps a pod's namespaces."""
        self("load", "--quiet", "--input", IMAGES)
        container = self("create", SETUP_IMAGE)
        self("commit", "--quiet", "--change", 'ENTRYPOINT ["/bin/busybox", "sh", "/setup", "keep"]', container, PAUSE)
        self("rm", container)

    def remove(self):
        """Everything, by podman as far as it is its own. Nothing of the machine's other podman is touched."""
        self.run("pod", "rm", "--all", "--force", "--time", "1")
        self.run("rm", "--all", "--force", "--volumes", "--time", "1")
        self.run("rmi", "--all", "--force")
        for line in reversed(read_text("/proc/mounts").splitlines()):
            if line.split(" ")[1].startswith(f"{self.dir}/"):
                subprocess.run(["umount", line.split(" ")[1]], check=True)
        shutil.rmtree(self.dir)


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    made = Podman(tmp_path_factory.mktemp("podman"))
    try:
        made.load()
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    from harness import LocalCloud
    made = LocalCloud(tmp_path_factory.mktemp("cloud") / "cloud", speed=SPEED)
    yield made
    made.stop()


class Pod:
    """A pod of the manifests, brought up as a kubelet does it. Its volumes are directories of this machine with the owners
    and groups that the kubelet gives to them; the network is the machine's, for the local cloud is on its loopback."""

    def __init__(self, podman, cloud, directory, use):
        self.podman = podman
        self.cloud = cloud
        self.dir = directory
        self.name = use
        manifest, = [d for d in (KUBERNETES / use).glob("*.yaml") if d.stem in ("deployment", "job", "daemonset")]
        self.spec = yaml.safe_load(manifest.read_text())["spec"]["template"]["spec"]
        self.groups = [g for g in (self.spec["securityContext"].get("fsGroup"),
                                   *self.spec["securityContext"].get("supplementalGroups", [])) if g]
        self.volumes = {v["name"]: self.volume(v) for v in self.spec["volumes"]}
        self.out = self.volumes.get("credentials", directory) / "app"

    def volume(self, volume):
        if "projected" in volume:
            return self.cloud.volumes["demo"]
        path = self.dir / volume["name"]
        path.mkdir()
        if "emptyDir" in volume:
            os.chown(path, 0, GROUP)
            path.chmod(0o2777)
        return path

    def container(self, name):
        return next(c for c in self.spec.get("initContainers", []) + self.spec["containers"] if c["name"] == name)

    def configure(self, **over):
        """The manifest's configuration, or that of the base, with the local cloud's addresses; OVER replaces whole keys."""
        path = KUBERNETES / self.name / "credfresh.yaml"
        config = yaml.safe_load((path if path.exists() else KUBERNETES / "base/credfresh.yaml").read_text()) | over
        for c in config["credentials"]:
            c["exchange"]["aws"].update(role_arn=ROLE, endpoint=self.cloud.sts, ca_file="/etc/credfresh/ca.pem")
        for key in [k for k in ("listen", "endpoints") if k in config]:
            port = self.port = free_port()  # its own may be taken on this machine
            config[key] = f"127.0.0.1:{port}" if key == "listen" else [{**config[key][0], "listen": f"127.0.0.1:{port}"}]
        shutil.copy(self.cloud.ca, self.volumes["configuration"] / "ca.pem")
        (self.volumes["configuration"] / "ca.pem").chmod(0o644)
        (self.volumes["configuration"] / "credfresh.yaml").write_text(json.dumps(config))
        return config

    def up(self):
        share = "pid,net,ipc,uts" if self.spec.get("shareProcessNamespace") else "net,ipc,uts"
        self.podman("pod", "create", "--name", self.name, "--network", "host", "--share", share)
        for c in self.spec.get("initContainers", []):
            self.start(c)
            if c.get("restartPolicy") == "Always":
                self.probe(c["name"], c["startupProbe"])
            else:
                assert self.wait(c["name"]) == 0, self.logs(c["name"])
        for c in self.spec["containers"]:
            self.start(c)
            if "lifecycle" in c:
                self.probe(c["name"], c["lifecycle"]["postStart"])
        return self

    def start(self, c):
        security = c["securityContext"]
        assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
        argv = ["--read-only", "--read-only-tmpfs=false", "--security-opt", "no-new-privileges", "--cap-drop", "all",
                "--user", f"{security['runAsUser']}:{security.get('runAsGroup', 0)}"]
        for option, values in {"--cap-add": security["capabilities"].get("add", []), "--group-add": self.groups,
                               "--env": [f"{e['name']}={e['value']}" for e in c.get("env", [])]}.items():
            argv += [part for value in values for part in (option, value)]
        for mount in c["volumeMounts"]:
            argv += ["--volume", f"{self.volumes[mount['name']]}:{mount['mountPath']}:" +
                     ("ro" if mount.get("readOnly") else "rw")]
        memory = c.get("resources", {}).get("limits", {}).get("memory")
        if memory:
            argv += ["--memory", memory.replace("Mi", "m"), "--memory-swap", memory.replace("Mi", "m")]
        if "command" in c:
            argv += ["--entrypoint", json.dumps(c["command"])]
        image = {"credfresh": CREDFRESH_IMAGE, "credfresh-setup": SETUP_IMAGE}.get(c["image"], DEBIAN)
        self.podman("run", "--detach", "--pod", self.name, "--name", f"{self.name}-{c['name']}", *argv, image,
                    *c.get("args", []))

    def probe(self, name, probe):
        return self.podman("exec", f"{self.name}-{name}", *probe["exec"]["command"])

    def wait(self, name, limit_s=60):
        """The status that the container ends with."""
        try:
            return int(self.podman("wait", f"{self.name}-{name}", limit_s=limit_s))
        except subprocess.TimeoutExpired:
            pytest.fail(f"{name} does not end:\n{self.logs(name)}")

    def logs(self, name):
        done = self.podman.run("logs", f"{self.name}-{name}")
        return done.stdout + done.stderr

    def status(self, credential):
        doc = json.loads(self.podman("exec", f"{self.name}-credfresh", "/credfresh", "status", "--json"))
        return next(c for c in doc["credentials"] if c["name"] == credential)

    @property
    def generation(self):
        data = self.out / "..data"
        return int(os.readlink(data).rpartition(".")[2]) if data.is_symlink() else 0

    def memory(self, name):
        """(limit, highest use, kills for want of it, resident) of a running container, in bytes."""
        pid = self.podman("inspect", "--format", "{{.State.Pid}}", f"{self.name}-{name}")
        groups = dict(line.split(":", 2)[1:] for line in read_text(f"/proc/{pid}/cgroup").splitlines())
        if "memory" in groups:
            at = pathlib.Path("/sys/fs/cgroup/memory" + groups["memory"])
            names = ("memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control")
        else:
            at = pathlib.Path("/sys/fs/cgroup" + groups[""])
            names = ("memory.max", "memory.peak", "memory.events")
        limit, peak, kills = (read_text(at / name) for name in names)
        resident = re.search(r"^Rss: +(\d+) kB", read_text(f"/proc/{pid}/smaps_rollup"), re.M).group(1)
        return int(limit), int(peak or 0), int(re.search(r"oom_kill (\d+)", kills).group(1)), int(resident) * 1024

    def down(self):
        self.podman("pod", "rm", "--force", "--time", "2", self.name)


@pytest.fixture
def pod(podman, cloud, tmp_path):
    made = []

    def make(use):
        made.append(Pod(podman, cloud, tmp_path, use))
        return made[-1]

    yield make
    for p in made:
        p.down()


@contextlib.contextmanager
def witness(pod):
    """Watches what is published from outside, as a stranger."""
    report = pod.dir / "witness.json"
    process = subprocess.Popen([WITNESS, "--expect", "credentials", "--expect", "token", "--mode", "credentials=0640",
                                "--report", str(report), str(pod.out)], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()  # it watches
    seen = {}
    try:
        yield seen
    finally:
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=20)
    seen.update(json.loads(report.read_text()))
    assert process.returncode == 0, text[-2000:]


def files_of(podman, image, directory):
    """Every path in the image, with its mode."""
    container = podman("create", image)
    podman("export", "--output", directory / "image.tar", container)
    podman("rm", container)
    listing = subprocess.run(["tar", "-tvf", directory / "image.tar", "--numeric-owner"], check=True,
                             capture_output=True, text=True)
    rows = [line.split(None, 5) for line in listing.stdout.splitlines()]
    return {"/" + row[5].rstrip("/"): (row[0], row[1]) for row in rows}


def test_the_image_holds_nothing_else(podman, tmp_path):
    files = files_of(podman, CREDFRESH_IMAGE, tmp_path)
    regular = {path for path, (mode, _) in files.items() if mode.startswith("-")}
    # What an engine adds to any container has no content.
    own = regular - {"/run/.containerenv", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}
    assert own == {"/credfresh", "/etc/group", "/etc/passwd", "/etc/ssl/certs/ca-certificates.crt"}
    assert files["/credfresh"] == ("-rwxr-xr-x", "0/0")
    assert files["/run/credfresh"][1] == files["/run/credentials"][1] == f"{AGENT}/{AGENT}"
    assert not [path for path, (mode, _) in files.items() if "s" in mode or (mode[8] == "w" and mode[0] not in "ld")]
    config = json.loads(podman("inspect", CREDFRESH_IMAGE))[0]["Config"]
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == (f"{AGENT}:{AGENT}", ["/credfresh"], ["run"])
    assert config["Labels"]["org.opencontainers.image.title"] == "credfresh"
    size = int(podman("inspect", "--format", "{{.Size}}", CREDFRESH_IMAGE))
    print(f"the image has {size} bytes")
    assert size < 8 << 20
    assert podman("run", "--rm", "--read-only", "--network", "none", CREDFRESH_IMAGE, "version").startswith("credfresh ")


READER_SH = """
echo PID $$
last=
while :; do
    key=$(sed -n 's/^aws_access_key_id *= *//p' /run/credentials/app/credentials) && [ -n "$key" ] || echo FAILED
    [ "$key" = "$last" ] || echo "KEY $key"
    last=$key
    (: >/run/credentials/app/credentials) 2>/dev/null && echo WRITABLE
    sleep 0.05
done
"""
WORKER_SH = """
trap 'echo got HUP' HUP
trap 'echo got USR1' USR1
trap 'exit 0' TERM
echo $$ >/run/credentials/worker.pid
while :; do sleep 0.1; done
"""
REPORT_SH = "#!/bin/sh\nsleep 1\ncat /run/credentials/app/credentials\n"


def test_a_native_sidecar(podman, pod):
    """credfresh in 16 MiB beside a reader of another user, and beside a worker of its own user that takes signals."""
    p = pod("native-sidecar")
    p.spec["shareProcessNamespace"] = True
    p.container("credfresh")["resources"]["limits"]["memory"] = "16Mi"
    reader = p.container("app")
    reader["command"] = ["sh", "-c", READER_SH]
    worker = copy.deepcopy(reader)
    worker.update(name="worker", command=["bash", "-c", WORKER_SH])
    worker["securityContext"].update(runAsUser=AGENT, runAsGroup=AGENT)
    worker["volumeMounts"][0]["readOnly"] = False
    p.spec["containers"].append(worker)

    app, = p.configure()["credentials"]
    app["publish"]["files"].append({"name": "token", "format": "token", "mode": "0640", "group": str(GROUP)})
    foreign = copy.deepcopy(app)
    app["reload"] = [{"signal": {"pid_file": "/run/credentials/worker.pid", "signal": "HUP"}},
                     {"signal": {"executable": "bash", "signal": "USR1"}}]
    foreign.update(name="foreign", required=False, reload=[{"signal": {"pid_file": "/run/credentials/reader.pid"}}])
    foreign["publish"]["directory"] = "/run/credentials/foreign"
    p.configure(credentials=[app, foreign])
    p.up()
    assert p.generation >= 1, "the application was started before its first credential"
    pid = eventually(lambda: re.search(r"PID (\d+)", p.logs("app")), lambda: p.logs("app"), 20, 0.1).group(1)
    (p.volumes["credentials"] / "reader.pid").write_text(pid)
    with witness(p) as seen:
        first = p.generation
        # Two by the clock and the kubelet's swaps, and two that are asked for.
        eventually(lambda: p.generation >= first + 2, lambda: p.logs("credfresh"), 60, 0.1)
        for reason in ("one", "two"):
            before = p.generation
            podman("exec", "native-sidecar-credfresh", "/credfresh", "rotate", "app", "--reason", reason)
            eventually(lambda: p.generation > before, lambda: p.logs("credfresh"), 30, 0.1)
        eventually(lambda: p.logs("app").count("KEY") >= 4, lambda: p.logs("app"), 20, 0.2)
        for name in ("HUP", "USR1"):
            eventually(lambda: p.logs("worker").count(f"got {name}") >= 3, lambda: p.logs("worker"), 20, 0.2)
        for probe in ("readinessProbe", "livenessProbe"):
            p.probe("credfresh", p.container("credfresh")[probe])
        limit, peak, kills, resident = p.memory("credfresh")
    print(f"resident {resident / 2**20:.1f} MiB, highest use of memory {peak / 2**20:.1f} MiB, {seen['states']} states")
    assert (limit, kills) == (16 << 20, 0) and resident < 8 << 20
    assert seen["states"] >= 4 and seen["ok"]
    assert "FAILED" not in p.logs("app") and "WRITABLE" not in p.logs("app")
    # Another user's process gets no signal, what is published for it is fresh all the same, and it is said why.
    told = eventually(lambda: p.status("foreign")["hooks"][0].get("error"), "the refusal", 20, 0.2)
    assert "CAP_KILL" in told and f"of uid {READER} from uid {AGENT}" in told, told
    # When the pod is deleted it ends in order and at once.
    podman("stop", "--time", "10", "native-sidecar-credfresh")
    assert p.wait("credfresh") == 0, p.logs("credfresh")


def test_a_sidecar(pod):
    p = pod("sidecar")
    p.configure()
    # postStart has returned before this container is made, so the endpoint must answer at once.
    p.container("app")["command"] = ["sh", "-c", "id; cat /run/credentials/app/credentials /run/credentials/app.auth"]
    p.up()
    request = urllib.request.Request(f"http://127.0.0.1:{p.port}/aws/app", headers={
        "Authorization": (p.volumes["credentials"] / "app.auth").read_text()})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert json.load(answer)["AccessKeyId"].startswith("ASIA")
    assert p.wait("app") == 0 and "aws_session_token" in p.logs("app"), p.logs("app")
    assert f"uid={READER}" in p.logs("app") and str(GROUP) in p.logs("app").splitlines()[0]
    for name, mode in (("app/credentials", 0o640), ("app.auth", 0o640)):
        owner = (p.volumes["credentials"] / name).stat()
        assert (owner.st_uid, owner.st_gid, stat.S_IMODE(owner.st_mode)) == (AGENT, GROUP, mode)
    for probe in ("readinessProbe", "livenessProbe"):
        p.probe("credfresh", p.container("credfresh")[probe])


def test_a_job_whose_sidecar_ends(pod):
    p = pod("job")
    p.configure()
    assert p.container("report")["command"] == ["/usr/bin/report"]
    program = p.volumes["credentials"] / "report"
    program.write_text(REPORT_SH)
    program.chmod(0o755)
    p.container("report")["command"] = ["/run/credentials/report"]
    p.up()
    assert p.wait("report") == 0 and "aws_session_token" in p.logs("report"), p.logs("report")
    assert p.wait("credfresh") == 0 and "report has ended" in p.logs("credfresh"), p.logs("credfresh")


def test_a_job_that_begins_as_exec(pod):
    p = pod("job-exec")
    p.configure()
    command = p.container("report")["command"]
    assert command[-1] == "/usr/bin/report"
    p.container("report")["command"] = [*command[:-1], "sh", "-c", "cat /run/credentials/app/credentials; env; exit 7"]
    p.up()
    assert p.wait("report") == 7, p.logs("report")
    assert "aws_session_token" in p.logs("report") and "AWS_CONTAINER_CREDENTIALS_FULL_URI" in p.logs("report")


def test_a_daemonset(pod):
    p = pod("daemonset")
    config = yaml.safe_load((KUBERNETES / "daemonset/credfresh.yaml").read_text())
    app = config["credentials"][0]
    assert "request" not in app["token"]  # of the other one test_kube_manifests.py says what it may
    app["publish"]["directory"] = "/run/credentials/app"
    p.configure(credentials=[app])
    p.up()
    p.probe("credfresh", p.container("credfresh")["readinessProbe"])
    owner = (p.out / "credentials").stat()
    assert (owner.st_uid, owner.st_gid, stat.S_IMODE(owner.st_mode)) == (AGENT, GROUP, 0o640)
    # The pod is replaced. The directories are the node's, and stay as they are.
    before = p.generation
    p.down()
    assert (p.out / "credentials").exists()
    p.up()
    p.probe("credfresh", p.container("credfresh")["readinessProbe"])
    assert p.generation >= before


def test_a_kubelet_is_set_up(pod, podman):
    p = pod("kubelet")
    for name in ("credfresh.yaml", "credential-provider.yaml"):
        shutil.copy(KUBERNETES / "kubelet" / name, p.volumes["configuration"])
    program = p.volumes["program"] / "credfresh-image-credential-provider"
    program.write_text("of an older image")
    older = program.stat().st_ino
    p.up()
    eventually((p.volumes["etc"] / "credential-provider.yaml").exists, lambda: p.logs("setup"), 20, 0.1)
    assert program.stat().st_ino != older and stat.S_IMODE(program.stat().st_mode) == 0o755
    # The kubelet runs it as root of the node, with one question on standard input.
    done = subprocess.run([program, "-c", p.volumes["etc"] / "credfresh.yaml"], capture_output=True, text=True, timeout=60,
                          input='{"kind": "CredentialProviderRequest", "apiVersion": '
                                '"credentialprovider.kubelet.k8s.io/v1", "image": "registry.example.com/app:1"}')
    assert done.returncode == 0 and json.loads(done.stdout)["auth"] is None, done
    podman("stop", "--time", "5", "kubelet-setup")
    assert p.wait("setup") == 0


def test_the_demonstration_in_its_image(podman):
    """Without network, volume or root, as docs/container.md says. Its verdict is its exit status."""
    done = podman.run("run", "--rm", "--network", "none", "--cap-drop", "all", "--security-opt", "no-new-privileges", DEMO_IMAGE,
                      limit_s=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "outages survived 4 of 4, kill -9 survived 1 of 1" in done.stdout
