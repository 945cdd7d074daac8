#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libcredfresh: asking for a change against stat(), and acquire/release against a counted pointer under a mutex; with one
thread and with as many as there are cores.

usage: lib.py [BUILD_DIR]
"""
import os
import pathlib
import statistics
import subprocess
import sys

from common import ROOT, finish, scratch, verdict

sys.path.insert(0, str(ROOT / "test/consumer"))
from volume import Volume  # noqa: E402


def figures(program, directory, threads):
    values = {}
    for line in subprocess.run([program, directory, str(threads)], check=True, stdout=subprocess.PIPE,
                               text=True).stdout.splitlines():
        name, value = line.split()
        values.setdefault(name, []).append(float(value))
    return {name: statistics.median(value) for name, value in values.items()}


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/dev") / "libcredfresh"
    with scratch() as directory:
        volume = Volume(directory / "volume")
        volume.update(token="a token")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", f"-I{ROOT}/libcredfresh/include", "-o", directory / "lib",
                        pathlib.Path(__file__).with_name("lib.c"), f"-L{build}", f"-Wl,-rpath,{build.resolve()}", "-lcredfresh",
                        "-pthread"], check=True)
        for threads in sorted({1, os.cpu_count()}):
            f = figures(directory / "lib", volume.path, threads)
            print(f"{threads} thread(s): changed {f['changed']:.1f} ns, stat {f['stat']:.0f} ns, "
                  f"acquire and release {f['acquire']:.1f} ns, with a mutex {f['mutex']:.1f} ns")
            times = f"{threads} thread{'s' if threads > 1 else ''}"
            verdict(f"libcredfresh: `credfresh_changed()` compared with `stat()` of the file, {times}", f["changed"] / f["stat"], 0.05,
                    detail=f"{f['changed']:.1f} ns against {f['stat']:.0f} ns")
            verdict(f"libcredfresh: acquire and release compared with a counted pointer under a mutex, {times}",
                    f["acquire"] / f["mutex"], 0.5 if threads == 1 else 1,
                    detail=f"{f['acquire']:.1f} ns against {f['mutex']:.1f} ns")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
