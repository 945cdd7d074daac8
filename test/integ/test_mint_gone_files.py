# SPDX-License-Identifier: MIT
"""What is published is lost while the old key is still there; a key that is put aside. In clouds of both kinds."""
import json
import shutil
import time

import pytest

from conftest import eventually
from mint_kinds import mint_of
from test_mint_gone import AMAZON, GOOGLE, agent, cloud, rotate, shared, start, wait_alone, wait_step  # noqa: F401


def gone_already(_, path, error):
    """The agent, which sees what goes first, may remove a link that leads nowhere."""
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]


def lose(agent, kind, restarted):
    """What is published is not there any more."""
    if restarted:
        agent.stop()
    shutil.rmtree(kind.directory(agent), onerror=gone_already)
    if restarted:
        agent.start()


@pytest.mark.parametrize("restarted", [False, True], ids=["while it runs", "by a reboot"])
def test_the_published_files_are_removed_during_the_grace(agent, restarted):
    """Where there is room for another key it is created at once; else when the grace is over, however long a consumer takes."""
    kinds = [AMAZON, GOOGLE]
    configured = [one for kind in kinds for one in kind.configured(agent, grace="30s", grace_most="10m")]
    for kind, credential in zip(kinds, configured[::2]):
        credential["acknowledge"] = {"file": str(agent.dir / f"{kind.name}-in-use")}
    agent.configure(*configured).start()
    for kind in kinds:
        agent.wait_generation(1, kind.credential)
        wait_step(agent, kind, "rest")
    first = {kind: kind.published(agent) for kind in kinds}
    second = rotate(agent, kinds)
    begun = time.monotonic()
    for kind in kinds:
        wait_step(agent, kind, "published")
    lose(agent, AMAZON, restarted)
    lose(agent, GOOGLE, False)
    eventually(lambda: (GOOGLE.directory(agent) / "minted").exists(), lambda: agent.log, 28 - time.monotonic() + begun)
    assert set(GOOGLE.held(agent.cloud)) == {first[GOOGLE], second["gcp"], GOOGLE.published(agent)} and GOOGLE.works(agent)
    eventually(lambda: f"the secret of {second['aws']} is lost, and the cloud allows no further key" in mint_of(agent, AMAZON)["waits_for"],
               lambda: f"{mint_of(agent, AMAZON)}\n{agent.log}", 28 - time.monotonic() + begun)
    assert set(AMAZON.held(agent.cloud)) == {first[AMAZON], second["aws"]}, "a key was removed in its grace"
    eventually(lambda: (AMAZON.directory(agent) / "minted").exists(), lambda: agent.log)
    assert AMAZON.works(agent) and first[AMAZON] not in AMAZON.held(agent.cloud)
    for kind in kinds:
        (agent.dir / f"{kind.name}-in-use").write_text(f"{agent.generation(kind.credential)}\n")
    for kind in kinds:
        wait_alone(agent, kind)


def test_a_key_aside_that_cannot_be_removed(agent):
    """It is reported, and blocks no rotation."""
    start(agent, [GOOGLE], verify_every="10s")
    agent.stop()
    aside = GOOGLE.make(agent.cloud)
    journal = agent.state / "gcp+mint.json"
    journal.write_text(json.dumps(json.loads(journal.read_text()) |
                                  {"aside": [{"since_s": str(int(time.time()) - 3600), "id": aside, "ours": True}]}))
    for action in GOOGLE.requests[2:]:
        agent.cloud.fault(kind="status", status=403, count=-1, match={"action": action},
                          body='{"error":{"code":403,"status":"PERMISSION_DENIED","message":"no"}}')
    agent.start()
    said = f"the key {aside}, which was set aside, remains: "
    eventually(lambda: said in (mint_of(agent, GOOGLE).get("waits_for") or ""), lambda: f"{mint_of(agent, GOOGLE)}\n{agent.log}")
    assert mint_of(agent, GOOGLE)["state"] == "UPDATE_COMPLETE" and agent.log.count(said) == 1
    rotate(agent, [GOOGLE])
    assert GOOGLE.works(agent) and aside in GOOGLE.held(agent.cloud)
    agent.cloud.clear_faults()
    agent.stop()
    agent.start()
    wait_alone(agent, GOOGLE)
