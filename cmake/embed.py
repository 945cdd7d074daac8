#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py TO FROM...: writes the text files FROM as the elements of a C array, compressed as one for agent/cmd/pages.c:
much of one page is in the others, too. Files with commas between them are one text.

First four bytes for the size of each text, least first. Then tokens: a byte below 128 precedes that many literal bytes and
one more; in any other one, bits 0 to 5 are the length of a copy, less 4, and bit 6 is bit 16 of the distance back to its
source, of which the next two bytes are the rest."""
import collections
import sys

LEAST, LONGEST, WINDOW, TRIES = 4, 67, 131071, 256


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
            back = at - source
            yield bytes([128 | back >> 16 << 6 | best - LEAST]) + (back & 65535).to_bytes(2, "little")
        else:
            literals.append(data[at])
        for i in range(at, at + step):
            places[data[i:i + LEAST]].append(i)
        at += step
    if literals:
        yield bytes([len(literals) - 1]) + literals


texts = []
for paths in sys.argv[2:]:
    texts.append(b"")
    for path in paths.split(","):
        with open(path, "rb") as file:
            texts[-1] += file.read()
packed = b"".join(len(text).to_bytes(4, "little") for text in texts) + b"".join(tokens(b"".join(texts)))
with open(sys.argv[1], "w", encoding="ascii") as file:
    for i in range(0, len(packed), 20):
        file.write("".join(f"{byte}," for byte in packed[i:i + 20]) + "\n")
