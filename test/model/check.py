#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Searches a model's whole state space with spin. With PROGRAM, a test that writes the steps it saw follow each other to
the file that CFR_ROTATION_TRACE names, each of these must be one that the model takes: `GO(FROM, TO)` in its text. With each
precaution away that the model can be without, `#ifdef BREAK_NAME` in its text, the search must find an error.

usage: check.py MODEL.pml [PROGRAM]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def search(model, *flags, quick=False):
    """What the generated program says of the whole state space. QUICK is where an error comes soon: compiling for speed would
    take longer than the search."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(model, directory)
        subprocess.run(["spin", "-a", *flags, model.name], cwd=directory, check=True, stdout=subprocess.PIPE)
        subprocess.run(["cc", "-O0" if quick else "-O1", "-w", "-DSAFETY", "-o", "pan", "pan.c"], cwd=directory, check=True)
        return subprocess.run(["./pan", "-m1000000"], cwd=directory, check=True, stdout=subprocess.PIPE, text=True).stdout


def steps_of(program):
    """Pairs of steps that a test of the real code saw follow each other."""
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory) / "trace"
        subprocess.run([program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "CFR_ROTATION_TRACE": str(trace)})
        return {tuple(line.split()) for line in trace.read_text().splitlines()}


def main():
    model = pathlib.Path(sys.argv[1])
    said = search(model)
    states = re.search(r"^ *([0-9.e+]+) states, stored", said, re.M)
    if "errors: 0" not in said or "max search depth too small" in said or not states:
        sys.exit(f"{model.name}: {said}")
    print(f"{model.name}: {states.group(1)} states, no error")
    for broken in sorted(set(re.findall(r"\b(?:ifn?def|if defined|elif defined) (BREAK_\w+)", model.read_text()))):
        if "errors: 1" not in search(model, "-DBREAK", f"-D{broken}", quick=True):
            sys.exit(f"{model.name}: with {broken} there is no error")
        print(f"{model.name}: {broken} is noticed")
    if len(sys.argv) > 2:
        taken = set(re.findall(r"\bGO\((\w+), (\w+)\)", model.read_text()))
        strange = steps_of(sys.argv[2]) - taken
        if strange:
            sys.exit(f"{model.name}: the program takes steps that the model does not know: {sorted(strange)}")
        print(f"{model.name}: every step that {pathlib.Path(sys.argv[2]).name} saw is one of the model's")


if __name__ == "__main__":
    main()
