# SPDX-License-Identifier: MIT
"""What the agent reports: health, metrics, its socket, the service manager, the log."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from conftest import AS_NOBODY, eventually
from endpoint_client import free_port
from test_hung_disk import frozen  # noqa: F401

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


class Health:
    """The pages on the listen address."""

    def __init__(self, agent, *credentials, **over):
        self.port = free_port()
        agent.configure(*credentials, listen=f"127.0.0.1:{self.port}", **over)

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def wait(self, path, status):
        def good():
            try:
                return self.get(path)[0] == status
            except urllib.error.URLError:
                return False

        eventually(good, f"{status} of {path}")
        return self.get(path)[1]


# ---- readiness ----

def test_not_ready_before_the_first_publish(agent):
    token = agent.dir / "token"
    health = Health(agent, agent.credential(token={"file": str(token)}))
    agent.start()
    assert health.get("/livez") == (200, "ok\n")
    status, text = health.get("/readyz")
    assert status == 503 and text == f"demo: not published yet: waiting for the token file {token}, which does not exist yet\n"
    status, text = health.get("/readyz?verbose")
    assert status == 503 and text.startswith("[-]demo failed: not published yet") and text.endswith("not ready\n")
    token.write_text(agent.cloud.token())
    health.wait("/readyz", 200)
    assert health.get("/readyz") == (200, "ok\n")
    assert re.fullmatch(r"\[\+\]demo ok, expires in (59 min \d+ s|1 h)\nok\n", health.get("/readyz?verbose")[1])


def test_not_ready_after_a_required_one_expired(cloud_factory, agent_factory):
    cloud = cloud_factory(speed=900)  # an hour lasts four seconds
    agent = agent_factory(cloud)
    health = Health(agent)
    agent.start()
    agent.wait_generation(1)
    health.wait("/readyz", 200)

    def said(text, start):
        return eventually(lambda: next((line for line in agent.log.splitlines() if text in line and start in line), None),
                          lambda: f"no \"{text}\" in {agent.log}")

    cloud.admin("/outage", {"on": True})
    text = health.wait("/readyz", 503)
    assert re.match(r"demo: expired .* ago: ", text), text
    assert agent.published()["generation"] >= 1 and not agent.status()["ready"]
    page = health.get("/metrics")[1]
    assert 'credfresh_credential_ready{credential="demo"} 0' in page
    said("has expired; it could not be renewed for", " error demo ")
    said("not ready any more: demo", " warn ")
    cloud.admin("/outage", {"on": False})
    health.wait("/readyz", 200)
    assert re.search(r"; it was expired for ", said("recovered after ", " info  demo "))
    said("ready again, after ", " info ")


def test_the_first_line_says_what_was_started(agent):
    agent.configure(agent.credential(), agent.credential("other")).start()
    agent.wait_generation(1)
    lines = agent.log.splitlines()
    assert re.search(rf" info  credfresh [0-9.]+ with 2 credentials of {agent.config_path}; sandbox: \w", lines[0]), agent.log


def test_an_optional_one_may_be_missing(agent):
    health = Health(agent, agent.credential(),
                    agent.credential("extra", required=False, token={"file": str(agent.dir / "nothing")}))
    agent.start()
    health.wait("/readyz", 200)
    assert "[-]extra failed (not required): not published yet" in health.get("/readyz?verbose")[1]
    assert "ready: every required credential is published" in agent.log


def test_one_of_two_required_is_missing(agent):
    health = Health(agent, agent.credential(), agent.credential("extra", token={"file": str(agent.dir / "nothing")}))
    agent.start()
    agent.wait_generation(1)
    status, text = health.get("/readyz")
    assert status == 503 and text.startswith("extra: ") and "demo" not in text
    assert "ready: every" not in agent.log


def test_a_restart_is_ready_at_once_with_what_stands(agent):
    health = Health(agent)
    agent.start()
    agent.wait_generation(1)
    agent.kill()
    agent.cloud.admin("/outage", {"on": True})
    agent.start()
    assert health.wait("/readyz", 200) == "ok\n"


def test_other_pages(agent):
    health = Health(agent)
    agent.start()
    assert agent.request("GET", "/")[1].endswith("/livez\n/readyz\n/readyz?verbose\n/metrics\n")
    for path in ("/v1/credentials", "/nothing", "/metrics/", "//metrics"):
        assert health.get(path)[0] == 404, path
    request = urllib.request.Request(f"http://127.0.0.1:{health.port}/metrics", method="POST", data=b"")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 405 and refused.value.headers["Allow"] == "GET, HEAD"
    head = urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{health.port}/metrics", method="HEAD"),
                                  timeout=10)
    assert head.read() == b"" and int(head.headers["Content-Length"]) > 1000


# ---- the status page ----

def test_status_page(agent):
    hook = agent.dir / "reload<b>"
    hook.symlink_to("/bin/true")
    health = Health(agent, agent.credential(reload=[{"exec": [str(hook)]}]),
                    agent.credential("extra", required=False, token={"file": str(agent.dir / "no&thing")}))
    agent.start()
    agent.wait_generation(1)
    eventually(lambda: agent.status("extra").get("last_error"), lambda: agent.log)
    with urllib.request.urlopen(f"http://127.0.0.1:{health.port}/", timeout=10) as answer:
        page = answer.read().decode()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["X-Content-Type-Options"] == "nosniff"
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["form-action"] == "'none'" and "script-src" not in policy
    assert "<title>1 of 2 ready - credfresh</title>" in page and "no&amp;thing" in page and "/reload&lt;b&gt;" in page
    assert re.findall("<h2>(.*?)</h2>", page) == ["extra", "demo"]
    assert re.search(r'<rect class="good" x="95" y="12" width="1" height="8"/>', page.partition("<h2>demo</h2>")[2])
    assert re.search(r'<rect class="bad" x="95" ', page.partition("<h2>demo</h2>")[0])
    for secret in json.loads((agent.out / "creds.json").read_text())["fields"].values():
        assert len(secret) < 20 or secret not in page
    assert "no-store" in urllib.request.urlopen(f"http://127.0.0.1:{health.port}/livez", timeout=10).headers["Cache-Control"]


def test_status_page_remembers_over_a_reload(agent):
    health = Health(agent, agent.credential(token={"file": str(agent.dir / "nothing")}))
    agent.start()
    eventually(lambda: '<rect class="bad" x="95"' in health.get("/")[1], lambda: health.get("/")[1])
    Health.__init__(health, agent, agent.credential())
    assert agent.run("reload").returncode == 0, agent.log
    agent.wait_generation(1)
    assert '<rect class="bad" x="95"' in health.get("/")[1], "the worst of a slot stays"


# ---- metrics ----

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? '
                    r'([0-9.eE+-]+|NaN|[+-]Inf)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')


def parse_metrics(page):
    """{(name, labels): value} of a page in Prometheus' text format; strict."""
    types, samples, family = {}, {}, None
    assert page.endswith("\n")
    for line in page.splitlines():
        if line.startswith("# HELP ") or line.startswith("# TYPE "):
            _, what, name, text = line.split(" ", 3)
            if what == "TYPE":
                assert name not in types and text in ("counter", "gauge", "histogram"), line
                types[name] = text
                family = name
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name = match[1]
        base = re.sub("_(bucket|sum|count)$", "", name) if types.get(family) == "histogram" else name
        assert base == family, f"{line} stands outside its family"
        assert types[family] != "counter" or name.endswith("_total"), name
        key = name, tuple(sorted(LABEL.findall(match[2] or "")))
        assert key not in samples, line
        samples[key] = float(match[3])
    return samples


def test_metrics(agent):
    health = Health(agent, agent.credential(reload=[{"exec": ["/bin/true"]}]),
                    agent.credential("extra", required=False, token={"file": str(agent.dir / "nothing")}))
    agent.start()
    agent.wait_state("fresh")
    agent.cloud.fault(kind="error", code="Throttling", status=400, count=1)
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_generation(2)
    agent.wait_state("fresh")
    page = health.get("/metrics")[1]
    m = parse_metrics(page)

    def value(name, **labels):
        return m[name, tuple(sorted({"credential": "demo", **labels}.items()))]

    assert abs(value("credfresh_credential_expiry_timestamp_seconds") - time.time() - 3600) < 60
    assert abs(value("credfresh_credential_last_success_timestamp_seconds") - time.time()) < 60
    assert value("credfresh_credential_generation") == 2 and value("credfresh_credential_ready") == 1
    refreshes = {dict(labels)["result"]: n for (name, labels), n in m.items()
                 if name.startswith("credfresh_") and name.endswith("_total") and dict(labels).get("credential") == "demo"
                 and "result" in dict(labels) and "hook" not in name}
    assert refreshes["ok"] == 2 and refreshes["retry"] == 1 and refreshes["stop"] == 0
    buckets = [n for (name, labels), n in m.items() if name.endswith("duration_seconds_bucket")
               and dict(labels)["credential"] == "demo"]
    assert buckets == sorted(buckets) and buckets[-1] == 3
    assert [n for (name, labels), n in m.items() if name.endswith("duration_seconds_count")
            and dict(labels)["credential"] == "demo"] == [3]
    assert any(name == "credfresh_build_info" and "version" in dict(labels) for name, labels in m)
    assert m["credfresh_config_last_reload_successful", ()] == 1
    assert any("hook" in name and n == 2 for (name, labels), n in m.items())
    assert ("credfresh_credential_expiry_timestamp_seconds", (("credential", "extra"),)) not in m
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# ---- the control socket ----

def raw(agent, data, limit=1 << 20):
    """Everything that is answered to these bytes until the connection ends or rests."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(str(agent.socket))
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = b""
        try:
            while len(answer) < limit and (more := s.recv(65536)):
                answer += more
        except OSError:
            pass
        return answer


def test_the_sockets_modes(agent):
    agent.start()
    assert oct(agent.socket.stat().st_mode) == "0o140600"
    assert oct(agent.state.stat().st_mode & 0o7777) == "0o700"
    for path in agent.state.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    agent.stop()
    assert not agent.socket.exists()


def test_answers(agent):
    agent.start()
    agent.wait_generation(1)
    for method, path, body, status in [
            ("GET", "/v1/credentials", None, 200), ("GET", "/v1/credentials/demo", None, 200),
            ("GET", "/v1/credentials/nobody", None, 404), ("GET", "/v1/", None, 404), ("GET", "/v2/x", None, 404),
            ("GET", "/livez", None, 200), ("GET", "/readyz", None, 200), ("GET", "/metrics", None, 200),
            ("POST", "/v1/credentials", "", 405), ("DELETE", "/v1/credentials/demo", None, 405),
            ("GET", "/v1/credentials/demo/rotate", None, 405), ("GET", "/v1/reload", None, 405),
            ("PUT", "/v1/credentials/demo/rotate", "", 405),
            ("POST", "/v1/credentials/nobody/rotate", "", 404), ("POST", "/v1/credentials/demo/burn", "", 404),
            ("POST", "/v1/credentials/demo/rotate", "{", 400), ("POST", "/v1/credentials/demo/rotate", "[]", 400),
            ("POST", "/v1/credentials/demo/rotate", '{"reason":7}', 400),
            ("POST", "/v1/credentials/demo/rotate", '{"reason":""}', 400),
            ("POST", "/v1/credentials/demo/rotate", '{"reason":"x","more":1}', 400),
            ("POST", "/v1/credentials/demo/rotate", '{"reason":"' + "x" * 300 + '"}', 400),
            ("POST", "/v1/credentials/demo/rotate", '{"reason":"a\\u0000b"}', 400),
            ("POST", "/v1/credentials/demo/rotate", '{"reason":"a\\nb"}', 400),
            ("POST", "/v1/credentials/demo/rotate?now", "", 400), ("GET", "/v1/credentials/%zz", None, 400),
            ("GET", "/v1/credentials/a%00b", None, 400), ("GET", "/v1/credentials/" + "x" * 200, None, 400)]:
        got = agent.request(method, path, body)
        assert got[0] == status, (method, path, body, got)
        if status >= 400:
            assert set(got[1]["error"]) == {"code", "message"} and got[1]["error"]["message"]
    assert agent.generation() == 1 and len(agent.cloud.exchanges()) == 1
    head = b"POST /v1/credentials/demo/rotate HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n"
    assert b" 413 " in raw(agent, head + b"x" * 5000) and agent.generation() == 1
    assert agent.request("POST", "/v1/credentials/demo/rotate", '{"reason":"käse"}'.encode()) == (
        202, {"credential": "demo", "replaces": 1})
    agent.wait_generation(2)
    assert agent.request("POST", "/v1/credentials/demo/rotate", '{"reason":"käse"}'.encode())[0] == 409
    assert agent.status()["last_reason"] == "käse"


def test_garbage_and_pipelining(agent):
    agent.start()
    agent.wait_generation(1)
    one = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /v1/credentials/demo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer = raw(agent, one + one + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 3 and answer.rstrip().endswith(b"]}")
    for junk in [b"\0" * 10, b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", os.urandom(4096),
                 b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                 b"GET / HTTP/1.1\r\n" + b"X-Y: z\r\n" * 10000 + b"\r\n",
                 b"POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                 b"POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                 b"POST /v1/credentials/demo/rotate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                 b"POST /v1/credentials/demo/rotate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                 + b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n0\r\n\r\n"]:
        answer = raw(agent, junk)
        assert b" 200 " not in answer and b" 202 " not in answer, (junk[:80], answer[:200])
        assert agent.request("GET", "/livez")[0] == 200, junk[:80]
    # A body that never comes holds up nobody.
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(agent.socket))
        s.sendall(b"POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
        assert agent.request("GET", "/livez")[0] == 200
    assert agent.generation() == 1


def test_many_connections_at_once(agent):
    agent.start()
    agent.wait_generation(1)
    held = []
    try:
        for _ in range(300):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(1)
            held.append(s)
            s.connect(str(agent.socket))
    except OSError:
        pass
    for s in held:
        s.close()
    eventually(lambda: agent.status().get("ready"), "an answer")
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_generation(2)


@root_only
def test_another_user_is_refused(agent):
    agent.keep_state_in(agent.dir / "state").configure().start()
    agent.wait_generation(1)
    code = """
import http.client, socket, sys
c = http.client.HTTPConnection("x")
c.sock = socket.socket(socket.AF_UNIX)
try:
    c.sock.connect(sys.argv[1])
except PermissionError:
    print("cannot connect")
    sys.exit()
for method, path in [("GET", "/v1/credentials"), ("POST", "/v1/credentials/demo/rotate"), ("GET", "/livez")]:
    c.request(method, path)
    a = c.getresponse()
    print(a.status, a.read().decode().strip())
"""
    argv = [*AS_NOBODY, sys.executable, "-c", code, str(agent.socket)]

    def ask():
        return subprocess.run(argv, capture_output=True, text=True, timeout=20, cwd="/").stdout

    for path in [agent.state, *agent.state.parents]:
        if str(path).startswith("/tmp/"):
            path.chmod(0o755)
    assert ask() == "cannot connect\n"
    agent.socket.chmod(0o666)  # as if another user had opened it by mistake
    lines = ask().splitlines()
    assert [line[:3] for line in lines] == ["403"] * 3 and "only root and the agent's own user" in lines[0]
    assert agent.generation() == 1


# ---- the service manager ----

class Manager:
    """Receives what services notify."""

    def __init__(self, directory):
        self.path = str(directory / "n")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.messages = []

    def look(self):
        try:
            while True:
                self.messages.append(dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines()))
        except BlockingIOError:
            return self.messages

    def index(self, key):
        return next((i for i, message in enumerate(self.look()) if key in message), -1)

    def wait(self, key):
        return eventually(lambda: [m for m in self.look() if key in m], f"{key} in {self.messages}")


@pytest.fixture
def manager(tmp_path):
    made = Manager(tmp_path)
    yield made
    made.socket.close()


def test_a_reload_that_does_not_require_what_is_missing_makes_ready(agent, manager):
    missing = agent.credential("missing", token={"file": str(agent.dir / "token")})
    agent.configure(agent.credential(), missing).start(env={"NOTIFY_SOCKET": manager.path})
    agent.wait_state("fresh")
    assert manager.index("READY") == -1, manager.messages
    agent.configure(agent.credential(), {**missing, "required": False})
    assert agent.run("reload").returncode == 0
    # Not as late as the look of each minute.
    eventually(lambda: "ready: every required credential" in agent.log, lambda: agent.log, 20)


def test_ready_only_after_the_first_publish(agent, manager):
    token = agent.dir / "token"
    agent.configure(agent.credential(token={"file": str(token)})).start(env={"NOTIFY_SOCKET": manager.path})
    eventually(lambda: agent.status().get("last_error"), "the wait for a token")
    waits = eventually(lambda: [m for m in manager.look() if ";" in m.get("STATUS", "")], "the reason")[0]["STATUS"]
    assert re.match(r"waiting for \S+; \S+: waiting for the token file .*, which does not exist yet", waits), waits
    # Neither does a reload make it ready.
    assert agent.run("reload").returncode == 0
    assert manager.index("READY") == -1, manager.messages
    token.write_text(agent.cloud.token())
    ready = manager.wait("READY")[0]
    assert ready["READY"] == "1" and "1 credential" in ready["STATUS"]
    assert agent.status()["published"]
    agent.stop()
    assert manager.wait("STOPPING")[0] == {"STOPPING": "1"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_ready_only_with_the_files_of_its_endpoints(agent, manager, frozen):  # noqa: F811
    """Units that are started after it read them."""
    path = frozen / "authorization"
    agent.configure(endpoints=[{"listen": f"127.0.0.1:{free_port()}",
                                "aws_container": {"credential": "demo", "authorization": {"file": str(path)}}}])
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    agent.start(wait=False, env={"NOTIFY_SOCKET": manager.path})
    eventually(agent.socket.exists, lambda: agent.log)
    agent.wait_state("fresh")
    for _ in range(3):  # turns of its loop
        agent.status()
    assert manager.index("READY") == -1, manager.messages
    subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    manager.wait("READY")
    assert path.exists()


def test_a_reload_is_announced(agent, manager):
    agent.start(env={"NOTIFY_SOCKET": manager.path})
    manager.wait("READY")
    before = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
    seen = len(manager.look())
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: any("READY" in m for m in manager.look()[seen:]), "READY after RELOADING")
    reloading, ready = [m for m in manager.messages[seen:] if "RELOADING" in m or "READY" in m]
    assert reloading["RELOADING"] == "1" and ready["READY"] == "1"
    assert before <= int(reloading["MONOTONIC_USEC"]) <= time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
    # A refused one ends as well, or the manager would wait for ever.
    agent.config_path.write_text("no: yes\n")
    seen = len(manager.look())
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: any("READY" in m for m in manager.look()[seen:]), "READY after a refused reload")


def test_the_watchdog_is_fed(agent, manager):
    agent.start(env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "400000"})
    eventually(lambda: len([m for m in manager.look() if m.get("WATCHDOG") == "1"]) >= 4, "four times WATCHDOG=1")
    agent.stop()


def test_the_watchdog_of_another(agent, manager):
    agent.start(env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "2000", "WATCHDOG_PID": "1"})
    manager.wait("READY")
    agent.wait_state("fresh")
    agent.stop()
    assert manager.index("WATCHDOG") == -1


def test_an_abstract_socket(agent):
    name = f"credfresh-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind("\0" + name)
        s.settimeout(20)
        agent.start(env={"NOTIFY_SOCKET": "@" + name})
        while b"READY=1" not in s.recv(4096):  # what it waits for comes before
            pass


@pytest.mark.parametrize("path", ["/nonexistent", "relative", "", "/" + "x" * 300])
def test_a_manager_that_is_not_there(agent, path):
    agent.start(env={"NOTIFY_SOCKET": path})
    agent.wait_generation(1)


# ---- the log ----

def test_text(agent):
    agent.configure(log={"level": "info"}).start()
    agent.wait_state("fresh")
    for line in agent.log.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warn |info |debug) \S", line), line
    assert re.search(r" info  demo \[\w+\]: published first generation 1 of arn:aws:sts::", agent.log)


def test_json(agent):
    agent.configure(agent.credential(reload=[{"exec": ["/bin/false"]}]), log={"level": "debug", "format": "json"})
    agent.start()
    agent.wait_generation(1)
    eventually(lambda: "failed" in agent.log, "the hook's failure")
    docs = [json.loads(line) for line in agent.log.splitlines()]
    assert all(doc["level"] in ("error", "warn", "info", "debug") and doc["message"] for doc in docs)
    about = [doc for doc in docs if "credential" in doc]
    assert about and all(doc["credential"] == "demo" and doc["state"] for doc in about)
    published = next(doc for doc in about if "published first" in doc["message"])
    assert published["generation"] == 1 and published["expires"].endswith("Z") and "code" not in published
    assert next(doc for doc in about if "failed" in doc["message"])["hook"] == "exec /bin/false"


def test_a_failure_has_its_code_in_json(agent):
    agent.configure(log={"level": "info", "format": "json"})
    agent.cloud.fault(kind="error", code="AccessDenied", status=403, count=1)
    agent.start()
    line = eventually(lambda: next((line for line in agent.log.splitlines() if "AccessDenied" in line), None), lambda: agent.log)
    doc = json.loads(line)
    assert (doc["code"], doc["class"], doc["attempt"]) == ("denied", "stop", 1)


def test_debug_shows_transitions_and_requests_without_secrets(agent):
    agent.configure(log={"level": "debug"}).start()
    agent.wait_generation(1)
    host = agent.cloud.sts.split("/")[2]
    assert re.search(rf" debug POST {host}: HTTP 200 in \d+ ms\n", agent.log), agent.log
    assert re.search(r" debug demo \[exchanging\]: sent: was waiting\n", agent.log), agent.log
    token = (agent.cloud.volumes["demo"] / "token").read_text()
    assert token not in agent.log and token.rsplit(".", 1)[1] not in agent.log


def test_command_line_and_environment_set_the_log(agent):
    """The command line comes before the environment, and that before the configuration."""
    agent.configure(log={"level": "error", "format": "text"})
    quiet = agent.run("once")
    assert quiet.returncode == 0 and quiet.stderr == ""
    loud = agent.run("once", env={"CREDFRESH_LOG_LEVEL": "info", "CREDFRESH_LOG_FORMAT": "json"})
    assert all(json.loads(line)["level"] == "info" for line in loud.stderr.splitlines()) and loud.stderr
    loud = agent.run("once", "--log-level", "debug", "--log-format", "text", env={"CREDFRESH_LOG_FORMAT": "json"})
    assert re.search(r"^\S+Z debug ", loud.stderr, re.M)
    for argv, env in ((["--log-level", "loud"], {}), ([], {"CREDFRESH_LOG_LEVEL": "loud"})):
        wrong = agent.run("once", *argv, env=env)
        assert wrong.returncode == 2 and 'unknown log level "loud": use error, warn, info or debug' in wrong.stderr
    wrong = agent.run("once", "--log-format", "xml")
    assert wrong.returncode == 2 and 'unknown log format "xml": use text or json' in wrong.stderr


def test_exec_can_be_quiet(agent):
    agent.configure(log={"level": "debug"})
    quiet = agent.run("exec", "-q", "/bin/echo", "hello", env={"AWS_PROFILE": "mine"})
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "hello\n", "")


@pytest.mark.parametrize("format", ["text", "json"])
def test_journal_levels(agent, format):
    agent.configure(agent.credential(reload=[{"exec": ["/bin/false"]}]), log={"level": "debug", "format": format})
    agent.log_path.touch()
    stream = agent.log_path.stat()
    agent.start(env={"JOURNAL_STREAM": f"{stream.st_dev}:{stream.st_ino}"})
    eventually(lambda: "failed" in agent.log, "the hook's failure")
    assert all(re.match(r"<[3467]>\S", line) for line in agent.log.splitlines()), agent.log
    if format == "text":
        assert re.search(r"^<4>demo \[\w+\]: hook", agent.log, re.M) and re.search(r"^<6>demo", agent.log, re.M)
    else:
        levels = {line[:3]: json.loads(line[3:])["level"] for line in agent.log.splitlines()}
        assert levels["<4>"] == "warn" and levels["<6>"] == "info"


def test_a_journal_that_is_somebody_elses(agent):
    agent.start(env={"JOURNAL_STREAM": "8:12345"})
    agent.wait_state("fresh")
    assert all(line.startswith("20") for line in agent.log.splitlines()), agent.log


def failures(agent, at_least):
    eventually(lambda: agent.status().get("consecutive_failures", 0) >= at_least,
               f"{at_least} failures:\n{agent.log}")
    return [line for line in agent.log.splitlines() if re.search(r" (warn|error) +demo", line)]


@pytest.mark.parametrize("fault", [
    {"kind": "error", "code": "ServiceUnavailable", "status": 503},
    {"kind": "status", "status": 500, "body": "<html>", "content_type": "text/html"},
    {"kind": "close"},
    {"kind": "malformed", "body": "<oops"},
    {"kind": "error", "code": "AccessDenied", "status": 403},
])
def test_each_error_is_logged_once(agent, fault):
    agent.configure(log={"level": "info"})
    agent.cloud.fault(**fault, count=100)
    agent.start()
    for times in (1, 2, 3):
        lines = failures(agent, times)
        assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    assert len(lines) == 1, agent.log
    agent.cloud.clear_faults()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_generation(1)


def test_an_expired_token_is_logged_once(agent):
    token = agent.dir / "token"
    token.write_text(agent.cloud.token(expires_in_s=-600, issued_ago_s=4200))
    agent.configure(agent.credential(token={"file": str(token)}), log={"level": "info"}).start()
    lines = failures(agent, 4)
    # It is tried once, because this machine's clock may be ahead; from then on the server's clock is known.
    for words in ("by this machine's clock, which may be ahead; trying it anyway", "ExpiredTokenException: ", "and was not replaced: "):
        assert sum(words in line for line in lines) == 1, agent.log


def test_two_errors_are_two_lines(agent):
    agent.configure(log={"level": "info"})
    agent.cloud.fault(kind="close", count=100)
    agent.start()
    failures(agent, 2)
    agent.cloud.clear_faults()
    agent.cloud.fault(kind="error", code="Throttling", status=400, count=100)
    eventually(lambda: "Throttling" in agent.log, "the other error")
    assert len(failures(agent, 2)) == 2, agent.log


def test_the_control_socket_is_made_last(agent, tmp_path):
    """A client that sees it can use the other addresses, too."""
    (tmp_path / "a-file").write_text("")
    agent.configure(listen="127.0.0.1:0", control_socket=str(tmp_path / "a-file" / "control.sock")).start(wait=False)
    assert agent.process.wait(60) == 1
    assert "control_socket: " in agent.log and "status page, health and metrics on http://127.0.0.1:" in agent.log, agent.log
