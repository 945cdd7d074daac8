# SPDX-License-Identifier: MIT
"""Rotation of long-lived keys in the other clouds: keys of Google service accounts, client secrets of Azure applications, application
credentials of OpenStack users. New ones are known late, and answers get lost, as in the real ones."""
import base64
import json
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
import yaml

from conftest import LocalCloud, eventually

POOL = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"
MEMBER = "principal:" + POOL.rsplit("/providers", 1)[0] + "/subject/system:serviceaccount:default:demo"
PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
ROBOT = "robot@demo-project.iam.gserviceaccount.com"
TENANT = "11111111-2222-3333-4444-555555555555"
OWNER, APP = ("%d6666666-7777-8888-9999-aaaaaaaaaaaa" % n for n in range(2))
USE_LATE_S = 3  # longer than all tries take that would succeed
LIST_LATE_S = 0.7
SETTINGS = {
    "gcp": {"providers": [{"audience": POOL}],
            "service_accounts": [{"email": ROBOT, "members": [MEMBER], "key_delay_s": USE_LATE_S,
                              "list_delay_s": LIST_LATE_S}]},
    "azure": {"tenants": [{"id": TENANT, "applications": [
        {"client_id": OWNER, "secrets": [{"value": "owner-secret"}]},
        {"client_id": APP, "owners": [OWNER], "secret_delay_s": USE_LATE_S, "list_delay_s": LIST_LATE_S}]}]}}


def post(cloud, url, data, headers=None):
    """Status and headers of the answer, whatever it is."""
    request = urllib.request.Request(url, data=data.encode(), headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=10, context=ssl.create_default_context(cafile=cloud.ca)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Google:
    name = "gcp"
    create = "gcp.key.create"
    publish = {"name": "key.json", "format": "gcp-service-account-key"}

    @staticmethod
    def admin(agent):
        return {"token": {"file": str(agent.cloud.volumes["gcp"] / "token")},
                "exchange": {"gcp": {"audience": POOL, "sts_endpoint": agent.cloud.ready["gcp_url"] + "/v1/token", "ca_file": agent.cloud.ca}}}

    @staticmethod
    def mint(agent):
        return {"service_account": ROBOT, "endpoint": agent.cloud.ready["gcp_url"], "ca_file": agent.cloud.ca}

    @staticmethod
    def held(cloud):
        return [key["id"] for key in cloud.admin("/minted").get(ROBOT, [])]

    @staticmethod
    def published(agent):
        return json.loads((agent.dir / "gcp" / "key.json").read_text())["private_key_id"]

    @staticmethod
    def use(agent, suffix=""):
        key = json.loads((agent.dir / "gcp" / ("key.json" + suffix)).read_text())
        pem = agent.dir / f"pem{threading.get_ident()}"
        pem.write_text(key["private_key"])
        now = int(time.time())
        claims = {"iss": key["client_email"], "scope": PLATFORM, "aud": key["token_uri"], "iat": now, "exp": now + 600}
        text = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": key["private_key_id"]}, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(pem)], input=text.encode(), capture_output=True,
                                   check=True).stdout
        return post(agent.cloud, key["token_uri"], urllib.parse.urlencode({
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": text + "." + encoded(signature)}))


class Azure:
    name = "azure"
    create = "graph.addPassword"
    publish = {"name": "azure.env", "format": "azure-env"}

    @staticmethod
    def admin(agent):
        secret = agent.dir / "owner-secret"
        secret.write_text("owner-secret")
        return {"exchange": {"azure": {
            "tenant_id": TENANT, "client_id": OWNER, "client_secret_file": str(secret), "ca_file": agent.cloud.ca,
            "scopes": ["https://management.azure.com/.default", "https://graph.microsoft.com/.default"],
            "authority_host": agent.cloud.ready["azure_url"]}}}

    @staticmethod
    def mint(agent):
        return {"client_id": APP, "lifetime": "720h", "endpoint": agent.cloud.ready["graph_url"], "ca_file": agent.cloud.ca,
                "authority_host": agent.cloud.ready["azure_url"]}

    @staticmethod
    def held(cloud):
        return [secret["id"] for secret in cloud.admin("/minted").get(f"{TENANT}/{APP}", [])]

    @staticmethod
    def variables(agent, suffix=""):
        return dict(line.split("=", 1) for line in (agent.dir / "azure" / ("azure.env" + suffix)).read_text().splitlines())

    @staticmethod
    def published(agent):
        return (agent.dir / "azure" / "minted").read_text().split()[1]

    @classmethod
    def use(cls, agent, suffix=""):
        got = cls.variables(agent, suffix)
        assert got["AZURE_CLIENT_ID"] == APP and "AZURE_FEDERATED_TOKEN_FILE" not in got
        return post(agent.cloud, f"{got['AZURE_AUTHORITY_HOST']}{got['AZURE_TENANT_ID']}/oauth2/v2.0/token", urllib.parse.urlencode({
            "grant_type": "client_credentials", "client_id": APP, "client_secret": got["AZURE_CLIENT_SECRET"],
            "scope": "https://vault.azure.net/.default"}))


class OpenStack:
    name = "openstack"
    create = "keystone.credential.create"
    publish = {"name": "clouds.yaml", "format": "clouds-yaml"}

    @staticmethod
    def admin(agent):
        secret = agent.dir / "unrestricted"
        secret.write_text("demo-unrestricted-secret")
        return {"exchange": {"openstack": {
            "auth_url": agent.cloud.ready["keystone_url"], "application_credential_id": "demo-unrestricted-credential",
            "application_credential_secret_file": str(secret), "ca_file": agent.cloud.ca, "region_name": "RegionOne"}}}

    @staticmethod
    def mint(agent):
        return {"ca_file": agent.cloud.ca, "roles": ["member"], "lifetime": "720h"}

    @staticmethod
    def held(cloud):
        return [one["id"] for one in cloud.admin("/keystone")["application_credentials"] if not one["id"].startswith("demo-")]

    @staticmethod
    def auth(agent, suffix=""):
        return yaml.safe_load((agent.dir / "openstack" / ("clouds.yaml" + suffix)).read_text())["clouds"]["openstack"]["auth"]

    @classmethod
    def published(cls, agent):
        return cls.auth(agent)["application_credential_id"]

    @classmethod
    def use(cls, agent, suffix=""):
        auth = cls.auth(agent, suffix)
        credential = {"id": auth["application_credential_id"], "secret": auth["application_credential_secret"]}
        status = post(agent.cloud, auth["auth_url"] + "/auth/tokens", json.dumps({"auth": {"identity": {
            "methods": ["application_credential"], "application_credential": credential}}}), {"Content-Type": "application/json"})
        return 200 if status == 201 else status


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud", config=SETTINGS)
    yield made
    made.stop()


KINDS = [Google, Azure, OpenStack]


@pytest.fixture
def agent(agent_factory, shared):
    """One that rotates in all three clouds, at the same time."""
    shared.clear_faults()
    made = agent_factory(shared)
    credentials = []
    for kind in KINDS:
        mint = {kind.name: kind.mint(made), "with": "admin-" + kind.name, "grace": "2s", "grace_most": "4s", "settle": "3s",
                "inactive": "2s", "verify_wait": "0s", "verify_timeout": "20s"}
        publish = {"directory": str(made.dir / kind.name), "files": [kind.publish, {"name": "creds.json", "format": "json"}]}
        credentials += [{"name": kind.name, "mint": mint, "publish": publish}, {"name": "admin-" + kind.name, **kind.admin(made)}]
    return made.configure(*credentials)


class Consumer(threading.Thread):
    """Uses what is published all the time."""

    def __init__(self, agent, kind):
        super().__init__()
        self.agent, self.kind = agent, kind
        self.answers = []
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            self.answers.append(self.kind.use(self.agent))
            self.over.wait(0.05)

    def end(self):
        self.over.set()
        self.join()
        assert self.answers and set(self.answers) == {200}, (self.kind.name, set(self.answers))


def mint_of(agent, kind):
    return agent.status(kind.name).get("mint") or {}


def wait_complete(agent, generation, limit_s=60):
    """Until every cloud has GENERATION and its rotation is over."""
    for kind in KINDS:
        eventually(lambda: agent.generation(kind.name) >= generation and mint_of(agent, kind).get("step") == "rest",
                   lambda: f"{kind.name}: {mint_of(agent, kind)}\n{agent.log}", limit_s)
        assert mint_of(agent, kind)["state"] == "UPDATE_COMPLETE", agent.log


def held(agent):
    return {kind.name: set(kind.held(agent.cloud)) for kind in KINDS}


def only_published(agent, before):
    """In every cloud there is what there was, and the one key that is published, which works."""
    now = held(agent)
    for kind in KINDS:
        assert now[kind.name] - before[kind.name] == {kind.published(agent)}, (kind.name, agent.log)
        assert kind.use(agent) == 200


def test_one_takes_the_place_of_another(agent):
    before = held(agent)
    agent.start()
    wait_complete(agent, 1)
    only_published(agent, before)
    first = {kind.name: kind.published(agent) for kind in KINDS}
    consumers = [Consumer(agent, kind) for kind in KINDS]
    for consumer in consumers:
        consumer.start()
    try:
        for kind in KINDS:
            done = agent.run("rotate", kind.name)
            assert done.returncode == 0, done.stderr + agent.log
        wait_complete(agent, 2)
    finally:
        for consumer in consumers:
            consumer.over.set()
    for consumer in consumers:
        consumer.end()
    only_published(agent, before)
    for kind in KINDS:
        assert kind.published(agent) != first[kind.name]
        eventually(lambda: kind.use(agent, ".old") != 200, f"the end of the old one of {kind.name}")
        text = (agent.dir / kind.name / "creds.json").read_text() + agent.log
        assert "PRIVATE KEY" not in text and "SECRET" not in text and "credential_secret" not in text


def test_a_lost_answer_leaves_nothing_behind(agent):
    before = held(agent)
    for kind in KINDS:
        agent.cloud.fault(kind="truncate", bytes=40, match={"action": kind.create})
    agent.start()
    wait_complete(agent, 1)
    only_published(agent, before)
    assert "removed the key" in agent.log
