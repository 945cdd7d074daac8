# SPDX-License-Identifier: MIT
"""Reload of the configuration in a running agent."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import ROLE, eventually, read_text
from endpoint_client import ask, free_port


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


def reload(agent, how="command"):
    """Takes the file again and returns once that has happened."""
    if how == "command":
        done = agent.run("reload", "-s", str(agent.socket))
        assert done.returncode == 0, done.stderr
        return
    before = agent.log.count("loaded the new configuration")
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: agent.log.count("loaded the new configuration") == before + 1, "the reload:\n" + agent.log)


def names(agent):
    return [c["name"] for c in agent.request("GET", "/v1/credentials")[1]["credentials"]]


def config_of(agent):
    return agent.request("GET", "/v1/credentials")[1]["agent"]["config"]


@pytest.mark.parametrize("how", ["command", "signal"])
def test_what_did_not_change_stays(agent, how):
    agent.start()
    agent.wait_generation(1)
    pid = agent.process.pid
    agent.configure(agent.credential(), agent.credential("second"), keep_previous="20m")
    reload(agent, how)
    agent.wait_generation(1, "second")
    assert names(agent) == ["demo", "second"]
    assert agent.generation() == 1 and agent.published()["generation"] == 1
    assert len(agent.cloud.exchanges()) == 2
    assert agent.process.pid == pid and agent.process.poll() is None


def test_the_same_file_again_changes_nothing(agent):
    agent.start()
    agent.wait_generation(1)
    data = os.readlink(agent.out / "..data")
    for how in ("command", "signal", "command"):
        reload(agent, how)
    assert os.readlink(agent.out / "..data") == data and len(agent.cloud.exchanges()) == 1
    # And it still works afterwards.
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_generation(2)


def test_another_order_changes_nothing(agent):
    agent.configure(agent.credential("a"), agent.credential("b"), agent.credential("c")).start()
    for name in "abc":
        agent.wait_generation(1, name)
    agent.configure(agent.credential("c"), agent.credential("a"), agent.credential("b"))
    reload(agent)
    assert names(agent) == ["c", "a", "b"] and len(agent.cloud.exchanges()) == 3


def test_what_changed_is_exchanged_again(agent):
    agent.configure(agent.credential(), agent.credential("second")).start()
    agent.wait_generation(1)
    agent.wait_generation(1, "second")
    changed = agent.credential()
    changed["exchange"]["aws"]["duration"] = "15m"  # a shorter life, and welcome because it is asked for
    agent.configure(changed, agent.credential("second"))
    reload(agent)
    agent.wait_generation(2)
    assert agent.status()["expires_in_s"] <= 905
    assert agent.generation("second") == 1 and len(agent.cloud.exchanges()) == 3


def test_a_new_file_is_published(agent):
    agent.start()
    agent.wait_generation(1)
    changed = agent.credential()
    changed["publish"]["files"] = [{"name": "creds.json", "format": "json"}, {"name": "env", "format": "env"}]
    agent.configure(changed)
    reload(agent)
    agent.wait_generation(2)
    eventually(lambda: sorted(p.name for p in agent.out.iterdir() if not p.name.startswith("..")) ==
               ["creds.json", "env"], "the files")


def test_a_changed_one_that_fails_keeps_what_was(agent):
    agent.start()
    agent.wait_generation(1)
    before = agent.published()
    changed = agent.credential()
    changed["exchange"]["aws"]["role_arn"] = ROLE + "-missing"
    agent.configure(changed)
    reload(agent)
    agent.wait_state("backoff")
    assert agent.published() == before
    agent.configure()
    reload(agent)
    eventually(lambda: agent.status()["state"] == "fresh", "rest:\n" + agent.log)
    assert agent.status()["ready"] and agent.status()["last_error"] is None


def test_what_is_taken_out_stays_on_disk(agent):
    agent.configure(agent.credential(), agent.credential("second")).start()
    agent.wait_generation(1)
    agent.wait_generation(1, "second")
    text = (agent.out / "credentials").read_text()
    agent.configure(agent.credential("second"))
    reload(agent)
    assert names(agent) == ["second"]
    assert (agent.out / "credentials").read_text() == text
    assert "not renewed" in agent.log
    # And comes back as it was.
    agent.configure(agent.credential("second"), agent.credential())
    reload(agent)
    agent.wait_state("fresh")
    assert agent.generation() == 1 and len(agent.cloud.exchanges()) == 2


def test_while_an_exchange_is_under_way(agent):
    agent.cloud.fault(kind="delay", match={"action": "AssumeRoleWithWebIdentity"}, ms=1000, count=1)
    agent.start()
    agent.wait_state("exchanging")
    agent.configure(agent.credential(), agent.credential("second"))
    reload(agent)
    agent.wait_generation(1)
    agent.wait_generation(1, "second")
    eventually(lambda: any(entry["fault"] == "delay" for entry in agent.cloud.exchanges()), "the slow answer")
    assert len(agent.cloud.exchanges()) == 2, "the one under way went on"


def test_a_rotation_that_was_asked_for_is_not_forgotten(agent):
    agent.start()
    agent.wait_generation(1)
    agent.cloud.admin("/outage", {"on": True})
    assert agent.run("rotate", "demo", "--reason", "leak").returncode == 0
    agent.wait_state("backoff")
    reload(agent)
    agent.cloud.admin("/outage", {"on": False})
    agent.wait_generation(2)
    assert agent.status()["last_reason"] == "leak"


@pytest.mark.parametrize("how", ["command", "signal"])
def test_a_bad_one_is_refused(agent, how):
    port = free_port()
    agent.configure(listen=f"127.0.0.1:{port}").start()
    agent.wait_generation(1)

    def metric():
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        return next(line for line in page.splitlines() if line.startswith("credfresh_config_last_reload_successful "))

    good = agent.config_path.read_text()
    agent.config_path.write_text(good.replace('"state_dir"', '"state_dri"'))
    line = good[:good.index('"state_dir"')].count("\n") + 1
    words = f"{agent.config_path}:{line}: unknown key state_dri; did you mean state_dir?"
    if how == "command":
        done = agent.run("reload", "-s", str(agent.socket))
        assert done.returncode == 6 and "the old configuration remains" in done.stderr and words in done.stderr
    else:
        agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: not config_of(agent)["ok"], "the refusal")
    assert words in config_of(agent)["error"]
    assert words in agent.log and metric().endswith(" 0")
    assert agent.status()["ready"] and agent.generation() == 1
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_generation(2)
    agent.config_path.write_text(good)
    reload(agent)
    assert config_of(agent) == {**config_of(agent), "ok": True, "error": None} and metric().endswith(" 1")


@pytest.mark.parametrize("key, value", [("state_dir", "other"), ("control_socket", "other.sock")])
def test_what_cannot_change(agent, key, value):
    agent.start()
    agent.wait_generation(1)
    config = json.loads(agent.config_path.read_text())
    config[key] = str(agent.dir / value)
    agent.config_path.write_text(json.dumps(config))
    done = agent.run("reload", "-s", str(agent.socket))
    assert done.returncode == 6 and f"{key} cannot change while the agent runs: restart it" in done.stderr
    assert agent.generation() == 1


def test_the_file_is_gone(agent):
    agent.start()
    agent.wait_generation(1)
    agent.config_path.unlink()
    done = agent.run("reload", "-s", str(agent.socket))
    assert done.returncode == 6 and "No such file" in done.stderr
    assert agent.status()["ready"]


def test_the_listen_address_moves(agent):
    first, second = free_port(), free_port()
    agent.configure(listen=f"127.0.0.1:{first}").start()
    agent.wait_generation(1)

    def answers(port):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5).status == 200
        except urllib.error.URLError:
            return False

    assert answers(first)
    agent.configure(listen=f"127.0.0.1:{second}")
    reload(agent)
    assert answers(second) and not answers(first)
    agent.configure()
    reload(agent)
    assert not answers(second)
    agent.configure(listen=f"127.0.0.1:{first}")
    reload(agent)
    assert answers(first)
    # An address that another program has is refused, and the old one still answers.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        agent.configure(listen=f"127.0.0.1:{taken.getsockname()[1]}")
        done = agent.run("reload", "-s", str(agent.socket))
        assert done.returncode == 6 and "another process listens there" in done.stderr
    assert answers(first) and agent.generation() == 1 and len(agent.cloud.exchanges()) == 1


def test_an_address_that_the_agent_has_itself(agent):
    """It is no other process's, and a restart cures it."""
    health, port = free_port(), free_port()
    served = {"ec2_imds": {"credential": "demo"}}
    agent.configure(listen=f"127.0.0.1:{health}", endpoints=[{"listen": f"127.0.0.1:{port}", **served}]).start()
    agent.wait_generation(1)
    for listen, endpoint, taken in ((f":{health}", f"127.0.0.1:{port}", f"127.0.0.1:{health}"),
                                    (f"127.0.0.1:{port}", f"127.0.0.1:{health}", f"127.0.0.1:{port}")):
        agent.configure(listen=listen, endpoints=[{"listen": endpoint, **served}])
        done = agent.run("reload")
        assert done.returncode == 6 and f"the agent itself listens on {taken}" in done.stderr, done.stderr
        assert f"cannot listen on {listen}: " in done.stderr and "restart it" in done.stderr
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        agent.configure(listen=f"127.0.0.1:{other.getsockname()[1]}", endpoints=[{"listen": f"127.0.0.1:{port}", **served}])
        done = agent.run("reload")
    assert done.returncode == 6 and "another process listens there" in done.stderr, done.stderr
    agent.stop()
    agent.configure(listen=f":{port}", endpoints=[{"listen": f"127.0.0.1:{port}", **served}])
    done = agent.run("check")
    assert done.returncode == 3 and f"listen: is also where health and metrics are (:{port})" in done.stdout, done.stdout


def test_a_refused_one_leaves_the_files_that_clients_read(agent):
    where, taken = f"127.0.0.1:{free_port()}", socket.create_server(("127.0.0.1", 0))
    at, file = "127.0.0.1:%d" % taken.getsockname()[1], agent.dir / "authorization"

    def endpoints(mode, *more):
        shape = {"credential": "demo", "authorization": {"file": str(file), "mode": mode}}
        return [{"listen": where, "aws_container": shape}, *({"listen": one, "ec2_imds": {"credential": "demo"}} for one in more)]

    agent.configure(agent.credential(), endpoints=endpoints("0600")).start()
    agent.wait_state("fresh")
    before, secret = file.stat(), file.read_text()
    agent.configure(agent.credential(), endpoints=endpoints("0644", at))
    assert at in agent.request("POST", "/v1/reload")[1]["error"]["message"]
    after = file.stat()
    assert (after.st_mode, after.st_ino, file.read_text()) == (before.st_mode, before.st_ino, secret)
    assert ask(where, "/aws/demo", headers={"Authorization": secret}).status == 200
    taken.close()
    reload(agent)
    assert file.stat().st_mode & 0o777 == 0o644 and file.read_text() != secret


def test_the_log_changes(agent):
    agent.start()
    agent.wait_generation(1)
    agent.configure(log={"level": "info", "format": "json"})
    reload(agent)
    lines = read_text(agent.log_path).splitlines()
    assert json.loads(lines[-1])["message"] == "loaded the new configuration: 1 credential"


def test_another_token_file_is_watched(agent):
    agent.start()
    agent.wait_generation(1)
    token = agent.dir / "token"
    token.write_text(agent.cloud.token())
    agent.configure(agent.credential(token={"file": str(token)}))
    reload(agent)
    agent.wait_generation(2)
    agent.cloud.admin("/volume/demo/renew", {})
    token.write_text(agent.cloud.token(expires_in_s=3500))
    agent.wait_generation(3)
    assert len(agent.cloud.exchanges()) == 3


def test_nobody_to_ask(agent):
    done = agent.run("reload")
    assert done.returncode == 5 and "no agent" in done.stderr


def as_yaml(agent):
    """The configuration, as people write it, without the last line, which is the credentials."""
    return f"version: 1\nstate_dir: {agent.state} # of this agent\n"


@pytest.mark.parametrize("command", ["reload", "status", "wait"])
def test_a_mistake_in_the_file_does_not_lead_to_another_agent(agent, command):
    agent.start()
    agent.wait_generation(1)
    agent.config_path.write_text(as_yaml(agent) + "credentials:\n\t- name: demo\n")
    done = agent.run(command)
    if command == "reload":
        assert done.returncode == 6 and f"{agent.config_path}:4" in done.stderr, done.stderr
    else:
        assert done.returncode == 0, done.stderr
    assert agent.generation() == 1


@pytest.mark.parametrize("content,line", [("version: 1\nstate_dir /run/elsewhere\ncredentials: []\n", 2),
                                          ("version: 1\n\tstate_dir: /run/elsewhere\n", 2),
                                          ("version: 1\nstate_dir: /run/else where\ncredentials: [\n", None),
                                          ("", None), ("# nothing\n", None), ("just words\n", None), (None, None)])
@pytest.mark.parametrize("command", ["reload", "quit", "status", "wait", "rotate", "get"])
def test_another_agent_is_not_asked(agent, command, content, line):
    """What -c names has to say which agent is meant; that with the default socket is not asked in its place."""
    if content is None:
        agent.config_path.unlink()
    else:
        agent.config_path.write_text(content)
    done = agent.run(command, *{"rotate": ["demo"], "get": ["aws", "demo"]}.get(command, []))
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert f"{agent.config_path}:{line}: " in done.stderr if line else str(agent.config_path) in done.stderr, done.stderr
    assert command == "get" or "name its socket with -s" in done.stderr, done.stderr


def test_a_corrected_ca_file_is_tried_at_once(agent):
    """Not after the pause, which is minutes long by then."""
    ca, own = agent.dir / "ca.pem", pathlib.Path(agent.cloud.ca).read_text()
    other = agent.dir / "other.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=other",
                    "-keyout", str(agent.dir / "other.key"), "-out", str(other)], check=True, capture_output=True)
    ca.write_text(own)
    credential = agent.credential()
    credential["exchange"]["aws"]["ca_file"] = str(ca)
    agent.configure(credential).start()
    agent.wait_generation(1)
    other.rename(ca)
    for failures in range(1, 10):
        assert agent.run("rotate", "demo").returncode == 0
        eventually(lambda least=failures: agent.status()["consecutive_failures"] >= least, lambda: agent.log)
    new = agent.dir / "new.pem"
    new.write_text(own)
    new.rename(ca)
    eventually(lambda: agent.generation() == 2, lambda: agent.log, 20)
