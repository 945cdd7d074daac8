# SPDX-License-Identifier: MIT
"""A frozen file system below state_dir, or below the service CA's store, where the agent itself writes: nobody waits for it, and
what is to be there is written as soon as it answers."""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import Mounted, eventually
from minting import ADMIN, admin, cloud, complete, configured, iam_cloud, keys_of, minted, wait_complete  # noqa: F401
from test_hostile import HANG_S, children, one_file, root_only, slowest_answer, slowest_of
from test_hung_disk import frozen  # noqa: F401
from endpoint_client import ask, free_port
from test_served import ROLES, session_of
from test_service_ca import service_ca
from trust import Authority

NOT_SAVED = "cannot save the state,"

pytestmark = root_only


@pytest.fixture
def freezer(frozen):  # noqa: F811
    """Freezes and thaws it."""
    return lambda on: subprocess.run(["fsfreeze", "-f" if on else "-u", str(frozen)], check=True)


@pytest.fixture
def agent(agent_factory, cloud, frozen):  # noqa: F811
    made = agent_factory(cloud)
    made.keep_state_in(frozen / "state")
    yield made
    subprocess.run(["fsfreeze", "-u", str(frozen)], capture_output=True)
    made.stop()


def slowest_health(address, until):
    def live():
        assert ask(address, "/livez").status == 200
    return slowest_of(live, until, limit_s=90)


def recorded(agent, name):
    path = agent.state / f"{name}.json"
    return json.loads(path.read_text())["generation"] if path.exists() else None


def test_credentials_are_renewed_and_written_down_later(agent, freezer):
    names = ["demo", *(f"other-{i}" for i in range(8))]
    agent.configure(*[agent.credential(name) for name in names]).start()
    for name in names:
        agent.wait_state("fresh", name)
    before = {name: agent.generation(name) for name in names}
    freezer(True)
    for name in names:
        began = time.monotonic()
        assert agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202
        assert time.monotonic() - began < HANG_S
    assert slowest_answer(agent, lambda: NOT_SAVED in agent.log) < HANG_S
    assert all(agent.generation(name) > before[name] for name in names)
    assert "the file system has not answered for 10 s" in agent.log
    assert len(children(agent)) <= 3, children(agent)
    freezer(False)
    eventually(lambda: all(recorded(agent, name) == str(agent.generation(name)) for name in names), lambda: agent.log)
    after = {name: agent.generation(name) for name in names}
    agent.stop()
    agent.start()
    for name in names:
        agent.wait_state("fresh", name)
        assert agent.generation(name) == after[name]


def test_the_end_waits_a_moment_only(agent, freezer):
    agent.configure().start()
    agent.wait_state("fresh")
    before = agent.generation()
    freezer(True)
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    eventually(lambda: agent.generation() > before, lambda: agent.log)
    began = time.monotonic()
    agent.stop()
    assert time.monotonic() - began < 8
    freezer(False)
    agent.start()
    agent.wait_state("fresh")


def test_a_rotation_does_nothing_that_is_not_written_down(agent, freezer):
    """No key is made or removed meanwhile; then the rotation is done."""
    Mounted(agent.dir / "admin").put(ADMIN)
    agent.configure(minted(agent), admin(agent), agent.credential("other")).start()
    agent.wait_generation(1, "robot")
    agent.wait_state("fresh", "other")
    wait_complete(agent)
    eventually(lambda: not list(agent.state.glob("*.pending")), lambda: agent.log)
    before = keys_of(agent.cloud)
    freezer(True)
    assert agent.request("POST", "/v1/credentials/robot/rotate")[0] == 202
    assert slowest_answer(agent, lambda: "step in state_dir: the file system has not answered" in agent.log) < HANG_S
    assert keys_of(agent.cloud) == before
    assert "the file system has not answered for 10 s" in agent.status("robot")["last_error"]["message"]
    freezer(False)
    eventually(lambda: complete(agent) and set(keys_of(agent.cloud)).isdisjoint(before), lambda: f"{agent.log}")
    assert len(keys_of(agent.cloud)) == 1


def test_a_key_of_session_tokens_is_kept_later(agent, freezer):
    """A reload asks for it first: clients are served meanwhile, and their tokens outlive the agent in the end."""
    agent.configure().start()
    agent.wait_state("fresh")
    key, at = agent.state / "_ec2-session-key", f"127.0.0.1:{free_port()}"
    freezer(True)
    agent.configure(endpoints=[{"listen": at, "ec2_imds": {"credential": "demo"}}])
    os.kill(agent.process.pid, signal.SIGHUP)
    assert slowest_answer(agent, lambda: "loaded the new configuration" in agent.log) < HANG_S
    assert "has not answered for 10 s" not in agent.log
    session = session_of(at)
    assert not key.exists()
    freezer(False)
    eventually(key.exists, lambda: agent.log)
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    assert ask(at, ROLES + "demo", headers=session).status == 200
    assert "ec2_imds" not in agent.log


def test_a_control_socket_that_was_removed_is_made_later(agent, freezer):
    health = f"127.0.0.1:{free_port()}"
    agent.configure(listen=health).start()
    agent.wait_state("fresh")
    agent.socket.unlink()
    freezer(True)
    os.kill(agent.process.pid, signal.SIGHUP)
    assert slowest_health(health, lambda: "cannot be created again" in agent.log) < HANG_S
    assert f"{agent.socket}: its file system has not answered" in agent.log
    freezer(False)
    eventually(agent.socket.exists, lambda: agent.log)
    agent.wait_state("fresh")


def test_a_reload_does_not_wait_for_the_directory_of_a_socket(agent, freezer):
    """One that is to be made is refused, one that is not wanted any more is left there."""
    sockets = [agent.state.parent / "1.sock", agent.state.parent / "2.sock"]
    demo = agent.credential(allow={})
    agent.configure(demo, token_socket=str(sockets[0])).start()
    agent.wait_state("fresh")
    freezer(True)
    agent.configure(demo, token_socket=str(sockets[1]))
    os.kill(agent.process.pid, signal.SIGHUP)
    assert slowest_answer(agent, lambda: "the new configuration is invalid, keeping" in agent.log) < HANG_S
    assert f"token_socket: {sockets[1]}: its file system has not answered" in agent.log
    agent.configure()
    os.kill(agent.process.pid, signal.SIGHUP)
    assert slowest_answer(agent, lambda: "loaded the new configuration" in agent.log) < HANG_S
    freezer(False)
    agent.configure(demo, token_socket=str(sockets[1]))
    eventually(lambda: agent.request("POST", "/v1/reload")[0] == 200, lambda: agent.log)
    assert sockets[1].exists()


def test_a_service_ca_that_comes_with_a_reload_waits_for_its_store(agent, freezer):
    """The first one is made once the disk answers. Landlock allows the places because of what is published there before."""
    places = (agent.state.parent, agent.dir)
    agent.configure(agent.credential(publish=[one_file(place / "creds.json") for place in places])).start()
    agent.wait_state("fresh")
    freezer(True)
    authority = Authority(agent)
    authority.store = agent.state.parent / "store"
    authority.configure()
    os.kill(agent.process.pid, signal.SIGHUP)
    assert slowest_answer(agent, lambda: "loaded the new configuration" in agent.log) < HANG_S
    assert slowest_answer(agent, lambda: "store: its file system has not answered" in agent.log) < HANG_S
    freezer(False)
    agent.wait_generation(1, "tls")


def test_the_service_ca_waits_for_its_store(agent_factory, frozen, freezer):  # noqa: F811
    """The next CA signs nothing until it is kept."""
    authority = Authority(agent_factory(None))
    authority.store = frozen / "store"
    agent = authority.configure().agent  # noqa: F811
    agent.start()
    agent.wait_generation(1, "tls")
    agent.wait_generation(1, "trust")
    first = service_ca(agent)
    freezer(True)
    try:
        authority.configure(force={"reason": "the key was seen"})
        assert agent.request("POST", "/v1/reload")[0] == 200
        assert slowest_answer(agent, lambda: "cannot keep the CA in" in agent.log) < HANG_S
        assert service_ca(agent)["key_id"] == first["key_id"] and agent.generation("trust") == 1
        assert "the file system has not answered for 10 s" in service_ca(agent)["error"]
    finally:
        freezer(False)
    agent.wait_generation(2, "tls")
    agent.wait_generation(2, "trust")
    assert service_ca(agent)["number"] == 2 and service_ca(agent)["error"] is None
    assert "was replaced" not in agent.log
    agent.stop()
