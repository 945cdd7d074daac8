# SPDX-License-Identifier: MIT
"""`credfresh-oidc manifests`: the files for the cluster and the clouds, and the commands of their tools as they come out."""
import hashlib
import json
import os
import re
import ssl
import subprocess
import urllib.parse

import pytest

from test_oidc import DATA, Issuer

URL = "https://demo-oidc.s3.eu-west-1.amazonaws.com"
ACCOUNTS = ["--service-account", "images/registry", "--service-account", "apps/web"]
OPENSHIFT = ["--audience", "openshift"]


@pytest.fixture
def issuer(tmp_path):
    made = Issuer(tmp_path / "issuer")
    made.good("init", "--issuer", URL, "--token-life", "24h", "--signing-key", str(DATA / "jwt/rsa-traditional.pem"),
              "--certificates")
    made.out = tmp_path / "out"
    return made


def write(issuer, *words):
    return issuer.good("manifests", "--output", str(issuer.out), *words)


def tell(issuer, tmp_path, part, **variables):
    """The commands that tell.sh PART runs, by tools that only write down their arguments."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    log = tmp_path / "log"
    log.write_text("")
    for name in ("aws", "az", "gcloud", "oc"):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nfor a in {name} "$@"; do printf "%s\\0" "$a"; done >> {log}\nprintf "\\n" >> {log}\n')
        tool.chmod(0o755)
    done = subprocess.run(["sh", str(issuer.out / "tell.sh"), part], capture_output=True, text=True, timeout=30,
                          env={"PATH": f"{tools}:{os.environ['PATH']}", **variables})
    return done, [line.split("\0")[:-1] for line in log.read_text().splitlines()]


def test_the_files(issuer):
    """Those that ccoctl writes too are equal as JSON; nothing is written again."""
    names = write(issuer, "--offline", *OPENSHIFT, *ACCOUNTS).splitlines()
    assert {name.rpartition("/")[2] for name in names} == {path.name for path in issuer.out.iterdir()} == {
        "cluster-authentication-02-config.yaml", "aws-oidc-provider.json", "gcp-pool-provider.json", "keys.json", "tell.sh",
        "azure-images_registry.json", "azure-apps_web.json", "aws-trust-images_registry.json", "aws-trust-apps_web.json"}
    assert write(issuer, "--offline", *OPENSHIFT, *ACCOUNTS) == ""
    assert (issuer.out / "cluster-authentication-02-config.yaml").read_text() == f"""apiVersion: config.openshift.io/v1
kind: Authentication
metadata:
  name: cluster
spec:
  serviceAccountIssuer: {URL}
"""
    documents = {path.name: json.loads(path.read_text()) for path in issuer.out.glob("*.json")}
    assert documents["aws-oidc-provider.json"] == {"Url": URL, "ClientIDList": ["openshift", "sts.amazonaws.com"]}
    assert documents["gcp-pool-provider.json"] == {
        "oidc": {"issuerUri": URL, "allowedAudiences": ["openshift"]},
        "attributeMapping": {"google.subject": "assertion.sub"}}
    assert documents["azure-images_registry.json"] == {
        "name": "images_registry", "issuer": URL, "subject": "system:serviceaccount:images:registry",
        "audiences": ["openshift"]}
    assert documents["keys.json"] == json.loads((DATA / "openshift/ccoctl/keys.json").read_text())  # and no x5c
    trust = documents["aws-trust-apps_web.json"]["Statement"][0]
    host = URL.removeprefix("https://")
    assert trust["Condition"] == {"StringEquals": {host + ":sub": "system:serviceaccount:apps:web", host + ":aud": "openshift"}}


def test_the_usual_audiences(issuer):
    write(issuer, "--offline", *ACCOUNTS)
    assert json.loads((issuer.out / "aws-oidc-provider.json").read_text())["ClientIDList"] == ["sts.amazonaws.com"]
    assert json.loads((issuer.out / "azure-apps_web.json").read_text())["audiences"] == ["api://AzureADTokenExchange"]
    assert "allowedAudiences" not in json.loads((issuer.out / "gcp-pool-provider.json").read_text())["oidc"]


def test_the_commands(issuer, tmp_path):
    write(issuer, "--offline", *OPENSHIFT, *ACCOUNTS)
    assert tell(issuer, tmp_path, "cluster")[1] == [["oc", "apply", "-f", "cluster-authentication-02-config.yaml"]]
    assert tell(issuer, tmp_path, "aws")[1] == [
        ["aws", "iam", "create-open-id-connect-provider", "--cli-input-json", "file://aws-oidc-provider.json"]]
    done, ((*_, policy),) = tell(issuer, tmp_path, "aws-trust", AWS_ACCOUNT="123456789012", AWS_ROLE="registry",
                                 SERVICE_ACCOUNT="images/registry")
    assert json.loads(policy)["Statement"][0]["Principal"]["Federated"] == (
        "arn:aws:iam::123456789012:oidc-provider/" + URL.removeprefix("https://"))
    _, azure = tell(issuer, tmp_path, "azure", AZURE_RESOURCE_GROUP="rg", AZURE_IDENTITY="id")
    assert azure[0] == ["az", "identity", "federated-credential", "create", "--resource-group", "rg", "--identity-name", "id",
                        "--name", "images_registry", "--issuer", URL, "--subject", "system:serviceaccount:images:registry",
                        "--audiences", "openshift"] and len(azure) == 2
    _, app = tell(issuer, tmp_path, "azure-app", AZURE_APP="app")
    assert [call[-1] for call in app] == ["@azure-images_registry.json", "@azure-apps_web.json"]
    _, gcp = tell(issuer, tmp_path, "gcp", GCP_PROJECT="p", GCP_POOL="pool", GCP_PROVIDER="prov")
    assert gcp[1] == ["gcloud", "iam", "workload-identity-pools", "providers", "create-oidc", "prov", "--project=p",
                      "--location=global", "--workload-identity-pool=pool", "--issuer-uri=" + URL,
                      "--attribute-mapping=google.subject=assertion.sub", "--allowed-audiences=openshift"]
    _, keys = tell(issuer, tmp_path, "gcp-keys", GCP_PROJECT="p", GCP_POOL="pool", GCP_PROVIDER="prov")
    assert keys[0][4:6] == ["update-oidc", "prov"] and keys[0][-1] == "--jwk-json-path=keys.json"
    _, bind = tell(issuer, tmp_path, "gcp-bind", GCP_PROJECT_NUMBER="1", GCP_POOL="pool", GCP_SERVICE_ACCOUNT="a@b")
    assert [call[-1].rpartition("/")[2] for call in bind] == ["system:serviceaccount:images:registry",
                                                              "system:serviceaccount:apps:web"]


def test_accounts_that_differ_by_a_dash(issuer, tmp_path):
    """Each has its own file, and a role is opened to the account that was asked for."""
    pair = ["team-a/b", "team/a-b"]
    write(issuer, "--offline", *(word for account in pair for word in ("--service-account", account)))
    for account in pair:
        _, ((*_, policy),) = tell(issuer, tmp_path, "aws-trust", AWS_ACCOUNT="123456789012", AWS_ROLE="r", SERVICE_ACCOUNT=account)
        assert "system:serviceaccount:" + account.replace("/", ":") in policy
    _, app = tell(issuer, tmp_path, "azure-app", AZURE_APP="app")
    made = [json.loads((issuer.out / call[-1].removeprefix("@")).read_text()) for call in app]
    assert len({item["name"] for item in made}) == 2
    assert [item["subject"] for item in made] == ["system:serviceaccount:" + account.replace("/", ":") for account in pair]
    longest = "ns/" + "n" * 232
    write(issuer, "--offline", "--service-account", longest)
    assert tell(issuer, tmp_path, "aws-trust", AWS_ACCOUNT="1", AWS_ROLE="r", SERVICE_ACCOUNT=longest)[0].returncode == 0
    assert all((issuer.out / call[-1][1:]).exists() for call in tell(issuer, tmp_path, "azure-app", AZURE_APP="app")[1])


def test_what_the_commands_need(issuer, tmp_path):
    write(issuer, "--offline", *ACCOUNTS)
    script = (issuer.out / "tell.sh").read_text()
    parts = re.findall(r"^([a-z-]+)\)$", script, re.M)
    done, calls = tell(issuer, tmp_path, "help")
    assert done.returncode == 2 and not calls
    assert [line.split()[-1] for line in done.stderr.splitlines()] == parts
    for part in set(parts) - {"cluster", "aws"}:
        done, calls = tell(issuer, tmp_path, part)
        assert done.returncode != 0 and not calls and re.search("[A-Z_]+: ", done.stderr), part
    subprocess.run(["sh", "-n", str(issuer.out / "tell.sh")], check=True)


def test_the_thumbprint_of_the_server(shared_cloud, tmp_path):
    """SHA-1 of the last certificate that it presents, which is verified; without it IAM finds its own."""
    issuer = Issuer(tmp_path / "issuer")
    issuer.out = tmp_path / "out"
    url = shared_cloud.sts.rstrip("/") + "/objects/s3/demo"
    issuer.good("init", "--issuer", url, "--token-life", "24h", "--key", "ecdsa-p256")
    parts = urllib.parse.urlsplit(url)
    shown = subprocess.run(["openssl", "s_client", "-connect", parts.netloc, "-showcerts"], input=b"", capture_output=True)
    last = re.findall(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", shown.stdout, re.S)[-1]
    expected = hashlib.sha1(ssl.PEM_cert_to_DER_cert(last.decode())).hexdigest().upper()
    write(issuer, "--ca-file", shared_cloud.ca)
    assert json.loads((issuer.out / "aws-oidc-provider.json").read_text())["ThumbprintList"] == [expected]
    _, ((*_, thumbprint),) = tell(issuer, tmp_path, "aws-thumbprint", AWS_ACCOUNT="123456789012")
    assert thumbprint == expected
    done = issuer.run("manifests", "--output", str(issuer.out))
    assert done.returncode == 0 and "no thumbprint for IAM" in done.stderr
    assert "ThumbprintList" not in (issuer.out / "aws-oidc-provider.json").read_text()


def test_what_cannot_be_written(issuer):
    for words, says in [(["--service-account", "registry"], "NAMESPACE/NAME"), (["--service-account", "a/b;c"], "NAMESPACE/NAME"),
                        (["--service-account", "../b"], "NAMESPACE/NAME"), (["--audience", "a'b"], "one word"),
                        (["--audience", "a b"], "one word"),
                        (["--service-account", "ns/" + "n" * 233], "more than 235 characters")]:
        done = issuer.run("manifests", "--offline", "--output", str(issuer.out), *words)
        assert done.returncode == 2 and says in done.stderr, (words, done)
    assert not issuer.out.exists()
    for words in (["manifests"], ["manifests", "--output", "out"]):
        assert "--output with an absolute path" in issuer.run(*words).stderr
