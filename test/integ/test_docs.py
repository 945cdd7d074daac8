# SPDX-License-Identifier: MIT
"""The configurations in README, the pages and the manual are taken by the program, and links lead somewhere."""
import pathlib
import re
import subprocess
import textwrap

import pytest

from conftest import CREDFRESH

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs/man/credfresh.1"]
# What an example needs of a machine that is not this one.
ELSEWHERE = re.compile(r"kubeconfig: cannot |this is not a pod: name a kubeconfig|cannot run /usr/bin/systemctl|"
                       r"no such group|no such user")


def blocks(page):
    """The literal blocks of PAGE: (line, text)."""
    text = page.read_text()
    if page.suffix == ".1":
        found = re.finditer(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", text, re.M | re.S)
    else:
        found = re.finditer(r"(?<=\n\n)((?:    [^\n]*\n|\n(?=    ))+)|^```[a-z]*\n(.*?)^```$", text, re.M | re.S)
    for block in found:
        yield text[:block.start()].count("\n") + 1, textwrap.dedent(next(part for part in block.groups() if part))


def configurations():
    for page in PAGES:
        for line, text in blocks(page):
            if re.match(r"version: 1\n", text):
                yield pytest.param(text, id=f"{page.name}-{line}")
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
    assert {"README.md", "credfresh.1"} <= pages and len(EXAMPLES) >= 10, pages


def test_links_lead_somewhere():
    """Links between the pages, and to headings in them."""
    missing = []
    for page in PAGES[:-1]:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
            other = (page.parent / target).resolve() if target else page
            if not other.exists():
                missing.append(f"{page.name}: {target}")
            elif anchor:
                heads = re.findall(r"^#+ (.*)$", other.read_text(), re.M)
                if anchor not in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}:
                    missing.append(f"{page.name}: {target}#{anchor}")
    assert not missing
