# SPDX-License-Identifier: MIT
"""The table of `credfresh status`: in a terminal and in a pipe, of an agent that is well, in trouble, or gone."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest

from conftest import AS_NOBODY, CREDFRESH, ROLE, eventually, let_others_in

LONG = "a-credential-whose-name-is-nearly-as-long-as-a-name-may-be-at-all"[:63]


def instant(offset_s):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + offset_s))


def credential(name="app", **over):
    return {"name": name, "state": "fresh", "published": True, "ready": True, "required": True, "generation": 7,
            "issued": instant(-600), "expires": instant(3000), "next_refresh": instant(1800), "last_error": None,
            "consecutive_failures": 0, "hooks": [], "deliveries": [], "consumers": [], **over}


EXPIRED = {"state": "backoff", "ready": False, "issued": instant(-4000), "expires": instant(-735), "next_refresh": instant(42),
           "last_error": {"message": "HTTP 503 without an error code", "at": instant(-5)}, "consecutive_failures": 9}
HOOK = {"name": "exec /bin/false", "result": "failed", "error": "exit status 1"}


class Socket:
    """An agent's control socket that answers with DOC."""

    def __init__(self, path, *credentials):
        self.path, self.credentials = str(path), credentials
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        doc = {"agent": {"version": "1.2.3", "started": instant(-120), "config": {"file": "/etc/x.yaml", "error": None}},
               "credentials": self.credentials}
        body = json.dumps(doc).encode()
        while True:
            try:
                one, _ = self.listening.accept()
            except OSError:
                return
            with one:
                one.recv(65536)
                one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def close(self):
        os.unlink(self.path)
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()

    def status(self, *argv):
        return subprocess.run([CREDFRESH, "status", "-s", self.path, *argv], capture_output=True, text=True, timeout=30)


@pytest.fixture
def serve(tmp_path):
    made = []

    def make(*credentials):
        made.append(Socket(tmp_path / "sock", *credentials))
        return made[-1]

    yield make
    for one in made:
        if os.path.exists(one.path):
            one.close()


class Terminal:
    """The command in a terminal of 80 columns."""

    def __init__(self, *argv, columns=80):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell ignores it in what it runs in the background
            os.environ.pop("NO_COLOR", None)
            os.execv(CREDFRESH, [str(CREDFRESH), "status", *argv])

    def read(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data
        return self.text.decode()

    def wait_for(self, text):
        eventually(lambda: text in self.read(), lambda: f"{text!r} in {self.text.decode()!r}")

    def end(self):
        """The exit status; then all that it printed is in text."""
        found = []
        eventually(lambda: self.has_ended(found), "the command's end")
        self.read()
        return os.waitstatus_to_exitcode(found[0])

    def has_ended(self, found):
        self.read()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid != 0:
            found.append(status)
        return bool(found)


def test_the_head_says_what_runs(serve):
    shown = serve(credential(), credential("late", ready=False, published=False)).status().stdout
    assert re.match(r"credfresh 1\.2\.3, up 2 min( \d s)?, /etc/x\.yaml, 1 of 2 ready\n", shown)


def test_an_expired_credential_is_called_so(serve):
    shown = serve(credential(**EXPIRED)).status()
    row = next(line for line in shown.stdout.splitlines() if line.startswith("app"))
    assert "EXPIRED" in row and "12 min ago" in row and "[--------------------]" in row and re.search(r"retry in [1-4]?\d s$", row)
    assert shown.returncode == 0


def test_a_good_credential_is_refreshed(serve):
    row = next(line for line in serve(credential()).status().stdout.splitlines() if line.startswith("app"))
    assert re.search(r"fresh +7 \[#+-+\] (49 min \d+ s|50 min) +refresh in (29 min \d+ s|30 min)$", row)


def test_a_failing_hook_does_not_hide_that_it_is_fresh(serve):
    shown = serve(credential(state="reloading", hooks=[HOOK])).status().stdout
    assert re.search(r"^app +fresh ", shown, re.M) and "hook exec /bin/false: failed, exit status 1" in shown


def test_names_and_failed_choose(serve):
    agent = serve(credential("one"), credential("two", **EXPIRED), credential("three", hooks=[HOOK]), credential("four"))
    names = lambda *argv: re.findall(r"^(one|two|three|four) ", agent.status(*argv).stdout, re.M)
    assert names() == ["one", "two", "three", "four"]
    assert names("four", "one") == ["one", "four"]
    assert names("--failed") == ["two", "three"]
    assert names("--failed", "one", "two") == ["two"]
    assert "no credential has an error\n" in agent.status("--failed", "one").stdout
    unknown = agent.status("one", "tow")
    assert (unknown.returncode, unknown.stdout) == (6, "")
    assert unknown.stderr == 'credfresh: no credential "tow": there are one, two, three, four\n'
    assert agent.status("--json", "--failed").returncode == 2


def test_json_of_names(agent_factory, cloud):
    agent = agent_factory(cloud)
    agent.configure(*(agent.credential(name=name, publish={"directory": str(agent.dir / name), "files": [
        {"name": "token", "format": "token"}]}, exchange=None) for name in ("one", "two", "three"))).start()
    names = lambda *argv: [[c["name"] for c in json.loads(line)["credentials"]]
                           for line in agent.run("status", "--json", *argv).stdout.splitlines()]
    assert names() == [["one", "two", "three"]]
    assert names("two") == [["two"]] and names("three", "one") == [["three"], ["one"]]
    assert agent.run("status", "--json", "two", "tow").returncode == 6 and names("two", "tow") == []


def test_without_rights_it_fails_like_the_other_verbs(agent_factory, cloud):
    agent = agent_factory(cloud)
    agent.configure(agent.credential()).start()
    socket_path = agent.state / "control.sock"
    let_others_in(agent.dir)
    assert os.geteuid() == 0, "the test takes root"
    for argv in (["status"], ["status", "--json"], ["rotate", "demo"], ["reload"], ["wait", "--timeout", "1s"]):
        done = subprocess.run([*AS_NOBODY, CREDFRESH, *argv, "-s", socket_path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and done.stdout == "", done
        assert done.stderr == (f"credfresh: permission denied for the agent's socket {socket_path}: "
                               "run this as root or as the agent's user\n")


def test_an_old_key_in_its_grace_period(serve):
    mint = {"state": "UPDATE_IN_PROGRESS", "step": "published", "waits_for": "the grace of the old key", "error": None,
            "old_key_until": instant(3575)}
    shown = serve(credential(state="exchanging", expires=None, mint=mint)).status().stdout
    assert re.search(r"^app +fresh .*\n +old key kept for 59 min \d+ s$", shown, re.M)
    assert "UPDATE" not in shown and "waits" not in shown


def test_exit_code(serve):
    agent = serve(credential("one"), credential("two", **EXPIRED))
    assert agent.status().returncode == 0
    assert agent.status("--exit-code").returncode == 1
    assert agent.status("--exit-code", "two").returncode == 1
    assert agent.status("--exit-code", "one").returncode == 0
    assert agent.status("--exit-code", "--json").returncode == 1


@pytest.mark.parametrize("columns", [64, 80, 120])
def test_it_fits_the_terminal(serve, columns):
    agent = serve(credential(LONG, identity="arn:aws:sts::123456789012:assumed-role/" + "words of it " * 20, hooks=[HOOK]),
                  credential("b", **EXPIRED))
    terminal = Terminal("-s", agent.path, columns=columns)
    assert terminal.end() == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", terminal.text.decode()).replace("\r", "")
    assert LONG in text and "12 min ago" in text
    assert [line for line in text.splitlines() if len(line) > max(columns, len(LONG))] == []
    assert "\x1b[31mEXPIRED" in terminal.text.decode()
    # A pipe has no width: a row stays a line.
    shown = agent.status().stdout
    assert re.search(rf"^{LONG} fresh ", shown, re.M) and "\x1b" not in shown


def test_watch_in_a_terminal(serve):
    agent = serve(credential())
    terminal = Terminal("--watch", "-s", agent.path)
    terminal.wait_for("q ends it")
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, every second", terminal.text.decode())
    agent.close()
    terminal.wait_for("STALE, ")
    shown = terminal.text.decode().rpartition("STALE, ")[2]
    eventually(lambda: "app" in terminal.read().rpartition("STALE, ")[2], "the last table")
    assert " old: " in shown
    os.write(terminal.fd, b"xq")
    assert terminal.end() == 5


def test_watch_restores_the_terminal(serve):
    agent = serve(credential())
    terminal = Terminal("--watch", "-s", agent.path)
    terminal.wait_for("q ends it")
    eventually(lambda: not termios.tcgetattr(terminal.fd)[3] & termios.ICANON, "keys without Enter")
    keep = os.dup(terminal.fd)
    os.write(terminal.fd, b"\x03")
    assert terminal.end() == -2
    assert termios.tcgetattr(keep)[3] & termios.ICANON and termios.tcgetattr(keep)[3] & termios.ECHO
    os.close(keep)


def test_watch_in_a_pipe(serve):
    agent = serve(credential())
    watching = subprocess.Popen([CREDFRESH, "status", "--watch", "-s", agent.path], stdout=subprocess.PIPE, text=True)
    lines = []
    while sum(line.startswith("app") for line in lines) < 2:
        lines.append(watching.stdout.readline())
    watching.terminate()
    assert watching.wait(20) == -15
    second = [i for i, line in enumerate(lines) if line.startswith("credfresh 1.2.3")][1]
    assert lines[second - 2] == "\n" and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", lines[second - 1])
    watching.stdout.close()


def test_the_identity_of_a_login_to_a_registry_of_the_same_account(agent_factory, shared_cloud):
    """The ARN and the registry's host share the account's number, which is no secret."""
    aws = {"role_arn": ROLE, "region": "us-east-1", "endpoint": shared_cloud.sts, "ca_file": shared_cloud.ca,
           "ecr": {"registries": ["123456789012.dkr.ecr.us-east-1.amazonaws.com"], "endpoint": shared_cloud.ready["ecr_url"]}}
    agent = agent_factory(shared_cloud)
    agent.configure(agent.credential(exchange={"aws": aws})).start()
    agent.wait_generation(1)
    assert agent.status()["identity"] == "arn:aws:sts::123456789012:assumed-role/demo/default.demo"


def test_of_an_agent(agent_factory, shared_cloud):
    agent = agent_factory(shared_cloud).configure()
    assert agent.run("status").returncode == 5
    agent.start()
    agent.wait_generation(1)
    done = agent.run("status", "--exit-code", "demo")
    assert done.returncode == 0 and f", {agent.config_path}, 1 of 1 ready\n" in done.stdout
