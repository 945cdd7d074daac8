# SPDX-License-Identifier: MIT
"""What a loss of power may leave behind. The system calls of a program are recorded by strace(1), which needs no privilege,
sees static programs and every way to call the kernel, and gives one order over all processes. From them a model makes each
state that POSIX allows a file system to have on the disk, at each point, and puts it where the program wrote:

- the bytes, size, mode and owner of a file are certain once it is synced. Before that its bytes may be old, missing, cut
  short, or zeros of the right size, each with the old or the new mode and owner;
- names are certain once their directory is synced. Before that each change of a name (a file, directory or link that was
  made, renamed or removed) may be lost or kept by itself, in any order. One rename is kept or lost as a whole;
- a file or directory that is synced has no name for that, and a synced name says nothing about what is behind it.

No file system is as bad as this, and each is bad in one of these ways. What is recorded is checked against the disk at the
end, so a call that the model does not know is an error and not a gap.
"""
import itertools
import os
import re
import shutil
import stat
import subprocess

from faults import read_text

FILES = ("open openat openat2 creat close dup dup2 dup3 fcntl lseek write pwrite64 writev ftruncate truncate fallocate "
         "copy_file_range sendfile chmod fchmod fchmodat chown fchown fchownat mkdir mkdirat rename renameat renameat2 "
         "symlink symlinkat link linkat unlink unlinkat rmdir fsync fdatasync sync syncfs").split()
LINE = re.compile(r"^(\d+) +(\d+\.\d+) (\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?.*$", re.S)
UNFINISHED = re.compile(r"^(\d+) +(\d+\.\d+) (.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +(\d+\.\d+) <\.\.\. \w+ resumed>(.*)$")
ARGUMENT = re.compile(r'(?:\{[^}]*\}|"[^"]*"|<[^>]*>|[^,{"<])+')
MODE = re.compile(r"(?:mode=|\s)(0[0-7]*)")
FULL_PRODUCT = 256  # as many states at one point are made in every combination


def wrapper(log):
    """The words that stand before a command to record it."""
    return ["strace", "-f", "--seccomp-bpf", "-ttt", "-y", "-xx", "-s", "4194304", "-o", str(log), "-e", "trace=" +
            ",".join(FILES)]


def record(argv, log, **how):
    """Runs ARGV, which must succeed, to its end."""
    done = subprocess.run([*wrapper(log), *argv], capture_output=True, text=True, timeout=120, **how)
    assert done.returncode == 0, done.stderr
    return done


def plain(text):
    """Bytes of strace's hexadecimal text, with or without quotes."""
    return bytes.fromhex(text.strip('"').replace("\\x", ""))


def readable(argument):
    """An argument as strace shows it, in plain text."""
    return re.sub(r"(?:\\x[0-9a-f]{2})+", lambda m: plain(m.group())[-60:].decode(errors="replace"), argument)


def lines(log):
    """(pid, time, call, arguments, result, path of the result), the calls that failed left out."""
    begun = {}
    for line in read_text(log).splitlines():
        part = UNFINISHED.match(line)
        if part:
            begun[part.group(1)] = part.group(3)
            continue
        part = RESUMED.match(line)
        if part:
            line = f"{part.group(1)} {part.group(2)} {begun.pop(part.group(1))}{part.group(3)}"
        match = LINE.match(line)
        if match and not match.group(5).startswith("-"):
            pid, at, call, rest, result, path = match.groups()
            yield int(pid), float(at), call, [a.strip() for a in ARGUMENT.findall(rest)], int(result), path


class Node:
    """A file (bytes), a link (text) or a directory (names), as programs see it, and what of it is certain."""

    def __init__(self, kind, content, mode):
        self.kind, self.content, self.mode = kind, content, mode
        self.sure_content = {} if kind == "directory" else content if kind == "link" else b""
        self.sure_mode = mode
        self.writes = []   # contents since the last sync
        self.renames = []  # {name: node or None} since the last sync

    def sync(self):
        self.sure_mode = self.mode
        self.sure_content = dict(self.content) if self.kind == "directory" else self.content
        self.writes, self.renames = [], []

    def write(self, content):
        self.content = content
        self.writes.append(content)

    def contents(self):
        """Each content that may be on the disk: what is certain first, then what the program wrote last."""
        found = [self.sure_content]
        for content in reversed(self.writes):
            half = len(content) // 2
            found += [content, content[:half], bytes(len(content)), content[:half] + bytes(len(content) - half)]
        return list(dict.fromkeys(found))


def scan(path):
    """The node of what is at PATH, all of it certain; None for what is no file, link or directory."""
    status = os.lstat(path)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        node = Node("link", os.readlink(path), mode)
    elif stat.S_ISREG(status.st_mode):
        node = Node("file", open(path, "rb").read(), mode)
    elif stat.S_ISDIR(status.st_mode):
        found = {name: scan(os.path.join(path, name)) for name in os.listdir(path)}
        node = Node("directory", {name: one for name, one in found.items() if one is not None}, mode)
    else:
        return None
    node.sync()
    return node


def flat(node, names=lambda node: node.content, content=lambda node: node.content, mode=lambda node: node.mode):
    """{path: (kind, content, mode)} of everything below NODE; a path of a directory comes before those below it."""
    found = {}
    todo = [("", node)]
    while todo:
        path, one = todo.pop()
        if one.kind == "directory":
            found[path] = ("directory", None, mode(one))
            todo += [(f"{path}/{name}", below) for name, below in names(one).items()]
        else:
            found[path] = (one.kind, content(one), None if one.kind == "link" else mode(one))
    return found


class Disk:
    """The directory ROOT, from now on, without the names IGNORED below it. What is there is on the disk. SIGNS are files
    elsewhere; `seen` has those that were made."""

    def __init__(self, root, ignored=(), signs=()):
        self.root = os.path.realpath(root)
        self.signs = {os.path.realpath(path) for path in signs}
        self.seen = set()
        self.ignored = {os.path.join(self.root, name) for name in ignored}
        self.top = scan(self.root)
        for path in self.ignored:
            self.top.content.pop(os.path.relpath(path, self.root), None)
        self.top.sync()
        self.open = {}     # (pid, descriptor): [node, position]
        self.lost_secrets = []

    # ---- names ----

    def find(self, path):
        """(directory, last name, node or None) of PATH, (None, None, None) outside of ROOT. Links are followed but for the
        last name."""
        for _ in range(40):
            relative = os.path.relpath(path, self.root)
            if relative == ".":
                return None, None, self.top
            if relative.startswith("..") and relative[2:3] in ("", "/") or path in self.ignored:
                return None, None, None
            directory = self.top
            parts = relative.split("/")
            for i, part in enumerate(parts[:-1]):
                directory = directory.content.get(part) if directory.kind == "directory" else None
                if directory is None:
                    return None, None, None
                if directory.kind == "link":
                    target = os.path.join(self.root, *parts[:i], directory.content)
                    path = os.path.normpath(os.path.join(target, *parts[i + 1:]))
                    break
            else:
                return directory, parts[-1], directory.content.get(parts[-1])
        raise AssertionError(f"{path}: a circle of links")

    def rename(self, directory, changes):
        for name, node in changes.items():
            if node is None:
                gone = directory.content.pop(name, None)
                if gone is not None and gone.kind == "file" and gone.sure_content.strip(b"\0"):
                    self.lost_secrets.append(name)
            else:
                directory.content[name] = node
        directory.renames.append(changes)

    # ---- calls ----

    def replay(self, log):
        """Carries out what LOG holds, and yields (when, what was called) after each call that changed something or synced
        it."""
        self.open.clear()
        for pid, at, call, arguments, result, path in lines(log):
            how = getattr(self, "on_" + ALIAS.get(call, call), None)
            if how is not None and how(pid, arguments, result, path):
                yield at, f"{call}({', '.join(map(readable, arguments))})"

    def node_of(self, pid, argument):
        """[node, position] of a descriptor like 4</some/path>."""
        number, _, path = argument.partition("<")
        known = self.open.get((pid, int(number)))
        if known is not None:
            return known
        node = self.find(os.fsdecode(plain(path.partition(">")[0])))[2] if path.startswith("\\x2f") else None
        return self.open.setdefault((pid, int(number)), [node, 0]) if node is not None else [None, 0]

    def path_of(self, at, name):
        """The path that a directory's descriptor and a NAME mean."""
        base = os.fsdecode(plain(at.partition("<")[2].rstrip(">"))) if at is not None else "/"
        return os.path.normpath(os.path.join(base, os.fsdecode(plain(name))))

    def on_openat(self, pid, arguments, result, path):
        self.open.pop((pid, result), None)
        flags = " ".join(arguments[2:])
        if path is None or not path.startswith("\\x2f"):
            return False
        path = os.fsdecode(plain(path))
        if path in self.signs and "O_CREAT" in flags:
            self.seen.add(path)
            return True
        directory, name, node = self.find(path)
        if node is None and directory is not None and "O_CREAT" in flags:
            node = Node("file", b"", int(MODE.search(flags).group(1), 8))
            self.rename(directory, {name: node})
        elif node is None:
            return False
        elif "O_TRUNC" in flags and node.content:
            node.write(b"")
        else:
            self.open[pid, result] = [node, len(node.content) if "O_APPEND" in flags else 0]
            return False
        self.open[pid, result] = [node, 0]
        return True

    def on_open(self, pid, arguments, result, path):
        return self.on_openat(pid, [None, *arguments], result, path)

    def on_creat(self, pid, arguments, result, path):
        return self.on_openat(pid, [None, arguments[0], "O_CREAT|O_TRUNC", *arguments[1:]], result, path)

    def on_close(self, pid, arguments, result, path):
        self.open.pop((pid, int(arguments[0].partition("<")[0])), None)
        return False

    def on_dup(self, pid, arguments, result, path):
        self.open.pop((pid, result), None)
        known = self.node_of(pid, arguments[0])
        if known[0] is not None:
            self.open[pid, result] = known
        return False

    def on_fcntl(self, pid, arguments, result, path):
        return self.on_dup(pid, arguments, result, path) if arguments[1].startswith("F_DUPFD") else False

    def on_lseek(self, pid, arguments, result, path):
        self.node_of(pid, arguments[0])[1] = result
        return False

    def put(self, node, position, data):
        node.write(node.content[:position].ljust(position, b"\0") + data + node.content[position + len(data):])

    def on_write(self, pid, arguments, result, path):
        known = self.node_of(pid, arguments[0])
        if known[0] is None or known[0].kind != "file":
            return False
        self.put(known[0], known[1], plain(arguments[1])[:result])
        known[1] += result
        return True

    def on_writev(self, pid, arguments, result, path):
        data = "".join(re.findall(r'iov_base="([^"]*)"', " ".join(arguments[1:-1])))
        return self.on_write(pid, [arguments[0], data], result, path)

    def on_pwrite64(self, pid, arguments, result, path):
        node = self.node_of(pid, arguments[0])[0]
        if node is None:
            return False
        self.put(node, int(arguments[3]), plain(arguments[1])[:result])
        return True

    def on_ftruncate(self, pid, arguments, result, path):
        node = self.node_of(pid, arguments[0])[0]
        if node is None or len(node.content) == int(arguments[1]):
            return False
        node.write(node.content[:int(arguments[1])].ljust(int(arguments[1]), b"\0"))
        return True

    def on_fchmod(self, pid, arguments, result, path):
        node = self.node_of(pid, arguments[0])[0]
        if node is None:
            return False
        node.mode = int(arguments[1], 8)
        return True

    def on_mkdirat(self, pid, arguments, result, path):
        return self.make(arguments[0], arguments[1], lambda: Node("directory", {}, int(arguments[2], 8)))

    def on_mkdir(self, pid, arguments, result, path):
        return self.on_mkdirat(pid, [None, *arguments], result, path)

    def on_symlinkat(self, pid, arguments, result, path):
        return self.make(arguments[1], arguments[2], lambda: Node("link", os.fsdecode(plain(arguments[0])), 0o777))

    def on_symlink(self, pid, arguments, result, path):
        return self.on_symlinkat(pid, [arguments[0], None, arguments[1]], result, path)

    def make(self, at, name, made):
        directory, name, node = self.find(self.path_of(at, name))
        if directory is None:
            return False
        self.rename(directory, {name: made()})
        return True

    def on_renameat(self, pid, arguments, result, path):
        source, old, node = self.find(self.path_of(*arguments[:2]))
        target, new, _ = self.find(self.path_of(*arguments[2:4]))
        if node is None:
            return False
        assert source is target, "a rename from one directory into another"
        directory_left = source.content.pop(old)
        self.rename(source, {old: None, new: directory_left})
        return True

    def on_rename(self, pid, arguments, result, path):
        return self.on_renameat(pid, [None, arguments[0], None, arguments[1]], result, path)

    def on_unlinkat(self, pid, arguments, result, path):
        directory, name, node = self.find(self.path_of(*arguments[:2]))
        if node is None:
            return False
        self.rename(directory, {name: None})
        return True

    def on_unlink(self, pid, arguments, result, path):
        return self.on_unlinkat(pid, [None, *arguments], result, path)

    def on_fsync(self, pid, arguments, result, path):
        node = self.node_of(pid, arguments[0])[0]
        if node is None:
            return False
        node.sync()
        return True

    def is_true(self):
        """The model has what the disk has."""
        real = Disk(self.root, [os.path.relpath(path, self.root) for path in self.ignored])
        ours, theirs = flat(self.top), flat(real.top)
        wrong = [path for path in {*ours, *theirs} if ours.get(path) != theirs.get(path)]
        assert not wrong, [(path, ours.get(path), theirs.get(path)) for path in wrong][:3]
        return True

    # ---- what may be left ----

    def nodes(self):
        """Every node that has, or may have, a name."""
        found = {}
        todo = [self.top]
        while todo:
            node = todo.pop()
            if id(node) in found:
                continue
            found[id(node)] = node
            if node.kind == "directory":
                todo += [*node.content.values(), *node.sure_content.values(),
                         *(one for change in node.renames for one in change.values() if one is not None)]
        return list(found.values())

    def states(self):
        """Each state that may be on the disk now, as flat() gives it, all of it kept first and all of it lost next."""
        units = []  # what is not certain, and its choices: the first is lost
        for node in self.nodes():
            units += [((id(node), i), (False, True)) for i in range(len(node.renames))]
            if any(content != node.sure_content for content in node.writes):
                units.append(((id(node), "content"), tuple(node.contents())))
            if node.mode != node.sure_mode:
                units.append(((id(node), "mode"), (node.sure_mode, node.mode)))
        for chosen in combinations([choices for _, choices in units]):
            yield self.state(dict(zip([unit for unit, _ in units], chosen)))

    def state(self, chosen):
        def names(node):
            found = dict(node.sure_content)
            for i, change in enumerate(node.renames):
                if chosen[id(node), i]:
                    found.update(change)
            return {name: one for name, one in found.items() if one is not None}

        return flat(self.top, names, lambda node: chosen.get((id(node), "content"), node.content),
                    lambda node: chosen.get((id(node), "mode"), node.mode))

    def put_back(self, state):
        """Puts STATE where the program wrote, whatever is there."""
        for name in os.listdir(self.root):
            path = os.path.join(self.root, name)
            if path not in self.ignored:
                (shutil.rmtree if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
        self.there = {"": ("directory", None, None)}
        self.change_to(state)

    def change_to(self, state):
        """The same where nothing was changed since the last state that was put there."""
        wrong = [path for path, what in self.there.items() if state.get(path, (None, None))[:2] != what[:2]]
        for path in sorted(wrong, reverse=True):  # what is below a directory first
            (os.rmdir if self.there.pop(path)[0] == "directory" else os.unlink)(self.root + path)
        for relative, (kind, content, mode) in state.items():
            path = self.root + relative
            if relative not in self.there:
                if kind == "link":
                    os.symlink(content, path)
                elif kind == "directory":
                    os.mkdir(path)
                else:
                    with open(path, "wb") as file:
                        file.write(content)
            if kind != "link" and self.there.get(relative, (None, None, None))[2] != mode:
                os.chmod(path, mode)
        self.there = dict(state)


ALIAS = {"openat2": "openat", "dup2": "dup", "dup3": "dup", "renameat2": "renameat", "fdatasync": "fsync", "rmdir": "unlink"}


def combinations(units):
    """Every choice of one of each of UNITS, where they are few. Else all kept, all lost, and with either of these each one
    and each two that are otherwise."""
    total = 1
    for choices in units:
        total *= len(choices)
    kept, lost = tuple(choices[1] for choices in units), tuple(choices[0] for choices in units)
    if total <= FULL_PRODUCT:
        yield kept
        yield lost
        yield from itertools.product(*units)
        return
    yield kept
    yield lost
    for base in (kept, lost):
        for count in (1, 2):
            for where in itertools.combinations(range(len(units)), count):
                for values in itertools.product(*(units[i] for i in where)):
                    chosen = list(base)
                    for i, value in zip(where, values):
                        chosen[i] = value
                    yield tuple(chosen)
