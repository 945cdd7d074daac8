# SPDX-License-Identifier: MIT
"""The kubelet's image credential provider plugin: requests and answers, with each cloud's registries."""
import base64
import json
import os
import re
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from conftest import CREDFRESH, ROLE

API = "credentialprovider.kubelet.k8s.io/v1"
ANNOTATION = "eks.amazonaws.com/role-arn"
ECR_HOST = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
GCP_AUDIENCE = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"
TENANT = "11111111-2222-3333-4444-555555555555"
CLIENT = "66666666-7777-8888-9999-aaaaaaaaaaaa"
AZURE_AUDIENCE = "api://AzureADTokenExchange"


class Plugin:
    """A configuration with image credentials, and the plugin that is run with it."""

    def __init__(self, directory, cloud):
        self.dir = directory
        self.cloud = cloud
        self.config_path = directory / "credfresh.yaml"
        self.registry = urllib.parse.urlsplit(cloud.ready["acr_url"]).netloc
        self.secrets = []

    def ecr(self, **over):
        """An image credential for ECR; OVER replaces whole keys, None removes them."""
        return whole({"name": "ecr", "match": ["*.dkr.ecr.*.amazonaws.com", "public.ecr.aws", "ecr-public.aws.com"],
                      "audience": "sts.amazonaws.com",
                      "annotations": {"role_arn": ANNOTATION},
                      "exchange": {"aws": {"region": "eu-west-1", "endpoint": self.cloud.sts, "ca_file": self.cloud.ca,
                                           "ecr": {"endpoint": self.cloud.ready["ecr_url"]}}}}, over)

    def gcp(self, **over):
        url = self.cloud.ready["gcp_url"]
        return whole({"name": "gcp", "match": ["europe-docker.pkg.dev/project"],
                      "exchange": {"gcp": {"audience": GCP_AUDIENCE, "sts_endpoint": url + "/v1/token",
                                           "ca_file": self.cloud.ca}}}, over)

    def azure(self, **over):
        return whole({"name": "azure", "match": [self.registry],
                      "exchange": {"azure": {"tenant_id": TENANT, "client_id": CLIENT,
                                             "authority_host": self.cloud.ready["azure_url"],
                                             "acr_endpoint": self.cloud.ready["acr_url"],
                                             "ca_file": self.cloud.ca}}}, over)

    def configure(self, *items, **over):
        config = {"version": 1, "image_credentials": list(items) or [self.ecr(), self.gcp(), self.azure()]}
        config.update(over)
        self.config_path.write_text(json.dumps(config, indent=1))
        return self

    def token(self, audience="sts.amazonaws.com", **how):
        self.secrets.append(self.cloud.token(audience=[audience], **how))
        return self.secrets[-1]

    def run(self, text, argv=None, env=None):
        """Runs the plugin with TEXT on its standard input. Whatever comes of it, standard error holds no secret."""
        argv = argv or [CREDFRESH, "image-credential-provider", "-c", str(self.config_path)]
        done = subprocess.run(argv, input=text, capture_output=True, timeout=60, cwd=self.dir,
                              env={"PATH": os.environ["PATH"], **(env or {})})
        out, err = done.stdout.decode(), done.stderr.decode()
        for secret in self.secrets:
            assert secret not in err and not any(len(part) > 20 and part in err for part in secret.split("."))
        assert not list(self.dir.glob("state")), "something was written"
        return done.returncode, out, err

    def ask(self, image, token=None, annotations=None, kept_for="Registry", **how):
        """The response to a request for IMAGE, which the kubelet may use for all of its registry, or for this "Image"."""
        code, out, err = self.run(json.dumps(request(image, token, annotations)).encode(), **how)
        assert (code, err) == (0, ""), err
        response = json.loads(out)
        assert out.endswith("}\n")
        assert (response["kind"], response["apiVersion"]) == ("CredentialProviderResponse", API)
        assert response["cacheKeyType"] == kept_for
        return response

    def refused(self, text, status=1, **how):
        """The one line of error for a request, given as bytes or as the arguments of request()."""
        code, out, err = self.run(text if isinstance(text, bytes) else json.dumps(request(*text)).encode(), **how)
        assert (code, out) == (status, ""), (code, out, err)
        assert err.count("\n") == 1 and err.endswith("\n") and err.startswith("credfresh: "), err
        return err

    def login(self, url, auth):
        """Whether the registry at URL takes the login."""
        basic = base64.b64encode(f"{auth['username']}:{auth['password']}".encode()).decode()
        ask = urllib.request.Request(url, headers={"Authorization": "Basic " + basic})
        try:
            with urllib.request.urlopen(ask, timeout=10, context=ssl.create_default_context(cafile=self.cloud.ca)) as got:
                return got.status
        except urllib.error.HTTPError as error:
            return error.code


def whole(base, over):
    return {key: value for key, value in {**base, **over}.items() if value is not None}


def request(image, token=None, annotations=None):
    asked = {"kind": "CredentialProviderRequest", "apiVersion": API, "image": image}
    if token is not None:
        asked["serviceAccountToken"] = token
    if annotations is not None:
        asked["serviceAccountAnnotations"] = annotations
    return asked


def seconds(duration):
    """Of a Go duration in whole seconds."""
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(\d+)s", duration)
    assert parts, duration
    return sum(int(n or 0) * unit for n, unit in zip(parts.groups(), (3600, 60, 1)))


@pytest.fixture
def plugin(tmp_path, shared_cloud):
    return Plugin(tmp_path, shared_cloud).configure()


ROLE_BY_ANNOTATION = {ANNOTATION: ROLE, "example.net/other": "x"}


# --- what is granted --------------------------------------------------------------------------------------------------

def test_ecr(plugin):
    response = plugin.ask(ECR_HOST + "/app:1", plugin.token(), ROLE_BY_ANNOTATION)
    assert list(response["auth"]) == [ECR_HOST]
    auth = response["auth"][ECR_HOST]
    assert auth["username"] == "AWS" and set(auth) == {"username", "password"}
    assert plugin.login(plugin.cloud.ready["ecr_url"] + "/v2/", auth) == 200
    # The session, which lives an hour, ends before the login; ten minutes are kept.
    assert 2900 < seconds(response["cacheDuration"]) <= 3001
    (exchange,) = plugin.cloud.exchanges()
    assert (exchange["role"], exchange["session_name"]) == (ROLE, "default.demo")


def test_ecr_of_another_region_and_the_public_one(plugin):
    host = ECR_HOST.replace("eu-west-1", "us-east-2")
    assert list(plugin.ask(host + "/app", plugin.token(), ROLE_BY_ANNOTATION)["auth"]) == [host]
    response = plugin.ask("public.ecr.aws/library/app", plugin.token(), ROLE_BY_ANNOTATION)
    assert list(response["auth"]) == ["public.ecr.aws", "ecr-public.aws.com"]
    assert len(plugin.cloud.exchanges("ecr-public.GetAuthorizationToken")) == 1
    again = plugin.ask("ecr-public.aws.com/library/app", plugin.token(), ROLE_BY_ANNOTATION)
    assert list(again["auth"]) == list(response["auth"])


def test_ecr_with_its_own_list(plugin):
    hosts = [ECR_HOST, ECR_HOST.replace("1234", "9999", 1)]
    item = plugin.ecr()
    item["exchange"]["aws"]["ecr"]["registries"] = hosts
    plugin.configure(item)
    assert sorted(plugin.ask(hosts[0] + "/app", plugin.token(), ROLE_BY_ANNOTATION)["auth"]) == sorted(hosts)


def test_google(plugin):
    response = plugin.ask("europe-docker.pkg.dev/project/repository/app@sha256:" + "0" * 64, plugin.token(GCP_AUDIENCE),
                          kept_for="Image")
    auth = response["auth"]["europe-docker.pkg.dev"]
    assert auth["username"] == "oauth2accesstoken"
    got = plugin.cloud.ready["gcp_url"] + "/whoami"
    who = urllib.request.Request(got, headers={"Authorization": "Bearer " + auth["password"]})
    with urllib.request.urlopen(who, context=ssl.create_default_context(cafile=plugin.cloud.ca)) as answer:
        assert answer.status == 200
    assert 2900 < seconds(response["cacheDuration"]) <= 3001


def test_google_with_the_service_account_of_an_annotation(plugin):
    item = plugin.gcp(annotations={"service_account": "iam.gke.io/gcp-service-account"})
    item["exchange"]["gcp"]["iam_endpoint"] = plugin.cloud.ready["gcp_url"]
    plugin.configure(item)
    email = "demo@demo-project.iam.gserviceaccount.com"
    plugin.ask("europe-docker.pkg.dev/project/app", plugin.token(GCP_AUDIENCE), {"iam.gke.io/gcp-service-account": email},
               kept_for="Image")
    (impersonation,) = plugin.cloud.exchanges("gcp.generateAccessToken")
    assert impersonation["role"] == email


def test_azure(plugin):
    response = plugin.ask(plugin.registry + "/team/app:2", plugin.token(AZURE_AUDIENCE))
    auth = response["auth"][plugin.registry]
    assert auth["username"] == "00000000-0000-0000-0000-000000000000"
    assert plugin.login(plugin.cloud.ready["acr_url"] + "/v2/", auth) == 200
    assert 2900 < seconds(response["cacheDuration"]) <= 3001


def test_azure_with_the_client_of_an_annotation(plugin):
    item = plugin.azure(annotations={"client_id": "azure.workload.identity/client-id"})
    item["exchange"]["azure"]["client_id"] = "00000000-0000-0000-0000-000000000001"
    plugin.configure(item)
    image = plugin.registry + "/app"
    assert plugin.ask(image, plugin.token(AZURE_AUDIENCE), {"azure.workload.identity/client-id": CLIENT})["auth"]
    assert "AADSTS700016" in plugin.refused((image, plugin.token(AZURE_AUDIENCE), {}))


def test_the_first_that_fits_counts(plugin):
    """The login of one path is then not what the kubelet uses for another one."""
    narrow = plugin.ecr(name="narrow", match=[ECR_HOST + "/team"], cache="1m")
    plugin.configure(narrow, plugin.ecr())
    token = plugin.token()
    assert plugin.ask(ECR_HOST + "/team/app", token, ROLE_BY_ANNOTATION, kept_for="Image")["cacheDuration"] == "1m0s"
    assert seconds(plugin.ask(ECR_HOST + "/other", token, ROLE_BY_ANNOTATION, kept_for="Image")["cacheDuration"]) > 60


def test_no_match(plugin):
    for image in ("registry.example.net/app", "docker.io/library/nginx", ECR_HOST + ":444/app"):
        response = plugin.ask(image, plugin.token(), ROLE_BY_ANNOTATION)
        assert response["auth"] is None and response["cacheDuration"] == "0s"
    assert plugin.cloud.exchanges() == []


def test_cache_duration(plugin):
    token = plugin.token()
    for cache, told in (("90s", "1m30s"), ("0s", "0s")):
        plugin.configure(plugin.ecr(cache=cache))
        assert plugin.ask(ECR_HOST + "/app", token, ROLE_BY_ANNOTATION)["cacheDuration"] == told
    plugin.configure(plugin.ecr(cache="5h"))
    assert 2900 < seconds(plugin.ask(ECR_HOST + "/app", token, ROLE_BY_ANNOTATION)["cacheDuration"]) <= 3001
    plugin.cloud.fault(kind="short_life", s=300, match={"action": "AssumeRoleWithWebIdentity"})
    assert plugin.ask(ECR_HOST + "/app", token, ROLE_BY_ANNOTATION)["cacheDuration"] == "0s"


# --- tokens -----------------------------------------------------------------------------------------------------------

def test_no_token(plugin):
    error = plugin.refused((ECR_HOST + "/app", None, ROLE_BY_ANNOTATION))
    assert "image credential ecr: " in error and "tokenAttributes" in error and "`token`" in error


def test_no_token_in_the_request_but_a_file(plugin):
    path = plugin.dir / "token"
    path.write_text(plugin.token() + "\n")
    plugin.configure(plugin.ecr(token={"file": str(path)}))
    assert plugin.ask(ECR_HOST + "/app", None, ROLE_BY_ANNOTATION)["auth"]
    path.write_text("nonsense")
    assert str(path) in plugin.refused((ECR_HOST + "/app", None, ROLE_BY_ANNOTATION))
    # That of the request wins.
    assert plugin.ask(ECR_HOST + "/app", plugin.token(), ROLE_BY_ANNOTATION)["auth"]


def test_no_token_in_the_request_but_an_api_server(plugin):
    ask = {"service_account": "demo", "namespace": "default", "kubeconfig": plugin.cloud.ready["kubeconfig"]}
    plugin.configure(plugin.ecr(token={"audience": "sts.amazonaws.com", "request": ask}))
    assert plugin.ask(ECR_HOST + "/app", None, ROLE_BY_ANNOTATION)["auth"]
    assert len(plugin.cloud.exchanges("kube.token")) == 1


def test_no_token_needed(plugin):
    path = plugin.dir / "secret"
    path.write_text("demo-client-secret\n")
    item = plugin.azure()
    item["exchange"]["azure"]["client_secret_file"] = str(path)
    plugin.configure(item)
    assert plugin.ask(plugin.registry + "/app")["auth"]
    plugin.secrets.append("demo-client-secret-of-yesterday")
    path.write_text(plugin.secrets[-1])
    assert "AADSTS7000215" in plugin.refused((plugin.registry + "/app",))


def test_expired_token(plugin):
    token = plugin.token(issued_ago_s=3660, expires_in_s=-60)
    error = plugin.refused((ECR_HOST + "/app", token, ROLE_BY_ANNOTATION))
    assert "ExpiredToken" in error and len(plugin.cloud.exchanges()) == 1


def test_token_that_is_not_valid_yet(plugin):
    error = plugin.refused((ECR_HOST + "/app", plugin.token(issued_ago_s=-600), ROLE_BY_ANNOTATION))
    assert "InvalidIdentityToken" in error and len(plugin.cloud.exchanges()) == 1


def test_wrong_audience(plugin):
    error = plugin.refused((ECR_HOST + "/app", plugin.token("elsewhere"), ROLE_BY_ANNOTATION))
    assert '"elsewhere", not "sts.amazonaws.com"' in error and "serviceAccountTokenAudience" in error
    assert plugin.cloud.exchanges() == []
    # Without `audience` it is the cloud that refuses.
    plugin.configure(plugin.ecr(audience=None))
    error = plugin.refused((ECR_HOST + "/app", plugin.token("elsewhere"), ROLE_BY_ANNOTATION))
    assert "InvalidIdentityToken" in error and len(plugin.cloud.exchanges()) == 1


def test_token_that_is_none(plugin):
    for token in ("nonsense", "a.b.c", "." * 100, " ", "x" * 70000):
        error = plugin.refused((ECR_HOST + "/app", token, ROLE_BY_ANNOTATION))
        assert "the service account token in the kubelet's request" in error
    assert plugin.cloud.exchanges() == []


# --- annotations ------------------------------------------------------------------------------------------------------

def test_missing_annotation(plugin):
    for annotations in (None, {}, {ANNOTATION: ""}, {ANNOTATION: 7}, {"other": ROLE}):
        error = plugin.refused((ECR_HOST + "/app", plugin.token(), annotations))
        assert f"no annotation {ANNOTATION} for role_arn" in error and "tokenAttributes" in error


def test_annotation_with_a_default(plugin):
    item = plugin.ecr()
    item["exchange"]["aws"]["role_arn"] = ROLE
    plugin.configure(item)
    assert plugin.ask(ECR_HOST + "/app", plugin.token())["auth"]
    other = "arn:aws:iam::123456789012:role/nowhere"
    error = plugin.refused((ECR_HOST + "/app", plugin.token(), {ANNOTATION: other}))
    assert "AccessDenied" in error
    assert [one["role"] for one in plugin.cloud.exchanges()] == [ROLE, other]


def test_annotation_that_cannot_be(plugin):
    for value, part in (("short", "must be the ARN of a role"), ("x" * 3000, "longer than 2048"), ("arn:\n" + "x" * 30, "role_arn"),
                        ("arn:aws:iam::12:role/x\x01", "control character")):
        assert part in plugin.refused((ECR_HOST + "/app", plugin.token(), {ANNOTATION: value}))
    assert plugin.cloud.exchanges() == []


# --- requests that are none, clouds that refuse -------------------------------------------------------------------------

@pytest.mark.parametrize("text, part", [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"{} x", "not JSON"),
    (b"[]", "no CredentialProviderRequest"),
    (b"{}", "no CredentialProviderRequest"),
    (b"\xff\xfe", "not JSON"),
    (json.dumps({**request("a.example/x"), "apiVersion": "credentialprovider.kubelet.k8s.io/v1beta1"}).encode(),
     "write `apiVersion: " + API),
    (json.dumps(request("")).encode(), "names no image"),
    (json.dumps(request("a b\n")).encode(), "not an image name"),
])
def test_broken_request(plugin, text, part):
    assert part in plugin.refused(text)


def test_oversize_request(plugin):
    fits = json.dumps(request("registry.example.net/app", None, {"a": "x" * 200000})).encode()
    assert plugin.run(fits)[0] == 0
    over = json.dumps(request("registry.example.net/app", None, {"a": "x" * 262144})).encode()
    assert "more than 262144 bytes" in plugin.refused(over)
    assert "more than 262144 bytes" in plugin.refused(b"x" * 10000000)


def test_registry_that_is_none_of_the_cloud(plugin):
    item = plugin.ecr(match=["*.example.net"])
    del item["exchange"]["aws"]["ecr"]
    plugin.configure(item)
    error = plugin.refused(("registry.example.net/app", plugin.token(), ROLE_BY_ANNOTATION))
    assert "the registry registry.example.net: ecr: registries" in error and "no host of ECR" in error


def test_cloud_refuses(plugin):
    plugin.cloud.fault(kind="error", code="AccessDenied", status=403, match={"action": "AssumeRoleWithWebIdentity"})
    assert "AccessDenied" in plugin.refused((ECR_HOST + "/app", plugin.token(), ROLE_BY_ANNOTATION))
    plugin.cloud.fault(kind="error", code="AccessDeniedException", status=400, match={"action": "ecr.GetAuthorizationToken"})
    error = plugin.refused((ECR_HOST + "/app", plugin.token(), ROLE_BY_ANNOTATION))
    assert "AccessDeniedException" in error and "GetAuthorizationToken" in error


def test_a_glitch_is_ridden_out(plugin):
    plugin.cloud.fault(kind="close", match={"action": "AssumeRoleWithWebIdentity"})
    plugin.cloud.fault(kind="error", code="ThrottlingException", status=400, match={"action": "ecr.GetAuthorizationToken"})
    plugin.ask(ECR_HOST + "/app", plugin.token(), ROLE_BY_ANNOTATION)
    plugin.cloud.fault(kind="status", status=500, match={"action": "gcp.token"})
    plugin.ask("europe-docker.pkg.dev/project/app", plugin.token(GCP_AUDIENCE), kept_for="Image")
    plugin.cloud.fault(kind="malformed", match={"action": "acr.exchange"})
    plugin.ask(plugin.registry + "/app", plugin.token(AZURE_AUDIENCE))


def test_answer_that_holds_the_token_is_not_repeated(plugin):
    token = plugin.token()
    plugin.cloud.fault(kind="error", code="InvalidIdentityToken", status=400, message=f"cannot read {token}",
                       match={"action": "AssumeRoleWithWebIdentity"})
    assert "[removed]" in plugin.refused((ECR_HOST + "/app", token, ROLE_BY_ANNOTATION))


def test_cloud_that_is_not_there(plugin):
    item = plugin.ecr()
    item["exchange"]["aws"]["endpoint"] = "https://127.0.0.1:9"
    plugin.configure(item)
    error = plugin.refused((ECR_HOST + "/app", plugin.token(), ROLE_BY_ANNOTATION))
    assert "127.0.0.1" in error and re.search(r": tried \d+ times in ", error)


# --- the command ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["credfresh-image-credential-provider", "credfresh-image-credential-provider-ecr"])
def test_symlink(plugin, name):
    link = plugin.dir / name
    link.symlink_to(CREDFRESH)
    response = plugin.ask(ECR_HOST + "/app", plugin.token(), ROLE_BY_ANNOTATION, argv=[str(link)],
                          env={"CREDFRESH_CONFIG": str(plugin.config_path)})
    assert response["auth"]
    assert plugin.ask("other.example/app", argv=[str(link), "-c", str(plugin.config_path)])["auth"] is None
    assert subprocess.run([str(link), "run"], capture_output=True, input=b"").returncode == 2
    assert b"image-credential-provider" in subprocess.run([str(link), "-h"], capture_output=True).stdout


def test_configuration(plugin):
    image = (ECR_HOST + "/app",)
    plugin.configure(plugin.ecr(match=["https://x"]), plugin.gcp())
    error = plugin.refused(image, status=3)
    assert "image credential ecr: match: element 1: " in error and "credfresh.yaml:" in error
    plugin.config_path.write_text("version: 1\ncredentials: [{name: a, token: {file: /t}, publish: {directory: /d, "
                                  "files: [{name: t, format: token}]}}]\n")
    assert "has no image_credentials" in plugin.refused(image, status=3)
    plugin.config_path.unlink()
    assert "credfresh.yaml" in plugin.refused(image, status=3)


def test_other_commands_have_nothing_to_do(plugin):
    for command in ("run", "once"):
        done = subprocess.run([CREDFRESH, command, "-c", str(plugin.config_path)], capture_output=True, text=True, timeout=30)
        assert done.returncode == 3 and "only image_credentials" in done.stderr
    done = subprocess.run([CREDFRESH, "check", "--online", "-c", str(plugin.config_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "ok     ecr: logins by aws for 3 patterns of images" in done.stdout
    path = plugin.dir / "missing"
    plugin.configure(plugin.ecr(token={"file": str(path)}))
    done = subprocess.run([CREDFRESH, "check", "-c", str(plugin.config_path)], capture_output=True, text=True)
    assert done.returncode == 0 and re.search(rf"^warn   \S+:\d+: ecr: waiting for the token file {path}", done.stdout, re.M)


def test_reload_keeps_what_an_agent_has(plugin, agent_factory):
    agent = agent_factory(plugin.cloud).configure().start()
    agent.wait_generation(1)
    plugin.configure(state_dir=str(agent.state))
    agent.config_path.write_text(plugin.config_path.read_text())
    done = agent.run("reload")
    assert done.returncode == 6 and "only image_credentials" in done.stderr + done.stdout, done
    assert agent.generation() == 1
    # Both together are nothing special.
    agent.configure(image_credentials=[plugin.ecr()])
    assert agent.run("reload").returncode == 0
    code, out, err = plugin.run(json.dumps(request("x.example/y")).encode(),
                                argv=[CREDFRESH, "image-credential-provider", "--config", str(agent.config_path)])
    assert code == 0 and json.loads(out)["auth"] is None, err
