#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/pictures. Python's standard library is all it needs.

usage: draw.py [--check]      --check: exits with 1 and names the pictures that are not what would be drawn
"""
import pathlib
import sys

import dashboard
import life
import outage
import pipeline
import run

PICTURES = pathlib.Path(__file__).resolve().parents[2] / "docs/pictures"


def drawn():
    """{name: content}"""
    return {"pipeline.svg": pipeline.draw(), "life.svg": life.draw(), "outage.svg": outage.draw(),
            "dashboard.svg": dashboard.draw((PICTURES / "dashboard.json").read_text()),
            "demo.svg": run.draw((PICTURES / "demo.json").read_text())}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    wrong = []
    for name, content in drawn().items():
        path = PICTURES / name
        if not sys.argv[1:]:
            path.write_text(content)
        elif not path.exists() or path.read_text() != content:
            wrong.append(name)
    for name in wrong:
        print(f"docs/pictures/{name} is not what is drawn: run tools/pictures/draw.py")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
