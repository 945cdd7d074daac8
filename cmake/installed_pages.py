#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replaces links of the pages below a directory that lead to files which are not installed, by their text.

usage: installed_pages.py DIRECTORY
"""
import pathlib
import re
import sys

LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")


def main():
    for page in sorted(pathlib.Path(sys.argv[1]).rglob("*.md")):
        def keep(link, page=page):
            target = link[2].partition("#")[0]
            return link[0] if ":" in target or not target or (page.parent / target).exists() else link[1]

        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(LINK, keep, text), encoding="utf-8")


if __name__ == "__main__":
    main()
