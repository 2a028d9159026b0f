"""Counts by value as a histogram of the bundle: HdrHistogram, V2 encoding, three significant digits.

http://hdrhistogram.org: values below 2,048 have a slot of their own; above, each power of two has 1,024.
"""

import struct
from collections.abc import Iterable

_COOKIE = 0x1C849303 | 0x10
_LOWEST, _HIGHEST, _DIGITS = 1, 3_600_000_000_000, 3
_HALF_BITS = 10
_HALF = 1 << _HALF_BITS


def encoded(counts: Iterable[tuple[int, int]]) -> bytes:
    """value in ns and number of such values, in any order; values beyond an hour count as an hour."""
    slots: dict[int, int] = {}
    for value, count in counts:
        slot = _slot(min(max(value, 0), _HIGHEST))
        slots[slot] = slots.get(slot, 0) + count
    payload = bytearray()
    last = -1
    for slot in sorted(slots):
        if slots[slot] <= 0:
            continue
        if (gap := slot - last - 1) > 0:
            _zigzag(payload, -gap)
        _zigzag(payload, slots[slot])
        last = slot
    head = struct.pack(">iiiiqqd", _COOKIE, len(payload), 0, _DIGITS, _LOWEST, _HIGHEST, 1.0)
    return head + bytes(payload)


def leading(value: int) -> int:
    """A value cut to what a histogram distinguishes, so that a log has few different ones."""
    shift = max(0, value.bit_length() - _HALF_BITS - 1)
    return (value >> shift) << shift


def _slot(value: int) -> int:
    bucket = max(0, value.bit_length() - _HALF_BITS - 1)
    within = value >> bucket
    return (bucket + 1) * _HALF + (within - _HALF)


def _zigzag(payload: bytearray, value: int) -> None:
    """Little-endian base 128 of ZigZag, nine bytes at most."""
    left = (value << 1) ^ (value >> 63)
    left &= (1 << 64) - 1
    for _ in range(8):
        if left < 0x80:
            payload.append(left)
            return
        payload.append((left & 0x7F) | 0x80)
        left >>= 7
    payload.append(left & 0xFF)
