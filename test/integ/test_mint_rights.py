# SPDX-License-Identifier: MIT
"""Rights of `with` are tried before a key is created."""
import pytest

from conftest import eventually
from minting import (IAM, cloud, configured, iam_cloud, keys_of, published_key, rotate, settled, wait_complete)  # noqa: F401


@pytest.mark.parametrize("right", ["DeleteAccessKey", "UpdateAccessKey"])
def test_a_right_is_missed_before_a_key_is_created(configured, right):
    """Not when the new key is out, and the old one cannot be retired."""
    agent = configured
    agent.cloud.admin("/service/iam", {**IAM, "deny": [right]})
    agent.start()
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code") == "denied", lambda: agent.log)
    said = agent.status("robot")["last_error"]["message"]
    assert said.startswith(f"no key is created, because the rotation could not be finished: {right}") and f"iam:{right}" in said
    assert not keys_of(agent.cloud) and not agent.cloud.exchanges("CreateAccessKey")
    agent.cloud.admin("/service/iam", IAM)
    assert agent.run("rotate", "robot").returncode == 0
    agent.wait_generation(1, "robot")
    wait_complete(agent)


def test_the_last_use_of_a_key_is_hidden(settled):
    """With a key to ask it of, a refusal is one; without, it may only say that there is no such key."""
    agent = settled
    key = published_key(agent)
    agent.cloud.admin("/service/iam", {**IAM, "deny": ["GetAccessKeyLastUsed"]})
    rotate(agent, "drill")
    eventually(lambda: "no key is created" in ((agent.status("robot").get("last_error") or {}).get("message") or ""),
               lambda: agent.log)
    assert list(keys_of(agent.cloud)) == [key] and agent.status("robot")["ready"]
    agent.cloud.admin("/service/iam", IAM)
    agent.wait_generation(2, "robot")
    wait_complete(agent)
