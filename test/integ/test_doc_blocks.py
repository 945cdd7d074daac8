# SPDX-License-Identifier: MIT
"""What the pages show works: shell blocks run, YAML is a valid configuration or manifest, JSON parses, examples pass check.

A block that cannot run here is preceded by an HTML comment `<!-- not run: reason -->`, or its page is listed below."""
import ast
import collections
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import textwrap

import pytest
import yaml

from conftest import CREDFRESH, LOCALCLOUD, REPO, WITNESS
from node_examples import node_examples, unmarked
from test_docs import ELSEWHERE

PAGES = sorted(path for path in [*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md"), *(REPO / "examples").glob("*.md"),
                                 *(REPO / "bench").glob("*.md"), *(REPO / "test").glob("*/*.md")])
LANGUAGES = {"apache", "c", "cmake", "console", "dockerfile", "go", "hcl", "ini", "json", "nginx", "promql", "python", "sh", "text", "toml",
             "yaml"}

Block = collections.namedtuple("Block", "page line language text note")


def blocks_of(path):
    page = path.relative_to(REPO).as_posix()
    for found in re.finditer(r"^(?:<!-- (.*?) -->\n)?```([a-z]*)\n(.*?)^```$", path.read_text(), re.M | re.S):
        yield Block(page, path.read_text()[:found.start(2)].count("\n") + 1, found[2], found[3], found[1] or "")


BLOCKS = [block for path in PAGES for block in blocks_of(path)]


def of(language):
    return [pytest.param(block, id=f"{block.page}:{block.line}") for block in BLOCKS if block.language == language]


def test_every_block_has_a_language():
    assert len(BLOCKS) > 200
    assert not [f"{b.page}:{b.line}: {b.language!r}" for b in BLOCKS if b.language not in LANGUAGES]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPO).as_posix())
def test_code_is_fenced(path):
    """An indented block has no language, so no reader's tool and no test knows what it is."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    assert not re.findall(r"^(?![ \d*-])[^\n]*\n\n    [^\n]*$", text, re.M)


# ---- YAML and JSON ----

# Keys at the top of YAML that is neither credfresh's nor a manifest.
FOREIGN = {"users": "a kubeconfig", "command": "part of a container", "clouds": "a clouds.yaml",
           "volumes": "part of a pod"}
CREDENTIAL = {"name": "demo", "token": {"file": "/nothing"}, "publish": {"file": {"path": "/run/demo", "format": "token"}}}
BUNDLE = {"name": "demo", "ca_bundle": True, "publish": {"file": {"path": "/run/demo", "format": "ca-bundle"}}}
OF_A_CREDENTIAL = {"reload", "acknowledge", "publish", "exchange", "token", "allow"}
OF_AN_EXCHANGE = {"client_secret_file": ("azure", {"tenant_id": "11111111-2222-3333-4444-555555555555",
                                                  "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa",
                                                  "scopes": ["https://vault.azure.net/.default"]})}
KUSTOMIZATION = {"namespace", "resources", "configMapGenerator", "images", "patches", "components"}


def check(tmp_path, text):
    """The errors that `check` finds in TEXT, but for what is not on this machine."""
    config = tmp_path / "credfresh.yaml"
    config.write_text(text)
    done = subprocess.run([CREDFRESH, "check", "-c", config], capture_output=True, text=True, timeout=30,
                          env={"PATH": "/usr/bin:/bin"})
    said = done.stdout + done.stderr
    errors = [line for line in said.splitlines() if re.search(r"\berror\b:?|ERROR", line) and not ELSEWHERE.search(line)
              and not re.search(r"\d+ credentials?, \d+ errors?|: 0 errors", line)]
    assert done.returncode in (0, 1), said
    return errors


def is_manifest(document):
    return isinstance(document, dict) and ({"apiVersion", "kind"} <= set(document) or set(document) <= KUSTOMIZATION)


@pytest.mark.parametrize("block", of("yaml"))
def test_yaml(block, tmp_path):
    documents = list(yaml.safe_load_all(block.text))
    if all(is_manifest(document) for document in documents):
        return
    [document] = documents
    if isinstance(document, list):
        key = "image_credentials" if "match" in document[0] else "credentials"
        document = {key: document}
    keys = set(document)
    if keys & set(FOREIGN):
        return
    if keys <= set(OF_AN_EXCHANGE):
        name, rest = OF_AN_EXCHANGE[next(iter(keys))]
        document = {"exchange": {name: {**rest, **document}},
                    "publish": {"file": {"path": "/run/demo", "format": "azure-token-json"}}, "token": None}
        keys = set(document)
    if keys <= OF_A_CREDENTIAL:
        entry = {key: value for key, value in {**CREDENTIAL, **document}.items() if value is not None}
        document = {"credentials": [entry]}
    if "endpoints" in document and "credentials" not in document:
        pytest.skip("test_docs.py checks it with credentials that fit")
    if "version" not in document and "service_ca" in document:
        document.setdefault("state_dir", "/var/lib/credfresh/state")
    document.setdefault("version", 1)
    if not {"credentials", "image_credentials"} & set(document):
        document["credentials"] = [BUNDLE if "service_ca" in document else CREDENTIAL]
    assert not check(tmp_path, json.dumps(document))


@pytest.mark.parametrize("block", of("json"))
def test_json(block):
    if block.note.startswith("abridged"):
        return
    decoder, at, text = json.JSONDecoder(), 0, block.text.strip()
    while at < len(text):  # several documents, one after the other
        _, end = decoder.raw_decode(text, at)
        at = len(text) - len(text[end:].lstrip())


@pytest.mark.parametrize("path", sorted((REPO / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_file_is_a_configuration(path, tmp_path):
    text = path.read_text()
    assert re.match(r"# .+\n", text), "an example begins with what it shows"
    assert not check(tmp_path, text)
    assert f"]({path.name})" in (REPO / "examples/README.md").read_text()


@pytest.mark.parametrize("name", ["README.md", "examples/sidecar.yaml", "container/kubernetes/base/credfresh.yaml"])
def test_the_first_example_works_with_an_ordinary_role(name):
    """A role allows sessions of one hour unless its administrator raised the maximum."""
    text = (REPO / name).read_text()
    assert "role_arn" in text and not re.search(r"\bduration:", text)


def test_configurations_for_nodes_are_marked():
    """So that test/real/test_systemd.py starts the unit with each. None may ask systemctl, which refuses the unit's user."""
    assert not list(unmarked(REPO))
    found = dict(node_examples(REPO))
    assert {"README.md", "docs/migrate/cron.md", "examples/node.yaml", "systemd/examples/credfresh.yaml"} <= {
        name.partition("#")[0] for name in found}
    assert not [name for name, text in found.items() if "systemctl, " in text]


# ---- programs ----

# Pages whose shell blocks need what no test has.
ELSEWHERE_RUN = {
    "bench/README.md": "measures for minutes", "CONTRIBUTING.md": "builds everything", "README.md": "installs packages, loads an image",
    "docs/acknowledge.md": "a consumer's unit", "docs/aws-endpoints.md": "variables only", "docs/azure-endpoints.md": "variables only",
    "docs/container.md": "podman", "docs/doctor.md": "a pod, systemd", "docs/endpoints.md": "an interface of the machine",
    "docs/gce-metadata.md": "variables only", "docs/go.md": "test/sdk/test_go.py runs them", "docs/interfaces.md": "variables, and the default socket", "docs/kubernetes.md": "a cluster",
    "docs/libcredfresh.md": "test/consumer/test_pages.py runs them", "docs/migrate/cron.md": "a cloud, the aws command",
    "docs/platforms/aks.md": "a subscription", "docs/platforms/eks.md": "an account", "docs/platforms/gke.md": "a project",
    "docs/platforms/openshift.md": "a cluster", "docs/platforms/openstack.md": "a cloud", "docs/plugins.md": "a server",
    "docs/releasing.md": "builds for minutes", "docs/rotation.md": "an account", "docs/security.md": "systemd", "docs/static.md": "builds for minutes", "docs/systemd.md": "systemd",
    "docs/troubleshooting.md": "clouds and clusters", "docs/errors.md": "an issuer",
    **{f"docs/errors/{name}.md": "clouds and clusters" for name in ("aws", "azure", "google", "kubernetes", "openstack")}, "test/localcloud/README.md": "the tests themselves", "test/sdk/README.md": "SDKs",
    "test/witness/README.md": "a published directory that changes"}


def is_run(block):
    return block.language == "sh" and block.page not in ELSEWHERE_RUN and not block.note.startswith("not run: ")


def commands(block):
    """The commands of a block: all of it, or what stands behind the prompts of a session."""
    if block.language == "sh":
        return block.text
    lines = []
    for line in block.text.splitlines():
        if re.match(r"[$#] ", line):
            lines.append(line[2:])
        elif lines and lines[-1].endswith("\\"):
            lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("block", of("sh") + of("console"))
def test_a_shell_understands_it(block):
    text = commands(block)
    assert text.strip()
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


# ---- the files that a command names ----

FOLDERS = {path.name for path in REPO.iterdir() if path.is_dir()} | {"build"}
FILE = re.compile(r"[\w.*@-]+\.(c|conf|crt|csr|deb|json|key|md|pem|py|sh|tar|toml|txt|whl|ya?ml)(\.new)?")
# What makes a directory below build/. The preset `dev` is what CONTRIBUTING.md begins with.
BUILDERS = {"build/dev": "", "build/package": "tools/package.sh", "build/release": "tools/release.sh",
            "build/static": "tools/build-static.sh"}


def file_names(text):
    """The relative paths that TEXT names: those below a folder of the sources, or with the extension of a file."""
    for line in text.replace("\\\n", " ").splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quotation over several lines
            words = line.split()
        for word in words:
            word = re.sub(r"^(--?[\w-]+=|\w+=)?(file://|@|\d?>+)?", "", word).rstrip(";)")
            if word.startswith("./"):
                yield word[2:].partition(":")[0]
            elif word.partition("/")[0] in FOLDERS and "/" in word or FILE.fullmatch(word):
                yield word.rstrip("/")


def is_known(name, block):
    """Whether NAME is a file of the sources, or of what a command on the page or a program that it names makes, or one that the
    page shows or speaks of. `credfresh.yaml` is the reader's configuration."""
    page = (REPO / block.page).read_text()
    if name == "credfresh.yaml" or f"`{name}`" in page or f"```yaml\n# {name}\n" in page:
        return True
    if name.startswith("build/"):
        preset = name.split("/")[1]
        makers = [maker for folder, maker in BUILDERS.items() if name.startswith(folder)]
        return any(maker in page for maker in [*makers, f"--preset {preset}", f"-B build/{preset}"])
    if re.search(rf"(> ?|-(key)?out |--report |--jwks-path |mkdir |\b(cp|mv) \S+ ){re.escape(name)}(?![\w.])", page):
        return True
    return any(True for _ in REPO.glob(name))


@pytest.mark.parametrize("block", of("sh") + of("console"))
def test_the_files_that_a_command_names_exist(block):
    """In the directory of the sources, which docs/README.md names for all pages."""
    assert not [name for name in file_names(commands(block)) if not is_known(name, block)]


@pytest.mark.parametrize("page", sorted({block.page for block in BLOCKS if block.language == "sh"}))
def test_the_variables_of_commands_are_set(page):
    """By a command on the page, unless every shell or a hook of credfresh has them."""
    text = "".join(block.text for block in BLOCKS if block.page == page and block.language == "sh")
    used = set(re.findall(r"\$\{?([A-Za-z_]\w*)", text))
    assert not {name for name in used if not re.search(rf"\b{name}=", text)} - {"PWD", "PATH", "HOME", "CREDFRESH_GENERATION"}


def test_the_pages_say_where_their_commands_run():
    assert "its commands run in the directory of the sources" in (REPO / "docs/README.md").read_text()
    names = list(file_names("apt install ./a_*.deb; kubectl apply -k container/x --file=file://y.json >z.yaml # no.yaml\nls /etc/a.json"))
    assert names == ["a_*.deb", "container/x", "y.json", "z.yaml"]
    [block] = [block for block in BLOCKS if block.page == "docs/systemd.md" and "apt install" in block.text]
    assert is_known("build/package/credfresh_*.deb", block) and not is_known("credfresh_*.deb", block)
    assert not is_known("native-sidecar", block) and not is_known("container/kubernetes/none", block)


def shell(tmp_path, text, limit_s=120):
    """Runs TEXT as a user would type it, with the programs in PATH; all that it started ends with it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in CREDFRESH, LOCALCLOUD, WITNESS:
        (programs / pathlib.Path(program).name).symlink_to(pathlib.Path(program).resolve())
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    log = tmp_path / "said"
    with open(log, "wb") as out:
        process = subprocess.Popen(["bash", "-eux", "-o", "pipefail", "-c", text], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                   cwd=REPO, env=environment, start_new_session=True)
        try:
            status = process.wait(limit_s)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    assert status == 0, log.read_text()
    return log.read_text()


def test_getting_started(tmp_path):
    """Every step of the page, one after the other."""
    steps = [block.text for block in BLOCKS if block.page == "docs/getting-started.md" and is_run(block)]
    assert len(steps) >= 7
    text = "\n".join([*steps, "wait"]).replace("/tmp/cloud", str(tmp_path / "cloud")).replace("/tmp/agent.log", str(tmp_path / "agent.log"))
    said = shell(tmp_path, text)
    assert "HTTP 503" in said and said.count(" fresh ") >= 5, said
    assert not (tmp_path / "cloud/ready.json").exists()


def test_the_local_clouds_configuration_is_ready(tmp_path):
    """It publishes a credential of each cloud, and is not written where a configuration may lack the identities."""
    state = tmp_path / "a \"cloud\""
    text = f"""
        credfresh-localcloud --state '{state}' &
        until [ -e '{state}/ready.json' ]; do sleep 0.05; done
        credfresh check --online -c '{state}/credfresh.yaml'
        credfresh once -c '{state}/credfresh.yaml'
        echo '{{}}' >'{tmp_path}/none.json'
        credfresh-localcloud --state '{tmp_path}/other' --config '{tmp_path}/none.json' &
        until [ -e '{tmp_path}/other/ready.json' ]; do sleep 0.05; done
        kill %1 %2; wait"""
    said = shell(tmp_path, text)
    assert "5 credentials, 0 errors, 0 warnings" in said
    published = {path.parent.name: path for path in state.glob("published/*/[!.]*")}
    assert set(published) == {"aws", "gcp", "azure", "openstack", "oauth"} and all(p.stat().st_size for p in published.values())
    assert not (tmp_path / "other/credfresh.yaml").exists()


def test_the_examples_page(tmp_path):
    steps = "".join(block.text for block in BLOCKS if block.page == "examples/README.md" and is_run(block))
    assert steps.count("credfresh check") == 2
    shell(tmp_path, steps.replace("check --online", "check"))


def quick_start(tmp_path, page):
    """What the first session on PAGE, which starts the local cloud, prints."""
    block = next(block for block in BLOCKS if block.page == page and block.language == "console")
    text = commands(block).replace("/tmp/cloud", str(tmp_path / "cloud"))
    text = text.replace("&\n", f"&\nuntil [ -e {tmp_path}/cloud/ready.json ]; do sleep 0.05; done\n", 1)
    return shell(tmp_path, text + "kill %1; wait\n")


def test_the_local_clouds_quick_start(tmp_path):
    assert "<AssumeRoleWithWebIdentityResponse" in quick_start(tmp_path, "test/localcloud/README.md")


def test_the_first_use_in_the_readme(tmp_path):
    said = quick_start(tmp_path, "README.md")
    assert re.search(r"published first generation 1 of \S+:assumed-role/demo/default.demo, valid for 1 h, next refresh in \d+ min", said)
    assert re.search(r"^\[default\]\naws_access_key_id = ASIA\w{16}$", said, re.M)


def test_the_readme_fits_its_first_screens():
    """What a newcomer sees first: the purpose, the first use, and the two commands."""
    text = (REPO / "README.md").read_text()
    assert text.count("\n") <= 130
    first = text[:text.index("## ")]
    for needed in ("docs/pictures/pipeline.svg", "sh tools/demo.sh", "sh tools/test.sh dev", "SECURITY.md", "MIT"):
        assert needed in first


@pytest.mark.parametrize("page", sorted(ELSEWHERE_RUN))
def test_the_list_of_exceptions_is_no_longer_than_needed(page):
    assert [block for block in BLOCKS if block.page == page and block.language == "sh"]


def test_every_other_page_is_run():
    pages = {block.page for block in BLOCKS if is_run(block)}
    assert pages == {"docs/getting-started.md", "examples/README.md"}


@pytest.mark.parametrize("block", of("python"))
def test_python_names_what_the_module_has(block):
    module = ast.parse((REPO / "libcredfresh/python/credfresh.py").read_text())
    there = {node.name for node in ast.walk(module) if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    named = re.findall(r"\bcredfresh\.(\w+)", block.text)
    assert named and set(named) <= there
    ast.parse(textwrap.dedent(block.text))


# ---- the site ----

def test_the_site_has_every_page():
    """docs/SUMMARY.md is the order of the site, docs/README.md the index by task: neither may forget a page."""
    pages = {path.relative_to(REPO / "docs").as_posix() for path in (REPO / "docs").rglob("*.md")} - {"SUMMARY.md"}
    listed = re.findall(r"\]\(([^):]+\.md)\)", (REPO / "docs/SUMMARY.md").read_text())
    assert sorted(listed) == sorted(set(listed)) and set(listed) == pages
    index = set(re.findall(r"\]\(([^):#]+\.md)\)", (REPO / "docs/README.md").read_text()))
    index |= {f"migrate/{target}" for target in re.findall(r"\]\(([^):#/]+\.md)\)", (REPO / "docs/migrate/README.md").read_text())}
    assert not pages - index - {"README.md"}


def test_pages_for_contributors_are_not_installed():
    left_out = re.search(r"REMOVE_ITEM pages SUMMARY.md ([^)]*)\)", (REPO / "docs/CMakeLists.txt").read_text())[1].split()
    summary = (REPO / "docs/SUMMARY.md").read_text().partition("# For contributors\n")[2]
    assert left_out == sorted(re.findall(r"\]\((\S+)\)", summary))
