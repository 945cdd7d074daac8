# SPDX-License-Identifier: MIT
"""The SDKs themselves as consumers: each reads from credfresh's endpoint or plugin, in one process, through five rotations
and through the death of the agent, and never fails; and each is refused what is not its own.

A consumer uses its credential five times a second, at a service of the local cloud that takes none but valid ones, and says
each time which one it used. The SDKs keep what has long to live, so sessions are made that end just after the SDK's own
window begins: then it soon asks before every use. The windows are 15 minutes (botocore; until 10 minutes before the end it
carries on with what it has, if it was not asked at instance metadata), 225 s (google-auth) and 300 s (JavaScript).
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import threading

import pytest

from conftest import CREDFRESH, LocalCloud, eventually, free_port

HERE = pathlib.Path(__file__).resolve().parent
DIR = pathlib.Path(os.environ.get("CFR_CONSUMERS", "/nowhere"))
NOBODY = pwd.getpwnam("nobody")
ROTATIONS = 5
LIMIT_S = 60.0
ACCOUNT = "arn:aws:iam::123456789012:role/"
POOL = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/"
TENANT = "11111111-2222-3333-4444-555555555555"
CLIENT = "66666666-7777-8888-9999-aaaaaaaaaaaa"
OTHER_CLIENT = "66666666-7777-8888-9999-bbbbbbbbbbbb"
VAULT = "https://vault.azure.net"
# Seconds that a session lives in the rotations, and when the agent dies: that long from the SDK's window, it is kept.
SOON, LATER = 1, 25
WINDOW_S = {"botocore": 900, "js": 300, "python": 225}


# ---- what there is ----

def debian13():
    """How the Python of Debian 13 is called: (argv, environment)."""
    root = DIR / "debian13/root"
    loader = next(iter(root.glob("usr/lib*/ld-linux*.so.*")), None)
    return ([str(loader), "--library-path", ":".join(str(p) for p in root.glob("usr/lib/*-linux-gnu")),
             str(next(root.glob("usr/bin/python3.1?")))], {"PYTHONHOME": str(root / "usr")}) if loader else None


def missing(family):
    if family == "javascript":
        if shutil.which("node") is None:
            return "there is no node"
        return None if (DIR / "js/node_modules").is_dir() else "test/real/consumers-setup.sh did not fetch the modules"
    if family == "debian13":
        return None if debian13() else "test/real/consumers-setup.sh did not fetch Debian 13's packages"
    if subprocess.run(["/usr/bin/python3", "-c", "import botocore"], capture_output=True).returncode != 0:
        return "there is no python3-botocore"
    return None


@pytest.mark.parametrize("family", ["debian12", "debian13", "javascript"])
def test_all_consumers_are_here(family):
    """Those that are not are left out of the tests below."""
    why = missing(family)
    if why is not None:
        end_test = pytest.fail if os.environ.get("CFR_REQUIRE_REAL") == "1" else pytest.skip
        end_test(f"without the consumers of {family}: {why}")


def here(family):
    return missing(family) is None


def program(family, ca):
    """How a family's program is called: (argv, environment)."""
    if family == "javascript":
        return ["node", str(HERE / "js/consume.js")], {
            "NODE_PATH": str(DIR / "js/node_modules"), "NODE_EXTRA_CA_CERTS": ca, "NODE_NO_WARNINGS": "1"}
    argv, env = (["/usr/bin/python3"], {}) if family == "debian12" else debian13()
    return [*argv, str(HERE / "consumers/consume.py")], {**env, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}


def is_for_others(family):
    """True if the family's program can be run as another user, who may not have access to its directory."""
    paths = [path for path in program(family, "")[0] if path.startswith("/") and ":" not in path]
    if family == "javascript":
        paths.append(str(DIR / "js/node_modules"))
    return os.geteuid() == 0 and all(
        subprocess.run(["/usr/bin/test", "-r", path], user=NOBODY.pw_uid, group=NOBODY.pw_gid, cwd="/").returncode == 0
        for path in paths)


def public(where, cloud):
    """The CA's certificate where every user can read it."""
    shutil.copy(cloud.ca, where / "ca.pem")
    return str(where / "ca.pem")


# ---- a consumer ----

class Consumer:
    """A process that goes on using its credential, and all that it said."""

    def __init__(self, name, family, kind, env, user=None, **options):
        self.name = name
        argv, more = program(family, options["ca"])
        base = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen([*argv, kind, json.dumps(options)], stdin=subprocess.PIPE, cwd="/", text=True, user=user,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**base, **more, **env})
        self.said = []
        self.noise = []
        self.readers = [threading.Thread(target=self.read), threading.Thread(target=self.listen)]
        for reader in self.readers:
            reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    def listen(self):
        for line in self.process.stderr:
            self.noise.append(line)

    def __str__(self):
        return f"{self.name} (status {self.process.poll()}): {self.said[-2:]} {''.join(self.noise[-5:])}"

    @property
    def failures(self):
        return [line["error"] for line in self.said if "error" in line]

    @property
    def used(self):
        """The credentials that it used, each once, in order."""
        return list(dict.fromkeys(line["id"] for line in self.said if "id" in line))

    def uses(self, credential):
        return bool(self.said) and self.said[-1].get("id") == credential

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            for reader in self.readers:
                reader.join()


@pytest.fixture
def consumers():
    made = []
    yield made
    end(made)


def end(consumers):
    for c in consumers:
        c.process.stdin.close()
    for c in consumers:
        c.end()


def once(*argv, **options):
    """What a consumer of its own says that tries just once."""
    c = Consumer("once", *argv, once=True, **options)
    c.process.wait(60)
    c.end()
    assert len(c.said) == 1, c
    return c.said[0]


def all_do(consumers, condition, what):
    for c in consumers:
        eventually(lambda: condition(c) or c.failures or c.process.poll() is not None, lambda: f"{what}: {c}", LIMIT_S)
        assert condition(c) and not c.failures, f"{what}: {c}, failed: {c.failures}"


def go_on(consumers, times=3):
    """Waits until each has used its credential that often again."""
    before = {c: len(c.said) for c in consumers}
    all_do(consumers, lambda c: len(c.said) >= before[c] + times, "goes on")


# ---- rotations, and the agent's death ----

class Job:
    """Consumers of one agent. WHOSE tells each consumer's credential; LIVES(extra_s) makes the cloud's next sessions end that
    long after their SDK's window begins; CURRENT(name) is what a consumer should use; TURN(name) rotates."""

    def __init__(self, agent, whose, lives, current, turn=None):
        self.agent = agent
        self.whose = whose
        self.lives = lives
        self.current = current
        self.turn = turn or self.rotate

    def rotate(self, name):
        assert self.agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202

    def now(self, name):
        try:
            return self.current(name)
        except (OSError, KeyError, TypeError):
            return None

    def renew(self, consumers):
        """One rotation that every consumer comes to use."""
        self.get_new(self.whose.values())
        all_do(consumers, lambda c: c.uses(self.now(self.whose[c])), "comes to use what is new")

    def get_new(self, names):
        before = {name: self.now(name) for name in names}
        for name in before:
            self.turn(name)
        for name, old in before.items():
            eventually(lambda: self.now(name) not in (None, old), lambda: f"another {name}\n{self.agent.log}")

    def die(self, consumers):
        """The agent is killed, is not there, is there without a credential, and is there again."""
        self.agent.kill()
        go_on(consumers)
        self.agent.cloud.admin("/outage", {"on": True})
        self.agent.start()
        go_on(consumers)
        kept = {name for name in set(self.whose.values()) if self.now(name) is not None}
        assert kept < set(self.whose.values())
        self.agent.cloud.admin("/outage", {"on": False})
        self.get_new(kept)
        for name in set(self.whose.values()):
            eventually(lambda: self.now(name), lambda: f"{name} after the restart\n{self.agent.log}")
        all_do(consumers, lambda c: c.uses(self.now(self.whose[c])), "comes to use what the new agent has")

    def run(self, consumers):
        all_do(consumers, lambda c: c.used, "begins")
        for _ in range(ROTATIONS):
            self.renew(consumers)
        self.agent.cloud.clear_faults()
        self.lives(LATER)
        self.renew(consumers)
        self.die(consumers)
        end(consumers)
        for c in consumers:
            assert c.process.returncode == 0 and not c.failures, c
            assert len(c.used) >= ROTATIONS + 3, c


@pytest.fixture
def open_directory():
    """One that every user can enter, unlike pytest's own."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="cfr-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def token_of(agent, name, *fields):
    status, doc = agent.request("GET", f"/v1/token/{name}")
    return next(doc["fields"][f] for f in fields if f in doc["fields"]) if status == 200 else None


def digest(text):
    return text and hashlib.sha256(text.encode()).hexdigest()[:16]


# ---- AWS ----

class Aws:
    """Credentials for two windows, each behind a container's path and its own instance metadata."""

    def __init__(self, cloud, agent, directory):
        self.cloud, self.agent, self.dir = cloud, agent, directory
        self.tokens = directory / "tokens.sock"
        self.program = directory / "credfresh"
        shutil.copy(CREDFRESH, self.program)
        self.at = {name: f"127.0.0.1:{free_port()}" for name in ("container", "botocore", "js")}
        self.auth = {name: directory / f"{name}.auth" for name in ("botocore", "js")}
        aws = {"region": "us-east-1", "endpoint": cloud.sts, "ca_file": cloud.ca}
        agent.configure(
            *(agent.credential(name, publish=None, exchange={"aws": {**aws, "role_arn": ACCOUNT + name}}, allow={})
              for name in self.auth),
            token_socket=str(self.tokens),
            endpoints=[{"listen": self.at["container"], "aws_container": [
                {"credential": name, "authorization": {"file": str(path)}} for name, path in self.auth.items()]}]
            + [{"listen": self.at[name], "ec2_imds": {"credential": name, "region": "us-east-1"}} for name in self.auth])
        self.lives(SOON)
        agent.start()
        for name in self.auth:
            agent.wait_state("fresh", name)

    def lives(self, extra_s):
        for name in self.auth:
            life_s = WINDOW_S[name] + extra_s
            self.cloud.fault(kind="short_life", s=life_s, count=-1, match={"role": ACCOUNT + name})

    def current(self, name):
        return token_of(self.agent, name, "aws_access_key_id")

    def options(self, name):
        return {"sts": self.cloud.sts, "ca": self.cloud.ca, "uri": self.uri(name), "file": str(self.auth[name]),
                "profile": name}

    def uri(self, name):
        return f"http://{self.at['container']}/aws/{name}"

    def container(self, name, auth=None, file=True):
        auth = auth or self.auth[name]
        proof = {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(auth)} if file else {
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": auth.read_text()}
        return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": self.uri(name), **proof}

    def imds(self, name):
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{self.at[name]}", "AWS_METADATA_SERVICE_NUM_ATTEMPTS": "5",
                "AWS_METADATA_SERVICE_TIMEOUT": "5"}

    def plugin(self, name):
        path = self.dir / f"{name}.config"
        path.write_text(f"[profile {name}]\nregion = us-east-1\n"
                        f"credential_process = {self.program} get aws {name} -s {self.tokens}\n")
        return {"AWS_CONFIG_FILE": str(path), "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_PROFILE": name}


@pytest.fixture
def aws(tmp_path, agent_factory, open_directory):
    trust = [{"subject": "system:serviceaccount:default:demo"}]
    cloud = LocalCloud(tmp_path / "cloud", config={"roles": [
        {"arn": ACCOUNT + name, "trust": trust} for name in ("botocore", "js")]})
    yield Aws(cloud, agent_factory(cloud), open_directory)
    cloud.stop()


def test_aws(aws, consumers):
    whose = {}

    def begin(what, name, family, kind, env):
        if here(family):
            consumers.append(Consumer(f"{family} {what}", family, kind, env, **aws.options(name)))
            whose[consumers[-1]] = name

    for family in ("debian12", "debian13"):
        begin("container", "botocore", family, "botocore", aws.container("botocore", file=family == "debian13"))
        begin("imds", "botocore", family, "botocore", aws.imds("botocore"))
        begin("process", "botocore", family, "botocore", aws.plugin("botocore"))
    begin("container", "js", "javascript", "aws-container", aws.container("js", file=False))
    begin("http", "js", "javascript", "aws-http", {})
    begin("imds", "js", "javascript", "aws-imds", aws.imds("js"))
    begin("process", "js", "javascript", "aws-process", aws.plugin("js"))
    Job(aws.agent, whose, aws.lives, aws.current).run(consumers)
    uses = aws.cloud.exchanges("GetCallerIdentity")
    assert uses and all(use["status"] == 200 for use in uses)
    for c in consumers:
        assert {line["identity"].split("/")[1] for line in c.said} == {whose[c]}


def test_aws_refuses(aws):
    wrong = aws.dir / "wrong.auth"
    wrong.write_text("wrong")
    calls, denied = [], {}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        def begin(family, *argv, **more):
            if here(family):
                calls.append(pool.submit(once, family, *argv, **more))

        begin("debian12", "botocore", aws.container("botocore", aws.auth["js"], False), **aws.options("botocore"))
        begin("debian13", "botocore", aws.container("botocore", wrong), **aws.options("botocore"))
        for auth in (wrong, aws.auth["botocore"]):
            begin("javascript", "aws-container", aws.container("js", auth, False), **aws.options("js"))
            begin("javascript", "aws-http", {}, **{**aws.options("js"), "file": str(auth)})
        for family, kind, name in (("debian12", "botocore", "botocore"), ("javascript", "aws-process", "js")):
            if here(family) and is_for_others(family):
                options = {**aws.options(name), "ca": public(aws.dir, aws.cloud)}
                denied[family] = pool.submit(once, family, kind, aws.plugin(name), user=NOBODY.pw_uid, **options)
                assert "id" in once(family, kind, aws.plugin(name), **options)
    for call in calls:
        assert "error" in call.result(), call.result()
    for call in denied.values():
        assert "Error when retrieving" in call.result()["error"] or "Command failed" in call.result()["error"], call.result()
    assert all(use["status"] == 200 for use in aws.cloud.exchanges("GetCallerIdentity"))


@pytest.mark.skipif(not os.access("/usr/bin/aws", os.X_OK), reason="there is no aws (package awscli)")
def test_aws_cli(aws):
    """A process for each call: each uses what is current then, and one that is under way outlives the agent's restart."""
    base = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "AWS_DEFAULT_REGION": "us-east-1", "AWS_CA_BUNDLE": aws.cloud.ca,
            "LC_ALL": "C.UTF-8"}
    ways = [aws.container("botocore", file=False), aws.plugin("botocore")]

    command = ["/usr/bin/aws", "sts", "get-caller-identity", "--endpoint-url", aws.cloud.sts, "--output", "json", "--debug"]

    def begin():
        return [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**base, **env})
                for env in ways]

    def finish(calls):
        for call in calls:
            out, said = call.communicate(timeout=60)
            assert call.returncode == 0 and json.loads(out)["Arn"].split("/")[1] == "botocore", said[-3000:]
            used = set(re.findall(r"Credential=(ASIA\w+)/", said))
            assert used == {aws.current("botocore")}

    finish(begin())
    for _ in range(ROTATIONS):
        before = aws.current("botocore")
        assert aws.agent.run("rotate", "botocore").returncode == 0
        eventually(lambda: aws.current("botocore") not in (None, before))
        finish(begin())
    aws.agent.kill()
    calls = begin()
    aws.agent.start()
    finish(calls)
    denied = subprocess.run(command[:-1], capture_output=True, text=True, timeout=60,
                            env={**base, **aws.container("botocore", aws.auth["js"], file=False)})
    assert denied.returncode != 0 and "403" in denied.stderr, denied


# ---- Google ----

class Google:
    """An account for each SDK's window on a metadata server of its own, and the token that an executable gives."""

    def __init__(self, cloud, agent, directory):
        self.cloud, self.agent, self.dir = cloud, agent, directory
        self.whoami = cloud.ready["gcp_url"] + "/whoami"
        self.at = {name: f"127.0.0.1:{free_port()}" for name in ("python", "js")}
        self.tokens = directory / "tokens.sock"
        self.program = directory / "credfresh"
        shutil.copy(CREDFRESH, self.program)
        url = cloud.ready["gcp_url"]
        gcp = {"audience": POOL + "demo", "sts_endpoint": url + "/v1/token", "iam_endpoint": url, "ca_file": cloud.ca}
        token = {"file": str(cloud.volumes["gcp"] / "token")}
        agent.configure(
            *(agent.credential(name, publish=None, token=token, exchange={"gcp": {**gcp, "service_account": self.email(name)}})
              for name in self.at),
            agent.credential("subject", token=token, exchange=None, allow={},
                             publish={"file": {"path": str(agent.dir / "subject"), "format": "token"}}),
            token_socket=str(self.tokens),
            endpoints=[{"listen": at, "gce_metadata": {"project_id": "demo-project", "accounts": [{"credential": name}]}}
                       for name, at in self.at.items()])
        self.lives(SOON)
        agent.start()
        for name in (*self.at, "subject"):
            agent.wait_state("fresh", name)

    @staticmethod
    def email(name):
        return f"{name}@demo-project.iam.gserviceaccount.com"

    def lives(self, extra_s):
        for name in self.at:
            self.cloud.fault(kind="short_life", s=WINDOW_S[name] + extra_s, count=-1, match={"role": self.email(name)})
        self.cloud.fault(kind="short_life", s=WINDOW_S["python"] + extra_s, count=-1, match={"role": POOL + "executable"})

    def current(self, name):
        return digest(token_of(self.agent, name, "gcp_access_token", "access_token", "token"))

    def turn(self, name):
        if name == "subject":
            self.cloud.admin("/volume/gcp/renew", {})
        else:
            assert self.agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202

    def env(self, name):
        return {variable: self.at[name] for variable in ("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT")}

    def options(self):
        return {"ca": self.cloud.ca, "whoami": self.whoami}

    def executable(self):
        path = self.dir / "external.json"
        path.write_text(json.dumps({
            "type": "external_account", "audience": POOL + "executable", "token_url": self.cloud.ready["gcp_url"] + "/v1/token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "universe_domain": "googleapis.com",
            "credential_source": {"executable": {"command": f"{self.program} get gcp subject -s {self.tokens}",
                                                 "timeout_millis": 30000}}}))
        return {"file": str(path)}


@pytest.fixture
def google(tmp_path, agent_factory, open_directory):
    cloud = LocalCloud(tmp_path / "cloud", config={"gcp": {
        "providers": [{"audience": POOL + "demo"},
                      {"audience": POOL + "executable", "allowed_audiences": ["https:" + POOL + "demo", POOL + "demo"]}],
        "service_accounts": [{"email": Google.email(name), "members": ["principal://*"]} for name in ("python", "js")]}})
    yield Google(cloud, agent_factory(cloud), open_directory)
    cloud.stop()


EXECUTABLE = {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}


def test_google(google, consumers):
    whose = {}

    def begin(what, name, family, kind, env, **more):
        if here(family):
            consumers.append(Consumer(f"{family} {what}", family, kind, env, **google.options(), **more))
            whose[consumers[-1]] = name

    begin("metadata", "python", "debian13", "google", google.env("python"))
    begin("executable", "subject", "debian13", "google-executable", EXECUTABLE, **google.executable())
    begin("metadata", "js", "javascript", "google", google.env("js"))
    if not consumers:
        pytest.skip("none of Google's libraries is here")
    Job(google.agent, whose, google.lives, google.current, google.turn).run(consumers)
    uses = google.cloud.exchanges("gcp.whoami")
    assert uses and all(use["status"] == 200 for use in uses)


def test_google_refuses(google):
    if here("debian13"):
        said = once("debian13", "google", google.env("python"), **google.options(), account=google.email("js"))
        assert "404" in said["error"], said
        if is_for_others("debian13"):
            options = {**google.options(), "ca": public(google.dir, google.cloud), **google.executable()}
            said = once("debian13", "google-executable", EXECUTABLE, user=NOBODY.pw_uid, **options)
            assert "Executable returned unsuccessful response" in said["error"], said
            assert "id" in once("debian13", "google-executable", EXECUTABLE, **options)
    if here("javascript"):
        said = once("javascript", "google", google.env("js"), **google.options(), account=google.email("python"))
        assert "404" in said["error"] or "not found" in said["error"].lower(), said
    assert all(use["status"] == 200 for use in google.cloud.exchanges("gcp.whoami"))


# ---- Azure ----

class Azure:
    def __init__(self, cloud, agent):
        self.cloud, self.agent = cloud, agent
        self.at = f"127.0.0.1:{free_port()}"
        self.header = agent.dir / "header"
        agent.configure(agent.credential("azure", publish=None, token={"file": str(cloud.volumes["azure"] / "token")}, exchange={
            "azure": {"tenant_id": TENANT, "client_id": CLIENT, "scopes": [VAULT + "/.default"],
                      "authority_host": cloud.ready["azure_url"], "ca_file": cloud.ca}}),
                        endpoints=[{"listen": self.at, "azure_imds": {"identities": [{"credential": "azure"}]},
                                    "azure_app_service": {"identities": [{"credential": "azure"}],
                                                          "header": {"file": str(self.header)}}}])
        self.lives(SOON)
        agent.start()
        agent.wait_state("fresh", "azure")

    def lives(self, extra_s):
        self.cloud.fault(kind="short_life", s=WINDOW_S["js"] + extra_s, count=-1, match={"role": CLIENT})

    def current(self, name):
        status, doc = self.agent.request("GET", f"/v1/token/{name}")
        return digest(next(v for k, v in doc["fields"].items() if "access_token" in k)) if status == 200 else None

    def imds(self):
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": f"http://{self.at}"}

    def app_service(self, header=None):
        return {"IDENTITY_ENDPOINT": f"http://{self.at}/msi/token", "IDENTITY_HEADER": header or self.header.read_text()}

    def options(self, **more):
        return {"ca": self.cloud.ca, "scope": VAULT + "/.default", "whoami": f"{self.cloud.ready['azure_url']}/whoami?resource={VAULT}",
                **more}


@pytest.fixture
def azure(tmp_path, agent_factory):
    if not here("javascript"):
        pytest.skip(missing("javascript"))
    cloud = LocalCloud(tmp_path / "cloud")
    yield Azure(cloud, agent_factory(cloud))
    cloud.stop()


def test_azure(azure, consumers):
    for what, env, more in (("imds", azure.imds(), {}), ("app service", azure.app_service(), {}),
                            ("imds by client id", azure.imds(), {"client": CLIENT}),
                            ("app service by client id", azure.app_service(), {"client": CLIENT})):
        consumers.append(Consumer(what, "javascript", "azure", env, **azure.options(**more)))
    Job(azure.agent, {c: "azure" for c in consumers}, azure.lives, azure.current).run(consumers)
    uses = azure.cloud.exchanges("azure.whoami")
    assert uses and all(use["status"] == 200 for use in uses)


def test_azure_refuses(azure):
    for env, more in ((azure.app_service("wrong"), {}), (azure.app_service(), {"client": OTHER_CLIENT}),
                      (azure.imds(), {"client": OTHER_CLIENT}), (azure.imds(), {"scope": "https://graph.microsoft.com/.default"}),
                      (azure.app_service(), {"scope": "https://graph.microsoft.com/.default"})):
        said = once("javascript", "azure", env, **{**azure.options(), **more})
        assert "error" in said and "id" not in said, (env, more, said)
    assert not azure.cloud.exchanges("azure.whoami")


# ---- kubectl ----

class Kubectl:
    """kubectl with `credfresh get kube` as its plugin. It lives for one command, so each one asks again; what it was given is
    kept aside."""

    def __init__(self, agent, space, directory):
        self.agent, self.space, self.dir = agent, space, directory
        self.given = directory / "given"
        self.tokens = directory / "tokens.sock"
        program = directory / "credfresh"
        shutil.copy(CREDFRESH, program)
        space.allow({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}, user="registry", kind="ServiceAccount")
        space.allow_tokens()
        request = {"service_account": "registry", "namespace": space.name, "kubeconfig": space.kube.kubeconfig({"token": "tok-robot"}),
                   "audiences": ["kubernetes"]}
        agent.configure(agent.credential("kube", token={"request": request}, exchange=None, allow={},
                                         publish={"file": {"path": str(agent.out), "format": "token"}}),
                        token_socket=str(self.tokens)).start()
        self.config = directory / "kubeconfig"
        plugin = f"{program} get kube kube -s {self.tokens} | tee {self.given}"
        shutil.copy(space.kube.dir / "certs/apiserver.crt", directory / "ca.crt")
        self.config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": space.kube.url, "certificate-authority": str(directory / "ca.crt")}}],
            "users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "/bin/sh",
                                                      "args": ["-c", plugin]}}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": space.name}}]}))

    def begin(self, *argv, user=None):
        return subprocess.Popen([str(self.space.kube.bin / "kubectl"), "--kubeconfig", str(self.config), *argv], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", user=user,
                                env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})

    def run(self, *argv, user=None):
        call = self.begin(*argv, user=user)
        out, said = call.communicate(timeout=60)
        return call.returncode, out + said

    def used(self):
        return json.loads(self.given.read_text())["status"]["token"]

    def published(self):
        return self.agent.out.read_text() if self.agent.out.exists() else None

    def new_token(self):
        """This API server gives the same token again within a second."""
        before = self.published()

        def rotated():
            self.agent.request("POST", "/v1/credentials/kube/rotate")
            return self.published() != before

        eventually(rotated, lambda: self.agent.log, LIMIT_S, 0.3)


@pytest.mark.skipif(not all(os.access(pathlib.Path(os.environ.get("CFR_KUBE", "/nowhere")) / name, os.X_OK)
                            for name in ("kube-apiserver", "kubectl")), reason="there is no Kubernetes API server with its kubectl")
def test_kubectl(space, cloud, agent_factory, open_directory):
    k = Kubectl(agent_factory(cloud), space, open_directory)
    listing = ("get", "secrets", "--output=name")
    k.agent.wait_state("fresh", "kube")
    seen = []
    for rotation in range(ROTATIONS + 1):
        if rotation:
            k.new_token()
        status, said = k.run(*listing)
        assert status == 0, said
        seen.append(k.used())
        assert seen[-1] == k.published()
    assert len(set(seen)) == ROTATIONS + 1
    assert space.kube.review(seen[-1], "kubernetes") == f"system:serviceaccount:{space.name}:registry"
    k.agent.kill()
    call = k.begin(*listing)
    k.agent.start()
    out, said = call.communicate(timeout=60)
    assert call.returncode == 0, said
    # What is not its own: another namespace, and a user that the agent does not serve.
    status, said = k.run("-n", "kube-system", *listing)
    assert status != 0 and "Forbidden" in said, said
    if os.geteuid() == 0 and os.stat(k.space.kube.bin / "kubectl").st_mode & 0o005:
        k.given.chmod(0o666)
        status, said = k.run(*listing, user=NOBODY.pw_uid)
        assert status != 0 and k.given.read_text() == "", said
