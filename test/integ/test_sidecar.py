# SPDX-License-Identifier: MIT
"""Shutdown of an agent: with the process it follows, on request, and in order."""
import os
import shutil
import signal
import subprocess

import pytest

from conftest import eventually


@pytest.fixture
def sidecar(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


@pytest.fixture
def peer(tmp_path):
    """Starts processes under a name of their own."""
    made = []

    def start(name, *argv):
        program = tmp_path / name
        if not program.exists():
            shutil.copy("/bin/sleep", program)
        made.append(subprocess.Popen([program, *(argv or ("60",))]))
        return made[-1]

    yield start
    for process in made:
        process.kill()
        process.wait()


def ended(agent, limit_s=20):
    eventually(lambda: agent.process.poll() is not None, lambda: f"the agent's end:\n{agent.log}", limit_s)
    return agent.process.returncode


def hook(tmp_path, text):
    path = tmp_path / "hook.sh"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return [{"exec": [str(path)], "timeout": "60s"}]


# A name that the kernel shows cut off, and a short one.
@pytest.mark.parametrize("name", [f"cfr-peer-with-a-long-name-{os.getpid()}", f"peer{os.getpid()}"])
def test_ends_with_the_process_beside_it(sidecar, peer, name):
    sidecar.configure(exit_with={"process": name, "linger": "0s"}).start()
    sidecar.wait_generation(1)
    assert sidecar.process.poll() is None, "it waits for who has not been seen"
    beside = peer(name)
    eventually(lambda: f"{name} runs" in sidecar.log, "the peer to be seen")
    assert sidecar.run("status").returncode == 0
    beside.kill()
    beside.wait()
    assert ended(sidecar) == 0
    assert f"{name} has ended" in sidecar.log and (sidecar.out / "credentials").exists()


def test_a_process_that_comes_back_is_waited_for(sidecar, peer):
    name = f"again{os.getpid()}"
    sidecar.configure(exit_with={"process": name, "linger": "3s"}).start()
    first = peer(name)
    eventually(lambda: f"{name} runs" in sidecar.log, "the peer to be seen")
    second = peer(name)
    first.kill()
    first.wait()
    sidecar.wait_generation(1)
    assert sidecar.run("rotate", "demo").returncode == 0
    sidecar.wait_generation(2)
    second.kill()
    second.wait()
    third = peer(name)
    assert sidecar.run("rotate", "demo").returncode == 0
    sidecar.wait_generation(3)
    assert sidecar.process.poll() is None, sidecar.log
    third.kill()
    third.wait()
    assert ended(sidecar) == 0


def test_ends_with_a_pid_file(sidecar, peer, tmp_path):
    pid_file = tmp_path / "peer.pid"
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    pid_file.write_text(f"{gone.pid}\n")  # left by an earlier one
    sidecar.configure(exit_with={"pid_file": str(pid_file), "linger": "0s"}).start()
    sidecar.wait_generation(1)
    beside = peer("by-file")
    pid_file.write_text(f"{beside.pid}\n")
    eventually(lambda: f"{pid_file} runs" in sidecar.log, "the peer to be seen")
    beside.kill()
    beside.wait()
    assert ended(sidecar) == 0


def test_a_process_too_quick_to_be_seen(sidecar, tmp_path):
    pid_file = tmp_path / "peer.pid"
    sidecar.configure(exit_with={"pid_file": str(pid_file), "linger": "0s"}).start()
    sidecar.wait_generation(1)
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    pid_file.write_text(f"{gone.pid}\n")
    assert ended(sidecar) == 0


def test_a_reload_brings_another_process(sidecar, peer):
    sidecar.configure(exit_with={"process": f"nobody{os.getpid()}"}).start()
    sidecar.wait_generation(1)
    beside = peer(f"later{os.getpid()}")
    sidecar.configure(exit_with={"process": f"later{os.getpid()}", "linger": "0s"})
    assert sidecar.run("reload").returncode == 0
    eventually(lambda: "the agent ends when it has ended" in sidecar.log, "the peer to be seen")
    beside.kill()
    beside.wait()
    assert ended(sidecar) == 0


def test_a_reload_does_not_forget_who_has_ended(sidecar, peer):
    name = f"ended{os.getpid()}"
    beside = peer(name)
    sidecar.configure(exit_with={"process": name, "linger": "3s"}).start()
    eventually(lambda: f"{name} runs" in sidecar.log, "the peer to be seen")
    beside.kill()
    beside.wait()
    assert sidecar.run("reload").returncode == 0
    assert ended(sidecar) == 0


def test_the_end_of_the_other_is_told_once(sidecar, peer, shared_cloud):
    name = f"once{os.getpid()}"
    beside = peer(name)
    sidecar.configure(exit_with={"process": name, "linger": "0s"}, stop_grace="20s").start()
    sidecar.wait_generation(1)
    eventually(lambda: f"{name} runs" in sidecar.log, "the peer to be seen")
    shared_cloud.fault(kind="delay", ms=1500, count=1)
    assert sidecar.run("rotate", "demo").returncode == 0
    beside.kill()
    beside.wait()
    assert ended(sidecar) == 0
    assert sidecar.log.count("and so does the agent") == 1, sidecar.log


@pytest.mark.parametrize("exit_with, words", [
    ({}, "write exactly one of process and pid_file"),
    ({"process": "a", "pid_file": "/b"}, "write exactly one of process and pid_file"),
    ({"process": "/bin/a"}, "is a path"),
    ({"pid_file": "b"}, "pid_file"),
    ({"program": "a"}, "unknown key program"),
])
def test_mistakes(sidecar, exit_with, words):
    done = sidecar.configure(exit_with=exit_with).run("check")
    assert done.returncode == 3 and words in done.stdout, done.stdout


def test_quit(sidecar):
    sidecar.configure().start()
    sidecar.wait_generation(1)
    assert sidecar.request("GET", "/v1/quit")[0] == 405
    assert sidecar.process.poll() is None
    assert sidecar.request("POST", "/v1/quit") == (202, {"stopping": True})
    assert ended(sidecar) == 0
    assert sidecar.run("quit").returncode == 5
    sidecar.start()
    done = sidecar.run("quit")
    assert (done.returncode, done.stderr) == (0, "")
    assert ended(sidecar) == 0


def test_an_exchange_under_way_is_finished(sidecar, shared_cloud):
    shared_cloud.fault(kind="delay", ms=1500, count=1)
    sidecar.configure(stop_grace="20s").start()
    eventually(lambda: sidecar.status().get("state") == "exchanging", "the exchange")
    sidecar.process.send_signal(signal.SIGTERM)
    assert ended(sidecar) == 0
    assert sidecar.published()["generation"] == 1, sidecar.log
    assert "progress first" in sidecar.log


def test_an_exchange_that_takes_too_long_is_given_up(sidecar, shared_cloud):
    shared_cloud.fault(kind="delay", ms=25000, count=1)
    sidecar.configure(stop_grace="500ms").start()
    eventually(lambda: sidecar.status().get("state") == "exchanging", "the exchange")
    sidecar.process.send_signal(signal.SIGTERM)
    assert ended(sidecar, 10) == 0
    assert not (sidecar.out / "credentials").exists()


def test_a_second_signal_hurries(sidecar, shared_cloud):
    shared_cloud.fault(kind="delay", ms=25000, count=1)
    sidecar.configure(stop_grace="5m").start()
    eventually(lambda: sidecar.status().get("state") == "exchanging", "the exchange")
    sidecar.process.send_signal(signal.SIGTERM)
    eventually(lambda: "progress first" in sidecar.log, "the first signal")
    sidecar.process.send_signal(signal.SIGTERM)
    assert ended(sidecar, 10) == 0


def test_hooks_get_their_end(sidecar, tmp_path):
    go = tmp_path / "go"
    reload = hook(tmp_path, f"touch {tmp_path}/began; while [ ! -e {go} ]; do sleep 0.05; done; touch {tmp_path}/done\n")
    sidecar.configure(sidecar.credential(reload=reload), stop_grace="20s").start()
    eventually(lambda: (tmp_path / "began").exists(), "the hook")
    sidecar.process.send_signal(signal.SIGTERM)
    eventually(lambda: "progress first" in sidecar.log, "the signal")
    assert sidecar.process.poll() is None
    go.touch()
    assert ended(sidecar) == 0
    assert (tmp_path / "done").exists() and "done for generation 1" in sidecar.log


def test_nothing_new_is_begun(sidecar, shared_cloud, tmp_path):
    """While a hook takes its time at the end, a new token and a rotation bring no exchange."""
    go = tmp_path / "go"
    reload = hook(tmp_path, f"touch {tmp_path}/began; while [ ! -e {go} ]; do sleep 0.05; done\n")
    sidecar.configure(sidecar.credential(reload=reload), stop_grace="20s").start()
    eventually(lambda: (tmp_path / "began").exists(), "the hook")
    before = len(shared_cloud.exchanges())
    sidecar.process.send_signal(signal.SIGTERM)
    eventually(lambda: "progress first" in sidecar.log, "the signal")
    assert sidecar.run("rotate", "demo").returncode == 0
    go.touch()
    assert ended(sidecar) == 0
    assert len(shared_cloud.exchanges()) == before
