# SPDX-License-Identifier: MIT
"""The model of an issuer's key rotation, searched to its last state by spin: what it claims holds, and no precaution in it
can be left out."""
import pathlib
import re
import shutil
import subprocess

import pytest

MODEL = pathlib.Path(__file__).with_name("issuer.pml")


def search(directory, claim, broken=None, store=False):
    """What spin's verifier says of CLAIM."""
    if shutil.which("spin") is None:
        pytest.skip("spin is not installed")
    flags = ([f"-DBREAK_{broken}"] if broken else []) + (["-DSTORE"] if store else [])
    subprocess.run(["spin", "-a", *flags, str(MODEL)], cwd=directory, check=True, capture_output=True)
    subprocess.run(["cc", "-O0", "-w", "-DNFAIR=4", "-o", "pan", "pan.c"], cwd=directory, check=True)
    fair = ["-f"] if claim == "ends" else []
    said = subprocess.run(["./pan", "-a", *fair, "-m1000000", "-N", claim], cwd=directory, check=True, capture_output=True,
                          text=True, timeout=120).stdout
    assert "max search depth too small" not in said, said
    return int(re.search(r"errors: (\d+)", said).group(1)), float(re.search(r"([0-9.e+]+) states, stored", said).group(1))


@pytest.mark.parametrize("store", [False, True], ids=["web", "store"])
@pytest.mark.parametrize("claim", ["known", "published", "ends"])
def test_it_holds(tmp_path, claim, store):
    errors, states = search(tmp_path, claim, store=store)
    assert errors == 0 and states > 1000


@pytest.mark.parametrize("claim, broken", [("published", "ORDER"), ("known", "SINCE"), ("known", "SETTLE"),
                                           ("known", "CONFIRM"), ("known", "RETIRE")])
def test_each_precaution_is_needed(tmp_path, claim, broken):
    assert search(tmp_path, claim, broken)[0] > 0


@pytest.mark.parametrize("claim, broken", [("known", "UPLOAD"), ("published", "UPLOAD"), ("known", "SETTLE"),
                                           ("known", "RETIRE")])
def test_each_precaution_of_an_upload_is_needed(tmp_path, claim, broken):
    """Without the record of the upload the signer is switched to a key that only the disk has."""
    assert search(tmp_path, claim, broken, store=True)[0] > 0
