# SPDX-License-Identifier: MIT
"""What tools/release.sh builds: it is run once, as a rehearsal, and each file is looked into."""
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile

import pytest

import conftest as real  # noqa: F401  makes `harness` importable
from harness import REPO

VERSION = re.search(r"^project\(credfresh VERSION (\S+)", (REPO / "CMakeLists.txt").read_text(), re.M)[1]
MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    to = tmp_path_factory.mktemp("release") / "out"
    done = subprocess.run(["sh", REPO / "tools/release.sh", "--rehearse", to], capture_output=True, text=True, timeout=1800,
                          env={**os.environ, "CONTAINERS_CONF": str(REPO / "test/real/containers.conf")})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    # What the build of a program warns of prevents publishing.
    assert ("which lacks later security fixes" in done.stderr) == ("without Debian's latest fixes" in done.stderr), done.stderr[-2000:]
    return to


def test_the_files(release):
    debs = {path.name for path in release.glob("*.deb")}
    assert len(debs) == 6 and all(re.fullmatch(rf"[a-z0-9-]+_{VERSION}-1_\w+\.deb", name) for name in debs), debs
    assert {path.name for path in release.iterdir()} - debs == {
        *(f"credfresh-{VERSION}-linux-{arch}{suffix}" for arch in MACHINES for suffix in ("", ".debug", ".spdx.json")),
        *(f"{name}-{VERSION}-image.tar" for name in ("credfresh", "credfresh-setup", "credfresh-demo")),
        f"credfresh-{VERSION}-py3-none-any.whl", f"credfresh-chart-{VERSION}.tgz", f"credfresh-{VERSION}.tar.gz", "NOTES.md", "SHA256SUMS"}


def test_checksums(release):
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=release, check=True)
    listed = [line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()]
    assert sorted(listed) == sorted(path.name for path in release.iterdir() if path.name != "SHA256SUMS")


@pytest.mark.parametrize("arch", MACHINES)
def test_a_program_and_its_bill_of_materials(release, arch):
    program = release / f"credfresh-{VERSION}-linux-{arch}"
    header = subprocess.run(["readelf", "-hl", program], capture_output=True, text=True, check=True).stdout
    assert MACHINES[arch] in header and "INTERP" not in header
    assert program.stat().st_size < 5.2e6, "this is not the trimmed OpenSSL"
    document = json.loads((release / f"{program.name}.spdx.json").read_text())
    assert document["name"] == f"credfresh-{VERSION}-{arch}"
    own = next(p for p in document["packages"] if p["name"] == "credfresh")
    assert own["checksums"][0]["checksumValue"] == hashlib.sha256(program.read_bytes()).hexdigest()
    assert {"openssl", "curl", "glibc"} < {p["name"] for p in document["packages"]}


def test_the_package_has_both_programs(release, tmp_path):
    [package] = release.glob(f"credfresh_{VERSION}-1_*.deb")
    subprocess.run(["dpkg-deb", "--extract", package, tmp_path], check=True)
    for name in ("credfresh", "credfresh-oidc"):
        said = subprocess.run([tmp_path / "usr/bin" / name, "version"], capture_output=True, text=True, check=True).stdout
        assert said.startswith(f"{name} {VERSION}") and (tmp_path / f"usr/share/man/man1/{name}.1.gz").exists()


def blobs(archive):
    """The files of an archive in OCI's layout, by name, and the digests of the blobs are right."""
    with tarfile.open(archive) as tar:
        files = {m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar if m.isfile()}
    for name, content in files.items():
        if name.startswith("blobs/sha256/"):
            assert hashlib.sha256(content).hexdigest() == name.rpartition("/")[2]
    return files


def blob(files, descriptor):
    return files["blobs/" + descriptor["digest"].replace(":", "/")]


@pytest.mark.parametrize("name", ["credfresh", "credfresh-setup"])
def test_an_image_has_both_architectures(release, name):
    files = blobs(release / f"{name}-{VERSION}-image.tar")
    index = json.loads(files["index.json"])
    index = json.loads(blob(files, index["manifests"][0]))
    assert {m["platform"]["architecture"] for m in index["manifests"]} == set(MACHINES)
    for entry in index["manifests"]:
        arch = entry["platform"]["architecture"]
        manifest = json.loads(blob(files, entry))
        config = json.loads(blob(files, manifest["config"]))
        assert config["architecture"] == arch
        programs = {}
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(blob(files, layer))) as tar:
                for member in tar:
                    if member.isfile() and member.mode & 0o100:
                        programs[member.name] = tar.extractfile(member).read()
        program = (release / f"credfresh-{VERSION}-linux-{arch}").read_bytes()
        assert programs["credfresh"] == program
        if name == "credfresh":
            assert (config["config"]["User"], config["config"]["Entrypoint"]) == ("65532:65532", ["/credfresh"])
            assert list(programs) == ["credfresh"]
        else:
            # The machine of an ELF header: 62 or 183.
            assert programs["bin/busybox"][18:20] == program[18:20]


def test_the_demonstration_is_an_image(release):
    files = blobs(release / f"credfresh-demo-{VERSION}-image.tar")
    manifest = json.loads(blob(files, json.loads(files["index.json"])["manifests"][0]))
    config = json.loads(blob(files, manifest["config"]))["config"]
    assert config["User"] == "65532:65532" and config["Entrypoint"][-1] == "build/dev"


def test_notes_and_sources(release):
    notes = (release / "NOTES.md").read_text()
    assert notes.strip() in (REPO / "CHANGELOG.md").read_text() and "### Added" in notes and "## [" not in notes
    for name, wanted in ((f"credfresh-{VERSION}.tar.gz", f"credfresh-{VERSION}/CMakeLists.txt"),
                         (f"credfresh-chart-{VERSION}.tgz", "credfresh/Chart.yaml")):
        with tarfile.open(release / name) as tar:
            assert wanted in tar.getnames()
