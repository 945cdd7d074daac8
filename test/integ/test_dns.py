# SPDX-License-Identifier: MIT
"""A name server that never answers: everything else goes on, and every program ends in time."""
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import CREDFRESH, eventually, needs_namespace
from endpoint_client import ask, free_port
from test_endpoints import container, secret_of

DEAD = "https://sts.dead.example"
SEARCH = "search demo.svc.cluster.example svc.cluster.example cluster.example corp.example"
RESOLVERS = {
    "ndots": SEARCH + "\noptions ndots:5\n",
    "patient": SEARCH + "\noptions timeout:30 attempts:5\n",
}
SILENCE_S = 4.5  # an answer that comes within it did not wait for a name server, for which glibc waits 5 s and more


class Silent:
    """A name server that takes every question and answers none, and the resolv.conf that names it."""

    def __init__(self, directory, options):
        self.address = f"127.{os.getpid() >> 16 & 255 | 1}.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind((self.address, 53))
        except OSError as e:
            pytest.skip(f"no port 53 for a name server: {e}")
        self.path = directory / "resolv.conf"
        self.path.write_text(f"nameserver {self.address}\n{options}")

    def questions(self):
        n = 0
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(4096)
                n += 1
        except BlockingIOError:
            return n

    @property
    def wrapper(self):
        return ("unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"', "sh", str(self.path))


@pytest.fixture(params=sorted(RESOLVERS))
def silent(tmp_path, request):
    needs_namespace("-m")
    made = Silent(tmp_path, RESOLVERS[request.param])
    yield made
    made.socket.close()


class Prober:
    """Asks without a pause, and notes the longest wait for an answer."""

    def __init__(self, agent, *asks):
        self.agent, self.asks = agent, asks
        self.longest_s, self.longest, self.count, self.failed = 0.0, "", 0, None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.over.is_set():
            for one in self.asks:
                begun = time.monotonic()
                try:
                    one()
                except (OSError, AssertionError) as e:
                    self.failed = self.failed or f"{type(e).__name__}: {e}"
                took = time.monotonic() - begun
                if took > self.longest_s:
                    self.longest_s, self.longest = took, f"{one.__name__} at {time.strftime('%T')}: {took:.3f} s\n{self.agent.log}"
                self.count += 1
            time.sleep(0.01)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(30)


def dead(agent, name="dead", **over):
    aws = agent.credential()["exchange"]["aws"]
    return agent.credential(name, exchange={"aws": {**aws, "endpoint": DEAD}}, **over)


def serve(agent, *credentials):
    return serve_again(agent, f"127.0.0.1:{free_port()}", *credentials)


def serve_again(agent, at, *credentials):
    agent.configure(agent.credential(), *credentials, endpoints=[{"listen": at, "aws_container": container(agent)}])
    return at


def probes(agent, at):
    def endpoint():
        assert ask(at, "/aws/demo", headers={"Authorization": secret_of(agent)}, timeout=120).status == 200

    def control():
        assert agent.request("GET", "/livez")[0] == 200

    return endpoint, control


def failures(agent, name="dead"):
    return agent.status(name).get("consecutive_failures", 0)


def prober_of(agent, at):
    return Prober(agent, *probes(agent, at))


def check_answers(prober):
    assert prober.failed is None and prober.count > 100
    assert prober.longest_s < SILENCE_S, prober.longest


def test_everything_else_is_answered(agent, silent):
    """At the start, when lookups fail, at a renewal of another credential, and in a reload that drops a lookup."""
    at = serve(agent, dead(agent))
    agent.start(wrapper=silent.wrapper)
    agent.wait_state("fresh")
    with prober_of(agent, at) as prober:
        eventually(lambda: failures(agent) >= 1, lambda: f"a lookup that failed:\n{agent.log}")
        assert "name servers have not answered" in agent.status("dead")["last_error"]["message"]
        assert agent.request("POST", "/v1/credentials/demo/rotate", "{}")[0] == 202
        agent.wait_generation(2)
        agent.wait_state("exchanging", "dead")
        serve_again(agent, at)
        assert agent.request("POST", "/v1/reload", "")[0] == 200
    check_answers(prober)
    assert silent.questions() > 0


def test_the_agent_ends_in_time(agent, silent):
    """The grace of work under way is all that it takes; a second signal ends that, too."""
    serve(agent, dead(agent))
    credentials = json.loads(agent.config_path.read_text())["credentials"]
    for grace_s, signals in ((2, 1), (300, 2)):
        agent.configure(*credentials, stop_grace=f"{grace_s}s").start(wrapper=silent.wrapper)
        agent.wait_state("exchanging", "dead")
        eventually(silent.questions, "a question")
        begun = time.monotonic()
        for _ in range(signals):
            agent.process.send_signal(signal.SIGTERM)
            eventually(lambda: "stopping" in agent.log, "the first signal's effect")
        assert agent.process.wait(20) == 0
        took_s = time.monotonic() - begun
        assert took_s < grace_s + SILENCE_S and (signals == 2 or took_s >= grace_s)
        agent.log_path.unlink()


@pytest.mark.parametrize("command", ["once", "get", "exec", "doctor", "check"])
def test_programs_end_in_time(agent, silent, command):
    if command != "check":
        agent.configure(dead(agent, "demo"), stop_grace="1s")
    else:
        serve(agent, dead(agent))
    argv = {
        "once": ("once", "--timeout", "3s"),
        "get": ("get", "aws", "demo", "--timeout", "3s"),
        "exec": ("exec", "--timeout", "3s", "--", "true"),
        "doctor": ("doctor", "--timeout", "3s"),
        "check": ("check",),
    }[command]
    begun = time.monotonic()
    done = subprocess.run([*silent.wrapper, CREDFRESH, argv[0], "-c", str(agent.config_path), *argv[1:]],
                          capture_output=True, text=True, timeout=120, cwd=agent.dir, env={**os.environ, "NOTIFY_SOCKET": ""})
    took_s = time.monotonic() - begun
    assert took_s < 5, (took_s, done.stdout + done.stderr)
    assert (done.returncode == 0) == (command == "check"), done.stdout + done.stderr


def test_lookups_that_go_on_are_limited(agent, silent):
    """Each holds a thread and descriptors as long as resolv.conf says; those of one server leave room for others."""
    credentials = [dead(agent, f"dead{i}") for i in range(40)]
    at = serve(agent, *credentials)
    agent.start(wrapper=silent.wrapper)
    agent.wait_state("fresh")
    with prober_of(agent, at) as prober:
        eventually(lambda: "is not looked up now" in agent.log, lambda: f"the limit:\n{agent.log}")
        assert len(os.listdir(f"/proc/{agent.process.pid}/task")) <= 1 + 8 + 16
        agent.cloud.admin("/stats/reset", {})
        assert agent.request("POST", "/v1/credentials/demo/rotate", "{}")[0] == 202
        agent.wait_generation(2)
        eventually(lambda: prober.count > 100, "enough answers to judge by")
    check_answers(prober)
