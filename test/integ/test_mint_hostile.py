# SPDX-License-Identifier: MIT
"""Rotation of long-lived keys while the world is against it: ends and reloads in the middle, answers that are lost, and more
than one wish at a time."""
import os
import signal
import subprocess

from conftest import CREDFRESH, eventually
from minting import (admin, call, clean_up, cloud, configured, iam_cloud, keys_of, minted, published_key, rotate,  # noqa: F401
                     settled as agent, wait_complete, wait_step)


def ends_well(agent, made):
    """One key is left, it is published, it works, and MADE were made since the first."""
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)]
    assert call(agent).endswith(":user/robot")
    assert len(agent.cloud.exchanges("CreateAccessKey")) == made, agent.log
    assert not list(agent.state.glob("*.pending"))


def test_asked_again_while_an_answer_is_lost(agent):
    """Two reasons, of which the first began nothing that lasts, are one rotation; neither is good for another."""
    agent.cloud.fault(kind="truncate", bytes=10, match={"action": "CreateAccessKey"})
    rotate(agent, "first")
    wait_step(agent, "lost")
    rotate(agent, "second")
    rotate(agent, "first")
    clean_up(agent)
    agent.wait_generation(2, "robot")
    ends_well(agent, 2)
    rotate(agent, "second")
    assert agent.generation("robot") == 2 and agent.status("robot")["last_reason"] == "second"


def stop_while_the_key_is_made(agent):
    agent.cloud.fault(kind="slow", ms_per_byte=3, match={"action": "CreateAccessKey"})
    rotate(agent, "drill")
    eventually(lambda: len(keys_of(agent.cloud)) == 2, lambda: agent.log)
    assert agent.stop() == 0


def test_ended_while_the_key_is_made(agent):
    """The answer is waited for, and its secret stored; the next run goes on with that key."""
    stop_while_the_key_is_made(agent)
    assert (agent.state / "robot+mint.pending").stat().st_mode & 0o777 == 0o600
    agent.start()
    agent.wait_generation(2, "robot")
    ends_well(agent, 1)


def test_a_pending_secret_under_its_former_name(agent):
    """It is read once more, and nothing is left of it."""
    stop_while_the_key_is_made(agent)
    (agent.state / "robot+mint.pending").rename(agent.state / "robot+mint.seal")
    agent.start()
    agent.wait_generation(2, "robot")
    ends_well(agent, 1)
    assert not list(agent.state.glob("*.seal"))


def test_the_reference_tells_of_the_pending_secret():
    """state_dir is the one place where a secret lies in the plain for a while: its description must say so."""
    text = subprocess.run([CREDFRESH, "reference"], capture_output=True, text=True, check=True).stdout
    line, = (line for line in text.splitlines() if line.startswith("| `state_dir` |"))
    assert "pending secret" in line and "plain JSON" in line and "0600" in line and "never secrets" not in line


def test_reload_in_the_middle(agent):
    """Other times of its own do not disturb a rotation, and count from then on."""
    rotate(agent, "drill")
    wait_step(agent, "minted")
    agent.configure(minted(agent, mint={"grace": "1s", "expire_after": "48h"}), admin(agent))
    agent.process.send_signal(signal.SIGHUP)
    agent.wait_generation(2, "robot")
    ends_well(agent, 1)
    assert agent.generation("robot") == 2


def test_nothing_secret_is_left(agent):
    """Neither in what is written down nor in what is said."""
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    secrets = [agent.published(name)["fields"]["aws_secret_access_key"] for name in ("creds.json", "creds.json.old")]
    for name in ("creds.json.old", "minted"):
        assert os.stat(agent.out / name).st_mode == os.stat(agent.out / "creds.json").st_mode
    ends_well(agent, 1)
    said = agent.log + "".join(path.read_text() for path in agent.state.iterdir() if path.is_file())
    assert not [secret for secret in secrets if secret in said]
