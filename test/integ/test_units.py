# SPDX-License-Identifier: MIT
"""The units for systemd give their processes few rights, and the drop-ins cost what docs/systemd.md says."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import LOCALCLOUD, REPO

BUILT = pathlib.Path(LOCALCLOUD).resolve().parents[2] / "systemd"  # also where the program is the static one
EXAMPLES = REPO / "systemd/examples/credfresh.service.d"
LIMIT = 1.5
SERVICES = {"credfresh.service", "credfresh@.service", "credfresh-wait.service", "credfresh-wait@.service",
            "credfresh-reload@.service"}
PAGE = (REPO / "docs/systemd.md").read_text()


def services():
    """The units as they are installed, by name."""
    found = [*BUILT.glob("*.service"), *(REPO / "systemd").glob("*.service")]
    return {path.name: path for path in found}


def analyze(*argv, **env):
    if shutil.which("systemd-analyze") is None:
        (pytest.fail if os.environ.get("CFR_REQUIRE_REAL") == "1" else pytest.skip)("there is no systemd-analyze")
    done = subprocess.run(["systemd-analyze", *argv], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LC_ALL": "C", "SYSTEMD_PAGER": "", **env})
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def exposure(directory, unit, *dropins):
    """(exposure level, the report) of the service UNIT with the drop-ins; of a template, as the instance x."""
    name = unit.name.replace("@.", "@x.")
    shutil.copy(unit, directory / name)
    for dropin in dropins:
        (directory / f"{name}.d").mkdir(exist_ok=True)
        shutil.copy(dropin, directory / f"{name}.d")
    report, complaints = analyze("security", "--offline=true", "--no-pager", str(directory / name))
    # A directive or a group of calls that systemd does not know has no effect.
    assert not re.search(r"Unknown|[Ff]ailed to parse", complaints), complaints
    return float(re.search(r"exposure level for .*: ([\d.]+)", report)[1]), report


def test_all_services_are_found():
    """Guards the search itself: a unit that is not found is not judged."""
    assert set(services()) == SERVICES


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_has_few_rights(tmp_path, name):
    level, report = exposure(tmp_path, services()[name])
    assert level <= LIMIT, report


def test_the_page_says_what_a_drop_in_costs(tmp_path):
    told = {name: float(level) for name, level in re.findall(r"^\|[^|]*\| `(\w+\.conf)` \| ([\d.]+) \|", PAGE, re.M)}
    assert set(told) == {path.name for path in EXAMPLES.glob("*.conf")}
    if "systemd 252 " not in analyze("--version")[0]:
        pytest.skip("the page has the figures of systemd 252")
    found = {}
    for dropin in EXAMPLES.glob("*.conf"):
        directory = tmp_path / dropin.stem
        directory.mkdir()
        found[dropin.name], _ = exposure(directory, services()["credfresh.service"], dropin)
    assert found == told
