# SPDX-License-Identifier: MIT
"""`credfresh doctor` on rotated keys and the service CA: from the files on disk, and from the agent's status."""
import json
import os
import shutil
import subprocess
import time

import botocore.exceptions
import botocore.session
import pytest

import shifted_clock
from conftest import AS_NOBODY, CREDFRESH, LocalCloud, Mounted, eventually, let_others_in, needs_namespace
from mint_kinds import Google
from minting import (ADMIN, IAM, admin, cloud, configured as keys, iam_cloud, keys_of, minted, mint_of, published_key,  # noqa: F401
                     wait_complete)
from shifted_clock import ShiftedClock
from test_doctor import doctor
from trust import certificates


def made(agent):
    """A key is made and published, and the agent has ended; what doctor says is by the disk alone."""
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    agent.stop()
    return published_key(agent)


def journal_of(agent):
    return agent.state / "robot+mint.json"


def rewrite(agent, **over):
    """The journal as another moment would have left it."""
    document = {**json.loads(journal_of(agent).read_text()), **over}
    journal_of(agent).write_text(json.dumps(document))
    return document


def store_pending(agent, **over):
    path = agent.state / "robot+mint.pending"
    path.write_text(json.dumps({"version": 1, "name": "credfresh-1", "id": "AKIANEW", "created": "2026-01-02T03:04:05Z",
                                "fields": {"aws_secret_access_key": "a-pending-secret"}, **over}))
    path.chmod(0o600)
    return path


# ---- rotated keys ----

def test_before_and_after_the_first_key(keys):
    report = doctor(keys)
    assert not report.wrong() and not report.all("mint.published")
    report.one("mint.journal", "note", "no key has been created yet")
    report.one("mint.with", "ok", "admin can be used to manage keys of aws")
    assert not keys.state.exists() and not keys_of(keys.cloud), "doctor makes nothing"
    key = made(keys)
    report = doctor(keys)
    assert not report.wrong()
    report.one("mint.journal", "ok", "rotation 1 is at the step rest")
    report.one("mint.age", "ok", key, "to be replaced within")
    report.one("mint.published", "ok", key)
    assert not report.all("mint.pending")


def test_the_agent_says_what_a_rotation_waits_for(keys):
    keys.start()
    keys.wait_generation(1, "robot")
    wait_complete(keys)
    keys.cloud.admin("/iam/key", {"user": "robot", "access_key_id": "AKIAMADEBYHAND000000"})
    keys.run("rotate", "robot", "--reason", "doctor", "-s", str(keys.socket))
    eventually(lambda: "room" in (mint_of(keys).get("waits_for") or ""), lambda: str(mint_of(keys)))
    report = doctor(keys)
    report.one("mint.waits", "warning", "room", "AKIAMADEBYHAND000000")
    report.one("agent.credential", "ok", "never expires")


def test_a_journal_that_cannot_be_read(keys):
    key = made(keys)
    journal_of(keys).write_text("{\"version\":1")
    report = doctor(keys)
    assert "backup" in report.one("mint.journal", "wrong", "robot+mint.json", "nothing is done")["remedy"]
    assert report.wrong() == ["mint.journal"]
    journal_of(keys).unlink()
    report = doctor(keys)
    report.one("mint.journal", "note", "no key has been created yet")
    assert "state_dir" in report.one("mint.published", "warning", key, "its journal is missing")["remedy"]


def test_a_journal_of_something_else(keys):
    made(keys)
    rewrite(keys, current="AKIAOTHER")
    doctor(keys).one("mint.published", "warning", "by the journal it is AKIAOTHER")
    rewrite(keys, subject="aws/someone")
    report = doctor(keys)
    report.one("mint.journal", "note", "aws/someone", "removes once the new owner's key is published")
    assert not report.all("mint.published") and not report.all("mint.age")


def test_age(keys):
    made(keys)
    now = int(time.time())
    for age_s, level, words in ((100 * 86400, "warning", "should have been replaced"), (-90000, "warning", "future"),
                                (86400, "ok", "old, and to be replaced within")):
        rewrite(keys, current_s=str(now - age_s))
        doctor(keys).one("mint.age", level, words)
    # A key that ends by itself is replaced at four fifths of its life, however long expire_after is.
    for ends_s, level, words in ((20 * 3600, "ok", "to be replaced within 15 h"), (2 * 3600, "warning", "should have been replaced"),
                                 (-3600, "wrong", "ended 1 h ago")):
        rewrite(keys, current_s=str(now + ends_s - 86400), current_ends_s=str(now + ends_s))
        doctor(keys).one("mint.age", level, words)


def test_the_pending_secret(keys):
    made(keys)
    for step, level in (("verified", "wrong"), ("minted", "warning")):
        rewrite(keys, step=step, minted="AKIANEW", name="credfresh-1")
        path = store_pending(keys)
        report = doctor(keys)
        report.one("mint.pending", "ok", "AKIANEW")
        assert not report.wrong() and "a-pending-secret" not in report.text
        store_pending(keys, id="AKIAOTHER")
        doctor(keys).one("mint.pending", level, "to another key")
        path.write_text("a-pending-secret")
        report = doctor(keys)
        report.one("mint.pending", level, "not a JSON document")
        assert "a-pending-secret" not in report.text
        path.unlink()
        doctor(keys).one("mint.pending", level, "AKIANEW is not available")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_as_somebody_else(keys):
    """What he may not see is no fault."""
    made(keys)
    robot = minted(keys)
    robot["mint"]["aws"]["ca_file"] = str(shutil.copy(keys.cloud.ca, keys.dir / "ca.pem"))
    keys.configure(robot, admin(keys))
    let_others_in(keys.dir)
    keys.state.chmod(0o700)
    report = doctor(keys, "robot", wrapper=AS_NOBODY)
    report.one("mint.journal", "note", "cannot be read")
    assert not report.all("mint.journal", "wrong")


ADMIN_ARN = "arn:aws:iam::123456789012:user/admin"


def test_the_rights_that_a_rotation_needs(keys):
    report = doctor(keys)
    report.one("mint.rights", "ok", f"{ADMIN_ARN} has the rights to rotate the keys of robot")
    keys.cloud.admin("/service/iam", {**IAM, "deny": ["UpdateAccessKey", "DeleteAccessKey"]})
    report = doctor(keys)
    found = report.one("mint.rights", "warning", ADMIN_ARN, "the keys of robot: iam:UpdateAccessKey, iam:DeleteAccessKey")
    assert f"allow {ADMIN_ARN} iam:UpdateAccessKey, iam:DeleteAccessKey for robot" in found["remedy"]
    done = keys.run("check", "--online")
    assert "iam:UpdateAccessKey, iam:DeleteAccessKey" in done.stdout + done.stderr
    assert "mint.rights" not in keys.run("check").stdout and not doctor(keys, "--offline").all("mint.rights")
    assert not keys.cloud.exchanges("CreateAccessKey") and not keys_of(keys.cloud), "nothing is created"


def test_the_simulator_as_an_sdk_sees_it(keys):
    """What the check relies on: pages, one resource, and refusals."""
    client = botocore.session.Session().create_client(
        "iam", region_name="us-east-1", endpoint_url=keys.cloud.sts.rstrip("/") + "/iam", verify=keys.cloud.ca,
        aws_access_key_id=ADMIN["aws_access_key_id"], aws_secret_access_key=ADMIN["aws_secret_access_key"])
    actions = ["iam:ListAccessKeys", "iam:CreateAccessKey", "iam:DeleteAccessKey"]
    robot = "arn:aws:iam::123456789012:user/robot"

    def decisions(**over):
        pages = client.get_paginator("simulate_principal_policy").paginate(
            **{"PolicySourceArn": ADMIN_ARN, "ActionNames": actions, "ResourceArns": [robot], **over})
        return [one["EvalDecision"] for page in pages for one in page["EvaluationResults"]]
    assert decisions() == ["allowed"] * 3
    assert decisions(PolicySourceArn=robot) == ["implicitDeny"] * 3
    assert decisions(ResourceArns=["*"]) == ["implicitDeny"] * 3
    for over, code in (({"PolicySourceArn": "arn:aws:iam::123456789012:role/nobody"}, "NoSuchEntity"),
                       ({"PolicySourceArn": "arn:aws:iam::123456789012:root"}, "InvalidInput"),
                       ({"ActionNames": []}, "ValidationError")):
        with pytest.raises(botocore.exceptions.ClientError) as refused:
            decisions(**over)
        assert refused.value.response["Error"]["Code"] == code


def test_rights_that_cannot_be_told(keys):
    keys.cloud.admin("/service/iam", {**IAM, "deny": ["SimulatePrincipalPolicy"]})
    report = doctor(keys)
    report.one("mint.rights", "note", "cannot be told", "allow it iam:SimulatePrincipalPolicy on itself")
    assert "mint.rights" not in report.wrong()


def test_the_rights_of_a_role_with_a_path(keys):
    """Its session does not tell the path: the configuration does."""
    role = "arn:aws:iam::123456789012:role/team/admin"
    keys.cloud.admin("/role", {"arn": role, "trust": [{"subject": "system:serviceaccount:default:demo"}]})
    keys.cloud.admin("/service/iam", {**IAM, "admins": ["arn:aws:iam::*:role/team/admin"], "deny": ["CreateAccessKey"]})
    with_ = keys.credential("role", exchange={"aws": {"role_arn": role, "region": "us-east-1", "endpoint": keys.cloud.sts,
                                                      "ca_file": keys.cloud.ca}})
    keys.configure(minted(keys, mint={"with": "role"}), with_)
    doctor(keys).one("mint.rights", "warning", role, "iam:CreateAccessKey")


def test_what_makes_the_keys_is_exchanged_once(keys):
    """For the published key and for the rights; once more for its own exchange."""
    role = "arn:aws:iam::123456789012:role/team/admin"
    keys.cloud.admin("/role", {"arn": role, "trust": [{"subject": "system:serviceaccount:default:demo"}]})
    keys.cloud.admin("/service/iam", {**IAM, "admins": ["arn:aws:iam::*:role/team/admin"]})
    with_ = keys.credential("role", exchange={"aws": {"role_arn": role, "region": "us-east-1", "endpoint": keys.cloud.sts,
                                                      "ca_file": keys.cloud.ca}})
    keys.configure(minted(keys, mint={"with": "role"}), with_)
    made(keys)
    before = len(keys.cloud.exchanges("AssumeRoleWithWebIdentity"))
    report = doctor(keys)
    report.one("mint.key", "ok")
    report.one("mint.rights", "ok")
    report.one("cloud.exchange", "ok")
    assert len(keys.cloud.exchanges("AssumeRoleWithWebIdentity")) - before == 2


@pytest.mark.parametrize("denied,level,words", [
    ([], "ok", ["admin-gcp has the rights to rotate the keys of robot-0@demo-project.iam.gserviceaccount.com"]),
    (["disable", "delete"], "warning", ["admin-gcp", "robot-0@",
                                        ": iam.serviceAccountKeys.disable, iam.serviceAccountKeys.delete"]),
])
def test_the_rights_on_a_service_account(agent_factory, tmp_path, denied, level, words):
    kind = Google()
    settings = kind.settings(1)
    settings["gcp"]["service_accounts"][0]["key_denied"] = denied
    cloud = LocalCloud(tmp_path / "cloud", config=settings)
    try:
        agent = agent_factory(cloud)
        agent.configure(*kind.configured(agent))
        doctor(agent).one("mint.rights", level, *words)
        assert not kind.held(cloud), "nothing is created"
        settings["gcp"]["service_accounts"][0]["email"] = "other@demo-project.iam.gserviceaccount.com"
        cloud.admin("/service/gcp", settings["gcp"])
        doctor(agent).one("mint.rights", "note", "cannot be told", "testIamPermissions")
    finally:
        cloud.stop()


def test_a_state_directory_that_does_not_last(keys):
    needs_namespace("--mount")
    script = f"mount -t tmpfs none {keys.dir} && mkdir -p {keys.dir}/x && exec \"$@\""
    config = shutil.copy(keys.config_path, keys.dir.parent / "config.json")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", CREDFRESH, "doctor", "-c",
                           str(config), "--json", "--offline", "robot"], capture_output=True, text=True, timeout=30)
    found = [f for f in json.loads(done.stdout)["findings"] if f["check"] == "mint.state-dir"]
    assert found and found[0]["level"] == "warning" and "in memory" in found[0]["text"]


def test_who_makes_the_keys(keys):
    """One that cannot is told before the cloud refuses it."""
    other = {"name": "other", "token": {"file": str(keys.cloud.volumes["demo"] / "token")},
             "publish": {"directory": str(keys.dir / "other"), "files": [{"name": "t", "format": "token"}]}}
    session = {"name": "session", "secret": {"directory": str(keys.dir / "admin")},
               "exchange": {"aws": {"region": "us-east-1", "endpoint": keys.cloud.sts, "ca_file": keys.cloud.ca}},
               "publish": {"directory": str(keys.dir / "session"), "files": [{"name": "c", "format": "aws-credentials"}]}}
    google = {**other, "name": "google",
              "exchange": {"gcp": {"audience": "//iam.googleapis.com/projects/1/locations/global/"
                                               "workloadIdentityPools/a/providers/b"}}}
    role = keys.credential("role")
    empty = {"name": "empty", "secret": {"directory": str(keys.dir / "empty"), "pass_on": True}}
    gone = {"name": "gone", "secret": {"directory": str(keys.dir / "gone"), "pass_on": True}}
    Mounted(keys.dir / "empty").put({"something": "else"})
    for with_, level, words in ((role, "ok", "whether they permit it, only the cloud knows"), (other, "wrong", "none of a cloud"),
                                (session, "wrong", "GetSessionToken"), (google, "wrong", "another cloud"),
                                (empty, "wrong", "cannot make keys of aws"), (gone, "wrong", "cannot be got")):
        keys.configure(minted(keys, mint={"with": with_["name"]}), with_)
        report = doctor(keys, "robot", "--offline")
        report.one("mint.with", level, with_["name"], words)
        assert ("mint.with" in report.wrong()) == (level == "wrong")
    assert not doctor(keys, "--offline").all("mint.with"), "that it is gone is told where it is looked at itself"


# ---- the service CA ----

def service_ca(agent, **over):
    tls = {"name": "tls", "certificate": {"dns_names": ["localhost"], "validity": "1d"},
           "publish": {"directory": str(agent.dir / "tls"),
                       "files": [{"name": "tls.crt", "format": "certificate"},
                                 {"name": "tls.key", "format": "private-key"}]}}
    trust = {"name": "trust", "ca_bundle": True,
             "publish": {"directory": str(agent.dir / "trust"), "files": [{"name": "ca.crt", "format": "ca-bundle"}]}}
    return agent.configure(tls, trust, service_ca={"store": str(agent.dir / "ca"), "validity": "100d", "rotate_below": "40d",
                                                   **over})


@pytest.fixture
def authority(agent_factory, shared_cloud):
    return service_ca(agent_factory(shared_cloud))


def once(agent):
    done = agent.run("once")
    assert done.returncode == 0, done.stderr


def put(path, text):
    """In place of what was published there."""
    path.write_text(text)


def test_a_ca_as_it_should_be(authority):
    report = doctor(authority)
    report.one("ca.store", "note", "there is no CA yet")
    assert not report.wrong() and not (authority.dir / "ca").exists()
    once(authority)
    report = doctor(authority)
    assert not report.wrong() and not report.all("ca.store", "wrong")
    report.one("ca.signer", "ok", "CA 1 is valid for", "will be replaced in")
    report.one("ca.certificate", "ok", "tls.crt")
    report.one("ca.bundle", "ok", "ca.crt has CA 1")
    assert "PRIVATE KEY" not in report.text


def test_a_ca_beside_an_exchange(authority):
    """Its key is read before any connection."""
    once(authority)
    config = json.loads(authority.config_path.read_text())
    authority.configure(*config["credentials"], authority.credential(), service_ca=config["service_ca"])
    report = doctor(authority)
    assert not report.wrong()
    report.one("ca.signer", "ok")
    report.one("cloud.exchange", "ok", "assumed-role/demo")


def test_a_store_that_is_gone_or_broken(authority):
    once(authority)
    document = authority.dir / "ca/authority.json"
    whole = document.read_text()
    document.chmod(0o644)
    doctor(authority).one("ca.store", "warning", "others may read it (mode 0644)")
    document.chmod(0o600)
    document.write_text(whole[:-20])
    report = doctor(authority)
    report.one("ca.store", "wrong", "authority.json cannot be used")
    assert report.wrong() == ["ca.store"] and report.all("ca.certificate", "ok")
    document.unlink()
    report = doctor(authority)
    assert "backup" in report.one("ca.store", "wrong", "is missing, although one existed:")["remedy"]
    shutil.rmtree(authority.dir / "ca")
    doctor(authority).one("ca.store", "wrong", "is missing, although one existed:")


def test_a_record_of_the_ca_that_does_not_last(authority):
    needs_namespace("--mount")
    authority.state.mkdir(exist_ok=True)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {authority.state} && exec \"$@\"", "sh",
                           CREDFRESH, "doctor", "-c", str(authority.config_path), "--json", "--offline"],
                          capture_output=True, text=True, timeout=30)
    found = [f for f in json.loads(done.stdout)["findings"] if f["check"] == "ca.state-dir"]
    assert found and found[0]["level"] == "warning" and "in memory" in found[0]["text"]


def test_what_was_published_before(authority):
    """A forced rotation whose certificate and bundle did not come to be published."""
    once(authority)
    before = {path: path.read_text() for path in (authority.dir / "tls/tls.crt", authority.dir / "tls/tls.key",
                                                  authority.dir / "trust/ca.crt")}
    service_ca(authority, force={"reason": "doctor"})
    once(authority)
    report = doctor(authority)
    assert not report.wrong() and not report.all("ca.bundle", "warning")
    assert len(certificates(authority.dir / "trust/ca.crt")) == 2
    put(authority.dir / "tls/tls.crt", before[authority.dir / "tls/tls.crt"])
    report = doctor(authority)
    report.one("ca.certificate", "warning", "still of the previous CA")
    report.one("ca.key", "wrong", "do not belong together", "not that of the certificate")
    put(authority.dir / "tls/tls.key", before[authority.dir / "tls/tls.key"])
    put(authority.dir / "trust/ca.crt", before[authority.dir / "trust/ca.crt"])
    report = doctor(authority)
    report.one("ca.bundle", "warning", "not the current one: it lacks the newest CA")
    assert not report.wrong()
    put(authority.dir / "tls/tls.crt", "nothing")
    doctor(authority).one("ca.certificate", "wrong", "holds no certificate")


def test_a_ca_that_was_begun_anew(authority):
    once(authority)
    shutil.rmtree(authority.dir / "ca")
    (authority.state / "_service-ca.json").unlink()
    old = {name: (authority.dir / name).read_text() for name in ("tls/tls.crt", "tls/tls.key", "trust/ca.crt")}
    once(authority)
    for name, text in old.items():
        put(authority.dir / name, text)
    report = doctor(authority)
    report.one("ca.certificate", "wrong", "of none of the CAs")
    report.one("ca.bundle", "wrong", "none of the CAs")
    assert report.wrong() == ["ca.bundle", "ca.certificate"]


@pytest.mark.skipif(shifted_clock.missing(CREDFRESH) is not None, reason=f"there is no {shifted_clock.missing(CREDFRESH)}")
@pytest.mark.parametrize("days, signer, certificate", ((-2, "wrong", "wrong"), (2, "ok", "wrong"), (0.95, "ok", "warning"),
                                                       (61, "warning", "wrong"), (101, "wrong", "wrong")))
def test_the_time_of_the_ca(authority, tmp_path, days, signer, certificate):
    once(authority)
    report = doctor(authority, "--offline", env=ShiftedClock(tmp_path, days * 86400).env)
    report.one("ca.signer", signer)
    report.one("ca.certificate", certificate)
