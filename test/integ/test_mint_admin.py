# SPDX-License-Identifier: MIT
"""The credential named `with`: when its Secret goes, its keys are forgotten at once and no rotation begins; while none is due, its
absence is no reason not to be ready."""
import shutil

from conftest import Mounted, eventually
from minting import (ADMIN, cloud, configured, iam_cloud, keys_of, mint_of, published_key, rotate, settled,  # noqa: F401
                     wait_complete)


def ready(agent):
    return agent.request("GET", "/readyz")[0] == 200


def take_away(agent):
    shutil.rmtree(agent.dir / "admin")
    eventually(lambda: "the Secret was removed, so its keys were wiped:" in agent.log, lambda: agent.log)


def test_it_goes_and_comes_back(settled):
    agent = settled
    key = published_key(agent)
    eventually(lambda: ready(agent), lambda: agent.log)
    take_away(agent)
    assert agent.status("robot")["ready"] and ready(agent) and not agent.status("admin")["required"]
    rotate(agent, "drill")
    eventually(lambda: "admin" in ((agent.status("robot").get("last_error") or {}).get("message") or ""), lambda: agent.log)
    # Now it is missed.
    assert not ready(agent) and agent.status("admin")["required"] and agent.status("robot")["ready"]
    assert not agent.cloud.exchanges("CreateAccessKey") and list(keys_of(agent.cloud)) == [key]
    Mounted(agent.dir / "admin").put(ADMIN)
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)] != [key]
    eventually(lambda: ready(agent), lambda: agent.log)


def test_it_goes_in_the_middle(settled):
    """What was begun waits where it is, and the published key stays."""
    agent = settled
    key = published_key(agent)
    agent.cloud.fault(kind="error", code="ServiceFailure", status=500, count=-1, match={"action": "GetCallerIdentity"})
    rotate(agent, "drill")
    eventually(lambda: mint_of(agent).get("step") == "minted", lambda: agent.log)
    take_away(agent)
    agent.cloud.clear_faults()
    agent.wait_generation(2, "robot")
    # The old key cannot be retired, and nothing else is wrong.
    eventually(lambda: "admin" in (mint_of(agent).get("error") or ""), lambda: f"{mint_of(agent)}\n{agent.log}")
    assert mint_of(agent)["old_key"] == key and set(keys_of(agent.cloud)) == {key, published_key(agent)}
    assert agent.status("robot")["ready"]
    Mounted(agent.dir / "admin").put(ADMIN)
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)]


def test_a_start_without_it(settled):
    agent = settled
    agent.stop()
    shutil.rmtree(agent.dir / "admin")
    agent.start()
    eventually(lambda: ready(agent), lambda: agent.request("GET", "/readyz?verbose")[1])
    assert agent.status("robot")["ready"] and not agent.status("admin")["ready"]
    assert agent.run("wait", "--timeout", "5s").returncode == 0
    agent.stop()
    assert agent.run("once", "--timeout", "20s").returncode == 0
