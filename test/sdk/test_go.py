# SPDX-License-Identifier: MIT
"""The module for Go: its own tests, and the programs of docs/go.md with a running agent. Nothing is fetched."""
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess

import pytest

import conftest  # noqa: F401  makes `harness` importable
from harness import AS_NOBODY, REPO, eventually, let_others_in, read_text

MODULE = REPO / "go"
PAGE = (REPO / "docs/go.md").read_text()
pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go toolchain (1.19 or later)")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    # Go's cache makes the second run quick.
    cache = pathlib.Path(os.environ.get("CFR_CACHE", "/var/cache/credfresh"), "sdk/go/build")
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        cache = tmp_path_factory.mktemp("cache")
    return {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "", "GOWORK": "off", "GOCACHE": str(cache)}


def run(*command, cwd=MODULE, **how):
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=600, **how)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_its_own_tests(environment):
    run("go", "test", "-count=1", "./...", env=environment)


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_vet(environment, system):
    run("go", "vet", "./...", env={**environment, "GOOS": system, "CGO_ENABLED": "0"})


def test_layout():
    assert run("gofmt", "-l", ".") == ""


def test_it_needs_the_standard_library_only(environment):
    assert run("go", "list", "-m", "all", env=environment) == "credfresh\n"


@pytest.fixture
def build(environment, tmp_path):
    """Builds a program of the page, with the page's command; REPLACED are its paths and ours."""
    def make(number, **replaced):
        place = tmp_path / f"program{number}"
        shutil.copytree(MODULE, place / "third_party/credfresh")
        text = blocks("go")[number]
        for old, new in replaced.items():
            assert text.count(f'"{old}"') == 1
            text = text.replace(f'"{old}"', f'"{new}"')
        (place / "main.go").write_text(text)
        run("go", "mod", "init", "program", cwd=place, env=environment)
        [command] = blocks("sh")
        run("sh", "-euc", command, cwd=place, env=environment)
        run("go", "vet", ".", cwd=place, env=environment)
        run("go", "build", "-o", "program", ".", cwd=place, env=environment)
        return place / "program"
    return make


def test_the_token_socket(agent, build):
    path = agent.dir / "tokens.sock"
    program = build(0, **{"/run/credfresh-tokens.sock": path})
    agent.configure(agent.credential("api", exchange=None, publish=None, allow={}), token_socket=str(path)).start()
    agent.wait_state("fresh", "api")
    token = (agent.cloud.volumes["demo"] / "token").read_text()
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr.endswith(f" a token of {len(token)} bytes\n"), done.stderr
    if os.getuid() == 0:
        let_others_in(agent.dir, program.parent)
        refused = subprocess.run([*AS_NOBODY, program], capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1 and "add this user to allow of the credential: " in refused.stderr, refused.stderr


def certificate_at(port):
    try:
        return ssl.get_server_certificate(("127.0.0.1", port))
    except OSError:
        return None


def test_a_server_follows_its_certificate(agent, build, tmp_path):
    """Each generation is in use without a restart, and is acknowledged."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    in_use, log = tmp_path / "in-use", tmp_path / "server.log"
    program = build(1, **{"/run/credentials/web": agent.out, "/run/web/in-use": in_use, "127.0.0.1:8443": f"127.0.0.1:{port}"})
    files = [{"name": "tls.crt", "format": "certificate", "mode": "0644"}, {"name": "tls.key", "format": "private-key"}]
    agent.configure({"name": "demo", "certificate": {"dns_names": ["web.test"]}, "acknowledge": {"file": str(in_use)},
                     "publish": {"directory": str(agent.out), "files": files}},
                    service_ca={"store": str(agent.dir / "ca")})
    with open(log, "wb") as out:
        process = subprocess.Popen([program], stdout=out, stderr=out)
    try:
        agent.start()  # after the program
        for generation in range(1, 4):
            agent.wait_generation(generation)
            wanted = (agent.out / "tls.crt").read_text().split("-----END")[0].strip()
            eventually(lambda: (certificate_at(port) or "").startswith(wanted), lambda: f"generation {generation}: {read_text(log)}")
            eventually(lambda: (agent.status().get("consumers") or [{}])[0].get("generation") == generation, lambda: str(agent.status()))
            if generation < 3:
                assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
