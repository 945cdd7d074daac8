# SPDX-License-Identifier: MIT
"""The configurations that the pages and examples show for a node, where credfresh runs as the unit of the packages.

In a page such a block follows the HTML comment `<!-- node -->`, or `<!-- recipe -->` where the node needs another program too:
test/real/test_recipes.py runs that with the program. Of the example files, those count that publish where the unit may."""
import re

import yaml

# What only a node has: a hook that asks systemd for a reload, and the directory that the unit can write to.
OF_A_NODE = re.compile(r"/run/credfresh-reload/|systemctl, |(directory|path): /run/secrets/credfresh/|/run/credentials/credfresh\.service/")
_BLOCK = re.compile(r"^(?:<!-- (node|recipe) -->\n)?```yaml\n(.*?)^```$", re.M | re.S)


def is_whole(text):
    document = yaml.safe_load(text)
    return isinstance(document, dict) and "version" in document


def node_examples(root):
    """(id, text) of each."""
    for path in [*sorted((root / "examples").glob("*.yaml")), *sorted((root / "systemd/examples").glob("*.yaml"))]:
        if OF_A_NODE.search(path.read_text()):
            yield path.relative_to(root).as_posix(), path.read_text()
    for path in [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]:
        for number, found in enumerate(_BLOCK.finditer(path.read_text()), 1):
            if found[1] == "node":
                yield f"{path.relative_to(root).as_posix()}#{number}", found[2]


def unmarked(root):
    """Whole configurations in pages that are for a node and do not say so, as "page: first line that tells"."""
    for path in [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]:
        for found in _BLOCK.finditer(path.read_text()):
            tells = OF_A_NODE.search(found[2])
            if tells and not found[1] and len(list(yaml.safe_load_all(found[2]))) == 1 and is_whole(found[2]):
                yield f"{path.relative_to(root).as_posix()}: {tells[0]}"
