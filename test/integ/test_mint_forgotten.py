# SPDX-License-Identifier: MIT
"""Keys of a credential that left the configuration: they work until they are deleted, so nothing lets them be forgotten
but an operator."""
import json
import re

from conftest import eventually
from minting import admin, cloud, configured, iam_cloud, keys_of, minted, published_key, wait_complete  # noqa: F401
from test_doctor import doctor


def alone(agent):
    """The configuration without the key."""
    return admin(agent) | {"publish": {"directory": str(agent.dir / "out-admin")}}


def left_while_off(agent):
    """An agent that runs without the credential, which left the configuration before it started: the key."""
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    key = published_key(agent)
    agent.stop()
    # The other one reads the file of CA certificates; a reload could not have another directory read.
    agent.configure(alone(agent), agent.credential("other"))
    return key


def forgotten(agent):
    return agent.request("GET", "/v1/credentials")[1].get("forgotten", [])


def test_it_left_while_the_agent_was_off(configured):
    agent = configured
    key = left_while_off(agent)
    listed = agent.run("forget", "-c", str(agent.config_path))
    assert listed.stdout == f"robot: aws/robot: {key}\n" and listed.returncode == 0
    agent.start()
    agent.wait_state("fresh", "admin")
    eventually(lambda: re.search(rf"warn +robot: this rotated key was removed from the configuration.*: {key};", agent.log),
               lambda: agent.log)
    assert forgotten(agent) == [{"name": "robot", "subject": "aws/robot", "keys": key, "count": 1, "error": None}]
    assert 'credfresh_forgotten_keys{credential="robot"} 1\n' in agent.request("GET", "/metrics")[1]
    assert f"keys of robot, which is not in the configuration any more: {key} of aws/robot" in agent.run("status").stdout
    doctor(agent).one("mint.forgotten", "warning", key, "aws/robot")
    assert key in keys_of(agent.cloud), "nothing of it was touched"
    # Where the credential is back, nothing is forgotten and nothing new is created.
    agent.configure(minted(agent), admin(agent))
    assert agent.run("reload").returncode == 0
    agent.wait_state("fresh", "robot")
    eventually(lambda: not forgotten(agent), lambda: agent.log)
    assert list(keys_of(agent.cloud)) == [key] == [published_key(agent)]
    refused = agent.run("forget", "-c", str(agent.config_path), "robot")
    assert refused.returncode == 6 and "is in the configuration" in refused.stderr


def test_an_operator_forgets_it(configured):
    agent = configured
    key = left_while_off(agent)
    done = agent.run("forget", "-c", str(agent.config_path), "robot")
    assert done.returncode == 0 and done.stdout == f"robot: aws/robot: {key}\nrobot: forgotten\n"
    assert not list(agent.state.glob("robot+mint*"))
    agent.start()
    agent.wait_state("fresh", "admin")
    assert not forgotten(agent) and "removed from the configuration" not in agent.log and "no rotated key of this name" not in agent.log
    assert agent.run("forget", "-c", str(agent.config_path), "robot").returncode == 6
    assert agent.run("forget", "-c", str(agent.config_path)).stdout == ""


def test_it_leaves_while_the_agent_runs(configured):
    agent = configured
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    agent.configure(alone(agent))
    assert agent.run("reload").returncode == 0
    assert [one["name"] for one in forgotten(agent)] == ["robot"]


def test_keys_of_a_former_owner(configured):
    agent = configured
    key = left_while_off(agent)
    path = agent.state / "robot+mint.json"
    journal = json.loads(path.read_text()) | {"former": [{"subject": "aws/other", "id": "AKIAFORMER0000000000", "off_s": "0"}]}
    path.write_text(json.dumps(journal))
    former = "AKIAFORMER0000000000 of the former owner aws/other"
    assert agent.run("forget", "-c", str(agent.config_path)).stdout == f"robot: aws/robot: {key}, {former}\n"
    # Also where there are no others.
    path.write_text(json.dumps(journal | {"current": ""}))
    assert agent.run("forget", "-c", str(agent.config_path)).stdout == f"robot: aws/robot: {former}\n"
    path.write_text(json.dumps(journal))
    agent.start()
    agent.wait_state("fresh", "admin")
    assert forgotten(agent) == [{"name": "robot", "subject": "aws/robot", "keys": f"{key}, {former}", "count": 2, "error": None}]
    assert 'credfresh_forgotten_keys{credential="robot"} 2\n' in agent.request("GET", "/metrics")[1]
    doctor(agent).one("mint.forgotten", "warning", key, former)


def test_a_journal_that_cannot_be_read(configured):
    agent = configured
    left_while_off(agent)
    (agent.state / "robot+mint.json").write_text("{")
    agent.start()
    agent.wait_state("fresh", "admin")
    one, = forgotten(agent)
    assert one["keys"] is None and one["count"] == 1 and "not a journal" in one["error"] or "JSON" in one["error"]
    assert "cannot be read" in agent.run("forget", "-c", str(agent.config_path)).stdout
