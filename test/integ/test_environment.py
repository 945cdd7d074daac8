# SPDX-License-Identifier: MIT
"""Without a configuration file: the environment is enough, and `check` prints it as a configuration file."""
import json
import os
import subprocess

import pytest

from conftest import CREDFRESH, ROLE
from test_sources import CLIENT, TENANT, gcp_form


def run(agent, command, env, *argv):
    """A command that has nothing but ENV."""
    clean = {"PATH": os.environ["PATH"], "CREDFRESH_DIRECTORY": str(agent.out), "CREDFRESH_STATE_DIR": str(agent.state),
             **env}
    return subprocess.run([CREDFRESH, command, *argv], capture_output=True, text=True, timeout=60, env=clean,
                          cwd=agent.dir)


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud)


def aws(cloud):
    return {"AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": str(cloud.volumes["demo"] / "token"),
            "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_STS": cloud.http, "AWS_ROLE_SESSION_NAME": "from-env"}


def container(cloud):
    cloud.admin("/volume", {"name": "pod", "service_account": "demo", "audience": "pods.eks.amazonaws.com"})
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": cloud.ready["pod_identity_url"], "AWS_REGION": "eu-west-1",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(cloud.dir.absolute() / "volumes" / "pod" / "token")}


def azure(cloud, secret=False):
    # The public cloud's authority has a certificate of its own; the local one is reached without TLS.
    host = cloud.http.rstrip("/") + "/azure"
    proof = {"AZURE_CLIENT_SECRET": "demo-client-secret"} if secret else {
        "AZURE_FEDERATED_TOKEN_FILE": str(cloud.volumes["azure"] / "token")}
    return {"AZURE_CLIENT_ID": CLIENT, "AZURE_TENANT_ID": TENANT, "AZURE_AUTHORITY_HOST": host, **proof}


def google(cloud, agent):
    path = agent.dir / "google.json"
    form = gcp_form(cloud)["service_account.json"].replace(cloud.ready["gcp_url"], cloud.http.rstrip("/") + "/gcp")
    path.write_text(form)
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(path), "CLOUDSDK_API_ENDPOINT_OVERRIDES_STS": cloud.http.rstrip("/") + "/gcp/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS": cloud.http.rstrip("/") + "/gcp/"}


def openstack(cloud):
    return {"OS_AUTH_URL": cloud.ready["keystone_url"], "OS_CACERT": cloud.ca, "OS_AUTH_TYPE": "v3applicationcredential",
            "OS_APPLICATION_CREDENTIAL_ID": "demo-app-credential", "OS_APPLICATION_CREDENTIAL_SECRET": "demo-secret",
            "OS_REGION_NAME": "RegionOne"}


def password(cloud):
    return {"OS_AUTH_URL": cloud.ready["keystone_url"], "OS_CACERT": cloud.ca, "OS_USERNAME": "demo",
            "OS_PASSWORD": "demo-password", "OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_ID": "demo-project",
            "OS_PROJECT_NAME": "demo", "OS_PROJECT_DOMAIN_ID": "default"}


def once(agent, env, *files):
    done = run(agent, "once", env)
    assert done.returncode == 0, done.stderr
    for file in files:
        assert (agent.out / file).stat().st_size > 0
    return done


def test_aws(agent):
    once(agent, aws(agent.cloud), "aws/credentials", "aws/credential-process.json", "aws/token")
    doc = json.loads((agent.out / "aws" / "credential-process.json").read_text())
    assert doc["SessionToken"]
    assert [entry["session_name"] for entry in agent.cloud.exchanges()] == ["from-env"]


def test_the_start_says_how_the_application_finds_the_files(agent):
    """Path and variables of each credential, and what the webhook's own variables would hide them behind."""
    done = once(agent, {**aws(agent.cloud), **azure(agent.cloud)})
    line = next(line for line in done.stderr.splitlines() if "aws: published as " in line)
    assert f"published as {agent.out}/aws/credentials, {agent.out}/aws/credential-process.json, " in line
    assert f"set in the application's environment: AWS_SHARED_CREDENTIALS_FILE={agent.out}/aws/credentials AWS_PROFILE=default" in line
    assert line.endswith("; unset there AWS_WEB_IDENTITY_TOKEN_FILE")
    line = next(line for line in done.stderr.splitlines() if "azure: published as " in line)
    assert f"{agent.out}/azure/token.json; SDKs find no such file by a variable" in line
    kept = agent.dir / "kept.yaml"
    kept.write_text(run(agent, "check", aws(agent.cloud)).stdout)
    assert "published as" not in run(agent, "once", aws(agent.cloud), "-c", str(kept)).stderr


def test_variables_of_olm(agent):
    env = aws(agent.cloud)
    once(agent, {**env, "AWS_ROLE_ARN": "", "ROLEARN": env["AWS_ROLE_ARN"]}, "aws/credentials")
    env = azure(agent.cloud)
    once(agent, {"AZURE_AUTHORITY_HOST": env["AZURE_AUTHORITY_HOST"], "CLIENTID": CLIENT, "TENANTID": TENANT,
                 "AZURE_FEDERATED_TOKEN_FILE": env["AZURE_FEDERATED_TOKEN_FILE"], "SUBSCRIPTIONID": "any"}, "azure/token.json")


def test_aws_ca_bundle(agent, tmp_path):
    """Requests to AWS are verified with it, rather than with SSL_CERT_FILE; a `ca_file` takes precedence."""
    env = {**aws(agent.cloud), "AWS_ENDPOINT_URL_STS": agent.cloud.sts}
    refused = run(agent, "once", env, "--timeout", "20s")
    assert refused.returncode != 0 and "not signed by a CA in" in refused.stderr, refused.stderr
    once(agent, {**env, "AWS_CA_BUNDLE": agent.cloud.ca, "SSL_CERT_FILE": "/nonexistent"}, "aws/credentials")
    kept = agent.dir / "kept.yaml"
    text = run(agent, "check", {**env, "CREDFRESH_DIRECTORY": str(tmp_path / "other")}).stdout
    kept.write_text(text.replace("      aws:\n", f"      aws:\n        ca_file: {agent.cloud.ca}\n"))
    done = run(agent, "once", {**env, "AWS_CA_BUNDLE": "/nonexistent/ca.pem"}, "-c", str(kept))
    assert done.returncode == 0, done.stderr
    kept.write_text(text.replace("other", "third"))
    done = run(agent, "once", {**env, "AWS_CA_BUNDLE": "/nonexistent/ca.pem"}, "-c", str(kept), "--timeout", "20s")
    assert done.returncode != 0 and "/nonexistent/ca.pem" in done.stderr, done.stderr


def test_aws_ca_bundle_is_for_aws_alone(agent):
    env = {**azure(agent.cloud), "AZURE_AUTHORITY_HOST": agent.cloud.ready["azure_url"], "AWS_CA_BUNDLE": agent.cloud.ca}
    done = run(agent, "once", env, "--timeout", "20s")
    assert done.returncode != 0 and "not signed by a CA in" in done.stderr, done.stderr


def test_aws_container(agent):
    once(agent, container(agent.cloud), "aws/credentials")
    assert len(agent.cloud.exchanges("pod_identity.credentials")) == 1


@pytest.mark.parametrize("secret", [False, True])
def test_azure(agent, secret):
    done = once(agent, azure(agent.cloud, secret), "azure/token.json")
    assert "demo-client-secret" not in done.stderr + done.stdout


def test_google(agent):
    once(agent, google(agent.cloud, agent), "gcp/access-token", "gcp/token.json")
    assert (agent.out / "gcp" / "access-token").read_text().startswith("ya29.")


@pytest.mark.parametrize("env", [openstack, password])
def test_openstack(agent, env):
    done = once(agent, env(agent.cloud), "openstack/clouds.yaml", "openstack/token")
    assert "demo-secret" not in done.stderr and "demo-password" not in done.stderr


def test_several_at_once_and_the_file_that_check_prints(agent):
    env = {**aws(agent.cloud), **azure(agent.cloud), **google(agent.cloud, agent), **openstack(agent.cloud)}
    shown = run(agent, "check", env)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "demo-secret" not in shown.stdout
    # Everything that was printed is a configuration file, and says the same.
    kept = agent.dir / "kept.yaml"
    kept.write_text(shown.stdout)
    again = run(agent, "check", env, "-c", str(kept))
    assert again.returncode == 0, again.stdout + again.stderr
    done = run(agent, "once", env, "-c", str(kept))
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(agent.out)) == ["aws", "azure", "gcp", "openstack"]
    # The same configuration: what the file published is still good for what the environment says.
    before = agent.cloud.stats()["requests"]
    assert run(agent, "once", env).returncode == 0
    assert agent.cloud.stats()["requests"] == before


def test_nothing_and_halves(agent):
    nothing = run(agent, "once", {})
    assert nothing.returncode == 3 and "nothing in the environment to work from" in nothing.stderr, nothing.stderr
    half = run(agent, "check", {"AZURE_CLIENT_ID": CLIENT})
    assert half.returncode == 3 and "but not AZURE_TENANT_ID" in half.stdout


def test_doctor_names_variables_in_place_of_keys(agent):
    """Nobody has written the key `state_dir`."""
    state = agent.dir / "a-file"
    state.write_text("")
    done = run(agent, "doctor", {**aws(agent.cloud), "CREDFRESH_STATE_DIR": str(state)}, "--offline")
    assert done.returncode == 1 and "is not a directory" in done.stdout, done.stdout + done.stderr
    assert "CREDFRESH_STATE_DIR" in done.stdout and "`state_dir`" not in done.stdout, done.stdout
