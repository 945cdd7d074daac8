#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py FROM TO: writes the text file FROM as the elements of a C array, compressed for agent/cmd/pages.c.

Four bytes of size (least first), then tokens: a byte below 128 precedes that many literal bytes and one more; any other
one, with 124 taken from it, is the length of a copy, and the next two bytes are the distance back to its source."""
import collections
import sys

LEAST, LONGEST, WINDOW, TRIES = 4, 131, 65535, 256


def tokens(data):
    places, literals, at = collections.defaultdict(list), bytearray(), 0
    while at < len(data):
        best, source = 0, 0
        for place in reversed(places[data[at:at + LEAST]][-TRIES:]):
            n = 0
            while n < LONGEST and at + n < len(data) and data[place + n] == data[at + n]:
                n += 1
            if at - place <= WINDOW and n > best:
                best, source = n, place
        step = best if best >= LEAST else 1
        if best >= LEAST or len(literals) == 128:
            if literals:
                yield bytes([len(literals) - 1]) + literals
            literals = bytearray()
        if best >= LEAST:
            yield bytes([best + 124]) + (at - source).to_bytes(2, "little")
        else:
            literals.append(data[at])
        for i in range(at, at + step):
            places[data[i:i + LEAST]].append(i)
        at += step
    if literals:
        yield bytes([len(literals) - 1]) + literals


with open(sys.argv[1], "rb") as file:
    text = file.read()
packed = len(text).to_bytes(4, "little") + b"".join(tokens(text))
with open(sys.argv[2], "w", encoding="ascii") as file:
    for i in range(0, len(packed), 20):
        file.write("".join(f"{byte}," for byte in packed[i:i + 20]) + "\n")
