# SPDX-License-Identifier: MIT
"""A client of an AWS API, written with libcredfresh, through rotations in one process: every call is made with the newest
keys, none fails, and what it acknowledges shows in the agent's status."""
import json
import os
import re
import subprocess
import threading

import pytest

from conftest import REPO, ROLE, binary, eventually, read_text

CLIENT = binary("CFR_AWS_CLIENT", str(REPO / "build/dev/test/consumer/aws_client"))
SANITIZED = b"__asan_init" in open(CLIENT, "rb").read()
GOOD = re.compile(r"(\d+) arn:aws:sts::123456789012:assumed-role/demo/\S+")
ROTATIONS = 6


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def keys():
    """The published keys of each generation, by its number."""
    return {}


class Client:
    """The running program, and every line of it so far."""

    def __init__(self, agent):
        self.errors = agent.dir / "client.err"
        with open(self.errors, "wb") as err:
            self.process = subprocess.Popen(
                [CLIENT, agent.out, agent.cloud.sts, agent.dir / "in-use"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=err, text=True,
                env={**os.environ, "AWS_CA_BUNDLE": agent.cloud.ca, "AWS_REGION": "eu-west-1", "no_proxy": "127.0.0.1"})
        self.lines = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_line(self, pattern, after=0):
        eventually(lambda: any(re.fullmatch(pattern, line) for line in self.lines[after:]),
                   lambda: f"{pattern} in {self.lines[after:]}, {read_text(self.errors)}")

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(20)
        self.reader.join(20)
        return status

    def memory(self):
        """What it can write to."""
        with open(f"/proc/{self.process.pid}/mem", "rb", buffering=0) as mem:
            for line in read_text(f"/proc/{self.process.pid}/maps").splitlines():
                where, rights = line.split()[:2]
                first, last = (int(x, 16) for x in where.split("-"))
                if rights.startswith("rw"):
                    try:
                        mem.seek(first)
                        yield line, mem.read(last - first)
                    except OSError:
                        pass

    def copies(self, secret):
        """The regions with a copy of SECRET, each as often as it has one."""
        return [region for region, data in self.memory() for _ in range(data.count(secret.encode()))]


@pytest.fixture
def client(agent):
    """Starts before there is anything."""
    agent.configure(agent.credential(acknowledge={"file": str(agent.dir / "in-use")}))
    made = Client(agent)
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.wait()
    made.reader.join(20)


def collect(agent, keys):
    doc = agent.published()
    keys[doc["generation"]] = doc["fields"]


def rotate(agent, keys):
    """The generation after one more `credfresh rotate`."""
    before = agent.generation()
    done = agent.run("rotate", "demo")
    assert done.returncode == 0, done.stderr
    agent.wait_generation(before + 1)
    collect(agent, keys)
    return agent.generation()


def acknowledged(agent):
    done = agent.run("status", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["credentials"][0]["consumers"][0]["generation"]


def test_rotations_without_a_failed_call(agent, client, keys):
    agent.start()
    agent.wait_generation(1)
    collect(agent, keys)
    for rotation in range(ROTATIONS + 1):
        generation = rotate(agent, keys) if rotation > 0 else 1
        client.wait_line(f"{generation} arn:.*")
        eventually(lambda: acknowledged(agent) == generation, lambda: agent.status())
        assert read_text(agent.dir / "in-use") == f"{generation}\n"
    assert client.process.poll() is None
    assert (client.end(), read_text(client.errors)) == (0, "")
    assert all(GOOD.fullmatch(line) for line in client.lines), client.lines
    said = [int(line.split()[0]) for line in client.lines]
    assert said == sorted(said) and set(said) == set(range(1, ROTATIONS + 2))
    calls = agent.cloud.exchanges("GetCallerIdentity")
    assert len(calls) == len(said) and {call["status"] for call in calls} == {200}


def test_keys_that_are_refused_are_not_acknowledged(agent, client, keys):
    agent.start()
    client.wait_line("1 arn:.*")
    eventually(lambda: acknowledged(agent) == 1, lambda: agent.status())
    agent.cloud.admin("/role", {"arn": ROLE}, method="DELETE")
    client.wait_line("1 error: InvalidClientTokenId")
    agent.cloud.admin("/role", {"arn": ROLE, "trust": [{"subject": "system:serviceaccount:default:demo"}]})
    client.wait_line("1 error: InvalidClientTokenId", after=len(client.lines) + 1)  # only new keys will do
    agent.cloud.fault(kind="error", code="InternalFailure", status=500, match={"action": "GetCallerIdentity"}, count=-1)
    rotate(agent, keys)
    client.wait_line("2 error: InternalFailure")
    assert acknowledged(agent) == 1
    agent.cloud.clear_faults()
    client.wait_line("2 arn:.*")
    eventually(lambda: acknowledged(agent) == 2, lambda: agent.status())
    assert client.end() == 0


@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")
def test_no_copy_of_the_keys_outlives_a_call(agent, client, keys):
    names = ("aws_secret_access_key", "aws_session_token")
    agent.start()
    agent.wait_generation(1)
    collect(agent, keys)
    for generation in (1, 2, 3):
        if generation > 1:
            rotate(agent, keys)
        client.wait_line(f"{generation} arn:.*")
    eventually(lambda: acknowledged(agent) == 3, lambda: agent.status())
    for generation in (1, 2):
        assert [client.copies(keys[generation][name]) for name in names] == [[], []]
    for name in names:  # between two calls the snapshot has the only one
        eventually(lambda: len(client.copies(keys[3][name])) == 1, lambda: f"one {name}: {client.copies(keys[3][name])}")
    assert client.end() == 0
