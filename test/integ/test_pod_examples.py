# SPDX-License-Identifier: MIT
"""Configurations for pods, each with the manifest that its page names: an SDK of the application gets credentials by exactly the
variables that the manifest sets."""
import json
import os
import pathlib
import re
import shlex
import subprocess

import botocore
import pytest
import yaml

from conftest import CREDFRESH, REPO, ROLE, eventually
from endpoint_client import free_port

KUBERNETES = REPO / "container/kubernetes"
SIDECARS = ["native-sidecar", "sidecar"]
PLATFORMS = sorted((REPO / "docs/platforms").glob("*.md"))


def blocks(page):
    """The YAML blocks of PAGE."""
    return re.findall(r"^```yaml\n(.*?)^```$", (REPO / page).read_text(), re.M | re.S)


def configurations(page):
    return [yaml.safe_load(block) for block in blocks(page) if re.match(r"(#.*\n)*version: 1\n", block)]


def load(path):
    return yaml.safe_load((REPO / path).read_text())


def pod_of(manifest):
    return manifest["spec"]["template"]["spec"]


def manifest_of(folder):
    [path] = [path for path in (KUBERNETES / folder).glob("*.yaml") if path.stem in ("deployment", "job")]
    return yaml.safe_load(path.read_text())


def application(pod):
    return next(c for c in pod["containers"] if c["name"] != "credfresh")


def variables(pod, *patches):
    """The environment of the application in POD, with PATCHES as kustomize merges them."""
    merged = {}
    for entry in [e for p in (pod, *patches) for c in p.get("containers", []) if c["name"] == application(pod)["name"]
                  for e in c.get("env", [])]:
        merged[entry["name"]] = entry.get("value")
    return {name: value for name, value in merged.items() if value is not None}


def injected(page="docs/kubernetes.md"):
    """The Deployment that asks for an injected sidecar."""
    [block] = [block for block in blocks(page) if "credfresh.io/inject" in block]
    return yaml.safe_load(block)


def test_all_pages_show_one_sidecar():
    base = load("container/kubernetes/base/credfresh.yaml")
    [readme] = [c for c in configurations("README.md") if c["credentials"][0]["token"]["file"].startswith("/var/run/secrets/")]
    assert readme == base
    assert configurations("docs/platforms/eks.md")[0] == base
    example = load("examples/sidecar.yaml")
    assert example["credentials"][0].pop("reload") and example == base


@pytest.mark.parametrize("page", ["README.md", "examples/sidecar.yaml"])
def test_a_page_names_the_manifest_of_its_sidecar(page):
    assert "container/kubernetes/native-sidecar" in (REPO / page).read_text()


@pytest.mark.parametrize("page", ["docs/getting-started.md", "docs/kubernetes.md",
                                  *(f"docs/platforms/{path.name}" for path in PLATFORMS)])
def test_a_kustomization_finds_its_files(page):
    """In the directory `shop` of the sources, with what the page shows or copies there."""
    text = (REPO / page).read_text()
    kustomizations = [block for block in blocks(page) if "\nconfigMapGenerator:" in block]
    assert kustomizations
    for block in kustomizations:
        assert block.startswith("# shop/kustomization.yaml\n")
        wanted = yaml.safe_load(block)
        for resource in wanted["resources"]:
            assert (REPO / os.path.normpath(f"shop/{resource}") / "kustomization.yaml").exists()
        assert [file for map_ in wanted["configMapGenerator"] for file in map_["files"]] == ["credfresh.yaml"]
        assert "shop/credfresh.yaml" in text or re.search(r"^cp \S+/credfresh.yaml shop/", text, re.M)
        for patch in wanted.get("patches", []):
            assert f"```yaml\n# shop/{patch['path']}\n" in text
    assert "kubectl apply -k shop" in text


# ---- at work ----

@pytest.fixture
def pod(agent_factory, cloud, tmp_path):
    """An agent with a pod's configuration. Only what belongs to the machine or the cloud is another: paths, ports, the group, the
    role, and the way to the STS."""
    agent = agent_factory(cloud)
    ports = {"127.0.0.1:9911": f"127.0.0.1:{free_port()}", ":9080": f"127.0.0.1:{free_port()}"}

    def local(text):
        for old, new in {**ports, "/run/credentials/": f"{tmp_path}/credentials/",
                         "/var/run/secrets/credfresh/": f"{cloud.volumes['demo']}/"}.items():
            text = text.replace(old, new)
        return text

    def start(configuration):
        text = local(json.dumps(configuration)).replace('"group": "2000"', f'"group": "{os.getgid()}"')
        configuration = json.loads(text)
        for credential in configuration["credentials"]:
            credential["exchange"]["aws"].update(role_arn=ROLE, endpoint=cloud.sts, ca_file=cloud.ca)
            credential.pop("reload", None)  # its server is the application
        configuration.pop("exit_with", None)
        agent.config_path.write_text(json.dumps({**configuration, "state_dir": str(agent.state)}))
        (tmp_path / "credentials").mkdir()
        agent.start()
        agent.wait_generation(1, "app")
        return agent

    return start, local


SDK = """
import os, sys, botocore.session
client = botocore.session.Session().create_client("sts", endpoint_url=sys.argv[1], verify=sys.argv[2])
print(client.get_caller_identity()["Arn"])
"""


def ask(cloud, environment):
    """botocore with this environment, and nothing else to find credentials in."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", **environment}
    file = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    if file and tuple(map(int, botocore.__version__.split(".")[:2])) < (1, 32):  # which reads only the other variable
        environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = pathlib.Path(file).read_text()
    return subprocess.run(["/usr/bin/python3", "-c", SDK, cloud.sts, cloud.ca], env=environment, capture_output=True, text=True,
                          timeout=60)


@pytest.mark.parametrize("configuration, manifest", [
    *(pytest.param("container/kubernetes/base/credfresh.yaml", folder, id=folder) for folder in SIDECARS),
    pytest.param("examples/sidecar.yaml", "native-sidecar", id="example"),
    pytest.param("container/kubernetes/base/credfresh.yaml", None, id="injection"),
    pytest.param("container/kubernetes/job/credfresh.yaml", "job", id="job")])
def test_an_sdk_gets_credentials_by_the_manifests_variables(pod, cloud, configuration, manifest):
    start, local = pod
    environment = variables(pod_of(manifest_of(manifest) if manifest else injected()))
    assert "AWS_REGION" in environment and len(environment) >= 2
    agent = start(load(configuration))
    done = ask(cloud, {name: local(value) for name, value in environment.items()})
    assert done.returncode == 0 and re.match(r"arn:aws:sts::123456789012:assumed-role/demo/", done.stdout), done.stderr + agent.log


def test_an_sdk_gets_credentials_from_what_init_writes(pod, cloud, tmp_path):
    start, local = pod
    subprocess.run([CREDFRESH, "init", "aws", "--role-arn", ROLE, "--region", "eu-west-1", "-o", tmp_path / "app.yaml"], check=True)
    environment = variables(pod_of(yaml.safe_load((tmp_path / "app-kubernetes.yaml").read_text())))
    agent = start(yaml.safe_load((tmp_path / "app.yaml").read_text()))
    done = ask(cloud, {name: local(value) for name, value in environment.items()})
    assert done.returncode == 0 and re.match(r"arn:aws:sts::123456789012:assumed-role/demo/", done.stdout), done.stderr + agent.log


def test_without_the_endpoint_the_sdk_is_refused(pod, cloud):
    """The test above notices what it is for."""
    start, local = pod
    configuration = load("container/kubernetes/base/credfresh.yaml")
    del configuration["endpoints"]
    start(configuration)
    environment = variables(pod_of(manifest_of("native-sidecar")))
    pathlib.Path(local(environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"])).write_text("none")
    assert ask(cloud, {name: local(value) for name, value in environment.items()}).returncode != 0


# ---- other clouds ----

WAYS = [pytest.param(path, way, id=f"{path.stem}-{way}") for path in PLATFORMS
        for way in range(len(configurations(f"docs/platforms/{path.name}")))]


@pytest.mark.parametrize("page, way", WAYS)
def test_a_platforms_variables_are_those_of_its_configuration(page, way, tmp_path):
    """`credfresh env` knows each variable that a page sets in the application, with the same value."""
    page = f"docs/platforms/{page.name}"
    patches = [pod_of(yaml.safe_load(block)) for block in blocks(page) if block.startswith("# shop/app.yaml\n")]
    # EKS's second way has no configuration of its own, and its patch no variables.
    environment = variables(pod_of(manifest_of("native-sidecar")), *patches[way:way + 1])
    configuration = configurations(page)[way]
    path = tmp_path / "credfresh.yaml"
    path.write_text(json.dumps(configuration))
    done = subprocess.run([CREDFRESH, "env", "-c", path, configuration["credentials"][0]["name"]], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin"}, timeout=30)
    printed = dict(word.split("=", 1) for line in done.stdout.splitlines() for word in shlex.split(line) if "=" in word)
    assert environment and environment.items() <= printed.items(), f"{done.stdout}{done.stderr}"
