# SPDX-License-Identifier: MIT
"""Runs a command as an old container runtime does: its filter refuses system calls that it does not know.

old_runtime.py ERRNO FIRST COMMAND...: every call from number FIRST on fails with ERRNO, but for clone3, which runtimes
answer with ENOSYS so that threads can start."""
import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_GE, JUMP_EQ, RETURN = 0x20, 0x35, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
CLONE3 = 435


def refuse(number, first):
    program = b"".join(struct.pack("HBBI", *line) for line in [
        (LOAD_NUMBER, 0, 0, 0),
        (JUMP_GE, 0, 3, first),
        (JUMP_EQ, 1, 0, CLONE3),
        (RETURN, 0, 0, REFUSE | number),
        (RETURN, 0, 0, REFUSE | errno.ENOSYS),
        (RETURN, 0, 0, ALLOW)])
    text = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    for option in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, MODE_FILTER, filter_, 0, 0)):
        if libc.prctl(*option) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    refuse(int(sys.argv[1]), int(sys.argv[2]))
    os.execvp(sys.argv[3], sys.argv[3:])
