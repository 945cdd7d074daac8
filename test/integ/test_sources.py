# SPDX-License-Identifier: MIT
"""Mounted Secrets as a source: each cloud's forms, changes, and Secrets that are passed through."""
import datetime
import json
import os
import re
import shutil
import threading

import pytest

from conftest import LocalCloud, Mounted, eventually

USER_KEY = {"access_key_id": "AKIALOCALCLOUDUSER00", "secret_access_key": "user-secret-0123456789",
            "arn": "arn:aws:iam::123456789012:user/robot"}
OTHER_ROLE = "arn:aws:iam::123456789012:role/other"
DEMO_ROLE = "arn:aws:iam::123456789012:role/demo"
TENANT = "11111111-2222-3333-4444-555555555555"
CLIENT = "66666666-7777-8888-9999-aaaaaaaaaaaa"
GCP_AUDIENCE = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"
GCP_ACCOUNT = "demo@demo-project.iam.gserviceaccount.com"


@pytest.fixture(scope="module")
def module_cloud(tmp_path_factory):
    trust = [{"subject": "system:serviceaccount:default:demo"}, {"aws_principal": USER_KEY["arn"]}, {"aws_principal": DEMO_ROLE}]
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config={
        "iam_keys": [USER_KEY], "roles": [{"arn": DEMO_ROLE, "trust": trust}, {"arn": OTHER_ROLE, "trust": trust}]})
    yield made
    made.stop()


@pytest.fixture
def secret(tmp_path):
    return Mounted(tmp_path / "mnt" / "secret")


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


def sts_form(cloud, role=DEMO_ROLE, token=None):
    return {"credentials": f"[default]\nsts_regional_endpoints = regional\nrole_arn = {role}\n"
                           f"web_identity_token_file = {token or cloud.volumes['demo'] / 'token'}"}


def keys_form():
    return {"aws_access_key_id": USER_KEY["access_key_id"], "aws_secret_access_key": USER_KEY["secret_access_key"],
            "credentials": f"[default]\naws_access_key_id = {USER_KEY['access_key_id']}\n"
                           f"aws_secret_access_key = {USER_KEY['secret_access_key']}"}


def azure_form(cloud, token=True, secret=False):
    keys = {"azure_client_id": CLIENT, "azure_tenant_id": TENANT, "azure_region": "westeurope",
            "azure_subscription_id": "00000000-0000-0000-0000-000000000000"}
    if token:
        keys["azure_federated_token_file"] = str(cloud.volumes["azure"] / "token")
    if secret:
        keys["azure_client_secret"] = "demo-client-secret"
    return keys


def gcp_form(cloud):
    return {"service_account.json": json.dumps({
        "type": "external_account", "audience": GCP_AUDIENCE,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": cloud.ready["gcp_url"] + "/v1/token",
        "service_account_impersonation_url":
            f"{cloud.ready['gcp_url']}/v1/projects/-/serviceAccounts/{GCP_ACCOUNT}:generateAccessToken",
        "credential_source": {"file": str(cloud.volumes["gcp"] / "token"), "format": {"type": "text"}}})}


def openstack_form(cloud, secret="demo-secret", **auth):
    auth = auth or {"application_credential_id": "demo-app-credential", "application_credential_secret": secret}
    doc = {"clouds": {"openstack": {"auth": {"auth_url": cloud.ready["keystone_url"], **auth},
                                    "cacert": "/etc/pki/of-another-pod.pem", "region_name": "RegionOne"}}}
    with open(cloud.ca) as f:
        return {"clouds.yaml": json.dumps(doc), "cacert": f.read()}


def mounted(agent, secret, **over):
    """The Secret, which may name the tokens of the local cloud."""
    return {"directory": str(secret.dir), "token_directory": str(agent.cloud.dir.absolute()), **over}


def google(cloud):
    """What a Secret may not say of a cloud that is not Google's."""
    return {"sts_endpoint": cloud.ready["gcp_url"] + "/v1/token", "iam_endpoint": cloud.ready["gcp_url"], "ca_file": cloud.ca}


def aws(agent, secret, files=None, **over):
    """A credential from a Secret of AWS; where to go is the exchange's part."""
    return agent.credential(token=None, secret=mounted(agent, secret),
                            exchange={"aws": {"region": "us-east-1", "endpoint": agent.cloud.sts,
                                              "ca_file": agent.cloud.ca}},
                            publish={"directory": str(agent.out),
                                     "files": files or [{"name": "creds.json", "format": "json"}]}, **over)


def last_error(agent):
    return agent.status().get("last_error") or {}


def start(agent, credential):
    agent.configure(credential).start()
    return agent


def azure(agent, secret):
    return agent.credential(token=None, secret=mounted(agent, secret, kind="azure"),
                            exchange={"azure": {"authority_host": agent.cloud.ready["azure_url"],
                                                "ca_file": agent.cloud.ca}},
                            publish={"directory": str(agent.out),
                                     "files": [{"name": "creds.json", "format": "azure-token-json"}]})


@pytest.mark.parametrize("text, said", [
    ('{"type": "authorized_user"}', "authorized_user"),
    ("-----BEGIN CERTIFICATE-----\nxx\n", "not JSON, but a certificate in PEM form"),
])
def test_check_reads_the_files_of_an_exchange(agent, text, said):
    file = agent.dir / "google.json"
    file.write_text(text)
    agent.configure(agent.credential(exchange={"gcp": {"credentials_file": str(file)}}, publish={
        "directory": str(agent.out), "files": [{"name": "token", "format": "gcp-access-token"}]}))
    done = agent.run("check")
    assert done.returncode != 0 and "ERROR" in done.stdout and said in done.stdout, done.stdout


def test_aws_role(agent, secret):
    secret.put(sts_form(agent.cloud))
    start(agent, aws(agent, secret)).wait_generation(1)
    assert agent.published()["identity"].startswith("arn:aws:sts::123456789012:assumed-role/demo/")
    status = agent.status()
    assert status["provider"] == "aws" and status["ready"]


def test_aws_keys_lead_to_a_session(agent, secret):
    secret.put(keys_form())
    start(agent, aws(agent, secret)).wait_generation(1)
    assert agent.published()["fields"]["aws_session_token"]
    assert agent.published()["fields"]["aws_access_key_id"].startswith("ASIA")
    assert USER_KEY["secret_access_key"] not in agent.log


def test_aws_keys_with_a_role_of_the_configuration(agent, secret):
    secret.put(keys_form())
    credential = aws(agent, secret)
    credential["exchange"]["aws"]["role_arn"] = OTHER_ROLE
    start(agent, credential).wait_generation(1)
    assert ":assumed-role/other/" in agent.published()["identity"]


def test_absent_then_mounted_then_another_role(agent, secret):
    start(agent, aws(agent, secret))
    eventually(lambda: "is not mounted yet" in last_error(agent).get("message", ""), agent.log)
    assert not agent.status()["ready"]
    secret.put(sts_form(agent.cloud))
    agent.wait_generation(1)
    secret.put(sts_form(agent.cloud, OTHER_ROLE))
    agent.wait_generation(2)
    assert ":assumed-role/other/" in agent.published()["identity"]
    assert len(agent.cloud.exchanges()) == 2


def test_half_a_secret_is_waited_for_and_what_stands_stays(agent, secret):
    secret.put({"aws_access_key_id": USER_KEY["access_key_id"]})
    start(agent, aws(agent, secret))
    eventually(lambda: "waiting for the key aws_secret_access_key" in agent.log, agent.log)
    secret.put(keys_form())
    agent.wait_generation(1)
    before = agent.published()
    secret.put({"credentials": "garbage without a section"})
    eventually(lambda: "has no section [default]" in last_error(agent).get("message", ""), agent.log)
    assert agent.published() == before and agent.status()["ready"] and agent.generation() == 1


def test_the_token_that_the_secret_names_is_watched(agent, secret):
    secret.put(sts_form(agent.cloud))
    start(agent, aws(agent, secret)).wait_generation(1)
    agent.wait_state("fresh")
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_generation(2)
    # Another token's path, which is then the one that is watched.
    agent.cloud.admin("/volume", {"name": "second", "service_account": "demo"})
    path = agent.cloud.dir.absolute() / "volumes" / "second" / "token"
    secret.put(sts_form(agent.cloud, token=path))
    agent.wait_generation(3)
    agent.wait_state("fresh")
    agent.cloud.admin("/volume/second/renew", {})
    agent.wait_generation(4)


def test_a_token_that_is_mounted_after_the_secret(agent, secret):
    path = agent.dir / "later" / "token"
    secret.put(sts_form(agent.cloud, token=path))
    credential = aws(agent, secret)
    credential["secret"]["token_directory"] = str(path.parent)
    start(agent, credential)
    eventually(lambda: str(path) in last_error(agent).get("message", ""), agent.log)
    path.parent.mkdir()
    (path.parent / "new").write_text(agent.cloud.token())
    os.rename(path.parent / "new", path)
    agent.wait_generation(1)


def test_azure_from_a_secret_to_a_token(agent, secret):
    secret.put(azure_form(agent.cloud, token=False, secret=True))
    start(agent, azure(agent, secret)).wait_generation(1)
    secret.put(azure_form(agent.cloud, token=True, secret=True))
    agent.wait_generation(2)
    eventually(lambda: "stale azure_client_secret" in agent.log, agent.log)
    assert agent.log.count("stale azure_client_secret") == 1
    secret.put(azure_form(agent.cloud))
    agent.wait_generation(3)
    agent.cloud.admin("/volume/azure/renew", {})
    agent.wait_generation(4)
    assert "demo-client-secret" not in agent.log


def test_aws_as_the_operator_s_page_writes_it(agent, secret):
    """With `:` and role_name, in a section of its own; the name of the section is the configuration's, and so is a role
    that follows."""
    secret.put({"credentials": f"[profile registry]\nrole_name: {DEMO_ROLE}\nduration_seconds: 1800\n"
                               f"web_identity_token_file: {agent.cloud.volumes['demo'] / 'token'}\n[other]\nregion = x\n"})
    credential = aws(agent, secret)
    start(agent, credential)
    eventually(lambda: "name another one in `profile`" in last_error(agent).get("message", ""), agent.log)
    credential["exchange"]["aws"]["profile"] = "registry"
    agent.configure(credential)
    assert agent.request("POST", "/v1/reload", "")[0] == 200
    agent.wait_generation(1)
    assert ":assumed-role/demo/" in agent.published()["identity"]
    left = datetime.datetime.fromisoformat(agent.published()["expires"]) - datetime.datetime.now(datetime.timezone.utc)
    assert 1500 < left.total_seconds() < 1900
    eventually(lambda: "role_name, which no SDK reads" in agent.log, agent.log)


def test_aws_role_by_another_profile(agent, secret):
    """Keys, then a role with an external id; the keys of a token's role, then the same."""
    base = f"aws_access_key_id = {USER_KEY['access_key_id']}\naws_secret_access_key = {USER_KEY['secret_access_key']}"
    role = f"[default]\nrole_arn = {OTHER_ROLE}\nsource_profile = base\nexternal_id = x-1\n"
    secret.put({"credentials": f"{role}[base]\n{base}\n"})
    start(agent, aws(agent, secret)).wait_generation(1)
    assert ":assumed-role/other/" in agent.published()["identity"]
    secret.put({"credentials": f"{role}[base]\nrole_arn = {DEMO_ROLE}\n"
                               f"web_identity_token_file = {agent.cloud.volumes['demo'] / 'token'}\n"})
    agent.wait_generation(2)
    assert ":assumed-role/other/" in agent.published()["identity"]
    assert "token" in agent.published()["fields"]


def test_a_target_that_fits_one_form(agent, secret):
    """`check` says so before, and when the form has changed; the last good credentials remain."""
    secret.put(sts_form(agent.cloud))
    agent.configure(aws(agent, secret, files=[{"name": "creds.json", "format": "json"},
                                              {"name": "token", "format": "token"}]))
    done = agent.run("check")
    assert done.returncode == 0 and "note   demo: token: fits a Secret that names a token's file" in done.stdout
    agent.start().wait_generation(1)
    before = agent.published(), (agent.out / "token").read_text()
    secret.put(keys_form())
    eventually(lambda: "format token needs token" in last_error(agent).get("message", ""), agent.log)
    assert (agent.published(), (agent.out / "token").read_text()) == before and agent.generation() == 1
    done = agent.run("check")
    assert done.returncode == 1
    assert re.search(r"ERROR  \S+:\d+: demo: token: needs a token, and the Secret holds long-lived keys", done.stdout)
    assert "note   demo: its long-lived keys become a session" in done.stdout
    assert "may call nothing of IAM" in done.stdout
    secret.put(sts_form(agent.cloud, OTHER_ROLE))
    agent.wait_generation(2)


def test_where_azure_s_consumer_is_to_work(agent, secret):
    """Region, subscription, group and prefix are no part of the exchange, and reach the consumer in every format."""
    facts = {"azure_region": "westeurope", "azure_subscription_id": "00000000-0000-0000-0000-000000000000",
             "azure_resourcegroup": "cluster-rg", "azure_resource_prefix": "cluster-x7"}
    secret.put({**azure_form(agent.cloud, token=False, secret=True), **facts})
    credential = azure(agent, secret)
    credential["publish"]["files"] = [
        {"name": "creds.json", "format": "json"}, {"name": "env", "format": "env"},
        {"name": "region", "format": "field", "field": "azure_region"},
        {"name": "place", "format": "template", "template": "${azure_resourcegroup}/${azure_resource_prefix}"}]
    start(agent, credential).wait_generation(1)
    fields = agent.published()["fields"]
    assert {key: fields[key] for key in facts} == facts and "azure_client_secret" not in fields
    env = (agent.out / "env").read_text()
    assert 'AZURE_REGION=' in env and "AZURE_SUBSCRIPTION_ID=" in env
    assert (agent.out / "region").read_text() == "westeurope"
    assert (agent.out / "place").read_text() == "cluster-rg/cluster-x7"
    # One that a format needs has gone: what is published stays.
    secret.put({**azure_form(agent.cloud), **{k: v for k, v in facts.items() if k != "azure_resourcegroup"}})
    eventually(lambda: "azure_resourcegroup" in last_error(agent).get("message", ""), agent.log)
    assert (agent.out / "place").read_text() == "cluster-rg/cluster-x7"
    secret.put({**azure_form(agent.cloud), **facts, "azure_region": "northeurope"})
    agent.wait_generation(2)
    assert (agent.out / "region").read_text() == "northeurope"


def test_nothing_to_rotate(agent, secret):
    """A Secret that is passed on, and a bare token: refused in words, and the reason is not used up."""
    secret.put({"user": "robot"})
    token = {"directory": str(agent.dir / "token"), "files": [{"name": "token", "format": "token"}]}
    agent.configure(
        agent.credential("keys", token=None, exchange=None, secret={"directory": str(secret.dir), "pass_on": True},
                         publish={"directory": str(agent.out)}),
        agent.credential("token", exchange=None, publish=token),
        agent.credential("other"))  # what these read is read from the start
    agent.start().wait_generation(1, "keys")
    agent.wait_generation(1, "token")
    for name, words in (("keys", "passes a mounted Secret on"), ("token", "which another program renews")):
        for _ in range(2):
            code, doc = agent.request("POST", f"/v1/credentials/{name}/rotate", '{"reason":"leak"}')
            assert code == 400 and doc["error"]["code"] == "usage" and words in doc["error"]["message"], doc
        assert agent.generation(name) == 1 and agent.status(name)["last_reason"] is None
    done = agent.run("rotate", "keys")
    assert done.returncode == 6 and "has nothing to rotate" in done.stderr
    done = agent.run("rotate", "--all")
    assert done.returncode == 0 and done.stderr.count("has nothing to rotate") == 2
    # Where its keys decide, not the configuration.
    secret.put({"vc.example.com.username": "robot", "vc.example.com.password": "x"})
    agent.configure(agent.credential("keys", token=None, exchange=None, secret={"directory": str(secret.dir)},
                                     publish={"directory": str(agent.out)}), agent.credential("token"))
    assert agent.run("reload").returncode == 0
    agent.wait_state("fresh", "keys")
    code, doc = agent.request("POST", "/v1/credentials/keys/rotate", '{"reason":"leak"}')
    assert code == 400 and "passes a mounted Secret on" in doc["error"]["message"], doc
    assert agent.status("keys")["last_reason"] is None
    # The same reason counts once there is something to rotate.
    agent.configure(agent.credential("keys"), agent.credential("token"))
    assert agent.run("reload").returncode == 0
    for name in ("keys", "token"):
        agent.wait_state("fresh", name)
        assert agent.run("rotate", name, "--reason", "leak").returncode == 0
        eventually(lambda: agent.status(name)["last_reason"] == "leak", lambda: agent.log)
        assert "already done for this reason" in agent.run("rotate", name, "--reason", "leak").stdout


def test_a_token_next_to_a_secret_that_is_passed_on(agent, secret):
    secret.put({"user": "robot"})
    credential = agent.credential(exchange=None, secret={"directory": str(secret.dir), "pass_on": True},
                                  publish={"directory": str(agent.out), "files": [{"name": "user", "format": "secret-key"}]})
    agent.configure(credential)
    done = agent.run("check")
    assert done.returncode == 3 and "token: has no effect next to a Secret that is passed on" in done.stdout
    credential.pop("token")
    credential["exchange"] = {"aws": {"role_arn": DEMO_ROLE}}
    agent.configure(credential)
    done = agent.run("check")
    assert done.returncode == 3 and "exchange: has no effect on a Secret that is passed on" in done.stdout


def test_gcp_external_account(agent, secret):
    secret.put(gcp_form(agent.cloud))
    start(agent, agent.credential(token=None, secret=mounted(agent, secret), exchange={"gcp": google(agent.cloud)},
                                  publish={"directory": str(agent.out),
                                           "files": [{"name": "t", "format": "gcp-access-token"}]})).wait_generation(1)
    assert (agent.out / "t").read_text().startswith("ya29.")


def test_openstack_application_credential_and_its_ca(agent, secret):
    secret.put(openstack_form(agent.cloud))
    start(agent, agent.credential(token=None, secret={"directory": str(secret.dir)}, exchange=None,
                                  publish={"directory": str(agent.out),
                                           "files": [{"name": "t", "format": "openstack-token"},
                                                     {"name": "creds.json", "format": "json"}]})).wait_generation(1)
    assert (agent.out / "t").read_text()
    secret.put(openstack_form(agent.cloud, username="demo", password="demo-password", user_domain_name="Default",
                              project_id="demo-project", project_name="demo"))
    agent.wait_generation(2)
    secret.put(openstack_form(agent.cloud, secret="wrong"))
    eventually(lambda: last_error(agent).get("class") == "stop", agent.log)
    assert agent.generation() == 2 and agent.status()["ready"]
    secret.put(openstack_form(agent.cloud))
    agent.wait_generation(3)


def recorded_mark(agent):
    """Of the Secret that was read last."""
    return json.loads((agent.state / "demo.json").read_text())["token_mark"]


def test_passed_on_keys_come_and_go(agent, secret):
    out = agent.dir / "hook.log"
    secret.put({"ovirt_url": "https://e", "ovirt_username": "u", "ovirt_password": "p", "ovirt_insecure": "false",
                "ovirt_ca_bundle": ""})
    start(agent, agent.credential(
        token=None, exchange=None, secret={"directory": str(secret.dir), "pass_on": True},
        publish={"directory": str(agent.out), "files_mode": "0640"},
        reload=[{"exec": ["/bin/sh", "-c", f"echo run >> {out}"]}]))
    agent.wait_generation(1)
    assert (agent.out / "ovirt_password").read_text() == "p"
    assert oct((agent.out / "ovirt_password").stat().st_mode & 0o777) == "0o640"
    eventually(lambda: out.exists() and out.read_text() == "run\n", agent.log)
    secret.put({"any": "thing", ".dockerconfigjson": "{}"})
    agent.wait_generation(2)
    assert sorted(name for name in os.listdir(agent.out) if not name.startswith("..")) == [".dockerconfigjson", "any"]
    eventually(lambda: out.read_text() == "run\n" * 2, agent.log)
    # The same again, as the kubelet does when only the object's metadata changed: nobody is told.
    before = recorded_mark(agent)
    secret.put({"any": "thing", ".dockerconfigjson": "{}"})
    eventually(lambda: recorded_mark(agent) != before, agent.log)
    assert agent.generation() == 2 and out.read_text() == "run\n" * 2
    secret.put({"any": "thing", ".dockerconfigjson": "{}", "more": "x"})
    agent.wait_generation(3)
    eventually(lambda: out.read_text() == "run\n" * 3, agent.log)
    # Nor is it news to the next run.
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    assert agent.generation() == 3 and out.read_text() == "run\n" * 3
    assert agent.cloud.stats()["requests"] == 0


def test_a_key_of_a_secret_in_a_file(agent, secret):
    secret.put({"vcenter.example.com.username": "robot", "vcenter.example.com.password": "one\n"})
    start(agent, agent.credential(
        token=None, exchange=None, secret={"directory": str(secret.dir)},
        publish={"directory": str(agent.out),
                 "files": [{"name": "password", "format": "secret-key", "key": "vcenter.example.com.password"}]}))
    agent.wait_generation(1)
    assert (agent.out / "password").read_text() == "one\n"
    # A pair that is not whole is not published.
    secret.put({"vcenter.example.com.username": "robot", "second.example.com.username": "robot"})
    eventually(lambda: "waiting for the key" in agent.log, agent.log)
    assert (agent.out / "password").read_text() == "one\n"
    secret.put({"vcenter.example.com.username": "robot", "vcenter.example.com.password": "two"})
    agent.wait_generation(2)
    assert (agent.out / "password").read_text() == "two"


def test_the_access_key_id_of_a_profile_is_no_secret(agent):
    """Whatever the file begins with."""
    profile = agent.dir / "profile"
    profile.write_text("# managed by another program\n[default]\naws_access_key_id = AKIAUNKNOWN000000000\n"
                       "aws_secret_access_key = Xm3vTq9sLw5/Bd7k+Rz1\n")
    profile.chmod(0o600)
    aws = {"credentials_file": str(profile), "role_arn": "arn:aws:iam::123456789012:role/demo", "region": "us-east-1",
           "endpoint": agent.cloud.sts, "ca_file": agent.cloud.ca}
    publish = {"file": {"path": str(agent.dir / "env"), "format": "env"}}
    agent.configure(agent.credential(token=None, exchange={"aws": aws}, publish=publish)).start()
    eventually(lambda: agent.status().get("last_error"), lambda: agent.log)
    assert 'access key "AKIAUNKNOWN000000000"' in agent.status()["last_error"]["message"]


def test_another_secret_is_served_though_it_cannot_be_published(agent, secret):
    """The former one may have been revoked."""
    place = agent.dir / "place"
    secret.put({"a.example.com.username": "robot", "a.example.com.password": "one"})
    start(agent, agent.credential(
        token=None, exchange=None, allow={}, secret={"directory": str(secret.dir)},
        publish={"file": {"path": str(place / "password"), "format": "secret-key", "key": "a.example.com.password"}}))
    agent.wait_generation(1)

    def served():
        return agent.request("GET", "/v1/token/demo")[1]["fields"]["secret:a.example.com.password"]

    assert served() == "one"
    shutil.rmtree(place)
    place.write_text("in the way")
    secret.put({"a.example.com.username": "robot", "a.example.com.password": "two"})
    agent.wait_state("backoff")
    eventually(lambda: served() == "two", lambda: f"{served()}\n{agent.log}")


def test_nothing_torn_is_published(agent, secret):
    """While the Secret is swapped as fast as it goes, every generation holds keys of one version."""
    names = [f"key{i:02}" for i in range(12)]
    secret.put({name: "0" for name in names})
    start(agent, agent.credential(token=None, exchange=None, secret={"directory": str(secret.dir), "pass_on": True},
                                  publish={"directory": str(agent.out)}))
    agent.wait_generation(1)
    stop = threading.Event()

    def kubelet():
        number = 0
        while not stop.is_set():
            number += 1
            secret.put({name: str(number) for name in names})

    thread = threading.Thread(target=kubelet)
    thread.start()
    try:
        seen = set()

        def look():
            version = os.path.realpath(agent.out / "..data")
            try:
                seen.add(frozenset(open(os.path.join(version, name)).read() for name in names))
            except FileNotFoundError:
                pass  # that generation has gone
            return len(seen) >= 25

        eventually(look, agent.log)
    finally:
        stop.set()
        thread.join()
    assert all(len(values) == 1 for values in seen), seen
    last = (secret.dir / "key00").read_text()
    eventually(lambda: (agent.out / "key00").read_text() == last, agent.log)


def test_a_plain_directory_is_followed_too(agent, secret):
    secret.dir.mkdir(parents=True)
    for name, value in {"vc.username": "robot", "vc.password": "one"}.items():
        (secret.dir / name).write_text(value)
    start(agent, agent.credential(token=None, exchange=None, secret={"directory": str(secret.dir)},
                                  publish={"directory": str(agent.out)})).wait_generation(1)
    (secret.dir / "new").write_text("two")
    os.rename(secret.dir / "new", secret.dir / "vc.password")
    eventually(lambda: (agent.out / "vc.password").read_text() == "two", agent.log)


def test_a_restart_keeps_what_is_the_same(agent, secret):
    secret.put(keys_form())
    start(agent, aws(agent, secret)).wait_generation(1)
    agent.wait_state("fresh")
    agent.kill()
    agent.start()
    agent.wait_state("fresh")
    assert agent.generation() == 1
    # Changed while nobody looked.
    agent.kill()
    secret.put(sts_form(agent.cloud))
    agent.start()
    agent.wait_generation(2)
    assert ":assumed-role/demo/" in agent.published()["identity"]


@pytest.mark.parametrize("keys,over,text", [
    ({"kubeconfig": "clusters: []"}, {}, "`exchange:` is for aws; remove `exchange`"),
    ({"password": "hunter2-hunter2"}, {}, "of no kind that is known"),
    ({"azure_client_id": "x"}, {"kind": "aws"}, "it holds no key of kind aws, which is expected here"),
])
def test_wrong_secrets_are_refused(agent, secret, keys, over, text):
    secret.put(keys)
    credential = aws(agent, secret)
    credential["secret"].update(over)
    agent.configure(credential)
    done = agent.run("once")
    assert done.returncode != 0 and text in done.stderr, done.stderr
    assert "hunter2" not in done.stderr
