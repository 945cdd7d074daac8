# SPDX-License-Identifier: MIT
"""What a release consists of agrees: one version everywhere, a section of the changelog for it, a chart whose values are
all used, and an injected sidecar that is that of the manifests. What takes a cluster or a build is in test/real."""
import copy
import json
import re
import subprocess

import pytest
import yaml

from conftest import CREDFRESH, REPO

VERSION = re.search(r"^project\(credfresh VERSION (\S+)", (REPO / "CMakeLists.txt").read_text(), re.M)[1]
KUBERNETES = REPO / "container/kubernetes"
CHART = REPO / "container/helm/credfresh"
INJECTION = KUBERNETES / "injection"
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Upgrading")


def load(path):
    return yaml.safe_load(path.read_text())


def test_one_version():
    chart = load(CHART / "Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)
    tags = {path.parent.name: [image["newTag"] for image in load(path).get("images", [])]
            for path in KUBERNETES.rglob("kustomization.yaml")}
    assert sum(map(len, tags.values())) >= 7 and {tag for found in tags.values() for tag in found} == {VERSION}, tags
    assert f'\nversion = "{VERSION}"\n' in (REPO / "libcredfresh/python/pyproject.toml").read_text()
    assert load(INJECTION / "settings.yaml")["data"]["image"].endswith(f"/credfresh:{VERSION}")


def test_the_changelog_has_the_version_first():
    text = (REPO / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## (.*)$", text, re.M)
    assert re.fullmatch(rf"\[{re.escape(VERSION)}\] - (unreleased|\d{{4}}-\d\d-\d\d)", versions[0])
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in versions[1:])
    assert set(re.findall(r"^### (.*)$", text, re.M)) <= set(KINDS)


@pytest.mark.parametrize("arguments", [["--publish"], ["one", "two"]])
def test_the_release_takes_no_other_arguments(arguments):
    done = subprocess.run(["sh", REPO / "tools/release.sh", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == "usage: release.sh [--rehearse] [DIR]\n"


def paths(values, schema, above=""):
    """The values of the chart that its schema knows no parts of, such as "image.tag"."""
    for key, value in values.items():
        if isinstance(value, dict) and "properties" in schema[key] and key != "securityContext":
            yield from paths(value, schema[key]["properties"], f"{above}{key}.")
        else:
            yield above + key


def test_every_value_of_the_chart_is_used_and_none_is_unknown():
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    known = set(paths(load(CHART / "values.yaml"), schema))
    templates = "".join(path.read_text() for path in sorted((CHART / "templates").iterdir()))
    used = set(re.findall(r"\.Values\.([\w.]+)", templates))
    used = {path for path in used if path in known or not any(k.startswith(path + ".") for k in known)}
    used |= {"securityContext"}
    used -= {"securityContext.runAsUser", "securityContext.runAsGroup", "podSecurityContext.fsGroup"}
    assert used == known


@pytest.mark.parametrize("values", sorted((CHART / "ci").iterdir()), ids=lambda path: path.stem)
def test_the_charts_configurations_are_valid(tmp_path, values):
    path = tmp_path / "credfresh.yaml"
    path.write_text(load(values)["config"])
    done = subprocess.run([CREDFRESH, "check", "-c", path], capture_output=True, text=True, env={}, timeout=30)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    assert not [line for line in done.stdout.splitlines() if line.startswith("ERROR") and "this is not a pod" not in line]


def injected():
    """The container that the policy adds. Its expression is YAML but for the names of types."""
    expression = load(INJECTION / "policy.yaml")["spec"]["mutations"][0]["jsonPatch"]["expression"]
    literal = re.sub(r"Object[\w.]*\{", "{", expression).partition('"/spec/initContainers/0", value: ')[2]
    return yaml.safe_load(literal.strip().removesuffix("}]"))


def test_the_injected_sidecar_is_the_native_one():
    pod = load(KUBERNETES / "native-sidecar/deployment.yaml")["spec"]["template"]["spec"]
    wanted = copy.deepcopy(pod["initContainers"][0])
    wanted["image"] = "params.data.image"
    # The pod's own context need not say it.
    wanted["securityContext"] |= {"runAsNonRoot": pod["securityContext"]["runAsNonRoot"],
                                  "seccompProfile": pod["securityContext"]["seccompProfile"]}
    for mount in wanted["volumeMounts"]:
        if mount["name"] != "credentials":
            mount["name"] = "credfresh-" + mount["name"]
    assert injected() == wanted


def test_policy_and_binding_belong_together():
    policy, binding, settings = (load(INJECTION / f"{name}.yaml") for name in ("policy", "binding", "settings"))
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    param = binding["spec"]["paramRef"]
    assert (param["name"], param["namespace"]) == (settings["metadata"]["name"], settings["metadata"]["namespace"])
    used = set(re.findall(r"params\.data\.(\w+)", yaml.safe_dump(policy)))
    assert used == set(settings["data"])
