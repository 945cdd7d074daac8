# SPDX-License-Identifier: MIT
"""SIGKILL at every system call of a program, one after the other."""
import collections
import os
import re
import shutil
import subprocess

from faults import LINE, injected, read_text

CALLS = "openat2 openat mkdirat write fsync fchmod symlinkat linkat renameat renameat2 unlinkat".split()
CHANGES = re.compile("O_(WRONLY|RDWR|CREAT|TRUNC|TMPFILE)")


def calls_of(argv, log, begin, network=True):
    """[(call, how many times that process has called it)] of a run of ARGV, from the first that mentions BEGIN on. Without
    NETWORK the run changes only the disk. An open for reading leaves that as it is at the next call, and is left out."""
    done = subprocess.run(["strace", "-f", "--seccomp-bpf", "-s", "512", "-o", str(log), "-e", "trace=" + ",".join(CALLS),
                           *argv], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    counts = collections.Counter()
    found = []
    begun = False
    for match in filter(None, map(LINE.match, read_text(log).splitlines())):
        pid, call, rest = match.groups()
        counts[pid, call] += 1
        begun = begun or begin in rest
        if begun and (network or not call.startswith("open") or CHANGES.search(rest)):
            found.append((call, counts[pid, call]))
    return found


def shape(root):
    """What stands below ROOT, without the random parts of temporary names; names and lengths are enough to tell states
    apart."""
    seen = []
    for directory, names, files in os.walk(root):
        for name in sorted(names + files):
            path = os.path.join(directory, name)
            link = os.readlink(path) if os.path.islink(path) else ""
            seen.append((directory.split(".credfresh-")[0], name.split(".credfresh-")[0], link, os.lstat(path).st_size))
    return sorted(seen)


def restore(root, base):
    shutil.rmtree(root)
    shutil.copytree(base, root, symlinks=True)


def killed_at(calls, argv, root, base, look, recover):
    """Kills ARGV at each of CALLS in turn and has LOOK see what there is, RECOVER whatever is new."""
    killed = 0
    seen = None
    for call, nth in calls:
        restore(root, base)
        done = subprocess.run([*injected(call, nth, "signal=KILL"), *argv], capture_output=True, text=True, timeout=60)
        assert done.returncode in (-9, 0), (call, nth, done.stderr)
        killed += done.returncode == -9
        look()
        now = shape(root)
        if now != seen:  # many calls leave the disk as it was
            recover()
            seen = now
    assert killed >= len(calls) * 9 // 10 and killed > 10
