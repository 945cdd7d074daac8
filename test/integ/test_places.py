# SPDX-License-Identifier: MIT
"""The agent's own files in directories of another user, or that others can write: `run`, `check` and `doctor` refuse them."""
import os
import subprocess

import pytest

from conftest import AS_NOBODY, eventually, let_others_in
from test_doctor import doctor
from trust import Authority

NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to be others")

# Replaces each socket that appears under a temporary name by a link to the victim.
SWAP = """
import os, stat, sys
directory, name, victim = sys.argv[1:]
os.chdir(directory)
print("ready", flush=True)
while True:
    try:
        if stat.S_ISSOCK(os.lstat(name).st_mode):
            os.unlink(name)
            os.symlink(victim, name)
    except OSError:
        pass
"""


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def theirs(agent):
    let_others_in(agent.dir)
    path = agent.dir / "theirs"
    path.mkdir()
    return path


def configure(agent, key, path):
    allow = {"allow": {"users": [str(NOBODY)]}} if key == "token_socket" else {}
    agent.configure(agent.credential(**allow), **{key: str(path)})
    if key == "control_socket":
        agent.socket = path


def refused(agent, check, words):
    done = agent.run("run", timeout=10)
    assert done.returncode == 1 and words in done.stderr, done.stderr
    done = agent.run("check")
    assert done.returncode == 1 and words in done.stdout, done.stdout + done.stderr
    doctor(agent, "--offline").one(check, "wrong", words)


@pytest.mark.parametrize("key", ["control_socket", "token_socket"])
@pytest.mark.parametrize("owner, mode, words", [
    (NOBODY, 0o755, "belongs to uid 65534, which could replace the socket in it"),
    (NOBODY, 0o1777, "belongs to uid 65534, which could replace the socket in it"),
    (0, 0o777, "can be written by every user (mode 0777)"),
    (0, 0o770, "can be written by its group (mode 0770)")])
def test_a_socket_in_their_directory(agent, theirs, key, owner, mode, words):
    """Its owner replaces the socket before it has its mode, which a file of root's then gets."""
    victim = agent.dir / "victim"
    victim.write_text("secret")
    victim.chmod(0o600)
    os.chown(theirs, owner, owner)
    theirs.chmod(mode)
    configure(agent, key, theirs / "sock")
    with subprocess.Popen([*AS_NOBODY, "/usr/bin/python3", "-c", SWAP, str(theirs), "soc~", str(victim)],
                          stdout=subprocess.PIPE, text=True) as swap:
        try:
            if mode & 0o005:
                assert swap.stdout.readline() == "ready\n"
            refused(agent, "machine.socket", f"{key}: {theirs} {words}")
        finally:
            swap.kill()
    assert victim.stat().st_mode & 0o777 == 0o600
    assert not os.path.lexists(theirs / "sock")


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_socket_in_a_directory_that_others_enter(agent, theirs, mode):
    theirs.chmod(mode)
    configure(agent, "token_socket", theirs / "sock")
    assert agent.run("check").returncode == 0
    doctor(agent, "--offline").one("machine.socket", "ok", f"token_socket: no other user can replace {theirs}/sock")
    agent.start()
    assert (theirs / "sock").stat().st_mode & 0o777 == 0o666


def test_a_reload_into_their_directory(agent, theirs):
    configure(agent, "token_socket", agent.dir / "sock")
    agent.start().wait_generation(1)
    os.chown(theirs, NOBODY, NOBODY)
    configure(agent, "token_socket", theirs / "sock")
    status, answer = agent.request("POST", "/v1/reload")[:2]
    assert status != 200 and f"token_socket: {theirs} belongs to uid {NOBODY}" in str(answer)
    eventually(lambda: agent.status()["state"] == "fresh", lambda: agent.log)


STORES = {
    "directory of another user": (lambda store: os.chown(store, NOBODY, NOBODY), f"belongs to uid {NOBODY}"),
    "directory for all": (lambda store: store.chmod(0o777), "can be written by every user (mode 0777)"),
    "directory for its group": (lambda store: store.chmod(0o770), "can be written by its group (mode 0770)"),
    "file of another user": (lambda store: os.chown(store / "authority.json", NOBODY, NOBODY),
                             f"belongs to uid {NOBODY}, another user"),
    "file for all": (lambda store: (store / "authority.json").chmod(0o666), "other users can write it (mode 0666)"),
}


@pytest.mark.parametrize("how", STORES)
def test_a_store_of_another_user(agent_factory, how):
    """It could hold a CA whose key that user has."""
    authority = Authority(agent_factory(None)).configure()
    authority.once()
    change, words = STORES[how]
    change(authority.store)
    agent = authority.agent
    done = agent.run("check")
    assert done.returncode == 1 and words in done.stdout, done.stdout
    assert len(doctor(agent, "--offline").all("ca.store", "wrong")) == 1
    doctor(agent, "--offline").one("ca.store", "wrong", words)
    done = agent.run("once", "--timeout", "3s")
    assert words in done.stderr, done.stderr


@pytest.mark.parametrize("change, words", [
    (lambda path: os.chown(path, NOBODY, NOBODY), f"belongs to uid {NOBODY}, another user"),
    (lambda path: path.chmod(0o666), "other users can write it (mode 0666)")], ids=["owner", "mode"])
def test_a_record_of_another_user(agent, change, words):
    agent.configure()
    assert agent.run("once").returncode == 0 and agent.run("check").returncode == 0
    change(agent.state / "demo.json")
    done = agent.run("check")
    assert done.returncode == 1 and f"{agent.state}/demo.json: " in done.stdout and words in done.stdout, done.stdout
    doctor(agent, "--offline").one("machine.state-dir", "wrong", words)
    done = agent.run("once")
    assert done.returncode == 0 and words in done.stderr, done.stderr


def test_the_user_of_a_running_agent_counts(agent):
    """Without one, root may be about to start an agent as the directory's owner."""
    agent.configure().start().wait_generation(1)
    os.chown(agent.state, NOBODY, NOBODY)
    done = agent.run("check")
    os.chown(agent.state, 0, 0)
    assert done.returncode == 1 and f"belongs to uid {NOBODY}, and credfresh runs as uid 0" in done.stdout, done.stdout


def test_a_configuration_that_the_agents_user_may_change(agent, theirs):
    """Code that takes over the agent could add commands to it."""
    kubeconfig = theirs / "kube" / "config"
    kubeconfig.parent.mkdir()
    kubeconfig.write_text("{}")
    agent.config_path = theirs / "credfresh.yaml"
    request = {"service_account": "demo", "namespace": "default", "kubeconfig": str(kubeconfig), "audiences": ["sts.amazonaws.com"]}
    agent.configure(agent.credential(token={"request": request}, exchange=None,
                                     publish={"file": {"path": str(theirs / "token"), "format": "token"}}))

    def warned():
        report = doctor(agent, "--offline", wrapper=AS_NOBODY)
        return [f["text"] for f in report.findings if f["check"] == "machine.config" and f["level"] == "warning"]

    assert warned() == []
    kubeconfig.parent.chmod(0o1777)
    assert warned() == []
    os.chown(theirs, NOBODY, -1)
    kubeconfig.chmod(0o666)
    assert [text.split(", so that")[0] for text in warned()] == [
        f"the configuration {agent.config_path}: the agent's user (uid {NOBODY}) may change {theirs}",
        f"the kubeconfig {kubeconfig}: the agent's user (uid {NOBODY}) may change {kubeconfig}"]
