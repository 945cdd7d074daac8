# SPDX-License-Identifier: MIT
"""The manual pages: well-formed, and complete for the programs and libraries."""
import re
import shutil
import subprocess

import pytest

from conftest import LOCALCLOUD, REPO, WITNESS

MANUALS = sorted((REPO / "docs/man").iterdir())


@pytest.mark.parametrize("page", MANUALS, ids=lambda page: page.name)
@pytest.mark.parametrize("command", [["mandoc", "-T", "lint"], ["man", "--warnings", "-l"]], ids=lambda command: command[0])
def test_a_page_is_well_formed(command, page):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run([*command, page], capture_output=True, text=True, timeout=60)
    said = done.stderr if command[0] == "man" else done.stdout
    # Which other pages are installed here says nothing about this one, nor how its words fill lines of one width.
    other = "referenced manual not found|mandoc.db|cannot (adjust|break) line"
    assert not [line for line in said.splitlines() if not re.search(other, line)]


def functions(library):
    """What it lets programs link to."""
    found = re.findall(r"^        (credfresh_\w+);", (REPO / f"libcredfresh/{library}.map").read_text(), re.M)
    assert len(found) >= 10
    return found


def test_pages_refer_to_pages_that_are_there():
    there = {page.name.rpartition(".")[::2] for page in MANUALS}
    there |= {(name, "3") for name in functions("libcredfresh") + functions("libcredfresh-tls")}
    for page in MANUALS:
        text = page.read_text()
        name, section = re.search(r"^\.Dt (\S+) (\d)$", text, re.M).groups()
        assert f"{name.lower()}.{section}" == page.name
        named = set(re.findall(r"\bXr (\S*credfresh\S*) (\d)", text))
        assert named <= there, page.name


@pytest.mark.parametrize("library", ["libcredfresh", "libcredfresh-tls"])
def test_a_library_page_has_every_function(library):
    """Each in the list of names, in the synopsis, and told of; and every code, flag and mode of the header."""
    text = (REPO / f"docs/man/{library}.3").read_text()
    synopsis, _, told = text.partition(".Sh SYNOPSIS")[2].partition(".Sh DESCRIPTION")
    for function in functions(library):
        assert re.search(rf"^\.Nm {function}( ,)?$", text, re.M), function
        assert re.search(rf"^\.F[no] {function}\b", synopsis, re.M), function
        assert re.search(rf"^\.Fn {function}\b", told, re.M), function
    header = (REPO / f"libcredfresh/include/{library.removeprefix('lib')}.h").read_text()
    values = [value for value in re.findall(r"^#define (CREDFRESH_\w+) +\(?-?\d", header, re.M) if "VERSION" not in value]
    assert len(values) >= 10
    assert not [value for value in values if not re.search(rf"^\.(?:It )?Dv {value}\b", text, re.M)]


@pytest.mark.parametrize("program, page", [(LOCALCLOUD, "credfresh-localcloud.1"), (WITNESS, "credfresh-witness.1")])
def test_a_page_has_the_options_of_its_program(program, page):
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=30).stdout
    head, _, told = (REPO / "docs/man" / page).read_text().partition(".Sh DESCRIPTION")
    options = set(re.findall(r"--([a-z-]+)", usage))
    assert len(options) >= 5
    assert set(re.findall(r"^\.It Fl -([a-z-]+)", told, re.M)) == options
    assert set(re.findall(r"\bFl -([a-z-]+)", head)) == options


def test_the_configurations_page_names_every_key_by_its_path():
    """A key such as region is in ten mappings; only its path tells them apart."""
    text = (REPO / "docs/man/credfresh.yaml.5").read_text()
    keys, formats = text.partition(".Sh KEYS")[2].split(".Sh FORMATS")
    sections = re.split(r"^\.Ss ", keys, flags=re.M)[1:]
    named = re.findall(r"^\.It Li (\S+)", keys, re.M)
    assert len(named) > 200 and len(named) == len(set(named))
    for section in sections[1:]:
        path = section.partition("\\&")[0]
        assert all(name.startswith(f"{path}.") for name in re.findall(r"^\.It Li (\S+)", section, re.M)), path
    for entry in re.split(r"^\.It Li ", formats.partition("\n.Sh ")[0], flags=re.M)[1:]:
        told = " ".join(entry.partition("\n")[2].replace(".El", "").split())
        assert told.endswith(".") and " It needs" not in told.replace(". It needs", ""), entry
