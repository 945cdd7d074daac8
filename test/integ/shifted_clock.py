# SPDX-License-Identifier: MIT
"""Another wall clock for a program, by libfaketime; its boot clock stays as it is.

The library is loaded by itself: the command faketime makes a semaphore that is named by its process id, and fails where one
is left of a program that was killed, or of another process id namespace."""
import os
import pathlib
import struct
import time

LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def takes_preloaded_libraries(path):
    """False of a static program, and of one with sanitizers, which want to be the first themselves."""
    program = pathlib.Path(path).read_bytes()
    at, = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = [struct.unpack_from("<I", program, at + i * size)[0] for i in range(count)]
    return 3 in kinds and b"__asan_init" not in program  # 3: who loads it is named


def missing(program):
    """For want of what the clock of PROGRAM cannot be shifted, in words; None if it can."""
    if not os.path.exists(LIBRARY):
        return "libfaketime"
    return None if takes_preloaded_libraries(program) else "program that takes preloaded libraries"


class ShiftedClock:
    """The clock of the programs that run with ENV; it is OFFSET_S from the true time, and can be set while they run."""

    def __init__(self, directory, offset_s=0):
        self.path = pathlib.Path(directory) / "clock"
        self.env = {"LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": str(self.path), "FAKETIME_NO_CACHE": "1",
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DISABLE_SHM": "1"}
        self.set(offset_s)

    def set(self, offset_s):
        new = self.path.with_suffix(".new")
        new.write_text(f"{offset_s:+.0f}\n")
        new.rename(self.path)
        self.offset_s = offset_s

    def now(self):
        return int(time.time()) + self.offset_s
