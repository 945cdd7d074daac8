# SPDX-License-Identifier: MIT
"""The pictures of the pages: what is committed is what is drawn, stands alone, and is on a page."""
import pathlib
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"
SVGS = sorted(PICTURES.glob("*.svg"))
sys.path.insert(0, str(ROOT / "tools/pictures"))
import draw  # noqa: E402


def test_they_are_what_is_drawn():
    done = subprocess.run([sys.executable, ROOT / "tools/pictures/draw.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in SVGS} >= set(draw.drawn())


def test_a_difference_is_found(tmp_path, monkeypatch, capsys):
    for path in (*SVGS, *PICTURES.glob("*.json")):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "life.svg").write_text((tmp_path / "life.svg").read_text().replace("10 min", "11 min"))
    monkeypatch.setattr(draw, "PICTURES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["draw.py", "--check"])
    assert draw.main() == 1 and "life.svg is not what is drawn" in capsys.readouterr().out


@pytest.mark.parametrize("path", SVGS, ids=lambda path: path.name)
def test_they_stand_alone(path):
    """No script, and nothing from elsewhere; said in words, too."""
    root = xml.etree.ElementTree.fromstring(path.read_text())
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not names & {"script", "image", "use", "foreignObject", "a", "style"}, names
    assert not re.findall(r'href|url\((?!#)|\bon\w+="', path.read_text())
    children = [child.tag.rpartition("}")[2] for child in root]
    assert children[:2] == ["title", "desc"]
    assert path.stat().st_size < 100_000


def test_each_is_on_a_page():
    pages = "\n".join(page.read_text() for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])
    for path in [*SVGS, *PICTURES.glob("*.png")]:
        assert f"pictures/{path.name})" in pages, path.name


def test_photographs_are_small():
    for path in PICTURES.glob("*.png"):
        data = path.read_bytes()
        width, height = struct.unpack_from(">II", data, 16)
        assert len(data) < 150_000 and 300 <= width <= 1600 and height <= 2400, path.name
