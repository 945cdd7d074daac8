# SPDX-License-Identifier: MIT
"""`credfresh init`: what it writes passes `credfresh check`, and the objects of the cluster agree with the configuration."""
import itertools
import re
import subprocess

import pytest
import yaml

from conftest import CREDFRESH, REPO, needs_namespace

UUID = "11111111-2222-3333-4444-555555555555"
PROVIDER = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/pool/providers/cluster"
AWS = {"role-arn": "arn:aws:iam::123456789012:role/app", "region": "eu-west-1"}
GOOGLE = {"audience": PROVIDER, "service-account": "app@project.iam.gserviceaccount.com"}
AZURE = {"tenant-id": UUID, "client-id": UUID}
FORMS = ["sidecar", "node", "secret"]
# The kind, and all values that it takes.
CASES = {
    "aws": ("aws", AWS),
    "gcp": ("gcp", GOOGLE),
    "azure": ("azure", {**AZURE, "scope": "https://vault.azure.net/.default"}),
    "openstack": ("openstack", {"auth-url": "https://keystone.example.com:5000/v3", "application-credential-id": "21dced0fd20347869b93710d2b98aae0",
                                "region": "RegionOne"}),
    "ecr": ("registry", {**AWS, "registry": "123456789012.dkr.ecr.eu-west-1.amazonaws.com"}),
    "artifact-registry": ("registry", {**GOOGLE, "registry": "europe-docker.pkg.dev"}),
    "acr": ("registry", {**AZURE, "registry": "registry.azurecr.io"}),
    "oauth": ("oauth", {"audience": "https://login.example.com", "token-url": "https://login.example.com/oauth2/token", "scope": "read"}),
}
ALL = [pytest.param(case, form, id=f"{case}-{form}") for case, form in itertools.product(CASES, FORMS)]
# An empty /run, and what a kubelet gives a container of a pod.
POD = """mount -t tmpfs run /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount && cd /run/secrets/kubernetes.io/serviceaccount &&
    printf shop >namespace && printf a.b.c >token && cp "$1" ca.crt && cd "$2" && shift 2 && exec "$@\""""


def run(*argv, wrapper=(), **how):
    return subprocess.run([*wrapper, CREDFRESH, *map(str, argv)], capture_output=True, text=True, timeout=60, **how)


def init(tmp_path, case, form, *more, values=True):
    kind, given = CASES[case]
    options = [word for name, value in given.items() for word in ("--" + name, value)] if values else []
    if not values and kind == "registry":
        options = ["--registry", given["registry"]]
    done = run("init", kind, "--" + form, *options, *more, "-o", "app.yaml", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "", done
    return done


def configuration(tmp_path):
    return yaml.safe_load((tmp_path / "app.yaml").read_text())


@pytest.mark.parametrize("case, form", ALL)
def test_with_the_values_check_passes(tmp_path, case, form):
    needs_namespace("--mount")
    done = init(tmp_path, case, form)
    assert "REPLACE-ME" not in (tmp_path / "app.yaml").read_text() and "Complete it" not in done.stderr, done
    checked = run("check", "-c", "app.yaml", cwd=tmp_path, wrapper=("unshare", "--mount", "sh", "-c", POD, "sh", REPO / "test/data/gcp/files/leaf.pem", tmp_path),
                  env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"})
    assert checked.returncode == 0, checked


@pytest.mark.parametrize("case, form", ALL)
def test_without_values_check_names_each_placeholder(tmp_path, case, form):
    done = init(tmp_path, case, form, values=False)
    wanted = re.findall(r'(\w+): \[?"REPLACE-ME with (.*?)"', (tmp_path / "app.yaml").read_text())
    assert len(wanted) >= 2
    checked = run("check", "-c", "app.yaml", cwd=tmp_path)
    assert checked.returncode == 3, checked
    for key, words in wanted:
        says = f"{key}: REPLACE-ME is a placeholder; write {words}\n"
        assert says in checked.stdout + checked.stderr and says in done.stderr
    assert f"{len(wanted)} error" in checked.stdout + checked.stderr


@pytest.mark.parametrize("case", CASES)
def test_a_patch_of_the_pod_agrees_with_the_configuration(tmp_path, case):
    init(tmp_path, case, "sidecar", "--name", "web", "--image", "registry.shop.example/credfresh:1")
    patch = yaml.safe_load((tmp_path / "app-kubernetes.yaml").read_text())
    pod = patch["spec"]["template"]["spec"]
    agent, program = pod["initContainers"][0], pod["containers"][0]
    assert patch["metadata"]["name"] == program["name"] == configuration(tmp_path)["credentials"][0]["name"] == "web"
    assert agent["image"] == "registry.shop.example/credfresh:1"
    agrees(pod, agent, configuration(tmp_path))
    assert [m["mountPath"] for m in program["volumeMounts"]] == ["/run/credentials"]
    published = configuration(tmp_path)["credentials"][0]["publish"]
    assert {file["group"] for file in published["files"]} == {str(pod["securityContext"]["fsGroup"])}
    said = run("env", "web", "-c", "app.yaml", "--format", "env", cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})
    variables = {variable["name"]: variable["value"] for variable in program.get("env", [])}
    assert set(f"{name}={value}" for name, value in variables.items()) <= set(said.stdout.splitlines()), said


@pytest.mark.parametrize("case", CASES)
def test_the_role_agrees_with_the_configuration(tmp_path, case):
    init(tmp_path, case, "secret", "--name", "web")
    account, role, binding, deployment = yaml.safe_load_all((tmp_path / "app-kubernetes.yaml").read_text())
    pod = deployment["spec"]["template"]["spec"]
    assert [o["kind"] for o in (account, role, binding, deployment)] == ["ServiceAccount", "Role", "RoleBinding", "Deployment"]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "patch", "create", "list", "watch"],
                              "resourceNames": [configuration(tmp_path)["credentials"][0]["publish"]["secret"]["name"]]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"] == pod["serviceAccountName"]
    agrees(pod, pod["containers"][0], configuration(tmp_path))


def agrees(pod, agent, config):
    """What the agent reads and writes is mounted; its token has the audience that the configuration names."""
    mounted = {mount["name"]: mount["mountPath"] for mount in agent["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert set(mounted) == set(volumes)
    credential = config["credentials"][0]
    if "token" in credential:
        token = volumes["credfresh-token"]["projected"]["sources"][0]["serviceAccountToken"]
        assert credential["token"] == {"file": f"{mounted['credfresh-token']}/{token['path']}", "audience": token["audience"]}
    else:
        path = credential["exchange"]["openstack"]["application_credential_secret_file"]
        assert path.rpartition("/")[0] == mounted["openstack"]
    assert mounted["credfresh-configuration"] == "/etc/credfresh" and mounted["credfresh-state"] == "/run/credfresh"


@pytest.mark.parametrize("case", CASES)
def test_a_node_has_the_paths_of_the_unit(tmp_path, case):
    init(tmp_path, case, "node", "--name", "web")
    text = (tmp_path / "app.yaml").read_text()
    assert configuration(tmp_path)["credentials"][0]["publish"]["directory"] == "/run/secrets/credfresh/web"
    assert "/run/credfresh-reload/web" in text and "credfresh-reload@web.path" in text
    assert not (tmp_path / "app-kubernetes.yaml").exists()


def test_without_a_file_the_configuration_is_printed(tmp_path):
    printed = run("init", "aws", cwd=tmp_path)
    assert printed.returncode == 0 and printed.stderr == "" and list(tmp_path.iterdir()) == []
    init(tmp_path, "aws", "sidecar", values=False)
    assert printed.stdout == (tmp_path / "app.yaml").read_text()


@pytest.mark.parametrize("taken", ["app.yaml", "app-kubernetes.yaml"])
def test_a_file_that_exists_is_kept(tmp_path, taken):
    (tmp_path / taken).write_text("mine\n")
    done = run("init", "aws", "-o", "app.yaml", cwd=tmp_path)
    assert done.returncode == 1 and f"cannot make {taken}: File exists" in done.stderr, done
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(taken, "mine\n")]


def test_a_value_is_written_as_it_is(tmp_path):
    scope = """a "b" \\ ' #: {x}, @{name} é"""
    done = run("init", "oauth", "--scope", scope, cwd=tmp_path)
    assert yaml.safe_load(done.stdout)["credentials"][0]["exchange"]["oauth"]["scopes"] == [scope]


@pytest.mark.parametrize("argv, says", [
    (["vault"], "init vault: write aws, gcp"),
    (["aws", "--node", "--secret"], "one of --sidecar, --node and --secret"),
    (["aws", "--tenant-id", UUID], "--tenant-id has no effect for aws with --sidecar"),
    (["aws", "--node", "--image", "i"], "--image has no effect for aws with --node"),
    (["registry", "--registry", "registry.azurecr.io", "--role-arn", "a"], "--role-arn has no effect for acr"),
    (["oauth", "--scope", "a\nb: c"], "--scope: give one value of one line"),
    (["gcp", "--service-account", "a", "--service-account", "b"], "--service-account: give one value"),
    (["aws", "--name", "../x"], "--name ../x: use at most 50 lower-case")], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_cannot_be_written_is_refused(tmp_path, argv, says):
    done = run("init", *argv, "-o", "app.yaml", cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr, done
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in CASES.values()}))
def test_the_help_of_a_kind_has_the_options_that_it_takes(kind):
    listed = set(re.findall(r"--([a-z-]+) [A-Z]", run("help", "init", kind).stdout.partition("\n\n")[2]))
    assert listed == {"output", "name", "image"}.union(*(values for of, values in CASES.values() if of == kind))


def test_the_page_shows_what_is_said(tmp_path):
    page = (REPO / "docs/getting-started.md").read_text()
    command, said = re.search(r"^\$ credfresh (init .*)\n((?:.+\n)*?)```$", page, re.M).groups()
    assert run(*command.split(), cwd=tmp_path).stderr == said
