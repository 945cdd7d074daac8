# SPDX-License-Identifier: MIT
"""The clouds whose keys are rotated: the configuration, state and use of the published key of each."""
import base64
import json
import subprocess
import threading
import time
import urllib.parse

import botocore.session
import yaml
from botocore.exceptions import ClientError

from conftest import Mounted, eventually
from minting import ADMIN, CLOUD, IAM, call, keys_of

POOL = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"
MEMBER = "principal:" + POOL.rsplit("/providers", 1)[0] + "/subject/system:serviceaccount:default:demo"
PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
TENANT = "11111111-2222-3333-4444-555555555555"
ACCOUNT = "0123456789abcdef0123456789abcdef"  # of IBM Cloud
CR_TOKEN = "urn:ibm:params:oauth:grant-type:cr-token"
OWNER = "06666666-7777-8888-9999-aaaaaaaaaaaa"


def post(cloud, url, data, headers=None):
    """Status of the answer, whatever it is."""
    return cloud.client.ask(url, data.encode(), headers).status


def ask(cloud, url, data, headers=None, method=None):
    """The answer, which must be a good one; None for one without a body."""
    return json.loads(cloud.client.ask(url, data.encode(), headers, method).good() or "null")


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Kind:
    """The keys of one subject, number NUMBER of those that settings() makes, in one credential."""

    def __init__(self, number=0, credential=None):
        self.subject = self.subject_of(number)
        self.credential = credential or self.name

    def directory(self, agent):
        return agent.dir / self.credential

    def configured(self, agent, **mint):
        """Two credentials, the minted one and who may make it. Everything that takes minutes takes a second or two; None has
        the default."""
        quick = {"grace": "2s", "grace_most": "4s", "settle": "3s", "inactive": "2s", "verify_wait": "0s",
                 "verify_timeout": "20s", "keep_unknown": True, **mint}
        quick = {key: value for key, value in quick.items() if value is not None}
        return [{"name": self.credential, "mint": {self.name: self.mint(agent), "with": "admin-" + self.credential, **quick},
                 "publish": {"directory": str(self.directory(agent)),
                             "files": [self.publish, {"name": "creds.json", "format": "json"}]}},
                {"name": "admin-" + self.credential, **self.admin(agent)}]

    def published(self, agent):
        return (self.directory(agent) / "minted").read_text().split()[1]

    def works(self, agent, suffix=""):
        try:
            return self.use(agent, suffix) == 200
        except ClientError:
            return False


def iam(cloud):
    """What an operator does with access keys by hand."""
    session = botocore.session.Session()
    session.set_credentials(ADMIN["aws_access_key_id"], ADMIN["aws_secret_access_key"])
    return session.create_client("iam", region_name="us-east-1", endpoint_url=cloud.sts.rstrip("/") + "/iam",
                                 verify=cloud.ca)


class Amazon(Kind):
    name = "aws"
    create = "CreateAccessKey"
    requests = ["ListAccessKeys", "CreateAccessKey", "UpdateAccessKey", "DeleteAccessKey"]
    publish = {"name": "credentials", "format": "aws-credentials"}
    deactivates = True

    @staticmethod
    def subject_of(number):
        return f"robot-{number}"

    @classmethod
    def settings(cls, count, **_):
        return {**CLOUD, "iam": {**IAM, "users": [cls.subject_of(number) for number in range(count)]}}

    def admin(self, agent):
        directory = agent.dir / ("secret-" + self.credential)
        if not directory.exists():
            Mounted(directory).put(ADMIN)
        return {"secret": {"directory": str(directory), "pass_on": True}}

    def mint(self, agent):
        return {"user_name": self.subject, "regions": ["us-east-1", "eu-west-1"], "sts_endpoint": agent.cloud.sts,
                "endpoint": agent.cloud.sts.rstrip("/") + "/iam", "ca_file": agent.cloud.ca}

    def held(self, cloud):
        return {key: one["active"] for key, one in keys_of(cloud, self.subject).items()}

    def make(self, cloud):
        """What an operator makes by hand: its id."""
        return iam(cloud).create_access_key(UserName=self.subject)["AccessKey"]["AccessKeyId"]

    def delete(self, cloud, key):
        cloud.admin("/iam/key", {"access_key_id": key, "delete": True})

    def deactivate(self, cloud, key):
        iam(cloud).update_access_key(UserName=self.subject, AccessKeyId=key, Status="Inactive")

    def activate(self, cloud, key):
        iam(cloud).update_access_key(UserName=self.subject, AccessKeyId=key, Status="Active")

    def use(self, agent, suffix=""):
        return 200 if call(agent, suffix=suffix, out=self.directory(agent)).endswith(":user/" + self.subject) else 403


class Google(Kind):
    name = "gcp"
    create = "gcp.key.create"
    requests = ["gcp.key.list", "gcp.key.create", "gcp.key.disable", "gcp.key.delete"]
    publish = {"name": "key.json", "format": "gcp-service-account-key"}
    deactivates = True

    @staticmethod
    def subject_of(number):
        return f"robot-{number}@demo-project.iam.gserviceaccount.com"

    @classmethod
    def settings(cls, count, use_late_s=0, list_late_s=0):
        # Many of them are to be made at once, and a pair of its own for each takes too long.
        pair = {} if count < 10 else {"key_pair": subprocess.run(["openssl", "genrsa", "2048"], capture_output=True,
                                                                 text=True, check=True).stdout}
        return {"gcp": {"providers": [{"audience": POOL}], "service_accounts": [
            {"email": cls.subject_of(number), "members": [MEMBER, MEMBER.replace(":demo", ":other")],
             "key_delay_s": use_late_s, "list_delay_s": list_late_s, **pair}
            for number in range(count)]}}

    def admin(self, agent):
        return {"token": {"file": str(agent.cloud.volumes["gcp"] / "token")}, "exchange": {"gcp": {
            "audience": POOL, "sts_endpoint": agent.cloud.ready["gcp_url"] + "/v1/token", "ca_file": agent.cloud.ca}}}

    def mint(self, agent):
        return {"service_account": self.subject, "endpoint": agent.cloud.ready["gcp_url"],
                "sts_endpoint": agent.cloud.ready["gcp_url"] + "/oauth2/token", "ca_file": agent.cloud.ca}

    def held(self, cloud):
        return {key["id"]: not key.get("disabled") for key in cloud.admin("/minted").get(self.subject, [])}

    def use(self, agent, suffix=""):
        key = json.loads((self.directory(agent) / ("key.json" + suffix)).read_text())
        pem = agent.dir / f"pem{threading.get_ident()}"
        pem.write_text(key["private_key"])
        now = int(time.time())
        claims = {"iss": key["client_email"], "scope": PLATFORM, "aud": key["token_uri"], "iat": now, "exp": now + 600}
        head = {"alg": "RS256", "kid": key["private_key_id"]}
        text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(pem)], input=text.encode(),
                                   capture_output=True, check=True).stdout
        return post(agent.cloud, key["token_uri"], urllib.parse.urlencode({
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": text + "." + encoded(signature)}))

    def published(self, agent):
        return json.loads((self.directory(agent) / "key.json").read_text())["private_key_id"]

    def make(self, cloud, service_account="demo"):
        return self.by_hand(cloud, "keys", service_account)["name"].rsplit("/", 1)[1]

    def delete(self, cloud, key):
        self.by_hand(cloud, f"keys/{key}", method="DELETE")

    def deactivate(self, cloud, key):
        self.by_hand(cloud, f"keys/{key}:disable")

    def activate(self, cloud, key):
        self.by_hand(cloud, f"keys/{key}:enable")

    def by_hand(self, cloud, what, service_account="demo", method="POST"):
        """What another user with the rights of SERVICE_ACCOUNT does."""
        form = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "audience": POOL, "scope": PLATFORM,
                "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "subject_token": cloud.token(audience=[POOL], service_account=service_account)}
        token = ask(cloud, cloud.ready["gcp_url"] + "/v1/token", urllib.parse.urlencode(form))["access_token"]
        account = f"/v1/projects/demo-project/serviceAccounts/{self.subject}/"
        return ask(cloud, cloud.ready["gcp_url"] + account + what, "{}" if method == "POST" else "",
                   {"Authorization": "Bearer " + token, "Content-Type": "application/json"}, method)


class Azure(Kind):
    name = "azure"
    create = "graph.addPassword"
    requests = ["graph.application", "graph.addPassword", "azure.token", "graph.removePassword"]
    publish = {"name": "azure.env", "format": "azure-env"}
    deactivates = False

    @staticmethod
    def subject_of(number):
        return f"1{number:07}-7777-8888-9999-aaaaaaaaaaaa"

    @classmethod
    def settings(cls, count, use_late_s=0, list_late_s=0):
        return {"azure": {"tenants": [{"id": TENANT, "applications": [
            {"client_id": OWNER, "secrets": [{"value": "owner-secret"}]},
            *({"client_id": cls.subject_of(number), "owners": [OWNER], "secret_delay_s": use_late_s,
               "list_delay_s": list_late_s} for number in range(count))]}]}}

    def admin(self, agent):
        secret = agent.dir / "owner-secret"
        secret.write_text("owner-secret")
        return {"exchange": {"azure": {
            "tenant_id": TENANT, "client_id": OWNER, "client_secret_file": str(secret), "ca_file": agent.cloud.ca,
            "scopes": ["https://management.azure.com/.default", "https://graph.microsoft.com/.default"],
            "authority_host": agent.cloud.ready["azure_url"]}}}

    def mint(self, agent):
        return {"client_id": self.subject, "lifetime": "720h", "endpoint": agent.cloud.ready["graph_url"],
                "ca_file": agent.cloud.ca, "authority_host": agent.cloud.ready["azure_url"]}

    def held(self, cloud):
        return {secret["id"]: True for secret in cloud.admin("/minted").get(f"{TENANT}/{self.subject}", [])}

    def make(self, cloud):
        return self.by_hand(cloud, "addPassword", {"passwordCredential": {"displayName": "by hand"}})["keyId"]

    def delete(self, cloud, key):
        self.by_hand(cloud, "removePassword", {"keyId": key})

    def by_hand(self, cloud, what, data):
        """What the owner of the application does."""
        token = ask(cloud, f"{cloud.ready['azure_url']}/{TENANT}/oauth2/v2.0/token", urllib.parse.urlencode({
            "grant_type": "client_credentials", "client_id": OWNER, "client_secret": "owner-secret",
            "scope": "https://graph.microsoft.com/.default"}))["access_token"]
        return ask(cloud, f"{cloud.ready['graph_url']}/v1.0/applications(appId='{self.subject}')/{what}", json.dumps(data),
                   {"Authorization": "Bearer " + token, "Content-Type": "application/json"})

    def use(self, agent, suffix=""):
        got = dict(line.split("=", 1) for line in (self.directory(agent) / ("azure.env" + suffix)).read_text().splitlines())
        assert got["AZURE_CLIENT_ID"] == self.subject and "AZURE_FEDERATED_TOKEN_FILE" not in got
        url = f"{got['AZURE_AUTHORITY_HOST']}{got['AZURE_TENANT_ID']}/oauth2/v2.0/token"
        return post(agent.cloud, url, urllib.parse.urlencode({
            "grant_type": "client_credentials", "client_id": self.subject, "client_secret": got["AZURE_CLIENT_SECRET"],
            "scope": "https://vault.azure.net/.default"}))


class OpenStack(Kind):
    name = "openstack"
    create = "keystone.credential.create"
    requests = ["keystone.credential.list", "keystone.credential.create", "keystone.credential.delete"]
    publish = {"name": "clouds.yaml", "format": "clouds-yaml"}
    deactivates = False

    @staticmethod
    def subject_of(number):
        return f"robot-user-{number}"

    @classmethod
    def settings(cls, count, **_):
        subjects = [cls.subject_of(number) for number in range(count)]
        return {"keystone": {
            "users": [{"id": one, "name": one, "projects": [{"id": "demo-project", "name": "demo"}], "roles": ["member"]}
                      for one in subjects],
            "application_credentials": [{"id": "made-for-" + one, "name": "by-hand", "secret": "operator-secret",
                                         "user": one, "unrestricted": True} for one in subjects]}}

    def admin(self, agent):
        secret = agent.dir / "unrestricted"
        secret.write_text("operator-secret")
        return {"exchange": {"openstack": {
            "auth_url": agent.cloud.ready["keystone_url"], "application_credential_id": "made-for-" + self.subject,
            "application_credential_secret_file": str(secret), "ca_file": agent.cloud.ca, "region_name": "RegionOne"}}}

    def mint(self, agent):
        return {"ca_file": agent.cloud.ca, "roles": ["member"], "lifetime": "720h",
                "access_rules": [{"service": "compute", "path": "/v2.1/servers/**"},
                                 {"service": "image", "method": "POST", "path": "/v2/images"}]}

    def held(self, cloud):
        return {one["id"]: True for one in cloud.admin("/keystone")["application_credentials"]
                if one["user"] == self.subject and one["name"] != "by-hand"}

    def make(self, cloud):
        base = cloud.ready["keystone_url"]
        credential = {"id": "made-for-" + self.subject, "secret": "operator-secret"}
        body = {"auth": {"identity": {"methods": ["application_credential"], "application_credential": credential}}}
        headers = {"Content-Type": "application/json"}
        answer = cloud.client.ask(f"{base}/auth/tokens", json.dumps(body).encode(), headers)
        headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
        made = ask(cloud, f"{base}/users/{self.subject}/application_credentials",
                   json.dumps({"application_credential": {"name": f"backup-{time.time_ns()}"}}), headers)
        return made["application_credential"]["id"]

    def delete(self, cloud, key):
        cloud.admin("/keystone/application_credential", {"id": key, "delete": True})

    def auth(self, agent, suffix=""):
        return yaml.safe_load((self.directory(agent) / ("clouds.yaml" + suffix)).read_text())["clouds"]["openstack"]["auth"]

    def published(self, agent):
        return self.auth(agent)["application_credential_id"]

    def use(self, agent, suffix=""):
        auth = self.auth(agent, suffix)
        credential = {"id": auth["application_credential_id"], "secret": auth["application_credential_secret"]}
        body = {"auth": {"identity": {"methods": ["application_credential"], "application_credential": credential}}}
        status = post(agent.cloud, auth["auth_url"] + "/auth/tokens", json.dumps(body), {"Content-Type": "application/json"})
        return 200 if status == 201 else status


class IBM(Kind):
    name = "ibm"
    create = "ibm.key.create"
    requests = ["ibm.key.list", "ibm.key.create", "ibm.token", "ibm.key.disable", "ibm.key.delete"]
    publish = {"name": "ibm.env", "format": "template", "template":
               "IBMCLOUD_AUTHTYPE=iam\nIBMCLOUD_APIKEY=${ibm_api_key}\nIBM_API_KEY_ID=${ibm_api_key_id}"}
    deactivates = True

    @staticmethod
    def subject_of(number):
        return f"iam-ServiceId-0{number:07}-7777-8888-9999-aaaaaaaaaaaa"

    @classmethod
    def settings(cls, count, use_late_s=0, list_late_s=0):
        """Lists have pages of one key."""
        return {"ibm": {"account_id": ACCOUNT, "page_limit": 1, "identities": [
            {"iam_id": cls.subject_of(number), "admins": ["iam-Profile-rotator"], "key_delay_s": use_late_s,
             "list_delay_s": list_late_s} for number in range(count)],
            "profiles": [{"id": "Profile-rotator", "subject": "system:serviceaccount:default:demo", "audience": ["oauth"]}]}}

    def admin(self, agent):
        return {"token": {"file": str(agent.cloud.volumes["oauth"] / "token")}, "exchange": {"oauth": {
            "token_url": agent.cloud.ready["ibm_url"] + "/identity/token", "grant": "custom", "grant_type": CR_TOKEN,
            "token_parameter": "cr_token", "parameters": {"profile_id": "Profile-rotator"}, "ca_file": agent.cloud.ca}}}

    def mint(self, agent):
        return {"iam_id": self.subject, "account_id": ACCOUNT, "endpoint": agent.cloud.ready["ibm_url"],
                "ca_file": agent.cloud.ca}

    def held(self, cloud):
        return {key["id"]: not key.get("disabled") for key in cloud.admin("/minted").get(self.subject, [])}

    def make(self, cloud):
        return self.by_hand(cloud, "", {"name": "by hand", "iam_id": self.subject, "account_id": ACCOUNT})["id"]

    def delete(self, cloud, key):
        self.by_hand(cloud, "/" + key, method="DELETE")

    def deactivate(self, cloud, key):
        self.by_hand(cloud, f"/{key}/disable")

    def activate(self, cloud, key):
        self.by_hand(cloud, f"/{key}/enable")

    def by_hand(self, cloud, what, data=None, method="POST"):
        """What another client with the same trusted profile does."""
        token = ask(cloud, cloud.ready["ibm_url"] + "/identity/token", urllib.parse.urlencode({
            "grant_type": CR_TOKEN, "profile_id": "Profile-rotator", "cr_token": cloud.token(audience=["oauth"])}))
        return ask(cloud, cloud.ready["ibm_url"] + "/v1/apikeys" + what, json.dumps(data) if data else "",
                   {"Authorization": "Bearer " + token["access_token"], "Content-Type": "application/json"}, method)

    def use(self, agent, suffix=""):
        got = dict(line.split("=", 1) for line in (self.directory(agent) / ("ibm.env" + suffix)).read_text().splitlines())
        return post(agent.cloud, agent.cloud.ready["ibm_url"] + "/identity/token", urllib.parse.urlencode({
            "grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": got["IBMCLOUD_APIKEY"]}))


KINDS = [Google(), Azure(), OpenStack(), IBM()]  # that one agent has to do with at the same time


def all_settings(count, **late):
    return {key: value for kind in KINDS for key, value in kind.settings(count, **late).items()}


def mint_of(agent, kind):
    return agent.status(kind.name).get("mint") or {}


def wait_all(agent, generation):
    """Until every cloud has GENERATION and its rotation is over."""
    for kind in KINDS:
        eventually(lambda: agent.generation(kind.name) >= generation and mint_of(agent, kind).get("step") == "rest",
                   lambda: f"{kind.name}: {mint_of(agent, kind)}\n{agent.log}")
        assert mint_of(agent, kind)["state"] == "UPDATE_COMPLETE", agent.log


def clean_up(agent, kind):
    """What an operator does with a key that was put aside: deletes it, once it is deactivated. Its id."""
    path = agent.state / f"{kind.credential}+mint.json"

    def aside():
        return [one["id"] for one in json.loads(path.read_text())["aside"] if not one["ours"]]

    eventually(aside, lambda: f"{mint_of(agent, kind)}\n{agent.log}")
    key, = aside()
    assert kind.held(agent.cloud)[key] is False
    kind.delete(agent.cloud, key)
    return key


def held(agent):
    return {kind.name: set(kind.held(agent.cloud)) for kind in KINDS}


def only_published(agent, before):
    """In every cloud there is what there was, and the one key that is published, which works."""
    now = held(agent)
    for kind in KINDS:
        assert now[kind.name] - before[kind.name] == {kind.published(agent)}, (kind.name, agent.log)
        assert kind.use(agent) == 200
