# SPDX-License-Identifier: MIT
"""Hooks: signals, commands and requests to consumers, successful and failing."""
import ctypes
import json
import http.server
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

from conftest import AS_NOBODY, eventually, let_others_in, needs_namespace, read_text
from processes import LIMIT_S

ROOT = os.geteuid() == 0

CONSUMER = """
import os, signal, sys
wanted = {signal.SIGHUP, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
count = 0
while True:
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(count))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    signal.sigwait(wanted)
    count += 1
"""


class Consumer:
    """A process that counts the signals it gets."""

    def __init__(self, directory, python=sys.executable, env=None):
        script = directory / "consumer.py"
        script.write_text(CONSUMER)
        self.counter = directory / "count"
        self.process = subprocess.Popen([python, str(script), str(self.counter)], env=env)
        eventually(self.counter.exists, "the consumer")
        eventually(lambda: read_text(self.counter) == "0", "the consumer")

    @property
    def count(self):
        return int(read_text(self.counter) or 0)

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def consumer(tmp_path):
    made = Consumer(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def hooked(agent_factory, cloud):
    """Makes an agent whose credential has these hooks."""
    def make(*hooks, **over):
        agent = agent_factory(cloud)
        return agent.configure(agent.credential(reload=list(hooks), **over))
    return make


def hook(agent, index=0):
    return (agent.status().get("hooks") or [{}] * (index + 1))[index]


def wait_hook(agent, result, index=0):
    eventually(lambda: hook(agent, index).get("result") == result, f"a hook that is {result}: {hook(agent, index)}\n"
               f"{agent.log}")
    return hook(agent, index)


def rotate(agent, times=1):
    for _ in range(times):
        before = agent.generation()
        assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
        agent.wait_generation(before + 1)


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


# ---- signals ----

def test_a_signal_by_pid_file(hooked, consumer, tmp_path):
    pid_file = tmp_path / "pid"
    pid_file.write_text(f"{consumer.process.pid}\n")
    agent = hooked({"signal": {"pid_file": str(pid_file)}})
    agent.start()
    eventually(lambda: consumer.count == 1, "a HUP")
    rotate(agent)
    eventually(lambda: consumer.count == 2, "another HUP")
    told = wait_hook(agent, "ok")
    assert told["name"] == f"signal HUP to {pid_file}" and told["runs_ok"] == 2 and told["generation"] == 2


def test_another_signal(hooked, consumer, tmp_path):
    pid_file = tmp_path / "pid"
    pid_file.write_text(str(consumer.process.pid))
    hooked({"signal": {"pid_file": str(pid_file), "signal": "USR1"}}).start()
    eventually(lambda: consumer.count == 1, "a USR1")


def test_a_stale_pid_file_hits_nobody(hooked, consumer, tmp_path):
    pid_file = tmp_path / "pid"
    pid_file.write_text(str(consumer.process.pid))
    # As if it had been written for another process that had this number an hour ago.
    os.utime(pid_file, (time.time() - 3600,) * 2)
    agent = hooked({"signal": {"pid_file": str(pid_file)}})
    agent.start()
    told = wait_hook(agent, "failed")
    assert f"process {consumer.process.pid} started after {pid_file} was written" in told["error"]
    assert agent.status()["ready"] and consumer.count == 0
    # Tried again, and then it is right.
    os.utime(pid_file)
    wait_hook(agent, "ok")
    eventually(lambda: consumer.count == 1, "the signal")


@pytest.mark.parametrize("text, words", [
    (None, "No such file"), ("", "does not hold a process id"), ("abc", "does not hold a process id"),
    ("1", "does not hold a process id"), ("-5", "does not hold a process id"), ("0", "does not hold a process id"),
    ("99999999999", "does not hold a process id"), ("2147483647", "cannot open process|no process 2147483647"),
])
def test_a_pid_file_that_is_of_no_use(hooked, tmp_path, text, words):
    pid_file = tmp_path / "pid"
    if text is not None:
        pid_file.write_text(text)
    agent = hooked({"signal": {"pid_file": str(pid_file)}})
    done = agent.start().wait_generation(1)
    told = wait_hook(agent, "failed")
    assert any(word in told["error"] for word in words.split("|")), (told, done)


def test_a_process_that_has_ended(hooked, tmp_path):
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    pid_file = tmp_path / "pid"
    pid_file.write_text(str(ended.pid))
    agent = hooked({"signal": {"pid_file": str(pid_file)}})
    agent.start()
    assert "has ended, or it lives in another process namespace" in wait_hook(agent, "failed")["error"]


@pytest.mark.parametrize("by", ["name", "path"])
def test_a_signal_by_executable(hooked, tmp_path, by):
    python = tmp_path / f"cfr-test-consumer-{os.getpid()}"  # which no other run of this test has
    named = python.name if by == "name" else str(python)
    shutil.copy(os.path.realpath(sys.executable), python)
    consumer = Consumer(tmp_path, str(python), {**os.environ, "PYTHONHOME": "/usr"})
    try:
        agent = hooked({"signal": {"executable": named}})
        agent.start()
        eventually(lambda: consumer.count == 1, lambda: "a HUP:\n" + agent.log)
        wait_hook(agent, "ok")
        # Replaced by an update while it runs.
        python.unlink()
        rotate(agent)
        eventually(lambda: consumer.count == 2, lambda: "a HUP more:\n" + agent.log)
    finally:
        consumer.stop()
    rotate(agent)
    assert f"no process runs {named}" in wait_hook(agent, "failed")["error"]


@pytest.mark.skipif(not ROOT, reason="changes its user")
def test_a_signal_that_is_not_allowed_is_explained(hooked, consumer, tmp_path):
    pid_file = tmp_path / "pid"
    pid_file.write_text(str(consumer.process.pid))
    agent = hooked({"signal": {"pid_file": str(pid_file)}})
    let_others_in(agent.dir, agent.cloud.dir, agent.cloud.volumes["demo"])
    os.chown(agent.dir, 65534, 65534)
    os.chmod(agent.cloud.ca, 0o644)
    agent.start(wrapper=AS_NOBODY)
    told = wait_hook(agent, "failed")
    assert told["error"] == (f"not allowed to signal process {consumer.process.pid} of uid 0 from uid 65534: run both as "
                             "the same user, or give credfresh the capability CAP_KILL")
    assert consumer.count == 0 and agent.status()["ready"]


# ---- commands ----

def test_what_a_command_is_given(hooked, tmp_path):
    seen = tmp_path / "seen"
    command = script(tmp_path / "hook", f"""
env | sort > {seen}.env
ls /proc/$$/fd | tr '\\n' ' ' > {seen}.fd
ps -o pgid= -p $$ | tr -d ' ' > {seen}.pgid; echo $$ > {seen}.pid
readlink /proc/$$/fd/0 > {seen}.stdin
grep -E '^Sig(Blk|Ign)' /proc/self/status > {seen}.signals
printf '%s\\n' "$@" > {seen}.args
touch {seen}
""")
    agent = hooked({"exec": [command, "a b", "$HOME", "*"]})
    agent.start(env={"AWS_SECRET_ACCESS_KEY": "inherited", "AWS_REGION": "us-east-1", "SECRET": "inherited"})
    eventually(lambda: hook(agent).get("result") == "ok", "the hook:\n" + agent.log)
    env = dict(line.split("=", 1) for line in read_text(f"{seen}.env").splitlines())
    for of_the_shell in ("PWD", "_", "OLDPWD", "SHLVL"):
        env.pop(of_the_shell, None)
    assert env == {"CREDFRESH_CREDENTIAL": "demo", "CREDFRESH_GENERATION": "1", "CREDFRESH_PATHS": str(agent.out),
                   "PATH": os.environ["PATH"]}
    # 3 and 10 are the shell's own: the pipe that is being made, and the script.
    descriptors = {int(fd) for fd in read_text(f"{seen}.fd").split()}
    assert descriptors - {3, 10} == {0, 1, 2}, descriptors
    assert read_text(f"{seen}.stdin") == "/dev/null\n"
    assert read_text(f"{seen}.pgid") == read_text(f"{seen}.pid")
    assert read_text(f"{seen}.args") == "a b\n$HOME\n*\n"
    for line in read_text(f"{seen}.signals").splitlines():
        # 32 and 33 are the C library's own.
        assert int(line.split()[1], 16) & ~(3 << 31) == 0, line


def test_a_command_has_three_descriptors(hooked, tmp_path):
    seen = tmp_path / "seen"
    code = f"import os; n = sorted(map(int, os.listdir('/proc/self/fd'))); open('{seen}', 'w').write(repr(n))"
    agent = hooked({"exec": [sys.executable, "-c", code]})
    agent.start()
    wait_hook(agent, "ok")
    assert read_text(seen) == "[0, 1, 2, 3]"  # 3 is of the listing itself
    rotate(agent)
    eventually(lambda: hook(agent).get("generation") == 2, "the second run")
    assert read_text(seen) == "[0, 1, 2, 3]"


def test_descriptors_that_the_agent_inherits(hooked, tmp_path):
    """Neither a command nor the process that starts commands has them."""
    seen = tmp_path / "seen"
    code = f"import os; n = sorted(map(int, os.listdir('/proc/self/fd'))); open('{seen}', 'w').write(repr(n))"
    agent = hooked({"exec": [sys.executable, "-c", code]})
    agent.start(wrapper=("sh", "-c", 'exec "$@" 7</etc/passwd 9</etc/passwd', "sh"))
    wait_hook(agent, "ok")
    assert read_text(seen) == "[0, 1, 2, 3]"  # 3 is of the listing itself
    starter = children(agent.process.pid)["credfresh-start"]
    assert not {"7", "9"} & set(os.listdir(f"/proc/{starter}/fd"))


def test_a_commands_failure_is_reported_and_repeated(hooked, tmp_path):
    good = tmp_path / "good"
    command = script(tmp_path / "hook", f"test -e {good} && exit 0; exit 42\n")
    agent = hooked({"exec": [command]})
    agent.start()
    assert wait_hook(agent, "failed")["error"] == "exited with 42"
    eventually(lambda: hook(agent)["runs_failed"] >= 2, "a second attempt")
    good.touch()
    told = wait_hook(agent, "ok")
    assert told["runs_ok"] == 1 and told["generation"] == 1 and told["error"] is None
    assert agent.log.count(" warn  demo [reloading]: hook") == 1, agent.log


def test_a_command_that_is_killed(hooked, tmp_path):
    agent = hooked({"exec": [script(tmp_path / "hook", "kill -9 $$\n")]})
    agent.start()
    assert wait_hook(agent, "failed")["error"] == "was killed by signal 9 (Killed)"


def test_a_command_that_does_not_exist(hooked, tmp_path):
    agent = hooked({"exec": [str(tmp_path / "nothing")]})
    agent.start()
    assert wait_hook(agent, "failed")["error"] == f"cannot start {tmp_path / 'nothing'}: No such file or directory"
    agent2 = tmp_path / "nothing"
    script(agent2, "exit 0\n")
    wait_hook(agent, "ok")


def alive(pid):
    try:
        return open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def end_left(agent, pids):
    """What a failing test would leave behind: those that still run a command of this test."""
    agent.stop()
    for pid in read_text(pids).split():
        if alive(pid) and str(pids.parent) in read_text(f"/proc/{pid}/cmdline") + read_text(f"/proc/{pid}/environ"):
            os.kill(int(pid), signal.SIGKILL)


def test_a_command_that_takes_too_long_is_ended_with_its_children(hooked, tmp_path):
    pids = tmp_path / "pids"
    command = script(tmp_path / "hook", f"""
trap 'echo term >> {tmp_path}/term' TERM
sh -c 'trap "" TERM; sleep 1000' & echo $! >> {pids}
echo $$ >> {pids}
while :; do sleep 0.1; done
""")
    agent = hooked({"exec": [command], "timeout": "300ms"})
    agent.start()
    told = wait_hook(agent, "failed")
    assert told["error"] == "took longer than its timeout of 300 ms and was ended"
    assert read_text(tmp_path / "term") == "term\n", "asked first, then killed"
    try:
        first = [int(pid) for pid in read_text(pids).split()[:2]]
        eventually(lambda: not any(alive(pid) for pid in first), "the end of its process group")
    finally:
        end_left(agent, pids)


def test_children_that_outlive_an_ended_command(hooked, tmp_path):
    """The command itself obeys the first signal; what it started does not."""
    pids = tmp_path / "pids"
    command = script(tmp_path / "hook", f"""
sh -c 'trap "" TERM; echo $$ >> {pids}; while :; do sleep 0.1; done' &
while ! test -s {pids}; do sleep 0.01; done
sleep 1000
""")
    agent = hooked({"exec": [command], "timeout": "500ms"})
    agent.start()
    try:
        wait_hook(agent, "failed")
        first = int(read_text(pids).split()[0])
        eventually(lambda: not alive(first), "the end of its process group")
    finally:
        end_left(agent, pids)


def children(pid):
    """{name: pid} of the processes that PID started."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == pid:
            found[name] = int(path.parent.name)
    return found


def test_without_the_process_that_starts_commands_the_agent_ends(hooked, tmp_path):
    """No hook would ever run again, so the service manager is to start the agent again."""
    agent = hooked({"exec": ["/bin/true"]})
    agent.start()
    agent.wait_state("fresh")
    os.kill(children(agent.process.pid)["credfresh-start"], signal.SIGKILL)
    assert agent.process.wait(LIMIT_S) == 1
    assert "credfresh-start) has ended" in agent.log and "stopping: " in agent.log
    assert (agent.out / "token").exists()


def descriptor_of_starter(pid):
    """The agent's descriptor for the process that starts commands: the first one that ends in a process without a name."""
    pidfd = os.pidfd_open(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    for number in sorted(int(fd) for fd in os.listdir(f"/proc/{pid}/fd")):
        if not os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:"):
            continue
        fd = libc.syscall(438, pidfd, number, 0)  # pidfd_getfd
        assert fd >= 0, os.strerror(ctypes.get_errno())
        made = socket.socket(fileno=fd)
        if made.family == socket.AF_UNIX and made.type == socket.SOCK_STREAM:
            os.close(pidfd)
            return made
        made.close()
    raise AssertionError("no descriptor")


def request_start(starter, argv, environment):
    """What code in the agent can do. (verdict, errno, pid), the first of which is 0 if it was allowed."""
    words = b"".join(word.encode() + b"\0" for word in [*argv, *environment])
    head = struct.pack("=5I", 0, 0, len(words), len(argv), len(environment))
    socket.send_fds(starter, [head], [2])
    starter.sendall(words)
    answer = b""
    while len(answer) < 268:
        part = starter.recv(268 - len(answer))
        assert part, "the process that starts commands has ended"
        answer += part
    return struct.unpack("=Iii", answer[:12])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take a descriptor of the agent")
def test_code_in_the_agent_starts_no_other_command(hooked, tmp_path):
    runs = tmp_path / "runs"
    command = script(tmp_path / "hook", f"echo $* $CREDFRESH_GENERATION >> {runs}\n")
    planted = tmp_path / "planted"
    agent = hooked({"exec": [command, "a"]})
    agent.start()
    wait_hook(agent, "ok")
    environment = ["CREDFRESH_CREDENTIAL=demo", "CREDFRESH_GENERATION=77", f"CREDFRESH_PATHS={agent.out}",
                   "PATH=" + os.environ["PATH"]]
    # The agent would take an answer that it did not request for the other's end.
    agent.process.send_signal(signal.SIGSTOP)
    try:
        with descriptor_of_starter(agent.process.pid) as starter:
            for argv, variables in (
                    (["/usr/bin/touch", str(planted)], environment), (["/bin/sh", "-c", f"touch {planted}"], environment),
                    ([command], environment), ([command, "b"], environment), ([command, "a", "b"], environment),
                    ([command, "a"], [*environment, "LD_PRELOAD=/tmp/x.so"]), ([command, "a"], environment[:3]),
                    ([command, "a"], [f"PATH={tmp_path}" if v.startswith("PATH=") else v for v in environment])):
                assert request_start(starter, argv, variables)[0] == 1, argv
            # The same with what the configuration names: the requests above were not refused for another reason.
            assert request_start(starter, [command, "a"], environment)[:2] == (0, 0)
    finally:
        agent.process.send_signal(signal.SIGCONT)
    eventually(lambda: read_text(runs) == "a 1\na 77\n", read_text(runs))
    assert not planted.exists()


def test_a_hook_that_a_reload_brings(hooked, tmp_path):
    seen = tmp_path / "seen"
    agent = hooked({"exec": [script(tmp_path / "old", f"echo old >> {seen}\n")]})
    agent.start()
    wait_hook(agent, "ok")
    agent.configure(agent.credential(reload=[{"exec": [script(tmp_path / "new", f"echo new >> {seen}\n")]}]))
    # The file alone changes nothing.
    rotate(agent)
    eventually(lambda: read_text(seen) == "old\nold\n", "the hook that is loaded")
    agent.request("POST", "/v1/reload")
    rotate(agent)
    eventually(lambda: read_text(seen).endswith("new\n"), "the new hook:\n" + agent.log)
    assert "refused to start" not in agent.log


def test_signals_of_the_agent(hooked, tmp_path):
    agent = hooked({"exec": ["/bin/true"]})
    agent.start()
    agent.wait_state("fresh")
    for name in ("SIGUSR1", "SIGUSR2"):
        agent.process.send_signal(getattr(signal, name))
        eventually(lambda: f"ignoring {name}" in agent.log, name)
    agent.process.send_signal(signal.SIGQUIT)
    assert agent.process.wait(LIMIT_S) == 0 and "stopping: " in agent.log


def test_a_running_command_ends_with_the_agent(hooked, tmp_path):
    pids = tmp_path / "pids"
    agent = hooked({"exec": [script(tmp_path / "hook", f"echo $$ > {pids}; exec sleep 1000\n")]})
    agent.start()
    pid = int(eventually(lambda: read_text(pids).strip(), "the hook"))
    assert agent.stop() == 0
    eventually(lambda: not alive(pid), "the end of the hook")


def children_of(pid):
    """{pid: state} of the processes whose parent is PID, without our helpers."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        fields = read_text(path).rsplit(")", 1)[-1].split()
        if fields[1:2] == [str(pid)] and not read_text(path.with_name("comm")).startswith("credfresh-"):
            found[int(path.parent.name)] = fields[0]
    return found


def test_process_1_reaps_what_hooks_leave_behind(hooked, tmp_path):
    needs_namespace("--pid", "--fork", "--mount-proc")
    agent = hooked({"exec": [script(tmp_path / "hook", f"(read -r line <{tmp_path}/gate; echo left >>{tmp_path}/left) &\n")]})
    os.mkfifo(tmp_path / "gate")
    agent.start(wrapper=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
    wait_hook(agent, "ok")
    rotate(agent, 2)
    init = next(iter(children_of(agent.process.pid)))
    eventually(lambda: list(children_of(init).values()) == 3 * ["S"], lambda: f"three orphans: {children_of(init)}")
    (tmp_path / "gate").write_text("go\n")
    eventually(lambda: read_text(tmp_path / "left") == 3 * "left\n", "the end of the orphans")
    eventually(lambda: not children_of(init), lambda: f"no zombies: {children_of(init)}", limit_s=30)
    wait_hook(agent, "ok")
    os.kill(init, signal.SIGTERM)
    assert agent.process.wait(LIMIT_S) == 0


def test_process_1_reaps_what_a_hook_did_not(hooked, tmp_path):
    """The hook and what it never waited for become ours to reap at the same moment."""
    needs_namespace("--pid", "--fork", "--mount-proc")
    agent = hooked({"exec": [script(tmp_path / "hook", "true &\nexec sleep 0.2\n")]})
    agent.start(wrapper=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
    wait_hook(agent, "ok")
    init = next(iter(children_of(agent.process.pid)))
    eventually(lambda: not children_of(init), lambda: f"no zombies: {children_of(init)}", limit_s=30)
    os.kill(init, signal.SIGTERM)
    assert agent.process.wait(LIMIT_S) == 0


# ---- requests ----

class Receiver:
    """An HTTP server that writes down what it gets and answers what it is told to."""

    def __init__(self):
        outer = self
        self.requests, self.status, self.headers, self.delay = [], 200, {}, threading.Event()
        self.delay.set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                outer.requests.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
                outer.delay.wait(30)
                self.send_response(outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.delay.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.stop()


@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
def test_a_request(hooked, receiver, method):
    agent = hooked({"http": {"url": receiver.url + "/-/reload?now=1", "method": method}})
    agent.start()
    told = wait_hook(agent, "ok")
    assert told["name"] == f"http {method} {receiver.url}/-/reload"
    (verb, path, headers, body), = receiver.requests
    assert (verb, path, body) == (method, "/-/reload?now=1", b"")
    assert headers["X-Credfresh-Credential"] == "demo" and headers["X-Credfresh-Generation"] == "1"
    assert "Authorization" not in headers and "Expect" not in headers


def test_the_query_of_a_url_is_shown_nowhere(hooked, receiver):
    receiver.status = 503
    agent = hooked({"http": {"url": receiver.url + "/?token=hook-secret"}}, {"http": {"url": "http://127.0.0.1:1/?token=hook-secret"}})
    agent.start()
    wait_hook(agent, "failed")
    wait_hook(agent, "failed", 1)
    shown = agent.log + agent.request("GET", "/metrics")[1] + json.dumps(agent.request("GET", "/v1/credentials")[1])
    for argv in (("status",), ("check",), ("doctor", "--timeout", "5s")):
        done = agent.run(*argv)
        shown += done.stdout + done.stderr
    assert receiver.url + "/" in shown and "hook-secret" not in shown and "token=" not in shown
    assert receiver.requests[0][1] == "/?token=hook-secret"


def test_the_status_that_is_expected(hooked, receiver):
    receiver.status = 503
    agent = hooked({"http": {"url": receiver.url}}, {"http": {"url": receiver.url, "expect": 503}})
    agent.start()
    wait_hook(agent, "ok", 1)
    assert wait_hook(agent, "failed")["error"] == "answered 503"
    receiver.status = 204
    wait_hook(agent, "ok")


def test_a_redirect_is_not_followed(hooked, receiver):
    receiver.status, receiver.headers = 302, {"Location": receiver.url + "/elsewhere"}
    agent = hooked({"http": {"url": receiver.url}})
    agent.start()
    assert wait_hook(agent, "failed")["error"] == "answered 302"
    assert {path for _, path, _, _ in receiver.requests} == {"/"}


def test_a_request_that_takes_too_long(hooked, receiver):
    receiver.delay.clear()
    agent = hooked({"http": {"url": receiver.url}, "timeout": "300ms"})
    agent.start()
    assert "no complete answer within 300 ms" in wait_hook(agent, "failed")["error"]
    assert agent.status()["ready"]
    receiver.delay.set()
    wait_hook(agent, "ok")


def test_a_request_to_nobody(hooked):
    agent = hooked({"http": {"url": "http://127.0.0.1:1/"}})
    agent.start()
    assert "cannot connect: Connection refused" in wait_hook(agent, "failed")["error"]


def test_a_request_trusts_its_ca_file_alone(hooked, cloud):
    def request(ca_file):
        return {"http": {"url": cloud.sts, "method": "GET", "expect": 302, "ca_file": ca_file}}

    agent = hooked(request(cloud.other_ca), request(cloud.ca))
    agent.start(env={"SSL_CERT_FILE": cloud.ca})
    wait_hook(agent, "ok", 1)
    assert f"not signed by a CA in {cloud.other_ca}" in wait_hook(agent, "failed")["error"]


def test_a_corrected_ca_file_of_a_request_is_tried_at_once(hooked, cloud, tmp_path):
    """After six failures the pause is 16 s on average."""
    ca, new = tmp_path / "ca.pem", tmp_path / "new.pem"
    shutil.copy(cloud.other_ca, ca)
    shutil.copy(cloud.ca, new)
    agent = hooked({"http": {"url": cloud.sts, "method": "GET", "expect": 302, "ca_file": str(ca)}})
    agent.start()
    eventually(lambda: hook(agent).get("runs_failed", 0) >= 6, lambda: agent.log)
    new.rename(ca)
    eventually(lambda: hook(agent).get("result") == "ok", lambda: agent.log, 6)


# ---- the contract ----

def test_a_slow_hook_is_coalesced_to_the_newest(hooked, tmp_path):
    runs, go = tmp_path / "runs", tmp_path / "go"
    command = script(tmp_path / "hook", f"""
echo "begin $CREDFRESH_GENERATION" >> {runs}
while ! test -e {go}; do sleep 0.02; done
echo "end $CREDFRESH_GENERATION" >> {runs}
""")
    agent = hooked({"exec": [command]})
    agent.start()
    eventually(lambda: read_text(runs) == "begin 1\n", "the first run")
    rotate(agent, 3)  # a hook that runs never holds back a publish
    assert agent.published()["generation"] == 4
    assert read_text(runs) == "begin 1\n", "serial"
    go.touch()
    eventually(lambda: hook(agent).get("generation") == 4, "the last run:\n" + agent.log)
    assert read_text(runs) == "begin 1\nend 1\nbegin 4\nend 4\n"
    agent.wait_state("fresh")


def test_hooks_run_one_after_the_other(hooked, tmp_path):
    runs = tmp_path / "runs"
    command = script(tmp_path / "hook", f"echo begin >> {runs}; sleep 0.1; echo end >> {runs}\n")
    agent = hooked({"exec": [command]}, {"exec": [command, "2"]}, {"exec": [command, "3"]})
    agent.start()
    wait_hook(agent, "ok", 2)
    assert read_text(runs) == "begin\nend\n" * 3


def test_a_failing_hook_holds_back_nothing(hooked, receiver):
    agent = hooked({"exec": ["/bin/false"]}, {"http": {"url": receiver.url}})
    agent.start()
    agent.wait_generation(1)
    rotate(agent, 2)
    eventually(lambda: any(r[2]["X-Credfresh-Generation"] == "3" for r in receiver.requests), "the other hook")
    assert hook(agent)["result"] == "failed" and hook(agent, 1)["result"] == "ok"
    assert agent.status()["ready"] and agent.status()["last_error"] is None


def test_once_fails_with_its_hook(hooked):
    agent = hooked({"exec": ["/bin/false"]})
    done = agent.run("once", "--timeout", "30s")
    assert done.returncode == 1 and "exited with 1" in done.stderr
    assert agent.published()["generation"] == 1


def test_the_first_publish_may_be_skipped(hooked, receiver):
    agent = hooked({"http": {"url": receiver.url}, "on_first": "skip"})
    agent.start()
    agent.wait_state("fresh")
    assert receiver.requests == []
    rotate(agent)
    wait_hook(agent, "ok")
    assert [r[2]["X-Credfresh-Generation"] for r in receiver.requests] == ["2"]


def test_a_pending_hook_survives_a_kill(hooked, receiver):
    receiver.status = 500
    agent = hooked({"http": {"url": receiver.url}}, {"exec": ["/bin/true"]})
    agent.start()
    wait_hook(agent, "failed")
    wait_hook(agent, "ok", 1)
    agent.kill()
    receiver.status, before = 200, len(receiver.requests)
    agent.start()
    assert wait_hook(agent, "ok")["generation"] == 1
    assert len(receiver.requests) == before + 1 and len(agent.cloud.exchanges()) == 1
    assert hook(agent, 1)["runs_ok"] == 0, "what was told is not told again"
    assert agent.generation() == 1


def test_new_hooks_by_reload_need_no_exchange(hooked, receiver):
    agent = hooked({"exec": ["/bin/true"]})
    agent.start()
    wait_hook(agent, "ok")
    agent.configure(agent.credential(reload=[{"http": {"url": receiver.url}}]))
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: hook(agent).get("name") == f"http POST {receiver.url}", "the new hook:\n" + agent.log)
    assert agent.generation() == 1 and len(agent.cloud.exchanges()) == 1
    rotate(agent)
    wait_hook(agent, "ok")
    assert [r[2]["X-Credfresh-Generation"] for r in receiver.requests] == ["2"]
