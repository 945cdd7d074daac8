# SPDX-License-Identifier: MIT
"""A Secret of 1 MiB and an answer of 4 MiB take at most 5 MiB of memory, for a moment: text and values of what is accepted."""
import http.server
import json
import os
import threading

import pytest

from conftest import CREDFRESH, Mounted, eventually

MIB = 1048576
MOST_KIB = 5 * 1024
SANITIZED = b"__asan_init" in open(CREDFRESH, "rb").read()

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="the memory of a process that is not dumpable is for root"),
              pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")]


def many(size):
    return "[" + "0," * ((size - 4) // 2) + "0]"


def deep(size):
    return '{"a":' * (size // 6 - 10) + "1" + "}" * (size // 6 - 10)


def keys(size):
    return "{" + ",".join(f'"k{i}":{i}' for i in range(size // 16)) + "}"


CLOUDS = 'clouds: {{openstack: {{auth: {{auth_url: "https://x.example/v3", application_credential_id: i, application_credential_secret: s}}, x: {}}}}}'
SECRETS = {
    "clouds of many values": {"clouds.yaml": CLOUDS.format(many(MIB - 400))},
    "clouds of many keys": {"clouds.yaml": CLOUDS.format(keys(MIB // 2))},
    "clouds of one long value": {"clouds.yaml": CLOUDS.format('"' + "a" * (MIB - 400) + '"')},
    "clouds of one long value that is read": {"clouds.yaml": CLOUDS.format('"' + "a" * (MIB // 2 - 400) + '"')},
    "clouds of many lines": {"clouds.yaml": "clouds:\n" + "".join(f"  c{i}: {{a: 1, b: [2]}}\n" for i in range(MIB // 40))},
    "a key of many values": {"service_account.json": '{"type":"service_account","x":' + many(MIB - 200) + "}"},
    "a key with many levels": {"service_account.json": '{"type":"service_account","x":' + deep(MIB - 200) + "}"},
    "logins of many values": {"credentials": "[" + keys(MIB // 2) + "]"},
    "a profile of many lines": {"credentials": "[default]\n" + "a=b\n" * (MIB // 4 - 100)},
}


def memory_kb(agent, what):
    with open(f"/proc/{agent.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(what))


class Peak:
    """The private memory at rest, and the most that there was since. Resident pages of program files do not count: how many there
    are depends on the machine. The kernel's peak includes them, but they only become more, so those of now are subtracted."""

    def __init__(self, agent):
        self.agent = agent
        agent.status()
        with open(f"/proc/{agent.process.pid}/clear_refs", "w", encoding="ascii") as f:
            f.write("5")
        self.rest_kb = memory_kb(agent, "RssAnon")

    def check(self):
        most = memory_kb(self.agent, "VmHWM") - memory_kb(self.agent, "RssFile") - memory_kb(self.agent, "RssShmem")
        assert most - self.rest_kb < MOST_KIB, f"{most} KiB, at rest {self.rest_kb} KiB"


@pytest.mark.parametrize("pass_on", [False, True])
@pytest.mark.parametrize("name", list(SECRETS))
def test_a_large_secret(agent_factory, shared_cloud, name, pass_on):
    agent = agent_factory(shared_cloud)
    secret = Mounted(agent.dir / "secret").put({"nothing": "yet"})
    publish = {"directory": str(agent.out)} if pass_on else {"directory": str(agent.out), "files": [{"name": "j", "format": "json"}]}
    agent.configure(agent.credential(token=None, exchange=None, publish=publish,
                                     secret={"directory": str(secret.dir), **({"pass_on": True} if pass_on else {})})).start()
    agent.wait_generation(1) if pass_on else eventually(lambda: agent.status().get("last_error"), lambda: agent.log)
    before = (agent.generation(), agent.log.count("\n"))
    peak = Peak(agent)
    secret.put(SECRETS[name])
    eventually(lambda: (agent.generation(), agent.log.count("\n")) != before, lambda: agent.log)
    agent.status()
    peak.check()


class ApiServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), ApiHandler)
        self.answer, self.asked, self.released = answer, 0, threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class ApiHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.released.wait(30)
        self.send_response(201 if self.command == "POST" else 200)
        self.send_header("Content-Type", "application/json")
        # Without a length, so that it is not refused by that alone.
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(self.server.answer)
        except OSError:
            pass
        self.server.asked += 1
        self.close_connection = True

    do_POST = do_PATCH = do_GET


ANSWERS = {
    "many values": '{"status":{"x":' + many(4 * MIB - 100) + "}}",
    "a long value": '{"status":{"token":"' + "a" * (4 * MIB - 100) + '"}}',
    "many values, not too long": '{"data":{"x":' + many(2 * MIB - 100) + "}}",
    "a long value, not too long": '{"data":{"x":"' + "a" * (2 * MIB - 100) + '"}}',
    "a long value and many keys": '{"data":{"x":"' + "a" * (2 * MIB - 40000) + '","y":' + keys(32000) + "}}",
    "a list, not too long": '{"data":{"x":"' + "a" * (MIB // 4) + '","y":' + keys(MIB // 5) + "}}",
    "many values, short": '{"data":{"x":' + many(MIB // 4 - 100) + "}}",
}


@pytest.fixture
def api(tmp_path):
    made = []

    def make(answer):
        made.append(ApiServer(answer.encode()))
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{made[-1].server_port}"}}],
            "users": [{"name": "u", "user": {"token": "bearer-of-the-test"}}]}))
        return made[-1], str(path)

    yield make
    for one in made:
        one.released.set()
        one.shutdown()
        one.server_close()


# A target's Secret is looked at while it is listed, so that two answers may be there at once.
@pytest.mark.parametrize("use", ["token", "secret"])
@pytest.mark.parametrize("name", list(ANSWERS))
def test_a_large_answer_of_an_api_server(agent_factory, shared_cloud, api, name, use):
    server, kubeconfig = api(ANSWERS[name])
    agent = agent_factory(shared_cloud)
    if use == "token":
        wish = {"request": {"service_account": "demo", "namespace": "default", "audiences": ["a"], "kubeconfig": kubeconfig}}
        agent.configure(agent.credential(token=wish))
    else:
        agent.configure(agent.credential(publish={"secret": {"name": "s", "namespace": "default", "kubeconfig": kubeconfig,
                                                             "keys": [{"name": "j", "format": "json"}]}}))
    agent.start()
    peak = Peak(agent)
    server.released.set()
    eventually(lambda: server.asked >= 2, lambda: agent.log)
    agent.status()
    peak.check()
