# SPDX-License-Identifier: MIT
"""The demonstration with --stay: what it says to try can be tried, and nothing is left when it ends."""
import pathlib
import shlex
import signal
import subprocess
import sys
import urllib.request

import pytest

from conftest import CREDFRESH, REPO

sys.path.insert(0, str(REPO / "tools/pictures"))
import run  # noqa: E402

BUILD = pathlib.Path(CREDFRESH).parents[1]


@pytest.fixture
def demonstration():
    if not (BUILD / "test/witness/credfresh-witness").exists():
        pytest.skip("this program has no local cloud next to it")
    process = subprocess.Popen(["/usr/bin/python3", REPO / "tools/demo.py", BUILD, "--stay"], cwd=REPO,
                               stdout=subprocess.PIPE, text=True)
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def try_out(command, **how):
    return subprocess.run(shlex.split(command), cwd=REPO, capture_output=True, text=True, timeout=60, **how)


def test_what_it_says_can_be_tried(demonstration):
    said = []
    for line in demonstration.stdout:
        said.append(line)
        if line.startswith("Ctrl-C ends"):
            break
    watch, rotate, doctor = [line.strip() for line in said if line.startswith("  ") and "/credfresh " in line and " -c " in line]
    status = watch.replace("--watch ", "")
    assert "--watch" in watch and all(name in try_out(status).stdout for name in ("aws", "gcp", "azure", "openstack"))
    rotated = try_out(rotate)
    assert rotated.returncode == 0 and "aws: rotation accepted" in rotated.stdout, rotated
    found = try_out(doctor)
    assert found.returncode == 0 and " 0 wrong" in found.stdout, found
    page = next(line.split()[-1] for line in said if line.startswith("or open in a browser: "))
    with urllib.request.urlopen(page, timeout=10) as answer:
        assert "<title>4 of 4 ready - credfresh</title>" in answer.read().decode()
    picture = run.draw((REPO / "build/demo/events.json").read_text())
    assert " 0 failed: 4 outages, a kill -9" in picture and picture.count(">down<") == 4
    demonstration.send_signal(signal.SIGINT)
    demonstration.wait(60)
    assert try_out(status).returncode == 5, "the agent has ended, too"


def test_unknown_arguments_are_refused():
    wrong = subprocess.run(["sh", REPO / "tools/demo.sh", "--keep"], capture_output=True, text=True)
    assert wrong.returncode == 2 and 'unknown argument "--keep": the only one is --stay' in wrong.stderr
