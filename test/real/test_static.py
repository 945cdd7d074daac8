# SPDX-License-Identifier: MIT
"""The static program as it is shipped: its size, memory, symbols and bill of materials, and in a root directory that holds
nothing else. CFR_STATIC is the folder that tools/build-static.sh filled; tools/test-static.sh runs this."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import threading

import pytest

import conftest as real  # noqa: F401  makes `harness` importable
from harness import REPO, ROLE, Agent, eventually

BUILT = pathlib.Path(os.environ.get("CFR_STATIC", REPO / "build/static"))
PROGRAM = BUILT / "credfresh"
FOREIGN = BUILT.with_name(BUILT.name + "-arm64") / "credfresh"
# MiB on disk and in memory. The whole OpenSSL 3.5 of Debian 13 is half as large again as that of Debian 12.
TRIMMED = BUILT.name.startswith("static-trimmed")
NEWER = not re.search(r"^openssl 3\.0\.", (BUILT / "libraries").read_text(), re.M)
SIZE_MAX = 4.5 if TRIMMED else (8 if NEWER else 6)
RESIDENT_MAX = 7 if NEWER and not TRIMMED else 5.3
NOBODY = 65532
NAME = "another-name.invalid"  # what the certificate of the local cloud's listener `wrongname` says
NAME_SERVER = "127.77.0.53"


def output_of(*argv):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True).stdout


def test_size():
    assert PROGRAM.stat().st_size <= SIZE_MAX * 1048576


def test_symbols_are_in_a_file_of_their_own():
    sections = output_of("readelf", "-SW", PROGRAM)
    assert ".symtab" not in sections and ".debug_" not in sections and ".gnu_debuglink" in sections
    debug = BUILT / "credfresh.debug"
    assert ".debug_info" in output_of("readelf", "-SW", debug)
    ids = [re.search(r"Build ID: (\w{40})", output_of("readelf", "-nW", path))[1] for path in (PROGRAM, debug)]
    assert ids[0] == ids[1]


def test_no_folder_of_this_machine_is_in_it():
    for path in (PROGRAM, BUILT / "credfresh.debug", BUILT / "credfresh.spdx.json"):
        content = path.read_bytes()
        assert str(REPO).encode() + b"/" not in content and b"/static/work." not in content, path


def test_bill_of_materials_and_version_agree():
    document = json.loads((BUILT / "credfresh.spdx.json").read_text())
    assert (document["spdxVersion"], document["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
    packages = {p["name"]: p for p in document["packages"]}
    own = packages.pop("credfresh")
    assert own["checksums"][0]["checksumValue"] == hashlib.sha256(PROGRAM.read_bytes()).hexdigest()
    lines = output_of(PROGRAM, "version", "--verbose").splitlines()
    assert re.fullmatch(rf"credfresh {re.escape(own['versionInfo'])} \(.*\d{{4}}-\d\d-\d\d\)", lines[0])
    said = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    assert {name: p["versionInfo"] for name, p in packages.items()} == {name: rest[1] for name, rest in said.items()}
    assert {"openssl", "curl", "cjson", "expat", "libyaml", "libmicrohttpd", "glibc"} < set(packages)
    for name, (running, version, how) in said.items():
        assert how in ("archive", "rebuilt") and (running == "-" or version.startswith(running)), name
        purl = packages[name]["externalRefs"][0]["referenceLocator"]
        assert purl.startswith(f"pkg:deb/debian/{name}@") and packages[name]["licenseDeclared"] != "NOASSERTION"
        assert how == "archive" or len(packages[name]["checksums"][0]["checksumValue"]) == 64
    known = {"SPDXRef-DOCUMENT"} | {e["SPDXID"] for e in document["packages"] + document["files"]}
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known
    assert all({c["algorithm"] for c in f["checksums"]} == {"SHA1", "SHA256"} for f in document["files"])


def test_resident_memory(agent_factory, cloud):
    """At rest with one credential, the program read from the disk: pages of a file that was just built count as its own
    until they are written, and lie in memory in larger pieces."""
    agent = agent_factory(cloud).configure()
    program = shutil.copy(PROGRAM, agent.dir / "credfresh")
    with open(program, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    agent.process = subprocess.Popen([str(program), "run", "-c", str(agent.config_path)], stdout=subprocess.DEVNULL,
                                     stderr=open(agent.log_path, "wb"))
    agent.wait_state("fresh")
    rollup = pathlib.Path(f"/proc/{agent.process.pid}/smaps_rollup").read_text()
    resident = int(re.search(r"^Rss:\s+(\d+) kB", rollup, re.M)[1])
    assert resident <= RESIDENT_MAX * 1024, rollup


class EmptyRoot:
    """A root directory with the program, its configuration, a token and a CA file, and folders to write to. It is entered
    as a user without rights. The cloud has a name, which nothing but the files in there can explain."""

    def __init__(self, directory, cloud):
        self.dir = directory
        self.cloud = cloud
        self.enter = ["/usr/sbin/chroot", f"--userspec={NOBODY}:{NOBODY}", "--groups=", str(directory)]
        for folder in ("etc", "run/credentials", "run/credfresh"):
            (self.dir / folder).mkdir(parents=True)
        shutil.copy(PROGRAM, self.dir / "credfresh")
        shutil.copy(cloud.volumes["demo"] / "token", self.dir / "token")
        (self.dir / "token").chmod(0o644)
        for path in ("run/credentials", "run/credfresh"):
            os.chown(self.dir / path, NOBODY, NOBODY)

    def configure(self, ca=None):
        shutil.copy(ca or self.cloud.ca, self.dir / "ca.pem")
        port = self.cloud.ready["sts_wrongname_url"].rstrip("/").rsplit(":", 1)[1]
        template = Agent(self.dir.parent / "template", self.cloud)
        template.configure(template.credential(
            token={"file": "/token"}, publish={"directory": "/run/credentials/demo", "files": [
                {"name": "credentials", "format": "aws-credentials"}]},
            exchange={"aws": {"role_arn": ROLE, "region": "us-east-1", "endpoint": f"https://{NAME}:{port}",
                              "ca_file": "/ca.pem"}}), state_dir="/run/credfresh")
        shutil.copy(template.config_path, self.dir / "credfresh.yaml")
        return self

    def names(self, hosts="", resolver=""):
        (self.dir / "etc/hosts").write_text(hosts)
        (self.dir / "etc/resolv.conf").write_text(resolver)
        return self

    def run(self, *argv, wrapper=()):
        return subprocess.run([*wrapper, *self.enter, "/credfresh", *argv], capture_output=True, text=True, timeout=120,
                              env={})


class NameServer:
    """Answers questions for NAME with 127.0.0.1. TRUNCATED: over UDP it says that the answer is too long for it."""

    def __init__(self, truncated):
        self.truncated = truncated
        self.asked = []
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.tcp = socket.socket()
        for s in (self.udp, self.tcp):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((NAME_SERVER, 53))
        self.tcp.listen(8)
        for work in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=work, daemon=True).start()

    def answer(self, question, cut):
        name, kind = question[12:-4], struct.unpack(">H", question[-4:-2])[0]
        known = name == b"".join(bytes([len(part)]) + part.encode() for part in NAME.split(".")) + b"\0"
        here = known and kind == 1 and not cut
        flags = 0x8180 | (0x0200 if cut else 0) | (0 if known else 3)
        head = question[:2] + struct.pack(">HHHHH", flags, 1, int(here), 0, 0)
        return head + question[12:] + (b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + b"\x7f\0\0\1" if here else b"")

    def serve_udp(self):
        while True:
            try:
                question, asker = self.udp.recvfrom(512)
            except OSError:
                return
            if not question:  # shut down
                return
            self.asked.append("udp")
            self.udp.sendto(self.answer(question, self.truncated), asker)

    def serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                while length := stream.read(2):
                    answer = self.answer(stream.read(struct.unpack(">H", length)[0]), False)
                    self.asked.append("tcp")
                    connection.sendall(struct.pack(">H", len(answer)) + answer)

    def stop(self):
        for s in (self.udp, self.tcp):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()


@pytest.fixture
def empty_root(tmp_path, cloud):
    if os.geteuid() != 0:
        pytest.skip("chroot takes root")
    return EmptyRoot(tmp_path / "root", cloud).configure()


@pytest.fixture
def name_server():
    made = []

    def make(truncated=False):
        try:
            made.append(NameServer(truncated))
        except OSError as error:
            pytest.skip(f"port 53 of {NAME_SERVER} cannot be had: {error}")
        return made[0]

    yield make
    for server in made:
        server.stop()


def published_by(root):
    path = root.dir / "run/credentials/demo/credentials"
    assert os.stat(path).st_uid == NOBODY
    assert "aws_access_key_id" in (path.parent / path.resolve().relative_to(path.parent.resolve())).read_text()


def test_runs_in_an_empty_root_with_hosts(empty_root):
    done = empty_root.names(hosts=f"127.0.0.1 {NAME}\n").run("once", "-c", "/credfresh.yaml")
    assert done.returncode == 0, done.stderr
    published_by(empty_root)
    assert {p.name for p in empty_root.dir.iterdir()} == {"ca.pem", "credfresh", "credfresh.yaml", "etc", "run", "token"}


@pytest.mark.parametrize("truncated", [False, True])
def test_runs_in_an_empty_root_with_a_name_server(empty_root, name_server, truncated):
    server = name_server(truncated)
    done = empty_root.names(resolver=f"nameserver {NAME_SERVER}\n").run("once", "-c", "/credfresh.yaml")
    assert done.returncode == 0, done.stderr
    published_by(empty_root)
    assert ("tcp" in server.asked) == truncated


def test_name_that_nobody_knows(empty_root, name_server):
    name_server()
    empty_root.names(resolver=f"nameserver {NAME_SERVER}\n")
    config = empty_root.dir / "credfresh.yaml"
    config.write_text(config.read_text().replace(NAME, "no-such-name.invalid"))
    done = empty_root.run("check", "--online", "-c", "/credfresh.yaml")
    assert done.returncode != 0 and "no-such-name.invalid" in done.stdout + done.stderr


def test_wrong_ca_is_refused(empty_root):
    empty_root.configure(ca=empty_root.cloud.other_ca).names(hosts=f"127.0.0.1 {NAME}\n")
    done = empty_root.run("once", "-c", "/credfresh.yaml", "--timeout", "5s")
    assert done.returncode != 0 and "certificate" in done.stderr
    assert not (empty_root.dir / "run/credentials/demo/credentials").exists()


def test_opens_nothing_of_a_system(empty_root):
    """No library, no module of a name service or of OpenSSL, no locale, no character set."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace")
    trace = empty_root.dir.parent / "trace"
    empty_root.names(hosts=f"127.0.0.1 {NAME}\n")
    done = empty_root.run("once", "-c", "/credfresh.yaml", wrapper=[
        shutil.which("strace"), "-f", "-e", "trace=open,openat,openat2,execve", "-o", str(trace)])
    assert done.returncode == 0, done.stderr
    ours = trace.read_text().split('execve("/credfresh"', 1)[1]
    opened = set(re.findall(r'open\w*\([^"]*"([^"]+)"', ours))
    assert not [path for path in opened if re.search(r"\.so(\.|$)|locale|gconv", path)], sorted(opened)


def test_runs_and_quits_in_an_empty_root(empty_root):
    empty_root.names(hosts=f"127.0.0.1 {NAME}\n")
    process = subprocess.Popen([*empty_root.enter, "/credfresh", "run", "-c", "/credfresh.yaml"], text=True, env={},
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    eventually(lambda: (empty_root.dir / "run/credfresh/control.sock").exists() or process.poll() is not None, "the agent")
    waited = empty_root.run("wait", "demo", "-c", "/credfresh.yaml")
    assert waited.returncode == 0, waited.stderr
    assert empty_root.run("quit", "-c", "/credfresh.yaml").returncode == 0
    assert process.wait(30) == 0, process.stderr.read()


@pytest.mark.skipif(not FOREIGN.exists(), reason="build-static.sh --arch=arm64 has not run")
@pytest.mark.skipif(shutil.which("qemu-aarch64-static") is None, reason="there is no qemu-aarch64-static")
def test_arm64_under_qemu(agent_factory, cloud):
    foreign = ["qemu-aarch64-static", str(FOREIGN)]
    assert "AArch64" in output_of("readelf", "-h", FOREIGN) and FOREIGN.stat().st_size <= SIZE_MAX * 1048576

    def said(*program):
        return {line.split()[0]: line.split()[1] for line in output_of(*program, "version", "--verbose").splitlines()
                if line.startswith("  ") and not line.startswith("  gcc")}

    assert said(*foreign).keys() == said(PROGRAM).keys()
    packages = {p["name"]: p["versionInfo"]
                for p in json.loads((FOREIGN.parent / "credfresh.spdx.json").read_text())["packages"]}
    for name, version in said(*foreign).items():
        assert packages[name].startswith(version), name
    agent = agent_factory(cloud).configure()
    output_of(*foreign, "check", "-c", agent.config_path)
    output_of(*foreign, "once", "-c", agent.config_path)
    assert agent.published()["identity"].startswith("arn:aws:sts::")
