# SPDX-License-Identifier: MIT
"""The local endpoints and the token socket, over real sockets: clients served and refused, and robustness."""
import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import pytest

from conftest import CREDFRESH, eventually, needs_namespace
from endpoint_client import ask, free_port
from test_sources import CLIENT, GCP_ACCOUNT, GCP_AUDIENCE, TENANT

NOBODY = 65534


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


def secret_of(agent, name="authorization"):
    """A child writes it, which may take longer than the start of the agent."""
    path = pathlib.Path(agent.dir / name)
    eventually(path.exists, lambda: agent.log)
    return path.read_text()


def container(agent, credential="demo", **over):
    return {"credential": credential, "authorization": {"file": str(agent.dir / "authorization"), **over}}


def where():
    return f"127.0.0.1:{free_port()}"


def aws(agent, at, path="/aws/demo", headers=None, **how):
    return ask(at, path, headers={"Authorization": secret_of(agent), **(headers or {})}, **how)


def wait_served(agent, at, path="/aws/demo"):
    """The first answer with credentials; an agent that was killed may not listen again yet, or be writing the secret."""
    def served():
        try:
            answer = aws(agent, at, path)
        except (ConnectionError, FileNotFoundError):
            return None
        return answer if answer.status == 200 else None

    return eventually(served, lambda: f"{path} on {at}\n{agent.log}")


def serve_one(agent, *credentials, **over):
    """An agent that serves credential demo in AWS's container shape; where it does."""
    at = where()
    agent.configure(*credentials, endpoints=[{"listen": at, "aws_container": container(agent)}], **over).start()
    return at


def gcp(agent):
    url = agent.cloud.ready["gcp_url"]
    return agent.credential("gcp", publish=None, token={"file": str(agent.cloud.volumes["gcp"] / "token")},
                            exchange={"gcp": {"audience": GCP_AUDIENCE, "service_account": GCP_ACCOUNT, "sts_endpoint": url + "/v1/token",
                                              "iam_endpoint": url, "ca_file": agent.cloud.ca}})


def azure(agent):
    return agent.credential("azure", publish=None, token={"file": str(agent.cloud.volumes["azure"] / "token")},
                            exchange={"azure": {"tenant_id": TENANT, "client_id": CLIENT, "scopes": ["https://vault.azure.net/.default"],
                                                "authority_host": agent.cloud.ready["azure_url"], "ca_file": agent.cloud.ca}})


def test_each_shape_serves_what_is_in_memory_only(agent):
    at = where()
    agent.configure(agent.credential(publish=None), gcp(agent), azure(agent), endpoints=[{
        "listen": at,
        "aws_container": [container(agent)],
        "ec2_imds": {"credential": "demo", "region": "eu-west-1"},
        "gce_metadata": {"project_id": "demo-project", "accounts": [{"credential": "gcp"}]},
        "azure_imds": {"identities": [{"credential": "azure"}]},
        "azure_app_service": {"identities": [{"credential": "azure"}], "header": {"file": str(agent.dir / "header")}},
    }]).start()
    for name in ("demo", "gcp", "azure"):
        agent.wait_state("fresh", name)
    keys = aws(agent, at)
    assert keys.status == 200 and keys.headers["cache-control"] == "no-store"
    assert keys.json["SecretAccessKey"] and keys.json["Token"]

    token = ask(at, "//latest/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, body=b"").text
    session = {"X-aws-ec2-metadata-token": token}
    role = ask(at, "/latest/meta-data/iam/security-credentials/", headers=session).text
    assert role == "demo"
    same = ask(at, "/latest/meta-data/iam/security-credentials/" + role, headers=session).json
    assert same["AccessKeyId"] == keys.json["AccessKeyId"]
    assert ask(at, "/latest/meta-data/placement/region", headers=session).text == "eu-west-1"

    google = ask(at, "/computeMetadata/v1/instance/service-accounts/default/token", headers={"Metadata-Flavor": "Google"})
    assert google.status == 200 and google.headers["metadata-flavor"] == "Google" and google.json["access_token"]
    resolved = ask(at, "/computeMetadata/v1/project/project-id", headers={"Metadata-Flavor": "Google",
                                                                       "Host": "metadata.google.internal"})
    assert resolved.text == "demo-project"

    query = "?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net"
    imds = ask(at, "/metadata/identity/oauth2/token" + query, headers={"Metadata": "true"})
    assert imds.status == 200 and imds.json["access_token"]
    service = ask(at, "/msi/token?api-version=2019-08-01&resource=https://vault.azure.net",
                  headers={"X-IDENTITY-HEADER": secret_of(agent, "header")})
    assert service.json["access_token"] == imds.json["access_token"]
    assert ask(at, "/msi/token?api-version=2019-08-01&resource=https://vault.azure.net").status in (400, 401, 403)


def test_a_rotation_is_served_at_once(agent):
    at = serve_one(agent)
    before = wait_served(agent, at).json
    assert before["SecretAccessKey"] in (agent.out / "credentials").read_text()
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_generation(2)
    after = aws(agent, at).json
    assert after["AccessKeyId"] != before["AccessKeyId"]
    assert after["SecretAccessKey"] in (agent.out / "credentials").read_text()


def test_before_the_first_exchange_it_says_when_to_come_again(agent):
    agent.cloud.admin("/outage", {"on": True})
    at = serve_one(agent, agent.credential(publish=None))
    agent.wait_state("backoff")
    refused = aws(agent, at)
    assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1
    assert not agent.status()["ready"]
    agent.cloud.admin("/outage", {"on": False})
    wait_served(agent, at)
    assert agent.status()["ready"]


def test_after_a_restart_it_exchanges_and_what_is_published_stays(agent):
    at = serve_one(agent)
    first = wait_served(agent, at).json
    agent.cloud.admin("/outage", {"on": True})
    agent.kill()
    agent.start()
    agent.wait_state("backoff")
    assert aws(agent, at).status == 503
    assert agent.status()["published"] and agent.generation() == 1
    assert first["SecretAccessKey"] in (agent.out / "credentials").read_text()
    agent.cloud.admin("/outage", {"on": False})
    assert wait_served(agent, at).json["AccessKeyId"] != first["AccessKeyId"]
    agent.wait_generation(2)


def test_what_is_only_passed_on_is_served_after_a_restart_too(agent):
    socket_path = str(agent.dir / "tokens.sock")
    agent.configure(agent.credential(exchange=None, allow={}, publish={"directory": str(agent.out),
                                                                       "files": [{"name": "token", "format": "token"}]}),
                    token_socket=socket_path).start()
    def served():
        try:
            return ask(socket_path, "/v1/token/demo").status == 200
        except ConnectionError:
            return False

    for run in range(2):
        if run == 1:
            agent.kill()
            agent.start()
        eventually(served, lambda: agent.log)
        bare = ask(socket_path, "/v1/token/demo", headers={"Accept": "text/plain"})
        assert bare.text == (agent.out / "token").read_text()


def test_refusals_are_told_counted_and_logged_once(agent):
    at = serve_one(agent, listen=(health := where()))
    wait_served(agent, at)
    for _ in range(3):
        assert aws(agent, at, headers={"Host": "rebound.example"}).status == 403
        assert aws(agent, at, headers={"X-Forwarded-For": "192.0.2.1"}).status == 403
        assert ask(at, "/aws/demo").status == 401
        assert ask(at, "/aws/demo", headers={"Authorization": secret_of(agent)[:-1] + "?"}).status == 403
    assert aws(agent, at, headers={"Host": "localhost:" + at.split(":")[1]}).status == 200
    assert aws(agent, at, method="POST", body=b"").status == 405
    assert aws(agent, at, method="POST", body=b"x").status == 413
    assert aws(agent, at, path="/aws/other").status == 404
    assert aws(agent, at, headers={"X-Long": "x" * 20000}).status in (413, 431)
    assert agent.log.count("Host header") == 1
    page = ask(health, "/metrics").text
    assert f'credfresh_endpoint_requests_total{{endpoint="{at}",shape="aws_container",status="401"}} 3' in page
    assert f'credfresh_endpoint_requests_total{{endpoint="{at}",shape="none",status="403"}} 3' in page
    assert secret_of(agent) not in agent.log


def test_the_authorization_file_is_made_kept_and_guarded(agent):
    at = serve_one(agent)
    path = agent.dir / "authorization"
    first = secret_of(agent)
    assert len(first) == 43 and path.stat().st_mode & 0o777 == 0o600
    wait_served(agent, at)
    path.unlink()
    eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": first}).status == 200 and path.exists(),
               lambda: agent.log)
    assert secret_of(agent) == first
    for spoiled in ("", "x", "y" * 43, "z" * 100000):
        path.write_text(spoiled)
        eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": first}).status == 200 and secret_of(agent) == first,
                   lambda: agent.log)
        assert ask(at, "/aws/demo", headers={"Authorization": spoiled}).status in (401, 403, 431)
    path.write_text("")
    path.unlink()
    eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": first}).status == 200 and path.exists(),
               lambda: agent.log)
    assert secret_of(agent) == first
    agent.stop()
    agent.start()
    assert secret_of(agent) == first
    agent.stop()
    path.chmod(0o644)  # others may have read it
    agent.start()
    assert secret_of(agent) != first and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to be others")
def test_an_authorization_file_of_another_user_is_not_kept(agent):
    """That user knows what it holds."""
    path = agent.dir / "authorization"
    planted = "p" * 43
    path.write_text(planted)
    path.chmod(0o600)
    os.chown(path, NOBODY, NOBODY)
    at = serve_one(agent)
    wait_served(agent, at)
    assert secret_of(agent) != planted and path.stat().st_uid == 0 and path.stat().st_mode & 0o777 == 0o600
    assert ask(at, "/aws/demo", headers={"Authorization": planted}).status == 403


def test_an_authorization_file_of_somebody_else_is_followed(agent):
    at = where()
    proof = agent.dir / "pod-token"
    agent.configure(endpoints=[{"listen": at, "aws_container": [
        {"credential": "demo", "path": "/creds", "authorization": {"file": str(proof), "existing": True}}]}]).start()
    agent.wait_generation(1)
    assert ask(at, "/creds", headers={"Authorization": "one"}).status == 503
    for token in ("one", "two"):
        proof.write_text(token + "\n")
        eventually(lambda: ask(at, "/creds", headers={"Authorization": token}).status == 200, lambda: agent.log)
    assert ask(at, "/creds", headers={"Authorization": "one"}).status == 403


def test_a_reload_adds_changes_and_removes_listeners(agent):
    kept, added = where(), where()
    both = [{"listen": kept, "aws_container": container(agent)},
            {"listen": added, "ec2_imds": {"credential": "demo"}}]
    agent.configure(endpoints=both[:1]).start()
    wait_served(agent, kept)
    open_one = http.client.HTTPConnection(kept, timeout=10)

    def again(path="/aws/demo"):
        open_one.request("GET", path, headers={"Authorization": secret_of(agent)})
        answer = open_one.getresponse()
        answer.read()
        return answer.status

    assert again() == 200
    used = open_one.sock
    agent.configure(endpoints=both)
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert ask(added, "/latest/meta-data/").status == 401
    both[0]["aws_container"]["path"] = "/other"
    agent.configure(endpoints=both[:1])
    assert agent.request("POST", "/v1/reload")[0] == 200
    with pytest.raises(OSError):
        ask(added, "/")
    assert again() == 404 and again("/other") == 200
    assert open_one.sock is used
    with socket.create_server(("127.0.0.1", 0)) as taken:
        agent.configure(endpoints=[both[0], {**both[1], "listen": f"127.0.0.1:{taken.getsockname()[1]}"}])
        status, why = agent.request("POST", "/v1/reload")
        assert status == 400 and "another process listens there" in why["error"]["message"]
    assert again("/other") == 200
    assert len(agent.cloud.exchanges()) == 1


def test_what_is_published_elsewhere_is_served_on_and_what_is_granted_otherwise_is_not(agent):
    at = serve_one(agent)
    first = wait_served(agent, at).json
    endpoints = [{"listen": at, "aws_container": container(agent)}]
    agent.cloud.admin("/outage", {"on": True})
    agent.configure(agent.credential(publish={"file": {"path": str(agent.dir / "file"), "format": "json"}}), endpoints=endpoints)
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert aws(agent, at).json["AccessKeyId"] == first["AccessKeyId"]
    agent.wait_state("backoff")
    assert aws(agent, at).json["AccessKeyId"] == first["AccessKeyId"]
    exchange = agent.credential()["exchange"]
    exchange["aws"]["session_name"] = "another"
    agent.configure(agent.credential(exchange=exchange), endpoints=endpoints)
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert aws(agent, at).status == 503
    agent.cloud.admin("/outage", {"on": False})
    assert wait_served(agent, at).json["AccessKeyId"] != first["AccessKeyId"]


def test_an_endpoint_for_what_is_only_published_so_far(agent):
    demo = agent.credential(publish={"directory": str(agent.out),
                                     "files": [{"name": "credentials", "format": "aws-credentials"}]})
    agent.configure(demo).start()
    agent.wait_state("fresh")
    at = where()
    agent.configure(demo, endpoints=[{"listen": at, "aws_container": container(agent)}])
    assert agent.request("POST", "/v1/reload")[0] == 200
    wait_served(agent, at)
    assert len(agent.cloud.exchanges()) == 2


def test_the_control_socket_gives_everything_to_who_may_use_it(agent):
    agent.configure().start()
    agent.wait_state("fresh")
    eventually(lambda: agent.request("GET", "/v1/token/demo")[0] == 200, lambda: agent.log)
    doc = agent.request("GET", "/v1/token/demo")[1]
    assert doc["credential"] == "demo" and doc["kind"] == "aws"
    assert doc["fields"]["aws_secret_access_key"] in (agent.out / "credentials").read_text()
    assert agent.request("GET", "/v1/token/nobody")[0] == 404


# ---- bad neighbours ----

def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip(f"only {hard} open files are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12000), hard))
    return soft, hard


def test_idle_and_slow_neighbours_do_not_disturb(agent):
    at = serve_one(agent)
    wait_served(agent, at)
    limits = many_files()
    host, port = at.split(":")
    stop = threading.Event()
    idle, slow = [], []
    try:
        for _ in range(20):
            slow.append(socket.create_connection((host, int(port)), timeout=10))
        for _ in range(min(10000, limits[1] - 2000)):
            idle.append(socket.create_connection((host, int(port)), timeout=10))

        def drip():
            while not stop.wait(0.01):
                for s in list(slow):
                    try:
                        s.send(b"G")
                    except OSError:
                        slow.remove(s)

        dripping = threading.Thread(target=drip)
        dripping.start()
        for _ in range(100):
            assert aws(agent, at, timeout=10).status == 200
        eventually(lambda: not slow, "the end of those who were there first and asked nothing")
        stop.set()
        dripping.join()
        assert agent.status()["state"] == "fresh"
    finally:
        stop.set()
        for s in idle + slow:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_crowd_is_served_to_the_last(agent):
    """A client that waits to be accepted is no sign that the agent is short of descriptors."""
    at = serve_one(agent)
    wait_served(agent, at)
    host, port = at.split(":")
    request = (f"GET /aws/demo HTTP/1.1\r\nHost: {at}\r\nAuthorization: {secret_of(agent)}\r\n\r\n").encode()
    for _ in range(3):
        clients = []
        for _ in range(200):
            clients.append(socket.create_connection((host, int(port)), timeout=10))
            clients[-1].sendall(request)
        for _ in range(2):
            for client in clients:
                assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
                client.sendall(request)
        for client in clients:
            client.close()


FLOOD = """
import resource, select, socket, sys
host, port = sys.argv[1].split(":")
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]) + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
head = f"PUT /latest/api/token HTTP/1.1\\r\\nHost: {sys.argv[1]}\\r\\nX-aws-ec2-metadata-token-ttl-seconds: 60\\r\\n\\r\\n"
requests = head.encode() * 500
poll, connections, begun = select.epoll(), {}, 0
while True:
    for _ in range(50):
        if len(connections) < int(sys.argv[2]):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((host, int(port)))
            connections[s.fileno()] = [s, memoryview(requests)]
            poll.register(s, select.EPOLLIN | select.EPOLLOUT)
            begun += 1
            if begun == int(sys.argv[2]):
                print("ready", flush=True)
    for fd, events in poll.poll(0.1):
        s, left = connections[fd]
        try:
            if events & select.EPOLLOUT and left:
                connections[fd][1] = left = left[s.send(left):]
                if not left:
                    poll.modify(fd, select.EPOLLIN)
            if events & ~select.EPOLLOUT and not s.recv(65536):
                raise ConnectionResetError
        except BlockingIOError:
            pass
        except OSError:
            poll.unregister(fd)
            s.close()
            del connections[fd]
"""


def count_answers(health, at):
    return sum(int(line.rpartition(" ")[2]) for line in ask(health, "/metrics", timeout=60).text.splitlines()
               if line.startswith(f'credfresh_endpoint_requests_total{{endpoint="{at}"'))


@pytest.mark.parametrize("user", [None, NOBODY], ids=["same-user", "another-user"])
def test_programs_that_pipeline_on_a_thousand_connections(agent, user):
    """Another client is answered after a moment, which is here: before the others have had thousands of answers more."""
    if user is not None and os.geteuid() != 0:
        pytest.skip("needs root")
    at, health = where(), where()
    agent.configure(endpoints=[{"listen": at, "ec2_imds": {"credential": "demo"}}], listen=health)
    agent.start()
    agent.wait_generation(1)
    floods = [subprocess.Popen([sys.executable, "-c", FLOOD, at, "1000"], stdout=subprocess.PIPE, user=user) for _ in range(3)]
    try:
        for flood in floods:
            flood.stdout.readline()
        answers = []
        for _ in range(3):
            before = count_answers(health, at)
            assert ask(at, "/latest/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, timeout=60).status == 200
            answers.append(count_answers(health, at) - before)
        assert max(answers) < 20000, answers
    finally:
        for flood in floods:
            flood.kill()
            flood.wait()
            flood.stdout.close()
    eventually(lambda: serves_imds(at), lambda: agent.log)


def serves_imds(at):
    try:
        return ask(at, "/latest/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, timeout=2).status == 200
    except OSError:
        return False


def test_bytes_are_no_activity(agent):
    """No other client needs the room, and still: one without a complete request for ten seconds is cut off, one with stays."""
    at = serve_one(agent)
    wait_served(agent, at)
    host, port = at.split(":")
    busy = http.client.HTTPConnection(at, timeout=10)
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        def cut_off():
            busy.request("GET", "/aws/demo")
            busy.getresponse().read()
            try:
                slow.send(b"G")
            except OSError:
                return True
            return False

        busy.connect()
        kept = busy.sock
        eventually(cut_off, "the end of who sends a byte at a time", pause_s=0.1)
        assert busy.sock is kept
    busy.close()


@pytest.fixture
def short_of_files(agent):
    """Takes all descriptors from the agent, and gives them back."""
    before = []

    def change(short):
        pid = agent.process.pid
        if short:
            before.append(resource.prlimit(pid, resource.RLIMIT_NOFILE))
            used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
            free = min(set(range(len(used) + 1)) - used)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, before[-1][1]))
        else:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before.pop())

    yield change
    if before:
        change(False)


def serves(agent, at):
    try:
        return aws(agent, at, timeout=2).status == 200
    except OSError:
        return False


def test_without_descriptors_whoever_comes_is_sent_away(agent, short_of_files):
    """Left in the queue he would keep the loop busy."""
    at = serve_one(agent)
    wait_served(agent, at)
    host, port = at.split(":")

    def sent_away():
        short_of_files(True)  # each time, for one may have become free since
        try:
            with socket.create_connection((host, int(port)), timeout=2) as s:
                return s.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
        finally:
            short_of_files(False)

    eventually(sent_away, "the end of who cannot be accepted")
    eventually(lambda: serves(agent, at), lambda: agent.log)


def test_after_a_reload_connections_leave_descriptors_for_the_rest(agent):
    """One address may have them all but for 256; each of eight has an eighth."""
    places = [where() for _ in range(8)]

    def configure(count):
        agent.configure(endpoints=[{"listen": at, "ec2_imds": {"credential": "demo"}} for at in places[:count]])

    configure(1)
    agent.start(wrapper=["sh", "-c", 'ulimit -n 600 && exec "$0" "$@"'])
    agent.wait_generation(1)
    held = hold(places[0], 250)
    configure(8)
    assert agent.run("reload").returncode == 0
    # Those beyond the new share end sooner than idle ones do.
    eventually(lambda: sum(is_open(s) for s in held) <= 43, "the end of the first ones", limit_s=9)
    for at in places:
        held += hold(at, 400 if at is places[0] else 60)
    eventually(lambda: len(os.listdir(f"/proc/{agent.process.pid}/fd")) < 450, "descriptors for the rest")
    assert agent.status()["state"] == "fresh"
    for s in held:
        s.close()
    # And one address again has as many as one may. What was closed here counts until the agent has seen it.
    eventually(lambda: len(os.listdir(f"/proc/{agent.process.pid}/fd")) < 100, "the end of closed connections")
    configure(1)
    assert agent.run("reload").returncode == 0
    # Of those that wait at once it takes only half as many as it may have; an answer to us means that it has accepted.
    held = []
    for _ in range(5):
        held += hold(places[0], 50)
        assert agent.status()["state"] == "fresh"
    assert sum(is_open(s) for s in held) == 250
    for s in held:
        s.close()


def test_too_few_descriptors(agent):
    """Clients that only wait would leave none to renew credentials with."""
    at, health = where(), where()
    agent.configure(endpoints=[{"listen": at, "ec2_imds": {"credential": "demo"}}], listen=health)
    limited = ["sh", "-c", 'ulimit -n "$0" && exec "$@"']
    done = subprocess.run([*limited, "40", CREDFRESH, "run", "-c", str(agent.config_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "the limit of open files is 40, and this configuration needs 112: raise it" in done.stderr, done
    agent.start(wrapper=[*limited, "112"])
    agent.wait_generation(1)
    held = hold(at, 100) + hold(health, 100)
    assert agent.request("POST", "/v1/credentials/demo/rotate", "{}")[0] == 202
    agent.wait_generation(2)
    for s in held:
        s.close()


def hold(at, count):
    host, port = at.split(":")
    held = [socket.create_connection((host, int(port)), timeout=5) for _ in range(count)]
    for s in held:
        s.setblocking(False)
    return held


def is_open(s):
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_once_there_are_descriptors_again_others_are_served(agent, short_of_files):
    at = serve_one(agent)
    wait_served(agent, at)
    host, port = at.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as first:
        first.send(b"GET /aws/demo HTTP/1.1\r\nHost: " + at.encode() + b"\r\n\r\n")
        assert first.recv(12) == b"HTTP/1.1 401"
        short_of_files(True)
        waiting = [socket.create_connection((host, int(port)), timeout=10) for _ in range(3)]
        agent.status()
        short_of_files(False)
    for s in waiting:
        s.close()
    eventually(lambda: serves(agent, at), lambda: agent.log)


# ---- the token socket ----

ASK_AS = """
import http.client, socket, sys
c = http.client.HTTPConnection("localhost", timeout=10)
c.sock = socket.socket(socket.AF_UNIX)
c.sock.connect(sys.argv[1])
c.request("GET", sys.argv[2])
print(c.getresponse().status)
"""


@pytest.fixture
def open_directory():
    """One that every user can enter, unlike pytest's own."""
    path = tempfile.mkdtemp(dir="/tmp", prefix="cfr-")
    os.chmod(path, 0o755)
    yield pathlib.Path(path)
    shutil.rmtree(path)


def ask_as(uid, gid, path, what, groups=()):
    done = subprocess.run(["/usr/bin/python3", "-c", ASK_AS, path, what], capture_output=True, text=True, timeout=30, user=uid,
                          group=gid, extra_groups=list(groups), cwd="/")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to be others")
def test_the_token_socket_knows_who_asks(agent, open_directory):
    path = str(open_directory / "tokens.sock")
    agent.configure(agent.credential(allow={"users": [str(NOBODY)]}),
                    agent.credential("grouped", publish=None, allow={"groups": ["4242"]}),
                    agent.credential("closed", publish=None, allow={}),
                    agent.credential("published"), token_socket=path).start()
    for name in ("demo", "grouped", "closed", "published"):
        agent.wait_state("fresh", name)
    assert os.stat(path).st_mode & 0o777 == 0o666
    names = ("demo", "grouped", "closed", "published", "unknown")

    def statuses(uid, gid, groups=()):
        return [ask_as(uid, gid, path, f"/v1/token/{name}", groups) for name in names]

    assert statuses(NOBODY, NOBODY) == [200, 403, 403, 403, 403]
    assert statuses(4241, 4242) == [403, 200, 403, 403, 403]
    assert statuses(4241, 1, [7, 4242]) == [403, 200, 403, 403, 403]
    assert statuses(4241, 1) == [403] * 5
    assert [ask(path, f"/v1/token/{name}").status for name in names] == [200, 200, 200, 403, 403]
    assert ask(path, "/v1/credentials").status == 404
    assert ask(path, "/v1/token/%64emo").status == 403
    assert os.stat(agent.socket).st_mode & 0o777 == 0o600


def test_a_reload_opens_and_closes_the_token_socket(agent, open_directory):
    path = str(open_directory / "tokens.sock")
    # Where sockets are, files may be made: of another directory the agent would want to be restarted.
    agent.configure(agent.credential(allow={}), token_socket=path + ".before").start()
    agent.wait_state("fresh")
    agent.configure(agent.credential(allow={}), token_socket=path)
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert ask(path, "/v1/token/demo").status == 200
    agent.configure(agent.credential(allow={}))
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert not os.path.exists(path)


def test_a_reload_creates_a_removed_socket_again(agent, open_directory):
    path = str(open_directory / "tokens.sock")
    agent.configure(agent.credential(allow={}), token_socket=path).start()
    agent.wait_state("fresh")
    os.unlink(path)
    os.unlink(agent.socket)
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(path)
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: f"the control socket {agent.socket} was removed; created it again" in agent.log, lambda: agent.log)
    assert agent.generation() == 1

    def serves():
        """On a busy machine a reload refuses what has not answered in 50 ms, and can be repeated."""
        try:
            return ask(path, "/v1/token/demo").status == 200
        except ConnectionRefusedError:
            agent.process.send_signal(signal.SIGHUP)
            return False

    eventually(serves, lambda: agent.log, pause_s=0.5)
    assert "nothing is served on" not in agent.log


def test_the_link_local_address_of_the_sdks(agent):
    needs_namespace("--net")
    agent.configure(endpoints=[{"listen": "169.254.170.2:80", "aws_container": container(agent)}])
    script = ("ip link set lo up && ip addr add 169.254.170.2/32 dev lo && exec \"$@\"")
    done = agent.start(wrapper=["unshare", "--net", "sh", "-c", script, "sh"])
    assert done.process.poll() is None
    eventually(lambda: "credentials are served on 169.254.170.2:80" in agent.log, lambda: agent.log)


def test_once_serves_nothing_and_needs_no_address(agent):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        agent.configure(endpoints=[{"listen": f"127.0.0.1:{taken.getsockname()[1]}", "aws_container": container(agent)}])
        assert agent.run("once").returncode == 0
    assert json.loads((agent.out / "creds.json").read_text())["fields"]["aws_access_key_id"]
