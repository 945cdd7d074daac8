# SPDX-License-Identifier: MIT
"""A rotation that is asked for while another one is in progress, or while none can be made, begins once that is over."""
import pytest

from conftest import Mounted, eventually
from minting import (ADMIN, IAM, admin, cloud, configured, iam_cloud, keys_of, mint_of, minted, rotate, wait_complete,  # noqa: F401
                     wait_step)
from test_mint_pass_on import ALONE, REFUSED, pass_on
from test_mint_secret import active, agent, delivery_of, held, kube, refuse, start  # noqa: F401


def created(agent):
    return sum(one["status"] == 200 for one in agent.cloud.exchanges("CreateAccessKey"))


def wait_done(agent, reason, keys):
    """REASON is done, and KEYS keys were made."""
    eventually(lambda: agent.status("robot")["last_reason"] == reason and created(agent) == keys,
               lambda: f"{created(agent)} {agent.status('robot')}\n{agent.log}")
    wait_complete(agent)
    assert created(agent) == keys


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_while_the_cluster_does_not_take_the_first_key(agent, kube, restarted):
    refuse(agent)
    agent.start(wait=False)
    eventually(lambda: delivery_of(agent).get("error"), lambda: agent.log)
    rotate(agent, "one")
    if restarted:
        agent.kill()
        agent.start(wait=False)
        eventually(lambda: delivery_of(agent).get("error"), lambda: agent.log)
    assert created(agent) == 1
    agent.cloud.clear_faults()
    wait_done(agent, "one", 2)
    assert active(agent) == {held(kube)["aws_access_key_id"]}


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_while_the_cluster_does_not_take_the_key_of_the_one_before(agent, kube, restarted):
    start(agent)
    refuse(agent)
    rotate(agent, "one")
    wait_step(agent, "verified")
    eventually(lambda: delivery_of(agent).get("error"), lambda: agent.log)
    rotate(agent, "two")
    if restarted:
        agent.kill()
        agent.start(wait=False)
        eventually(lambda: delivery_of(agent).get("error"), lambda: agent.log)
    assert created(agent) == 2
    agent.cloud.clear_faults()
    wait_done(agent, "two", 3)
    assert active(agent) == {held(kube)["aws_access_key_id"]}


def test_while_the_key_of_the_one_before_is_made(agent, kube):
    start(agent)
    agent.cloud.fault(kind="error", code="ServiceFailure", status=500, count=-1, match={"action": "GetCallerIdentity"})
    rotate(agent, "one")
    wait_step(agent, "minted")
    rotate(agent, "two")
    agent.cloud.clear_faults()
    wait_done(agent, "two", 3)


def test_while_the_administrators_key_is_passed_on(configured):
    agent = configured
    agent.cloud.fault(kind="error", code="ServiceFailure", status=503, count=-1, match={"action": "CreateAccessKey"})
    pass_on(agent, IAM).start(wait=False)
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code"), lambda: agent.log)
    rotate(agent, "one")
    agent.cloud.admin("/service/iam", REFUSED)
    agent.cloud.clear_faults()
    eventually(lambda: mint_of(agent).get("passed_on") == "admin", lambda: f"{mint_of(agent)}\n{agent.log}")
    agent.cloud.admin("/service/iam", IAM)
    secret = Mounted(agent.dir / "admin")
    secret.number = 1
    secret.put(ALONE)
    wait_done(agent, "one", 1)
