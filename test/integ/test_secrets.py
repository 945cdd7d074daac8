# SPDX-License-Identifier: MIT
"""No secret in logs, status, stored files, children's environments or freed memory of the agent."""
import os
import re
import resource
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import AS_NOBODY, CREDFRESH, eventually, let_others_in, read_text
from endpoint_client import free_port

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
SANITIZED = b"__asan_init" in open(CREDFRESH, "rb").read()


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


def rotate(agent):
    before = agent.generation()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_generation(before + 1)


class Secrets:
    """Everything secret that passed through the agent, with the names of the pieces."""

    def __init__(self, agent):
        self.agent = agent
        self.known = {}

    def collect(self):
        doc = self.agent.published()
        n = doc["generation"]
        self.known[f"secret access key {n}"] = doc["fields"]["aws_secret_access_key"].encode()
        self.known[f"session token {n}"] = doc["fields"]["aws_session_token"].encode()
        self.add_token(f"token {n}", (self.agent.out / "token").read_text())

    def add_token(self, name, token):
        self.known[name + "'s signature"] = token.rsplit(".", 1)[1].encode()

    def found(self, data):
        """The names of what is in DATA, whole or by a good part of it."""
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogateescape")
        return {name for name, secret in self.known.items()
                if secret in data or secret[:24] in data or secret[-24:] in data}

    def assert_absent(self, where, data):
        assert self.found(data) == set(), f"{self.found(data)} in {where}"


def proc(agent, what):
    with open(f"/proc/{agent.process.pid}/{what}", "rb") as file:
        return file.read()


def everything_said(agent, port):
    yield "the log", agent.log
    yield "the status", agent.run("status", "--json").stdout + agent.run("status").stdout
    yield "the control socket", str(agent.request("GET", "/v1/credentials")[1])
    for page in ("/metrics", "/readyz?verbose"):
        try:
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10).read()
        except urllib.error.HTTPError as error:
            text = error.read()
        yield page, text
    for path in agent.state.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()
    yield "the environment", proc(agent, "environ")
    yield "the arguments", proc(agent, "cmdline")


def test_nothing_secret_is_said_or_kept(agent):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    seen = agent.dir / "hook-saw"
    hook = ["/bin/sh", "-c", f"(env; tr '\\0' '\\n' < /proc/$$/cmdline; ls -l /proc/$$/fd) >> {seen}; echo said"]
    bad_hook = ["/bin/sh", "-c", "exit 7"]
    token = agent.dir / "token"
    token.write_text(agent.cloud.token())
    agent.configure(agent.credential(token={"file": str(token)}, reload=[{"exec": hook}, {"exec": bad_hook}, {
        "http": {"url": f"http://127.0.0.1:{port}/nothing"}}]), listen=f"127.0.0.1:{port}")
    secrets = Secrets(agent)
    agent.start()
    for generation in (1, 2, 3):
        agent.wait_generation(generation)
        secrets.collect()
        if generation < 3:
            rotate(agent)
    # Failures: answers that repeat the token, that are cut, that hold a credential which is refused.
    text = token.read_text()
    faults = [{"kind": "error", "code": "InvalidIdentityToken", "message": f"bad token {text} here"},
              {"kind": "status", "status": 500, "body": text, "content_type": "text/plain"},
              {"kind": "status", "status": 400, "body": f"<ErrorResponse><Error><Code>{text}</Code></Error></ErrorResponse>"},
              {"kind": "truncate", "bytes": 900}, {"kind": "short_life", "s": 60},
              {"kind": "expiration", "value": "never"}, {"kind": "redirect", "location": f"https://127.0.0.1/?t={text}"}]
    for fault in faults:
        failures = agent.status()["consecutive_failures"]
        agent.cloud.fault(**fault, count=1)
        # A rotation by request would welcome a shorter life, so the token's renewal is what asks.
        text = agent.cloud.token()
        secrets.add_token(f"token of {fault['kind']}", text)
        token.with_name("new").write_text(text)
        token.with_name("new").rename(token)
        eventually(lambda: agent.status()["consecutive_failures"] > failures or
                   agent.status()["generation"] > 3, f"the failure {fault}:\n{agent.log}")
        agent.cloud.clear_faults()
    # And tokens that are none.
    for text in ("no-jwt-but-secret-" + "s" * 60 + ".a.b", "eyJub3QiOiJzZWNyZXQtMDEyMzQ1Njc4OTAxMjM0NTY3ODkifQ"):
        secrets.known["garbage " + text[:6]] = text.encode()
        token.write_text(text)
        agent.request("POST", "/v1/credentials/demo/rotate")
        eventually(lambda: (agent.status()["last_error"] or {}).get("code") == "token", "the refusal\n" + agent.log)
    eventually(lambda: "CREDFRESH_GENERATION=3" in read_text(seen), "the hooks")
    assert len(secrets.known) > 15
    for where, what in everything_said(agent, port):
        secrets.assert_absent(where, what)
    secrets.assert_absent("the hook", read_text(seen))
    # What this test can find at all, it finds.
    assert secrets.found((agent.out / "creds.json").read_text())


def test_commands_say_nothing_secret(agent):
    token = (agent.cloud.volumes["demo"] / "token")
    secrets = Secrets(agent)
    assert agent.run("once").returncode == 0
    secrets.collect()
    for argv in (["check", "--online"], ["once"]):
        done = agent.run(*argv)
        secrets.assert_absent(argv, done.stdout + done.stderr)
    done = subprocess.run([CREDFRESH, "inspect", str(token)], capture_output=True, text=True, check=True)
    assert "system:serviceaccount:default:demo" in done.stdout
    secrets.assert_absent("inspect", done.stdout + done.stderr)


# ---- the process ----

def test_no_core_dumps(agent):
    agent.start()
    limits = proc(agent, "limits").decode()
    assert re.search(r"Max core file size +0 +0 ", limits)


def test_every_command_is_without_core_dumps(agent):
    """Not only `run`: `check --online` and others hold tokens, too."""
    process = subprocess.Popen([CREDFRESH, "wait", "nobody", "--timeout", "30s", "-s", str(agent.dir / "no.sock")],
                               stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096)))
    try:
        eventually(lambda: re.search(r"Max core file size +0 +0 ", read_text(f"/proc/{process.pid}/limits")),
                   "the limit of core dumps")
    finally:
        process.kill()
        process.wait()


@root_only
def test_nobody_reads_its_memory(agent):
    """Of a process that is not dumpable everything below /proc belongs to root, whichever user runs it."""
    let_others_in(agent.dir, agent.cloud.dir, agent.cloud.volumes["demo"])
    os.chown(agent.dir, 65534, 65534)
    agent.start(wrapper=AS_NOBODY)
    agent.wait_generation(1)
    assert os.stat(f"/proc/{agent.process.pid}/mem").st_uid == 0
    for what in ("mem", "environ", "maps"):
        done = subprocess.run([*AS_NOBODY, "head", "-c1", f"/proc/{agent.process.pid}/{what}"], capture_output=True,
                              cwd="/")
        assert done.returncode != 0 and b"ermission" in done.stderr, (what, done)


def memory(agent):
    """(region, bytes) of everything that the process can write to."""
    with open(f"/proc/{agent.process.pid}/mem", "rb", buffering=0) as mem:
        for line in proc(agent, "maps").decode().splitlines():
            where, rights, _, _, _, *name = line.split(None, 5)
            first, last = (int(x, 16) for x in where.split("-"))
            if "r" not in rights or "w" not in rights:
                continue
            try:
                mem.seek(first)
                yield f"{where} {' '.join(name)}", mem.read(last - first)
            except OSError:
                pass


def in_memory(agent, secrets):
    return sorted(f"{name} in {region} at +{data.find(secrets.known[name][:24]):#x}"
                  for region, data in memory(agent) for name in secrets.found(data))


@root_only
@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")
@pytest.mark.parametrize("answers", ["by XML", "cut", "with a refused life"])
def test_nothing_secret_stays_in_memory(agent, answers):
    agent.start()
    secrets = Secrets(agent)
    agent.wait_generation(1)
    for _ in range(3):
        secrets.collect()
        rotate(agent)
    secrets.collect()
    last = agent.generation()
    if answers != "by XML":
        fault = {"kind": "truncate", "bytes": 900} if answers == "cut" else {"kind": "short_life", "s": 60}
        agent.cloud.fault(**fault, count=1)
        agent.cloud.admin("/volume/demo/renew", {})
        agent.wait_state("backoff")
        if answers == "cut":  # the token is published with the last session
            agent.wait_generation(last + 1)
        secrets.add_token("the renewed token", (agent.cloud.volumes["demo"] / "token").read_text())
    else:
        agent.wait_state("fresh")
    # The last session alone stays: a token that comes while the cloud is away is published with it.
    found = [line for line in in_memory(agent, secrets)
             if not line.startswith((f"secret access key {last} ", f"session token {last} "))]
    assert found == [], "\n".join(found)


@root_only
@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")
def test_what_is_in_memory_is_found(agent):
    """The counterpart of the test above: while an exchange is under way, the token has to be there."""
    agent.start()
    agent.wait_generation(1)
    secrets = Secrets(agent)
    agent.cloud.fault(kind="delay", ms=2000, count=1)
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_state("exchanging")
    secrets.add_token("the renewed token", (agent.cloud.volumes["demo"] / "token").read_text())
    assert in_memory(agent, secrets)
    agent.wait_generation(2)
    agent.wait_state("fresh")
    assert in_memory(agent, secrets) == []


# What is sent with a client's secret: the first line and more of the head. The secret is as long as an `authorization` file's.
REQUESTS = {
    "answered": ("GET /nothing", ""),
    "with a length twice": ("GET /nothing", "Content-Length: 0\r\nContent-Length: 0\r\n"),
    "with a bad name": ("GET /nothing", "X One: a\r\n"),
    "with a body that is too large": ("POST /nothing", "Content-Length: 99999\r\n"),
    "with a coding": ("POST /nothing", "Transfer-Encoding: chunked\r\n"),
    "with a long query": ("GET /nothing?" + "q" * 5000, ""),
    "with another host": ("GET /nothing", "Host: evil.example\r\n"),
    "with a line without a colon": ("GET /nothing", "X-One\r\n"),
}


@root_only
@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")
@pytest.mark.parametrize("header", ["Authorization", "X-IDENTITY-HEADER", "Secret", "X-aws-ec2-metadata-token"])
def test_no_clients_secret_stays_in_memory(agent, header):
    """Whether the request is answered or refused, and by what."""
    at, health = (f"127.0.0.1:{free_port()}" for _ in range(2))
    agent.configure(listen=health, endpoints=[{"listen": at, "ec2_imds": {"credential": "demo"}}]).start()
    agent.wait_state("fresh")
    for where in (at, health):
        for number, (name, (line, more)) in enumerate(REQUESTS.items()):
            secrets = Secrets(agent)
            secrets.known[name] = f"{number}Zq7Kx9Lw2Rt8Vb5Nc4Gm6Hd3Js1Pf0Yw-{where[-2:]}".ljust(43, "Q").encode()
            raw = f"{line} HTTP/1.1\r\nHost: {where}\r\n".encode() + header.encode() + b": " + secrets.known[name]
            host, port = where.split(":")
            with socket.create_connection((host, int(port)), timeout=10) as s:
                s.sendall(raw + f"\r\n{more}Connection: close\r\n\r\n".encode())
                try:
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(4096):
                        pass
                except OSError:  # it may be reset
                    pass
            eventually(lambda: in_memory(agent, secrets) == [], f"the end of the secret of the request {name} to {where}")
