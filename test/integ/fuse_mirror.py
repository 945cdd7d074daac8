# SPDX-License-Identifier: MIT
"""A FUSE file system that shows a directory: fuse_mirror.py DIRECTORY DESCRIPTOR, of /dev/fuse. A SIGSTOP makes it hang.

Linux' include/uapi/linux/fuse.h, protocol 7.22."""
import errno
import os
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, MKNOD, MKDIR, UNLINK, RMDIR, RENAME = 1, 2, 3, 4, 8, 9, 10, 11, 12
OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT = 14, 15, 16, 17, 18, 20, 25, 26
OPENDIR, READDIR, RELEASEDIR, FSYNCDIR, CREATE, INTERRUPT, BATCH_FORGET, RENAME2 = 27, 28, 29, 30, 35, 36, 42, 45


class Mirror:
    def __init__(self, root):
        self.paths = {1: root}

    def node(self, path):
        for node, known in self.paths.items():
            if known == path:
                return node
        self.paths[max(self.paths) + 1] = path
        return max(self.paths)

    def attr(self, path):
        st = os.lstat(path)
        ns = [time % 10 ** 9 for time in (st.st_atime_ns, st.st_mtime_ns, st.st_ctime_ns)]
        return struct.pack("=6Q10I", st.st_ino, st.st_size, st.st_blocks, int(st.st_atime), int(st.st_mtime), int(st.st_ctime), *ns,
                           st.st_mode, st.st_nlink, st.st_uid, st.st_gid, st.st_rdev, 4096, 0)

    def entry(self, path):
        attr = self.attr(path)
        return struct.pack("=4QII", self.node(path), 0, 0, 0, 0, 0) + attr

    def setattr(self, path, body):
        valid, size = struct.unpack_from("=I4xQQ", body)[0::2]
        mode, uid, gid = struct.unpack_from("=I4xII", body, 68)
        if valid & 1:
            os.chmod(path, stat.S_IMODE(mode))
        if valid & 6:
            os.chown(path, uid if valid & 2 else -1, gid if valid & 4 else -1)
        if valid & 8:
            os.truncate(path, size)
        return struct.pack("=QII", 0, 0, 0) + self.attr(path)

    def rename(self, path, new_node, names):
        old, new = (os.path.join(at, name.decode()) for at, name in zip((path, self.paths[new_node]), names.split(b"\0")))
        os.rename(old, new)
        node = self.node(old)
        self.paths = {n: known for n, known in self.paths.items() if known != new}
        self.paths[node] = new
        return b""

    def readdir(self, path, body):
        offset, size = struct.unpack_from("=QI", body, 8)
        out = b""
        for i, name in list(enumerate([".", "..", *sorted(os.listdir(path))]))[offset:]:
            raw = name.encode()
            one = struct.pack("=QQII", 2, i + 1, len(raw), 0) + raw + bytes(-len(raw) % 8)
            if len(out) + len(one) > size:
                break
            out += one
        return out

    def answer(self, op, path, body):
        inside = lambda at: os.path.join(path, body[at:].split(b"\0")[0].decode())  # noqa: E731
        if op == INIT:
            return struct.pack("=IIIIHHI", 7, 22, 0, 0, 12, 9, 65536)
        if op == LOOKUP:
            return self.entry(inside(0))
        if op == GETATTR:
            return struct.pack("=QII", 0, 0, 0) + self.attr(path)
        if op == SETATTR:
            return self.setattr(path, body)
        if op == MKNOD:
            os.mknod(inside(16), struct.unpack_from("=I", body)[0])
            return self.entry(inside(16))
        if op == MKDIR:
            os.mkdir(inside(8), struct.unpack_from("=I", body)[0] & 0o7777)
            return self.entry(inside(8))
        if op in (UNLINK, RMDIR):
            (os.unlink if op == UNLINK else os.rmdir)(inside(0))
            return b""
        if op in (RENAME, RENAME2):
            return self.rename(path, struct.unpack_from("=Q", body)[0], body[8 if op == RENAME else 16:])
        if op in (OPEN, OPENDIR):
            flags = struct.unpack_from("=I", body)[0]
            return struct.pack("=QII", os.open(path, flags & ~(os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)), 0, 0)
        if op == CREATE:
            flags, mode = struct.unpack_from("=II", body)
            fd = os.open(inside(16), flags | os.O_CREAT, mode & 0o7777)
            return self.entry(inside(16)) + struct.pack("=QII", fd, 0, 0)
        if op == READ:
            return os.pread(struct.unpack_from("=Q", body)[0], struct.unpack_from("=I", body, 16)[0], struct.unpack_from("=Q", body, 8)[0])
        if op == WRITE:
            fd, offset = struct.unpack_from("=QQ", body)
            return struct.pack("=II", os.pwrite(fd, body[40:], offset), 0)
        if op == READDIR:
            return self.readdir(path, body)
        if op == STATFS:
            return struct.pack("=5Q4I24x", 1 << 20, 1 << 19, 1 << 19, 1 << 16, 1 << 15, 4096, 255, 4096, 0)
        if op in (RELEASE, RELEASEDIR):
            os.close(struct.unpack_from("=Q", body)[0])
            return b""
        if op in (FSYNC, FSYNCDIR, FLUSH):
            return b""
        raise OSError(errno.ENOSYS, "not here")


def main(root, device):
    os.umask(0)
    mirror = Mirror(root)
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError as error:
            if error.errno == errno.ENOENT:
                continue
            return
        op, unique, node = struct.unpack_from("=IQQ", request, 4)
        if op in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        try:
            body, error = mirror.answer(op, mirror.paths.get(node, "/nowhere"), request[40:]), 0
        except OSError as failed:
            body, error = b"", failed.errno
        try:
            os.write(device, struct.pack("=IiQ", 16 + len(body), -error, unique) + body)
        except OSError as error:
            if error.errno != errno.ENOENT:
                return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
