#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Finds the code of the C library and of OpenSSL that an agent executes, and writes cmake/static_often.ld, which places it
together: the kernel brings in a program in pieces of 64 KiB, each for the sake of one function in it.

usage: often.py [BUILD]        BUILD: what tools/build-static.sh made (build/static); wants valgrind and the programs of build/dev

The agent runs under valgrind, which names every address it executes or reads, until its credential is fresh. Run it after a
change of the libraries; a name that matches nothing does no harm, and neither does a missing one.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from common import Agent, local_cloud, scratch  # noqa: E402

LIBRARIES = ("libc.a", "libcrypto.a", "libssl.a")
LINE = 6                # addresses are noted by cache lines
VALGRIND_BASE = 0x108000  # where it loads a program that is position independent
HEADLINE = """\
/* Made by tools/static/often.py: the parts of the C library and of OpenSSL that an agent executes, and constants that it
   reads, together. The rest, nearly half of it, stays on disk. */
"""


def touched_lines(program):
    """The lines of the program that are touched from its start to a fresh credential."""
    lines = set()
    with scratch(in_memory=True) as directory, local_cloud(directory) as cloud:
        agent = Agent(directory / "agent", cloud)
        agent.configure(agent.credential("demo", publish={
            "directory": str(agent.dir / "out"), "files": [{"name": "credentials", "format": "aws-credentials"}]}))
        read, write = os.pipe()
        process = subprocess.Popen(
            ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-fd={write}", program, "run", "-c", agent.config_path],
            stdout=subprocess.DEVNULL, stderr=open(agent.log_path, "wb"), pass_fds=[write])
        os.close(write)
        with os.fdopen(read, encoding="ascii", errors="replace") as trace:
            for number, line in enumerate(trace):
                match = re.match(r"(?:I | [LSM]) ([0-9a-f]+),", line)
                if match:
                    lines.add((int(match[1], 16) - VALGRIND_BASE) >> LINE)
                if number % 100000 == 0 and "[fresh]" in agent.log_path.read_text():
                    process.terminate()
        if process.wait() != 0:
            sys.exit(f"often.py: {program} under valgrind: status {process.returncode}; {agent.log_path.read_text()[-400:]}")
    return lines


def sections(link_map):
    """(address, size, library, object, kind) of each input section; texts (.rodata.str1.1) are merged, and so nobody's."""
    text = link_map[link_map.index("Linker script and memory map"):]
    pattern = r"^ (\.text\S*|\.rodata)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+\S*/(lib\w+\.a)\(([^)]+)\)$"
    return [(int(m[2], 16), int(m[3], 16), m[4], m[5], m[1].split(".")[1]) for m in re.finditer(pattern, text, re.M)]


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/static")
    lines = touched_lines(build / "agent/credfresh")
    wanted = {"text": set(), "rodata": set()}
    for address, size, library, name, kind in sections((build / "agent/credfresh.map").read_text()):
        if library in LIBRARIES and any(line in lines for line in range(address >> LINE, ((address + size - 1) >> LINE) + 1)):
            wanted[kind].add(f"*{library}:{name.replace('x86_64', '*')}")  # other processors have the same by another name
    out = HEADLINE
    for kind, inputs, place in (("text", ".text .text.*", "BEFORE"), ("rodata", ".rodata", "AFTER")):
        rows = "".join(f"        {name}({inputs})\n" for name in sorted(wanted[kind]))
        out += f"SECTIONS\n{{\n    .{kind}.often :\n    {{\n{rows}    }}\n}}\nINSERT {place} .{kind};\n"
    (ROOT / "cmake/static_often.ld").write_text(out)
    print(f"often.py: {len(wanted['text'])} and {len(wanted['rodata'])} names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
