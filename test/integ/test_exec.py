# SPDX-License-Identifier: MIT
"""credfresh exec: a command with its agent, from the first publish to the last process."""
import json
import os
import pty
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from conftest import CREDFRESH, Agent, eventually, let_others_in, needs_namespace, read_text
from endpoint_client import free_port
from test_hung_disk import frozen  # noqa: F401

PYTHON = sys.executable


class Command:
    """A running `credfresh exec`, and what its command wrote."""

    def __init__(self, agent, argv, options=(), env=None, wrapper=(), **how):
        self.agent = agent
        self.log_path = agent.dir / "exec.log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*wrapper, CREDFRESH, "exec", "-c", str(agent.config_path), *options, "--", *argv], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True, cwd=agent.dir, env={**os.environ, **(env or {})}, **how)

    @property
    def log(self):
        return read_text(self.log_path)

    def end(self, timeout=30):
        """(exit status, standard output)."""
        try:
            out, _ = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end:\n{self.log}")
        return self.process.returncode, out

    def line(self):
        text = self.process.stdout.readline()
        assert text, f"it wrote nothing:\n{self.log}"
        return text.strip()

    def agent_pid(self):
        """The child that runs credfresh itself."""
        for pid in children(self.process.pid):
            try:
                if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(CREDFRESH):
                    return pid
            except FileNotFoundError:
                pass  # it has ended
        return None


def children(pid):
    return [int(word) for word in read_text(f"/proc/{pid}/task/{pid}/children").split()]


def is_running(pid):
    return re.search(r"^State:\s+[^ZX]", read_text(f"/proc/{pid}/status"), re.M) is not None


@pytest.fixture
def launch(tmp_path, shared_cloud):
    made = []

    def run(*argv, agent=None, **how):
        if agent is None:
            agent = Agent(tmp_path / f"exec{len(made)}", shared_cloud).configure()
        made.append(Command(agent, argv, **how))
        return made[-1]

    yield run
    for command in made:
        if command.process.poll() is None:
            command.process.kill()
        command.process.communicate()


def sh(text):
    return ["/bin/sh", "-c", text]


def test_publishes_before_the_command_starts(launch):
    command = launch(*sh('cat "$AWS_SHARED_CREDENTIALS_FILE"; tr "\\0" "\\n" < /proc/$$/environ'))
    status, out = command.end()
    assert status == 0, command.log
    key = re.search(r"aws_secret_access_key = (.*)", out).group(1)
    token = command.agent.published()["fields"]["token"]
    environment = out[out.index("aws_secret_access_key"):].split("\n", 2)[2]
    assert f"CREDFRESH_SOCKET={command.agent.socket}" in out
    assert key not in environment and token not in environment
    assert not command.agent.socket.exists(), "the agent goes on without its command"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the command takes another user's rights")
@pytest.mark.parametrize("allowed", [True, False])
def test_a_command_with_another_users_rights_gets_its_credential(launch, tmp_path, shared_cloud, allowed):
    agent = Agent(tmp_path / "exec", shared_cloud)
    let_others_in(tmp_path)
    agent.configure(agent.credential(allow={"users": ["1234" if allowed else "1235"]}),
                    token_socket=str(agent.dir / "tokens.sock"))
    program = shutil.copy(CREDFRESH, tmp_path)
    command = launch("setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", program, "get", "aws", "demo", agent=agent,
                     env={"CREDFRESH_TOKEN_SOCKET": "/nowhere"})
    status, out = command.end()
    if allowed:
        assert status == 0 and json.loads(out)["SecretAccessKey"], command.log
    else:
        assert status != 0 and out == "" and "may not" in command.log, command.log


@pytest.mark.parametrize("text, status", [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143),
                                          ("kill -SEGV $$", 139)])
def test_ends_as_the_command_ends(launch, text, status):
    command = launch(*sh(text))
    assert command.end()[0] == status, command.log


def test_a_command_that_cannot_be_run(launch, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program")
    missing = launch("/no/such/program")
    denied = launch(str(plain))
    assert missing.end()[0] == 127 and "cannot run /no/such/program" in missing.log
    assert denied.end()[0] == 126 and "Permission denied" in denied.log


def test_nothing_is_started_without_credentials(launch, shared_cloud, tmp_path):
    shared_cloud.admin("/outage", {"on": True})
    late = launch(*sh("echo started"), options=["--timeout", "1s"])
    assert late.end() == (4, ""), late.log
    assert "is not published" in late.log
    shared_cloud.admin("/outage", {"on": False})
    wrong = Agent(tmp_path / "wrong", shared_cloud)
    wrong.configure(wrong.credential(exchange={"aws": {"role_arn": "arn:aws:iam::123456789012:role/nobody", "region": "us-east-1",
                                                       "endpoint": shared_cloud.sts, "ca_file": shared_cloud.ca}}))
    refused = launch(*sh("echo started"), agent=wrong)
    assert refused.end() == (1, ""), refused.log
    wrong.config_path.write_text("version: 2\n")
    broken = launch(*sh("echo started"), agent=wrong)
    assert broken.end() == (3, ""), broken.log
    unknown = launch(*sh("echo started"), options=["--name", "nobody"])
    assert unknown.end() == (3, "") and "no credential nobody" in unknown.log


def test_a_signal_before_the_command_ends_all(launch, shared_cloud):
    shared_cloud.admin("/outage", {"on": True})
    command = launch(*sh("echo started"))
    eventually(lambda: command.agent.socket.exists(), "the agent")
    command.process.send_signal(signal.SIGTERM)
    assert command.end() == (143, ""), command.log


def test_signals_are_passed_on(launch):
    text = """
import signal, sys
wanted = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGTERM,
          signal.SIGCONT, signal.SIGALRM}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("ready", flush=True)
while True:
    number = signal.sigwait(wanted)
    print(signal.Signals(number).name, flush=True)
    if number == signal.SIGTERM:
        sys.exit(9)
"""
    command = launch(PYTHON, "-c", text)
    assert command.line() == "ready"
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT", "SIGALRM", "SIGTERM"):
        command.process.send_signal(getattr(signal, name))
        assert command.line() == name
    assert command.end()[0] == 9
    assert "loaded the new configuration" not in command.log, "SIGHUP is the command's alone"


def test_the_command_starts_as_if_nothing_were_between(launch):
    # No shell: it would put things right by itself.
    text = """
import json, os, resource
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
print(json.dumps({"umask": status["Umask"], "blocked": int(status["SigBlk"], 16), "ignored": int(status["SigIgn"], 16),
                  "open": [fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}")],
                  "core": resource.getrlimit(resource.RLIMIT_CORE), "own": os.environ["OWN"]}))
"""
    extra = os.open("/dev/null", os.O_RDONLY)
    command = launch(PYTHON, "-c", text, env={"OWN": "kept"}, pass_fds=(extra,),
                     preexec_fn=lambda: (os.umask(0o027), signal.signal(signal.SIGUSR1, signal.SIG_IGN)))
    os.close(extra)
    status, out = command.end()
    assert status == 0, command.log
    seen = json.loads(out)
    assert seen["ignored"] & 1 << (signal.SIGUSR1 - 1)
    del seen["ignored"]
    assert seen == {"umask": "0027", "blocked": 0, "open": [], "core": list(resource.getrlimit(resource.RLIMIT_CORE)),
                    "own": "kept"}


def test_without_standard_descriptors(launch):
    command = launch(*sh("ls /proc/self/fd > seen; exit 4"), wrapper=("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"))
    assert command.end()[0] == 4, command.log
    seen = read_text(command.agent.dir / "seen").split()
    assert "0" in seen and "1" in seen and "2" not in seen  # ls has its directory and its output open


def test_what_would_win_is_taken_out(launch):
    command = launch(*sh("echo ${AWS_ACCESS_KEY_ID-none} ${AWS_SHARED_CREDENTIALS_FILE-none}"),
                     env={"AWS_ACCESS_KEY_ID": "AKIAOTHER", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere"})
    status, out = command.end()
    assert (status, out.split()) == (0, ["none", str(command.agent.out / "credentials")])
    assert "AWS_ACCESS_KEY_ID is removed from the environment" in command.log and "AKIAOTHER" not in command.log


def test_an_sdk_at_the_endpoint(launch, shared_cloud, tmp_path):
    """A credential that is only served: botocore finds it by the variables. Debian's cannot read the file of the header."""
    pytest.importorskip("botocore")
    text = f"""
import os, sys, botocore.session
os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = open(os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]).read()
session = botocore.session.Session()
client = session.create_client("sts", region_name="us-east-1", endpoint_url={shared_cloud.sts!r}, verify={shared_cloud.ca!r})
print("IDENTITY", client.get_caller_identity()["Arn"], "AWS_CONTAINER_CREDENTIALS_FULL_URI" in os.environ,
      "AWS_SHARED_CREDENTIALS_FILE" in os.environ, flush=True)
"""
    agent = Agent(tmp_path / "served", shared_cloud)
    agent.configure(agent.credential(publish=None), endpoints=[{
        "listen": f"127.0.0.1:{free_port()}",
        "aws_container": {"credential": "demo", "authorization": {"file": str(agent.dir / "authorization")}}}])
    command = launch("/usr/bin/python3", "-c", text, agent=agent, env={"HOME": str(tmp_path), "AWS_PROFILE": "other"})
    status, out = command.end()
    assert status == 0 and re.match(r"IDENTITY arn:aws:sts::123456789012:assumed-role/demo/\S+ True False\n", out), command.log
    assert "AWS_PROFILE is removed from the environment" in command.log


def test_the_command_waits_for_what_its_endpoint_serves(launch, shared_cloud, tmp_path):
    """What an earlier run published is still good, but not in memory."""
    agent = Agent(tmp_path / "served", shared_cloud)
    agent.configure(endpoints=[{
        "listen": f"127.0.0.1:{free_port()}",
        "aws_container": {"credential": "demo", "authorization": {"file": str(agent.dir / "authorization")}}}])
    assert agent.run("once").returncode == 0
    shared_cloud.admin("/outage", {"on": True})
    late = launch(*sh("echo started"), agent=agent, options=["--timeout", "1s"])
    assert late.end() == (4, ""), late.log
    assert "is not published, or not in memory for its endpoint" in late.log
    shared_cloud.admin("/outage", {"on": False})
    assert launch(*sh("echo started"), agent=agent).end() == (0, "started\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_command_waits_for_the_file_of_its_endpoint(launch, shared_cloud, tmp_path, frozen):  # noqa: F811
    """A child writes it, which a busy disk delays: the command would find no authorization."""
    agent = Agent(tmp_path / "served", shared_cloud)
    path = frozen / "authorization"
    agent.configure(endpoints=[{"listen": f"127.0.0.1:{free_port()}",
                                "aws_container": {"credential": "demo", "authorization": {"file": str(path)}}}])
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    command = launch(*sh(f"test -s {path} && echo there"), agent=agent)
    eventually(agent.socket.exists, lambda: command.log)
    agent.wait_state("fresh")
    subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    assert command.end() == (0, "there\n"), command.log


def test_refreshes_while_the_command_runs(launch):
    command = launch(*sh("echo up; read nothing; sleep 60"))
    assert command.line() == "up"
    before = command.agent.published()["generation"]
    assert command.agent.run("rotate", "demo").returncode == 0
    command.agent.wait_generation(before + 1)
    command.process.send_signal(signal.SIGTERM)
    assert command.end()[0] == 143


def test_the_command_outlives_a_failing_agent(launch):
    command = launch(*sh("echo up; exec sleep 60"))
    assert command.line() == "up"
    first = command.agent_pid()
    os.kill(first, signal.SIGKILL)
    eventually(lambda: command.agent_pid() not in (None, first), "another agent")
    assert command.process.poll() is None
    eventually(lambda: command.agent.generation() == 1, "what stands is taken over")
    assert command.agent.run("rotate", "demo").returncode == 0
    command.agent.wait_generation(2)
    command.process.send_signal(signal.SIGTERM)
    assert command.end()[0] == 143
    assert "ended by signal 9" in command.log


def test_quit_ends_the_command_too(launch):
    command = launch(*sh("echo up; exec sleep 60"))
    assert command.line() == "up"
    assert command.agent.run("quit").returncode == 0
    assert command.end()[0] == 143, command.log


def test_nothing_is_left_of_the_command(launch, shared_cloud, tmp_path):
    agent = Agent(tmp_path / "short", shared_cloud).configure(stop_grace="0s")
    deaf = "trap '' TERM; echo $$; while :; do sleep 0.1; done"
    command = launch(*sh(f'sh -c "{deaf.replace("$", chr(92) + "$")}" & sleep 60 & echo $!; read nothing; sleep 0.3; exit 5'),
                     agent=agent)
    status, out = command.end()
    assert status == 5 and len(out.split()) == 2, command.log
    for pid in out.split():
        eventually(lambda: not is_running(pid), f"the end of {pid}")


# Run as the first process of a namespace: while the agent, which is stopped, holds up the end, the number of the command's
# group goes to another one.
REUSE = """
import os, signal, subprocess, sys, time
run = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
leader = int(run.stdout.readline())
kids = [int(pid) for pid in open(f"/proc/{run.pid}/task/{run.pid}/children").read().split()]
(agent,) = set(kids) - {leader}
os.kill(agent, signal.SIGSTOP)
run.stdin.close()
while os.path.exists(f"/proc/{leader}"):
    time.sleep(0.01)
while True:
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(leader - 1))
    other = os.fork()
    if other == 0:
        os.setpgid(0, 0)
        time.sleep(60)
        os._exit(0)
    if other == leader:
        break
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
print(run.wait(timeout=30), os.waitpid(other, os.WNOHANG) == (0, 0))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to choose the next process id")
def test_another_group_with_the_commands_number_is_left_alone(shared_cloud, tmp_path):
    needs_namespace("--pid", "--fork", "--mount-proc")
    agent = Agent(tmp_path / "reuse", shared_cloud).configure(stop_grace="1s")
    done = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", PYTHON, "-c", REUSE, CREDFRESH, "exec", "-c",
                           str(agent.config_path), "--", *sh("echo $$; read nothing; exit 7")], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["7", "True"], done


def test_orphans_are_reaped(launch):
    command = launch(*sh("(setsid sh -c 'echo $$; exec sleep 60' &); exec sleep 60"))
    orphan = int(command.line())
    eventually(lambda: orphan in children(command.process.pid), "the orphan with us")
    os.kill(orphan, signal.SIGKILL)
    eventually(lambda: not os.path.exists(f"/proc/{orphan}"), "its end, and nobody left of it")
    command.process.send_signal(signal.SIGTERM)
    assert command.end()[0] == 143


def test_both_go_with_a_supervisor_that_is_killed(launch):
    command = launch(*sh("echo up; exec sleep 60"))
    assert command.line() == "up"
    pids = children(command.process.pid)
    assert len(pids) == 2
    command.process.kill()
    for pid in pids:
        eventually(lambda: not is_running(pid), f"the end of {pid}")


def test_as_the_first_process(launch):
    needs_namespace("--pid", "--fork", "--mount-proc")
    command = launch(*sh("echo $PPID; (setsid sleep 0.1 &); sleep 0.3; ps -o stat= --ppid 1 | grep -c Z; exit 6"),
                     wrapper=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
    status, out = command.end()
    assert (status, out.split()) == (6, ["1", "0"]), command.log


def test_at_a_terminal(shared_cloud, tmp_path):
    """The command has the terminal, and the keys that signal go to it."""
    if not os.path.exists("/dev/pts/ptmx"):
        pytest.skip("there are no pseudo-terminals here: /dev/pts is not mounted")
    agent = Agent(tmp_path / "tty", shared_cloud).configure()
    text = ("import os, signal, sys, time\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n"
            "print('foreground', os.tcgetpgrp(0) == os.getpgrp(), flush=True)\n"
            "print('read', sys.stdin.readline().strip(), flush=True)\n"
            "signal.sigwait({signal.SIGINT})\n"
            "print('interrupted', flush=True)\n"
            "sys.exit(3)\n")
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(CREDFRESH, [CREDFRESH, "exec", "-c", str(agent.config_path), "--", PYTHON, "-c", text])
    seen = b""

    def wait_for(what):
        nonlocal seen
        while what not in seen:
            seen += os.read(fd, 4096)

    wait_for(b"foreground True")
    os.write(fd, b"hello\n")
    wait_for(b"read hello")
    os.write(fd, b"\x03")
    wait_for(b"interrupted")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    os.close(fd)


def test_suspended_and_brought_back_by_a_shell(shared_cloud, tmp_path):
    """Ctrl-Z and fg, as for any program; the agent goes on meanwhile."""
    if not os.path.exists("/dev/pts/ptmx"):
        pytest.skip("there are no pseudo-terminals here: /dev/pts is not mounted")
    agent = Agent(tmp_path / "tty", shared_cloud).configure()
    (agent.dir / "command.py").write_text("import os, sys\n"
                                          "print('foreground', os.tcgetpgrp(0) == os.getpgrp(), flush=True)\n"
                                          "print('read', sys.stdin.readline().strip(), flush=True)\n")
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], {**os.environ, "PS1": "prompt> ", "LC_ALL": "C"})
    seen = b""

    def wait_for(what):
        nonlocal seen
        while what not in seen:
            seen += os.read(fd, 4096)
        seen = seen.partition(what)[2]

    wait_for(b"prompt> ")
    os.write(fd, f"{CREDFRESH} exec -c {agent.config_path} -- {PYTHON} {agent.dir}/command.py\n".encode())
    wait_for(b"foreground True")
    os.write(fd, b"\x1a")
    wait_for(b"Stopped")
    wait_for(b"prompt> ")
    assert agent.status()["state"] == "fresh"
    os.write(fd, b"fg\n")
    wait_for(b"command.py")
    os.write(fd, b"hello\n")
    wait_for(b"read hello")
    wait_for(b"prompt> ")
    os.write(fd, b"echo status $?; exit\n")
    wait_for(b"status 0")
    os.waitpid(pid, 0)
    os.close(fd)
