# SPDX-License-Identifier: MIT
"""Past defects in the rotation of long-lived keys: clocks and lists that lie, answers that are no answers, links that
somebody planted, and wishes that nobody heard."""
import json
import os
import re
import signal
import time

import pytest

import shifted_clock
from conftest import CREDFRESH, eventually
from minting import (IAM, admin, call, cloud, configured, iam_cloud, keys_of, mint_of, minted, published_key,  # noqa: F401
                     rotate, settled as agent, wait_complete, wait_step)
from shifted_clock import ShiftedClock
from test_doctor import doctor

FOREIGN = "AKIAMADEBYHAND000000"
WEEK_S = 7 * 86400


def journal_path(agent):
    return agent.state / "robot+mint.json"


def rewrite(agent, **over):
    """The journal; its numbers are text."""
    journal = json.loads(journal_path(agent).read_text())
    journal.update({key: str(value) if isinstance(value, int) else value for key, value in over.items()})
    journal_path(agent).write_text(json.dumps(journal))


def count(agent, action):
    return len(agent.cloud.exchanges(action))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_the_former_file_is_not_read_through_a_link(agent, tmp_path):
    """Who owns what is published could have root's files copied beside it."""
    secret = tmp_path / "shadow"
    secret.write_text("for root alone")
    secret.chmod(0o600)
    former = (agent.out / "..data").resolve() / "creds.json"
    former.unlink()
    former.symlink_to(secret)
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    assert not [path for path in agent.out.glob("..*/*.old") if "for root" in path.read_text()]


def test_a_clock_that_was_set_back_while_an_answer_is_lost(agent):
    assert agent.stop() == 0
    later = int(time.time()) + WEEK_S
    rewrite(agent, step="lost", intent_s=later, step_s=later)
    agent.cloud.admin("/stats/reset", {})
    agent.start()
    wait_complete(agent)
    assert count(agent, "ListAccessKeys") < 5


def test_a_list_that_lags_behind_a_removal(agent, iam_cloud):
    agent.configure(minted(agent, mint={"settle": "5s", "verify_timeout": "3s"}), admin(agent))
    agent.process.send_signal(signal.SIGHUP)
    agent.cloud.admin("/service/iam", {**IAM, "list_lag_s": 2})
    agent.cloud.fault(kind="error", code="InvalidClientTokenId", status=403, count=-1, match={"action": "GetCallerIdentity"})
    rotate(agent, "drill")
    wait_step(agent, "lost")
    agent.cloud.clear_faults()
    agent.wait_generation(2, "robot")
    assert 1 <= count(agent, "DeleteAccessKey") < 5


def test_undoing_leaves_other_keys_alone(agent):
    """It is known by its id then which key was made."""
    agent.configure(minted(agent, mint={"verify_timeout": "3s", "settle": "3s"}), admin(agent))
    agent.process.send_signal(signal.SIGHUP)
    agent.cloud.fault(kind="error", code="InvalidClientTokenId", status=403, count=-1, match={"action": "GetCallerIdentity"})
    rotate(agent, "drill")
    wait_step(agent, "minted")
    agent.cloud.admin("/iam/key", {"user": "robot", "access_key_id": FOREIGN})
    eventually(lambda: len([one for one in agent.cloud.exchanges("DeleteAccessKey") if one["code"] == "OK"]) == 1,
               lambda: agent.log)
    eventually(lambda: mint_of(agent).get("step") == "rest", lambda: agent.log)
    assert FOREIGN in keys_of(agent.cloud)


def test_a_key_of_long_after_is_not_the_lost_one(agent):
    """Killed at the intent and off for a week, in which a key was made by hand."""
    assert agent.stop() == 0
    before = int(time.time()) - WEEK_S
    rewrite(agent, step="intent", intent_s=before, step_s=before)
    agent.cloud.admin("/iam/key", {"user": "robot", "access_key_id": FOREIGN})
    agent.start()
    wait_complete(agent)
    assert FOREIGN in keys_of(agent.cloud)


def test_two_credentials_for_one_user(agent):
    """Each would take the other's keys for lost ones."""
    second = {**minted(agent), "name": "second"}
    second["publish"] = {**second["publish"], "directory": str(agent.dir / "second")}
    agent.configure(minted(agent), second, admin(agent))
    done = agent.run("check")
    assert done.returncode == 3
    assert "credential second: mint: the keys of aws/robot are rotated by robot already" in done.stdout + done.stderr


def test_once_does_what_is_due(agent):
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    assert agent.stop() == 0
    published = int(json.loads(journal_path(agent).read_text())["published_s"])
    eventually(lambda: time.time() > published + 5, "the end of the grace")
    assert agent.run("once").returncode == 0
    old, = set(keys_of(agent.cloud)) - {published_key(agent)}
    assert keys_of(agent.cloud)[old]["active"] is False
    begun = time.monotonic()
    eventually(lambda: time.monotonic() > begun + 2, "the time until its last use is known")
    assert agent.run("once").returncode == 0
    assert list(keys_of(agent.cloud)) == [published_key(agent)]


def test_an_answer_with_the_key_that_is_published(agent):
    """It would be new and old at once, and so be removed."""
    fields = agent.published()["fields"]
    body = ('<CreateAccessKeyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><CreateAccessKeyResult><AccessKey>'
            f"<UserName>robot</UserName><AccessKeyId>{fields['aws_access_key_id']}</AccessKeyId><Status>Active</Status>"
            f"<SecretAccessKey>{fields['aws_secret_access_key']}</SecretAccessKey>"
            "<CreateDate>2026-11-21T07:00:00Z</CreateDate></AccessKey></CreateAccessKeyResult></CreateAccessKeyResponse>")
    agent.cloud.fault(kind="status", status=200, body=body, content_type="text/xml", match={"action": "CreateAccessKey"})
    first = published_key(agent)
    rotate(agent, "drill")
    eventually(lambda: "which there was before" in agent.log, lambda: agent.log)
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)] != [first]


def test_a_list_without_end(agent):
    body = ('<ListAccessKeysResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><ListAccessKeysResult>'
            "<IsTruncated>true</IsTruncated><Marker>abc</Marker></ListAccessKeysResult></ListAccessKeysResponse>")
    agent.cloud.fault(kind="status", status=200, body=body, content_type="text/xml", count=-1,
                      match={"action": "ListAccessKeys"})
    rotate(agent, "drill")
    eventually(lambda: "the list of keys has no end" in (agent.status("robot").get("last_error") or {}).get("message", ""),
               lambda: agent.log)
    assert mint_of(agent)["state"] == "UPDATE_FAILED" and count(agent, "CreateAccessKey") == 0


def test_a_refused_step_is_a_failure_and_told(agent):
    rotate(agent, "first")
    agent.wait_generation(2, "robot")  # rights are tried before
    agent.cloud.fault(kind="error", code="AccessDenied", status=403, count=-1, match={"action": "DeleteAccessKey"})
    wait_step(agent, "deleting")
    eventually(lambda: mint_of(agent)["state"] == "UPDATE_FAILED", lambda: str(mint_of(agent)))
    rotate(agent, "second")
    eventually(lambda: "AccessDenied" in (agent.status("robot").get("last_error") or {}).get("message", ""),
               lambda: agent.log)
    assert agent.generation("robot") == 2


def test_a_step_that_is_refused_for_long_is_tried_less_and_less(agent):
    """The lists between its tries, which are answered, do not begin the pauses anew."""
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "DeleteAccessKey"})
    eventually(lambda: re.search(r"DeleteAccessKey.*; next try in ((1[5-9]|[2-9]\d) s|\d+ min)", agent.log),
               lambda: agent.log, 90)
    tries = [line for line in agent.log.splitlines() if "DeleteAccessKey" in line and "next try in" in line]
    assert len([line for line in tries if " warn " in line]) == 1, tries
    assert mint_of(agent)["state"] == "UPDATE_FAILED"
    agent.cloud.clear_faults()


def test_a_failed_write_of_the_journal_is_made_good_by_the_next(agent):
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")  # rights are tried before
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "DeleteAccessKey"})
    wait_step(agent, "deleting")
    journal = journal_path(agent)
    whole = journal.read_bytes()
    journal.unlink()
    journal.mkdir()  # nothing can be renamed to it, as on a full disk
    agent.cloud.clear_faults()
    eventually(lambda: "write down" in (mint_of(agent).get("error") or ""), lambda: agent.log)
    assert mint_of(agent)["state"] == "UPDATE_FAILED"
    journal.rmdir()
    journal.write_bytes(whole)
    journal.chmod(0o600)
    wait_complete(agent)
    assert not mint_of(agent)["error"] and mint_of(agent)["state"] == "UPDATE_COMPLETE"


def test_a_journal_that_is_restored_is_read(agent):
    assert agent.stop() == 0
    whole = journal_path(agent).read_text()
    journal_path(agent).write_text("{")
    agent.start()
    eventually(lambda: "the journal" in (agent.status("robot").get("last_error") or {}).get("message", ""),
               lambda: agent.log)
    refused = agent.run("rotate", "robot", "--reason", "drill")
    assert refused.returncode != 0 and "robot cannot be rotated now: the journal" in refused.stderr
    journal_path(agent).write_text(whole)
    eventually(lambda: agent.run("rotate", "robot", "--reason", "drill").returncode == 0, lambda: agent.log)
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)]


def test_keys_that_are_left_behind_are_named(agent):
    agent.configure({**admin(agent), "publish": {"directory": str(agent.dir / "keys")}})
    agent.process.send_signal(signal.SIGHUP)
    eventually(lambda: f"the keys of aws/robot are no longer rotated: {published_key(agent)} remain" in agent.log,
               lambda: agent.log)


def test_reload_while_a_hook_is_pending_and_the_administrator_is_replaced(agent, tmp_path):
    """The worker that ends must not ask for those that have ended already."""
    key = minted(agent, reload=[{"signal": {"pid_file": str(tmp_path / "pid"), "signal": "HUP"}}])
    # A sandboxed agent can signal processes only if it knew so at its start.
    assert agent.stop() == 0
    agent.configure(admin(agent), key).start()
    wait_complete(agent)
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    agent.cloud.fault(kind="error", code="ServiceUnavailable", status=503, count=-1, match={"action": "UpdateAccessKey"})
    wait_step(agent, "retiring")
    for number in range(3):
        other = {**admin(agent), "publish": {"directory": str(agent.dir / f"admin{number}"),
                                             "files": [{"name": "key", "format": "json"}]}}
        extra = {**key, "publish": {**key["publish"], "files": [*key["publish"]["files"],
                                                                {"name": f"more{number}", "format": "json"}]}}
        agent.configure(other, extra)
        agent.process.send_signal(signal.SIGHUP)
        eventually(lambda: (agent.dir / f"admin{number}" / "key").exists(), lambda: agent.log)


def refused(agent, words):
    """`run`, `check` and `doctor` say so, and nothing is done."""
    agent.cloud.admin("/stats/reset", {})
    done = agent.run("run")
    assert done.returncode == 1 and words in done.stderr, done.stderr
    check = agent.run("check")
    assert check.returncode != 0 and words in check.stdout + check.stderr
    doctor(agent, "--offline").one("machine.state-dir", "wrong", words)
    assert not agent.cloud.stats()["log"]


def test_a_state_directory_that_others_can_write(agent):
    """Another user could plant a journal there, and so have keys deleted."""
    assert agent.stop() == 0
    for mode, words in ((0o777, "can be written by every user (mode 0777)"), (0o770, "can be written by its group")):
        agent.state.chmod(mode)
        refused(agent, words)
    agent.state.chmod(0o700)
    assert agent.run("check").returncode == 0
    agent.start()
    wait_complete(agent)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_state_directory_of_another_user(agent):
    assert agent.stop() == 0
    os.chown(agent.state, 12345, 12345)
    done = agent.run("run")
    assert done.returncode == 1 and "belongs to uid 12345, and credfresh runs as uid 0" in done.stderr
    words = f"the state directory {agent.state} belongs to uid 12345: an agent that runs as root refuses it"
    check = agent.run("check")
    assert check.returncode == 0 and f"note   agent: {words}" in check.stdout, "the agent may run as that user"
    doctor(agent, "--offline").one("machine.state-dir", "note", words)
    agent.state.chmod(0o777)
    doctor(agent, "--offline").one("machine.state-dir", "wrong", "can be written by every user (mode 0777)")
    agent.state.chmod(0o700)
    os.chown(agent.state, 0, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("change", ["owner", "mode"])
def test_a_journal_of_another_user(agent, change):
    """It stays from a time when that user could write in the directory, and names the published key as the old one."""
    key = published_key(agent)
    assert agent.stop() == 0
    rewrite(agent, step="deleting", old=key, current="AKIAPLANTED000000000")
    if change == "owner":
        os.chown(journal_path(agent), 12345, 12345)
    else:
        journal_path(agent).chmod(0o666)
    words = "belongs to uid 12345, another user" if change == "owner" else "other users can write it (mode 0666)"
    doctor(agent, "--offline").one("mint.journal", "wrong", words)
    agent.cloud.admin("/stats/reset", {})
    agent.start()
    eventually(lambda: words in (mint_of(agent).get("error") or ""), lambda: f"{mint_of(agent)}\n{agent.log}")
    assert list(keys_of(agent.cloud)) == [key] and not agent.cloud.exchanges("DeleteAccessKey")
    assert mint_of(agent)["state"] == "UPDATE_FAILED" and published_key(agent) == key


@pytest.mark.skipif(shifted_clock.missing(CREDFRESH) is not None, reason=f"there is no {shifted_clock.missing(CREDFRESH)}")
@pytest.mark.parametrize("before_s, after_s", [(0, 400), (800, 0)], ids=["forward", "back"])
def test_the_clock_is_set_in_a_grace(configured, tmp_path, before_s, after_s):
    """The old key stays neither shorter nor longer for that, and then there is nothing to do."""
    agent, clock = configured, ShiftedClock(tmp_path, before_s)
    patient = minted(agent, mint={"grace": "1s", "grace_most": "12s"}, acknowledge={"file": str(agent.dir / "in-use")})
    agent.configure(patient, admin(agent)).start(env=clock.env)
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    first = published_key(agent)
    rotate(agent, "drill")
    agent.wait_generation(2, "robot")
    begun = time.monotonic()
    wait_step(agent, "published")
    clock.set(after_s)
    eventually(lambda: first not in keys_of(agent.cloud), lambda: f"{mint_of(agent)}\n{agent.log}")
    assert time.monotonic() - begun > 11
    wait_complete(agent)
    assert [agent.status("robot")["state"] for _ in range(20)] == ["fresh"] * 20 and call(agent)
