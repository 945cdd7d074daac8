# SPDX-License-Identifier: MIT
"""Makes a browser's picture of a page small: at most 256 colours, as many as such a page has but for shades of its letters."""
import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunks(data):
    at = len(SIGNATURE)
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def pixels(data):
    """(width, rows of (red, green, blue)) of a PNG with 8 bits and 3 or 4 channels, not interlaced."""
    assert data.startswith(SIGNATURE)
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", next(chunks(data))[1])
    assert depth == 8 and kind in (2, 6) and not interlaced
    n = 3 if kind == 2 else 4
    raw = zlib.decompress(b"".join(part for name, part in chunks(data) if name == b"IDAT"))
    above = bytearray(width * n + n)
    rows = []
    for y in range(height):
        start = y * (width * n + 1)
        filter_type = raw[start]
        line = bytearray(n) + raw[start + 1:start + 1 + width * n]  # with a pixel of zeros before it
        for i in range(n, len(line)) if filter_type else ():
            if filter_type == 1:
                line[i] = line[i] + line[i - n] & 255
            elif filter_type == 2:
                line[i] = line[i] + above[i] & 255
            elif filter_type == 3:
                line[i] = line[i] + (line[i - n] + above[i]) // 2 & 255
            else:
                line[i] = line[i] + paeth(line[i - n], above[i], above[i - n]) & 255
        above = line
        rows.append(list(zip(line[n::n], line[n + 1::n], line[n + 2::n])))
    return width, rows


def reduced(data):
    """The PNG DATA with its 256 most frequent colours; each other one becomes the nearest of them."""
    width, rows = pixels(data)
    counts = collections.Counter(colour for row in rows for colour in row)
    palette = [colour for colour, _ in counts.most_common(256)]
    place = {colour: i for i, colour in enumerate(palette)}
    for colour in counts:
        if colour not in place:
            place[colour] = min(range(len(palette)), key=lambda i: sum((x - y) ** 2 for x, y in zip(colour, palette[i])))
    packed = zlib.compress(b"".join(b"\0" + bytes(place[colour] for colour in row) for row in rows), 9)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)),
             (b"PLTE", b"".join(map(bytes, palette))), (b"IDAT", packed), (b"IEND", b"")]
    return SIGNATURE + b"".join(struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
                                for kind, part in parts)
