# SPDX-License-Identifier: MIT
"""The configurations in README, the pages and the manual are valid, and all links resolve."""
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import textwrap

import pytest
import yaml

from conftest import CREDFRESH, LOCALCLOUD

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.md")),
         *sorted((ROOT / "test").glob("*/*.md")), *sorted((ROOT / "bench").glob("*.md")), *sorted((ROOT / "docs/man").iterdir())]
# What an example needs of a machine that is not this one.
ELSEWHERE = re.compile(r"kubeconfig: cannot |/usr/(bin/mariadb|local/\S+) cannot be run: No such file|this is not a pod: name a kubeconfig|there is no (group|user) \"")


def blocks(page):
    """The literal blocks of PAGE: (line, text)."""
    text = page.read_text()
    if page.suffix != ".md":
        found = re.finditer(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", text, re.M | re.S)
    else:
        found = re.finditer(r"(?<=\n\n)((?:    [^\n]*\n|\n(?=    ))+)|^```[a-z]*\n(.*?)^```$", text, re.M | re.S)
    for block in found:
        yield text[:block.start()].count("\n") + 1, textwrap.dedent(next(part for part in block.groups() if part))


# What shows a shape of an endpoint alone is checked with credentials that fit it.
SHAPES = {"aws_container": "aws", "ec2_imds": "aws", "gce_metadata": "gcp", "azure_imds": "azure",
          "azure_app_service": "azure"}
EXCHANGES = {
    "aws": {"role_arn": "arn:aws:iam::123456789012:role/demo", "region": "eu-west-1"},
    "gcp": {"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster",
            "service_account": "app@project.iam.gserviceaccount.com"},
    "azure": {"tenant_id": "11111111-2222-3333-4444-555555555555", "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa"}}


def named(part):
    """The credentials that PART of an endpoint names: (name, audience of the identity token it is named for, or None)."""
    if isinstance(part, dict) and "credential" in part:
        yield part["credential"], part.get("audience")
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from named(inner)


def with_credentials(text):
    config = {"version": 1, **yaml.safe_load(text)}
    config["credentials"] = []
    for name, provider, audience in {(name, SHAPES[shape], audience) for endpoint in config["endpoints"]
                                     for shape, part in endpoint.items() if shape != "listen"
                                     for name, audience in named(part)}:
        exchange = {**EXCHANGES[provider], **({"id_token_audience": audience} if audience else {})}
        config["credentials"].append({"name": name, "token": {"file": "/nothing"}, "exchange": {provider: exchange},
                                      "publish": {"file": {"path": f"/run/{name}", "format": "json"}}})
    return json.dumps(config)


def configurations():
    for page in PAGES:
        for line, text in blocks(page):
            if re.match(r"(#.*\n)*version: 1\n", text):
                yield pytest.param(text, id=f"{page.name}-{line}")
            elif re.match(r"endpoints:", text):
                yield pytest.param(with_credentials(text), id=f"{page.name}-{line}")
            elif re.match(r"- name: ", text):
                key = "image_credentials" if re.search(r"^  match:", text, re.M) else "credentials"
                yield pytest.param(f"version: 1\n{key}:\n{textwrap.indent(text, '  ')}", id=f"{page.name}-{line}")


EXAMPLES = list(configurations())


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_taken(tmp_path, text):
    config = tmp_path / "credfresh.yaml"
    config.write_text(text)
    done = subprocess.run([CREDFRESH, "check", "-c", config], capture_output=True, text=True, timeout=30,
                          env={"PATH": "/usr/bin:/bin"})
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    wrong = [line for line in done.stdout.splitlines() if line.startswith("ERROR") and not ELSEWHERE.search(line)]
    assert not wrong, wrong


def test_examples_are_found():
    """Guards the search itself: one that finds nothing would pass."""
    pages = {example.id.rpartition("-")[0] for example in EXAMPLES}
    assert {"README.md", "credfresh.1", "credfresh.yaml.5", "aws-endpoints.md", "gce-metadata.md"} <= pages, pages
    assert len(EXAMPLES) >= 10
    assert {page.name for page in (ROOT / "docs/platforms").glob("*.md")} <= pages, pages


def test_the_rest_of_an_example_is_well_formed():
    """What is no configuration, but YAML or JSON all the same: manifests, trust policies."""
    for page in sorted((ROOT / "docs/platforms").glob("*.md")):
        for line, text in blocks(page):
            if re.match(r"[{\[][\s\"{]", text):
                json.loads(text)
            elif re.match(r"(#.*\n)*\w+:", text):
                list(yaml.safe_load_all(text))


def test_links_lead_somewhere():
    """Links between the pages, and to headings in them."""
    missing = []
    for page in (page for page in PAGES if page.suffix == ".md"):
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
            other = (page.parent / target).resolve() if target else page
            if not other.exists():
                missing.append(f"{page.name}: {target}")
            elif anchor:
                heads = re.findall(r"^#+ (.*)$", other.read_text(), re.M)
                if anchor not in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}:
                    missing.append(f"{page.name}: {target}#{anchor}")
    assert not missing


def cells(text):
    """The cells of the tables of TEXT, without the blocks of code."""
    for line in re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S).splitlines():
        if line.startswith("|"):
            yield from re.split(r"(?<!\\)\|", line)[1:-1]


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_and_cells_are_short(page):
    text = page.read_text()
    assert len(text.split()) <= 5000, "split the page by subject"
    assert not [cell for cell in cells(text) if len(cell.split()) > 40], "shorten the cell, or write below the table"


def test_the_sdk_page_has_the_rows_of_the_matrix():
    """What the page says of an SDK is what the matrix expects of it and proves."""
    done = subprocess.run(["/usr/bin/python3", "-B", ROOT / "test/sdk/page.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kustomizations_have_no_deprecated_fields():
    """kubectl since 1.27 warns of them."""
    files = [*(ROOT / "container").rglob("kustomization.yaml"), *PAGES]
    assert len(files) > 20
    assert not [path for path in files
                if re.search(r"^\s*(bases|patchesStrategicMerge|patchesJson6902|commonLabels):", path.read_text(), re.M)]


# The pages for those who change credfresh, and what they name in backticks.
INSIDE = [ROOT / "docs/design.md", ROOT / "docs/architecture.md"]
ROOMS = {path.parent.relative_to(ROOT).parts[0] for path in ROOT.glob("*/**/CMakeLists.txt")
         if not path.relative_to(ROOT).parts[0].startswith(("build", "."))}


def named(page):
    return sorted(set(re.findall(r"`([^`\s]+)`", page.read_text())))


@pytest.mark.parametrize("page", INSIDE, ids=lambda page: page.stem)
def test_the_paths_that_a_page_names_exist(page):
    names = [name for name in named(page) if name.partition("/")[0] in ROOMS and "/" in name and "{" not in name]
    bare = [name for name in named(page) if re.fullmatch(r"[a-z]\w*\.[ch]", name)]
    assert len(names) > 10
    missing = [name for name in names if not list(ROOT.glob(name.rstrip("/")))]
    missing += [name for name in bare if not any(path for room in ROOMS for path in (ROOT / room).rglob(name))]
    assert not missing


# The pages that say which tests prove what.
PROVING = [ROOT / "docs/proofs.md", ROOT / "docs/architecture.md"]


@pytest.mark.parametrize("page", PROVING, ids=lambda page: page.stem)
def test_the_tests_that_a_page_names_exist(page):
    build = pathlib.Path(CREDFRESH).resolve().parents[1]
    if not (build / "CTestTestfile.cmake").exists():
        pytest.skip("the program is not in a build directory")
    listed = subprocess.run(["ctest", "-N", "--test-dir", build], check=True, capture_output=True, text=True).stdout
    # A file that is run in parts has its name for them all.
    known = re.findall(r"Test +#\d+: (\S+?)(?:\.\d+of\d+)?\n", listed)
    names = [name for name in named(page) if re.fullmatch(r"(unit|integ|fault|fuzz_replay|house|localcloud)_[a-z]\w*\*?", name)]
    assert names
    assert not [name for name in names if not any(fnmatch.fnmatch(test, name) for test in known)]


def rows(page, head):
    """The first cells of the table of PAGE that begins with HEAD."""
    table = page.read_text().partition(f"\n| {head} |")[2].partition("\n\n")[0]
    return [row.removeprefix("| ").split(" | ")[0] for row in table.strip().split("\n")[2:]]


@pytest.mark.parametrize("page,head", [("design", "promise"), ("security", "attack")])
def test_every_promise_has_its_proof(page, head):
    promised = rows(ROOT / f"docs/{page}.md", head)
    assert len(promised) > 7
    assert rows(ROOT / "docs/proofs.md", head) == promised, "the same first cells, in the same order"


def functions_of(test):
    """The text of the file, or files, of a ctest test."""
    kind, _, name = test.partition("_")
    files = (ROOT / "test/unit").rglob("test_*.c") if kind == "unit" else [ROOT / "test" / kind / f"test_{name}.py"]
    return "\n".join(path.read_text() for path in files)


def test_the_functions_of_the_tests_exist():
    """A page that names functions in parentheses after their test."""
    found = [(test, function) for page in PROVING
             for test, functions in re.findall(r"`((?:unit|integ|fault)_\w+)` \(((?:`\w+`(?:, |\)))+)", page.read_text())
             for function in re.findall(r"\w+", functions)]
    assert len(found) > 30
    assert not [(test, function) for test, function in found
                if not re.search(rf"\b{function}\(", functions_of(test))]


def test_the_functions_of_the_walks_exist():
    page = (ROOT / "docs/architecture.md").read_text()
    walks = "".join(re.findall(r"^## Walk: .*?(?=^## )", page, re.M | re.S))
    names = set(re.findall(r"`([a-z]\w+)`", walks)) - {"source", "granted", "published"}
    sources = "\n".join(path.read_text() for room in ROOMS - {"test", "docs"} for path in (ROOT / room).rglob("*.[ch]"))
    assert len(names) > 20
    assert not sorted(name for name in names if not re.search(rf"\b{name}\b", sources))


def test_installed_pages_have_no_dead_links(tmp_path):
    """Pages for contributors are not installed; manifests, chart and examples are."""
    subprocess.run(["cmake", "--install", pathlib.Path(LOCALCLOUD).parents[2], "--component", "credfresh"], check=True,
                   capture_output=True, env={**os.environ, "DESTDIR": str(tmp_path)})
    [root] = tmp_path.rglob("share/doc/credfresh")
    dead = [f"{page.relative_to(root)}: {target}" for page in root.rglob("*.md")
            for target in re.findall(r"\]\(([^()\s#]+)", re.sub(r"`[^`]*`", "", page.read_text()))
            if ":" not in target and not (page.parent / target).exists()]
    assert dead == []
    installed = {str(path.relative_to(root)) for path in root.rglob("*")}
    assert installed >= {"README.md", "docs/systemd.md", "examples/node.yaml", "container/kubernetes/sidecar/kustomization.yaml",
                         "container/helm/credfresh/Chart.yaml", "monitoring"}
    assert not installed & {"docs/SUMMARY.md", "docs/architecture.md", "docs/proofs.md", "docs/releasing.md", "CONTRIBUTING.md"}
