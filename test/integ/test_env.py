# SPDX-License-Identifier: MIT
"""`credfresh env`: the variables of every shape and format, settings that take precedence, and their targets."""
import json
import os
import pathlib
import re
import subprocess
import urllib.error
import urllib.request

import pytest
import yaml

from conftest import CREDFRESH, eventually
from endpoint_client import free_port

CLIENT = "11111111-aaaa-4bbb-8ccc-000000000001"
TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47"
ROLE = "arn:aws:iam::123456789012:role/demo"
AWS = {"aws": {"role_arn": ROLE, "region": "eu-west-1"}}
GCP = {"gcp": {"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x"}}
AZURE = {"azure": {"tenant_id": TENANT, "client_id": CLIENT, "cloud": "usgov"}}
NO_IMDS = {"AWS_EC2_METADATA_DISABLED": "true"}
REGION = {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"}
LISTEN = "127.0.0.1:9911"
URL = "http://" + LISTEN
GCE = {"GCE_METADATA_HOST": LISTEN, "GCE_METADATA_IP": LISTEN, "GCE_METADATA_ROOT": LISTEN,
       "METADATA_SERVER_DETECTION": "assume-present"}


def files(*formats, **more):
    """A directory with a file of each format, named as the format."""
    return {"directory": "/run/out", "files": [{"name": f, "format": f, **more} for f in formats]}


CONTAINER = {"aws_container": {"credential": "demo", "authorization": {"file": "/run/auth"}}}
IMDS = {"azure_imds": {"identities": [{"credential": "demo"}]}}
APP_SERVICE = {"azure_app_service": {"header": {"file": "/run/header"}, "identities": [{"credential": "demo"}]}}
METADATA = {"gce_metadata": {"project_id": "shop", "accounts": [{"credential": "demo"}]}}

# exchange, publish, endpoint, the variables, and parts of the notes
CASES = {
    "container": (AWS, None, CONTAINER,
                  {"AWS_CONTAINER_CREDENTIALS_FULL_URI": URL + "/aws/demo",
                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/run/auth", **REGION}, []),
    "container and files": (AWS, files("aws-credentials", "token"), CONTAINER,
                            {"AWS_CONTAINER_CREDENTIALS_FULL_URI": URL + "/aws/demo",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/run/auth", **REGION},
                            ["AWS_SHARED_CREDENTIALS_FILE=/run/out/aws-credentials is left out"]),
    "ec2": (AWS, None, {"ec2_imds": {"credential": "demo", "region": "us-east-2"}},
            {"AWS_EC2_METADATA_SERVICE_ENDPOINT": URL + "/", "AWS_METADATA_ENDPOINT": URL, "AWS_REGION": "us-east-2", "AWS_DEFAULT_REGION": "us-east-2"}, []),
    "metadata server": (GCP, files("gcp-access-token"), METADATA, {**GCE, "GOOGLE_CLOUD_PROJECT": "shop"},
                        ["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=/run/out/gcp-access-token is left out"]),
    "azure metadata": (AZURE, files("token"), IMDS,
                       {"AZURE_POD_IDENTITY_AUTHORITY_HOST": URL, "AZURE_CLIENT_ID": CLIENT},
                       ["AZURE_FEDERATED_TOKEN_FILE=/run/out/token is left out"]),
    "app service": (AZURE, None, APP_SERVICE,
                    {"IDENTITY_ENDPOINT": URL + "/msi/token", "IDENTITY_HEADER": ("/run/header",), "AZURE_CLIENT_ID": CLIENT},
                    []),
    "aws-credentials": (AWS, files("aws-credentials", profile="batch"), None,
                        {"AWS_SHARED_CREDENTIALS_FILE": "/run/out/aws-credentials", "AWS_PROFILE": "batch", **NO_IMDS, **REGION}, []),
    "aws-config": (AWS, {"file": {"path": "/run/config", "format": "aws-config", "role_arn": ROLE,
                                  "token_path": "/run/token"}}, None,
                   {"AWS_CONFIG_FILE": "/run/config", "AWS_PROFILE": "default", "AWS_SDK_LOAD_CONFIG": "1", **NO_IMDS, **REGION}, []),
    "two profiles": (AWS, [{"profile": {"path": "/run/a", "name": "one", "format": "aws-credentials"}},
                           {"profile": {"path": "/run/b", "name": "two", "format": "aws-credentials"}}], None,
                     {"AWS_SHARED_CREDENTIALS_FILE": "/run/a", "AWS_PROFILE": "one", **NO_IMDS, **REGION},
                     ["AWS_SHARED_CREDENTIALS_FILE can name one of several only", "AWS_PROFILE can name one"]),
    "aws token": (AWS, files("token"), None,
                  {"AWS_WEB_IDENTITY_TOKEN_FILE": "/run/out/token", "AWS_ROLE_ARN": ROLE, **NO_IMDS, **REGION}, []),
    "aws token beside keys": (AWS, files("token", "aws-credentials"), None,
                              {"AWS_SHARED_CREDENTIALS_FILE": "/run/out/aws-credentials", "AWS_PROFILE": "default", **NO_IMDS, **REGION},
                              []),
    "gcp files": (GCP, files("gcp-access-token", "gcp-external-account", "token"), None,
                  {"GOOGLE_APPLICATION_CREDENTIALS": "/run/out/gcp-external-account",
                   "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE": "/run/out/gcp-external-account"}, []),
    "gcp access token": (GCP, files("gcp-access-token"), None,
                         {"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": "/run/out/gcp-access-token"}, []),
    "azure token": (AZURE, files("token"), None,
                    {"AZURE_FEDERATED_TOKEN_FILE": "/run/out/token", "AZURE_CLIENT_ID": CLIENT, "AZURE_TENANT_ID": TENANT,
                     "AZURE_AUTHORITY_HOST": "https://login.microsoftonline.us/"}, []),
    "azure-env": (AZURE, files("azure-env", "token"), None,
                  {"AZURE_FEDERATED_TOKEN_FILE": "/run/out/token", "AZURE_CLIENT_ID": CLIENT, "AZURE_TENANT_ID": TENANT,
                   "AZURE_AUTHORITY_HOST": "https://login.microsoftonline.us/"}, []),
    "nothing": (AWS, files("json"), None, {}, ["no endpoint serves it"]),
}


def configure(path, exchange, publish, endpoint):
    """A configuration with one credential, named demo."""
    credential = {"name": "demo", "token": {"file": "/run/token"}, "exchange": exchange}
    if publish is not None:
        credential["publish"] = publish
    config = {"version": 1, "state_dir": str(path.parent / "state"), "credentials": [credential]}
    if endpoint is not None:
        config["endpoints"] = [{"listen": LISTEN, **endpoint}]
    path.write_text(json.dumps(config))
    return path


def ask(path, *argv, env=None):
    return subprocess.run([CREDFRESH, "env", "-c", str(path), *argv], capture_output=True, text=True, timeout=30,
                          env={"PATH": os.environ["PATH"], "HOME": str(path.parent), **(env or {})})


@pytest.mark.parametrize("case", CASES)
def test_variables(case, tmp_path):
    exchange, publish, endpoint, variables, notes = CASES[case]
    path = configure(tmp_path / "c.yaml", exchange, publish, endpoint)
    done = ask(path, "demo", "--format", "json")
    assert done.returncode == (0 if variables else 1), done.stderr
    doc = json.loads(done.stdout)
    assert doc["variables"] == {k: v for k, v in variables.items() if isinstance(v, str)}
    assert doc["from_files"] == {k: v[0] for k, v in variables.items() if not isinstance(v, str)}
    said = [line for line in done.stderr.splitlines() if line.startswith("credfresh: note: ")]
    assert len(said) == len(notes), done.stderr
    for line, part in zip(said, notes):
        assert part in line


WAYS = {  # by which a test has the variable of each source that docs/sdks.md names
    "endpoint `aws_container`": (AWS, None, CONTAINER), "endpoint `ec2_imds`": (AWS, None, {"ec2_imds": {"credential": "demo"}}),
    "format `aws-credentials`": (AWS, files("aws-credentials"), None), "endpoint `gce_metadata`": (GCP, None, METADATA),
    "format `gcp-external-account`": (GCP, files("gcp-external-account", "token"), None),
    "endpoint `azure_app_service`": (AZURE, None, APP_SERVICE), "format `azure-env`": (AZURE, files("azure-env", "token"), None)}


def recommended():
    """{source: ({SDKs that take it}, {those for which it does not work})} of the page."""
    page = (pathlib.Path(__file__).parents[2] / "docs/sdks.md").read_text()
    ways = {}
    for line in page.split("<!-- recommended")[1].split("<!-- end")[0].splitlines()[3:]:
        _, sdk, take, _, avoid = (cell.strip() for cell in line.strip("|").split("|"))
        for index, cell in enumerate((take, avoid)):
            for source in re.findall(r"\(((?:endpoint|format) `[^`]+`)\)", cell):
                ways.setdefault(source, (set(), set()))[index].add(sdk)
    return ways


@pytest.mark.parametrize("source", WAYS)
def test_hints_are_those_of_the_page(source, tmp_path):
    """Which SDKs take a way and which do not, in the words of docs/sdks.md; the recommended ones first."""
    done = ask(configure(tmp_path / "c.yaml", *WAYS[source]), "demo")
    said = [line.split("hint: ", 1)[1] for line in done.stderr.splitlines() if line.startswith("credfresh: hint: ") and " way for " in line]
    found = [set(), set()]
    for line in said:
        avoid, text = "is not the way for" in line, line.split("for ", 1)[1].split(": they")[0]
        found[avoid] |= set(text.split(", "))
    assert tuple(found) == recommended().get(source, (set(), set())), said
    assert said == sorted(said, key=lambda line: "is not the way for" in line)


def test_the_recommended_way_is_first(tmp_path):
    """Whatever the order of the endpoints is."""
    done = ask(configure(tmp_path / "c.yaml", AWS, None, {"ec2_imds": {"credential": "demo"}, **CONTAINER}), "demo")
    assert done.stdout.startswith("export AWS_CONTAINER_CREDENTIALS_FULL_URI="), done.stdout
    assert "export AWS_METADATA_ENDPOINT='" + URL + "'\n" in done.stdout
    assert "container credentials are better" in done.stderr


def test_kubernetes_is_an_exec_user(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(json.dumps({"version": 1, "state_dir": str(tmp_path / "state"), "credentials": [
        {"name": "cluster", "token": {"file": "/run/token"}, "publish": files("token")}]}))
    done = ask(path, "cluster")
    user = yaml.safe_load(re.search(r"\{name: .*\}", done.stderr).group(0))
    assert user["name"] == "cluster" and user["user"]["exec"]["args"] == ["get", "kube", "cluster"]
    assert user["user"]["exec"]["interactiveMode"] == "Never"


def test_rotated_service_account_key(tmp_path):
    """A format that names its variable needs nothing else to be found by it."""
    path = tmp_path / "c.yaml"
    key = {"name": "demo", "mint": {"gcp": {"service_account": "r@p.iam.gserviceaccount.com"}, "with": "admin"},
           "publish": files("gcp-service-account-key")}
    admin = {"name": "admin", "token": {"file": "/run/token"}, "exchange": GCP}
    path.write_text(json.dumps({"version": 1, "state_dir": str(tmp_path / "state"), "credentials": [admin, key]}))
    done = ask(path, "demo")
    assert done.returncode == 0, done.stderr
    assert "export GOOGLE_APPLICATION_CREDENTIALS='/run/out/gcp-service-account-key'\n" in done.stdout


def test_shell_takes_what_is_printed(tmp_path):
    """A path with a quote, and a secret that only the shell reads."""
    header = tmp_path / "it's $HOME `x`"
    header.write_text("s3cret\n")
    endpoint = {"azure_app_service": {"header": {"file": str(header)}, "identities": [{"credential": "demo"}]}}
    path = configure(tmp_path / "c.yaml", AZURE, None, endpoint)
    script = f'eval "$({CREDFRESH} env -c {path} demo 2>/dev/null)"; env'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert seen["IDENTITY_ENDPOINT"] == URL + "/msi/token"
    assert seen["IDENTITY_HEADER"] == "s3cret"
    assert seen["AZURE_CLIENT_ID"] == CLIENT
    assert "s3cret" not in ask(path, "demo").stdout


def test_env_file_has_no_secret(tmp_path):
    """What an env file cannot say is left out and told of, and the exit status says so."""
    (tmp_path / "header").write_text("s3cret")
    endpoint = {"azure_app_service": {"header": {"file": str(tmp_path / "header")}, "identities": [{"credential": "demo"}]}}
    done = ask(configure(tmp_path / "c.yaml", AZURE, None, endpoint), "demo", "--format", "env")
    assert done.returncode == 1
    assert done.stdout == f"IDENTITY_ENDPOINT={URL}/msi/token\nAZURE_CLIENT_ID={CLIENT}\n"
    assert "IDENTITY_HEADER is left out" in done.stderr and "s3cret" not in done.stderr
    assert "use --format sh" in done.stderr and "exec" not in done.stderr
    done = ask(configure(tmp_path / "c.yaml", AWS, None, CONTAINER), "demo", "--format", "env")
    assert done.returncode == 0
    assert "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/run/auth\n" in done.stdout


def test_warnings(tmp_path):
    """Of what is set here and of nothing else, by name and never by value."""
    path = configure(tmp_path / "c.yaml", AWS, None, CONTAINER)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text("")
    done = ask(path, "demo", env={"AWS_ACCESS_KEY_ID": "AKIASESAME", "http_proxy": "http://u:SESAME@proxy:3128"})
    assert done.returncode == 0
    assert "warning: AWS_ACCESS_KEY_ID is set and takes precedence" in done.stderr
    assert "; the printed commands unset it" in done.stderr
    assert done.stdout.startswith("unset AWS_ACCESS_KEY_ID\nexport AWS_CONTAINER_CREDENTIALS_FULL_URI=")
    assert f"warning: {tmp_path}/.aws/credentials exists and may take precedence" in done.stderr
    assert "warning: http_proxy is set" in done.stderr and "127.0.0.1 to no_proxy" in done.stderr
    assert "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" not in done.stderr + done.stdout
    assert "SESAME" not in done.stderr + done.stdout
    done = ask(path, "demo", "--format", "json", env={"AWS_PROFILE": "x"})
    assert "AWS_PROFILE is set and takes precedence" in done.stderr and "; unset it" in done.stderr
    (tmp_path / ".aws/credentials").unlink()
    done = ask(path, "demo")
    assert "warning" not in done.stderr and "unset" not in done.stdout


def test_shell_unsets_what_takes_precedence(tmp_path):
    path = configure(tmp_path / "c.yaml", AWS, None, CONTAINER)
    script = f'export AWS_PROFILE=x AWS_REGION=y; eval "$({CREDFRESH} env -c {path} demo 2>/dev/null)"; env'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert "AWS_PROFILE" not in seen and seen["AWS_REGION"] == "eu-west-1"


def test_botocore_before_1_32_is_named(tmp_path):
    done = ask(configure(tmp_path / "c.yaml", AWS, None, CONTAINER), "demo")
    assert "hint: botocore before 1.32 does not read AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE" in done.stderr
    assert "/run/auth in AWS_CONTAINER_AUTHORIZATION_TOKEN instead" in done.stderr


def test_mistakes(tmp_path):
    path = configure(tmp_path / "c.yaml", AWS, None, CONTAINER)
    done = ask(path, "other")
    assert done.returncode == 1 and "has no credential other" in done.stderr and done.stdout == ""
    done = ask(path, "demo", "--format", "fish")
    assert done.returncode == 2 and "use sh, env or json" in done.stderr
    assert ask(path).returncode == 2
    path.write_text("version: 2\n")
    done = ask(path, "demo")
    assert done.returncode == 3 and "must be 1" in done.stderr


def get(url, **headers):
    """(status, JSON) of a request with HEADERS, `_` for `-`."""
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def test_variables_lead_to_a_token(agent, cloud):
    """Both forms of Azure, as an SDK with the printed variables asks them."""
    shop = agent.credential(
        "shop", token={"file": str(cloud.volumes["azure"] / "token")}, publish=None,
        exchange={"azure": {"tenant_id": "11111111-2222-3333-4444-555555555555",
                            "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa", "ca_file": cloud.ca,
                            "authority_host": cloud.ready["azure_url"],
                            "scopes": ["https://management.azure.com", "https://vault.azure.net"]}})
    agent.configure(shop, endpoints=[{
        "listen": f"127.0.0.1:{free_port()}",
        "azure_app_service": {"header": {"file": str(agent.dir / "header")}, "identities": [{"credential": "shop"}]},
        "azure_imds": {"identities": [{"credential": "shop"}]}}])
    agent.start()
    # On a disk a child process writes the header file, so that may come later.
    eventually(lambda: agent.status("shop").get("state") == "fresh" and (agent.dir / "header").exists(), lambda: agent.log)
    doc = json.loads(agent.run("env", "shop", "--format", "json").stdout)
    service = doc["variables"]["IDENTITY_ENDPOINT"] + "?api-version=2019-08-01&resource="
    imds = (doc["variables"]["AZURE_POD_IDENTITY_AUTHORITY_HOST"]
            + "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=")
    secret = pathlib.Path(doc["from_files"]["IDENTITY_HEADER"]).read_text().strip()
    status, vault = get(service + "https://vault.azure.net", X_IDENTITY_HEADER=secret)
    assert status == 200 and vault["client_id"] == doc["variables"]["AZURE_CLIENT_ID"]
    status, arm = get(imds + "https://management.azure.com/", Metadata="true")
    assert status == 200 and arm["resource"] == "https://management.azure.com/" and 0 < int(arm["expires_in"]) <= 3600
    assert arm["access_token"] != vault["access_token"]
    assert get(imds + "https://vault.azure.net", Metadata="true")[1]["access_token"] == vault["access_token"]
    assert get(service + "https://vault.azure.net")[0] == 401
    assert get(imds + "https://vault.azure.net")[0] == 400
    assert get(imds + "https://graph.microsoft.com", Metadata="true")[1]["error"] == "invalid_resource"
    assert vault["access_token"] not in agent.log and secret not in agent.log
