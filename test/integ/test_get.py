# SPDX-License-Identifier: MIT
"""credfresh get: the credential plugins of the AWS SDKs, of Google's client libraries and of kubectl."""
import base64
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from conftest import CREDFRESH, ROLE, eventually

GCP_AUDIENCE = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"
TYPES = "urn:ietf:params:oauth:token-type:"
EXEC_V1 = "client.authentication.k8s.io/v1"
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "GOOGLE_", "KUBERNETES_"))}


def claims_of(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Getter:
    """The command as a consumer runs it: by itself (with -c), or against a socket of the agent (with -s)."""

    def __init__(self, agent, alone, socket=None):
        self.agent = agent
        self.how = ["-c", str(agent.config_path)] if alone else ["-s", str(socket or agent.socket)]

    def argv(self, kind, name="demo", *more):
        return [CREDFRESH, "get", kind, name, *self.how, *more]

    def run(self, kind, name="demo", *more, env=None):
        return subprocess.run(self.argv(kind, name, *more), capture_output=True, text=True, timeout=60, cwd=self.agent.dir,
                              env={**CLEAN, **(env or {})})

    def good(self, kind, name="demo", *more, env=None):
        done = self.run(kind, name, *more, env=env)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout


def configure(agent, **over):
    """One with AWS keys, and one that is the service account's token."""
    allow = {"users": [str(os.getuid())]} if "token_socket" in over else None
    return agent.configure(
        agent.credential(allow=allow),
        agent.credential("plain", exchange=None, allow=allow,
                         publish={"file": {"path": str(agent.dir / "plain"), "format": "token"}}), **over)


@pytest.fixture(params=["alone", "agent", "token socket"])
def getter(request, agent_factory, shared_cloud):
    agent = agent_factory(shared_cloud)
    socket = agent.dir / "tokens.sock"
    configure(agent, **({"token_socket": str(socket)} if request.param == "token socket" else {}))
    if request.param != "alone":
        agent.start()
        agent.wait_generation(1)
        agent.wait_generation(1, "plain")
    yield Getter(agent, request.param == "alone", socket if request.param == "token socket" else None)
    if request.param == "alone":
        assert not agent.out.exists() and not agent.state.exists(), "something was published"


def test_aws(getter):
    answer = json.loads(getter.good("aws"))
    assert answer["Version"] == 1 and answer["AccessKeyId"].startswith("ASIA") and answer["SessionToken"]
    assert answer["AccountId"] == "123456789012"
    assert seconds(answer["Expiration"]) > time.time() + 900
    assert set(answer) == {"Version", "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration", "AccountId"}


def test_gcp(getter, tmp_path):
    answer = json.loads(getter.good("gcp", "plain"))
    claims = claims_of(answer["id_token"])
    assert (answer["version"], answer["success"], answer["token_type"]) == (1, True, TYPES + "jwt")
    assert time.time() < answer["expiration_time"] < claims["exp"]
    output = tmp_path / "kept.json"
    env = {"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE": GCP_AUDIENCE, "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE": TYPES + "id_token",
           "GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE": str(output)}
    text = getter.good("gcp", "plain", env=env)
    assert json.loads(text)["token_type"] == TYPES + "id_token"
    assert output.read_text() == text and output.stat().st_mode & 0o777 == 0o600
    # Of one that is exchanged: the token that is to be traded, not what it was traded for.
    assert claims_of(json.loads(getter.good("gcp", "demo"))["id_token"])["sub"] == "system:serviceaccount:default:demo"


def test_gcp_failures_come_by_the_rules(getter, tmp_path):
    env = {"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE": GCP_AUDIENCE}
    answer = json.loads(getter.good("gcp", "nobody", env=env))
    assert answer["success"] is False and answer["code"] and answer["message"]
    answer = json.loads(getter.good("gcp", "plain", env={**env, "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE": TYPES + "saml2"}))
    assert answer["success"] is False and "saml2" in answer["message"]
    # A cache that cannot be written is done without.
    answer = json.loads(getter.good("gcp", "plain", env={**env, "GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE": "/proc/no/such"}))
    assert answer["success"] is True
    assert json.loads(getter.good("gcp", "plain", env={**env, "GOOGLE_EXTERNAL_ACCOUNT_REVOKE": "1"})) == {
        "version": 1, "success": True}


def test_kube(getter):
    answer = json.loads(getter.good("kube", "plain"))
    status = answer.pop("status")
    assert answer == {"apiVersion": EXEC_V1, "kind": "ExecCredential"}
    assert time.time() < seconds(status["expirationTimestamp"]) < claims_of(status["token"])["exp"]
    asked = json.dumps({"apiVersion": EXEC_V1 + "beta1", "kind": "ExecCredential", "spec": {"interactive": False}})
    answer = json.loads(getter.good("kube", "plain", env={"KUBERNETES_EXEC_INFO": asked}))
    assert answer["apiVersion"] == EXEC_V1 + "beta1"
    done = getter.run("kube", "plain", env={"KUBERNETES_EXEC_INFO": asked.replace("v1beta1", "v2")})
    assert done.returncode == 1 and done.stdout == "" and "KUBERNETES_EXEC_INFO" in done.stderr


def test_token(getter):
    text = getter.good("token", "plain")
    assert claims_of(text)["sub"] == "system:serviceaccount:default:demo" and text.strip() == text
    assert getter.good("token", "demo", "--field", "aws_access_key_id").startswith("ASIA")
    done = getter.run("token", "demo")
    assert (done.returncode, done.stdout) == (1, "") and "aws_session_token" in done.stderr
    done = getter.run("aws", "plain")
    assert (done.returncode, done.stdout) == (1, "") and "aws_access_key_id" in done.stderr


def test_refusals(getter):
    done = getter.run("token", "nobody")
    assert (done.returncode, done.stdout) == (6, ""), done
    assert getter.run("token", "no/name").returncode == 2
    assert getter.run("azure", "demo").returncode == 2
    assert subprocess.run([CREDFRESH, "get", "aws"], capture_output=True).returncode == 2


def test_alone_without_a_cloud(agent_factory, shared_cloud):
    getter = Getter(configure(agent_factory(shared_cloud)), True)
    shared_cloud.admin("/outage", {"on": True})
    done = getter.run("aws", "demo", "--timeout", "4s")
    assert (done.returncode, done.stdout) == (1, "") and re.search(r"demo: tried [2-9] times in ", done.stderr), done
    shared_cloud.admin("/outage", {"on": False})
    shared_cloud.fault(kind="delay", ms=20000, count=1)
    done = getter.run("aws", "demo", "--timeout", "500ms")
    assert (done.returncode, done.stdout) == (4, "") and "took more than" in done.stderr
    getter.agent.config_path.write_text("version: 3\n")
    assert getter.run("aws").returncode == 3


@pytest.mark.parametrize("fault", [{"kind": "status", "status": 503}, {"kind": "close"}, {"kind": "error", "code": "Throttling", "status": 400}])
def test_alone_through_a_glitch(agent_factory, shared_cloud, fault):
    getter = Getter(configure(agent_factory(shared_cloud)), True)
    shared_cloud.fault(**fault, count=2)
    assert json.loads(getter.good("aws"))["AccessKeyId"].startswith("ASIA")
    assert len(shared_cloud.exchanges()) == 3


def test_alone_it_waits_as_long_as_the_server_says_and_no_longer_than_it_may(agent_factory, shared_cloud):
    getter = Getter(configure(agent_factory(shared_cloud)), True)
    shared_cloud.fault(kind="status", status=503, headers={"Retry-After": "3"}, count=1)
    begun = time.monotonic()
    getter.good("aws")
    assert time.monotonic() - begun >= 3
    shared_cloud.fault(kind="status", status=503, headers={"Retry-After": "3600"}, count=1)
    begun = time.monotonic()
    assert getter.run("aws", "demo", "--timeout", "20s").returncode == 1
    assert time.monotonic() - begun < 10, "no try fits into its time"


def test_alone_a_refusal_ends_it_at_once(agent_factory, shared_cloud):
    getter = Getter(configure(agent_factory(shared_cloud)), True)
    shared_cloud.fault(kind="error", code="AccessDenied", status=403, count=-1)
    done = getter.run("aws")
    assert (done.returncode, done.stdout) == (1, "") and "AccessDenied" in done.stderr and "tried" not in done.stderr
    assert len(shared_cloud.exchanges()) == 1


def test_an_agent_that_comes_late_is_waited_for(agent_factory, shared_cloud):
    agent = configure(agent_factory(shared_cloud))
    getter = Getter(agent, False)
    assert getter.run("token", "plain", "--timeout", "200ms").returncode == 5
    waiting = subprocess.Popen(getter.argv("token", "plain", "--timeout", "20s"), stdout=subprocess.PIPE, text=True, env=CLEAN)
    agent.start(wait=False)
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0 and claims_of(out)


def test_a_credential_that_nobody_was_known_to_want(agent_factory, shared_cloud):
    agent = agent_factory(shared_cloud).configure().start()
    agent.wait_generation(1)
    answer = json.loads(Getter(agent, False).good("aws", "demo", "--timeout", "20s"))
    assert answer["AccessKeyId"].startswith("ASIA")


def test_botocore_through_rotations(agent_factory, shared_cloud, tmp_path, monkeypatch):
    """One process and one client: sessions of 15 minutes are within botocore's window, so that it asks before every call."""
    botocore_session = pytest.importorskip("botocore.session")
    agent = agent_factory(shared_cloud)
    aws = {"role_arn": ROLE, "region": "us-east-1", "endpoint": shared_cloud.sts, "ca_file": shared_cloud.ca, "duration": "15m"}
    agent.configure(agent.credential(exchange={"aws": aws})).start()
    agent.wait_generation(1)
    config = tmp_path / "aws-config"
    config.write_text(f"[default]\nregion = us-east-1\ncredential_process = {' '.join(Getter(agent, False).argv('aws'))}\n")
    for name in [key for key in os.environ if key.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    session = botocore_session.Session()
    client = session.create_client("sts", region_name="us-east-1", endpoint_url=shared_cloud.sts,
                                   verify=shared_cloud.ca)

    def uses_what_is_published():
        assert "role/demo" in client.get_caller_identity()["Arn"]
        return session.get_credentials().get_frozen_credentials().access_key == agent.published()["fields"]["aws_access_key_id"]

    for generation in range(1, 6):
        agent.wait_generation(generation)
        eventually(uses_what_is_published, f"generation {generation} in use")
        if generation == 3:
            agent.kill()
            agent.start()
            agent.wait_generation(generation)
        assert agent.run("rotate", "demo").returncode == 0


def kubeconfig(agent, getter, path):
    argv = getter.argv("kube", "cluster")
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "demo",
        "clusters": [{"name": "demo", "cluster": {"server": agent.cloud.ready["kube_url"],
                                                  "certificate-authority": agent.cloud.ca}}],
        "users": [{"name": "demo", "user": {"exec": {"apiVersion": EXEC_V1, "command": argv[0], "args": argv[1:],
                                                     "interactiveMode": "Never", "provideClusterInfo": True}}}],
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "demo", "namespace": "default"}}]}))
    return path


def cluster_token(agent):
    """A credential that logs in to the API server."""
    request = {"service_account": "demo", "namespace": "default", "kubeconfig": agent.cloud.ready["kubeconfig"],
               "audiences": ["https://kubernetes.default.svc"]}
    return agent.credential("cluster", token={"request": request}, exchange=None,
                            publish={"file": {"path": str(agent.dir / "cluster"), "format": "token"}})


@pytest.fixture
def rights(shared_cloud):
    """The service account may read Secrets and ask for tokens, which needs its own token."""
    shared_cloud.admin("/kube/rbac", {"rules": [
        {"user": "demo", "verb": "*", "resource": ["serviceaccounts/token", "secrets"]},
        {"user": "system:serviceaccount:default:demo", "verb": ["create", "get"],
         "resource": ["serviceaccounts/token", "secrets"]}]})


def test_kubectl(agent_factory, shared_cloud, rights, tmp_path):
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("there is no kubectl")
    agent = agent_factory(shared_cloud)
    agent.configure(cluster_token(agent)).start()
    agent.wait_generation(1, "cluster")
    path = kubeconfig(agent, Getter(agent, False), tmp_path / "kubeconfig")
    secret = "/kube/api/v1/namespaces/default/secrets/seen"
    shared_cloud.admin("/kube/object", {"kind": "Secret", "namespace": "default", "name": "seen"})
    for generation in range(1, 4):
        agent.wait_generation(generation, "cluster")
        done = subprocess.run([kubectl, "--kubeconfig", path, "--cache-dir", tmp_path / "cache", "get", "--raw", secret],
                              capture_output=True, text=True, timeout=60, env={**CLEAN, "HOME": str(tmp_path)})
        assert done.returncode == 0 and json.loads(done.stdout)["metadata"]["name"] == "seen", done
        assert agent.run("rotate", "cluster").returncode == 0


def test_an_agent_asks_by_the_plugin(agent_factory, shared_cloud, rights, tmp_path):
    """Another agent's kubeconfig runs this plugin, which two implementations of the protocol meet in."""
    first = agent_factory(shared_cloud, "first")
    first.configure(cluster_token(first)).start()
    first.wait_generation(1, "cluster")
    path = kubeconfig(first, Getter(first, False), tmp_path / "kubeconfig")
    second = agent_factory(shared_cloud, "second")
    request = {"service_account": "demo", "namespace": "default", "kubeconfig": str(path), "audiences": ["sts.amazonaws.com"]}
    second.configure(second.credential(token={"request": request}, exchange=None,
                                       publish={"file": {"path": str(second.out), "format": "token"}})).start()
    second.wait_generation(1)
    assert claims_of(second.out.read_text())["sub"] == "system:serviceaccount:default:demo"


def test_an_agents_plugin_changes(agent_factory, shared_cloud, rights, tmp_path):
    """The kubeconfig has another command, and later another CA. Nobody reloads the agent."""
    first = agent_factory(shared_cloud, "first")
    first.configure(cluster_token(first)).start()
    first.wait_generation(1, "cluster")
    path = kubeconfig(first, Getter(first, False), tmp_path / "kubeconfig")
    second = agent_factory(shared_cloud, "second")
    request = {"service_account": "demo", "namespace": "default", "kubeconfig": str(path), "audiences": ["sts.amazonaws.com"]}
    second.configure(second.credential(token={"request": request}, exchange=None,
                                       publish={"file": {"path": str(second.out), "format": "token"}})).start()
    second.wait_generation(1)
    config = json.loads(path.read_text())
    plugin = config["users"][0]["user"]["exec"]
    runs = tmp_path / "runs"
    script = f'echo run >> {runs}; exec "$@"'
    plugin["args"], plugin["command"] = ["-c", script, "sh", plugin["command"], *plugin["args"]], "sh"
    plugin["env"] = [{"name": "ONE", "value": "secret"}]
    replace(path, config)
    rotate(second, 2)
    assert runs.read_text() == "run\n"
    # With the cluster's CA as its only input that changes.
    ca = tmp_path / "ca.crt"
    ca.write_text("# a comment\n" + pathlib.Path(shared_cloud.ca).read_text())
    config["clusters"][0]["cluster"]["certificate-authority"] = str(ca)
    replace(path, config)
    rotate(second, 3)
    assert runs.read_text() == "run\nrun\n"
    # A reload while the kubeconfig is malformed takes no command out. The process that starts commands reads it, too.
    whole = path.read_text()
    path.write_text(whole[:-1])
    os.utime(path, (1, 1))
    for _ in range(2):
        assert second.request("POST", "/v1/reload")[0] == 200
        time.sleep(0.5)
    shared_cloud.fault(kind="status", status=401, body="{}", count=1, match={"action": "kube.token"})
    rotate(second, 4)
    assert runs.read_text() == "run\n" * 3
    assert "its last good content is still used" in second.log and "refused to start" not in second.log


def replace(path, config):
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(config))
    fresh.rename(path)


def rotate(agent, generation):
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_generation(generation)
