# SPDX-License-Identifier: MIT
"""Rotation of long-lived keys: AWS access keys at the local cloud, whose IAM has the limits and delays of the real one."""
import json
import subprocess
import threading

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from conftest import AS_NOBODY, CREDFRESH, eventually, let_others_in, read_text
from minting import (IAM, admin, call, clean_up, cloud, configured as agent, iam_cloud, keys_of, mint_of, minted,  # noqa: F401
                     published_key, wait_complete)

FOREIGN = "AKIAMADEBYHAND000000"


def test_the_first_key(agent):
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    key = published_key(agent)
    assert list(keys_of(agent.cloud)) == [key]
    assert call(agent) == "arn:aws:iam::123456789012:user/robot"
    line = (agent.out / "minted").read_text().split()
    assert line[1] == key
    assert not (agent.out / "creds.json.old").exists()
    assert not list(agent.state.glob("*.pending"))


def rotate(agent, reason=None):
    done = agent.run("rotate", "robot", *(["--reason", reason] if reason else []))
    assert done.returncode == 0, done.stderr + agent.log


class Consumer(threading.Thread):
    """Calls with what is published, in both regions, all the time."""

    def __init__(self, agent):
        super().__init__()
        self.agent = agent
        self.calls = 0
        self.failures = []
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            for region in ("us-east-1", "eu-west-1"):
                try:
                    call(self.agent, region)
                    self.calls += 1
                except (ClientError, KeyError) as error:
                    self.failures.append(str(error))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        assert not self.failures, self.failures[:3]
        assert self.calls > 0


def test_consumers_see_no_gap(agent):
    """New keys are refused for a while, in each region for its own, and lists lag; yet every call succeeds, and what is
    published before lasts for the grace."""
    agent.cloud.admin("/service/iam", {**IAM, "new_key_s": {"us-east-1": 0.5, "eu-west-1": 2}, "list_lag_s": 0.5})
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    first = published_key(agent)
    before = (agent.out / "creds.json").read_bytes()
    with Consumer(agent):
        rotate(agent, "drill")
        agent.wait_generation(2, "robot")
        second = published_key(agent)
        assert second != first
        assert (agent.out / "creds.json.old").read_bytes() == before
        assert call(agent, suffix=".old")
        status = mint_of(agent)
        assert (status["key"], status["old_key"], status["state"]) == (second, first, "UPDATE_IN_PROGRESS")
        wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [second]
    refused = [entry for entry in agent.cloud.exchanges("GetCallerIdentity") if entry["status"] == 403]
    assert refused, "the new key was never refused, so this shows nothing"
    again = agent.run("rotate", "robot", "--reason", "drill")
    assert again.returncode == 0 and "already done" in again.stdout


def test_the_old_values_go_with_the_old_key(agent):
    """In place: that is no new generation, no loss, and no reason for another key, now or after a restart."""
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    rotate(agent)
    agent.wait_generation(2, "robot")
    assert (agent.out / "creds.json.old").exists() and (agent.out / "credentials.old").exists()
    eventually(lambda: not list(agent.out.glob("*.old")), lambda: agent.log)
    keys = keys_of(agent.cloud)
    assert len(keys) == 1 and mint_of(agent)["old_key"] is None
    assert sorted(path.name for path in (agent.out / "..data/").iterdir()) == ["credentials", "creds.json", "minted"]
    assert not [path for path in agent.out.iterdir() if path.name.endswith(".old")]
    for end in (agent.stop, agent.kill):
        end()
        agent.start()
        agent.wait_state("fresh", "robot")
        assert agent.generation("robot") == 2 and keys_of(agent.cloud).keys() == keys.keys()
    assert "changed or are missing" not in agent.log and "published files are missing" not in agent.log


def test_a_restart_keeps_what_stands(agent):
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    keys = keys_of(agent.cloud)
    agent.stop()
    agent.start()
    agent.wait_state("fresh", "robot")
    assert keys_of(agent.cloud).keys() == keys.keys()
    assert agent.generation("robot") == 1


def test_no_room(agent):
    """A key that was made by hand, while the limit is two: the reason is told, nothing is broken, and once there is
    room the rotation goes on by itself."""
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    first = published_key(agent)
    agent.cloud.admin("/iam/key", {"user": "robot", "access_key_id": FOREIGN})
    rotate(agent)
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code") == "limit", lambda: agent.log)
    status = agent.status("robot")
    assert FOREIGN in status["last_error"]["message"] and "allows 2" in status["last_error"]["message"]
    assert status["mint"]["state"] == "UPDATE_FAILED"
    assert status["ready"] and published_key(agent) == first and call(agent)
    assert agent.status("admin")["state"] == "fresh"
    agent.cloud.admin("/iam/key", {"access_key_id": FOREIGN, "delete": True})
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)] != [first]


def test_a_lost_answer_blocks_no_rotation(agent):
    """The user belongs to credfresh alone: the key that may be the lost one is deleted after `inactive`, and another one is
    made, without an operator."""
    agent.configure(minted(agent, mint={"keep_unknown": False}), admin(agent)).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    first = published_key(agent)
    agent.cloud.fault(kind="truncate", bytes=10, match={"action": "CreateAccessKey"})
    rotate(agent)
    eventually(lambda: len(keys_of(agent.cloud)) == 2, lambda: agent.log)
    lost, = keys_of(agent.cloud).keys() - {first}
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert f"deactivated the key {lost} of aws/robot" in agent.log and f"removed the key {lost}" in agent.log
    assert agent.log.index(f"removed the key {lost}") < agent.log.index(f"removed the key {first}")
    assert list(keys_of(agent.cloud)) == [published_key(agent)] and call(agent)


def test_a_lost_answer(agent):
    """The key was made, but its answer never came: it is found, deactivated and put aside, and never deleted, for nothing
    proves whose it is. Until an operator has deleted it there is no room; then another one is made."""
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    agent.cloud.fault(kind="truncate", bytes=10, match={"action": "CreateAccessKey"})
    rotate(agent)
    first = published_key(agent)
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code") == "limit", lambda: agent.log)
    lost, = keys_of(agent.cloud).keys() - {first}
    status = agent.status("robot")
    assert status["mint"]["state"] == "UPDATE_FAILED" and status["ready"]
    assert f"set {lost} aside, because it may be a lost key or another user's" in status["last_error"]["message"]
    assert f"deactivated the key {lost} of aws/robot and set it aside" in agent.log
    assert not [one for one in agent.cloud.exchanges("DeleteAccessKey") if one["code"] == "OK"]
    assert published_key(agent) == first and call(agent)
    assert clean_up(agent) == lost
    agent.wait_generation(2, "robot")
    eventually(lambda: f"{lost}, which was set aside, is gone" in agent.log, lambda: agent.log)
    wait_complete(agent)
    assert len(agent.cloud.exchanges("CreateAccessKey")) == 3
    assert list(keys_of(agent.cloud)) == [published_key(agent)]


def test_nobody_may(agent):
    """Without permission the reason is shown, and the others go on."""
    agent.cloud.admin("/service/iam", {**IAM, "admins": []})
    agent.start()
    eventually(lambda: (agent.status("robot").get("last_error") or {}).get("code") == "denied", lambda: agent.log)
    assert "iam:CreateAccessKey" in agent.status("robot")["last_error"]["message"]
    assert agent.status("admin")["state"] == "fresh" and not keys_of(agent.cloud)


def test_used_late_in_its_grace(agent):
    """A consumer that still uses the old key near the end of its grace is reported, and refused, before the key is gone for good."""
    agent.configure(minted(agent, mint={"grace": "6s", "grace_most": "12s", "inactive": "5s"}), admin(agent)).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    first = published_key(agent)
    rotate(agent)
    agent.wait_generation(2, "robot")
    stop = threading.Event()
    user = threading.Thread(target=lambda: use_until(agent, stop))
    user.start()
    try:
        eventually(lambda: "used late in its grace" in (mint_of(agent).get("waits_for") or ""), lambda: agent.log)
        assert keys_of(agent.cloud)[first]["active"] is False
    finally:
        stop.set()
        user.join()
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)]


def use_until(agent, stop):
    while not stop.is_set():
        try:
            call(agent, suffix=".old")
        except (ClientError, BotoCoreError, OSError):
            pass


def test_consumers_that_acknowledge(agent):
    """The old key stays for them beyond the grace, until they have said that they use the new one."""
    said = agent.dir / "in-use"
    patient = minted(agent, mint={"grace": "1s", "grace_most": "60s"}, acknowledge={"file": str(said)})
    agent.configure(patient, admin(agent)).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    first = published_key(agent)
    rotate(agent)
    agent.wait_generation(2, "robot")
    eventually(lambda: "generation 2" in (mint_of(agent).get("waits_for") or ""), lambda: agent.log)
    assert first in keys_of(agent.cloud)
    said.write_text("2")
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)]


@pytest.mark.parametrize("change, why", [
    ({"mint": {"with": "nobody"}}, "there is no credential nobody"),
    ({"mint": {"with": "robot"}}, "is a rotated key itself"),
    ({"mint": {"grace": "1h", "grace_most": "10m"}}, "grace_most"),
    ({"allow": {"users": ["root"]}}, "allow"),
    ({"token": {"file": "/tmp/token"}}, "remove `token`"),
    ({"publish": {"directory": "/tmp/x", "files": [{"name": "a.old", "format": "json"}]}}, "ends with .old"),
    ({"publish": {"directory": "/tmp/x", "files": [{"name": "minted", "format": "json"}]}}, "minted is where"),
    ({"publish": {"file": {"path": "/tmp/x", "format": "token"}}}, "which a minted key does not have"),
    ({"mint": {"expire_after": "3s"}}, "expire_after"),
    ({"mint": {"aws": None}}, "names no provider"),
    ({"mint": {"gcp": {"service_account": "r@p.iam.gserviceaccount.com"}}}, "cannot be combined with aws"),
    ({"state_dir": "/run/credfresh"}, "survives a reboot, and"),
])
def test_refused_configurations(agent, change, why):
    top = {"state_dir": change["state_dir"]} if "state_dir" in change else {}
    key = minted(agent, **{name: value for name, value in change.items() if name not in top})
    key["mint"] = {name: value for name, value in key["mint"].items() if value is not None}
    agent.configure(key, admin(agent), **top)
    done = agent.run("check")
    assert done.returncode == 3 and why in done.stdout + done.stderr


def test_it_is_had_from_files_alone(agent):
    """Asking for it in memory is refused, and is no reason for another key."""
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    status, said = agent.request("GET", "/v1/token/robot")
    assert status >= 400 and "published files" in str(said)
    agent.configure(minted(agent), admin(agent), endpoints=[
        {"listen": "127.0.0.1:9911", "ec2_imds": {"credential": "robot", "role": "robot"}}])
    done = agent.run("check")
    assert done.returncode == 3 and "ec2_imds.credential: needs" in done.stdout + done.stderr
    assert agent.generation("robot") == 1 and len(agent.cloud.exchanges("CreateAccessKey")) == 1


def test_once(agent):
    """The run of a timer unit: it ends when a key is published, and the next one goes on with what is left to do."""
    assert agent.run("once").returncode == 0
    first = published_key(agent)
    assert agent.run("once").returncode == 0
    assert published_key(agent) == first and list(keys_of(agent.cloud)) == [first]


@pytest.mark.parametrize("change", [None, {"current_s": "9223372036854775807"}, {"generation": "-1"}],
                         ids=["empty", "overflow", "negative"])
def test_a_journal_that_cannot_be_read(agent, change):
    """Nothing is done on a guess, and the published key goes on working."""
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    agent.stop()
    path = agent.state / "robot+mint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change} if change else {}))
    agent.start()
    eventually(lambda: "restore it" in ((agent.status("robot").get("last_error") or {}).get("message") or ""),
               lambda: agent.log)
    assert mint_of(agent)["state"] == "UPDATE_FAILED" and call(agent)
    assert len(agent.cloud.exchanges("CreateAccessKey")) == 1 and agent.status("robot")["ready"]


def test_a_pending_secret_that_is_lost(agent):
    """What a crash leaves right after the files stand, if the pending secret cannot be read either. If another key than the new one is
    published nothing is done without somebody; else the rotation goes on, and consumers are told."""
    told = agent.dir / "told"
    hook = agent.dir / "hook"
    hook.write_text(f"#!/bin/sh\necho $CREDFRESH_GENERATION >> {told}\n")
    hook.chmod(0o755)
    agent.configure(minted(agent, reload=[{"exec": [str(hook)]}]), admin(agent)).start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    first = published_key(agent)
    record = (agent.state / "robot.json").read_text()
    rotate(agent)
    agent.wait_generation(2, "robot")
    agent.wait_state("fresh", "robot")
    path = agent.state / "robot+mint.json"
    eventually(lambda: json.loads(path.read_text())["step"] == "published" and not list(agent.state.glob("*.pending")),
               lambda: agent.log)
    agent.kill()
    before = read_text(told)
    second = published_key(agent)
    journal = json.loads(path.read_text())
    assert journal["step"] == "published" and not list(agent.state.glob("*.pending"))
    (agent.state / "robot.json").write_text(record)
    journal.update(step="verified", minted_s=journal["current_s"], current=first, old="")
    path.write_text(json.dumps({**journal, "minted": FOREIGN}))
    agent.start()
    eventually(lambda: "restore it" in (mint_of(agent).get("waits_for") or ""), lambda: agent.log)
    assert set(keys_of(agent.cloud)) == {first, second}
    agent.stop()
    path.write_text(json.dumps({**journal, "minted": second}))
    agent.start()
    eventually(lambda: mint_of(agent).get("old_key") == first, lambda: agent.log)
    assert mint_of(agent)["key"] == second and agent.generation("robot") == 2
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [second] and published_key(agent) == second and call(agent)
    assert len(agent.cloud.exchanges("CreateAccessKey")) == 2
    assert "2" in read_text(told)[len(before):].split(), "nobody was told again"


def test_a_pending_secret_that_is_restored(agent):
    """While the agent runs and waits for it: a restart is not needed, and what is written of it so far is left alone."""
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "GetCallerIdentity"})
    agent.configure(minted(agent), admin(agent)).start()
    eventually(lambda: mint_of(agent).get("step") == "minted", lambda: agent.log)
    agent.kill()
    agent.cloud.clear_faults()
    pending, path = agent.state / "robot+mint.pending", agent.state / "robot+mint.json"
    secret = pending.read_bytes()
    pending.unlink()
    path.write_text(json.dumps({**json.loads(path.read_text()), "step": "verified"}))
    agent.start()
    eventually(lambda: "restore it" in (mint_of(agent).get("waits_for") or ""), lambda: agent.log)
    pending.touch(0o600)
    pending.write_bytes(secret[:40])
    assert agent.run("rotate", "robot", "--reason", "drill").returncode == 0
    eventually(lambda: "drill" in agent.log, lambda: agent.log)
    assert pending.read_bytes() == secret[:40] and mint_of(agent)["state"] == "UPDATE_FAILED"
    pending.write_bytes(secret)
    agent.wait_generation(1, "robot")
    assert published_key(agent) == json.loads(secret)["id"] and call(agent)


def test_a_state_that_a_restart_loses_is_refused(agent):
    agent.configure(minted(agent), admin(agent), state_dir="/run/credfresh-test")
    done = agent.run("check")
    assert done.returncode == 3 and "survives a reboot" in done.stdout + done.stderr


def test_a_foreign_key_is_warned_of_at_the_first_mint(agent):
    """Not when the next rotation has no room: it could be days until then."""
    agent.cloud.admin("/iam/key", {"user": "robot", "access_key_id": FOREIGN})
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    warned = agent.log.index(f"aws/robot has the key {FOREIGN}, which is not credfresh's: the cloud allows 2 keys")
    assert warned < agent.log.index("made the key")
    assert f"there is {FOREIGN}, which is not credfresh's: delete it" in mint_of(agent)["waits_for"]
    assert agent.status("robot")["ready"] and call(agent)
    agent.cloud.admin("/iam/key", {"access_key_id": FOREIGN, "delete": True})
    rotate(agent)
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert mint_of(agent)["waits_for"] is None and list(keys_of(agent.cloud)) == [published_key(agent)]


def test_files_that_the_agent_could_not_read_again(agent):
    """Without root's rights: it would miss the key that is published, and make another one."""
    one = minted(agent)
    one["publish"]["files"][0]["owner"] = "1234"
    agent.configure(one, admin(agent))
    let_others_in(agent.dir)
    agent.config_path.chmod(0o644)
    done = subprocess.run([*AS_NOBODY, CREDFRESH, "once", "-c", agent.config_path], capture_output=True, text=True)
    assert done.returncode == 3 and "the files of a rotated key again," in done.stderr, done.stderr
    assert agent.run("check").returncode == 0 and not keys_of(agent.cloud)
