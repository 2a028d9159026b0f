"""Histograms as the engines write them, of known values."""

from __future__ import annotations

import struct
from collections.abc import Mapping


def histogram(counts: Mapping[int, int]) -> bytes:
    """HdrHistogram's V2 encoding of values below 2048 ns, each of which has a bucket of its own."""

    def varint(number: int) -> bytes:
        zigzag = (number << 1) ^ (number >> 63)
        out = b""
        while zigzag >= 0x80:
            out, zigzag = out + bytes([zigzag & 0x7F | 0x80]), zigzag >> 7
        return out + bytes([zigzag])

    payload, at = b"", 0
    for value, count in sorted(counts.items()):
        payload += (varint(at - value) if value > at else b"") + varint(count)
        at = value + 1
    return struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, 3, 1, 10**9, 1.0) + payload
